//! A stream in VectorNav's format: every frame found is written back as it came, portions do not matter.

use super::frames;
use menura::wire::vectornav::VectorNav;

pub fn run(bytes: &[u8]) {
    frames::come_back(VectorNav, bytes, |frame, out| frame.emit(out));
}
