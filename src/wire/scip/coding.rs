//! Numbers as characters: each character has six bits plus 0x30, most significant bits first.

use crate::ParseError;

/// Character for six zero bits.
pub const ZERO: u8 = 0x30;
/// Number of bits per character.
const BITS: usize = 6;
/// Largest number of characters, for 30 bits.
const MOST: usize = 5;

/// Largest number with `characters` characters.
pub fn largest(characters: usize) -> u32 {
    (1u32 << (BITS * characters.min(MOST))) - 1
}

/// Appends `value` in `characters` characters, limited to the largest number.
pub fn encode(value: u32, characters: usize, out: &mut Vec<u8>) {
    let value = value.min(largest(characters));
    for place in (0..characters.min(MOST)).rev() {
        out.push((value >> (BITS * place) & 0x3f) as u8 + ZERO);
    }
}

/// Decodes a number of up to five characters.
///
/// # Errors
/// There are no characters or too many, or a character is not between `0` and `o`.
pub fn decode(text: &[u8]) -> Result<u32, ParseError> {
    if !(1..=MOST).contains(&text.len()) {
        return Err(ParseError::Length { what: "number", need: MOST, got: text.len() });
    }
    text.iter().try_fold(0, |value, byte| match byte.checked_sub(ZERO) {
        Some(group) if group <= 0x3f => Ok(value << BITS | u32::from(group)),
        _ => Err(ParseError::value("character", *byte, "0x30 to 0x6f")),
    })
}
