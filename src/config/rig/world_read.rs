//! Reads `[world]` and `[robot]` of a rig.

use super::parts::{seed_limit, socket};
use std::path::Path;

use crate::config::rig::object_read::objects;
use crate::config::rig::scenes::{self, ParameterHelp};
use crate::config::rig::{
    CourtyardParameters, FeedConfig, RobotConfig, RoomParameters, RootStepParameters, SceneSource,
    TrajectoryConfig, WorldConfig,
};
use crate::config::toml::diagnostic::Place;
use crate::config::toml::reader::{Field, Limit, TableReader, Text, nearest};

/// Scenes that are part of the program.
const BUILT_IN: [&str; 3] =
    [scenes::BUILTIN[0].name, scenes::BUILTIN[1].name, scenes::BUILTIN[2].name];

/// Extensions of scene files.
const SCENE_EXTENSIONS: [&str; 6] = ["json", "gltf", "glb", "obj", "ply", "stl"];

/// Extensions of trajectory files.
const TRAJECTORY_EXTENSIONS: [&str; 5] = ["txt", "tum", "csv", "gpx", "vprp"];

/// Most points of a trajectory of waypoints; more belong into a file.
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

/// Reads `[world]`; `rig_seed` is the seed of what names none. Also says where the scene is named.
pub fn world(mut table: TableReader<'_>, rig_seed: u64) -> Option<(WorldConfig, Place)> {
    let expected = format!(
        "a built-in scene ({}) or the path of a file ({})",
        BUILT_IN.map(|name| format!("\"{name}\"")).join(", "),
        dotted(&SCENE_EXTENSIONS)
    );
    let scene = table.required("scene").text(&expected);
    let parameters = table.optional("parameters").such_as("{ seed = 1 }");
    let objects = objects(&table.optional("object"));
    table.finish();
    let scene = scene?;
    let source = match scene.value.as_str() {
        "courtyard" => SceneSource::Courtyard(courtyard(&scene, &parameters, rig_seed)?),
        "room" => SceneSource::Room(room(&scene, &parameters)?),
        "root-step" => SceneSource::RootStep(root_step(&scene, &parameters, rig_seed)?),
        _ => scene_file(&scene, &parameters, rig_seed, &expected)?,
    };
    Some((WorldConfig { scene: source, objects: objects? }, scene.place))
}

/// `.a, .b`
pub(crate) fn dotted(extensions: &[&str]) -> String {
    extensions.iter().map(|e| format!(".{e}")).collect::<Vec<_>>().join(", ")
}

/// Whether a path ends in one of these, whatever the case.
pub(crate) fn has_extension(path: &str, allowed: &[&str]) -> bool {
    let extension = Path::new(path).extension().and_then(|e| e.to_str()).unwrap_or_default();
    allowed.iter().any(|known| known.eq_ignore_ascii_case(extension))
}

fn scene_file(
    scene: &Text,
    parameters: &Field<'_>,
    rig_seed: u64,
    expected: &str,
) -> Option<SceneSource> {
    if !has_extension(&scene.value, &SCENE_EXTENSIONS) {
        let title = format!("`{}` is not a scene", scene.value);
        let mut fault = scene.place.fault(title, format!("allowed: {expected}"));
        if let Some(near) = nearest(&scene.value, BUILT_IN.into_iter()) {
            fault = fault.help(format!("did you mean \"{near}\"?"));
        }
        parameters.fault(fault);
        return None;
    }
    let mut seed = rig_seed;
    if parameters.is_written() {
        let mut table = parameters.table("the parameters of a scene file")?;
        seed = table.optional("seed").integer(&seed_limit()).unwrap_or(seed);
        finish_parameters(table, scene);
    }
    Some(SceneSource::File { path: scene.place.source.resolve(&scene.value), seed })
}

/// Refuses parameters the scene does not have. When `--set` chose the scene, those that the file
/// has for another scene are left out instead: one key is enough to run a rig in another scene.
fn finish_parameters(mut table: TableReader<'_>, scene: &Text) {
    if scene.place.is_override() {
        table.drop_unknown(|place| !place.is_override());
    }
    table.finish();
}

/// The limit that `menura scenes` prints for a parameter.
fn parameter_limit(parameters: &[ParameterHelp], name: &str, unit: &'static str) -> Limit<f64> {
    let help = parameters.iter().find(|help| help.name == name).expect("a listed parameter");
    Limit::new(help.min..=help.max, unit, "the scene, see `menura scenes`")
}

/// The same for whole numbers.
fn whole_limit(parameters: &[ParameterHelp], name: &str, unit: &'static str) -> Limit<i128> {
    let help = parameters.iter().find(|help| help.name == name).expect("a listed parameter");
    let range = help.min as i128..=help.max as i128;
    Limit::new(range, unit, "the scene, see `menura scenes`")
}

fn courtyard(scene: &Text, parameters: &Field<'_>, rig_seed: u64) -> Option<CourtyardParameters> {
    let mut all = CourtyardParameters { seed: rig_seed, ..CourtyardParameters::default() };
    if parameters.is_written() {
        let help = CourtyardParameters::HELP;
        let mut table = parameters.table("the parameters of the courtyard")?;
        let seed = table.optional("seed").integer(&seed_limit());
        let blades = whole_limit(help, "grass_blades", "blades");
        let grass_blades = table.optional("grass_blades").integer(&blades);
        let trees = table.optional("trees").integer(&whole_limit(help, "trees", "trees"));
        let triangles = whole_limit(help, "tree_triangles", "triangles");
        let tree_triangles = table.optional("tree_triangles").integer(&triangles);
        let relief = parameter_limit(help, "ground_relief_m", "m");
        let ground_relief_m = table.optional("ground_relief_m").number(&relief);
        finish_parameters(table, scene);
        all.seed = seed.unwrap_or(all.seed);
        all.grass_blades = grass_blades.unwrap_or(all.grass_blades);
        all.trees = trees.unwrap_or(all.trees);
        all.tree_triangles = tree_triangles.unwrap_or(all.tree_triangles);
        all.ground_relief_m = ground_relief_m.unwrap_or(all.ground_relief_m);
    }
    Some(all)
}

fn room(scene: &Text, parameters: &Field<'_>) -> Option<RoomParameters> {
    let mut all = RoomParameters::default();
    if parameters.is_written() {
        let help = RoomParameters::HELP;
        let mut table = parameters.table("the parameters of the room")?;
        let size_m = table.optional("size_m").numbers::<3>(&parameter_limit(help, "size_m", "m"));
        let reflectance =
            table.optional("reflectance").number(&parameter_limit(help, "reflectance", ""));
        finish_parameters(table, scene);
        all.size_m = size_m.unwrap_or(all.size_m);
        all.reflectance = reflectance.unwrap_or(all.reflectance);
    }
    Some(all)
}

fn root_step(scene: &Text, parameters: &Field<'_>, rig_seed: u64) -> Option<RootStepParameters> {
    let mut all = RootStepParameters { seed: rig_seed, ..RootStepParameters::default() };
    if parameters.is_written() {
        let help = RootStepParameters::HELP;
        let mut table = parameters.table("the parameters of the forest floor")?;
        if scene.place.is_override() {
            // What the file says of trees is meant for its own scene.
            table.drop_unknown(|place| !place.is_override());
        }
        let seed = table.optional("seed").integer(&seed_limit());
        let mut whole = |name, unit| table.optional(name).integer(&whole_limit(help, name, unit));
        let ground_triangles = whole("ground_triangles", "triangles");
        let trees = whole("trees", "trees");
        let tree_triangles = whole("tree_triangles", "triangles");
        let plants = whole("plants", "plants");
        let mut metres = |name| table.optional(name).number(&parameter_limit(help, name, "m"));
        let ground_relief_m = metres("ground_relief_m");
        let step_height_m = metres("step_height_m");
        table.finish();
        all.seed = seed.unwrap_or(all.seed);
        all.ground_triangles = ground_triangles.unwrap_or(all.ground_triangles);
        all.trees = trees.unwrap_or(all.trees);
        all.tree_triangles = tree_triangles.unwrap_or(all.tree_triangles);
        all.plants = plants.unwrap_or(all.plants);
        all.ground_relief_m = ground_relief_m.unwrap_or(all.ground_relief_m);
        all.step_height_m = step_height_m.unwrap_or(all.step_height_m);
    }
    Some(all)
}

/// Reads `[robot]`. Also says where the trajectory is named.
pub fn robot(mut table: TableReader<'_>) -> Option<(RobotConfig, Place)> {
    let trajectory = table
        .required("trajectory")
        .such_as("{ kind = \"circle\", radius_m = 20.0, speed_m_s = 2.0 }")
        .table("a trajectory")
        .and_then(trajectory);
    let follow_ground = follow_ground(&mut table, trajectory.as_ref());
    table.finish();
    let (trajectory, place) = trajectory?;
    Some((RobotConfig { trajectory, follow_ground }, place))
}

/// Reads `follow_ground` of what moves as `trajectory` says.
pub(crate) fn follow_ground(
    table: &mut TableReader<'_>,
    trajectory: Option<&(TrajectoryConfig, Place)>,
) -> bool {
    let field = table.optional("follow_ground");
    let follows = field.boolean().unwrap_or(false);
    if let (true, Some((TrajectoryConfig::Feed(_), _)), Some(place)) =
        (follows, trajectory, field.place())
    {
        let label = "allowed: false; the sender of a feed says z, roll and pitch itself";
        field.fault(place.fault("a feed cannot follow the ground", label));
    }
    follows
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
}

const KINDS: &[(&str, Kind)] = &[
    ("still", Kind::Still),
    ("line", Kind::Line),
    ("circle", Kind::Circle),
    ("half-sine", Kind::HalfSine),
    ("waypoints", Kind::Waypoints),
    ("file", Kind::File),
    ("feed", Kind::Feed),
];

/// Reads a trajectory, of the robot or of an object. Also says where it, or its file, is named.
pub(crate) fn trajectory(mut table: TableReader<'_>) -> Option<(TrajectoryConfig, Place)> {
    let kind = table.required("kind").choice(KINDS, "the rig format, trajectories")?;
    let t = &mut table;
    let place = t.place().clone();
    let read = match kind {
        Kind::Still => still(t),
        Kind::Line => line(t),
        Kind::Circle => circle(t),
        Kind::HalfSine => half_sine(t),
        Kind::Waypoints => waypoints(t),
        Kind::Feed => feed(t),
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
    table.optional(key).numbers::<3>(&position_limit()).unwrap_or_default()
}

fn angle(table: &mut TableReader<'_>, key: &'static str) -> f64 {
    table.optional(key).number(&yaw_limit()).unwrap_or_default().to_radians()
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
        let fault = place.fault("what runs on a circle moves", label);
        speed.fault(fault.help("write kind = \"still\" for what stands"));
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
    let hold_after_ms = table.optional("hold_after_ms").number(&hold).unwrap_or(500.0);
    let position_m = position(table, "position_m");
    let yaw_rad = angle(table, "yaw_deg");
    let (listen, _) = listen?;
    let hold_after_ns = (hold_after_ms * 1e6).round() as u64;
    Some(TrajectoryConfig::Feed(FeedConfig { listen, hold_after_ns, position_m, yaw_rad }))
}

fn waypoints(table: &mut TableReader<'_>) -> Option<TrajectoryConfig> {
    let closed = table.optional("closed").boolean().unwrap_or(false);
    let speed_m_s = table.required("speed_m_s").number(&speed_limit());
    let fewest = if closed { 3 } else { 2 };
    let expected = format!("{fewest} to {MAX_WAYPOINTS} points, each [x, y] or [x, y, z] in m");
    let field = table.required("points_m");
    let (items, place) = field.array(&expected)?;
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
    let (numbers, place) = item.array(expected)?;
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
    let path = path_field.text(&expected);
    let speed_m_s = table.optional("speed_m_s").number(&speed_limit());
    let closed = table.optional("closed").boolean().unwrap_or(false);
    let path = path?;
    if !has_extension(&path.value, &TRAJECTORY_EXTENSIONS) {
        let title = format!("`{}` is not a trajectory file", path.value);
        path_field.fault(path.place.fault(title, format!("allowed: {expected}")));
        return None;
    }
    let resolved = path.place.source.resolve(&path.value);
    Some((TrajectoryConfig::File { path: resolved, speed_m_s, closed }, path.place))
}
