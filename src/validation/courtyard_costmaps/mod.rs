//! `menura validate courtyard-costmaps`: a vehicle drives ten seconds in the courtyard with each of four lidars,
//! creates cost maps and plans by A*, after section 3.5 of Goodin et al. 2018 (figures 9 and 10).
//!
//! The vehicle's computer ([`robot`]) reads the bytes of the lidar, a GNSS receiver and a compass, computes each
//! point's position from them, plans once per second and drives: a closed loop in simulated time. The paper shows four
//! maps and describes their differences, which are compared. It does not print start, seed and trees.

mod drive;
mod judge;
mod map;
mod plot;
mod robot;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use glam::DVec2;
use serde_json::json;

use self::drive::{Drive, Spread, Tree, trees_of};
use self::judge::{comparisons, grass_cells, high_cells, tall_cells};
use self::map::{FULL_HEIGHT_M, Map};
use self::robot::{Robot, Seen};
use super::{ExperimentError, Findings, Plot, Run, Scope, recording};
use crate::engine::LiveWorld;
use crate::engine::record::{Stretch, render};
use crate::time::SimTime;
use crate::world::vehicle::DriveEventKind;

/// South-western corner of the map in World, metres.
const CORNER_M: DVec2 = DVec2::splat(-155.0);
/// Start of the vehicle in World, metres.
const START_M: DVec2 = DVec2::splat(-130.0);
/// Goal in World, metres, 130 m from the start.
const GOAL_M: DVec2 = DVec2::splat(-38.0);
/// Height of all lidars above the ground, metres, as in Goodin et al. 2018.
const HEIGHT_M: f64 = 2.0;
/// Duration of a drive.
const DRIVE: Duration = Duration::from_secs(10);
/// Duration of a drive in the short form.
const SHORT_DRIVE: Duration = Duration::from_secs(3);
/// Height above which points are not grass, metres.
const ABOVE_GRASS_M: f64 = 0.8;
/// Largest height of ground points, metres.
const GROUND_M: f64 = 0.1;
/// Width of the bins of horizontal distance in which returns are counted to find rings, metres.
const RING_BIN_M: f64 = 0.1;
/// Radius up to which rings are searched, metres.
const RINGS_TO_M: f64 = 17.0;

/// A lidar with its settings. The first of [`SENSORS`] is the planar scanner; the option `sixty_four` selects the
/// profile of the last.
struct Sensor {
    name: &'static str,
    profile: &'static str,
    settings: &'static str,
}

const SENSORS: [Sensor; 4] = [
    Sensor {
        name: "LMS-291",
        profile: "sick-lms291-s05-x1.27",
        settings: "baud_rate = 500000, power_on_mode = \"continuous\"",
    },
    Sensor { name: "VLP-16", profile: "velodyne-vlp16-3.0", settings: "" },
    Sensor { name: "HDL-32E", profile: "velodyne-hdl32e-2.2", settings: "" },
    Sensor { name: "HDL-64E", profile: "", settings: "" },
];
const LMS: usize = 0;

/// Options of the experiment.
#[derive(Debug)]
pub struct CourtyardCostmaps {
    /// Seed of the courtyard and of the noise
    pub seed: u64,
    /// Whether the scene has 191 million triangles, as in the paper: two million blades of grass, and trees of 3.5
    /// million triangles each. This needs a gigabyte of memory
    pub dense: bool,
    /// Unit of the HDL-64E. The highest beam points to +2.0 degrees in the paper and in the units S1 and S3, and to
    /// +5.0 degrees in the unit S2. With the S2, the counts of high cells are therefore only reported, without a
    /// verdict
    pub sixty_four: SixtyFour,
}

choices! {
    /// A unit of the lidar with 64 beams.
    SixtyFour {
        S1 = "s1",
        S2 = "s2",
        S3 = "s3",
    }
}

impl SixtyFour {
    fn profile(self) -> &'static str {
        match self {
            Self::S1 => "velodyne-hdl64e-s1",
            Self::S2 => "velodyne-hdl64e-s2",
            Self::S3 => "velodyne-hdl64e-s3",
        }
    }
}

impl CourtyardCostmaps {
    fn rig_text(&self, sensor: &Sensor, scope: &Scope) -> String {
        let (blades, triangles) = match (self.dense, scope.short) {
            (true, _) => (2_000_000, 3_500_000),
            (false, false) => (2_000_000, 40_000),
            (false, true) => (400_000, 4000),
        };
        // The short form casts one ray per pulse, except for the planar scanner.
        let beam = match scope.short && sensor.name != SENSORS[LMS].name {
            true => "beam = { shape = \"ray\" }",
            false => "",
        };
        let settings: Vec<&str> =
            [sensor.settings, beam].into_iter().filter(|text| !text.is_empty()).collect();
        let link = match sensor.name == SENSORS[LMS].name {
            true => "pty = \"/tmp/menura/lidar\"",
            false => "udp = { to = \"127.0.0.1:2368\" }",
        };
        format!(
            r#"seed = {seed}
start_utc = 2026-06-01T10:00:00Z
[world]
scene = "courtyard"
parameters = {{ grass_blades = {blades}, trees = 50, tree_triangles = {triangles}, ground_relief_m = 0.0 }}
[robot]
footprint_m = [1.0, 0.8]
[robot.trajectory]
kind = "drive"
model = "skid-steer"
y_icr_m = 0.6
max_speed_m_s = 3.0
time_constant_ms = 100.0
position_m = [{start:?}, {start:?}, 0.0]
yaw_deg = 45.0
twist = "127.0.0.1:7100"
[[device]]
name = "lidar"
profile = "{profile}"
mount = {{ translation_m = [0.0, 0.0, {HEIGHT_M:?}] }}
link = {{ {link} }}
settings = {{ {settings} }}
[[device]]
name = "receiver"
profile = "ublox-zed-f9p-hpg1.32"
mount = {{ translation_m = [0.0, 0.0, 1.8] }}
link = {{ pty = "/tmp/menura/receiver" }}
[device.settings]
rate_hz = 10
baud_rate = 460800
acquisition = {{ startup_s = 0.0, filtered = false }}
errors = [{{ model = "gaussian", std_m = [0.02, 0.02, 0.04] }}]
[[device]]
name = "compass"
profile = "phone-imu"
mount = {{ translation_m = [0.0, 0.0, 1.0] }}
link = {{ pty = "/tmp/menura/compass" }}
settings = {{ attitude = {{ heading_std_deg = 0.2, heading_from = "true-north" }} }}
"#,
            seed = self.seed,
            start = START_M.x,
            profile = match sensor.profile {
                "" => self.sixty_four.profile(),
                profile => profile,
            },
            settings = settings.join(", "),
        )
    }

    fn drive(&self, sensor: &Sensor, scope: &Scope) -> Result<Drive, ExperimentError> {
        let rig = recording::rig("courtyard-costmaps.toml", &self.rig_text(sensor, scope), &[])?;
        let mut trees = Vec::new();
        let input = |error: &dyn std::fmt::Display| ExperimentError::Input(error.to_string());
        let world = LiveWorld::load_with(&rig, |scene| trees = trees_of(scene))
            .map_err(|error| input(&error))?;
        let mut spreads: BTreeMap<usize, Spread> = BTreeMap::new();
        let mut rings = vec![0; (RINGS_TO_M / RING_BIN_M) as usize + 40];
        let mut points = 0;
        let mut see = |seen: Seen| {
            points += 1;
            let flat = seen.place.truncate();
            if seen.place.z.abs() < GROUND_M {
                let bin = (seen.from.distance(flat) / RING_BIN_M).round() as usize;
                if let Some(count) = rings.get_mut(bin) {
                    *count += 1;
                }
            }
            if seen.place.z > ABOVE_GRASS_M {
                let of =
                    trees.iter().position(|tree: &Tree| flat.distance(tree.foot_m) < tree.reach_m);
                if let Some(tree) = of {
                    let axis_m = seen.from.distance(trees[tree].foot_m);
                    spreads.entry(tree).or_default().add(seen.from.distance(flat) - axis_m);
                }
            }
        };
        let map = Map::new(CORNER_M);
        let mut robot = Robot::new(&rig, world.origin, GOAL_M, map, &mut see)?;
        let stop = AtomicBool::new(false);
        let duration = scope.of(DRIVE, SHORT_DRIVE);
        let run = Stretch { rig: &rig, world: &world, duration, start: rig.start_utc, stop: &stop };
        let rendered =
            render(run, &mut robot, &mut |_| {}, |_, _, _, _| Ok::<(), ExperimentError>(()));
        rendered?;
        let Robot { map, track, .. } = robot;
        let at = |at: SimTime| world.trajectory.pose(at).translation.truncate();
        let truth_m: Vec<DVec2> = track.iter().map(|(time, _)| at(*time)).collect();
        let squares =
            track.iter().zip(&truth_m).map(|((_, own), truth)| own.distance_squared(*truth));
        let pose_error_m = (squares.sum::<f64>() / track.len().max(1) as f64).sqrt();
        let events =
            world.trajectory.driven().map(|driven| driven.take_events()).unwrap_or_default();
        let touches = |kind: &DriveEventKind| matches!(kind, DriveEventKind::Touches { .. });
        let contacts = events.iter().filter(|event| touches(&event.what)).count();
        let way = map.way(START_M, GOAL_M).unwrap_or_default();
        Ok(Drive {
            name: sensor.name,
            map,
            way,
            truth_m,
            pose_error_m,
            contacts,
            trees,
            spreads,
            rings,
            points,
        })
    }
}

impl Run for CourtyardCostmaps {
    const NAME: &'static str = "courtyard-costmaps";
    const ABOUT: &'static str = "Drive in the courtyard with the cost maps of four lidars and compare the maps, as \
                                 Goodin et al. 2018 do";

    fn run(&self, scope: &Scope) -> Result<Findings, ExperimentError> {
        let progress = scope.progress(Self::NAME, SENSORS.len() as u64);
        let mut drives = Vec::new();
        for sensor in &SENSORS {
            progress.set(drives.len() as u64, sensor.name.to_owned());
            drives.push(self.drive(sensor, scope)?);
        }
        drop(progress);
        Ok(self.findings(&drives, scope))
    }
}

impl CourtyardCostmaps {
    fn findings(&self, drives: &[Drive], scope: &Scope) -> Findings {
        let mut text = format!(
            "{:8} {:>9} {:>6} {:>6} {:>7} {:>6} {:>7} {:>7} {:>8} {:>8}\n",
            "lidar",
            "points",
            "cells",
            "stray",
            "high",
            "grass",
            "spread",
            "detour",
            "driven",
            "pose"
        );
        let mut rows = Vec::new();
        for drive in drives {
            let (spread_m, trees) = drive.tree_spread_m();
            let cells = drive.map.costly().count();
            let (high, tall, grass) = (high_cells(drive), tall_cells(drive), grass_cells(drive));
            let _ = writeln!(
                text,
                "{:8} {:>9} {cells:>6} {:>6} {high:>5} {tall:>5} {grass:>6} {spread_m:>5.2} m {:>7.3} {:>6.1} m {:>5.0} mm",
                drive.name,
                drive.points,
                drive.stray_cells(),
                drive.detour(),
                drive.driven_m(),
                1e3 * drive.pose_error_m,
            );
            rows.push(json!({ "lidar": drive.name, "points": drive.points, "cells": cells,
                "stray_cells": drive.stray_cells(), "cells_above_3_m": high,
                "cells_above_4_5_m": tall, "cells_of_grass": grass,
                "tree_spread_m": spread_m, "trees": trees, "detour": drive.detour(),
                "driven_m": drive.driven_m(), "pose_error_m": drive.pose_error_m,
                "contacts": drive.contacts }));
        }
        text += "\ncells: cells with a cost; stray: those on neither tree nor wall; high: above 3 \
                 m, and above 4.5 m, at 20 to 60 m; grass: 0.2 to 0.8 m within 15 m; spread: \
                 median over trees\n";
        let report = json!({ "seed": self.seed, "hdl64e": self.sixty_four.profile(), "full_height_m": FULL_HEIGHT_M, "lidars": rows });
        let plots = vec![Plot::main(plot::draw(drives))];
        Findings { text, report, plots, comparisons: comparisons(drives, self.sixty_four, scope) }
    }
}
