//! Description of a camera for `menura profiles`.

use super::profile::{CameraProfile, Identity};
use crate::describe::{Rows, Section, network_rows, shortest};
use crate::wire::gige::PORT;

/// Sections of `menura profiles NAME` between name and sources.
pub(super) fn sections(driver: &CameraProfile) -> Vec<Section> {
    vec![("device", device_rows(driver)), ("network, as recorded", network_rows(&driver.network))]
}

fn device_rows(driver: &CameraProfile) -> Rows {
    let ([width, height], chip, timing) = (driver.size(), &driver.sensor.chip, &driver.timing);
    let Identity { vendor, model_name, device_version, .. } = &driver.identity;
    let formats: Vec<_> = driver.formats().iter().map(|format| format.word()).collect();
    vec![
        ("model", format!("{vendor} {model_name}, version {device_version}")),
        ("pixels", format!("{width} x {height} of {} um", shortest(chip.pixel_um))),
        ("shutter", if timing.is_rolling { "rolling" } else { "global" }.to_string()),
        ("row", format!("{} us", shortest(timing.line_ns as f64 / 1e3))),
        ("full well", format!("{} electrons", shortest(chip.full_well_e))),
        ("readout noise", format!("{} electrons", shortest(chip.read_noise_e))),
        ("pixel formats", formats.join(", ")),
        ("commands", format!("UDP port {PORT}")),
    ]
}
