//! Lengths of cylinders in a scan, and the geometry of the expected lengths.

use std::collections::BTreeMap;

use glam::{DVec2, DVec3};

/// Radius of a cylinder, metres.
pub const RADIUS_M: f64 = 0.5;

/// Distance from the sensor's path to a cylinder's axis, if its edges as seen from abeam are `edge_m` away,
/// metres: the chord between the tangents' points is nearer than the axis.
pub fn axis_of(edge_m: f64) -> f64 {
    0.5 * (edge_m + (edge_m * edge_m + 4.0 * RADIUS_M * RADIUS_M).sqrt())
}

/// Length along the path that a scan without motion shows of a cylinder: between the rays that touch it,
/// where they cross the line at `edge_m`. `ahead_m` is the distance of its axis ahead of abeam.
pub fn still_length(edge_m: f64, ahead_m: f64) -> f64 {
    let axis_m = axis_of(edge_m);
    let middle = libm::atan2(ahead_m, axis_m);
    let half = libm::asin(RADIUS_M / DVec2::new(ahead_m, axis_m).length());
    edge_m * (libm::tan(middle + half) - libm::tan(middle - half))
}

/// Relative lengthening of an object in a scan, if the sensor moves with `speed_m_s` past it at `edge_m` and
/// its beam turns with `turn_rad_s`: positive if the beam moves with the object in the sensor's frame, from
/// front to back. It is the closed form of Elmquist et al. 2021's figure 5, near abeam.
pub fn stretch(speed_m_s: f64, turn_rad_s: f64, edge_m: f64) -> f64 {
    1.0 / (1.0 - speed_m_s / (turn_rad_s * edge_m))
}

/// A pass of a cylinder: its revolution, whether it is on the left, and its number.
pub type Pass = (u64, bool, i64);

/// Directions in which cylinders were hit.
#[derive(Clone, Debug, Default)]
pub struct Passes {
    hits: BTreeMap<Pass, Hits>,
}

/// Hits of one pass, radians ahead of abeam.
#[derive(Clone, Copy, Debug)]
struct Hits {
    least_rad: f64,
    most_rad: f64,
    /// Positions of the sensor at its first and its last hit, metres along the path.
    from_m: f64,
    to_m: f64,
}

/// A cylinder in one revolution.
#[derive(Clone, Copy, Debug)]
pub struct Shown {
    /// Whether the cylinder is on the left.
    pub is_left: bool,
    /// Distance of its axis ahead of abeam in the middle of the pass, metres.
    pub ahead_m: f64,
    /// Length of the cylinder relative to a scan without motion.
    pub ratio: f64,
}

impl Passes {
    /// Adds a return at `place`, forward and left of the sensor, which was `sensor_m` along the path.
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

    /// The cylinders near abeam, `spacing_m` apart along the way, by beams `step_rad` apart. An edge is half a
    /// step beyond the last hit on average.
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

/// Distance from `from` along the unit vector `direction` to the nearest cylinder of the rows at `±axis_m`,
/// `spacing_m` apart, and the cosine of incidence; all in the level plane.
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
            // From abeam it is the chord.
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

    /// Beams of a sensor that turns clockwise.
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
                // On the right the beam goes from the front to the back.
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
            // The closed form is that of a flat thing.
            assert!((only.ratio / expected - 1.0).abs() < 4e-3, "{only:?}, expected {expected}");
        }
    }
}
