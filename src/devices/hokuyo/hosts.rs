//! Connected hosts and their unanswered requests.

use crate::time::SimTime;
use crate::waiting::WaitingRequests;
use crate::wire::port::Peer;
use crate::wire::scip::request::{RequestLine, RequestLines};

/// A connected host.
#[derive(Debug)]
pub struct Host {
    /// Connection and address of the host; `None` on a serial line.
    pub peer: Option<Peer>,
    lines: RequestLines,
    /// Unanswered requests.
    pub waiting: WaitingRequests<RequestLine>,
}

impl Host {
    /// A host that has just connected.
    pub fn new(peer: Option<Peer>) -> Self {
        Self { peer, lines: RequestLines::default(), waiting: WaitingRequests::default() }
    }

    /// Splits bytes that arrived at `now` into requests. An answer is due `reply_ns` after the request or after the
    /// previous answer, whichever is later.
    pub fn hear(&mut self, now: SimTime, bytes: &[u8], reply_ns: u64) {
        let mut input = bytes;
        let lines = std::iter::from_fn(|| self.lines.next_line(&mut input));
        self.waiting.extend(now, lines, reply_ns);
    }
}
