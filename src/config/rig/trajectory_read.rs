//! Reads `[robot]` of a rig, and the trajectories of the robot and of objects.

use super::drive_read::drive;
use super::parts::{dotted, extension_pattern, has_extension, socket};
use super::{FeedConfig, RobotConfig, TrajectoryConfig};
use crate::toml::diagnostic::Place;
use crate::toml::reader::{Field, Limit, Node, TableReader};
use serde_json::json;

/// Extensions of trajectory files.
const TRAJECTORY_EXTENSIONS: [&str; 5] = ["txt", "tum", "csv", "gpx", "vprp"];

/// Largest number of points of a trajectory of waypoints; longer ones belong into a file.
const MAX_WAYPOINTS: usize = 10_000;

fn position_limit() -> Limit<f64> {
    Limit::new(-100_000.0..=100_000.0, "m", "the World frame: flat, so near its origin")
}

fn yaw_limit() -> Limit<f64> {
    Limit::new(-360.0..=360.0, "degrees", "geometry: one turn either way")
}

fn speed_limit() -> Limit<f64> {
    Limit::new(0.001..=100.0, "m/s", "the rig format, trajectories")
}

/// Reads `[robot]`; also returns the position of its trajectory in the file. Without a trajectory the robot
/// stands still. `rig_seed` is the default of seeds. If the scene `has_terrain`, a robot whose trajectory
/// lies in the plane z = 0 follows the terrain.
pub fn robot(
    mut table: TableReader<'_>,
    rig_seed: u64,
    has_terrain: bool,
) -> Option<(RobotConfig, Place)> {
    let mut field = table
        .optional("trajectory")
        .such_as("{ kind = \"circle\", radius_m = 20.0, speed_m_s = 2.0 }");
    if !field.is_written()
        && let Some(still) = Node::of_json(json!({ "kind": "still" }), table.place())
    {
        field = field.with(still);
    }
    let trajectory =
        field.table("a trajectory").and_then(|table| trajectory(table, Whose::Robot { rig_seed }));
    let is_plane = trajectory.as_ref().is_some_and(|(trajectory, _)| trajectory.is_plane());
    let stands = stance(&mut table, trajectory.as_ref(), has_terrain && is_plane);
    table.finish();
    let (trajectory, place) = trajectory?;
    let (follow_ground, footprint_m) = stands;
    Some((RobotConfig { trajectory, follow_ground, footprint_m }, place))
}

/// Reads `follow_ground` (default: `follows`) and `footprint_m` of a robot or object with this trajectory.
pub(crate) fn stance(
    table: &mut TableReader<'_>,
    trajectory: Option<&(TrajectoryConfig, Place)>,
    follows: bool,
) -> (bool, [f64; 2]) {
    let field = table.optional("follow_ground");
    field.defaults_here_to(follows);
    let follows = field.boolean().unwrap_or(follows);
    if let (true, Some((TrajectoryConfig::Feed(_), _)), Some(place)) =
        (follows, trajectory, field.place())
    {
        let label = "allowed: false; the sender of a feed says z, roll and pitch itself";
        field.fault(place.fault("a feed cannot follow the ground", label));
    }
    let side = Limit::new(0.05..=50.0, "m", "the rig format, [robot]");
    let footprint = table.optional("footprint_m");
    (follows, footprint.numbers_or(&side, RobotConfig::USUAL_FOOTPRINT_M))
}

impl TrajectoryConfig {
    /// Whether the trajectory lies in the plane z = 0.
    fn is_plane(&self) -> bool {
        match self {
            Self::Still { position_m: start, .. }
            | Self::Line { start_m: start, .. }
            | Self::Circle { center_m: start, .. }
            | Self::HalfSine { start_m: start, .. } => start[2] == 0.0,
            Self::Waypoints { points_m, .. } => points_m.iter().all(|point| point[2] == 0.0),
            Self::Drive(drive) => drive.position_m[2] == 0.0,
            Self::File { .. } | Self::Feed(_) => false,
        }
    }
}

/// Owner of a trajectory.
#[derive(Clone, Copy)]
pub(crate) enum Whose {
    /// Trajectory of the robot, which may be driven; the default seed is the rig's.
    Robot {
        /// Seed of the rig.
        rig_seed: u64,
    },
    /// Trajectory of an object.
    Object,
}

#[derive(Clone, Copy)]
enum Kind {
    Still,
    Line,
    Circle,
    HalfSine,
    Waypoints,
    File,
    Feed,
    Drive,
}

const KINDS: &[(&str, Kind)] = &[
    ("still", Kind::Still),
    ("line", Kind::Line),
    ("circle", Kind::Circle),
    ("half-sine", Kind::HalfSine),
    ("waypoints", Kind::Waypoints),
    ("file", Kind::File),
    ("feed", Kind::Feed),
    ("drive", Kind::Drive),
];

/// Kinds of an object's trajectory: all but the last kind.
const OF_OBJECTS: &[(&str, Kind)] = KINDS.split_at(KINDS.len() - 1).0;

/// Reads a trajectory of the robot or an object. Also returns the position of the trajectory or of its file
/// name.
pub(crate) fn trajectory(
    mut table: TableReader<'_>,
    whose: Whose,
) -> Option<(TrajectoryConfig, Place)> {
    let (kinds, origin, rig_seed) = match whose {
        Whose::Robot { rig_seed } => (KINDS, "the rig format, trajectories", rig_seed),
        Whose::Object => (OF_OBJECTS, "the rig format: only the robot is driven", 0),
    };
    let kind = table.required("kind").choice(kinds, origin)?;
    let t = &mut table;
    let place = t.place().clone();
    let read = match kind {
        Kind::Still => still(t),
        Kind::Line => line(t),
        Kind::Circle => circle(t),
        Kind::HalfSine => half_sine(t),
        Kind::Waypoints => waypoints(t),
        Kind::Feed => feed(t),
        Kind::Drive => {
            let (position_m, yaw_rad) = (position(t, "position_m"), angle(t, "yaw_deg"));
            drive(t, position_m, yaw_rad, rig_seed).map(TrajectoryConfig::Drive)
        }
        Kind::File => {
            let file = file(t);
            table.finish();
            return file;
        }
    };
    table.finish();
    Some((read?, place))
}

fn position(table: &mut TableReader<'_>, key: &'static str) -> [f64; 3] {
    // A faulty one is told; its default is never used then.
    table.optional(key).numbers_or(&position_limit(), [0.0; 3])
}

fn angle(table: &mut TableReader<'_>, key: &'static str) -> f64 {
    table.optional(key).number_or(&yaw_limit(), 0.0).to_radians()
}

fn still(table: &mut TableReader<'_>) -> Option<TrajectoryConfig> {
    Some(TrajectoryConfig::Still {
        position_m: position(table, "position_m"),
        yaw_rad: angle(table, "yaw_deg"),
    })
}

fn line(table: &mut TableReader<'_>) -> Option<TrajectoryConfig> {
    let start_m = position(table, "start_m");
    let yaw_rad = angle(table, "yaw_deg");
    let speed_m_s = table.required("speed_m_s").number(&speed_limit());
    Some(TrajectoryConfig::Line { start_m, yaw_rad, speed_m_s: speed_m_s? })
}

fn circle(table: &mut TableReader<'_>) -> Option<TrajectoryConfig> {
    let center_m = position(table, "center_m");
    let radius = Limit::new(0.1..=100_000.0, "m", "the rig format, trajectories");
    let radius_m = table.required("radius_m").number(&radius);
    let start_angle_rad = angle(table, "start_angle_deg");
    let speed = table.required("speed_m_s");
    let both_ways = Limit::new(-100.0..=100.0, "m/s", "the rig format, trajectories");
    let speed_m_s = speed.number(&both_ways);
    if let (Some(value), Some(place)) = (speed_m_s, speed.place())
        && value.abs() < 0.001
    {
        let label = "allowed: at least 0.001 m/s; negative runs clockwise";
        let fault = place.fault("`speed_m_s` of a circle must not be 0", label);
        speed.fault(fault.help("for a body that stands, write kind = \"still\""));
    }
    Some(TrajectoryConfig::Circle {
        center_m,
        radius_m: radius_m?,
        speed_m_s: speed_m_s?,
        start_angle_rad,
    })
}

fn half_sine(table: &mut TableReader<'_>) -> Option<TrajectoryConfig> {
    let length = Limit::new(0.1..=100_000.0, "m", "the rig format, trajectories");
    let start_m = position(table, "start_m");
    let yaw_rad = angle(table, "yaw_deg");
    let length_m = table.required("length_m").number(&length);
    let height = Limit::new(-10_000.0..=10_000.0, "m", "the rig format, trajectories");
    let amplitude_m = table.required("amplitude_m").number(&height);
    let speed_m_s = table.required("speed_m_s").number(&speed_limit());
    Some(TrajectoryConfig::HalfSine {
        start_m,
        yaw_rad,
        length_m: length_m?,
        amplitude_m: amplitude_m?,
        speed_m_s: speed_m_s?,
    })
}

fn feed(table: &mut TableReader<'_>) -> Option<TrajectoryConfig> {
    let listen = socket(&table.required("listen"));
    let hold = Limit::new(10.0..=60_000.0, "ms", "the rig format, trajectories");
    let hold_after_ms = table.optional("hold_after_ms").number_or(&hold, 500.0);
    let position_m = position(table, "position_m");
    let yaw_rad = angle(table, "yaw_deg");
    let (listen, _) = listen?;
    let hold_after_ns = (hold_after_ms * 1e6).round() as u64;
    Some(TrajectoryConfig::Feed(FeedConfig { listen, hold_after_ns, position_m, yaw_rad }))
}

fn waypoints(table: &mut TableReader<'_>) -> Option<TrajectoryConfig> {
    let closed = table.optional("closed").boolean_or(false);
    let speed_m_s = table.required("speed_m_s").number(&speed_limit());
    let fewest = if closed { 3 } else { 2 };
    let expected = format!("{fewest} to {MAX_WAYPOINTS} points, each [x, y] or [x, y, z] in m");
    let field = table.required("points_m");
    let (items, place) = field.array_of(fewest..=MAX_WAYPOINTS, &expected)?;
    if !(fewest..=MAX_WAYPOINTS).contains(&items.len()) {
        let title = if closed {
            "a closed path needs at least three waypoints"
        } else {
            "this is not a path of waypoints"
        };
        let label = format!("this has {}; allowed: {expected}", items.len());
        field.fault(place.fault(title, label).help("longer paths: kind = \"file\""));
        return None;
    }
    let mut points_m: Vec<[f64; 3]> = Vec::new();
    let mut complete = true;
    let mut last: Option<[f64; 3]> = None;
    for item in &items {
        let point = waypoint(item);
        complete &= point.is_some();
        if let (Some(point), Some(place)) = (point, item.place()) {
            if last == Some(point) {
                let label = "move it, or leave it out";
                field.fault(place.fault("a waypoint is the same as the one before", label));
            }
            points_m.push(point);
        }
        last = point;
    }
    if closed && complete && points_m.first() == points_m.last() {
        let label = "closed = true returns to the first point by itself";
        let place = items.last()?.place()?;
        field.fault(place.fault("the last waypoint is the same as the first", label));
    }
    if !complete {
        return None;
    }
    Some(TrajectoryConfig::Waypoints { points_m, speed_m_s: speed_m_s?, closed })
}

fn waypoint(item: &Field<'_>) -> Option<[f64; 3]> {
    let expected = "[x, y] or [x, y, z] in m";
    let (numbers, place) = item.array_of(2..=3, expected)?;
    if !(2..=3).contains(&numbers.len()) {
        let label = format!("this has {}; allowed: {expected}", numbers.len());
        item.fault(place.fault("a waypoint has two or three numbers", label));
        return None;
    }
    let limit = position_limit();
    let read: Vec<_> = numbers.iter().map(|number| number.number(&limit)).collect();
    let read: Option<Vec<f64>> = read.into_iter().collect();
    let read = read?;
    Some([read[0], read[1], read.get(2).copied().unwrap_or(0.0)])
}

fn file(table: &mut TableReader<'_>) -> Option<(TrajectoryConfig, Place)> {
    let expected = format!("the path of a file ({})", dotted(&TRAJECTORY_EXTENSIONS));
    let path_field = table.required("path");
    let pattern = extension_pattern(&TRAJECTORY_EXTENSIONS);
    let path = path_field.text_like(&expected, Some(&pattern));
    let speed_m_s = table.optional("speed_m_s").number(&speed_limit());
    let closed = table.optional("closed").boolean_or(false);
    let path = path?;
    if !has_extension(&path.value, &TRAJECTORY_EXTENSIONS) {
        let title = format!("`{}` is not a trajectory file", path.value);
        path_field.fault(path.place.fault(title, format!("allowed: {expected}")));
        return None;
    }
    let resolved = path.place.source.resolve(&path.value);
    Some((TrajectoryConfig::File { path: resolved, speed_m_s, closed }, path.place))
}
