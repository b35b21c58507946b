//! Response times: from a stimulus to the robot's response.
//!
//! The sender reports when the first packet with a stimulus leaves; listeners report when a response arrives.
//! [`ResponseTracker`] combines both.

use std::collections::VecDeque;
use std::time::Duration;

use hdrhistogram::Histogram;
use regex::bytes::Regex;
use serde::Serialize;

use super::stats::Lateness;
use crate::config::rig::responses::{ResponseConfig, StimulusConfig};
use crate::time::SimTime;

/// Longest time for which a response is kept until its stimulus is reported, nanoseconds.
const PATIENCE_NS: u64 = 1_000_000_000;
/// Largest number of bytes of a stream that are kept for a match that is not complete.
const LONGEST_MESSAGE: usize = 4096;

/// Event for the response tracker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The first packet with a stimulus was submitted to the kernel, or would have been if no fault had removed it.
    Left {
        /// Index of the stimulus in the rig.
        stimulus: usize,
        /// Time at which the packet left.
        at: SimTime,
    },
    /// Bytes that match a response's pattern have arrived.
    Heard {
        /// Index of the response in the rig.
        response: usize,
        /// Time at which the bytes arrived.
        at: SimTime,
    },
}

/// Statistics of a response.
#[derive(Clone, Debug, Serialize)]
pub struct ResponseFigures {
    /// Name of the response.
    pub name: String,
    /// Name of the stimulus.
    pub stimulus: String,
    /// Number of stimuli whose first packet was submitted to the kernel, or would have been if no fault had removed it.
    pub stimuli: u64,
    /// Number of stimuli that were answered in time.
    pub answered: u64,
    /// Number of stimuli without an answer within the timeout.
    pub timeouts: u64,
    /// Number of further responses, within the timeout, to a stimulus that was already answered.
    pub repeated: u64,
    /// Number of responses that neither answer a stimulus nor repeat an answer.
    pub unexpected: u64,
    /// Shortest response time, microseconds after the stimulus left; `None` without answers.
    pub min_us: Option<f64>,
    /// Statistics of the response times, microseconds; `None` without answers.
    pub latency_us: Option<Lateness>,
}

/// Assigns responses to stimuli and measures the response times.
pub struct ResponseTracker {
    open: Vec<Open>,
}

/// A configured response, with the stimuli that it has not answered yet.
struct Open {
    config: ResponseConfig,
    stimulus_name: String,
    stimuli: u64,
    /// Departure times of stimuli without an answer, oldest first.
    waiting: VecDeque<SimTime>,
    /// Arrival times of responses for which no stimulus was waiting, oldest first. Their stimulus may still be
    /// reported.
    early: VecDeque<SimTime>,
    /// Departure times of answered stimuli, oldest first, kept while further responses count as repeated.
    answered: VecDeque<SimTime>,
    timeouts: u64,
    repeated: u64,
    unexpected: u64,
    latency_ns: Histogram<u64>,
}

impl ResponseTracker {
    /// A tracker without events.
    pub fn new(stimuli: &[StimulusConfig], responses: &[ResponseConfig]) -> Self {
        let open = |config: &ResponseConfig| Open {
            config: config.clone(),
            stimulus_name: stimuli[config.stimulus].name.clone(),
            stimuli: 0,
            waiting: VecDeque::new(),
            early: VecDeque::new(),
            answered: VecDeque::new(),
            timeouts: 0,
            repeated: 0,
            unexpected: 0,
            latency_ns: Histogram::new_with_bounds(1, 3_600_000_000_000, 3)
                .expect("constant bounds that hdrhistogram allows"),
        };
        Self { open: responses.iter().map(open).collect() }
    }

    /// Processes an event: a stimulus that left, or a response that arrived.
    pub fn take(&mut self, event: Event) {
        match event {
            Event::Left { stimulus, at } => {
                self.open
                    .iter_mut()
                    .filter(|open| open.config.stimulus == stimulus)
                    .for_each(|open| open.left(at));
            }
            Event::Heard { response, at } => self.open[response].heard(at),
        }
    }

    /// Counts stimuli whose timeout has expired at `now` as unanswered, and responses that have waited long enough for
    /// a stimulus as repeated or unexpected.
    pub fn look(&mut self, now: SimTime) {
        self.open.iter_mut().for_each(|open| open.give_up(now));
    }

    /// Statistics of each response. Stimuli whose timeout has not expired do not count as unanswered.
    pub fn figures(&self) -> Vec<ResponseFigures> {
        self.open.iter().map(Open::figures).collect()
    }
}

impl Open {
    fn left(&mut self, at: SimTime) {
        self.stimuli += 1;
        let in_time = |heard: &SimTime| *heard >= at && self.is_in_time(at, *heard);
        match self.early.iter().position(in_time) {
            Some(place) => {
                let heard = self.early.remove(place).unwrap_or(at);
                self.answer(at, heard);
            }
            None => self.waiting.push_back(at),
        }
    }

    fn heard(&mut self, at: SimTime) {
        self.give_up(at);
        match self.waiting.iter().position(|left| *left <= at) {
            Some(place) => {
                let left = self.waiting.remove(place).unwrap_or(at);
                self.answer(left, at);
            }
            None => self.early.push_back(at),
        }
    }

    fn is_in_time(&self, left: SimTime, heard: SimTime) -> bool {
        heard.saturating_since(left) <= Duration::from_nanos(self.config.timeout_ns)
    }

    fn answer(&mut self, left: SimTime, heard: SimTime) {
        let nanos = heard.saturating_since(left).as_nanos() as u64;
        self.latency_ns.saturating_record(nanos.max(1));
        self.answered.push_back(left);
    }

    /// Whether the response at `heard` repeats an earlier one: whether it is within the timeout of an answered
    /// stimulus.
    fn is_repeated(&self, heard: SimTime) -> bool {
        self.answered.iter().any(|left| *left <= heard && self.is_in_time(*left, heard))
    }

    fn give_up(&mut self, now: SimTime) {
        let is_over = |since: &SimTime, ns: u64| since.0.saturating_add(ns) < now.0;
        while self.waiting.front().is_some_and(|left| is_over(left, self.config.timeout_ns)) {
            self.waiting.pop_front();
            self.timeouts += 1;
        }
        while self.early.front().is_some_and(|heard| is_over(heard, PATIENCE_NS)) {
            let heard = self.early.pop_front();
            match heard.is_some_and(|heard| self.is_repeated(heard)) {
                true => self.repeated += 1,
                false => self.unexpected += 1,
            }
        }
        let forgotten_ns = self.config.timeout_ns.saturating_add(PATIENCE_NS);
        while self.answered.front().is_some_and(|left| is_over(left, forgotten_ns)) {
            self.answered.pop_front();
        }
    }

    fn figures(&self) -> ResponseFigures {
        let is_answered = !self.latency_ns.is_empty();
        ResponseFigures {
            name: self.config.name.clone(),
            stimulus: self.stimulus_name.clone(),
            stimuli: self.stimuli,
            answered: self.latency_ns.len(),
            timeouts: self.timeouts,
            repeated: self.repeated
                + self.early.iter().filter(|heard| self.is_repeated(**heard)).count() as u64,
            unexpected: self.unexpected,
            min_us: is_answered.then(|| self.latency_ns.min() as f64 / 1000.0),
            latency_us: is_answered.then(|| Lateness::of(&self.latency_ns)),
        }
    }
}

/// Finds matches of a pattern in a stream that arrives in pieces.
pub struct Matcher {
    pattern: Regex,
    kept: Vec<u8>,
}

impl Matcher {
    /// A matcher without input.
    pub fn new(pattern: &Regex) -> Self {
        Self { pattern: pattern.clone(), kept: Vec::new() }
    }

    /// Processes the next bytes; returns how many matches of the pattern end in them.
    pub fn push(&mut self, bytes: &[u8]) -> usize {
        self.kept.extend_from_slice(bytes);
        let mut found = 0;
        let mut end = 0;
        while let Some(place) = self.pattern.find_at(&self.kept, end) {
            found += 1;
            end = place.end();
        }
        self.kept.drain(..end);
        let excess = self.kept.len().saturating_sub(LONGEST_MESSAGE);
        self.kept.drain(..excess);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::rig::responses::{ResponseSource, StimulusCause};

    const MS: u64 = 1_000_000;

    fn tracker() -> ResponseTracker {
        let stimulus = StimulusConfig { name: "child".into(), cause: StimulusCause::Fault(0) };
        let response = ResponseConfig {
            name: "stop".into(),
            stimulus: 0,
            source: ResponseSource::Device(0),
            pattern: Regex::new("STOP").unwrap(),
            timeout_ns: 500 * MS,
        };
        ResponseTracker::new(&[stimulus], &[response])
    }

    fn left(ms: u64) -> Event {
        Event::Left { stimulus: 0, at: SimTime(ms * MS) }
    }

    fn heard(ms: u64) -> Event {
        Event::Heard { response: 0, at: SimTime(ms * MS) }
    }

    fn counts(events: &[Event]) -> [u64; 5] {
        let mut tracker = tracker();
        events.iter().for_each(|event| tracker.take(*event));
        tracker.look(SimTime(100_000 * MS));
        let f = tracker.figures().remove(0);
        [f.stimuli, f.answered, f.timeouts, f.repeated, f.unexpected]
    }

    #[test]
    fn every_stimulus_and_every_answer_is_counted_once() {
        assert_eq!(counts(&[left(100), heard(130)]), [1, 1, 0, 0, 0]);
        assert_eq!(counts(&[left(100), heard(130), heard(140)]), [1, 1, 0, 1, 0]);
        assert_eq!(counts(&[left(100), heard(601)]), [1, 0, 1, 0, 1]);
        assert_eq!(counts(&[left(100)]), [1, 0, 1, 0, 0]);
        assert_eq!(counts(&[heard(90), left(100)]), [1, 0, 1, 0, 1]);
        // Two threads report, so events may arrive in another order than they happened.
        assert_eq!(counts(&[heard(130), left(100)]), [1, 1, 0, 0, 0]);
        // The events may also be swapped while a repeated answer to the previous stimulus is possible.
        assert_eq!(counts(&[left(0), heard(10), heard(430), left(400)]), [2, 2, 0, 0, 0]);
        // A stimulus may be reported before it leaves, as for a fault that removes the packet.
        assert_eq!(counts(&[left(200), heard(130), heard(220)]), [1, 1, 0, 0, 1]);
        assert_eq!(
            counts(&[left(0), heard(30), left(1000), left(2000), heard(2030)]),
            [3, 2, 1, 0, 0]
        );
    }

    #[test]
    fn the_distribution_is_that_of_the_answers() {
        let mut tracker = tracker();
        for n in 0..10 {
            tracker.take(left(1000 * n));
            tracker.take(heard(1000 * n + 10 + n));
        }
        let figures = tracker.figures().remove(0);
        let latency = figures.latency_us.unwrap();
        assert!((figures.min_us.unwrap() - 10_000.0).abs() < 20.0);
        assert!((latency.p50 - 14_000.0).abs() < 20.0, "{latency:?}");
        assert!((latency.max - 19_000.0).abs() < 20.0, "{latency:?}");
    }

    #[test]
    fn a_pattern_is_found_across_pieces_and_memory_is_bounded() {
        let mut matcher = Matcher::new(&Regex::new("(?-u)\\xaa\\x55.").unwrap());
        assert_eq!(matcher.push(&[1, 0xaa]), 0);
        assert_eq!(matcher.push(&[0x55]), 0);
        assert_eq!(matcher.push(&[9, 0xaa, 0x55, 1, 0xaa]), 2);
        for _ in 0..100 {
            assert_eq!(matcher.push(&[0; 1000]), 0);
        }
        assert!(matcher.kept.len() <= LONGEST_MESSAGE);
    }
}
