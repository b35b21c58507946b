//! Faults of a camera's optics and pixels, and their effect on a frame.
//!
//! Sources: the veil around the sun is the disability glare of the CIE (Stiles and Holladay: 10 E / theta², theta in
//! degrees). Sizes, number and brightness of ghosts and spots are assumptions, because no document states them for a
//! lens.

use glam::DVec3;

use super::lens::Lens;
use super::sky::{Colour, Daylight};
use super::{FULL_SCALE, project, ray};
use crate::config::rig::faults::Timed;
use crate::frames::{Sensor, Transform, World};
use crate::sensors::noise::{NoiseSource, Quantity};
use crate::time::SimTime;
use crate::world::random;
use crate::world::raycast::{Hit, RayCaster, Stencil};

/// A fault of a camera's optics or pixels.
#[derive(Clone, Debug, PartialEq)]
pub enum CameraFault {
    /// Pixels whose count is independent of light.
    StuckPixels {
        /// Share of stuck pixels among all pixels, 0..=1.
        share: f64,
        /// Count of the stuck pixels as a share of full scale; `None`: each is either dark or full, at random.
        level: Option<f64>,
    },
    /// Dirt on the lens: blurred spots that absorb light.
    Dirt {
        /// Number of spots.
        spots: u32,
        /// Width of the largest spot as a share of the image's width.
        size: f64,
        /// Share of the light that passes the middle of a spot, 0..=1.
        transmission: f64,
    },
    /// Drops on the lens. Each shows the scene upside down, small and blurred.
    Drops {
        /// Number of drops.
        drops: u32,
        /// Width of the largest drop as a share of the image's width.
        size: f64,
    },
    /// Sunlight scattered within the lens: a veil and ghosts.
    Flare {
        /// Strength relative to the glare in the human eye, which is 1.
        strength: f64,
    },
    /// The lens is out of focus.
    Defocus {
        /// Diameter of the blur disc of a point, pixels of the sensor.
        blur_px: f64,
    },
    /// The exposure oscillates about its correct value. The device applies this fault.
    ExposureHunts {
        /// Largest change in either direction, EV: at 1, the exposure varies from half to twice its correct value.
        swing_ev: f64,
        /// Period of the oscillation, nanoseconds.
        cycle_ns: u64,
    },
    /// The camera loses frames. The device applies this fault.
    FramesDropped {
        /// Probability of loss for each frame.
        probability: f64,
    },
    /// Commands from the host do not reset the camera's heartbeat timer.
    HeartbeatLost,
}

impl CameraFault {
    /// Factor by which this fault multiplies the exposure at `at`; 1 for other kinds of faults.
    pub fn exposure_factor(&self, at: SimTime) -> f64 {
        match *self {
            Self::ExposureHunts { swing_ev, cycle_ns } => {
                let part = (at.0 % cycle_ns.max(1)) as f64 / cycle_ns.max(1) as f64;
                libm::exp2(swing_ev * libm::sin(part * std::f64::consts::TAU))
            }
            _ => 1.0,
        }
    }
}

/// A round spot on the lens, in coordinates of the whole sensor's image.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spot {
    centre_px: [f64; 2],
    radius_px: f64,
}

/// A fault with the random positions and sizes of its spots or drops.
#[derive(Clone, Debug)]
pub(super) struct Prepared {
    timed: Timed<CameraFault>,
    spots: Vec<Spot>,
}

impl Prepared {
    pub(super) fn new(timed: &Timed<CameraFault>, size: [u32; 2], noise: &NoiseSource) -> Self {
        let (count, width) = match timed.kind {
            CameraFault::Dirt { spots, size, .. } => (spots, size),
            CameraFault::Drops { drops, size } => (drops, size),
            _ => (0, 0.0),
        };
        let draws = noise.request(u64::MAX - 1 - timed.fault as u64);
        let [columns, rows] = size.map(f64::from);
        let spot = |number: u32| {
            let mut stream = draws.stream(number as usize, Quantity::LensSpot);
            let mut draw = |low: f64, high: f64| random::uniform(&mut stream, low, high);
            let centre_px = [draw(0.0, columns), draw(0.0, rows)];
            Spot { centre_px, radius_px: 0.5 * width * columns * draw(0.4, 1.0) }
        };
        Self { timed: timed.clone(), spots: (0..count).map(spot).collect() }
    }
}

impl Spot {
    /// Distance of a position from the spot's middle, divided by the spot's radius.
    fn off(&self, [u, v]: [f64; 2]) -> f64 {
        let [x, y] = [u - self.centre_px[0], v - self.centre_px[1]];
        (x * x + y * y).sqrt() / self.radius_px
    }
}

/// A disc of light in the image.
struct Ghost {
    spot: Spot,
    light: Colour,
}

/// Ghosts: distance from the image's centre as a multiple of the distance between the centre and the sun's image
/// (negative: on the opposite side), radius as a share of the image's width, luminance per lux of the sun, and tint.
const GHOSTS: [(f64, f64, f64, Colour); 4] = [
    (-1.2, 0.050, 0.010, [0.6, 1.0, 0.8]),
    (-0.7, 0.030, 0.020, [1.0, 0.8, 0.5]),
    (-0.35, 0.080, 0.006, [0.7, 0.8, 1.0]),
    (0.4, 0.020, 0.030, [1.0, 1.0, 0.7]),
];
/// Angle from the sun within which the veil has its largest brightness, degrees.
const VEIL_FROM_DEG: f64 = 1.0;

/// Sunlight that the lens scatters.
struct Flare {
    /// Unit vector towards the sun, in the axes of the mount.
    sun: DVec3,
    /// Luminance of the veil at one degree from the sun, cd/m².
    veil: Colour,
    ghosts: Vec<Ghost>,
}

/// Faults that affect one frame.
pub(super) struct Disturbed<'a> {
    faults: Vec<&'a Prepared>,
    flare: Option<Flare>,
    /// Diameter of the blur disc, pixels of the sensor.
    blur_px: f64,
}

impl<'a> Disturbed<'a> {
    /// Selects the faults that are active at the start of a frame. `middle` is the middle of the exposure, `pose` the
    /// camera's pose at that time.
    pub(super) fn at(
        faults: &'a [Prepared],
        start: SimTime,
        lens: &Lens,
        day: &Daylight,
        caster: &dyn RayCaster,
        (middle, pose): (SimTime, Transform<World, Sensor>),
    ) -> Self {
        let faults: Vec<_> = faults.iter().filter(|one| one.timed.is_on(start)).collect();
        let mut strength = 0.0;
        let mut blur_px = 0.0f64;
        for one in &faults {
            match one.timed.kind {
                CameraFault::Flare { strength: more } => strength += more,
                CameraFault::Defocus { blur_px: more } => blur_px = blur_px.max(more),
                _ => {}
            }
        }
        let flare = (strength > 0.0)
            .then(|| Flare::new(strength, lens, day, caster, middle, &pose))
            .flatten();
        Self { faults, flare, blur_px }
    }

    /// Whether no fault affects the frame.
    pub(super) fn is_none(&self) -> bool {
        self.faults.is_empty()
    }

    /// Distance over which blur spreads the light of a pixel, in rows or columns of binned pixels.
    pub(super) fn margin(&self, binning: [u32; 2]) -> u32 {
        let bin = f64::from(binning[0].min(binning[1]).max(1));
        let radius = 0.5 * self.blur_px / bin;
        // A smaller disc lies within the pixel.
        if radius > 0.5 { radius.ceil() as u32 } else { 0 }
    }

    /// Position on the sensor, pixels, that determines the direction of the ray for the position `at`. It differs from
    /// `at` only within a drop on the lens. `size` is the sensor's size, pixels; `draw` returns samples, uniform in
    /// 0..1.
    pub(super) fn looks(
        &self,
        at: [f64; 2],
        size: [u32; 2],
        mut draw: impl FnMut(usize) -> f64,
    ) -> [f64; 2] {
        let mut seen = at;
        for one in &self.faults {
            if !matches!(one.timed.kind, CameraFault::Drops { .. }) {
                continue;
            }
            let Some(drop) = one.spots.iter().find(|drop| drop.off(at) < 1.0) else { continue };
            // A drop is a lens of short focal length. It shows a large part of the scene, rotated by 180 degrees and
            // blurred.
            let wide = 0.35 * f64::from(size[0]) / drop.radius_px;
            seen = std::array::from_fn(|axis| {
                let blur = (draw(axis) - 0.5) * 0.3 * drop.radius_px;
                let turned = drop.centre_px[axis] - wide * (at[axis] - drop.centre_px[axis]) + blur;
                turned.clamp(0.0, f64::from(size[axis] - 1))
            });
        }
        seen
    }

    /// Applies dirt, drops and flare to the light of a pixel with the centre `at`; `direction` is in the axes of the
    /// mount.
    pub(super) fn light(&self, at: [f64; 2], direction: DVec3, light: Colour) -> Colour {
        let mut light = light;
        for one in &self.faults {
            match one.timed.kind {
                CameraFault::Dirt { transmission, .. } => {
                    for spot in &one.spots {
                        // The spot is far out of focus, so that its edge is as wide as the spot.
                        let inside = (1.0 - spot.off(at)).clamp(0.0, 1.0);
                        let soft = inside * inside * (3.0 - 2.0 * inside);
                        light = light.map(|part| part * (1.0 - soft * (1.0 - transmission)));
                    }
                }
                CameraFault::Drops { .. } => {
                    let rim = one.spots.iter().map(|drop| drop.off(at)).find(|off| *off < 1.0);
                    let dark = rim.map_or(1.0, |off| 1.0 - 0.5 * off.powi(8));
                    light = light.map(|part| part * dark);
                }
                _ => {}
            }
        }
        match &self.flare {
            Some(flare) => flare.over(at, direction, light),
            None => light,
        }
    }

    /// Count of a stuck pixel; `None` for a pixel that works.
    pub(super) fn stuck(&self, place: usize, noise: &NoiseSource) -> Option<u16> {
        self.faults.iter().find_map(|one| {
            let CameraFault::StuckPixels { share, level } = one.timed.kind else { return None };
            let draws = noise.request(u64::MAX - 1 - one.timed.fault as u64);
            let draw = draws.uniform(place, Quantity::StuckPixel);
            let level = level.unwrap_or(if draw < 0.5 * share { 0.0 } else { 1.0 });
            (draw < share).then(|| (level * f64::from(FULL_SCALE)).round() as u16)
        })
    }

    /// Blurs `light`, an image with `width` columns; returns the rows `rows` of the result. Pixels with NaN are
    /// ignored.
    pub(super) fn blurred(
        &self,
        light: &[Colour],
        width: usize,
        rows: std::ops::Range<usize>,
        binning: [u32; 2],
    ) -> Vec<Colour> {
        let all = light.len() / width.max(1);
        let [radius_x, radius_y] =
            binning.map(|bin| (0.5 * self.blur_px / f64::from(bin.max(1))).max(0.5));
        let reach = [radius_x, radius_y].map(|radius| radius.ceil() as i64);
        let disc: Vec<[i64; 2]> = (-reach[1]..=reach[1])
            .flat_map(|y| (-reach[0]..=reach[0]).map(move |x| [x, y]))
            .filter(|&[x, y]| {
                let [x, y] = [x as f64 / radius_x, y as f64 / radius_y];
                x * x + y * y <= 1.0
            })
            .collect();
        let mut out = Vec::with_capacity(rows.len() * width);
        for row in rows {
            for column in 0..width {
                let (mut sum, mut count) = ([0.0; 3], 0.0);
                for &[x, y] in &disc {
                    let [x, y] = [column as i64 + x, row as i64 + y];
                    if x < 0 || y < 0 || x >= width as i64 || y >= all as i64 {
                        continue;
                    }
                    let one = light[y as usize * width + x as usize];
                    if one[0].is_nan() {
                        continue;
                    }
                    (0..3).for_each(|c| sum[c] += one[c]);
                    count += 1.0;
                }
                out.push(if count > 0.0 { sum.map(|part| part / count) } else { [f64::NAN; 3] });
            }
        }
        out
    }
}

impl Flare {
    /// Returns `None` if the sun is behind the camera, below the horizon or hidden.
    fn new(
        strength: f64,
        lens: &Lens,
        day: &Daylight,
        caster: &dyn RayCaster,
        middle: SimTime,
        pose: &Transform<World, Sensor>,
    ) -> Option<Self> {
        let sun = pose.inverse().direction(day.sun);
        if sun.x <= 0.0 || day.sun.z <= 0.0 {
            return None;
        }
        let mut hit = [Hit::MISS];
        let toward = ray(pose.translation, day.sun);
        caster.cast_at(&Stencil::single(), &[toward], &[middle], &mut hit);
        if hit[0].range_m.is_finite() {
            return None;
        }
        let lit = day.sun_lx.map(|part| part * sun.x * strength);
        let size = lens.size.map(f64::from);
        let shown = project(lens, sun);
        // If the sun is far outside the image, its light meets only the first lens element.
        let shown = shown.filter(|[u, v]| {
            let inside = |at: f64, size: f64| at > -0.5 * size && at < 1.5 * size;
            inside(*u, size[0]) && inside(*v, size[1])
        });
        let ghosts = shown.map_or(Vec::new(), |shown| {
            let ghost = |(along, radius, bright, tint): (f64, f64, f64, Colour)| {
                let centre = lens.centre_px;
                let at = |axis: usize| centre[axis] + along * (shown[axis] - centre[axis]);
                let spot = Spot { centre_px: [at(0), at(1)], radius_px: radius * size[0] };
                Ghost { spot, light: std::array::from_fn(|c| lit[c] * bright * tint[c]) }
            };
            GHOSTS.into_iter().map(ghost).collect()
        });
        Some(Self { sun, veil: lit.map(|part| 10.0 * part), ghosts })
    }

    fn over(&self, at: [f64; 2], direction: DVec3, light: Colour) -> Colour {
        let off_deg = libm::acos(direction.dot(self.sun).clamp(-1.0, 1.0)).to_degrees();
        let square = off_deg.max(VEIL_FROM_DEG).powi(2);
        let mut light: Colour = std::array::from_fn(|c| light[c] + self.veil[c] / square);
        for ghost in &self.ghosts {
            if ghost.spot.off(at) < 1.0 {
                (0..3).for_each(|c| light[c] += ghost.light[c]);
            }
        }
        light
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::rig::schedule::Schedule;

    fn prepared(kind: CameraFault) -> Prepared {
        let timed = Timed {
            fault: 0,
            schedule: Schedule { start: SimTime::ZERO, duration_ns: None, period_ns: None },
            kind,
        };
        Prepared::new(&timed, [640, 480], &NoiseSource::new(1, "a"))
    }

    fn disturbed(one: &Prepared, blur_px: f64) -> Disturbed<'_> {
        Disturbed { faults: vec![one], flare: None, blur_px }
    }

    #[test]
    fn as_many_pixels_are_stuck_as_asked_for() {
        let one = prepared(CameraFault::StuckPixels { share: 0.01, level: None });
        let (all, noise) = (disturbed(&one, 0.0), NoiseSource::new(1, "a"));
        let stuck: Vec<u16> = (0..100_000).filter_map(|at| all.stuck(at, &noise)).collect();
        assert!((900..1100).contains(&stuck.len()), "{}", stuck.len());
        let dark = stuck.iter().filter(|count| **count == 0).count();
        assert!(dark * 3 > stuck.len() && dark * 3 < 2 * stuck.len(), "{dark}");
    }

    #[test]
    fn dirt_takes_light_and_drops_turn_the_scene() {
        let one = prepared(CameraFault::Dirt { spots: 1, size: 0.1, transmission: 0.25 });
        let (all, spot) = (disturbed(&one, 0.0), one.spots[0]);
        let [light, ..] = all.light(spot.centre_px, DVec3::X, [1.0; 3]);
        assert!((light - 0.25).abs() < 1e-9);
        let outside = [spot.centre_px[0] + 1.01 * spot.radius_px, spot.centre_px[1]];
        assert_eq!(all.light(outside, DVec3::X, [1.0; 3]), [1.0; 3]);
        let one = prepared(CameraFault::Drops { drops: 1, size: 0.05 });
        let (all, drop) = (disturbed(&one, 0.0), one.spots[0]);
        let right = [drop.centre_px[0] + 0.5 * drop.radius_px, drop.centre_px[1]];
        assert!(all.looks(right, [640, 480], |_| 0.5)[0] < drop.centre_px[0]);
        assert_eq!(all.looks([-100.0, -100.0], [640, 480], |_| 0.5), [-100.0, -100.0]);
    }

    #[test]
    fn defocus_keeps_the_light() {
        let one = prepared(CameraFault::Defocus { blur_px: 6.0 });
        let all = disturbed(&one, 6.0);
        let mut light = vec![[0.0; 3]; 21 * 21];
        light[10 * 21 + 10] = [1.0; 3];
        let out = all.blurred(&light, 21, 0..21, [1, 1]);
        let sum: f64 = out.iter().map(|one| one[1]).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{sum}");
        assert!((1.0 / out[10 * 21 + 10][0] - 29.0).abs() < 1e-9, "pixels of a disc of 3 pixels");
        assert_eq!(all.margin([1, 1]), 3);
        assert_eq!(all.margin([16, 16]), 0);
    }

    #[test]
    fn exposure_swings_about_one() {
        let hunts = CameraFault::ExposureHunts { swing_ev: 1.0, cycle_ns: 1000 };
        let at = |ns| hunts.exposure_factor(SimTime(ns));
        assert!((at(250) - 2.0).abs() < 1e-9 && (at(750) - 0.5).abs() < 1e-9);
        assert_eq!(at(0), 1.0);
    }
}
