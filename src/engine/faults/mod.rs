//! Faults on the wire: what lies between a device and its link, in a run and in a recording alike.
//!
//! [`WireFaults`] takes what devices give out, in their order, and hands on what becomes of it,
//! perhaps with other due times; whoever sends or records puts it in the order of due times again.
//! It also notes what faults within a device did to it before.
//! What a fault does to a packet depends on the fault's seed and name and on the packet's number
//! alone, so a recording and a run of the same seed have the same faults.

mod apply;
pub mod log;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use crate::config::profile::Interface;
use crate::config::profile::network::{DatagramPort, PortIndex};
use crate::config::rig::faults::{FaultConfig, FaultKind, WireFault};
use crate::config::rig::schedule::Schedule;
use crate::config::rig::{DeviceId, Rig};
use crate::devices::{Output, Transmit};
use crate::sensors::fault::{EffectKind, FaultEffect};
use crate::sensors::noise::NoiseSource;
use crate::time::SimTime;

/// Effect of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// The fault started.
    Begins,
    /// The fault ended.
    Ends,
    /// The packet, or the edge of a time pulse, never arrived.
    Lost,
    /// A copy followed.
    Copied {
        /// Added delay.
        after_ns: u64,
    },
    /// Others went before it.
    HeldBack {
        /// Number of packets.
        packets: u64,
    },
    /// The packet left later.
    Delayed {
        /// Size of the shift.
        by_ns: u64,
    },
    /// Its end was cut off.
    Cut {
        /// Bytes that were left.
        to_bytes: u64,
    },
    /// Bits were flipped.
    Flipped {
        /// Number of bits.
        bits: u64,
    },
    /// Bytes within it were lost.
    Dropped {
        /// Number of bytes.
        bytes: u64,
    },
    /// The line was held low.
    Broken {
        /// Number of copies.
        times: u64,
    },
    /// The packet was made under a fault within the device.
    Within(EffectKind),
}

impl Effect {
    /// The word for it in the log, and how much.
    fn words(self) -> (&'static str, Option<u64>) {
        match self {
            Self::Begins => ("begins", None),
            Self::Ends => ("ends", None),
            Self::Lost => ("lost", None),
            Self::Copied { after_ns } => ("copied_after_ns", Some(after_ns)),
            Self::HeldBack { packets } => ("held_back_packets", Some(packets)),
            Self::Delayed { by_ns } => ("delayed_ns", Some(by_ns)),
            Self::Cut { to_bytes } => ("cut_to_bytes", Some(to_bytes)),
            Self::Flipped { bits } => ("flipped_bits", Some(bits)),
            Self::Dropped { bytes } => ("lost_bytes", Some(bytes)),
            Self::Broken { times } => ("breaks", Some(times)),
            Self::Within(kind) => kind.words(),
        }
    }
}

/// The word for [`Stream::Commands`].
const COMMANDS: &str = "commands";

/// Which way a packet goes. Faults draw for each by itself: packets of one port may be measured ahead
/// and those of another not, so which is first may differ between a run and a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stream {
    /// From a port for datagrams. What leaves by a serial line or a server counts as the first one's.
    Port(PortIndex),
    /// Bytes to a host that is connected to a control.
    Commands,
    /// Down a cable to another device.
    Cable,
}

impl Stream {
    /// The word for it in the log; `ports` are those of the device.
    fn word(self, ports: &[DatagramPort]) -> &'static str {
        match self {
            Self::Port(port) => ports.get(port.place()).map_or("data", |port| port.name),
            Self::Commands => COMMANDS,
            Self::Cable => "gps-cable",
        }
    }
}

/// A line of the truth about faults. Ordered by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    /// Time when the packet was due without faults.
    pub at: SimTime,
    /// The fault's place in the rig.
    pub fault: usize,
    /// The packet, counted from zero as the device gave it out to that port.
    pub packet: Option<(Stream, u64)>,
    /// Index of the fault's window.
    pub window: u64,
    /// Effect of the fault.
    pub effect: Effect,
}

/// The faults of a rig's links.
pub struct WireFaults {
    devices: Vec<Lanes>,
    cables: Vec<CableDown>,
    rows: Vec<Row>,
}

/// A cable that will be down, from this device. What that keeps from the other end is not told here but
/// in [`super::cables`]; here it is noted.
struct CableDown {
    source: DeviceId,
    fault: usize,
    schedule: Schedule,
}

/// A device's way to its link: a lane for each port, one for a device without.
struct Lanes {
    /// Lanes by port.
    ports: Vec<Lane>,
    /// Whether it sends datagrams, so that what goes to one host goes by a control.
    sends_datagrams: bool,
    /// Answers to hosts that are connected to a control: they can be held up, nothing else.
    commands: Lane,
}

/// Packets to one port.
#[derive(Default)]
struct Lane {
    /// Counts what the device gave out.
    packet: u64,
    faults: Vec<Active>,
}

/// A fault and what it remembers.
struct Active {
    index: usize,
    kind: WireFault,
    schedule: Schedule,
    interface: Interface,
    draws: NoiseSource,
    /// Held back, the oldest first, each with how many are still to go before it.
    held: VecDeque<(u32, Transmit)>,
    /// Latest due time: packets that were delayed without jitter keep their order.
    latest_due: SimTime,
    /// Whether it began while the rig ran: its end may not be known yet.
    is_live: bool,
    /// What a connection carries when its link is up again, which is not known yet.
    waiting: Vec<Waiting>,
}

/// A telegram that waits for its link.
struct Waiting {
    at: SimTime,
    stream: Stream,
    number: u64,
    packet: Option<(Stream, u64)>,
    transmit: Transmit,
}

/// Most telegrams that wait for a link whose return is not known; more are lost.
const MOST_WAITING: usize = 4096;

impl Lane {
    /// As [`WireFaults::close`].
    fn close(
        &mut self,
        index: usize,
        schedule: Schedule,
        rows: &mut Vec<Row>,
        out: &mut dyn FnMut(Transmit),
    ) {
        let Some(place) = self.faults.iter().position(|fault| fault.index == index) else { return };
        let (fault, later) = match self.faults[place..].split_first_mut() {
            Some((fault, later)) => (fault, later),
            None => return,
        };
        fault.schedule = schedule;
        for Waiting { at, stream, number, mut transmit, packet } in fault.waiting.drain(..) {
            let up_again = schedule.window(0).1.unwrap_or(at);
            let by_ns = up_again.0.saturating_sub(transmit.due.0);
            transmit.due = transmit.due.max(up_again);
            let effect = Effect::Delayed { by_ns };
            rows.push(Row { at, fault: index, packet, window: 0, effect });
            let mut passage = Passage { stream, packet: number, at, rows: &mut *rows };
            let mut batch = vec![transmit];
            for fault in later.iter_mut() {
                batch = fault.apply_to_all(batch, &mut passage);
            }
            batch.into_iter().for_each(&mut *out);
        }
    }
}

/// A packet on its way through the faults of its device.
struct Passage<'a> {
    stream: Stream,
    packet: u64,
    at: SimTime,
    rows: &'a mut Vec<Row>,
}

impl WireFaults {
    /// The faults of `rig`.
    pub fn new(rig: &Rig) -> Self {
        let ports: Vec<_> = rig.devices.iter().map(|device| device.profile.ports()).collect();
        let lanes = |ports: &&[DatagramPort]| {
            let (count, sends_datagrams) = (ports.len().max(1), !ports.is_empty());
            let ports = std::iter::repeat_with(Lane::default).take(count).collect();
            Lanes { ports, sends_datagrams, commands: Lane::default() }
        };
        let devices = ports.iter().map(lanes).collect();
        let mut faults = Self { devices, cables: Vec::new(), rows: Vec::new() };
        for (index, fault) in rig.faults.iter().enumerate() {
            faults.add(rig, index, fault);
        }
        faults
    }

    /// Adds the `index`th fault, of a device of `rig`, if it is one of links or cables. Nothing that was
    /// taken before falls into it.
    pub fn add(&mut self, rig: &Rig, index: usize, fault: &FaultConfig) {
        let FaultKind::Wire(kind) = &fault.kind else { return };
        let device = &rig.devices[fault.device];
        if *kind == WireFault::GpsCableDown {
            let schedule = fault.schedule;
            let down = |source| CableDown { source, fault: index, schedule };
            return self.cables.extend(device.cable_from.map(down));
        }
        let interface = device.profile.product.interface;
        let lanes = &mut self.devices[fault.device];
        let is_live = index >= rig.faults.len();
        if interface == Interface::Datagrams && *kind == WireFault::LinkDown {
            // What goes through a connection waits until the link is up again.
            let name = format!("{}/{COMMANDS}", fault.name);
            let held_up = Active::new(index, fault, kind, Interface::Server, &name);
            lanes.commands.faults.push(Active { is_live, ..held_up });
        }
        for (place, lane) in lanes.ports.iter_mut().enumerate() {
            if fault.stream.is_some_and(|only| only != place) {
                continue;
            }
            // The first port's draws have the fault's own name.
            let name = match place {
                0 => fault.name.clone(),
                _ => format!("{}/{}", fault.name, device.profile.ports()[place].name),
            };
            let fault = Active::new(index, fault, kind, interface, &name);
            lane.faults.push(Active { is_live, ..fault });
        }
    }

    /// The `index`th fault, which had no end so far, has this schedule. What waited for its end is
    /// handed on to `out`.
    pub fn close(
        &mut self,
        index: usize,
        schedule: Schedule,
        out: &mut dyn FnMut(DeviceId, Transmit),
    ) {
        for cable in self.cables.iter_mut().filter(|cable| cable.fault == index) {
            cable.schedule = schedule;
        }
        for (device, lanes) in self.devices.iter_mut().enumerate() {
            for lane in lanes.ports.iter_mut().chain([&mut lanes.commands]) {
                lane.close(index, schedule, &mut self.rows, &mut |transmit| {
                    out(DeviceId(device), transmit);
                });
            }
        }
    }

    /// Takes the next of what a device gives out, and hands on to `out` what leaves because of it.
    pub fn apply(
        &mut self,
        device: DeviceId,
        mut transmit: Transmit,
        out: &mut dyn FnMut(Transmit),
    ) {
        let Lanes { ports, commands, sends_datagrams } = &mut self.devices[device.0];
        let (stream, lane) = match &transmit.output {
            Output::BytesTo(..) if *sends_datagrams => (Stream::Commands, commands),
            output => {
                let port = output.port().unwrap_or(PortIndex::DATA);
                (Stream::Port(port), &mut ports[port.place()])
            }
        };
        let (packet, at) = (lane.packet, transmit.due);
        let number = transmit.output.bytes().map(|_| packet);
        lane.packet += u64::from(number.is_some());
        transmit.truth.number = packet;
        for FaultEffect { fault, window, kind } in std::mem::take(&mut transmit.fault_effects) {
            let packet = number.map(|number| (stream, number));
            self.rows.push(Row { at, fault, packet, window, effect: Effect::Within(kind) });
        }
        if goes_down_cables(&transmit.output) {
            for cable in self.cables.iter().filter(|cable| cable.source == device) {
                let Some(window) = cable.schedule.window_at(at) else { continue };
                let packet = number.map(|number| (Stream::Cable, number));
                let fault = cable.fault;
                self.rows.push(Row { at, fault, packet, window, effect: Effect::Lost });
            }
        }
        if lane.faults.is_empty() {
            return out(transmit);
        }
        let mut passage = Passage { stream, packet, at, rows: &mut self.rows };
        let mut batch = vec![transmit];
        for fault in &mut lane.faults {
            batch = fault.apply_to_all(batch, &mut passage);
        }
        batch.into_iter().for_each(out);
    }

    /// Counts a measured packet of a device that was given up before it was made.
    pub fn skip(&mut self, device: DeviceId) {
        self.devices[device.0].ports[PortIndex::DATA.place()].packet += 1;
    }

    /// Hands on what is still held back when nothing more comes.
    pub fn finish(&mut self, out: &mut dyn FnMut(DeviceId, Transmit)) {
        for (index, lanes) in self.devices.iter_mut().enumerate() {
            let every = lanes.ports.iter_mut().chain([&mut lanes.commands]);
            for fault in every.flat_map(|lane| &mut lane.faults) {
                fault.held.drain(..).for_each(|(_, transmit)| out(DeviceId(index), transmit));
                // The link was not up again.
                for Waiting { at, packet, .. } in fault.waiting.drain(..) {
                    let (fault, effect) = (fault.index, Effect::Lost);
                    self.rows.push(Row { at, fault, packet, window: 0, effect });
                }
            }
        }
    }

    /// Effects of faults since the last call, for the log.
    pub fn rows(&mut self) -> std::vec::Drain<'_, Row> {
        self.rows.drain(..)
    }
}

/// Whether a receiver's output is heard at the other end of a cable.
fn goes_down_cables(output: &Output) -> bool {
    matches!(output, Output::Bytes(_) | Output::PulsePerSecond(true))
}

impl Active {
    fn new(
        index: usize,
        fault: &FaultConfig,
        kind: &WireFault,
        interface: Interface,
        name: &str,
    ) -> Self {
        Self {
            index,
            kind: kind.clone(),
            schedule: fault.schedule,
            interface,
            draws: NoiseSource::new(fault.seed, name),
            held: VecDeque::new(),
            is_live: false,
            waiting: Vec::new(),
            latest_due: SimTime::ZERO,
        }
    }

    fn apply_to_all(&mut self, batch: Vec<Transmit>, passage: &mut Passage<'_>) -> Vec<Transmit> {
        let mut after = Vec::with_capacity(batch.len());
        let window = self.schedule.window_at(passage.at);
        let mut draws = self.draws.request(passage.packet).generator();
        for transmit in batch {
            let has_bytes = transmit.output.bytes().is_some();
            let overtaken = if has_bytes { self.overtaken_by(transmit.due) } else { Vec::new() };
            match window {
                Some(window) => {
                    let (at, fault) = (passage.at, self.index);
                    let packet = has_bytes.then_some((passage.stream, passage.packet));
                    if has_bytes && self.waits_for_end() {
                        let (stream, number) = (passage.stream, passage.packet);
                        self.waiting.push(Waiting { at, stream, number, packet, transmit });
                        continue;
                    }
                    let mut tell = |effect| {
                        passage.rows.push(Row { at, fault, packet, window, effect });
                    };
                    self.apply(transmit, window, &mut draws, &mut tell, &mut after);
                }
                None => after.push(self.in_order(transmit)),
            }
            after.extend(overtaken);
        }
        after
    }

    /// Whether telegrams wait until somebody says that the link is up again.
    fn waits_for_end(&self) -> bool {
        self.is_live
            && self.kind == WireFault::LinkDown
            && self.interface == Interface::Server
            && self.schedule.duration_ns.is_none()
            && self.waiting.len() < MOST_WAITING
    }

    /// What was held back long enough once another packet, due at `due`, has gone before it.
    fn overtaken_by(&mut self, due: SimTime) -> Vec<Transmit> {
        for (left, _) in &mut self.held {
            *left -= 1;
        }
        let released = self.held.iter().take_while(|(left, _)| *left == 0).count();
        let late =
            |(_, transmit): (u32, Transmit)| Transmit { due: transmit.due.max(due), ..transmit };
        self.held.drain(..released).map(late).collect()
    }
}
