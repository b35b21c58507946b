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
/// Most of a device's latest values that are shown, and letters of one of them.
const MOST_VALUES: usize = 10;
const MOST_LETTERS: usize = 60;

/// The latest values of a device by their names. What is told in words comes after what is told as quantities.
type Latest = BTreeMap<(Told, String), String>;

/// How something is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Told {
    Quantity,
    Words,
}

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
    latest: Vec<Latest>,
}

impl<'a, F: Fn() -> bool, G: Fn() -> bool> Viewers<'a, F, G> {
    /// Those of a rig with so many devices, who are shown `shown` while they are there.
    pub fn new(shown: &'a Shown, devices: usize, is_there: F, wants_labels: G) -> Self {
        let latest = vec![Latest::new(); devices];
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
                keep(latest, Told::Words, kind, (*text).to_owned());
            }
        }
    }

    fn end_frame(&mut self, _at: SimTime) {
        self.number += 1;
        let values = self.latest.iter().map(|latest| {
            let value = |((_, name), text): (&(Told, String), &String)| NamedValue {
                name: name.clone(),
                text: text.clone(),
            };
            latest.iter().take(MOST_VALUES).map(value).collect()
        });
        self.shown.show(self.number, std::mem::take(&mut self.points), values.collect());
    }
}

/// Keeps a value. Of those that are told in words no more than are shown: a host may have asked for any number.
fn keep(latest: &mut Latest, told: Told, name: &str, mut text: String) {
    let key = (told, name.to_owned());
    if told == Told::Words && latest.len() >= MOST_VALUES && !latest.contains_key(&key) {
        return;
    }
    if let Some((end, _)) = text.char_indices().nth(MOST_LETTERS) {
        text.truncate(end);
        text.push('…');
    }
    latest.insert(key, text);
}

/// Keeps what a frame says.
fn note(latest: &mut Latest, kind: Option<&str>, content: &dyn Content) {
    let mut quantity = |name: &str, text: String| keep(latest, Told::Quantity, name, text);
    let fix = content.fix();
    let inertial = content.inertial();
    if let Some(fix) = &fix {
        let place = fix.position;
        let (latitude, longitude) = (place.latitude_deg, place.longitude_deg);
        quantity("position", format!("{latitude:.7}°, {longitude:.7}°, {:.2} m", place.altitude_m));
        if let Some(grade) = fix.grade {
            quantity("fix", format!("{grade:?}"));
        }
    }
    if let Some(inertial) = &inertial {
        let three = |v: glam::DVec3| format!("{:.3}, {:.3}, {:.3}", v.x, v.y, v.z);
        if let Some(gyro) = inertial.gyro_rad_s {
            quantity("angular rate", format!("{} rad/s", three(gyro)));
        }
        if let Some(accel) = inertial.accel_m_s2 {
            quantity("specific force", format!("{} m/s²", three(accel)));
        }
        if let Some(attitude) = inertial.attitude {
            let (roll, pitch, yaw) = rpy_from_quat(attitude);
            let [roll, pitch, yaw] = [roll, pitch, yaw].map(f64::to_degrees);
            quantity("roll, pitch, yaw", format!("{roll:.2}°, {pitch:.2}°, {yaw:.2}°"));
        }
    }
    if let (None, None, Some(kind)) = (fix, inertial, kind) {
        keep(latest, Told::Words, kind, content.text().trim().to_owned());
    }
}
