//! Content of a Velodyne's web interface, and readings of its converters.

use crate::config::profile::read::PROFILES;
use crate::config::toml::reader::{Limit, TableReader};

/// Facts about the unit that a Velodyne's web interface shows.
#[derive(Clone, Debug, PartialEq)]
pub struct WebProfile {
    /// `model` of `info.json`.
    pub model: String,
    /// `serial` of `info.json`.
    pub serial: String,
    /// Duration of a restart, nanoseconds.
    pub reset_ns: u64,
    /// Largest error of the reported motor speed, rpm.
    pub tachometer_error_rpm: u8,
    /// The detectors' high voltage, volts.
    pub high_voltage_v: f64,
    /// Supply voltage, volts.
    pub supply_v: f64,
    /// Current while no laser fires, and while lasers fire, amperes.
    pub current_a: [f64; 2],
}

/// Temperatures of a unit's boards.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThermalProfile {
    /// Temperature at power-up, degrees C.
    pub power_up_c: f64,
    /// Temperature of the top board when warm, degrees C.
    pub top_c: f64,
    /// Temperature of the bottom board when warm, degrees C.
    pub bottom_c: f64,
    /// Time constant of the warm-up, seconds.
    pub warm_up_s: f64,
}

/// Reads `[web]` of a profile.
pub(crate) fn profile(mut table: TableReader<'_>) -> Option<WebProfile> {
    let model = table.required("model").text("the model's name such as \"VLP-16\"");
    let serial = table.required("serial").text("a serial number");
    let seconds = Limit::new(0.1..=600.0, "s", PROFILES);
    let reset_s = table.required("reset_s").number(&seconds);
    let rpm = Limit::new(0..=100, "rpm", PROFILES);
    let tachometer_error_rpm = table.required("tachometer_error_rpm").integer(&rpm);
    let manual = "the units' converters: 12 bits over 5 V";
    let high_voltage = Limit::new(-505.0..=0.0, "V", manual);
    let high_voltage_v = table.required("high_voltage_v").number(&high_voltage);
    let supply_v = table.required("supply_v").number(&Limit::new(0.0..=55.0, "V", manual));
    let current_a = table.required("current_a").numbers(&Limit::new(0.0..=25.0, "A", manual));
    table.finish();
    Some(WebProfile {
        model: model?.value,
        serial: serial?.value,
        reset_ns: (reset_s? * 1e9).round() as u64,
        tachometer_error_rpm: tachometer_error_rpm?,
        high_voltage_v: high_voltage_v?,
        supply_v: supply_v?,
        current_a: current_a?,
    })
}

/// Reads `[thermal]` of a profile.
pub(crate) fn thermal(mut table: TableReader<'_>) -> Option<ThermalProfile> {
    let celsius = Limit::new(0.0..=125.0, "degrees C", PROFILES);
    let power_up_c = table.required("power_up_c").number(&celsius);
    let top_c = table.required("top_c").number(&celsius);
    let bottom_c = table.required("bottom_c").number(&celsius);
    let seconds = Limit::new(1.0..=100_000.0, "s", PROFILES);
    let warm_up_s = table.required("warm_up_s").number(&seconds);
    table.finish();
    Some(ThermalProfile {
        power_up_c: power_up_c?,
        top_c: top_c?,
        bottom_c: bottom_c?,
        warm_up_s: warm_up_s?,
    })
}
