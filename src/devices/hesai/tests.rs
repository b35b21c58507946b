use std::net::{IpAddr, Ipv4Addr};

use super::*;
use crate::commands::{Conduct, constants_hold};
use crate::config::profile::network::PortIndex;
use crate::config::rig::schedule::Schedule;
use crate::hesai::profile::{ClockSource, DualOrder};
use crate::ptp::faults::PtpFault;
use crate::ptp::testing::{self as ptp_testing, with_master};
use crate::sensors::Subject;
use crate::spinning::testing::{self, datagrams, driver, echoes, epoch};
use crate::wire::hesai::data::{Packet, ReturnMode};
use crate::wire::hesai::gps::GpsPacket;
use crate::wire::hesai::ptc::{
    Configuration, Inventory, Monitor, PtcFrame, PtpStatus, Status, code, command,
};
use crate::wire::ptp::Transport;

const MS: u64 = 1_000_000;
const NAMES: [&str; 5] =
    ["hesai-xt32", "hesai-xt16", "hesai-pandar40p", "hesai-pandar64", "hesai-qt64"];
const PEER: Peer = Peer { connection: 7, port: 0, from: IpAddr::V4(Ipv4Addr::LOCALHOST) };

fn unit(name: &str, change: impl FnOnce(&mut HesaiSettings)) -> Hesai {
    let profile = driver(name);
    let Some(driver) = profile.data::<HesaiProfile>() else { panic!("{name}") };
    let mut settings = driver.defaults.clone();
    settings.azimuth_jitter_centideg = 0.0;
    settings.clock.source = ClockSource::Ptp;
    settings.clock.ptp = PtpState::Locked;
    change(&mut settings);
    let ip = IpAddr::from([127, 0, 0, 1]);
    let host = HostAddress { ip, ports: vec![2368, 10_110] };
    let (noise, faults) = (NoiseSource::new(1, name), DeviceFaults::default());
    Hesai::new(driver, &settings, Some(host), noise, epoch(), &faults)
}

/// Two echoes; the farther one is stronger.
fn seen() -> Echoes {
    echoes([0.25, 0.0025], [2.0, 0.005])
}

/// Runs the unit for `for_ns`; returns its output.
fn run(unit: &mut Hesai, for_ns: u64) -> Vec<Transmit> {
    let from = unit.stream.now;
    testing::run(unit, from, [for_ns, 60 * MS], seen(), |_| Outcome::Inertial(Vec::new()))
}

fn packets(sent: &[Transmit]) -> Vec<(SimTime, Packet<'_>)> {
    datagrams(sent, PortIndex::DATA)
        .into_iter()
        .map(|(due, bytes)| (due, Packet::parse(bytes).unwrap()))
        .collect()
}

/// Timestamp of a packet, microseconds after the start of the run at 12:00.
fn stamp_us(packet: &Packet<'_>) -> u64 {
    let [.., hour, minute, second] = packet.tail().date.map(u64::from);
    ((hour - 12) * 3600 + minute * 60 + second) * 1_000_000 + u64::from(packet.tail().micros)
}

/// Sends a command; returns its answer, which must be one frame.
fn asked(unit: &mut Hesai, command: u8, payload: &[u8]) -> PtcFrame {
    let now = unit.stream.now;
    unit.handle_peer(now, PEER, true);
    let request = PtcFrame { command, code: 0, payload: payload.to_vec() };
    unit.handle_peer_input(now, PEER, &request.to_bytes());
    let mut answers = Vec::new();
    let mut others = Vec::new();
    while let Some(transmit) = unit.poll_transmit() {
        match transmit.output {
            Output::BytesTo(PEER, bytes) => {
                assert_eq!(transmit.due, SimTime(now.0 + 2 * MS));
                answers.push(bytes);
            }
            _ => others.push(transmit),
        }
    }
    others.into_iter().for_each(|transmit| unit.stream.send(transmit));
    let [answer] = &answers[..] else { panic!("{} answers", answers.len()) };
    let mut framer = crate::wire::framer::Framer::new(crate::wire::hesai::ptc::Ptc);
    let frame = framer.frames(answer).remove(0);
    assert_eq!(frame.command, command);
    frame
}

fn set(unit: &mut Hesai, command: u8, payload: &[u8]) -> u8 {
    let answer = asked(unit, command, payload);
    assert!(answer.payload.is_empty());
    answer.code
}

fn get<T: crate::wire::record::Record>(unit: &mut Hesai, command: u8, payload: &[u8]) -> T {
    let answer = asked(unit, command, payload);
    assert_eq!(answer.code, code::OK);
    T::parse(&answer.payload).unwrap()
}

#[test]
fn every_model_sends_whole_turns_in_each_mode_at_each_speed() {
    for name in NAMES {
        let profile = driver(name);
        let driver = profile.data::<HesaiProfile>().unwrap();
        for mode in
            [driver.return_modes[0], *driver.return_modes.iter().find(|m| m.is_dual()).unwrap()]
        {
            for rpm in [300, 600, 1200] {
                let mut unit = unit(name, |settings| {
                    settings.return_mode = mode;
                    settings.rotation_rate_rpm = rpm;
                    settings.has_sequence = true;
                });
                let rate_hz = unit.data_rate_hz();
                // A whole turn at the lowest speed.
                let sent = run(&mut unit, 200 * MS);
                let packets = packets(&sent);
                let early = packets.iter().filter(|(due, _)| due.0 < 200 * MS).count() as f64;
                assert!((early - rate_hz * 0.2).abs() <= 2.0, "{name} {mode:?} {rpm}: {early}");
                let pairs = if mode.is_dual() { 2 } else { 1 };
                let steps = driver.steps(rpm);
                assert!(steps.is_multiple_of(driver.steps_of_packet(mode)), "{name} {rpm}");
                let mut step = 0;
                for (number, (due, packet)) in packets.iter().enumerate() {
                    assert_eq!(packet.tail().sequence, Some(number as u32));
                    assert_eq!(u32::from(packet.tail().rpm), rpm);
                    assert_eq!(packet.tail().return_mode, mode.byte());
                    assert!(due.0 / 1000 >= stamp_us(packet), "{name}: stamped before it leaves");
                    let azimuths: Vec<_> = packet.blocks().map(|(azimuth, _)| azimuth).collect();
                    for pair in azimuths.chunks(pairs) {
                        assert!(pair.iter().all(|azimuth| *azimuth == pair[0]));
                        let ahead_deg = driver.packet.azimuth_ahead_deg(rpm as u16);
                        let wanted = 36_000.0 * f64::from(step % steps) / f64::from(steps)
                            + 100.0 * ahead_deg;
                        assert_eq!(f64::from(pair[0]), wanted.round() % 36_000.0, "{name} {rpm}");
                        step += 1;
                    }
                }
                // The firing rate is the same at each speed.
                let spans: Vec<_> = packets[1..]
                    .windows(2)
                    .map(|two| stamp_us(&two[1].1) - stamp_us(&two[0].1))
                    .collect();
                let usual_us =
                    driver.period_ns() * f64::from(driver.steps_of_packet(mode)) / 1000.0;
                assert!(spans.iter().all(|span| (*span as f64 - usual_us).abs() <= 1.0), "{name}");
            }
        }
    }
}

/// Compares firing times with those that drivers compute: the timestamp plus the offsets of block and channel, which
/// the cases list in microseconds.
#[test]
fn timestamps_are_as_drivers_take_them() {
    let cases: [(&str, usize, f64, f64); 5] = [
        ("hesai-xt32", 7, 5.632, 0.368),
        ("hesai-xt16", 7, 5.632, 0.368),
        ("hesai-pandar40p", 9, -28.58, -42.22),
        ("hesai-pandar64", 5, -42.58, -23.18),
        ("hesai-qt64", 0, 25.71, 12.31),
    ];
    for (name, block, block_us, channel_us) in cases {
        let mut unit = unit(name, |_| {});
        let request = unit.poll_request(SimTime(50 * MS)).unwrap();
        let Subject::Sweep(sweep) = &request.subject else { panic!() };
        let lasers = unit.lasers.len();
        let fired_ns = request.start.0 + u64::from(sweep.firings[block * lasers].offset_ns);
        let offset_ns = (1000.0 * (block_us + channel_us)).round() as i64;
        let mut next = unit.poll_request(SimTime(50 * MS)).unwrap();
        // The timestamp of a QT64's first packet would be before the run.
        next.index = 1;
        let echoes = vec![seen(); sweep.firings.len()];
        let start_ns = next.start.0 - request.start.0;
        unit.handle_measurement(&Measurement::new(request, Outcome::Echoes(echoes.clone())));
        unit.handle_measurement(&Measurement::new(next, Outcome::Echoes(echoes)));
        let sent: Vec<_> = std::iter::from_fn(|| unit.poll_transmit()).collect();
        let packets = packets(&sent);
        let wanted_us = (fired_ns + start_ns).saturating_add_signed(-offset_ns) / 1000;
        assert_eq!(stamp_us(&packets[1].1), wanted_us, "{name}");
    }
}

/// The maker's drivers correct the azimuth of a point by the rotation of the rotor until its laser fires. The firing
/// times of Pandar40P and Pandar64 are negative, because the azimuth of a block applies to the end of the block.
#[test]
fn azimuths_are_as_the_makers_drivers_take_them() {
    let cases: [(&str, [(usize, f64); 3]); 3] = [
        ("hesai-pandar40p", [(0, -42.22), (3, -3.62), (7, -54.67)]),
        ("hesai-pandar64", [(0, -23.18), (13, -44.828), (49, -19.268)]),
        ("hesai-xt32", [(0, 0.0), (1, 1.512), (31, 46.872)]),
    ];
    for (name, firings) in cases {
        for rpm in [300, 600, 1200] {
            let mut unit = unit(name, |settings| settings.rotation_rate_rpm = rpm);
            let lasers = unit.lasers.len();
            let mut sweeps = Vec::new();
            while let Some(request) = unit.poll_request(SimTime(20 * MS)) {
                let Subject::Sweep(sweep) = &request.subject else { panic!() };
                sweeps.push((request.start, sweep.clone()));
                let outcome = Outcome::Echoes(vec![seen(); sweep.firings.len()]);
                unit.handle_measurement(&Measurement::new(request, outcome));
            }
            let sent: Vec<_> = std::iter::from_fn(|| unit.poll_transmit()).collect();
            let (_, packet) = packets(&sent)[5];
            let (start, sweep) = &sweeps[5];
            for (block, (azimuth, _)) in packet.blocks().enumerate() {
                for (laser, firing_us) in firings {
                    let fired =
                        start.0 + u64::from(sweep.firings[block * lasers + laser].offset_ns);
                    let turn = unit.stream.program.rotor().turn(SimTime(fired)).rem_euclid(1.0);
                    let taken_deg = f64::from(azimuth) / 100.0 + firing_us * 6e-6 * f64::from(rpm);
                    let off_deg = (taken_deg - turn * 360.0 + 180.0).rem_euclid(360.0) - 180.0;
                    assert!(off_deg.abs() < 0.006, "{name} {rpm} rpm, laser {laser}: {off_deg}");
                }
            }
        }
    }
}

#[test]
fn two_returns_stand_in_the_profiles_order() {
    let distances = |mode, order| {
        let mut unit = unit("hesai-xt32", |settings| {
            settings.return_mode = mode;
            settings.dual_order = order;
        });
        let sent = run(&mut unit, 2 * MS);
        let (_, packet) = packets(&sent)[0];
        assert_eq!(packet.head()[8], u8::from(mode.is_dual()));
        assert_eq!(packet.head()[10], 1 + u8::from(mode.is_dual()));
        let mut blocks = packet.blocks().map(|(_, block)| packet.points(block).next().unwrap());
        [blocks.next().unwrap(), blocks.next().unwrap()]
            .map(|point| (point.distance, point.reflectivity, point.confidence))
    };
    let [near, far] = [(2500, 25, 255), (5000, 114, 255)];
    use DualOrder::{FartherFirst, NearerFirst};
    assert_eq!(distances(ReturnMode::LastStrongest, FartherFirst), [far, near]);
    assert_eq!(distances(ReturnMode::LastStrongest, NearerFirst), [near, far]);
    assert_eq!(distances(ReturnMode::Strongest, NearerFirst), [far, far]);
    assert_eq!(distances(ReturnMode::First, NearerFirst), [near, near]);
}

#[test]
fn commands_change_the_stream() {
    let mut unit = unit("hesai-xt32", |_| {});
    run(&mut unit, 50 * MS);
    // Strongest instead of last return, from the next rotation on.
    assert_eq!(set(&mut unit, command::RETURN_MODE, &[1]), code::OK);
    let sent = run(&mut unit, 200 * MS);
    let modes: Vec<_> = packets(&sent).iter().map(|(_, p)| p.tail().return_mode).collect();
    assert_eq!(modes.last(), Some(&ReturnMode::Strongest.byte()));
    // A sector of a quarter of a rotation, tenths of a degree.
    assert_eq!(set(&mut unit, command::SET_RANGE, &[0, 0, 0, 3, 132]), code::OK);
    run(&mut unit, 200 * MS);
    let sent = run(&mut unit, 300 * MS);
    let found = packets(&sent);
    let azimuths = found.iter().flat_map(|(_, packet)| packet.blocks());
    let mut outside = 0;
    for (azimuth, block) in azimuths {
        let is_lit = found[0].1.points(block).all(|point| point.distance > 0);
        assert_eq!(is_lit, azimuth <= 9000, "{azimuth}");
        outside += u32::from(azimuth > 9000);
    }
    assert!(outside > 0, "the packet at the edge");
    let numbers: Vec<_> = found.iter().map(|(_, p)| p.tail().sequence.unwrap()).collect();
    assert!(numbers.windows(2).all(|two| two[1] == two[0] + 1), "what is not sent is not counted");
    assert!((found.len() as i64 - 3 * 63).abs() <= 64, "{}", found.len());
    assert_eq!(asked(&mut unit, command::GET_RANGE, &[]).payload, [0, 0, 0, 3, 132]);
    // Double speed.
    assert_eq!(set(&mut unit, command::SPIN_RATE, &1200u16.to_be_bytes()), code::OK);
    let sent = run(&mut unit, 4000 * MS);
    let (_, last) = *packets(&sent).last().unwrap();
    assert_eq!(last.tail().rpm, 1200);
    let step = |packet: &Packet<'_>| {
        let mut azimuths = packet.blocks().map(|(azimuth, _)| azimuth);
        let first = azimuths.next().unwrap();
        azimuths.next().unwrap().abs_diff(first)
    };
    assert_eq!(step(&last), 36);
    // Standby and back.
    assert_eq!(set(&mut unit, command::STANDBY, &[1]), code::OK);
    run(&mut unit, 300 * MS);
    assert_eq!(packets(&run(&mut unit, 7000 * MS)).len(), 0);
    let monitor: Monitor = get(&mut unit, command::MONITOR, &[]);
    assert_eq!((monitor.voltage, monitor.power), (1200, 500));
    assert_eq!(set(&mut unit, command::STANDBY, &[0]), code::OK);
    assert!(!packets(&run(&mut unit, 7000 * MS)).is_empty());
    // Another destination.
    let target = [10, 0, 0, 9, 0x1f, 0x90, 0x27, 0x7e];
    assert_eq!(set(&mut unit, command::DESTINATION, &target), code::OK);
    let hosts: Vec<_> = run(&mut unit, 300 * MS)
        .into_iter()
        .filter_map(|transmit| match transmit.output {
            Output::Host(host) => Some(host),
            _ => None,
        })
        .collect();
    assert_eq!(hosts, [HostAddress { ip: [10, 0, 0, 9].into(), ports: vec![8080, 10_110] }]);
    let told: Configuration = get(&mut unit, command::CONFIGURATION, &[]);
    assert_eq!((told.rpm, told.return_mode, told.stop_decideg), (1200, 1, 900));
    assert_eq!(told.destination.data_port, 8080);
    // Factory settings, except the destination.
    assert_eq!(set(&mut unit, command::RESET, &[]), code::OK);
    let told: Configuration = get(&mut unit, command::CONFIGURATION, &[]);
    assert_eq!((told.rpm, told.return_mode, told.stop_decideg), (600, 0, 3600));
    assert_eq!(told.destination.data_port, 8080);
}

#[test]
fn what_a_unit_cannot_do_is_refused_with_its_code() {
    let mut unit = unit("hesai-pandar40p", |_| {});
    let before: Configuration = get(&mut unit, command::CONFIGURATION, &[]);
    for (command, payload, wanted) in [
        (command::SPIN_RATE, &[0x02, 0x59][..], code::INVALID_PARAMETER),
        (command::SPIN_RATE, &[2], code::INVALID_DATA),
        (command::RETURN_MODE, &[3], code::INVALID_PARAMETER),
        (command::RETURN_MODE, &[9], code::INVALID_PARAMETER),
        (command::STANDBY, &[2], code::INVALID_PARAMETER),
        (command::SYNC_ANGLE, &[1, 1, 104], code::INVALID_PARAMETER),
        (command::SET_RANGE, &[1, 0, 0, 0, 10], code::INVALID_PARAMETER),
        (command::SET_RANGE, &[0, 0, 0, 14, 17], code::INVALID_PARAMETER),
        (command::DESTINATION, &[10, 0, 0, 9, 0, 0, 0, 1], code::INVALID_PARAMETER),
        (command::SET_PTP, &[0, 1], code::INVALID_DATA),
        (command::SET_PTP, &[0; 7], code::INVALID_DATA),
        (command::PTP_DIAGNOSTICS, &[5], code::INVALID_PARAMETER),
        (0xa9, &[], code::UNSUPPORTED),
        (0x00, &[1, 2], code::UNSUPPORTED),
    ] {
        assert_eq!(set(&mut unit, command, payload), wanted, "{command:#04x} {payload:?}");
    }
    let after: Configuration = get(&mut unit, command::CONFIGURATION, &[]);
    assert_eq!(after, before);
}

#[test]
fn a_unit_tells_who_it_is_and_how_it_does() {
    let mut unit = unit("hesai-xt32", |settings| {
        settings.serial = "ABC".to_owned();
        settings.clock.own.power_up_us = 90_000_000;
    });
    run(&mut unit, 10 * MS);
    let inventory: Inventory = get(&mut unit, command::INVENTORY, &[]);
    assert_eq!((&inventory.serial[..4], inventory.model), (&b"ABC\0"[..], 25));
    assert_eq!((inventory.lines, inventory.mac[0]), (32, 0xec));
    let status: Status = get(&mut unit, command::STATUS, &[]);
    assert_eq!((status.uptime_s, status.rpm, status.ptp), (90, 600, 2));
    assert_eq!(status.temperatures[0], 4520);
    let ptp: PtpStatus = get(&mut unit, command::PTP_DIAGNOSTICS, &[1]);
    assert_eq!((ptp.state, ptp.elapsed_ms), (2, 10));
    for (query, len) in [(2, 26), (3, 50), (4, 8)] {
        assert_eq!(asked(&mut unit, command::PTP_DIAGNOSTICS, &[query]).payload.len(), len);
    }
    assert_eq!(set(&mut unit, command::SET_PTP, &[1, 5, 1]), code::OK);
    assert_eq!(asked(&mut unit, command::GET_PTP, &[]).payload, [1, 1, 5, 1, 1, 0, 0]);
    // The lock offset, which present drivers read and set at their start.
    assert_eq!(asked(&mut unit, command::GET_PTP_LOCK_OFFSET, &[]).payload, [1]);
    assert_eq!(set(&mut unit, command::SET_PTP_LOCK_OFFSET, &[100]), code::OK);
    assert_eq!(asked(&mut unit, command::GET_PTP_LOCK_OFFSET, &[]).payload, [100]);
    assert_eq!(set(&mut unit, command::SET_PTP_LOCK_OFFSET, &[0]), code::INVALID_PARAMETER);
    assert_eq!(set(&mut unit, command::CLOCK_SOURCE, &[0]), code::OK);
    assert_eq!(get::<Status>(&mut unit, command::STATUS, &[]).ptp, 0, "it does not follow PTP");
}

#[test]
fn a_master_on_the_network_is_tracked_locked_and_lost() {
    let mut unit = unit("hesai-xt32", |settings| {
        settings.clock.ptp = PtpState::Wire;
        settings.clock.own.drift_s_per_day = -0.864;
    });
    let state = |unit: &mut Hesai| get::<Status>(unit, command::STATUS, &[]).ptp;
    assert_eq!(state(&mut unit), 0, "nobody is heard");
    let shows = |unit: &Hesai, at| unit.clock.civil(ClockSource::Ptp, at);
    assert_eq!(shows(&unit, SimTime(MS)).year(), 2000);
    // 2026-06-01 12:00:00 as TAI.
    let tai_ns = 1_780_315_237_000_000_000;
    let now = with_master(&mut unit, SimTime(MS), 3, 0, tai_ns);
    assert_eq!(state(&mut unit), 1);
    let now = with_master(&mut unit, now, 17, 0, tai_ns);
    assert_eq!(state(&mut unit), 2);
    let told = clock::words(shows(&unit, SimTime(now.0 + 500_500)), 1900);
    assert_eq!(
        told,
        ([126, 6, 1, 12, 0, 20], 1500),
        "UTC, as the master says how far TAI is ahead"
    );
    let ptp: PtpStatus = get(&mut unit, command::PTP_DIAGNOSTICS, &[1]);
    assert!(ptp.master_offset_ns.abs() < 100 && (900..1100).contains(&ptp.elapsed_ms), "{ptp:?}");
    let port = asked(&mut unit, command::PTP_DIAGNOSTICS, &[2]).payload;
    assert_eq!((port.len(), port[10]), (26, 9));
    let time = asked(&mut unit, command::PTP_DIAGNOSTICS, &[3]).payload;
    assert_eq!(time[42..], ptp_testing::MASTER.clock);
    let grandmaster = asked(&mut unit, command::PTP_DIAGNOSTICS, &[4]).payload;
    assert_eq!(grandmaster, [6, 0x21, 0xff, 0xff, 0, 37, 0x0c, 0x20]);
    // After the loss of the master the clock runs freely; 0.1 s per day is negligible in ten seconds.
    let later = SimTime(now.0 + 10_000 * MS);
    unit.advance(later);
    assert_eq!(state(&mut unit), 3);
    let (_, us) = clock::words(shows(&unit, later), 1900);
    assert!(us.abs_diff(1000) <= 2, "{us}");
    // In another domain the unit finds another master.
    assert_eq!(set(&mut unit, command::SET_PTP, &[0, 5, 0]), code::OK);
    let now = with_master(&mut unit, later, 10, 0, tai_ns);
    assert_eq!(state(&mut unit), 3);
    let now = with_master(&mut unit, now, 10, 5, tai_ns);
    assert_eq!(state(&mut unit), 2);
    // With IEEE 802.1AS the unit finds no master here. With a GNSS receiver as the clock's source, the PTP state is
    // free.
    assert_eq!(unit.poll_ptp_transport(), Some(Transport::Udp));
    assert_eq!(set(&mut unit, command::SET_PTP, &[1, 5, 1]), code::OK);
    assert_eq!(unit.poll_ptp_transport(), Some(Transport::Gptp));
    with_master(&mut unit, now, 10, 5, tai_ns);
    assert_eq!(state(&mut unit), 3);
    assert_eq!(set(&mut unit, command::CLOCK_SOURCE, &[0]), code::OK);
    assert_eq!(state(&mut unit), 0);
}

#[test]
fn commands_choose_the_profile_of_ptp() {
    let mut unit = unit("hesai-xt32", |settings| settings.clock.ptp = PtpState::Virtual);
    let state = |unit: &mut Hesai| get::<Status>(unit, command::STATUS, &[]).ptp;
    let mut now = SimTime::ZERO;
    for (payload, mechanism) in [([0, 0, 1], 1), ([1, 0, 1], 2), ([2, 0, 1], 2), ([0, 0, 0], 1)] {
        assert_eq!(set(&mut unit, command::SET_PTP, &payload), code::OK);
        assert_ne!(state(&mut unit), 2, "{payload:?}");
        now = SimTime(now.0 + 20_000 * MS);
        unit.advance(now);
        assert_eq!(state(&mut unit), 2, "{payload:?}");
        let port = asked(&mut unit, command::PTP_DIAGNOSTICS, &[2]).payload;
        assert_eq!((port[10], port[23]), (9, mechanism), "{payload:?}");
    }
    // Refused: profile 1 over UDP, unknown profile, unknown transport, invalid domain, interval that is too long.
    for payload in [&[1, 0, 0][..], &[3, 0, 1], &[0, 0, 2], &[0, 128, 0], &[0, 0, 0, 4]] {
        assert_eq!(set(&mut unit, command::SET_PTP, payload), code::INVALID_PARAMETER);
    }
}

#[test]
fn each_units_own_angles_are_served_and_measured_with() {
    let table = |serial: &str| {
        let mut unit = unit("hesai-xt32", |settings| serial.clone_into(&mut settings.serial));
        let text = String::from_utf8(asked(&mut unit, command::CALIBRATION, &[]).payload).unwrap();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!((lines[0], lines.len()), ("Channel,Elevation,Azimuth", 33));
        assert!(text.ends_with('\n') && !text.contains('\r') && text.len() < 10_240);
        let rows = lines[1..].iter().enumerate().map(|(index, line)| {
            let numbers: Vec<f64> = line.split(',').map(|word| word.parse().unwrap()).collect();
            assert_eq!((numbers[0], numbers.len()), (index as f64 + 1.0, 3));
            assert_eq!(numbers[1], unit.lasers[index].elevation_deg);
            assert_eq!(numbers[2], unit.lasers[index].azimuth_deg);
            [numbers[1] - (15.0 - index as f64), numbers[2]]
        });
        rows.collect::<Vec<_>>()
    };
    let (one, other) = (table("ONE"), table("OTHER"));
    assert_ne!(one, other);
    assert_eq!(one, table("ONE"));
    let worst = one.iter().flatten().fold(0.0f64, |worst, off| worst.max(off.abs()));
    assert!((0.02..0.25).contains(&worst), "{worst}");
}

#[test]
fn the_rotor_is_at_the_sync_angle_when_a_second_begins() {
    let mut unit = unit("hesai-xt32", |settings| settings.start_azimuth_rad = 1.0);
    run(&mut unit, 100 * MS);
    assert_eq!(set(&mut unit, command::SYNC_ANGLE, &[1, 0, 90]), code::OK);
    run(&mut unit, 2900 * MS);
    let turn = |at: u64| unit.stream.program.rotor().turn(SimTime(at));
    assert!((turn(4_000_000_000) - 0.25).abs() < 1e-5, "{}", turn(4_000_000_000));
}

#[test]
fn a_restart_is_answered_and_then_nobody_is() {
    let mut unit = unit("hesai-xt32", |_| {});
    run(&mut unit, 100 * MS);
    assert_eq!(set(&mut unit, command::REBOOT, &[]), code::OK);
    let sent = run(&mut unit, 1000 * MS);
    let gone = sent.iter().find(|transmit| transmit.output == Output::Disconnect(PEER));
    assert_eq!(gone.map(|transmit| transmit.due), Some(SimTime(120 * MS)));
    assert!(packets(&sent).iter().all(|(due, _)| due.0 <= 121 * MS));
    let now = unit.stream.now;
    unit.handle_peer(now, PEER, true);
    assert_eq!(unit.poll_transmit().map(|t| t.output), Some(Output::Disconnect(PEER)));
    let sent = run(&mut unit, 20_000 * MS);
    assert!(packets(&sent).len() > 1000, "it sends again");
    let status: Status = get(&mut unit, command::STATUS, &[]);
    assert_eq!(status.uptime_s, 5);
}

#[test]
fn sequence_numbers_begin_again_after_a_restart() {
    let mut unit = unit("hesai-xt32", |settings| settings.has_sequence = true);
    assert!(packets(&run(&mut unit, 100 * MS)).len() > 200);
    assert_eq!(set(&mut unit, command::REBOOT, &[]), code::OK);
    let sent = run(&mut unit, 19_000 * MS);
    let all = packets(&sent);
    let new = all.iter().filter(|(due, _)| *due > unit.up_at);
    let numbers: Vec<_> = new.map(|(_, packet)| packet.tail().sequence.unwrap()).collect();
    assert!(numbers.len() > 1000);
    assert!(numbers.iter().copied().eq(0..numbers.len() as u32), "{:?}", numbers.first());
}

#[test]
fn a_restart_is_counted_and_leaves_the_operating_time() {
    let mut unit = unit("hesai-xt32", |_| {});
    let before: Status = get(&mut unit, command::STATUS, &[]);
    unit.advance(SimTime(601_000 * MS));
    assert_eq!(set(&mut unit, command::REBOOT, &[]), code::OK);
    unit.advance(SimTime(620_000 * MS));
    let after: Status = get(&mut unit, command::STATUS, &[]);
    assert_eq!((after.starts, after.operation_min), (before.starts + 1, before.operation_min + 10));
    assert_eq!(after.uptime_s, 3);
}

/// A receiver without a fix sends sentences with the status V.
#[test]
fn only_valid_sentences_count_as_nmea_lock() {
    let mut unit = unit("hesai-xt32", |settings| settings.clock.source = ClockSource::Gps);
    for (second, status, lock) in [(1, "V", 0), (2, "A", 1), (3, "V", 1), (6, "V", 0)] {
        let fields = ["120001", status, "", "", "", "", "", "", "010626", "", ""];
        let sentence = crate::wire::nmea::RawSentence::new("GPRMC", fields).to_bytes();
        let line = crate::wire::line::LineSettings::eight_n_one(9600);
        unit.handle_cable(SimTime(second * 1000 * MS), &CableSignal::Bytes(sentence, line));
        let told: Status = get(&mut unit, command::STATUS, &[]);
        assert_eq!(told.nmea_locked, lock, "{second} s");
    }
}

/// The numbers are those of nebula for a PandarQT64.
#[test]
fn two_returns_of_a_qt64_have_the_number_2() {
    let mut unit = unit("hesai-qt64", |_| {});
    for number in [1, 4, 5] {
        assert_eq!(set(&mut unit, command::RETURN_MODE, &[number]), code::INVALID_PARAMETER);
    }
    let modes = [(3, ReturnMode::First), (0, ReturnMode::Last), (2, ReturnMode::LastFirst)];
    for (number, mode) in modes {
        assert_eq!(set(&mut unit, command::RETURN_MODE, &[number]), code::OK);
        let told: Configuration = get(&mut unit, command::CONFIGURATION, &[]);
        assert_eq!((told.return_mode, unit.values.returns), (number, mode));
    }
    let sent = run(&mut unit, 300 * MS);
    let (_, last) = *packets(&sent).last().unwrap();
    assert_eq!(last.tail().return_mode, ReturnMode::LastFirst.byte());
}

#[test]
fn gps_packets_come_once_a_second() {
    let mut unit = unit("hesai-qt64", |_| {});
    let sent = run(&mut unit, 2500 * MS);
    let gps: Vec<_> = datagrams(&sent, HesaiProfile::GPS_PORT)
        .into_iter()
        .map(|(due, bytes)| (due, GpsPacket::parse(bytes).unwrap()))
        .collect();
    let dues: Vec<_> = gps.iter().map(|(due, _)| due.0 / MS).collect();
    assert_eq!(dues, [0, 1000, 2000]);
    assert_eq!((gps[2].1.date, gps[2].1.status), ([26, 6, 1, 12, 0, 2], 0));
}

#[test]
fn a_hot_unit_and_a_lost_master_show() {
    let mut unit = unit("hesai-pandar64", |_| {});
    let schedule = Schedule { start: SimTime(100 * MS), duration_ns: None, period_ns: None };
    unit.hot = vec![Timed { fault: 0, schedule, kind: HighTemperature { rise_c: 40.0 } }];
    unit.clock.set_faults(vec![Timed { fault: 1, schedule, kind: PtpFault::Lost }]);
    let sent = run(&mut unit, 200 * MS);
    for (due, packet) in packets(&sent) {
        let flag = packet.tail().status[5];
        assert_eq!(flag == 1, stamp_us(&packet) >= 100_000, "{}", due.0);
    }
    let kinds: Vec<_> = sent.iter().flat_map(|t| &t.fault_effects).map(|e| e.kind).collect();
    assert!(kinds.contains(&EffectKind::AlertActive) && kinds.contains(&EffectKind::Frozen));
    let status: Status = get(&mut unit, command::STATUS, &[]);
    assert_eq!((status.temperatures[0], status.ptp), (8520, 3));
}

#[test]
fn it_starts_at_rest_and_sends_when_it_is_at_speed() {
    let mut unit = unit("hesai-xt32", |settings| settings.motor.starts_at_rest = true);
    let sent = run(&mut unit, 4000 * MS);
    let first = packets(&sent)[0];
    // The rotor needs 2.7 s to reach 540 rpm at 200 rpm/s.
    assert!((2700..2850).contains(&(first.0.0 / MS)), "{}", first.0.0);
    assert_eq!(first.1.blocks().next().unwrap().0, 0);
}

#[test]
fn a_flood_of_requests_is_not_answered_without_end() {
    let mut unit = unit("hesai-xt32", |_| {});
    unit.handle_peer(SimTime::ZERO, PEER, true);
    let request = PtcFrame { command: command::CALIBRATION, ..PtcFrame::default() }.to_bytes();
    unit.handle_peer_input(SimTime::ZERO, PEER, &request.repeat(1000));
    let answers = std::iter::from_fn(|| unit.poll_transmit())
        .filter(|transmit| matches!(transmit.output, Output::BytesTo(..)));
    assert_eq!(answers.count(), 32);
}

fn hex(text: &str) -> Vec<u8> {
    text.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
}

/// Sends every command of the table to each model: valid, shortened, lengthened and doubled.
#[test]
fn every_command_is_answered_as_its_table_says() {
    for name in NAMES {
        let profile = driver(name);
        let [table] = &crate::families::family_of(&profile).commands(&profile)[..] else {
            panic!()
        };
        for row in &table.rows {
            let request = hex(row.request);
            let (command, payload) = (request[0], &request[1..]);
            assert_eq!(format!("0x{command:02X}"), row.code);
            for (nth, payload) in crate::commands::variants(payload).iter().enumerate() {
                let mut unit = unit(name, |_| {});
                let answer = asked(&mut unit, command, payload);
                assert!(answer.payload.len() <= crate::wire::hesai::ptc::MAX_PAYLOAD);
                let is_served = match row.conduct {
                    Conduct::Acts | Conduct::Kept | Conduct::Constant => true,
                    Conduct::Refused | Conduct::NotMade => {
                        assert_eq!(answer.code, code::UNSUPPORTED, "{name} {}", row.name);
                        false
                    }
                };
                if nth == 0 && is_served {
                    assert_eq!(answer.code, code::OK, "{name} {}", row.name);
                }
                if nth == 0 && row.conduct == Conduct::Kept {
                    let told: Configuration = get(&mut unit, command::CONFIGURATION, &[]);
                    let read = match command {
                        command::TRIGGER => vec![told.trigger],
                        command::OWN_NETWORK => {
                            let vlan = [&[told.vlan.is_on], &told.vlan.id.to_be_bytes()[..]];
                            [&told.ip[..], &told.mask, &told.gateway, &vlan.concat()].concat()
                        }
                        command::SET_PTP => {
                            asked(&mut unit, command::GET_PTP, &[]).payload[1..].to_vec()
                        }
                        _ => asked(&mut unit, command::GET_PTP_LOCK_OFFSET, &[]).payload,
                    };
                    assert_eq!(read, *payload, "{name} {}", row.name);
                }
                if command != command::REBOOT {
                    let known = asked(&mut unit, command::INVENTORY, &[]);
                    assert_eq!((known.code, known.payload.len()), (code::OK, 120));
                }
            }
        }
    }
}

#[test]
fn constant_answers_stay_whatever_is_set() {
    for name in NAMES {
        let profile = driver(name);
        let tables = crate::families::family_of(&profile).commands(&profile);
        let mut unit = unit(name, |_| {});
        constants_hold(&tables[0].rows, &["0x10"], |row| {
            let request = hex(row.request);
            let answer = asked(&mut unit, request[0], &request[1..]);
            (answer.code, answer.payload)
        });
    }
}

/// A master within Menura changes the unit's clock between two calls to the unit.
#[test]
fn the_rotor_keeps_the_phase_of_a_master_within_menura() {
    let mut unit = unit("hesai-xt32", |settings| {
        settings.clock.ptp = PtpState::Virtual;
        settings.sync_enable = true;
        settings.sync_angle_deg = 90;
    });
    let sent = run(&mut unit, 12_000 * MS);
    let all = packets(&sent);
    let micros: Vec<_> = all.iter().map(|(_, packet)| packet.tail().micros).collect();
    let begun = micros.windows(2).rposition(|two| two[1] < two[0]).unwrap() + 1;
    let (azimuth, _) = all[begun].1.blocks().next().unwrap();
    let off = i32::from(azimuth) - 9000;
    // Packets are 1.44 degrees apart and timestamped at their end.
    assert!((-200..=150).contains(&off), "{off}");
}
