//! A joint whose device commands an angle or a rate, limited by the motor's rate and acceleration.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};

use super::JointState;
use crate::config::rig::joints::Jam;
use crate::time::SimTime;
use crate::world::actuation::{Actuation, Command};

/// Length of an integration step, nanoseconds.
const STEP_NS: u64 = 1_000_000;
const STEP_S: f64 = 1e-3;
/// Number of stored steps: two minutes. An assumption: no sensor needs older states.
const MOST_STEPS: usize = 120_000;
/// Largest number of waiting commands. If there are more, the earliest command is dropped.
const MOST_ORDERS: usize = 10_000;

/// A joint with its motor. Set points of rate and angle take effect at whole milliseconds. Within a
/// millisecond the acceleration is constant, except in the last step to an angle.
///
/// For a rate set point, the joint accelerates or brakes at its limit. For an angle, the rate is the highest from which the
/// joint can still stop at that angle, so that the rate over time is a trapezoid. Near an end stop, the joint brakes by
/// itself and comes to rest there.
#[derive(Debug)]
pub(super) struct Commanded {
    start: f64,
    plant: Mutex<Plant>,
    history: RwLock<History>,
}

/// Set point of the joint.
#[derive(Clone, Copy, Debug, PartialEq)]
enum SetPoint {
    Rate(f64),
    /// Target position (rad or m), and the highest rate of the motion to this position (rad/s or m/s).
    Position(f64, f64),
}

#[derive(Debug)]
struct Plant {
    max_rate: f64,
    max_acceleration: f64,
    limits: [f64; 2],
    jam: Option<Jam>,
    /// Waiting commands, by the time when they take effect and then by order of arrival.
    orders: BTreeMap<(SimTime, u64), SetPoint>,
    set_point: SetPoint,
    /// Position at the last whole millisecond.
    position: f64,
    rate: f64,
}

/// Position and rate at each whole millisecond (`knots`), oldest first.
#[derive(Debug)]
struct History {
    /// Number of the oldest stored millisecond, counted from the start of the run.
    first: u64,
    knots: VecDeque<[f64; 2]>,
}

impl Commanded {
    /// Creates a joint at rest at the position `start`. `limits` are the positions of its end stops; `jam` is a fault that
    /// holds the joint.
    pub(super) fn new(
        start: f64,
        [max_rate, max_acceleration]: [f64; 2],
        limits: Option<[f64; 2]>,
        jam: Option<Jam>,
    ) -> Self {
        let plant = Plant {
            max_rate,
            max_acceleration,
            limits: limits.unwrap_or([f64::NEG_INFINITY, f64::INFINITY]),
            jam,
            orders: BTreeMap::new(),
            set_point: SetPoint::Rate(0.0),
            position: start,
            rate: 0.0,
        };
        let history = History { first: 0, knots: [[start, 0.0]].into() };
        Self { start, plant: Mutex::new(plant), history: RwLock::new(history) }
    }

    /// Resets the joint to its start position, at rest. Drops all commands and the history.
    pub(super) fn restart(&self) {
        let mut plant = self.plant();
        plant.orders.clear();
        (plant.set_point, plant.position, plant.rate) = (SetPoint::Rate(0.0), self.start, 0.0);
        let mut history = self.history.write().unwrap_or_else(PoisonError::into_inner);
        *history = History { first: 0, knots: [[self.start, 0.0]].into() };
    }

    fn plant(&self) -> MutexGuard<'_, Plant> {
        self.plant.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn command(&self, command: Command) {
        let set_point = match command.actuation {
            Actuation::JointRate { rate_rad_s, .. } if rate_rad_s.is_finite() => {
                SetPoint::Rate(rate_rad_s)
            }
            Actuation::JointAngle { angle_rad, max_rate_rad_s, .. }
                if angle_rad.is_finite() && max_rate_rad_s.is_finite() =>
            {
                SetPoint::Position(angle_rad, max_rate_rad_s.abs())
            }
            _ => return,
        };
        let mut plant = self.plant();
        let at = command.at.max(self.known_until());
        plant.orders.insert((at, command.serial), set_point);
        if plant.orders.len() > MOST_ORDERS {
            plant.orders.pop_first();
        }
    }

    pub(super) fn advance(&self, until: SimTime) {
        let mut plant = self.plant();
        let mut at = self.known_until();
        let mut knots = Vec::new();
        while at.0.saturating_add(STEP_NS) <= until.0 {
            knots.push(plant.step(at));
            at = SimTime(at.0 + STEP_NS);
            if knots.len() >= MOST_STEPS {
                self.remember(&mut knots);
            }
        }
        self.remember(&mut knots);
    }

    fn remember(&self, knots: &mut Vec<[f64; 2]>) {
        let mut history = self.history.write().unwrap_or_else(PoisonError::into_inner);
        history.knots.extend(knots.drain(..));
        let too_many = history.knots.len().saturating_sub(MOST_STEPS);
        history.knots.drain(..too_many);
        history.first += too_many as u64;
    }

    /// Number of the first millisecond, and positions and rates at whole milliseconds from then on. The first
    /// millisecond is `from`, or the oldest stored one.
    pub(super) fn knots_from(&self, from: u64) -> (u64, Vec<[f64; 2]>) {
        let history = self.history.read().unwrap_or_else(PoisonError::into_inner);
        let first = from.max(history.first);
        let skipped = ((first - history.first) as usize).min(history.knots.len());
        (first, history.knots.range(skipped..).copied().collect())
    }

    /// Appends motion that another process has simulated for this joint. `knots` start with millisecond `first`;
    /// milliseconds that are already stored are skipped.
    pub(super) fn repeat(&self, first: u64, knots: &[[f64; 2]]) {
        let next = {
            let history = self.history.read().unwrap_or_else(PoisonError::into_inner);
            history.first + history.knots.len() as u64
        };
        let known = (next.saturating_sub(first) as usize).min(knots.len());
        self.remember(&mut knots[known..].to_vec());
    }

    pub(super) fn known_until(&self) -> SimTime {
        let history = self.history.read().unwrap_or_else(PoisonError::into_inner);
        SimTime((history.first + history.knots.len() as u64 - 1) * STEP_NS)
    }

    /// Position, rate and acceleration at `t`. At a whole millisecond, where the acceleration can jump, it is that of
    /// the step that ends there, because the next step may not be computed yet. After the last computed step, the
    /// joint stands still at its last position.
    pub(super) fn state(&self, t: SimTime) -> JointState {
        let history = self.history.read().unwrap_or_else(PoisonError::into_inner);
        let whole = t.0 / STEP_NS;
        let (step, after_s) = match t.0 % STEP_NS {
            0 if whole > 0 => (whole - 1, STEP_S),
            after_ns => (whole, after_ns as f64 * 1e-9),
        };
        let knot = |step: u64| {
            let place = usize::try_from(step.checked_sub(history.first)?).ok()?;
            history.knots.get(place).copied()
        };
        let (Some([p0, r0]), Some([p1, r1])) = (knot(step), knot(step + 1)) else {
            let forgotten = history.knots.front().filter(|_| step < history.first);
            let held = forgotten.or_else(|| history.knots.back());
            let [position, _] = held.copied().unwrap_or_default();
            return JointState { position, rate: 0.0, acceleration: 0.0 };
        };
        let mean = (p1 - p0) / STEP_S;
        let bend = (3.0 * mean - 2.0 * r0 - r1) / STEP_S;
        let twist = (r0 + r1 - 2.0 * mean) / (STEP_S * STEP_S);
        JointState {
            position: p0 + after_s * (r0 + after_s * (bend + after_s * twist)),
            rate: r0 + after_s * (2.0 * bend + 3.0 * after_s * twist),
            acceleration: 2.0 * bend + 6.0 * after_s * twist,
        }
    }
}

impl Plant {
    /// Integrates one step from `at`; returns position and rate at its end.
    fn step(&mut self, at: SimTime) -> [f64; 2] {
        while let Some(order) = self.orders.first_entry().filter(|order| order.key().0 <= at) {
            self.set_point = order.remove();
        }
        let most = self.max_acceleration * STEP_S;
        let next = match self.jam.filter(|jam| jam.schedule.window_at(at).is_some()) {
            Some(jam) => {
                let stops_within_s = (jam.jam.stops_within_ns as f64 * 1e-9).max(STEP_S);
                let brake = self.max_rate / stops_within_s * STEP_S;
                self.rate - self.rate.clamp(-brake, brake)
            }
            None => {
                let ([mut low, mut high], wanted) = match self.set_point {
                    SetPoint::Rate(rate) => (self.limits, rate),
                    SetPoint::Position(goal, at_most) => {
                        let goal = goal.clamp(self.limits[0], self.limits[1]);
                        let left = goal - self.position;
                        if left.abs() <= 0.5 * most * STEP_S && self.rate.abs() <= most {
                            (self.position, self.rate) = (goal, 0.0);
                            return [goal, 0.0];
                        }
                        match left >= 0.0 {
                            true => ([self.limits[0], goal], at_most),
                            false => ([goal, self.limits[1]], -at_most),
                        }
                    }
                };
                // If the joint is already beyond a limit, it stops at its present position.
                (low, high) = (low.min(self.position), high.max(self.position));
                let wanted = wanted.clamp(-self.max_rate, self.max_rate);
                let up = self.stoppable(high - self.position, self.rate);
                let down = -self.stoppable(self.position - low, -self.rate);
                let next = wanted.min(up).max(down);
                next.clamp(self.rate - most, self.rate + most)
            }
        };
        let [low, high] = self.limits;
        self.position += 0.5 * (self.rate + next) * STEP_S;
        self.rate = next;
        if self.position <= low || self.position >= high {
            self.position = self.position.clamp(low, high);
            self.rate = 0.0;
        }
        [self.position, self.rate]
    }

    /// The highest rate at the end of a step from which the joint can stop within the distance `left`. The step
    /// starts at `rate`.
    fn stoppable(&self, left: f64, rate: f64) -> f64 {
        if left.is_infinite() {
            return f64::INFINITY;
        }
        let a = self.max_acceleration;
        let rest = left - 0.5 * rate * STEP_S;
        let under_root = 0.25 * STEP_S * STEP_S + 2.0 * rest / a;
        if under_root <= 0.0 { f64::NEG_INFINITY } else { a * (under_root.sqrt() - 0.5 * STEP_S) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::rig::joints::JointJam;
    use crate::config::rig::schedule::Schedule;

    fn joint(limits: Option<[f64; 2]>, jam: Option<Jam>) -> Commanded {
        Commanded::new(0.0, [2.0, 8.0], limits, jam)
    }

    fn told(at_ms: u64, serial: u64, actuation: Actuation) -> Command {
        let at = SimTime(at_ms * STEP_NS);
        Command { at, serial, arrived: at, actuation }
    }

    fn rate(rate_rad_s: f64) -> Actuation {
        Actuation::JointRate { joint: 0, rate_rad_s }
    }

    fn angle(angle_rad: f64) -> Actuation {
        Actuation::JointAngle { joint: 0, angle_rad, max_rate_rad_s: 9.0 }
    }

    /// Integrates to `until_ms`, and checks limits and that rates are derivatives of positions.
    fn run(joint: &Commanded, until_ms: u64) {
        joint.advance(SimTime(until_ms * STEP_NS));
        assert_eq!(joint.known_until(), SimTime(until_ms * STEP_NS));
        for ms in 1..until_ms {
            let at = |ns: u64| joint.state(SimTime(ns));
            let (before, now) = (at(ms * STEP_NS - 1), at(ms * STEP_NS));
            assert!((before.position - now.position).abs() < 1e-8, "{ms} {before:?} {now:?}");
            assert!((before.rate - now.rate).abs() < 1e-4, "{ms} {before:?} {now:?}");
            assert!(now.rate.abs() <= 2.0 + 1e-12, "{now:?}");
            // The last step to an angle is an exception.
            let jerk = now.acceleration.abs() <= 8.0 + 1e-6 || now.rate.abs() < 2e-2;
            assert!(jerk, "{ms} {now:?}");
        }
    }

    #[test]
    fn it_goes_to_an_angle_by_a_trapezoid_and_stays() {
        for goal in [3.0, -0.2, 1e-4, 100.0] {
            let joint = joint(None, None);
            joint.command(told(100, 1, angle(goal)));
            // The joint needs 0.25 s and 0.25 rad to reach the full rate, and as much to stop.
            let whole_s = if goal.abs() > 0.5 {
                0.5 + (goal.abs() - 0.5) / 2.0
            } else {
                2.0 * (goal.abs() / 8.0).sqrt()
            };
            let there_ms = 100 + (whole_s * 1e3) as u64;
            run(&joint, there_ms + 500);
            let state = |ms: u64| joint.state(SimTime(ms * STEP_NS));
            assert_eq!(state(100).position, 0.0);
            assert!((state(there_ms + 20).position - goal).abs() < 1e-9, "{goal}");
            assert_eq!(state(there_ms + 300), JointState { position: goal, ..Default::default() });
            if whole_s > 0.05 {
                let early = state(there_ms - 20).position;
                assert!((early - goal).abs() > 1e-4, "{goal} {early}");
            }
            let highest = (0..there_ms).map(|ms| state(ms).position.abs()).fold(0.0, f64::max);
            assert!(highest <= goal.abs() + 1e-9, "{highest} of {goal}");
        }
    }

    #[test]
    fn it_goes_no_faster_than_it_is_told() {
        let joint = joint(None, None);
        let slowly = Actuation::JointAngle { joint: 0, angle_rad: 1.0, max_rate_rad_s: 0.5 };
        joint.command(told(0, 1, slowly));
        run(&joint, 4000);
        let rates = (0..4000).map(|ms| joint.state(SimTime(ms * STEP_NS)).rate);
        assert!((rates.fold(0.0, f64::max) - 0.5).abs() < 1e-9);
        assert_eq!(joint.state(SimTime(3000 * STEP_NS)).position, 1.0);
    }

    #[test]
    fn it_turns_at_a_rate_until_it_is_told_otherwise() {
        let joint = joint(None, None);
        joint.command(told(0, 1, rate(5.0)));
        joint.command(told(1000, 2, rate(-1.0)));
        joint.command(told(1000, 3, rate(-0.5)));
        run(&joint, 2000);
        let state = |ms: u64| joint.state(SimTime(ms * STEP_NS));
        assert!((state(900).rate - 2.0).abs() < 1e-12, "its own highest");
        assert!((state(1999).rate + 0.5).abs() < 1e-12, "the later of two at one instant");
        assert!((state(1000).position - (0.25 + 0.75 * 2.0)).abs() < 1e-9);
    }

    #[test]
    fn it_stops_before_its_limits() {
        for told_to in [rate(2.0), angle(9.0)] {
            let joint = joint(Some([-1.0, 1.5]), None);
            joint.command(told(0, 1, told_to));
            run(&joint, 3000);
            for ms in 0..3000 {
                assert!(joint.state(SimTime(ms * STEP_NS)).position <= 1.5);
            }
            let end = joint.state(SimTime(2900 * STEP_NS));
            assert!((end.position - 1.5).abs() < 1e-3 && end.rate.abs() < 1e-2, "{end:?}");
        }
    }

    #[test]
    fn an_order_never_changes_what_is_known() {
        let joint = joint(None, None);
        joint.advance(SimTime(500 * STEP_NS));
        joint.command(told(100, 1, rate(1.0)));
        joint.advance(SimTime(700 * STEP_NS));
        assert_eq!(joint.state(SimTime(500 * STEP_NS)), JointState::default());
        assert!(joint.state(SimTime(600 * STEP_NS)).position > 0.0);
        // After the known motion, the position is held.
        let last = joint.state(SimTime(700 * STEP_NS));
        assert_eq!(joint.state(SimTime(9000 * STEP_NS)).position, last.position);
    }

    #[test]
    fn a_fault_holds_it_and_lets_it_go() {
        let schedule = Schedule {
            start: SimTime(1_000 * STEP_NS),
            duration_ns: Some(500 * STEP_NS),
            period_ns: None,
        };
        let jam = Jam { fault: 0, schedule, jam: JointJam { stops_within_ns: 20 * STEP_NS } };
        let joint = joint(None, Some(jam));
        joint.command(told(0, 1, rate(1.0)));
        joint.advance(SimTime(3_000 * STEP_NS));
        let state = |ms: u64| joint.state(SimTime(ms * STEP_NS));
        assert_eq!(state(1_400).rate, 0.0);
        assert_eq!(state(1_100).position, state(1_499).position);
        assert!((state(2_500).rate - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_copy_does_the_same_bit_by_bit() {
        let (original, copy) = (joint(None, None), joint(None, None));
        original.command(told(5, 1, angle(3.0)));
        original.command(told(700, 2, rate(-1.5)));
        let mut known = 0;
        for until_ms in [3, 4, 400, 1500] {
            original.advance(SimTime(until_ms * STEP_NS));
            let (first, knots) = original.knots_from(known);
            assert_eq!(first, known);
            copy.repeat(first, &knots);
            // Applying the same motion twice has no effect.
            copy.repeat(first, &knots);
            known = first + knots.len() as u64;
            assert_eq!(copy.known_until(), original.known_until());
        }
        for at_us in 0..1500 {
            let at = SimTime(at_us * 1_000_123);
            assert_eq!(copy.state(at), original.state(at));
        }
        assert!(copy.state(SimTime(1_400 * STEP_NS)).rate < 0.0);
    }

    #[test]
    fn memory_is_bounded() {
        let joint = joint(None, None);
        for serial in 0..20_000 {
            joint.command(told(1_000_000, serial, rate(1.0)));
        }
        assert!(joint.plant().orders.len() <= MOST_ORDERS);
        joint.advance(SimTime(300_000 * STEP_NS));
        assert_eq!(joint.known_until(), SimTime(300_000 * STEP_NS));
        assert!(joint.history.read().unwrap().knots.len() <= MOST_STEPS);
        // For a time before the history, the oldest stored state is returned.
        assert_eq!(joint.state(SimTime::ZERO).position, 0.0);
    }
}
