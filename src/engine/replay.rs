//! Sends the datagrams of a capture with their original intervals, by the sender of the real-time loop.

use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::SetupError;
use super::connections::{Connections, Link, prepare_sending};
use super::os::{Grant, KeptOff};
use super::packet::{FirstShown, Packet};
use super::run::TimingLog;
use super::run::send_queue::{self, SendQueueWriter};
use super::run::sender;
use super::run::transmission::SendContext;
use super::stats::{DeviceFigures, DeviceStats};
use crate::config::rig::{DeviceId, EngineConfig};
use crate::devices::Transmit;
use crate::links::udp::UdpLink;
use crate::time::SimTime;
use crate::timing::clock::MonotonicClock;
use crate::wire::line::LineSettings;
use crate::wire::port::UdpOptions;

/// Time from the start of the replay's clock to the first instant.
const START_DELAY: Duration = Duration::from_millis(250);
/// Packets reach the sender this long before they are due. On a busy machine, the submitting thread may be paused for
/// hundreds of milliseconds.
const AHEAD: Duration = Duration::from_secs(2);
/// Time between two checks for due packets.
const REST: Duration = Duration::from_millis(10);
/// Largest number of packets in the sender's queue: more than the fastest device sends within [`AHEAD`].
const SEND_QUEUE: usize = 32_768;

/// A capture to replay.
#[derive(Clone, Debug, Default)]
pub struct Replay {
    /// Name and destination of each stream.
    pub streams: Vec<(String, SocketAddr)>,
    /// The datagrams in order of time.
    pub packets: Vec<ReplayPacket>,
}

/// A datagram of the capture.
#[derive(Clone, Debug)]
pub struct ReplayPacket {
    /// Index of the packet's stream.
    pub stream: usize,
    /// Time since the first datagram of the capture.
    pub at: SimTime,
    /// Bytes of the datagram.
    pub payload: Vec<u8>,
}

impl Replay {
    /// Duration of one pass through the capture: from its first to its last datagram, plus one mean interval.
    pub fn cycle(&self) -> Duration {
        let span_ns = self.packets.last().map_or(0, |packet| packet.at.0);
        let intervals = self.packets.len().saturating_sub(1).max(1) as u64;
        Duration::from_nanos((span_ns + span_ns / intervals).max(1_000))
    }
}

/// A capture with open links, not yet running.
pub struct ReplayRun<'a> {
    replay: &'a Replay,
    engine: &'a EngineConfig,
    connections: Vec<Connections>,
    lines: Vec<LineSettings>,
    stats: Vec<DeviceStats>,
    timing: Vec<Mutex<TimingLog>>,
    clock: MonotonicClock,
    host_start: jiff::Timestamp,
    /// Keeps all other threads off the sender's core.
    _kept_off: Option<KeptOff>,
}

impl<'a> ReplayRun<'a> {
    /// Opens a socket for every stream and starts the clock: the first instant is a quarter of a second later.
    pub fn new(replay: &'a Replay, engine: &'a EngineConfig) -> Result<Self, SetupError> {
        let open = |(name, to): &(String, SocketAddr)| {
            // The user chose the destination, which may be a broadcast address: only the interface knows the size of
            // its network.
            let options = UdpOptions { broadcast: true, ..UdpOptions::from(*to) };
            let opened = UdpLink::open(&options).and_then(|link| {
                let mut ports = vec![link];
                prepare_sending(&mut ports, None, engine)?;
                let connections = Connections::from(Link::Datagrams(ports));
                Ok(Connections { device: name.clone(), ..connections })
            });
            opened.map_err(|error| SetupError::Link { device: name.clone(), error })
        };
        let connections = replay.streams.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        let (clock, host_start) = MonotonicClock::starting_in(START_DELAY);
        Ok(Self {
            replay,
            engine,
            lines: vec![LineSettings::eight_n_one(9600); connections.len()],
            stats: connections.iter().map(|_| DeviceStats::default()).collect(),
            timing: connections.iter().map(|_| Mutex::default()).collect(),
            connections,
            clock,
            host_start,
            _kept_off: engine.send_core.and_then(KeptOff::core),
        })
    }

    /// The host's clock at the first instant.
    pub fn host_start(&self) -> jiff::Timestamp {
        self.host_start
    }

    /// Time since the first instant.
    pub fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.clock.now().0)
    }

    /// The timing of each stream's packets.
    pub fn timing(&self) -> &[Mutex<TimingLog>] {
        &self.timing
    }

    /// Figures of each stream when the replay has lasted `elapsed`.
    pub fn figures(&self, elapsed: Duration) -> Vec<DeviceFigures> {
        let streams = self.replay.streams.iter().enumerate();
        streams
            .map(|(place, (name, _))| {
                let of_stream = self.replay.packets.iter().filter(|p| p.stream == place).count();
                let rate_hz = of_stream as f64 / self.replay.cycle().as_secs_f64();
                let link = self.connections[place].link.describe();
                self.stats[place].figures(name, "capture", &link, rate_hz, elapsed)
            })
            .collect()
    }

    /// Sends all packets that are due before `end`, pass after pass; ends earlier if `stop` is set. `on_start` receives
    /// the rights that were requested from the system, each with the system's answer.
    pub fn run(&self, end: SimTime, stop: &AtomicBool, on_start: impl FnOnce(&[Grant]) + Send) {
        if self.replay.packets.is_empty() {
            return;
        }
        std::thread::scope(|scope| {
            let (packets, queue) = send_queue::with_capacity(SEND_QUEUE, self.clock);
            let context = SendContext {
                clock: self.clock,
                connections: &self.connections,
                stats: &self.stats,
                lines: &self.lines,
                engine: self.engine,
                answers: None,
                tap: None,
                ntrip: None,
                events: None,
            };
            sender::start(scope, context, Some(&self.timing), queue, stop, on_start);
            // The sender ends after the last packet of its queue.
            self.feed(end, stop, packets);
        });
    }

    fn feed(&self, end: SimTime, stop: &AtomicBool, mut packets: SendQueueWriter) {
        let cycle_ns = self.replay.cycle().as_nanos() as u64;
        for pass in 0_u64.. {
            for ReplayPacket { stream, at, payload } in &self.replay.packets {
                let due = SimTime(pass * cycle_ns + at.0);
                if due >= end {
                    return;
                }
                while due > self.clock.now() + AHEAD {
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                    self.clock.rest(REST);
                }
                let transmit = Transmit::datagram(due, payload.clone());
                let device = DeviceId(*stream);
                if !packets.send(Packet { device, transmit, first_shown: FirstShown::default() }) {
                    return;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;

    #[test]
    fn passes_follow_one_another_without_a_seam() {
        let robot = UdpSocket::bind("127.0.0.1:0").unwrap();
        robot.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let packet =
            |n: u64| ReplayPacket { stream: 0, at: SimTime(n * 1_000_000), payload: vec![n as u8] };
        let replay = Replay {
            streams: vec![("lidar".into(), robot.local_addr().unwrap())],
            packets: (0..5).map(packet).collect(),
        };
        assert_eq!(replay.cycle(), Duration::from_millis(5));
        let engine = EngineConfig::default();
        let run = ReplayRun::new(&replay, &engine).unwrap();
        run.run(SimTime(12_000_000), &AtomicBool::new(false), |_| ());
        let mut heard = Vec::new();
        for _ in 0..12 {
            let mut buffer = [0; 16];
            let length = robot.recv(&mut buffer).unwrap();
            heard.extend_from_slice(&buffer[..length]);
        }
        assert_eq!(heard, [0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1]);
        let timing = run.timing()[0].lock().unwrap();
        assert_eq!((timing.handed.count(), timing.departed.count(), timing.unstamped), (12, 12, 0));
        let figures = &run.figures(Duration::from_millis(12))[0];
        assert_eq!((figures.packets, figures.nominal_rate_hz), (12, 1000.0));
    }
}
