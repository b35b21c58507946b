//! Reads the profile of an IMU, and what a rig sets on one.

use super::ImuFamily;
use super::profile::{ClockErrors, Decimation, ImuIdentity, ImuProfile, ImuSettings};
use super::settings_read::{MODEL, limit, magnetic_field, model};
use crate::config::profile::read::PROFILES;
use crate::config::profile::{Profile, baud_rate, lag};
use crate::config::toml::key_types::{KeyType, Time};
use crate::config::toml::keys::Keys;
use crate::config::toml::reader::{Field, Limit, TableReader};
use crate::sensors::imu::settings::ImuModel;
use crate::serial::line_read;

fn clock(mut keys: Keys<'_>, all: &mut ClockErrors) -> Option<()> {
    keys.number("drift_ppm", &limit(-1e4, 1e4), &mut all.drift_ppm);
    keys.scaled("jitter_std_ms", &limit(0.0, 1e3), 1e-3, &mut all.jitter_std_s);
    keys.finish()
}

fn identity(mut table: TableReader<'_>) -> Option<ImuIdentity> {
    let why = "limit from the wire formats: fields of fixed length";
    let mut text = |key| line_read::identity_text(&mut table, key, 32, why);
    let (model, serial) = (text("model"), text("serial"));
    let (hardware, firmware) = (text("hardware"), text("firmware"));
    table.finish();
    Some(ImuIdentity { model: model?, serial: serial?, hardware: hardware?, firmware: firmware? })
}

struct Line {
    baud_rates: Vec<u32>,
    transmit_buffer_bytes: usize,
    reply_delay_ns: u64,
    output_delay_ns: u64,
    lag_ns: u64,
    boot_ns: u64,
}

fn line(mut table: TableReader<'_>) -> Option<Line> {
    let rates = line_read::baud_rates(&mut table);
    let transmit_buffer_bytes = line_read::transmit_buffer_bytes(&mut table, PROFILES);
    let time = Time(Limit::new(0.0..=10_000.0, "ms", PROFILES), 1e6);
    let mut delay = |key| time.read(&table.required(key));
    let (reply_delay_ns, output_delay_ns, boot_ns) =
        (delay("reply_delay_ms"), delay("output_delay_ms"), delay("boot_ms"));
    let lag_ns = lag::of_profile(&mut table);
    table.finish();
    Some(Line {
        baud_rates: rates?,
        transmit_buffer_bytes: transmit_buffer_bytes?,
        reply_delay_ns: reply_delay_ns?,
        output_delay_ns: output_delay_ns?,
        lag_ns: lag_ns?,
        boot_ns: boot_ns?,
    })
}

struct Output {
    sample_rate_hz: u32,
    window_ns: u64,
    rate_hz: u32,
    max_rate_hz: u32,
    decimation: Decimation,
    messages: Vec<String>,
    magnetic_unit_gauss: f64,
    is_streaming: bool,
    earth_rate: bool,
}

fn output(mut table: TableReader<'_>, family: ImuFamily) -> Option<Output> {
    let rate = Limit::new(1..=10_000, "Hz", PROFILES);
    let sample_field = table.required("sample_rate_hz");
    let sample_rate_hz = sample_field.integer_that_limits::<u32>(&rate);
    if let (Some(rate), Some(place)) = (sample_rate_hz, sample_field.place())
        && !1_000_000_000u32.is_multiple_of(rate)
    {
        let label = "allowed: rates whose period is a whole number of nanoseconds";
        table.fault(place.fault("samples would not fall on whole nanoseconds", label));
    }
    let window_ns = Time(window_limit(), 1e6).read(&table.required("window_ms"));
    let most = Limit::new(1..=i128::from(sample_rate_hz.unwrap_or(10_000)), "Hz", "sample_rate_hz");
    let max_rate_hz = table.required("max_rate_hz").integer_that_limits::<u32>(&most);
    let rate_field = table.required("rate_hz");
    let rate_hz = rate_field.integer(&rate_limit(max_rate_hz, PROFILES));
    let rate_hz = output_rate(&rate_field, rate_hz, sample_rate_hz, max_rate_hz, PROFILES);
    let decimation = table.required("decimation").choice(&Decimation::WORDS, PROFILES);
    let messages = messages(&table.required("messages"), family);
    let unit = Limit::new(0.01..=100.0, "gauss", PROFILES);
    let magnetic_unit_gauss = table.required("magnetic_unit_gauss").number(&unit);
    let is_streaming = table.required("streaming").boolean();
    let earth_rate = table.required("earth_rate").boolean();
    table.finish();
    Some(Output {
        sample_rate_hz: sample_rate_hz?,
        window_ns: window_ns?,
        rate_hz: rate_hz?,
        max_rate_hz: max_rate_hz?,
        decimation: decimation?,
        messages: messages?,
        magnetic_unit_gauss: magnetic_unit_gauss?,
        is_streaming: is_streaming?,
        earth_rate: earth_rate?,
    })
}

/// Messages by the names of the protocol.
fn messages(field: &Field<'_>, family: ImuFamily) -> Option<Vec<String>> {
    let words: Vec<(&str, String)> =
        (family.messages)().into_iter().map(|m| (m, m.to_owned())).collect();
    field.choices(&words, "the protocol")
}

/// Limit of the window: a sample is computed from one instant per millisecond.
fn window_limit() -> Limit<f64> {
    Limit::new(0.0..=100.0, "ms", "Menura: the truth is evaluated every millisecond of it")
}

/// A rate that divides the sample rate.
fn output_rate(
    field: &Field<'_>,
    rate: Option<u32>,
    sample_rate_hz: Option<u32>,
    max_rate_hz: Option<u32>,
    origin: &str,
) -> Option<u32> {
    let (rate, samples) = (rate?, sample_rate_hz?);
    if !samples.is_multiple_of(rate) {
        let allowed: Vec<String> =
            divisors(samples, max_rate_hz?).map(|rate| rate.to_string()).collect();
        let fault = field.place()?.fault(
            format!("the unit cannot send {rate} times a second"),
            format!("allowed: {} Hz", allowed.join(", ")),
        );
        let why =
            format!("limit from {origin}: outputs are every n-th of {samples} samples a second");
        field.fault(fault.note(why));
        return None;
    }
    Some(rate)
}

fn rate_limit(max_rate_hz: Option<u32>, origin: &str) -> Limit<i128> {
    Limit::new(1..=i128::from(max_rate_hz.unwrap_or(10_000)), "Hz", origin)
}

/// Rates of no more than `most` that divide that of the samples.
fn divisors(samples: u32, most: u32) -> impl Iterator<Item = u32> {
    (1..=most).filter(move |rate| samples.is_multiple_of(*rate))
}

/// Reads all keys of a profile except its name and sources.
pub(super) fn profile(mut root: TableReader<'_>, family: ImuFamily) -> Option<ImuProfile> {
    let identity = root.required("identity").table("[identity]").and_then(identity);
    let line = root.required("line").table("[line]").and_then(line);
    let output = root.required("output").table("[output]").and_then(|t| output(t, family));
    let dialect = (family.dialect)(&mut root);
    let mut keys = Keys::of_profile(root);
    let (mut physics, mut clock_errors) = (ImuModel::default(), ClockErrors::default());
    model(&mut keys, &mut physics);
    keys.table("clock", "[clock]", &mut clock_errors, clock);
    let complete = keys.finish();
    let (line, output) = (line?, output?);
    Some(ImuProfile {
        family,
        dialect: dialect?,
        identity: identity?,
        sample_rate_hz: output.sample_rate_hz,
        max_rate_hz: output.max_rate_hz,
        transmit_buffer_bytes: line.transmit_buffer_bytes,
        output_delay_ns: line.output_delay_ns,
        reply_delay_ns: line.reply_delay_ns,
        boot_ns: line.boot_ns,
        decimation: output.decimation,
        magnetic_unit_gauss: output.magnetic_unit_gauss,
        defaults: ImuSettings {
            rate_hz: output.rate_hz,
            baud_rate: *line.baud_rates.first()?,
            model: ImuModel {
                window_ns: output.window_ns,
                earth_rate: output.earth_rate,
                ..complete.map(|()| physics)?
            },
            lag_ns: line.lag_ns,
            clock: clock_errors,
            is_streaming: output.is_streaming,
            messages: output.messages,
            on_for_ns: 0,
        },
        baud_rates: line.baud_rates,
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
    let origin = format!("{}, [output]", profile.file);
    let rate = table.optional("rate_hz");
    if rate.is_written() {
        let (samples, most) = (driver.sample_rate_hz, driver.max_rate_hz);
        rate.defaults_to(all.rate_hz);
        let of_unit: Vec<i128> = divisors(samples, most).map(i128::from).collect();
        let rate_hz = rate.integer_among(&rate_limit(Some(most), &origin), &of_unit);
        all.rate_hz =
            output_rate(&rate, rate_hz, Some(samples), Some(most), &origin).unwrap_or(all.rate_hz);
    }
    baud_rate::read(&mut table, profile, &driver.baud_rates, &mut all.baud_rate);
    all.is_streaming = table.optional("streaming").boolean_or(all.is_streaming);
    let listed = table.optional("messages");
    listed.defaults_to(all.messages.clone());
    if listed.is_written() {
        all.messages = messages(&listed, driver.family).unwrap_or(all.messages);
    }
    all.model.earth_rate = table.optional("earth_rate").boolean_or(all.model.earth_rate);
    let field = table.optional("magnetic_field_gauss");
    all.model.magnetic_field = magnetic_field(&field).unwrap_or(all.model.magnetic_field);
    let mut keys = Keys::of_rig(table);
    keys.time_ns("window_ms", &window_limit(), 1e6, &mut all.model.window_ns);
    lag::read(&mut keys, &mut all.lag_ns);
    // A year: the longest counters of units wrap after some days.
    keys.table.was_called("on_for_s", "uptime_s");
    keys.time_ns("uptime_s", &Limit::new(0.0..=31_557_600.0, "s", MODEL), 1e9, &mut all.on_for_ns);
    model(&mut keys, &mut all.model);
    keys.table("clock", "clock", &mut all.clock, clock);
    keys.finish()?;
    Some(all)
}
