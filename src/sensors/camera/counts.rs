//! Converts light to counts of the analogue-to-digital converter.

use fearless_simd::{Level, dispatch};
use glam::DVec3;

use super::aim::{Cell, centre};
use super::lanes::{LANES, Lanes, ZEROS};
use super::sky::Colour;
use super::{Camera, FULL_SCALE, PHOTONS_PER_LXS_UM2, Shot, place_of};
use crate::sensors::noise::Quantity;

/// Shares of red, green and blue in luminance.
const LUMINANCE: Colour = [0.2126, 0.7152, 0.0722];
/// Mean number of electrons below which their number has the exact Poisson distribution; above, it has a normal one.
const POISSON_BELOW: f64 = 50.0;

impl Camera {
    /// Computes the count of each cell, and calls `put` with the cell's index within the frame and this count. `light`
    /// has the luminances of the cells.
    pub(super) fn counts(
        &self,
        level: Level,
        shot: &Shot,
        cells: &[Cell],
        light: &[Colour],
        put: &mut impl FnMut(usize, u16),
    ) {
        for (cells, light) in cells.chunks(LANES).zip(light.chunks(LANES)) {
            let mut counts = [0; LANES];
            dispatch!(level, _simd => self.counts_of(shot, cells, light, &mut counts));
            for (cell, count) in cells.iter().zip(counts) {
                put(cell.index(shot), count);
            }
        }
    }

    #[inline(always)]
    fn counts_of(&self, shot: &Shot, cells: &[Cell], light: &[Colour], counts: &mut Lanes<u16>) {
        let (chip, optics) = (&self.chip, &self.optics);
        let len = cells.len().min(light.len()).min(LANES);
        let exposure_s = shot.exposure_ns as f64 * 1e-9;
        let [left, top, ..] = shot.region;
        let [bin_x, bin_y] = shot.binning.map(f64::from);
        let binned = f64::from(shot.binning[0] * shot.binning[1]);
        let (mut column, mut row, mut cos) = ([0u32; LANES], [0u32; LANES], ZEROS);
        let mut seen = [ZEROS; 3];
        for k in 0..len {
            let Cell { row: down, column: right, direction: DVec3 { x, .. } } = cells[k];
            (column[k], row[k], cos[k]) = (left + right, top + down, x);
            (0..3).for_each(|c| seen[c][k] = light[k][c]);
        }
        let [cx, cy] = optics.lens.centre_px;
        let half = 0.5 * f64::from(optics.lens.size[0]);
        let [a1, a2] = optics.vignetting;
        let lx_per_cd_ahead =
            std::f64::consts::PI * optics.transmission / (4.0 * optics.f_number * optics.f_number);
        let mut lx_per_cd = ZEROS;
        for k in 0..LANES {
            let cos2 = cos[k] * cos[k];
            let x = (centre(column[k], bin_x) - cx) / half;
            let y = (centre(row[k], bin_y) - cy) / half;
            let r2 = x * x + y * y;
            let fall = (cos2 * cos2 * (1.0 + r2 * (a1 + r2 * a2))).max(0.0);
            lx_per_cd[k] = lx_per_cd_ahead * fall;
        }
        // Electrons by colour filter.
        let mut electrons = [ZEROS; 3];
        for c in 0..3 {
            let weight = if chip.is_colour { 1.0 } else { LUMINANCE[c] };
            for k in 0..LANES {
                let photons = seen[c][k]
                    * lx_per_cd[k]
                    * exposure_s
                    * PHOTONS_PER_LXS_UM2
                    * chip.pixel_um
                    * chip.pixel_um;
                electrons[c][k] = weight * photons * chip.efficiency[c];
            }
        }
        let mut mean_e = ZEROS;
        let [red, green, blue] = &electrons;
        for k in 0..LANES {
            let of_filter = match (row[k] & 1) + (column[k] & 1) {
                0 => red[k],
                1 => green[k],
                _ => blue[k],
            };
            let of_all = red[k] + green[k] + blue[k];
            mean_e[k] = if chip.is_colour { of_filter } else { of_all };
        }
        let unit = self.noise.request(u64::MAX);
        let draws = self.noise.request(shot.number);
        let (mut response, mut offset) = (ZEROS, ZEROS);
        let (mut of_photons, mut of_readout) = (ZEROS, ZEROS);
        for k in 0..len {
            let place = place_of(column[k], row[k]);
            let index = cells[k].index(shot);
            response[k] = unit.standard_normal_of(place, Quantity::PixelPattern, 0);
            offset[k] = unit.standard_normal_of(place, Quantity::PixelPattern, 1);
            of_photons[k] = draws.standard_normal_of(index, Quantity::Pixel, 1);
            of_readout[k] = draws.standard_normal_of(index, Quantity::Pixel, 2);
        }
        // Electrons of all pixels of a bin together: expected number, and number with shot noise.
        let (mut all_e, mut shot_e) = (ZEROS, ZEROS);
        for k in 0..LANES {
            let mean_e = mean_e[k] * (1.0 + chip.prnu * response[k]) + chip.dark_e_s * exposure_s;
            all_e[k] = binned * mean_e.clamp(0.0, 10.0 * chip.full_well_e);
            shot_e[k] = all_e[k] + all_e[k].sqrt() * of_photons[k];
        }
        for k in 0..len {
            if all_e[k] < POISSON_BELOW {
                let uniform = draws.uniform(cells[k].index(shot), Quantity::Pixel);
                shot_e[k] = poisson(all_e[k], uniform);
            }
        }
        let per_electron =
            f64::from(FULL_SCALE) / chip.full_well_e * libm::pow(10.0, shot.gain_db / 20.0);
        let root = binned.sqrt();
        for k in 0..LANES {
            let held_e = shot_e[k].clamp(0.0, binned * chip.full_well_e) / binned;
            let readout = of_readout[k] / root;
            let read_e = held_e + chip.dsnu_e * offset[k] + chip.read_noise_e * readout;
            let count = (read_e * per_electron + shot.black).round();
            counts[k] = count.clamp(0.0, f64::from(FULL_SCALE)) as u16;
        }
    }
}

/// A Poisson-distributed number with the mean `mean`, by inversion of the distribution at `uniform`, 0 to 1.
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
