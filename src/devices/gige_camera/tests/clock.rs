//! Tests of timestamps and PTP.

use super::*;
use crate::gige_camera::profile::PtpState;

#[test]
fn a_locked_clock_shows_the_masters_time() {
    let mut bench = Bench::with(|settings| settings.ptp = PtpState::Locked);
    bench.open();
    assert_eq!((bench.read(0x096c), bench.read(at::PTP_STATUS)), (9, 3));
    bench.write(at::PTP_LATCH, 1);
    assert_eq!(bench.read(at::PTP_STATUS), 9);
    // A host cannot reset a clock that a PTP master sets.
    assert_eq!(bench.write_as(1, 0x0944, 1), status::ACCESS_DENIED);
    bench.write(at::START, 1);
    bench.run_ms(150);
    let (_, first) = bench.leaders()[0];
    assert!((37_000_000_000..37_100_000_000).contains(&first), "{first}");
    // Without PTP the clock continues from its last reading.
    bench.write(0x0954, 0);
    bench.sent.clear();
    bench.run_ms(150);
    let (_, next) = bench.leaders()[0];
    assert_eq!((next - first) % 100_000_000, 0);
    assert_eq!(bench.read(0x096c), 3);
    bench.write(0x0944, 1);
    bench.write(0x0944, 2);
    assert_eq!((bench.read(0x0948), bench.read(0x094c)), (0, 0));
}

#[test]
fn a_virtual_master_sets_the_clock() {
    let mut bench = Bench::with(|settings| settings.ptp = PtpState::Virtual);
    bench.open();
    bench.write(0x0954, 1 << 19 | 1);
    bench.run_ms(30_000);
    assert_eq!(bench.read(0x096c), 9);
    bench.write(at::START, 1);
    bench.run_ms(150);
    let (due, bytes) = &bench.sent[0];
    let Some((_, _, Part::Leader(leader))) = parse(bytes) else { panic!("no leader") };
    let off_ns = leader.timestamp as i64 - 37_000_000_000 - due.0 as i64;
    assert!((-3_000_000..0).contains(&off_ns), "{off_ns}");
}
