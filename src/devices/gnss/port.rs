//! The receiver's serial port: one byte after another, a buffer that overflows.

use std::collections::VecDeque;

use crate::devices::{Output, Transmit};
use crate::links::line::LineSettings;
use crate::time::SimTime;

/// Rates a receiver's UART runs at.
pub fn is_baud_rate(rate: u64) -> bool {
    matches!(rate, 4800 | 9600 | 19_200 | 38_400 | 57_600 | 115_200 | 230_400 | 460_800 | 921_600)
}

/// Room for the sentence that says bytes were lost.
const COMPLAINT: usize = 48;

/// The transmitting half of a UART.
#[derive(Clone, Debug)]
pub struct Port {
    line: LineSettings,
    buffer_bytes: usize,
    free_at: SimTime,
    queue: VecDeque<Transmit>,
    has_overflowed: bool,
}

impl Port {
    /// A port that runs at `baud` and keeps up to `buffer_bytes` that wait for the line.
    pub fn new(baud: u32, buffer_bytes: usize) -> Self {
        Self {
            line: LineSettings::eight_n_one(baud),
            buffer_bytes,
            free_at: SimTime::ZERO,
            queue: VecDeque::new(),
            has_overflowed: false,
        }
    }

    /// How the line runs.
    pub fn line(&self) -> LineSettings {
        self.line
    }

    /// Sends `bytes` at `at`, or as soon as the line is free; what the buffer cannot hold is lost.
    pub fn send(&mut self, at: SimTime, bytes: Vec<u8>) {
        if self.waiting_bytes(at) + bytes.len() > self.buffer_bytes {
            self.has_overflowed = true;
            return;
        }
        let due = at.max(self.free_at);
        self.free_at = SimTime(due.0 + self.line.duration_ns(bytes.len()));
        self.queue.push_back(Transmit::bytes(due, bytes));
    }

    /// The line runs at `baud` once everything before has left.
    pub fn change_rate(&mut self, at: SimTime, baud: u32) {
        self.line = LineSettings::eight_n_one(baud);
        self.free_at = self.free_at.max(at);
        let output = Output::Line(self.line);
        self.queue.push_back(Transmit { due: self.free_at, points: 0, output });
    }

    /// Whether something was lost since this last answered so, and there is room to say it.
    pub fn take_overflow(&mut self, at: SimTime) -> bool {
        let is_time =
            self.has_overflowed && self.waiting_bytes(at) + COMPLAINT <= self.buffer_bytes;
        if is_time {
            self.has_overflowed = false;
        }
        is_time
    }

    /// When the first of what waits is due.
    pub fn next_due(&self) -> Option<SimTime> {
        self.queue.front().map(|transmit| transmit.due)
    }

    /// The first of what waits.
    pub fn pop(&mut self) -> Option<Transmit> {
        self.queue.pop_front()
    }

    fn waiting_bytes(&self, at: SimTime) -> usize {
        let left_ns = self.free_at.0.saturating_sub(at.0);
        let per_byte_ns = self.line.duration_ns(1).max(1);
        usize::try_from(left_ns / per_byte_ns).unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dues(port: &mut Port) -> Vec<u64> {
        std::iter::from_fn(|| port.pop()).map(|transmit| transmit.due.0 / 1_000_000).collect()
    }

    #[test]
    fn bytes_wait_for_the_line_and_the_new_rate_for_the_old_bytes() {
        let mut port = Port::new(9600, 4096);
        port.send(SimTime(0), vec![0; 96]); // 100 ms
        port.send(SimTime(10_000_000), vec![0; 96]);
        port.change_rate(SimTime(20_000_000), 38_400);
        port.send(SimTime(30_000_000), vec![0; 96]); // 25 ms
        port.send(SimTime(500_000_000), vec![0; 1]);
        assert_eq!(dues(&mut port), [0, 100, 200, 200, 500]);
    }

    #[test]
    fn a_full_buffer_loses_bytes_and_says_so_later() {
        let mut port = Port::new(9600, 1000);
        for _ in 0..20 {
            port.send(SimTime(0), vec![0; 100]);
        }
        assert_eq!(dues(&mut port).len(), 10);
        assert!(!port.take_overflow(SimTime(0)));
        assert!(port.take_overflow(SimTime(600_000_000)));
        assert!(!port.take_overflow(SimTime(600_000_000)));
    }
}
