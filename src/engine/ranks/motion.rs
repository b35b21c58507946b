//! Motion that only rank 0 knows, sent to the other ranks: steps of a driven robot, positions of commanded
//! joints, poses of feeds.

use std::sync::Arc;

use crate::engine::world::LiveWorld;
use crate::time::SimTime;
use crate::world::trajectory::feed::{Feed, FeedNews};
use crate::world::vehicle::VehicleStep;

/// Motion of robot, joints and feeds that another rank does not have yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Motion {
    /// Steps of the robot's motion.
    pub steps: Vec<VehicleStep>,
    /// For each commanded joint: number of the first millisecond, then position and rate of the joint at this
    /// millisecond and each later one.
    pub knots: Vec<(u64, Vec<[f64; 2]>)>,
    /// New poses of feeds, each with the index of the feed in [`feeds`].
    pub feeds: Vec<(usize, FeedNews)>,
}

/// The part of the motion that another rank already has.
#[derive(Clone, Debug, Default)]
pub struct SentMotion {
    /// Start of the robot's last step among those sent. It is sent again, because it may have been incomplete.
    step: Option<SimTime>,
    /// Number of milliseconds, from the start of the run, for which the motion of the joints was sent.
    knots: u64,
    /// Serial number of the last pose that was sent, for each feed.
    poses: Vec<u64>,
}

/// Feeds of a world: the robot's, then those of objects, in the rig's order.
pub fn feeds(world: &LiveWorld) -> Vec<&Arc<Feed>> {
    let objects = world.objects.iter().map(|object| &object.trajectory);
    std::iter::once(&world.trajectory).chain(objects).filter_map(|motion| motion.feed()).collect()
}

impl SentMotion {
    /// Motion that the rank does not have yet; `None` if the rank has all motion. The returned motion counts as sent.
    pub fn news(&mut self, world: &LiveWorld) -> Option<Motion> {
        let mut motion = Motion::default();
        if let Some(driven) = world.trajectory.driven()
            && self.step != Some(driven.known_until())
        {
            motion.steps = driven.steps_from(self.step.unwrap_or(SimTime::ZERO));
            self.step = motion.steps.last().map(|step| step.at);
        }
        let knots = world.joints.knots_from(self.knots);
        let known = knots.iter().map(|(first, knots)| first + knots.len() as u64).min();
        if known.is_some_and(|known| known > self.knots) {
            self.knots = known.unwrap_or_default();
            motion.knots = knots;
        }
        let feeds = feeds(world);
        self.poses.resize(feeds.len(), 0);
        for (place, (feed, told)) in feeds.iter().zip(&mut self.poses).enumerate() {
            if let Some(news) = feed.news_since(*told) {
                *told = news.poses.last().map_or(*told, |pose| pose.serial);
                motion.feeds.push((place, news));
            }
        }
        (motion != Motion::default()).then_some(motion)
    }
}

/// Applies `motion` to `world`, another rank's copy of rank 0's world.
pub fn repeat(world: &LiveWorld, motion: &Motion) {
    if let Some(driven) = world.trajectory.driven() {
        driven.repeat(motion.steps.iter().copied());
    }
    world.joints.repeat(&motion.knots);
    let feeds = feeds(world);
    for (place, news) in &motion.feeds {
        if let Some(feed) = feeds.get(*place) {
            feed.repeat(news);
        }
    }
}
