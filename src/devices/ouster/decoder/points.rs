//! Points and returns by beam.

use glam::DVec3;

use super::packets::lidar_packet;
use crate::decoder::datagram::{CloudPoint, PointSource, Shot};
use crate::ouster::profile::OusterProfile;
use crate::wire::ouster::lidar::{Packet, Pixel};

/// First return of each pixel of a packet, by beam, for `turn` columns per rotation.
pub(super) fn shots(packet: &Packet<'_>, turn: u16) -> Vec<Shot> {
    let format = packet.format();
    let mut shots = Vec::new();
    for (column, pixels) in packet.columns().filter(|(column, _)| column.is_valid) {
        // The azimuth offset of each beam is left out, because it is constant.
        let azimuth_deg = 360.0 * f64::from(column.measurement_id) / f64::from(turn);
        for (laser, bytes) in (0..).zip(pixels.chunks_exact(format.pixel_len())) {
            let [first, _] = Pixel::get(format, bytes).returns;
            if first.range_mm > 0 {
                let range_m = f64::from(first.range_mm) / 1000.0;
                let intensity = first.reflectivity.min(255) as u8;
                shots.push(Shot { laser, azimuth_deg, elevation_deg: 0.0, range_m, intensity });
            }
        }
    }
    shots
}

/// Converter of a profile's packets to points, for `turn` columns per rotation.
pub(super) fn point_source(driver: &OusterProfile, turn: u16) -> PointSource {
    let geometry = driver.geometry;
    let beams: Vec<_> = driver
        .beams
        .iter()
        .map(|beam| (libm::sincos(beam.altitude_deg.to_radians()), beam.azimuth_deg.to_radians()))
        .collect();
    let elevations = driver.beams.iter().map(|beam| beam.altitude_deg.to_radians());
    PointSource {
        calibration: "angles of the profile",
        elevations_rad: elevations.collect(),
        decode: Box::new(move |payload, block, points| {
            let Some(packet) = lidar_packet(Some(beams.len()), payload) else { return };
            let format = packet.format();
            let mut valid = packet.columns().filter(|(column, _)| column.is_valid);
            let Some((column, pixels)) = valid.nth(block) else { return };
            // Clockwise from the connector, which is at the rear.
            let share = f64::from(column.measurement_id) / f64::from(turn);
            let encoder_rad = std::f64::consts::TAU * (share + 0.5);
            let (sin, cos) = libm::sincos(encoder_rad);
            let origin = DVec3::new(cos, -sin, 0.0) * geometry.beam_origin_m;
            let all = pixels.chunks_exact(format.pixel_len()).zip(&beams);
            for (laser, (bytes, ((up, flat), azimuth_rad))) in all.enumerate() {
                let pixel = Pixel::get(format, bytes);
                let (sin, cos) = libm::sincos(encoder_rad + azimuth_rad);
                let direction = DVec3::new(cos * flat, -sin * flat, *up);
                let seen = pixel.returns.iter().filter(|one| one.range_mm > 0);
                points.extend(seen.map(|one| {
                    let along_m = f64::from(one.range_mm) / 1000.0 - geometry.beam_origin_m;
                    let up_m = DVec3::Z * geometry.lidar_height_m;
                    CloudPoint {
                        position_m: origin + direction * along_m + up_m,
                        intensity: one.reflectivity.into(),
                        laser,
                        firing: block,
                        range_m: along_m,
                    }
                }));
            }
        }),
    }
}
