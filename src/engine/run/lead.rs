//! The lead: time by which a device's datagrams are submitted to the kernel before they are due, so that they leave on
//! time.

use std::time::Duration;

use crate::config::rig::Lead;

/// Share of packets that may leave early. A share of one half would give the smallest median error, but a real product
/// never sends early.
const EARLY_SHARE: f64 = 0.1;
/// Largest lead, nanoseconds.
const MOST_NS: f64 = Lead::MOST_US * 1e3;
/// Decreasing part of the step by which each packet changes the lead, nanoseconds. It is halved after [`SETTLING`]
/// packets and approaches zero.
const FIRST_STEP_NS: f64 = 5_000.0;
/// Constant part of the step by which each packet changes the lead, nanoseconds.
const LAST_STEP_NS: f64 = 20.0;
/// Number of packets after which the decreasing part of the step is halved.
const SETTLING: f64 = 8.0;

/// Estimates the lead of a device: the 10 % quantile of the delays between submission and departure. Each packet moves
/// the estimate one step up or down, so outliers have little effect.
#[derive(Clone, Debug, Default)]
pub struct LeadFinder {
    lead_ns: f64,
    seen: u64,
}

impl LeadFinder {
    /// Updates the lead with a packet that left `delay_ns` after its planned time of sending, which is its due time
    /// minus the lead.
    pub fn note(&mut self, delay_ns: i64) {
        let step_ns = LAST_STEP_NS + FIRST_STEP_NS / (1.0 + self.seen as f64 / SETTLING);
        let is_below = (delay_ns as f64) < self.lead_ns;
        let share = if is_below { EARLY_SHARE - 1.0 } else { EARLY_SHARE };
        self.lead_ns = (self.lead_ns + step_ns * share).clamp(0.0, MOST_NS);
        self.seen += 1;
    }

    /// Present estimate of the lead.
    pub fn lead(&self) -> Duration {
        Duration::from_nanos(self.lead_ns as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lead after `count` packets with delays between 3 and 9 us; every hundredth packet has a delay of a millisecond.
    fn found_ns(count: u64) -> f64 {
        let mut finder = LeadFinder::default();
        for n in 0..count {
            let is_late = n % 100 == 99;
            finder.note(if is_late { 1_000_000 } else { 3_000 + (n * 1_237 % 6_000) as i64 });
        }
        finder.lead().as_nanos() as f64
    }

    #[test]
    fn a_tenth_leaves_early_and_what_is_very_late_does_not_count_for_more() {
        assert!((found_ns(200) - 3_600.0).abs() < 900.0, "{}", found_ns(200));
        assert!((found_ns(20_000) - 3_600.0).abs() < 200.0, "{}", found_ns(20_000));
    }

    #[test]
    fn a_lead_has_bounds_and_follows() {
        let mut finder = LeadFinder::default();
        assert_eq!(finder.lead(), Duration::ZERO);
        (0..1000).for_each(|_| finder.note(-5));
        assert_eq!(finder.lead(), Duration::ZERO);
        (0..200_000).for_each(|_| finder.note(1_000_000));
        assert_eq!(finder.lead(), Duration::from_nanos(MOST_NS as u64));
        (0..200_000).for_each(|_| finder.note(4_000));
        assert!((3_900..4_100).contains(&finder.lead().as_nanos()));
    }
}
