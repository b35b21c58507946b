//! IMUs and attitude references on a serial line.
//!
//! [`Imu`] is what all have in common: it asks for the truth in short series, spoils it sample by
//! sample ([`crate::sensors::imu`]), hands samples to the product's protocol when they are due,
//! and keeps the transmitter's time. What is said, and what commands do, is a [`Protocol`]:
//!
//! | profile's `driver` | file | axes, Earth | level at rest |
//! |---|---|---|---|
//! | `wheeltec-fdilink` | [`fdilink`] | forward-right-down, NED | z = -g |
//! | `vectornav` | [`vectornav`] | forward-right-down, NED | z = -g |
//! | `xsens-xbus` | [`xbus`] | forward-left-up, ENU (or as the host asks) | z = +g |
//! | `microstrain-mip` | [`mip`] | forward-right-down, NED | z = -1 (g) |
//! | `sbg-ecom` | [`sbg_ecom`] | forward-right-down, NED | z = -g |
//! | `phone-imu` | [`phone`] | forward-left-up | gyro only |
//!
//! A unit has been on since the first instant; its clock starts there. Between two outputs the
//! samples are averaged (`decimation`), so that white noise keeps its density at every rate.

pub mod answers;
mod conditioning;
pub(crate) mod decoder;
mod describe;
mod family;
pub mod fdilink;
mod fdilink_console;
mod gps_time;
mod measured;
pub mod mip;
pub mod output;
pub mod phone;
pub mod profile;
mod profile_read;
mod protocol;
pub mod sbg_ecom;
mod settings_read;
pub mod vectornav;
pub mod xbus;

pub use self::family::ImuFamily;
pub use self::profile::ImuProtocol;
use std::collections::VecDeque;

use super::uart::Uart;
use super::{Device, Transmit};
use crate::frames::{GeoOrigin, Geodetic};
use crate::imu::answers::Dialect;
use crate::imu::profile::{ImuProfile, ImuSettings};
use crate::sample_series::SampleSeries;
use crate::sensors::imu::{ImuErrors, ImuSensor, Sample};
use crate::sensors::noise::{NoiseSource, Quantity};
use crate::sensors::{Measurement, MeasurementRequest, Outcome};
use crate::time::{Epoch, SimTime};
use crate::wire::line::LineSettings;

/// A product's messages and commands.
pub trait Protocol: Send {
    /// A sample is due. Called in the samples' order.
    fn on_sample(&mut self, sample: &Sample, unit: &mut Unit);

    /// Bytes from the host.
    fn on_input(&mut self, _now: SimTime, _bytes: &[u8], _unit: &mut Unit) {}

    /// The time has come to `now`; called before the samples of that time.
    fn on_time(&mut self, _now: SimTime, _unit: &mut Unit) {}

    /// Messages a second as it is configured now.
    fn rate_hz(&self) -> f64;
}

/// What protocols work with.
pub struct Unit {
    /// The firmware.
    pub profile: ImuProfile,
    /// What the rig made of it.
    pub settings: ImuSettings,
    /// UTC of the first instant.
    pub epoch: Epoch,
    /// The transmitter.
    pub port: Uart,
    noise: NoiseSource,
    on_since: SimTime,
    /// How long it had been on at `on_since`, nanoseconds.
    on_before_ns: u64,
    /// Messages about samples that the lag still holds back, with the instants of the samples.
    held: VecDeque<(SimTime, Vec<u8>)>,
}

impl Unit {
    /// Sends an answer to a command that arrived at `now`.
    pub fn reply(&mut self, now: SimTime, bytes: Vec<u8>) {
        self.port.send(SimTime(now.0 + self.profile.reply_delay_ns), bytes);
    }

    /// Sends a message about `sample`.
    pub fn report(&mut self, sample: &Sample, bytes: Vec<u8>) {
        self.held.push_back((sample.truth.at, bytes));
        self.release(sample.truth.at);
    }

    /// Hands over to the port what the lag holds back no longer at `now`. Until then answers overtake
    /// it.
    fn release(&mut self, now: SimTime) {
        let known_by = now.0.checked_sub(self.settings.lag_ns);
        let is_due = |(at, _): &mut (SimTime, Vec<u8>)| known_by.is_some_and(|by| at.0 <= by);
        while let Some((at, bytes)) = self.held.pop_front_if(is_due) {
            let leaves_after_ns = self.settings.lag_ns + self.profile.output_delay_ns;
            self.port.send(SimTime(at.0 + leaves_after_ns), bytes);
        }
    }

    /// Forgets messages that the lag holds back: the unit starts anew.
    pub fn forget_held(&mut self) {
        self.held.clear();
    }

    /// What the unit's clock shows at a sample, nanoseconds since power-on.
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

    /// Between two samples, s.
    pub fn dt_s(&self) -> f64 {
        f64::from(self.profile.sample_rate_hz).recip()
    }

    /// Starts the unit's clock anew; what was not sent never is.
    pub fn restart(&mut self, at: SimTime) {
        self.forget_held();
        self.on_since = at;
        self.on_before_ns = 0;
    }

    /// Samples between two outputs at `rate_hz`; the next rate that divides the sample rate, from
    /// above.
    pub fn divisor(&self, rate_hz: u32) -> u64 {
        let samples = self.profile.sample_rate_hz;
        let rate = (rate_hz.max(1)..=samples).find(|rate| samples.is_multiple_of(*rate));
        u64::from(samples / rate.unwrap_or(samples))
    }
}

/// Where a unit that navigates believes it is.
fn believed_place(sample: &Sample) -> Geodetic {
    let place = sample.truth.place;
    if sample.position_error_m == glam::DVec3::ZERO {
        return place;
    }
    GeoOrigin::new(place).geodetic_from_world(sample.position_error_m)
}

/// One unit.
pub struct Imu {
    unit: Unit,
    protocol: Box<dyn Protocol>,
    errors: ImuErrors,
    series: SampleSeries,
    /// Measured, not yet due.
    samples: VecDeque<Sample>,
    now: SimTime,
}

impl Imu {
    /// The unit `name` of a rig with `seed`.
    pub fn new(
        profile: &ImuProfile,
        settings: &ImuSettings,
        seed: u64,
        name: &str,
        epoch: Epoch,
    ) -> Self {
        let period_ns = 1_000_000_000 / u64::from(profile.sample_rate_hz);
        let unit = Unit {
            profile: profile.clone(),
            settings: settings.clone(),
            epoch,
            port: Uart::new(settings.baud_rate, profile.transmit_buffer_bytes),
            noise: NoiseSource::new(seed, &format!("{name}/clock")),
            on_since: SimTime::ZERO,
            on_before_ns: settings.on_for_ns,
            held: VecDeque::new(),
        };
        let protocol: Box<dyn Protocol> = match profile.dialect.clone() {
            Dialect::FdiLink => Box::new(fdilink::FdiLinkUnit::new(&unit)),
            Dialect::VectorNav(stored) => Box::new(vectornav::VectorNavUnit::new(&unit, stored)),
            Dialect::Xbus(answers) => Box::new(xbus::XbusUnit::new(&unit, answers)),
            Dialect::Mip(answers) => Box::new(mip::MipUnit::new(&unit, answers)),
            Dialect::SbgEcom(answers) => Box::new(sbg_ecom::SbgUnit::new(&unit, answers)),
            Dialect::Phone => Box::new(phone::PhoneUnit::new(&unit)),
        };
        Self {
            unit,
            protocol,
            errors: ImuErrors::new(&settings.model, seed, name, period_ns as f64 * 1e-9),
            series: SampleSeries::new(period_ns),
            samples: VecDeque::new(),
            now: SimTime::ZERO,
        }
    }

    /// It asks for samples in series that are no longer than `longest_ns`. To be called before the first is asked for.
    pub fn limit_series(&mut self, longest_ns: u64) {
        self.series.limit(longest_ns);
    }

    /// The physics that measures for this unit.
    pub fn sensor(&self) -> ImuSensor {
        let date = self.unit.epoch.civil(SimTime::ZERO).date();
        ImuSensor::new(&self.unit.settings.model, date)
    }

    /// Hands over the samples that are due.
    fn process_due_samples(&mut self) {
        while let Some(sample) = self.samples.pop_front_if(|s| s.truth.at <= self.now) {
            self.unit.release(sample.truth.at);
            self.protocol.on_time(sample.truth.at, &mut self.unit);
            self.protocol.on_sample(&sample, &mut self.unit);
        }
    }
}

impl Device for Imu {
    fn poll_request(&mut self, horizon: SimTime) -> Option<MeasurementRequest> {
        self.series.poll_request(horizon)
    }

    fn handle_measurement(&mut self, measurement: &Measurement) {
        let Outcome::Inertial(truths) = &measurement.outcome else { return };
        let first = measurement.request.start.0 / self.series.period_ns();
        for (index, truth) in (first..).zip(truths) {
            self.samples.push_back(self.errors.step(index, *truth));
        }
        self.process_due_samples();
    }

    fn handle_input(&mut self, now: SimTime, bytes: &[u8]) {
        self.advance(now);
        self.protocol.on_input(now, bytes, &mut self.unit);
    }

    fn advance(&mut self, now: SimTime) {
        self.now = self.now.max(now);
        self.process_due_samples();
        self.unit.release(self.now);
        self.protocol.on_time(self.now, &mut self.unit);
    }

    fn poll_transmit(&mut self) -> Option<Transmit> {
        self.unit.port.poll()
    }

    fn nominal_rate_hz(&self) -> f64 {
        self.protocol.rate_hz()
    }

    fn line(&self) -> Option<LineSettings> {
        Some(LineSettings::eight_n_one(self.unit.settings.baud_rate))
    }
}

#[cfg(test)]
pub(crate) mod tests;
