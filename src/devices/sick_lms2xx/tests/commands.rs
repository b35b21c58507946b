//! Tests of the command table and of power cycles.

use super::super::commands::table;
use super::*;
use crate::commands::{CommandRow, Conduct, variants};

fn payload(row: &CommandRow) -> Vec<u8> {
    let bytes = row.request.split(' ').map(|byte| u8::from_str_radix(byte, 16).unwrap());
    let bytes: Vec<u8> = bytes.collect();
    let mut framer = Framer::new(Telegrams::of([0, 0]));
    let Some(Item::Telegram { payload, .. }) = framer.next_frame(&mut &bytes[..]) else {
        panic!("{row:?}");
    };
    payload
}

#[test]
fn every_command_does_what_the_table_says() {
    for profile in ["sick-lms200-v2.30", "sick-lms291-s05-x1.27", "sick-lms291-s14"] {
        let profile_of = |bench: &Bench| table(&bench.unit.profile).rows;
        for row in profile_of(&Bench::new(profile, |_| ())) {
            for (place, payload) in variants(&payload(&row)).iter().enumerate() {
                // Without a payload there is no telegram; malformed telegrams are tested with one model only.
                if payload.is_empty() || (place > 0 && profile != "sick-lms291-s14") {
                    continue;
                }
                let mut bench = Bench::fast(profile, PowerOnMode::OnRequest);
                bench.unit.settings.restart_ns = 500 * MS;
                if row.code == "77" {
                    let installation = Mode::Installation { password: FACTORY_PASSWORD };
                    bench.ask(&Command::Switch(installation));
                }
                bench.sent.clear();
                bench.unit.handle_input(SimTime(bench.now), &frame::emit(0, payload));
                bench.run_ms(400);
                let replies = bench.replies();
                let first = replies.into_iter().find_map(|(_, reply)| reply);
                let body = first.unwrap_or_else(|| panic!("{row:?}: silence")).body;
                let is_refused = match body {
                    Body::IncorrectCommand => true,
                    Body::VariantSwitched { accepted, .. } => !accepted,
                    Body::Switched(result) => result != SwitchResult::Done,
                    Body::Configured { accepted, .. } => !accepted,
                    _ => false,
                };
                let wanted = matches!(row.conduct, Conduct::Refused | Conduct::NotMade);
                assert!(place > 0 || is_refused == wanted, "{profile} {row:?}");
                bench.run_ms(600);
                assert!(matches!(bench.ask(&Command::Status), Body::Status(_)), "{row:?}");
            }
        }
    }
}

#[test]
fn without_power_it_forgets_all_but_what_is_stored() {
    let mut bench = Bench::fast("sick-lms291-s05-x1.27", PowerOnMode::OnRequest);
    bench.unit.settings.restart_ns = 500 * MS;
    let schedule =
        Schedule { start: SimTime(3000 * MS), duration_ns: Some(1000 * MS), period_ns: None };
    let cut = Timed { fault: 0, schedule, kind: PowerCycle };
    bench.unit.set_faults(&DeviceFaults::from(vec![cut]));
    let Body::OperatingData { power_on_count, .. } = bench.ask(&Command::OperatingData) else {
        panic!("no counter");
    };
    let variant = Variant { angle_deg: 100, resolution_centideg: 100 };
    bench.ask(&Command::SwitchVariant(variant));
    bench.ask(&Command::PermanentRate(false));
    bench.ask(&Command::Switch(Mode::Continuous));
    bench.run_ms(2990 - bench.now / MS);
    assert!(!scans(&mut bench).is_empty());
    bench.run_ms(100);
    bench.sent.clear();
    bench.say(&Command::Status);
    bench.run_ms(900);
    assert!(bench.sent.is_empty(), "it has no power");
    bench.run_ms(1000);
    let replies = bench.replies();
    let [(due, Some(Reply { body: Body::PowerOn { .. }, .. }))] = &replies[..] else {
        panic!("{replies:?}");
    };
    assert!((4500 * MS..4520 * MS).contains(due), "{due}");
    assert_eq!(bench.unit.rate, LineRate::Baud9600);
    let Body::Status(state) = bench.ask(&Command::Status) else { panic!("no status") };
    assert_eq!((state.operating_mode, state.angle_deg), (0x25, 100));
    let count = bench.ask(&Command::OperatingData);
    let wanted = power_on_count + 1;
    assert!(
        matches!(count, Body::OperatingData { power_on_count, .. } if power_on_count == wanted)
    );
}
