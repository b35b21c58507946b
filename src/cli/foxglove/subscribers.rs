//! Device data for Foxglove, decoded from sent packets: clouds, images, positions, angular rates and accelerations.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use glam::DVec3;
use serde_json::{Value, json};

use super::super::watch::pictures::LivePictures;
use super::super::watch::{Audience, Seen, SeenPoint, What};
use super::Topics;
use crate::config::rig::DeviceId;
use crate::devices::decoder::Content;
use crate::devices::decoder::readings::{Inertial, PositionFix};
use crate::engine::run::RealTimeRun;
use crate::engine::truth::poses::{device_frame, optical_frame};
use crate::engine::truth::{kinds, messages};
use crate::frames::rpy_from_quat;
use crate::links::foxglove::NewChannel;
use crate::sensors::camera::lens::{Lens, Model};
use crate::time::SimTime;
use crate::wire::foxglove::cloud::{self, Cloud, Number, PointField};
use crate::wire::foxglove::image::{self, CompressedImage};

/// Fields of a cloud's point: name, offset in bytes, and type.
const FIELDS: &[PointField] = &[
    ("x", 0, Number::F32),
    ("y", 4, Number::F32),
    ("z", 8, Number::F32),
    ("intensity", 12, Number::U8),
    ("laser", 14, Number::U16),
];
/// Size of a cloud's point, bytes.
const STRIDE: u32 = 16;
/// In this many frames, counted from the first one with a connected client, the packets of all devices are decoded, so
/// that their channels are created. A device without channels is decoded in later frames, too.
const FRAMES_OF_DISCOVERY: u32 = 20;

/// Passes decoded device data to subscribed clients.
pub struct Subscribers<'a> {
    run: &'a RealTimeRun<'a>,
    pictures: &'a LivePictures<'a>,
    topics: Topics<'a>,
    devices: Vec<DeviceChannels>,
    /// Number of frames during which clients were connected.
    frames: u32,
}

/// Channels and state of a device.
#[derive(Default)]
struct DeviceChannels {
    /// Points collected for the next cloud: position in World, metres, and the decoded point.
    points: Vec<(DVec3, SeenPoint)>,
    /// Ids of the device's Foxglove channels.
    channels: Vec<u32>,
    /// Message type from which positions are taken: GNSS receivers send the same position in several messages.
    position_message: Option<String>,
    /// For a camera: channel of its images, and number of the last published one.
    images: Option<(u32, u64)>,
    /// Whether the lens was known when the camera's channels were last created.
    has_lens: bool,
}

impl DeviceChannels {
    fn note(&mut self, channel: u32) {
        if !self.channels.contains(&channel) {
            self.channels.push(channel);
        }
    }
}

impl<'a> Subscribers<'a> {
    pub(super) fn new(
        run: &'a RealTimeRun<'a>,
        pictures: &'a LivePictures<'a>,
        topics: Topics<'a>,
    ) -> Self {
        let devices = run.rig().devices.iter().map(|_| DeviceChannels::default()).collect();
        Self { run, pictures, topics, devices, frames: 0 }
    }

    fn topic(&self, device: DeviceId, what: &str) -> String {
        format!("/devices/{}/{what}", self.run.rig().devices[device.0].name)
    }

    fn frame(&self, device: DeviceId) -> String {
        device_frame(&self.run.rig().devices[device.0].name)
    }

    /// Returns the channel of a device's points; creates it if necessary.
    fn cloud_channel(&mut self, device: DeviceId) -> u32 {
        let topic = self.topic(device, "points");
        let channel = self.topics.channel(&topic, |topic| NewChannel {
            topic,
            encoding: "protobuf",
            schema_name: cloud::NAME.to_owned(),
            schema_encoding: "protobuf",
            schema: STANDARD.encode(cloud::description()),
        });
        self.devices[device.0].note(channel);
        channel
    }

    /// Creates the channels for a camera's images and calibration.
    fn find_camera(&mut self, device: DeviceId, lens: Option<&Lens>) {
        let told = &self.devices[device.0];
        if told.images.is_some() && (told.has_lens || lens.is_none()) {
            return;
        }
        let topic = self.topic(device, "image");
        let channel = self.topics.channel(&topic, |topic| NewChannel {
            topic,
            encoding: "protobuf",
            schema_name: image::NAME.to_owned(),
            schema_encoding: "protobuf",
            schema: STANDARD.encode(image::description()),
        });
        self.devices[device.0].images.get_or_insert((channel, 0));
        self.devices[device.0].note(channel);
        self.devices[device.0].has_lens = lens.is_some();
        if lens.is_some_and(|lens| self.calibration(device, SimTime::ZERO, lens).is_some()) {
            let topic = self.topic(device, "calibration");
            let channel = self.topics.json(&topic, &kinds::CALIBRATION);
            self.devices[device.0].note(channel);
        }
    }

    /// Publishes the newest image and its calibration, each only if a client has subscribed to it, and only if the
    /// image is new.
    fn publish_image(&mut self, device: DeviceId) {
        let Some((channel, told)) = self.devices[device.0].images else { return };
        let topic = self.topic(device, "calibration");
        let wants_image = self.topics.hub.is_wanted(channel);
        let wants_calibration = self
            .topics
            .known
            .get(&topic)
            .is_some_and(|calibration| self.topics.hub.is_wanted(*calibration));
        if !(wants_image || wants_calibration) {
            return;
        }
        let Some(jpeg) = self.pictures.newest(device, told) else { return };
        self.devices[device.0].images = Some((channel, jpeg.number));
        let lens = jpeg.lens.as_ref();
        if let Some(calibration) = lens.and_then(|lens| self.calibration(device, jpeg.due, lens)) {
            self.topics.tell(&topic, &kinds::CALIBRATION, jpeg.due, || calibration);
        }
        if wants_image {
            let unix_ns = self.topics.unix_ns(jpeg.due);
            let frame = optical_frame(&self.run.rig().devices[device.0].name);
            let image =
                CompressedImage { unix_ns, frame: &frame, format: "jpeg", data: &jpeg.bytes };
            self.topics.hub.publish(channel, unix_ns, image.emit());
        }
    }

    /// Foxglove's calibration message for an image with this lens; `None` if Foxglove does not support the lens.
    fn calibration(&self, device: DeviceId, at: SimTime, lens: &Lens) -> Option<Value> {
        let device = &self.run.rig().devices[device.0];
        let stamp = messages::timestamp(&self.topics.epoch, at);
        calibration(&stamp, &optical_frame(&device.name), lens)
    }

    fn take_content(&mut self, device: DeviceId, due: SimTime, content: &dyn Content) {
        let stamp = messages::timestamp(&self.topics.epoch, due);
        if let Some(fix) = content.fix().filter(|fix| fix.position.altitude_m.is_finite()) {
            let told = &mut self.devices[device.0];
            if *told.position_message.get_or_insert_with(|| fix.message.clone()) == fix.message {
                let (topic, frame) = (self.topic(device, "fix"), self.frame(device));
                self.topics.tell(&topic, &kinds::FIX, due, || position(&stamp, &frame, &fix));
                let channel = self.topics.json(&topic, &kinds::FIX);
                self.devices[device.0].note(channel);
            }
        }
        if let Some(inertial) = content.inertial() {
            let (topic, frame) = (self.topic(device, "imu"), self.frame(device));
            self.topics.tell(&topic, &kinds::IMU, due, || imu(&stamp, &frame, &inertial));
            let channel = self.topics.json(&topic, &kinds::IMU);
            self.devices[device.0].note(channel);
        }
    }

    /// Publishes the points collected since the last call as one cloud. Its timestamp is `at`, and its coordinates are
    /// those of the sensor at that time.
    fn publish_cloud(&mut self, device: DeviceId, at: SimTime) {
        let points = std::mem::take(&mut self.devices[device.0].points);
        let channel = self.cloud_channel(device);
        if !self.topics.hub.is_wanted(channel) {
            return;
        }
        let mount = self.run.rig().devices[device.0].body_from_sensor;
        let surroundings = self.run.world().surroundings_of(device, &mount);
        let sensor_from_world = surroundings.world_from_sensor(at).inverse();
        let mut data = Vec::with_capacity(points.len() * STRIDE as usize);
        for (place, point) in &points {
            for value in sensor_from_world.point(*place).as_vec3().to_array() {
                data.extend(value.to_le_bytes());
            }
            let [low, high] = point.laser.to_le_bytes();
            data.extend([point.intensity, 0, low, high]);
        }
        let unix_ns = self.topics.unix_ns(at);
        let frame = self.frame(device);
        let cloud = Cloud { unix_ns, frame: &frame, stride: STRIDE, fields: FIELDS, data: &data };
        self.topics.hub.publish(channel, unix_ns, cloud.emit());
    }
}

impl Audience for Subscribers<'_> {
    fn is_there(&self) -> bool {
        self.topics.hub.is_visited()
    }

    fn wants(&self, device: DeviceId) -> bool {
        let channels = &self.devices[device.0].channels;
        let is_new = self.frames < FRAMES_OF_DISCOVERY || channels.is_empty();
        let is_wanted = || channels.iter().any(|channel| self.topics.hub.is_wanted(*channel));
        self.topics.hub.is_visited() && (is_new || is_wanted())
    }

    fn take(&mut self, seen: &Seen<'_>) {
        match &seen.what {
            What::Points { points, world_from_sensor } => {
                let placed = points.iter().map(|p| (world_from_sensor.point(p.position_m), *p));
                self.devices[seen.device.0].points.extend(placed);
            }
            What::Frame(_, content) => self.take_content(seen.device, seen.due, *content),
            What::Picture(_, lens) => self.find_camera(seen.device, *lens),
            What::Message(..) => {}
        }
    }

    fn end_frame(&mut self, at: SimTime) {
        if self.is_there() {
            self.frames = self.frames.saturating_add(1);
        }
        for index in 0..self.devices.len() {
            if !self.devices[index].points.is_empty() {
                self.publish_cloud(DeviceId(index), at);
            }
            self.publish_image(DeviceId(index));
        }
    }
}

/// The calibration of an image with `lens`, as `foxglove.CameraCalibration`; `None` if Foxglove does not support the
/// lens.
fn calibration(stamp: &Value, frame: &str, lens: &Lens) -> Option<Value> {
    let (model, distortion) = match lens.model {
        Model::Rational([k1, k2, p1, p2, k3, 0.0, 0.0, 0.0]) => {
            ("plumb_bob", vec![k1, k2, p1, p2, k3])
        }
        Model::Rational(all) => ("rational_polynomial", all.to_vec()),
        Model::Fisheye(all) => ("kannala_brandt", all.to_vec()),
        Model::FieldOfView(_) => return None,
    };
    let ([width, height], [fx, fy], [cx, cy]) = (lens.size, lens.focal_px, lens.centre_px);
    Some(json!({
        "timestamp": stamp,
        "frame_id": frame,
        "width": width,
        "height": height,
        "distortion_model": model,
        "D": distortion,
        "K": [fx, 0.0, cx, 0.0, fy, cy, 0.0, 0.0, 1.0],
        "R": [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
        "P": [fx, 0.0, cx, 0.0, 0.0, fy, cy, 0.0, 0.0, 0.0, 1.0, 0.0],
    }))
}

/// Position of a GNSS receiver as `foxglove.LocationFix`.
fn position(stamp: &Value, frame: &str, fix: &PositionFix) -> Value {
    let mut covariance = [0.0; 9];
    // An approximation: the variance of each horizontal axis is half of the squared horizontal accuracy.
    let mut kind = 0;
    if let Some(horizontal_m) = fix.horizontal_accuracy_m {
        let vertical_m = fix.vertical_accuracy_m.unwrap_or(horizontal_m);
        let half = horizontal_m * horizontal_m / 2.0;
        [covariance[0], covariance[4], covariance[8]] = [half, half, vertical_m * vertical_m];
        kind = 1;
    }
    json!({
        "timestamp": stamp,
        "frame_id": frame,
        "latitude": fix.position.latitude_deg,
        "longitude": fix.position.longitude_deg,
        "altitude": fix.position.altitude_m,
        "position_covariance": covariance,
        "position_covariance_type": kind,
    })
}

/// Message with the data of an IMU; missing values are omitted.
fn imu(stamp: &Value, frame: &str, told: &Inertial) -> Value {
    let mut value = json!({ "timestamp": stamp, "frame_id": frame });
    let vectors = [
        ("angular_velocity", told.gyro_rad_s),
        ("linear_acceleration", told.accel_m_s2),
        ("magnetic_field_gauss", told.mag_gauss),
    ];
    for (name, vector) in vectors {
        if let Some(vector) = vector {
            value[name] = messages::xyz(vector.to_array());
        }
    }
    if let Some(attitude) = told.attitude {
        value["orientation"] = messages::xyzw(attitude);
        let (roll, pitch, yaw) = rpy_from_quat(attitude);
        let angles = [("roll_deg", roll), ("pitch_deg", pitch), ("yaw_deg", yaw)];
        angles.iter().for_each(|(name, angle)| value[*name] = json!(angle.to_degrees()));
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_calibration_is_that_of_the_image() {
        let model = Model::Rational([0.0; 8]);
        let lens = Lens { size: [64, 32], focal_px: [160.0, -150.0], centre_px: [3.0, 4.0], model };
        let value = calibration(&json!({}), "camera", &lens).expect("Foxglove supports the lens");
        assert_eq!((&value["width"], &value["height"]), (&json!(64), &json!(32)));
        assert_eq!(value["K"], json!([160.0, 0.0, 3.0, 0.0, -150.0, 4.0, 0.0, 0.0, 1.0]));
        let row = json!([160.0, 0.0, 3.0, 0.0, 0.0, -150.0, 4.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
        assert_eq!(value["P"], row);
        let wide = Lens { model: Model::FieldOfView(0.5), ..lens };
        assert_eq!(calibration(&json!({}), "camera", &wide), None);
    }
}
