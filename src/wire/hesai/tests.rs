use sha2::{Digest, Sha256};

use super::data::{Packet, PacketWriter, Point, ReturnMode, Tail};
use super::format::{HAS_SEQUENCE, HeadWords, HesaiFormat};
use super::gps::GpsPacket;
use super::ptc::{
    Configuration, Destination, Inventory, LidarRange, Monitor, OwnNetwork, Ptc, PtcFrame,
    PtpConfiguration, PtpGrandmaster, PtpStatus, Status, SyncAngle, command,
};
use crate::framer::Framer;
use crate::record::Record;

/// A golden packet: format, whether it has dual returns, whether it has a sequence number, year byte, first bytes in
/// hexadecimal, SHA-256.
struct Golden(HesaiFormat, bool, bool, u8, &'static str, &'static str);

const GOLDEN: [Golden; 7] = [
    Golden(
        HesaiFormat::Xt32,
        false,
        true,
        126,
        "eeff060100002008000401013930e80300fff203",
        "eedf3f9e5c8d8499144ae098c09db1426efd713fefae51551546b8830361276b",
    ),
    Golden(
        HesaiFormat::Xt32,
        true,
        true,
        126,
        "eeff060100002008010402013930e80300fff203",
        "37f72bd106ffe00e9dabbb4813903c0c6f502ba34989da8ef23891eae1a283d8",
    ),
    Golden(
        HesaiFormat::Xt16,
        false,
        true,
        126,
        "eeff060100001008000401013930e80300fff203",
        "2b0bf1a3d2211ffa98f71ac1b25b47e635de122ad45c27d4737d9bc30012d822",
    ),
    Golden(
        HesaiFormat::Pandar40P,
        false,
        true,
        26,
        "ffee3930e80300f20303fc030606040910040c1a",
        "54b72dffdc60644280a468d184af6406030ac0a3a6804f5fd975f8c6524c4f9a",
    ),
    Golden(
        HesaiFormat::Pandar40P,
        false,
        false,
        26,
        "ffee3930e80300f20303fc030606040910040c1a",
        "d25c9e907e1c2d671992e11011b47b1e7d9c3c7b6998716b43a9f8b4219530a4",
    ),
    Golden(
        HesaiFormat::Pandar64,
        false,
        true,
        126,
        "eeff4006000400003930e80300f20303fc030606",
        "e9cc663f561f05a4b7e0eee0ae2d013a1e4074e8ee220e4bbfec95cb10bc780f",
    ),
    Golden(
        HesaiFormat::Qt64,
        false,
        true,
        126,
        "eeff030100004004000401013930e8030000f203",
        "d825b7d4642dd984c370f35702c705e4b29ae7dedb8839a29e6346e18275ac55",
    ),
];
const GPS_SHA256: &str = "bc58a9899f255111d7a91e083157a2685c5378d2faab4ea99adf0d024ad03185";
const SENTENCE: &[u8] = b"$GPRMC,102030.00,A,3643.0000,N,00425.0000,W,0.00,0.00,050726,,,A*4B";

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn step_centideg(format: HesaiFormat) -> u16 {
    match format {
        HesaiFormat::Xt16 | HesaiFormat::Xt32 => 18,
        HesaiFormat::Qt64 => 60,
        HesaiFormat::Pandar40P | HesaiFormat::Pandar64 => 20,
    }
}

/// Azimuth and points of a block.
fn block(format: HesaiFormat, is_dual: bool, index: usize) -> (u16, Vec<Point>) {
    let (step, second) = if is_dual { (index / 2, index % 2) } else { (index, 0) };
    let is_xt = matches!(format, HesaiFormat::Xt16 | HesaiFormat::Xt32);
    let point = |laser: usize| Point {
        distance: (1000 + 10 * laser + 100 * step - 500 * second) as u16,
        reflectivity: (3 * laser + index) as u8,
        confidence: if is_xt { 0xff } else { 0 },
    };
    let azimuth = 12_345 + step_centideg(format) * step as u16;
    (azimuth, (0..format.lasers()).map(point).collect())
}

fn packet(golden: &Golden) -> Vec<u8> {
    let Golden(format, is_dual, has_sequence, year, ..) = *golden;
    let mode = match (format, is_dual) {
        (_, true) => ReturnMode::LastStrongest,
        (HesaiFormat::Qt64, _) => ReturnMode::Last,
        _ => ReturnMode::Strongest,
    };
    let words = HeadWords {
        minor: 1,
        first_block: is_dual.into(),
        returns: 1 + u8::from(is_dual),
        flags: HAS_SEQUENCE,
        ..HeadWords::default()
    };
    let tail = Tail {
        status: [0; 10],
        rpm: 600,
        date: [year, 7, 5, 10, 20, 30],
        micros: 123_456,
        return_mode: mode.byte(),
        factory: 0x42,
        sequence: has_sequence.then_some(1000),
    };
    let mut bytes = vec![0; format.packet_len(has_sequence)];
    let mut writer = PacketWriter::new(format, &mut bytes);
    writer.head(&format.head(words));
    for index in 0..format.blocks() {
        let (azimuth, points) = block(format, is_dual, index);
        let out = writer.block(index, azimuth);
        for (point, out) in points.iter().zip(out.chunks_exact_mut(format.point_len())) {
            point.put(out);
        }
    }
    writer.tail(&tail);
    bytes
}

#[test]
fn packets_are_the_notes() {
    for golden in &GOLDEN {
        let Golden(format, is_dual, _, _, first, sum) = golden;
        let bytes = packet(golden);
        assert_eq!(hex(&bytes[..20]), *first, "{format:?}");
        assert_eq!(sha256(&bytes), *sum, "{format:?}, dual: {is_dual}");
    }
    let xt = packet(&GOLDEN[0]);
    assert_eq!(
        hex(&xt[xt.len() - 28..]),
        "000000000000000000003758027e07050a141e40e2010042e8030000"
    );
}

#[test]
fn what_is_written_is_read_again() {
    for golden in &GOLDEN {
        let Golden(format, is_dual, has_sequence, year, ..) = *golden;
        let bytes = packet(golden);
        let read = Packet::parse(&bytes).unwrap();
        assert_eq!((read.format(), read.is_dual()), (format, is_dual));
        for (index, (azimuth, points)) in read.blocks().enumerate() {
            let points: Vec<_> = read.points(points).collect();
            assert_eq!((azimuth, points), block(format, is_dual, index), "{format:?}");
        }
        assert_eq!(read.tail().date, [year, 7, 5, 10, 20, 30]);
        assert_eq!(read.tail().sequence, has_sequence.then_some(1000));
        assert_eq!(read.tail().rpm, 600);
        for len in 0..bytes.len() {
            let is_other = has_sequence && len == format.packet_len(false);
            // A packet without its sequence number is another valid packet if no header shows the difference.
            let may_be = is_other && format.protocol().is_none();
            assert_eq!(Packet::parse(&bytes[..len]).is_ok(), may_be, "{format:?}, {len} bytes");
        }
    }
}

#[test]
fn other_heads_are_refused() {
    let spoilt = |golden: usize, at: usize, byte: u8| {
        let mut bytes = packet(&GOLDEN[golden]);
        bytes[at] = byte;
        Packet::parse(&bytes).is_err()
    };
    assert!(spoilt(0, 0, 0xff), "flag");
    assert!(spoilt(0, 2, 3), "protocol");
    assert!(spoilt(0, 6, 16), "lasers");
    assert!(spoilt(0, 9, 5), "unit");
    assert!(spoilt(0, 11, 0), "no sequence number");
    assert!(spoilt(0, 13, 0x8d), "azimuth");
    assert!(spoilt(3, 124, 0), "flag of the second block");
    assert!(spoilt(5, 2, 32), "lasers of a Pandar64");
}

#[test]
fn a_gps_packet_is_the_notes() {
    let packet = GpsPacket {
        date: [26, 7, 5, 10, 20, 30],
        micros: 123_456,
        sentence: SENTENCE.to_vec(),
        status: b'A',
        pps_locked: true,
    };
    let bytes = packet.to_bytes();
    assert_eq!(hex(&bytes[..20]), "ffee36323730353030333032303140e201002447");
    assert_eq!(sha256(&bytes), GPS_SHA256);
    assert_eq!(GpsPacket::parse(&bytes), Ok(packet));
    for len in 0..bytes.len() {
        assert!(GpsPacket::parse(&bytes[..len]).is_err(), "{len} bytes");
    }
    for (at, byte) in [(0, 0), (2, b'x'), (200, 0), (507, 2), (511, 1)] {
        let mut bytes = bytes.clone();
        bytes[at] = byte;
        assert!(GpsPacket::parse(&bytes).is_err(), "byte {at}");
    }
}

#[test]
fn frames_are_the_notes() {
    let frame = |command, payload: &[u8]| PtcFrame { command, code: 0, payload: payload.to_vec() };
    let golden = [
        ("4774050000000000", frame(command::CALIBRATION, &[])),
        ("477417000000000204b0", frame(command::SPIN_RATE, &1200u16.to_be_bytes())),
        ("4774170000000000", frame(command::SPIN_RATE, &[])),
    ];
    for (bytes, frame) in &golden {
        assert_eq!(hex(&frame.to_bytes()), *bytes);
    }
    assert_eq!(hex(&frame(5, &[b'x'; 600]).to_bytes()[..8]), "4774050000000258");
    let destination = Destination { ip: [192, 168, 1, 100], data_port: 2368, gps_port: 10_110 };
    let set = frame(command::DESTINATION, &destination.to_bytes());
    assert_eq!(hex(&set.to_bytes()), "4774200000000008c0a801640940277e");
    assert_eq!(Destination::parse(&set.payload), Ok(destination));
    // Pieces of any length, with other bytes in between.
    let mut stream = b"GET / Gt".to_vec();
    golden.iter().for_each(|(_, frame)| stream.extend(frame.to_bytes()));
    let mut framer = Framer::new(Ptc);
    let found: Vec<_> = stream.chunks(3).flat_map(|piece| framer.frames(piece)).collect();
    assert_eq!(found, golden.map(|(_, frame)| frame));
    // A length that no lidar accepts does not begin a frame.
    let mut framer = Framer::new(Ptc);
    assert!(framer.frames(&[0x47, 0x74, 5, 0, 0, 0, 0x28, 1]).is_empty());
    assert_eq!(framer.frames(&set.to_bytes()), [set]);
}

#[test]
fn payloads_are_as_long_as_drivers_have_them() {
    fn check<T: Record + PartialEq + std::fmt::Debug>(len: usize) {
        let bytes: Vec<_> = (0..len).map(|at| at as u8).collect();
        let value = T::parse(&bytes).unwrap();
        assert_eq!(value.to_bytes(), bytes);
        for short in 0..len {
            assert!(T::parse(&bytes[..short]).is_err(), "{short} of {len}");
        }
    }
    check::<Inventory>(120);
    check::<Configuration>(47);
    check::<Status>(54);
    check::<Monitor>(64);
    check::<LidarRange>(5);
    check::<SyncAngle>(3);
    check::<OwnNetwork>(15);
    check::<PtpConfiguration>(6);
    check::<PtpStatus>(16);
    check::<PtpGrandmaster>(8);
}

#[test]
fn modes_have_their_bytes_and_names() {
    for (name, mode) in ReturnMode::NAMES {
        assert_eq!(ReturnMode::from_byte(mode.byte()), Some(mode));
        assert_eq!(mode.name(), name);
        assert_eq!(mode.is_dual(), name.contains('-'), "{name}");
    }
    assert_eq!(ReturnMode::from_byte(0x3d), None, "three returns");
}
