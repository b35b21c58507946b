use std::net::{IpAddr, Ipv4Addr};

use super::faults::{Abnormal, Level, Part};
use super::profile::ReturnMode;
use super::*;
use crate::REACTION_NS;
use crate::commands::{Conduct, variants};
use crate::config::profile::network::PortIndex;
use crate::config::rig::schedule::Schedule;
use crate::decoder::Named;
use crate::decoder::datagram::DatagramDecoder as _;
use crate::family::Family as _;
use crate::livox::profile::PtpState;
use crate::livox::tests::{bytes_of, still};
use crate::ptp::faults::PtpFault;
use crate::sensors::{Echoes, Return};
use crate::spinning::testing::{self, datagrams, driver, epoch};
use crate::wire::line::LineSettings;
use crate::wire::livox::first::command::{
    Address, Broadcast, Frame, Handshake, Heartbeat, Kind, ParameterAnswer, id, key, key_error,
    parameters_to_bytes, parse_parameters, ret,
};
use crate::wire::livox::first::data::{Coordinates, Format, HEAD_LEN, Head, Packet, Point, pulses};
use crate::wire::nmea::RawSentence;
use crate::wire::record::Record as _;

const MS: u64 = 1_000_000;
const HOST: Peer = Peer { connection: 7, port: 0, from: IpAddr::V4(Ipv4Addr::LOCALHOST) };
const OTHER: Peer = Peer { connection: 8, port: 0, from: IpAddr::V4(Ipv4Addr::new(10, 0, 0, 9)) };
/// POSIX time at the start of the run, nanoseconds.
const START_NS: u64 = 1_780_315_200_000_000_000;

fn unit(name: &str, change: impl FnOnce(&mut FirstSettings)) -> LivoxFirst {
    let profile = driver(name);
    let Some(driver) = profile.data::<FirstProfile>() else { panic!("another family") };
    let mut settings = driver.defaults.clone();
    settings.clock.ptp = PtpState::Locked;
    change(&mut settings);
    let mut unit = LivoxFirst::new(driver, &settings, NoiseSource::new(1, "livox"), epoch());
    let host = HostAddress {
        ip: IpAddr::from([127, 0, 0, 1]),
        ports: vec![56_001, 56_001, 55_501, 55_000],
    };
    unit.set_address(Ipv4Addr::new(127, 0, 0, 2), Some(host));
    unit
}

/// Echoes at 10 m, 20 m and 20.5 m; the second is the strongest, the third is weak.
fn echoes() -> Echoes {
    let mut echoes = Echoes::default();
    echoes.push(Return { range_m: 10.0, intensity: 0.25, signal: 0.0025 });
    echoes.push(Return { range_m: 20.0, intensity: 2.0, signal: 0.005 });
    echoes.push(Return { range_m: 20.5, intensity: 0.1, signal: 0.000_004 });
    echoes
}

/// Runs the unit for `for_ns`; returns its output.
fn run(unit: &mut LivoxFirst, for_ns: u64) -> Vec<Transmit> {
    let from = unit.now;
    testing::run(unit, from, [for_ns, 60 * MS], echoes(), |request| {
        Outcome::Inertial(request.instants().map(still).collect())
    })
}

/// Packets of points with their send times, and the returns of each pulse.
fn clouds(sent: &[Transmit]) -> Vec<(SimTime, Head, Format, Vec<Vec<Point>>)> {
    let read = |(due, bytes): (SimTime, &[u8])| match Packet::parse(bytes).unwrap() {
        Packet::Points(head, format, data) => {
            let all = pulses(format, data).map(|points| points[..format.returns].to_vec());
            (due, head, format, all.collect())
        }
        Packet::Inertial(..) => panic!("a sample at the port of points"),
    };
    datagrams(sent, PortIndex::DATA).into_iter().map(read).collect()
}

/// Sends a command from `peer`; returns the data of the answer, if any. Other output of the unit stays queued.
fn ask_as(unit: &mut LivoxFirst, peer: Peer, id: (u8, u8), data: &[u8]) -> Option<Vec<u8>> {
    let (now, kind) = (unit.now, Kind::Command);
    let request = Frame { kind, sequence: 9, id, data: data.to_vec() };
    unit.handle_peer_input(now, peer, &request.to_bytes());
    let mut answers = Vec::new();
    let mut others = Vec::new();
    while let Some(transmit) = unit.poll_transmit() {
        match transmit.output {
            Output::BytesTo(to, bytes) => {
                assert!(to == peer && transmit.due.0 > now.0);
                answers.push(Frame::parse(&bytes).unwrap());
            }
            _ => others.push(transmit),
        }
    }
    unit.backlog.ready.extend(others);
    assert!(answers.len() <= 1);
    let answer = answers.pop()?;
    assert_eq!((answer.kind, answer.sequence, answer.id), (Kind::Answer, 9, id));
    unit.busy_until = SimTime::ZERO;
    Some(answer.data)
}

fn ask(unit: &mut LivoxFirst, id: (u8, u8), data: &[u8]) -> Vec<u8> {
    ask_as(unit, HOST, id, data).unwrap_or_else(|| panic!("no answer to {id:?}"))
}

fn handshake() -> Vec<u8> {
    let (data_port, command_port, imu_port) = (60_001, 50_001, 40_001);
    Handshake { ip: [127, 0, 0, 1], data_port, command_port, imu_port }.to_bytes()
}

fn connect(unit: &mut LivoxFirst) {
    assert_eq!(ask(unit, id::HANDSHAKE, &handshake()), [ret::DONE]);
}

fn heartbeat(unit: &mut LivoxFirst) -> Heartbeat {
    Heartbeat::parse(&ask(unit, id::HEARTBEAT, &[])).unwrap()
}

/// A unit whose host has requested points.
fn sampling(name: &str, change: impl FnOnce(&mut FirstSettings)) -> LivoxFirst {
    let mut unit = unit(name, change);
    connect(&mut unit);
    assert_eq!(ask(&mut unit, id::SAMPLE, &[1]), [ret::DONE]);
    unit
}

#[test]
fn a_unit_broadcasts_until_a_host_connects_and_again_when_it_has_gone() {
    let mut unit = unit("livox-avia", |_| {});
    let sent = run(&mut unit, 2500 * MS);
    let all = HostAddress { ip: Ipv4Addr::BROADCAST.into(), ports: vec![0, 0, 0, 55_000] };
    assert_eq!(sent[0].output, Output::Host(all));
    let broadcasts = datagrams(&sent, FirstProfile::BROADCAST);
    assert_eq!(broadcasts.len(), 3, "each second");
    assert_eq!(sent.len(), 4, "and nothing else");
    for (number, (_, bytes)) in broadcasts.into_iter().enumerate() {
        let frame = Frame::parse(bytes).unwrap();
        assert_eq!((frame.kind, frame.sequence), (Kind::Message, number as u16));
        let wanted = Broadcast { code: *b"3JEDHB300100121\0", device_type: 7, reserved: [0, 0] };
        assert_eq!(Broadcast::parse(&frame.data).unwrap(), wanted);
    }
    // Before the handshake, other commands are not answered.
    assert_eq!(ask_as(&mut unit, HOST, id::INFORMATION, &[]), None);
    connect(&mut unit);
    let sent = run(&mut unit, 2000 * MS);
    let host = HostAddress { ip: [127, 0, 0, 1].into(), ports: vec![60_001, 40_001, 50_001, 0] };
    assert!(sent.iter().any(|transmit| transmit.output == Output::Host(host.clone())));
    assert!(datagrams(&sent, FirstProfile::BROADCAST).is_empty());
    // Another host is refused; the connected host can connect again.
    assert_eq!(ask_as(&mut unit, OTHER, id::HANDSHAKE, &handshake()), Some(vec![ret::FAILED]));
    assert_eq!(ask_as(&mut unit, OTHER, id::INFORMATION, &[]), None);
    connect(&mut unit);
    assert_eq!(ask(&mut unit, id::INFORMATION, &[]), [0, 11, 10, 0, 0]);
    assert_eq!(ask(&mut unit, id::SAMPLE, &[1]), [ret::DONE]);
    // Heartbeats keep the connection; it is lost five seconds after the last one.
    for _ in 0..8 {
        let sent = run(&mut unit, 1000 * MS);
        assert!(!clouds(&sent).is_empty());
        heartbeat(&mut unit);
    }
    let lost_at = unit.now.0 + 5000 * MS;
    let sent = run(&mut unit, 7000 * MS);
    let last = clouds(&sent).last().map(|(due, ..)| due.0).unwrap();
    assert!(last > lost_at - MS && last < lost_at + MS, "{last} {lost_at}");
    assert_eq!(datagrams(&sent, FirstProfile::BROADCAST).len(), 2);
    assert_eq!(ask_as(&mut unit, HOST, id::INFORMATION, &[]), None);
    // A disconnect takes effect at once; after a new connection, points must be requested again.
    connect(&mut unit);
    assert_eq!(ask(&mut unit, id::DISCONNECT, &[]), [ret::DONE]);
    assert_eq!(datagrams(&run(&mut unit, 1000 * MS), FirstProfile::BROADCAST).len(), 1);
    connect(&mut unit);
    assert!(clouds(&run(&mut unit, 500 * MS)).is_empty());
}

#[test]
fn the_handshake_of_the_makers_sdk_is_an_answer() {
    let mut unit = unit("livox-mid40", |_| {});
    let (kind, id, data) = (Kind::Answer, id::HANDSHAKE, handshake());
    let frame = Frame { kind, sequence: 1, id, data };
    unit.handle_peer_input(SimTime(1), HOST, &frame.to_bytes());
    let answers = std::iter::from_fn(|| unit.poll_transmit());
    let is_answer = |one: &Transmit| matches!(one.output, Output::BytesTo(..));
    assert_eq!(answers.filter(is_answer).count(), 1);
    assert!(unit.is_connected(SimTime(2)));
}

#[test]
fn packets_follow_one_another_as_the_data_sheet_has_it() {
    for (name, step_ns, per_second, number, pulses) in [
        ("livox-mid40", 1_000_000, 1000, 0, 100),
        ("livox-mid70", 1_000_000, 1000, 0, 100),
        ("livox-avia", 400_000, 2500, 2, 96),
        ("livox-horizon", 400_000, 2500, 2, 96),
    ] {
        let mut unit = unit(name, |settings| settings.streams_alone = true);
        let sent = run(&mut unit, 1000 * MS);
        assert!(datagrams(&sent, FirstProfile::BROADCAST).is_empty());
        let clouds = clouds(&sent);
        let in_time = clouds.iter().filter(|(due, ..)| due.0 <= 1000 * MS).count();
        assert_eq!(in_time, per_second, "{name}");
        for (nth, (due, head, format, points)) in clouds.iter().enumerate() {
            assert_eq!(due.0, step_ns * (nth as u64 + 1));
            assert_eq!(head.time_ns(), START_NS + step_ns * nth as u64);
            assert_eq!((head.version, head.slot, head.id), (5, 1, 1));
            // Time type: PTP. Status: PTP messages arrive, and PTP sets the clock.
            assert_eq!((head.time_type, head.status), (1, 1 << 13 | 1 << 14));
            assert_eq!((format.number(), points.len()), (number, pulses));
            for point in points.iter().flatten() {
                let length = DVec3::from_array(point.place.map(f64::from)).length();
                assert!((length - 20_000.0).abs() < 1.0, "the strongest echo");
                let tag = if format.has_tags { 0x20 } else { 0 };
                assert!(point.reflectivity > 150 && point.tag == tag);
            }
        }
        let samples = datagrams(&sent, FirstProfile::IMU);
        let has_imu = unit.profile.imu.is_some();
        assert_eq!(samples.len(), if has_imu { 201 } else { 0 }, "{name}");
        for (nth, (due, bytes)) in samples.into_iter().enumerate() {
            let Packet::Inertial(head, sample) = Packet::parse(bytes).unwrap() else { panic!() };
            assert_eq!(due.0, 5 * MS * nth as u64 + MS);
            assert_eq!(head.time_ns(), START_NS + 5 * MS * nth as u64);
            assert!((sample.acceleration_g[2] - 1.0).abs() < 0.02);
            assert!((sample.gyro_rad_s[2] - 0.5).abs() < 0.02);
        }
    }
}

#[test]
fn formats_and_returns_change_without_a_gap() {
    let mut unit = sampling("livox-avia", |settings| settings.judged_tags = true);
    run(&mut unit, 100 * MS);
    let mut change = |id: (u8, u8), value: u8, wanted: &[(u8, u64)]| {
        let now = unit.now;
        assert_eq!(ask(&mut unit, id, &[value]), [ret::DONE]);
        let sent = run(&mut unit, 100 * MS);
        heartbeat(&mut unit);
        let clouds = clouds(&sent);
        let mut ends: Option<u64> = None;
        for (due, head, format, points) in &clouds {
            let span_ns = points.len() as u64 * 12_500 / 3;
            let begins = head.time_ns() - START_NS;
            assert!(due.0.abs_diff(begins + span_ns) <= 1, "{} {begins} {span_ns}", due.0);
            assert!(ends.is_none_or(|ends| ends.abs_diff(begins) <= 1), "{begins} after {ends:?}");
            ends = Some(begins + span_ns);
            let is_new = begins >= now.0 + REACTION_NS;
            assert_eq!(wanted[1].0 == format.number(), is_new || wanted[0] == wanted[1]);
            let per_packet = if is_new { wanted[1].1 } else { wanted[0].1 };
            assert_eq!(points.len() as u64, per_packet);
            for returns in points {
                let mm = returns.iter().map(|point| match format.coordinates {
                    Coordinates::Cartesian => {
                        DVec3::from_array(point.place.map(f64::from)).length().round() as i32
                    }
                    Coordinates::Spherical => point.place[0],
                });
                // Coordinates are rounded to centimetres.
                let mm: Vec<_> = mm.map(|mm| (mm + 5) / 10 * 10).collect();
                let tags: Vec<_> = returns.iter().map(|point| point.tag).collect();
                // The third return is weak and near the second.
                match format.returns {
                    1 => assert!(
                        mm[0] == 20_000 && tags == [0x22] || mm[0] == 10_000 && tags == [0x10]
                    ),
                    2 => assert!(mm == [10_000, 20_000] && tags == [0x10, 0x22]),
                    _ => assert!(mm == [10_000, 20_000, 20_500] && tags == [0x10, 0x22, 0x3a]),
                }
            }
        }
        assert!(clouds.iter().any(|(_, _, format, _)| format.number() == wanted[1].0));
    };
    change(id::SET_RETURNS, 2, &[(2, 96), (4, 48)]);
    change(id::COORDINATES, 1, &[(4, 48), (5, 48)]);
    change(id::SET_RETURNS, 3, &[(5, 48), (8, 30)]);
    change(id::COORDINATES, 0, &[(8, 30), (7, 30)]);
    change(id::SET_RETURNS, 0, &[(7, 30), (2, 96)]);
    change(id::COORDINATES, 1, &[(2, 96), (3, 96)]);
    assert_eq!(ask(&mut unit, id::GET_RETURNS, &[]), [ret::DONE, 0]);
    assert_eq!(unit.values.returns, ReturnMode::First);
}

#[test]
fn modes_stop_points_and_samples_and_the_motor_takes_its_time() {
    let mut unit = sampling("livox-horizon", |_| {});
    assert!(!clouds(&run(&mut unit, 200 * MS)).is_empty());
    assert_eq!(ask(&mut unit, id::MODE, &[state::STANDBY]), [ret::DONE]);
    run(&mut unit, 50 * MS);
    let sent = run(&mut unit, 200 * MS);
    assert!(clouds(&sent).is_empty() && datagrams(&sent, FirstProfile::IMU).is_empty());
    assert_eq!(heartbeat(&mut unit).state, state::STANDBY);
    assert_eq!(ask(&mut unit, id::MODE, &[state::NORMAL]), [ret::DONE]);
    assert!(!clouds(&run(&mut unit, 100 * MS)).is_empty());
    assert_eq!(ask(&mut unit, id::MODE, &[state::POWER_SAVING]), [ret::DONE]);
    run(&mut unit, 100 * MS);
    assert_eq!(heartbeat(&mut unit).state, state::POWER_SAVING);
    assert_eq!(ask(&mut unit, id::MODE, &[state::NORMAL]), [ret::IN_PROGRESS]);
    run(&mut unit, 2520 * MS);
    let Heartbeat { state, status, .. } = heartbeat(&mut unit);
    assert_eq!((state, status), (state::STARTING, 50), "half of the start is over");
    run(&mut unit, 2500 * MS);
    heartbeat(&mut unit);
    let sent = run(&mut unit, 100 * MS);
    assert!(!clouds(&sent).is_empty(), "it goes on as the host asked");
    assert!(!datagrams(&sent, FirstProfile::IMU).is_empty());
    assert_eq!(ask(&mut unit, id::SET_IMU, &[0]), [ret::DONE]);
    run(&mut unit, 50 * MS);
    let sent = run(&mut unit, 100 * MS);
    assert!(!clouds(&sent).is_empty() && datagrams(&sent, FirstProfile::IMU).is_empty());
    assert_eq!(ask(&mut unit, id::GET_IMU, &[]), [ret::DONE, 0]);
    assert_eq!(ask(&mut unit, id::SAMPLE, &[0]), [ret::DONE]);
    run(&mut unit, 50 * MS);
    assert!(clouds(&run(&mut unit, 100 * MS)).is_empty());
    assert_eq!(ask(&mut unit, id::MODE, &[4]), [ret::FAILED]);
}

#[test]
fn standby_after_power_saving_starts_the_motor() {
    let mut unit = sampling("livox-horizon", |_| {});
    assert_eq!(ask(&mut unit, id::MODE, &[state::POWER_SAVING]), [ret::DONE]);
    run(&mut unit, 100 * MS);
    assert_eq!(ask(&mut unit, id::MODE, &[state::STANDBY]), [ret::IN_PROGRESS]);
    run(&mut unit, 100 * MS);
    assert_eq!(heartbeat(&mut unit).state, state::STARTING);
    // The motor starts for 5 s, whichever mode is asked for meanwhile.
    assert_eq!(ask(&mut unit, id::MODE, &[state::NORMAL]), [ret::IN_PROGRESS]);
    assert!(clouds(&run(&mut unit, 4500 * MS)).is_empty());
    assert_eq!(heartbeat(&mut unit).state, state::STARTING);
    assert!(!clouds(&run(&mut unit, 1000 * MS)).is_empty());
}

#[test]
fn a_restart_takes_its_time_loses_the_host_and_starts_the_clock_again() {
    let mut unit = sampling("livox-avia", |settings| settings.clock.ptp = PtpState::None);
    run(&mut unit, 100 * MS);
    assert_eq!(ask(&mut unit, id::SET_RETURNS, &[2]), [ret::DONE]);
    assert_eq!(ask(&mut unit, id::REBOOT, &[100, 0]), [ret::DONE]);
    // Heartbeats do not keep the connection over a restart.
    heartbeat(&mut unit);
    run(&mut unit, 200 * MS);
    assert_eq!(ask_as(&mut unit, HOST, id::HANDSHAKE, &handshake()), None, "it is off");
    assert!(datagrams(&run(&mut unit, 2800 * MS), FirstProfile::BROADCAST).is_empty());
    assert!(!datagrams(&run(&mut unit, 1000 * MS), FirstProfile::BROADCAST).is_empty());
    connect(&mut unit);
    assert_eq!(heartbeat(&mut unit).state, state::STARTING);
    assert_eq!(ask(&mut unit, id::SAMPLE, &[1]), [ret::DONE]);
    let sent = run(&mut unit, 4600 * MS);
    let (_, head, format, _) = &clouds(&sent)[0];
    assert_eq!((head.time_type, format.number()), (0, 4));
    assert!(head.time_ns().abs_diff(5000 * MS) < MS, "{}", head.time_ns());
    let mut cold = self::unit("livox-avia", |settings| {
        settings.starts_cold = true;
        settings.streams_alone = true;
    });
    assert!(clouds(&run(&mut cold, 7900 * MS)).is_empty());
    assert!(!clouds(&run(&mut cold, 500 * MS)).is_empty());
}

#[test]
fn a_mode_holds_until_a_restart_that_is_to_come_and_does_not_cancel_it() {
    let mut unit = sampling("livox-avia", |_| {});
    assert_eq!(ask(&mut unit, id::REBOOT, &[100, 0]), [ret::DONE]);
    assert_eq!(ask(&mut unit, id::MODE, &[state::STANDBY]), [ret::DONE]);
    run(&mut unit, 50 * MS);
    assert_eq!(heartbeat(&mut unit).state, state::STANDBY);
    run(&mut unit, 100 * MS);
    assert_eq!(ask_as(&mut unit, HOST, id::HANDSHAKE, &handshake()), None, "it is off");
}

#[test]
fn the_earlier_of_two_restarts_counts() {
    for delays in [[300u16, 1000], [1000, 300]] {
        let mut unit = sampling("livox-avia", |settings| settings.clock.ptp = PtpState::None);
        for delay_ms in delays {
            assert_eq!(ask(&mut unit, id::REBOOT, &delay_ms.to_le_bytes()), [ret::DONE]);
        }
        run(&mut unit, 290 * MS);
        heartbeat(&mut unit);
        run(&mut unit, 20 * MS);
        assert_eq!(ask_as(&mut unit, HOST, id::HANDSHAKE, &handshake()), None, "it is off");
        // The unit answers after 3 s and the motor runs after 5 s; the clock restarts from zero.
        run(&mut unit, 3000 * MS);
        connect(&mut unit);
        assert_eq!(ask(&mut unit, id::SAMPLE, &[1]), [ret::DONE]);
        run(&mut unit, 2500 * MS);
        heartbeat(&mut unit);
        let sent = run(&mut unit, 2600 * MS);
        assert!(clouds(&sent)[0].1.time_ns().abs_diff(5000 * MS) < MS);
    }
}

#[test]
fn a_receiver_or_pulses_alone_or_a_host_set_the_clock() {
    let pulse = |unit: &mut LivoxFirst, second: u64| {
        let sent = run(unit, second * 1000 * MS - unit.now.0);
        unit.handle_cable(unit.now, &CableSignal::PulsePerSecond(true));
        heartbeat(unit);
        sent
    };
    let time = [0x1a, 7, 5, 0x0a, 0xd2, 0x02, 0x96, 0x49];
    for by_command in [false, true] {
        let mut unit = sampling("livox-mid40", |settings| settings.clock.ptp = PtpState::None);
        unit.connect_receiver();
        assert_eq!(ask(&mut unit, id::UTC, &time), [ret::FAILED], "no pulse comes");
        let sent = pulse(&mut unit, 1);
        let (_, head, ..) = &clouds(&sent)[5];
        assert_eq!((head.time_type, head.status), (0, 0));
        (2..=4).for_each(|second| drop(pulse(&mut unit, second)));
        let sent = run(&mut unit, 200 * MS);
        let (due, head, ..) = clouds(&sent).pop().unwrap();
        // With pulses alone, the time is nanoseconds since the last pulse.
        assert_eq!((head.time_type, head.status), (4, 1 << 9 | 3 << 14));
        let since = due.0 - MS - 4000 * MS;
        assert!(head.time_ns().abs_diff(since) < 10_000, "{} {since}", head.time_ns());
        let told = if by_command {
            assert_eq!(ask(&mut unit, id::UTC, &time), [ret::DONE]);
            1_783_245_600_000_000_000 + 1_234_567_890_000
        } else {
            let fields = ["102030.00", "A", "", "", "", "", "", "", "050726", "", ""];
            let bytes = RawSentence::new("GPRMC", fields).to_bytes();
            let signal = CableSignal::Bytes(bytes, LineSettings::eight_n_one(9600));
            unit.handle_cable(unit.now, &signal);
            1_783_246_830_000_000_000
        };
        let sent = run(&mut unit, 100 * MS);
        let (due, head, ..) = clouds(&sent).pop().unwrap();
        assert_eq!((head.time_type, head.status), (3, 1 << 9 | 2 << 14));
        let wanted = told / 1_000_000_000 * 1_000_000_000 + (due.0 - MS - 4000 * MS);
        assert!(head.time_ns().abs_diff(wanted) < 100_000, "{} {wanted}", head.time_ns());
        // Without pulses the clock has lost its source.
        heartbeat(&mut unit);
        run(&mut unit, 3000 * MS);
        heartbeat(&mut unit);
        let sent = run(&mut unit, 100 * MS);
        let (_, head, ..) = clouds(&sent).pop().unwrap();
        assert_eq!((head.time_type, head.status), (3, 4 << 14));
    }
}

#[test]
fn a_lost_master_shows_in_the_status() {
    let mut unit = sampling("livox-avia", |settings| settings.clock.own.drift_s_per_day = 86.4);
    let schedule = Schedule { start: SimTime(500 * MS), duration_ns: None, period_ns: None };
    let lost = Timed { fault: 0, schedule, kind: PtpFault::Lost };
    unit.set_faults(&vec![lost].into());
    let sent = run(&mut unit, 1500 * MS);
    let (due, head, ..) = clouds(&sent).pop().unwrap();
    let error_ns = head.time_ns() - START_NS - (due.0 - 400_000);
    assert!(error_ns.abs_diff(1_000_000) < 70_000, "a thousandth of a second: {error_ns}");
    assert_eq!((head.time_type, head.status), (1, 4 << 14));
}

/// Other faults of the master do not count as its loss.
#[test]
fn a_slave_reports_a_lost_master_only_in_holdover() {
    let longer = PtpFault::Asymmetry { longer_ns: 3000 };
    for (kind, synchronised_by) in [(longer, 1), (PtpFault::Lost, 4)] {
        let mut unit = unit("livox-avia", |settings| settings.clock.ptp = PtpState::Virtual);
        let schedule = Schedule { start: SimTime(30_000 * MS), duration_ns: None, period_ns: None };
        unit.set_faults(&vec![Timed { fault: 0, schedule, kind: kind.clone() }].into());
        connect(&mut unit);
        let mut after_s = |seconds| {
            for _ in 0..seconds {
                run(&mut unit, 1000 * MS);
                heartbeat(&mut unit);
            }
            heartbeat(&mut unit).status >> status::SYNCHRONISATION & 7
        };
        assert_eq!([after_s(29), after_s(30)], [1, synchronised_by], "{kind:?}");
    }
}

#[test]
fn an_abnormal_status_is_told_and_an_error_stops_the_points() {
    let mut unit = sampling("livox-mid70", |settings| settings.clock.ptp = PtpState::None);
    let fault = |start, part, level| {
        let schedule =
            Schedule { start: SimTime(start * MS), duration_ns: Some(300 * MS), period_ns: None };
        Timed { fault: 0, schedule, kind: Abnormal { part, level } }
    };
    let faults =
        vec![fault(100, Part::Temperature, Level::Warning), fault(500, Part::Motor, Level::Error)];
    unit.set_faults(&faults.into());
    let sent = run(&mut unit, 1000 * MS);
    let messages: Vec<_> = datagrams(&sent, FirstProfile::STATUS)
        .into_iter()
        .map(|(due, bytes)| {
            let frame = Frame::parse(bytes).unwrap();
            assert_eq!((frame.kind, frame.id), (Kind::Message, id::STATUS));
            (due.0 / MS, u32::from_le_bytes(frame.data.try_into().unwrap()))
        })
        .collect();
    let (warning, error) = (0x4000_0001, 0x8000_0020);
    let wanted =
        [(100, warning), (200, warning), (300, warning), (500, error), (600, error), (700, error)];
    assert_eq!(messages, wanted);
    for (due, head, ..) in clouds(&sent) {
        let begins = due.0 / MS - 1;
        assert!(!(500..800).contains(&begins), "{begins}");
        assert_eq!(head.status, if (100..400).contains(&begins) { warning } else { 0 });
    }
    let mut unit = sampling("livox-mid70", |_| {});
    let faults = vec![fault(0, Part::Firmware, Level::Error)];
    unit.set_faults(&faults.into());
    let Heartbeat { state, status, .. } = heartbeat(&mut unit);
    assert_eq!((state, status & 0x8000_0100), (state::ERROR, 0x8000_0100));
}

#[test]
fn parameters_act_are_read_back_and_reset() {
    let mut unit = sampling("livox-avia", |_| {});
    let set = |unit: &mut LivoxFirst, parameters: &[(u16, Vec<u8>)]| {
        ParameterAnswer::parse(&ask(unit, id::SET_PARAMETERS, &parameters_to_bytes(parameters)))
            .unwrap()
    };
    let get = |unit: &mut LivoxFirst, key: u16| {
        let answer = ask(unit, id::GET_PARAMETERS, &[1, key as u8, 0]);
        assert_eq!(answer[..4], [0; 4]);
        parse_parameters(&answer[4..]).unwrap()
    };
    let all = [(key::SENSITIVITY, vec![1]), (key::PATTERN, vec![1]), (key::SLOT, vec![3])];
    assert_eq!(set(&mut unit, &all).ret, ret::DONE);
    for (key, value) in &all {
        assert_eq!(get(&mut unit, *key), [(*key, value.clone())]);
    }
    // The motor starts again; then the pattern is repetitive.
    run(&mut unit, 30 * MS);
    assert_eq!(heartbeat(&mut unit).state, state::STARTING);
    run(&mut unit, 4900 * MS);
    heartbeat(&mut unit);
    let sent = run(&mut unit, 300 * MS);
    let clouds = clouds(&sent);
    assert_eq!(clouds[0].1.slot, 3);
    for point in clouds.iter().flat_map(|(.., points)| points).flatten() {
        let up = libm::asin(f64::from(point.place[2]) / 20_000.0).to_degrees();
        assert!(up.abs() < 3.5, "{up}");
    }
    // A list with an invalid parameter sets nothing.
    for (key, value, error) in [
        (key::PATTERN, vec![2], key_error::VALUE),
        (key::SLOT, vec![0], key_error::VALUE),
        (key::SLOT, vec![1, 1], key_error::VALUE_LENGTH),
        (4, vec![1], key_error::UNKNOWN),
    ] {
        let answer = set(&mut unit, &[(key::SENSITIVITY, vec![0]), (key, value)]);
        assert_eq!(answer, ParameterAnswer { ret: ret::FAILED, key, error });
    }
    assert_eq!(get(&mut unit, key::SENSITIVITY), [(key::SENSITIVITY, vec![1])]);
    assert_eq!(ask(&mut unit, id::RESET_PARAMETERS, &[1, 1, 1, 0])[0], ret::DONE);
    assert_eq!(get(&mut unit, key::SENSITIVITY), [(key::SENSITIVITY, vec![0])]);
    assert_eq!(get(&mut unit, key::SLOT), [(key::SLOT, vec![3])]);
    assert_eq!(ask(&mut unit, id::RESET_PARAMETERS, &[0, 0, 0, 0])[0], ret::DONE);
    assert_eq!(get(&mut unit, key::SLOT), [(key::SLOT, vec![1])]);
    // Parameters that the driver sends to another model.
    let mut mid40 = sampling("livox-mid40", |_| {});
    let answer = set(&mut mid40, &[(key::SENSITIVITY, vec![1])]);
    let error = key_error::UNKNOWN;
    assert_eq!(answer, ParameterAnswer { ret: ret::FAILED, key: key::SENSITIVITY, error });
}

#[test]
fn what_is_kept_reads_back() {
    let mut unit = sampling("livox-mid40", |_| {});
    let mounting: Vec<u8> = (0..24).collect();
    assert_eq!(ask(&mut unit, id::SET_MOUNTING, &mounting), [ret::DONE]);
    assert_eq!(ask(&mut unit, id::GET_MOUNTING, &[])[1..], mounting);
    let of = |unit: &mut LivoxFirst| {
        let answer = ask(unit, id::GET_ADDRESS, &[]);
        assert_eq!(answer[0], ret::DONE);
        Address::parse(&answer[1..]).unwrap()
    };
    let Address { mode, ip, gateway, .. } = of(&mut unit);
    assert_eq!((mode, ip, gateway), (1, [127, 0, 0, 2], [127, 0, 0, 1]), "the unit's own");
    assert_eq!(ask(&mut unit, id::SET_ADDRESS, &[1, 10, 0, 0, 5]), [ret::DONE]);
    let Address { mode, ip, mask, gateway } = of(&mut unit);
    assert_eq!((mode, ip, mask), (1, [10, 0, 0, 5], [255, 255, 255, 0]));
    assert_eq!(gateway, [10, 0, 0, 1]);
    assert_eq!(ask(&mut unit, id::SET_ADDRESS, &[0]), [ret::DONE]);
    assert_eq!(of(&mut unit).mode, 0);
    assert_eq!(heartbeat(&mut unit).features, 0);
    assert_eq!(ask(&mut unit, id::RAIN_FOG, &[1]), [ret::DONE]);
    assert_eq!(heartbeat(&mut unit).features, 1);
    let mode = unit.modes.last();
    assert!(mode.threshold_factor > 1.0);
}

#[test]
fn every_command_of_the_tables_is_answered_as_they_say() {
    for name in ["livox-mid40", "livox-mid70", "livox-avia", "livox-horizon"] {
        let profile = driver(name);
        let tables = LivoxFirstFamily.commands(profile.data().unwrap());
        for row in &tables[0].rows {
            let (number, request) = (commands::command_of(row.code), bytes_of(row.request));
            for (nth, data) in variants(&request).into_iter().enumerate() {
                let mut unit = sampling(name, |_| {});
                let answer = ask_as(&mut unit, HOST, number, &data);
                if [id::BROADCAST, id::STATUS].contains(&number) {
                    assert_eq!(answer, None);
                    continue;
                }
                let answer = answer.unwrap_or_else(|| panic!("{} {nth}", row.name));
                let is_whole = nth == 0;
                let takes_none = row.request.is_empty();
                // Parameters of other models are refused, and so is the time, because the unit has received no pulse.
                let is_refused = row.conduct == Conduct::Refused
                    || number == id::UTC
                    || [id::SET_PARAMETERS, id::GET_PARAMETERS].contains(&number)
                        && !unit.profile.interface.keys.contains(&key::SENSITIVITY);
                match is_refused {
                    true => assert_eq!(answer[0], ret::FAILED, "{name} {}", row.name),
                    false if is_whole || takes_none => {
                        assert_eq!(answer[0], ret::DONE, "{name} {}", row.name);
                    }
                    // Doubled parameters are a valid list.
                    false if number == id::SET_PARAMETERS && nth == 3 => {}
                    false if number == id::RESET_PARAMETERS && nth == 3 => {}
                    false => assert_ne!(answer[0], ret::DONE, "{name} {} {nth}", row.name),
                }
                run(&mut unit, 5 * MS);
            }
        }
        for row in &tables[1].rows {
            let key: u16 = row.code.parse().unwrap();
            let mut unit = sampling(name, |_| {});
            let data = parameters_to_bytes(&[(key, bytes_of(row.request))]);
            let answer = ask(&mut unit, id::SET_PARAMETERS, &data);
            let is_refused = row.conduct == Conduct::Refused;
            assert_eq!(answer[0], u8::from(is_refused), "{name} {}", row.name);
            assert_eq!(answer[3], if is_refused { key_error::UNKNOWN } else { 0 });
        }
    }
}

#[test]
fn who_asks_too_much_is_not_heard_and_what_is_no_request_neither() {
    let mut unit = unit("livox-avia", |_| {});
    let request = Frame { kind: Kind::Command, sequence: 1, id: id::HANDSHAKE, data: handshake() };
    let answers = |unit: &mut LivoxFirst| {
        let sent: Vec<_> = std::iter::from_fn(|| unit.poll_transmit()).collect();
        sent.iter().filter(|transmit| matches!(transmit.output, Output::BytesTo(..))).count()
    };
    let other = Frame { kind: Kind::Answer, id: id::HEARTBEAT, ..request.clone() };
    let message = Frame { kind: Kind::Message, ..request.clone() };
    for bytes in [&[][..], b"\xaa", &[0xaa; 24], &other.to_bytes(), &message.to_bytes()] {
        unit.handle_peer_input(SimTime(1), HOST, bytes);
    }
    assert_eq!(answers(&mut unit), 0);
    (0..1000).for_each(|_| unit.handle_peer_input(SimTime(2), HOST, &request.to_bytes()));
    assert_eq!(answers(&mut unit), 32);
    let ports = Handshake { ip: [127, 0, 0, 1], data_port: 0, command_port: 1, imu_port: 1 };
    unit.busy_until = SimTime::ZERO;
    assert_eq!(ask(&mut unit, id::HANDSHAKE, &ports.to_bytes()), [ret::FAILED]);
}

#[test]
fn packets_with_any_times_between_them_are_read() {
    let profile = driver("livox-avia");
    let named = Named::new(&profile.name, profile.data::<FirstProfile>().unwrap());
    let mut decoder = decoder::FirstDecoder::new(Some(named), &[]);
    let format = Format::new(Coordinates::Cartesian, false, 1);
    for time_ns in [0, u64::MAX] {
        let mut packet = Head::new(format.number(), 1).to_bytes();
        packet.resize(HEAD_LEN + format.pulses() * format.pulse_len(), 0);
        seal(&mut packet, 0, TimeType::Ptp, time_ns);
        decoder.learn(&packet);
    }
    assert!(decoder.misfits().is_empty());
}

#[test]
fn a_unit_that_waits_for_its_host_can_be_made_to_stream() {
    let profile = driver("livox-avia");
    let profile: &FirstProfile = profile.data().unwrap();
    let streaming = LivoxFirstFamily.streaming(profile, &profile.defaults).unwrap();
    assert!(streaming.streams_alone);
    assert!(LivoxFirstFamily.streaming(profile, &streaming).is_none());
    // When a host connects, the unit stops streaming alone and waits for a request.
    let mut unit = unit("livox-avia", |settings| settings.streams_alone = true);
    assert!(!clouds(&run(&mut unit, 100 * MS)).is_empty());
    connect(&mut unit);
    run(&mut unit, 50 * MS);
    assert!(clouds(&run(&mut unit, 100 * MS)).is_empty());
}
