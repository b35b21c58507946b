//! Messages of a Foxglove client: each parsed message is unchanged after it is written and parsed again, and its lists
//! are within the limits.

use menura::wire::foxglove::{ClientMessage, MAX_SUBSCRIPTIONS};

pub fn run(bytes: &[u8]) {
    let text = super::text(bytes);
    let Ok(message) = ClientMessage::parse(text) else { return };
    let count = match &message {
        ClientMessage::Subscribe(wishes) => wishes.len(),
        ClientMessage::Unsubscribe(ids) => ids.len(),
        ClientMessage::Other(_) => 0,
    };
    assert!(count <= MAX_SUBSCRIPTIONS);
    assert_eq!(ClientMessage::parse(&message.emit()), Ok(message));
}
