//! Properties of a hit: normal, reflectance, opacity.

use glam::{DVec3, Vec3};

use super::Hit;
use super::bundle::{Bundle, LANES, Lanes, NONE, least, of_register};
use super::bvh::{BvhCaster, Placed};
use crate::world::scene::{MaterialId, Mesh};

/// Below this cosine of incidence, the `f32` depth of the traversal may be wrong by more than two
/// millionths.
const GRAZING_COS: f32 = 0.05;

/// A surface that was hit.
struct Surface<'a> {
    place: u32,
    slot: u32,
    placed: &'a Placed,
    triangle: u32,
    material: MaterialId,
    /// Unit normal in the bundle's frame.
    normal: Vec3,
    /// Reflectance without the map's factor.
    reflectance: f32,
    is_mapped: bool,
}

/// How many surfaces of a bundle are kept; a power of two.
const KEPT: usize = 8;

/// The surfaces that a bundle hit last: of rays that pass a blade of grass, every other one hits what lies
/// behind it.
struct Surfaces<'a> {
    caster: &'a BvhCaster,
    bundle: &'a Bundle,
    /// Surfaces by the lower bits of their slots.
    kept: [Option<Surface<'a>>; KEPT],
}

impl<'a> Surfaces<'a> {
    fn new(caster: &'a BvhCaster, bundle: &'a Bundle) -> Self {
        Self { caster, bundle, kept: [const { None }; KEPT] }
    }

    /// The surface of the triangle in `slot` of instance `place`.
    #[inline(always)]
    fn of(&mut self, place: u32, slot: u32) -> &Surface<'a> {
        let (caster, bundle) = (self.caster, self.bundle);
        let kept = &mut self.kept[slot as usize % KEPT];
        if kept.as_ref().is_some_and(|kept| (kept.place, kept.slot) != (place, slot)) {
            *kept = None;
        }
        kept.get_or_insert_with(|| Surface::new(caster, bundle, place, slot))
    }
}

/// Writes the hits of a bundle's rays.
#[inline(always)]
pub fn report(caster: &BvhCaster, bundle: &Bundle, hits: &mut [Hit]) {
    if !bundle.has_hit {
        hits.fill(Hit::MISS);
        return;
    }
    let mut surfaces = Surfaces::new(caster, bundle);
    let mut next = 0;
    while next < bundle.lanes {
        let lane = next;
        if lane % LANES == 0
            && lane + LANES <= bundle.lanes
            && report_alike(&mut surfaces, lane / LANES, hits)
        {
            next += LANES;
            continue;
        }
        next += 1;
        let hit = &mut hits[usize::from(bundle.ray[lane])];
        let (place, slot) = (bundle.placed[lane], bundle.slot[lane]);
        if place == NONE {
            *hit = Hit::MISS;
            continue;
        }
        let surface = surfaces.of(place, slot);
        let mut depth = bundle.depth[lane];
        let stretch = bundle.stretch[lane];
        let normal = surface.normal;
        let along = normal.x * bundle.slope_x[lane] + normal.y * bundle.slope_y[lane] + normal.z;
        let cos_incidence = (along.abs() / stretch).min(1.0);
        if cos_incidence < GRAZING_COS {
            depth = grazing_depth(caster, bundle, surface, lane);
        }
        let mut reflectance = surface.reflectance;
        if surface.is_mapped {
            reflectance *= map_value(caster, surface, bundle.point(lane, depth));
        }
        *hit = Hit {
            range_m: (depth - bundle.start[lane]) * stretch,
            cos_incidence,
            reflectance,
            instance: surface.placed.instance,
            triangle: surface.triangle,
            material: surface.material,
        };
    }
}

/// Writes the hits of a full register whose rays all meet the same surface, as most do on walls and ground. Returns
/// false without having written any if they do not, or if single rays need a closer look. The arithmetic is that of
/// [`report`].
#[inline(always)]
fn report_alike(surfaces: &mut Surfaces, register: usize, hits: &mut [Hit]) -> bool {
    let bundle = surfaces.bundle;
    let (placed, slots) =
        (of_register(&bundle.placed, register), of_register(&bundle.slot, register));
    let (place, slot) = (placed[0], slots[0]);
    let mut difference = 0;
    for k in 0..LANES {
        difference |= (placed[k] ^ place) | (slots[k] ^ slot);
    }
    if difference != 0 || place == NONE {
        return false;
    }
    let surface = surfaces.of(place, slot);
    if surface.is_mapped {
        return false;
    }
    let of = |values| of_register(values, register);
    let (slope_x, slope_y) = (of(&bundle.slope_x), of(&bundle.slope_y));
    let (stretch, depth, start) = (of(&bundle.stretch), of(&bundle.depth), of(&bundle.start));
    let normal = surface.normal;
    let (mut cos_incidence, mut range_m) = ([0.0f32; LANES], [0.0f32; LANES]);
    for k in 0..LANES {
        let along = normal.x * slope_x[k] + normal.y * slope_y[k] + normal.z;
        cos_incidence[k] = (along.abs() / stretch[k]).min(1.0);
        range_m[k] = (depth[k] - start[k]) * stretch[k];
    }
    if least(&cos_incidence) < GRAZING_COS {
        return false;
    }
    for (k, &ray) in of_register(&bundle.ray, register).iter().enumerate() {
        hits[usize::from(ray)] = Hit {
            range_m: range_m[k],
            cos_incidence: cos_incidence[k],
            reflectance: surface.reflectance,
            instance: surface.placed.instance,
            triangle: surface.triangle,
            material: surface.material,
        };
    }
    true
}

impl<'a> Surface<'a> {
    #[inline(always)]
    fn new(caster: &'a BvhCaster, bundle: &Bundle, place: u32, slot: u32) -> Self {
        let placed = &caster.placed[place as usize];
        let tree = &caster.meshes[placed.mesh as usize];
        let mesh = &caster.scene.meshes[placed.mesh as usize];
        let [a, b, c] = tree.corners(slot);
        let normal_in_mesh = (b - a).cross(c - a);
        // Normals are transformed by the inverse transpose.
        let normal = bundle.from_world * (placed.frame.from_world.transpose() * normal_in_mesh);
        let triangle = tree.triangle(slot);
        let material = tree.material(slot, mesh);
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

/// The depth at which a lane's ray meets the plane of its surface, in double precision. A ray along
/// the surface has none and keeps the depth of the traversal, which is on the triangle.
#[inline(never)]
fn grazing_depth(caster: &BvhCaster, bundle: &Bundle, surface: &Surface, lane: usize) -> f32 {
    let at = |depth: f32| surface.placed.to_mesh(bundle.point(lane, depth));
    let depth = bundle.depth[lane];
    let tree = &caster.meshes[surface.placed.mesh as usize];
    let [a, b, c] = tree.corners(surface.slot).map(|corner| corner.as_dvec3());
    let normal = (b - a).cross(c - a);
    let (start, end) = (at(0.0), at(depth));
    let share = normal.dot(a - start) / normal.dot(end - start);
    if (share - 1.0).abs() < 1e-3 { (share * f64::from(depth)) as f32 } else { depth }
}

/// The plane of a triangle in a bundle's frame, in double precision, which large triangles need.
pub struct Plane {
    normal: DVec3,
    /// Distance of the plane from the bundle's origin, in units of the length of `normal`.
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
        let mesh_from_bundle = placed.mesh_from_world_f64 * bundle.to_world;
        Self { normal: mesh_from_bundle.transpose() * normal, distance }
    }

    /// The depth at which a lane's ray meets the plane; not finite if they are parallel.
    #[inline]
    pub fn depth(&self, bundle: &Bundle, lane: usize) -> f32 {
        self.depth_on([
            bundle.slope_x[lane],
            bundle.slope_y[lane],
            bundle.shift_x[lane],
            bundle.shift_y[lane],
        ])
    }

    /// The same for the rays of a register.
    #[inline(always)]
    pub fn depths(&self, bundle: &Bundle, register: usize) -> Lanes {
        let [slope_x, slope_y, shift_x, shift_y] =
            [&bundle.slope_x, &bundle.slope_y, &bundle.shift_x, &bundle.shift_y]
                .map(|values| of_register(values, register));
        std::array::from_fn(|k| self.depth_on([slope_x[k], slope_y[k], shift_x[k], shift_y[k]]))
    }

    /// The depth on a ray with this slope and shift in `x` and `y`.
    #[inline(always)]
    fn depth_on(&self, ray: [f32; 4]) -> f32 {
        let [slope_x, slope_y, shift_x, shift_y] = ray.map(f64::from);
        let normal = self.normal;
        let along = normal.x * slope_x + normal.y * slope_y + normal.z;
        ((self.distance - normal.x * shift_x - normal.y * shift_y) / along) as f32
    }
}

/// The reflectance map's texel at `p` of World.
#[inline(never)]
fn map_value(caster: &BvhCaster, surface: &Surface, p: DVec3) -> f32 {
    let Some(map) = &caster.scene.materials[surface.material as usize].reflectance_map else {
        return 1.0;
    };
    let placed = surface.placed;
    let corners = caster.meshes[placed.mesh as usize].corners(surface.slot);
    let weights = barycentric(corners, placed.to_mesh(p).as_vec3());
    let mesh = &caster.scene.meshes[placed.mesh as usize];
    map.sample(texture_coordinates(mesh, surface.triangle, weights))
}

/// Whether a surface stops a ray at the point where the corners have `weights`, which need not sum
/// to 1.
#[inline(never)]
pub fn is_opaque(caster: &BvhCaster, placed: &Placed, slot: u32, weights: [f32; 3]) -> bool {
    let mesh = &caster.scene.meshes[placed.mesh as usize];
    let tree = &caster.meshes[placed.mesh as usize];
    let material = tree.material(slot, mesh);
    let Some(mask) = &caster.scene.materials[material as usize].opacity_mask else { return true };
    let triangle = tree.triangle(slot);
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
