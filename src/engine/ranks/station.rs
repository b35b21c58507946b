//! One process among several that were started together.

use std::time::Duration;

use crossbeam_channel::Receiver;

use super::line::Line;

/// Longest wait for a lost process at the end of the session: MPI ends only when all processes end it.
const LAST: Duration = Duration::from_secs(5);

/// This process among the processes that were started together.
pub struct Station {
    /// Rank of this process, from 0.
    pub rank: usize,
    /// Number of processes.
    pub processes: usize,
    /// Name of this machine.
    pub host: String,
    /// Transport of messages to and from the other processes.
    pub line: Line,
    /// Receives a value when the session has ended, after the delivery of all queued messages.
    pub ended: Receiver<()>,
}

impl Station {
    /// Leaves the session when all queued messages are delivered and all copies of the transport are dropped. Waits at
    /// most five seconds for the other processes, because all of them must end MPI together.
    pub fn leave(self) {
        let Self { line, ended, .. } = self;
        drop(line);
        let _ = ended.recv_timeout(LAST);
    }
}
