//! Faults on the wire. They act between a device and its link, both in runs and in recordings.
//!
//! [`WireFaults`] takes each device's output in the order of the device and returns the packets that remain, some with
//! other due times; the caller sorts them by due time. It also logs faults within devices. The effect of a fault on a
//! packet depends only on the seed and name of the fault and on the packet's number. So a recording and a run with the
//! same seed have the same faults.

mod apply;
pub mod log;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use crate::config::profile::Interface;
use crate::config::profile::network::{DatagramPort, PortIndex};
use crate::config::rig::faults::{FaultConfig, FaultKind, WireFault};
use crate::config::rig::schedule::Schedule;
use crate::config::rig::{ControlConfig, DeviceId, Rig};
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
    /// The packet, or the edge of a PPS pulse, was lost.
    Lost,
    /// A copy of the packet was sent later.
    Copied {
        /// Time between packet and copy, nanoseconds.
        after_ns: u64,
    },
    /// Later packets overtook the packet.
    HeldBack {
        /// Number of packets that overtook the packet.
        packets: u64,
    },
    /// The packet was sent later.
    Delayed {
        /// Added delay, nanoseconds.
        by_ns: u64,
    },
    /// The end of the packet was cut off.
    Cut {
        /// Number of bytes that remained.
        to_bytes: u64,
    },
    /// Bits were flipped.
    Flipped {
        /// Number of bits.
        bits: u64,
    },
    /// Bytes of the packet were lost.
    Dropped {
        /// Number of bytes.
        bytes: u64,
    },
    /// The serial line was held low for some bits: UART breaks.
    Broken {
        /// Number of breaks.
        times: u64,
    },
    /// The packet was created while a fault within the device was active.
    Within(EffectKind),
}

impl Effect {
    /// Name of the effect in the log, and its amount.
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

/// Name of [`Stream::Commands`] in the log.
const COMMANDS: &str = "commands";

/// Stream of a device's packets. Each stream has its own random samples, because a run and a recording may process the
/// packets of different ports in different orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stream {
    /// A datagram port. Output of a serial line or a server belongs to the first port.
    Port(PortIndex),
    /// Answers to hosts that are connected to a control port of a device that sends its data as datagrams.
    Commands,
    /// Bytes through a cable to another device.
    Cable,
}

impl Stream {
    /// Name of the stream in the log; `ports` are the device's ports.
    fn word(self, ports: &[DatagramPort]) -> &'static str {
        match self {
            Self::Port(port) => ports.get(port.place()).map_or("data", |port| port.name),
            Self::Commands => COMMANDS,
            Self::Cable => "gps-cable",
        }
    }
}

/// A row of the fault log. Rows are ordered by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    /// Due time that the packet has without any fault; for [`Effect::Begins`] and [`Effect::Ends`], the time at which
    /// the fault starts or ends.
    pub at: SimTime,
    /// Index of the fault in the run: first the faults of the rig, then those that are started during the run.
    pub fault: usize,
    /// Packet that this row of the log is about: its stream, and its number in the stream, from zero in the order in
    /// which the device produced the packets. `None` if the row is not about a packet, but for example about the start
    /// of a fault.
    pub packet: Option<(Stream, u64)>,
    /// Index of the active period of the fault, from 0. A fault that does not repeat has one such period.
    pub window: u64,
    /// Effect of the fault.
    pub effect: Effect,
}

/// The faults of a rig's links and cables.
pub struct WireFaults {
    devices: Vec<Lanes>,
    cables: Vec<CableDown>,
    rows: Vec<Row>,
}

/// A fault that disconnects a cable from the device `source`. [`super::cables`] removes the signals; this struct only
/// logs their loss.
struct CableDown {
    source: DeviceId,
    fault: usize,
    schedule: Schedule,
}

/// Lanes of a device; each lane is a stream with its own faults. Each port has a lane, and so have the answers to hosts
/// of a control. A device without ports has a single lane for its output.
struct Lanes {
    ports: Vec<Lane>,
    /// Whether the device sends datagrams. If so, bytes to one host are answers of a control, and belong to the lane
    /// `commands`.
    sends_datagrams: bool,
    /// Lane of answers to hosts of a control. Only the fault `link-down` affects them. Answers by TCP are delayed until
    /// the link is up again; if the link stays down, they are lost. Answers by UDP are lost.
    commands: Lane,
    /// Latest due time of a packet that a fault has delayed.
    delayed_until: SimTime,
}

impl Lanes {
    /// Passes on the output that moves a device to another address. Packets that faults delay precede it: on a real
    /// link they have already left, from the old address.
    fn move_on(&mut self, mut transmit: Transmit, out: &mut dyn FnMut(Transmit)) {
        let every = self.ports.iter_mut().chain([&mut self.commands]);
        for fault in every.flat_map(|lane| &mut lane.faults) {
            for (_, held) in fault.held.drain(..) {
                out(Transmit { due: held.due.max(transmit.due), ..held });
            }
        }
        transmit.due = transmit.due.max(self.delayed_until);
        out(transmit);
    }
}

/// Faults and packet count of one stream.
#[derive(Default)]
struct Lane {
    /// Number of packets so far.
    packet: u64,
    faults: Vec<Active>,
}

/// A fault of a link, with its state.
struct Active {
    index: usize,
    kind: WireFault,
    schedule: Schedule,
    interface: Interface,
    draws: NoiseSource,
    /// Packets held back, oldest first, each with the number of packets that must still overtake it.
    held: VecDeque<(u32, Transmit)>,
    /// Latest due time so far. Bytes of a line or connection are never due earlier, so that delayed bytes keep their
    /// order.
    latest_due: SimTime,
    /// Whether the fault was started while the rig ran; its end is then unknown at first.
    is_live: bool,
    /// Telegrams of a connection that wait for the end of a link fault.
    waiting: Vec<Waiting>,
}

/// A telegram that waits for the end of a link fault.
struct Waiting {
    at: SimTime,
    stream: Stream,
    number: u64,
    packet: Option<(Stream, u64)>,
    transmit: Transmit,
}

/// Largest number of telegrams that wait while a link is down and the end of the fault is not known. Further telegrams
/// are lost.
const MOST_WAITING: usize = 4096;

impl Lane {
    /// See [`WireFaults::close`].
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

/// Stream, number and due time of the packet to which faults are being applied, and the fault log to which they add
/// rows.
struct Passage<'a> {
    stream: Stream,
    packet: u64,
    at: SimTime,
    rows: &'a mut Vec<Row>,
}

impl WireFaults {
    /// The faults of the links and cables of `rig`.
    pub fn new(rig: &Rig) -> Self {
        let ports: Vec<_> = rig.devices.iter().map(|device| device.profile.ports()).collect();
        let lanes = |ports: &&[DatagramPort]| {
            let (count, sends_datagrams) = (ports.len().max(1), !ports.is_empty());
            let ports = std::iter::repeat_with(Lane::default).take(count).collect();
            let (commands, delayed_until) = (Lane::default(), SimTime::ZERO);
            Lanes { ports, sends_datagrams, commands, delayed_until }
        };
        let devices = ports.iter().map(lanes).collect();
        let mut faults = Self { devices, cables: Vec::new(), rows: Vec::new() };
        for (index, fault) in rig.faults.iter().enumerate() {
            faults.add(rig, index, fault);
        }
        faults
    }

    /// Adds fault number `index`, a fault of a device of `rig`, if it concerns links or cables. It has no effect on
    /// packets that [`WireFaults::apply`] took before.
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
            // No product has controls of both kinds.
            let mut controls = device.controls.iter();
            let is_udp = controls.any(|one| matches!(one, ControlConfig::Datagrams { .. }));
            let carrier = if is_udp { Interface::Datagrams } else { Interface::Server };
            let name = format!("{}/{COMMANDS}", fault.name);
            let answers = Active::new(index, fault, kind, carrier, &name);
            lanes.commands.faults.push(Active { is_live, ..answers });
        }
        for (place, lane) in lanes.ports.iter_mut().enumerate() {
            if fault.stream.is_some_and(|only| only != place) {
                continue;
            }
            // Random samples of the first port are seeded with the fault's own name.
            let name = match place {
                0 => fault.name.clone(),
                _ => format!("{}/{}", fault.name, device.profile.ports()[place].name),
            };
            let fault = Active::new(index, fault, kind, interface, &name);
            lane.faults.push(Active { is_live, ..fault });
        }
    }

    /// Sets the schedule of fault number `index`, whose end was unknown so far. Packets that waited for the end go to
    /// `out`.
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

    /// Takes the next output of a device; passes the packets that are sent as a result to `out`.
    pub fn apply(
        &mut self,
        device: DeviceId,
        mut transmit: Transmit,
        out: &mut dyn FnMut(Transmit),
    ) {
        let lanes = &mut self.devices[device.0];
        if let Output::Address(_) = transmit.output {
            return lanes.move_on(transmit, out);
        }
        let Lanes { ports, commands, sends_datagrams, delayed_until } = lanes;
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
        for transmit in batch {
            if transmit.due > at {
                *delayed_until = transmit.due.max(*delayed_until);
            }
            out(transmit);
        }
    }

    /// Counts a packet that a device does not send because its measurement was given up.
    pub fn skip(&mut self, device: DeviceId) {
        self.devices[device.0].ports[PortIndex::DATA.place()].packet += 1;
    }

    /// Passes on packets that are still held back, after the last output.
    pub fn finish(&mut self, out: &mut dyn FnMut(DeviceId, Transmit)) {
        for (index, lanes) in self.devices.iter_mut().enumerate() {
            let every = lanes.ports.iter_mut().chain([&mut lanes.commands]);
            for fault in every.flat_map(|lane| &mut lane.faults) {
                fault.held.drain(..).for_each(|(_, transmit)| out(DeviceId(index), transmit));
                // The link has not come up again, so waiting telegrams are lost.
                for Waiting { at, packet, .. } in fault.waiting.drain(..) {
                    let (fault, effect) = (fault.index, Effect::Lost);
                    self.rows.push(Row { at, fault, packet, window: 0, effect });
                }
            }
        }
    }

    /// Removes and returns the effects of faults since the last call, for the log.
    pub fn rows(&mut self) -> std::vec::Drain<'_, Row> {
        self.rows.drain(..)
    }
}

/// Whether an output of a GNSS receiver is also sent through its cables to other devices.
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

    /// Whether the next telegram must wait for the end of this fault. That is so if the fault was started while the rig
    /// runs, it interrupts a connection, its end is not known, and fewer than [`MOST_WAITING`] telegrams wait.
    fn waits_for_end(&self) -> bool {
        self.is_live
            && self.kind == WireFault::LinkDown
            && self.interface == Interface::Server
            && self.schedule.duration_ns.is_none()
            && self.waiting.len() < MOST_WAITING
    }

    /// Returns the held packets that may be sent, because the packet due at `due` was the last to overtake them.
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
