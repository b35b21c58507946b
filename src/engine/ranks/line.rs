//! What carries messages between ranks: queues, whoever empties and fills them.

use crossbeam_channel::{Receiver, Sender};

/// One rank's end. When `post` and all its copies are dropped, what was posted is still delivered, and then
/// the line ends.
#[derive(Clone, Debug)]
pub struct Line {
    /// Rank and message. Sending never waits.
    pub post: Sender<(usize, Vec<u8>)>,
    /// From which rank, and what. Of one sender in the order in which it posted.
    pub mail: Receiver<(usize, Vec<u8>)>,
}
