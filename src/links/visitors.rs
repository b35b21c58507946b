//! Connections to a server: bounded in number and, unless they are permanent, in time.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::connect_info::Connected;
use axum::serve::IncomingStream;
use rustix::io::Errno;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Sleep, sleep};

use super::often::Often;

/// Largest number of connections. A further one replaces the oldest temporary one, or the oldest one if all are
/// permanent.
pub const MAX_CONNECTIONS: usize = 16;
/// Longest lifetime of a temporary connection, even if its client is slow.
pub const CONNECTION_LIFE: Duration = Duration::from_secs(10);

/// Listens at `address`; returns the listener and its address. Messages call the service `what`.
///
/// # Errors
/// The port is unavailable; the error has the reason and the system's error kind.
pub fn listen(address: SocketAddr, what: &str) -> io::Result<(std::net::TcpListener, SocketAddr)> {
    let told = |error: io::Error| told(&error, address, what);
    let listener = std::net::TcpListener::bind(address).map_err(told)?;
    listener.set_nonblocking(true).map_err(told)?;
    let address = listener.local_addr().map_err(told)?;
    Ok((listener, address))
}

/// Explains `error`, which happened when a server for the service `what` was opened at `address`.
pub(super) fn told(error: &io::Error, address: SocketAddr, what: &str) -> io::Error {
    let hint = match error.kind() {
        io::ErrorKind::AddrInUse if address.ip().is_loopback() => {
            ": another program has this port; use another address from 127.0.0.1 to \
             127.255.255.254, which all work without configuration"
        }
        io::ErrorKind::AddrInUse => ": another program has this port",
        io::ErrorKind::AddrNotAvailable => ": no network interface has this address",
        io::ErrorKind::PermissionDenied if address.port() < 1024 => {
            ": ports below 1024 need `setcap cap_net_bind_service=+ep` on the program, `sysctl \
             net.ipv4.ip_unprivileged_port_start=0`, or a network of its own (`unshare -rn`)"
        }
        _ if error.raw_os_error() == Some(Errno::MFILE.raw_os_error()) => {
            ": raise the hard limit of open files as root, for example with `ulimit -Hn 65536`"
        }
        _ => "",
    };
    io::Error::new(error.kind(), format!("cannot serve {what} at {address}{hint}: {error}"))
}

/// Address of a connected client, and whether its connection is permanent.
#[derive(Clone, Debug)]
pub struct Caller {
    /// IP address of the client; IPv4 addresses are never IPv4-mapped IPv6 addresses.
    pub address: IpAddr,
    lasts: Arc<AtomicBool>,
}

impl Caller {
    /// Makes the connection permanent: its lifetime is unlimited, and new connections replace temporary ones first.
    pub fn stays(&self) {
        self.lasts.store(true, Ordering::Relaxed);
    }
}

impl Connected<IncomingStream<'_, LimitedListener>> for Caller {
    fn connect_info(stream: IncomingStream<'_, LimitedListener>) -> Self {
        let address = stream.remote_addr().ip().to_canonical();
        Self { address, lasts: Arc::clone(&stream.io().lasts) }
    }
}

/// Accepts clients. With more than [`MAX_CONNECTIONS`], closes the oldest temporary connection, or the oldest one if
/// all are permanent.
pub struct LimitedListener {
    listener: TcpListener,
    visitors: Arc<Mutex<Visitors>>,
    displaced: Often,
    connection_life: Duration,
}

impl LimitedListener {
    /// Wraps a non-blocking listener; must be called within a runtime.
    ///
    /// # Errors
    /// The system's error.
    pub fn new(listener: &std::net::TcpListener, connection_life: Duration) -> io::Result<Self> {
        Ok(Self {
            listener: TcpListener::from_std(listener.try_clone()?)?,
            visitors: Arc::default(),
            displaced: Often::default(),
            connection_life,
        })
    }
}

/// A client that is connected.
struct Visitor {
    number: u64,
    /// Duplicate of the socket, for ending the connection: the server owns the original.
    end: OwnedFd,
    lasts: Arc<AtomicBool>,
}

/// Connected clients, oldest first.
#[derive(Default)]
struct Visitors {
    next: u64,
    connected: VecDeque<Visitor>,
}

impl Visitors {
    /// Adds a connection; if there is no room, closes an older one. Returns the number of the new connection, and
    /// whether an older one was closed. `lasts` becomes true if the new connection becomes permanent.
    fn let_in(&mut self, stream: &TcpStream, lasts: &Arc<AtomicBool>) -> io::Result<(u64, bool)> {
        let end = stream.as_fd().try_clone_to_owned()?;
        let is_full = self.connected.len() >= MAX_CONNECTIONS;
        let passing = |visitor: &Visitor| !visitor.lasts.load(Ordering::Relaxed);
        if is_full {
            let oldest = self.connected.iter().position(passing).unwrap_or(0);
            if let Some(oldest) = self.connected.remove(oldest) {
                let _ = rustix::net::shutdown(&oldest.end, rustix::net::Shutdown::Both);
            }
        }
        let number = self.next;
        self.next += 1;
        self.connected.push_back(Visitor { number, end, lasts: Arc::clone(lasts) });
        Ok((number, is_full))
    }
}

impl axum::serve::Listener for LimitedListener {
    type Io = Visit;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Visit, SocketAddr) {
        loop {
            let (stream, from) = axum::serve::Listener::accept(&mut self.listener).await;
            let lasts = Arc::default();
            let let_in = self.visitors.lock().expect("no holder panics").let_in(&stream, &lasts);
            let Ok((number, is_full)) = let_in else { continue };
            if is_full {
                self.displaced.happened(|| {
                    tracing::warn!(
                        "the oldest of {MAX_CONNECTIONS} connections to a web interface is closed \
                         to accept {from}"
                    );
                });
            }
            self.displaced.tell_rest(|count| {
                tracing::warn!(
                    "{count} more connections to a web interface were closed for others"
                );
            });
            let visitors = Arc::clone(&self.visitors);
            let end = Box::pin(sleep(self.connection_life));
            return (Visit { stream, end, number, lasts, visitors }, from);
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// Connection of a client. Unless it is permanent, it fails with a timeout at the end of its lifetime.
pub struct Visit {
    stream: TcpStream,
    end: Pin<Box<Sleep>>,
    number: u64,
    lasts: Arc<AtomicBool>,
    visitors: Arc<Mutex<Visitors>>,
}

impl Drop for Visit {
    fn drop(&mut self) {
        if let Ok(mut visitors) = self.visitors.lock() {
            visitors.connected.retain(|visitor| visitor.number != self.number);
        }
    }
}

impl Visit {
    fn check(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        if self.lasts.load(Ordering::Relaxed) {
            return Ok(());
        }
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
