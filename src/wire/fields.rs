//! Numbers in and out of frames, in either byte order.

use super::ParseError;

/// Takes a frame's fields one after the other; its length was checked when it was made.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    rest: &'a [u8],
}

macro_rules! getters {
    ($($le:ident $be:ident $type:ty),+) => {
        $(
            /// The next number, least significant byte first.
            pub fn $le(&mut self) -> $type {
                <$type>::from_le_bytes(self.bytes())
            }

            /// The next number, most significant byte first.
            pub fn $be(&mut self) -> $type {
                <$type>::from_be_bytes(self.bytes())
            }
        )+
    };
}

impl<'a> Fields<'a> {
    /// The fields of `bytes`, which must have exactly `need` bytes; messages call them `what`.
    pub fn new(what: &'static str, bytes: &'a [u8], need: usize) -> Result<Self, ParseError> {
        if bytes.len() == need {
            Ok(Self { rest: bytes })
        } else {
            Err(ParseError::Length { what, need, got: bytes.len() })
        }
    }

    /// The next `N` bytes.
    ///
    /// # Panics
    /// When fewer are left than were asked for at the start: a mistake of the caller.
    pub fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let (first, rest) = self.rest.split_first_chunk().expect("the length was checked");
        self.rest = rest;
        *first
    }

    /// The next byte.
    pub fn u8(&mut self) -> u8 {
        self.bytes::<1>()[0]
    }

    getters!(u16_le u16_be u16, i16_le i16_be i16, u32_le u32_be u32, i32_le i32_be i32,
        u64_le u64_be u64, i64_le i64_be i64, f32_le f32_be f32, f64_le f64_be f64);

    /// The next `N` floats, least significant byte first.
    pub fn f32s_le<const N: usize>(&mut self) -> [f32; N] {
        std::array::from_fn(|_| self.f32_le())
    }

    /// The next `N` floats, most significant byte first.
    pub fn f32s_be<const N: usize>(&mut self) -> [f32; N] {
        std::array::from_fn(|_| self.f32_be())
    }

    /// Whether all was taken.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }
}

/// Appends floats, least significant byte first.
pub fn put_f32s_le(out: &mut Vec<u8>, values: &[f32]) {
    out.extend(values.iter().flat_map(|value| value.to_le_bytes()));
}

/// Appends floats, most significant byte first.
pub fn put_f32s_be(out: &mut Vec<u8>, values: &[f32]) {
    out.extend(values.iter().flat_map(|value| value.to_be_bytes()));
}

/// The bytes of `FC 40 …`, for golden strings in tests.
#[cfg(test)]
pub(crate) fn hex(text: &str) -> Vec<u8> {
    text.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).expect("hex")).collect()
}
