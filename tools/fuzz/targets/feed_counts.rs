//! Datagrams of a feed from two senders, with any sequence numbers, times and pauses. Each datagram is counted once, no
//! count exceeds the bound that follows from the number of accepted poses, and the body's position is finite.

use std::net::SocketAddr;

use menura::config::rig::FeedConfig;
use menura::time::SimTime;
use menura::wire::feed::{MAGIC, PoseTwist, VERSION};
use menura::world::trajectory::feed::Feed;

/// Length of a step of the input, bytes: flags (1), pause before the datagram in ms (2), sequence number (8), time in
/// ns (8).
const STEP_LEN: usize = 1 + 2 + 8 + 8;
/// Flag: the datagram is from the other sender.
const STRANGER: u8 = 1;
/// Flag: the datagram has another version.
const REFUSED: u8 = 2;
/// Largest number of missing sequence numbers between two poses; after a larger gap, the pose is a stray.
const MOST_MISSING: u64 = 3000;

pub fn run(bytes: &[u8]) {
    let feed = Feed::new(FeedConfig {
        listen: SocketAddr::from(([127, 0, 0, 1], 7000)),
        hold_after_ns: 500_000_000,
        position_m: [0.0; 3],
        yaw_rad: 0.0,
    });
    feed.keep_log();
    let mut now = SimTime::ZERO;
    let mut came = 0;
    for step in bytes.chunks_exact(STEP_LEN) {
        let number =
            |at: usize| u64::from_le_bytes(step[at..at + 8].try_into().expect("eight bytes"));
        let wait_ms = u16::from_le_bytes([step[1], step[2]]);
        now = SimTime(now.0 + 1_000_000 * u64::from(wait_ms));
        let _ = feed.has_just_stopped(now);
        let pose = PoseTwist {
            magic: MAGIC,
            version: VERSION + u32::from(step[0] & REFUSED),
            sequence: number(3),
            time_ns: number(11),
            position_m: [0.0; 3],
            orientation_xyzw: [0.0, 0.0, 0.0, 1.0],
            velocity_m_s: [10.0, 0.0, 0.0],
            angular_rate_rad_s: [0.0, 0.0, 1.0],
        };
        let sender = SocketAddr::from(([127, 0, 0, 1], 5000 + u16::from(step[0] & STRANGER)));
        let before = feed.counts();
        let taken = feed.take(now, sender, &pose.encode());
        came += 1;
        let counts = feed.counts();
        assert_eq!(counts.poses, before.poses + u64::from(taken.is_ok()));
        let refused = counts.refused + counts.strangers + counts.outdated + counts.strays;
        assert_eq!(counts.poses + refused, came);
        assert!(counts.missing <= MOST_MISSING * counts.poses);
        assert!(counts.holds <= counts.poses && counts.clock_jumps <= counts.poses);
        assert!(feed.state(now).world_from_body.translation.is_finite());
    }
    let counts = feed.counts();
    assert!(feed.take_log(true).len() as u64 <= counts.poses + counts.holds + 1);
}
