//! Tests of the command table, and of events other than scans.

use super::super::commands::table;
use super::*;
use crate::commands::{Conduct, constants_hold};

/// Type of the answer to a command whose text starts with `code`.
fn answer_kind(code: &str) -> &'static str {
    match &code[..3] {
        "sWN" => "sWA",
        "sMN" => "sAN",
        "sEN" => "sEA",
        _ => "sRA",
    }
}

#[test]
fn every_command_does_what_the_table_says() {
    for profile in ["sick-lms111", "sick-lms511"] {
        let rows = table(&Bench::new(profile, "").unit.profile).rows;
        for row in &rows {
            let text = row.request.as_bytes();
            let long = [text, b" 1"].concat();
            let variants = [text, &text[..text.len() - 1], &long, &[text, text].concat()];
            for (place, content) in variants.into_iter().enumerate() {
                for dialect in [Dialect::A, Dialect::B] {
                    // Malformed commands are handled alike in all models, so one model is tested.
                    if place > 0 && (dialect == Dialect::B || profile == "sick-lms111") {
                        continue;
                    }
                    let mut bench = Bench::new(profile, "");
                    let peer = bench.connect(0);
                    bench.ask(peer, LOGIN);
                    // Commands that CoLa-A can express are also sent in CoLa-B.
                    let binary = Telegram::parse(Dialect::A, content);
                    let content = match (dialect, binary) {
                        (Dialect::A, _) => content.to_vec(),
                        (Dialect::B, Ok(telegram)) => telegram.emit(Dialect::B),
                        (Dialect::B, Err(_)) => content.to_vec(),
                    };
                    bench.telegrams.clear();
                    bench.say(peer, dialect, &content);
                    bench.run_ms(60);
                    let (.., said) = &bench.telegrams[0];
                    let said = String::from_utf8_lossy(said).into_owned();
                    let is_refused = matches!(row.conduct, Conduct::Refused | Conduct::NotMade);
                    let wanted = if is_refused { "sFA" } else { answer_kind(row.code) };
                    assert!(place > 0 || said.starts_with(wanted), "{profile} {row:?}: {said}");
                    assert!(bench.telegrams.iter().all(|(.., said)| said.len() < 10_000));
                    if !bench.hung_up.is_empty() {
                        assert_eq!(row.code, "sMN mSCreboot");
                        continue;
                    }
                    let state = bench.ask(peer, "sRN SCdevicestate");
                    assert!(state.starts_with("sRA SCdevicestate "), "{row:?}: {state}");
                }
            }
        }
    }
}

#[test]
fn constant_answers_stay_whatever_is_set() {
    for profile in ["sick-lms111", "sick-lms511"] {
        let mut bench = Bench::new(profile, "");
        let rows = table(&bench.unit.profile).rows;
        let peer = bench.connect(0);
        constants_hold(&rows, &["sMN mSCreboot"], |row| {
            bench.ask(peer, LOGIN);
            bench.ask(peer, row.request)
        });
    }
}

#[test]
fn what_is_kept_is_read_back_as_it_was_written() {
    for row in table(&Bench::new("sick-lms511", "").unit.profile).rows {
        if row.conduct != Conduct::Kept {
            continue;
        }
        let mut bench = Bench::new("sick-lms511", "");
        let peer = bench.connect(0);
        bench.ask(peer, LOGIN);
        bench.ask(peer, row.request);
        let read = row.code.replace("sWN", "sRN");
        let wanted = row.request.replace("sWN", "sRA");
        assert_eq!(bench.ask(peer, &read), wanted);
    }
}

/// Telegrams of a real LMS511 after a subscription, from logs of users of sick_scan_xd.
#[test]
fn a_subscriber_is_told_the_present_state_at_once() {
    let outputs = "sSN LIDoutputstate 0 0 0 A 0 A 0 A 0 A 0 A 0 A \
                   2 0 2 0 2 0 2 0 2 0 2 0 2 0 2 0 0";
    let mut bench = Bench::new("sick-lms511", "");
    let peer = bench.connect(0);
    for (event, told) in [
        ("LFErec", "sSN LFErec 0"),
        ("LIDoutputstate", outputs),
        ("LIDinputstate", "sSN LIDinputstate 0 29742D 0 0 0 0 1 7B2 1 1 0 0 2 79950"),
    ] {
        for dialect in [Dialect::A, Dialect::B] {
            bench.telegrams.clear();
            let wanted = format!("sEA {event} 1");
            assert_eq!(bench.ask_in(dialect, peer, &format!("sEN {event} 1")), wanted);
            assert_eq!(bench.telegrams.len(), 2, "the answer and the event");
            let (.., content) = &bench.telegrams[1];
            let telegram = Telegram::parse(dialect, content).unwrap();
            assert_eq!(telegram.emit(Dialect::A), told.as_bytes());
            let read = told.replace("sSN", "sRA");
            assert_eq!(bench.ask_in(dialect, peer, &format!("sRN {event}")), read);
        }
    }
    let (.., content) = &bench.telegrams[0];
    assert_eq!(content.len(), frame::emit(Dialect::B, content).len() - 9);
    bench.telegrams.clear();
    bench.ask_in(Dialect::B, peer, "sEN LFErec 1");
    let (.., content) = &bench.telegrams[1];
    let golden = [&b"\x02\x02\x02\x02\0\0\0\x0dsSN LFErec "[..], &[0, 0, 0x55]].concat();
    assert_eq!(frame::emit(Dialect::B, content), golden);
}

/// Layout and states at power-on as in a log of an LMS1xx: three outputs, eight of an extension, and a time.
#[test]
fn outputs_change_and_subscribers_hear_of_it() {
    let mut bench = lms111();
    let (peer, other) = (bench.connect(0), bench.connect(1));
    let outputs = "sRA LIDoutputstate 1 3938700 1 A 1 A 1 A \
                   2 0 2 0 2 0 2 0 2 0 2 0 2 0 2 0 1 7B2 1 1 0 1 0 0";
    for dialect in [Dialect::A, Dialect::B] {
        assert_eq!(bench.ask_in(dialect, peer, "sRN LIDoutputstate"), outputs);
    }
    bench.ask(peer, LOGIN);
    bench.ask_in(Dialect::B, other, "sEN LIDoutputstate 1");
    bench.run_ms(1000 - bench.unit.clock.0 / 1_000_000);
    bench.telegrams.clear();
    assert_eq!(bench.ask(peer, "sMN mDOSetOutput 2 0"), "sAN mDOSetOutput 1");
    let told = bench.telegrams.iter().find(|(_, to, ..)| *to == Some(other)).unwrap();
    let told = Telegram::parse(Dialect::B, &told.3).unwrap().emit(Dialect::A);
    // The command is executed one millisecond after it arrives.
    let wanted = format!("sSN LIDoutputstate 1 {:X} 1 A 0 B 1 A 2 0 2 0", 61_001_000);
    assert!(told.starts_with(wanted.as_bytes()), "{told:?}");
    assert!(told.ends_with(b" 2 0 1 7B2 1 1 0 1 1 3E8"), "{told:?}");
    // None of these causes an event: an unchanged state; an output that this model lacks (it has three); an unknown
    // state.
    bench.telegrams.clear();
    assert_eq!(bench.ask(peer, "sMN mDOSetOutput 2 0"), "sAN mDOSetOutput 1");
    assert_eq!(bench.ask(peer, "sMN mDOSetOutput 4 1"), "sAN mDOSetOutput 0");
    assert_eq!(bench.ask(peer, "sMN mDOSetOutput 1 2"), "sAN mDOSetOutput 0");
    assert!(bench.telegrams.iter().all(|(_, to, ..)| *to == Some(peer)));
    bench.ask(peer, "sEN LMDscandata 1");
    bench.run_ms(100);
    assert_eq!(bench.scans(Some(peer))[0].1.digital_outputs, [5, 0]);
    assert_eq!(bench.ask(peer, "sMN LIDrstoutpcnt"), "sAN LIDrstoutpcnt 0");
    let read = bench.ask(peer, "sRN LIDoutputstate");
    assert!(read.contains(" 1 0 0 0 1 0 2 0 2 0"), "{read}");
    // No events after the end of the subscription.
    bench.ask_in(Dialect::B, other, "sEN LIDoutputstate 0");
    bench.telegrams.clear();
    bench.ask(peer, "sMN mDOSetOutput 2 1");
    assert!(bench.telegrams.iter().all(|(_, to, ..)| *to == Some(peer)));
}

/// A set bit in LMDscandata and the state 1 in LIDoutputstate both mean that an output is on.
#[test]
fn scans_and_states_of_outputs_agree() {
    let mut bench = Bench::new("sick-lms511", "");
    let peer = bench.connect(0);
    bench.ask(peer, LOGIN);
    bench.ask(peer, "sEN LMDscandata 1");
    for (command, bits) in [
        ("sRN LIDoutputstate", 0),
        ("sMN mDOSetOutput 1 1", 1),
        ("sMN mDOSetOutput 6 1", 0x21),
        ("sMN mDOSetOutput 1 0", 0x20),
    ] {
        bench.ask(peer, command);
        bench.telegrams.clear();
        bench.run_ms(100);
        assert_eq!(bench.scans(Some(peer))[0].1.digital_outputs, [bits, 0], "{command}");
        let state = bench.ask(peer, "sRN LIDoutputstate");
        let states = state.split(' ').skip(4).step_by(2).take(6);
        let states: Vec<_> = states.map(|state| state == "1").collect();
        assert_eq!(states, [0, 1, 2, 3, 4, 5].map(|output| bits >> output & 1 == 1), "{state}");
    }
}

#[test]
fn hosts_set_the_clock_and_passwords() {
    let mut bench = lms111();
    let peer = bench.connect(0);
    assert_eq!(bench.ask(peer, "sMN LSPsetdatetime 7E6 1 2 3 4 5 0"), "sFA 1");
    bench.ask(peer, LOGIN);
    assert_eq!(bench.ask(peer, "sMN LSPsetdatetime 7E6 1 2 3 4 5 0"), "sAN LSPsetdatetime 1");
    bench.run_ms(2000);
    assert_eq!(bench.ask(peer, "sRN STlms"), "sRA STlms 7 0 8 03:04:07 A 02.01.2022 0 0 0");
    assert_eq!(bench.ask(peer, "sMN LSPsetdatetime 7E6 D 2 3 4 5 0"), "sAN LSPsetdatetime 0");
    assert_eq!(bench.ask(peer, "sMN SetPassword 3 12345678"), "sAN SetPassword 1");
    assert_eq!(bench.ask(peer, "sMN SetPassword 4 12345678"), "sAN SetPassword 0");
    assert_eq!(bench.ask(peer, "sMN CheckPassword 3 F4724744"), "sAN CheckPassword 0");
    assert_eq!(bench.ask(peer, "sMN CheckPassword 3 12345678"), "sAN CheckPassword 1");
}
