//! `[robot]` of a rig, and the trajectories of the robot and of objects.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde_json::json;

use super::RobotConfig;
use super::drive::{DriveConfig, drive};
use super::parts::{dotted, extension_pattern, has_extension, position_limit, socket, turn_limit};
use crate::toml::diagnostic::Place;
use crate::toml::key_types::{By, Degrees, Maybe, Time, TrueOrFalse};
use crate::toml::reader::{Field, Limit, Node, TableReader};

/// Extensions of trajectory files.
const TRAJECTORY_EXTENSIONS: [&str; 5] = ["txt", "tum", "csv", "gpx", "vprp"];

/// Largest number of waypoints in a rig; use a file for more.
const MAX_WAYPOINTS: usize = 10_000;

const FORMAT: &str = "the rig format, trajectories";

/// Documentation of the key `trajectory`, of the robot and of objects.
pub(super) const MOTION: &str = "The motion (default for the robot: stationary).";

fn speed_limit() -> Limit<f64> {
    Limit::new(0.001..=100.0, "m/s", FORMAT)
}

fn length_limit() -> Limit<f64> {
    Limit::new(0.1..=100_000.0, "m", FORMAT)
}

fn yaw() -> Degrees {
    Degrees(turn_limit())
}

keys! {
    with (rig_seed: u64);
    /// Trajectory of the robot or of an object in the World frame; angles in radians. Motion starts when the run starts.
    #[derive(Clone, Debug, PartialEq)]
    pub enum TrajectoryConfig of TrajectoryKind {
        /// No motion.
        Still = "still" {
            /// Position east, north and up: of a robot that stands; of a feed until the first pose arrives; of a driven
            /// robot at the start.
            position_m: [f64; 3] = [0.0; 3], position_limit();
            /// Heading, counter-clockwise from east; of a feed until the first pose arrives.
            yaw_rad as "yaw_deg": f64 = 0.0, yaw();
        }
        /// A straight line without end.
        Line = "line" {
            /// Start of the path, east, north and up.
            start_m: [f64; 3] = [0.0; 3], position_limit();
            /// Heading, counter-clockwise from east; of a feed until the first pose arrives.
            yaw_rad as "yaw_deg": f64 = 0.0, yaw();
            /// Speed along the path. A negative speed runs a circle clockwise. A file that has times needs no speed.
            speed_m_s: f64, speed_limit();
        }
        /// A circle, repeated without end.
        Circle = "circle" {
            /// The circle's centre, east, north and up.
            center_m: [f64; 3] = [0.0; 3], position_limit();
            /// The circle's radius.
            radius_m: f64, length_limit();
            /// Place on the circle at the start, counter-clockwise from east.
            start_angle_rad as "start_angle_deg": f64 = 0.0, yaw();
            /// Speed along the path; a negative speed runs clockwise.
            speed_m_s: f64, By(circle_speed);
        }
        /// Half waves of a sine on alternate sides of a line, without end: y = amplitude * sin(pi x / length).
        HalfSine = "half-sine" {
            /// Start of the path, east, north and up.
            start_m: [f64; 3] = [0.0; 3], position_limit();
            /// Heading, counter-clockwise from east; of a feed until the first pose arrives.
            yaw_rad as "yaw_deg": f64 = 0.0, yaw();
            /// Length of the half wave along the ground.
            length_m: f64, length_limit();
            /// Height of the half wave; a negative one is a hollow.
            amplitude_m: f64, Limit::new(-10_000.0..=10_000.0, "m", FORMAT);
            /// Speed along the path. A negative speed runs a circle clockwise. A file that has times needs no speed.
            speed_m_s: f64, speed_limit();
        }
        /// A path through points at a constant speed.
        Waypoints = "waypoints" {
            /// Whether the path leads back to its first point and starts again.
            closed: bool = false, TrueOrFalse;
            /// Speed along the path. A negative speed runs a circle clockwise. A file that has times needs no speed.
            speed_m_s: f64, speed_limit();
            /// Points of the path, each east, north and, if it is not 0, up.
            points_m: Vec<[f64; 3]>, By(|field: &Field<'_>| waypoints(field, closed));
        }
        /// A recorded trajectory.
        File = "file" {
            /// The file that holds the trajectory.
            path: PathBuf, By(file);
            /// Speed along the path. A file that has times needs no speed.
            speed_m_s: Option<f64> = None, Maybe(speed_limit());
            /// Whether the path leads back to its first point and starts again.
            closed: bool = false, TrueOrFalse;
        }
        /// Poses that another simulator sends during the run.
        Feed = "feed" (FeedConfig) => FeedConfig::read_keys;
        /// The robot's computer drives.
        Drive = "drive" (DriveConfig) => |table| drive(table, rig_seed);
    }
}

keys! {
    /// `trajectory = { kind = "feed", … }`: see [`crate::wire::feed`].
    #[derive(Clone, Debug, PartialEq)]
    pub struct FeedConfig {
        /// Address that receives poses from another simulator as datagrams.
        pub listen: SocketAddr, By(address);
        /// The robot stands still if no pose arrives for this long.
        pub hold_after_ns as "hold_after_ms": u64 = 500_000_000,
            Time(Limit::new(10.0..=60_000.0, "ms", FORMAT), 1e6);
        /// Position east, north and up: of a robot that stands; of a feed until the first pose arrives; of a driven robot
        /// at the start.
        pub position_m: [f64; 3] = [0.0; 3], position_limit();
        /// Heading, counter-clockwise from east; of a feed until the first pose arrives.
        pub yaw_rad as "yaw_deg": f64 = 0.0, yaw();
    }
}

/// Reads `[robot]`; also returns the position of its trajectory in the file. Without a trajectory the robot stands still.
/// `rig_seed` is the default of every seed in `[robot]`. If the scene `has_terrain`, a robot whose trajectory lies in the
/// plane z = 0 follows the terrain by default.
pub fn robot(
    mut table: TableReader<'_>,
    rig_seed: u64,
    has_terrain: bool,
) -> Option<(RobotConfig, Place)> {
    let mut field = table
        .optional("trajectory")
        .meaning(MOTION)
        .such_as("{ kind = \"circle\", radius_m = 20.0, speed_m_s = 2.0 }");
    if !field.is_written()
        && let Some(still) = Node::of_json(json!({ "kind": "still" }), table.place())
    {
        field = field.with(still);
    }
    let trajectory =
        field.table("a trajectory").and_then(|table| trajectory(table, Owner::Robot { rig_seed }));
    let is_plane = trajectory.as_ref().is_some_and(|(trajectory, _)| trajectory.is_plane());
    let stands = stance(&mut table, trajectory.as_ref(), has_terrain && is_plane);
    table.finish();
    let (trajectory, place) = trajectory?;
    let (follow_ground, footprint_m) = stands;
    Some((RobotConfig { trajectory, follow_ground, footprint_m }, place))
}

/// Reads `follow_ground` (default: `follows`) and `footprint_m` of a robot or object with this trajectory; returns
/// both.
pub(crate) fn stance(
    table: &mut TableReader<'_>,
    trajectory: Option<&(TrajectoryConfig, Place)>,
    follows: bool,
) -> (bool, [f64; 2]) {
    let field = table.optional("follow_ground").meaning(
        "Take height, roll and pitch from the terrain under four wheels (default: true for a robot \
         in the plane z = 0 of a built-in scene with uneven ground).",
    );
    field.defaults_here_to(follows);
    let follows = field.boolean().unwrap_or(follows);
    if let (true, Some((TrajectoryConfig::Feed(_), _)), Some(place)) =
        (follows, trajectory, field.place())
    {
        let label = "allowed: false; the poses of a feed contain z, roll and pitch";
        field.fault(
            place.fault("`follow_ground` conflicts with a trajectory of kind \"feed\"", label),
        );
    }
    let side = Limit::new(0.05..=50.0, "m", "the rig format, [robot]");
    let footprint = table
        .optional("footprint_m")
        .meaning("Distance between front and rear wheels, and between left and right wheels.");
    (follows, footprint.numbers_or(&side, RobotConfig::USUAL_FOOTPRINT_M))
}

impl TrajectoryConfig {
    /// Whether the trajectory lies in the plane z = 0; false for files and feeds, whose heights are unknown here.
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
pub(crate) enum Owner {
    /// The robot, whose trajectory may be `drive`.
    Robot {
        /// Seed of the rig.
        rig_seed: u64,
    },
    /// An object.
    Object,
}

/// Reads a trajectory of the robot or an object. Also returns the position of the trajectory or of its file
/// name.
pub(crate) fn trajectory(
    mut table: TableReader<'_>,
    owner: Owner,
) -> Option<(TrajectoryConfig, Place)> {
    let all = &TrajectoryKind::WORDS[..];
    let (kinds, origin, rig_seed) = match owner {
        Owner::Robot { rig_seed } => (all, FORMAT, rig_seed),
        // The last kind is `drive`, which only robots have.
        Owner::Object => {
            (&all[..all.len() - 1], "the rig format: \"drive\" is for the robot only", 0)
        }
    };
    let field = table.required("kind").meaning("The kind of trajectory.");
    let kind = field.choice(kinds, origin)?;
    let read = kind.read(&mut table, rig_seed);
    let place = match &read {
        Some(TrajectoryConfig::File { .. }) => table.place_of("path")?,
        _ => table.place().clone(),
    };
    table.finish();
    Some((read?, place))
}

fn circle_speed(field: &Field<'_>) -> Option<f64> {
    let speed_m_s = field.number(&Limit::new(-100.0..=100.0, "m/s", FORMAT))?;
    if let Some(place) = field.place().filter(|_| speed_m_s.abs() < 0.001) {
        let label = "allowed: at least 0.001 m/s; negative runs clockwise";
        let fault = place.fault("`speed_m_s` of a circle must not be 0", label);
        field.fault(fault.help("for a body at rest, write kind = \"still\""));
    }
    Some(speed_m_s)
}

fn address(field: &Field<'_>) -> Option<SocketAddr> {
    socket(field).map(|(address, _)| address)
}

fn waypoints(field: &Field<'_>, closed: bool) -> Option<Vec<[f64; 3]>> {
    let fewest = if closed { 3 } else { 2 };
    let expected = format!("{fewest} to {MAX_WAYPOINTS} points, each [x, y] or [x, y, z] in m");
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
    complete.then_some(points_m)
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

fn file(field: &Field<'_>) -> Option<PathBuf> {
    let expected = format!("the path of a file ({})", dotted(&TRAJECTORY_EXTENSIONS));
    let pattern = extension_pattern(&TRAJECTORY_EXTENSIONS);
    let path = field.text_like(&expected, Some(&pattern))?;
    if !has_extension(&path.value, &TRAJECTORY_EXTENSIONS) {
        let title = format!("`{}` is not a trajectory file", path.value);
        field.fault(path.place.fault(title, format!("allowed: {expected}")));
        return None;
    }
    Some(path.place.source.resolve(&path.value))
}
