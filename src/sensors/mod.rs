//! Physics: truth in, measurement out.
//!
//! A device says what to measure with a [`MeasurementRequest`]; a sensor answers with a
//! [`Measurement`]. Both are plain values, so that any thread may measure and the device still
//! gets its answers in order.

pub mod beam;
pub mod lidar;
pub mod noise;
pub mod pattern;

use std::sync::Arc;

use crate::time::SimTime;

/// One pulse of a [`MeasurementRequest`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FiringSlot {
    /// After the request's start, nanoseconds.
    pub offset_ns: u32,
    /// Index into the lidar's lasers.
    pub laser: u16,
}

/// What a lidar shall measure next: the pulses of one packet.
#[derive(Clone, Debug)]
pub struct MeasurementRequest {
    /// Counts the device's requests from zero; random draws are made from it.
    pub index: u64,
    /// The first firing.
    pub start: SimTime,
    /// Rotor angle at the start, radians, clockwise seen from above, 0 is forward.
    pub rotor_azimuth_rad: f64,
    /// Rotor speed, rad/s, clockwise.
    pub rotor_rate_rad_s: f64,
    /// The pulses, in the order the device wants them back.
    pub firings: Arc<[FiringSlot]>,
}

/// One echo as the receiver reports it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Return {
    /// Along the beam from the laser's exit, metres.
    pub range_m: f32,
    /// Share of full scale: diffuse reflectance times cosine of incidence over the whole spot, 0..=1.
    pub intensity: f32,
}

/// What a receiver made of one pulse. With a single return mode `second` stays empty; with dual,
/// `first` is the strongest and `second` the last.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PulseReturns {
    /// The chosen echo, or the strongest.
    pub first: Option<Return>,
    /// The last, with dual return.
    pub second: Option<Return>,
}

/// The answer to a [`MeasurementRequest`].
#[derive(Clone, Debug)]
pub struct Measurement {
    /// What was asked.
    pub request: MeasurementRequest,
    /// One entry a firing, in the request's order.
    pub returns: Vec<PulseReturns>,
}
