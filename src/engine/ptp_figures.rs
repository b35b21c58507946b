//! Statistics of a device's PTP clock in a run.

use serde::{Deserialize, Serialize};

use crate::devices::ptp::PortState;
use crate::devices::ptp::account::ClockAccount;

/// Records the states of a device's PTP clock.
#[derive(Clone, Debug, Default)]
pub(super) struct PtpAccounts {
    last: Option<ClockAccount>,
    changes: u64,
    /// Absolute error of the clock while it was locked, nanoseconds, once per second.
    errors_ns: Vec<u64>,
    locked_s: u64,
}

/// Largest number of recorded errors: one week.
const MOST_ERRORS: usize = 604_800;

/// Statistics of a device's PTP clock in a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PtpFigures {
    /// Clock that stamped the last packets: `ptp`, `holdover`, `oscillator`, or `other` if it is not the PTP
    /// clock.
    pub stamps: String,
    /// State of the PTP port at the end.
    pub state: String,
    /// Number of state changes of the PTP port.
    pub changes: u64,
    /// Time for which the clock was locked, seconds.
    pub locked_s: u64,
    /// Statistics of the absolute clock error while the clock was locked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_ns: Option<PtpError>,
}

/// Statistics of a clock's absolute error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PtpError {
    /// Smallest error, nanoseconds.
    pub least: u64,
    /// Median error, nanoseconds.
    pub median: u64,
    /// Largest error, nanoseconds.
    pub worst: u64,
}

impl PtpAccounts {
    /// Records an account of the clock with the clock's error in nanoseconds. There is one account per second and one
    /// at each change of the port's state; an account with a changed state counts neither as a locked second nor for
    /// the error.
    pub(super) fn note(&mut self, account: &ClockAccount, error_ns: i64) {
        let last = self.last.replace(*account);
        let is_change = last.is_some_and(|last| last.state != account.state);
        self.changes += u64::from(is_change);
        let is_locked = account.state == PortState::Slave && !is_change;
        self.locked_s += u64::from(is_locked);
        if is_locked && self.errors_ns.len() < MOST_ERRORS {
            self.errors_ns.push(error_ns.unsigned_abs());
        }
    }

    pub(super) fn figures(&self) -> Option<PtpFigures> {
        let last = self.last?;
        let mut sorted = self.errors_ns.clone();
        sorted.sort_unstable();
        let error_ns = sorted.first().zip(sorted.last()).map(|(least, worst)| PtpError {
            least: *least,
            median: sorted[sorted.len() / 2],
            worst: *worst,
        });
        Some(PtpFigures {
            stamps: last.stamps().to_owned(),
            state: last.state.word().to_owned(),
            changes: self.changes,
            locked_s: self.locked_s,
            error_ns,
        })
    }
}
