//! Where a telegram begins and ends.
//!
//! ```text
//! CoLa-A   02 | content | 03
//! CoLa-B   02 02 02 02 | length, u32 | content | exclusive or of the content's bytes
//! ```
//!
//! The dialect is told by the second byte. Every content begins with `s`.

use std::borrow::Cow;

use super::Dialect;

const STX: u8 = 0x02;
const ETX: u8 = 0x03;
/// STX four times and the length.
const BINARY_HEAD: usize = 8;

/// One telegram without its frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// How it was written.
    pub dialect: Dialect,
    /// From the `s` to the last parameter.
    pub content: Vec<u8>,
}

impl Frame {
    /// The bytes of the telegram. CoLa-A has no way to carry STX or ETX in a content.
    pub fn emit(&self) -> Vec<u8> {
        emit(self.dialect, &self.content)
    }
}

/// Puts `content` into a frame.
pub fn emit(dialect: Dialect, content: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(content.len() + BINARY_HEAD + 1);
    match dialect {
        Dialect::A => {
            bytes.push(STX);
            bytes.extend_from_slice(content);
            bytes.push(ETX);
        }
        Dialect::B => {
            bytes.extend([STX; 4]);
            bytes.extend((content.len() as u32).to_be_bytes());
            bytes.extend_from_slice(content);
            bytes.push(checksum(content));
        }
    }
    bytes
}

fn checksum(content: &[u8]) -> u8 {
    content.iter().fold(0, |sum, byte| sum ^ byte)
}

/// What a stream begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next<'a> {
    /// A telegram of `length` bytes.
    Frame {
        /// How it is written.
        dialect: Dialect,
        /// Its content.
        content: &'a [u8],
        /// Bytes of the frame.
        length: usize,
    },
    /// So many bytes that belong to no telegram.
    Noise(usize),
    /// A telegram, as far as it can be seen, whose end is not there yet; or nothing at all.
    Incomplete,
}

/// Looks at the beginning of `stream`. Contents longer than `longest` are noise.
pub fn next(stream: &[u8], longest: usize) -> Next<'_> {
    let Some(start) = stream.iter().position(|&byte| byte == STX) else {
        return if stream.is_empty() { Next::Incomplete } else { Next::Noise(stream.len()) };
    };
    if start > 0 {
        return Next::Noise(start);
    }
    match stream.get(1) {
        None => Next::Incomplete,
        Some(b's') => text(stream, longest),
        Some(&STX) => binary(stream, longest),
        Some(_) => Next::Noise(1),
    }
}

fn text(stream: &[u8], longest: usize) -> Next<'_> {
    let inner = &stream[1..];
    match inner.iter().position(|&byte| byte == STX || byte == ETX) {
        Some(end) if end > longest => Next::Noise(end + 1),
        Some(end) if inner[end] == ETX => {
            Next::Frame { dialect: Dialect::A, content: &inner[..end], length: end + 2 }
        }
        // Cut short: another telegram begins.
        Some(end) => Next::Noise(end + 1),
        None if inner.len() > longest => Next::Noise(stream.len()),
        None => Next::Incomplete,
    }
}

fn binary(stream: &[u8], longest: usize) -> Next<'_> {
    let seen = &stream[..stream.len().min(4)];
    if seen.iter().any(|&byte| byte != STX) {
        return Next::Noise(1);
    }
    let Some(length) = stream.get(4..BINARY_HEAD).and_then(|bytes| bytes.try_into().ok()) else {
        return Next::Incomplete;
    };
    let length = u32::from_be_bytes(length) as usize;
    if length == 0 || length > longest {
        return Next::Noise(1);
    }
    match stream.get(BINARY_HEAD) {
        None => return Next::Incomplete,
        Some(b's') => {}
        Some(_) => return Next::Noise(1),
    }
    let Some(rest) = stream.get(BINARY_HEAD..=BINARY_HEAD + length) else {
        return Next::Incomplete;
    };
    let (content, sum) = rest.split_at(length);
    if sum[0] != checksum(content) {
        return Next::Noise(1);
    }
    Next::Frame { dialect: Dialect::B, content, length: BINARY_HEAD + length + 1 }
}

/// Finds telegrams in bytes that come in pieces. Keeps no more than one telegram of the longest
/// kind; what is damaged is skipped up to the next beginning.
#[derive(Clone, Debug)]
pub struct Splitter {
    buffer: Vec<u8>,
    longest: usize,
}

impl Splitter {
    /// For contents of up to `longest` bytes.
    pub fn new(longest: usize) -> Self {
        Self { buffer: Vec::new(), longest }
    }

    /// Takes `bytes` and hands every telegram that is complete by them to `found`.
    pub fn push(&mut self, bytes: &[u8], mut found: impl FnMut(Frame)) {
        // In pieces, so that what is kept stays small whatever comes at once.
        for piece in bytes.chunks(self.longest.max(1)) {
            self.buffer.extend_from_slice(piece);
            let mut done = 0;
            loop {
                match next(&self.buffer[done..], self.longest) {
                    Next::Frame { dialect, content, length } => {
                        found(Frame { dialect, content: content.to_vec() });
                        done += length;
                    }
                    Next::Noise(length) => done += length,
                    Next::Incomplete => break,
                }
            }
            self.buffer.drain(..done);
        }
    }

    /// Whether a telegram has begun and not ended.
    pub fn is_amid(&self) -> bool {
        !self.buffer.is_empty()
    }

    /// Forgets a telegram that has begun.
    pub fn clear(&mut self) {
        self.buffer.clear();
    }
}

/// Text of a content, for people: what is not printable is escaped.
pub fn printable(content: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(content) {
        Ok(text) if text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()) => {
            Cow::Borrowed(text)
        }
        _ => Cow::Owned(content.escape_ascii().to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LONGEST: usize = 64;

    fn split(pieces: &[&[u8]]) -> Vec<Frame> {
        let mut splitter = Splitter::new(LONGEST);
        let mut frames = Vec::new();
        for piece in pieces {
            splitter.push(piece, |frame| frames.push(frame));
            assert!(splitter.buffer.len() <= LONGEST + BINARY_HEAD + 1);
        }
        frames
    }

    #[test]
    fn both_dialects_may_follow_one_another() {
        let a = emit(Dialect::A, b"sRN STlms");
        let b = emit(Dialect::B, b"sMN Run");
        assert_eq!(b, b"\x02\x02\x02\x02\0\0\0\x07sMN Run\x19");
        let found = split(&[&a, &b, &b, &a]);
        let dialects: Vec<_> = found.iter().map(|frame| frame.dialect).collect();
        assert_eq!(dialects, [Dialect::A, Dialect::B, Dialect::B, Dialect::A]);
        assert_eq!(found[1].emit(), b);
    }

    #[test]
    fn damage_costs_one_telegram() {
        let good = emit(Dialect::B, b"sRN ODoprh");
        let mut spoilt = good.clone();
        *spoilt.last_mut().unwrap() ^= 1;
        for before in [
            &spoilt[..],
            &good[..good.len() - 3],
            b"\x02sRN cut",
            b"\x02\x02\x02\x02\xff\xff\xff\xff",
            b"garbage\x02\x02\x02",
            b"\x02\x02\x02\x02\0\0\0\0",
        ] {
            // A telegram that was cut in CoLa-B takes bytes of the next for its own; the one after
            // that is found for certain.
            let found = split(&[before, &good, &good]);
            assert!(!found.is_empty(), "{before:?}");
            assert_eq!(found.last().unwrap().content, b"sRN ODoprh");
        }
        assert_eq!(split(&[&spoilt, &good]).len(), 1);
        assert_eq!(split(&[b"\x02sRN cut", &good]).len(), 1);
    }

    proptest! {
        #[test]
        fn whatever_comes_is_bounded_and_the_next_telegram_is_found(
            pieces in prop::collection::vec(prop::collection::vec(
                prop_oneof![Just(0x02u8), Just(0x03), Just(b's'), any::<u8>()], 0..200), 0..20),
        ) {
            let mut splitter = Splitter::new(LONGEST);
            for piece in &pieces {
                splitter.push(piece, |frame| assert!(frame.content.len() <= LONGEST));
                prop_assert!(splitter.buffer.len() <= LONGEST + BINARY_HEAD + 1);
            }
            splitter.clear();
            let mut found = 0;
            splitter.push(&emit(Dialect::A, b"sRN STlms"), |_| found += 1);
            prop_assert_eq!(found, 1);
        }

        #[test]
        fn pieces_do_not_matter(
            contents in prop::collection::vec(("s[ -~]{0,60}", any::<bool>()), 1..6),
            cuts in prop::collection::vec(1..40usize, 0..20),
        ) {
            let frames: Vec<Frame> = contents
                .into_iter()
                .map(|(text, is_binary)| Frame {
                    dialect: if is_binary { Dialect::B } else { Dialect::A },
                    content: text.into_bytes(),
                })
                .collect();
            let bytes: Vec<u8> = frames.iter().flat_map(Frame::emit).collect();
            let mut splitter = Splitter::new(LONGEST);
            let mut found = Vec::new();
            let mut rest = &bytes[..];
            for cut in cuts {
                let (piece, after) = rest.split_at(cut.min(rest.len()));
                splitter.push(piece, |frame| found.push(frame));
                rest = after;
            }
            splitter.push(rest, |frame| found.push(frame));
            prop_assert_eq!(found, frames);
            prop_assert!(!splitter.is_amid());
        }
    }
}
