//! UDP: one socket for each port of a device. As far as a plain socket permits, its datagrams resemble those of the
//! product.
//!
//! A plain socket cannot choose the IP identification (Linux sends 0 with don't-fragment, as the products do) and
//! cannot omit the UDP checksum. Menura assumes that drivers do not check these fields. Recordings have the product's
//! values.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, RwLock, RwLockReadGuard};
use std::time::{Duration, Instant};

use rustix::cmsg_space;
use rustix::net::sockopt::{
    Ipv4PathMtuDiscovery, ip_mtu_discover, set_ip_mtu_discover, set_txtime,
};
use rustix::net::{
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, TxTimeFlags, sendmsg_addr,
};
use rustix::thread::ClockId;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use super::card_clock::CardClock;
use super::timestamps::{self, DepartureStamp, StampReader, Stamper};
use super::told;
use crate::wire::port::UdpOptions;

/// Size of the send buffer. It holds the datagrams of the fastest device for about 0.1 s, so that a busy network card
/// does not block the sender.
const SEND_BUFFER_BYTES: usize = 1 << 20;

/// An open UDP socket, with the destination of its datagrams.
#[derive(Debug)]
pub struct UdpLink {
    /// Only [`UdpLink::take_over`] writes this.
    bound: RwLock<Bound>,
    replaced: Mutex<Replaced>,
    options: UdpOptions,
    /// Socket for [`UdpLink::rehearse`], which never sends. It is separate, because a rehearsal on the other socket
    /// could send a prepared datagram.
    rehearsal: Socket,
    to: Mutex<SocketAddr>,
    broadcast: AtomicBool,
    /// Number of sent datagrams; also the key of the next datagram and of its timestamp.
    sent: AtomicU32,
    launch_clock: Option<LaunchClock>,
    card_clock: Option<Arc<CardClock>>,
    stamps_departures: AtomicBool,
}

/// The socket at the link's address, and the keys by which its transmit timestamps identify datagrams.
#[derive(Debug)]
struct Bound {
    socket: Socket,
    siblings: Siblings,
    /// Key of the first datagram of this socket. It is added to the kernel's keys, which count from 0 for each socket.
    first_key: u32,
    /// First key, in the kernel's count, whose timestamp has not been read yet.
    stamped: AtomicU32,
}

impl Bound {
    fn new(socket: Socket, siblings: Siblings) -> Self {
        Self { socket, siblings, first_key: 0, stamped: AtomicU32::new(0) }
    }

    /// See [`UdpLink::departures`].
    fn departures(
        &self,
        reader: &mut StampReader,
        stamps: &mut Vec<DepartureStamp>,
    ) -> io::Result<()> {
        let known = stamps.len();
        let outcome = reader.departures(&self.socket, stamps);
        if let Some(last) = stamps[known..].last() {
            self.stamped.store(last.key.wrapping_add(1), Ordering::Relaxed);
        }
        for stamp in &mut stamps[known..] {
            stamp.key = stamp.key.wrapping_add(self.first_key);
        }
        outcome
    }
}

/// Sockets that were replaced when the device moved, and timestamps that were read from them.
#[derive(Debug, Default)]
struct Replaced {
    /// Timestamps that [`UdpLink::departures`] has not returned yet.
    stamps: Vec<DepartureStamp>,
    /// Sockets whose last timestamps have not arrived. Each has the key after its last datagram's key, and the time at
    /// which the socket is closed even if timestamps are missing.
    sockets: Vec<(Bound, u32, Instant)>,
}

impl Replaced {
    /// Reads the timestamps that have arrived, and closes each socket whose timestamps are complete or too late.
    fn read(&mut self, reader: &mut StampReader) {
        let Self { stamps, sockets } = self;
        sockets.retain(|(bound, end, until)| {
            let is_read = bound.departures(reader, stamps).is_ok();
            let next = bound.first_key.wrapping_add(bound.stamped.load(Ordering::Relaxed));
            is_read && next != *end && Instant::now() < *until
        });
    }
}

/// Sockets that share one local address and port, because a product may send several kinds of datagrams from one port.
#[derive(Clone, Debug, Default)]
struct Siblings(Arc<Mutex<Vec<Socket>>>);

impl Siblings {
    fn add(&self, socket: &Socket) -> io::Result<()> {
        self.all().push(socket.try_clone()?);
        Ok(())
    }

    fn all(&self) -> MutexGuard<'_, Vec<Socket>> {
        self.0.lock().expect("no holder panics")
    }

    /// Runs `bind`, which binds another socket to the same address and port. Sockets of other programs cannot bind to
    /// this address and port.
    fn shared<T>(&self, bind: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let all = self.all();
        let share = |on| all.iter().try_for_each(|socket| socket.set_reuse_address(on));
        share(true)?;
        let bound = bind();
        share(false)?;
        bound
    }
}

/// `MSG_MORE` of `linux/socket.h`: the kernel keeps the datagram, because more may follow.
const MSG_MORE: i32 = 0x8000;
/// `MSG_PROBE` of `linux/socket.h`: no datagram is built.
const MSG_PROBE: i32 = 0x10;

/// Size of the receive buffer for timestamps. It holds the timestamps of the fastest device for more than 0.1 s.
const STAMP_BUFFER_BYTES: usize = 8 << 20;

/// Longest time for which a replaced socket waits for its last timestamps. The network card takes them when the
/// datagrams are on the wire.
const LAST_STAMPS: Duration = Duration::from_millis(10);

/// Longest time for a released datagram to reach a socket of this host.
const RELEASE_PATIENCE: Duration = Duration::from_millis(100);

/// The clock of launch times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaunchClock {
    /// `CLOCK_MONOTONIC`, for the packet scheduler `fq`.
    Monotonic,
    /// `CLOCK_TAI`, for the packet scheduler `etf`; needs `CAP_NET_ADMIN`.
    Tai,
}

impl UdpLink {
    /// Opens the socket; sends nothing.
    ///
    /// Errors name the wrong option and its value, and keep the system's error kind.
    pub fn open(options: &UdpOptions) -> io::Result<Self> {
        Self::opened(options, Siblings::default())
    }

    /// Like [`UdpLink::open`], with the same local address and port as `first`: a product may send several kinds of
    /// datagrams from one port. Sockets of other programs cannot bind to the port.
    pub fn open_beside(first: &UdpLink, options: &UdpOptions) -> io::Result<Self> {
        Self::opened(options, first.bound().siblings.clone())
    }

    /// Runs `open`, which may bind another socket to this socket's address and port. Sockets of other programs cannot
    /// bind to them.
    ///
    /// # Errors
    /// Errors of `open` and of the system.
    pub fn shared<T>(&self, open: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        self.bound().siblings.shared(open)
    }

    /// Opens a second socket at the address `ip`, with this link's port and destination, for [`UdpLink::take_over`]. If
    /// [`UdpOptions::from`] names no address, the system chooses another port. `first` is a link of the same device at
    /// that address, if there is one.
    ///
    /// # Errors
    /// Like [`UdpLink::open`].
    pub fn opened_at(&self, ip: IpAddr, first: Option<&UdpLink>) -> io::Result<Self> {
        // The old socket may be bound to all addresses. Its port is then in use at `ip` as well, so the new socket
        // needs another one.
        let has_own = self.options.from.is_some_and(|from| !from.ip().is_unspecified());
        let port = if has_own { self.local_addr()?.port() } else { 0 };
        let from = SocketAddr::new(ip, port);
        let options = UdpOptions { to: self.to(), from: Some(from), ..self.options.clone() };
        let is_shared = |first: &&UdpLink| first.local_addr().is_ok_and(|at| at == from);
        let mut link = match first.filter(is_shared) {
            Some(first) => Self::open_beside(first, &options)?,
            None => Self::open(&options)?,
        };
        if let Some(clock) = self.launch_clock {
            link.set_launch_clock(clock)?;
        }
        link.card_clock.clone_from(&self.card_clock);
        if self.stamps_departures.load(Ordering::Relaxed) {
            link.stamp_departures()?;
        }
        Ok(link)
    }

    /// Sends by the socket of `other` from now on. The old socket is closed when its timestamps have been read: at
    /// once, unless the network card takes them. Must not be called while a datagram is prepared.
    ///
    /// # Errors
    /// A setting could not be copied to the socket of `other`; the link uses the new socket nevertheless.
    pub fn take_over(&self, other: UdpLink) -> io::Result<()> {
        let bound = other.bound.into_inner().expect("no holder panics");
        let first_key = self.sent.load(Ordering::Relaxed);
        let mut own = self.bound.write().expect("no holder panics");
        // Hosts may have changed settings since `other` was opened.
        let have_settings = copy_settings(&own.socket, &bound.socket, self.to().is_ipv4());
        let old = std::mem::replace(&mut *own, Bound { first_key, ..bound });
        if self.stamps_departures.load(Ordering::Relaxed) {
            let mut replaced = self.replaced.lock().expect("no holder panics");
            replaced.sockets.push((old, first_key, Instant::now() + LAST_STAMPS));
            replaced.read(&mut StampReader::default());
        }
        have_settings
    }

    /// Locks the socket for reading. A sender waits at most nanoseconds for this lock: the only writer,
    /// [`UdpLink::take_over`], never runs while a sender sends.
    fn bound(&self) -> RwLockReadGuard<'_, Bound> {
        self.bound.read().expect("no holder panics")
    }

    fn opened(options: &UdpOptions, siblings: Siblings) -> io::Result<Self> {
        let UdpOptions { to, from, .. } = options;
        if to.port() == 0 {
            return Err(invalid(format!("cannot send to {to}: `to` needs a port above 0")));
        }
        if let Some(from) = from.filter(|from| from.is_ipv4() != to.is_ipv4()) {
            return Err(invalid(format!(
                "cannot send from {from} to {to}: one is IPv4, the other IPv6"
            )));
        }
        let new_socket = || {
            Socket::new(Domain::for_address(*to), Type::DGRAM, Some(Protocol::UDP))
                .map_err(|error| told(&error, "cannot open a UDP socket"))
        };
        let (socket, rehearsal) = (new_socket()?, new_socket()?);

        let broadcast = options.broadcast || looks_like_broadcast(to.ip());
        if broadcast && to.is_ipv4() {
            socket
                .set_broadcast(true)
                .map_err(|error| told(&error, "cannot allow broadcasts (`broadcast`)"))?;
        }
        if let Some(name) = &options.interface {
            socket.bind_device(Some(name.as_bytes())).map_err(|error| {
                let hint = match error.raw_os_error() {
                    Some(libc_code::ENODEV) => ": this host has no such network interface",
                    Some(libc_code::EPERM) => ": older kernels require CAP_NET_RAW for this",
                    _ => "",
                };
                told(&error, &format!("cannot send through `interface` {name:?}{hint}"))
            })?;
        }
        set_ttl(&socket, options)?;
        if let (Some(dont_fragment), true) = (options.dont_fragment, to.is_ipv4()) {
            set_dont_fragment(&socket, dont_fragment)?;
        }
        if let Some(from) = from {
            let is_first = siblings.all().is_empty();
            siblings.add(&socket)?;
            match is_first {
                true => bind(&socket, *from)?,
                false => siblings.shared(|| bind(&socket, *from))?,
            }
        }
        if let Err(error) = socket.set_send_buffer_size(SEND_BUFFER_BYTES) {
            tracing::debug!("the send buffer to {to} stays small: {error}");
        }
        let to = Mutex::new(*to);
        let broadcast = AtomicBool::new(broadcast);
        Ok(Self {
            bound: RwLock::new(Bound::new(socket, siblings)),
            replaced: Mutex::default(),
            options: options.clone(),
            rehearsal,
            to,
            broadcast,
            sent: AtomicU32::new(0),
            launch_clock: None,
            card_clock: None,
            stamps_departures: AtomicBool::new(false),
        })
    }

    /// Sends one datagram; waits only if the send buffer is full. Allocates nothing. Returns the datagram's key: the
    /// number of datagrams that this link sent before, as in [`DepartureStamp`].
    ///
    /// A datagram to a destination without a listener counts as sent, as for the product. For other errors see
    /// [`UdpLink::explain`].
    pub fn send(&self, payload: &[u8]) -> io::Result<u32> {
        self.send_to(payload, self.to())
    }

    /// Like [`UdpLink::send`], but to `to`; this avoids the lock of the destination.
    pub fn send_to(&self, payload: &[u8], to: SocketAddr) -> io::Result<u32> {
        let to = SockAddr::from(to);
        self.counted(self.bound().socket.send_to(payload, &to))
    }

    /// Like [`UdpLink::send_to`], but the packet scheduler holds the datagram until `launch_ns` on the clock
    /// of [`UdpLink::set_launch_clock`].
    pub fn send_at(&self, payload: &[u8], to: SocketAddr, launch_ns: u64) -> io::Result<u32> {
        let mut space = [MaybeUninit::uninit(); cmsg_space!(TxTime(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        control.push(SendAncillaryMessage::TxTime(launch_ns));
        let (payload, flags) = ([IoSlice::new(payload)], SendFlags::empty());
        let sent = sendmsg_addr(&self.bound().socket, &to, &payload, &mut control, flags);
        self.counted(sent.map_err(io::Error::from))
    }

    /// Lets the kernel build and keep a datagram, which [`UdpLink::release`] then sends faster than
    /// [`UdpLink::send_to`] does. This socket must send nothing else before that. Returns the key that the datagram
    /// will have.
    ///
    /// # Errors
    /// Like [`UdpLink::send_to`]; after an error nothing is kept.
    pub fn prepare(&self, payload: &[u8], to: SocketAddr) -> io::Result<u32> {
        let to = SockAddr::from(to);
        self.counted(self.bound().socket.send_to_with_flags(payload, &to, MSG_MORE))
    }

    /// Sends the prepared datagram. Afterwards no datagram is kept, even after an error.
    pub fn release(&self) -> io::Result<()> {
        // MSG_PROBE adds no data and takes no key; without `MSG_MORE`, the kernel sends the kept datagram.
        self.bound().socket.send_with_flags(&[], MSG_PROBE).map(drop)
    }

    /// Runs the code path of [`UdpLink::send_to`] through the kernel without sending, so that code and route are in the
    /// caches. Does not affect a prepared datagram.
    pub fn rehearse(&self, to: SocketAddr) {
        let _ = self.rehearsal.send_to_with_flags(&[0; 64], &SockAddr::from(to), MSG_PROBE);
    }

    /// Counts a sent datagram; returns its key.
    fn counted(&self, outcome: io::Result<usize>) -> io::Result<u32> {
        outcome.map(|_| self.sent.fetch_add(1, Ordering::Relaxed))
    }

    /// Enables launch times of datagrams. They have an effect only with a suitable packet scheduler of the network
    /// interface.
    pub fn set_launch_clock(&mut self, clock: LaunchClock) -> io::Result<()> {
        let clock_id = match clock {
            LaunchClock::Monotonic => ClockId::Monotonic,
            LaunchClock::Tai => ClockId::Tai,
        };
        set_txtime(&self.bound().socket, clock_id, TxTimeFlags::empty()).map_err(|error| {
            let hint = match clock {
                LaunchClock::Tai => ": on the TAI clock they need CAP_NET_ADMIN",
                LaunchClock::Monotonic => "",
            };
            told(&error.into(), &format!("the kernel rejects launch times{hint}"))
        })?;
        self.launch_clock = Some(clock);
        Ok(())
    }

    /// Clock of launch times, if they are enabled.
    pub fn launch_clock(&self) -> Option<LaunchClock> {
        self.launch_clock
    }

    /// Sets the clock of the network card. The card then takes the transmit timestamps, instead of the kernel.
    pub fn set_card_clock(&mut self, clock: Arc<CardClock>) {
        self.card_clock = Some(clock);
    }

    /// Clock of the card that takes transmit timestamps; `None` if the kernel takes them.
    pub fn card_clock(&self) -> Option<&CardClock> {
        self.card_clock.as_deref()
    }

    /// Enables transmit timestamps of all datagrams; must be called before the first is sent.
    pub fn stamp_departures(&self) -> io::Result<()> {
        self.stamps_departures.store(true, Ordering::Relaxed);
        let bound = self.bound();
        timestamps::enlarge_receive_buffer(&bound.socket, STAMP_BUFFER_BYTES);
        let by = if self.card_clock.is_some() { Stamper::Card } else { Stamper::Kernel };
        timestamps::stamp_departures(&bound.socket, by)
    }

    /// Adds the transmit timestamps that have arrived to `stamps`, those of replaced sockets first.
    pub fn departures(
        &self,
        reader: &mut StampReader,
        stamps: &mut Vec<DepartureStamp>,
    ) -> io::Result<()> {
        // Lock the socket before reading the replaced ones. If the link moved in between, the timestamps of its old
        // socket would be returned after those of the new one.
        let bound = self.bound();
        let mut replaced = self.replaced.lock().expect("no holder panics");
        replaced.read(reader);
        stamps.append(&mut replaced.stamps);
        drop(replaced);
        bound.departures(reader, stamps)
    }

    /// Message about an error of [`UdpLink::send`], with the remedy.
    pub fn explain(&self, error: &io::Error) -> String {
        let hint = match error.raw_os_error() {
            Some(libc_code::EACCES) if !self.broadcast.load(Ordering::Relaxed) => {
                "; a broadcast address needs `broadcast = true` in the device's `link.udp`"
            }
            Some(libc_code::EACCES | libc_code::EPERM) => "; a firewall of this host forbids it",
            Some(libc_code::ENETUNREACH | libc_code::EHOSTUNREACH) => {
                "; there is no route to it, see `ip route`"
            }
            Some(libc_code::EMSGSIZE) => "; the interface's MTU is too small",
            Some(libc_code::ENODEV) => {
                "; the network interface (`interface`) was removed: plug it in and restart Menura"
            }
            Some(libc_code::ENETDOWN) => "; the network interface is down, see `ip link`",
            Some(libc_code::EINVAL) => {
                "; the source address cannot reach it: 127.0.0.1 reaches only this host"
            }
            _ => "",
        };
        format!("cannot send to {}: {error}{hint}", self.to())
    }

    /// Changes the destination of datagrams to `to`, which must have the same address family.
    pub fn set_to(&self, to: SocketAddr) -> io::Result<()> {
        let so_far = self.to();
        if so_far.is_ipv4() != to.is_ipv4() {
            let text =
                format!("cannot send to {to} instead of {so_far}: one is IPv4, the other IPv6");
            return Err(invalid(text));
        }
        if to.is_ipv4() && looks_like_broadcast(to.ip()) {
            self.bound().socket.set_broadcast(true)?;
            self.broadcast.store(true, Ordering::Relaxed);
        }
        *self.target() = to;
        Ok(())
    }

    /// Sets or clears the don't-fragment flag of datagrams from now on; no effect with IPv6.
    ///
    /// # Errors
    /// The system's error.
    pub fn set_dont_fragment(&self, dont_fragment: bool) -> io::Result<()> {
        if !self.to().is_ipv4() {
            return Ok(());
        }
        set_dont_fragment(&self.bound().socket, dont_fragment)
    }

    fn target(&self) -> MutexGuard<'_, SocketAddr> {
        self.to.lock().expect("no holder panics")
    }

    /// Destination of the datagrams: that of the options, or the last one set by [`UdpLink::set_to`].
    pub fn to(&self) -> SocketAddr {
        *self.target()
    }

    /// Local address of the socket. Without [`UdpOptions::from`], the port is 0 until the first datagram is sent.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        let bound = self.bound();
        let address = bound.socket.local_addr()?;
        address.as_socket().ok_or_else(|| io::Error::other("the socket has no internet address"))
    }
}

/// Whether this system keeps a prepared datagram until its release and then sends it, tested on the loopback interface.
/// Other systems with Linux's interface may support `MSG_MORE` for TCP only.
pub fn system_keeps_datagrams() -> bool {
    let keeps = || -> io::Result<bool> {
        let listener = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        let to = listener.local_addr()?;
        let link = UdpLink::open(&to.into())?;
        let mut heard = [0; 2];
        link.prepare(b"1", to)?;
        listener.set_nonblocking(true)?;
        let is_kept = listener.recv(&mut heard).is_err();
        link.release()?;
        listener.set_nonblocking(false)?;
        listener.set_read_timeout(Some(RELEASE_PATIENCE))?;
        Ok(is_kept && listener.recv(&mut heard)? == 1)
    };
    keeps().unwrap_or(false)
}

/// Linux error numbers that [`io::ErrorKind`] does not distinguish.
mod libc_code {
    pub const EPERM: i32 = 1;
    pub const EACCES: i32 = 13;
    pub const ENODEV: i32 = 19;
    pub const EINVAL: i32 = 22;
    pub const EMSGSIZE: i32 = 90;
    pub const ENETDOWN: i32 = 100;
    pub const ENETUNREACH: i32 = 101;
    pub const EHOSTUNREACH: i32 = 113;
}

/// Whether an address is the limited broadcast address, or may be the directed broadcast address of a network with a
/// prefix of up to 24 bits. The socket does not know the netmask.
fn looks_like_broadcast(ip: IpAddr) -> bool {
    matches!(ip, IpAddr::V4(ip) if ip.octets()[3] == 255)
}

fn set_dont_fragment(socket: &Socket, dont_fragment: bool) -> io::Result<()> {
    let discovery = match dont_fragment {
        true => Ipv4PathMtuDiscovery::DO,
        false => Ipv4PathMtuDiscovery::DONT,
    };
    set_ip_mtu_discover(socket, discovery)
        .map_err(|error| told(&error.into(), "cannot set the don't-fragment flag"))
}

/// Copies from one socket to another the settings that hosts can change.
fn copy_settings(from: &Socket, to: &Socket, is_ipv4: bool) -> io::Result<()> {
    if is_ipv4 {
        to.set_broadcast(from.broadcast()?)?;
        set_ip_mtu_discover(to, ip_mtu_discover(from)?)?;
    }
    Ok(())
}

fn set_ttl(socket: &Socket, options: &UdpOptions) -> io::Result<()> {
    let (to, from) = (options.to, options.from);
    let multicast_error =
        |error: io::Error| told(&error, &format!("cannot send multicast from {from:?} (`from`)"));
    let ttl_error = |error: io::Error| {
        told(&error, &format!("cannot set the time to live to {:?} (`ttl`)", options.ttl))
    };
    match (to.ip(), from.map(|from| from.ip())) {
        (IpAddr::V4(ip), Some(IpAddr::V4(from))) if ip.is_multicast() && !from.is_unspecified() => {
            socket.set_multicast_if_v4(&from).map_err(multicast_error)?;
        }
        _ => {}
    }
    let Some(ttl) = options.ttl else { return Ok(()) };
    if ttl == 0 {
        return Err(invalid("`ttl` is 0, so no datagram leaves; allowed: 1 to 255".to_owned()));
    }
    let ttl = u32::from(ttl);
    match to {
        SocketAddr::V4(_) => socket.set_ttl_v4(ttl).and_then(|()| socket.set_multicast_ttl_v4(ttl)),
        SocketAddr::V6(_) => {
            socket.set_unicast_hops_v6(ttl).and_then(|()| socket.set_multicast_hops_v6(ttl))
        }
    }
    .map_err(ttl_error)
}

fn bind(socket: &Socket, from: SocketAddr) -> io::Result<()> {
    socket.bind(&from.into()).map_err(|error| {
        let hint = match error.kind() {
            io::ErrorKind::AddrNotAvailable => {
                format!(
                    ": no network interface has this address; add it with `ip address add {} dev \
                     …`",
                    from.ip()
                )
            }
            io::ErrorKind::AddrInUse => ": another program has this port".to_owned(),
            io::ErrorKind::PermissionDenied if from.port() < 1024 => {
                ": ports below 1024 need CAP_NET_BIND_SERVICE".to_owned()
            }
            _ => String::new(),
        };
        told(&error, &format!("cannot send from {from} (`from`){hint}"))
    })
}

fn invalid(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

#[cfg(test)]
mod tests;
