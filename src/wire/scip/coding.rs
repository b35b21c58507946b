//! Numbers as characters: groups of six bits, the most significant first, plus 0x30.

use crate::ParseError;

/// The character of a group that is 0.
pub const ZERO: u8 = 0x30;
/// Bits of a character.
const BITS: usize = 6;
/// Number of characters for 30 bits.
const MOST: usize = 5;

/// The largest number of `characters` characters.
pub fn largest(characters: usize) -> u32 {
    (1u32 << (BITS * characters.min(MOST))) - 1
}

/// Appends `value` in this number of characters, limited to their largest number.
pub fn encode(value: u32, characters: usize, out: &mut Vec<u8>) {
    let value = value.min(largest(characters));
    for place in (0..characters.min(MOST)).rev() {
        out.push((value >> (BITS * place) & 0x3f) as u8 + ZERO);
    }
}

/// The number in up to five characters.
///
/// # Errors
/// There are none or more characters, or one is not between `0` and `o`.
pub fn decode(text: &[u8]) -> Result<u32, ParseError> {
    if !(1..=MOST).contains(&text.len()) {
        return Err(ParseError::Length { what: "number", need: MOST, got: text.len() });
    }
    text.iter().try_fold(0, |value, byte| match byte.checked_sub(ZERO) {
        Some(group) if group <= 0x3f => Ok(value << BITS | u32::from(group)),
        _ => Err(ParseError::value("character", *byte, "0x30 to 0x6f")),
    })
}
