//! PTP by UDP: the sockets of one device, on an address of its own. Datagrams go to PTP's multicast groups and come
//! from them; arrivals, and departures of event messages, are stamped by the kernel.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::os::fd::AsFd as _;
use std::sync::Mutex;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use socket2::{Domain, Protocol, Socket, Type};

use super::timestamps::{self, StampReader, Stamper};
use super::told;
use crate::wire::ptp::{EVENT_PORT, GENERAL_PORT, LONGEST, PEER_DELAY_GROUP, PRIMARY_GROUP};

/// PTP crosses no router.
const TTL: u32 = 1;
/// Messages that are taken from a socket before the other is looked at.
const AT_ONCE: usize = 64;
/// Departures whose stamp has not come yet.
const MOST_PENDING: usize = 64;
/// So many without a stamp mean that none comes.
const UNSTAMPED: usize = 8;

/// The sockets of one device.
#[derive(Debug)]
pub struct PtpLink {
    address: Ipv4Addr,
    event: Socket,
    general: Socket,
    departures: Mutex<Departures>,
}

/// What has been sent by the event socket.
#[derive(Debug, Default)]
struct Departures {
    /// The kernel's key of the next one.
    next: u32,
    /// The kernel's keys, and the device's.
    pending: Vec<(u32, u32)>,
}

/// Something that happened at the sockets, with the kernel's stamp: nanoseconds of POSIX time.
#[derive(Debug, PartialEq, Eq)]
pub enum PtpEvent<'a> {
    /// These bytes arrived.
    Arrived(u64, &'a [u8]),
    /// The event message that the device knows by this key left.
    Left(u64, u32),
}

impl PtpLink {
    /// Opens the sockets of the device that has `address`, on that address's network interface or on
    /// `interface`.
    pub fn open(address: Ipv4Addr, interface: Option<&str>) -> io::Result<Self> {
        let open = |port| open_socket(address, port, interface);
        let (event, general) = (open(EVENT_PORT)?, open(GENERAL_PORT)?);
        timestamps::stamp_departures(&event, Stamper::Kernel)?;
        Ok(Self { address, event, general, departures: Mutex::default() })
    }

    /// The link in messages.
    pub fn describe(&self) -> String {
        format!("PTP at {}", self.address)
    }

    /// Sends a message to the group of the peer delay or to that of all others. One with a `key` is an event
    /// message, whose departure is told by it. Whether a departure will be stamped, as far as is known: some network
    /// drivers stamp none.
    pub fn send(&self, bytes: &[u8], key: Option<u32>, is_of_peer_delay: bool) -> io::Result<bool> {
        let group = if is_of_peer_delay { PEER_DELAY_GROUP } else { PRIMARY_GROUP };
        let to = |port| SocketAddr::from(SocketAddrV4::new(group, port)).into();
        let Some(key) = key else {
            return self.general.send_to(bytes, &to(GENERAL_PORT)).map(|_| true);
        };
        // The lock is held so that the stamp is not read before its key is noted.
        let mut departures = self.departures.lock().expect("no holder panics");
        self.event.send_to(bytes, &to(EVENT_PORT))?;
        let kernel_key = departures.next;
        departures.next = kernel_key.wrapping_add(1);
        departures.pending.push((kernel_key, key));
        let too_many = departures.pending.len().saturating_sub(MOST_PENDING);
        departures.pending.drain(..too_many);
        Ok(departures.pending.len() < UNSTAMPED)
    }

    /// Waits up to `patience` for something to happen, and tells it.
    pub fn receive(
        &self,
        reader: &mut StampReader,
        patience: Duration,
        mut tell: impl FnMut(PtpEvent<'_>),
    ) -> io::Result<()> {
        let sockets = [&self.event, &self.general];
        let mut waiting =
            sockets.map(|socket| PollFd::from_borrowed_fd(socket.as_fd(), PollFlags::IN));
        let patience = Timespec::try_from(patience).map_err(io::Error::other)?;
        poll(&mut waiting, Some(&patience))?;
        // Departures first: their answers may be here already.
        let mut stamps = Vec::new();
        reader.departure_stamps(&self.event, &mut stamps)?;
        for stamp in stamps {
            let key = {
                let mut departures = self.departures.lock().expect("no holder panics");
                let place = departures.pending.iter().position(|(own, _)| *own == stamp.key);
                // Stamps come in order: those before it are lost.
                place.and_then(|place| departures.pending.drain(..=place).next_back())
            };
            if let Some((_, key)) = key {
                tell(PtpEvent::Left(stamp.at_ns, key));
            }
        }
        let mut buffer = [0; LONGEST];
        for socket in sockets {
            // Not for ever, when more arrives than is taken.
            for _ in 0..AT_ONCE {
                let Some(arrival) = reader.arrival(socket, &mut buffer)? else { break };
                if let Some(unix_ns) = arrival.unix_ns {
                    tell(PtpEvent::Arrived(unix_ns, &buffer[..arrival.length]));
                }
            }
        }
        Ok(())
    }
}

fn open_socket(address: Ipv4Addr, port: u16, interface: Option<&str>) -> io::Result<Socket> {
    let open = || -> io::Result<Socket> {
        let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
        // Other devices of this host, and other programs, hear the same groups.
        socket.set_reuse_address(true)?;
        if let Some(name) = interface {
            socket.bind_device(Some(name.as_bytes()))?;
        }
        socket.bind(&SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)).into())?;
        socket.set_multicast_all_v4(false)?;
        for group in [PRIMARY_GROUP, PEER_DELAY_GROUP] {
            socket.join_multicast_v4(&group, &address)?;
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
