//! Rays against a leaf's triangles.
//!
//! **Watertight.** Triangles are tested after Woop, Benthin and Wald (Watertight Ray/Triangle
//! Intersection, JCGT 2013): corners are sheared so that the ray runs along one axis, and the
//! ray is inside if the three edge functions agree in sign. The sign of a difference of two
//! rounded products is exact unless it is zero, zero counts as inside, and both triangles at an
//! edge shear the same corners: no ray passes through an edge or a corner. Depth is a convex
//! combination of the corners' depths, so it is on the triangle even if that is seen edge-on.
//!
//! One ray is tested against eight triangles, or one triangle against eight rays, whichever is less
//! work; the arithmetic is the same.
//!
//! **Vast triangles.** Depths on triangles that extend beyond [`VAST_M`] are computed again in double
//! precision by [`surface::Plane`].

use fearless_simd::prelude::{Select, SimdBase, SimdFrom, SimdMask};
use fearless_simd::{Simd, f32x8, mask32x8, u32x8};

use super::bundle::{
    Bundle, LANES, Lanes, MAX_LANES, NONE, REGISTERS, least, most, of_register, register_mut,
};
use super::bvh::{BvhCaster, MeshTree, Placed, VAST_M};
use super::shadow::{Corners, View, load, splat};
use super::surface;

/// Up to this number, rays are tested one by one, each against all triangles of the leaf.
const FEW_RAYS: u32 = 8;

/// The triangles that are tested.
pub struct Target<'a> {
    pub caster: &'a BvhCaster,
    pub mesh: &'a MeshTree,
    pub placed: &'a Placed,
    pub place: u32,
    pub block: u32,
    /// Number of triangles in the block, 1 to 8.
    pub count: u32,
}

impl Target<'_> {
    /// The slot of the block's triangle `k` in the mesh.
    #[inline(always)]
    fn slot(&self, k: usize) -> u32 {
        self.block * LANES as u32 + k as u32
    }

    /// The plane of the block's triangle `k`.
    fn plane(&self, k: usize, bundle: &Bundle) -> surface::Plane {
        surface::Plane::new(self.caster, bundle, self.placed, self.slot(k))
    }
}

/// Tests `rays` against the target.
#[inline(always)]
pub fn test<S: Simd>(simd: S, target: &Target, view: &View, rays: u64, bundle: &mut Bundle) {
    let block = &target.mesh.blocks[target.block as usize];
    let corners = view.triangles(simd, &block.corners);
    let triangles = (1u32 << target.count) - 1;
    if rays.count_ones() <= FEW_RAYS {
        let mut left = rays;
        while left != 0 {
            let ray = left.trailing_zeros() as usize & (MAX_LANES - 1);
            left &= left - 1;
            test_ray(simd, target, &corners, triangles, ray, bundle);
        }
    } else {
        let shadows = view.shadows(simd, &corners);
        let mut met = shadows.in_bundle(bundle) & shadows.before(bundle.deepest) & triangles;
        while met != 0 {
            let k = met.trailing_zeros() as usize & 7;
            met &= met - 1;
            let triangle = [
                pick(simd, &corners[0], k),
                pick(simd, &corners[1], k),
                pick(simd, &corners[2], k),
            ];
            let mut registers = shadows.registers(k, bundle);
            let is_far = target.placed.is_vast && reaches_far(simd, &triangle) != 0;
            let plane = (is_far && registers != 0).then(|| target.plane(k, bundle));
            while registers != 0 {
                let register = registers.trailing_zeros() as usize & (REGISTERS - 1);
                registers &= registers - 1;
                test_register(simd, target, &triangle, plane.as_ref(), k, register, bundle);
            }
        }
    }
    if bundle.is_stale {
        settle(simd, bundle);
    }
}

/// Brings the bounds of the nearest hits' depths up to date.
#[inline(always)]
fn settle<S: Simd>(simd: S, bundle: &mut Bundle) {
    let no_ray = f32x8::splat(simd, f32::NEG_INFINITY);
    let mut nearest = f32x8::splat(simd, f32::INFINITY);
    let mut deepest = no_ray;
    for register in 0..bundle.registers().min(REGISTERS) {
        let mut depth = load(simd, &bundle.depth, register);
        if bundle.is_parallel {
            let placed = u32x8::simd_from(simd, *of_register(&bundle.placed, register));
            depth = placed.simd_eq(u32x8::splat(simd, NONE)).select(depth, no_ray);
            *register_mut(&mut bundle.depth, register) = depth.into();
        }
        nearest = nearest.min(depth.simd_gt(no_ray).select(depth, nearest));
        deepest = deepest.max(depth);
    }
    bundle.is_stale = false;
    // Of parallel rays, those that remain have to be looked for.
    bundle.nearest = if bundle.is_parallel { f32::NEG_INFINITY } else { least(&nearest.into()) };
    bundle.deepest = most(&deepest.into());
}

/// A corner of triangle `k` in all lanes.
#[inline(always)]
fn pick<S: Simd>(simd: S, corner: &[f32x8<S>; 3], k: usize) -> [f32x8<S>; 3] {
    [
        f32x8::splat(simd, corner[0][k]),
        f32x8::splat(simd, corner[1][k]),
        f32x8::splat(simd, corner[2][k]),
    ]
}

/// A ray against eight triangles.
#[inline(always)]
fn test_ray<S: Simd>(
    simd: S,
    target: &Target,
    corners: &Corners<f32x8<S>>,
    triangles: u32,
    ray: usize,
    bundle: &mut Bundle,
) {
    let slope = [splat(simd, &bundle.slope_x, ray), splat(simd, &bundle.slope_y, ray)];
    let shift = [splat(simd, &bundle.shift_x, ray), splat(simd, &bundle.shift_y, ray)];
    let (weights, is_inside) = edges(simd, corners, slope, shift);
    let inside = is_inside.to_bitmask() as u32 & triangles;
    if inside == 0 {
        return;
    }
    let mut depth = depth_on(corners, &weights);
    if target.placed.is_vast {
        let far = inside & reaches_far(simd, corners);
        depth = f32x8::simd_from(simd, precise_on(target, bundle, far, ray, depth.into()));
    }
    let (start, limit) = (splat(simd, &bundle.start, ray), splat(simd, &bundle.depth, ray));
    let mut hit = is_within(depth, start, limit) & inside;
    while hit != 0 {
        let k = hit.trailing_zeros() as usize & 7;
        hit &= hit - 1;
        accept(target, k, ray, depth[k], of(&weights, k), bundle);
    }
}

/// Triangle `k` against the rays of a register; a triangle that reaches far with its plane.
#[inline(always)]
fn test_register<S: Simd>(
    simd: S,
    target: &Target,
    triangle: &Corners<f32x8<S>>,
    plane: Option<&surface::Plane>,
    k: usize,
    register: usize,
    bundle: &mut Bundle,
) {
    let slope = [load(simd, &bundle.slope_x, register), load(simd, &bundle.slope_y, register)];
    let shift = [load(simd, &bundle.shift_x, register), load(simd, &bundle.shift_y, register)];
    let (weights, is_inside) = edges(simd, triangle, slope, shift);
    let inside = is_inside.to_bitmask() as u32;
    if inside == 0 {
        return;
    }
    let mut depth = depth_on(triangle, &weights);
    if let Some(plane) = plane {
        depth = f32x8::simd_from(simd, plane.depths(bundle, register));
    }
    let (start, limit) = (load(simd, &bundle.start, register), load(simd, &bundle.depth, register));
    let mut hit = is_within(depth, start, limit) & inside;
    if hit == 0 {
        return;
    }
    // Only ties and masks need a look at single rays.
    if !target.mesh.masked {
        let is_nearer = is_inside & depth.simd_gt(start) & depth.simd_lt(limit);
        *register_mut(&mut bundle.depth, register) = is_nearer.select(depth, limit).into();
        let (place, slot) = (target.place, target.slot(k));
        for (values, value) in [(&mut bundle.placed, place), (&mut bundle.slot, slot)] {
            let values = register_mut(values, register);
            let before = u32x8::simd_from(simd, *values);
            *values = is_nearer.select(u32x8::splat(simd, value), before).into();
        }
        bundle.has_hit = true;
        bundle.is_stale = true;
        hit &= !(is_nearer.to_bitmask() as u32);
    }
    while hit != 0 {
        let lane = hit.trailing_zeros() as usize & 7;
        hit &= hit - 1;
        accept(target, k, 8 * register + lane, depth[lane], of(&weights, lane), bundle);
    }
}

#[inline(always)]
fn of<S: Simd>(weights: &[f32x8<S>; 3], k: usize) -> [f32; 3] {
    [weights[0][k], weights[1][k], weights[2][k]]
}

/// The corner in coordinates in which the ray runs along the axis.
#[inline(always)]
fn shear<S: Simd>(p: &[f32x8<S>; 3], slope: [f32x8<S>; 2], shift: [f32x8<S>; 2]) -> [f32x8<S>; 2] {
    [p[0] - slope[0] * p[2] - shift[0], p[1] - slope[1] * p[2] - shift[1]]
}

/// The edge functions, which are the corners' weights, and the lanes in which they agree in sign.
#[inline(always)]
fn edges<S: Simd>(
    simd: S,
    corners: &Corners<f32x8<S>>,
    slope: [f32x8<S>; 2],
    shift: [f32x8<S>; 2],
) -> ([f32x8<S>; 3], mask32x8<S>) {
    let a = shear(&corners[0], slope, shift);
    let b = shear(&corners[1], slope, shift);
    let c = shear(&corners[2], slope, shift);
    let u = c[0] * b[1] - c[1] * b[0];
    let v = a[0] * c[1] - a[1] * c[0];
    let w = b[0] * a[1] - b[1] * a[0];
    let zero = f32x8::splat(simd, 0.0);
    let is_inside = u.min(v).min(w).simd_ge(zero) | u.max(v).max(w).simd_le(zero);
    ([u, v, w], is_inside)
}

/// Depth on the triangles. It is NaN for a triangle seen edge-on, whose weights are all zero.
#[inline(always)]
fn depth_on<S: Simd>(corners: &Corners<f32x8<S>>, weights: &[f32x8<S>; 3]) -> f32x8<S> {
    let [a, b, c] = corners;
    let [u, v, w] = *weights;
    (u * a[2] + v * b[2] + w * c[2]) / (u + v + w)
}

/// A bit for each depth after `start` and not after `limit`; none for NaN.
#[inline(always)]
fn is_within<S: Simd>(depth: f32x8<S>, start: f32x8<S>, limit: f32x8<S>) -> u32 {
    (depth.simd_gt(start) & depth.simd_le(limit)).to_bitmask() as u32
}

/// A bit for each triangle that needs double precision, because a corner is far away.
#[inline(always)]
fn reaches_far<S: Simd>(simd: S, corners: &Corners<f32x8<S>>) -> u32 {
    let mut reach = f32x8::splat(simd, 0.0);
    for coordinate in corners.iter().flatten() {
        reach = reach.max(coordinate.abs());
    }
    reach.simd_gt(f32x8::splat(simd, VAST_M)).to_bitmask() as u32
}

/// `depths` of a ray, with those on the triangles in `far` computed in double precision.
#[inline(never)]
fn precise_on(target: &Target, bundle: &Bundle, far: u32, ray: usize, mut depths: Lanes) -> Lanes {
    for (k, depth) in depths.iter_mut().enumerate() {
        if far >> k & 1 == 1 {
            *depth = target.plane(k, bundle).depth(bundle, ray);
        }
    }
    depths
}

/// Accepts triangle `k` as the hit of `ray`, unless it loses a tie or lets the ray through. Later
/// triangles of the same test may lie behind it.
#[inline]
fn accept(
    target: &Target,
    k: usize,
    ray: usize,
    depth: f32,
    weights: [f32; 3],
    bundle: &mut Bundle,
) {
    let slot = target.slot(k);
    let nearest = bundle.depth[ray];
    if depth > nearest
        || (depth == nearest && !wins_tie(target, slot, bundle.placed[ray], bundle.slot[ray]))
    {
        return;
    }
    if target.mesh.masked && !surface::is_opaque(target.caster, target.placed, slot, weights) {
        return;
    }
    bundle.depth[ray] = depth;
    bundle.has_hit = true;
    bundle.is_stale = true;
    bundle.placed[ray] = target.place;
    bundle.slot[ray] = slot;
}

/// The tie rule of [`super::RayCaster`].
#[inline(never)]
fn wins_tie(target: &Target, slot: u32, rival_place: u32, rival_slot: u32) -> bool {
    if rival_place == NONE {
        return true;
    }
    let caster = target.caster;
    let rival = &caster.placed[rival_place as usize];
    let rival_mesh = &caster.meshes[rival.mesh as usize];
    (target.placed.instance, target.mesh.triangle(slot))
        < (rival.instance, rival_mesh.triangle(rival_slot))
}
