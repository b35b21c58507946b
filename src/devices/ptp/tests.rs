use super::*;
use crate::config::rig::schedule::Schedule;
use crate::wire::ptp::management::{
    ANY_PORT, CurrentDataSet, Management, ParentDataSet, PortDataSet, TimeStatus, action, error, id,
};
use crate::wire::ptp::{Announce, ClockQuality, PeerRequest, Response, Timestamp, identity_of};
use crate::wire::record::Record;

const OWN: ClockIdentity = identity(0xb);
/// Time of the masters' clocks at the start of the run, nanoseconds.
const UTC_NS: i128 = 1_795_751_234_000_000_000;
const US: i128 = 1000;
const MS: u64 = 1_000_000;

const fn identity(last: u8) -> ClockIdentity {
    [2, 0, 0, 0xff, 0xfe, 0, 0, last]
}

fn port(last: u8) -> PortIdentity {
    PortIdentity { clock: identity(last), port: 1 }
}

/// A simulated master.
#[derive(Clone)]
struct Simulated {
    last: u8,
    priority: u8,
    ahead_ns: i128,
    is_two_step: bool,
    there_ns: i128,
    back_ns: i128,
    domain: u8,
    /// Number of lost Sync messages out of ten.
    lost: u64,
    is_silent: bool,
}

const MASTER: Simulated = Simulated {
    last: 0xa,
    priority: 10,
    ahead_ns: 0,
    is_two_step: true,
    there_ns: 5_000,
    back_ns: 5_000,
    domain: 0,
    lost: 0,
    is_silent: false,
};

struct Bench {
    slave: PtpSlave,
    masters: Vec<Simulated>,
    now: SimTime,
    count: u64,
    requests: Vec<SimTime>,
}

impl Bench {
    fn new(settings: &PtpSettings, masters: &[Simulated]) -> Self {
        // The oscillator is 10 ppm fast and has run for an hour.
        let clock = PtpClock::new(0.864, SimTime::ZERO, 3600 * 1_000_000_000);
        let noise = NoiseSource::new(1, "lidar");
        let slave = PtpSlave::new(settings, OWN, clock, noise, SimTime::ZERO);
        let masters = masters.to_vec();
        Self { slave, masters, now: SimTime::ZERO, count: 0, requests: Vec::new() }
    }

    /// Reading of a master's clock, nanoseconds.
    fn shows(master: &Simulated, at: SimTime) -> i128 {
        UTC_NS + i128::from(at.0) + master.ahead_ns
    }

    fn hear(&mut self, at: SimTime, message: &Message) {
        self.now = self.now.max(at);
        self.slave.hear(self.now, at, None, &message.to_bytes());
    }

    fn run(&mut self, seconds: u64) {
        for _ in 0..seconds * 8 {
            let masters = self.masters.clone();
            for master in masters.iter().filter(|master| !master.is_silent) {
                self.tell(master);
            }
            for _ in 0..125 {
                self.now.0 += MS;
                self.slave.advance(self.now);
                while let Some(sent) = self.slave.poll_send() {
                    self.answer(&masters, &sent);
                }
            }
            self.count += 1;
        }
    }

    /// Sends a master's messages: an announcement every two seconds, and a Sync every second.
    fn tell(&mut self, master: &Simulated) {
        let sequence = self.count as u16;
        let arrival = |ns: i128| SimTime(ns as u64);
        let message = |body| Message::new(master.domain, port(master.last), sequence, body);
        if self.count.is_multiple_of(16) {
            let quality = ClockQuality { class: 6, accuracy: 0x21, variance: 0xffff };
            let announce = Announce {
                origin: Timestamp::default(),
                utc_offset_s: 37,
                reserved: 0,
                priority_1: master.priority,
                quality,
                priority_2: 128,
                grandmaster: identity(master.last),
                steps_removed: 0,
                time_source: 0x20,
            };
            let flags = flag::UTC_OFFSET_VALID | flag::PTP_TIMESCALE;
            let announce = Message { flags, ..message(Body::Announce(announce)) };
            self.hear(self.now, &announce);
        }
        if self.count.is_multiple_of(8) && self.count / 8 % 10 >= master.lost {
            let left = Self::shows(master, self.now);
            let at = arrival(i128::from(self.now.0) + master.there_ns);
            let (origin, flags) = match master.is_two_step {
                true => (Timestamp::default(), flag::TWO_STEP),
                false => (Timestamp::of_ns(left), 0),
            };
            let sync = Message { flags, log_interval: 0, ..message(Body::Sync(origin)) };
            self.hear(at, &sync);
            if master.is_two_step {
                let follow_up = message(Body::FollowUp(Timestamp::of_ns(left)));
                self.hear(at, &follow_up);
            }
        }
    }

    fn answer(&mut self, masters: &[Simulated], sent: &PtpSend) {
        let asked = Message::parse(&sent.bytes).unwrap();
        let left = self.now;
        if let Some(key) = sent.key {
            self.slave.left(self.now, key, left);
        }
        self.requests.push(left);
        for master in masters.iter().filter(|master| !master.is_silent) {
            let there = SimTime((i128::from(left.0) + master.back_ns) as u64);
            let at = Timestamp::of_ns(Self::shows(master, there));
            let back = SimTime((i128::from(there.0) + master.there_ns) as u64);
            let answer = Response { at, requester: asked.source };
            let message =
                |body| Message::new(master.domain, port(master.last), asked.sequence, body);
            match asked.body {
                Body::DelayReq(_) => {
                    let answer = Message { log_interval: 0, ..message(Body::DelayResp(answer)) };
                    self.hear(back, &answer);
                }
                Body::PeerDelayReq(_) => {
                    let follow_up = message(Body::PeerDelayFollowUp(answer.clone()));
                    let answer =
                        Message { flags: flag::TWO_STEP, ..message(Body::PeerDelayResp(answer)) };
                    self.hear(back, &answer);
                    self.hear(back, &follow_up);
                }
                _ => {}
            }
        }
    }

    /// Time of the slave minus time of the first master.
    fn error_ns(&self) -> i128 {
        self.slave.shows_ns(self.now) - Self::shows(&self.masters[0], self.now)
    }
}

impl Bench {
    /// A bench with a locked slave, on which the fault `kind` starts now and ends after `seconds`.
    fn with_fault(kind: PtpFault, seconds: u64) -> Self {
        let mut bench = Self::new(&end_to_end(), &[MASTER]);
        bench.run(30);
        assert_eq!(bench.slave.state(), PortState::Slave);
        let duration_ns = Some(seconds * 1000 * MS);
        let schedule = Schedule { start: bench.now, duration_ns, period_ns: None };
        bench.slave.set_faults(vec![Timed { fault: 0, schedule, kind }]);
        bench
    }
}

fn end_to_end() -> PtpSettings {
    PtpSettings::default()
}

#[test]
fn it_listens_is_uncalibrated_and_locks() {
    let mut bench = Bench::new(&end_to_end(), &[MASTER]);
    assert_eq!(bench.slave.state(), PortState::Listening);
    bench.run(2);
    assert_eq!(bench.slave.state(), PortState::Listening, "one announcement is none");
    bench.run(1);
    assert_eq!(bench.slave.state(), PortState::Uncalibrated);
    assert!(bench.error_ns() < -UTC_NS / 2, "not set yet");
    bench.run(27);
    assert_eq!(bench.slave.state(), PortState::Slave);
    assert!(bench.error_ns().abs() < 100, "{}", bench.error_ns());
    assert!((bench.slave.path_delay_ns() - 5000).abs() < 50, "{}", bench.slave.path_delay_ns());
    assert!(bench.slave.offset_ns().abs() < 100);
    assert_eq!(bench.slave.utc_offset_s(), 37);
    // Request times are random, with as many requests as Sync messages.
    let gaps: Vec<_> = bench.requests.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    assert!((15..45).contains(&bench.requests.len()), "{}", bench.requests.len());
    assert!(gaps.iter().any(|gap| *gap < 700 * MS) && gaps.iter().any(|gap| *gap > 1300 * MS));
}

#[test]
fn one_step_and_peer_to_peer() {
    let mut bench = Bench::new(&end_to_end(), &[Simulated { is_two_step: false, ..MASTER }]);
    bench.run(30);
    assert!(bench.error_ns().abs() < 100, "{}", bench.error_ns());
    let settings = PtpSettings { delay: DelayMechanism::PeerToPeer, ..end_to_end() };
    let mut bench = Bench::new(&settings, &[MASTER]);
    bench.run(30);
    assert_eq!(bench.slave.state(), PortState::Slave);
    assert!(bench.error_ns().abs() < 100, "{}", bench.error_ns());
    let data = bench.slave.port_data_set();
    assert_eq!((data.delay_mechanism, data.peer_mean_path_delay >> 16), (2, 5000));
}

#[test]
fn half_of_an_asymmetry_is_an_error_that_the_slave_cannot_see() {
    let mut bench = Bench::new(&end_to_end(), &[Simulated { there_ns: 25_000, ..MASTER }]);
    bench.run(60);
    assert!((bench.error_ns() - -10 * US).abs() < 100, "{}", bench.error_ns());
    assert!(bench.slave.offset_ns().abs() < 100);
    assert!((bench.slave.path_delay_ns() - 15_000).abs() < 50);
}

#[test]
fn lost_synchronisations_do_not_matter_much() {
    let mut bench = Bench::new(&end_to_end(), &[Simulated { lost: 4, ..MASTER }]);
    bench.run(80);
    assert_eq!(bench.slave.state(), PortState::Slave);
    assert!(bench.error_ns().abs() < 500, "{}", bench.error_ns());
}

#[test]
fn without_its_master_it_holds_over_and_follows_it_again() {
    let mut bench = Bench::new(&end_to_end(), &[MASTER]);
    bench.run(40);
    bench.masters[0].is_silent = true;
    bench.run(3);
    assert_eq!(bench.slave.state(), PortState::Slave, "three announcements may be missing");
    bench.run(2);
    assert_eq!(bench.slave.state(), PortState::Listening);
    assert!(bench.slave.holds_over() && bench.slave.is_set());
    bench.run(93);
    // The servo knows the drift of the oscillator; without that the error would be a millisecond.
    assert!(bench.error_ns().abs() < 10 * US, "{}", bench.error_ns());
    bench.masters[0].is_silent = false;
    bench.run(20);
    assert_eq!(bench.slave.state(), PortState::Slave);
    assert!(!bench.slave.holds_over() && bench.error_ns().abs() < 100);
}

#[test]
fn a_better_master_takes_over_and_a_worse_one_after_it() {
    let worse = Simulated { last: 0xc, priority: 200, ..MASTER };
    let mut bench = Bench::new(&end_to_end(), &[worse]);
    bench.run(20);
    assert_eq!(bench.slave.parent().map(|parent| parent.source), Some(port(0xc)));
    bench.masters.push(MASTER);
    bench.run(4);
    assert_eq!(bench.slave.parent().map(|parent| parent.source), Some(port(0xa)));
    bench.masters[1].is_silent = true;
    bench.run(8);
    assert_eq!(bench.slave.parent().map(|parent| parent.source), Some(port(0xc)));
    assert!(bench.slave.is_followed());
}

#[test]
fn a_step_of_the_master_is_not_followed_by_a_step() {
    let mut bench = Bench::new(&end_to_end(), &[MASTER]);
    bench.run(40);
    bench.masters[0].ahead_ns = 3_600_000_000_000;
    bench.run(10);
    assert_eq!(bench.slave.state(), PortState::Slave);
    assert!(bench.slave.offset_ns() < -3_599_000_000_000, "{}", bench.slave.offset_ns());
    // The rate correction is at its limit.
    assert!(bench.error_ns() > -3_600_000_000_000);
}

#[test]
fn a_relaxed_slave_steps_after_its_master_and_stays_set() {
    let settings = PtpSettings { step_ns: Some(1_000_000_000), ..end_to_end() };
    let mut bench = Bench::new(&settings, &[MASTER]);
    bench.run(40);
    bench.masters[0].ahead_ns = 3_600_000_000_000;
    bench.run(1);
    assert_eq!(bench.slave.state(), PortState::Uncalibrated);
    assert!(bench.slave.is_set());
    bench.run(15);
    assert_eq!(bench.slave.state(), PortState::Slave);
    assert!(bench.error_ns().abs() < 1000, "{}", bench.error_ns());
}

#[test]
fn other_domains_and_standards_are_not_heard() {
    let mut bench = Bench::new(&end_to_end(), &[Simulated { domain: 1, ..MASTER }]);
    bench.run(10);
    assert_eq!(bench.slave.state(), PortState::Listening);
    let settings = PtpSettings { domain: 1, ..end_to_end() };
    bench.slave.configure(bench.now, settings.clone(), true);
    bench.run(20);
    assert_eq!(bench.slave.state(), PortState::Slave);
    bench.slave.configure(bench.now, settings, false);
    bench.run(5);
    assert_eq!(bench.slave.state(), PortState::Disabled);
    assert!(bench.slave.holds_over());
}

fn request(action: u8, id: u16, target: PortIdentity) -> Message {
    let (starting_hops, hops, reserved, is_error, data) = (1, 0, 0, false, Vec::new());
    let asked = Management { target, starting_hops, hops, action, reserved, is_error, id, data };
    Message::new(0, port(0xd), 77, Body::Management(asked))
}

impl Bench {
    fn asked(&mut self, message: &Message) -> Option<Management> {
        while self.slave.poll_send().is_some() {}
        self.hear(self.now, message);
        let answer = self.slave.poll_send()?;
        assert_eq!(answer.key, None);
        let answer = Message::parse(&answer.bytes).unwrap();
        assert_eq!((answer.sequence, answer.source), (77, port(0xb)));
        match answer.body {
            Body::Management(answer) => Some(answer),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn data_sets_are_read_by_management_messages() {
    let mut bench = Bench::new(&end_to_end(), &[MASTER]);
    bench.run(30);
    let mut get = |id| {
        let answer = bench.asked(&request(action::GET, id, ANY_PORT)).unwrap();
        assert_eq!((answer.action, answer.id, answer.hops), (action::RESPONSE, id, 1));
        assert_eq!(answer.target, port(0xd));
        answer.data
    };
    assert_eq!(get(id::DEFAULT).len(), 20);
    assert_eq!(get(id::TIME_PROPERTIES), [0, 37, 0x0c, 0x20]);
    let current = CurrentDataSet::parse(&get(id::CURRENT)).unwrap();
    assert_eq!((current.steps_removed, current.mean_path_delay >> 16), (1, 5000));
    let parent = ParentDataSet::parse(&get(id::PARENT)).unwrap();
    assert_eq!((parent.parent, parent.priority_1), (port(0xa), 10));
    let own = PortDataSet::parse(&get(id::PORT)).unwrap();
    assert_eq!((own.state, own.delay_mechanism), (9, 1));
    let status = TimeStatus::parse(&get(id::TIME_STATUS)).unwrap();
    assert_eq!((status.gm_present, status.gm_identity), (1, identity(0xa)));
    // An unknown data set is an error for a clock that was addressed by name; messages to all get no answer.
    assert_eq!(bench.asked(&request(action::GET, 0x2005, ANY_PORT)), None);
    assert_eq!(bench.asked(&request(action::GET, id::PORT, port(0xc))), None);
    let refused = bench.asked(&request(action::GET, 0x2005, port(0xb))).unwrap();
    assert_eq!((refused.is_error, refused.id), (true, error::NO_SUCH_ID));
    assert_eq!(refused.data, [0x20, 0x05, 0, 0, 0, 0]);
    let refused = bench.asked(&request(action::SET, id::PORT, port(0xb))).unwrap();
    assert_eq!((refused.is_error, refused.id), (true, error::NOT_SETABLE));
}

#[test]
fn floods_are_answered_a_little() {
    let mut bench = Bench::new(&end_to_end(), &[]);
    let asked = request(action::GET, id::PORT, ANY_PORT);
    for _ in 0..10_000 {
        bench.hear(SimTime(7), &asked);
    }
    assert_eq!(std::iter::from_fn(|| bench.slave.poll_send()).count(), 64);
    let settings = PtpSettings { delay: DelayMechanism::PeerToPeer, ..end_to_end() };
    let mut bench = Bench::new(&settings, &[]);
    let body = Body::PeerDelayReq(PeerRequest { origin: Timestamp::default(), reserved: [0; 10] });
    for sequence in 0..1000 {
        bench.hear(SimTime(7), &Message::new(0, port(0xd), sequence, body.clone()));
    }
    // The answers, and the slave's own request.
    assert_eq!(std::iter::from_fn(|| bench.slave.poll_send()).count(), request::MOST_PENDING + 1);
}

#[test]
fn a_storm_of_forged_masters_does_not_push_the_true_one_out() {
    let mut bench = Bench::new(&end_to_end(), &[MASTER]);
    bench.run(20);
    let quality = ClockQuality { class: 248, accuracy: 0xfe, variance: 0xffff };
    for number in 0..20_000u32 {
        let mut source = port(0xee);
        source.clock[..4].copy_from_slice(&number.to_be_bytes());
        let announce = Announce {
            origin: Timestamp::default(),
            utc_offset_s: 0,
            reserved: 0,
            priority_1: 255,
            quality,
            priority_2: 255,
            grandmaster: source.clock,
            steps_removed: 0,
            time_source: 0xa0,
        };
        bench.hear(bench.now, &Message::new(0, source, 0, Body::Announce(announce)));
    }
    bench.run(10);
    assert_eq!(bench.slave.parent().map(|parent| parent.source), Some(port(0xa)));
    assert!(bench.error_ns().abs() < 100);
}

#[test]
fn impossible_values_of_the_master_itself_overflow_nothing() {
    let mut bench = Bench::new(&end_to_end(), &[MASTER]);
    bench.run(20);
    let bad = Timestamp { seconds_high: u16::MAX, seconds_low: u32::MAX, nanos: u32::MAX };
    let far = Timestamp { nanos: 999_999_999, ..bad };
    for at in [bad, far] {
        for correction in [i64::MIN, i64::MAX] {
            for body in [
                Body::Sync(at),
                Body::FollowUp(at),
                Body::DelayResp(Response { at, requester: port(0xb) }),
            ] {
                for log_interval in [i8::MIN, -1, 40, i8::MAX] {
                    let message = Message::new(0, port(0xa), 1, body.clone());
                    bench.hear(bench.now, &Message { correction, log_interval, ..message });
                }
            }
        }
    }
    bench.run(5);
    // The clock still increases, whatever the wrong messages did.
    assert!(bench.slave.shows_ns(SimTime(bench.now.0 + MS)) > bench.slave.shows_ns(bench.now));
}

#[test]
fn the_same_seed_asks_at_the_same_instants_however_time_passes() {
    let asked = |step: u64| {
        let settings = PtpSettings { delay: DelayMechanism::PeerToPeer, ..end_to_end() };
        let mut bench = Bench::new(&settings, &[]);
        let mut sent = 0;
        for at in (0..20_000 * MS).step_by(step as usize) {
            bench.slave.advance(SimTime(at));
            sent += std::iter::from_fn(|| bench.slave.poll_send()).count();
        }
        (sent, bench.slave.next_request)
    };
    assert_eq!(asked(MS), asked(250 * MS));
    assert_eq!(identity_of([2, 0, 0, 0, 0, 0xb]), OWN);
}

#[test]
fn a_fault_hides_all_masters_and_nothing_else() {
    let mut bench = Bench::with_fault(PtpFault::Lost, 20);
    bench.run(10);
    assert_eq!(bench.slave.state(), PortState::Listening);
    let told = bench.asked(&request(action::GET, id::PORT, ANY_PORT)).unwrap();
    assert_eq!(PortDataSet::parse(&told.data).unwrap().state, 4);
    assert!(bench.slave.holds_over() && bench.error_ns().abs() < 10 * US);
    bench.run(25);
    assert_eq!(bench.slave.state(), PortState::Slave);
}

#[test]
fn paths_differ_by_a_fault() {
    for longer_ns in [20_000, -20_000] {
        let mut bench = Bench::with_fault(PtpFault::Asymmetry { longer_ns }, 100);
        bench.run(60);
        let off_ns = bench.error_ns() + i128::from(longer_ns) / 2;
        assert!(off_ns.abs() < 100, "{longer_ns}: {off_ns}");
        assert!((bench.slave.path_delay_ns() - 15_000).abs() < 50);
    }
}

#[test]
fn late_synchronisations_disturb_the_clock() {
    let (delay_ns, jitter_ns) = (50_000, 50_000);
    let kind = PtpFault::LateSync { delay_ns, jitter_ns, probability: 0.5 };
    let mut bench = Bench::with_fault(kind, 1000);
    let mut offsets = Vec::new();
    for _ in 0..60 {
        bench.run(1);
        offsets.push(bench.slave.offset_ns());
    }
    assert!(offsets.iter().any(|ns| *ns > 20_000) && offsets.iter().any(|ns| *ns < -5_000));
    assert_eq!(bench.slave.state(), PortState::Slave);
}

#[test]
fn without_follow_ups_nothing_is_followed() {
    let mut bench = Bench::with_fault(PtpFault::NoFollowUp { probability: 1.0 }, 100);
    bench.masters[0].ahead_ns = 100_000;
    bench.run(10);
    assert_eq!(bench.slave.state(), PortState::Slave, "announcements come");
    assert!(bench.slave.offset_ns().abs() < 100, "{}", bench.slave.offset_ns());
    assert!(bench.error_ns() < -90_000);
}

#[test]
fn a_master_of_another_domain_is_heard_in_that_one() {
    let mut bench = Bench::with_fault(PtpFault::Domain { shift: 3 }, 100);
    bench.run(10);
    assert_eq!(bench.slave.state(), PortState::Listening);
    let settings = PtpSettings { domain: 3, ..end_to_end() };
    bench.slave.configure(bench.now, settings, true);
    bench.run(20);
    assert_eq!(bench.slave.state(), PortState::Slave);
    bench.slave.ask();
    let sent = bench.slave.poll_send().unwrap();
    assert_eq!(Message::parse(&sent.bytes).unwrap().domain, 0, "the master hears its own");
}

#[test]
fn the_masters_time_steps_and_its_offset_of_utc_is_wrong() {
    let mut bench = Bench::with_fault(PtpFault::Step { step_ns: 3_600_000_000_000 }, 20);
    bench.run(10);
    assert!(bench.slave.offset_ns() < -3_599_000_000_000, "{}", bench.slave.offset_ns());
    for (offset_s, is_valid, told) in [(None, false, 0), (Some(36), true, 36)] {
        let mut bench = Bench::with_fault(PtpFault::UtcOffset { offset_s, is_valid }, 20);
        bench.run(3);
        assert_eq!(bench.slave.utc_offset_s(), told);
        assert_eq!(bench.slave.time_properties().flags & 4 != 0, is_valid);
        bench.run(30);
        assert_eq!(bench.slave.utc_offset_s(), 37);
    }
}

#[test]
fn a_leap_second_is_announced_and_comes() {
    for (leap_s, flag, after) in [(1, 1, 38), (-1, 2, 36)] {
        let kind = PtpFault::LeapSecond { leap_s, announced_ns: 10_000 * MS };
        let mut bench = Bench::with_fault(kind, 20);
        let told = |bench: &Bench| {
            let all = bench.slave.time_properties();
            (all.flags & 3, all.utc_offset_s)
        };
        bench.run(5);
        assert_eq!(told(&bench), (flag, 37));
        bench.run(10);
        assert_eq!(told(&bench), (0, after));
        assert!(bench.error_ns().abs() < 100, "TAI has none");
    }
}

#[test]
fn a_better_master_with_another_time_appears_and_goes() {
    let kind = PtpFault::BetterMaster { priority_1: 0, ahead_ns: 1_000_000 };
    let mut bench = Bench::with_fault(kind, 60);
    bench.run(50);
    let parent = bench.slave.parent_data_set();
    assert_eq!((parent.priority_1, parent.grandmaster), (0, [0, 0, 0x5e, 0xff, 0xfe, 0, 0x53, 2]));
    assert_eq!(bench.slave.state(), PortState::Slave);
    assert!((bench.error_ns() - 1_000_000).abs() < 1000, "{}", bench.error_ns());
    bench.run(60);
    assert_eq!(bench.slave.parent_data_set().grandmaster, identity(0xa));
    assert!(bench.error_ns().abs() < 1000, "{}", bench.error_ns());
}

#[test]
fn a_better_master_appears_although_a_forged_one_was_followed() {
    let mut bench = Bench::with_fault(PtpFault::AnnounceStorm { priority_1: 1, rate_hz: 100 }, 10);
    bench.run(10);
    let schedule = Schedule { start: bench.now, duration_ns: None, period_ns: None };
    let kind = PtpFault::BetterMaster { priority_1: 0, ahead_ns: 0 };
    bench.slave.set_faults(vec![Timed { fault: 1, schedule, kind }]);
    bench.run(30);
    assert_eq!(bench.slave.parent_data_set().priority_1, 0);
    assert_eq!(bench.slave.state(), PortState::Slave);
}

#[test]
fn a_storm_of_better_masters_unsettles_and_one_of_worse_ones_does_not() {
    for (priority_1, state) in [(0, PortState::Uncalibrated), (255, PortState::Slave)] {
        let mut bench = Bench::with_fault(PtpFault::AnnounceStorm { priority_1, rate_hz: 100 }, 20);
        bench.run(10);
        assert_eq!(bench.slave.state(), state);
        let one = bench.slave.parent_data_set().grandmaster;
        bench.run(1);
        assert_eq!(bench.slave.parent_data_set().grandmaster == one, priority_1 == 255);
        bench.run(40);
        assert_eq!(bench.slave.state(), PortState::Slave);
        assert_eq!(bench.slave.parent_data_set().grandmaster, identity(0xa));
        assert!(bench.error_ns().abs() < 1000, "{}", bench.error_ns());
    }
}

#[test]
fn a_slave_locks_on_to_a_master_within_menura_and_faults_act_on_it() {
    let epoch = Epoch::new("2026-06-01T12:00:00Z".parse().unwrap());
    let slave = |step_ms: u64| {
        let clock = PtpClock::new(0.864, SimTime::ZERO, 0);
        let noise = NoiseSource::new(1, "lidar");
        let new = PtpSlave::new(&end_to_end(), OWN, clock, noise, SimTime::ZERO);
        let mut slave = new.with_virtual_master(epoch);
        let schedule = Schedule {
            start: SimTime(40_000 * MS),
            duration_ns: Some(20_000 * MS),
            period_ns: None,
        };
        slave.set_faults(vec![Timed { fault: 0, schedule, kind: PtpFault::Lost }]);
        let mut states = Vec::new();
        for at in (0..=90_000 * MS).step_by((step_ms * MS) as usize).map(SimTime) {
            slave.advance(at);
            assert_eq!(slave.poll_send(), None, "nothing leaves");
            if at.0 % (10_000 * MS) == 0 {
                states.push(slave.state() as u8);
            }
        }
        let accounts: Vec<_> = std::iter::from_fn(|| slave.poll_account()).collect();
        (states, accounts)
    };
    let (states, accounts) = slave(10);
    assert_eq!(states, [4, 9, 9, 9, 9, 4, 4, 9, 9, 9]);
    let error_at = |second: u64| {
        let then = accounts.iter().find(|account| account.at.0 == second * 1000 * MS).unwrap();
        (then.stamps(), then.error_ns(epoch.unix_ns(then.at)))
    };
    assert!(error_at(1).0 == "oscillator" && error_at(1).1 < -1_000_000_000);
    assert!(error_at(39).0 == "ptp" && error_at(39).1.abs() < 100, "{:?}", error_at(39));
    assert!(error_at(55).0 == "holdover" && error_at(55).1.abs() < 2000, "{:?}", error_at(55));
    // One account per second, and one for each of five changes.
    assert_eq!(accounts.len(), 91 + 5);
    assert_eq!(slave(250), (states, accounts), "however time passes");
}
