//! A stream of phone frames: however the stream is divided into portions, each decoded frame is encoded to its original
//! bytes.

use super::frames;
use menura::wire::phone::Phone;

pub fn run(bytes: &[u8]) {
    frames::come_back(Phone, bytes, |frame, out| frame.emit(out));
}
