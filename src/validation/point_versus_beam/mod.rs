//! `menura validate point-versus-beam`: the four forward scanners of the vehicle Crusher on a paved area with objects
//! and plants, once with one ray per pulse and once with a beam, after Durst et al. 2011.
//!
//! The paper drives a model of the vehicle through a model of a real place, with one ray per direction, and compares
//! the cost map with that of the real run. Rigid objects agree. Behind plants, single rays hit the ground, but the real
//! scanners had no return from it. The paper prints no cost and no dimension. Scene, mounts and costs are our own
//! ([`map`]); the experiment checks where both maps agree and where they differ.

mod map;
mod plot;
mod scene;

use std::fmt::Write;
use std::time::Duration;

use glam::DVec2;
use serde_json::json;

use self::map::{CELLS, Map, middle_of};
use self::scene::{Object, objects, shadows};
use super::{Comparison, ExperimentError, Findings, Plot, Run, Scope, recording};
use crate::config::rig::Rig;
use crate::engine::LiveWorld;
use crate::time::SimTime;

/// The rig without its scanners.
const RIG: &str = r#"
start_utc = 2026-06-01T10:00:00Z
[world]
scene = "fort-drum"
[robot]
trajectory = { kind = "waypoints", points_m = [[-24.0, 0.0], [0.0, 0.0]], speed_m_s = 1.0 }
follow_ground = true
footprint_m = [4.0, 2.2]
"#;
/// Name, position (metres), yaw and mirror phase (degrees) of each scanner. Durst et al. 2011 state that two scanners
/// point to the left and two to the right; the other numbers are our own.
const SCANNERS: [(&str, [f64; 3], f64, f64); 4] = [
    ("left-outer", [2.4, 1.1, 1.5], 25.0, 0.0),
    ("right-outer", [2.4, -1.1, 1.5], -25.0, 90.0),
    ("left-inner", [2.4, 0.5, 1.5], 25.0, 180.0),
    ("right-inner", [2.4, -0.5, 1.5], -25.0, 270.0),
];
/// Pitch of all scanners, degrees down.
const DOWN_DEG: f64 = 10.0;
/// Duration of the drive, which is 20 m long.
const DRIVE: Duration = Duration::from_secs(20);
/// Duration of the short form: until the shadows behind the plants come into view, with one scanner on each side.
const SHORT_DRIVE: Duration = Duration::from_secs(11);
/// Start of the drive in the short form: x in World, metres.
const SHORT_START_M: f64 = -15.5;
/// Smallest distance of open ground from objects and their shadows, metres.
const CLEAR_M: f64 = 1.0;
/// Smallest share of an object's cells that must have a known cost for a verdict.
const LEAST_KNOWN: f64 = 0.8;
/// Largest difference of two costs that count as similar.
const ALIKE: f64 = 5.0;

/// Options of the experiment.
#[derive(Debug)]
pub struct PointVersusBeam {
    /// Seed of scene and noise
    pub seed: u64,
}

/// Model of a pulse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pulse {
    /// One ray, first hit, no noise: the model of Durst et al. 2011.
    Point,
    /// Menura's default model: nine rays over the footprint, waveform, threshold and noise.
    Beam,
    /// Nine rays, first return, as in Goodin et al. 2018.
    Goodin,
}

impl Pulse {
    fn settings(self) -> &'static str {
        match self {
            Self::Point => "beam = { shape = \"ray\" }, errors = \"none\"",
            Self::Beam => "beam = {}",
            Self::Goodin => {
                r#"beam = { paper = "goodin-2018", sees = { reflectance = 0.1, at_m = 30.0 } }"#
            }
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Point => "one ray",
            Self::Beam => "nine rays, waveform",
            Self::Goodin => "nine rays, as Goodin et al. 2018",
        }
    }
}

/// Result of one pulse model in the scene.
struct Outcome {
    pulse: Pulse,
    map: Map,
    costs: Vec<Option<f64>>,
    returns: usize,
}

impl PointVersusBeam {
    fn rig(&self, pulse: Pulse, scope: &Scope) -> Result<Rig, ExperimentError> {
        let mut text = format!("seed = {}\n{RIG}", self.seed);
        for (name, at, yaw_deg, phase_deg) in &SCANNERS[..scope.of(4, 2)] {
            let _ = write!(
                text,
                "[[device]]\nname = \"{name}\"\nprofile = \"sick-lms291-s14\"\n\
                 link = {{ pty = \"/tmp/menura/{name}\" }}\n\
                 mount = {{ translation_m = {at:?}, roll_pitch_yaw_deg = [0.0, {DOWN_DEG:?}, {yaw_deg:?}] }}\n\
                 settings = {{ baud_rate = 500000, power_on_mode = \"continuous\", mirror_phase_deg = {phase_deg:?}, {} }}\n",
                pulse.settings()
            );
        }
        let start_m = scope.of(-24.0, SHORT_START_M);
        let points = format!("[[{start_m:?}, 0.0], [0.0, 0.0]]");
        let sets = [("robot.trajectory.points_m", points)];
        recording::rig("point-versus-beam.toml", &text, &sets)
    }

    fn drive(
        &self,
        rig: &Rig,
        world: &LiveWorld,
        pulse: Pulse,
        scope: &Scope,
    ) -> Result<Outcome, ExperimentError> {
        let mut map = Map::default();
        let mut returns = 0;
        let duration = scope.of(DRIVE, SHORT_DRIVE);
        recording::decode(rig, world, duration, &mut |sweep| {
            let from_sensor = sensor_pose(rig, world, sweep.device.0, sweep.leaves);
            for point in &sweep.points {
                returns += 1;
                map.add(from_sensor.translation, from_sensor.point(point.position_m));
            }
        })?;
        Ok(Outcome { pulse, costs: map.costs(), map, returns })
    }
}

/// Pose of a scanner in the middle of the scan that it sends at `leaves`. The middle is 1.7 ms before `leaves`: half of
/// the 3.3 ms that a scan of 90 degrees takes. The vehicle's motion during the rest of the mirror's rotation, 8 mm at
/// 1 m/s, is neglected.
fn sensor_pose(
    rig: &Rig,
    world: &LiveWorld,
    device: usize,
    leaves: SimTime,
) -> crate::frames::Transform<crate::frames::World, crate::frames::Sensor> {
    let middle = SimTime(leaves.0.saturating_sub(1_700_000));
    world.trajectory.pose(middle) * rig.devices[device].body_from_sensor
}

/// Number of rigid objects.
const RIGID: usize = 4;

/// Mean cost of those `cells` whose cost is known; `None` if there are none.
fn mean_cost(costs: &[Option<f64>], cells: &[usize]) -> Option<f64> {
    let known: Vec<f64> = cells.iter().filter_map(|cell| costs[*cell]).collect();
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
}

/// Share of cells with a return from the ground.
fn seen_ground(run: &Outcome, cells: &[usize]) -> f64 {
    let seen = cells.iter().filter(|cell| run.map.ground_returns(**cell) > 0).count();
    seen as f64 / cells.len().max(1) as f64
}

/// Cells whose cost is known in both maps and that are not near an object. Cells up to 6 m behind an object are
/// excluded too, because the object hides them from the vehicle.
fn open_ground(objects: &[Object], one: &Outcome, other: &Outcome) -> Vec<usize> {
    let taken: Vec<DVec2> =
        objects.iter().flat_map(|object| &object.cells).map(|cell| middle_of(*cell)).collect();
    let is_open = |cell: &usize| {
        let place = middle_of(*cell);
        let behind = |other: &DVec2| {
            let (off, reach) = (place - *other, CLEAR_M);
            off.length() < reach
                || (off.x > 0.0 && off.x < 6.0 && off.y.abs() < reach + 0.5 * off.x)
        };
        one.costs[*cell].is_some() && other.costs[*cell].is_some() && !taken.iter().any(behind)
    };
    (0..CELLS * CELLS).filter(is_open).collect()
}

/// Quantile of values; `share` is 0..=1.
fn quantile(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let place = (share * values.len().saturating_sub(1) as f64).round() as usize;
    values.get(place).copied().unwrap_or(f64::NAN)
}

impl Run for PointVersusBeam {
    const NAME: &'static str = "point-versus-beam";
    const ABOUT: &'static str = "Compare cost maps of scanners with one ray per pulse and with a beam: only single \
                                 rays reach the ground behind plants (Durst et al. 2011)";

    fn run(&self, scope: &Scope) -> Result<Findings, ExperimentError> {
        let pulses: &[Pulse] =
            scope.of(&[Pulse::Point, Pulse::Beam, Pulse::Goodin], &[Pulse::Point, Pulse::Beam]);
        let progress = scope.progress("point-versus-beam", pulses.len() as u64 + 1);
        let rig = self.rig(Pulse::Point, scope)?;
        let world = recording::world(&rig)?;
        let shadows = shadows(&rig, &world, scope.of(DRIVE, SHORT_DRIVE));
        progress.advance(1);
        let mut runs = Vec::new();
        for pulse in pulses {
            runs.push(self.drive(&self.rig(*pulse, scope)?, &world, *pulse, scope)?);
            progress.advance(1);
        }
        drop(progress);
        let objects = objects(shadows);
        Ok(self.findings(&objects, &runs))
    }
}

impl PointVersusBeam {
    fn findings(&self, objects: &[Object], runs: &[Outcome]) -> Findings {
        let (point, beam) = (&runs[0], &runs[1]);
        let mut text = format!("{:22}  cells", "mean cost");
        for run in runs {
            let _ = write!(text, "  {:>24}", run.pulse.name());
        }
        text.push('\n');
        let mut rows = Vec::new();
        for object in objects {
            let costs: Vec<_> =
                runs.iter().map(|run| mean_cost(&run.costs, &object.cells)).collect();
            let _ = write!(text, "{:22}  {:>5}", object.name, object.cells.len());
            for cost in &costs {
                let cost = cost.map_or("unknown".to_owned(), |cost| format!("{cost:.1}"));
                let _ = write!(text, "  {cost:>24}");
            }
            text.push('\n');
            let ground: Vec<f64> = runs.iter().map(|run| seen_ground(run, &object.cells)).collect();
            rows.push(json!({ "name": object.name, "cells": object.cells.len(), "costs": costs,
                              "share_with_ground": ground }));
        }
        let open = open_ground(objects, point, beam);
        let comparisons = self.comparisons(objects, &open, runs);
        let pulses: Vec<_> = runs
            .iter()
            .map(|run| json!({ "name": run.pulse.name(), "returns": run.returns }))
            .collect();
        let report = json!({ "seed": self.seed, "pulses": pulses, "objects": rows,
                             "open_cells": open.len() });
        let figure = plot::draw(objects, point, beam);
        Findings { text, report, plots: vec![Plot::main(figure)], comparisons }
    }

    fn comparisons(&self, objects: &[Object], open: &[usize], runs: &[Outcome]) -> Vec<Comparison> {
        let (point, beam) = (&runs[0], &runs[1]);
        let shadow: Vec<usize> =
            objects[objects.len() - 2..].iter().flat_map(|o| o.cells.iter().copied()).collect();
        let cells = shadow.len();
        let mut all = Vec::new();
        let ours = |share: f64| format!("{:.1} % of {cells} cells", 100.0 * share);
        let why = "at least 20 pulses per cell; a tenth of single rays passes the plants";
        let share = seen_ground(point, &shadow);
        all.push(Comparison::judged(
            "ground behind plants with a return, one ray",
            "the model detected it, no patches of high cost",
            ours(share),
            format!("at least 90 %: {why}"),
            share >= 0.9 && cells >= 20,
        ));
        let why = "the five columns of rays in a beam lie farther apart than a stem is thick, so \
                   the chance of a beam to pass is the fifth power of that of a ray";
        for run in &runs[1..] {
            let share = seen_ground(run, &shadow);
            let what = format!("ground behind plants with a return, {}", run.pulse.name());
            all.push(match run.pulse {
                Pulse::Beam => Comparison::judged(
                    what,
                    "the real scanners detected none",
                    ours(share),
                    format!("at most 5 %: {why}"),
                    share <= 0.05 && cells >= 20,
                ),
                _ => Comparison::reported(what, "", ours(share), "another beam, for comparison"),
            });
        }
        let cost = |run: &Outcome| mean_cost(&run.costs, &shadow).unwrap_or(f64::NAN);
        let more = cost(beam) - cost(point);
        all.push(Comparison::judged(
            "cost behind plants, beam minus one ray",
            "two patches of high cost with the beam, none with one ray",
            format!("{more:.1} of 100"),
            "at least 40, two thirds of the cost of hidden ground: cells at the edge of a shadow \
             get rays that miss the plants",
            more >= 40.0,
        ));
        for object in &objects[..RIGID] {
            let of = |run: &Outcome| mean_cost(&run.costs, &object.cells).unwrap_or(f64::NAN);
            let (one, nine) = (of(point), of(beam));
            let known =
                |cell: &&usize| point.costs[**cell].is_some() && beam.costs[**cell].is_some();
            let share =
                object.cells.iter().filter(known).count() as f64 / object.cells.len() as f64;
            let what = format!("cost of the {}", object.name);
            let ours = format!("{one:.1} with one ray, {nine:.1} with the beam");
            all.push(if share >= LEAST_KNOWN {
                let why = "10 % of the cost with the beam, because cells at the rim of the object \
                           hold mixed returns";
                Comparison::judged(what, "alike", ours, why, (nine - one).abs() <= 0.1 * nine)
            } else {
                Comparison::reported(what, "alike", ours, "the scanners do not cover all of it")
            });
        }
        let differences: Vec<f64> = open
            .iter()
            .filter_map(|cell| Some((beam.costs[*cell]? - point.costs[*cell]?).abs()))
            .collect();
        let middle = quantile(differences.clone(), 0.5);
        let most = quantile(differences, 0.95);
        all.push(Comparison::judged(
            "cost difference on open ground",
            "none",
            format!("median {middle:.1}, 95 % within {most:.1}, {} cells", open.len()),
            format!(
                "median 0, 95 % within {ALIKE}: roughness and noise are too small to count as a \
                 step"
            ),
            middle == 0.0 && most <= ALIKE && open.len() >= 500,
        ));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_of_the_sorted_values() {
        assert_eq!(quantile(vec![3.0, 1.0, 2.0], 0.5), 2.0);
        assert_eq!(quantile(vec![3.0, 1.0, 2.0], 1.0), 3.0);
        assert!(quantile(Vec::new(), 0.5).is_nan());
    }
}
