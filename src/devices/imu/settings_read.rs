//! Reads the settings of an IMU's physics from profiles and rigs.
//!
//! Keys have the units of datasheets in their names; values are converted to SI (gauss for fields).

use crate::config::toml::keys::Keys;
use crate::config::toml::reader::{Field, Limit};
use crate::sensors::imu::settings::{
    AttitudeErrors, BarometerErrors, ImuModel, MagneticField, NavigationErrors, ThermometerErrors,
    TriadErrors,
};

/// Source of the models' limits in messages.
pub const MODEL: &str = "Menura's error model";
const DEG: f64 = std::f64::consts::PI / 180.0;
const G: f64 = 9.806_65;

/// Limits of a number of the error model.
pub fn limit(least: f64, most: f64) -> Limit<f64> {
    Limit::new(least..=most, "", MODEL)
}

/// The keys of a three-axis sensor, with the units in their names.
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

/// Reads the tables of the physics, which are the same in profiles and rigs.
pub fn model(keys: &mut Keys<'_>, all: &mut ImuModel) {
    // Messages name a profile's table with its brackets and a rig's without.
    let is_profile = keys.is_profile();
    let name = |bracketed: &'static str| match is_profile {
        true => bracketed,
        false => bracketed.trim_matches(['[', ']']),
    };
    keys.table("gyro", name("[gyro]"), &mut all.gyro, |keys, all| triad(keys, &GYRO, all));
    keys.table("accelerometer", name("[accelerometer]"), &mut all.accel, |keys, all| {
        triad(keys, &ACCEL, all)
    });
    keys.table("magnetometer", name("[magnetometer]"), &mut all.mag, |keys, all| {
        triad(keys, &MAG, all)
    });
    keys.table("barometer", name("[barometer]"), &mut all.barometer, barometer);
    keys.table("thermometer", name("[thermometer]"), &mut all.thermometer, thermometer);
    keys.table("attitude", name("[attitude]"), &mut all.attitude, attitude);
    keys.table("navigation", name("[navigation]"), &mut all.navigation, navigation);
}

/// Reads a rig's `magnetic_field_gauss`.
pub fn magnetic_field(field: &Field<'_>) -> Option<MagneticField> {
    if field.is_array() {
        let axes = field.numbers::<3>(&Limit::new(-100.0..=100.0, "gauss", MODEL));
        return axes.map(MagneticField::Stated);
    }
    let words = [("world-model", MagneticField::WorldModel)];
    field.choice(&words, "Menura: or three numbers, north, east, down")
}

/// Reads the errors of a three-axis sensor; a profile may leave out `chrono` only.
fn triad(mut keys: Keys<'_>, names: &TriadKeys, all: &mut TriadErrors) -> Option<()> {
    if keys.is_profile() {
        *all = TriadErrors::NONE;
    }
    for ((key, unit), value) in [
        (names.noise_density, &mut all.noise_density),
        (names.bias_instability, &mut all.bias_instability),
        (names.random_walk, &mut all.random_walk),
        (names.turn_on_bias, &mut all.turn_on_bias_std),
        (names.resolution, &mut all.resolution),
        (names.range, &mut all.range),
    ] {
        keys.scaled(key, &limit(0.0, 1e6), unit, value);
    }
    let (key, unit) = names.temperature;
    keys.scaled(key, &limit(-1e3, 1e3), unit, &mut all.temperature_coefficient);
    if let Some((key, unit)) = names.g_sensitivity {
        keys.scaled(key, &limit(-10.0, 10.0), unit, &mut all.g_sensitivity);
    }
    keys.number("bias_correlation_s", &limit(0.1, 1e6), &mut all.bias_correlation_s);
    keys.scaled("scale_factor_std_percent", &limit(0.0, 50.0), 0.01, &mut all.scale_factor_std);
    keys.scaled("misalignment_std_deg", &limit(0.0, 45.0), DEG, &mut all.misalignment_std_rad);
    keys.number("bandwidth_hz", &limit(0.0, 1e5), &mut all.bandwidth_hz);
    let (key, unit) = names.bias;
    keys.read(key, &mut all.bias, |field| {
        field.numbers::<3>(&limit(-1e6, 1e6)).map(|axes| axes.map(|x| x * unit))
    });
    let chrono = keys.table.optional("chrono").such_as(
        "{ std = 0.001, rate_hz = 100, drift = 0.0001, drift_time_s = 0.1 }, in rad/s, m/s² or gauss",
    );
    if chrono.is_written() {
        let read = chrono.table("Chrono's noise").map(Keys::of_profile);
        keys.put(read.and_then(|keys| chrono_noise(keys, all)), &mut ());
    }
    keys.finish()
}

/// `NormalDrift` of projectchrono/chrono, in SI units.
fn chrono_noise(mut keys: Keys<'_>, all: &mut TriadErrors) -> Option<()> {
    keys.number("std", &limit(0.0, 1e6), &mut all.chrono_std);
    keys.number("rate_hz", &limit(0.1, 1e5), &mut all.chrono_rate_hz);
    keys.number("drift", &limit(0.0, 1e6), &mut all.chrono_drift);
    keys.number("drift_time_s", &limit(1e-6, 1e9), &mut all.chrono_drift_time_s);
    keys.finish()
}

fn barometer(mut keys: Keys<'_>, all: &mut BarometerErrors) -> Option<()> {
    let sea_level = limit(80_000.0, 110_000.0);
    keys.number("sea_level_pressure_pa", &sea_level, &mut all.sea_level_pressure_pa);
    keys.number("noise_std_pa", &limit(0.0, 1e4), &mut all.noise_std_pa);
    keys.number("drift_std_pa", &limit(0.0, 1e4), &mut all.drift_std_pa);
    keys.number("drift_correlation_s", &limit(0.1, 1e7), &mut all.drift_correlation_s);
    keys.finish()
}

fn thermometer(mut keys: Keys<'_>, all: &mut ThermometerErrors) -> Option<()> {
    keys.number("ambient_c", &limit(-60.0, 100.0), &mut all.ambient_c);
    keys.number("self_heating_k", &limit(0.0, 100.0), &mut all.self_heating_k);
    keys.number("self_heating_time_s", &limit(0.1, 1e6), &mut all.self_heating_time_s);
    keys.number("noise_std_k", &limit(0.0, 10.0), &mut all.noise_std_k);
    keys.finish()
}

fn attitude(mut keys: Keys<'_>, all: &mut AttitudeErrors) -> Option<()> {
    keys.scaled("roll_pitch_std_deg", &limit(0.0, 45.0), DEG, &mut all.roll_pitch_std_rad);
    let time_s = limit(0.01, 1e6);
    keys.number("roll_pitch_correlation_s", &time_s, &mut all.roll_pitch_correlation_s);
    keys.scaled("heading_std_deg", &limit(0.0, 90.0), DEG, &mut all.heading_std_rad);
    keys.number("heading_correlation_s", &time_s, &mut all.heading_correlation_s);
    let words = [("true-north", false), ("magnetic-north", true)];
    keys.choice("heading_from", &words, MODEL, &mut all.heading_is_magnetic);
    keys.finish()
}

fn navigation(mut keys: Keys<'_>, all: &mut NavigationErrors) -> Option<()> {
    keys.number("position_std_m", &limit(0.0, 1e3), &mut all.position_std_m);
    keys.number("velocity_std_m_s", &limit(0.0, 100.0), &mut all.velocity_std_m_s);
    keys.number("correlation_s", &limit(0.01, 1e6), &mut all.correlation_s);
    keys.finish()
}
