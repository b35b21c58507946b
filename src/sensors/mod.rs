//! Physics: converts ground truth to measurements.
//!
//! A device sends a [`MeasurementRequest`]; a [`Sensor`] answers with a [`Measurement`]. Both are plain values, so
//! that any thread may measure while the device gets its answers in order. Models with state (a drifting bias, a
//! filter) must be computed in order; the device owns and steps them.

pub mod beam;
pub mod camera;
pub mod fault;
pub mod gnss;
pub mod imu;
pub mod joint;
mod lanes;
pub mod lidar;
mod lidar_faults;
pub mod lidar_with_imu;
pub mod multi_echo;
pub mod noise;
pub mod odometry;
pub mod optics_fault;
pub mod pattern;
pub mod receiver;
mod sincos;
pub mod surfaces;
pub mod truth;
pub mod weather;

use std::sync::Arc;

use glam::DVec3;

use self::fault::FaultEffect;
use self::lidar::Scratch;
use self::receiver::{EchoSelection, ReceiverSetting};
use self::truth::SweepTruth;
use self::weather::Weather;
use crate::frames::{Body, GeoOrigin, Sensor as SensorFrame, Transform, World};
use crate::time::SimTime;
use crate::world::joints::{Carrier, JointState, PointMotion};
use crate::world::raycast::RayCaster;
use crate::world::trajectory::Trajectory;
use crate::world::vehicle::WheelState;

/// Physics of one sensor, shared by all threads.
pub trait Sensor: Send + Sync {
    /// Answers `requests` of one device, in their order. Each answer depends only on its request and the surroundings,
    /// because requests are measured out of order and on any thread. A lidar casts the pulses of all sweeps in one call,
    /// which a GPU needs.
    fn measure_all(
        &self,
        requests: Vec<MeasurementRequest>,
        surroundings: &Surroundings<'_>,
        scratch: &mut Scratch,
    ) -> Vec<Measurement>;

    /// Answers one request.
    fn measure(
        &self,
        request: MeasurementRequest,
        surroundings: &Surroundings<'_>,
        scratch: &mut Scratch,
    ) -> Measurement {
        let mut all = self.measure_all(vec![request], surroundings, scratch);
        all.pop().expect("one measurement for each request")
    }

    /// Expected reception of satellites at `at`; `None` for sensors that are not GNSS receivers.
    fn sky_outlook(
        &self,
        _at: SimTime,
        _surroundings: &Surroundings<'_>,
        _scratch: &mut Scratch,
    ) -> Option<SkyOutlook> {
        None
    }
}

/// Reception of a GNSS receiver that has been on for a long time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SkyOutlook {
    /// Whether the received satellites are sufficient for a fix.
    pub has_fix: bool,
    /// Number of satellites that are received and used.
    pub received: usize,
    /// Number of satellites above the elevation mask, hidden or not.
    pub above_mask: usize,
}

/// The environment of a sensor: the world, the sensor's mount and its motion.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// Casts pulses and lines of sight.
    pub caster: &'a dyn RayCaster,
    /// Motion of the robot's body.
    pub trajectory: &'a Trajectory,
    /// Position of the World frame on Earth.
    pub origin: &'a GeoOrigin,
    /// Joint that carries the sensor; `None` for a sensor on the robot's body.
    pub carrier: Option<Carrier<'a>>,
    /// Mount of the sensor on the robot's body, or on the moving part of a joint.
    pub body_from_sensor: Transform<Body, SensorFrame>,
    /// Weather; `None` if the air is clear.
    pub weather: Option<&'a Weather>,
}

impl Surroundings<'_> {
    /// The sensor's pose at `at`.
    pub fn world_from_sensor(&self, at: SimTime) -> Transform<World, SensorFrame> {
        self.trajectory.pose(at) * self.mount_at(at)
    }

    /// Pose of the sensor on the robot's body at `at`. The pose is constant unless a joint carries the sensor.
    pub fn mount_at(&self, at: SimTime) -> Transform<Body, SensorFrame> {
        match &self.carrier {
            Some(carrier) => carrier.pose(at) * self.body_from_sensor,
            None => self.body_from_sensor,
        }
    }

    /// Pose and motion of the sensor relative to the robot's body; `None` if the sensor is not on a joint.
    pub fn mount_motion(&self, at: SimTime) -> Option<PointMotion<SensorFrame>> {
        self.carrier.map(|carrier| carrier.motion(at).of_point(self.body_from_sensor))
    }
}

/// One pulse of a [`Sweep`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FiringSlot {
    /// Time after the request's start, ns.
    pub offset_ns: u32,
    /// Index into the lidar's [`pattern::LaserGeometry`] list.
    pub laser: u16,
}

/// A request of a device to its sensor.
#[derive(Clone, Debug)]
pub struct MeasurementRequest {
    /// Number of the request among the device's requests, from 0.
    pub index: u64,
    /// Time of the first sample of a series or of the first firing of a sweep; for a tile, the time at which the
    /// exposure of its frame's first row starts.
    pub start: SimTime,
    /// Kind of the requested measurement.
    pub subject: Subject,
}

impl MeasurementRequest {
    /// Time of the last sample or firing; for a tile, the end of its last row's exposure.
    pub fn end(&self) -> SimTime {
        match &self.subject {
            Subject::Instant => self.start,
            Subject::Sweep(sweep) => SimTime(self.start.0 + u64::from(sweep.span_ns())),
            Subject::Tile(tile) => tile.end(self.start),
            Subject::Series { count, period_ns } => {
                SimTime(self.start.0 + u64::from(count.saturating_sub(1)) * period_ns)
            }
        }
    }

    /// Times of the samples; none for a sweep or tile.
    pub fn instants(&self) -> impl Iterator<Item = SimTime> + use<> {
        let (count, period_ns) = self.subject.samples();
        let start_ns = self.start.0;
        (0..u64::from(count)).map(move |sample| SimTime(start_ns + sample * period_ns))
    }

    /// Time by which the measurement is needed. Sweeps and tiles are sent as a whole after their end; the samples of a
    /// series are sent one by one from the first on.
    pub fn needed_at(&self) -> SimTime {
        match &self.subject {
            Subject::Sweep(_) | Subject::Tile(_) => self.end(),
            Subject::Instant | Subject::Series { .. } => self.start,
        }
    }
}

impl Subject {
    /// Number of requested samples (one for an instant, none for a sweep or tile), and their interval in nanoseconds.
    pub fn samples(&self) -> (u32, u64) {
        match *self {
            Self::Series { count, period_ns } => (count, period_ns),
            Self::Instant => (1, 0),
            Self::Sweep(_) | Self::Tile(_) => (0, 0),
        }
    }

    /// Whether the request casts hundreds of rays. The few lines of sight to satellites do not count.
    pub fn casts_rays(&self) -> bool {
        match self {
            Self::Sweep(_) | Self::Tile(_) => true,
            Self::Instant | Self::Series { .. } => false,
        }
    }
}

/// Kind of a measurement.
#[derive(Clone, Debug)]
pub enum Subject {
    /// All measured quantities, once, at the request's start.
    Instant,
    /// The pulses of a lidar's packet or scan.
    Sweep(Sweep),
    /// Rows of a camera's frame.
    Tile(camera::Tile),
    /// All measured quantities, at regular intervals.
    Series {
        /// Number of samples.
        count: u32,
        /// Interval between samples, nanoseconds.
        period_ns: u64,
    },
}

/// The pulses of one packet or one scan of a lidar.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// Number of the device's packet or scan. Random numbers depend on this number: a second request with the same
    /// number gets the same errors.
    pub number: u64,
    /// Angle of the rotor over time from the request's start.
    pub rotor: RotorMotion,
    /// Selection of the echoes that the detector reports; detectors that report all echoes ignore it.
    pub selection: EchoSelection,
    /// Detection threshold and blanking distance of the detector.
    pub receiver: ReceiverSetting,
    /// Pulses in the order in which the device needs the returns.
    pub firings: Arc<[FiringSlot]>,
}

/// Angle of a rotor over time, in pieces of constant acceleration.
#[derive(Clone, Debug)]
pub struct RotorMotion {
    first: RotorPiece,
    /// Further pieces in the order of time; usually none.
    others: Vec<RotorPiece>,
    /// Direction of each firing, for lidars that steer their beams without a rotor.
    aims: Option<Arc<[DVec3]>>,
}

/// An interval of constant angular acceleration. Angles are clockwise as seen from above; 0 is forward.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RotorPiece {
    /// Start of the piece after the request's start, ns; 0 for the first piece.
    pub from_ns: u64,
    /// Angle at the start of the piece, radians.
    pub azimuth_rad: f64,
    /// Angular rate at the start of the piece, rad/s.
    pub rate_rad_s: f64,
    /// Constant angular acceleration of the piece, rad/s².
    pub acceleration_rad_s2: f64,
}

impl RotorMotion {
    /// A rotor with constant speed.
    pub fn even(azimuth_rad: f64, rate_rad_s: f64) -> Self {
        Self::starting_with(RotorPiece { azimuth_rad, rate_rad_s, ..RotorPiece::default() })
    }

    /// A rotor whose motion begins with `first`.
    pub fn starting_with(first: RotorPiece) -> Self {
        Self { first, others: Vec::new(), aims: None }
    }

    /// No rotor: each firing of a sweep has its own direction, a unit vector (forward, left, up). The angles of the
    /// firing laser are added to this direction.
    pub fn steered(aims: Arc<[DVec3]>) -> Self {
        Self { aims: Some(aims), ..Self::even(0.0, 0.0) }
    }

    /// Direction of each firing; `None` for lidars with a rotor.
    pub fn aims(&self) -> Option<&Arc<[DVec3]>> {
        self.aims.as_ref()
    }

    /// Adds `piece`, which determines the motion from the start of `piece` on. Pieces must be added in order of time.
    pub fn push(&mut self, piece: RotorPiece) {
        self.others.push(piece);
    }

    /// All pieces in order of time.
    pub fn pieces(&self) -> impl Iterator<Item = &RotorPiece> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// Rotor angle `offset_ns` after the start, radians.
    #[inline]
    pub fn azimuth_at(&self, offset_ns: u64) -> f64 {
        let later = self.others.iter().rev().find(|piece| piece.from_ns <= offset_ns);
        let piece = later.unwrap_or(&self.first);
        let after_s = offset_ns.saturating_sub(piece.from_ns) as f64 * 1e-9;
        let gained_rad = 0.5 * piece.acceleration_rad_s2 * after_s * after_s;
        piece.azimuth_rad + piece.rate_rad_s * after_s + gained_rad
    }
}

impl Sweep {
    /// Time from the request's start to the last firing, ns.
    pub fn span_ns(&self) -> u32 {
        self.firings.iter().map(|firing| firing.offset_ns).max().unwrap_or(0)
    }

    /// Rotor angle `offset_ns` after the start, radians.
    #[inline]
    pub fn azimuth_at(&self, offset_ns: u64) -> f64 {
        self.rotor.azimuth_at(offset_ns)
    }

    /// Azimuth (clockwise from forward) and elevation of a firing, radians, before the laser's own angles are added.
    pub fn aim(&self, firing: usize) -> (f64, f64) {
        let steered = self.rotor.aims.as_ref().and_then(|aims| aims.get(firing));
        match (steered, self.firings.get(firing)) {
            (Some(aim), _) => (libm::atan2(-aim.y, aim.x), libm::asin(aim.z.clamp(-1.0, 1.0))),
            (None, Some(slot)) => (self.azimuth_at(slot.offset_ns.into()), 0.0),
            (None, None) => (0.0, 0.0),
        }
    }
}

/// One echo as the detector reports it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Return {
    /// Distance along the beam from the laser's exit point, metres.
    pub range_m: f32,
    /// Reflectance of a diffuse surface that would give the same return if the whole pulse hit it at normal incidence:
    /// 1 is white, retroreflectors exceed 1.
    pub intensity: f32,
    /// Strength of the echo at the detector, in units of the echo of a white surface at 1 m.
    pub signal: f32,
}

/// The returns of one pulse. With single return, `second` is `None`. With dual return, [`EchoSelection`] defines
/// both.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PulseReturns {
    /// First return, as defined by the [`EchoSelection`].
    pub first: Option<Return>,
    /// Second return, in dual return mode.
    pub second: Option<Return>,
}

/// Largest number of echoes of a pulse that a detector distinguishes.
pub const MAX_ECHOES: usize = 5;

/// The echoes of one pulse, nearest first.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Echoes {
    seen: [Return; MAX_ECHOES],
    count: u8,
}

impl Echoes {
    /// The detected echoes, nearest first.
    #[inline]
    pub fn as_slice(&self) -> &[Return] {
        &self.seen[..usize::from(self.count)]
    }

    /// Adds an echo that is farther than the others. If there are [`MAX_ECHOES`] already, it replaces the last one, so
    /// that the farthest echo is always reported.
    #[inline]
    pub fn push(&mut self, echo: Return) {
        let place = usize::from(self.count).min(MAX_ECHOES - 1);
        self.seen[place] = echo;
        self.count = place as u8 + 1;
    }
}

/// The answer to a [`MeasurementRequest`].
#[derive(Clone, Debug)]
pub struct Measurement {
    /// The answered request.
    pub request: MeasurementRequest,
    /// The measured values; their kind depends on the sensor.
    pub outcome: Outcome,
    /// Effects of faults on the measurement.
    pub fault_effects: Vec<FaultEffect>,
    /// Ground truth of a sweep's returns, if recorded.
    pub truth: Option<Arc<SweepTruth>>,
    /// Ground truth of a tile's pixels, if recorded.
    pub picture: Option<Arc<camera::truth::TileTruth>>,
    /// Watched objects with a return, one bit each, as in [`lidar::Watch::objects`].
    pub seen: u64,
}

impl Measurement {
    /// A measurement without fault effects.
    pub fn new(request: MeasurementRequest, outcome: Outcome) -> Self {
        Self { request, outcome, fault_effects: Vec::new(), truth: None, picture: None, seen: 0 }
    }
}

/// Measured values.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// One entry for each firing of a [`Sweep`], in the order of the firings.
    Returns(Vec<PulseReturns>),
    /// One entry for each sample of a series.
    Inertial(Vec<imu::InertialTruth>),
    /// Position of a GNSS antenna and its view of the sky, at one instant.
    Sky(Box<gnss::SkyView>),
    /// Like [`Outcome::Returns`], for a detector that distinguishes echoes.
    Echoes(Vec<Echoes>),
    /// Wheel state for each sample of a series.
    Wheels(Vec<WheelState>),
    /// One entry for each sample of a series: state of the joint that carries the sensor.
    Joint(Vec<JointState>),
    /// Counts of the pixels of a [`camera::Tile`], row by row.
    Pixels(Vec<u16>),
}
