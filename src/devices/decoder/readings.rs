//! What sensors have measured, as their frames say it: for whoever works with a recording's numbers
//! rather than with its bytes.

use glam::{DQuat, DVec3};
use serde_json::{Map, Value};

use super::{Content, Fields};
use crate::frames::Geodetic;
use crate::sensors::gnss::settings::BestFix;

/// Measurement of an IMU in one frame; axes forward, left, up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Inertial {
    /// On the unit's clock, seconds; starts again when the field on the wire is full.
    pub stamp_s: Option<f64>,
    /// Angular rate, rad/s.
    pub gyro_rad_s: Option<DVec3>,
    /// Specific force, m/s².
    pub accel_m_s2: Option<DVec3>,
    /// Magnetic field; `None` of units that tell it in a unit of their own.
    pub mag_gauss: Option<DVec3>,
    /// Takes the unit's axes to east, north, up, as the unit computes it.
    pub attitude: Option<DQuat>,
}

/// A position in one message of a GNSS receiver.
#[derive(Clone, Debug, PartialEq)]
pub struct PositionFix {
    /// The message's name.
    pub message: String,
    /// Time of the epoch, seconds of the GPS week or of the UTC day; only differences count.
    pub time_s: f64,
    /// Period after which `time_s` wraps, seconds.
    pub time_period_s: f64,
    /// Kind of fix; `None` where the message does not say.
    pub grade: Option<BestFix>,
    /// Of the antenna. The height is above the ellipsoid; above mean sea level where the message tells
    /// nothing else.
    pub position: Geodetic,
    /// The smallest step of the position on the wire, metres, about.
    pub quantum_m: f64,
    /// Horizontal accuracy as the receiver states it, metres.
    pub horizontal_accuracy_m: Option<f64>,
    /// Vertical accuracy as the receiver states it, metres.
    pub vertical_accuracy_m: Option<f64>,
    /// East, north, up.
    pub velocity_enu_m_s: Option<DVec3>,
    /// Horizontal dilution of precision.
    pub hdop: Option<f64>,
}

/// A frame that is known by its fields, and what was measured.
pub(crate) struct Reading {
    /// Fields as they are shown.
    pub fields: Fields,
    /// Reading of an IMU.
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
