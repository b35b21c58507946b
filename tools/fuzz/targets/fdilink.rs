//! A stream of FdiLink frames: each decoded frame is encoded to its original bytes, for any portions of the stream.

use super::frames;
use menura::wire::fdilink::FdiLink;

pub fn run(bytes: &[u8]) {
    frames::come_back(FdiLink, bytes, |frame, out| frame.emit(out));
}
