//! Masters that a slave knows, and selection of the best one.
//!
//! Sources: IEEE 1588-2019, clauses 9.3.2.5 (qualification) and 9.3.4 (comparison).

use std::cmp::Ordering;

use crate::time::SimTime;
use crate::wire::ptp::{
    Announce, ClockIdentity, ClockQuality, PortIdentity, Timestamp, UTC_OFFSET_S, flag, identity_of,
};

/// Largest number of known masters.
const KEPT: usize = 16;
/// A master is qualified if its last announcement is at most this many announce intervals old, and the one before it at most
/// as many intervals older.
const WINDOW: u64 = 4;
/// Largest number of hops between a master and its grandmaster (`steps_removed`); announcements with more are ignored.
const MOST_STEPS: u16 = 254;

/// A PTP master with its last announcement.
#[derive(Clone, Debug, PartialEq)]
pub struct Master {
    /// Port of the clock.
    pub source: PortIdentity,
    /// Last announcement.
    pub announce: Announce,
    /// Flags of the announcement.
    pub flags: u16,
    heard: SimTime,
    /// Time of the announcement before the latest one.
    before: Option<SimTime>,
}

/// Announcement of a grandmaster with a GNSS receiver.
pub(super) fn announce_of_receiver(grandmaster: ClockIdentity, priority_1: u8) -> Announce {
    Announce {
        origin: Timestamp::default(),
        utc_offset_s: UTC_OFFSET_S,
        reserved: 0,
        priority_1,
        quality: ClockQuality { class: 6, accuracy: 0x21, variance: 0xffff },
        priority_2: 128,
        grandmaster,
        steps_removed: 0,
        time_source: 0x20,
    }
}

/// Flags of an announcement of a grandmaster with a GNSS receiver.
pub(super) const RECEIVER_FLAGS: u16 =
    flag::PTP_TIMESCALE | flag::UTC_OFFSET_VALID | flag::TIME_TRACEABLE | flag::FREQUENCY_TRACEABLE;

impl Master {
    /// A simulated grandmaster with a GNSS receiver and a documentation address (RFC 7042).
    pub fn simulated() -> Self {
        let clock = identity_of([0, 0, 0x5e, 0, 0x53, 1]);
        let announce = announce_of_receiver(clock, 128);
        let source = PortIdentity { clock, port: 1 };
        Self { source, announce, flags: RECEIVER_FLAGS, heard: SimTime::ZERO, before: None }
    }

    /// A master that sends no announcements. As in IEEE 802.1AS, its time scale is that of PTP (TAI).
    pub(super) fn unannounced(source: PortIdentity) -> Self {
        let announce = Announce {
            quality: ClockQuality { class: 248, accuracy: 0xfe, variance: 0xffff },
            time_source: 0xa0,
            ..announce_of_receiver(source.clock, 248)
        };
        let flags = flag::PTP_TIMESCALE;
        Self { source, announce, flags, heard: SimTime::ZERO, before: None }
    }

    fn is_qualified(&self, now: SimTime, interval_ns: u64) -> bool {
        let within =
            |from: SimTime, to: SimTime| to.0.saturating_sub(from.0) <= WINDOW * interval_ns;
        within(self.heard, now) && self.before.is_some_and(|before| within(before, self.heard))
    }

    /// Compares masters; `Less` means that `self` is better.
    fn compare(&self, other: &Self) -> Ordering {
        let of_one = self.announce.grandmaster == other.announce.grandmaster;
        let distance = |master: &Self| (master.announce.steps_removed, master.source);
        match of_one {
            true => distance(self).cmp(&distance(other)),
            false => rank(&self.announce).cmp(&rank(&other.announce)),
        }
    }
}

/// Rank of a clock; the smallest is the best.
fn rank(announce: &Announce) -> impl Ord + use<> {
    (announce.priority_1, announce.quality, announce.priority_2, announce.grandmaster)
}

/// Masters that have announced themselves, at most `KEPT`.
#[derive(Clone, Debug, Default)]
pub struct Masters(Vec<Master>);

impl Masters {
    /// Processes an announcement of `source` at `now`. `kept` is the present master, which stays in the list.
    pub fn hear(
        &mut self,
        now: SimTime,
        source: PortIdentity,
        announce: &Announce,
        flags: u16,
        kept: Option<PortIdentity>,
    ) {
        if announce.steps_removed > MOST_STEPS {
            return;
        }
        if let Some(known) = self.0.iter_mut().find(|known| known.source == source) {
            known.before = Some(std::mem::replace(&mut known.heard, now));
            (known.announce, known.flags) = (announce.clone(), flags);
            return;
        }
        let new = Master { source, announce: announce.clone(), flags, heard: now, before: None };
        if self.0.len() < KEPT {
            self.0.push(new);
            return;
        }
        // The master that has been silent longest is dropped, first among those with a single announcement, so that
        // forged masters cannot fill the list.
        let others = self.0.iter_mut().filter(|known| Some(known.source) != kept);
        if let Some(oldest) = others.min_by_key(|known| (known.before.is_some(), known.heard)) {
            *oldest = new;
        }
    }

    /// Whether a qualified master is better than `own`. `interval_ns` is the announce interval, on which qualification
    /// depends.
    pub fn has_better(&self, now: SimTime, interval_ns: u64, own: &Announce) -> bool {
        let best = self.best(now, interval_ns, None);
        best.is_some_and(|best| rank(&best.announce) < rank(own))
    }

    /// Drops the master with this port.
    pub fn forget(&mut self, source: PortIdentity) {
        self.0.retain(|known| known.source != source);
    }

    /// The best qualified master; `None` if there is none. `interval_ns` is the announce interval, on which qualification
    /// depends. The present master `followed` counts as qualified as long as it is in the list.
    pub fn best(
        &self,
        now: SimTime,
        interval_ns: u64,
        followed: Option<PortIdentity>,
    ) -> Option<&Master> {
        let qualified = self.0.iter().filter(|master| {
            Some(master.source) == followed || master.is_qualified(now, interval_ns)
        });
        qualified.min_by(|a, b| a.compare(b))
    }
}
