//! Converts a joint's position to counts and timestamps, and finds passages of the index mark.

use super::profile::{Counting, JointEncoderSettings};
use crate::config::rig::joints::JointKind;
use crate::sensors::noise::{NoiseSource, Quantity};
use crate::time::SimTime;
use crate::wire::joint_lines::Position;
use crate::world::joints::JointState;

/// Counter of a joint's steps.
#[derive(Clone, Debug)]
pub(super) struct Counter {
    /// Steps per radian or metre; negative if the count falls while the position rises.
    steps_per_unit: f64,
    /// Steps per rotation; `None` for a sliding joint.
    steps_per_turn: Option<i64>,
    zero_count: i64,
    counting: Counting,
    index_count: i64,
}

impl Counter {
    pub(super) fn new(settings: &JointEncoderSettings, kind: JointKind) -> Self {
        let (steps, per_turn) = match kind {
            JointKind::Revolute => (
                f64::from(settings.steps_per_turn) / std::f64::consts::TAU,
                Some(i64::from(settings.steps_per_turn)),
            ),
            JointKind::Prismatic => (f64::from(settings.steps_per_m), None),
        };
        Self {
            steps_per_unit: if settings.is_reversed { -steps } else { steps },
            steps_per_turn: per_turn,
            zero_count: settings.zero_count,
            counting: settings.counting,
            index_count: settings.index_count,
        }
    }

    /// Number of steps from position zero to `position`, including the fraction.
    fn steps(&self, position: f64) -> f64 {
        position * self.steps_per_unit
    }

    /// Position of the joint at a total count, rad or m.
    pub(super) fn position(&self, count: i64) -> f64 {
        (count - self.zero_count) as f64 / self.steps_per_unit
    }

    /// Total count at a position: the count of position zero plus the nearest whole number of steps.
    pub(super) fn total(&self, position: f64) -> i64 {
        self.zero_count.saturating_add(self.steps(position).round() as i64)
    }

    /// Count that an output line reports: within one rotation or unlimited, as the setting `counting` selects.
    pub(super) fn told(&self, position: f64) -> i64 {
        let total = self.total(position);
        match (self.counting, self.steps_per_turn) {
            (Counting::Turn, Some(turn)) => total.rem_euclid(turn),
            _ => total,
        }
    }

    /// Number of the interval between index marks that contains a position; interval 0 starts at `index_count`. A
    /// change of the number means that a mark was passed.
    fn marks(&self, position: f64) -> i64 {
        let steps = self.steps(position) - (self.index_count - self.zero_count) as f64;
        match self.steps_per_turn {
            Some(turn) => (steps / turn as f64).floor() as i64,
            None => -i64::from(steps < 0.0),
        }
    }

    /// Time and position (rad or m) of the passage of an index mark between two samples; `None` if no mark is passed.
    pub(super) fn passage(
        &self,
        from: &(SimTime, JointState),
        to: &(SimTime, JointState),
    ) -> Option<(SimTime, f64)> {
        let before = self.marks(from.1.position);
        if self.marks(to.1.position) == before {
            return None;
        }
        // Bisection of the cubic curve through positions and rates at both ends, to a nanosecond.
        let span_ns = to.0.0.saturating_sub(from.0.0);
        let span_s = span_ns as f64 * 1e-9;
        let at = |after_ns: u64| {
            let s = after_ns as f64 / span_ns as f64;
            let (p0, p1) = (from.1.position, to.1.position);
            let (r0, r1) = (from.1.rate * span_s, to.1.rate * span_s);
            let way = p1 - p0;
            p0 + s * (r0 + s * (3.0 * way - 2.0 * r0 - r1 + s * (r0 + r1 - 2.0 * way)))
        };
        let (mut low, mut high) = (0, span_ns);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.marks(at(middle)) == before {
                low = middle;
            } else {
                high = middle;
            }
        }
        Some((SimTime(from.0.0 + high), at(high)))
    }
}

#[derive(Clone, Debug)]
pub(super) struct UnitClock {
    offset_ns: i64,
    drift: f64,
    jitter_s: f64,
    decimals: u8,
    /// Time after which timestamps restart at zero, nanoseconds.
    round_ns: i128,
    noise: NoiseSource,
    lines: u64,
}

impl UnitClock {
    pub(super) fn new(settings: &JointEncoderSettings, noise: NoiseSource) -> Self {
        Self {
            offset_ns: settings.clock.offset_ns,
            drift: settings.clock.drift_ppm * 1e-6,
            jitter_s: settings.clock.jitter_s,
            decimals: settings.time_decimals,
            round_ns: (1i128 << settings.time_bits) * 1_000_000,
            noise,
            lines: 0,
        }
    }

    /// The position to send in a line of text: `count`, with the unit's clock reading at `at` as its timestamp.
    pub(super) fn stamp(&mut self, at: SimTime, count: i64) -> Position {
        let jitter_s = match self.jitter_s {
            0.0 => 0.0,
            std => std * self.noise.request(self.lines).standard_normal(0, Quantity::ClockJitter),
        };
        self.lines += 1;
        let off_ns = at.0 as f64 * self.drift + jitter_s * 1e9;
        let ns = i128::from(at.0) + i128::from(self.offset_ns) + off_ns.round() as i128;
        let unit_ns = 1_000_000 / 10i128.pow(u32::from(self.decimals));
        // The time is rounded to the nearest unit, then wrapped: the last half unit becomes the start of the next
        // round.
        let units = (ns + unit_ns / 2).div_euclid(unit_ns).rem_euclid(self.round_ns / unit_ns);
        Position { time: units as u64, time_decimals: self.decimals, count }
    }
}
