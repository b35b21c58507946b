//! PTP messages: any bytes are read or refused, and what is read is written again.

use menura::wire::ptp::Message;

pub fn run(bytes: &[u8]) {
    if let Ok(message) = Message::parse(bytes) {
        assert_eq!(message.to_bytes(), bytes);
    }
}
