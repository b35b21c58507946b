//! The Open Interface of iRobot's Create 2 and Roombas.
//!
//! The host sends an opcode and its arguments, without frame, checksum or acknowledgement. The robot answers with only
//! the bytes of the requested packets, or streams packets as `0x13 | N | id | data | id | data … | sum`. N is the
//! number of bytes between N and `sum`; the sum of all bytes is 0 modulo 256. Numbers are most significant byte first.
//! Source: the Create 2 Open Interface specification, and the drivers libcreate and pycreate2.

use super::framer::{Framing, NoFrame, head, require, whole};

/// Opcodes, decimal as in the specification.
#[allow(missing_docs, reason = "the names are those of the specification")]
pub mod opcode {
    pub const RESET: u8 = 7;
    pub const START: u8 = 128;
    pub const BAUD: u8 = 129;
    pub const CONTROL: u8 = 130;
    pub const SAFE: u8 = 131;
    pub const FULL: u8 = 132;
    pub const POWER: u8 = 133;
    pub const SPOT: u8 = 134;
    pub const CLEAN: u8 = 135;
    pub const MAX: u8 = 136;
    pub const DRIVE: u8 = 137;
    pub const MOTORS: u8 = 138;
    pub const LEDS: u8 = 139;
    pub const SONG: u8 = 140;
    pub const PLAY: u8 = 141;
    pub const SENSORS: u8 = 142;
    pub const DOCK: u8 = 143;
    pub const PWM_MOTORS: u8 = 144;
    pub const DRIVE_DIRECT: u8 = 145;
    pub const DRIVE_PWM: u8 = 146;
    pub const STREAM: u8 = 148;
    pub const QUERY_LIST: u8 = 149;
    pub const TOGGLE_STREAM: u8 = 150;
    pub const SCHEDULING_LEDS: u8 = 162;
    pub const DIGIT_LEDS_RAW: u8 = 163;
    pub const DIGIT_LEDS_ASCII: u8 = 164;
    pub const BUTTONS: u8 = 165;
    pub const SCHEDULE: u8 = 167;
    pub const SET_DAY_TIME: u8 = 168;
    pub const STOP: u8 = 173;
}

/// Number of argument bytes of an opcode; `None` for an unknown opcode. For a song or a list of packets, one of the
/// arguments determines this number: the count of notes or packets. [`NoFrame::Incomplete`] if `so_far` lacks the
/// count.
fn arguments(opcode: u8, so_far: &[u8]) -> Option<Result<usize, NoFrame>> {
    use self::opcode as op;
    let counted = |place: usize, each: usize| {
        let count = so_far.get(place).ok_or(NoFrame::Incomplete);
        count.map(|count| place + 1 + each * usize::from(*count))
    };
    Some(match opcode {
        op::RESET
        | op::START
        | op::CONTROL
        | op::SAFE
        | op::FULL
        | op::POWER
        | op::SPOT
        | op::CLEAN
        | op::MAX
        | op::DOCK
        | op::STOP => Ok(0),
        op::BAUD | op::MOTORS | op::PLAY | op::SENSORS | op::TOGGLE_STREAM | op::BUTTONS => Ok(1),
        op::SCHEDULING_LEDS => Ok(2),
        op::LEDS | op::PWM_MOTORS | op::SET_DAY_TIME => Ok(3),
        op::DRIVE | op::DRIVE_DIRECT | op::DRIVE_PWM => Ok(4),
        op::DIGIT_LEDS_RAW | op::DIGIT_LEDS_ASCII => Ok(4),
        op::SCHEDULE => Ok(15),
        op::SONG => counted(1, 2),
        op::STREAM | op::QUERY_LIST => counted(0, 1),
        _ => return None,
    })
}

/// An opcode with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Opcode, see [`opcode`].
    pub opcode: u8,
    /// Arguments, as many as the opcode requires.
    pub arguments: Vec<u8>,
}

impl Command {
    /// Appends the command's bytes.
    pub fn emit(&self, out: &mut Vec<u8>) {
        out.push(self.opcode);
        out.extend_from_slice(&self.arguments);
    }
}

/// Finds [`Command`]s in a host's bytes.
#[derive(Clone, Copy, Debug)]
pub struct Commands;

impl Framing for Commands {
    type Frame = Command;

    fn max_len(&self) -> usize {
        // A song of 255 notes.
        3 + 2 * 255
    }

    fn begins(&self, byte: u8) -> bool {
        arguments(byte, &[]).is_some()
    }

    fn scan(&self, bytes: &[u8]) -> Result<(Command, usize), NoFrame> {
        let [opcode] = head(bytes)?;
        let length = 1 + arguments(opcode, &bytes[1..]).ok_or(NoFrame::Refused)??;
        let arguments = whole(bytes, length)?[1..].to_vec();
        Ok((Command { opcode, arguments }, length))
    }
}

/// Groups of packets: id, first and last packet.
const GROUPS: [(u8, u8, u8); 11] = [
    (0, 7, 26),
    (1, 7, 16),
    (2, 17, 20),
    (3, 21, 26),
    (4, 27, 34),
    (5, 35, 42),
    (6, 7, 42),
    (100, 7, 58),
    (101, 43, 58),
    (106, 46, 51),
    (107, 54, 58),
];

/// Ids of the packets of a group, or the id of a single packet; none for an unknown id.
pub fn packets(id: u8) -> impl Iterator<Item = u8> {
    let group = GROUPS.iter().find(|(group, ..)| *group == id);
    let range = match group {
        Some((_, first, last)) => Some(*first..=*last),
        None => packet_len(id).map(|_| id..=id),
    };
    range.into_iter().flatten()
}

/// Length of a packet, bytes; `None` for an unknown packet.
pub fn packet_len(id: u8) -> Option<usize> {
    match id {
        7..=18 | 21 | 24 | 32 | 34..=38 | 45 | 52 | 53 | 58 => Some(1),
        19 | 20 | 22 | 23 | 25..=31 | 33 | 39..=44 | 46..=51 | 54..=57 => Some(2),
        _ => None,
    }
}

/// Length of the answer to a request for a packet or a group, bytes; 0 for an unknown id.
pub fn answer_len(id: u8) -> usize {
    packets(id).filter_map(packet_len).sum()
}

const STREAM_HEAD: u8 = 0x13;

/// One message of a stream: packets or groups with their data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamFrame {
    /// Id and data of each packet or group; at most 255 bytes in total.
    pub parts: Vec<(u8, Vec<u8>)>,
}

impl StreamFrame {
    /// Appends the bytes of the message.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let start = out.len();
        let length: usize = self.parts.iter().map(|(_, data)| 1 + data.len()).sum();
        out.extend([STREAM_HEAD, length as u8]);
        for (id, data) in &self.parts {
            out.push(*id);
            out.extend_from_slice(data);
        }
        let sum = out[start..].iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte));
        out.push(sum.wrapping_neg());
    }
}

/// Finds [`StreamFrame`]s in a robot's bytes.
#[derive(Clone, Copy, Debug)]
pub struct Stream;

impl Framing for Stream {
    type Frame = StreamFrame;

    fn max_len(&self) -> usize {
        3 + 255
    }

    fn begins(&self, byte: u8) -> bool {
        byte == STREAM_HEAD
    }

    fn scan(&self, bytes: &[u8]) -> Result<(StreamFrame, usize), NoFrame> {
        let [_, length] = head(bytes)?;
        require(length > 0)?;
        let frame = whole(bytes, 3 + usize::from(length))?;
        require(frame.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte)) == 0)?;
        let mut rest = &frame[2..frame.len() - 1];
        let mut parts = Vec::new();
        while let Some((&id, after)) = rest.split_first() {
            let length = answer_len(id);
            require(length > 0)?;
            let (data, next) = after.split_at_checked(length).ok_or(NoFrame::Refused)?;
            parts.push((id, data.to_vec()));
            rest = next;
        }
        Ok((StreamFrame { parts }, frame.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framer::Framer;
    use crate::tests::hex;

    #[test]
    fn commands_are_those_of_drivers() {
        // pycreate2's start, a song of one note, playing it, a drive command, and a request for all sensors.
        let stream = hex("80 83 8C 01 01 46 00 8D 01 91 00 C8 FF 9C 8E 64 94 03 2B 2C 23 94 00 AD");
        let found = Framer::new(Commands).frames(&stream);
        let shape: Vec<(u8, usize)> = found.iter().map(|c| (c.opcode, c.arguments.len())).collect();
        let wanted = [
            (128, 0),
            (131, 0),
            (140, 4),
            (141, 1),
            (145, 4),
            (142, 1),
            (148, 4),
            (148, 1),
            (173, 0),
        ];
        assert_eq!(shape, wanted);
        let mut again = Vec::new();
        found.iter().for_each(|command| command.emit(&mut again));
        assert_eq!(again, stream);
    }

    #[test]
    fn groups_have_the_lengths_of_the_specification() {
        let groups =
            [(0, 26), (1, 10), (2, 6), (3, 10), (4, 14), (5, 12), (6, 52), (100, 80), (101, 28)];
        for (id, length) in groups.into_iter().chain([(106, 12), (107, 9), (59, 0), (255, 0)]) {
            assert_eq!(answer_len(id), length, "{id}");
        }
    }

    #[test]
    fn streams_are_the_specifications_and_libcreates() {
        for (parts, text) in [
            (vec![(29, hex("02 19")), (13, hex("00"))], "13 05 1D 02 19 0D 00 A3"),
            (
                vec![(35, hex("02")), (43, hex("FD E8")), (44, hex("04 B0"))],
                "13 08 23 02 2B FD E8 2C 04 B0 D0",
            ),
        ] {
            let frame = StreamFrame { parts };
            let mut out = Vec::new();
            frame.emit(&mut out);
            assert_eq!(out, hex(text));
            assert_eq!(Framer::new(Stream).frames(&hex(text)), [frame]);
        }
    }

    #[test]
    fn libcreates_stream_is_48_bytes() {
        let ids = (7..=15).chain([17, 18]).chain(21..=26).chain([35]).chain(43..=53).chain([58]);
        let ids: Vec<u8> = ids.collect();
        assert_eq!(ids.len(), 30);
        let data: usize = ids.iter().map(|id| answer_len(*id)).sum();
        assert_eq!(ids.len() + data, 30 + 42);
    }
}
