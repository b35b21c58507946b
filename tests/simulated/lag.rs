//! Tests of output latency for each implementation of sending, and of averaging windows of an IMU and a GNSS receiver,
//! in recordings. An output latency delays the bytes of measurements without changing them; an averaging window
//! averages the ground truth before an instant.

use std::collections::BTreeMap;
use std::time::Duration;

use menura::wire::cola::Dialect;
use menura::wire::cola::frame::Cola;
use menura::wire::cola::scan_data::ScanData;
use menura::wire::framer::Framer;
use menura::wire::gnss_stream::{self, GnssStream};
use menura::wire::record::Record;
use menura::wire::ubx::Payload;
use menura::wire::ubx::nav::NavPvt;
use menura::wire::vectornav::{Frame, VectorNav};
use menura::wire::velodyne::DATA_PACKET_LEN;

use crate::common;

/// Output latency of the tests, milliseconds. It is longer than a scan of an LMS 2xx and than a Velodyne's planning
/// time, and shorter than the time between two telegrams on a slow line.
const LAG_MS: f64 = 37.25;
const LAG_NS: u64 = 37_250_000;

/// One device for each implementation of sending, with the settings that it needs to stream.
const DEVICES: [(&str, &str, &str); 18] = [
    ("vlp16", "velodyne-vlp16-3.0", ""),
    ("hdl32e", "velodyne-hdl32e-2.2", ""),
    ("hdl64e", "velodyne-hdl64e-s3", "beam = { shape = \"ray\" }"),
    ("lms291-slow", "sick-lms291-s05-x1.27", "baud_rate = 38400, power_on_mode = \"continuous\""),
    (
        "lms291-fast",
        "sick-lms291-s14",
        "baud_rate = 500000, power_on_mode = \"reflectivity\", \
      beam = { shape = \"ray\" }",
    ),
    (
        "lms200",
        "sick-lms200-v2.30",
        "baud_rate = 500000, power_on_mode = \"partial\", \
      beam = { shape = \"ray\" }",
    ),
    ("lms111", "sick-lms111", "power_on_stream = \"cola-b\", timestamp = true"),
    (
        "lms511",
        "sick-lms511",
        "power_on_stream = \"cola-b\", scan_frequency_hz = 100, \
      angular_resolution_deg = 0.6667",
    ),
    (
        "ublox",
        "ublox-zed-f9p-hpg1.32",
        "rate_hz = 5, baud_rate = 460800, acquisition = { startup_s = 0 }",
    ),
    ("garmin", "garmin-18x-lvc", "acquisition = { startup_s = 0 }"),
    ("vectornav", "vectornav-vn100", ""),
    ("xsens", "xsens-mti30", ""),
    ("microstrain", "microstrain-3dmgx5", "streaming = true"),
    ("sbg", "sbg-ellipse2d", ""),
    ("phone", "phone-imu", ""),
    ("head", "menura-turning-head", ""),
    ("utm30lx", "hokuyo-utm30lx-ew", "power_on_stream = \"NE\""),
    ("urg04lx", "hokuyo-urg04lx", "power_on_stream = \"MS\", baud_rate = 750000"),
];

/// A rig with these devices of [`DEVICES`], all with this output latency.
fn rig(names: &[&str], lag_ms: f64) -> menura::config::rig::Rig {
    let mut text = "seed = 3\nstart_utc = 2026-06-01T12:00:00Z\n[world]\nscene = \"courtyard\"\n\
                    parameters = { grass_blades = 0, trees = 0 }\n[robot]\n\
                    trajectory = { kind = \"circle\", radius_m = 5.0, speed_m_s = 2.0 }\n\
                    [[joint]]\nname = \"head\"\n\
                    motion = { kind = \"constant-rate\", rate_deg_s = 500.0 }\n"
        .to_owned();
    for (name, profile, settings) in DEVICES.iter().filter(|(name, ..)| names.contains(name)) {
        let link = match profile.split_once('-') {
            Some(("velodyne", _)) => "{ udp = { to = \"127.0.0.1:9\" } }".to_owned(),
            _ if ["lms111", "lms511", "utm30lx"].iter().any(|model| profile.contains(model)) => {
                "{ tcp = \"127.0.0.1:0\" }".to_owned()
            }
            _ => format!("{{ pty = \"{name}\" }}"),
        };
        let on = if *name == "head" { "head" } else { "body" };
        let settings = if settings.is_empty() { String::new() } else { format!(", {settings}") };
        text += &format!(
            "[[device]]\nname = \"{name}\"\nprofile = \"{profile}\"\n\
             mount = {{ parent = \"{on}\", translation_m = [0.0, 0.0, 1.0] }}\nlink = {link}\n\
             settings = {{ lag_ms = {lag_ms}{settings} }}\n"
        );
    }
    common::rig(&text, &[])
}

/// Pieces that a device sent: time of departure (nanoseconds), and bytes.
fn pieces(files: &BTreeMap<String, Vec<u8>>, name: &str) -> Vec<(u64, Vec<u8>)> {
    if let Some(pcap) = files.get(&format!("{name}.pcap")) {
        // Position packets have their own delay.
        let frames = common::frames(pcap).into_iter();
        return frames.filter(|(_, payload)| payload.len() == DATA_PACKET_LEN).collect();
    }
    let bytes = &files[&format!("{name}.bin")];
    let index = String::from_utf8(files[&format!("{name}.idx.csv")].clone()).unwrap();
    let rows = index.lines().skip(1).map(|row| {
        let words: Vec<&str> = row.split(',').collect();
        let (seconds, nanos) = words[0].split_once('.').unwrap();
        let at = seconds.parse::<u64>().unwrap() * 1_000_000_000 + nanos.parse::<u64>().unwrap();
        let from: usize = words[1].parse().unwrap();
        (at, bytes[from..from + words[2].parse::<usize>().unwrap()].to_vec())
    });
    // The greeting of a GNSS receiver belongs to no epoch.
    rows.filter(|(_, said)| !said.starts_with(b"$GNTXT")).collect()
}

/// Records devices without and with the output latency. With equal settings otherwise, every piece leaves later by the
/// latency and has the same content. `same` compares two pieces that may differ in some bytes.
fn compare(names: &[&str], duration: Duration, same: impl Fn(&[u8], &[u8]) -> bool) {
    let [plain, late] = [0.0, LAG_MS].map(|lag_ms| common::recorded(&rig(names, lag_ms), duration));
    for name in names {
        let (plain, late) = (pieces(&plain, name), pieces(&late, name));
        let mut compared = 0;
        for (index, ((due, said), (late_due, late_said))) in plain.iter().zip(&late).enumerate() {
            assert_eq!(late_due - due, LAG_NS, "{name}, piece {index}");
            assert!(same(said, late_said), "{name}, piece {index}: {said:02x?} {late_said:02x?}");
            compared += 1;
        }
        // Pieces that would leave after the end are not recorded.
        let left_out = plain.iter().rev().take_while(|(due, _)| {
            let end_ns = duration.as_nanos() as u64 + plain[0].0 / 1_000_000_000 * 1_000_000_000;
            due + LAG_NS >= end_ns
        });
        assert!(compared >= 4, "{name}: {compared} pieces");
        assert!(late.len() + left_out.count() + 1 >= plain.len(), "{name}: {compared}");
    }
}

#[test]
fn a_lag_holds_back_packets_of_spinning_lidars() {
    let names = ["vlp16", "hdl32e", "hdl64e"];
    compare(&names, Duration::from_millis(60), |plain, late| plain == late);
}

#[test]
fn a_lag_holds_back_telegrams_of_scanners_on_serial_lines() {
    let names = ["lms291-slow", "lms291-fast", "lms200"];
    compare(&names, Duration::from_millis(1400), |plain, late| plain == late);
}

/// Telegrams of an LMS1xx or LMS5xx contain the time of their transmission in microseconds since power-on; only this
/// time changes.
#[test]
fn a_lag_holds_back_telegrams_of_network_scanners() {
    let scan = |bytes: &[u8]| {
        let frames = Framer::new(Cola { max_content: 1 << 20 }).frames(bytes);
        ScanData::parse(Dialect::B, &frames[0].content).unwrap()
    };
    compare(&["lms111", "lms511"], Duration::from_millis(300), |plain, late| {
        let (plain, mut late) = (scan(plain), scan(late));
        late.transmission_us -= (LAG_NS / 1000) as u32;
        plain == late
    });
}

#[test]
fn a_lag_holds_back_scans_of_hokuyos() {
    let names = ["utm30lx", "urg04lx"];
    compare(&names, Duration::from_millis(1400), |plain, late| plain == late);
}

#[test]
fn a_lag_holds_back_epochs_of_receivers() {
    compare(&["ublox", "garmin"], Duration::from_secs(6), |plain, late| plain == late);
}

#[test]
fn a_lag_holds_back_lines_of_joint_encoders() {
    compare(&["head"], Duration::from_secs(1), |plain, late| plain == late);
}

#[test]
fn a_lag_holds_back_samples_of_imus() {
    let names = ["vectornav", "xsens", "microstrain", "sbg", "phone"];
    compare(&names, Duration::from_secs(1), |plain, late| plain == late);
}

/// Output of a device without errors on a robot that drives in curves.
fn weaving(profile: &str, settings: &str, seconds: u64) -> Vec<u8> {
    let text = format!(
        r#"
seed = 3
start_utc = 2026-06-01T12:00:00Z
[world]
scene = "courtyard"
parameters = {{ grass_blades = 0, trees = 0 }}
[robot]
trajectory = {{ kind = "half-sine", start_m = [0.0, 0.0, 0.0], length_m = 9.0, amplitude_m = 1.5, speed_m_s = 3.0 }}
[[device]]
name = "device"
mount = {{ translation_m = [0.2, 0.3, 1.0] }}
link = {{ pty = "device" }}
profile = "{profile}"
settings = {{ errors = "none", {settings} }}
"#
    );
    let rig = common::rig(&text, &[]);
    let mut files = common::recorded(&rig, Duration::from_secs(seconds));
    files.remove("device.bin").unwrap()
}

/// Values of each `$VNYMR`: orientation, magnetic field, acceleration, angular rate.
fn samples(bytes: &[u8]) -> Vec<[f64; 12]> {
    let frames = Framer::new(VectorNav).frames(bytes).into_iter();
    frames
        .map(|frame| {
            let Frame::Line(line) = frame else { panic!("only lines are switched on") };
            let (header, numbers) = line.fields();
            assert_eq!(header, "VNYMR");
            let numbers: Vec<f64> = numbers.iter().map(|n| n.parse().unwrap()).collect();
            numbers.try_into().unwrap()
        })
        .collect()
}

/// An output is the mean of the samples of the last 25 ms. With an averaging window of 100 ms, it is the mean of these
/// means over 100 ms; the test computes it from the outputs by the trapezoidal rule.
#[test]
fn an_imus_collection_time_averages_force_rate_and_field() {
    let said =
        |window_ms| samples(&weaving("vectornav-vn100", &format!("window_ms = {window_ms}"), 3));
    let (plain, collected) = (said(0), said(100));
    assert!(plain.len() > 110 && plain.len() == collected.len());
    let mut farthest = [0.0_f64; 12];
    for last in 8..plain.len() {
        for column in 0..12 {
            let value = |back: usize| plain[last - back][column];
            let found = collected[last][column];
            if column < 3 {
                assert_eq!(found, value(0), "the orientation is that of the instant");
                continue;
            }
            let mean = (0.5 * value(0) + value(1) + value(2) + value(3) + 0.5 * value(4)) / 4.0;
            let tolerance = [4e-4, 0.01, 1e-3][(column - 3) / 3];
            assert!((found - mean).abs() < tolerance, "{last}, {column}: {found} {mean}");
            farthest[column] = farthest[column].max((found - value(0)).abs());
        }
    }
    // The field rotates and the robot accelerates sideways and yaws: each mean differs from the instantaneous value by
    // more than the tolerances.
    let [field, force, rate] = [farthest[3].max(farthest[4]), farthest[7], farthest[11]];
    assert!(field > 4e-3 && force > 0.05 && rate > 0.015, "{farthest:?}");
}

/// A GNSS receiver's velocity is the mean over the window before the epoch; here the robot drives in curves.
#[test]
fn a_receivers_window_averages_the_motion() {
    let north_mm_s = |window_ms| -> Vec<f64> {
        let settings = format!(
            "window_ms = {window_ms}, rate_hz = 20, baud_rate = 460800, sentences = [], \
             messages = [\"NAV-PVT\"], acquisition = {{ startup_s = 0 }}"
        );
        let bytes = weaving("ublox-zed-f9p-hpg1.32", &settings, 8);
        let frames = Framer::new(GnssStream).frames(&bytes);
        let said = frames.into_iter().filter_map(|frame| match frame {
            gnss_stream::Frame::Ubx(frame) if frame.id == NavPvt::ID => {
                NavPvt::parse(&frame.payload).ok()
            }
            _ => None,
        });
        said.map(|pvt| f64::from(pvt.vel_ned_mm_s[0])).collect()
    };
    let (plain, collected) = (north_mm_s(0.0), north_mm_s(100.0));
    assert!(plain.len() > 100 && plain.len() == collected.len());
    let mut farthest: f64 = 0.0;
    for last in 80..plain.len() {
        // Epochs are 50 ms apart, so the mean follows by Simpson's rule.
        let value = |back: usize| plain[last - back];
        let mean = (value(0) + 4.0 * value(1) + value(2)) / 6.0;
        assert!((collected[last] - mean).abs() < 5.0, "{last}: {} {mean}", collected[last]);
        farthest = farthest.max((collected[last] - plain[last]).abs());
    }
    assert!(farthest > 50.0, "{farthest}");
}
