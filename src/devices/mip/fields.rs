//! Data fields of a sample.

use glam::{DMat3, DQuat, DVec3};
use libm::atan2;

use super::answers::MipAnswers;
use super::estimator::Solution;
use super::gps_time::GpsTime;
use super::state::LowPass;
use crate::imu::Unit;
use crate::imu::output::{Measured, f32s, ned_from_frd, roll_pitch_yaw, wxyz};
use crate::sensors::imu::environment::pressure_altitude_m;
use crate::sensors::imu::{Sample, earth};
use crate::wire::mip::{Field, set};

/// Data fields of [`set::SENSOR_DATA`] and [`set::FILTER_DATA`]: name in profiles, descriptor set, descriptor.
pub const DATA: [(&str, u8, u8); 29] = [
    ("accel", set::SENSOR_DATA, 0x04),
    ("gyro", set::SENSOR_DATA, 0x05),
    ("mag", set::SENSOR_DATA, 0x06),
    ("delta-angle", set::SENSOR_DATA, 0x07),
    ("delta-velocity", set::SENSOR_DATA, 0x08),
    ("quaternion", set::SENSOR_DATA, 0x0a),
    ("euler", set::SENSOR_DATA, 0x0c),
    ("ticks", set::SENSOR_DATA, 0x0e),
    ("gps-time", set::SENSOR_DATA, 0x12),
    ("pressure", set::SENSOR_DATA, 0x17),
    ("matrix", set::SENSOR_DATA, 0x09),
    ("stabilised-north", set::SENSOR_DATA, 0x10),
    ("stabilised-up", set::SENSOR_DATA, 0x11),
    ("filter-quaternion", set::FILTER_DATA, 0x03),
    ("filter-matrix", set::FILTER_DATA, 0x04),
    ("filter-euler", set::FILTER_DATA, 0x05),
    ("filter-linear-acceleration", set::FILTER_DATA, 0x0d),
    ("filter-angular-rate", set::FILTER_DATA, 0x0e),
    ("filter-status", set::FILTER_DATA, 0x10),
    ("filter-time", set::FILTER_DATA, 0x11),
    ("filter-gravity", set::FILTER_DATA, 0x13),
    ("filter-heading-update", set::FILTER_DATA, 0x14),
    ("filter-acceleration", set::FILTER_DATA, 0x1c),
    ("filter-gyro-bias", set::FILTER_DATA, 0x06),
    ("filter-euler-uncertainty", set::FILTER_DATA, 0x0a),
    ("filter-gyro-bias-uncertainty", set::FILTER_DATA, 0x0b),
    ("filter-gravity-magnitude", set::FILTER_DATA, 0x0f),
    ("filter-magnetic-model", set::FILTER_DATA, 0x15),
    ("filter-pressure-altitude", set::FILTER_DATA, 0x21),
];

/// A sample with derived values.
#[derive(Clone, Debug)]
pub struct Moment {
    /// Sample in the vehicle frame, with the user's compensation.
    pub sample: Sample,
    /// Attitude of the complementary filter of set 0x80: rotation from the sensor frame to World.
    pub complementary: DQuat,
    /// Solution of the estimation filter.
    pub solution: Solution,
    /// Attitude of the estimation filter: rotation from the vehicle frame to World.
    pub attitude: DQuat,
    /// Low-pass filtered values, in the order of [`super::low_pass::QUANTITIES`].
    pub passed: [DVec3; 4],
    /// Low-pass settings of each quantity.
    pub low_pass: [LowPass; 4],
    /// Whether delta angles and velocities have coning and sculling corrections.
    pub is_coning_on: bool,
    /// GPS time of the unit.
    pub gps_time: GpsTime,
}

/// Encodes the data field with this descriptor set and descriptor, from the sample in `moment` and the values `m` of
/// the field's stream. `None` if the unit lacks the field.
pub fn field(
    (descriptor_set, descriptor): (u8, u8),
    moment: &Moment,
    m: &Measured,
    unit: &Unit,
    answers: &MipAnswers,
) -> Option<Field> {
    DATA.iter().find(|(_, s, d)| (*s, *d) == (descriptor_set, descriptor))?;
    let sample = &moment.sample;
    let complementary = ned_from_frd(moment.complementary);
    let attitude = ned_from_frd(moment.attitude);
    let gravity = earth::normal_gravity_m_s2(&sample.truth.place);
    let down = attitude.conjugate() * DVec3::Z * gravity;
    let g = |v: DVec3| f32s(v / earth::STANDARD_GRAVITY_M_S2);
    let scaled = |place: usize, mean: DVec3| {
        if moment.low_pass[place].is_automatic() { mean } else { moment.passed[place] }
    };
    let [coning, sculling] = if moment.is_coning_on { [DVec3::ZERO; 2] } else { m.corrections };
    let of = |values: &[f32]| Field::of_f32s(descriptor, values);
    let raw = |data: Vec<u8>| Field::new(descriptor, data);
    // Without a solution, fields of the filter have zeros and are flagged invalid.
    let valid = |values: &[f32]| {
        let is_valid = moment.solution.is_valid;
        let mut made =
            of(&values.iter().map(|x| if is_valid { *x } else { 0.0 }).collect::<Vec<_>>());
        made.data.extend([0, is_valid.into()]);
        made
    };
    Some(match (descriptor_set, descriptor) {
        (set::SENSOR_DATA, 0x04) => of(&g(scaled(0, m.accel))),
        (set::SENSOR_DATA, 0x05) => of(&f32s(scaled(1, m.gyro))),
        (set::SENSOR_DATA, 0x06) => of(&f32s(scaled(2, m.mag))),
        (set::SENSOR_DATA, 0x07) => of(&f32s(m.delta_angle - coning)),
        (set::SENSOR_DATA, 0x08) => of(&g(m.delta_velocity - sculling)),
        (set::SENSOR_DATA, 0x09) => {
            // Rotation from north-east-down to the sensor frame, row by row.
            of(&DMat3::from_quat(complementary).to_cols_array().map(|x| x as f32))
        }
        // Magnetic field (0x10) and specific force of a unit at rest (0x11), at the attitude of the complementary
        // filter.
        (set::SENSOR_DATA, 0x10) => {
            of(&f32s(complementary.conjugate() * model_gauss(sample, unit)))
        }
        (set::SENSOR_DATA, 0x11) => {
            let down = complementary.conjugate() * DVec3::Z * gravity;
            of(&g(-down))
        }
        (set::SENSOR_DATA, 0x0a) => of(&wxyz(complementary)),
        (set::SENSOR_DATA, 0x0c) => of(&f32s(roll_pitch_yaw(complementary))),
        (set::SENSOR_DATA, 0x0e) => {
            let ticks = unit.clock_ns(sample) / 1000;
            raw((ticks as u32).to_be_bytes().to_vec())
        }
        (set::SENSOR_DATA, 0x12) => raw(gps_time(moment, moment.gps_time.flags())),
        (set::FILTER_DATA, 0x11) => raw(gps_time(moment, moment.gps_time.is_valid().into())),
        (set::SENSOR_DATA, _) => of(&[(moment.passed[3].x / 100.0) as f32]),
        (_, 0x03) => valid(&wxyz(attitude)),
        (_, 0x04) => {
            // Rotation from north-east-down to the vehicle frame, row by row.
            let columns = DMat3::from_quat(attitude).to_cols_array();
            valid(&columns.map(|x| x as f32))
        }
        (_, 0x05) => valid(&f32s(roll_pitch_yaw(attitude))),
        // Menura computes no estimation filter, so its estimated gyro bias and the uncertainty of this bias are 0.
        (_, 0x06 | 0x0b) => valid(&[0.0; 3]),
        (_, 0x0a) => {
            let errors = &unit.settings.model.attitude;
            let level = errors.roll_pitch_std_rad as f32;
            valid(&[level, level, errors.heading_std_rad as f32])
        }
        (_, 0x0f) => valid(&[gravity as f32]),
        (_, 0x15) => {
            let field = model_gauss(sample, unit);
            let inclination = atan2(field.z, field.truncate().length());
            let angles = [inclination, atan2(field.y, field.x)].map(|x| x as f32);
            valid(&[&f32s(field)[..], &angles].concat())
        }
        (_, 0x21) => valid(&[pressure_altitude_m(sample.pressure_pa) as f32]),
        (_, 0x0d) => valid(&f32s(m.accel + down)),
        (_, 0x0e) => valid(&f32s(m.gyro)),
        (_, 0x10) => {
            let (mode, flags) = (answers.filter_mode, answers.filter_flags);
            raw([moment.solution.state, mode, flags].map(u16::to_be_bytes).concat())
        }
        (_, 0x13) => valid(&f32s(down)),
        (_, 0x14) => {
            let std_rad = unit.settings.model.attitude.heading_std_rad;
            let heading = roll_pitch_yaw(attitude).z;
            let source = moment.solution.heading_source;
            let has_update = source != 0 && moment.solution.is_valid;
            let mut made = of(&[heading, std_rad].map(|x| if has_update { x as f32 } else { 0.0 }));
            made.data.extend(source.to_be_bytes());
            made.data.extend([0, has_update.into()]);
            made
        }
        _ => valid(&f32s(m.accel)),
    })
}

/// World Magnetic Model at the unit's position: north, east, down, gauss.
fn model_gauss(sample: &Sample, unit: &Unit) -> DVec3 {
    let date = unit.epoch.civil(sample.truth.at).date();
    earth::world_magnetic_field_gauss(&sample.truth.place, date)
}

/// Data of a GPS time field: second of the week, week, flags.
fn gps_time(moment: &Moment, flags: u16) -> Vec<u8> {
    let (week, second) = moment.gps_time.week_and_second(moment.sample.truth.at);
    let mut data = second.to_be_bytes().to_vec();
    data.extend([week, flags].map(u16::to_be_bytes).concat());
    data
}
