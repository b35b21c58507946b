use std::net::{IpAddr, Ipv4Addr};

use super::faults::{Hms, Level};
use super::*;
use crate::REACTION_NS;
use crate::commands::{CommandTable, Conduct, variants};
use crate::config::profile::network::PortIndex;
use crate::config::rig::schedule::Schedule;
use crate::family::Family as _;
use crate::frames::Geodetic;
use crate::livox::profile::{PtpState, TargetState};
use crate::ptp::faults::PtpFault;
use crate::sensors::imu::InertialTruth;
use crate::sensors::{Echoes, Return};
use crate::spinning::clock_settings::ClockReference;
use crate::spinning::testing::{self, datagrams, driver, echoes, epoch};
use crate::wire::line::LineSettings;
use crate::wire::livox::command::{
    Found, Frame, GetAnswer, SetAnswer, asked_to_bytes, id, keys_to_bytes, parse_keys, ret,
};
use crate::wire::livox::data::{DataType, Packet, Point, TimeType, points};
use crate::wire::livox::key::{Destination, Entries, FieldOfView, key, state};
use crate::wire::nmea::RawSentence;
use crate::wire::record::Record as _;

const MS: u64 = 1_000_000;
const PEER: Peer = Peer { connection: 7, port: 1, from: IpAddr::V4(Ipv4Addr::LOCALHOST) };

fn unit(change: impl FnOnce(&mut LivoxSettings)) -> Livox {
    unit_of("livox-mid360", change)
}

fn unit_of(name: &str, change: impl FnOnce(&mut LivoxSettings)) -> Livox {
    let profile = driver(name);
    let Some(driver) = profile.data::<LivoxProfile>() else { panic!("another family") };
    let mut settings = driver.defaults.clone();
    settings.clock.ptp = PtpState::Locked;
    change(&mut settings);
    let ip = IpAddr::from([127, 0, 0, 1]);
    let host = HostAddress { ip, ports: vec![56_301, 56_401, 56_201] };
    Livox::new(driver, &settings, Some(host), NoiseSource::new(1, "mid360"), epoch())
}

/// Motion of a unit that rotates at 0.5 rad/s in place.
pub(super) fn still(at: SimTime) -> InertialTruth {
    InertialTruth {
        at,
        specific_force_m_s2: DVec3::Z * 9.806_65,
        angular_rate_rad_s: DVec3::new(0.0, 0.0, 0.5),
        magnetic_field_gauss: DVec3::ZERO,
        world_from_sensor: glam::DQuat::IDENTITY,
        velocity_m_s: DVec3::ZERO,
        acceleration_m_s2: DVec3::ZERO,
        position_m: DVec3::ZERO,
        place: Geodetic { latitude_deg: 0.0, longitude_deg: 0.0, altitude_m: 0.0 },
    }
}

/// Runs the unit for `for_ns`; returns its output. Of two echoes the farther one is stronger.
fn run(unit: &mut Livox, for_ns: u64) -> Vec<Transmit> {
    let (from, seen) = (unit.now, echoes([0.25, 0.0025], [2.0, 0.005]));
    testing::run(unit, from, [for_ns, 60 * MS], seen, |request| {
        Outcome::Inertial(request.instants().map(still).collect())
    })
}

/// Packets of points with their send times.
fn clouds(
    sent: &[Transmit],
) -> Vec<(SimTime, crate::wire::livox::data::Head, DataType, Vec<Point>)> {
    let read = |(due, bytes): (SimTime, &[u8])| match Packet::parse(bytes).unwrap() {
        Packet::Points(head, kind, data) => (due, head, kind, points(kind, data).collect()),
        Packet::Inertial(..) => panic!("a sample at the port of points"),
    };
    datagrams(sent, PortIndex::DATA).into_iter().map(read).collect()
}

fn ask(unit: &mut Livox, id: u16, data: Vec<u8>) -> Option<Vec<u8>> {
    ask_as(unit, PEER, id, data)
}

/// Sends a request from `peer`; returns the data of the answer, if any. Other output of the unit stays queued.
fn ask_as(unit: &mut Livox, peer: Peer, id: u16, data: Vec<u8>) -> Option<Vec<u8>> {
    let now = unit.now;
    let request = Frame::request(9, id, data);
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
    assert!(answer.is_answer && answer.is_lidars && (answer.sequence, answer.id) == (9, id));
    unit.busy_until = SimTime::ZERO;
    Some(answer.data)
}

fn set(unit: &mut Livox, keys: &[(u16, &[u8])]) -> (u8, u16) {
    let entries = Entries(keys.iter().map(|(key, value)| (*key, value.to_vec())).collect());
    let data = ask(unit, id::SET, keys_to_bytes(&entries)).unwrap();
    let SetAnswer { ret, key } = SetAnswer::parse(&data).unwrap();
    (ret, key)
}

fn get(unit: &mut Livox, key: u16) -> Vec<u8> {
    let data = ask(unit, id::GET, asked_to_bytes(&[key])).unwrap();
    let answer = GetAnswer::parse(&data).unwrap();
    assert_eq!((answer.ret, answer.entries.0.len()), (0, 1), "{key:#x}");
    answer.entries.0[0].1.clone()
}

const DONE: (u8, u16) = (0, 0);

#[test]
fn packets_follow_one_another_as_the_data_sheet_has_it() {
    let mut unit = unit(|_| {});
    let sent = run(&mut unit, 1000 * MS);
    let clouds = clouds(&sent);
    let in_time = clouds.iter().filter(|(due, ..)| due.0 <= 1000 * MS).count();
    assert!((2083..=2084).contains(&in_time), "{in_time}");
    let start = 1_780_315_200_000_000_000;
    for (number, (due, head, kind, points)) in clouds.iter().enumerate() {
        assert_eq!(due.0, 480_000 * (number as u64 + 1));
        assert_eq!(head.time_ns, start + 480_000 * number as u64);
        assert_eq!((head.interval, head.count, head.sequence), (4750, 96, number as u16));
        assert_eq!((head.time_type, *kind), (1, DataType::Cartesian));
        for point in points {
            let length = DVec3::from_array(point.place.map(f64::from)).length();
            assert!((length - 20_000.0).abs() < 1.0, "the strongest echo");
            assert!(point.reflectivity > 150 && point.tag == 0);
        }
    }
    let samples = datagrams(&sent, LivoxProfile::IMU);
    assert_eq!(samples.len(), 201, "the first and the last instant have one");
    for (number, (due, bytes)) in samples.into_iter().enumerate() {
        let Packet::Inertial(head, sample) = Packet::parse(bytes).unwrap() else { panic!() };
        assert_eq!(due.0, 5 * MS * number as u64 + MS);
        assert_eq!(head.time_ns, start + 5 * MS * number as u64);
        assert!((sample.acceleration_g[2] - 1.0).abs() < 0.02);
        assert!((sample.gyro_rad_s[2] - 0.5).abs() < 0.02);
    }
    let pushes = datagrams(&sent, LivoxProfile::STATE);
    let [(due, push)] = pushes[..] else { panic!("{} pushes", pushes.len()) };
    assert_eq!(due.0, 1000 * MS);
    let keys = parse_keys(&Frame::parse(push).unwrap().data).unwrap();
    assert_eq!(keys.0.len(), 8);
    assert_eq!(keys.0[3], (key::STATE, vec![state::SAMPLING]));
}

#[test]
fn a_hap_has_its_own_ports_keys_rate_and_repetitive_patterns() {
    let mut unit = unit_of("livox-hap", |_| {});
    let found = Found::parse(&ask(&mut unit, id::SEARCH, vec![]).unwrap()).unwrap();
    assert_eq!((found.device_type, found.command_port), (10, 56_000));
    let clouds_of = |unit: &mut Livox, ms| {
        let sent = run(unit, ms * MS);
        let all = clouds(&sent).into_iter();
        all.map(|(due, head, _, points)| (due, head.interval, points)).collect::<Vec<_>>()
    };
    let sent = clouds_of(&mut unit, 1000);
    let in_time = sent.iter().filter(|(due, ..)| due.0 <= 1000 * MS).count();
    assert!((4707..=4709).contains(&in_time), "{in_time}");
    assert!(sent.iter().all(|(_, interval, points)| (*interval, points.len()) == (2101, 96)));
    assert!(sent.iter().flat_map(|(.., points)| points).all(|point| point.place[0] > 0));
    assert_eq!(set(&mut unit, &[(key::FIELDS_ON, &[1])]), (ret::UNKNOWN_KEY, key::FIELDS_ON));
    assert_eq!(set(&mut unit, &[(key::PATTERN, &[3])]), (3, key::PATTERN));
    assert_eq!(set(&mut unit, &[(key::PATTERN, &[1]), (key::BLIND_ZONE, &[100, 0, 0, 0])]), DONE);
    run(&mut unit, 100 * MS);
    assert_eq!(get(&mut unit, key::STATE), [state::STARTING]);
    run(&mut unit, 5000 * MS);
    assert_eq!(get(&mut unit, key::STATE), [state::SAMPLING]);
    // A frame has 470 packets.
    let sent = clouds_of(&mut unit, 300);
    for (one, later) in sent.iter().zip(&sent[470..]) {
        let nearly = |one: &Point, other: &Point| {
            one.place.iter().zip(other.place).all(|(one, other)| one.abs_diff(other) <= 1)
        };
        assert!(one.2.iter().zip(&later.2).all(|(one, later)| nearly(one, later)));
    }
}

#[test]
fn the_makers_sdk_is_answered_as_recorded() {
    let mut unit = unit(|settings| settings.stored_destination = false);
    unit.set_address(Ipv4Addr::new(127, 0, 0, 2));
    assert!(clouds(&run(&mut unit, 100 * MS)).is_empty(), "nobody has asked");
    let found = Found::parse(&ask(&mut unit, id::SEARCH, vec![]).unwrap()).unwrap();
    assert_eq!((found.ret, found.device_type, found.command_port), (0, 9, 56_100));
    assert_eq!((found.ip, &found.serial[..14]), ([127, 0, 0, 2], &b"47MDL8C0010101"[..]));
    assert_eq!(get(&mut unit, key::FIRMWARE_KIND), [1]);
    let to = |ip, port| Destination { ip, port, own_port: 0 }.to_bytes();
    let other = [127, 0, 0, 9];
    let hosts = [
        (key::STATE_HOST, to([127, 0, 0, 1], 56_201)),
        (key::POINT_HOST, to(other, 40_001)),
        (key::IMU_HOST, to([127, 0, 0, 1], 56_401)),
    ];
    let hosts: Vec<_> = hosts.iter().map(|(key, value)| (*key, value.as_slice())).collect();
    let now = unit.now;
    assert_eq!(set(&mut unit, &hosts), DONE);
    let sent = run(&mut unit, 100 * MS);
    let moved: Vec<_> = sent
        .iter()
        .filter_map(|transmit| match &transmit.output {
            Output::Host(host) => Some((transmit.due, host.clone())),
            _ => None,
        })
        .collect();
    // The other destinations are unchanged.
    let host = HostAddress { ip: other.into(), ports: vec![40_001, 0, 0] };
    assert_eq!(moved, [(SimTime(now.0 + REACTION_NS), host)]);
    let first = clouds(&sent)[0].0;
    assert!(first.0 >= now.0 + REACTION_NS && first.0 < now.0 + REACTION_NS + 2 * MS);
    assert_eq!(clouds(&sent)[0].1.sequence, 0);
}

#[test]
fn what_is_set_shows_after_the_reaction_time() {
    let mut unit = unit(|_| {});
    run(&mut unit, 50 * MS);
    let mut change = |keys: &[(u16, &[u8])]| {
        assert_eq!(set(&mut unit, keys), DONE);
        let now = unit.now;
        let sent = run(&mut unit, 200 * MS);
        (now, clouds(&sent))
    };
    for kind in [DataType::Spherical, DataType::Cartesian16] {
        let (now, clouds) = change(&[(key::DATA_TYPE, &[kind.number()])]);
        for (due, _, own, points) in &clouds {
            let begins = due.0 - 480_000;
            if begins >= now.0 + REACTION_NS {
                assert_eq!(*own, kind);
            } else {
                assert_ne!(*own, kind);
            }
            let length = DVec3::from_array(points[0].place.map(f64::from)).length();
            let far_mm = match own {
                DataType::Spherical => f64::from(points[0].place[0]),
                DataType::Cartesian16 => length * 10.0,
                DataType::Cartesian => length,
            };
            assert!((far_mm - 20_000.0).abs() < 10.0, "{far_mm}");
        }
        let numbers: Vec<_> = clouds.iter().map(|(_, head, ..)| head.sequence).collect();
        assert!(numbers.windows(2).all(|pair| pair[1] == pair[0].wrapping_add(1)));
    }
    let (now, clouds) = change(&[(key::NO_POINTS, &[1])]);
    assert!(clouds.iter().all(|(due, ..)| due.0 - 480_000 < now.0 + REACTION_NS));
    let (_, clouds) = change(&[(key::NO_POINTS, &[0]), (key::DATA_TYPE, &[1])]);
    assert!(!clouds.is_empty());
    let field =
        FieldOfView { yaw_start: 270, yaw_stop: 90, pitch_start: 0, pitch_stop: 30, reserved: 0 };
    let (now, clouds) = change(&[(key::FIELD_1, &field.to_bytes()), (key::FIELDS_ON, &[2])]);
    for (.., points) in clouds.iter().filter(|(due, ..)| due.0 - 480_000 >= now.0 + REACTION_NS) {
        for point in points {
            let [x, _, z] = point.place.map(|mm| f64::from(mm) / 20_000.0);
            match point.is_empty(DataType::Cartesian) {
                true => assert_eq!((point.reflectivity, point.tag), (60, 0)),
                false => assert!(x > -0.001 && z > -0.001 && z < 0.5001, "{point:?}"),
            }
        }
    }
    let all = || clouds.iter().flat_map(|(.., points)| points);
    let empty = all().filter(|point| point.is_empty(DataType::Cartesian)).count();
    assert!(empty > 1000 && all().count() - empty > 1000, "{empty} are empty");
}

#[test]
fn states_follow_the_target_and_points_and_samples_the_state() {
    let mut unit = unit(|_| {});
    run(&mut unit, 50 * MS);
    assert_eq!(set(&mut unit, &[(key::TARGET_STATE, &[state::IDLE])]), DONE);
    run(&mut unit, 1100 * MS);
    assert_eq!(get(&mut unit, key::STATE), [state::IDLE]);
    let sent = run(&mut unit, 500 * MS);
    assert!(clouds(&sent).is_empty() && datagrams(&sent, LivoxProfile::IMU).is_empty());
    assert_eq!(set(&mut unit, &[(key::TARGET_STATE, &[state::READY])]), DONE);
    run(&mut unit, 100 * MS);
    assert_eq!(get(&mut unit, key::STATE), [state::STARTING]);
    run(&mut unit, 3000 * MS);
    let sent = run(&mut unit, 500 * MS);
    assert_eq!(get(&mut unit, key::STATE), [state::READY]);
    assert!(clouds(&sent).is_empty() && !datagrams(&sent, LivoxProfile::IMU).is_empty());
    assert_eq!(
        set(&mut unit, &[(key::TARGET_STATE, &[state::SAMPLING]), (key::IMU_ON, &[0])]),
        DONE
    );
    let sent = run(&mut unit, 500 * MS);
    assert!(!clouds(&sent).is_empty());
    assert!(
        datagrams(&sent, LivoxProfile::IMU).iter().all(|(due, _)| due.0 < unit.now.0 - 470 * MS)
    );
}

#[test]
fn a_restart_takes_its_time_and_starts_the_clock_again() {
    let mut unit = unit(|settings| settings.clock.ptp = PtpState::None);
    run(&mut unit, 100 * MS);
    assert_eq!(ask(&mut unit, id::REBOOT, vec![100, 0]), Some(vec![0]));
    run(&mut unit, 200 * MS);
    assert_eq!(ask(&mut unit, id::SEARCH, vec![]), None, "it is off");
    // The unit answers after 3 s, then the self-check takes 2 s and the motor start 3 s.
    run(&mut unit, 3100 * MS);
    assert_eq!(get(&mut unit, key::STATE), [state::SELF_CHECK]);
    run(&mut unit, 2000 * MS);
    assert_eq!(get(&mut unit, key::STATE), [state::STARTING]);
    let sent = run(&mut unit, 3000 * MS);
    let (_, head, ..) = &clouds(&sent)[0];
    assert_eq!(head.time_type, 0);
    assert!(head.time_ns.abs_diff(5_000 * MS) < MS, "{}", head.time_ns);
    assert_eq!(get(&mut unit, key::STARTS), 121u32.to_le_bytes());
    // As in `examples/mid360.toml`, a GNSS receiver outside the rig sets the clock, before and after a restart.
    let mut kept = self::unit(|settings| {
        settings.clock.ptp = PtpState::None;
        settings.clock.own.reference = ClockReference::Utc;
    });
    run(&mut kept, 100 * MS);
    assert_eq!(ask(&mut kept, id::REBOOT, vec![100, 0]), Some(vec![0]));
    let sent = run(&mut kept, 9000 * MS);
    assert!(clouds(&sent).iter().all(|(_, head, ..)| head.time_type == 2));
    let mut cold = self::unit(|settings| settings.starts_cold = true);
    assert!(clouds(&run(&mut cold, 7000 * MS)).is_empty());
    assert!(!clouds(&run(&mut cold, 2000 * MS)).is_empty());
}

#[test]
fn a_change_acts_until_a_restart_that_is_to_come_and_after_it() {
    let mut unit = unit(|_| {});
    assert_eq!(ask(&mut unit, id::REBOOT, vec![0xf4, 1]), Some(vec![0]));
    assert_eq!(set(&mut unit, &[(key::TARGET_STATE, &[state::IDLE])]), DONE);
    run(&mut unit, 100 * MS);
    assert_eq!(get(&mut unit, key::STATE), [state::READY]);
    assert_eq!(get(&mut unit, key::STARTS), 120u32.to_le_bytes());
    assert!(clouds(&run(&mut unit, 300 * MS)).is_empty());
    run(&mut unit, 110 * MS);
    assert_eq!(ask(&mut unit, id::SEARCH, vec![]), None, "it is off");
    run(&mut unit, 6000 * MS);
    assert_eq!(get(&mut unit, key::STATE), [state::IDLE]);
    assert_eq!(get(&mut unit, key::STARTS), 121u32.to_le_bytes());
    // Another pattern restarts the motor; a target state that is set just before the reboot applies after it.
    let mut unit = unit_of("livox-hap", |_| {});
    assert_eq!(ask(&mut unit, id::REBOOT, vec![200, 0]), Some(vec![0]));
    assert_eq!(set(&mut unit, &[(key::PATTERN, &[1])]), DONE);
    run(&mut unit, 190 * MS);
    assert_eq!(get(&mut unit, key::STATE), [state::STARTING]);
    assert_eq!(set(&mut unit, &[(key::TARGET_STATE, &[state::IDLE])]), DONE);
    run(&mut unit, 5 * MS);
    assert_eq!(get(&mut unit, key::STATE), [state::STARTING]);
    run(&mut unit, 20 * MS);
    assert_eq!(ask(&mut unit, id::SEARCH, vec![]), None, "it is off");
    run(&mut unit, 20_000 * MS);
    assert_eq!(get(&mut unit, key::STATE), [state::IDLE]);
}

#[test]
fn the_earlier_of_two_restarts_counts() {
    for delays in [[300u16, 1000], [1000, 300]] {
        let mut unit = unit(|settings| settings.clock.ptp = PtpState::None);
        for delay_ms in delays {
            let data = delay_ms.to_le_bytes().to_vec();
            assert_eq!(ask(&mut unit, id::REBOOT, data), Some(vec![0]));
        }
        run(&mut unit, 290 * MS);
        assert!(ask(&mut unit, id::SEARCH, vec![]).is_some());
        run(&mut unit, 20 * MS);
        assert_eq!(ask(&mut unit, id::SEARCH, vec![]), None, "it is off");
        // The unit answers after 3 s; its clock counts from then.
        run(&mut unit, 3090 * MS);
        assert_eq!(get(&mut unit, key::STARTS), 121u32.to_le_bytes());
        let time_ns = u64::from_le_bytes(get(&mut unit, key::TIME).try_into().unwrap());
        assert!(time_ns.abs_diff(100 * MS) < MS, "{time_ns}");
    }
}

#[test]
fn a_factory_reset_wants_the_units_own_serial_number() {
    let mut unit = unit(|_| {});
    unit.set_address(Ipv4Addr::new(127, 0, 0, 2));
    let network = [127u8, 0, 0, 2, 255, 255, 255, 0, 127, 0, 0, 1];
    assert_eq!(get(&mut unit, key::NETWORK), network);
    let other = [127u8, 0, 0, 3, 255, 0, 0, 0, 127, 0, 0, 9];
    let set_address = (ret::AFTER_REBOOT, key::NETWORK);
    assert_eq!(set(&mut unit, &[(key::DATA_TYPE, &[3]), (key::NETWORK, &other)]), set_address);
    assert_eq!(ask(&mut unit, id::RESET, vec![0; 16]), Some(vec![ret::FAILED]));
    let short = b"47MDL8C0010101\0".to_vec();
    assert_eq!(ask(&mut unit, id::RESET, short), Some(vec![ret::WRONG_LENGTH]));
    // The maker's SDK sends two bytes that it does not set.
    for end in [[0x12, 0x7f], [0, 0x7f], [0, 0]] {
        let serial = [&b"47MDL8C0010101"[..], &end].concat();
        assert_eq!(ask(&mut unit, id::RESET, serial), Some(vec![ret::DONE]));
    }
    run(&mut unit, 4000 * MS);
    assert_eq!(get(&mut unit, key::DATA_TYPE), [1]);
    assert_eq!(get(&mut unit, key::NETWORK), network);
}

#[test]
fn the_port_for_searches_takes_commands_of_a_hap_only() {
    let searcher = Peer { port: 0, ..PEER };
    for (name, takes_all) in [("livox-mid360", false), ("livox-hap", true)] {
        let mut unit = unit_of(name, |_| {});
        assert!(ask_as(&mut unit, searcher, id::SEARCH, vec![]).is_some(), "{name}");
        let entries = Entries(vec![(key::TARGET_STATE, vec![state::IDLE])]);
        for (id, data) in [
            (id::GET, asked_to_bytes(&[key::STATE])),
            (id::SET, keys_to_bytes(&entries)),
            (id::REBOOT, vec![0, 0]),
        ] {
            let answer = ask_as(&mut unit, searcher, id, data);
            assert_eq!(answer.is_some(), takes_all, "{name} {id:#x}");
        }
        assert_eq!(unit.values.target() == state::IDLE, takes_all);
        assert_eq!(unit.clock.goes_down_at().is_some(), takes_all);
    }
}

#[test]
fn a_receiver_sets_the_clock_by_its_cable_or_a_host_by_the_command() {
    let pulse = |unit: &mut Livox, second: u64| {
        run(unit, second * 1000 * MS - unit.now.0);
        unit.handle_cable(unit.now, &CableSignal::PulsePerSecond(true));
    };
    for by_command in [false, true] {
        let mut unit = unit(|settings| settings.clock.ptp = PtpState::None);
        unit.connect_receiver();
        let time = [2, 0, 0xcc, 0xfd, 0x38, 0x8b, 0x5d, 0xbf, 0x18].to_vec();
        assert_eq!(ask(&mut unit, id::GPS_TIME, time.clone()), Some(vec![ret::NOT_ALLOWED]));
        (1..=4).for_each(|second| pulse(&mut unit, second));
        run(&mut unit, 200 * MS);
        if by_command {
            assert_eq!(ask(&mut unit, id::GPS_TIME, time), Some(vec![ret::DONE]));
        } else {
            let fields = ["101", "A", "", "", "", "", "", "", "050726", "", ""];
            let fields = fields.map(|field| if field == "101" { "102030.00" } else { field });
            let bytes = RawSentence::new("GPRMC", fields).to_bytes();
            let signal = CableSignal::Bytes(bytes, LineSettings::eight_n_one(9600));
            unit.handle_cable(unit.now, &signal);
        }
        let sent = run(&mut unit, 100 * MS);
        let (due, head, ..) = clouds(&sent).pop().unwrap();
        assert_eq!(head.time_type, TimeType::Gps.number());
        assert_eq!(get(&mut unit, key::SYNCHRONISATION), [2]);
        // 2026-07-05T10:20:30Z, at the last pulse.
        let passed = due.0 - 480_000 - 4000 * MS;
        let (told, shown) = (1_783_246_830_000_000_000 + passed, head.time_ns);
        assert!(told.abs_diff(shown) < 100_000, "{told} {shown}");
    }
}

#[test]
fn the_last_synchronisation_stays_when_its_source_is_lost() {
    const START_NS: u64 = 1_780_315_200_560_000_000;
    const SECOND_NS: u64 = 1000 * MS;
    let profile = driver("livox-mid360");
    let profile: &LivoxProfile = profile.data().unwrap();
    let clock = |ptp, reference| {
        let mut settings = profile.defaults.clock.clone();
        settings.ptp = ptp;
        settings.own.reference = reference;
        let start = Epoch::new("2026-06-01T12:00:00.56Z".parse().unwrap());
        LivoxClock::new(&settings, start, identity_of([0; 6]), NoiseSource::new(1, "mid360"))
    };
    let seen = |clock: &LivoxClock, ms: u64| clock.synchronised(SimTime(ms * MS)).0;
    let mut locked = clock(PtpState::Locked, ClockReference::FreeRunning);
    let schedule = Schedule { start: SimTime(3500 * MS), duration_ns: None, period_ns: None };
    locked.set_faults(vec![Timed { fault: 0, schedule, kind: PtpFault::Lost }]);
    let told = [2900, 3100, 9000].map(|ms| seen(&locked, ms) - START_NS);
    assert_eq!(told, [2, 3, 3].map(|seconds| seconds * SECOND_NS));
    let utc = clock(PtpState::None, ClockReference::Utc);
    let told = [1400, 1500].map(|ms| seen(&utc, ms) + 560 * MS - START_NS);
    assert_eq!(told, [1, 2].map(|seconds| seconds * SECOND_NS));
    // The receiver's cable breaks after the pulse at 5 s.
    let mut wired = clock(PtpState::None, ClockReference::FreeRunning);
    let pulse = |clock: &mut LivoxClock, second: u64| {
        clock.handle_signal(SimTime(second * SECOND_NS), &CableSignal::PulsePerSecond(true));
    };
    (1..=4).for_each(|second| pulse(&mut wired, second));
    assert_eq!(seen(&wired, 4100), 0);
    let fields = ["102030.00", "A", "", "", "", "", "", "", "050726", "", ""];
    let bytes = RawSentence::new("GPRMC", fields).to_bytes();
    let signal = CableSignal::Bytes(bytes, LineSettings::eight_n_one(9600));
    wired.handle_signal(SimTime(4200 * MS), &signal);
    // 2026-07-05T10:20:30Z, the time of the pulse at 4 s.
    assert_eq!(seen(&wired, 4300), 1_783_246_830 * SECOND_NS);
    pulse(&mut wired, 5);
    assert_eq!([5000, 5900, 60_000].map(|ms| seen(&wired, ms)), [1_783_246_831 * SECOND_NS; 3]);
}

#[test]
fn a_lost_master_leaves_the_time_type_and_lets_the_clock_drift() {
    let mut unit = unit(|settings| settings.clock.own.drift_s_per_day = 86.4);
    let schedule = Schedule { start: SimTime(500 * MS), duration_ns: None, period_ns: None };
    let lost = Timed { fault: 0, schedule, kind: PtpFault::Lost };
    unit.set_faults(&vec![lost].into());
    let sent = run(&mut unit, 1500 * MS);
    let clouds = clouds(&sent);
    let (due, head, ..) = clouds.iter().rev().find(|(due, ..)| due.0 <= 1500 * MS).unwrap();
    let error_ns = head.time_ns - 1_780_315_200_000_000_000 - (due.0 - 480_000);
    assert!(error_ns.abs_diff(1_000_000) < 3000, "a thousandth of a second: {error_ns}");
    assert_eq!(head.time_type, 1);
}

#[test]
fn health_codes_show_and_errors_stop_the_points() {
    let mut unit = unit(|_| {});
    let fault = |start, id, level| {
        let schedule =
            Schedule { start: SimTime(start * MS), duration_ns: Some(300 * MS), period_ns: None };
        Timed { fault: 0, schedule, kind: Hms { id, level } }
    };
    let faults = vec![fault(100, 0x0102, Level::Warning), fault(500, 0x0210, Level::Error)];
    unit.set_faults(&faults.into());
    run(&mut unit, 200 * MS);
    assert_eq!(get(&mut unit, key::HMS)[..4], [2, 0, 2, 1]);
    assert_eq!(get(&mut unit, key::DIAGNOSIS), [1, 0]);
    run(&mut unit, 300 * MS);
    let sent = run(&mut unit, 200 * MS);
    assert!(clouds(&sent).iter().all(|(due, ..)| due.0 < 501 * MS || due.0 > 800 * MS));
    assert_eq!(get(&mut unit, key::STATE), [state::ERROR]);
    assert_eq!(get(&mut unit, key::DIAGNOSIS), [0x20, 0]);
    run(&mut unit, 200 * MS);
    assert_eq!(get(&mut unit, key::STATE), [state::SAMPLING]);
    assert!(!clouds(&run(&mut unit, 100 * MS)).is_empty());
}

#[test]
fn tags_are_judged_if_asked_for() {
    let tag = |first_m: f32, second_m: f32, rule| {
        let settings = driver("livox-mid360");
        let profile: &LivoxProfile = settings.data().unwrap();
        let maker = PointMaker::new(profile.points, profile::EchoChoice::First, rule, 0.001);
        let mut echoes = Echoes::default();
        echoes.push(Return { range_m: first_m, intensity: 0.1, signal: 0.0015 });
        echoes.push(Return { range_m: second_m, intensity: 0.1, signal: 0.01 });
        let mode = Values::of(
            profile,
            &profile.defaults,
            &HostAddress { ip: [0, 0, 0, 0].into(), ports: vec![] },
        );
        let mode = mode.mode(profile, true);
        let (bytes, _) = maker.packet(&mode, &[DVec3::X], &[echoes], 0, 0);
        bytes[crate::wire::livox::data::HEAD_LEN + 13]
    };
    assert_eq!(tag(5.0, 5.7, profile::TagRule::Zero), 0);
    assert_eq!(tag(5.0, 5.7, profile::TagRule::Judged), 0x11);
    assert_eq!(tag(5.0, 9.0, profile::TagRule::Judged), 0x10);
}

/// Parses the bytes of an example in a command table.
pub(super) fn bytes_of(hex: &str) -> Vec<u8> {
    hex.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
}

fn number_of(code: &str) -> u16 {
    u16::from_str_radix(code.trim_start_matches("0x"), 16).unwrap()
}

fn tables() -> [CommandTable; 2] {
    let profile = driver("livox-mid360");
    let tables = LivoxFamily.commands(profile.data().unwrap());
    tables.try_into().unwrap()
}

#[test]
fn every_command_of_the_table_is_answered_as_it_says() {
    let [commands, _] = tables();
    for row in &commands.rows {
        let (number, request) = (number_of(row.code), bytes_of(row.request));
        for (nth, data) in variants(&request).into_iter().enumerate() {
            let mut unit = unit(|_| {});
            let answer = ask(&mut unit, number, data);
            if number == id::PUSH {
                assert_eq!(answer, None);
                continue;
            }
            let answer = answer.unwrap_or_else(|| panic!("{} {nth}", row.name));
            let is_whole = nth == 0;
            match row.conduct {
                Conduct::NotMade => assert_eq!(answer[0], ret::FAILED, "{}", row.name),
                // The unit has received no pulse.
                _ if number == id::GPS_TIME && is_whole => assert_eq!(answer[0], ret::NOT_ALLOWED),
                _ if is_whole || number == id::SEARCH => assert_eq!(answer[0], 0, "{}", row.name),
                _ => assert_ne!(answer[0], 0, "{} {nth}", row.name),
            }
            run(&mut unit, 30 * MS);
        }
    }
}

#[test]
fn every_key_of_the_table_is_set_and_read_back_as_it_says() {
    let [_, keys] = tables();
    let profile = driver("livox-mid360");
    let profile: &LivoxProfile = profile.data().unwrap();
    let known: Vec<_> = keys.rows.iter().map(|row| number_of(row.code)).collect();
    assert!(profile.interface.keys.iter().all(|key| known.contains(key)));
    for row in &keys.rows {
        let (key, value) = (number_of(row.code), bytes_of(row.request));
        let mut unit = unit(|_| {});
        let answer = set(&mut unit, &[(key, &value)]);
        if row.conduct == Conduct::Refused {
            assert_eq!(answer, (ret::UNKNOWN_KEY, key));
            let asked = ask(&mut unit, id::GET, asked_to_bytes(&[key])).unwrap();
            assert_eq!(asked, [ret::UNKNOWN_KEY, 0, 0]);
            continue;
        }
        if row.request.is_empty() {
            assert_eq!(answer, (ret::READ_ONLY, key), "{}", row.name);
            let _ = get(&mut unit, key);
            continue;
        }
        let told = if key == key::NETWORK { (ret::AFTER_REBOOT, key) } else { DONE };
        assert_eq!(answer, told, "{}", row.name);
        assert_eq!(get(&mut unit, key), value, "{}", row.name);
        for other in &variants(&value)[1..] {
            assert_eq!(set(&mut unit, &[(key, other)]), (ret::WRONG_LENGTH, key), "{}", row.name);
        }
        run(&mut unit, 30 * MS);
    }
}

#[test]
fn values_out_of_their_ranges_are_refused_and_nothing_is_set_of_a_list_with_one() {
    let mut unit = unit(|_| {});
    let field = |yaw_start, yaw_stop, pitch_start, pitch_stop| {
        FieldOfView { yaw_start, yaw_stop, pitch_start, pitch_stop, reserved: 0 }.to_bytes()
    };
    for (key, value) in [
        (key::DATA_TYPE, vec![0]),
        (key::DATA_TYPE, vec![4]),
        (key::PATTERN, vec![1]),
        (key::TARGET_STATE, vec![3]),
        (key::FIELDS_ON, vec![4]),
        (key::IMU_ON, vec![2]),
        (key::FIELD_0, field(0, 360, 0, 0)),
        (key::FIELD_1, field(0, 10, 5, 4)),
        (key::FIELD_1, field(0, 10, -11, 4)),
        (key::POINT_HOST, vec![127, 0, 0, 1, 0, 0, 1, 1]),
        (key::FUNCTION_PINS, vec![0, 1, 0, 0]),
        (key::FUNCTION_PINS, vec![0, 0, 0, 3]),
    ] {
        let before = unit.values.clone();
        assert_eq!(
            set(&mut unit, &[(key::DETECTION, &[1]), (key, &value)]),
            (ret::OUT_OF_RANGE, key)
        );
        assert_eq!(unit.values, before);
    }
    assert_eq!(ask(&mut unit, id::SET, vec![2, 0, 0, 0]), Some(vec![ret::WRONG_COUNT, 0, 0]));
}

#[test]
fn who_asks_too_much_is_not_heard_and_what_is_no_request_neither() {
    let mut unit = unit(|_| {});
    let search = Frame::request(1, id::SEARCH, vec![]);
    let answers = |unit: &mut Livox| {
        let sent: Vec<_> = std::iter::from_fn(|| unit.poll_transmit()).collect();
        sent.iter().filter(|transmit| matches!(transmit.output, Output::BytesTo(..))).count()
    };
    for bytes in [&[][..], b"\xaa", &[0xaa; 24], &search.answer(vec![0; 24]).to_bytes()] {
        unit.handle_peer_input(SimTime(1), PEER, bytes);
    }
    assert_eq!(answers(&mut unit), 0);
    (0..1000).for_each(|_| unit.handle_peer_input(SimTime(2), PEER, &search.to_bytes()));
    assert_eq!(answers(&mut unit), 32);
}

#[test]
fn a_unit_that_waits_for_its_host_can_be_made_to_stream() {
    let profile = driver("livox-mid360");
    let profile: &LivoxProfile = profile.data().unwrap();
    assert!(LivoxFamily.streaming(profile, &profile.defaults).is_none());
    let idle = LivoxSettings { target_state: TargetState::Idle, ..profile.defaults.clone() };
    let streaming = LivoxFamily.streaming(profile, &idle).unwrap();
    assert_eq!(streaming.target_state, TargetState::Sampling);
}
