//! A stream of VectorNav frames: however the stream is divided into portions, each decoded frame is encoded to its original
//! bytes.

use super::frames;
use menura::wire::vectornav::VectorNav;

pub fn run(bytes: &[u8]) {
    frames::come_back(VectorNav, bytes, |frame, out| frame.emit(out));
}
