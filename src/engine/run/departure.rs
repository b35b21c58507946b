//! Starts the two threads between the conductor and the links: the sender and its ledger.

use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::thread::{Builder, Scope};
use std::time::Duration;

use rtrb::{Consumer, Producer, PushError, RingBuffer};

use super::ledger::{ENTRY_QUEUE, Ledger, TimingBook};
use super::sender::{Outlet, Packet, Sender};
use crate::engine::clock::MonotonicClock;
use crate::engine::os::{self, Grant, LightSleep};

/// The sending thread's name, as `top -H` and `/proc` show it.
pub const SENDER_NAME: &str = "menura-send";

/// Time between two looks whether a full queue has room again.
const REST: Duration = Duration::from_millis(1);

/// Where packets are handed to the sender, from one thread.
pub struct Feeder {
    queue: Producer<Packet>,
    clock: MonotonicClock,
}

/// A queue to a sender, with room for `capacity` packets.
pub fn queue(capacity: usize, clock: MonotonicClock) -> (Feeder, Consumer<Packet>) {
    let (queue, out) = RingBuffer::new(capacity);
    (Feeder { queue, clock }, out)
}

impl Feeder {
    /// Hands `packet` over, and waits for room if there is none; `false` if the sender has stopped.
    pub fn send(&mut self, mut packet: Packet) -> bool {
        loop {
            match self.queue.push(packet) {
                Ok(()) => return true,
                Err(PushError::Full(_)) if self.queue.is_abandoned() => return false,
                Err(PushError::Full(back)) => packet = back,
            }
            self.clock.rest(REST);
        }
    }
}

/// Sends what comes by `queue` until its other end is dropped, and keeps `books` if there are any.
/// No more than `capacity` packets wait at once. `on_start` learns what the system granted.
pub fn start<'scope, 'env: 'scope>(
    scope: &'scope Scope<'scope, 'env>,
    outlet: Outlet<'scope>,
    books: Option<&'scope [Mutex<TimingBook>]>,
    capacity: usize,
    queue: Consumer<Packet>,
    stop: &'scope AtomicBool,
    on_start: impl FnOnce(&[Grant]) + Send + 'scope,
) {
    let (pen, entries) = RingBuffer::new(ENTRY_QUEUE);
    let Outlet { clock, links, stats, engine, answers, .. } = outlet;
    let ledger = Ledger { clock, links, stats, books, answers };
    ledger.ask_for_stamps();
    Builder::new()
        .name("menura-ledger".to_owned())
        .spawn_scoped(scope, move || ledger.keep(entries))
        .expect("the system has threads to spare");
    let send = move || {
        let (light_sleep, answer) = LightSleep::ask();
        let mut grants = os::favour_this_thread(engine);
        grants.extend(answer);
        // Made before memory is locked, which touches every page of it.
        let sender = Sender::new(outlet, capacity, pen);
        grants.push(os::lock_memory());
        on_start(&grants);
        sender.send_all(queue, stop);
        drop(light_sleep);
    };
    Builder::new()
        .name(SENDER_NAME.to_owned())
        .spawn_scoped(scope, send)
        .expect("the system has threads to spare");
}
