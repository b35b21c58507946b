use glam::DVec3;

use super::*;
use crate::families::catalogue;
use crate::ouster::profile::{BeamAngles, Geometry};
use crate::wire::ouster::lidar::{PacketWriter, PixelReturn};

const PIXELS: usize = 64;

fn profile() -> OusterProfile {
    let file = catalogue().profile("ouster-os1-64-2.5").unwrap_or_else(|e| panic!("{e}"));
    file.data::<OusterProfile>().expect("an Ouster").clone()
}

fn packet(format: LidarFormat, first: u16, turn: u16) -> Vec<u8> {
    let header = Header { frame_id: 7, initialization_id: 5, serial: 9, ..Header::default() };
    let mut bytes = vec![0; format.packet_len(PIXELS)];
    let mut writer = PacketWriter::new(format, PIXELS, &mut bytes);
    writer.header(&header);
    for place in 0..COLUMNS {
        let measurement_id = first + place as u16;
        let timestamp_ns = 5_000_000_000 + u64::from(measurement_id) * 97_656;
        let column = Column { timestamp_ns, measurement_id, is_valid: true };
        let out = writer.column(place, &column, &header, turn);
        for out in out.chunks_exact_mut(format.pixel_len()) {
            let one = PixelReturn { range_mm: 12_346, reflectivity: 40, signal: 9 };
            let returns = [one, PixelReturn::default()];
            Pixel { returns, near_infrared: 100 }.put(format, out);
        }
    }
    writer.finish(Footer::Crc64);
    bytes
}

/// Compares positions of pixels (row, column) at a range of 12.346 m with those of ouster-sdk 1.0.1.
#[test]
fn points_are_where_the_makers_client_puts_them() {
    let mut profile = profile();
    profile.geometry =
        Geometry { beam_origin_m: 0.015_806, lidar_height_m: 0.036_18, ..profile.geometry };
    for (row, altitude_deg, azimuth_deg) in
        [(0, 21.05, 4.16), (31, 10.93, -4.26), (32, 10.64, 4.21), (63, -0.17, -4.22)]
    {
        profile.beams[row] = BeamAngles { altitude_deg, azimuth_deg };
    }
    let points = point_source(&profile, 1024);
    for (row, column, expected) in [
        (0, 0, [-11.492_856, 0.834_767, 4.464_970]),
        (0, 256, [0.834_767, 11.492_856, 4.464_970]),
        (31, 100, [-10.401_509, 6.225_618, 2.374_103]),
        (63, 1023, [-12.306_718, -0.982_861, -0.000_404]),
        (32, 512, [12.101_304, -0.889_624, 2.312_796]),
    ] {
        let bytes = packet(LidarFormat::Single, column / 16 * 16, 1024);
        let mut all = Vec::new();
        (points.decode)(&bytes, usize::from(column % 16), &mut all);
        let off_m = (all[row].position_m - DVec3::from(expected)).length();
        assert!(off_m < 2e-6, "row {row}, column {column}: {:?}", all[row].position_m);
    }
}

/// Before firmware 2.1, reflectivity has 16 bits.
#[test]
fn intensities_of_raw_returns_end_at_255() {
    let mut bytes = packet(LidarFormat::Legacy, 0, 1024);
    // The first pixel follows 16 bytes of its column.
    bytes[20..22].copy_from_slice(&u16::to_le_bytes(599));
    let decoder = OusterDecoder::default();
    assert_eq!(decoder.sweep(&bytes).returns[0].intensity, 255);
    assert_eq!(decoder.shots(&bytes)[0].intensity, 255);
    let mut all = Vec::new();
    (point_source(&profile(), 1024).decode)(&bytes, 0, &mut all);
    assert_eq!(all[0].intensity, 599.0);
}

#[test]
fn formats_and_turns_are_found_in_the_packets() {
    for (_, format) in LidarFormat::NAMES {
        let mut decoder = OusterDecoder::default();
        for first in [0, 16, 1008] {
            let bytes = packet(format, first, 1024);
            assert_eq!(decoder.head([1, 2], &bytes).map(|head| head.kind), Some(DATA));
            decoder.learn(&bytes);
        }
        let stream = decoder.stream.unwrap();
        assert_eq!((stream.format, stream.pixels, stream.turn), (format, PIXELS, 1024));
        let sweep = decoder.sweep(&packet(format, 512, 1024));
        assert_eq!(sweep.azimuths_centideg[0], 18_000);
        assert_eq!(sweep.returns.len(), 16 * PIXELS * format.returns());
        assert!(sweep.issues.is_empty(), "{:?}", sweep.issues);
        assert_eq!(decoder.likelihood(), 1.0);
        assert!(decoder.point_source().is_err(), "no profile was named");
    }
    assert!(lidar_packet(None, &[0; 12_544]).is_none());
    assert!(imu_packet(&[0; 48]).is_none() && imu_packet(&[0xff; 48]).is_none());
}

/// 512 columns at 20 Hz have the column rate of 1024 at 10 Hz; only the end of a rotation distinguishes them.
#[test]
fn the_columns_of_the_first_turn_are_a_guess() {
    let mut decoder = OusterDecoder::default();
    let mut seen = Vec::new();
    for (frame_id, first) in [(7, 480), (7, 496), (8, 0), (8, 16)] {
        let format = LidarFormat::Single;
        let mut bytes = packet(format, first, 512);
        // Bytes 2 and 3 are the frame number, which the checksum covers.
        bytes[2..4].copy_from_slice(&u16::to_le_bytes(frame_id));
        decoder.learn(&bytes);
        seen.extend(decoder.sweep(&bytes).turn.map(|turn| (turn.count, turn.is_guess)));
    }
    assert_eq!(seen, [(1024, true), (1024, true), (512, false), (512, false)]);
}
