//! The ground truth of a camera's frames as messages.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::labels::Labels;
use super::poses::optical_frame;
use super::{JsonMessage, kinds, messages};
use crate::frames::{Sensor, Transform, World};
use crate::sensors::camera::truth::{FrameTruth, TileTruth};
use crate::sensors::truth::NONE;
use crate::time::Epoch;

/// Messages about a frame of `device`; `world_from_camera` is the camera's pose at [`FrameTruth::middle`].
pub fn messages_of(
    device: &str,
    frame: &FrameTruth,
    world_from_camera: &Transform<World, Sensor>,
    epoch: &Epoch,
    labels: &Labels,
) -> Vec<JsonMessage> {
    let shot = &*frame.shot;
    let middle = frame.middle();
    let topic = |what: &str| format!("/devices/{device}/{what}");
    let value = json!({
        "time_ns": middle.0,
        "frame": shot.number,
        "block": frame.block,
        "stamp": frame.stamp,
        "exposure_start_ns": frame.start.0,
        "exposure_ns": shot.exposure_ns,
        "line_ns": shot.line_ns,
        "gain_db": shot.gain_db,
        "region": shot.region,
        "binning": shot.binning,
        "position_m": world_from_camera.translation.to_array(),
        "orientation_xyzw": world_from_camera.rotation.to_array(),
    });
    let mut all = vec![JsonMessage::of(topic("frames"), &kinds::FRAME, value)];
    let [_, _, width, height] = shot.region;
    let mut image = |what: &str, encoding: &str, bytes: Vec<u8>| {
        if bytes.is_empty() {
            return;
        }
        let value = json!({
            "timestamp": messages::timestamp(epoch, middle),
            "frame_id": optical_frame(device),
            "width": width,
            "height": height,
            "encoding": encoding,
            "step": bytes.len() / height.max(1) as usize,
            "data": STANDARD.encode(bytes),
        });
        all.push(JsonMessage::of(topic(what), &kinds::RAW_IMAGE, value));
    };
    let label_of = |&[instance, material]: &[u32; 2]| match instance {
        NONE => 0,
        instance => labels.look_up(instance, material).1,
    };
    let surfaces = bytes_of(frame, |tile| &tile.surfaces, |one| label_of(one).to_le_bytes());
    image("labels", "mono16", surfaces);
    image("depth", "32FC1", bytes_of(frame, |tile| &tile.depth_m, |depth| depth.to_le_bytes()));
    let [sign_x, sign_y] =
        frame.mirror.axes.map(|is_reversed| if is_reversed { -1.0 } else { 1.0 });
    let flow = |one: &[f32; 2]| {
        let mut bytes = [0; 8];
        bytes[..4].copy_from_slice(&(sign_x * one[0]).to_le_bytes());
        bytes[4..].copy_from_slice(&(sign_y * one[1]).to_le_bytes());
        bytes
    };
    image("flow", "32FC2", bytes_of(frame, |tile| &tile.flow_px, flow));
    all
}

/// The per-pixel values of all tiles, little-endian, in the order of the image's pixels; empty if they were not
/// requested.
fn bytes_of<T, const N: usize>(
    frame: &FrameTruth,
    list: impl Fn(&TileTruth) -> &Vec<T>,
    bytes: impl Fn(&T) -> [u8; N],
) -> Vec<u8> {
    let values: Vec<&T> = frame.tiles.iter().flat_map(|tile| list(tile)).collect();
    let [_, _, width, height] = frame.shot.region.map(|pixels| pixels as usize);
    if values.len() != width * height {
        return Vec::new();
    }
    let places = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
    let mirror = frame.mirror;
    let of = |(x, y)| values[mirror.source(1, y, height) * width + mirror.source(0, x, width)];
    places.flat_map(|place| bytes(of(place))).collect()
}
