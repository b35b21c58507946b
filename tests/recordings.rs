//! Recordings in the forms that users have, through the real binary.

mod common;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::process::Output;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use common::{Heard, stderr, stdout};
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

/// What a command printed and said that must succeed.
fn done(arguments: &[&str]) -> Output {
    let output = menura(arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
    output
}

/// A folder with `out/lidar.pcap`, what a VLP-16 sends in a room, and its truth.
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

/// A replay to a socket of this test: how it ended, and what came.
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

/// Writes the messages of one MCAP file to another, and three transforms behind them.
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
    let told = format!("{bag}: left out, without packets: 3 × message of tf2_msgs/msg/TFMessage");
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

/// What `menura inspect` says of a capture, a value for each line; the last one is of the whole.
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
        assert!(!told.contains("left out"), "{name}: {told}");
        assert!(received == sent, "{name}: {} of {} came", received.len(), sent.len());
    }
}

/// A datagram of an OS1-128 in the format LEGACY: 16 columns of 128 pixels.
const DATAGRAM_LEN: usize = 24_896;
/// What an Ethernet frame carries behind an IP header.
const FRAGMENT_LEN: usize = 1480;
/// Fragments of a datagram with its UDP header.
const FRAGMENTS: usize = (8 + DATAGRAM_LEN).div_ceil(FRAGMENT_LEN);
const DATAGRAMS: u16 = 20;

/// When it was captured, nanoseconds since 1970, and its bytes.
type Frame = (u64, Vec<u8>);

fn datagram(number: u16) -> Vec<u8> {
    (0..DATAGRAM_LEN).map(|at| (at / 7 + usize::from(number)) as u8).collect()
}

/// The checksum of an IP header in which its place is zero (RFC 791).
fn checksum(header: &[u8]) -> u16 {
    let words = header.chunks_exact(2).map(|word| u16::from_be_bytes([word[0], word[1]]));
    let mut sum: u32 = words.map(u32::from).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// The datagrams as an interface with an MTU of 1500 sees them.
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
    // Of datagram 3, one fragment is missing.
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
    }
    sent.remove(3);
    let told = format!("not sent: {} IP fragments without the rest of the datagram", FRAGMENTS - 1);
    for [_, capture] in &captures {
        let (replay, received) = replayed(capture);
        assert_eq!(replay.status.code(), Some(2), "{capture}: {}", stderr(&replay));
        assert!(stderr(&replay).contains(&told), "{capture}: {}", stderr(&replay));
        assert!(received == sent, "{capture}: {} came", received.len());
    }
}
