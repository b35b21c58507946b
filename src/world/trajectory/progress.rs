//! Progress along a curve over time.

/// Peak deceleration of a stop if the path is long enough, m/s².
const BRAKING_M_S2: f64 = 1.5;
/// Ratio of the peak to the mean of the braking profile.
const PEAK_OVER_MEAN: f64 = 1.875;

/// The curve's parameter over time. The parameter and its rate are twice continuously differentiable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Progress {
    /// An endless constant rate.
    Steady {
        /// Units of the parameter per second.
        rate: f64,
    },
    /// A constant rate, then a stop at the end.
    Stop {
        /// Units of the parameter per second.
        rate: f64,
        brake_from_s: f64,
        brake_s: f64,
        /// The curve's parameter at the end.
        end: f64,
    },
}

impl Progress {
    /// Moves from the parameter 0 to `length` at `rate` (units of the parameter per second) and stops there.
    /// `speed_m_s` is the speed before braking. Braking peaks at 1.5 m/s²; at less if it would otherwise last less than
    /// 0.2 s, and at more if it would otherwise take more than half of the path.
    pub fn stopping(rate: f64, length: f64, speed_m_s: f64) -> Self {
        let comfortable_s = (PEAK_OVER_MEAN * speed_m_s / BRAKING_M_S2).max(0.2);
        // Braking covers half of the distance that the full rate would cover in the same time.
        let brake_s = comfortable_s.min(length / rate);
        let brake_from_s = length / rate - 0.5 * brake_s;
        Self::Stop { rate, brake_from_s, brake_s, end: length }
    }

    /// The curve's parameter at `t_s` seconds, and its first and second derivative by time.
    pub fn at(&self, t_s: f64) -> [f64; 3] {
        match *self {
            Self::Steady { rate } => [rate * t_s, rate, 0.0],
            Self::Stop { rate, brake_from_s, brake_s, end } => {
                if t_s <= brake_from_s {
                    return [rate * t_s, rate, 0.0];
                }
                let b = (t_s - brake_from_s) / brake_s;
                if b >= 1.0 {
                    return [end, 0.0, 0.0];
                }
                let [lost, fallen, slope] = smooth_step(b);
                [
                    rate * (brake_from_s + brake_s * (b - lost)),
                    rate * (1.0 - fallen),
                    -rate * slope / brake_s,
                ]
            }
        }
    }

    /// Time at which the robot comes to rest, seconds; `None` if it never does.
    pub fn ends_at_s(&self) -> Option<f64> {
        match *self {
            Self::Steady { .. } => None,
            Self::Stop { brake_from_s, brake_s, .. } => Some(brake_from_s + brake_s),
        }
    }
}

/// A start from rest. The motion has a time of its own, which stands still at first and then accelerates to the rate of
/// the clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Start {
    /// Duration at rest, seconds.
    pub still_s: f64,
    /// Duration of the acceleration to the full rate, seconds.
    pub ramp_s: f64,
}

impl Start {
    /// The motion's own time, seconds, with its first and second derivative, at `t_s` seconds of the clock.
    pub fn at(&self, t_s: f64) -> [f64; 3] {
        let since_s = t_s - self.still_s;
        if since_s <= 0.0 {
            return [0.0; 3];
        }
        if since_s >= self.ramp_s {
            return [since_s - 0.5 * self.ramp_s, 1.0, 0.0];
        }
        let [passed, pace, slope] = smooth_step(since_s / self.ramp_s);
        [self.ramp_s * passed, pace, slope / self.ramp_s]
    }

    /// Final delay of the motion behind the clock, seconds.
    pub fn delay_s(&self) -> f64 {
        self.still_s + 0.5 * self.ramp_s
    }
}

/// Integral, value and slope of the smooth step 6 b^5 - 15 b^4 + 10 b^3 at `b`.
fn smooth_step(b: f64) -> [f64; 3] {
    [
        b * b * b * b * (b * (b - 3.0) + 2.5),
        b * b * b * (b * (6.0 * b - 15.0) + 10.0),
        30.0 * b * b * (1.0 - b) * (1.0 - b),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_ends_where_it_should_and_brakes_gently() {
        let progress = Progress::stopping(4.0, 100.0, 4.0);
        let end_s = progress.ends_at_s().unwrap();
        assert_eq!(progress.at(end_s + 1.0), [100.0, 0.0, 0.0]);
        assert!((progress.at(end_s - 1e-6)[0] - 100.0).abs() < 1e-9);
        let peak = (0..10_000).map(|i| -progress.at(f64::from(i) * end_s / 1e4)[2]);
        let peak = peak.fold(0.0, f64::max);
        assert!((peak - BRAKING_M_S2).abs() < 1e-3, "{peak}");
    }

    #[test]
    fn a_start_is_smooth_and_ends_at_the_clocks_pace() {
        let start = Start { still_s: 1.0, ramp_s: 2.0 };
        assert_eq!(start.at(1.0), [0.0; 3]);
        assert_eq!(start.at(4.0), [2.0, 1.0, 0.0]);
        assert_eq!(start.at(10.0)[0], 10.0 - start.delay_s());
        let h = 1e-5;
        for i in 0..350 {
            let t = f64::from(i) * 0.01;
            let [_, pace, slope] = start.at(t);
            let (before, after) = (start.at(t - h), start.at(t + h));
            assert!(((after[0] - before[0]) / (2.0 * h) - pace).abs() < 1e-6, "{t}");
            assert!(((after[1] - before[1]) / (2.0 * h) - slope).abs() < 1e-3, "{t}");
        }
    }

    #[test]
    fn derivatives_agree_with_differences() {
        let progress = Progress::stopping(2.0, 3.0, 2.0);
        let h = 1e-5;
        for i in 0..300 {
            let t = 0.01 + f64::from(i) * 0.01;
            let [_, rate, second] = progress.at(t);
            let (before, after) = (progress.at(t - h), progress.at(t + h));
            assert!(((after[0] - before[0]) / (2.0 * h) - rate).abs() < 1e-6);
            assert!(((after[1] - before[1]) / (2.0 * h) - second).abs() < 1e-3);
        }
    }
}
