//! Tests of rays against the triangles of a leaf.
//!
//! [`super::hit`] defines which triangle a ray hits. This module has a faster test in `f32`, in the bundle's frame,
//! with error bounds ([`Doubt`]). If the bounds exclude an error, the result equals that of the definition; otherwise
//! [`super::hit`] computes it. Corners are sheared so that the ray runs along one axis; the ray is inside if the
//! three edge functions have the same sign.
//!
//! Either one ray is tested against eight triangles, or one triangle against eight rays, whichever needs fewer tests.
//!
//! **Vast triangles.** Depths on triangles that extend beyond [`VAST_M`] are computed again in double precision by
//! [`surface::Plane`]. Otherwise too many of them would be in doubt.

#![expect(
    clippy::neg_cmp_op_on_partial_ord,
    reason = "a bound that is not a number leaves a doubt"
)]

use fearless_simd::prelude::{Select, SimdBase, SimdFrom};
use fearless_simd::{Simd, f32x8, u32x8};

use super::bundle::{
    Bundle, LANES, Lanes, MAX_LANES, NONE, REGISTERS, ROUNDING, least, most, of_register,
    register_mut,
};
use super::bvh::{BvhCaster, MeshTree, Placed, VAST_M};
use super::fired::Fired;
use super::hit;
use super::shadow::{Corners, Doubt, View, bits, load, splat};
use super::surface;

/// Largest number of rays that are tested one by one, each against all triangles of the leaf.
const FEW_RAYS: u32 = 8;

/// Block of up to eight triangles of a leaf against which rays are tested.
pub struct Target<'a> {
    pub caster: &'a BvhCaster,
    pub fired: &'a Fired<'a>,
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

/// Tests `rays` against the triangles of `target`, and stores nearer hits in `bundle`.
#[inline(always)]
pub fn test<S: Simd>(simd: S, target: &Target, view: &View, rays: u64, bundle: &mut Bundle) {
    let block = &target.mesh.blocks[target.block as usize];
    let corners = view.triangles(simd, &block.corners);
    let doubt = view.doubt(simd, &corners);
    let triangles = (1u32 << target.count) - 1;
    if rays.count_ones() <= FEW_RAYS {
        let mut left = rays;
        while left != 0 {
            let ray = left.trailing_zeros() as usize & (MAX_LANES - 1);
            left &= left - 1;
            test_ray(simd, target, &corners, &doubt, triangles, ray, bundle);
        }
    } else {
        let shadows = view.shadows(simd, &corners);
        let mut met = shadows.in_bundle(bundle) & shadows.before(bundle.deepest) & triangles;
        while met != 0 {
            let k = met.trailing_zeros() as usize & 7;
            met &= met - 1;
            let doubt = Doubt {
                weight: f32x8::splat(simd, doubt.weight[k]),
                depth: f32x8::splat(simd, doubt.depth[k]),
                tilt: f32x8::splat(simd, doubt.tilt[k]),
            };
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
                test_register(simd, target, &triangle, &doubt, plane.as_ref(), k, register, bundle);
            }
        }
    }
    if bundle.is_stale {
        settle(simd, bundle);
    }
}

/// Updates the bundle's bounds `nearest` and `deepest` after new hits.
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
    // Parallel rays leave the traversal with their first hit. Minus infinity makes the traversal check every ray, and
    // so notice the rays that have left.
    bundle.nearest = if bundle.is_parallel { f32::NEG_INFINITY } else { least(&nearest.into()) };
    bundle.deepest = most(&deepest.into());
}

/// One corner of triangle `k`, copied to all lanes.
#[inline(always)]
fn pick<S: Simd>(simd: S, corner: &[f32x8<S>; 3], k: usize) -> [f32x8<S>; 3] {
    [
        f32x8::splat(simd, corner[0][k]),
        f32x8::splat(simd, corner[1][k]),
        f32x8::splat(simd, corner[2][k]),
    ]
}

/// Tests one ray against eight triangles.
#[inline(always)]
fn test_ray<S: Simd>(
    simd: S,
    target: &Target,
    corners: &Corners<f32x8<S>>,
    doubt: &Doubt<S>,
    triangles: u32,
    ray: usize,
    bundle: &mut Bundle,
) {
    let slope = [splat(simd, &bundle.slope_x, ray), splat(simd, &bundle.slope_y, ray)];
    let shift = [splat(simd, &bundle.shift_x, ray), splat(simd, &bundle.shift_y, ray)];
    let edges = edges(corners, slope, shift);
    let inside = edges.may_be_inside(doubt) & triangles;
    if inside == 0 {
        return;
    }
    let [mut depth, mut error] = edges.depth(simd, corners, doubt);
    if target.placed.is_vast {
        let far = inside & reaches_far(simd, corners);
        let precise = precise_on(target, bundle, far, ray, [depth.into(), error.into()]);
        depth = f32x8::simd_from(simd, precise[0]);
        error = f32x8::simd_from(simd, precise[1]);
    }
    let (low, high) = (depth - error, depth + error);
    let (start, limit) = (splat(simd, &bundle.start, ray), splat(simd, &bundle.depth, ray));
    let mut hit = inside & !bits(low.simd_gt(limit)) & !bits(high.simd_le(start));
    if hit == 0 {
        return;
    }
    let zero = f32x8::splat(simd, 0.0);
    let sure = edges.certainty(doubt).min(low - start).simd_gt(zero);
    let sure = if target.mesh.masked { 0 } else { bits(sure) };
    while hit != 0 {
        let k = hit.trailing_zeros() as usize & 7;
        hit &= hit - 1;
        let bounds = [low[k], high[k]];
        if sure >> k & 1 == 1 && bounds[1] < bundle.depth_low[ray] {
            bundle.accept(ray, bounds, target.place, target.slot(k));
        } else if !(bounds[0] > bundle.depth[ray]) {
            ask(target, k, ray, bounds, bundle);
        }
    }
}

/// Tests triangle `k` against the rays of a register. For a vast triangle, `plane` gives the depths in double
/// precision.
#[allow(clippy::too_many_arguments)]
#[inline(always)]
fn test_register<S: Simd>(
    simd: S,
    target: &Target,
    triangle: &Corners<f32x8<S>>,
    doubt: &Doubt<S>,
    plane: Option<&surface::Plane>,
    k: usize,
    register: usize,
    bundle: &mut Bundle,
) {
    let slope = [load(simd, &bundle.slope_x, register), load(simd, &bundle.slope_y, register)];
    let shift = [load(simd, &bundle.shift_x, register), load(simd, &bundle.shift_y, register)];
    let edges = edges(triangle, slope, shift);
    let inside = edges.may_be_inside(doubt);
    if inside == 0 {
        return;
    }
    let [mut depth, mut error] = edges.depth(simd, triangle, doubt);
    if let Some(plane) = plane {
        let precise = plane.depths(bundle, register);
        depth = f32x8::simd_from(simd, precise[0]);
        error = f32x8::simd_from(simd, precise[1]);
    }
    let (low, high) = (depth - error, depth + error);
    let (start, limit) = (load(simd, &bundle.start, register), load(simd, &bundle.depth, register));
    let used = (bundle.all() >> (LANES * register)) as u32;
    let mut hit = inside & used & !bits(low.simd_gt(limit)) & !bits(high.simd_le(start));
    if hit == 0 {
        return;
    }
    if !target.mesh.masked {
        let before = load(simd, &bundle.depth_low, register);
        // If depths are NaN, the certainty is not above zero, so that the definition decides.
        let certainty = (before - high).min(low - start).min(edges.certainty(doubt));
        let is_nearer = certainty.simd_gt(f32x8::splat(simd, 0.0));
        *register_mut(&mut bundle.depth_low, register) = is_nearer.select(low, before).into();
        *register_mut(&mut bundle.depth, register) = is_nearer.select(high, limit).into();
        let (place, slot) = (target.place, target.slot(k));
        for (values, value) in [(&mut bundle.placed, place), (&mut bundle.slot, slot)] {
            let values = register_mut(values, register);
            let before = u32x8::simd_from(simd, *values);
            *values = is_nearer.select(u32x8::splat(simd, value), before).into();
        }
        bundle.has_hit = true;
        bundle.is_stale = true;
        hit &= !bits(is_nearer);
    }
    while hit != 0 {
        let lane = hit.trailing_zeros() as usize & 7;
        hit &= hit - 1;
        ask(target, k, LANES * register + lane, [low[lane], high[lane]], bundle);
    }
}

/// The edge functions of rays and triangles.
struct Edges<S: Simd> {
    /// Weights of the corners, not normalised: the values of the edge functions.
    weights: [f32x8<S>; 3],
    /// Least absolute value of the edge functions if their signs agree, otherwise negative.
    accord: f32x8<S>,
}

impl<S: Simd> Edges<S> {
    #[inline(always)]
    fn may_be_inside(&self, doubt: &Doubt<S>) -> u32 {
        bits((self.accord + doubt.weight).simd_ge(f32x8::splat(doubt.weight.simd, 0.0)))
    }

    /// Positive in the lanes whose rays are certainly inside their triangles.
    #[inline(always)]
    fn certainty(&self, doubt: &Doubt<S>) -> f32x8<S> {
        self.accord - doubt.weight
    }

    /// Depths at which the rays meet the planes of the triangles, and the errors of these depths. Both are NaN or
    /// infinite for a triangle seen edge-on.
    #[inline(always)]
    fn depth(&self, simd: S, corners: &Corners<f32x8<S>>, doubt: &Doubt<S>) -> [f32x8<S>; 2] {
        let [a, b, c] = corners;
        let [u, v, w] = self.weights;
        let inverse = f32x8::splat(simd, 1.0) / (u + v + w);
        let depth = (u * a[2] + v * b[2] + w * c[2]) * inverse;
        [depth, doubt.tilt * inverse.abs() + doubt.depth]
    }
}

/// A corner in sheared coordinates, in which the ray runs along the z axis.
#[inline(always)]
fn shear<S: Simd>(p: &[f32x8<S>; 3], slope: [f32x8<S>; 2], shift: [f32x8<S>; 2]) -> [f32x8<S>; 2] {
    [p[0] - slope[0] * p[2] - shift[0], p[1] - slope[1] * p[2] - shift[1]]
}

#[inline(always)]
fn edges<S: Simd>(
    corners: &Corners<f32x8<S>>,
    slope: [f32x8<S>; 2],
    shift: [f32x8<S>; 2],
) -> Edges<S> {
    let a = shear(&corners[0], slope, shift);
    let b = shear(&corners[1], slope, shift);
    let c = shear(&corners[2], slope, shift);
    let u = c[0] * b[1] - c[1] * b[0];
    let v = a[0] * c[1] - a[1] * c[0];
    let w = b[0] * a[1] - b[1] * a[0];
    let accord = u.min(v).min(w).max(-u.max(v).max(w));
    Edges { weights: [u, v, w], accord }
}

/// A bit for each triangle that has a coordinate beyond [`VAST_M`], so that its depths need double precision.
#[inline(always)]
fn reaches_far<S: Simd>(simd: S, corners: &Corners<f32x8<S>>) -> u32 {
    let mut reach = f32x8::splat(simd, 0.0);
    for coordinate in corners.iter().flatten() {
        reach = reach.max(coordinate.abs());
    }
    bits(reach.simd_gt(f32x8::splat(simd, VAST_M)))
}

/// Depths at which a ray meets the planes of triangles, and the errors of the depths. For the triangles in `far`, both
/// are computed in double precision; for the other triangles, `depths` and `errors` are returned unchanged.
#[inline(never)]
fn precise_on(
    target: &Target,
    bundle: &Bundle,
    far: u32,
    ray: usize,
    [mut depths, mut errors]: [Lanes; 2],
) -> [Lanes; 2] {
    for k in (0..LANES).filter(|k| far >> k & 1 == 1) {
        [depths[k], errors[k]] = target.plane(k, bundle).depth(bundle, ray);
    }
    [depths, errors]
}

impl Bundle {
    /// Makes a triangle the nearest hit of `ray`, with the bounds `low` and `high` of the hit's depth.
    #[inline(always)]
    fn accept(&mut self, ray: usize, [low, high]: [f32; 2], place: u32, slot: u32) {
        self.depth_low[ray] = low;
        self.depth[ray] = high;
        self.has_hit = true;
        self.is_stale = true;
        self.placed[ray] = place;
        self.slot[ray] = slot;
    }
}

/// Makes triangle `k` the nearest hit of `ray` if the definition in [`super::hit`] says so. `bounds` are the bounds
/// of the hit's depth.
#[inline(never)]
fn ask(target: &Target, k: usize, ray: usize, bounds: [f32; 2], bundle: &mut Bundle) {
    let (caster, placed, slot) = (target.caster, target.placed, target.slot(k));
    let (pulse, offset) = target.fired.ray(bundle.first, usize::from(bundle.ray[ray]));
    let Some((range_m, weights)) =
        hit::strike(&placed.pose, &pulse, offset, target.mesh.corners(slot))
    else {
        return;
    };
    let (rival_place, rival_slot) = (bundle.placed[ray], bundle.slot[ray]);
    if rival_place != NONE && !(bounds[1] < bundle.depth_low[ray]) {
        let rival = &caster.placed[rival_place as usize];
        let rival_mesh = &caster.meshes[rival.mesh as usize];
        let struck = hit::strike(&rival.pose, &pulse, offset, rival_mesh.corners(rival_slot));
        let order = |range_m, placed: &Placed, mesh: &MeshTree, slot| {
            (range_m, placed.instance, mesh.triangle(slot))
        };
        let rival = struck.map(|(range_m, _)| order(range_m, rival, rival_mesh, rival_slot));
        if rival.is_some_and(|rival| rival < order(range_m, placed, target.mesh, slot)) {
            return;
        }
    }
    if target.mesh.masked && !surface::is_opaque(caster, placed, slot, weights) {
        return;
    }
    let depth = bundle.start[ray] + range_m / bundle.stretch[ray];
    let margin = bundle.rounding_m + ROUNDING * (depth.abs() + range_m);
    bundle.accept(ray, [depth - margin, depth + margin], target.place, slot);
}
