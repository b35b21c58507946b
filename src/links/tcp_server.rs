//! TCP server of a device with its own port; several hosts can connect at the same time.
//!
//! Memory is bounded: the number of clients is limited, and for each client the number of unread bytes. A client that
//! reads too slowly loses whole telegrams; the device never waits for it.
//!
//! A client may be silent for any time. If all places are taken, a new client replaces an idle one: first a client to
//! which nothing was ever sent, then one to which nothing was sent for a while. If no client is idle, the new client is
//! rejected.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use socket2::{SockRef, TcpKeepalive};

use super::often::Often;
use crate::wire::port::Peer;

/// Largest number of simultaneous clients.
const MAX_CLIENTS: usize = 16;
/// A client that got data within this time keeps its place. The time must be longer than the polling interval of
/// drivers, for which one second is assumed.
const SERVED_LATELY: Duration = Duration::from_secs(5);
/// Largest number of new clients that are accepted before the connected clients are served again.
const NEWCOMERS_AT_ONCE: usize = MAX_CLIENTS;
/// Largest number of bytes that wait for a client that does not read, in addition to the system's buffer.
const MAX_PENDING: usize = 256 << 10;
/// Size of the system's buffer for a client, bytes. It is small, because data in a large buffer would be too old for a
/// robot.
const SEND_BUFFER: usize = 128 << 10;
/// Idle time after which the system starts to probe a client (TCP keepalive). After three probes without an answer, the
/// client is disconnected.
const KEEPALIVE_AFTER: Duration = Duration::from_secs(10);
/// Time between two probes.
const KEEPALIVE_PROBE: Duration = Duration::from_secs(5);

/// Listening sockets and their connected clients. One thread sends, another one receives.
#[derive(Debug)]
pub struct TcpServer {
    listeners: Vec<(TcpListener, SocketAddr)>,
    /// [`Peer::port`] of clients that connect to the first address; each further address has the next higher number.
    first_port: u8,
    clients: Mutex<Clients>,
    messages: Messages,
}

/// Limits log messages about events that clients can cause without limit.
#[derive(Debug, Default)]
struct Messages {
    turned_away: Often,
    displaced: Often,
    losing: Often,
}

#[derive(Debug, Default)]
struct Clients {
    connected: Vec<Client>,
    next: u64,
}

#[derive(Debug)]
struct Client {
    peer: Peer,
    from: SocketAddr,
    stream: Arc<TcpStream>,
    /// Bytes that wait to be sent: the rest of a telegram, and whole telegrams after it.
    pending: Vec<u8>,
    is_losing: bool,
    /// Time at which the client connected, or at which it last sent bytes.
    heard_at: Instant,
    /// Time at which the client last accepted bytes of the device.
    served_at: Option<Instant>,
}

/// Event of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerEvent<'a> {
    /// A client has connected.
    Connected(Peer),
    /// A client has sent bytes.
    Bytes(Peer, &'a [u8]),
    /// A client has disconnected.
    Disconnected(Peer),
}

impl TcpServer {
    /// Listens at `addresses`. An error names the address that is not available.
    pub fn listen(addresses: &[SocketAddr]) -> io::Result<Self> {
        Self::listen_as(0, addresses)
    }

    /// Like [`TcpServer::listen`], but the first [`Peer::port`] has the number `first_port` instead of 0.
    pub fn listen_as(first_port: u8, addresses: &[SocketAddr]) -> io::Result<Self> {
        let listener = |address: &SocketAddr| {
            let listener = TcpListener::bind(address)?;
            listener.set_nonblocking(true)?;
            let address = listener.local_addr()?;
            Ok((listener, address))
        };
        let told = |address: &SocketAddr, error: io::Error| {
            io::Error::new(error.kind(), format!("cannot listen at {address}: {error}"))
        };
        let listeners: io::Result<Vec<_>> = addresses
            .iter()
            .map(|address| listener(address).map_err(|error| told(address, error)))
            .collect();
        Ok(Self {
            listeners: listeners?,
            first_port,
            clients: Mutex::default(),
            messages: Messages::default(),
        })
    }

    /// Addresses of connected clients.
    pub fn connected(&self) -> Vec<SocketAddr> {
        let clients = self.clients();
        clients.connected.iter().map(|client| client.from).collect()
    }

    /// Whether `port` is the [`Peer::port`] of one of the server's addresses.
    pub fn has_port(&self, port: u8) -> bool {
        port.checked_sub(self.first_port).is_some_and(|n| usize::from(n) < self.listeners.len())
    }

    /// Addresses at which the server listens. If port 0 was requested, the system has chosen the port.
    pub fn addresses(&self) -> impl Iterator<Item = SocketAddr> {
        self.listeners.iter().map(|(_, address)| *address)
    }

    /// Text for the status view and messages.
    pub fn describe(&self) -> String {
        let addresses: Vec<_> = self.addresses().map(|address| address.to_string()).collect();
        format!("tcp {}", addresses.join(", "))
    }

    /// Sends one telegram; returns whether it was sent or queued. A disconnected client is not a failure.
    pub fn send_to(&self, peer: Peer, bytes: &[u8]) -> bool {
        let mut clients = self.clients();
        match clients.connected.iter_mut().find(|client| client.peer == peer) {
            Some(client) => client.send(bytes, &self.messages.losing),
            None => true,
        }
    }

    /// Closes the connection to a client. The device is informed by [`ServerEvent::Disconnected`].
    pub fn disconnect(&self, peer: Peer) {
        let clients = self.clients();
        if let Some(client) = clients.connected.iter().find(|client| client.peer == peer) {
            // If the client has already left, the receiving thread notices it anyway.
            let _ = client.stream.shutdown(Shutdown::Both);
        }
    }

    /// Waits up to `timeout` for events of clients and passes each event to `happened`. Each event has at most as many
    /// bytes as `buffer` holds.
    pub fn receive(
        &self,
        buffer: &mut [u8],
        timeout: Duration,
        happened: &mut dyn FnMut(ServerEvent<'_>),
    ) -> io::Result<()> {
        let streams = self.wait(timeout)?;
        for (peer, stream) in streams {
            let (gone, has_spoken) = match (&*stream).read(buffer) {
                Ok(0) => (true, false),
                Ok(count) => {
                    happened(ServerEvent::Bytes(peer, &buffer[..count]));
                    (false, true)
                }
                Err(error) => (!is_passing(&error), false),
            };
            let mut clients = self.clients();
            let at = clients.connected.iter().position(|client| client.peer == peer);
            let Some(at) = at else { continue };
            if gone {
                let client = clients.connected.swap_remove(at);
                drop(clients);
                tracing::info!("{} has gone", client.from);
                happened(ServerEvent::Disconnected(peer));
            } else {
                let client = &mut clients.connected[at];
                client.flush();
                if has_spoken {
                    client.heard_at = Instant::now();
                }
            }
        }
        for port in 0..self.listeners.len() {
            self.accept(port, happened)?;
        }
        self.messages.tell_rest(&self.describe());
        Ok(())
    }

    /// Waits until a client connects, can be read or can accept more bytes; returns the clients' streams.
    fn wait(&self, timeout: Duration) -> io::Result<Vec<(Peer, Arc<TcpStream>)>> {
        let mut streams = Vec::new();
        let mut flags = Vec::new();
        for client in &self.clients().connected {
            streams.push((client.peer, client.stream.clone()));
            let wants_room = !client.pending.is_empty();
            flags.push(if wants_room { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN });
        }
        let listeners = self.listeners.iter().map(|(listener, _)| listener.as_fd());
        let listeners = listeners.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
        let clients = streams.iter().zip(flags);
        let clients =
            clients.map(|((_, stream), flags)| PollFd::from_borrowed_fd(stream.as_fd(), flags));
        let mut waits: Vec<_> = listeners.chain(clients).collect();
        let timeout =
            Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: timeout.subsec_nanos().into() };
        match poll(&mut waits, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(streams),
            Err(error) => Err(error.into()),
        }
    }

    fn accept(&self, port: usize, happened: &mut dyn FnMut(ServerEvent<'_>)) -> io::Result<()> {
        let (listener, address) = &self.listeners[port];
        for _ in 0..NEWCOMERS_AT_ONCE {
            let (stream, from) = match listener.accept() {
                Ok(accepted) => accepted,
                Err(error) if is_passing(&error) => return Ok(()),
                Err(error) => return Err(error),
            };
            let mut clients = self.clients();
            if clients.connected.len() >= MAX_CLIENTS {
                let Some(idlest) = clients.idlest(Instant::now()) else {
                    self.messages.turned_away.happened(|| {
                        tracing::warn!(
                            "{from} is rejected: {address} already has {MAX_CLIENTS} clients"
                        );
                    });
                    continue;
                };
                let client = clients.connected.swap_remove(idlest);
                drop(clients);
                let _ = client.stream.shutdown(Shutdown::Both);
                self.messages.displaced.happened(|| {
                    tracing::warn!(
                        "{}, the most idle of {MAX_CLIENTS} clients of {address}, is disconnected \
                         to accept {from}",
                        client.from
                    );
                });
                happened(ServerEvent::Disconnected(client.peer));
                clients = self.clients();
            }
            if let Err(error) = prepare(&stream) {
                tracing::warn!("{from} cannot be served: {error}");
                continue;
            }
            let port = self.first_port + port as u8;
            let peer = Peer { connection: clients.next, port, from: from.ip() };
            clients.next += 1;
            let stream = Arc::new(stream);
            clients.connected.push(Client {
                peer,
                from,
                stream,
                pending: Vec::new(),
                is_losing: false,
                heard_at: Instant::now(),
                served_at: None,
            });
            drop(clients);
            tracing::info!("{from} is connected to {address}");
            happened(ServerEvent::Connected(peer));
        }
        Ok(())
    }

    fn clients(&self) -> MutexGuard<'_, Clients> {
        self.clients.lock().expect("no holder panics")
    }
}

impl Messages {
    fn tell_rest(&self, server: &str) {
        self.turned_away.tell_rest(|count| tracing::warn!("{server}: {count} more rejected"));
        self.displaced
            .tell_rest(|count| tracing::warn!("{server}: {count} more idle clients disconnected"));
        self.losing
            .tell_rest(|count| tracing::warn!("{server}: {count} more losses at slow clients"));
    }
}

impl Drop for TcpServer {
    fn drop(&mut self) {
        let server = self.describe();
        let Messages { turned_away, displaced, losing } = &self.messages;
        let counts = [turned_away, displaced, losing].map(Often::untold);
        if counts.iter().any(|count| *count > 0) {
            let [away, gone, losses] = counts;
            tracing::warn!(
                "{server}: {away} more rejected, {gone} more idle clients disconnected, {losses} \
                 more losses at slow clients"
            );
        }
    }
}

impl Clients {
    /// Index of the client that a new client replaces, if one may be replaced.
    fn idlest(&self, now: Instant) -> Option<usize> {
        let is_idle = |client: &Client| {
            client.served_at.is_none_or(|at| now.duration_since(at) >= SERVED_LATELY)
        };
        let idle = self.connected.iter().enumerate().filter(|(_, client)| is_idle(client));
        let idlest = idle.min_by_key(|(_, client)| match client.served_at {
            None => (false, client.heard_at),
            Some(served_at) => (true, served_at),
        });
        idlest.map(|(place, _)| place)
    }
}

impl Client {
    fn send(&mut self, bytes: &[u8], losing: &Often) -> bool {
        self.flush();
        let sent = if self.pending.is_empty() { self.write(bytes) } else { 0 };
        if sent == bytes.len() {
            self.is_losing = false;
            return true;
        }
        // The rest of a started telegram is always queued: without it, the next telegrams could not be parsed.
        if sent > 0 || self.pending.len() + bytes.len() <= MAX_PENDING {
            self.pending.extend_from_slice(&bytes[sent..]);
            return true;
        }
        if !std::mem::replace(&mut self.is_losing, true) {
            losing.happened(|| {
                tracing::warn!("{} reads too slowly and loses telegrams", self.from);
            });
        }
        false
    }

    fn flush(&mut self) {
        if !self.pending.is_empty() {
            let pending = std::mem::take(&mut self.pending);
            let sent = self.write(&pending);
            self.pending = pending;
            self.pending.drain(..sent);
        }
    }

    /// Writes bytes; returns the number that the system accepted. A broken stream accepts everything; the receiving
    /// side notices the failure.
    fn write(&mut self, bytes: &[u8]) -> usize {
        let mut sent = 0;
        while sent < bytes.len() {
            match (&*self.stream).write(&bytes[sent..]) {
                Ok(0) => break,
                Ok(count) => sent += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => return bytes.len(),
            }
        }
        if sent > 0 {
            self.served_at = Some(Instant::now());
        }
        sent
    }
}

fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nonblocking(true)?;
    stream.set_nodelay(true)?;
    let socket = SockRef::from(stream);
    socket.set_send_buffer_size(SEND_BUFFER)?;
    let keepalive = TcpKeepalive::new().with_time(KEEPALIVE_AFTER).with_interval(KEEPALIVE_PROBE);
    socket.set_tcp_keepalive(&keepalive.with_retries(3))
}

/// Whether the operation can be retried.
fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind as Kind;
    // ConnectionAborted: a client left before it was accepted.
    matches!(error.kind(), Kind::WouldBlock | Kind::Interrupted | Kind::ConnectionAborted)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_secs(5);

    #[derive(Clone, Debug, PartialEq, Eq)]
    enum Seen {
        Connected(Peer),
        Bytes(Peer, Vec<u8>),
        Disconnected(Peer),
    }

    fn server() -> TcpServer {
        TcpServer::listen(&[SocketAddr::from(([127, 0, 0, 1], 0)); 2]).unwrap()
    }

    fn next(server: &TcpServer) -> Vec<Seen> {
        let mut seen = Vec::new();
        server
            .receive(&mut [0; 64], SOON, &mut |event| {
                seen.push(match event {
                    ServerEvent::Connected(peer) => Seen::Connected(peer),
                    ServerEvent::Bytes(peer, bytes) => Seen::Bytes(peer, bytes.to_vec()),
                    ServerEvent::Disconnected(peer) => Seen::Disconnected(peer),
                });
            })
            .unwrap();
        seen
    }

    fn connect(server: &TcpServer, port: usize) -> (TcpStream, Peer) {
        let stream = TcpStream::connect(server.addresses().nth(port).unwrap()).unwrap();
        let [Seen::Connected(peer)] = next(server)[..] else { panic!("not connected") };
        (stream, peer)
    }

    #[test]
    fn a_client_is_sent_away() {
        let server = server();
        let (mut stays, staying) = connect(&server, 0);
        let (mut goes, going) = connect(&server, 0);
        server.disconnect(going);
        assert_eq!(next(&server), [Seen::Disconnected(going)]);
        assert_eq!(goes.read(&mut [0; 8]).unwrap(), 0);
        server.disconnect(going);
        assert!(server.send_to(staying, b"one"));
        let mut heard = [0; 3];
        stays.read_exact(&mut heard).unwrap();
        assert_eq!(&heard, b"one");
    }

    #[test]
    fn clients_of_both_ports_are_told_apart() {
        let server = server();
        let (mut first, first_peer) = connect(&server, 0);
        let (mut second, second_peer) = connect(&server, 1);
        assert_eq!((first_peer.port, second_peer.port), (0, 1));
        second.write_all(b"hello").unwrap();
        assert_eq!(next(&server), [Seen::Bytes(second_peer, b"hello".to_vec())]);
        assert!(server.send_to(first_peer, b"one"));
        assert!(server.send_to(second_peer, b"two"));
        let mut heard = [0; 3];
        first.read_exact(&mut heard).unwrap();
        assert_eq!(&heard, b"one");
        second.read_exact(&mut heard).unwrap();
        assert_eq!(&heard, b"two");
        drop(first);
        assert_eq!(next(&server), [Seen::Disconnected(first_peer)]);
        assert!(server.send_to(first_peer, b"nobody"));
        let (_third, third_peer) = connect(&server, 0);
        assert_ne!(third_peer, first_peer, "a number is given once");
    }

    #[test]
    fn a_slow_client_loses_whole_telegrams_and_holds_nobody_up() {
        let server = server();
        let (mut slow, slow_peer) = connect(&server, 0);
        let (mut quick, quick_peer) = connect(&server, 0);
        let telegram = |number: u32| [number.to_be_bytes(); 4096].concat();
        let length = telegram(0).len();
        // Send until some telegrams are lost: more than the buffers of both ends hold.
        let mut lost = 0;
        let mut sent = 0;
        while lost < 5 {
            lost += u32::from(!server.send_to(slow_peer, &telegram(sent)));
            sent += 1;
            assert!(sent < 10_000, "nothing is ever lost");
        }
        let kept = server.clients().connected[0].pending.len();
        assert!(kept <= MAX_PENDING + length, "{kept} bytes are kept");
        assert!(server.send_to(quick_peer, b"still here"));
        let mut heard = [0; 10];
        quick.read_exact(&mut heard).unwrap();

        // Only whole telegrams arrive, in order.
        slow.set_read_timeout(Some(SOON)).unwrap();
        let mut last = None;
        for _ in 0..sent - lost {
            server.receive(&mut [0; 64], Duration::ZERO, &mut |_| {}).unwrap();
            let mut bytes = vec![0; length];
            let mut at = 0;
            while at < length {
                server.receive(&mut [0; 64], Duration::ZERO, &mut |_| {}).unwrap();
                at += slow.read(&mut bytes[at..]).unwrap();
            }
            let number = u32::from_be_bytes(bytes[..4].try_into().unwrap());
            assert_eq!(bytes, telegram(number));
            assert!(last < Some(number));
            last = Some(number);
        }
    }

    /// Silent clients, and clients that send half a request repeatedly.
    #[test]
    fn idle_clients_make_room_for_others() {
        let server = server();
        let mut idle: Vec<_> = (0..MAX_CLIENTS).map(|_| connect(&server, 0)).collect();
        for (stream, peer) in &mut idle[1..] {
            stream.write_all(b"half").unwrap();
            assert_eq!(next(&server), [Seen::Bytes(*peer, b"half".to_vec())]);
        }
        let mut newcomers = Vec::new();
        for number in 0..2 * MAX_CLIENTS {
            let mut newcomer = TcpStream::connect(server.addresses().next().unwrap()).unwrap();
            let seen = next(&server);
            let [Seen::Disconnected(gone), Seen::Connected(peer)] = seen[..] else {
                panic!("newcomer {number}: {seen:?}");
            };
            if let Some((stream, peer)) = idle.get_mut(number) {
                assert_eq!(gone, *peer, "the idlest goes first");
                assert_eq!(stream.read(&mut [0]).unwrap(), 0, "and is told");
            }
            newcomer.write_all(b"command").unwrap();
            assert_eq!(next(&server), [Seen::Bytes(peer, b"command".to_vec())]);
            assert_eq!(server.clients().connected.len(), MAX_CLIENTS);
            newcomers.push(newcomer);
        }
    }

    #[test]
    fn who_is_served_keeps_its_place() {
        let server = server();
        let (mut served, served_peer) = connect(&server, 0);
        let _idle: Vec<_> = (1..MAX_CLIENTS).map(|_| connect(&server, 0)).collect();
        assert!(server.send_to(served_peer, b"scan"));
        let mut crowd = Vec::new();
        for _ in 0..3 * MAX_CLIENTS {
            crowd.push(TcpStream::connect(server.addresses().next().unwrap()).unwrap());
            let seen = next(&server);
            assert_eq!(seen.len(), 2, "one goes, one comes: {seen:?}");
            assert!(!seen.contains(&Seen::Disconnected(served_peer)), "{seen:?}");
        }
        let mut heard = [0; 4];
        served.read_exact(&mut heard).unwrap();
        // A client that was served long ago counts as idle if every client was served before.
        let later = Instant::now() + 2 * SERVED_LATELY;
        let mut clients = server.clients();
        let place = clients.idlest(later).unwrap();
        assert_ne!(clients.connected[place].peer, served_peer);
        for client in &mut clients.connected {
            client.served_at.get_or_insert(later);
        }
        let place = clients.idlest(later).unwrap();
        assert_eq!(clients.connected[place].peer, served_peer);
    }

    #[test]
    fn too_many_clients_are_turned_away() {
        let server = server();
        let kept: Vec<_> = (0..MAX_CLIENTS).map(|_| connect(&server, 0)).collect();
        assert!(kept.iter().all(|(_, peer)| server.send_to(*peer, b"answer")));
        // Independent of the machine's speed, all clients count as recently served.
        for client in &mut server.clients().connected {
            client.served_at = Some(Instant::now() + Duration::from_secs(3600));
        }
        for _ in 0..3 {
            let mut extra = TcpStream::connect(server.addresses().next().unwrap()).unwrap();
            assert_eq!(next(&server), []);
            assert_eq!(extra.read(&mut [0]).unwrap(), 0);
        }
        assert_eq!(
            server.messages.turned_away.untold(),
            2,
            "the first is told, the others counted"
        );
        drop(kept);
    }

    #[test]
    fn a_taken_port_is_named() {
        let server = server();
        let address = server.addresses().next().unwrap();
        let error = TcpServer::listen(&[address]).unwrap_err();
        assert!(error.to_string().starts_with(&format!("cannot listen at {address}")), "{error}");
    }
}
