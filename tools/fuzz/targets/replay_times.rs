//! Times of a capture in any order: times of the replay never decrease, and no pause exceeds the limit.

use std::time::Duration;

use menura::engine::replay_times::{JumpLimits, ReplayTimes};
use menura::time::SimTime;

pub fn run(bytes: &[u8]) {
    let limits =
        JumpLimits { most_forward: Duration::from_secs(60), most_back: Duration::from_millis(100) };
    let mut times = ReplayTimes::new(limits);
    let mut latest = SimTime::ZERO;
    for captured in bytes.chunks_exact(8) {
        let captured = i64::from_le_bytes(captured.try_into().expect("eight bytes"));
        let due = times.due(captured.into());
        assert!(due >= latest && due.0 - latest.0 <= limits.most_forward.as_nanos() as u64);
        latest = due;
    }
    assert!(times.told().len() <= 7);
}
