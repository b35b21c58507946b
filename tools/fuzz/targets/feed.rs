//! A datagram of a feed: what is taken is a pose within limits, and is written back as it came.

use menura::wire::feed::{MAX_POSITION_M, PoseTwist};

pub fn run(bytes: &[u8]) {
    if let Ok(pose) = PoseTwist::decode(bytes) {
        assert!(pose.position_m.iter().all(|x| x.abs() <= MAX_POSITION_M));
        assert_eq!(pose.encode(), bytes);
    }
}
