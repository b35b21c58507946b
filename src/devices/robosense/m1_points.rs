//! Packets of an M1, whose points have their own angles.

use super::profile::RobosenseProfile;
use super::raster;
use crate::decoder::datagram::{CloudPoint, PointSource, RawReturn, Sweep};
use crate::wire::robosense::layout::Layout;
use crate::wire::robosense::msop::{FULL_TURN_CENTIDEG, M1_ANGLE_ZERO, Packet};

/// Number of packets in a frame, in a mode with one return.
const PACKETS_OF_FRAME: f64 = 630.0;

/// Returns of a packet, and its position in the frame. An M1 has no rotor: this position, scaled to a full circle,
/// replaces the rotor's angle.
pub fn sweep(packet: &Packet<'_>) -> Sweep {
    let shape = packet.layout().shape();
    // With two returns, each return has its own packet.
    let packets = if packet.angled(0).1 > 0 { 2.0 * PACKETS_OF_FRAME } else { PACKETS_OF_FRAME };
    let place = f64::from(packet.head().count.saturating_sub(1)) / packets;
    let centideg = (place * f64::from(FULL_TURN_CENTIDEG)) as u32 % u32::from(FULL_TURN_CENTIDEG);
    let points = (0..shape.blocks).flat_map(|block| packet.angled(block).2);
    Sweep {
        azimuths_centideg: vec![centideg as u16],
        returns: points
            .map(|point| RawReturn {
                is_empty: point.point.distance == 0,
                intensity: point.point.intensity,
                distance: point.point.distance.into(),
            })
            .collect(),
        ..Sweep::default()
    }
}

/// Converter of the profile's packets to points.
pub fn point_source(driver: &RobosenseProfile) -> PointSource {
    let unit_m = Layout::M1.distance_unit_m();
    let half = driver.raster.map_or(0.0, |raster| raster.step_deg * f64::from(raster.rows) / 2.0);
    let count = driver.lasers.len();
    let step = 2.0 * half / (count - 1).max(1) as f64;
    PointSource {
        calibration: "the packets themselves",
        // Each channel covers all elevations. The list therefore has evenly spaced values over the whole range of
        // elevations.
        elevations_rad: (0..count).map(|c| (step * c as f64 - half).to_radians()).collect(),
        decode: Box::new(move |payload, _, out| {
            let Ok(packet) = Packet::parse(payload) else { return };
            for block in 0..Layout::M1.shape().blocks {
                let (_, _, points) = packet.angled(block);
                for (laser, point) in points.enumerate() {
                    if point.point.distance == 0 {
                        continue;
                    }
                    let range_m = f64::from(point.point.distance) * unit_m;
                    let angles = point.angles.map(|angle| i32::from(angle) - M1_ANGLE_ZERO);
                    out.push(CloudPoint {
                        position_m: raster::aim(angles) * range_m,
                        intensity: point.point.intensity.into(),
                        laser,
                        firing: block,
                        range_m,
                    });
                }
            }
        }),
    }
}
