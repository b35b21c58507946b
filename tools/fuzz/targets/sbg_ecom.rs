//! A stream in SbgEcom's format: every frame found is written back as it came, portions do not matter.

use super::frames;
use menura::wire::sbg_ecom::{Log, SbgEcom};

pub fn run(bytes: &[u8]) {
    for frame in frames::come_back(SbgEcom, bytes, |frame, out| frame.emit(out)) {
        if let Some(Ok(log)) = Log::parse(&frame) {
            assert_eq!(log.frame(), frame);
        }
    }
}
