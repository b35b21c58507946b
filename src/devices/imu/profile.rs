//! IMUs as data: identity, line and errors.

use std::sync::Arc;

use super::{Dialect, ImuFamily};
use crate::sensors::imu::settings::ImuModel;

words!(Decimation: "mean" => Mean, "last" => Last);

/// One firmware of an IMU.
#[derive(Clone, Debug)]
pub struct ImuProfile {
    /// Protocol of the product.
    pub family: ImuFamily,
    /// Answers of this protocol only.
    pub dialect: Arc<dyn Dialect>,
    /// Identity that the IMU reports.
    pub identity: ImuIdentity,
    /// Baud rates it can be set to, the factory's first.
    pub baud_rates: Vec<u32>,
    /// Samples a second inside; a divisor of a thousand million. Output rates divide it.
    pub sample_rate_hz: u32,
    /// Highest output rate, Hz.
    pub max_rate_hz: u32,
    /// Size of the transmit buffer, bytes; output that does not fit is lost.
    pub transmit_buffer_bytes: usize,
    /// Time from a sample to the first byte about it, nanoseconds.
    pub output_delay_ns: u64,
    /// Time from the last byte of a command to the first of its answer, nanoseconds.
    pub reply_delay_ns: u64,
    /// Time from power-on or a reset until it talks, nanoseconds.
    pub boot_ns: u64,
    /// Treatment of the samples between two outputs.
    pub decimation: Decimation,
    /// The strength of field that reads as 1, gauss, for products that normalise it.
    pub magnetic_unit_gauss: f64,
    /// Defaults that a rig may override.
    pub defaults: ImuSettings,
}

/// Treatment of the samples between two outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decimation {
    /// The output is the mean of the samples, so that noise keeps its density.
    Mean,
    /// The output is the last.
    Last,
}

/// Identity that a unit reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImuIdentity {
    /// Name of the model.
    pub model: String,
    /// Serial number in the product's form.
    pub serial: String,
    /// Hardware revision.
    pub hardware: String,
    /// Firmware version, numbers with dots.
    pub firmware: String,
}

/// Settings of an IMU in a rig.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImuSettings {
    /// Output rate of the factory's messages, Hz.
    pub rate_hz: u32,
    /// Baud rate at power-on.
    pub baud_rate: u32,
    /// Model of the errors.
    pub model: ImuModel,
    /// Errors of the unit's clock.
    pub clock: ClockErrors,
    /// How much later than [`ImuProfile::output_delay_ns`] messages about samples leave, nanoseconds.
    pub lag_ns: u64,
    /// Whether messages are sent from power-on instead of after a host's request.
    pub is_streaming: bool,
    /// Messages from power-on, by the names of the protocol.
    pub messages: Vec<String>,
    /// Time since power-on at the first instant, nanoseconds.
    pub on_for_ns: u64,
}

impl ImuSettings {
    /// The same settings without errors: no noise, range or resolution, and a perfect clock.
    #[must_use]
    pub fn without_errors(self) -> Self {
        Self { model: self.model.without_errors(), clock: ClockErrors::default(), ..self }
    }
}

/// Errors of a unit's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClockErrors {
    /// Drift of the clock, parts per million; positive is fast.
    pub drift_ppm: f64,
    /// Standard deviation of a time stamp's jitter, s.
    pub jitter_std_s: f64,
}
