//! Fixed answers of an Ellipse without errors.

use std::collections::BTreeMap;

use super::SbgUnit;
use crate::config::profile::read::PROFILES;
use crate::config::toml::reader::Limit;
use crate::imu::answers::{Setting, bytes, stored, word};
use crate::imu::{Dialect, Protocol, Unit};
use crate::wire::sbg_ecom::command;

keys! {
    /// Fixed answers of an Ellipse.
    #[derive(Clone, Debug, PartialEq)]
    pub struct SbgAnswers {
        /// The general status word.
        pub general: u16, word::<u16>();
        /// The status word of the ports.
        pub com: u32, word::<u32>();
        /// The status word of aiding.
        pub aiding: u32, word::<u32>();
        /// The load of the processor.
        pub cpu_percent: u8, Limit::new(0..=100, "%", PROFILES);
        /// The status word of an IMU log while no range has ended.
        pub imu: u16, word::<u16>();
        /// The status word of a magnetometer log.
        pub magnetometer: u16, word::<u16>();
        /// The status word of a UTC log.
        pub utc: u16, word::<u16>();
        /// The status word of the filter's logs.
        pub solution: u32, word::<u32>();
        /// The rate of the internal receiver; a divisor of the rate of samples.
        pub gnss_rate_hz: u32, Limit::new(1..=200, "Hz", PROFILES);
        /// Number of satellites that the internal receiver uses.
        pub gnss_satellites: u8, word::<u8>();
        /// Settings' data by command id.
        pub stored: BTreeMap<u8, Vec<u8>> => |table| {
            let says = |name| format!("Bytes of the setting '{name}' before a host writes them.");
            stored(table, SBG_SETTINGS.map(|(setting, name)| (setting, says(name))), bytes)
        };
    }
}

impl Dialect for SbgAnswers {
    fn start(&self, unit: &Unit) -> Box<dyn Protocol> {
        Box::new(SbgUnit::new(unit, self.clone()))
    }
}

/// Settings of an Ellipse: key in profiles, command id, number of bytes; and name in documentation.
pub const SBG_SETTINGS: [(Setting, &str); 17] = [
    (("init_parameters", command::INIT_PARAMETERS, 28), "init parameters"),
    (("motion_profile", command::MOTION_PROFILE_ID, 4), "motion profile"),
    (("imu_alignment", command::IMU_ALIGNMENT_LEVER_ARM, 26), "IMU alignment"),
    (("aiding_assignment", command::AIDING_ASSIGNMENT, 16), "aiding assignment"),
    (("magnetometer_model", command::MAGNETOMETER_MODEL_ID, 4), "magnetometer model"),
    (("magnetometer_reject", command::MAGNETOMETER_REJECT_MODE, 1), "magnetometer reject"),
    (("gnss_1_model", command::GNSS_1_MODEL_ID, 4), "GNSS 1 model"),
    (("gnss_1_alignment", command::GNSS_1_LEVER_ARM_ALIGNMENT, 24), "GNSS 1 alignment"),
    (("gnss_1_installation", command::GNSS_1_INSTALLATION, 26), "GNSS 1 installation"),
    (("gnss_1_reject", command::GNSS_1_REJECT_MODES, 4), "GNSS 1 reject"),
    (("odometer", command::ODO_CONF, 6), "odometer"),
    (("odometer_lever_arm", command::ODO_LEVER_ARM, 12), "odometer lever arm"),
    (("odometer_reject", command::ODO_REJECT_MODE, 1), "odometer reject"),
    (("sync_in", command::SYNC_IN_CONF, 5), "sync in"),
    (("sync_out", command::SYNC_OUT_CONF, 8), "sync out"),
    (("advanced", command::ADVANCED_CONF, 2), "advanced"),
    (("validity_thresholds", command::VALIDITY_THRESHOLDS, 16), "validity thresholds"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::imu::tests::dialect;

    #[test]
    fn the_profile_has_them() {
        let sbg = dialect::<SbgAnswers>("sbg-ellipse2d");
        assert_eq!((sbg.general, sbg.solution), (0x7f, 0x0800_0ef4));
        assert_eq!(sbg.stored[&11], [201, 0, 0, 0]);
    }
}
