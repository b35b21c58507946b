//! Faults that are started and ended while the rig runs: chooses the time of effect and notifies devices.

use crossbeam_channel::Sender;

use super::RealTimeRun;
use super::outgoing::Outgoing;
use crate::config::rig::DeviceId;
use crate::config::rig::faults::{DeviceFaults, FaultConfig, FaultKind};
use crate::devices;
use crate::engine::live_faults::{FaultOrder, LiveFault, MOST_FAULTS};
use crate::engine::render::Renderer;
use crate::engine::workers::Casters;
use crate::time::SimTime;

/// Faults that are started while the rig runs start at whole multiples of this interval, nanoseconds, so that their
/// times are easy to read. They also end at whole multiples, unless a duration sets their end.
const GRID_NS: u64 = 1_000_000;
/// The end of a fault with a duration is fixed this long before it is due, nanoseconds.
const END_MARGIN_NS: u64 = 50_000_000;

/// All faults of a run, and the requested ends.
pub(super) struct FaultOrders<'a> {
    run: &'a RealTimeRun<'a>,
    /// All faults, first those of the rig.
    faults: Vec<FaultConfig>,
    /// Keys, in TOML, of the faults that were started while the rig ran.
    texts: Vec<String>,
    /// Ends that are not fixed yet, each with the index of its fault.
    ends: Vec<(usize, SimTime)>,
}

impl<'a> FaultOrders<'a> {
    pub(super) fn new(run: &'a RealTimeRun<'a>) -> Self {
        Self { run, faults: run.rig.faults.clone(), texts: Vec::new(), ends: Vec::new() }
    }

    /// Executes the request `order` to start or end a fault, and answers it.
    pub(super) fn follow(
        &mut self,
        order: FaultOrder,
        renderer: &mut Renderer<'_>,
        outgoing: &mut Outgoing<'_>,
    ) {
        let answer = |reply: Sender<Result<LiveFault, String>>, result| {
            // The client may have stopped waiting.
            let _ = reply.try_send(result);
        };
        match order {
            FaultOrder::Begin { config, duration_ns, keys, text, reply } => {
                let texts = (keys, text);
                answer(reply, self.begin(*config, duration_ns, texts, renderer, outgoing));
            }
            FaultOrder::End { name, reply } => answer(reply, self.end(&name, renderer, outgoing)),
        }
    }

    fn begin(
        &mut self,
        mut fault: FaultConfig,
        duration_ns: Option<u64>,
        (keys, text): (String, String),
        renderer: &mut Renderer<'_>,
        outgoing: &mut Outgoing<'_>,
    ) -> Result<LiveFault, String> {
        if self.faults.iter().any(|known| known.name == fault.name) {
            let name = &fault.name;
            return Err(format!("this run already has a fault \"{name}\"; allowed: another name"));
        }
        let index = self.faults.len();
        if index - self.run.rig.faults.len() >= MOST_FAULTS {
            return Err(format!("a run accepts at most {MOST_FAULTS} faults"));
        }
        fault.schedule.start = self.soonest(&fault, true, renderer);
        let begins_ns = fault.schedule.start.0;
        let live = LiveFault {
            name: fault.name.clone(),
            device: self.run.rig.devices[fault.device].name.clone(),
            kind: fault.word.to_owned(),
            begins_ns,
            ends_ns: duration_ns.map(|duration_ns| begins_ns.saturating_add(duration_ns)),
        };
        self.ends.extend(live.ends_ns.map(|end| (index, SimTime(end))));
        outgoing.add_fault(&fault, keys);
        self.run.fault_control.note_begin(index, &fault, live.clone());
        self.faults.push(fault);
        self.texts.push(text);
        self.tell_device(index, SimTime(begins_ns), renderer);
        Ok(live)
    }

    fn end(
        &mut self,
        name: &str,
        renderer: &mut Renderer<'_>,
        outgoing: &mut Outgoing<'_>,
    ) -> Result<LiveFault, String> {
        let of_rig = self.run.rig.faults.len();
        let Some(index) = self.faults.iter().position(|fault| fault.name == name) else {
            let open = self.faults[of_rig..].iter().filter(|f| f.schedule.duration_ns.is_none());
            let open: Vec<_> = open.map(|fault| format!("\"{}\"", fault.name)).collect();
            let open =
                if open.is_empty() { "no fault is active".to_owned() } else { open.join(", ") };
            return Err(format!("this run has no fault \"{name}\"; allowed: {open}"));
        };
        if index < of_rig {
            return Err(format!("\"{name}\" is a fault of the rig, which sets its end"));
        }
        if self.faults[index].schedule.duration_ns.is_some() {
            return Err(format!("\"{name}\" has ended, or its end is already set"));
        }
        self.ends.retain(|(other, _)| *other != index);
        let at = self.soonest(&self.faults[index], false, renderer);
        self.settle(index, at, renderer, outgoing).ok_or_else(|| format!("no fault \"{name}\""))
    }

    /// Fixes the ends of faults whose duration is nearly over.
    pub(super) fn end_what_is_due(
        &mut self,
        renderer: &mut Renderer<'_>,
        outgoing: &mut Outgoing<'_>,
    ) {
        let mut place = 0;
        while let Some(&(index, wanted)) = self.ends.get(place) {
            let soonest = self.soonest(&self.faults[index], false, renderer);
            if soonest.0.saturating_add(END_MARGIN_NS) < wanted.0 {
                place += 1;
                continue;
            }
            self.ends.swap_remove(place);
            self.settle(index, soonest.max(wanted), renderer, outgoing);
        }
    }

    /// Fixes the end of fault number `index` at `at`; returns the fault.
    fn settle(
        &mut self,
        index: usize,
        at: SimTime,
        renderer: &mut Renderer<'_>,
        outgoing: &mut Outgoing<'_>,
    ) -> Option<LiveFault> {
        let fault = &mut self.faults[index];
        let at = at.max(SimTime(fault.schedule.start.0.saturating_add(GRID_NS)));
        fault.schedule.duration_ns = Some(at.0 - fault.schedule.start.0);
        let (name, schedule) = (fault.name.clone(), fault.schedule);
        outgoing.reschedule_fault(index, schedule);
        self.tell_device(index, at, renderer);
        self.run.fault_control.note_end(index, &name, schedule)
    }

    /// Earliest instant at which a fault can start (`begins`) or end: after all measurements and outputs so far, plus the
    /// notice that the device needs.
    fn soonest(&self, fault: &FaultConfig, begins: bool, renderer: &Renderer<'_>) -> SimTime {
        let notice_ns = match &fault.kind {
            FaultKind::Wire(_) => 0,
            FaultKind::Device(kind) => {
                renderer.fault_notice_ns(DeviceId(fault.device), &**kind, begins)
            }
        };
        let soonest = renderer.untouched_from().0.saturating_add(notice_ns);
        SimTime(soonest.div_ceil(GRID_NS).saturating_mul(GRID_NS))
    }

    /// Notifies the cables, or the device and other ranks, that fault number `index` changes at `at`.
    fn tell_device(&self, index: usize, at: SimTime, renderer: &mut Renderer<'_>) {
        let fault = &self.faults[index];
        if matches!(fault.kind, FaultKind::Wire(_)) {
            return renderer.change_cable_faults(&self.faults);
        }
        let (rig, device) = (self.run.rig, fault.device);
        if let Casters::Elsewhere(remote) = self.run.casters {
            let text = index.checked_sub(rig.faults.len()).and_then(|told| self.texts.get(told));
            remote.change_fault(index, fault, text.map_or("", String::as_str));
        }
        let faults = DeviceFaults::of(&self.faults, device);
        let sensor = devices::build(&rig.devices[device], &faults, rig.seed, self.run.epoch).sensor;
        renderer.change_faults(DeviceId(device), at, &faults, sensor);
    }
}
