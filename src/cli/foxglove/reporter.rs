//! Messages about the run for Foxglove: poses, frames, path, statistics and events.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

use glam::DVec3;
use serde_json::{Value, json};

use super::Topics;
use crate::engine::run::RealTimeRun;
use crate::engine::stats::DeviceFigures;
use crate::engine::truth::{kinds, messages, poses};
use crate::frames::{Body, Transform, World};
use crate::time::SimTime;

/// Shortest period of pose messages; Foxglove interpolates between poses.
const SHORTEST_PERIOD: Duration = Duration::from_millis(20);
/// Period of all other messages.
const LONG_PERIOD: Duration = Duration::from_secs(1);
/// Initial distance between successive poses of the path, metres; it doubles each time the path is full.
const PATH_STEP_M: f64 = 0.2;
/// Largest number of poses of the path. A full path loses every second pose.
const MOST_PATH: usize = 2000;

/// Level of information in `foxglove.Log`.
const INFO: u8 = 2;
/// Level of a warning in `foxglove.Log`.
const WARNING: u8 = 3;

/// Sends the state of a run periodically.
pub struct Reporter<'a> {
    run: &'a RealTimeRun<'a>,
    topics: Topics<'a>,
    path: Path,
    /// For each device, its counts of refused, late and dropped packets at the previous report.
    troubles: Vec<[u64; 3]>,
    hosts: Vec<BTreeSet<SocketAddr>>,
    /// Number of faults whose start was reported.
    faults: usize,
}

impl<'a> Reporter<'a> {
    pub(super) fn new(run: &'a RealTimeRun<'a>, mut topics: Topics<'a>) -> Self {
        let devices = run.rig().devices.len();
        for (topic, kind) in [
            ("/tf", &kinds::TRANSFORMS),
            ("/robot/pose", &kinds::POSE),
            ("/robot/path", &kinds::POSES),
            ("/log", &kinds::LOG),
        ] {
            topics.json(topic, kind);
        }
        for device in &run.rig().devices {
            topics.json(&status_topic(&device.name), &kinds::DEVICE_STATUS);
        }
        Self {
            run,
            topics,
            path: Path::default(),
            troubles: vec![[0; 3]; devices],
            hosts: vec![BTreeSet::new(); devices],
            faults: 0,
        }
    }

    /// Reports until `is_over` returns true.
    pub fn report(mut self, is_over: impl Fn() -> bool) {
        let rate_hz = self.run.rig().engine.truth_rate_hz;
        let period = Duration::from_secs_f64(1.0 / rate_hz).max(SHORTEST_PERIOD);
        let (mut next, mut told_at) = (Duration::ZERO, None);
        while !is_over() {
            std::thread::park_timeout(period.min(LONG_PERIOD));
            let elapsed = self.run.elapsed();
            let now = SimTime(elapsed.as_nanos() as u64);
            let at = poses::known_at(self.run.world(), now);
            self.path.note(self.run.world().trajectory.pose(at));
            let is_due = elapsed >= next;
            if is_due {
                next = elapsed + LONG_PERIOD;
                self.tell_news(now, elapsed);
            }
            if !self.topics.hub.is_visited() {
                continue;
            }
            // Poses are unchanged unless `at`, the time up to which the motion is known, has advanced.
            if told_at.replace(at) != Some(at) {
                self.tell_poses(at);
            }
            if is_due {
                self.tell_path(at);
                self.tell_status(now, elapsed);
            }
        }
    }

    fn tell_poses(&mut self, at: SimTime) {
        let (run, epoch) = (self.run, self.topics.epoch);
        self.topics.tell("/tf", &kinds::TRANSFORMS, at, || {
            poses::transforms(run.rig(), run.world(), &epoch, at)
        });
        self.topics.tell("/robot/pose", &kinds::POSE, at, || {
            let pose = run.world().trajectory.pose(at);
            messages::pose_in_world(&messages::timestamp(&epoch, at), &pose)
        });
    }

    fn tell_path(&mut self, at: SimTime) {
        let (path, epoch) = (&self.path, self.topics.epoch);
        self.topics.tell("/robot/path", &kinds::POSES, at, || {
            json!({
                "timestamp": messages::timestamp(&epoch, at),
                "frame_id": "world",
                "poses": path.poses.iter().map(messages::place).collect::<Vec<_>>(),
            })
        });
    }

    fn tell_status(&mut self, now: SimTime, elapsed: Duration) {
        let real_time_factor = self.run.real_time_factor();
        let epoch = self.topics.epoch;
        for figures in self.run.figures(elapsed) {
            let topic = status_topic(&figures.name);
            self.topics.tell(&topic, &kinds::DEVICE_STATUS, now, || {
                let mut value = status(&figures);
                value["timestamp"] = messages::timestamp(&epoch, now);
                value["real_time_factor"] = json!(real_time_factor);
                value
            });
        }
    }

    /// Reports events since the previous call.
    fn tell_news(&mut self, now: SimTime, elapsed: Duration) {
        let figures = self.run.figures(elapsed);
        let mut news = Vec::new();
        for (figures, told) in figures.iter().zip(&mut self.troubles) {
            let all = [figures.send_errors, figures.sent_late, figures.dropped];
            let words = ["refused by the system", "late", "dropped because they were too late"];
            for ((now, before), word) in all.iter().zip(told.iter()).zip(words) {
                if now > before {
                    let text = format!("{} more packets {word}, {now} in all", now - before);
                    news.push((WARNING, figures.name.clone(), text));
                }
            }
            *told = all;
        }
        for ((figures, hosts), known) in figures.iter().zip(self.run.hosts()).zip(&mut self.hosts) {
            let hosts: BTreeSet<_> = hosts.into_iter().collect();
            for host in hosts.difference(known) {
                news.push((INFO, figures.name.clone(), format!("{host} has connected")));
            }
            for host in known.difference(&hosts) {
                news.push((INFO, figures.name.clone(), format!("{host} has left")));
            }
            *known = hosts;
        }
        let faults = self.run.fault_control().faults();
        for fault in faults.iter().skip(self.faults) {
            let begins_s = SimTime(fault.begins_ns).as_secs_f64();
            let text = format!("fault {} ({}) begins at {begins_s:.3} s", fault.name, fault.kind);
            news.push((INFO, fault.device.clone(), text));
        }
        self.faults = faults.len();
        let epoch = self.topics.epoch;
        for (level, name, message) in news {
            self.topics.tell("/log", &kinds::LOG, now, || {
                json!({
                    "timestamp": messages::timestamp(&epoch, now),
                    "level": level,
                    "message": message,
                    "name": name,
                    "file": "",
                    "line": 0,
                })
            });
        }
    }
}

fn status_topic(device: &str) -> String {
    format!("/devices/{device}/status")
}

/// Fields of a device's status message.
fn status(figures: &DeviceFigures) -> Value {
    let mut all = json!(figures);
    let wanted = kinds::DEVICE_STATUS.fields;
    if let Some(all) = all.as_object_mut() {
        all.retain(|name, _| wanted.iter().any(|(field, _)| field == name));
    }
    all
}

/// Path of the robot for display.
#[derive(Default)]
struct Path {
    poses: Vec<Transform<World, Body>>,
    /// Number of times that every second pose was removed; each removal doubles the distance between successive poses.
    coarser: i32,
}

impl Path {
    fn note(&mut self, pose: Transform<World, Body>) {
        let step_m = PATH_STEP_M * f64::from(1 << self.coarser.min(20));
        let last: Option<DVec3> = self.poses.last().map(|last| last.translation);
        if last.is_some_and(|last| last.distance(pose.translation) < step_m) {
            return;
        }
        if self.poses.len() == MOST_PATH {
            let mut keep = false;
            self.poses.retain(|_| {
                keep = !keep;
                keep
            });
            self.coarser += 1;
        }
        self.poses.push(pose);
    }
}

#[cfg(test)]
mod tests {
    use glam::DQuat;

    use super::*;

    #[test]
    fn a_long_path_becomes_coarser() {
        let mut path = Path::default();
        for step in 0..100_000 {
            let place = DVec3::new(0.1 * f64::from(step), 0.0, 0.0);
            path.note(Transform::new(place, DQuat::IDENTITY));
        }
        assert!(path.poses.len() <= MOST_PATH && path.poses.len() > MOST_PATH / 4);
        assert_eq!(path.poses[0].translation, DVec3::ZERO);
        let steps = path.poses.windows(2).map(|two| two[1].translation.x - two[0].translation.x);
        let (least, most) = steps.fold((f64::MAX, 0.0_f64), |(a, b), x| (a.min(x), b.max(x)));
        assert!(least > 0.19 && most < 20.0, "{least} {most}");
        let end = path.poses.last().map(|last| last.translation.x);
        assert!(end.is_some_and(|end| end > 9980.0), "{end:?}");
    }
}
