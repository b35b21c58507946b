//! State of a slave's clock at a time, for comparison with the true time.

use super::{PortState, PtpSlave, SECOND_NS};
use crate::time::SimTime;
use crate::wire::ptp::{ClockIdentity, UTC_OFFSET_S, flag};

/// TAI minus UTC, nanoseconds.
pub const TAI_AHEAD_NS: i128 = UTC_OFFSET_S as i128 * SECOND_NS as i128;
/// Largest number of queued accounts; further ones are dropped.
const MOST_WAITING: usize = 4096;

/// State of a PTP clock at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockAccount {
    /// Time of the account.
    pub at: SimTime,
    /// State of the port.
    pub state: PortState,
    /// Whether a master has set the clock.
    pub is_set: bool,
    /// Clock reading, nanoseconds.
    pub shows_ns: i128,
    /// Whether the reading is TAI; otherwise it is UTC, or the time since power-on if no master has set the clock.
    pub shows_tai: bool,
    /// Present or last grandmaster; `None` before the first one.
    pub grandmaster: Option<ClockIdentity>,
    /// Offset from the master measured by the slave, nanoseconds.
    pub offset_ns: i64,
    /// Path delay to the master measured by the slave, nanoseconds.
    pub path_delay_ns: i64,
    /// Whether the device timestamps its packets with this clock; set by the device.
    pub is_stamping: bool,
}

impl ClockAccount {
    /// Source of the timestamps: `ptp` with a master, `holdover` after its loss, `oscillator` before the
    /// first master, `other` if the device does not timestamp with this clock.
    pub fn stamps(&self) -> &'static str {
        let is_followed = matches!(self.state, PortState::Slave | PortState::Uncalibrated);
        match (self.is_stamping, self.is_set, is_followed) {
            (false, ..) => "other",
            (true, false, _) => "oscillator",
            (true, true, true) => "ptp",
            (true, true, false) => "holdover",
        }
    }

    /// Reading of the clock minus the true time, nanoseconds; `utc_ns` is the true UTC.
    pub fn error_ns(&self, utc_ns: i128) -> i64 {
        let ahead_ns = if self.shows_tai { TAI_AHEAD_NS } else { 0 };
        super::limited(self.shows_ns - ahead_ns - utc_ns)
    }
}

impl PtpSlave {
    /// Removes and returns the oldest queued account; `None` if the queue is empty. An account is queued once per
    /// second and at each change of the port's state.
    pub fn poll_account(&mut self) -> Option<ClockAccount> {
        self.accounts.pop_front()
    }

    /// Queues the present state of the clock.
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

    /// Queues a report of the clock's state if the state of the PTP port has changed.
    pub(super) fn note_change(&mut self) {
        if self.state() != self.noted {
            self.note_account();
        }
    }
}
