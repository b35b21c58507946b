//! Checks every command of a 3DM against the command table.

use std::collections::HashMap;

use glam::DVec3;

use super::commands::{COMMANDS, dm, filter};
use super::settings::SETTINGS;
use crate::commands::{Conduct, constants_hold, variants};
use crate::imu::tests::{Bench, Proof, hex, shaken};
use crate::wire::framer::Framer;
use crate::wire::mip::{Field, Mip, Packet, reply, set};

const READ: u8 = 2;

fn request(descriptor_set: u8, descriptor: u8, data: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    Packet::new(descriptor_set, [Field::new(descriptor, data)]).emit(&mut bytes);
    bytes
}

/// Sends a command; returns the fields of the answer, or no fields if none arrives within 60 ms.
fn ask(bench: &mut Bench, (descriptor_set, descriptor): (u8, u8), data: &[u8]) -> Vec<Field> {
    bench.sent.clear();
    bench.say(&request(descriptor_set, descriptor, data));
    bench.run(60);
    let packets = Framer::new(Mip).frames(&bench.bytes());
    let mut answers = packets.into_iter().filter(|p| p.descriptor_set == descriptor_set);
    answers.next().map(|p| p.fields).unwrap_or_default()
}

fn write(values: &[f32]) -> Vec<u8> {
    [1].into_iter().chain(values.iter().flat_map(|x| x.to_be_bytes())).collect()
}

fn flagged(flag: u8, values: &[f32]) -> Vec<u8> {
    [1, flag].into_iter().chain(values.iter().flat_map(|x| x.to_be_bytes())).collect()
}

/// A unit that streams all its fields ten times per second.
fn unit() -> Bench {
    let mut bench = Bench::new("microstrain-3dmgx5", |_, _| {});
    bench.truth = shaken;
    bench.run(100);
    for (command, wanted, decimation) in
        [(dm::SENSOR_FORMAT, set::SENSOR_DATA, 100u16), (dm::FILTER_FORMAT, set::FILTER_DATA, 50)]
    {
        let fields: Vec<u8> =
            super::DATA.iter().filter(|(_, s, _)| *s == wanted).map(|(.., d)| *d).collect();
        let mut data = vec![1, fields.len() as u8];
        for d in fields {
            data.push(d);
            data.extend(decimation.to_be_bytes());
        }
        assert_eq!(ask(&mut bench, (set::THREE_DM, command), &data), [Field::ack(command, 0)]);
    }
    bench
}

/// Data packets of the next `ms`.
fn stream(bench: &mut Bench, ms: u64) -> Vec<Packet> {
    bench.sent.clear();
    bench.run(ms);
    let packets = Framer::new(Mip).frames(&bench.bytes());
    packets.into_iter().filter(|p| p.descriptor_set >= 0x80).collect()
}

/// Values of a field in the last packet that contains it.
fn values(packets: &[Packet], descriptor_set: u8, descriptor: u8) -> Vec<f64> {
    let fields = packets.iter().filter(|p| p.descriptor_set == descriptor_set);
    let field = fields.flat_map(|p| &p.fields).rfind(|f| f.descriptor == descriptor);
    let data = &field.expect("the field").data;
    data.as_chunks::<4>().0.iter().map(|b| f64::from(f32::from_be_bytes(*b))).collect()
}

fn vector(packets: &[Packet], descriptor_set: u8, descriptor: u8) -> DVec3 {
    DVec3::from_slice(&values(packets, descriptor_set, descriptor)[..3])
}

struct Row {
    command: (u8, u8),
    data: Vec<u8>,
    /// Commands sent before the tested command, also in the run without the tested command.
    before: Vec<(u8, u8, Vec<u8>)>,
    /// Commands sent after the tested command, also in the run without the tested command.
    after: Vec<(u8, u8, Vec<u8>)>,
    proof: Proof,
}

fn row(descriptor_set: u8, descriptor: u8, data: Vec<u8>, proof: Proof) -> Row {
    let command = (descriptor_set, descriptor);
    Row { command, data, before: Vec::new(), after: Vec::new(), proof }
}

fn rows() -> Vec<Row> {
    use Proof::{Answer, Line, Nothing, StoredOnly, Stream};
    let base = |d, proof| row(set::BASE, d, vec![], proof);
    let dm = |d, data: Vec<u8>, proof| row(set::THREE_DM, d, data, proof);
    let filter = |d, data: Vec<u8>, proof| row(set::FILTER, d, data, proof);
    let stored = |d, data: Vec<u8>| row(set::FILTER, d, data, StoredOnly);
    let idle = || (set::BASE, 0x02, vec![]);
    let heading_source = |source: u8| (set::FILTER, filter::HEADING_SOURCE, vec![1, source]);
    let reset = || (set::FILTER, filter::RESET, vec![]);
    // Without automatic initialisation the filter waits for a heading.
    let waiting = || vec![(set::FILTER, filter::AUTO_INIT, vec![1, 0]), heading_source(0), reset()];
    let heading = |x: f32| x.to_be_bytes().to_vec();
    let external = [&0.7f32.to_be_bytes()[..], &0.1f32.to_be_bytes(), &[1]].concat();
    let timed = [&[0; 10][..], &external].concat();
    let mut rows = vec![
        base(0x01, Nothing),
        base(0x02, Stream),
        base(0x03, Answer),
        base(0x04, Answer),
        base(0x05, Answer),
        Row { before: vec![idle()], ..base(0x06, Stream) },
        base(0x07, Answer),
        row(set::BASE, 0x72, vec![1, 1, 0, 0, 9, 0x8d], Stream),
        base(0x7e, Stream),
        row(set::SYSTEM, 0x10, vec![1, 1], Nothing),
        dm(0x01, vec![0, 0], Answer),
        dm(0x03, vec![0, 0], Answer),
        dm(0x06, vec![], Answer),
        dm(0x08, vec![1, 1, 0x05, 0, 50], Stream),
        dm(0x0a, vec![1, 1, 0x05, 0, 50], Stream),
        dm(0x0b, vec![], Answer),
        dm(0x0d, vec![0x80, 0, 0], Answer),
        dm(0x0e, vec![0x82], Answer),
        dm(0x0f, vec![1, 0x80, 1, 0x06, 0, 50], Stream),
        dm(0x11, vec![1, 1, 0], Stream),
        dm(0x30, vec![5], Stream),
        dm(0x37, write(&[0.1, 0.2, 0.3]), Stream),
        dm(0x38, write(&[0.1, 0.2, 0.3]), Stream),
        dm(0x39, vec![0x03, 0xe8], Stream),
        dm(0x3a, write(&[0.1, 0.0, 0.0]), Stream),
        dm(0x3b, write(&[1.0, 0.1, 0.0, 0.1, 1.0, 0.0, 0.0, 0.0, 1.0]), Stream),
        dm(0x3e, vec![1, 0], Stream),
        dm(0x40, [&[1][..], &230_400u32.to_be_bytes()].concat(), Line),
        dm(0x50, vec![1, 0x04, 1, 1, 0, 5, 0], Stream),
        dm(0x51, [&[1, 0, 1][..], &20f32.to_be_bytes(), &30f32.to_be_bytes()].concat(), StoredOnly),
        dm(0x52, vec![2, 1], Answer),
        dm(0x53, vec![2], Answer),
        dm(0x64, vec![0x18, 0x6d, 2], Answer),
        dm(0x54, [&[1, 0x80, 0x05, 1, 1][..], &5f32.to_be_bytes()].concat(), Stream),
        filter(0x01, vec![], Stream),
        filter(0x11, write(&[0.1, 0.2, 0.3]), Stream),
        Row { before: vec![heading_source(3)], ..filter(0x17, external, Stream) },
        filter(0x18, vec![1, 0], Stream),
        Row { after: vec![reset()], ..filter(0x19, vec![1, 0], Stream) },
        Row { before: vec![heading_source(3)], ..filter(0x1f, timed, Stream) },
        filter(0x21, vec![1, 7], Stream),
        filter(0x23, vec![], Nothing),
        filter(
            0x26,
            [&[1, 1][..], &[60.0f64, 20.0, 0.0].map(f64::to_be_bytes).concat()].concat(),
            Stream,
        ),
        filter(0x27, vec![1], Nothing),
        filter(0x43, flagged(3, &[0.5]), Stream),
        stored(0x10, vec![1, 2]),
        stored(0x14, vec![1, 0, 3]),
        stored(0x1a, write(&[0.3; 3])),
        stored(0x1b, write(&[0.3; 3])),
        stored(0x1c, write(&[0.3; 6])),
        stored(0x1d, write(&[0.3; 6])),
        stored(0x20, flagged(1, &[0.1])),
        stored(0x25, vec![1, 1]),
        stored(0x28, write(&[0.3; 3])),
        stored(0x2b, write(&[0.3; 3])),
        stored(0x2c, write(&[0.3; 9])),
        stored(0x41, vec![1, 0, 1]),
        stored(0x42, write(&[0.3; 3])),
        stored(0x44, flagged(1, &[0.3; 6])),
        stored(0x45, flagged(1, &[0.3; 6])),
        stored(0x46, flagged(1, &[0.3; 4])),
        stored(0x4c, flagged(3, &[1.1])),
        stored(0x4d, flagged(3, &[0.5])),
    ];
    let attitude = [0.0f32, 0.0, 1.0].map(f32::to_be_bytes).concat();
    for (command, data) in [(0x02, attitude), (0x03, heading(1.0)), (0x04, heading(0.1))] {
        rows.push(Row { before: waiting(), ..filter(command, data, Stream) });
    }
    rows
}

#[test]
fn every_command_has_its_effect_or_is_kept() {
    let known: Vec<(u8, u8)> =
        COMMANDS.into_iter().chain(SETTINGS.iter().map(|s| s.command)).collect();
    let rows = rows();
    for command in &known {
        assert!(rows.iter().any(|row| row.command == *command), "{command:02x?} has no row");
    }
    // Output of the runs without the tested command, by the commands before and after it.
    let mut without = HashMap::new();
    for row in rows {
        let name = format!("0x{:02X} 0x{:02X}", row.command.0, row.command.1);
        assert!(known.contains(&row.command), "{name} is not listed");
        let run = |is_said: bool| {
            let mut bench = unit();
            let say = |bench: &mut Bench, (s, d, data): &(u8, u8, Vec<u8>)| {
                assert_eq!(ask(bench, (*s, *d), data)[0], Field::ack(*d, 0), "{name}");
            };
            row.before.iter().for_each(|command| say(&mut bench, command));
            let answer = if is_said {
                ask(&mut bench, row.command, &row.data)
            } else {
                bench.run(60);
                Vec::new()
            };
            row.after.iter().for_each(|command| say(&mut bench, command));
            let baud = bench.baud();
            let packets = stream(&mut bench, 2500);
            (bench, answer, (baud, packets))
        };
        let (mut bench, answer, sent) = run(true);
        let around = (row.before.clone(), row.after.clone());
        let without = without.entry(around).or_insert_with(|| run(false).2);
        if row.command != (set::THREE_DM, dm::CAPTURE_GYRO_BIAS) {
            assert_eq!(answer[0], Field::ack(row.command.1, reply::OK), "{name}");
        }
        match row.command {
            // The command table marks these commands `acts`, but they do not change the stream.
            (set::BASE, 0x01) | (set::SYSTEM, _) => assert_eq!(sent, *without, "{name}"),
            _ => row.proof.check(["microstrain-3dmgx5", &name], &sent, without),
        }
        match row.proof {
            Proof::Answer => {
                let behind = answer.len() > 1 || matches!(row.command.1, 0x01 | 0x03 | 0x0d);
                assert!(behind, "{name}: {answer:?}");
            }
            Proof::StoredOnly => {
                let setting = super::settings::find(row.command.0, row.command.1).unwrap();
                assert!(!setting.has_effect, "{name}");
                let read = ask(&mut bench, row.command, &[READ]);
                assert_eq!(read[1].data, row.data[1..], "{name}");
            }
            _ => {}
        }
    }
}

#[test]
fn settings_are_read_back_saved_and_refused() {
    let mut bench = unit();
    for row in rows() {
        let Some(setting) = super::settings::find(row.command.0, row.command.1) else { continue };
        let command = row.command;
        let factory = ask(&mut bench, command, &[READ])[1].clone();
        assert_eq!(ask(&mut bench, command, &row.data), [Field::ack(command.1, 0)]);
        let read = ask(&mut bench, command, &[READ]);
        assert_eq!(read[1], Field::new(setting.reply, &row.data[1..]), "{command:02x?}");
        // Value too short; unknown function.
        for wrong in [&row.data[..row.data.len() - 1], &[9]] {
            let refused = ask(&mut bench, command, wrong);
            assert_eq!(refused, [Field::ack(command.1, reply::BAD_PARAMETER)], "{command:02x?}");
        }
        // Save, change, load.
        assert_eq!(ask(&mut bench, command, &[3])[0].data[1], 0);
        assert_eq!(ask(&mut bench, command, &[5])[0].data[1], 0);
        assert_eq!(ask(&mut bench, command, &[READ])[1], factory);
        assert_eq!(ask(&mut bench, command, &[4])[0].data[1], 0);
        assert_eq!(ask(&mut bench, command, &[READ])[1].data, row.data[1..]);
        ask(&mut bench, command, &[5]);
    }
    // Values outside their limits.
    for (command, data) in [
        ((set::FILTER, 0x1b), write(&[0.1, 0.0, 0.1])),
        ((set::FILTER, 0x18), vec![1, 2]),
        ((set::FILTER, 0x43), flagged(4, &[0.0])),
        ((set::THREE_DM, 0x39), vec![0, 10]),
        ((set::THREE_DM, 0x50), vec![1, 0x04, 1, 1, 0x10, 0, 0]),
        ((set::THREE_DM, 0x52), vec![1, 2, 2]),
        ((set::THREE_DM, 0x53), vec![4]),
    ] {
        let refused = ask(&mut bench, command, &data);
        assert_eq!(refused, [Field::ack(command.1, reply::BAD_PARAMETER)], "{command:02x?}");
    }
    // A running filter accepts no initial values. It refuses external headings, because its heading source is another
    // one.
    let heading = 1f32.to_be_bytes();
    assert_eq!(ask(&mut bench, (set::FILTER, 0x03), &heading)[0].data, [0x03, reply::FAILED]);
    let external = [&heading[..], &heading, &[1]].concat();
    assert_eq!(ask(&mut bench, (set::FILTER, 0x17), &external)[0].data, [0x17, reply::FAILED]);
    assert_eq!(ask(&mut bench, (set::FILTER, 0x12), &[2])[0].data, [0x12, reply::UNKNOWN_COMMAND]);
}

#[test]
fn biases_are_subtracted_and_axes_turned() {
    let mut bench = unit();
    bench.truth = crate::imu::tests::truth;
    bench.run(300);
    let before = stream(&mut bench, 500);
    let [force, rate, mag] = [4, 5, 6].map(|d| vector(&before, set::SENSOR_DATA, d));
    ask(&mut bench, (set::THREE_DM, 0x37), &write(&[0.1, 0.2, 0.3]));
    ask(&mut bench, (set::THREE_DM, 0x3a), &write(&[0.01, 0.02, 0.03]));
    // The unit measures its gyro bias as the mean rate over one second. After that, the output rate is zero.
    bench.sent.clear();
    bench.say(&request(set::THREE_DM, 0x39, &[0x03, 0xe8]));
    bench.run(1100);
    let packets = Framer::new(Mip).frames(&bench.bytes());
    let answers: Vec<_> = packets.iter().filter(|p| p.descriptor_set == set::THREE_DM).collect();
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert_eq!(answers[0].fields[0], Field::ack(0x39, 0));
    let found: Vec<f64> = answers[0].fields[1].f32s().unwrap().into_iter().map(f64::from).collect();
    assert!((DVec3::from_slice(&found) - rate).length() < 1e-6, "{found:?} {rate}");
    // Rotation by 90 degrees to the right: forward in the vehicle frame is right in the sensor frame.
    ask(&mut bench, (set::FILTER, 0x11), &write(&[0.0, 0.0, std::f32::consts::FRAC_PI_2]));
    bench.run(200);
    let after = stream(&mut bench, 500);
    let turned = |v: DVec3| DVec3::new(v.y, -v.x, v.z);
    let [force_now, rate_now, mag_now] = [4, 5, 6].map(|d| vector(&after, set::SENSOR_DATA, d));
    assert!((force_now - turned(force - DVec3::new(0.1, 0.2, 0.3))).length() < 1e-5, "{force_now}");
    assert!(rate_now.length() < 1e-6, "{rate_now}");
    assert!((mag_now - turned(mag - DVec3::new(0.01, 0.02, 0.03))).length() < 1e-5, "{mag_now}");
    // The vehicle's heading is 90 degrees larger; the complementary filter of set 0x80 stays in the sensor frame.
    let heading = |packets: &[Packet]| vector(packets, set::FILTER_DATA, 5).z.to_degrees();
    assert!((heading(&before) - 60.0).abs() < 1e-3 && (heading(&after) - 150.0).abs() < 1e-3);
    let older = vector(&after, set::SENSOR_DATA, 0x0c).z.to_degrees();
    assert!((older - 60.0).abs() < 1e-3, "{older}");
    // After the tare, the filter reports a heading of north.
    ask(&mut bench, (set::FILTER, 0x21), &[1, 7]);
    bench.run(200);
    assert!(vector(&stream(&mut bench, 300), set::FILTER_DATA, 5).length() < 1e-3);
}

#[test]
fn the_filter_initialises_and_its_heading_counts_from_its_source() {
    let state = |packets: &[Packet]| {
        let status = packets.iter().filter(|p| p.descriptor_set == set::FILTER_DATA);
        status
            .flat_map(|p| &p.fields)
            .filter(|f| f.descriptor == 0x10)
            .map(|f| f.data[1])
            .collect::<Vec<_>>()
    };
    let heading = |packets: &[Packet]| vector(packets, set::FILTER_DATA, 5).z;
    let mut bench = unit();
    // Example of the maker: magnetometer, automatic initialisation, reset; the filter initialises, then has a solution.
    ask(&mut bench, (set::FILTER, 0x18), &[1, 1]);
    ask(&mut bench, (set::FILTER, 0x19), &[1, 1]);
    ask(&mut bench, (set::FILTER, 0x01), &[]);
    let states = state(&stream(&mut bench, 2000));
    assert_eq!((states[0], *states.last().unwrap()), (1, 2), "{states:?}");
    // Without automatic initialisation, the filter waits for a heading from the host.
    ask(&mut bench, (set::FILTER, 0x18), &[1, 3]);
    ask(&mut bench, (set::FILTER, 0x19), &[1, 0]);
    ask(&mut bench, (set::FILTER, 0x01), &[]);
    let waiting = stream(&mut bench, 3000);
    assert_eq!(state(&waiting).last(), Some(&1));
    assert_eq!(vector(&waiting, set::FILTER_DATA, 5), DVec3::ZERO);
    ask(&mut bench, (set::FILTER, 0x03), &1.25f32.to_be_bytes());
    bench.run(200);
    assert!((heading(&stream(&mut bench, 300)) - 1.25).abs() < 1e-6);
    // An external heading changes the output.
    let external = [&(-2.0f32).to_be_bytes()[..], &0.1f32.to_be_bytes(), &[1]].concat();
    assert_eq!(ask(&mut bench, (set::FILTER, 0x17), &external)[0].data[1], 0);
    bench.run(200);
    assert!((heading(&stream(&mut bench, 300)) + 2.0).abs() < 1e-6);
    // Without a known declination, a true heading cannot be used.
    ask(&mut bench, (set::FILTER, 0x43), &flagged(1, &[0.0]));
    assert_eq!(ask(&mut bench, (set::FILTER, 0x17), &external)[0].data[1], reply::FAILED);
    // With the magnetometer, the declination of the host is added to the magnetic heading.
    bench.truth = crate::imu::tests::truth;
    ask(&mut bench, (set::FILTER, 0x18), &[1, 1]);
    bench.run(300);
    let magnetic = heading(&stream(&mut bench, 300));
    ask(&mut bench, (set::FILTER, 0x43), &flagged(3, &[0.5]));
    bench.run(200);
    let manual = heading(&stream(&mut bench, 300));
    assert!((manual - magnetic - 0.5).abs() < 1e-5, "{manual} {magnetic}");
}

/// Sends a packet given as hexadecimal text; returns the fields of the answer.
fn ask_hex(bench: &mut Bench, bytes: &[u8]) -> Vec<Field> {
    ask(bench, (bytes[0], bytes[1]), &bytes[2..])
}

#[test]
fn every_row_of_the_table_is_what_the_unit_does() {
    let mut refusing = unit();
    for row in crate::imu::tests::rows("microstrain-3dmgx5") {
        let bytes = hex(row.request);
        // Refused commands change nothing, so one unit is enough for all of them.
        let mut fresh;
        let is_refused = matches!(row.conduct, Conduct::Refused | Conduct::NotMade);
        let bench = if is_refused {
            &mut refusing
        } else {
            fresh = unit();
            &mut fresh
        };
        // Initial values are accepted only by a filter that waits for them, and external headings only if they are the
        // heading source. A capture (0x0C 0x39) answers after its duration.
        let needs_source = matches!(row.code, "0x0D 0x17" | "0x0D 0x1F");
        if needs_source || matches!(row.code, "0x0D 0x02" | "0x0D 0x03" | "0x0D 0x04") {
            ask(bench, (set::FILTER, filter::AUTO_INIT), &[1, 0]);
            ask(bench, (set::FILTER, filter::HEADING_SOURCE), &[1, 3]);
            ask(bench, (set::FILTER, filter::RESET), &[]);
        }
        let mut answer = ask_hex(bench, &bytes);
        if row.code == "0x0C 0x39" {
            bench.run(1100);
            let packets = Framer::new(Mip).frames(&bench.bytes());
            let mut of_dm = packets.into_iter().filter(|p| p.descriptor_set == set::THREE_DM);
            answer = of_dm.next().unwrap().fields;
        }
        let wanted = match row.conduct {
            Conduct::Refused | Conduct::NotMade if row.code >= "0x80" => reply::BAD_PARAMETER,
            Conduct::Refused | Conduct::NotMade => reply::UNKNOWN_COMMAND,
            _ => reply::OK,
        };
        assert_eq!(answer.first(), Some(&Field::ack(bytes[1], wanted)), "{}", row.code);
        match row.conduct {
            Conduct::Kept => {
                let read = ask(bench, (bytes[0], bytes[1]), &[READ]);
                assert_eq!(read[1].data, bytes[3..], "{}", row.code);
            }
            Conduct::Constant if row.code < "0x80" => {
                bench.run(20);
                assert_eq!(ask_hex(bench, &bytes), answer, "{}", row.code);
            }
            Conduct::Acts | Conduct::Constant if row.code >= "0x80" => {
                let descriptor = u8::from_str_radix(&row.code[7..], 16).unwrap();
                let packets = stream(bench, 210);
                let wanted = u8::from_str_radix(&row.code[2..4], 16).unwrap();
                let of_set = packets.iter().filter(|p| p.descriptor_set == wanted);
                let field = of_set.flat_map(|p| &p.fields).find(|f| f.descriptor == descriptor);
                let field = field.unwrap_or_else(|| panic!("{} is not sent", row.code));
                let is_zero = field.data.split_last().unwrap().1.iter().all(|byte| *byte == 0);
                // A unit without errors reports an uncertainty of zero.
                let wants_zero = row.conduct == Conduct::Constant || row.code == "0x82 0x0A";
                assert_eq!(is_zero, wants_zero, "{}", row.code);
            }
            _ => {}
        }
        for (place, data) in variants(&bytes[2..]).iter().enumerate().skip(1) {
            bench.run(if row.code == "0x01 0x7E" { 600 } else { 10 });
            check_damaged(bench, &bytes, data, place, wanted);
        }
        bench.run(if row.code == "0x01 0x7E" { 600 } else { 10 });
        let info = ask(bench, (set::BASE, 0x03), &[]);
        assert_eq!(info[0], Field::ack(0x03, reply::OK), "{}", row.code);
    }
}

/// Sends a command with shortened (`place` 1), lengthened or doubled data; expects one acknowledgement. Unknown commands
/// are refused as unknown, whatever their data. Shortened data are an invalid parameter; other data may be accepted. A
/// refused command does not change the setting. Codes: mip_sdk, `cmd_result.h`.
fn check_damaged(bench: &mut Bench, valid: &[u8], data: &[u8], place: usize, code: u8) {
    let command = (valid[0], valid[1]);
    let what = format!("{command:02x?} {data:02x?}");
    let setting = super::settings::find(command.0, command.1);
    let before = setting.map(|_| ask(bench, command, &[READ]));
    let fields = ask(bench, command, data);
    let told = fields.first().unwrap_or_else(|| panic!("{what}: silence"));
    assert_eq!(
        (told.descriptor, told.data[0]),
        (Field::ack(command.1, 0).descriptor, command.1),
        "{what}"
    );
    assert_eq!(
        fields.iter().filter(|field| field.descriptor == told.descriptor).count(),
        1,
        "{what}"
    );
    let has_data = valid.len() > 2;
    match code {
        reply::UNKNOWN_COMMAND => assert_eq!(told.data[1], code, "{what}"),
        _ if place == 1 && has_data => assert_eq!(told.data[1], reply::BAD_PARAMETER, "{what}"),
        _ => assert!(matches!(told.data[1], reply::OK | reply::BAD_PARAMETER), "{what}: {told:?}"),
    }
    if let Some(setting) = setting.filter(|_| told.data[1] != reply::OK) {
        let now = ask(bench, command, &[READ]);
        assert_eq!(Some(&now), before.as_ref(), "{what} changed {:02x}", setting.reply);
    }
}

#[test]
fn a_packet_with_a_wrong_checksum_is_not_heard() {
    let mut bench = Bench::new("microstrain-3dmgx5", |_, s| s.is_streaming = false);
    bench.run(100);
    let mut bytes = request(set::BASE, 0x01, &[]);
    *bytes.last_mut().unwrap() ^= 1;
    bench.sent.clear();
    bench.say(&bytes);
    bench.run(100);
    // Invalid checksums get no answer; the error code for them is reserved.
    assert!(bench.bytes().is_empty());
    assert_eq!(ask(&mut bench, (set::BASE, 0x01), &[]), [Field::ack(0x01, reply::OK)]);
}

/// The host sets GPS time, as the maker's ROS driver does every second.
#[test]
fn gps_time_comes_from_outside() {
    let mut bench = unit();
    // Week, second and flags of the sensor's and the filter's GPS time.
    let times = |bench: &mut Bench| {
        let packets = stream(bench, 300);
        [(set::SENSOR_DATA, 0x12), (set::FILTER_DATA, 0x11)].map(|(wanted, descriptor)| {
            let of_set = packets.iter().filter(|p| p.descriptor_set == wanted);
            let found = of_set.flat_map(|p| &p.fields).rfind(|f| f.descriptor == descriptor);
            let data = &found.unwrap().data;
            let word = |at: usize| u16::from_be_bytes([data[at], data[at + 1]]);
            (word(8), f64::from_be_bytes(*data.first_chunk().unwrap()), word(10))
        })
    };
    let check = |times: [(u16, f64, u16); 2], week: u16, second: f64, flags: [u16; 2]| {
        for ((found, at, flag), wanted) in times.into_iter().zip(flags) {
            assert_eq!((found, flag), (week, wanted), "{times:?}");
            assert!((second..second + 1.5).contains(&at), "{times:?}");
        }
    };
    // Until a host sets it, the time counts from power-on, and no flag is set.
    check(times(&mut bench), 0, 0.0, [0, 0]);
    bench.sent.clear();
    // Week 2445.
    bench.say(&hex("75 65 01 08 08 72 01 01 00 00 09 8d f5 2d"));
    bench.run(60);
    let answers = Framer::new(Mip).frames(&bench.bytes());
    assert!(
        answers.contains(&Packet::new(set::BASE, [Field::ack(0x72, reply::OK)])),
        "{answers:?}"
    );
    // Flags: updated an odd number of times, set, week valid.
    check(times(&mut bench), 2445, 0.0, [0x16, 0]);
    // Second 1000 of the week.
    let second = [&[1, 2][..], &1000u32.to_be_bytes()].concat();
    assert_eq!(ask(&mut bench, (set::BASE, 0x72), &second), [Field::ack(0x72, reply::OK)]);
    check(times(&mut bench), 2445, 1000.0, [0x1c, 1]);
    let read = |bench: &mut Bench, which: u8| ask(bench, (set::BASE, 0x72), &[READ, which]);
    let (ack, week) = (Field::ack(0x72, reply::OK), Field::new(0x84, 2445u32.to_be_bytes()));
    assert_eq!(read(&mut bench, 1), [ack.clone(), week]);
    let told = read(&mut bench, 2);
    assert_eq!((&told[0], told[1].descriptor), (&ack, 0x85));
    assert!((1000..1003).contains(&u32::from_be_bytes(*told[1].data.first_chunk().unwrap())));
    // Function 6 is neither acknowledged nor refused.
    assert!(ask(&mut bench, (set::BASE, 0x72), &[6, 1, 0, 0, 9, 0x8e]).is_empty());
    assert!(ask(&mut bench, (set::BASE, 0x72), &[6, 3, 0, 0, 9, 0x8e]).is_empty());
    assert_eq!(read(&mut bench, 1)[1].data, 2446u32.to_be_bytes());
    // Unknown field; second outside the week; unknown function.
    for data in [vec![1, 3, 0, 0, 0, 1], vec![1, 2, 0, 9, 0x3a, 0x80], vec![3, 1], vec![READ, 3]] {
        let answer = ask(&mut bench, (set::BASE, 0x72), &data);
        assert_eq!(answer, [Field::ack(0x72, reply::BAD_PARAMETER)], "{data:?}");
    }
}

#[test]
fn polls_leave_out_unknown_fields_and_suppress_their_acknowledgement() {
    let mut bench = unit();
    ask(&mut bench, (set::THREE_DM, dm::STREAM), &[1, 0, 0]);
    let poll = |bench: &mut Bench, command: u8, data: &[u8]| {
        bench.sent.clear();
        bench.say(&request(set::THREE_DM, command, data));
        bench.run(60);
        let packets = Framer::new(Mip).frames(&bench.bytes());
        let descriptors = |p: &Packet| p.fields.iter().map(|f| f.descriptor).collect::<Vec<_>>();
        packets.iter().map(|p| (p.descriptor_set, descriptors(p))).collect::<Vec<_>>()
    };
    let acceleration = (set::SENSOR_DATA, vec![0x04_u8]);
    let ack = (set::THREE_DM, vec![reply::ACK]);
    for (command, data) in [(0x01, vec![1, 1, 4, 0, 0]), (0x0d, vec![0x80, 1, 1, 4])] {
        assert_eq!(poll(&mut bench, command, &data), std::slice::from_ref(&acceleration));
    }
    // A damaged poll is not answered either.
    assert!(poll(&mut bench, 0x01, &[1, 1, 4]).is_empty());
    let mixed = poll(&mut bench, 0x01, &[0, 2, 1, 0, 0, 4, 0, 0]);
    assert_eq!(mixed, [ack, acceleration]);
    // Without a format there is nothing to poll.
    ask(&mut bench, (set::THREE_DM, 0x08), &[1, 0]);
    let refused = ask(&mut bench, (set::THREE_DM, 0x01), &[0, 0]);
    assert_eq!(refused, [Field::ack(0x01, reply::BAD_PARAMETER)]);
}

#[test]
fn the_magnetometer_and_external_headings_are_a_source_together() {
    let mut bench = unit();
    assert_eq!(ask(&mut bench, (set::FILTER, 0x18), &[1, 6])[0].data, [0x18, reply::OK]);
    let external = [&(-2.0f32).to_be_bytes()[..], &0.1f32.to_be_bytes(), &[1]].concat();
    assert_eq!(ask(&mut bench, (set::FILTER, 0x17), &external)[0].data, [0x17, reply::OK]);
    bench.run(200);
    let packets = stream(&mut bench, 300);
    let heading = vector(&packets, set::FILTER_DATA, 5).z.to_degrees();
    assert!((heading - 60.0).abs() < 1e-3, "{heading}");
    let of_filter = packets.iter().filter(|p| p.descriptor_set == set::FILTER_DATA);
    let update = of_filter.flat_map(|p| &p.fields).find(|f| f.descriptor == 0x14).unwrap();
    assert_eq!(update.data[8..10], [0, 5]);
}

#[test]
fn the_status_of_the_device_is_what_the_makers_library_reads() {
    let mut bench = unit();
    bench.run(300);
    let status = |bench: &mut Bench, data: &[u8]| ask(bench, (set::THREE_DM, 0x64), data);
    let basic = status(&mut bench, &[0x18, 0x6d, 1]);
    assert_eq!((basic[1].descriptor, basic[1].data.len()), (0x90, 13));
    let full = status(&mut bench, &[0x18, 0x6d, 2]);
    assert_eq!(full[1].data.len(), 13 + 2 + 9 * 4);
    // Both streams are on; hosts have sent some bytes.
    assert_eq!(full[1].data[13..15], [1, 1]);
    assert!(u32::from_be_bytes(*full[1].data[27..].first_chunk().unwrap()) > 50);
    // A request with the model number of another product.
    let refused = status(&mut bench, &[0x18, 0x6c, 1]);
    assert_eq!(refused, [Field::ack(0x64, reply::BAD_PARAMETER)]);
}

#[test]
fn constant_answers_stay_whatever_is_set() {
    let mut bench = unit();
    let mut rows = crate::imu::tests::rows("microstrain-3dmgx5");
    rows.retain(|row| row.code < "0x80");
    // A reset takes time, and a capture answers late.
    constants_hold(&rows, &["0x01 0x7E", "0x0C 0x39"], |row| {
        ask_hex(&mut bench, &hex(row.request))
    });
}
