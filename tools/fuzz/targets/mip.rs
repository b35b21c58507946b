//! A stream of MIP frames: each decoded frame is encoded to its original bytes, for any portions of the stream.

use super::frames;
use menura::wire::mip::Mip;

pub fn run(bytes: &[u8]) {
    frames::come_back(Mip, bytes, |frame, out| frame.emit(out));
}
