//! The rays of one call of a ray caster, as arguments for [`super::hit`].

use glam::DVec3;

use super::{Pulse, Stencil};

/// Parallel rays towards a light.
#[derive(Clone, Copy, Debug)]
pub struct Beams {
    /// Unit vector towards the light, in World.
    pub toward: DVec3,
    /// Length of each ray, metres.
    pub reach_m: f32,
}

impl Beams {
    /// The ray that starts at `origin`.
    pub fn ray(&self, origin: DVec3) -> Pulse {
        let (half_axis_u, half_axis_v) = (DVec3::ZERO, DVec3::ZERO);
        let (direction, max_range_m) = (self.toward, self.reach_m);
        Pulse { origin, start_m: 0.0, direction, half_axis_u, half_axis_v, max_range_m }
    }
}

/// The rays of one call of a ray caster.
pub enum Fired<'a> {
    /// Rays of pulses, one pulse after the other.
    Pulses(&'a [Pulse], &'a Stencil),
    /// One parallel ray from each position.
    Beams(&'a Beams, &'a [DVec3]),
}

impl Fired<'_> {
    /// Ray `index`, counted from the first ray of the pulse (or position) with the index `first`. Returns the pulse of
    /// the ray, and the ray's offset in the beam footprint.
    #[inline(always)]
    pub fn ray(&self, first: usize, index: usize) -> (Pulse, [f32; 2]) {
        match self {
            Self::Pulses(pulses, stencil) => {
                let rays = stencil.len();
                (pulses[first + index / rays], stencil.offsets()[index % rays])
            }
            Self::Beams(beams, from) => (beams.ray(from[first + index]), [0.0; 2]),
        }
    }
}
