//! Surfaces that also reflect specularly or transmit light: finds all points from which light returns, given the hits
//! of rays.
//!
//! A ray that hits glass continues behind it, with the energy of two passages. A ray that hits a mirror, glass or
//! water also continues in the direction of specular reflection. Light that returns on the same path appears straight
//! ahead, at the distance of the whole path; this is a mirror image. Each path has at most one reflection and at most
//! [`MAX_PASSAGES`] panes. Light that goes out directly and returns by the mirror, or the reverse, comes from outside
//! the receiver's field of view and is ignored.

mod optics;

use glam::DVec3;

pub use optics::wet_reflectance;

use super::receiver::Gathered;
use crate::time::SimTime;
use crate::world::raycast::{Finishes, Hit, Pulse, RayCaster, Stencil};

/// Largest number of times that a ray continues after a hit. A path through a room with double glazing on both sides
/// passes four panes.
const MAX_PASSAGES: usize = 8;
/// Smallest share of light that is traced. At this limit, a retroreflector is still visible after two reflections by a
/// window (out and back).
const LEAST_ENERGY: f32 = 1e-5;
/// Distance from a surface at which a ray continues, metres. It prevents the ray from hitting the surface again.
const CLEARANCE_M: f64 = 1e-4;
/// Additional distance from the surface, as a share of the path length: twice the error of a hit.
const CLEARANCE: f64 = 4e-6;

/// A point from which light of a ray returns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Glimpse {
    /// Index of the ray in the `hits` of [`Glimpses::follow`].
    ray: u32,
    /// One-way length of the light's path, metres.
    pub range_m: f32,
    /// Strength of the returned light: reflectance of a diffuse surface that would give the same return if the whole
    /// ray hit it at normal incidence. Retroreflectors exceed 1.
    pub reflectance: f32,
    /// Index of the instance, as in [`Hit::instance`].
    pub instance: u32,
    /// Index of the material, as in [`Hit::material`].
    pub material: u32,
    /// Cosine of the angle of incidence, 0..=1.
    pub cos_incidence: f32,
    /// Whether the light comes from a mirror image.
    pub is_mirrored: bool,
}

/// Points from which the light of many pulses returns. Reuse one value for many calls, because it owns the buffers.
#[derive(Clone, Debug, Default)]
pub struct Glimpses {
    /// Points from which light returns, sorted by ray; diffuse pulses have no entries.
    seen: Vec<Glimpse>,
    /// For each pulse, whether all of its light returns from diffuse surfaces that its rays hit.
    is_diffuse: Vec<bool>,
    going: Vec<Going>,
    pulses: Vec<Pulse>,
    fired: Vec<SimTime>,
    hits: Vec<Hit>,
}

/// A ray that continues after a hit.
#[derive(Clone, Copy, Debug)]
struct Going {
    path: Path,
    pulse: Pulse,
    fired: SimTime,
}

/// Path of a ray's light so far.
#[derive(Clone, Copy, Debug)]
struct Path {
    /// Index of the ray, as in [`Glimpse`].
    ray: u32,
    length_m: f32,
    /// Share of the light that remains after the surfaces on the path, counted for the way out and back.
    energy: f32,
    is_mirrored: bool,
}

impl Glimpse {
    /// Index of the ray within its pulse, which has `rays` rays.
    pub fn ray_of(&self, rays: usize) -> usize {
        self.ray as usize % rays
    }
}

impl Glimpses {
    /// Traces the light of `pulses`, which are fired at the times `fired`, through specular and transparent surfaces.
    /// `hits` are the first hits of their rays.
    pub fn follow(
        &mut self,
        caster: &dyn RayCaster,
        finishes: &dyn Finishes,
        stencil: &Stencil,
        (pulses, fired): (&[Pulse], &[SimTime]),
        hits: &[Hit],
    ) {
        self.seen.clear();
        self.is_diffuse.clear();
        self.going.clear();
        let mut known = None;
        let mut is_diffuse = |hit: &Hit| {
            let key = (hit.instance, hit.material);
            match known {
                Some((known, is_diffuse)) if known == key => is_diffuse,
                _ => {
                    let is_diffuse = finishes.material(hit).is_none();
                    known = Some((key, is_diffuse));
                    is_diffuse
                }
            }
        };
        for ((place, hits), (pulse, fired)) in
            hits.chunks_exact(stencil.len()).enumerate().zip(pulses.iter().zip(fired))
        {
            let returns = |hit: &Hit| hit.reflectance * hit.cos_incidence > 0.0;
            let met = |hit: &&Hit| hit.range_m != f32::INFINITY;
            let all = hits.iter().filter(met).all(|hit| returns(hit) && is_diffuse(hit));
            self.is_diffuse.push(all);
            if all {
                continue;
            }
            for ((ray, hit), offset) in (place * stencil.len()..).zip(hits).zip(stencil.offsets()) {
                let path = Path { ray: ray as u32, length_m: 0.0, energy: 1.0, is_mirrored: false };
                self.meet(finishes, &path, hit, *fired, || along(pulse, *offset));
            }
        }
        for _ in 0..MAX_PASSAGES {
            if self.going.is_empty() {
                break;
            }
            let going = std::mem::take(&mut self.going);
            self.pulses.clear();
            self.pulses.extend(going.iter().map(|going| going.pulse));
            self.fired.clear();
            self.fired.extend(going.iter().map(|going| going.fired));
            let mut hits = std::mem::take(&mut self.hits);
            // Old contents need no reset, because casters write every hit.
            hits.resize(going.len(), Hit::MISS);
            caster.cast_at(&Stencil::single(), &self.pulses, &self.fired, &mut hits);
            for (going, hit) in going.iter().zip(&hits) {
                self.meet(finishes, &going.path, hit, going.fired, || going.pulse);
            }
            self.hits = hits;
        }
        // The sort is stable, so that points stay in order of distance along each path.
        self.seen.sort_by_key(|glimpse| glimpse.ray);
    }

    /// Sets to unknown the light of pulses that hit other than diffuse surfaces.
    pub(super) fn forget(&self, gathered: &mut [Gathered]) {
        for (gathered, is_diffuse) in gathered.iter_mut().zip(&self.is_diffuse) {
            if !is_diffuse {
                *gathered = Gathered::Unknown;
            }
        }
    }

    /// For each pulse, the points from which its light returns; each pulse has `rays` rays. `None` for a diffuse pulse:
    /// its light returns from the first hits of its rays, all of which are on diffuse surfaces.
    pub fn by_pulse(&self, rays: usize) -> impl Iterator<Item = Option<&[Glimpse]>> {
        let mut left = &self.seen[..];
        (1..).zip(&self.is_diffuse).map(move |(next, is_diffuse): (usize, &bool)| {
            let count = left.iter().take_while(|g| (g.ray as usize) < next * rays).count();
            let (own, others) = left.split_at(count);
            left = others;
            (!is_diffuse).then_some(own)
        })
    }

    /// Records the light that returns from a hit, and the rays that continue. `pulse` creates the ray that hit; it is
    /// called only if a ray continues.
    #[inline(always)]
    fn meet(
        &mut self,
        finishes: &dyn Finishes,
        path: &Path,
        hit: &Hit,
        fired: SimTime,
        pulse: impl FnOnce() -> Pulse,
    ) {
        if hit.range_m == f32::INFINITY {
            return;
        }
        let path_m = path.length_m + hit.range_m;
        let mut see = |range_m: f32, reflectance: f32| {
            if reflectance > 0.0 {
                let reflectance = path.energy * reflectance;
                self.seen.push(Glimpse {
                    ray: path.ray,
                    range_m,
                    reflectance,
                    instance: hit.instance,
                    material: hit.material,
                    cos_incidence: hit.cos_incidence,
                    is_mirrored: path.is_mirrored,
                });
            }
        };
        let Some(material) = finishes.material(hit) else {
            see(path_m, hit.reflectance * hit.cos_incidence);
            return;
        };
        see(path_m, optics::returned(material, hit.reflectance, hit.cos_incidence));
        let onward = optics::onward(material, hit.reflectance, hit.cos_incidence);
        if let Some((deeper_m, reflectance)) = onward.from_below {
            see(path_m + deeper_m, reflectance);
        }
        let mirrored = if path.is_mirrored { 0.0 } else { onward.mirrored };
        let left = |share: f32| Some(path.energy * share * share).filter(|&e| e >= LEAST_ENERGY);
        let (mirrored, passed) = (left(mirrored), left(onward.passed));
        if mirrored.is_none() && passed.is_none() {
            return;
        }
        let pulse = pulse();
        let Some(normal) = finishes.normal(&pulse, hit, fired) else { return };
        let place = pulse.origin + pulse.direction * f64::from(hit.range_m);
        let clearance = normal * (CLEARANCE_M + CLEARANCE * f64::from(path_m));
        let max_range_m = pulse.max_range_m - hit.range_m;
        let mut go = |origin: DVec3, direction: DVec3, energy: f32, is_mirrored: bool| {
            let pulse = Pulse { origin, direction, max_range_m, ..pulse };
            let path = Path { ray: path.ray, length_m: path_m, energy, is_mirrored };
            self.going.push(Going { path, pulse, fired });
        };
        if let Some(energy) = passed {
            go(place - clearance, pulse.direction, energy, path.is_mirrored);
        }
        if let Some(energy) = mirrored {
            let direction = pulse.direction - 2.0 * pulse.direction.dot(normal) * normal;
            go(place + clearance, direction, energy, true);
        }
    }
}

/// The ray of `pulse` at the offsets `u` and `v` of the stencil, as a separate pulse.
fn along(pulse: &Pulse, [u, v]: [f32; 2]) -> Pulse {
    let aside = pulse.half_axis_u * f64::from(u) + pulse.half_axis_v * f64::from(v);
    let direction = (pulse.direction + aside).normalize();
    Pulse {
        origin: pulse.origin + direction * f64::from(pulse.start_m),
        start_m: 0.0,
        direction,
        half_axis_u: DVec3::ZERO,
        half_axis_v: DVec3::ZERO,
        ..*pulse
    }
}

#[cfg(test)]
mod tests;
