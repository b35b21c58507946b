//! The vehicle itself: set points, wheels, body.

use std::collections::VecDeque;

use glam::DVec3;

use super::history::Sample;
use super::{STEP_NS, WheelState};
use crate::config::rig::drive::{DriveConfig, DriveModel};
use crate::frames::Transform;
use crate::time::SimTime;
use crate::world::actuation::{Actuation, Command};
use crate::world::trajectory::{BodyState, ShownPose};

const STEP_S: f64 = STEP_NS as f64 * 1e-9;

/// A skid-steered robot on flat ground.
#[derive(Debug)]
pub struct Plant {
    config: DriveConfig,
    now: SimTime,
    position_m: DVec3,
    yaw_rad: f64,
    velocity_m_s: DVec3,
    acceleration_m_s2: DVec3,
    turn_rad_s: f64,
    wheels: WheelState,
    shown: Option<ShownPose>,
    /// By time, then serial number.
    pending: VecDeque<Command>,
}

impl Plant {
    pub fn new(config: &DriveConfig) -> Self {
        Self {
            config: config.clone(),
            now: SimTime::ZERO,
            position_m: DVec3::from(config.position_m),
            yaw_rad: config.yaw_rad,
            velocity_m_s: DVec3::ZERO,
            acceleration_m_s2: DVec3::ZERO,
            turn_rad_s: 0.0,
            wheels: WheelState::default(),
            shown: None,
            pending: VecDeque::new(),
        }
    }

    pub fn now(&self) -> SimTime {
        self.now
    }

    pub fn command(&mut self, command: Command) {
        let key = |command: &Command| (command.at, command.serial);
        let place = self.pending.partition_point(|waiting| key(waiting) <= key(&command));
        self.pending.insert(place, command);
    }

    /// One step on: orders hold from the first step at or after their time.
    pub fn step(&mut self) {
        while let Some(command) = self.pending.pop_front_if(|first| first.at <= self.now) {
            self.obey(&command);
        }
        let DriveModel::SkidSteer { y_icr_m, lag_s, .. } = self.config.model;
        let share = if lag_s > 0.0 { 1.0 - libm::exp(-STEP_S / lag_s) } else { 1.0 };
        for side in 0..2 {
            let speed = &mut self.wheels.speed_m_s[side];
            *speed += share * (self.wheels.setpoint_m_s[side] - *speed);
            self.wheels.travel_m[side] += *speed * STEP_S;
        }
        let [left, right] = self.wheels.speed_m_s;
        let forward = 0.5 * (left + right);
        self.turn_rad_s = (right - left) / (2.0 * y_icr_m);
        self.yaw_rad += self.turn_rad_s * STEP_S;
        let (sin, cos) = libm::sincos(self.yaw_rad);
        let velocity = DVec3::new(cos, sin, 0.0) * forward;
        self.acceleration_m_s2 = (velocity - self.velocity_m_s) / STEP_S;
        self.velocity_m_s = velocity;
        self.position_m += velocity * STEP_S;
        self.now = SimTime(self.now.0 + STEP_NS);
    }

    fn obey(&mut self, command: &Command) {
        let DriveModel::SkidSteer { y_icr_m, max_speed_m_s, .. } = self.config.model;
        let setpoint = match command.actuation {
            Actuation::Treads { left_m_s, right_m_s } => [left_m_s, right_m_s],
            Actuation::Twist { forward_m_s, turn_rad_s } => {
                [forward_m_s - y_icr_m * turn_rad_s, forward_m_s + y_icr_m * turn_rad_s]
            }
            Actuation::EmergencyStop(true) => [0.0, 0.0],
            Actuation::Reset => {
                let pending = std::mem::take(&mut self.pending);
                *self = Self { now: self.now, pending, ..Self::new(&self.config) };
                [0.0, 0.0]
            }
            Actuation::EmergencyStop(false)
            | Actuation::Steering { .. }
            | Actuation::JointRate { .. }
            | Actuation::JointAngle { .. } => return,
        };
        let fastest = setpoint[0].abs().max(setpoint[1].abs());
        let excess = (fastest / max_speed_m_s).max(1.0);
        self.wheels.setpoint_m_s = setpoint.map(|speed| speed / excess);
        self.shown = Some(ShownPose { serial: command.serial, arrived: command.arrived });
    }

    pub fn sample(&self) -> Sample {
        Sample {
            at: self.now,
            body: BodyState {
                world_from_body: Transform::from_rpy(self.position_m, 0.0, 0.0, self.yaw_rad),
                velocity_m_s: self.velocity_m_s,
                acceleration_m_s2: self.acceleration_m_s2,
                angular_rate_rad_s: DVec3::new(0.0, 0.0, self.turn_rad_s),
            },
            wheels: self.wheels,
            shown: self.shown,
        }
    }
}
