use super::profile::{Channels, KangarooSettings};
use crate::commands::{CommandRow, CommandTable};
use crate::drive_base::tests::{Bench, KANGAROO, NOTHING, assert_near, hex, set_own};
use crate::drive_base::walk::{has_requests, walk};

#[test]
fn every_command_does_what_the_tables_say() {
    let get = hex("80 23 03 31 20 01 46 39");
    let start = |bench: &mut Bench| bench.say(&hex("80 20 02 31 00 22 44"));
    let packets = CommandTable::parse("packets", include_str!("packets.csv"));
    let text = CommandTable::parse("text", include_str!("text.csv"));
    for table in [&packets, &text] {
        has_requests(table);
    }
    // Queries are answered without an error; other commands are not answered.
    let answers = |row: &CommandRow, said: &[u8]| match row.code.starts_with("23") {
        true => said.len() > 4 && said[4] & 1 == 0,
        false => said.is_empty(),
    };
    walk(KANGAROO, &packets, start, answers, &get, 0);
    let answers = |row: &CommandRow, said: &[u8]| match row.code.starts_with("get") {
        true => said.starts_with(b"1,P") || said.starts_with(b"1,S"),
        false => said.is_empty(),
    };
    walk(KANGAROO, &text, start, answers, &get, 0);
}

#[test]
fn kangaroo_talks_as_the_real_one() {
    let mut bench = Bench::new(KANGAROO, |s| s.wheels.counts_per_m = 2000.0);
    bench.wait(1);
    // A channel that is not started; a channel of the other mode.
    assert_eq!(bench.ask(&hex("80 23 03 31 20 01 46 39")), hex("80 43 04 31 21 01 02 15 27"));
    let wrong = bench.ask(&hex("80 23 04 44 50 01 01 1D 26"));
    assert_eq!(wrong[..5], hex("80 43 06 44 51")[..]);
    assert_eq!((wrong[5], wrong[8]), (1, 8));
    // A move before the start is ignored, and so is one with a wrong CRC; neither is answered.
    assert_eq!(bench.ask(&hex("80 24 05 31 20 02 68 0F 2B 76")), NOTHING);
    assert_near(bench.treads(), [0.0, 0.0], 0.0);
    assert_eq!(bench.ask(&hex("80 20 02 31 00 22 44 80 20 02 32 00 24 27")), NOTHING);
    assert_eq!(bench.ask(&hex("80 24 05 31 20 02 68 0F 2B 77")), NOTHING);
    assert_near(bench.treads(), [0.0, 0.0], 0.0);
    bench.say(&hex("80 24 05 31 20 02 68 0F 2B 76"));
    assert_near(bench.treads(), [0.25, 0.0], 1e-12);
    bench.wait(100);
    let speed = bench.ask(&hex("80 23 03 31 20 02 22 18"));
    assert_eq!(speed[..8], hex("80 43 05 31 20 02 68 0F")[..]);
    // A command with the last sequence code is not executed again; the code can be read.
    bench.say(&hex("80 20 03 31 40 01 77 57"));
    let mut get = Vec::new();
    let packet = |command, data: &[u8]| {
        let mut out = Vec::new();
        crate::wire::kangaroo::Packet { address: 0x80, command, data: data.to_vec() }
            .emit(&mut out);
        out
    };
    get.extend(packet(0x23, &[0x31, 0x50, 7, 2]));
    let answer = bench.ask(&get);
    assert_eq!(answer[3..8], [0x31, 0x50, 7, 1, 2]);
    bench.say(&packet(0x24, &[0x31, 0x40, 1, 2, 0]));
    assert_near(bench.treads(), [0.25, 0.0], 1e-12);
    bench.say(&packet(0x24, &[0x31, 0x40, 2, 2, 0]));
    assert_near(bench.treads(), [0.0, 0.0], 0.0);
}

#[test]
fn kangaroo_goes_to_positions_and_times_out() {
    let mut bench = Bench::new(KANGAROO, |s| s.wheels.counts_per_m = 2000.0);
    bench.say(b"1,start\r\n2,Start\r");
    bench.say(b"1,home\r1, units 10 = 5 lines\r");
    // Ten units are 20 counts, so 500 units are half a metre.
    bench.say(b"1,p500 s200\r\n");
    bench.wait(50);
    assert_near(bench.treads(), [0.2, 0.0], 1e-9);
    let moving = bench.ask(b"1,getp\r");
    assert!(moving.starts_with(b"1,p"), "{}", String::from_utf8_lossy(&moving));
    bench.wait(6000);
    let there = String::from_utf8(bench.ask(b"1,getp\r")).unwrap();
    let position: i32 = there.trim().strip_prefix("1,P").unwrap().parse().unwrap();
    assert!((498..=502).contains(&position), "{there}");
    bench.say(b"2,s300\r");
    assert_near(bench.treads(), [0.0, 0.15], 1e-3);
    // A second without input gives an error until the next start.
    bench.say(&hex("80 25 05 31 40 03 21 20 12 6E"));
    bench.wait(990);
    assert_near(bench.treads(), [0.0, 0.15], 1e-3);
    bench.wait(20);
    assert_near(bench.treads(), [0.0, 0.0], 0.0);
    assert_eq!(bench.ask(&hex("80 23 03 31 20 01 46 39")), hex("80 43 04 31 21 01 0C 03 6C"));
    assert_eq!(bench.ask(b"2,gets\r"), b"2,E6\r\n");
    bench.say(b"2,s300\r");
    assert_near(bench.treads(), [0.0, 0.0], 0.0);
    bench.say(b"2,start\r2,s300\r");
    assert_near(bench.treads(), [0.0, 0.15], 1e-3);
}

#[test]
fn kangaroo_mixes() {
    let mut bench = Bench::new(KANGAROO, |s| {
        s.wheels.counts_per_m = 2000.0;
        set_own(s, |own: &mut KangarooSettings| own.channels = Channels::Mixed);
    });
    bench.say(b"D,start\rT,start\r");
    bench.say(&hex("80 24 05 44 00 02 58 09 34 57 80 24 05 54 00 02 49 03 70 70"));
    // Drive 300, turn -100: a left turn.
    assert_near(bench.treads(), [0.1, 0.2], 1e-12);
    assert_eq!(bench.ask(b"1,getp\r"), b"1,E4\r\n");
    bench.wait(1000);
    let drive = String::from_utf8(bench.ask(b"D,getp\r")).unwrap();
    let position: i32 = drive.trim().strip_prefix("D,P").unwrap().parse().unwrap();
    assert!((295..=320).contains(&position), "{drive}");
    let turn = String::from_utf8(bench.ask(b"t,getp\r")).unwrap();
    let position: i32 = turn.trim().strip_prefix("T,P").unwrap().parse().unwrap();
    assert!((-115..=-95).contains(&position), "{turn}");
}
