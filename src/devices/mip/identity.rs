//! Identity of the unit, and ranges of its sensors.

use crate::imu::Unit;
use crate::sensors::imu::earth;
use crate::wire::mip::reply;

/// Range of the sensor with the number `sensor`: 1 accelerometer (g), 2 gyro (degrees/s), 3 magnetometer (gauss).
///
/// # Errors
/// Returns a code of [`reply`] for a sensor that the unit lacks.
pub fn range(sensor: u8, unit: &Unit) -> Result<f64, u8> {
    let model = &unit.profile.defaults.model;
    match sensor {
        1 => Ok(model.accel.range / earth::STANDARD_GRAVITY_M_S2),
        2 => Ok(model.gyro.range.to_degrees()),
        3 => Ok(model.mag.range),
        _ => Err(reply::BAD_PARAMETER),
    }
}

/// Firmware version and five texts of 16 characters, right-justified: 82 bytes.
pub fn device_info(unit: &Unit) -> Vec<u8> {
    let identity = &unit.profile.identity;
    let mut numbers = identity.firmware.split('.').map(|n| n.parse::<u16>().unwrap_or(0));
    let mut next = || numbers.next().unwrap_or(0);
    // Profile version 1.1.26 is sent as 1126.
    let version = next().wrapping_mul(1000).wrapping_add(next().wrapping_mul(100));
    let version = version.wrapping_add(next());
    let (name, number) = identity.model.split_once('/').unwrap_or((&identity.model, ""));
    let mut data = version.to_be_bytes().to_vec();
    for text in [name, number, &identity.serial, "", &identity.hardware] {
        data.extend(format!("{text:>16.16}").into_bytes());
    }
    data
}
