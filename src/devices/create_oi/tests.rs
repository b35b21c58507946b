use super::*;
use crate::commands::{CommandTable, Conduct, constants_hold};
use crate::drive_base::tests::{Bench, CREATE, MS, NOTHING, assert_near, hex, set_own};
use crate::drive_base::walk::{has_requests, request, walk};

fn number(bytes: &[u8]) -> i16 {
    i16::from_be_bytes([bytes[0], bytes[1]])
}

#[test]
fn every_command_does_what_the_table_says() {
    let commands = CommandTable::parse("commands", include_str!("commands.csv"));
    let packets = CommandTable::parse("packets", include_str!("packets.csv"));
    has_requests(&packets);
    let prepare = |bench: &mut Bench| bench.say(&hex("80 83"));
    let answers = |row: &crate::commands::CommandRow, said: &[u8]| match row.code {
        // Queries are answered; 148 starts a stream.
        "142" | "148" | "149" => !said.is_empty(),
        "150" => true,
        _ => said.is_empty(),
    };
    walk(CREATE, &commands, prepare, answers, &hex("80 8e 23"), 1100);
    let answers = |row: &crate::commands::CommandRow, said: &[u8]| {
        let length = answer_len(row.code.parse().unwrap());
        said.len() == length && (row.conduct == Conduct::NotMade) == (length == 0)
    };
    walk(CREATE, &packets, prepare, answers, &hex("8e 23 8e 23"), 0);
    // The table has every packet and every group, and nothing else.
    for id in 0..=255u8 {
        let is_known = packets.rows.iter().any(|row| row.code == id.to_string());
        assert_eq!(is_known, answer_len(id) > 0, "{id}");
    }
}

#[test]
fn packets_that_never_change_are_zero() {
    let packets = CommandTable::parse("packets", include_str!("packets.csv"));
    for row in packets.rows.iter().filter(|row| row.conduct == Conduct::Constant) {
        let mut bench = Bench::new(CREATE, |_| ());
        let id: u8 = row.code.parse().unwrap();
        let said = bench.ask(&[op::START, op::FULL, op::SENSORS, id]);
        assert!(said.iter().all(|byte| *byte == 0), "{row:?}: {said:02x?}");
    }
}

#[test]
fn constant_packets_stay_whatever_is_said() {
    let mut rows = CommandTable::parse("packets", include_str!("packets.csv")).rows;
    rows.retain(|row| row.conduct == Conduct::Constant);
    rows.extend(CommandTable::parse("commands", include_str!("commands.csv")).rows);
    let mut bench = Bench::new(CREATE, |_| ());
    bench.say(&hex("80 83"));
    // These commands reset, stop or switch off the robot.
    constants_hold(&rows, &["7", "133", "173", "148", "150"], |row| bench.ask(&request(row)));
}

#[test]
fn early_firmware_is_wrong_about_distance_and_angle_and_right_about_counts() {
    let told = |profile: &str, drive: &str| {
        let mut bench = Bench::new(profile, |_| ());
        bench.say(&hex("80 84"));
        bench.say(&hex(drive));
        bench.wait(2000);
        [number(&bench.ask(&hex("8e 13"))), number(&bench.ask(&hex("8e 14"))), {
            number(&bench.ask(&hex("8e 2c")))
        }]
    };
    // 200 mm/s for two seconds, then a left turn at 1.7 rad/s.
    let (straight, turn) = ("91 00 c8 00 c8", "91 00 c8 ff 38");
    let new = [told(CREATE, straight), told(CREATE, turn)];
    let old = [told("irobot-create2-3.2.6", straight), told("irobot-create2-3.2.6", turn)];
    assert!((390..410).contains(&new[0][0]) && (190..205).contains(&new[1][1]), "{new:?}");
    assert_eq!([old[0][2], old[1][2]], [new[0][2], new[1][2]]);
    assert!((-52..-48).contains(&old[0][0]) && (47..52).contains(&old[1][1]), "{old:?}");
}

#[test]
fn songs_take_their_time() {
    let mut bench = Bench::new(CREATE, |_| ());
    // Two notes of one second each.
    assert_eq!(bench.ask(&hex("80 83 8c 01 02 46 40 47 40 8d 01 8e 25 8e 24")), [1, 1]);
    bench.wait(1900);
    assert_eq!(bench.ask(&hex("8e 25")), [1]);
    bench.wait(200);
    assert_eq!(bench.ask(&hex("8e 25 8d 03 8e 25")), [0, 0], "there is no song 3");
    assert_eq!(bench.ask(&hex("ad 8e 25")), NOTHING);
}

#[test]
fn create_obeys_in_safe_and_full_mode_only() {
    let mut bench = Bench::new(CREATE, |_| ());
    bench.wait(1);
    assert_eq!(bench.ask(&hex("8E 23")), NOTHING, "it is off");
    assert_eq!(bench.ask(&hex("80 8E 23")), [1]);
    bench.say(&hex("91 00 C8 FF 9C 89 00 C8 7F FF"));
    assert_near(bench.treads(), [0.0, 0.0], 0.0);
    assert_eq!(bench.ask(&hex("95 04 27 28 29 2A")), [0; 8], "requested values");
    assert_eq!(bench.ask(&hex("83 8E 23")), [2]);
    bench.say(&hex("91 00 C8 FF 9C"));
    assert_near(bench.treads(), [-0.1, 0.2], 1e-12);
    let all = bench.ask(&hex("8E 64"));
    assert_eq!(all.len(), 80);
    // Requested speeds are packets 41 and 42; packets 7 to 40 have 48 bytes.
    assert_eq!(all[48..52], hex("00 C8 FF 9C"));
    // A radius of 2 m is a curve, 7FFF is straight, 1 turns left in place.
    bench.say(&hex("89 00 C8 07 D0"));
    assert_near(bench.treads(), [0.2 * (1.0 - 0.05875), 0.2 * (1.0 + 0.05875)], 1e-9);
    bench.say(&hex("89 00 C8 7F FF"));
    assert_near(bench.treads(), [0.2, 0.2], 1e-12);
    bench.say(&hex("89 00 3A 00 01"));
    assert_near(bench.treads(), [-0.058, 0.058], 1e-12);
    bench.say(&hex("92 00 FF FF 01"));
    assert_near(bench.treads(), [-0.5, 0.5], 1e-12);
    assert_eq!(bench.ask(&hex("AD 8E 23")), NOTHING);
    assert_near(bench.treads(), [0.0, 0.0], 0.0);
}

#[test]
fn create_streams_and_tells_distances_once() {
    let mut bench = Bench::new(CREATE, |_| ());
    bench.say(&hex("80 84 91 00 C8 00 C8"));
    bench.wait(1000);
    bench.sent.clear();
    bench.say(&hex("94 03 2B 2C 23"));
    bench.wait(152);
    assert_eq!(bench.sent.len(), 10);
    let periods: Vec<u64> = bench.sent.windows(2).map(|w| w[1].0.0 - w[0].0.0).collect();
    assert!(periods.iter().all(|ns| *ns == 15 * MS), "{periods:?}");
    let (_, frame) = &bench.sent[0];
    assert_eq!((frame[0], frame[1], frame.len()), (0x13, 8, 11));
    bench.say(&hex("94 00"));
    bench.sent.clear();
    bench.wait(100);
    assert_eq!(bench.sent.len(), 0);
    let told = |bench: &mut Bench| {
        let bytes = bench.ask(&hex("8E 13"));
        i16::from_be_bytes([bytes[0], bytes[1]])
    };
    let first = told(&mut bench);
    assert!((245..260).contains(&first), "{first}");
    assert!((3..6).contains(&told(&mut bench)));
    // 16-bit counters wrap after 29.135 m.
    bench.say(&hex("91 01 F4 01 F4"));
    bench.wait(58_000);
    let bytes = bench.ask(&hex("95 02 2B 2C"));
    let counts = u16::from_be_bytes([bytes[0], bytes[1]]);
    let travel_m = bench.wheels.travel_m[0];
    assert!(travel_m > 29.2, "{travel_m}");
    let wanted = (travel_m * 2249.39) as i64 % 65_536;
    assert!((i64::from(counts) - wanted).abs() < 60, "{counts} {wanted}");
}

#[test]
fn create_falls_asleep_and_boots() {
    let mut bench = Bench::new(CREATE, |s| {
        set_own(s, |own: &mut CreateSettings| own.sleep_after_ns = 500 * MS);
    });
    assert_eq!(bench.ask(&hex("80 8E 23")), [1]);
    bench.wait(600);
    assert_eq!(bench.ask(&hex("8E 23")), NOTHING);
    assert_eq!(bench.ask(&hex("80 83 8E 23")), [2]);
    bench.wait(600);
    assert_eq!(bench.ask(&hex("8E 23")), [2], "it sleeps in passive mode only");
    bench.sent.clear();
    bench.say(&hex("07 80"));
    bench.wait(1100);
    assert_eq!(bench.sent.len(), 1);
    assert!(bench.sent[0].1.starts_with(b"bl-start\r\n"));
    assert_eq!(bench.ask(&hex("8E 23")), NOTHING);
}
