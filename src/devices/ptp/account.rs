//! What the clock of a slave is at an instant, for those who know the true time.

use super::{PortState, PtpSlave, SECOND_NS};
use crate::time::SimTime;
use crate::wire::ptp::{ClockIdentity, UTC_OFFSET_S, flag};

/// TAI minus UTC, nanoseconds.
pub const TAI_AHEAD_NS: i128 = UTC_OFFSET_S as i128 * SECOND_NS as i128;
/// Accounts that wait to be taken; in a run nobody leaves so many.
const MOST_WAITING: usize = 4096;

/// State of a PTP clock at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockAccount {
    /// When.
    pub at: SimTime,
    /// The state of its port.
    pub state: PortState,
    /// Whether a master has set it.
    pub is_set: bool,
    /// Time of the clock, nanoseconds.
    pub shows_ns: i128,
    /// Whether that is TAI; otherwise it is UTC, or, if it is not set, the time since power-up.
    pub shows_tai: bool,
    /// Its grandmaster, or the last.
    pub grandmaster: Option<ClockIdentity>,
    /// Its offset from the master by its own words, nanoseconds.
    pub offset_ns: i64,
    /// To the master by its own words, nanoseconds.
    pub path_delay_ns: i64,
    /// Whether the device stamps its packets with it; the device says so.
    pub is_stamping: bool,
}

impl ClockAccount {
    /// Which clock stamps packets: `ptp` by a master, `holdover` of one that is gone, `oscillator` before the first,
    /// and `other` if the device does not stamp by PTP.
    pub fn stamps(&self) -> &'static str {
        let is_followed = matches!(self.state, PortState::Slave | PortState::Uncalibrated);
        match (self.is_stamping, self.is_set, is_followed) {
            (false, ..) => "other",
            (true, false, _) => "oscillator",
            (true, true, true) => "ptp",
            (true, true, false) => "holdover",
        }
    }

    /// Its error when the true UTC is `utc_ns`, nanoseconds.
    pub fn error_ns(&self, utc_ns: i128) -> i64 {
        let ahead_ns = if self.shows_tai { TAI_AHEAD_NS } else { 0 };
        super::limited(self.shows_ns - ahead_ns - utc_ns)
    }
}

impl PtpSlave {
    /// The next account of its clock: one a second, and one whenever its port's state has changed.
    pub fn poll_account(&mut self) -> Option<ClockAccount> {
        self.accounts.pop_front()
    }

    /// Notes what the clock is now.
    pub(super) fn note_account(&mut self) {
        self.noted = self.state();
        if self.accounts.len() >= MOST_WAITING {
            return;
        }
        let parent = self.parent.as_ref();
        self.accounts.push_back(ClockAccount {
            at: self.now,
            state: self.noted,
            is_set: self.is_set(),
            shows_ns: self.clock.shows_ns(self.now),
            shows_tai: parent.is_some_and(|parent| parent.flags & flag::PTP_TIMESCALE != 0),
            grandmaster: parent.map(|parent| parent.announce.grandmaster),
            offset_ns: self.offset_ns(),
            path_delay_ns: self.path_delay_ns(),
            is_stamping: true,
        });
    }

    /// As [`PtpSlave::note_account`], if the state has changed.
    pub(super) fn note_change(&mut self) {
        if self.state() != self.noted {
            self.note_account();
        }
    }
}
