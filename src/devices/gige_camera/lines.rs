//! The electrical lines of a unit: `Line1` is an input, `Line2` an output.

use super::GigeCamera;
use super::features::{at, line, source};
use super::profile::Pulses;
use crate::time::SimTime;

impl Pulses {
    /// Whether the line that carries these pulses is high at `at`.
    pub(super) fn is_high(&self, at: SimTime) -> bool {
        at.0 >= self.start_ns && (at.0 - self.start_ns) % self.period_ns < self.high_ns
    }

    /// Time of the first edge of these pulses at or after `from`. `rising` and `falling` select the edges to consider;
    /// `None` if neither is selected.
    pub(super) fn next_edge(&self, from: SimTime, [rising, falling]: [bool; 2]) -> Option<SimTime> {
        let after = |offset_ns: u64| {
            let first = self.start_ns + offset_ns;
            let passed = from.0.saturating_sub(first).div_ceil(self.period_ns);
            SimTime(first + passed * self.period_ns)
        };
        let edges = [(rising, 0), (falling, self.high_ns)].into_iter();
        edges.filter(|(is_wanted, _)| *is_wanted).map(|(_, offset)| after(offset)).min()
    }
}

impl GigeCamera {
    /// Whether frames are triggered by edges on `Line1`.
    pub(super) fn is_triggered_by_line(&self) -> bool {
        self.values.get(at::TRIGGER_MODE) != 0.0
            && self.values.whole(at::TRIGGER_SOURCE) == source::LINE
    }

    /// Edges of the signal on the cable at `Line1` that trigger frames: `[rising, falling]`. The line inverter lies
    /// between the cable and the trigger.
    pub(super) fn wanted_edges(&self) -> [bool; 2] {
        let [rising, falling] = match self.values.whole(at::TRIGGER_ACTIVATION) {
            0 => [true, false],
            1 => [false, true],
            _ => [true, true],
        };
        let is_inverted = self.values.of_index(at::LINE_INVERTER, line::INPUT) != 0.0;
        if is_inverted { [falling, rising] } else { [rising, falling] }
    }

    /// Processes the level of the cable at `Line1`: triggers a frame if the level has changed and the edge is one of
    /// [`Self::wanted_edges`].
    pub(super) fn take_edge(&mut self, now: SimTime, is_high: bool) {
        let has_changed = self.line_is_high != is_high;
        self.line_is_high = is_high;
        if has_changed && self.is_triggered_by_line() && self.wanted_edges()[usize::from(!is_high)]
        {
            self.trigger(now);
        }
    }

    /// Level of a line as `LineStatus` reports it, after the inverter: true for high.
    pub(super) fn line_status(&self, number: u32) -> bool {
        let is_inverted = self.values.of_index(at::LINE_INVERTER, number) != 0.0;
        let is_high = match (number, &self.settings.line1) {
            (line::INPUT, Some(pulses)) => pulses.is_high(self.now),
            (line::INPUT, None) => self.line_is_high,
            _ => self.values.of_index(at::LINE_SOURCE, line::OUTPUT) != 0.0 && self.is_exposing(),
        };
        is_high != is_inverted
    }
}
