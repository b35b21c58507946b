use proptest::prelude::*;

use super::*;

const START: &str = "2026-06-01T12:34:56.25Z";
const SECOND: u64 = 1_000_000_000;
const NOISE_FREE: LineSettings = LineSettings::eight_n_one(9600);

fn settings() -> ClockSettings {
    ClockSettings {
        reference: ClockReference::FreeRunning,
        power_up_us: 0,
        drift_s_per_day: 5.0,
        gps_baud: 9600,
        sentences: vec![TimeSentence::Rmc],
        needs_valid: true,
        pps_lock_s: 5,
        pps_tolerance_ns: 500_000,
        pps_absent_after_ns: 1_500_000_000,
        nmea_absent_after_ns: 2_500_000_000,
    }
}

fn clock(change: impl FnOnce(&mut ClockSettings)) -> DeviceClock {
    let mut settings = settings();
    change(&mut settings);
    DeviceClock::new(&settings, Epoch::new(START.parse().unwrap()))
}

fn still(settings: &mut ClockSettings) {
    settings.drift_s_per_day = 0.0;
}

fn sentence(body: &str) -> CableSignal {
    let sum = body.bytes().fold(0, |sum, byte| sum ^ byte);
    CableSignal::Bytes(format!("${body}*{sum:02X}\r\n").into_bytes(), NOISE_FREE)
}

fn rmc(time: &str, status: &str, date: &str) -> CableSignal {
    let text = format!("GPRMC,{time},{status},4717.1140,N,00833.9159,E,000.0,000.0,{date},002.9,E");
    sentence(&text)
}

/// Sends pulses at these times, nanoseconds.
fn pulses(clock: &mut DeviceClock, instants: impl IntoIterator<Item = u64>) {
    for at in instants {
        clock.handle_signal(SimTime(at), &CableSignal::PulsePerSecond(true));
        clock.handle_signal(SimTime(at + SECOND / 10), &CableSignal::PulsePerSecond(false));
    }
}

#[test]
fn without_a_receiver_it_counts_from_power_up_and_drifts() {
    let clock = clock(|settings| settings.power_up_us = 3_599_000_000);
    assert_eq!(clock.micros_past_hour(SimTime(0)), 3_599_000_000);
    // The count wraps at the hour.
    assert_eq!(clock.micros_past_hour(SimTime(SECOND)), 57);
    let day = SimTime(86_400 * SECOND);
    assert_eq!(clock.micros_past_hour(day), 4_000_000);
    assert_eq!(clock.civil(SimTime(0)).to_string(), "2000-01-01T00:59:59");
    assert_eq!((clock.pps(day), clock.has_nmea(day)), (PpsState::Absent, false));
    assert!(clock.sentence().is_empty());
}

#[test]
fn a_clock_that_is_right_by_itself_shows_utc() {
    let clock = clock(|settings| settings.reference = ClockReference::Utc);
    assert_eq!(clock.micros_past_hour(SimTime(1_500)), (34 * 60 + 56) * 1_000_000 + 250_001);
    assert_eq!(clock.civil(SimTime(0)).to_string(), "2026-06-01T12:34:56.25");
    assert_eq!((clock.pps(SimTime(0)), clock.has_nmea(SimTime(0))), (PpsState::Locked, true));
}

#[test]
fn pulse_and_sentence_pull_it_in() {
    let mut clock = clock(|_| {});
    // The first second of UTC begins at 0.75 s. PPS locks after five good seconds.
    let edge = |second: u64| SECOND * 3 / 4 + second * SECOND;
    for second in 0..5 {
        pulses(&mut clock, [edge(second)]);
        assert_eq!(clock.pps(SimTime(edge(second))), PpsState::Synchronizing, "{second}");
    }
    // Before that, the clock counts from power-up.
    assert_eq!(clock.micros_past_hour(SimTime(edge(5))), 5_750_332);
    pulses(&mut clock, [edge(5)]);
    assert_eq!(clock.pps(SimTime(edge(5))), PpsState::Locked);
    // The pulse sets only the fraction: no sentence has set the second yet.
    assert_eq!(clock.micros_past_hour(SimTime(edge(5))), 6_000_000);
    let heard = SimTime(edge(5) + 260_000_000);
    clock.handle_signal(heard, &rmc("123502", "A", "010626"));
    // The sentence set 12:35:02 at the edge; the oscillator has run 15 us fast since then.
    assert_eq!(clock.micros_past_hour(heard), (35 * 60 + 2) * 1_000_000 + 260_015);
    assert_eq!(clock.civil(SimTime(edge(5) + SECOND / 2)).date().to_string(), "2026-06-01");
    assert!(clock.has_nmea(heard));
    assert!(clock.sentence().starts_with(b"$GPRMC,123502,A,"));
    assert!(clock.sentence().ends_with(b"\r\n"));
}

#[test]
fn each_half_of_the_count_has_its_own_signal() {
    // Only sentences: minutes and seconds are right, the fraction is free-running.
    let mut nmea = clock(still);
    nmea.handle_signal(SimTime(SECOND), &rmc("123457.75", "A", "010626"));
    assert_eq!(nmea.micros_past_hour(SimTime(SECOND)), (34 * 60 + 57) * 1_000_000);
    assert_eq!(nmea.pps(SimTime(SECOND)), PpsState::Absent);
    // Only pulses: the fraction is right, minutes and seconds are not set.
    let mut pps = clock(still);
    pulses(&mut pps, (0..7).map(|second| SECOND * 3 / 4 + second * SECOND));
    assert_eq!(pps.micros_past_hour(SimTime(SECOND * 27 / 4)), 7_000_000);
    assert!(!pps.has_nmea(SimTime(SECOND * 27 / 4)));
}

fn locked() -> DeviceClock {
    let mut clock = clock(|_| {});
    pulses(&mut clock, (0..=6).map(|second| SECOND * 3 / 4 + second * SECOND));
    clock.handle_signal(SimTime(7 * SECOND), &rmc("123503", "A", "010626"));
    clock
}

#[test]
fn it_drifts_on_when_the_cable_is_cut() {
    let clock = locked();
    let at = |second: u64| SimTime(SECOND * 3 / 4 + second * SECOND);
    assert_eq!(clock.pps(SimTime(at(7).0 + 400_000_000)), PpsState::Locked);
    assert_eq!(clock.pps(SimTime(at(7).0 + 600_000_000)), PpsState::Absent);
    assert!(!clock.has_nmea(at(9)));
    // After a day the clock is 5 s fast.
    let later = 86_400 + 6;
    let utc = (35 * 60 + 3) * 1_000_000;
    assert_eq!(clock.micros_past_hour(at(later)), utc + 5_000_000);
    // The last sentence is still available.
    assert!(clock.sentence().starts_with(b"$GPRMC,123503"));
}

#[test]
fn a_pulse_that_comes_back_must_be_steady_again() {
    let mut clock = locked();
    let at = |second: u64| SECOND * 3 / 4 + second * SECOND;
    pulses(&mut clock, [at(60)]);
    assert_eq!(clock.pps(SimTime(at(60))), PpsState::Synchronizing);
    // The drift of 54 s remains.
    assert_eq!(clock.micros_past_hour(SimTime(at(60))) % 1_000_000, 3125);
    pulses(&mut clock, (61..=65).map(at));
    assert_eq!(clock.pps(SimTime(at(65))), PpsState::Locked);
    assert_eq!(clock.micros_past_hour(SimTime(at(65))), (35 * 60 + 62) * 1_000_000);
}

#[test]
fn a_pulse_off_the_second_is_an_error_at_once() {
    let mut clock = locked();
    let at = SECOND * 3 / 4 + 7 * SECOND + 2_000_000;
    let before = clock.micros_past_hour(SimTime(at));
    pulses(&mut clock, [at]);
    assert_eq!(clock.pps(SimTime(at)), PpsState::Error);
    assert_eq!(clock.micros_past_hour(SimTime(at)), before);
    // After one good second the state is synchronizing.
    pulses(&mut clock, [at + SECOND]);
    assert_eq!(clock.pps(SimTime(at + SECOND)), PpsState::Synchronizing);
    // Ten pulses per second are no valid PPS.
    pulses(&mut clock, (1..20).map(|tenth| at + SECOND + tenth * SECOND / 10));
    assert_eq!(clock.pps(SimTime(at + 3 * SECOND)), PpsState::Error);
}

#[test]
fn the_hour_and_the_leap_second_wrap() {
    let mut clock = clock(still);
    let mut shown = |second: u64, time: &str, date: &str| {
        let edge = second * SECOND;
        pulses(&mut clock, [edge]);
        clock.handle_signal(SimTime(edge + SECOND / 4), &rmc(time, "A", date));
        [0, SECOND / 2].map(|after| clock.micros_past_hour(SimTime(edge + after + SECOND / 4)))
    };
    for second in 0..6 {
        shown(second, &format!("2359{}", 52 + second), "311216");
    }
    assert_eq!(shown(6, "235958", "311216"), [3_598_250_000, 3_598_750_000]);
    assert_eq!(shown(7, "235959", "311216"), [3_599_250_000, 3_599_750_000]);
    assert_eq!(shown(8, "235960", "311216"), [250_000, 750_000]);
    assert_eq!(shown(9, "000000", "010117"), [250_000, 750_000]);
    assert_eq!(shown(10, "000001", "010117"), [1_250_000, 1_750_000]);
    assert_eq!(clock.civil(SimTime(10 * SECOND)).to_string(), "2017-01-01T00:00:01");
}

#[test]
fn what_a_receiver_without_a_fix_says_is_echoed_but_not_believed() {
    let mut clock = clock(still);
    clock.handle_signal(SimTime(SECOND), &rmc("092725", "V", "211126"));
    assert_eq!(clock.micros_past_hour(SimTime(SECOND)), 1_000_000);
    assert!(clock.sentence().starts_with(b"$GPRMC,092725,V"));
    let states = |clock: &DeviceClock, second: u64| {
        let at = SimTime(second * SECOND);
        (clock.has_nmea(at), clock.has_valid_nmea(at))
    };
    assert_eq!((states(&clock, 2), states(&clock, 4)), ((true, false), (false, false)));
    let mut trusting = self::clock(|settings| {
        still(settings);
        settings.needs_valid = false;
    });
    trusting.handle_signal(SimTime(SECOND), &rmc("092725", "V", "211126"));
    assert_eq!((states(&trusting, 2), states(&trusting, 4)), ((true, true), (false, false)));
    assert_eq!(trusting.micros_past_hour(SimTime(SECOND)), (27 * 60 + 25) * 1_000_000);
}

#[test]
fn only_known_sentences_at_the_right_rate_are_heard() {
    let mut clock = clock(still);
    let unheard = [
        sentence("GNRMC,123457,A,,,,,,,010626,,"),
        sentence("GPGGA,123457,4717.1140,N,00833.9159,E,1,08,1.0,400.0,M,48.0,M,,"),
        sentence("GPRMC,123461,A,,,,,,,010626,,"),
        CableSignal::Bytes(b"$GPRMC,123457,A,,,,,,,010626,,*00\r\n".to_vec(), NOISE_FREE),
    ];
    for signal in unheard {
        clock.handle_signal(SimTime(SECOND), &signal);
        assert_eq!(clock.micros_past_hour(SimTime(SECOND)), 1_000_000, "{signal:?}");
    }
    let CableSignal::Bytes(bytes, _) = rmc("123457", "A", "010626") else { panic!("no bytes") };
    let mut deaf = self::clock(still);
    for baud in [4800, 38_400] {
        let signal = CableSignal::Bytes(bytes.clone(), LineSettings::eight_n_one(baud));
        deaf.handle_signal(SimTime(SECOND), &signal);
        assert!(deaf.sentence().is_empty(), "{baud}");
    }
    // A sentence in pieces, after noise, with CR as line end.
    let mut clock = self::clock(still);
    for piece in [b"\xff*\r,$GPR".as_slice(), &bytes[..9], &bytes[9..bytes.len() - 1]] {
        clock.handle_signal(SimTime(SECOND), &CableSignal::Bytes(piece.to_vec(), NOISE_FREE));
    }
    assert_eq!(clock.sentence(), bytes);
    let mut newer = self::clock(|settings| {
        still(settings);
        settings.sentences.push(TimeSentence::Gga);
    });
    newer.handle_signal(
        SimTime(SECOND),
        &sentence("GPGGA,123457,4717.1140,N,00833.9159,E,1,08,1.0,,M,,M,,"),
    );
    assert_eq!(newer.micros_past_hour(SimTime(SECOND)), (34 * 60 + 57) * 1_000_000);
}

proptest! {
    #[test]
    fn any_bytes_are_survived(
        pieces in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..400), 0..3_000_000_000u64), 0..20),
        baud in 300..200_000u32,
    ) {
        let mut clock = clock(|_| {});
        let mut at = 0;
        for (bytes, passed) in pieces {
            at += passed;
            clock.handle_signal(SimTime(at), &CableSignal::Bytes(bytes, LineSettings::eight_n_one(baud)));
            clock.handle_signal(SimTime(at), &CableSignal::PulsePerSecond(true));
            prop_assert!(clock.line.len() <= LONGEST_SENTENCE);
            prop_assert!(clock.micros_past_hour(SimTime(at)) < 3_600_000_000);
        }
    }

    /// For any oscillator, a locked clock is exact at every edge, and between edges its error is at most the drift of
    /// one second.
    #[test]
    fn a_locked_clock_stays_within_a_seconds_drift(
        drift_s_per_day in -30.0..30.0f64,
        power_up_us in 0..3_600_000_000u64,
        phase in 0..SECOND,
    ) {
        let mut clock = clock(|settings| {
            settings.drift_s_per_day = drift_s_per_day;
            settings.power_up_us = power_up_us;
        });
        let most_us = drift_s_per_day.abs() / 86_400.0 * 1e6 + 1.0;
        for second in 0..20u64 {
            let edge = phase + second * SECOND;
            pulses(&mut clock, [edge]);
            let time = format!("1240{second:02}");
            clock.handle_signal(SimTime(edge + SECOND / 3), &rmc(&time, "A", "010626"));
            if second < 6 {
                continue;
            }
            prop_assert_eq!(clock.pps(SimTime(edge)), PpsState::Locked);
            for after in [SECOND / 3, SECOND / 2, SECOND - 1] {
                let shown = f64::from(clock.micros_past_hour(SimTime(edge + after)));
                let utc = (40.0 * 60.0 + second as f64) * 1e6 + after as f64 / 1e3;
                prop_assert!((shown - utc).abs() <= most_us, "{shown} {utc}");
            }
        }
    }
}

#[test]
fn what_it_showed_a_minute_ago_is_not_forgotten() {
    let mut clock = clock(|_| {});
    let mut shown = Vec::new();
    for second in 0..60 {
        let edge = SECOND * 3 / 4 + second * SECOND;
        pulses(&mut clock, [edge]);
        let at = SimTime(edge + SECOND * 9 / 10);
        shown.push((at, clock.micros_past_hour(at)));
    }
    for (at, then) in shown {
        assert_eq!(clock.micros_past_hour(at), then, "{at:?}");
    }
}
