//! Rights and settings that the operating system grants a real-time process.
//!
//! Each wish is asked for and the answer reported; a refusal is never fatal. Rights: root, or
//! `CAP_SYS_NICE` for the priority and `CAP_IPC_LOCK` (or a large `ulimit -l`) for the memory.

use std::fs::File;
use std::io::Write;
use std::num::NonZeroU64;
use std::time::Duration;

use rustix::mm::MlockAllFlags;
use rustix::process::{Pid, Resource, getrlimit};
use rustix::thread::{CapabilitySet, CpuSet, capabilities, sched_getaffinity, sched_setaffinity};
use thread_priority::{
    RealtimeThreadSchedulePolicy, ThreadId, ThreadPriority, ThreadPriorityValue,
    ThreadSchedulePolicy, set_thread_priority_and_policy, thread_native_id,
};

use crate::config::rig::{EngineConfig, SchedulerChoice};

/// Priority of the sending thread: above ordinary threads, below the kernel's own interrupt
/// threads at 50.
const SENDER_PRIORITY: u8 = 40;
/// Largest rounding of a sleep by the kernel, nanoseconds. The default is 50 000.
const TIMER_SLACK_NS: u64 = 1;
/// Share that SCHED_DEADLINE reserves: this part of a core in every period.
const DEADLINE_RUNTIME: Duration = Duration::from_micros(400);
const DEADLINE_PERIOD: Duration = Duration::from_micros(500);
/// Longest permitted wake-up time of a core, microseconds. With 0 an idle core does not even halt. In a
/// virtual machine a halt gives the core to other guests, which may return it late.
const WAKE_LATENCY_US: i32 = 0;
/// Bytes of the sending thread's stack that are touched before they are needed.
const STACK_BYTES: usize = 64 << 10;

/// Niceness of threads that answer observers. With more, a page gets no answers on a busy machine.
pub const ANSWERER_NICE: i32 = 10;
/// Niceness of threads that decode sent packets, pass them on or write ground truth: the highest one. Packets
/// that they have no time for are kept for a while, then dropped.
pub const ONLOOKER_NICE: i32 = 19;

/// A wish and the system's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The request.
    pub wish: String,
    /// Reason of the refusal.
    pub refused: Option<String>,
}

impl Grant {
    fn of<T>(wish: impl Into<String>, answer: Result<T, impl ToString>) -> Self {
        Self { wish: wish.into(), refused: answer.err().map(|error| error.to_string()) }
    }

    /// The same result, for the standby sender.
    pub fn of_standby(self) -> Self {
        Self { wish: format!("standby: {}", self.wish), ..self }
    }
}

/// Requests precise wake-ups for the calling thread, and the core `core` if one is given.
pub fn favour_this_thread(scheduler: SchedulerChoice, core: Option<usize>) -> Vec<Grant> {
    let slack = rustix::thread::set_current_timer_slack(NonZeroU64::new(TIMER_SLACK_NS));
    let mut grants = vec![Grant::of("timer slack of 1 ns", slack)];
    if let Some(core) = core {
        grants.push(Grant::of(format!("core {core} for the sender"), pin_to(core)));
    }
    match scheduler {
        SchedulerChoice::Fifo => grants.push(fifo()),
        SchedulerChoice::Normal => {}
        SchedulerChoice::Deadline => {
            let reserved = deadline(core);
            let is_refused = reserved.refused.is_some();
            grants.push(reserved);
            if is_refused {
                grants.push(fifo());
            }
        }
    }
    grants
}

fn fifo() -> Grant {
    let wish = "real-time priority (SCHED_FIFO 40)";
    let priority = ThreadPriorityValue::try_from(SENDER_PRIORITY)
        .map_err(|error| error.to_string())
        .and_then(|value| {
            set_thread_priority_and_policy(
                thread_native_id(),
                ThreadPriority::Crossplatform(value),
                ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo),
            )
            .map_err(|error| error.to_string())
        });
    Grant::of(wish, priority)
}

fn deadline(core: Option<usize>) -> Grant {
    let priority = ThreadPriority::Deadline {
        runtime: DEADLINE_RUNTIME,
        deadline: DEADLINE_PERIOD,
        period: DEADLINE_PERIOD,
        flags: thread_priority::DeadlineFlags::default(),
    };
    let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Deadline);
    // The kernel knows this thread by 0; its other name for threads is not pthread's, which is a
    // number in one C library and a pointer in another.
    let this_thread = 0 as ThreadId;
    let answer = set_thread_priority_and_policy(this_thread, priority, policy);
    let answer = answer.map_err(|error| match core {
        Some(_) => "Linux reserves no share for a thread that is kept to one core: leave \
                    `send_core` out, or keep the \"fifo\" that it has now"
            .to_owned(),
        None => error.to_string(),
    });
    Grant::of("a reserved share of a core (SCHED_DEADLINE, 400 of 500 us)", answer)
}

fn pin_to(core: usize) -> Result<(), String> {
    if core >= CpuSet::MAX_CPU {
        return Err(format!("cores are numbered below {}", CpuSet::MAX_CPU));
    }
    let mut only = CpuSet::new();
    only.set(core);
    sched_setaffinity(None, &only).map_err(|error| match error {
        rustix::io::Errno::INVAL => "there is no such core, or it is not ours to use".to_owned(),
        other => other.to_string(),
    })
}

/// Lowers the priority of the calling thread and of threads that it starts. With `nice` added to the
/// niceness, they get little of a busy processor, and they leave the cores of both senders free if another
/// core exists. Threads for observers and logs use this. A refusal is harmless: the thread is then scheduled
/// as others are.
pub fn step_back(engine: &EngineConfig, nice: i32) {
    // Only this thread's, on Linux.
    let _ = rustix::process::nice(nice);
    let Ok(mut cores) = sched_getaffinity(None) else { return };
    for core in engine.send_core.into_iter().chain(engine.standby_core) {
        if core < CpuSet::MAX_CPU {
            cores.unset(core);
        }
    }
    if cores.count() > 0 {
        let _ = sched_setaffinity(None, &cores);
    }
}

/// Keeps all threads of this process off a core, until this is dropped.
#[derive(Debug)]
pub struct KeptOff {
    before: CpuSet,
}

impl KeptOff {
    /// Keeps `core` free; `None` if that is impossible, as on a single core.
    pub fn core(core: usize) -> Option<Self> {
        let before = sched_getaffinity(None).ok()?;
        let mut others = before;
        if core < CpuSet::MAX_CPU {
            others.unset(core);
        }
        if others.count() == 0 || sched_setaffinity(None, &others).is_err() {
            return None;
        }
        // Those that run already: of the scene's loader, of the signals.
        set_all(&others);
        Some(Self { before })
    }
}

/// Lets every thread of this process run on `cores`; ignores threads that have ended meanwhile.
fn set_all(cores: &CpuSet) {
    for task in std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
        let thread = task.file_name().to_str().and_then(|name| name.parse().ok());
        if let Some(thread) = thread.and_then(Pid::from_raw) {
            let _ = sched_setaffinity(Some(thread), cores);
        }
    }
}

impl Drop for KeptOff {
    fn drop(&mut self) {
        // Was allowed before.
        set_all(&self.before);
    }
}

/// Locks the present memory in RAM, touching every page, and later allocations as well if no limit prevents
/// that. With a low limit, locking later memory would make allocations fail.
pub fn lock_memory() -> Grant {
    touch_stack();
    let locked = rustix::mm::mlockall(MlockAllFlags::CURRENT);
    let is_privileged =
        capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::IPC_LOCK));
    if locked.is_ok() && (is_privileged || getrlimit(Resource::Memlock).current.is_none()) {
        // Pages are locked as they are touched: nothing is brought in that nobody needs.
        let later = rustix::mm::mlockall(MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT);
        return Grant::of("locked memory, later memory included", later);
    }
    Grant::of("locked memory", locked)
}

#[inline(never)]
fn touch_stack() {
    std::hint::black_box([0_u8; STACK_BYTES]);
}

/// Forbids cores to enter sleep states, until this is dropped.
#[derive(Debug)]
pub struct StayAwake {
    _held_open: File,
}

impl StayAwake {
    /// Requests it. Returns `None` and the refusal if the system does not allow it, and no grant if the
    /// system lacks the feature.
    pub fn ask() -> (Option<Self>, Option<Grant>) {
        let wish = "cores that stay awake";
        let opened = File::options().write(true).open("/dev/cpu_dma_latency");
        let asked = opened.and_then(|mut file| {
            file.write_all(&WAKE_LATENCY_US.to_ne_bytes())?;
            Ok(Self { _held_open: file })
        });
        match asked {
            Ok(held) => (Some(held), Some(Grant { wish: wish.into(), refused: None })),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => (None, None),
            Err(error) => {
                (None, Some(Grant { wish: wish.into(), refused: Some(error.to_string()) }))
            }
        }
    }
}
