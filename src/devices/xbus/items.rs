//! Data items of MTData2.

use glam::{DMat3, DQuat, DVec3};

use crate::frames::{Geodetic, rpy_from_quat};
use crate::imu::Unit;
use crate::imu::gps_time::gps_time_of_week_ms;
use crate::imu::output::{Measured, positive};
use crate::sensors::imu::{Sample, earth};
use crate::time::{Epoch, SimTime};
use crate::wire::xbus::{Item, LocalFrame, Xdi};

/// Data items with their names in profiles.
pub const MESSAGES: [(&str, Xdi); 25] = [
    ("packet-counter", Xdi::PACKET_COUNTER),
    ("utc-time", Xdi::UTC_TIME),
    ("itow", Xdi::ITOW),
    ("sample-time-fine", Xdi::SAMPLE_TIME_FINE),
    ("sample-time-coarse", Xdi::SAMPLE_TIME_COARSE),
    ("temperature", Xdi::TEMPERATURE),
    ("quaternion", Xdi::QUATERNION),
    ("rotation-matrix", Xdi::ROTATION_MATRIX),
    ("euler", Xdi::EULER),
    ("pressure", Xdi::PRESSURE),
    ("delta-v", Xdi::DELTA_V),
    ("acceleration", Xdi::ACCELERATION),
    ("free-acceleration", Xdi::FREE_ACCELERATION),
    ("rate-of-turn", Xdi::RATE_OF_TURN),
    ("delta-q", Xdi::DELTA_Q),
    ("magnetic-field", Xdi::MAGNETIC_FIELD),
    ("status-byte", Xdi::STATUS_BYTE),
    ("status-word", Xdi::STATUS_WORD),
    ("acceleration-hr", Xdi::ACCELERATION_HR),
    ("rate-of-turn-hr", Xdi::RATE_OF_TURN_HR),
    ("raw-sensors", Xdi::RAW_SENSORS),
    ("raw-gyro-temperatures", Xdi::RAW_GYRO_TEMPERATURES),
    ("corrected-magnetic-field", Xdi::CORRECTED_MAGNETIC_FIELD),
    ("device-id", Xdi::DEVICE_ID),
    ("location-id", Xdi::LOCATION_ID),
];

/// Rate of the fine sample time, ticks per second.
const FINE_TICKS_HZ: u64 = 10_000;

/// A sample with the other values that data items report.
#[derive(Clone, Debug)]
pub struct Moment {
    /// Sample in the object frame, without the estimated gyro bias.
    pub sample: Sample,
    /// Rotation from the object frame to the host's local frame.
    pub attitude: DQuat,
    /// Rotation from east, north, up to the host's local frame.
    pub host_from_enu: DQuat,
    /// Time on the unit's clock, nanoseconds.
    pub clock_ns: u64,
    /// Message counter.
    pub counter: u16,
    /// UTC set by the host minus true UTC.
    pub utc_ahead_ns: i128,
    /// Position set by the host; `None` if no position is set.
    pub told_place: Option<Geodetic>,
    /// No-rotation update: 3 while the gyro bias is estimated, 2 if the unit rotated during it, otherwise 0.
    pub no_rotation: u32,
    /// Whether a representative motion is recorded.
    pub is_motion_recorded: bool,
    /// Latest uncalibrated readings, sensor frame.
    pub raw: Sample,
    /// Device id, and location id set by the host.
    pub ids: (u32, u16),
}

/// Epoch of a clock with an offset set by the host.
fn epoch_ahead(unit: &Unit, ahead_ns: i128) -> Epoch {
    let start = unit.epoch.unix_ns(SimTime::ZERO) + ahead_ns;
    jiff::Timestamp::from_nanosecond(start).map_or(unit.epoch, Epoch::new)
}

/// UTC in 12 bytes: ns, year, month, day, hour, minute, second, flags (all valid).
pub fn utc(unit: &Unit, at: SimTime, ahead_ns: i128) -> Vec<u8> {
    let epoch = epoch_ahead(unit, ahead_ns);
    let now = epoch.civil(at);
    let mut data = (now.subsec_nanosecond() as u32).to_be_bytes().to_vec();
    data.extend((now.year() as u16).to_be_bytes());
    data.extend([now.month(), now.day(), now.hour(), now.minute(), now.second()].map(|x| x as u8));
    data.push(0x07);
    data
}

/// Rotation from east-north-up to a local frame.
fn local_from_enu(frame: LocalFrame) -> DQuat {
    const H: f64 = std::f64::consts::FRAC_1_SQRT_2;
    match frame {
        LocalFrame::Enu => DQuat::IDENTITY,
        LocalFrame::Ned => DQuat::from_xyzw(H, H, 0.0, 0.0),
        LocalFrame::Nwu => DQuat::from_xyzw(0.0, 0.0, -H, H),
    }
}

/// Makes the data item `xdi` of a sample.
pub fn item(xdi: Xdi, now: &Moment, m: &Measured, unit: &Unit) -> Item {
    let sample = &now.sample;
    let raw = |data: Vec<u8>| Item { xdi, data };
    let reals = |values: &[f64]| Item::of_reals(xdi, values);
    let to_local = local_from_enu(xdi.frame().unwrap_or(LocalFrame::Enu));
    let q = positive(to_local * now.attitude);
    match xdi.what() {
        Xdi::TEMPERATURE => reals(&[sample.temperature_c]),
        Xdi::UTC_TIME => raw(utc(unit, sample.truth.at, now.utc_ahead_ns)),
        Xdi::PACKET_COUNTER => raw(now.counter.to_be_bytes().to_vec()),
        Xdi::ITOW => {
            let ms = (unit.epoch.unix_ns(sample.truth.at) + now.utc_ahead_ns).div_euclid(1_000_000);
            raw((gps_time_of_week_ms(ms)).to_be_bytes().to_vec())
        }
        Xdi::SAMPLE_TIME_FINE => {
            let ticks = u128::from(now.clock_ns) * u128::from(FINE_TICKS_HZ) / 1_000_000_000;
            raw((ticks as u32).to_be_bytes().to_vec())
        }
        Xdi::SAMPLE_TIME_COARSE => {
            raw(((now.clock_ns / 1_000_000_000) as u32).to_be_bytes().to_vec())
        }
        Xdi::QUATERNION => reals(&[q.w, q.x, q.y, q.z]),
        Xdi::ROTATION_MATRIX => reals(&DMat3::from_quat(q).to_cols_array()),
        Xdi::EULER => {
            let (roll, pitch, yaw) = rpy_from_quat(q);
            reals(&[roll.to_degrees(), pitch.to_degrees(), yaw.to_degrees()])
        }
        Xdi::PRESSURE => raw((sample.pressure_pa.round() as u32).to_be_bytes().to_vec()),
        Xdi::DELTA_V => reals(&m.delta_velocity.to_array()),
        Xdi::ACCELERATION => reals(&m.accel.to_array()),
        Xdi::ACCELERATION_HR => reals(&sample.accel.value.to_array()),
        Xdi::FREE_ACCELERATION => {
            let place = now.told_place.unwrap_or(sample.truth.place);
            let gravity = DVec3::Z * earth::normal_gravity_m_s2(&place);
            let free = now.attitude * m.accel - now.host_from_enu * gravity;
            reals(&(to_local * free).to_array())
        }
        Xdi::RATE_OF_TURN => reals(&m.gyro.to_array()),
        Xdi::RATE_OF_TURN_HR => reals(&sample.gyro.value.to_array()),
        Xdi::RAW_SENSORS => raw(raw_sensors(&now.raw, unit)),
        Xdi::RAW_GYRO_TEMPERATURES => raw([degrees_256(now.raw.temperature_c); 3].concat()),
        Xdi::DEVICE_ID => raw(now.ids.0.to_be_bytes().to_vec()),
        Xdi::LOCATION_ID => raw(now.ids.1.to_be_bytes().to_vec()),
        Xdi::DELTA_Q => {
            let angle = m.delta_angle.length();
            let axis = if angle > 0.0 { m.delta_angle / angle } else { DVec3::X };
            let q = crate::frames::quat_about(axis, angle);
            reals(&[q.w, q.x, q.y, q.z])
        }
        // Both items have the same value: the emulated in-run calibration corrects nothing.
        Xdi::MAGNETIC_FIELD | Xdi::CORRECTED_MAGNETIC_FIELD => {
            reals(&(m.mag / unit.profile.output.magnetic_unit_gauss).to_array())
        }
        Xdi::STATUS_BYTE => raw(vec![status(m, now) as u8]),
        _ => raw(status(m, now).to_be_bytes().to_vec()),
    }
}

/// Temperature in units of 1/256 degree C, big-endian.
fn degrees_256(temperature_c: f64) -> [u8; 2] {
    ((temperature_c * 256.0).round() as i16).to_be_bytes()
}

/// ADC counts of 16 bits for acceleration, angular rate and magnetic field relative to their ranges, with zero at mid-scale;
/// then the temperature.
fn raw_sensors(sample: &Sample, unit: &Unit) -> Vec<u8> {
    let model = &unit.profile.defaults.model;
    let readings = [
        (sample.accel.value, model.accel.range),
        (sample.gyro.value, model.gyro.range),
        (sample.mag.value, model.mag.range),
    ];
    let counts = readings.into_iter().flat_map(|(value, range)| {
        let count = move |x: f64| (32_768.0 * (1.0 + x / range)).round() as u16;
        value.to_array().map(count)
    });
    let mut data: Vec<u8> = counts.flat_map(u16::to_be_bytes).collect();
    data.extend(degrees_256(sample.temperature_c));
    data
}

/// Status word: self-test passed, filter valid, bits 3 and 4 no-rotation update, bit 5 representative motion, bits 8 to
/// 16 clipping of accelerometer, gyro and magnetometer x, y, z, bit 19 any clipping.
fn status(m: &Measured, now: &Moment) -> u32 {
    let axes = [m.clipped.accel, m.clipped.gyro, m.clipped.mag];
    let bits = axes.iter().flatten().enumerate();
    let clipped = bits.fold(0u32, |word, (bit, on)| word | u32::from(*on) << (8 + bit));
    let any = u32::from(clipped != 0) << 19;
    0x3 | now.no_rotation << 3 | u32::from(now.is_motion_recorded) << 5 | clipped | any
}
