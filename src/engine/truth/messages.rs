//! JSON values of all ground truth messages except packet messages; [`super::kinds`] has their schemas.

use glam::DQuat;
use serde_json::{Value, json};

use crate::devices::ptp::account::ClockAccount;
use crate::engine::LiveWorld;
use crate::engine::faults::log::FaultNote;
use crate::frames::{GeoOrigin, Transform};
use crate::sensors::gnss::SkyView;
use crate::sensors::imu::InertialTruth;
use crate::time::{Epoch, SimTime};
use crate::wire::ptp::identity_text;
use crate::world::body_state::BodyState;
use crate::world::joints::JointState;
use crate::world::vehicle::WheelState;

/// A timestamp in Foxglove's format.
pub fn timestamp(epoch: &Epoch, at: SimTime) -> Value {
    let unix_ns = epoch.unix_ns(at);
    json!({
        "sec": unix_ns.div_euclid(1_000_000_000) as i64,
        "nsec": unix_ns.rem_euclid(1_000_000_000) as i64,
    })
}

/// Three coordinates in Foxglove's format.
pub fn xyz([x, y, z]: [f64; 3]) -> Value {
    json!({ "x": x, "y": y, "z": z })
}

/// A rotation as a quaternion in Foxglove's format.
pub fn xyzw(rotation: DQuat) -> Value {
    let [x, y, z, w] = rotation.to_array();
    json!({ "x": x, "y": y, "z": z, "w": w })
}

fn pose<A, B>(transform: &Transform<A, B>) -> (Value, Value) {
    (xyz(transform.translation.to_array()), xyzw(transform.rotation))
}

/// Pose of a frame in its parent frame, for [`TRANSFORMS`](super::kinds::TRANSFORMS).
pub fn transform<A, B>(
    stamp: &Value,
    parent: &str,
    child: &str,
    parent_from_child: &Transform<A, B>,
) -> Value {
    let (translation, rotation) = pose(parent_from_child);
    json!({
        "timestamp": stamp,
        "parent_frame_id": parent,
        "child_frame_id": child,
        "translation": translation,
        "rotation": rotation,
    })
}

/// Message of the kind [`POSE`](super::kinds::POSE), in the World frame.
pub fn pose_in_world<A, B>(stamp: &Value, world_from: &Transform<A, B>) -> Value {
    json!({ "timestamp": stamp, "frame_id": "world", "pose": place(world_from) })
}

/// Position and orientation of a frame in another frame.
pub fn place<A, B>(from: &Transform<A, B>) -> Value {
    let (position, orientation) = pose(from);
    json!({ "position": position, "orientation": orientation })
}

/// A message of the kind [`MOTION`](super::kinds::MOTION).
pub fn motion(at: SimTime, state: &BodyState, origin: &GeoOrigin) -> Value {
    let place = origin.geodetic_from_world(state.world_from_body.translation);
    json!({
        "time_ns": at.0,
        "position_m": state.world_from_body.translation.to_array(),
        "orientation_xyzw": state.world_from_body.rotation.to_array(),
        "velocity_m_s": state.velocity_m_s.to_array(),
        "acceleration_m_s2": state.acceleration_m_s2.to_array(),
        "angular_rate_rad_s": state.angular_rate_rad_s.to_array(),
        "latitude_deg": place.latitude_deg,
        "longitude_deg": place.longitude_deg,
        "altitude_m": place.altitude_m,
    })
}

/// A message of the kind [`JOINT`](super::kinds::JOINT).
pub fn joint(at: SimTime, state: &JointState) -> Value {
    let JointState { position, rate, acceleration } = state;
    json!({ "time_ns": at.0, "position": position, "rate": rate, "acceleration": acceleration })
}

/// A message of the kind [`CLOCK`](super::kinds::CLOCK).
pub fn clock(account: &ClockAccount, error_ns: i64) -> Value {
    let scale = match (account.is_set, account.shows_tai) {
        (false, _) => "power-up",
        (true, true) => "tai",
        (true, false) => "utc",
    };
    json!({
        "time_ns": account.at.0,
        "stamps": account.stamps(),
        "state": account.state.word(),
        "error_ns": error_ns,
        "scale": scale,
        "grandmaster": account.grandmaster.map_or_else(String::new, identity_text),
        "offset_from_master_ns": account.offset_ns,
        "path_delay_ns": account.path_delay_ns,
    })
}

/// A message of the kind [`INERTIAL`](super::kinds::INERTIAL).
pub fn inertial(truth: &InertialTruth) -> Value {
    json!({
        "time_ns": truth.at.0,
        "specific_force_m_s2": truth.specific_force_m_s2.to_array(),
        "angular_rate_rad_s": truth.angular_rate_rad_s.to_array(),
        "magnetic_field_gauss": truth.magnetic_field_gauss.to_array(),
        "orientation_xyzw": truth.world_from_sensor.to_array(),
        "position_m": truth.position_m.to_array(),
        "velocity_m_s": truth.velocity_m_s.to_array(),
        "acceleration_m_s2": truth.acceleration_m_s2.to_array(),
        "latitude_deg": truth.place.latitude_deg,
        "longitude_deg": truth.place.longitude_deg,
        "altitude_m": truth.place.altitude_m,
    })
}

/// A message of the kind [`SKY`](super::kinds::SKY).
pub fn sky(at: SimTime, view: &SkyView) -> Value {
    let satellites = view.satellites.iter().map(|satellite| {
        json!({
            "elevation_rad": satellite.elevation_rad,
            "azimuth_rad": satellite.azimuth_rad,
            "open_share": satellite.open_share,
        })
    });
    json!({
        "time_ns": at.0,
        "latitude_deg": view.position.latitude_deg,
        "longitude_deg": view.position.longitude_deg,
        "altitude_m": view.position.altitude_m,
        "velocity_enu_m_s": view.velocity_enu_m_s.to_array(),
        "satellites": satellites.collect::<Vec<_>>(),
    })
}

/// Message of the kind [`FIX`](super::kinds::FIX) for an antenna; `frame` is the name of its frame.
pub fn fix(stamp: &Value, frame: &str, view: &SkyView) -> Value {
    json!({
        "timestamp": stamp,
        "frame_id": frame,
        "latitude": view.position.latitude_deg,
        "longitude": view.position.longitude_deg,
        "altitude": view.position.altitude_m,
        "position_covariance": vec![0.0; 9],
        "position_covariance_type": 0,
    })
}

/// A message of the kind [`WHEELS`](super::kinds::WHEELS).
pub fn wheels(at: SimTime, state: &WheelState) -> Value {
    json!({
        "time_ns": at.0,
        "travel_m": state.travel_m,
        "speed_m_s": state.speed_m_s,
        "setpoint_m_s": state.setpoint_m_s,
        "steering_rad": state.steering_rad,
    })
}

/// A message of the kind [`FAULT`](super::kinds::FAULT).
pub fn fault(at: SimTime, window: u64, note: &FaultNote<'_>) -> Value {
    let FaultNote { device, fault, kind, stream, packet, effect, amount } = note;
    json!({
        "time_ns": at.0,
        "device": device,
        "fault": fault,
        "kind": kind,
        "window": window,
        "stream": stream,
        "packet": packet,
        "effect": effect,
        "amount": amount,
    })
}

/// Attachment with the names of devices, labels, materials, meshes and objects, to which messages refer by number.
pub fn names(world: &LiveWorld, labels: &super::labels::Labels, devices: Vec<Value>) -> Value {
    let materials = |materials: &[crate::world::scene::Material], of: &[u16]| -> Vec<Value> {
        let named = materials.iter().zip(of);
        named.map(|(material, label)| json!({ "name": material.name, "label": label })).collect()
    };
    let meshes = world.scene.meshes.iter().zip(labels.of_meshes());
    let meshes = meshes.map(|(mesh, label)| json!({ "name": mesh.name, "label": label }));
    let first = world.scene.instances.len();
    let objects = world.objects.iter().enumerate().map(|(index, object)| {
        let (label, of_materials) = labels.of_object(index).cloned().unwrap_or_default();
        json!({
            "name": object.name,
            "instance": first + index,
            "label": label,
            "materials": materials(&object.body().materials, &of_materials),
        })
    });
    json!({
        "labels": labels.names(),
        "devices": devices,
        "materials": materials(&world.scene.materials, labels.of_materials()),
        "meshes": meshes.collect::<Vec<_>>(),
        "instances": first,
        "objects": objects.collect::<Vec<_>>(),
    })
}
