//! Cables between devices of a rig: what one sends on its serial line and its pulse line reaches
//! another at the instant it would be there.
//!
//! Every signal between two devices passes [`Cables::carry`]; faults of cables act there.

use std::collections::BTreeMap;

use crate::config::rig::Rig;
use crate::config::rig::faults::{FaultKind, WireFault};
use crate::config::rig::schedule::Schedule;
use crate::devices::{CableSignal, Output, Transmit};
use crate::links::line::LineSettings;
use crate::time::SimTime;

/// The cables of a rig.
#[derive(Debug, Default)]
pub struct Cables {
    /// By device: what it is wired to.
    ends: Vec<End>,
    order: Vec<usize>,
    losses: Vec<Loss>,
}

/// What a fault keeps from arriving.
#[derive(Clone, Copy, Debug)]
struct Loss {
    what: Lost,
    schedule: Schedule,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lost {
    /// All that comes to this device.
    AllTo(usize),
    /// The rising pulses of this device.
    PulsesOf(usize),
}

#[derive(Debug)]
struct End {
    /// The device whose signals it hears.
    source: Option<usize>,
    /// How its own serial port runs.
    line: LineSettings,
    /// What is on its way to it: by arrival, then by departure.
    under_way: BTreeMap<(SimTime, u64), CableSignal>,
    departures: u64,
}

impl Cables {
    /// The cables of `rig`, with their faults; `lines` says how the serial port of each device runs
    /// at power-on.
    pub fn of(rig: &Rig, lines: &[Option<LineSettings>]) -> Self {
        let sources: Vec<_> = rig.devices.iter().map(|config| config.gps_cable).collect();
        let losses = rig.faults.iter().filter_map(|fault| {
            let what = match fault.kind {
                FaultKind::Wire(WireFault::GpsCableDown) => Lost::AllTo(fault.device),
                FaultKind::Wire(WireFault::PpsLoss) => Lost::PulsesOf(fault.device),
                _ => return None,
            };
            Some(Loss { what, schedule: fault.schedule })
        });
        Self { losses: losses.collect(), ..Self::new(&sources, lines) }
    }

    /// `sources` says for each device of the rig which other one it hears; `lines` how the serial
    /// port of each runs at power-on.
    fn new(sources: &[Option<usize>], lines: &[Option<LineSettings>]) -> Self {
        let end = |(source, line): (&Option<usize>, &Option<LineSettings>)| End {
            source: *source,
            line: line.unwrap_or(LineSettings::eight_n_one(9600)),
            under_way: BTreeMap::new(),
            departures: 0,
        };
        let mut order: Vec<_> = (0..sources.len()).collect();
        order.sort_by_key(|device| sources[*device].is_some());
        Self { ends: sources.iter().zip(lines).map(end).collect(), order, losses: Vec::new() }
    }

    /// The devices, those that others hear before those that hear them: by `place`, until `None`.
    pub fn in_order(&self, place: usize) -> Option<usize> {
        self.order.get(place).copied()
    }

    /// The device that `listener` hears.
    pub fn source_of(&self, listener: usize) -> Option<usize> {
        self.ends[listener].source
    }

    /// Takes what `source` sends to whoever is wired to it.
    pub fn carry(&mut self, source: usize, transmit: &Transmit) {
        let line = self.ends[source].line;
        let (at, signal) = match &transmit.output {
            Output::Line(line) => {
                self.ends[source].line = *line;
                return;
            }
            Output::PulsePerSecond(high) => (transmit.due, CableSignal::PulsePerSecond(*high)),
            Output::Bytes(bytes) => (
                SimTime(transmit.due.0 + line.duration_ns(bytes.len())),
                CableSignal::Bytes(bytes.clone(), line),
            ),
            _ => return,
        };
        let rises = signal == CableSignal::PulsePerSecond(true);
        let on = self.losses.iter().filter(|l| l.schedule.window_at(transmit.due).is_some());
        let lost: Vec<_> = on.map(|loss| loss.what).collect();
        if rises && lost.contains(&Lost::PulsesOf(source)) {
            return;
        }
        for (listener, end) in self.ends.iter_mut().enumerate() {
            if end.source != Some(source) || lost.contains(&Lost::AllTo(listener)) {
                continue;
            }
            end.departures += 1;
            end.under_way.insert((at, end.departures), signal.clone());
        }
    }

    /// The next signal that arrives at `listener` until `now`, with its instant.
    pub fn next_arrival(
        &mut self,
        listener: usize,
        now: SimTime,
    ) -> Option<(SimTime, CableSignal)> {
        let entry = self.ends[listener].under_way.first_entry()?;
        let (at, _) = *entry.key();
        (at <= now).then(|| (at, entry.remove()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOW: LineSettings = LineSettings::eight_n_one(9600);

    fn pulse(due: u64) -> Transmit {
        Transmit::new(SimTime(due), Output::PulsePerSecond(true))
    }

    #[test]
    fn signals_arrive_in_the_order_in_which_they_are_there() {
        let mut cables = Cables::new(&[None, Some(0), Some(0), None], &[Some(SLOW); 4]);
        // Ten bytes of 9600 baud are there after 10.4 ms, a pulse at once.
        cables.carry(0, &Transmit::bytes(SimTime(0), vec![b'x'; 10]));
        cables.carry(0, &pulse(5_000_000));
        for listener in [1, 2] {
            let first = cables.next_arrival(listener, SimTime(5_000_000)).unwrap();
            assert_eq!(first, (SimTime(5_000_000), CableSignal::PulsePerSecond(true)));
            assert_eq!(cables.next_arrival(listener, SimTime(10_416_666)), None);
            let (at, second) = cables.next_arrival(listener, SimTime(10_416_667)).unwrap();
            assert_eq!(at, SimTime(10_416_667));
            assert_eq!(second, CableSignal::Bytes(vec![b'x'; 10], SLOW));
        }
        assert_eq!(cables.next_arrival(3, SimTime(u64::MAX)), None);
    }

    #[test]
    fn a_changed_rate_goes_with_the_bytes_behind_it() {
        let mut cables = Cables::new(&[None, Some(0)], &[Some(SLOW), None]);
        let fast = LineSettings::eight_n_one(38_400);
        cables.carry(0, &Transmit::new(SimTime(0), Output::Line(fast)));
        cables.carry(0, &Transmit::bytes(SimTime(0), vec![0]));
        let heard = cables.next_arrival(1, SimTime(u64::MAX)).unwrap();
        assert_eq!(heard, (SimTime(260_417), CableSignal::Bytes(vec![0], fast)));
    }
}
