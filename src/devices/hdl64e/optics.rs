//! Optics of a unit: its calibration, applied and inverted.
//!
//! Applied: position and direction of each laser's beam. Inverted: raw distance and intensity from which a driver
//! with the same table computes the true range and intensity.
//!
//! A driver adds `distance_m` (`d`) to the raw distance; the sum is `D`. With near-point corrections it then shifts x
//! and y by amounts that are linear in |x| and |y| of the point (HDL-64E S2 manual, appendix F). With `dx` for
//! `distance_x_m`, the shift of x is `cx = kx (|x| - 2.40) + dx - d`, `kx = (d - dx) / (25.04 - 2.40)`. The shift of y
//! is computed in the same way, with 1.93 instead of 2.40. Along the beam, the range is `D (1 + slope) + shift`, which
//! [`Optics::raw_points`] solves for `D`. The corrections across the beam differ for x and y; no raw distance can
//! compensate them.

use fearless_simd::{Level, dispatch};

use crate::hdl64e::profile::{
    CalibrationReading, FAR_POINT_M, FOCAL_SCALE_M, LaserCalibration, LaserTable, NEAR_POINT_X_M,
    NEAR_POINT_Y_M,
};
use crate::sensors::pattern::LaserGeometry;
use crate::wire::velodyne::{Point, SLOTS};

/// Raw distance unit, metres.
pub const DISTANCE_UNIT_M: f64 = 0.002;
const COUNTS_PER_M: f64 = 500.0;
/// Smallest raw distance at which velodyne-decoder applies no near-point corrections, in units of 2 mm.
const FAR_POINT_RAW: f64 = FAR_POINT_M / DISTANCE_UNIT_M;

/// One value for each laser of a bank, or for each slot of a block.
pub type Lanes = [f64; SLOTS];

/// The optics of one unit.
#[derive(Clone, Debug)]
pub struct Optics {
    lasers: Vec<LaserCalibration>,
    /// The lasers' values for raw distances, bank by bank.
    banks: Vec<BankOptics>,
    reading: CalibrationReading,
}

/// Calibration of the lasers of a bank, with derived values. All near-point corrections of a laser without such
/// corrections are zero.
#[derive(Clone, Debug, Default)]
struct BankOptics {
    distance_m: Lanes,
    /// Sine and cosine of the beam's azimuth relative to the rotor: the negative rotational correction.
    rotation: [Lanes; 2],
    /// Near-point corrections along x and y.
    axes: [AxisOptics; 2],
    /// Squared cosine of the vertical angle.
    level: Lanes,
    /// Exit point of the beam that drivers assume: along the heading and to its left, metres.
    exit_m: [Lanes; 2],
    /// Intensity correction: 256 times the focal slope, and the square of 1 - focal distance / 131 m.
    focal: [Lanes; 2],
}

/// Near-point correction of each laser along x or y; see the description of the module.
#[derive(Clone, Debug, Default)]
struct AxisOptics {
    /// Increase of the correction per metre along the axis.
    gain: Lanes,
    /// Increase of the correction per metre of range, for a beam with the azimuth of the axis: `gain` times the cosine
    /// of the vertical angle.
    gain_along_beam: Lanes,
    /// Value of `cx` or `cy` (see the description of the module) at the coordinate 0, metres.
    at_zero_m: Lanes,
    /// Weight with which drivers add the correction to z, multiplied by the squared sine of the vertical angle.
    steep: Lanes,
}

/// The echoes of a block, by slot.
#[derive(Clone, Debug)]
pub struct BlockEchoes {
    /// Rotation of the rotor since the block's azimuth was taken, rad; at most 0.05.
    pub turned_rad: Lanes,
    /// Range along the beam, metres; infinite without an echo.
    pub range_m: Lanes,
    /// Intensity: 1 is full scale.
    pub intensity: Lanes,
}

impl Default for BlockEchoes {
    /// No echoes.
    fn default() -> Self {
        let zeros = [0.0; SLOTS];
        Self { turned_rad: zeros, range_m: [f64::INFINITY; SLOTS], intensity: zeros }
    }
}

/// Sine and cosine of an azimuth.
#[derive(Clone, Copy, Debug)]
struct Heading {
    sin: f64,
    cos: f64,
}

impl Heading {
    /// Heading of the sum of two azimuths.
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        Self {
            sin: self.sin * other.cos + self.cos * other.sin,
            cos: self.cos * other.cos - self.sin * other.sin,
        }
    }

    /// Heading after a further rotation by `small_rad`, such as the rotation of the rotor during a block. The magnitude
    /// of `small_rad` is at most 0.05.
    #[inline(always)]
    fn turned(self, small_rad: f64) -> Self {
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
        let bank = |lasers: &[LaserCalibration]| {
            let mut bank = BankOptics::default();
            for (slot, laser) in lasers.iter().enumerate() {
                let has_near_points = match reading {
                    CalibrationReading::Ros => table.two_point_correction,
                    CalibrationReading::VelodyneDecoder => {
                        laser.distance_x_m != 0.0 && laser.distance_y_m != 0.0
                    }
                };
                bank.set(slot, laser, has_near_points.then_some(reading));
            }
            bank
        };
        let banks = table.lasers.chunks(SLOTS).map(bank).collect();
        Self { lasers: table.lasers.clone(), banks, reading }
    }

    /// Geometry of each laser's beam, by laser id.
    pub fn geometry(&self) -> Vec<LaserGeometry> {
        let geometry = |c: &LaserCalibration| {
            let (exit_forward_m, exit_up_m) = match self.reading {
                CalibrationReading::VelodyneDecoder => (0.0, c.vertical_offset_m),
                CalibrationReading::Ros => {
                    let (sin_vertical, cos_vertical) = libm::sincos(c.vertical_rad);
                    (-c.vertical_offset_m * sin_vertical, c.vertical_offset_m * cos_vertical)
                }
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

    /// Raw points of a block, from which drivers compute `echoes`. The distance is 0 without an echo, and if the raw
    /// distance does not fit into its field. `bank` is the index of the block's bank; `azimuth_rad` is the block's azimuth.
    pub fn raw_points(
        &self,
        bank: usize,
        azimuth_rad: f64,
        echoes: &BlockEchoes,
    ) -> [Point; SLOTS] {
        let (sin, cos) = libm::sincos(azimuth_rad);
        let (rotor, bank) = (Heading { sin, cos }, &self.banks[bank]);
        dispatch!(Level::new(), _simd => {
            let distance: Lanes =
                std::array::from_fn(|slot| self.raw_distance(bank, slot, rotor, echoes));
            std::array::from_fn(|slot| Point {
                distance: distance[slot] as u16,
                intensity: bank.raw_intensity(slot, distance[slot], echoes.intensity[slot]),
            })
        })
    }

    /// Raw distance of an echo, a whole number; 0 without an echo, and if the result is outside 1..=65535.
    #[inline(always)]
    fn raw_distance(
        &self,
        bank: &BankOptics,
        slot: usize,
        rotor: Heading,
        echoes: &BlockEchoes,
    ) -> f64 {
        /// Smallest unrounded raw distance that is rounded to [`FAR_POINT_RAW`].
        const FAR_COUNTS: f64 = FAR_POINT_RAW - 0.5;
        const LAST_NEAR: f64 = FAR_POINT_RAW - 1.0;
        let counts_of = |distance_m: f64| (distance_m - bank.distance_m[slot]) * COUNTS_PER_M;
        let range_m = echoes.range_m[slot];
        let [sin, cos] = [bank.rotation[0][slot], bank.rotation[1][slot]];
        let heading = rotor.turned(echoes.turned_rad[slot]).plus(Heading { sin, cos });
        let (slope, shift_m) = bank.near_points(slot, heading);
        let near = counts_of((range_m - shift_m) / (1.0 + slope));
        let far = counts_of(range_m);
        // Near-point corrections end at the far point, where the computed range jumps. No raw distance gives a range
        // inside this jump; the nearer end is used.
        let is_at_near_end = near - LAST_NEAR < FAR_POINT_RAW - far;
        let at_jump = if is_at_near_end { LAST_NEAR } else { FAR_POINT_RAW };
        let beyond = if far >= FAR_COUNTS { far } else { at_jump };
        let is_near = self.reading == CalibrationReading::Ros || near < FAR_COUNTS;
        // Half counts are rounded up; the rounding of the firmware is unknown.
        let raw = (if is_near { near } else { beyond } + 0.5).trunc();
        if (1.0..65_536.0).contains(&raw) { raw } else { 0.0 }
    }
}

impl BankOptics {
    /// Sets the values of the laser in `slot`; `near_points` is the reading of its near-point corrections, if it has such
    /// corrections.
    fn set(&mut self, slot: usize, c: &LaserCalibration, near_points: Option<CalibrationReading>) {
        let (sin_vertical, cos_vertical) = libm::sincos(c.vertical_rad);
        self.distance_m[slot] = c.distance_m;
        let (sin, cos) = libm::sincos(-c.rotational_rad);
        [self.rotation[0][slot], self.rotation[1][slot]] = [sin, cos];
        let focal = 1.0 - c.focal_distance_m / FOCAL_SCALE_M;
        [self.focal[0][slot], self.focal[1][slot]] = [c.focal_slope * 256.0, focal * focal];
        let Some(reading) = near_points else { return };
        let (exit_m, shares_of_z) = match reading {
            CalibrationReading::VelodyneDecoder => ([0.0; 2], [0.5, 0.5]),
            CalibrationReading::Ros => {
                ([-c.vertical_offset_m * sin_vertical, c.horizontal_offset_m], [0.0, 1.0])
            }
        };
        [self.exit_m[0][slot], self.exit_m[1][slot]] = exit_m;
        self.level[slot] = cos_vertical * cos_vertical;
        let near = [(NEAR_POINT_X_M, c.distance_x_m), (NEAR_POINT_Y_M, c.distance_y_m)];
        for ((axis, share_of_z), (near_m, near_correction_m)) in
            self.axes.iter_mut().zip(shares_of_z).zip(near)
        {
            let gain = (c.distance_m - near_correction_m) / (FAR_POINT_M - near_m);
            axis.gain[slot] = gain;
            axis.gain_along_beam[slot] = gain * cos_vertical;
            axis.at_zero_m[slot] = near_correction_m - c.distance_m - gain * near_m;
            axis.steep[slot] = sin_vertical * sin_vertical * share_of_z;
        }
    }

    /// Slope and shift (metres) of the near-point correction along a beam with this heading. From the distance `D`, the
    /// raw distance plus `distance_m`, a driver computes the range `D (1 + slope) + shift`.
    #[inline(always)]
    fn near_points(&self, slot: usize, Heading { sin, cos }: Heading) -> (f64, f64) {
        let [forward, left] = [self.exit_m[0][slot], self.exit_m[1][slot]];
        let offsets_m = [forward * sin - left * cos, forward * cos + left * sin];
        let (mut slope, mut shift_m) = (0.0, 0.0);
        for ((axis, share), offset_m) in self.axes.iter().zip([sin, cos]).zip(offsets_m) {
            // |x| = D cos(vertical) |sin a| + offset along the same axis.
            let along = self.level[slot] * share * share + axis.steep[slot];
            slope += along * (axis.gain_along_beam[slot] * share.abs());
            shift_m +=
                along * (axis.gain[slot] * offset_m * 1f64.copysign(share) + axis.at_zero_m[slot]);
        }
        (slope, shift_m)
    }

    /// Intensity byte from which a driver computes `intensity` (0..=1, 1 is full scale) at a raw distance. The driver adds a
    /// focal correction; it is subtracted here.
    #[inline(always)]
    fn raw_intensity(&self, slot: usize, raw_distance: f64, intensity: f64) -> u8 {
        let distance = 1.0 - raw_distance / 65_535.0;
        let added = self.focal[0][slot] * (self.focal[1][slot] - distance * distance).abs();
        // A cast saturates at 0 and 255.
        (intensity * 255.0 - added + 0.5) as u8
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

    /// Raw point of laser 0 for an echo at `range_m` with this intensity.
    fn raw(optics: &Optics, azimuth_rad: f64, range_m: f64, intensity: f64) -> Point {
        let mut echoes = BlockEchoes::default();
        (echoes.range_m[0], echoes.intensity[0]) = (range_m, intensity);
        optics.raw_points(0, azimuth_rad, &echoes)[0]
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
            let raw = raw(&optics, azimuth, range, 0.5).distance;
            prop_assert!(raw > 0);
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
        fn a_driver_gets_the_intensity_back(range in 3.0..120.0f64, intensity in 0.0..1.0f64) {
            let optics = Optics::new(&table(true), CalibrationReading::VelodyneDecoder);
            let Point { distance, intensity: sent } = raw(&optics, 0.3, range, intensity);
            let focal = (1.0 - 12.0 / 131.0f64).powi(2);
            let distance = (1.0 - f64::from(distance) / 65_535.0).powi(2);
            let read = f64::from(sent) + 1.4 * 256.0 * (focal - distance).abs();
            let wanted = intensity * 255.0;
            prop_assert!((read - wanted).abs() <= 0.5 || (sent == 0 && read > wanted));
        }
    }

    #[test]
    fn a_heading_turns_as_the_functions_say() {
        for step in -50..=50 {
            let small_rad = f64::from(step) * 1e-3;
            let ((sin, cos), exact) = (libm::sincos(1.234), libm::sincos(1.234 + small_rad));
            let turned = Heading { sin, cos }.turned(small_rad);
            assert!((turned.sin - exact.0).abs() < 1e-15, "{small_rad}");
            assert!((turned.cos - exact.1).abs() < 1e-15, "{small_rad}");
        }
    }

    #[test]
    fn what_a_count_cannot_tell_is_no_return() {
        for reading in [CalibrationReading::VelodyneDecoder, CalibrationReading::Ros] {
            let optics = Optics::new(&table(true), reading);
            for range_m in [1.0, 133.0, f64::INFINITY] {
                assert_eq!(raw(&optics, 0.0, range_m, 0.5).distance, 0);
            }
        }
    }

    #[test]
    fn each_slot_has_its_laser_and_its_turn() {
        let mut table = table(true);
        for (index, laser) in table.lasers.iter_mut().enumerate() {
            laser.rotational_rad += 0.002 * index as f64;
            laser.distance_m += 0.01 * index as f64;
        }
        let optics = Optics::new(&table, CalibrationReading::VelodyneDecoder);
        let slots = |of: fn(f64) -> f64| std::array::from_fn(|slot| of(slot as f64));
        let echoes = BlockEchoes {
            turned_rad: slots(|slot| 1e-4 * slot),
            range_m: slots(|slot| 4.0 + 3.0 * slot),
            intensity: slots(|slot| 0.03 * slot),
        };
        for bank in 0..2 {
            let together = optics.raw_points(bank, 0.7, &echoes);
            for (slot, point) in together.into_iter().enumerate() {
                table.lasers[0] = optics.lasers[bank * SLOTS + slot];
                let alone = Optics::new(&table, CalibrationReading::VelodyneDecoder);
                let azimuth_rad = 0.7 + echoes.turned_rad[slot];
                let alone = raw(&alone, azimuth_rad, echoes.range_m[slot], echoes.intensity[slot]);
                assert_eq!(point, alone, "{bank} {slot}");
            }
        }
    }

    #[test]
    fn the_flag_matters_to_ros_only() {
        let distance =
            |reading, flag| raw(&Optics::new(&table(flag), reading), 1.0, 10.0, 0.5).distance;
        let (ros, decoder) = (CalibrationReading::Ros, CalibrationReading::VelodyneDecoder);
        assert_ne!(distance(ros, true), distance(ros, false));
        assert_eq!(distance(decoder, true), distance(decoder, false));
    }
}
