//! The hosts that are connected, and what they have said and not been answered yet.

use super::states::EVENTS;
use crate::time::SimTime;
use crate::waiting::WaitingRequests;
use crate::wire::cola::Dialect;
use crate::wire::cola::frame::{Cola, Frame};
use crate::wire::framer::Framer;
use crate::wire::port::Peer;

/// No command is longer.
const LONGEST_COMMAND: usize = 1024;
/// A telegram whose next byte is later than this was cut short, nanoseconds.
const PATIENCE_NS: u64 = 1_000_000_000;

/// A connected host.
#[derive(Debug)]
pub struct Client {
    /// Who.
    pub peer: Peer,
    /// 0, or the level of its login.
    pub level: u8,
    /// The dialect in which it has subscribed to scans.
    pub stream: Option<Dialect>,
    /// The first scan of the subscription.
    pub stream_from: u64,
    /// The dialects in which it has subscribed to the other events, in the order of [`EVENTS`].
    pub events: [Option<Dialect>; EVENTS.len()],
    /// The only dialect that is heard from it.
    only: Option<Dialect>,
    framer: Framer<Cola>,
    heard: SimTime,
    /// Requests without an answer yet.
    pub waiting: WaitingRequests<Frame>,
}

impl Client {
    /// A host that has just connected. Commands in other dialects than `only` are not heard.
    pub fn new(peer: Peer, only: Option<Dialect>, stream: Option<Dialect>) -> Self {
        Self {
            peer,
            level: 0,
            stream,
            stream_from: 0,
            events: [None; EVENTS.len()],
            only,
            framer: Framer::new(Cola { max_content: LONGEST_COMMAND }),
            heard: SimTime::ZERO,
            waiting: WaitingRequests::default(),
        }
    }

    /// Takes bytes that arrived at `now`.
    pub fn hear(&mut self, now: SimTime, bytes: &[u8], reply_ns: u64) {
        if now.0.saturating_sub(self.heard.0) > PATIENCE_NS {
            self.framer.clear();
        }
        self.heard = now;
        let (framer, only) = (&mut self.framer, self.only);
        let mut input = bytes;
        let frames = std::iter::from_fn(|| framer.next_frame(&mut input));
        let is_heard = |frame: &Frame| only.is_none_or(|only| only == frame.dialect);
        self.waiting.extend(now, frames.filter(is_heard), reply_ns);
    }
}
