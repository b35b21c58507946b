//! The sending thread: sleeps to the earliest due time, sends, and counts how late it was. After a
//! miss the next packet is due when it always was, so a lidar that slips keeps its phase.
//!
//! Bytes of a serial line leave as a UART would have them ready: a real port is given them when the
//! first start bit is due and takes its time by itself; to a line that moves them at once they are
//! given in pieces, each when its last bit would have arrived.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_channel::{Receiver, RecvTimeoutError};

use super::{LONGEST_SLEEP, RealTimeRun, SEND_QUEUE};
use crate::config::rig::LatePolicy;
use crate::devices::{Output, Transmit};
use crate::engine::Link;
use crate::engine::stats::Outcome;
use crate::links::ByteLink;
use crate::links::line::LineSettings;
use crate::time::SimTime;

/// A piece of a serial transmission lasts no longer than this on the line, if it has more than one
/// byte: well below the gaps that drivers take for the end of a telegram.
const LONGEST_PIECE_NS: u64 = 1_000_000;

/// What is to be sent, and how the lines run.
pub struct Sender<'a> {
    run: &'a RealTimeRun<'a>,
    waiting: BinaryHeap<Reverse<Pending>>,
    order: u64,
    /// How each device's serial port runs now; meaningless for network devices.
    lines: Vec<LineSettings>,
}

impl<'a> Sender<'a> {
    /// Nothing waits yet. `lines` start as the devices' ports do.
    pub fn new(run: &'a RealTimeRun<'a>) -> Self {
        let waiting = BinaryHeap::with_capacity(SEND_QUEUE);
        Self { run, waiting, order: 0, lines: run.lines.clone() }
    }

    /// Sends each packet when it is due, until the conductor has gone and nothing is left.
    pub fn send_all(mut self, queue: &Receiver<(usize, Transmit)>, stop: &AtomicBool) {
        let mut is_open = true;
        while !stop.load(Ordering::Relaxed) {
            for (unit, transmit) in queue.try_iter() {
                self.take(unit, transmit);
            }
            let clock = self.run.clock;
            let latest_wake = clock.now() + LONGEST_SLEEP;
            match self.waiting.peek() {
                Some(Reverse(first)) if first.due > latest_wake => clock.sleep_until(latest_wake),
                Some(Reverse(first)) => {
                    clock.sleep_until(first.due);
                    if let Some(Reverse(pending)) = self.waiting.pop() {
                        self.send(pending);
                    }
                }
                None if is_open => match queue.recv_timeout(LONGEST_SLEEP) {
                    Ok((unit, transmit)) => self.take(unit, transmit),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => is_open = false,
                },
                None => break,
            }
        }
    }

    fn take(&mut self, unit: usize, transmit: Transmit) {
        let due = transmit.due;
        if transmit.output == Output::Withdraw {
            self.waiting.retain(|Reverse(pending)| {
                let is_bytes = matches!(pending.transmit.output, Output::Bytes(_));
                !(pending.unit == unit && pending.due >= due && is_bytes)
            });
            return;
        }
        self.order += 1;
        self.waiting.push(Reverse(Pending { due, order: self.order, unit, transmit, piece: None }));
    }

    fn send(&mut self, pending: Pending) {
        let run = self.run;
        match (&run.links[pending.unit], &pending.transmit.output) {
            (Link::Udp(link), Output::Bytes(bytes)) => {
                self.hand_over(&pending, || match link.send(bytes) {
                    Ok(()) => true,
                    Err(error) => {
                        tracing::debug!("{}", link.explain(&error));
                        false
                    }
                });
            }
            (Link::Udp(link), Output::Host(host)) => {
                if let Err(error) = link.set_to(SocketAddr::new(host.ip, host.data_port)) {
                    tracing::warn!("{error}");
                }
            }
            (Link::Line(line), Output::Bytes(bytes)) => {
                let line = line.as_ref();
                if line.paces_itself() {
                    self.hand_over(&pending, || send_on(line, bytes));
                } else {
                    self.send_piece(pending, line);
                }
            }
            (Link::Line(line), Output::Line(settings)) => {
                self.lines[pending.unit] = *settings;
                line.set_line(*settings);
            }
            (Link::Line(line), Output::PulsePerSecond(high)) => line.set_pulse_per_second(*high),
            (Link::Server(server), Output::BytesTo(peer, bytes)) => {
                self.hand_over(&pending, || server.send_to(*peer, bytes));
            }
            // What a server says to nobody in particular is heard by nobody.
            (Link::Server(_), Output::Bytes(_)) => {
                self.hand_over(&pending, || true);
            }
            (Link::Line(_), Output::BytesTo(..))
            | (Link::Udp(_), Output::BytesTo(..) | Output::Line(_) | Output::PulsePerSecond(_))
            | (Link::Server(_), Output::Line(_) | Output::PulsePerSecond(_))
            | (Link::Line(_) | Link::Server(_), Output::Host(_))
            | (_, Output::Withdraw) => {}
        }
    }

    /// Sends the piece whose last bit has arrived by now and waits for that of the next.
    fn send_piece(&mut self, mut pending: Pending, link: &dyn ByteLink) {
        let Output::Bytes(bytes) = &pending.transmit.output else { return };
        let done = match pending.piece {
            None => 0,
            Some(Piece { start, end }) => {
                let send = || send_on(link, &bytes[start..end]);
                // A telegram is counted once; what its receiver has no room for is lost.
                if start > 0 {
                    send();
                } else if !self.hand_over(&pending, send) {
                    return;
                }
                end
            }
        };
        if done == bytes.len() {
            return;
        }
        let line = self.lines[pending.unit];
        let fitting = (LONGEST_PIECE_NS / line.duration_ns(1)).max(1) as usize;
        let end = bytes.len().min(done + fitting);
        // From the start of the whole, so that no rounding adds up.
        pending.due = SimTime(pending.transmit.due.0 + line.duration_ns(end));
        pending.piece = Some(Piece { start: done, end });
        self.waiting.push(Reverse(pending));
    }

    /// Calls `send`, or does not if it is too late for that, and counts it; whether it was called.
    fn hand_over(&self, pending: &Pending, send: impl Fn() -> bool) -> bool {
        let engine = &self.run.rig.engine;
        let stats = &self.run.stats[pending.unit];
        let Transmit { points, output, .. } = &pending.transmit;
        let (Output::Bytes(bytes) | Output::BytesTo(_, bytes)) = output else { return false };
        let lateness = self.run.clock.now().saturating_since(pending.due);
        let is_late = lateness.as_nanos() > u128::from(engine.miss_threshold_ns);
        if is_late && engine.late == LatePolicy::Drop {
            stats.count_dropped();
            return false;
        }
        let outcome = match (send(), is_late) {
            (false, _) => Outcome::Refused,
            (true, true) => Outcome::Late,
            (true, false) => Outcome::OnTime,
        };
        stats.count(outcome, *points, bytes.len(), lateness);
        true
    }
}

/// Whether all of `bytes` went out.
fn send_on(link: &dyn ByteLink, bytes: &[u8]) -> bool {
    match link.send(bytes) {
        Ok(sent) => sent == bytes.len(),
        Err(error) => {
            tracing::debug!("cannot send on {}: {error}", link.describe());
            false
        }
    }
}

/// A transmission, or the rest of one, that waits for its due time; of equal due times the first to
/// come goes first.
struct Pending {
    due: SimTime,
    order: u64,
    unit: usize,
    transmit: Transmit,
    /// The bytes that have arrived at `due`; `None` until the first bit is due.
    piece: Option<Piece>,
}

struct Piece {
    start: usize,
    end: usize,
}

impl PartialEq for Pending {
    fn eq(&self, other: &Self) -> bool {
        (self.due, self.order) == (other.due, other.order)
    }
}
impl Eq for Pending {}
impl PartialOrd for Pending {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Pending {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.due, self.order).cmp(&(other.due, other.order))
    }
}
