//! Tests of reboot and power-off.

use super::*;
use crate::config::rig::schedule::Schedule;

const MS: u64 = 1_000_000;
/// Longer than the boot time of the profile.
const BOOT_MS: u64 = 15_000;

/// Values that hosts can change: scan frequency, location name, a filter.
fn state(bench: &mut Bench, peer: Peer) -> [String; 3] {
    ["sRN LMPscancfg", "sRN LocationName", "sRN LFPparticle"].map(|read| bench.ask(peer, read))
}

fn change(bench: &mut Bench, peer: Peer) {
    bench.ask(peer, LOGIN);
    let scan = bench.ask(peer, "sMN mLMPsetscancfg +2500 +1 +2500 -450000 +2250000");
    assert!(scan.starts_with("sAN mLMPsetscancfg 0 "), "{scan}");
    assert_eq!(bench.ask(peer, "sWN LocationName 5 front"), "sWA LocationName");
    assert_eq!(bench.ask(peer, "sWN LFPparticle 1 1F4"), "sWA LFPparticle");
}

#[test]
fn a_reboot_keeps_what_was_saved_and_forgets_the_rest() {
    for is_saved in [false, true] {
        let mut bench = lms111();
        let peer = bench.connect(0);
        let before = state(&mut bench, peer);
        change(&mut bench, peer);
        let changed = state(&mut bench, peer);
        assert!(before.iter().zip(&changed).all(|(a, b)| a != b), "{before:?} {changed:?}");
        if is_saved {
            assert_eq!(bench.ask(peer, "sMN mEEwriteall"), "sAN mEEwriteall 1");
        }
        bench.ask(peer, "sEN LMDscandata 1");
        assert_eq!(bench.ask(peer, "sMN mSCreboot"), "sAN mSCreboot");
        assert_eq!(bench.hung_up, [peer]);
        // The scanner ignores input while it starts, and sends no scans.
        let next = bench.connect(1);
        bench.telegrams.clear();
        bench.run_ms(BOOT_MS - 1000);
        bench.say(next, Dialect::A, b"sRN SCdevicestate");
        bench.run_ms(500);
        assert!(bench.telegrams.is_empty());
        bench.run_ms(600);
        assert_eq!(bench.ask(next, "sRN SCdevicestate"), "sRA SCdevicestate 1");
        let wanted = if is_saved { changed } else { before };
        assert_eq!(state(&mut bench, next), wanted);
        assert_eq!(bench.ask(next, "sRN ODpwrc"), "sRA ODpwrc 609");
        assert_eq!(bench.ask(next, "sWN LocationName 1 x"), "sFA A", "the login is over");
        // Scan numbers and clocks restart with the scanner.
        bench.ask(next, "sEN LMDscandata 1");
        bench.run_ms(200);
        let scans = bench.scans(Some(next));
        let first = &scans[0].1;
        assert!(first.scan_counter < 60 && first.telegram_counter < 60, "{first:?}");
        assert!(first.start_us < 20_000_000, "{first:?}");
    }
}

#[test]
fn without_power_nobody_can_connect() {
    let mut bench = lms111();
    let schedule =
        Schedule { start: SimTime(500 * MS), duration_ns: Some(1000 * MS), period_ns: None };
    let cut = Timed { fault: 0, schedule, kind: PowerCycle };
    bench.unit.set_faults(&DeviceFaults::from(vec![cut]));
    let peer = bench.connect(0);
    change(&mut bench, peer);
    bench.ask(peer, "sMN mEEwriteall");
    bench.ask(peer, "sMN LSPsetdatetime 7E6 1 2 3 4 5 0");
    bench.ask(peer, "sEN LMDscandata 1");
    let saved = state(&mut bench, peer);
    bench.ask(peer, "sWN LFPparticle 0 0");
    bench.run_ms(500 - bench.unit.clock.0 / MS);
    assert_eq!(bench.hung_up, [peer]);
    bench.telegrams.clear();
    bench.run_ms(300);
    bench.connect(1);
    bench.run_ms(1);
    assert_eq!(bench.hung_up.len(), 2);
    bench.run_ms(800);
    let peer = bench.connect(2);
    bench.run_ms(BOOT_MS);
    assert_eq!(bench.hung_up.len(), 2);
    assert!(bench.telegrams.is_empty());
    assert_eq!(state(&mut bench, peer), saved);
    let status = bench.ask(peer, "sRN STlms");
    assert!(status.contains("00:00:15 A 01.01.1970"), "the clock is not kept: {status}");
}

#[test]
fn factory_defaults_come_back_and_are_saved_like_others() {
    let mut bench = lms111();
    let peer = bench.connect(0);
    let factory = state(&mut bench, peer);
    change(&mut bench, peer);
    bench.ask(peer, "sMN mEEwriteall");
    assert_eq!(bench.ask(peer, "sMN mSCloadfacdef"), "sAN mSCloadfacdef");
    assert_eq!(state(&mut bench, peer), factory);
    bench.ask(peer, "sMN mSCreboot");
    let peer = bench.connect(1);
    bench.run_ms(BOOT_MS + 100);
    assert_ne!(state(&mut bench, peer), factory);
}
