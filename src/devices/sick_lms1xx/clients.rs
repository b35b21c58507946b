//! Connected hosts and their unanswered requests.

use super::states::EVENTS;
use crate::time::SimTime;
use crate::waiting::WaitingRequests;
use crate::wire::cola::Dialect;
use crate::wire::cola::frame::{Cola, Frame};
use crate::wire::framer::Framer;
use crate::wire::port::Peer;

/// Longest command, bytes.
const LONGEST_COMMAND: usize = 1024;
/// Pause after which an incomplete telegram is dropped, nanoseconds.
const PATIENCE_NS: u64 = 1_000_000_000;

/// A connected host.
#[derive(Debug)]
pub struct Client {
    /// The host and its connection.
    pub peer: Peer,
    /// Login level; 0 if the host is not logged in.
    pub level: u8,
    /// Dialect of the host's subscription to scans; `None` without a subscription.
    pub stream: Option<Dialect>,
    /// Number of the first scan that the subscription includes.
    pub stream_from: u64,
    /// Dialects of the host's subscriptions to other events, in the order of [`EVENTS`]; `None` without a subscription.
    pub events: [Option<Dialect>; EVENTS.len()],
    /// The only accepted dialect; `None` if both are accepted.
    only: Option<Dialect>,
    framer: Framer<Cola>,
    heard: SimTime,
    /// Unanswered requests.
    pub waiting: WaitingRequests<Frame>,
}

impl Client {
    /// A host that has just connected. It subscribes to scans in the dialect `stream`, if given. Commands in dialects
    /// other than `only` are ignored.
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

    /// Processes bytes that arrived at `now`. Requests are answered one after another; each answer takes `reply_ns`.
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
