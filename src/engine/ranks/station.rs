//! One process among several that were started together.

use std::time::Duration;

use crossbeam_channel::Receiver;

use super::line::Line;

/// The end of a connection waits for all processes; one that is gone is not waited for any longer.
const LAST: Duration = Duration::from_secs(5);

/// This process among those that were started together.
pub struct Station {
    /// Its number, from 0 on.
    pub rank: usize,
    /// How many there are.
    pub processes: usize,
    /// The name of its machine.
    pub host: String,
    /// To and from the others.
    pub line: Line,
    /// Gets a value when everything that was posted has been delivered and the connection has ended.
    pub ended: Receiver<()>,
}

impl Station {
    /// Leaves the others, once what was posted has been delivered; all copies of the line are dropped. They are
    /// waited for, as MPI's end is one that all come to together.
    pub fn leave(self) {
        let Self { line, ended, .. } = self;
        drop(line);
        let _ = ended.recv_timeout(LAST);
    }
}
