//! Rendering ahead: the devices of a rig, what they want measured, and what they send because of it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded};

use super::cables::Cables;
use super::due_queue::DueQueue;
use super::packet::{Marks, Packet};
use super::stats::RenderStats;
use super::workers::{self, Job, Measured};
use super::world::LiveWorld;
use crate::config::rig::{DeviceId, Rig};
use crate::devices::{Built, Device, Output, REACTION_NS, Transmit};
use crate::frames::{self, Body, Transform};
use crate::sensors::lidar::Thinning;
use crate::sensors::{MeasurementRequest, Sensor};
use crate::time::SimTime;

/// Measurements under way at once, per worker: enough that none waits for the scheduler.
const IN_FLIGHT_PER_WORKER: usize = 8;
/// Requests of a device that wait behind one whose worker was held up, as a multiple of those under
/// way at once. Without a limit the other workers would fill the memory meanwhile.
const MOST_WAITING_FACTOR: usize = 8;

/// The devices of a rig, and the workers that measure for them.
pub struct Renderer<'scope> {
    devices: Vec<RunningDevice>,
    cables: Cables,
    jobs: Sender<Job>,
    measured: Receiver<Measured>,
    in_flight: usize,
    capacity: usize,
    stats: &'scope RenderStats,
}

/// A device, and what it waits for.
struct RunningDevice {
    device: Box<dyn Device>,
    sensor: Arc<dyn Sensor>,
    body_from_sensor: Transform<Body, frames::Sensor>,
    /// The next request, if it has been asked for but not given to a worker.
    peeked: Option<MeasurementRequest>,
    /// Requests that have not been answered to the device, oldest first.
    requests: VecDeque<Request>,
    /// The index of the oldest of them.
    oldest: u64,
    rendered_ns: u64,
    /// How far the device's time has come.
    now: SimTime,
    /// All that is due before this has been handed on.
    settled: SimTime,
    /// What a device whose hosts can change it has given out and may yet revoke.
    revocable: Option<DueQueue<(Transmit, Marks)>>,
    /// What the next bytes will show that none before did.
    marks: Marks,
}

/// What became of a request so far.
enum Request {
    /// A worker has it; its first firing is at this instant.
    UnderWay(SimTime),
    Answered(Box<Measured>),
    GivenUp,
}

/// What is done about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// It is measured, perhaps with fewer rays.
    Measure(Thinning),
    /// It is not measured: its packet would come too late to be sent.
    GiveUp,
}

/// What a [`Renderer`] hands on.
pub enum Rendered {
    /// A packet.
    Packet {
        /// What leaves, and when.
        packet: Packet,
        /// Nothing that comes later from the device is due before this.
        settled: SimTime,
    },
    /// A packet of that device was given up.
    GivenUp(DeviceId),
    /// A measurement for that device was made with fewer rays than its sensor has.
    Thinned(DeviceId),
}

impl RunningDevice {
    fn new(built: Built, body_from_sensor: Transform<Body, frames::Sensor>) -> Self {
        Self {
            device: built.device,
            sensor: built.sensor,
            body_from_sensor,
            peeked: None,
            requests: VecDeque::new(),
            oldest: 0,
            rendered_ns: 0,
            now: SimTime::ZERO,
            settled: SimTime::ZERO,
            revocable: None,
            marks: Marks::default(),
        }
    }

    /// What `transmit` is the first to show.
    fn marks_of(&mut self, transmit: &Transmit) -> Marks {
        if transmit.output.bytes().is_none() {
            return Marks::default();
        }
        let mut marks = std::mem::take(&mut self.marks);
        if transmit.points == 0 {
            // Nobody sees an object in bytes without points.
            self.marks.seen = marks.seen.take();
        }
        marks
    }

    /// The start of the oldest request that has no answer yet.
    fn awaited(&self) -> Option<SimTime> {
        let under_way = self.requests.iter().find_map(|request| match request {
            Request::UnderWay(start) => Some(*start),
            Request::Answered(_) | Request::GivenUp => None,
        });
        under_way.or(self.peeked.as_ref().map(|request| request.start))
    }

    /// Whether so many requests wait behind one whose worker is held up that no more are given out.
    /// What was given up waits for nobody when nothing before it is under way.
    fn is_held_up(&self, most_waiting: usize) -> bool {
        matches!(self.requests.front(), Some(Request::UnderWay(_)))
            && self.requests.len() >= most_waiting
    }

    /// Hands on what the device sends, but for what it may yet revoke.
    fn hand_on(&mut self, id: DeviceId, cables: &mut Cables, out: &mut dyn FnMut(Rendered)) {
        while let Some(transmit) = self.device.poll_transmit() {
            cables.carry(id, &transmit);
            let marks = self.marks_of(&transmit);
            match (&mut self.revocable, &transmit.output) {
                (None, _) => {
                    let packet = Packet { device: id, transmit, marks };
                    out(Rendered::Packet { packet, settled: self.settled });
                }
                (Some(revocable), Output::Revoke(port)) => revocable.retain(|due, (waiting, _)| {
                    due < transmit.due || waiting.output.port() != Some(*port)
                }),
                (Some(revocable), _) => revocable.push(transmit.due, (transmit, marks)),
            }
        }
        // What is due sooner cannot be revoked any more.
        self.release(id, SimTime(self.now.0 + REACTION_NS - 1), out);
        self.settled = self.now;
    }

    /// Hands on what can no longer be revoked: what is due by `limit`.
    fn release(&mut self, id: DeviceId, limit: SimTime, out: &mut dyn FnMut(Rendered)) {
        let Some(revocable) = &mut self.revocable else { return };
        while let Some((_, (transmit, marks))) = revocable.pop_until(limit) {
            let packet = Packet { device: id, transmit, marks };
            out(Rendered::Packet { packet, settled: self.settled });
        }
    }
}

impl<'scope> Renderer<'scope> {
    /// Starts `workers` threads in `scope`, which end when the renderer is dropped; `devices` are
    /// those of `rig`.
    pub fn start<'env>(
        scope: &'scope std::thread::Scope<'scope, 'env>,
        workers: usize,
        world: &'scope LiveWorld,
        rig: &Rig,
        devices: Vec<Built>,
        stats: &'scope RenderStats,
    ) -> Self {
        let capacity = workers * IN_FLIGHT_PER_WORKER;
        let (jobs, job_queue) = bounded::<Job>(capacity);
        let (measured_queue, measured) = bounded::<Measured>(capacity);
        for _ in 0..workers {
            let (job_queue, measured_queue) = (job_queue.clone(), measured_queue.clone());
            scope.spawn(move || workers::work(world, &job_queue, &measured_queue, stats));
        }
        let lines: Vec<_> = devices.iter().map(|built| built.device.line()).collect();
        let devices = rig.devices.iter().zip(devices).map(|(config, built)| RunningDevice {
            revocable: (!config.controls.is_empty()).then(DueQueue::default),
            ..RunningDevice::new(built, config.body_from_sensor)
        });
        let devices = devices.collect();
        let cables = Cables::of(rig, &lines);
        Self { devices, cables, jobs, measured, in_flight: 0, capacity, stats }
    }

    /// Gives workers what is to be measured before `horizon`, earliest first, as far as they have
    /// room. `treat` decides about each request; it is also told whether workers have a backlog.
    pub fn dispatch(
        &mut self,
        horizon: SimTime,
        treat: impl Fn(&MeasurementRequest, bool) -> Treatment,
    ) {
        let most_waiting = MOST_WAITING_FACTOR * self.capacity;
        while self.in_flight < self.capacity {
            for device in &mut self.devices {
                if device.peeked.is_none() {
                    device.peeked = device.device.poll_request(horizon);
                }
            }
            let ready = self.devices.iter_mut().enumerate().filter_map(|(index, device)| {
                let start = device.peeked.as_ref().map(|request| request.start)?;
                (!device.is_held_up(most_waiting)).then_some((start, index, device))
            });
            let Some((_, index, device)) = ready.min_by_key(|(start, index, _)| (*start, *index))
            else {
                break;
            };
            let Some(request) = device.peeked.take() else { break };
            let has_backlog = 2 * self.in_flight >= self.capacity;
            let Treatment::Measure(thinning) = treat(&request, has_backlog) else {
                device.requests.push_back(Request::GivenUp);
                continue;
            };
            device.requests.push_back(Request::UnderWay(request.start));
            self.in_flight += 1;
            let job = Job {
                device: DeviceId(index),
                request,
                sensor: device.sensor.clone(),
                body_from_sensor: device.body_from_sensor,
                thinning,
            };
            if self.jobs.send(job).is_err() {
                break; // every worker has ended, which only a panic there brings about
            }
        }
    }

    /// Whether a worker has something to do, or a measurement waits to be collected.
    pub fn is_busy(&self) -> bool {
        self.in_flight > 0
    }

    /// Where finished measurements arrive.
    pub fn measured(&self) -> &Receiver<Measured> {
        &self.measured
    }

    /// Takes a finished measurement and hands on what became ready by it, device by device in
    /// order.
    pub fn collect(&mut self, measured: Measured, out: &mut dyn FnMut(Rendered)) {
        self.in_flight -= 1;
        let id = measured.device;
        if measured.is_thinned {
            out(Rendered::Thinned(id));
        }
        let device = &mut self.devices[id.0];
        let place = (measured.measurement.request.index - device.oldest) as usize;
        device.requests[place] = Request::Answered(Box::new(measured));
        self.flush(id, out);
    }

    /// Hands on packets at the front that were given up.
    pub fn flush_all(&mut self, out: &mut dyn FnMut(Rendered)) {
        for index in 0..self.devices.len() {
            self.flush(DeviceId(index), out);
        }
    }

    fn flush(&mut self, id: DeviceId, out: &mut dyn FnMut(Rendered)) {
        let device = &mut self.devices[id.0];
        while let Some(front) = device.requests.front() {
            match front {
                Request::UnderWay(_) => break,
                Request::GivenUp => out(Rendered::GivenUp(id)),
                Request::Answered(measured) => {
                    let Measured { measurement, marks, .. } = &**measured;
                    device.marks.merge(*marks);
                    device.rendered_ns = measurement.request.start.0;
                    device.device.handle_measurement(measurement);
                    device.hand_on(id, &mut self.cables, out);
                }
            }
            device.requests.pop_front();
            device.oldest += 1;
        }
        // Not the slowest: a device that its host has not started asks for nothing.
        let rendered = self.devices.iter().map(|device| device.rendered_ns).max();
        self.stats.set_rendered(rendered.unwrap_or(0));
    }

    /// Lets a device handle something that happens to it at `at`, or now if its time is further
    /// already; hands on what it sends because of that.
    pub fn handle<R>(
        &mut self,
        id: DeviceId,
        at: SimTime,
        event: impl FnOnce(&mut dyn Device, SimTime) -> R,
        out: &mut dyn FnMut(Rendered),
    ) -> R {
        let device = &mut self.devices[id.0];
        device.now = device.now.max(at);
        let result = event(device.device.as_mut(), device.now);
        device.hand_on(id, &mut self.cables, out);
        result
    }

    /// Hands on what might have been revoked, when no host will say anything more.
    pub fn finish(&mut self, out: &mut dyn FnMut(Rendered)) {
        for (index, device) in self.devices.iter_mut().enumerate() {
            device.release(DeviceId(index), SimTime(u64::MAX), out);
        }
    }

    /// Lets the time of every device come to `now`, answered requests or not.
    pub fn advance(&mut self, now: SimTime, out: &mut dyn FnMut(Rendered)) {
        let mut place = 0;
        while let Some(id) = self.cables.in_order(place) {
            self.advance_to(id, now, out);
            place += 1;
        }
    }

    /// Lets the time of each device come as far as its requests are answered, to `end` at most,
    /// and no further than `step` beyond the slowest, nor beyond the device that it hears by a
    /// cable; whether all have come to `end`.
    pub fn advance_behind(
        &mut self,
        end: SimTime,
        step: Duration,
        out: &mut dyn FnMut(Rendered),
    ) -> bool {
        let slowest = self.devices.iter().map(|device| device.now).min().unwrap_or(end);
        let mut place = 0;
        while let Some(id) = self.cables.in_order(place) {
            let answered = self.devices[id.0].awaited().unwrap_or(end);
            let source = self.cables.source_of(id);
            let heard = source.map_or(end, |source| self.devices[source.0].now);
            self.advance_to(id, (slowest + step).min(answered).min(heard).min(end), out);
            place += 1;
        }
        self.devices.iter().all(|device| device.now >= end)
    }

    /// Lets the time of one device come to `now`, with what arrives at it by a cable until then.
    fn advance_to(&mut self, id: DeviceId, now: SimTime, out: &mut dyn FnMut(Rendered)) {
        while let Some((at, signal)) = self.cables.next_arrival(id, now) {
            self.handle(id, at, |device, now| device.handle_cable(now, &signal), out);
        }
        if now > self.devices[id.0].now {
            self.handle(id, now, |device, now| device.advance(now), out);
        }
    }
}
