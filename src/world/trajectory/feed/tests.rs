use super::*;
use crate::wire::feed::{MAGIC, VERSION};

const SENDER: &str = "127.0.0.1:5000";
const MS: u64 = 1_000_000;

fn feed() -> Feed {
    Feed::new(FeedConfig {
        listen: "127.0.0.1:7000".parse().unwrap(),
        hold_after_ns: 500 * MS,
        position_m: [7.0, 0.0, 0.0],
        yaw_rad: 1.0,
    })
}

/// A pose at the origin, facing east, driving at 10 m/s and turning left at 1 rad/s.
fn pose(sequence: u64, time_ms: u64) -> PoseTwist {
    PoseTwist {
        magic: MAGIC,
        version: VERSION,
        sequence,
        time_ns: time_ms * MS,
        position_m: [0.0; 3],
        orientation_xyzw: [0.0, 0.0, 0.0, 1.0],
        velocity_m_s: [10.0, 0.0, 0.0],
        angular_rate_rad_s: [0.0, 0.0, 1.0],
    }
}

fn take(feed: &Feed, arrived_ms: u64, pose: PoseTwist) -> Result<(), FeedRefusal> {
    feed.take(SimTime(arrived_ms * MS), SENDER.parse().unwrap(), &pose.encode())
}

#[test]
fn a_constant_twist_is_a_circle() {
    let feed = feed();
    take(&feed, 100, pose(1, 9000)).unwrap();
    let state = feed.state(SimTime(400 * MS));
    let (sin, cos) = libm::sincos(0.3);
    let expected = DVec3::new(10.0 * sin, 10.0 * (1.0 - cos), 0.0);
    assert!((state.world_from_body.translation - expected).length() < 1e-9);
    assert!((state.velocity_m_s - DVec3::new(10.0 * cos, 10.0 * sin, 0.0)).length() < 1e-9);
    assert!((state.acceleration_m_s2 - DVec3::new(-10.0 * sin, 10.0 * cos, 0.0)).length() < 1e-9);
    // The displacement in a microsecond matches the velocity.
    let step = feed.state(SimTime(400 * MS + 1000)).world_from_body.translation;
    let way = (step - state.world_from_body.translation) / 1e-6;
    assert!((way - state.velocity_m_s).length() < 1e-4, "{way}");
    // A straight line is the limit of circles with increasing radius.
    let straight = screw(DVec3::X, DVec3::Z * 1e-10, 1.0).translation;
    assert!((straight - screw(DVec3::X, DVec3::Z * 1e-8, 1.0).translation).length() < 1e-8);
}

#[test]
fn accelerations_are_the_changes_between_the_last_two_poses() {
    let feed = feed();
    // Faces north, speeds up by 3 m/s² and starts to turn by 2 rad/s².
    let half = 0.5_f64.sqrt();
    let faster = |sequence, time_ms: u64| PoseTwist {
        orientation_xyzw: [0.0, 0.0, half, half],
        velocity_m_s: [3e-3 * time_ms as f64, 0.0, 0.0],
        angular_rate_rad_s: [0.0, 0.0, 2e-3 * time_ms as f64],
        ..pose(sequence, time_ms)
    };
    let accelerations = |at_ms: u64| {
        let at = SimTime(at_ms * MS);
        (feed.state(at).acceleration_m_s2, feed.angular_acceleration_rad_s2(at))
    };
    assert_eq!(accelerations(5), (DVec3::ZERO, DVec3::ZERO));
    take(&feed, 100, faster(1, 0)).unwrap();
    assert_eq!(accelerations(105), (DVec3::ZERO, DVec3::ZERO), "there is no previous pose");
    // The datagram is late, and the one before it is lost.
    take(&feed, 125, faster(3, 20)).unwrap();
    assert_eq!(accelerations(120), (DVec3::ZERO, DVec3::ZERO), "the second pose applies later");
    let (linear, angular) = accelerations(125);
    assert!((angular - DVec3::Z * 2.0).length() < 1e-9, "{angular}");
    // 0.06 m/s and 0.04 rad/s: the centripetal part is small.
    assert!((linear - DVec3::Y * 3.0).length() < 4e-3, "{linear}");
    // The sender's time stops: there is no duration to divide by.
    take(&feed, 135, faster(4, 20)).unwrap();
    let (linear, angular) = accelerations(135);
    assert!(linear.length() < 4e-3 && angular == DVec3::ZERO, "{linear} {angular}");
    take(&feed, 145, faster(5, 40)).unwrap();
    assert!(accelerations(145).1.z > 1.9);
    assert_eq!(accelerations(700), (DVec3::ZERO, DVec3::ZERO), "the body is held");
    assert!(feed.has_just_stopped(SimTime(700 * MS)));
    take(&feed, 710, faster(6, 700)).unwrap();
    assert_eq!(accelerations(710).1, DVec3::ZERO, "the first pose after a hold");
}

#[test]
fn a_late_datagram_is_carried_on_from_when_it_was_true() {
    let feed = feed();
    let still = |n, ms, x| PoseTwist {
        position_m: [x, 0.0, 0.0],
        angular_rate_rad_s: [0.0; 3],
        ..pose(n, ms)
    };
    take(&feed, 100, still(1, 9000, 0.0)).unwrap();
    // 10 ms later on the sender's clock, 25 ms later on the run's.
    take(&feed, 125, still(2, 9010, 0.1)).unwrap();
    let x = |ms: u64| feed.state(SimTime(ms * MS)).world_from_body.translation.x;
    assert!((x(130) - 0.3).abs() < 1e-4, "{}", x(130));
    // Earlier instants keep the pose that was known at that time.
    assert!((x(105) - 0.05).abs() < 1e-4);
    assert_eq!(feed.shown_at(SimTime(105 * MS)).unwrap().serial, 1);
    assert_eq!(feed.shown_at(SimTime(130 * MS)).unwrap().serial, 2);
}

#[test]
fn a_feed_that_stops_is_held_and_counted_once() {
    let feed = feed();
    assert_eq!(feed.state(SimTime::ZERO).world_from_body.translation.x, 7.0);
    assert!(!feed.has_just_stopped(SimTime(10_000 * MS)), "it has not begun");
    take(&feed, 0, PoseTwist { angular_rate_rad_s: [0.0; 3], ..pose(1, 0) }).unwrap();
    let held = feed.state(SimTime(501 * MS));
    assert_eq!(held.velocity_m_s, DVec3::ZERO);
    assert!((held.world_from_body.translation.x - 5.0).abs() < 1e-9);
    assert_eq!(feed.state(SimTime(9000 * MS)), held);
    assert!(!feed.has_just_stopped(SimTime(500 * MS)));
    assert!(feed.has_just_stopped(SimTime(501 * MS)));
    assert!(!feed.has_just_stopped(SimTime(502 * MS)));
    // The sender may restart with new numbers and a new clock.
    take(&feed, 9000, pose(1, 0)).unwrap();
    assert_eq!(feed.counts(), FeedCounts { poses: 2, holds: 1, ..FeedCounts::default() });
}

#[test]
fn the_log_tells_what_came_and_how_long_it_was_shown() {
    let feed = feed();
    feed.keep_log();
    let straight = |n, ms| PoseTwist { angular_rate_rad_s: [0.0; 3], ..pose(n, ms) };
    take(&feed, 100, straight(1, 9000)).unwrap();
    take(&feed, 110, straight(2, 9010)).unwrap();
    assert_eq!(feed.take_log(false).len(), 1, "poses may still be shown; the start may not");
    feed.state(SimTime(108 * MS));
    feed.state(SimTime(103 * MS));
    assert!(feed.has_just_stopped(SimTime(611 * MS)));
    take(&feed, 700, straight(1, 0)).unwrap();
    let rows = feed.take_log(true);
    let told: Vec<_> = rows.iter().map(|row| (row.event, row.at.0 / MS)).collect();
    use FeedEvent::{First, Hold, Pose};
    assert_eq!(told, [(First, 100), (Pose, 110), (Hold, 610), (First, 700)]);
    assert_eq!(rows[0].shown_until, Some(SimTime(108 * MS)));
    assert_eq!(rows[1].shown_until, None);
    assert!((rows[2].world_from_body.translation.x - 5.0).abs() < 1e-9);
    let source = rows[1].source.unwrap();
    assert_eq!((source.sequence, source.time_ns, source.arrived.0), (2, 9010 * MS, 110 * MS));
    assert!(feed.take_log(true).is_empty());
}

#[test]
fn strangers_and_the_outdated_are_refused() {
    let feed = feed();
    take(&feed, 10, pose(5, 10)).unwrap();
    let stranger = "127.0.0.1:5001".parse().unwrap();
    let refused = feed.take(SimTime(11 * MS), stranger, &pose(6, 11).encode());
    assert_eq!(refused, Err(FeedRefusal::Stranger));
    assert_eq!(take(&feed, 12, pose(5, 12)), Err(FeedRefusal::Outdated));
    assert_eq!(take(&feed, 12, pose(4, 9)), Err(FeedRefusal::Outdated));
    take(&feed, 14, pose(8, 14)).unwrap();
    let worse = PoseTwist { position_m: [f64::NAN; 3], ..pose(9, 15) };
    assert!(matches!(take(&feed, 15, worse), Err(FeedRefusal::Fault(FeedFault::Value))));
    let counts = feed.counts();
    assert_eq!((counts.poses, counts.refused, counts.strangers), (2, 1, 1));
    assert_eq!((counts.outdated, counts.missing), (2, 2));
}

#[test]
fn a_sender_that_pauses_in_its_own_time_is_followed() {
    let feed = feed();
    take(&feed, 0, pose(1, 1000)).unwrap();
    take(&feed, 400, pose(2, 1010)).unwrap();
    take(&feed, 800, pose(3, 1020)).unwrap();
    assert_eq!(feed.counts().clock_jumps, 1);
    assert_eq!(feed.state(SimTime(800 * MS)).world_from_body.translation, DVec3::ZERO);
}

#[test]
fn one_stray_datagram_spoils_no_figure() {
    // (number, sender's time in ms) of the stray datagram; the others are 10 ms apart.
    let farthest = u64::MAX / MS;
    for (number, time_ms) in
        [(u64::MAX, 1020), (u64::MAX, farthest), (3, farthest), (3, 0), (0, 0), (1 << 32, 0)]
    {
        let feed = feed();
        let numbers =
            |from: u64, to: u64| (from..to).map(|number| pose(number, 1000 + 10 * number));
        for good in numbers(1000, 1003) {
            take(&feed, good.time_ns / MS, good).unwrap();
        }
        let number = if number == 3 { 1003 } else { number };
        let at_ms = 1000 + 10 * 1003;
        assert_eq!(take(&feed, at_ms, pose(number, time_ms)), Err(FeedRefusal::Stray), "{number}");
        for good in numbers(1003, 1006) {
            take(&feed, good.time_ns / MS, good).unwrap();
        }
        let FeedCounts { poses, missing, outdated, strays, clock_jumps, .. } = feed.counts();
        let found = (poses, missing, outdated, strays, clock_jumps);
        assert_eq!(found, (6, 0, 0, 1, 0), "{number} at {time_ms} ms");
    }
}

#[test]
fn a_first_datagram_that_is_a_stray_owns_nothing() {
    let feed = feed();
    take(&feed, 0, pose(u64::MAX, 0)).unwrap();
    assert_eq!(take(&feed, 10, pose(1, 10)), Err(FeedRefusal::Stray));
    for number in 2..5 {
        take(&feed, 10 * number, pose(number, 10 * number)).unwrap();
    }
    let counts = feed.counts();
    assert_eq!((counts.poses, counts.missing, counts.strays), (4, 0, 1));
}

#[test]
fn a_sender_that_restarts_or_sets_its_clock_is_followed_from_its_second_datagram_on() {
    let feed = feed();
    take(&feed, 0, pose(5000, 90_000)).unwrap();
    take(&feed, 10, pose(5001, 90_010)).unwrap();
    assert_eq!(take(&feed, 20, pose(0, 0)), Err(FeedRefusal::Stray));
    take(&feed, 30, pose(1, 10)).unwrap();
    take(&feed, 40, pose(2, 20)).unwrap();
    assert_eq!(feed.counts().clock_jumps, 0);
    assert_eq!(take(&feed, 50, pose(3, 60_000)), Err(FeedRefusal::Stray));
    feed.keep_log();
    take(&feed, 60, pose(4, 60_010)).unwrap();
    assert_eq!(feed.take_log(true)[0].event, FeedEvent::Jump);
    let FeedCounts { poses, missing, strays, clock_jumps, .. } = feed.counts();
    assert_eq!((poses, missing, strays, clock_jumps), (5, 0, 2, 1));
}

#[test]
fn a_copy_shows_the_same_and_says_for_how_long() {
    let (original, copy) = (feed(), feed());
    original.keep_log();
    let mut told = 0;
    let mut bring = || {
        let news = original.news_since(told).expect("something new");
        told = news.poses.last().expect("a pose").serial;
        copy.repeat(&news);
    };
    for (sequence, at_ms) in [(1, 100), (2, 120), (3, 140)] {
        take(&original, at_ms, pose(sequence, 9000 + at_ms)).unwrap();
    }
    bring();
    // The sender's clock jumps, so that earlier poses do not confirm the next one.
    assert_eq!(take(&original, 150, pose(4, 89_990)), Err(FeedRefusal::Stray));
    take(&original, 160, pose(5, 90_000)).unwrap();
    take(&original, 180, pose(6, 90_020)).unwrap();
    bring();
    assert_eq!(original.news_since(told), None);
    for at_ms in [0, 100, 130, 165, 180, 190, 900] {
        let at = SimTime(at_ms * MS);
        assert_eq!(copy.shown_at(at), original.shown_at(at), "{at_ms}");
        assert_eq!(copy.state(at), original.state(at), "{at_ms}");
    }
    let fresh = feed();
    take(&fresh, 100, pose(1, 9000)).unwrap();
    fresh.keep_log();
    take(&fresh, 120, pose(2, 9020)).unwrap();
    let other = feed();
    other.repeat(&fresh.news_since(0).expect("poses"));
    other.state(SimTime(125 * MS));
    other.state(SimTime(123 * MS));
    assert_eq!(other.take_shown(), [(2, SimTime(125 * MS))]);
    assert_eq!(other.take_shown(), []);
    fresh.note_shown(2, SimTime(125 * MS));
    let rows = fresh.take_log(true);
    assert_eq!(rows.last().and_then(|row| row.shown_until), Some(SimTime(125 * MS)));
}
