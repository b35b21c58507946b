//! Tests of all formats. Each format is one entry of [`formats`].

use proptest::prelude::*;
use proptest::sample::Index;

use super::framer::{Framer, Framing};
use super::hesai::gps::GpsPacket;
use super::hesai::ptc::Ptc;
use super::ouster::imu::ImuPacket;
use super::record::Record as _;
use super::robosense::ucwp::Ucwp;
use super::velodyne::hdl64e_status::{RollingStream, StatusFormat, StatusTable};
use super::velodyne::position::{POSITION_PACKET_LEN, PositionPacket};
use super::velodyne::{DATA_PACKET_LEN, DataPacket, hdl64e_command};
use super::*;

/// Modules of `wire` that do not define a frame format. The messages of `ros2` and `ntrip` have separate tests, and
/// so do modules that only read (`corrections`) or only write (`navigation`, `rtcm`).
const NO_FORMATS: [&str; 15] = [
    "checksum",
    "corrections",
    "framer",
    "frames",
    "http",
    "line",
    "navigation",
    "ntrip",
    "port",
    "protobuf",
    "ptp",
    "record",
    "ros2",
    "rtcm",
    "time",
];

/// Reads a frame and writes it again; `None` if it is rejected.
type Again = Box<dyn Fn(&[u8]) -> Option<Vec<u8>>>;
/// Finds the frames of a stream that arrives in pieces of the given length. Returns each frame with its offset.
type Find = Box<dyn Fn(&[u8], usize) -> Vec<(u64, Vec<u8>)>>;

struct Format {
    /// Name of the module below `wire`.
    module: &'static str,
    /// Valid frames.
    examples: Vec<Vec<u8>>,
    /// Reads bytes that are exactly one frame, and writes the frame again; `None` if they are rejected.
    again: Again,
    /// Offset and bytes of the frames in a stream that arrives in pieces of the given length; `None` for frames that
    /// are not sent as a stream.
    find: Option<Find>,
}

fn plain(
    module: &'static str,
    examples: Vec<Vec<u8>>,
    again: impl Fn(&[u8]) -> Option<Vec<u8>> + 'static,
) -> Format {
    Format { module, examples, again: Box::new(again), find: None }
}

fn framed<F: Framing + Copy + 'static>(
    module: &'static str,
    examples: Vec<Vec<u8>>,
    format: F,
    emit: fn(&F::Frame, &mut Vec<u8>),
) -> Format {
    let bytes_of = move |frame: &F::Frame| {
        let mut out = vec![0xa5];
        emit(frame, &mut out);
        out.split_off(1)
    };
    let again = move |bytes: &[u8]| {
        format.begins(*bytes.first()?).then_some(())?;
        let (frame, length) = format.scan(bytes).ok()?;
        (length == bytes.len()).then(|| bytes_of(&frame))
    };
    let find = move |stream: &[u8], portion: usize| {
        let mut framer = Framer::new(format);
        let (mut found, mut end) = (Vec::new(), 0);
        for mut portion in stream.chunks(portion) {
            while let Some(piece) = framer.next_piece(&mut portion) {
                assert_eq!(piece.offset, end, "bytes are lost");
                end += piece.bytes.len() as u64;
                if let Some(frame) = &piece.frame {
                    assert_eq!(bytes_of(frame), piece.bytes);
                    found.push((piece.offset, piece.bytes.to_vec()));
                }
            }
            assert!(framer.taken() - end < format.max_len() as u64, "too much waits");
        }
        assert_eq!(framer.taken(), stream.len() as u64);
        found
    };
    Format { module, examples, again: Box::new(again), find: Some(Box::new(find)) }
}

fn formats() -> Vec<Format> {
    let text = |line: &str| line.as_bytes().to_vec();
    let ubx_ack = || hex("B5 62 05 01 02 00 06 08 16 3F");
    let rtcm = || {
        let message = [0xd3, 0x00, 0x02, 0x4c, 0xe0];
        [&message[..], &checksum::crc24q(&message).to_be_bytes()[1..]].concat()
    };
    let gga = || text("$GNGGA,,,,,,0,00,99.99,,,,,,*56\r\n");
    let header = ethernet::FrameHeader {
        source_mac: [2, 0, 0, 0, 0, 1],
        destination_mac: [0xff; 6],
        source_ip: [192, 168, 1, 201].into(),
        destination_ip: [255; 4].into(),
        source_port: 443,
        destination_port: 2368,
        ttl: 64,
        dont_fragment: true,
        identification: 7,
        udp_checksum: true,
    };
    let mut ethernet_frame = Vec::new();
    header.emit(b"payload", &mut ethernet_frame).unwrap();
    let pose = feed::PoseTwist {
        magic: feed::MAGIC,
        version: feed::VERSION,
        sequence: 1,
        time_ns: 2,
        position_m: [1.0; 3],
        orientation_xyzw: [0.0, 0.0, 0.0, 1.0],
        velocity_m_s: [2.0; 3],
        angular_rate_rad_s: [3.0; 3],
    };
    vec![
        framed(
            "cola",
            [cola::Dialect::A, cola::Dialect::B]
                .map(|dialect| cola::frame::emit(dialect, b"sMN Run"))
                .into(),
            cola::frame::Cola { max_content: 64 },
            |frame, out| out.extend(frame.emit()),
        ),
        framed(
            "create_oi",
            vec![hex("91 00 C8 FF 9C"), hex("8C 01 01 46 00"), hex("94 03 2B 2C 23")],
            create_oi::Commands,
            create_oi::Command::emit,
        ),
        framed(
            "create_oi",
            vec![hex("13 05 1D 02 19 0D 00 A3"), hex("13 08 23 02 2B FD E8 2C 04 B0 D0")],
            create_oi::Stream,
            create_oi::StreamFrame::emit,
        ),
        plain("ethernet", vec![ethernet_frame], |bytes| {
            let (header, payload) = ethernet::FrameHeader::parse(bytes).ok()?;
            let mut out = Vec::new();
            header.emit(payload, &mut out).ok()?;
            Some(out)
        }),
        framed(
            "fdilink",
            vec![
                hex("FC F0 04 03 37 00 00 00 00 00 00 FD"),
                hex("FC 5C 20 02 DE 1E 5D A2 6F 44 E8 B7 68 EA 3F BC 00 C3 6B 8E 22 C3 3F CD CC \
                     CC CC CC 1C 81 40 9A 99 99 3F 66 66 E6 3F FD"),
            ],
            fdilink::FdiLink,
            fdilink::Frame::emit,
        ),
        plain(
            "drive_order",
            vec![
                drive_order::DriveOrder::Twist { forward_m_s: 0.5, turn_rad_s: -1.0 }.encode(),
                drive_order::DriveOrder::Reset.encode(),
            ],
            |bytes| drive_order::DriveOrder::decode(bytes).ok().map(|order| order.encode()),
        ),
        plain("feed", vec![pose.encode()], |bytes| {
            feed::PoseTwist::decode(bytes).ok().map(|pose| pose.encode())
        }),
        plain(
            "foxglove",
            // A flipped bit changes 0 to a space, which JSON accepts at the end of a number. No number in these
            // examples ends in 0.
            [
                foxglove::ClientMessage::Subscribe(vec![
                    foxglove::Subscription { id: 0, channel: 3 },
                    foxglove::Subscription { id: 101, channel: 25 },
                ]),
                foxglove::ClientMessage::Unsubscribe(vec![0, 101]),
            ]
            .iter()
            .map(|message| message.emit().into_bytes())
            .collect(),
            |bytes| match foxglove::ClientMessage::parse(str::from_utf8(bytes).ok()?).ok()? {
                // `Other` stores only the name of a request.
                foxglove::ClientMessage::Other(_) => None,
                message => Some(message.emit().into_bytes()),
            },
        ),
        framed(
            "gnss_stream",
            vec![gga(), ubx_ack(), rtcm()],
            gnss_stream::GnssStream,
            gnss_stream::Frame::emit,
        ),
        framed(
            "horizon",
            vec![
                hex("AA 0D F2 00 7B 00 00 00 00 00 02 55 00 00 4E 61"),
                hex(
                    "AA 18 E7 00 7C 00 00 00 00 00 88 55 02 D2 04 00 00 C9 FD FF FF F4 01 06 FF F0 \
                     E2",
                ),
            ],
            horizon::Horizon,
            horizon::Frame::emit,
        ),
        framed(
            "kangaroo",
            vec![hex("80 43 06 44 51 01 30 01 08 01 4E"), text("1,P12345\r")],
            kangaroo::Kangaroo,
            kangaroo::Item::emit,
        ),
        framed(
            "joint_lines",
            vec![text("12340,48213\r\n"), text("INDEX,12345.25,-96000\r\n"), text("NACK\r")],
            joint_lines::Lines,
            joint_lines::Message::emit,
        ),
        plain(
            "livox",
            vec![livox::command::Frame::request(7, 0x0101, vec![0, 0]).to_bytes()],
            |bytes| Some(livox::command::Frame::parse(bytes).ok()?.to_bytes()),
        ),
        plain("gige", vec![hex("42 01 00 82 00 08 ff 2c 00 00 0a 00 00 00 00 02")], |bytes| {
            Some(gige::Command::parse(bytes).ok()?.to_bytes())
        }),
        plain("joint_lines", vec![text("PS3D00000009600092"), text("TC+9"), text("SC")], |bytes| {
            let mut out = Vec::new();
            joint_lines::Command::parse(bytes)?.emit(&mut out);
            Some(out)
        }),
        framed(
            "hesai",
            vec![hex("47 74 05 00 00 00 00 00"), hex("47 74 17 00 00 00 00 02 04 B0")],
            Ptc,
            |frame, out| out.extend(frame.to_bytes()),
        ),
        plain(
            "hesai",
            vec![GpsPacket { date: [26, 7, 5, 10, 20, 30], ..GpsPacket::default() }.to_bytes()],
            |bytes| GpsPacket::parse(bytes).ok().map(|packet| packet.to_bytes()),
        ),
        plain(
            "robosense",
            vec![hex(
                "aa 00 ff 11 22 22 aa aa 02 58 c0 a8 01 69 c0 a8 01 e1 00 1c 23 17 4a cc 1a 20 1a 20 \
                      22 c3 22 c3 00 00 2e e0 11 03 0a 09 2d 1e 00 64 00 c8 00 00",
            )],
            |bytes| Ucwp::parse(bytes).ok().map(|ucwp| ucwp.to_bytes()),
        ),
        framed(
            "mip",
            vec![hex("75 65 01 04 04 F1 01 00 D5 6A"), hex("75 65 0C 03 03 30 05 21 47")],
            mip::Mip,
            mip::Packet::emit,
        ),
        plain("nmea", vec![gga(), text("$PUBX,00*33\r\n")], |bytes| {
            nmea::RawSentence::parse(bytes).ok().map(|sentence| sentence.to_bytes())
        }),
        plain(
            "ouster",
            vec![
                ImuPacket {
                    system_ns: 1_600_000_000_000_000_000,
                    acceleration_ns: 1_600_000_000_000_214_500,
                    gyro_ns: 1_600_000_000_000_437_000,
                    acceleration_g: [0.0, -0.5, 1.0],
                    angular_rate_deg_s: [1.5, -2.0, 90.0],
                }
                .to_bytes(),
            ],
            |bytes| ImuPacket::parse(bytes).ok().map(|packet| packet.to_bytes()),
        ),
        framed(
            "phone",
            vec![text("$PMNR,PHONE,17,0.340,92.31,-0.54,1.20,0.00123,-0.00045,0.10230*54\r\n")],
            phone::Phone,
            phone::Sentence::emit,
        ),
        framed(
            "roboclaw",
            vec![hex("80 10"), hex("80 25 00 00 05 DC FF FF FA 24 D7 E0"), hex("80 14 49 2D")],
            roboclaw::RoboClaw,
            roboclaw::Item::emit,
        ),
        framed("sabertooth", vec![hex("80 05 1F 24")], sabertooth::Sabertooth, |packet, out| {
            packet.emit(out);
        }),
        framed(
            "sbg_ecom",
            vec![hex(
                "FF 5A 02 00 21 00 40 42 0F 00 A7 00 EA 07 0B 15 09 1B 19 00 00 00 00 98 EA \
                      ED 20 00 00 00 00 00 00 00 00 00 00 00 00 35 0B 33",
            )],
            sbg_ecom::SbgEcom,
            sbg_ecom::Frame::emit,
        ),
        framed(
            "scip",
            vec![
                text("QT\n00P\n\n"),
                text("PP\n00P\nMODL:UTM-30LX-EW;I\nDMIN:23;7\n\n"),
                text("MD0540054401000\n99b\n0N90W\n0?X0?Y0?Z0017D`4\n\n"),
                text("SCIP2.0\n0\n\n"),
            ],
            scip::message::Messages,
            scip::message::Message::emit,
        ),
        plain(
            "scip",
            vec![text("MD0000108001000;abc\n"), text("%ST\n"), text("QTnow\n")],
            |bytes| {
                let line = bytes.strip_suffix(b"\n")?;
                let request = scip::request::Request::parse(line, false).ok()?;
                Some([request.to_bytes(), b"\n".to_vec()].concat())
            },
        ),
        framed(
            "sick_lms2xx",
            vec![hex("02 00 01 00 31 15 12"), hex("02 00 06 00 20 27 01 00 B5 00 12 09")],
            sick_lms2xx::frame::Telegrams::default(),
            |item, out| match item {
                sick_lms2xx::frame::Item::Telegram { address, payload } => {
                    out.extend(sick_lms2xx::frame::emit(*address, payload));
                }
                sick_lms2xx::frame::Item::BadCrc { .. } => out.push(sick_lms2xx::STX),
                sick_lms2xx::frame::Item::Ack => out.push(sick_lms2xx::ACK),
                sick_lms2xx::frame::Item::Nak => out.push(sick_lms2xx::NAK),
            },
        ),
        plain("ubx", vec![ubx_ack()], |bytes| {
            ubx::Frame::parse(bytes).ok().map(|frame| frame.to_bytes())
        }),
        framed(
            "vectornav",
            vec![
                text("$VNRRG,01*72\r\n"),
                hex("FA 01 31 01 00 F2 05 2A 01 00 00 00 00 00 00 00 00 00 00 00 F3 04 35 3F F3 \
                     04 35 3F 0A D7 23 3C 0A D7 A3 BC 8F C2 F5 3C CD CC CC 3D CD CC 4C BE C3 F5 \
                     1C C1 2F B6"),
            ],
            vectornav::VectorNav,
            vectornav::Frame::emit,
        ),
        plain("velodyne", vec![vec![7; DATA_PACKET_LEN]], |bytes| {
            let mut out = [0xa5; DATA_PACKET_LEN];
            DataPacket::parse(bytes).ok()?.emit(&mut out);
            Some(out.to_vec())
        }),
        plain("velodyne", vec![vec![7; POSITION_PACKET_LEN]], |bytes| {
            let mut out = [0xa5; POSITION_PACKET_LEN];
            PositionPacket::parse(bytes).ok()?.emit(&mut out);
            Some(out.to_vec())
        }),
        plain(
            "velodyne",
            vec![RollingStream::emit(&StatusTable::new(StatusFormat::S3)).bytes().to_vec()],
            |bytes| {
                let table = RollingStream::parse(StatusFormat::S3, bytes).ok()?;
                Some(RollingStream::emit(&table).bytes().to_vec())
            },
        ),
        framed(
            "velodyne",
            vec![text("#HDLRPM0600$"), text("#HDLRETD$")],
            hdl64e_command::Commands,
            |command, out| out.extend(command.as_bytes()),
        ),
        {
            let mut example = Vec::new();
            truth::tests::record().emit(&mut example);
            plain("truth", vec![example], |bytes| {
                let mut again = Vec::new();
                truth::PacketRecord::parse(bytes).ok()?.emit(&mut again);
                Some(again)
            })
        },
        framed(
            "xbus",
            vec![hex("FA FF 30 00 D1"), hex("FA FF 01 04 03 60 00 01 98")],
            xbus::Xbus,
            xbus::Message::emit,
        ),
    ]
}

#[test]
fn every_format_is_in_the_table() {
    let lines = include_str!("lib.rs").lines();
    let modules = lines.filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'));
    let formats = formats();
    for module in modules.filter(|module| !NO_FORMATS.contains(module)) {
        assert!(formats.iter().any(|format| format.module == module), "{module} is not in it");
    }
}

#[test]
fn every_truncation_is_refused() {
    for Format { module, examples, again, .. } in formats() {
        for example in examples {
            assert_eq!(again(&example).as_ref(), Some(&example), "{module}: {example:02x?}");
            for length in 0..example.len() {
                assert_eq!(again(&example[..length]), None, "{module}: {length} bytes");
            }
        }
    }
}

#[test]
fn every_flipped_bit_is_refused_or_comes_back() {
    for Format { module, examples, again, .. } in formats() {
        for mut flipped in examples {
            for bit in 0..8 * flipped.len() {
                flipped[bit / 8] ^= 1 << (bit % 8);
                let read = again(&flipped);
                assert!(read.is_none_or(|read| read == flipped), "{module}: bit {bit}");
                flipped[bit / 8] ^= 1 << (bit % 8);
            }
        }
    }
}

proptest! {
    #[test]
    fn frames_are_found_however_a_stream_is_cut(
        parts in prop::collection::vec(
            (0..4u8, any::<Index>(), prop::collection::vec(any::<u8>(), 0..40)), 0..8),
        portion in 1usize..80,
    ) {
        for format in formats() {
            let Some(find) = &format.find else { continue };
            let part = |(kind, index, noise): &(u8, Index, Vec<u8>)| {
                let example = index.get(&format.examples);
                match kind {
                    0 => noise.clone(),
                    1 => example.clone(),
                    2 => example[..example.len() / 2].to_vec(),
                    _ => [&example[..1], example].concat(),
                }
            };
            let stream: Vec<u8> = parts.iter().flat_map(part).collect();
            prop_assert_eq!(find(&stream, portion), find(&stream, stream.len().max(1)));
        }
    }
}

/// Bytes of a hexadecimal text such as `FC 40 …`; words that are not bytes are skipped.
pub(crate) fn hex(text: &str) -> Vec<u8> {
    let bytes = text.split_whitespace().filter(|word| word.len() == 2);
    bytes.map(|byte| u8::from_str_radix(byte, 16).expect("hex")).collect()
}
