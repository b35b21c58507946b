//! One rotation as a picture: from above, and from the driver's seat.

use embedded_graphics::pixelcolor::Rgb888;
use embedded_graphics::prelude::RgbColor;
use embedded_graphics::text::Alignment;
use image::RgbImage;

use super::Hints;
use crate::analysis::capture::{CaptureError, CaptureReader, Source};
use crate::analysis::cloud::{CloudDecoder, CloudPoint, table_of};
use crate::analysis::data_flow::{DataFlow, Unit};
use crate::analysis::flows::{Analysis, Payload, Seen};
use crate::plot::canvas::{BRIGHTNESS, Canvas, HEIGHT, LARGE, MEDIUM, SMALL, Scale, WARM_TO_COLD};
use crate::wire::velodyne::Bank;

/// More points than any rotation has: 300 rpm at 4.8 million a second is a fifth of this.
const MAX_POINTS: usize = 5_000_000;

const BACKGROUND: Rgb888 = Rgb888::new(14, 16, 22);
const PANEL: Rgb888 = Rgb888::new(21, 24, 32);
const GRID: Rgb888 = Rgb888::new(46, 51, 64);
const AXIS: Rgb888 = Rgb888::new(86, 94, 114);
const LABEL: Rgb888 = Rgb888::new(150, 158, 176);
const TITLE: Rgb888 = Rgb888::new(232, 236, 244);

const WIDTH: u32 = 1920;
const HEIGHT_PX: u32 = 1130;
/// The top view: its left and upper edge and its side.
const TOP: (i32, i32, i32) = (64, 76, 960);
/// The seat views: left edge, upper edge of the first, width, height and distance of each.
const SEAT: (i32, i32, i32, i32, i32) = (1088, 96, 792, 190, 248);

/// Why a rotation cannot be drawn.
#[derive(Debug, thiserror::Error)]
pub enum PlotError {
    /// The capture.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// Nothing to draw.
    #[error("nothing to draw: no lidar's data packets in it")]
    NoData,
    /// The angles are not known.
    #[error(
        "the calibration of this HDL-64E is not known: it is not in the status bytes (a second and \
         a half of an S2 or S3 holds it); give it with --calibration FILE.yaml or --profile NAME"
    )]
    NoCalibration,
    /// No table for the model.
    #[error("drawing {0} is not supported")]
    NoTable(&'static str),
    /// Beyond the end.
    #[error("rotation {asked} is not whole in it; it has {whole}")]
    NoRotation {
        /// The one asked for.
        asked: u64,
        /// How many there are.
        whole: u64,
    },
    /// Not a rotation.
    #[error("rotation {0} has no end: no lidar sends so many points")]
    Endless(u64),
}

/// One rotation, ready to be drawn.
#[derive(Debug)]
pub struct Rotation {
    unit: Unit,
    number: u64,
    calibration: &'static str,
    elevations_rad: (f64, f64),
    beam_spacing_rad: f64,
    cloud: Vec<CloudPoint>,
}

/// Collects rotation `number` (1 is the first whole one) of the flow with the most data packets.
pub fn rotation(
    source: Source<'_>,
    analysis: &Analysis,
    hints: &Hints,
    number: u64,
) -> Result<Rotation, PlotError> {
    let (flow, data) = analysis.main_data_flow().ok_or(PlotError::NoData)?;
    let unit = analysis.unit(data);
    let (decoder, calibration) = decoder(unit, data, hints)?;
    let mut rotation = Rotation {
        unit,
        number,
        calibration,
        elevations_rad: decoder.elevations_rad(),
        beam_spacing_rad: decoder.beam_spacing_rad(),
        cloud: Vec::new(),
    };
    let mut reader = CaptureReader::open(source)?;
    let mut current = 0;
    let mut last_azimuth = None;
    // A fault of the file was told before; what precedes it can be drawn.
    while let Some(Ok(captured)) = reader.next_frame() {
        let Seen::Udp { datagram, payload: Payload::Data(packet) } =
            Seen::in_frame(captured.link, captured.frame)
        else {
            continue;
        };
        if (datagram.source, datagram.destination) != (flow.source, flow.destination) {
            continue;
        }
        for (index, block) in packet.blocks.iter().enumerate() {
            if Bank::from_flag(block.flag).is_none() {
                continue;
            }
            let azimuth = block.azimuth_centideg;
            // Far back is past zero; a little back is jitter.
            let last = last_azimuth.replace(azimuth).unwrap_or(azimuth);
            current += u64::from(last.saturating_sub(azimuth) > 18_000);
            if current == number {
                decoder.decode(&packet, index, &mut rotation.cloud);
            }
            if rotation.cloud.len() > MAX_POINTS {
                return Err(PlotError::Endless(number));
            }
            if current > number {
                return Ok(rotation);
            }
        }
    }
    Err(PlotError::NoRotation { asked: number, whole: current.saturating_sub(1) })
}

/// The decoder of a unit, and where its calibration is from.
fn decoder(
    unit: Unit,
    data: &DataFlow,
    hints: &Hints,
) -> Result<(CloudDecoder, &'static str), PlotError> {
    match unit {
        Unit::Hdl64e(_) => {
            let streamed = data.table.as_ref().map(|status| table_of(status));
            let (table, from) = if let Some(table) = &hints.calibration {
                (table, "calibration from a file")
            } else if let Some(table) = &streamed {
                (table, "calibration from the stream")
            } else if let Some(table) = &hints.profile_calibration {
                (table, "calibration of the profile")
            } else {
                return Err(PlotError::NoCalibration);
            };
            Ok((CloudDecoder::hdl64e(table), from))
        }
        Unit::Other(model) => CloudDecoder::fixed(model)
            .map(|decoder| (decoder, "angles of the model"))
            .ok_or(PlotError::NoTable(model.name())),
        Unit::Unknown => Err(PlotError::NoTable("an unknown lidar")),
    }
}

impl Rotation {
    /// Draws the picture; `name` is the capture's.
    pub fn draw(&self, name: &str) -> RgbImage {
        let mut canvas = Canvas::new(WIDTH, HEIGHT_PX, BACKGROUND);
        let file = name.rsplit('/').next().unwrap_or(name);
        let title = format!("{file}   {}   rotation {}", self.unit.name(), self.number);
        canvas.text(&title, (TOP.0, 28), LARGE, TITLE, Alignment::Left);
        let subtitle = format!("{} returns, {}", self.cloud.len(), self.calibration);
        canvas.text(&subtitle, (WIDTH as i32 - 40, 28), MEDIUM, LABEL, Alignment::Right);
        self.draw_from_above(&mut canvas);
        self.draw_seat_views(&mut canvas);
        canvas.0
    }

    fn draw_from_above(&self, canvas: &mut Canvas) {
        let (left, upper, side) = TOP;
        let reach = reach_m(&self.cloud);
        let px_per_m = f64::from(side) / (2.0 * reach);
        let centre = (left + side / 2, upper + side / 2);
        let px = |metres: f64| (metres * px_per_m).round() as i32;
        let caption = "from above, metres; x forward is up, y left is left; colour is height";
        canvas.text(caption, (left, upper - 14), MEDIUM, LABEL, Alignment::Left);
        canvas.fill((left, upper), (side as u32, side as u32), PANEL);

        let step = reach / 5.0;
        for index in -5..=5 {
            let metres = step * f64::from(index);
            let colour = if index == 0 { AXIS } else { GRID };
            let at = px(metres);
            let (x, y) = (centre.0 - at, centre.1 - at);
            canvas.line((x, upper), (x, upper + side - 1), colour);
            canvas.line((left, y), (left + side - 1, y), colour);
            let label = format!("{}", (metres * 10.0).round() / 10.0);
            canvas.text(&label, (x, upper + side + 12), SMALL, LABEL, Alignment::Center);
            canvas.text(&label, (left - 8, y), SMALL, LABEL, Alignment::Right);
        }

        let (low, high) = heights_m(&self.cloud);
        // The highest last, so that what stands is not buried in the ground.
        let mut order: Vec<&CloudPoint> = self.cloud.iter().collect();
        order.sort_by(|a, b| a.position_m.z.total_cmp(&b.position_m.z));
        for point in order {
            let p = point.position_m;
            if p.x.abs() >= reach || p.y.abs() >= reach {
                continue;
            }
            let colour = HEIGHT.at((p.z - low) / (high - low));
            let at = (centre.0 - px(p.y), centre.1 - px(p.x));
            canvas.fill(at, (2, 2), colour);
        }
        // The sensor, nose up.
        for row in 0..12 {
            let half = row / 2;
            let from = (centre.0 - half, centre.1 - 6 + row);
            canvas.line(from, (centre.0 + half, from.1), Rgb888::WHITE);
        }
        let ticks =
            [0.0, 0.25, 0.5, 0.75, 1.0].map(|t| (t, format!("{:.1}", low + (high - low) * t)));
        legend(canvas, (left, upper + side + 36), "height m", HEIGHT, &ticks);
    }

    fn draw_seat_views(&self, canvas: &mut Canvas) {
        let (left, upper, width, height, distance) = SEAT;
        let (low, high) = self.elevations_rad;
        let margin = 1.5_f64.to_radians();
        let (low, high) = (low - margin, high + margin);
        let px_per_rad =
            (f64::from(width) / std::f64::consts::PI, f64::from(height) / (high - low));

        let ranges = RangeScale::of(&self.cloud);
        let by_range =
            |point: &CloudPoint| WARM_TO_COLD.at(ranges.share(point.position_m.length()));
        let by_intensity = |point: &CloudPoint| BRIGHTNESS.at(point.intensity / 255.0);
        type Colour<'a> = &'a dyn Fn(&CloudPoint) -> Rgb888;
        let views: [(&str, f64, Colour<'_>); 4] = [
            ("driver's seat, ahead; colour is range", 0.0, &by_range),
            ("looking back; colour is range", std::f64::consts::PI, &by_range),
            ("driver's seat, ahead; colour is intensity", 0.0, &by_intensity),
            ("looking back; colour is intensity", std::f64::consts::PI, &by_intensity),
        ];
        // The nearest last: it hides what is behind it.
        let mut order: Vec<&CloudPoint> = self.cloud.iter().collect();
        order.sort_by(|a, b| {
            b.position_m.length_squared().total_cmp(&a.position_m.length_squared())
        });
        // A laser's row, and a firing's column, filled.
        let dot = (3, ((self.beam_spacing_rad * px_per_rad.1) as u32 + 1).clamp(2, 8));

        for (index, (caption, facing, colour)) in views.into_iter().enumerate() {
            let top = upper + distance * index as i32;
            canvas.text(caption, (left, top - 14), MEDIUM, LABEL, Alignment::Left);
            canvas.fill((left, top), (width as u32, height as u32), PANEL);
            for point in &order {
                let p = point.position_m;
                let to_the_right = facing - libm::atan2(p.y, p.x);
                let to_the_right = wrap(to_the_right);
                let up = libm::atan2(p.z, libm::sqrt(p.x * p.x + p.y * p.y));
                if to_the_right.abs() >= std::f64::consts::FRAC_PI_2 || up <= low || up >= high {
                    continue;
                }
                let x = left + width / 2 + (to_the_right * px_per_rad.0) as i32 - 1;
                let y = top + ((high - up) * px_per_rad.1) as i32 - 1;
                // Kept within the panel.
                let x = x.clamp(left, left + width - dot.0 as i32);
                let y = y.clamp(top, top + height - dot.1 as i32);
                canvas.fill((x, y), dot, colour(point));
            }
            seat_scales(canvas, top, facing, (low, high), px_per_rad);
        }
        let ticks: Vec<(f64, String)> = [0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]
            .into_iter()
            .map(|range_m| (ranges.share(range_m), format!("{range_m}")))
            .filter(|(share, _)| (0.0..=1.0).contains(share))
            .collect();
        let row = TOP.1 + TOP.2 + 36;
        legend(canvas, (left, row), "range m", WARM_TO_COLD, &ticks);
        let ticks =
            [0.0, 64.0, 128.0, 192.0, 255.0].map(|value: f64| (value / 255.0, format!("{value}")));
        legend(canvas, (left + 410, row), "intensity", BRIGHTNESS, &ticks);
    }
}

/// Degrees along the lower and left edge of a seat view, and the horizon.
fn seat_scales(
    canvas: &mut Canvas,
    top: i32,
    facing: f64,
    (low, high): (f64, f64),
    px_per_rad: (f64, f64),
) {
    let (left, _, width, height, _) = SEAT;
    for degrees in (-90..=90).step_by(30) {
        let offset = f64::from(degrees).to_radians() * px_per_rad.0;
        let x = left + width / 2 + offset as i32;
        // Clockwise from straight ahead, as the device counts.
        let azimuth = (degrees + facing.to_degrees() as i32).rem_euclid(360);
        canvas.line((x, top + height), (x, top + height + 3), AXIS);
        let label = format!("{azimuth}\u{b0}");
        canvas.text(&label, (x, top + height + 11), SMALL, LABEL, Alignment::Center);
    }
    for degrees in (-30..=30).step_by(10) {
        let up = f64::from(degrees).to_radians();
        if up > low && up < high {
            let y = top + ((high - up) * px_per_rad.1) as i32;
            canvas.line((left - 4, y), (left - 1, y), AXIS);
            let label = format!("{degrees}\u{b0}");
            canvas.text(&label, (left - 8, y), SMALL, LABEL, Alignment::Right);
        }
    }
}

/// A scale of colours with its ticks, 300 pixels wide, its name before it.
fn legend(
    canvas: &mut Canvas,
    (left, top): (i32, i32),
    name: &str,
    scale: Scale,
    ticks: &[(f64, String)],
) {
    const BAR: i32 = 300;
    canvas.text(name, (left, top + 6), MEDIUM, LABEL, Alignment::Left);
    let bar = left + 82;
    for x in 0..BAR {
        let colour = scale.at(f64::from(x) / f64::from(BAR - 1));
        canvas.line((bar + x, top), (bar + x, top + 11), colour);
    }
    for (t, label) in ticks {
        let x = bar + (t * f64::from(BAR)) as i32;
        canvas.line((x, top + 12), (x, top + 15), AXIS);
        canvas.text(label, (x, top + 22), SMALL, LABEL, Alignment::Center);
    }
}

/// Half the side of a square that holds nearly all points, metres: a round number whose fifth is
/// round too.
fn reach_m(cloud: &[CloudPoint]) -> f64 {
    const ROUND_M: [f64; 13] =
        [2.5, 4.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 75.0, 100.0, 150.0];
    let far = quantile(cloud, 0.98, |p| p.position_m.x.abs().max(p.position_m.y.abs()));
    ROUND_M.into_iter().find(|reach| *reach >= far).unwrap_or(200.0)
}

/// From low to high for the colours, metres; stray points do not count.
fn heights_m(cloud: &[CloudPoint]) -> (f64, f64) {
    let low = quantile(cloud, 0.02, |p| p.position_m.z);
    let high = quantile(cloud, 0.98, |p| p.position_m.z);
    (low, high.max(low + 0.5))
}

fn quantile(cloud: &[CloudPoint], share: f64, of: impl Fn(&CloudPoint) -> f64) -> f64 {
    let mut values: Vec<f64> = cloud.iter().map(of).collect();
    if values.is_empty() {
        return 0.0;
    }
    let index = ((values.len() - 1) as f64 * share) as usize;
    *values.select_nth_unstable_by(index, f64::total_cmp).1
}

/// A logarithmic scale of ranges; stray points do not count.
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

    /// 0 for the nearest, 1 for the farthest; beyond for what is nearer or farther.
    fn share(&self, range_m: f64) -> f64 {
        (libm::log(range_m) - self.log_low) / (self.log_high - self.log_low)
    }
}

/// An angle in -pi..=pi, radians.
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
            .map(|p| CloudPoint { position_m: DVec3::from(*p), intensity: 255.0 })
            .collect()
    }

    fn rotation(positions: &[[f64; 3]]) -> Rotation {
        Rotation {
            unit: Unit::Unknown,
            number: 1,
            calibration: "none",
            elevations_rad: (-0.4, 0.05),
            beam_spacing_rad: 0.007,
            cloud: cloud(positions),
        }
    }

    #[test]
    fn a_point_is_drawn_where_it_is() {
        // 8 m ahead, 4 m to the left: the square reaches 10 m.
        let empty = rotation(&[]).draw("x");
        let drawn = rotation(&[[8.0, 4.0, 0.0]; 50]).draw("x");
        let changed: Vec<(u32, u32)> = drawn
            .enumerate_pixels()
            .filter(|(x, y, pixel)| *pixel != empty.get_pixel(*x, *y) && *y > 60)
            .map(|(x, y, _)| (x, y))
            .collect();
        let (centre, px_per_m) = (TOP.0 + TOP.2 / 2, TOP.2 / 20);
        let above = ((centre - 4 * px_per_m) as u32, (TOP.1 + TOP.2 / 2 - 8 * px_per_m) as u32);
        let lowest = HEIGHT.at(0.0);
        let pixel = drawn.get_pixel(above.0, above.1).0;
        assert_eq!(pixel, [lowest.r(), lowest.g(), lowest.b()]);
        // Ahead and 26.6 degrees to the left, in the first and third seat view.
        let x = SEAT.0 + SEAT.2 / 2 - (26.57 / 180.0 * f64::from(SEAT.2)) as i32;
        for view in [0, 2] {
            let rows = SEAT.1 + SEAT.4 * view..SEAT.1 + SEAT.4 * view + SEAT.3;
            let hit = changed
                .iter()
                .any(|(cx, cy)| (*cx as i32 - x).abs() < 4 && rows.contains(&(*cy as i32)));
            assert!(hit, "view {view}: nothing at column {x}");
        }
        for view in [1, 3] {
            let rows = SEAT.1 + SEAT.4 * view..SEAT.1 + SEAT.4 * view + SEAT.3;
            let columns = SEAT.0..SEAT.0 + SEAT.2;
            assert!(
                !changed
                    .iter()
                    .any(|(x, y)| columns.contains(&(*x as i32)) && rows.contains(&(*y as i32)))
            );
        }
    }

    #[test]
    fn the_square_holds_nearly_all() {
        assert_eq!(reach_m(&cloud(&[[12.0, -17.0, 0.0]])), 20.0);
        assert_eq!(reach_m(&cloud(&[])), 2.5);
        assert_eq!(reach_m(&cloud(&[[900.0, 0.0, 0.0]])), 200.0);
    }

    #[test]
    fn angles_wrap() {
        assert!((wrap(4.0) - (4.0 - std::f64::consts::TAU)).abs() < 1e-12);
        assert!((wrap(-9.0) - (-9.0 + std::f64::consts::TAU)).abs() < 1e-12);
    }
}
