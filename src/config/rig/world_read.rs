//! Reads `[world]` of a rig.

use super::parts::{dotted, extension_pattern, has_extension, seed_limit};

use crate::rig::object_read::objects;
use crate::rig::placement::{ScenePlacement, UpAxis};
use crate::rig::scene_read::finish_parameters;
use crate::rig::scenes::{BUILTIN, built_in};
use crate::rig::weather_read::weather;
use crate::rig::{LabelRule, SceneSource, WorldConfig};
use crate::toml::diagnostic::Place;
use crate::toml::reader::{Field, Limit, TableReader, Text, Value, nearest};

/// Scenes that are part of the program.
const BUILT_IN: [&str; BUILTIN.len()] = {
    let mut names = [""; BUILTIN.len()];
    let mut index = 0;
    while index < names.len() {
        names[index] = BUILTIN[index].name;
        index += 1;
    }
    names
};

/// Extensions of scene files.
const SCENE_EXTENSIONS: [&str; 6] = ["json", "gltf", "glb", "obj", "ply", "stl"];

/// Reads `[world]`; `rig_seed` is the default seed. Also returns the position of the scene in the file.
pub fn world(mut table: TableReader<'_>, rig_seed: u64) -> Option<(WorldConfig, Place)> {
    let expected = format!(
        "a built-in scene ({}) or the path of a file ({})",
        BUILT_IN.map(|name| format!("\"{name}\"")).join(", "),
        dotted(&SCENE_EXTENSIONS)
    );
    let pattern = extension_pattern(&SCENE_EXTENSIONS);
    let scene = table.required("scene").word_or_text(&BUILT_IN, &expected, &pattern, "?.obj");
    let parameters = table.optional("parameters").such_as("{ seed = 1 }");
    let parameters = parameters.or_empty_if_noted(table.place());
    let objects = objects(&table.optional("object"));
    let weather = weather(&table.optional("weather"), objects.as_deref());
    let labels = labels(&table.optional("labels").such_as("{ \"tree*\" = \"vegetation\" }"));
    let written = Placed::of(&mut table);
    table.finish();
    let scene = scene?;
    if BUILT_IN.contains(&scene.value.as_str()) {
        written.refuse(&scene);
    }
    let source = if BUILT_IN.contains(&scene.value.as_str()) {
        built_in(&scene, &parameters, rig_seed)?
    } else {
        scene_file(&scene, &parameters, &written, rig_seed, &expected)?
    };
    let world =
        WorldConfig { scene: source, objects: objects?, weather: weather?, labels: labels? };
    Some((world, scene.place))
}

/// Largest number of rules in `[world.labels]`; each is compared with every name once.
const MAX_LABELS: usize = 1000;
/// Letters of a label or a pattern, at most.
const LONGEST_LABEL: usize = 64;

/// Reads `[world.labels]`: patterns of names with their labels.
fn labels(field: &Field<'_>) -> Option<Vec<LabelRule>> {
    if !field.is_written() {
        return Some(Vec::new());
    }
    const FORMAT: &str = "the rig format, [world.labels]";
    let expected = "a table of patterns of names with their labels, each a text";
    let node = field.any(expected)?;
    let allowed = format!("allowed: {expected}, as in \"tree*\" = \"vegetation\"");
    let Value::Table(entries) = &node.value else {
        field.fault(node.place.fault("`labels` is no table", allowed));
        return None;
    };
    if entries.len() > MAX_LABELS {
        let title = format!("{} labels are too many", entries.len());
        let fault = node.place.fault(title, format!("allowed: up to {MAX_LABELS}"));
        field.fault(fault.note(format!("limit from {FORMAT}: memory")));
        return None;
    }
    let mut rules = Some(Vec::new());
    for entry in entries {
        let is_fit = |text: &str| (1..=LONGEST_LABEL).contains(&text.chars().count());
        let lengths = format!("allowed: 1 to {LONGEST_LABEL} letters");
        if !is_fit(&entry.key) {
            let title = "a pattern of a name is too short or too long";
            field.fault(entry.key_place.fault(title, lengths.clone()));
            rules = None;
        }
        match &entry.node.value {
            Value::String(label) if is_fit(label) => {
                if let Some(rules) = &mut rules {
                    rules.push(LabelRule { pattern: entry.key.clone(), label: label.clone() });
                }
            }
            Value::String(_) => {
                let title = format!("the label of `{}` is too short or too long", entry.key);
                field.fault(entry.node.place.fault(title, lengths));
                rules = None;
            }
            _ => {
                let title = format!("the label of `{}` is no text", entry.key);
                field.fault(entry.node.place.fault(title, allowed.clone()));
                rules = None;
            }
        }
    }
    rules
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

/// Keys of `[world]` about the placement of a scene file.
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

    /// Reads the placement of a scene; a faulty value is reported, and its default is then never used.
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

    /// Rejects these keys for a built-in scene, which needs no placement. If `--set` chose the scene, keys of
    /// the file for another scene are ignored.
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
