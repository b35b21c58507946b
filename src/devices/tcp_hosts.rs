//! Hosts connected to a device's command port, and their input.

use crate::time::SimTime;
use crate::wire::framer::{Framer, Framing};
use crate::wire::port::Peer;

/// Largest number of pending answers per host, an assumption; further requests are ignored.
const MAX_WAITING: u64 = 32;
/// Pause after which an incomplete frame is dropped, nanoseconds; an assumption.
const PATIENCE_NS: u64 = 1_000_000_000;

#[derive(Debug)]
struct Host<F> {
    peer: Peer,
    framer: Framer<F>,
    heard: SimTime,
    /// Departure time of the last answer to the host.
    busy_until: SimTime,
}

/// All hosts; each sends frames of the format `F`.
#[derive(Debug, Default)]
pub struct TcpHosts<F>(Vec<Host<F>>);

impl<F: Framing + Default> TcpHosts<F> {
    /// Connects or disconnects a host.
    pub fn handle(&mut self, now: SimTime, peer: Peer, connected: bool) {
        self.0.retain(|host| host.peer != peer);
        if connected {
            let framer = Framer::new(F::default());
            self.0.push(Host { peer, framer, heard: now, busy_until: now });
        }
    }

    /// Processes bytes of `peer`; returns the requests that they complete. Ignores bytes of a host that is not
    /// connected.
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

    /// Departure time of the answer to a request that `peer` sent at `now`, if each answer takes `reply_ns`. `None` if
    /// `peer` is not connected, or if the request is ignored because too many answers are pending.
    pub fn due(&mut self, now: SimTime, peer: Peer, reply_ns: u64) -> Option<SimTime> {
        let host = self.0.iter_mut().find(|host| host.peer == peer)?;
        let due = SimTime(host.busy_until.max(now).0 + reply_ns);
        let is_heard = due.0 - now.0 <= MAX_WAITING * reply_ns.max(1);
        is_heard.then(|| {
            host.busy_until = due;
            due
        })
    }

    /// Disconnects all hosts; returns them.
    pub fn drop_all(&mut self) -> Vec<Peer> {
        self.0.drain(..).map(|host| host.peer).collect()
    }
}
