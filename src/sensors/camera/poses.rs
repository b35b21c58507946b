//! Poses of a camera within an interval. A few are computed, the others are interpolated.

use glam::{DMat3, DVec3};

use super::lanes::{real, whole};
use crate::frames::{Sensor, Transform, World};
use crate::sensors::Surroundings;
use crate::time::SimTime;

/// Number of computed poses.
const POSES: usize = 9;

/// The camera's poses at equal steps of an interval.
pub(super) struct Poses {
    first: SimTime,
    span_ns: u64,
    /// The poses, from the start of the interval to its end.
    pub(super) all: [Transform<World, Sensor>; POSES],
    /// Rotations of the poses.
    pub(super) turns: [DMat3; POSES],
    /// Whether the camera does not move.
    pub(super) is_still: bool,
}

impl Poses {
    /// Computes the poses from `first` to `last`.
    pub(super) fn between(first: SimTime, last: SimTime, surroundings: &Surroundings<'_>) -> Self {
        let span_ns = last.0.saturating_sub(first.0);
        let all: [_; POSES] = std::array::from_fn(|step| {
            let after = u128::from(span_ns) * step as u128 / (POSES - 1) as u128;
            surroundings.world_from_sensor(SimTime(first.0 + after as u64))
        });
        let turns = all.map(|pose| DMat3::from_quat(pose.rotation));
        let is_still = all.iter().all(|pose| *pose == all[0]);
        Self { first, span_ns, all, turns, is_still }
    }

    /// Index of the computed pose before `at`, and the elapsed share of the step to the next one. The interval is
    /// shorter than 2^52 nanoseconds.
    #[inline(always)]
    pub(super) fn around(&self, at: SimTime) -> (usize, f64) {
        let span_ns = self.span_ns.max(1);
        let share = real(at.0.saturating_sub(self.first.0).min(span_ns)) / real(span_ns);
        let step = share * (POSES - 1) as f64;
        let before = whole(step).min(POSES as u64 - 2);
        (before as usize, step - real(before))
    }

    /// Rotations and positions of the computed pose `before`, from [`Poses::around`], and of the next one.
    #[inline(always)]
    pub(super) fn pair(&self, before: usize) -> [(&DMat3, DVec3); 2] {
        let before = before.min(POSES - 2);
        [before, before + 1].map(|step| (&self.turns[step], self.all[step].translation))
    }

    /// The pose at an instant.
    pub(super) fn at(&self, at: SimTime) -> Transform<World, Sensor> {
        if self.span_ns == 0 {
            return self.all[0];
        }
        let (before, share) = self.around(at);
        self.all[before].interpolate(&self.all[before + 1], share)
    }
}
