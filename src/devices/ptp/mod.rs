//! A PTP slave: an ordinary clock with one port, as products have it (IEEE 1588-2019, default profiles).
//!
//! The slave does no I/O. [`PtpSlave::hear`] receives messages with the kernel's timestamp, [`PtpSlave::left`] receives
//! the departure time of an event message, and [`PtpSlave::advance`] advances the time. [`PtpSlave::poll_send`] returns
//! messages to send. [`masters`] compares the known masters, and `following.rs` follows the best one. `measuring.rs`
//! measures offset and path delay, [`servo`] corrects the offset of the [`clock`]. [`answers`] has the answers to `pmc`
//! and other clients.
//!
//! The crate `statime` is not used, because it answers no management messages and does not expose offset and path
//! delay. It also reads its clock itself, whereas here time is an argument.
//!
//! Sources: IEEE 1588-2019; linuxptp 3.1.1 where the standard leaves a choice.

pub mod account;
mod answers;
pub mod clock;
pub mod faults;
mod following;
pub mod master;
mod masters;
mod measuring;
mod request;
pub mod servo;
mod settings;
#[cfg(test)]
pub mod testing;
mod unicast;
mod virtual_line;

use std::collections::VecDeque;
use std::net::Ipv4Addr;

use self::account::ClockAccount;
pub use self::clock::PtpClock;
use self::faults::{Disturbances, Heard, PtpFault};
pub use self::masters::Master;
use self::masters::Masters;
use self::request::{Neighbours, Request, valid};
use self::servo::Servo;
pub use self::settings::{PtpOptions, PtpSettings};
use self::unicast::Asked;
use self::virtual_line::VirtualLine;
use crate::config::rig::faults::Timed;
use crate::sensors::noise::NoiseSource;
use crate::time::{Epoch, SimTime};
pub use crate::wire::ptp::DelayMechanism;
use crate::wire::ptp::{
    Body, ClockIdentity, Message, PortIdentity, Target, Transport, flag, identity_of, suffix,
};

const SECOND_NS: u64 = 1_000_000_000;
/// Smallest and largest supported interval, binary logarithms of seconds.
const LOG_INTERVALS: (i8, i8) = (-7, 5);
/// Largest number of answers to other clocks per second.
const MOST_ANSWERS: u32 = 64;

/// State of the port; the value is its number in data sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortState {
    /// Switched off.
    Disabled = 3,
    /// No master.
    Listening = 4,
    /// The slave follows a master, but the path delay is not measured yet, or the servo is not locked.
    Uncalibrated = 8,
    /// The clock is synchronised to the master.
    Slave = 9,
}

impl PortState {
    /// Name of the state as in linuxptp.
    pub fn word(self) -> &'static str {
        match self {
            Self::Disabled => "DISABLED",
            Self::Listening => "LISTENING",
            Self::Uncalibrated => "UNCALIBRATED",
            Self::Slave => "SLAVE",
        }
    }
}

/// A message to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PtpSend {
    /// Key of an event message: the caller must report its departure with [`PtpSlave::left`]. `None` for other
    /// messages.
    pub key: Option<u32>,
    /// Destination.
    pub to: Target,
    /// The message.
    pub bytes: Vec<u8>,
}

/// A PTP slave.
#[derive(Clone, Debug)]
pub struct PtpSlave {
    settings: PtpSettings,
    port: PortIdentity,
    clock: PtpClock,
    noise: NoiseSource,
    now: SimTime,
    is_on: bool,
    masters: Masters,
    /// Present or last master.
    parent: Option<Master>,
    is_followed: bool,
    /// The master counts as lost if it sends no announcement before this time.
    announce_due: SimTime,
    /// The master counts as lost if it sends no Sync before this time.
    sync_due: SimTime,
    asked: Asked,
    servo: Servo,
    log_sync: i8,
    log_delay: i8,
    sync: PendingSync,
    /// Departure (corrected, on the master's clock) and arrival (on the slave's clock) of the last Sync, nanoseconds.
    latest: Option<(i128, i128)>,
    synchronised: Option<SimTime>,
    offset_ns: i128,
    delays: VecDeque<i128>,
    delay_ns: Option<i128>,
    request: Option<Request>,
    next_request: SimTime,
    requests: u64,
    sequence: u16,
    neighbours: Neighbours,
    answered: (SimTime, u32),
    keys: u32,
    out: VecDeque<PtpSend>,
    disturbances: Disturbances,
    accounts: VecDeque<ClockAccount>,
    account_due: SimTime,
    /// State of the port in the last queued [`ClockAccount`].
    noted: PortState,
    /// Connection to a master within Menura; the slave then exchanges messages with no other clock.
    line: Option<Box<VirtualLine>>,
    /// New transport, not yet returned by [`PtpSlave::poll_transport`].
    transport: Option<Transport>,
}

/// Parts of a two-step Sync; either part can arrive first.
#[derive(Clone, Debug, Default)]
struct PendingSync {
    /// Sequence number of the Sync, time of arrival on the slave's clock, and correction; both in nanoseconds.
    arrived: Option<(u16, i128, i128)>,
    /// Sequence number and corrected departure time from the follow-up.
    left: Option<(u16, i128)>,
}

impl PtpSlave {
    /// A slave, port 1 of the clock `clock_identity`, that listens from `now` on.
    pub fn new(
        settings: &PtpSettings,
        clock_identity: ClockIdentity,
        clock: PtpClock,
        noise: NoiseSource,
        now: SimTime,
    ) -> Self {
        Self {
            settings: settings.clone(),
            port: PortIdentity { clock: clock_identity, port: 1 },
            clock,
            noise,
            now,
            is_on: true,
            masters: Masters::default(),
            parent: None,
            is_followed: false,
            announce_due: SimTime(u64::MAX),
            sync_due: SimTime(u64::MAX),
            asked: Asked::new(&settings.masters, now),
            servo: Servo::new(settings.step_ns),
            log_sync: settings.log_sync,
            log_delay: settings.log_delay,
            sync: PendingSync::default(),
            latest: None,
            synchronised: None,
            offset_ns: 0,
            delays: VecDeque::new(),
            delay_ns: None,
            request: None,
            next_request: now,
            requests: 0,
            sequence: 0,
            neighbours: Neighbours::default(),
            answered: (now, 0),
            keys: 0,
            out: VecDeque::new(),
            disturbances: Disturbances::default(),
            accounts: VecDeque::new(),
            account_due: now,
            noted: PortState::Listening,
            line: None,
            transport: Some(settings.transport),
        }
    }

    /// Replaces the faults on the path between masters and the slave.
    pub fn set_faults(&mut self, faults: Vec<Timed<PtpFault>>) {
        self.disturbances.set(faults);
    }

    /// Sets the address of the unit; `mac` is the MAC address of the product. As in `tools/bench-network`, the second
    /// half of the unit's MAC address follows from `address`. The clock's identity follows from the MAC address.
    pub fn set_address(&mut self, mac: [u8; 6], address: Ipv4Addr) {
        let ([a, b, c, ..], [_, d, e, f]) = (mac, address.octets());
        self.port.clock = identity_of([a, b, c, d, e, f]);
    }

    /// A slave that reports a simulated errorless master, which is not on the network.
    pub fn simulated(self) -> Self {
        let parent = Some(Master::simulated());
        let (is_followed, servo, delay_ns) = (true, Servo::locked(), Some(0));
        Self { parent, is_followed, servo, delay_ns, ..self }
    }

    /// This slave with a virtual master within Menura as its only master; the master's clock has the UTC of the run.
    pub fn with_virtual_master(self, epoch: Epoch) -> Self {
        let mut line = VirtualLine::new(epoch);
        line.speak(&self.settings, self.now);
        Self { line: Some(Box::new(line)), ..self }
    }

    /// The slave after a restart: it listens from `up_at` on, and its clock counts from zero.
    pub fn restarted(&self, up_at: SimTime) -> Self {
        let clock = self.clock.restarted(up_at, 0);
        let port = self.port.clock;
        let new = Self::new(&self.settings, port, clock, self.noise, up_at);
        let mut line = self.line.clone();
        line.iter_mut().for_each(|line| line.restart(up_at));
        Self { is_on: self.is_on, disturbances: self.disturbances.clone(), line, ..new }
    }

    /// Deviation of the clock's rate from its oscillator's, parts per billion; positive: the clock is faster.
    pub fn rate_ppb(&self) -> f64 {
        self.clock.rate_ppb()
    }

    /// Clock reading at `at`, nanoseconds.
    pub fn shows_ns(&self, at: SimTime) -> i128 {
        self.clock.shows_ns(at)
    }

    /// State of the port.
    pub fn state(&self) -> PortState {
        // The path to another master is measured before the state changes to slave.
        let is_calibrated = self.servo.is_locked() && self.delay_ns.is_some();
        match (self.is_on, self.is_followed, is_calibrated) {
            (false, ..) => PortState::Disabled,
            (true, false, _) => PortState::Listening,
            (true, true, false) => PortState::Uncalibrated,
            (true, true, true) => PortState::Slave,
        }
    }

    /// Whether the clock is in holdover: it continues at the last rate after the loss of the master.
    pub fn holds_over(&self) -> bool {
        self.is_set() && !(self.is_on && self.is_followed)
    }

    /// Whether a master has set the clock since power-on.
    pub fn is_set(&self) -> bool {
        self.servo.has_set()
    }

    /// Whether a master had set the clock by `at`, which can be in the past.
    pub fn is_set_at(&self, at: SimTime) -> bool {
        self.is_set() && self.clock.steered_since().is_none_or(|since| since <= at)
    }

    /// Time of the slave minus time of the master at the arrival of the last Sync, nanoseconds.
    pub fn offset_ns(&self) -> i64 {
        limited(self.offset_ns)
    }

    /// Path delay to the master or, with the peer-to-peer mechanism, to the neighbour, nanoseconds; 0 until it is
    /// measured.
    pub fn path_delay_ns(&self) -> i64 {
        limited(self.delay_ns.unwrap_or(0))
    }

    /// Arrival time of the last Sync; `None` before the first one.
    pub fn synchronised(&self) -> Option<SimTime> {
        self.synchronised
    }

    /// Present or last master; `None` before the first one.
    pub fn parent(&self) -> Option<&Master> {
        self.parent.as_ref()
    }

    /// Whether the slave follows a master.
    pub fn is_followed(&self) -> bool {
        self.is_on && self.is_followed
    }

    /// TAI minus UTC, seconds, if the clock is on PTP's time scale and the master reports a valid offset; else 0.
    pub fn utc_offset_s(&self) -> i16 {
        let valid = flag::PTP_TIMESCALE | flag::UTC_OFFSET_VALID;
        let parent = self.parent.as_ref().filter(|parent| parent.flags & valid == valid);
        parent.map_or(0, |parent| parent.announce.utc_offset_s)
    }

    /// Identity of the slave's port, which its messages name as their source.
    pub fn port(&self) -> PortIdentity {
        self.port
    }

    /// Present settings of the slave.
    pub fn settings(&self) -> &PtpSettings {
        &self.settings
    }

    /// Changes the settings at `now`; without `is_on`, PTP is switched off. If anything changes, received messages are
    /// discarded; the clock continues.
    pub fn configure(&mut self, now: SimTime, settings: PtpSettings, is_on: bool) {
        self.advance(now);
        if (&settings, is_on) == (&self.settings, self.is_on) {
            return;
        }
        (self.log_sync, self.log_delay) = (settings.log_sync, settings.log_delay);
        if settings.transport != self.settings.transport {
            self.transport = Some(settings.transport);
        }
        self.servo.set_step(settings.step_ns);
        self.asked = Asked::new(&settings.masters, now);
        self.line.iter_mut().for_each(|line| line.speak(&settings, now));
        (self.settings, self.is_on) = (settings, is_on);
        self.masters = Masters::default();
        self.lose_master();
        self.forget_delay();
        self.next_request = now;
        self.account_due = now;
        self.note_change();
    }

    /// Advances the time to `now`.
    pub fn advance(&mut self, now: SimTime) {
        while self.advance_to_message(now).is_some() {}
    }

    /// Advances the time to `now`, or to the earlier time at which a message from a master within Menura arrives. Returns
    /// that earlier time; `None` if the time is now `now`.
    pub fn advance_to_message(&mut self, now: SimTime) -> Option<SimTime> {
        while self.is_on {
            let lost_at = self.announce_due.min(self.sync_due);
            let asks_at = if self.asks() { self.next_request } else { SimTime(u64::MAX) };
            let due = lost_at.min(asks_at).min(self.asked.due());
            let storm_due = self.disturbances.storm_due();
            let line_due = self.line.as_ref().map_or(SimTime(u64::MAX), |line| line.due());
            if due.min(storm_due).min(self.account_due).min(line_due) > now {
                break;
            }
            if line_due < due.min(storm_due).min(self.account_due) {
                self.now = self.now.max(line_due);
                let arrived = self.line.as_mut().and_then(|line| line.advance(self.now));
                if let Some(bytes) = arrived {
                    self.hear_now(self.now, None, &bytes);
                    return Some(self.now);
                }
                continue;
            }
            if self.account_due < due.min(storm_due) {
                self.now = self.now.max(self.account_due);
                self.account_due = SimTime(self.account_due.0 + SECOND_NS);
                self.note_account();
                continue;
            }
            if storm_due < due {
                self.now = self.now.max(storm_due);
                for message in self.disturbances.storm(storm_due, self.settings.domain) {
                    if let Body::Announce(announce) = &message.body {
                        self.hear_announce(&message, announce);
                    }
                }
                self.note_change();
                continue;
            }
            self.now = self.now.max(due);
            if lost_at <= due {
                if let Some(parent) = &self.parent {
                    self.masters.forget(parent.source);
                    self.asked.lose(parent.source);
                }
                self.lose_master();
                self.choose();
                self.note_change();
            } else if asks_at <= due {
                self.ask();
            } else {
                self.ask_for_unicast();
            }
        }
        self.now = self.now.max(now);
        self.disturbances.come_to(self.now);
        None
    }

    /// Whether the slave measures the path delay.
    fn asks(&self) -> bool {
        self.is_followed || self.settings.delay == DelayMechanism::PeerToPeer
    }

    /// Processes a message (arbitrary bytes) that the kernel received at `at`; `now` is the time of processing. `from`
    /// is the sender of a unicast message.
    pub fn hear(&mut self, now: SimTime, at: SimTime, from: Option<Ipv4Addr>, bytes: &[u8]) {
        self.advance(now);
        if now >= self.now {
            self.hear_now(at, from, bytes);
        }
    }

    /// Processes a message like [`PtpSlave::hear`], but does not advance the time.
    fn hear_now(&mut self, at: SimTime, from: Option<Ipv4Addr>, bytes: &[u8]) {
        let now = self.now;
        let Ok(message) = Message::of_datagram(bytes) else { return };
        let parent = self.parent.as_ref().filter(|_| self.is_followed);
        let parent = parent.map(|parent| (parent.source, parent.flags & flag::PTP_TIMESCALE != 0));
        for heard in self.disturbances.pass(now, message, parent, &self.noise) {
            self.take(now, at, from, &heard);
            self.note_change();
        }
    }

    fn take(
        &mut self,
        now: SimTime,
        at: SimTime,
        from: Option<Ipv4Addr>,
        Heard { message, late_ns }: &Heard,
    ) {
        let is_own = message.source.clock == self.port.clock;
        let is_of_profile = message.sdo == self.settings.transport.sdo();
        if !self.is_on || is_own || !is_of_profile || message.domain != self.settings.domain {
            return;
        }
        let at_ns = self.clock.shows_ns(at.min(now)) + late_ns;
        let correction = i128::from(message.correction >> 16);
        if !self.settings.is_announced && matches!(message.body, Body::Sync(_)) {
            self.adopt(message.source);
        }
        let is_expected = !self.asked.is_on() || from.is_some();
        let is_parent = is_expected && self.followed() == Some(message.source);
        match &message.body {
            Body::Announce(announce) if self.is_heard(from, message.source) => {
                self.hear_announce(message, announce);
            }
            Body::Signaling(_) => {
                if let Some(from) = from {
                    self.asked.hear(now, from, &suffix::parts(&message.suffix));
                }
            }
            Body::Sync(origin) if is_parent => {
                self.log_sync = interval_of(message.log_interval, self.log_sync);
                self.sync_due = self.synchronised_until();
                if message.flags & flag::TWO_STEP != 0 {
                    self.sync.arrived = Some((message.sequence, at_ns, correction));
                    self.synchronised = Some(at);
                    self.pair(now);
                } else if let Some(origin) = valid(*origin) {
                    self.sync = PendingSync::default();
                    self.synchronised = Some(at);
                    self.follow(now, origin + correction, at_ns);
                }
            }
            Body::FollowUp(origin) if is_parent => {
                if let Some(origin) = valid(*origin) {
                    self.sync.left = Some((message.sequence, origin + correction));
                    self.pair(now);
                }
            }
            Body::DelayResp(answer)
                if is_parent
                    && answer.requester == self.port
                    && self.settings.delay == DelayMechanism::EndToEnd =>
            {
                self.log_delay = interval_of(message.log_interval, self.log_delay);
                if let Some(there) = valid(answer.at) {
                    let there = there - correction;
                    self.hear_answer(message.sequence, |request| {
                        request.there_ns = Some((there, None));
                    });
                }
            }
            Body::PeerDelayResp(_) | Body::PeerDelayFollowUp(_) => {
                if let Some(request) = &mut self.request {
                    request.hear_neighbour(self.port, message, at_ns);
                    self.measure_delay();
                }
            }
            Body::PeerDelayReq(_) if self.settings.delay == DelayMechanism::PeerToPeer => {
                self.answer_neighbour(message, at_ns);
            }
            Body::Management(asked) => {
                if let Some(answer) = self.answer_management(message, asked)
                    && self.may_answer()
                {
                    let all = Target::All;
                    self.send_to(from.map_or(all, Target::Host), answer);
                }
            }
            _ => {}
        }
    }

    /// Reports at `now` that the event message with this key left at `at`.
    pub fn left(&mut self, now: SimTime, key: u32, at: SimTime) {
        self.advance(now);
        self.left_now(key, at);
    }

    fn left_now(&mut self, key: u32, at: SimTime) {
        let at_ns = self.clock.shows_ns(at.min(self.now));
        if let Some(request) = self.request.as_mut().filter(|request| request.key == key) {
            request.left_ns = Some(at_ns);
            self.measure_delay();
            self.note_change();
        }
        if let Some(follow_up) = self.neighbours.left(key, at_ns) {
            self.send(follow_up);
        }
    }

    /// The next message to send. Call this after each call of another function, until it returns `None`.
    pub fn poll_send(&mut self) -> Option<PtpSend> {
        self.out.pop_front()
    }

    /// New transport of PTP messages; `None` if the transport has not changed since the last call.
    pub fn poll_transport(&mut self) -> Option<Transport> {
        self.transport.take()
    }

    fn send(&mut self, message: Message) -> Option<u32> {
        self.send_to(Target::group_of(&message.body), message)
    }

    fn send_to(&mut self, to: Target, mut message: Message) -> Option<u32> {
        message.sdo = self.settings.transport.sdo();
        if matches!(to, Target::Host(_)) {
            message.flags |= flag::UNICAST;
        }
        if matches!(message.body, Body::DelayReq(_)) {
            let shift = self.disturbances.domain_shift(self.now);
            message.domain = message.domain.wrapping_sub(shift);
        }
        let key = message.body.is_event().then(|| {
            self.keys = self.keys.wrapping_add(1);
            self.keys
        });
        self.out.push_back(PtpSend { key, to, bytes: message.to_bytes() });
        key
    }

    /// Sends the queued messages to the master within Menura, if there is one.
    fn send_by_line(&mut self) {
        while self.line.is_some()
            && let Some(sent) = self.out.pop_front()
        {
            let (now, key) = (self.now, sent.key);
            self.line.iter_mut().for_each(|line| line.send(now, sent.clone()));
            key.into_iter().for_each(|key| self.left_now(key, now));
        }
    }

    fn answer_neighbour(&mut self, asked: &Message, at_ns: i128) {
        if !self.neighbours.has_room() || !self.may_answer() {
            return;
        }
        let [reply, follow_up] = Neighbours::answer(self.port, asked, at_ns);
        if let Some(key) = self.send(reply) {
            self.neighbours.wait(key, follow_up);
        }
        self.send_by_line();
    }

    /// Counts an answer; returns whether the limit of answers per second permits it.
    fn may_answer(&mut self) -> bool {
        let (since, count) = &mut self.answered;
        if self.now.0.saturating_sub(since.0) >= SECOND_NS {
            (*since, *count) = (self.now, 0);
            // The departures of earlier answers will not be reported any more. Their follow-ups are dropped.
            self.neighbours.forget();
        }
        *count += 1;
        *count <= MOST_ANSWERS
    }
}

/// Interval in nanoseconds from the binary logarithm of seconds `log`, which is limited to `LOG_INTERVALS`.
pub fn interval_ns(log: i8) -> u64 {
    match log.clamp(LOG_INTERVALS.0, LOG_INTERVALS.1) {
        log if log < 0 => SECOND_NS >> -log,
        log => SECOND_NS << log,
    }
}

/// Interval that a message names (`named`), or else the present interval (`so_far`), as binary logarithms of seconds.
fn interval_of(named: i8, so_far: i8) -> i8 {
    match named {
        crate::wire::ptp::NO_INTERVAL => so_far,
        named => named.clamp(LOG_INTERVALS.0, LOG_INTERVALS.1),
    }
}

/// Limits a time in nanoseconds to the range of an `i64`.
fn limited(ns: i128) -> i64 {
    ns.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

#[cfg(test)]
mod tests;
