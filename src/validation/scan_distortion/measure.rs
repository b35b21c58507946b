//! Measures the lengths of cylinders in a scan, and computes the expected lengths. A cylinder is abeam when its axis is
//! exactly beside the sensor, at a right angle to the sensor's path.

use std::collections::BTreeMap;

use glam::{DVec2, DVec3};

/// Radius of a cylinder, metres.
pub const RADIUS_M: f64 = 0.5;

/// Distance from the sensor's path to a cylinder's axis, metres. When the cylinder is abeam, `edge_m` is the distance
/// from the path to the chord between the cylinder's two visible edges; the chord is closer than the axis.
pub fn axis_of(edge_m: f64) -> f64 {
    0.5 * (edge_m + (edge_m * edge_m + 4.0 * RADIUS_M * RADIUS_M).sqrt())
}

/// Length of a cylinder along the path in a scan without motion, metres. It is the distance between the points where
/// the two tangent rays cross the line parallel to the path at `edge_m`. `ahead_m` is the distance of the axis ahead of
/// abeam.
pub fn still_length(edge_m: f64, ahead_m: f64) -> f64 {
    let axis_m = axis_of(edge_m);
    let middle = libm::atan2(ahead_m, axis_m);
    let half = libm::asin(RADIUS_M / DVec2::new(ahead_m, axis_m).length());
    edge_m * (libm::tan(middle + half) - libm::tan(middle - half))
}

/// Ratio of an object's length in a scan to the object's true length. The sensor passes the object with `speed_m_s` at
/// the distance `edge_m`, and the beam rotates with `turn_rad_s`. The rate is positive if the beam moves with the
/// object in the sensor's frame, from front to back. This is the closed form for figure 5 of Elmquist et al. 2021, near
/// abeam.
pub fn stretch(speed_m_s: f64, turn_rad_s: f64, edge_m: f64) -> f64 {
    1.0 / (1.0 - speed_m_s / (turn_rad_s * edge_m))
}

/// A pass of a cylinder: number of the rotation, whether the cylinder is on the left, and number of the cylinder.
pub type Pass = (u64, bool, i64);

/// Directions in which cylinders were hit.
#[derive(Clone, Debug, Default)]
pub struct Passes {
    hits: BTreeMap<Pass, Hits>,
}

/// Directions of the hits of one pass, radians ahead of abeam.
#[derive(Clone, Copy, Debug)]
struct Hits {
    least_rad: f64,
    most_rad: f64,
    /// Position of the sensor along the path at the first hit, metres.
    from_m: f64,
    /// Position of the sensor along the path at the last hit, metres.
    to_m: f64,
}

/// A cylinder in one rotation.
#[derive(Clone, Copy, Debug)]
pub struct Shown {
    /// Whether the cylinder is on the left.
    pub is_left: bool,
    /// Distance of the cylinder's axis ahead of abeam in the middle of the pass, metres.
    pub ahead_m: f64,
    /// Length of the cylinder in the scan, divided by the length in a scan without motion.
    pub ratio: f64,
}

impl Passes {
    /// Adds a return at `place` (sensor's axes: x forward, y left, metres); the sensor was `sensor_m` along the path.
    pub fn add(&mut self, pass: Pass, place: DVec3, sensor_m: f64) {
        let ahead_rad = libm::atan2(place.x, place.y.abs());
        let hits = self.hits.entry(pass).or_insert(Hits {
            least_rad: ahead_rad,
            most_rad: ahead_rad,
            from_m: sensor_m,
            to_m: sensor_m,
        });
        hits.least_rad = hits.least_rad.min(ahead_rad);
        hits.most_rad = hits.most_rad.max(ahead_rad);
        hits.to_m = sensor_m;
    }

    /// Cylinders whose axes are at most `near_m` ahead of or behind abeam. Cylinders are `spacing_m` apart along the
    /// path, beams `step_rad` apart. Lengths include half a step at each end, because an edge is on average half a step
    /// beyond the last hit.
    pub fn shown(&self, edge_m: f64, spacing_m: f64, step_rad: f64, near_m: f64) -> Vec<Shown> {
        let shown = self.hits.iter().map(|((_, is_left, number), hits)| {
            let at = |rad: f64| edge_m * libm::tan(rad);
            let length_m = at(hits.most_rad + 0.5 * step_rad) - at(hits.least_rad - 0.5 * step_rad);
            let ahead_m = *number as f64 * spacing_m - 0.5 * (hits.from_m + hits.to_m);
            let ratio = length_m / still_length(edge_m, ahead_m);
            Shown { is_left: *is_left, ahead_m, ratio }
        });
        shown.filter(|shown| shown.ahead_m.abs() <= near_m).collect()
    }
}

/// Distance from `from` along the unit vector `direction` to the nearest cylinder of the rows at `±axis_m`, spaced by
/// `spacing_m`, and the cosine of incidence; all in the horizontal plane, metres. `None` if the ray hits no cylinder.
pub fn range_to_rows(
    from: DVec2,
    direction: DVec2,
    axis_m: f64,
    spacing_m: f64,
) -> Option<(f64, f64)> {
    let row_y = if direction.y > 0.0 { axis_m } else { -axis_m };
    let near = from.x + direction.x / direction.y * (row_y - from.y);
    let middle = (near / spacing_m).round() as i64;
    let hits = (middle - 2..=middle + 2).filter_map(|number| {
        let to_axis = DVec2::new(number as f64 * spacing_m, row_y) - from;
        let along = to_axis.dot(direction);
        let beside = to_axis.perp_dot(direction);
        let half = RADIUS_M * RADIUS_M - beside * beside;
        (half > 0.0 && along > 0.0).then(|| (along - half.sqrt(), half.sqrt() / RADIUS_M))
    });
    hits.min_by(|a, b| a.0.total_cmp(&b.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_where_they_are_asked_for() {
        for edge_m in [2.0, 3.0] {
            let axis_m = axis_of(edge_m);
            assert!((axis_m - RADIUS_M * RADIUS_M / axis_m - edge_m).abs() < 1e-12);
            // Exactly abeam, the length is that of the chord.
            let chord = 2.0 * RADIUS_M * (1.0 - (RADIUS_M / axis_m).powi(2)).sqrt();
            assert!((still_length(edge_m, 0.0) - chord).abs() < 1e-12);
        }
    }

    #[test]
    fn stretches_are_those_of_the_notes() {
        let turn = 40.0 * std::f64::consts::PI;
        for (edge_m, longer, shorter) in
            [(1.5, 1.119, 0.904), (2.0, 1.087, 0.926), (3.0, 1.056, 0.950)]
        {
            assert!((stretch(20.0, turn, edge_m) - longer).abs() < 1e-3);
            assert!((stretch(20.0, -turn, edge_m) - shorter).abs() < 1e-3);
        }
    }

    /// Simulates the beams of a sensor that rotates clockwise.
    #[test]
    fn a_scan_of_a_moving_sensor_is_stretched_as_the_closed_form_says() {
        let (speed, turn, edge_m, step_s) = (20.0, 40.0 * std::f64::consts::PI, 2.0, 1e-5);
        for (is_left, expected) in
            [(false, stretch(speed, turn, edge_m)), (true, stretch(speed, -turn, edge_m))]
        {
            let mut passes = Passes::default();
            let sign = if is_left { 1.0 } else { -1.0 };
            for k in -1000..1000 {
                let t = f64::from(k) * step_s;
                // On the right, the beam moves from front to back.
                let ahead_rad = sign * turn * t;
                let (sin, cos) = libm::sincos(ahead_rad);
                let direction = DVec2::new(sin, sign * cos);
                let from = DVec2::new(speed * t, 0.0);
                if let Some((range, _)) = range_to_rows(from, direction, axis_of(edge_m), 2.0) {
                    let place = (direction * range).extend(0.0);
                    let number = ((from.x + place.x) / 2.0).round() as i64;
                    passes.add((0, is_left, number), place, from.x);
                }
            }
            let shown = passes.shown(edge_m, 2.0, turn * step_s, 0.5);
            let [only] = &shown[..] else { panic!("{shown:?}") };
            // The closed form is for a flat object.
            assert!((only.ratio / expected - 1.0).abs() < 4e-3, "{only:?}, expected {expected}");
        }
    }
}
