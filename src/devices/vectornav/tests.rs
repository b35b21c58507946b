//! Checks every register and command of a VN-100 against the command table.

use glam::DVec3;

use super::answers::VECTORNAV_REGISTERS;
use super::registers::MEASUREMENTS;
use super::text::line_len;
use crate::commands::{Conduct, constants_hold, variants};
use crate::frames::quat_from_rpy;
use crate::imu::tests::{Bench, Proof, rows, shaken, truth};
use crate::sensors::imu::InertialTruth;
use crate::time::SimTime;
use crate::wire::framer::Framer;
use crate::wire::vectornav::{Checksum, Frame, Line, VectorNav};

fn request(body: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    Line::new(body, Checksum::Xor).emit(&mut bytes);
    bytes
}

/// The answer to a command, which comes within 30 ms.
fn ask(bench: &mut Bench, body: &str) -> String {
    let name = body.split(',').next().unwrap();
    bench.sent.clear();
    bench.say(&request(body));
    bench.run(30);
    let lines = lines(bench).into_iter();
    let mut answers = lines.filter(|l| l.starts_with(name) || l.starts_with("VNERR"));
    answers.next().unwrap_or_default()
}

fn frames(bench: &Bench) -> Vec<Frame> {
    Framer::new(VectorNav).frames(&bench.bytes())
}

fn lines(bench: &Bench) -> Vec<String> {
    let lines = frames(bench).into_iter().filter_map(|frame| match frame {
        Frame::Line(line) => Some(line.body),
        Frame::Packet(_) => None,
    });
    lines.collect()
}

/// Numbers in a register.
fn read(bench: &mut Bench, id: u8) -> Vec<f64> {
    let answer = ask(bench, &format!("VNRRG,{id:02}"));
    let values = answer.split(',').skip(2).map(|x| x.parse().unwrap());
    values.collect()
}

fn vector(values: &[f64], from: usize) -> DVec3 {
    DVec3::from_slice(&values[from..from + 3])
}

/// A unit with text output at 10 Hz and 10 packets per second with the groups common, time, IMU and attitude.
fn unit() -> Bench {
    let mut bench = Bench::new("vectornav-vn100", |_, _| {});
    bench.truth = shaken;
    bench.run(50);
    for body in ["VNWRG,07,10", "VNWRG,75,1,80,17,7FFF,03FF,0FFF,01FF"] {
        assert_eq!(ask(&mut bench, body), body);
    }
    bench
}

/// Output of the unit during `ms` without requests.
fn stream(bench: &mut Bench, ms: u64) -> Vec<Frame> {
    bench.sent.clear();
    bench.run(ms);
    frames(bench)
}

/// Rows of the command test: the tested command; commands that are sent afterwards, also in the comparison run without
/// the tested command; and the evidence of the effect.
const ROWS: [(&str, &[&str], Proof); 33] = [
    ("VNWRG,00,bench", &[], Proof::Answer),
    ("VNWRG,05,230400", &[], Proof::Line),
    ("VNWRG,06,30", &[], Proof::Stream),
    ("VNWRG,07,20", &[], Proof::Stream),
    ("VNWRG,21,1,0.5,1.8,0,0,-9.7", &[], Proof::Stream),
    ("VNWRG,23,1,0,0,0,1,0,0,0,1,0.1,0,0", &[], Proof::Stream),
    ("VNWRG,25,1,0,0,0,1,0,0,0,1,0.1,0,0", &[], Proof::Stream),
    // Rotation and gyro bias take effect at a start.
    ("VNWRG,26,0,1,0,-1,0,0,0,0,1", &["VNWNV", "VNRST"], Proof::Stream),
    ("VNWRG,30,3,1,0,0,1,0,1", &[], Proof::Stream),
    ("VNWRG,32,3,0,0,0,2,1,0,100000000,0", &[], Proof::Stream),
    ("VNWRG,33,0,0,0", &[], Proof::Stream),
    ("VNWRG,35,1,0,1,1", &[], Proof::StoredOnly),
    ("VNWRG,36,1,1,1,2,2,2,3,3,3", &[], Proof::StoredOnly),
    ("VNWRG,38,1,1,1,2,2,2,3,3,3", &[], Proof::StoredOnly),
    ("VNWRG,43,0.1,0.2,0.3", &["VNWNV", "VNRST"], Proof::Stream),
    ("VNWRG,44,0,1,2", &[], Proof::StoredOnly),
    ("VNWRG,50,1,2,3", &[], Proof::StoredOnly),
    ("VNWRG,51,1,0.2,0.03", &[], Proof::StoredOnly),
    ("VNWRG,75,1,80,01,0001", &[], Proof::Stream),
    ("VNWRG,76,1,80,01,0001", &[], Proof::Stream),
    ("VNWRG,77,1,80,01,0001", &[], Proof::Stream),
    ("VNWRG,82,1,0,1,0,0", &[], Proof::Stream),
    ("VNWRG,83,1,1,0,0,1000,2026.5,10,20,0", &[], Proof::Stream),
    ("VNWRG,84,1,0,0,0,1,0,0,0,1,0.1,0,0", &[], Proof::Stream),
    ("VNWRG,85,80,80,80,80,80,3,3,3,3,3", &[], Proof::Stream),
    ("VNASY,0", &[], Proof::Stream),
    ("VNBOM,1", &[], Proof::Stream),
    ("VNKMD,1", &[], Proof::Stream),
    ("VNKAD,1", &[], Proof::Stream),
    ("VNTAR", &[], Proof::Stream),
    ("VNSGB", &["VNWNV", "VNRST"], Proof::Stream),
    ("VNRST", &[], Proof::Stream),
    ("VNRFS", &[], Proof::Stream),
];

#[test]
fn every_command_has_its_effect_or_is_kept() {
    // Every register that profiles list has a row, except 47, which is read-only. Profiles do not list 33 and 75 to 77.
    let written =
        |id: u8| ROWS.iter().any(|(body, ..)| body.starts_with(&format!("VNWRG,{id:02}")));
    for (_, id, _) in VECTORNAV_REGISTERS {
        assert!(id == 47 || written(id), "register {id} has no row");
    }
    for (body, after, proof) in ROWS {
        let [with, without] = [true, false].map(|is_said| {
            let mut bench = unit();
            // Preconditions: a gyro bias for the unit to estimate, or a counter to reset.
            if body == "VNSGB" {
                bench = Bench::new("vectornav-vn100", |_, s| s.model.gyro.bias = [0.01, 0.0, 0.0]);
                bench.run(200);
            }
            if body.starts_with("VNWRG,33") {
                ask(&mut bench, "VNWRG,32,3,0,0,0,2,1,0,100000000,0");
            }
            let answer = if is_said {
                ask(&mut bench, body)
            } else {
                bench.sent.clear();
                bench.run(30);
                String::new()
            };
            let mut said = frames(&bench);
            let baud = bench.baud();
            for body in after {
                assert_eq!(ask(&mut bench, body), *body);
            }
            said.extend(stream(&mut bench, 1500));
            if !is_said {
                said.retain(
                    |frame| !matches!(frame, Frame::Line(l) if l.body.starts_with("VNERR")),
                );
            }
            // Answers do not count as stream.
            said.retain(|frame| !matches!(frame, Frame::Line(line) if line.body == answer));
            (bench, answer, (baud, said))
        });
        let (mut bench, answer, sent) = with;
        if body != "VNBOM,1" {
            assert_eq!(answer, body);
        }
        let id = body.split(',').nth(1).unwrap_or_default();
        proof.check(["vectornav-vn100", id], &sent, &without.2);
        if body.starts_with("VNWRG") && id != "33" {
            let read = ask(&mut bench, &format!("VNRRG,{id}"));
            let wanted = body.replacen("VNWRG", "VNRRG", 1);
            // The register reads back as it was written.
            assert_eq!(read, wanted, "{body}");
        }
    }
}

#[test]
fn all_registers_are_read_and_what_cannot_be_is_refused() {
    let mut bench = unit();
    for (_, id, count) in VECTORNAV_REGISTERS {
        assert_eq!(read(&mut bench, id).len(), count, "register {id}");
    }
    for (id, count) in [(33, 3), (80, 7), (239, 9), (240, 9), (54, 11)] {
        assert_eq!(read(&mut bench, id).len(), count, "register {id}");
    }
    for (id, _) in MEASUREMENTS {
        assert_eq!(ask(&mut bench, &format!("VNWRG,{id},1")), "VNERR,09", "register {id}");
    }
    for (body, wanted) in [
        ("VNWRG,47,1,0,0,0,1,0,0,0,1,0,0,0", "VNERR,09"),
        // No rotation matrix; an unsupported frame; six of nine fields.
        ("VNWRG,26,2,0,0,0,1,0,0,0,1", "VNERR,07"),
        ("VNWRG,82,2,0,0,0,0", "VNERR,07"),
        ("VNWRG,83,0,0,0,0,0,0", "VNERR,05"),
        ("VNWRG,44,1,2,5", "VNERR,07"),
        ("VNWRG,30,5,0,0,0,1,0,1", "VNERR,07"),
        ("VNKMD", "VNERR,05"),
        ("VNKAD,2", "VNERR,07"),
        ("VNRRG,55", "VNERR,08"),
    ] {
        assert_eq!(ask(&mut bench, body), wanted, "{body}");
    }
}

#[test]
fn the_reference_frame_turns_all_outputs_after_a_reset() {
    let mut bench = unit();
    bench.truth = truth;
    bench.run(500);
    let before = read(&mut bench, 27);
    // User x is sensor y, user y is sensor -x.
    ask(&mut bench, "VNWRG,26,0,1,0,-1,0,0,0,0,1");
    bench.run(200);
    assert_eq!(read(&mut bench, 27), before, "not before a reset");
    ask(&mut bench, "VNWNV");
    ask(&mut bench, "VNRST");
    bench.run(1000);
    let after = read(&mut bench, 27);
    let turned = |v: DVec3| DVec3::new(v.y, -v.x, v.z);
    for from in [3, 6, 9] {
        let off = vector(&after, from) - turned(vector(&before, from));
        assert!(off.length() < 2e-3, "{from}: {after:?} {before:?}");
    }
    // Forward in user axes is right in sensor axes, so the heading is 90 degrees larger.
    assert!((after[0] - before[0] - 90.0).abs() < 0.01, "{} {}", after[0], before[0]);
}

#[test]
fn calibration_is_the_manuals_formula_and_biases_are_found() {
    let biased = |_: &mut _, s: &mut crate::imu::profile::ImuSettings| {
        s.model.gyro.bias = [0.01, -0.02, 0.03];
    };
    let mut bench = Bench::new("vectornav-vn100", biased);
    bench.run(500);
    let before = read(&mut bench, 20);
    ask(&mut bench, "VNWRG,23,2,0,0,0,1,0,0,0,1,0.1,0,0");
    ask(&mut bench, "VNWRG,25,1,0,0,0,1,0,0,0,1,0,0.5,0");
    bench.run(200);
    let after = read(&mut bench, 20);
    assert!((after[0] - 2.0 * (before[0] - 0.1)).abs() < 2e-4, "{after:?}");
    assert!((after[4] - (before[4] - 0.5)).abs() < 2e-3, "{after:?}");
    // The filter has estimated the gyro bias: forward, right, down.
    ask(&mut bench, "VNSGB");
    let bias = vector(&read(&mut bench, 43), 0);
    assert!((bias - DVec3::new(0.01, 0.02, -0.03)).length() < 1e-5, "{bias}");
    ask(&mut bench, "VNWNV");
    ask(&mut bench, "VNRST");
    bench.run(1000);
    let started = read(&mut bench, 20);
    assert!((vector(&started, 6) - (vector(&before, 6) - bias)).length() < 1e-5, "{started:?}");
}

#[test]
fn increments_are_integrated_between_readings() {
    let mut bench = unit();
    bench.truth = truth;
    bench.run(500);
    read(&mut bench, 80);
    bench.run(970);
    let delta = read(&mut bench, 80);
    // One second between two reads, with a tolerance of one text output (100 ms).
    assert!((delta[0] - 1.0).abs() < 0.11, "{delta:?}");
    let rate_deg_s = DVec3::new(0.01, 0.02, -0.3) * 1f64.to_degrees();
    let angle = vector(&delta, 1);
    assert!((angle - rate_deg_s * delta[0]).length() < 0.01, "{delta:?}");
    // Without gravity, in north-east-down: specific force of the level unit (0.5 forward, 0.25 right at a heading of 60
    // degrees) minus the gravity of the model, which differs slightly from the true one.
    ask(&mut bench, "VNWRG,82,1,0,1,0,0");
    read(&mut bench, 80);
    bench.run(970);
    let delta = read(&mut bench, 80);
    let heading = 60f64.to_radians();
    let (sin, cos) = libm::sincos(heading);
    let north = 0.5 * cos - 0.25 * sin;
    let east = 0.5 * sin + 0.25 * cos;
    let wanted = DVec3::new(north, east, 0.0) * delta[0];
    let found = vector(&delta, 4);
    assert!((found - wanted).truncate().length() < 2e-3, "{found} {wanted}");
    assert!(found.z.abs() < 0.01, "{found}");
    // The same increments are also in a text output every 100 ms.
    ask(&mut bench, "VNWRG,06,30");
    let frames = stream(&mut bench, 1000);
    let first = frames.iter().find_map(|f| match f {
        Frame::Line(line) if line.body.starts_with("VNDTV,+0.100000,") => Some(line),
        _ => None,
    });
    assert!(first.is_some(), "{frames:?}");
}

/// A unit at rest whose nose points down by 10 degrees.
fn nose_down(at: SimTime) -> InertialTruth {
    let mut made = truth(at);
    made.world_from_sensor = quat_from_rpy(0.0, 10f64.to_radians(), -0.4);
    made.specific_force_m_s2 = made.world_from_sensor.conjugate() * DVec3::Z * 9.8;
    made
}

#[test]
fn each_tare_makes_the_present_attitude_zero_and_gravity_stays_vertical() {
    let mut bench = unit();
    let motions: [fn(SimTime) -> InertialTruth; 3] = [truth, nose_down, truth];
    for motion in motions {
        bench.truth = motion;
        bench.run(200);
        let before = vector(&read(&mut bench, 239), 3);
        ask(&mut bench, "VNTAR");
        let tared = read(&mut bench, 8);
        assert!(tared.iter().all(|angle| angle.abs() < 0.01), "{tared:?}");
        let after = vector(&read(&mut bench, 239), 3);
        assert!((after - before).length() < 2e-3, "{before} {after}");
    }
}

#[test]
fn a_host_that_asks_gets_the_present_measurement() {
    let mut bench = unit();
    for body in ["VNWRG,06,0", "VNWRG,07,1"] {
        ask(&mut bench, body);
    }
    bench.truth = truth;
    bench.run(100);
    assert!(read(&mut bench, 27)[1].abs() < 0.01);
    bench.truth = nose_down;
    bench.run(100);
    assert!((read(&mut bench, 27)[1] + 10.0).abs() < 0.01);
    // The increments of a packet are those since the last one: about half a second.
    ask(&mut bench, "VNWRG,75,0,800,01,0800");
    let interval_s = |bench: &mut Bench| {
        ask(bench, "VNBOM,1");
        let packets = frames(bench).into_iter().filter_map(|frame| match frame {
            Frame::Packet(packet) => Some(packet.payload),
            Frame::Line(_) => None,
        });
        let payloads: Vec<_> = packets.collect();
        assert_eq!(payloads.len(), 1);
        f32::from_le_bytes(*payloads[0].first_chunk().unwrap())
    };
    interval_s(&mut bench);
    bench.run(470);
    assert!((interval_s(&mut bench) - 0.5).abs() < 0.01);
}

#[test]
fn an_error_turns_text_output_off_in_error_mode_2() {
    let mut bench = unit();
    ask(&mut bench, "VNWRG,30,0,0,0,0,1,0,2");
    assert_eq!(ask(&mut bench, "VNRRG,06"), "VNRRG,06,14");
    assert_eq!(ask(&mut bench, "VNRRG,99"), "VNERR,08");
    assert_eq!(ask(&mut bench, "VNRRG,06"), "VNRRG,06,0");
    let said = stream(&mut bench, 500);
    assert!(!said.iter().any(|frame| matches!(frame, Frame::Line(_))), "{said:?}");
}

#[test]
fn the_sync_output_is_counted_in_each_mode() {
    for mode in [1, 2, 3] {
        let mut bench = unit();
        ask(&mut bench, &format!("VNWRG,32,3,0,0,0,{mode},1,7,100000000,0"));
        ask(&mut bench, "VNWRG,33,0,0,0");
        bench.run(1000);
        let count = read(&mut bench, 33)[2];
        assert!((count - 103.0).abs() < 5.0, "{mode}: {count}");
    }
}

#[test]
fn counters_and_status_stand_behind_lines() {
    let mut bench = unit();
    bench.truth = truth;
    ask(&mut bench, "VNWRG,32,3,0,0,0,2,1,7,100000000,0");
    ask(&mut bench, "VNWRG,30,3,1,0,0,1,0,1");
    ask(&mut bench, "VNWRG,33,0,0,0");
    ask(&mut bench, "VNKMD,1");
    bench.run(300);
    bench.sent.clear();
    bench.run(1000);
    let counts: Vec<u32> = lines(&bench)
        .iter()
        .map(|line| {
            let (head, counter) = line.rsplit_once(",T").expect("a counter");
            assert!(head.ends_with(",S0800"), "{line}");
            counter.parse().unwrap()
        })
        .collect();
    // 100 pulses and ten lines per second.
    assert!(counts.windows(2).all(|pair| pair[1] - pair[0] == 10), "{counts:?}");
    // Outputs that wait for a sync input pulse are never sent.
    ask(&mut bench, "VNWRG,32,5,0,0,0,0,1,0,100000000,0");
    bench.run(100);
    bench.sent.clear();
    bench.run(500);
    assert!(lines(&bench).is_empty());
}

#[test]
fn every_row_of_the_table_is_what_the_unit_does() {
    for row in rows("vectornav-vn100") {
        let body = row.request.replace(' ', ",");
        let mut bench = unit();
        let answer = ask(&mut bench, &body);
        let is_refused = answer.starts_with("VNERR");
        let wants_refusal = matches!(row.conduct, Conduct::Refused | Conduct::NotMade);
        assert_eq!(is_refused, wants_refusal, "{}: {answer}", row.code);
        match row.conduct {
            Conduct::Kept => {
                let (_, written) = body.split_once(',').unwrap();
                let id = written.split(',').next().unwrap();
                let read = ask(&mut bench, &format!("VNRRG,{id}"));
                assert_eq!(read, format!("VNRRG,{written}"));
            }
            Conduct::Constant if body.starts_with("VNRRG") => {
                bench.run(200);
                assert_eq!(ask(&mut bench, &body), answer);
            }
            Conduct::Constant => {
                let sent = stream(&mut bench, 1100).into_iter().rev();
                let mut packets = sent.filter_map(|frame| match frame {
                    Frame::Packet(packet) => Some(packet),
                    Frame::Line(_) => None,
                });
                let packet = packets.next().expect("a packet");
                assert!(packet.payload.iter().all(|byte| *byte == 0), "{}: {packet:?}", row.code);
            }
            _ => {}
        }
        for bytes in &variants(body.as_bytes())[1..] {
            let text = std::str::from_utf8(bytes).unwrap().replace('\0', "1");
            check_damaged(&mut bench, &text, None);
        }
        // One value less, and one value more.
        let (less, more) = (body.rsplit_once(',').map(|(less, _)| less), format!("{body},1"));
        let is_of_register = body.starts_with("VNRRG") || body.starts_with("VNWRG");
        let counts = |number: &str| is_of_register && !is_refused && !OPEN.contains(&number);
        let number = body.split(',').nth(1).unwrap_or_default();
        if let Some(less) = less {
            check_damaged(&mut bench, less, counts(number).then_some("VNERR,05"));
        }
        check_damaged(&mut bench, &more, counts(number).then_some("VNERR,06"));
        bench.run(if matches!(row.code, "VNRST" | "VNRFS") { 400 } else { 10 });
        assert_eq!(ask(&mut bench, "VNRRG,01"), "VNRRG,01,VN-100T-CR", "{}", row.code);
    }
}

/// Registers with a variable number of values: user tag, and registers with an optional port.
const OPEN: [&str; 4] = ["00", "05", "06", "07"];

/// Sends a damaged command. Expects the answer `wanted`, or one line: the command itself or an error of UM001 (1 to
/// 12). After an error the register is unchanged.
fn check_damaged(bench: &mut Bench, body: &str, wanted: Option<&str>) {
    if body.starts_with("VNRS") || body.starts_with("VNRF") {
        // The unit is silent for a while after a restart.
        bench.run(400);
    }
    let id: Option<u8> = body
        .strip_prefix("VNWRG,")
        .and_then(|rest| rest.split(',').next().unwrap_or_default().parse().ok());
    let read = id.map(|id| format!("VNRRG,{id}")).filter(|_| id != Some(33));
    let before = read.as_ref().map(|read| ask(bench, read));
    let answer = ask(bench, body);
    if let Some(wanted) = wanted {
        assert_eq!(answer, wanted, "{body}");
    }
    let code = answer.strip_prefix("VNERR,").map(|code| u8::from_str_radix(code, 16).unwrap());
    let is_pause =
        body.starts_with("VNBOM") || body.starts_with("VNRST") || body.starts_with("VNRFS");
    assert!(is_pause || !answer.is_empty(), "{body}: silence");
    assert!(code.is_none_or(|code| (1..=12).contains(&code)), "{body}: {answer}");
    if code.is_some()
        && let Some(read) = read
        && !MEASUREMENTS.iter().any(|(known, _)| Some(*known) == id)
    {
        assert_eq!(Some(ask(bench, &read)), before, "{body}");
    }
    bench.run(if is_pause { 400 } else { 5 });
}

#[test]
fn a_command_with_a_wrong_checksum_is_error_3() {
    let mut bench = Bench::new("vectornav-vn100", |_, s| s.is_streaming = false);
    bench.run(50);
    bench.sent.clear();
    bench.say(b"$VNRRG,01*00\r\n");
    bench.run(50);
    assert_eq!(lines(&bench), ["VNERR,03"]);
}

#[test]
fn a_text_output_counts_as_long_as_its_line_is() {
    let mut bench = Bench::new("vectornav-vn100", |_, _| {});
    bench.truth = truth;
    for (_, code) in super::MESSAGES {
        for register_30 in ["0,0,0,0,1,0,1", "1,1,0,0,1,0,1", "0,2,0,0,3,0,1"] {
            bench.run(50);
            ask(&mut bench, &format!("VNWRG,30,{register_30}"));
            assert!(ask(&mut bench, &format!("VNWRG,06,{code}")).starts_with("VNWRG"), "{code}");
            bench.sent.clear();
            bench.run(60);
            let sent = bench.bytes().len();
            let one = frames(&bench).len();
            let appended = super::registers::Appended {
                counter: register_30[..1].parse().unwrap(),
                status: register_30[2..3].parse().unwrap(),
            };
            let length = line_len(code, appended, register_30[8..9] == *"3");
            assert_eq!(sent, one * length, "{code} {register_30}");
        }
    }
    // The shortest lines at the highest rate that fits 115200 baud.
    let mut bench = Bench::new("vectornav-vn100", |_, _| {});
    bench.run(50);
    for body in ["VNWRG,06,1", "VNWRG,07,100", "VNWRG,07,200"] {
        assert_eq!(ask(&mut bench, body), body);
    }
    // 135 bytes of VNQMR at 200 Hz exceed the baud rate.
    assert_eq!(ask(&mut bench, "VNWRG,06,8"), "VNERR,0C");
    assert_eq!(ask(&mut bench, "VNRRG,06"), "VNRRG,06,1");
}

#[test]
fn each_port_has_its_own_output_registers() {
    let mut bench = unit();
    for body in ["VNWRG,06,0,2", "VNWRG,05,9600,2", "VNWRG,07,1,2"] {
        assert_eq!(ask(&mut bench, body), body);
        let read = body.replace("VNWRG", "VNRRG");
        assert_eq!(ask(&mut bench, &format!("{},2", &read[..8])), read);
    }
    assert_eq!(ask(&mut bench, "VNRRG,06"), "VNRRG,06,14", "the first port goes on");
    assert_eq!(ask(&mut bench, "VNRRG,06,1"), "VNRRG,06,14,1");
    assert_eq!(ask(&mut bench, "VNRRG,06,3"), "VNERR,07");
}

/// Start-up of ArduPilot's driver of external attitude references for a VN-100 at 50 Hz.
#[test]
fn the_opening_of_ardupilot_is_answered() {
    let mut bench = Bench::new("vectornav-vn100", |_, _| {});
    bench.run(50);
    for body in ["VNASY,0", "VNWRG,06,1", "VNWRG,06,2"] {
        assert_eq!(ask(&mut bench, body), body);
    }
    assert_eq!(ask(&mut bench, "VNRRG,01"), "VNRRG,01,VN-100T-CR");
    for body in ["VNWRG,75,3,16,14,073E,0004", "VNASY,1"] {
        assert_eq!(ask(&mut bench, body), body);
    }
    let packets = stream(&mut bench, 1000).into_iter().filter_map(|frame| match frame {
        Frame::Packet(packet) => Some(packet.layout.packet_len()),
        Frame::Line(_) => None,
    });
    let lengths: Vec<usize> = packets.collect();
    assert!(
        lengths.len().abs_diff(50) <= 1 && lengths.iter().all(|len| *len == 104),
        "{lengths:?}"
    );
}

#[test]
fn constant_answers_stay_whatever_is_set() {
    let mut bench = unit();
    constants_hold(&rows("vectornav-vn100"), &["VNRST", "VNRFS"], |row| {
        ask(&mut bench, &row.request.replace(' ', ","))
    });
}
