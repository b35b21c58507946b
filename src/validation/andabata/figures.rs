//! Experiment C1: compares the vehicle's equations with the motion of the driven robot.

use serde_json::{Value, json};

use super::Comparison;
use super::navigation::radius_m;
use crate::config::rig::drive::{DriveConfig, DriveModel};
use crate::time::SimTime;
use crate::world::actuation::{Actuation, Command};
use crate::world::raycast::BvhCaster;
use crate::world::scene::Scene;
use crate::world::vehicle::Driven;
use std::sync::Arc;

const Y_ICR_M: f64 = 0.45;
const LIMIT_M_S: f64 = 0.68;
const LAG_S: f64 = 0.035;
/// Largest accepted difference between the robot's simulated motion and the equations of Martínez et al. 2020, m/s or
/// rad/s.
const EXACT: f64 = 1e-9;

/// Results about the robot's motion.
pub(super) struct Kinematics {
    pub text: String,
    pub report: Value,
    pub comparisons: Vec<Comparison>,
}

/// State of the vehicle of Martínez et al. 2020 at `until`, after a command at time 0.
fn told(actuation: Actuation, until: SimTime) -> Driven {
    let model = DriveModel::SkidSteer { y_icr_m: [Y_ICR_M; 2], x_icr_m: 0.0, variation: None };
    let config = DriveConfig { max_speed_m_s: LIMIT_M_S, lag_s: LAG_S, ..DriveConfig::of(model) };
    let driven = Driven::new(config, [0.67, 0.54]);
    driven.command(Command { at: SimTime::ZERO, serial: 1, arrived: SimTime::ZERO, actuation });
    let caster = BvhCaster::new(Arc::new(Scene::default())).expect("an empty scene");
    driven.advance(until, &caster);
    driven
}

/// Computes the results of C1.
pub(super) fn kinematics() -> Kinematics {
    let settled = SimTime(2_000_000_000);
    let mut worst: f64 = 0.0;
    let mut compare = |found: f64, expected: f64| worst = worst.max((found - expected).abs());
    // Equations (3) to (6), for commands within and beyond the limit of the track speeds.
    for (forward_m_s, turn_rad_s) in
        [(0.3, 0.5), (0.3, 0.844), (0.3, 1.5), (-0.5, 1.0), (0.68, 0.0), (0.0, -3.0), (0.0, 1.4)]
    {
        let twist: (f64, f64) = (forward_m_s, turn_rad_s);
        let excess = ((twist.0.abs() + Y_ICR_M * twist.1.abs()) / LIMIT_M_S).max(1.0);
        let (v, w) = (twist.0 / excess, twist.1 / excess);
        let driven = told(Actuation::Twist { forward_m_s, turn_rad_s }, settled);
        let wheels = driven.wheels(SimTime(1_000_000));
        compare(wheels.setpoint_m_s[0], v - Y_ICR_M * w);
        compare(wheels.setpoint_m_s[1], v + Y_ICR_M * w);
        // Equations (1) and (2): the body's motion after the tracks have reached their speeds.
        let state = driven.state(SimTime(1_900_000_000));
        compare(state.velocity_m_s.length(), v.abs());
        compare(state.angular_rate_rad_s.z, w);
    }
    // The fastest turn at 0.3 m/s that needs no scaling.
    let fastest_rad_s = (LIMIT_M_S - 0.3) / Y_ICR_M;
    let step = told(Actuation::Treads { left_m_s: 0.3, right_m_s: 0.3 }, settled);
    let reached = |ms: u64| step.wheels(SimTime(ms * 1_000_000)).speed_m_s[0] / 0.3;
    let share = 1.0 - libm::exp(-1.0);
    let lag_ms = (0..1000).find(|ms| reached(*ms) >= share).unwrap_or(u64::MAX);
    let rings: Vec<f64> = (1..=10).map(radius_m).collect();
    let printed = [0.730, 1.510, 2.343, 3.232, 4.183, 5.198, 6.282, 7.441, 8.678, 10.0];
    let rings_off_m =
        rings.iter().zip(printed).map(|(r, printed)| (r - printed).abs()).fold(0.0, f64::max);
    let is_near = |found: f64, expected: f64, within: f64| (found - expected).abs() <= within;
    let comparisons = vec![
        Comparison::judged(
            "C1, equations (1) to (6) of the tracks",
            "exact",
            format!("off by {worst:.1e}"),
            format!("{EXACT:.0e}: rounding"),
            worst <= EXACT,
        ),
        Comparison::judged(
            "C1, time constant of the tracks",
            "35 ms",
            format!("{lag_ms} ms"),
            "1 ms: steps of the integration",
            (34..=36).contains(&lag_ms),
        ),
        Comparison::judged(
            "C1, fastest turn at 0.3 m/s without scaling",
            "0.844 rad/s",
            format!("{fastest_rad_s:.3} rad/s"),
            "half of the last digit",
            is_near(fastest_rad_s, 0.844, 5e-4),
        ),
        Comparison::judged(
            "C1, rings of the map, equation (7)",
            "0.730 m to 10.000 m",
            format!("off by {:.1} mm at most", 1e3 * rings_off_m),
            "half of the last digit",
            rings_off_m <= 5.1e-4,
        ),
    ];
    let text = format!(
        "C1  equations (1) to (6): largest difference {worst:.1e} (allowed {EXACT:.0e})\n    \
         fastest turn at 0.3 m/s without scaling: {fastest_rad_s:.3} rad/s (paper 0.844)\n    \
         63.2 % of a step of the tracks after {lag_ms} ms (paper 35)\n    \
         rings of the map, equation (7): within {:.1} mm of the printed ones\n",
        1e3 * rings_off_m
    );
    let report = json!({
        "largest_difference": worst, "fastest_turn_rad_s": fastest_rad_s, "lag_ms": lag_ms,
        "rings_m": rings,
    });
    Kinematics { text, report, comparisons }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_vehicle_obeys_the_papers_equations() {
        let found = super::kinematics();
        let off = found.comparisons.iter().find(|comparison| comparison.holds != Some(true));
        assert_eq!(off, None, "{}", found.text);
    }
}
