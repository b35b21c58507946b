//! Description of an IMU for `menura profiles NAME`, in addition to its settings.

use super::profile::ImuProfile;
use crate::describe::{Rows, Section};

pub(super) fn sections(driver: &ImuProfile) -> Vec<Section> {
    vec![("device", device(driver))]
}

fn device(driver: &ImuProfile) -> Rows {
    let identity = &driver.identity;
    vec![
        ("model", format!("{}, serial number {}", identity.model, identity.serial)),
        ("firmware", format!("{}, hardware {}", identity.firmware, identity.hardware)),
        ("line", driver.line.serial.words()),
        (
            "samples",
            format!(
                "{} Hz internally, {} between outputs",
                driver.output.sample_rate_hz,
                driver.output.decimation.word()
            ),
        ),
        ("messages", driver.defaults.messages.join(", ")),
    ]
}
