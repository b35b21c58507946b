//! Ray casting: the hits of lidar pulses.
//!
//! A pulse is a bundle of rays that share an origin (Goodin et al. 2018: nine). Casters take many
//! pulses at once, so that neighbours may share a traversal of the scene; the hits are the same as
//! those of separate rays.

mod binary;
mod borders;
mod boxes;
mod bundle;
mod bvh;
mod cast;
mod clusters;
#[cfg(test)]
pub(in crate::world) mod draws;
pub mod embree;
pub(super) mod finishes;
mod fired;
#[cfg(feature = "gpu")]
pub mod gpu;
mod hit;
mod leaf;
mod memory;
mod parts;
mod shade;
mod shadow;
mod slab;
mod surface;
mod top;
mod tree;
mod walk;

use std::sync::Arc;

use fearless_simd::Level;
use glam::DVec3;
use serde::Serialize;

pub use bvh::{BuildError, BvhCaster};
pub use finishes::Finishes;
pub use fired::Beams;
#[cfg(test)]
pub(in crate::world) use hit::reference;

use crate::time::SimTime;

/// Largest number of rays in a [`Stencil`].
pub const MAX_RAYS: usize = 16;

/// One laser shot, in World.
#[derive(Clone, Copy, Debug)]
pub struct Pulse {
    /// Point where all rays of the pulse meet, metres.
    pub origin: DVec3,
    /// Distance from `origin` at which the rays begin, metres: above 0 for beams with a width at the exit. A range is
    /// measured from the place where the ray begins, not from `origin`.
    pub start_m: f32,
    /// Unit vector of the beam's centre.
    pub direction: DVec3,
    /// First half-axis of the beam footprint at 1 m, perpendicular to `direction`, metres.
    pub half_axis_u: DVec3,
    /// Second half-axis of the beam footprint at 1 m, perpendicular to `direction` and to `half_axis_u`, metres.
    pub half_axis_v: DVec3,
    /// Length of each ray, metres.
    pub max_range_m: f32,
}

impl Pulse {
    /// Point where the middle of the beam leaves the device, in World, metres.
    #[inline(always)]
    pub fn exit(&self) -> DVec3 {
        self.origin + self.direction * f64::from(self.start_m)
    }
}

/// Offsets of a pulse's rays in its beam footprint. Ray `i` runs along `direction + offsets[i][0] * half_axis_u +
/// offsets[i][1] * half_axis_v`.
#[derive(Clone, Debug, PartialEq)]
pub struct Stencil {
    offsets: Vec<[f32; 2]>,
}

impl Stencil {
    /// A stencil of 1 to [`MAX_RAYS`] rays; `None` for any other number or a non-finite offset.
    pub fn new(offsets: Vec<[f32; 2]>) -> Option<Self> {
        let finite = offsets.iter().flatten().all(|c| c.is_finite());
        (finite && (1..=MAX_RAYS).contains(&offsets.len())).then_some(Self { offsets })
    }

    /// A stencil with only the centre ray.
    pub fn single() -> Self {
        Self { offsets: vec![[0.0, 0.0]] }
    }

    /// Offsets of the rays in units of the half-axes.
    pub fn offsets(&self) -> &[[f32; 2]] {
        &self.offsets
    }

    /// Number of rays, 1 to [`MAX_RAYS`].
    #[allow(clippy::len_without_is_empty)] // never empty
    pub fn len(&self) -> usize {
        self.offsets.len()
    }
}

/// The nearest surface along a ray.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "gpu", derive(bytemuck::Pod, bytemuck::Zeroable))]
#[repr(C)] // A GPU writes hits.
pub struct Hit {
    /// Distance along the ray, metres. Infinite if nothing is hit; the other fields are then
    /// meaningless.
    pub range_m: f32,
    /// Cosine of the angle between the ray and the surface normal, 0..=1 (surfaces have two sides).
    pub cos_incidence: f32,
    /// Diffuse reflectance at the hit, 0..=1; it includes the factor of the material's reflectance map.
    pub reflectance: f32,
    /// Index into [`super::scene::Scene::instances`]. Moving objects have the indices after the last
    /// instance; `triangle` and `material` then refer to the object's own scene.
    pub instance: u32,
    /// Index into the triangles of the instance's mesh.
    pub triangle: u32,
    /// Index into [`super::scene::Scene::materials`].
    pub material: u32,
}

impl Hit {
    /// The result of a ray that hits nothing within its length.
    pub const MISS: Self = Self {
        range_m: f32::INFINITY,
        cos_incidence: 0.0,
        reflectance: 0.0,
        instance: u32::MAX,
        triangle: u32::MAX,
        material: u32::MAX,
    };
}

/// A GPU of this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GpuFacts {
    /// Name of the GPU.
    pub name: String,
    /// Name and version of the driver.
    pub driver: String,
    /// Whether the GPU can compute in double precision.
    pub has_f64: bool,
    /// Whether the device is a processor that acts as a GPU.
    pub is_software: bool,
}

/// Finds the hits of pulses in one scene. All threads may use it.
///
/// Tie rule: of surfaces at the same range (as `f32`), the lowest instance index wins, then the lowest triangle index.
/// Hits therefore depend neither on the order of traversal nor on which rays are cast together.
pub trait RayCaster: Send + Sync {
    /// Casts every ray of every pulse, and overwrites `hits`, which must have `pulses.len() * stencil.len()` entries;
    /// the rays of a pulse are next to each other.
    ///
    /// # Panics
    /// If `hits` has another length.
    fn cast(&self, stencil: &Stencil, pulses: &[Pulse], hits: &mut [Hit]);

    /// Like [`RayCaster::cast`], with moving objects at their poses when each pulse is fired. `fired` has one entry
    /// per pulse, in any order of time.
    fn cast_at(&self, stencil: &Stencil, pulses: &[Pulse], fired: &[SimTime], hits: &mut [Hit]) {
        let _ = fired; // nothing moves in this scene
        self.cast(stencil, pulses, hits);
    }

    /// Whether [`RayCaster::cast_with_bodies`] can be called if the scene's part of the call has `rays` rays.
    fn casts_bodies(&self, rays: usize) -> bool {
        let _ = rays; // this caster casts into one scene at a time
        false
    }

    /// Casts pulses into the scene, and at the same time the pulses of `BodyCast`s into bodies of moving objects.
    /// Returns false if the GPU cannot cast, for example because it was lost; the caller must then cast all pulses by
    /// other functions.
    fn cast_with_bodies(
        &self,
        stencil: &Stencil,
        pulses: &[Pulse],
        hits: &mut [Hit],
        bodies: &mut [BodyCast],
    ) -> bool {
        let _ = (stencil, pulses, hits, bodies);
        false
    }

    /// For each position in `from`, writes to `blocked` whether the ray of `beams` that starts there hits a surface.
    /// Moving objects have their poses at `fired`, one entry per position. Positions near one another should be
    /// adjacent in `from`.
    fn blocked_at(&self, beams: &Beams, from: &[DVec3], fired: &[SimTime], blocked: &mut [bool]) {
        let rays: Vec<Pulse> = from.iter().map(|place| beams.ray(*place)).collect();
        let mut hits = vec![Hit::MISS; rays.len()];
        self.cast_at(&Stencil::single(), &rays, fired, &mut hits);
        for (blocked, hit) in blocked.iter_mut().zip(&hits) {
            *blocked = hit.range_m.is_finite();
        }
    }

    /// Number of simultaneous calls that keeps the caster busy: more than one for a GPU, because a batch combines waiting
    /// calls.
    fn in_flight(&self) -> usize {
        1
    }

    /// Largest number of pulses that a worker collects for one call from the waiting sweeps of a lidar. 0: each sweep has
    /// its own call.
    fn pulses_per_call(&self) -> usize {
        0
    }

    /// Reason for which the caster's GPU was lost; `None` if it was not lost. After the loss, the processor casts.
    fn lost(&self) -> Option<String> {
        None
    }

    /// Number of pulses into the scene that a GPU has cast, without pulses into bodies of moving objects; 0 for casters
    /// without a GPU.
    fn pulses_by_gpu(&self) -> u64 {
        0
    }

    /// Finishes of surfaces that do more than scatter light diffusely. `None` if there are no such surfaces: a hit's
    /// range, incidence and reflectance are then enough to compute its light.
    fn finishes(&self) -> Option<&dyn Finishes> {
        None
    }

    /// Properties of all surfaces, including diffuse ones, for cameras; `None` if the world has no surfaces.
    fn shading(&self) -> Option<&dyn Finishes> {
        None
    }
}

/// Pulses into the body of a moving object, in the body's frame.
pub struct BodyCast {
    /// Caster of the body.
    pub body: Arc<BvhCaster>,
    /// The pulses, in the body's frame.
    pub pulses: Vec<Pulse>,
    /// Hits of the pulses, with the rays of a pulse next to each other.
    pub hits: Vec<Hit>,
}

/// Shares a caster among several owners.
impl<C: RayCaster> RayCaster for Arc<C> {
    fn cast(&self, stencil: &Stencil, pulses: &[Pulse], hits: &mut [Hit]) {
        C::cast(self, stencil, pulses, hits);
    }

    fn cast_at(&self, stencil: &Stencil, pulses: &[Pulse], fired: &[SimTime], hits: &mut [Hit]) {
        C::cast_at(self, stencil, pulses, fired, hits);
    }

    fn casts_bodies(&self, rays: usize) -> bool {
        C::casts_bodies(self, rays)
    }

    fn cast_with_bodies(
        &self,
        stencil: &Stencil,
        pulses: &[Pulse],
        hits: &mut [Hit],
        bodies: &mut [BodyCast],
    ) -> bool {
        C::cast_with_bodies(self, stencil, pulses, hits, bodies)
    }

    fn blocked_at(&self, beams: &Beams, from: &[DVec3], fired: &[SimTime], blocked: &mut [bool]) {
        C::blocked_at(self, beams, from, fired, blocked);
    }

    fn in_flight(&self) -> usize {
        C::in_flight(self)
    }

    fn pulses_per_call(&self) -> usize {
        C::pulses_per_call(self)
    }

    fn lost(&self) -> Option<String> {
        C::lost(self)
    }

    fn pulses_by_gpu(&self) -> u64 {
        C::pulses_by_gpu(self)
    }

    fn finishes(&self) -> Option<&dyn Finishes> {
        C::finishes(self)
    }

    fn shading(&self) -> Option<&dyn Finishes> {
        C::shading(self)
    }
}

/// A world without surfaces.
#[derive(Clone, Copy, Debug)]
pub struct OpenSky;

impl RayCaster for OpenSky {
    fn cast(&self, _stencil: &Stencil, _pulses: &[Pulse], hits: &mut [Hit]) {
        hits.fill(Hit::MISS);
    }
}

/// The vector instructions to use. AVX-512 was 5 % slower than AVX2 when measured (Zen 4).
fn fastest() -> Level {
    let level = Level::new();
    #[cfg(target_arch = "x86_64")]
    if let Some(avx2) = level.as_avx2() {
        return Level::Avx2(avx2);
    }
    level
}
