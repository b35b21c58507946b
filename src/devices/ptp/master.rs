//! A PTP grandmaster whose time is that of the run: two-step, E2E, with one port.
//!
//! It does no I/O, as the slave does none. It announces itself at once, and is silent while it hears a better master.

use std::collections::VecDeque;
use std::net::Ipv4Addr;

use super::account::TAI_AHEAD_NS;
use super::answers::answer;
use super::masters::{Masters, RECEIVER_FLAGS, announce_of_receiver};
use super::{PtpSend, SECOND_NS, interval_ns};
use crate::time::{Epoch, SimTime};
use crate::wire::ptp::management::{
    CurrentDataSet, DefaultDataSet, ParentDataSet, PortDataSet, TimePropertiesDataSet, TimeStatus,
    id,
};
use crate::wire::ptp::{
    Announce, Body, ClockQuality, Message, PortIdentity, Response, Timestamp, UTC_OFFSET_S,
    VERSION, flag, identity_of,
};
use crate::wire::record::Record as _;

const LOG_ANNOUNCE: i8 = 1;
const LOG_SYNC: i8 = 0;
/// Slaves may ask for the delay so often.
const LOG_DELAY: i8 = 0;
const ANNOUNCE_TIMEOUT: u8 = 3;
/// Answers a second at most.
const MOST_ANSWERS: u32 = 1000;
/// States of the port in data sets.
const MASTER: u8 = 6;
const PASSIVE: u8 = 7;

/// A master.
#[derive(Clone, Debug)]
pub struct PtpMaster {
    domain: u8,
    port: PortIdentity,
    epoch: Epoch,
    announce: Announce,
    flags: u16,
    now: SimTime,
    others: Masters,
    is_passive: bool,
    announce_due: SimTime,
    sync_due: SimTime,
    announced: u16,
    synchronised: u16,
    /// The key of the last synchronisation, until it is known when it left.
    leaving: Option<u32>,
    keys: u32,
    answered: (SimTime, u32),
    out: VecDeque<PtpSend>,
}

impl PtpMaster {
    /// A master at `address` whose time is that of a receiver, or of the host.
    pub fn new(
        domain: u8,
        priority_1: u8,
        address: Ipv4Addr,
        epoch: Epoch,
        has_receiver: bool,
    ) -> Self {
        let [a, b, c, d] = address.octets();
        // Locally administered.
        let clock = identity_of([2, 0, a, b, c, d]);
        let mut announce = announce_of_receiver(clock, priority_1);
        let mut flags = RECEIVER_FLAGS;
        if !has_receiver {
            announce.quality = ClockQuality { class: 248, accuracy: 0xfe, variance: 0xffff };
            announce.time_source = 0xa0;
            flags &= !(flag::TIME_TRACEABLE | flag::FREQUENCY_TRACEABLE);
        }
        Self {
            domain,
            port: PortIdentity { clock, port: 1 },
            epoch,
            announce,
            flags,
            now: SimTime::ZERO,
            others: Masters::default(),
            is_passive: false,
            announce_due: SimTime::ZERO,
            sync_due: SimTime::ZERO,
            announced: 0,
            synchronised: 0,
            leaving: None,
            keys: 0,
            answered: (SimTime::ZERO, 0),
            out: VecDeque::new(),
        }
    }

    /// Whether a better master is heard, so that it is silent.
    pub fn is_passive(&self) -> bool {
        self.is_passive
    }

    /// Until when there is nothing to do.
    pub fn due(&self) -> SimTime {
        self.announce_due.min(self.sync_due)
    }

    /// What its clock shows at `at`, which is TAI.
    fn shows(&self, at: SimTime) -> Timestamp {
        Timestamp::of_ns(self.epoch.unix_ns(at) + TAI_AHEAD_NS)
    }

    /// The time has come to `now`. What was due long ago is left out.
    pub fn advance(&mut self, now: SimTime) {
        self.now = now;
        let next = |log| SimTime(now.0 + interval_ns(log));
        if self.announce_due <= now {
            self.announce_due = next(LOG_ANNOUNCE);
            self.is_passive =
                self.others.has_better(now, interval_ns(LOG_ANNOUNCE), &self.announce);
            self.announced = self.announced.wrapping_add(1);
            let body = Body::Announce(self.announce.clone());
            self.tell(self.announced, body, self.flags, LOG_ANNOUNCE);
        }
        if self.sync_due <= now {
            self.sync_due = next(LOG_SYNC);
            self.synchronised = self.synchronised.wrapping_add(1);
            let body = Body::Sync(Timestamp::default());
            self.leaving = self.tell(self.synchronised, body, flag::TWO_STEP, LOG_SYNC);
        }
    }

    /// Takes a datagram that the kernel had at `at` and that is heard at `now`. Any bytes may come.
    pub fn hear(&mut self, now: SimTime, at: SimTime, bytes: &[u8]) {
        self.now = now;
        let Ok(message) = Message::of_datagram(bytes) else { return };
        let is_own = message.source.clock == self.port.clock;
        if is_own || message.sdo != 0 || message.domain != self.domain {
            return;
        }
        match &message.body {
            Body::Announce(announce) => {
                self.others.hear(now, message.source, announce, message.flags, None);
            }
            Body::DelayReq(_) if self.may_answer() => {
                let at = self.shows(at.min(now));
                let body = Body::DelayResp(Response { at, requester: message.source });
                let answer = Message {
                    correction: message.correction,
                    log_interval: LOG_DELAY,
                    ..Message::new(self.domain, self.port, message.sequence, body)
                };
                if !self.is_passive {
                    self.send(answer);
                }
            }
            Body::Management(asked) if self.may_answer() => {
                let data_set = |wanted| self.data_set(wanted);
                if let Some(answer) = answer(self.port, self.domain, &message, asked, data_set) {
                    self.send(answer);
                }
            }
            _ => {}
        }
    }

    /// The event message with this key left at `at`.
    pub fn left(&mut self, key: u32, at: SimTime) {
        if self.leaving.take_if(|leaving| *leaving == key).is_some() {
            self.tell(self.synchronised, Body::FollowUp(self.shows(at)), 0, LOG_SYNC);
        }
    }

    /// What to send, if there is something. Call until `None` after each of the above.
    pub fn poll_send(&mut self) -> Option<PtpSend> {
        self.out.pop_front()
    }

    /// Says this to all, unless it is passive.
    fn tell(&mut self, sequence: u16, body: Body, flags: u16, log_interval: i8) -> Option<u32> {
        let message = Message::new(self.domain, self.port, sequence, body);
        if self.is_passive {
            return None;
        }
        self.send(Message { flags, log_interval, ..message })
    }

    fn send(&mut self, message: Message) -> Option<u32> {
        let key = message.body.is_event().then(|| {
            self.keys = self.keys.wrapping_add(1);
            self.keys
        });
        self.out.push_back(PtpSend { key, is_of_peer_delay: false, bytes: message.to_bytes() });
        key
    }

    fn may_answer(&mut self) -> bool {
        let (since, count) = &mut self.answered;
        if self.now.0.saturating_sub(since.0) >= SECOND_NS {
            (*since, *count) = (self.now, 0);
        }
        *count += 1;
        *count <= MOST_ANSWERS
    }

    fn data_set(&self, wanted: u16) -> Option<Vec<u8>> {
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
                domain: self.domain,
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
                peer_mean_path_delay: 0,
                log_announce_interval: LOG_ANNOUNCE,
                announce_receipt_timeout: ANNOUNCE_TIMEOUT,
                log_sync_interval: LOG_SYNC,
                delay_mechanism: 1,
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
        PtpMaster::new(domain, 128, Ipv4Addr::new(10, 77, 0, 4), epoch, has_receiver)
    }

    /// A master and a slave at two ends of a line for some seconds.
    fn run(master: &mut PtpMaster, slave: &mut PtpSlave, from: SimTime, seconds: u64) -> SimTime {
        let to = from.0 + seconds * 1000 * MS;
        for now in (from.0..to).step_by(MS as usize).map(SimTime) {
            master.advance(now);
            slave.advance(now);
            let there = SimTime(now.0 + PATH_NS);
            while let Some(sent) = master.poll_send() {
                slave.hear(there, there, &sent.bytes);
                if let Some(key) = sent.key {
                    master.left(key, now);
                }
            }
            while let Some(sent) = slave.poll_send() {
                master.hear(there, there, &sent.bytes);
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
        // It hears itself, and a worse master, and stays; then a better one.
        let mut others = [(129, now, false), (1, SimTime(now.0 + 6000 * MS), true)];
        for (priority_1, at, is_passive) in &mut others {
            let clock = identity_of([2, 0, 0, 0, 0, *priority_1]);
            let announce =
                Announce { priority_1: *priority_1, grandmaster: clock, ..one.announce.clone() };
            let source = PortIdentity { clock, port: 1 };
            let message = Message::new(3, source, 0, Body::Announce(announce));
            for _ in 0..3 {
                one.hear(*at, *at, &message.to_bytes());
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
