//! Soft echoes: light that a medium scatters back along the whole beam. The beam is divided into stretches; one sample,
//! light from a single point, represents each stretch. Samples are so close together that their pulses overlap in the
//! receiver.

use std::f64::consts::PI;

use super::fog::Medium;
use super::optics::{AirOptics, Overlap};
use crate::sensors::receiver::Backscatter;

/// Largest length of a sample's stretch of the beam, as a share of the pulse's width at half height. Pulses at
/// intervals of half a width add up to a constant, without ripple. Near the sensor, where the signal changes within
/// less than a width, stretches are shorter.
const LONGEST: f64 = 0.5;
/// Smallest length of a stretch, used near the sensor, as a share of the pulse's width.
const SHORTEST: f64 = 0.25;
/// Length of a stretch of the beam, as a share of the distance from the sensor; [`SHORTEST`] and [`LONGEST`] limit it.
const OF_DISTANCE: f64 = 0.125;
/// Least signal of a medium, as a share of the detection threshold. Weaker signals are ignored.
pub(super) const LEAST_SHARE: f64 = 0.05;
/// Signal of a medium, as a share of the detection threshold, that is too weak to change the echoes of surfaces.
const QUIET_SHARE: f64 = 0.1;
/// Smallest pulse width for computing stretches, metres; it replaces the width of lidars with shorter pulses.
const THINNEST_PULSE_M: f64 = 0.1;
/// Largest distance of soft echoes, metres, even if the lidar's range is longer.
const FARTHEST_M: f64 = 500.0;
/// Number of parts into which a stretch is divided for integration.
const PARTS: usize = 16;

/// A stretch of the beam.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch {
    /// Start of the stretch, metres.
    pub from_m: f64,
    /// End of the stretch, metres.
    pub to_m: f64,
    /// Mean distance of the stretch's light, metres.
    pub range_m: f64,
    /// Backscatter of the uniform medium in this stretch.
    pub uniform: Backscatter,
    /// Reflectance in clear air that corresponds to a backscatter coefficient of 1 m^-1 sr^-1 in this stretch.
    pub per_coefficient: f64,
    /// Share of light that the air, with the uniform medium, transmits to the stretch and back.
    pub passed: f64,
}

/// The beam of a lidar, divided into stretches, with the soft echo of the uniform medium.
#[derive(Clone, Debug)]
pub(super) struct SoftEcho {
    /// Stretches in order of distance.
    pub stretches: Vec<Stretch>,
    /// Number of stretches from the sensor to the last one in which the uniform medium is not negligible; 0 if there is
    /// none.
    pub uniform: usize,
    /// Distance beyond which the uniform medium is too weak to change the echoes of surfaces, metres.
    pub quiet_m: f64,
    /// Echo of a beam that hits only the uniform medium, represented as light from one point; `None` if the medium is
    /// negligible.
    pub alone: Option<Backscatter>,
    /// Smallest signal of a sample (reflectance divided by squared distance) per metre of its stretch. Weaker samples
    /// are omitted.
    pub least_per_m: f64,
}

impl SoftEcho {
    /// Divides the beam into stretches and computes the soft echo of `medium`, in air with the total extinction
    /// `extinction_per_m`.
    pub fn new(
        medium: Medium,
        extinction_per_m: f64,
        optics: &AirOptics,
        overlap: Overlap,
    ) -> Self {
        let width_m = optics.width_m.max(THINNEST_PULSE_M);
        let least_per_m = LEAST_SHARE * optics.threshold / width_m;
        let end_m = optics.max_range_m.min(FARTHEST_M);
        let mut stretches = Vec::new();
        let mut from_m = overlap.begins_m;
        while from_m < end_m {
            let length = (OF_DISTANCE * from_m).clamp(SHORTEST * width_m, LONGEST * width_m);
            let to_m = from_m + length;
            stretches.push(stretch(from_m, to_m, medium, extinction_per_m, overlap));
            from_m = to_m;
        }
        let density = |s: &Stretch| {
            f64::from(s.uniform.reflectance) / (s.range_m * s.range_m) / (s.to_m - s.from_m)
        };
        let is_there = medium.backscatter_per_m_sr > 0.0;
        let louder_than = |least: f64| {
            let last = stretches.iter().rposition(|s| density(s) > least);
            last.filter(|_| is_there).map_or(0, |last| last + 1)
        };
        let uniform = louder_than(least_per_m);
        let loud = louder_than(QUIET_SHARE * optics.threshold / width_m);
        let quiet_m = match loud {
            0 => 0.0,
            loud => stretches[loud - 1].to_m + 2.0 * width_m,
        };
        let alone = highest(&stretches[..uniform], optics.width_m.max(THINNEST_PULSE_M));
        Self { stretches, uniform, quiet_m, alone, least_per_m }
    }
}

fn stretch(
    from_m: f64,
    to_m: f64,
    medium: Medium,
    extinction_per_m: f64,
    overlap: Overlap,
) -> Stretch {
    let length = (to_m - from_m) / PARTS as f64;
    let (mut signal, mut moment) = (0.0, 0.0);
    for part in 0..PARTS {
        let r = from_m + (part as f64 + 0.5) * length;
        let seen = overlap.at(r) / (r * r) * length;
        signal += seen;
        moment += seen * r;
    }
    let range_m = if signal > 0.0 { moment / signal } else { 0.5 * (from_m + to_m) };
    let per_coefficient = PI * signal * range_m * range_m;
    let passed = libm::exp(-2.0 * extinction_per_m * range_m);
    let reflectance = per_coefficient * medium.backscatter_per_m_sr * passed;
    let uniform = Backscatter { range_m: range_m as f32, reflectance: reflectance as f32 };
    Stretch { from_m, to_m, range_m, uniform, per_coefficient, passed }
}

/// Sum of the pulses from `stretches`, represented as light from one point, with the distance and the height of the
/// sum's maximum. `None` without stretches.
fn highest(stretches: &[Stretch], width_m: f64) -> Option<Backscatter> {
    let (first, last) = (stretches.first()?, stretches.last()?);
    let steps = 2000;
    let step = (last.to_m.min(first.from_m + 10.0 * width_m) - first.from_m) / f64::from(steps);
    let at = |x: f64| -> f64 { stretches.iter().map(|s| signal(&s.uniform, x, width_m)).sum() };
    let samples = (0..steps).map(|i| first.from_m + step * f64::from(i)).map(|x| (x, at(x)));
    let (range_m, signal) = samples.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let reflectance = (signal * range_m * range_m) as f32;
    Some(Backscatter { range_m: range_m as f32, reflectance })
}

/// Contribution of light from one point to the receiver's signal at the range `x_m`. The pulse has the shape of a
/// squared cosine; `width_m` is its width at half height.
pub(super) fn signal(light: &Backscatter, x_m: f64, width_m: f64) -> f64 {
    let range = f64::from(light.range_m);
    let off = (x_m - range).abs();
    if off >= width_m {
        return 0.0;
    }
    let cos = libm::cos(0.5 * PI * off / width_m);
    f64::from(light.reflectance) / (range * range) * cos * cos
}
