//! Tests of faults within devices: their effects in the bytes agree with the fault log, and another recording with the
//! same seed has the same bytes and the same log.

use std::collections::{BTreeMap, BTreeSet};
use std::net::UdpSocket;
use std::time::Duration;

use menura::wire::velodyne::position::{POSITION_PACKET_LEN, PositionPacket, PpsStatus};
use menura::wire::velodyne::{DATA_PACKET_LEN, DataPacket, Point};

use crate::common::faulty::{LogRow, live_with_log, log_rows, packets};
use crate::common::{recorded, rig};

/// A lidar in a room, with dirt on the right, dead lasers and a blocked motor.
const LIDAR: &str = r#"
seed = 11
start_utc = 2026-06-01T12:59:59.9Z
[world]
scene = "room"
[robot]
trajectory = { kind = "still" }

[[device]]
name = "lidar"
profile = "velodyne-vlp16-3.0"
mount = { translation_m = [0.0, 0.0, 1.0] }
link = { udp = { to = "127.0.0.1:9" } }

[[fault]]
name = "two-lasers"
device = "lidar"
kind = "laser-dead"
lasers = [3, 8]
start_s = 0.05
duration_s = 0.1

[[fault]]
name = "mud"
device = "lidar"
kind = "window-dirty"
from_deg = 45
to_deg = 135
transmission = 0.02
start_s = 0.1
duration_s = 0.1

[[fault]]
name = "stuck"
device = "lidar"
kind = "motor-stall"
stops_within_s = 0.05
start_s = 0.25
duration_s = 0.1
"#;
const DURATION: Duration = Duration::from_millis(400);

fn points(payload: &[u8]) -> Vec<(u16, usize, Point)> {
    let packet = DataPacket::parse(payload).unwrap();
    let blocks = packet.blocks.iter();
    let points = blocks.flat_map(|block| {
        let azimuth = block.azimuth_centideg;
        block.points.iter().enumerate().map(move |(slot, point)| (azimuth, slot % 16, *point))
    });
    points.collect()
}

/// Effects of `fault` in the log: for each affected packet (number), the name and amount of each effect.
fn told<'a>(rows: &'a [LogRow], fault: &str) -> BTreeMap<usize, BTreeMap<&'a str, u64>> {
    let mut told: BTreeMap<usize, BTreeMap<&str, u64>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.fault == fault) {
        if let Some(packet) = row.packet {
            told.entry(packet).or_default().insert(&row.effect, row.amount.unwrap());
        }
    }
    told
}

#[test]
fn the_log_counts_every_return_that_is_lost_or_weaker() {
    let clean = recorded(&rig(LIDAR, &[("fault", "[]")]), DURATION);
    let faulty = recorded(&rig(LIDAR, &[]), DURATION);
    let rows = log_rows(&faulty["faults.csv"]);
    let (lasers, mud, stuck) =
        (told(&rows, "two-lasers"), told(&rows, "mud"), told(&rows, "stuck"));
    let clean = packets(&clean["lidar.pcap"], DATA_PACKET_LEN);
    let faulty = packets(&faulty["lidar.pcap"], DATA_PACKET_LEN);
    assert_eq!(clean.len(), faulty.len());
    let mut touched = BTreeSet::new();
    for (n, (clean, faulty)) in clean.iter().zip(&faulty).enumerate() {
        assert_eq!(clean.0, faulty.0, "packets keep their times");
        if stuck.contains_key(&n) || n as f64 * 1.327e-3 > 0.25 {
            continue;
        }
        let (mut dead, mut lost, mut weaker) = (0, 0, 0);
        for (clean, faulty) in points(&clean.1).into_iter().zip(points(&faulty.1)) {
            let (azimuth, laser, point) = clean;
            assert_eq!((azimuth, laser), (faulty.0, faulty.1));
            if point == faulty.2 {
                continue;
            }
            let is_lost = faulty.2.distance == 0;
            if matches!(laser, 3 | 8) && lasers.contains_key(&n) {
                assert!(is_lost);
                dead += 1;
            } else {
                assert!((4480..=13520).contains(&azimuth), "{n}: {azimuth} is clean");
                assert!(
                    is_lost
                        || (point.distance == faulty.2.distance
                            && faulty.2.intensity < point.intensity)
                );
                lost += u64::from(is_lost);
                weaker += u64::from(!is_lost);
            }
        }
        let of = |told: &BTreeMap<usize, BTreeMap<&str, u64>>, effect| {
            told.get(&n).and_then(|effects| effects.get(effect)).copied().unwrap_or(0)
        };
        assert_eq!(of(&lasers, "lost_returns"), dead, "{n}");
        assert_eq!((of(&mud, "lost_returns"), of(&mud, "changed_returns")), (lost, weaker), "{n}");
        if dead + lost + weaker > 0 {
            touched.insert(n);
        }
    }
    assert!(lasers.len() > 60 && mud.len() > 15 && stuck.len() > 70);
    let logged: BTreeSet<_> = lasers.keys().chain(mud.keys()).copied().collect();
    assert_eq!(logged, touched);
    // The motor is blocked for the time of 75 packets; it stands still after the first 37.
    let rpm: Vec<_> = stuck.values().map(|effects| effects["stalled_rpm"]).collect();
    assert!(rpm.windows(2).all(|pair| pair[1] <= pair[0]) && rpm[0] > 580 && rpm[40] == 0);
    let azimuths: BTreeSet<_> = stuck
        .keys()
        .skip(45)
        .flat_map(|n| points(&faulty[*n].1))
        .collect::<Vec<_>>()
        .into_iter()
        .map(|(azimuth, ..)| azimuth / 10)
        .collect();
    assert!(azimuths.len() <= 2, "it stands: {azimuths:?}");
}

#[test]
fn a_seed_repeats_what_happens_within() {
    let one = recorded(&rig(LIDAR, &[("engine.workers", "1")]), DURATION);
    assert!(one == recorded(&rig(LIDAR, &[("engine.workers", "3")]), DURATION));
    let again = log_rows(&one["faults.csv"]);
    assert_eq!(again.iter().filter(|row| row.effect == "begins").count(), 3);
    assert_eq!(again.iter().filter(|row| row.effect == "ends").count(), 3);
}

#[test]
fn a_run_shows_the_same_as_the_recording() {
    let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = receiver.local_addr().unwrap().to_string();
    let rig = rig(LIDAR, &[("device.lidar.link.udp.to", &to)]);
    let files = recorded(&rig, DURATION);
    let expected: Vec<_> = packets(&files["lidar.pcap"], DATA_PACKET_LEN);
    let (received, log, figures) = live_with_log(&rig, DURATION, &receiver);
    assert_eq!(received.len(), expected.len());
    assert!(received.iter().eq(expected.iter().map(|(_, bytes)| bytes)));
    assert_eq!(log, files["faults.csv"], "and so does its log");
    let rows = log_rows(&files["faults.csv"]);
    let touched: BTreeSet<_> = rows.iter().filter_map(|row| row.packet).collect();
    assert_eq!(figures[0].faulted, touched.len() as u64);
}

/// A lidar with a cable to a GNSS receiver, which has a fix at once.
const CABLE: &str = r#"
seed = 5
start_utc = 2026-06-01T12:59:48.3Z
[world]
scene = "courtyard"
parameters = { grass_blades = 0, trees = 0 }
[robot]
trajectory = { kind = "still" }

[[device]]
name = "vlp16"
profile = "velodyne-vlp16-3.0"
mount = { translation_m = [0.0, 0.0, 1.0] }
link = { udp = { to = "127.0.0.1:9" } }
gps_cable = "gps"
settings = { sector_deg = [0, 9], clock = { drift_ppm = 100.0, pps_lock_s = 1 } }

[[device]]
name = "gps"
profile = "garmin-18x-lvc"
mount = { translation_m = [0.0, 0.0, 1.5] }
link = { tcp = "127.0.0.1:0" }
settings = { baud_rate = 9600, pulse = { after_fix_s = 2.0 }, acquisition = { startup_s = 0.0 } }
"#;

/// Content of a lidar's position packet: time of departure, PPS state, and time of departure minus timestamp,
/// microseconds. This difference shows the clock error, and includes the packet's delay until its departure.
struct Position {
    at_s: f64,
    pps: u8,
    off_us: f64,
}

fn hold_over(fault: &str) -> (Vec<Position>, Vec<LogRow>) {
    let rig = rig(&format!("{CABLE}\n{fault}"), &[]);
    let files = recorded(&rig, Duration::from_secs(20));
    let start_s = rig.start_utc.unwrap().as_nanosecond() as f64 / 1e9;
    let positions = packets(&files["vlp16.pcap"], POSITION_PACKET_LEN);
    let told = |(at, bytes): &(u64, Vec<u8>)| {
        let packet = PositionPacket::parse(bytes).unwrap();
        let off_us = *at as f64 / 1e3 - f64::from(packet.timestamp_us);
        Position {
            at_s: *at as f64 / 1e9 - start_s,
            pps: packet.pps,
            off_us: (off_us + 1.8e9).rem_euclid(3.6e9) - 1.8e9,
        }
    };
    (positions.iter().map(told).collect(), log_rows(&files["faults.csv"]))
}

#[test]
fn a_lidar_that_loses_the_pulse_drifts_and_locks_again() {
    for (kind, device) in [("pps-loss", "gps"), ("gps-cable-down", "vlp16")] {
        let fault = format!(
            "[[fault]]\nname = \"f\"\ndevice = \"{device}\"\nkind = \"{kind}\"\nstart_s = 10\nduration_s = 5"
        );
        let (told, rows) = hold_over(&fault);
        let at = |second: f64| told.iter().find(|told| told.at_s >= second).unwrap();
        let states = [9.5, 14.5, 19.9].map(|second| at(second).pps);
        assert_eq!(
            states,
            [PpsStatus::Locked, PpsStatus::Absent, PpsStatus::Locked].map(|s| s as u8)
        );
        let drifted_us = [14.5, 19.9].map(|second| (at(second).off_us - at(9.5).off_us).abs());
        assert!((350.0..550.0).contains(&drifted_us[0]), "{kind}: {drifted_us:?}");
        assert!(drifted_us[1] < 100.0, "{kind}: {drifted_us:?}");
        let pulses = |row: &&LogRow| row.effect == "lost" && row.packet.is_none();
        assert_eq!(rows.iter().filter(pulses).count(), 5, "{kind}");
        assert!(rows.iter().all(|row| row.device == device));
        let heard = rows.iter().filter(|row| row.stream == "gps-cable").count();
        assert_eq!(heard > 0, kind == "gps-cable-down");
    }
}
