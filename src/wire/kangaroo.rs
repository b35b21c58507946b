//! Serial protocols of Dimension Engineering's Kangaroo x2 motion controller.
//!
//! Packets: `address | command | length | data | CRC low | CRC high`. Only the address has its highest bit set. The CRC
//! covers all bytes before it and is sent as two groups of seven bits. The controller answers with the command
//! [`REPLY`]. A number is sent as twice its magnitude, plus 1 if it is negative, in groups of six bits, lowest first;
//! bit 6 of a byte is set if another group follows.
//!
//! Text: `<channel>,<command>` followed by CR, LF or both. A byte of 128 or above begins a packet instead of a line.
//!
//! Sources: the Kangaroo x2 manuals, the maker's Arduino library, and the log of a real controller.

use super::checksum::crc14_kangaroo;
use super::framer::{Framing, NoFrame, head, require, whole};

/// Longest data of a packet, bytes.
pub const MAX_DATA: usize = 27;
/// The command of an answer.
pub const REPLY: u8 = 0x43;
/// Longest line of text without its end, bytes.
pub const MAX_LINE: usize = 80;
const OVERHEAD: usize = 5;

/// Commands of packets.
#[allow(missing_docs, reason = "the names are those of the manual")]
pub mod command {
    pub const START: u8 = 0x20;
    pub const UNITS: u8 = 0x21;
    pub const HOME: u8 = 0x22;
    pub const GET: u8 = 0x23;
    pub const MOVE: u8 = 0x24;
    pub const SYSTEM: u8 = 0x25;
}

/// Bits of a packet's flags.
pub mod flag {
    /// The answer reports an error.
    pub const ERROR: u8 = 0x01;
    /// The channel is still moving.
    pub const BUSY: u8 = 0x02;
    /// Move: the default limits of the channel are disabled.
    pub const NO_LIMITS: u8 = 0x08;
    /// The packet contains a byte that the answer repeats.
    pub const ECHO: u8 = 0x10;
    /// Numbers are encoder counts instead of units.
    pub const RAW: u8 = 0x20;
    /// The packet has a sequence code, or requests one in the answer.
    pub const SEQUENCE: u8 = 0x40;
}

/// One packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Address: 128 to 255.
    pub address: u8,
    /// Command, 0 to 127, see [`command`].
    pub command: u8,
    /// The data, at most [`MAX_DATA`] bytes of 0 to 127.
    pub data: Vec<u8>,
}

impl Packet {
    /// Appends the packet's bytes.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend([self.address, self.command, self.data.len() as u8]);
        out.extend_from_slice(&self.data);
        let crc = crc14_kangaroo(&out[start..]);
        out.extend([(crc & 0x7f) as u8, (crc >> 7) as u8]);
    }
}

/// Appends `number` as the bytes of a number in a packet; its magnitude is limited to 2^29 - 1.
pub fn put_number(out: &mut Vec<u8>, number: i64) {
    let size = number.unsigned_abs().min((1 << 29) - 1) as u32;
    let mut rest = size << 1 | u32::from(number < 0);
    loop {
        let six = (rest & 0x3f) as u8;
        rest >>= 6;
        if rest == 0 {
            out.push(six);
            return;
        }
        out.push(six | 0x40);
    }
}

/// Removes the first byte of `data` if `is_there` is true. Returns `None` if `is_there` is false or `data` is empty.
pub fn take_byte(data: &mut &[u8], is_there: bool) -> Option<u8> {
    let (first, rest) = data.split_first().filter(|_| is_there)?;
    *data = rest;
    Some(*first)
}

/// Removes a number from the start of `data`; `None` if it is incomplete or too long.
pub fn take_number(data: &mut &[u8]) -> Option<i32> {
    let mut packed = 0u32;
    for place in 0..5 {
        let (&byte, rest) = data.split_first()?;
        *data = rest;
        packed |= u32::from(byte & 0x3f) << (6 * place);
        if byte & 0x40 == 0 {
            let size = (packed >> 1) as i32;
            return Some(if packed & 1 == 1 { -size } else { size });
        }
    }
    None
}

/// A packet or line from a host or from the controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A packet with a correct CRC.
    Packet(Packet),
    /// A line of text with its end, printable ASCII.
    Line(Vec<u8>),
}

impl Item {
    /// Appends the bytes of the item.
    pub fn emit(&self, out: &mut Vec<u8>) {
        match self {
            Self::Packet(packet) => packet.emit(out),
            Self::Line(line) => out.extend_from_slice(line),
        }
    }
}

/// Finds [`Item`]s in a stream. A line feed after a carriage return is skipped.
#[derive(Clone, Copy, Debug)]
pub struct Kangaroo;

impl Framing for Kangaroo {
    type Frame = Item;

    fn max_len(&self) -> usize {
        MAX_LINE + 1
    }

    fn begins(&self, byte: u8) -> bool {
        byte >= 0x80 || byte.is_ascii_alphanumeric()
    }

    fn scan(&self, bytes: &[u8]) -> Result<(Item, usize), NoFrame> {
        if bytes.first().is_some_and(|byte| *byte < 0x80) {
            let end = bytes.iter().position(|byte| !matches!(byte, b' '..=b'~'));
            let end = end.ok_or(NoFrame::Incomplete)?;
            require(matches!(bytes[end], b'\r' | b'\n') && end <= MAX_LINE)?;
            return Ok((Item::Line(bytes[..=end].to_vec()), end + 1));
        }
        // A byte of 128 or above is the address of the next packet. It shows that this packet is incomplete.
        let length = bytes.get(2).map_or(0, |length| usize::from(*length).min(MAX_DATA));
        require(bytes.iter().take(OVERHEAD + length).skip(1).all(|byte| *byte < 0x80))?;
        let [address, command, length] = head(bytes)?;
        require(usize::from(length) <= MAX_DATA)?;
        let packet = whole(bytes, OVERHEAD + usize::from(length))?;
        let (covered, sum) = packet.split_at(packet.len() - 2);
        let crc = crc14_kangaroo(covered);
        require(sum == [(crc & 0x7f) as u8, (crc >> 7) as u8])?;
        let data = covered[3..].to_vec();
        Ok((Item::Packet(Packet { address, command, data }), packet.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framer::Framer;
    use crate::tests::hex;
    use proptest::prelude::*;

    fn golden(command: u8, data: &str, text: &str) {
        let packet = Packet { address: 0x80, command, data: hex(data) };
        let mut out = Vec::new();
        packet.emit(&mut out);
        assert_eq!(out, hex(text));
        assert_eq!(Framer::new(Kangaroo).frames(&hex(text)), [Item::Packet(packet)]);
    }

    #[test]
    fn packets_are_those_of_drivers_and_of_a_real_controller() {
        golden(0x20, "31 00", "80 20 02 31 00 22 44");
        golden(0x20, "32 00", "80 20 02 32 00 24 27");
        golden(0x20, "31 40 01", "80 20 03 31 40 01 77 57");
        golden(0x24, "31 00 02 68 0F", "80 24 05 31 00 02 68 0F 2A 22");
        golden(0x24, "31 00 02 69 0F", "80 24 05 31 00 02 69 0F 28 03");
        golden(0x24, "31 00 02 00", "80 24 04 31 00 02 00 38 07");
        golden(0x24, "31 20 02 68 0F", "80 24 05 31 20 02 68 0F 2B 76");
        golden(0x24, "44 00 02 58 09", "80 24 05 44 00 02 58 09 34 57");
        golden(0x24, "54 00 02 49 03", "80 24 05 54 00 02 49 03 70 70");
        golden(0x23, "31 20 01", "80 23 03 31 20 01 46 39");
        golden(0x23, "31 20 02", "80 23 03 31 20 02 22 18");
        golden(0x43, "31 20 01 72 41 06", "80 43 06 31 20 01 72 41 06 24 16");
        golden(0x43, "31 22 02 69 0F", "80 43 05 31 22 02 69 0F 2C 41");
        golden(0x43, "31 21 01 02", "80 43 04 31 21 01 02 15 27");
        golden(0x43, "31 21 01 0C", "80 43 04 31 21 01 0C 03 6C");
        golden(0x25, "31 40 03 21 20", "80 25 05 31 40 03 21 20 12 6E");
        golden(0x23, "44 50 01 01", "80 23 04 44 50 01 01 1D 26");
        golden(0x43, "44 51 01 30 01 08", "80 43 06 44 51 01 30 01 08 01 4E");
        golden(0x20, "44 40 31", "80 20 03 44 40 31 56 51");
        golden(0x24, "44 40 32 42 00", "80 24 05 44 40 32 42 00 40 13");
    }

    #[test]
    fn numbers_are_the_manuals() {
        for (number, text) in [
            (0, "00"),
            (1, "02"),
            (-1, "03"),
            (31, "3E"),
            (32, "40 01"),
            (500, "68 0F"),
            (-500, "69 0F"),
            (4096, "40 40 02"),
            (12_345, "72 41 06"),
            ((1 << 29) - 1, "7E 7F 7F 7F 3F"),
        ] {
            let mut out = Vec::new();
            put_number(&mut out, number);
            assert_eq!(out, hex(text), "{number}");
            assert_eq!(take_number(&mut &out[..]).map(i64::from), Some(number));
        }
        assert_eq!(take_number(&mut &hex("7E 7F 7F 7F 7F 01")[..]), None);
        assert_eq!(take_number(&mut &hex("7E 7F")[..]), None);
    }

    #[test]
    fn text_and_packets_share_a_line() {
        let stream = [b"1,start\r\n2,s500\n".as_slice(), &hex("80 20 02 31 00 22 44"), b"1,getp\r"];
        let found = Framer::new(Kangaroo).frames(&stream.concat());
        let line = |text: &str| Item::Line(text.as_bytes().to_vec());
        assert_eq!(found.len(), 4);
        assert_eq!(
            [&found[0], &found[1], &found[3]],
            [&line("1,start\r"), &line("2,s500\n"), &line("1,getp\r")]
        );
    }

    #[test]
    fn a_packet_that_breaks_off_does_not_hide_the_next() {
        let stream = hex("80 20 02 31 80 20 02 32 00 24 27");
        let found = Framer::new(Kangaroo).frames(&stream);
        let packet = Packet { address: 0x80, command: 0x20, data: vec![0x32, 0] };
        assert_eq!(found, [Item::Packet(packet)]);
    }

    proptest! {
        #[test]
        fn any_number_survives(number in -((1i64 << 29) - 1)..(1 << 29)) {
            let mut out = Vec::new();
            put_number(&mut out, number);
            prop_assert_eq!(take_number(&mut &out[..]).map(i64::from), Some(number));
        }
    }
}
