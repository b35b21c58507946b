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

use crate::time::SimTime;
use crate::world::raycast::{Finishes, Hit, Pulse, RayCaster, Stencil};

/// Largest number of times that a ray continues after a hit. A path through a room with double glazing on both sides
/// passes four panes.
const MAX_PASSAGES: usize = 8;
/// Smallest share of light that is traced. At this limit, a retroreflector is still visible after two reflections by a
/// window (out and back).
const LEAST_ENERGY: f32 = 1e-5;
/// Distance from a surface at which a ray continues, metres, so that the ray does not hit the surface again.
/// [`CLEARANCE`] adds a share of the path length, twice the error of a hit.
const CLEARANCE_M: f64 = 1e-4;
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
    /// Points from which light returns, sorted by ray.
    seen: Vec<Glimpse>,
    going: Vec<Going>,
    pulses: Vec<Pulse>,
    fired: Vec<SimTime>,
    hits: Vec<Hit>,
}

/// A ray that continues after a hit.
#[derive(Clone, Copy, Debug)]
struct Going {
    ray: u32,
    pulse: Pulse,
    fired: SimTime,
    /// Length of the light's path so far, metres.
    path_m: f32,
    /// Share of the pulse's light that remains after the surfaces on the path so far, counted for the way out and back.
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
        self.going.clear();
        for (ray, hit) in hits.iter().enumerate() {
            let pulse = ray / stencil.len();
            let going = Going {
                ray: ray as u32,
                pulse: along(&pulses[pulse], stencil.offsets()[ray % stencil.len()]),
                fired: fired[pulse],
                path_m: 0.0,
                energy: 1.0,
                is_mirrored: false,
            };
            self.meet(finishes, &going, hit);
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
                self.meet(finishes, going, hit);
            }
            self.hits = hits;
        }
        // The sort is stable, so that points stay in order of distance along each path.
        self.seen.sort_by_key(|glimpse| glimpse.ray);
    }

    /// Points from which light of the pulse at `index` returns; the pulse has `rays` rays.
    pub fn of_pulse(&self, index: usize, rays: usize) -> &[Glimpse] {
        let before = |ray: usize| self.seen.partition_point(|g| (g.ray as usize) < ray);
        &self.seen[before(index * rays)..before((index + 1) * rays)]
    }

    /// Records the light that returns from a hit, and the rays that continue.
    fn meet(&mut self, finishes: &dyn Finishes, going: &Going, hit: &Hit) {
        if hit.range_m == f32::INFINITY {
            return;
        }
        let path_m = going.path_m + hit.range_m;
        let mut see = |range_m: f32, reflectance: f32| {
            if reflectance > 0.0 {
                let reflectance = going.energy * reflectance;
                self.seen.push(Glimpse {
                    ray: going.ray,
                    range_m,
                    reflectance,
                    instance: hit.instance,
                    material: hit.material,
                    cos_incidence: hit.cos_incidence,
                    is_mirrored: going.is_mirrored,
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
        let mirrored = if going.is_mirrored { 0.0 } else { onward.mirrored };
        let left = |share: f32| Some(going.energy * share * share).filter(|&e| e >= LEAST_ENERGY);
        let (mirrored, passed) = (left(mirrored), left(onward.passed));
        if mirrored.is_none() && passed.is_none() {
            return;
        }
        let Some(normal) = finishes.normal(&going.pulse, hit, going.fired) else { return };
        let pulse = &going.pulse;
        let place = pulse.origin + pulse.direction * f64::from(hit.range_m);
        let clearance = normal * (CLEARANCE_M + CLEARANCE * f64::from(path_m));
        let max_range_m = pulse.max_range_m - hit.range_m;
        let mut go = |origin: DVec3, direction: DVec3, energy: f32, is_mirrored: bool| {
            let pulse = Pulse { origin, direction, max_range_m, ..*pulse };
            self.going.push(Going { pulse, path_m, energy, is_mirrored, ..*going });
        };
        if let Some(energy) = passed {
            go(place - clearance, pulse.direction, energy, going.is_mirrored);
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
