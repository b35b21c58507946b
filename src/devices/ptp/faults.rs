//! Faults between a PTP master and a slave: messages to the slave are lost, delayed, changed or forged.
//!
//! The faults act on messages as they arrive at one device. They need no special master, and replaying a host log
//! repeats them.

use std::sync::Arc;

use super::SECOND_NS;
use super::masters::announce_of_receiver;
use crate::config::profile::{DeviceFaultKind, FamilyData, Profile};
use crate::config::rig::faults::{ANNOUNCED_S, FORMAT, PROBABILITY, Timed};
use crate::config::toml::reader::{Limit, TableReader};
use crate::sensors::fault::{EffectKind, FaultEffect};
use crate::sensors::noise::{NoiseSource, Quantity};
use crate::time::SimTime;
use crate::wire::ptp::{
    Body, ClockIdentity, Message, NO_INTERVAL, PortIdentity, Timestamp, flag, identity_of,
};

/// Index of the first random stream for received messages, above those of measurements and below those of delay
/// requests.
const MESSAGE_DRAWS: u64 = 1 << 60;
/// Number of announcements that each forged master sends; two qualify a master for a slave.
const ANNOUNCED: u64 = 2;
/// MAC address of the better master, from the range for documentation (RFC 7042).
const BETTER: [u8; 6] = [0, 0, 0x5e, 0, 0x53, 2];

/// A fault on the path between a PTP master and a slave.
#[derive(Clone, Debug, PartialEq)]
pub enum PtpFault {
    /// The master is lost.
    Lost,
    /// The path from the master is longer than the path back; shorter if `longer_ns` is negative.
    Asymmetry {
        /// Additional path delay, nanoseconds.
        longer_ns: i64,
    },
    /// Sync messages are late.
    LateSync {
        /// Delay, nanoseconds.
        delay_ns: u64,
        /// Largest deviation from `delay_ns`, earlier or later, nanoseconds.
        jitter_ns: u64,
        /// Probability that a Sync message is late.
        probability: f64,
    },
    /// Follow-up messages are missing.
    NoFollowUp {
        /// Probability that a follow-up message is missing.
        probability: f64,
    },
    /// The master has another domain number.
    Domain {
        /// Increase of the domain number, modulo 256.
        shift: u8,
    },
    /// The master's time jumps.
    Step {
        /// Size of the step, nanoseconds.
        step_ns: i64,
    },
    /// The master announces another UTC offset.
    UtcOffset {
        /// TAI minus UTC, seconds; `None`: the master's own.
        offset_s: Option<i16>,
        /// Whether the master reports the offset as valid.
        is_valid: bool,
    },
    /// UTC has a leap second.
    LeapSecond {
        /// Leap second: 1 inserted, -1 removed.
        leap_s: i8,
        /// Time from the start of the fault, which announces the leap second, to the leap second itself, nanoseconds.
        announced_ns: u64,
    },
    /// A better master appears beside the present master.
    BetterMaster {
        /// `priority1` of the better master.
        priority_1: u8,
        /// Time of the better master minus the time of the present master, nanoseconds.
        ahead_ns: i64,
    },
    /// Forged masters announce themselves in an endless series and never send Sync.
    AnnounceStorm {
        /// `priority1` of the forged masters.
        priority_1: u8,
        /// Announcements per second.
        rate_hz: u32,
    },
}

/// Fault kind `ptp-lost`.
pub const PTP_LOST: DeviceFaultKind =
    DeviceFaultKind { word: "ptp-lost", read: |_, _| Some(Arc::new(PtpFault::Lost)) };

/// Fault kinds of a device with a PTP slave.
pub const FAULTS: &[DeviceFaultKind] = &[
    PTP_LOST,
    DeviceFaultKind { word: "ptp-asymmetry", read: asymmetry },
    DeviceFaultKind { word: "ptp-late-sync", read: late_sync },
    DeviceFaultKind { word: "ptp-no-follow-up", read: no_follow_up },
    DeviceFaultKind { word: "ptp-domain", read: domain },
    DeviceFaultKind { word: "ptp-step", read: step },
    DeviceFaultKind { word: "ptp-utc-offset", read: utc_offset },
    DeviceFaultKind { word: "ptp-leap-second", read: leap_second },
    DeviceFaultKind { word: "ptp-better-master", read: better_master },
    DeviceFaultKind { word: "ptp-announce-storm", read: announce_storm },
];

type Read = Option<Arc<dyn FamilyData>>;

fn read(fault: PtpFault) -> Read {
    Some(Arc::new(fault))
}

fn nanos(value: f64, unit_ns: f64) -> i64 {
    (value * unit_ns).round() as i64
}

fn probability(table: &mut TableReader<'_>) -> f64 {
    let field = table.optional("probability").meaning(PROBABILITY);
    field.number_or(&Limit::new(0.0..=1.0, "", "a probability"), 1.0)
}

fn priority_1(table: &mut TableReader<'_>) -> u8 {
    let says = "`priority1` of the forged masters: lower is better.";
    let field = table.optional("priority_1").meaning(says);
    field.integer_or(&Limit::new(0..=255, "", "IEEE 1588: one byte"), 0)
}

fn asymmetry(table: &mut TableReader<'_>, _: Option<&Profile>) -> Read {
    let limit = Limit::new(-1e5..=1e5, "us", FORMAT);
    let says = "Path delay from the PTP master minus path delay to it.";
    let longer_us = table.required("asymmetry_us").meaning(says).number(&limit)?;
    read(PtpFault::Asymmetry { longer_ns: nanos(longer_us, 1e3) })
}

fn late_sync(table: &mut TableReader<'_>, _: Option<&Profile>) -> Read {
    let limit = |least| Limit::new(least..=1e6, "us", FORMAT);
    let delay = table.required("delay_us").meaning("Delay of each Sync message.");
    let delay_us = delay.number(&limit(0.001));
    let says = "Largest random deviation from the delay, longer or shorter.";
    let jitter = table.optional("jitter_us").meaning(says);
    let jitter_us = jitter.number_or(&limit(0.0), 0.0);
    if let (Some(delay_us), Some(place)) = (delay_us, jitter.place())
        && jitter_us > delay_us
    {
        let label = format!("allowed: at most `delay_us`, {delay_us} us");
        let fault = place.fault("`jitter_us` must not exceed `delay_us`", label);
        jitter.fault(
            fault.note("`jitter_us` is the largest deviation from `delay_us`, earlier or later"),
        );
    }
    let probability = probability(table);
    let (delay_ns, jitter_ns) = (nanos(delay_us?, 1e3) as u64, nanos(jitter_us, 1e3) as u64);
    read(PtpFault::LateSync { delay_ns, jitter_ns, probability })
}

fn no_follow_up(table: &mut TableReader<'_>, _: Option<&Profile>) -> Read {
    read(PtpFault::NoFollowUp { probability: probability(table) })
}

fn domain(table: &mut TableReader<'_>, _: Option<&Profile>) -> Read {
    let limit = Limit::new(1..=255, "", "IEEE 1588: one byte");
    let says = "Number that is added to the domain of the master's messages, modulo 256.";
    let shift = table.optional("domain_shift").meaning(says).integer_or(&limit, 1);
    read(PtpFault::Domain { shift })
}

fn step(table: &mut TableReader<'_>, _: Option<&Profile>) -> Read {
    let limit = Limit::new(-1e9..=1e9, "s", FORMAT);
    let says = "Step of the master's time; negative: backward.";
    let step_s = table.required("step_s").meaning(says).number(&limit)?;
    read(PtpFault::Step { step_ns: nanos(step_s, 1e9) })
}

fn utc_offset(table: &mut TableReader<'_>, _: Option<&Profile>) -> Read {
    let limit = Limit::new(-32_768..=32_767, "s", "IEEE 1588: 16 bits");
    let says = "TAI minus UTC that the master announces (default: the master's own).";
    let offset_s = table.optional("utc_offset_s").meaning(says).integer(&limit);
    let says = "Whether the master announces that its UTC offset is valid.";
    let is_valid = table.optional("offset_valid").meaning(says).boolean_or(false);
    read(PtpFault::UtcOffset { offset_s, is_valid })
}

fn leap_second(table: &mut TableReader<'_>, _: Option<&Profile>) -> Read {
    let words = [("inserted", 1), ("removed", -1)];
    let says = "Leap second: a second is inserted or removed.";
    let leap_s = table.optional("leap").meaning(says).choice_or(&words, FORMAT, 1);
    let limit = Limit::new(0.0..=86_400.0, "s", "IEEE 1588: announced at most one day before");
    let announced = table.optional("announced_s").meaning(ANNOUNCED_S);
    let announced_s = announced.number_or(&limit, 10.0);
    let announced_ns = nanos(announced_s, 1e9) as u64;
    read(PtpFault::LeapSecond { leap_s, announced_ns })
}

fn better_master(table: &mut TableReader<'_>, _: Option<&Profile>) -> Read {
    let priority_1 = priority_1(table);
    let limit = Limit::new(-1e9..=1e9, "s", FORMAT);
    let says = "Offset of the better master's clock from the true master's.";
    let ahead_s = table.optional("ahead_s").meaning(says).number_or(&limit, 0.0);
    read(PtpFault::BetterMaster { priority_1, ahead_ns: nanos(ahead_s, 1e9) })
}

fn announce_storm(table: &mut TableReader<'_>, _: Option<&Profile>) -> Read {
    let priority_1 = priority_1(table);
    let limit = Limit::new(1..=10_000, "a second", FORMAT);
    let says = "Forged Announce messages a second; two from each master.";
    let rate_hz = table.optional("rate_hz").meaning(says).integer_or(&limit, 100);
    read(PtpFault::AnnounceStorm { priority_1, rate_hz })
}

/// Effects of PTP faults on a packet whose timestamps are between `from` and `to`.
pub fn effects(
    faults: &[Timed<PtpFault>],
    from: SimTime,
    to: SimTime,
) -> impl Iterator<Item = FaultEffect> {
    faults.iter().filter_map(move |fault| {
        let window = fault.schedule.window_between(from, to)?;
        let kind = match fault.kind {
            PtpFault::Lost => EffectKind::Frozen,
            _ => EffectKind::PtpDisturbed,
        };
        Some(FaultEffect { fault: fault.fault, window, kind })
    })
}

/// A message as the slave receives it, after the faults.
pub struct Heard {
    /// The received message.
    pub message: Message,
    /// Delay that the faults add to the receive timestamp of the message, nanoseconds.
    pub late_ns: i128,
}

/// PTP faults on the path between a slave and its masters, and the state of the faults.
#[derive(Clone, Debug, Default)]
pub struct Disturbances {
    faults: Vec<Timed<PtpFault>>,
    heard: u64,
    /// Port of the master that the better master copies; `None` without an active better master.
    beside: Option<PortIdentity>,
    /// Time up to which announcements were forged.
    stormed: Option<SimTime>,
}

impl Disturbances {
    /// Replaces the faults.
    pub fn set(&mut self, faults: Vec<Timed<PtpFault>>) {
        self.faults = faults;
    }

    /// Applies the faults to `message`, which arrives at `now` at a slave with the master `parent` (port, and whether
    /// it uses TAI). Returns the messages that the slave receives.
    pub fn pass(
        &mut self,
        now: SimTime,
        message: Message,
        parent: Option<(PortIdentity, bool)>,
        noise: &NoiseSource,
    ) -> Vec<Heard> {
        let mut batch = vec![Heard { message, late_ns: 0 }];
        if self.faults.is_empty() {
            return batch;
        }
        self.heard += 1;
        let noise = noise.request(MESSAGE_DRAWS + self.heard);
        let is_better = |fault: &Timed<PtpFault>| {
            matches!(fault.kind, PtpFault::BetterMaster { .. }) && fault.is_on(now)
        };
        if !self.faults.iter().any(is_better) {
            self.beside = None;
        } else if let Some((source, _)) =
            parent.filter(|(source, _)| source.clock != identity_of(BETTER))
        {
            self.beside = Some(source);
        }
        let shows_tai = parent.is_some_and(|(_, shows_tai)| shows_tai);
        for (place, fault) in self.faults.iter().enumerate() {
            let Some(window) = fault.schedule.window_at(now) else { continue };
            let happens = |share: f64| noise.uniform(2 * place, Quantity::PtpFault) < share;
            match &fault.kind {
                PtpFault::Lost => batch.retain(|heard| !is_of_master(&heard.message.body)),
                PtpFault::Asymmetry { longer_ns } => {
                    let longer = i128::from(*longer_ns);
                    for Heard { message, late_ns } in &mut batch {
                        match &mut message.body {
                            Body::Sync(_) => *late_ns += longer.max(0),
                            Body::DelayResp(answer) => shift(&mut answer.at, (-longer).max(0)),
                            Body::PeerDelayResp(answer) => {
                                *late_ns += longer.max(0);
                                shift(&mut answer.at, (-longer).max(0));
                            }
                            _ => {}
                        }
                    }
                }
                PtpFault::LateSync { delay_ns, jitter_ns, probability } => {
                    if happens(*probability) {
                        let part = 2.0 * noise.uniform(2 * place + 1, Quantity::PtpFault);
                        let late = (delay_ns - jitter_ns) + (*jitter_ns as f64 * part) as u64;
                        let syncs = batch.iter_mut();
                        syncs
                            .filter(|heard| matches!(heard.message.body, Body::Sync(_)))
                            .for_each(|heard| heard.late_ns += i128::from(late));
                    }
                }
                PtpFault::NoFollowUp { probability } => {
                    if happens(*probability) {
                        batch.retain(|heard| !matches!(heard.message.body, Body::FollowUp(_)));
                    }
                }
                PtpFault::Domain { shift } => {
                    for Heard { message, .. } in &mut batch {
                        if is_of_master(&message.body) {
                            message.domain = message.domain.wrapping_add(*shift);
                        }
                    }
                }
                PtpFault::Step { step_ns } => {
                    for Heard { message, .. } in &mut batch {
                        shift_times(&mut message.body, (*step_ns).into());
                    }
                }
                PtpFault::UtcOffset { offset_s, is_valid } => {
                    for Heard { message, .. } in &mut batch {
                        if let Body::Announce(announce) = &mut message.body {
                            announce.utc_offset_s = offset_s.unwrap_or(announce.utc_offset_s);
                            set_flag(&mut message.flags, flag::UTC_OFFSET_VALID, *is_valid);
                        }
                    }
                }
                PtpFault::LeapSecond { leap_s, announced_ns } => {
                    let leaps_at = fault.schedule.window(window).0.0.saturating_add(*announced_ns);
                    let has_leapt = now.0 >= leaps_at;
                    for Heard { message, .. } in &mut batch {
                        leap(message, *leap_s, has_leapt, shows_tai);
                    }
                }
                PtpFault::BetterMaster { priority_1, ahead_ns } => {
                    let copies: Vec<_> = batch
                        .iter()
                        .filter(|heard| Some(heard.message.source) == self.beside)
                        .filter(|heard| is_of_master(&heard.message.body))
                        .map(|heard| Heard {
                            message: of_better(&heard.message, *priority_1, *ahead_ns),
                            late_ns: heard.late_ns,
                        })
                        .collect();
                    batch.extend(copies);
                }
                PtpFault::AnnounceStorm { .. } => {}
            }
        }
        batch
    }

    /// Sum of the domain shifts at `now`, which are added to the domain of the master's messages.
    pub fn domain_shift(&self, now: SimTime) -> u8 {
        let shifts = self.faults.iter().filter(|fault| fault.is_on(now)).map(|fault| &fault.kind);
        shifts.fold(0, |sum: u8, kind| match kind {
            PtpFault::Domain { shift } => sum.wrapping_add(*shift),
            _ => sum,
        })
    }

    /// Time of the next forged announcement; `u64::MAX` nanoseconds if there is none.
    pub fn storm_due(&self) -> SimTime {
        let from = self.stormed.map_or(SimTime::ZERO, |at| SimTime(at.0 + 1));
        self.storms()
            .filter_map(|(fault, rate_hz, _)| due(fault, rate_hz, from))
            .min()
            .unwrap_or(NEVER)
    }

    /// Forges the announcements that are due exactly at `at`, at most one per fault; overdue ones are skipped. Every
    /// second announcement of a fault comes from a new forged master.
    pub fn storm(&mut self, at: SimTime, domain: u8) -> Vec<Message> {
        let of_now = |(fault, rate_hz, priority_1): (&Timed<PtpFault>, u32, u8)| {
            (due(fault, rate_hz, at) == Some(at)).then(|| {
                let window = fault.schedule.window_at(at).unwrap_or_default();
                let passed = at.0 - fault.schedule.window(window).0.0;
                let number = passed / (SECOND_NS / u64::from(rate_hz)) / ANNOUNCED;
                // The latest forged master has the lowest identity, so it is the best.
                let [a, b, c, d] = (!(number as u32)).to_be_bytes();
                announcement(domain, identity_of([2, fault.fault as u8, a, b, c, d]), priority_1)
            })
        };
        let made_up = self.storms().filter_map(of_now).collect();
        self.stormed = Some(at);
        made_up
    }

    /// Advances the time to `now`. Faults that are set afterwards then forge no announcements for earlier times.
    pub fn come_to(&mut self, now: SimTime) {
        self.stormed = self.stormed.max(Some(now));
    }

    fn storms(&self) -> impl Iterator<Item = (&Timed<PtpFault>, u32, u8)> {
        self.faults.iter().filter_map(|fault| match fault.kind {
            PtpFault::AnnounceStorm { rate_hz, priority_1 } => Some((fault, rate_hz, priority_1)),
            _ => None,
        })
    }
}

const NEVER: SimTime = SimTime(u64::MAX);

/// Time of the first forged announcement at or after `from`; `None` if there is none.
fn due(fault: &Timed<PtpFault>, rate_hz: u32, from: SimTime) -> Option<SimTime> {
    let schedule = fault.schedule;
    let next_window = || schedule.next_opening(from);
    let Some(window) = schedule.window_at(from) else { return next_window() };
    let step_ns = SECOND_NS / u64::from(rate_hz);
    let opens = schedule.window(window).0;
    let due = SimTime(opens.0 + (from.0 - opens.0).div_ceil(step_ns) * step_ns);
    match schedule.window_at(due) == Some(window) {
        true => Some(due),
        false => next_window(),
    }
}

/// Whether only masters send this message.
fn is_of_master(body: &Body) -> bool {
    matches!(body, Body::Announce(_) | Body::Sync(_) | Body::FollowUp(_) | Body::DelayResp(_))
}

/// Shifts the timestamp `at` by `by_ns`; a timestamp with an invalid nanoseconds field stays unchanged.
fn shift(at: &mut Timestamp, by_ns: i128) {
    if u64::from(at.nanos) < SECOND_NS {
        *at = Timestamp::of_ns(at.ns() + by_ns);
    }
}

/// Shifts the times in a message that come from the master's clock.
fn shift_times(body: &mut Body, by_ns: i128) {
    match body {
        Body::Sync(at) | Body::FollowUp(at) => shift(at, by_ns),
        Body::DelayResp(answer) => shift(&mut answer.at, by_ns),
        _ => {}
    }
}

fn set_flag(flags: &mut u16, flag: u16, is_set: bool) {
    *flags = *flags & !flag | if is_set { flag } else { 0 };
}

/// Changes a message for a leap second. Before the leap second, announcements get its flag. Afterwards, they get the
/// new UTC offset; if the master's time scale is UTC, times are shifted instead.
fn leap(message: &mut Message, leap_s: i8, has_leapt: bool, shows_tai: bool) {
    let flags = &mut message.flags;
    match &mut message.body {
        Body::Announce(announce) => {
            let announced = if leap_s > 0 { flag::LEAP_61 } else { flag::LEAP_59 };
            set_flag(flags, announced, !has_leapt);
            if has_leapt && *flags & flag::PTP_TIMESCALE != 0 {
                announce.utc_offset_s = announce.utc_offset_s.saturating_add(leap_s.into());
            }
        }
        // A master whose time scale is UTC steps at the leap second.
        body if has_leapt && !shows_tai => {
            shift_times(body, -i128::from(leap_s) * i128::from(SECOND_NS));
        }
        _ => {}
    }
}

/// Copy of `message` as the forged better master sends it.
fn of_better(message: &Message, priority_1: u8, ahead_ns: i64) -> Message {
    let mut copy = message.clone();
    copy.source = PortIdentity { clock: identity_of(BETTER), port: 1 };
    if let Body::Announce(announce) = &mut copy.body {
        (announce.priority_1, announce.grandmaster) = (priority_1, copy.source.clock);
        announce.steps_removed = 0;
    }
    shift_times(&mut copy.body, ahead_ns.into());
    copy
}

fn announcement(domain: u8, grandmaster: ClockIdentity, priority_1: u8) -> Message {
    let announce = announce_of_receiver(grandmaster, priority_1);
    let source = PortIdentity { clock: grandmaster, port: 1 };
    let message = Message::new(domain, source, 0, Body::Announce(announce));
    Message { log_interval: NO_INTERVAL, ..message }
}

/// Time since which the master is lost at `at`: the earliest start of the open fault windows; `None` if none is open.
/// All `faults` must be losses of the master, because a master that is simulated without error has no other PTP faults.
pub fn lost_since(faults: &[Timed<PtpFault>], at: SimTime) -> Option<SimTime> {
    let open = |loss: &Timed<PtpFault>| {
        loss.schedule.window_at(at).map(|window| loss.schedule.window(window).0)
    };
    faults.iter().filter_map(open).min()
}
