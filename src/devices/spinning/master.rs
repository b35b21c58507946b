//! PTP master that sets a unit's clock: simulated without error, within Menura, or on the network.

use super::clock_settings::ClockSettings;
use crate::ptp::{PtpClock, PtpSettings, PtpSlave};
use crate::sensors::noise::NoiseSource;
use crate::time::{Epoch, SimTime};
use crate::wire::ptp::ClockIdentity;

const SECOND_NS: i128 = 1_000_000_000;
const DAY_NS: i128 = 86_400 * SECOND_NS;

words!(PtpState: "none" => None, "locked" => Locked, "virtual" => Virtual, "wire" => Wire);

/// Kind of PTP master that sets a unit's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PtpState {
    /// No master.
    #[default]
    None,
    /// A simulated master: the clock has the master's time without error.
    Locked,
    /// A master within Menura, connected by PTP.
    Virtual,
    /// A master on the network, connected by PTP; it may be absent.
    Wire,
}

impl PtpState {
    /// Whether the unit runs a PTP slave.
    pub fn has_slave(self) -> bool {
        matches!(self, Self::Wire | Self::Virtual)
    }
}

/// A PTP slave that is already on at the start of the run and has the oscillator settings of `own`. With
/// `virtual_master`, the slave synchronises to a master within Menura; the epoch is the master's time at the start of
/// the run.
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

/// Time that an oscillator with the drift of `own` counts from `since` to `at`, nanoseconds.
fn counted_ns(own: &ClockSettings, since: SimTime, at: SimTime) -> i128 {
    let passed_ns = i128::from(at.0) - i128::from(since.0);
    let fast_ns_a_day = (own.drift_s_per_day * 1e9).round() as i128;
    passed_ns + (passed_ns * fast_ns_a_day).div_euclid(DAY_NS)
}

/// Time of a clock that follows a simulated error-free master, nanoseconds of POSIX time. The master's time is `ahead_s`
/// ahead of UTC. After the loss of the master, the oscillator with the drift of `own` counts on.
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

/// First time of the run at which a second begins on the clock of `slave`, extrapolated from the clock's offset at `now`.
/// Without a slave, the clock shows UTC without error.
pub(crate) fn second(slave: Option<&PtpSlave>, epoch: Epoch, now: SimTime) -> SimTime {
    let ahead_ns = match slave {
        Some(slave) => slave.shows_ns(now) - i128::from(now.0),
        None => epoch.unix_ns(SimTime::ZERO),
    };
    SimTime((-ahead_ns).rem_euclid(SECOND_NS) as u64)
}
