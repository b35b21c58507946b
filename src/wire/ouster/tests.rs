use sha2::{Digest, Sha256};

use super::format::{COLUMNS, LidarFormat};
use super::imu::ImuPacket;
use super::lidar::{Column, Footer, Header, Packet, PacketWriter, Pixel, PixelReturn};
use crate::record::Record as _;

const PIXELS: usize = 64;
const T_NS: u64 = 1_600_000_000_000_000_000;
const HEADER: Header = Header {
    frame_id: 0x1234,
    initialization_id: 9_342_165,
    serial: 122_239_000_672,
    alert_flags: 0,
    shutdown_countdown_s: 0,
    limiting_countdown_s: 0,
    thermal_shutdown: 0,
    shot_limiting: 0,
};

/// For each format: the length at 64 pixels, the first pixel, the SHA-256 of the first packet, and the SHA-256 of the
/// 64 packets of a rotation. ouster-sdk 1.0.1 wrote all except `LEGACY`.
const GOLDEN: [(LidarFormat, usize, &str, &str, &str); 6] = [
    (
        LidarFormat::Legacy,
        12_608,
        "e80300000000640032000000",
        "c22e843d109be5cc268235631d7168d277d698ec60546214be5dd90d35394353",
        "04506149815172edf3ed7e3e69abef1a356aafcc02bd14c264217a4f41f90f1e",
    ),
    (
        LidarFormat::Single,
        12_544,
        "e80300000000640032000000",
        "56d53af6fa4c63d5d6d77606c11760cf3b3d86e223c5ab35bd854eb0d283af63",
        "4ce209d563dd97908924f367827e496c6036e04d61befa9cfb98f2372b883bc4",
    ),
    (
        LidarFormat::Dual,
        16_640,
        "e8030000b80b00ff6400320032000000",
        "1543f6ee5cf4ec0c646046fce4dafc28d9779801e0cb3ac832f69a554a8dc32b",
        "3daca8b5a57ce1b5f80635da5e6877bdd4d1aae60fbe9fc3a789641d7643db31",
    ),
    (
        LidarFormat::Low,
        4352,
        "7d000003",
        "933988ba51d4fbd3c52b68a47e8cdbd2f18b0e5b982c51eedafd7f1b68b984e0",
        "bd928dcb56de66735733cf54c25b26f96ab5a06224773589d68f8aaaa1c269ef",
    ),
    (
        LidarFormat::LowDual,
        8448,
        "7d0000037701ff00",
        "01b1e06665026de6ce370d7964e62a77dd56e94a3c790e3a9aaecd3a9c2bcdf2",
        "b094b58cdbef96ee3e4e6ad4da6a72fee47ef0ac8fae13976cb9620e98b97b8e",
    ),
    (
        LidarFormat::Fusa,
        8448,
        "7d0000037701ff00",
        "a592fee595e3273cc1deaa5477a8a8a261740c5086427672eb338916c3cb045f",
        "98144a63062a5fb81f6bc41dd2280a9d96233783b5dd4aaac9b26523193c14f6",
    ),
];

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// The pixel at a row and column.
fn pixel(row: u32, column: u32) -> Pixel {
    let (range_mm, signal) = (1000 + 13 * row + 7 * column, (100 + 17 * row + 3 * column) as u16);
    let reflectivity = ((3 * row + 5 * column) & 0xff) as u16;
    Pixel {
        returns: [
            PixelReturn { range_mm, reflectivity, signal },
            PixelReturn {
                range_mm: range_mm + 2000,
                reflectivity: reflectivity ^ 255,
                signal: signal / 2,
            },
        ],
        near_infrared: (50 + 11 * row + 2 * column) as u16,
    }
}

fn column(id: u32) -> Column {
    let timestamp_ns = T_NS + 97_656 * u64::from(id);
    Column { timestamp_ns, measurement_id: id as u16, is_valid: true }
}

/// Packet `index` of a rotation of 1024 columns.
fn packet(format: LidarFormat, index: u32) -> Vec<u8> {
    let mut bytes = vec![0; format.packet_len(PIXELS)];
    let mut writer = PacketWriter::new(format, PIXELS, &mut bytes);
    writer.header(&HEADER);
    for place in 0..COLUMNS {
        let id = index * COLUMNS as u32 + place as u32;
        let out = writer.column(place, &column(id), &HEADER, 1024);
        for (row, out) in out.chunks_exact_mut(format.pixel_len()).enumerate() {
            pixel(row as u32, id).put(format, out);
        }
    }
    let is_checked = format != LidarFormat::Fusa;
    writer.finish(if is_checked { Footer::Crc64 } else { Footer::Zero });
    bytes
}

#[test]
fn packets_are_those_of_the_makers_own_writer() {
    for (format, len, first_pixel, first, turn) in GOLDEN {
        let bytes = packet(format, 0);
        assert_eq!(bytes.len(), len, "{format:?}");
        let at = format.header_len() + format.column_header_len();
        assert_eq!(hex(&bytes[at..at + format.pixel_len()]), first_pixel, "{format:?}");
        assert_eq!(sha256(&bytes), first, "{format:?}");
        let all: Vec<u8> = (0..64).flat_map(|index| packet(format, index)).collect();
        assert_eq!(sha256(&all), turn, "{format:?}");
    }
}

#[test]
fn heads_are_as_captured() {
    let bytes = packet(LidarFormat::Single, 0);
    assert_eq!(hex(&bytes[..14]), "01003412d58c8e602003761c0000");
    assert_eq!(hex(&bytes[32..44]), "0000a0d8855734160000".to_owned() + "0100");
    assert_eq!(hex(&bytes[bytes.len() - 8..]), "d8e90190e9c63c91");
    let bytes = packet(LidarFormat::Fusa, 0);
    assert_eq!(hex(&bytes[..18]), "01d58c8e34120000000000602003761c0000");
    let bytes = packet(LidarFormat::Legacy, 0);
    let last = 15 * LidarFormat::Legacy.column_len(PIXELS);
    assert_eq!(hex(&bytes[last..last + 16]), "085ab6d8855734160f00341228050000");
}

#[test]
fn what_is_written_is_read_again() {
    for (format, ..) in GOLDEN {
        let bytes = packet(format, 3);
        let read = Packet::parse(format, PIXELS, &bytes).unwrap();
        let expected = match format {
            LidarFormat::Legacy => Header { frame_id: HEADER.frame_id, ..Header::default() },
            _ => HEADER,
        };
        assert_eq!(read.header(), expected, "{format:?}");
        for (place, (head, pixels)) in read.columns().enumerate() {
            let id = 48 + place as u32;
            assert_eq!(head, column(id), "{format:?}");
            for (row, bytes) in pixels.chunks_exact(format.pixel_len()).enumerate() {
                let mut wanted = pixel(row as u32, id);
                if format.returns() == 1 {
                    wanted.returns[1] = PixelReturn::default();
                }
                if format.pixel_len() < 12 {
                    wanted.near_infrared &= !15;
                    for one in &mut wanted.returns {
                        (one.range_mm, one.signal) = (one.range_mm & !7, 0);
                    }
                }
                assert_eq!(Pixel::get(format, bytes), wanted, "{format:?}, row {row}");
            }
        }
        let mut formats = LidarFormat::of_len(bytes.len());
        assert!(formats.any(|found| found == (format, PIXELS)), "{format:?}");
    }
}

/// A pixel of a real unit with firmware 2.0: reflectivity has 16 bits, and only the format `LEGACY` has room for them.
#[test]
fn reflectivity_has_sixteen_bits_in_legacy_packets() {
    let first = PixelReturn { range_mm: 1889, reflectivity: 599, signal: 167 };
    let whole = Pixel { returns: [first, PixelReturn::default()], near_infrared: 0 };
    for (format, told) in [(LidarFormat::Legacy, 599), (LidarFormat::Single, 599 & 0xff)] {
        let mut bytes = vec![0; format.pixel_len()];
        whole.put(format, &mut bytes);
        assert_eq!(Pixel::get(format, &bytes).returns[0].reflectivity, told, "{format:?}");
    }
}

#[test]
fn a_changed_byte_breaks_the_checksum() {
    let mut bytes = packet(LidarFormat::Dual, 0);
    let footer = |bytes: &[u8]| Packet::parse(LidarFormat::Dual, PIXELS, bytes).unwrap().footer();
    assert_eq!(footer(&bytes), Some(Footer::Crc64));
    bytes[777] ^= 1;
    assert_eq!(footer(&bytes), None);
    assert!(Packet::parse(LidarFormat::Dual, 32, &bytes).is_err(), "another length");
    bytes[0] = 2;
    assert!(Packet::parse(LidarFormat::Dual, PIXELS, &bytes).is_err(), "an IMU packet");
}

#[test]
fn an_imu_packet_is_the_notes() {
    let sample = ImuPacket {
        system_ns: T_NS,
        acceleration_ns: T_NS + 214_500,
        gyro_ns: T_NS + 437_000,
        acceleration_g: [0.0, -0.5, 1.0],
        angular_rate_deg_s: [1.5, -2.0, 90.0],
    };
    let bytes = "0000a0d885573416e445a3d88557341608aba6d88557341600000000000000bf0000803f0000c03f\
                 000000c00000b442";
    assert_eq!(hex(&sample.to_bytes()), bytes);
    assert_eq!(ImuPacket::parse(&sample.to_bytes()), Ok(sample));
}
