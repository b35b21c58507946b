//! Physics of a camera: converts light of the scene to counts of the analogue-to-digital converter. Product families
//! convert the counts to their formats.
//!
//! A frame is measured in tiles of some rows, so that several threads can work on it. Each pixel casts a ray from a
//! random position within its area, at a random time within its exposure. This gives motion blur and smooth edges.
//! The light of a ray is that of the surface that it hits, lit by the sky ([`sky`]) and, where nothing casts a
//! shadow, by the sun. Photons become electrons with shot noise, dark signal and readout noise as in EMVA 1288, and
//! counts of 12 bits.
#![allow(clippy::needless_range_loop, reason = "one index into many arrays")]

mod aim;
mod air;
mod counts;
pub mod faults;
pub mod lens;
mod poses;
mod shade;
pub mod sky;
mod surface;
#[cfg(test)]
mod tests;
pub mod truth;

use std::sync::{Arc, Mutex};

use fearless_simd::Level;
use glam::DVec3;

use self::aim::{Aim, Cell, Rays, centre};
use self::air::PictureAir;
use self::faults::{CameraFault, Disturbed, Prepared};
use self::lens::{Directions, Lens};
use self::poses::Poses;
use self::shade::Shader;
use self::sky::{Colour, Daylight, sun_at};
use self::truth::{Exposure, TruthImages};
use super::lanes;
use super::lidar::Scratch;
use super::noise::NoiseSource;
use super::weather::Weather;
use super::{Measurement, MeasurementRequest, Outcome, Sensor, Subject, Surroundings};
use crate::config::rig::faults::Timed;
use crate::time::{Epoch, SimTime};
use crate::world::raycast::Pulse;

/// Largest count of the converter.
pub const FULL_SCALE: u16 = 4095;
/// Length of the rays, metres.
const REACH_M: f32 = 2000.0;
/// Side of a square block of pixels whose rays traverse the scene together.
const BLOCK: u32 = 8;
/// Approximate number of pixels in progress at once: few enough for their data to stay in the processor's caches.
const AT_ONCE: usize = 1024;
/// Pixels in a call to a GPU for each of `RayCaster::pulses_per_call`: a pixel has one ray, a pulse of a lidar usually
/// nine.
const PIXELS_PER_PULSE: usize = 2;

/// Some rows of a frame.
#[derive(Clone, Debug)]
pub struct Tile {
    /// Exposure and geometry of the whole frame.
    pub shot: Arc<Shot>,
    /// First row and end row (exclusive) within the frame's region.
    pub rows: [u32; 2],
}

/// Settings of a frame's exposure and readout.
#[derive(Clone, Debug, PartialEq)]
pub struct Shot {
    /// Number of the frame, different for each frame of a device. Random noise depends on this number.
    pub number: u64,
    /// Exposure time of each row, nanoseconds.
    pub exposure_ns: u64,
    /// Time from the start of a row's exposure to that of the next, nanoseconds; 0 for a global shutter.
    pub line_ns: u64,
    /// Region of the sensor that is read: left, top, width and height, in binned pixels.
    pub region: [u32; 4],
    /// Number of pixels in x and y that are read as one; the result is their mean.
    pub binning: [u32; 2],
    /// Gain, decibels.
    pub gain_db: f64,
    /// Count without light.
    pub black: f64,
    /// Exposure of the previous frame; `None` without one, or if its region or binning was different.
    pub before: Option<Exposure>,
}

impl Shot {
    /// Centre of the region's pixel in column `column` and row `row` (binned pixels), as a position in unbinned pixels
    /// of the whole sensor.
    fn on_sensor(&self, column: u32, row: u32) -> [f64; 2] {
        let [left, top, ..] = self.region;
        let [bin_x, bin_y] = self.binning.map(f64::from);
        [centre(left + column, bin_x), centre(top + row, bin_y)]
    }
}

impl Tile {
    /// End of the exposure of the tile's last row. `start` is the start of the exposure of the frame's first row.
    pub fn end(&self, start: SimTime) -> SimTime {
        let rows = u64::from(self.rows[1].saturating_sub(1));
        SimTime(start.0 + self.shot.exposure_ns + rows * self.shot.line_ns)
    }

    /// Number of pixels in the tile.
    pub fn pixels(&self) -> usize {
        (self.rows[1] - self.rows[0]) as usize * self.shot.region[2] as usize
    }
}

/// The physics of a sensor chip.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Chip {
    /// Whether pixels have colour filters: red and green in even rows, green and blue in odd ones.
    pub is_colour: bool,
    /// Width of a pixel, micrometres.
    pub pixel_um: f64,
    /// Electrons per photon, for the red, green and blue filters; all equal without filters.
    pub efficiency: [f64; 3],
    /// Full well capacity of a pixel, electrons.
    pub full_well_e: f64,
    /// Standard deviation of the readout noise, electrons.
    pub read_noise_e: f64,
    /// Dark signal, electrons per second.
    pub dark_e_s: f64,
    /// Standard deviation of the pixels' offsets (DSNU), electrons.
    pub dsnu_e: f64,
    /// Standard deviation of the pixels' response (PRNU), as a share.
    pub prnu: f64,
}

/// The lens in front of the chip.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Optics {
    /// Mapping from pixels to directions.
    pub lens: Lens,
    /// Focal length divided by the diameter of the aperture.
    pub f_number: f64,
    /// Share of the light that the lens transmits, 0..=1.
    pub transmission: f64,
    /// Coefficients a and b of the brightness factor `1 + a r² + b r⁴` (negative: darker), in addition to the cos⁴ law.
    /// `r` is the distance from the centre in units of half the image's width.
    pub vignetting: [f64; 2],
}

/// Daylight of the scene.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Light {
    /// Elevation and azimuth (clockwise from north) of the sun, radians; `None`: computed from time and place.
    pub sun: Option<[f64; 2]>,
    /// Turbidity of the air: 2 is very clear, 6 is hazy.
    pub turbidity: f64,
    /// Whether clouds hide the sun.
    pub sky: Sky,
}

words!(Sky: "weather" => ByWeather, "clear" => Clear, "overcast" => Overcast);

/// Whether clouds hide the sun.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sky {
    /// Clouds hide the sun in rain, fog and snow only.
    #[default]
    ByWeather,
    /// Clouds never hide the sun.
    Clear,
    /// Clouds always hide the sun.
    Overcast,
}

/// A camera. All threads that measure for it share it.
#[derive(Clone, Debug)]
pub struct Camera {
    chip: Chip,
    optics: Optics,
    light: Light,
    directions: Directions,
    noise: NoiseSource,
    epoch: Epoch,
    /// The last computed daylight.
    day: Arc<Mutex<KeptDay>>,
    truth_images: TruthImages,
    faults: Vec<Prepared>,
}

/// The last computed daylight, with the values that determine it: elevation and azimuth of the sun, radians, and
/// whether clouds hide the sun. `None` before the first frame.
type KeptDay = Option<(([f64; 2], bool), Arc<Daylight>)>;

/// Photons of 555 nm per lux second and square micrometre.
const PHOTONS_PER_LXS_UM2: f64 = 4.09e15 * 1e-12;
/// Albedo of the ground, which lights surfaces from below.
const GROUND: Colour = [0.15, 0.15, 0.12];

impl Camera {
    /// A camera; the table of directions is computed here.
    pub fn new(chip: Chip, optics: Optics, light: Light, noise: NoiseSource, epoch: Epoch) -> Self {
        let directions = optics.lens.directions();
        let day = Arc::default();
        let truth_images = TruthImages::default();
        let faults = Vec::new();
        Self { chip, optics, light, directions, noise, epoch, day, truth_images, faults }
    }

    /// Returns the camera with `faults`, which replace all faults set before.
    pub fn with_faults(self, faults: &[Timed<CameraFault>]) -> Self {
        let size = self.optics.lens.size;
        let faults = faults.iter().map(|fault| Prepared::new(fault, size, &self.noise)).collect();
        Self { faults, ..self }
    }

    /// Returns the camera, which then also computes the images that `truth_images` selects while ground truth is
    /// recorded.
    pub fn telling(self, truth_images: TruthImages) -> Self {
        Self { truth_images, ..self }
    }

    /// Daylight of the second that contains `at`. The result is cached until sun or clouds change.
    fn daylight(&self, at: SimTime, surroundings: &Surroundings<'_>) -> Arc<Daylight> {
        let sun = self.light.sun.unwrap_or_else(|| {
            let unix_s = self.epoch.unix_ns(at).div_euclid(1_000_000_000);
            let place = surroundings.origin.origin();
            sun_at(unix_s as f64, place.latitude_deg, place.longitude_deg)
        });
        let is_overcast = match self.light.sky {
            Sky::ByWeather => surroundings.weather.is_some_and(Weather::is_overcast),
            Sky::Clear => false,
            Sky::Overcast => true,
        };
        let state = (sun, is_overcast);
        let mut kept = self.day.lock().expect("no holder panics");
        if let Some((_, day)) = kept.as_ref().filter(|(known, _)| *known == state) {
            return Arc::clone(day);
        }
        let day = Arc::new(match is_overcast {
            true => Daylight::overcast(sun, GROUND),
            false => Daylight::new(sun, self.light.turbidity, GROUND),
        });
        *kept = Some((state, Arc::clone(&day)));
        day
    }

    fn tile(&self, tile: &Tile, start: SimTime, surroundings: &Surroundings<'_>) -> Vec<u16> {
        let shot = &*tile.shot;
        let [_, _, width, height] = shot.region;
        let day = self.daylight(start, surroundings);
        let frame_middle = shot.exposed(start).middle(0.5 * f64::from(height));
        let disturbed = Disturbed::at(
            &self.faults,
            start,
            &self.optics.lens,
            &day,
            surroundings.caster,
            (frame_middle, surroundings.world_from_sensor(frame_middle)),
        );
        // Blur needs light from rows outside the tile.
        let margin = disturbed.margin(shot.binning);
        let rows =
            [tile.rows[0].saturating_sub(margin), height.min(tile.rows[1].saturating_add(margin))];
        let first = SimTime(start.0 + u64::from(rows[0]) * shot.line_ns);
        let end = Tile { shot: Arc::clone(&tile.shot), rows }.end(start);
        let aim = Aim {
            shot,
            start,
            poses: Poses::between(first, end, surroundings),
            directions: &self.directions,
            size: self.optics.lens.size,
            disturbed: &disturbed,
            noise: self.noise.request(shot.number),
        };
        let level = Level::new();
        let air = PictureAir::new(surroundings.weather, &day, first, end);
        let pixel_rad = f64::from(shot.binning[0]) / self.optics.lens.focal_px[0];
        let mut shader = Shader::new(surroundings.caster, &day, air, pixel_rad, level);
        let mut pixels = vec![shot.black.clamp(0.0, f64::from(FULL_SCALE)) as u16; tile.pixels()];
        let first_index = (tile.rows[0] * width) as usize;
        let mut count = |cells: &[Cell], light: &mut [Colour]| {
            if !disturbed.is_none() {
                for (cell, light) in cells.iter().zip(&mut *light) {
                    let at = shot.on_sensor(cell.column, cell.row);
                    *light = disturbed.light(at, cell.direction, *light);
                }
            }
            self.counts(level, shot, cells, light, &mut |index, count| {
                pixels[index - first_index] = count;
            });
        };
        let at_once = AT_ONCE.max(PIXELS_PER_PULSE * surroundings.caster.pulses_per_call());
        let (mut cells, mut rays, mut light) = (Vec::new(), Rays::default(), Vec::new());
        // Blur needs the light of all pixels before counts are computed.
        let mut waiting = (Vec::new(), Vec::new());
        let mut see = |cells: &mut Vec<Cell>, rays: &mut Rays| {
            light.clear();
            light.resize(cells.len(), [0.0; 3]);
            shader.follow(rays, &mut light);
            if margin == 0 {
                count(cells, &mut light);
            } else {
                waiting.0.extend_from_slice(cells);
                waiting.1.extend_from_slice(&light);
            }
            cells.clear();
        };
        for row in (rows[0]..rows[1]).step_by(BLOCK as usize) {
            for column in (0..width).step_by(BLOCK as usize) {
                let ends = [rows[1].min(row + BLOCK), width.min(column + BLOCK)];
                aim.block(level, [row, ends[0]], [column, ends[1]], &mut cells, &mut rays);
                if cells.len() >= at_once {
                    see(&mut cells, &mut rays);
                }
            }
        }
        see(&mut cells, &mut rays);
        if margin > 0 {
            let (mut cells, mut light) = waiting;
            let from = (rows[0] * width) as usize;
            let mut sharp = vec![[f64::NAN; 3]; ((rows[1] - rows[0]) * width) as usize];
            for (cell, light) in cells.iter().zip(&light) {
                sharp[cell.index(shot) - from] = *light;
            }
            let own = tile.rows.map(|row| (row - rows[0]) as usize);
            let blurred = disturbed.blurred(&sharp, width as usize, own[0]..own[1], shot.binning);
            cells.retain(|cell| (tile.rows[0]..tile.rows[1]).contains(&cell.row));
            light.clear();
            light.extend(cells.iter().map(|cell| blurred[cell.index(shot) - first_index]));
            count(&cells, &mut light);
        }
        if !disturbed.is_none() {
            self.stick(tile, &disturbed, &mut pixels);
        }
        pixels
    }

    /// Overwrites the counts of stuck pixels.
    fn stick(&self, tile: &Tile, disturbed: &Disturbed<'_>, pixels: &mut [u16]) {
        let [left, top, width, _] = tile.shot.region;
        let places = (tile.rows[0]..tile.rows[1])
            .flat_map(|row| (0..width).map(move |column| place_of(left + column, top + row)));
        for (pixel, place) in pixels.iter_mut().zip(places) {
            if let Some(count) = disturbed.stuck(place, &self.noise) {
                *pixel = count;
            }
        }
    }
}

/// Number that identifies a pixel of the chip, for random values that stay with the pixel. With binning, `column` and
/// `row` count binned pixels.
fn place_of(column: u32, row: u32) -> usize {
    (u64::from(row) << 20 | u64::from(column)) as usize
}

/// Converts a direction from the lens's axes to the axes of the mount (forward, left, up), as a unit vector.
#[inline(always)]
fn forward([x, y, z]: [f64; 3]) -> DVec3 {
    DVec3::new(z, -x, -y).normalize()
}

/// Position in the image, pixels, at which the lens shows the direction `toward` (axes of the mount). `None` if the
/// direction points behind the lens.
fn project(lens: &Lens, toward: DVec3) -> Option<[f64; 2]> {
    lens.project([-toward.y, -toward.z, toward.x])
}

#[inline(always)]
fn ray(origin: DVec3, direction: DVec3) -> Pulse {
    let (half_axis_u, half_axis_v) = (DVec3::ZERO, DVec3::ZERO);
    Pulse { origin, start_m: 0.0, direction, half_axis_u, half_axis_v, max_range_m: REACH_M }
}

impl Sensor for Camera {
    fn measure_all(
        &self,
        requests: Vec<MeasurementRequest>,
        surroundings: &Surroundings<'_>,
        scratch: &mut Scratch,
    ) -> Vec<Measurement> {
        let measure = |request: MeasurementRequest| {
            let Subject::Tile(tile) = &request.subject else {
                return Measurement::new(request, Outcome::Pixels(Vec::new()));
            };
            let pixels = self.tile(tile, request.start, surroundings);
            let picture = (scratch.keeps_truth() && self.truth_images.any())
                .then(|| Arc::new(truth::of_tile(self, tile, request.start, surroundings)));
            Measurement { picture, ..Measurement::new(request, Outcome::Pixels(pixels)) }
        };
        requests.into_iter().map(measure).collect()
    }
}
