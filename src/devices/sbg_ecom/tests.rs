//! Checks every command of an Ellipse against the command table.

use glam::DVec3;

use super::answers::SBG_SETTINGS;
use crate::commands::{Conduct, constants_hold, variants};
use crate::frames::{GeoOrigin, Geodetic};
use crate::imu::tests::{Bench, Proof, hex, rows as table, shaken, truth};
use crate::sensors::imu::InertialTruth;
use crate::time::SimTime;
use crate::wire::framer::Framer;
use crate::wire::sbg_ecom::{Frame, Log, SbgEcom, class, code, command, log};

fn frames(bench: &Bench) -> Vec<Frame> {
    Framer::new(SbgEcom).frames(&bench.bytes())
}

/// Sends a command; returns the answer within 20 ms.
fn ask(bench: &mut Bench, message: u8, data: &[u8]) -> Frame {
    let mut bytes = Vec::new();
    Frame { message, class: class::COMMAND, data: data.to_vec() }.emit(&mut bytes);
    bench.sent.clear();
    bench.say(&bytes);
    bench.run(20);
    let mut answers = frames(bench).into_iter().filter(|f| f.class == class::COMMAND);
    answers.next().expect("an answer")
}

fn stream(bench: &mut Bench, ms: u64) -> Vec<Frame> {
    bench.sent.clear();
    bench.run(ms);
    frames(bench).into_iter().filter(|f| f.class == class::LOG).collect()
}

/// A unit that sends all logs at 5 Hz, at a sufficient baud rate.
fn unit() -> Bench {
    let mut bench = Bench::new("sbg-ellipse2d", |_, s| {
        s.model.navigation.position_std_m = 0.5;
        s.model.attitude.heading_std_rad = 0.001;
    });
    bench.truth = shaken;
    bench.run(50);
    for (_, id) in super::MESSAGES {
        let answer = ask(&mut bench, command::OUTPUT_CONF, &[0, id, 0, 40, 0]);
        assert_eq!(answer, Frame::ack(command::OUTPUT_CONF, code::NO_ERROR));
    }
    bench
}

fn last(stream: &[Frame], message: u8) -> Log {
    let frame = stream.iter().rfind(|f| f.message == message).expect("the log");
    Log::parse(frame).unwrap().unwrap()
}

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_le_bytes()).collect()
}

fn alignment(x: u8, y: u8, misalignment: [f32; 3]) -> Vec<u8> {
    [&[x, y][..], &floats(&misalignment), &floats(&[0.0; 3])].concat()
}

fn installation(arm: [f32; 3]) -> Vec<u8> {
    [&floats(&arm)[..], &[1], &floats(&[1.0, 0.0, 0.0]), &[1]].concat()
}

fn rows() -> Vec<(u8, Vec<u8>, Proof)> {
    use Proof::{Answer, Line, StoredOnly, Stream};
    vec![
        (command::SETTINGS_ACTION, vec![2], Stream),
        (command::INFO, vec![], Answer),
        (command::OUTPUT_CONF, vec![0, log::MAG, 0, 0, 0], Stream),
        (command::OUTPUT_CLASS_ENABLE, vec![0, 0, 0], Stream),
        (command::UART_CONF, vec![0, 0, 0x84, 0x03, 0, 1], Line),
        (command::IMU_ALIGNMENT_LEVER_ARM, alignment(3, 1, [0.0; 3]), Stream),
        (command::MAGNETOMETER_REJECT_MODE, vec![0], Stream),
        (
            command::SET_MAG_CALIB,
            floats(&[0.1, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]),
            Stream,
        ),
        (command::GNSS_1_LEVER_ARM_ALIGNMENT, floats(&[1.0, 2.0, 3.0, 0.0, 0.5, 1.0]), Stream),
        (command::GNSS_1_REJECT_MODES, vec![0, 1, 0, 1], Stream),
        (command::GNSS_1_INSTALLATION, installation([1.0, 2.0, 3.0]), Stream),
        (command::VALIDITY_THRESHOLDS, floats(&[0.1, 0.1, 0.1, 0.1]), Stream),
        (command::INIT_PARAMETERS, vec![1; 28], StoredOnly),
        (command::MOTION_PROFILE_ID, vec![2, 0, 0, 0], StoredOnly),
        (command::AIDING_ASSIGNMENT, vec![1; 11], StoredOnly),
        (command::MAGNETOMETER_MODEL_ID, vec![202, 0, 0, 0], StoredOnly),
        (command::GNSS_1_MODEL_ID, vec![102, 0, 0, 0], StoredOnly),
        (command::ODO_CONF, [&floats(&[100.0])[..], &[5, 1]].concat(), StoredOnly),
        (command::ODO_LEVER_ARM, floats(&[1.0, 2.0, 3.0]), StoredOnly),
        (command::ODO_REJECT_MODE, vec![2], StoredOnly),
        (command::SYNC_IN_CONF, vec![1, 2, 5, 0, 0, 0], StoredOnly),
        (command::SYNC_OUT_CONF, vec![0, 0, 1, 0, 1, 9, 0, 0, 0], StoredOnly),
        (command::ADVANCED_CONF, vec![1, 0, 0, 0, 0, 2, 0, 0, 0], StoredOnly),
    ]
}

#[test]
fn every_command_has_its_effect_or_is_kept() {
    for ((_, id, _), _) in SBG_SETTINGS {
        assert!(rows().iter().any(|(row, ..)| *row == id), "{id} has no row");
    }
    for (id, data, proof) in rows() {
        let [with, without] = [true, false].map(|is_said| {
            let mut bench = unit();
            let answer = if is_said { Some(ask(&mut bench, id, &data)) } else { None };
            if !is_said {
                bench.run(20);
            }
            let baud = bench.baud();
            let said = stream(&mut bench, 1500);
            (bench, answer, (baud, said))
        });
        let (mut bench, answer, sent) = with;
        let answer = answer.unwrap();
        match proof {
            Proof::Answer => assert_eq!(answer.message, id),
            _ => assert_eq!(answer, Frame::ack(id, code::NO_ERROR), "{id}"),
        }
        proof.check(["sbg-ellipse2d", &id.to_string()], &sent, &without.2);
        if SBG_SETTINGS.iter().any(|((_, known, _), _)| *known == id) {
            let has_pin = matches!(id, command::SYNC_IN_CONF | command::SYNC_OUT_CONF);
            let question = if has_pin { &data[..1] } else { &[][..] };
            assert_eq!(ask(&mut bench, id, question).data, data, "{id}");
        }
    }
}

#[test]
fn what_is_not_possible_is_refused() {
    let mut bench = unit();
    for (id, data, error) in [
        // Invalid: both axes forward; unknown rejection mode; unknown pin; a log of other products; a command of later
        // firmware.
        (command::IMU_ALIGNMENT_LEVER_ARM, alignment(0, 1, [0.0; 3]), code::INVALID_PARAMETER),
        (command::GNSS_1_REJECT_MODES, vec![3, 1, 0, 1], code::INVALID_PARAMETER),
        (command::SYNC_IN_CONF, vec![2, 2, 5, 0, 0, 0], code::INVALID_PARAMETER),
        (command::OUTPUT_CONF, vec![0, 47, 0, 40, 0], code::INVALID_PARAMETER),
        (command::OUTPUT_CONF, vec![2, 4, 0, 40, 0], code::INVALID_PARAMETER),
        (command::ODO_CONF, vec![0; 5], code::INVALID_FRAME),
        (command::START_MAG_CALIB, vec![3, 2], code::INVALID_PARAMETER),
        (command::CAN_OUTPUT_CONF, vec![0, 0], code::INVALID_PARAMETER),
        (48, vec![0; 4], code::INVALID_PARAMETER),
    ] {
        assert_eq!(ask(&mut bench, id, &data), Frame::ack(id, error), "{id} {data:?}");
    }
}

#[test]
fn the_receiver_tells_the_antennas_place_and_the_axes_are_the_vehicles() {
    let mut bench = unit();
    bench.truth = truth;
    bench.run(300);
    // Lever arm: three metres forward, two right, one up. The log is sent with new data, at the receiver's rate.
    ask(&mut bench, command::GNSS_1_INSTALLATION, &installation([3.0, 2.0, -1.0]));
    for id in [log::GPS1_POS, log::GPS1_VEL, log::GPS1_HDT] {
        let [low, high] = 10_001u16.to_le_bytes();
        ask(&mut bench, command::OUTPUT_CONF, &[0, id, 0, low, high]);
    }
    let said = stream(&mut bench, 2000);
    let count = said.iter().filter(|f| f.message == log::GPS1_POS).count();
    assert_eq!(count, 10, "5 Hz");
    let Log::Gps1Pos(pos) = last(&said, log::GPS1_POS) else { panic!() };
    let height_m = pos.altitude_m + f64::from(pos.undulation_m);
    assert!(pos.undulation_m < -25.0, "{pos:?}");
    let unit_place = Geodetic { latitude_deg: 33.0, longitude_deg: -88.0, altitude_m: 100.0 };
    let at = Geodetic {
        latitude_deg: pos.latitude_deg,
        longitude_deg: pos.longitude_deg,
        altitude_m: height_m,
    };
    let world = GeoOrigin::new(unit_place).world_from_geodetic(at);
    // The robot heads 60 degrees: forward is (sin 60, cos 60), right is (cos 60, -sin 60), east and north.
    let (sin, cos) = libm::sincos(60f64.to_radians());
    let wanted = DVec3::new(3.0 * sin + 2.0 * cos, 3.0 * cos - 2.0 * sin, 1.0);
    // The position error of the unit (standard deviation 0.5 m) stays below the limit of 4 m.
    assert!((world - wanted).length() < 4.0, "{world} {wanted}");
    let Log::Gps1Hdt(hdt) = last(&said, log::GPS1_HDT) else { panic!() };
    assert!((hdt.heading_deg - 60.0).abs() < 1.0, "{hdt:?}");
    let Log::Gps1Vel(vel) = last(&said, log::GPS1_VEL) else { panic!() };
    // The robot moves east at 1 m/s.
    assert!((vel.course_deg - 90.0).abs() < 1e-3 && (vel.velocity_ned_m_s[1] - 1.0).abs() < 1e-5);

    // The sensor's x axis points right, its y axis backward.
    let Log::ImuData(before) = last(&said, log::IMU_DATA) else { panic!() };
    ask(&mut bench, command::IMU_ALIGNMENT_LEVER_ARM, &alignment(3, 1, [0.0; 3]));
    bench.run(300);
    let said = stream(&mut bench, 500);
    let Log::ImuData(after) = last(&said, log::IMU_DATA) else { panic!() };
    let [x, y, z] = before.accel_m_s2;
    assert_eq!(after.accel_m_s2.map(|x| (x * 1e4).round()), [-y, x, z].map(|x| (x * 1e4).round()));
    let Log::EkfEuler(euler) = last(&said, log::EKF_EULER) else { panic!() };
    // Forward in the vehicle frame is left in the sensor frame: 60 - 90 degrees.
    assert!((euler.rpy_rad[2].to_degrees() + 30.0).abs() < 1.0, "{euler:?}");
}

#[test]
fn every_row_of_the_table_is_what_the_unit_does() {
    let error = |frame: &Frame| {
        let is_ack = frame.message == command::ACK;
        is_ack.then(|| u16::from_le_bytes([frame.data[2], frame.data[3]]))
    };
    for row in table("sbg-ellipse2d") {
        let bytes = hex(row.request);
        let [_, id, data @ ..] = bytes.as_slice() else { continue };
        let mut bench = unit();
        let answer = ask(&mut bench, *id, data);
        let is_refused = error(&answer).is_some_and(|code| code != code::NO_ERROR);
        let wants_refusal = matches!(row.conduct, Conduct::Refused | Conduct::NotMade);
        assert_eq!(is_refused, wants_refusal, "{}: {answer:?}", row.code);
        let is_log = row.code.starts_with("log");
        match row.conduct {
            Conduct::Kept => {
                let keyed = matches!(*id, command::NMEA_TALKER_ID | command::ODO_CAN_CONF)
                    || matches!(*id, command::SYNC_IN_CONF | command::SYNC_OUT_CONF);
                let question = match *id {
                    command::OUTPUT_CONF => &data[..3],
                    command::CAN_OUTPUT_CONF => &data[..2],
                    _ if keyed => &data[..1],
                    _ => &[],
                };
                assert_eq!(ask(&mut bench, *id, question).data, data, "{}", row.code);
            }
            Conduct::Constant if !is_log => {
                bench.run(100);
                assert_eq!(ask(&mut bench, *id, data), answer, "{}", row.code);
            }
            _ => {}
        }
        if is_log {
            let message: u8 = row.code.rsplit('/').next().unwrap().parse().unwrap();
            let is_sent = matches!(row.conduct, Conduct::Acts | Conduct::Constant);
            let said = stream(&mut bench, 250);
            let found = said.iter().find(|f| f.message == message && row.code.contains(" 0/"));
            assert_eq!(found.is_some(), is_sent, "{}", row.code);
            if row.conduct == Conduct::Constant {
                assert!(found.unwrap().data[4..].iter().all(|byte| *byte == 0), "{}", row.code);
            }
        }
        for (place, damaged) in variants(data).iter().enumerate().skip(1) {
            bench.run(if *id == command::SETTINGS_ACTION { 1200 } else { 10 });
            check_damaged(&mut bench, *id, damaged, place == 1 && !damaged.is_empty());
        }
        bench.run(if *id == command::SETTINGS_ACTION { 1200 } else { 10 });
        assert_eq!(ask(&mut bench, command::INFO, &[]).message, command::INFO, "{}", row.code);
    }
}

/// Sends a command with shortened, lengthened or doubled data. Expects one answer: the acknowledgement, the answer to a
/// query, or an acknowledgement with the error for an invalid frame or parameter; after an error the setting is
/// unchanged. Codes: sbgECom, `sbgErrorCodes.h`.
fn check_damaged(bench: &mut Bench, id: u8, data: &[u8], is_cut: bool) {
    let is_stored = SBG_SETTINGS.iter().any(|((_, known, _), _)| *known == id)
        && !matches!(id, command::SYNC_IN_CONF | command::SYNC_OUT_CONF);
    let before = is_stored.then(|| ask(bench, id, &[]));
    ask(bench, id, data);
    let sent = frames(bench).into_iter().filter(|frame| frame.class == class::COMMAND);
    let answers: Vec<_> = sent.collect();
    let what = format!("{id} {data:02x?}: {answers:?}");
    let [answer] = &answers[..] else { panic!("{what}") };
    let error = (answer.message == command::ACK)
        .then(|| u16::from_le_bytes([answer.data[2], answer.data[3]]));
    assert!(answer.message == id || answer.data[..2] == [id, class::COMMAND], "{what}");
    let is_wrong = matches!(error, Some(code::INVALID_FRAME | code::INVALID_PARAMETER));
    assert!(is_wrong || matches!(error, None | Some(code::NO_ERROR)), "{what}");
    // A shortened setting can be a valid read, which has only a port, pin or message. Hosts for older firmware send
    // shorter settings.
    let is_read = answer.message == id;
    let is_old = matches!(id, command::SET_MAG_CALIB | command::ADVANCED_CONF);
    assert!(!is_cut || is_wrong || is_read || is_old, "{what}: taken although cut");
    if is_wrong && is_stored {
        assert_eq!(Some(ask(bench, id, &[])), before, "{what}");
    }
}

#[test]
fn a_restart_returns_to_the_saved_configuration() {
    let mut bench = unit();
    let switches = |bench: &mut Bench| {
        [[0, class::LOG], [0, 1]].map(|of| ask(bench, command::OUTPUT_CLASS_ENABLE, &of).data[2])
    };
    let switch_off = |bench: &mut Bench| {
        for data in [[0, class::LOG, 0], [0, 1, 0]] {
            ask(bench, command::OUTPUT_CLASS_ENABLE, &data);
        }
        assert_eq!(switches(bench), [0, 0]);
    };
    let act = |bench: &mut Bench, action| {
        ask(bench, command::SETTINGS_ACTION, &[action]);
        bench.run(1200);
        switches(bench)
    };
    let (restart, save, factory) = (0, 1, 2);
    switch_off(&mut bench);
    assert_eq!(act(&mut bench, restart), [1, 1]);
    switch_off(&mut bench);
    assert_eq!(act(&mut bench, save), [0, 0]);
    assert_eq!(act(&mut bench, restart), [0, 0]);
    assert_eq!(act(&mut bench, factory), [1, 1]);
    // Every action restarts the unit, which then sends nothing for a second.
    for action in [restart, save, factory] {
        ask(&mut bench, command::SETTINGS_ACTION, &[action]);
        assert!(stream(&mut bench, 900).is_empty(), "{action}");
        assert!(!stream(&mut bench, 500).is_empty(), "{action}");
    }
}

#[test]
fn the_rate_of_the_line_is_saved_and_restored() {
    let mut bench = unit();
    let set = |bench: &mut Bench| {
        ask(bench, command::UART_CONF, &[0, 0, 0x08, 0x07, 0, 1]);
        assert_eq!(bench.baud(), Some(460_800));
    };
    // Rate to which an action changes the line.
    let act = |bench: &mut Bench, action| {
        ask(bench, command::SETTINGS_ACTION, &[action]);
        let baud = bench.baud();
        bench.run(1200);
        baud
    };
    let (restart, save, factory) = (0, 1, 2);
    set(&mut bench);
    assert_eq!(act(&mut bench, restart), Some(115_200));
    set(&mut bench);
    assert_eq!(act(&mut bench, save), None);
    assert_eq!(act(&mut bench, restart), None);
    let read = ask(&mut bench, command::UART_CONF, &[0]).data;
    assert_eq!(read, [0, 0, 0x08, 0x07, 0, 1]);
    assert_eq!(act(&mut bench, factory), Some(115_200));
}

#[test]
fn a_frame_with_a_wrong_crc_is_not_heard() {
    let mut bench = Bench::new("sbg-ellipse2d", |_, s| s.is_streaming = false);
    bench.run(50);
    let mut bytes = Vec::new();
    Frame { message: command::INFO, class: class::COMMAND, data: vec![] }.emit(&mut bytes);
    let crc = bytes.len() - 2;
    bytes[crc] ^= 1;
    bench.sent.clear();
    bench.say(&bytes);
    bench.run(50);
    assert!(frames(&bench).iter().all(|frame| frame.class != class::COMMAND));
}

/// Motion with a magnetic field whose azimuth rotates once per three seconds and whose elevation rotates once per nine
/// seconds, plus a hard-iron offset.
fn turned_field(at: SimTime) -> InertialTruth {
    let mut made = truth(at);
    let (sin, cos) = libm::sincos(at.as_secs_f64() * 2.1);
    let (up, level) = libm::sincos(at.as_secs_f64() * 0.7);
    let field = DVec3::new(cos * level, sin * level, up) * 0.5;
    made.magnetic_field_gauss = field + DVec3::new(0.05, -0.1, 0.025);
    made
}

#[test]
fn the_magnetometer_is_calibrated_on_board() {
    let mut bench = Bench::new("sbg-ellipse2d", |_, _| {});
    bench.truth = turned_field;
    bench.run(50);
    let result = |bench: &mut Bench| ask(bench, command::COMPUTE_MAG_CALIB, &[]).data;
    let float = |data: &[u8], at: usize| f32::from_le_bytes(data[at..at + 4].try_into().unwrap());
    // If no calibration was started, the result is invalid and has no points.
    let nothing = result(&mut bench);
    assert_eq!((nothing.len(), nothing[0], nothing[2], nothing[40]), (92, 3, 1, 0));
    // Calibration in 3-D.
    let started = Frame::ack(command::START_MAG_CALIB, code::NO_ERROR);
    assert_eq!(ask(&mut bench, command::START_MAG_CALIB, &[2, 2]), started);
    bench.run(9500);
    let data = result(&mut bench);
    assert_eq!(data[..4], [0, 0, 0, 0], "{data:?}");
    // Hard iron offsets: forward, right, down, in units of half a gauss.
    for (at, wanted) in [(44, 0.1), (48, 0.2), (52, -0.05)] {
        assert!((float(&data, at) - wanted).abs() < 0.005, "{} {wanted}", float(&data, at));
    }
    assert!(float(&data, 4) > 0.05 && float(&data, 16) < 0.01, "before and after");
    // The computed correction applies to the log.
    let matrix: Vec<f32> = (0..12).map(|i| float(&data, 44 + 4 * i)).collect();
    ask(&mut bench, command::SET_MAG_CALIB, &[&floats(&matrix)[..], &[2]].concat());
    ask(&mut bench, command::OUTPUT_CONF, &[0, log::MAG, 0, 40, 0]);
    let Log::Mag(mag) = last(&stream(&mut bench, 500), log::MAG) else { panic!() };
    let length = mag.mag.iter().map(|x| x * x).sum::<f32>().sqrt();
    assert!((length - 1.0).abs() < 0.01, "{mag:?}");
    // A unit at rest gives too few points.
    bench.truth = truth;
    ask(&mut bench, command::START_MAG_CALIB, &[1, 2]);
    bench.run(500);
    assert_eq!(result(&mut bench)[..4], [3, 2, 1, 0]);
}

#[test]
fn heave_follows_the_waves() {
    let mut bench = Bench::new("sbg-ellipse2d", |_, _| {});
    // Vertical motion of one metre amplitude with a period of four seconds.
    bench.truth = |at| {
        let mut made = truth(at);
        let rate = std::f64::consts::TAU / 4.0;
        let (sin, cos) = libm::sincos(rate * at.as_secs_f64());
        made.velocity_m_s.z = rate * cos;
        made.acceleration_m_s2.z = -rate * rate * sin;
        made
    };
    bench.run(50);
    ask(&mut bench, command::OUTPUT_CONF, &[0, log::SHIP_MOTION, 0, 10, 0]);
    bench.run(12_000);
    let said = stream(&mut bench, 4000);
    let heaves = said.iter().filter(|f| f.message == log::SHIP_MOTION).map(|frame| {
        let Some(Ok(Log::ShipMotion(motion))) = Log::parse(frame) else { panic!() };
        assert_eq!(motion.status, 3);
        motion.motion_m[2]
    });
    let heaves: Vec<f32> = heaves.collect();
    let (least, most) =
        heaves.iter().fold((f32::MAX, f32::MIN), |(a, b), x| (a.min(*x), b.max(*x)));
    assert!((most - least - 2.0).abs() < 0.3, "{least} {most}");
}

#[test]
fn constant_answers_stay_whatever_is_set() {
    let mut bench = unit();
    constants_hold(&table("sbg-ellipse2d"), &["1"], |row| {
        let bytes = hex(row.request);
        let [_, id, data @ ..] = bytes.as_slice() else { return None };
        Some(ask(&mut bench, *id, data))
    });
}
