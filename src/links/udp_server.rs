//! A UDP port for host commands, one per datagram, and their answers.
//!
//! There are no connections: a host is an address from which datagrams arrived recently. Memory is bounded; the host
//! that was silent for longest is dropped first.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use socket2::{Domain, Protocol, SockRef, Socket, Type};

use super::told;
use super::udp::UdpLink;
use crate::wire::port::Peer;

/// Largest number of hosts that can get answers.
const MAX_HOSTS: usize = 64;

/// A server's sockets, and the hosts that sent most recently. One thread sends, another one receives.
#[derive(Debug)]
pub struct UdpServer {
    /// Socket in use. Only [`UdpServer::take_over`] replaces it.
    bound: RwLock<Arc<Bound>>,
    /// Socket for broadcasts.
    broadcasts: Option<UdpSocket>,
    port: u8,
    answers_all: bool,
    hosts: Mutex<Hosts>,
}

/// Socket at the server's address.
#[derive(Debug)]
pub struct Bound {
    socket: UdpSocket,
    address: SocketAddr,
}

impl Bound {
    /// Opens a socket with `bind` and prepares it for the server.
    fn open(
        address: SocketAddr,
        hears_broadcasts: bool,
        bind: impl FnOnce(SocketAddr) -> io::Result<UdpSocket>,
    ) -> io::Result<Self> {
        let opened = || -> io::Result<Self> {
            let socket = bind(address)?;
            socket.set_broadcast(hears_broadcasts)?;
            socket.set_nonblocking(true)?;
            Ok(Self { address: socket.local_addr()?, socket })
        };
        opened().map_err(|error| told(&error, &format!("cannot listen at udp {address}")))
    }
}

#[derive(Debug, Default)]
struct Hosts {
    next: u64,
    /// Hosts that receive answers; the host that sent most recently is last.
    known: Vec<(Peer, SocketAddr)>,
}

impl Hosts {
    fn peer(&mut self, port: u8, from: IpAddr, to: SocketAddr) -> Peer {
        let at = self.known.iter().position(|(peer, known)| (peer.from, *known) == (from, to));
        let (peer, _) = at.map(|at| self.known.remove(at)).unwrap_or_else(|| {
            self.next += 1;
            (Peer { connection: self.next - 1, port, from }, to)
        });
        if self.known.len() == MAX_HOSTS {
            self.known.remove(0);
        }
        self.known.push((peer, to));
        peer
    }
}

impl UdpServer {
    /// Listens at `address`, and for broadcasts to its port if `hears_broadcasts`; broadcasts are answered by
    /// broadcast. Hosts have `port` as [`Peer::port`].
    ///
    /// # Errors
    /// The address is not available.
    pub fn listen_as(port: u8, address: SocketAddr, hears_broadcasts: bool) -> io::Result<Self> {
        Self::listening(port, address, hears_broadcasts, UdpSocket::bind)
    }

    /// Like [`UdpServer::listen_as`], at the address and port of `link`, because a product may send data from its
    /// command port. This server gets all datagrams to that port.
    ///
    /// # Errors
    /// The address is not available.
    pub fn listen_beside(
        link: &UdpLink,
        port: u8,
        address: SocketAddr,
        hears_broadcasts: bool,
    ) -> io::Result<Self> {
        let bind = |address| bind_beside(link, address);
        Self::listening(port, address, hears_broadcasts, bind)
    }

    fn listening(
        port: u8,
        address: SocketAddr,
        hears_broadcasts: bool,
        bind: impl FnOnce(SocketAddr) -> io::Result<UdpSocket>,
    ) -> io::Result<Self> {
        let bound = Bound::open(address, hears_broadcasts, bind)?;
        let broadcasts = hears_broadcasts.then(|| {
            // The address is shared: every emulated device, and the host itself, receives a host's search broadcast.
            let all = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
            all.set_reuse_address(true)?;
            all.bind(&SocketAddr::from((Ipv4Addr::BROADCAST, bound.address.port())).into())?;
            all.set_nonblocking(true)?;
            Ok(UdpSocket::from(all))
        });
        let broadcasts = broadcasts.transpose().map_err(|error: io::Error| {
            told(&error, &format!("cannot listen at udp {}", bound.address))
        })?;
        let bound = RwLock::new(Arc::new(bound));
        Ok(Self { bound, broadcasts, port, answers_all: true, hosts: Mutex::default() })
    }

    /// Opens a socket at the address `ip` with the server's port, for [`UdpServer::take_over`]; `links` are the
    /// device's links at that address.
    ///
    /// # Errors
    /// Like [`UdpServer::listen_as`].
    pub fn opened_at(&self, ip: IpAddr, links: &[UdpLink]) -> io::Result<Bound> {
        let address = SocketAddr::new(ip, self.address().port());
        let own = links.iter().find(|link| link.local_addr().is_ok_and(|at| at == address));
        Bound::open(address, self.broadcasts.is_some(), |address| match own {
            Some(link) => bind_beside(link, address),
            None => UdpSocket::bind(address),
        })
    }

    /// Receives and answers at the address of `other` from now on. Broadcasts that have arrived are kept. Commands that
    /// wait at the old address are lost.
    pub fn take_over(&self, other: Bound) {
        let mut bound = self.bound.write().expect("no holder panics");
        let old = std::mem::replace(&mut *bound, Arc::new(other));
        // Wakes the thread that waits for datagrams; until then it uses the old address.
        let _ = SockRef::from(&old.socket).shutdown(Shutdown::Both);
    }

    fn bound(&self) -> Arc<Bound> {
        Arc::clone(&self.bound.read().expect("no holder panics"))
    }

    /// Sets whether broadcasts are answered by broadcast instead of unicast.
    #[must_use]
    pub fn answering_all(self, answers_all: bool) -> Self {
        Self { answers_all, ..self }
    }

    /// Address at which the server receives commands.
    pub fn address(&self) -> SocketAddr {
        self.bound().address
    }

    /// Whether `port` is the [`Peer::port`] of this server's hosts.
    pub fn has_port(&self, port: u8) -> bool {
        self.port == port
    }

    /// Text for the status view and messages.
    pub fn describe(&self) -> String {
        format!("udp {}", self.address())
    }

    /// Sends a datagram to `peer`; does nothing if this host was dropped. A failure is only logged.
    pub fn send_to(&self, peer: Peer, bytes: &[u8]) {
        let hosts = self.hosts.lock().expect("no holder panics");
        let known = hosts.known.iter().find(|(known, _)| *known == peer).map(|(_, to)| *to);
        drop(hosts);
        let Some(to) = known else { return };
        let bound = self.bound();
        if let Err(error) = bound.socket.send_to(bytes, to) {
            tracing::debug!("cannot answer {to} from {}: {error}", bound.address);
        }
    }

    /// Waits up to `timeout` for datagrams and passes at most one from each socket to `heard`, cut to the length of
    /// `buffer`.
    ///
    /// # Errors
    /// The system's error.
    pub fn receive(
        &self,
        buffer: &mut [u8],
        timeout: Duration,
        heard: &mut dyn FnMut(Peer, &[u8]),
    ) -> io::Result<()> {
        let bound = self.bound();
        let sockets = || self.broadcasts.iter().chain([&bound.socket]);
        let mut waits: Vec<_> =
            sockets().map(|s| PollFd::from_borrowed_fd(s.as_fd(), PollFlags::IN)).collect();
        let timeout =
            Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: timeout.subsec_nanos().into() };
        match poll(&mut waits, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if !Arc::ptr_eq(&bound, &self.bound()) {
            return Ok(()); // the server has moved to another address
        }
        for socket in sockets() {
            let (count, from) = match socket.recv_from(buffer) {
                Ok(received) => received,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
                // A host has closed its port and refused an earlier answer.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => continue,
                Err(error) => return Err(error),
            };
            if from == bound.address {
                continue; // its own broadcast
            }
            let is_broadcast = !std::ptr::eq(socket, &raw const bound.socket);
            let to = match is_broadcast && self.answers_all {
                true => SocketAddr::from((Ipv4Addr::BROADCAST, from.port())),
                false => from,
            };
            let mut hosts = self.hosts.lock().expect("no holder panics");
            let peer = hosts.peer(self.port, from.ip(), to);
            drop(hosts);
            heard(peer, &buffer[..count]);
        }
        Ok(())
    }
}

/// Binds a socket to the address and port of `link`. Afterwards, no further socket can share this port.
fn bind_beside(link: &UdpLink, address: SocketAddr) -> io::Result<UdpSocket> {
    let domain = Domain::for_address(address);
    let socket = Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_reuse_address(true)?;
    // If sockets share an address, Linux delivers datagrams to the one that was bound last.
    link.shared(|| socket.bind(&address.into()))?;
    socket.set_reuse_address(false)?;
    Ok(UdpSocket::from(socket))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::port::UdpOptions;

    const PATIENCE: Duration = Duration::from_secs(5);

    #[test]
    fn commands_arrive_at_a_port_that_datagrams_leave_from() {
        let options = |from: &str| UdpOptions {
            to: "127.0.0.1:9".parse().unwrap(),
            from: Some(from.parse().unwrap()),
            interface: None,
            ttl: None,
            dont_fragment: None,
            broadcast: false,
        };
        let link = UdpLink::open(&options("127.0.0.1:0")).unwrap();
        let address = link.local_addr().unwrap();
        let server = UdpServer::listen_beside(&link, 0, address, false).unwrap();
        assert!(UdpServer::listen_as(0, address, false).is_err(), "nobody else gets the port");
        let host = host();
        host.send_to(b"hello", address).unwrap();
        let mut heard = Vec::new();
        server.receive(&mut [0; 64], PATIENCE, &mut |_, bytes| heard.push(bytes.to_vec())).unwrap();
        assert_eq!(heard, [b"hello".to_vec()]);
        link.send_to(b"data", host.local_addr().unwrap()).unwrap();
        let mut buffer = [0; 64];
        assert_eq!(host.recv_from(&mut buffer).unwrap(), (4, address));
    }

    fn host() -> UdpSocket {
        let host = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        host.set_read_timeout(Some(PATIENCE)).unwrap();
        host
    }

    #[test]
    fn a_server_moves_while_a_thread_waits() {
        let server = UdpServer::listen_as(0, ([127, 0, 0, 13], 0).into(), true).unwrap();
        let (old, host) = (server.address(), host());
        let moved = server.opened_at([127, 0, 0, 14].into(), &[]).unwrap();
        assert!(server.opened_at([127, 0, 0, 14].into(), &[]).is_err(), "it is taken");
        assert!(server.opened_at([203, 0, 113, 9].into(), &[]).is_err(), "nobody has it");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut peers = Vec::new();
                while peers.is_empty() {
                    let mut heard = |peer, _: &[u8]| peers.push(peer);
                    server.receive(&mut [0; 64], 9 * PATIENCE, &mut heard).unwrap();
                }
                server.send_to(peers[0], b"answer");
            });
            server.take_over(moved);
            assert_eq!(server.address(), ([127, 0, 0, 14], old.port()).into());
            host.send_to(b"hello", server.address()).unwrap();
            // Shorter than the receiving thread's timeout: the answer shows that the thread was woken.
            assert_eq!(host.recv_from(&mut [0; 16]).unwrap(), (6, server.address()));
        });
        UdpSocket::bind(old).expect("the old address is free");
    }

    #[test]
    fn hosts_are_told_apart_and_answered() {
        let server = UdpServer::listen_as(3, ([127, 0, 0, 1], 0).into(), false).unwrap();
        let (first, second) = (host(), host());
        let mut peers = Vec::new();
        for (socket, said) in [(&first, "a"), (&second, "b"), (&first, "c")] {
            socket.send_to(said.as_bytes(), server.address()).unwrap();
            let mut heard = |peer, bytes: &[u8]| {
                assert_eq!(bytes, said.as_bytes());
                peers.push(peer);
            };
            server.receive(&mut [0; 64], PATIENCE, &mut heard).unwrap();
        }
        assert_eq!(peers[0], peers[2]);
        assert_ne!(peers[0], peers[1]);
        assert!(server.has_port(peers[0].port));
        server.send_to(peers[1], b"answer");
        let mut buffer = [0; 16];
        assert_eq!(second.recv_from(&mut buffer).unwrap(), (6, server.address()));
    }

    #[test]
    fn the_silent_are_forgotten_first() {
        let mut hosts = Hosts::default();
        let address = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
        let mut speak = |port| hosts.peer(0, address(port).ip(), address(port)).connection;
        assert_eq!((0..64).map(&mut speak).collect::<Vec<_>>(), (0..64).collect::<Vec<_>>());
        assert_eq!((speak(0), speak(64), speak(0), speak(1)), (0, 64, 0, 65));
    }
}
