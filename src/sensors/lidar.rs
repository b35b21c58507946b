//! A spinning lidar on a moving robot: a packet's worth of pulses in, returns out.

use glam::DVec3;

use super::beam::EchoSelection;
use super::noise::{NoiseSource, Quantity, RequestNoise};
use super::pattern::LaserGeometry;
use super::{Measurement, MeasurementRequest, PulseReturns, Return, beam};
use crate::config::profile::{BeamSettings, NoiseSettings};
use crate::frames::{Sensor, Transform, World};
use crate::time::SimTime;
use crate::world::raycast::{Hit, Pulse, RayCaster, Stencil};

/// The physics of one spinning lidar. Shared by all threads that measure for it.
#[derive(Clone, Debug)]
pub struct Lidar {
    lasers: Vec<LaserGeometry>,
    stencil: Stencil,
    half_axes_m: [f64; 2],
    beam: BeamSettings,
    selection: EchoSelection,
    errors: NoiseSettings,
    noise: NoiseSource,
}

/// Room for a measurement's pulses and hits; keep one per thread.
#[derive(Default)]
pub struct Scratch {
    /// Firings by laser, then time.
    order: Vec<usize>,
    /// In that order.
    pulses: Vec<Pulse>,
    hits: Vec<Hit>,
}

impl Lidar {
    /// A lidar with `lasers`, whose firings name them by index.
    pub fn new(
        lasers: Vec<LaserGeometry>,
        beam: &BeamSettings,
        selection: EchoSelection,
        errors: &NoiseSettings,
        noise: NoiseSource,
    ) -> Self {
        Self {
            lasers,
            stencil: beam::stencil(beam.shape),
            half_axes_m: beam::half_axes_m(beam),
            beam: beam.clone(),
            selection,
            errors: errors.clone(),
            noise,
        }
    }

    /// Rays of each pulse.
    pub fn rays_per_pulse(&self) -> usize {
        self.stencil.len()
    }

    /// Fires every pulse of `request` from where the sensor is at that instant.
    ///
    /// `world_from_sensor` is asked for the pose at the request's first and last firing; between
    /// them, well below a millisecond, the pose is interpolated for every firing
    /// (Elmquist et al. 2021: motion during the scan).
    pub fn measure(
        &self,
        request: MeasurementRequest,
        world_from_sensor: impl Fn(SimTime) -> Transform<World, Sensor>,
        caster: &dyn RayCaster,
        scratch: &mut Scratch,
    ) -> Measurement {
        let span_ns = request.firings.iter().map(|f| f.offset_ns).max().unwrap_or(0);
        let start_pose = world_from_sensor(request.start);
        let end_pose = world_from_sensor(SimTime(request.start.0 + u64::from(span_ns)));
        let noise = self.noise.request(request.index);

        // Pulses of one laser are neighbours in the world; casters walk neighbours together.
        scratch.order.clear();
        scratch.order.extend(0..request.firings.len());
        scratch.order.sort_by_key(|&index| (request.firings[index].laser, index));

        scratch.pulses.clear();
        for &index in &scratch.order {
            let firing = request.firings[index];
            let share =
                if span_ns == 0 { 0.0 } else { f64::from(firing.offset_ns) / f64::from(span_ns) };
            let pose = start_pose.interpolate(&end_pose, share);
            let rotor_azimuth_rad = request.rotor_azimuth_rad
                + request.rotor_rate_rad_s * f64::from(firing.offset_ns) * 1e-9;
            let laser = &self.lasers[usize::from(firing.laser)];
            scratch.pulses.push(self.pulse(laser, rotor_azimuth_rad, &pose, index, &noise));
        }
        scratch.hits.clear();
        scratch.hits.resize(scratch.pulses.len() * self.stencil.len(), Hit::MISS);
        caster.cast(&self.stencil, &scratch.pulses, &mut scratch.hits);

        let mut returns = vec![PulseReturns::default(); request.firings.len()];
        let hits_of_pulses = scratch.hits.chunks_exact(self.stencil.len());
        for (&index, hits) in scratch.order.iter().zip(hits_of_pulses) {
            let seen = beam::returns(hits, &self.beam, self.selection);
            returns[index] = self.with_errors(seen, index, &noise);
        }
        Measurement { request, returns }
    }

    fn pulse(
        &self,
        laser: &LaserGeometry,
        rotor_azimuth_rad: f64,
        pose: &Transform<World, Sensor>,
        index: usize,
        noise: &RequestNoise,
    ) -> Pulse {
        let beam = laser.beam(
            rotor_azimuth_rad,
            error(self.errors.azimuth_std_rad, noise, index, Quantity::Azimuth),
            error(self.errors.elevation_std_rad, noise, index, Quantity::Elevation),
        );
        let turn = |v: DVec3| pose.direction(v);
        Pulse {
            origin: pose.point(beam.exit),
            direction: turn(beam.direction),
            half_axis_u: turn(beam.left * self.half_axes_m[0]),
            half_axis_v: turn(beam.up * self.half_axes_m[1]),
            max_range_m: self.beam.max_range_m as f32,
        }
    }

    /// Adds range and intensity errors. Two reports of one echo carry the same error.
    fn with_errors(&self, seen: PulseReturns, index: usize, noise: &RequestNoise) -> PulseReturns {
        let spoil = |echo: Return, range: Quantity, intensity: Quantity| Return {
            range_m: echo.range_m + error(self.errors.range_std_m, noise, index, range) as f32,
            intensity: (echo.intensity
                + error(self.errors.intensity_std, noise, index, intensity) as f32)
                .clamp(0.0, 1.0),
        };
        let first =
            seen.first.map(|echo| spoil(echo, Quantity::FirstRange, Quantity::FirstIntensity));
        let second = if seen.second == seen.first {
            first
        } else {
            seen.second.map(|echo| spoil(echo, Quantity::SecondRange, Quantity::SecondIntensity))
        };
        PulseReturns { first, second }
    }
}

/// A draw with the standard deviation `std`; nothing is drawn for zero.
fn error(std: f64, noise: &RequestNoise, index: usize, quantity: Quantity) -> f64 {
    if std == 0.0 { 0.0 } else { std * noise.standard_normal(index, quantity) }
}
