//! Reads the settings of an IMU's error model from profiles and rigs.
//!
//! Key names contain the units of data sheets; values are converted to SI (magnetic fields to gauss).

use crate::config::toml::key_types::{By, OneOf, Scaled};
use crate::config::toml::keys::Keys;
use crate::config::toml::reader::{Field, Limit};
use crate::sensors::imu::settings::{
    AttitudeErrors, BarometerErrors, ImuModel, MagneticField, NavigationErrors, ThermometerErrors,
    TriadErrors,
};

/// Name of the error model as the source of limits in error messages.
pub const MODEL: &str = "Menura's error model";
const DEG: f64 = std::f64::consts::PI / 180.0;
const G: f64 = 9.806_65;

/// Limits of a value of the error model.
pub fn limit(least: f64, most: f64) -> Limit<f64> {
    Limit::new(least..=most, "", MODEL)
}

/// Keys of a three-axis sensor, each with the factor from its unit to SI or gauss.
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
    bias_says: &'static str,
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
    bias_says: "Constant bias forward, left and up.",
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
    bias_says: "Constant bias forward, left and up.",
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
    bias_says: "Constant bias forward, left and up (hard iron).",
};

/// Reads the table `bracketed` into `into`. Messages name the table with brackets in a profile, without brackets in a
/// rig.
fn part<T: Clone>(
    keys: &mut Keys<'_>,
    bracketed: &'static str,
    into: &mut T,
    read: impl FnOnce(&mut T, &mut Keys<'_>),
) {
    let key = bracketed.trim_matches(['[', ']']);
    let name = if keys.is_profile() { bracketed } else { key };
    keys.shared_table(key, name, into, read);
}

keys! {
    in profile and rig; for ImuModel as pub(super) fn physics();
    /// The errors of the gyros.
    gyro => |all, keys| part(keys, "[gyro]", &mut all.gyro, |all, keys| triad(all, keys, &GYRO));
    /// The errors of the accelerometers.
    accel as "accelerometer" =>
        |all, keys| part(keys, "[accelerometer]", &mut all.accel, |all, keys| triad(all, keys, &ACCEL));
    /// The errors of the magnetometers.
    mag as "magnetometer" =>
        |all, keys| part(keys, "[magnetometer]", &mut all.mag, |all, keys| triad(all, keys, &MAG));
    /// The air and the errors of the barometer.
    barometer => |all, keys| part(keys, "[barometer]", &mut all.barometer, barometer);
    /// The unit's temperature and the errors of the thermometer.
    thermometer => |all, keys| part(keys, "[thermometer]", &mut all.thermometer, thermometer);
    /// The errors of the orientation that the unit computes.
    attitude => |all, keys| part(keys, "[attitude]", &mut all.attitude, attitude);
    /// The errors of position and velocity, of units that navigate.
    navigation => |all, keys| part(keys, "[navigation]", &mut all.navigation, navigation);
}

/// Reads a rig's `magnetic_field_gauss`.
pub fn magnetic_field(field: &Field<'_>) -> Option<MagneticField> {
    if field.is_array() {
        let axes = field.numbers::<3>(&Limit::new(-100.0..=100.0, "gauss", MODEL));
        return axes.map(MagneticField::Stated);
    }
    let words = [("world-model", MagneticField::WorldModel)];
    field.choice(&words, "Menura; write another field as three numbers: north, east, down")
}

/// Reads the errors of a three-axis sensor; a profile can omit only `chrono`.
fn triad(all: &mut TriadErrors, keys: &mut Keys<'_>, names: &TriadKeys) {
    if keys.is_profile() {
        *all = TriadErrors::NONE;
    }
    let instability =
        "Bias instability: the level of the flat part of the Allan deviation divided by 0.664.";
    let range = limit(0.0, 1e6);
    for ((key, unit), says, limit, value) in [
        (
            names.noise_density,
            "White noise: the Allan deviation at 1 s.",
            &range,
            &mut all.noise_density,
        ),
        (names.bias_instability, instability, &range, &mut all.bias_instability),
        (names.random_walk, "Random walk of the bias.", &range, &mut all.random_walk),
        (
            names.turn_on_bias,
            "Standard deviation of the bias sampled once per run.",
            &range,
            &mut all.turn_on_bias_std,
        ),
        (names.resolution, "Quantization step; 0: none.", &range, &mut all.resolution),
        (names.range, "Full scale; 0: no limit.", &range, &mut all.range),
        (
            names.temperature,
            "Bias per kelvin of difference from 25 degrees C.",
            &limit(-1e3, 1e3),
            &mut all.temperature_coefficient,
        ),
    ] {
        keys.of_type(key, says, &Scaled(limit.clone(), unit), value);
    }
    if let Some((key, unit)) = names.g_sensitivity {
        let says = "Bias of a gyro per g along its axis.";
        keys.of_type(key, says, &Scaled(limit(-10.0, 10.0), unit), &mut all.g_sensitivity);
    }
    axes(all, keys);
    let (key, unit) = names.bias;
    let bias = By(|field: &Field<'_>| {
        field.numbers::<3>(&limit(-1e6, 1e6)).map(|axes| axes.map(|x| x * unit))
    });
    keys.of_type(key, names.bias_says, &bias, &mut all.bias);
    let says = "Noise as in Project Chrono, in SI units (gauss for fields), in addition to the \
        other errors.";
    let chrono = keys.table.optional("chrono").meaning(says).such_as(
        "{ std = 0.001, rate_hz = 100, drift = 0.0001, drift_time_s = 0.1 }, in rad/s, m/s² or gauss",
    );
    if chrono.is_written() {
        let read = chrono.table("Chrono's noise").and_then(|table| {
            let mut keys = Keys::of_profile(table);
            chrono_noise(all, &mut keys);
            keys.finish()
        });
        keys.put(read, &mut ());
    }
}

keys! {
    in profile and rig; for TriadErrors as fn axes();
    /// Correlation time of the bias instability.
    bias_correlation_s, limit(0.1, 1e6);
    /// Standard deviation of the scale factor sampled once per run.
    scale_factor_std as "scale_factor_std_percent", Scaled(limit(0.0, 50.0), 0.01);
    /// Standard deviation of the angles between the axes sampled once per run.
    misalignment_std_rad as "misalignment_std_deg", Scaled(limit(0.0, 45.0), DEG);
    /// Corner of the second-order low-pass; 0 for none.
    bandwidth_hz, limit(0.0, 1e5);
}

keys! {
    // `NormalDrift` of projectchrono/chrono, in SI units.
    in profile and rig; for TriadErrors as fn chrono_noise();
    /// Standard deviation of the white noise.
    chrono_std as "std", limit(0.0, 1e6);
    /// Samples of the noise per second.
    chrono_rate_hz as "rate_hz", limit(0.1, 1e5);
    /// Standard deviation of the drift.
    chrono_drift as "drift", limit(0.0, 1e6);
    /// Time constant of the drift.
    chrono_drift_time_s as "drift_time_s", limit(1e-6, 1e9);
}

keys! {
    in profile and rig; for BarometerErrors as fn barometer();
    /// Air pressure at sea level.
    sea_level_pressure_pa, limit(80_000.0, 110_000.0);
    /// Standard deviation of a reading.
    noise_std_pa, limit(0.0, 1e4);
    /// Standard deviation of the slow drift that weather causes.
    drift_std_pa, limit(0.0, 1e4);
    /// Correlation time of the drift.
    drift_correlation_s, limit(0.1, 1e7);
}

keys! {
    in profile and rig; for ThermometerErrors as fn thermometer();
    /// Temperature of the air.
    ambient_c, limit(-60.0, 100.0);
    /// Final temperature rise of the unit.
    self_heating_k, limit(0.0, 100.0);
    /// Time constant of the temperature rise.
    self_heating_time_s, limit(0.1, 1e6);
    /// Standard deviation of a reading.
    noise_std_k, limit(0.0, 10.0);
}

keys! {
    in profile and rig; for AttitudeErrors as fn attitude();
    /// Standard deviation of roll and pitch.
    roll_pitch_std_rad as "roll_pitch_std_deg", Scaled(limit(0.0, 45.0), DEG);
    /// Correlation time of the errors of roll and pitch.
    roll_pitch_correlation_s, limit(0.01, 1e6);
    /// Standard deviation of the heading.
    heading_std_rad as "heading_std_deg", Scaled(limit(0.0, 90.0), DEG);
    /// Correlation time of the heading's error.
    heading_correlation_s, limit(0.01, 1e6);
    /// Reference of the heading: true or magnetic north.
    heading_is_magnetic as "heading_from",
        OneOf(&[("true-north", false), ("magnetic-north", true)], MODEL);
}

keys! {
    in profile and rig; for NavigationErrors as fn navigation();
    /// Standard deviation of the position.
    position_std_m, limit(0.0, 1e3);
    /// Standard deviation of the velocity.
    velocity_std_m_s, limit(0.0, 100.0);
    /// Correlation time of the position and velocity errors.
    correlation_s, limit(0.01, 1e6);
}
