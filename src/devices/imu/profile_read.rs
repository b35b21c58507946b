//! Reads the profile of an IMU, and what a rig sets on one.

use super::ImuFamily;
use super::profile::{ClockErrors, ImuOutput, ImuProfile, ImuSettings};
use super::settings_read::{MODEL, physics};
use crate::config::profile::Profile;
use crate::config::profile::read::PROFILES;
use crate::config::toml::key_types::{KeyType, Table, Time};
use crate::config::toml::keys::{Keys, SharedKeys};
use crate::config::toml::reader::{Field, Limit, TableReader};
use crate::sensors::imu::settings::ImuModel;
use crate::serial::line_read;

/// A text of the identity.
pub(super) fn serial_text(field: &Field<'_>) -> Option<String> {
    let why = "limit from the wire formats: fields of fixed length";
    line_read::identity_text(field, 32, why)
}

/// Samples per second.
pub(super) fn sample_rate(field: &Field<'_>) -> Option<u32> {
    let rate = field.integer_that_limits::<u32>(&Limit::new(1..=10_000, "Hz", PROFILES))?;
    if !1_000_000_000u32.is_multiple_of(rate) {
        let label = "allowed: rates whose period is a whole number of nanoseconds";
        let title = "samples would not fall on whole nanoseconds";
        field.fault(field.place()?.fault(title, label));
    }
    Some(rate)
}

/// Highest rate of output, of a unit with `samples` a second.
pub(super) fn max_rate(field: &Field<'_>, samples: Option<u32>) -> Option<u32> {
    let most = samples.unwrap_or(10_000);
    field.integer_that_limits(&Limit::new(1..=most.into(), "Hz", "sample_rate_hz"))
}

/// A rate of output of at most `most`, which divides that of the samples.
pub(super) fn output_rate(
    field: &Field<'_>,
    samples: Option<u32>,
    most: Option<u32>,
) -> Option<u32> {
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

/// The averaging window: a sample is computed from one instant per millisecond of it.
pub(super) fn window() -> Time {
    let why = "Menura: the truth is evaluated every millisecond of it";
    Time(Limit::new(0.0..=100.0, "ms", why), 1e6)
}

/// Messages by the names of the protocol.
pub(super) fn listed_messages(field: &Field<'_>, family: ImuFamily) -> Option<Vec<String>> {
    let words: Vec<(&str, String)> =
        (family.messages)().into_iter().map(|m| (m, m.to_owned())).collect();
    field.choices(&words, "the protocol")
}

/// Reads all keys of a profile except its name and sources.
pub(super) fn profile(mut root: TableReader<'_>, family: ImuFamily) -> Option<ImuProfile> {
    let says = "Identity that the product reports.";
    let identity = Table("[identity]").read(&root.required("identity").meaning(says));
    let says = "Serial line, and times of the unit's answers.";
    let line = Table("[line]").read(&root.required("line").meaning(says));
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
    keys.shared_table("clock", "[clock]", &mut clock, SharedKeys::read_keys);
    keys.finish()?;
    let (line, output): (super::profile::ImuLine, ImuOutput) = (line?, output?);
    Some(ImuProfile {
        family,
        dialect: dialect?,
        identity: identity?,
        defaults: ImuSettings {
            rate_hz: output.rate_hz,
            baud_rate: *line.baud_rates.first()?,
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
    let errors = table.optional("errors");
    if errors.choice_or(&[("profile", false), ("none", true)], MODEL, false) {
        all = all.without_errors();
    }
    table.was_called("on_for_s", "uptime_s");
    Keys::over(table, &all, |all, keys| all.read_keys(keys, profile, driver))
}
