//! On-board magnetometer calibration: collects points of the magnetic field while the host rotates the unit, then
//! fits a sphere or circle.

use glam::{DMat4, DVec3, DVec4};

use crate::wire::sbg_ecom::code;

const MOST_POINTS: usize = 1000;
/// Smallest number of points for a fit.
const LEAST_POINTS: usize = 20;
/// Cosine of the smallest angle between the field directions of successive points (4 degrees).
const TURNED_COS: f64 = 0.9976;
/// Smallest extent of the points along each calibrated axis, relative to the fitted radius.
const SPREAD: f64 = 1.0;

/// Mode: rotation about the vertical axis.
const MODE_2D: u8 = 1;
/// Mode: rotations about all axes.
const MODE_3D: u8 = 2;

/// Status bits of the issues that prevent a calibration.
mod issue {
    pub const POINTS: u16 = 1;
    pub const DISTORTION: u16 = 1 << 1;
    /// First of three bits for missing motion about x, y and z.
    pub const MOTION: u16 = 1 << 2;
    pub const MOTION_Z: u16 = 1 << 4;
}

/// State of the calibration. Fields are in units of the usual field strength, in sensor axes forward, right, down.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MagneticCalibration {
    /// Calibration mode; 0: not started.
    mode: u8,
    points: Vec<DVec3>,
}

/// Fitted sphere or circle: its centre and radius.
struct Fit {
    offset: DVec3,
    radius: f64,
}

impl MagneticCalibration {
    /// Starts the calibration; `data` is its mode and bandwidth, one byte each.
    ///
    /// # Errors
    /// Returns a code of [`code`] if `data` has the wrong length or an unknown mode or bandwidth.
    pub fn start(&mut self, data: &[u8]) -> Result<(), u16> {
        match *data {
            [mode @ (MODE_2D | MODE_3D), 0..=2] => {
                *self = Self { mode, points: Vec::new() };
                Ok(())
            }
            [_, _] => Err(code::INVALID_PARAMETER),
            _ => Err(code::INVALID_FRAME),
        }
    }

    /// Adds a measurement of the field to a started calibration, if the field's direction differs by more than 4
    /// degrees from that of the last point.
    pub fn step(&mut self, field: DVec3) {
        let is_new = self
            .points
            .last()
            .is_none_or(|last| last.dot(field) < TURNED_COS * last.length() * field.length());
        if self.mode != 0 && is_new && self.points.len() < MOST_POINTS {
            self.points.push(field);
        }
    }

    /// Answer to `COMPUTE_MAG_CALIB`, 92 bytes in the layout of the sbgECom library.
    pub fn result(&self) -> Vec<u8> {
        let axes = if self.mode == MODE_3D { DVec3::ONE } else { DVec3::new(1.0, 1.0, 0.0) };
        let fit = self.fit(axes);
        let issues = self.issues(axes, fit.as_ref());
        let Fit { offset, radius } =
            fit.filter(|_| issues == 0).unwrap_or(Fit { offset: DVec3::ZERO, radius: 1.0 });
        let before = self.errors(axes, DVec3::ZERO, 1.0);
        let after = self.errors(axes, offset, radius);
        let quality = match after[2] {
            _ if issues != 0 => 3,
            worst if worst < 0.02 => 0,
            worst if worst < 0.05 => 1,
            _ => 2,
        };
        let confidence = match self.points.len() {
            _ if issues != 0 => 2,
            0..50 => 1,
            _ => 0,
        };
        let mut data = vec![quality, confidence];
        data.extend(issues.to_le_bytes());
        // Mean, standard deviation and maximum of the points' deviations from the sphere: before the calibration, after
        // it, and once more as the expected heading accuracy, rad.
        for value in [before, after, after].concat() {
            data.extend((value as f32).to_le_bytes());
        }
        for count in [self.points.len(), MOST_POINTS] {
            data.extend((count as u16).to_le_bytes());
        }
        let diagonal = (1.0 / radius) as f32;
        let mut matrix = [0.0; 9];
        (matrix[0], matrix[4], matrix[8]) = (diagonal, diagonal, diagonal);
        let offset = offset.to_array().map(|x| x as f32);
        for value in offset.iter().chain(&matrix) {
            data.extend(value.to_le_bytes());
        }
        data
    }

    /// Least-squares fit of a sphere or circle with the centre c: solves `|p|² = 2 p·c + k` for the active axes. `None`
    /// if the points do not determine it.
    fn fit(&self, axes: DVec3) -> Option<Fit> {
        let mut normal = DMat4::ZERO;
        let mut right = DVec4::ZERO;
        for point in &self.points {
            let point = *point * axes;
            let row = (2.0 * point).extend(1.0);
            normal += DMat4::from_cols(row * row.x, row * row.y, row * row.z, row * row.w);
            right += row * point.length_squared();
        }
        if axes.z == 0.0 {
            normal.z_axis.z = 1.0;
        }
        if normal.determinant().abs() < 1e-9 {
            return None;
        }
        let found = normal.inverse() * right;
        let offset = found.truncate();
        let radius = (found.w + offset.length_squared()).max(0.0).sqrt();
        (radius.is_finite() && radius > 1e-3).then_some(Fit { offset, radius })
    }

    fn issues(&self, axes: DVec3, fit: Option<&Fit>) -> u16 {
        if self.points.len() < LEAST_POINTS {
            return issue::POINTS;
        }
        let Some(fit) = fit else { return issue::DISTORTION };
        let least = self.points.iter().fold(DVec3::INFINITY, |least, p| least.min(*p));
        let most = self.points.iter().fold(DVec3::NEG_INFINITY, |most, p| most.max(*p));
        let spread = (most - least) / fit.radius;
        let counts = axes.to_array().into_iter().zip(spread.to_array()).enumerate();
        let lacking = counts.filter(|(_, (counts, spread))| *counts > 0.0 && *spread < SPREAD);
        lacking.fold(0, |issues, (axis, _)| {
            issues | if axes.z == 0.0 { issue::MOTION_Z } else { issue::MOTION << axis }
        })
    }

    /// Mean, standard deviation and maximum of the points' deviations from the sphere, relative to its radius.
    fn errors(&self, axes: DVec3, offset: DVec3, radius: f64) -> [f64; 3] {
        let count = self.points.len().max(1) as f64;
        let off = |p: &DVec3| (((*p - offset) * axes).length() / radius - 1.0).abs();
        let mean = self.points.iter().map(off).sum::<f64>() / count;
        let square = self.points.iter().map(|p| (off(p) - mean).powi(2)).sum::<f64>() / count;
        [mean, square.sqrt(), self.points.iter().map(off).fold(0.0, f64::max)]
    }
}
