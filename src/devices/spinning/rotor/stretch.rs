//! A stretch: a period with constant angular acceleration.

use std::f64::consts::TAU;

use crate::sensors::RotorPiece;
use crate::time::SimTime;

pub(super) const MINUTE_NS: u128 = 60_000_000_000;

/// A period that lasts until the next stretch begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stretch {
    pub from: SimTime,
    /// Angle at `from`, in rotations, 0..1.
    pub turn: f64,
    pub motion: Motion,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Motion {
    Even {
        rpm: u32,
    },
    Changing {
        /// Speed at the start of the stretch.
        rpm: f64,
        acceleration_rpm_s: f64,
    },
}

impl Stretch {
    fn seconds_in(&self, at: SimTime) -> f64 {
        at.0.saturating_sub(self.from.0) as f64 * 1e-9
    }

    /// Angle at `at`, in rotations. Includes full rotations since `from`, except at constant speed.
    pub fn turned(&self, at: SimTime) -> f64 {
        match self.motion {
            Motion::Even { rpm } => {
                // Integers until the last step, so that long runs do not drift.
                let past_ns = at.0.saturating_sub(self.from.0);
                let turned = match past_ns.checked_mul(rpm.into()) {
                    Some(product) => product % MINUTE_NS as u64,
                    // The product exceeds 64 bits only after months of running.
                    None => (u128::from(past_ns) * u128::from(rpm) % MINUTE_NS) as u64,
                };
                turned as f64 / MINUTE_NS as f64 + self.turn
            }
            Motion::Changing { rpm, acceleration_rpm_s } => {
                let past_s = self.seconds_in(at);
                self.turn + (rpm + 0.5 * acceleration_rpm_s * past_s) * past_s / 60.0
            }
        }
    }

    pub fn rpm(&self, at: SimTime) -> f64 {
        match self.motion {
            Motion::Even { rpm } => rpm.into(),
            Motion::Changing { rpm, acceleration_rpm_s } => {
                rpm + acceleration_rpm_s * self.seconds_in(at)
            }
        }
    }

    /// Rotor motion of this stretch from `from` on, as a piece of a sweep that started at `start`.
    pub fn piece(&self, start: SimTime, from: SimTime) -> RotorPiece {
        RotorPiece {
            from_ns: from.0 - start.0,
            azimuth_rad: self.turned(from).rem_euclid(1.0) * TAU,
            rate_rad_s: self.rpm(from) / 60.0 * TAU,
            acceleration_rad_s2: match self.motion {
                Motion::Even { .. } => 0.0,
                Motion::Changing { acceleration_rpm_s, .. } => acceleration_rpm_s / 60.0 * TAU,
            },
        }
    }

    /// The first time after `from` and up to `end` at which the rotor reaches angle 0; `None` if there is none.
    pub fn first_zero(&self, from: SimTime, end: SimTime) -> Option<SimTime> {
        let whole_turns = |at: SimTime| match self.motion {
            // Counted from the start of the stretch in integers, because `turned` leaves out full rotations.
            Motion::Even { rpm } => {
                let turned = u128::from(at.0 - self.from.0) * u128::from(rpm);
                let part = (turned % MINUTE_NS) as f64 / MINUTE_NS as f64 + self.turn;
                (turned / MINUTE_NS) as f64 + part.floor()
            }
            Motion::Changing { .. } => self.turned(at).floor(),
        };
        let begun = whole_turns(from);
        if whole_turns(end) <= begun {
            return None;
        }
        let (mut before, mut by) = (from.0, end.0);
        while by - before > 1 {
            let middle = before + (by - before) / 2;
            if whole_turns(SimTime(middle)) > begun { by = middle } else { before = middle }
        }
        Some(SimTime(by))
    }
}
