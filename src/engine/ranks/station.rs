//! One process among several that were started together.

use std::time::Duration;

use crossbeam_channel::Receiver;

use super::line::Line;

/// The end of a connection waits for all processes, but no longer than this for a lost one.
const LAST: Duration = Duration::from_secs(5);

/// This process among the processes that were started together.
pub struct Station {
    /// Rank of this process, from 0.
    pub rank: usize,
    /// Number of processes.
    pub processes: usize,
    /// Name of this machine.
    pub host: String,
    /// Messages to and from the other processes.
    pub line: Line,
    /// Gets a value when everything that was posted has been delivered and the connection has ended.
    pub ended: Receiver<()>,
}

impl Station {
    /// Leaves the session when all queued messages are delivered and all copies of the transport are dropped.
    /// Waits for the other processes, because MPI must be ended by all together.
    pub fn leave(self) {
        let Self { line, ended, .. } = self;
        drop(line);
        let _ = ended.recv_timeout(LAST);
    }
}
