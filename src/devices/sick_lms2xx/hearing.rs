//! Input of the scanner: splits bytes into commands and queues them.

use std::collections::VecDeque;

use crate::time::SimTime;
use crate::wire::framer::Framer;
use crate::wire::sick_lms2xx::command::Command;
use crate::wire::sick_lms2xx::frame::{Item, Telegrams};

/// Largest number of queued commands. Hosts wait for the acknowledgement before they send the next command.
const WAITING: usize = 4;

/// A received telegram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// The telegram is valid.
    Command(Command),
    /// The telegram has a wrong CRC.
    Spoilt,
}

/// Queue of received telegrams.
#[derive(Debug)]
pub struct Hearing {
    framer: Framer<Telegrams>,
    last_byte: SimTime,
    byte_gap_ns: u64,
    waiting: VecDeque<(SimTime, Heard)>,
}

impl Hearing {
    /// A queue for telegrams to the broadcast address 0 and to `address`. The start of an incomplete telegram is
    /// dropped `byte_gap_ns` after its last byte.
    pub fn new(address: u8, byte_gap_ns: u64) -> Self {
        Self {
            framer: Framer::new(Telegrams::of([0, address])),
            last_byte: SimTime::ZERO,
            byte_gap_ns,
            waiting: VecDeque::new(),
        }
    }

    /// Processes bytes that arrived at `now`.
    pub fn push(&mut self, now: SimTime, bytes: &[u8]) {
        self.last_byte = now;
        self.collect(now, bytes);
    }

    /// Time at which the incomplete telegram is dropped; `None` if there is none.
    pub fn patience_ends(&self) -> Option<SimTime> {
        let ends = SimTime(self.last_byte.0 + self.byte_gap_ns);
        self.framer.is_amid().then_some(ends)
    }

    /// Drops the start of an incomplete telegram; the rest of its bytes can contain a complete one.
    pub fn give_up(&mut self, now: SimTime) {
        self.framer.end();
        self.collect(now, &[]);
    }

    /// Arrival of the oldest queued telegram.
    pub fn next_at(&self) -> Option<SimTime> {
        self.waiting.front().map(|(at, _)| *at)
    }

    /// Removes the oldest queued telegram.
    pub fn pop(&mut self) -> Option<Heard> {
        self.waiting.pop_front().map(|(_, heard)| heard)
    }

    /// Clears all bytes and telegrams.
    pub fn clear(&mut self) {
        self.waiting.clear();
        self.framer.clear();
    }

    fn collect(&mut self, now: SimTime, bytes: &[u8]) {
        for item in self.framer.frames(bytes) {
            let heard = match item {
                Item::Telegram { payload, .. } => Heard::Command(Command::parse(&payload)),
                Item::BadCrc { .. } => Heard::Spoilt,
                Item::Ack | Item::Nak => continue,
            };
            // A host that gets no ACK in time repeats the command. One answer is enough.
            let is_repeated = self.waiting.iter().any(|(_, other)| *other == heard);
            if !is_repeated && self.waiting.len() < WAITING {
                self.waiting.push_back((now, heard));
            }
        }
    }
}
