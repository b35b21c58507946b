//! Packet serial protocol of Dimension Engineering's Sabertooth motor drivers.
//!
//! `address | command | value | sum`. Only the address has its highest bit set; `sum` is the sum of the three bytes
//! before it, modulo 128. The motor driver never answers. Source: the Sabertooth user's guides.

use super::framer::{Framing, NoFrame, require, whole};

/// Possible addresses of a motor driver.
pub const ADDRESSES: std::ops::RangeInclusive<u8> = 128..=135;

/// Command numbers, decimal as in the user's guide.
#[allow(missing_docs, reason = "the names are those of the user's guide")]
pub mod command {
    pub const M1_FORWARD: u8 = 0;
    pub const M1_BACKWARD: u8 = 1;
    pub const MIN_VOLTAGE: u8 = 2;
    pub const MAX_VOLTAGE: u8 = 3;
    pub const M2_FORWARD: u8 = 4;
    pub const M2_BACKWARD: u8 = 5;
    pub const M1_7_BIT: u8 = 6;
    pub const M2_7_BIT: u8 = 7;
    pub const MIXED_FORWARD: u8 = 8;
    pub const MIXED_BACKWARD: u8 = 9;
    pub const MIXED_RIGHT: u8 = 10;
    pub const MIXED_LEFT: u8 = 11;
    pub const MIXED_DRIVE_7_BIT: u8 = 12;
    pub const MIXED_TURN_7_BIT: u8 = 13;
    pub const SERIAL_TIMEOUT: u8 = 14;
    pub const BAUD_RATE: u8 = 15;
    pub const RAMP: u8 = 16;
}

/// One packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Address of the motor driver, 128 to 135.
    pub address: u8,
    /// Command, 0 to 127, see [`command`].
    pub command: u8,
    /// Value: 0 to 127.
    pub value: u8,
}

impl Packet {
    /// Appends the packet's bytes.
    pub fn emit(&self, out: &mut Vec<u8>) {
        out.extend([self.address, self.command, self.value, self.sum()]);
    }

    fn sum(self) -> u8 {
        self.address.wrapping_add(self.command).wrapping_add(self.value) & 0x7f
    }
}

/// Finds [`Packet`]s in a host's bytes.
#[derive(Clone, Copy, Debug)]
pub struct Sabertooth;

impl Framing for Sabertooth {
    type Frame = Packet;

    fn max_len(&self) -> usize {
        4
    }

    fn begins(&self, byte: u8) -> bool {
        ADDRESSES.contains(&byte)
    }

    fn scan(&self, bytes: &[u8]) -> Result<(Packet, usize), NoFrame> {
        require(bytes.iter().take(4).skip(1).all(|byte| *byte < 0x80))?;
        let &[address, command, value, sum] = whole(bytes, 4)? else {
            return Err(NoFrame::Incomplete);
        };
        let packet = Packet { address, command, value };
        require(sum == packet.sum())?;
        Ok((packet, 4))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framer::Framer;
    use crate::tests::hex;

    #[test]
    fn packets_are_those_of_the_python_library() {
        let packet = |command, value| Packet { address: 0x80, command, value };
        for (packet, text) in [
            (packet(command::BAUD_RATE, 5), "80 0F 05 14"),
            (packet(command::M1_FORWARD, 63), "80 00 3F 3F"),
            (packet(command::M2_BACKWARD, 31), "80 05 1F 24"),
            (packet(command::M1_FORWARD, 0), "80 00 00 00"),
            (packet(command::M2_FORWARD, 0), "80 04 00 04"),
        ] {
            let mut out = Vec::new();
            packet.emit(&mut out);
            assert_eq!(out, hex(text));
            assert_eq!(Framer::new(Sabertooth).frames(&hex(text)), [packet]);
        }
    }

    #[test]
    fn a_packet_that_breaks_off_does_not_hide_the_next() {
        let stream = hex("AA AA 80 00 80 00 3F 3F 80 00 3F 40");
        let found = Framer::new(Sabertooth).frames(&stream);
        assert_eq!(found, [Packet { address: 0x80, command: 0, value: 63 }]);
    }
}
