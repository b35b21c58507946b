//! Fault: the receiver repeats its last fix.

use super::clock::Stamp;
use crate::config::rig::faults::Timed;
use crate::sensors::fault::{EffectKind, FaultEffect};
use crate::sensors::gnss::faults::GnssFault;
use crate::sensors::gnss::navigator::Solution;

/// The repeated solution that replaces `now`, and the effect of the fault; `None` without an active fault or
/// without an earlier solution.
pub fn told_again(
    faults: &[Timed<GnssFault>],
    now: &(Solution, Stamp),
    last: Option<&(Solution, Stamp)>,
) -> Option<((Solution, Stamp), FaultEffect)> {
    let at = now.0.at;
    let (fault, window, time_goes_on) = faults.iter().find_map(|fault| match fault.kind {
        GnssFault::Frozen { time_goes_on } => {
            Some((fault.fault, fault.schedule.window_at(at)?, time_goes_on))
        }
        _ => None,
    })?;
    let (old, old_stamp) = last?;
    let effect = FaultEffect { fault, window, kind: EffectKind::Frozen };
    if !time_goes_on {
        return Some(((old.clone(), *old_stamp), effect));
    }
    let (new, new_stamp) = now;
    let solution = Solution {
        at,
        is_time_known: new.is_time_known,
        is_leap_known: new.is_leap_known,
        time_error_ns: new.time_error_ns,
        ..old.clone()
    };
    Some(((solution, *new_stamp), effect))
}
