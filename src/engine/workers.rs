//! The threads that measure: sensors and rays, any measurement on any thread.

use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender};

use super::clock::Stopwatch;
use super::packet::{Marks, Seen};
use super::stats::RenderStats;
use super::world::LiveWorld;
use crate::config::rig::DeviceId;
use crate::frames::{self, Body, Transform};
use crate::sensors::lidar::{Scratch, Thinning};
use crate::sensors::{Measurement, MeasurementRequest, Sensor, Subject};

/// Something to be measured.
pub struct Job {
    /// For which device.
    pub device: DeviceId,
    /// What.
    pub request: MeasurementRequest,
    /// By what.
    pub sensor: Arc<dyn Sensor>,
    /// From where.
    pub body_from_sensor: Transform<Body, frames::Sensor>,
    /// With how many rays.
    pub thinning: Thinning,
}

/// The answer to a [`Job`].
pub struct Measured {
    /// For which device.
    pub device: DeviceId,
    /// The answer.
    pub measurement: Measurement,
    /// What the measurement shows.
    pub marks: Marks,
    /// Whether it was made with fewer rays than the sensor has.
    pub is_thinned: bool,
}

/// Works on `jobs` until nobody gives any more, or takes the answers.
pub fn work(
    world: &LiveWorld,
    jobs: &Receiver<Job>,
    measured: &Sender<Measured>,
    stats: &RenderStats,
) {
    let mut scratch = Scratch::default();
    scratch.set_watch(world.watch);
    for Job { device, request, sensor, body_from_sensor, thinning } in jobs {
        scratch.set_thinning(thinning);
        let watch = Stopwatch::start();
        // Before it is measured: what comes meanwhile may be seen or not.
        let pose = world.trajectory.feed().and_then(|feed| feed.shown_at(request.end()));
        let surroundings = world.surroundings(&body_from_sensor);
        let measurement = sensor.measure(request, &surroundings, &mut scratch);
        let pulses = match &measurement.request.subject {
            Subject::Instant | Subject::Series { .. } => 0,
            Subject::Sweep(sweep) => sweep.firings.len(),
        };
        stats.count(watch.elapsed(), pulses);
        let objects = scratch.take_seen();
        let (from, to) = (measurement.request.start, measurement.request.end());
        let seen = (objects != 0).then_some(Seen { objects, from, to });
        let marks = Marks { pose, seen, stimuli: 0 };
        let is_thinned = scratch.is_thinned();
        if measured.send(Measured { device, measurement, marks, is_thinned }).is_err() {
            break; // the scheduler has stopped
        }
    }
}
