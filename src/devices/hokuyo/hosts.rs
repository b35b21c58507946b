//! The hosts that are connected, and what they have said and not been answered yet.

use crate::time::SimTime;
use crate::waiting::WaitingRequests;
use crate::wire::port::Peer;
use crate::wire::scip::request::{RequestLine, RequestLines};

/// A connected host.
#[derive(Debug)]
pub struct Host {
    /// Who; `None` at the other end of a serial line.
    pub peer: Option<Peer>,
    lines: RequestLines,
    /// Requests without an answer yet.
    pub waiting: WaitingRequests<RequestLine>,
}

impl Host {
    /// One that has just connected.
    pub fn new(peer: Option<Peer>) -> Self {
        Self { peer, lines: RequestLines::default(), waiting: WaitingRequests::default() }
    }

    /// Takes bytes that arrived at `now`.
    pub fn hear(&mut self, now: SimTime, bytes: &[u8], reply_ns: u64) {
        let mut input = bytes;
        let lines = std::iter::from_fn(|| self.lines.next_line(&mut input));
        self.waiting.extend(now, lines, reply_ns);
    }
}
