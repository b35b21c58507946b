//! Angle of the mirror over time.
//!
//! The mirror rotates at constant speed, counter-clockwise from above. Directions are equally spaced and numbered from
//! the start of the field of view. Times are computed in whole nanoseconds from the number of the revolution, so they do
//! not drift.

use std::f64::consts::{FRAC_PI_2, TAU};
use std::ops::Range;
use std::sync::Arc;

use crate::sensors::receiver::{EchoSelection, ReceiverSetting};
use crate::sensors::{FiringSlot, MeasurementRequest, RotorMotion, Subject, Sweep};
use crate::sick_lms1xx::profile::{ScanMode, SickLms1xxProfile, TURN};
use crate::time::SimTime;

/// The rotating mirror in a scan mode.
#[derive(Clone, Debug)]
pub struct Mirror {
    mode: ScanMode,
    field: [i32; 2],
    zero_index: i32,
    /// Time from the last direction of the field of view to the departure of the telegram.
    leaves_after_ns: u64,
    /// Time at which the mirror passes the zero index of revolution `first`.
    since: SimTime,
    first: u64,
}

impl Mirror {
    /// A mirror that passes the zero index of revolution `first` at `since`. Telegrams leave `lag_ns` later than in the
    /// profile.
    pub fn new(
        profile: &SickLms1xxProfile,
        lag_ns: u64,
        mode: ScanMode,
        since: SimTime,
        first: u64,
    ) -> Self {
        Self {
            mode,
            field: profile.scan.field,
            zero_index: profile.scan.zero_index,
            leaves_after_ns: profile.scan.transmission_delay_ns + lag_ns,
            since,
            first,
        }
    }

    /// Present scan mode.
    pub fn mode(&self) -> ScanMode {
        self.mode
    }

    /// Time at which the mirror passes the zero index of revolution `number`.
    pub fn zero(&self, number: u64) -> SimTime {
        let turns = u128::from(number.saturating_sub(self.first));
        let ns = turns * 100_000_000_000 / u128::from(self.mode.frequency_centihz);
        SimTime(self.since.0 + ns as u64)
    }

    /// Departure time of the telegram with revolution `number`.
    pub fn transmission(&self, number: u64) -> SimTime {
        let last = self.direction_of(self.field[1]);
        SimTime(self.zero(number).0 + self.offset_ns(last) + self.leaves_after_ns)
    }

    /// Number of the first revolution whose zero index is at or after `at`.
    pub fn first_from(&self, at: SimTime) -> u64 {
        let since_ns = u128::from(at.0.saturating_sub(self.since.0));
        let turns = since_ns * u128::from(self.mode.frequency_centihz) / 100_000_000_000;
        let mut number = self.first + turns as u64;
        while self.zero(number) < at {
            number += 1;
        }
        number
    }

    /// Indices of the directions within a range of angles, which are in units of 1/10000 degree; at least one.
    pub fn directions(&self, [start, stop]: [i32; 2]) -> Range<u32> {
        let (start, stop) = (self.direction_of(start), self.direction_of(stop));
        start..stop.max(start) + 1
    }

    /// Index of the direction nearest to `angle`, which is in units of 1/10000 degree and limited to the field of view.
    fn direction_of(&self, angle: i32) -> u32 {
        let [first, last] = self.field.map(i64::from);
        let beyond = (i64::from(angle).clamp(first, last) - first) as u64;
        let turn = u64::from(TURN);
        ((beyond * u64::from(self.mode.steps_per_turn) + turn / 2) / turn) as u32
    }

    /// Angle of a direction, in units of 1/10000 degree.
    pub fn angle(&self, direction: u32) -> i32 {
        let steps = u64::from(self.mode.steps_per_turn);
        let beyond = (u64::from(direction) * u64::from(TURN) + steps / 2) / steps;
        self.field[0] + beyond as i32
    }

    /// Time from the zero index to a direction, nanoseconds.
    fn offset_ns(&self, direction: u32) -> u64 {
        let (turn, steps) = (u128::from(TURN), u128::from(self.mode.steps_per_turn));
        let to_field = (self.field[0] - self.zero_index) as u128;
        let turned = to_field * steps + u128::from(direction) * turn;
        let ns =
            turned * 100_000_000_000 / (turn * steps * u128::from(self.mode.frequency_centihz));
        ns as u64
    }

    /// Request to measure `directions` of revolution `number`.
    pub fn request(&self, index: u64, number: u64, directions: Range<u32>) -> MeasurementRequest {
        let first_ns = self.offset_ns(directions.start);
        let firings: Arc<[FiringSlot]> = directions
            .clone()
            .map(|direction| FiringSlot {
                offset_ns: (self.offset_ns(direction) - first_ns) as u32,
                laser: 0,
            })
            .collect();
        let steps = f64::from(self.mode.steps_per_turn);
        let angle_rad = TAU
            * (f64::from(self.field[0]) / f64::from(TURN) + f64::from(directions.start) / steps);
        let sweep = Sweep {
            number: index,
            rotor: RotorMotion::even(
                FRAC_PI_2 - angle_rad,
                -TAU * f64::from(self.mode.frequency_centihz) / 100.0,
            ),
            selection: EchoSelection::First,
            receiver: ReceiverSetting::default(),
            firings,
        };
        let start = SimTime(self.zero(number).0 + first_ns);
        MeasurementRequest { index, start, subject: Subject::Sweep(sweep) }
    }

    /// Pulse rate, as if pulses were fired in the whole rotation, in units of 100 Hz.
    pub fn measurement_frequency_hundred_hz(&self) -> u32 {
        let pulses = u64::from(self.mode.frequency_centihz) * u64::from(self.mode.steps_per_turn);
        ((pulses + 5000) / 10_000) as u32
    }
}
