//! Converts timestamps of a network card to the monotonic clock.

use crate::timing::clock::Comparison;

/// Shortest interval between the two clock comparisons from which the rate is computed.
const SHORTEST_BASE_NS: u64 = 100_000_000;
/// Interval for the rate, nanoseconds. The rate is computed from the last comparison and one made `BASE_NS` to
/// `2 * BASE_NS` earlier, or less at the start.
const BASE_NS: u64 = 1_000_000_000;
/// Relative rate difference above which the rate is not used, because one of the clocks was set between the
/// comparisons.
const MOST_APART: f64 = 1e-3;

/// Relation of a network card's clock to the monotonic clock. The two are not synchronised, so a timestamp is converted by
/// the last comparison and the rate over the last one to two seconds.
#[derive(Debug, Default)]
pub struct CardTime {
    base: Option<Comparison>,
    next_base: Option<Comparison>,
    last: Option<Comparison>,
}

impl CardTime {
    /// Adds a comparison of both clocks.
    pub fn note(&mut self, now: Comparison) {
        let is_old = |base: Comparison| now.monotonic_ns - base.monotonic_ns >= BASE_NS;
        if self.next_base.is_none_or(is_old) {
            self.base = self.next_base.replace(now);
        }
        self.base.get_or_insert(now);
        self.last = Some(now);
    }

    /// Monotonic time at which the card's clock showed `card_ns`; `None` before the first comparison.
    pub fn monotonic_ns(&self, card_ns: u64) -> Option<i64> {
        let last = self.last?;
        let since_ns = card_ns.wrapping_sub(last.other_ns) as i64;
        let stretch = self.base.map_or(0.0, |base| stretch(base, last));
        Some(last.monotonic_ns as i64 + since_ns + (since_ns as f64 * stretch).round() as i64)
    }
}

/// Rate of the monotonic clock minus that of the card's clock, as a share of the latter; 0 if the comparisons are too
/// close, or if a clock was set between them.
fn stretch(base: Comparison, last: Comparison) -> f64 {
    let monotonic_ns = last.monotonic_ns - base.monotonic_ns;
    let card_ns = last.other_ns as i64 - base.other_ns as i64;
    let apart = (monotonic_ns as i64 - card_ns) as f64 / card_ns as f64;
    if monotonic_ns >= SHORTEST_BASE_NS && apart.abs() < MOST_APART { apart } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A card whose clock is 37 s ahead and 50 millionths fast.
    fn card_ns(monotonic_ns: u64) -> u64 {
        monotonic_ns + monotonic_ns / 20_000 + 37_000_000_000
    }

    fn comparison(monotonic_ns: u64) -> Comparison {
        Comparison { monotonic_ns, other_ns: card_ns(monotonic_ns), uncertainty_ns: 500 }
    }

    #[test]
    fn stamps_are_brought_to_the_monotonic_clock_although_the_cards_is_faster() {
        let mut time = CardTime::default();
        assert_eq!(time.monotonic_ns(5), None);
        for look in 1..=2000 {
            let now_ns = look * 2_000_000;
            time.note(comparison(now_ns));
            let left_ns = now_ns - 1_500_000;
            let error_ns = time.monotonic_ns(card_ns(left_ns)).unwrap() - left_ns as i64;
            // 75 ns without the rate, which is unknown during the first tenth of a second.
            let most_ns = if look < 60 { 76 } else { 1 };
            assert!(error_ns.abs() <= most_ns, "{error_ns} ns at look {look}");
        }
        // A timestamp that is half a second older than the last comparison, as after a pause of the send log.
        let error_ns = time.monotonic_ns(card_ns(3_500_000_000)).unwrap() - 3_500_000_000;
        assert!(error_ns.abs() <= 2, "{error_ns}");
    }

    #[test]
    fn a_clock_that_is_set_is_followed_at_once() {
        let mut time = CardTime::default();
        time.note(comparison(1_000_000_000));
        let set =
            |monotonic_ns| Comparison { other_ns: monotonic_ns + 5, ..comparison(monotonic_ns) };
        time.note(set(1_500_000_000));
        assert_eq!(time.monotonic_ns(1_499_000_005), Some(1_499_000_000));
        for look in 0..1000 {
            time.note(set(1_500_000_000 + look * 4_000_000));
        }
        assert_eq!(time.monotonic_ns(5_400_000_005), Some(5_400_000_000));
    }
}
