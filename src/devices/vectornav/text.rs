//! Lines of text output.

use glam::DVec3;

use super::names::MESSAGES;
use super::registers::Appended;
use super::view::View;
use crate::wire::vectornav::Format;

/// A line of text output without `$` and checksum; `None` for type 0.
pub fn text(code: u8, view: &View) -> Option<String> {
    let (name, _) = MESSAGES.iter().find(|(_, c)| *c == code && code != 0)?;
    let mut body = format!("VN{}", name.to_ascii_uppercase());
    let m = &view.measured;
    let q = view.attitude;
    let ypr = |body: &mut String| Format::Angle.put(body, &view.ypr_deg.to_array());
    let quaternion = |body: &mut String| Format::Quaternion.put(body, &[q.x, q.y, q.z, q.w]);
    let mag = |body: &mut String| Format::Magnetic.put(body, &m.mag.to_array());
    let put_accel =
        |body: &mut String, accel: DVec3| Format::Acceleration.put(body, &accel.to_array());
    let rate = |body: &mut String| Format::AngularRate.put(body, &m.gyro.to_array());
    match code {
        1 => ypr(&mut body),
        2 => quaternion(&mut body),
        10 => mag(&mut body),
        11 => put_accel(&mut body, m.accel),
        12 => rate(&mut body),
        8 | 13 | 14 => {
            match code {
                8 => quaternion(&mut body),
                14 => ypr(&mut body),
                _ => {}
            }
            mag(&mut body);
            put_accel(&mut body, m.accel);
            rate(&mut body);
        }
        16 => {
            ypr(&mut body);
            put_accel(&mut body, view.true_acceleration());
            rate(&mut body);
        }
        17 => {
            ypr(&mut body);
            put_accel(&mut body, q * view.true_acceleration());
            rate(&mut body);
        }
        30 => {
            let delta = &view.delta;
            Format::Seconds.put(&mut body, &[delta.interval_s]);
            Format::Angle.put(&mut body, &(delta.angle_rad * 1f64.to_degrees()).to_array());
            Format::Angle.put(&mut body, &delta.velocity_m_s.to_array());
        }
        _ => {
            let u = &view.uncompensated;
            Format::Magnetic.put(&mut body, &u.mag.to_array());
            put_accel(&mut body, u.accel);
            Format::AngularRate.put(&mut body, &u.gyro.to_array());
            Format::Temperature.put(&mut body, &[view.temperature_c]);
            Format::Pressure.put(&mut body, &[view.pressure_kpa]);
        }
    }
    Some(body)
}

/// Number formats in a text line of type `code`, each with the count of numbers in that format; empty for type 0.
fn formats(code: u8) -> &'static [(Format, usize)] {
    use Format::*;
    match code {
        1 => &[(Angle, 3)],
        2 => &[(Quaternion, 4)],
        8 => &[(Quaternion, 4), (Magnetic, 3), (Acceleration, 3), (AngularRate, 3)],
        10 => &[(Magnetic, 3)],
        11 => &[(Acceleration, 3)],
        12 => &[(AngularRate, 3)],
        13 => &[(Magnetic, 3), (Acceleration, 3), (AngularRate, 3)],
        14 => &[(Angle, 3), (Magnetic, 3), (Acceleration, 3), (AngularRate, 3)],
        16 | 17 => &[(Angle, 3), (Acceleration, 3), (AngularRate, 3)],
        19 => {
            &[(Magnetic, 3), (Acceleration, 3), (AngularRate, 3), (Temperature, 1), (Pressure, 1)]
        }
        30 => &[(Seconds, 1), (Angle, 6)],
        _ => &[],
    }
}

/// Length of a line of type `code` whose numbers all have the minimum width, bytes; 0 for type 0.
pub fn line_len(code: u8, appended: Appended, has_long_checksum: bool) -> usize {
    let formats = formats(code);
    if formats.is_empty() {
        return 0;
    }
    let numbers: usize = formats.iter().map(|(format, count)| (1 + format.width()) * count).sum();
    let status = if appended.status > 0 { ",S0000".len() } else { 0 };
    let counter = match appended.counter {
        0 => 0,
        3 => ",T4294967295".len(),
        _ => ",T0".len(),
    };
    let around = if has_long_checksum { "$VNYPR*XXXX\r\n" } else { "$VNYPR*XX\r\n" };
    around.len() + numbers + status + counter
}

/// Fields that register 30 appends to each line: status, then counter.
pub fn suffix(appended: Appended, view: &View) -> String {
    let mut text = String::new();
    match appended.status {
        1 => text.push_str(&format!(",S{:04X}", view.vpe_status)),
        // The unit does not navigate.
        2 => text.push_str(",S0000"),
        _ => {}
    }
    match appended.counter {
        // The unit gets no sync input pulse and no PPS.
        1 | 2 | 4 => text.push_str(",T0"),
        3 => text.push_str(&format!(",T{}", view.sync_out_count)),
        _ => {}
    }
    text
}
