//! Encodes echoes as points of packets.

use std::sync::Arc;

use glam::DVec3;

use super::profile::{EchoChoice, PointProfile, TagRule};
use crate::sensors::{Echoes, Return};
use crate::spinning::returns::{Intensities, strongest_but};
use crate::wire::livox::data::{DataType, HEAD_LEN, Head, POINTS, Point};
use crate::wire::livox::key::FieldOfView;
use crate::wire::record::Record as _;

/// Bit of a tag: medium confidence that the point is a mixed pixel between two objects.
const BETWEEN: u8 = 0x01;
/// Bit of a tag: medium confidence that the point is other noise.
const WEAK: u8 = 0x10;
/// A point counts as between two objects if another echo of its pulse differs from it in range by less than this,
/// metres; an assumption.
const BETWEEN_M: f32 = 1.0;
/// A return counts as weak if its signal is below this multiple of the detection threshold; an assumption.
const WEAK_BELOW: f32 = 2.0;

/// Settings and state of a unit, as far as they affect its points. Each change gives a new `Mode`.
#[derive(Clone, Debug, PartialEq)]
pub struct Mode {
    /// Whether points are sent at all.
    pub is_on: bool,
    /// Format of points.
    pub data_type: DataType,
    /// Minimum range, metres; nearer echoes are not reported.
    pub blanked_m: f32,
    /// Detection threshold as a multiple of the data sheet's threshold.
    pub threshold_factor: f32,
    /// Number of groups of points after which the pattern repeats; `None` if it does not.
    pub repeats_after: Option<u64>,
    /// Enabled fields of view; empty if there is no limit.
    pub fields: Arc<[FieldOfView]>,
}

impl Mode {
    /// Index, in the scan pattern, of the directions for the points of group number `group`. A repetitive pattern
    /// starts again at index 0 after `repeats_after` groups.
    pub fn group(&self, group: u64) -> u64 {
        self.repeats_after.map_or(group, |period| group % period)
    }

    /// Whether a point in this direction is in an enabled field of view; `true` if there is no limit.
    fn shows(&self, aim: DVec3) -> bool {
        self.fields.is_empty() || {
            let yaw = azimuth_deg(aim);
            let pitch = libm::asin(aim.z).to_degrees();
            self.fields.iter().any(|field| {
                let [from, to] = [field.yaw_start, field.yaw_stop].map(f64::from);
                let is_within = match from <= to {
                    true => (from..=to).contains(&yaw),
                    false => yaw >= from || yaw <= to,
                };
                is_within && (field.pitch_start.into()..=field.pitch_stop.into()).contains(&pitch)
            })
        }
    }
}

/// Whether another echo of the pulse is so near that the point of `echo` can lie between two objects.
pub(super) fn is_between(echo: &Return, all: &[Return]) -> bool {
    all.iter().any(|other| {
        other.range_m != echo.range_m && (other.range_m - echo.range_m).abs() < BETWEEN_M
    })
}

/// Signal below which a return is weak, for the detection threshold `threshold`.
pub(super) fn weak_signal(threshold: f64) -> f32 {
    threshold as f32 * WEAK_BELOW
}

/// Rounds to the nearest integer; the magnitude of `value` must be below 2^31.
#[inline]
pub(super) fn whole(value: f64) -> i32 {
    /// The sum of this number and a smaller value has no fractional bits in an `f64`, so its lowest 32 bits are the
    /// rounded value.
    const WHOLE_FROM: f64 = 1.5 * (1_u64 << 52) as f64;
    (value + WHOLE_FROM).to_bits() as i32
}

/// Azimuth, positive to the left of forward, 0 to 360 degrees.
#[inline]
fn azimuth_deg(aim: DVec3) -> f64 {
    let deg = libm::atan2(aim.y, aim.x).to_degrees();
    // The remainder of `f64` is a slow function call.
    if deg < 0.0 { deg + 360.0 } else { deg }
}

/// Spherical coordinates of a point in the direction `aim`, `mm` millimetres away: depth (millimetres), theta (from
/// straight up) and phi (azimuth, from forward to the left). The angles are in hundredths of a degree.
#[inline]
pub(super) fn spherical(aim: DVec3, mm: f64) -> [i32; 3] {
    let theta = libm::acos(aim.z.clamp(-1.0, 1.0)).to_degrees() * 100.0;
    [whole(mm), whole(theta), whole(azimuth_deg(aim) * 100.0) % 36_000]
}

/// Encodes echoes as points.
#[derive(Clone, Debug)]
pub struct PointMaker {
    profile: PointProfile,
    echo: EchoChoice,
    tags: TagRule,
    /// Signal below which a return is weak.
    weak_signal: f32,
    reflectivities: Intensities,
}

impl PointMaker {
    /// Encoder of points for a unit with the detection threshold `threshold`, a signal strength.
    pub fn new(profile: PointProfile, echo: EchoChoice, tags: TagRule, threshold: f64) -> Self {
        let reflectivities = Intensities::new(profile.diffuse_full_scale, profile.retro_full_gain);
        Self { profile, echo, tags, weak_signal: weak_signal(threshold), reflectivities }
    }

    /// Bytes of a packet without time and checksums, and the number of its points with a return.
    pub fn packet(
        &self,
        mode: &Mode,
        aims: &[DVec3],
        echoes: &[Echoes],
        sequence: u16,
        interval: u16,
    ) -> (Vec<u8>, u32) {
        let kind = mode.data_type;
        let mut bytes = Vec::with_capacity(HEAD_LEN + POINTS * kind.point_len());
        Head::new(kind.number(), POINTS as u16, interval, sequence).emit(&mut bytes);
        bytes.resize(HEAD_LEN + POINTS * kind.point_len(), 0);
        let out = &mut bytes[HEAD_LEN..];
        // A separate loop for each format is faster.
        let returns = match kind {
            DataType::Cartesian => self.put(DataType::Cartesian, mode, aims, echoes, out),
            DataType::Cartesian16 => self.put(DataType::Cartesian16, mode, aims, echoes, out),
            DataType::Spherical => self.put(DataType::Spherical, mode, aims, echoes, out),
        };
        (bytes, returns)
    }

    /// Writes the points of a packet; returns the number of points with a return.
    #[inline(always)]
    fn put(
        &self,
        kind: DataType,
        mode: &Mode,
        aims: &[DVec3],
        echoes: &[Echoes],
        out: &mut [u8],
    ) -> u32 {
        let outside = Point { reflectivity: self.profile.outside_reflectivity, ..Point::default() };
        let mut returns = 0;
        let points = out.chunks_exact_mut(kind.point_len());
        for ((out, aim), echoes) in points.zip(aims).zip(echoes) {
            let point = match self.chosen(echoes.as_slice()) {
                _ if !mode.shows(*aim) => outside,
                Some((echo, tag)) => self.point(kind, *aim, echo, tag),
                None => Point::default(),
            };
            returns += u32::from(!point.is_empty(kind));
            point.put(kind, out);
        }
        returns
    }

    /// The echo that becomes the pulse's point, and its tag; `None` without an echo.
    #[inline]
    fn chosen<'a>(&self, echoes: &'a [Return]) -> Option<(&'a Return, u8)> {
        let place = match self.echo {
            EchoChoice::First => 0,
            EchoChoice::Strongest => strongest_but(echoes, None)?,
        };
        let echo = echoes.get(place)?;
        if self.tags == TagRule::Zero {
            return Some((echo, 0));
        }
        let between = if is_between(echo, echoes) { BETWEEN } else { 0 };
        let weak = if echo.signal < self.weak_signal { WEAK } else { 0 };
        Some((echo, between | weak))
    }

    #[inline]
    fn point(&self, kind: DataType, aim: DVec3, echo: &Return, tag: u8) -> Point {
        let mm = f64::from(echo.range_m) * 1000.0;
        let place = match kind {
            DataType::Cartesian => (aim * mm).to_array().map(whole),
            DataType::Cartesian16 => (aim * (mm * 0.1)).to_array().map(whole),
            DataType::Spherical => spherical(aim, mm),
        };
        Point { place, reflectivity: self.reflectivities.of(echo.intensity), tag }
    }
}
