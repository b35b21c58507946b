//! Shadows of a distant light: whether anything lies between a position and the sun.
//!
//! The rays are parallel, and only the existence of a hit is computed. A bundle is bounded by the shifts of its rays
//! instead of their slopes. A ray leaves the traversal at the first hit found, even if it is not the nearest.

use fearless_simd::{Simd, dispatch};
use glam::{DMat3, DVec3};

use super::bundle::{Bundle, MAX_LANES, NONE, REGISTERS, ROUNDING, least, most, of_register};
use super::bvh::BvhCaster;
use super::fired::Fired;
use super::walk::{WALKERS, Walker};
use super::{Beams, fastest};

/// Largest distance of a bundle's rays from its first ray, metres.
const MAX_APART_M: f64 = 1.0;

/// For each position in `from`, writes whether anything lies between the position and the light.
pub(super) fn blocked(caster: &BvhCaster, beams: &Beams, from: &[DVec3], blocked: &mut [bool]) {
    dispatch!(fastest(), simd => cast(simd, caster, beams, from, blocked));
}

#[inline(always)]
fn cast<S: Simd>(simd: S, caster: &BvhCaster, beams: &Beams, from: &[DVec3], blocked: &mut [bool]) {
    let mut next = 0;
    let mut walkers: [Walker; WALKERS] = std::array::from_fn(|_| Walker::new());
    let walkers = &mut walkers[..if caster.is_small { 1 } else { WALKERS }];
    let fired = Fired::Beams(beams, from);
    let mut is_busy = true;
    while is_busy {
        is_busy = false;
        for walker in &mut *walkers {
            if walker.step(simd, caster, &fired) {
                is_busy = true;
                continue;
            }
            let places_done = walker.pulses.clone();
            for (place, hit) in blocked[places_done].iter_mut().zip(walker.bundle.placed) {
                *place = hit != NONE;
            }
            walker.pulses = next..next;
            if next < from.len() {
                let first = next;
                next += bundle_len(&from[first..], beams.toward);
                walker.bundle.aim_parallel(&from[first..next], beams.toward, beams.reach_m);
                walker.bundle.first = first;
                walker.start(simd, caster);
                walker.pulses = first..next;
                is_busy = true;
            }
        }
    }
}

/// Number of positions from the start of `from` that form a bundle.
fn bundle_len(from: &[DVec3], toward: DVec3) -> usize {
    let is_near = |place: &&DVec3| {
        let away = **place - from[0];
        let along = away.dot(toward);
        away.length_squared() - along * along <= MAX_APART_M * MAX_APART_M
    };
    from.iter().take(MAX_LANES).take_while(is_near).count().max(1)
}

impl Bundle {
    /// Initialises the bundle with parallel rays from up to [`MAX_LANES`] positions. A ray leaves the traversal at the
    /// first hit found.
    pub fn aim_parallel(&mut self, from: &[DVec3], toward: DVec3, reach_m: f32) {
        let (first, last) = (from[0], from[from.len() - 1]);
        let across = last - first;
        let x = (across - toward * across.dot(toward))
            .try_normalize()
            .unwrap_or_else(|| toward.any_orthonormal_vector());
        self.to_world = DMat3::from_cols(x, toward.cross(x), toward);
        let from_world = self.to_world.transpose();
        self.from_world = from_world.as_mat3();
        self.lanes = from.len();
        let mut turned = [DVec3::ZERO; MAX_LANES];
        let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        for (turned, place) in turned.iter_mut().zip(from) {
            *turned = from_world * (*place - first);
            (low, high) = (low.min(*turned), high.max(*turned));
        }
        // The origin has the least depth of all starts, so that no ray starts before it, and in the middle of the rays,
        // so that the largest shifts to both sides are equal.
        let middle = DVec3::new(0.5 * (low.x + high.x), 0.5 * (low.y + high.y), low.z);
        self.origin = first + self.to_world * middle;
        self.is_parallel = true;
        self.steepness = 0.0;
        self.rounding_m = ROUNDING * MAX_APART_M as f32;
        self.is_stale = false;
        self.has_hit = false;
        self.slope_x = [0.0; MAX_LANES];
        self.slope_y = [0.0; MAX_LANES];
        self.stretch = [1.0; MAX_LANES];
        self.placed = [NONE; MAX_LANES];
        for lane in 0..MAX_LANES {
            // Lanes without a ray repeat the last one, which does not widen the bundle.
            let place = (turned[lane.min(from.len() - 1)] - middle).as_vec3();
            self.shift_x[lane] = place.x;
            self.shift_y[lane] = place.y;
            self.start[lane] = place.z;
            let is_used = lane < from.len();
            let ends = if is_used { place.z + reach_m } else { f32::NEG_INFINITY };
            self.depth_low[lane] = ends * (1.0 - ROUNDING) - self.rounding_m;
            self.depth[lane] = ends * (1.0 + ROUNDING) + self.rounding_m;
            self.ray[lane] = lane as u16;
        }
        let registers = self.registers();
        for (axis, shift) in [&self.shift_x, &self.shift_y].into_iter().enumerate() {
            self.spans.low[axis] = [f32::INFINITY; REGISTERS];
            self.spans.high[axis] = [f32::NEG_INFINITY; REGISTERS];
            let (mut low, mut high) = (f32::INFINITY, f32::NEG_INFINITY);
            for register in 0..registers {
                let values = of_register::<f32>(shift, register);
                let (least, most) = (least(values), most(values));
                self.spans.low[axis][register] = least;
                self.spans.high[axis][register] = most;
                (low, high) = (low.min(least), high.max(most));
            }
            (self.low[axis], self.high[axis]) = (low, high);
            self.shift[axis] = high.max(-low);
        }
        let ends = ((high.z - middle.z) as f32 + reach_m) * (1.0 + ROUNDING) + self.rounding_m;
        self.nearest = reach_m;
        self.farthest = ends;
        self.deepest = ends;
        self.least_start = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use fearless_simd::Level;

    use super::super::draws::Draws;
    use super::super::{Hit, RayCaster, Stencil};
    use super::*;
    use crate::world::raycast::cast::tests::{fixture, levels, textured_fixture};

    /// Positions on and above the ground, some near one another.
    fn places() -> Vec<DVec3> {
        let mut draws = Draws(5);
        let mut draw = || draws.share();
        let place = |k: usize| {
            let patch = DVec3::new(8.0 + (k / 100 % 9) as f64, (k / 900) as f64 - 5.0, -2.0);
            patch + DVec3::new(draw(), draw(), if k.is_multiple_of(7) { 2.0 * draw() } else { 0.0 })
        };
        (0..9000).map(place).collect()
    }

    /// Returns the number of blocked positions, after comparing them with separate rays.
    fn count_blocked(caster: &BvhCaster, beams: &Beams, from: &[DVec3]) -> usize {
        let found = |level: Level| {
            let mut found = vec![false; from.len()];
            dispatch!(level, simd => cast(simd, caster, beams, from, &mut found));
            found
        };
        let portable = found(Level::baseline());
        for level in levels() {
            assert_eq!(found(level), portable, "{level:?}");
        }
        let rays: Vec<_> = from.iter().map(|place| beams.ray(*place)).collect();
        let mut hits = vec![Hit::MISS; from.len()];
        caster.cast(&Stencil::single(), &rays, &mut hits);
        let differ = hits.iter().zip(&portable);
        let differ = differ.filter(|(hit, found)| hit.range_m.is_finite() != **found).count();
        let blocked = portable.iter().filter(|blocked| **blocked).count();
        assert!(differ == 0, "{}: {differ} of {blocked}", beams.toward);
        blocked
    }

    #[test]
    fn what_is_blocked_is_what_a_ray_hits() {
        let ((solid, ..), (with_holes, ..)) = (fixture(), textured_fixture());
        let from = places();
        let mut through_holes = 0;
        for toward in [DVec3::Z, DVec3::new(0.6, 0.3, 0.5).normalize(), DVec3::X, -DVec3::Y] {
            let beams = Beams { toward, reach_m: 30.0 };
            let blocked = count_blocked(&solid, &beams, &from);
            assert!(blocked > 100 && blocked < from.len() - 100, "{toward}: {blocked}");
            through_holes += blocked - count_blocked(&with_holes, &beams, &from);
        }
        assert!(through_holes > 0, "no light passes the holes");
    }
}
