//! What packets say of the echoes that were measured.

use glam::DVec3;

use super::profile::{PointProfile, ReturnMode};
use crate::sensors::{Echoes, Return};
use crate::wire::livox::first::data::{Coordinates, Format, HEAD_LEN, Head, MOST_RETURNS, Point};
use crate::wire::record::Record as _;

/// Bits of a tag: the number of the return, and what is somewhat likely noise, by its intensity or by its neighbours.
const NUMBER: u32 = 4;
const WEAK: u8 = 0x08;
const BETWEEN: u8 = 0x02;
/// Another echo so near makes a point one between two objects, metres.
const BETWEEN_M: f32 = 1.0;
/// A return is weak if it is below the threshold times this.
const WEAK_BELOW: f32 = 2.0;

/// What is done to points from an instant on.
#[derive(Clone, Debug, PartialEq)]
pub struct Mode {
    /// Whether points are sent at all.
    pub is_on: bool,
    /// Whether they could be sent if the host asked for them.
    pub is_ready: bool,
    /// How they are written.
    pub format: Format,
    /// Which echoes become points.
    pub returns: ReturnMode,
    /// The slot of the hub.
    pub slot: u8,
    /// The detection threshold as a multiple of the data sheet's.
    pub threshold_factor: f32,
    /// Whether the pattern is the repetitive one.
    pub repeats: bool,
}

/// Makes points of echoes.
#[derive(Clone, Debug)]
pub struct PointMaker {
    profile: PointProfile,
    is_judging: bool,
    /// Below that signal a return is weak.
    weak_signal: f32,
    /// Reflectivities for a factor of e in reflectance.
    retro_scale: f32,
}

impl PointMaker {
    /// Of a unit whose receiver just detects the signal `threshold`.
    pub fn new(profile: PointProfile, is_judging: bool, threshold: f64) -> Self {
        let full_scale = f64::from(profile.diffuse_full_scale);
        let retro_scale = ((255.0 - full_scale) / libm::log(profile.retro_full_gain)) as f32;
        Self { profile, is_judging, weak_signal: threshold as f32 * WEAK_BELOW, retro_scale }
    }

    /// A packet without its status and time, and how many of its points have a return.
    pub fn packet(&self, mode: &Mode, aims: &[DVec3], echoes: &[Echoes]) -> (Vec<u8>, u32) {
        let format = mode.format;
        let whole = HEAD_LEN + format.pulses() * format.pulse_len();
        let mut bytes = Vec::with_capacity(whole);
        Head::new(format.number(), mode.slot).emit(&mut bytes);
        bytes.resize(whole, 0);
        let mut returns = 0;
        let out = bytes[HEAD_LEN..].chunks_exact_mut(format.pulse_len());
        for ((out, aim), echoes) in out.zip(aims).zip(echoes) {
            let mut points = [Point::default(); MOST_RETURNS];
            let count = self.points(mode, *aim, echoes.as_slice(), &mut points);
            let points = &points[..count];
            returns += points.iter().filter(|point| !format.is_empty(point)).count() as u32;
            format.put(points, out);
        }
        (bytes, returns)
    }

    /// The points of a pulse's echoes, which are in the order of range; how many there are.
    fn points(&self, mode: &Mode, aim: DVec3, echoes: &[Return], out: &mut [Point]) -> usize {
        let strongest = || {
            let best = |best: usize, other: usize| {
                if echoes[other].signal > echoes[best].signal { other } else { best }
            };
            (1..echoes.len()).fold(0, best)
        };
        let first = if mode.returns == ReturnMode::Strongest { strongest() } else { 0 };
        let shown = echoes.iter().enumerate().skip(first).take(mode.format.returns);
        let mut count = 0;
        for (out, (nth, echo)) in out.iter_mut().zip(shown) {
            let judgement = if self.is_judging { self.judgement(echo, echoes) } else { 0 };
            // Two bits.
            let number = (nth + 1).min(MOST_RETURNS) as u8;
            *out = self.point(mode.format.coordinates, aim, echo, number << NUMBER | judgement);
            count += 1;
        }
        count
    }

    fn judgement(&self, echo: &Return, all: &[Return]) -> u8 {
        let is_near = |other: &Return| {
            other.range_m != echo.range_m && (other.range_m - echo.range_m).abs() < BETWEEN_M
        };
        let between = if all.iter().any(is_near) { BETWEEN } else { 0 };
        let weak = if echo.signal < self.weak_signal { WEAK } else { 0 };
        between | weak
    }

    fn point(&self, coordinates: Coordinates, aim: DVec3, echo: &Return, tag: u8) -> Point {
        let whole = |value: f64| (value + 0.5_f64.copysign(value)) as i32;
        let mm = f64::from(echo.range_m) * 1000.0;
        let place = match coordinates {
            Coordinates::Cartesian => (aim * mm).to_array().map(whole),
            Coordinates::Spherical => {
                let theta = libm::acos(aim.z.clamp(-1.0, 1.0)).to_degrees() * 100.0;
                let phi = libm::atan2(aim.y, aim.x).to_degrees().rem_euclid(360.0) * 100.0;
                [whole(mm), whole(theta), whole(phi) % 36_000]
            }
        };
        let reflectance = echo.intensity;
        let full_scale = f32::from(self.profile.diffuse_full_scale);
        let reflectivity = match reflectance <= 1.0 {
            true => reflectance * full_scale,
            false => full_scale + libm::logf(reflectance) * self.retro_scale,
        };
        // A cast ends at 0 and 255.
        Point { place, reflectivity: (reflectivity + 0.5) as u8, tag }
    }
}
