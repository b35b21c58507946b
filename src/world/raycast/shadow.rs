//! Bounds of boxes and triangles in the bundle's frame, eight at a time.
//!
//! Boxes and triangles are transformed into the bundle's frame. Their "shadow" is their range of `x / z` and `y / z`
//! there, which is compared with the rays' slopes. For parallel rays it is the range of `x` and `y`, which is
//! compared with their shifts. Rays outside these bounds and rays with a nearer hit need not be tested.

use fearless_simd::prelude::{Select, SimdBase, SimdFrom, SimdMask};
use fearless_simd::{Simd, f32x8, mask32x8};
use glam::{Mat3, Vec3};

use super::bundle::{Bundle, Lanes, PerRay, ROUNDING, max, of_register};
use super::slab::{Depths, Slabs, Spread};
use super::tree::Node;

/// Depths up to this one have [`HUGE`] as their inverse.
const TINY: f32 = 1e-30;
/// Finite inverse of depths up to [`TINY`], because the product of infinity and a bound of zero would be NaN.
const HUGE: f32 = 1e30;

/// The transform from a frame to the bundle's frame.
#[derive(Default)]
pub struct View {
    /// Rows of the matrix that converts vectors from the frame to the bundle's axes.
    rows: [[f32; 3]; 3],
    /// The bundle's origin in the frame.
    origin: [f32; 3],
    /// The bundle's origin, in the bundle's axes.
    turned_origin: [f32; 3],
    /// Margin by which boxes are widened, for rounding. In `x` and `y` it includes the distance of the rays' starts
    /// from the origin.
    slack: [f32; 3],
    /// Error of a corner's position perpendicular to a ray: `blur` times the corner's distance, plus `blur_m`, metres.
    blur: f32,
    blur_m: f32,
    /// Copy of [`Bundle::steepness`].
    steepness: f32,
    is_parallel: bool,
    /// The bundle in the axes of the frame.
    slabs: Slabs,
}

/// Orientation and extent of World, or of the frame of an instance's mesh.
pub struct Frame {
    pub to_world: Mat3,
    pub from_world: Mat3,
    /// Largest coordinate, metres.
    pub extent: f32,
    /// Upper bound of the ratio of the largest to the smallest stretch by `to_world`.
    pub distortion: f32,
}

/// Error bounds of the triangle test in the bundle's frame.
pub struct Doubt<S: Simd> {
    /// Error of the edge functions.
    pub weight: f32x8<S>,
    /// Error of a depth: `depth`, plus `tilt` divided by the magnitude of the sum of the edge functions.
    pub depth: f32x8<S>,
    pub tilt: f32x8<S>,
}

/// Bounds of eight boxes or triangles: slopes by axis (shifts if the rays are parallel), and depth.
pub struct Shadows<S: Simd> {
    pub low: [f32x8<S>; 2],
    pub high: [f32x8<S>; 2],
    pub near: f32x8<S>,
    pub far: f32x8<S>,
}

/// Corners in the bundle's frame, by corner and axis.
pub type Corners<T> = [[T; 3]; 3];

impl View {
    /// The view of `frame`. `origin` is the bundle's origin in that frame.
    #[inline(always)]
    pub fn new<S: Simd>(
        simd: S,
        bundle: &Bundle,
        spread: &Spread,
        frame: &Frame,
        origin: Vec3,
    ) -> Self {
        let m = bundle.from_world * frame.to_world;
        let rows = [
            [m.x_axis.x, m.y_axis.x, m.z_axis.x],
            [m.x_axis.y, m.y_axis.y, m.z_axis.y],
            [m.x_axis.z, m.y_axis.z, m.z_axis.z],
        ];
        let size = (origin.abs().max_element() + frame.extent) * ROUNDING;
        let rounding = [sum(rows[0]) * size, sum(rows[1]) * size, sum(rows[2]) * size];
        // For parallel rays, shadows are compared with the shifts, so that no margin is needed for them.
        let shift = if bundle.is_parallel { [0.0; 2] } else { bundle.shift };
        let slack = [rounding[0] + shift[0], rounding[1] + shift[1], rounding[2]];
        let most = max(max(rounding[0], rounding[1]), rounding[2]);
        let slabs = Slabs::new(simd, bundle, spread, &frame.from_world, origin, most);
        let origin = [origin.x, origin.y, origin.z];
        let turned_origin = [dot(rows[0], origin), dot(rows[1], origin), dot(rows[2], origin)];
        let far = max(max(origin[0].abs(), origin[1].abs()), origin[2].abs());
        Self {
            rows,
            origin,
            turned_origin,
            slack,
            blur: ROUNDING * frame.distortion,
            blur_m: 0.125 * most * (far / (far + frame.extent)) + bundle.rounding_m,
            steepness: bundle.steepness,
            is_parallel: bundle.is_parallel,
            slabs,
        }
    }

    /// Range of depth in which the bundle is inside the box of each child of `node`.
    #[inline(always)]
    pub fn depths<S: Simd>(&self, simd: S, node: &Node) -> Depths<S> {
        let (middle, half) = (load_axes(simd, &node.middle), load_axes(simd, &node.half));
        self.slabs.depths(simd, middle, half)
    }

    /// Bounds of the depth of the boxes of a node's children. Hits are culled by these bounds, not by the depth at
    /// which a ray enters a box: on a triangle seen almost edge-on, a hit can have any depth of the triangle.
    #[inline(always)]
    pub fn depth_bounds<S: Simd>(&self, simd: S, node: &Node) -> [f32x8<S>; 2] {
        self.bounds(load_axes(simd, &node.middle), load_axes(simd, &node.half), 2)
    }

    /// Shadows of the parts of the children's boxes that lie within `depths`, but with the depth bounds `near` and
    /// `far` of the complete boxes.
    #[inline(always)]
    pub fn boxes<S: Simd>(
        &self,
        simd: S,
        node: &Node,
        depths: &Depths<S>,
        [near, far]: [f32x8<S>; 2],
    ) -> Shadows<S> {
        let (middle, half) = (load_axes(simd, &node.middle), load_axes(simd, &node.half));
        let x = self.bounds(middle, half, 0);
        let y = self.bounds(middle, half, 1);
        Shadows { near, far, ..self.shadow(simd, x, y, [depths.near, depths.far]) }
    }

    /// Bounds of boxes along an axis of the bundle.
    #[inline(always)]
    fn bounds<S: Simd>(
        &self,
        middle: [f32x8<S>; 3],
        half: [f32x8<S>; 3],
        axis: usize,
    ) -> [f32x8<S>; 2] {
        let row = self.rows[axis];
        let middle =
            middle[0] * row[0] + middle[1] * row[1] + middle[2] * row[2] - self.turned_origin[axis];
        let half = half[0] * row[0].abs()
            + half[1] * row[1].abs()
            + half[2] * row[2].abs()
            + self.slack[axis];
        [middle - half, middle + half]
    }

    /// Transforms a block's triangles to the bundle's frame.
    #[inline(always)]
    pub fn triangles<S: Simd>(&self, simd: S, corners: &Corners<Lanes>) -> Corners<f32x8<S>> {
        [
            self.turn(load_axes(simd, &corners[0])),
            self.turn(load_axes(simd, &corners[1])),
            self.turn(load_axes(simd, &corners[2])),
        ]
    }

    /// Transforms points of the frame to the bundle's frame.
    #[inline(always)]
    fn turn<S: Simd>(&self, p: [f32x8<S>; 3]) -> [f32x8<S>; 3] {
        let (x, y, z) = (p[0] - self.origin[0], p[1] - self.origin[1], p[2] - self.origin[2]);
        let [row_x, row_y, row_z] = self.rows;
        [
            x * row_x[0] + y * row_x[1] + z * row_x[2],
            x * row_y[0] + y * row_y[1] + z * row_y[2],
            x * row_z[0] + y * row_z[1] + z * row_z[2],
        ]
    }

    /// Shadows of triangles that [`View::triangles`] has transformed.
    #[inline(always)]
    pub fn shadows<S: Simd>(&self, simd: S, corners: &Corners<f32x8<S>>) -> Shadows<S> {
        let x = self.reach(corners, 0);
        let y = self.reach(corners, 1);
        let z = self.reach(corners, 2);
        self.shadow(simd, x, y, z)
    }

    /// Error bounds for triangles that [`View::triangles`] has transformed. The bounds hold for rays that hit a
    /// triangle or pass close to its edges.
    #[inline(always)]
    pub fn doubt<S: Simd>(&self, simd: S, corners: &Corners<f32x8<S>>) -> Doubt<S> {
        let [a, b, c] = corners;
        let (least_z, most_z) = (a[2].min(b[2]).min(c[2]), a[2].max(b[2]).max(c[2]));
        let x = a[0].max(b[0]).max(c[0]) - a[0].min(b[0]).min(c[0]);
        let y = a[1].max(b[1]).max(c[1]) - a[1].min(b[1]).min(c[1]);
        let z = most_z - least_z;
        // Size of the triangle perpendicular to a ray. If the ray hits the triangle, no corner is farther from the ray.
        let aside = x + y + z * self.steepness;
        let far = aside + most_z.max(z) * (1.0 + self.steepness);
        let depth = far * self.blur + self.blur_m;
        let weight = aside * depth * 2.0 + f32x8::splat(simd, TINY);
        Doubt { weight, depth, tilt: weight * z * 3.0 }
    }

    /// Shadows of eight boxes, from their bounds along each axis.
    #[inline(always)]
    fn shadow<S: Simd>(
        &self,
        simd: S,
        x: [f32x8<S>; 2],
        y: [f32x8<S>; 2],
        z: [f32x8<S>; 2],
    ) -> Shadows<S> {
        match self.is_parallel {
            false => Shadows::cast(simd, x, y, z),
            true => Shadows { low: [x[0], y[0]], high: [x[1], y[1]], near: z[0], far: z[1] },
        }
    }

    /// Bounds of triangles along an axis of the bundle.
    #[inline(always)]
    fn reach<S: Simd>(&self, corners: &Corners<f32x8<S>>, axis: usize) -> [f32x8<S>; 2] {
        let (a, b, c) = (corners[0][axis], corners[1][axis], corners[2][axis]);
        [a.min(b).min(c) - self.slack[axis], a.max(b).max(c) + self.slack[axis]]
    }
}

/// The sum of absolute values.
#[inline(always)]
fn sum(row: [f32; 3]) -> f32 {
    row[0].abs() + row[1].abs() + row[2].abs()
}

#[inline(always)]
fn dot(a: [f32; 3], b: [f32; 3]) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

#[inline(always)]
fn load_axes<S: Simd>(simd: S, axes: &[Lanes; 3]) -> [f32x8<S>; 3] {
    [
        f32x8::simd_from(simd, axes[0]),
        f32x8::simd_from(simd, axes[1]),
        f32x8::simd_from(simd, axes[2]),
    ]
}

/// Inverses of depths; [`HUGE`] for depths that are not positive. A box that extends behind the origin covers
/// everything on its side of the axis.
#[inline(always)]
fn inverse<S: Simd>(simd: S, depth: f32x8<S>) -> f32x8<S> {
    let is_ahead = depth.simd_gt(f32x8::splat(simd, TINY));
    is_ahead.select(f32x8::splat(simd, 1.0) / depth, f32x8::splat(simd, HUGE))
}

impl<S: Simd> Shadows<S> {
    /// Shadows of boxes with the bounds `x`, `y` and `z`, for rays that are not parallel.
    #[inline(always)]
    fn cast(simd: S, x: [f32x8<S>; 2], y: [f32x8<S>; 2], z: [f32x8<S>; 2]) -> Self {
        let (by_near, by_far) = (inverse(simd, z[0]), inverse(simd, z[1]));
        let zero = f32x8::splat(simd, 0.0);
        let low_x = x[0] * x[0].simd_ge(zero).select(by_far, by_near);
        let low_y = y[0] * y[0].simd_ge(zero).select(by_far, by_near);
        let high_x = x[1] * x[1].simd_le(zero).select(by_far, by_near);
        let high_y = y[1] * y[1].simd_le(zero).select(by_far, by_near);
        Self { low: [low_x, low_y], high: [high_x, high_y], near: z[0], far: z[1] }
    }

    /// A bit for each box whose far end is at or beyond the least depth at which a ray starts.
    #[inline(always)]
    fn ahead(&self, bundle: &Bundle) -> u32 {
        let simd = self.far.simd;
        bits(self.far.simd_ge(f32x8::splat(simd, bundle.least_start)))
    }

    /// A bit for each box that the bundle may hit.
    #[inline(always)]
    pub fn in_bundle(&self, bundle: &Bundle) -> u32 {
        let simd = self.far.simd;
        let [low_x, low_y] = self.low;
        let [high_x, high_y] = self.high;
        bits(low_x.simd_le(f32x8::splat(simd, bundle.high[0])))
            & bits(high_x.simd_ge(f32x8::splat(simd, bundle.low[0])))
            & bits(low_y.simd_le(f32x8::splat(simd, bundle.high[1])))
            & bits(high_y.simd_ge(f32x8::splat(simd, bundle.low[1])))
            & self.ahead(bundle)
    }

    /// A bit for each box that begins at or before `depth`.
    #[inline(always)]
    pub fn before(&self, depth: f32) -> u32 {
        let simd = self.far.simd;
        bits(self.near.simd_le(f32x8::splat(simd, depth)))
    }

    /// A bit for each box that all rays of the bundle may hit.
    #[inline(always)]
    pub fn covering(&self, bundle: &Bundle) -> u32 {
        let simd = self.far.simd;
        let [low_x, low_y] = self.low;
        let [high_x, high_y] = self.high;
        bits(low_x.simd_le(f32x8::splat(simd, bundle.low[0])))
            & bits(high_x.simd_ge(f32x8::splat(simd, bundle.high[0])))
            & bits(low_y.simd_le(f32x8::splat(simd, bundle.low[1])))
            & bits(high_y.simd_ge(f32x8::splat(simd, bundle.high[1])))
            & bits(self.near.simd_le(f32x8::splat(simd, bundle.nearest)))
    }

    /// For each box, the least margin by which a ray is within its bounds; negative if the ray cannot hit the box.
    /// Combining masks would take longer.
    #[inline(always)]
    fn margin(&self, x: f32x8<S>, y: f32x8<S>, depth: f32x8<S>) -> f32x8<S> {
        margin(self.low, self.high, self.near, [x, y, depth])
    }

    /// Mask of the boxes that ray `ray` of the bundle may hit.
    #[inline(always)]
    pub fn at_ray(&self, bundle: &Bundle, ray: usize) -> mask32x8<S> {
        let simd = self.far.simd;
        let sides = bundle.sides();
        let (x, y) = (f32x8::splat(simd, sides[0][ray]), f32x8::splat(simd, sides[1][ray]));
        let depth = f32x8::splat(simd, bundle.depth[ray]);
        self.margin(x, y, depth).simd_ge(f32x8::splat(simd, 0.0))
    }

    /// A bit for each register with rays that may hit box `k`.
    #[inline(always)]
    pub fn registers(&self, k: usize, bundle: &Bundle) -> u32 {
        let simd = self.far.simd;
        let spans = &bundle.spans;
        let (low, high) = (self.of(k, &self.low), self.of(k, &self.high));
        bits(f32x8::simd_from(simd, spans.high[0]).simd_ge(low[0]))
            & bits(f32x8::simd_from(simd, spans.low[0]).simd_le(high[0]))
            & bits(f32x8::simd_from(simd, spans.high[1]).simd_ge(low[1]))
            & bits(f32x8::simd_from(simd, spans.low[1]).simd_le(high[1]))
    }

    #[inline(always)]
    fn of(&self, k: usize, bounds: &[f32x8<S>; 2]) -> [f32x8<S>; 2] {
        let simd = self.far.simd;
        [f32x8::splat(simd, bounds[0][k]), f32x8::splat(simd, bounds[1][k])]
    }

    /// A bit for each ray in the first `registers` registers that may hit box `k`.
    #[inline(always)]
    pub fn rays(&self, k: usize, bundle: &Bundle, registers: usize) -> u64 {
        let simd = self.far.simd;
        let (low, high) = (self.of(k, &self.low), self.of(k, &self.high));
        let near = f32x8::splat(simd, self.near[k]);
        let (sides, zero) = (bundle.sides(), f32x8::splat(simd, 0.0));
        let mut rays = 0;
        for register in 0..registers {
            let x = load(simd, sides[0], register);
            let y = load(simd, sides[1], register);
            let depth = load(simd, &bundle.depth, register);
            let is_met = margin(low, high, near, [x, y, depth]).simd_ge(zero);
            rays |= is_met.to_bitmask() << (8 * register);
        }
        rays
    }
}

/// For each lane, the least margin by which a ray is within the bounds of a box; negative if it cannot hit the box.
#[inline(always)]
fn margin<S: Simd>(
    low: [f32x8<S>; 2],
    high: [f32x8<S>; 2],
    near: f32x8<S>,
    [x, y, depth]: [f32x8<S>; 3],
) -> f32x8<S> {
    ((x - low[0]).min(high[0] - x)).min((y - low[1]).min(high[1] - y)).min(depth - near)
}

/// The mask as bits, one for each lane.
#[inline(always)]
pub fn bits<S: Simd>(mask: mask32x8<S>) -> u32 {
    mask.to_bitmask() as u32
}

/// The values of a register's rays.
#[inline(always)]
pub fn load<S: Simd>(simd: S, values: &PerRay<f32>, register: usize) -> f32x8<S> {
    f32x8::simd_from(simd, *of_register(values, register))
}

/// A register with the value of the ray `ray` in all lanes.
#[inline(always)]
pub fn splat<S: Simd>(simd: S, values: &PerRay<f32>, ray: usize) -> f32x8<S> {
    f32x8::splat(simd, values[ray])
}
