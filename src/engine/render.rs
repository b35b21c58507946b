//! Measuring ahead: the conductor's half of the engine and the workers.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded};

use super::LiveWorld;
use super::cables::Cables;
use super::clock::Stopwatch;
use super::stats::RenderStats;
use crate::config::rig::Rig;
use crate::devices::{Built, Device, Output, REACTION_NS, Transmit};
use crate::frames::{self, Body, Transform};
use crate::links::Peer;
use crate::links::http::{HttpRequest, HttpResponse};
use crate::sensors::lidar::{Scratch, Thinning};
use crate::sensors::{Measurement, MeasurementRequest, Sensor, Subject};
use crate::time::SimTime;
use crate::world::trajectory::feed::ShownPose;

/// Measurements under way at once, per worker: enough that none waits for the conductor.
const IN_FLIGHT_PER_WORKER: usize = 8;
/// Requests of a device that wait behind one whose worker was held up, as a multiple of those under
/// way at once. Without a limit the other workers would fill the memory meanwhile.
const MOST_WAITING_FACTOR: usize = 8;

/// The conductor's hold on the devices and the workers.
pub struct Renderer<'scope> {
    units: Vec<Unit>,
    cables: Cables,
    jobs: Sender<Job>,
    done: Receiver<Done>,
    in_flight: usize,
    capacity: usize,
    stats: &'scope RenderStats,
}

/// A device, and what it waits for.
struct Unit {
    device: Box<dyn Device>,
    sensor: Arc<dyn Sensor>,
    body_from_sensor: Transform<Body, frames::Sensor>,
    /// The next request, if it has been asked for but not given to a worker.
    peeked: Option<MeasurementRequest>,
    /// One entry a request that is under way, oldest first.
    waiting: VecDeque<Waiting>,
    /// The index of the oldest in `waiting`.
    oldest: u64,
    rendered_ns: u64,
    /// How far the device's time has come.
    now: SimTime,
    /// All that is due before this has been handed on.
    settled: SimTime,
    /// What a device whose host can change it has given out and may yet take back.
    held: Option<Held>,
    /// What the next bytes will show that none before did.
    shows: Marks,
}

/// By due time, then in the order in which it was given out.
#[derive(Default)]
struct Held {
    waiting: BTreeMap<(SimTime, u64), (Transmit, Marks)>,
    count: u64,
}

impl Held {
    /// Takes what a device gives out; a revocation has what it concerns forgotten.
    fn take(&mut self, transmit: Transmit, shows: Marks) {
        if let Output::Revoke(port) = transmit.output {
            self.waiting.retain(|(due, _), (held, _)| {
                *due < transmit.due || held.output.port() != Some(port)
            });
            return;
        }
        self.count += 1;
        self.waiting.insert((transmit.due, self.count), (transmit, shows));
    }

    /// The next one that is due before `limit`.
    fn next_before(&mut self, limit: SimTime) -> Option<(Transmit, Marks)> {
        let entry = self.waiting.first_entry()?;
        (entry.key().0 < limit).then(|| entry.remove())
    }
}

impl Unit {
    /// What `transmit` is the first to show.
    fn marks_of(&mut self, transmit: &Transmit) -> Marks {
        if transmit.output.bytes().is_none() {
            return Marks::default();
        }
        let mut shows = std::mem::take(&mut self.shows);
        if transmit.points == 0 {
            // Nobody sees an object in bytes without points.
            self.shows.seen = shows.seen.take();
        }
        shows
    }

    /// The start of the oldest request that has no answer yet.
    fn awaited(&self) -> Option<SimTime> {
        let under_way = self.waiting.iter().find_map(|waiting| match waiting {
            Waiting::UnderWay(start) => Some(*start),
            Waiting::Done(..) | Waiting::Skipped => None,
        });
        under_way.or(self.peeked.as_ref().map(|request| request.start))
    }
}

enum Waiting {
    UnderWay(SimTime),
    Done(Box<Measurement>, Marks),
    Skipped,
}

struct Job {
    unit: usize,
    request: MeasurementRequest,
    sensor: Arc<dyn Sensor>,
    body_from_sensor: Transform<Body, frames::Sensor>,
    thinning: Thinning,
}

/// What is done about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// It is measured, perhaps with fewer rays.
    Measure(Thinning),
    /// It is not measured: its packet would come too late to be sent.
    GiveUp,
}

/// A finished measurement on its way back.
pub struct Done {
    unit: usize,
    measurement: Measurement,
    shows: Marks,
    is_thinned: bool,
}

/// What bytes show, for who waits for the first that do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// The latest pose of the robot's feed.
    pub pose: Option<ShownPose>,
    /// Watched objects with returns in it.
    pub seen: Option<Seen>,
    /// Stimuli that it is the first to carry, a bit each.
    pub stimuli: u32,
}

/// Objects that a lidar had returns from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// A bit an object.
    pub objects: u64,
    /// The first firing.
    pub from: SimTime,
    /// The last.
    pub to: SimTime,
}

impl Marks {
    fn merge(&mut self, later: Marks) {
        self.pose = later.pose.or(self.pose);
        self.seen = match (self.seen, later.seen) {
            (Some(first), Some(then)) => {
                Some(Seen { objects: first.objects | then.objects, to: then.to, ..first })
            }
            (first, then) => then.or(first),
        };
        self.stimuli |= later.stimuli;
    }
}

/// What [`Renderer::collect`] hands on.
pub enum Rendered {
    /// What the device with this place in the rig sends.
    Transmit {
        /// The device's place.
        unit: usize,
        /// What leaves, and when.
        transmit: Transmit,
        /// What it shows.
        shows: Marks,
        /// Nothing that comes later from the device is due before this.
        settled: SimTime,
    },
    /// A packet of that device that was given up.
    Skipped(usize),
    /// A measurement for that device was made with fewer rays than its sensor has.
    Thinned(usize),
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
        let (done_queue, done) = bounded::<Done>(capacity);
        for _ in 0..workers {
            let (job_queue, done_queue) = (job_queue.clone(), done_queue.clone());
            scope.spawn(move || work(world, &job_queue, &done_queue, stats));
        }
        let lines: Vec<_> = devices.iter().map(|built| built.device.line()).collect();
        let units = rig.devices.iter().zip(devices).map(|(config, built)| Unit {
            device: built.device,
            sensor: built.sensor,
            body_from_sensor: config.body_from_sensor,
            peeked: None,
            waiting: VecDeque::new(),
            oldest: 0,
            rendered_ns: 0,
            now: SimTime::ZERO,
            settled: SimTime::ZERO,
            held: config.control.is_some().then(Held::default),
            shows: Marks::default(),
        });
        let cables = Cables::of(rig, &lines);
        Self { units: units.collect(), cables, jobs, done, in_flight: 0, capacity, stats }
    }

    /// Gives workers what is to be measured before `horizon`, earliest first, as far as they have
    /// room. `treat` decides about each request; it is also told whether workers have a backlog.
    pub fn dispatch(
        &mut self,
        horizon: SimTime,
        treat: impl Fn(&MeasurementRequest, bool) -> Treatment,
    ) {
        while self.in_flight < self.capacity {
            for unit in &mut self.units {
                if unit.peeked.is_none() {
                    unit.peeked = unit.device.poll_request(horizon);
                }
            }
            let most_waiting = MOST_WAITING_FACTOR * self.capacity;
            // What was given up waits for nobody when nothing before it is under way.
            let is_held_up = |unit: &Unit| {
                matches!(unit.waiting.front(), Some(Waiting::UnderWay(_)))
                    && unit.waiting.len() >= most_waiting
            };
            let has_room = |unit: &&Unit| !is_held_up(unit);
            let start_of = |unit: &Unit| unit.peeked.as_ref().map(|request| request.start);
            let earliest = (0..self.units.len())
                .filter_map(|index| {
                    Some((start_of(Some(&self.units[index]).filter(has_room)?)?, index))
                })
                .min();
            let Some((_, index)) = earliest else { break };
            let unit = &mut self.units[index];
            let Some(request) = unit.peeked.take() else { break };
            let has_backlog = 2 * self.in_flight >= self.capacity;
            let Treatment::Measure(thinning) = treat(&request, has_backlog) else {
                unit.waiting.push_back(Waiting::Skipped);
                continue;
            };
            unit.waiting.push_back(Waiting::UnderWay(request.start));
            self.in_flight += 1;
            let job = Job {
                unit: index,
                request,
                sensor: unit.sensor.clone(),
                body_from_sensor: unit.body_from_sensor,
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
    pub fn done(&self) -> &Receiver<Done> {
        &self.done
    }

    /// Takes a finished measurement and passes on what became ready by it, device by device in
    /// order.
    pub fn collect(&mut self, done: Done, out: &mut dyn FnMut(Rendered)) {
        self.in_flight -= 1;
        if done.is_thinned {
            out(Rendered::Thinned(done.unit));
        }
        let unit = &mut self.units[done.unit];
        let place = (done.measurement.request.index - unit.oldest) as usize;
        unit.waiting[place] = Waiting::Done(Box::new(done.measurement), done.shows);
        self.flush(done.unit, out);
    }

    /// Passes on packets at the front that were given up.
    pub fn flush_all(&mut self, out: &mut dyn FnMut(Rendered)) {
        for index in 0..self.units.len() {
            self.flush(index, out);
        }
    }

    fn flush(&mut self, index: usize, out: &mut dyn FnMut(Rendered)) {
        let unit = &mut self.units[index];
        while let Some(front) = unit.waiting.front() {
            match front {
                Waiting::UnderWay(_) => break,
                Waiting::Skipped => out(Rendered::Skipped(index)),
                Waiting::Done(measurement, shows) => {
                    unit.shows.merge(*shows);
                    unit.rendered_ns = measurement.request.start.0;
                    unit.device.handle_measurement(measurement);
                    pass_on(index, unit, &mut self.cables, out);
                }
            }
            unit.waiting.pop_front();
            unit.oldest += 1;
        }
        // Not the slowest: a device that its host has not started asks for nothing.
        let rendered = self.units.iter().map(|u| u.rendered_ns).max();
        self.stats.set_rendered(rendered.unwrap_or(0));
    }

    /// Hands a device what its host sent at `at`.
    pub fn hear(&mut self, index: usize, at: SimTime, bytes: &[u8], out: &mut dyn FnMut(Rendered)) {
        let unit = &mut self.units[index];
        unit.now = unit.now.max(at);
        unit.device.handle_input(unit.now, bytes);
        pass_on(index, unit, &mut self.cables, out);
    }

    /// Tells a device that one of its hosts has connected or gone.
    pub fn meet(
        &mut self,
        index: usize,
        at: SimTime,
        peer: Peer,
        connected: bool,
        out: &mut dyn FnMut(Rendered),
    ) {
        let unit = &mut self.units[index];
        unit.now = unit.now.max(at);
        unit.device.handle_peer(unit.now, peer, connected);
        pass_on(index, unit, &mut self.cables, out);
    }

    /// Hands a device what one of its hosts sent at `at`.
    pub fn hear_peer(
        &mut self,
        index: usize,
        at: SimTime,
        peer: Peer,
        bytes: &[u8],
        out: &mut dyn FnMut(Rendered),
    ) {
        let unit = &mut self.units[index];
        unit.now = unit.now.max(at);
        unit.device.handle_peer_input(unit.now, peer, bytes);
        pass_on(index, unit, &mut self.cables, out);
    }

    /// A device's answer to a request that arrived at its web interface at `at`.
    pub fn ask(
        &mut self,
        index: usize,
        at: SimTime,
        request: &HttpRequest,
        out: &mut dyn FnMut(Rendered),
    ) -> HttpResponse {
        let unit = &mut self.units[index];
        unit.now = unit.now.max(at);
        let response = unit.device.handle_http(unit.now, request);
        pass_on(index, unit, &mut self.cables, out);
        response
    }

    /// Hands on what is still held back when no host will say anything more.
    pub fn finish(&mut self, out: &mut dyn FnMut(Rendered)) {
        for (index, unit) in self.units.iter_mut().enumerate() {
            release(index, unit, SimTime(u64::MAX), out);
        }
    }

    /// Lets the time of every device come to `now`, answered requests or not.
    pub fn advance(&mut self, now: SimTime, out: &mut dyn FnMut(Rendered)) {
        let mut place = 0;
        while let Some(index) = self.cables.in_order(place) {
            self.bring(index, now, out);
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
        let slowest = self.units.iter().map(|unit| unit.now).min().unwrap_or(end);
        let mut place = 0;
        while let Some(index) = self.cables.in_order(place) {
            let answered = self.units[index].awaited().unwrap_or(end);
            let source = self.cables.source_of(index);
            let heard = source.map_or(end, |source| self.units[source].now);
            self.bring(index, (slowest + step).min(answered).min(heard).min(end), out);
            place += 1;
        }
        self.units.iter().all(|unit| unit.now >= end)
    }

    /// Lets the time of one device come to `now`, with what arrives at it by a cable until then.
    fn bring(&mut self, index: usize, now: SimTime, out: &mut dyn FnMut(Rendered)) {
        let unit = &mut self.units[index];
        while let Some((at, signal)) = self.cables.next_arrival(index, now) {
            unit.now = unit.now.max(at);
            unit.device.handle_cable(unit.now, &signal);
            pass_on(index, unit, &mut self.cables, out);
        }
        if now > unit.now {
            unit.now = now;
            unit.device.advance(now);
            pass_on(index, unit, &mut self.cables, out);
        }
    }
}

fn pass_on(index: usize, unit: &mut Unit, cables: &mut Cables, out: &mut dyn FnMut(Rendered)) {
    while let Some(transmit) = unit.device.poll_transmit() {
        cables.carry(index, &transmit);
        let shows = unit.marks_of(&transmit);
        match &mut unit.held {
            Some(held) => held.take(transmit, shows),
            None => {
                out(Rendered::Transmit { unit: index, transmit, shows, settled: unit.settled });
            }
        }
    }
    // What is due sooner cannot be taken back any more.
    release(index, unit, SimTime(unit.now.0 + REACTION_NS), out);
    unit.settled = unit.now;
}

/// Hands on what has been held back and is due before `limit`.
fn release(index: usize, unit: &mut Unit, limit: SimTime, out: &mut dyn FnMut(Rendered)) {
    let Some(held) = &mut unit.held else { return };
    let settled = unit.settled;
    while let Some((transmit, shows)) = held.next_before(limit) {
        out(Rendered::Transmit { unit: index, transmit, shows, settled });
    }
}

fn work(world: &LiveWorld, jobs: &Receiver<Job>, done: &Sender<Done>, stats: &RenderStats) {
    let mut scratch = Scratch::default();
    scratch.set_watch(world.watch);
    for Job { unit, request, sensor, body_from_sensor, thinning } in jobs {
        scratch.set_thinning(thinning);
        let watch = Stopwatch::start();
        // Before it is measured: what comes meanwhile may be seen or not.
        let pose = world.trajectory.feed().and_then(|feed| feed.shown_at(request.end()));
        let surroundings = world.surroundings(&body_from_sensor);
        let measurement = sensor.measure(request, &surroundings, &mut scratch);
        let pulses = match &measurement.request.subject {
            Subject::Instant | Subject::Series { .. } => 0,
            Subject::Sweep(sweep) => sweep.firings.len(),
        };
        stats.count(watch.elapsed(), pulses);
        let objects = scratch.take_seen();
        let (from, to) = (measurement.request.start, measurement.request.end());
        let seen = (objects != 0).then_some(Seen { objects, from, to });
        let shows = Marks { pose, seen, stimuli: 0 };
        let is_thinned = scratch.is_thinned();
        if done.send(Done { unit, measurement, shows, is_thinned }).is_err() {
            break; // the conductor has stopped
        }
    }
}
