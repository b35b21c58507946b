//! A PTP master that keeps a unit's clock, or that is simulated without error.

use super::clock_settings::ClockSettings;
use crate::ptp::{PtpClock, PtpSettings, PtpSlave};
use crate::sensors::noise::NoiseSource;
use crate::time::{Epoch, SimTime};
use crate::wire::ptp::ClockIdentity;

const SECOND_NS: i128 = 1_000_000_000;
const DAY_NS: i128 = 86_400 * SECOND_NS;

words!(PtpState: "none" => None, "locked" => Locked, "virtual" => Virtual, "wire" => Wire);

/// Whether a PTP master keeps the clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PtpState {
    /// There is none.
    #[default]
    None,
    /// The clock is the master's, without error.
    Locked,
    /// One within Menura does, by PTP.
    Virtual,
    /// One on the network does, or not, by PTP.
    Wire,
}

impl PtpState {
    /// Whether a slave follows the master by PTP.
    pub fn has_slave(self) -> bool {
        matches!(self, Self::Wire | Self::Virtual)
    }
}

/// A slave of PTP that is switched on before the first instant, with the oscillator of `own`; a master within Menura
/// serves it if there is a `virtual_master`, whose time is that of this epoch.
pub(crate) fn slave(
    own: &ClockSettings,
    ptp: &PtpSettings,
    identity: ClockIdentity,
    noise: NoiseSource,
    virtual_master: Option<Epoch>,
) -> PtpSlave {
    let up_ns = i128::from(own.power_up_us) * 1000;
    let clock = PtpClock::new(own.drift_s_per_day, SimTime::ZERO, up_ns);
    let slave = PtpSlave::new(ptp, identity, clock, noise, SimTime::ZERO);
    match virtual_master {
        Some(epoch) => slave.with_virtual_master(epoch),
        None => slave,
    }
}

/// What the oscillator of `own` counts from `since` to `at`, nanoseconds.
pub(crate) fn counted_ns(own: &ClockSettings, since: SimTime, at: SimTime) -> i128 {
    let passed_ns = i128::from(at.0) - i128::from(since.0);
    let fast_ns_a_day = (own.drift_s_per_day * 1e9).round() as i128;
    passed_ns + (passed_ns * fast_ns_a_day).div_euclid(DAY_NS)
}

/// What a clock shows that a master without error keeps, nanoseconds of POSIX time; since the master was lost, the
/// oscillator of `own` counts on.
pub(crate) fn simulated_ns(
    own: &ClockSettings,
    epoch: Epoch,
    ahead_s: i32,
    lost_since: Option<SimTime>,
    at: SimTime,
) -> i128 {
    let kept_to = lost_since.unwrap_or(at);
    i128::from(ahead_s) * SECOND_NS + epoch.unix_ns(kept_to) + counted_ns(own, kept_to, at)
}

/// The first instant at which a second begins of the clock that `slave` keeps, or of a right one without, as it counts
/// at `now`.
pub(crate) fn second(slave: Option<&PtpSlave>, epoch: Epoch, now: SimTime) -> SimTime {
    let ahead_ns = match slave {
        Some(slave) => slave.shows_ns(now) - i128::from(now.0),
        None => epoch.unix_ns(SimTime::ZERO),
    };
    SimTime((-ahead_ns).rem_euclid(SECOND_NS) as u64)
}
