//! Reads `[world]` of a rig.

use super::parts::{dotted, extension_pattern, has_extension, seed_limit};

use crate::rig::object_read::objects;
use crate::rig::placement::ScenePlacement;
use crate::rig::scene_read::finish_parameters;
use crate::rig::scenes::{BUILTIN, built_in};
use crate::rig::weather::weather;
use crate::rig::{LabelRule, SceneSource, WorldConfig};
use crate::toml::diagnostic::Place;
use crate::toml::reader::{Field, TableReader, Text, Value, nearest};

/// Names of the built-in scenes.
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

/// Reads `[world]`; `rig_seed` is the default seed. Also returns the position of the scene's name in the file. `None`
/// after an error.
pub fn world(mut table: TableReader<'_>, rig_seed: u64) -> Option<(WorldConfig, Place)> {
    let expected = format!(
        "a built-in scene ({}) or the path of a file ({})",
        BUILT_IN.map(|name| format!("\"{name}\"")).join(", "),
        dotted(&SCENE_EXTENSIONS)
    );
    let pattern = extension_pattern(&SCENE_EXTENSIONS);
    let scene = table
        .required("scene")
        .meaning("The scene: a built-in one, see `menura scenes`, or a file.")
        .word_or_text(&BUILT_IN, &expected, &pattern, "?.obj");
    let parameters = table
        .optional("parameters")
        .meaning("Parameters of the scene; each scene has its own.")
        .such_as("{ seed = 1 }")
        .or_empty_if_noted(table.place());
    let object_field = table.optional("object");
    let objects = objects(&object_field.meaning("A moving object; one table for each."));
    let weather_field = table.optional("weather");
    let weather_field = weather_field.meaning("Rain, snow, fog and dust in the air, and the wind.");
    let weather = weather(&weather_field, objects.as_deref());
    let labels_field = table
        .optional("labels")
        .meaning(
            "Labels in the ground truth. A key is a pattern for names of objects, meshes or \
             materials, in which * matches any characters; its value is the label. The first \
             matching pattern applies.",
        )
        .such_as("{ \"tree*\" = \"vegetation\" }");
    let labels = labels(&labels_field);
    let is_file = |scene: &&Text| !BUILT_IN.contains(&scene.value.as_str());
    let mut placement = ScenePlacement::default();
    match scene.as_ref().filter(is_file) {
        Some(_) => placement.read_into(&mut table),
        None => refuse_placement(&mut table, scene.as_ref()),
    }
    table.finish();
    let scene = scene?;
    let source = if is_file(&&scene) {
        scene_file(&scene, &parameters, placement, rig_seed, &expected)?
    } else {
        built_in(&scene, &parameters, rig_seed)?
    };
    let world =
        WorldConfig { scene: source, objects: objects?, weather: weather?, labels: labels? };
    Some((world, scene.place))
}

/// Largest number of rules in `[world.labels]`. Each rule is compared once with every name.
const MAX_LABELS: usize = 1000;
/// Largest length of a label or a pattern, characters.
const LONGEST_LABEL: usize = 64;

/// Reads `[world.labels]`: patterns of names with their labels.
fn labels(field: &Field<'_>) -> Option<Vec<LabelRule>> {
    if !field.is_written() {
        return Some(Vec::new());
    }
    const FORMAT: &str = "the rig format, [world.labels]";
    let expected = "a table of name patterns and their labels, both strings";
    let node = field.any(expected)?;
    let allowed = format!("allowed: {expected}, as in \"tree*\" = \"vegetation\"");
    let Value::Table(entries) = &node.value else {
        field.fault(node.place.fault("`labels` is not a table", allowed));
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
            let title = "this name pattern is too short or too long";
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
                let title = format!("the label of `{}` is not a string", entry.key);
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
    placement: ScenePlacement,
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
        seed = table
            .optional("seed")
            .meaning("Seed of the scene's random numbers (default: the rig's seed).")
            .integer(&seed_limit())
            .unwrap_or(seed);
        finish_parameters(table, scene);
    }
    let path = scene.place.source.resolve(&scene.value);
    Some(SceneSource::File { path, seed, placement })
}

/// Rejects the keys of [`ScenePlacement`] for a built-in scene, which needs no placement. If `--set` selected the
/// scene, such keys in the file are ignored, because they belong to the scene in the file.
fn refuse_placement(table: &mut TableReader<'_>, scene: Option<&Text>) {
    for key in ["up_axis", "scale", "rotate_deg", "offset_m"] {
        let (Some(place), Some(scene)) = (table.optional(key).place(), scene) else { continue };
        if scene.place.is_override() && !place.is_override() {
            continue;
        }
        let label =
            format!("allowed only with a scene file; \"{}\" is a built-in scene", scene.value);
        table.fault(place.fault(format!("`{key}` is for scene files"), label));
    }
}
