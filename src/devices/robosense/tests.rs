use std::net::IpAddr;

use super::profile::{PtpState, Returns, UcwpEffect};
use super::*;
use crate::commands::CommandTable;
use crate::config::profile::Profile;
use crate::config::profile::network::PortIndex;
use crate::sensors::{Return, Subject};
use crate::spinning::testing::{self, datagrams, driver, echoes, epoch, without_revoked};
use crate::wire::robosense::difop::{Difop, SyncMode, gps};
use crate::wire::robosense::imu::Sample;
use crate::wire::robosense::msop::Packet;
use crate::wire::robosense::ucwp::Ucwp;
use crate::wire::robosense::values::time_field;

const MS: u64 = 1_000_000;
const NAMES: [&str; 10] = [
    "robosense-rs16",
    "robosense-rs32",
    "robosense-bpearl",
    "robosense-bpearl-v4",
    "robosense-helios",
    "robosense-helios-16p",
    "robosense-ruby",
    "robosense-ruby-plus",
    "robosense-airy",
    "robosense-m1",
];
const PEER: Peer = Peer { connection: 7, port: 0, from: IpAddr::V4(Ipv4Addr::LOCALHOST) };
const START_US: i64 = 1_780_315_200_000_000;

fn own(profile: &Profile) -> &RobosenseProfile {
    profile.data().unwrap()
}

/// A unit with a synchronised clock: by PTP, or as if a GNSS receiver disciplined it.
fn unit(name: &str, change: impl FnOnce(&mut RobosenseSettings)) -> Robosense {
    let profile = driver(name);
    let driver = own(&profile);
    let mut settings = driver.defaults.clone();
    match driver.sync_modes.contains(&SyncMode::PtpE2e) {
        true => {
            settings.clock.mode = SyncMode::PtpE2e;
            settings.clock.ptp = PtpState::Locked;
        }
        false => {
            settings.clock.own.reference = crate::spinning::clock_settings::ClockReference::Utc;
        }
    }
    settings.phase_lock = false;
    change(&mut settings);
    let (noise, faults) = (NoiseSource::new(1, name), DeviceFaults::default());
    Robosense::new(driver, &settings, None, noise, epoch(), &faults)
}

/// Two echoes; the nearer one is stronger.
fn seen() -> Echoes {
    echoes([0.25, 0.0025], [0.5, 0.00125])
}

/// Runs the unit for `for_ms` milliseconds and requests measurements up to `ahead_ms` milliseconds in advance; returns
/// the unit's output.
fn run_ahead(unit: &mut Robosense, for_ms: u64, ahead_ms: u64) -> Vec<Transmit> {
    let (from, times_ns) = (unit.stream.now, [for_ms * MS, ahead_ms * MS]);
    testing::run(unit, from, times_ns, seen(), |_| Outcome::Inertial(Vec::new()))
}

fn run(unit: &mut Robosense, for_ms: u64) -> Vec<Transmit> {
    run_ahead(unit, for_ms, 60)
}

fn packets(sent: &[Transmit]) -> Vec<(SimTime, Packet<'_>)> {
    datagrams(sent, PortIndex::DATA)
        .into_iter()
        .map(|(due, bytes)| (due, Packet::parse(bytes).unwrap()))
        .collect()
}

#[test]
fn every_model_sends_what_its_layout_says_in_each_mode_at_each_speed() {
    for name in NAMES {
        let profile = driver(name);
        let driver = own(&profile);
        let layout = driver.packet.layout;
        for (mode, code) in driver.return_modes.clone() {
            for rpm in driver.rates_rpm.clone() {
                let mut unit = unit(name, |settings| {
                    settings.return_mode = mode;
                    settings.rotation_rate_rpm = rpm;
                });
                let rate_hz = unit.data_rate_hz();
                let sent = run(&mut unit, 150);
                let all = packets(&sent);
                let what = format!("{name} {mode:?} {rpm}");
                let in_time = all.iter().filter(|(due, _)| due.0 <= 100 * MS).count() as f64;
                assert!((in_time - rate_hz * 0.1).abs() <= 3.0, "{what}: {in_time}, {rate_hz}");
                let unit_m = layout.distance_unit_m();
                for (_, packet) in &all {
                    assert_eq!(packet.layout(), layout, "{what}");
                    let (slots, is_second) = match layout {
                        Layout::M1 => (Vec::new(), packet.angled(0).1 == 2),
                        _ => (packet.slots(mode.is_dual()), false),
                    };
                    let far = |second: bool| match mode {
                        Returns::Last => true,
                        Returns::Strongest | Returns::First => false,
                        _ => second,
                    };
                    for slot in slots {
                        let wanted = if far(slot.is_second) { 20.0 } else { 10.0 };
                        let mut points = packet.points(&slot);
                        assert!(points.all(|p| f64::from(p.distance) * unit_m == wanted), "{what}");
                    }
                    if layout == Layout::M1 {
                        let wanted = if far(is_second) { 20.0 } else { 10.0 };
                        let mut points = packet.angled(24).2;
                        let is_there =
                            |p: AngledPoint| f64::from(p.point.distance) * unit_m == wanted;
                        assert!(points.all(is_there), "{what}");
                    }
                }
                let state = datagrams(&sent, RobosenseProfile::DIFOP)[0].1;
                let state = Difop::parse(layout, state).unwrap();
                assert_eq!((state.returns, state.serial), (code, driver.defaults.serial), "{what}");
                assert_eq!(layout.is_dual(code), mode.is_dual(), "{what}");
            }
        }
    }
}

#[test]
fn times_and_azimuths_go_together() {
    for name in NAMES {
        let mut unit = unit(name, |_| {});
        let period_ns = unit.profile.step_ns(1) as f64;
        let sent = run(&mut unit, 150);
        let mut last_us = None;
        for (due, packet) in packets(&sent) {
            let after_ns = (packet.head().unix_us - START_US) as f64 * 1000.0;
            let firings = packet.layout().firings(false) as f64;
            let ends_ns = after_ns + firings * period_ns;
            assert!((due.0 as f64 - ends_ns).abs() < 2000.0, "{name}: {due:?} {ends_ns}");
            let step_us = packet.head().unix_us - last_us.unwrap_or(packet.head().unix_us);
            assert!(
                last_us.is_none() || (step_us as f64 * 1000.0 - firings * period_ns).abs() < 2000.0
            );
            last_us = Some(packet.head().unix_us);
            if packet.layout() == Layout::M1 {
                continue;
            }
            // At 600 rpm the rotor turns 0.36 degrees in 100 microseconds.
            let turned = (after_ns * 3.6e-4).rem_euclid(36_000.0);
            let off =
                (f64::from(packet.azimuth(0)) - turned + 18_000.0).rem_euclid(36_000.0) - 18_000.0;
            assert!(off.abs() <= 0.9, "{name}: {} {turned}", packet.azimuth(0));
        }
    }
}

#[test]
fn what_is_sent_does_not_depend_on_how_far_ahead_it_is_asked() {
    let script = |ahead_ms: u64| {
        let mut unit = unit("robosense-ruby", |settings| settings.return_mode = Returns::Dual);
        let mut sent = run_ahead(&mut unit, 50, ahead_ms);
        unit.stored.returns = Returns::Strongest;
        unit.values.returns = Returns::Strongest;
        let at = unit.stream.program.takes_effect(unit.stream.now);
        unit.follow(at);
        sent.extend(std::iter::from_fn(|| unit.poll_transmit()));
        sent.extend(run_ahead(&mut unit, 250, ahead_ms));
        let mut kept = without_revoked(sent);
        kept.retain(|transmit| transmit.due.0 < 250 * MS);
        kept
    };
    let (near, far) = (script(1), script(90));
    // The order of datagrams must agree within each port, not between ports.
    for port in [PortIndex::DATA, RobosenseProfile::DIFOP] {
        assert!(datagrams(&near, port) == datagrams(&far, port), "{port:?}");
    }
    assert!(near.len() > 500);
}

#[test]
fn a_rubys_returns_run_through_packets() {
    let mut unit = unit("robosense-ruby", |settings| settings.return_mode = Returns::Dual);
    let sent = run(&mut unit, 20);
    let all = packets(&sent);
    for pair in all.chunks_exact(2) {
        let azimuths = |packet: &Packet<'_>| [0, 1, 2].map(|block| packet.azimuth(block));
        let [a, b, c] = azimuths(&pair[0].1);
        let [d, e, f] = azimuths(&pair[1].1);
        assert!(a == b && c == d && e == f && c != b && e != d, "{a} {b} {c} {d} {e} {f}");
    }
}

/// Both returns of a pulse with one echo are the same, also in two packets, and also if the second packet is planned
/// again after later packets have been measured.
#[test]
fn a_split_firing_is_measured_once() {
    let script = |plans_again: bool| {
        let mut unit = unit("robosense-ruby", |settings| settings.return_mode = Returns::Dual);
        let mut sent = Vec::new();
        for now_ms in 1..40 {
            while let Some(request) = unit.poll_request(SimTime((now_ms + 30) * MS)) {
                let Subject::Sweep(sweep) = &request.subject else { panic!() };
                // Each packet has an error of its own.
                let range_m = 10.0 + 0.1 * (sweep.number % 50) as f32;
                let mut echoes = Echoes::default();
                echoes.push(Return { range_m, intensity: 0.25, signal: 0.0025 });
                let outcome = Outcome::Echoes(vec![echoes; sweep.firings.len()]);
                unit.handle_measurement(&Measurement::new(request, outcome));
            }
            if plans_again {
                unit.stream.plan_again(SimTime((now_ms + 20) * MS + 7000 * now_ms));
            }
            unit.advance(SimTime(now_ms * MS));
            sent.extend(std::iter::from_fn(|| unit.poll_transmit()));
        }
        let mut kept = without_revoked(sent);
        kept.retain(|transmit| transmit.due.0 < 50 * MS);
        kept
    };
    let sent = script(false);
    let all = packets(&sent);
    assert!(all.len() > 500);
    for pair in all.chunks_exact(2) {
        let points = |packet: &Packet<'_>, block: usize| {
            packet.points(&packet.slots(true)[block]).collect::<Vec<_>>()
        };
        let [(_, even), (_, odd)] = pair else { panic!() };
        assert_eq!(points(even, 0), points(even, 1));
        assert_eq!(points(even, 2), points(odd, 0));
        assert_eq!(points(odd, 1), points(odd, 2));
        assert_ne!(points(odd, 0), points(odd, 1), "another packet's error");
    }
    let again = script(true);
    assert!(datagrams(&sent, PortIndex::DATA) == datagrams(&again, PortIndex::DATA));
}

#[test]
fn a_frame_of_an_m1_is_whole() {
    let mut unit = unit("robosense-m1", |settings| settings.return_mode = Returns::Dual);
    let sent = run(&mut unit, 120);
    let numbers: Vec<u32> = packets(&sent).iter().map(|(_, packet)| packet.head().count).collect();
    let wanted: Vec<u32> = (1..=1260).chain(1..=1260).take(numbers.len()).collect();
    assert!(numbers == wanted && numbers.len() > 1300);
    let all = packets(&sent);
    let angles =
        |place: usize| all[place].1.angled(0).2.map(|p| p.angles_deg()).collect::<Vec<_>>();
    let first = angles(0);
    assert_eq!(first[0], [12.5, 60.4]);
    assert_eq!(first[4], [12.5, -35.6]);
    assert_eq!(angles(1258)[2][0], -12.5, "the last row");
}

#[test]
fn only_the_field_of_view_is_sent() {
    let mut unit = unit("robosense-helios", |settings| settings.fov_centideg = [27_000, 9000]);
    let sent = run(&mut unit, 250);
    for (_, packet) in packets(&sent) {
        let seen = |block| !(9000..27_000).contains(&packet.azimuth(block));
        assert!((0..12).all(seen));
    }
    let in_time = packets(&sent).iter().filter(|(due, _)| due.0 <= 200 * MS).count();
    assert!((145..=155).contains(&in_time), "{in_time}");
}

#[test]
fn state_tells_the_units_own_angles() {
    for name in NAMES.into_iter().filter(|name| !name.contains("m1")) {
        let mut unit = unit(name, |_| {});
        let sent = run(&mut unit, 1);
        let state = Difop::parse(
            unit.profile.packet.layout,
            datagrams(&sent, RobosenseProfile::DIFOP)[0].1,
        )
        .unwrap();
        for (laser, told) in unit.lasers.iter().zip(&state.angles) {
            let own = [laser.elevation_deg, laser.azimuth_deg];
            for (own, told) in own.into_iter().zip(told) {
                assert!((own - told.unwrap()).abs() < 1e-9, "{name}: {own} {told:?}");
            }
        }
        let spread = |laser: &UnitLaser, model: &UnitLaser| laser != model;
        let others = unit.lasers.iter().zip(&unit.profile.lasers).filter(|(a, b)| spread(a, b));
        assert!(others.count() > unit.lasers.len() / 2, "{name}");
    }
}

fn ucwp() -> Ucwp {
    Ucwp {
        id: [0; 8],
        rpm: 300,
        lidar_ip: [192, 168, 1, 105],
        host_ip: [127, 0, 0, 7],
        mac: [1, 2, 3, 4, 5, 6],
        ports: [6688, 6689, 8899, 8900],
        fov: [0, 18_000],
        time: time_field(Layout::Rs16, 1_489_139_130_100_200),
        phase_deg: 90,
    }
}

#[test]
fn every_field_of_a_configuration_does_what_the_table_says() {
    let table = CommandTable::parse("UCWP fields", include_str!("ucwp.csv"));
    assert_eq!(table.rows.len(), 11);
    let mut unit = unit("robosense-rs32", |settings| {
        settings.clock.own.reference = Default::default();
    });
    run(&mut unit, 50);
    unit.handle_peer_input(unit.stream.now, PEER, &ucwp().write());
    let moved: Vec<Transmit> = std::iter::from_fn(|| unit.poll_transmit()).collect();
    let host = moved.iter().find_map(|transmit| match &transmit.output {
        Output::Host(host) => Some(host.clone()),
        _ => None,
    });
    let wanted = HostAddress { ip: IpAddr::from([127, 0, 0, 7]), ports: vec![6689, 8900] };
    assert_eq!(host, Some(wanted));
    let sent = run(&mut unit, 4000);
    let state = datagrams(&sent, RobosenseProfile::DIFOP).pop().unwrap().1;
    let state = Difop::parse(Layout::Rs32, state).unwrap();
    assert_eq!((state.rpm, state.turns_rpm, state.fov), (300, 300, [0, 18_000]));
    assert_eq!(state.ips, [[192, 168, 1, 105], [127, 0, 0, 7]]);
    assert_eq!((state.mac, state.phase_deg), ([1, 2, 3, 4, 5, 6], 90));
    assert_eq!(state.ports, [6688, 6689, 8899, 8900]);
    let (due, packet) = *packets(&sent).last().unwrap();
    assert!(packet.azimuth(0) < 18_000);
    // The host wrote the time 50 ms after the start. A packet can contain both ends of the skipped sector.
    let counted_us = packet.head().unix_us - 1_489_139_130_100_200;
    let passed_us = (due.0 - 50 * MS) as i64 / 1000;
    assert!((passed_us - 102_000..passed_us).contains(&counted_us), "{counted_us} {passed_us}");
    // An invalid configuration changes nothing.
    let before = unit.stored.clone();
    let bytes = ucwp().write();
    for wrong in [&bytes[1..], &bytes[..48], &[0; 1248][..], &[]] {
        unit.handle_peer_input(unit.stream.now, PEER, wrong);
    }
    let odd = Ucwp { fov: [0, 50], phase_deg: 400, host_ip: [0; 4], ..ucwp() };
    unit.handle_peer_input(unit.stream.now, PEER, &odd.write());
    assert_eq!(unit.stored, before);
}

#[test]
fn another_speed_stops_the_motor() {
    let mut unit = unit("robosense-rs16", |_| {});
    run(&mut unit, 50);
    unit.handle_peer_input(unit.stream.now, PEER, &Ucwp { rpm: 0, ..ucwp() }.write());
    run(&mut unit, 5000);
    let sent = run(&mut unit, 1100);
    assert!(packets(&sent).is_empty());
    let state = Difop::parse(Layout::Rs16, datagrams(&sent, RobosenseProfile::DIFOP)[0].1).unwrap();
    assert_eq!((state.rpm, state.turns_rpm), (0, 0));
}

#[test]
fn a_configuration_may_wait_or_restart_the_unit() {
    let with = |effect| {
        let mut unit = unit("robosense-rs16", |settings| settings.ucwp_effect = effect);
        run(&mut unit, 50);
        unit.handle_peer_input(unit.stream.now, PEER, &ucwp().write());
        let sent = run(&mut unit, 2000);
        let state = datagrams(&sent, RobosenseProfile::DIFOP)
            .pop()
            .map(|(_, state)| Difop::parse(Layout::Rs16, state).unwrap());
        (unit, packets(&sent).len(), state)
    };
    let (_, count, state) = with(UcwpEffect::Stored);
    let state = state.unwrap();
    assert!(count > 1450 && (state.rpm, state.turns_rpm) == (300, 600));
    let (mut unit, count, state) = with(UcwpEffect::Restarts);
    assert!(count < 30 && state.is_none(), "{count}");
    let sent = run(&mut unit, 12_000);
    let state =
        Difop::parse(Layout::Rs16, datagrams(&sent, RobosenseProfile::DIFOP).pop().unwrap().1)
            .unwrap();
    assert_eq!((state.rpm, state.turns_rpm), (300, 300));
    // A unit without UCWP ignores every configuration.
    let mut helios = self::unit("robosense-helios", |_| {});
    let before = helios.stored.clone();
    helios.handle_peer_input(SimTime(MS), PEER, &ucwp().write());
    assert_eq!(helios.stored, before);
}

#[test]
fn an_airy_sends_samples() {
    let mut unit = unit("robosense-airy", |_| {});
    let truth = |at| crate::sensors::imu::InertialTruth {
        at,
        specific_force_m_s2: DVec3::new(0.0, 0.0, 9.80665),
        angular_rate_rad_s: DVec3::new(0.0, 0.0, 0.5),
        magnetic_field_gauss: DVec3::ZERO,
        world_from_sensor: glam::DQuat::IDENTITY,
        velocity_m_s: DVec3::ZERO,
        acceleration_m_s2: DVec3::ZERO,
        position_m: DVec3::ZERO,
        place: crate::frames::Geodetic { latitude_deg: 0.0, longitude_deg: 0.0, altitude_m: 0.0 },
    };
    let mut sent = Vec::new();
    while let Some(request) = unit.poll_request(SimTime(40 * MS)) {
        let outcome = match &request.subject {
            Subject::Series { count, period_ns } => Outcome::Inertial(
                (0..u64::from(*count))
                    .map(|n| truth(SimTime(request.start.0 + n * period_ns)))
                    .collect(),
            ),
            Subject::Sweep(sweep) => Outcome::Echoes(vec![seen(); sweep.firings.len()]),
            Subject::Instant | Subject::Tile(_) => continue,
        };
        unit.handle_measurement(&Measurement::new(request, outcome));
    }
    unit.advance(SimTime(40 * MS));
    sent.extend(std::iter::from_fn(|| unit.poll_transmit()));
    let samples: Vec<_> = datagrams(&sent, RobosenseProfile::IMU)
        .iter()
        .map(|(_, bytes)| Sample::parse(bytes, 15).unwrap())
        .collect();
    assert!(samples.len() >= 8, "{}", samples.len());
    for (count, sample) in samples.iter().enumerate() {
        assert_eq!(sample.count, count as u32);
        assert!((sample.acceleration_g[2] - 1.0).abs() < 0.02);
        assert!((sample.angular_rate_deg_s[2] - 28.65).abs() < 1.0);
    }
}

#[test]
fn a_master_on_the_network_sets_the_clock() {
    let mut unit = unit("robosense-helios", |settings| settings.clock.ptp = PtpState::Wire);
    let status = |unit: &Robosense| unit.difop(unit.stream.now).sync;
    assert_eq!((status(&unit), unit.stamp_us(SimTime(MS))), ([1, 0], 946_684_800_001_000));
    // 2026-06-01 12:00:00 as TAI.
    let tai_ns = i128::from(START_US + 37_000_000) * 1000;
    let now = crate::ptp::testing::with_master(&mut unit, SimTime(MS), 20, 0, tai_ns);
    assert_eq!(status(&unit), [1, 2]);
    let off_us = unit.stamp_us(now) - (START_US + 37_000_000 + (now.0 / 1000) as i64);
    assert!(off_us.abs() <= 1, "the master's time, {off_us} us off");
}

#[test]
fn each_way_of_ptp_has_its_transport_and_delay() {
    for (mode, transport) in [
        (SyncMode::PtpE2e, crate::wire::ptp::Transport::Udp),
        (SyncMode::PtpP2p, crate::wire::ptp::Transport::Udp),
        (SyncMode::Gptp, crate::wire::ptp::Transport::Gptp),
    ] {
        let mut unit = unit("robosense-airy", |settings| {
            settings.clock.mode = mode;
            settings.clock.ptp = PtpState::Virtual;
        });
        assert_eq!(clock::transport_of(&unit.settings.clock), transport);
        unit.advance(SimTime(20_000 * MS));
        let state = unit.difop(unit.stream.now);
        assert_eq!(state.sync, [mode as u8, 2], "{mode:?}");
    }
}

/// Gives the unit the pulse of a GNSS receiver at `second`, and later its sentence: `status` A is valid, V is not.
fn receive(unit: &mut Robosense, second: u64, status: &str) {
    let at = SimTime(second * 1000 * MS);
    unit.handle_cable(at, &CableSignal::PulsePerSecond(true));
    unit.handle_cable(at, &CableSignal::PulsePerSecond(false));
    let time = format!("1200{second:02}");
    let fields = [time.as_str(), status, "", "", "", "", "", "", "010626", "", ""];
    let sentence = crate::wire::nmea::RawSentence::new("GPRMC", fields);
    let line = crate::wire::line::LineSettings::eight_n_one(9600);
    let later = SimTime(at.0 + 200 * MS);
    unit.handle_cable(later, &CableSignal::Bytes(sentence.to_bytes(), line));
}

/// A receiver without a fix sends pulses and sentences with the status V.
#[test]
fn sentences_that_are_not_valid_do_not_set_the_clock() {
    for (name, inputs) in [
        ("robosense-rs16", 0),
        ("robosense-bpearl", gps::SENTENCES | gps::PULSES),
        ("robosense-helios", gps::SENTENCES | gps::PULSES),
    ] {
        let mut unit = unit(name, |settings| {
            settings.clock.mode = SyncMode::Gps;
            settings.clock.own.reference = Default::default();
        });
        let state = |unit: &Robosense| {
            let layout = unit.profile.packet.layout;
            let difop = unit.difop(unit.stream.now).to_bytes(layout);
            let state = Difop::parse(layout, &difop).unwrap();
            (state.gps, state.sync[1])
        };
        let reported = u8::from(name != "robosense-rs16");
        assert_eq!(state(&unit), (0, 0), "{name}");
        (1..8).for_each(|second| receive(&mut unit, second, "V"));
        assert_eq!(state(&unit), (gps::PPS | inputs, 0), "{name}");
        assert!(unit.stamp_us(unit.stream.now) < START_US, "{name}");
        receive(&mut unit, 8, "A");
        let locks = gps::PPS | gps::VALID | gps::TIME;
        assert_eq!(state(&unit), (locks | inputs, reported), "{name}");
    }
}

#[test]
fn a_clock_keeps_a_receivers_time_after_its_loss() {
    let mut unit = unit("robosense-rs16", |settings| {
        settings.clock.own.reference = Default::default();
    });
    let off_us = |unit: &Robosense, start_us: i64| {
        unit.stamp_us(unit.stream.now) - start_us - (unit.stream.now.0 / 1000) as i64
    };
    // A host writes the time, then a receiver sets it, and is lost.
    let written_us = 1_489_139_130_100_200;
    unit.handle_peer_input(SimTime(0), PEER, &ucwp().write());
    unit.advance(SimTime(900 * MS));
    assert!(off_us(&unit, written_us).abs() < 20, "{}", off_us(&unit, written_us));
    (1..8).for_each(|second| receive(&mut unit, second, "A"));
    unit.handle_peer_input(unit.stream.now, PEER, &ucwp().write());
    unit.advance(SimTime(30_000 * MS));
    assert!(off_us(&unit, START_US).abs() < 500, "{}", off_us(&unit, START_US));
    // Without the receiver, a host can write the time again.
    unit.handle_peer_input(unit.stream.now, PEER, &ucwp().write());
    assert_eq!(unit.stamp_us(unit.stream.now), written_us);
}

/// The manual of a Ruby Plus has 0 for success and 1 for failure.
#[test]
fn a_ruby_plus_has_codes_of_its_own_for_the_time_source() {
    for (name, codes) in [("robosense-ruby", [0, 2]), ("robosense-ruby-plus", [1, 0])] {
        for (ptp, code) in [PtpState::None, PtpState::Locked].into_iter().zip(codes) {
            let unit = unit(name, |settings| settings.clock.ptp = ptp);
            assert_eq!(unit.difop(SimTime::ZERO).sync, [SyncMode::PtpE2e as u8, code], "{name}");
        }
    }
}

#[test]
fn a_written_time_survives_a_restart() {
    let mut unit = unit("robosense-rs16", |settings| {
        settings.clock.own.reference = Default::default();
        settings.ucwp_effect = UcwpEffect::Restarts;
    });
    unit.handle_peer_input(SimTime(0), PEER, &ucwp().write());
    unit.advance(SimTime(30_000 * MS));
    let off_us = unit.stamp_us(unit.stream.now) - 1_489_139_130_100_200 - 30_000_000;
    assert!(off_us.abs() < 3000, "{off_us}");
}

/// Pulse and sentence of a GNSS receiver set the clock of an RS-LiDAR-16, whose rotor then keeps its phase.
#[test]
fn a_receiver_sets_the_clock_and_the_phase() {
    let mut unit = unit("robosense-rs16", |settings| {
        settings.clock.own.reference = Default::default();
        settings.phase_lock = true;
        settings.phase_deg = 90;
    });
    unit.connect_receiver();
    for second in 1..8u64 {
        while let Some(request) = unit.poll_request(SimTime((second * 1000 - 900) * MS)) {
            unit.handle_measurement(&Measurement::new(request, Outcome::Echoes(Vec::new())));
        }
        receive(&mut unit, second, "A");
    }
    let now = SimTime(7900 * MS);
    unit.advance(now);
    let state = unit.difop(now);
    // Of these bits, an RS-LiDAR-16 sends the lowest three.
    assert_eq!((state.gps, state.phase_deg), (31, 90));
    assert!(state.sentence.starts_with(b"$GPRMC,120007"), "{:?}", state.sentence);
    let off_us = unit.stamp_us(now) - (START_US + 7_900_000);
    assert!(off_us.abs() < 20, "{off_us}");
    let turn = unit.stream.program.rotor().turn(SimTime(9000 * MS));
    assert!((turn - 0.25).abs() < 1e-3, "{turn}");
}

/// A master within Menura sets the clock between two calls. The rotor follows; timestamps of earlier firings do not
/// change.
#[test]
fn the_rotor_keeps_the_phase_of_a_master_within_menura() {
    let mut unit = unit("robosense-helios", |settings| {
        settings.clock.ptp = PtpState::Virtual;
        settings.phase_lock = true;
        settings.phase_deg = 90;
    });
    let sent = run(&mut unit, 12_000);
    let all = packets(&sent);
    let stamps: Vec<_> = all.iter().map(|(_, packet)| packet.head().unix_us).collect();
    let steps = stamps.windows(2).filter(|two| !(0..2000).contains(&(two[1] - two[0])));
    assert_eq!(steps.count(), 1, "from the time since power-up to the master's");
    let first = |second: i64| stamps.iter().position(|us| *us >= second * 1_000_000).unwrap();
    let last_s = stamps[stamps.len() - 1] / 1_000_000;
    let off = i32::from(all[first(last_s)].1.azimuth(0)) - 9000;
    // Packets are 1.2 degrees apart.
    assert!((0..=130).contains(&off), "{off}");
}
