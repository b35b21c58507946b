use super::*;
use crate::CableSignal;
use crate::families::catalogue;
use crate::frames::Geodetic;
use crate::sensors::imu::InertialTruth;
use crate::spinning::clock_settings::ClockSettings;
use crate::time::Epoch;
use crate::velodyne::profile::VelodyneProfile;
use crate::velodyne::web_settings::ThermalProfile;
use crate::wire::line::LineSettings;
use crate::wire::velodyne::telemetry::{AdcCalibration, Telemetry};
use glam::{DQuat, DVec3};

const SECOND: u64 = 1_000_000_000;

fn driver(name: &str) -> VelodyneProfile {
    let profile = catalogue().profile(name).unwrap_or_else(|faults| panic!("{faults}"));
    profile.data::<VelodyneProfile>().unwrap().clone()
}

fn profile(name: &str) -> (PositionProfile, ClockSettings, ThermalProfile) {
    let VelodyneProfile { position, defaults, thermal, .. } = driver(name);
    (position, defaults.clock, thermal)
}

/// Packets sent until `until` (ns), each with its send time. Time advances in steps of `step_ns`.
fn packets(name: &str, until: u64, step_ns: u64) -> Vec<(SimTime, PositionPacket)> {
    let (profile, clock, thermal) = profile(name);
    let boards = Boards::new(&thermal);
    let clock = DeviceClock::new(&clock, Epoch::new("2026-06-01T12:00:00Z".parse().unwrap()));
    let mut sender = PositionSender::new(&profile, NoiseSource::new(1, name));
    let mut sent = Vec::new();
    for now in (0..=until).step_by(step_ns as usize) {
        sender.advance(SimTime(now), &clock, &boards, None, |transmit| sent.push(transmit));
    }
    let packet = |transmit: Transmit| {
        let Output::Datagram { bytes, .. } = transmit.output else { panic!("another output") };
        (transmit.due, PositionPacket::parse(&bytes).unwrap())
    };
    sent.into_iter().map(packet).collect()
}

#[test]
fn they_come_as_often_and_as_unevenly_as_in_the_capture() {
    let sent = packets("velodyne-vlp16-3.0", 10 * SECOND, 1_000_000);
    // The capture has 145.8 packets per second, at intervals of 1.46 to 10.7 ms.
    assert!((1400..1475).contains(&sent.len()), "{}", sent.len());
    let gaps: Vec<f64> =
        sent.windows(2).map(|pair| (pair[1].0.0 - pair[0].0.0) as f64 / 1e6).collect();
    assert!(gaps.iter().all(|gap| (0.0..=10.76).contains(gap)), "{gaps:?}");
    let short = gaps.iter().filter(|gap| **gap < 5.0).count() as f64 / gaps.len() as f64;
    // In the capture, 21 of 56 intervals are short.
    assert!((0.25..0.5).contains(&short), "{short}");
    for (due, packet) in &sent {
        let made_us = (due.0 - 354_000) as f64 / 1e3 * (1.0 + 5.0 / 86_400.0);
        assert!((f64::from(packet.timestamp_us) - made_us).abs() <= 1.0);
        assert_eq!((packet.pps, packet.nmea()), (0, None));
        let silent = PositionPacket { timestamp_us: packet.timestamp_us, ..Default::default() };
        assert_eq!(*packet, silent);
    }
}

#[test]
fn steps_of_time_change_nothing() {
    let fine = packets("velodyne-vlp32c-3.0", SECOND, 100_000);
    assert!(fine == packets("velodyne-vlp32c-3.0", SECOND, SECOND));
}

#[test]
fn pulse_and_sentence_are_told() {
    let (position, settings, thermal) = profile("velodyne-vlp16-3.0");
    let boards = Boards::new(&thermal);
    let epoch = Epoch::new("2026-06-01T12:00:00Z".parse().unwrap());
    let mut clock = DeviceClock::new(&settings, epoch);
    let text = b"$GPRMC,092725,A,4717.1140,N,00833.9159,E,000.0,000.0,211126,002.9,E*7C\r\n";
    let line = LineSettings::eight_n_one(9600);
    let mut sender = PositionSender::new(&position, NoiseSource::new(1, "x"));
    let mut seen = Vec::new();
    for second in 0..8 {
        let at = SimTime(second * SECOND);
        clock.handle_signal(at, &CableSignal::PulsePerSecond(true));
        clock.handle_signal(SimTime(at.0 + SECOND / 10), &CableSignal::Bytes(text.to_vec(), line));
        let mut sent = Vec::new();
        sender.advance(SimTime(at.0 + SECOND / 2), &clock, &boards, None, |transmit| {
            sent.push(transmit)
        });
        let Some(Transmit { output: Output::Datagram { bytes, .. }, .. }) = sent.pop() else {
            panic!("nothing sent")
        };
        let packet = PositionPacket::parse(&bytes).unwrap();
        assert_eq!(packet.nmea_area[..text.len()], text[..]);
        assert!(packet.nmea_area[text.len()..].iter().all(|byte| *byte == 0));
        seen.push(packet.pps);
    }
    assert_eq!(seen, [1, 1, 1, 1, 1, 2, 2, 2]);
}

#[test]
fn newer_firmware_tells_its_temperatures() {
    let sent = packets("velodyne-vls128-5.2", 2 * SECOND, 100_000_000);
    let (_, last) = sent.last().unwrap();
    let telemetry = Telemetry::parse(&last.telemetry).unwrap();
    assert_eq!(telemetry.calibration, AdcCalibration::PowerOn);
    assert_eq!(telemetry.since_calibration_s, 1);
    assert_eq!(telemetry.calibrated_at_c, last.power_up_temperature);
    assert!(telemetry.top_board_c >= telemetry.calibrated_at_c);
}

#[test]
fn the_base_of_an_hdl32e_feels_the_mount() {
    let mut imu = driver("velodyne-hdl32e-2.2").position_imu.unwrap();
    imu.gyro_std_deg_s = 0.0;
    imu.accel_std_g = 0.0;
    let mut inertial = Inertial::new(&imu, NoiseSource::new(1, "base"));
    let truth = |at, rate_rad_s, force| InertialTruth {
        at: SimTime(at),
        specific_force_m_s2: force,
        angular_rate_rad_s: rate_rad_s,
        magnetic_field_gauss: DVec3::ZERO,
        world_from_sensor: DQuat::IDENTITY,
        velocity_m_s: DVec3::ZERO,
        acceleration_m_s2: DVec3::ZERO,
        position_m: DVec3::ZERO,
        place: Geodetic { latitude_deg: 0.0, longitude_deg: 0.0, altitude_m: 0.0 },
    };
    // A level unit that turns right at 30 degrees/s and accelerates to the right at 0.3 g.
    let g = 9.806_65;
    let force = DVec3::new(0.0, -0.3 * g, g);
    let rate = DVec3::new(0.0, 0.0, -30f64.to_radians());
    inertial.samples.take(&[truth(0, DVec3::ZERO, DVec3::ZERO), truth(10, rate, force)]);
    let words = inertial.words(SimTime(9), 0);
    assert_eq!((words[0].gyro, words[2].acceleration_y), (0x0000, 0x3000));
    let words = inertial.words(SimTime(10), 1);
    // 30 / 0.09766, 1 / 0.001221, 0.3 / 0.001221; 36.9 degrees C are 82 counts, as in the capture.
    let value = crate::wire::velodyne::position::ImuWords::value;
    assert_eq!(words[0].temperature, 0x1052);
    assert_eq!([words[0], words[1]].map(|unit| unit.acceleration_x), [0x2333; 2]);
    assert_eq!([words[1], words[2]].map(|unit| value(unit.acceleration_y)), [-246; 2]);
    assert_eq!([0, 1, 2].map(|unit| value(words[unit].gyro)), [0, 0, -307]);
    assert_eq!([0, 1, 2].map(|unit| words[unit].acceleration_y >> 12), [3; 3]);
}
