//! Joints whose motion the rig defines.

use std::f64::consts::TAU;

use super::JointState;
use crate::config::rig::joint_table::JointTable;
use crate::config::rig::joints::{Jam, JointMotion};
use crate::time::SimTime;

/// Position of a joint over time. While a fault holds the joint, the joint's own time stops; afterwards the motion
/// continues from the held position.
#[derive(Clone, Debug)]
pub(super) struct Scheduled {
    start: f64,
    curve: Curve,
    jam: Option<Jam>,
}

#[derive(Clone, Debug)]
enum Curve {
    Rate(f64),
    Sine { amplitude: f64, angular_rate_rad_s: f64, phase_rad: f64 },
    Table(JointTable),
}

impl Scheduled {
    /// Creates a motion. `start` is the position at the start of the run, or the middle of a sine; a table does not
    /// use it. A commanded joint stays at `start`.
    pub(super) fn new(start: f64, motion: &JointMotion, jam: Option<Jam>) -> Self {
        let curve = match motion {
            JointMotion::ConstantRate { rate } => Curve::Rate(*rate),
            JointMotion::Sine { amplitude, period_s, phase_rad } => Curve::Sine {
                amplitude: *amplitude,
                angular_rate_rad_s: TAU / period_s,
                phase_rad: *phase_rad,
            },
            JointMotion::Table(table) => Curve::Table(table.clone()),
            JointMotion::Commanded { .. } => Curve::Rate(0.0),
        };
        Self { start, curve, jam }
    }

    pub(super) fn state(&self, t: SimTime) -> JointState {
        let [own_s, pace, pace_change] = match &self.jam {
            None => [t.as_secs_f64(), 1.0, 0.0],
            Some(jam) => own_time(jam, t),
        };
        let [position, rate, acceleration] = match &self.curve {
            Curve::Rate(rate) => [self.start + rate * own_s, *rate, 0.0],
            Curve::Sine { amplitude, angular_rate_rad_s, phase_rad } => {
                let (sin, cos) = libm::sincos(angular_rate_rad_s * own_s + phase_rad);
                let rate = amplitude * angular_rate_rad_s;
                [self.start + amplitude * sin, rate * cos, -rate * angular_rate_rad_s * sin]
            }
            Curve::Table(table) => table.at(own_s),
        };
        JointState {
            position,
            rate: rate * pace,
            acceleration: acceleration * pace * pace + rate * pace_change,
        }
    }
}

/// Time of the joint's motion, seconds, and its first and second derivative. The time stops while a fault holds the
/// joint.
///
/// The rate of this time decreases linearly to zero from the start of each window of the fault, and increases linearly
/// to one before the window's end. In a window that is too short for this, the rate decreases during the first half and
/// increases during the second half, without reaching zero.
fn own_time(jam: &Jam, t: SimTime) -> [f64; 3] {
    let schedule = &jam.schedule;
    let seconds = |ns: u64| ns as f64 * 1e-9;
    if t < schedule.start {
        return [t.as_secs_f64(), 1.0, 0.0];
    }
    let ramp_ns = jam.jam.stops_within_ns.max(1);
    let half_ns = schedule.duration_ns.map(|duration| (duration / 2).max(1));
    let braking_ns = half_ns.map_or(ramp_ns, |half| half.min(ramp_ns));
    let (ramp_s, braking_s) = (seconds(ramp_ns), seconds(braking_ns));
    // Rate at the end of braking.
    let least = 1.0 - braking_s / ramp_s;
    // Own time that the joint loses in a whole window.
    let cost_s = |duration_ns: u64| {
        let held_s = seconds(duration_ns.saturating_sub(2 * braking_ns));
        braking_s * (1.0 - least) + held_s * (1.0 - least)
    };
    let window = schedule.period_ns.map_or(0, |period| (t.0 - schedule.start.0) / period);
    let (opens, closes) = schedule.window(window);
    let earlier_s = schedule.duration_ns.map_or(0.0, |duration| window as f64 * cost_s(duration));
    let since_ns = t.0 - opens.0;
    let left_ns = closes.map(|closes| closes.0.saturating_sub(t.0));
    let (lost_s, pace, change) = match (left_ns, schedule.duration_ns) {
        (Some(0), Some(duration)) => (cost_s(duration), 1.0, 0.0),
        _ if since_ns < braking_ns => {
            let since_s = seconds(since_ns);
            (0.5 * since_s * since_s / ramp_s, 1.0 - since_s / ramp_s, -1.0 / ramp_s)
        }
        (Some(left_ns), Some(duration)) if left_ns < braking_ns => {
            let left_s = seconds(left_ns);
            let lost_s = cost_s(duration) - 0.5 * left_s * left_s / ramp_s;
            (lost_s, 1.0 - left_s / ramp_s, 1.0 / ramp_s)
        }
        _ => {
            let held_s = seconds(since_ns - braking_ns);
            let lost_s = 0.5 * braking_s * (1.0 - least) + held_s * (1.0 - least);
            (lost_s, least, 0.0)
        }
    };
    [t.as_secs_f64() - earlier_s - lost_s, pace, change]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::rig::joints::JointJam;
    use crate::config::rig::schedule::Schedule;

    fn jam(
        start_s: f64,
        duration_s: Option<f64>,
        period_s: Option<f64>,
        stops_within_s: f64,
    ) -> Jam {
        let ns = |s: f64| (s * 1e9).round() as u64;
        let schedule = Schedule {
            start: SimTime(ns(start_s)),
            duration_ns: duration_s.map(ns),
            period_ns: period_s.map(ns),
        };
        Jam { fault: 0, schedule, jam: JointJam { stops_within_ns: ns(stops_within_s) } }
    }

    #[test]
    fn a_joint_that_is_held_goes_on_from_where_it_stood() {
        for (jam, held_s) in [
            (jam(1.0, None, None, 0.1), None),
            (jam(1.0, Some(0.5), Some(1.25), 0.1), Some(0.3)),
            (jam(1.0, Some(0.08), Some(1.25), 0.1), Some(0.0)),
        ] {
            let motion = JointMotion::ConstantRate { rate: 2.0 };
            let joint = Scheduled::new(0.5, &motion, Some(jam));
            let state = |t: f64| joint.state(SimTime::from_secs_f64(t));
            assert_eq!(state(0.9), JointState { position: 2.3, rate: 2.0, acceleration: 0.0 });
            let mut still_s = 0.0f64;
            for step in 0..5_000 {
                let t = 0.0005 + f64::from(step) * 1e-3;
                let (before, now, after) = (state(t - 1e-4), state(t), state(t + 1e-4));
                let rate = (after.position - before.position) / 2e-4;
                assert!((rate - now.rate).abs() < 1e-2, "{t} {rate} {now:?}");
                assert!(now.acceleration.abs() < 20.1, "{now:?}");
                assert!((-1e-12..=2.0).contains(&now.rate), "{now:?}");
                still_s += if now.rate.abs() < 1e-9 { 1e-3 } else { 0.0 };
            }
            match held_s {
                // 4 s minus the tenth of a second that stopping takes.
                None => assert!((still_s - 3.9).abs() < 0.01, "{still_s}"),
                // Windows at 1, 2.25, 3.5 and 4.75 s.
                Some(held_s) => {
                    let last_s = if held_s > 0.0 { 0.15 } else { 0.0 };
                    assert!((still_s - 3.0 * held_s - last_s).abs() < 0.01, "{still_s}");
                }
            }
        }
    }

    #[test]
    fn a_sine_swings_about_its_start() {
        let motion = JointMotion::Sine { amplitude: 0.4, period_s: 2.0, phase_rad: 0.3 };
        let joint = Scheduled::new(0.1, &motion, None);
        for t in [0.2, 0.7, 1.9, 5.4] {
            let state = |t: f64| joint.state(SimTime::from_secs_f64(t));
            let (before, now, after) = (state(t - 1e-4), state(t), state(t + 1e-4));
            assert!(((after.position - before.position) / 2e-4 - now.rate).abs() < 1e-6);
            assert!(((after.rate - before.rate) / 2e-4 - now.acceleration).abs() < 1e-5);
            assert!((now.position - 0.1).abs() <= 0.4);
        }
    }
}
