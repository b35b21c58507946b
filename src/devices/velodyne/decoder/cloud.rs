//! Points from distances, with the nominal angles of a model.

use std::sync::Arc;

use glam::DVec3;

use crate::config::profile::Profile;
use crate::decoder::datagram::{CloudPoint, PointSource};
use crate::spinning::data_packet::{self, half_step_deg};
use crate::velodyne::profile::VelodyneProfile;
use crate::wire::velodyne::{Bank, DataPacket, Model, SLOTS};

/// Position and direction of a laser in the head.
#[derive(Clone, Copy, Debug)]
struct Laser {
    /// Sine and cosine of the elevation.
    elevation: (f64, f64),
    azimuth_offset_rad: f64,
    vertical_offset_m: f64,
}

/// Converts the slots of a model's packets to points.
#[derive(Clone, Debug)]
struct Cloud {
    lasers: Vec<Laser>,
    distance_unit_m: f64,
    /// Whether a block has two firings of sixteen lasers.
    has_two_firings: bool,
}

/// The first profile in `known` for `model`; `None` if no profile is for this model. All firmware of a model has the same
/// lasers.
pub(super) fn driver_of(
    model: Model,
    known: &'static [Arc<Profile>],
) -> Option<&'static VelodyneProfile> {
    known.iter().find_map(|profile| {
        let driver = profile.data::<VelodyneProfile>()?;
        let is_it = Model::from_product_id(driver.packet.product_id) == Some(model);
        is_it.then_some(driver)
    })
}

/// Point source for a model; `None` for a model without a profile.
pub(super) fn point_source(model: Model, known: &'static [Arc<Profile>]) -> Option<PointSource> {
    let driver = driver_of(model, known)?;
    Some(PointSource { calibration: "angles of the model", ..point_source_of(driver) })
}

pub(super) fn point_source_of(driver: &VelodyneProfile) -> PointSource {
    let lasers = &driver.lasers;
    let cloud = Cloud {
        lasers: lasers
            .iter()
            .map(|laser| Laser {
                elevation: libm::sincos(laser.elevation_rad),
                azimuth_offset_rad: laser.azimuth_offset_rad,
                vertical_offset_m: laser.vertical_offset_m,
            })
            .collect(),
        distance_unit_m: driver.packet.distance_unit_m,
        has_two_firings: lasers.len() * 2 == SLOTS,
    };
    PointSource {
        calibration: "angles of the profile",
        elevations_rad: lasers.iter().map(|laser| laser.elevation_rad).collect(),
        decode: Box::new(move |payload, block, points| {
            if let Some(packet) = data_packet::parse(payload)
                && let Some(place) = data_packet::place_of_block(&packet, block)
            {
                cloud.decode(&packet, place, points);
            }
        }),
    }
}

impl Cloud {
    /// Appends the returns of one block of a packet.
    fn decode(&self, packet: &DataPacket, index: usize, points: &mut Vec<CloudPoint>) {
        let block = &packet.blocks[index];
        let Some(bank) = Bank::from_flag(block.flag) else { return };
        let azimuth_deg = f64::from(block.azimuth_centideg) / 100.0;
        let before = data_packet::firings_before(packet, index);
        for (slot, point) in block.points.iter().enumerate() {
            let (number, azimuth_deg, firing) = if self.has_two_firings {
                let is_second = slot >= SLOTS / 2;
                let late = if is_second { half_step_deg(packet, index) } else { 0.0 };
                let firing = 2 * before + usize::from(is_second);
                (slot % (SLOTS / 2), azimuth_deg + late, firing)
            } else {
                (bank.first_laser() + slot, azimuth_deg, before)
            };
            let Some(laser) = self.lasers.get(number).filter(|_| point.distance > 0) else {
                continue;
            };
            let range_m = f64::from(point.distance) * self.distance_unit_m;
            let (up, flat) = laser.elevation;
            let height_m = laser.vertical_offset_m;
            let (sin, cos) = libm::sincos(azimuth_deg.to_radians() + laser.azimuth_offset_rad);
            // According to the manuals, the offset is added to the height after projection.
            let flat_m = range_m * flat;
            let position_m = DVec3::new(flat_m * cos, -flat_m * sin, range_m * up + height_m);
            let intensity = point.intensity.into();
            points.push(CloudPoint { position_m, intensity, laser: number, firing, range_m });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::families::catalogue;
    use crate::wire::velodyne::Point;

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

    fn only_point(model: Model, packet: &DataPacket, block: usize) -> CloudPoint {
        let mut payload = [0; crate::wire::velodyne::DATA_PACKET_LEN];
        packet.emit(&mut payload);
        let mut points = Vec::new();
        (point_source(model, catalogue().profiles()).unwrap().decode)(&payload, block, &mut points);
        let [point] = points[..] else { panic!("{points:?}") };
        point
    }

    /// Expected positions from velodyne-decoder 3.1.
    #[test]
    fn the_fixed_models_points_are_where_another_decoder_puts_them() {
        let first = only_point(Model::Vlp16, &packet(Bank::Upper, 0, 3, 39.813), 0);
        close(&first, [-6.799_49, -10.284_61, 0.643_94], 0.01);
        let second = only_point(Model::Vlp16, &packet(Bank::Upper, 0, 19, 39.813), 0);
        close(&second, [-6.835_35, -10.260_81, 0.643_94], 0.01);
        let point = only_point(Model::PuckHiRes, &packet(Bank::Upper, 0, 3, 39.813), 0);
        close(&point, [-6.804_68, -10.292_45, 0.429_07], 0.01);
        let point = only_point(Model::Hdl32e, &packet(Bank::Upper, 0, 15, 16.589), 0);
        close(&point, [-6.816_01, -10.293_97, 0.0], 0.04);
        let mut packet = packet(Bank::Upper, 0, 5, 19.907);
        packet.blocks[0].points[5].distance = 3087;
        close(&only_point(Model::Vlp32c, &packet, 0), [-6.556_23, -10.463_7, 0.0], 0.02);
        packet.blocks[0].points[5].distance = 0;
        packet.blocks[2].flag = Bank::Third.flag();
        packet.blocks[2].azimuth_centideg = 12_345;
        packet.blocks[2].points[6].distance = 3087;
        close(&only_point(Model::Vls128, &packet, 2), [-5.963_06, -10.801_17, -0.497_48], 0.02);
    }
}
