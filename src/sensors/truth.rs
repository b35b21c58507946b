//! Ground truth of a sweep's returns: the direction of each firing, and the surface of each return.
//!
//! The ground truth is computed only if [`super::lidar::Scratch::keep_truth`] is set, and no output of a
//! device depends on it. `docs/TRUTH.md` describes each value.

use crate::frames::{Sensor, Transform, World};
use crate::sensors::receiver::Backscatter;
use crate::time::SimTime;

/// Ground truth of one sweep.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SweepTruth {
    /// Start time, from which offsets are counted.
    pub start: SimTime,
    /// Poses of the sensor at increasing offsets, ns; poses in between are interpolated. A sensor on a joint has one
    /// pose for each firing, other sensors have one for the first and one for the last firing.
    pub poses: Vec<(u32, Transform<World, Sensor>)>,
    /// Firings in the order of the request.
    pub firings: Vec<FiringTruth>,
    /// Returns in the order of the firings. A firing without a reported return has one entry too.
    pub returns: Vec<ReturnTruth>,
}

/// Firing time, beam direction and laser of a pulse.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FiringTruth {
    /// Time after the sweep's start, nanoseconds.
    pub offset_ns: u32,
    /// Azimuth of the beam in the sensor's frame, including its error, radians clockwise from forward, 0..2 pi.
    pub azimuth_rad: f32,
    /// Elevation of the beam in the sensor's frame, including its error, radians.
    pub elevation_rad: f32,
    /// Index of the laser in the lidar's list of lasers.
    pub laser: u16,
}

/// Ground truth of a return, or of a firing without a return.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReturnTruth {
    /// Index of the firing in [`SweepTruth::firings`].
    pub firing: u32,
    /// Range reported by the receiver, metres; NaN if no return is reported.
    pub reported_m: f32,
    /// Distance of the surface along the beam, metres: mean over the pulse's rays that hit it, weighted by their light.
    /// For weather, the distance of its echo. NaN if nothing was hit.
    pub true_m: f32,
    /// Index of the hit instance, as in [`crate::world::raycast::Hit::instance`]; [`NONE`] for weather.
    pub instance: u32,
    /// Index of the material in the instance's scene; [`NONE`] for weather.
    pub material: u32,
    /// Cosine of the angle of incidence, 0..=1.
    pub cos_incidence: f32,
    /// Share of the echo's light that comes from the surface, 0..=1.
    pub share: f32,
    /// [`Why::Nearest`] if the return is that of the nearest surface; otherwise the reason why it is not.
    pub why: Why,
    /// Bit mask of the reported echoes that contain the return; 0 if it is not reported. Bit 0 is the first return and
    /// bit 1 the second. If the receiver reports every echo, bit 0 is the nearest echo.
    pub slots: u8,
    /// Whether the light comes from a mirror image.
    pub is_mirrored: bool,
}

/// Index that means "no instance" or "no material".
pub const NONE: u32 = u32::MAX;

/// Reason why a return is not that of the nearest surface, or why there is none. The discriminants are part of the
/// file format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Why {
    /// The return comes from the nearest surface.
    #[default]
    Nearest = 0,
    /// Light of the nearest surface is in the echo of this return, but another surface returned more light.
    Merged = 1,
    /// The nearest surface has an echo of its own, and this return belongs to another echo.
    OtherEcho = 2,
    /// Light of the nearest surface is too weak, or the surface is outside the range that the receiver reports.
    Threshold = 3,
    /// Light of the nearest surface is strong enough, but noise of the receiver hid it.
    Noise = 4,
    /// The return comes from weather, or weather absorbed the light of a visible surface.
    Weather = 5,
    /// A fault of the optics blocked the light.
    Fault = 6,
    /// The pulse hit nothing.
    Nothing = 7,
}

/// A point in the world from which light of a pulse returns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    pub range_m: f32,
    pub reflectance: f32,
    pub instance: u32,
    pub material: u32,
    pub cos_incidence: f32,
    pub is_mirrored: bool,
}

/// Light of a pulse that returns, and the surface points from which it returns. The first `surfaces` entries of
/// `scatter` belong to `origins`, the others come from the air.
pub(super) struct Sources<'a> {
    pub origins: &'a [Origin],
    pub scatter: &'a [Backscatter],
    pub surfaces: usize,
    /// Largest difference between the range of an echo and the ranges of the points whose light contributes to it,
    /// metres.
    pub width_m: f32,
}

/// The part of an echo that comes from one surface.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    key: (u32, u32, bool),
    light: f32,
    moment: f32,
    cos: f32,
}

/// Smallest distance for computing a signal, metres, as in the receiver.
const NEAREST_M: f32 = 0.1;

impl Sources<'_> {
    /// The nearest surface with returned light.
    pub fn nearest(&self) -> Option<&Origin> {
        let lit = self.origins.iter().filter(|origin| origin.reflectance > 0.0);
        lit.min_by(|one, other| one.range_m.total_cmp(&other.range_m))
    }

    /// Sums of the signals of all surfaces within [`Sources::width_m`] of `range_m`: first as attenuated by weather,
    /// then as in clear air.
    pub fn signals_at(&self, range_m: f32) -> [f32; 2] {
        let mut dimmed = 0.0;
        let mut clear = 0.0;
        for (place, origin) in self.origins.iter().enumerate() {
            if (origin.range_m - range_m).abs() < self.width_m {
                let square = origin.range_m.max(NEAREST_M) * origin.range_m.max(NEAREST_M);
                clear += origin.reflectance / square;
                let left = self.scatter.get(place).filter(|_| place < self.surfaces);
                dimmed += left.map_or(0.0, |left| left.reflectance / square);
            }
        }
        [dimmed, clear]
    }

    /// Ground truth of the echo whose range without errors is `range_m`; `parts` is scratch memory.
    pub fn of_echo(&self, range_m: f32, parts: &mut Vec<Part>) -> ReturnTruth {
        parts.clear();
        let mut closest: Option<(f32, usize)> = None;
        for (place, light) in self.scatter.iter().enumerate() {
            let off = (light.range_m - range_m).abs();
            if closest.is_none_or(|(least, _)| off < least) {
                closest = Some((off, place));
            }
            if off < self.width_m {
                let share = 1.0 - off / self.width_m;
                self.add(parts, place, share * share);
            }
        }
        if parts.iter().all(|part| part.light <= 0.0) {
            parts.clear();
            if let Some((_, place)) = closest {
                self.add(parts, place, 1.0);
            }
        }
        let all: f32 = parts.iter().map(|part| part.light).sum();
        let mut best: Option<Part> = None;
        for part in parts {
            if best.is_none_or(|best| part.light > best.light) {
                best = Some(*part);
            }
        }
        let Some(Part { key: (instance, material, is_mirrored), light, moment, cos }) = best else {
            return ReturnTruth::MISSING;
        };
        let weight = light.max(f32::MIN_POSITIVE);
        ReturnTruth {
            true_m: moment / weight,
            instance,
            material,
            cos_incidence: cos / weight,
            share: weight / all.max(weight),
            is_mirrored,
            ..ReturnTruth::MISSING
        }
    }

    fn add(&self, parts: &mut Vec<Part>, place: usize, overlap: f32) {
        let light = self.scatter[place];
        let square = light.range_m.max(NEAREST_M) * light.range_m.max(NEAREST_M);
        let weight = (light.reflectance / square * overlap).max(f32::MIN_POSITIVE);
        let origin = self.origins.get(place).filter(|_| place < self.surfaces);
        let (key, range_m, cos) = match origin {
            Some(o) => ((o.instance, o.material, o.is_mirrored), o.range_m, o.cos_incidence),
            None => ((NONE, NONE, false), light.range_m, 0.0),
        };
        match parts.iter_mut().find(|part| part.key == key) {
            Some(part) => {
                part.light += weight;
                part.moment += weight * range_m;
                part.cos += weight * cos;
            }
            None => {
                parts.push(Part {
                    key,
                    light: weight,
                    moment: weight * range_m,
                    cos: weight * cos,
                });
            }
        }
    }
}

impl ReturnTruth {
    /// Ground truth of a pulse that hit nothing.
    pub const MISSING: Self = Self {
        firing: 0,
        reported_m: f32::NAN,
        true_m: f32::NAN,
        instance: NONE,
        material: NONE,
        cos_incidence: 0.0,
        share: 0.0,
        why: Why::Nothing,
        slots: 0,
        is_mirrored: false,
    };

    /// Whether the return comes from weather.
    pub fn is_air(&self) -> bool {
        self.instance == NONE && !self.true_m.is_nan()
    }

    /// Ground truth of a surface without a reported return.
    pub(super) fn unreported(origin: &Origin, why: Why) -> Self {
        Self {
            true_m: origin.range_m,
            instance: origin.instance,
            material: origin.material,
            cos_incidence: origin.cos_incidence,
            is_mirrored: origin.is_mirrored,
            why,
            ..Self::MISSING
        }
    }
}

impl SweepTruth {
    /// The sensor's pose `offset_ns` after the start; `None` for a sweep without poses.
    pub fn pose_at(&self, offset_ns: u32) -> Option<Transform<World, Sensor>> {
        let after = self.poses.partition_point(|(at, _)| *at < offset_ns);
        let (next, to) = self.poses.get(after).or(self.poses.last())?;
        let (last, from) = self.poses[after.saturating_sub(1)];
        let (next, last) = (f64::from(*next), f64::from(last));
        let share = if next > last { (f64::from(offset_ns) - last) / (next - last) } else { 0.0 };
        Some(from.interpolate(to, share.clamp(0.0, 1.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(range_m: f32, reflectance: f32, instance: u32) -> Origin {
        let (material, cos_incidence) = (instance, 0.5);
        Origin { range_m, reflectance, instance, material, cos_incidence, is_mirrored: false }
    }

    #[test]
    fn an_echo_is_of_the_surface_that_sends_most_of_its_light() {
        let origins = [origin(10.0, 0.1, 3), origin(10.2, 0.4, 4), origin(20.0, 2.0, 5)];
        let mut scatter: Vec<Backscatter> = origins
            .iter()
            .map(|o| Backscatter { range_m: o.range_m, reflectance: o.reflectance })
            .collect();
        scatter.push(Backscatter { range_m: 5.0, reflectance: 0.1 });
        let sources = Sources { origins: &origins, scatter: &scatter, surfaces: 3, width_m: 1.0 };
        let mut parts = Vec::new();
        let both = sources.of_echo(10.15, &mut parts);
        assert_eq!((both.instance, both.material), (4, 4));
        assert!((both.true_m - 10.2).abs() < 1e-5 && both.share > 0.7 && both.share < 0.9);
        let air = sources.of_echo(5.0, &mut parts);
        assert!(air.is_air() && (air.true_m - 5.0).abs() < 1e-6 && air.share == 1.0);
        assert_eq!(sources.nearest().map(|nearest| nearest.instance), Some(3));
        let [dimmed, clear] = sources.signals_at(20.0);
        assert!(dimmed == clear && (clear - 0.005).abs() < 1e-6);
        // Dust hides all surfaces.
        let hidden = Sources { surfaces: 0, ..sources };
        assert_eq!(hidden.of_echo(10.15, &mut parts).instance, NONE);
        assert_eq!(hidden.signals_at(20.0)[0], 0.0);
    }

    #[test]
    fn poses_between_firings_are_interpolated() {
        let at = |x| Transform::from_rpy(glam::DVec3::new(x, 0.0, 0.0), 0.0, 0.0, 0.0);
        let poses = vec![(0, at(0.0)), (100, at(1.0)), (200, at(3.0))];
        let truth = SweepTruth { poses, ..SweepTruth::default() };
        for (offset, x) in [(0, 0.0), (50, 0.5), (100, 1.0), (150, 2.0), (200, 3.0), (300, 3.0)] {
            let pose = truth.pose_at(offset).expect("there are poses");
            assert!((pose.translation.x - x).abs() < 1e-12, "{offset}");
        }
        assert_eq!(SweepTruth::default().pose_at(0), None);
    }
}
