use super::*;
use crate::commands::{CommandTable, Conduct, constants_hold};
use crate::drive_base::faults::BaseFault;
use crate::drive_base::tests::{Bench, HUSKY, NOTHING, assert_near, hex, timed};
use crate::drive_base::walk::{has_requests, request, walk};

fn frame(kind: u16, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    Frame::new(0, kind, payload).emit(&mut out);
    out
}

impl Bench {
    /// Sends bytes; returns type and payload of each frame of the answer.
    fn frames(&mut self, bytes: &[u8]) -> Vec<(u16, Vec<u8>)> {
        let said = self.ask(bytes);
        let frames = Framer::new(Horizon).frames(&said).into_iter();
        frames.map(|frame| (frame.kind, frame.payload)).collect()
    }

    fn request(&mut self, kind: u16) -> Vec<u8> {
        let frames = self.frames(&frame(kind, &[0, 0]));
        assert_eq!(frames[0], (kind, vec![0, 0]));
        assert_eq!(frames[1].0, kind + 0x4000);
        frames[1].1.clone()
    }

    fn set(&mut self, kind: u16, payload: &[u8]) {
        assert_eq!(self.frames(&frame(kind, payload)), [(kind, vec![0, 0])]);
    }
}

#[test]
fn every_command_does_what_the_table_says() {
    let table = CommandTable::parse("Horizon", include_str!("commands.csv"));
    has_requests(&table);
    let answers = |row: &crate::commands::CommandRow, said: &[u8]| {
        let frames = Framer::new(Horizon).frames(said);
        let is_refused = frames[0].payload == [2, 0];
        is_refused == matches!(row.conduct, Conduct::Refused | Conduct::NotMade)
    };
    walk(HUSKY, &table, |_| (), answers, &frame(0x4010, &[0, 0]), 1100);
}

#[test]
fn constant_answers_stay_whatever_is_set() {
    let table = CommandTable::parse("Horizon", include_str!("commands.csv"));
    let mut bench = Bench::new(HUSKY, |_| ());
    // These commands restart the controller.
    constants_hold(&table.rows, &["2000", "2001"], |row| bench.frames(&request(row)));
}

#[test]
fn what_drivers_ask_for_is_answered() {
    let mut bench = Bench::new(HUSKY, |_| ());
    let firmware = hex("aa 0d f2 00 00 00 00 00 00 03 40 55 00 00 6d 28");
    let frames = bench.frames(&firmware);
    assert_eq!(frames, [(0x4003, vec![0, 0]), (0x8003, hex("01 00 00 00 00 08 82 01"))]);
    assert_eq!(bench.request(0x4002), [&[4], &b"A200"[..]].concat());
    assert_eq!(bench.request(0x4202), [0; 4]);
    assert_eq!(bench.request(0x4204), [0; 6]);
    assert_eq!(bench.request(0x4210), hex("64 00 64 00"));
    assert_eq!(bench.request(0x4211), hex("f4 01 f4 01"));
    assert_eq!(bench.request(0x4801), hex("02 00 00 00 00 00 00 00 00"));
    assert_eq!(bench.request(0x4000), NOTHING);
}

#[test]
fn what_is_set_is_read_back() {
    let gains: Vec<u8> = (0..24).collect();
    for (kind, payload) in [
        (0x0002, &b"\x05husky"[..]),
        (0x0201, &gains[..]),
        (0x0202, &hex("e8 03 18 fc")[..]),
        (0x0204, &hex("32 00 0a 00 64 00")[..]),
        (0x0205, &hex("32 00 64 00 64 00")[..]),
        (0x0210, &hex("50 00 28 00")[..]),
        (0x0211, &hex("c8 00 c8 00")[..]),
    ] {
        let mut bench = Bench::new(HUSKY, |_| ());
        bench.set(kind, payload);
        assert_eq!(bench.request(kind + 0x4000), payload, "{kind:04x}");
    }
}

#[test]
fn velocities_turns_and_outputs_move_it() {
    for (kind, payload, wanted) in [
        // 0.5 m/s and 0.4 rad/s; the same motion as 0.5 m/s on a radius of 1.25 m; outputs of 50 % and -25 %.
        (0x0204, "32 00 28 00 f4 01", [0.5 - 0.11416, 0.5 + 0.11416]),
        (0x0205, "32 00 7d 00 f4 01", [0.5 - 0.11416, 0.5 + 0.11416]),
        (0x0202, "88 13 3c f6", [0.5, -0.25]),
    ] {
        let mut bench = Bench::new(HUSKY, |_| ());
        bench.set(kind, &hex(payload));
        bench.wait(200);
        assert_near(bench.treads(), wanted, 1e-9);
        bench.wait(100);
        assert_near(bench.treads(), [0.0; 2], 0.0);
    }
    let mut bench = Bench::new(HUSKY, |_| ());
    assert_eq!(bench.frames(&frame(0x0205, &hex("32 00 00 00 64 00")))[0].1, [8, 0]);
    assert_eq!(bench.frames(&frame(0x0202, &hex("11 27 00 00")))[0].1, [8, 0]);
}

#[test]
fn each_direction_has_its_own_largest_acceleration() {
    let mut bench = Bench::new(HUSKY, |_| ());
    bench.set(0x0211, &hex("c8 00 32 00"));
    // 0.5 m/s on the left and -0.5 m/s on the right, with the largest accelerations.
    bench.set(0x0200, &hex("32 00 ce ff 00 00 00 00"));
    bench.wait(100);
    assert_near(bench.treads(), [0.24, -0.06], 1e-9);
}

#[test]
fn safety_flags_of_the_host_hold_the_motors() {
    let mut bench = Bench::new(HUSKY, |_| ());
    let go = hex("32 00 32 00 f4 01 f4 01");
    bench.set(0x0200, &go);
    bench.wait(100);
    bench.set(0x0010, &[0x10, 0]);
    assert_eq!(bench.request(0x4010), [0x10, 0]);
    bench.set(0x0200, &go);
    bench.wait(100);
    assert_near(bench.treads(), [0.0; 2], 0.0);
    bench.set(0x0010, &[0, 0]);
    bench.set(0x0200, &go);
    bench.wait(150);
    assert_near(bench.treads(), [0.5; 2], 1e-9);
}

#[test]
fn stored_settings_survive_reset_and_power_off() {
    for is_stored in [false, true] {
        for is_cut in [false, true] {
            let cut = timed(BaseFault::PowerCycle, 300, 100);
            let faults = if is_cut { vec![cut] } else { Vec::new() };
            let mut bench = Bench::with_faults(HUSKY, faults, |_| ());
            bench.set(0x0002, b"\x03one");
            if is_stored {
                bench.set(0x2002, &[0x18, 0x3a]);
            }
            bench.set(0x0002, b"\x03two");
            let restored = if is_stored { &b"\x03one"[..] } else { b"\x04A200" };
            if is_cut {
                bench.wait(300);
            } else {
                bench.set(0x2000, &[0x18, 0x3a]);
                assert_eq!(bench.frames(&frame(0x4002, &[0, 0])), [], "it boots");
            }
            bench.wait(1200);
            assert_eq!(bench.request(0x4002), restored);
            bench.set(0x0002, b"\x03two");
            bench.set(0x2001, &[0x18, 0x3a, 1]);
            assert_eq!(bench.request(0x4002), restored);
            bench.set(0x2001, &[0x18, 0x3a, 2]);
            assert_eq!(bench.request(0x4002), b"\x04A200");
            let wrong = bench.frames(&frame(0x2000, &[0, 0]));
            assert_eq!(wrong, [(0x2000, vec![8, 0])], "a wrong pass code");
        }
    }
}

#[test]
fn time_stamps_follow_the_time_that_is_set() {
    let mut bench = Bench::new(HUSKY, |_| ());
    bench.set(0x0005, &1_000_000u32.to_le_bytes());
    let said = bench.ask(&frame(0x4010, &[0, 0]));
    let time = Framer::new(Horizon).frames(&said)[0].time;
    assert!((1_000_000..1_000_100).contains(&time), "{time}");
}

#[test]
fn husky_acknowledges_everything() {
    let mut bench = Bench::new(HUSKY, |_| ());
    // The clock reads 0x7B ms when the command is complete.
    bench.wait(122);
    let answer = bench.ask(&hex("AA 0F F0 00 00 00 00 00 00 11 02 55 F4 01 F4 01 3F 92"));
    assert_eq!(answer, hex("AA 0D F2 00 7B 00 00 00 00 11 02 55 00 00 45 CF"));
    let frames = |bytes: &[u8]| {
        crate::wire::framer::Framer::new(crate::wire::horizon::Horizon).frames(bytes)
    };
    let answer = frames(
        &bench.ask(&hex("AA 13 EC 00 00 00 00 00 00 00 02 55 32 00 E7 FF F4 01 F4 01 95 EE")),
    );
    assert_eq!((answer[0].kind, &answer[0].payload[..]), (0x0200, &[0u8, 0][..]));
    bench.wait(150);
    assert_near(bench.treads(), [0.5, -0.25], 1e-9);
    let answer = frames(&bench.ask(&hex("AA 0D F2 00 00 00 00 00 00 00 48 55 00 00 7C 43")));
    assert_eq!((answer[0].kind, answer[1].kind), (0x4800, 0x8800));
    let encoders: crate::wire::horizon::Encoders =
        crate::wire::horizon::payload(&answer[1]).unwrap();
    assert_eq!(encoders.speed_mm_s, [500, -250]);
    assert!(encoders.travel_mm[0] > 30 && encoders.travel_mm[1] < -15, "{encoders:?}");
    let answer = bench.ask(&hex("AA 0D F2 00 00 00 00 00 00 01 40 55 00 00 EE 6C"));
    assert_eq!(frames(&answer)[1].payload, hex("04 41 32 30 30 01 2A 00 00 00"));
    // After 250 ms without a command the robot stops and reports that.
    bench.wait(200);
    assert_near(bench.treads(), [0.0, 0.0], 0.0);
    let frame = |kind, payload: &[u8]| {
        let mut out = Vec::new();
        crate::wire::horizon::Frame::new(0, kind, payload).emit(&mut out);
        out
    };
    let safety = |bench: &mut Bench| frames(&bench.ask(&frame(0x4010, &[0, 0])))[1].payload.clone();
    assert_eq!(safety(&mut bench), [1, 0]);
    bench.say(&frame(0x0200, &[0; 8]));
    assert_eq!(safety(&mut bench), [0, 0]);
    for (said, code) in [
        (frame(0x4999, &[0, 0]), 2),
        (frame(0x0123, &[0, 0]), 2),
        (frame(0x0200, &[0; 7]), 4),
        (frame(0x4800, &[0]), 4),
        (frame(0x0210, &[0xff; 4]), 8),
        (frame(0x4800, &[0xe8, 3]), 0x20),
        (hex("AA 0D F2 00 00 00 00 00 00 00 48 55 00 00 7C 44"), 1),
    ] {
        let answer = frames(&bench.ask(&said));
        assert_eq!((answer.len(), answer[0].payload[0]), (1, code), "{said:02x?}");
    }
    // Subscription at 20 Hz.
    bench.say(&frame(0x4800, &[20, 0]));
    bench.wait(10);
    bench.sent.clear();
    bench.wait(500);
    assert_eq!(bench.sent.len(), 10);
    bench.say(&frame(0x4800, &[0xff, 0xff]));
    bench.wait(10);
    bench.sent.clear();
    bench.wait(500);
    assert_eq!(bench.sent.len(), 0);
}
