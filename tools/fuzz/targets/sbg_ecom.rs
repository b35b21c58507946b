//! A stream of sbgECom frames: however the stream is divided into portions, each decoded frame is encoded to its original
//! bytes.

use super::frames;
use menura::wire::sbg_ecom::{Log, SbgEcom};

pub fn run(bytes: &[u8]) {
    for frame in frames::come_back(SbgEcom, bytes, |frame, out| frame.emit(out)) {
        if let Some(Ok(log)) = Log::parse(&frame) {
            assert_eq!(log.frame(), frame);
        }
    }
}
