//! Queue of a motor's moves: by a distance and to a position.
//!
//! A move by a distance runs at its speed until the encoder has counted the distance; then the next move begins.
//! Without a next move, the motor decelerates with the acceleration of the move, or, if the move has none, within one
//! second. The speed of a move to a position is limited by the deceleration of the move and the gain of the position
//! controller.

use std::collections::VecDeque;

use super::settings::Values;
use crate::drive_base::Unit;
use crate::time::SimTime;

/// Largest number of moves that wait behind the active one.
const WAITING: usize = 64;
/// Answer to command 47 without an active or waiting move.
pub const EMPTY: u8 = 0x80;
/// Period at which the progress of moves is checked, nanoseconds.
pub const STEP_NS: u64 = 1_000_000;
/// Period of speed updates during a move to a position, nanoseconds.
const CONTROL_NS: u64 = 10_000_000;
/// Largest gain of the position controller, 1/s; a larger one would make the vehicle oscillate.
const HIGHEST_GAIN_HZ: f64 = 8.0;
/// Smallest dead zone around a target position, counts.
const REACHED_COUNTS: u32 = 2;

/// Target of a move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    /// Moves by this number of counts, in the direction of the speed.
    Distance(u32),
    /// Moves to this count; the second number is the largest deceleration, counts/s² (0: no limit).
    Position(i64, f64),
}

/// A move of a motor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Move {
    /// Acceleration, counts/s²; 0: immediate.
    pub accel_counts_s2: f64,
    /// Speed, counts per second; its sign is the direction.
    pub speed_counts_s: f64,
    /// Target of the move.
    pub goal: Goal,
}

/// Queue of a motor's moves.
#[derive(Clone, Debug, Default)]
pub struct Moves {
    current: Option<Running>,
    waiting: VecDeque<Move>,
}

#[derive(Clone, Copy, Debug)]
struct Running {
    order: Move,
    /// Total count at the start of the active move.
    from_counts: i64,
    controlled_at: Option<SimTime>,
}

impl Moves {
    /// Queues a move; with `is_now`, the move replaces all others. If the queue is full, the move is ignored.
    pub fn put(&mut self, order: Move, is_now: bool) {
        if is_now {
            self.clear();
        }
        if self.waiting.len() < WAITING {
            self.waiting.push_back(order);
        }
    }

    /// Drops all moves.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Whether a move is active or queued.
    pub fn is_active(&self) -> bool {
        self.current.is_some() || !self.waiting.is_empty()
    }

    /// Answer to command 47: number of moves that wait behind the active one, or [`EMPTY`] without an active or waiting
    /// move.
    pub fn depth(&self) -> u8 {
        if self.is_active() { self.waiting.len() as u8 } else { EMPTY }
    }

    /// Target position minus present position, counts; 0 without an active move to a position.
    pub fn error_counts(&self, motor: usize, unit: &Unit) -> i64 {
        match self.current.map(|running| running.order.goal) {
            Some(Goal::Position(target, _)) => target - unit.counts(motor),
            _ => 0,
        }
    }

    /// Updates the active move at `at`. When a move is complete, the next one starts.
    pub fn step(&mut self, at: SimTime, motor: usize, values: &Values, unit: &mut Unit) {
        let mut ended = None;
        while let Some(running) = &mut self.current {
            if !running.step(at, motor, values, unit) {
                return;
            }
            ended = Some(running.order);
            self.current = None;
            self.begin(at, motor, unit);
        }
        self.begin(at, motor, unit);
        if let (None, Some(order)) = (&self.current, ended) {
            let accel = match order.goal {
                Goal::Distance(_) if order.accel_counts_s2 > 0.0 => order.accel_counts_s2,
                Goal::Distance(_) => order.speed_counts_s.abs(),
                Goal::Position(..) => 0.0,
            };
            unit.ramp(at, motor, 0.0, unit.metres(accel));
        }
    }

    fn begin(&mut self, at: SimTime, motor: usize, unit: &mut Unit) {
        if self.current.is_some() {
            return;
        }
        let Some(order) = self.waiting.pop_front() else { return };
        let from_counts = unit.all_counts(motor);
        self.current = Some(Running { order, from_counts, controlled_at: None });
        if let Goal::Distance(_) = order.goal {
            let accel_m_s2 = unit.metres(order.accel_counts_s2);
            unit.ramp(at, motor, unit.metres(order.speed_counts_s), accel_m_s2);
        }
    }
}

impl Running {
    /// Updates the active move at `at`; returns whether the move is complete.
    fn step(&mut self, at: SimTime, motor: usize, values: &Values, unit: &mut Unit) -> bool {
        match self.order.goal {
            Goal::Distance(counts) => {
                let speed = self.order.speed_counts_s;
                if counts == 0 || speed == 0.0 {
                    return !unit.is_ramping(motor);
                }
                let gone = (unit.all_counts(motor) - self.from_counts) as f64 * speed.signum();
                gone >= f64::from(counts)
            }
            Goal::Position(target, decel) => self.approach(at, motor, target, decel, values, unit),
        }
    }

    fn approach(
        &mut self,
        at: SimTime,
        motor: usize,
        target: i64,
        decel_counts_s2: f64,
        values: &Values,
        unit: &mut Unit,
    ) -> bool {
        let (gain_hz, dead_zone, _) = values.position(motor);
        let left = (target - unit.counts(motor)) as f64;
        if left.abs() <= f64::from(dead_zone.max(REACHED_COUNTS)) {
            return true;
        }
        if self.controlled_at.is_some_and(|last| at.0 < last.0 + CONTROL_NS) {
            return false;
        }
        let step_s = CONTROL_NS as f64 * 1e-9;
        self.controlled_at = Some(at);
        let mut speed = (gain_hz.min(HIGHEST_GAIN_HZ) * left.abs()).min(self.order.speed_counts_s);
        if decel_counts_s2 > 0.0 {
            speed = speed.min((2.0 * decel_counts_s2 * left.abs()).sqrt());
        }
        let mut wanted = speed.copysign(left);
        if self.order.accel_counts_s2 > 0.0 {
            let now = unit.setpoint_m_s(motor) * unit.settings.wheels.counts_per_m;
            let most = self.order.accel_counts_s2 * step_s;
            // The acceleration limits only increases of speed; the position controller limits decreases.
            if wanted.abs() > now.abs() || wanted.signum() != now.signum() {
                wanted = wanted.clamp(now - most, now + most);
            }
        }
        let mut motors = [None; 2];
        motors[motor] = Some(unit.metres(wanted));
        unit.drive(at, motors);
        false
    }
}
