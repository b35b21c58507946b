//! What holds for all formats.

/// The bytes of `FC 40 …`; words that are no bytes are left out.
pub(crate) fn hex(text: &str) -> Vec<u8> {
    let bytes = text.split_whitespace().filter(|word| word.len() == 2);
    bytes.map(|byte| u8::from_str_radix(byte, 16).expect("hex")).collect()
}
