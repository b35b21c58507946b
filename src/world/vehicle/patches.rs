//! Ground that varies a robot's centres of rotation.
//!
//! The distance between the body and a track's centre of rotation depends on the ground. It is the average times
//! `1 + spread n`, with a normal random number n. Each side has one number for the run, or one for each piece of the
//! path, with smooth transitions. The numbers are hashes of seed, side and position.

use std::f64::consts::TAU;

use crate::config::rig::drive::{DriveModel, IcrVariation};
use crate::world::random;

/// Identifier of the random stream for the instantaneous centres of rotation (ICR).
const ICR: u64 = 0x1C12;
/// Smallest distance between body and centre of rotation, as a share of the average distance.
const LEAST: f64 = 0.2;

/// Variation, along the path, of the distances between the body and the centres of rotation of its tracks.
#[derive(Clone, Debug)]
pub(super) struct Patches {
    variation: Option<IcrVariation>,
}

impl Patches {
    pub fn new(model: &DriveModel) -> Self {
        let variation = match model {
            DriveModel::SkidSteer { variation, .. } => variation.clone(),
            DriveModel::Differential { .. } | DriveModel::Ackermann { .. } => None,
        };
        Self { variation }
    }

    /// Factors for the distances of the left and the right centre of rotation, after `way_m` metres of travel.
    pub fn icr_scale(&self, way_m: f64) -> [f64; 2] {
        let Some(variation) = &self.variation else { return [1.0; 2] };
        [0, 1].map(|side| {
            let draw = |place: u64| normal(variation.seed, place * 2 + side);
            let drawn = match variation.over_m {
                None => draw(0),
                Some(over_m) => {
                    let place = way_m / over_m;
                    let share = place - place.floor();
                    let (from, to) = (draw(place as u64), draw(place as u64 + 1));
                    // The transition has two continuous derivatives at the borders of pieces.
                    let eased = share * share * share * (10.0 + share * (6.0 * share - 15.0));
                    from + eased * (to - from)
                }
            };
            (1.0 + variation.spread * drawn).max(LEAST)
        })
    }
}

/// A random number with the standard normal distribution (Box and Muller).
fn normal(seed: u64, index: u64) -> f64 {
    let mut rng = random::stream(seed, ICR, index);
    let radius = (-2.0 * libm::log(1.0 - random::uniform(&mut rng, 0.0, 1.0))).sqrt();
    radius * libm::cos(random::uniform(&mut rng, 0.0, TAU))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patches(spread: f64, over_m: Option<f64>, seed: u64) -> Patches {
        let variation = Some(IcrVariation { spread, over_m, seed });
        Patches::new(&DriveModel::SkidSteer { y_icr_m: [0.45; 2], x_icr_m: 0.0, variation })
    }

    #[test]
    fn draws_have_the_spread_and_follow_the_seed() {
        let draws: Vec<f64> = (0..4000).map(|i| normal(7, i)).collect();
        let mean = draws.iter().sum::<f64>() / 4000.0;
        let spread = (draws.iter().map(|n| (n - mean) * (n - mean)).sum::<f64>() / 4000.0).sqrt();
        assert!(mean.abs() < 0.05 && (spread - 1.0).abs() < 0.04, "{mean} {spread}");
        let fixed = patches(0.1, None, 3);
        assert_eq!(fixed.icr_scale(0.0), fixed.icr_scale(99.0));
        assert_ne!(fixed.icr_scale(0.0), patches(0.1, None, 4).icr_scale(0.0));
        assert_ne!(fixed.icr_scale(0.0)[0], fixed.icr_scale(0.0)[1]);
    }

    #[test]
    fn the_course_is_continuous() {
        let slow = patches(0.1, Some(2.0), 3);
        let mut last = slow.icr_scale(0.0)[0];
        let (mut low, mut high) = (last, last);
        for i in 1..10_000 {
            let next = slow.icr_scale(f64::from(i) * 0.01)[0];
            assert!((next - last).abs() < 0.01);
            (low, high, last) = (low.min(next), high.max(next), next);
        }
        assert!(high - low > 0.2, "{low} {high}");
    }
}
