//! The receiving side: packets that arrive at a robot's computer, their times, and missing packets.
//!
//! [`Probe`] receives with kernel timestamps; a [`Stream`] analyses one sender's datagrams. [`compare`] compares
//! arrivals with the sender's certificate. [`ptp`] searches for PTP masters and clocks.

pub mod compare;
pub mod ptp;
pub mod stream;

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::{Deserialize, Serialize};

use crate::links::timestamps::{self, StampReader};
use crate::timing::clock::{self, Stopwatch};
use crate::timing::clock_state::ClockState;
use compare::Comparison;
use stream::{Stream, StreamFigures};

/// Name of the report's format.
pub const FORMAT: &str = "menura-probe-1";
/// Largest number of senders that are analysed separately.
const MOST_STREAMS: usize = 64;
/// Requested size of the receive buffer, bytes: enough for several seconds of the fastest device's data.
const RECEIVE_BUFFER_BYTES: usize = 64 << 20;
/// Largest number of times that each socket is emptied at the end. The limit matters if datagrams keep arriving.
const LAST_LOOKS: usize = 16;
/// Longest wait for datagrams before the probe checks whether it must end.
const PATIENCE: Duration = Duration::from_millis(50);
/// Largest IPv4 datagram, bytes. Ousters send 33 kB.
const LONGEST_DATAGRAM: usize = 65_507;

/// Open sockets, and the analysis of the datagrams that arrived at them.
pub struct Probe {
    sockets: Vec<Listener>,
    streams: BTreeMap<(SocketAddr, SocketAddr), Stream>,
    /// Number of datagrams that were not analysed, because [`MOST_STREAMS`] other senders already were.
    crowded_out: u64,
}

struct Listener {
    socket: UdpSocket,
    at: SocketAddr,
    buffer_bytes: usize,
    overflowed: u32,
}

/// Result of a probe. Its keys do not change as long as [`FORMAT`] stays the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProbeReport {
    /// The constant [`FORMAT`].
    pub format: String,
    /// Version of the program.
    pub menura: String,
    /// Duration of the probe, seconds.
    pub run_s: f64,
    /// State of this host's clock.
    pub clock: ClockState,
    /// Sockets of the probe.
    pub sockets: Vec<SocketFigures>,
    /// Statistics of each sender at each port.
    pub streams: Vec<StreamFigures>,
    /// Number of datagrams that were not analysed, because too many other senders already were.
    pub crowded_out: u64,
    /// Comparisons of arrivals with senders' certificates; empty without a certificate.
    pub comparisons: Vec<Comparison>,
}

/// Statistics of a socket.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SocketFigures {
    /// Address of the socket.
    pub at: String,
    /// Size of the receive buffer, bytes.
    pub buffer_bytes: usize,
    /// Number of datagrams that this host lost because the buffer was full.
    pub overflowed: u32,
}

impl Probe {
    /// Opens a socket at each of `addresses`. If an address is a multicast group, the socket joins the group.
    ///
    /// # Errors
    /// A socket cannot be opened; the error names the address and, if known, the remedy.
    pub fn listen(addresses: &[SocketAddr]) -> io::Result<Self> {
        let sockets = addresses.iter().map(|at| Listener::open(*at)).collect::<io::Result<_>>()?;
        Ok(Self { sockets, streams: BTreeMap::new(), crowded_out: 0 })
    }

    /// Addresses of the sockets.
    pub fn addresses(&self) -> impl Iterator<Item = SocketAddr> {
        self.sockets.iter().map(|listener| listener.at)
    }

    /// Receives for `duration` (`None`: no limit), or until `stop` is set; `progress` is called regularly with the
    /// number of datagrams and the elapsed time. Returns the duration of the probe.
    pub fn run(
        &mut self,
        duration: Option<Duration>,
        stop: &AtomicBool,
        mut progress: impl FnMut(u64, Duration),
    ) -> io::Result<Duration> {
        let watch = Stopwatch::start();
        let mut reader = StampReader::default();
        let mut buffer = vec![0; LONGEST_DATAGRAM];
        let mut taken = 0;
        while !stop.load(Ordering::Relaxed) {
            let elapsed = watch.elapsed();
            if duration.is_some_and(|duration| elapsed >= duration) {
                break;
            }
            let left = duration.map_or(PATIENCE, |duration| PATIENCE.min(duration - elapsed));
            self.wait(left)?;
            for place in 0..self.sockets.len() {
                taken += self.drain(place, &mut reader, &mut buffer)?;
            }
            progress(taken, elapsed);
        }
        // The time ends here; datagrams that have arrived by now still count.
        let elapsed = watch.elapsed();
        for place in 0..self.sockets.len() {
            for _ in 0..LAST_LOOKS {
                if self.drain(place, &mut reader, &mut buffer)? == 0 {
                    break;
                }
            }
        }
        Ok(elapsed)
    }

    fn wait(&self, timeout: Duration) -> io::Result<()> {
        let of = |listener| PollFd::from_borrowed_fd(listener, PollFlags::IN);
        let mut waits: Vec<_> = self.sockets.iter().map(|l| of(l.socket.as_fd())).collect();
        let timeout =
            Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: timeout.subsec_nanos().into() };
        match poll(&mut waits, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn drain(
        &mut self,
        place: usize,
        reader: &mut StampReader,
        buffer: &mut [u8],
    ) -> io::Result<u64> {
        let listener = &mut self.sockets[place];
        let mut taken = 0;
        // The number is limited, so that other sockets are read, too, and the probe can end.
        while taken < 4096 {
            let Some(arrival) = reader.arrival(&listener.socket, buffer)? else { break };
            taken += 1;
            listener.overflowed = arrival.overflowed.unwrap_or(listener.overflowed);
            let from = arrival.from.unwrap_or(SocketAddr::from(([0, 0, 0, 0], 0)));
            let key = (listener.at, from);
            if self.streams.len() >= MOST_STREAMS && !self.streams.contains_key(&key) {
                self.crowded_out += 1;
                continue;
            }
            let ports = [from.port(), listener.at.port()];
            let stream = self.streams.entry(key).or_insert_with(|| Stream::between(ports));
            let payload = &buffer[..arrival.length];
            stream.take(arrival.unix_ns, payload, arrival.is_cut);
        }
        Ok(taken)
    }

    /// Report on a probe that lasted `elapsed`.
    pub fn report(&mut self, elapsed: Duration) -> ProbeReport {
        let streams = self.streams.iter_mut();
        ProbeReport {
            format: FORMAT.to_owned(),
            menura: env!("CARGO_PKG_VERSION").to_owned(),
            run_s: elapsed.as_secs_f64(),
            clock: ClockState::now(&clock::realtime_offset()),
            sockets: self.sockets.iter().map(Listener::figures).collect(),
            streams: streams.map(|((at, from), stream)| stream.figures(*at, *from)).collect(),
            crowded_out: self.crowded_out,
            comparisons: Vec::new(),
        }
    }
}

impl Listener {
    fn open(at: SocketAddr) -> io::Result<Self> {
        let told = |error: io::Error| {
            let hint = match error.kind() {
                io::ErrorKind::AddrInUse => {
                    "; another program has this port: stop the driver while the probe listens"
                }
                io::ErrorKind::AddrNotAvailable => "; no network interface has this address",
                io::ErrorKind::PermissionDenied => "; ports below 1024 need CAP_NET_BIND_SERVICE",
                _ => "",
            };
            io::Error::new(error.kind(), format!("cannot listen at {at}: {error}{hint}"))
        };
        let socket = UdpSocket::bind(at).map_err(told)?;
        match at.ip() {
            IpAddr::V4(group) if group.is_multicast() => {
                socket.join_multicast_v4(&group, &[0, 0, 0, 0].into()).map_err(told)?;
            }
            IpAddr::V6(group) if group.is_multicast() => {
                socket.join_multicast_v6(&group, 0).map_err(told)?;
            }
            _ => {}
        }
        let buffer_bytes = timestamps::enlarge_receive_buffer(&socket, RECEIVE_BUFFER_BYTES);
        timestamps::stamp_arrivals(&socket).map_err(told)?;
        let at = socket.local_addr().map_err(told)?;
        Ok(Self { socket, at, buffer_bytes, overflowed: 0 })
    }

    fn figures(&self) -> SocketFigures {
        let Self { at, buffer_bytes, overflowed, .. } = self;
        let at = at.to_string();
        SocketFigures { at, buffer_bytes: *buffer_bytes, overflowed: *overflowed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_arrives_is_stamped_and_told_apart() {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut probe = Probe::listen(&[any, any]).unwrap();
        let addresses: Vec<_> = probe.addresses().collect();
        let senders: Vec<_> = (0..70).map(|_| UdpSocket::bind(any).unwrap()).collect();
        for sender in &senders {
            sender.send_to(&[0; 1206], addresses[0]).unwrap();
        }
        senders[0].send_to(b"", addresses[1]).unwrap();
        senders[0].send_to(&[7; 33_024], addresses[0]).unwrap();
        let elapsed = probe
            .run(Some(Duration::from_millis(200)), &AtomicBool::new(false), |_, _| ())
            .unwrap();
        let report = probe.report(elapsed);
        assert_eq!(report.streams.len(), MOST_STREAMS);
        let packets: u64 = report.streams.iter().map(|stream| stream.packets).sum();
        assert_eq!(packets + report.crowded_out, 72);
        let cut: u64 = report.streams.iter().map(|stream| stream.cut).sum();
        let unstamped: u64 = report.streams.iter().map(|stream| stream.unstamped).sum();
        assert_eq!((cut, unstamped), (0, 0));
        assert_eq!(report.sockets[0].overflowed, 0);
        let text = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<ProbeReport>(&text).unwrap().streams.len(), 64);
    }

    #[test]
    fn what_arrived_before_the_end_is_read_however_late() {
        let mut probe = Probe::listen(&[SocketAddr::from(([127, 0, 0, 1], 0))]).unwrap();
        let to = probe.addresses().next().unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        for _ in 0..100 {
            sender.send_to(&[0; 1206], to).unwrap();
        }
        // `stop` is already set before the first read.
        let elapsed = probe.run(None, &AtomicBool::new(true), |_, _| ()).unwrap();
        assert_eq!(probe.report(elapsed).streams[0].packets, 100);
    }

    #[test]
    fn a_taken_port_is_explained() {
        let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
        let Err(error) = Probe::listen(&[taken.local_addr().unwrap()]) else { panic!("taken") };
        assert!(error.to_string().contains("stop the driver"), "{error}");
    }
}
