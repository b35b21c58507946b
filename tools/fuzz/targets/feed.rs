//! A datagram of a feed: an accepted pose is within limits and is encoded to the same bytes.

use menura::wire::feed::{MAX_POSITION_M, PoseTwist};

pub fn run(bytes: &[u8]) {
    if let Ok(pose) = PoseTwist::decode(bytes) {
        assert!(pose.position_m.iter().all(|x| x.abs() <= MAX_POSITION_M));
        assert_eq!(pose.encode(), bytes);
    }
}
