//! The hosts that are connected, and what they have said and not been answered yet.

use std::collections::VecDeque;

use crate::links::Peer;
use crate::time::SimTime;
use crate::wire::cola::Dialect;
use crate::wire::cola::frame::{Cola, Frame};
use crate::wire::framer::Framer;

/// No command is longer.
const LONGEST_COMMAND: usize = 1024;
/// Commands of one host that wait for their answers; what comes on top is not heard.
const MAX_WAITING: usize = 32;
/// A telegram whose next byte is later than this was cut short, nanoseconds.
const PATIENCE_NS: u64 = 1_000_000_000;

/// A connected host.
#[derive(Debug)]
pub struct Client {
    /// Who.
    pub peer: Peer,
    /// 0, or the level of its login.
    pub level: u8,
    /// The dialect in which it has subscribed to scans.
    pub stream: Option<Dialect>,
    /// The first scan of the subscription.
    pub stream_from: u64,
    /// The only dialect that is heard from it.
    only: Option<Dialect>,
    framer: Framer<Cola>,
    heard: SimTime,
    waiting: VecDeque<Frame>,
    /// When the oldest command is answered; `None` while it waits for a scan.
    answer: Option<SimTime>,
}

impl Client {
    /// A host that has just connected. Commands in other dialects than `only` are not heard.
    pub fn new(peer: Peer, only: Option<Dialect>, stream: Option<Dialect>) -> Self {
        Self {
            peer,
            level: 0,
            stream,
            stream_from: 0,
            only,
            framer: Framer::new(Cola { max_content: LONGEST_COMMAND }),
            heard: SimTime::ZERO,
            waiting: VecDeque::new(),
            answer: None,
        }
    }

    /// Takes bytes that arrived at `now`.
    pub fn hear(&mut self, now: SimTime, bytes: &[u8], reply_ns: u64) {
        if now.0.saturating_sub(self.heard.0) > PATIENCE_NS {
            self.framer.clear();
        }
        self.heard = now;
        let (waiting, only) = (&mut self.waiting, self.only);
        let was_idle = waiting.is_empty();
        let mut input = bytes;
        while let Some(frame) = self.framer.next_frame(&mut input) {
            let is_heard = only.is_none_or(|only| only == frame.dialect);
            if is_heard && waiting.len() < MAX_WAITING {
                waiting.push_back(frame);
            }
        }
        if was_idle && !self.waiting.is_empty() {
            self.answer = Some(SimTime(now.0 + reply_ns));
        }
    }

    /// When its next command is answered.
    pub fn next_answer(&self) -> Option<SimTime> {
        self.answer
    }

    /// The command that is answered now.
    pub fn command(&self) -> Option<&Frame> {
        self.waiting.front()
    }

    /// It has been answered at `now`.
    pub fn answered(&mut self, now: SimTime, reply_ns: u64) {
        self.waiting.pop_front();
        self.answer = (!self.waiting.is_empty()).then_some(SimTime(now.0 + reply_ns));
    }

    /// It cannot be answered before the next scan.
    pub fn wait_for_scan(&mut self) {
        self.answer = None;
    }

    /// Nothing has to be waited for any more.
    pub fn wake(&mut self, now: SimTime) {
        if self.answer.is_none() && !self.waiting.is_empty() {
            self.answer = Some(now);
        }
    }
}
