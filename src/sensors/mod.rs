//! Physics: truth in, measurement out.
//!
//! A device says what to measure with a [`MeasurementRequest`]; a [`Sensor`] answers with a
//! [`Measurement`]. Both are plain values, so that any thread may measure and the device still
//! gets its answers in order. What remembers the past (a bias that wanders, a filter) cannot be
//! measured out of order: it is a model of this layer that the device owns and steps.

pub mod beam;
pub mod fault;
pub mod gnss;
pub mod imu;
pub mod lidar;
mod lidar_faults;
pub mod multi_echo;
pub mod noise;
pub mod pattern;

use std::sync::Arc;

use self::beam::EchoSelection;
use self::fault::Touch;
use self::lidar::Scratch;
use crate::frames::{Body, GeoOrigin, Sensor as SensorFrame, Transform, World};
use crate::time::SimTime;
use crate::world::raycast::RayCaster;
use crate::world::trajectory::Trajectory;

/// A sensor's physics. Shared by all threads that measure for it.
pub trait Sensor: Send + Sync {
    /// Answers `request`. The answer depends on the arguments alone: requests are measured out of
    /// order and on any thread.
    fn measure(
        &self,
        request: MeasurementRequest,
        surroundings: &Surroundings<'_>,
        scratch: &mut Scratch,
    ) -> Measurement;
}

/// What a sensor finds itself in.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// What pulses and lines of sight hit.
    pub caster: &'a dyn RayCaster,
    /// The robot's motion.
    pub trajectory: &'a Trajectory,
    /// Where World stands on Earth.
    pub origin: &'a GeoOrigin,
    /// Where the sensor sits on the robot.
    pub body_from_sensor: Transform<Body, SensorFrame>,
}

impl Surroundings<'_> {
    /// Where the sensor is at `at`.
    pub fn world_from_sensor(&self, at: SimTime) -> Transform<World, SensorFrame> {
        self.trajectory.pose(at) * self.body_from_sensor
    }
}

/// One pulse of a [`Sweep`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FiringSlot {
    /// After the request's start, nanoseconds.
    pub offset_ns: u32,
    /// Index into the lidar's lasers.
    pub laser: u16,
}

/// What a sensor shall measure next.
#[derive(Clone, Debug)]
pub struct MeasurementRequest {
    /// Counts the device's requests from zero.
    pub index: u64,
    /// The instant, or a lidar's first firing.
    pub start: SimTime,
    /// What to measure.
    pub subject: Subject,
}

impl MeasurementRequest {
    /// The last instant it asks about.
    pub fn end(&self) -> SimTime {
        match &self.subject {
            Subject::Instant => self.start,
            Subject::Sweep(sweep) => SimTime(self.start.0 + u64::from(sweep.span_ns())),
            Subject::Series { count, period_ns } => {
                SimTime(self.start.0 + u64::from(count.saturating_sub(1)) * period_ns)
            }
        }
    }
}

/// What to measure.
#[derive(Clone, Debug)]
pub enum Subject {
    /// Whatever the sensor measures, at the request's start.
    Instant,
    /// A lidar's pulses.
    Sweep(Sweep),
    /// The same at instants that follow one another.
    Series {
        /// How many.
        count: u32,
        /// From one to the next, nanoseconds.
        period_ns: u64,
    },
}

/// Some pulses of a spinning lidar: those of one packet, or of one scan.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// Counts what the device sends; random draws are made from it. Asked for twice with the same
    /// number, the same errors come back.
    pub number: u64,
    /// How the rotor turns from the request's start on.
    pub rotor: RotorMotion,
    /// Which echoes the receiver reports; of no meaning to one that tells all of them.
    pub selection: EchoSelection,
    /// The pulses, in the order the device wants them back.
    pub firings: Arc<[FiringSlot]>,
}

/// How a rotor turns, in pieces of even acceleration.
#[derive(Clone, Debug)]
pub struct RotorMotion {
    first: RotorPiece,
    /// Those after it, by their beginning; hardly ever there.
    others: Vec<RotorPiece>,
}

/// A stretch of even angular acceleration. Angles are clockwise seen from above, 0 is forward.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RotorPiece {
    /// Its beginning after the request's start, nanoseconds; the first piece's is 0.
    pub from_ns: u64,
    /// Angle at its beginning, radians.
    pub azimuth_rad: f64,
    /// Speed at its beginning, rad/s.
    pub rate_rad_s: f64,
    /// Acceleration, rad/s^2.
    pub acceleration_rad_s2: f64,
}

impl RotorMotion {
    /// A rotor that turns evenly.
    pub fn even(azimuth_rad: f64, rate_rad_s: f64) -> Self {
        Self::starting_with(RotorPiece { azimuth_rad, rate_rad_s, ..RotorPiece::default() })
    }

    /// A rotor whose motion begins with `first`.
    pub fn starting_with(first: RotorPiece) -> Self {
        Self { first, others: Vec::new() }
    }

    /// The same, but with `piece` from its beginning on. Pieces come in the order of time.
    pub fn push(&mut self, piece: RotorPiece) {
        self.others.push(piece);
    }

    /// Rotor angle `offset_ns` after the start, radians.
    pub fn azimuth_at(&self, offset_ns: u64) -> f64 {
        let later = self.others.iter().rev().find(|piece| piece.from_ns <= offset_ns);
        let piece = later.unwrap_or(&self.first);
        let after_s = offset_ns.saturating_sub(piece.from_ns) as f64 * 1e-9;
        let gained_rad = 0.5 * piece.acceleration_rad_s2 * after_s * after_s;
        piece.azimuth_rad + piece.rate_rad_s * after_s + gained_rad
    }
}

impl Sweep {
    /// From the first firing to the last, nanoseconds.
    pub fn span_ns(&self) -> u32 {
        self.firings.iter().map(|firing| firing.offset_ns).max().unwrap_or(0)
    }

    /// Rotor angle `offset_ns` after the start, radians.
    pub fn azimuth_at(&self, offset_ns: u64) -> f64 {
        self.rotor.azimuth_at(offset_ns)
    }
}

/// One echo as the receiver reports it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
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

/// Echoes of a pulse that a receiver tells apart at most.
pub const MAX_ECHOES: usize = 5;

/// The echoes of one pulse, the nearest first.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Echoes {
    seen: [Return; MAX_ECHOES],
    count: u8,
}

impl Echoes {
    /// The echoes.
    pub fn as_slice(&self) -> &[Return] {
        &self.seen[..usize::from(self.count)]
    }

    /// Adds an echo that is farther than the others. The fifth gives way to it when there is no
    /// more room, so that the last one is always there.
    pub fn push(&mut self, echo: Return) {
        let place = usize::from(self.count).min(MAX_ECHOES - 1);
        self.seen[place] = echo;
        self.count = place as u8 + 1;
    }
}

/// The answer to a [`MeasurementRequest`].
#[derive(Clone, Debug)]
pub struct Measurement {
    /// What was asked.
    pub request: MeasurementRequest,
    /// The answer.
    pub outcome: Outcome,
    /// What faults did to it.
    pub touches: Vec<Touch>,
}

impl Measurement {
    /// An answer that no fault has touched.
    pub fn new(request: MeasurementRequest, outcome: Outcome) -> Self {
        Self { request, outcome, touches: Vec::new() }
    }
}

/// What was measured; which kind, the sensor says.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// One entry a firing of a [`Sweep`], in its order.
    Returns(Vec<PulseReturns>),
    /// One entry an instant of a series, in its order.
    Inertial(Vec<imu::InertialTruth>),
    /// Where an antenna is and what it sees of the sky.
    Sky(Box<gnss::SkyView>),
    /// As [`Outcome::Returns`], by a receiver that tells echoes apart.
    Echoes(Vec<Echoes>),
}
