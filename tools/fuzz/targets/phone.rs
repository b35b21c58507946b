//! A stream in Phone's format: every frame found is written back as it came, portions do not matter.

use super::frames;
use menura::wire::phone::Phone;

pub fn run(bytes: &[u8]) {
    frames::come_back(Phone, bytes, |frame, out| frame.emit(out));
}
