//! Description of a drive base for `menura profiles NAME`, in addition to its settings.

use super::profile::BaseProfile;
use crate::describe::{Rows, Section};

pub(super) fn sections(driver: &BaseProfile) -> Vec<Section> {
    vec![("device", device(driver))]
}

fn device(driver: &BaseProfile) -> Rows {
    let identity = &driver.identity;
    vec![
        ("model", format!("{}, serial number {}", identity.model, identity.serial)),
        ("firmware", identity.firmware.clone()),
        ("line", driver.line.words()),
    ]
}
