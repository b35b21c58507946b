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
    /// Where all its rays meet, metres.
    pub origin: DVec3,
    /// Distance from `origin` at which the rays begin, metres; ranges count from there. Not 0 for beams that leave
    /// with some width.
    pub start_m: f32,
    /// Unit vector of the beam's centre.
    pub direction: DVec3,
    /// The spot's first half-axis at 1 m: perpendicular to `direction`, metres.
    pub half_axis_u: DVec3,
    /// The spot's second half-axis at 1 m, perpendicular to both.
    pub half_axis_v: DVec3,
    /// Length of each ray, metres.
    pub max_range_m: f32,
}

impl Pulse {
    /// Where the middle of the beam leaves the device, in World.
    #[inline(always)]
    pub fn exit(&self) -> DVec3 {
        self.origin + self.direction * f64::from(self.start_m)
    }
}

/// The positions of a pulse's rays in its spot: ray `i` runs along
/// `direction + offsets[i][0] * half_axis_u + offsets[i][1] * half_axis_v`.
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

    /// The centre ray alone.
    pub fn single() -> Self {
        Self { offsets: vec![[0.0, 0.0]] }
    }

    /// Positions of the rays in units of the half-axes.
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
pub struct Hit {
    /// Distance along the ray, metres. Infinite if nothing is hit; the other fields are then
    /// meaningless.
    pub range_m: f32,
    /// Cosine of the angle between the ray and the surface normal, 0..=1 (surfaces have two sides).
    pub cos_incidence: f32,
    /// Diffuse reflectance at the hit, with its texture, 0..=1.
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
    /// Its driver, with the version.
    pub driver: String,
    /// Whether it computes in double precision.
    pub has_f64: bool,
    /// Whether it is a processor that acts as a GPU.
    pub is_software: bool,
}

/// Finds the hits of pulses in one scene. May be used from any thread.
///
/// Tie rule: of surfaces at the same range (as `f32`), the lowest instance index wins, then the
/// lowest triangle index. Hits therefore depend neither on the order of traversal nor on the bundle.
pub trait RayCaster: Send + Sync {
    /// Casts every ray of every pulse. `hits` has `pulses.len() * stencil.len()` entries, with the
    /// rays of a pulse next to each other; all are written.
    ///
    /// # Panics
    /// If `hits` has another length.
    fn cast(&self, stencil: &Stencil, pulses: &[Pulse], hits: &mut [Hit]);

    /// As [`RayCaster::cast`], with moving objects where they are when each pulse is fired. `fired`
    /// has one entry a pulse, in any order of time.
    fn cast_at(&self, stencil: &Stencil, pulses: &[Pulse], fired: &[SimTime], hits: &mut [Hit]) {
        let _ = fired; // a scene where nothing moves
        self.cast(stencil, pulses, hits);
    }

    /// Whether [`RayCaster::cast_with_bodies`] casts a call that has so many rays into the scene.
    fn casts_bodies(&self, rays: usize) -> bool {
        let _ = rays; // a caster that casts into one scene at a time
        false
    }

    /// Casts pulses into the scene, and at the same time others into the bodies of moving objects. Returns false, and
    /// leaves it to the caller, if a GPU was lost.
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

    /// Writes for each place of `from` whether anything stands between it and the light of `beams`, with moving objects
    /// where they are at `fired`, one entry a place. Places near one another should follow one another.
    fn blocked_at(&self, beams: &Beams, from: &[DVec3], fired: &[SimTime], blocked: &mut [bool]) {
        let rays: Vec<Pulse> = from.iter().map(|place| beams.ray(*place)).collect();
        let mut hits = vec![Hit::MISS; rays.len()];
        self.cast_at(&Stencil::single(), &rays, fired, &mut hits);
        for (blocked, hit) in blocked.iter_mut().zip(&hits) {
            *blocked = hit.range_m.is_finite();
        }
    }

    /// Number of simultaneous calls that keeps the caster busy. For a GPU it exceeds the number of processors, because
    /// calls wait and waiting calls are cast together.
    fn in_flight(&self) -> usize {
        1
    }

    /// Why the caster's GPU was lost; `None` if it was not. After the loss, the processor casts.
    fn lost(&self) -> Option<String> {
        None
    }

    /// Number of pulses in calls of [`RayCaster::cast`] that a GPU has answered. 0 for casters without a GPU.
    fn pulses_by_gpu(&self) -> u64 {
        0
    }

    /// What surfaces do besides scattering light diffusely; `None` if all of them do nothing else, so that
    /// range, incidence and reflectance of a hit say everything.
    fn finishes(&self) -> Option<&dyn Finishes> {
        None
    }

    /// The surfaces, matt ones as well, for sensors that see colours; `None` if there are none.
    fn shading(&self) -> Option<&dyn Finishes> {
        None
    }
}

/// Pulses into the body of a moving object, in its frame.
pub struct BodyCast {
    /// The body.
    pub body: Arc<BvhCaster>,
    /// The pulses.
    pub pulses: Vec<Pulse>,
    /// Their hits, with the rays of a pulse next to each other.
    pub hits: Vec<Hit>,
}

/// A caster that several owners share.
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
