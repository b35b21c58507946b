//! Telegrams in a stream of bytes.

use super::{ACK, NAK, STX};
use crate::wire::checksum::crc16_sick;

/// Bytes before the payload: STX, address, length.
const HEADER: usize = 4;
/// Bytes around the payload.
pub const OVERHEAD: usize = HEADER + 2;
/// The longest payload a reader waits for. The longest scan has 808 bytes, with remission twice as
/// many.
pub const MAX_PAYLOAD: usize = 2048;

/// The telegram that carries `payload` to or from `address`.
///
/// # Panics
/// If the payload is empty or longer than [`MAX_PAYLOAD`].
pub fn emit(address: u8, payload: &[u8]) -> Vec<u8> {
    assert!((1..=MAX_PAYLOAD).contains(&payload.len()), "{} bytes of payload", payload.len());
    let [low, high] = (payload.len() as u16).to_le_bytes();
    let mut bytes = Vec::with_capacity(payload.len() + OVERHEAD);
    bytes.extend([STX, address, low, high]);
    bytes.extend(payload);
    bytes.extend(crc16_sick(&bytes).to_le_bytes());
    bytes
}

/// What a reader found next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A telegram whose CRC is right.
    Telegram {
        /// To or from whom.
        address: u8,
        /// Code and data.
        payload: Vec<u8>,
    },
    /// What looks like a telegram but for its CRC. Its bytes after STX are looked at again.
    BadCrc {
        /// To or from whom.
        address: u8,
    },
    /// [`ACK`] outside a telegram.
    Ack,
    /// [`NAK`] outside a telegram.
    Nak,
    /// Any other byte outside a telegram.
    Stray(u8),
}

/// Cuts a stream into telegrams, whatever the chunks it comes in.
///
/// Holds one telegram's bytes at most, provided [`FrameReader::next_item`] is called until `None`
/// after each push.
#[derive(Clone, Debug, Default)]
pub struct FrameReader {
    buffer: Vec<u8>,
    /// Bytes of `buffer` that are done with.
    used: usize,
    /// Bytes of the stream that are done with.
    consumed: u64,
    addresses: Option<[u8; 2]>,
}

impl FrameReader {
    /// Reads telegrams of any address.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads telegrams of two addresses (which may be the same); others are stray bytes.
    pub fn addressed(addresses: [u8; 2]) -> Self {
        Self { addresses: Some(addresses), ..Self::default() }
    }

    /// More bytes of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.drain(..std::mem::take(&mut self.used));
        self.buffer.extend(bytes);
    }

    /// Where the next item starts, counted from the stream's first byte.
    pub fn position(&self) -> u64 {
        self.consumed
    }

    /// Whether a telegram has begun whose end has not come yet.
    pub fn is_within_telegram(&self) -> bool {
        self.used < self.buffer.len()
    }

    /// The next item, or `None` until more bytes have come.
    pub fn next_item(&mut self) -> Option<Item> {
        let bytes = &self.buffer[self.used..];
        let (item, length) = match *bytes.first()? {
            ACK => (Item::Ack, 1),
            NAK => (Item::Nak, 1),
            STX => telegram(bytes, self.addresses)?,
            other => (Item::Stray(other), 1),
        };
        self.used += length;
        self.consumed += length as u64;
        Some(item)
    }

    /// Gives up the telegram that has begun: its STX becomes a stray byte, what followed it is
    /// looked at again and may seem to begin another one.
    pub fn give_up(&mut self) -> Option<Item> {
        let byte = *self.buffer.get(self.used)?;
        self.used += 1;
        self.consumed += 1;
        Some(Item::Stray(byte))
    }
}

/// What stands at the front of `bytes`, which begin with STX, and how many of them it takes.
fn telegram(bytes: &[u8], addresses: Option<[u8; 2]>) -> Option<(Item, usize)> {
    let stray = Some((Item::Stray(STX), 1));
    let address = *bytes.get(1)?;
    if addresses.is_some_and(|known| !known.contains(&address)) {
        return stray;
    }
    let length = usize::from(u16::from_le_bytes([*bytes.get(2)?, *bytes.get(3)?]));
    if !(1..=MAX_PAYLOAD).contains(&length) {
        return stray;
    }
    let whole = bytes.get(..length + OVERHEAD)?;
    let (covered, crc) = whole.split_at(length + HEADER);
    if crc16_sick(covered).to_le_bytes() != crc {
        return Some((Item::BadCrc { address }, 1));
    }
    let payload = covered[HEADER..].to_vec();
    Some((Item::Telegram { address, payload }, whole.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(chunks: impl IntoIterator<Item = Vec<u8>>) -> Vec<Item> {
        let mut reader = FrameReader::new();
        let mut items = Vec::new();
        for chunk in chunks {
            reader.push(&chunk);
            items.extend(std::iter::from_fn(|| reader.next_item()));
            assert!(reader.buffer.len() - reader.used < MAX_PAYLOAD + OVERHEAD);
        }
        items
    }

    #[test]
    fn telegrams_are_found_between_other_bytes() {
        let mut line = vec![0x55, STX, STX, ACK];
        let status = emit(0, &[0x31]);
        assert_eq!(status, [0x02, 0x00, 0x01, 0x00, 0x31, 0x15, 0x12]);
        line.extend(&status);
        line.push(NAK);
        let telegram = Item::Telegram { address: 0, payload: vec![0x31] };
        let mut reader = FrameReader::addressed([0, 0]);
        reader.push(&line);
        let items: Vec<_> = std::iter::from_fn(|| reader.next_item()).collect();
        let stray = Item::Stray;
        assert_eq!(items, [stray(0x55), stray(STX), stray(STX), Item::Ack, telegram, Item::Nak]);
        assert_eq!(reader.position(), line.len() as u64);
    }

    #[test]
    fn a_telegram_inside_a_spoilt_one_is_found() {
        let inner = emit(0, &[0x31]);
        let mut line = vec![STX, 0x00, inner.len() as u8, 0x00];
        line.extend(&inner);
        line.extend([0xde, 0xad]);
        let items = read([line]);
        assert_eq!(items[0], Item::BadCrc { address: 0 });
        assert!(items.contains(&Item::Telegram { address: 0, payload: vec![0x31] }), "{items:?}");
    }

    #[test]
    fn a_telegram_cut_short_can_be_given_up() {
        let mut reader = FrameReader::new();
        reader.push(&emit(0, &[0x20, 0x24])[..5]);
        assert_eq!(reader.next_item(), None);
        assert!(reader.is_within_telegram());
        assert_eq!(reader.give_up(), Some(Item::Stray(STX)));
        while reader.next_item().is_some() || reader.give_up().is_some() {}
        reader.push(&emit(0, &[0x3a]));
        let rest: Vec<_> = std::iter::from_fn(|| reader.next_item()).collect();
        assert_eq!(rest.last(), Some(&Item::Telegram { address: 0, payload: vec![0x3a] }));
    }

    proptest! {
        #[test]
        fn what_is_emitted_is_read(address: u8, payload in proptest::collection::vec(any::<u8>(), 1..2049)) {
            prop_assert_eq!(read([emit(address, &payload)]), [Item::Telegram { address, payload }]);
        }

        #[test]
        fn chunks_do_not_matter(
            bytes in proptest::collection::vec(prop_oneof![Just(STX), 0u8..4, any::<u8>()], 0..600),
            cuts in proptest::collection::vec(1usize..40, 1..20),
            payload in proptest::collection::vec(any::<u8>(), 1..80),
        ) {
            let mut line = bytes;
            line.extend(emit(0, &payload));
            line.extend([0xff; OVERHEAD + MAX_PAYLOAD]);
            let whole = read([line.clone()]);
            let mut rest = &line[..];
            let mut chunks = Vec::new();
            for cut in cuts.iter().cycle() {
                let (chunk, tail) = rest.split_at((*cut).min(rest.len()));
                chunks.push(chunk.to_vec());
                rest = tail;
                if rest.is_empty() { break }
            }
            prop_assert_eq!(read(chunks), whole);
        }
    }
}
