//! What the operating system grants a real-time process.
//!
//! Each wish is asked for and the answer reported; a refusal is never fatal. Rights: root, or
//! `CAP_SYS_NICE` for the priority and `CAP_IPC_LOCK` (or a large `ulimit -l`) for the memory.

use std::num::NonZeroU64;

use thread_priority::{
    RealtimeThreadSchedulePolicy, ThreadPriority, ThreadPriorityValue, ThreadSchedulePolicy,
    set_thread_priority_and_policy, thread_native_id,
};

/// Priority of the sending thread: above ordinary threads, below the kernel's own interrupt
/// threads at 50.
const SENDER_PRIORITY: u8 = 40;
/// How much the kernel may round a sleep up, nanoseconds. The default is 50 000.
const TIMER_SLACK_NS: u64 = 1;

/// A wish and the system's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// What was asked for.
    pub wish: &'static str,
    /// Why it was refused.
    pub refused: Option<String>,
}

/// Asks for precise wake-ups of the calling thread.
pub fn favour_this_thread() -> Vec<Grant> {
    let slack = rustix::thread::set_current_timer_slack(NonZeroU64::new(TIMER_SLACK_NS));
    let priority = ThreadPriorityValue::try_from(SENDER_PRIORITY)
        .map_err(|e| e.to_string())
        .and_then(|value| {
            set_thread_priority_and_policy(
                thread_native_id(),
                ThreadPriority::Crossplatform(value),
                ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo),
            )
            .map_err(|e| e.to_string())
        });
    vec![
        Grant { wish: "timer slack of 1 ns", refused: slack.err().map(|e| e.to_string()) },
        Grant { wish: "real-time priority (SCHED_FIFO 40)", refused: priority.err() },
    ]
}

/// Asks for the memory in use now to stay in RAM. Memory allocated later is not locked: where the
/// limit is low, that would make allocations fail.
pub fn lock_memory() -> Grant {
    let locked = rustix::mm::mlockall(rustix::mm::MlockAllFlags::CURRENT);
    Grant { wish: "locked memory", refused: locked.err().map(|e| e.to_string()) }
}
