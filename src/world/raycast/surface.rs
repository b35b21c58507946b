//! What the sensor is told of a hit: normal, reflectance, and whether the surface is there at all.

use glam::Vec3;

use super::Hit;
use super::bundle::{Bundle, LANES, NONE};
use super::bvh::{BvhCaster, Placed};
use crate::world::scene::{MaterialId, Mesh};

/// A surface that a lane hit, ready for the next lane that hits it too.
struct Surface<'a> {
    place: u32,
    slot: u32,
    placed: &'a Placed,
    triangle: u32,
    material: MaterialId,
    /// Unit, in the bundle's frame.
    normal: Vec3,
    /// Reflectance but for the map.
    reflectance: f32,
    is_mapped: bool,
}

/// Writes the hits of a bundle's rays, which lie side by side in `hits`.
#[inline(always)]
pub fn report(caster: &BvhCaster, bundle: &Bundle, hits: &mut [Hit]) {
    let mut last: Option<Surface> = None;
    for index in 0..bundle.lanes {
        let (register, lane) = (index / LANES, index % LANES);
        let hit = &mut hits[usize::from(bundle.ray[index])];
        let (place, slot) = (bundle.placed[register][lane], bundle.slot[register][lane]);
        if place == NONE {
            *hit = Hit::MISS;
            continue;
        }
        if last.as_ref().is_none_or(|surface| (surface.place, surface.slot) != (place, slot)) {
            last = Some(Surface::new(caster, bundle, place, slot));
        }
        let Some(surface) = &last else { continue };
        let depth = bundle.depth[register][lane];
        let stretch = bundle.stretch[register][lane];
        let normal = surface.normal;
        let along = normal.x * bundle.slope_x[register][lane]
            + normal.y * bundle.slope_y[register][lane]
            + normal.z;
        let mut reflectance = surface.reflectance;
        if surface.is_mapped {
            reflectance *= map_value(caster, surface, bundle, bundle.point(register, lane, depth));
        }
        *hit = Hit {
            range_m: (depth - bundle.start[register][lane]) * stretch,
            cos_incidence: (along.abs() / stretch).min(1.0),
            reflectance,
            instance: surface.placed.instance,
            triangle: surface.triangle,
            material: surface.material,
        };
    }
}

impl<'a> Surface<'a> {
    #[inline(always)]
    fn new(caster: &'a BvhCaster, bundle: &Bundle, place: u32, slot: u32) -> Self {
        let placed = &caster.placed[place as usize];
        let tree = &caster.meshes[placed.mesh as usize];
        let mesh = &caster.scene.meshes[placed.mesh as usize];
        let [a, b, c] = tree.corners(slot);
        let normal_in_mesh = (b - a).cross(c - a);
        // Normals turn with the inverse transpose.
        let normal = bundle.from_world * (placed.mesh_from_world.transpose() * normal_in_mesh);
        let triangle = tree.triangle(slot);
        let material = mesh.triangle_materials[triangle as usize];
        let looks = &caster.scene.materials[material as usize];
        Self {
            place,
            slot,
            placed,
            triangle,
            material,
            normal: normal.normalize_or_zero(),
            reflectance: looks.reflectance,
            is_mapped: looks.reflectance_map.is_some() && !mesh.uvs.is_empty(),
        }
    }
}

/// The reflectance map's texel at `p` of the bundle's frame.
#[inline(never)]
fn map_value(caster: &BvhCaster, surface: &Surface, bundle: &Bundle, p: Vec3) -> f32 {
    let Some(map) = &caster.scene.materials[surface.material as usize].reflectance_map else {
        return 1.0;
    };
    let placed = surface.placed;
    let tree = &caster.meshes[placed.mesh as usize];
    let offset = placed.mesh_from_world * (bundle.from_world.transpose() * p);
    let p = placed.to_mesh(bundle.origin).as_vec3() + offset;
    let weights = barycentric(tree.corners(surface.slot), p);
    let mesh = &caster.scene.meshes[placed.mesh as usize];
    map.sample(texture_coordinates(mesh, surface.triangle, weights))
}

/// Whether a surface stops a ray where the corners have `weights`, which need not sum to 1.
#[inline(never)]
pub fn is_opaque(caster: &BvhCaster, placed: &Placed, slot: u32, weights: [f32; 3]) -> bool {
    let mesh = &caster.scene.meshes[placed.mesh as usize];
    let triangle = caster.meshes[placed.mesh as usize].triangle(slot);
    let material = mesh.triangle_materials[triangle as usize];
    let Some(mask) = &caster.scene.materials[material as usize].opacity_mask else { return true };
    let sum = weights[0] + weights[1] + weights[2];
    mask.sample(texture_coordinates(mesh, triangle, weights.map(|weight| weight / sum))) > 0.5
}

/// Weights of a triangle's corners at a point of its plane.
fn barycentric(corners: [Vec3; 3], p: Vec3) -> [f32; 3] {
    let [a, b, c] = corners;
    let normal = (b - a).cross(c - a);
    let scale = normal.length_squared().recip();
    let wb = (c - a).cross(a - p).dot(normal) * scale;
    let wc = (a - p).cross(b - a).dot(normal) * scale;
    [1.0 - wb - wc, wb, wc]
}

fn texture_coordinates(mesh: &Mesh, triangle: u32, weights: [f32; 3]) -> [f32; 2] {
    let corners = mesh.triangles[triangle as usize];
    let mut uv = [0.0; 2];
    for (weight, vertex) in weights.into_iter().zip(corners) {
        let [u, v] = mesh.uvs[vertex as usize];
        uv = [uv[0] + weight * u, uv[1] + weight * v];
    }
    uv
}
