//! Finds missing packets from the times between received ones.

/// Number of intervals between packets from which the usual interval is determined.
const SAMPLES: usize = 101;

/// Packets count as missing if the device's times of two successive packets differ by more than this number of usual
/// intervals. The limit is low, because a device's clock does not jitter.
pub const DEVICE_TOLERANCE: f64 = 1.5;

/// Determines the usual time between packets from the first intervals, and then finds longer intervals.
#[derive(Clone, Debug, Default)]
pub struct Gaps {
    samples: Vec<(f64, f64)>,
    found: Found,
}

/// Gaps found so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Found {
    /// The usual time between packets, microseconds; `None` before the second packet.
    pub period_us: Option<f64>,
    /// Number of gaps: times between two packets that exceed the tolerance.
    pub gaps: u64,
    /// Number of packets that are missing in all gaps, if packets are sent at the usual interval.
    pub missing: u64,
    /// Longest time between two successive packets, microseconds.
    pub longest_us: f64,
}

impl Gaps {
    /// Creates the state for packets with a known usual interval: `period_us`, microseconds.
    pub fn of_period(period_us: f64) -> Self {
        let found = Found { period_us: Some(period_us), ..Found::default() };
        Self { samples: Vec::new(), found }
    }

    /// Adds a time between two packets, microseconds; a time longer than `tolerance` periods counts as a gap.
    pub fn see(&mut self, delta_us: f64, tolerance: f64) {
        if self.found.period_us.is_some() {
            self.found.judge(delta_us, tolerance);
            return;
        }
        self.samples.push((delta_us, tolerance));
        if self.samples.len() == SAMPLES {
            self.found = self.found();
            self.samples = Vec::new();
        }
    }

    /// Gaps that have been found so far.
    pub fn found(&self) -> Found {
        let mut found = self.found;
        let mut deltas: Vec<f64> = self.samples.iter().map(|(delta, _)| *delta).collect();
        deltas.sort_by(f64::total_cmp);
        if let Some(median) = deltas.get(deltas.len() / 2) {
            found.period_us = Some(*median);
            for (delta, tolerance) in &self.samples {
                found.judge(*delta, *tolerance);
            }
        }
        found
    }
}

impl Found {
    fn judge(&mut self, delta_us: f64, tolerance: f64) {
        self.longest_us = self.longest_us.max(delta_us);
        let Some(period_us) = self.period_us.filter(|period| *period > 0.0) else { return };
        if delta_us > tolerance * period_us {
            self.gaps += 1;
            self.missing += ((delta_us / period_us).round() as u64).saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_packets_are_counted_early_and_late() {
        for count in [20, 1000] {
            let mut gaps = Gaps::default();
            for index in 0..count {
                let missing = if index == 10 || index == count - 1 { 2.0 } else { 0.0 };
                gaps.see(288.0 * (1.0 + missing), 1.5);
            }
            let expected = Found { period_us: Some(288.0), gaps: 2, missing: 4, longest_us: 864.0 };
            assert_eq!(gaps.found(), expected);
        }
        assert_eq!(Gaps::default().found(), Found::default());
    }
}
