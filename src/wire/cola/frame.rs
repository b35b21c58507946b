//! Start and end of telegrams.
//!
//! ```text
//! CoLa-A   02 | content | 03
//! CoLa-B   02 02 02 02 | length, u32 | content | exclusive or of the content's bytes
//! ```
//!
//! The second byte determines the dialect. Every content begins with `s`.

use std::borrow::Cow;

use super::Dialect;
use crate::checksum::xor8;
use crate::framer::{Framing, NoFrame, head, require, whole};

const STX: u8 = 0x02;
const ETX: u8 = 0x03;
/// Length of the start of a CoLa-B telegram, bytes: four STX and the length field.
const BINARY_HEAD: usize = 8;

/// Content and dialect of one telegram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Dialect of the telegram.
    pub dialect: Dialect,
    /// Content from the `s` to the last parameter.
    pub content: Vec<u8>,
}

impl Frame {
    /// Bytes of the telegram. In CoLa-A, a content cannot contain STX or ETX.
    pub fn emit(&self) -> Vec<u8> {
        emit(self.dialect, &self.content)
    }
}

/// Bytes of a telegram: `content`, framed as `dialect` requires.
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
            bytes.push(xor8(content));
        }
    }
    bytes
}

/// Finds telegrams in a stream.
#[derive(Clone, Copy, Debug)]
pub struct Cola {
    /// Length of the longest accepted content, bytes.
    pub max_content: usize,
}

impl Framing for Cola {
    type Frame = Frame;

    fn max_len(&self) -> usize {
        BINARY_HEAD + self.max_content + 1
    }

    fn begins(&self, byte: u8) -> bool {
        byte == STX
    }

    fn scan(&self, bytes: &[u8]) -> Result<(Frame, usize), NoFrame> {
        match head::<2>(bytes)?[1] {
            b's' => self.text(bytes),
            STX => self.binary(bytes),
            _ => Err(NoFrame::Refused),
        }
    }
}

impl Cola {
    fn text(&self, bytes: &[u8]) -> Result<(Frame, usize), NoFrame> {
        let inner = &bytes[1..];
        let end = inner.iter().position(|&byte| byte == STX || byte == ETX);
        require(end.unwrap_or(inner.len()) <= self.max_content)?;
        let end = end.ok_or(NoFrame::Incomplete)?;
        // An STX begins another telegram: this one is incomplete.
        require(inner[end] == ETX)?;
        Ok((Frame { dialect: Dialect::A, content: inner[..end].to_vec() }, end + 2))
    }

    fn binary(&self, bytes: &[u8]) -> Result<(Frame, usize), NoFrame> {
        require(bytes.iter().take(4).all(|byte| *byte == STX))?;
        let [.., a, b, c, d] = head::<BINARY_HEAD>(bytes)?;
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        require((1..=self.max_content).contains(&length))?;
        require(head::<{ BINARY_HEAD + 1 }>(bytes)?[BINARY_HEAD] == b's')?;
        let telegram = whole(bytes, BINARY_HEAD + length + 1)?;
        let (content, sum) = telegram[BINARY_HEAD..].split_at(length);
        require(*sum == [xor8(content)])?;
        Ok((Frame { dialect: Dialect::B, content: content.to_vec() }, telegram.len()))
    }
}

/// Text of a content for users, with escapes for characters that are not printable.
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
    use crate::framer::Framer;

    const COLA: Cola = Cola { max_content: 64 };

    #[test]
    fn both_dialects_may_follow_one_another() {
        let a = emit(Dialect::A, b"sRN STlms");
        let b = emit(Dialect::B, b"sMN Run");
        assert_eq!(b, b"\x02\x02\x02\x02\0\0\0\x07sMN Run\x19");
        let found = Framer::new(COLA).frames(&[&a[..], &b, &b, &a].concat());
        let dialects: Vec<_> = found.iter().map(|frame| frame.dialect).collect();
        assert_eq!(dialects, [Dialect::A, Dialect::B, Dialect::B, Dialect::A]);
        assert_eq!(found[1].emit(), b);
    }

    #[test]
    fn damage_costs_one_telegram() {
        let good = emit(Dialect::B, b"sRN ODoprh");
        let mut damaged = good.clone();
        *damaged.last_mut().unwrap() ^= 1;
        let found = |parts: &[&[u8]]| Framer::new(COLA).frames(&parts.concat());
        for before in [
            &damaged[..],
            &good[..good.len() - 3],
            b"\x02sRN cut",
            b"\x02\x02\x02\x02\xff\xff\xff\xff",
            b"garbage\x02\x02\x02",
            b"\x02\x02\x02\x02\0\0\0\0",
        ] {
            // An incomplete CoLa-B telegram takes bytes of the next one. The one after the next is always found.
            let found = found(&[before, &good, &good]);
            assert!(!found.is_empty(), "{before:?}");
            assert_eq!(found.last().unwrap().content, b"sRN ODoprh");
        }
        assert_eq!(found(&[&damaged, &good]).len(), 1);
        assert_eq!(found(&[b"\x02sRN cut", &good]).len(), 1);
    }
}
