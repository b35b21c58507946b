//! A camera: light of the scene in, counts of the converter out. Physics only; what a product makes of the counts is its
//! family's.
//!
//! A frame is asked for in tiles, some rows each, so that threads work on it side by side. Each pixel casts a ray from
//! a place of its own within its area at an instant of its own within its exposure, which blurs what moves and keeps edges
//! from being steps. The ray's light is that of the sun, unless something
//! stands between, and of the sky ([`sky`]) on the surface that it meets. Photons become electrons with shot noise, dark
//! signal and readout noise as in EMVA 1288, and counts of 12 bits.

mod air;
pub mod faults;
pub mod lens;
mod poses;
pub mod sky;
mod surface;
#[cfg(test)]
mod tests;
pub mod truth;

use std::sync::{Arc, Mutex};

use glam::{DMat3, DVec3};

use self::air::PictureAir;
use self::faults::{CameraFault, Disturbed, Prepared};
use self::lens::{Directions, Lens};
use self::poses::Poses;
use self::sky::{Colour, Daylight, sun_at};
use self::surface::Look;
use self::truth::{Exposure, TruthImages};
use super::lidar::Scratch;
use super::noise::{NoiseSource, Quantity};
use super::surfaces::wet_reflectance;
use super::weather::Weather;
use super::{Measurement, MeasurementRequest, Outcome, Sensor, Subject, Surroundings};
use crate::config::rig::faults::Timed;
use crate::time::{Epoch, SimTime};
use crate::world::raycast::{Beams, Finishes, Hit, Pulse, RayCaster, Stencil};
use crate::world::scene::{Finish, Material};

/// The greatest count of the converter.
pub const FULL_SCALE: u16 = 4095;
/// Rays see no farther, metres.
const REACH_M: f32 = 2000.0;
/// A shadow falls from no farther, metres.
const SHADOW_REACH_M: f32 = 300.0;
/// Pixels of a block whose rays traverse the scene together: a square of so many on a side.
const BLOCK: u32 = 8;
/// Pixels that are worked on at once, about: so few that what is known of them stays in the processor's caches.
const AT_ONCE: usize = 1024;
/// Mirrors and panes that light is followed through.
const MOST_BOUNCES: usize = 3;
/// Below this mean, counts of photons follow Poisson's law exactly; above it, Gauss's.
const POISSON_BELOW: f64 = 50.0;

/// Some rows of a frame.
#[derive(Clone, Debug)]
pub struct Tile {
    /// How the whole frame is taken.
    pub shot: Arc<Shot>,
    /// First row, and the row after the last, of the frame's region.
    pub rows: [u32; 2],
}

/// How a frame is taken.
#[derive(Clone, Debug, PartialEq)]
pub struct Shot {
    /// Another one for each of the device's frames: noise depends on it.
    pub number: u64,
    /// How long each row gathers light, nanoseconds.
    pub exposure_ns: u64,
    /// From the start of a row's exposure to that of the next, nanoseconds; 0 of a global shutter.
    pub line_ns: u64,
    /// Offset in x and y, width and height, in binned pixels.
    pub region: [u32; 4],
    /// Pixels that are read as one, in x and y; their mean is what is read.
    pub binning: [u32; 2],
    /// Gain, decibels.
    pub gain_db: f64,
    /// Count without light.
    pub black: f64,
    /// Exposure of the frame before, if that showed the same region.
    pub before: Option<Exposure>,
}

impl Shot {
    /// The centre of a pixel of the region on the whole sensor, pixels.
    fn on_sensor(&self, column: u32, row: u32) -> [f64; 2] {
        let [left, top, ..] = self.region;
        let [bin_x, bin_y] = self.binning.map(f64::from);
        let centre = |at: u32, bin: f64| f64::from(at) * bin + 0.5 * (bin - 1.0);
        [centre(left + column, bin_x), centre(top + row, bin_y)]
    }
}

impl Tile {
    /// The end of the last row's exposure of the tile, whose first row of the frame begins at `start`.
    pub fn end(&self, start: SimTime) -> SimTime {
        let rows = u64::from(self.rows[1].saturating_sub(1));
        SimTime(start.0 + self.shot.exposure_ns + rows * self.shot.line_ns)
    }

    /// Its pixels.
    pub fn pixels(&self) -> usize {
        (self.rows[1] - self.rows[0]) as usize * self.shot.region[2] as usize
    }
}

/// The physics of a sensor chip.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chip {
    /// Whether pixels have filters: red and green in even rows, green and blue in odd ones.
    pub is_colour: bool,
    /// Width of a pixel, micrometres.
    pub pixel_um: f64,
    /// Electrons per photon of green light; of red, green and blue filters, or without filters all the same.
    pub efficiency: [f64; 3],
    /// Electrons that a pixel holds.
    pub full_well_e: f64,
    /// Standard deviation of the readout, electrons.
    pub read_noise_e: f64,
    /// Dark signal, electrons per second.
    pub dark_e_s: f64,
    /// Standard deviation of the pixels' offsets, electrons.
    pub dsnu_e: f64,
    /// Standard deviation of the pixels' response, a share.
    pub prnu: f64,
}

/// What stands in front of the chip.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Optics {
    /// From pixels to directions.
    pub lens: Lens,
    /// Focal length by diameter of the aperture.
    pub f_number: f64,
    /// Share of the light that the lens passes.
    pub transmission: f64,
    /// Fall of brightness with the square and fourth power of the distance from the centre; 1 is half of the width.
    pub vignetting: [f64; 2],
}

/// The light of the day.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Light {
    /// Elevation and azimuth (clockwise from north) of the sun, radians; `None` as it stands at the time and place.
    pub sun: Option<[f64; 2]>,
    /// Haze: 2 very clear, 6 hazy.
    pub turbidity: f64,
    /// Whether clouds hide the sun.
    pub sky: Sky,
}

words!(Sky: "weather" => ByWeather, "clear" => Clear, "overcast" => Overcast);

/// Whether clouds hide the sun.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sky {
    /// In rain, fog and snow.
    #[default]
    ByWeather,
    /// Never.
    Clear,
    /// Always.
    Overcast,
}

/// A camera. Shared by all threads that measure for it.
#[derive(Clone, Debug)]
pub struct Camera {
    chip: Chip,
    optics: Optics,
    light: Light,
    directions: Directions,
    noise: NoiseSource,
    epoch: Epoch,
    /// The light that was computed last.
    day: Arc<Mutex<KeptDay>>,
    truth_images: TruthImages,
    faults: Vec<Prepared>,
}

/// Elevation and azimuth of the sun, whether clouds hide it, and the light; `None` before the first frame.
type KeptDay = Option<(([f64; 2], bool), Arc<Daylight>)>;

/// Photons per lux second on a square micrometre, of 555 nm.
const PHOTONS_PER_LXS_UM2: f64 = 4.09e15 * 1e-12;
/// Albedo of the ground that lights surfaces from below.
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

    /// The same camera with faults.
    pub fn with_faults(self, faults: &[Timed<CameraFault>]) -> Self {
        let size = self.optics.lens.size;
        let faults = faults.iter().map(|fault| Prepared::new(fault, size, &self.noise)).collect();
        Self { faults, ..self }
    }

    /// The same camera, which computes these images while the ground truth is recorded.
    pub fn telling(self, truth_images: TruthImages) -> Self {
        Self { truth_images, ..self }
    }

    /// The light of the second in which `at` lies. It is kept until the sun or the clouds differ.
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
        // Blur brings light from rows beyond the tile.
        let margin = disturbed.margin(shot.binning);
        let rows =
            [tile.rows[0].saturating_sub(margin), height.min(tile.rows[1].saturating_add(margin))];
        let first = SimTime(start.0 + u64::from(rows[0]) * shot.line_ns);
        let end = Tile { shot: Arc::clone(&tile.shot), rows }.end(start);
        let poses = Poses::between(first, end, surroundings);
        let is_still = poses.is_still();
        let turns = poses.all.map(|pose| DMat3::from_quat(pose.rotation));
        let noise = self.noise.request(shot.number);
        let [bin_x, bin_y] = shot.binning.map(f64::from);
        let pixel_rad = bin_x / self.optics.lens.focal_px[0];
        let mut pixels = vec![shot.black.clamp(0.0, f64::from(FULL_SCALE)) as u16; tile.pixels()];
        let look_at = |row: u32, column: u32, looks: &mut Looks| {
            let at = shot.on_sensor(column, row);
            let index = (row * width + column) as usize;
            let [part, right, down] = noise.uniform_triple(index, Quantity::PixelTime);
            let within = [at[0] + (right - 0.5) * bin_x, at[1] + (down - 0.5) * bin_y];
            let row_ns = u64::from(row) * shot.line_ns;
            let when = SimTime(start.0 + row_ns + (shot.exposure_ns as f64 * part) as u64);
            let seen = disturbed.looks(within, self.optics.lens.size, |axis| {
                noise.uniform(2 * index + axis, Quantity::LensSpot)
            });
            let Some(direction) = self.directions.at(seen).map(forward) else { return };
            let (from, toward) = if is_still {
                (poses.all[0].translation, turns[0] * direction)
            } else {
                let (before, share) = poses.around(when);
                let pair = [before, before + 1];
                let [from, to] = pair.map(|step| poses.all[step].translation);
                let [begin, end] = pair.map(|step| turns[step] * direction);
                (from + (to - from) * share, (begin + (end - begin) * share).normalize())
            };
            looks.cells.push(Cell { row, column, index, direction, at });
            looks.pulses.push(ray(from, toward));
            looks.fired.push(when);
        };
        let mut air = PictureAir::new(surroundings.weather, &day, first, end);
        let mut see = |looks: &mut Looks| {
            let (pulses, fired) = (&looks.pulses, &looks.fired);
            let light = radiances(surroundings.caster, &day, &mut air, pulses, fired, pixel_rad);
            looks.radiance.extend(light);
            looks.pulses.clear();
            looks.fired.clear();
        };
        let mut looks = Looks::default();
        for block_row in (rows[0]..rows[1]).step_by(BLOCK as usize) {
            for block_column in (0..width).step_by(BLOCK as usize) {
                for row in block_row..rows[1].min(block_row + BLOCK) {
                    let columns = block_column..width.min(block_column + BLOCK);
                    // To and fro, so that neighbours follow one another.
                    match (row - block_row) % 2 {
                        0 => columns.for_each(|column| look_at(row, column, &mut looks)),
                        _ => columns.rev().for_each(|column| look_at(row, column, &mut looks)),
                    }
                }
                if looks.pulses.len() >= AT_ONCE {
                    see(&mut looks);
                }
            }
        }
        see(&mut looks);
        let Looks { cells, mut radiance, .. } = looks;
        let per_electron =
            f64::from(FULL_SCALE) / self.chip.full_well_e * libm::pow(10.0, shot.gain_db / 20.0);
        let first_index = (tile.rows[0] * width) as usize;
        let is_own = |cell: &Cell| (tile.rows[0]..tile.rows[1]).contains(&cell.row);
        if margin > 0 {
            let from = (rows[0] * width) as usize;
            let mut sharp = vec![[f64::NAN; 3]; ((rows[1] - rows[0]) * width) as usize];
            cells.iter().zip(&radiance).for_each(|(cell, light)| sharp[cell.index - from] = *light);
            let own = tile.rows.map(|row| (row - rows[0]) as usize);
            let blurred = disturbed.blurred(&sharp, width as usize, own[0]..own[1], shot.binning);
            for (cell, light) in cells.iter().zip(&mut radiance).filter(|(cell, _)| is_own(cell)) {
                *light = blurred[cell.index - first_index];
            }
        }
        for (cell, light) in cells.iter().zip(radiance).filter(|(cell, _)| is_own(cell)) {
            let light = disturbed.light(cell.at, cell.direction, light);
            pixels[cell.index - first_index] = self.count(shot, cell, light, per_electron);
        }
        if !disturbed.is_none() {
            self.stick(tile, &disturbed, &mut pixels);
        }
        pixels
    }

    /// Sets the counts of pixels that are stuck.
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

    /// The count of a pixel that sees `light`; an electron counts `per_electron`.
    fn count(&self, shot: &Shot, cell: &Cell, light: Colour, per_electron: f64) -> u16 {
        let (chip, optics) = (&self.chip, &self.optics);
        let exposure_s = shot.exposure_ns as f64 * 1e-9;
        let cos2 = cell.direction.x * cell.direction.x;
        let [cx, cy] = optics.lens.centre_px;
        let half = 0.5 * f64::from(optics.lens.size[0]);
        let r2 = ((cell.at[0] - cx) / half).powi(2) + ((cell.at[1] - cy) / half).powi(2);
        let [a1, a2] = optics.vignetting;
        let fall = (cos2 * cos2 * (1.0 + r2 * (a1 + r2 * a2))).max(0.0);
        let lx_per_cd = std::f64::consts::PI * optics.transmission
            / (4.0 * optics.f_number * optics.f_number)
            * fall;
        let photons = |cd: f64| {
            cd * lx_per_cd * exposure_s * PHOTONS_PER_LXS_UM2 * chip.pixel_um * chip.pixel_um
        };
        let column = shot.region[0] + cell.column;
        let row = shot.region[1] + cell.row;
        let mean_e = if chip.is_colour {
            let channel = (row & 1) as usize + (column & 1) as usize;
            photons(light[channel]) * chip.efficiency[channel]
        } else {
            let weights = [0.2126, 0.7152, 0.0722];
            (0..3).map(|c| weights[c] * photons(light[c]) * chip.efficiency[c]).sum()
        };
        let place = place_of(column, row);
        let unit = self.noise.request(u64::MAX);
        let own = |which| unit.standard_normal_of(place, Quantity::PixelPattern, which);
        let binned = f64::from(shot.binning[0] * shot.binning[1]);
        let mean_e = mean_e * (1.0 + chip.prnu * own(0)) + chip.dark_e_s * exposure_s;
        let mean_e = mean_e.clamp(0.0, 10.0 * chip.full_well_e);
        let draws = self.noise.request(shot.number);
        // All pixels of a bin together.
        let all_e = binned * mean_e;
        let shot_e = if all_e < POISSON_BELOW {
            poisson(all_e, draws.uniform(cell.index, Quantity::Pixel))
        } else {
            all_e + all_e.sqrt() * draws.standard_normal_of(cell.index, Quantity::Pixel, 1)
        };
        let held_e = shot_e.clamp(0.0, binned * chip.full_well_e) / binned;
        let readout = draws.standard_normal_of(cell.index, Quantity::Pixel, 2) / binned.sqrt();
        let read_e = held_e + chip.dsnu_e * own(1) + chip.read_noise_e * readout;
        (read_e * per_electron + shot.black).round().clamp(0.0, f64::from(FULL_SCALE)) as u16
    }
}

/// The number of a pixel among all of a chip, binned ones as they are read.
fn place_of(column: u32, row: u32) -> usize {
    (u64::from(row) << 20 | u64::from(column)) as usize
}

/// The pixels of a tile, the light of those that have been cast, and the rays of the others.
#[derive(Default)]
struct Looks {
    cells: Vec<Cell>,
    radiance: Vec<Colour>,
    pulses: Vec<Pulse>,
    fired: Vec<SimTime>,
}

/// A pixel of a tile.
struct Cell {
    /// Within the frame's region.
    row: u32,
    column: u32,
    index: usize,
    /// Where it looks, in the axes of the mount.
    direction: DVec3,
    /// Its centre on the whole sensor, pixels.
    at: [f64; 2],
}

/// A direction of the lens in the axes of the mount, which are forward, left, up; a unit vector.
fn forward([x, y, z]: [f64; 3]) -> DVec3 {
    DVec3::new(z, -x, -y).normalize()
}

/// Where the lens shows a direction in the axes of the mount, pixels; `None` behind it.
fn project(lens: &Lens, toward: DVec3) -> Option<[f64; 2]> {
    lens.project([-toward.y, -toward.z, toward.x])
}

fn ray(origin: DVec3, direction: DVec3) -> Pulse {
    let (half_axis_u, half_axis_v) = (DVec3::ZERO, DVec3::ZERO);
    Pulse { origin, start_m: 0.0, direction, half_axis_u, half_axis_v, max_range_m: REACH_M }
}

/// A count of photons with the mean `mean`, by the inverse of the distribution at `uniform`.
fn poisson(mean: f64, uniform: f64) -> f64 {
    let mut term = libm::exp(-mean);
    let (mut sum, mut count) = (term, 0.0);
    while sum < uniform && count < 4.0 * POISSON_BELOW {
        count += 1.0;
        term *= mean / count;
        sum += term;
    }
    count
}

/// Light that is followed further.
struct Going {
    pixel: usize,
    pulse: Pulse,
    fired: SimTime,
    share: f64,
}

/// What reaches the lens along each of `pulses`.
fn radiances(
    caster: &dyn RayCaster,
    day: &Daylight,
    air: &mut PictureAir<'_>,
    pulses: &[Pulse],
    fired: &[SimTime],
    pixel_rad: f64,
) -> Vec<Colour> {
    let mut light = vec![[0.0; 3]; pulses.len()];
    let mut looks: Vec<((u32, u32), Look)> = Vec::new();
    let film = air.film();
    let all = pulses.iter().zip(fired).enumerate();
    let mut going: Vec<Going> = all
        .map(|(pixel, (pulse, fired))| Going { pixel, pulse: *pulse, fired: *fired, share: 1.0 })
        .collect();
    for bounce in 0..=MOST_BOUNCES {
        if going.is_empty() {
            break;
        }
        let rays: Vec<Pulse> = going.iter().map(|one| one.pulse).collect();
        let times: Vec<SimTime> = going.iter().map(|one| one.fired).collect();
        let mut hits = vec![Hit::MISS; rays.len()];
        caster.cast_at(&Stencil::single(), &rays, &times, &mut hits);
        let mut lit: Vec<Lit> = Vec::with_capacity(going.len());
        let mut onward = Vec::new();
        let mut last = None;
        for (one, hit) in going.iter_mut().zip(&hits) {
            if !air.is_clear() {
                let Pulse { origin, direction, .. } = one.pulse;
                let (passes, added) = air.between(origin, direction, one.fired, hit.range_m);
                gain(&mut light[one.pixel], added, one.share);
                one.share *= passes;
            }
            let one = &*one;
            let sky = || day.seen(one.pulse.direction);
            let surface = caster.shading().filter(|_| hit.range_m.is_finite());
            let surface = surface.and_then(|shading| Met::of(shading, one, hit, &mut last));
            let Some(met) = surface else {
                gain(&mut light[one.pixel], sky(), one.share);
                continue;
            };
            let mut matt = one.share;
            if bounce < MOST_BOUNCES
                && let Some((through, share)) = met.onward(one, day, film, &mut light)
            {
                matt *= 1.0 - share;
                onward.push(Going {
                    pixel: one.pixel,
                    pulse: through,
                    fired: one.fired,
                    share: one.share * share,
                });
            }
            let key = (met.scene_of, hit.material);
            let look = match looks.iter().find(|(known, _)| *known == key) {
                Some((_, look)) => *look,
                None => {
                    let look = Look::of(met.material);
                    looks.push((key, look));
                    look
                }
            };
            let pixel_m = pixel_rad * f64::from(hit.range_m);
            let textured = met.textured(caster.shading(), one, hit, pixel_m);
            let albedo = textured.unwrap_or_else(|| {
                // Of a scene without colour images, the texture of a laser's reflectance is that of the colour.
                let own = f64::from(met.material.reflectance);
                let part =
                    if own > 0.0 { (f64::from(hit.reflectance) / own).min(2.0) } else { 1.0 };
                look.albedo(met.place, met.normal, pixel_m).map(|albedo| (part * albedo).min(1.0))
            });
            let albedo = met.wetted(albedo, hit.cos_incidence, film);
            let scale = matt / std::f64::consts::PI;
            let ambient = day.ambient(met.normal);
            gain(&mut light[one.pixel], std::array::from_fn(|c| albedo[c] * ambient[c]), scale);
            let toward_sun = met.normal.dot(day.sun);
            if toward_sun > 0.0 && day.sun_lx[1] > 0.0 {
                let sun = std::array::from_fn(|c| albedo[c] * day.sun_lx[c] * toward_sun * scale);
                let from = met.place + met.normal * (1e-3 + 4e-6 * f64::from(hit.range_m));
                lit.push(Lit { pixel: one.pixel, fired: one.fired, from, sun });
            }
        }
        shine(caster, day, &lit, &mut light);
        going = onward;
    }
    light
}

/// A surface that faces the sun.
struct Lit {
    pixel: usize,
    fired: SimTime,
    from: DVec3,
    sun: Colour,
}

/// Adds the light of the sun where nothing stands between.
fn shine(caster: &dyn RayCaster, day: &Daylight, lit: &[Lit], light: &mut [Colour]) {
    let beams = Beams { toward: day.sun, reach_m: SHADOW_REACH_M };
    let places: Vec<DVec3> = lit.iter().map(|one| one.from).collect();
    let times: Vec<SimTime> = lit.iter().map(|one| one.fired).collect();
    let mut blocked = vec![false; places.len()];
    caster.blocked_at(&beams, &places, &times, &mut blocked);
    for one in lit.iter().zip(blocked).filter(|(_, blocked)| !blocked).map(|(one, _)| one) {
        gain(&mut light[one.pixel], one.sun, 1.0);
    }
}

fn gain(light: &mut Colour, more: Colour, share: f64) {
    for (light, more) in light.iter_mut().zip(more) {
        *light += more * share;
    }
}

/// A surface that a ray met.
struct Met<'a> {
    material: &'a Material,
    /// Tells materials of different scenes apart.
    scene_of: u32,
    place: DVec3,
    normal: DVec3,
}

impl<'a> Met<'a> {
    /// `last` is the triangle of the scene that was met before, and its normal: neighbours often meet the same one.
    fn of(
        shading: &'a dyn Finishes,
        going: &Going,
        hit: &Hit,
        last: &mut Option<([u32; 2], DVec3)>,
    ) -> Option<Self> {
        let material = shading.surface(hit)?;
        let (scene_of, triangle) = (shading.scene_of(hit), [hit.instance, hit.triangle]);
        let normal = match *last {
            // Not of what moves.
            Some((met, normal)) if scene_of == 0 && met == triangle => {
                let is_behind = normal.dot(going.pulse.direction) > 0.0;
                if is_behind { -normal } else { normal }
            }
            _ => shading.normal(&going.pulse, hit, going.fired)?,
        };
        *last = Some((triangle, normal));
        let place = going.pulse.exit() + going.pulse.direction * f64::from(hit.range_m);
        Some(Self { material, scene_of, place, normal })
    }

    /// The albedo by the material's colour image; `None` if it has none. `pixel_m` is the width of a pixel there.
    fn textured(
        &self,
        shading: Option<&dyn Finishes>,
        going: &Going,
        hit: &Hit,
        pixel_m: f64,
    ) -> Option<Colour> {
        let map = self.material.colour_map.as_ref()?;
        let spot = shading?.texture_spot(&going.pulse, hit, going.fired)?;
        let texel = map.sample(spot.uv, spot.per_m * pixel_m as f32);
        let colour = self.material.colour.unwrap_or([1.0; 3]);
        Some(std::array::from_fn(|c| f64::from(texel[c] * colour[c])))
    }

    /// Share of its texture that is under water; `weather` is that of every surface.
    fn film(&self, weather: f32) -> f32 {
        match self.material.finish {
            Finish::Wet { film } => weather.max(film),
            Finish::Matt => weather,
            _ => 0.0,
        }
    }

    /// The albedo of a surface that was `albedo` when dry, by the film of the weather and its own.
    fn wetted(&self, albedo: Colour, cos: f32, film: f32) -> Colour {
        let film = self.film(film);
        if film == 0.0 {
            return albedo;
        }
        albedo.map(|part| f64::from(wet_reflectance(part as f32, cos, film)))
    }

    /// Where light goes on that a mirror, water, lacquer, a wet surface or a pane does not scatter, and its share. What a
    /// pane mirrors is the sky. `film` is that of the weather.
    fn onward(
        &self,
        going: &Going,
        day: &Daylight,
        film: f32,
        light: &mut [Colour],
    ) -> Option<(Pulse, f64)> {
        let direction = going.pulse.direction;
        let cos = -direction.dot(self.normal);
        let mirrored = direction + 2.0 * cos * self.normal;
        let aside = 1e-3 * self.normal;
        match self.material.finish {
            Finish::Mirror { share } => Some((ray(self.place + aside, mirrored), f64::from(share))),
            Finish::Water { .. } => Some((ray(self.place + aside, mirrored), schlick(1.33, cos))),
            Finish::Wet { .. } | Finish::Matt => {
                let film = self.film(film);
                // The texture breaks the film: a part of it lies level.
                let share = f64::from(film) * LEVEL_FILM * schlick(1.33, cos);
                (film > 0.0).then(|| (ray(self.place + aside, mirrored), share))
            }
            Finish::Glossy { exponent, .. } if exponent >= LACQUER_FROM => {
                Some((ray(self.place + aside, mirrored), schlick(1.5, cos)))
            }
            Finish::Glass { index, clear, .. } => {
                let face = schlick(f64::from(index), cos);
                let both = 2.0 * face / (1.0 + face);
                gain(&mut light[going.pixel], day.seen(mirrored), going.share * both);
                Some((ray(self.place - aside, direction), (1.0 - both) * f64::from(clear)))
            }
            Finish::Retro { .. } | Finish::Glossy { .. } => None,
        }
    }
}

/// Share of a wet surface whose film is level and mirrors; made up.
const LEVEL_FILM: f64 = 0.3;
/// Surfaces with a highlight of this exponent or more have a clear coat that mirrors.
const LACQUER_FROM: f32 = 20.0;

/// Fresnel's share of unpolarised light that is mirrored, by Schlick's formula.
fn schlick(index: f64, cos: f64) -> f64 {
    let straight = ((index - 1.0) / (index + 1.0)).powi(2);
    straight + (1.0 - straight) * (1.0 - cos.clamp(0.0, 1.0)).powi(5)
}

impl Sensor for Camera {
    fn measure(
        &self,
        request: MeasurementRequest,
        surroundings: &Surroundings<'_>,
        scratch: &mut Scratch,
    ) -> Measurement {
        let Subject::Tile(tile) = &request.subject else {
            return Measurement::new(request, Outcome::Pixels(Vec::new()));
        };
        let pixels = self.tile(tile, request.start, surroundings);
        let picture = (scratch.keeps_truth() && self.truth_images.any())
            .then(|| Arc::new(truth::of_tile(self, tile, request.start, surroundings)));
        Measurement { picture, ..Measurement::new(request, Outcome::Pixels(pixels)) }
    }
}
