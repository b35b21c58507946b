//! A stream of MIP frames: however the stream is divided into portions, each decoded frame is encoded to its original
//! bytes.

use super::frames;
use menura::wire::mip::Mip;

pub fn run(bytes: &[u8]) {
    frames::come_back(Mip, bytes, |frame, out| frame.emit(out));
}
