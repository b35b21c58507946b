//! Starts the threads between the conductor and the links: the sender, one that stands by if the
//! rig has a core for it, and their ledger.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{Builder, Scope};
use std::time::Duration;

use rtrb::{Consumer, Producer, PushError, RingBuffer};

use super::ledger::{ENTRY_QUEUE, Ledger, TimingBook};
use super::sender::{Outbox, Outlet, Packet, Role, Sender};
use crate::config::rig::Lead;
use crate::engine::clock::MonotonicClock;
use crate::engine::os::{self, Grant, StayAwake};

/// The sending thread's name, as `top -H` and `/proc` show it.
pub const SENDER_NAME: &str = "menura-send";
/// And that of the one that stands by.
pub const STANDBY_NAME: &str = "menura-standby";

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
    let finds_leads = matches!(engine.lead, Lead::Auto);
    let ledger = Ledger { clock, links, stats, books, answers, finds_leads };
    ledger.ask_for_stamps();
    start_thread(scope, "menura-ledger", move || ledger.keep(entries));
    let outbox = Arc::new(Mutex::new(Outbox::new(outlet, queue, capacity, pen)));
    let standby = engine.standby_core.map(|core| {
        let outbox = Arc::clone(&outbox);
        let (tell, told) = mpsc::sync_channel(1);
        let stand_by = move || {
            let _ = tell.send(os::favour_this_thread(engine.scheduler, Some(core)));
            Sender::new(outlet, outbox, Role::Standby).send_all(stop);
        };
        start_thread(scope, STANDBY_NAME, stand_by);
        told
    });
    let send = move || {
        let (stay_awake, answer) = StayAwake::ask();
        let mut grants = os::favour_this_thread(engine.scheduler, engine.send_core);
        grants.extend(answer);
        let of_standby = standby.and_then(|told| told.recv().ok()).into_iter().flatten();
        grants.extend(of_standby.map(Grant::of_standby));
        // The outbox and the other stack are there: locking touches every page of them.
        grants.push(os::lock_memory());
        on_start(&grants);
        Sender::new(outlet, outbox, Role::First).send_all(stop);
        drop(stay_awake);
    };
    start_thread(scope, SENDER_NAME, send);
}

fn start_thread<'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    work: impl FnOnce() + Send + 'scope,
) {
    let named = Builder::new().name(name.to_owned());
    named.spawn_scoped(scope, work).expect("the system has threads to spare");
}
