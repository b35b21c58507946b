//! `menura validate andabata`: a robot crosses a field, steered by the bytes of its sensors, after Martínez, Morales,
//! Sánchez et al. 2020 (the field robot Andabata).
//!
//! Three experiments from our notes on that paper:
//!
//! - **C1**: equations (1) to (7), and the time constant of the tracks.
//! - **C2**: the closed loop. The rig of `examples/andabata.toml` runs in simulated time; a computer ([`robot`]) reads
//!   the devices' bytes and commands the motor controller, and must reach three goals between ditches, barrier, fence,
//!   rocks and trees.
//! - **C3** (`--puddle`): a puddle on the path. Clear water gives no return. A robot that uses only its latest scan
//!   drives into the puddle, as the paper's robot did. A diffuse puddle counts as ground.
//!
//! # What differs from the paper
//!
//! - Field and goals are our own: the paper prints no dimensions. The classifier is our own too (planes through five
//!   neighbours; the paper uses a random forest), so the acceptance limits are wide.
//! - The robot remembers its scans and steers to a point on the cheapest path to the goal: see [`memory`]. Without
//!   memory (`--without-memory`), the robot takes a direction only if the map has no obstacle cell near the next 3 m:
//!   see [`navigation::Map`].

mod classify;
mod cloud;
mod figures;
mod memory;
mod navigation;
mod plot;
pub(super) mod robot;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use glam::{DVec2, DVec3};
use serde_json::json;

use self::memory::Memory;
use self::robot::{Logbook, Plugs, Robot};
use super::{Comparison, ExperimentError, Findings, Plot, Run, Scope};
use crate::config::rig::Rig;
use crate::config::toml::overrides::Override;
use crate::devices::families::catalogue;
use crate::engine::LiveWorld;
use crate::engine::host_events::HostInput;
use crate::engine::hosts::Hosts;
use crate::engine::record::{Stretch, render};
use crate::frames::rpy_from_quat;
use crate::time::SimTime;
use crate::world::builtin::andabata_field::{DITCHES_M, GOALS_M, PUDDLE_M, START_M};
use crate::world::vehicle::DriveEventKind;

/// The rig of the experiment; users can also run it with `menura run`.
const RIG: &str = include_str!("../../../examples/andabata.toml");
/// Magnetic declination at the rig's place and date by the World Magnetic Model, degrees.
const DECLINATION_DEG: f64 = -0.2;
/// Near a ditch, a wheel counts as in the ditch if the ground under it is this much lower than the mean under the other
/// wheels, metres.
const IN_DITCH_M: f64 = 0.3;
/// Duration of the short form's single run, in which the robot approaches the first goal.
const SHORT: Duration = Duration::from_secs(15);
/// Smallest accepted distance in the short form, metres: the robot stands until its first scan is complete, and then
/// drives at 0.3 m/s at most.
const SHORT_WAY_M: f64 = 1.5;
/// Duration of a run with a puddle: by then, the robot has driven through the puddle or around it.
const PAST_PUDDLE: Duration = Duration::from_secs(90);
/// Width of the puddle's rim in which points are not counted, metres. A compass error of 4 degrees shifts points by
/// this much at a distance of some metres.
const PUDDLE_RIM_M: f64 = 0.4;
/// Smallest accepted number of points on a diffuse puddle (C3).
const FEWEST_POINTS: usize = 1000;
/// Limit of C2: largest path length divided by the length of the straight lines between the goals.
const MOST_DETOUR: f64 = 1.5;
/// Limits of C2: smallest and largest accepted mean speed, m/s.
const SPEEDS_M_S: [f64; 2] = [0.25, 0.30];

/// Options of the experiment.
#[derive(Debug)]
pub struct Andabata {
    /// Number of runs; each has its own seed for field and noise
    pub runs: u32,
    /// Seed of the first run
    pub seed: u64,
    /// Largest duration of a run
    pub duration: Duration,
    /// Whether to drive also with a puddle on the path, once of clear water and once of diffuse paint (C3)
    pub puddle: bool,
    /// Steer by the latest scan alone, as the paper's robot does
    pub without_memory: bool,
}

/// True motion of the robot, from which the result of a run follows.
#[derive(Clone, Debug, Default)]
struct Truth {
    /// True positions: time, and x and y in World (metres), every tenth of a second.
    path: Vec<(SimTime, DVec2)>,
    heights_m: Vec<f64>,
    headings_rad: Vec<f64>,
    /// Time at which a wheel was in a ditch for the first time.
    ditch_at: Option<SimTime>,
    /// Names of the objects that the robot touched.
    contacts: Vec<String>,
    /// Number of points of all 3-D scans within the puddle, without its rim.
    points_in_puddle: usize,
}

/// A finished run.
struct Trip {
    seed: u64,
    truth: Truth,
    logbook: Logbook,
    /// Duration of the run.
    took: SimTime,
}

impl Trip {
    fn length_m(&self) -> f64 {
        self.truth.path.windows(2).map(|pair| pair[0].1.distance(pair[1].1)).sum()
    }

    /// Time at which the robot started to move.
    fn moved_at(&self) -> SimTime {
        let start = self.truth.path.first().map_or(DVec2::ZERO, |(_, place)| *place);
        let moved = self.truth.path.iter().find(|(_, place)| place.distance(start) > 0.05);
        moved.map_or(SimTime::ZERO, |(at, _)| *at)
    }

    /// Length of the straight lines from the start through the goals that the robot reached, metres.
    fn straight_m(&self) -> f64 {
        let reached = GOALS_M.iter().take(self.logbook.goals_at.len());
        let places: Vec<DVec2> =
            [START_M].iter().chain(reached).map(|place| DVec2::from(*place)).collect();
        places.windows(2).map(|pair| pair[0].distance(pair[1])).sum()
    }

    fn speed_m_s(&self) -> f64 {
        self.length_m() / (self.took.as_secs_f64() - self.moved_at().as_secs_f64())
    }

    fn has_arrived(&self) -> bool {
        self.logbook.goals_at.len() == GOALS_M.len()
    }

    fn climbed_m(&self) -> f64 {
        // Compare heights every 5 s: shorter waves are caused by the suspension.
        let coarse: Vec<f64> = self.truth.heights_m.iter().step_by(50).copied().collect();
        coarse.windows(2).map(|pair| (pair[1] - pair[0]).max(0.0)).sum()
    }

    fn scans(&self) -> usize {
        self.logbook.scan_points.len()
    }

    /// Acceptance criteria that the run violates, one text each. The criteria are from our notes on Martínez et al.
    /// 2020. A `whole` run must also reach all goals; the short form need not.
    fn faults(&self, whole: bool) -> Vec<String> {
        let mut faults = Vec::new();
        let mut require = |holds: bool, fault: String| {
            if !holds {
                faults.push(fault);
            }
        };
        require(
            self.has_arrived() || !whole,
            format!("{} of {} goals", self.logbook.goals_at.len(), GOALS_M.len()),
        );
        if let Some(at) = self.truth.ditch_at {
            require(false, format!("a wheel in a ditch at {:.0} s", at.as_secs_f64()));
        }
        require(
            self.truth.contacts.is_empty(),
            format!("touched {}", self.truth.contacts.join(", ")),
        );
        if self.has_arrived() {
            let detour = self.length_m() / self.straight_m();
            require(detour <= MOST_DETOUR, format!("{detour:.2} times the straight distance"));
            let speed = self.speed_m_s();
            let [least, most] = SPEEDS_M_S;
            require((least..=most).contains(&speed), format!("{speed:.3} m/s"));
        }
        // The first scan starts some 1.5 s after power-on, when the scanner is initialised. Each scan takes 3.3 s.
        let expected = (self.took.as_secs_f64() - 1.5) / 3.3;
        require(
            (self.scans() as f64 - expected).abs() <= 1.5,
            format!("{} scans in {:.0} s", self.scans(), self.took.as_secs_f64()),
        );
        if !whole {
            let way_m = self.length_m();
            require(way_m >= SHORT_WAY_M, format!("{way_m:.2} m of way"));
            return faults;
        }
        let maps_per_scan = self.logbook.maps.len() as f64 / self.scans().max(1) as f64;
        require((2.8..=3.05).contains(&maps_per_scan), format!("{maps_per_scan:.2} maps a scan"));
        faults
    }
}

/// The robot's computer, with an observer of the true motion.
struct Watched<'a> {
    robot: Robot,
    world: &'a LiveWorld,
    truth: Truth,
    next_sample: SimTime,
    over: &'a AtomicBool,
    at: SimTime,
    /// Called with the simulated time.
    progress: &'a dyn Fn(SimTime),
}

impl Hosts for Watched<'_> {
    fn next(&self) -> Option<SimTime> {
        self.robot.next()
    }

    fn hear(
        &mut self,
        device: crate::config::rig::DeviceId,
        due: SimTime,
        output: &crate::devices::Output,
    ) {
        self.robot.hear(device, due, output);
    }

    fn speak(&mut self, now: SimTime) -> Vec<HostInput> {
        self.at = now;
        if now >= self.next_sample {
            self.next_sample = SimTime(now.0 + 100_000_000);
            self.sample(now);
            (self.progress)(now);
        }
        if self.robot.is_done() || self.truth.ditch_at.is_some() {
            self.over.store(true, Ordering::Relaxed);
        }
        self.robot.speak(now)
    }
}

impl Watched<'_> {
    fn sample(&mut self, now: SimTime) {
        let Some(driven) = self.world.trajectory.driven() else { return };
        let pose = driven.state(now).world_from_body;
        self.truth.path.push((now, pose.translation.truncate()));
        self.truth.heights_m.push(pose.translation.z);
        self.truth.headings_rad.push(rpy_from_quat(pose.rotation).2);
        let heights = driven.wheel_heights_m(now);
        let place = pose.translation.truncate();
        let near_ditch = DITCHES_M.iter().any(|[low, high]| {
            let (low, high) = (DVec2::from(*low) - 0.6, DVec2::from(*high) + 0.6);
            place.cmpge(low).all() && place.cmple(high).all()
        });
        let sinks = heights.iter().any(|height| {
            let others = heights.iter().sum::<f64>() - height;
            others / 3.0 - height > IN_DITCH_M
        });
        if near_ditch && sinks && self.truth.ditch_at.is_none() {
            self.truth.ditch_at = Some(now);
        }
        if let Some((taken_m, points)) = self.robot.logbook.latest_scan.take() {
            // Points are in the robot's own frame, which has drifted; `drift_m` shifts them to the true position.
            let drift_m = place - taken_m;
            let [low, high] = inner_puddle_m();
            let inside = |point: &&DVec3| {
                let place = point.truncate() + drift_m;
                place.cmpge(low).all() && place.cmple(high).all() && point.z.abs() < 0.5
            };
            self.truth.points_in_puddle += points.iter().filter(inside).count();
        }
        for event in driven.take_events() {
            if let DriveEventKind::Touches { name, .. } = event.what {
                self.truth.contacts.push(name);
            }
        }
    }
}

/// Builds the rig of the experiment.
fn rig(seed: u64, puddle: &str) -> Result<Rig, ExperimentError> {
    let set = |key: &str, value: String| Override { key: key.into(), value };
    let sets = [
        set("seed", seed.to_string()),
        set("world.parameters", format!("{{ puddle = \"{puddle}\" }}")),
    ];
    Ok(Rig::parse("examples/andabata.toml", RIG, Path::new(""), &sets, catalogue())?)
}

/// Drives the robot for at most `duration`.
fn drive(
    seed: u64,
    puddle: &str,
    duration: Duration,
    memory: Option<Memory>,
    progress: &dyn Fn(SimTime),
) -> Result<Trip, ExperimentError> {
    let rig = rig(seed, puddle)?;
    let input = |error: &dyn std::fmt::Display| ExperimentError::Input(error.to_string());
    let world = LiveWorld::load(&rig).map_err(|error| input(&error))?;
    let plugs = Plugs::of(&rig).ok_or_else(|| input(&"the rig lacks a device of the robot"))?;
    let goals = GOALS_M.iter().map(|goal| DVec2::from(*goal)).collect();
    let over = AtomicBool::new(false);
    let mut watched = Watched {
        robot: Robot::new(plugs, world.origin, DECLINATION_DEG.to_radians(), goals, memory),
        world: &world,
        truth: Truth::default(),
        next_sample: SimTime::ZERO,
        over: &over,
        at: SimTime::ZERO,
        progress,
    };
    let run = Stretch { rig: &rig, world: &world, duration, start: rig.start_utc, stop: &over };
    let rendered = render(run, &mut watched, &mut |_| {}, |_, _, _, _| Ok::<(), String>(()));
    rendered.map_err(|error| input(&error))?;
    let Watched { robot, truth, at, .. } = watched;
    Ok(Trip { seed, truth, logbook: robot.logbook, took: at })
}

/// Corners of the puddle without its rim, World, metres. Because of the compass error, points in the rim may belong to
/// the ground around the puddle.
fn inner_puddle_m() -> [DVec2; 2] {
    let [low, high] = PUDDLE_M.map(DVec2::from);
    [low + PUDDLE_RIM_M, high - PUDDLE_RIM_M]
}

fn enters_puddle(trip: &Trip) -> bool {
    let [low, high] = PUDDLE_M.map(DVec2::from);
    trip.truth.path.iter().any(|(_, at)| at.cmpge(low).all() && at.cmple(high).all())
}

impl Run for Andabata {
    const NAME: &'static str = "andabata";
    const ABOUT: &'static str =
        "Let a robot cross a field using the bytes of its sensors, as the robot Andabata did";

    fn run(&self, scope: &Scope) -> Result<Findings, ExperimentError> {
        let kinds: &[&str] =
            if self.puddle && !scope.short { &["none", "water", "matt"] } else { &["none"] };
        let runs = scope.of(self.runs, 1);
        let longest = scope.of(self.duration, self.duration.min(SHORT));
        let total_s = longest.as_secs() * u64::from(runs) * kinds.len() as u64;
        let bar = scope.progress("driving", total_s);
        let mut trips: Vec<Vec<Trip>> = Vec::new();
        for (kind, puddle) in kinds.iter().enumerate() {
            let mut group = Vec::new();
            for run in 0..runs {
                let done = (kind as u64 * u64::from(runs) + u64::from(run)) * longest.as_secs();
                let progress = |at: SimTime| {
                    let message = format!("run {}, {:.0} s", run + 1, at.as_secs_f64());
                    bar.set(done + at.0 / 1_000_000_000, message);
                };
                let seed = self.seed + u64::from(run);
                let duration = match kind {
                    0 => longest,
                    _ => longest.min(PAST_PUDDLE),
                };
                // With the puddle the robot has no memory: this repeats the failure of the paper's robot.
                let has_memory = kind == 0 && !self.without_memory;
                let memory = has_memory.then(Memory::default);
                group.push(drive(seed, puddle, duration, memory, &progress)?);
            }
            trips.push(group);
        }
        Ok(findings(&trips, !scope.short))
    }
}

/// Findings of the experiment. `trips` are the runs by kind of puddle, first the runs without a puddle. If `whole`,
/// every run must reach all goals.
fn findings(trips: &[Vec<Trip>], whole: bool) -> Findings {
    let plain = &trips[0];
    let kinematics = figures::kinematics();
    let mut text = kinematics.text.clone();
    text += "\nC2  seed  goals   path  straight    time  speed  scans  points  maps  climbed\n";
    let mut rows = Vec::new();
    for trip in plain {
        let points =
            trip.logbook.scan_points.iter().sum::<usize>() as f64 / trip.scans().max(1) as f64;
        text += &format!(
            "    {:>4}  {:>5}  {:>5.1}  {:>8.1}  {:>6.1}  {:>5.3}  {:>5}  {:>6.0}  {:>4}  {:>7.2}{}\n",
            trip.seed,
            trip.logbook.goals_at.len(),
            trip.length_m(),
            trip.straight_m(),
            trip.took.as_secs_f64(),
            trip.speed_m_s(),
            trip.scans(),
            points,
            trip.logbook.maps.len(),
            trip.climbed_m(),
            match trip.faults(whole) {
                faults if faults.is_empty() => String::new(),
                faults => format!("  {}", faults.join("; ")),
            },
        );
        rows.push(json!({
            "seed": trip.seed,
            "goals": trip.logbook.goals_at.len(),
            "path_m": trip.length_m(),
            "straight_m": trip.straight_m(),
            "time_s": trip.took.as_secs_f64(),
            "speed_m_s": trip.speed_m_s(),
            "scans": trip.scans(),
            "points_per_scan": points,
            "maps": trip.logbook.maps.len(),
            "climbed_m": trip.climbed_m(),
            "faults": trip.faults(whole),
        }));
    }
    let good = plain.iter().filter(|trip| trip.faults(whole).is_empty()).count();
    let good_runs = format!("{good} of {}", plain.len());
    let mut comparisons = kinematics.comparisons;
    comparisons.push(match whole {
        true => Comparison::judged(
            "C2, accepted runs",
            "three goals, 161 m at 0.262 m/s, 186 scans with three maps each, in one simulated run",
            good_runs,
            "all runs: field and classifier are ours, so bounds are loose (0.25 to 0.30 m/s, at most \
             1.5 times the straight distance, no ditch, no contact)",
            good == plain.len(),
        ),
        false => Comparison::judged(
            "C2, the first seconds",
            "",
            good_runs,
            "no ditch, no contact, a 3-D scan each 3.3 s; the goals are not required, because a \
             whole run takes minutes",
            good == plain.len(),
        ),
    });
    let mut puddles = serde_json::Value::Null;
    if let [_, water, matt] = trips {
        let [wet, dry] = [water, matt]
            .map(|trips| trips.iter().map(|trip| trip.truth.points_in_puddle).sum::<usize>());
        let missing = 1.0 - wet as f64 / dry.max(1) as f64;
        let [entered, entered_matt] =
            [water, matt].map(|trips| trips.iter().filter(|trip| enters_puddle(trip)).count());
        text += &format!(
            "\nC3  clear water: {:.1} % of the {dry} points on a diffuse puddle are missing; the \
             robot drives into the puddle {entered} of {} times (diffuse: {entered_matt})\n",
            1e2 * missing,
            water.len()
        );
        comparisons.push(Comparison::judged(
            "C3, missing points on clear water",
            "clear water returns no light, and the robot drives in",
            format!("{:.0} %, entered {entered} of {}", 1e2 * missing, water.len()),
            "at least 80 %, and entered in half of the runs: the compass's error moves the puddle",
            dry >= FEWEST_POINTS && missing >= 0.8 && 2 * entered >= water.len(),
        ));
        puddles = json!({ "points_of_matt": dry, "missing": missing, "entered": entered, "entered_matt": entered_matt });
    }
    let report = json!({ "C1": kinematics.report, "C2": rows, "C3": puddles });
    Findings { text, report, plots: vec![Plot::main(plot::draw(&trips[0][0]))], comparisons }
}
