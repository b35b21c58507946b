//! Reads `[world]` of a rig.

use super::parts::{dotted, extension_pattern, has_extension, seed_limit};

use crate::config::rig::object_read::objects;
use crate::config::rig::placement::{ScenePlacement, UpAxis};
use crate::config::rig::scenes::{self, ParameterHelp};
use crate::config::rig::{
    CourtyardParameters, RoomParameters, RootStepParameters, SceneSource, WorldConfig,
};
use crate::config::toml::diagnostic::Place;
use crate::config::toml::reader::{Field, Limit, TableReader, Text, nearest};

/// Scenes that are part of the program.
const BUILT_IN: [&str; 3] =
    [scenes::BUILTIN[0].name, scenes::BUILTIN[1].name, scenes::BUILTIN[2].name];

/// Extensions of scene files.
const SCENE_EXTENSIONS: [&str; 6] = ["json", "gltf", "glb", "obj", "ply", "stl"];

/// Reads `[world]`; `rig_seed` is the seed of what names none. Also says where the scene is named.
pub fn world(mut table: TableReader<'_>, rig_seed: u64) -> Option<(WorldConfig, Place)> {
    let expected = format!(
        "a built-in scene ({}) or the path of a file ({})",
        BUILT_IN.map(|name| format!("\"{name}\"")).join(", "),
        dotted(&SCENE_EXTENSIONS)
    );
    let pattern = extension_pattern(&SCENE_EXTENSIONS);
    let scene = table.required("scene").word_or_text(&BUILT_IN, &expected, &pattern, "?.obj");
    let parameters = table.optional("parameters").such_as("{ seed = 1 }");
    let objects = objects(&table.optional("object"));
    let written = Placed::of(&mut table);
    table.finish();
    let scene = scene?;
    if BUILT_IN.contains(&scene.value.as_str()) {
        written.refuse(&scene);
    }
    let source = match scene.value.as_str() {
        "courtyard" => SceneSource::Courtyard(courtyard(&scene, &parameters, rig_seed)?),
        "room" => SceneSource::Room(room(&scene, &parameters)?),
        "root-step" => SceneSource::RootStep(root_step(&scene, &parameters, rig_seed)?),
        _ => scene_file(&scene, &parameters, &written, rig_seed, &expected)?,
    };
    Some((WorldConfig { scene: source, objects: objects? }, scene.place))
}

fn scene_file(
    scene: &Text,
    parameters: &Field<'_>,
    written: &Placed<'_>,
    rig_seed: u64,
    expected: &str,
) -> Option<SceneSource> {
    let placement = written.read();
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
    let path = scene.place.source.resolve(&scene.value);
    Some(SceneSource::File { path, seed, placement })
}

/// What `[world]` says of how a scene file lies in the world.
struct Placed<'f> {
    up_axis: Field<'f>,
    scale: Field<'f>,
    rotate_deg: Field<'f>,
    offset_m: Field<'f>,
}

impl<'f> Placed<'f> {
    fn of(table: &mut TableReader<'f>) -> Self {
        Self {
            up_axis: table.optional("up_axis"),
            scale: table.optional("scale"),
            rotate_deg: table.optional("rotate_deg"),
            offset_m: table.optional("offset_m"),
        }
    }

    /// Faulty values are told; their defaults are never used then.
    fn read(&self) -> ScenePlacement {
        let format = "the rig format, [world]";
        let usual = ScenePlacement::default();
        let scale = Limit::new(1e-6..=1e6, "metres a unit", format);
        let turn = Limit::new(-360.0..=360.0, "degrees", "geometry: one turn either way");
        let reach = Limit::new(-1e7..=1e7, "m", "the scene: f32 has metres beyond");
        let degrees = self.rotate_deg.numbers_or(&turn, [0.0; 3]);
        ScenePlacement {
            up_axis: self.up_axis.choice(&UpAxis::WORDS, format),
            scale: self.scale.number_or(&scale, usual.scale),
            roll_pitch_yaw_rad: degrees.map(f64::to_radians),
            offset_m: self.offset_m.numbers_or(&reach, [0.0; 3]),
        }
    }

    /// Refuses the keys beside a built-in scene, which lies as its parameters say. Where `--set` chose
    /// the scene, those that the file has for another one are left out.
    fn refuse(&self, scene: &Text) {
        let keys = [
            ("up_axis", &self.up_axis),
            ("scale", &self.scale),
            ("rotate_deg", &self.rotate_deg),
            ("offset_m", &self.offset_m),
        ];
        for (key, field) in keys {
            let Some(place) = field.place() else { continue };
            if scene.place.is_override() && !place.is_override() {
                continue;
            }
            let label = format!("allowed: with a scene file, and \"{}\" is built in", scene.value);
            field.fault(place.fault(format!("`{key}` is for scene files"), label));
        }
    }
}

/// Refuses parameters the scene does not have. When `--set` chose the scene, those that the file
/// has for another scene are left out instead: one key is enough to run a rig in another scene.
fn finish_parameters(mut table: TableReader<'_>, scene: &Text) {
    if scene.place.is_override() {
        table.drop_unknown(|place| !place.is_override());
    }
    table.finish();
}

/// A parameter of a built-in scene, with what `menura scenes` prints of it.
fn parameter<'f>(
    table: &mut TableReader<'f>,
    parameters: &[ParameterHelp],
    name: &'static str,
) -> Field<'f> {
    let help = parameters.iter().find(|help| help.name == name).expect("a listed parameter");
    let field = table.optional(name).meaning(help.meaning);
    if let Ok(default) = serde_json::from_str::<serde_json::Value>(help.default) {
        field.defaults_to(default);
    }
    field
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
        let seed = parameter(&mut table, help, "seed").integer(&seed_limit());
        let blades = whole_limit(help, "grass_blades", "blades");
        let grass_blades = parameter(&mut table, help, "grass_blades").integer(&blades);
        let trees =
            parameter(&mut table, help, "trees").integer(&whole_limit(help, "trees", "trees"));
        let triangles = whole_limit(help, "tree_triangles", "triangles");
        let tree_triangles = parameter(&mut table, help, "tree_triangles").integer(&triangles);
        let relief = parameter_limit(help, "ground_relief_m", "m");
        let ground_relief_m = parameter(&mut table, help, "ground_relief_m").number(&relief);
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
        let size = parameter_limit(help, "size_m", "m");
        let size_m = parameter(&mut table, help, "size_m").numbers::<3>(&size);
        let share = parameter_limit(help, "reflectance", "");
        let reflectance = parameter(&mut table, help, "reflectance").number(&share);
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
        let seed = parameter(&mut table, help, "seed").integer(&seed_limit());
        let mut whole =
            |name, unit| parameter(&mut table, help, name).integer(&whole_limit(help, name, unit));
        let ground_triangles = whole("ground_triangles", "triangles");
        let trees = whole("trees", "trees");
        let tree_triangles = whole("tree_triangles", "triangles");
        let plants = whole("plants", "plants");
        let mut metres =
            |name| parameter(&mut table, help, name).number(&parameter_limit(help, name, "m"));
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
