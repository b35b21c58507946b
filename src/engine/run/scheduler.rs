//! The scheduler: tells devices the time and what their hosts do, keeps workers supplied, and puts what
//! devices send into the send queue, with what the rig's faults do to it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossbeam_channel::{Receiver, select};

use super::answers::{Carried, DeviceResponse};
use super::send_queue::SendQueueWriter;
use super::{LONGEST_SLEEP, RealTimeRun};
use crate::config::rig::DeviceId;
use crate::devices::Transmit;
use crate::engine::faults::log::FaultLog;
use crate::engine::faults::{Effect, Row, WireFaults};
use crate::engine::host_events::{HostEvent, HostTarget, Said, Words};
use crate::engine::host_log::HostLog;
use crate::engine::log_failures::LogFailures;
use crate::engine::packet::{Marks, Packet};
use crate::engine::render::{Rendered, Renderer};
use crate::time::SimTime;

/// Devices are this far ahead of the clock, so that what they decide to send is with the sender
/// before it is due. Twice what passes between two looks.
const DEVICES_AHEAD: Duration = Duration::from_millis(2);

impl RealTimeRun<'_> {
    /// Runs the devices until all that is due before `end` is in the send queue, or `stop` is set.
    pub(super) fn schedule(
        &self,
        mut renderer: Renderer<'_>,
        packets: SendQueueWriter,
        events: &Receiver<HostEvent>,
        end: SimTime,
        stop: &AtomicBool,
    ) {
        let ahead = Duration::from_nanos(self.rig.engine.render_ahead_ns);
        let mut outgoing = Outgoing::new(self, packets);
        let mut out = |rendered| outgoing.take(rendered);
        let mut responses = self.answers.of_devices();
        let mut host_log = self.host_log.lock().expect("no holder panics").take();
        while !stop.load(Ordering::Relaxed) {
            let now = self.clock.now();
            let horizon = (now + ahead).min(end);
            renderer.dispatch(horizon);
            renderer.flush_all(&mut out);
            let device_now = (now + DEVICES_AHEAD).min(end);
            renderer.advance(device_now, &mut out);
            if !renderer.is_busy() && device_now == end {
                break;
            }
            select! {
                recv(renderer.answers()) -> answer => {
                    if let Ok(answer) = answer {
                        renderer.collect(answer, &mut out);
                    }
                }
                recv(events) -> event => {
                    if let Ok(event) = event {
                        self.handle(event, &mut responses, &mut renderer, &mut host_log, &mut out);
                    }
                }
                default(LONGEST_SLEEP) => {}
            }
            while let Ok(answer) = renderer.answers().try_recv() {
                renderer.collect(answer, &mut out);
            }
        }
        renderer.finish(&mut out);
        if let Some(Err(error)) = host_log.map(HostLog::finish) {
            self.log_failures.note("host log", &error);
        }
        let now = self.clock.now();
        let over = if stop.load(Ordering::Relaxed) { now } else { now.max(end) };
        let _ = self.took.set(Duration::from_nanos(over.0));
        outgoing.finish(now.min(end));
    }

    /// Tells a device, or the robot, what one of its hosts has done.
    fn handle(
        &self,
        HostEvent { said, reply }: HostEvent,
        responses: &mut [DeviceResponse],
        renderer: &mut Renderer<'_>,
        log: &mut Option<HostLog>,
        out: &mut dyn FnMut(Rendered),
    ) {
        if let (HostTarget::Device(device), Words::Bytes(bytes) | Words::PeerBytes(_, bytes)) =
            (said.to, &said.words)
        {
            self.answers.look_into(responses, device, said.at, bytes);
        }
        let (heard, answer) = renderer.hear(&said, out);
        if let (Some(reply), Some(answer)) = (reply, answer) {
            // The client may have lost its patience.
            let _ = reply.send(answer);
        }
        let noted = log.as_mut().map(|log| log.note(&Said { at: heard, ..said }));
        if let Some(Err(error)) = noted {
            self.log_failures.note("host log", &error);
            *log = None;
        }
    }
}

/// What devices give out, on its way through the rig's faults into the send queue.
struct Outgoing<'a> {
    run: &'a RealTimeRun<'a>,
    packets: SendQueueWriter,
    faults: WireFaults,
    log: Option<FaultLog>,
    /// Of each device, the serial number of the latest pose that its packets have shown.
    latest_poses: Vec<u64>,
    carried: Carried,
}

impl<'a> Outgoing<'a> {
    fn new(run: &'a RealTimeRun<'a>, packets: SendQueueWriter) -> Self {
        Self {
            run,
            packets,
            faults: WireFaults::new(run.rig),
            log: run.fault_log.lock().expect("no holder panics").take(),
            latest_poses: vec![0; run.connections.len()],
            carried: Carried::new(run.rig),
        }
    }

    fn take(&mut self, rendered: Rendered) {
        let stats = &self.run.stats;
        match rendered {
            Rendered::Packet { packet, .. } => self.send(packet),
            Rendered::Thinned(device) => stats[device.0].count_thinned(),
            Rendered::GivenUp(device) => {
                stats[device.0].count_dropped();
                self.faults.skip(device);
            }
        }
    }

    fn send(&mut self, Packet { device, transmit, mut marks }: Packet) {
        let run = self.run;
        let latest = &mut self.latest_poses[device.0];
        marks.pose = marks.pose.filter(|pose| pose.serial > *latest);
        *latest = marks.pose.map_or(*latest, |pose| pose.serial);
        marks.stimuli = self.carried.by_objects(marks.seen);
        let mut batch = Vec::new();
        self.faults.apply(device, transmit, &mut |transmit| batch.push(transmit));
        let mut last = None;
        for row in self.faults.rows() {
            let stimuli = self.carried.by_fault(row.fault, row.window);
            match row.effect {
                Effect::Lost => run.answers.tell_all(stimuli, row.at),
                _ => marks.stimuli |= stimuli,
            }
            let is_own = DeviceId(run.rig.faults[row.fault].device) == device;
            if is_own && row.packet.is_some() && last != row.packet {
                run.stats[device.0].count_faulted();
                last = row.packet;
            }
            note(&mut self.log, row, &run.log_failures);
        }
        for transmit in batch {
            self.queue(device, transmit, std::mem::take(&mut marks));
        }
    }

    fn queue(&mut self, device: DeviceId, transmit: Transmit, marks: Marks) {
        // Fails only when the sender has stopped, and then so does the scheduler.
        self.packets.send(Packet { device, transmit, marks });
    }

    /// Queues what faults hold back, and ends the fault log of a run that ended at `end`.
    fn finish(mut self, end: SimTime) {
        let mut held = Vec::new();
        self.faults.finish(&mut |device, transmit| held.push((device, transmit)));
        for (device, transmit) in held {
            self.queue(device, transmit, Marks::default());
        }
        if let Some(log) = self.log
            && let Err(error) = log.finish(end)
        {
            self.run.log_failures.note("fault log", &error);
        }
    }
}

/// Writes a row while there is a log; gives up after the first error.
fn note(log: &mut Option<FaultLog>, row: Row, failures: &LogFailures) {
    if let Some(Err(error)) = log.as_mut().map(|log| log.note(row)) {
        failures.note("fault log", &error);
        *log = None;
    }
}
