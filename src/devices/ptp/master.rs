//! A two-step PTP grandmaster with one port and the time of the run.
//!
//! Like the slave, the master does no I/O. It announces itself at once, and is passive while it receives
//! announcements of a better master. Hosts that request unicast messages get them in addition to multicast ones.

use std::collections::VecDeque;
use std::net::Ipv4Addr;

use super::account::TAI_AHEAD_NS;
use super::answers::answer;
use super::masters::{Masters, RECEIVER_FLAGS, announce_of_receiver};
use super::request::{Neighbours, Request, neighbour_request};
use super::unicast::{ANNOUNCE, Grants, SYNC};
use super::{DelayMechanism, PtpSend, SECOND_NS, interval_ns};
use crate::time::{Epoch, SimTime};
use crate::wire::ptp::management::{
    CurrentDataSet, DefaultDataSet, ParentDataSet, PortDataSet, TimePropertiesDataSet, TimeStatus,
    id,
};
use crate::wire::ptp::suffix::{self, Part};
use crate::wire::ptp::{
    Announce, Body, ClockQuality, Message, NO_INTERVAL, PortIdentity, Response, Target, Timestamp,
    Transport, UTC_OFFSET_S, VERSION, flag, identity_of,
};
use crate::wire::record::Record as _;

/// Interval between delay requests, for requests by slaves and by the master; binary logarithm of seconds.
const LOG_DELAY: i8 = 0;
const ANNOUNCE_TIMEOUT: u8 = 3;
/// Largest number of answers per second.
const MOST_ANSWERS: u32 = 1000;
/// Largest number of Sync messages whose departure is not known yet.
const MOST_LEAVING: usize = 64;
/// Number of the port state MASTER in data sets.
const MASTER: u8 = 6;
/// Number of the port state PASSIVE in data sets.
const PASSIVE: u8 = 7;

/// Settings of a PTP master.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MasterSettings {
    /// Domain of the master.
    pub domain: u8,
    /// `priority1` of the master; lower is better.
    pub priority_1: u8,
    /// Transport of messages.
    pub transport: Transport,
    /// Mechanism that measures the path delay.
    pub delay: DelayMechanism,
}

impl MasterSettings {
    /// Intervals of announcements and of Sync messages, binary logarithms of seconds.
    fn log_intervals(&self) -> (i8, i8) {
        match self.transport {
            Transport::Gptp => (0, -3),
            Transport::Udp | Transport::Ethernet => (1, 0),
        }
    }

    fn measures_peers(&self) -> bool {
        self.delay == DelayMechanism::PeerToPeer
    }
}

/// A PTP master.
#[derive(Clone, Debug)]
pub struct PtpMaster {
    settings: MasterSettings,
    port: PortIdentity,
    epoch: Epoch,
    announce: Announce,
    flags: u16,
    now: SimTime,
    others: Masters,
    is_passive: bool,
    announce_due: SimTime,
    sync_due: SimTime,
    request_due: SimTime,
    announced: u16,
    synchronised: u16,
    requested: u16,
    /// Sync messages whose departure is not known yet: key, destination, sequence number.
    leaving: VecDeque<(u32, Target, u16)>,
    neighbours: Neighbours,
    request: Option<Request>,
    neighbour_ns: i128,
    grants: Grants,
    keys: u32,
    answered: (SimTime, u32),
    out: VecDeque<PtpSend>,
}

impl PtpMaster {
    /// A master at `address`. It announces a GNSS receiver (`has_receiver`) or an oscillator as its time source.
    pub fn new(
        settings: MasterSettings,
        address: Ipv4Addr,
        epoch: Epoch,
        has_receiver: bool,
    ) -> Self {
        let [a, b, c, d] = address.octets();
        // A locally administered MAC address.
        let clock = identity_of([2, 0, a, b, c, d]);
        let mut announce = announce_of_receiver(clock, settings.priority_1);
        let mut flags = RECEIVER_FLAGS;
        if !has_receiver {
            announce.quality = ClockQuality { class: 248, accuracy: 0xfe, variance: 0xffff };
            announce.time_source = 0xa0;
            flags &= !(flag::TIME_TRACEABLE | flag::FREQUENCY_TRACEABLE);
        }
        let never = SimTime(u64::MAX);
        Self {
            settings,
            port: PortIdentity { clock, port: 1 },
            epoch,
            announce,
            flags,
            now: SimTime::ZERO,
            others: Masters::default(),
            is_passive: false,
            announce_due: SimTime::ZERO,
            sync_due: SimTime::ZERO,
            request_due: if settings.measures_peers() { SimTime::ZERO } else { never },
            announced: 0,
            synchronised: 0,
            requested: 0,
            leaving: VecDeque::new(),
            neighbours: Neighbours::default(),
            request: None,
            neighbour_ns: 0,
            grants: Grants::default(),
            keys: 0,
            answered: (SimTime::ZERO, 0),
            out: VecDeque::new(),
        }
    }

    /// Transport of the messages.
    pub fn transport(&self) -> Transport {
        self.settings.transport
    }

    /// Selects transport and delay mechanism at `now`.
    pub fn speak(&mut self, transport: Transport, delay: DelayMechanism, now: SimTime) {
        self.settings = MasterSettings { transport, delay, ..self.settings };
        let never = SimTime(u64::MAX);
        self.request_due = if self.settings.measures_peers() { now } else { never };
        self.leaving.clear();
        self.request = None;
        self.out.clear();
    }

    /// Whether the master is passive, because a better master announces itself.
    pub fn is_passive(&self) -> bool {
        self.is_passive
    }

    /// Time at which [`Self::advance`] must be called next.
    pub fn due(&self) -> SimTime {
        let multicast = self.announce_due.min(self.sync_due).min(self.request_due);
        multicast.min(self.grants.due())
    }

    /// Time of the master's clock at `at` (TAI).
    fn shows(&self, at: SimTime) -> Timestamp {
        Timestamp::of_ns(self.epoch.unix_ns(at) + TAI_AHEAD_NS)
    }

    /// Advances the time to `now`. An action that is overdue by several intervals is done once.
    pub fn advance(&mut self, now: SimTime) {
        self.now = now;
        let (log_announce, log_sync) = self.settings.log_intervals();
        let next = |log| SimTime(now.0 + interval_ns(log));
        if self.announce_due <= now {
            self.announce_due = next(log_announce);
            let interval_ns = interval_ns(log_announce);
            self.is_passive = self.others.has_better(now, interval_ns, &self.announce);
            self.announce_to(Target::All, log_announce);
        }
        for (host, log_interval) in self.grants.take_due(now, ANNOUNCE) {
            self.announce_to(Target::Host(host), log_interval);
        }
        if self.sync_due <= now {
            self.sync_due = next(log_sync);
            self.synchronise(Target::All, log_sync);
        }
        // As in linuxptp, a unicast Sync names no interval: the host knows it from the grant.
        for (host, _) in self.grants.take_due(now, SYNC) {
            self.synchronise(Target::Host(host), NO_INTERVAL);
        }
        if self.request_due <= now {
            self.request_due = next(LOG_DELAY);
            self.requested = self.requested.wrapping_add(1);
            let (body, log_interval) = neighbour_request(self.settings.transport, LOG_DELAY);
            let request = Message { log_interval, ..self.message(self.requested, body) };
            let key = self.send(Target::Neighbours, request);
            self.request = key.map(|key| Request::new(self.requested, key));
        }
    }

    fn announce_to(&mut self, to: Target, log_interval: i8) {
        self.announced = self.announced.wrapping_add(1);
        let body = Body::Announce(self.announce.clone());
        let parts = match self.settings.transport {
            Transport::Gptp => vec![Part::PathTrace(vec![self.port.clock])],
            Transport::Udp | Transport::Ethernet => Vec::new(),
        };
        let message = Message {
            flags: self.flags,
            log_interval,
            suffix: suffix::to_bytes(&parts),
            ..self.message(self.announced, body)
        };
        self.tell(to, message);
    }

    fn synchronise(&mut self, to: Target, log_interval: i8) {
        self.synchronised = self.synchronised.wrapping_add(1);
        let sequence = self.synchronised;
        let sync = self.message(sequence, Body::Sync(Timestamp::default()));
        let flags = flag::TWO_STEP;
        if let Some(key) = self.tell(to, Message { flags, log_interval, ..sync }) {
            self.leaving.push_back((key, to, sequence));
            if self.leaving.len() > MOST_LEAVING {
                self.leaving.pop_front();
            }
        }
    }

    /// Processes a message (arbitrary bytes) that the kernel received at `at`; `now` is the time of processing. `from` is
    /// the sender of a unicast message; `None` for a multicast message.
    pub fn hear(&mut self, now: SimTime, at: SimTime, from: Option<Ipv4Addr>, bytes: &[u8]) {
        self.now = now;
        let Ok(message) = Message::of_datagram(bytes) else { return };
        let is_own = message.source.clock == self.port.clock;
        let is_of_profile = message.sdo == self.settings.transport.sdo();
        if is_own || !is_of_profile || message.domain != self.settings.domain {
            return;
        }
        let to = from.map_or(Target::All, Target::Host);
        let at_ns = self.shows(at.min(now)).ns();
        match &message.body {
            Body::Announce(announce) => {
                self.others.hear(now, message.source, announce, message.flags, None);
            }
            Body::DelayReq(_) if !self.settings.measures_peers() && self.may_answer() => {
                let at = Timestamp::of_ns(at_ns);
                let body = Body::DelayResp(Response { at, requester: message.source });
                let answer = Message {
                    correction: message.correction,
                    log_interval: from.map_or(LOG_DELAY, |_| NO_INTERVAL),
                    ..self.message(message.sequence, body)
                };
                self.tell(to, answer);
            }
            Body::PeerDelayReq(_)
                if self.settings.measures_peers()
                    && self.neighbours.has_room()
                    && self.may_answer() =>
            {
                let [reply, follow_up] = Neighbours::answer(self.port, &message, at_ns);
                if let Some(key) = self.send(Target::Neighbours, reply) {
                    self.neighbours.wait(key, follow_up);
                }
            }
            Body::PeerDelayResp(_) | Body::PeerDelayFollowUp(_) => {
                if let Some(request) = &mut self.request {
                    request.hear_neighbour(self.port, &message, at_ns);
                }
                self.measure();
            }
            Body::Signaling(_) if self.may_answer() => {
                let Some(host) = from else { return };
                let asked = suffix::parts(&message.suffix);
                let parts = self.grants.hear(now, host, &asked, !self.is_passive);
                if !parts.is_empty() {
                    let body = Body::Signaling(message.source);
                    let suffix = suffix::to_bytes(&parts);
                    let answer = Message { suffix, ..self.message(message.sequence, body) };
                    self.send(to, answer);
                }
            }
            Body::Management(asked) if self.may_answer() => {
                let data_set = |wanted| self.data_set(wanted);
                let domain = self.settings.domain;
                if let Some(answer) = answer(self.port, domain, &message, asked, data_set) {
                    self.send(to, answer);
                }
            }
            _ => {}
        }
    }

    fn measure(&mut self) {
        if let Some(delay_ns) = self.request.and_then(Request::to_neighbour_ns) {
            self.neighbour_ns = delay_ns;
            self.request = None;
        }
    }

    /// Handles the departure, at `at`, of the event message with this key: sends its follow-up message, or, for a delay
    /// request, records the time of departure.
    pub fn left(&mut self, key: u32, at: SimTime) {
        if let Some(place) = self.leaving.iter().position(|(own, ..)| *own == key)
            && let Some((_, to, sequence)) = self.leaving.remove(place)
        {
            // As in linuxptp, follow-ups by unicast have the interval of multicast messages.
            let (_, log_interval) = self.settings.log_intervals();
            let parts = match self.settings.transport {
                Transport::Gptp => vec![Part::FollowUpInformation],
                Transport::Udp | Transport::Ethernet => Vec::new(),
            };
            let follow_up = self.message(sequence, Body::FollowUp(self.shows(at)));
            let suffix = suffix::to_bytes(&parts);
            self.tell(to, Message { log_interval, suffix, ..follow_up });
        }
        let at_ns = self.shows(at).ns();
        if let Some(request) = self.request.as_mut().filter(|request| request.key == key) {
            request.left_ns = Some(at_ns);
            self.measure();
        }
        if let Some(follow_up) = self.neighbours.left(key, at_ns) {
            self.send(Target::Neighbours, follow_up);
        }
    }

    /// The next message to send. After each call of another function, call this one until it returns `None`.
    pub fn poll_send(&mut self) -> Option<PtpSend> {
        self.out.pop_front()
    }

    fn message(&self, sequence: u16, body: Body) -> Message {
        Message::new(self.settings.domain, self.port, sequence, body)
    }

    /// Queues a message, unless the master is passive; returns its key if it is an event message.
    fn tell(&mut self, to: Target, message: Message) -> Option<u32> {
        if self.is_passive { None } else { self.send(to, message) }
    }

    fn send(&mut self, to: Target, mut message: Message) -> Option<u32> {
        message.sdo = self.settings.transport.sdo();
        if matches!(to, Target::Host(_)) {
            message.flags |= flag::UNICAST;
        }
        let key = message.body.is_event().then(|| {
            self.keys = self.keys.wrapping_add(1);
            self.keys
        });
        self.out.push_back(PtpSend { key, to, bytes: message.to_bytes() });
        key
    }

    fn may_answer(&mut self) -> bool {
        let (since, count) = &mut self.answered;
        if self.now.0.saturating_sub(since.0) >= SECOND_NS {
            (*since, *count) = (self.now, 0);
            // Follow-ups of older answers are dropped: the departures of these answers will not be reported any more.
            self.neighbours.forget();
        }
        *count += 1;
        *count <= MOST_ANSWERS
    }

    fn data_set(&self, wanted: u16) -> Option<Vec<u8>> {
        let (log_announce_interval, log_sync_interval) = self.settings.log_intervals();
        let neighbour = super::limited(self.neighbour_ns).saturating_mul(1 << 16);
        let Announce { priority_1, quality, priority_2, grandmaster, time_source, .. } =
            self.announce;
        Some(match wanted {
            id::DEFAULT => DefaultDataSet {
                flags: 1,
                reserved: 0,
                ports: 1,
                priority_1,
                quality,
                priority_2,
                identity: grandmaster,
                domain: self.settings.domain,
                reserved_2: 0,
            }
            .to_bytes(),
            id::CURRENT => {
                CurrentDataSet { steps_removed: 0, offset_from_master: 0, mean_path_delay: 0 }
                    .to_bytes()
            }
            id::PARENT => ParentDataSet {
                parent: PortIdentity { port: 0, ..self.port },
                has_statistics: 0,
                reserved: 0,
                variance: 0xffff,
                phase_change_rate: i32::MAX,
                priority_1,
                quality,
                priority_2,
                grandmaster,
            }
            .to_bytes(),
            id::TIME_PROPERTIES => TimePropertiesDataSet {
                utc_offset_s: UTC_OFFSET_S,
                flags: self.flags as u8,
                time_source,
            }
            .to_bytes(),
            id::PORT => PortDataSet {
                identity: self.port,
                state: if self.is_passive { PASSIVE } else { MASTER },
                log_min_delay_interval: LOG_DELAY,
                peer_mean_path_delay: neighbour,
                log_announce_interval,
                announce_receipt_timeout: ANNOUNCE_TIMEOUT,
                log_sync_interval,
                delay_mechanism: if self.settings.measures_peers() { 2 } else { 1 },
                log_min_pdelay_interval: LOG_DELAY,
                version: VERSION,
            }
            .to_bytes(),
            id::TIME_STATUS => TimeStatus {
                master_offset_ns: 0,
                ingress_time_ns: 0,
                cumulative_scaled_rate_offset: 0,
                scaled_last_gm_phase_change: 0,
                gm_time_base: 0,
                last_gm_phase_change: [0; 12],
                gm_present: 0,
                gm_identity: grandmaster,
            }
            .to_bytes(),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ptp::{PortState, PtpClock, PtpSettings, PtpSlave};
    use crate::sensors::noise::NoiseSource;

    const MS: u64 = 1_000_000;
    const PATH_NS: u64 = 3_000;

    fn master(domain: u8, has_receiver: bool) -> PtpMaster {
        let epoch = Epoch::new("2026-06-01T12:00:00Z".parse().unwrap());
        let settings = MasterSettings { domain, ..SETTINGS };
        PtpMaster::new(settings, ADDRESS, epoch, has_receiver)
    }

    const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 4);
    const SETTINGS: MasterSettings = MasterSettings {
        domain: 0,
        priority_1: 128,
        transport: Transport::Udp,
        delay: DelayMechanism::EndToEnd,
    };

    /// Passes messages between a master and a slave for `seconds` from `from` on; returns the end.
    fn run(master: &mut PtpMaster, slave: &mut PtpSlave, from: SimTime, seconds: u64) -> SimTime {
        let to = from.0 + seconds * 1000 * MS;
        for now in (from.0..to).step_by(MS as usize).map(SimTime) {
            master.advance(now);
            slave.advance(now);
            let there = SimTime(now.0 + PATH_NS);
            let from = |to, own| matches!(to, Target::Host(_)).then_some(own);
            while let Some(sent) = master.poll_send() {
                slave.hear(there, there, from(sent.to, ADDRESS), &sent.bytes);
                if let Some(key) = sent.key {
                    master.left(key, now);
                }
            }
            while let Some(sent) = slave.poll_send() {
                let own = Ipv4Addr::new(10, 77, 0, 2);
                master.hear(there, there, from(sent.to, own), &sent.bytes);
                if let Some(key) = sent.key {
                    slave.left(there, key, now);
                }
            }
        }
        SimTime(to)
    }

    #[test]
    fn a_slave_locks_on_to_it_and_it_yields_to_a_better_one() {
        let mut one = master(3, true);
        let clock = PtpClock::new(0.864, SimTime::ZERO, 0);
        let settings = PtpSettings { domain: 3, ..PtpSettings::default() };
        let noise = NoiseSource::new(1, "lidar");
        let mut slave = PtpSlave::new(&settings, [9; 8], clock, noise, SimTime::ZERO);
        let now = run(&mut one, &mut slave, SimTime::ZERO, 30);
        assert_eq!(slave.state(), PortState::Slave);
        assert_eq!((slave.utc_offset_s(), slave.parent_data_set().quality.class), (37, 6));
        let tai_ns = one.shows(now).ns();
        assert_eq!(tai_ns, 1_780_315_237_000_000_000 + i128::from(now.0));
        assert!((slave.shows_ns(now) - tai_ns).abs() < 100);
        // First a worse master announces itself, and the master stays active; then a better one does, and it becomes
        // passive.
        let mut others = [(129, now, false), (1, SimTime(now.0 + 6000 * MS), true)];
        for (priority_1, at, is_passive) in &mut others {
            let clock = identity_of([2, 0, 0, 0, 0, *priority_1]);
            let announce =
                Announce { priority_1: *priority_1, grandmaster: clock, ..one.announce.clone() };
            let source = PortIdentity { clock, port: 1 };
            let message = Message::new(3, source, 0, Body::Announce(announce));
            for _ in 0..3 {
                one.hear(*at, *at, None, &message.to_bytes());
                at.0 += 2000 * MS;
                one.advance(*at);
            }
            assert_eq!(one.is_passive(), *is_passive);
        }
        while one.poll_send().is_some() {}
        let late = SimTime(others[1].1.0 + 1000 * MS);
        one.advance(late);
        assert!(one.poll_send().is_none(), "it is silent");
        one.advance(SimTime(late.0 + 20_000 * MS));
        assert!(!one.is_passive() && one.poll_send().is_some());
    }

    /// Returns a master with the settings `of_master`, and a slave with the settings `settings` that has followed it
    /// for half a minute.
    fn locked(settings: &PtpSettings, of_master: MasterSettings) -> (PtpMaster, PtpSlave) {
        let epoch = Epoch::new("2026-06-01T12:00:00Z".parse().unwrap());
        let mut master = PtpMaster::new(of_master, ADDRESS, epoch, true);
        let clock = PtpClock::new(0.864, SimTime::ZERO, 0);
        let noise = NoiseSource::new(1, "lidar");
        let mut slave = PtpSlave::new(settings, [9; 8], clock, noise, SimTime::ZERO);
        let now = run(&mut master, &mut slave, SimTime::ZERO, 30);
        assert_eq!(slave.state(), PortState::Slave);
        let error_ns = slave.shows_ns(now) - master.shows(now).ns();
        assert!(error_ns.abs() < 100, "{error_ns}");
        assert!((slave.path_delay_ns() - PATH_NS as i64).abs() < 50, "{}", slave.path_delay_ns());
        (master, slave)
    }

    #[test]
    fn peer_to_peer_and_802_1as() {
        let (transport, delay) = (Transport::Gptp, DelayMechanism::PeerToPeer);
        let udp = PtpSettings { delay, ..PtpSettings::default() };
        for (settings, of_master) in [
            (udp, MasterSettings { delay, ..SETTINGS }),
            (PtpSettings::gptp(), MasterSettings { transport, delay, ..SETTINGS }),
            (PtpSettings::automotive(), MasterSettings { transport, delay, ..SETTINGS }),
        ] {
            let (master, slave) = locked(&settings, of_master);
            let port = PortDataSet::parse(&master.data_set(id::PORT).unwrap()).unwrap();
            assert_eq!(port.delay_mechanism, 2);
            assert!((port.peer_mean_path_delay / 65_536 - PATH_NS as i64).abs() < 50, "{port:?}");
            // Without announcements the UTC offset is unknown.
            let utc_offset_s = if settings.is_announced { 37 } else { 0 };
            assert_eq!(slave.utc_offset_s(), utc_offset_s);
        }
    }

    #[test]
    fn a_slave_asks_for_unicast_and_loses_it_with_the_grant() {
        let settings = PtpSettings { masters: vec![ADDRESS], ..PtpSettings::default() };
        let (mut master, mut slave) = locked(&settings, SETTINGS);
        // Requests are repeated before the grants expire.
        let now = run(&mut master, &mut slave, SimTime(30_000 * MS), 70);
        assert_eq!(slave.state(), PortState::Slave);
        let suffix = suffix::to_bytes(&[Part::Cancel(cancel_of(ANNOUNCE))]);
        let source = PortIdentity { clock: [8; 8], port: 1 };
        let asked = Message::new(0, source, 7, Body::Signaling(master.port));
        let host = Some(Ipv4Addr::new(10, 77, 0, 2));
        master.hear(now, now, host, &Message { suffix, ..asked }.to_bytes());
        let answer = Message::parse(&master.poll_send().unwrap().bytes).unwrap();
        assert_eq!(suffix::parts(&answer.suffix), [Part::Cancelled(cancel_of(ANNOUNCE))]);
        let now = run(&mut master, &mut slave, now, 6);
        assert_eq!(slave.state(), PortState::Listening, "multicast does not count");
        run(&mut master, &mut slave, now, 20);
        assert_eq!(slave.state(), PortState::Slave, "it has asked again");
    }

    #[test]
    fn messages_name_the_intervals_that_those_of_linuxptp_name() {
        let mut one = master(0, true);
        let (now, host) = (SimTime(5), Some(Ipv4Addr::new(10, 77, 0, 2)));
        let source = PortIdentity { clock: [8; 8], port: 1 };
        let asked = suffix::UnicastRequest { kind: SYNC, log_interval: -2, duration_s: 60 };
        let asked = Message {
            suffix: suffix::to_bytes(&[Part::Request(asked)]),
            ..Message::new(0, source, 1, Body::Signaling(one.port))
        };
        one.hear(now, now, host, &asked.to_bytes());
        let request = Message::new(0, source, 2, Body::DelayReq(Timestamp::default()));
        for from in [host, None] {
            one.hear(now, now, from, &request.to_bytes());
        }
        one.advance(now);
        let mut sent = Vec::new();
        while let Some(send) = one.poll_send() {
            let message = Message::parse(&send.bytes).unwrap();
            let is_unicast = matches!(send.to, Target::Host(_));
            sent.push((message.body.kind(), is_unicast, message.log_interval));
            if let Some(key) = send.key {
                one.left(key, now);
            }
        }
        // Signaling; Delay_Resp; Announce; Sync; Follow_Up.
        let wanted = [
            (0xc, true, NO_INTERVAL),
            (0x9, true, NO_INTERVAL),
            (0x9, false, 0),
            (0xb, false, 1),
            (0x0, false, 0),
            (0x0, true, NO_INTERVAL),
            (0x8, false, 0),
            (0x8, true, 0),
        ];
        assert_eq!(sent, wanted);
    }

    #[test]
    fn requests_to_a_neighbour_name_their_interval_with_802_1as_alone() {
        let delay = DelayMechanism::PeerToPeer;
        for (transport, wanted) in
            [(Transport::Udp, [NO_INTERVAL; 2]), (Transport::Gptp, [LOG_DELAY, -1])]
        {
            let epoch = Epoch::new("2026-06-01T12:00:00Z".parse().unwrap());
            let of_master = MasterSettings { transport, delay, ..SETTINGS };
            let mut master = PtpMaster::new(of_master, ADDRESS, epoch, true);
            master.advance(SimTime(5));
            let settings =
                PtpSettings { transport, delay, log_delay: -1, ..PtpSettings::default() };
            let clock = PtpClock::new(0.0, SimTime::ZERO, 0);
            let noise = NoiseSource::new(1, "lidar");
            let mut slave = PtpSlave::new(&settings, [9; 8], clock, noise, SimTime::ZERO);
            slave.ask();
            let sent = std::iter::from_fn(|| master.poll_send())
                .chain(std::iter::from_fn(|| slave.poll_send()));
            let messages = sent.map(|send| Message::parse(&send.bytes).unwrap());
            let requests = messages.filter(|message| message.body.kind() == 0x2);
            let intervals: Vec<_> = requests.map(|message| message.log_interval).collect();
            assert_eq!(intervals, wanted);
        }
    }

    fn cancel_of(kind: u8) -> suffix::UnicastCancel {
        suffix::UnicastCancel { kind, reserved: 0 }
    }

    #[test]
    fn it_says_whose_time_it_has() {
        for (has_receiver, class, source) in [(true, 6, 0x20), (false, 248, 0xa0)] {
            let mut one = master(0, has_receiver);
            one.advance(SimTime(5));
            let announced = Message::parse(&one.poll_send().unwrap().bytes).unwrap();
            let Body::Announce(announce) = &announced.body else { panic!("{announced:?}") };
            assert_eq!((announce.quality.class, announce.time_source), (class, source));
            assert_eq!(announced.flags & flag::TIME_TRACEABLE != 0, has_receiver);
            let sync = one.poll_send().unwrap();
            one.left(sync.key.unwrap(), SimTime(1_000_000_007));
            let follow_up = Message::parse(&one.poll_send().unwrap().bytes).unwrap();
            let Body::FollowUp(at) = follow_up.body else { panic!("{follow_up:?}") };
            assert_eq!(at.ns(), 1_780_315_238_000_000_007);
        }
    }
}
