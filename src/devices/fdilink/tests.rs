//! Checks the console of an N100 against the command table.

use crate::commands::{Conduct, constants_hold, variants};
use crate::imu::tests::{Bench, rows};
use crate::wire::fdilink::{FdiLink, Frame, Packet};
use crate::wire::framer::Framer;

fn bench() -> Bench {
    let mut bench = Bench::new("wheeltec-n100", |_, _| {});
    bench.run(50);
    bench
}

/// Sends a command; returns the output of the unit within a second. After that time the unit accepts the next command.
fn ask(bench: &mut Bench, text: &str) -> String {
    bench.sent.clear();
    bench.say(format!("{text}\r\n").as_bytes());
    bench.run(1000);
    String::from_utf8_lossy(&bench.bytes()).into_owned()
}

fn count(bench: &mut Bench, wanted: fn(&Packet) -> bool) -> usize {
    bench.sent.clear();
    bench.run(1000);
    let frames: Vec<Frame> = Framer::new(FdiLink).frames(&bench.bytes());
    frames.iter().filter(|frame| wanted(&frame.packet)).count()
}

#[test]
fn every_row_of_the_table_is_what_the_unit_does() {
    for row in rows("wheeltec-n100").into_iter().filter(|row| !row.request.is_empty()) {
        let mut bench = bench();
        bench.say(b"#fconfig\r\n");
        bench.run(1000);
        let answer = ask(&mut bench, row.request);
        let is_refused = answer == "*#ERROR\r\n";
        let wants_refusal = matches!(row.conduct, Conduct::NotMade | Conduct::Refused);
        assert_eq!(is_refused, wants_refusal, "{}: {answer}", row.code);
        assert!(!answer.is_empty(), "{}", row.code);
        bench.say(b"n\r\n");
        bench.run(1000);
        if row.conduct == Conduct::Constant {
            bench.say(b"#fconfig\r\n");
            bench.run(1000);
            assert_eq!(ask(&mut bench, row.request), answer, "{}", row.code);
        }
        // In configuration mode an unknown line is an error. A shortened line that equals another command counts as
        // that command.
        for bytes in &variants(row.request.as_bytes())[1..] {
            bench.say(b"#fconfig\r\n");
            bench.run(1000);
            let text = String::from_utf8_lossy(bytes).into_owned();
            let answer = ask(&mut bench, &text);
            let is_longer_value = row.code == "fmsg ID RATE" || text == "#fmsg";
            assert!(answer == "*#ERROR\r\n" || is_longer_value, "{text:?}: {answer}");
        }
        // Outside configuration mode only #fconfig is accepted.
        bench.say(b"#fdeconfig\r\n");
        bench.run(1000);
        bench.sent.clear();
        bench.say(&[row.request.as_bytes(), b"\r\n"].concat());
        bench.run(200);
        let is_text = bench.bytes().windows(2).any(|pair| pair == b"*#" || pair == b"#E");
        assert_eq!(is_text, row.request == "#fconfig", "{}", row.code);
        bench.run(4000);
        bench.say(b"n\r\n");
        bench.run(1000);
        bench.say(b"#fconfig\r\n");
        bench.run(1000);
        assert_eq!(ask(&mut bench, "#fparam get MSG_IMU"), "MSG_IMU=7\r\n", "{}", row.code);
    }
}

#[test]
fn rates_are_rungs_that_a_restart_puts_in_force() {
    let mut bench = bench();
    let is_imu = |packet: &Packet| matches!(packet, Packet::Imu(_));
    assert_eq!(count(&mut bench, is_imu), 100);
    // Outside configuration mode other commands are ignored.
    bench.sent.clear();
    bench.say(b"#fparam set MSG_IMU 4\r\n");
    bench.run(20);
    assert!(!bench.bytes().starts_with(b"*#"));
    bench.say(b"#fconfig\r\n");
    bench.run(1000);
    assert_eq!(count(&mut bench, |_| true), 0, "no frames in configuration");
    let listed = ask(&mut bench, "#fmsg");
    assert!(listed.contains("MSG_IMU[40]   100.0Hz\r\n"), "{listed}");
    assert_eq!(ask(&mut bench, "#fparam get MSG_IMU"), "MSG_IMU=7\r\n");
    assert_eq!(ask(&mut bench, "#fparam"), "*#ERROR\r\n");
    assert_eq!(ask(&mut bench, "#fparam set MSG_IMU 10"), "*#ERROR\r\n", "no such rung");
    assert_eq!(ask(&mut bench, "#fparam set MSG_IMU 4"), "*#OK\r\n");
    // This command arrives too soon after the previous one.
    bench.sent.clear();
    bench.say(b"#fparam get MSG_IMU\r\n#fparam get MSG_IMU\r\n");
    bench.run(1000);
    assert_eq!(bench.bytes(), b"MSG_IMU=4\r\n*#ERROR\r\n");
    assert_eq!(ask(&mut bench, "#fdeconfig")[..6], *"*#OK\r\n");
    assert_eq!(count(&mut bench, is_imu), 100, "not before a restart");
    for (text, wanted) in [("#fconfig", "*#OK"), ("#fsave", "*#OK"), ("#freboot", "(y/n)")] {
        assert!(ask(&mut bench, text).contains(wanted), "{text}");
    }
    bench.say(b"y\r\n");
    bench.run(4000);
    assert_eq!(count(&mut bench, is_imu), 10);
    for text in ["#fconfig", "#freset"] {
        ask(&mut bench, text);
    }
    bench.say(b"y\r\n");
    bench.run(4000);
    assert_eq!(count(&mut bench, is_imu), 100, "as the factory set it");
}

#[test]
fn constant_answers_stay_whatever_is_set() {
    let mut bench = bench();
    let mut rows = rows("wheeltec-n100");
    rows.retain(|row| !row.request.is_empty());
    // These commands ask for confirmation, then restart the unit.
    constants_hold(&rows, &["freboot", "freset"], |row| {
        ask(&mut bench, "#fconfig");
        ask(&mut bench, row.request)
    });
}
