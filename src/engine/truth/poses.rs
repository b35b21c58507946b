//! Poses of robot, objects, joints and devices at an instant, as messages.

use glam::{DQuat, DVec3};
use serde_json::{Value, json};

use super::{JsonMessage, kinds, messages};
use crate::config::rig::Rig;
use crate::devices::families::is_camera;
use crate::engine::LiveWorld;
use crate::frames::{Sensor, Transform};
use crate::time::{Epoch, SimTime};
use crate::world::body_state::BodyState;

/// Name of a device's frame.
pub fn device_frame(device: &str) -> String {
    format!("device/{device}")
}

/// Name of the optical frame of a camera: x right, y down, z forward.
pub fn optical_frame(device: &str) -> String {
    format!("device/{device}/optical")
}

fn joint_frame(joint: &str) -> String {
    format!("joint/{joint}")
}

/// Latest instant up to `at` at which all poses are final: commands can no longer change them.
pub fn known_at(world: &LiveWorld, at: SimTime) -> SimTime {
    let driven = world.trajectory.driven().map(|driven| driven.known_until());
    at.min(driven.unwrap_or(at)).min(world.joints.known_until())
}

/// Calls `tell` with the poses and motions of robot, objects, joints and devices at `at`.
pub fn tell(
    rig: &Rig,
    world: &LiveWorld,
    epoch: &Epoch,
    at: SimTime,
    tell: &mut impl FnMut(JsonMessage),
) {
    let stamp = messages::timestamp(epoch, at);
    let robot = world.trajectory.state(at);
    let motion = |state: &BodyState| messages::motion(at, state, &world.origin);
    tell(JsonMessage::of("/robot/motion", &kinds::MOTION, motion(&robot)));
    let pose = messages::pose_in_world(&stamp, &robot.world_from_body);
    tell(JsonMessage::of("/robot/pose", &kinds::POSE, pose));
    for object in world.objects.iter().filter(|object| object.is_there(at)) {
        let topic = format!("/objects/{}", object.name);
        tell(JsonMessage::of(topic, &kinds::MOTION, motion(&object.trajectory.state(at))));
    }
    for (index, joint) in rig.joints.iter().enumerate() {
        let state = messages::joint(at, &world.joints.state(index, at));
        tell(JsonMessage::of(format!("/joints/{}", joint.name), &kinds::JOINT, state));
    }
    tell(JsonMessage::of("/tf", &kinds::TRANSFORMS, transforms(rig, world, epoch, at)));
}

/// The tree of frames at `at`. Robot and objects are in `world`, joints are on the robot, devices are on the robot or
/// on a joint, and each camera has the frame of its image.
pub fn transforms(rig: &Rig, world: &LiveWorld, epoch: &Epoch, at: SimTime) -> Value {
    let stamp = messages::timestamp(epoch, at);
    let robot = world.trajectory.pose(at);
    let mut frames = vec![messages::transform(&stamp, "world", "robot", &robot)];
    for object in world.objects.iter().filter(|object| object.is_there(at)) {
        let (frame, pose) = (format!("object/{}", object.name), object.trajectory.pose(at));
        frames.push(messages::transform(&stamp, "world", &frame, &pose));
    }
    for (index, joint) in rig.joints.iter().enumerate() {
        let pose = world.joints.carrier(index).pose(at);
        frames.push(messages::transform(&stamp, "robot", &joint_frame(&joint.name), &pose));
    }
    for device in &rig.devices {
        let parent = match &device.on {
            Some((joint, _)) => joint_frame(&rig.joints[*joint].name),
            None => "robot".into(),
        };
        let frame = device_frame(&device.name);
        frames.push(messages::transform(&stamp, &parent, &frame, &device.body_from_sensor));
        if is_camera(device) {
            let turned = DQuat::from_xyzw(-0.5, 0.5, -0.5, 0.5);
            let forward_left_up = Transform::<Sensor, Sensor>::new(DVec3::ZERO, turned);
            let optical = optical_frame(&device.name);
            frames.push(messages::transform(&stamp, &frame, &optical, &forward_left_up));
        }
    }
    json!({ "transforms": frames })
}
