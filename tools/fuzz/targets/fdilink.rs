//! A stream of FdiLink frames: however the stream is divided into portions, each decoded frame is encoded to its original
//! bytes.

use super::frames;
use menura::wire::fdilink::FdiLink;

pub fn run(bytes: &[u8]) {
    frames::come_back(FdiLink, bytes, |frame, out| frame.emit(out));
}
