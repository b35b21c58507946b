//! Common parts of IMUs and attitude references on a serial line.
//!
//! [`Imu`] requests the true motion in short series, adds errors to each sample ([`crate::sensors::imu`]), passes
//! due samples to the product's [`Protocol`], and manages the transmitter. Each protocol is a family with an
//! [`ImuFamily`] and a folder of its own.
//!
//! At the start of the run, a unit's clock reads the setting `uptime_s`. An output is the mean of the samples since the
//! previous output, or the last sample (`decimation`). The mean gives white noise the same density at every rate.
//! Samples are in forward, left, up; [`output`] converts them to other axes.

pub(crate) mod answers;
pub(crate) mod conditioning;
mod describe;
mod family;
pub(crate) mod gps_time;
pub mod output;
pub mod profile;
pub(crate) mod readings;
mod settings_read;
pub mod unit;

use std::any::Any;
use std::collections::VecDeque;
use std::fmt::Debug;
use std::sync::Arc;

use self::profile::{ImuProfile, ImuSettings};
pub use self::unit::Unit;
use super::{Device, Transmit};
use crate::config::toml::reader::TableReader;
use crate::decoder::StreamDecoder;
use crate::sample_series::SampleSeries;
use crate::sensors::imu::{ImuErrors, ImuSensor, Sample};
use crate::sensors::{Measurement, MeasurementRequest, Outcome};
use crate::time::{Epoch, SimTime};
use crate::wire::line::LineSettings;

/// A family of IMUs with a common protocol.
#[derive(Clone, Copy, Debug)]
pub struct ImuFamily {
    /// Value of a profile's `driver` key.
    pub key: &'static str,
    /// Names of the messages that units can send, as in profiles and rigs.
    pub messages: fn() -> Vec<&'static str>,
    /// Reads the keys of a profile that belong to this protocol.
    pub dialect: fn(&mut TableReader<'_>) -> Option<Arc<dyn Dialect>>,
    /// Title and CSV text of each command table.
    pub commands: &'static [(&'static str, &'static str)],
    /// Makes a decoder for the output of units; the argument is the family's key.
    pub decoder: fn(&'static str) -> Box<dyn StreamDecoder>,
}

/// Protocol-specific part of a firmware profile.
pub trait Dialect: Any + Debug + Send + Sync {
    /// Creates the protocol state of a unit that is switched on.
    fn start(&self, unit: &Unit) -> Box<dyn Protocol>;
}

/// Protocol of a product: its messages, and its reactions to commands.
pub trait Protocol: Send {
    /// Processes a sample that is due. Called once for each sample, in order of time.
    fn on_sample(&mut self, sample: &Sample, unit: &mut Unit);

    /// Processes bytes from the host.
    fn on_input(&mut self, _now: SimTime, _bytes: &[u8], _unit: &mut Unit) {}

    /// Advances the unit's time to `now`. Called before the samples of that time.
    fn on_time(&mut self, _now: SimTime, _unit: &mut Unit) {}

    /// Messages per second with the present configuration.
    fn rate_hz(&self) -> f64;
}

/// An emulated IMU.
pub struct Imu {
    unit: Unit,
    protocol: Box<dyn Protocol>,
    errors: ImuErrors,
    series: SampleSeries,
    /// Measured samples that are not due yet.
    samples: VecDeque<Sample>,
    now: SimTime,
}

impl Imu {
    /// A unit with the given name in a rig with the given seed; name and seed determine its random errors.
    pub fn new(
        profile: &ImuProfile,
        settings: &ImuSettings,
        seed: u64,
        name: &str,
        epoch: Epoch,
    ) -> Self {
        let period_ns = 1_000_000_000 / u64::from(profile.output.sample_rate_hz);
        let unit = Unit::new(profile, settings, seed, name, epoch);
        Self {
            protocol: profile.dialect.start(&unit),
            unit,
            errors: ImuErrors::new(&settings.model, seed, name, period_ns as f64 * 1e-9),
            series: SampleSeries::new(period_ns),
            samples: VecDeque::new(),
            now: SimTime::ZERO,
        }
    }

    /// Limits each series of requested samples to the duration `longest_ns`. Call it before the first request.
    pub fn limit_series(&mut self, longest_ns: u64) {
        self.series.limit(longest_ns);
    }

    /// The sensor model of this unit.
    pub fn sensor(&self) -> ImuSensor {
        let date = self.unit.epoch.civil(SimTime::ZERO).date();
        ImuSensor::new(&self.unit.settings.model, date)
    }

    /// Passes due samples to the protocol.
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
