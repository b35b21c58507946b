//! Firings that a Ruby with two returns splits: a packet ends with the first return of a firing, and the next packet
//! begins with the second return.
//!
//! The firing is in the measurements of both packets, each with random errors of its own. Both returns are of the same
//! pulses, so the second packet gets the echoes of the first packet's measurement.

use std::collections::VecDeque;
use std::sync::Arc;

use super::planner::PacketPlan;
use crate::sensors::truth::{FiringTruth, ReturnTruth, SweepTruth};
use crate::sensors::{Echoes, Measurement, Outcome};
use crate::spinning::backlog::PacketPlan as _;
use crate::time::SimTime;
use crate::wire::robosense::layout::Phase;

/// Split firings in the order of time. Several are kept, because a change can plan the second packet of a firing again
/// after later packets have been measured.
#[derive(Debug, Default)]
pub struct SplitFirings(VecDeque<SplitFiring>);

#[derive(Debug)]
struct SplitFiring {
    at: SimTime,
    /// Echoes of each laser.
    echoes: Vec<Echoes>,
    /// Ground truth of the packet that ends with the firing.
    truth: Option<Arc<SweepTruth>>,
}

impl SplitFirings {
    /// Keeps the split firing at the end of a packet. For the packet after it, returns its measurement with the kept
    /// echoes of the split firing; `None` if there are none. `lasers` is the number of pulses per firing.
    pub fn joined(
        &mut self,
        plan: &PacketPlan,
        measurement: &Measurement,
        lasers: usize,
    ) -> Option<Measurement> {
        let Outcome::Echoes(echoes) = &measurement.outcome else { return None };
        match plan.phase {
            Phase::Even => {
                let at = plan.last();
                let last = echoes.get(lasers * (plan.firings.len() - 1)..)?;
                while self.0.pop_back_if(|kept| kept.at >= at).is_some() {}
                let (echoes, truth) = (last.to_vec(), measurement.truth.clone());
                self.0.push_back(SplitFiring { at, echoes, truth });
                None
            }
            Phase::Odd => {
                let kept = self.0.iter().rev().find(|kept| kept.at == plan.start())?;
                let echoes = [&kept.echoes[..], echoes.get(lasers..)?].concat();
                let request = measurement.request.clone();
                let mut joined = Measurement::new(request, Outcome::Echoes(echoes));
                joined.fault_effects.clone_from(&measurement.fault_effects);
                joined.truth = match (&kept.truth, &measurement.truth) {
                    (Some(kept), Some(own)) => Some(Arc::new(joined_truth(kept, own, lasers))),
                    _ => None,
                };
                Some(joined)
            }
        }
    }

    /// Drops firings that only packets before `before` need.
    pub fn forget(&mut self, before: SimTime) {
        while self.0.get(1).is_some_and(|next| next.at < before) {
            self.0.pop_front();
        }
    }
}

/// Ground truth of a packet whose first firing is the last one of `before`, and whose other firings are those of `own`.
fn joined_truth(before: &SweepTruth, own: &SweepTruth, lasers: usize) -> SweepTruth {
    let skipped = before.firings.len().saturating_sub(lasers);
    let firings = before.firings[skipped..].iter().zip(&own.firings);
    let firings = firings.map(|(one, own)| FiringTruth { offset_ns: own.offset_ns, ..*one });
    let returns = before.returns.iter().filter(|one| one.firing as usize >= skipped);
    let returns = returns.map(|one| ReturnTruth { firing: one.firing - skipped as u32, ..*one });
    let own_returns = own.returns.iter().filter(|one| one.firing as usize >= lasers);
    SweepTruth {
        start: own.start,
        poses: own.poses.clone(),
        firings: firings.chain(own.firings.iter().skip(lasers).copied()).collect(),
        returns: returns.chain(own_returns.copied()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Truth of two firings of two lasers; each pulse has one return at the range `first_m` plus its index.
    fn truth(start_ns: u64, first_m: f32) -> SweepTruth {
        SweepTruth {
            start: SimTime(start_ns),
            poses: Vec::new(),
            firings: (0..4u16)
                .map(|pulse| FiringTruth {
                    offset_ns: u32::from(pulse / 2) * 50 + u32::from(pulse % 2),
                    azimuth_rad: first_m,
                    elevation_rad: 0.0,
                    laser: pulse % 2,
                })
                .collect(),
            returns: (0..4u8)
                .map(|firing| ReturnTruth {
                    firing: firing.into(),
                    reported_m: first_m + f32::from(firing),
                    ..ReturnTruth::MISSING
                })
                .collect(),
        }
    }

    #[test]
    fn truth_of_a_split_firing_is_that_of_its_measurement() {
        let joined = joined_truth(&truth(0, 10.0), &truth(50, 20.0), 2);
        assert_eq!(joined.start, SimTime(50));
        let firings: Vec<_> =
            joined.firings.iter().map(|one| (one.offset_ns, one.azimuth_rad, one.laser)).collect();
        assert_eq!(firings, [(0, 10.0, 0), (1, 10.0, 1), (50, 20.0, 0), (51, 20.0, 1)]);
        let returns: Vec<_> =
            joined.returns.iter().map(|one| (one.firing, one.reported_m)).collect();
        assert_eq!(returns, [(0, 12.0), (1, 13.0), (2, 22.0), (3, 23.0)]);
    }
}
