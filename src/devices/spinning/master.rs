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
    /// No master.
    #[default]
    None,
    /// The clock is the master's, without error.
    Locked,
    /// A master within Menura, by PTP.
    Virtual,
    /// A master on the network sets the clock by PTP, if there is one.
    Wire,
}

impl PtpState {
    /// Whether a slave follows the master by PTP.
    pub fn has_slave(self) -> bool {
        matches!(self, Self::Wire | Self::Virtual)
    }
}

/// A PTP slave that was switched on before the first instant, with the oscillator of `own`. With a
/// `virtual_master`, whose time is that of this epoch, a master within Menura serves it.
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

/// Count of `own`'s oscillator from `since` to `at`, nanoseconds.
pub(crate) fn counted_ns(own: &ClockSettings, since: SimTime, at: SimTime) -> i128 {
    let passed_ns = i128::from(at.0) - i128::from(since.0);
    let fast_ns_a_day = (own.drift_s_per_day * 1e9).round() as i128;
    passed_ns + (passed_ns * fast_ns_a_day).div_euclid(DAY_NS)
}

/// Time of a clock with a simulated errorless master, nanoseconds of POSIX time; after the loss of the
/// master, the oscillator of `own` counts on.
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

/// First instant at which a second begins on the clock of `slave`, or on an exact clock without a slave, by
/// its rate at `now`.
pub(crate) fn second(slave: Option<&PtpSlave>, epoch: Epoch, now: SimTime) -> SimTime {
    let ahead_ns = match slave {
        Some(slave) => slave.shows_ns(now) - i128::from(now.0),
        None => epoch.unix_ns(SimTime::ZERO),
    };
    SimTime((-ahead_ns).rem_euclid(SECOND_NS) as u64)
}
