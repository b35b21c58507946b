//! Firmware profile of a drive base, and its settings in a rig.

use std::sync::Arc;

use super::{BaseFamily, Dialect};
use crate::config::profile::Profile;
use crate::config::toml::key_types::{Among, By, TrueOrFalse, plain};
use crate::config::toml::keys::SharedKeys;
use crate::config::toml::reader::{Field, Limit};
use crate::serial::line_read::{self, SerialLine};

/// Source of limits that Menura's profiles set, not a product. Error messages name it.
pub(crate) const PROFILES: &str =
    "Menura's profiles, see firmware-profiles/example-drive-base.toml";

/// A limit from `least` to `most` that Menura's profiles set, not a product.
pub(crate) fn limit(least: f64, most: f64, unit: &'static str) -> Limit<f64> {
    Limit::new(least..=most, unit, PROFILES)
}

/// Profile of one firmware of a drive base or motor controller.
#[derive(Clone, Debug)]
pub struct BaseProfile {
    /// Protocol of the product.
    pub family: BaseFamily,
    /// Identity that the base reports.
    pub identity: BaseIdentity,
    /// Serial line.
    pub line: SerialLine,
    /// Values that a rig can override.
    pub defaults: BaseSettings,
}

fn identity_text(field: &Field<'_>) -> Option<String> {
    let why = "limit from the wire formats: a RoboClaw's version has 48 bytes with its end mark";
    line_read::identity_text(field, 46, why)
}

keys! {
    /// Identity that a unit reports.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct BaseIdentity {
        /// The model.
        pub model: String, By(identity_text);
        /// The firmware's version.
        pub firmware: String, By(identity_text);
        /// The serial number, if the protocol reports one.
        pub serial: u32, Limit::new(0..=u32::MAX.into(), "", "the wire formats: four bytes");
    }
}

keys! {
    in profile and rig;
    /// Timing on the line.
    #[derive(Clone, Copy, Debug, Default)]
    pub struct LineTimes {
        /// Time from a command's last byte to the first byte of the answer.
        pub reply_delay_ns as "reply_delay_ms": u64, line_read::delay(PROFILES);
        /// Whether the host's bytes take the time that the line's rate requires. On a pseudo-terminal they arrive at
        /// once.
        pub is_input_paced as "paced_input": bool, TrueOrFalse;
    }
}

keys! {
    in profile and rig with (profile: &Profile, driver: &BaseProfile);
    /// Settings of a base in a rig.
    #[derive(Clone, Debug)]
    pub struct BaseSettings {
        /// Rate of the serial line after power-on.
        pub baud_rate: u32, Among(
            &plain(driver.line.baud_rates.iter().copied()), "baud",
            &format!("{}, [line]", profile.file),
        );
        /// Times on the line.
        pub times: LineTimes => |all, keys| all.times.read_keys(keys);
        /// Motors and encoders on the robot.
        pub wheels: WheelSettings =>
            |all, keys| keys.table("wheels", "[wheels]", &mut all.wheels, SharedKeys::read);
        /// Battery and power consumption.
        pub power: PowerSettings =>
            |all, keys| keys.table("power", "[power]", &mut all.power, SharedKeys::read);
        /// Settings of this protocol only.
        pub dialect: Arc<dyn Dialect> => |all, keys| all.dialect = all.dialect.read(keys);
    }
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
    /// Battery and power consumption.
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
