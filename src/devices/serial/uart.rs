//! Serial transmitter of a unit: sends bytes from a buffer of limited size at the baud rate.

use std::collections::VecDeque;

use crate::sensors::fault::FaultEffect;
use crate::time::SimTime;
use crate::wire::line::LineSettings;
use crate::{Output, PacketTruth, Transmit};

/// Serial transmitter of a unit.
#[derive(Clone, Debug)]
pub struct Uart {
    line: LineSettings,
    buffer_bytes: usize,
    free_at: SimTime,
    ready: VecDeque<Transmit>,
    lost: u64,
}

impl Uart {
    /// An idle line at `baud`, 8N1, with a buffer of `buffer_bytes`.
    pub fn new(baud: u32, buffer_bytes: usize) -> Self {
        Self {
            line: LineSettings::eight_n_one(baud),
            buffer_bytes,
            free_at: SimTime::ZERO,
            ready: VecDeque::new(),
            lost: 0,
        }
    }

    /// Line settings that apply after all queued bytes are sent.
    pub fn line(&self) -> LineSettings {
        self.line
    }

    /// Time at which the last queued bit has left.
    pub fn free_at(&self) -> SimTime {
        self.free_at
    }

    /// Transmission time of `bytes`, nanoseconds.
    pub fn duration_ns(&self, bytes: usize) -> u64 {
        self.line.duration_ns(bytes)
    }

    /// Sends `bytes` at `at`, or when the line is free. Returns `false` if they are lost because the buffer has no
    /// room.
    pub fn send(&mut self, at: SimTime, bytes: Vec<u8>) -> bool {
        self.send_marked(at, bytes, 0, Vec::new())
    }

    /// Like [`Uart::send`]; also records the number of points in the bytes (for the live view) and the effects of
    /// faults.
    pub fn send_marked(
        &mut self,
        at: SimTime,
        bytes: Vec<u8>,
        points: u32,
        fault_effects: Vec<FaultEffect>,
    ) -> bool {
        self.send_scan(at, bytes, points, fault_effects, PacketTruth::default())
    }

    /// Like [`Uart::send_marked`]; also records the ground truth of the returns in the bytes.
    pub fn send_scan(
        &mut self,
        at: SimTime,
        bytes: Vec<u8>,
        points: u32,
        fault_effects: Vec<FaultEffect>,
        truth: PacketTruth,
    ) -> bool {
        let waiting = self.waiting_bytes(at);
        if waiting > 0 && waiting + bytes.len() > self.buffer_bytes {
            self.lost += 1;
            return false;
        }
        let due = at.max(self.free_at);
        self.free_at = SimTime(due.0 + self.duration_ns(bytes.len()));
        self.ready.push_back(Transmit {
            points,
            fault_effects,
            truth,
            ..Transmit::bytes(due, bytes)
        });
        true
    }

    /// Changes the rate to `baud` at `at`, or as soon as all queued bytes are sent.
    pub fn change_rate(&mut self, at: SimTime, baud: u32) {
        let due = at.max(self.free_at);
        self.free_at = due;
        self.line = LineSettings::eight_n_one(baud);
        self.ready.push_back(Transmit::new(due, Output::Line(self.line)));
    }

    /// Number of bytes in the buffer at `at`.
    pub fn waiting_bytes(&self, at: SimTime) -> usize {
        let left_ns = self.free_at.0.saturating_sub(at.0);
        usize::try_from(left_ns / self.duration_ns(1).max(1)).unwrap_or(usize::MAX)
    }

    /// Number of messages lost because the buffer had no room.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Due time of the oldest output in the buffer; `None` if the buffer is empty.
    pub fn next_due(&self) -> Option<SimTime> {
        self.ready.front().map(|transmit| transmit.due)
    }

    /// Removes and returns the oldest output in the buffer, even if it is not due yet.
    pub fn poll(&mut self) -> Option<Transmit> {
        self.ready.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dues_us(uart: &mut Uart) -> Vec<u64> {
        std::iter::from_fn(|| uart.poll()).map(|transmit| transmit.due.0 / 1000).collect()
    }

    #[test]
    fn bytes_queue_up_and_overflow() {
        let mut uart = Uart::new(10_000, 24);
        let taken = [(); 4].map(|()| uart.send(SimTime(1_000), vec![0; 8]));
        // A byte takes 1 ms: the first message leaves at once, the next waits 8 ms, the last finds no room.
        assert_eq!(taken, [true, true, true, false]);
        assert_eq!((uart.lost(), uart.waiting_bytes(SimTime(1_000))), (1, 24));
        assert_eq!(dues_us(&mut uart), [1, 8_001, 16_001]);
        // A message that is longer than the buffer is sent if the buffer is empty.
        assert!(uart.send(SimTime(900_000_000), vec![0; 80]));
    }

    #[test]
    fn another_rate_waits_for_the_bytes_before() {
        let mut uart = Uart::new(9600, 4096);
        uart.send(SimTime(0), vec![0; 96]); // 100 ms
        uart.send(SimTime(10_000_000), vec![0; 96]);
        uart.change_rate(SimTime(20_000_000), 38_400);
        uart.send(SimTime(30_000_000), vec![0; 96]); // 25 ms
        uart.send(SimTime(500_000_000), vec![0; 1]);
        let all: Vec<Transmit> = std::iter::from_fn(|| uart.poll()).collect();
        let due_ms: Vec<u64> = all.iter().map(|t| t.due.0 / 1_000_000).collect();
        assert_eq!(due_ms, [0, 100, 200, 200, 500]);
        assert_eq!(all[2].output, Output::Line(LineSettings::eight_n_one(38_400)));
    }
}
