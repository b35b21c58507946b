//! Rank 0: sends requests to the other ranks and receives their replies.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};

use super::line::Line;
use super::motion::{self, SentMotion};
use super::pack::{FaultNews, Load, Loaded, Order, Question, Reading, Reply, SIGNALLED};
use super::twin_world;
use crate::config::rig::DeviceId;
use crate::config::rig::faults::FaultConfig;
use crate::engine::packet::{FirstShown, Seen};
use crate::engine::stats::{Effort, RenderStats};
use crate::engine::work_queue::Choice;
use crate::engine::workers::{
    Answer, Answers, Job, JobKind, JobQueue, Measured, RemoteWorkers, measure, pulses,
};
use crate::engine::world::LiveWorld;
use crate::sensors::lidar::{Scratch, Thinning};
use crate::sensors::{FiringSlot, Measurement, MeasurementRequest, Subject, Sweep};
use crate::time::Epoch;
use crate::timing::clock::Stopwatch;

/// Largest number of unanswered requests that a rank has per thread. A thread works on one request; the others are in
/// transfer or wait, so that the thread has its next request at once.
const ASKED_PER_WORKER: usize = 3;
/// Number of pulse tables that each rank keeps.
const TABLES: usize = 64;
/// A rank that sends nothing for this long counts as lost; each rank sends a message every second.
const SILENCE: Duration = Duration::from_secs(20);
/// Interval at which the state of the run is checked while no message arrives.
const LOOK: Duration = Duration::from_millis(20);
/// Longest time for a signal of the launcher to reach all processes (an assumption).
const SIGNALS: Duration = Duration::from_millis(300);
/// Longest wait for the farewells of the other ranks after a complete run.
const FAREWELL: Duration = Duration::from_secs(10);
/// Longest wait for the farewells if the launcher may be ending all processes. It must be shorter than the time after
/// which the launcher kills the processes, for which one second is assumed.
const HURRIED_FAREWELL: Duration = Duration::from_millis(500);

/// Reason why the other ranks cannot measure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unable {
    /// Message that names the rank and the reason.
    pub text: String,
    /// Whether the user's input is the cause.
    pub is_input: bool,
}

/// Statistics of the traffic between rank 0 and another rank.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RankFigures {
    /// Number of the rank.
    pub rank: usize,
    /// Name of the rank's machine.
    pub host: String,
    /// Number of the rank's worker threads, which make the measurements.
    pub workers: usize,
    /// Identity of the rank's ray caster, with a note if a GPU has cast no pulses or was lost.
    pub caster: String,
    /// Number of answered requests.
    pub answers: u64,
    /// Bytes of all messages to the rank: requests, motion, tables and others.
    pub order_bytes: u64,
    /// Bytes of all answers.
    pub answer_bytes: u64,
    /// Sum over all requests of the time from sending the request to receiving its answer, nanoseconds.
    pub away_ns: u64,
    /// Part of `away_ns` for which the rank's threads worked on the requests.
    pub busy_ns: u64,
}

/// State of the other ranks, as seen by rank 0.
pub struct Lead {
    line: Line,
    others: Vec<Other>,
    state: Mutex<State>,
    stop: OnceLock<Arc<AtomicBool>>,
    /// Number of the next request, counted over all runs of this process.
    ticket: AtomicU64,
}

struct Other {
    loaded: OnceLock<Loaded>,
    figures: Mutex<RankFigures>,
}

#[derive(Default)]
struct State {
    /// Faults that started during the run, as encoded messages.
    faults: Vec<Vec<u8>>,
    /// Reason for the loss of ranks; `None` if none is lost.
    lost: Option<String>,
    /// Ranks whose farewell has arrived.
    farewells: Vec<usize>,
}

/// A request without an answer yet.
struct Pending {
    rank: usize,
    device: DeviceId,
    request: MeasurementRequest,
    begun_ns: i64,
    asked: Stopwatch,
}

type Waiting = Mutex<HashMap<u64, Pending>>;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Lead {
    /// Creates the state for `processes` processes, including this one.
    pub fn new(line: Line, processes: usize) -> Self {
        let other = |rank| Other {
            loaded: OnceLock::new(),
            figures: Mutex::new(RankFigures { rank, ..RankFigures::default() }),
        };
        Self {
            line,
            others: (1..processes).map(other).collect(),
            state: Mutex::default(),
            stop: OnceLock::new(),
            ticket: AtomicU64::new(0),
        }
    }

    /// Registers a flag that is set when a rank is lost, so that the run ends as if it were stopped.
    pub fn stop_if_lost(&self, stop: Arc<AtomicBool>) {
        let _ = self.stop.set(stop);
    }

    /// Requests that the other ranks load a rig.
    pub fn load(&self, load: &Load) {
        self.tell_all(&Order::Load(load.clone()).encode());
    }

    /// Waits until all ranks have loaded their data, and compares them with `own`, the data of this process.
    ///
    /// # Errors
    /// A rank has loaded other data or none, or `stop` was set; the text names the rank and the reason.
    pub fn gather(&self, own: &Loaded, stop: &AtomicBool) -> Result<(), Unable> {
        let input = |text| Unable { text, is_input: true };
        let mut heard = self.stopwatches();
        while self.others.iter().any(|other| other.loaded.get().is_none()) {
            if stop.load(Ordering::Relaxed) {
                let text = "stopped before all ranks had loaded the world".to_owned();
                return Err(Unable { text, is_input: false });
            }
            match self.listen(&mut heard) {
                Ok(None) => {}
                Ok(Some((rank, Reply::Loaded(loaded), _))) => {
                    let other = &self.others[rank - 1];
                    let mut figures = lock(&other.figures);
                    figures.host.clone_from(&loaded.host);
                    figures.workers = loaded.workers;
                    figures.caster.clone_from(&loaded.caster);
                    let _ = other.loaded.set(loaded);
                }
                Ok(Some((rank, Reply::Farewell(why), _))) => {
                    return Err(Unable { text: self.ended(rank, &why), is_input: false });
                }
                Ok(Some((rank, Reply::Unable(why, is_input), _))) => {
                    return Err(Unable { text: format!("{}: {why}", self.name(rank)), is_input });
                }
                Ok(Some((_, Reply::Answer(_) | Reply::Beat | Reply::Caster(_), _))) => {}
                Err(text) => return Err(Unable { text, is_input: false }),
            }
        }
        for (index, other) in self.others.iter().enumerate() {
            let Some(loaded) = other.loaded.get() else { continue };
            let name = self.name(index + 1);
            if loaded.program != own.program
                || loaded.binary != own.binary
                    && !loaded.binary.is_empty()
                    && !own.binary.is_empty()
            {
                return Err(input(format!(
                    "{name} runs another program ({}) than rank 0 ({}); use the same build of \
                     menura on every machine, so that the bytes are the same",
                    loaded.program, own.program,
                )));
            }
            if let Some(what) = twin_world::difference(&own.digests, &loaded.digests) {
                return Err(input(format!(
                    "{name} has loaded different data than rank 0: {what} differs; use the same \
                     files under the same paths on every machine",
                )));
            }
        }
        Ok(())
    }

    /// Traffic with each of the other ranks so far.
    pub fn figures(&self) -> Vec<RankFigures> {
        self.others.iter().map(|other| lock(&other.figures).clone()).collect()
    }

    /// Ends the session: sends farewells and waits for the farewells of the other ranks. The wait is shorter if the run
    /// was stopped or a rank is lost, because the launcher may then end all processes.
    ///
    /// # Errors
    /// Farewells are missing or a rank was lost; the text names the ranks and the reason.
    pub fn finish(&self, is_stopped: bool) -> Result<(), String> {
        self.tell_all(&Order::End.encode());
        let lost = lock(&self.state).lost.clone();
        let patience = match is_stopped || lost.is_some() {
            true => HURRIED_FAREWELL,
            false => FAREWELL,
        };
        let watch = Stopwatch::start();
        let mut silent = self.silent();
        while !silent.is_empty() && watch.elapsed() < patience {
            let (rank, bytes) = match self.line.mail.recv_timeout(LOOK) {
                Ok(mail) => mail,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            if let Ok(Reply::Farewell(_) | Reply::Unable(..)) = Reply::decode(&bytes) {
                lock(&self.state).farewells.push(rank);
                silent = self.silent();
            }
        }
        match lost {
            // Each rank sends a farewell even when a signal ends it, so silent ranks were lost.
            _ if !silent.is_empty() => {
                let names: Vec<_> = silent.iter().map(|rank| self.name(*rank)).collect();
                let names = names.join(", ");
                // Over TCP, Open MPI delivers no message from any rank after one rank has crashed.
                Err(match silent.len() {
                    1 => format!("{names} has crashed: it no longer answers"),
                    _ => format!(
                        "at least one of {names} has crashed, none of them answers; the launcher \
                         reports which"
                    ),
                })
            }
            Some(lost) => Err(lost),
            None => Ok(()),
        }
    }

    fn ended(&self, rank: usize, why: &str) -> String {
        format!("{} has ended: {why}", self.name(rank))
    }

    fn silent(&self) -> Vec<usize> {
        let state = lock(&self.state);
        (1..=self.others.len()).filter(|rank| !state.farewells.contains(rank)).collect()
    }

    /// Name of a rank in messages.
    fn name(&self, rank: usize) -> String {
        match self.others.get(rank.wrapping_sub(1)).and_then(|other| other.loaded.get()) {
            Some(loaded) => format!("rank {rank} ({})", loaded.host),
            None => format!("rank {rank}"),
        }
    }

    fn tell_all(&self, order: &[u8]) {
        for rank in 1..=self.others.len() {
            self.tell(rank, order.to_vec());
        }
    }

    fn tell(&self, rank: usize, order: Vec<u8>) {
        lock(&self.others[rank - 1].figures).order_bytes += order.len() as u64;
        // If nobody receives the message, no answer arrives either, and the rank counts as lost.
        let _ = self.line.post.send((rank, order));
    }

    fn stopwatches(&self) -> Vec<Stopwatch> {
        self.others.iter().map(|_| Stopwatch::start()).collect()
    }

    /// Next reply with its sender and length in bytes; `None` if none arrives within [`LOOK`]. `heard` has the time
    /// since the last message of each rank; a rank that was silent for too long is an error.
    fn listen(&self, heard: &mut [Stopwatch]) -> Result<Option<(usize, Reply, u64)>, String> {
        let (rank, bytes) = match self.line.mail.recv_timeout(LOOK) {
            Ok(mail) => mail,
            Err(RecvTimeoutError::Disconnected) => {
                return Err("the other ranks can no longer be reached".to_owned());
            }
            Err(RecvTimeoutError::Timeout) => {
                let silent = heard.iter().position(|watch| watch.elapsed() > SILENCE);
                return match silent {
                    None => Ok(None),
                    Some(index) => Err(format!(
                        "{} has crashed or cannot be reached: no message from it for {} s",
                        self.name(index + 1),
                        SILENCE.as_secs(),
                    )),
                };
            }
        };
        if let Some(watch) = heard.get_mut(rank.wrapping_sub(1)) {
            *watch = Stopwatch::start();
        }
        match Reply::decode(&bytes) {
            Err(garbled) => Err(format!("{}: {garbled}", self.name(rank))),
            Ok(reply) => {
                match &reply {
                    Reply::Farewell(_) | Reply::Unable(..) => {
                        lock(&self.state).farewells.push(rank);
                    }
                    Reply::Caster(caster) => {
                        if let Some(other) = self.others.get(rank.wrapping_sub(1)) {
                            lock(&other.figures).caster.clone_from(caster);
                        }
                    }
                    Reply::Loaded(_) | Reply::Answer(_) | Reply::Beat => {}
                }
                Ok(Some((rank, reply, bytes.len() as u64)))
            }
        }
    }

    /// Passes jobs of the queue to ranks with room for them.
    fn ask(
        &self,
        world: &LiveWorld,
        jobs: &JobQueue,
        rooms: &Receiver<usize>,
        waiting: &Waiting,
        answers: &Sender<Answers>,
    ) {
        let mut partners: Vec<_> = self.others.iter().map(|_| Partner::default()).collect();
        let mut tables = Tables::default();
        let mut scratch = Scratch::default();
        while let Ok(rank) = rooms.recv() {
            // The job is chosen only when a rank has room.
            let (begun_ns, job, thinning) = loop {
                match jobs.next(JobKind::Rays) {
                    None => return,
                    // This rank renders images itself: the other ranks only measure sweeps.
                    Some((begun_ns, Choice::Measure(job, _)))
                        if matches!(job.request.subject, Subject::Tile(_)) =>
                    {
                        let (device, index) = (job.device, job.request.index);
                        let measured = measure(world, vec![job], begun_ns, &mut scratch).pop();
                        if answers.send(vec![Answer { device, index, measured }]).is_err() {
                            return;
                        }
                    }
                    Some((begun_ns, Choice::Measure(job, thinning))) => {
                        break (begun_ns, job, thinning);
                    }
                    Some((_, Choice::GiveUp(job))) => {
                        if answers.send(vec![Answer::given_up(job)]).is_err() {
                            return;
                        }
                    }
                }
            };
            let partner = &mut partners[rank - 1];
            for fault in lock(&self.state).faults.iter().skip(partner.faults) {
                partner.faults += 1;
                self.tell(rank, fault.clone());
            }
            if let Some(motion) = partner.sent.news(world) {
                self.tell(rank, Order::Motion(motion).encode());
            }
            let Subject::Sweep(sweep) = &job.request.subject else {
                continue; // no other subject casts rays
            };
            let (table, age) = tables.of(&sweep.firings);
            if partner.tables.get(&table) != Some(&age) {
                partner.tables.insert(table, age);
                self.tell(rank, Order::Table(table, sweep.firings.to_vec()).encode());
            }
            let ticket = self.ticket.fetch_add(1, Ordering::Relaxed);
            let wants_truth = world.keeps_truth || world.shows_labels.load(Ordering::Relaxed);
            let how = How { ticket, table, thinning, wants_truth };
            let order = Order::Measure(question(job.device, &job.request, sweep, how)).encode();
            let Job { device, request, .. } = job;
            let asked = Stopwatch::start();
            let pending = Pending { rank, device, request, begun_ns, asked };
            lock(waiting).insert(ticket, pending);
            self.tell(rank, order);
        }
    }

    /// Receives replies until the queue is closed. Returns the reason if ranks are lost and the queue must be closed.
    fn collect(
        &self,
        world: &LiveWorld,
        jobs: &JobQueue,
        room: &Sender<usize>,
        waiting: &Waiting,
        answers: &Sender<Answers>,
        stats: &RenderStats,
    ) -> Option<String> {
        let mut heard = self.stopwatches();
        let feeds = motion::feeds(world);
        let mut signalled: Option<(Stopwatch, String)> = None;
        while !jobs.is_closed() {
            if self.stop.get().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                return None;
            }
            if let Some((_, ended)) = signalled.take_if(|(since, _)| since.elapsed() > SIGNALS) {
                return Some(ended);
            }
            let (rank, reading, bytes) = match self.listen(&mut heard) {
                Ok(Some((rank, Reply::Answer(reading), bytes))) => (rank, reading, bytes),
                Ok(Some((rank, Reply::Unable(why, _), _))) => {
                    return Some(format!("{}: {why}", self.name(rank)));
                }
                Ok(Some((rank, Reply::Farewell(why), _))) => {
                    let ended = self.ended(rank, &why);
                    // If a launcher ends all processes, its signal soon reaches this process too, and the run then
                    // stops. Otherwise the rank counts as lost after `SIGNALS`.
                    if why != SIGNALLED {
                        return Some(ended);
                    }
                    signalled.get_or_insert((Stopwatch::start(), ended));
                    continue;
                }
                Ok(None | Some(_)) => continue,
                Err(lost) => return Some(lost),
            };
            // Answers to requests of an earlier run are ignored.
            let Some(pending) = lock(waiting).remove(&reading.ticket) else { continue };
            {
                let mut figures = lock(&self.others[rank - 1].figures);
                figures.answers += 1;
                figures.answer_bytes += bytes;
                figures.away_ns += pending.asked.elapsed().as_nanos() as u64;
                figures.busy_ns += reading.busy_ns;
            }
            for (feed, serial, until) in &reading.shown {
                if let Some(feed) = feeds.get(*feed) {
                    feed.note_shown(*serial, *until);
                }
            }
            // A rank does not report the time in which its thread had no processor, so both times are the same here.
            let effort = Effort { busy_ns: reading.busy_ns, lasted_ns: reading.busy_ns };
            stats.count(pending.device, effort, 1, pulses(&pending.request));
            jobs.charge(pending.device, effort.busy_ns);
            let _ = room.send(pending.rank);
            if answers.send(vec![answer(pending, *reading)]).is_err() {
                return None; // the scheduler has stopped
            }
        }
        None
    }
}

impl RemoteWorkers for Lead {
    fn count(&self) -> usize {
        let workers = self.others.iter().filter_map(|other| Some(other.loaded.get()?.workers));
        workers.sum::<usize>().max(1)
    }

    fn caster(&self) -> String {
        let figures = self.figures();
        let first = figures.first().map(|one| one.caster.clone()).unwrap_or_default();
        if figures.iter().all(|one| one.caster == first) {
            return first;
        }
        let each = figures.iter().map(|one| format!("rank {}: {}", one.rank, one.caster));
        each.collect::<Vec<_>>().join("; ")
    }

    fn begin(&self, epoch: Epoch) {
        lock(&self.state).faults.clear();
        let start = epoch.start();
        let order = Order::Begin(start.as_second(), start.subsec_nanosecond());
        self.tell_all(&order.encode());
    }

    fn change_fault(&self, place: usize, fault: &FaultConfig, text: &str) {
        let (name, text) = (fault.name.clone(), text.to_owned());
        let news = FaultNews { place, name, text, schedule: fault.schedule };
        lock(&self.state).faults.push(Order::Fault(news).encode());
    }

    fn work(
        &self,
        world: &LiveWorld,
        jobs: &JobQueue,
        answers: &Sender<Answers>,
        stats: &RenderStats,
    ) {
        let (room, rooms) = unbounded();
        let workers = |other: &Other| other.loaded.get().map_or(1, |loaded| loaded.workers.max(1));
        let most = self.others.iter().map(workers).max().unwrap_or(1);
        // The first thread of every rank comes before the second thread of any rank.
        for place in 0..most * ASKED_PER_WORKER {
            for (index, other) in self.others.iter().enumerate() {
                if place < workers(other) * ASKED_PER_WORKER {
                    let _ = room.send(index + 1);
                }
            }
        }
        let waiting = Waiting::default();
        std::thread::scope(|scope| {
            scope.spawn(|| self.ask(world, jobs, &rooms, &waiting, answers));
            let lost = self.collect(world, jobs, &room, &waiting, answers, stats);
            if let Some(lost) = lost {
                lock(&self.state).lost.get_or_insert(lost);
                if let Some(stop) = self.stop.get() {
                    stop.store(true, Ordering::Relaxed);
                }
            }
            jobs.close();
            drop(room);
        });
    }
}

/// State of one of the other ranks: the data that it has received so far.
#[derive(Default)]
struct Partner {
    sent: SentMotion,
    /// Number of faults that the rank has received.
    faults: usize,
    /// Serial number of the pulse table in each slot.
    tables: HashMap<u32, u64>,
}

/// Pulse tables of sweeps. Each new table gets the next serial number, its `age`. By this number, a table is sent only
/// to ranks that lack it.
#[derive(Default)]
struct Tables {
    known: Vec<(Arc<[FiringSlot]>, u64)>,
    age: u64,
}

impl Tables {
    /// Returns the slot and the serial number of the table for `firings`. If all slots are in use, a new table replaces
    /// the oldest one.
    fn of(&mut self, firings: &Arc<[FiringSlot]>) -> (u32, u64) {
        let same = |known: &Arc<[FiringSlot]>| Arc::ptr_eq(known, firings) || known == firings;
        if let Some(place) = self.known.iter().position(|(known, _)| same(known)) {
            return (place as u32, self.known[place].1);
        }
        self.age += 1;
        if self.known.len() < TABLES {
            self.known.push((Arc::clone(firings), self.age));
            return (self.known.len() as u32 - 1, self.age);
        }
        let oldest = self.known.iter().enumerate().min_by_key(|(_, (_, age))| *age);
        let place = oldest.map_or(0, |(place, _)| place);
        self.known[place] = (Arc::clone(firings), self.age);
        (place as u32, self.age)
    }
}

/// Parts of a [`Question`] that do not come from the device's measurement request.
struct How {
    ticket: u64,
    table: u32,
    thinning: Thinning,
    wants_truth: bool,
}

/// Builds the question that asks a rank to measure `sweep`, the sweep of the device's `request`.
fn question(device: DeviceId, request: &MeasurementRequest, sweep: &Sweep, how: How) -> Question {
    let How { ticket, table, thinning, wants_truth } = how;
    Question {
        ticket,
        device: device.0,
        index: request.index,
        start: request.start,
        number: sweep.number,
        rotor: sweep.rotor.clone(),
        selection: sweep.selection,
        receiver: sweep.receiver,
        table,
        thinning,
        wants_truth,
    }
}

/// Builds the answer that a thread of this process would have given.
fn answer(pending: Pending, reading: Reading) -> Answer {
    let Pending { device, request, begun_ns, .. } = pending;
    let (index, from, to) = (request.index, request.start, request.end());
    let Reading { is_thinned, pose, objects, outcome, fault_effects, truth, .. } = reading;
    let seen = (objects != 0).then_some(Seen { objects, from, to });
    let first_shown = FirstShown { pose, seen, ..FirstShown::default() };
    let truth = truth.map(Arc::new);
    let measurement = Measurement { fault_effects, truth, ..Measurement::new(request, outcome) };
    Answer {
        device,
        index,
        measured: Some(Measured { measurement, first_shown, begun_ns, is_thinned }),
    }
}
