//! Logs of the internal GNSS receiver: position, velocity and heading from the unit's navigation data, with the
//! reported accuracy. The sky is always clear; the profile sets the number of satellites.

use super::answers::SbgAnswers;
use super::settings::Settings;
use crate::frames::GeoOrigin;
use crate::imu::Unit;
use crate::imu::gps_time::gps_time_of_week_ms;
use crate::imu::output::{f32s, frd, ned, ned_from_frd, roll_pitch_yaw};
use crate::sensors::imu::Sample;
use crate::wire::sbg_ecom::{Gps1Hdt, Gps1Pos, Gps1Vel, Log};

/// Velocity status: solution computed, Doppler.
const DOPPLER: u32 = 2 << 6;
/// Position status: solution computed, single point, GPS L1.
const SINGLE_POINT: u32 = 2 << 6 | 1 << 12;
/// Value of the fields `base_station` and `correction_age` if there are no corrections.
const NONE: u16 = 0xffff;

fn time_of_week_ms(sample: &Sample, unit: &Unit) -> u32 {
    gps_time_of_week_ms(unit.epoch.unix_ns(sample.truth.at).div_euclid(1_000_000))
}

/// Log of the GNSS velocity. It contains the velocity of the unit, because the lever arm of the antenna is ignored.
pub fn velocity(timestamp_us: u32, sample: &Sample, unit: &Unit) -> Log {
    let std = unit.settings.model.navigation.velocity_std_m_s as f32;
    let velocity = ned(sample.truth.velocity_m_s + sample.velocity_error_m_s);
    let course = libm::atan2(velocity.y, velocity.x).to_degrees();
    let speed = velocity.truncate().length();
    // Without motion the course is undefined.
    let course_std = libm::atan2(f64::from(std), speed).to_degrees();
    Log::Gps1Vel(Gps1Vel {
        timestamp_us,
        status: DOPPLER,
        time_of_week_ms: time_of_week_ms(sample, unit),
        velocity_ned_m_s: f32s(velocity),
        velocity_std_m_s: [std; 3],
        course_deg: course.rem_euclid(360.0) as f32,
        course_std_deg: course_std as f32,
    })
}

/// Log of the GNSS position: the position of the antenna.
pub fn position(
    timestamp_us: u32,
    sample: &Sample,
    settings: &Settings,
    answers: &SbgAnswers,
    unit: &Unit,
) -> Log {
    let std = unit.settings.model.navigation.position_std_m as f32;
    // The lever arm is rotated by the true attitude, because the antenna does not follow the filter's errors.
    let arm = settings.vehicle_from_sensor().conjugate() * settings.antenna_lever_arm_m();
    let offset = sample.truth.world_from_sensor * frd(arm) + sample.position_error_m;
    let place = GeoOrigin::new(sample.truth.place).geodetic_from_world(offset);
    Log::Gps1Pos(Gps1Pos {
        timestamp_us,
        status: SINGLE_POINT,
        time_of_week_ms: time_of_week_ms(sample, unit),
        latitude_deg: place.latitude_deg,
        longitude_deg: place.longitude_deg,
        altitude_m: place.height_above_sea_level_m(),
        undulation_m: place.geoid_height_m() as f32,
        position_std_m: [std; 3],
        satellites: answers.gnss_satellites,
        base_station: NONE,
        correction_age: NONE,
    })
}

/// Log of the GNSS heading: heading of the baseline from the main to the second antenna.
pub fn heading(timestamp_us: u32, sample: &Sample, settings: &Settings, unit: &Unit) -> Log {
    let errors = &unit.settings.model.attitude;
    let rpy = roll_pitch_yaw(ned_from_frd(sample.attitude));
    let heading = rpy.z.to_degrees() + settings.antenna_yaw_deg();
    Log::Gps1Hdt(Gps1Hdt {
        timestamp_us,
        status: 0,
        time_of_week_ms: time_of_week_ms(sample, unit),
        heading_deg: heading.rem_euclid(360.0) as f32,
        heading_std_deg: errors.heading_std_rad.to_degrees() as f32,
        pitch_deg: rpy.y.to_degrees() as f32,
        pitch_std_deg: errors.roll_pitch_std_rad.to_degrees() as f32,
        baseline_m: None,
    })
}
