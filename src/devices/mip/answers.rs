//! Answers of a healthy 3DM.

use std::collections::BTreeMap;

use std::sync::Arc;

use super::MipUnit;
use crate::config::profile::read::PROFILES;
use crate::config::toml::reader::{Limit, TableReader};
use crate::imu::answers::{self, numbers, stored, word};
use crate::imu::{Dialect, Protocol, Unit};

/// Answers of a 3DM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MipAnswers {
    /// Result of the built-in test; 0: no failure.
    pub built_in_test: u32,
    /// State, dynamics mode and flags of the filter's status field.
    pub filter_status: [u16; 3],
    /// Base rate of the filter's data, Hz; a divisor of the sample rate.
    pub filter_base_rate_hz: u32,
    /// Time from a reset of the filter until it has a solution, ns.
    pub filter_init_ns: u64,
    /// Numbers of the filter's tuning by the command's descriptor.
    pub tuning: BTreeMap<u8, String>,
}

impl Dialect for MipAnswers {
    fn start(&self, unit: &Unit) -> Box<dyn Protocol> {
        Box::new(MipUnit::new(unit, self.clone()))
    }
}

/// The tuning of a 3DM's filter: key, descriptor of the command in set 0x0D, how many numbers.
pub const MIP_TUNING: [(&str, u8, usize); 16] = [
    ("vehicle_dynamics_mode", 0x10, 1),
    ("estimation_control", 0x14, 1),
    ("accelerometer_noise", 0x1a, 3),
    ("gyro_noise", 0x1b, 3),
    ("accelerometer_bias_model", 0x1c, 6),
    ("gyro_bias_model", 0x1d, 6),
    ("zero_angular_rate", 0x20, 2),
    ("magnetometer_auto_calibration", 0x25, 1),
    ("gravity_noise", 0x28, 3),
    ("hard_iron_noise", 0x2b, 3),
    ("soft_iron_noise", 0x2c, 9),
    ("measurements_enabled", 0x41, 1),
    ("magnetometer_noise", 0x42, 3),
    ("gravity_adaptive", 0x44, 7),
    ("magnetometer_adaptive", 0x45, 7),
    ("dip_angle_adaptive", 0x46, 5),
];

/// Reads `[answers]`.
pub(super) fn read(root: &mut TableReader<'_>) -> Option<Arc<dyn Dialect>> {
    Some(Arc::new(answers::read(root, mip)?))
}

fn mip(table: &mut TableReader<'_>) -> Option<MipAnswers> {
    let built_in_test = word(table, "built_in_test");
    let status = ["filter_state", "filter_mode", "filter_flags"].map(|key| word(table, key));
    let [state, mode, flags] = status;
    let rate = Limit::new(1..=10_000, "Hz", PROFILES);
    let filter_base_rate_hz = table.required("filter_base_rate_hz").integer(&rate);
    let ms = Limit::new(0.0..=60_000.0, "ms", PROFILES);
    let init_ms = table.required("filter_init_ms").number(&ms);
    let tuning = stored(table, &MIP_TUNING, numbers);
    Some(MipAnswers {
        built_in_test: built_in_test?,
        filter_status: [state?, mode?, flags?],
        filter_base_rate_hz: filter_base_rate_hz?,
        filter_init_ns: (init_ms? * 1e6).round() as u64,
        tuning: tuning?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::imu::tests::dialect;

    #[test]
    fn the_profile_has_them() {
        let mip = dialect::<MipAnswers>("microstrain-3dmgx5");
        assert_eq!((mip.built_in_test, mip.filter_status), (0, [2, 2, 0]));
        assert_eq!((mip.filter_base_rate_hz, mip.tuning.len()), (500, 16));
    }
}
