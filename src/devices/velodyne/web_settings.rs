//! Profile keys of a Velodyne's web interface and of its ADC readings.

use crate::config::profile::read::PROFILES;
use crate::config::toml::key_types::{AnyText, Time};
use crate::config::toml::reader::Limit;

const CONVERTERS: &str = "the units' converters: 12 bits over 5 V";

fn celsius() -> Limit<f64> {
    Limit::new(0.0..=125.0, "degrees C", PROFILES)
}

keys! {
    /// Data about the unit in the web interface.
    #[derive(Clone, Debug, PartialEq)]
    pub struct WebProfile {
        /// The model in info.json.
        pub model: String, AnyText("the model's name such as \"VLP-16\"");
        /// The serial number in info.json.
        pub serial: String, AnyText("a serial number");
        /// Time from a reset until packets are sent again.
        pub reset_ns as "reset_s": u64, Time(Limit::new(0.1..=600.0, "s", PROFILES), 1e9);
        /// The error of the speed in status.json.
        pub tachometer_error_rpm: u8, Limit::new(0..=100, "rpm", PROFILES);
        /// The voltage of the detectors in diag.json.
        pub high_voltage_v: f64, Limit::new(-505.0..=0.0, "V", CONVERTERS);
        /// The supply's voltage in diag.json.
        pub supply_v: f64, Limit::new(0.0..=55.0, "V", CONVERTERS);
        /// Two currents in diag.json: while no laser fires, and while lasers fire.
        pub current_a: [f64; 2], Limit::new(0.0..=25.0, "A", CONVERTERS);
    }
}

keys! {
    /// Temperatures of a unit's boards.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct ThermalProfile {
        /// The temperature at power-on.
        pub power_up_c: f64, celsius();
        /// The final temperature of the top board.
        pub top_c: f64, celsius();
        /// The final temperature of the bottom board.
        pub bottom_c: f64, celsius();
        /// Time constant of the warming.
        pub warm_up_s: f64, Limit::new(1.0..=100_000.0, "s", PROFILES);
    }
}
