//! What faults of a lidar's optics do to its returns.

use std::cell::Cell;

use super::fault::{Symptom, Touch};
use super::lidar::Received;
use super::pattern::LaserGeometry;
use super::{FiringSlot, Sweep};
use crate::config::rig::faults::{LidarFault, Timed};
use crate::time::SimTime;

/// The faults that may be there during a sweep, and what they have done in it.
pub(super) struct Ailments<'a> {
    start: SimTime,
    sweep: &'a Sweep,
    lasers: &'a [LaserGeometry],
    all: Vec<Ailment<'a>>,
}

struct Ailment<'a> {
    fault: &'a Timed<LidarFault>,
    window: u64,
    lost: Cell<u64>,
    changed: Cell<u64>,
}

impl<'a> Ailments<'a> {
    /// Those of `faults` during a sweep of `lasers` that starts at `start`.
    pub fn of(
        faults: &'a [Timed<LidarFault>],
        start: SimTime,
        sweep: &'a Sweep,
        lasers: &'a [LaserGeometry],
    ) -> Self {
        if faults.is_empty() {
            return Self { start, sweep, lasers, all: Vec::new() };
        }
        let end = SimTime(start.0 + u64::from(sweep.span_ns()));
        let there = faults.iter().filter_map(|fault| {
            let window = fault.schedule.window_between(start, end)?;
            Some(Ailment { fault, window, lost: Cell::new(0), changed: Cell::new(0) })
        });
        Self { start, sweep, lasers, all: there.collect() }
    }

    /// What is told of the firing `index`, of which `receive` says what comes of a share of its
    /// light, 0..=1, both ways.
    pub fn receive<T: Default + Received>(&self, index: usize, receive: impl Fn(f32) -> T) -> T {
        let mut told = receive(1.0);
        if self.all.is_empty() {
            return told;
        }
        let mut light = 1.0;
        for ailment in &self.all {
            let share = self.share(ailment.fault, &self.sweep.firings[index]);
            if share == 1.0 {
                continue;
            }
            light *= share;
            let left = if light == 0.0 { T::default() } else { receive(light) };
            let (lost, changed) = told.difference(&left);
            ailment.lost.set(ailment.lost.get() + lost);
            ailment.changed.set(ailment.changed.get() + changed);
            told = left;
        }
        told
    }

    /// What was done to the sweep.
    pub fn touches(&self) -> Vec<Touch> {
        let mut touches = Vec::new();
        for Ailment { fault, window, lost, changed } in &self.all {
            let mut tell = |symptom| {
                touches.push(Touch { fault: fault.fault, window: *window, symptom });
            };
            if lost.get() > 0 {
                tell(Symptom::LostReturns { count: lost.get() });
            }
            if changed.get() > 0 {
                tell(Symptom::ChangedReturns { count: changed.get() });
            }
        }
        touches
    }

    /// How much of a firing's light a fault leaves.
    fn share(&self, fault: &Timed<LidarFault>, firing: &FiringSlot) -> f32 {
        if !fault.is_on(SimTime(self.start.0 + u64::from(firing.offset_ns))) {
            return 1.0;
        }
        match &fault.kind {
            LidarFault::DeadLasers(lasers) if lasers.contains(&firing.laser) => 0.0,
            LidarFault::DeadLasers(_) => 1.0,
            LidarFault::DirtyWindow { sector, transmission } => {
                let laser = &self.lasers[usize::from(firing.laser)];
                let rotor_rad = self.sweep.azimuth_at(firing.offset_ns.into());
                if sector.contains(rotor_rad + laser.azimuth_offset_rad) {
                    (transmission * transmission) as f32
                } else {
                    1.0
                }
            }
        }
    }
}
