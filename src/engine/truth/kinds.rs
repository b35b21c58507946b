//! Kinds of messages in JSON: their names and schemas.
//!
//! The schemas consist of objects, lists, numbers, text and booleans, and state the type of every list's items.
//! Foxglove's reader accepts no other schemas; the check `interop-foxglove` (docs/TESTING.md) tests this.

use serde_json::{Map, Value, json};

use self::Shape::{Bytes, Integer, List, Number, Numbers, Object, Text};

/// Type of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A string.
    Text,
    /// Bytes, written as base64.
    Bytes,
    /// A number.
    Number,
    /// A whole number.
    Integer,
    /// A list of numbers.
    Numbers,
    /// An object with these fields.
    Object(Fields),
    /// A list of objects with these fields.
    List(Fields),
}

/// Names of fields with their types.
pub type Fields = &'static [(&'static str, Shape)];

/// A kind of message.
pub struct Kind {
    /// Name of the schema: Foxglove's, or `menura.…`.
    pub name: &'static str,
    /// Fields of messages of this kind.
    pub fields: Fields,
}

impl Shape {
    fn schema(self) -> Value {
        match self {
            Text => json!({ "type": "string" }),
            Bytes => json!({ "type": "string", "contentEncoding": "base64" }),
            Number => json!({ "type": "number" }),
            Integer => json!({ "type": "integer" }),
            Numbers => json!({ "type": "array", "items": { "type": "number" } }),
            Object(fields) => object(fields),
            List(fields) => json!({ "type": "array", "items": object(fields) }),
        }
    }
}

fn object(fields: Fields) -> Value {
    let fields = fields.iter().map(|(name, shape)| ((*name).to_owned(), shape.schema()));
    json!({ "type": "object", "properties": fields.collect::<Map<_, _>>() })
}

impl Kind {
    /// JSON schema of messages of this kind.
    pub fn schema(&self) -> Value {
        let mut schema = object(self.fields);
        schema["title"] = json!(self.name);
        schema
    }
}

const TIME: Shape = Object(&[("sec", Integer), ("nsec", Integer)]);
const VECTOR: Shape = Object(&[("x", Number), ("y", Number), ("z", Number)]);
const ROTATION: Shape = Object(&[("x", Number), ("y", Number), ("z", Number), ("w", Number)]);
const POSE_FIELDS: Fields = &[("position", VECTOR), ("orientation", ROTATION)];
const PLACE: Shape = Object(POSE_FIELDS);
const TRANSFORM: Fields = &[
    ("timestamp", TIME),
    ("parent_frame_id", Text),
    ("child_frame_id", Text),
    ("translation", VECTOR),
    ("rotation", ROTATION),
];
const SATELLITE: Fields =
    &[("elevation_rad", Number), ("azimuth_rad", Number), ("open_share", Number)];

/// Poses of frames in their parent frames, for Foxglove.
pub const TRANSFORMS: Kind =
    Kind { name: "foxglove.FrameTransforms", fields: &[("transforms", List(TRANSFORM))] };
/// Pose of one object in a named frame, for Foxglove.
pub const POSE: Kind = Kind {
    name: "foxglove.PoseInFrame",
    fields: &[("timestamp", TIME), ("frame_id", Text), ("pose", PLACE)],
};
/// Position on Earth, degrees and metres, for Foxglove's map.
pub const FIX: Kind = Kind {
    name: "foxglove.LocationFix",
    fields: &[
        ("timestamp", TIME),
        ("frame_id", Text),
        ("latitude", Number),
        ("longitude", Number),
        ("altitude", Number),
        ("position_covariance", Numbers),
        ("position_covariance_type", Integer),
    ],
};
/// Intrinsic parameters of a camera, for Foxglove.
pub const CALIBRATION: Kind = Kind {
    name: "foxglove.CameraCalibration",
    fields: &[
        ("timestamp", TIME),
        ("frame_id", Text),
        ("width", Integer),
        ("height", Integer),
        ("distortion_model", Text),
        ("D", Numbers),
        ("K", Numbers),
        ("R", Numbers),
        ("P", Numbers),
    ],
};
/// Motion of the robot or of an object in World, with its position on Earth.
pub const MOTION: Kind = Kind {
    name: "menura.Motion",
    fields: &[
        ("time_ns", Integer),
        ("position_m", Numbers),
        ("orientation_xyzw", Numbers),
        ("velocity_m_s", Numbers),
        ("acceleration_m_s2", Numbers),
        ("angular_rate_rad_s", Numbers),
        ("latitude_deg", Number),
        ("longitude_deg", Number),
        ("altitude_m", Number),
    ],
};
/// Position, rate and acceleration of a joint: in radians and seconds if it rotates, in metres and seconds if it
/// slides.
pub const JOINT: Kind = Kind {
    name: "menura.Joint",
    fields: &[
        ("time_ns", Integer),
        ("position", Number),
        ("rate", Number),
        ("acceleration", Number),
    ],
};
/// Error-free measurement of an IMU.
pub const INERTIAL: Kind = Kind {
    name: "menura.Inertial",
    fields: &[
        ("time_ns", Integer),
        ("specific_force_m_s2", Numbers),
        ("angular_rate_rad_s", Numbers),
        ("magnetic_field_gauss", Numbers),
        ("orientation_xyzw", Numbers),
        ("position_m", Numbers),
        ("velocity_m_s", Numbers),
        ("acceleration_m_s2", Numbers),
        ("latitude_deg", Number),
        ("longitude_deg", Number),
        ("altitude_m", Number),
    ],
};
/// Antenna of a GNSS receiver, and its view of the sky.
pub const SKY: Kind = Kind {
    name: "menura.Sky",
    fields: &[
        ("time_ns", Integer),
        ("latitude_deg", Number),
        ("longitude_deg", Number),
        ("altitude_m", Number),
        ("velocity_enu_m_s", Numbers),
        ("satellites", List(SATELLITE)),
    ],
};
/// State of a robot's wheels.
pub const WHEELS: Kind = Kind {
    name: "menura.Wheels",
    fields: &[
        ("time_ns", Integer),
        ("travel_m", Numbers),
        ("speed_m_s", Numbers),
        ("setpoint_m_s", Numbers),
        ("steering_rad", Number),
    ],
};
/// State of a device's PTP clock.
pub const CLOCK: Kind = Kind {
    name: "menura.Clock",
    fields: &[
        ("time_ns", Integer),
        ("stamps", Text),
        ("state", Text),
        ("error_ns", Integer),
        ("scale", Text),
        ("grandmaster", Text),
        ("offset_from_master_ns", Integer),
        ("path_delay_ns", Integer),
    ],
};
/// Frame of a camera.
pub const FRAME: Kind = Kind {
    name: "menura.Frame",
    fields: &[
        ("time_ns", Integer),
        ("frame", Integer),
        ("block", Integer),
        ("stamp", Integer),
        ("exposure_start_ns", Integer),
        ("exposure_ns", Integer),
        ("line_ns", Integer),
        ("gain_db", Number),
        ("region", Numbers),
        ("binning", Numbers),
        ("position_m", Numbers),
        ("orientation_xyzw", Numbers),
    ],
};
/// Uncompressed image of a camera, for Foxglove.
pub const RAW_IMAGE: Kind = Kind {
    name: "foxglove.RawImage",
    fields: &[
        ("timestamp", TIME),
        ("frame_id", Text),
        ("width", Integer),
        ("height", Integer),
        ("encoding", Text),
        ("step", Integer),
        ("data", Bytes),
    ],
};
/// Effect of a fault.
pub const FAULT: Kind = Kind {
    name: "menura.Fault",
    fields: &[
        ("time_ns", Integer),
        ("device", Text),
        ("fault", Text),
        ("kind", Text),
        ("window", Integer),
        ("stream", Text),
        ("packet", Integer),
        ("effect", Text),
        ("amount", Integer),
    ],
};
/// Host command, as a line of a host log.
pub const SAID: Kind = Kind { name: "menura.Said", fields: &[("t_ns", Integer)] };
/// Several poses in a named frame, for Foxglove.
pub const POSES: Kind = Kind {
    name: "foxglove.PosesInFrame",
    fields: &[("timestamp", TIME), ("frame_id", Text), ("poses", List(POSE_FIELDS))],
};
/// Message of a log, for Foxglove.
pub const LOG: Kind = Kind {
    name: "foxglove.Log",
    fields: &[
        ("timestamp", TIME),
        ("level", Integer),
        ("message", Text),
        ("name", Text),
        ("file", Text),
        ("line", Integer),
    ],
};
/// Measurement that an IMU has sent.
pub const IMU: Kind = Kind {
    name: "menura.Imu",
    fields: &[
        ("timestamp", TIME),
        ("frame_id", Text),
        ("angular_velocity", VECTOR),
        ("linear_acceleration", VECTOR),
        ("magnetic_field_gauss", VECTOR),
        ("orientation", ROTATION),
        ("roll_deg", Number),
        ("pitch_deg", Number),
        ("yaw_deg", Number),
    ],
};
/// Load and lateness of a device.
pub const DEVICE_STATUS: Kind = Kind {
    name: "menura.DeviceStatus",
    fields: &[
        ("timestamp", TIME),
        ("name", Text),
        ("profile", Text),
        ("link", Text),
        ("packets", Integer),
        ("points", Integer),
        ("rate_hz", Number),
        ("nominal_rate_hz", Number),
        ("sent_late", Integer),
        ("dropped", Integer),
        ("send_errors", Integer),
        ("faulted", Integer),
        ("behind_s", Number),
        (
            "lateness_us",
            Object(&[("p50", Number), ("p99", Number), ("p99_9", Number), ("max", Number)]),
        ),
        ("real_time_factor", Number),
    ],
};
