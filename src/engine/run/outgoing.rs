//! Applies link faults to the output of devices and adds the output to the send queue.

use std::net::Ipv4Addr;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::RealTimeRun;
use super::answers::Carried;
use super::delayed::DelayedQueue;
use super::send_queue::SendQueueWriter;
use super::tap::Tap;
use crate::config::rig::DeviceId;
use crate::config::rig::faults::FaultConfig;
use crate::config::rig::schedule::Schedule;
use crate::devices::{Output, Transmit};
use crate::engine::faults::log::FaultLog;
use crate::engine::faults::{Effect, Row, WireFaults};
use crate::engine::host_events::{HostInput, HostTarget, Payload};
use crate::engine::log_failures::LogFailures;
use crate::engine::packet::{FirstShown, Packet};
use crate::engine::render::Rendered;
use crate::engine::stats::MissCause;
use crate::engine::truth::{PacketEvent, TruthEvent, TruthSender};
use crate::time::SimTime;

/// Applies the rig's faults to the output of devices and adds the packets to the send queue.
pub(super) struct Outgoing<'a> {
    run: &'a RealTimeRun<'a>,
    packets: DelayedQueue,
    faults: WireFaults,
    /// Device of each fault.
    owners: Vec<DeviceId>,
    log: Option<FaultLog>,
    truth: Option<&'a TruthSender>,
    /// For each device, the serial number of the latest pose in its packets.
    latest_poses: Vec<u64>,
    carried: Carried,
}

impl<'a> Outgoing<'a> {
    pub(super) fn new(
        run: &'a RealTimeRun<'a>,
        packets: SendQueueWriter,
        truth: Option<&'a TruthSender>,
    ) -> Self {
        let ahead = Duration::from_nanos(run.rig.engine.render_ahead_ns);
        Self {
            run,
            packets: DelayedQueue::new(packets, ahead),
            faults: WireFaults::new(run.rig),
            owners: run.rig.faults.iter().map(|fault| DeviceId(fault.device)).collect(),
            log: run.fault_log.lock().expect("no holder panics").take(),
            truth,
            latest_poses: vec![0; run.connections.len()],
            carried: Carried::new(run.rig),
        }
    }

    /// Adds packets that are due soon after `now` to the send queue. Call this before packets are taken, and at least
    /// every few milliseconds.
    pub(super) fn release(&mut self, now: SimTime) {
        self.packets.release(now);
    }

    pub(super) fn take(&mut self, rendered: Rendered) {
        let stats = &self.run.stats;
        match rendered {
            Rendered::Packet { packet, .. } => self.send(packet),
            Rendered::Measured(device, measurement) => {
                if let Some(truth) = self.truth {
                    truth.tell(TruthEvent::Measured(device, measurement));
                }
            }
            Rendered::Clock(device, account) => {
                let error_ns = account.error_ns(self.run.epoch.unix_ns(account.at));
                stats[device.0].note_clock(&account, error_ns);
                if let Some(truth) = self.truth {
                    truth.tell(TruthEvent::Clock(device, account));
                }
            }
            Rendered::Frame(device, frame) => {
                if let Some(truth) = self.truth {
                    truth.tell(TruthEvent::Frame(device, frame));
                }
            }
            Rendered::Ptp(device, send) => self.run.send_ptp(device, &send),
            Rendered::PtpTransport(device, transport) => self.run.carry_ptp(device, transport),
            Rendered::Thinned(device) => stats[device.0].count_thinned(),
            Rendered::GivenUp(device) => {
                stats[device.0].count_dropped();
                stats[device.0].count_cause(MissCause::NotReady);
                self.faults.skip(device);
            }
        }
    }

    fn send(&mut self, Packet { device, transmit, mut first_shown }: Packet) {
        let run = self.run;
        let latest = &mut self.latest_poses[device.0];
        first_shown.pose = first_shown.pose.filter(|pose| pose.serial > *latest);
        *latest = first_shown.pose.map_or(*latest, |pose| pose.serial);
        first_shown.stimuli = self.carried.by_objects(first_shown.seen);
        let mut batch = Vec::new();
        self.faults.apply(device, transmit, &mut |transmit| batch.push(transmit));
        let mut last = None;
        for row in self.faults.rows() {
            let stimuli = self.carried.by_fault(row.fault, row.window);
            match row.effect {
                Effect::Lost => run.answers.tell_all(stimuli, row.at),
                _ => first_shown.stimuli |= stimuli,
            }
            let is_own = self.owners[row.fault] == device;
            if is_own && row.packet.is_some() && last != row.packet {
                run.stats[device.0].count_faulted();
                last = row.packet;
            }
            if let Some(truth) = self.truth {
                truth.tell(TruthEvent::Fault(row));
            }
            note(&mut self.log, row, &run.log_failures);
        }
        for transmit in batch {
            self.queue(device, transmit, std::mem::take(&mut first_shown));
        }
    }

    /// Adds a fault that is started while the rig runs; `keys` are its keys as JSON.
    pub(super) fn add_fault(&mut self, fault: &FaultConfig, keys: String) {
        let rig = self.run.rig;
        self.faults.add(rig, self.owners.len(), fault);
        self.owners.push(DeviceId(fault.device));
        if let Some(truth) = self.truth {
            truth.tell(TruthEvent::FaultAdded(Box::new(fault.clone())));
        }
        if let Some(log) = &mut self.log {
            log.add(rig, fault, keys);
        }
    }

    /// Changes the schedule of fault number `index`; past windows stay the same.
    pub(super) fn reschedule_fault(&mut self, index: usize, schedule: Schedule) {
        if let Some(truth) = self.truth {
            truth.tell(TruthEvent::Rescheduled(index, schedule));
        }
        if let Some(log) = &mut self.log {
            log.reschedule(index, schedule);
        }
        let mut held = Vec::new();
        self.faults.close(index, schedule, &mut |device, transmit| held.push((device, transmit)));
        self.queue_held(held);
    }

    /// Queues packets that a fault has held back until now, and logs the effects.
    fn queue_held(&mut self, held: Vec<(DeviceId, Transmit)>) {
        for row in self.faults.rows() {
            self.run.stats[self.owners[row.fault].0].count_faulted();
            if let Some(truth) = self.truth {
                truth.tell(TruthEvent::Fault(row));
            }
            note(&mut self.log, row, &self.run.log_failures);
        }
        for (device, transmit) in held {
            self.queue(device, transmit, FirstShown::default());
        }
    }

    fn queue(&mut self, device: DeviceId, mut transmit: Transmit, first_shown: FirstShown) {
        if let Output::Address(ip) = transmit.output
            && !self.open_at(device, ip)
        {
            return;
        }
        // If live observers are connected, the packet must keep its ground truth for them.
        let is_watched = self.run.tap().is_some_and(Tap::is_watched);
        let shown = match is_watched {
            true => transmit.truth.clone(),
            false => std::mem::take(&mut transmit.truth),
        };
        if let Some(truth) = self.truth
            && let Some(event) = PacketEvent::of(device, transmit.due, &transmit.output, shown)
        {
            truth.tell(TruthEvent::Packet(event));
        }
        self.packets.send(Packet { device, transmit, first_shown });
    }

    /// Opens a device's sockets at `ip`, because the sender has no time for this. Returns whether they are open. If
    /// not, the device is notified that it keeps its address.
    fn open_at(&self, device: DeviceId, ip: Ipv4Addr) -> bool {
        let connections = &self.run.connections[device.0];
        let Err(error) = connections.open_at(ip) else { return true };
        // Hosts can repeat such requests without end, so only the first failure is a warning.
        if connections.has_stayed.swap(true, Ordering::Relaxed) {
            tracing::debug!("{}: keeps its address: {error}", connections.device);
        } else {
            tracing::warn!("{}: keeps its address: {error}", connections.device);
        }
        let payload = Payload::Address { ip, moves: false };
        let input = HostInput { at: self.run.clock.now(), to: HostTarget::Device(device), payload };
        // The calling thread itself empties this queue, so it must not wait here. A device without an answer gives up
        // by itself.
        let _ = self.run.host_events.0.try_send(input.into());
        false
    }

    /// Queues all packets that still wait or that faults hold back, and completes the fault log of a run that ended at
    /// `end`.
    pub(super) fn finish(mut self, end: SimTime) {
        let mut held = Vec::new();
        self.faults.finish(&mut |device, transmit| held.push((device, transmit)));
        self.queue_held(held);
        if let Some(log) = self.log
            && let Err(error) = log.finish(end)
        {
            self.run.log_failures.note("fault log", &error);
        }
        self.packets.finish();
    }
}

/// Writes a row to the fault log, if there is one; closes the log after the first error.
fn note(log: &mut Option<FaultLog>, row: Row, failures: &LogFailures) {
    if let Some(Err(error)) = log.as_mut().map(|log| log.note(row)) {
        failures.note("fault log", &error);
        *log = None;
    }
}
