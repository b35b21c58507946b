//! Directions of an M1's channels: a mirror scans row by row from top to bottom, alternately to the right and to the
//! left. The directions of a frame are computed once.

use std::sync::Arc;

use glam::DVec3;

use super::profile::{RasterProfile, UnitLaser};
use crate::wire::robosense::msop::M1_ANGLE_ZERO;

/// Directions of all points in a frame of an M1, by packet.
#[derive(Clone, Debug)]
pub struct Raster {
    packets: Vec<PacketAims>,
}

/// Directions of a packet's points, in the order of the packet.
#[derive(Clone, Debug)]
pub struct PacketAims {
    /// Unit vectors: forward, left, up.
    pub aims: Arc<[DVec3]>,
    /// Elevation and azimuth (positive to the left) as encoded in packets.
    pub angles: Arc<[[u16; 2]]>,
}

impl Raster {
    /// Computes the directions of a frame. Each channel has the azimuth offset of its entry in `lasers`; a packet has
    /// `firings` firings.
    pub fn new(raster: &RasterProfile, lasers: &[UnitLaser], firings: usize) -> Self {
        let RasterProfile { rows, columns, step_deg } = *raster;
        let middle = |count: u32| f64::from(count.saturating_sub(1)) / 2.0;
        let told = |deg: f64| (deg * 100.0).round() as i32;
        let angles = (0..rows).flat_map(|row| {
            (0..columns).flat_map(move |column| {
                let column = if row % 2 == 0 { column } else { columns - 1 - column };
                let pitch = told((middle(rows) - f64::from(row)) * step_deg);
                let left_deg = (middle(columns) - f64::from(column)) * step_deg;
                lasers.iter().map(move |laser| [pitch, told(left_deg - laser.azimuth_deg)])
            })
        });
        let angles: Vec<[i32; 2]> = angles.collect();
        let packet = |angles: &[[i32; 2]]| PacketAims {
            aims: angles.iter().map(|angles| aim(*angles)).collect(),
            angles: angles
                .iter()
                .map(|angles| angles.map(|centideg| (M1_ANGLE_ZERO + centideg) as u16))
                .collect(),
        };
        let of_packet = (firings * lasers.len()).max(1);
        Self { packets: angles.chunks_exact(of_packet).map(packet).collect() }
    }

    /// Number of packets per frame.
    pub fn packets(&self) -> u64 {
        self.packets.len() as u64
    }

    /// Directions of packet `place` of a frame, from 0; the number wraps at the end of the frame.
    pub fn packet(&self, place: u64) -> &PacketAims {
        &self.packets[(place % self.packets()) as usize]
    }
}

/// Unit vector (forward, left, up) of a direction with this pitch (up positive) and yaw (left positive), hundredths of
/// a degree.
pub fn aim([pitch, yaw]: [i32; 2]) -> DVec3 {
    let [(sin_pitch, cos_pitch), (sin_yaw, cos_yaw)] =
        [pitch, yaw].map(|centideg| libm::sincos((f64::from(centideg) / 100.0).to_radians()));
    DVec3::new(cos_pitch * cos_yaw, cos_pitch * sin_yaw, sin_pitch)
}
