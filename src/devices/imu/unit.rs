//! Common parts of IMU units: settings, clock, transmitter.

use std::collections::VecDeque;

use super::profile::{ImuProfile, ImuSettings};
use crate::frames::{GeoOrigin, Geodetic};
use crate::sensors::imu::Sample;
use crate::sensors::noise::{NoiseSource, Quantity};
use crate::serial::uart::Uart;
use crate::time::{Epoch, SimTime};

/// Protocol-independent state of an IMU unit: settings, clock, transmitter.
pub struct Unit {
    /// Profile of the unit's firmware.
    pub profile: ImuProfile,
    /// Settings of the unit in the rig.
    pub settings: ImuSettings,
    /// UTC at the start of the run.
    pub epoch: Epoch,
    /// Transmitter of the serial line.
    pub port: Uart,
    noise: NoiseSource,
    on_since: SimTime,
    /// Uptime of the unit at `on_since`, nanoseconds.
    on_before_ns: u64,
    /// Messages that wait until the output latency is over, each with the time of the sample that it reports.
    held: VecDeque<(SimTime, Vec<u8>)>,
}

impl Unit {
    /// A unit. Its name in the rig and the rig's seed determine its random errors. Its uptime at the start of the run
    /// is in `settings`.
    pub(super) fn new(
        profile: &ImuProfile,
        settings: &ImuSettings,
        seed: u64,
        name: &str,
        epoch: Epoch,
    ) -> Self {
        Self {
            profile: profile.clone(),
            settings: settings.clone(),
            epoch,
            port: Uart::new(settings.baud_rate, profile.line.serial.transmit_buffer_bytes),
            noise: NoiseSource::new(seed, &format!("{name}/clock")),
            on_since: SimTime::ZERO,
            on_before_ns: settings.on_for_ns,
            held: VecDeque::new(),
        }
    }

    /// Sends an answer to a command that arrived at `now`.
    pub fn reply(&mut self, now: SimTime, bytes: Vec<u8>) {
        self.port.send(SimTime(now.0 + self.profile.line.reply_delay_ns), bytes);
    }

    /// Queues a message about `sample`; the message is sent after the output latency.
    pub fn report(&mut self, sample: &Sample, bytes: Vec<u8>) {
        self.held.push_back((sample.truth.at, bytes));
        self.release(sample.truth.at);
    }

    /// Passes messages whose output latency is over at `now` to the transmitter. Answers overtake waiting messages.
    pub(super) fn release(&mut self, now: SimTime) {
        let known_by = now.0.checked_sub(self.settings.lag_ns);
        let is_due = |(at, _): &mut (SimTime, Vec<u8>)| known_by.is_some_and(|by| at.0 <= by);
        while let Some((at, bytes)) = self.held.pop_front_if(is_due) {
            let leaves_after_ns = self.settings.lag_ns + self.profile.line.output_delay_ns;
            self.port.send(SimTime(at.0 + leaves_after_ns), bytes);
        }
    }

    /// Drops messages that wait for the output latency, because the unit restarts.
    pub fn forget_held(&mut self) {
        self.held.clear();
    }

    /// Time of a sample on the unit's clock, nanoseconds since power-on.
    pub fn clock_ns(&self, sample: &Sample) -> u64 {
        let clock = &self.settings.clock;
        let since_ns = sample.truth.at.0.saturating_sub(self.on_since.0);
        let true_ns = (self.on_before_ns + since_ns) as f64;
        let jitter_s = if clock.jitter_std_s == 0.0 {
            0.0
        } else {
            let draws = self.noise.request(sample.index);
            clock.jitter_std_s * draws.standard_normal(0, Quantity::ClockJitter)
        };
        (true_ns * (1.0 + clock.drift_ppm * 1e-6) + jitter_s * 1e9).round().max(0.0) as u64
    }

    /// Time between samples, s.
    pub fn dt_s(&self) -> f64 {
        f64::from(self.profile.output.sample_rate_hz).recip()
    }

    /// Restarts the unit's clock from zero at `at`, and drops messages that wait for the output latency.
    pub fn restart(&mut self, at: SimTime) {
        self.forget_held();
        self.on_since = at;
        self.on_before_ns = 0;
    }

    /// Samples per output at `rate_hz`, or at the next higher rate that divides the sample rate.
    pub fn divisor(&self, rate_hz: u32) -> u64 {
        let samples = self.profile.output.sample_rate_hz;
        let rate = (rate_hz.max(1)..=samples).find(|rate| samples.is_multiple_of(*rate));
        u64::from(samples / rate.unwrap_or(samples))
    }
}

/// Position that a navigating unit reports: the true position plus the position error.
pub(crate) fn believed_place(sample: &Sample) -> Geodetic {
    let place = sample.truth.place;
    if sample.position_error_m == glam::DVec3::ZERO {
        return place;
    }
    GeoOrigin::new(place).geodetic_from_world(sample.position_error_m)
}
