//! Transport of messages between ranks: queues that another thread empties and fills.

use crossbeam_channel::{Receiver, Sender};

/// One rank's end of the transport. When `post` and all its copies are dropped, the queued messages are still
/// delivered, and then the transport ends.
#[derive(Clone, Debug)]
pub struct Line {
    /// Rank and message. Sending never waits.
    pub post: Sender<(usize, Vec<u8>)>,
    /// Received messages with their rank; messages of one sender keep their order.
    pub mail: Receiver<(usize, Vec<u8>)>,
}
