//! A stream in FdiLink's format: every frame found is written back as it came, portions do not matter.

use super::frames;
use menura::wire::fdilink::FdiLink;

pub fn run(bytes: &[u8]) {
    frames::come_back(FdiLink, bytes, |frame, out| frame.emit(out));
}
