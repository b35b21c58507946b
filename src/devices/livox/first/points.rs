//! Encodes echoes as points of packets.

use glam::DVec3;

use super::super::points::{is_between, spherical, weak_signal, whole};
use super::profile::{PointProfile, ReturnMode};
use crate::sensors::{Echoes, Return};
use crate::spinning::returns::{Intensities, strongest_but};
use crate::wire::livox::first::data::{Coordinates, Format, HEAD_LEN, Head, MOST_RETURNS, Point};
use crate::wire::record::Record as _;

/// Position of the lowest bit of the return number in a tag.
const NUMBER: u32 = 4;
/// Bit of a tag: medium confidence that the point is noise, because of its intensity.
const WEAK: u8 = 0x08;
/// Bit of a tag: medium confidence that the point is noise, because of its neighbours.
const BETWEEN: u8 = 0x02;

/// Settings for points, which can change during a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Mode {
    /// Whether points are sent at all.
    pub is_on: bool,
    /// Whether the unit is ready, so that it sends points as soon as a host requests them.
    pub is_ready: bool,
    /// Format of points.
    pub format: Format,
    /// Echoes that become points.
    pub returns: ReturnMode,
    /// Number of the unit's slot in a Livox Hub.
    pub slot: u8,
    /// Detection threshold as a multiple of the data sheet's threshold.
    pub threshold_factor: f32,
    /// Whether the pattern is the repetitive one.
    pub repeats: bool,
}

/// Encodes echoes as points.
#[derive(Clone, Debug)]
pub struct PointMaker {
    is_judging: bool,
    /// Signal below which a point gets the tag bit `WEAK`.
    weak_signal: f32,
    reflectivities: Intensities,
}

impl PointMaker {
    /// Encoder of points for a unit with the detection threshold `threshold`, a signal strength. With `is_judging`,
    /// tags mark weak points and points between two objects.
    pub fn new(profile: PointProfile, is_judging: bool, threshold: f64) -> Self {
        let reflectivities = Intensities::new(profile.diffuse_full_scale, profile.retro_full_gain);
        Self { is_judging, weak_signal: weak_signal(threshold), reflectivities }
    }

    /// Bytes of a packet without status and time, and the number of its points with a return.
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

    /// Writes the points of one pulse to `out`, one for each echo that the return mode reports. `echoes` are in order
    /// of range. Returns the number of points.
    fn points(&self, mode: &Mode, aim: DVec3, echoes: &[Return], out: &mut [Point]) -> usize {
        let first = match mode.returns {
            ReturnMode::Strongest => strongest_but(echoes, None).unwrap_or_default(),
            ReturnMode::First | ReturnMode::Dual | ReturnMode::Triple => 0,
        };
        let shown = echoes.iter().enumerate().skip(first).take(mode.format.returns);
        let mut count = 0;
        for (out, (nth, echo)) in out.iter_mut().zip(shown) {
            let judgement = if self.is_judging { self.judgement(echo, echoes) } else { 0 };
            // The number has two bits.
            let number = (nth + 1).min(MOST_RETURNS) as u8;
            *out = self.point(mode.format.coordinates, aim, echo, number << NUMBER | judgement);
            count += 1;
        }
        count
    }

    fn judgement(&self, echo: &Return, all: &[Return]) -> u8 {
        let between = if is_between(echo, all) { BETWEEN } else { 0 };
        let weak = if echo.signal < self.weak_signal { WEAK } else { 0 };
        between | weak
    }

    fn point(&self, coordinates: Coordinates, aim: DVec3, echo: &Return, tag: u8) -> Point {
        let mm = f64::from(echo.range_m) * 1000.0;
        let place = match coordinates {
            Coordinates::Cartesian => (aim * mm).to_array().map(whole),
            Coordinates::Spherical => spherical(aim, mm),
        };
        Point { place, reflectivity: self.reflectivities.of(echo.intensity), tag }
    }
}
