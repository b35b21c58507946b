//! Tests of changes during a run.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::config::profile::network::{HostAddress, PortIndex};
use crate::sensors::Sweep;
use crate::spinning::clock_settings::ClockReference;
use crate::velodyne::control::PhaseLock;
use crate::wire::http::HttpMethod;
use crate::wire::velodyne::DataPacket;
use crate::wire::velodyne::position::PositionPacket;

pub(super) const MS: u64 = 1_000_000;

/// A unit with its output; packets are requested `ahead_ns` before they are due.
pub(super) struct Run {
    pub unit: Velodyne,
    pub ahead_ns: u64,
    pub now: u64,
    sent: BTreeMap<SimTime, Vec<u8>>,
    pub position: BTreeMap<SimTime, PositionPacket>,
    hosts: Vec<(SimTime, HostAddress)>,
}

impl Run {
    pub fn new(unit: Velodyne, ahead_ms: u64) -> Self {
        let (sent, position, hosts) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        Self { unit, ahead_ns: ahead_ms * MS, now: 0, sent, position, hosts }
    }

    /// Runs until `end_ms` in steps of `step_ms`.
    pub fn until(&mut self, end_ms: u64, step_ms: u64) {
        while self.now < end_ms * MS {
            self.now = (self.now + step_ms * MS).min(end_ms * MS);
            while let Some(request) = self.unit.poll_request(SimTime(self.now + self.ahead_ns)) {
                let Subject::Sweep(sweep) = &request.subject else { continue };
                let returns = seen(sweep);
                let outcome = Outcome::Returns(returns);
                self.unit.handle_measurement(&Measurement::new(request, outcome));
            }
            self.unit.advance(SimTime(self.now));
            self.collect();
        }
    }

    pub fn collect(&mut self) {
        while let Some(Transmit { due, output, .. }) = self.unit.poll_transmit() {
            match output {
                Output::Datagram { port: PortIndex::DATA, bytes } => {
                    assert!(self.sent.insert(due, bytes).is_none(), "{due}");
                }
                Output::Revoke(_) => {
                    assert!(due.0 > self.now, "what has left cannot be taken back");
                    self.sent.split_off(&due);
                }
                Output::Host(host) => self.hosts.push((due, host)),
                Output::Datagram { bytes, .. } => {
                    self.position.insert(due, PositionPacket::parse(&bytes).expect("a packet"));
                }
                _ => panic!("a lidar says no such thing"),
            }
        }
    }

    /// Changes the configuration, unless the unit is restarting.
    fn change(&mut self, change: impl FnOnce(&mut Configuration)) {
        self.unit.advance(SimTime(self.now));
        if self.unit.is_down() {
            return;
        }
        let mut wanted = self.unit.configuration.clone();
        change(&mut wanted);
        self.unit.configure(wanted);
        self.collect();
    }

    fn reset(&mut self) {
        let body = b"reset_system".to_vec();
        let request = HttpRequest {
            method: HttpMethod::Post,
            path: "/cgi/reset".into(),
            body,
            ..HttpRequest::default()
        };
        self.unit.web.profile.reset_ns = 300 * MS;
        self.unit.handle_http(SimTime(self.now), &request);
        self.collect();
    }

    /// Packets with their send times in milliseconds.
    pub fn packets(&self) -> impl Iterator<Item = (f64, DataPacket)> {
        self.sent.iter().map(|(due, bytes)| {
            let packet = DataPacket::parse(bytes).expect("a packet");
            (due.0 as f64 / MS as f64, packet)
        })
    }

    /// Mean azimuth step between blocks within 5 ms of `ms`, hundredths of a degree.
    pub fn step_around(&self, ms: f64) -> f64 {
        let packets: Vec<_> = self.packets().filter(|(due, _)| (due - ms).abs() < 5.0).collect();
        let azimuths = packets.iter().flat_map(|(_, packet)| &packet.blocks);
        let azimuths: Vec<_> = azimuths.map(|block| i32::from(block.azimuth_centideg)).collect();
        let steps = azimuths.windows(2).map(|w| (w[1] - w[0]).rem_euclid(36_000));
        f64::from(steps.sum::<i32>()) / (azimuths.len() as f64 - 1.0)
    }
}

/// Ranges that encode the rotor's angle at their measurement.
fn seen(sweep: &Sweep) -> Vec<PulseReturns> {
    let pulse = |slot: &FiringSlot| {
        let turn =
            (sweep.azimuth_at(slot.offset_ns.into()) / std::f64::consts::TAU).rem_euclid(1.0);
        let range_m = 10.0 + 50.0 * turn as f32;
        PulseReturns { first: echo(range_m, 0.5), second: echo(range_m, 0.5) }
    };
    sweep.firings.iter().map(pulse).collect()
}

pub(super) fn vlp16(change: impl FnOnce(&mut VelodyneSettings)) -> Run {
    Run::new(unit("velodyne-vlp16-3.0", change), 100)
}

/// Azimuth step between blocks of a VLP-16, which has two sequences of 55.296 us per block; hundredths of a degree.
pub(super) fn step_at(rpm: f64) -> f64 {
    rpm * 6.0 * 110.592e-6 * 100.0
}

#[test]
fn speed_follows_from_the_next_turn_on() {
    let mut run = vlp16(|_| {});
    run.until(250, 1);
    run.change(|c| c.rpm = 1200);
    run.until(4000, 1);
    assert!((run.step_around(290.0) - step_at(600.0)).abs() < 0.05);
    // The speed changes by 200 rpm/s from the rotation that begins at 300 ms.
    for (ms, rpm) in [(800.0, 700.0), (1300.0, 800.0), (3200.0, 1180.0), (3500.0, 1200.0)] {
        let step = run.step_around(ms);
        assert!((step - step_at(rpm)).abs() < 0.1, "{ms} ms: {step} for {}", step_at(rpm));
    }
}

#[test]
fn what_is_seen_and_what_is_told_agree_while_it_spins_up() {
    let mut run = vlp16(|settings| settings.motor.starts_at_rest = true);
    run.until(4000, 1);
    assert_eq!(run.sent.len(), 3090, "packets keep their pace whatever the rotor does");
    let mut seen = 0;
    for (due, packet) in run.packets() {
        // Lasers fire from 60 rpm on, after 0.3 s.
        let is_lit = packet.blocks[0].points[0].distance != 0;
        assert_eq!(is_lit, due > 301.3, "{due}");
        for block in packet.blocks.iter().filter(|_| is_lit) {
            let told = f64::from(block.azimuth_centideg) / 36_000.0;
            let shown = (f64::from(block.points[0].distance) * 0.002 - 10.0) / 50.0;
            let off = (told - shown + 0.5).rem_euclid(1.0) - 0.5;
            assert!(off.abs() < 1e-4, "{due}: {told} {shown}");
            seen += 1;
        }
    }
    assert!(seen > 30_000);
    assert!((run.step_around(3500.0) - step_at(600.0)).abs() < 0.05);
}

#[test]
fn the_return_mode_changes_between_packets() {
    let mut run = vlp16(|_| {});
    run.until(130, 1);
    run.change(|c| c.returns = ReturnMode::Dual);
    run.until(400, 1);
    // An incomplete packet of the old mode is completed in that mode.
    let is_dual = |packet: &DataPacket| packet.status_bytes()[0] == 0x39;
    let (first, _) = run.packets().find(|(_, packet)| is_dual(packet)).unwrap();
    assert!((200.66..202.0).contains(&first), "{first}");
    for (due, packet) in run.packets() {
        let is_pair = packet.blocks[0].azimuth_centideg == packet.blocks[1].azimuth_centideg;
        assert_eq!((is_dual(&packet), is_pair), (due >= first, due >= first), "{due}");
    }
    // 753.5 packets per second for 200 ms, then twice as many for 300 ms.
    assert!((600..606).contains(&run.sent.len()), "{}", run.sent.len());
}

#[test]
fn lasers_off_send_empty_packets_and_stopping_holds_the_azimuth() {
    let mut run = vlp16(|_| {});
    run.until(130, 1);
    run.change(|c| (c.laser_on, c.rpm) = (false, 0));
    run.until(4500, 1);
    let empty =
        |packet: &DataPacket| packet.blocks.iter().flat_map(|b| b.points).all(|p| p.distance == 0);
    assert!(run.packets().all(|(due, packet)| empty(&packet) == (due > 201.4)));
    assert_eq!(run.step_around(4400.0), 0.0);
    run.change(|c| (c.laser_on, c.rpm) = (true, 300));
    run.until(7000, 1);
    assert!(run.packets().filter(|(due, _)| *due > 4900.0).all(|(_, packet)| !empty(&packet)));
    assert!((run.step_around(6900.0) - step_at(300.0)).abs() < 0.05);
}

#[test]
fn the_view_narrows_and_opens() {
    let mut run = vlp16(|_| {});
    run.until(130, 1);
    run.change(|c| c.view = View([90, 180]));
    run.until(600, 1);
    run.change(|c| c.view = View([0, 0]));
    run.until(1500, 1);
    run.change(|c| c.view = View::ALL);
    run.until(2000, 1);
    let degrees = |from: f64, to: f64| {
        let packets = run.packets().filter(move |(due, _)| (from..to).contains(due));
        let blocks = packets.flat_map(|(_, packet)| packet.blocks);
        let degrees: Vec<_> = blocks.map(|b| f64::from(b.azimuth_centideg) / 100.0).collect();
        degrees
    };
    // A packet that was begun in the earlier sector is completed in the new one.
    assert!(degrees(230.0, 690.0).iter().all(|degree| (90.0..180.0).contains(degree)));
    assert_eq!(degrees(800.0, 1590.0).len(), 0);
    assert!(degrees(1602.0, 1990.0).iter().any(|degree| *degree > 300.0));
    assert!(degrees(1602.0, 1990.0).len() > 12 * 290);
}

#[test]
fn a_phase_lock_points_the_rotor_at_each_second() {
    let mut run = vlp16(|settings| settings.clock.reference = ClockReference::Utc);
    run.until(130, 1);
    run.change(|c| c.phase_lock = PhaseLock { is_on: true, offset_centideg: 27_000 });
    run.until(3500, 1);
    // The run begins at 34.567 89 s past the minute.
    for second in [1_432_110_000u64, 2_432_110_000, 3_432_110_000] {
        let turn = run.unit.stream.program.rotor().turn(SimTime(second));
        assert!((turn - 0.75).abs() < 2e-6, "{turn}");
    }
    assert_eq!(run.unit.stream.program.rotor().rpm(SimTime(3_000 * MS)), 600.0);
}

#[test]
fn another_host_gets_the_packets() {
    let mut run = vlp16(|_| {});
    run.until(130, 1);
    run.change(|c| c.host.ports[0] = 9000);
    let (due, host) = &run.hosts[0];
    assert_eq!((*due, host.ports[0]), (SimTime(200 * MS), 9000));
}

/// A command of a host: time in milliseconds, kind, value.
fn command() -> impl Strategy<Value = (u64, u8, u16)> {
    (1u64..250, 0u8..7, 0u16..360)
}

/// Data packets and position packets by their due times, and hosts.
type Sent =
    (BTreeMap<SimTime, Vec<u8>>, BTreeMap<SimTime, PositionPacket>, Vec<(SimTime, HostAddress)>);

/// What a unit sends if these commands arrive and its packets are requested `ahead_ms` before they are due, at steps of
/// `step_ms`.
fn sent(name: &str, commands: &[(u64, u8, u16)], [ahead_ms, step_ms]: [u64; 2]) -> Sent {
    let mut run = Run::new(unit(name, |_| {}), ahead_ms);
    let mut at = 0;
    for (wait, what, value) in commands {
        at += wait;
        run.until(at, step_ms);
        if *what == 6 {
            run.reset();
            continue;
        }
        run.change(|c| match what {
            0 => c.rpm = u32::from(value % 21) * 60,
            1 => c.returns = ReturnMode::WORDS[usize::from(value % 3)].1,
            2 => c.view = View([*value, (value * 7) % 360]),
            3 => c.laser_on = !c.laser_on,
            4 => c.phase_lock = PhaseLock { is_on: value % 3 > 0, offset_centideg: value * 100 },
            _ => c.host.ports[0] = *value,
        });
    }
    run.until(at + 800, step_ms);
    let end = SimTime((at + 800) * MS);
    run.sent.retain(|due, _| *due < end);
    (run.sent, run.position, run.hosts)
}

/// With the second command, the rotor is faster, so that it enters the sector earlier than planned.
#[test]
fn a_sector_that_is_entered_earlier_than_planned_is_sent_whole() {
    let commands = [(81, 2, 128), (199, 0, 146)];
    let name = "velodyne-hdl32e-2.2";
    assert!(sent(name, &commands, [250, 20]) == sent(name, &commands, [30, 1]));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]
    /// Equal commands at equal times give equal packets, for any lead time of the requests and any time steps.
    #[test]
    fn commands_alone_decide(
        commands in prop::collection::vec(command(), 1..5),
        name in prop::sample::select(vec!["velodyne-vlp16-3.0", "velodyne-vlp32c-3.0", "velodyne-hdl32e-2.2"]),
        ahead in prop::sample::select(vec![([100, 1], [40, 7]), ([100, 1], [700, 3]), ([250, 20], [30, 1])]),
    ) {
        let (one, other) = ahead;
        prop_assert!(sent(name, &commands, one) == sent(name, &commands, other));
    }
}
