//! A client's queue: bounded, and filled without waiting.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::extract::ws::{CloseFrame, Message, close_code};
use tokio::sync::Notify;

use crate::wire::foxglove::{DATA_HEAD_LEN, Level, data_head, status};

/// Largest total size of the messages that wait for a client, bytes; if it is exceeded, the oldest data is removed.
const MOST_BYTES: usize = 16 << 20;
/// Largest number of messages that wait for a client.
const MOST_MESSAGES: usize = 1024;

/// Reason why a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// The run has ended.
    RunOver,
    /// The client reads too slowly: even messages without data do not fit into its queue.
    TooSlow,
    /// The client sent bytes that are no message of the protocol.
    WrongMessage,
}

impl Ending {
    /// The last message of a connection (RFC 6455, section 7.4.1).
    pub(super) fn message(self) -> Message {
        let (code, reason) = match self {
            Self::RunOver => (close_code::AWAY, "the run has ended"),
            Self::TooSlow => (close_code::POLICY, "this client reads too slowly"),
            Self::WrongMessage => {
                (close_code::PROTOCOL, "this client sent a message that cannot be read")
            }
        };
        Message::Close(Some(CloseFrame { code, reason: reason.into() }))
    }
}

/// An item of a client's queue.
#[derive(Clone, Debug)]
pub(super) enum Item {
    /// JSON text.
    Text(Arc<str>),
    /// Data of a channel.
    Data {
        /// Subscription id, which the client chose.
        subscription: u32,
        /// Log time: POSIX time, nanoseconds.
        log_time_ns: u64,
        /// Bytes of the message.
        payload: Arc<[u8]>,
    },
    /// End of the connection.
    Close(Ending),
}

impl Item {
    fn len(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Data { payload, .. } => DATA_HEAD_LEN + payload.len(),
            Self::Close(_) => 0,
        }
    }

    fn is_data(&self) -> bool {
        matches!(self, Self::Data { .. })
    }

    /// Converts the item to a WebSocket message.
    pub(super) fn into_message(self) -> Message {
        match self {
            Self::Text(text) => Message::text(&*text),
            Self::Data { subscription, log_time_ns, payload } => {
                let mut bytes = Vec::with_capacity(DATA_HEAD_LEN + payload.len());
                bytes.extend(data_head(subscription, log_time_ns));
                bytes.extend_from_slice(&payload);
                Message::binary(bytes)
            }
            Self::Close(ending) => ending.message(),
        }
    }
}

/// Items that wait for a client.
#[derive(Debug, Default)]
struct Waiting {
    items: VecDeque<Item>,
    bytes: usize,
    /// Number of dropped messages that were not reported to the client yet.
    lost: u64,
}

/// The queue of one client, to which other threads publish.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    waiting: Mutex<Waiting>,
    news: Notify,
}

impl Outbox {
    /// Adds an item to the end of the queue. If the queue is full, the oldest data is dropped; if it has no data to drop,
    /// the connection ends.
    pub(super) fn put(&self, item: Item) {
        {
            let mut waiting = self.waiting.lock().expect("no holder panics");
            waiting.bytes += item.len();
            waiting.items.push_back(item);
            while waiting.bytes > MOST_BYTES || waiting.items.len() > MOST_MESSAGES {
                let Some(oldest) = waiting.items.iter().position(Item::is_data) else {
                    waiting.items.clear();
                    waiting.items.push_back(Item::Close(Ending::TooSlow));
                    waiting.bytes = 0;
                    break;
                };
                let gone = waiting.items.remove(oldest).expect("it was found there");
                waiting.bytes -= gone.len();
                waiting.lost += 1;
            }
        }
        self.news.notify_one();
    }

    fn take(&self) -> Option<Item> {
        let mut waiting = self.waiting.lock().expect("no holder panics");
        if waiting.lost > 0 {
            let lost = std::mem::take(&mut waiting.lost);
            let text = format!("{lost} messages were dropped: this client reads too slowly");
            return Some(Item::Text(status(Level::Warning, &text).into()));
        }
        let item = waiting.items.pop_front()?;
        waiting.bytes -= item.len();
        Some(item)
    }

    /// Waits for the first item and removes it.
    pub(super) async fn next(&self) -> Item {
        loop {
            match self.take() {
                Some(item) => return item,
                None => self.news.notified().await,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(bytes: usize) -> Item {
        Item::Data { subscription: 1, log_time_ns: 0, payload: vec![0; bytes].into() }
    }

    #[test]
    fn the_oldest_data_goes_and_that_is_told() {
        let outbox = Outbox::default();
        outbox.put(Item::Text("first".into()));
        for _ in 0..5 {
            outbox.put(data(5 << 20));
        }
        let Some(Item::Text(told)) = outbox.take() else { panic!("a status") };
        assert!(told.contains("2 messages were dropped"), "{told}");
        assert!(matches!(outbox.take(), Some(Item::Text(text)) if *text == *"first"));
        let rest: Vec<_> = std::iter::from_fn(|| outbox.take()).collect();
        assert_eq!(rest.len(), 3);
        assert_eq!(outbox.waiting.lock().unwrap().bytes, 0);
    }

    #[test]
    fn who_does_not_even_take_text_is_let_go() {
        let outbox = Outbox::default();
        for _ in 0..=MOST_MESSAGES {
            outbox.put(Item::Text("news".into()));
        }
        let Some(Item::Close(ending)) = outbox.take() else { panic!("the end") };
        let Message::Close(Some(frame)) = ending.message() else { panic!("{ending:?}") };
        assert_eq!((frame.code, &*frame.reason), (1008, "this client reads too slowly"));
        assert!(outbox.take().is_none());
    }
}
