//! Properties of hit surfaces that a [`Hit`] does not contain. Hits stay small and fast to compute, because most scenes
//! have only diffuse surfaces, which need none of these properties.

use glam::DVec3;

use super::{Hit, Pulse, RayCaster};
use crate::time::SimTime;
use crate::world::colours::TextureSpot;
use crate::world::scene::{Finish, Material, Scene};

/// Properties of the surfaces that rays hit; see [`RayCaster::finishes`] and [`RayCaster::shading`].
pub trait Finishes {
    /// The material that a ray hit; `None` if the material is diffuse or the ray hit nothing.
    fn material(&self, hit: &Hit) -> Option<&Material>;

    /// The material that a ray hit, diffuse or not; `None` if the ray hit nothing.
    fn surface(&self, hit: &Hit) -> Option<&Material>;

    /// Number of the scene to which `material` of a hit refers: 0 for the static scene, otherwise 1 plus the index of
    /// the moving object.
    fn scene_of(&self, _hit: &Hit) -> u32 {
        0
    }

    /// Unit normal, in World, of the surface that the middle ray of `pulse` hit; `fired` is the pulse's firing time.
    /// The normal points to the side from which the ray came. `None` if the surface has no normal.
    fn normal(&self, pulse: &Pulse, hit: &Hit, fired: SimTime) -> Option<DVec3>;

    /// Texture coordinates at the point that the middle ray of `pulse` hit; `None` if the surface has none.
    fn texture_spot(&self, pulse: &Pulse, hit: &Hit, fired: SimTime) -> Option<TextureSpot>;

    /// Position at time `_to`, in World, of the point on the hit surface that is at `place` at time `_from`.
    fn carried(&self, _hit: &Hit, place: DVec3, _from: SimTime, _to: SimTime) -> DVec3 {
        place
    }
}

impl Finishes for Scene {
    fn material(&self, hit: &Hit) -> Option<&Material> {
        let material = self.materials.get(hit.material as usize)?;
        (material.finish != Finish::Matt).then_some(material)
    }

    fn surface(&self, hit: &Hit) -> Option<&Material> {
        self.materials.get(hit.material as usize)
    }

    fn normal(&self, pulse: &Pulse, hit: &Hit, _fired: SimTime) -> Option<DVec3> {
        let instance = self.instances.get(hit.instance as usize)?;
        let [a, b, c] = self.meshes[instance.mesh as usize].corners(hit.triangle);
        // Normals are transformed by the inverse transpose.
        let world_from_normal = instance.world_from_mesh.matrix3.inverse().transpose();
        let normal = (world_from_normal * (b - a).cross(c - a)).try_normalize()?;
        Some(if normal.dot(pulse.direction) > 0.0 { -normal } else { normal })
    }

    fn texture_spot(&self, pulse: &Pulse, hit: &Hit, _fired: SimTime) -> Option<TextureSpot> {
        let instance = self.instances.get(hit.instance as usize)?;
        let mesh = &self.meshes[instance.mesh as usize];
        let corners = mesh.triangles[hit.triangle as usize];
        let mut uvs = [[0.0; 2]; 3];
        for (uv, corner) in uvs.iter_mut().zip(corners) {
            *uv = mesh.uvs.get(corner as usize)?.map(f64::from);
        }
        let place = pulse.exit() + pulse.direction * f64::from(hit.range_m);
        let [a, b, c] =
            mesh.corners(hit.triangle).map(|p| instance.world_from_mesh.transform_point3(p));
        let normal = (b - a).cross(c - a);
        let scale = normal.length_squared().recip();
        let weight_b = (c - a).cross(a - place).dot(normal) * scale;
        let weight_c = (a - place).cross(b - a).dot(normal) * scale;
        let [[u0, v0], [u1, v1], [u2, v2]] = uvs;
        let of = |at0: f64, at1: f64, at2: f64| {
            (at0 + (at1 - at0) * weight_b + (at2 - at0) * weight_c) as f32
        };
        let area = ((u1 - u0) * (v2 - v0) - (u2 - u0) * (v1 - v0)).abs();
        let per_m = (area / normal.length()).sqrt() as f32;
        Some(TextureSpot { uv: [of(u0, u1, u2), of(v0, v1, v2)], per_m })
    }
}

/// The finishes of a scene; `None` if all surfaces are diffuse.
pub(in crate::world) fn of(scene: &Scene) -> Option<&dyn Finishes> {
    scene.has_finishes().then_some(scene as &dyn Finishes)
}

/// The nearest hit of the ray along the middle of `pulse`.
pub(in crate::world) fn first_hit(caster: &dyn RayCaster, pulse: Pulse) -> Hit {
    let mut hit = [Hit::MISS];
    caster.cast(&super::Stencil::single(), &[pulse], &mut hit);
    hit[0]
}
