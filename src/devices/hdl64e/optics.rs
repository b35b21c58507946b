//! Optics of a unit: its calibration, applied and inverted.
//!
//! Applied: position and direction of each laser's beam. Inverted: raw distance and intensity from which a driver
//! with the same table computes the true range and intensity.
//!
//! A driver adds `distance_m` (`d`) to the raw distance; the sum is `D`. With near-point corrections it then shifts x
//! and y by amounts that are linear in |x| and |y| of the point (HDL-64E S2 manual, appendix F). With `dx` for
//! `distance_x_m`, the shift of x is `cx = kx (|x| - 2.40) + dx - d`, `kx = (d - dx) / (25.04 - 2.40)`. The shift of y
//! is computed in the same way, with 1.93 instead of 2.40. Along the beam, the range is `D (1 + slope) + shift`, which
//! [`Optics::raw_distance`] solves for `D`. The corrections across the beam differ for x and y; no raw distance can
//! compensate them.

use crate::hdl64e::profile::{
    CalibrationReading, FAR_POINT_M, FOCAL_SCALE_M, LaserCalibration, LaserTable, NEAR_POINT_X_M,
    NEAR_POINT_Y_M,
};
use crate::sensors::pattern::LaserGeometry;

/// Raw distance unit, metres.
pub const DISTANCE_UNIT_M: f64 = 0.002;
const COUNTS_PER_M: f64 = 500.0;
/// Smallest raw distance at which velodyne-decoder applies no near-point corrections, in units of 2 mm.
const FAR_POINT_RAW: f64 = FAR_POINT_M / DISTANCE_UNIT_M;

/// The optics of one unit.
#[derive(Clone, Debug)]
pub struct Optics {
    lasers: Vec<Laser>,
    reading: CalibrationReading,
}

/// Calibration of a laser, with derived values.
#[derive(Clone, Debug)]
struct Laser {
    calibration: LaserCalibration,
    sin_vertical: f64,
    cos_vertical: f64,
    /// Azimuth of the beam relative to the rotor: the negative rotational correction.
    rotation: Heading,
    two_point: Option<TwoPoint>,
    /// Intensity correction: 256 times the focal slope, and the square of 1 - focal distance / 131 m.
    focal: [f64; 2],
}

/// Near-point corrections of a laser; see the description of the module.
#[derive(Clone, Copy, Debug)]
struct TwoPoint {
    x: Axis,
    y: Axis,
    /// Weights with which drivers add the x and the y correction to z, each multiplied by the squared sine of the vertical
    /// angle.
    steep: [f64; 2],
    /// Squared cosine of the vertical angle.
    level: f64,
    /// Exit point of the beam that drivers assume: along the heading and to its left, metres.
    exit_m: [f64; 2],
}

/// Near-point correction along x or y.
#[derive(Clone, Copy, Debug)]
struct Axis {
    /// Increase of the correction per metre along the axis.
    gain: f64,
    /// Increase of the correction per metre of range, for a beam with the azimuth of the axis: `gain` times the cosine
    /// of the vertical angle.
    gain_along_beam: f64,
    /// Value of `cx` or `cy` (see the description of the module) at the coordinate 0, metres.
    at_zero_m: f64,
}

/// Sine and cosine of an azimuth.
#[derive(Clone, Copy, Debug)]
pub struct Heading {
    sin: f64,
    cos: f64,
}

impl Heading {
    /// The heading of `azimuth_rad`.
    pub fn of(azimuth_rad: f64) -> Self {
        let (sin, cos) = libm::sincos(azimuth_rad);
        Self { sin, cos }
    }

    /// Heading of the sum of two azimuths.
    fn plus(self, other: Self) -> Self {
        Self {
            sin: self.sin * other.cos + self.cos * other.sin,
            cos: self.cos * other.cos - self.sin * other.sin,
        }
    }

    /// Heading after a further rotation by `small_rad`, such as the rotation of the rotor during a block. The magnitude
    /// of `small_rad` is at most 0.05.
    pub fn turned(self, small_rad: f64) -> Self {
        let square = small_rad * small_rad;
        // Series with an error below 1e-15 in this range; faster than a sine and a cosine per point.
        let sin = small_rad * (1.0 - square / 6.0 * (1.0 - square / 20.0 * (1.0 - square / 42.0)));
        let cos = 1.0 - square / 2.0 * (1.0 - square / 12.0 * (1.0 - square / 30.0));
        self.plus(Self { sin, cos })
    }
}

impl Optics {
    /// Optics of a unit with the calibration `table`. Raw distances are made for drivers that use this table with the
    /// formula `reading`.
    pub fn new(table: &LaserTable, reading: CalibrationReading) -> Self {
        let laser = |calibration: &LaserCalibration| {
            let (sin_vertical, cos_vertical) = libm::sincos(calibration.vertical_rad);
            let is_two_point = match reading {
                CalibrationReading::Ros => table.two_point_correction,
                CalibrationReading::VelodyneDecoder => {
                    calibration.distance_x_m != 0.0 && calibration.distance_y_m != 0.0
                }
            };
            let focal = 1.0 - calibration.focal_distance_m / FOCAL_SCALE_M;
            Laser {
                calibration: *calibration,
                sin_vertical,
                cos_vertical,
                rotation: Heading::of(-calibration.rotational_rad),
                two_point: is_two_point
                    .then(|| TwoPoint::new(calibration, (sin_vertical, cos_vertical), reading)),
                focal: [calibration.focal_slope * 256.0, focal * focal],
            }
        };
        Self { lasers: table.lasers.iter().map(laser).collect(), reading }
    }

    /// Geometry of each laser's beam, by laser id.
    pub fn geometry(&self) -> Vec<LaserGeometry> {
        let geometry = |laser: &Laser| {
            let c = &laser.calibration;
            let (exit_forward_m, exit_up_m) = match self.reading {
                CalibrationReading::VelodyneDecoder => (0.0, c.vertical_offset_m),
                CalibrationReading::Ros => (
                    -c.vertical_offset_m * laser.sin_vertical,
                    c.vertical_offset_m * laser.cos_vertical,
                ),
            };
            LaserGeometry {
                elevation_rad: c.vertical_rad,
                azimuth_offset_rad: -c.rotational_rad,
                exit_forward_m,
                exit_left_m: c.horizontal_offset_m,
                exit_up_m,
            }
        };
        self.lasers.iter().map(geometry).collect()
    }

    /// Raw distance for a range of `range_m` along the beam of laser `laser` with the rotor at `rotor`; `None` if the
    /// result is outside 1..=65535.
    #[inline(never)] // inlined into the loop over a packet's points it is 5 % slower
    pub fn raw_distance(&self, laser: usize, rotor: Heading, range_m: f64) -> Option<u16> {
        /// Smallest unrounded raw distance that is rounded to [`FAR_POINT_RAW`].
        const FAR_COUNTS: f64 = FAR_POINT_RAW - 0.5;
        let laser = &self.lasers[laser];
        let counts_of =
            |distance_m: f64| (distance_m - laser.calibration.distance_m) * COUNTS_PER_M;
        let counts = match &laser.two_point {
            None => counts_of(range_m),
            Some(two_point) => {
                let (slope, shift) = two_point.along(rotor.plus(laser.rotation));
                let near = counts_of((range_m - shift) / (1.0 + slope));
                let (far, last_near) = (counts_of(range_m), FAR_POINT_RAW - 1.0);
                if self.reading == CalibrationReading::Ros || near < FAR_COUNTS {
                    near
                } else if far >= FAR_COUNTS {
                    far
                // Near-point corrections end at the far point, where the computed range jumps. No raw distance gives a range
                // inside this jump; the nearer end is used.
                } else if near - last_near < FAR_POINT_RAW - far {
                    last_near
                } else {
                    FAR_POINT_RAW
                }
            }
        };
        // Half counts are rounded up; the rounding of the firmware is unknown.
        let raw = counts + 0.5;
        (1.0..65_536.0).contains(&raw).then_some(raw as u16)
    }

    /// Intensity byte from which a driver computes `intensity` (0..=1, 1 is full scale) at a raw distance. The driver adds a
    /// focal correction; it is subtracted here.
    pub fn raw_intensity(&self, laser: usize, raw_distance: u16, intensity: f64) -> u8 {
        let [slope, focal] = self.lasers[laser].focal;
        let distance = 1.0 - f64::from(raw_distance) / 65_535.0;
        let added = slope * (focal - distance * distance).abs();
        // A cast saturates at 0 and 255.
        (intensity * 255.0 - added + 0.5) as u8
    }
}

impl TwoPoint {
    fn new(
        c: &LaserCalibration,
        (sin_vertical, cos_vertical): (f64, f64),
        reading: CalibrationReading,
    ) -> Self {
        let axis = |near_m: f64, near_correction_m: f64| {
            let gain = (c.distance_m - near_correction_m) / (FAR_POINT_M - near_m);
            Axis {
                gain,
                gain_along_beam: gain * cos_vertical,
                at_zero_m: near_correction_m - c.distance_m - gain * near_m,
            }
        };
        let (exit_m, [z_x, z_y]) = match reading {
            CalibrationReading::VelodyneDecoder => ([0.0; 2], [0.5, 0.5]),
            CalibrationReading::Ros => {
                ([-c.vertical_offset_m * sin_vertical, c.horizontal_offset_m], [0.0, 1.0])
            }
        };
        let steep = sin_vertical * sin_vertical;
        Self {
            x: axis(NEAR_POINT_X_M, c.distance_x_m),
            y: axis(NEAR_POINT_Y_M, c.distance_y_m),
            steep: [steep * z_x, steep * z_y],
            level: cos_vertical * cos_vertical,
            exit_m,
        }
    }

    /// Slope and shift (metres) of the near-point correction along a beam with this heading. From the distance `D`, the
    /// raw distance plus `distance_m`, a driver computes the range `D (1 + slope) + shift`.
    fn along(&self, Heading { sin, cos }: Heading) -> (f64, f64) {
        let [forward, left] = self.exit_m;
        let (offset_x, offset_y) = (forward * sin - left * cos, forward * cos + left * sin);
        // |x| = D cos(vertical) |sin a| + offset along the same axis.
        let correction = |axis: &Axis, share: f64, offset_m: f64| {
            let slope = axis.gain_along_beam * share.abs();
            (slope, axis.gain * offset_m * share.signum() + axis.at_zero_m)
        };
        let (slope_x, shift_x) = correction(&self.x, sin, offset_x);
        let (slope_y, shift_y) = correction(&self.y, cos, offset_y);
        let share_x = self.level * sin * sin + self.steep[0];
        let share_y = self.level * cos * cos + self.steep[1];
        (share_x * slope_x + share_y * slope_y, share_x * shift_x + share_y * shift_y)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A laser from the table of a real S2.
    fn table(two_point_correction: bool) -> LaserTable {
        let laser = LaserCalibration {
            vertical_rad: (-8.768623f64).to_radians(),
            rotational_rad: (-7.155916f64).to_radians(),
            distance_m: 1.5195264,
            distance_x_m: 1.5500304,
            distance_y_m: 1.5231381,
            vertical_offset_m: 0.19548199,
            horizontal_offset_m: 0.026,
            focal_distance_m: 12.0,
            focal_slope: 1.4,
            min_intensity: 30,
            max_intensity: 235,
        };
        LaserTable { two_point_correction, lasers: vec![laser; 64] }
    }

    /// The point that a driver computes, by its source code; device axes (x right, y forward, z up).
    fn driver_point(reading: CalibrationReading, raw: u16, rotor_azimuth_rad: f64) -> [f64; 3] {
        let c = table(true).lasers[0];
        let d = f64::from(raw) * DISTANCE_UNIT_M + c.distance_m;
        let (sa, ca) = libm::sincos(rotor_azimuth_rad - c.rotational_rad);
        let (sv, cv) = libm::sincos(c.vertical_rad);
        let (vo, ho) = (c.vertical_offset_m, c.horizontal_offset_m);
        let correction = |near: f64, at_near: f64, place: f64| {
            (c.distance_m - at_near) * (place - near) / (FAR_POINT_M - near) + at_near
                - c.distance_m
        };
        match reading {
            CalibrationReading::VelodyneDecoder => {
                let (cx, cy) = if f64::from(raw) < FAR_POINT_RAW {
                    (
                        correction(2.40, c.distance_x_m, (d * cv * sa).abs()),
                        correction(1.93, c.distance_y_m, (d * cv * ca).abs()),
                    )
                } else {
                    (0.0, 0.0)
                };
                [
                    (d + cx) * cv * sa - ho * ca,
                    (d + cy) * cv * ca + ho * sa,
                    (d + (cx + cy) / 2.0) * sv + vo,
                ]
            }
            CalibrationReading::Ros => {
                let level = |d: f64| d * cv - vo * sv;
                let cx = correction(2.40, c.distance_x_m, (level(d) * sa - ho * ca).abs());
                let cy = correction(1.93, c.distance_y_m, (level(d) * ca + ho * sa).abs());
                [
                    level(d + cx) * sa - ho * ca,
                    level(d + cy) * ca + ho * sa,
                    (d + cy) * sv + vo * cv,
                ]
            }
        }
    }

    proptest! {
        #[test]
        fn a_driver_gets_the_true_range_back(
            azimuth in 0.0..std::f64::consts::TAU,
            range in 3.0..120.0f64,
            is_ros: bool,
        ) {
            let reading =
                if is_ros { CalibrationReading::Ros } else { CalibrationReading::VelodyneDecoder };
            let optics = Optics::new(&table(true), reading);
            let raw = optics.raw_distance(0, Heading::of(azimuth), range).unwrap();
            let [x, y, z] = driver_point(reading, raw, azimuth);
            // Device axes to forward-left-up.
            let point = glam::DVec3::new(y, -x, z);
            let laser = optics.geometry()[0];
            let beam = laser.beam(
                libm::sincos(azimuth + laser.azimuth_offset_rad),
                libm::sincos(laser.elevation_rad),
            );
            let along = (point - beam.exit).dot(beam.direction);
            // Half a count of 2 mm, changed by up to a thousandth by the corrections. At the far point of velodyne-decoder,
            // a range inside the jump has no exact count.
            let at_step = !is_ros && (f64::from(raw) - FAR_POINT_RAW).abs() < 2.0;
            let tolerance = if at_step { 0.02 } else { 0.001_01 };
            prop_assert!((along - range).abs() < tolerance, "{along} for {range}");
        }

        #[test]
        fn a_driver_gets_the_intensity_back(raw in 1..=65_535u16, intensity in 0.0..1.0f64) {
            let optics = Optics::new(&table(true), CalibrationReading::VelodyneDecoder);
            let sent = optics.raw_intensity(0, raw, intensity);
            let focal = (1.0 - 12.0 / 131.0f64).powi(2);
            let distance = (1.0 - f64::from(raw) / 65_535.0).powi(2);
            let read = f64::from(sent) + 1.4 * 256.0 * (focal - distance).abs();
            let wanted = intensity * 255.0;
            prop_assert!((read - wanted).abs() <= 0.5 || (sent == 0 && read > wanted));
        }
    }

    #[test]
    fn a_heading_turns_as_the_functions_say() {
        for step in -50..=50 {
            let small_rad = f64::from(step) * 1e-3;
            let (turned, exact) =
                (Heading::of(1.234).turned(small_rad), Heading::of(1.234 + small_rad));
            assert!((turned.sin - exact.sin).abs() < 1e-15, "{small_rad}");
            assert!((turned.cos - exact.cos).abs() < 1e-15, "{small_rad}");
        }
    }

    #[test]
    fn what_a_count_cannot_tell_is_no_return() {
        let optics = Optics::new(&table(true), CalibrationReading::VelodyneDecoder);
        let ahead = Heading::of(0.0);
        assert_eq!(optics.raw_distance(0, ahead, 1.0), None);
        assert_eq!(optics.raw_distance(0, ahead, 133.0), None);
    }

    #[test]
    fn the_flag_matters_to_ros_only() {
        let range = |reading, flag| {
            let optics = Optics::new(&table(flag), reading);
            optics.raw_distance(0, Heading::of(1.0), 10.0).unwrap()
        };
        let ros = CalibrationReading::Ros;
        let decoder = CalibrationReading::VelodyneDecoder;
        assert_ne!(range(ros, true), range(ros, false));
        assert_eq!(range(decoder, true), range(decoder, false));
    }
}
