//! What `menura profiles` shows of a camera.

use super::profile::CameraProfile;
use crate::describe::{Rows, Section, network_rows, shortest};
use crate::wire::gige::PORT;

/// The sections between name and sources.
pub(super) fn sections(driver: &CameraProfile) -> Vec<Section> {
    vec![
        ("device", device_rows(driver)),
        ("network, as recorded", network_rows(&driver.network)),
        ("settings of a rig, with their defaults", settings_rows(driver)),
    ]
}

fn device_rows(driver: &CameraProfile) -> Rows {
    let ([width, height], chip, timing) = (driver.size, &driver.chip, &driver.timing);
    let [vendor, model, version, _] = &driver.identity.texts;
    let formats: Vec<_> = driver.formats().iter().map(|format| format.word()).collect();
    vec![
        ("driver", "gige-camera".to_string()),
        ("model", format!("{vendor} {model}, version {version}")),
        ("pixels", format!("{width} x {height} of {} um", shortest(chip.pixel_um))),
        ("shutter", if timing.is_rolling { "rolling" } else { "global" }.to_string()),
        ("row", format!("{} us", shortest(timing.line_ns as f64 / 1e3))),
        ("full well", format!("{} electrons", shortest(chip.full_well_e))),
        ("readout noise", format!("{} electrons", shortest(chip.read_noise_e))),
        ("pixel formats", formats.join(", ")),
        ("commands", format!("UDP port {PORT}")),
    ]
}

fn settings_rows(driver: &CameraProfile) -> Rows {
    let d = &driver.defaults;
    let distortion: Vec<_> = d.distortion.iter().map(|part| shortest(*part)).collect();
    vec![
        ("serial", d.serial.clone()),
        ("user_name", d.user_name.clone()),
        ("streams_alone", d.streams_alone.to_string()),
        ("stamped", d.stamped.word().to_string()),
        ("pixel_format", d.pixel_format.word().to_string()),
        ("image_width", d.image_size[0].to_string()),
        ("image_height", d.image_size[1].to_string()),
        ("frame_rate_hz", shortest(d.frame_rate_hz)),
        ("exposure_us", shortest(d.exposure_us)),
        ("gain_db", shortest(d.gain_db)),
        ("packet_bytes", d.packet_bytes.to_string()),
        ("hfov_deg", shortest(d.hfov_rad.to_degrees())),
        ("lens_model", d.lens.word().to_string()),
        ("distortion", format!("[{}]", distortion.join(", "))),
        ("f_number", shortest(d.f_number)),
        ("lens_transmission", shortest(d.transmission)),
        ("vignetting", format!("[{}, {}]", shortest(d.vignetting[0]), shortest(d.vignetting[1]))),
        ("sun_deg", "by date, time and place".to_string()),
        ("turbidity", shortest(d.turbidity)),
    ]
}
