//! Recent motion of the vehicle, in steps.
//!
//! Within a step each rate is a parabola through its values at the step's start, middle and end. Positions, angles and
//! travel are integrals of the rates, and accelerations are their derivatives, so that they agree up to rounding.
//! Velocities are continuous, and accelerations jump only at set points and obstacles. After a reset, the next step
//! begins at the start position, at rest: the jump has no velocity.

use std::collections::VecDeque;

use glam::DVec3;

use super::drivetrain::WheelState;
use crate::frames::{Transform, body_rate_from_rpy};
use crate::time::SimTime;
use crate::world::body_state::{BodyState, ShownPose};

/// Length of an integration step, nanoseconds.
pub const STEP_NS: u64 = 1_000_000;
/// Length of a step in seconds.
pub(super) const STEP_S: f64 = STEP_NS as f64 * 1e-9;

/// Length of the history, nanoseconds. An assumption: no sensor needs older states.
const KEPT_NS: u64 = 60_000_000_000;

/// x, y, z (World, metres), roll, pitch and yaw (radians), and the travel of the left and right wheels (metres); or
/// the rates of all these.
pub type Course = [f64; 8];

/// A step of the vehicle's motion.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub at: SimTime,
    /// Values at the step's start.
    pub from: Course,
    /// Rates at the step's start, middle and end.
    pub rates: [Course; 3],
    pub setpoint_m_s: [f64; 2],
    /// Steering angles at the step's start and end, radians.
    pub steering_rad: [f64; 2],
    /// Height of the terrain under each wheel at the step's start, World, metres; NaN for a wheel without terrain below
    /// it.
    pub terrain_m: [f64; 4],
    /// Command in effect during the step; `None` before the first.
    pub shown: Option<ShownPose>,
}

impl Step {
    /// A step at rest.
    pub fn resting(at: SimTime, from: Course, terrain_m: [f64; 4]) -> Self {
        Self {
            at,
            from,
            rates: [[0.0; 8]; 3],
            setpoint_m_s: [0.0; 2],
            steering_rad: [0.0; 2],
            terrain_m,
            shown: None,
        }
    }

    /// Values, rates and accelerations at a share of the step, 0..=1.
    pub fn at_share(&self, share: f64) -> [Course; 3] {
        let mut all = [[0.0; 8]; 3];
        for (i, &from) in self.from.iter().enumerate() {
            let [start, middle, end] = self.rates.map(|rates| rates[i]);
            // start + b s + c s²
            let b = 4.0 * middle - 3.0 * start - end;
            let c = 2.0 * (start + end) - 4.0 * middle;
            let way = share * (start + share * (0.5 * b + share * c / 3.0));
            all[0][i] = from + STEP_S * way;
            all[1][i] = start + share * (b + share * c);
            all[2][i] = (b + 2.0 * share * c) / STEP_S;
        }
        all
    }
}

/// Consecutive steps. The last step begins at the current state.
#[derive(Debug)]
pub(super) struct History {
    steps: VecDeque<Step>,
}

impl History {
    pub fn starting_with(first: Step) -> Self {
        Self { steps: VecDeque::from([first]) }
    }

    /// Completes the last step and appends the next.
    pub fn push(&mut self, done: Step, next: Step) {
        if let Some(last) = self.steps.back_mut() {
            *last = done;
        }
        if self.steps.len() as u64 * STEP_NS > KEPT_NS {
            self.steps.pop_front();
        }
        self.steps.push_back(next);
    }

    /// Stored steps that begin at or after `from`. The last of them is not complete: it begins at the current state.
    pub fn steps_from(&self, from: SimTime) -> impl Iterator<Item = &Step> {
        let first = self.steps.partition_point(|step| step.at < from);
        self.steps.range(first..)
    }

    /// Appends a step of another history. It replaces all stored steps that begin at or after its start.
    pub fn take(&mut self, step: Step) {
        while self.steps.back().is_some_and(|last| last.at >= step.at) {
            self.steps.pop_back();
        }
        self.steps.push_back(step);
        if (self.steps.len() as u64 - 1) * STEP_NS > KEPT_NS {
            self.steps.pop_front();
        }
    }

    /// The instant up to which the motion is known.
    pub fn known_until(&self) -> SimTime {
        self.steps.back().map_or(SimTime::ZERO, |last| last.at)
    }

    /// The step at `t`, and the elapsed share of this step, 0 to 1. Before the history, the oldest step is used;
    /// after the known motion, the start of the last one.
    fn step_at(&self, t: SimTime) -> (&Step, f64) {
        let first = self.steps[0].at.0;
        let since_ns = t.0.saturating_sub(first);
        let last = self.steps.len() - 1;
        let index = since_ns / STEP_NS;
        if index >= last as u64 {
            return (&self.steps[last], 0.0);
        }
        (&self.steps[index as usize], (since_ns % STEP_NS) as f64 / STEP_NS as f64)
    }

    /// Position, orientation and their rates at `t`.
    pub fn state(&self, t: SimTime) -> BodyState {
        let (step, share) = self.step_at(t);
        let [[x, y, z, roll, pitch, yaw, ..], rates, accelerations] = step.at_share(share);
        let of_place = |course: &Course| DVec3::new(course[0], course[1], course[2]);
        BodyState {
            world_from_body: Transform::from_rpy(DVec3::new(x, y, z), roll, pitch, yaw),
            velocity_m_s: of_place(&rates),
            acceleration_m_s2: of_place(&accelerations),
            angular_rate_rad_s: body_rate_from_rpy(roll, pitch, [rates[3], rates[4], rates[5]]),
        }
    }

    /// State of the wheels at `t`.
    pub fn wheels(&self, t: SimTime) -> WheelState {
        let (step, share) = self.step_at(t);
        let [travel, speed, _] = step.at_share(share);
        let [from, to] = step.steering_rad;
        WheelState {
            travel_m: [travel[6], travel[7]],
            speed_m_s: [speed[6], speed[7]],
            setpoint_m_s: step.setpoint_m_s,
            steering_rad: from + share * (to - from),
        }
    }

    /// Height of the terrain under each wheel in the step at `t`.
    pub fn terrain_m(&self, t: SimTime) -> [f64; 4] {
        self.step_at(t).0.terrain_m
    }

    /// The command in effect at `t`; `None` before the first.
    pub fn shown_at(&self, t: SimTime) -> Option<ShownPose> {
        self.step_at(t).0.shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A step in which the rate of x is 1 + 2 s - 3 s², where s is the share of the step.
    fn bent(at: SimTime, from_m: f64) -> Step {
        let mut step = Step::resting(at, [0.0; 8], [0.0; 4]);
        step.from[0] = from_m;
        for (rates, share) in step.rates.iter_mut().zip([0.0, 0.5, 1.0]) {
            rates[0] = 1.0 + 2.0 * share - 3.0 * share * share;
        }
        step
    }

    #[test]
    fn within_a_step_everything_is_the_parabolas() {
        let step = bent(SimTime::ZERO, 5.0);
        for share in [0.0, 0.2, 0.5, 0.9, 1.0] {
            let [value, rate, acceleration] = step.at_share(share).map(|course| course[0]);
            let way = share + share * share - share * share * share;
            assert!((value - 5.0 - STEP_S * way).abs() < 1e-12);
            assert!((rate - (1.0 + 2.0 * share - 3.0 * share * share)).abs() < 1e-12);
            assert!((acceleration - (2.0 - 6.0 * share) / STEP_S).abs() < 1e-9);
        }
    }

    #[test]
    fn a_copy_takes_steps_as_they_are_completed() {
        let first = || Step::resting(SimTime::ZERO, [0.0; 8], [0.0; 4]);
        let (mut original, mut copy) =
            (History::starting_with(first()), History::starting_with(first()));
        let mut told = SimTime::ZERO;
        for ms in 1..=50_u64 {
            let next = Step::resting(SimTime(ms * STEP_NS), [ms as f64; 8], [0.0; 4]);
            original.push(bent(SimTime((ms - 1) * STEP_NS), (ms - 1) as f64), next);
            if ms % 7 == 0 {
                let steps: Vec<_> = original.steps_from(told).copied().collect();
                told = steps.last().expect("the one that has begun").at;
                steps.into_iter().for_each(|step| copy.take(step));
                for at_ns in (0..=ms * STEP_NS).step_by(333_333) {
                    assert_eq!(copy.state(SimTime(at_ns)), original.state(SimTime(at_ns)));
                }
                assert_eq!(copy.known_until(), original.known_until());
            }
        }
    }

    #[test]
    fn a_minute_is_kept_and_what_is_not_known_is_held() {
        let mut history = History::starting_with(bent(SimTime::ZERO, 0.0));
        for ms in 1..=70_000_u64 {
            let next = Step::resting(SimTime(ms * STEP_NS), [ms as f64; 8], [0.0; 4]);
            history.push(bent(SimTime((ms - 1) * STEP_NS), (ms - 1) as f64), next);
        }
        assert_eq!(history.known_until(), SimTime(70_000 * STEP_NS));
        assert!(history.steps.len() <= 60_002);
        let x = |ns: u64| history.state(SimTime(ns)).world_from_body.translation.x;
        assert_eq!(x(65_000 * STEP_NS), 65_000.0);
        assert_eq!(x(99_000 * STEP_NS), 70_000.0);
        assert_eq!(x(0), history.steps[0].from[0], "the oldest there is");
        assert_eq!(history.state(SimTime(99_000 * STEP_NS)).velocity_m_s, DVec3::ZERO);
    }
}
