//! IMUs as data: identity, line and errors.

use std::sync::Arc;

use super::profile_read::{
    listed_messages, max_rate, output_rate, sample_rate, serial_text, window,
};
use super::settings_read::{MODEL, limit, magnetic_field, physics};
use super::{Dialect, ImuFamily};
use crate::config::profile::read::PROFILES;
use crate::config::profile::{Profile, lag};
use crate::config::toml::key_types::{Among, By, OneOf, Scaled, Time, TrueOrFalse, plain};
use crate::config::toml::keys::SharedKeys;
use crate::config::toml::reader::{Field, Limit};
use crate::sensors::imu::settings::ImuModel;
use crate::serial::line_read;

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
    /// Serial line.
    pub line: ImuLine,
    /// Messages and rates.
    pub output: ImuOutput,
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

keys! {
    /// Identity that a unit reports.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct ImuIdentity {
        /// The model.
        pub model: String, By(serial_text);
        /// The serial number; of an Xsens the device id in hex.
        pub serial: String, By(serial_text);
        /// The hardware's version.
        pub hardware: String, By(serial_text);
        /// The firmware's version.
        pub firmware: String, By(serial_text);
    }
}

fn delay() -> Time {
    Time(Limit::new(0.0..=10_000.0, "ms", PROFILES), 1e6)
}

keys! {
    /// Serial line, and times of the unit's answers.
    #[derive(Clone, Debug)]
    pub struct ImuLine {
        /// The rates that the unit can run at; the first is the factory setting.
        pub baud_rates: Vec<u32>, By(line_read::baud_rates);
        /// Size of the transmit buffer; a message that does not fit is lost.
        pub transmit_buffer_bytes: usize, Limit::new(64..=1_000_000, "bytes", PROFILES);
        /// Time from a command to its answer.
        pub reply_delay_ns as "reply_delay_ms": u64, delay();
        /// Time from a sample to the first byte of its message.
        pub output_delay_ns as "output_delay_ms": u64, delay();
        /// Silence of the unit after a reset.
        pub boot_ns as "boot_ms": u64, delay();
        /// Output latency in addition to the product's own delay.
        pub lag_ns as "lag_ms": u64, lag::key();
    }
}

keys! {
    with (family: ImuFamily);
    /// Messages and rates.
    #[derive(Clone, Debug)]
    pub struct ImuOutput {
        /// Internal samples per second; a divisor of 1,000,000,000.
        pub sample_rate_hz: u32, By(sample_rate);
        /// Averaging window: a sample is the mean of the true value over this time before it.
        pub window_ns as "window_ms": u64, window();
        /// Highest number of outputs per second.
        pub max_rate_hz: u32, By(|field: &Field<'_>| max_rate(field, sample_rate_hz));
        /// Outputs per second; a divisor of the sample rate.
        pub rate_hz: u32,
            By(|field: &Field<'_>| output_rate(field, sample_rate_hz, max_rate_hz));
        /// How the samples between two outputs become one value.
        pub decimation: Decimation, OneOf(&Decimation::WORDS, PROFILES);
        /// Messages from power-on, by the protocol's names.
        pub messages: Vec<String>, By(|field: &Field<'_>| listed_messages(field, family));
        /// Field strength that reads as 1, where a product normalises it.
        pub magnetic_unit_gauss: f64, Limit::new(0.01..=100.0, "gauss", PROFILES);
        /// Whether the unit sends before the host requests it.
        pub is_streaming as "streaming": bool, TrueOrFalse;
        /// Whether gyros measure the Earth's rotation.
        pub earth_rate: bool, TrueOrFalse;
    }
}

impl ImuOutput {
    /// Rates of output of no more than the highest.
    pub fn rates_hz(&self) -> Vec<u32> {
        (1..=self.max_rate_hz).filter(|rate| self.sample_rate_hz.is_multiple_of(*rate)).collect()
    }
}

keys! {
    in profile and rig with (profile: &Profile, driver: &ImuProfile);
    /// Settings of an IMU in a rig.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct ImuSettings {
        /// Outputs per second.
        pub rate_hz: u32, Among(&plain(driver.output.rates_hz()), "Hz", &format!(
            "{}, [output]: outputs are every n-th of {} samples a second",
            profile.file, driver.output.sample_rate_hz,
        ));
        /// Rate of the serial line after power-on.
        pub baud_rate: u32, Among(
            &plain(driver.line.baud_rates.iter().copied()), "baud",
            &format!("{}, [line]", profile.file),
        );
        /// Whether the unit streams from power-on without a request.
        pub is_streaming as "streaming": bool, TrueOrFalse;
        /// Messages from power-on, by the names of the protocol.
        pub messages: Vec<String> => |all, keys| {
            let read = |field: &Field<'_>| listed_messages(field, driver.family);
            keys.with_default("messages", all.messages.clone(), &mut all.messages, read);
        };
        /// Output latency in addition to the product's own delay.
        pub lag_ns as "lag_ms": u64, lag::key();
        // A year: the longest counters of units wrap after some days.
        /// Time since power-on at the start of the run; the unit's clock and counters show it.
        pub on_for_ns as "uptime_s": u64,
            Time(Limit::new(0.0..=31_557_600.0, "s", MODEL), 1e9);
        /// Model of the errors.
        pub model: ImuModel => |all, keys| {
            rig_model(&mut all.model, keys);
            physics(&mut all.model, keys);
        };
        /// Clock of the unit: reference and errors.
        pub clock: ClockErrors =>
            |all, keys| keys.shared_table("clock", "clock", &mut all.clock, SharedKeys::read_keys);
    }
}

keys! {
    in profile and rig; for ImuModel as fn rig_model();
    /// Whether gyros measure the Earth's rotation.
    earth_rate, TrueOrFalse;
    /// The magnetic field: "world-model", or north, east and down.
    magnetic_field as "magnetic_field_gauss", By(magnetic_field);
    /// Averaging window: the true value is averaged over this time before the sample.
    window_ns as "window_ms", window();
}

impl ImuSettings {
    /// The same settings without errors: no noise, range or resolution, and a perfect clock.
    #[must_use]
    pub fn without_errors(self) -> Self {
        Self { model: self.model.without_errors(), clock: ClockErrors::default(), ..self }
    }
}

keys! {
    in profile and rig;
    /// Errors of a unit's clock.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    pub struct ClockErrors {
        /// Drift of the oscillator: positive is fast, negative is slow.
        pub drift_ppm: f64, limit(-1e4, 1e4);
        /// Standard deviation of a timestamp.
        pub jitter_std_s as "jitter_std_ms": f64, Scaled(limit(0.0, 1e3), 1e-3);
    }
}
