//! Plots one rotation: from above, and as seen from the sensor, forward and backward.

use glam::DVec3;

use crate::analysis::rotation::Rotation;
use crate::devices::decoder::datagram::CloudPoint;
use crate::plot::{Area, Axis, Colour, ColourBar, Figure, HEIGHT, INTENSITY, Panel, RANGE};

/// Width and height of the view from above, pixels; the views from the sensor are to its right.
const ABOVE: (f64, f64) = (920.0, 844.0);
/// Width and height of a view from the sensor, pixels.
const SEAT: (f64, f64) = (880.0, 211.0);
/// Approximate height of the plotted area of a view from the sensor, pixels; dots are as high as a laser's row.
const SEAT_ROWS_PX: f64 = 141.0;

/// Colour of the sensor in the view from above.
const SENSOR: Colour = Colour([20, 20, 25]);

/// A rotation that is drawn.
pub(super) struct Drawing<'a>(pub &'a Rotation);

impl std::ops::Deref for Drawing<'_> {
    type Target = Rotation;

    fn deref(&self) -> &Rotation {
        self.0
    }
}

impl Drawing<'_> {
    /// Draws the figure; `name` is the path of the capture.
    pub(super) fn draw(&self, name: &str) -> Figure {
        let file = name.rsplit('/').next().unwrap_or(name);
        let title = format!("{file}: rotation {} of {}", self.number, self.model);
        let mut figure = Figure::new(ABOVE.0 + SEAT.0, title);
        figure.note(format!("{} returns, {}", self.cloud.len(), self.calibration));
        let (width, height) = ABOVE;
        figure.panel(Area { left: 0.0, top: 0.0, width, height }, self.view_from_above());
        for (row, view) in self.seat_views().into_iter().enumerate() {
            let (width, height) = SEAT;
            figure.panel(Area { left: ABOVE.0, top: row as f64 * height, width, height }, view);
        }
        figure
    }

    fn view_from_above(&self) -> Panel {
        let reach = reach_m(&self.cloud);
        let (low, high) = heights_m(&self.cloud);
        let bar = ColourBar::linear("height above the sensor, m", HEIGHT, low, high);
        let mut panel = Panel::new(
            "From above",
            Axis::linear("to the left, m", reach, -reach),
            Axis::linear("ahead, m", -reach, reach),
        )
        .colour_bar(bar);
        // Highest points last, so that the ground does not cover objects.
        let mut points: Vec<_> = self.cloud.iter().map(|point| point.position_m).collect();
        points.sort_by(|a, b| a.z.total_cmp(&b.z));
        let dot = |p: &DVec3| (p.y, p.x, HEIGHT.at((p.z - low) / (high - low)));
        panel.dots(points.iter().map(dot).collect(), (2.0, 2.0));
        panel.dots(vec![(0.0, 0.0, SENSOR)], (9.0, 9.0));
        panel
    }

    /// Four panels: the forward and the backward view, each once coloured by range and once by intensity.
    fn seat_views(&self) -> [Panel; 4] {
        let margin = 1.5_f64.to_radians();
        let elevations = (self.elevations_rad.0 - margin, self.elevations_rad.1 + margin);
        let ranges = RangeScale::of(&self.cloud);
        let range_ticks = [0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]
            .into_iter()
            .map(|range_m: f64| (ranges.share(range_m), format!("{range_m}")))
            .filter(|(share, _)| (0.0..=1.0).contains(share));
        let by_range = ColourBar { name: "range, m", colours: RANGE, ticks: range_ticks.collect() };
        let strongest = strong(&self.cloud);
        let by_intensity = ColourBar::linear("intensity, 0 to 255", INTENSITY, 0.0, strongest);
        let range = |point: &CloudPoint| ranges.share(point.position_m.length());
        let intensity = |point: &CloudPoint| point.intensity / strongest;
        let view =
            |title: &str, facing: Facing, bar: &ColourBar, share: &dyn Fn(&CloudPoint) -> f64| {
                self.seat_view(title, facing, elevations, bar.clone(), share)
            };
        [
            view("Ahead, coloured by range", Facing::Ahead, &by_range, &range),
            view("Back, coloured by range", Facing::Back, &by_range, &range),
            view("Ahead, coloured by intensity", Facing::Ahead, &by_intensity, &intensity),
            view("Back, coloured by intensity", Facing::Back, &by_intensity, &intensity),
        ]
    }

    fn seat_view(
        &self,
        title: &str,
        facing: Facing,
        (low, high): (f64, f64),
        bar: ColourBar,
        share: &dyn Fn(&CloudPoint) -> f64,
    ) -> Panel {
        let middle_rad = match facing {
            Facing::Ahead => 0.0,
            Facing::Back => std::f64::consts::PI,
        };
        // Clockwise from forward, like the device's azimuth.
        let azimuth = |right_deg: i32| (right_deg + middle_rad.to_degrees() as i32).rem_euclid(360);
        let azimuths = (-90..=90).step_by(30).map(|deg| (f64::from(deg), azimuth(deg).to_string()));
        let mut dots: Vec<_> = self
            .cloud
            .iter()
            .map(|point| {
                let p = point.position_m;
                let right_rad = wrap(middle_rad - libm::atan2(p.y, p.x));
                let up_rad = libm::atan2(p.z, libm::sqrt(p.x * p.x + p.y * p.y));
                let colour = bar.colours.at(share(point));
                (p.length_squared(), (right_rad.to_degrees(), up_rad.to_degrees(), colour))
            })
            .collect();
        // Nearest points last, so that they cover farther ones.
        dots.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        let row_px = self.beam_spacing_rad / (high - low) * SEAT_ROWS_PX;
        let mut panel = Panel::new(
            title,
            Axis::linear("azimuth, degrees", -90.0, 90.0).with_ticks(azimuths),
            Axis::linear("elevation, degrees", low.to_degrees(), high.to_degrees()),
        )
        .colour_bar(bar);
        // The dots are wide enough to fill a firing's column, and high enough to fill a laser's row.
        let size_px = (3.0, (row_px.floor() + 1.0).clamp(2.0, 8.0));
        panel.dots(dots.into_iter().map(|(_, dot)| dot).collect(), size_px);
        panel
    }
}

/// Viewing direction from the sensor.
#[derive(Clone, Copy)]
enum Facing {
    Ahead,
    Back,
}

/// Half-width of the drawn square, metres: the smallest round number for which the square contains 98 % of the points,
/// at most 200.
fn reach_m(cloud: &[CloudPoint]) -> f64 {
    const ROUND_M: [f64; 13] =
        [2.5, 4.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 75.0, 100.0, 150.0];
    let far = quantile(cloud, 0.98, |p| p.position_m.x.abs().max(p.position_m.y.abs()));
    ROUND_M.into_iter().find(|reach| *reach >= far).unwrap_or(200.0)
}

/// Heights at the lower and the upper end of the colour scale, metres; outliers are ignored.
fn heights_m(cloud: &[CloudPoint]) -> (f64, f64) {
    let low = quantile(cloud, 0.02, |p| p.position_m.z);
    let high = quantile(cloud, 0.98, |p| p.position_m.z);
    (low, high.max(low + 0.5))
}

/// Intensity at the upper end of the colour scale. Few points exceed it, and a dark scene still uses several colours.
fn strong(cloud: &[CloudPoint]) -> f64 {
    const ROUND: [f64; 6] = [10.0, 25.0, 50.0, 100.0, 150.0, 200.0];
    let most = quantile(cloud, 0.98, |p| p.intensity);
    ROUND.into_iter().find(|round| *round >= most).unwrap_or(255.0)
}

fn quantile(cloud: &[CloudPoint], share: f64, of: impl Fn(&CloudPoint) -> f64) -> f64 {
    let mut values: Vec<f64> = cloud.iter().map(of).collect();
    if values.is_empty() {
        return 0.0;
    }
    let index = ((values.len() - 1) as f64 * share) as usize;
    *values.select_nth_unstable_by(index, f64::total_cmp).1
}

/// A logarithmic colour scale of ranges; outliers are ignored.
struct RangeScale {
    log_low: f64,
    log_high: f64,
}

impl RangeScale {
    fn of(cloud: &[CloudPoint]) -> Self {
        let low_m = quantile(cloud, 0.01, |p| p.position_m.length()).max(0.1);
        let high_m = quantile(cloud, 0.99, |p| p.position_m.length()).max(2.0 * low_m);
        Self { log_low: libm::log(low_m), log_high: libm::log(high_m) }
    }

    /// Position of `range_m` on the colour scale: 0 at its near end, 1 at its far end; outliers are below 0 or above 1.
    fn share(&self, range_m: f64) -> f64 {
        (libm::log(range_m) - self.log_low) / (self.log_high - self.log_low)
    }
}

/// Reduces an angle to -pi..=pi, radians.
fn wrap(angle_rad: f64) -> f64 {
    let turn = std::f64::consts::TAU;
    angle_rad - turn * libm::round(angle_rad / turn)
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DVec3;

    fn cloud(positions: &[[f64; 3]]) -> Vec<CloudPoint> {
        positions
            .iter()
            .map(|p| CloudPoint {
                position_m: DVec3::from(*p),
                intensity: 255.0,
                laser: 0,
                firing: 0,
                range_m: 0.0,
            })
            .collect()
    }

    fn rotation(positions: &[[f64; 3]]) -> Rotation {
        Rotation {
            model: "a lidar".to_owned(),
            number: 1,
            calibration: "none",
            elevations_rad: (-0.4, 0.05),
            beam_spacing_rad: 0.007,
            cloud: cloud(positions),
        }
    }

    #[test]
    fn a_point_is_drawn_where_it_is() {
        // 8 m ahead, 4 m to the left: the square reaches 10 m. In the forward view the point is 26.6 degrees to the
        // left; the backward view does not have it.
        let rotation = rotation(&[[8.0, 4.0, 0.0]; 50]);
        let rotation = Drawing(&rotation);
        let figure = rotation.draw("x");
        let sensor = figure.dots_of(SENSOR)[0];
        let above = figure.dots_of(HEIGHT.at(0.0))[0];
        let px_per_m = (sensor.1 - above.1) / 8.0;
        assert!(px_per_m > 30.0, "{px_per_m}");
        assert!((sensor.0 - above.0 - 4.0 * px_per_m).abs() < 0.1 * px_per_m, "{above:?}");
        let [ahead, back, ..] = rotation.seat_views().map(|view| {
            let mut figure = Figure::new(SEAT.0, "");
            figure.panel_below(SEAT.1, view);
            figure.dots_of(RANGE.at(0.0))
        });
        assert_eq!((ahead.len(), back.len()), (50, 0));
        // Forward is in the middle; the plotted area spans half a rotation.
        let (middle, half) = ((62.0 + SEAT.0 - 84.0) / 2.0, (SEAT.0 - 62.0 - 84.0) / 2.0);
        assert!((ahead[0].0 - (middle - 26.565 / 90.0 * half)).abs() < 3.0, "{:?}", ahead[0]);
    }

    #[test]
    fn the_square_holds_nearly_all() {
        assert_eq!(reach_m(&cloud(&[[12.0, -17.0, 0.0]])), 20.0);
        assert_eq!(reach_m(&cloud(&[])), 2.5);
        assert_eq!(reach_m(&cloud(&[[900.0, 0.0, 0.0]])), 200.0);
    }

    #[test]
    fn colours_cover_what_is_there() {
        let mut dark = cloud(&[[1.0, 0.0, 0.0]; 100]);
        dark.iter_mut().for_each(|point| point.intensity = 31.0);
        assert_eq!(strong(&dark), 50.0);
        // A few reflectors must not darken all other points.
        dark[7].intensity = 255.0;
        assert_eq!(strong(&dark), 50.0);
        dark.iter_mut().for_each(|point| point.intensity = 230.0);
        assert_eq!(strong(&dark), 255.0);
        let bar = ColourBar::linear("", HEIGHT, -1.5, 3.6);
        let numbers: Vec<&str> = bar.ticks.iter().map(|(_, number)| &**number).collect();
        assert_eq!(numbers, ["-1", "0", "1", "2", "3"]);
        assert!((bar.ticks[1].0 - 1.5 / 5.1).abs() < 1e-9);
    }

    #[test]
    fn angles_wrap() {
        assert!((wrap(4.0) - (4.0 - std::f64::consts::TAU)).abs() < 1e-12);
        assert!((wrap(-9.0) - (-9.0 + std::f64::consts::TAU)).abs() < 1e-12);
    }
}
