//! Requests of one host that wait for their answers, each of which takes the unit some time.

use std::collections::VecDeque;

use crate::time::SimTime;

/// Largest number of waiting requests; further ones are ignored.
const MOST: usize = 32;

/// Waiting requests of one host, the oldest first.
#[derive(Debug)]
pub struct WaitingRequests<R> {
    requests: VecDeque<R>,
    /// Time of the oldest request's answer; `None` while it waits for a scan.
    answer: Option<SimTime>,
}

impl<R> Default for WaitingRequests<R> {
    fn default() -> Self {
        Self { requests: VecDeque::new(), answer: None }
    }
}

impl<R> WaitingRequests<R> {
    /// Takes requests that arrived at `now`.
    pub fn extend(&mut self, now: SimTime, requests: impl Iterator<Item = R>, reply_ns: u64) {
        let was_idle = self.requests.is_empty();
        for request in requests {
            if self.requests.len() < MOST {
                self.requests.push_back(request);
            }
        }
        if was_idle {
            self.begin(now, reply_ns);
        }
    }

    /// Time when the oldest is answered.
    pub fn next_answer(&self) -> Option<SimTime> {
        self.answer
    }

    /// The oldest.
    pub fn first(&self) -> Option<&R> {
        self.requests.front()
    }

    /// The oldest has been answered at `now`.
    pub fn answered(&mut self, now: SimTime, reply_ns: u64) {
        self.requests.pop_front();
        self.begin(now, reply_ns);
    }

    /// The oldest cannot be answered before the next scan.
    pub fn wait_for_scan(&mut self) {
        self.answer = None;
    }

    /// Begins to answer the oldest waiting request, if there is one, at `now`.
    pub fn begin(&mut self, now: SimTime, reply_ns: u64) {
        self.answer = (!self.requests.is_empty()).then_some(SimTime(now.0 + reply_ns));
    }

    /// Ends the wait for a scan.
    pub fn wake(&mut self, now: SimTime) {
        if self.answer.is_none() {
            self.begin(now, 0);
        }
    }
}
