use super::super::commands::tests::{has_requests, walk};
use super::super::tests::{Bench, CREATE, NOTHING, hex};
use super::*;
use crate::commands::{CommandTable, Conduct};

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
        // What asks is answered, a stream follows.
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
    // Every packet and every group is in the table, and nothing else.
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
    // 200 mm/s for two seconds, and a turn to the left at 1.7 rad/s.
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
    // Two notes of a second each.
    assert_eq!(bench.ask(&hex("80 83 8c 01 02 46 40 47 40 8d 01 8e 25 8e 24")), [1, 1]);
    bench.wait(1900);
    assert_eq!(bench.ask(&hex("8e 25")), [1]);
    bench.wait(200);
    assert_eq!(bench.ask(&hex("8e 25 8d 03 8e 25")), [0, 0], "there is no song 3");
    assert_eq!(bench.ask(&hex("ad 8e 25")), NOTHING);
}
