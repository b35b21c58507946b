//! A stream of scans: its revolutions, and the request line that each message repeats.

use super::turning::Turning;
use super::values::Wanted;
use crate::time::SimTime;
use crate::wire::scip::request::{Name, Request};

/// Number of digits of the scan count, the last parameter of a scan request.
const COUNT: usize = 2;

/// A requested stream.
#[derive(Clone, Debug)]
pub struct Stream {
    command: Name,
    /// Request line up to the scan count; `text` is the part after the scan count.
    head: Vec<u8>,
    text: Vec<u8>,
    /// Steps and format of each scan.
    pub wanted: Wanted,
    /// Number of revolutions that are skipped after each scan.
    skip: u32,
    /// Number of requested scans; `None`: unlimited.
    count: Option<u32>,
    sent: u32,
    /// The next revolution to measure.
    next: u64,
    /// Time at which the serial line is free after the planned scans.
    line_free: SimTime,
}

impl Stream {
    /// A stream as requested, not started; see [`Stream::begin`].
    pub fn new(request: &Request<'_>, wanted: Wanted, skip: u32, count: Option<u32>) -> Self {
        let before_count = request.parameters.len().saturating_sub(COUNT);
        let head = [request.name.word().as_bytes(), &request.parameters[..before_count]].concat();
        Self {
            command: request.name,
            head,
            text: request.text.to_vec(),
            wanted,
            skip,
            count,
            sent: 0,
            next: 0,
            line_free: SimTime::ZERO,
        }
    }

    /// Command of the stream.
    pub fn command(&self) -> Name {
        self.command
    }

    /// Starts or continues the stream with `revolution`; the serial line is free from `line_free` on.
    pub fn begin(&mut self, revolution: u64, line_free: SimTime) {
        self.next = revolution;
        self.line_free = line_free;
    }

    /// Number of sent scans.
    pub fn sent(&self) -> u32 {
        self.sent
    }

    /// Whether the host requested more than `scans` scans.
    pub fn is_longer_than(&self, scans: u32) -> bool {
        self.count.is_none_or(|count| count > scans)
    }

    /// The next revolution to measure; `None` if all requested scans are sent or pending. `waiting` is the number of
    /// pending scans. `leaves` returns the time from which the scan of a given revolution can be sent. `line_ns` is the
    /// transmission time of the scan on a serial line, 0 for a unit without one.
    pub fn plan(
        &mut self,
        waiting: usize,
        line_ns: u64,
        leaves: impl Fn(u64) -> SimTime,
    ) -> Option<u64> {
        if self.count.is_some_and(|count| u64::from(self.sent) + waiting as u64 >= count.into()) {
            return None;
        }
        // A scan that would have to wait for the line is skipped.
        while line_ns > 0 && leaves(self.next) < self.line_free {
            self.next += u64::from(self.skip) + 1;
        }
        Some(self.next)
    }

    /// Records that the revolution from [`Stream::plan`] will be measured.
    pub fn planned(&mut self, line_ns: u64, leaves: SimTime) {
        self.line_free = SimTime(leaves.max(self.line_free).0 + line_ns);
        self.next += u64::from(self.skip) + 1;
    }

    /// Counts the next scan as sent. Returns the request line for its message, and whether it is the last scan.
    pub fn next_echo(&mut self) -> (Vec<u8>, bool) {
        self.sent = self.sent.saturating_add(1);
        let left = self.count.map(|count| count.saturating_sub(self.sent));
        (self.echo_with(left.unwrap_or(0)), left == Some(0))
    }

    /// Request line for a message without a scan; the scan count is the number of scans that remain to be sent, 0 for
    /// an unlimited stream.
    pub fn echo(&self) -> Vec<u8> {
        self.echo_with(self.count.map_or(0, |count| count.saturating_sub(self.sent)))
    }

    fn echo_with(&self, left: u32) -> Vec<u8> {
        [&self.head[..], format!("{left:02}").as_bytes(), &self.text].concat()
    }

    /// Length of a message with one echo per step, bytes.
    pub fn message_len(&self) -> usize {
        let echo = self.head.len() + COUNT + self.text.len();
        self.wanted.format.message_len(echo, self.wanted.values())
    }

    /// Continues with the first revolution whose first step is measured at or after `at`.
    pub fn resume(&mut self, turning: &Turning, at: SimTime, line_free: SimTime) {
        self.begin(turning.first_from(at), line_free);
    }
}
