//! Effects of optical faults on a lidar's returns.

use std::cell::Cell;

use super::fault::{EffectKind, FaultEffect};
use super::noise::Quantity;
use super::pattern::LaserGeometry;
use super::receiver::EchoSelection;
use super::{Return, Sweep};
use crate::config::rig::faults::Timed;
use crate::sensors::optics_fault::LidarFault;
use crate::time::SimTime;

/// Returns of one pulse as the detector reports them.
pub(super) trait Received {
    /// The report about a pulse with one echo or none.
    fn of_one(echo: Option<Return>, selection: EchoSelection) -> Self;

    /// Whether the pulse has a return within `within_m` of `range_m`, metres.
    fn has_return_near(&self, range_m: f32, within_m: f32) -> bool;

    /// The echoes of a pulse: first and second return, or all echoes from near to far.
    fn slots(&self) -> impl Iterator<Item = Option<Return>>;

    /// Compares two reports about the same pulse: number of returns that `other` lacks, and number of returns that
    /// differ in `other`.
    fn difference(&self, other: &Self) -> (u64, u64);

    /// The report after `measured` has added errors to each echo. The second argument of `measured` identifies the
    /// random numbers of the echo's range and intensity. If first and second return are the same echo, both get the
    /// same errors.
    fn with_errors(&self, measured: impl Fn(Return, [Quantity; 2]) -> Return) -> Self;
}

/// What a detector receives from a pulse.
#[derive(Clone)]
pub(super) struct Detected<T> {
    /// Share of the light that the detector receives, 0..=1. If a fault blocks all light: the share before this fault.
    pub light: f32,
    /// Echoes of this light, without errors.
    pub echoes: T,
    /// Echoes as the device reports them; none if faults block all light.
    pub report: T,
}

/// Faults that may be active during a sweep, with their effects so far.
pub(super) struct SweepFaults<'a> {
    start: SimTime,
    sweep: &'a Sweep,
    lasers: &'a [LaserGeometry],
    all: Vec<ActiveFault<'a>>,
}

struct ActiveFault<'a> {
    fault: &'a Timed<LidarFault>,
    window: u64,
    lost: Cell<u64>,
    changed: Cell<u64>,
}

impl<'a> SweepFaults<'a> {
    /// The `faults` that may be active during `sweep`, which starts at `start`.
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
        let active = faults.iter().filter_map(|fault| {
            let window = fault.schedule.window_between(start, end)?;
            Some(ActiveFault { fault, window, lost: Cell::new(0), changed: Cell::new(0) })
        });
        Self { start, sweep, lasers, all: active.collect() }
    }

    /// Whether no fault is active.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// What the detector receives from the firing `index` under all active faults. `receive` computes this for a given
    /// share of the light, 0..=1.
    #[inline(always)]
    pub fn receive<T>(&self, index: usize, receive: impl Fn(f32) -> Detected<T>) -> Detected<T>
    where
        T: Clone + Default + Received,
    {
        let mut detected = receive(1.0);
        if !self.all.is_empty() {
            self.disturb(index, &mut detected, receive);
        }
        detected
    }

    #[inline(never)]
    fn disturb<T>(
        &self,
        index: usize,
        detected: &mut Detected<T>,
        receive: impl Fn(f32) -> Detected<T>,
    ) where
        T: Clone + Default + Received,
    {
        let mut light = 1.0;
        for active in &self.all {
            let share = self.share(active.fault, index);
            if share == 1.0 {
                continue;
            }
            light *= share;
            let left = if light == 0.0 {
                Detected { report: T::default(), ..detected.clone() }
            } else {
                receive(light)
            };
            let (lost, changed) = detected.report.difference(&left.report);
            active.lost.set(active.lost.get() + lost);
            active.changed.set(active.changed.get() + changed);
            *detected = left;
        }
    }

    /// Effects of the faults on the whole sweep.
    pub fn fault_effects(&self) -> Vec<FaultEffect> {
        let mut fault_effects = Vec::new();
        for ActiveFault { fault, window, lost, changed } in &self.all {
            let mut add = |kind| {
                fault_effects.push(FaultEffect { fault: fault.fault, window: *window, kind });
            };
            if lost.get() > 0 {
                add(EffectKind::LostReturns { count: lost.get() });
            }
            if changed.get() > 0 {
                add(EffectKind::ChangedReturns { count: changed.get() });
            }
        }
        fault_effects
    }

    /// Share of a firing's light, 0..=1, that remains under a fault.
    fn share(&self, fault: &Timed<LidarFault>, index: usize) -> f32 {
        let firing = &self.sweep.firings[index];
        if !fault.is_on(SimTime(self.start.0 + u64::from(firing.offset_ns))) {
            return 1.0;
        }
        match &fault.kind {
            LidarFault::DeadLasers(lasers) if lasers.contains(&firing.laser) => 0.0,
            LidarFault::DeadLasers(_) => 1.0,
            LidarFault::DirtyWindow { sector, transmission } => {
                let laser = &self.lasers[usize::from(firing.laser)];
                let (aimed_rad, _) = self.sweep.aim(index);
                if sector.contains(aimed_rad + laser.azimuth_offset_rad) {
                    (transmission * transmission) as f32
                } else {
                    1.0
                }
            }
        }
    }
}
