//! Three-dimensional scans: the points of the rotating scanner while the robot drives, levelled and combined.

use std::collections::VecDeque;

use glam::{DQuat, DVec2, DVec3};

use crate::frames::quat_from_rpy;

/// Height of the scanner's optical centre above the ground, metres.
const SCANNER_HEIGHT_M: f64 = 0.73;
/// Largest distance of used points, metres.
const REACH_M: f64 = 12.0;
/// Angular step of the scanner, radians.
const STEP_RAD: f64 = std::f64::consts::TAU / 1440.0;
/// Number of the step that points up.
const MIDDLE_STEP: f64 = 540.0;
/// Time between two steps, milliseconds.
const STEP_MS: f64 = 25.0 / 1440.0;
/// Smallest valid distance, millimetres; lower values are error codes.
const LEAST_MM: u32 = 23;
/// Time for which values are kept, milliseconds.
const KEPT_MS: f64 = 2000.0;

/// A value at known times, interpolated between them.
#[derive(Clone, Debug)]
pub struct Track<T> {
    samples: VecDeque<(f64, T)>,
}

impl<T> Default for Track<T> {
    fn default() -> Self {
        Self { samples: VecDeque::new() }
    }
}

impl<T: Copy> Track<T> {
    /// Adds the value at `t_ms`, milliseconds; the times must increase.
    pub fn push(&mut self, t_ms: f64, value: T) {
        while self.samples.front().is_some_and(|(first, _)| *first < t_ms - KEPT_MS) {
            self.samples.pop_front();
        }
        self.samples.push_back((t_ms, value));
    }

    /// Time of the latest value, milliseconds; `f64::MIN` without values.
    pub fn until_ms(&self) -> f64 {
        self.samples.back().map_or(f64::MIN, |(t_ms, _)| *t_ms)
    }

    /// The value at `t_ms`, milliseconds; `None` outside the known times. `mix` interpolates between the values before
    /// and after it.
    pub fn at(&self, t_ms: f64, mix: impl Fn(T, T, f64) -> T) -> Option<T> {
        let after = self.samples.partition_point(|(known, _)| *known <= t_ms);
        let (from_ms, from) = *self.samples.get(after.checked_sub(1)?)?;
        let (to_ms, to) = *self.samples.get(after)?;
        Some(mix(from, to, (t_ms - from_ms) / (to_ms - from_ms)))
    }
}

/// Pose of the robot as the robot's computer estimates it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stance {
    /// Position relative to where the robot was switched on: x east, y north, metres.
    pub position_m: DVec2,
    /// Roll and pitch, radians.
    pub tilt_rad: [f64; 2],
    /// Heading counterclockwise from east, radians.
    pub heading_rad: f64,
}

impl Stance {
    /// Interpolates between two stances.
    pub fn mix(from: Self, to: Self, share: f64) -> Self {
        let number = |a: f64, b: f64| a + share * (b - a);
        let turn = super::navigation::wrapped(to.heading_rad - from.heading_rad);
        Self {
            position_m: from.position_m.lerp(to.position_m, share),
            tilt_rad: [0, 1].map(|axis| number(from.tilt_rad[axis], to.tilt_rad[axis])),
            heading_rad: from.heading_rad + share * turn,
        }
    }

    fn rotation(&self) -> DQuat {
        quat_from_rpy(self.tilt_rad[0], self.tilt_rad[1], self.heading_rad)
    }
}

/// A scan in the plane that rotates with the head.
#[derive(Clone, Debug)]
pub struct PlaneScan {
    /// Time of the scan's first step on the scanner's clock, milliseconds.
    pub time_ms: f64,
    /// Distances by step, millimetres.
    pub distances_mm: Vec<u32>,
}

/// Estimates the offset between a device's clock and the computer's.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// Computer's clock minus the device's, milliseconds: the smallest observed difference, because a device's clock
    /// counts whole milliseconds and its messages are delayed. `f64::MAX` before the first message.
    pub ahead_ms: f64,
}

impl Default for Clock {
    fn default() -> Self {
        Self { ahead_ms: f64::MAX }
    }
}

impl Clock {
    /// Adds a message with the device time `time_ms`. `arrived_ms` is its arrival on the computer's clock minus the
    /// known delay. Both times are in milliseconds.
    pub fn see(&mut self, time_ms: f64, arrived_ms: f64) {
        self.ahead_ms = self.ahead_ms.min(arrived_ms - time_ms);
    }
}

/// Points of a scan in the robot's level frame, metres; `None` if the head's angle or the pose is not known for the
/// whole scan. `head` is on the encoder's clock, `stances` on the computer's.
pub fn points(
    scan: &PlaneScan,
    scanner_clock: Clock,
    head: &Track<f64>,
    head_clock: Clock,
    stances: &Track<Stance>,
) -> Option<Vec<DVec3>> {
    let mut points = Vec::new();
    for (step, distance_mm) in scan.distances_mm.iter().enumerate() {
        let t_ms = scan.time_ms + scanner_clock.ahead_ms + step as f64 * STEP_MS;
        let head_rad = head.at(t_ms - head_clock.ahead_ms, |a, b, share| a + share * (b - a))?;
        let stance = stances.at(t_ms, Stance::mix)?;
        let range_m = f64::from(*distance_mm) * 1e-3;
        if *distance_mm < LEAST_MM || range_m > REACH_M {
            continue;
        }
        // The scanner's middle step points up, and its left is the head's left.
        let (sin, cos) = libm::sincos((step as f64 - MIDDLE_STEP) * STEP_RAD);
        let in_head = DVec3::new(0.0, sin, cos) * range_m;
        let in_body =
            DQuat::from_rotation_z(head_rad) * in_head + DVec3::new(0.0, 0.0, SCANNER_HEIGHT_M);
        points.push(stance.rotation() * in_body + stance.position_m.extend(0.0));
    }
    Some(points)
}
