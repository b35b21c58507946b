//! The kernel's timestamps of datagrams (`SO_TIMESTAMPING`): when they leave to the network interface, and when they
//! arrive from it.
//!
//! Timestamps are `CLOCK_REALTIME` (POSIX time, nanoseconds), unless the network card took them: then they are on the
//! card's clock. The interface's driver takes a transmit timestamp just before the hardware gets the frame; a card
//! takes it when the frame is on the wire. The timestamp then waits in the socket's error queue. A receive timestamp is
//! taken when the network stack gets the frame. See the kernel's `Documentation/networking/timestamping.rst`.

use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd};

use nix::cmsg_space;
use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::sockopt::{ReceiveTimestampns, Timestamping};
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, SockaddrStorage, TimestampingFlag as Flag, recvmsg, setsockopt,
    sockopt,
};
use nix::sys::time::TimeSpec;

/// `SO_EE_ORIGIN_TIMESTAMPING` of `linux/errqueue.h`.
const ORIGIN_TIMESTAMPING: u8 = 4;

/// Source of a transmit timestamp, and its clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamper {
    /// The interface's driver, with `CLOCK_REALTIME`.
    Kernel,
    /// The network card, with the clock of [`super::card_clock::CardClock`].
    Card,
}

/// Transmit timestamp of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DepartureStamp {
    /// Number of datagrams that the socket sent before this one, since timestamps were enabled.
    pub key: u32,
    /// Time of departure on the clock of `by`, nanoseconds.
    pub at_ns: u64,
    /// Source of the timestamp.
    pub by: Stamper,
}

/// A datagram that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Length of the payload in the buffer, bytes.
    pub length: usize,
    /// Whether the payload was longer than the buffer.
    pub is_cut: bool,
    /// Sender, if the kernel reports it.
    pub from: Option<SocketAddr>,
    /// Time of arrival at the kernel, nanoseconds of POSIX time; `None` without a timestamp.
    pub unix_ns: Option<u64>,
    /// Number of datagrams that the socket has lost so far because its receive buffer was full; `None` if unknown.
    pub overflowed: Option<u32>,
}

/// Enables transmit timestamps of `socket`. The kernel takes them if the card cannot.
pub fn stamp_departures(socket: &impl AsFd, by: Stamper) -> io::Result<()> {
    let mut flags = Flag::SOF_TIMESTAMPING_TX_SOFTWARE
        | Flag::SOF_TIMESTAMPING_SOFTWARE
        | Flag::SOF_TIMESTAMPING_OPT_ID
        | Flag::SOF_TIMESTAMPING_OPT_TSONLY;
    if by == Stamper::Card {
        flags |= Flag::SOF_TIMESTAMPING_TX_HARDWARE | Flag::SOF_TIMESTAMPING_RAW_HARDWARE;
    }
    Ok(setsockopt(socket, Timestamping, &flags)?)
}

/// Enables receive timestamps of `socket`, and reports of lost datagrams.
pub fn stamp_arrivals(socket: &impl AsFd) -> io::Result<()> {
    setsockopt(socket, ReceiveTimestampns, &true)?;
    Ok(setsockopt(socket, sockopt::RxqOvfl, &1)?)
}

/// Requests a receive buffer of `bytes` for `socket`, beyond the system's limit if permitted; returns the actual size,
/// bytes.
pub fn enlarge_receive_buffer(socket: &impl AsFd, bytes: usize) -> usize {
    if setsockopt(socket, sockopt::RcvBufForce, &bytes).is_err() {
        // Without the privilege CAP_NET_ADMIN, the system limits the size.
        let _ = setsockopt(socket, sockopt::RcvBuf, &bytes);
    }
    nix::sys::socket::getsockopt(socket, sockopt::RcvBuf).unwrap_or(0)
}

/// Reads timestamps and datagrams with timestamps; reuses its buffers.
#[derive(Debug)]
pub struct StampReader {
    control: Vec<u8>,
    discarded: Vec<u8>,
}

impl Default for StampReader {
    fn default() -> Self {
        let control = cmsg_space!([TimeSpec; 3], [libc::sock_extended_err; 2], [u32; 16]);
        Self { control, discarded: vec![0; 2048] }
    }
}

impl StampReader {
    /// Adds the waiting timestamps of `socket` to `stamps`; does not wait for more. Received datagrams are discarded,
    /// because they would fill the socket's buffer.
    pub fn departures(
        &mut self,
        socket: &impl AsFd,
        stamps: &mut Vec<DepartureStamp>,
    ) -> io::Result<()> {
        self.departure_stamps(socket, stamps)?;
        while self.next(socket, MsgFlags::empty())?.is_some() {}
        Ok(())
    }

    /// Like [`StampReader::departures`], but leaves received datagrams in the socket.
    pub fn departure_stamps(
        &mut self,
        socket: &impl AsFd,
        stamps: &mut Vec<DepartureStamp>,
    ) -> io::Result<()> {
        while let Some((_, message)) = self.next(socket, MsgFlags::MSG_ERRQUEUE)? {
            stamps.extend(message.departure());
        }
        Ok(())
    }

    /// Next message in a queue of the socket, if one waits: its length and its control data.
    fn next(&mut self, socket: &impl AsFd, queue: MsgFlags) -> io::Result<Option<(usize, Extras)>> {
        let mut payload = [IoSliceMut::new(&mut self.discarded)];
        let arrived = receive(socket, &mut payload, &mut self.control, queue)?;
        Ok(arrived.map(|(arrival, extras)| (arrival.length, extras)))
    }

    /// Reads the next waiting datagram of `socket` into `buffer`; `None` if none waits.
    pub fn arrival(
        &mut self,
        socket: &impl AsFd,
        buffer: &mut [u8],
    ) -> io::Result<Option<Arrival>> {
        let mut payload = [IoSliceMut::new(buffer)];
        let arrived = receive(socket, &mut payload, &mut self.control, MsgFlags::empty())?;
        Ok(arrived.map(|(arrival, _)| arrival))
    }
}

/// Ancillary data of a message.
#[derive(Clone, Copy, Debug, Default)]
struct Extras {
    stamp_ns: Option<u64>,
    card_ns: Option<u64>,
    key: Option<u32>,
    overflowed: Option<u32>,
}

impl Extras {
    fn departure(self) -> Option<DepartureStamp> {
        let card = self.card_ns.map(|ns| (ns, Stamper::Card));
        let (at_ns, by) = card.or(self.stamp_ns.map(|ns| (ns, Stamper::Kernel)))?;
        Some(DepartureStamp { key: self.key?, at_ns, by })
    }
}

fn receive(
    socket: &impl AsFd,
    payload: &mut [IoSliceMut<'_>],
    control: &mut [u8],
    queue: MsgFlags,
) -> io::Result<Option<(Arrival, Extras)>> {
    let fd = socket.as_fd().as_raw_fd();
    let flags = queue | MsgFlags::MSG_DONTWAIT;
    let message = loop {
        match recvmsg::<SockaddrStorage>(fd, payload, Some(control), flags) {
            Ok(message) => break message,
            Err(Errno::EINTR) => {}
            Err(Errno::EAGAIN) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    };
    let mut extras = Extras::default();
    // If control messages are truncated, all are ignored. The buffer has space for those that this module requests.
    for item in message.cmsgs().into_iter().flatten() {
        match item {
            ControlMessageOwned::ScmTimestampsns(stamps) => {
                extras.stamp_ns = nanoseconds(stamps.system);
                extras.card_ns = nanoseconds(stamps.hw_raw);
            }
            ControlMessageOwned::ScmTimestampns(stamp) => extras.stamp_ns = nanoseconds(stamp),
            ControlMessageOwned::Ipv4RecvErr(error, _)
            | ControlMessageOwned::Ipv6RecvErr(error, _)
                if error.ee_origin == ORIGIN_TIMESTAMPING =>
            {
                extras.key = Some(error.ee_data);
            }
            ControlMessageOwned::Unknown(unknown) => {
                extras.key = packet_key(&unknown.cmsg_header, &unknown.data_bytes).or(extras.key);
            }
            ControlMessageOwned::RxqOvfl(lost) => extras.overflowed = Some(lost),
            _ => {}
        }
    }
    let arrival = Arrival {
        length: message.bytes,
        is_cut: message.flags.contains(MsgFlags::MSG_TRUNC),
        from: message.address.as_ref().and_then(address),
        unix_ns: extras.stamp_ns,
        overflowed: extras.overflowed,
    };
    Ok(Some((arrival, extras)))
}

/// Key of a packet socket's transmit timestamp, from `struct sock_extended_err` of `linux/errqueue.h`; `None` for other
/// control messages.
fn packet_key(head: &libc::cmsghdr, error: &[u8]) -> Option<u32> {
    let is_stamp =
        (head.cmsg_level, head.cmsg_type) == (libc::SOL_PACKET, libc::PACKET_TX_TIMESTAMP);
    let origin = error.get(4).filter(|_| is_stamp)?;
    let data = error.get(12..16)?.try_into().ok()?;
    (*origin == ORIGIN_TIMESTAMPING).then_some(u32::from_ne_bytes(data))
}

fn address(storage: &SockaddrStorage) -> Option<SocketAddr> {
    let v4 = storage.as_sockaddr_in().map(|a| SocketAddr::from((a.ip(), a.port())));
    v4.or_else(|| storage.as_sockaddr_in6().map(|a| SocketAddr::from((a.ip(), a.port()))))
}

/// Converts a time; `None` for 0, which means that there is no timestamp.
fn nanoseconds(time: TimeSpec) -> Option<u64> {
    let seconds = u64::try_from(time.tv_sec()).ok()?;
    let nanos = seconds.checked_mul(1_000_000_000)?.checked_add(time.tv_nsec() as u64)?;
    (nanos > 0).then_some(nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cards_stamp_goes_before_the_kernels() {
        let stamp = |stamp_ns, card_ns| {
            let extras = Extras { stamp_ns, card_ns, key: Some(7), overflowed: None };
            extras.departure().map(|stamp| (stamp.key, stamp.at_ns, stamp.by))
        };
        assert_eq!(stamp(None, Some(5)), Some((7, 5, Stamper::Card)));
        assert_eq!(stamp(Some(6), Some(5)), Some((7, 5, Stamper::Card)));
        assert_eq!(stamp(Some(6), None), Some((7, 6, Stamper::Kernel)));
        assert_eq!(stamp(None, None), None);
    }
}
