//! Speed and angle of a lidar's head, with the future schedule.
//!
//! The motor has inertia: it changes the speed at a constant angular acceleration, so the angle is piecewise
//! quadratic in time. Motion at constant speed is computed in whole nanoseconds and does not drift. A scheduled
//! change can be replaced until it begins.
//!
//! A stall brakes the rotor to rest; after the release the motor drives it again. Stalls can recur without end, so the
//! schedule includes them in cells of a fixed length, as far as needed ([`Rotor::look_ahead`]). The ends of the cells
//! do not depend on the queries, so the angles do not depend on them either.

mod stretch;

use std::f64::consts::TAU;

use crate::config::rig::faults::Timed;
use crate::motor_stall::MotorStall;
use crate::sensors::RotorMotion;
use crate::sensors::fault::{EffectKind, FaultEffect};
use crate::spinning::motor_settings::MotorSettings;
use crate::time::SimTime;
use stretch::{MINUTE_NS, Motion, Stretch};

const SECOND_NS: u64 = 1_000_000_000;
/// Largest phase error that is not corrected, in rotations.
const PHASE_TOLERANCE: f64 = 1e-6;

/// Largest relative deviation of the rotor's speed from the set speed at which the unit produces packets.
pub(super) const SPEED_TOLERANCE: f64 = 0.1;
/// Largest relative change of speed during a phase correction: below [`SPEED_TOLERANCE`], so that the unit keeps sending
/// packets.
const CORRECTION_SHARE: f64 = 0.8 * SPEED_TOLERANCE;

/// Length of the cells by which the schedule is extended to include stalls, nanoseconds.
const CELL_NS: u64 = 4 * SECOND_NS;

/// A rotor and its schedule. Angles are in rotations, clockwise from above; 0 is forward.
#[derive(Clone, Debug)]
pub struct Rotor {
    /// Stretches in order of time; never empty.
    stretches: Vec<Stretch>,
    acceleration_rpm_s: u32,
    /// Target speed in rpm, and target phase.
    drive: (u32, Option<Phase>),
    stalls: Vec<Timed<MotorStall>>,
    /// End of the part of the schedule that includes stalls.
    known_to: SimTime,
}

/// Angle that the rotor is to have once per second: at `second`, and whole seconds before and after it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Phase {
    /// Angle in rotations, 0..1.
    pub turn: f64,
    /// One of the times at which the rotor has this angle.
    pub second: SimTime,
}

/// Two phases with the same angle count as equal if their times, modulo one second, differ by less than this, nanoseconds.
const SAME_PHASE_NS: u64 = 20_000;

impl Phase {
    /// Whether this phase counts as equal to that of the angle `turn` at `second`, so that the rotor needs no correction.
    /// The neglected differences come from the steps of a steered clock, which a rotor cannot follow.
    pub fn is_near(&self, turn: f64, second: SimTime) -> bool {
        let off_ns = self.second.0.abs_diff(second.0) % 1_000_000_000;
        self.turn == turn && off_ns.min(1_000_000_000 - off_ns) < SAME_PHASE_NS
    }
}

impl Rotor {
    /// A rotor at the start of the run: it already rotates at `rpm`, or spins up from rest if `motor` starts at rest.
    pub fn at_power_on(motor: &MotorSettings, rpm: u32, start_azimuth_rad: f64) -> Self {
        let turn = start_azimuth_rad / TAU;
        if !motor.starts_at_rest {
            return Self::turning(rpm, turn, motor.acceleration_rpm_s);
        }
        let mut rotor = Self::turning(0, turn, motor.acceleration_rpm_s);
        rotor.schedule(SimTime::ZERO, rpm, None);
        rotor
    }

    /// A rotor that has the speed `rpm` and the angle `turn` (in rotations) at the start of the run. Its motor can
    /// change the speed by `acceleration_rpm_s` per second; 0 counts as 1.
    pub fn turning(rpm: u32, turn: f64, acceleration_rpm_s: u32) -> Self {
        let first = Stretch { from: SimTime::ZERO, turn, motion: Motion::Even { rpm } };
        Self {
            stretches: vec![first],
            acceleration_rpm_s: acceleration_rpm_s.max(1),
            drive: (rpm, None),
            stalls: Vec::new(),
            known_to: SimTime(u64::MAX),
        }
    }

    /// Replaces the stalls from `at` on; before `at`, old and new stalls must be equal.
    pub fn change_stalls(&mut self, at: SimTime, stalls: &[Timed<MotorStall>]) {
        if self.stalls == stalls {
            return;
        }
        self.stalls = stalls.to_vec();
        if at == SimTime::ZERO {
            self.known_to = at;
            return;
        }
        let known_to = self.known_to;
        self.known_to = cell_end(at).min(known_to);
        self.plan(at);
        if known_to != SimTime(u64::MAX) {
            self.look_ahead(known_to);
        }
    }

    /// Target speed in rpm, and target phase. Stalls do not change them.
    pub fn drive(&self) -> (u32, Option<Phase>) {
        self.drive
    }

    /// Time up to which angles and speeds are known.
    pub fn known_to(&self) -> SimTime {
        self.known_to
    }

    /// Computes angles and speeds at least up to `to`.
    pub fn look_ahead(&mut self, to: SimTime) {
        while self.known_to < to {
            let from = self.known_to;
            self.known_to = cell_end(from);
            if self.held_at(from).is_some() {
                self.plan(from);
            } else if let Some(opens) = self.next_stall(from) {
                self.plan(opens);
            }
        }
    }

    /// Effects of stalls on measurements from `from` to `to`.
    pub fn fault_effects(&self, from: SimTime, to: SimTime) -> Vec<FaultEffect> {
        let effect = |stall: &Timed<MotorStall>| {
            let window = stall.schedule.window_between(from, to)?;
            let kind = EffectKind::Stalled { rpm: self.rpm(from).round() as u64 };
            Some(FaultEffect { fault: stall.fault, window, kind })
        };
        self.stalls.iter().filter_map(effect).collect()
    }

    /// The stall in effect at `at`: its deceleration (rpm/s) and its end (`None`: it does not end).
    fn held_at(&self, at: SimTime) -> Option<(f64, Option<SimTime>)> {
        let motor = f64::from(self.acceleration_rpm_s);
        self.stalls.iter().find_map(|stall| {
            let (_, closes) = stall.schedule.window(stall.schedule.window_at(at)?);
            let pace = match stall.kind.stops_within_ns {
                Some(ns) if self.drive.0 > 0 => f64::from(self.drive.0) * 1e9 / ns as f64,
                _ => motor,
            };
            Some((pace, closes))
        })
    }

    /// Start of the next stall at or after `from`, if it is in the known part of the schedule.
    fn next_stall(&self, from: SimTime) -> Option<SimTime> {
        let openings = self.stalls.iter().filter_map(|stall| stall.schedule.next_opening(from));
        openings.min().filter(|opens| *opens < self.known_to)
    }

    /// Angle at `at`, in rotations, 0..1.
    pub fn turn(&self, at: SimTime) -> f64 {
        part_of_turn(self.stretch(at).turned(at))
    }

    pub fn rpm(&self, at: SimTime) -> f64 {
        self.stretch(at).rpm(at)
    }

    /// Whether the rotor is at rest at `at` and is not being accelerated.
    pub fn is_still(&self, at: SimTime) -> bool {
        self.stretch(at).motion == Motion::Even { rpm: 0 }
    }

    /// Motion of the rotor from `start` to `end` of a sweep.
    pub fn motion(&self, start: SimTime, end: SimTime) -> RotorMotion {
        let first = self.stretch(start);
        let mut motion = RotorMotion::starting_with(first.piece(start, start));
        let within = self.stretches.iter().filter(|s| s.from > start && s.from <= end);
        for stretch in within {
            motion.push(stretch.piece(start, stretch.from));
        }
        motion
    }

    /// The first time after `after` at which the rotor reaches angle 0; `None` if the known schedule has no such time.
    pub fn next_zero(&self, after: SimTime) -> Option<SimTime> {
        let first = self.index(after);
        (first..self.stretches.len()).find_map(|index| {
            let stretch = &self.stretches[index];
            let from = after.max(stretch.from);
            let end = match (self.stretches.get(index + 1), stretch.motion) {
                (Some(next), _) => next.from,
                (None, Motion::Even { rpm: 0 }) => return None,
                (None, Motion::Even { rpm }) => {
                    SimTime(from.0 + (MINUTE_NS / u128::from(rpm)) as u64 + 2)
                }
                (None, Motion::Changing { .. }) => return None, // a schedule ends at constant speed
            };
            stretch.first_zero(from, end)
        })
    }

    /// Replaces the schedule from `at` on: drives the rotor to `rpm`, and then to `phase`, if any, by a temporary change of
    /// speed.
    pub fn schedule(&mut self, at: SimTime, rpm: u32, phase: Option<Phase>) {
        self.drive = (rpm, phase);
        if self.stalls.is_empty() {
            return self.plan(at);
        }
        self.look_ahead(at);
        let known_to = self.known_to;
        self.known_to = cell_end(at).min(known_to);
        self.plan(at);
        self.look_ahead(known_to);
    }

    /// Computes the schedule from `at` on: the motor drives the rotor, except during stalls.
    fn plan(&mut self, mut at: SimTime) {
        loop {
            let (turn, rpm) = (self.turn(at), self.rpm(at));
            self.stretches.retain(|stretch| stretch.from < at);
            let next = match self.held_at(at) {
                Some((pace, closes)) => {
                    self.change_speed(at, turn, rpm, (0, pace));
                    closes.filter(|closes| *closes <= self.known_to)
                }
                None => {
                    let (wanted_rpm, phase) = self.drive;
                    let pace = f64::from(self.acceleration_rpm_s);
                    let from = self.change_speed(at, turn, rpm, (wanted_rpm, pace));
                    if let Some(phase) = phase.filter(|_| wanted_rpm > 0) {
                        self.correct_phase(from, wanted_rpm, phase);
                    }
                    self.next_stall(at)
                }
            };
            let Some(next) = next else { return };
            at = next;
        }
    }

    /// Changes the speed from `rpm` to `to` (rpm, and rate in rpm/s) at `at`, where the rotor has the angle `turn`.
    /// Returns the end of the change.
    fn change_speed(&mut self, at: SimTime, turn: f64, rpm: f64, to: (u32, f64)) -> SimTime {
        let (wanted_rpm, pace) = to;
        let difference = f64::from(wanted_rpm) - rpm;
        let mut from = at;
        if difference != 0.0 {
            let acceleration_rpm_s = pace * difference.signum();
            let motion = Motion::Changing { rpm, acceleration_rpm_s };
            self.stretches.push(Stretch { from, turn, motion });
            from = later(from, difference / acceleration_rpm_s);
        }
        let turn = if from == at { turn } else { self.turn(from) };
        self.stretches.push(Stretch { from, turn, motion: Motion::Even { rpm: wanted_rpm } });
        from
    }

    /// Drops the schedule before `before`, which is not queried any more.
    pub fn forget(&mut self, before: SimTime) {
        let first = self.index(before);
        self.stretches.drain(..first);
    }

    /// Corrects the phase from `from` on by a temporary change of speed.
    fn correct_phase(&mut self, from: SimTime, rpm: u32, phase: Phase) {
        let missing = |rotor: &Self, since: SimTime| {
            let second = next_second(since, phase.second);
            let off = phase.turn - rotor.turn(second);
            (off + 0.5).rem_euclid(1.0) - 0.5
        };
        let gain = missing(self, from);
        if gain.abs() < PHASE_TOLERANCE {
            return;
        }
        // Accelerating for half_s and decelerating for half_s gains acceleration * half_s^2.
        let mut pace = f64::from(self.acceleration_rpm_s);
        let mut half_s = (gain.abs() * 60.0 / pace).sqrt();
        let most_rpm = f64::from(rpm) * CORRECTION_SHARE;
        if pace * half_s > most_rpm {
            half_s = gain.abs() * 60.0 / most_rpm;
            pace = most_rpm / half_s;
        }
        let pace = pace * gain.signum();
        let (mut at, mut turn) = (from, self.turn(from));
        self.stretches.retain(|stretch| stretch.from < from);
        let speeds = [(f64::from(rpm), pace), (f64::from(rpm) + pace * half_s, -pace)];
        for (rpm, acceleration_rpm_s) in speeds {
            let motion = Motion::Changing { rpm, acceleration_rpm_s };
            let stretch = Stretch { from: at, turn, motion };
            self.stretches.push(stretch);
            at = later(at, half_s);
            turn = stretch.turned(at).rem_euclid(1.0);
        }
        self.stretches.push(Stretch { from: at, turn, motion: Motion::Even { rpm } });
        // The remaining error comes from rounding times to nanoseconds; the angle is corrected by it.
        let rest = missing(self, at);
        if rest.abs() < PHASE_TOLERANCE
            && let Some(last) = self.stretches.last_mut()
        {
            last.turn = (last.turn + rest).rem_euclid(1.0);
        }
    }

    fn index(&self, at: SimTime) -> usize {
        self.stretches.iter().rposition(|stretch| stretch.from <= at).unwrap_or(0)
    }

    fn stretch(&self, at: SimTime) -> &Stretch {
        &self.stretches[self.index(at)]
    }
}

/// Fractional part of an angle in rotations, 0..=1: equals `rem_euclid(1.0)`, but is much faster.
pub(super) fn part_of_turn(turns: f64) -> f64 {
    turns - turns.floor()
}

/// End of the cell that contains `at`.
fn cell_end(at: SimTime) -> SimTime {
    SimTime((at.0 / CELL_NS + 1).saturating_mul(CELL_NS))
}

fn later(at: SimTime, seconds: f64) -> SimTime {
    SimTime(at.0 + SimTime::from_secs_f64(seconds).0)
}

/// The first time at or after `at` that is a whole number of seconds before or after `second`.
fn next_second(at: SimTime, second: SimTime) -> SimTime {
    let wanted = second.0 % SECOND_NS;
    SimTime(at.0 + (wanted + SECOND_NS - at.0 % SECOND_NS) % SECOND_NS)
}

#[cfg(test)]
mod tests;
