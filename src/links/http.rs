//! A device's web interface: receives requests and passes them to the device.
//!
//! All resources are bounded: the number of connections, their lifetime, the size of a request and the time to wait for
//! an answer. A connection carries one request. If there are too many connections, the oldest one is closed.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{ConnectInfo, Request};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep, timeout};

use super::visitors::{self, CONNECTION_LIFE, Caller, LimitedListener};
use crate::wire::http::{ClientSays, HttpMethod, HttpRequest, HttpResponse};

/// Largest size of a request's body, bytes.
const MAX_BODY: usize = 4096;
/// Longest time to wait for an answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// Longest delay until the end of a run is noticed.
const END_CHECK: Duration = Duration::from_millis(50);
/// Longest delay until the end of a link fault is noticed.
const LINK_CHECK: Duration = Duration::from_millis(20);

/// Passes on a request and returns the receiver of its answer; `None` if the queue is full.
pub type Ask = Arc<dyn Fn(HttpRequest) -> Option<oneshot::Receiver<HttpResponse>> + Send + Sync>;

/// Opens the stream that a request names, or returns the response with a refusal. `None` if the request does not name a
/// stream.
pub type OpenStream =
    Arc<dyn Fn(&HttpRequest) -> Option<Result<HttpStream, HttpResponse>> + Send + Sync>;

/// Whether the link is down. Meanwhile, requests and answers wait.
pub type IsDown = Arc<dyn Fn() -> bool + Send + Sync>;

/// An answer of unlimited length, which continues until one side ends it.
#[derive(Debug)]
pub struct HttpStream {
    /// Media type of the body, for the header `Content-Type`.
    pub content_type: &'static str,
    /// First bytes of the body, which are sent at once.
    pub start: Vec<u8>,
    /// Receives the remaining parts of the body.
    pub parts: mpsc::Receiver<Vec<u8>>,
}

/// An HTTP server with a listening port.
#[derive(Debug)]
pub struct HttpServer {
    listener: std::net::TcpListener,
    address: SocketAddr,
    connection_life: Duration,
    /// Headers that are added to every answer.
    headers: &'static [(&'static str, &'static str)],
    /// Runtime for the next call of [`HttpServer::serve`]. It needs open files, and is therefore made with the
    /// listener: without them, the setup fails and not the run.
    runtime: Mutex<Option<Runtime>>,
}

impl HttpServer {
    /// Listens at `address`; connections wait until [`HttpServer::serve`] is called.
    ///
    /// # Errors
    /// The port is unavailable, or the system refuses resources; the error has the reason and the system's error kind.
    pub fn listen(address: SocketAddr) -> io::Result<Self> {
        let what = "the web interface";
        let (listener, address) = visitors::listen(address, what)?;
        let runtime = runtime().map_err(|error| visitors::told(&error, address, what))?;
        let (connection_life, runtime) = (CONNECTION_LIFE, Mutex::new(Some(runtime)));
        Ok(Self { listener, address, connection_life, headers: &[], runtime })
    }

    /// Sends these headers with every answer. Their names must be in lower case.
    #[must_use]
    pub fn with_headers(mut self, headers: &'static [(&'static str, &'static str)]) -> Self {
        self.headers = headers;
        self
    }

    /// Address at which the server listens. If port 0 was requested, the system has chosen the port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers requests on this thread until `over` is set. Requests and answers wait while the link `is_down`, at most
    /// for the lifetime of a connection.
    ///
    /// # Errors
    /// The system refuses resources that the server needs.
    pub fn serve(&self, ask: Ask, is_down: IsDown, over: &AtomicBool) -> io::Result<()> {
        self.serve_all(ask, Arc::new(|_| None), is_down, over)
    }

    /// Like [`HttpServer::serve`], but also answers with the streams that `open` returns; the link is never down.
    ///
    /// # Errors
    /// See [`HttpServer::serve`].
    pub fn serve_with(&self, ask: Ask, open: OpenStream, over: &AtomicBool) -> io::Result<()> {
        self.serve_all(ask, open, Arc::new(|| false), over)
    }

    fn serve_all(
        &self,
        ask: Ask,
        open: OpenStream,
        is_down: IsDown,
        over: &AtomicBool,
    ) -> io::Result<()> {
        let ready = self.runtime.lock().expect("no holder panics").take();
        let runtime = ready.map_or_else(runtime, Ok)?;
        runtime.block_on(async {
            let listener = LimitedListener::new(&self.listener, self.connection_life)?;
            let headers = self.headers;
            let router = Router::new().fallback(move |request: Request| {
                let answer = answer(request, ask.clone(), open.clone());
                let is_down = is_down.clone();
                async move {
                    is_up(&is_down).await;
                    let mut response = answer.await;
                    is_up(&is_down).await;
                    let own = headers.iter().map(|(name, value)| {
                        (HeaderName::from_static(name), HeaderValue::from_static(value))
                    });
                    response.headers_mut().extend(own);
                    response
                }
            });
            let service = router.into_make_service_with_connect_info::<Caller>();
            tokio::select! {
                ended = async { axum::serve(listener, service).await } => ended,
                () = is_set(over) => Ok(()),
            }
        })
    }
}

fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_io().enable_time().build()
}

/// Reads the headers that determine whether a request is allowed.
pub(super) fn says(headers: &HeaderMap) -> ClientSays {
    let said = |name: HeaderName| Some(headers.get(name)?.to_str().ok()?.to_owned());
    ClientSays {
        host: said(header::HOST),
        origin: said(header::ORIGIN),
        authorization: said(header::AUTHORIZATION),
        content_type: said(header::CONTENT_TYPE),
    }
}

/// Waits until `over` is set.
pub(super) async fn is_set(over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        sleep(END_CHECK).await;
    }
}

/// Waits until the link is up.
async fn is_up(is_down: &IsDown) {
    while is_down() {
        sleep(LINK_CHECK).await;
    }
}

async fn answer(request: Request, ask: Ask, open: OpenStream) -> Response {
    let (parts, body) = request.into_parts();
    let caller = parts.extensions.get::<ConnectInfo<Caller>>().map(|info| info.0.clone());
    let from = caller.as_ref().map_or(Ipv4Addr::LOCALHOST.into(), |caller| caller.address);
    let Ok(body) = to_bytes(body, MAX_BODY).await else {
        return respond(HttpResponse::text(413, &format!("at most {MAX_BODY} bytes")));
    };
    let method = match parts.method.as_str() {
        "GET" => HttpMethod::Get,
        "POST" => HttpMethod::Post,
        "PUT" => HttpMethod::Put,
        "DELETE" => HttpMethod::Delete,
        _ => HttpMethod::Other,
    };
    let path = parts.uri.path().to_owned();
    let query = parts.uri.query().unwrap_or_default().to_owned();
    let says = says(&parts.headers);
    let request = HttpRequest { method, path, query, body: body.into(), from, says };
    match open(&request) {
        Some(Ok(stream)) => {
            if let Some(caller) = caller {
                caller.stays();
            }
            return respond_with(stream);
        }
        Some(Err(refusal)) => return respond(refusal),
        None => {}
    }
    let Some(reply) = ask(request) else {
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

fn respond_with(HttpStream { content_type, start, parts }: HttpStream) -> Response {
    let mut response = respond(HttpResponse { status: 200, content_type, body: Vec::new() });
    *response.body_mut() = Body::from_stream(Parts { start: Some(start), parts });
    response
}

/// The body of an [`HttpStream`].
struct Parts {
    start: Option<Vec<u8>>,
    parts: mpsc::Receiver<Vec<u8>>,
}

impl futures_core::Stream for Parts {
    type Item = Result<Vec<u8>, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match self.start.take() {
            Some(start) => Poll::Ready(Some(Ok(start))),
            None => self.parts.poll_recv(context).map(|part| part.map(Ok)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::Ipv4Addr;

    use super::*;
    use crate::links::visitors::MAX_CONNECTIONS;

    /// Runs a server that answers requests with `ask`, and calls `clients` with its address.
    fn with_server(ask: Ask, clients: impl FnOnce(SocketAddr)) {
        let mut server = HttpServer::listen((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        // With this long lifetime, a test cannot pass only because other connections expire.
        server.connection_life = Duration::from_secs(3600);
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let serving = scope.spawn(|| server.serve(ask, Arc::new(|| false), &over));
            clients(server.address());
            over.store(true, Ordering::Relaxed);
            serving.join().unwrap().unwrap();
        });
    }

    fn echo() -> Ask {
        Arc::new(|request| {
            let (reply, answer) = oneshot::channel();
            let HttpRequest { method, path, query, body, from, .. } = request;
            let text = format!("{method:?} {path} {query} {} {from}", body.len());
            reply.send(HttpResponse::text(200, &text)).ok()?;
            Some(answer)
        })
    }

    fn exchange(address: SocketAddr, sent: &[u8]) -> String {
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        // The server may answer and close the connection before everything is sent.
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
            assert!(got.ends_with("Get /a/b c=d 0 127.0.0.1\n"), "{got}");
            let post = b"POST /s HTTP/1.0\r\nContent-Length: 5\r\n\r\na=b&c";
            assert!(exchange(address, post).ends_with("Post /s  5 127.0.0.1\n"));
            // Request of a client that uses a proxy.
            let absolute = b"DELETE http://10.0.0.9/s HTTP/1.1\r\nHost: 10.0.0.9\r\n\r\n";
            assert!(exchange(address, absolute).ends_with("Delete /s  0 127.0.0.1\n"));
        });
    }

    #[test]
    fn requests_wait_while_the_link_is_down() {
        let server = HttpServer::listen((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let is_down = Arc::new(AtomicBool::new(true));
        let asks = Arc::clone(&is_down);
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let down: IsDown = Arc::new(move || asks.load(Ordering::Relaxed));
            scope.spawn(|| server.serve(echo(), down, &over).unwrap());
            let mut stream = std::net::TcpStream::connect(server.address()).unwrap();
            stream.write_all(b"GET /a HTTP/1.0\r\n\r\n").unwrap();
            stream.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
            let early = stream.read(&mut [0]);
            is_down.store(false, Ordering::Relaxed);
            stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
            let mut got = String::new();
            let late = stream.read_to_string(&mut got);
            over.store(true, Ordering::Relaxed);
            assert_eq!(early.unwrap_err().kind(), io::ErrorKind::WouldBlock);
            late.unwrap();
            assert!(got.contains(" 200 OK") && got.contains("Get /a"), "{got}");
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
            // More silent clients than permitted connections; some send nothing, others send half a request again and
            // again.
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
    fn a_stream_goes_on_longer_than_other_answers_and_ends_with_its_sender() {
        let (part, parts) = mpsc::channel(1);
        let parts = std::sync::Mutex::new(Some(parts));
        let open: OpenStream = Arc::new(move |request| {
            let refusal = || HttpResponse::text(503, "too many");
            let parts = (request.path == "/video").then(|| parts.lock().unwrap().take());
            let stream = |parts| HttpStream { content_type: "x/y", start: b"<".into(), parts };
            parts.map(|parts| parts.map(stream).ok_or_else(refusal))
        });
        let mut server = HttpServer::listen((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        server.connection_life = Duration::from_millis(200);
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| server.serve_with(echo(), open, &over).unwrap());
            let address = server.address();
            let mut stream = std::net::TcpStream::connect(address).unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
            stream.write_all(b"GET /video HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
            let mut got = Vec::new();
            let mut read_until = |wanted: &[u8]| {
                let mut byte = [0];
                while !got.windows(wanted.len()).any(|window| window == wanted) {
                    stream.read_exact(&mut byte).unwrap();
                    got.push(byte[0]);
                }
            };
            read_until(b"<");
            assert!(exchange(address, b"GET /video HTTP/1.0\r\n\r\n").contains("503"));
            // The lifetime of other connections ends before the next part is sent.
            let mut idle = std::net::TcpStream::connect(address).unwrap();
            let _ = idle.read_to_end(&mut Vec::new());
            part.blocking_send(b"part".to_vec()).unwrap();
            read_until(b"part");
            drop(part);
            read_until(b"\r\n0\r\n\r\n");
            assert!(exchange(address, b"GET /a HTTP/1.0\r\n\r\n").contains("Get /a"));
            over.store(true, Ordering::Relaxed);
        });
    }

    #[test]
    fn a_port_in_use_is_told() {
        let first = HttpServer::listen((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let error = HttpServer::listen(first.address()).unwrap_err().to_string();
        assert!(error.contains("another program has this port"), "{error}");
    }
}
