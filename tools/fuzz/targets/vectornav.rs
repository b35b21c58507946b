//! A stream of VectorNav frames: each decoded frame is encoded to its original bytes, for any portions of the stream.

use super::frames;
use menura::wire::vectornav::VectorNav;

pub fn run(bytes: &[u8]) {
    frames::come_back(VectorNav, bytes, |frame, out| frame.emit(out));
}
