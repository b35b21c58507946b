//! Inertial measurement: what an IMU feels where it sits, and how it errs.
//!
//! [`ImuSensor`] gives the truth at the mount point, on any thread; the rest has a memory and is
//! stepped by the device, sample after sample: [`ImuErrors`] for what is measured,
//! [`attitude::AttitudeError`] for the orientation a unit computes from it.
//!
//! # Specific force and rate at the mount point
//!
//! With the mount at `r` in the body, which turns by `ω` and `α` (Body) and whose origin
//! accelerates by `a` (World):
//!
//! ```text
//! f = R_sensor_world (a - g) + R_sensor_body (α x r + ω x (ω x r))
//! ```
//!
//! `g` is WGS84's normal gravity where the robot is ([`earth`]). With the Earth's rotation `Ω`
//! switched on, the gyro reads `ω + Ω` and `2 Ω x v` is added to `a`; the centrifugal part is in `g`
//! already. Sensor axes are forward, left, up; a level unit at rest feels +g on its third axis.

pub mod allan;
pub mod attitude;
pub mod earth;
pub mod environment;
pub mod errors;

use std::sync::OnceLock;

use glam::{DQuat, DVec3};

use super::lidar::Scratch;
use super::noise::NoiseSource;
use super::{Measurement, MeasurementRequest, Outcome, Sensor, Subject, Surroundings};
use crate::config::imu::{ImuSettings, MagneticField};
use crate::frames::{GeoOrigin, Geodetic};
use crate::time::SimTime;
use crate::world::trajectory::Trajectory;
use earth::{earth_rate_in_world, gravity_in_world, world_magnetic_field_gauss};
use environment::{Barometer, Thermometer};
use errors::{Circumstances, Reading, Triad};

/// Half of the interval over which the angular rate's change is taken, seconds. The rate is an
/// analytic function of time; over 0.1 ms its difference is its derivative within 1e-8 of it.
const HALF_STEP_NS: u64 = 100_000;

/// What an errorless IMU would know at an instant. Sensor axes: forward, left, up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InertialTruth {
    /// When.
    pub at: SimTime,
    /// At the mount point, sensor axes, m/s².
    pub specific_force_m_s2: DVec3,
    /// Sensor axes, rad/s.
    pub angular_rate_rad_s: DVec3,
    /// Sensor axes, gauss.
    pub magnetic_field_gauss: DVec3,
    /// Takes sensor axes to east, north, up.
    pub world_from_sensor: DQuat,
    /// Of the mount point, World, m/s.
    pub velocity_m_s: DVec3,
    /// Of the mount point, kinematic, World, m/s².
    pub acceleration_m_s2: DVec3,
    /// Of the mount point, World, m.
    pub position_m: DVec3,
    /// The mount point on Earth.
    pub place: Geodetic,
}

/// The physics of an IMU: asked about a [`Subject::Series`], answers with [`Outcome::Inertial`].
#[derive(Debug)]
pub struct ImuSensor {
    earth_rate: bool,
    field: MagneticField,
    date: jiff::civil::Date,
    /// North, east, down at the rig's origin, gauss.
    world_model: OnceLock<DVec3>,
}

impl ImuSensor {
    /// An IMU with these settings on a day.
    pub fn new(settings: &ImuSettings, date: jiff::civil::Date) -> Self {
        let field = settings.magnetic_field;
        Self { earth_rate: settings.earth_rate, field, date, world_model: OnceLock::new() }
    }

    /// Specific force and angular rate alone: no magnetic field, and an Earth that does not turn.
    pub fn of_motion_alone() -> Self {
        let field = MagneticField::Stated([0.0; 3]);
        let date = jiff::civil::Date::constant(2000, 1, 1);
        Self { earth_rate: false, field, date, world_model: OnceLock::new() }
    }

    /// The field in World, gauss.
    fn field_in_world(&self, origin: &GeoOrigin) -> DVec3 {
        let ned = match self.field {
            MagneticField::Stated(ned) => DVec3::from_array(ned),
            MagneticField::WorldModel => *self
                .world_model
                .get_or_init(|| world_magnetic_field_gauss(&origin.origin(), self.date)),
        };
        DVec3::new(ned.y, ned.x, -ned.z)
    }

    /// The truth at `at`.
    pub fn truth(&self, at: SimTime, surroundings: &Surroundings<'_>) -> InertialTruth {
        let Surroundings { trajectory, origin, body_from_sensor, .. } = *surroundings;
        let state = trajectory.state(at);
        let body = state.world_from_body;
        let arm = body_from_sensor.translation;
        let rate = state.angular_rate_rad_s;
        let (mut acceleration, mut velocity) = (state.acceleration_m_s2, state.velocity_m_s);
        if arm != DVec3::ZERO {
            let change = angular_acceleration(trajectory, at);
            acceleration += body.direction(change.cross(arm) + rate.cross(rate.cross(arm)));
            velocity += body.direction(rate.cross(arm));
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
    fn measure(
        &self,
        request: MeasurementRequest,
        surroundings: &Surroundings<'_>,
        _scratch: &mut Scratch,
    ) -> Measurement {
        let (count, period_ns) = match request.subject {
            Subject::Series { count, period_ns } => (count, period_ns),
            Subject::Instant => (1, 0),
            Subject::Sweep(_) => (0, 0),
        };
        let instants = (0..u64::from(count)).map(|i| SimTime(request.start.0 + i * period_ns));
        let truths = instants.map(|at| self.truth(at, surroundings)).collect();
        Measurement::new(request, Outcome::Inertial(truths))
    }
}

/// Of the body, Body axes, rad/s². At the very start the motion has no past: forward then.
fn angular_acceleration(trajectory: &Trajectory, at: SimTime) -> DVec3 {
    let from = at.0.saturating_sub(HALF_STEP_NS);
    let to = at.0 + HALF_STEP_NS;
    let rate = |ns| trajectory.state(SimTime(ns)).angular_rate_rad_s;
    (rate(to) - rate(from)) / ((to - from) as f64 * 1e-9)
}

/// One sample of a unit, errors included. Sensor axes: forward, left, up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// What was true.
    pub truth: InertialTruth,
    /// Counts the unit's samples since power-on.
    pub index: u64,
    /// rad/s
    pub gyro: Reading,
    /// m/s²
    pub accel: Reading,
    /// gauss
    pub mag: Reading,
    /// Pa
    pub pressure_pa: f64,
    /// degrees C
    pub temperature_c: f64,
    /// The orientation the unit believes in; takes sensor axes to east, north, up.
    pub attitude: DQuat,
    /// Where the unit believes it is off by this, World, m.
    pub position_error_m: DVec3,
    /// And its velocity by this, World, m/s.
    pub velocity_error_m_s: DVec3,
}

/// All that can go wrong in a unit. Step once a sample, in order.
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
    /// The errors of the device `name` of a rig with `seed`, sampled every `dt_s`.
    pub fn new(settings: &ImuSettings, seed: u64, name: &str, dt_s: f64) -> Self {
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

    /// The sample `index` of the unit.
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
            pressure_pa: self.barometer.step(index, truth.place.altitude_m),
            temperature_c: self.thermometer.reading_c(index, truth.at),
            attitude: self.attitude.step(index, truth.world_from_sensor, &field),
            position_error_m,
            velocity_error_m_s,
        }
    }
}

#[cfg(test)]
mod tests;
