//! Rendering ahead: the devices of a rig, their requests for measurements, and the output that they build from the
//! answers.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, unbounded};

use super::actuators::Actuators;
use super::cables::Cables;
use super::due_queue::DueQueue;
use super::packet::{FirstShown, Packet};
use super::stats::RenderStats;
use super::work_queue::Pace;
use super::workers::{self, Answer, Answers, Casters, Job, JobKind, JobQueue, Measured};
use super::world::LiveWorld;
use crate::config::profile::FamilyData;
use crate::config::profile::network::PortIndex;
use crate::config::rig::faults::{DeviceFaults, FaultConfig};
use crate::config::rig::{DeviceId, EngineConfig, Rig};
use crate::devices::ptp::PtpSend;
use crate::devices::ptp::account::ClockAccount;
use crate::devices::{Built, Device, Output, REACTION_NS, Transmit};
use crate::frames::{self, Body, Transform};
use crate::sensors::camera::truth::FrameTruth;
use crate::sensors::{Measurement, Sensor};
use crate::time::SimTime;
use crate::timing::clock::{MonotonicClock, thread_cpu_ns};
use crate::wire::ptp::Transport;
use crate::world::actuation::Actuation;

/// Largest number of requests of a device, per worker, that are in work or wait for a worker. It is large enough to
/// keep all workers busy while the scheduler is paused for some milliseconds.
const IN_FLIGHT_PER_WORKER: usize = 32;
/// Largest number of requests of a device, per worker, that are stored while its oldest one is in work. Without a
/// limit, answers would fill the memory while the worker with the oldest request is paused.
const MOST_WAITING_PER_WORKER: usize = 64;
/// Number of waiting requests per worker from which there is a backlog, so that the late policy `Thin` reduces rays.
const BACKLOG_PER_WORKER: usize = 4;
/// The same with a GPU: a worker takes several requests at a time.
const BACKLOG_WITH_GPU: usize = 16;

/// The devices of a rig, and the workers that measure for them.
pub struct Renderer<'scope> {
    devices: Vec<RunningDevice>,
    wires: Wires<'scope>,
    /// Time after which hosts send no more input.
    end: SimTime,
    jobs: Arc<JobQueue>,
    answers: Receiver<Answers>,
    workers: usize,
    keeps_truth: bool,
    stats: &'scope RenderStats,
}

/// Consumers of device output within the emulator: cables to other devices, and the robot's drive and joints.
struct Wires<'scope> {
    cables: Cables,
    actuators: Actuators<'scope>,
}

/// A device, with its requests and outputs that are not passed on yet.
struct RunningDevice {
    device: Box<dyn Device>,
    sensor: Arc<dyn Sensor>,
    body_from_sensor: Transform<Body, frames::Sensor>,
    /// The device has requested all its measurements that start before this time.
    asked_until: SimTime,
    /// Time of the first event since the device was last asked for requests; `None` without an event.
    unasked_from: Option<SimTime>,
    /// Latest end of the measurements that the device has requested so far.
    asked_end: SimTime,
    /// Latest due time of the device's output so far.
    latest_due: SimTime,
    /// Requests whose answers have not been passed to the device, oldest first.
    requests: VecDeque<Request>,
    /// Index of the oldest request in `requests`.
    oldest: u64,
    /// Number of the device's jobs that are in the queue or in work.
    in_flight: usize,
    /// Present time of the device.
    now: SimTime,
    /// All outputs that are due before this time have been passed on.
    settled: SimTime,
    /// Outputs that the device may still revoke; `None` for a device without controls, which revokes none.
    revocable: Option<DueQueue<(Transmit, FirstShown)>>,
    /// Requests for times at which the robot's motion is not known yet, oldest first.
    held: VecDeque<Job>,
    /// Poses, objects and stimuli that no output has shown yet; the next bytes show them.
    first_shown: FirstShown,
    /// Poses, objects and stimuli of measurements that were made ahead of time, each with the end of its measurement.
    /// Only bytes that are due at or after that end show them.
    shown_later: VecDeque<(SimTime, FirstShown)>,
}

/// State of a request.
enum Request {
    /// A worker makes the measurement, or will make it.
    UnderWay {
        /// Start of the measurement.
        start: SimTime,
        /// Time at which the answer is needed.
        needed: SimTime,
    },
    Answered(Box<Measured>),
    GivenUp,
}

impl Request {
    fn is_under_way(&self) -> bool {
        matches!(self, Self::UnderWay { .. })
    }
}

/// Output of a [`Renderer`], by device.
pub enum Rendered {
    /// A packet.
    Packet {
        /// The packet with its times.
        packet: Packet,
        /// No later output of the device is due before this time.
        settled: SimTime,
    },
    /// Measurement of a sensor that is no lidar or camera, such as an IMU or a GNSS receiver. Only if ground truth is
    /// kept.
    Measured(DeviceId, Box<Measurement>),
    /// A PTP message, to be sent immediately.
    Ptp(DeviceId, PtpSend),
    /// Transport of the device's PTP messages from now on.
    PtpTransport(DeviceId, Transport),
    /// State of the device's PTP clock at an instant.
    Clock(DeviceId, ClockAccount),
    /// Ground truth of a camera image.
    Frame(DeviceId, Box<FrameTruth>),
    /// A measurement was given up because its packet would be late.
    GivenUp(DeviceId),
    /// A measurement has fewer rays per pulse than its sensor's settings, because rendering is behind.
    Thinned(DeviceId),
}

impl RunningDevice {
    fn new(built: Built, body_from_sensor: Transform<Body, frames::Sensor>) -> Self {
        Self {
            device: built.device,
            sensor: built.sensor,
            body_from_sensor,
            asked_until: SimTime::ZERO,
            unasked_from: None,
            asked_end: SimTime::ZERO,
            latest_due: SimTime::ZERO,
            requests: VecDeque::new(),
            oldest: 0,
            in_flight: 0,
            now: SimTime::ZERO,
            settled: SimTime::ZERO,
            revocable: None,
            held: VecDeque::new(),
            first_shown: FirstShown::default(),
            shown_later: VecDeque::new(),
        }
    }

    /// Records the poses, objects and stimuli of a measurement that ended at `end`. Bytes that are due earlier do not
    /// show them.
    fn note_shown(&mut self, end: SimTime, first_shown: FirstShown) {
        if first_shown != FirstShown::default() {
            self.shown_later.push_back((end, first_shown));
        }
        // Without this call, the entries of a device that sends nothing would accumulate.
        self.bring_shown(self.now);
    }

    /// Moves the entries of measurements that ended by `due` from `shown_later` to `first_shown`.
    fn bring_shown(&mut self, due: SimTime) {
        while let Some((_, first_shown)) = self.shown_later.pop_front_if(|(end, _)| *end <= due) {
            self.first_shown.merge(first_shown);
        }
    }

    /// Poses, objects and stimuli that `transmit` is the first to show.
    fn first_shown_by(&mut self, transmit: &Transmit) -> FirstShown {
        if transmit.output.bytes().is_none() {
            return FirstShown::default();
        }
        self.bring_shown(transmit.due);
        let mut first_shown = std::mem::take(&mut self.first_shown);
        if transmit.output.port().is_some_and(|port| port != PortIndex::DATA) {
            self.first_shown.fired = first_shown.fired.take();
        }
        if transmit.points == 0 {
            // Bytes without points show no objects.
            self.first_shown.seen = first_shown.seen.take();
        }
        first_shown
    }

    /// Start of the oldest request without an answer, and the time at which its answer is needed.
    fn oldest_under_way(&self) -> Option<(SimTime, SimTime)> {
        self.requests.iter().find_map(|request| match request {
            Request::UnderWay { start, needed } => Some((*start, *needed)),
            Request::Answered(_) | Request::GivenUp => None,
        })
    }

    /// Time up to which the device can advance, because all measurements before it are done. If the oldest request
    /// waits for a motion that a host may still change, the device can advance until the answer is needed.
    fn awaited(&self) -> SimTime {
        let is_held = self.held.front().is_some_and(|job| {
            let answered = self.requests.iter().take_while(|request| !request.is_under_way());
            job.request.index == self.oldest + answered.count() as u64
        });
        let asked = match self.oldest_under_way() {
            None => self.asked_until,
            // The motion becomes known only as devices advance. A device that waited for it would wait for ever.
            Some((_, needed)) if is_held => return needed,
            Some((start, _)) => start,
        };
        self.unasked_from.map_or(asked, |from| asked.min(from))
    }

    /// Whether the device must make no more requests for now: its oldest request is still in work, perhaps because its
    /// worker is paused, and at least `most_waiting` requests are stored. Answered requests and requests that were
    /// given up count as stored.
    fn is_held_up(&self, most_waiting: usize) -> bool {
        matches!(self.requests.front(), Some(Request::UnderWay { .. }))
            && self.requests.len() >= most_waiting
    }

    /// Passes on the device's new outputs, except those that it may still revoke. `heard` is the arrival time of the
    /// event that caused them, such as a host's command; `None` if a measurement caused them.
    fn hand_on(
        &mut self,
        id: DeviceId,
        heard: Option<SimTime>,
        wires: &mut Wires<'_>,
        out: &mut dyn FnMut(Rendered),
    ) {
        while let Some(transmit) = self.device.poll_transmit() {
            if let Output::Actuate(actuation) = transmit.output {
                wires.actuators.tell(transmit.due, heard.unwrap_or(transmit.due), actuation);
                continue;
            }
            wires.cables.carry(id, &transmit);
            if matches!(transmit.output, Output::Aside { .. }) {
                continue;
            }
            self.latest_due = self.latest_due.max(transmit.due);
            let first_shown = self.first_shown_by(&transmit);
            match (&mut self.revocable, &transmit.output) {
                (None, _) => {
                    let packet = Packet { device: id, transmit, first_shown };
                    out(Rendered::Packet { packet, settled: self.settled });
                }
                (Some(revocable), Output::Revoke(port)) => revocable.retain(|due, (waiting, _)| {
                    due < transmit.due || waiting.output.port() != Some(*port)
                }),
                (Some(revocable), _) => {
                    let rank = transmit.output.rank();
                    revocable.push_ranked(transmit.due, rank, (transmit, first_shown));
                }
            }
        }
        while let Some(account) = self.device.poll_clock() {
            out(Rendered::Clock(id, account));
        }
        while let Some(frame) = self.device.poll_frame() {
            out(Rendered::Frame(id, Box::new(frame)));
        }
        if let Some(transport) = self.device.poll_ptp_transport() {
            out(Rendered::PtpTransport(id, transport));
        }
        while let Some(send) = self.device.poll_ptp() {
            out(Rendered::Ptp(id, send));
        }
        // Outputs that are due before `now + REACTION_NS` can no longer be revoked.
        self.release(id, SimTime(self.now.0 + REACTION_NS - 1), out);
        self.settled = self.now;
    }

    /// Passes on outputs that can no longer be revoked: those that are due by `limit`.
    fn release(&mut self, id: DeviceId, limit: SimTime, out: &mut dyn FnMut(Rendered)) {
        let Some(revocable) = &mut self.revocable else { return };
        while let Some((_, (transmit, first_shown))) = revocable.pop_until(limit) {
            let packet = Packet { device: id, transmit, first_shown };
            out(Rendered::Packet { packet, settled: self.settled });
        }
    }
}

impl<'scope> Renderer<'scope> {
    /// Starts the `casters` for rays and, in `scope`, a thread for measurements without rays; they end when
    /// the renderer is dropped. `devices` are the devices of `rig`. With a `clock`, the rig's policy for late
    /// packets applies. The hosts of devices send nothing from `end` on.
    #[expect(clippy::too_many_arguments, reason = "what a run consists of")]
    pub fn start<'env>(
        scope: &'scope std::thread::Scope<'scope, 'env>,
        casters: Casters<'scope>,
        world: &'scope LiveWorld,
        rig: &Rig,
        devices: Vec<Built>,
        clock: Option<MonotonicClock>,
        end: SimTime,
        stats: &'scope RenderStats,
    ) -> Self {
        let workers = casters.count();
        let backlog = match world.caster.pulses_per_call() {
            0 => BACKLOG_PER_WORKER * workers,
            _ => BACKLOG_WITH_GPU * workers,
        };
        let pace = clock.map_or(Pace::Stepped, |_| real_time(&rig.engine, backlog));
        let jobs = Arc::new(JobQueue::new(pace, clock, devices.len()));
        // Unbounded, but short: the number of requests in work is limited.
        let (answer_queue, answers) = unbounded::<Answers>();
        let threads = match casters {
            Casters::Threads(count) => count,
            Casters::Elsewhere(remote) => {
                let (jobs, answer_queue) = (Arc::clone(&jobs), answer_queue.clone());
                scope.spawn(move || remote.work(world, &jobs, &answer_queue, stats));
                0
            }
        };
        let kinds = std::iter::repeat_n(JobKind::Rays, threads).chain([JobKind::NoRays]);
        for kind in kinds {
            let (jobs, answer_queue) = (Arc::clone(&jobs), answer_queue.clone());
            scope.spawn(move || workers::work(world, &jobs, kind, &answer_queue, stats));
        }
        let lines: Vec<_> = devices.iter().map(|built| built.device.line()).collect();
        let devices = rig.devices.iter().zip(devices).map(|(config, built)| RunningDevice {
            revocable: (!config.controls.is_empty()).then(DueQueue::default),
            ..RunningDevice::new(built, config.body_from_sensor)
        });
        let devices = devices.collect();
        let actuators = Actuators::new(world, rig.engine.render_ahead_ns);
        let wires = Wires { cables: Cables::of(rig, &lines), actuators };
        let keeps_truth = world.keeps_truth;
        Self { devices, wires, end, jobs, answers, workers, keeps_truth, stats }
    }

    /// Posts the devices' requests for measurements before `horizon` to the workers, up to the limit of each device.
    /// Requests for times at which the robot's motion is not known yet are held back.
    pub fn dispatch(&mut self, horizon: SimTime) {
        let most_in_flight = IN_FLIGHT_PER_WORKER * self.workers;
        let most_waiting = MOST_WAITING_PER_WORKER * self.workers;
        let known = self.move_robot();
        let horizon = horizon.min(known);
        for (index, device) in self.devices.iter_mut().enumerate() {
            while let Some(job) = device.held.pop_front_if(|job| job.request.end() <= known) {
                post(&self.jobs, self.stats, device, job);
            }
            while device.in_flight + device.held.len() < most_in_flight
                && !device.is_held_up(most_waiting)
            {
                let Some(request) = device.device.poll_request(horizon) else {
                    device.asked_until = horizon;
                    device.unasked_from = None;
                    break;
                };
                let (start, end, needed) = (request.start, request.end(), request.needed_at());
                device.asked_end = device.asked_end.max(end);
                let job = Job {
                    device: DeviceId(index),
                    request,
                    sensor: device.sensor.clone(),
                    body_from_sensor: device.body_from_sensor,
                };
                device.requests.push_back(Request::UnderWay { start, needed });
                if end <= known && device.held.is_empty() {
                    post(&self.jobs, self.stats, device, job);
                } else {
                    device.held.push_back(job);
                }
            }
        }
        self.jobs.wake();
    }

    /// Moves a driven robot as far as no later command can change its motion; returns the time up to which the motion
    /// is known.
    fn move_robot(&mut self) -> SimTime {
        if !self.wires.actuators.can_move_anything() {
            return SimTime(u64::MAX);
        }
        let slowest = self.slowest();
        let held = self.devices.iter().flat_map(|device| &device.held);
        let last_held = held.map(|job| job.request.end()).max().filter(|_| slowest >= self.end);
        let before_ns = thread_cpu_ns();
        let known = self.wires.actuators.advance(slowest, last_held);
        self.stats.count_moving(thread_cpu_ns() - before_ns);
        known
    }

    /// Passes a host's command directly to the robot. It was issued at `at` and arrived at `arrived`.
    pub fn actuate(&mut self, at: SimTime, arrived: SimTime, actuation: Actuation) {
        self.wires.actuators.tell(at, arrived, actuation);
    }

    /// Whether a request is in work or waits for a worker, or an answer waits to be collected.
    pub fn is_measuring(&self) -> bool {
        self.devices.iter().any(|device| device.in_flight > 0)
    }

    /// Whether [`Renderer::is_measuring`] returns true, or a request waits until the robot's motion is known.
    pub fn is_busy(&self) -> bool {
        self.is_measuring() || self.devices.iter().any(|device| !device.held.is_empty())
    }

    /// The queue of the workers' answers.
    pub fn answers(&self) -> &Receiver<Answers> {
        &self.answers
    }

    /// Accepts answers of a worker. Passes on the outputs that are ready as a result; each device gets its answers in
    /// order.
    pub fn collect(&mut self, answers: Answers, out: &mut dyn FnMut(Rendered)) {
        for Answer { device: id, index, measured } in answers {
            if measured.as_ref().is_some_and(|measured| measured.is_thinned) {
                out(Rendered::Thinned(id));
            }
            let device = &mut self.devices[id.0];
            device.in_flight -= 1;
            let place = (index - device.oldest) as usize;
            device.requests[place] = match measured {
                Some(measured) => Request::Answered(Box::new(measured)),
                None => {
                    self.stats.count_given_up(id);
                    Request::GivenUp
                }
            };
            self.flush(id, out);
        }
    }

    /// Passes to each device the answers to its oldest requests, in order, as far as they have arrived. Reports
    /// requests that were given up.
    pub fn flush_all(&mut self, out: &mut dyn FnMut(Rendered)) {
        for index in 0..self.devices.len() {
            self.flush(DeviceId(index), out);
        }
    }

    fn flush(&mut self, id: DeviceId, out: &mut dyn FnMut(Rendered)) {
        let device = &mut self.devices[id.0];
        let is_over = |request: &mut Request| !matches!(request, Request::UnderWay { .. });
        while let Some(front) = device.requests.pop_front_if(is_over) {
            let index = device.oldest;
            device.oldest += 1;
            let Request::Answered(measured) = front else {
                out(Rendered::GivenUp(id));
                device.device.handle_revoked(index);
                device.hand_on(id, None, &mut self.wires, out);
                continue;
            };
            let Measured { measurement, first_shown, begun_ns, .. } = *measured;
            let fired =
                (measurement.request.subject.casts_rays()).then_some(measurement.request.start);
            device.note_shown(measurement.request.end(), FirstShown { fired, ..first_shown });
            device.device.handle_measurement(&measurement);
            device.hand_on(id, None, &mut self.wires, out);
            let request = &measurement.request;
            if request.subject.casts_rays() {
                self.jobs.note_ready(id, begun_ns);
            }
            let behind_ns = self.jobs.now_ns() - request.needed_at().0 as i64;
            self.stats.set_rendered(id, request.start, behind_ns.max(0) as u64);
            if self.keeps_truth && !request.subject.casts_rays() {
                out(Rendered::Measured(id, Box::new(measurement)));
            }
        }
    }

    /// Lets a device handle an event that arrives at `at`, or at the device's present time if this is later. Passes on
    /// the resulting outputs. The device's requests may change.
    pub fn handle<R>(
        &mut self,
        id: DeviceId,
        at: SimTime,
        event: impl FnOnce(&mut dyn Device, SimTime) -> R,
        out: &mut dyn FnMut(Rendered),
    ) -> R {
        let device = &mut self.devices[id.0];
        device.unasked_from.get_or_insert(device.now.max(at));
        self.handle_as_planned(id, at, event, out)
    }

    /// Like [`Renderer::handle`], for events that do not change the device's requests.
    fn handle_as_planned<R>(
        &mut self,
        id: DeviceId,
        at: SimTime,
        event: impl FnOnce(&mut dyn Device, SimTime) -> R,
        out: &mut dyn FnMut(Rendered),
    ) -> R {
        let device = &mut self.devices[id.0];
        device.now = device.now.max(at);
        let result = event(device.device.as_mut(), device.now);
        device.hand_on(id, Some(at), &mut self.wires, out);
        result
    }

    /// Time that the slowest device has reached.
    pub fn slowest(&self) -> SimTime {
        self.devices.iter().map(|device| device.now).min().unwrap_or(SimTime::ZERO)
    }

    /// Sum of the present times of all devices, nanoseconds. If the sum does not change, there is no progress.
    pub fn way(&self) -> u128 {
        self.devices.iter().map(|device| u128::from(device.now.0)).sum()
    }

    /// Earliest time after the end of all requested measurements and after the due times of all outputs so far. A
    /// change from this time on affects none of them.
    pub fn untouched_from(&self) -> SimTime {
        let reached = self.devices.iter().flat_map(|device| {
            [device.asked_end, device.asked_until, device.latest_due, device.now]
        });
        SimTime(reached.max().unwrap_or(SimTime::ZERO).0.saturating_add(1))
    }

    /// See [`Device::fault_notice_ns`].
    pub fn fault_notice_ns(&self, id: DeviceId, kind: &dyn FamilyData, begins: bool) -> u64 {
        self.devices[id.0].device.fault_notice_ns(kind, begins)
    }

    /// Replaces the faults inside a device from `at` on; `at` must not be before [`Renderer::untouched_from`]. `sensor`
    /// makes the measurements that are requested from then on.
    pub fn change_faults(
        &mut self,
        id: DeviceId,
        at: SimTime,
        faults: &DeviceFaults,
        sensor: Arc<dyn Sensor>,
    ) {
        let device = &mut self.devices[id.0];
        device.device.change_faults(at, faults);
        device.sensor = sensor;
    }

    /// Replaces the present cable faults by the cable faults in `faults`.
    pub fn change_cable_faults(&mut self, faults: &[FaultConfig]) {
        self.wires.cables.set_faults(faults);
    }

    /// Call this after the last host command. Passes on the outputs that could have been revoked until then. Records
    /// the delay of each device that still has a request in work.
    pub fn finish(&mut self, out: &mut dyn FnMut(Rendered)) {
        let now_ns = self.jobs.now_ns();
        for (index, device) in self.devices.iter_mut().enumerate() {
            if let Some((_, needed)) = device.oldest_under_way() {
                let behind_ns = (now_ns - needed.0 as i64).max(0) as u64;
                self.stats.set_behind(DeviceId(index), behind_ns);
            }
            device.release(DeviceId(index), SimTime(u64::MAX), out);
        }
    }

    /// Advances the time of every device to `now`, whether its requests are answered or not.
    pub fn advance(&mut self, now: SimTime, out: &mut dyn FnMut(Rendered)) {
        let mut place = 0;
        while let Some(id) = self.wires.cables.in_order(place) {
            self.advance_to(id, now, out);
            place += 1;
        }
    }

    /// Advances each device as far as its requests are answered: at most to `end`, at most `step` beyond the
    /// slowest device, and not beyond the device at the other end of its cable. Returns whether all devices
    /// have reached `end`.
    pub fn advance_behind(
        &mut self,
        end: SimTime,
        step: Duration,
        out: &mut dyn FnMut(Rendered),
    ) -> bool {
        let slowest = self.slowest();
        let mut place = 0;
        while let Some(id) = self.wires.cables.in_order(place) {
            let answered = self.devices[id.0].awaited();
            let source = self.wires.cables.source_of(id);
            let heard = source.map_or(end, |source| self.devices[source.0].now);
            self.advance_to(id, (slowest + step).min(answered).min(heard).min(end), out);
            place += 1;
        }
        self.devices.iter().all(|device| device.now >= end)
    }

    /// If `device` is the serial line of another device, returns that other device and its port number; otherwise
    /// `None`.
    pub(super) fn line_of(&self, device: DeviceId) -> Option<(DeviceId, u8)> {
        self.wires.cables.line_of(device)
    }

    /// Advances one device to `now`, including the signals that its cable delivers until then.
    pub(super) fn advance_to(&mut self, id: DeviceId, now: SimTime, out: &mut dyn FnMut(Rendered)) {
        while let Some((at, signal)) = self.wires.cables.next_arrival(id, now) {
            self.handle(id, at, |device, now| device.handle_cable(now, &signal), out);
        }
        if now > self.devices[id.0].now {
            self.handle_as_planned(id, now, |device, now| device.advance(now), out);
        }
    }
}

impl Drop for Renderer<'_> {
    fn drop(&mut self) {
        self.jobs.close();
    }
}

/// Posts the request `job` of `device` to the workers, or gives it up if it cannot be ready in time.
fn post(jobs: &JobQueue, stats: &RenderStats, device: &mut RunningDevice, job: Job) {
    let (id, index) = (job.device, job.request.index);
    if jobs.post(job) {
        device.in_flight += 1;
    } else {
        stats.count_given_up(id);
        let place = (index - device.oldest) as usize;
        device.requests[place] = Request::GivenUp;
    }
}

fn real_time(engine: &EngineConfig, backlog: usize) -> Pace {
    Pace::RealTime { late: engine.late, ahead_ns: engine.render_ahead_ns, backlog }
}
