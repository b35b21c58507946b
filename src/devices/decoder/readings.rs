//! IMU measurements and positions in decoded frames.

use glam::{DQuat, DVec3};
use serde_json::{Map, Value};

use super::{Content, Fields};
use crate::frames::Geodetic;
use crate::sensors::gnss::settings::BestFix;

/// Measurement of an IMU in one frame; axes forward, left, up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Inertial {
    /// Time on the unit's clock, seconds; it restarts when the field in the message overflows.
    pub stamp_s: Option<f64>,
    /// Angular rate, rad/s.
    pub gyro_rad_s: Option<DVec3>,
    /// Specific force, m/s².
    pub accel_m_s2: Option<DVec3>,
    /// Magnetic field, gauss; `None` if the frame has none, or has it in arbitrary units.
    pub mag_gauss: Option<DVec3>,
    /// Rotation from the unit's axes to east, north, up, computed by the unit.
    pub attitude: Option<DQuat>,
}

/// A position in one message of a GNSS receiver.
#[derive(Clone, Debug, PartialEq)]
pub struct PositionFix {
    /// Name of the message.
    pub message: String,
    /// Time of the epoch, seconds of the GPS week or of the UTC day; use only differences between epochs.
    pub time_s: f64,
    /// Period after which `time_s` wraps, seconds.
    pub time_period_s: f64,
    /// Kind of fix; `None` if the message lacks it.
    pub grade: Option<BestFix>,
    /// Position of the antenna. The height is above the ellipsoid, or above mean sea level if the message has
    /// only that.
    pub position: Geodetic,
    /// Approximate resolution of the position in the message, metres.
    pub quantum_m: f64,
    /// Horizontal accuracy from the receiver, metres.
    pub horizontal_accuracy_m: Option<f64>,
    /// Vertical accuracy from the receiver, metres.
    pub vertical_accuracy_m: Option<f64>,
    /// Velocity, m/s: east, north, up.
    pub velocity_enu_m_s: Option<DVec3>,
    /// Horizontal dilution of precision.
    pub hdop: Option<f64>,
}

/// A decoded frame: fields and measurements.
pub(crate) struct Reading {
    /// Fields for display.
    pub fields: Fields,
    /// Measurement of an IMU.
    pub inertial: Option<Inertial>,
    /// Position of a GNSS receiver.
    pub fix: Option<PositionFix>,
}

impl Content for Reading {
    fn text(&self) -> String {
        self.fields.text()
    }

    fn fields(&self) -> Map<String, Value> {
        self.fields.fields()
    }

    fn inertial(&self) -> Option<Inertial> {
        self.inertial
    }

    fn fix(&self) -> Option<PositionFix> {
        self.fix.clone()
    }
}
