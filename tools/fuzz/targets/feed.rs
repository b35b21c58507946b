//! A datagram of a feed: what is taken is a pose within limits, and is written back as it came.
#![no_main]

use libfuzzer_sys::fuzz_target;
use menura::wire::feed::{MAX_POSITION_M, PoseTwist};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(pose) = PoseTwist::decode(bytes) {
        assert!(pose.position_m.iter().all(|x| x.abs() <= MAX_POSITION_M));
        assert_eq!(pose.encode(), bytes);
    }
});
