//! Answers of a healthy Ellipse.

use std::collections::BTreeMap;

use std::sync::Arc;

use super::SbgUnit;
use crate::config::profile::read::PROFILES;
use crate::config::toml::reader::{Limit, TableReader};
use crate::imu::answers::{self, bytes, stored, word};
use crate::imu::{Dialect, Protocol, Unit};
use crate::wire::sbg_ecom::command;

/// Answers of an Ellipse.
#[derive(Clone, Debug, PartialEq)]
pub struct SbgAnswers {
    /// General status.
    pub general: u16,
    /// Ports' status.
    pub com: u32,
    /// Status of aiding.
    pub aiding: u32,
    /// Load of the processor, percent.
    pub cpu_percent: u8,
    /// State of an IMU log when no range has ended.
    pub imu: u16,
    /// State of a magnetometer log.
    pub mag: u16,
    /// State of a UTC log.
    pub utc: u16,
    /// State of the filter's logs.
    pub solution: u32,
    /// Rate of the internal receiver, Hz; a divisor of the sample rate.
    pub gnss_rate_hz: u32,
    /// Number of satellites that the internal receiver uses.
    pub gnss_satellites: u8,
    /// Settings' data by command id.
    pub stored: BTreeMap<u8, Vec<u8>>,
}

impl Dialect for SbgAnswers {
    fn start(&self, unit: &Unit) -> Box<dyn Protocol> {
        Box::new(SbgUnit::new(unit, self.clone()))
    }
}

/// An Ellipse's settings: key, command id, bytes.
pub const SBG_SETTINGS: [(&str, u8, usize); 17] = [
    ("init_parameters", command::INIT_PARAMETERS, 28),
    ("motion_profile", command::MOTION_PROFILE_ID, 4),
    ("imu_alignment", command::IMU_ALIGNMENT_LEVER_ARM, 26),
    ("aiding_assignment", command::AIDING_ASSIGNMENT, 16),
    ("magnetometer_model", command::MAGNETOMETER_MODEL_ID, 4),
    ("magnetometer_reject", command::MAGNETOMETER_REJECT_MODE, 1),
    ("gnss_1_model", command::GNSS_1_MODEL_ID, 4),
    ("gnss_1_alignment", command::GNSS_1_LEVER_ARM_ALIGNMENT, 24),
    ("gnss_1_installation", command::GNSS_1_INSTALLATION, 26),
    ("gnss_1_reject", command::GNSS_1_REJECT_MODES, 4),
    ("odometer", command::ODO_CONF, 6),
    ("odometer_lever_arm", command::ODO_LEVER_ARM, 12),
    ("odometer_reject", command::ODO_REJECT_MODE, 1),
    ("sync_in", command::SYNC_IN_CONF, 5),
    ("sync_out", command::SYNC_OUT_CONF, 8),
    ("advanced", command::ADVANCED_CONF, 2),
    ("validity_thresholds", command::VALIDITY_THRESHOLDS, 16),
];

/// Reads `[answers]`.
pub(super) fn read(root: &mut TableReader<'_>) -> Option<Arc<dyn Dialect>> {
    Some(Arc::new(answers::read(root, sbg)?))
}

fn sbg(table: &mut TableReader<'_>) -> Option<SbgAnswers> {
    let (general, com, aiding) =
        (word(table, "general"), word(table, "com"), word(table, "aiding"));
    let percent = Limit::new(0..=100, "%", PROFILES);
    let cpu_percent = table.required("cpu_percent").integer(&percent);
    let (imu, mag, utc) = (word(table, "imu"), word(table, "magnetometer"), word(table, "utc"));
    let solution = word(table, "solution");
    let rate = Limit::new(1..=200, "Hz", PROFILES);
    let gnss_rate_hz = table.required("gnss_rate_hz").integer(&rate);
    let gnss_satellites = word(table, "gnss_satellites");
    let stored = stored(table, &SBG_SETTINGS, bytes);
    Some(SbgAnswers {
        general: general?,
        com: com?,
        aiding: aiding?,
        cpu_percent: cpu_percent?,
        imu: imu?,
        mag: mag?,
        utc: utc?,
        solution: solution?,
        gnss_rate_hz: gnss_rate_hz?,
        gnss_satellites: gnss_satellites?,
        stored: stored?,
    })
}

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
