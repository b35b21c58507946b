//! Tests of the clocks of Velodynes with a cable to a GNSS receiver, from power-up to UTC.

use std::net::UdpSocket;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use menura::config::rig::Rig;
use menura::engine::run::RealTimeRun;
use menura::wire::ethernet::FrameHeader;
use menura::wire::velodyne::position::{ImuWords, POSITION_PACKET_LEN, PositionPacket, PpsStatus};
use menura::wire::velodyne::{DATA_PACKET_LEN, DataPacket};
use pcap_file::pcap::PcapReader;

use crate::common;

/// Two Velodynes, each with a GNSS receiver that has a fix at once and sends PPS some seconds later. The second
/// Velodyne cannot read its GNSS receiver's sentences, because their baud rate is wrong.
const RIG: &str = r#"
seed = 5
start_utc = 2026-06-01T12:59:48.3Z
[world]
scene = "courtyard"
parameters = { grass_blades = 0, trees = 0 }
[robot]
trajectory = { kind = "circle", radius_m = 3.0, speed_m_s = 1.0 }
follow_ground = false

[[device]]
name = "vlp16"
profile = "velodyne-vlp16-3.0"
mount = { translation_m = [0.0, 0.0, 1.0] }
link = { udp = { to = "127.0.0.1:9" } }
gps_cable = "gps"
settings = { sector_deg = [0, 9], clock = { uptime_s = 3598.0 } }

[[device]]
name = "gps"
profile = "garmin-18x-lvc"
mount = { translation_m = [0.0, 0.0, 1.5] }
link = { tcp = "127.0.0.1:0" }
settings = { baud_rate = 9600, pulse = { after_fix_s = 2.0 }, acquisition = { startup_s = 0.0 } }

[[device]]
name = "slow-gps"
profile = "garmin-18x-lvc"
mount = { translation_m = [0.0, 0.0, 1.5] }
link = { tcp = "127.0.0.1:0" }
settings = { pulse = { after_fix_s = 2.0 }, acquisition = { startup_s = 0.0 } }

[[device]]
name = "deaf"
profile = "velodyne-vlp32c-3.0"
mount = { translation_m = [0.0, 0.0, 1.0] }
link = { udp = { to = "127.0.0.1:9" } }
gps_cable = "slow-gps"
settings = { sector_deg = [0, 9] }
"#;

/// An HDL-64E with a GNSS receiver that sends PPS with its first fix.
const HDL64E: &str = r#"
start_utc = 2026-06-01T12:59:55.1Z
[world]
scene = "courtyard"
parameters = { grass_blades = 0, trees = 0 }
[robot]
trajectory = { kind = "still" }

[[device]]
name = "hdl64e"
profile = "velodyne-hdl64e-s2"
mount = { translation_m = [0.0, 0.0, 1.0] }
link = { udp = { to = "127.0.0.1:9" } }
gps_cable = "gps"
settings = { beam = { shape = "ray" }, clock = { pps_lock_s = 0 } }

[[device]]
name = "gps"
profile = "garmin-18x-lvc"
mount = { translation_m = [0.0, 0.0, 1.5] }
link = { tcp = "127.0.0.1:0" }
settings = { baud_rate = 9600, pulse = { after_fix_s = 0.0 }, acquisition = { startup_s = 0.0 } }
"#;

/// Start of the runs, 12:59:48.3, as microseconds past the hour.
const START_US: f64 = (59.0 * 60.0 + 48.3) * 1e6;
const HOUR_US: f64 = 3.6e9;

fn rig(sets: &[(&str, &str)]) -> Rig {
    common::rig(RIG, sets)
}

/// Departure of a frame (seconds after the start), and its payload.
type Left = (f64, Vec<u8>);

/// Frames in the recordings of the devices `names`; empty for a device without frames.
fn recorded<const N: usize>(rig: &Rig, duration: Duration, names: [&str; N]) -> [Vec<Left>; N] {
    let start_s = rig.start_utc.unwrap().as_nanosecond() as f64 / 1e9;
    common::captures(rig, duration, names).map(|bytes| {
        // The recording of a GNSS receiver is another kind of file.
        if bytes.is_empty() {
            return Vec::new();
        }
        let frames = common::frames(&bytes).into_iter();
        frames.map(|(at_ns, payload)| (at_ns as f64 / 1e9 - start_s, payload)).collect()
    })
}

fn data_packets(frames: &[Left]) -> Vec<(f64, DataPacket)> {
    let data = frames.iter().filter(|(_, payload)| payload.len() == DATA_PACKET_LEN);
    data.map(|(at, payload)| (*at, DataPacket::parse(payload).unwrap())).collect()
}

/// Timestamps minus UTC, microseconds, of the packets that left in the period `within`, seconds after the start. The
/// firings of a packet take `span_us`.
fn ahead_us(packets: &[(f64, DataPacket)], span_us: f64, within: std::ops::Range<f64>) -> Vec<f64> {
    let ahead = |(at, packet): &(f64, DataPacket)| {
        let utc_us = (START_US + at * 1e6 - span_us).rem_euclid(HOUR_US);
        let ahead = f64::from(packet.timestamp_us()) - utc_us;
        (ahead + HOUR_US / 2.0).rem_euclid(HOUR_US) - HOUR_US / 2.0
    };
    let chosen = packets.iter().filter(|(at, _)| within.contains(at));
    chosen.map(ahead).collect()
}

/// The largest of `values`. With a narrow field of view, some packets are completed only in the next rotation; their
/// values are smaller.
fn most(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::MIN, f64::max)
}

#[test]
fn a_receiver_on_the_cable_sets_the_clock_of_who_hears_it() {
    let rig = rig(&[]);
    let [vlp16, deaf] = recorded(&rig, Duration::from_secs(13), ["vlp16", "deaf"]);
    let vlp16 = data_packets(&vlp16);
    // At power-up, the unit's clock is at 3598 s past the hour; UTC is at 3588.3 s past the hour.
    let first = ahead_us(&vlp16, 1327.104, 0.0..0.1);
    assert!((most(&first) - 9.7e6).abs() < 10.0, "{first:?}");
    // Before the lock, the fraction of a second comes from the unit's own clock: 0.7 s off and drifting.
    let is_set = |(at, _): &&(f64, DataPacket)| {
        let ahead = ahead_us(&vlp16, 1327.104, *at..*at + 1e-6);
        ahead[0].abs() < 1000.0
    };
    let (locked_at, _) = vlp16.iter().find(is_set).unwrap();
    // The lock follows the sixth pulse; a rotation takes 0.1 s, and some packets take two rotations.
    let after_pulse = (locked_at - 0.7).fract();
    assert!((8.7..11.1).contains(locked_at) && after_pulse < 0.31, "{locked_at}");
    // After the lock, the error is at most the drift of one second, also across the top of the hour at 11.7 s.
    let locked = ahead_us(&vlp16, 1327.104, 11.2..13.0);
    assert!(locked.iter().all(|ahead| *ahead < 59.0), "{locked:?}");
    assert!(most(&locked) > 20.0, "drifts between pulses: {}", most(&locked));

    // The other unit continues its own count although it gets PPS: bytes at 4800 baud are noise to it.
    let deaf = ahead_us(&data_packets(&deaf), 663.552, 12.0..13.0);
    assert!(most(&deaf).abs() > 1e6, "{}", most(&deaf));
}

#[test]
fn the_status_bytes_of_an_hdl64e_follow_the_receiver() {
    let rig = common::rig(HDL64E, &[]);
    let [frames] = recorded(&rig, Duration::from_millis(5600), ["hdl64e"]);
    let packets = data_packets(&frames);
    let status = |kind: u8, within: std::ops::Range<f64>| {
        let found = packets.iter().filter(|(at, _)| within.contains(at));
        let mut values: Vec<u8> = found
            .filter(|(_, packet)| packet.status_bytes()[0] == kind)
            .map(|(_, packet)| packet.status_bytes()[1])
            .collect();
        values.dedup();
        values
    };
    // At power-up, the time is midnight of the first day of 2000, and no sentence has arrived.
    let date = |within: std::ops::Range<f64>| {
        [b'D', b'N', b'Y', b'H', b'M', b'G'].map(|kind| status(kind, within.clone()))
    };
    assert_eq!(date(0.0..0.5), [1, 1, 0, 0, 0, 0].map(|value| vec![value]));
    // 13:00:00 is at 4.9 s; the sentence for that second arrives 0.2 s later.
    assert_eq!(date(5.2..5.6), [1, 6, 26, 13, 0, b'A'].map(|value| vec![value]));
    assert_eq!(status(b'S', 5.2..5.6), [0]);
    let utc_us = |at: f64| (59.0 * 60.0 + 55.1) * 1e6 + at * 1e6 - 288.0 - HOUR_US;
    for (at, packet) in packets.iter().filter(|(at, _)| *at > 5.2) {
        let ahead = f64::from(packet.timestamp_us()) - utc_us(*at);
        assert!((-2.0..59.0).contains(&ahead), "{at}: {ahead}");
    }
    // An S2 reports its warnings once in the status stream, which takes 1.2 s.
    let warnings: Vec<u8> = packets
        .iter()
        .enumerate()
        .filter(|(number, _)| number % 4160 == 259 * 16 + 12)
        .map(|(_, (_, packet))| packet.status_bytes()[1])
        .collect();
    assert_eq!(warnings.last(), Some(&0x60));
}

/// Departure times (seconds after the start) and contents of the position packets among `frames`.
fn position_packets(frames: &[Left]) -> Vec<(f64, PositionPacket)> {
    let position = frames.iter().filter(|(_, payload)| payload.len() == POSITION_PACKET_LEN);
    position.map(|(at, payload)| (*at, PositionPacket::parse(payload).unwrap())).collect()
}

#[test]
fn position_packets_tell_of_the_cable() {
    let rig = rig(&[("device.vlp16.settings.clock.pps_lock_s", "2")]);
    let [vlp16, deaf, gps] = recorded(&rig, Duration::from_secs(9), ["vlp16", "deaf", "gps"]);
    assert!(gps.is_empty());
    assert!(vlp16.windows(2).all(|pair| pair[0].0 <= pair[1].0), "not in the order of leaving");
    let packets = position_packets(&vlp16);
    assert!((8.5..9.0).contains(&packets.last().unwrap().0));
    assert!((1247..1331).contains(&packets.len()), "{}", packets.len());
    let mut states: Vec<_> = packets.iter().map(|(_, packet)| packet.pps_status()).collect();
    states.dedup();
    let known = [PpsStatus::Absent, PpsStatus::Synchronizing, PpsStatus::Locked];
    assert_eq!(states, known.map(Some));
    // 12:59:56 was at 7.7 s; its sentence arrived some 0.2 s later.
    let (_, heard) = packets.iter().find(|(at, _)| *at > 8.2).unwrap();
    let sentence = heard.nmea().unwrap();
    assert!(sentence.starts_with("$GPRMC,125956,A,"), "{sentence}");
    for (at, packet) in packets.iter().filter(|(at, _)| *at > 8.2) {
        let made_us = START_US + at * 1e6 - 354.0;
        let ahead = f64::from(packet.timestamp_us) - made_us;
        assert!((-2.0..59.0).contains(&ahead), "{at} s: {ahead} us");
    }
    // The other unit receives the pulses of its GNSS receiver, but no readable sentences.
    let (_, last) = position_packets(&deaf).pop().unwrap();
    assert_eq!(last.nmea(), None);
    assert_eq!(last.pps_status(), Some(PpsStatus::Synchronizing));
}

#[test]
fn position_frames_are_numbered_and_have_their_own_port() {
    let [bytes] = common::captures(&rig(&[]), Duration::from_millis(300), ["vlp16"]);
    let mut reader = PcapReader::new(bytes.as_slice()).unwrap();
    let mut next = 0;
    while let Some(packet) = reader.next_packet() {
        let packet = packet.unwrap();
        let (header, payload) = FrameHeader::parse(&packet.data).unwrap();
        let ports = (header.source_port, header.destination_port);
        if payload.len() == DATA_PACKET_LEN {
            assert_eq!((ports, header.ttl, header.identification), ((2368, 2368), 255, 0));
            continue;
        }
        assert_eq!((ports, header.ttl, header.identification), ((8308, 8308), 64, next));
        assert!(header.udp_checksum && !header.dont_fragment);
        next += 1;
    }
    assert!((38..46).contains(&next), "{next}");
}

#[test]
fn position_packets_go_live_to_their_own_port() {
    let (data, position) =
        (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
    let port = position.local_addr().unwrap().port().to_string();
    let address = format!("\"{}\"", data.local_addr().unwrap());
    let rig = rig(&[
        ("device.vlp16.link.udp.to", &address),
        ("device.vlp16.link.udp.position_port", &port),
    ]);
    let world = common::world(&rig);
    let run = RealTimeRun::new(&rig, &world).unwrap_or_else(|e| panic!("{e}"));
    run.run(Some(Duration::from_millis(200)), &AtomicBool::new(false), |_| {});
    position.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let mut buffer = [0; 2048];
    let mut count = 0;
    while let Ok((length, from)) = position.recv_from(&mut buffer) {
        assert_eq!(length, POSITION_PACKET_LEN);
        assert_ne!(from.port(), data.local_addr().unwrap().port());
        assert_eq!(PositionPacket::parse(&buffer[..length]).unwrap().pps, 0);
        count += 1;
    }
    assert!((24..=32).contains(&count), "{count}");
}

#[test]
fn the_base_of_an_hdl32e_feels_the_robot_turn() {
    let text = RIG.replace("velodyne-vlp16-3.0", "velodyne-hdl32e-2.2");
    let rig = common::rig(&text, &[]);
    let [frames] = recorded(&rig, Duration::from_millis(500), ["vlp16"]);
    let packets = position_packets(&frames);
    assert!((98..108).contains(&packets.len()), "{}", packets.len());
    let mean = |value: fn(&PositionPacket) -> u16| {
        let counts = packets.iter().map(|(_, packet)| f64::from(ImuWords::value(value(packet))));
        counts.sum::<f64>() / packets.len() as f64
    };
    // A circle of 3 m at 1 m/s: 1/3 rad/s and 1/3 m/s².
    let yaw_deg_s = mean(|packet| packet.imu[2].gyro) * 0.09766;
    let left_g = mean(|packet| packet.imu[2].acceleration_y) * 0.001221;
    let up_g = mean(|packet| packet.imu[0].acceleration_x) * 0.001221;
    assert!((yaw_deg_s - (1.0f64 / 3.0).to_degrees()).abs() < 0.2, "{yaw_deg_s}");
    assert!((left_g - 1.0 / 3.0 / 9.806_65).abs() < 0.002, "{left_g}");
    assert!((up_g - 1.0).abs() < 0.003, "{up_g}");
}

#[test]
fn the_bytes_do_not_depend_on_workers() {
    let duration = Duration::from_millis(3500);
    let names = ["vlp16", "deaf"];
    let quick = [("device.vlp16.settings.clock.pps_lock_s", "0")];
    let one = rig(&[quick[0], ("engine.workers", "1")]);
    let three = rig(&[quick[0], ("engine.workers", "3")]);
    let one = recorded(&one, duration, names);
    assert!(one == recorded(&three, duration, names));
    let jumps = data_packets(&one[0]);
    assert!(jumps.windows(2).any(|pair| pair[1].1.timestamp_us() < pair[0].1.timestamp_us()));
}

#[test]
fn a_live_run_hears_the_cable_as_a_recording_does() {
    let keys = [
        ("device.vlp16.settings.clock.pps_lock_s", "0"),
        ("device.gps.settings.pulse.after_fix_s", "0.0"),
    ];
    let duration = Duration::from_millis(1500);
    let live = common::until_whole(|| {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = format!("\"{}\"", socket.local_addr().unwrap());
        let rig = rig(&[&keys[..], &[("device.vlp16.link.udp.to", &address)]].concat());
        let world = common::world(&rig);
        let run = RealTimeRun::new(&rig, &world).unwrap_or_else(|e| panic!("{e}"));
        common::live(&run, duration, &socket)
    });
    let [recorded] = recorded(&rig(&keys), duration, ["vlp16"]);
    let recorded: Vec<_> = recorded.into_iter().map(|(_, payload)| payload).collect();
    let data = |payload: &Vec<u8>| payload.len() == DATA_PACKET_LEN;
    let recorded: Vec<_> = recorded.into_iter().filter(data).collect();
    assert_eq!(live.len(), recorded.len());
    assert!(live == recorded, "live bytes differ from recorded ones");
}
