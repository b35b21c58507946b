//! A device's web interface: requests come in, whoever knows the device answers them.
//!
//! Everything is bounded: how many connections are open at a time, how long each lives, how much a
//! request may carry and how long an answer is waited for. A connection carries one request, so the
//! oldest of them is the one with which least goes on; when there are too many, it makes room.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::time::{Sleep, sleep, timeout};

use super::often::Often;

/// Connections at a time; a further one takes the place of the oldest.
const MAX_CONNECTIONS: usize = 16;
/// No connection lives longer, however slowly its client speaks or listens.
const CONNECTION_LIFE: Duration = Duration::from_secs(10);
/// Bytes of a request's body.
const MAX_BODY: usize = 4096;
/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long the end of a run may go unnoticed.
const END_CHECK: Duration = Duration::from_millis(50);

/// What a client wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpRequest {
    /// How.
    pub method: HttpMethod,
    /// Of what: the path without a query, as it was sent.
    pub path: String,
    /// What came with it.
    pub body: Vec<u8>,
}

/// How a client wants something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpMethod {
    /// To have it.
    Get,
    /// To change it.
    Post,
    /// Something else.
    Other,
}

/// What a client gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpResponse {
    /// Status code, 100..=599.
    pub status: u16,
    /// What the body is.
    pub content_type: &'static str,
    /// The body.
    pub body: Vec<u8>,
}

impl HttpResponse {
    /// A line of text, for people.
    pub fn text(status: u16, text: &str) -> Self {
        let body = format!("{text}\n").into_bytes();
        Self { status, content_type: "text/plain; charset=utf-8", body }
    }
}

/// Passes a request on and gives where its answer will come; `None` when there is no room for it.
pub type Ask = Arc<dyn Fn(HttpRequest) -> Option<oneshot::Receiver<HttpResponse>> + Send + Sync>;

/// A port that is listened at.
#[derive(Debug)]
pub struct HttpServer {
    listener: std::net::TcpListener,
    address: SocketAddr,
    connection_life: Duration,
}

impl HttpServer {
    /// Listens at `address`; connections wait until [`HttpServer::serve`] is called.
    ///
    /// # Errors
    /// The port cannot be had; the error says why and keeps the kind of the system's.
    pub fn listen(address: SocketAddr) -> io::Result<Self> {
        let told = |error: io::Error| {
            let hint = match error.kind() {
                io::ErrorKind::AddrInUse => ": another program has this port",
                io::ErrorKind::AddrNotAvailable => ": no network interface has this address",
                io::ErrorKind::PermissionDenied if address.port() < 1024 => {
                    ": ports below 1024 need CAP_NET_BIND_SERVICE"
                }
                _ => "",
            };
            let text = format!("cannot serve the web interface at {address}{hint}: {error}");
            io::Error::new(error.kind(), text)
        };
        let listener = std::net::TcpListener::bind(address).map_err(told)?;
        listener.set_nonblocking(true).map_err(told)?;
        let address = listener.local_addr().map_err(told)?;
        Ok(Self { listener, address, connection_life: CONNECTION_LIFE })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers requests on this thread until `over` is set.
    ///
    /// # Errors
    /// The system refuses what a server needs.
    pub fn serve(&self, ask: Ask, over: &AtomicBool) -> io::Result<()> {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        runtime.block_on(async {
            let listener = LimitedListener {
                listener: TcpListener::from_std(self.listener.try_clone()?)?,
                visitors: Arc::default(),
                displaced: Often::default(),
                connection_life: self.connection_life,
            };
            let router =
                Router::new().fallback(move |request: Request| answer(request, ask.clone()));
            tokio::select! {
                ended = async { axum::serve(listener, router).await } => ended,
                () = is_set(over) => Ok(()),
            }
        })
    }
}

async fn is_set(over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        sleep(END_CHECK).await;
    }
}

async fn answer(request: Request, ask: Ask) -> Response {
    let (parts, body) = request.into_parts();
    let Ok(body) = to_bytes(body, MAX_BODY).await else {
        return respond(HttpResponse::text(413, &format!("at most {MAX_BODY} bytes")));
    };
    let method = match parts.method.as_str() {
        "GET" => HttpMethod::Get,
        "POST" => HttpMethod::Post,
        _ => HttpMethod::Other,
    };
    let path = parts.uri.path().to_owned();
    let Some(reply) = ask(HttpRequest { method, path, body: body.into() }) else {
        return respond(HttpResponse::text(503, "busy"));
    };
    respond(match timeout(PATIENCE, reply).await {
        Ok(Ok(response)) => response,
        Ok(Err(_)) | Err(_) => HttpResponse::text(503, "busy"),
    })
}

fn respond(HttpResponse { status, content_type, body }: HttpResponse) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::NO_CONTENT);
    let headers = response.headers_mut();
    headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if status != 204 {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    }
    response
}

/// Lets clients in and the oldest out, if there are too many.
struct LimitedListener {
    listener: TcpListener,
    visitors: Arc<Mutex<Visitors>>,
    displaced: Often,
    connection_life: Duration,
}

/// Who is connected, the oldest first.
#[derive(Default)]
struct Visitors {
    next: u64,
    connected: VecDeque<(u64, OwnedFd)>,
}

impl Visitors {
    /// Its number, and whether another has to go for it.
    fn let_in(&mut self, stream: &TcpStream) -> io::Result<(u64, bool)> {
        // To end the connection with: the server that reads from it has the other one.
        let end = stream.as_fd().try_clone_to_owned()?;
        let is_full = self.connected.len() >= MAX_CONNECTIONS;
        if is_full && let Some((_, oldest)) = self.connected.pop_front() {
            let _ = rustix::net::shutdown(&oldest, rustix::net::Shutdown::Both);
        }
        let number = self.next;
        self.next += 1;
        self.connected.push_back((number, end));
        Ok((number, is_full))
    }
}

impl axum::serve::Listener for LimitedListener {
    type Io = Visit;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Visit, SocketAddr) {
        loop {
            let (stream, from) = axum::serve::Listener::accept(&mut self.listener).await;
            let let_in = self.visitors.lock().expect("no holder panics").let_in(&stream);
            let Ok((number, is_full)) = let_in else { continue };
            if is_full {
                self.displaced.happened(|| {
                    tracing::warn!(
                        "the oldest of {MAX_CONNECTIONS} connections to a web interface makes room for {from}"
                    );
                });
            }
            self.displaced.tell_rest(|count| {
                tracing::warn!("{count} more connections to a web interface made room for others");
            });
            let visitors = Arc::clone(&self.visitors);
            let end = Box::pin(sleep(self.connection_life));
            return (Visit { stream, end, number, visitors }, from);
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection with an end.
struct Visit {
    stream: TcpStream,
    end: Pin<Box<Sleep>>,
    number: u64,
    visitors: Arc<Mutex<Visitors>>,
}

impl Drop for Visit {
    fn drop(&mut self) {
        if let Ok(mut visitors) = self.visitors.lock() {
            visitors.connected.retain(|(number, _)| *number != self.number);
        }
    }
}

impl Visit {
    fn check(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        match self.end.as_mut().poll(context) {
            Poll::Ready(()) => Err(io::ErrorKind::TimedOut.into()),
            Poll::Pending => Ok(()),
        }
    }
}

impl AsyncRead for Visit {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check(context)?;
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Visit {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check(context)?;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::Ipv4Addr;

    use super::*;

    /// What clients get while a server answers with `ask`.
    fn with_server(ask: Ask, clients: impl FnOnce(SocketAddr)) {
        let mut server = HttpServer::listen((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        // So that nothing here goes on only because others' time is up.
        server.connection_life = Duration::from_secs(3600);
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let serving = scope.spawn(|| server.serve(ask, &over));
            clients(server.address());
            over.store(true, Ordering::Relaxed);
            serving.join().unwrap().unwrap();
        });
    }

    fn echo() -> Ask {
        Arc::new(|request| {
            let (reply, answer) = oneshot::channel();
            let text = format!("{:?} {} {}", request.method, request.path, request.body.len());
            reply.send(HttpResponse::text(200, &text)).ok()?;
            Some(answer)
        })
    }

    fn exchange(address: SocketAddr, sent: &[u8]) -> String {
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        // The server may have answered and gone before all was sent.
        let _ = stream.write_all(sent);
        let mut got = Vec::new();
        let _ = stream.read_to_end(&mut got);
        String::from_utf8_lossy(&got).into_owned()
    }

    #[test]
    fn requests_are_answered_one_a_connection() {
        with_server(echo(), |address| {
            let got = exchange(address, b"GET /a/b?c=d HTTP/1.1\r\nHost: x\r\n\r\n");
            assert!(got.starts_with("HTTP/1.1 200 OK\r\n"), "{got}");
            assert!(got.contains("connection: close"), "{got}");
            assert!(got.ends_with("Get /a/b 0\n"), "{got}");
            let post = b"POST /s HTTP/1.0\r\nContent-Length: 5\r\n\r\na=b&c";
            assert!(exchange(address, post).ends_with("Post /s 5\n"));
        });
    }

    #[test]
    fn what_is_wrong_or_too_much_is_refused() {
        with_server(echo(), |address| {
            let mut big = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\n".to_vec();
            big.resize(big.len() + 5000, b'x');
            assert!(exchange(address, &big).starts_with("HTTP/1.1 413"));
            assert!(exchange(address, b"\xff\x00nonsense\r\n\r\n").starts_with("HTTP/1.1 400"));
            assert!(exchange(address, b"GET /after HTTP/1.0\r\n\r\n").contains("/after"));
        });
    }

    #[test]
    fn the_silent_keep_nobody_out() {
        let deaf: Ask = Arc::new(|_| None);
        with_server(deaf, |address| {
            // They take more than all the room there is; some say nothing, some half a request, again
            // and again.
            let mut silent: Vec<_> = (0..3 * MAX_CONNECTIONS)
                .map(|_| std::net::TcpStream::connect(address).unwrap())
                .collect();
            for _ in 0..100 {
                for stream in silent.iter_mut().skip(MAX_CONNECTIONS) {
                    let _ = stream.write_all(b"GET / HTTP/1.1\r\nX: y");
                }
                let got = exchange(address, b"GET / HTTP/1.0\r\n\r\n");
                assert!(got.contains("503"), "{got}");
            }
        });
    }

    #[test]
    fn a_port_in_use_is_told() {
        let first = HttpServer::listen((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let error = HttpServer::listen(first.address()).unwrap_err().to_string();
        assert!(error.contains("another program has this port"), "{error}");
    }
}
