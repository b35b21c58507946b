//! Values of a telegram in both dialects.
//!
//! CoLa-A: each value follows a blank. Numbers are upper-case hexadecimal without leading zeros. Negative numbers are
//! in 32-bit two's complement, reals are the eight hexadecimal digits of their IEEE 754 bits. Hosts may also write
//! leading zeros, lower-case letters, or decimal numbers with a sign. The length of a text precedes the text. CoLa-B:
//! one blank precedes the first value, then big-endian bytes follow; the length of a text has two bytes.

use super::{Dialect, Refusal};

/// Writer for the content of a telegram: kind and name, then values.
#[derive(Clone, Debug)]
pub struct Writer {
    dialect: Dialect,
    content: Vec<u8>,
    has_values: bool,
}

impl Writer {
    /// Starts the content of a telegram with `head`, such as `sRA STlms`.
    pub fn new(dialect: Dialect, head: &[&str]) -> Self {
        let content = head.join(" ").into_bytes();
        Self { dialect, content, has_values: false }
    }

    /// Like [`Writer::new`], but without a blank before the values in CoLa-B.
    pub fn glued(dialect: Dialect, head: &str) -> Self {
        Self { dialect, content: head.as_bytes().to_vec(), has_values: true }
    }

    fn number(&mut self, text: std::fmt::Arguments<'_>, binary: &[u8]) {
        match self.dialect {
            Dialect::A => self.content.extend(format!(" {text}").into_bytes()),
            Dialect::B => self.bytes(binary),
        }
    }

    fn bytes(&mut self, binary: &[u8]) {
        if !std::mem::replace(&mut self.has_values, true) {
            self.content.push(b' ');
        }
        self.content.extend_from_slice(binary);
    }

    /// Writes a byte.
    pub fn u8(&mut self, value: u8) {
        self.number(format_args!("{value:X}"), &[value]);
    }

    /// Writes a number of two bytes.
    pub fn u16(&mut self, value: u16) {
        self.number(format_args!("{value:X}"), &value.to_be_bytes());
    }

    /// Writes a number of four bytes.
    pub fn u32(&mut self, value: u32) {
        self.number(format_args!("{value:X}"), &value.to_be_bytes());
    }

    /// Writes a signed number of four bytes.
    pub fn i32(&mut self, value: i32) {
        self.number(format_args!("{value:X}"), &value.to_be_bytes());
    }

    /// Writes a real number, given by its IEEE 754 bits.
    pub fn real(&mut self, bits: u32) {
        self.number(format_args!("{bits:08X}"), &bits.to_be_bytes());
    }

    /// Writes a text with its length; bytes after the first 65 535 are dropped.
    pub fn text(&mut self, text: &[u8]) {
        let text = &text[..text.len().min(usize::from(u16::MAX))];
        self.u16(text.len() as u16);
        if !text.is_empty() {
            self.word(text);
        }
    }

    /// Writes bytes of a fixed length.
    pub fn word(&mut self, word: &[u8]) {
        match self.dialect {
            Dialect::A => {
                self.content.push(b' ');
                self.content.extend_from_slice(word);
            }
            Dialect::B => self.bytes(word),
        }
    }

    /// The content of the telegram. With `has_last_blank`, a CoLa-B content without values ends in a blank.
    pub fn finish(mut self, has_last_blank: bool) -> Vec<u8> {
        if has_last_blank && self.dialect == Dialect::B && !self.has_values {
            self.content.push(b' ');
        }
        self.content
    }

    /// The content so far; the caller may append values.
    pub fn raw(&mut self) -> &mut Vec<u8> {
        &mut self.content
    }
}

/// Reader for the values that follow the name of a telegram. The errors are the codes with which a scanner refuses a
/// telegram.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    dialect: Dialect,
    rest: &'a [u8],
    /// Whether only the forms of a [`Writer`] are accepted.
    is_strict: bool,
}

impl<'a> Reader<'a> {
    /// Reads all forms that scanners accept.
    pub fn lenient(dialect: Dialect, after_name: &'a [u8]) -> Self {
        let rest = match dialect {
            Dialect::A => after_name,
            Dialect::B => after_name.strip_prefix(b" ").unwrap_or(after_name),
        };
        Self { dialect, rest, is_strict: false }
    }

    /// Reads only the forms that a [`Writer`] writes.
    pub fn strict(dialect: Dialect, after_name: &'a [u8]) -> Self {
        Self { is_strict: true, ..Self::lenient(dialect, after_name) }
    }

    /// Bytes not yet read.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Returns [`Refusal::BufferOverflow`] if unread bytes are left. A lenient reader ignores blanks at the end of a
    /// CoLa-A telegram.
    pub fn finish(self) -> Result<(), Refusal> {
        let rest = match self.dialect {
            Dialect::A if !self.is_strict => self.rest.trim_ascii(),
            _ => self.rest,
        };
        if rest.is_empty() { Ok(()) } else { Err(Refusal::BufferOverflow) }
    }

    fn token(&mut self) -> Result<&'a [u8], Refusal> {
        let mut rest = self.rest.strip_prefix(b" ").ok_or(Refusal::BufferUnderflow)?;
        while !self.is_strict && rest.first() == Some(&b' ') {
            rest = &rest[1..];
        }
        let end = rest.iter().position(|&byte| byte == b' ').unwrap_or(rest.len());
        let (token, rest) = rest.split_at(end);
        if token.is_empty() {
            return Err(Refusal::BufferUnderflow);
        }
        self.rest = rest;
        Ok(token)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Refusal> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(Refusal::BufferUnderflow)?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Refusal> {
        let taken = self.take(N)?;
        taken.try_into().map_err(|_| Refusal::BufferUnderflow)
    }

    /// Reads a CoLa-A number of `bits` bits; a negative number is returned in 32-bit two's complement.
    fn number(&mut self, bits: u32) -> Result<u32, Refusal> {
        let token = self.token()?;
        let text = std::str::from_utf8(token).map_err(|_| Refusal::InvalidCharacter)?;
        let is_digits =
            |text: &str, radix| !text.is_empty() && text.chars().all(|digit| digit.is_digit(radix));
        let (digits, radix, is_negative) = match token[0] {
            b'+' => (&text[1..], 10, false),
            b'-' => (&text[1..], 10, true),
            _ => (text, 16, false),
        };
        if !is_digits(digits, radix) || (self.is_strict && !is_canonical(token)) {
            return Err(Refusal::InvalidCharacter);
        }
        let size = i64::from_str_radix(digits, radix).map_err(|_| Refusal::ValueOverflow)?;
        let fits = if is_negative { size <= 1 << (bits - 1) } else { size < 1 << bits };
        if !fits {
            return Err(Refusal::ValueOverflow);
        }
        Ok(if is_negative { (size as u32).wrapping_neg() } else { size as u32 })
    }

    /// Reads a byte.
    pub fn u8(&mut self) -> Result<u8, Refusal> {
        match self.dialect {
            Dialect::A => self.number(8).map(|value| value as u8),
            Dialect::B => self.array().map(u8::from_be_bytes),
        }
    }

    /// Reads a number of two bytes.
    pub fn u16(&mut self) -> Result<u16, Refusal> {
        match self.dialect {
            Dialect::A => self.number(16).map(|value| value as u16),
            Dialect::B => self.array().map(u16::from_be_bytes),
        }
    }

    /// Reads a number of four bytes.
    pub fn u32(&mut self) -> Result<u32, Refusal> {
        match self.dialect {
            Dialect::A => self.number(32),
            Dialect::B => self.array().map(u32::from_be_bytes),
        }
    }

    /// Reads a signed number of four bytes.
    pub fn i32(&mut self) -> Result<i32, Refusal> {
        self.u32().map(|value| value as i32)
    }

    /// Reads a real number; returns its IEEE 754 bits.
    pub fn real(&mut self) -> Result<u32, Refusal> {
        if self.dialect == Dialect::B || !self.is_strict {
            return self.u32();
        }
        let token = self.token()?;
        let is_digit = |byte: &u8| byte.is_ascii_digit() || (b'A'..=b'F').contains(byte);
        let text = std::str::from_utf8(token).map_err(|_| Refusal::InvalidCharacter)?;
        if token.len() != 8 || !token.iter().all(is_digit) {
            return Err(Refusal::InvalidCharacter);
        }
        u32::from_str_radix(text, 16).map_err(|_| Refusal::InvalidCharacter)
    }

    /// Reads the length of a text, then the text.
    pub fn text(&mut self) -> Result<&'a [u8], Refusal> {
        let length = usize::from(self.u16()?);
        if length == 0 { Ok(&[]) } else { self.word(length) }
    }

    /// Reads `length` bytes.
    pub fn word(&mut self, length: usize) -> Result<&'a [u8], Refusal> {
        if self.dialect == Dialect::A {
            self.rest = self.rest.strip_prefix(b" ").ok_or(Refusal::BufferUnderflow)?;
        }
        self.take(length)
    }
}

/// Whether a [`Writer`] would write the number as `token`.
fn is_canonical(token: &[u8]) -> bool {
    let is_digit = |byte: &u8| byte.is_ascii_digit() || (b'A'..=b'F').contains(byte);
    token.iter().all(is_digit) && (token[0] != b'0' || token.len() == 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(values: &str) -> Reader<'_> {
        Reader::lenient(Dialect::A, values.as_bytes())
    }

    #[test]
    fn numbers_are_read_in_all_spellings() {
        let mut reader = text(" 03 F4724744 +2500 -450000 fff92230  1");
        assert_eq!(reader.u8(), Ok(3));
        assert_eq!(reader.u32(), Ok(0xf472_4744));
        assert_eq!(reader.u32(), Ok(2500));
        assert_eq!(reader.i32(), Ok(-450_000));
        assert_eq!(reader.i32(), Ok(-450_000));
        assert_eq!(reader.u8(), Ok(1));
        assert_eq!(reader.finish(), Ok(()));
    }

    #[test]
    fn faults_are_told_as_scanners_do() {
        assert_eq!(text("").u8(), Err(Refusal::BufferUnderflow));
        assert_eq!(text(" 100").u8(), Err(Refusal::ValueOverflow));
        assert_eq!(text(" -129").u8(), Err(Refusal::ValueOverflow));
        assert_eq!(text(" -128").u8(), Ok(0x80));
        assert_eq!(text(" 1FFFFFFFFFFFFFFFFFF").u32(), Err(Refusal::ValueOverflow));
        for odd in [" x", " +", " -", " +-1", " \u{e9}", " 1\0"] {
            assert_eq!(text(odd).u32(), Err(Refusal::InvalidCharacter), "{odd}");
        }
        assert_eq!(text(" 1").finish(), Err(Refusal::BufferOverflow));
        assert_eq!(Reader::lenient(Dialect::B, b" \x01").u16(), Err(Refusal::BufferUnderflow));
    }

    #[test]
    fn strict_reading_refuses_other_spellings() {
        for odd in [" 03", " a", " +3", "  3"] {
            assert!(Reader::strict(Dialect::A, odd.as_bytes()).u8().is_err(), "{odd}");
        }
        assert_eq!(Reader::strict(Dialect::A, b" 0").u8(), Ok(0));
        assert!(Reader::strict(Dialect::A, b" 0").real().is_err());
        assert_eq!(Reader::strict(Dialect::A, b" 00000000").real(), Ok(0));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            is_binary: bool, a: u8, b: u16, c: u32, d: i32, e: u32, text: Vec<u8>,
        ) {
            let dialect = if is_binary { Dialect::B } else { Dialect::A };
            let mut writer = Writer::new(dialect, &["sRA", "x"]);
            writer.u8(a);
            writer.u16(b);
            writer.text(&text);
            writer.u32(c);
            writer.i32(d);
            writer.real(e);
            let content = writer.finish(false);
            for make in [Reader::strict, Reader::lenient] {
                let mut reader = make(dialect, &content[5..]);
                prop_assert_eq!(reader.u8(), Ok(a));
                prop_assert_eq!(reader.u16(), Ok(b));
                prop_assert_eq!(reader.text(), Ok(&text[..]));
                prop_assert_eq!(reader.u32(), Ok(c));
                prop_assert_eq!(reader.i32(), Ok(d));
                prop_assert_eq!(reader.real(), Ok(e));
                prop_assert_eq!(reader.finish(), Ok(()));
            }
        }
    }
}
