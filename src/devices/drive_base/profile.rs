//! Drive bases as data: identity, line and wiring.

use std::sync::Arc;

use super::{BaseFamily, Dialect};
use crate::config::toml::key_types::TrueOrFalse;
use crate::config::toml::reader::Limit;

/// Origin of limits that no product sets.
pub(crate) const PROFILES: &str =
    "Menura's profiles, see firmware-profiles/example-drive-base.toml";

/// Limits of a number that no product limits.
pub(crate) fn limit(least: f64, most: f64, unit: &'static str) -> Limit<f64> {
    Limit::new(least..=most, unit, PROFILES)
}

/// Limits of a delay.
pub(crate) fn delay_limit() -> Limit<f64> {
    limit(0.0, 10_000.0, "ms")
}

/// One firmware of a drive base or motor controller.
#[derive(Clone, Debug)]
pub struct BaseProfile {
    /// Protocol of the product.
    pub family: BaseFamily,
    /// Identity that the base reports.
    pub identity: BaseIdentity,
    /// Baud rates it can be set to, the factory's first.
    pub baud_rates: Vec<u32>,
    /// Size of the transmit buffer, bytes; output that does not fit is lost.
    pub transmit_buffer_bytes: usize,
    /// Time from power-on or a reset until it listens, nanoseconds.
    pub boot_ns: u64,
    /// Defaults that a rig may override.
    pub defaults: BaseSettings,
}

/// Identity that a unit reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseIdentity {
    /// Name of the model.
    pub model: String,
    /// Serial number, if the protocol reports one.
    pub serial: u32,
    /// Firmware version as the product reports it.
    pub firmware: String,
}

/// Settings of a base in a rig.
#[derive(Clone, Debug)]
pub struct BaseSettings {
    /// Baud rate at power-on.
    pub baud_rate: u32,
    /// Time from the last byte of a command to the first of its answer, nanoseconds.
    pub reply_delay_ns: u64,
    /// Whether the host's bytes take their time on the line: true for a pseudo-terminal, where they arrive at
    /// once; a real serial line has already paced them.
    pub is_input_paced: bool,
    /// Motors and encoders.
    pub wheels: WheelSettings,
    /// Voltages, currents, temperatures.
    pub power: PowerSettings,
    /// Settings of this protocol only.
    pub dialect: Arc<dyn Dialect>,
}

keys! {
    in profile and rig;
    /// Motors and encoders on the robot.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct WheelSettings {
        /// Counts of an encoder per metre that the track travels.
        pub counts_per_m: f64, limit(1.0, 1e7, "counts");
        /// Track speed at full duty, which no command exceeds.
        pub max_speed_m_s: f64, limit(0.01, 100.0, "m/s");
        /// Whether motor 1 and its encoder are on the right.
        pub is_swapped as "swapped": bool, TrueOrFalse;
        /// Whether the left motor and its encoder turn in the opposite direction.
        pub is_left_reversed as "left_reversed": bool, TrueOrFalse;
        /// Whether the right motor and its encoder turn in the opposite direction.
        pub is_right_reversed as "right_reversed": bool, TrueOrFalse;
    }
}

keys! {
    in profile and rig;
    /// The battery and its consumers.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct PowerSettings {
        /// Voltage of the main battery.
        pub battery_v: f64, limit(0.0, 320.0, "V");
        /// Voltage of the supply of the electronics.
        pub logic_v: f64, limit(0.0, 320.0, "V");
        /// Voltage below which the main battery counts as low.
        pub low_battery_v: f64, limit(0.0, 320.0, "V");
        /// Charge of the main battery.
        pub charge_percent: f64, limit(0.0, 100.0, "%");
        /// Energy of the main battery when full.
        pub capacity_wh: f64, limit(0.0, 32_767.0, "Wh");
        /// Current of the electronics.
        pub idle_current_a: f64, limit(0.0, 100.0, "A");
        /// Current of a motor for each m/s of track speed.
        pub motor_current_a_s_m: f64, limit(0.0, 1000.0, "A s/m");
        /// Temperature of electronics and motors.
        pub temperature_c: f64, limit(-100.0, 300.0, "degrees C");
    }
}
