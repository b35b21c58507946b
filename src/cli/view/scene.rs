//! What the page shows of what devices have sent: points in the world, and values.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use serde::Serialize;

use super::super::watch::{Audience, Seen, What};
use crate::config::rig::DeviceId;
use crate::devices::decoder::Content;
use crate::frames::rpy_from_quat;
use crate::time::SimTime;

/// Frames that a viewer may be behind; one that is further behind goes on with the newest.
const FRAMES_KEPT: usize = 4;
/// Most of a device's latest values that are shown.
const MOST_VALUES: usize = 12;

/// What is shown, shared with those who serve it.
#[derive(Default)]
pub struct Shown {
    frames: Mutex<VecDeque<(u64, Arc<Vec<u8>>)>>,
    values: Mutex<Vec<Vec<NamedValue>>>,
}

/// A value of a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NamedValue {
    /// What.
    pub name: String,
    /// How much, for people.
    pub text: String,
}

impl Shown {
    /// The frame after `seen`, or the newest: its number, which is never 0, and its bytes.
    pub fn frame_after(&self, seen: u64) -> Option<(u64, Arc<Vec<u8>>)> {
        let frames = self.frames.lock().expect("no holder panics");
        let next = frames.iter().find(|(number, _)| *number == seen + 1);
        next.or(frames.back().filter(|(number, _)| *number != seen)).cloned()
    }

    /// The latest values of each device.
    pub fn values(&self) -> Vec<Vec<NamedValue>> {
        self.values.lock().expect("no holder panics").clone()
    }

    fn show(&self, number: u64, points: Vec<u8>, values: Vec<Vec<NamedValue>>) {
        let mut frames = self.frames.lock().expect("no holder panics");
        if frames.len() == FRAMES_KEPT {
            frames.pop_front();
        }
        frames.push_back((number, Arc::new(points)));
        *self.values.lock().expect("no holder panics") = values;
    }
}

/// Whoever looks at the page.
pub struct Viewers<'a, F, G> {
    shown: &'a Shown,
    is_there: F,
    wants_labels: G,
    /// Frames so far.
    number: u64,
    points: Vec<u8>,
    latest: Vec<BTreeMap<String, String>>,
}

impl<'a, F: Fn() -> bool, G: Fn() -> bool> Viewers<'a, F, G> {
    /// Those of a rig with so many devices, who are shown `shown` while they are there.
    pub fn new(shown: &'a Shown, devices: usize, is_there: F, wants_labels: G) -> Self {
        let latest = vec![BTreeMap::new(); devices];
        Self { shown, is_there, wants_labels, number: 0, points: Vec::new(), latest }
    }
}

impl<F: Fn() -> bool, G: Fn() -> bool> Audience for Viewers<'_, F, G> {
    fn is_there(&self) -> bool {
        (self.is_there)()
    }

    fn wants(&self, _device: DeviceId) -> bool {
        (self.is_there)()
    }

    fn wants_labels(&self) -> bool {
        (self.wants_labels)()
    }

    fn take(&mut self, seen: &Seen<'_>) {
        let latest = &mut self.latest[seen.device.0];
        match &seen.what {
            What::Points { points, world_from_sensor } => {
                for point in *points {
                    // Three coordinates, device, intensity, laser, label, nothing: 20 bytes.
                    for value in world_from_sensor.point(point.position_m).as_vec3().to_array() {
                        self.points.extend(value.to_le_bytes());
                    }
                    let [low, high] = point.laser.to_le_bytes();
                    self.points.extend([seen.device.0 as u8, point.intensity, low, high]);
                    let [low, high] = point.label.to_le_bytes();
                    self.points.extend([low, high, 0, 0]);
                }
            }
            What::Frame(kind, content) => note(latest, *kind, *content),
            What::Message(kind, text) => {
                latest.insert((*kind).to_owned(), (*text).to_owned());
            }
        }
    }

    fn end_frame(&mut self, _at: SimTime) {
        self.number += 1;
        let values = self.latest.iter().map(|latest| {
            let value = |(name, text): (&String, &String)| NamedValue {
                name: name.clone(),
                text: text.clone(),
            };
            latest.iter().take(MOST_VALUES).map(value).collect()
        });
        self.shown.show(self.number, std::mem::take(&mut self.points), values.collect());
    }
}

/// Keeps what a frame says.
fn note(latest: &mut BTreeMap<String, String>, kind: Option<&str>, content: &dyn Content) {
    let mut keep = |name: &str, text: String| {
        if latest.len() < MOST_VALUES || latest.contains_key(name) {
            latest.insert(name.to_owned(), text);
        }
    };
    let fix = content.fix();
    let inertial = content.inertial();
    if let Some(fix) = &fix {
        let place = fix.position;
        let (latitude, longitude) = (place.latitude_deg, place.longitude_deg);
        keep("position", format!("{latitude:.7}°, {longitude:.7}°, {:.2} m", place.altitude_m));
        if let Some(grade) = fix.grade {
            keep("fix", format!("{grade:?}"));
        }
    }
    if let Some(inertial) = &inertial {
        let three = |v: glam::DVec3| format!("{:.3}, {:.3}, {:.3}", v.x, v.y, v.z);
        if let Some(gyro) = inertial.gyro_rad_s {
            keep("angular rate", format!("{} rad/s", three(gyro)));
        }
        if let Some(accel) = inertial.accel_m_s2 {
            keep("specific force", format!("{} m/s²", three(accel)));
        }
        if let Some(attitude) = inertial.attitude {
            let (roll, pitch, yaw) = rpy_from_quat(attitude);
            let [roll, pitch, yaw] = [roll, pitch, yaw].map(f64::to_degrees);
            keep("roll, pitch, yaw", format!("{roll:.2}°, {pitch:.2}°, {yaw:.2}°"));
        }
    }
    if let (None, None, Some(kind)) = (fix, inertial, kind) {
        keep(kind, content.text().trim().to_owned());
    }
}
