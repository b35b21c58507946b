//! Rays of pixels: position of each ray within the pixel's area, and its time within the exposure.

use fearless_simd::{Level, dispatch};
use glam::DVec3;

use super::faults::Disturbed;
use super::lanes::{LANES, Lanes, Lanes3, ZEROS, real, set, vector, whole};
use super::lens::Directions;
use super::poses::Poses;
use super::{BLOCK, Shot, ray};
use crate::sensors::noise::{Quantity, RequestNoise};
use crate::time::SimTime;
use crate::world::raycast::Pulse;

/// Inputs from which the rays of a tile's pixels are computed: exposure, poses, lens, faults and noise.
pub(super) struct Aim<'a> {
    pub shot: &'a Shot,
    /// Start of the exposure of the frame's first row.
    pub start: SimTime,
    pub poses: Poses,
    pub directions: &'a Directions,
    /// Width and height of the whole sensor, pixels.
    pub size: [u32; 2],
    pub disturbed: &'a Disturbed<'a>,
    pub noise: RequestNoise,
}

/// A pixel of a tile.
#[derive(Clone, Copy)]
pub(super) struct Cell {
    /// Row within the frame's region.
    pub row: u32,
    pub column: u32,
    /// Direction of the pixel's ray, in the axes of the mount.
    pub direction: DVec3,
}

impl Cell {
    /// Index of the pixel within the frame.
    #[inline(always)]
    pub fn index(&self, shot: &Shot) -> usize {
        (self.row * shot.region[2] + self.column) as usize
    }
}

/// Rays to follow, as lists with one entry per ray.
#[derive(Default)]
pub(super) struct Rays {
    pub pulses: Vec<Pulse>,
    pub fired: Vec<SimTime>,
    /// The pixel that receives the ray's light, as an index into the pixels in progress.
    pub pixels: Vec<u32>,
    /// Share of the ray's light that reaches the pixel.
    pub shares: Vec<f64>,
}

impl Rays {
    #[inline(always)]
    pub fn push(&mut self, pixel: u32, pulse: Pulse, fired: SimTime, share: f64) {
        self.pulses.push(pulse);
        self.fired.push(fired);
        self.pixels.push(pixel);
        self.shares.push(share);
    }

    fn reserve(&mut self, more: usize) {
        self.pulses.reserve(more);
        self.fired.reserve(more);
        self.pixels.reserve(more);
        self.shares.reserve(more);
    }

    pub fn clear(&mut self) {
        self.pulses.clear();
        self.fired.clear();
        self.pixels.clear();
        self.shares.clear();
    }
}

impl Aim<'_> {
    /// Adds the pixels of a block of at most [`BLOCK`] rows and [`BLOCK`] columns to `cells`, and their rays to `rays`.
    /// Pixels outside the lens's image are skipped.
    pub fn block(
        &self,
        level: Level,
        rows: [u32; 2],
        columns: [u32; 2],
        cells: &mut Vec<Cell>,
        rays: &mut Rays,
    ) {
        dispatch!(level, _simd => self.pixels(rows, columns, cells, rays));
    }

    #[inline(always)]
    fn pixels(&self, rows: [u32; 2], columns: [u32; 2], cells: &mut Vec<Cell>, rays: &mut Rays) {
        const { assert!(LANES == (BLOCK * BLOCK) as usize) };
        let shot = self.shot;
        let [left, top, width, _] = shot.region;
        let [bin_x, bin_y] = shot.binning.map(f64::from);
        let (mut row, mut column) = ([0u32; LANES], [0u32; LANES]);
        let mut len = 0;
        for at in rows[0]..rows[1] {
            // In every second row, pixels are added from the last column to the first, so that successive pixels are
            // neighbours.
            let is_forth = (at - rows[0]).is_multiple_of(2);
            for place in columns[0]..columns[1] {
                row[len % LANES] = at;
                column[len % LANES] =
                    if is_forth { place } else { columns[0] + columns[1] - 1 - place };
                len += 1;
            }
        }
        let len = len.min(LANES);
        let (mut u, mut v, mut when) = (ZEROS, ZEROS, [0u64; LANES]);
        let exposure_ns = shot.exposure_ns as f64;
        for k in 0..LANES {
            let index = (row[k] * width + column[k]) as usize;
            let [part, right, down] = self.noise.uniform_triple(index, Quantity::PixelTime);
            let [x, y] = [centre(left + column[k], bin_x), centre(top + row[k], bin_y)];
            u[k] = x + (right - 0.5) * bin_x;
            v[k] = y + (down - 0.5) * bin_y;
            let row_ns = u64::from(row[k]) * shot.line_ns;
            when[k] = self.start.0 + row_ns + whole(exposure_ns * part);
        }
        if !self.disturbed.is_none() {
            for k in 0..len {
                let index = (row[k] * width + column[k]) as usize;
                [u[k], v[k]] = self.disturbed.looks([u[k], v[k]], self.size, |axis| {
                    self.noise.uniform(2 * index + axis, Quantity::LensSpot)
                });
            }
        }
        let mut direction = [ZEROS; 3];
        self.directions.of(&u, &v, len, &mut direction);
        let (mut from, mut toward) = ([ZEROS; 3], [ZEROS; 3]);
        self.turned(&when, len, &direction, &mut from, &mut toward);
        cells.reserve(LANES);
        rays.reserve(LANES);
        for k in 0..len {
            if !direction[0][k].is_finite() {
                continue; // outside the lens's image
            }
            let pixel = cells.len() as u32;
            let direction = vector(&direction, k);
            cells.push(Cell { row: row[k], column: column[k], direction });
            rays.push(pixel, ray(vector(&from, k), vector(&toward, k)), SimTime(when[k]), 1.0);
        }
    }

    /// Converts directions of rays to World (`toward`), and computes the points where the rays start (`from`).
    #[inline(always)]
    fn turned(
        &self,
        when: &Lanes<u64>,
        len: usize,
        direction: &Lanes3,
        from: &mut Lanes3,
        toward: &mut Lanes3,
    ) {
        if self.poses.is_still {
            let (turn, place) = (self.poses.turns[0], self.poses.all[0].translation);
            for k in 0..LANES {
                set(toward, k, turn * vector(direction, k));
                set(from, k, place);
            }
            return;
        }
        let (mut before, mut share) = ([0; LANES], ZEROS);
        for k in 0..LANES {
            (before[k], share[k]) = self.poses.around(SimTime(when[k]));
        }
        for k in 0..len {
            let [(turn, here), (next, there)] = self.poses.pair(before[k]);
            let direction = vector(direction, k);
            let (begin, end) = (*turn * direction, *next * direction);
            set(toward, k, begin + (end - begin) * share[k]);
            set(from, k, here + (there - here) * share[k]);
        }
        for k in 0..LANES {
            let unit = vector(toward, k).normalize();
            set(toward, k, unit);
        }
    }
}

/// Centre of the binned pixel `at` along one axis of the whole sensor, in unbinned pixels.
#[inline(always)]
pub(super) fn centre(at: u32, bin: f64) -> f64 {
    real(at.into()) * bin + 0.5 * (bin - 1.0)
}
