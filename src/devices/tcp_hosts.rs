//! The hosts that are connected to a device's command port, and what they have said so far.

use crate::time::SimTime;
use crate::wire::framer::{Framer, Framing};
use crate::wire::port::Peer;

/// Answers of one host that wait for their turn; what is asked on top is not heard.
const MAX_WAITING: u64 = 32;
/// A frame whose next byte is later than this was cut short, nanoseconds.
const PATIENCE_NS: u64 = 1_000_000_000;

/// A connected host.
#[derive(Debug)]
struct Host<F> {
    peer: Peer,
    framer: Framer<F>,
    heard: SimTime,
    /// Time when its last answer leaves.
    busy_until: SimTime,
}

/// All of them; each speaks in frames of the format `F`.
#[derive(Debug, Default)]
pub struct TcpHosts<F>(Vec<Host<F>>);

impl<F: Framing + Default> TcpHosts<F> {
    /// A host has connected, or has gone.
    pub fn handle(&mut self, now: SimTime, peer: Peer, connected: bool) {
        self.0.retain(|host| host.peer != peer);
        if connected {
            let framer = Framer::new(F::default());
            self.0.push(Host { peer, framer, heard: now, busy_until: now });
        }
    }

    /// The requests that `peer` has said with these bytes.
    pub fn hear(&mut self, now: SimTime, peer: Peer, bytes: &[u8]) -> Vec<F::Frame> {
        let Some(host) = self.0.iter_mut().find(|host| host.peer == peer) else {
            return Vec::new();
        };
        if now.0.saturating_sub(host.heard.0) > PATIENCE_NS {
            host.framer.clear();
        }
        host.heard = now;
        host.framer.frames(bytes)
    }

    /// When the answer to what `peer` has asked at `now` leaves; `None` if it is not heard, because too
    /// much waits already. Answers take `reply_ns` each.
    pub fn due(&mut self, now: SimTime, peer: Peer, reply_ns: u64) -> Option<SimTime> {
        let host = self.0.iter_mut().find(|host| host.peer == peer)?;
        let due = SimTime(host.busy_until.max(now).0 + reply_ns);
        let is_heard = due.0 - now.0 <= MAX_WAITING * reply_ns.max(1);
        is_heard.then(|| {
            host.busy_until = due;
            due
        })
    }

    /// Everybody goes.
    pub fn drop_all(&mut self) -> Vec<Peer> {
        self.0.drain(..).map(|host| host.peer).collect()
    }
}
