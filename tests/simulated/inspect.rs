//! `menura inspect` on captures with known content, with the real binary.

use std::io::Read;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use menura::links::pcap::PcapRecorder;
use menura::wire::ethernet::FrameHeader;
use menura::wire::velodyne::hdl64e_status::{
    LiveStatus, RollingStream, S1Status, STREAM_PACKETS, StatusFormat, StatusTable, warning,
};
use menura::wire::velodyne::{Bank, DATA_PACKET_LEN, DataPacket, Point};
use serde_json::Value;

use crate::common;

/// Start of the captures, 2026-06-01T12:00:00Z, nanoseconds since 1970.
const START_UNIX_NS: i128 = 1_780_315_200_000_000_000;
/// Packet period of an S2 or S3, nanoseconds.
const PERIOD_NS: i128 = 288_000;
/// Distance correction of the units in these tests, which is added to every raw distance, millimetres.
const DISTANCE_CORRECTION_MM: i16 = 1200;
/// Number of packets that contain the calibration, plus some more.
const ENOUGH_PACKETS: u64 = STREAM_PACKETS + 40;

const HEADER: FrameHeader = FrameHeader {
    source_mac: [0x60, 0x76, 0x88, 0x30, 0x31, 0x32],
    destination_mac: [0xff; 6],
    source_ip: Ipv4Addr::new(192, 168, 3, 43),
    destination_ip: Ipv4Addr::new(192, 168, 3, 255),
    source_port: 443,
    destination_port: 2368,
    ttl: 255,
    dont_fragment: true,
    identification: 0,
    udp_checksum: false,
};

const LIVE: LiveStatus = LiveStatus {
    hour: 12,
    minute: 0,
    second: 0,
    day: 1,
    month: 6,
    year: 26,
    gps: b'A',
    temperature_c: 38,
    firmware: 0x48,
};

fn table(format: StatusFormat) -> StatusTable {
    let mut table = StatusTable::new(format);
    for (id, laser) in (0i16..).zip(&mut table.lasers) {
        // From +2 degrees down to -24.8 degrees; the upper bank has smaller steps.
        laser.vertical_centideg = if id < 32 { 200 - 33 * id } else { -886 - 51 * (id - 32) };
        laser.rotational_centideg = if id % 2 == 0 { 300 } else { -300 };
        laser.distance_mm = DISTANCE_CORRECTION_MM;
        laser.distance_x_mm = DISTANCE_CORRECTION_MM;
        laser.distance_y_mm = DISTANCE_CORRECTION_MM;
        laser.max_intensity = 255;
    }
    table.thresholds = [24, 24];
    table.calibration_time = [25, 11, 15, 12, 47, 47];
    table.motor_rpm = 600;
    table.fov_end_centideg = 36_000;
    table.source_ip = [192, 168, 3, 43];
    table.destination_ip = [192, 168, 3, 255];
    table.power_level = 0xa8;
    table.set_warnings(warning::PPS | warning::GPS_TIME);
    table
}

/// Distance along a beam to a yard of 60 x 40 m with walls 8 m high, seen from 2 m above its floor and 10 m behind its
/// centre; `None` for the sky.
fn yard_m(azimuth_rad: f64, elevation_rad: f64) -> Option<f64> {
    let (sin, cos) = libm::sincos(azimuth_rad);
    let (up, flat) = libm::sincos(elevation_rad);
    let (forward, right) = (cos * flat, sin * flat);
    let to = |along: f64, ahead: f64, behind: f64| match along {
        a if a > 1e-9 => ahead / a,
        a if a < -1e-9 => -behind / a,
        _ => f64::MAX,
    };
    let wall = to(forward, 40.0, 20.0).min(to(right, 20.0, 20.0));
    let floor = if up < 0.0 { -2.0 / up } else { f64::MAX };
    if floor < wall {
        return Some(floor);
    }
    (wall * up < 6.0).then_some(wall)
}

/// Writes a capture of an HDL-64E S2 or S3 at 600 rpm in the yard, without the packets in `lost`. Returns the settings
/// and calibration that the packets contain.
fn record_hdl64e(
    path: &Path,
    format: StatusFormat,
    packets: u64,
    lost: impl Fn(u64) -> bool,
) -> StatusTable {
    let table = table(format);
    let stream = RollingStream::emit(&table);
    let mut recorder = PcapRecorder::create(path, HEADER).unwrap();
    let mut payload = [0; DATA_PACKET_LEN];
    for number in (0..packets).filter(|number| !lost(*number)) {
        let (kind, value) = stream.status_pair(number, &LIVE);
        let mut packet = DataPacket {
            tail: DataPacket::tail_with((number * 288) as u32, [kind, value]),
            ..DataPacket::default()
        };
        for (index, block) in packet.blocks.iter_mut().enumerate() {
            let bank = [Bank::Upper, Bank::Lower][index % 2];
            // 48 us at 600 rpm are 0.1728 degrees.
            let cycle = (number * 6) as f64 + (index / 2) as f64;
            block.flag = bank.flag();
            block.azimuth_centideg = (cycle * 17.28 % 36_000.0) as u16;
            for (slot, point) in block.points.iter_mut().enumerate() {
                let laser = table.lasers[bank.first_laser() + slot];
                let azimuth_centideg =
                    f64::from(block.azimuth_centideg) - f64::from(laser.rotational_centideg);
                let range_m = yard_m(
                    (azimuth_centideg / 100.0).to_radians(),
                    (f64::from(laser.vertical_centideg) / 100.0).to_radians(),
                );
                let raw_m = range_m.map(|m| m - f64::from(DISTANCE_CORRECTION_MM) / 1000.0);
                *point = match raw_m {
                    Some(raw_m) => Point {
                        distance: (raw_m / 0.002).round() as u16,
                        intensity: (200.0 - 3.0 * raw_m) as u8,
                    },
                    None => Point { distance: 0, intensity: 3 },
                };
            }
        }
        packet.emit(&mut payload);
        recorder.write(START_UNIX_NS + i128::from(number) * PERIOD_NS, &payload).unwrap();
    }
    recorder.finish().unwrap();
    table
}

fn menura(args: &[&str]) -> Output {
    common::menura().arg("inspect").args(args).output().unwrap()
}

/// Standard output of a run, which must succeed.
fn report(args: &[&str]) -> String {
    let output = menura(args);
    let talk = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{args:?}: {talk}");
    String::from_utf8(output.stdout).unwrap()
}

fn json(args: &[&str]) -> Vec<Value> {
    report(args).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A temporary folder, and the path of a file in it.
fn scratch(name: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(name);
    (folder, file)
}

#[test]
fn an_hdl64e_is_recognised_with_its_calibration() {
    for (format, model) in [(StatusFormat::S2, "HDL-64E S2"), (StatusFormat::S3, "HDL-64E S3")] {
        let (_folder, file) = scratch("lidar.pcap");
        let table = record_hdl64e(&file, format, ENOUGH_PACKETS, |_| false);
        let file = file.to_str().unwrap();
        let lines = json(&[file, "--json", "--packets", "17"]);
        assert_eq!(lines.len(), 18);

        let first = &lines[0];
        assert_eq!(first["type"], "packet");
        assert_eq!(first["kind"], "data");
        assert_eq!(first["model"], model);
        assert_eq!(first["unix_ns"], 1_780_315_200_000_000_000_i64);
        assert_eq!(first["status"]["type"], "H");
        assert_eq!(first["status"]["value"], 12);
        assert_eq!(first["blocks"][1]["first_laser"], 32);
        assert_eq!(first["blocks"][2]["azimuth_centideg"], 17);
        assert_eq!(lines[9]["status"]["value"], u32::from(b'U'));
        assert_eq!(lines[16]["timestamp_us"], 16 * 288);

        let summary = lines.last().unwrap();
        assert_eq!(summary["type"], "summary");
        assert_eq!(summary["packets"], ENOUGH_PACKETS);
        assert_eq!(summary["fault"], Value::Null);
        let flow = &summary["flows"][0];
        assert_eq!(flow["source"], "192.168.3.43:443");
        assert_eq!(flow["ttl"], 255);
        let data = &flow["data"];
        assert_eq!(data["model"], model);
        assert_eq!(data["period_us"], 288.0);
        assert_eq!(data["gaps"], 0);
        assert_eq!(data["issues"], 0);
        assert_eq!(data["points"], ENOUGH_PACKETS * 384);
        let rpm = data["rotation_rate_rpm"].as_f64().unwrap();
        assert!((rpm - 600.0).abs() < 0.1, "{rpm}");
        let step_deg = data["azimuth_step_deg"].as_f64().unwrap();
        assert!((step_deg - 0.1728).abs() < 1e-3, "{step_deg}");
        let status = &data["status"];
        assert_eq!(status["tables"], 1);
        assert_eq!(status["live"]["gps"], "PPS and NMEA");
        assert_eq!(status["live"]["firmware"], "4.08");
        let lasers = status["table"]["lasers"].as_array().unwrap();
        assert_eq!(lasers.len(), 64);
        for (json, laser) in lasers.iter().zip(table.lasers) {
            assert_eq!(json["vertical_centideg"], laser.vertical_centideg);
            assert_eq!(json["distance_mm"], laser.distance_mm);
        }

        let text = report(&[file, "--packets", "1"]);
        for expected in [
            &format!("model           {model}"),
            "IP              TTL 255, don't fragment, identification 0, UDP checksum absent",
            "period          288.0 us by the device's clock, no gap",
            "2026-06-01 12:00:00 UTC, GPS PPS and NMEA, 38 C, firmware 4.08",
            "in the status bytes 1 time",
            "warnings        PPS present, GPS time present",
            "ULULULULULUL",
            "H hour 12",
        ] {
            assert!(text.contains(expected), "{expected:?} is not in\n{text}");
        }
    }
}

#[test]
fn lost_packets_are_told() {
    let (_folder, file) = scratch("lidar.pcap");
    record_hdl64e(&file, StatusFormat::S3, 400, |number| (200..203).contains(&number));
    let lines = json(&[file.to_str().unwrap(), "--json", "--packets", "0"]);
    let [summary] = &lines[..] else { panic!("{lines:?}") };
    let data = &summary["flows"][0]["data"];
    assert_eq!((&data["gaps"], &data["missing_packets"]), (&Value::from(1), &Value::from(3)));
    assert_eq!(data["longest_period_us"], 4.0 * 288.0);
    assert_eq!(data["status"]["breaks"], 1);
    let text = report(&[file.to_str().unwrap(), "--packets", "0"]);
    let told = text.lines().find(|line| line.starts_with("  ")).expect("a line about the flow");
    assert_eq!(told, "  missing         3 packets in 1 gap, the longest 1.152 ms", "{text}");
}

#[test]
fn an_hdl64e_s1_is_recognised_in_either_grouping() {
    for datagrams in [false, true] {
        let (_folder, file) = scratch("lidar.pcap");
        let mut recorder = PcapRecorder::create(&file, HEADER).unwrap();
        let mut payload = [0; DATA_PACKET_LEN];
        for number in 0..200_u32 {
            let status = match number / 3 % 2 {
                0 => S1Status::Temperature { fraction: 0x80, degrees_c: 41 },
                _ => S1Status::Version { padding: [0; 2], counter: number as u16, version: 0x204 },
            };
            let mut packet = DataPacket { tail: status.emit(), ..DataPacket::default() };
            for (index, block) in packet.blocks.iter_mut().enumerate() {
                let counter = if datagrams { number as usize } else { index };
                block.flag = if counter % 4 == 3 { Bank::Lower } else { Bank::Upper }.flag();
                block.azimuth_centideg = (number * 108 + index as u32 * 9) as u16 % 36_000;
            }
            packet.emit(&mut payload);
            recorder.write(START_UNIX_NS + i128::from(number) * 384_615, &payload).unwrap();
        }
        recorder.finish().unwrap();
        let lines = json(&[file.to_str().unwrap(), "--json"]);
        assert!(lines[..200].iter().all(|line| line["model"] == "HDL-64E S1"));
        assert_eq!(lines[0]["s1_status"]["temperature_c"], 41.5);
        assert_eq!(lines[3]["s1_status"]["version"], 0x204);
        assert_eq!(lines[0].get("timestamp_us"), None);
        let data = &lines[200]["flows"][0]["data"];
        assert_eq!(data["status"]["temperature_c"], 41.5);
        assert_eq!(data["period_us"], 384.615);
    }
}

#[test]
#[ignore = "needs reference data"]
fn a_real_vlp16_is_recognised_with_its_position_packets() {
    let file = common::shared("captures/velodyne/vlp16-with-position-packets.pcap");
    let (_folder, picture) = scratch("vlp16.png");
    let lines = json(&[file.to_str().unwrap(), "--json", "--plot", picture.to_str().unwrap()]);
    let summary = lines.last().unwrap();
    assert_eq!(summary["packets"], 350);
    let flows = summary["flows"].as_array().unwrap();
    assert_eq!(flows[0]["data"]["model"], "VLP-16");
    assert_eq!(flows[0]["data"]["packets"], 293);
    assert_eq!(flows[0]["data"]["gaps"], 0);
    assert_eq!(flows[0]["data"]["issues"], 0);
    assert_eq!(flows[1]["position"]["packets"], 57);
    assert_eq!(flows[1]["position"]["last_pps"], "locked");
    assert_eq!(flows[1]["udp_checksum"], "good");
    let position = lines.iter().find(|line| line["kind"] == "position").unwrap();
    let nmea = position["nmea"].as_str().unwrap();
    assert!(nmea.starts_with("$GPRMC,081802.00,A,"), "{nmea}");
    assert!(common::picture(&picture).0 > 500);
}

#[test]
fn a_rotation_is_drawn_with_the_calibration_in_the_stream() {
    let (folder, file) = scratch("yard.pcap");
    record_hdl64e(&file, StatusFormat::S3, ENOUGH_PACKETS, |_| false);
    let picture = folder.path().join("yard.png");
    let text =
        report(&[file.to_str().unwrap(), "--plot", picture.to_str().unwrap(), "--rotation", "3"]);
    assert!(text.contains("model           HDL-64E S3"), "{text}");
    assert!(!text.contains("ULUL"), "packets were printed:\n{text}");
    let (_, pixels) = common::picture(&picture);
    // Points are coloured, everything else is black, grey or white.
    let is_coloured = |p: &&[u8; 3]| p.iter().max().unwrap() - p.iter().min().unwrap() > 40;
    let coloured: Vec<_> = pixels.iter().filter(is_coloured).collect();
    let colours: std::collections::BTreeSet<_> = coloured.iter().collect();
    assert!(coloured.len() > 10_000, "{} pixels", coloured.len());
    assert!(colours.len() > 100, "{} colours", colours.len());
}

#[test]
fn what_cannot_be_drawn_is_told() {
    let (folder, file) = scratch("short.pcap");
    record_hdl64e(&file, StatusFormat::S3, 1000, |_| false);
    let picture = folder.path().join("x.png");
    let (file, picture) = (file.to_str().unwrap(), picture.to_str().unwrap());
    let output = menura(&[file, "--plot", picture]);
    let talk = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(talk.contains("--calibration FILE.yaml"), "{talk}");

    let (folder, file) = scratch("whole.pcap");
    record_hdl64e(&file, StatusFormat::S3, ENOUGH_PACKETS, |_| false);
    let picture = folder.path().join("x.png");
    let (file, picture) = (file.to_str().unwrap(), picture.to_str().unwrap());
    let output = menura(&[file, "--plot", picture, "--rotation", "99"]);
    let talk = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(talk.contains("rotation 99 is not complete in it; complete rotations: 11"), "{talk}");
}

#[test]
fn broken_captures_are_told_and_what_is_whole_is_reported() {
    let (folder, file) = scratch("lidar.pcap");
    record_hdl64e(&file, StatusFormat::S3, 10, |_| false);
    let bytes = std::fs::read(&file).unwrap();
    let cut = folder.path().join("cut.pcap");
    std::fs::write(&cut, &bytes[..bytes.len() - 100]).unwrap();
    let output = menura(&[cut.to_str().unwrap(), "--json"]);
    assert_eq!(output.status.code(), Some(2));
    let talk = String::from_utf8(output.stderr).unwrap();
    let expected = "cut.pcap: the file ends within packet 10, or a length in it is wrong, after 9 \
                    whole packets";
    assert!(talk.contains(expected), "{talk}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().count(), 10);
    let summary: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(summary["packets"], 9);
    assert!(summary["fault"].as_str().unwrap().starts_with("the file ends within packet 10"));

    let nonsense = folder.path().join("nonsense.pcap");
    std::fs::write(&nonsense, b"this is not a capture at all").unwrap();
    for (file, expected) in [
        (nonsense.to_str().unwrap(), "nonsense.pcap: this is not a capture: "),
        ("/no/such/file.pcap", "/no/such/file.pcap: No such file"),
        (folder.path().to_str().unwrap(), "s a directory"),
    ] {
        let output = menura(&[file]);
        assert_eq!(output.status.code(), Some(2), "{file}");
        let talk = String::from_utf8(output.stderr).unwrap();
        assert!(talk.starts_with("error: ") && talk.contains(expected), "{talk}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let (_folder, file) = scratch("lidar.pcap");
    record_hdl64e(&file, StatusFormat::S3, 2000, |_| false);
    let mut child = common::menura()
        .args(["inspect", "--json", file.to_str().unwrap()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut some = [0; 100];
    child.stdout.take().unwrap().read_exact(&mut some).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{:?}", output.status);
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Message of a run that must fail with exit code 2 and no standard output.
fn refused(args: &[&str]) -> String {
    let output = menura(args);
    let talk = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {talk}");
    assert!(output.stdout.is_empty(), "{args:?}: {}", String::from_utf8_lossy(&output.stdout));
    talk
}

#[test]
fn a_profile_of_another_product_is_refused_and_a_near_relations_is_doubted() {
    let (folder, file) = scratch("lidar.pcap");
    record_hdl64e(&file, StatusFormat::S3, ENOUGH_PACKETS, |_| false);
    let file = file.to_str().unwrap();
    let picture = folder.path().join("x.png");
    for (profile, why) in [
        ("velodyne-vlp16-3.0", "blocks of lower lasers"),
        ("velodyne-vls128-5.1", "blocks of lower lasers"),
        ("velodyne-hdl64e-s1", "those of an HDL-64E S3"),
        ("sick-lms111", "sends no datagrams"),
        ("ublox-m8n", "sends no datagrams"),
    ] {
        let plot = ["--plot", picture.to_str().unwrap()];
        let talk = refused(&[&[file, "--profile", profile][..], &plot].concat());
        assert!(talk.contains(why), "{profile}: {talk}");
        assert!(!picture.exists(), "{profile}");
    }
    let talk = refused(&[file, "--profile", "velodyne-hdl64e-s1"]);
    assert!(talk.contains("--anyway"), "{talk}");
    let read = report(&[file, "--profile", "velodyne-hdl64e-s1", "--anyway", "--packets", "1"]);
    assert!(read.contains("model           HDL-64E S1"), "{read}");
    assert!(read.contains("does not fit: the packets are those of an HDL-64E S3"), "{read}");

    let read = report(&[file, "--profile", "velodyne-hdl64e-s2", "--packets", "0"]);
    assert!(read.contains("does not fit: the status bytes or returns are those of an"), "{read}");
    let read = report(&[file, "--profile", "velodyne-hdl64e-s3", "--packets", "0"]);
    assert!(!read.contains("fit"), "{read}");
}

/// Writes a capture of VLS-128 packets with the period `period_us`. Each packet ends with the bytes `tail`.
fn record_vls128(path: &Path, period_us: f64, tail: [u8; 2]) {
    let mut recorder = PcapRecorder::create(path, HEADER).unwrap();
    let mut payload = [0; DATA_PACKET_LEN];
    for number in 0..300_u32 {
        let at_us = f64::from(number) * period_us;
        let mut packet =
            DataPacket { tail: DataPacket::tail_with(at_us as u32, tail), ..DataPacket::default() };
        for (index, block) in packet.blocks.iter_mut().enumerate() {
            block.flag = [Bank::Upper, Bank::Lower, Bank::Third, Bank::Fourth][index % 4].flag();
            block.azimuth_centideg = (number * 60 + index as u32 / 4 * 20) as u16 % 36_000;
        }
        packet.emit(&mut payload);
        recorder.write(START_UNIX_NS + (at_us * 1e3) as i128, &payload).unwrap();
    }
    recorder.finish().unwrap();
}

#[test]
fn another_firmwares_pace_and_return_mode_are_told() {
    let (folder, file) = scratch("vls128.pcap");
    record_vls128(&file, 159.9, [0x37, 0xa1]);
    let name = file.to_str().unwrap();
    let fitting = report(&[name, "--profile", "velodyne-vls128-5.1", "--packets", "0"]);
    assert!(!fitting.contains("fit"), "{fitting}");
    let lines = json(&[name, "--profile", "velodyne-vls128-5.2", "--packets", "0", "--json"]);
    let misfits = &lines[0]["flows"][0]["data"]["misfits"];
    assert_eq!(*misfits, serde_json::json!(["the packets are 160 us apart, not 173 us"]));

    // A user's profile without dual return.
    let text = include_str!("../../firmware-profiles/velodyne-vls128-5.1.toml");
    let modes = "modes = [\"strongest\", \"last\", \"dual\"]";
    assert!(text.contains(modes));
    let own = folder.path().join("own.toml");
    std::fs::write(&own, text.replace(modes, "modes = [\"strongest\"]")).unwrap();
    record_vls128(&file, 159.9, [0x38, 0xa1]);
    let told = report(&[name, "--profile", own.to_str().unwrap(), "--packets", "0"]);
    assert!(
        told.contains("does not fit: the return mode, last, is not one of its modes"),
        "{told}"
    );
}

#[test]
#[ignore = "needs reference data"]
fn a_real_vlp16_is_not_taken_for_another_lidar() {
    let file = common::shared("captures/velodyne/vlp16-with-position-packets.pcap");
    let file = file.to_str().unwrap();
    let (_folder, picture) = scratch("other.png");
    let picture = picture.to_str().unwrap();
    for profile in [
        "velodyne-hdl64e-s1",
        "velodyne-hdl64e-s2",
        "velodyne-hdl64e-s3",
        "velodyne-hdl32e-2.2",
        "velodyne-puck-hires-3.0",
        "velodyne-vlp32c-3.0",
        "velodyne-vls128-5.2",
    ] {
        let talk = refused(&[file, "--profile", profile, "--plot", picture]);
        assert!(talk.contains("VLP-16") && talk.contains("--anyway"), "{profile}: {talk}");
    }
    let args = [file, "--profile", "velodyne-puck-hires-3.0", "--anyway", "--plot", picture];
    let told = report(&args);
    assert!(told.contains("model           Puck Hi-Res"), "{told}");
    assert!(told.contains("byte 1205 is 0x22, that of velodyne-puck-hires-3.0 is 0x24"), "{told}");
    let told = report(&[file, "--profile", "velodyne-vlp16-3.0", "--packets", "0"]);
    assert!(!told.contains("does not fit"), "{told}");
}

#[test]
fn a_serial_recording_of_another_product_is_refused() {
    let (_folder, file) = scratch("serial.bin");
    let ubx = b"$GPGSV,1,1,00,1*64\r\n\xb5\x62\x05\x01\x02\x00\x06\x08\x16\x3f".repeat(40);
    let lms: Vec<u8> = menura::wire::sick_lms2xx::frame::emit(0x80, &[0xb0, 0, 0, 1]).repeat(40);
    let names: Vec<&str> = menura::devices::families::catalogue()
        .profiles()
        .iter()
        .map(|profile| profile.name.as_str())
        .collect();
    for (bytes, own, title) in [(ubx, "ublox", "UBX"), (lms, "sick-lms2", "SICK LMS 2xx")] {
        std::fs::write(&file, &bytes).unwrap();
        let file = file.to_str().unwrap();
        for name in &names {
            let is_own = name.starts_with(own);
            let args = [file, "--profile", name, "--packets", "1"];
            if is_own {
                report(&args);
            } else if ["velodyne", "ouster", "hesai", "livox", "robosense", "menura-gv"]
                .iter()
                .any(|maker| name.starts_with(maker))
            {
                let talk = refused(&args);
                assert!(talk.contains("sends datagrams"), "{name}: {talk}");
            } else {
                let talk = refused(&args);
                assert!(talk.contains(title) && talk.contains("--anyway"), "{name}: {talk}");
                let output = menura(&[&args[..], &["--anyway"]].concat());
                let warning = String::from_utf8(output.stderr).unwrap();
                assert!(output.status.success() && warning.starts_with("warning: "), "{warning}");
            }
        }
    }
    // Bytes that fit no protocol are read, with a warning.
    std::fs::write(&file, [0x55; 5000]).unwrap();
    let output = menura(&[file.to_str().unwrap(), "--profile", "xsens-mti30"]);
    let warning = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success());
    assert!(warning.contains("0 % of the first bytes are frames of xsens-mti30"), "{warning}");
}

/// Profiles of a family that refuse a recording, each with its message.
fn refusals(bytes: &[u8], family: &str) -> Vec<(String, String)> {
    let (_folder, file) = scratch("serial.bin");
    std::fs::write(&file, bytes).unwrap();
    let file = file.to_str().unwrap();
    let profiles = menura::devices::families::catalogue().profiles().iter();
    let of_family = profiles.filter(|profile| profile.family.key() == family);
    let refusal = |name: &str| {
        let args = [file, "--profile", name, "--packets", "1"];
        let output = menura(&args);
        if output.status.success() {
            return None;
        }
        let talk = refused(&args);
        assert_eq!(talk.matches("is not a recording of").count(), 1, "{talk}");
        report(&[&args[..], &["--anyway"]].concat());
        Some((name.to_owned(), talk))
    };
    of_family.filter_map(|profile| refusal(&profile.name)).collect()
}

fn names(refusals: &[(String, String)]) -> Vec<&str> {
    refusals.iter().map(|(name, _)| &**name).collect()
}

const UBLOX: [&str; 5] = [
    "ublox-m8n",
    "ublox-max-m10s-spg5.10",
    "ublox-zed-f9p-hpg1.11",
    "ublox-zed-f9p-hpg1.32",
    "ublox-zed-f9p-hpg1.51",
];

#[test]
fn receivers_are_told_apart_by_sentences_talkers_and_messages() {
    let sentence = |body: &str| {
        let sum = body.bytes().fold(0, |sum, byte| sum ^ byte);
        format!("${body}*{sum:02X}\r\n").into_bytes()
    };
    let gps = sentence("GPGSV,1,1,00").repeat(9);
    assert_eq!(refusals(&gps, "gnss"), []);

    let garmin = [gps.clone(), sentence("PGRMT,GPS 18x-LVC,R,R,R,R,0,35,R")].concat();
    let told = refusals(&garmin, "gnss");
    assert_eq!(names(&told), [&["phone-gnss"][..], &UBLOX].concat());
    assert!(told[1].1.contains("PGRMT is a sentence of Garmin's receivers"), "{}", told[1].1);

    let ubx = [&gps[..], b"\xb5\x62\x05\x01\x02\x00\x06\x08\x16\x3f"].concat();
    let told = refusals(&ubx, "gnss");
    assert_eq!(names(&told), ["garmin-18x-lvc", "phone-gnss"]);
    assert!(told[0].1.contains("ACK-ACK is a UBX message"), "{}", told[0].1);

    let told = refusals(&[gps, sentence("GNGSA,A,1,,,,,,,,,,,,,,,")].concat(), "gnss");
    assert_eq!(names(&told), ["garmin-18x-lvc"]);
    assert!(
        told[0].1.contains("GNGSA is a sentence for satellite systems other than GPS"),
        "{told:?}"
    );
}

#[test]
fn models_of_the_lms_2xx_are_told_apart_by_type_scans_and_status() {
    use menura::wire::sick_lms2xx::frame::emit;
    let scan = |count: u16| {
        let mut payload = vec![0xb0];
        payload.extend(count.to_le_bytes());
        payload.extend(std::iter::repeat_n([200, 0], count.into()).flatten());
        payload.push(0x10);
        emit(0x80, &payload).repeat(3)
    };
    let type_text = |code: u8, text: &str| {
        let mut payload = vec![code];
        payload.extend(text.as_bytes());
        payload.resize(21, b' ');
        payload.extend([0, 0x10]);
        emit(0x80, &payload)
    };
    let family = |bytes: &[u8]| refusals(bytes, "sick-lms2xx");
    let (s14, lms211) = ("sick-lms291-s14", "sick-lms211");
    let wide = ["sick-lms200-v2.30", "sick-lms221", "sick-lms291-s05-x1.27"];

    // A scan of 180 degrees excludes the LMS211 and the S14. A scan of 100 degrees excludes only the S14. A scan of 90
    // degrees excludes only the LMS211.
    let told = family(&scan(361));
    assert_eq!(names(&told), [lms211, s14]);
    assert!(told[1].1.contains("a scan of it has 361 values; this model's have 181"), "{told:?}");
    assert_eq!(names(&family(&scan(401))), [s14]);
    // 181 values are 180 degrees in steps of 1, or 90 degrees in steps of 0.5.
    assert_eq!(names(&family(&scan(181))), [lms211]);

    for code in [0x90, 0xba] {
        // Another firmware of the same model is accepted.
        let told = family(&[scan(181), type_text(code, "LMS291;S05;X01.30")].concat());
        assert_eq!(names(&told), ["sick-lms200-v2.30", lms211, "sick-lms221", s14], "{code:#x}");
        assert!(told[3].1.contains("its type is LMS291;S05;X01.30, not LMS291;S14"), "{told:?}");
    }
    // A scanner's reply to a command that switches its field of view and resolution.
    let switched = emit(0x80, &[0xbb, 1, 90, 0, 50, 0, 0x10]);
    let told = family(&switched.repeat(2));
    assert_eq!(names(&told), [&wide[..1], &[lms211], &wide[1..]].concat());
    assert!(told[0].1.contains("it scans 90 degrees at 0.5; this model has 180"), "{told:?}");
}
