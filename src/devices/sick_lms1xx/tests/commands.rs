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
        ("LIDinputstate", "sSN LIDinputstate 0 0 0 0 0 0 0"),
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

#[test]
fn outputs_change_and_subscribers_hear_of_it() {
    let mut bench = lms111();
    let (peer, other) = (bench.connect(0), bench.connect(1));
    bench.ask(peer, LOGIN);
    bench.ask_in(Dialect::B, other, "sEN LIDoutputstate 1");
    bench.telegrams.clear();
    assert_eq!(bench.ask(peer, "sMN mDOSetOutput 2 1"), "sAN mDOSetOutput 1");
    let told = bench.telegrams.iter().find(|(_, to, ..)| *to == Some(other)).unwrap();
    let told = Telegram::parse(Dialect::B, &told.3).unwrap().emit(Dialect::A);
    assert!(told.starts_with(b"sSN LIDoutputstate 0 0 0 A 1 B 0 A 2 0"), "{told:?}");
    // None of these causes an event: an unchanged state; an output that this model lacks (it has three); an unknown
    // state.
    bench.telegrams.clear();
    assert_eq!(bench.ask(peer, "sMN mDOSetOutput 2 1"), "sAN mDOSetOutput 1");
    assert_eq!(bench.ask(peer, "sMN mDOSetOutput 4 1"), "sAN mDOSetOutput 0");
    assert_eq!(bench.ask(peer, "sMN mDOSetOutput 1 2"), "sAN mDOSetOutput 0");
    assert!(bench.telegrams.iter().all(|(_, to, ..)| *to == Some(peer)));
    bench.ask(peer, "sEN LMDscandata 1");
    bench.run_ms(100);
    assert_eq!(bench.scans(Some(peer))[0].1.digital_outputs, [5, 0]);
    bench.ask(peer, "sMN LIDrstoutpcnt");
    let read = bench.ask(peer, "sRN LIDoutputstate");
    assert!(read.starts_with("sRA LIDoutputstate 0 0 0 0 1 0 0 0 2 0"), "{read}");
    // No events after the end of the subscription.
    bench.ask_in(Dialect::B, other, "sEN LIDoutputstate 0");
    bench.telegrams.clear();
    bench.ask(peer, "sMN mDOSetOutput 2 0");
    assert!(bench.telegrams.iter().all(|(_, to, ..)| *to == Some(peer)));
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
