//! Common parts of IMUs and attitude references on a serial line.
//!
//! [`Imu`] requests the truth in short series, adds errors to each sample ([`crate::sensors::imu`]), passes
//! samples to the product's [`Protocol`] when they are due, and manages the transmitter. Each protocol is a
//! family: it states an [`ImuFamily`] and has its own folder.
//!
//! A unit's clock starts at the first instant. Between two outputs the samples are averaged (`decimation`),
//! so that white noise keeps its density at every rate. Samples are forward, left, up; [`output`] converts
//! them to other axes.

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

/// Protocol of a family of IMUs.
#[derive(Clone, Copy, Debug)]
pub struct ImuFamily {
    /// Value of a profile's `driver` key.
    pub key: &'static str,
    /// Names of the messages that units can send, as profiles and rigs list them.
    pub messages: fn() -> Vec<&'static str>,
    /// Reads the keys of this protocol in a profile.
    pub dialect: fn(&mut TableReader<'_>) -> Option<Arc<dyn Dialect>>,
    /// Title and text of the tables of commands.
    pub commands: &'static [(&'static str, &'static str)],
    /// Reads the bytes that units send; the family's key names them.
    pub decoder: fn(&'static str) -> Box<dyn StreamDecoder>,
}

/// Facts of a firmware that only its protocol has.
pub trait Dialect: Any + Debug + Send + Sync {
    /// Switches a unit on.
    fn start(&self, unit: &Unit) -> Box<dyn Protocol>;
}

/// A product's messages and commands.
pub trait Protocol: Send {
    /// A sample is due. Called in the samples' order.
    fn on_sample(&mut self, sample: &Sample, unit: &mut Unit);

    /// Bytes from the host.
    fn on_input(&mut self, _now: SimTime, _bytes: &[u8], _unit: &mut Unit) {}

    /// The unit's time has advanced to `now`; this is called before the samples of that time are passed.
    fn on_time(&mut self, _now: SimTime, _unit: &mut Unit) {}

    /// Messages per second in the present configuration.
    fn rate_hz(&self) -> f64;
}

/// An emulated unit of the family.
pub struct Imu {
    unit: Unit,
    protocol: Box<dyn Protocol>,
    errors: ImuErrors,
    series: SampleSeries,
    /// Samples that are measured and not yet due.
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

    /// Limits series of samples to `longest_ns`; must be called before the first request.
    pub fn limit_series(&mut self, longest_ns: u64) {
        self.series.limit(longest_ns);
    }

    /// Physics of this unit.
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
