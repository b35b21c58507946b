//! Rights and settings that the operating system grants a real-time process.
//!
//! Each right is requested and the answer reported; a refusal is never fatal. Root has all rights. Otherwise the
//! priority needs `CAP_SYS_NICE`, and locked memory needs `CAP_IPC_LOCK` or a large `ulimit -l`.

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
/// Longest time by which the kernel may extend a sleep of the sending thread, nanoseconds; by default 50 000.
const TIMER_SLACK_NS: u64 = 1;
/// Processor time that SCHED_DEADLINE reserves for the thread in every [`DEADLINE_PERIOD`].
const DEADLINE_RUNTIME: Duration = Duration::from_micros(400);
/// Period of SCHED_DEADLINE.
const DEADLINE_PERIOD: Duration = Duration::from_micros(500);
/// Longest permitted wake-up latency of a core, microseconds. With 0, an idle core polls instead of halting. In a
/// virtual machine, a halt gives the core to other guests, which may return it late.
const WAKE_LATENCY_US: i32 = 0;
/// Bytes of the sending thread's stack that are touched in advance.
const STACK_BYTES: usize = 64 << 10;

/// Niceness of threads that answer observers. With a higher value, a page of the live view gets no answers on a busy
/// machine.
pub const ANSWERER_NICE: i32 = 10;
/// Niceness of threads that decode or forward sent packets or write ground truth: the highest value. If they are too
/// slow, packets wait for a while and are then dropped.
pub const ONLOOKER_NICE: i32 = 19;

/// A right that was requested, and the system's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Description of the requested right, for messages.
    pub wish: String,
    /// Reason for the refusal; `None` if granted.
    pub refused: Option<String>,
}

impl Grant {
    fn of<T>(wish: impl Into<String>, answer: Result<T, impl ToString>) -> Self {
        Self { wish: wish.into(), refused: answer.err().map(|error| error.to_string()) }
    }

    /// Marks this result as the standby sender's.
    pub fn of_standby(self) -> Self {
        Self { wish: format!("standby: {}", self.wish), ..self }
    }
}

/// Requests precise wake-ups for the calling thread, and binds it to the core `core` if one is given. Returns the
/// system's answers.
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
    // The kernel takes 0 as the calling thread. A `pthread_t` is no alternative: its type is an integer in one C
    // library and a pointer in another.
    let this_thread = 0 as ThreadId;
    let answer = set_thread_priority_and_policy(this_thread, priority, policy);
    let answer = answer.map_err(|error| match core {
        Some(_) => "Linux reserves no share for a thread that is bound to one core: remove \
                    `send_core`, or keep the \"fifo\" scheduler that it has now"
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
        rustix::io::Errno::INVAL => {
            "this core does not exist, or this process is not allowed to use it".to_owned()
        }
        other => other.to_string(),
    })
}

/// Lowers the priority of the calling thread and of threads that it starts: `nice` is added to the niceness. The
/// threads also leave the cores of both senders free if another core exists. Threads for observers and logs use this.
/// If the system refuses, the threads are scheduled like others.
pub fn step_back(engine: &EngineConfig, nice: i32) {
    // On Linux this changes only the calling thread.
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

/// Keeps all threads of this process off a core, until this value is dropped.
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
        // Threads that already run, such as those that load the scene or handle signals, must leave the core, too.
        set_all(&others);
        Some(Self { before })
    }
}

/// Allows every thread of this process to run on `cores`; ignores threads that have ended meanwhile.
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
        set_all(&self.before);
    }
}

/// Locks the present memory in RAM and touches every page. Later allocations are locked too if the process has
/// `CAP_IPC_LOCK` or no limit of locked memory: with a low limit, locking later memory would make allocations fail.
pub fn lock_memory() -> Grant {
    touch_stack();
    let locked = rustix::mm::mlockall(MlockAllFlags::CURRENT);
    let is_privileged =
        capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::IPC_LOCK));
    if locked.is_ok() && (is_privileged || getrlimit(Resource::Memlock).current.is_none()) {
        // With ONFAULT, pages are locked when they are touched; untouched pages stay out of RAM.
        let later = rustix::mm::mlockall(MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT);
        return Grant::of("locked memory, later memory included", later);
    }
    Grant::of("locked memory", locked)
}

#[inline(never)]
fn touch_stack() {
    std::hint::black_box([0_u8; STACK_BYTES]);
}

/// Prevents cores from entering sleep states, until this value is dropped.
#[derive(Debug)]
pub struct StayAwake {
    _held_open: File,
}

impl StayAwake {
    /// Requests that cores stay awake. The first value keeps the request in force; it is `None` if the system refuses.
    /// The second value is the system's answer. Both values are `None` if the system lacks this feature.
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
