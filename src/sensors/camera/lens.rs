//! Lenses: map pixels to directions. Axes: x right, y down, z forward. Pixel centres have integer coordinates.

use super::forward;
use super::lanes::{LANES, Lanes, Lanes3, ZEROS, real, set, whole};

/// Mapping from directions to the image.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Model {
    /// OpenCV's radial and tangential distortion: k1 k2 p1 p2 k3 k4 k5 k6. In `plumb_bob` the last three are 0.
    Rational([f64; 8]),
    /// OpenCV's fisheye model: k1 to k4.
    Fisheye([f64; 4]),
    /// Wide-angle lens of Elmquist et al. 2021, equations 1 and 2: half of the horizontal field of view, radians.
    FieldOfView(f64),
}

/// A lens in front of a sensor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lens {
    /// Width and height of the whole sensor, pixels.
    pub size: [u32; 2],
    /// Focal lengths in x and y, pixels; negative along an axis in which the image is mirrored.
    pub focal_px: [f64; 2],
    /// Point where the optical axis meets the sensor, pixels.
    pub centre_px: [f64; 2],
    /// Distortion model.
    pub model: Model,
}

/// Mirroring of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mirror {
    /// Whether the image is mirrored left-right and top-bottom.
    pub axes: [bool; 2],
    /// Whether pixels have colour filters. A mirrored image is then shifted by one pixel, so that its mosaic starts
    /// with the same colour.
    pub is_colour: bool,
}

impl Mirror {
    /// Index of the region's pixel that pixel `at` of the image shows, along `axis` (0: x, 1: y) with `size` pixels.
    /// The last pixel of a shifted image has no counterpart in the region and shows the nearest pixel of its colour.
    pub fn source(self, axis: usize, at: usize, size: usize) -> usize {
        match self.axes[axis] {
            false => at,
            true => (size - 1 - usize::from(self.is_colour)).abs_diff(at),
        }
    }
}

/// Interval between nodes of the table of directions, pixels. Directions are interpolated between nodes with an error
/// of less than 0.01 pixels.
const STEP: u32 = 3;
const ROUNDS: usize = 40;

/// Table of directions on a grid of nodes. The directions of all pixels are interpolated from it.
#[derive(Clone, Debug)]
pub struct Directions {
    columns: usize,
    /// Directions at the nodes, row by row; NaN outside the lens's image.
    nodes: Vec<[f32; 3]>,
}

impl Lens {
    /// The same lens in the pixels of an image. A pixel of the image covers `binning` columns and rows of the sensor;
    /// `region` is left, top, width and height in pixels of the image; `mirror` mirrors the image.
    #[must_use]
    pub fn of_image(&self, region: [u32; 4], binning: [u32; 2], mirror: Mirror) -> Self {
        let [left, top, width, height] = region;
        let (from, size) = ([left, top], [width, height]);
        let mut lens = Self { size, ..*self };
        for axis in 0..2 {
            let bin = f64::from(binning[axis]);
            let focal_px = self.focal_px[axis] / bin;
            let centre_px = (self.centre_px[axis] + 0.5) / bin - 0.5 - f64::from(from[axis]);
            let first = mirror.source(axis, 0, size[axis] as usize) as f64;
            (lens.focal_px[axis], lens.centre_px[axis]) = match mirror.axes[axis] {
                false => (focal_px, centre_px),
                true => (-focal_px, first - centre_px),
            };
        }
        lens
    }

    /// Position of a direction in the image, pixels; `None` for directions that point backwards, except with
    /// [`Model::Fisheye`].
    pub fn project(&self, [x, y, z]: [f64; 3]) -> Option<[f64; 2]> {
        let [a, b] = match self.model {
            Model::Rational(d) => {
                if z <= 0.0 {
                    return None;
                }
                distorted(&d, [x / z, y / z])
            }
            Model::Fisheye(k) => {
                let r = libm::hypot(x, y);
                let theta = libm::atan2(r, z);
                let scale = if r > 1e-12 { fisheye(&k, theta).0 / r } else { 1.0 / z };
                [x * scale, y * scale]
            }
            Model::FieldOfView(half_rad) => {
                if z <= 0.0 {
                    return None;
                }
                // Inverse of `direction`: computes r1 in the image from r2 of the ray.
                let (tan, r) = (libm::tan(half_rad), libm::hypot(x / z, y / z));
                let wide = libm::tan(tan) / tan;
                // `direction` multiplies r2 by `tan` and divides it by `wide`, which gives the slope `r`.
                let r2 = r / tan * wide;
                let r1 = libm::atan(r2 * tan) / tan;
                let scale = if r > 1e-12 { r1 * tan / r } else { wide };
                [x / z * scale, y / z * scale]
            }
        };
        let ([fx, fy], [cx, cy]) = (self.focal_px, self.centre_px);
        Some([fx * a + cx, fy * b + cy])
    }

    /// Unit vector of the direction at a position of the image, pixels; `None` outside the lens's image.
    pub fn direction(&self, [u, v]: [f64; 2]) -> Option<[f64; 3]> {
        let ([fx, fy], [cx, cy]) = (self.focal_px, self.centre_px);
        let [a, b] = [(u - cx) / fx, (v - cy) / fy];
        let ray = match self.model {
            Model::Rational(d) => {
                let [x, y] = undistorted(&d, [a, b])?;
                [x, y, 1.0]
            }
            Model::Fisheye(k) => {
                let wanted = libm::hypot(a, b);
                let mut theta = wanted;
                for _ in 0..ROUNDS {
                    let (value, slope) = fisheye(&k, theta);
                    if slope <= 0.0 {
                        return None;
                    }
                    theta -= (value - wanted) / slope;
                }
                if !(0.0..std::f64::consts::PI).contains(&theta) || !is_rising(&k, theta) {
                    return None;
                }
                let side = if wanted > 1e-12 { libm::sin(theta) / wanted } else { 1.0 };
                [a * side, b * side, libm::cos(theta)]
            }
            Model::FieldOfView(half_rad) => {
                let tan = libm::tan(half_rad);
                let r1 = libm::hypot(a, b) / tan;
                let wide = libm::tan(tan) / tan;
                if r1 * tan >= std::f64::consts::FRAC_PI_2 {
                    return None;
                }
                let r2 = libm::tan(r1 * tan) / tan;
                let scale = if r1 > 1e-12 { r2 / (r1 * wide) } else { 1.0 / wide };
                [a * scale, b * scale, 1.0]
            }
        };
        let length = (ray[0] * ray[0] + ray[1] * ray[1] + ray[2] * ray[2]).sqrt();
        Some(ray.map(|part| part / length))
    }

    /// Computes the table of all directions.
    pub fn directions(&self) -> Directions {
        let [columns, rows] = self.size.map(|size| (size.div_ceil(STEP) + 2) as usize);
        let node = |place: usize| {
            // On each side, one node lies outside the image.
            let at = |index: usize| index as f64 * f64::from(STEP) - f64::from(STEP);
            let direction = self.direction([at(place % columns), at(place / columns)]);
            direction.map_or([f32::NAN; 3], |ray| ray.map(|part| part as f32))
        };
        Directions { columns, nodes: (0..columns * rows).map(node).collect() }
    }
}

impl Directions {
    /// Direction at a position of the image, not normalised; `None` outside the lens's image.
    pub fn at(&self, [u, v]: [f64; 2]) -> Option<[f64; 3]> {
        let step = f64::from(STEP);
        let [a, b] = [u / step + 1.0, v / step + 1.0];
        let (column, row) = (a as usize, b as usize);
        let (s, t) = (a - column as f64, b - row as f64);
        let at = |right: usize, down: usize| {
            let place = (row + down) * self.columns + column + right;
            self.nodes.get(place).copied().unwrap_or([f32::NAN; 3]).map(f64::from)
        };
        let (near, far) = ([at(0, 0), at(1, 0)], [at(0, 1), at(1, 1)]);
        let ray = std::array::from_fn(|axis| {
            let of = |pair: &[[f64; 3]; 2]| pair[0][axis] * (1.0 - s) + pair[1][axis] * s;
            of(&near) * (1.0 - t) + of(&far) * t
        });
        ray[2].is_finite().then_some(ray)
    }

    /// Directions of the first `len` positions `u`, `v` in the image: unit vectors in the axes of the mount, NaN
    /// outside the lens's image. The arithmetic is that of [`Directions::at`].
    #[inline(always)]
    pub(super) fn of(&self, u: &Lanes, v: &Lanes, len: usize, out: &mut Lanes3) {
        let step = f64::from(STEP);
        let (mut s, mut t, mut place) = (ZEROS, ZEROS, [0; LANES]);
        for k in 0..LANES {
            let [a, b] = [u[k] / step + 1.0, v[k] / step + 1.0];
            let (column, row) = (whole(a), whole(b));
            (s[k], t[k]) = (a - real(column), b - real(row));
            place[k] = row as usize * self.columns + column as usize;
        }
        let mut nodes = [[[0.0f32; LANES]; 3]; 4];
        for k in 0..len {
            for (pair, from) in [place[k], place[k] + self.columns].into_iter().enumerate() {
                let found = self.nodes.get(from..from + 2).unwrap_or(&[[f32::NAN; 3]; 2]);
                for (right, node) in found.iter().enumerate() {
                    for axis in 0..3 {
                        nodes[2 * pair + right][axis][k] = node[axis];
                    }
                }
            }
        }
        let mut rays = [ZEROS; 3];
        for axis in 0..3 {
            for k in 0..LANES {
                let (a, b) = (f64::from(nodes[0][axis][k]), f64::from(nodes[1][axis][k]));
                let (c, d) = (f64::from(nodes[2][axis][k]), f64::from(nodes[3][axis][k]));
                let (near, far) = (a * (1.0 - s[k]) + b * s[k], c * (1.0 - s[k]) + d * s[k]);
                rays[axis][k] = near * (1.0 - t[k]) + far * t[k];
            }
        }
        for k in 0..LANES {
            set(out, k, forward([rays[0][k], rays[1][k], rays[2][k]]));
        }
    }
}

/// OpenCV's distorted angle `theta_d` for the angle `theta` from the optical axis, radians, and its derivative.
fn fisheye(k: &[f64; 4], theta: f64) -> (f64, f64) {
    let (mut value, mut slope, square) = (theta, 1.0, theta * theta);
    let mut power = square;
    for (place, k) in k.iter().enumerate() {
        value += k * power * theta;
        slope += k * power * (2 * place + 3) as f64;
        power *= square;
    }
    (value, slope)
}

fn is_rising(k: &[f64; 4], theta: f64) -> bool {
    (0..=16).all(|part| fisheye(k, theta * f64::from(part) / 16.0).1 > 0.0)
}

fn radial(d: &[f64; 8], r2: f64) -> f64 {
    let [k1, k2, _, _, k3, k4, k5, k6] = *d;
    let of = |a: f64, b: f64, c: f64| 1.0 + r2 * (a + r2 * (b + r2 * c));
    of(k1, k2, k3) / of(k4, k5, k6)
}

fn tangential(d: &[f64; 8], [x, y]: [f64; 2]) -> [f64; 2] {
    let ([_, _, p1, p2, ..], r2) = (*d, x * x + y * y);
    [2.0 * p1 * x * y + p2 * (r2 + 2.0 * x * x), p1 * (r2 + 2.0 * y * y) + 2.0 * p2 * x * y]
}

fn distorted(d: &[f64; 8], [x, y]: [f64; 2]) -> [f64; 2] {
    let (rho, [dx, dy]) = (radial(d, x * x + y * y), tangential(d, [x, y]));
    [x * rho + dx, y * rho + dy]
}

/// Removes the distortion by fixed-point iteration; `None` where the radial function no longer increases.
fn undistorted(d: &[f64; 8], [a, b]: [f64; 2]) -> Option<[f64; 2]> {
    let [mut x, mut y] = [a, b];
    for _ in 0..ROUNDS {
        let before = [x, y];
        let (rho, [dx, dy]) = (radial(d, x * x + y * y), tangential(d, [x, y]));
        [x, y] = [(a - dx) / rho, (b - dy) / rho];
        if [x, y] == before {
            break; // converged
        }
    }
    let [back_x, back_y] = distorted(d, [x, y]);
    let r = libm::hypot(x, y);
    let at = |r: f64| r * radial(d, r * r);
    let rises = (1..=16).all(|part| {
        let r = r * f64::from(part) / 16.0;
        at(r) < at(r + 1e-4)
    });
    (libm::hypot(back_x - a, back_y - b) < 1e-6 && rises).then_some([x, y])
}

#[cfg(test)]
mod tests {
    use super::super::lanes::vector;
    use super::*;

    fn lens(model: Model) -> Lens {
        Lens { size: [640, 480], focal_px: [400.0, 410.0], centre_px: [319.5, 239.5], model }
    }

    const PLUMB_BOB: [f64; 8] = [-0.28, 0.09, 0.0005, -0.0003, -0.01, 0.0, 0.0, 0.0];

    #[test]
    fn many_places_have_the_directions_of_single_ones() {
        // The last positions are outside the lens's image.
        let directions = lens(Model::Fisheye([0.0, -0.1, 0.0, 0.0])).directions();
        let (u, v) =
            (std::array::from_fn(|k| 9.7 * k as f64), std::array::from_fn(|k| 7.3 * k as f64));
        let mut found = [ZEROS; 3];
        directions.of(&u, &v, LANES, &mut found);
        let mut unseen = 0;
        for k in 0..LANES {
            match directions.at([u[k], v[k]]) {
                Some(ray) => assert_eq!(vector(&found, k), forward(ray)),
                None => {
                    unseen += 1;
                    assert!(found[0][k].is_nan());
                }
            }
        }
        assert!(unseen > 0 && unseen < LANES / 2, "{unseen}");
    }

    #[test]
    fn a_mirrored_image_has_the_lens_of_the_pixels_that_it_shows() {
        let whole = lens(Model::Rational([0.0; 8]));
        for is_colour in [false, true] {
            let mirror = Mirror { axes: [true, true], is_colour };
            let of_image = whole.of_image([0, 0, 640, 480], [1, 1], mirror);
            for at in [0, 5, 300] {
                let from = [mirror.source(0, at, 640), mirror.source(1, at, 480)];
                let direction = whole.direction(from.map(|pixel| pixel as f64)).unwrap();
                let [u, v] = of_image.project(direction).unwrap();
                let error = libm::hypot(u - at as f64, v - at as f64);
                assert!(error < 1e-9, "{is_colour} {at}: {u} {v}");
            }
        }
    }

    #[test]
    fn distortion_is_opencvs() {
        let [x, y] = distorted(&PLUMB_BOB, [0.4, -0.25]);
        assert!((x - 0.376_555).abs() < 1e-6 && (y + 0.235_278).abs() < 1e-6, "{x} {y}");
        let [u, v] =
            lens(Model::Fisheye([0.02, -0.004, 0.001, -0.0002])).project([1.0, 0.5, 1.0]).unwrap();
        let [x, y] = [(u - 319.5) / 400.0, (v - 239.5) / 410.0];
        assert!((x - 0.761_641).abs() < 1e-6 && (y - 0.380_820).abs() < 1e-6, "{x} {y}");
    }

    #[test]
    fn the_papers_lens_keeps_its_field_of_view() {
        let half_rad: f64 = 0.704;
        let tan = libm::tan(half_rad);
        let lens = Lens { focal_px: [319.5 / tan; 2], ..lens(Model::FieldOfView(half_rad)) };
        for (r1, r2) in [(0.25, 0.189_668), (0.5, 0.397_816), (0.75, 0.650_906), (1.0, 1.0)] {
            let [x, _, z] = lens.direction([319.5 + 319.5 * r1, 239.5]).unwrap();
            assert!((x / z / tan - r2).abs() < 1e-5, "{r1}: {} {r2}", x / z / tan);
        }
    }

    #[test]
    fn every_pixel_looks_where_it_is_shown() {
        let rational = [0.1, -0.05, 0.001, -0.0005, 0.01, 0.02, -0.01, 0.002];
        let fisheye = [0.02, -0.004, 0.001, -0.0002];
        for model in [
            Model::Rational([0.0; 8]),
            Model::Rational(PLUMB_BOB),
            Model::Rational(rational),
            Model::Fisheye(fisheye),
            Model::FieldOfView(0.6),
        ] {
            let lens = lens(model);
            let table = lens.directions();
            for place in 0..640 * 480 / 7 {
                let at = [f64::from(place * 7 % 640), f64::from(place * 7 / 640)];
                let shown = lens.project(table.at(at).unwrap()).unwrap();
                let error = libm::hypot(shown[0] - at[0], shown[1] - at[1]);
                assert!(error < 0.01, "{model:?}: {at:?} {error}");
            }
        }
    }
}
