//! A unit's transmitter: bytes one after the other, at the line's rate, from a buffer that ends.

use std::collections::VecDeque;

use crate::devices::{Output, Transmit};
use crate::links::line::LineSettings;
use crate::time::SimTime;

/// See the module.
#[derive(Clone, Debug)]
pub struct Port {
    line: LineSettings,
    buffer_bytes: usize,
    free_at: SimTime,
    ready: VecDeque<Transmit>,
    dropped: u64,
}

impl Port {
    /// A silent transmitter, 8N1.
    pub fn new(baud: u32, buffer_bytes: usize) -> Self {
        Self {
            line: LineSettings::eight_n_one(baud),
            buffer_bytes,
            free_at: SimTime::ZERO,
            ready: VecDeque::new(),
            dropped: 0,
        }
    }

    /// Bits a second.
    pub fn baud(&self) -> u32 {
        self.line.baud
    }

    /// Bytes a second.
    pub fn bytes_per_second(&self) -> f64 {
        f64::from(self.line.baud) / f64::from(self.line.bits_per_byte())
    }

    /// Sends `bytes` at `at` or when the line is free. They are lost if the buffer cannot hold
    /// them behind what waits already; says whether they were taken.
    pub fn send(&mut self, at: SimTime, bytes: Vec<u8>) -> bool {
        let waiting_ns = self.free_at.0.saturating_sub(at.0);
        let waiting = waiting_ns as f64 * 1e-9 * self.bytes_per_second();
        if waiting > 0.0 && waiting + bytes.len() as f64 > self.buffer_bytes as f64 {
            self.dropped += 1;
            return false;
        }
        let due = at.max(self.free_at);
        self.free_at = SimTime(due.0 + self.line.duration_ns(bytes.len()));
        self.ready.push_back(Transmit::bytes(due, bytes));
        true
    }

    /// Runs at another rate once what waits has left.
    pub fn set_baud(&mut self, at: SimTime, baud: u32) {
        let due = at.max(self.free_at);
        self.free_at = due;
        self.line.baud = baud;
        self.ready.push_back(Transmit { due, points: 0, output: Output::Line(self.line) });
    }

    /// Messages that found no room.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// The next thing that leaves.
    pub fn poll(&mut self) -> Option<Transmit> {
        self.ready.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_queue_up_and_overflow() {
        let mut port = Port::new(10_000, 24);
        for _ in 0..4 {
            port.send(SimTime(1_000), vec![0; 8]);
        }
        // 1 ms a byte: the first leaves at once, the next waits 8 ms, the others find no room.
        let due: Vec<u64> = std::iter::from_fn(|| port.poll()).map(|t| t.due.0).collect();
        assert_eq!(due, [1_000, 8_001_000, 16_001_000]);
        assert_eq!(port.dropped(), 1);
    }

    #[test]
    fn another_rate_waits_for_the_answer_to_leave() {
        let mut port = Port::new(10_000, 100);
        port.send(SimTime(0), vec![0; 4]);
        port.set_baud(SimTime(0), 20_000);
        port.send(SimTime(0), vec![0; 4]);
        port.send(SimTime(0), vec![0; 4]);
        let all: Vec<Transmit> = std::iter::from_fn(|| port.poll()).collect();
        let due: Vec<u64> = all.iter().map(|t| t.due.0 / 1000).collect();
        assert_eq!(due, [0, 4_000, 4_000, 6_000]);
        assert_eq!(all[1].output, Output::Line(LineSettings::eight_n_one(20_000)));
    }
}
