//! Requests of a host that wait for their answers. Each answer takes some time.

use std::collections::VecDeque;

use crate::time::SimTime;

/// Largest number of waiting requests, an assumption; further requests are ignored.
const MOST: usize = 32;

/// Waiting requests of a host, oldest first.
#[derive(Debug)]
pub struct WaitingRequests<R> {
    requests: VecDeque<R>,
    /// Time of the answer to the oldest request; `None` without a request, or while that request waits for a scan.
    answer: Option<SimTime>,
}

impl<R> Default for WaitingRequests<R> {
    fn default() -> Self {
        Self { requests: VecDeque::new(), answer: None }
    }
}

impl<R> WaitingRequests<R> {
    /// Adds requests that arrived at `now`; each answer takes `reply_ns`.
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

    /// Time of the answer to the oldest request; `None` without a request, or while that request waits for a scan.
    pub fn next_answer(&self) -> Option<SimTime> {
        self.answer
    }

    /// The oldest request; `None` if no request waits.
    pub fn first(&self) -> Option<&R> {
        self.requests.front()
    }

    /// Removes the oldest request, which was answered at `now`. The answer to the next request follows after `reply_ns`.
    pub fn answered(&mut self, now: SimTime, reply_ns: u64) {
        self.requests.pop_front();
        self.begin(now, reply_ns);
    }

    /// Makes the oldest request wait for the next scan.
    pub fn wait_for_scan(&mut self) {
        self.answer = None;
    }

    /// Schedules the answer to the oldest request, if there is one, for the time `reply_ns` after `now`.
    pub fn begin(&mut self, now: SimTime, reply_ns: u64) {
        self.answer = (!self.requests.is_empty()).then_some(SimTime(now.0 + reply_ns));
    }

    /// Ends the oldest request's wait for a scan: it is answered at `now`.
    pub fn wake(&mut self, now: SimTime) {
        if self.answer.is_none() {
            self.begin(now, 0);
        }
    }
}
