//! Position packets: data about the GNSS receiver, temperatures and motion of a unit.
//!
//! In a capture of a VLP-16, packets are requested by two timers: every 10 ms, and once per sixteen data packets. A packet
//! is created up to 0.75 ms after its request; requests of both timers within that time make one packet. The timestamp is
//! the time of creation; the packet leaves a third of a millisecond later.
//!
//! Sources: VLP-16 manual 63-9243, section 9.3.3; VLP-32C manual, table 9-3; the capture.

use std::collections::VecDeque;

use super::boards::Boards;
use super::inertial::Inertial;
use crate::sensors::noise::{NoiseSource, Quantity};
use crate::spinning::clock::{DeviceClock, PpsState};
use crate::time::SimTime;
use crate::velodyne::position_settings::PositionProfile;
use crate::velodyne::profile::VelodyneProfile;
use crate::wire::velodyne::position::{POSITION_PACKET_LEN, PositionPacket, PpsStatus};
use crate::{Output, Transmit};

/// Longest time for which a packet waits for the IMU, nanoseconds. On a machine that is too slow, the measurement may
/// be revoked and never arrive.
const LONGEST_WAIT_NS: u64 = 10_000_000;

/// Source of one unit's position packets.
pub struct PositionSender {
    profile: PositionProfile,
    noise: NoiseSource,
    /// Time at which each timer next requests a packet.
    next: Vec<SimTime>,
    /// Creation time of the requested packet; `None` if no packet is requested.
    pending: Option<SimTime>,
    /// Number of packets so far.
    number: u64,
    /// Packets that wait for IMU samples: creation time, number, content. IMU samples are measured separately and can
    /// arrive later than the GNSS data.
    waiting: VecDeque<(SimTime, u64, PositionPacket)>,
}

impl PositionSender {
    /// A source of position packets, with timers that begin at the start of the run.
    pub fn new(profile: &PositionProfile, noise: NoiseSource) -> Self {
        let next = vec![SimTime::ZERO; profile.timers_ns.len()];
        Self {
            profile: profile.clone(),
            noise,
            next,
            pending: None,
            number: 0,
            waiting: VecDeque::new(),
        }
    }

    /// Stops the timers and restarts them at `up_at`.
    pub fn restart(&mut self, up_at: SimTime) {
        self.next.fill(up_at);
        self.pending = None;
    }

    /// Creates all packets whose creation time is not after `now`, in order, and sends those that need not wait for IMU
    /// samples.
    pub fn advance(
        &mut self,
        now: SimTime,
        clock: &DeviceClock,
        boards: &Boards,
        inertial: Option<&mut Inertial>,
        send: impl FnMut(Transmit),
    ) {
        while let Some(at) = self.next_made(now) {
            self.waiting.push_back((at, self.number, self.packet(at, clock, boards)));
            self.number += 1;
        }
        self.release(now, inertial, send);
    }

    /// Sends packets whose IMU samples are known (on units with an IMU), and packets that have waited too long at
    /// `now`.
    pub fn release(
        &mut self,
        now: SimTime,
        mut inertial: Option<&mut Inertial>,
        mut send: impl FnMut(Transmit),
    ) {
        let is_known = |at: SimTime, inertial: &Option<&mut Inertial>| {
            let is_late = now.0 > at.0 + LONGEST_WAIT_NS;
            is_late || inertial.as_ref().is_none_or(|inertial| inertial.knows(at))
        };
        while let Some((at, number, mut packet)) =
            self.waiting.pop_front_if(|(at, ..)| is_known(*at, &inertial))
        {
            if let Some(inertial) = &mut inertial {
                packet.imu = inertial.words(at, number);
            }
            let mut bytes = vec![0; POSITION_PACKET_LEN];
            packet.emit(bytes.first_chunk_mut().expect("the packet's length"));
            let due = SimTime(at.0 + self.profile.lag_ns);
            let port = VelodyneProfile::POSITION_PORT;
            send(Transmit::new(due, Output::Datagram { port, bytes }));
        }
    }

    /// Processes the timers' requests and returns the creation time of the next packet; `None` if it is after `now`.
    fn next_made(&mut self, now: SimTime) -> Option<SimTime> {
        loop {
            let timer = (0..self.next.len()).min_by_key(|timer| self.next[*timer]);
            let asked = timer.map(|timer| self.next[timer]);
            if let Some(made) = self.pending
                && asked.is_none_or(|asked| made < asked)
            {
                return self.pending.take_if(|_| made <= now);
            }
            let (timer, asked) = (timer?, asked?);
            if asked > now {
                return None;
            }
            self.next[timer] = SimTime(asked.0 + self.profile.timers_ns[timer]);
            if self.pending.is_none() {
                self.pending = Some(SimTime(asked.0 + self.delay_ns()));
            }
        }
    }

    /// Random delay of the next packet, from its request to its creation.
    fn delay_ns(&self) -> u64 {
        let draws = self.noise.request(self.number);
        let byte = |which| u64::from(draws.whole(which, Quantity::PositionDelay, 0, 255));
        (((byte(0) << 8) | byte(1)) * self.profile.jitter_ns) >> 16
    }

    fn packet(&self, at: SimTime, clock: &DeviceClock, boards: &Boards) -> PositionPacket {
        let mut packet = PositionPacket {
            timestamp_us: clock.micros_past_hour(at),
            pps: pps_status(clock.pps(at)).byte(),
            ..PositionPacket::default()
        };
        let sentence = clock.sentence();
        if sentence.len() <= self.profile.nmea_bytes {
            packet.nmea_area[..sentence.len()].copy_from_slice(sentence);
        }
        if self.profile.tells_temperatures {
            packet.telemetry = boards.telemetry(at).emit();
            packet.power_up_temperature = boards.power_up_c();
        }
        packet
    }

    /// Mean number of packets per second. Two requests make one packet if the second one comes before the packet is created.
    pub fn nominal_rate_hz(&self) -> f64 {
        let timers = &self.profile.timers_ns;
        let asked: f64 = timers.iter().map(|period_ns| 1e9 / *period_ns as f64).sum();
        let pairs = timers.iter().enumerate().flat_map(|(index, first)| {
            timers[index + 1..].iter().map(move |second| (*first, *second))
        });
        asked - pairs.map(|pair| meetings_hz(pair, self.profile.jitter_ns)).sum::<f64>()
    }
}

/// Number of requests per second that make no packet, because a packet that the other timer requested is not created yet.
/// `delay_ns` is the longest time from request to creation. In the long run, the offset between the two timers' requests
/// takes all multiples of the greatest common divisor of their periods equally often, and the delay of a packet is uniformly
/// distributed.
fn meetings_hz((first_ns, second_ns): (u64, u64), delay_ns: u64) -> f64 {
    let (mut grain_ns, mut rest_ns) = (first_ns, second_ns);
    while rest_ns > 0 {
        (grain_ns, rest_ns) = (rest_ns, grain_ns % rest_ns);
    }
    let (grain_ns, delay_ns) = (grain_ns as f64, delay_ns as f64);
    let each_hz = grain_ns * 1e9 / (first_ns as f64 * second_ns as f64);
    // Requests at the same time always coincide. Requests `steps` grains apart coincide only if the delay is longer.
    let steps = (delay_ns / grain_ns).floor();
    let apart = 2.0 * (steps - grain_ns * steps * (steps + 1.0) / (2.0 * delay_ns.max(1.0)));
    each_hz * (1.0 + apart)
}

/// State of the clock's PPS input, as position packets report it.
pub(super) fn pps_status(state: PpsState) -> PpsStatus {
    match state {
        PpsState::Absent => PpsStatus::Absent,
        PpsState::Synchronizing => PpsStatus::Synchronizing,
        PpsState::Locked => PpsStatus::Locked,
        PpsState::Error => PpsStatus::Error,
    }
}

#[cfg(test)]
mod tests;
