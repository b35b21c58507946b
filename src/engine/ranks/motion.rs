//! What only rank 0 knows of motion, on its way to the others: steps of a robot that is driven, positions of
//! joints that are commanded, poses that came by feeds.

use std::sync::Arc;

use crate::engine::world::LiveWorld;
use crate::time::SimTime;
use crate::world::trajectory::feed::{Feed, FeedNews};
use crate::world::vehicle::VehicleStep;

/// News of the motion in a world.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Motion {
    /// Steps of the robot's motion.
    pub steps: Vec<VehicleStep>,
    /// Of each joint that is commanded: position and rate at whole milliseconds, with the number of the
    /// first.
    pub knots: Vec<(u64, Vec<[f64; 2]>)>,
    /// News by the place of the feed in [`feeds`].
    pub feeds: Vec<(usize, FeedNews)>,
}

/// How much of it one of the others has been told.
#[derive(Clone, Debug, Default)]
pub struct Told {
    /// The start of the last step of the robot, which had only begun.
    step: Option<SimTime>,
    /// Number of the joints' knots that it knows.
    knots: u64,
    /// The number of the last pose of each feed.
    poses: Vec<u64>,
}

/// The feeds of a world: the robot's and those of what moves, in the rig's order.
pub fn feeds(world: &LiveWorld) -> Vec<&Arc<Feed>> {
    let objects = world.objects.iter().map(|object| &object.trajectory);
    std::iter::once(&world.trajectory).chain(objects).filter_map(|motion| motion.feed()).collect()
}

impl Told {
    /// What is to be told, if there is anything; it counts as told.
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

/// Lets what moves in `world`, which is a copy, do what it did in the other.
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
