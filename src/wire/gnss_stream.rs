//! The mixed stream of a GNSS receiver's port: NMEA lines, UBX frames and RTCM 3 messages, between
//! which anything may stand.

use std::ops::Range;

use super::nmea::MAX_SENTENCE_LEN;
use super::{checksum, ubx};

/// What a piece of a stream is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PieceKind {
    /// A line from `$` to LF. Its checksum may be wrong.
    Line,
    /// A UBX frame with a right checksum.
    Ubx,
    /// An RTCM 3 message with a right checksum.
    Rtcm3,
    /// Anything else.
    Noise,
}

/// Some bytes of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// What they are.
    pub kind: PieceKind,
    /// All of them, frame included.
    pub bytes: Vec<u8>,
}

/// Takes a stream apart, whatever bytes it has and however they come. Holds back at most
/// [`ubx::MAX_PAYLOAD_LEN`] + [`ubx::OVERHEAD`] bytes beyond what was pushed last. No byte is lost:
/// the pieces one after another are the stream.
#[derive(Clone, Debug, Default)]
pub struct Splitter {
    held: Vec<u8>,
    /// How many of `held` were handed out.
    taken: usize,
}

const RTCM3_PREAMBLE: u8 = 0xd3;

/// What stands at the head of the bytes held.
enum Head {
    Piece(PieceKind, usize),
    /// Cannot be told before more bytes come.
    Unknown,
    Nothing,
}

impl Splitter {
    /// Adds bytes of the stream; afterwards call [`Splitter::next_piece`] until `None`.
    pub fn push(&mut self, bytes: &[u8]) {
        self.held.drain(..self.taken);
        self.taken = 0;
        self.held.extend_from_slice(bytes);
    }

    /// The next piece that is whole.
    pub fn next_piece(&mut self) -> Option<Piece> {
        self.next_before(false)
    }

    /// The next piece when no more bytes will come.
    pub fn next_at_end(&mut self) -> Option<Piece> {
        self.next_before(true)
    }

    fn next_before(&mut self, is_end: bool) -> Option<Piece> {
        let mut noise = 0;
        let rest = &self.held[self.taken..];
        let piece = loop {
            match head(&rest[noise..]) {
                Head::Piece(PieceKind::Noise, length) => noise += length,
                Head::Unknown if is_end => noise += 1,
                Head::Piece(..) | Head::Unknown | Head::Nothing if noise > 0 => {
                    break (PieceKind::Noise, 0..noise);
                }
                Head::Piece(kind, length) => break (kind, 0..length),
                Head::Unknown | Head::Nothing => return None,
            }
        };
        let (kind, range): (PieceKind, Range<usize>) = piece;
        let bytes = rest[range].to_vec();
        self.taken += bytes.len();
        Some(Piece { kind, bytes })
    }
}

fn head(bytes: &[u8]) -> Head {
    match bytes {
        [] => Head::Nothing,
        [b'$', rest @ ..] => line(rest),
        [0xb5, ..] => ubx_frame(bytes),
        [RTCM3_PREAMBLE, ..] => rtcm3(bytes),
        _ => {
            let starts = |byte: &u8| matches!(*byte, b'$' | 0xb5 | RTCM3_PREAMBLE);
            let length = bytes.iter().position(starts).unwrap_or(bytes.len());
            Head::Piece(PieceKind::Noise, length)
        }
    }
}

/// A line whose `$` stands before `rest`.
fn line(rest: &[u8]) -> Head {
    let is_text = |byte: u8| (0x20..0x7f).contains(&byte) && byte != b'$';
    match rest.iter().position(|byte| !is_text(*byte)) {
        Some(end) if end + 3 <= MAX_SENTENCE_LEN => match rest[end..] {
            [b'\n', ..] => Head::Piece(PieceKind::Line, end + 2),
            [b'\r', b'\n', ..] => Head::Piece(PieceKind::Line, end + 3),
            [b'\r'] => Head::Unknown,
            _ => Head::Piece(PieceKind::Noise, end + 1),
        },
        None if rest.len() + 3 <= MAX_SENTENCE_LEN => Head::Unknown,
        _ => Head::Piece(PieceKind::Noise, 1),
    }
}

fn ubx_frame(bytes: &[u8]) -> Head {
    if bytes.len() > 1 && bytes[..2] != ubx::SYNC {
        return Head::Piece(PieceKind::Noise, 1);
    }
    let Some(length) = bytes.get(4..6) else { return Head::Unknown };
    let length = usize::from(u16::from_le_bytes([length[0], length[1]]));
    if length > ubx::MAX_PAYLOAD_LEN {
        return Head::Piece(PieceKind::Noise, 1);
    }
    let Some(frame) = bytes.get(..length + ubx::OVERHEAD) else { return Head::Unknown };
    let (body, sums) = frame[2..].split_at(length + 4);
    if checksum::fletcher8(body) == sums {
        Head::Piece(PieceKind::Ubx, frame.len())
    } else {
        Head::Piece(PieceKind::Noise, 1)
    }
}

fn rtcm3(bytes: &[u8]) -> Head {
    if bytes.len() > 1 && bytes[1] & 0xfc != 0 {
        return Head::Piece(PieceKind::Noise, 1);
    }
    let Some(length) = bytes.get(1..3) else { return Head::Unknown };
    let length = usize::from(u16::from_be_bytes([length[0], length[1]]));
    let Some(message) = bytes.get(..length + 6) else { return Head::Unknown };
    let (body, sum) = message.split_at(length + 3);
    if checksum::crc24q(body).to_be_bytes()[1..] == *sum {
        Head::Piece(PieceKind::Rtcm3, message.len())
    } else {
        Head::Piece(PieceKind::Noise, 1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn split(chunks: &[&[u8]]) -> Vec<Piece> {
        let mut splitter = Splitter::default();
        let mut pieces = Vec::new();
        for chunk in chunks {
            splitter.push(chunk);
            pieces.extend(std::iter::from_fn(|| splitter.next_piece()));
        }
        pieces.extend(std::iter::from_fn(|| splitter.next_at_end()));
        pieces
    }

    const ACK: &[u8] = &[0xb5, 0x62, 0x05, 0x01, 0x02, 0x00, 0x06, 0x08, 0x16, 0x3f];

    #[test]
    fn lines_and_frames_are_found_between_anything() {
        let rtcm = [0xd3, 0x00, 0x02, 0x4c, 0xe0];
        let crc = checksum::crc24q(&rtcm).to_be_bytes();
        let rtcm = [&rtcm[..], &crc[1..]].concat();
        let stream = [b"\0# x", &b"$GPGSV,1,1,00,1*64\r\n"[..], ACK, b"$GN", ACK, &rtcm, b"$G"];
        let whole = stream.concat();
        let kinds = |pieces: &[Piece]| pieces.iter().map(|p| p.kind).collect::<Vec<_>>();
        let pieces = split(&[&whole]);
        use PieceKind::*;
        assert_eq!(kinds(&pieces), [Noise, Line, Ubx, Noise, Ubx, Rtcm3, Noise]);
        assert_eq!(pieces[2].bytes, ACK);
        let bytewise: Vec<&[u8]> = whole.chunks(1).collect();
        let found = split(&bytewise);
        let frames =
            |p: &[Piece]| p.iter().filter(|p| p.kind != Noise).cloned().collect::<Vec<_>>();
        assert_eq!(frames(&found), frames(&pieces));
    }

    #[test]
    fn a_long_promise_is_given_up_when_the_checksum_is_wrong() {
        let mut bytes = vec![0xb5, 0x62, 1, 7, 92, 0];
        bytes.extend([0; 40]);
        bytes.extend(ACK);
        bytes.extend([0; 60]);
        assert!(split(&[&bytes]).iter().any(|piece| piece.bytes == ACK));
    }

    proptest! {
        #[test]
        fn no_byte_is_lost_and_frames_are_found_in_any_chunks(
            noise in prop::collection::vec(
                prop_oneof![
                    prop::collection::vec(any::<u8>(), 0..40),
                    prop::collection::vec(prop::sample::select(b"$\xb5\x62\xd3\r\n\0*".to_vec()), 0..20),
                ], 0..6),
            cuts in prop::collection::vec(0..400_usize, 0..10),
        ) {
            let stream = noise.join(ACK);
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(stream.len())).collect();
            cuts.extend([0, stream.len()]);
            cuts.sort_unstable();
            let chunks: Vec<&[u8]> = cuts.windows(2).map(|w| &stream[w[0]..w[1]]).collect();
            let pieces = split(&chunks);
            prop_assert_eq!(pieces.iter().flat_map(|p| p.bytes.clone()).collect::<Vec<_>>(), stream.clone());
            let frames = |pieces: Vec<Piece>| -> Vec<Vec<u8>> {
                pieces.into_iter().filter(|p| p.kind != PieceKind::Noise).map(|p| p.bytes).collect()
            };
            prop_assert_eq!(frames(pieces), frames(split(&[&stream])));
        }
    }
}
