//! The mixed stream of a GNSS receiver's port: NMEA lines, UBX frames and RTCM 3 messages.
//!
//! RTCM 3: `D3`, six zero bits and a length of ten bits, the message, and a CRC-24Q over all bytes before it.

use super::framer::{Framing, NoFrame, head, require, whole};
use super::nmea::MAX_SENTENCE_LEN;
use super::{checksum, ubx};

/// A line, frame or message in the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// A line from `$` to LF; its checksum may be wrong.
    Line(Vec<u8>),
    /// A UBX frame.
    Ubx(ubx::Frame),
    /// An RTCM 3 message with header and CRC.
    Rtcm3(Vec<u8>),
}

impl Frame {
    /// Appends the frame.
    pub fn emit(&self, out: &mut Vec<u8>) {
        match self {
            Self::Line(bytes) | Self::Rtcm3(bytes) => out.extend_from_slice(bytes),
            Self::Ubx(frame) => frame.emit(out),
        }
    }
}

/// Finds [`Frame`]s in a stream.
#[derive(Clone, Copy, Debug, Default)]
pub struct GnssStream;

const RTCM3_PREAMBLE: u8 = 0xd3;

impl Framing for GnssStream {
    type Frame = Frame;

    fn max_len(&self) -> usize {
        ubx::MAX_PAYLOAD_LEN + ubx::OVERHEAD
    }

    fn begins(&self, byte: u8) -> bool {
        matches!(byte, b'$' | RTCM3_PREAMBLE) || byte == ubx::SYNC[0]
    }

    fn scan(&self, bytes: &[u8]) -> Result<(Frame, usize), NoFrame> {
        match bytes[0] {
            b'$' => line(bytes).map(|line| (Frame::Line(line.to_vec()), line.len())),
            RTCM3_PREAMBLE => {
                rtcm3(bytes).map(|message| (Frame::Rtcm3(message.to_vec()), message.len()))
            }
            _ => ubx(bytes).map(|(frame, length)| (Frame::Ubx(frame), length)),
        }
    }
}

fn line(bytes: &[u8]) -> Result<&[u8], NoFrame> {
    let window = &bytes[1..bytes.len().min(MAX_SENTENCE_LEN - 2)];
    let is_text = |byte: &u8| (0x20..0x7f).contains(byte) && *byte != b'$';
    let end = 1 + window.iter().take_while(|byte| is_text(byte)).count();
    match bytes[end..] {
        [b'\n', ..] => Ok(&bytes[..=end]),
        [b'\r', b'\n', ..] => Ok(&bytes[..end + 2]),
        [] | [b'\r'] => Err(NoFrame::Incomplete),
        _ => Err(NoFrame::Refused),
    }
}

fn ubx(bytes: &[u8]) -> Result<(ubx::Frame, usize), NoFrame> {
    require(head::<2>(bytes)? == ubx::SYNC)?;
    let [.., low, high] = head::<6>(bytes)?;
    let length = usize::from(u16::from_le_bytes([low, high]));
    require(length <= ubx::MAX_PAYLOAD_LEN)?;
    let frame = whole(bytes, length + ubx::OVERHEAD)?;
    Ok((ubx::Frame::parse(frame)?, frame.len()))
}

fn rtcm3(bytes: &[u8]) -> Result<&[u8], NoFrame> {
    let [_, high, low] = head(bytes)?;
    require(high & 0xfc == 0)?;
    let message = whole(bytes, usize::from(u16::from_be_bytes([high, low])) + 6)?;
    let (covered, crc) = message.split_at(message.len() - 3);
    require(checksum::crc24q(covered).to_be_bytes()[1..] == *crc)?;
    Ok(message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framer::Framer;

    const ACK: &[u8] = &[0xb5, 0x62, 0x05, 0x01, 0x02, 0x00, 0x06, 0x08, 0x16, 0x3f];

    #[test]
    fn lines_and_frames_are_found_between_anything() {
        let rtcm = [0xd3, 0x00, 0x02, 0x4c, 0xe0];
        let crc = checksum::crc24q(&rtcm).to_be_bytes();
        let rtcm = [&rtcm[..], &crc[1..]].concat();
        let line = &b"$GPGSV,1,1,00,1*64\r\n"[..];
        let stream = [b"\0# x", line, ACK, b"$GN", ACK, &rtcm, b"$G"].concat();
        let ack = || Frame::Ubx(ubx::Frame::parse(ACK).unwrap());
        let found = Framer::new(GnssStream).frames(&stream);
        assert_eq!(found, [Frame::Line(line.to_vec()), ack(), ack(), Frame::Rtcm3(rtcm)]);
    }

    #[test]
    fn a_long_promise_is_given_up_when_the_checksum_is_wrong() {
        let mut bytes = vec![0xb5, 0x62, 1, 7, 92, 0];
        bytes.extend([0; 40]);
        bytes.extend(ACK);
        bytes.extend([0; 60]);
        assert_eq!(Framer::new(GnssStream).frames(&bytes).len(), 1);
    }

    #[test]
    fn lines_have_a_greatest_length() {
        let line = |letters| [b"$", &vec![b'A'; letters][..], b"\r\n"].concat();
        let found = |letters| Framer::new(GnssStream).frames(&line(letters)).len();
        assert_eq!((found(MAX_SENTENCE_LEN - 3), found(MAX_SENTENCE_LEN - 2)), (1, 0));
    }
}
