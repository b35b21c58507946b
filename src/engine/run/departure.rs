//! Starts the two threads between the conductor and the links: the sender and its ledger.

use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::thread::{Builder, Scope};

use crossbeam_channel::{Receiver, bounded};

use super::ledger::{ENTRY_QUEUE, Ledger, TimingBook};
use super::sender::{Outlet, Packet, Sender};
use crate::engine::os::{self, Grant, LightSleep};

/// The sending thread's name, as `top -H` and `/proc` show it.
pub const SENDER_NAME: &str = "menura-send";

/// Sends what comes by `queue` until its other end is dropped, and keeps `books` if there are any.
/// No more than `capacity` packets wait at once. `on_start` learns what the system granted.
pub fn start<'scope, 'env: 'scope>(
    scope: &'scope Scope<'scope, 'env>,
    outlet: Outlet<'scope>,
    books: Option<&'scope [Mutex<TimingBook>]>,
    capacity: usize,
    queue: Receiver<Packet>,
    stop: &'scope AtomicBool,
    on_start: impl FnOnce(&[Grant]) + Send + 'scope,
) {
    let (pen, entries) = bounded(ENTRY_QUEUE);
    let Outlet { clock, links, stats, engine, answers, .. } = outlet;
    let ledger = Ledger { clock, links, stats, books, answers };
    ledger.ask_for_stamps();
    Builder::new()
        .name("menura-ledger".to_owned())
        .spawn_scoped(scope, move || ledger.keep(&entries))
        .expect("the system has threads to spare");
    let send = move || {
        let (light_sleep, answer) = LightSleep::ask();
        let mut grants = os::favour_this_thread(engine);
        grants.extend(answer);
        // Made before memory is locked, which touches every page of it.
        let sender = Sender::new(outlet, capacity, pen);
        grants.push(os::lock_memory());
        on_start(&grants);
        sender.send_all(&queue, stop);
        drop(light_sleep);
    };
    Builder::new()
        .name(SENDER_NAME.to_owned())
        .spawn_scoped(scope, send)
        .expect("the system has threads to spare");
}
