use crate::families::catalogue;
use crate::hdl64e::profile::Hdl64eProfile;
use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::Output;
use crate::sensors::Return;
use crate::wire::velodyne::hdl64e_status::{StatusDecoder, StatusEvent, ThresholdTypes};

const MS: u64 = 1_000_000;

/// A unit with its output; packets are requested `ahead_ms` before they are due.
struct Run {
    unit: Hdl64e,
    ahead_ms: u64,
    now: u64,
    sent: BTreeMap<SimTime, Vec<u8>>,
}

impl Run {
    fn new(name: &str, ahead_ms: u64) -> Self {
        Self::with(name, ahead_ms, |_| ())
    }

    fn with(name: &str, ahead_ms: u64, change: impl FnOnce(&mut Hdl64eSettings)) -> Self {
        let profile = catalogue().profile(name).unwrap_or_else(|faults| panic!("{faults}"));
        let Some(driver) = profile.data::<Hdl64eProfile>() else { panic!("{name}") };
        let epoch = Epoch::new("2026-06-01T12:00:00Z".parse().unwrap());
        let noise = NoiseSource::new(1, name);
        let mut settings = driver.defaults.clone();
        change(&mut settings);
        let unit = Hdl64e::new(driver, &settings, noise, epoch, &DeviceFaults::default());
        Self { unit, ahead_ms, now: 0, sent: BTreeMap::new() }
    }

    fn until(&mut self, end_ms: u64, step_ms: u64) {
        while self.now < end_ms {
            self.now = (self.now + step_ms).min(end_ms);
            let horizon = SimTime((self.now + self.ahead_ms) * MS);
            while let Some(request) = self.unit.poll_request(horizon) {
                let Subject::Sweep(sweep) = &request.subject else { panic!("no sweep") };
                let echo = Return { range_m: 20.0, intensity: 0.5, signal: 1.0 };
                let seen = PulseReturns { first: Some(echo), second: Some(echo) };
                let outcome = Outcome::Returns(vec![seen; sweep.firings.len()]);
                self.unit.handle_measurement(&Measurement::new(request, outcome));
            }
            self.unit.advance(SimTime(self.now * MS));
            self.collect();
        }
    }

    fn collect(&mut self) {
        while let Some(Transmit { due, output, .. }) = self.unit.poll_transmit() {
            match output {
                Output::Datagram { bytes, .. } => {
                    assert!(self.sent.insert(due, bytes).is_none(), "{due}")
                }
                Output::Revoke(_) => {
                    assert!(due.0 > self.now * MS, "what has left cannot be taken back");
                    self.sent.split_off(&due);
                }
                _ => panic!("a lidar says no such thing"),
            }
        }
    }

    fn say(&mut self, text: &str) {
        self.unit.handle_input(SimTime(self.now * MS), text.as_bytes());
        self.collect();
    }

    fn packets(&self) -> impl Iterator<Item = (f64, DataPacket)> {
        self.sent.iter().map(|(due, bytes)| {
            (due.0 as f64 / MS as f64, DataPacket::parse(bytes).expect("a packet"))
        })
    }

    /// Speed computed from the azimuth steps around a time, rpm.
    fn rpm_around(&self, ms: f64) -> f64 {
        let near: Vec<_> = self.packets().filter(|(due, _)| (due - ms).abs() < 10.0).collect();
        let turned: i32 = near
            .windows(2)
            .map(|pair| {
                let azimuth = |packet: &DataPacket| i32::from(packet.blocks[0].azimuth_centideg);
                (azimuth(&pair[1].1) - azimuth(&pair[0].1)).rem_euclid(36_000)
            })
            .sum();
        let took_ms = near[near.len() - 1].0 - near[0].0;
        f64::from(turned) / 36_000.0 / took_ms * 60_000.0
    }
}

#[test]
fn speed_changes_at_once_and_with_inertia() {
    for (name, command) in
        [("velodyne-hdl64e-s1", "#HDLRPM900$"), ("velodyne-hdl64e-s2", "#HDLRPM0900$")]
    {
        let mut run = Run::new(name, 100);
        run.until(50, 1);
        run.say(command);
        run.until(2000, 1);
        // A change by 300 rpm at 200 rpm/s.
        for (ms, rpm) in [(50.0, 600.0), (820.0, 750.0), (1900.0, 900.0)] {
            let shown = run.rpm_around(ms);
            assert!((shown - rpm).abs() < 4.0, "{name} {ms} ms: {shown}");
        }
    }
}

#[test]
fn thresholds_have_types_of_their_own_unless_set_otherwise() {
    for name in ["velodyne-hdl64e-s2", "velodyne-hdl64e-s3"] {
        for (types, wanted) in
            [(None, *b"\xf7\x18\xf6\x18"), (Some(ThresholdTypes::Digits), *b"6\x187\x18")]
        {
            let mut run = Run::with(name, 100, |settings| {
                settings.threshold_types = types.unwrap_or(settings.threshold_types);
            });
            // A complete table, after a command that changes it.
            run.say("#HDLRPM0900$");
            run.until(2500, 5);
            let tails: Vec<[u8; 2]> =
                run.packets().map(|(_, packet)| packet.status_bytes()).collect();
            for start in [0, 4160] {
                assert_eq!(tails[start + 13], [b'5', b'#'], "{name} {start}");
                assert_eq!(tails[start + 14..start + 16].concat(), wanted, "{name} {start}");
            }
        }
    }
}

#[test]
fn commands_that_a_unit_has_not_change_nothing() {
    let mut run = Run::new("velodyne-hdl64e-s1", 100);
    run.until(50, 1);
    for text in ["#HDLRPM0900$", "#HDLRPM250$", "#HDLFOV000180$", "#HDLRETD$", "HDLRPM900$", "#$"] {
        run.say(text);
    }
    run.until(500, 1);
    let mut quiet = Run::new("velodyne-hdl64e-s1", 100);
    quiet.until(500, 1);
    assert_eq!(run.sent, quiet.sent);
}

#[test]
fn returns_change_the_pace_without_a_gap() {
    let mut run = Run::new("velodyne-hdl64e-s3", 100);
    run.until(50, 1);
    run.say("#HDLRETD$");
    run.until(300, 1);
    run.say("#HDLRETS$");
    run.until(600, 1);
    let is_dual = |packet: &DataPacket| {
        packet.blocks[0].azimuth_centideg == packet.blocks[2].azimuth_centideg
    };
    let packets: Vec<_> = run.packets().collect();
    for pair in packets.windows(2) {
        let step_us = ((pair[1].0 - pair[0].0) * 1000.0).round();
        // The interval between two packets is the duration of the later one, which depends on its return mode.
        assert_eq!(step_us, if is_dual(&pair[1].1) { 173.0 } else { 288.0 }, "{}", pair[0].0);
    }
    let changes: Vec<_> =
        packets.windows(2).filter(|pair| is_dual(&pair[0].1) != is_dual(&pair[1].1)).collect();
    assert_eq!(changes.len(), 2);
    assert!((100.0..100.8).contains(&changes[0][1].0), "{}", changes[0][1].0);
}

#[test]
fn the_view_and_the_status_bytes_follow() {
    let mut run = Run::new("velodyne-hdl64e-s2", 100);
    run.until(50, 1);
    run.say("#HDLFOV090180$#HDLRPN0300$#HDLLPW3$");
    run.until(4500, 10);
    let mut decoder = StatusDecoder::new();
    let mut tables = Vec::new();
    for (due, packet) in run.packets() {
        for block in packet.blocks.iter().filter(|_| due > 101.0) {
            let is_seen = block.points.iter().any(|point| point.distance != 0);
            // Blocks that start within 0.01 degrees of the sector's edge are not checked, because azimuths are rounded.
            let azimuth = block.azimuth_centideg;
            let is_clear = azimuth.abs_diff(9_000) > 1 && azimuth.abs_diff(18_000) > 1;
            if is_clear {
                assert_eq!(is_seen, (9_000..18_000).contains(&azimuth), "{due} {azimuth}");
            }
        }
        let [kind, value] = packet.status_bytes();
        if let Some(StatusEvent::Table(table)) = decoder.feed(kind, value) {
            tables.push((due, table));
        }
    }
    let (_, table) = tables.last().expect("a whole table");
    assert_eq!((table.motor_rpm, table.power_level), (300, 0xA3));
    assert_eq!((table.fov_start_centideg, table.fov_end_centideg), (9_000, 18_000));
}

#[test]
fn the_view_opens_again() {
    for (command, wanted) in [
        ("#HDLFOV000360$", [0u16, 36_000]),
        ("#HDLFOV000359$", [0, 35_900]),
        ("#HDLFOV270360$", [27_000, 36_000]),
    ] {
        let mut run = Run::new("velodyne-hdl64e-s2", 100);
        run.until(50, 10);
        run.say("#HDLFOV090180$");
        run.until(250, 10);
        run.say(command);
        run.until(1500, 10);
        let mut decoder = StatusDecoder::new();
        let mut shown = [0u16; 2];
        for (due, packet) in run.packets() {
            for block in packet.blocks.iter().filter(|_| due > 301.0) {
                let is_seen = block.points.iter().any(|point| point.distance != 0);
                let azimuth = block.azimuth_centideg;
                // Blocks at the sector's edges are not checked, as above.
                let is_clear = azimuth.abs_diff(27_000) > 1 && (2..35_999).contains(&azimuth);
                if is_clear {
                    assert_eq!(is_seen, azimuth >= wanted[0], "{command}: {due} {azimuth}");
                }
            }
            let [kind, value] = packet.status_bytes();
            if let Some(StatusEvent::Table(table)) = decoder.feed(kind, value) {
                shown = [table.fov_start_centideg, table.fov_end_centideg];
            }
        }
        assert_eq!(shown, wanted, "{command}");
    }
}

#[test]
fn a_dirty_window_asks_for_cleaning() {
    use crate::config::rig::schedule::Schedule;
    use crate::sensors::optics_fault::Sector;
    for name in ["velodyne-hdl64e-s2", "velodyne-hdl64e-s3"] {
        let mut run = Run::new(name, 100);
        let schedule =
            Schedule { start: SimTime::ZERO, duration_ns: Some(2000 * MS), period_ns: None };
        let sector = Sector { from_rad: 0.0, width_rad: 1.0 };
        let kind = LidarFault::DirtyWindow { sector, transmission: 0.4 };
        let lidar = vec![Timed { fault: 0, schedule, kind }];
        run.unit.change_faults(SimTime::ZERO, &DeviceFaults::from(lidar));
        run.until(4500, 10);
        let mut decoder = StatusDecoder::new();
        let mut asks = Vec::new();
        for (_, packet) in run.packets() {
            let [kind, value] = packet.status_bytes();
            if let Some(StatusEvent::Table(table)) = decoder.feed(kind, value) {
                asks.push(table.warnings() & warning::LENS != 0);
            }
        }
        assert!(asks.len() >= 2 && asks[0] && !asks[asks.len() - 1], "{name}: {asks:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]
    #[test]
    fn commands_alone_decide(
        commands in prop::collection::vec(
            (1u64..120, prop::sample::select(vec![
                "#HDLRPM1200$", "#HDLRPN0300$", "#HDLRETD$", "#HDLRETL$", "#HDLRETS$",
                "#HDLFOV010200$", "#HDLFOV000359$", "#HDLLPW5$",
            ])),
            1..4,
        ),
    ) {
        let sent = |ahead_ms: u64, step_ms: u64| {
            let mut run = Run::new("velodyne-hdl64e-s3", ahead_ms);
            let mut at = 0;
            for (wait, text) in &commands {
                at += wait;
                run.until(at, step_ms);
                run.say(text);
            }
            run.until(at + 250, step_ms);
            run.sent.retain(|due, _| *due < SimTime((at + 250) * MS));
            run.sent
        };
        prop_assert_eq!(sent(100, 1), sent(30, 7));
    }
}
