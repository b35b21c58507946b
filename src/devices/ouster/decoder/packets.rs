//! Recognition of an Ouster's packets.

use crate::wire::ouster::format::{COLUMNS, LidarFormat};
use crate::wire::ouster::imu::{IMU_PACKET_LEN, ImuPacket};
use crate::wire::ouster::lidar::Packet;
use crate::wire::record::Record as _;

/// Largest time from the system timestamp to the readings of accelerometer and gyro, nanoseconds.
const READ_WITHIN_NS: u64 = 10_000_000;

/// Parses a lidar packet of any format; `None` if the payload is not a lidar packet. If `beams` is known, the packet
/// must have this number of beams.
pub(super) fn lidar_packet(beams: Option<usize>, payload: &[u8]) -> Option<Packet<'_>> {
    let fits = |(_, pixels): &(LidarFormat, usize)| beams.is_none_or(|beams| *pixels == beams);
    let found = LidarFormat::of_len(payload.len()).filter(fits).filter_map(|(format, pixels)| {
        let packet = Packet::parse(format, pixels, payload).ok()?;
        (follow_one_another(&packet) && has_zeros(&packet)).then_some(packet)
    });
    // Packets of some formats are as long as packets of another format with more beams. The low-data-rate format is the
    // last choice.
    found.min_by_key(|packet| packet.format() == LidarFormat::Low)
}

/// Whether the columns are consecutive.
fn follow_one_another(packet: &Packet<'_>) -> bool {
    let mut ids = packet.columns().map(|(column, _)| usize::from(column.measurement_id));
    let Some(first) = ids.next() else { return false };
    first.is_multiple_of(COLUMNS) && ids.enumerate().all(|(place, id)| id == first + place + 1)
}

/// Whether the unused bytes of a packet are zero. In the format with two returns and near infrared, some near infrared
/// must also differ from zero.
fn has_zeros(packet: &Packet<'_>) -> bool {
    let format = packet.format();
    let pixels = || packet.columns().flat_map(|(_, bytes)| bytes.chunks_exact(format.pixel_len()));
    match format {
        LidarFormat::Dual => {
            pixels().all(|pixel| pixel[14..16] == [0, 0])
                && pixels().any(|pixel| pixel[12..14] != [0, 0])
        }
        LidarFormat::LowDual | LidarFormat::Fusa => pixels().all(|pixel| pixel[7] == 0),
        LidarFormat::Legacy | LidarFormat::Single | LidarFormat::Low => true,
    }
}

pub(super) fn imu_packet(payload: &[u8]) -> Option<ImuPacket> {
    let packet = (payload.len() == IMU_PACKET_LEN).then(|| ImuPacket::parse(payload).ok())??;
    let is_soon = |at: u64| (1..READ_WITHIN_NS).contains(&at.wrapping_sub(packet.system_ns));
    let mut numbers = packet.acceleration_g.iter().chain(&packet.angular_rate_deg_s);
    let are_sound = numbers.all(|number| number.abs() < 1e5);
    (is_soon(packet.acceleration_ns) && is_soon(packet.gyro_ns) && are_sound).then_some(packet)
}
