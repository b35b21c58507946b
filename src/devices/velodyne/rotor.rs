//! How fast a head turns and where it points, for all time to come.
//!
//! The motor has inertia: speed changes by an even angular acceleration, so the angle is piecewise
//! quadratic in time. A stretch at a set speed is computed in whole nanoseconds and never drifts.
//! What is scheduled for later can be scheduled anew until it comes.
//!
//! A fault may hold the rotor: it slows down, stands, and is driven again when it is let go. Faults
//! may return for ever, so they are laid into the schedule cell by cell as it is needed
//! ([`Rotor::look_ahead`]), always the same cells, so that angles do not depend on who asks when.

use std::f64::consts::TAU;

use crate::config::rig::faults::{MotorStall, Timed};
use crate::config::velodyne_motor::MotorSettings;
use crate::sensors::fault::{EffectKind, FaultEffect};
use crate::sensors::{RotorMotion, RotorPiece};
use crate::time::SimTime;

const SECOND_NS: u64 = 1_000_000_000;
const MINUTE_NS: u128 = 60_000_000_000;
/// Phases closer than this to the wanted one are not corrected, turns.
const PHASE_TOLERANCE: f64 = 1e-6;

/// Stalls are laid into the schedule in cells of this length, nanoseconds.
const CELL_NS: u64 = 4 * SECOND_NS;

/// A rotor and its schedule. Angles are turns, clockwise seen from above, 0 is forward.
#[derive(Clone, Debug)]
pub struct Rotor {
    /// In the order of time; never empty.
    stretches: Vec<Stretch>,
    acceleration_rpm_s: u32,
    /// The speed and phase that it is driven to.
    drive: (u32, Option<Phase>),
    stalls: Vec<Timed<MotorStall>>,
    /// Stalls are part of the schedule up to here.
    known_to: SimTime,
}

/// Where the rotor shall point at certain instants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Phase {
    /// The angle, 0..1.
    pub turn: f64,
    /// One of the instants; the others are whole seconds from it.
    pub second: SimTime,
}

/// The rotor of a unit with these settings, which is to turn at `rpm`, from the first instant on.
pub fn at_power_on(motor: &MotorSettings, rpm: u32, start_azimuth_rad: f64) -> Rotor {
    let turn = start_azimuth_rad / TAU;
    if !motor.starts_at_rest {
        return Rotor::turning(rpm, turn, motor.acceleration_rpm_s);
    }
    let mut rotor = Rotor::turning(0, turn, motor.acceleration_rpm_s);
    rotor.schedule(SimTime::ZERO, rpm, None);
    rotor
}

/// The first multiple of a cell after `at`.
fn cell_end(at: SimTime) -> SimTime {
    SimTime((at.0 / CELL_NS + 1).saturating_mul(CELL_NS))
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Stretch {
    from: SimTime,
    /// Angle at `from`, 0..1.
    turn: f64,
    motion: Motion,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Motion {
    Even { rpm: u32 },
    Changing { rpm: f64, acceleration_rpm_s: f64 },
}

impl Rotor {
    /// A rotor that turns at `rpm` since before the first instant, when it points at `turn`. Its
    /// motor changes the speed by `acceleration_rpm_s` a second, which is not 0.
    pub fn turning(rpm: u32, turn: f64, acceleration_rpm_s: u32) -> Self {
        let first = Stretch { from: SimTime::ZERO, turn, motion: Motion::Even { rpm } };
        Self {
            stretches: vec![first],
            acceleration_rpm_s: acceleration_rpm_s.max(1),
            drive: (rpm, None),
            stalls: Vec::new(),
            known_to: SimTime(u64::MAX),
        }
    }

    /// Will be held by `stalls`. To be said before anything is asked about.
    pub fn suffer(&mut self, stalls: &[Timed<MotorStall>]) {
        if !stalls.is_empty() {
            self.stalls = stalls.to_vec();
            self.known_to = SimTime::ZERO;
        }
    }

    /// The speed and phase that it is driven to, when nothing holds it.
    pub fn drive(&self) -> (u32, Option<Phase>) {
        self.drive
    }

    /// What is asked about must be before this.
    pub fn known_to(&self) -> SimTime {
        self.known_to
    }

    /// Lays stalls into the schedule up to `to` at least.
    pub fn look_ahead(&mut self, to: SimTime) {
        while self.known_to < to {
            let from = self.known_to;
            self.known_to = cell_end(from);
            if self.held_at(from).is_some() {
                self.plan(from);
            } else if let Some(opens) = self.next_opening(from) {
                self.plan(opens);
            }
        }
    }

    /// What a stall that is there between two instants does to what is measured then.
    pub fn fault_effects(&self, from: SimTime, to: SimTime) -> Vec<FaultEffect> {
        let effect = |stall: &Timed<MotorStall>| {
            let window = stall.schedule.window_between(from, to)?;
            let kind = EffectKind::Stalled { rpm: self.rpm(from).round() as u64 };
            Some(FaultEffect { fault: stall.fault, window, kind })
        };
        self.stalls.iter().filter_map(effect).collect()
    }

    /// What holds it at `at`: how fast that slows it down, rpm/s, and until when.
    fn held_at(&self, at: SimTime) -> Option<(f64, Option<SimTime>)> {
        let motor = f64::from(self.acceleration_rpm_s);
        self.stalls.iter().find_map(|stall| {
            let (_, closes) = stall.schedule.window(stall.schedule.window_at(at)?);
            let pace = match stall.kind.stops_within_ns {
                Some(ns) if self.drive.0 > 0 => f64::from(self.drive.0) * 1e9 / ns as f64,
                _ => motor,
            };
            Some((pace, closes))
        })
    }

    /// When it is held next, if that is known already.
    fn next_opening(&self, from: SimTime) -> Option<SimTime> {
        let openings = self.stalls.iter().filter_map(|stall| stall.schedule.next_opening(from));
        openings.min().filter(|opens| *opens < self.known_to)
    }

    /// The angle at `at`, 0..1.
    pub fn turn(&self, at: SimTime) -> f64 {
        self.stretch(at).turned(at).rem_euclid(1.0)
    }

    /// The speed at `at`.
    pub fn rpm(&self, at: SimTime) -> f64 {
        self.stretch(at).rpm(at)
    }

    /// Whether it is still at `at` and not told to turn by then.
    pub fn is_still(&self, at: SimTime) -> bool {
        self.stretch(at).motion == Motion::Even { rpm: 0 }
    }

    /// The motion from `start` to `end`, in angles of a sweep that starts at `start`.
    pub fn motion(&self, start: SimTime, end: SimTime) -> RotorMotion {
        let first = self.stretch(start);
        let mut motion = RotorMotion::starting_with(first.piece(start, start));
        let within = self.stretches.iter().filter(|s| s.from > start && s.from <= end);
        for stretch in within {
            motion.push(stretch.piece(start, stretch.from));
        }
        motion
    }

    /// The first instant after `after` at which the rotor has come to angle 0, if the schedule ever
    /// brings it there.
    pub fn next_zero(&self, after: SimTime) -> Option<SimTime> {
        let first = self.index(after);
        (first..self.stretches.len()).find_map(|index| {
            let stretch = &self.stretches[index];
            let from = after.max(stretch.from);
            let end = match (self.stretches.get(index + 1), stretch.motion) {
                (Some(next), _) => next.from,
                (None, Motion::Even { rpm: 0 }) => return None,
                (None, Motion::Even { rpm }) => {
                    SimTime(from.0 + (MINUTE_NS / u128::from(rpm)) as u64 + 2)
                }
                (None, Motion::Changing { .. }) => return None, // a schedule ends evenly
            };
            stretch.first_zero(from, end)
        })
    }

    /// From `at` on the motor takes the rotor to `rpm` and, with `phase`, then a little faster or
    /// slower for a while until it is in phase. What was scheduled for later is forgotten.
    pub fn schedule(&mut self, at: SimTime, rpm: u32, phase: Option<Phase>) {
        self.drive = (rpm, phase);
        if self.stalls.is_empty() {
            return self.plan(at);
        }
        self.look_ahead(at);
        let known_to = self.known_to;
        self.known_to = cell_end(at).min(known_to);
        self.plan(at);
        self.look_ahead(known_to);
    }

    /// Schedules anew from `at` on: driven where nothing holds it.
    fn plan(&mut self, mut at: SimTime) {
        loop {
            let (turn, rpm) = (self.turn(at), self.rpm(at));
            self.stretches.retain(|stretch| stretch.from < at);
            let next = match self.held_at(at) {
                Some((pace, closes)) => {
                    self.change_speed(at, turn, rpm, (0, pace));
                    closes.filter(|closes| *closes <= self.known_to)
                }
                None => {
                    let (wanted_rpm, phase) = self.drive;
                    let pace = f64::from(self.acceleration_rpm_s);
                    let from = self.change_speed(at, turn, rpm, (wanted_rpm, pace));
                    if let Some(phase) = phase.filter(|_| wanted_rpm > 0) {
                        self.correct_phase(from, wanted_rpm, phase);
                    }
                    self.next_opening(at)
                }
            };
            let Some(next) = next else { return };
            at = next;
        }
    }

    /// From `at` on, where it points at `turn` and has the speed `rpm`, to another speed at some
    /// rpm/s; when it has come to that.
    fn change_speed(&mut self, at: SimTime, turn: f64, rpm: f64, to: (u32, f64)) -> SimTime {
        let (wanted_rpm, pace) = to;
        let difference = f64::from(wanted_rpm) - rpm;
        let mut from = at;
        if difference != 0.0 {
            let acceleration_rpm_s = pace * difference.signum();
            let motion = Motion::Changing { rpm, acceleration_rpm_s };
            self.stretches.push(Stretch { from, turn, motion });
            from = later(from, difference / acceleration_rpm_s);
        }
        let turn = if from == at { turn } else { self.turn(from) };
        self.stretches.push(Stretch { from, turn, motion: Motion::Even { rpm: wanted_rpm } });
        from
    }

    /// Forgets what is not asked about any more: the time before `before`.
    pub fn forget(&mut self, before: SimTime) {
        let first = self.index(before);
        self.stretches.drain(..first);
    }

    /// Gains or loses what is missing by a change of speed and back, from `from` on.
    fn correct_phase(&mut self, from: SimTime, rpm: u32, phase: Phase) {
        let missing = |rotor: &Self, since: SimTime| {
            let second = next_second(since, phase.second);
            let off = phase.turn - rotor.turn(second);
            (off + 0.5).rem_euclid(1.0) - 0.5
        };
        let mut gain = missing(self, from);
        if gain.abs() < PHASE_TOLERANCE {
            return;
        }
        // Up and down again, half_s each, gains acceleration * half_s^2.
        let pace = f64::from(self.acceleration_rpm_s);
        let half_s = |gain: f64| (gain.abs() * 60.0 / pace).sqrt();
        if gain < 0.0 && pace * half_s(gain) > f64::from(rpm) {
            gain += 1.0; // it cannot slow down so much
        }
        let half_s = half_s(gain);
        let pace = pace * gain.signum();
        let (mut at, mut turn) = (from, self.turn(from));
        self.stretches.retain(|stretch| stretch.from < from);
        let speeds = [(f64::from(rpm), pace), (f64::from(rpm) + pace * half_s, -pace)];
        for (rpm, acceleration_rpm_s) in speeds {
            let motion = Motion::Changing { rpm, acceleration_rpm_s };
            let stretch = Stretch { from: at, turn, motion };
            self.stretches.push(stretch);
            at = later(at, half_s);
            turn = stretch.turned(at).rem_euclid(1.0);
        }
        self.stretches.push(Stretch { from: at, turn, motion: Motion::Even { rpm } });
        // What rounding to nanoseconds has left.
        let rest = missing(self, at);
        if rest.abs() < PHASE_TOLERANCE
            && let Some(last) = self.stretches.last_mut()
        {
            last.turn = (last.turn + rest).rem_euclid(1.0);
        }
    }

    fn index(&self, at: SimTime) -> usize {
        self.stretches.iter().rposition(|stretch| stretch.from <= at).unwrap_or(0)
    }

    fn stretch(&self, at: SimTime) -> &Stretch {
        &self.stretches[self.index(at)]
    }
}

impl Stretch {
    fn seconds_in(&self, at: SimTime) -> f64 {
        at.0.saturating_sub(self.from.0) as f64 * 1e-9
    }

    /// The angle at `at`; full turns count, but those of an even stretch do not.
    fn turned(&self, at: SimTime) -> f64 {
        match self.motion {
            Motion::Even { rpm } => {
                // Whole numbers until the last step, so that no day is long enough to drift.
                let past_ns = at.0.saturating_sub(self.from.0);
                let turned = match past_ns.checked_mul(rpm.into()) {
                    Some(product) => product % MINUTE_NS as u64,
                    // After months.
                    None => (u128::from(past_ns) * u128::from(rpm) % MINUTE_NS) as u64,
                };
                turned as f64 / MINUTE_NS as f64 + self.turn
            }
            Motion::Changing { rpm, acceleration_rpm_s } => {
                let past_s = self.seconds_in(at);
                self.turn + (rpm + 0.5 * acceleration_rpm_s * past_s) * past_s / 60.0
            }
        }
    }

    fn rpm(&self, at: SimTime) -> f64 {
        match self.motion {
            Motion::Even { rpm } => rpm.into(),
            Motion::Changing { rpm, acceleration_rpm_s } => {
                rpm + acceleration_rpm_s * self.seconds_in(at)
            }
        }
    }

    /// What it makes of a sweep that starts at `start`, from `from` on.
    fn piece(&self, start: SimTime, from: SimTime) -> RotorPiece {
        RotorPiece {
            from_ns: from.0 - start.0,
            azimuth_rad: self.turned(from).rem_euclid(1.0) * TAU,
            rate_rad_s: self.rpm(from) / 60.0 * TAU,
            acceleration_rad_s2: match self.motion {
                Motion::Even { .. } => 0.0,
                Motion::Changing { acceleration_rpm_s, .. } => acceleration_rpm_s / 60.0 * TAU,
            },
        }
    }

    /// The first instant after `from`, not after `end`, by which angle 0 has come. At most one turn
    /// of an even stretch is looked at.
    fn first_zero(&self, from: SimTime, end: SimTime) -> Option<SimTime> {
        let whole_turns = |at: SimTime| match self.motion {
            // Counted from the stretch's start in whole numbers, as `turned` leaves turns out.
            Motion::Even { rpm } => {
                let turned = u128::from(at.0 - self.from.0) * u128::from(rpm);
                let part = (turned % MINUTE_NS) as f64 / MINUTE_NS as f64 + self.turn;
                (turned / MINUTE_NS) as f64 + part.floor()
            }
            Motion::Changing { .. } => self.turned(at).floor(),
        };
        let begun = whole_turns(from);
        if whole_turns(end) <= begun {
            return None;
        }
        let (mut before, mut by) = (from.0, end.0);
        while by - before > 1 {
            let middle = before + (by - before) / 2;
            if whole_turns(SimTime(middle)) > begun { by = middle } else { before = middle }
        }
        Some(SimTime(by))
    }
}

fn later(at: SimTime, seconds: f64) -> SimTime {
    SimTime(at.0 + SimTime::from_secs_f64(seconds).0)
}

/// The first instant not before `at` that is whole seconds from `second`.
fn next_second(at: SimTime, second: SimTime) -> SimTime {
    let wanted = second.0 % SECOND_NS;
    SimTime(at.0 + (wanted + SECOND_NS - at.0 % SECOND_NS) % SECOND_NS)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::config::rig::schedule::Schedule;

    const S: u64 = SECOND_NS;

    #[test]
    fn a_day_does_not_drift() {
        let rotor = Rotor::turning(600, 0.0, 200);
        assert_eq!(rotor.turn(SimTime(86_400 * S)), 0.0);
        assert_eq!(rotor.turn(SimTime(86_400 * S + 25_000_000)), 0.25);
        assert_eq!(rotor.next_zero(SimTime(86_400 * S)), Some(SimTime(86_400 * S + 100_000_000)));
        let centuries = u64::MAX / S;
        assert_eq!(rotor.turn(SimTime(centuries * S + 25_000_000)), 0.25);
    }

    #[test]
    fn spin_up_takes_three_seconds_and_fifteen_turns() {
        let mut rotor = Rotor::turning(0, 0.25, 200);
        assert!(rotor.is_still(SimTime(5 * S)));
        assert_eq!(rotor.next_zero(SimTime(5 * S)), None);
        rotor.schedule(SimTime(S), 600, None);
        assert_eq!(rotor.rpm(SimTime(S)), 0.0);
        assert_eq!(rotor.rpm(SimTime(2 * S)), 200.0);
        assert_eq!(rotor.rpm(SimTime(9 * S)), 600.0);
        // After t seconds: 200 / 60 / 2 t^2 turns.
        let turned = |t: f64| (0.25 + 200.0 / 120.0 * t * t).rem_euclid(1.0);
        assert!((rotor.turn(SimTime(2 * S)) - turned(1.0)).abs() < 1e-12);
        assert!((rotor.turn(SimTime(4 * S)) - turned(3.0)).abs() < 1e-12);
        let zero = rotor.next_zero(SimTime::ZERO).unwrap();
        assert!((zero.as_secs_f64() - 1.0 - (0.75f64 * 120.0 / 200.0).sqrt()).abs() < 2e-9);
    }

    #[test]
    fn a_motion_tells_every_piece() {
        let mut rotor = Rotor::turning(600, 0.0, 200);
        rotor.schedule(SimTime(S), 660, None);
        let start = SimTime(S - 50_000_000);
        let motion = rotor.motion(start, SimTime(2 * S));
        for ms in (0..1000).step_by(10) {
            let at = SimTime(start.0 + ms * 1_000_000);
            let told = motion.azimuth_at(at.0 - start.0) / TAU;
            let off = (told - rotor.turn(at) + 0.5).rem_euclid(1.0) - 0.5;
            assert!(off.abs() < 1e-9, "{ms} ms: {told} {}", rotor.turn(at));
        }
    }

    fn stall(
        start: u64,
        duration: u64,
        period: Option<u64>,
        stops_within_ns: Option<u64>,
    ) -> Timed<MotorStall> {
        let schedule =
            Schedule { start: SimTime(start), duration_ns: Some(duration), period_ns: period };
        Timed { fault: 3, schedule, kind: MotorStall { stops_within_ns } }
    }

    #[test]
    fn a_held_rotor_stops_and_spins_up_again() {
        let mut rotor = Rotor::turning(600, 0.0, 200);
        rotor.suffer(&[stall(S, 2 * S, None, Some(S / 2))]);
        rotor.look_ahead(SimTime(9 * S));
        for (ms, rpm) in [(999, 600.0), (1250, 300.0), (1500, 0.0), (2999, 0.0), (4000, 200.0)] {
            assert!((rotor.rpm(SimTime(ms * 1_000_000)) - rpm).abs() < 1e-6, "{ms}");
        }
        assert_eq!(rotor.rpm(SimTime(6 * S)), 600.0);
        assert!(rotor.is_still(SimTime(2 * S)));
        // Ten turns, and half a second at 300 rpm on the average.
        assert!((rotor.turn(SimTime(2 * S)) - 0.5).abs() < 1e-9);
        assert_eq!(rotor.fault_effects(SimTime(0), SimTime(S - 1)), []);
        let fault_effects = rotor.fault_effects(SimTime(S - 1000), SimTime(S));
        assert_eq!(
            fault_effects,
            [FaultEffect { fault: 3, window: 0, kind: EffectKind::Stalled { rpm: 600 } }]
        );
    }

    #[test]
    fn a_command_waits_for_the_rotor_to_be_let_go() {
        let mut rotor = Rotor::turning(600, 0.0, 200);
        rotor.suffer(&[stall(S, 10 * S, None, None)]);
        rotor.look_ahead(SimTime(6 * S));
        rotor.schedule(SimTime(2 * S), 300, None);
        rotor.look_ahead(SimTime(15 * S));
        assert!((rotor.rpm(SimTime(2 * S)) - 400.0).abs() < 1e-6, "it slows down as before");
        assert_eq!(rotor.rpm(SimTime(11 * S - 1)), 0.0);
        assert_eq!(rotor.rpm(SimTime(13 * S)), 300.0);
    }

    proptest! {
        /// A rotor that is held again and again never jumps, and does not depend on how far it was
        /// looked ahead, nor on commands that repeat what it does.
        #[test]
        fn a_held_rotor_never_jumps(
            stalls in prop::collection::vec((0u64..6_000, 1u64..3_000, 1u64..2_000, 10u64..2_000), 1..3),
            steps in prop::collection::vec(1u64..5_000, 1..6),
        ) {
            let ms = |ms: u64| ms * 1_000_000;
            let stalls: Vec<_> = stalls.into_iter().map(|(start, duration, gap, stops)| {
                stall(ms(start), ms(duration), Some(ms(duration + gap)), Some(ms(stops)))
            }).collect();
            let fresh = || {
                let mut rotor = Rotor::turning(600, 0.25, 400);
                rotor.suffer(&stalls);
                rotor
            };
            let (mut at_once, mut by_steps) = (fresh(), fresh());
            at_once.look_ahead(SimTime(20 * S));
            let mut to = 0;
            for step in steps {
                to += ms(step);
                by_steps.look_ahead(SimTime(to));
                if step % 2 == 0 {
                    by_steps.schedule(SimTime(ms(1)), 600, None);
                    at_once.schedule(SimTime(ms(1)), 600, None);
                }
            }
            by_steps.look_ahead(SimTime(20 * S));
            let mut last = (at_once.turn(SimTime::ZERO), at_once.rpm(SimTime::ZERO));
            for k in 1..20_000 {
                let now = SimTime(ms(k));
                let (turn, rpm) = (at_once.turn(now), at_once.rpm(now));
                prop_assert_eq!(by_steps.turn(now), turn, "{}", now);
                let moved = (turn - last.0 + 0.5).rem_euclid(1.0) - 0.5;
                prop_assert!((-1e-6..0.011).contains(&moved), "{now}: {moved}");
                let fastest = if rpm > last.1 { 0.4001 } else { 60.001 };
                prop_assert!((rpm - last.1).abs() <= fastest, "{now}: {rpm} after {}", last.1);
                let before = SimTime(ms(k - 1));
                let is_held = stalls.iter().any(|stall| {
                    let window = stall.schedule.window_at(before);
                    window.is_some() && window == stall.schedule.window_at(now)
                });
                prop_assert!(!is_held || rpm <= last.1, "{now}: {rpm} after {}", last.1);
                last = (turn, rpm);
            }
        }

        /// Whatever is asked for in whatever order, the angle never jumps or turns back, the
        /// motor's pace is kept, and the last wish comes true.
        #[test]
        fn the_rotor_never_jumps(
            wishes in prop::collection::vec((0u64..3_000, 0u32..20, prop::option::of(0.0..1.0)), 1..8),
        ) {
            let mut rotor = Rotor::turning(600, 0.0, 240);
            let mut at = 0;
            for (wait_ms, rpm, phase) in &wishes {
                at += wait_ms * 1_000_000;
                let phase = phase.map(|turn| Phase { turn, second: SimTime(300_000_000) });
                rotor.schedule(SimTime(at), rpm * 60, phase);
            }
            let step = 1_000_000;
            let mut last = (rotor.turn(SimTime::ZERO), rotor.rpm(SimTime::ZERO));
            for k in 1..(at + 12 * S) / step {
                let now = SimTime(k * step);
                let (turn, rpm) = (rotor.turn(now), rotor.rpm(now));
                let moved = (turn - last.0 + 0.5).rem_euclid(1.0) - 0.5;
                prop_assert!(moved >= -3e-6, "{now}: {moved}");
                let expected = (rpm + last.1) / 2.0 / 60.0 * 1e-3;
                prop_assert!((moved - expected).abs() < 3e-6, "{now}: {moved} {expected}");
                prop_assert!((rpm - last.1).abs() < 0.2401, "{now}: {rpm} after {}", last.1);
                last = (turn, rpm);
            }
            let (_, rpm, phase) = wishes[wishes.len() - 1];
            prop_assert_eq!(last.1, f64::from(rpm * 60));
            if let Some(turn) = phase.filter(|_| rpm > 0) {
                let second = next_second(SimTime(at + 11 * S), SimTime(300_000_000));
                let off = (rotor.turn(second) - turn + 0.5).rem_euclid(1.0) - 0.5;
                prop_assert!(off.abs() < 2e-6, "{off}");
            }
        }

        #[test]
        fn zero_is_found_where_the_angle_wraps(
            rpm in 1u32..1200, start in 0.0f64..1.0, after in 0u64..10_000_000_000,
        ) {
            let mut rotor = Rotor::turning(600, start, 200);
            rotor.schedule(SimTime(2 * S), rpm, None);
            let zero = rotor.next_zero(SimTime(after)).unwrap();
            prop_assert!(zero.0 > after);
            prop_assert!(rotor.turn(zero) < 1e-6);
            prop_assert!(rotor.turn(SimTime(zero.0 - 1)) > 1.0 - 1e-6);
        }
    }
}
