//! Workers: threads of this process, or other processes for measurements with rays.
//!
//! Every worker gets the same result for a request. So any worker may take any request, and the sent bytes do not
//! depend on the choice.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use crossbeam_channel::Sender;

use super::packet::{FirstShown, Seen};
use super::stats::{Effort, RenderStats};
use super::work_queue::{Choice, Pace, Waiting, WorkQueue};
use super::world::LiveWorld;
use crate::config::rig::DeviceId;
use crate::config::rig::faults::FaultConfig;
use crate::frames::{self, Body, Transform};
use crate::sensors::lidar::Scratch;
use crate::sensors::{Measurement, MeasurementRequest, Sensor, Subject};
use crate::time::Epoch;
use crate::timing::clock::MonotonicClock;

/// A measurement for a worker.
pub struct Job {
    /// Device that the measurement is for.
    pub device: DeviceId,
    /// Request of the device for the measurement.
    pub request: MeasurementRequest,
    /// Sensor that makes the measurement.
    pub sensor: Arc<dyn Sensor>,
    /// Pose of the sensor on the body, or on the joint that carries it.
    pub body_from_sensor: Transform<Body, frames::Sensor>,
}

impl Job {
    /// Number of pulses, for the choice of jobs that are measured together. Only sweeps are.
    fn pulses(&self) -> usize {
        match &self.request.subject {
            Subject::Sweep(sweep) => sweep.firings.len(),
            Subject::Instant | Subject::Series { .. } | Subject::Tile(_) => usize::MAX,
        }
    }

    /// Whether the same sensor measures both jobs of a device: faults that begin or end replace it.
    fn has_sensor_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.sensor, &other.sensor)
    }
}

/// Answers that a worker gives at the same time.
pub type Answers = Vec<Answer>;

/// Answer to a [`Job`]: the measurement, or that the request was given up.
pub struct Answer {
    /// Device of the job.
    pub device: DeviceId,
    /// Index of the job's request.
    pub index: u64,
    /// `None` if the request was given up, because its packet would have been too late.
    pub measured: Option<Measured>,
}

impl Answer {
    pub(super) fn given_up(Job { device, request, .. }: Job) -> Self {
        Self { device, index: request.index, measured: None }
    }
}

/// Result of a [`Job`] that was measured.
pub struct Measured {
    /// The sensor's measurement, with fault effects and ground truth.
    pub measurement: Measurement,
    /// Events, such as a new pose, whose effect the measurement contains; for latency measurements.
    pub first_shown: FirstShown,
    /// Start time of the measurement, on the clock of [`JobQueue::now_ns`].
    pub begun_ns: i64,
    /// Whether the measurement has fewer rays per pulse than the sensor.
    pub is_thinned: bool,
}

/// Workers that measure requests with rays.
#[derive(Clone, Copy)]
pub enum Casters<'a> {
    /// Threads of this process; the value is their number.
    Threads(usize),
    /// Workers in other processes.
    Elsewhere(&'a dyn RemoteWorkers),
}

impl Casters<'_> {
    /// Number of measurements that run at the same time.
    pub fn count(&self) -> usize {
        match self {
            Self::Threads(count) => *count,
            Self::Elsewhere(remote) => remote.count(),
        }
    }
}

/// Workers in other processes, which have a copy of the world.
pub trait RemoteWorkers: Sync {
    /// Number of measurements that run at the same time, at least one.
    fn count(&self) -> usize;

    /// Identities of the ray casters, as [`LiveWorld::caster_report`].
    fn caster(&self) -> String;

    /// Starts a run whose first instant is `epoch`.
    fn begin(&self, epoch: Epoch);

    /// Adds `fault` as fault number `place` of the run, or replaces that fault by it; `text` has the keys of `fault` in
    /// TOML.
    fn change_fault(&self, place: usize, fault: &FaultConfig, text: &str);

    /// Measures requests with rays until the queue is closed or the answers are no longer
    /// received. Closes the queue if the workers are lost.
    fn work(
        &self,
        world: &LiveWorld,
        jobs: &JobQueue,
        answers: &Sender<Answers>,
        stats: &RenderStats,
    );
}

/// Kind of jobs that a thread takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobKind {
    /// Jobs that cast rays.
    Rays,
    /// Jobs without rays; they never wait for a thread that casts rays.
    NoRays,
}

/// Queue of jobs, from which threads take the next one.
pub struct JobQueue {
    state: Mutex<JobQueueState>,
    has_rays: Condvar,
    has_rayless: Condvar,
    /// Clock of the run; `None` in a recording.
    clock: Option<MonotonicClock>,
}

struct JobQueueState {
    queue: WorkQueue<Job>,
    /// Number of threads that wait for jobs with rays.
    idle: usize,
    /// Whether one of them was woken and has not looked for a job yet.
    is_waking: bool,
    is_closed: bool,
}

impl JobQueue {
    /// An empty queue for `devices` devices.
    pub fn new(pace: Pace, clock: Option<MonotonicClock>, devices: usize) -> Self {
        let queue = WorkQueue::new(pace, devices);
        let state =
            Mutex::new(JobQueueState { queue, idle: 0, is_waking: false, is_closed: false });
        Self { state, has_rays: Condvar::new(), has_rayless: Condvar::new(), clock }
    }

    /// Present time, nanoseconds since the first instant (negative before it); 0 in a recording.
    pub fn now_ns(&self) -> i64 {
        self.clock.map_or(0, |clock| clock.since_start_ns())
    }

    /// Adds a job. A job that casts rays is rejected if its packet would be too late. Returns whether the job was
    /// added. Call [`JobQueue::wake`] afterwards.
    pub fn post(&self, job: Job) -> bool {
        let (device, start) = (job.device, job.request.start);
        let needed = job.request.needed_at();
        let mut state = self.lock();
        if job.request.subject.casts_rays() {
            if state.queue.gives_up(device, needed, self.now_ns()) {
                return false;
            }
            state.queue.push(Waiting { device, start, needed, item: job });
        } else {
            state.queue.push_rayless(Waiting { device, start, needed, item: job });
            self.has_rayless.notify_one();
        }
        true
    }

    /// Wakes a thread if jobs with rays wait. A thread that leaves jobs behind wakes the next one, so that a few jobs
    /// which one thread takes together wake only that thread.
    pub fn wake(&self) {
        let mut state = self.lock();
        // In real time, jobs do not wait for a thread that was woken and has no processor.
        state.is_waking &= self.clock.is_none();
        self.wake_next(&mut state);
    }

    fn wake_next(&self, state: &mut JobQueueState) {
        if state.queue.has_rays() && state.idle > 0 && !state.is_waking {
            state.is_waking = true;
            self.has_rays.notify_one();
        }
    }

    /// Records that a packet of `device` is ready now; its measurement started at `begun_ns`.
    pub fn note_ready(&self, device: DeviceId, begun_ns: i64) {
        if self.clock.is_some() {
            self.lock().queue.note_ready(device, begun_ns, self.now_ns());
        }
    }

    /// Closes the queue: threads end after their present job.
    pub fn close(&self) {
        self.lock().is_closed = true;
        self.has_rays.notify_all();
        self.has_rayless.notify_all();
    }

    /// Whether the queue is closed.
    pub(super) fn is_closed(&self) -> bool {
        self.lock().is_closed
    }

    /// Waits for the next job of this kind. Returns the time of the choice, ns since the start of the run, and the job
    /// with the decision to measure it or to give it up; `None` if the queue is closed.
    pub(super) fn next(&self, kind: JobKind) -> Option<(i64, Choice<Job>)> {
        let (now_ns, choice) = self.next_all(kind, 0)?;
        Some((now_ns, choice.map(|mut jobs| jobs.pop().expect("at least one job"))))
    }

    /// Like [`JobQueue::next`], with further jobs of the same device as long as their sweeps have at most `most_pulses`
    /// pulses together.
    pub(super) fn next_all(
        &self,
        kind: JobKind,
        most_pulses: usize,
    ) -> Option<(i64, Choice<Vec<Job>>)> {
        let mut state = self.lock();
        loop {
            if state.is_closed {
                return None;
            }
            let now_ns = self.now_ns();
            let chosen = match kind {
                JobKind::Rays => {
                    let chosen =
                        state.queue.next_all(now_ns, most_pulses, Job::pulses, Job::has_sensor_of);
                    self.wake_next(&mut state);
                    chosen
                }
                JobKind::NoRays => {
                    state.queue.next_rayless().map(|choice| choice.map(|job| vec![job]))
                }
            };
            if let Some(chosen) = chosen {
                return Some((now_ns, chosen));
            }
            state = match kind {
                JobKind::Rays => {
                    state.idle += 1;
                    let mut state = self.has_rays.wait(state).expect("no holder panics");
                    state.idle -= 1;
                    state.is_waking = false;
                    state
                }
                JobKind::NoRays => self.has_rayless.wait(state).expect("no holder panics"),
            };
        }
    }

    /// Counts `busy_ns` of processor time for `device`.
    pub(super) fn charge(&self, device: DeviceId, busy_ns: u64) {
        self.lock().queue.charge(device, busy_ns);
    }

    fn lock(&self) -> MutexGuard<'_, JobQueueState> {
        self.state.lock().expect("no holder panics")
    }
}

/// Measures jobs of this kind until the queue is closed or the answers are no longer received.
pub fn work(
    world: &LiveWorld,
    jobs: &JobQueue,
    kind: JobKind,
    answers: &Sender<Answers>,
    stats: &RenderStats,
) {
    let mut scratch = Scratch::default();
    scratch.set_watch(world.watch);
    while let Some((begun_ns, choice)) = jobs.next_all(kind, world.caster.pulses_per_call()) {
        let answer = match choice {
            Choice::GiveUp(given_up) => given_up.into_iter().map(Answer::given_up).collect(),
            Choice::Measure(all, thinning) => {
                let device = all[0].device;
                scratch.set_thinning(thinning);
                let shows_labels = world.shows_labels.load(Ordering::Relaxed);
                scratch.keep_truth(world.keeps_truth || shows_labels);
                let count = all.len();
                let pulses = all.iter().map(|job| pulses(&job.request)).sum();
                let indices: Vec<u64> = all.iter().map(|job| job.request.index).collect();
                let (measured, effort) = Effort::of(|| measure(world, all, begun_ns, &mut scratch));
                stats.count(device, effort, count, pulses);
                if kind == JobKind::Rays {
                    jobs.charge(device, effort.busy_ns);
                }
                let answer = |(index, measured)| Answer { device, index, measured: Some(measured) };
                indices.into_iter().zip(measured).map(answer).collect()
            }
        };
        if answers.send(answer).is_err() {
            break; // the scheduler has stopped
        }
    }
}

/// Measures `jobs` of one device and sensor, at least one; a worker started them at `begun_ns`.
pub(super) fn measure(
    world: &LiveWorld,
    jobs: Vec<Job>,
    begun_ns: i64,
    scratch: &mut Scratch,
) -> Vec<Measured> {
    let Job { device, sensor, body_from_sensor, .. } = &jobs[0];
    let (sensor, surroundings) = (sensor.clone(), world.surroundings_of(*device, body_from_sensor));
    // Read before the measurement: a pose that arrives during the measurement may or may not affect it.
    let poses: Vec<_> =
        jobs.iter().map(|job| world.trajectory.shown_at(job.request.end())).collect();
    let requests = jobs.into_iter().map(|job| job.request).collect();
    let measured = sensor.measure_all(requests, &surroundings, scratch);
    let is_thinned = scratch.is_thinned();
    let measured = measured.into_iter().zip(poses).map(|(measurement, pose)| {
        let (objects, request) = (measurement.seen, &measurement.request);
        let seen = (objects != 0).then(|| Seen { objects, from: request.start, to: request.end() });
        let first_shown = FirstShown { pose, seen, ..FirstShown::default() };
        Measured { measurement, first_shown, begun_ns, is_thinned }
    });
    measured.collect()
}

/// Number of pulses or camera pixels in a request.
pub(super) fn pulses(request: &MeasurementRequest) -> usize {
    match &request.subject {
        Subject::Instant | Subject::Series { .. } => 0,
        Subject::Sweep(sweep) => sweep.firings.len(),
        Subject::Tile(tile) => tile.pixels(),
    }
}
