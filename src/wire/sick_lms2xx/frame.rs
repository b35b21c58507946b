//! Telegrams in a stream of bytes.

use super::{ACK, NAK, STX};
use crate::checksum::crc16_sick;
use crate::framer::{Framing, NoFrame, head, require, whole};

/// Length of the header before the payload, bytes: STX, address, length.
const HEADER: usize = 4;
/// Length of a telegram in addition to its payload, bytes.
pub const OVERHEAD: usize = HEADER + 2;
/// Longest accepted payload, bytes. The longest scan has 808 bytes, or twice as many with remission.
pub const MAX_PAYLOAD: usize = 2048;

/// The telegram with `payload` to or from `address`.
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

/// A telegram or an acknowledgement on the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A telegram with a correct CRC.
    Telegram {
        /// Address of the addressed scanner or, with bit 7 set, of the sending scanner.
        address: u8,
        /// Code and data; from a scanner, also the status byte.
        payload: Vec<u8>,
    },
    /// The STX of a telegram with a wrong CRC. The search continues at the byte after STX.
    BadCrc {
        /// Address of the addressed scanner or, with bit 7 set, of the sending scanner.
        address: u8,
    },
    /// [`ACK`] outside a telegram.
    Ack,
    /// [`NAK`] outside a telegram.
    Nak,
}

/// Finds [`Item`]s in a stream.
#[derive(Clone, Copy, Debug, Default)]
pub struct Telegrams {
    addresses: Option<[u8; 2]>,
}

impl Telegrams {
    /// Creates a search for telegrams with one of these two addresses (which can be equal). Telegrams with other
    /// addresses are skipped.
    pub fn of(addresses: [u8; 2]) -> Self {
        Self { addresses: Some(addresses) }
    }
}

impl Framing for Telegrams {
    type Frame = Item;

    fn max_len(&self) -> usize {
        MAX_PAYLOAD + OVERHEAD
    }

    fn begins(&self, byte: u8) -> bool {
        matches!(byte, STX | ACK | NAK)
    }

    fn scan(&self, bytes: &[u8]) -> Result<(Item, usize), NoFrame> {
        match bytes[0] {
            ACK => return Ok((Item::Ack, 1)),
            NAK => return Ok((Item::Nak, 1)),
            _ => {}
        }
        let [_, address] = head(bytes)?;
        require(self.addresses.is_none_or(|known| known.contains(&address)))?;
        let [.., low, high] = head::<HEADER>(bytes)?;
        let length = usize::from(u16::from_le_bytes([low, high]));
        require((1..=MAX_PAYLOAD).contains(&length))?;
        let telegram = whole(bytes, length + OVERHEAD)?;
        let (covered, crc) = telegram.split_at(length + HEADER);
        if crc16_sick(covered).to_le_bytes() != crc {
            return Ok((Item::BadCrc { address }, 1));
        }
        let payload = covered[HEADER..].to_vec();
        Ok((Item::Telegram { address, payload }, telegram.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framer::Framer;
    use proptest::prelude::*;

    fn read(bytes: &[u8]) -> Vec<Item> {
        Framer::new(Telegrams::default()).frames(bytes)
    }

    #[test]
    fn telegrams_are_found_between_other_bytes() {
        let mut line = vec![0x55, STX, STX, ACK];
        let status = emit(0, &[0x31]);
        assert_eq!(status, [0x02, 0x00, 0x01, 0x00, 0x31, 0x15, 0x12]);
        line.extend(&status);
        line.push(NAK);
        let mut framer = Framer::new(Telegrams::of([0, 0]));
        let mut rest = &line[..];
        let mut items = Vec::new();
        while let Some(piece) = framer.next_piece(&mut rest) {
            items.push((piece.offset, piece.frame));
        }
        let telegram = Item::Telegram { address: 0, payload: vec![0x31] };
        let found = [Some(Item::Ack), Some(telegram), Some(Item::Nak)];
        assert_eq!(items[0], (0, None));
        assert!(items[1..].iter().map(|(_, item)| item).eq(&found), "{items:?}");
        assert_eq!(items[3].0, 11);
    }

    #[test]
    fn a_telegram_inside_a_damaged_one_is_found() {
        let inner = emit(0, &[0x31]);
        let mut line = vec![STX, 0x00, inner.len() as u8, 0x00];
        line.extend(&inner);
        line.extend([0xde, 0xad]);
        let items = read(&line);
        assert_eq!(items[0], Item::BadCrc { address: 0 });
        assert!(items.contains(&Item::Telegram { address: 0, payload: vec![0x31] }), "{items:?}");
    }

    #[test]
    fn a_telegram_inside_one_cut_short_is_found_at_the_end() {
        let mut framer = Framer::new(Telegrams::default());
        let line = [&emit(0, &[0x20, 0x24])[..5], &emit(0, &[0x3a])[..]].concat();
        let cut = [&[STX, 0, 99, 0][..], &line].concat();
        assert_eq!(framer.frames(&cut), []);
        assert!(framer.is_amid());
        framer.end();
        let telegram = Item::Telegram { address: 0, payload: vec![0x3a] };
        assert_eq!(framer.frames(&[]).last(), Some(&telegram));
        assert!(!framer.is_amid());
    }

    proptest! {
        #[test]
        fn what_is_emitted_is_read(address: u8, payload in proptest::collection::vec(any::<u8>(), 1..2049)) {
            prop_assert_eq!(read(&emit(address, &payload)), [Item::Telegram { address, payload }]);
        }
    }
}
