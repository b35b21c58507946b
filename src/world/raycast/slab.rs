//! Depths at which a bundle's rays are inside boxes, in the boxes' own axes.
//!
//! [`super::shadow`] encloses a box again in the axes of the bundle: a wall that is oblique to the bundle becomes a
//! block as deep as the wall is long. In its own axes a box keeps its size. There a ray is `origin + depth * slope`,
//! and a bundle has bounds of `slope` on each axis. A few operations give the range of depth between each pair of sides
//! (Kay and Kajiya, Ray Tracing Complex Scenes, SIGGRAPH 1986), here for all rays at once. Parallel rays all have the
//! same slope; for them, boxes are widened by the rays' shifts.

use fearless_simd::prelude::{Select, SimdBase, SimdFrom, SimdMask};
use fearless_simd::{Simd, f32x4, f32x8};
use glam::{Mat3, Vec3};

use super::bundle::{Bundle, ROUNDING, max};

/// Finite number that stands for the inverse of a slope of zero.
const ENDLESS: f32 = 1e25;
/// Added to every margin by which boxes are widened. Even the smallest margin times [`ENDLESS`] is then greater than
/// any depth.
const LEAST_SLACK: f32 = 1e-12;
/// A box is large if its extent exceeds this multiple of the bundle's extent at the depth of the box.
const LARGE: f32 = 2.0;

/// Bounds of a bundle's directions, in World.
#[derive(Default)]
pub struct Spread {
    /// The middle direction, with length 1 along the bundle's `z`.
    middle: Vec3,
    /// Largest difference between a ray and the middle, along the bundle's `x` and along its `y`: a difference in
    /// direction or, for parallel rays, in shift.
    across: [Vec3; 2],
}

/// A bundle in the axes of a frame. Arrays have an element for each axis; a fourth element has no meaning.
#[derive(Default)]
pub struct Slabs {
    origin: [f32; 3],
    /// Margin by which boxes are widened: rounding, and the distance of the rays' starts from the origin.
    slack: [f32; 4],
    /// Inverse of the largest absolute slope.
    steep: [f32; 4],
    /// Inverse of the slope nearest to zero; 0 if slopes have both signs.
    flat: [f32; 4],
    /// The absolute value of `flat`, but [`ENDLESS`] instead of 0.
    flat_size: [f32; 4],
    /// The greatest depth at which a ray can end.
    farthest: f32,
    /// A box is large if its extent exceeds `large` times its depth plus `large_m`, metres.
    large: f32,
    large_m: f32,
}

/// Depths at which the bundle enters and leaves eight boxes.
pub struct Depths<S: Simd> {
    pub near: f32x8<S>,
    pub far: f32x8<S>,
    /// A bit for each box that the bundle passes through.
    pub met: u32,
    /// A bit for each box that is large compared with the bundle.
    pub large: u32,
}

impl Spread {
    #[inline(always)]
    pub fn new(bundle: &Bundle) -> Self {
        let from_world = &bundle.from_world;
        let (x, y, z) = (from_world.row(0), from_world.row(1), from_world.row(2));
        let ([low_x, low_y], [high_x, high_y]) = (bundle.low, bundle.high);
        let across = [x * (0.5 * (high_x - low_x)), y * (0.5 * (high_y - low_y))];
        let middle = x * (0.5 * (low_x + high_x)) + y * (0.5 * (low_y + high_y));
        let aside = if bundle.is_parallel { Vec3::ZERO } else { middle };
        Self { middle: z + aside, across }
    }
}

impl Slabs {
    /// The bundle in the frame to which `frame_from_world` rotates. `origin` is the bundle's origin in that frame.
    /// Coordinates in the bundle's frame have the rounding error `rounding_m`.
    #[inline(always)]
    pub fn new<S: Simd>(
        simd: S,
        bundle: &Bundle,
        spread: &Spread,
        frame_from_world: &Mat3,
        origin: Vec3,
        rounding_m: f32,
    ) -> Self {
        let m = frame_from_world.to_cols_array();
        let columns = [
            f32x4::simd_from(simd, [m[0], m[1], m[2], m[3]]),
            f32x4::simd_from(simd, [m[3], m[4], m[5], m[6]]),
            f32x4::simd_from(simd, [m[6], m[7], m[8], m[8]]),
        ];
        // For each axis of the frame, the largest possible component of a vector whose components in World are at most
        // 1.
        let stretch = columns[0].abs() + columns[1].abs() + columns[2].abs();
        let slope = turn(&columns, spread.middle);
        let reach = turn(&columns, spread.across[0]).abs() + turn(&columns, spread.across[1]).abs();
        let zero = f32x4::splat(simd, 0.0);
        // Parallel rays differ in position, other rays in slope.
        let (places, slopes) = if bundle.is_parallel { (reach, zero) } else { (zero, reach) };
        let (size, margin) = (slope.abs(), slopes + stretch * (4.0 * ROUNDING));
        let (least, most) = (size - margin, size + margin);
        let is_one_sided = least.simd_gt(f32x4::splat(simd, 1.0 / ENDLESS));
        let inverse = f32x4::splat(simd, 1.0 + ROUNDING) / least;
        let flat = slope.simd_gt(zero).select(inverse, zero - inverse);
        // For rays that start behind the origin, the rays' length before the origin is added to the margin.
        let before_m = max(-bundle.least_start, 0.0);
        let shift_m = if bundle.is_parallel { 0.0 } else { bundle.shift[0] + bundle.shift[1] };
        let slack = places + most * before_m + stretch * (shift_m + rounding_m) + LEAST_SLACK;
        let (places, slopes): ([f32; 4], [f32; 4]) = (places.into(), slopes.into());
        Self {
            origin: origin.to_array(),
            slack: slack.into(),
            steep: (f32x4::splat(simd, 1.0 - ROUNDING) / most).into(),
            flat: is_one_sided.select(flat, zero).into(),
            flat_size: is_one_sided.select(inverse, f32x4::splat(simd, ENDLESS)).into(),
            farthest: bundle.farthest,
            large: LARGE * (slopes[0] + slopes[1] + slopes[2]),
            // Boxes are already widened by the shifts.
            large_m: (LARGE + 1.0) * (places[0] + places[1] + places[2]),
        }
    }

    /// Depths at which the bundle enters and leaves eight boxes. `middle` and `half` are the middles and half sizes of
    /// the boxes, by axis.
    #[inline(always)]
    pub fn depths<S: Simd>(
        &self,
        simd: S,
        middle: [f32x8<S>; 3],
        half: [f32x8<S>; 3],
    ) -> Depths<S> {
        let mut near = f32x8::splat(simd, 0.0);
        let mut far = f32x8::splat(simd, self.farthest);
        for axis in 0..3 {
            let middle = middle[axis] - self.origin[axis];
            let half = half[axis] + self.slack[axis];
            // For a box behind the origin, `near` is wrong. Such a box is excluded because its `far` is negative.
            near = near.max((middle.abs() - half) * self.steep[axis]);
            far = far.min(middle * self.flat[axis] + half * self.flat_size[axis]);
        }
        let met = near.simd_le(far).to_bitmask() as u32;
        let large = (half[0] + half[1] + half[2]).simd_gt(near * self.large + self.large_m);
        Depths { near, far, met, large: large.to_bitmask() as u32 }
    }
}

/// Rotates a vector from World to a frame; `columns` are those of `frame_from_world`, that is, World's axes in that
/// frame.
#[inline(always)]
fn turn<S: Simd>(columns: &[f32x4<S>; 3], v: Vec3) -> f32x4<S> {
    columns[0] * v.x + columns[1] * v.y + columns[2] * v.z
}

#[cfg(test)]
mod tests {
    use fearless_simd::{Level, dispatch};
    use glam::{DMat3, DQuat, DVec3};

    use super::*;
    use crate::world::raycast::bundle::{Room, Spot};
    use crate::world::raycast::draws::Draws;
    use crate::world::raycast::shadow::{Frame, View};
    use crate::world::raycast::tree::Node;
    use crate::world::raycast::{Pulse, Stencil};

    /// Neighbouring pulses from slightly different positions. In every third bundle they run along an axis.
    fn bundle(draws: &mut Draws, number: u32, spot: &Spot, room: &mut Room) -> Bundle {
        let middle = match number % 3 {
            0 => DVec3::AXES[number as usize / 3 % 3],
            _ => draws.vector().normalize(),
        };
        let aside = middle.any_orthonormal_vector();
        let origin = draws.vector() * 50.0;
        let pulses: Vec<Pulse> = (0..1 + number % 4)
            .map(|k| {
                let direction = (middle + aside * 6e-3 * f64::from(k)).normalize();
                let half_axis_u = direction.cross(middle.any_orthonormal_vector()).normalize();
                Pulse {
                    origin: origin + draws.vector() * 0.02 * f64::from(k),
                    start_m: [0.0, 0.1, 14.0][number as usize % 3],
                    direction,
                    half_axis_u: half_axis_u * 2e-3,
                    half_axis_v: direction.cross(half_axis_u) * 2e-3,
                    max_range_m: 100.0,
                }
            })
            .collect();
        let mut bundle = Bundle::new();
        bundle.aim(spot, &pulses, room);
        bundle
    }

    #[test]
    fn boxes_are_met_where_a_ray_is_in_them() {
        let mut draws = Draws(3);
        let stencil = Stencil::new(vec![[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [-1.0, -0.5]]);
        let spot = Spot::new(&stencil.unwrap());
        let mut room = Room::new();
        let mut missed = 0;
        for number in 0..3000 {
            let bundle = bundle(&mut draws, number, &spot, &mut room);
            let turn = match number % 4 {
                0 => DMat3::IDENTITY,
                // Flattened by a factor of a hundred.
                1 => DMat3::from_diagonal(DVec3::new(1.0, 1.0, 0.01)),
                _ => {
                    DMat3::from_quat(DQuat::from_scaled_axis(draws.vector() * 3.0))
                        * DMat3::from_diagonal(DVec3::ONE + 0.5 * draws.vector())
                }
            };
            let frame_from_world = turn.inverse();
            let frame = Frame {
                to_world: turn.as_mat3(),
                from_world: frame_from_world.as_mat3(),
                extent: 200.0,
                distortion: 100.0,
            };
            let origin = (frame_from_world * bundle.origin).as_vec3();
            let mut node = Node {
                middle: [[0.0; 8]; 3],
                half: [[0.0; 8]; 3],
                children: [0; 8],
                occupied: 255,
            };
            // Small boxes around points of rays, and two boxes elsewhere.
            let mut depths_of_points = [0.0; 8];
            for (slot, depth_of_point) in depths_of_points.iter_mut().enumerate() {
                let lane = (7 * slot + number as usize) % bundle.lanes;
                let share = (0.5 + 0.5 * draws.next() as f32).powi(3);
                let depth = bundle.start[lane] + share * (bundle.depth[lane] - bundle.start[lane]);
                *depth_of_point = depth;
                let beside = if slot < 6 { DVec3::ZERO } else { draws.vector() * 5.0 };
                let point = frame_from_world * (bundle.point(lane, depth) + beside);
                for axis in 0..3 {
                    let half = 10f32.powf(3.0 * draws.next() as f32 - 3.0);
                    let aside = if slot < 6 { half * 0.9 * draws.next() as f32 } else { 0.0 };
                    node.middle[axis][slot] = point[axis] as f32 + aside;
                    node.half[axis][slot] = half;
                }
            }
            dispatch!(Level::baseline(), simd => {
                let view = View::new(simd, &bundle, &Spread::new(&bundle), &frame, origin);
                let depths = view.depths(simd, &node);
                assert_eq!(depths.met & 63, 63, "bundle {number}");
                missed += (!depths.met & 192).count_ones();
                for (slot, depth) in depths_of_points.into_iter().enumerate().take(6) {
                    let depth = depth.max(0.0);
                    assert!(depths.near[slot] <= depth && depth <= depths.far[slot]);
                }
            });
        }
        assert!(missed > 4000, "{missed} of 6000 boxes beside the rays");
    }
}
