//! Cables between devices of a rig: bytes and pulses of one device reach another at the instant at which the
//! cable delivers them.
//!
//! Every signal between two devices passes [`Cables::carry`]; faults of cables act there.

use super::due_queue::DueQueue;
use crate::config::rig::faults::{FaultConfig, FaultKind, WireFault};
use crate::config::rig::schedule::Schedule;
use crate::config::rig::{CableKind, DeviceConfig, DeviceId, Rig};
use crate::devices::{CableSignal, Output, Transmit};
use crate::time::SimTime;
use crate::wire::line::LineSettings;

/// The cables of a rig.
#[derive(Debug, Default)]
pub struct Cables {
    /// Cable ends by device.
    ends: Vec<End>,
    /// All devices, ordered so that each device comes after the device that sends to it by cable.
    order: Vec<DeviceId>,
    losses: Vec<Loss>,
}

/// Loss of signals by a fault.
#[derive(Clone, Copy, Debug)]
struct Loss {
    what: Lost,
    schedule: Schedule,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lost {
    /// All signals of the cable to this device.
    AllTo(DeviceId),
    /// The rising PPS edges of this device.
    PulsesOf(DeviceId),
}

/// A device's end of its cable, and the settings of the device's own serial port.
#[derive(Debug)]
struct End {
    /// The device at the other end of the cable.
    source: Option<DeviceId>,
    /// Kind of the cable.
    kind: CableKind,
    /// Settings of this device's own serial port.
    line: LineSettings,
    /// Signals on the cable, by time of arrival.
    under_way: DueQueue<CableSignal>,
}

impl Cables {
    /// The cables of `rig`, with their faults. `lines` has the settings of each device's serial port at
    /// power-on.
    pub fn of(rig: &Rig, lines: &[Option<LineSettings>]) -> Self {
        let of = |config: &DeviceConfig| config.cable_from.map(|from| (from, config.cable));
        let sources: Vec<_> = rig.devices.iter().map(of).collect();
        let mut cables = Self::new(&sources, lines);
        cables.set_faults(&rig.faults);
        cables
    }

    /// Replaces the faults of the cables by the cable faults in `faults`.
    pub fn set_faults(&mut self, faults: &[FaultConfig]) {
        let losses = faults.iter().filter_map(|fault| {
            let device = DeviceId(fault.device);
            let what = match fault.kind {
                FaultKind::Wire(WireFault::GpsCableDown) => Lost::AllTo(device),
                FaultKind::Wire(WireFault::PpsLoss) => Lost::PulsesOf(device),
                _ => return None,
            };
            Some(Loss { what, schedule: fault.schedule })
        });
        self.losses = losses.collect();
    }

    /// Creates cables without faults. `sources` has the other end and the kind of each device's cable; the cables must
    /// not form a cycle. `lines` has the settings of each serial port at power-on.
    fn new(sources: &[Option<(DeviceId, CableKind)>], lines: &[Option<LineSettings>]) -> Self {
        let end = |(source, line): (&Option<(DeviceId, CableKind)>, &Option<LineSettings>)| End {
            source: source.map(|(device, _)| device),
            kind: source.map_or(CableKind::Link, |(_, kind)| kind),
            line: line.unwrap_or(LineSettings::eight_n_one(9600)),
            under_way: DueQueue::default(),
        };
        let cables_before = |device: &DeviceId| {
            let before = |device: &DeviceId| sources[device.0].map(|(source, _)| source);
            std::iter::successors(before(device), before).count()
        };
        let mut order: Vec<_> = (0..sources.len()).map(DeviceId).collect();
        order.sort_by_key(cables_before);
        Self { ends: sources.iter().zip(lines).map(end).collect(), order, losses: Vec::new() }
    }

    /// The device with index `place` in an order in which each device comes after the source of its cable; `None`
    /// beyond the last device.
    pub fn in_order(&self, place: usize) -> Option<DeviceId> {
        self.order.get(place).copied()
    }

    /// The device at the other end of `listener`'s cable; `None` without a cable.
    pub fn source_of(&self, listener: DeviceId) -> Option<DeviceId> {
        self.ends[listener.0].source
    }

    /// If `device` is the serial line of another device ([`CableKind::Line`]), returns that other device and its port;
    /// otherwise `None`.
    pub fn line_of(&self, device: DeviceId) -> Option<(DeviceId, u8)> {
        let End { source, kind, .. } = &self.ends[device.0];
        match kind {
            CableKind::Line(port) => source.map(|source| (source, *port)),
            CableKind::Link | CableKind::Port(_) => None,
        }
    }

    /// Puts bytes or a PPS edge that `source` sends on each cable that leads from the sending port, unless a fault
    /// loses the signal.
    pub fn carry(&mut self, source: DeviceId, transmit: &Transmit) {
        let line = self.ends[source.0].line;
        // An input receives bytes after their last bit; a line (`CableKind::Line`) gets them when the first bit is due.
        let heard = |bytes: &[u8], line: LineSettings| {
            SimTime(transmit.due.0 + line.duration_ns(bytes.len()))
        };
        let (port, at, signal) = match &transmit.output {
            Output::Line(line) => {
                self.ends[source.0].line = *line;
                return;
            }
            Output::PulsePerSecond(high) => {
                (None, transmit.due, CableSignal::PulsePerSecond(*high))
            }
            Output::Bytes(bytes) => {
                (None, heard(bytes, line), CableSignal::Bytes(bytes.clone(), line))
            }
            Output::Aside { port, line, bytes } => {
                (Some(*port), heard(bytes, *line), CableSignal::Bytes(bytes.clone(), *line))
            }
            _ => return,
        };
        let rises = signal == CableSignal::PulsePerSecond(true);
        let on = self.losses.iter().filter(|l| l.schedule.window_at(transmit.due).is_some());
        let lost: Vec<_> = on.map(|loss| loss.what).collect();
        if rises && lost.contains(&Lost::PulsesOf(source)) {
            return;
        }
        for (listener, end) in self.ends.iter_mut().enumerate() {
            let at = match (end.kind, port) {
                (CableKind::Link, None) => at,
                (CableKind::Port(wanted), Some(port)) if wanted == port => at,
                (CableKind::Line(wanted), Some(port)) if wanted == port => transmit.due,
                _ => continue,
            };
            if end.source == Some(source) && !lost.contains(&Lost::AllTo(DeviceId(listener))) {
                end.under_way.push(at, signal.clone());
            }
        }
    }

    /// Removes and returns the next signal that arrives at `listener` at or before `now`, with its arrival time.
    pub fn next_arrival(
        &mut self,
        listener: DeviceId,
        now: SimTime,
    ) -> Option<(SimTime, CableSignal)> {
        self.ends[listener.0].under_way.pop_until(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOW: LineSettings = LineSettings::eight_n_one(9600);

    fn sources<const N: usize>(of: [Option<usize>; N]) -> [Option<(DeviceId, CableKind)>; N] {
        of.map(|source| source.map(|source| (DeviceId(source), CableKind::Link)))
    }

    fn pulse(due: u64) -> Transmit {
        Transmit::new(SimTime(due), Output::PulsePerSecond(true))
    }

    #[test]
    fn signals_arrive_in_the_order_in_which_they_are_there() {
        let mut cables = Cables::new(&sources([None, Some(0), Some(0), None]), &[Some(SLOW); 4]);
        // Ten bytes at 9600 baud arrive after 10.4 ms; a pulse arrives at once.
        cables.carry(DeviceId(0), &Transmit::bytes(SimTime(0), vec![b'x'; 10]));
        cables.carry(DeviceId(0), &pulse(5_000_000));
        for listener in [1, 2].map(DeviceId) {
            let first = cables.next_arrival(listener, SimTime(5_000_000)).unwrap();
            assert_eq!(first, (SimTime(5_000_000), CableSignal::PulsePerSecond(true)));
            assert_eq!(cables.next_arrival(listener, SimTime(10_416_666)), None);
            let (at, second) = cables.next_arrival(listener, SimTime(10_416_667)).unwrap();
            assert_eq!(at, SimTime(10_416_667));
            assert_eq!(second, CableSignal::Bytes(vec![b'x'; 10], SLOW));
        }
        assert_eq!(cables.next_arrival(DeviceId(3), SimTime(u64::MAX)), None);
    }

    #[test]
    fn a_port_reaches_its_line_at_the_first_bit_and_an_input_at_the_last() {
        let to = |kind| Some((DeviceId(0), kind));
        let kinds = [CableKind::Link, CableKind::Port(2), CableKind::Line(2), CableKind::Line(3)];
        let sources = [None, to(kinds[0]), to(kinds[1]), to(kinds[2]), to(kinds[3])];
        let mut cables = Cables::new(&sources, &[Some(SLOW); 5]);
        let output = Output::Aside { port: 2, line: SLOW, bytes: vec![7; 10] };
        cables.carry(DeviceId(0), &Transmit::new(SimTime(0), output));
        let mut arrival =
            |device| cables.next_arrival(DeviceId(device), SimTime(u64::MAX)).map(|(at, _)| at.0);
        let found: Vec<_> = (1..5).map(&mut arrival).collect();
        assert_eq!(found, [None, Some(10_416_667), Some(0), None]);
        assert_eq!(cables.line_of(DeviceId(3)), Some((DeviceId(0), 2)));
        assert_eq!(cables.line_of(DeviceId(2)), None);
    }

    #[test]
    fn a_changed_rate_goes_with_the_bytes_behind_it() {
        let mut cables = Cables::new(&sources([None, Some(0)]), &[Some(SLOW), None]);
        let fast = LineSettings::eight_n_one(38_400);
        cables.carry(DeviceId(0), &Transmit::new(SimTime(0), Output::Line(fast)));
        cables.carry(DeviceId(0), &Transmit::bytes(SimTime(0), vec![0]));
        let heard = cables.next_arrival(DeviceId(1), SimTime(u64::MAX)).unwrap();
        assert_eq!(heard, (SimTime(260_417), CableSignal::Bytes(vec![0], fast)));
    }

    #[test]
    fn whoever_is_heard_comes_before_who_hears() {
        let sources = sources([Some(2), None, Some(3), Some(1)]);
        let cables = Cables::new(&sources, &[None; 4]);
        let order: Vec<_> = (0..).map_while(|place| cables.in_order(place)).collect();
        assert_eq!(order, [1, 3, 2, 0].map(DeviceId));
    }
}
