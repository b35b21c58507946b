//! Recent activity of each device. Statistics of the whole run react too slowly when a link fails or recovers.

use std::collections::VecDeque;

use serde::Serialize;

use crate::engine::stats::Counters;
use crate::time::SimTime;

const SECOND_NS: u64 = 1_000_000_000;
/// Length of the window in which deadline misses are counted and lateness is evaluated, nanoseconds.
pub const WINDOW_NS: u64 = 10 * SECOND_NS;
/// Time between two stored copies of a device's lateness histogram, nanoseconds.
const LATENESS_STEP_NS: u64 = 2 * SECOND_NS;
/// Number of packets over which the rate is averaged if a device sends fewer than this number per second.
const FEWEST_PACKETS: f64 = 10.0;
/// Number of periods without data after which a device counts as silent.
const SILENT_PERIODS: f64 = 4.0;
/// Shortest time without data after which a device counts as silent, nanoseconds.
const SILENT_NS: u64 = SECOND_NS / 2;
/// Time after which a device without a nominal rate counts as idle, nanoseconds.
const IDLE_NS: u64 = 2 * SECOND_NS;

/// Histogram of lateness: pairs of lateness (nanoseconds, ascending) and number of packets.
type Lateness = Vec<(u64, u64)>;

/// Counters and lateness of a device in the last ten seconds.
#[derive(Default)]
pub struct Recent {
    samples: VecDeque<(SimTime, Counters)>,
    lateness: VecDeque<(SimTime, Lateness)>,
}

/// Present activity of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Activity {
    /// The device has sent data recently.
    Sends,
    /// The device has sent nothing for several of its periods, and for at least half a second.
    Silent,
    /// The device has no nominal rate and has sent nothing for a while, perhaps because no host requests data.
    Idle,
    /// The device has no nominal rate and has sent nothing yet: it waits for a host's request.
    WaitsForDriver,
}

/// Figures of the last second and the last ten seconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecentFigures {
    /// Present activity.
    pub activity: Activity,
    /// Packets per second, averaged over the last second. For a device with fewer than ten packets per second, averaged
    /// over ten of its periods, but at most ten seconds.
    pub rate_hz: f64,
    /// Time since the latest packet, seconds; `None` before the first.
    pub age_s: Option<f64>,
    /// Length of the window in which late, dropped and refused packets are counted, seconds: about ten, or less at the
    /// start of the run.
    pub window_s: f64,
    /// Number of packets sent late within the window.
    pub sent_late: u64,
    /// Number of packets dropped within the window because they were too late.
    pub dropped: u64,
    /// Number of packets that the system refused within the window.
    pub send_errors: u64,
    /// Median, 99th percentile and maximum of the lateness, microseconds; `None` if no packet was sent in the window.
    pub lateness_us: Option<[f64; 3]>,
}

impl Recent {
    /// Stores `counters`, the device's counters at the time `now`.
    pub fn note(&mut self, now: SimTime, counters: Counters) {
        self.samples.push_back((now, counters));
        // Keep the newest sample that is at least as old as the window; remove older ones.
        while self.samples.get(1).is_some_and(|(at, _)| at.0 + WINDOW_NS <= now.0) {
            self.samples.pop_front();
        }
    }

    /// Whether the next lateness histogram is due at `now`: none is stored yet, or the latest is two seconds old.
    pub fn wants_lateness(&self, now: SimTime) -> bool {
        self.lateness.back().is_none_or(|(at, _)| at.0 + LATENESS_STEP_NS <= now.0)
    }

    /// Stores the lateness histogram of all packets that the device has sent up to `now`.
    pub fn note_lateness(&mut self, now: SimTime, lateness: Lateness) {
        self.lateness.push_back((now, lateness));
        while self.lateness.get(1).is_some_and(|(at, _)| at.0 + WINDOW_NS <= now.0) {
            self.lateness.pop_front();
        }
    }

    /// Figures at `now`, from the present `counters`. `nominal_rate_hz` is the rate of the device; 0 if the device
    /// waits for hosts. `lateness` covers all packets so far. With `is_down`, a fault interrupts the device's link;
    /// such a device does not count as waiting.
    pub fn figures(
        &self,
        now: SimTime,
        counters: Counters,
        lateness: &[(u64, u64)],
        nominal_rate_hz: f64,
        is_down: bool,
    ) -> RecentFigures {
        let window_ns = match nominal_rate_hz {
            0.0 => SECOND_NS,
            nominal => ((FEWEST_PACKETS / nominal * 1e9) as u64).clamp(SECOND_NS, WINDOW_NS),
        };
        let first = self.samples.front().copied().unwrap_or((SimTime::ZERO, Counters::default()));
        let is_within = |(at, _): &&(SimTime, Counters)| at.0 + window_ns >= now.0;
        let (from, before) = self.samples.iter().find(is_within).copied().unwrap_or(first);
        let passed_s = now.saturating_since(from).as_secs_f64();
        let packets = counters.packets.saturating_sub(before.packets);
        let (begun, old) = first;
        let early = self.lateness.front().map_or(&[][..], |(_, lateness)| lateness);
        RecentFigures {
            activity: activity(now, counters.last_sent, nominal_rate_hz, is_down),
            rate_hz: if passed_s > 0.0 { packets as f64 / passed_s } else { 0.0 },
            age_s: counters.last_sent.map(|at| now.saturating_since(at).as_secs_f64()),
            window_s: now.saturating_since(begun).as_secs_f64(),
            sent_late: counters.sent_late.saturating_sub(old.sent_late),
            dropped: counters.dropped.saturating_sub(old.dropped),
            send_errors: counters.send_errors.saturating_sub(old.send_errors),
            lateness_us: percentiles(early, lateness),
        }
    }
}

fn activity(now: SimTime, last: Option<SimTime>, nominal_rate_hz: f64, is_down: bool) -> Activity {
    let waits = nominal_rate_hz == 0.0 && !is_down;
    let patience_ns = match nominal_rate_hz {
        _ if waits => IDLE_NS,
        0.0 => SILENT_NS,
        nominal => SILENT_NS.max((SILENT_PERIODS / nominal * 1e9) as u64),
    };
    // If a device has never sent anything, its silence counts from the start of the run.
    let is_silent = now.0 > last.map_or(0, |at| at.0).saturating_add(patience_ns);
    match (is_silent, waits, last) {
        (_, true, None) => Activity::WaitsForDriver,
        (true, true, _) => Activity::Idle,
        (true, false, _) => Activity::Silent,
        (false, ..) => Activity::Sends,
    }
}

/// Median, 99th percentile and maximum, microseconds, of the values that the histogram `now` has in addition to those
/// of the earlier histogram `before`; `None` if there are none. Histograms have values in nanoseconds, with their
/// counts.
fn percentiles(before: &[(u64, u64)], now: &[(u64, u64)]) -> Option<[f64; 3]> {
    let mut before = before.iter().peekable();
    let new: Vec<(u64, u64)> = now
        .iter()
        .map(|&(value, count)| {
            while before.peek().is_some_and(|(old, _)| *old < value) {
                before.next();
            }
            let old = before.peek().filter(|(old, _)| *old == value).map_or(0, |(_, count)| *count);
            (value, count.saturating_sub(old))
        })
        .filter(|(_, count)| *count > 0)
        .collect();
    let total: u64 = new.iter().map(|(_, count)| count).sum();
    let at = |share: f64| {
        let wanted = (share * total as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        let found = new.iter().find(|(_, count)| {
            seen += count;
            seen >= wanted
        });
        found.map(|(value, _)| *value as f64 / 1e3)
    };
    Some([at(0.5)?, at(0.99)?, at(1.0)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP_NS: u64 = SECOND_NS / 10;

    /// Figures at `until_s` of a device that sends at `rate_hz` until `stops_s`; its counters are read every tenth of a
    /// second.
    fn seen(rate_hz: f64, stops_s: f64, until_s: f64, nominal_rate_hz: f64) -> RecentFigures {
        let counters = |ns: u64| {
            let packets = (ns as f64 / 1e9).min(stops_s) * rate_hz;
            let last_ns = (packets.floor() / rate_hz * 1e9) as u64;
            Counters {
                packets: packets as u64,
                last_sent: (packets >= 1.0).then_some(SimTime(last_ns)),
                ..Counters::default()
            }
        };
        let mut recent = Recent::default();
        let until_ns = (until_s * 1e9) as u64;
        for at in (0..until_ns).step_by(STEP_NS as usize) {
            recent.note(SimTime(at), counters(at));
        }
        recent.figures(SimTime(until_ns), counters(until_ns), &[], nominal_rate_hz, false)
    }

    #[test]
    fn the_rate_is_that_of_the_last_second_and_a_dead_link_is_silent() {
        let alive = seen(1000.0, 99.0, 20.0, 1000.0);
        assert!((alive.rate_hz - 1000.0).abs() < 2.0, "{alive:?}");
        assert_eq!(alive.activity, Activity::Sends);
        let dying = seen(1000.0, 19.5, 20.0, 1000.0);
        assert!((dying.rate_hz - 500.0).abs() < 2.0, "{dying:?}");
        let dead = seen(1000.0, 17.0, 20.0, 1000.0);
        assert_eq!((dead.rate_hz, dead.activity), (0.0, Activity::Silent));
        assert!((dead.age_s.unwrap() - 3.0).abs() < 1e-6);
        assert_eq!(seen(1000.0, 0.0, 20.0, 1000.0).activity, Activity::Silent);
    }

    #[test]
    fn a_slow_device_has_its_rate_and_is_not_called_silent_between_two_packets() {
        let slow = seen(1.0, 99.0, 20.9, 1.0);
        assert!((slow.rate_hz - 1.0).abs() < 0.11, "{slow:?}");
        assert_eq!(slow.activity, Activity::Sends);
        assert_eq!(seen(1.0, 10.0, 20.0, 1.0).activity, Activity::Silent);
    }

    #[test]
    fn a_device_without_a_rate_of_its_own_waits_for_its_driver() {
        assert_eq!(seen(10.0, 0.0, 0.2, 0.0).activity, Activity::WaitsForDriver);
        assert_eq!(seen(10.0, 99.0, 5.0, 0.0).activity, Activity::Sends);
        let left = seen(10.0, 5.0, 20.0, 0.0);
        assert_eq!((left.activity, left.rate_hz), (Activity::Idle, 0.0));
        let dead = activity(SimTime(9 * SECOND_NS), Some(SimTime(SECOND_NS)), 0.0, true);
        assert_eq!(dead, Activity::Silent, "a fault has cut its link");
    }

    #[test]
    fn misses_and_lateness_recover() {
        let mut recent = Recent::default();
        let bad = Counters { sent_late: 7, dropped: 2, send_errors: 1, ..Counters::default() };
        let late = vec![(1000, 10), (5_000_000, 7)];
        let second = |s: u64| SimTime(s * SECOND_NS);
        recent.note(second(0), Counters::default());
        recent.note_lateness(second(0), Vec::new());
        let figures = recent.figures(second(2), bad, &late, 10.0, false);
        assert_eq!((figures.sent_late, figures.dropped, figures.send_errors), (7, 2, 1));
        assert_eq!(figures.lateness_us, Some([1.0, 5000.0, 5000.0]));
        for s in 2..14 {
            recent.note(second(s), bad);
            if recent.wants_lateness(second(s)) {
                recent.note_lateness(second(s), late.clone());
            }
        }
        let more = vec![(1000, 110), (2000, 1), (5_000_000, 7)];
        let figures = recent.figures(second(14), bad, &more, 10.0, false);
        assert_eq!((figures.sent_late, figures.dropped, figures.send_errors), (0, 0, 0));
        assert_eq!(figures.lateness_us, Some([1.0, 1.0, 2.0]));
        assert_eq!(recent.figures(second(14), bad, &late, 10.0, false).lateness_us, None);
        assert!(recent.samples.len() <= 12 && recent.lateness.len() <= 7);
    }
}
