//! The scheduler: advances devices, passes them their hosts' commands, supplies workers with requests, and
//! applies the rig's faults to the output before it goes into the send queue.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossbeam_channel::{Receiver, select};

use super::answers::DeviceResponse;
use super::fault_orders::FaultOrders;
use super::outgoing::Outgoing;
use super::send_queue::SendQueueWriter;
use super::{LONGEST_SLEEP, RealTimeRun};
use crate::engine::host_events::{HostEvent, HostInput, HostTarget, Payload};
use crate::engine::host_log::HostLog;
use crate::engine::render::{Rendered, Renderer};
use crate::engine::truth::{TruthEvent, TruthSender};
use crate::time::SimTime;

/// Time by which devices are advanced ahead of the clock, so that the sender has their output before it is due: twice
/// the time between two checks.
const DEVICES_AHEAD: Duration = Duration::from_millis(2);

impl RealTimeRun<'_> {
    /// Runs the devices until all packets that are due before `end` are in the send queue, or `stop` is set.
    pub(super) fn schedule(
        &self,
        mut renderer: Renderer<'_>,
        packets: SendQueueWriter,
        events: &Receiver<HostEvent>,
        truth: Option<&TruthSender>,
        end: SimTime,
        stop: &AtomicBool,
    ) {
        let ahead = Duration::from_nanos(self.rig.engine.render_ahead_ns);
        let mut outgoing = Outgoing::new(self, packets, truth);
        let mut orders = FaultOrders::new(self);
        let mut responses = self.answers.of_devices();
        let mut host_log = self.host_log.lock().expect("no holder panics").take();
        while !stop.load(Ordering::Relaxed) {
            let now = self.clock.now();
            let horizon = (now + ahead).min(end);
            outgoing.release(now);
            orders.end_what_is_due(&mut renderer, &mut outgoing);
            let mut out = |rendered| outgoing.take(rendered);
            let mut order = None;
            renderer.dispatch(horizon);
            renderer.flush_all(&mut out);
            let device_now = (now + DEVICES_AHEAD).min(end);
            renderer.advance(device_now, &mut out);
            if !renderer.is_busy() && device_now == end {
                break;
            }
            select! {
                recv(renderer.answers()) -> answers => {
                    if let Ok(answers) = answers {
                        renderer.collect(answers, &mut out);
                    }
                }
                recv(events) -> event => {
                    if let Ok(event) = event {
                        let logs = (&mut host_log, truth);
                        self.handle(event, &mut responses, &mut renderer, logs, &mut out);
                    }
                }
                recv(self.fault_control.orders()) -> asked => order = asked.ok(),
                default(LONGEST_SLEEP) => {}
            }
            // Answers that arrive from now on wait, so that workers soon get further requests.
            for _ in 0..renderer.answers().len() {
                let Ok(answers) = renderer.answers().try_recv() else { break };
                renderer.collect(answers, &mut out);
            }
            if let Some(order) = order {
                orders.follow(order, &mut renderer, &mut outgoing);
            }
        }
        renderer.finish(&mut |rendered| outgoing.take(rendered));
        if let Some(Err(error)) = host_log.map(HostLog::finish) {
            self.log_failures.note("host log", &error);
        }
        let now = self.clock.now();
        let over = if stop.load(Ordering::Relaxed) { now } else { now.max(end) };
        let _ = self.took.set(Duration::from_nanos(over.0));
        outgoing.finish(now.min(end));
    }

    /// Passes a host's event to a device or to the robot.
    fn handle(
        &self,
        HostEvent { input, reply }: HostEvent,
        responses: &mut [DeviceResponse],
        renderer: &mut Renderer<'_>,
        (log, truth): (&mut Option<HostLog>, Option<&TruthSender>),
        out: &mut dyn FnMut(Rendered),
    ) {
        if let (HostTarget::Device(device), Payload::Bytes(bytes) | Payload::PeerBytes(_, bytes)) =
            (input.to, &input.payload)
        {
            self.answers.look_into(responses, device, input.at, bytes);
        }
        let (heard, answer) = renderer.hear(&input, out);
        if let (Some(reply), Some(answer)) = (reply, answer) {
            // The client may have stopped waiting.
            let _ = reply.send(answer);
        }
        let input = HostInput { at: heard, ..input };
        let noted = log.as_mut().map(|log| log.note(&input));
        if let Some(Err(error)) = noted {
            self.log_failures.note("host log", &error);
            *log = None;
        }
        if let Some(truth) = truth {
            truth.tell(TruthEvent::HostInput(input));
        }
    }
}
