use super::profile::{SabertoothMode, SabertoothSettings};
use crate::commands::{CommandTable, Conduct, variants};
use crate::drive_base::tests::{Bench, NOTHING, SABERTOOTH, assert_near, hex, set_own};
use crate::drive_base::walk::{has_requests, request};

#[test]
fn every_command_does_what_the_tables_say() {
    let packets = CommandTable::parse("packets", include_str!("packets.csv"));
    has_requests(&packets);
    for row in packets.rows.iter().filter(|row| !row.request.is_empty()) {
        for (place, bytes) in variants(&request(row)).iter().enumerate() {
            let mut bench = Bench::new(SABERTOOTH, |_| ());
            // In mixed mode, a drive and a turn command take effect when both have arrived.
            bench.say(&hex("80 08 00 08 80 0a 00 0a"));
            assert_eq!(bench.ask(bytes), NOTHING, "{row:?}");
            let code: u8 = row.code.parse().unwrap();
            let moves = row.conduct == Conduct::Acts && code < 14;
            let is_moving = bench.treads() != [0.0; 2];
            assert!(place == 1 || is_moving == moves, "{row:?}: {:?}", bench.treads());
            bench.wait(300);
            bench.ask(&hex("80 00 7f 7f 80 04 7f 03"));
            let most = bench.unit().settings.wheels.max_speed_m_s;
            assert_near(bench.treads(), [most; 2], 1e-12);
        }
    }
    let bytes = CommandTable::parse("bytes", include_str!("bytes.csv"));
    for (row, wanted) in bytes.rows.iter().zip([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]) {
        let mut bench = Bench::new(SABERTOOTH, |s| {
            set_own(s, |own: &mut SabertoothSettings| own.mode = SabertoothMode::Simplified);
        });
        assert_eq!(bench.ask(&request(row)), NOTHING);
        let most = bench.unit().settings.wheels.max_speed_m_s;
        assert_near(bench.treads(), wanted.map(|share| share * most), 1e-12);
    }
}

#[test]
fn plain_text_is_obeyed_and_answered() {
    let table = CommandTable::parse("text", include_str!("text.csv"));
    has_requests(&table);
    for row in &table.rows {
        for (place, bytes) in variants(&request(row)).iter().enumerate() {
            let mut bench = Bench::new(SABERTOOTH, |_| ());
            let is_asked = row.conduct == Conduct::Acts && row.code.contains("get");
            let said = bench.ask(bytes);
            assert!(place > 0 || is_asked != said.is_empty(), "{row:?}: {said:02x?}");
            assert!(!bench.ask(b"\rM2: getb\r").is_empty(), "{row:?}");
        }
    }
    let mut bench = Bench::new(SABERTOOTH, |_| ());
    let most = bench.unit().settings.wheels.max_speed_m_s;
    bench.say(b"M1: 2047\r\nm2:-2047\n");
    assert_near(bench.treads(), [most, -most], 1e-12);
    assert_eq!(bench.ask(b"M*: get\r\n"), b"M1:2047\r\nM2:-2047\r\n");
    bench.say(b"M1: shutdown\r\nM*: 1000\r\n");
    assert_near(bench.treads(), [0.0, most * 1000.0 / 2047.0], 1e-12);
    bench.say(b"M1: startup\r\nMD: 1000\r\nMT: 500\r\n");
    assert_near(bench.treads(), [1500.0, 500.0].map(|n| most * n / 2047.0), 1e-12);
    // Packets between lines of text are accepted.
    bench.say(&hex("4d 31 80 00 00 00 4d 32 3a 30 0d"));
    assert_near(bench.treads(), [0.0; 2], 0.0);
    // Printable bytes of a packet are not part of the line after it. 170, the bauding byte, begins no packet.
    bench.say(&hex("80 00 40 40"));
    assert!(bench.treads()[0] > 0.0);
    bench.say(b"M1: 0\r\n");
    assert_near(bench.treads(), [0.0; 2], 0.0);
    bench.say(b"\xaaM2: 2047\r\n");
    assert_near(bench.treads(), [0.0, most], 1e-12);
}

#[test]
fn sabertooth_obeys_and_is_silent() {
    let mut bench = Bench::new(SABERTOOTH, |s| s.wheels.max_speed_m_s = 1.27);
    bench.say(&hex("AA AA"));
    bench.say(&hex("80 00 3F 3F 80 05 1F 24"));
    assert_near(bench.treads(), [0.63, -0.31], 1e-9);
    bench.say(&hex("80 00 00 00 80 04 00 04"));
    assert_near(bench.treads(), [0.0, 0.0], 0.0);
    // In mixed mode a drive command alone has no effect.
    bench.say(&hex("80 08 3F 47"));
    assert_near(bench.treads(), [0.0, 0.0], 0.0);
    bench.say(&hex("80 0B 1F 2A"));
    assert_near(bench.treads(), [0.32, 0.94], 1e-9);
    // A timeout of 0.2 s.
    bench.say(&hex("80 0E 02 10"));
    bench.wait(250);
    assert_near(bench.treads(), [0.0, 0.0], 0.0);
    assert_eq!(bench.sent.len(), 0);
    let mut simple = Bench::new(SABERTOOTH, |s| {
        s.wheels.max_speed_m_s = 0.63;
        set_own(s, |own: &mut SabertoothSettings| own.mode = SabertoothMode::Simplified);
    });
    simple.say(&[127, 128]);
    assert_near(simple.treads(), [0.63, -0.63], 1e-9);
    simple.say(&[0]);
    assert_near(simple.treads(), [0.0, 0.0], 0.0);
}
