//! Times of a replay: times of the capture, without its clock jumps.

use std::fmt::Write as _;
use std::time::Duration;

use crate::time::SimTime;

/// Largest number of jumps that are reported individually.
const MOST_SHOWN: usize = 5;

/// Largest time steps between successive packets of a capture that do not count as jumps of the capture's clock.
#[derive(Clone, Copy, Debug)]
pub struct JumpLimits {
    /// Longest pause that is kept; longer pauses are shortened to this.
    pub most_forward: Duration,
    /// Largest backward step that counts as a packet out of order. Captures on a host with several processors often
    /// have such packets.
    pub most_back: Duration,
}

/// Times of a replay, computed from the times of a capture. They never decrease.
#[derive(Clone, Debug)]
pub struct ReplayTimes {
    limits: JumpLimits,
    /// Latest capture time since the last jump (POSIX, nanoseconds), and the corresponding due time in the replay.
    latest: Option<(i128, SimTime)>,
    count: u64,
    jumps: u64,
    shown: Vec<String>,
    early: u64,
    earliest_ns: i128,
}

impl ReplayTimes {
    /// Starts the times of a replay, before the first packet.
    pub fn new(limits: JumpLimits) -> Self {
        let shown = Vec::new();
        Self { limits, latest: None, count: 0, jumps: 0, shown, early: 0, earliest_ns: 0 }
    }

    /// Due time of the next packet, which was captured at `unix_ns`.
    pub fn due(&mut self, unix_ns: i128) -> SimTime {
        self.count += 1;
        let Some((latest_ns, latest)) = self.latest else {
            self.latest = Some((unix_ns, SimTime::ZERO));
            return SimTime::ZERO;
        };
        let step_ns = unix_ns - latest_ns;
        let most_ns = self.limits.most_forward.as_nanos() as i128;
        let due = if step_ns > most_ns {
            let most_s = self.limits.most_forward.as_secs_f64();
            self.jump(step_ns, "later", &format!("sent {most_s} s after it"));
            after(latest, most_ns)
        } else if step_ns >= 0 {
            after(latest, step_ns)
        } else if step_ns >= -(self.limits.most_back.as_nanos() as i128) {
            // The packet is out of order: it becomes due together with the latest packet so far.
            self.early += 1;
            self.earliest_ns = self.earliest_ns.max(-step_ns);
            return latest;
        } else {
            self.jump(-step_ns, "earlier", "sent together with it");
            latest
        };
        self.latest = Some((unix_ns, due));
        due
    }

    fn jump(&mut self, step_ns: i128, way: &str, what: &str) {
        self.jumps += 1;
        if self.shown.len() < MOST_SHOWN {
            let step_s = step_ns as f64 * 1e-9;
            self.shown.push(format!(
                "packet {}: captured {step_s:.3} s {way} than the one before it; {what}",
                self.count
            ));
        }
    }

    /// Messages about due times that do not follow the capture's times, one line each. Packets are counted from 1.
    pub fn told(&self) -> Vec<String> {
        let mut lines = self.shown.clone();
        let more = self.jumps - self.shown.len() as u64;
        if more > 0 {
            lines.push(format!("… and {more} more jumps of the capture's clock"));
        }
        if self.early > 0 {
            let mut text = format!("{} packets have earlier times than packets", self.early);
            let most_ms = self.earliest_ns as f64 * 1e-6;
            // Writing to a string cannot fail.
            let _ =
                write!(text, " before them, by up to {most_ms:.3} ms; they are sent with those");
            lines.push(text);
        }
        lines
    }
}

/// Returns the time `step_ns` after `at`; `step_ns` must not be negative.
fn after(at: SimTime, step_ns: i128) -> SimTime {
    SimTime(at.0.saturating_add(u64::try_from(step_ns).unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: f64 = 1e9;

    /// Due times, seconds, of packets with the capture times `captured_s`, and the messages.
    fn due(captured_s: &[f64]) -> (Vec<f64>, Vec<String>) {
        let limits = JumpLimits {
            most_forward: Duration::from_secs(60),
            most_back: Duration::from_millis(100),
        };
        let mut times = ReplayTimes::new(limits);
        let due = captured_s.iter().map(|s| times.due((s * S) as i128).0 as f64 / S);
        (due.collect(), times.told())
    }

    #[test]
    fn times_are_those_of_the_capture() {
        assert_eq!(due(&[1e9, 1e9 + 0.5, 1e9 + 60.5]), (vec![0.0, 0.5, 60.5], vec![]));
    }

    #[test]
    fn a_capture_that_jumps_years_ahead_goes_on_after_the_longest_pause() {
        let far = f64::from(1 << 30);
        let (times, told) = due(&[0.0, 1.0, far, far + 1.0]);
        assert_eq!(times, [0.0, 1.0, 61.0, 62.0]);
        let [told] = &told[..] else { panic!("{told:?}") };
        assert!(told.starts_with("packet 3: captured 1073741823.000 s later"), "{told}");
    }

    #[test]
    fn a_first_packet_of_another_clock_does_not_hurry_the_others() {
        let (times, told) = due(&[1000.0, 0.0, 1.0, 2.0]);
        assert_eq!(times, [0.0, 0.0, 1.0, 2.0]);
        assert_eq!(
            told,
            ["packet 2: captured 1000.000 s earlier than the one before it; sent together with it"]
        );
    }

    #[test]
    fn packets_out_of_order_shift_no_others() {
        let (times, told) = due(&[0.0, 1.0, 0.95, 1.5]);
        assert_eq!(times, [0.0, 1.0, 1.0, 1.5]);
        assert!(told.len() == 1 && told[0].contains("1 packets") && told[0].contains("50.000 ms"));
    }

    #[test]
    fn any_times_are_answered() {
        let limits = JumpLimits { most_forward: Duration::MAX, most_back: Duration::ZERO };
        let mut times = ReplayTimes::new(limits);
        for unix_ns in [0, i128::from(i64::MAX), i128::from(i64::MIN), i128::from(u64::MAX)] {
            times.due(unix_ns);
        }
        assert_eq!(times.told().len(), 1);
    }
}
