//! The only definition of a hit: which triangle a ray hits, at which range, and at which angle.
//!
//! Each caster searches for candidate triangles in its own way and with its own rounding. Where rounding could make a
//! difference, it calls these functions. A hit therefore depends neither on the tree, nor on the rays that are cast
//! together, nor on the caster.
//!
//! **The ray** is `origin + t * (direction + a * half_axis_u + b * half_axis_v)`, in `f64`.
//!
//! **Inside or outside** is decided in the frame of the mesh, in `f64`, after Woop, Benthin and Wald (Watertight
//! Ray/Triangle Intersection, JCGT 2013). Corners are sheared so that the ray runs along one axis; the ray is inside
//! if the three edge functions have the same sign. The sign of a difference of two rounded products is exact unless
//! it is zero, and zero counts as inside. Both triangles at an edge shear the same corners. Therefore no ray passes
//! through an edge or a corner.
//!
//! **Range and cosine** come from the plane of the triangle. Differences in which digits cancel are computed in
//! `f64`, the rest in `f32`. A hit counts if its range is above zero and at most the ray's length. Of several hits,
//! the least range wins, then the lowest instance, then the lowest triangle.
//!
//! Neither the test of the inside nor range and cosine use divisions or square roots. No multiplication is fused with
//! an addition, so every processor gives the same bits.

use fearless_simd::prelude::{Bytes, SimdBase, SimdFloat};
use fearless_simd::{Simd, f32x8, u32x8};
use glam::{DAffine3, DMat3, DVec3, Vec3};

use super::Pulse;

/// Least cosine of incidence. A ray with a smaller cosine misses the triangle.
const LEAST_COSINE: f32 = 1e-9;

const INVERSE_SEED: u32 = 0x7ef3_11c7;
const ROOT_SEED: u32 = 0x5f37_5a86;

/// Reciprocals of `x`, computed without division. No element of `x` may be zero.
#[inline(always)]
fn inverse<S: Simd>(simd: S, x: f32x8<S>) -> f32x8<S> {
    let size = x.abs();
    let bits: u32x8<S> = u32x8::splat(simd, INVERSE_SEED) - size.bitcast::<u32x8<S>>();
    let mut y: f32x8<S> = bits.bitcast();
    let two = f32x8::splat(simd, 2.0);
    for _ in 0..3 {
        y = y * (two - size * y);
    }
    y.copysign(x)
}

/// [`inverse`] of one number.
#[inline(always)]
fn inverse_of(x: f32) -> f32 {
    let size = x.abs();
    let mut y = f32::from_bits(INVERSE_SEED.wrapping_sub(size.to_bits()));
    for _ in 0..3 {
        y *= 2.0 - size * y;
    }
    y.copysign(x)
}

/// Inverse square roots of `x`, computed without a square root.
#[inline(always)]
fn inverse_root<S: Simd>(simd: S, x: f32x8<S>) -> f32x8<S> {
    let half = x * 0.5;
    let bits: u32x8<S> = u32x8::splat(simd, ROOT_SEED) - (x.bitcast::<u32x8<S>>() >> 1);
    let mut y: f32x8<S> = bits.bitcast();
    let one_and_half = f32x8::splat(simd, 1.5);
    for _ in 0..3 {
        y = y * (one_and_half - half * (y * y));
    }
    y
}

/// [`inverse_root`] of one number.
#[inline(always)]
fn inverse_root_of(x: f32) -> f32 {
    let half = 0.5 * x;
    let mut y = f32::from_bits(ROOT_SEED.wrapping_sub(x.to_bits() >> 1));
    for _ in 0..3 {
        y *= 1.5 - half * (y * y);
    }
    y
}

/// Pose of an instance's mesh.
#[derive(Clone, Copy, Debug)]
pub struct Pose {
    /// Origin of the mesh, in World, metres.
    pub place: DVec3,
    pub mesh_from_world: DMat3,
}

impl Pose {
    pub fn new(world_from_mesh: &DAffine3) -> Self {
        Self {
            place: world_from_mesh.translation,
            mesh_from_world: world_from_mesh.matrix3.inverse(),
        }
    }
}

/// The inner product. The order of the additions is fixed, because it affects the rounding.
#[inline(always)]
fn dot(a: DVec3, b: DVec3) -> f64 {
    (a.x * b.x + a.y * b.y) + a.z * b.z
}

/// The plane of a triangle.
#[derive(Clone, Copy, Debug)]
pub struct Plane {
    /// Normal in World, not of unit length.
    normal: DVec3,
    /// Origin of the mesh, in World.
    place: DVec3,
    /// Distance of the plane from `place`, multiplied by the length of `normal`.
    offset: f64,
    /// The inverse of the normal's length.
    by_length: f32,
}

impl Plane {
    /// Placeholder where there is no triangle.
    pub const NONE: Self =
        Self { normal: DVec3::ZERO, place: DVec3::ZERO, offset: 0.0, by_length: 0.0 };

    /// The plane of a triangle with `corners` in the frame of its mesh.
    #[inline(always)]
    pub fn new(pose: &Pose, corners: [Vec3; 3]) -> Self {
        let a = corners[0].as_dvec3();
        let (e, f) = (corners[1].as_dvec3() - a, corners[2].as_dvec3() - a);
        let in_mesh =
            DVec3::new(e.y * f.z - e.z * f.y, e.z * f.x - e.x * f.z, e.x * f.y - e.y * f.x);
        let m = &pose.mesh_from_world;
        // Normals are transformed by the inverse transpose.
        let normal =
            DVec3::new(dot(m.x_axis, in_mesh), dot(m.y_axis, in_mesh), dot(m.z_axis, in_mesh));
        Self {
            normal,
            place: pose.place,
            offset: dot(in_mesh, a),
            by_length: inverse_root_of(dot(normal, normal) as f32),
        }
    }

    /// The values of this plane that the rays of `pulse` share.
    #[inline(always)]
    pub fn facing(&self, pulse: &Pulse) -> Facing {
        let n = self.normal;
        Facing {
            along: dot(n, pulse.direction),
            along_u: dot(n, pulse.half_axis_u),
            along_v: dot(n, pulse.half_axis_v),
            far: (self.offset - dot(n, pulse.origin - self.place)) as f32,
            by_length: self.by_length,
        }
    }
}

/// Values that all rays of one pulse share for one plane.
#[derive(Clone, Copy, Debug)]
pub struct Facing {
    along: f64,
    along_u: f64,
    along_v: f64,
    /// Distance of the plane from the pulse's origin, multiplied by the normal's length.
    pub far: f32,
    /// The inverse of the normal's length.
    pub by_length: f32,
}

impl Facing {
    /// Placeholder for rays without a hit.
    pub const NONE: Self =
        Self { along: 1.0, along_u: 0.0, along_v: 0.0, far: f32::INFINITY, by_length: 0.0 };

    /// The inner product of the normal and the direction of the ray at `offset` in the beam footprint.
    #[inline(always)]
    pub fn along(&self, [a, b]: [f32; 2]) -> f32 {
        ((self.along + f64::from(a) * self.along_u) + f64::from(b) * self.along_v) as f32
    }
}

/// Computes the squared lengths of the directions of a pulse's rays.
#[derive(Clone, Copy, Debug)]
pub struct Lengths {
    u: f32,
    v: f32,
}

impl Lengths {
    #[inline(always)]
    pub fn new(pulse: &Pulse) -> Self {
        let squared = |axis: DVec3| dot(axis, axis) as f32;
        Self { u: squared(pulse.half_axis_u), v: squared(pulse.half_axis_v) }
    }

    /// The squared length for the ray at `offset`. Direction and half-axes are perpendicular to one another.
    #[inline(always)]
    pub fn squared(&self, [a, b]: [f32; 2]) -> f32 {
        1.0 + ((a * a) * self.u + (b * b) * self.v)
    }
}

/// Ranges (metres) and cosines of incidence of eight rays on planes. Arguments are [`Facing::along`], [`Facing::far`],
/// the inverse lengths of the normals, [`Lengths::squared`], and the distances at which the rays begin.
#[inline(always)]
pub fn finish<S: Simd>(
    simd: S,
    along: f32x8<S>,
    far: f32x8<S>,
    by_length: f32x8<S>,
    squared: f32x8<S>,
    start_m: f32x8<S>,
) -> [f32x8<S>; 2] {
    let root = inverse_root(simd, squared);
    let range_m = (far * inverse(simd, along)) * (squared * root) - start_m;
    let cosine = along.abs() * (root * by_length);
    [range_m, cosine.min(f32x8::splat(simd, 1.0))]
}

/// [`finish`] for one ray: its range (metres) and its cosine of incidence.
#[inline(always)]
pub fn finish_one(pulse: &Pulse, offset: [f32; 2], facing: &Facing) -> [f32; 2] {
    let (along, squared) = (facing.along(offset), Lengths::new(pulse).squared(offset));
    let root = inverse_root_of(squared);
    let range_m = (facing.far * inverse_of(along)) * (squared * root) - pulse.start_m;
    let cosine = along.abs() * (root * facing.by_length);
    [range_m, if cosine < 1.0 { cosine } else { 1.0 }]
}

/// Whether a ray of `pulse` ends at a triangle with this range and cosine.
#[inline(always)]
pub fn counts(pulse: &Pulse, range_m: f32, cosine: f32) -> bool {
    range_m > 0.0 && range_m <= pulse.max_range_m && cosine >= LEAST_COSINE
}

/// Weights of a triangle's corners at the point where the ray at `offset` of the beam footprint meets the triangle's
/// plane. The weights do not sum to 1. `None` if the ray passes outside of the triangle.
#[inline(always)]
pub fn weights(
    pose: &Pose,
    pulse: &Pulse,
    offset: [f32; 2],
    corners: [Vec3; 3],
) -> Option<[f64; 3]> {
    let [a, b] = offset.map(f64::from);
    let turn = |v: DVec3| {
        let m = &pose.mesh_from_world;
        (m.x_axis * v.x + m.y_axis * v.y) + m.z_axis * v.z
    };
    let direction = turn((pulse.direction + pulse.half_axis_u * a) + pulse.half_axis_v * b);
    let origin = turn(pulse.origin - pose.place);
    let size = direction.abs();
    let axes = if size.x > size.y && size.x > size.z {
        [1, 2, 0]
    } else if size.y > size.z {
        [2, 0, 1]
    } else {
        [0, 1, 2]
    };
    let [dx, dy, dz] = axes.map(|axis: usize| direction[axis]);
    let [a, b, c] = corners.map(|corner| {
        let from = corner.as_dvec3() - origin;
        let [x, y, z] = axes.map(|axis: usize| from[axis]);
        [x * dz - dx * z, y * dz - dy * z]
    });
    let u = c[0] * b[1] - c[1] * b[0];
    let v = a[0] * c[1] - a[1] * c[0];
    let w = b[0] * a[1] - b[1] * a[0];
    let is_inside = (u >= 0.0 && v >= 0.0 && w >= 0.0) || (u <= 0.0 && v <= 0.0 && w <= 0.0);
    (is_inside && (u + v) + w != 0.0).then_some([u, v, w])
}

/// Range of the ray at `offset` on a triangle, and the weights of its corners; `None` if the ray misses.
#[inline(always)]
pub fn strike(
    pose: &Pose,
    pulse: &Pulse,
    offset: [f32; 2],
    corners: [Vec3; 3],
) -> Option<(f32, [f64; 3])> {
    let weights = weights(pose, pulse, offset, corners)?;
    let facing = Plane::new(pose, corners).facing(pulse);
    let [range_m, cosine] = finish_one(pulse, offset, &facing);
    counts(pulse, range_m, cosine).then_some((range_m, weights))
}

/// Weights of a triangle's corners, normalised to the sum 1.
pub fn shares(weights: [f64; 3]) -> [f32; 3] {
    let sum = (weights[0] + weights[1]) + weights[2];
    weights.map(|weight| (weight / sum) as f32)
}

/// Reference implementation, ray by ray and triangle by triangle. Tests compare casters with it.
#[cfg(test)]
pub mod reference {
    use super::super::surface::texture_coordinates;
    use super::super::{Hit, Stencil};
    use super::*;
    use crate::world::scene::Scene;

    /// The hits of all rays of `pulse`.
    pub fn cast(scene: &Scene, stencil: &Stencil, pulse: &Pulse) -> Vec<Hit> {
        stencil.offsets().iter().map(|&offset| cast_ray(scene, pulse, offset)).collect()
    }

    fn cast_ray(scene: &Scene, pulse: &Pulse, offset: [f32; 2]) -> Hit {
        let mut nearest = Hit::MISS;
        for (instance, placed) in (0..).zip(&scene.instances) {
            let mesh = &scene.meshes[placed.mesh as usize];
            let pose = Pose::new(&placed.world_from_mesh);
            for (triangle, vertices) in (0..).zip(&mesh.triangles) {
                let corners = vertices.map(|vertex| mesh.positions[vertex as usize].into());
                let Some((range_m, weights)) = strike(&pose, pulse, offset, corners) else {
                    continue;
                };
                // Triangles are tested in ascending order, so that the first one wins a tie.
                if range_m >= nearest.range_m {
                    continue;
                }
                let material = mesh.triangle_materials[triangle as usize];
                let looks = &scene.materials[material as usize];
                let at = || texture_coordinates(mesh, triangle, shares(weights));
                if looks.opacity_mask.as_ref().is_some_and(|mask| mask.sample(at()) <= 0.5) {
                    continue;
                }
                let factor = looks.reflectance_map.as_ref().map_or(1.0, |map| map.sample(at()));
                let facing = Plane::new(&pose, corners).facing(pulse);
                let [range_m, cos_incidence] = finish_one(pulse, offset, &facing);
                let reflectance = looks.reflectance * factor;
                nearest = Hit { range_m, cos_incidence, reflectance, instance, triangle, material };
            }
        }
        nearest
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use glam::DQuat;

    use super::super::draws::{Draws, fan, mixed_triangles, repeat_some};
    use super::super::{BvhCaster, Hit, RayCaster, Stencil};
    use super::*;
    use crate::world::materials;
    use crate::world::scene::{Instance, Scene};

    #[test]
    fn inverses_are_exact_to_a_millionth_and_alike_in_vectors() {
        let mut draws = Draws(3);
        for _ in 0..10_000 {
            let x = (draws.size(-30.0, 30.0) * draws.next().signum()) as f32;
            let by_x = inverse_of(x);
            assert!((f64::from(by_x) * f64::from(x) - 1.0).abs() < 3e-7, "{x}");
            let size = x.abs();
            let root = inverse_root_of(size);
            assert!((f64::from(root).powi(2) * f64::from(size) - 1.0).abs() < 1e-6, "{x}");
            fearless_simd::dispatch!(fearless_simd::Level::new(), simd => {
                let [wide, wide_root] = [
                    inverse(simd, f32x8::splat(simd, x)),
                    inverse_root(simd, f32x8::splat(simd, size)),
                ];
                assert_eq!(wide[3].to_bits(), by_x.to_bits());
                assert_eq!(wide_root[3].to_bits(), root.to_bits());
            });
        }
    }

    #[test]
    fn the_caster_finds_what_the_definition_says_bit_by_bit() {
        let mut draws = Draws(11);
        let mut offsets = vec![[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]];
        offsets.extend([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]]);
        let nine = Stencil::new(offsets).expect("nine rays");
        let mut met = 0;
        for round in 0..280u32 {
            let kinds = [round % 7, (round / 7) % 7];
            let meshes = kinds.map(|kind| {
                let uniform = &mut |low: f64, high: f64| draws.between(low, high);
                let mut mesh = mixed_triangles(uniform, kind as usize, 40);
                if kind == 4 {
                    repeat_some(&mut mesh);
                }
                mesh
            });
            let far = if round % 5 == 0 { 3e4 } else { 0.0 };
            let home = draws.vector() * far;
            let instances = (0..4u32).map(|k| Instance {
                mesh: k % 2,
                world_from_mesh: if k == 2 {
                    DAffine3::from_translation(home)
                } else {
                    let scale = if k == 3 { DVec3::ONE } else { DVec3::ONE + 0.7 * draws.vector() };
                    let turn = DQuat::from_scaled_axis(draws.vector() * 3.0);
                    DAffine3::from_scale_rotation_translation(scale, turn, home + draws.vector())
                },
            });
            let mut instances: Vec<Instance> = instances.collect();
            // The last instance equals the first.
            instances.push(instances[0]);
            let scene = Arc::new(Scene {
                materials: vec![materials::plain("plain", 0.5)],
                instances,
                meshes: meshes.to_vec(),
                ground: vec![],
            });
            let origin = home + draws.vector() * 8.0;
            let step_rad = draws.size(-5.0, -1.8);
            let half = draws.size(-5.0, -1.0);
            let behind_m = if round % 3 == 0 { 14.0 } else { 0.0 };
            let mut pulses = Vec::new();
            for line in 0..6 {
                // Lines start at corners and at middles of edges, where rounding decides.
                let instance = &scene.instances[line % 4];
                let mesh = &scene.meshes[instance.mesh as usize];
                let [a, b, _] = mesh.corners((7 * line as u32 + round) % 40);
                let aim =
                    instance.world_from_mesh.transform_point3(a.lerp(b, 0.5 * (line % 3) as f64));
                let max_range_m = if line == 5 { (aim - origin).length() as f32 } else { 2e5 };
                pulses.extend(fan(origin, aim, [step_rad, half, behind_m], max_range_m));
            }
            let caster = BvhCaster::new(scene.clone()).expect("a small scene");
            for stencil in [&nine, &Stencil::single()] {
                let mut hits = vec![Hit::MISS; pulses.len() * stencil.len()];
                caster.cast(stencil, &pulses, &mut hits);
                for (pulse, hits) in pulses.iter().zip(hits.chunks(stencil.len())) {
                    let expected = reference::cast(&scene, stencil, pulse);
                    assert_eq!(hits, expected, "round {round}, {pulse:?}");
                    met += hits.iter().filter(|hit| hit.range_m.is_finite()).count();
                }
            }
        }
        assert!(met > 30_000, "{met}");
    }
}
