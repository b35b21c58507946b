//! Measured packets of points that wait for their timestamps, for both protocols.

use super::clock::LivoxClock;
use crate::config::rig::faults::Timed;
use crate::sensors::Measurement;
use crate::sensors::fault::{EffectKind, effects};
use crate::spinning::backlog::{Held, PacketPlan};
use crate::time::SimTime;

/// Makes a measured packet that waits for its timestamp, from the planned packet `plan`. `payload` is the packet
/// without the timestamp, and `points` the number of points with a return. The packet leaves `lag_ns` after the planned
/// end of its points. It has the fault effects of `measurement`, and of the `alerts` and PTP faults that are active
/// while the packet is measured.
pub fn held<P: PacketPlan, K>(
    plan: P,
    (payload, points): (Vec<u8>, u32),
    measurement: &Measurement,
    lag_ns: u64,
    alerts: &[Timed<K>],
    clock: &LivoxClock,
) -> Held<P> {
    let (from, to) = (plan.start(), plan.last());
    let mut fault_effects = measurement.fault_effects.clone();
    fault_effects.extend(effects(alerts, from, to, EffectKind::AlertActive));
    fault_effects.extend(crate::ptp::faults::effects(clock.faults(), from, to));
    let due = SimTime(plan.ends().0 + lag_ns);
    let truth = measurement.truth.as_ref().into();
    Held { stamped: from, plan, points, due, payload, fault_effects, truth }
}
