//! The hosts that are connected, and what they have said and not been answered yet.

use std::collections::VecDeque;

use crate::links::Peer;
use crate::time::SimTime;
use crate::wire::scip::request::{RequestLine, RequestLines};

/// Requests of one host that wait for their answers; what comes on top is not heard.
const MAX_WAITING: usize = 32;

/// A connected host.
#[derive(Debug)]
pub struct Host {
    /// Who; `None` at the other end of a serial line.
    pub peer: Option<Peer>,
    lines: RequestLines,
    waiting: VecDeque<RequestLine>,
    /// When the oldest request is answered; `None` while it waits for a scan.
    answer: Option<SimTime>,
}

impl Host {
    /// One that has just connected.
    pub fn new(peer: Option<Peer>) -> Self {
        Self { peer, lines: RequestLines::default(), waiting: VecDeque::new(), answer: None }
    }

    /// Takes bytes that arrived at `now`.
    pub fn hear(&mut self, now: SimTime, bytes: &[u8], reply_ns: u64) {
        let was_idle = self.waiting.is_empty();
        let mut input = bytes;
        while let Some(line) = self.lines.next_line(&mut input) {
            if self.waiting.len() < MAX_WAITING {
                self.waiting.push_back(line);
            }
        }
        if was_idle && !self.waiting.is_empty() {
            self.answer = Some(SimTime(now.0 + reply_ns));
        }
    }

    /// When its next request is answered.
    pub fn next_answer(&self) -> Option<SimTime> {
        self.answer
    }

    /// The request that is answered now.
    pub fn request(&self) -> Option<&RequestLine> {
        self.waiting.front()
    }

    /// It has been answered at `now`.
    pub fn answered(&mut self, now: SimTime, reply_ns: u64) {
        self.waiting.pop_front();
        self.answer = (!self.waiting.is_empty()).then_some(SimTime(now.0 + reply_ns));
    }

    /// It cannot be answered before a scan.
    pub fn wait_for_scan(&mut self) {
        self.answer = None;
    }

    /// What it has said before `now` is answered from then on.
    pub fn begin(&mut self, now: SimTime, reply_ns: u64) {
        self.answer = (!self.waiting.is_empty()).then_some(SimTime(now.0 + reply_ns));
    }
}
