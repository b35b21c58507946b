//! What a lidar pulse hits.
//!
//! A pulse is a bundle of rays that share an origin (Goodin et al. 2018: nine). Casters take many
//! pulses at once so that neighbours may share a walk through the scene; the hits are those of
//! separate rays all the same.

mod bundle;
mod bvh;
pub mod embree;
mod leaf;
mod memory;
mod moving;
mod shadow;
mod surface;
mod tree;
mod walk;

use glam::DVec3;

pub use bvh::{BuildError, BvhCaster};
pub use moving::MovingCaster;

use crate::time::SimTime;

/// The most rays a [`Stencil`] may have.
pub const MAX_RAYS: usize = 16;

/// One laser shot, in World.
#[derive(Clone, Copy, Debug)]
pub struct Pulse {
    /// Where it starts, metres.
    pub origin: DVec3,
    /// Unit vector of the beam's centre.
    pub direction: DVec3,
    /// The spot's first half-axis at 1 m: perpendicular to `direction`, metres.
    pub half_axis_u: DVec3,
    /// The spot's second half-axis at 1 m, perpendicular to both.
    pub half_axis_v: DVec3,
    /// Rays end here, measured along each ray, metres.
    pub max_range_m: f32,
}

/// Where in the spot the rays of a pulse lie: ray `i` runs along
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

    /// The rays' places in half-axes.
    pub fn offsets(&self) -> &[[f32; 2]] {
        &self.offsets
    }

    /// Rays in the stencil.
    #[allow(clippy::len_without_is_empty)] // never empty
    pub fn len(&self) -> usize {
        self.offsets.len()
    }
}

/// The nearest surface along a ray.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// Along the ray, metres; infinite when nothing is hit, and then the rest means nothing.
    pub range_m: f32,
    /// Cosine of the angle between the ray and the surface normal, 0..=1 (surfaces have two sides).
    pub cos_incidence: f32,
    /// Diffuse reflectance there, texture included, 0..=1.
    pub reflectance: f32,
    /// Index into [`super::scene::Scene::instances`]; behind the last one, moving objects are
    /// counted on, and what follows is of their own scenes.
    pub instance: u32,
    /// Index into the instance's mesh's triangles.
    pub triangle: u32,
    /// Index into [`super::scene::Scene::materials`].
    pub material: u32,
}

impl Hit {
    /// No surface within range.
    pub const MISS: Self = Self {
        range_m: f32::INFINITY,
        cos_incidence: 0.0,
        reflectance: 0.0,
        instance: u32::MAX,
        triangle: u32::MAX,
        material: u32::MAX,
    };
}

/// Finds what pulses hit in one scene. Cast from any thread.
///
/// Tie rule: of surfaces at the same range (as `f32`), the lowest instance, then the lowest
/// triangle index wins, so that hits depend neither on the order of the walk nor on the bundle.
pub trait RayCaster: Send + Sync {
    /// Casts every ray of every pulse. `hits` holds `pulses.len() * stencil.len()` entries, the
    /// rays of a pulse side by side; all are written.
    ///
    /// # Panics
    /// When `hits` has another length.
    fn cast(&self, stencil: &Stencil, pulses: &[Pulse], hits: &mut [Hit]);

    /// As [`RayCaster::cast`], each pulse at the instant it is `fired`: what moves is where it is
    /// then. One entry a pulse, in any order.
    fn cast_at(&self, stencil: &Stencil, pulses: &[Pulse], fired: &[SimTime], hits: &mut [Hit]) {
        let _ = fired; // a scene where nothing moves
        self.cast(stencil, pulses, hits);
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
