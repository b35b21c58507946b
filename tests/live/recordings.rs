//! Tests of recordings in users' formats, with the real binary.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::process::Output;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::common::{self, Heard, stderr, stdout};
use mcap::records::MessageHeader;
use menura::wire::ethernet::FrameHeader;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::{PcapNgBlock, PcapNgWriter};
use pcap_file::{DataLink, TsResolution};
use serde_json::Value;

const PROFILE: &str = "velodyne-vlp16-3.0";

fn menura(arguments: &[&str]) -> Output {
    common::menura().args(arguments).output().expect("the binary runs")
}

/// Output of a command, which must succeed.
fn done(arguments: &[&str]) -> Output {
    let output = menura(arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
    output
}

/// A folder with `out/lidar.pcap`, the output of a VLP-16 in a room, and its ground truth.
struct Recorded(tempfile::TempDir);

impl Recorded {
    fn new(duration: &str) -> Self {
        let recorded = Self(tempfile::tempdir().unwrap());
        let (rig, out) = (recorded.path("rig.toml"), recorded.path("out"));
        let text = format!(
            "seed = 3\nstart_utc = 2026-06-01T12:00:00Z\n[world]\nscene = \"room\"\n\
             [robot]\ntrajectory = {{ kind = \"still\" }}\n\
             [[device]]\nname = \"lidar\"\nprofile = \"{PROFILE}\"\n\
             mount = {{ translation_m = [0.0, 0.0, 1.5] }}\n\
             link = {{ udp = {{ to = \"127.0.0.1:2368\" }} }}\n\
             settings = {{ beam = {{ shape = \"ray\" }} }}\n"
        );
        fs::write(&rig, text).unwrap();
        done(&["record", &rig, "--duration", duration, "--out", &out, "--truth"]);
        recorded
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().expect("UTF-8").to_owned()
    }
}

/// Replays a capture to a socket of this test; returns the output of the command and the datagrams.
fn replayed(capture: &str) -> (Output, Vec<Vec<u8>>) {
    common::until_whole(|| {
        let socket = common::roomy_socket();
        let address = socket.local_addr().unwrap();
        let before = common::dropped_at(address.port());
        socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        let is_over = AtomicBool::new(false);
        let told = std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let (mut received, mut buffer) = (Vec::new(), vec![0; 65_536]);
                loop {
                    match socket.recv(&mut buffer) {
                        Ok(length) => received.push(buffer[..length].to_vec()),
                        Err(_) if is_over.load(Ordering::Relaxed) => break received,
                        Err(_) => {}
                    }
                }
            });
            let output = menura(&["replay", capture, "--to", &address.to_string()]);
            is_over.store(true, Ordering::Relaxed);
            (output, reader.join().unwrap())
        });
        Heard { told, dropped: common::dropped_at(address.port()) - before }
    })
}

/// Copies the messages of an MCAP file to another one, followed by three transforms.
fn add_transforms(from: &str, to: &str) {
    let bytes = fs::read(from).unwrap();
    let mut writer = mcap::Writer::new(File::create(to).unwrap()).unwrap();
    for message in mcap::MessageStream::new(&bytes).unwrap() {
        writer.write(&message.unwrap()).unwrap();
    }
    let schema = writer.add_schema("tf2_msgs/msg/TFMessage", "ros2msg", b"").unwrap();
    let channel_id = writer.add_channel(schema, "/tf", "cdr", &BTreeMap::new()).unwrap();
    for sequence in 0..3 {
        let header = MessageHeader { channel_id, sequence, log_time: 1, publish_time: 1 };
        writer.write_to_known_channel(&header, &[0, 1, 0, 0, 0, 0, 0, 0]).unwrap();
    }
    writer.finish().unwrap();
}

#[test]
fn other_topics_of_a_bag_are_told_and_are_no_failure() {
    let recorded = Recorded::new("1s");
    let files = ["out/lidar.pcap", "out/truth.mcap", "plain.mcap", "bag.mcap"];
    let [capture, truth, plain, bag] = files.map(|name| recorded.path(name));
    done(&["convert", &capture, &plain]);
    add_transforms(&plain, &bag);
    let told =
        format!("{bag}: skipped messages without packets: 3 × message of tf2_msgs/msg/TFMessage");
    let (replay, _) = replayed(&bag);
    assert_eq!(replay.status.code(), Some(0), "{}", stderr(&replay));
    assert!(stderr(&replay).contains(&told), "{}", stderr(&replay));
    let (cloud, table) = (recorded.path("cloud.pcd"), recorded.path("table.csv"));
    let commands: [&[&str]; 4] = [
        &["twin", &bag, "--profile", PROFILE, "--scene", "room"],
        &["fit", "lidar", &bag, "--profile", PROFILE],
        &["export", &bag, "--to", "pcd", "--out", &cloud],
        &["join", &bag, &truth, "--out", &table],
    ];
    for arguments in commands {
        let output = done(arguments);
        assert!(stderr(&output).contains(&told), "{arguments:?}: {}", stderr(&output));
    }
}

/// Lines of `menura inspect --json` for a capture; the last one is the summary.
fn inspected(capture: &str) -> Vec<Value> {
    let report = stdout(&done(&["inspect", capture, "--json"]));
    report.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn bags_of_a_recording_are_read_as_the_recording_is() {
    let recorded = Recorded::new("300ms");
    let capture = recorded.path("out/lidar.pcap");
    let frames = common::frames(&fs::read(&capture).unwrap());
    let sent: Vec<Vec<u8>> = frames.into_iter().map(|(_, payload)| payload).collect();
    assert!(sent.len() > 200, "{}", sent.len());
    let flows = |capture: &str| -> Vec<[Value; 4]> {
        let told = inspected(capture);
        let flows = told.last().unwrap()["flows"].as_array().unwrap();
        let keys = ["source", "destination", "packets"];
        let told = |flow: &Value| {
            let [source, destination, packets] = keys.map(|key| flow[key].clone());
            [source, destination, packets, flow["data"]["model"].clone()]
        };
        flows.iter().map(told).collect()
    };
    let cloud = |capture: &str| {
        let out = format!("{capture}.pcd");
        done(&["export", capture, "--to", "pcd", "--out", &out]);
        fs::read(out).unwrap()
    };
    let (own_flows, own_cloud) = (flows(&capture), cloud(&capture));
    assert!(own_flows.iter().any(|[.., model]| model.is_string()), "{own_flows:?}");
    for (name, format) in [("bag.mcap", "MCAP"), ("bag.db3", "ROS 2 bag")] {
        let bag = recorded.path(name);
        done(&["convert", &capture, &bag]);
        let told = inspected(&bag);
        assert_eq!(told.last().unwrap()["format"], format);
        assert_eq!(flows(&bag), own_flows, "{name}");
        assert!(cloud(&bag) == own_cloud, "{name}: other points");
        let (replay, received) = replayed(&bag);
        let told = stderr(&replay);
        assert_eq!(replay.status.code(), Some(0), "{name}: {told}");
        assert!(!told.contains("left out") && !told.contains("skipped"), "{name}: {told}");
        assert!(received == sent, "{name}: {} of {} came", received.len(), sent.len());
        // Data of a second unit for a kit's case, without position packets.
        let unit = |path: &str| menura::kit::stranger::twin(Path::new(path)).unwrap();
        let (own, other) = (unit(&capture), unit(&bag));
        assert!(own.len() > 200 && own == other, "{name}: {} and {}", own.len(), other.len());
    }
}

/// Length of a datagram of an OS1-128 in the format LEGACY: 16 columns of 128 pixels.
const DATAGRAM_LEN: usize = 24_896;
/// Bytes in an Ethernet frame after the IP header.
const FRAGMENT_LEN: usize = 1480;
/// Number of fragments of a datagram with its UDP header.
const FRAGMENTS: usize = (8 + DATAGRAM_LEN).div_ceil(FRAGMENT_LEN);
const DATAGRAMS: u16 = 20;

/// Time of capture (nanoseconds since 1970), and bytes.
type Frame = (u64, Vec<u8>);

fn datagram(number: u16) -> Vec<u8> {
    (0..DATAGRAM_LEN).map(|at| (at / 7 + usize::from(number)) as u8).collect()
}

/// Checksum of an IP header whose checksum field is zero (RFC 791).
fn checksum(header: &[u8]) -> u16 {
    let words = header.chunks_exact(2).map(|word| u16::from_be_bytes([word[0], word[1]]));
    let mut sum: u32 = words.map(u32::from).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// The datagrams as frames of an interface with an MTU of 1500.
fn fragments() -> Vec<Frame> {
    let (mut frames, mut whole) = (Vec::new(), Vec::new());
    for number in 0..DATAGRAMS {
        let header = FrameHeader {
            source_mac: [2; 6],
            destination_mac: [4; 6],
            source_ip: [192, 168, 1, 201].into(),
            destination_ip: [192, 168, 1, 100].into(),
            source_port: 7502,
            destination_port: 7502,
            ttl: 64,
            dont_fragment: false,
            identification: number,
            udp_checksum: true,
        };
        header.emit(&datagram(number), &mut whole).unwrap();
        let (head, payload) = whole.split_at(34);
        for (place, part) in payload.chunks(FRAGMENT_LEN).enumerate() {
            let more = u16::from(place + 1 < FRAGMENTS) << 13;
            let offset = (place * FRAGMENT_LEN / 8) as u16;
            let mut frame = head.to_vec();
            frame[16..18].copy_from_slice(&((20 + part.len()) as u16).to_be_bytes());
            frame[20..22].copy_from_slice(&(more | offset).to_be_bytes());
            frame[24..26].fill(0);
            let checksum = checksum(&frame[14..]);
            frame[24..26].copy_from_slice(&checksum.to_be_bytes());
            frame.extend_from_slice(part);
            let since_us = u64::from(number) * 1562 + place as u64 * 12;
            frames.push((1_700_000_000_000_000_000 + since_us * 1000, frame));
        }
    }
    frames
}

fn pcap(frames: &[Frame]) -> Vec<u8> {
    let header = PcapHeader { ts_resolution: TsResolution::NanoSecond, ..PcapHeader::default() };
    let mut writer = PcapWriter::with_header(Vec::new(), header).unwrap();
    for (at, frame) in frames {
        let packet = PcapPacket::new(Duration::from_nanos(*at), frame.len() as u32, frame);
        writer.write_packet(&packet).unwrap();
    }
    writer.into_writer()
}

fn pcapng(frames: &[Frame]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = PcapNgWriter::new(&mut bytes).unwrap();
    let interface = InterfaceDescriptionBlock {
        linktype: DataLink::ETHERNET,
        snaplen: 65_535,
        options: vec![InterfaceDescriptionOption::IfTsResol(9)],
    };
    writer.write_block(&interface.into_block()).unwrap();
    for (at, frame) in frames {
        let packet = EnhancedPacketBlock {
            interface_id: 0,
            timestamp: Duration::from_nanos(*at),
            original_len: frame.len() as u32,
            data: Cow::Borrowed(&frame[..]),
            options: Vec::new(),
        };
        writer.write_block(&packet.into_block()).unwrap();
    }
    bytes
}

#[test]
fn datagrams_in_ip_fragments_are_counted_and_sent() {
    let folder = tempfile::tempdir().unwrap();
    let whole = fragments();
    assert_eq!(whole.len(), FRAGMENTS * usize::from(DATAGRAMS));
    // One fragment of datagram 3 is missing.
    let mut gappy = whole.clone();
    gappy.remove(3 * FRAGMENTS + 5);
    let mut sent: Vec<Vec<u8>> = (0..DATAGRAMS).map(datagram).collect();
    type Write = fn(&[Frame]) -> Vec<u8>;
    let forms: [(&str, Write); 2] = [("pcap", pcap), ("pcapng", pcapng)];
    let captures = forms.map(|(extension, write)| {
        let files = [("whole", &whole), ("gappy", &gappy)];
        files.map(|(name, frames)| {
            let path = folder.path().join(format!("{name}.{extension}"));
            fs::write(&path, write(frames)).unwrap();
            path.to_str().expect("UTF-8").to_owned()
        })
    });
    for [capture, _] in &captures {
        let told = inspected(capture);
        let [packets @ .., summary] = &told[..] else { panic!("{capture}: nothing is told") };
        assert_eq!(packets.len(), usize::from(DATAGRAMS), "{capture}");
        assert!(packets.iter().all(|packet| packet["length"] == DATAGRAM_LEN), "{capture}");
        let flow = &summary["flows"][0];
        assert_eq!(flow["packets"], DATAGRAMS, "{capture}");
        assert_eq!(flow["bad_udp_checksums"], 0, "{capture}");
        let (replay, received) = replayed(capture);
        assert_eq!(replay.status.code(), Some(0), "{capture}: {}", stderr(&replay));
        assert!(received == sent, "{capture}: {} came", received.len());
        let unit = menura::kit::stranger::twin(Path::new(capture)).unwrap();
        assert!(unit.iter().map(|(_, payload)| payload).eq(&sent), "{capture}");
    }
    sent.remove(3);
    let told = format!("not sent: {} IP fragments without the rest of the datagram", FRAGMENTS - 1);
    for [_, capture] in &captures {
        let (replay, received) = replayed(capture);
        assert_eq!(replay.status.code(), Some(2), "{capture}: {}", stderr(&replay));
        assert!(stderr(&replay).contains(&told), "{capture}: {}", stderr(&replay));
        let unit = menura::kit::stranger::twin(Path::new(capture));
        assert!(unit.is_err_and(|error| error.contains("without the rest")), "{capture}");
        assert!(received == sent, "{capture}: {} came", received.len());
    }
}

#[test]
fn a_replay_says_where_it_leaves_the_times_of_its_capture() {
    let folder = tempfile::tempdir().unwrap();
    let ms = 1_000_000;
    for (late_ns, told) in [
        (
            1_000_000 * ms,
            "packet 2: captured 999.999 s earlier than the one before it; sent together with it",
        ),
        (0, ""),
    ] {
        let capture = common::capture_of(
            folder.path(),
            (0..20).map(|k| k * ms + if k == 0 { late_ns } else { 0 }),
        );
        let certificate = folder.path().join("timing.json");
        let ended = menura(&["replay", &capture, "--certificate", certificate.to_str().unwrap()]);
        assert_eq!(ended.status.code(), Some(0), "{}{}", stdout(&ended), stderr(&ended));
        let page: Value = serde_json::from_slice(&fs::read(&certificate).unwrap()).unwrap();
        let certified = page["overrides"].to_string();
        for text in [&stdout(&ended), &stderr(&ended), &certified] {
            assert_eq!(text.contains("earlier"), !told.is_empty(), "{text}");
            assert!(text.contains(told), "{text}");
        }
        fs::remove_file(&certificate).unwrap();
    }
}

#[test]
#[allow(clippy::disallowed_methods)] // times another process, not the simulation
fn the_limits_of_a_replay_say_what_is_a_jump() {
    let folder = tempfile::tempdir().unwrap();
    let ms: i128 = 1_000_000;
    // A pause of a minute before the eleventh packet.
    let paused = |k: i128| if k < 10 { k * ms } else { (k + 59_999) * ms };
    let capture = common::capture_of(folder.path(), (0..20).map(paused));
    let start = Instant::now();
    let ended = menura(&["replay", &capture, "--max-gap", "100ms"]);
    let took = start.elapsed();
    assert_eq!(ended.status.code(), Some(0), "{}{}", stdout(&ended), stderr(&ended));
    let told = "packet 11: captured 60.000 s later than the one before it; sent 0.1 s after it";
    for text in [stdout(&ended), stderr(&ended)] {
        assert!(text.contains(told), "{text}");
    }
    assert!(took < Duration::from_secs(30), "{took:?}");

    // The last packet is 50 ms earlier than the previous one.
    let capture = common::capture_of(folder.path(), (0..60).chain([9]).map(|k: i128| k * ms));
    let jump = "packet 61: captured 0.050 s earlier than the one before it; sent together with it";
    let order = "1 packets have earlier times than packets before them, by up to 50.000 ms";
    for (limit, is_jump) in [("100ms", false), ("10ms", true)] {
        let ended = menura(&["replay", &capture, "--max-back", limit]);
        assert_eq!(ended.status.code(), Some(0), "{}{}", stdout(&ended), stderr(&ended));
        for text in [stdout(&ended), stderr(&ended)] {
            assert_eq!(text.contains(jump), is_jump, "{limit}: {text}");
            assert_eq!(text.contains(order), !is_jump, "{limit}: {text}");
        }
    }
}

#[test]
fn damage_of_a_capture_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let capture = common::broadcast_capture(folder.path());
    let mut bytes = fs::read(&capture).unwrap();
    // The file header; then 20 frames of 142 bytes, each after a header of 16 bytes.
    let record = |number: usize| 24 + number * (16 + 142);
    assert_eq!(bytes.len(), record(20));
    // Time to live, which only the IP header checksum covers.
    bytes[record(0) + 16 + 22] ^= 1;
    // A UDP checksum in a datagram that had none.
    bytes[record(1) + 16 + 40] = 0x12;
    // The last frame loses ten bytes, and its header states this.
    let kept = record(19) + 8;
    bytes[kept..kept + 4].copy_from_slice(&132u32.to_le_bytes());
    bytes.truncate(record(20) - 10);
    fs::write(&capture, bytes).unwrap();

    let ended = menura(&["replay", &capture]);
    let told = stderr(&ended);
    assert_eq!(ended.status.code(), Some(2), "{}{told}", stdout(&ended));
    let used =
        "used; checksum offload by the network card causes this in captures made on the sender";
    for line in [
        "1 datagrams are cut short and were left out",
        &format!("1 datagrams have a wrong IP header checksum and were {used}"),
        &format!("1 datagrams have a wrong UDP checksum and were {used}"),
    ] {
        assert!(told.contains(&format!("warning: {capture}: {line}\n")), "{line}: {told}");
        assert!(stdout(&ended).contains(&format!("differs from the capture: {line}\n")), "{line}");
    }
    let left_out = "not sent: 1 datagrams that the capture truncated";
    assert!(told.contains(&format!("error: {capture}: {left_out}")), "{told}");

    let ended = menura(&["inspect", &capture]);
    let counts = "1 wrong IP header checksums, 1 wrong UDP checksums, 1 datagrams cut short";
    assert!(stdout(&ended).contains(counts), "{}{}", stdout(&ended), stderr(&ended));
    let ended = menura(&["inspect", &capture, "--json"]);
    let shown = stdout(&ended);
    let summary: Value = serde_json::from_str(shown.lines().last().unwrap()).unwrap();
    let flow = &summary["flows"][0];
    assert_eq!(flow["bad_ip_checksums"], 1, "{flow}");
    assert_eq!(flow["bad_udp_checksums"], 1, "{flow}");
    assert_eq!(flow["cut_short"], 1, "{flow}");

    let copy = folder.path().join("copy.mcap");
    let ended = menura(&["convert", &capture, copy.to_str().unwrap()]);
    let told = stderr(&ended);
    assert_eq!(ended.status.code(), Some(2), "{told}");
    assert!(told.contains("1 × truncated datagram"), "{told}");
    for kind in ["IP header", "UDP"] {
        assert!(told.contains(&format!("1 datagrams have a wrong {kind} checksum")), "{told}");
    }
}
