//! Pulses of a sweep, computed for many firings at once.

use fearless_simd::{Level, dispatch};
use glam::{DMat3, DQuat, DVec3};

use super::{Lidar, Poses, Scratch};
use crate::frames::Transform;
use crate::sensors::lanes::{set, vector};
use crate::sensors::noise::{Quantity, RequestNoise};
use crate::sensors::pattern::LaserGeometry;
use crate::sensors::sincos::sincos;
use crate::sensors::{Surroundings, Sweep};
use crate::time::SimTime;
use crate::world::raycast::Pulse;

/// Number of firings that are computed together.
const FIRINGS: usize = 16;

/// A sweep whose pulses are fired.
pub(super) struct Aim<'a> {
    /// Time of the request's first firing.
    pub start: SimTime,
    pub sweep: &'a Sweep,
    /// Poses at the first and at the last firing.
    pub poses: Poses,
    pub noise: RequestNoise,
    pub surroundings: &'a Surroundings<'a>,
    /// Place of the sweep's first pulse among those of [`Scratch`].
    pub first: usize,
}

impl Lidar {
    /// Appends the pulses of a sweep and their times to `pulses` and `fired` of `scratch`, in the order of
    /// `scratch.order`.
    pub(super) fn aim(&self, aim: &Aim<'_>, scratch: &mut Scratch) {
        let level = Level::new();
        let span_ns = aim.sweep.span_ns();
        let Scratch { order, pulses, fired, .. } = scratch;
        for order in order[aim.first..].chunks(FIRINGS) {
            dispatch!(level, _simd => self.aim_some(aim, span_ns, order, pulses, fired));
        }
    }

    #[inline(always)]
    fn aim_some(
        &self,
        aim: &Aim<'_>,
        span_ns: u32,
        order: &[u32],
        pulses: &mut Vec<Pulse>,
        fired: &mut Vec<SimTime>,
    ) {
        let Aim { start, sweep, poses, noise, surroundings, .. } = aim;
        let zeros = [0.0; FIRINGS];
        let (mut share, mut azimuth_rad, mut elevation_rad) = (zeros, zeros, zeros);
        let mut exit = [zeros; 3];
        let span = f64::from(span_ns.max(1));
        let aims = sweep.rotor.aims();
        for (k, &index) in order.iter().enumerate() {
            let firing = &sweep.firings[index as usize];
            let (laser, index) = (usize::from(firing.laser), index as usize);
            let geometry = &self.lasers[laser];
            share[k] = f64::from(firing.offset_ns) / span;
            fired.push(SimTime(start.0 + u64::from(firing.offset_ns)));
            let LaserGeometry { exit_forward_m, exit_left_m, exit_up_m, .. } = *geometry;
            set(&mut exit, k, DVec3::new(exit_forward_m, exit_left_m, exit_up_m));
            if aims.is_some_and(|aims| index < aims.len()) {
                continue;
            }
            let off_rad = |std_rad, quantity| error(std_rad, noise, index, quantity);
            azimuth_rad[k] = sweep.azimuth_at(firing.offset_ns.into())
                + geometry.azimuth_offset_rad
                + off_rad(self.settings.azimuth_std_rad, Quantity::Azimuth);
            elevation_rad[k] = geometry.elevation_rad
                + off_rad(self.settings.elevation_std_rad, Quantity::Elevation);
        }
        let (mut sin_azimuth, mut cos_azimuth) = (zeros, zeros);
        let (mut sin_elevation, mut cos_elevation) = (zeros, zeros);
        sincos(&azimuth_rad, &mut sin_azimuth, &mut cos_azimuth);
        sincos(&elevation_rad, &mut sin_elevation, &mut cos_elevation);
        if let Some(aims) = aims {
            for (k, &index) in order.iter().enumerate() {
                let Some(aim) = aims.get(index as usize) else { continue };
                let laser = usize::from(sweep.firings[index as usize].laser);
                let [azimuth, elevation] = self.steered(laser, *aim, index as usize, noise);
                (sin_azimuth[k], cos_azimuth[k]) = azimuth;
                (sin_elevation[k], cos_elevation[k]) = elevation;
            }
        }
        let mut place = [zeros; 3];
        let mut turn = [zeros; 4];
        match poses {
            Poses::OfSensor([before, after]) => {
                for k in 0..FIRINGS {
                    let pose = before.interpolate(after, share[k]);
                    set(&mut place, k, pose.translation);
                    [turn[0][k], turn[1][k], turn[2][k], turn[3][k]] = pose.rotation.to_array();
                }
            }
            Poses::OfBody(_) => {
                for (k, at) in fired[fired.len() - order.len()..].iter().enumerate() {
                    let Transform { translation, rotation, .. } =
                        poses.at(share[k], *at, surroundings);
                    set(&mut place, k, translation);
                    [turn[0][k], turn[1][k], turn[2][k], turn[3][k]] = rotation.to_array();
                }
            }
        }
        let (mut origin, mut direction) = ([zeros; 3], [zeros; 3]);
        let (mut half_axis_u, mut half_axis_v) = ([zeros; 3], [zeros; 3]);
        let [half_u_m, half_v_m] = self.half_axes_m;
        for k in 0..FIRINGS {
            let turn = DQuat::from_xyzw(turn[0][k], turn[1][k], turn[2][k], turn[3][k]);
            let turn = DMat3::from_quat(turn);
            let geometry = LaserGeometry {
                exit_forward_m: exit[0][k],
                exit_left_m: exit[1][k],
                exit_up_m: exit[2][k],
                ..LaserGeometry::default()
            };
            let azimuth = (sin_azimuth[k], cos_azimuth[k]);
            let beam = geometry.beam(azimuth, (sin_elevation[k], cos_elevation[k]));
            let apex = beam.exit - beam.direction * self.apex_behind_m;
            set(&mut origin, k, turn * apex + vector(&place, k));
            set(&mut direction, k, turn * beam.direction);
            set(&mut half_axis_u, k, turn * (beam.left * half_u_m));
            set(&mut half_axis_v, k, turn * (beam.up * half_v_m));
        }
        pulses.extend((0..order.len().min(FIRINGS)).map(|k| Pulse {
            origin: vector(&origin, k),
            start_m: self.apex_behind_m as f32,
            direction: vector(&direction, k),
            half_axis_u: vector(&half_axis_u, k),
            half_axis_v: vector(&half_axis_v, k),
            max_range_m: self.beam.max_range_m as f32,
        }));
    }

    /// Sine and cosine of the azimuth and of the elevation of a firing in the direction `aim`.
    fn steered(
        &self,
        laser: usize,
        aim: DVec3,
        index: usize,
        noise: &RequestNoise,
    ) -> [(f64, f64); 2] {
        let geometry = &self.lasers[laser];
        let azimuth_rad = geometry.azimuth_offset_rad
            + error(self.settings.azimuth_std_rad, noise, index, Quantity::Azimuth);
        let elevation_rad = geometry.elevation_rad
            + error(self.settings.elevation_std_rad, noise, index, Quantity::Elevation);
        let flat = libm::hypot(aim.x, aim.y);
        let heading = if flat > 0.0 { (-aim.y / flat, aim.x / flat) } else { (0.0, 1.0) };
        [sum(heading, azimuth_rad), sum((aim.z, flat), elevation_rad)]
    }
}

/// Sine and cosine of the sum of two angles; the first angle is given by its sine and cosine.
fn sum((sin, cos): (f64, f64), other_rad: f64) -> (f64, f64) {
    if other_rad == 0.0 {
        return (sin, cos);
    }
    let (other_sin, other_cos) = libm::sincos(other_rad);
    (sin * other_cos + cos * other_sin, cos * other_cos - sin * other_sin)
}

/// A normal random number with the standard deviation `std`; zero needs no random number.
pub(super) fn error(std: f64, noise: &RequestNoise, index: usize, quantity: Quantity) -> f64 {
    if std == 0.0 { 0.0 } else { std * noise.standard_normal(index, quantity) }
}
