//! Poses of a camera within an interval: a few are evaluated, the others are interpolated.

use crate::frames::{Sensor, Transform, World};
use crate::sensors::Surroundings;
use crate::time::SimTime;

/// Poses that are evaluated.
const POSES: usize = 9;

/// The camera's poses at equal steps of an interval.
pub(super) struct Poses {
    first: SimTime,
    span_ns: u64,
    /// The poses, from the start of the interval to its end.
    pub(super) all: [Transform<World, Sensor>; POSES],
}

impl Poses {
    /// Those from `first` to `last`.
    pub(super) fn between(first: SimTime, last: SimTime, surroundings: &Surroundings<'_>) -> Self {
        let span_ns = last.0.saturating_sub(first.0);
        let all = std::array::from_fn(|step| {
            let after = u128::from(span_ns) * step as u128 / (POSES - 1) as u128;
            surroundings.world_from_sensor(SimTime(first.0 + after as u64))
        });
        Self { first, span_ns, all }
    }

    /// Whether the camera stays where it is.
    pub(super) fn is_still(&self) -> bool {
        self.all.iter().all(|pose| *pose == self.all[0])
    }

    /// Index of the evaluated pose before `at`, and the share of the step to the next one.
    pub(super) fn around(&self, at: SimTime) -> (usize, f64) {
        let share = at.0.saturating_sub(self.first.0) as f64 / self.span_ns.max(1) as f64;
        let step = share.min(1.0) * (POSES - 1) as f64;
        let before = (step as usize).min(POSES - 2);
        (before, step - before as f64)
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
