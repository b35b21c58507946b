//! The ranks other than 0: they read the rig, load the world of rank 0, and measure on request.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded, unbounded};

use super::line::Line;
use super::motion;
use super::pack::{FaultNews, Load, Loaded, Order, Question, Reading, Reply, SIGNALLED};
use super::twin_world;
use crate::config::rig::fault_read::live_fault;
use crate::config::rig::faults::{DeviceFaults, FaultConfig};
use crate::config::rig::{DeviceId, Override, Rig};
use crate::config::toml::read_files::with_files;
use crate::devices;
use crate::devices::families::catalogue;
use crate::engine::certificate::digest;
use crate::engine::stats::Effort;
use crate::engine::workers::{Job, Measured, measure};
use crate::engine::world::LiveWorld;
use crate::engine::{build_devices, caster};
use crate::sensors::lidar::{Scratch, Thinning};
use crate::sensors::{FiringSlot, Measurement, MeasurementRequest, Sensor, Subject, Sweep};
use crate::time::Epoch;
use crate::world::raycast::RayCaster;

/// Interval at which a rank reports that it is alive.
const BEAT: Duration = Duration::from_secs(1);
/// Interval at which a rank checks whether it must end.
const LOOK: Duration = Duration::from_millis(50);

/// Least number of threads of a rank with a GPU. Each thread casts one packet per call, and a GPU needs many pulses at a
/// time.
const CALLERS_OF_GPU: usize = 64;

/// Number of threads of this rank.
fn callers(rig: &Rig, caster: &dyn RayCaster) -> usize {
    let workers = caster::workers(rig, caster, 0);
    let is_free = rig.engine.workers.is_none() && caster.in_flight() > 1;
    if is_free { workers.max(CALLERS_OF_GPU) } else { workers }
}

/// Report that this rank has loaded `world`.
pub fn loaded(host: String, rig: &Rig, world: &LiveWorld) -> Loaded {
    let program = format!("menura {}, {}", env!("CARGO_PKG_VERSION"), std::env::consts::ARCH);
    Loaded {
        host,
        workers: callers(rig, world.caster.as_ref()),
        caster: world.summary.caster.clone(),
        program,
        // If a program cannot read its own file, only the versions are compared.
        binary: digest::of_binary().map(|hash| hash.sha256).unwrap_or_default(),
        digests: twin_world::digests(world),
    }
}

/// Serves rank 0 on `line` until rank 0 ends the service, `stop` is set, or an error occurs, which is reported to rank
/// 0.
pub fn serve(line: &Line, host: &str, stop: &AtomicBool) {
    let (quit, over) = bounded::<()>(0);
    std::thread::scope(|scope| {
        let post = &line.post;
        scope.spawn(move || {
            while over.recv_timeout(BEAT) == Err(RecvTimeoutError::Timeout) {
                let _ = post.send((0, Reply::Beat.encode()));
            }
        });
        let attended = catch_unwind(AssertUnwindSafe(|| attend(line, host, stop)));
        let last = match attended {
            Ok(last) => last,
            Err(panic) => Some(Reply::Farewell(format!("it panicked: {}", words_of(&*panic)))),
        };
        if let Some(last) = last {
            let _ = post.send((0, last.encode()));
        }
        drop(quit);
    });
}

/// Text of a panic.
fn words_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "?".to_owned())
}

/// Last reply to rank 0 after a signal that ends this process.
fn stopped() -> Reply {
    Reply::Farewell(SIGNALLED.to_owned())
}

fn lost() -> Reply {
    Reply::Farewell("rank 0 cannot be reached".to_owned())
}

/// Loads the rig and serves rank 0's requests. Returns the last reply to send; `None` if it has been sent.
fn attend(line: &Line, host: &str, stop: &AtomicBool) -> Option<Reply> {
    let load = loop {
        match next(line, stop) {
            Next::Order(Order::Load(load)) => break load,
            Next::Order(Order::End) => return Some(Reply::Farewell(String::new())),
            Next::Order(_) | Next::Nothing => {}
            Next::Last(last) => return Some(last),
        }
    };
    // Relative paths start at rank 0's folder. If this machine lacks the folder, loading reports
    // the missing files.
    let _ = std::env::set_current_dir(&load.folder);
    let rig = match read_rig(load) {
        Ok(rig) => rig,
        Err(why) => return Some(Reply::Unable(why, true)),
    };
    let world = match LiveWorld::load(&rig) {
        Ok(world) => world,
        Err(error) => return Some(Reply::Unable(error.to_string(), true)),
    };
    let ready = loaded(host.to_owned(), &rig, &world);
    let workers = ready.workers;
    let _ = line.post.send((0, Reply::Loaded(ready).encode()));
    let (give, tasks) = unbounded();
    let (fail, failures) = unbounded();
    let told = Mutex::new(world.summary.caster.clone());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            let (tasks, fail, world, told) = (tasks.clone(), fail.clone(), &world, &told);
            scope.spawn(move || {
                let worked = catch_unwind(AssertUnwindSafe(|| work(world, &tasks, line, told)));
                if let Err(panic) = worked {
                    let _ = fail.send(words_of(&*panic));
                }
            });
        }
        // The threads end when `give` is dropped. Rank 0 does not wait for them.
        let last = give_tasks(line, stop, &rig, &world, give, &failures);
        let _ = line.post.send((0, last.encode()));
    });
    None
}

fn read_rig(load: Load) -> Result<Rig, String> {
    let Load { rig, files, sets, .. } = load;
    let sets: Vec<_> = sets.into_iter().map(|(key, value)| Override { key, value }).collect();
    let read = with_files(files, || match &rig {
        Some(path) => Rig::load(Path::new(path), &sets, catalogue()),
        None => Rig::default_rig(&sets, catalogue()),
    });
    read.map_err(|faults| faults.render(false))
}

/// Result of a short wait for a message from rank 0.
enum Next {
    Order(Order),
    Nothing,
    /// This rank must end; the value is its last reply to rank 0.
    Last(Reply),
}

fn next(line: &Line, stop: &AtomicBool) -> Next {
    if stop.load(Ordering::Relaxed) {
        return Next::Last(stopped());
    }
    match line.mail.recv_timeout(LOOK) {
        Ok((_, bytes)) => match Order::decode(&bytes) {
            Ok(order) => Next::Order(order),
            Err(garbled) => Next::Last(Reply::Farewell(garbled.to_string())),
        },
        Err(RecvTimeoutError::Timeout) => Next::Nothing,
        Err(RecvTimeoutError::Disconnected) => Next::Last(lost()),
    }
}

/// A measurement that a thread must make.
struct Task {
    ticket: u64,
    job: Job,
    thinning: Thinning,
    wants_truth: bool,
}

/// Passes requests to the threads until this rank must end; returns its last reply to rank 0.
fn give_tasks(
    line: &Line,
    stop: &AtomicBool,
    rig: &Rig,
    world: &LiveWorld,
    give: Sender<Task>,
    failures: &Receiver<String>,
) -> Reply {
    let mut sensors: Vec<Arc<dyn Sensor>> = Vec::new();
    let mut faults = rig.faults.clone();
    let mut epoch = None;
    let mut tables: HashMap<u32, Arc<[FiringSlot]>> = HashMap::new();
    loop {
        if let Ok(panic) = failures.try_recv() {
            return Reply::Farewell(format!("it panicked: {panic}"));
        }
        let order = match next(line, stop) {
            Next::Order(order) => order,
            Next::Nothing => continue,
            Next::Last(last) => return last,
        };
        match order {
            Order::Begin(second, nanosecond) => {
                let Ok(start) = jiff::Timestamp::new(second, nanosecond) else {
                    return Reply::Farewell("no instant".to_owned());
                };
                let started = Epoch::new(start);
                epoch = Some(started);
                faults.clone_from(&rig.faults);
                sensors =
                    build_devices(rig, started).into_iter().map(|built| built.sensor).collect();
                if let Some(driven) = world.trajectory.driven() {
                    driven.restart();
                }
                world.joints.restart();
            }
            Order::Table(table, firings) => {
                tables.insert(table, firings.into());
            }
            Order::Motion(motion) => motion::repeat(world, &motion),
            Order::Fault(news) => {
                let Some(epoch) = epoch else { continue };
                match changed_sensor(rig, &mut faults, news, epoch) {
                    Ok((device, sensor)) => sensors[device] = sensor,
                    Err(why) => return Reply::Farewell(why),
                }
            }
            Order::Measure(question) => match task(rig, &sensors, &tables, question) {
                Some(task) => {
                    let _ = give.send(task);
                }
                None => {
                    return Reply::Farewell("rank 0 requested an unknown measurement".to_owned());
                }
            },
            Order::End => return Reply::Farewell(String::new()),
            Order::Load(_) => {}
        }
    }
}

/// Builds a device's sensor again after a live fault was started or its end became known. Returns the index of the device
/// and the sensor, or an error text if the fault cannot be read.
fn changed_sensor(
    rig: &Rig,
    faults: &mut Vec<FaultConfig>,
    news: FaultNews,
    epoch: Epoch,
) -> Result<(usize, Arc<dyn Sensor>), String> {
    let FaultNews { place, name, text, schedule } = news;
    let (mut fault, _) =
        live_fault(&text, rig, &name, catalogue()).map_err(|told| told.render(false))?;
    fault.schedule = schedule;
    let device = fault.device;
    // Faults on the wire have an index too, but other ranks do not receive them: placeholders fill
    // the gaps.
    while faults.len() <= place {
        faults.push(FaultConfig { device: usize::MAX, ..fault.clone() });
    }
    faults[place] = fault;
    let own = DeviceFaults::of(faults, device);
    Ok((device, devices::build(&rig.devices[device], &own, rig.seed, epoch).sensor))
}

fn task(
    rig: &Rig,
    sensors: &[Arc<dyn Sensor>],
    tables: &HashMap<u32, Arc<[FiringSlot]>>,
    question: Question,
) -> Option<Task> {
    let Question { ticket, device, index, start, number, rotor, selection, receiver, .. } =
        question;
    let firings = Arc::clone(tables.get(&question.table)?);
    let sweep = Sweep { number, rotor, selection, receiver, firings };
    let job = Job {
        device: DeviceId(device),
        request: MeasurementRequest { index, start, subject: Subject::Sweep(sweep) },
        sensor: Arc::clone(sensors.get(device)?),
        body_from_sensor: rig.devices.get(device)?.body_from_sensor,
    };
    let Question { thinning, wants_truth, .. } = question;
    Some(Task { ticket, job, thinning, wants_truth })
}

/// Reports the ray caster to rank 0 if it differs from `told`, the last report.
fn tell_caster(world: &LiveWorld, line: &Line, told: &Mutex<String>) {
    let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
    let caster = world.caster_report();
    if *told != caster {
        let _ = line.post.send((0, Reply::Caster(caster.clone()).encode()));
        *told = caster;
    }
}

/// Measures until no more tasks arrive. `told` is the caster that was last reported to rank 0.
fn work(world: &LiveWorld, tasks: &Receiver<Task>, line: &Line, told: &Mutex<String>) {
    let mut scratch = Scratch::default();
    scratch.set_watch(world.watch);
    let feeds = motion::feeds(world);
    while let Ok(Task { ticket, job, thinning, wants_truth }) = tasks.recv() {
        scratch.set_thinning(thinning);
        scratch.keep_truth(wants_truth);
        let (measured, effort) = Effort::of(|| measure(world, vec![job], 0, &mut scratch).pop());
        let measured = measured.expect("one measurement for each job");
        let Measured { measurement, first_shown, is_thinned, .. } = measured;
        let Measurement { outcome, fault_effects, truth, .. } = measurement;
        let shown = feeds.iter().enumerate().flat_map(|(place, feed)| {
            feed.take_shown().into_iter().map(move |(serial, until)| (place, serial, until))
        });
        let reading = Reading {
            ticket,
            busy_ns: effort.busy_ns,
            is_thinned,
            pose: first_shown.pose,
            objects: first_shown.seen.map_or(0, |seen| seen.objects),
            outcome,
            fault_effects,
            truth: truth.map(Arc::unwrap_or_clone),
            shown: shown.collect(),
        };
        tell_caster(world, line, told);
        let reply = Reply::Answer(Box::new(reading)).encode();
        if line.post.send((0, reply)).is_err() {
            break;
        }
    }
}
