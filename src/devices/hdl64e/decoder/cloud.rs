//! Points from raw distances, as the ROS driver computes them.
//!
//! Formulas, near-point correction and intensity correction are those of `velodyne_pointcloud`; they invert the
//! device's formulas with the same calibration. Other decoders differ by centimetres: velodyne-decoder 3.1 adds the
//! vertical offset to the height only, corrects the height by the mean of the corrections of x and y, and corrects
//! nothing beyond the far point.

use glam::DVec3;

use crate::decoder::datagram::{CloudPoint, PointSource};
use crate::hdl64e::profile::{
    FAR_POINT_M, FOCAL_SCALE_M, LaserCalibration, LaserTable, NEAR_POINT_X_M, NEAR_POINT_Y_M,
};
use crate::spinning::data_packet;
use crate::wire::velodyne::hdl64e_status::StatusTable;
use crate::wire::velodyne::{Bank, DataPacket, Model, Point};

/// Point source for a unit with the calibration `table`; `calibration` is the text that names the origin of `table`.
pub(super) fn point_source(table: &LaserTable, calibration: &'static str) -> PointSource {
    let cloud = Cloud::new(table);
    PointSource {
        calibration,
        elevations_rad: table.lasers.iter().map(|laser| laser.vertical_rad).collect(),
        decode: Box::new(move |payload, block, points| {
            if let Some(packet) = data_packet::parse(payload)
                && let Some(place) = data_packet::place_of_block(&packet, block)
            {
                cloud.decode(&packet, place, points);
            }
        }),
    }
}

/// Converts the slots of a block, one for each laser, to points.
#[derive(Clone, Debug)]
struct Cloud {
    lasers: Vec<Laser>,
    has_two_points: bool,
}

/// A laser's calibration, and the sine and cosine of its vertical angle.
#[derive(Clone, Copy, Debug)]
struct Laser {
    calibration: LaserCalibration,
    vertical: (f64, f64),
}

impl Cloud {
    fn new(table: &LaserTable) -> Self {
        let lasers = table.lasers.iter().map(|calibration| Laser {
            calibration: *calibration,
            vertical: libm::sincos(calibration.vertical_rad),
        });
        Self { lasers: lasers.collect(), has_two_points: table.two_point_correction }
    }

    /// Appends the returns of one block of a packet.
    fn decode(&self, packet: &DataPacket, index: usize, cloud: &mut Vec<CloudPoint>) {
        let block = &packet.blocks[index];
        let Some(bank) = Bank::from_flag(block.flag) else { return };
        let azimuth_rad = (f64::from(block.azimuth_centideg) / 100.0).to_radians();
        let firing = data_packet::firings_before(packet, index);
        for (slot, point) in block.points.iter().enumerate() {
            let number = bank.first_laser() + slot;
            if let Some(laser) = self.lasers.get(number) {
                let place = self.place(laser, azimuth_rad, *point);
                cloud.extend(place.map(|place| CloudPoint { laser: number, firing, ..place }));
            }
        }
    }

    /// Point of a return; the caller sets its laser and firing. `None` if the slot has no return.
    fn place(&self, laser: &Laser, azimuth_rad: f64, point: Point) -> Option<CloudPoint> {
        if point.distance == 0 {
            return None;
        }
        let Laser { calibration, vertical: (sin_vertical, cos_vertical) } = *laser;
        let (sin, cos) = libm::sincos(azimuth_rad - calibration.rotational_rad);
        let (side, height) = (calibration.horizontal_offset_m, calibration.vertical_offset_m);
        let distance_m =
            f64::from(point.distance) * Model::Hdl64e.distance_unit_m() + calibration.distance_m;
        // Axes of the device: x to the right, y forward.
        let flat = |distance_m: f64| distance_m * cos_vertical - height * sin_vertical;
        let x = |distance_m: f64| flat(distance_m) * sin - side * cos;
        let y = |distance_m: f64| flat(distance_m) * cos + side * sin;

        let near = |near_m: f64, near_correction_m: f64, along_m: f64| {
            if !self.has_two_points {
                return 0.0;
            }
            (calibration.distance_m - near_correction_m) * (along_m.abs() - near_m)
                / (FAR_POINT_M - near_m)
                + near_correction_m
                - calibration.distance_m
        };
        let near_x_m = near(NEAR_POINT_X_M, calibration.distance_x_m, x(distance_m));
        let near_y_m = near(NEAR_POINT_Y_M, calibration.distance_y_m, y(distance_m));
        let (for_x_m, for_y_m) = (distance_m + near_x_m, distance_m + near_y_m);
        // The range changes by the component of the corrections along the beam. The height uses the correction of y.
        let share_x = (cos_vertical * sin) * (cos_vertical * sin);
        let along_m = share_x * near_x_m + (1.0 - share_x) * near_y_m;
        let z = for_y_m * sin_vertical + height * cos_vertical;
        Some(CloudPoint {
            position_m: DVec3::new(y(for_y_m), -x(for_x_m), z),
            intensity: corrected_intensity(&calibration, point),
            laser: 0,
            firing: 0,
            range_m: distance_m + along_m,
        })
    }
}

/// The calibration of a status table.
pub(super) fn table_of(status: &StatusTable) -> LaserTable {
    let rad = |centideg: i16| (f64::from(centideg) / 100.0).to_radians();
    let metres = |mm: i16| f64::from(mm) / 1000.0;
    let lasers = status.lasers.iter().map(|laser| LaserCalibration {
        vertical_rad: rad(laser.vertical_centideg),
        rotational_rad: rad(laser.rotational_centideg),
        distance_m: metres(laser.distance_mm),
        distance_x_m: metres(laser.distance_x_mm),
        distance_y_m: metres(laser.distance_y_mm),
        vertical_offset_m: metres(laser.vertical_offset_mm),
        horizontal_offset_m: metres(laser.horizontal_offset_mm),
        focal_distance_m: metres(laser.focal_distance_mm),
        focal_slope: f64::from(laser.focal_slope_tenths) / 10.0,
        min_intensity: laser.min_intensity,
        max_intensity: laser.max_intensity,
    });
    LaserTable { two_point_correction: true, lasers: lasers.collect() }
}

fn corrected_intensity(calibration: &LaserCalibration, point: Point) -> f64 {
    let square = |x: f64| x * x;
    let focal = 256.0 * square(1.0 - calibration.focal_distance_m / FOCAL_SCALE_M);
    let here = 256.0 * square(1.0 - f64::from(point.distance) / 65_535.0);
    let intensity = f64::from(point.intensity) + calibration.focal_slope * (focal - here).abs();
    intensity.max(calibration.min_intensity.into()).min(calibration.max_intensity.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::velodyne::hdl64e_status::{LaserRecord, StatusFormat};

    fn close(point: &CloudPoint, expected: [f64; 3], tolerance_m: f64) {
        let error_m = (point.position_m - DVec3::from(expected)).length();
        assert!(error_m < tolerance_m, "{point:?} is {error_m} m from {expected:?}");
    }

    fn packet(flag: Bank, block: usize, slot: usize, step: f64) -> DataPacket {
        let mut packet = DataPacket::default();
        for (index, block) in packet.blocks.iter_mut().enumerate() {
            block.flag = flag.flag();
            block.azimuth_centideg = 12_345 + (step * index as f64).round() as u16;
        }
        packet.blocks[block].points[slot] = Point { distance: 6173, intensity: 77 };
        packet
    }

    fn only_point(decoder: &Cloud, packet: &DataPacket, block: usize) -> CloudPoint {
        let mut cloud = Vec::new();
        decoder.decode(packet, block, &mut cloud);
        let [point] = cloud[..] else { panic!("{cloud:?}") };
        point
    }

    /// Laser 40 of an S2 at 12.346 m raw distance and 123.45 degrees, with vertical offset zero, where all decoders
    /// agree. Expected positions from velodyne-decoder 3.1.
    #[test]
    fn an_hdl64e_point_is_where_another_decoder_puts_it() {
        let place = |distance_x_mm, distance_y_mm| {
            let mut status = StatusTable::new(StatusFormat::S2);
            status.lasers[40] = LaserRecord {
                vertical_centideg: -2086,
                rotational_centideg: 617,
                distance_mm: 1245,
                distance_x_mm,
                distance_y_mm,
                vertical_offset_mm: 0,
                horizontal_offset_mm: 26,
                focal_distance_mm: 6500,
                focal_slope_tenths: 10,
                min_intensity: 25,
                max_intensity: 255,
            };
            let decoder = Cloud::new(&table_of(&status));
            only_point(&decoder, &packet(Bank::Lower, 1, 8, 0.0), 1)
        };
        let far_only = place(1245, 1245);
        close(&far_only, [-5.797_87, -11.299_53, -4.839_56], 1e-4);
        assert!((far_only.intensity - 98.1816).abs() < 1e-3, "{}", far_only.intensity);
        // This decoder computes the height with the correction of y, velodyne-decoder with the mean of both
        // corrections.
        let mut both = place(1313, 1354);
        both.position_m.z = -4.863_05;
        close(&both, [-5.836_7, -11.333_83, -4.863_05], 1e-4);
    }

    #[test]
    fn the_near_point_correction_holds_at_the_near_points() {
        // Straight ahead at 1.93 m and to the right at 2.40 m raw distance: each point uses its own near-point
        // correction instead of the far-point one.
        let laser = LaserCalibration {
            distance_m: 0.0,
            distance_x_m: 0.05,
            distance_y_m: -0.03,
            max_intensity: 255,
            ..LaserCalibration::default()
        };
        let table = LaserTable { two_point_correction: true, lasers: vec![laser; 64] };
        let decoder = Cloud::new(&table);
        let point = |distance| Point { distance, intensity: 1 };
        let ahead = decoder.place(&decoder.lasers[0], 0.0, point(965)).unwrap();
        assert!((ahead.position_m.x - 1.90).abs() < 1e-9, "{ahead:?}");
        let right = std::f64::consts::FRAC_PI_2;
        let right = decoder.place(&decoder.lasers[0], right, point(1200)).unwrap();
        assert!((right.position_m.y + 2.45).abs() < 1e-9, "{right:?}");
        let far = decoder.place(&decoder.lasers[0], 0.0, point(12_520)).unwrap();
        assert!((far.position_m.x - 25.04).abs() < 1e-9, "{far:?}");
        assert_eq!(decoder.place(&decoder.lasers[0], 0.0, point(0)), None);
    }
}
