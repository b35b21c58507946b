//! Angle of the mirror over time.
//!
//! The mirror rotates at constant speed, counter-clockwise from above; a revolution begins at the rear. Times are
//! computed in whole nanoseconds from the number of the revolution, so they do not drift.

use std::f64::consts::TAU;
use std::ops::RangeInclusive;
use std::sync::Arc;

use super::profile::Steps;
use crate::sensors::receiver::{EchoSelection, ReceiverSetting};
use crate::sensors::{FiringSlot, MeasurementRequest, RotorMotion, Subject, Sweep};
use crate::time::SimTime;

const MINUTE_NS: u128 = 60_000_000_000;

/// The mirror, rotating at a constant speed.
#[derive(Clone, Debug)]
pub struct Turning {
    steps: Steps,
    rpm: u32,
    /// Start time of revolution `first`.
    since: SimTime,
    first: u64,
}

impl Turning {
    /// A mirror whose revolution `first` begins at `since`.
    pub fn new(steps: Steps, rpm: u32, since: SimTime, first: u64) -> Self {
        Self { steps, rpm: rpm.max(1), since, first }
    }

    /// Start time of revolution `number`.
    pub fn begins(&self, number: u64) -> SimTime {
        let turns = u128::from(number.saturating_sub(self.first));
        SimTime(self.since.0 + (turns * MINUTE_NS / u128::from(self.rpm)) as u64)
    }

    /// Time from the start of a revolution to a step, nanoseconds.
    fn step_ns(&self, step: u32) -> u64 {
        let per_turn = u128::from(self.steps.per_turn);
        let from_rear = u128::from(step + self.steps.per_turn / 2 - self.steps.front);
        (from_rear * MINUTE_NS / (per_turn * u128::from(self.rpm))) as u64
    }

    /// Time at which the mirror points at `step` in revolution `number`.
    pub fn time_of(&self, number: u64, step: u32) -> SimTime {
        SimTime(self.begins(number).0 + self.step_ns(step))
    }

    /// Time at which the last step of revolution `number` is measured.
    pub fn ends(&self, number: u64) -> SimTime {
        self.time_of(number, self.steps.last)
    }

    /// The first revolution whose first step is measured at or after `at`.
    pub fn first_from(&self, at: SimTime) -> u64 {
        let to_step = self.since.0 + self.step_ns(self.steps.first);
        let since = u128::from(at.0.saturating_sub(to_step));
        let mut number = self.first + (since * u128::from(self.rpm) / MINUTE_NS) as u64;
        while self.time_of(number, self.steps.first) < at {
            number += 1;
        }
        number
    }

    /// Request to measure `steps` of revolution `number`.
    pub fn request(
        &self,
        index: u64,
        number: u64,
        steps: RangeInclusive<u32>,
        receiver: ReceiverSetting,
    ) -> MeasurementRequest {
        let first = *steps.start();
        let first_ns = self.step_ns(first);
        let firings: Arc<[FiringSlot]> = steps
            .map(|step| FiringSlot { offset_ns: (self.step_ns(step) - first_ns) as u32, laser: 0 })
            .collect();
        let from_front = f64::from(first) - f64::from(self.steps.front);
        let sweep = Sweep {
            number: index,
            rotor: RotorMotion::even(
                -TAU * from_front / f64::from(self.steps.per_turn),
                -TAU * f64::from(self.rpm) / 60.0,
            ),
            selection: EchoSelection::First,
            receiver,
            firings,
        };
        let start = SimTime(self.begins(number).0 + first_ns);
        MeasurementRequest { index, start, subject: Subject::Sweep(sweep) }
    }
}
