//! Properties of a hit: range, incidence, reflectance, opacity.

use fearless_simd::Simd;
use glam::DVec3;

use super::bundle::{
    Bundle, LANES, Lanes, MAX_LANES, NONE, PerRay, REGISTERS, ROUNDING, of_register,
};
use super::bvh::{BvhCaster, Placed};
use super::hit::{self, Facing, Lengths};
use super::shadow::load;
use super::{Hit, Pulse, Stencil};
use crate::world::scene::Mesh;

/// A surface that was hit.
struct Surface {
    place: u32,
    slot: u32,
    plane: hit::Plane,
    /// A hit on the surface. Its range and cosine are not set, and its reflectance lacks the factor of the reflectance
    /// map.
    hit: Hit,
    is_mapped: bool,
}

/// Number of surfaces that are cached per bundle, a power of two.
const KEPT: usize = 8;

/// Cache of the surfaces that a bundle hit last. Around a blade of grass, rays alternate between the blade and the
/// surface behind it.
struct Surfaces<'a> {
    caster: &'a BvhCaster,
    /// Surfaces, indexed by the lower bits of their slots.
    kept: [Surface; KEPT],
}

impl<'a> Surfaces<'a> {
    fn new(caster: &'a BvhCaster) -> Self {
        Self { caster, kept: [const { Surface::NONE }; KEPT] }
    }

    /// The surface of the triangle in `slot` of instance `place`.
    #[inline(always)]
    fn of(&mut self, place: u32, slot: u32) -> &Surface {
        let kept = &mut self.kept[slot as usize % KEPT];
        if kept.slot != slot || kept.place != place {
            *kept = Surface::new(self.caster, place, slot);
        }
        kept
    }
}

/// Arguments of [`hit::finish`] for all rays.
struct Terms {
    along: PerRay<f32>,
    far: PerRay<f32>,
    by_length: PerRay<f32>,
    squared: PerRay<f32>,
    start_m: PerRay<f32>,
}

/// Writes the hits of a bundle's rays.
#[inline(always)]
pub fn report<S: Simd>(
    simd: S,
    caster: &BvhCaster,
    stencil: &Stencil,
    pulses: &[Pulse],
    bundle: &Bundle,
    hits: &mut [Hit],
) {
    if !bundle.has_hit {
        hits.fill(Hit::MISS);
        return;
    }
    let offsets = stencil.offsets();
    let rays = offsets.len();
    let mut surfaces = Surfaces::new(caster);
    let mut terms = Terms {
        along: [1.0; MAX_LANES],
        far: [f32::INFINITY; MAX_LANES],
        by_length: [0.0; MAX_LANES],
        squared: [1.0; MAX_LANES],
        start_m: [0.0; MAX_LANES],
    };
    for ((index, pulse), hits) in pulses.iter().enumerate().zip(hits.chunks_exact_mut(rays)) {
        let lengths = Lengths::new(pulse);
        let (mut known, mut facing, mut hit) = ((NONE, NONE), Facing::NONE, Hit::MISS);
        let mut is_mapped = false;
        for lane in index * rays..(index + 1) * rays {
            let lane = lane & (MAX_LANES - 1);
            let ray = usize::from(bundle.ray[lane]) - index * rays;
            let (place, slot) = (bundle.placed[lane], bundle.slot[lane]);
            if place == NONE {
                hits[ray] = Hit::MISS;
                continue;
            }
            if known != (place, slot) {
                known = (place, slot);
                let surface = surfaces.of(place, slot);
                facing = surface.plane.facing(pulse);
                is_mapped = surface.is_mapped;
                hit = surface.hit;
            }
            hits[ray] = hit;
            terms.along[lane] = facing.along(offsets[ray]);
            terms.far[lane] = facing.far;
            terms.by_length[lane] = facing.by_length;
            terms.squared[lane] = lengths.squared(offsets[ray]);
            terms.start_m[lane] = pulse.start_m;
            if is_mapped {
                let surface = surfaces.of(place, slot);
                hits[ray].reflectance *= map_value(caster, surface, pulse, offsets[ray]);
            }
        }
    }
    for register in 0..bundle.registers().min(REGISTERS) {
        let [range_m, cosine] = hit::finish(
            simd,
            load(simd, &terms.along, register),
            load(simd, &terms.far, register),
            load(simd, &terms.by_length, register),
            load(simd, &terms.squared, register),
            load(simd, &terms.start_m, register),
        );
        let (range_m, cosine): (Lanes, Lanes) = (range_m.into(), cosine.into());
        let lanes = LANES.min(bundle.lanes - LANES * register);
        let rays = of_register(&bundle.ray, register);
        for k in 0..lanes {
            let hit = &mut hits[usize::from(rays[k])];
            (hit.range_m, hit.cos_incidence) = (range_m[k], cosine[k]);
        }
    }
}

impl Surface {
    const NONE: Self =
        Self { place: NONE, slot: NONE, plane: hit::Plane::NONE, hit: Hit::MISS, is_mapped: false };

    #[inline(always)]
    fn new(caster: &BvhCaster, place: u32, slot: u32) -> Self {
        let placed = &caster.placed[place as usize];
        let tree = &caster.meshes[placed.mesh as usize];
        let mesh = &caster.scene.meshes[placed.mesh as usize];
        let material = tree.material(slot, mesh);
        let looks = &caster.scene.materials[material as usize];
        Self {
            place,
            slot,
            plane: hit::Plane::new(&placed.pose, tree.corners(slot)),
            hit: Hit {
                reflectance: looks.reflectance,
                instance: placed.instance,
                triangle: tree.triangle(slot),
                material,
                ..Hit::MISS
            },
            is_mapped: looks.reflectance_map.is_some() && !mesh.uvs.is_empty(),
        }
    }
}

/// The plane of a triangle in a bundle's frame, in double precision, which large triangles need.
pub struct Plane {
    normal: DVec3,
    /// Distance of the plane from the bundle's origin, multiplied by the length of `normal`.
    distance: f64,
}

impl Plane {
    /// The plane of the triangle in `slot`.
    pub fn new(caster: &BvhCaster, bundle: &Bundle, placed: &Placed, slot: u32) -> Self {
        let tree = &caster.meshes[placed.mesh as usize];
        let [a, b, c] = tree.corners(slot).map(|corner| corner.as_dvec3());
        let normal = (b - a).cross(c - a);
        let distance = normal.dot(a - placed.to_mesh(bundle.origin));
        // Normals are transformed by the inverse transpose.
        let mesh_from_bundle = placed.pose.mesh_from_world * bundle.to_world;
        Self { normal: mesh_from_bundle.transpose() * normal, distance }
    }

    /// Depth at which a lane's ray meets the plane, and the error of this depth. Both are not finite if ray and plane
    /// are parallel.
    #[inline]
    pub fn depth(&self, bundle: &Bundle, lane: usize) -> [f32; 2] {
        self.depth_on(
            [
                bundle.slope_x[lane],
                bundle.slope_y[lane],
                bundle.shift_x[lane],
                bundle.shift_y[lane],
            ],
            bundle.rounding_m,
        )
    }

    /// Depths at which all rays of a register meet the plane, and the errors of these depths.
    #[inline(always)]
    pub fn depths(&self, bundle: &Bundle, register: usize) -> [Lanes; 2] {
        let [slope_x, slope_y, shift_x, shift_y] =
            [&bundle.slope_x, &bundle.slope_y, &bundle.shift_x, &bundle.shift_y]
                .map(|values| of_register(values, register));
        let (mut depths, mut errors) = ([0.0; LANES], [0.0; LANES]);
        for k in 0..LANES {
            let ray = [slope_x[k], slope_y[k], shift_x[k], shift_y[k]];
            [depths[k], errors[k]] = self.depth_on(ray, bundle.rounding_m);
        }
        [depths, errors]
    }

    /// Depth at which a ray with the slopes and shifts `[slope_x, slope_y, shift_x, shift_y]` meets the plane, and the
    /// error of this depth.
    #[inline(always)]
    fn depth_on(&self, ray: [f32; 4], rounding_m: f32) -> [f32; 2] {
        let [slope_x, slope_y, shift_x, shift_y] = ray.map(f64::from);
        let (normal, rounding) = (self.normal, f64::from(ROUNDING));
        let inverse = 1.0 / (normal.x * slope_x + normal.y * slope_y + normal.z);
        let depth = (self.distance - normal.x * shift_x - normal.y * shift_y) * inverse;
        // Error contributions of slopes and shifts.
        let slopes = (normal.x * slope_x).abs() + (normal.y * slope_y).abs();
        let shifts = (normal.x.abs() + normal.y.abs()) * f64::from(rounding_m);
        let tilted = (slopes * (rounding * depth.abs()) + shifts) * inverse.abs();
        let error = tilted + rounding * depth.abs() + f64::from(rounding_m);
        [depth as f32, error as f32]
    }
}

/// Value of the reflectance map where the ray at `offset` in the beam footprint hits; 1 without a map.
#[inline(never)]
fn map_value(caster: &BvhCaster, surface: &Surface, pulse: &Pulse, offset: [f32; 2]) -> f32 {
    let Some(map) = &caster.scene.materials[surface.hit.material as usize].reflectance_map else {
        return 1.0;
    };
    let placed = &caster.placed[surface.place as usize];
    let corners = caster.meshes[placed.mesh as usize].corners(surface.slot);
    let Some(weights) = hit::weights(&placed.pose, pulse, offset, corners) else { return 1.0 };
    let mesh = &caster.scene.meshes[placed.mesh as usize];
    map.sample(texture_coordinates(mesh, surface.hit.triangle, hit::shares(weights)))
}

/// Whether a surface stops a ray at the point where the corners have `weights`, which need not sum
/// to 1.
#[inline(never)]
pub fn is_opaque(caster: &BvhCaster, placed: &Placed, slot: u32, weights: [f64; 3]) -> bool {
    let mesh = &caster.scene.meshes[placed.mesh as usize];
    let tree = &caster.meshes[placed.mesh as usize];
    let material = tree.material(slot, mesh);
    let Some(mask) = &caster.scene.materials[material as usize].opacity_mask else { return true };
    let triangle = tree.triangle(slot);
    mask.sample(texture_coordinates(mesh, triangle, hit::shares(weights))) > 0.5
}

/// The texture coordinates at the point where the corners have `weights`, which sum to 1.
pub fn texture_coordinates(mesh: &Mesh, triangle: u32, weights: [f32; 3]) -> [f32; 2] {
    let corners = mesh.triangles[triangle as usize];
    let mut uv = [0.0; 2];
    for (weight, vertex) in weights.into_iter().zip(corners) {
        let [u, v] = mesh.uvs[vertex as usize];
        uv = [uv[0] + weight * u, uv[1] + weight * v];
    }
    uv
}
