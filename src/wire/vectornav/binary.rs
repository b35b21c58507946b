//! VectorNav's binary output packets: the host selects the fields.
//!
//! `FA | groups | a mask of fields for each group | fields | CRC16`. Fields are in the order of their groups and
//! bits, least significant byte first. The CRC is most significant byte first and covers all bytes after `FA`.
//! Source: VectorNav's programming library 1.2.

use crate::ParseError;
use crate::checksum::crc16_xmodem;
use crate::framer::{NoFrame, head, require, whole};

/// First byte of a packet.
pub const SYNC: u8 = 0xfa;
/// Length of the longest packet, bytes.
pub const MAX_LEN: usize = 600;
/// Number of groups.
pub const GROUPS: usize = 7;

/// A group of fields. Its discriminant is the number of its bit in the groups byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Group {
    /// Frequently used fields of the other groups.
    Common = 0,
    /// Times of the clocks and of events.
    Time = 1,
    /// Raw and compensated measurements.
    Imu = 2,
    /// Measurements of the first GNSS receiver.
    Gps1 = 3,
    /// Attitude, and measurements rotated by the attitude.
    Attitude = 4,
    /// Navigation solution: position, velocity and acceleration.
    Ins = 5,
    /// Measurements of the second GNSS receiver.
    Gps2 = 6,
}

impl Group {
    /// All groups in the order of their bits.
    pub const ALL: [Self; GROUPS] =
        [Self::Common, Self::Time, Self::Imu, Self::Gps1, Self::Attitude, Self::Ins, Self::Gps2];

    /// Lengths of the group's fields, bytes, in the order of the bits in the mask.
    pub fn field_lengths(self) -> &'static [usize] {
        match self {
            Self::Common => &[8, 8, 8, 12, 16, 12, 24, 12, 12, 24, 20, 28, 2, 4, 8],
            Self::Time => &[8, 8, 8, 2, 8, 8, 8, 4, 4, 1],
            Self::Imu => &[2, 12, 12, 12, 4, 4, 16, 12, 12, 12, 12, 2, 40],
            Self::Gps1 | Self::Gps2 => &[8, 8, 2, 1, 1, 24, 24, 12, 12, 12, 4, 4, 2, 28],
            Self::Attitude => &[2, 12, 16, 36, 12, 12, 12, 12, 12, 12, 28, 24],
            Self::Ins => &[2, 24, 24, 12, 12, 12, 12, 12, 12, 4, 4, 68, 64],
        }
    }
}

/// Selection of the fields in a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Layout {
    /// Masks of fields by group; a group with zero is not in the packet.
    pub masks: [u16; GROUPS],
}

impl Layout {
    /// Creates a layout with these masks.
    ///
    /// # Errors
    /// A mask has an unknown bit, there are no fields, or the packet would be longer than [`MAX_LEN`].
    pub fn new(masks: [u16; GROUPS]) -> Result<Self, ParseError> {
        for (group, mask) in Group::ALL.iter().zip(masks) {
            if u32::from(mask) >> group.field_lengths().len() != 0 {
                let allowed = "bits of known fields";
                return Err(ParseError::Value { field: "field mask", value: mask.into(), allowed });
            }
        }
        let layout = Self { masks };
        if layout.groups() == 0 {
            return Err(ParseError::Value { field: "groups", value: 0, allowed: "one or more" });
        }
        let got = layout.packet_len();
        if got > MAX_LEN {
            return Err(ParseError::Length { what: "binary packet", need: MAX_LEN, got });
        }
        Ok(layout)
    }

    /// The groups byte: a bit for each group in the packet.
    pub fn groups(&self) -> u8 {
        (0..GROUPS).filter(|g| self.masks[*g] != 0).fold(0, |byte, g| byte | 1 << g)
    }

    /// Group, bit and length of each field, in order.
    pub fn fields(&self) -> impl Iterator<Item = (Group, u8, usize)> + '_ {
        Group::ALL.into_iter().zip(self.masks).flat_map(|(group, mask)| {
            let lengths = group.field_lengths().iter().enumerate();
            lengths
                .filter(move |(bit, _)| mask & (1 << bit) != 0)
                .map(move |(bit, length)| (group, bit as u8, *length))
        })
    }

    /// Length of the header before the fields, bytes.
    pub fn header_len(&self) -> usize {
        2 + 2 * self.groups().count_ones() as usize
    }

    /// Length of the fields, bytes.
    pub fn payload_len(&self) -> usize {
        self.fields().map(|(.., length)| length).sum()
    }

    /// Length of the whole packet, bytes.
    pub fn packet_len(&self) -> usize {
        self.header_len() + self.payload_len() + 2
    }

    /// Reads the layout at the start of a packet.
    pub(super) fn scan(bytes: &[u8]) -> Result<Self, NoFrame> {
        let [_, groups] = head(bytes)?;
        require(groups & 0x80 == 0)?;
        let mut masks = [0; GROUPS];
        let present = (0..GROUPS).filter(|group| groups & (1 << group) != 0);
        for (place, group) in present.enumerate() {
            let mask = whole(bytes, 4 + 2 * place)?;
            masks[group] = u16::from_le_bytes([mask[2 + 2 * place], mask[3 + 2 * place]]);
            require(masks[group] != 0)?;
        }
        Ok(Self::new(masks)?)
    }
}

/// A binary output packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BinaryPacket {
    /// Layout of the packet.
    pub layout: Layout,
    /// Bytes of the fields.
    pub payload: Vec<u8>,
}

impl BinaryPacket {
    /// Creates a packet. For each field in order, calls `write`, which appends the field's bytes.
    ///
    /// # Panics
    /// If `write` appends a wrong number of bytes.
    pub fn build(layout: Layout, mut write: impl FnMut(Group, u8, &mut Vec<u8>)) -> Self {
        let mut payload = Vec::with_capacity(layout.payload_len());
        for (group, bit, length) in layout.fields() {
            let start = payload.len();
            write(group, bit, &mut payload);
            assert_eq!(payload.len() - start, length, "length of field {bit} of {group:?}");
        }
        Self { layout, payload }
    }

    /// Bytes of a field; `None` if the packet does not have the field.
    pub fn field(&self, group: Group, bit: u8) -> Option<&[u8]> {
        let mut start = 0;
        for (g, b, length) in self.layout.fields() {
            if (g, b) == (group, bit) {
                return self.payload.get(start..start + length);
            }
            start += length;
        }
        None
    }

    /// Appends the packet to `out`.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend([SYNC, self.layout.groups()]);
        let masks = self.layout.masks.iter().filter(|mask| **mask != 0);
        out.extend(masks.flat_map(|mask| mask.to_le_bytes()));
        out.extend_from_slice(&self.payload);
        let crc = crc16_xmodem(&out[start + 1..]);
        out.extend(crc.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{record::put_le, tests::hex};

    #[test]
    fn a_packet_is_the_librarys() {
        let golden = "FA 01 31 01 00 F2 05 2A 01 00 00 00 00 00 00 00 00 00 00 00 F3 04 35 3F F3 04 \
            35 3F 0A D7 23 3C 0A D7 A3 BC 8F C2 F5 3C CD CC CC 3D CD CC 4C BE C3 F5 1C C1 2F B6";
        let layout = Layout::new([0x0131, 0, 0, 0, 0, 0, 0]).unwrap();
        let packet = BinaryPacket::build(layout, |group, bit, out| {
            assert_eq!(group, Group::Common);
            match bit {
                0 => out.extend(5_000_000_000u64.to_le_bytes()),
                4 => put_le(out, &[0f32, 0.0, 0.707_106_77, 0.707_106_77]),
                5 => put_le(out, &[0.01f32, -0.02, 0.03]),
                8 => put_le(out, &[0.1f32, -0.2, -9.81]),
                _ => unreachable!("field {bit}"),
            }
        });
        let mut bytes = Vec::new();
        packet.emit(&mut bytes);
        assert_eq!(bytes, hex(golden));
        assert_eq!(crc16_xmodem(&bytes[1..]), 0);
        assert_eq!(packet.field(Group::Common, 5), Some(&hex(golden)[28..40]));
        assert_eq!(packet.field(Group::Common, 6), None);
    }

    #[test]
    fn the_ros_drivers_packet_has_208_bytes() {
        let layout = Layout::new([0x578, 0x4c, 0, 0, 0x100, 0x69d, 0]).unwrap();
        assert_eq!((layout.groups(), layout.header_len(), layout.packet_len()), (0x33, 10, 208));
    }

    #[test]
    fn layouts_that_cannot_be_are_refused() {
        assert!(Layout::new([0; 7]).is_err());
        assert!(Layout::new([0x8000, 0, 0, 0, 0, 0, 0]).is_err());
        assert!(Layout::new([0, 0x400, 0, 0, 0, 0, 0]).is_err());
        assert!(Layout::new([0x7fff, 0x3ff, 0x1fff, 0x3fff, 0xfff, 0x1fff, 0x3fff]).is_err());
        assert_eq!(Layout::scan(&[SYNC, 0x81, 1, 0]), Err(NoFrame::Refused));
        assert_eq!(Layout::scan(&[SYNC, 0x01, 0, 0]), Err(NoFrame::Refused));
        assert_eq!(Layout::scan(&[SYNC, 0x03, 1, 0, 1]), Err(NoFrame::Incomplete));
    }
}
