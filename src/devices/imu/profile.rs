//! Firmware profile of an IMU, and its settings in a rig.
//!
//! Types and their keys come first, then the readers of profiles and settings, then the readers of single keys.

use super::settings_read::{MODEL, limit, magnetic_field, physics};
use super::{Dialect, ImuFamily};
use crate::config::profile::read::{CLOCK, IDENTITY, PROFILES};
use crate::config::profile::{Profile, errors, lag};
use crate::config::toml::key_types::{
    Among, By, KeyType, OneOf, Scaled, Table, Time, TrueOrFalse, plain,
};
use crate::config::toml::keys::{Keys, SharedKeys};
use crate::config::toml::reader::{Field, Limit, TableReader};
use crate::sensors::imu::settings::ImuModel;
use crate::serial::line_read::{self, SerialLine, delay, line_field};
use std::sync::Arc;

words!(Decimation: "mean" => Mean, "last" => Last);

/// Profile of an IMU's firmware.
#[derive(Clone, Debug)]
pub struct ImuProfile {
    /// Protocol of the product.
    pub family: ImuFamily,
    /// Protocol-specific part of the profile.
    pub dialect: Arc<dyn Dialect>,
    /// Identity that the IMU reports.
    pub identity: ImuIdentity,
    /// Serial line.
    pub line: ImuLine,
    /// Messages and rates.
    pub output: ImuOutput,
    /// Values that a rig can override.
    pub defaults: ImuSettings,
}

/// How the samples between two outputs become one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decimation {
    /// The output is the mean of the samples, so that noise keeps its density.
    Mean,
    /// The output is the last sample.
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

keys! {
    /// Serial line, and response times.
    #[derive(Clone, Debug)]
    pub struct ImuLine {
        /// The line itself.
        pub serial: SerialLine => |table| SerialLine::read_keys(table, PROFILES);
        /// Time from a command's last byte to the first byte of the answer.
        pub reply_delay_ns as "reply_delay_ms": u64, delay(PROFILES);
        /// Time from a sample to the first byte of its message.
        pub output_delay_ns as "output_delay_ms": u64, delay(PROFILES);
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
    /// Possible output rates: divisors of the sample rate, up to the highest rate.
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
            &plain(driver.line.serial.baud_rates.iter().copied()), "baud",
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
        // At most a year; the longest counters of units wrap after some days.
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
            |all, keys| keys.table("clock", "clock", &mut all.clock, SharedKeys::read);
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
    /// The same settings without errors: no noise, bias, range limit or quantisation, and a perfect clock.
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

/// Reads a profile except its name and sources.
pub(super) fn profile(mut root: TableReader<'_>, family: ImuFamily) -> Option<ImuProfile> {
    let identity = Table("[identity]").read(&root.required("identity").meaning(IDENTITY));
    let line = Table("[line]").read(&line_field(&mut root));
    let output = root.required("output").meaning("Messages and rates.").table("[output]");
    let output = output.and_then(|mut table| {
        let output = ImuOutput::read_keys(&mut table, family);
        table.finish();
        output
    });
    let dialect = (family.dialect)(&mut root);
    let mut keys = Keys::of_profile(root);
    let (mut model, mut clock) = (ImuModel::default(), ClockErrors::default());
    physics(&mut model, &mut keys);
    let field = keys.field("clock").meaning(CLOCK);
    keys.table_in(&field, "[clock]", &mut clock, SharedKeys::read);
    keys.finish()?;
    let (line, output): (ImuLine, ImuOutput) = (line?, output?);
    Some(ImuProfile {
        family,
        dialect: dialect?,
        identity: identity?,
        defaults: ImuSettings {
            rate_hz: output.rate_hz,
            baud_rate: *line.serial.baud_rates.first()?,
            model: ImuModel { window_ns: output.window_ns, earth_rate: output.earth_rate, ..model },
            lag_ns: line.lag_ns,
            clock,
            is_streaming: output.is_streaming,
            messages: output.messages.clone(),
            on_for_ns: 0,
        },
        line,
        output,
    })
}

/// Reads the settings of a rig.
pub(super) fn settings(
    mut table: TableReader<'_>,
    profile: &Profile,
    driver: &ImuProfile,
) -> Option<ImuSettings> {
    let mut all = driver.defaults.clone();
    if errors::are_none(&mut table, MODEL) {
        all = all.without_errors();
    }
    table.was_called("on_for_s", "uptime_s");
    Keys::over(table, &all, |all, keys| all.read_keys(keys, profile, driver))
}

/// Reads a text of the identity.
fn serial_text(field: &Field<'_>) -> Option<String> {
    let why = "limit from the wire formats: fields of fixed length";
    line_read::identity_text(field, 32, why)
}

fn sample_rate(field: &Field<'_>) -> Option<u32> {
    let rate = field.integer_that_limits::<u32>(&Limit::new(1..=10_000, "Hz", PROFILES))?;
    if !1_000_000_000u32.is_multiple_of(rate) {
        let label = "allowed: rates that divide 1000000000";
        let title = "the sample period must be a whole number of nanoseconds";
        field.fault(field.place()?.fault(title, label));
    }
    Some(rate)
}

/// Reads the highest output rate; `samples` is the sample rate.
fn max_rate(field: &Field<'_>, samples: Option<u32>) -> Option<u32> {
    let most = samples.unwrap_or(10_000);
    field.integer_that_limits(&Limit::new(1..=most.into(), "Hz", "sample_rate_hz"))
}

/// Reads an output rate: a divisor of the sample rate `samples`, at most `most`.
fn output_rate(field: &Field<'_>, samples: Option<u32>, most: Option<u32>) -> Option<u32> {
    let limit = Limit::new(1..=most.unwrap_or(10_000).into(), "Hz", PROFILES);
    let (rate, samples, most) = (field.integer::<u32>(&limit)?, samples?, most?);
    if samples.is_multiple_of(rate) {
        return Some(rate);
    }
    let divisors = (1..=most).filter(|rate| samples.is_multiple_of(*rate));
    let allowed: Vec<String> = divisors.map(|rate| rate.to_string()).collect();
    let title = format!("the unit cannot send {rate} times a second");
    let fault = field.place()?.fault(title, format!("allowed: {} Hz", allowed.join(", ")));
    field.fault(fault.note(format!(
        "limit from {PROFILES}: outputs are every n-th of {samples} samples a second"
    )));
    None
}

/// Key type of the averaging window; the ground truth is evaluated once per millisecond of the window.
fn window() -> Time {
    let why = "Menura: the ground truth is computed for each millisecond of the window";
    Time(Limit::new(0.0..=100.0, "ms", why), 1e6)
}

/// Reads messages by their names in the protocol.
fn listed_messages(field: &Field<'_>, family: ImuFamily) -> Option<Vec<String>> {
    let words: Vec<(&str, String)> =
        (family.messages)().into_iter().map(|m| (m, m.to_owned())).collect();
    field.choices(&words, "the protocol")
}
