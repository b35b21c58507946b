//! PTP messages of one device at its own address: by UDP to the multicast groups of PTP and to single hosts, or by
//! Ethernet. The kernel timestamps all arriving messages, and the departure of event messages.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd as _};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use nix::libc;
use nix::sys::socket::{LinkAddr, bind};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use socket2::{Domain, Protocol, Socket, Type};

use super::timestamps::{self, StampReader, Stamper};
use super::told;
use crate::wire::ptp::{
    ETHER_TYPE, EVENT_PORT, GENERAL_PORT, LONGEST, PEER_DELAY_GROUP, PEER_DELAY_MAC, PRIMARY_GROUP,
    PRIMARY_MAC, Target, Transport,
};

/// Ports of event and general messages. Tests use other ports, because ports below 1024 need a privilege.
const PORTS: [u16; 2] = if cfg!(test) { [21_319, 21_320] } else { [EVENT_PORT, GENERAL_PORT] };
/// Time to live of PTP messages: they do not cross routers.
const TTL: u32 = 1;
/// Largest number of messages that are read from a socket before the next socket is read.
const AT_ONCE: usize = 64;
/// Largest number of sent messages that wait for their timestamps. With more, the oldest is forgotten.
const MOST_PENDING: usize = 64;
/// If this many sent messages wait for their timestamps, the network driver is assumed to have no transmit timestamps.
const UNSTAMPED: usize = 8;
/// Length of an Ethernet header, bytes: two addresses and the type.
const ETHERNET_HEADER: usize = 14;
/// Length to which shorter frames are padded, bytes.
const SHORTEST_FRAME: usize = 60;

/// The PTP sockets of one device.
#[derive(Debug)]
pub struct PtpLink {
    interface: Option<String>,
    /// UDP sockets at the device's present address; only [`PtpLink::take_over`] replaces them.
    bound: RwLock<Arc<Bound>>,
    carrier: Mutex<Carrier>,
}

/// The UDP sockets at one address.
#[derive(Debug)]
struct Bound {
    address: Ipv4Addr,
    groups: UdpSockets,
    /// Sockets for unicast messages to the device's address.
    own: Option<UdpSockets>,
}

/// PTP transport of a link, and the raw socket if the transport is Ethernet.
#[derive(Clone, Debug, Default)]
struct Carrier {
    wanted: Transport,
    /// Open socket if the transport is Ethernet.
    ethernet: Option<Arc<EthernetSocket>>,
}

#[derive(Debug)]
struct UdpSockets {
    event: Stamped,
    general: Socket,
}

#[derive(Debug)]
struct EthernetSocket {
    socket: Stamped,
    mac: [u8; 6],
    transport: Transport,
}

/// A socket with transmit timestamps.
#[derive(Debug)]
struct Stamped {
    socket: Socket,
    departures: Mutex<Departures>,
}

/// Event messages that a socket has sent, with their keys.
#[derive(Debug, Default)]
struct Departures {
    /// Key that the kernel will give to the timestamp of the next message that the socket sends.
    next: u32,
    /// Sent event messages that wait for their timestamps: for each, the kernel's key and the device's key.
    pending: Vec<(u32, u32)>,
}

/// An event at the sockets, with the kernel's timestamp: POSIX time, nanoseconds.
#[derive(Debug, PartialEq, Eq)]
pub enum PtpEvent<'a> {
    /// A message arrived: time, sender (known for unicast messages only) and bytes.
    Arrived(u64, Option<Ipv4Addr>, &'a [u8]),
    /// An event message left: time, and the `key` that [`PtpLink::send`] got with the message.
    Left(u64, u32),
}

impl PtpLink {
    /// Opens the sockets of the device with `address`, on `interface` or, without it, on the network interface that has
    /// the address. With `is_device`, the link also receives unicast messages to the address. Set `is_device` to false
    /// for a host's own address, where another program may need these messages.
    pub fn open(address: Ipv4Addr, interface: Option<&str>, is_device: bool) -> io::Result<Self> {
        let groups = UdpSockets::open(address, None, interface)?;
        let own = is_device.then(|| UdpSockets::open(address, Some(address), interface));
        let bound = Bound { address, groups, own: own.transpose()? };
        let (interface, bound) = (interface.map(str::to_owned), RwLock::new(Arc::new(bound)));
        Ok(Self { interface, bound, carrier: Mutex::default() })
    }

    /// Opens this link a second time at `address`, for [`PtpLink::take_over`].
    ///
    /// # Errors
    /// Like [`PtpLink::open`].
    pub fn opened_at(&self, address: Ipv4Addr) -> io::Result<Self> {
        let other = Self::open(address, self.interface.as_deref(), self.bound().own.is_some())?;
        other.carry_by(self.carrier().wanted);
        other.open_carrier().map(|()| other)
    }

    /// Replaces the sockets of this link by those of `other` from now on.
    pub fn take_over(&self, other: PtpLink) {
        let PtpLink { bound, carrier, .. } = other;
        let bound = bound.into_inner().unwrap_or_else(PoisonError::into_inner);
        let ethernet = carrier.into_inner().unwrap_or_else(PoisonError::into_inner).ethernet;
        // The old sockets have also received the messages that wait at the new ones, so these copies are discarded.
        let mut reader = StampReader::default();
        let packets = ethernet.iter().map(|ethernet| &ethernet.socket.socket);
        for socket in [&bound.groups.event.socket, &bound.groups.general].into_iter().chain(packets)
        {
            let _ = hear(socket, &mut reader, |_, _, _| ());
        }
        self.keep(ethernet);
        *self.bound.write().unwrap_or_else(PoisonError::into_inner) = bound;
    }

    fn bound(&self) -> Arc<Bound> {
        Arc::clone(&self.bound.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Name of the link for messages.
    pub fn describe(&self) -> String {
        format!("PTP at {}", self.bound().address)
    }

    /// Sets the transport of messages; [`PtpLink::open_carrier`] or [`PtpLink::receive`] opens its socket.
    pub fn carry_by(&self, transport: Transport) {
        self.carrier().wanted = transport;
    }

    /// Opens the socket of the transport if it is closed. This may take long; concurrent calls of [`PtpLink::send`] do
    /// not wait for it.
    pub fn open_carrier(&self) -> io::Result<()> {
        self.opened().map(drop)
    }

    fn opened(&self) -> io::Result<Option<Arc<EthernetSocket>>> {
        let Carrier { wanted, ethernet } = self.carrier().clone();
        let kept = ethernet.filter(|ethernet| ethernet.transport == wanted);
        if kept.is_some() || wanted == Transport::Udp {
            self.keep(kept.clone());
            return Ok(kept);
        }
        let address = self.bound().address;
        let socket = EthernetSocket::open(address, self.interface.as_deref(), wanted)?;
        let socket = Some(Arc::new(socket));
        self.keep(socket.clone());
        Ok(socket)
    }

    /// Replaces the Ethernet socket. The old socket is closed without the lock, because closing takes long and senders
    /// need the lock.
    fn keep(&self, ethernet: Option<Arc<EthernetSocket>>) {
        let _old = std::mem::replace(&mut self.carrier().ethernet, ethernet);
    }

    fn carrier(&self) -> std::sync::MutexGuard<'_, Carrier> {
        self.carrier.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a message. An event message has a `key`, which [`PtpEvent::Left`] reports. Returns false if the network
    /// driver seems to have no transmit timestamps. Messages for Ethernet are lost until the socket is open.
    pub fn send(&self, bytes: &[u8], key: Option<u32>, target: Target) -> io::Result<bool> {
        let Carrier { wanted, ethernet } = self.carrier().clone();
        let bound = self.bound();
        let (sockets, group) = match (target, &bound.own) {
            (Target::Host(host), Some(own)) => (own, host),
            (Target::Host(host), None) => (&bound.groups, host),
            (Target::All, _) => (&bound.groups, PRIMARY_GROUP),
            (Target::Neighbours, _) => (&bound.groups, PEER_DELAY_GROUP),
        };
        if wanted != Transport::Udp {
            let open = ethernet.filter(|ethernet| ethernet.transport == wanted);
            let Some(ethernet) = open else { return Ok(true) };
            let frame = ethernet.frame(bytes, target);
            return ethernet.socket.send(&frame, key, None);
        }
        let to = |port| SocketAddr::from(SocketAddrV4::new(group, port));
        match key {
            Some(_) => sockets.event.send(bytes, key, Some(to(PORTS[0]))),
            None => {
                sockets.general.send_to(bytes, &to(PORTS[1]).into())?;
                Ok(true)
            }
        }
    }

    /// Waits up to `patience` for events and reports them to `tell`.
    pub fn receive(
        &self,
        reader: &mut StampReader,
        patience: Duration,
        mut tell: impl FnMut(PtpEvent<'_>),
    ) -> io::Result<()> {
        let patience = Timespec::try_from(patience).map_err(io::Error::other)?;
        let bound = self.bound();
        let has_moved = || !Arc::ptr_eq(&bound, &self.bound());
        if let Some(ethernet) = self.opened()? {
            wait(&[&ethernet.socket.socket], &patience)?;
            if has_moved() {
                return Ok(());
            }
            ethernet.socket.tell_departures(reader, &mut tell)?;
            return hear(&ethernet.socket.socket, reader, |unix_ns, _, frame| {
                if let Some(bytes) = ethernet.message(frame) {
                    tell(PtpEvent::Arrived(unix_ns, None, bytes));
                }
            });
        }
        let groups = [&bound.groups.event.socket, &bound.groups.general];
        let own = bound.own.iter().flat_map(|own| [&own.event.socket, &own.general]);
        let sockets: Vec<_> = groups.into_iter().chain(own).collect();
        wait(&sockets, &patience)?;
        if has_moved() {
            return Ok(());
        }
        // Departures are read first, because the answers to these messages may already have arrived.
        for sockets in [&bound.groups].into_iter().chain(&bound.own) {
            sockets.event.tell_departures(reader, &mut tell)?;
        }
        for (place, socket) in sockets.into_iter().enumerate() {
            let is_own = place >= groups.len();
            hear(socket, reader, |unix_ns, from, bytes| {
                tell(PtpEvent::Arrived(unix_ns, from.filter(|_| is_own), bytes));
            })?;
        }
        Ok(())
    }
}

/// Waits up to `patience` for an event at one of the sockets.
fn wait(sockets: &[&Socket], patience: &Timespec) -> io::Result<()> {
    let mut waiting: Vec<_> = sockets
        .iter()
        .map(|socket| PollFd::from_borrowed_fd(socket.as_fd(), PollFlags::IN))
        .collect();
    poll(&mut waiting, Some(patience))?;
    Ok(())
}

/// Reports the messages that have arrived at `socket`, at most [`AT_ONCE`]: timestamp (POSIX time, nanoseconds), sender
/// and bytes.
fn hear(
    socket: &Socket,
    reader: &mut StampReader,
    mut tell: impl FnMut(u64, Option<Ipv4Addr>, &[u8]),
) -> io::Result<()> {
    let mut buffer = [0; LONGEST + ETHERNET_HEADER];
    // The loop is bounded, because messages may arrive faster than they are handled.
    for _ in 0..AT_ONCE {
        let Some(arrival) = reader.arrival(socket, &mut buffer)? else { break };
        let from = match arrival.from {
            Some(SocketAddr::V4(from)) => Some(*from.ip()),
            _ => None,
        };
        if let Some(unix_ns) = arrival.unix_ns {
            tell(unix_ns, from, &buffer[..arrival.length]);
        }
    }
    Ok(())
}

impl Stamped {
    fn new(socket: Socket) -> io::Result<Self> {
        timestamps::stamp_departures(&socket, Stamper::Kernel)?;
        Ok(Self { socket, departures: Mutex::default() })
    }

    /// Sends a message, see [`PtpLink::send`]; `to` is `None` for an Ethernet frame.
    fn send(&self, bytes: &[u8], key: Option<u32>, to: Option<SocketAddr>) -> io::Result<bool> {
        // The lock is held so that the timestamp is read only after its key is stored.
        let mut departures = self.departures.lock().expect("no holder panics");
        match to {
            Some(to) => self.socket.send_to(bytes, &to.into())?,
            None => self.socket.send(bytes)?,
        };
        let kernel_key = departures.next;
        departures.next = kernel_key.wrapping_add(1);
        let Some(key) = key else { return Ok(true) };
        departures.pending.push((kernel_key, key));
        let too_many = departures.pending.len().saturating_sub(MOST_PENDING);
        departures.pending.drain(..too_many);
        Ok(departures.pending.len() < UNSTAMPED)
    }

    fn tell_departures(
        &self,
        reader: &mut StampReader,
        tell: &mut impl FnMut(PtpEvent<'_>),
    ) -> io::Result<()> {
        let mut stamps = Vec::new();
        reader.departure_stamps(&self.socket, &mut stamps)?;
        for stamp in stamps {
            let key = {
                let mut departures = self.departures.lock().expect("no holder panics");
                let place = departures.pending.iter().position(|(own, _)| *own == stamp.key);
                // Timestamps arrive in order: the missing earlier ones are lost.
                place.and_then(|place| departures.pending.drain(..=place).next_back())
            };
            if let Some((_, key)) = key {
                tell(PtpEvent::Left(stamp.at_ns, key));
            }
        }
        Ok(())
    }
}

impl UdpSockets {
    fn open(address: Ipv4Addr, own: Option<Ipv4Addr>, interface: Option<&str>) -> io::Result<Self> {
        let open = |port| open_udp(address, own, port, interface);
        let (event, general) = (open(PORTS[0])?, open(PORTS[1])?);
        Ok(Self { event: Stamped::new(event)?, general })
    }
}

/// A UDP socket at `port`: for unicast messages to `own`, or without `own` for the multicast groups of PTP.
fn open_udp(
    address: Ipv4Addr,
    own: Option<Ipv4Addr>,
    port: u16,
    interface: Option<&str>,
) -> io::Result<Socket> {
    let open = || -> io::Result<Socket> {
        let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
        // Other devices and programs on this host receive the same multicast groups.
        socket.set_reuse_address(true)?;
        if let Some(name) = interface {
            socket.bind_device(Some(name.as_bytes()))?;
        }
        socket.bind(&SocketAddr::from((own.unwrap_or(Ipv4Addr::UNSPECIFIED), port)).into())?;
        socket.set_multicast_all_v4(false)?;
        if own.is_none() {
            for group in [PRIMARY_GROUP, PEER_DELAY_GROUP] {
                socket.join_multicast_v4(&group, &address)?;
            }
        }
        socket.set_multicast_if_v4(&address)?;
        socket.set_multicast_ttl_v4(TTL)?;
        socket.set_nonblocking(true)?;
        timestamps::stamp_arrivals(&socket)?;
        Ok(socket)
    };
    open().map_err(|error| {
        let hint = match error.kind() {
            io::ErrorKind::PermissionDenied => {
                ": ports below 1024 need root, CAP_NET_BIND_SERVICE or \
                 net.ipv4.ip_unprivileged_port_start"
            }
            io::ErrorKind::AddrNotAvailable => ": no network interface has this address",
            _ => "",
        };
        told(&error, &format!("cannot open UDP port {port} for PTP at {address}{hint}"))
    })
}

impl EthernetSocket {
    fn open(address: Ipv4Addr, interface: Option<&str>, transport: Transport) -> io::Result<Self> {
        let open = || -> io::Result<Self> {
            let link = link_of(address, interface)?;
            let mac = link.addr().unwrap_or_default();
            let protocol = Protocol::from(i32::from(ETHER_TYPE.to_be()));
            let socket = Socket::new(Domain::PACKET, Type::RAW, Some(protocol))?;
            // The address has no protocol, so the kernel keeps the protocol of the socket.
            bind(socket.as_raw_fd(), &link)?;
            for group in [PRIMARY_MAC, PEER_DELAY_MAC] {
                membership::join(&socket, link.ifindex(), group)?;
            }
            socket.set_nonblocking(true)?;
            timestamps::stamp_arrivals(&socket)?;
            Ok(Self { socket: Stamped::new(socket)?, mac, transport })
        };
        open().map_err(|error| {
            let hint = match error.kind() {
                io::ErrorKind::PermissionDenied => ": this needs root or CAP_NET_RAW",
                _ => "",
            };
            told(&error, &format!("cannot open an Ethernet socket for PTP at {address}{hint}"))
        })
    }

    /// Builds the Ethernet frame with this message.
    fn frame(&self, bytes: &[u8], target: Target) -> Vec<u8> {
        let to = match (self.transport, target) {
            (Transport::Gptp, _) | (_, Target::Neighbours) => PEER_DELAY_MAC,
            _ => PRIMARY_MAC,
        };
        let mut frame = [&to[..], &self.mac, &ETHER_TYPE.to_be_bytes(), bytes].concat();
        frame.resize(frame.len().max(SHORTEST_FRAME), 0);
        frame
    }

    /// The PTP message in a frame; `None` for frames that this socket has sent, that have another destination, or that
    /// contain another protocol.
    fn message<'f>(&self, frame: &'f [u8]) -> Option<&'f [u8]> {
        let (head, message) = frame.split_at_checked(ETHERNET_HEADER)?;
        let is_heard =
            [PRIMARY_MAC, PEER_DELAY_MAC, self.mac].iter().any(|to| head.starts_with(to));
        (is_heard && head[6..12] != self.mac && head[12..] == ETHER_TYPE.to_be_bytes())
            .then_some(message)
    }
}

/// Ethernet address of `interface`, or of the interface that has `address`.
fn link_of(address: Ipv4Addr, interface: Option<&str>) -> io::Result<LinkAddr> {
    let all: Vec<_> = nix::ifaddrs::getifaddrs()?.collect();
    let has_address = |found: &&nix::ifaddrs::InterfaceAddress| {
        let own = found.address.as_ref().and_then(|storage| storage.as_sockaddr_in());
        // The loopback interface has all addresses of 127.0.0.0/8.
        let is_of_loopback = |own: Ipv4Addr| own.is_loopback() && address.is_loopback();
        own.is_some_and(|own| own.ip() == address || is_of_loopback(own.ip()))
    };
    let name = match interface {
        Some(name) => Some(name),
        None => all.iter().find(has_address).map(|found| found.interface_name.as_str()),
    };
    // An address may have a label, such as eth0:1.
    let name = name.and_then(|name| name.split(':').next());
    let mut links = all.iter().filter(|found| Some(found.interface_name.as_str()) == name);
    let link = links.find_map(|found| found.address.as_ref()?.as_link_addr().copied());
    link.ok_or_else(|| io::Error::other(format!("no network interface has {address}")))
}

/// Membership of a packet socket in an Ethernet multicast group.
mod membership {
    use nix::{setsockopt_impl, sockopt_impl};

    use super::{Socket, io, libc};

    sockopt_impl!(
        /// `PACKET_ADD_MEMBERSHIP`
        Join,
        SetOnly,
        libc::SOL_PACKET,
        libc::PACKET_ADD_MEMBERSHIP,
        libc::packet_mreq
    );

    /// Joins `group` at the interface with index `interface`.
    pub fn join(socket: &Socket, interface: usize, group: [u8; 6]) -> io::Result<()> {
        use nix::sys::socket::SetSockOpt as _;
        let mut mr_address = [0; 8];
        mr_address[..6].copy_from_slice(&group);
        let request = libc::packet_mreq {
            mr_ifindex: interface as i32,
            mr_type: libc::PACKET_MR_MULTICAST as u16,
            mr_alen: 6,
            mr_address,
        };
        Ok(Join.set(socket, &request)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_those_of_the_standards() {
        let socket = |transport| EthernetSocket {
            socket: Stamped {
                socket: Socket::new(Domain::IPV4, Type::DGRAM, None).unwrap(),
                departures: Mutex::default(),
            },
            mac: [2, 0, 0, 0, 0, 7],
            transport,
        };
        let (gptp, ieee_1588) = (socket(Transport::Gptp), socket(Transport::Ethernet));
        let message = [0x10; 44];
        let frame = gptp.frame(&message, Target::All);
        assert_eq!(frame[..14], [1, 0x80, 0xc2, 0, 0, 0xe, 2, 0, 0, 0, 0, 7, 0x88, 0xf7]);
        assert_eq!(frame.len(), 60);
        assert!(ieee_1588.frame(&message, Target::All).starts_with(&PRIMARY_MAC));
        assert!(ieee_1588.frame(&message, Target::Neighbours).starts_with(&PEER_DELAY_MAC));
        assert_eq!(gptp.message(&frame), None, "it is its own");
        let mut of_other = frame.clone();
        of_other[11] = 8;
        assert_eq!(gptp.message(&of_other), Some(&frame[14..]));
        of_other[0] = 2;
        assert_eq!(gptp.message(&of_other), None, "to another");
        assert_eq!(gptp.message(&of_other[..13]), None);
    }

    /// The messages that arrive up to `last`, each with its sender if the message is unicast.
    #[allow(clippy::disallowed_methods)] // waits for the kernel, not for the simulation
    fn heard(link: &PtpLink, last: &[u8]) -> Vec<(Option<Ipv4Addr>, Vec<u8>)> {
        let mut heard: Vec<(_, Vec<u8>)> = Vec::new();
        let ends = std::time::Instant::now() + Duration::from_secs(20);
        while heard.iter().all(|(_, bytes)| bytes != last) {
            assert!(std::time::Instant::now() < ends, "{last:?} does not arrive: {heard:?}");
            let note = |event: PtpEvent<'_>| match event {
                PtpEvent::Arrived(_, from, bytes) => heard.push((from, bytes.to_vec())),
                PtpEvent::Left(..) => {}
            };
            link.receive(&mut StampReader::default(), Duration::from_millis(50), note).unwrap();
        }
        heard
    }

    #[test]
    fn messages_leave_from_the_address_that_a_link_has_moved_to() {
        let [first, second, master] = [61, 62, 63].map(|last| Ipv4Addr::new(127, 0, 0, last));
        let [link, master_link] =
            [first, master].map(|address| PtpLink::open(address, None, true).unwrap());
        link.send(b"before", Some(1), Target::Host(master)).unwrap();
        assert_eq!(heard(&master_link, b"before"), [(Some(first), b"before".to_vec())]);
        let other = link.opened_at(second).unwrap();
        assert!(link.opened_at(Ipv4Addr::new(203, 0, 113, 9)).is_err(), "nobody has it");
        master_link.send(b"both", Some(2), Target::All).unwrap();
        assert_eq!(heard(&link, b"both"), [(None, b"both".to_vec())]);
        link.take_over(other);
        assert_eq!(link.describe(), "PTP at 127.0.0.62");
        link.send(b"after", Some(3), Target::Host(master)).unwrap();
        let after = heard(&master_link, b"after");
        assert_eq!(after.last(), Some(&(Some(second), b"after".to_vec())));
        // The link is still in the multicast groups, gets unicast messages to its address, and gets
        // nothing twice.
        master_link.send(b"alone", Some(4), Target::Host(second)).unwrap();
        assert_eq!(heard(&link, b"alone"), [(Some(master), b"alone".to_vec())]);
        master_link.send(b"all", Some(5), Target::All).unwrap();
        assert_eq!(heard(&link, b"all"), [(None, b"all".to_vec())]);
        let back = link.opened_at(first).expect("its old address is free");
        link.take_over(back);
        assert_eq!(link.describe(), "PTP at 127.0.0.61");
    }

    #[test]
    fn the_interface_of_an_address_is_found() {
        let link = link_of(Ipv4Addr::new(127, 0, 0, 9), None).unwrap();
        assert_eq!(link.addr(), Some([0; 6]));
        assert!(link_of(Ipv4Addr::new(192, 0, 2, 77), None).is_err());
    }
}
