use crate::families::catalogue;
use crate::sick_lms2xx::profile::{SickLms2xxProfile, TransmissionStart};
use proptest::prelude::*;

use super::capture::Seen;
use super::telegrams::Encoder;
use super::*;
use crate::Output;
use crate::config::rig::schedule::Schedule;
use crate::motor_stall::MotorStall;
use crate::sensors::fault::EffectKind;
use crate::sensors::{PulseReturns, Return, Subject};
use crate::wire::framer::Framer;
use crate::wire::sick_lms2xx::FACTORY_PASSWORD;
use crate::wire::sick_lms2xx::command::Subrange;
use crate::wire::sick_lms2xx::data::{MeasuringMode, Unit};
use crate::wire::sick_lms2xx::frame::{Item, Telegrams};
use crate::wire::sick_lms2xx::reply::SwitchResult;

mod commands;

const MS: u64 = 1_000_000;

/// A scanner with its clock and output. Targets are at two metres on the right; the range increases by a millimetre per
/// hundredth of a degree to the left.
struct Bench {
    unit: SickLms2xx,
    now: u64,
    sent: Vec<Transmit>,
    measured: u64,
}

impl Bench {
    fn new(profile: &str, change: impl FnOnce(&mut SickLms2xxSettings)) -> Self {
        Self::with_profile(profile, |profile| change(&mut profile.defaults))
    }

    fn with_profile(name: &str, change: impl FnOnce(&mut SickLms2xxProfile)) -> Self {
        let profile = catalogue().profile(name).unwrap_or_else(|faults| panic!("{faults}"));
        let Some(driver) = profile.data::<SickLms2xxProfile>() else { panic!("{name}") };
        let mut driver = driver.clone();
        change(&mut driver);
        let unit = SickLms2xx::new(&driver, &driver.defaults, NoiseSource::new(1, name));
        Self { unit, now: 0, sent: Vec::new(), measured: 0 }
    }

    fn fast(name: &str, mode: PowerOnMode) -> Self {
        Self::new(name, |settings| {
            settings.rate = LineRate::Baud500000;
            settings.power_on_mode = mode;
            settings.unit = Unit::Millimetres;
            settings.measuring_mode = MeasuringMode::from_code(6).unwrap();
        })
    }

    fn say(&mut self, command: &Command) {
        let bytes = frame::emit(0, &command.emit());
        self.unit.handle_input(SimTime(self.now), &bytes);
    }

    fn run_ms(&mut self, ms: u64) {
        for _ in 0..ms * 4 {
            self.now += MS / 4;
            while let Some(request) = self.unit.poll_request(SimTime(self.now + 100 * MS)) {
                self.measured += 1;
                let outcome = Outcome::Returns(returns(&request));
                self.unit.handle_measurement(&Measurement::new(request, outcome));
            }
            self.unit.advance(SimTime(self.now));
            self.sent.extend(std::iter::from_fn(|| self.unit.poll_transmit()));
        }
    }

    /// Time and content of each telegram; `None` for single bytes.
    fn replies(&mut self) -> Vec<(u64, Option<Reply>)> {
        let mut all = Vec::new();
        for transmit in self.sent.drain(..) {
            let Output::Bytes(bytes) = transmit.output else { continue };
            let mut framer = Framer::new(Telegrams::default());
            let reply = match framer.next_frame(&mut &bytes[..]) {
                Some(Item::Telegram { payload, .. }) => Some(Reply::parse(&payload).unwrap()),
                Some(Item::Ack | Item::Nak) => None,
                other => panic!("{other:?}"),
            };
            all.push((transmit.due.0, reply));
        }
        all
    }

    /// The answer to a command.
    fn ask(&mut self, command: &Command) -> Body {
        self.sent.clear();
        self.say(command);
        self.run_ms(400);
        let replies = self.replies();
        assert_eq!(replies.first().map(|(_, reply)| reply.is_none()), Some(true), "no ACK");
        let body = replies.into_iter().find_map(|(_, reply)| reply).map(|reply| reply.body);
        body.unwrap_or_else(|| panic!("no answer to {command:?}"))
    }
}

/// True range at `centideg` from the right, metres.
fn truth_m(centideg: f64) -> f64 {
    2.0 + centideg * 0.001
}

fn returns(request: &MeasurementRequest) -> Vec<PulseReturns> {
    let Subject::Sweep(sweep) = &request.subject else { panic!("not a sweep") };
    let seen = |offset_ns: u32| {
        let from_right = std::f64::consts::FRAC_PI_2 - sweep.azimuth_at(offset_ns.into());
        let range_m = truth_m(from_right.to_degrees() * 100.0) as f32;
        PulseReturns { first: Some(Return { range_m, intensity: 1.0, signal: 1e-3 }), second: None }
    };
    sweep.firings.iter().map(|firing| seen(firing.offset_ns)).collect()
}

fn scans(bench: &mut Bench) -> Vec<(u64, crate::wire::sick_lms2xx::data::Values)> {
    let scan = |(due, reply): (u64, Option<Reply>)| match reply.map(|reply| reply.body) {
        Some(Body::Scan { values, .. }) => Some((due, values)),
        _ => None,
    };
    bench.replies().into_iter().filter_map(scan).collect()
}

#[test]
fn interlaced_revolutions_fall_into_their_places() {
    for (angle_deg, resolution_centideg, revolutions) in
        [(180u16, 100u16, 1u64), (180, 50, 2), (100, 100, 1), (100, 50, 2), (100, 25, 4)]
    {
        let variant = Variant { angle_deg, resolution_centideg };
        let mut bench = Bench::fast("sick-lms291-s05-x1.27", PowerOnMode::OnRequest);
        let accepted = Body::VariantSwitched { accepted: true, variant };
        assert_eq!(bench.ask(&Command::SwitchVariant(variant)), accepted);
        bench.say(&Command::Switch(Mode::Continuous));
        bench.run_ms(500);
        let scans = scans(&mut bench);
        let values = &scans[0].1;
        assert_eq!(values.values.len(), variant.values());
        let right = (18_000 - angle_deg * 100) / 2;
        for (index, value) in values.values.iter().enumerate() {
            let centideg = right + index as u16 * resolution_centideg;
            let error = f64::from(*value) - truth_m(centideg.into()) * 1000.0;
            assert!(error.abs() <= 1.0, "{variant:?} {index}: {value}");
        }
        let period = (scans[5].0 - scans[1].0) / 4;
        assert_eq!(period, revolutions * 1_000_000_000 / 75, "{variant:?}");
    }
}

#[test]
fn the_fast_model_scans_half_degrees_in_one_revolution() {
    let mut bench = Bench::fast("sick-lms291-s14", PowerOnMode::Reflectivity);
    bench.run_ms(100);
    let replies = bench.replies();
    let Some(Reply { body: Body::Reflectivity { values, part, reflectivity, .. }, .. }) =
        &replies[0].1
    else {
        panic!("{replies:?}")
    };
    assert_eq!((values.values.len(), reflectivity.len()), (181, 181));
    assert_eq!(*part, Subrange { first: 1, last: 181 });
    assert_eq!(values.values[0], 6500);
    assert_eq!(values.values[180], 15_500);
    assert!(reflectivity.iter().all(|byte| *byte == 255));
    assert_eq!(replies[4].0 - replies[1].0, 40 * MS);
    let variant = Variant { angle_deg: 90, resolution_centideg: 50 };
    let other = Variant { angle_deg: 180, resolution_centideg: 100 };
    let refused = Body::VariantSwitched { accepted: false, variant };
    assert_eq!(bench.ask(&Command::SwitchVariant(other)), refused);
    let incorrect = bench.ask(&Command::Switch(Mode::Other { code: 0x20, data: vec![] }));
    assert_eq!(incorrect, Body::IncorrectCommand);
}

#[test]
fn quarter_degree_partial_scans_take_the_widest_angle() {
    let mut bench = Bench::fast("sick-lms291-s05-x1.27", PowerOnMode::OnRequest);
    let variant = Variant { angle_deg: 100, resolution_centideg: 25 };
    bench.ask(&Command::SwitchVariant(variant));
    bench.say(&Command::Switch(Mode::Partial));
    bench.run_ms(200);
    let scans = scans(&mut bench);
    let mut seen = Vec::new();
    for (_, values) in &scans[..4] {
        assert!(values.is_partial);
        assert_eq!(values.values.len(), if values.quarters == 0 { 181 } else { 180 });
        let first_mm = 2000 + u16::from(values.quarters) * 25;
        assert!(values.values[0].abs_diff(first_mm) <= 1, "{values:?}");
        seen.push(values.quarters);
    }
    seen.sort_unstable();
    assert_eq!(seen, [0, 1, 2, 3]);
    assert_eq!((scans[4].0 - scans[1].0) / MS, 40);
}

#[test]
fn a_slow_line_skips_scans_and_measures_only_what_it_sends() {
    for (rate, rate_hz) in [(LineRate::Baud38400, 9.375), (LineRate::Baud9600, 2.5)] {
        let mut bench = Bench::new("sick-lms291-s05-x1.27", |settings| {
            settings.rate = rate;
            settings.power_on_mode = PowerOnMode::Continuous;
            settings.variant = Variant { angle_deg: 180, resolution_centideg: 100 };
        });
        assert!((bench.unit.nominal_rate_hz() - rate_hz).abs() < 0.01);
        bench.run_ms(4000);
        let scans = scans(&mut bench);
        let period_ms = (scans[3].0 - scans[0].0) as f64 / 3.0 / MS as f64;
        assert!((period_ms - 1000.0 / rate_hz).abs() < 0.1, "{period_ms}");
        // At most one scan is measured ahead of the sent scans.
        assert!(bench.measured <= scans.len() as u64 + 1, "{}", bench.measured);
        let line_ms = 372.0 * 10_000.0 / f64::from(rate.baud());
        assert!(period_ms >= line_ms && period_ms < line_ms + 13.4, "{period_ms} {line_ms}");
    }
}

#[test]
fn when_the_line_is_free_the_newest_scan_goes_at_once() {
    for mirror_phase_rad in [0.0, 2.0] {
        let mut bench = Bench::with_profile("sick-lms291-s05-x1.27", |profile| {
            profile.line.transmission_start = TransmissionStart::LineFree;
            profile.defaults.rate = LineRate::Baud38400;
            profile.defaults.power_on_mode = PowerOnMode::Continuous;
            profile.defaults.mirror_phase_rad = mirror_phase_rad;
        });
        bench.run_ms(2000);
        let scans = scans(&mut bench);
        assert!(scans.len() > 8, "{}", scans.len());
        // A telegram has 732 bytes; the rate is 38400 baud.
        for pair in scans.windows(2) {
            assert_eq!(pair[1].0 - pair[0].0, 190_625_000);
        }
    }
}

#[test]
fn answers_keep_their_times_and_stand_between_scans() {
    let mut bench = Bench::fast("sick-lms291-s05-x1.27", PowerOnMode::OnRequest);
    bench.run_ms(10);
    bench.say(&Command::Switch(Mode::Continuous));
    bench.run_ms(500);
    let replies = bench.replies();
    let asked = 10 * MS;
    assert_eq!(replies[0], (asked + 3 * MS / 2, None));
    let reply_at = replies[1].0;
    assert!((5 * MS..15 * MS).contains(&(reply_at - replies[0].0)), "{reply_at}");
    let reply_end = reply_at + 9 * 20_000;
    // The first scan starts after the reply and takes 26.7 ms.
    assert!(replies[2].0 >= reply_end + 26_600_000, "{} {}", replies[2].0, reply_end);

    bench.say(&Command::Status);
    bench.run_ms(500);
    let mut free = 0;
    let mut states = 0;
    for (due, reply) in bench.replies() {
        assert!(due >= free, "{due} while the line is busy until {free}");
        let bytes = reply.as_ref().map_or(1, |reply| reply.emit().len() + frame::OVERHEAD);
        free = due + bytes as u64 * 20_000;
        if let Some(Reply { body: Body::Status(state), .. }) = reply {
            assert_eq!((state.operating_mode, state.line_rate_word), (0x24, 0x8001));
            states += 1;
        }
    }
    assert_eq!(states, 1);
}

#[test]
fn a_command_costs_a_fast_stream_two_scans_at_most() {
    let mut bench = Bench::fast("sick-lms291-s14", PowerOnMode::Continuous);
    bench.run_ms(1000);
    bench.sent.clear();
    bench.say(&Command::Type);
    bench.run_ms(1000);
    let scans = scans(&mut bench);
    assert!(scans.len() >= 73, "{}", scans.len());
}

#[test]
fn rates_change_after_the_reply_and_survive_only_if_told() {
    let mut bench = Bench::new("sick-lms291-s05-x1.27", |settings| settings.restart_ns = 50 * MS);
    assert_eq!(bench.unit.line(), Some(LineSettings::eight_n_one(9600)));
    for keep in [false, true] {
        bench.sent.clear();
        bench.say(&Command::Switch(Mode::Rate(LineRate::Baud500000)));
        bench.run_ms(60);
        let line = bench.sent.iter().position(|sent| matches!(sent.output, Output::Line(_)));
        let line = line.expect("the rate changes");
        // Nine bytes at 9600 baud.
        assert_eq!(bench.sent[line].due.0 - bench.sent[line - 1].due.0, 9_375_000);
        bench.sent.clear();
        let accepted = Body::PermanentRate { accepted: true };
        assert_eq!(bench.ask(&Command::PermanentRate(keep)), accepted);
        bench.say(&Command::Reset);
        bench.run_ms(200);
        let back = bench.sent.iter().any(|sent| matches!(sent.output, Output::Line(_)));
        assert_eq!(back, !keep);
        let replies = bench.replies();
        let last = replies.last().and_then(|(_, reply)| reply.clone()).map(|reply| reply.body);
        assert_eq!(last, Some(Body::PowerOn { text: *b"LMS291;S05;X01.27   \0" }));
    }
}

#[test]
fn the_configuration_changes_in_installation_mode_only() {
    let mut bench = Bench::new("sick-lms200-v2.30", |_| {});
    let wanted = Configuration::default().with_measuring(0x01, 1).with_availability(1);
    let configure = Command::Configure(wanted.bytes()[..7].to_vec());
    let of_bytes = |accepted, configuration: &Configuration| Body::Configured {
        accepted,
        configuration: configuration.bytes()[..32].to_vec(),
    };
    assert_eq!(bench.ask(&configure), of_bytes(false, &Configuration::default()));
    let wrong = Mode::Installation { password: *b"SICK_PLS" };
    let refused = Body::Switched(SwitchResult::WrongPassword);
    assert_eq!(bench.ask(&Command::Switch(wrong)), refused);
    let right = Mode::Installation { password: FACTORY_PASSWORD };
    assert_eq!(bench.ask(&Command::Switch(right)), Body::Switched(SwitchResult::Done));
    assert_eq!(bench.ask(&configure), of_bytes(true, &wanted));
    let impossible = Command::Configure(vec![0, 0, 0, 0, 0, 0x77, 0]);
    assert_eq!(bench.ask(&impossible), of_bytes(false, &wanted));
    let read = Body::Configuration(wanted.bytes()[..32].to_vec());
    assert_eq!(bench.ask(&Command::Configuration), read);
}

#[test]
fn requests_are_answered_with_the_next_scans() {
    let mut bench = Bench::fast("sick-lms291-s05-x1.27", PowerOnMode::OnRequest);
    let Body::Scan { values, .. } = bench.ask(&Command::RequestScan { selector: vec![1] }) else {
        panic!("no scan")
    };
    assert_eq!(values.values.len(), 361);
    let part = Subrange { first: 3, last: 5 };
    let Body::Subrange { values, .. } = bench.ask(&Command::RequestSubrange(part)) else {
        panic!("no subrange")
    };
    assert_eq!(values.values, [2100, 2150, 2200]);
    let mean = Command::RequestMeanSubrange { scans: 4, part };
    let Body::MeanSubrange { scans: 4, values, .. } = bench.ask(&mean) else { panic!("no mean") };
    assert_eq!(values.values, [2100, 2150, 2200]);
    let parts = vec![part, Subrange { first: 361, last: 361 }];
    let Body::Remission(parts) = bench.ask(&Command::RequestRemission(parts)) else {
        panic!("no remission")
    };
    assert_eq!(parts[1].values, [[20_000, 10_000]]);
    for wrong in [Subrange { first: 0, last: 5 }, Subrange { first: 1, last: 362 }] {
        assert_eq!(bench.ask(&Command::RequestSubrange(wrong)), Body::IncorrectCommand);
        let mode = Command::Switch(Mode::Subrange(wrong));
        assert_eq!(bench.ask(&mode), Body::Switched(SwitchResult::Fault));
    }
    assert_eq!(bench.ask(&Command::RequestMean { scans: 0 }), Body::IncorrectCommand);
    bench.run_ms(200);
    assert_eq!(bench.replies(), []);
}

#[test]
fn indices_count_revolutions_and_telegrams() {
    let mut bench = Bench::new("sick-lms291-s05-x1.27", |settings| {
        settings.rate = LineRate::Baud500000;
        settings.power_on_mode = PowerOnMode::Continuous;
        settings.real_time_indices = true;
    });
    bench.run_ms(300);
    let indices: Vec<_> = bench
        .replies()
        .into_iter()
        .filter_map(|(_, reply)| match reply?.body {
            Body::Scan { indices, .. } => indices,
            _ => None,
        })
        .collect();
    for pair in indices.windows(2) {
        assert_eq!(pair[1].scan.wrapping_sub(pair[0].scan), 2);
        assert_eq!(pair[1].telegram.wrapping_sub(pair[0].telegram), 1);
    }
    assert!(indices.len() > 5);
}

#[test]
fn sensitivity_and_blanking_set_the_receiver() {
    let mut bench = Bench::new("sick-lms291-s05-x1.27", |_| {});
    let mut setting = |block: &[u8]| {
        bench.unit.stored.configuration = Configuration::default().overlaid(block);
        bench.unit.receiver_setting()
    };
    let standard = setting(&[100, 0]);
    assert_eq!((standard.threshold_factor, standard.blanked_m), (1.0, 1.0));
    // Ranges at 10 % reflectance: 25 m and 42 m instead of 30 m.
    let [medium, high] = [1, 3].map(|code| setting(&[0, 0, code, code]).threshold_factor);
    assert!((medium - 1.44).abs() < 1e-6 && (high - 0.510_204).abs() < 1e-6, "{medium} {high}");
}

#[test]
fn an_echo_that_dazzles_has_no_range_and_amplitudes_fall_with_distance() {
    let bench = Bench::new("sick-lms291-s05-x1.27", |_| {});
    let configuration = Configuration::default();
    let encoder = Encoder {
        profile: &bench.unit.profile,
        configuration: &configuration,
        threshold: bench.unit.settings.beam.threshold(),
    };
    let reading = |signal| {
        let seen = Seen { range_m: 4.0, intensity: 0.5, signal };
        encoder.value(Some(seen))
    };
    assert_ne!(reading(100.0), 0x1ffe);
    assert_eq!(reading(112.0), 0x1ffe, "a million times what a tenth at 30 m gives");
    let [far, near] = [2e-4, 0.1].map(|signal| encoder.amplitude(signal));
    assert!(0 < far && far < near && near < 10_000, "{far} {near}");
    // A detector with threshold zero is never dazzled.
    let blind_to_nothing = Encoder { threshold: 0.0, ..encoder };
    let seen = Seen { range_m: 4.0, intensity: 0.5, signal: 112.0 };
    assert_eq!(blind_to_nothing.value(Some(seen)) & 0x1fff, 400);
}

#[test]
fn a_spoilt_telegram_gets_nak_and_a_truncated_one_nothing() {
    let mut bench = Bench::new("sick-lms291-s05-x1.27", |_| {});
    let mut bytes = frame::emit(0, &[0x31]);
    bytes[5] ^= 1;
    bench.unit.handle_input(SimTime(0), &bytes);
    bench.run_ms(100);
    let Output::Bytes(sent) = &bench.sent[0].output else { panic!() };
    assert_eq!((bench.sent.len(), &sent[..]), (1, &[NAK][..]));
    bench.sent.clear();
    bench.unit.handle_input(SimTime(bench.now), &frame::emit(0, &[0x20, 0x24])[..6]);
    bench.run_ms(100);
    assert!(bench.sent.is_empty());
    assert!(matches!(bench.ask(&Command::Status), Body::Status(_)));
}

#[test]
fn a_scanner_that_refuses_says_nak_and_sends_its_scans_on() {
    let mut bench = Bench::fast("sick-lms291-s05-x1.27", PowerOnMode::Continuous);
    let schedule =
        Schedule { start: SimTime(100 * MS), duration_ns: Some(500 * MS), period_ns: None };
    let refusal = vec![Timed { fault: 2, schedule, kind: Refusal }];
    bench.unit.set_faults(&DeviceFaults::from(refusal));
    bench.run_ms(200);
    bench.sent.clear();
    bench.say(&Command::Status);
    bench.run_ms(300);
    let effect = FaultEffect { fault: 2, window: 0, kind: EffectKind::Refused };
    let is_refusal = |sent: &&Transmit| sent.fault_effects == [effect];
    let refused: Vec<_> = bench.sent.iter().filter(is_refusal).collect();
    let Output::Bytes(bytes) = &refused[0].output else { panic!() };
    assert_eq!((refused.len(), &bytes[..]), (1, &[NAK][..]));
    let replies = bench.replies();
    let is_scan =
        |reply: &Option<Reply>| matches!(reply, Some(Reply { body: Body::Scan { .. }, .. }));
    assert!(replies.iter().filter(|(_, reply)| is_scan(reply)).count() > 10);
    assert!(
        !replies.iter().flat_map(|(_, reply)| reply).any(|r| matches!(r.body, Body::Status(_)))
    );
    bench.run_ms(200);
    bench.say(&Command::Status);
    bench.run_ms(100);
    let replies = bench.replies();
    assert!(replies.iter().flat_map(|(_, reply)| reply).any(|r| matches!(r.body, Body::Status(_))));
}

#[test]
fn a_power_cut_ends_a_telegram_in_the_middle() {
    let mut bench = Bench::new("sick-lms291-s05-x1.27", |settings| {
        settings.power_on_mode = PowerOnMode::Continuous;
        settings.restart_ns = 50 * MS;
    });
    let schedule =
        Schedule { start: SimTime(1000 * MS), duration_ns: Some(500 * MS), period_ns: None };
    let cuts = vec![Timed { fault: 0, schedule, kind: PowerCycle }];
    bench.unit.set_faults(&DeviceFaults::from(cuts));
    bench.run_ms(1700);
    let times = bench.sent.iter().map(|sent| {
        let Output::Bytes(bytes) = &sent.output else { panic!("{sent:?}") };
        (sent.due.0, sent.due.0 + bench.unit.uart.duration_ns(bytes.len()))
    });
    let (before, after): (Vec<_>, Vec<_>) = times.partition(|(due, _)| *due < 1000 * MS);
    // A telegram takes 762 ms at 9600 baud; a byte takes 1.04 ms.
    let ends: Vec<_> = before.iter().map(|(_, end)| *end).collect();
    assert!(
        matches!(ends[..], [788_000_000..790_000_000, 998_000_000..=1_000_000_000]),
        "{ends:?}"
    );
    assert_eq!(after[0].0, 1550 * MS);
}

#[test]
fn bits_of_the_status_byte_stand_beside_each_other() {
    let mut bench = Bench::new("sick-lms291-s05-x1.27", |settings| {
        (settings.error_level, settings.is_implausible, settings.is_polluted) = (4, true, true);
    });
    bench.say(&Command::Status);
    bench.run_ms(400);
    let status = bench.replies().into_iter().find_map(|(_, reply)| reply).unwrap().status;
    assert_eq!(status, 0x10 | 4 | 0x40 | 0x80);
}

#[test]
fn a_measurement_that_was_given_up_spoils_only_its_scan() {
    let mut bench = Bench::fast("sick-lms291-s05-x1.27", PowerOnMode::Continuous);
    let mut requests = Vec::new();
    while let Some(request) = bench.unit.poll_request(SimTime(200 * MS)) {
        requests.push(request);
    }
    assert_eq!(requests.len(), 15);
    for request in requests.into_iter().filter(|request| request.index != 3) {
        let outcome = Outcome::Returns(returns(&request));
        bench.unit.handle_measurement(&Measurement::new(request, outcome));
    }
    bench.run_ms(200);
    let times: Vec<_> = scans(&mut bench).iter().map(|(due, _)| due / MS).collect();
    assert_eq!(times, [26, 80, 106, 133, 160, 186]);
}

fn some_bytes() -> impl Strategy<Value = Vec<u8>> {
    let telegram = proptest::collection::vec(prop_oneof![0u8..6, 0x20u8..0x78, any::<u8>()], 1..30)
        .prop_map(|payload| frame::emit(0, &payload));
    let mode = (any::<u8>(), proptest::collection::vec(0u8..4, 0..9))
        .prop_map(|(mode, data)| frame::emit(0, &[&[0x20, mode], &data[..]].concat()));
    let noise = proptest::collection::vec(prop_oneof![Just(0x02u8), any::<u8>()], 0..60);
    prop_oneof![telegram, mode, noise]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn any_bytes_leave_the_scanner_alive(
        chunks in proptest::collection::vec((some_bytes(), 0u64..40), 1..25),
        reflective: bool,
    ) {
        let name = if reflective { "sick-lms291-s14" } else { "sick-lms291-s05-x1.27" };
        let mut bench = Bench::new(name, |settings| settings.restart_ns = 20 * MS);
        for (bytes, ms) in chunks {
            bench.unit.handle_input(SimTime(bench.now), &bytes);
            bench.run_ms(ms);
        }
        // Enough time for all output that can be queued: telegrams at 9600 baud, means of 255 scans.
        bench.run_ms(60_000);
        prop_assert!(bench.sent.is_sorted_by_key(|sent| sent.due));
        bench.sent.clear();
        bench.say(&Command::Status);
        bench.run_ms(2000);
        let replies = bench.replies();
        let is_state = |reply: &Reply| matches!(reply.body, Body::Status(_));
        prop_assert!(replies.iter().any(|(_, reply)| reply.as_ref().is_some_and(is_state)));
    }

    #[test]
    fn steps_do_not_matter(steps in proptest::collection::vec(1u64..50, 1..40)) {
        let sent = |steps: &[u64]| {
            let mut bench = Bench::fast("sick-lms291-s14", PowerOnMode::Continuous);
            bench.say(&Command::Status);
            let end = 300 * MS;
            let mut now = 0;
            let mut sent = Vec::new();
            while let Some(request) = bench.unit.poll_request(SimTime(end)) {
                let outcome = Outcome::Returns(returns(&request));
                bench.unit.handle_measurement(&Measurement::new(request, outcome));
            }
            for step in steps.iter().cycle() {
                now = (now + step * MS).min(end);
                bench.unit.advance(SimTime(now));
                sent.extend(std::iter::from_fn(|| bench.unit.poll_transmit()));
                if now == end { break }
            }
            sent
        };
        let whole = sent(&[300]);
        prop_assert!(whole.len() > 20);
        prop_assert_eq!(sent(&steps), whole);
    }
}

#[test]
fn a_dirty_window_sets_the_pollution_bit_while_it_is_dirty() {
    use crate::config::rig::schedule::Schedule;
    use crate::sensors::optics_fault::Sector;
    let mut bench = Bench::fast("sick-lms291-s05-x1.27", PowerOnMode::Continuous);
    let schedule =
        Schedule { start: SimTime(200 * MS), duration_ns: Some(200 * MS), period_ns: None };
    let sector = Sector { from_rad: 0.0, width_rad: 1.0 };
    let kind = LidarFault::DirtyWindow { sector, transmission: 0.4 };
    let lidar = vec![Timed { fault: 0, schedule, kind }];
    bench.unit.set_faults(&DeviceFaults::from(lidar));
    bench.run_ms(600);
    let replies = bench.replies();
    assert!(replies.len() > 15);
    for (due, reply) in replies {
        let is_dirty = (200 * MS..400 * MS).contains(&due);
        let is_told = reply.unwrap().status & status_byte::POLLUTION != 0;
        assert_eq!(is_told, is_dirty, "{due}");
    }
}

#[test]
fn a_mirror_that_is_held_makes_no_scans_and_the_scanner_says_so() {
    let mut bench = Bench::fast("sick-lms291-s05-x1.27", PowerOnMode::Continuous);
    let schedule =
        Schedule { start: SimTime(1000 * MS), duration_ns: Some(500 * MS), period_ns: None };
    let kind = MotorStall { stops_within_ns: None };
    let stalls = vec![Timed { fault: 3, schedule, kind }];
    bench.unit.set_faults(&DeviceFaults::from(stalls));
    bench.run_ms(1200);
    let before: Vec<_> = scans(&mut bench).iter().map(|(due, _)| *due).collect();
    // A scan with a resolution of half a degree takes 26.7 ms; an unfinished scan is not sent.
    assert!(before.len() > 35 && before.iter().all(|due| *due < 1001 * MS), "{before:?}");
    let Body::Status(held) = bench.ask(&Command::Status) else { panic!() };
    assert_eq!((held.device_status, held.motor_revolutions), (1, 0));
    let Body::Errors(errors) = bench.ask(&Command::Errors) else { panic!() };
    assert_eq!(errors, [[3, 29]]);
    bench.sent.clear();
    bench.say(&Command::Status);
    bench.run_ms(50);
    let touched: Vec<_> =
        bench.sent.iter().filter(|transmit| !transmit.fault_effects.is_empty()).collect();
    let [status] = &touched[..] else { panic!("{touched:?}") };
    assert_eq!((status.fault_effects[0].fault, status.fault_effects[0].window), (3, 0));
    let (_, reply) = bench.replies().pop().unwrap();
    assert_eq!(reply.unwrap().status & 0x07, 3);
    // While the mirror is held, a scan request is acknowledged but not answered, and does not block later commands.
    bench.say(&Command::Switch(Mode::OnRequest));
    bench.run_ms(100);
    bench.sent.clear();
    bench.say(&Command::RequestScan { selector: vec![1] });
    bench.run_ms(100);
    assert_eq!(
        bench.replies().iter().map(|(_, reply)| reply.is_none()).collect::<Vec<_>>(),
        [true]
    );
    bench.say(&Command::Switch(Mode::Continuous));
    bench.run_ms(3000);
    let after = scans(&mut bench);
    // The stall ends at 1.5 s; the mirror has full speed two seconds later.
    assert!((3500 * MS..3600 * MS).contains(&after[0].0), "{}", after[0].0);
    let gaps: Vec<_> = after.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    assert!(gaps.iter().all(|gap| *gap < 40 * MS), "{gaps:?}");
    let Body::Errors(errors) = bench.ask(&Command::Errors) else { panic!() };
    assert_eq!(errors, [[0x83, 29]]);
    let Body::Status(turning) = bench.ask(&Command::Status) else { panic!() };
    assert_eq!((turning.device_status, turning.motor_revolutions), (0, 4500));
}

#[test]
fn scans_that_were_given_up_are_measured_again_unless_the_mirror_is_held_meanwhile() {
    for (held_from_ms, is_answered) in [(1000, true), (380, false)] {
        let mut bench = Bench::fast("sick-lms291-s05-x1.27", PowerOnMode::OnRequest);
        let schedule = Schedule {
            start: SimTime(held_from_ms * MS),
            duration_ns: Some(500 * MS),
            period_ns: None,
        };
        let stalls = vec![Timed { fault: 0, schedule, kind: MotorStall { stops_within_ns: None } }];
        bench.unit.set_faults(&DeviceFaults::from(stalls));
        bench.run_ms(200);
        bench.say(&Command::RequestMean { scans: 4 });
        bench.unit.advance(SimTime(230 * MS));
        let poll = || bench.unit.poll_request(SimTime(500 * MS));
        let requests: Vec<_> = std::iter::from_fn(poll).collect();
        assert_eq!(requests.len(), 8);
        bench.now = 345 * MS;
        bench.unit.advance(SimTime(bench.now));
        for request in requests.into_iter().filter(|request| request.index != 1) {
            let outcome = Outcome::Returns(returns(&request));
            bench.unit.handle_measurement(&Measurement::new(request, outcome));
        }
        bench.run_ms(400);
        let replies = bench.replies();
        let mean = replies.iter().filter(|(_, reply)| reply.is_some()).count();
        assert_eq!(mean, usize::from(is_answered), "{replies:?}");
        assert!(matches!(bench.ask(&Command::Status), Body::Status(_)));
    }
}

#[test]
fn a_mirror_that_is_held_for_ever_or_always_again_is_waited_for_without_end() {
    for (duration_ns, period_ns) in [(None, None), (Some(MS), Some(2 * MS))] {
        let mut bench = Bench::fast("sick-lms200-v2.30", PowerOnMode::Continuous);
        let schedule = Schedule { start: SimTime(100 * MS), duration_ns, period_ns };
        let kind = MotorStall { stops_within_ns: None };
        let stalls = vec![Timed { fault: 0, schedule, kind }];
        bench.unit.set_faults(&DeviceFaults::from(stalls));
        bench.run_ms(2000);
        let dues = scans(&mut bench);
        assert!(!dues.is_empty() && dues.iter().all(|(due, _)| *due < 120 * MS));
        let Body::Status(held) = bench.ask(&Command::Status) else { panic!() };
        assert_eq!(held.motor_revolutions, 0);
    }
}

/// Output latency delays requested and streamed scans, on an idle or busy line. Answers and the selection of scans do
/// not change.
#[test]
fn a_lag_holds_back_scans_and_no_answers() {
    const LAG: u64 = 35 * MS;
    let sent = |start, rate, lag_ns| {
        let mut bench = Bench::with_profile("sick-lms291-s05-x1.27", |profile| {
            profile.line.transmission_start = start;
            profile.defaults.rate = rate;
            profile.defaults.lag_ns = lag_ns;
        });
        bench.run_ms(10);
        bench.say(&Command::RequestScan { selector: vec![1] });
        bench.run_ms(1500);
        let asked = bench.replies();
        bench.say(&Command::Switch(Mode::Continuous));
        bench.run_ms(2000);
        (asked, bench.replies())
    };
    for start in [TransmissionStart::ScanEnd, TransmissionStart::LineFree] {
        for rate in [LineRate::Baud9600, LineRate::Baud500000] {
            let (plain, late) = (sent(start, rate, 0), sent(start, rate, LAG));
            // ACK, then the scan.
            assert_eq!((plain.0.len(), late.0.len()), (2, 2));
            assert_eq!(late.0[0], plain.0[0]);
            assert_eq!((late.0[1].0 - plain.0[1].0, &late.0[1].1), (LAG, &plain.0[1].1));
            // ACK and answer, then scans.
            assert_eq!(late.1[..2], plain.1[..2], "{start:?} {rate:?}");
            assert!(late.1.len() >= 4, "{start:?} {rate:?}");
            for (plain, late) in plain.1[2..].iter().zip(&late.1[2..]) {
                assert_eq!((late.0 - plain.0, &late.1), (LAG, &plain.1), "{start:?} {rate:?}");
            }
        }
    }
}
