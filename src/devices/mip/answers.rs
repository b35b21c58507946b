//! Fixed answers of a 3DM without errors.

use std::collections::BTreeMap;

use super::MipUnit;
use crate::config::profile::read::PROFILES;
use crate::config::toml::key_types::Time;
use crate::config::toml::reader::Limit;
use crate::imu::answers::{Setting, numbers, stored, word};
use crate::imu::{Dialect, Protocol, Unit};

keys! {
    /// Fixed answers of a 3DM.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct MipAnswers {
        /// The result of the built-in test; 0 if nothing failed.
        pub built_in_test: u32, word::<u32>();
        /// The state in the filter's status field.
        pub filter_state: u16, word::<u16>();
        /// The dynamics mode in the filter's status field.
        pub filter_mode: u16, word::<u16>();
        /// The flags in the filter's status field.
        pub filter_flags: u16, word::<u16>();
        /// The rate of the filter's data; a divisor of the rate of samples.
        pub filter_base_rate_hz: u32, Limit::new(1..=10_000, "Hz", PROFILES);
        /// Time from a reset of the filter until it has a solution.
        pub filter_init_ns as "filter_init_ms": u64,
            Time(Limit::new(0.0..=60_000.0, "ms", PROFILES), 1e6);
        /// Numbers of the filter's tuning by the command's descriptor.
        pub tuning: BTreeMap<u8, String> => |table| {
            let says = |name| format!("{name}: numbers in the order of the command.");
            stored(table, MIP_TUNING.map(|(setting, name)| (setting, says(name))), numbers)
        };
    }
}

impl Dialect for MipAnswers {
    fn start(&self, unit: &Unit) -> Box<dyn Protocol> {
        Box::new(MipUnit::new(unit, self.clone()))
    }
}

/// Tuning settings of the filter: key, descriptor of the command in set 0x0D, number of values; and description.
pub const MIP_TUNING: [(Setting, &str); 16] = [
    (("vehicle_dynamics_mode", 0x10, 1), "Vehicle dynamics mode"),
    (("estimation_control", 0x14, 1), "Biases that the filter estimates"),
    (("accelerometer_noise", 0x1a, 3), "Accelerometer noise that the filter assumes"),
    (("gyro_noise", 0x1b, 3), "Gyro noise that the filter assumes"),
    (("accelerometer_bias_model", 0x1c, 6), "Model of the accelerometer biases"),
    (("gyro_bias_model", 0x1d, 6), "Model of the gyro biases"),
    (("zero_angular_rate", 0x20, 2), "Zero-angular-rate update"),
    (("magnetometer_auto_calibration", 0x25, 1), "Calibration of the magnetometers in motion"),
    (("gravity_noise", 0x28, 3), "Gravity noise that the filter assumes"),
    (("hard_iron_noise", 0x2b, 3), "Hard iron noise that the filter assumes"),
    (("soft_iron_noise", 0x2c, 9), "Soft iron noise that the filter assumes"),
    (("measurements_enabled", 0x41, 1), "Measurements that the filter uses"),
    (("magnetometer_noise", 0x42, 3), "Magnetometer noise that the filter assumes"),
    (("gravity_adaptive", 0x44, 7), "Conditions for less weight of gravity in the filter"),
    (
        ("magnetometer_adaptive", 0x45, 7),
        "Conditions for less weight of the magnetometers in the filter",
    ),
    (("dip_angle_adaptive", 0x46, 5), "Conditions for less weight of the dip angle in the filter"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::imu::tests::dialect;

    #[test]
    fn the_profile_has_them() {
        let mip = dialect::<MipAnswers>("microstrain-3dmgx5");
        assert_eq!((mip.built_in_test, mip.filter_state, mip.filter_mode), (0, 2, 2));
        assert_eq!((mip.filter_base_rate_hz, mip.tuning.len()), (500, 16));
    }
}
