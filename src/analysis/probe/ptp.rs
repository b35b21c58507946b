//! PTP from the robot's side: the masters, the offset of this host's clock from each, and the state of clocks from
//! management messages.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::analysis::spread::Spread;
use crate::links::ptp::{PtpEvent, PtpLink};
use crate::links::timestamps::StampReader;
use crate::timing::clock::{self, Stopwatch};
use crate::timing::clock_state::ClockState;
use crate::wire::ptp::management::{
    ANY_PORT, CurrentDataSet, DefaultDataSet, Management, ParentDataSet, PortDataSet, action, id,
};
use crate::wire::ptp::{
    Announce, Body, ClockIdentity, Message, PortIdentity, Target, Timestamp, UTC_OFFSET_S, flag,
    identity_of, identity_text,
};
use crate::wire::record::Record as _;

/// Name of the report's format.
pub const FORMAT: &str = "menura-probe-ptp-1";
/// Largest number of masters and largest number of clocks that are analysed; also the number of delay requests whose
/// departure is stored.
const MOST: usize = 256;
/// Largest number of measurements of one master.
const MOST_SAMPLES: usize = 100_000;
const SECOND_NS: i128 = 1_000_000_000;
/// Interval at which management requests and delay requests are sent.
const ASK_EVERY: Duration = Duration::from_millis(500);
/// Longest wait for messages before the probe checks whether it must end.
const PATIENCE: Duration = Duration::from_millis(20);
/// Data sets that are requested from clocks by management messages.
const ASKED: [u16; 4] = [id::DEFAULT, id::PORT, id::CURRENT, id::PARENT];

/// Report of a PTP probe. Its keys do not change as long as [`FORMAT`] stays the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PtpReport {
    /// The constant [`FORMAT`].
    pub format: String,
    /// Version of the program.
    pub menura: String,
    /// Duration of the probe, seconds.
    pub run_s: f64,
    /// State of this host's clock.
    pub clock: ClockState,
    /// Local address of the probe.
    pub at: String,
    /// Masters that announce themselves.
    pub masters: Vec<MasterFigures>,
    /// Clocks that answer management messages.
    pub clocks: Vec<ClockFigures>,
}

/// Statistics of a master. Fields of the type [`SpreadFigures`] are `None` before the first complete measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MasterFigures {
    /// Port identity of the master, in linuxptp's notation.
    pub port: String,
    /// PTP domain of the master.
    pub domain: u8,
    /// Identity of the grandmaster.
    pub grandmaster: String,
    /// The grandmaster's first priority.
    pub priority_1: u8,
    /// The grandmaster's clock class.
    pub clock_class: u8,
    /// Number of PTP links from the grandmaster to the master; 0 if the master is the grandmaster.
    pub steps_removed: u16,
    /// Whether the master's time is on the PTP timescale, which is TAI.
    pub ptp_timescale: bool,
    /// TAI minus UTC as the master announces it, seconds.
    pub utc_offset_s: i16,
    /// Whether the master reports its UTC offset as valid.
    pub utc_offset_valid: bool,
    /// Number of Announce messages.
    pub announces: u64,
    /// Number of Sync messages.
    pub syncs: u64,
    /// Whether the master sends Follow_Up messages with the precise times.
    pub two_step: bool,
    /// This host's clock minus the master's, both as UTC, nanoseconds.
    pub offset_ns: Option<SpreadFigures>,
    /// Path delay: half of the round-trip time, nanoseconds.
    pub path_delay_ns: Option<SpreadFigures>,
    /// Delay from the master to this host, nanoseconds: arrival on this host's clock minus departure on the master's
    /// clock.
    pub to_here_ns: Option<SpreadFigures>,
    /// Delay from this host to the master, nanoseconds: arrival on the master's clock minus departure on this host's
    /// clock.
    pub back_ns: Option<SpreadFigures>,
}

/// Statistics of a clock that answers management messages. A field is `None` if the clock has not reported its value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClockFigures {
    /// Port identity of the clock, in linuxptp's notation.
    pub port: String,
    /// PTP domain of the clock.
    pub domain: u8,
    /// Whether the clock can only be a slave.
    pub slave_only: Option<bool>,
    /// State of the clock's port.
    pub state: Option<String>,
    /// Identity of the clock's grandmaster.
    pub grandmaster: Option<String>,
    /// Offset of the clock from the master, as the clock reports it, nanoseconds.
    pub offset_ns: Option<SpreadFigures>,
    /// Path delay between the clock and the master, as the clock reports it, nanoseconds.
    pub path_delay_ns: Option<SpreadFigures>,
}

/// Distribution of a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpreadFigures {
    /// Number of values.
    pub count: u64,
    /// Smallest value.
    pub least: f64,
    /// Median.
    pub median: f64,
    /// Largest value.
    pub greatest: f64,
}

impl SpreadFigures {
    fn of(values: &Spread) -> Option<Self> {
        let [least, median, greatest] = [0.0, 0.5, 1.0].map(|share| values.quantile(share));
        let count = values.count() as u64;
        (count > 0).then_some(Self { count, least, median, greatest })
    }
}

/// Received data about a master.
#[derive(Default)]
struct Master {
    announce: Option<(Announce, u16)>,
    announces: u64,
    syncs: u64,
    is_two_step: bool,
    /// Sequence number, arrival and correction of a Sync message whose Follow_Up has not arrived.
    sync: Option<(u16, i128, i128)>,
    /// Latest value for [`MasterFigures::to_here_ns`], from the last Sync message; `None` before the first one, or if
    /// its time is invalid.
    latest_ns: Option<i128>,
    offsets: Spread,
    delays: Spread,
    to_here: Spread,
    back: Spread,
}

/// Received data about a clock.
#[derive(Default)]
struct Clock {
    domain: u8,
    slave_only: Option<bool>,
    state: Option<u8>,
    grandmaster: Option<ClockIdentity>,
    offsets: Spread,
    delays: Spread,
}

/// The PTP probe without I/O. Times are POSIX time of this host's clock, nanoseconds.
pub struct PtpProbe {
    own: PortIdentity,
    masters: BTreeMap<(u8, PortIdentity), Master>,
    clocks: BTreeMap<PortIdentity, Clock>,
    sequence: u16,
    /// Departure times of the last delay requests, nanoseconds, by key. The key of a request is also its sequence
    /// number.
    left: VecDeque<(u32, i128)>,
}

impl PtpProbe {
    /// A probe with the local address `address`.
    pub fn new(address: Ipv4Addr) -> Self {
        let [a, b, c, d] = address.octets();
        // A locally administered identity that differs from that of a Menura master at this address.
        let own = PortIdentity { clock: identity_of([2, 1, a, b, c, d]), port: 1 };
        let (masters, clocks, left) = (BTreeMap::new(), BTreeMap::new(), VecDeque::new());
        Self { own, masters, clocks, sequence: 0, left }
    }

    /// Messages to send now: management requests, and delay requests with their keys for [`PtpProbe::left()`].
    /// Management requests have no key.
    pub fn ask(&mut self) -> Vec<(Vec<u8>, Option<u32>)> {
        let mut domains: Vec<_> = self.masters.keys().map(|(domain, _)| *domain).collect();
        domains.push(0);
        domains.sort_unstable();
        domains.dedup();
        let mut out = Vec::new();
        for domain in domains {
            if self.masters.keys().any(|(known, _)| *known == domain) {
                self.sequence = self.sequence.wrapping_add(1);
                let request = Body::DelayReq(Timestamp::default());
                let message = Message::new(domain, self.own, self.sequence, request);
                out.push((message.to_bytes(), Some(self.sequence.into())));
            }
            for id in ASKED {
                let body = Body::Management(Management {
                    target: ANY_PORT,
                    starting_hops: 1,
                    hops: 1,
                    action: action::GET,
                    reserved: 0,
                    is_error: false,
                    id,
                    data: Vec::new(),
                });
                out.push((Message::new(domain, self.own, id, body).to_bytes(), None));
            }
        }
        out
    }

    /// Records that the request with this key left at `at_ns`.
    pub fn left(&mut self, key: u32, at_ns: u64) {
        self.left.push_back((key, at_ns.into()));
        if self.left.len() > MOST {
            self.left.pop_front();
        }
    }

    /// Processes a datagram that arrived at `at_ns`; content other than PTP is ignored.
    pub fn hear(&mut self, at_ns: u64, bytes: &[u8]) {
        let Ok(message) = Message::of_datagram(bytes) else { return };
        let at = i128::from(at_ns);
        if message.source.clock == self.own.clock || message.sdo != 0 {
            return;
        }
        if let Body::Management(answer) = &message.body {
            return self.hear_answer(&message, answer);
        }
        let key = (message.domain, message.source);
        let is_new = !self.masters.contains_key(&key);
        if is_new && (self.masters.len() >= MOST || !matches!(message.body, Body::Announce(_))) {
            return;
        }
        let left = &self.left;
        let master = self.masters.entry(key).or_default();
        let correction = i128::from(message.correction >> 16);
        match &message.body {
            Body::Announce(announce) => {
                master.announces += 1;
                master.announce = Some((announce.clone(), message.flags));
            }
            Body::Sync(origin) => {
                master.syncs += 1;
                master.is_two_step = message.flags & flag::TWO_STEP != 0;
                match master.is_two_step {
                    true => master.sync = Some((message.sequence, at, correction)),
                    false => master.synchronise(*origin, correction, at),
                }
            }
            Body::FollowUp(origin) => {
                let same = |sync: &mut (u16, i128, i128)| sync.0 == message.sequence;
                if let Some((_, arrived, before)) = master.sync.take_if(same) {
                    master.synchronise(*origin, before + correction, arrived);
                }
            }
            Body::DelayResp(answer) if answer.requester == self.own => {
                let key = u32::from(message.sequence);
                if let Some((_, left)) = left.iter().rfind(|(known, _)| *known == key) {
                    master.measure(answer.at, correction, *left);
                }
            }
            _ => {}
        }
    }

    fn hear_answer(&mut self, message: &Message, answer: &Management) {
        if answer.action != action::RESPONSE || answer.is_error {
            return;
        }
        if !self.clocks.contains_key(&message.source) && self.clocks.len() >= MOST {
            return;
        }
        let clock = self.clocks.entry(message.source).or_default();
        clock.domain = message.domain;
        let ns = |scaled: i64| scaled as f64 / 65_536.0;
        match answer.id {
            id::DEFAULT => {
                let all = DefaultDataSet::parse(&answer.data);
                clock.slave_only = all.ok().map(|all| all.flags & 2 != 0);
            }
            id::PORT => clock.state = PortDataSet::parse(&answer.data).ok().map(|all| all.state),
            id::PARENT => {
                let all = ParentDataSet::parse(&answer.data);
                clock.grandmaster = all.ok().map(|all| all.grandmaster);
            }
            id::CURRENT => {
                if let Ok(all) = CurrentDataSet::parse(&answer.data)
                    && clock.offsets.count() < MOST_SAMPLES
                {
                    clock.offsets.see(ns(all.offset_from_master));
                    clock.delays.see(ns(all.mean_path_delay));
                }
            }
            _ => {}
        }
    }

    /// Report after `run_s` seconds.
    pub fn report(&self, run_s: f64, at: Ipv4Addr) -> PtpReport {
        let masters = self.masters.iter().filter_map(|((domain, port), master)| {
            let (announce, flags) = master.announce.as_ref()?;
            Some(MasterFigures {
                port: port_text(*port),
                domain: *domain,
                grandmaster: identity_text(announce.grandmaster),
                priority_1: announce.priority_1,
                clock_class: announce.quality.class,
                steps_removed: announce.steps_removed,
                ptp_timescale: flags & flag::PTP_TIMESCALE != 0,
                utc_offset_s: announce.utc_offset_s,
                utc_offset_valid: flags & flag::UTC_OFFSET_VALID != 0,
                announces: master.announces,
                syncs: master.syncs,
                two_step: master.is_two_step,
                offset_ns: SpreadFigures::of(&master.offsets),
                path_delay_ns: SpreadFigures::of(&master.delays),
                to_here_ns: SpreadFigures::of(&master.to_here),
                back_ns: SpreadFigures::of(&master.back),
            })
        });
        let clocks = self.clocks.iter().map(|(port, clock)| ClockFigures {
            port: port_text(*port),
            domain: clock.domain,
            slave_only: clock.slave_only,
            state: clock.state.map(state_word),
            grandmaster: clock.grandmaster.map(identity_text),
            offset_ns: SpreadFigures::of(&clock.offsets),
            path_delay_ns: SpreadFigures::of(&clock.delays),
        });
        PtpReport {
            format: FORMAT.to_owned(),
            menura: env!("CARGO_PKG_VERSION").to_owned(),
            run_s,
            clock: ClockState::now(&clock::realtime_offset()),
            at: at.to_string(),
            masters: masters.collect(),
            clocks: clocks.collect(),
        }
    }
}

impl Master {
    /// Converts a timestamp of the master to UTC, nanoseconds; `None` before its first Announce message, or if the
    /// timestamp is invalid.
    fn utc_ns(&self, at: Timestamp) -> Option<i128> {
        let (announce, flags) = self.announce.as_ref()?;
        let ahead_s = match (flags & flag::PTP_TIMESCALE != 0, flags & flag::UTC_OFFSET_VALID != 0)
        {
            (false, _) => 0,
            (true, true) => announce.utc_offset_s,
            (true, false) => UTC_OFFSET_S,
        };
        (i128::from(at.nanos) < SECOND_NS).then(|| at.ns() - i128::from(ahead_s) * SECOND_NS)
    }

    fn synchronise(&mut self, origin: Timestamp, correction: i128, arrived: i128) {
        self.latest_ns = self.utc_ns(origin).map(|left| arrived - left - correction);
    }

    fn measure(&mut self, there: Timestamp, correction: i128, left: i128) {
        let (Some(to_here), Some(there)) = (self.latest_ns, self.utc_ns(there)) else { return };
        let back = there - correction - left;
        if self.offsets.count() < MOST_SAMPLES {
            self.to_here.see(to_here as f64);
            self.back.see(back as f64);
            self.offsets.see((to_here - back) as f64 / 2.0);
            self.delays.see((to_here + back) as f64 / 2.0);
        }
    }
}

/// Sends and receives PTP at `address` for `duration` (`None`: without limit), or until `stop` is set. `progress` gets
/// the number of masters, the number of clocks, and the elapsed time.
///
/// # Errors
/// The system's error.
pub fn run(
    address: Ipv4Addr,
    duration: Option<Duration>,
    stop: &AtomicBool,
    mut progress: impl FnMut(usize, usize, Duration),
) -> io::Result<PtpReport> {
    let link = PtpLink::open(address, None, false)?;
    let mut probe = PtpProbe::new(address);
    let mut reader = StampReader::default();
    let watch = Stopwatch::start();
    let mut ask_at = Duration::ZERO;
    loop {
        let elapsed = watch.elapsed();
        if stop.load(Ordering::Relaxed) || duration.is_some_and(|duration| elapsed >= duration) {
            return Ok(probe.report(elapsed.as_secs_f64(), address));
        }
        if elapsed >= ask_at {
            ask_at = elapsed + ASK_EVERY;
            for (bytes, key) in probe.ask() {
                if let (false, Some(key)) = (link.send(&bytes, key, Target::All)?, key) {
                    let now_ns = jiff::Timestamp::now().as_nanosecond();
                    probe.left(key, u64::try_from(now_ns).unwrap_or(0));
                }
            }
        }
        link.receive(&mut reader, PATIENCE, |event| match event {
            PtpEvent::Arrived(at_ns, _, bytes) => probe.hear(at_ns, bytes),
            PtpEvent::Left(at_ns, key) => probe.left(key, at_ns),
        })?;
        progress(probe.masters.len(), probe.clocks.len(), elapsed);
    }
}

fn port_text(port: PortIdentity) -> String {
    format!("{}-{}", identity_text(port.clock), port.port)
}

/// Name of a port state: IEEE 1588-2019, table 20.
fn state_word(state: u8) -> String {
    let words = [
        "INITIALIZING",
        "FAULTY",
        "DISABLED",
        "LISTENING",
        "PRE_MASTER",
        "MASTER",
        "PASSIVE",
        "UNCALIBRATED",
        "SLAVE",
    ];
    let word = usize::from(state).checked_sub(1).and_then(|place| words.get(place));
    word.map_or_else(|| state.to_string(), |word| (*word).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::devices::ptp::master::{MasterSettings, PtpMaster};
    use crate::devices::ptp::{PtpClock, PtpSettings, PtpSlave};
    use crate::sensors::noise::NoiseSource;
    use crate::time::{Epoch, SimTime};
    use crate::wire::ptp::{DelayMechanism, Transport};

    const MS: u64 = 1_000_000;

    /// Sequence numbers wrap after 65,536 requests.
    #[test]
    fn the_latest_requests_are_kept() {
        let mut probe = PtpProbe::new(Ipv4Addr::new(10, 77, 0, 1));
        for request in 0..70_000u32 {
            probe.left(request & 0xffff, request.into());
        }
        let kept: Vec<_> = probe.left.iter().map(|(_, at_ns)| *at_ns).collect();
        assert_eq!(kept, (70_000 - MOST as i128..70_000).collect::<Vec<_>>());
    }

    #[test]
    fn a_master_and_its_slave_are_found_and_this_hosts_clock_is_measured() {
        let address = Ipv4Addr::new(10, 77, 0, 1);
        let epoch = Epoch::new("2026-06-01T12:00:00Z".parse().unwrap());
        let unix_ns = |at: SimTime| u64::try_from(epoch.unix_ns(at)).unwrap();
        let (transport, delay) = (Transport::Udp, DelayMechanism::EndToEnd);
        let settings = MasterSettings { domain: 0, priority_1: 50, transport, delay };
        let mut master = PtpMaster::new(settings, Ipv4Addr::new(10, 77, 0, 4), epoch, false);
        let clock = PtpClock::new(0.0, SimTime::ZERO, 0);
        let (settings, noise) = (PtpSettings::default(), NoiseSource::new(1, "lidar"));
        let mut slave = PtpSlave::new(&settings, [9; 8], clock, noise, SimTime::ZERO);
        let mut probe = PtpProbe::new(address);
        // The delay to the probe is 3 us, and back 1 us; the probe's clock is 5 us ahead.
        for at in (0..30_000 * MS).step_by(MS as usize) {
            let now = SimTime(at);
            master.advance(now);
            slave.advance(now);
            if at % (500 * MS) == 0 {
                for (bytes, key) in probe.ask() {
                    let there = SimTime(at + 1000);
                    master.hear(there, there, None, &bytes);
                    slave.hear(there, there, None, &bytes);
                    key.into_iter().for_each(|key| probe.left(key, unix_ns(now) + 5000));
                }
            }
            let there = SimTime(at + 3000);
            while let Some(sent) = master.poll_send() {
                slave.hear(there, there, None, &sent.bytes);
                probe.hear(unix_ns(there) + 5000, &sent.bytes);
                if let Some(key) = sent.key {
                    master.left(key, now);
                }
            }
            while let Some(sent) = slave.poll_send() {
                master.hear(there, there, None, &sent.bytes);
                probe.hear(unix_ns(there) + 5000, &sent.bytes);
                if let Some(key) = sent.key {
                    slave.left(there, key, now);
                }
            }
        }
        let report = probe.report(30.0, address);
        let [found] = &report.masters[..] else { panic!("{report:?}") };
        assert_eq!(found.port, "02000a.fffe.4d0004-1");
        assert_eq!((found.priority_1, found.clock_class, found.utc_offset_s), (50, 248, 37));
        assert!(found.ptp_timescale && found.utc_offset_valid && found.two_step);
        let median = |spread: Option<SpreadFigures>| spread.unwrap().median;
        assert_eq!(median(found.to_here_ns), 8000.0);
        assert_eq!(median(found.back_ns), -4000.0);
        assert_eq!((median(found.offset_ns), median(found.path_delay_ns)), (6000.0, 2000.0));
        let [lead, follow] = &report.clocks[..] else { panic!("{report:?}") };
        assert_eq!((lead.state.as_deref(), lead.slave_only), (Some("MASTER"), Some(false)));
        assert_eq!((follow.state.as_deref(), follow.slave_only), (Some("SLAVE"), Some(true)));
        assert_eq!(follow.grandmaster, lead.grandmaster);
        assert_eq!(median(follow.path_delay_ns), 3000.0);
    }

    #[test]
    fn any_bytes_are_taken() {
        let mut probe = PtpProbe::new(Ipv4Addr::LOCALHOST);
        for length in 0..200 {
            for first in 0..16 {
                let mut bytes = vec![0xff; length];
                if let [kind, version, ..] = &mut bytes[..] {
                    (*kind, *version) = (first, 2);
                }
                probe.hear(u64::MAX, &bytes);
            }
        }
        assert!(probe.report(1.0, Ipv4Addr::LOCALHOST).masters.is_empty());
    }
}
