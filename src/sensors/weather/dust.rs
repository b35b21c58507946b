//! Dust in a pulse's path.

use glam::DVec3;

use super::plumes::Cloud;
use crate::sensors::receiver::Backscatter;

/// Optical depth from which MAVS's dust always returns an echo.
const MAVS_OPAQUE_DEPTH: f64 = 0.7;

/// Path of a pulse through a sphere of dust.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crossing {
    /// Start of the path, metres from the origin; 0 if the origin is inside the sphere.
    pub enter_m: f64,
    /// End of the path, metres.
    pub leave_m: f64,
    /// Extinction coefficient on the path, one way, 1/m.
    pub extinction_per_m: f64,
    /// Backscatter coefficient on the path, 1/(m sr).
    pub backscatter_per_m_sr: f64,
    /// Distance of the line from the sphere's middle, divided by the sphere's radius, 0..1.
    pub miss: f64,
    /// Share of light that MAVS's dust removes on a path through the sphere's middle.
    pub mavs_loss: f64,
}

/// Appends the paths through spheres of dust to `crossings`, in no particular order. The line starts at `origin`, runs
/// along the unit vector `direction`, and ends after `farthest` metres.
pub(super) fn cross(
    clouds: &[Cloud],
    origin: DVec3,
    direction: DVec3,
    farthest: f64,
    crossings: &mut Vec<Crossing>,
) {
    for cloud in clouds.iter().filter(|cloud| cloud.is_near(origin, direction)) {
        for sphere in &cloud.spheres {
            let to = sphere.centre - origin;
            let along = to.dot(direction);
            let square = to.length_squared() - along * along;
            let radius_square = sphere.radius_m * sphere.radius_m;
            if square >= radius_square {
                continue;
            }
            let half = (radius_square - square).sqrt();
            let (enter, leave) = ((along - half).max(0.0), along + half);
            if leave <= 0.0 || enter >= farthest {
                continue;
            }
            crossings.push(Crossing {
                enter_m: enter,
                leave_m: leave,
                extinction_per_m: sphere.extinction_per_m,
                backscatter_per_m_sr: sphere.backscatter_per_m_sr,
                miss: (square.max(0.0) / radius_square).sqrt(),
                mavs_loss: sphere.mavs_loss,
            });
        }
    }
}

/// Optical depth of dust up to a distance, one way.
pub(super) fn depth_to(range_m: f64, crossings: &[Crossing]) -> f64 {
    let depth = |crossing: &Crossing| {
        let way = (range_m.min(crossing.leave_m) - crossing.enter_m).max(0.0);
        crossing.extinction_per_m * way
    };
    crossings.iter().map(depth).sum()
}

/// Return of a pulse from the dust before a target at `target_m`, as in MAVS; `None` if the dust returns nothing. The
/// probability of a return is the optical depth of the dust divided by [`MAVS_OPAQUE_DEPTH`], at most 1. `chance`
/// returns a uniform random number in 0..1.
pub(super) fn mavs_return(
    crossings: &[Crossing],
    target_m: f32,
    chance: impl FnOnce() -> f64,
) -> Option<Backscatter> {
    let before = || crossings.iter().filter(|crossing| crossing.enter_m < f64::from(target_m));
    let nearest = before().min_by(|a, b| a.enter_m.total_cmp(&b.enter_m))?;
    let passed: f64 = before().map(|c| 1.0 - (1.0 - c.miss) * c.mavs_loss).product();
    let depth = -libm::log(passed);
    let is_dust = depth > MAVS_OPAQUE_DEPTH || chance() < depth / MAVS_OPAQUE_DEPTH;
    let reflectance = ((1.0 - passed) * nearest.miss) as f32;
    is_dust.then_some(Backscatter { range_m: nearest.enter_m as f32, reflectance })
}
