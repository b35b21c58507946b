//! Values in the messages of a VN-100, and their computation from a sample.
//!
//! ```text
//! sensors -> user calibration (23, 25, 84) -> reference frame (26) -> uncompensated
//!         -> the gyro's startup bias (43) -> compensated
//! ```
//!
//! Numbers in parentheses are registers. A moving mean (85) can follow on either branch; the filter's attitude does not use
//! it (VN-100 user manual, sections 3.1.6 to 3.1.8).

use glam::{DQuat, DVec3};

use super::registers::{IncrementsConfig, Registers, Started};
use crate::imu::Unit;
use crate::imu::conditioning::{
    Conditioning, MovingMean, declination_of, declination_rad, turned_clockwise,
};
use crate::imu::output::{Gathered, Measured, Stream, frd, ned_from_frd, roll_pitch_yaw};
use crate::sensors::imu::{Sample, earth};

/// Values for an output. Vectors are forward, right, down (body frame) or north, east, down.
#[derive(Clone, Debug)]
pub struct View {
    /// Compensated measurement.
    pub measured: Measured,
    /// Uncompensated measurement.
    pub uncompensated: Measured,
    /// Increments since the stream's last output.
    pub delta: Delta,
    /// Rotation from the body frame to north-east-down.
    pub ned_from_body: DQuat,
    /// Reported attitude: `ned_from_body` followed by the tare.
    pub attitude: DQuat,
    /// Yaw, pitch, roll, degrees.
    pub ypr_deg: DVec3,
    /// Temperature inside the unit, degrees Celsius.
    pub temperature_c: f64,
    /// Air pressure, kPa.
    pub pressure_kpa: f64,
    /// Time on the unit's clock, nanoseconds.
    pub time_ns: u64,
    /// Standard deviations of yaw, pitch and roll.
    pub yaw_pitch_roll_std_deg: [f32; 3],
    /// Gravity vector of the filter: north, east, down.
    pub gravity_m_s2: DVec3,
    /// Status bits: exceeded measuring ranges, and disturbances that the host has reported.
    pub vpe_status: u16,
    /// Number of pulses of the sync output.
    pub sync_out_count: u32,
}

impl View {
    /// Acceleration without gravity, body frame, m/s². A tare does not change it.
    pub fn true_acceleration(&self) -> DVec3 {
        self.measured.accel + self.ned_from_body.conjugate() * self.gravity_m_s2
    }
}

/// Increments of angle and velocity, as in register 80.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delta {
    /// Interval of the increments, s.
    pub interval_s: f64,
    /// Rotation vector, body frame.
    pub angle_rad: DVec3,
    /// Velocity increment, in the frame that register 82 sets.
    pub velocity_m_s: DVec3,
}

/// A sample after processing. The axes of all samples are forward, left, up.
#[derive(Clone, Debug)]
pub struct Processed {
    compensated: Sample,
    uncompensated: Sample,
    /// Sample for increments: without moving means. Register 82 determines whether the startup gyro bias is subtracted.
    integrated: Sample,
    /// Attitude that the filter estimates: rotation from the body frame (forward, left, up) to east, north, up.
    attitude: DQuat,
    gravity_ned_m_s2: DVec3,
}

/// Processing of IMU samples: moving means and the estimated gyro bias.
#[derive(Clone, Debug, Default)]
pub struct Chain {
    /// Moving means of the uncompensated and the compensated branch: magnetic field, acceleration, angular rate.
    means: [[MovingMean; 3]; 2],
    scalars: [MovingMean; 2],
    /// Estimated gyro bias, forward, right, down; in rad/s.
    gyro_bias: Option<DVec3>,
}

/// Time constant with which the filter estimates the gyro bias, s.
const BIAS_TIME_S: f64 = 10.0;

impl Chain {
    /// Estimated gyro bias, rad/s, forward, right, down.
    pub fn gyro_bias_rad_s(&self) -> DVec3 {
        self.gyro_bias.unwrap_or_default()
    }

    /// Processes a sample.
    pub fn step(
        &mut self,
        sample: &Sample,
        registers: &Registers,
        started: &Started,
        unit: &Unit,
    ) -> Processed {
        let effects = registers.effects();
        let [mag, accel, gyro] = effects.corrections;
        let conditioning =
            Conditioning { mag, accel, gyro, user_from_sensor: started.user_from_sensor };
        let turned =
            Conditioning { user_from_sensor: started.user_from_sensor, ..Conditioning::NONE };
        let heading = registers.heading_shift_rad(sample, unit);
        let tared = Sample { attitude: turned_clockwise(sample.attitude, heading), ..*sample };
        let raw = conditioning.apply(&tared);
        let truth = turned.apply(&Sample {
            gyro: crate::sensors::imu::errors::Reading {
                value: sample.truth.angular_rate_rad_s,
                ..sample.gyro
            },
            ..*sample
        });
        self.learn_bias(frd(raw.gyro.value - truth.gyro.value), unit.dt_s());
        let bias = frd(started.gyro_bias_rad_s);
        let mut compensated = raw;
        compensated.gyro.value -= bias;
        let mut integrated = raw;
        if effects.increments.with_bias {
            integrated.gyro.value -= bias;
        }
        let mut uncompensated = raw;
        let [mag, accel, gyro, temperature, pressure] = effects.filters;
        for (place, branch) in [&mut uncompensated, &mut compensated].into_iter().enumerate() {
            let readings = [&mut branch.mag, &mut branch.accel, &mut branch.gyro];
            let filters = readings.into_iter().zip([mag, accel, gyro]);
            for ((reading, filter), mean) in filters.zip(&mut self.means[place]) {
                let window = if filter.acts_on(place) { filter.window } else { 0 };
                reading.value = mean.step(reading.value, window);
            }
        }
        let scalars = [sample.temperature_c, sample.pressure_pa];
        let mut passed = scalars;
        for (place, filter) in [temperature, pressure].into_iter().enumerate() {
            let window = if filter.mode > 0 { filter.window } else { 0 };
            passed[place] = self.scalars[place].step(DVec3::X * scalars[place], window).x;
        }
        (compensated.temperature_c, compensated.pressure_pa) = (passed[0], passed[1]);
        Processed {
            attitude: raw.attitude,
            compensated,
            uncompensated,
            integrated,
            gravity_ned_m_s2: registers.gravity(sample),
        }
    }

    fn learn_bias(&mut self, error: DVec3, dt_s: f64) {
        let share = 1.0 - libm::exp(-dt_s / BIAS_TIME_S);
        let bias = self.gyro_bias.get_or_insert(error);
        *bias += (error - *bias) * share;
    }
}

/// Integrated angular rate and specific force over the interval of a stream.
#[derive(Clone, Debug, Default)]
pub struct Increments {
    gathered: Gathered,
    /// Sum of specific forces in north-east-down.
    force_ned: DVec3,
    /// Sum of gravity in body axes.
    gravity_body: DVec3,
    /// Sum of gravity in north-east-down.
    gravity_ned: DVec3,
}

impl Increments {
    /// Adds a sample.
    pub fn step(&mut self, now: &Processed) {
        self.gathered.add(&now.integrated);
        let attitude = ned_from_frd(now.attitude);
        self.force_ned += attitude * frd(now.integrated.accel.value);
        self.gravity_body += attitude.conjugate() * now.gravity_ned_m_s2;
        self.gravity_ned += now.gravity_ned_m_s2;
    }

    /// Returns the increments since the last call and sets all sums to zero.
    pub fn take(&mut self, now: &Processed, config: IncrementsConfig, unit: &Unit) -> Delta {
        let dt_s = unit.dt_s();
        let body =
            self.gathered.take(&now.integrated, dt_s, unit.profile.output.decimation).in_frd();
        let (mut velocity, gravity) = if config.in_ned {
            (self.force_ned * dt_s, self.gravity_ned * dt_s)
        } else {
            (body.delta_velocity, self.gravity_body * dt_s)
        };
        if config.without_gravity {
            velocity += gravity;
        }
        *self = Self::default();
        Delta { interval_s: body.interval_s, angle_rad: body.delta_angle, velocity_m_s: velocity }
    }
}

/// Computes the values of an output from samples.
#[derive(Clone, Debug)]
pub struct ViewStream {
    compensated: Stream,
    uncompensated: Stream,
    increments: Increments,
}

impl ViewStream {
    /// A stream with an output every `divisor` samples.
    pub fn every(divisor: u64) -> Self {
        Self {
            compensated: Stream::every(divisor),
            uncompensated: Stream::every(divisor),
            increments: Increments::default(),
        }
    }

    /// Samples per output.
    pub fn divisor(&self) -> u64 {
        self.compensated.divisor()
    }

    /// Adds a sample; returns the output values if an output is due.
    pub fn step(
        &mut self,
        now: &Processed,
        registers: &Registers,
        tare: DQuat,
        unit: &Unit,
    ) -> Option<View> {
        let (dt_s, decimation) = (unit.dt_s(), unit.profile.output.decimation);
        self.increments.step(now);
        let uncompensated = self.uncompensated.step(&now.uncompensated, dt_s, decimation);
        let measured = self.compensated.step(&now.compensated, dt_s, decimation)?.in_frd();
        let ned_from_body = ned_from_frd(now.attitude);
        let attitude = (tare * ned_from_body).normalize();
        let rpy = roll_pitch_yaw(attitude);
        let errors = &unit.settings.model.attitude;
        let deg = |rad: f64| rad.to_degrees() as f32;
        let level = deg(errors.roll_pitch_std_rad);
        Some(View {
            uncompensated: uncompensated.map_or(measured, Measured::in_frd),
            delta: self.increments.take(now, registers.effects().increments, unit),
            ned_from_body,
            attitude,
            ypr_deg: DVec3::new(rpy.z, rpy.y, rpy.x) * 1f64.to_degrees(),
            temperature_c: now.compensated.temperature_c,
            pressure_kpa: now.compensated.pressure_pa / 1000.0,
            time_ns: unit.clock_ns(&now.compensated),
            yaw_pitch_roll_std_deg: [deg(errors.heading_std_rad), level, level],
            gravity_m_s2: now.gravity_ned_m_s2,
            vpe_status: registers.vpe_status(&measured),
            sync_out_count: registers.sync_out_count,
            measured,
        })
    }
}

impl Registers {
    /// Heading of the output minus heading of the sample, clockwise, rad; 0 unless the host has set a magnetic reference. It
    /// is the declination of that reference, minus the true declination if the sample's heading refers to true north.
    fn heading_shift_rad(&self, sample: &Sample, unit: &Unit) -> f64 {
        let Some(reference) = self.effects().magnetic_reference else { return 0.0 };
        let counts_from_magnetic = unit.settings.model.attitude.heading_is_magnetic;
        let to_magnetic = if counts_from_magnetic { 0.0 } else { -declination_rad(sample) };
        to_magnetic + declination_of(DVec3::new(reference.y, reference.x, -reference.z))
    }

    /// Gravity of the filter (north, east, down): the true gravity until a host sets another.
    fn gravity(&self, sample: &Sample) -> DVec3 {
        let true_gravity = || DVec3::Z * earth::normal_gravity_m_s2(&sample.truth.place);
        self.effects().gravity_reference.map_or_else(true_gravity, |force| -force)
    }
}
