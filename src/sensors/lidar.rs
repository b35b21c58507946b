//! A spinning lidar on a moving robot: a packet's worth of pulses in, returns out.

use glam::DMat3;

use super::noise::{NoiseSource, Quantity, RequestNoise};
use super::pattern::LaserGeometry;
use super::{
    FiringSlot, Measurement, MeasurementRequest, Outcome, PulseReturns, Return, Subject,
    Surroundings, Sweep, beam,
};
use crate::config::lidar::{BeamSettings, NoiseSettings};
use crate::frames::{Sensor, Transform, World};
use crate::time::SimTime;
use crate::world::raycast::{Hit, Pulse, Stencil};

/// The physics of one spinning lidar. Shared by all threads that measure for it.
#[derive(Clone, Debug)]
pub struct Lidar {
    lasers: Vec<LaserGeometry>,
    /// Sine and cosine of each laser's elevation.
    elevations: Vec<(f64, f64)>,
    stencil: Stencil,
    half_axes_m: [f64; 2],
    beam: BeamSettings,
    errors: NoiseSettings,
    noise: NoiseSource,
}

/// Room for a measurement's pulses and hits; keep one per thread.
#[derive(Default)]
pub struct Scratch {
    /// The request's firings, laser by laser: pulses of one laser are neighbours in the world, and
    /// casters like neighbours.
    order: Vec<u32>,
    /// For each laser, where its next firing goes in `order`.
    places: Vec<u32>,
    pulses: Vec<Pulse>,
    /// When each of `pulses` is fired.
    fired: Vec<SimTime>,
    hits: Vec<Hit>,
}

impl Lidar {
    /// A lidar with `lasers`, whose firings name them by index.
    pub fn new(
        lasers: Vec<LaserGeometry>,
        beam: &BeamSettings,
        errors: &NoiseSettings,
        noise: NoiseSource,
    ) -> Self {
        Self {
            elevations: lasers.iter().map(|laser| libm::sincos(laser.elevation_rad)).collect(),
            lasers,
            stencil: beam::stencil(beam.shape),
            half_axes_m: beam::half_axes_m(beam),
            beam: beam.clone(),
            errors: errors.clone(),
            noise,
        }
    }

    /// Fires every pulse of `sweep` from where the sensor is at that instant; one entry a firing.
    ///
    /// The pose is taken at the first and the last firing; between them, some milliseconds at most, it
    /// is interpolated for every firing (Elmquist et al. 2021:
    /// motion during the scan).
    ///
    /// `receive` makes of a firing's hits, and of the firing's index, what its receiver tells.
    pub(super) fn fire<T: Clone + Default>(
        &self,
        start: SimTime,
        sweep: &Sweep,
        noise: &RequestNoise,
        surroundings: &Surroundings<'_>,
        scratch: &mut Scratch,
        receive: impl Fn(&[Hit], usize) -> T,
    ) -> Vec<T> {
        let span_ns = sweep.span_ns();
        let start_pose = surroundings.world_from_sensor(start);
        let end_pose = surroundings.world_from_sensor(SimTime(start.0 + u64::from(span_ns)));

        scratch.sort_by_laser(&sweep.firings, self.lasers.len());
        scratch.pulses.clear();
        scratch.fired.clear();
        for &index in &scratch.order {
            let firing = &sweep.firings[index as usize];
            let share =
                if span_ns == 0 { 0.0 } else { f64::from(firing.offset_ns) / f64::from(span_ns) };
            let pose = start_pose.interpolate(&end_pose, share);
            let rotor_azimuth_rad = sweep.azimuth_at(firing.offset_ns.into());
            let laser = usize::from(firing.laser);
            let pulse = self.pulse(laser, rotor_azimuth_rad, &pose, index as usize, noise);
            scratch.pulses.push(pulse);
            scratch.fired.push(SimTime(start.0 + u64::from(firing.offset_ns)));
        }
        // What was in `hits` does not matter: casters write every hit.
        scratch.hits.resize(scratch.pulses.len() * self.stencil.len(), Hit::MISS);
        surroundings.caster.cast_at(
            &self.stencil,
            &scratch.pulses,
            &scratch.fired,
            &mut scratch.hits,
        );

        let mut received = vec![T::default(); sweep.firings.len()];
        let hits = scratch.hits.chunks_exact(self.stencil.len());
        for (&index, hits) in scratch.order.iter().zip(hits) {
            received[index as usize] = receive(hits, index as usize);
        }
        received
    }

    /// The random draws of a sweep.
    pub(super) fn noise_of(&self, sweep: &Sweep) -> RequestNoise {
        self.noise.request(sweep.number)
    }

    /// The optics.
    pub(super) fn beam(&self) -> &BeamSettings {
        &self.beam
    }

    /// An echo with errors of range and intensity added.
    pub(super) fn with_error(
        &self,
        echo: Return,
        index: usize,
        noise: &RequestNoise,
        [range, intensity]: [Quantity; 2],
    ) -> Return {
        let range_error = error(self.errors.range_std_m, noise, index, range) as f32;
        let intensity_error = error(self.errors.intensity_std, noise, index, intensity) as f32;
        Return {
            range_m: echo.range_m + range_error,
            intensity: (echo.intensity + intensity_error).clamp(0.0, 1.0),
        }
    }

    fn pulse(
        &self,
        laser: usize,
        rotor_azimuth_rad: f64,
        pose: &Transform<World, Sensor>,
        index: usize,
        noise: &RequestNoise,
    ) -> Pulse {
        let geometry = &self.lasers[laser];
        let azimuth_error = error(self.errors.azimuth_std_rad, noise, index, Quantity::Azimuth);
        let azimuth_rad = rotor_azimuth_rad + geometry.azimuth_offset_rad + azimuth_error;
        let elevation_error =
            error(self.errors.elevation_std_rad, noise, index, Quantity::Elevation);
        let elevation = if elevation_error == 0.0 {
            self.elevations[laser]
        } else {
            libm::sincos(geometry.elevation_rad + elevation_error)
        };
        let beam = geometry.beam(libm::sincos(azimuth_rad), elevation);
        let turn = DMat3::from_quat(pose.rotation);
        Pulse {
            origin: turn * beam.exit + pose.translation,
            direction: turn * beam.direction,
            half_axis_u: turn * (beam.left * self.half_axes_m[0]),
            half_axis_v: turn * (beam.up * self.half_axes_m[1]),
            max_range_m: self.beam.max_range_m as f32,
        }
    }

    /// Adds range and intensity errors. Two reports of one echo carry the same error.
    fn with_errors(&self, seen: PulseReturns, index: usize, noise: &RequestNoise) -> PulseReturns {
        const FIRST: [Quantity; 2] = [Quantity::FirstRange, Quantity::FirstIntensity];
        const SECOND: [Quantity; 2] = [Quantity::SecondRange, Quantity::SecondIntensity];
        let first = seen.first.map(|echo| self.with_error(echo, index, noise, FIRST));
        let second = if seen.second == seen.first {
            first
        } else {
            seen.second.map(|echo| self.with_error(echo, index, noise, SECOND))
        };
        PulseReturns { first, second }
    }
}

impl super::Sensor for Lidar {
    fn measure(
        &self,
        request: MeasurementRequest,
        surroundings: &Surroundings<'_>,
        scratch: &mut Scratch,
    ) -> Measurement {
        let returns = match &request.subject {
            Subject::Instant | Subject::Series { .. } => Vec::new(),
            Subject::Sweep(sweep) => {
                let noise = self.noise_of(sweep);
                let receive = |hits: &[Hit], index: usize| {
                    let seen = beam::returns(hits, &self.beam, sweep.selection);
                    self.with_errors(seen, index, &noise)
                };
                self.fire(request.start, sweep, &noise, surroundings, scratch, receive)
            }
        };
        Measurement { request, outcome: Outcome::Returns(returns) }
    }
}

impl Scratch {
    /// Room for rays that are no lidar's, emptied.
    pub(super) fn rays(&mut self) -> (&mut Vec<Pulse>, &mut Vec<Hit>) {
        self.pulses.clear();
        self.hits.clear();
        (&mut self.pulses, &mut self.hits)
    }

    /// Fills `order`; firings of one laser keep their order.
    fn sort_by_laser(&mut self, firings: &[FiringSlot], lasers: usize) {
        self.places.clear();
        self.places.resize(lasers + 1, 0);
        for firing in firings {
            self.places[usize::from(firing.laser) + 1] += 1;
        }
        for laser in 0..lasers {
            self.places[laser + 1] += self.places[laser];
        }
        self.order.clear();
        self.order.resize(firings.len(), 0);
        for (index, firing) in firings.iter().enumerate() {
            let place = &mut self.places[usize::from(firing.laser)];
            self.order[*place as usize] = index as u32;
            *place += 1;
        }
    }
}

/// A draw with the standard deviation `std`; nothing is drawn for zero.
fn error(std: f64, noise: &RequestNoise, index: usize, quantity: Quantity) -> f64 {
    if std == 0.0 { 0.0 } else { std * noise.standard_normal(index, quantity) }
}
