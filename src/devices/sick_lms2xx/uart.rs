//! The scanner's end of the line: when it is free, and what goes out when.

use std::collections::VecDeque;

use crate::devices::{Output, Transmit};
use crate::links::line::LineSettings;
use crate::time::SimTime;
use crate::wire::sick_lms::LineRate;

/// A transmitter that sends one thing after another at the line's rate.
#[derive(Debug)]
pub struct Uart {
    rate: LineRate,
    free: SimTime,
    ready: VecDeque<Transmit>,
}

impl Uart {
    /// A line that idles at `rate`.
    pub fn new(rate: LineRate) -> Self {
        Self { rate, free: SimTime::ZERO, ready: VecDeque::new() }
    }

    /// The rate it runs at, or will when all is sent.
    pub fn rate(&self) -> LineRate {
        self.rate
    }

    /// How the port is set at `rate`.
    pub fn settings(rate: LineRate) -> LineSettings {
        LineSettings::eight_n_one(rate.baud())
    }

    /// When the last bit so far has gone out.
    pub fn free(&self) -> SimTime {
        self.free
    }

    /// How long `bytes` are on the line, nanoseconds.
    pub fn duration_ns(&self, bytes: usize) -> u64 {
        Self::settings(self.rate).duration_ns(bytes)
    }

    /// Sends `bytes` at `at`, or when the line is free.
    pub fn send(&mut self, at: SimTime, bytes: Vec<u8>, points: u32) {
        let due = at.max(self.free);
        self.free = SimTime(due.0 + self.duration_ns(bytes.len()));
        self.ready.push_back(Transmit { due, points, output: Output::Bytes(bytes) });
    }

    /// Changes the rate when all before has gone out.
    pub fn change_rate(&mut self, rate: LineRate) {
        if rate != self.rate {
            self.rate = rate;
            let output = Output::Line(Self::settings(rate));
            self.ready.push_back(Transmit { due: self.free, points: 0, output });
        }
    }

    /// What goes out next.
    pub fn poll(&mut self) -> Option<Transmit> {
        self.ready.pop_front()
    }
}
