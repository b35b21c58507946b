//! Decoded packets for the page: points in World, and values.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use serde::Serialize;
use serde_json::json;

use super::super::watch::{Audience, Seen, What};
use crate::config::rig::DeviceId;
use crate::devices::decoder::Content;
use crate::frames::rpy_from_quat;
use crate::time::SimTime;

/// Number of frames that are kept for slow viewers. A viewer that misses more frames continues with the newest one.
const FRAMES_KEPT: usize = 4;
/// Size of a point, bytes: east, north and up in metres (`f32` each), device and intensity (`u8` each), laser, label,
/// and range in centimetres (`u16` each).
const POINT_BYTES: usize = 20;
/// Largest number of values that are shown for a device.
const MOST_VALUES: usize = 10;
/// Largest number of characters of a shown value.
const MOST_LETTERS: usize = 60;

/// Latest values of a device by name. Texts are sorted after quantities.
type Latest = BTreeMap<(ValueKind, String), Value>;

/// Kind of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ValueKind {
    Quantity,
    Text,
}

/// Decoded data, shared with the server threads.
#[derive(Default)]
pub struct Shown {
    frames: Mutex<VecDeque<(u64, Arc<Vec<u8>>)>>,
    values: Mutex<Vec<Vec<NamedValue>>>,
}

/// Latest value of a quantity that a device measures, or of a text that a device sends.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NamedValue {
    /// Name of the quantity, or kind of the text.
    pub name: String,
    /// Text to show, and numbers to plot.
    #[serde(flatten)]
    pub value: Value,
}

/// A value that the page shows, with numbers if the page can plot it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Value {
    /// Text that the page shows, with the unit of the value if it has one.
    pub text: String,
    /// Numbers for a plot: one, or three for the axes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub numbers: Vec<f64>,
}

/// A pose in World: position in metres, and quaternion x, y, z, w.
pub type Pose = ([f64; 3], [f64; 4]);

/// All poses at an instant.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Poses {
    /// Pose of the robot.
    pub robot: Pose,
    /// Poses of the sensors, by device.
    pub sensors: Vec<Pose>,
}

impl Shown {
    /// Number (from 1) and bytes of frame `seen` + 1; if this frame is no longer kept, those of the newest frame.
    /// `None` if frame `seen` is the newest.
    pub fn frame_after(&self, seen: u64) -> Option<(u64, Arc<Vec<u8>>)> {
        let frames = self.frames.lock().expect("no holder panics");
        let next = frames.iter().find(|(number, _)| *number == seen + 1);
        next.or(frames.back().filter(|(number, _)| *number != seen)).cloned()
    }

    /// Latest values of each device.
    pub fn values(&self) -> Vec<Vec<NamedValue>> {
        self.values.lock().expect("no holder panics").clone()
    }

    fn show(&self, number: u64, frame: Vec<u8>, values: Vec<Vec<NamedValue>>) {
        let mut frames = self.frames.lock().expect("no holder panics");
        if frames.len() == FRAMES_KEPT {
            frames.pop_front();
        }
        frames.push_back((number, Arc::new(frame)));
        *self.values.lock().expect("no holder panics") = values;
    }
}

/// Collects decoded packets for the open pages.
pub struct Viewers<'a> {
    shown: &'a Shown,
    wishes: Wishes<'a>,
    /// Number of the latest frame.
    number: u64,
    /// Encoded points of the present frame, by device; [`POINT_BYTES`] each.
    points: Vec<Vec<u8>>,
    latest: Vec<Latest>,
}

/// Callbacks of [`Viewers`]: two report the requests of open pages, and one supplies poses, which packets do not
/// contain.
pub struct Wishes<'a> {
    /// Whether a page is open.
    pub is_there: Box<dyn Fn() -> bool + 'a>,
    /// Whether labels of points are requested.
    pub labels: Box<dyn Fn() -> bool + 'a>,
    /// Function that returns all poses at an instant.
    pub poses: Box<dyn Fn(SimTime) -> Poses + 'a>,
}

impl<'a> Viewers<'a> {
    /// Viewers of a rig with `devices` devices; `shown` is updated while a page is open.
    pub fn new(shown: &'a Shown, devices: usize, wishes: Wishes<'a>) -> Self {
        let latest = vec![Latest::new(); devices];
        Self { shown, wishes, number: 0, points: vec![Vec::new(); devices], latest }
    }

    /// A frame in the page's format: its number, the length of its header, the header, and the points.
    fn frame(&mut self, at: SimTime) -> Vec<u8> {
        let counts: Vec<_> = self.points.iter().map(|points| points.len() / POINT_BYTES).collect();
        let poses = (self.wishes.poses)(at);
        let time_s = at.as_secs_f64();
        let head = json!({ "time_s": time_s, "poses": poses, "points": counts }).to_string();
        // Spaces after the header align the points to four bytes.
        let length = head.len().next_multiple_of(4);
        let mut bytes = self.number.to_le_bytes().to_vec();
        bytes.extend((length as u32).to_le_bytes());
        bytes.extend(format!("{head:length$}").as_bytes());
        for points in &mut self.points {
            bytes.append(points);
        }
        bytes
    }
}

impl Audience for Viewers<'_> {
    fn is_there(&self) -> bool {
        (self.wishes.is_there)()
    }

    fn wants(&self, _device: DeviceId) -> bool {
        (self.wishes.is_there)()
    }

    fn wants_labels(&self) -> bool {
        (self.wishes.labels)()
    }

    fn take(&mut self, seen: &Seen<'_>) {
        let latest = &mut self.latest[seen.device.0];
        match &seen.what {
            What::Points { points, world_from_sensor } => {
                let bytes = &mut self.points[seen.device.0];
                for point in *points {
                    for value in world_from_sensor.point(point.position_m).as_vec3().to_array() {
                        bytes.extend(value.to_le_bytes());
                    }
                    let [low, high] = point.laser.to_le_bytes();
                    bytes.extend([seen.device.0 as u8, point.intensity, low, high]);
                    // Ranges above 655 m are clamped.
                    let range_cm = (point.position_m.length() * 100.0).round() as u16;
                    bytes.extend(point.label.to_le_bytes());
                    bytes.extend(range_cm.to_le_bytes());
                }
            }
            What::Frame(kind, content) => note(latest, *kind, *content),
            What::Message(kind, text) => {
                keep(latest, ValueKind::Text, kind, (*text).to_owned(), &[]);
            }
            What::Picture(picture, _) => {
                let [width, height] = picture.size;
                let text = format!("{width} x {height} {}", picture.format.word());
                keep(latest, ValueKind::Quantity, "image", text, &[]);
                keep(latest, ValueKind::Quantity, "frame", picture.number.to_string(), &[]);
            }
        }
    }

    fn end_frame(&mut self, at: SimTime) {
        self.number += 1;
        let frame = self.frame(at);
        let values = self.latest.iter().map(|latest| {
            let value = |((_, name), value): (&(ValueKind, String), &Value)| NamedValue {
                name: name.clone(),
                value: value.clone(),
            };
            latest.iter().take(MOST_VALUES).map(value).collect()
        });
        self.shown.show(self.number, frame, values.collect());
    }
}

/// Stores a value. A text with a new name is dropped if the device already has [`MOST_VALUES`] values, because hosts
/// can request any number of texts.
fn keep(latest: &mut Latest, told: ValueKind, name: &str, mut text: String, numbers: &[f64]) {
    let key = (told, name.to_owned());
    if told == ValueKind::Text && latest.len() >= MOST_VALUES && !latest.contains_key(&key) {
        return;
    }
    if let Some((end, _)) = text.char_indices().nth(MOST_LETTERS) {
        text.truncate(end);
        text.push('…');
    }
    latest.insert(key, Value { text, numbers: numbers.to_vec() });
}

/// Stores the values in a decoded frame of a byte stream.
fn note(latest: &mut Latest, kind: Option<&str>, content: &dyn Content) {
    let mut quantity = |name: &str, text: String, numbers: &[f64]| {
        keep(latest, ValueKind::Quantity, name, text, numbers);
    };
    let fix = content.fix();
    let inertial = content.inertial();
    if let Some(fix) = &fix {
        let place = fix.position;
        let (latitude, longitude) = (place.latitude_deg, place.longitude_deg);
        let text = format!("{latitude:.7}°, {longitude:.7}°, {:.2} m", place.altitude_m);
        quantity("position", text, &[]);
        if let Some(grade) = fix.grade {
            quantity("fix", format!("{grade:?}"), &[]);
        }
    }
    if let Some(inertial) = &inertial {
        let three = |v: glam::DVec3| format!("{:.3}, {:.3}, {:.3}", v.x, v.y, v.z);
        if let Some(gyro) = inertial.gyro_rad_s {
            quantity("angular rate", format!("{} rad/s", three(gyro)), &gyro.to_array());
        }
        if let Some(accel) = inertial.accel_m_s2 {
            quantity("specific force", format!("{} m/s²", three(accel)), &accel.to_array());
        }
        if let Some(attitude) = inertial.attitude {
            let (roll, pitch, yaw) = rpy_from_quat(attitude);
            let angles = [roll, pitch, yaw].map(f64::to_degrees);
            let [roll, pitch, yaw] = angles;
            quantity("roll, pitch, yaw", format!("{roll:.2}°, {pitch:.2}°, {yaw:.2}°"), &angles);
        }
    }
    if let (None, None, Some(kind)) = (fix, inertial, kind) {
        keep(latest, ValueKind::Text, kind, content.text().trim().to_owned(), &[]);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::watch::SeenPoint;
    use super::*;
    use crate::frames::Transform;

    #[test]
    fn a_frame_has_its_time_poses_and_the_points_of_each_device() {
        let shown = Shown::default();
        let pose = ([1.0, 2.0, 3.0], [0.0, 0.0, 0.0, 1.0]);
        let poses = move |_| Poses { robot: pose, sensors: vec![pose; 2] };
        let wishes = Wishes {
            is_there: Box::new(|| true),
            labels: Box::new(|| true),
            poses: Box::new(poses),
        };
        let mut viewers = Viewers::new(&shown, 2, wishes);
        let point = |x: f64| SeenPoint {
            position_m: glam::DVec3::new(x, 0.0, 0.0),
            intensity: 9,
            laser: 300,
            label: 7,
        };
        for (device, points) in [(1, vec![point(2.5)]), (0, vec![point(1.0), point(9000.0)])] {
            let world_from_sensor =
                Transform::from_rpy(glam::DVec3::new(10.0, 0.0, 0.0), 0.0, 0.0, 0.0);
            let what = What::Points { points: &points, world_from_sensor };
            viewers.take(&Seen { device: DeviceId(device), due: SimTime(5), what });
        }
        viewers.end_frame(SimTime(1_500_000_000));
        let (number, bytes) = shown.frame_after(0).unwrap();
        let length = u32::from_le_bytes(bytes[8..12].try_into().unwrap()) as usize;
        let head: serde_json::Value = serde_json::from_slice(&bytes[12..12 + length]).unwrap();
        assert_eq!((number, &bytes[..8]), (1, &1_u64.to_le_bytes()[..]));
        assert_eq!((&head["time_s"], &head["points"]), (&json!(1.5), &json!([2, 1])));
        assert_eq!(head["poses"]["sensors"][1][0], json!([1.0, 2.0, 3.0]));
        let points = &bytes[12 + length..];
        assert_eq!((points.len(), length % 4), (3 * POINT_BYTES, 0));
        let last = &points[2 * POINT_BYTES..];
        assert_eq!(last[..4], 12.5_f32.to_le_bytes());
        assert_eq!(last[12..], [1, 9, 44, 1, 7, 0, 250, 0]);
        assert_eq!(points[POINT_BYTES + 18..2 * POINT_BYTES], [255, 255]);
        viewers.end_frame(SimTime(1_600_000_000));
        let (_, bytes) = shown.frame_after(1).unwrap();
        let length = u32::from_le_bytes(bytes[8..12].try_into().unwrap()) as usize;
        assert_eq!(bytes.len(), 12 + length, "a frame without points is a frame as well");
    }
}
