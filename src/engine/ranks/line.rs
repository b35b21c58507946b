//! Transport of messages between ranks: two queues, which the thread of the transport empties and fills.

use crossbeam_channel::{Receiver, Sender};

/// One rank's end of the transport. When `post` and all its copies are dropped, the queued messages are still
/// delivered, and then the transport ends.
#[derive(Clone, Debug)]
pub struct Line {
    /// Queue of messages to send, each with the receiving rank. Sending never waits.
    pub post: Sender<(usize, Vec<u8>)>,
    /// Received messages, each with the sending rank; messages of one sender keep their order.
    pub mail: Receiver<(usize, Vec<u8>)>,
}
