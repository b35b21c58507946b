//! Reads the profile of an IMU, and what a rig sets on one.
//!
//! A profile must say everything, a rig only what differs from its profile. Units are those of
//! datasheets and stand in the keys; inside all is SI (gauss for fields).

use crate::config::imu::{
    AttitudeErrors, BarometerErrors, ClockErrors, Decimation, ImuIdentity, ImuProfile, ImuProtocol,
    ImuSettings, MESSAGES, MagneticField, NavigationErrors, ThermometerErrors, TriadErrors,
};
use crate::config::imu_answers;
use crate::config::profile::Profile;
use crate::config::profile::read::PROFILES;
use crate::config::toml::reader::{Field, Limit, TableReader};

const MODEL: &str = "Menura's error model";
const DEG: f64 = std::f64::consts::PI / 180.0;
const G: f64 = 9.806_65;

/// Reads keys that must be there, or that override a default.
struct Reader<'t, 'f> {
    table: &'t mut TableReader<'f>,
    must: bool,
}

impl<'f> Reader<'_, 'f> {
    fn field(&mut self, key: &'static str) -> Field<'f> {
        if self.must { self.table.required(key) } else { self.table.optional(key) }
    }

    /// A number from `least` to `most` in the key's unit; `unit` of them are one inside.
    fn number(
        &mut self,
        key: &'static str,
        [least, most]: [f64; 2],
        unit: f64,
        into: &mut f64,
    ) -> bool {
        let field = self.field(key);
        let found = field.number(&Limit::new(least..=most, "", MODEL)).map(|x| x * unit);
        *into = found.unwrap_or(*into);
        found.is_some() || (!field.is_written() && !self.must)
    }
}

/// The keys of three axes of a kind, each with its unit.
struct TriadKeys {
    noise_density: (&'static str, f64),
    bias_instability: (&'static str, f64),
    random_walk: (&'static str, f64),
    bias: (&'static str, f64),
    turn_on_bias: (&'static str, f64),
    temperature: (&'static str, f64),
    resolution: (&'static str, f64),
    range: (&'static str, f64),
    g_sensitivity: Option<(&'static str, f64)>,
}

const GYRO: TriadKeys = TriadKeys {
    noise_density: ("noise_density_deg_s_sqrt_hz", DEG),
    bias_instability: ("bias_instability_deg_h", DEG / 3600.0),
    random_walk: ("random_walk_deg_h_sqrt_h", DEG / 3600.0 / 60.0),
    bias: ("bias_deg_s", DEG),
    turn_on_bias: ("turn_on_bias_std_deg_s", DEG),
    temperature: ("temperature_deg_s_k", DEG),
    resolution: ("resolution_deg_s", DEG),
    range: ("range_deg_s", DEG),
    g_sensitivity: Some(("g_sensitivity_deg_s_g", DEG / G)),
};
const ACCEL: TriadKeys = TriadKeys {
    noise_density: ("noise_density_ug_sqrt_hz", G * 1e-6),
    bias_instability: ("bias_instability_ug", G * 1e-6),
    random_walk: ("random_walk_ug_sqrt_h", G * 1e-6 / 60.0),
    bias: ("bias_mg", G * 1e-3),
    turn_on_bias: ("turn_on_bias_std_mg", G * 1e-3),
    temperature: ("temperature_mg_k", G * 1e-3),
    resolution: ("resolution_mg", G * 1e-3),
    range: ("range_g", G),
    g_sensitivity: None,
};
const MAG: TriadKeys = TriadKeys {
    noise_density: ("noise_density_ugauss_sqrt_hz", 1e-6),
    bias_instability: ("bias_instability_ugauss", 1e-6),
    random_walk: ("random_walk_ugauss_sqrt_h", 1e-6 / 60.0),
    bias: ("bias_gauss", 1.0),
    turn_on_bias: ("turn_on_bias_std_gauss", 1.0),
    temperature: ("temperature_gauss_k", 1.0),
    resolution: ("resolution_gauss", 1.0),
    range: ("range_gauss", 1.0),
    g_sensitivity: None,
};

/// Errors of three axes; without `defaults` every key but `chrono` must be there.
fn triad(
    mut table: TableReader<'_>,
    keys: &TriadKeys,
    defaults: Option<&TriadErrors>,
) -> Option<TriadErrors> {
    let mut all = defaults.copied().unwrap_or(TriadErrors::NONE);
    let mut r = Reader { table: &mut table, must: defaults.is_none() };
    let mut good = true;
    for ((key, unit), value) in [
        (keys.noise_density, &mut all.noise_density),
        (keys.bias_instability, &mut all.bias_instability),
        (keys.random_walk, &mut all.random_walk),
        (keys.turn_on_bias, &mut all.turn_on_bias_std),
        (keys.resolution, &mut all.resolution),
        (keys.range, &mut all.range),
    ] {
        good &= r.number(key, [0.0, 1e6], unit, value);
    }
    let (key, unit) = keys.temperature;
    good &= r.number(key, [-1e3, 1e3], unit, &mut all.temperature_coefficient);
    if let Some((key, unit)) = keys.g_sensitivity {
        good &= r.number(key, [-10.0, 10.0], unit, &mut all.g_sensitivity);
    }
    good &= r.number("bias_correlation_s", [0.1, 1e6], 1.0, &mut all.bias_correlation_s);
    good &= r.number("scale_factor_std_percent", [0.0, 50.0], 0.01, &mut all.scale_factor_std);
    good &= r.number("misalignment_std_deg", [0.0, 45.0], DEG, &mut all.misalignment_std_rad);
    good &= r.number("bandwidth_hz", [0.0, 1e5], 1.0, &mut all.bandwidth_hz);
    let (key, unit) = keys.bias;
    let field = r.field(key);
    let bias = field.numbers::<3>(&Limit::new(-1e6..=1e6, "", MODEL));
    good &= bias.is_some() || (!field.is_written() && defaults.is_some());
    all.bias = bias.map_or(all.bias, |axes| axes.map(|x| x * unit));
    let chrono = table.optional("chrono").such_as(
        "{ std = 0.001, rate_hz = 100, drift = 0.0001, drift_time_s = 0.1 }, in rad/s, m/s² or gauss",
    );
    if chrono.is_written() {
        good &= chrono.table("Chrono's noise").is_some_and(|table| chrono_noise(table, &mut all));
    }
    table.finish();
    good.then_some(all)
}

/// `NormalDrift` of projectchrono/chrono, in SI units.
fn chrono_noise(mut table: TableReader<'_>, all: &mut TriadErrors) -> bool {
    let mut r = Reader { table: &mut table, must: true };
    let mut good = r.number("std", [0.0, 1e6], 1.0, &mut all.chrono_std);
    good &= r.number("rate_hz", [0.1, 1e5], 1.0, &mut all.chrono_rate_hz);
    good &= r.number("drift", [0.0, 1e6], 1.0, &mut all.chrono_drift);
    good &= r.number("drift_time_s", [1e-6, 1e9], 1.0, &mut all.chrono_drift_time_s);
    table.finish();
    good
}

fn barometer(
    mut table: TableReader<'_>,
    defaults: Option<&BarometerErrors>,
) -> Option<BarometerErrors> {
    let mut all = defaults.copied().unwrap_or_default();
    let mut r = Reader { table: &mut table, must: defaults.is_none() };
    let sea_level = [80_000.0, 110_000.0];
    let mut good =
        r.number("sea_level_pressure_pa", sea_level, 1.0, &mut all.sea_level_pressure_pa);
    good &= r.number("noise_std_pa", [0.0, 1e4], 1.0, &mut all.noise_std_pa);
    good &= r.number("drift_std_pa", [0.0, 1e4], 1.0, &mut all.drift_std_pa);
    good &= r.number("drift_correlation_s", [0.1, 1e7], 1.0, &mut all.drift_correlation_s);
    table.finish();
    good.then_some(all)
}

fn thermometer(
    mut table: TableReader<'_>,
    defaults: Option<&ThermometerErrors>,
) -> Option<ThermometerErrors> {
    let mut all = defaults.copied().unwrap_or_default();
    let mut r = Reader { table: &mut table, must: defaults.is_none() };
    let mut good = r.number("ambient_c", [-60.0, 100.0], 1.0, &mut all.ambient_c);
    good &= r.number("self_heating_k", [0.0, 100.0], 1.0, &mut all.self_heating_k);
    good &= r.number("self_heating_time_s", [0.1, 1e6], 1.0, &mut all.self_heating_time_s);
    good &= r.number("noise_std_k", [0.0, 10.0], 1.0, &mut all.noise_std_k);
    table.finish();
    good.then_some(all)
}

fn attitude(
    mut table: TableReader<'_>,
    defaults: Option<&AttitudeErrors>,
) -> Option<AttitudeErrors> {
    let mut all = defaults.copied().unwrap_or_default();
    let mut r = Reader { table: &mut table, must: defaults.is_none() };
    let mut good = r.number("roll_pitch_std_deg", [0.0, 45.0], DEG, &mut all.roll_pitch_std_rad);
    let time_s = [0.01, 1e6];
    good &= r.number("roll_pitch_correlation_s", time_s, 1.0, &mut all.roll_pitch_correlation_s);
    good &= r.number("heading_std_deg", [0.0, 90.0], DEG, &mut all.heading_std_rad);
    good &= r.number("heading_correlation_s", time_s, 1.0, &mut all.heading_correlation_s);
    let field = r.field("heading_from");
    let words = [("true-north", false), ("magnetic-north", true)];
    let is_magnetic = field.choice(&words, MODEL);
    good &= is_magnetic.is_some() || (!field.is_written() && defaults.is_some());
    all.heading_is_magnetic = is_magnetic.unwrap_or(all.heading_is_magnetic);
    table.finish();
    good.then_some(all)
}

fn navigation(
    mut table: TableReader<'_>,
    defaults: Option<&NavigationErrors>,
) -> Option<NavigationErrors> {
    let mut all = defaults.copied().unwrap_or_default();
    let mut r = Reader { table: &mut table, must: defaults.is_none() };
    let mut good = r.number("position_std_m", [0.0, 1e3], 1.0, &mut all.position_std_m);
    good &= r.number("velocity_std_m_s", [0.0, 100.0], 1.0, &mut all.velocity_std_m_s);
    good &= r.number("correlation_s", [0.01, 1e6], 1.0, &mut all.correlation_s);
    table.finish();
    good.then_some(all)
}

fn clock(mut table: TableReader<'_>, defaults: Option<&ClockErrors>) -> Option<ClockErrors> {
    let mut all = defaults.copied().unwrap_or_default();
    let mut r = Reader { table: &mut table, must: defaults.is_none() };
    let mut good = r.number("drift_ppm", [-1e4, 1e4], 1.0, &mut all.drift_ppm);
    good &= r.number("jitter_std_ms", [0.0, 1e3], 1e-3, &mut all.jitter_std_s);
    table.finish();
    good.then_some(all)
}

fn identity(mut table: TableReader<'_>) -> Option<ImuIdentity> {
    let mut text = |key| {
        let field = table.required(key);
        let text = field.text("what the product says of itself")?;
        if text.value.len() <= 32 && text.value.chars().all(|c| (' '..='~').contains(&c)) {
            return Some(text.value);
        }
        let fault = text.place.fault(
            format!("`{key}` cannot be sent"),
            "allowed: at most 32 printable ASCII characters",
        );
        field.fault(fault.note("limit from the wire formats: fields of fixed length"));
        None
    };
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
    boot_ns: u64,
}

fn line(mut table: TableReader<'_>) -> Option<Line> {
    let expected = "baud rates, the factory's first";
    let baud = Limit::new(1200..=4_000_000, "baud", "UARTs");
    let field = table.required("baud_rates");
    let rates = field.array(expected).and_then(|(items, place)| {
        if items.is_empty() {
            field.fault(place.fault("a serial line has a rate", format!("allowed: {expected}")));
            return None;
        }
        items.iter().map(|item| item.integer(&baud)).collect::<Option<Vec<u32>>>()
    });
    let buffer = Limit::new(64..=1_000_000, "bytes", PROFILES);
    let transmit_buffer_bytes = table.required("transmit_buffer_bytes").integer(&buffer);
    let ms = Limit::new(0.0..=10_000.0, "ms", PROFILES);
    let mut delay = |key| table.required(key).number(&ms).map(|ms| (ms * 1e6).round() as u64);
    let (reply_delay_ns, output_delay_ns, boot_ns) =
        (delay("reply_delay_ms"), delay("output_delay_ms"), delay("boot_ms"));
    table.finish();
    Some(Line {
        baud_rates: rates?,
        transmit_buffer_bytes: transmit_buffer_bytes?,
        reply_delay_ns: reply_delay_ns?,
        output_delay_ns: output_delay_ns?,
        boot_ns: boot_ns?,
    })
}

struct Output {
    sample_rate_hz: u32,
    rate_hz: u32,
    max_rate_hz: u32,
    decimation: Decimation,
    messages: Vec<String>,
    magnetic_unit_gauss: f64,
    is_streaming: bool,
    earth_rate: bool,
}

fn output(mut table: TableReader<'_>, protocol: ImuProtocol) -> Option<Output> {
    let rate = Limit::new(1..=10_000, "Hz", PROFILES);
    let sample_field = table.required("sample_rate_hz");
    let sample_rate_hz = sample_field.integer::<u32>(&rate);
    if let (Some(rate), Some(place)) = (sample_rate_hz, sample_field.place())
        && !1_000_000_000u32.is_multiple_of(rate)
    {
        let label = "allowed: rates whose period is a whole number of nanoseconds";
        table.fault(place.fault("samples would not fall on whole nanoseconds", label));
    }
    let most = Limit::new(1..=i128::from(sample_rate_hz.unwrap_or(10_000)), "Hz", "sample_rate_hz");
    let max_rate_hz = table.required("max_rate_hz").integer::<u32>(&most);
    let rate_hz = output_rate(&table.required("rate_hz"), sample_rate_hz, max_rate_hz, PROFILES);
    let decimation = table.required("decimation").choice(&Decimation::WORDS, PROFILES);
    let known = MESSAGES.iter().find(|(p, _)| *p == protocol).map_or(&[][..], |(_, list)| list);
    let words: Vec<(&str, String)> = known.iter().map(|m| (*m, (*m).to_owned())).collect();
    let field = table.required("messages");
    let messages = field.array("names of messages").and_then(|(items, _)| {
        items.iter().map(|item| item.choice(&words, "the protocol")).collect::<Option<Vec<_>>>()
    });
    let unit = Limit::new(0.01..=100.0, "gauss", PROFILES);
    let magnetic_unit_gauss = table.required("magnetic_unit_gauss").number(&unit);
    let is_streaming = table.required("streaming").boolean();
    let earth_rate = table.required("earth_rate").boolean();
    table.finish();
    Some(Output {
        sample_rate_hz: sample_rate_hz?,
        rate_hz: rate_hz?,
        max_rate_hz: max_rate_hz?,
        decimation: decimation?,
        messages: messages?,
        magnetic_unit_gauss: magnetic_unit_gauss?,
        is_streaming: is_streaming?,
        earth_rate: earth_rate?,
    })
}

/// A rate that divides the sample rate.
fn output_rate(
    field: &Field<'_>,
    sample_rate_hz: Option<u32>,
    max_rate_hz: Option<u32>,
    origin: &str,
) -> Option<u32> {
    let most = i128::from(max_rate_hz.unwrap_or(10_000));
    let rate: u32 = field.integer(&Limit::new(1..=most, "Hz", origin))?;
    let samples = sample_rate_hz?;
    if !samples.is_multiple_of(rate) {
        let allowed: Vec<String> = (1..=max_rate_hz?)
            .filter(|rate| samples.is_multiple_of(*rate))
            .map(|rate| rate.to_string())
            .collect();
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

/// Reads what a profile says besides its name and sources.
pub(crate) fn profile(mut root: TableReader<'_>, protocol: ImuProtocol) -> Option<ImuProfile> {
    let identity = root.required("identity").table("[identity]").and_then(identity);
    let line = root.required("line").table("[line]").and_then(line);
    let output = root.required("output").table("[output]").and_then(|t| output(t, protocol));
    let dialect = imu_answers::read(&mut root, protocol);
    let gyro = root.required("gyro").table("[gyro]").and_then(|t| triad(t, &GYRO, None));
    let accel = root
        .required("accelerometer")
        .table("[accelerometer]")
        .and_then(|t| triad(t, &ACCEL, None));
    let mag =
        root.required("magnetometer").table("[magnetometer]").and_then(|t| triad(t, &MAG, None));
    let barometer =
        root.required("barometer").table("[barometer]").and_then(|t| barometer(t, None));
    let thermometer =
        root.required("thermometer").table("[thermometer]").and_then(|t| thermometer(t, None));
    let attitude = root.required("attitude").table("[attitude]").and_then(|t| attitude(t, None));
    let navigation =
        root.required("navigation").table("[navigation]").and_then(|t| navigation(t, None));
    let clock = root.required("clock").table("[clock]").and_then(|t| clock(t, None));
    root.finish();
    let (line, output) = (line?, output?);
    Some(ImuProfile {
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
        messages: output.messages,
        defaults: ImuSettings {
            rate_hz: output.rate_hz,
            baud_rate: *line.baud_rates.first()?,
            gyro: gyro?,
            accel: accel?,
            mag: mag?,
            barometer: barometer?,
            thermometer: thermometer?,
            attitude: attitude?,
            navigation: navigation?,
            clock: clock?,
            is_streaming: output.is_streaming,
            earth_rate: output.earth_rate,
            magnetic_field: MagneticField::WorldModel,
        },
        baud_rates: line.baud_rates,
    })
}

/// Reads what a rig sets.
pub(crate) fn settings(
    mut table: TableReader<'_>,
    profile: &Profile,
    driver: &ImuProfile,
) -> Option<ImuSettings> {
    let mut all = driver.defaults.clone();
    let errors = table.optional("errors").choice(&[("profile", false), ("none", true)], MODEL);
    if errors == Some(true) {
        all = all.without_errors();
    }
    let origin = format!("{}, [output]", profile.file);
    let rate = table.optional("rate_hz");
    if rate.is_written() {
        let (samples, most) = (Some(driver.sample_rate_hz), Some(driver.max_rate_hz));
        all.rate_hz = output_rate(&rate, samples, most, &origin).unwrap_or(all.rate_hz);
    }
    let bauds: Vec<String> = driver.baud_rates.iter().map(u32::to_string).collect();
    let baud = table.optional("baud_rate");
    if let Some(rate) = baud.integer::<u32>(&Limit::new(1..=4_000_000, "baud", "UARTs")) {
        match baud.place() {
            Some(place) if !driver.baud_rates.contains(&rate) => {
                let label = format!("allowed: {}", bauds.join(", "));
                let fault = place.fault(format!("the unit does not run at {rate} baud"), label);
                table.fault(fault.note(format!("limit from {}, [line]", profile.file)));
            }
            _ => all.baud_rate = rate,
        }
    }
    all.is_streaming = table.optional("streaming").boolean().unwrap_or(all.is_streaming);
    all.earth_rate = table.optional("earth_rate").boolean().unwrap_or(all.earth_rate);
    let field = table.optional("magnetic_field_gauss");
    if field.is_array() {
        let axes = field.numbers::<3>(&Limit::new(-100.0..=100.0, "gauss", MODEL));
        all.magnetic_field = axes.map_or(all.magnetic_field, MagneticField::Stated);
    } else {
        let words = [("world-model", MagneticField::WorldModel)];
        let origin = "Menura: or three numbers, north, east, down";
        all.magnetic_field = field.choice(&words, origin).unwrap_or(all.magnetic_field);
    }
    macro_rules! part {
        ($key:literal, $field:ident, $read:expr) => {
            let written = table.optional($key);
            if written.is_written() {
                let read = written.table($key).and_then(|t| $read(t, Some(&all.$field)));
                all.$field = read.unwrap_or(all.$field);
            }
        };
    }
    part!("gyro", gyro, |t, d| triad(t, &GYRO, d));
    part!("accelerometer", accel, |t, d| triad(t, &ACCEL, d));
    part!("magnetometer", mag, |t, d| triad(t, &MAG, d));
    part!("barometer", barometer, barometer);
    part!("thermometer", thermometer, thermometer);
    part!("attitude", attitude, attitude);
    part!("navigation", navigation, navigation);
    part!("clock", clock, clock);
    table.finish();
    Some(all)
}
