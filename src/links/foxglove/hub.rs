//! Channels, their subscribers, and queued messages.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use super::outbox::{Ending, Item, Outbox};
use crate::wire::foxglove::{
    Channel, ClientMessage, Level, ServerInfo, Subscription, advertise, status,
};

/// Largest number of simultaneous clients.
pub(super) const MAX_CLIENTS: usize = 8;

/// A channel to be advertised; the hub assigns its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewChannel {
    /// Name of the channel.
    pub topic: String,
    /// Encoding of the messages: `json` or `protobuf`.
    pub encoding: &'static str,
    /// Name of the messages' schema.
    pub schema_name: String,
    /// Encoding of the schema: `jsonschema`, or `protobuf` for base64 of a `FileDescriptorSet`.
    pub schema_encoding: &'static str,
    /// Text of the schema.
    pub schema: String,
}

/// Channels and their subscribers.
#[derive(Debug)]
pub struct Hub {
    info: Arc<str>,
    visitors: AtomicUsize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Channels by number.
    channels: Vec<Channel>,
    clients: BTreeMap<u64, Visitor>,
    next: u64,
    is_closed: bool,
}

#[derive(Debug)]
struct Visitor {
    outbox: Arc<Outbox>,
    /// The client's subscription id for each channel.
    subscriptions: BTreeMap<u32, u32>,
}

impl Hub {
    /// A hub without channels or clients; `info` is the first message to each client.
    pub fn new(info: &ServerInfo) -> Arc<Self> {
        Arc::new(Self {
            info: info.emit().into(),
            visitors: AtomicUsize::new(0),
            state: Mutex::default(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder panics")
    }

    /// Adds a channel and advertises it to all clients; returns the channel's id.
    pub fn add(&self, channel: NewChannel) -> u32 {
        let mut state = self.state();
        let id = state.channels.len() as u32;
        let NewChannel { topic, encoding, schema_name, schema_encoding, schema } = channel;
        let channel = Channel { id, topic, encoding, schema_name, schema_encoding, schema };
        let told: Arc<str> = advertise([&channel]).into();
        state.channels.push(channel);
        state.clients.values().for_each(|client| client.outbox.put(Item::Text(Arc::clone(&told))));
        id
    }

    /// Whether a client is connected.
    pub fn is_visited(&self) -> bool {
        self.visitors.load(Ordering::Relaxed) > 0
    }

    /// Whether a client has subscribed to a channel.
    pub fn is_wanted(&self, channel: u32) -> bool {
        let wants = |client: &Visitor| client.subscriptions.contains_key(&channel);
        self.is_visited() && self.state().clients.values().any(wants)
    }

    /// Sends a message to all subscribers; `log_time_ns` is POSIX time. Never waits.
    pub fn publish(&self, channel: u32, log_time_ns: u64, payload: impl Into<Arc<[u8]>>) {
        let payload = payload.into();
        for client in self.state().clients.values() {
            if let Some(&subscription) = client.subscriptions.get(&channel) {
                let payload = Arc::clone(&payload);
                client.outbox.put(Item::Data { subscription, log_time_ns, payload });
            }
        }
    }

    /// Ends all connections, including those that are still being opened.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.is_closed = true;
        let end = || Item::Close(Ending::RunOver);
        state.clients.values().for_each(|client| client.outbox.put(end()));
    }

    /// Admits a client, and sends it the channels. Returns the client's number and its queue; `None` if there is no
    /// room or the hub is closed.
    pub(super) fn let_in(&self) -> Option<(u64, Arc<Outbox>)> {
        let mut state = self.state();
        if state.is_closed || state.clients.len() == MAX_CLIENTS {
            return None;
        }
        let number = state.next;
        state.next += 1;
        let outbox = Arc::<Outbox>::default();
        outbox.put(Item::Text(Arc::clone(&self.info)));
        if !state.channels.is_empty() {
            outbox.put(Item::Text(advertise(&state.channels).into()));
        }
        let visitor = Visitor { outbox: Arc::clone(&outbox), subscriptions: BTreeMap::new() };
        state.clients.insert(number, visitor);
        self.visitors.store(state.clients.len(), Ordering::Relaxed);
        Some((number, outbox))
    }

    pub(super) fn let_out(&self, number: u64) {
        let mut state = self.state();
        state.clients.remove(&number);
        self.visitors.store(state.clients.len(), Ordering::Relaxed);
    }

    /// Handles a client's message, or sends the client the reason for a refusal.
    pub(super) fn hear(&self, number: u64, text: &str) {
        let mut state = self.state();
        let channels = state.channels.len();
        let Some(visitor) = state.clients.get_mut(&number) else { return };
        match ClientMessage::parse(text) {
            Ok(ClientMessage::Subscribe(wishes)) => {
                for wish in wishes {
                    if let Err(why) = visitor.subscribe(wish, channels) {
                        visitor.tell(Level::Error, &why);
                    }
                }
            }
            Ok(ClientMessage::Unsubscribe(ids)) => {
                for id in ids {
                    let before = visitor.subscriptions.len();
                    visitor.subscriptions.retain(|_, own| *own != id);
                    if visitor.subscriptions.len() == before {
                        visitor.tell(Level::Warning, &format!("there is no subscription {id}"));
                    }
                }
            }
            Ok(ClientMessage::Other(op)) => {
                let op: String = op.chars().take(40).collect();
                visitor.tell(Level::Error, &format!("`{op}` is not supported"));
            }
            Err(fault) => visitor.tell(Level::Error, &fault.to_string()),
        }
    }
}

impl Visitor {
    fn tell(&self, level: Level, text: &str) {
        self.outbox.put(Item::Text(status(level, text).into()));
    }

    fn subscribe(&mut self, wish: Subscription, channels: usize) -> Result<(), String> {
        let Subscription { id, channel } = wish;
        if channel as usize >= channels {
            return Err(format!("there is no channel {channel}"));
        }
        if self.subscriptions.values().any(|own| *own == id) {
            return Err(format!("subscription {id} already exists"));
        }
        if self.subscriptions.contains_key(&channel) {
            return Err(format!("channel {channel} already has a subscription"));
        }
        self.subscriptions.insert(channel, id);
        Ok(())
    }
}
