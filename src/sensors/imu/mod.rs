//! Inertial measurement: the true values at an IMU's mount point, and the IMU's errors.
//!
//! [`ImuSensor`] computes the true values at the mount point, on any thread. The error models have state, and the
//! device steps them sample after sample: [`ImuErrors`] for the measured quantities, `attitude::AttitudeError` for
//! the orientation that an IMU computes.
//!
//! # Specific force and rate at the mount point
//!
//! `r` is the position of the mount in the body. The body has the angular rate `ω` and the angular acceleration `α`
//! (Body); its origin has the acceleration `a` (World):
//!
//! ```text
//! f = R_sensor_world (a - g) + R_sensor_body (α x r + ω x (ω x r))
//! ```
//!
//! On a joint the mount moves relative to the body, with the velocity `r'`, the acceleration `r''` and the angular
//! rate `w` (`world::joints`). The Coriolis and relative terms are added, and the gyro reads `ω + w`:
//!
//! ```text
//! f = R_sensor_world (a - g) + R_sensor_body (α x r + ω x (ω x r) + 2 ω x r' + r'')
//! ```
//!
//! `g` is WGS84's normal gravity at the robot (`earth`). If the Earth's rotation `Ω` is enabled, the gyro reads `ω +
//! Ω` and `2 Ω x v` is added to `a`; `g` already includes the centrifugal part. Sensor axes are forward, left, up. A
//! level IMU at rest reads +g on its third axis.

pub mod attitude;
pub mod earth;
pub mod environment;
pub mod errors;
pub mod settings;

use std::sync::OnceLock;

use glam::{DQuat, DVec3};

use self::settings::{ImuModel, MagneticField};
use super::lidar::Scratch;
use super::noise::NoiseSource;
use super::{Measurement, MeasurementRequest, Outcome, Sensor, Surroundings};
use crate::frames::{GeoOrigin, Geodetic};
use crate::time::SimTime;
use crate::world::trajectory::Trajectory;
use earth::{earth_rate_in_world, gravity_in_world, world_magnetic_field_gauss};
use environment::{Barometer, Thermometer};
use errors::{Circumstances, Reading, Triad};

/// Half of the interval of the difference quotient for the angular acceleration. The angular rate is an analytic
/// function of time, except in a feed; over 0.1 ms the quotient has a relative error of 1e-8.
const HALF_STEP_NS: u64 = 100_000;

/// Largest interval between instants that are averaged for a sample, ns.
const WINDOW_STEP_NS: u64 = 1_000_000;
/// Smallest number of instants that are averaged for a sample.
const WINDOW_SAMPLES: u64 = 8;

/// The true values of all inertial quantities: an error-free sample of an IMU. Sensor axes: forward, left, up.
///
/// With an averaging window, force, rate and field are means over the window; all other values are those at the
/// sample's time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InertialTruth {
    /// Time of the sample.
    pub at: SimTime,
    /// Specific force at the mount point, in sensor axes, m/s².
    pub specific_force_m_s2: DVec3,
    /// Angular rate in sensor axes, rad/s; includes the Earth's rotation if that is enabled.
    pub angular_rate_rad_s: DVec3,
    /// Magnetic field in sensor axes, gauss.
    pub magnetic_field_gauss: DVec3,
    /// Rotation from sensor axes to east, north, up.
    pub world_from_sensor: DQuat,
    /// Velocity of the mount point, World, m/s.
    pub velocity_m_s: DVec3,
    /// Acceleration of the mount point without gravity, World, m/s².
    pub acceleration_m_s2: DVec3,
    /// Position of the mount point, World, metres.
    pub position_m: DVec3,
    /// Position of the mount point on Earth.
    pub place: Geodetic,
}

/// The physics of an IMU. Answers a [`super::Subject::Series`] with [`Outcome::Inertial`].
#[derive(Debug)]
pub struct ImuSensor {
    window_ns: u64,
    earth_rate: bool,
    field: MagneticField,
    date: jiff::civil::Date,
    /// Field of the World Magnetic Model at the rig's origin: north, east, down, gauss.
    world_model: OnceLock<DVec3>,
}

impl ImuSensor {
    /// An IMU with these settings; `date` selects the Earth's magnetic field.
    pub fn new(settings: &ImuModel, date: jiff::civil::Date) -> Self {
        let field = settings.magnetic_field;
        Self {
            window_ns: settings.window_ns,
            earth_rate: settings.earth_rate,
            field,
            date,
            world_model: OnceLock::new(),
        }
    }

    /// An IMU without magnetometer, on an Earth that does not rotate.
    pub fn of_motion_alone() -> Self {
        let field = MagneticField::Stated([0.0; 3]);
        let date = jiff::civil::Date::constant(2000, 1, 1);
        Self { window_ns: 0, earth_rate: false, field, date, world_model: OnceLock::new() }
    }

    /// The magnetic field in World, gauss.
    fn field_in_world(&self, origin: &GeoOrigin) -> DVec3 {
        let ned = match self.field {
            MagneticField::Stated(ned) => DVec3::from_array(ned),
            MagneticField::WorldModel => *self
                .world_model
                .get_or_init(|| world_magnetic_field_gauss(&origin.origin(), self.date)),
        };
        DVec3::new(ned.y, ned.x, -ned.z)
    }

    /// Error-free values at `at`. Specific force, rate and field are means over the averaging window that ends at
    /// `at`.
    ///
    /// The mean is over the middles of equal parts of the window, each a millisecond or less. Instants before the start
    /// of the run have the values of its start.
    fn collected(&self, at: SimTime, surroundings: &Surroundings<'_>) -> InertialTruth {
        let mut truth = self.truth(at, surroundings);
        if self.window_ns == 0 {
            return truth;
        }
        let parts = self.window_ns.div_ceil(WINDOW_STEP_NS).max(WINDOW_SAMPLES);
        let [mut force, mut rate, mut field] = [DVec3::ZERO; 3];
        for part in 0..parts {
            let back_ns = self.window_ns * (2 * part + 1) / (2 * parts);
            let then = self.truth(SimTime(at.0.saturating_sub(back_ns)), surroundings);
            force += then.specific_force_m_s2;
            rate += then.angular_rate_rad_s;
            field += then.magnetic_field_gauss;
        }
        truth.specific_force_m_s2 = force / parts as f64;
        truth.angular_rate_rad_s = rate / parts as f64;
        truth.magnetic_field_gauss = field / parts as f64;
        truth
    }

    /// The true values at `at`.
    pub fn truth(&self, at: SimTime, surroundings: &Surroundings<'_>) -> InertialTruth {
        let Surroundings { trajectory, origin, mut body_from_sensor, .. } = *surroundings;
        let state = trajectory.state(at);
        let body = state.world_from_body;
        let mut rate = state.angular_rate_rad_s;
        let (mut acceleration, mut velocity) = (state.acceleration_m_s2, state.velocity_m_s);
        let moved = surroundings.mount_motion(at);
        if let Some(moved) = &moved {
            body_from_sensor = moved.body_from_point;
        }
        let arm = body_from_sensor.translation;
        if arm != DVec3::ZERO {
            let change = angular_acceleration(trajectory, at);
            acceleration += body.direction(change.cross(arm) + rate.cross(rate.cross(arm)));
            velocity += body.direction(rate.cross(arm));
        }
        if let Some(moved) = &moved {
            let (slide, own) = (moved.velocity_m_s, moved.acceleration_m_s2);
            acceleration += body.direction(2.0 * rate.cross(slide) + own);
            velocity += body.direction(slide);
            rate += moved.angular_rate_rad_s;
        }
        let position_m = body.point(arm);
        let place = origin.geodetic_from_world(position_m);
        let world_from_sensor = body.rotation * body_from_sensor.rotation;
        let sensor_from_world = world_from_sensor.conjugate();
        let mut felt = acceleration - gravity_in_world(position_m, &place);
        let mut rate_in_sensor = body_from_sensor.rotation.conjugate() * rate;
        if self.earth_rate {
            let earth = earth_rate_in_world(place.latitude_deg);
            rate_in_sensor += sensor_from_world * earth;
            felt += 2.0 * earth.cross(velocity);
        }
        InertialTruth {
            at,
            specific_force_m_s2: sensor_from_world * felt,
            angular_rate_rad_s: rate_in_sensor,
            magnetic_field_gauss: sensor_from_world * self.field_in_world(origin),
            world_from_sensor,
            velocity_m_s: velocity,
            acceleration_m_s2: acceleration,
            position_m,
            place,
        }
    }
}

impl Sensor for ImuSensor {
    fn measure_all(
        &self,
        requests: Vec<MeasurementRequest>,
        surroundings: &Surroundings<'_>,
        _scratch: &mut Scratch,
    ) -> Vec<Measurement> {
        let measure = |request: MeasurementRequest| {
            let truths = request.instants().map(|at| self.collected(at, surroundings)).collect();
            Measurement::new(request, Outcome::Inertial(truths))
        };
        requests.into_iter().map(measure).collect()
    }
}

/// Angular acceleration of the body, Body axes, rad/s²: that of a feed; for other motions a central difference
/// quotient, or a forward one at the start of the run.
fn angular_acceleration(trajectory: &Trajectory, at: SimTime) -> DVec3 {
    if let Some(feed) = trajectory.feed() {
        return feed.angular_acceleration_rad_s2(at);
    }
    let from = at.0.saturating_sub(HALF_STEP_NS);
    let to = at.0 + HALF_STEP_NS;
    let rate = |ns| trajectory.state(SimTime(ns)).angular_rate_rad_s;
    (rate(to) - rate(from)) / ((to - from) as f64 * 1e-9)
}

/// One sample of an IMU with its errors. Sensor axes: forward, left, up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// The sample without errors.
    pub truth: InertialTruth,
    /// Number of the sample since power-on.
    pub index: u64,
    /// Measured angular rate, rad/s.
    pub gyro: Reading,
    /// Measured specific force, m/s².
    pub accel: Reading,
    /// Measured magnetic field, gauss.
    pub mag: Reading,
    /// Reading of the barometer, Pa.
    pub pressure_pa: f64,
    /// Reading of the thermometer, degrees C.
    pub temperature_c: f64,
    /// The IMU's estimate of its orientation: rotation from sensor axes to east, north, up.
    pub attitude: DQuat,
    /// Error of the IMU's position in World, metres.
    pub position_error_m: DVec3,
    /// Error of the IMU's velocity in World, m/s.
    pub velocity_error_m_s: DVec3,
}

/// The error models of an IMU. Must be stepped once per sample, in order.
#[derive(Clone, Debug)]
pub struct ImuErrors {
    gyro: Triad,
    accel: Triad,
    mag: Triad,
    barometer: Barometer,
    thermometer: Thermometer,
    attitude: attitude::AttitudeError,
    navigation: attitude::NavigationError,
}

impl ImuErrors {
    /// The errors of the device `name` in a rig with the seed `seed`, sampled every `dt_s`.
    pub fn new(settings: &ImuModel, seed: u64, name: &str, dt_s: f64) -> Self {
        let noise = |part: &str| NoiseSource::new(seed, &format!("{name}/{part}"));
        Self {
            gyro: Triad::new(&settings.gyro, noise("gyro"), dt_s),
            accel: Triad::new(&settings.accel, noise("accelerometer"), dt_s),
            mag: Triad::new(&settings.mag, noise("magnetometer"), dt_s),
            barometer: Barometer::new(settings.barometer, noise("barometer"), dt_s),
            thermometer: Thermometer::new(settings.thermometer, noise("thermometer")),
            attitude: attitude::AttitudeError::new(settings.attitude, noise("attitude"), dt_s),
            navigation: attitude::NavigationError::new(
                settings.navigation,
                noise("navigation"),
                dt_s,
            ),
        }
    }

    /// Adds errors to the true values of sample `index`.
    pub fn step(&mut self, index: u64, truth: InertialTruth) -> Sample {
        let inside_c = self.thermometer.inside_c(truth.at);
        let around =
            |specific_force_m_s2| Circumstances { specific_force_m_s2, temperature_c: inside_c };
        let felt = around(truth.specific_force_m_s2);
        let field = truth.magnetic_field_gauss;
        let [position_error_m, velocity_error_m_s] = self.navigation.step(index);
        Sample {
            truth,
            index,
            gyro: self.gyro.step(index, truth.angular_rate_rad_s, &felt),
            accel: self.accel.step(index, truth.specific_force_m_s2, &around(DVec3::ZERO)),
            mag: self.mag.step(index, field, &around(DVec3::ZERO)),
            pressure_pa: self.barometer.step(index, truth.place.height_above_sea_level_m()),
            temperature_c: self.thermometer.reading_c(index, truth.at),
            attitude: self.attitude.step(index, truth.world_from_sensor, &field),
            position_error_m,
            velocity_error_m_s,
        }
    }
}

#[cfg(test)]
mod tests;
