//! Angle of the mirror over time, and the revolutions of a scan.
//!
//! The mirror rotates at constant speed, counter-clockwise from above, and points to the right at the start of each
//! revolution. In an interlaced scanner, one revolution has a sample every degree, and finer scans consist of two or four
//! revolutions shifted by fractions of a degree. In other scanners, each revolution is a whole scan. Times are computed
//! in whole nanoseconds from the number of the revolution, so they do not drift.

use std::f64::consts::{FRAC_PI_2, TAU};
use std::ops::Range;
use std::sync::Arc;

use crate::config::rig::faults::Timed;
use crate::motor_stall::MotorStall;
use crate::sensors::fault::{EffectKind, FaultEffect};
use crate::sensors::receiver::{EchoSelection, ReceiverSetting};
use crate::sensors::{FiringSlot, MeasurementRequest, RotorMotion, Subject, Sweep};
use crate::sick_lms2xx::profile::{SickLms2xxProfile, SickLms2xxSettings};
use crate::time::SimTime;
use crate::wire::sick_lms2xx::Variant;

/// A full rotation, in hundredths of a degree.
const TURN: u64 = 36_000;

/// The rotating mirror.
#[derive(Clone, Debug)]
pub struct Mirror {
    millihertz: u64,
    /// Start of revolution 0.
    first_ns: u64,
    stalls: Vec<Timed<MotorStall>>,
    /// Time from the end of a stall to full speed.
    spin_up_ns: u64,
    /// Output latency: time from a scan's end to its telegram.
    lag_ns: u64,
}

/// Time at which a stalled mirror is back at full speed; `None` if the stall never ends.
pub type HeldUntil = Option<SimTime>;

/// Scan pattern of the mirror revolutions that form one telegram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// Scan angle and angular resolution.
    pub variant: Variant,
    /// Angular shifts of successive revolutions, quarters of a degree.
    quarters: Vec<u8>,
    /// Whether every revolution has its own telegram.
    pub is_partial: bool,
    /// Number of scans that one telegram averages; 1: no averaging.
    scans: u64,
}

impl Mirror {
    /// A mirror without stalls, with the speed of `profile` and the initial angle and latency of `settings`.
    pub fn new(profile: &SickLms2xxProfile, settings: &SickLms2xxSettings) -> Self {
        let period_ns = 1e12 / profile.scan.mirror_millihertz as f64;
        let turned = (settings.mirror_phase_rad / TAU).rem_euclid(1.0);
        let to_go = if turned == 0.0 { 0.0 } else { 1.0 - turned };
        let first_ns = (to_go * period_ns).round() as u64;
        Self {
            millihertz: profile.scan.mirror_millihertz,
            first_ns,
            stalls: Vec::new(),
            spin_up_ns: profile.motor.spin_up_ns,
            lag_ns: settings.lag_ns,
        }
    }

    /// Sets the faults that stall the mirror. The mirror stops at once. After spin-up it has the angle that it would
    /// have without the fault. Both are assumptions; no source describes them.
    pub fn set_stalls(&mut self, stalls: &[Timed<MotorStall>]) {
        self.stalls = stalls.to_vec();
    }

    /// If the mirror is below full speed at any time in `from..=to`: the time at which it is back at full speed.
    /// Otherwise `None`.
    pub fn held_between(&self, from: SimTime, to: SimTime) -> Option<HeldUntil> {
        self.stalls.iter().find_map(|stall| {
            let window = self.window_between(stall, from, to)?;
            let (_, closes) = stall.schedule.window(window);
            Some(closes.map(|closes| SimTime(closes.0.saturating_add(self.spin_up_ns))))
        })
    }

    /// Faults that stall the mirror at `at`, and past faults after which the mirror is still spinning up.
    pub fn fault_effects(&self, at: SimTime) -> Vec<FaultEffect> {
        let effect = |stall: &Timed<MotorStall>| {
            let window = self.window_between(stall, at, at)?;
            Some(FaultEffect { fault: stall.fault, window, kind: EffectKind::Stalled { rpm: 0 } })
        };
        self.stalls.iter().filter_map(effect).collect()
    }

    /// Whether a stall began before `at`.
    pub fn was_held(&self, at: SimTime) -> bool {
        self.stalls.iter().any(|stall| stall.schedule.start < at)
    }

    fn window_between(&self, stall: &Timed<MotorStall>, from: SimTime, to: SimTime) -> Option<u64> {
        let from = SimTime(from.0.saturating_sub(self.spin_up_ns));
        stall.schedule.window_between(from, to)
    }

    /// Earliest time at which the telegram of a scan that ends at `end` can leave.
    pub fn known_at(&self, end: SimTime) -> SimTime {
        SimTime(end.0 + self.lag_ns)
    }

    /// Latest end of a scan whose telegram can leave at `at`.
    pub fn known_by(&self, at: SimTime) -> SimTime {
        SimTime(at.0.saturating_sub(self.lag_ns))
    }

    /// Start of revolution `number`.
    pub fn start(&self, number: u64) -> SimTime {
        SimTime(self.first_ns + self.turning_ns(number, 1))
    }

    /// Number of the first revolution that starts at or after `at`.
    pub fn first_from(&self, at: SimTime) -> u64 {
        let since = u128::from(at.0.saturating_sub(self.first_ns));
        let about = since * u128::from(self.millihertz) / 1_000_000_000_000;
        let mut number = (about as u64).saturating_sub(1);
        while self.start(number) < at {
            number += 1;
        }
        number
    }

    /// Request to measure revolution `number` of `pattern` with this detector setting.
    pub fn request(
        &self,
        index: u64,
        number: u64,
        pattern: &Pattern,
        receiver: ReceiverSetting,
    ) -> MeasurementRequest {
        let angles = pattern.angles(number);
        let step = pattern.step();
        let first_ns = self.turning_ns(angles.start, TURN);
        let firings: Arc<[FiringSlot]> = angles
            .clone()
            .step_by(step as usize)
            .map(|angle| FiringSlot {
                offset_ns: (self.turning_ns(angle, TURN) - first_ns) as u32,
                laser: 0,
            })
            .collect();
        let from_right_rad = (angles.start as f64 / 100.0).to_radians();
        let sweep = Sweep {
            number: index,
            rotor: RotorMotion::even(
                FRAC_PI_2 - from_right_rad,
                -TAU * self.millihertz as f64 / 1000.0,
            ),
            selection: EchoSelection::First,
            receiver,
            firings,
        };
        let start = SimTime(self.start(number).0 + first_ns);
        MeasurementRequest { index, start, subject: Subject::Sweep(sweep) }
    }

    /// Duration of `turns / per_turn` revolutions, nanoseconds.
    fn turning_ns(&self, turns: u64, per_turn: u64) -> u64 {
        let whole = u128::from(turns) * 1_000_000_000_000;
        (whole / (u128::from(self.millihertz) * u128::from(per_turn))) as u64
    }
}

impl Pattern {
    /// Whole scans of `variant`; each telegram reports the mean of `scans` scans.
    pub fn whole(profile: &SickLms2xxProfile, variant: Variant, scans: u8) -> Self {
        let quarters = if profile.scan.is_interlaced {
            Self::shifts(profile, variant.resolution_centideg)
        } else {
            vec![0]
        };
        Self { variant, quarters, is_partial: false, scans: u64::from(scans.max(1)) }
    }

    /// One telegram per revolution of `variant`. Whole scans with a resolution of 0.25 degrees cover only 100 degrees;
    /// partial scans with this resolution cover the widest angle of the profile. The driver of Carmen scans 180 degrees
    /// in this way.
    pub fn partial(profile: &SickLms2xxProfile, variant: Variant) -> Self {
        let mut pattern = Self { is_partial: true, ..Self::whole(profile, variant, 1) };
        if pattern.quarters.len() == 4 {
            let angles = profile.scan.variants.iter().map(|variant| variant.angle_deg);
            pattern.variant.angle_deg = angles.max().unwrap_or(variant.angle_deg);
        }
        pattern
    }

    fn shifts(profile: &SickLms2xxProfile, resolution_centideg: u16) -> Vec<u8> {
        let wanted = |quarter: &u8| u16::from(*quarter) * 25 % resolution_centideg == 0;
        profile.scan.quarter_order.iter().copied().filter(wanted).collect()
    }

    /// Number of values in a telegram; for partial scans, the largest number.
    pub fn values(&self) -> usize {
        if self.is_partial {
            usize::from(self.variant.angle_deg) * 100 / self.step() as usize + 1
        } else {
            self.variant.values()
        }
    }

    /// Number of revolutions per telegram.
    pub fn revolutions(&self) -> u64 {
        if self.is_partial { 1 } else { self.quarters.len() as u64 * self.scans }
    }

    /// Number of revolutions per scan.
    pub fn revolutions_per_scan(&self) -> u64 {
        if self.is_partial { 1 } else { self.quarters.len() as u64 }
    }

    /// Shift of revolution `number`, quarters of a degree.
    pub fn quarter(&self, number: u64) -> u8 {
        self.quarters[(number % self.quarters.len() as u64) as usize]
    }

    /// Indices in the telegram of the values that revolution `number` measures.
    pub fn places(&self, number: u64) -> impl Iterator<Item = usize> {
        let angles = self.angles(number);
        let count = (angles.end - angles.start).div_ceil(self.step());
        let resolution = u64::from(self.variant.resolution_centideg);
        let (first, stride) = if self.is_partial {
            (0, 1)
        } else {
            (u64::from(self.quarter(number)) * 25 / resolution, self.step() / resolution)
        };
        (0..count).map(move |sample| (first + sample * stride) as usize)
    }

    /// Step between adjacent samples of a revolution, hundredths of a degree.
    fn step(&self) -> u64 {
        let resolution = u64::from(self.variant.resolution_centideg);
        if self.quarters.len() == 1 { resolution } else { 100 }
    }

    /// Angles from the first sample of revolution `number` to just after the last one, hundredths of a degree from the
    /// right.
    fn angles(&self, number: u64) -> Range<u64> {
        let angle = u64::from(self.variant.angle_deg) * 100;
        let right = (18_000 - angle) / 2;
        right + u64::from(self.quarter(number)) * 25..right + angle + 1
    }
}
