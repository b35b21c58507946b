//! A unit's calibration, forward and back.
//!
//! Forward: where each laser's beam leaves the head. Back: the raw distance and intensity from
//! which a driver with the same table computes the true range and the wanted intensity.
//!
//! A driver adds `distance_m` to the raw distance, giving `D`. With near-point corrections it then
//! moves x and y by amounts that are linear in the point's own |x| and |y| (HDL-64E S2 manual,
//! appendix F): `cx = kx (|x| - 2.40) + dx - d`, `kx = (d - dx) / (25.04 - 2.40)`, the same for y with
//! 1.93. Along the beam that makes a range of `D (1 + slope) + shift`, which is what
//! [`Optics::raw_distance`] solves. What the corrections do across the beam (they differ for x and
//! y) no raw distance can undo.

use crate::config::hdl64e::{
    CalibrationReading, FAR_POINT_M, FOCAL_SCALE_M, LaserCalibration, LaserTable, NEAR_POINT_X_M,
    NEAR_POINT_Y_M,
};
use crate::sensors::pattern::LaserGeometry;

/// Metres of one raw distance count.
pub const DISTANCE_UNIT_M: f64 = 0.002;
/// Raw distances from here on have no near-point corrections in velodyne-decoder.
const FAR_POINT_RAW: f64 = FAR_POINT_M / DISTANCE_UNIT_M;

/// The optics of one unit.
#[derive(Clone, Debug)]
pub struct Optics {
    lasers: Vec<Laser>,
    reading: CalibrationReading,
}

#[derive(Clone, Debug)]
struct Laser {
    calibration: LaserCalibration,
    sin_vertical: f64,
    cos_vertical: f64,
    is_two_point: bool,
}

impl Optics {
    /// The optics that `table` describes, as drivers with `reading` understand it.
    pub fn new(table: &LaserTable, reading: CalibrationReading) -> Self {
        let laser = |calibration: &LaserCalibration| {
            let (sin_vertical, cos_vertical) = libm::sincos(calibration.vertical_rad);
            let is_two_point = match reading {
                CalibrationReading::Ros => table.two_point_correction,
                CalibrationReading::VelodyneDecoder => {
                    calibration.distance_x_m != 0.0 && calibration.distance_y_m != 0.0
                }
            };
            Laser { calibration: *calibration, sin_vertical, cos_vertical, is_two_point }
        };
        Self { lasers: table.lasers.iter().map(laser).collect(), reading }
    }

    /// Where each laser's beam leaves, by laser id.
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

    /// The raw distance that tells `range_m` along the beam of laser `laser` with the rotor at
    /// `rotor_azimuth_rad`. `None` when no distance of 1..=65535 does.
    pub fn raw_distance(&self, laser: usize, rotor_azimuth_rad: f64, range_m: f64) -> Option<u16> {
        let laser = &self.lasers[laser];
        let counts_of =
            |distance_m: f64| (distance_m - laser.calibration.distance_m) / DISTANCE_UNIT_M;
        let far = counts_of(range_m);
        let counts = if laser.is_two_point {
            let (slope, shift) = self.two_point(laser, rotor_azimuth_rad);
            let near = counts_of((range_m - shift) / (1.0 + slope));
            match self.reading {
                CalibrationReading::Ros => near,
                CalibrationReading::VelodyneDecoder if near.round() < FAR_POINT_RAW => near,
                CalibrationReading::VelodyneDecoder if far.round() >= FAR_POINT_RAW => far,
                // With and without corrections do not meet at the far point; a range in the
                // gap goes to the nearer edge.
                CalibrationReading::VelodyneDecoder => {
                    let last_near = FAR_POINT_RAW - 1.0;
                    if near - last_near < FAR_POINT_RAW - far { last_near } else { FAR_POINT_RAW }
                }
            }
        } else {
            far
        };
        // Half away from zero; how the firmware rounds is not known.
        let raw = counts.round();
        (1.0..=65_535.0).contains(&raw).then_some(raw as u16)
    }

    /// The intensity byte from which a driver gets `intensity` (of full scale, 0..=1) at a raw
    /// distance: the focal correction taken back.
    pub fn raw_intensity(&self, laser: usize, raw_distance: u16, intensity: f64) -> u8 {
        let c = &self.lasers[laser].calibration;
        let square = |x: f64| x * x;
        let focal = square(1.0 - c.focal_distance_m / FOCAL_SCALE_M);
        let distance = square(1.0 - f64::from(raw_distance) / 65_535.0);
        let added = c.focal_slope * 256.0 * (focal - distance).abs();
        (intensity * 255.0 - added).round().clamp(0.0, 255.0) as u8
    }

    /// `slope` and `shift` of the range along the beam, see the module's text.
    fn two_point(&self, laser: &Laser, rotor_azimuth_rad: f64) -> (f64, f64) {
        let c = &laser.calibration;
        let (sin_a, cos_a) = libm::sincos(rotor_azimuth_rad - c.rotational_rad);
        let axis = |near_m: f64, near_correction_m: f64, share: f64, offset_m: f64| {
            let k = (c.distance_m - near_correction_m) / (FAR_POINT_M - near_m);
            // |x| = D cos(vertical) |sin a| + offset along the same axis.
            let slope = k * laser.cos_vertical * share.abs();
            let shift = k * (offset_m * share.signum() - near_m) + near_correction_m - c.distance_m;
            (slope, shift)
        };
        let (offset_x, offset_y) = match self.reading {
            CalibrationReading::VelodyneDecoder => (0.0, 0.0),
            CalibrationReading::Ros => {
                let forward = -c.vertical_offset_m * laser.sin_vertical;
                let left = c.horizontal_offset_m;
                (forward * sin_a - left * cos_a, forward * cos_a + left * sin_a)
            }
        };
        let (slope_x, shift_x) = axis(NEAR_POINT_X_M, c.distance_x_m, sin_a, offset_x);
        let (slope_y, shift_y) = axis(NEAR_POINT_Y_M, c.distance_y_m, cos_a, offset_y);
        let level = laser.cos_vertical * laser.cos_vertical;
        let steep = laser.sin_vertical * laser.sin_vertical;
        // How much of z follows x and how much follows y.
        let (z_x, z_y) = match self.reading {
            CalibrationReading::VelodyneDecoder => (0.5, 0.5),
            CalibrationReading::Ros => (0.0, 1.0),
        };
        let share_x = level * sin_a * sin_a + steep * z_x;
        let share_y = level * cos_a * cos_a + steep * z_y;
        (share_x * slope_x + share_y * slope_y, share_x * shift_x + share_y * shift_y)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A laser of a real S2 unit's table.
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

    /// A driver's point in the device's axes (x right, y forward, z up), from its source.
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
            let raw = optics.raw_distance(0, azimuth, range).unwrap();
            let [x, y, z] = driver_point(reading, raw, azimuth);
            // Device axes to forward-left-up.
            let point = glam::DVec3::new(y, -x, z);
            let laser = optics.geometry()[0];
            let beam = laser.beam(
                libm::sincos(azimuth + laser.azimuth_offset_rad),
                libm::sincos(laser.elevation_rad),
            );
            let along = (point - beam.exit).dot(beam.direction);
            // Half a count of 2 mm, stretched by at most a thousandth by the corrections; where
            // velodyne-decoder drops them, ranges within the step have no exact count.
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
    fn what_a_count_cannot_tell_is_no_return() {
        let optics = Optics::new(&table(true), CalibrationReading::VelodyneDecoder);
        assert_eq!(optics.raw_distance(0, 0.0, 1.0), None);
        assert_eq!(optics.raw_distance(0, 0.0, 133.0), None);
    }

    #[test]
    fn the_flag_matters_to_ros_only() {
        let range =
            |reading, flag| Optics::new(&table(flag), reading).raw_distance(0, 1.0, 10.0).unwrap();
        let ros = CalibrationReading::Ros;
        let decoder = CalibrationReading::VelodyneDecoder;
        assert_ne!(range(ros, true), range(ros, false));
        assert_eq!(range(decoder, true), range(decoder, false));
    }
}
