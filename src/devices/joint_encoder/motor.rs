//! Executes commands to the motor of a turning head.

use super::counting::Counter;
use super::profile::{JointEncoderProfile, Pass};
use crate::config::rig::joints::{JointConfig, JointKind};
use crate::wire::joint_lines::Command;
use crate::world::actuation::Actuation;
use crate::world::joints::JointState;

/// Motor controller of a joint.
#[derive(Clone, Debug)]
pub(super) struct Motor {
    joint: usize,
    limits: Option<[f64; 2]>,
    /// Joint speed per count of a command's speed character, rad/s or m/s.
    speed_unit: f64,
    pass: Pass,
    counter: Counter,
    sweep: Option<Sweep>,
}

/// A sweep between two positions.
#[derive(Clone, Copy, Debug)]
struct Sweep {
    /// Positions of the two ends: at the start and at the end of the first pass.
    ends: [f64; 2],
    /// Index in `ends` of the end to which the joint moves.
    towards: usize,
    rate: f64,
    /// Number of movements to an end after the present movement; `None`: unlimited.
    legs_left: Option<u32>,
}

impl Motor {
    /// Motor of the joint with this index in the rig; `None` if the joint cannot be commanded.
    pub(super) fn of(
        profile: &JointEncoderProfile,
        counter: Counter,
        (index, joint): (usize, &JointConfig),
    ) -> Option<Self> {
        let is_commanded = profile.motor.takes_commands && joint.is_commanded();
        is_commanded.then_some(Self {
            joint: index,
            limits: joint.limits,
            speed_unit: match joint.kind {
                JointKind::Revolute => profile.motor.speed_unit_rad_s,
                JointKind::Prismatic => profile.motor.speed_unit_m_s,
            },
            pass: profile.motor.pass,
            counter,
            sweep: None,
        })
    }

    /// Executes a host's command; returns the resulting command to the joint, or `None` if the command is refused.
    pub(super) fn command(&mut self, command: Command) -> Option<Actuation> {
        let speed = |speed: u8| f64::from(speed) * self.speed_unit;
        match command {
            Command::Stop => {
                self.sweep = None;
                Some(self.turn(0.0))
            }
            Command::Turn { forward, speed: unit } => {
                let rate = speed(unit);
                self.sweep = None;
                let rises = self.counter.position(1) > self.counter.position(0);
                Some(self.turn(if forward == rises { rate } else { -rate }))
            }
            Command::Sweep { from, to, speed: unit, passes } => {
                let ends = [from, to].map(|count| self.counter.position(count.into()));
                let is_within = |position: &f64| {
                    self.limits.is_none_or(|[low, high]| (low..=high).contains(position))
                };
                if from == to || !ends.iter().all(is_within) {
                    return None;
                }
                let legs = match self.pass {
                    Pass::OneWay => u32::from(passes),
                    Pass::ThereAndBack => 2 * u32::from(passes),
                };
                let sweep = Sweep {
                    ends,
                    towards: 0,
                    rate: speed(unit),
                    legs_left: (passes > 0).then_some(legs),
                };
                self.sweep = Some(sweep);
                Some(self.go_to(&sweep))
            }
        }
    }

    /// Checks the joint's state; returns the next command of a sweep if the joint has reached its target.
    pub(super) fn look_at(&mut self, state: &JointState) -> Option<Actuation> {
        let mut sweep = self.sweep?;
        let goal = sweep.ends[sweep.towards];
        let is_there = self.counter.total(state.position) == self.counter.total(goal);
        if !is_there || state.rate != 0.0 {
            return None;
        }
        if sweep.legs_left == Some(0) {
            self.sweep = None;
            return None;
        }
        sweep.legs_left = sweep.legs_left.map(|left| left - 1);
        sweep.towards = 1 - sweep.towards;
        self.sweep = Some(sweep);
        Some(self.go_to(&sweep))
    }

    fn turn(&self, rate_rad_s: f64) -> Actuation {
        Actuation::JointRate { joint: self.joint, rate_rad_s }
    }

    fn go_to(&self, sweep: &Sweep) -> Actuation {
        Actuation::JointAngle {
            joint: self.joint,
            angle_rad: sweep.ends[sweep.towards],
            max_rate_rad_s: sweep.rate,
        }
    }
}
