//! Intel's Embree as a second ray caster: a reference for tests, and an option for users.
//!
//! Embree gets rays in packets of eight (or one by one, for comparison), in single precision relative to the middle of the
//! scene. Embree determines the hit triangle, and [`super::hit`] computes range, cosine and texture coordinates on it. Where
//! Embree and Menura's own ray caster report the same triangle, their hits are therefore equal bit by bit. Opacity masks are
//! evaluated during Embree's traversal, so that surfaces behind a hole are found.
//!
//! Embree does not order surfaces at the same range: of two, it may report either. At an edge it may report the
//! surface beside the correct one.

mod library;

use std::sync::Arc;

use glam::{DVec3, Vec3};

use library::{BuiltScene, NOTHING, RayHits, StopsRay, embree};
pub use library::{EmbreeError, LIBRARY_VARIABLE, Version};

use super::hit::{self, Plane, Pose};
use super::surface::texture_coordinates;
use super::{Finishes, Hit, Pulse, RayCaster, Stencil, finishes};
use crate::world::scene::{Instance, MaterialId, Mesh, Scene};

/// Number of rays that one call of Embree traces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Packets {
    /// Single rays, by `rtcIntersect1`.
    One,
    /// Eight rays, by `rtcIntersect8`.
    #[default]
    Eight,
}

/// Options for building and tracing a scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EmbreeSettings {
    /// Largest number of rays that one call of Embree traces.
    pub packets: Packets,
    /// Embree's `RTC_SCENE_FLAG_ROBUST`: no ray passes between two adjacent triangles. Tracing is somewhat slower.
    pub robust: bool,
}

impl Default for EmbreeSettings {
    fn default() -> Self {
        Self { packets: Packets::Eight, robust: true }
    }
}

/// Casts pulses through a scene with Embree. Clones share the trees.
#[derive(Clone)]
pub struct EmbreeCaster {
    built: Arc<Built>,
    packets: Packets,
}

struct Built {
    scene: Arc<Scene>,
    /// The scene of all instances. This field is declared before `_meshes`, because it must be dropped before the
    /// meshes.
    world: BuiltScene,
    _meshes: Vec<Option<BuiltScene>>,
    /// Origin of Embree's coordinates, in World.
    centre: DVec3,
    bytes: usize,
    poses: Vec<Pose>,
}

/// Loads the library if necessary, and returns its version and path.
///
/// # Errors
/// No usable library was found.
pub fn find() -> Result<(Version, &'static str), EmbreeError> {
    let embree = embree()?;
    Ok((embree.version(), embree.path()))
}

impl EmbreeCaster {
    /// Loads Embree and builds the trees of all meshes that an instance uses.
    ///
    /// # Errors
    /// No usable library was found, or Embree reports an error such as a lack of memory.
    pub fn new(scene: Arc<Scene>, settings: EmbreeSettings) -> Result<Self, EmbreeError> {
        let embree = embree()?;
        let held_before = embree.held_bytes();
        let mut meshes: Vec<Option<BuiltScene>> = scene.meshes.iter().map(|_| None).collect();
        for instance in &scene.instances {
            let index = instance.mesh as usize;
            if meshes[index].is_none() {
                let mesh = &scene.meshes[index];
                let stops_ray = masks(&scene, index);
                let built =
                    embree.mesh(&mesh.positions, &mesh.triangles, stops_ray, settings.robust)?;
                meshes[index] = Some(built);
            }
        }
        let centre = middle(&scene);
        let placed = scene.instances.iter().filter_map(|instance| {
            let mesh = meshes[instance.mesh as usize].as_ref()?;
            Some((mesh, columns(instance, centre)))
        });
        let world = embree.world(placed, settings.robust)?;
        let built = Built {
            world,
            _meshes: meshes,
            centre,
            bytes: embree.held_bytes().saturating_sub(held_before),
            poses: scene.instances.iter().map(|i| Pose::new(&i.world_from_mesh)).collect(),
            scene,
        };
        Ok(Self { built: Arc::new(built), packets: settings.packets })
    }

    /// A caster for the same scene that traces rays in packets of the size `packets`.
    pub fn in_packets_of(&self, packets: Packets) -> Self {
        Self { built: self.built.clone(), packets }
    }

    /// Bytes that Embree reports for the scene: its trees and its copy of the triangles.
    pub fn memory_bytes(&self) -> usize {
        self.built.bytes
    }
}

/// Filter that decides by opacity masks whether a triangle of the mesh stops a ray; `None` if every triangle stops every
/// ray.
fn masks(scene: &Arc<Scene>, mesh_index: usize) -> Option<StopsRay> {
    let mesh = &scene.meshes[mesh_index];
    let is_masked = |&m: &MaterialId| scene.materials[m as usize].opacity_mask.is_some();
    if mesh.uvs.is_empty() || !mesh.triangle_materials.iter().any(is_masked) {
        return None;
    }
    let scene = scene.clone();
    Some(Box::new(move |triangle, [b, c]| {
        let mesh = &scene.meshes[mesh_index];
        let material = mesh.triangle_materials[triangle as usize];
        let Some(mask) = &scene.materials[material as usize].opacity_mask else { return true };
        mask.sample(texture_coordinates(mesh, triangle, [1.0 - b - c, b, c])) > 0.5
    }))
}

/// Middle of the box around the instances' origins, in World. Embree's coordinates are relative to it, which keeps them
/// small.
fn middle(scene: &Scene) -> DVec3 {
    let places = scene.instances.iter().map(|i| i.world_from_mesh.translation);
    let all = places.fold(None, |all: Option<(DVec3, DVec3)>, p| {
        Some(all.map_or((p, p), |(low, high)| (low.min(p), high.max(p))))
    });
    all.map_or(DVec3::ZERO, |(low, high)| 0.5 * (low + high))
}

fn columns(instance: &Instance, centre: DVec3) -> [f32; 12] {
    let mut columns = [0.0; 12];
    let m = instance.world_from_mesh.matrix3;
    let place = instance.world_from_mesh.translation - centre;
    for (column, value) in [m.x_axis, m.y_axis, m.z_axis, place].into_iter().enumerate() {
        columns[3 * column..][..3].copy_from_slice(&value.as_vec3().to_array());
    }
    columns
}

impl RayCaster for EmbreeCaster {
    fn cast(&self, stencil: &Stencil, pulses: &[Pulse], hits: &mut [Hit]) {
        assert_eq!(hits.len(), pulses.len() * stencil.len(), "one hit for every ray");
        let world = &self.built.world;
        match self.packets {
            Packets::One => {
                self.built.cast::<1>(stencil, pulses, hits, |rays, _| world.intersect_1(rays));
            }
            Packets::Eight => {
                self.built.cast::<8>(stencil, pulses, hits, |rays, lanes| {
                    world.intersect_8(rays, lanes);
                });
            }
        }
    }

    fn finishes(&self) -> Option<&dyn Finishes> {
        finishes::of(&self.built.scene)
    }

    fn shading(&self) -> Option<&dyn Finishes> {
        Some(self.built.scene.as_ref())
    }
}

impl Built {
    /// Casts `LANES` rays at a time. A packet can have rays of several pulses, so that it is full.
    fn cast<const LANES: usize>(
        &self,
        stencil: &Stencil,
        pulses: &[Pulse],
        hits: &mut [Hit],
        intersect: impl Fn(&mut RayHits<LANES>, usize),
    ) {
        let offsets = stencil.offsets();
        let ray = |index: usize| (&pulses[index / offsets.len()], offsets[index % offsets.len()]);
        let mut last: Option<Surface> = None;
        for (chunk, hits) in hits.chunks_mut(LANES).enumerate() {
            let mut packet = RayHits::<LANES>::new();
            let lanes = hits.len();
            for lane in 0..lanes {
                let (pulse, [a, b]) = ray(chunk * LANES + lane);
                let direction = pulse.direction
                    + pulse.half_axis_u * f64::from(a)
                    + pulse.half_axis_v * f64::from(b);
                let length = direction.length();
                let begins = pulse.origin + direction * (f64::from(pulse.start_m) / length);
                let (origin, direction) = ((begins - self.centre).as_vec3(), direction.as_vec3());
                for axis in 0..3 {
                    packet.origin[axis][lane] = origin[axis];
                    packet.direction[axis][lane] = direction[axis];
                }
                packet.far[lane] = pulse.max_range_m / length as f32;
            }
            intersect(&mut packet, lanes);
            for (lane, hit) in hits.iter_mut().enumerate() {
                let (instance, triangle) = (packet.instance[lane], packet.primitive[lane]);
                if instance == NOTHING {
                    *hit = Hit::MISS;
                    continue;
                }
                if last.as_ref().is_none_or(|s| (s.instance, s.triangle) != (instance, triangle)) {
                    last = Some(Surface::new(self, instance, triangle));
                }
                let Some(surface) = &last else { continue };
                let weights = [packet.weights[0][lane], packet.weights[1][lane]];
                let (pulse, offset) = ray(chunk * LANES + lane);
                *hit = surface.hit(self, pulse, offset, weights);
            }
        }
    }
}

/// The surface of the last hit. It is cached because the next ray often hits the same surface.
struct Surface {
    instance: u32,
    triangle: u32,
    mesh: u32,
    material: MaterialId,
    plane: Plane,
}

impl Surface {
    fn new(built: &Built, instance: u32, triangle: u32) -> Self {
        let mesh_index = built.scene.instances[instance as usize].mesh;
        let mesh = &built.scene.meshes[mesh_index as usize];
        Self {
            instance,
            triangle,
            mesh: mesh_index,
            material: mesh.triangle_materials[triangle as usize],
            plane: Plane::new(&built.poses[instance as usize], corners(mesh, triangle)),
        }
    }

    /// The hit of a ray for which Embree reports the weights `b` and `c` of the second and third corner.
    fn hit(&self, built: &Built, pulse: &Pulse, offset: [f32; 2], [b, c]: [f32; 2]) -> Hit {
        let [range_m, cos_incidence] = hit::finish_one(pulse, offset, &self.plane.facing(pulse));
        // Because of rounding, Embree may report a triangle parallel to the ray, or one behind its end.
        if !hit::counts(pulse, range_m, cos_incidence) {
            return Hit::MISS;
        }
        let looks = &built.scene.materials[self.material as usize];
        let mesh = &built.scene.meshes[self.mesh as usize];
        let mut reflectance = looks.reflectance;
        if let Some(map) = &looks.reflectance_map
            && !mesh.uvs.is_empty()
        {
            let pose = &built.poses[self.instance as usize];
            let shares = hit::weights(pose, pulse, offset, corners(mesh, self.triangle))
                .map_or([1.0 - b - c, b, c], hit::shares);
            reflectance *= map.sample(texture_coordinates(mesh, self.triangle, shares));
        }
        Hit {
            range_m,
            cos_incidence,
            reflectance,
            instance: self.instance,
            triangle: self.triangle,
            material: self.material,
        }
    }
}

fn corners(mesh: &Mesh, triangle: u32) -> [Vec3; 3] {
    mesh.triangles[triangle as usize].map(|vertex| mesh.positions[vertex as usize].into())
}
