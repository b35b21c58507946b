//! A stream in Mip's format: every frame found is written back as it came, portions do not matter.

use super::frames;
use menura::wire::mip::Mip;

pub fn run(bytes: &[u8]) {
    frames::come_back(Mip, bytes, |frame, out| frame.emit(out));
}
