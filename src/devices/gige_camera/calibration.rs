//! Calibration file of a camera for ROS' `camera_info_manager`.
//!
//! The calibration is for the whole sensor; ROS takes binning and region from the message `CameraInfo`. The rectified
//! image has the focal length and centre of the raw image.

use std::fmt::Write as _;

use super::profile::{CameraProfile, CameraSettings};
use crate::sensors::camera::lens::{Lens, Model};

/// Number of directions at which the fisheye polynomial is fitted to another lens model.
const SAMPLES: usize = 200;

/// Calibration (YAML) of a unit with `settings`. If it is the right camera of a stereo pair, `baseline_m` is its
/// distance from the left one, metres; otherwise 0.
pub(super) fn yaml(profile: &CameraProfile, settings: &CameraSettings, baseline_m: f64) -> String {
    let lens = settings.optics(profile.size()).lens;
    let ([fx, fy], model, coefficients) = described(&lens, settings);
    let [cx, cy] = lens.centre_px;
    let mut text = String::new();
    let [width, height] = profile.size();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "image_width: {width}\nimage_height: {height}");
    let _ = writeln!(text, "camera_name: \"{}\"", settings.serial);
    let mut matrix = |name: &str, columns: usize, data: &[f64]| {
        let rows = data.len() / columns;
        let _ = writeln!(text, "{name}:\n  rows: {rows}\n  cols: {columns}\n  data: {data:?}");
        if name == "camera_matrix" {
            let _ = writeln!(text, "distortion_model: {model}");
        }
    };
    matrix("camera_matrix", 3, &[fx, 0.0, cx, 0.0, fy, cy, 0.0, 0.0, 1.0]);
    matrix("distortion_coefficients", coefficients.len(), &coefficients);
    matrix("rectification_matrix", 3, &[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
    let right = if baseline_m == 0.0 { 0.0 } else { -fx * baseline_m };
    matrix("projection_matrix", 4, &[fx, 0.0, cx, right, 0.0, fy, cy, 0.0, 0.0, 0.0, 1.0, 0.0]);
    text
}

/// Focal lengths fx and fy (pixels), ROS name of the distortion model, and distortion coefficients.
fn described(lens: &Lens, settings: &CameraSettings) -> ([f64; 2], &'static str, Vec<f64>) {
    let name = settings.lens.model.word();
    match lens.model {
        // Coefficients k1 k2 p1 p2 k3, and k4 k5 k6 if the model has them.
        Model::Rational(k) => {
            (lens.focal_px, name, k[..settings.lens.model.coefficients()].to_vec())
        }
        Model::Fisheye(k) => (lens.focal_px, name, k.to_vec()),
        Model::FieldOfView(half_rad) => as_fisheye(lens, half_rad),
    }
}

/// Fisheye model that best fits the wide-angle lens of Elmquist et al. 2021, for which ROS has no model. Returns the
/// same values as [`described`]. The wide-angle lens maps the angle theta to `f atan(w tan theta)`; the slope at the
/// centre, `f w`, becomes the focal length of the fisheye model.
fn as_fisheye(lens: &Lens, half_rad: f64) -> ([f64; 2], &'static str, Vec<f64>) {
    let tan = libm::tan(half_rad);
    let wide = libm::tan(tan) / tan;
    let [width, height] = lens.size.map(|pixels| 0.5 * f64::from(pixels));
    let corner = libm::hypot(width / lens.focal_px[0], height / lens.focal_px[1]);
    let farthest = libm::atan(libm::tan(corner.min(1.5)) / wide);
    let mut equations = [[0.0; 5]; 4];
    for sample in 1..=SAMPLES {
        let part = sample as f64 / SAMPLES as f64;
        let theta = part * farthest;
        let excess = libm::atan(wide * libm::tan(theta)) / wide - theta;
        let terms: [f64; 4] = std::array::from_fn(|order| part.powi(2 * order as i32 + 3));
        for (row, term) in equations.iter_mut().zip(terms) {
            (0..4).for_each(|column| row[column] += term * terms[column]);
            row[4] += term * excess;
        }
    }
    let found = solved(equations);
    let coefficients = (0..4).map(|order| found[order] / farthest.powi(2 * order as i32 + 3));
    (lens.focal_px.map(|focal| focal * wide), "equidistant", coefficients.collect())
}

/// Solves four linear equations by Gaussian elimination; the last column is the right-hand side.
fn solved(mut rows: [[f64; 5]; 4]) -> [f64; 4] {
    for pivot in 0..4 {
        let best =
            (pivot..4).max_by(|a, b| rows[*a][pivot].abs().total_cmp(&rows[*b][pivot].abs()));
        rows.swap(pivot, best.unwrap_or(pivot));
        let top = rows[pivot];
        for row in rows.iter_mut().skip(pivot + 1) {
            let factor = row[pivot] / top[pivot];
            (pivot..5).for_each(|column| row[column] -= factor * top[column]);
        }
    }
    let mut found = [0.0; 4];
    for place in (0..4).rev() {
        let known: f64 = (place + 1..4).map(|column| rows[place][column] * found[column]).sum();
        found[place] = (rows[place][4] - known) / rows[place][place];
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::families::catalogue;
    use crate::gige_camera::profile::{LensModel, LensSettings};

    fn profile() -> CameraProfile {
        let profile = catalogue().profile("menura-gv231c").unwrap();
        profile.data::<CameraProfile>().unwrap().clone()
    }

    #[test]
    fn the_papers_lens_is_described_as_a_fisheye() {
        let profile = profile();
        let settings = CameraSettings {
            lens: LensSettings {
                model: LensModel::FieldOfView,
                hfov_rad: 80f64.to_radians(),
                ..profile.defaults.lens.clone()
            },
            ..profile.defaults.clone()
        };
        let lens = settings.optics(profile.size()).lens;
        let (focal_px, model, k) = described(&lens, &settings);
        assert_eq!(model, "equidistant");
        let fisheye = Lens { focal_px, model: Model::Fisheye(k.try_into().unwrap()), ..lens };
        let mut worst = 0.0f64;
        for at in 0..20 {
            let at = [f64::from(at) * 100.0, f64::from(at) * 62.0];
            let [u, v] = fisheye.project(lens.direction(at).unwrap()).unwrap();
            worst = worst.max(libm::hypot(u - at[0], v - at[1]));
        }
        assert!(worst < 0.1, "{worst} px");
    }

    #[test]
    fn the_right_camera_of_a_pair_has_its_baseline() {
        let profile = profile();
        let text = yaml(&profile, &profile.defaults, 0.12);
        let fx = 960.0 / libm::tan(30f64.to_radians());
        let last = text.lines().last().unwrap();
        let numbers: Vec<f64> = last
            .trim_start_matches("  data: [")
            .trim_end_matches(']')
            .split(", ")
            .map(|number| number.parse().unwrap())
            .collect();
        assert!((numbers[0] - fx).abs() < 1e-9 && (numbers[3] + 0.12 * fx).abs() < 1e-9);
        assert!(text.contains("distortion_model: plumb_bob"));
    }
}
