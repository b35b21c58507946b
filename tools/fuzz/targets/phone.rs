//! A stream of phone frames: each decoded frame is encoded to its original bytes, for any portions of the stream.

use super::frames;
use menura::wire::phone::Phone;

pub fn run(bytes: &[u8]) {
    frames::come_back(Phone, bytes, |frame, out| frame.emit(out));
}
