//! Reads `[[world.object]]`: moving objects.

use super::parts::{Names, Pose, file_name};
use glam::{DAffine3, DMat3, DVec3};

use super::parts::{dotted, extension_pattern, has_extension};
use super::short_forms::{self, repeat_object, repeated};
use super::trajectory::{MOTION, Owner, stance, trajectory};
use crate::frames::quat_from_rpy;
use crate::rig::RobotConfig;
use crate::rig::objects::{ObjectBody, ObjectConfig, ObjectShape};
use crate::toml::reader::{Field, Limit, TableReader, Text, nearest};

const FORMAT: &str = "the rig format, [[world.object]]";
const TRAJECTORY_EXAMPLE: &str = "{ kind = \"line\", speed_m_s = 20.0 }";
const MESH_POSE_EXAMPLE: &str = "{ roll_pitch_yaw_deg = [0.0, 0.0, 90.0] }";

/// Largest number of objects; every pulse is tested against each.
const MAX_OBJECTS: usize = 1000;

/// Extensions of mesh files.
const MESH_EXTENSIONS: [&str; 5] = ["gltf", "glb", "obj", "ply", "stl"];

/// Reads all objects of `[world]`: an empty list if the key is missing, `None` after an error.
pub fn objects(field: &Field<'_>) -> Option<Vec<ObjectConfig>> {
    if !field.is_written() {
        return Some(Vec::new());
    }
    let field = field.named("world.object");
    let expected = "up to 1000 of [[world.object]]";
    let (mut items, place) = field.array_up_to(0..=MAX_OBJECTS, FORMAT, expected)?;
    if field.node().is_some() {
        items = field.items_of(repeated(items, MAX_OBJECTS, repeat_object));
        if items.len() > MAX_OBJECTS {
            let title = format!("{} of [[world.object]] are too many", items.len());
            field.fault(place.fault(title, format!("allowed: at most {MAX_OBJECTS}")));
            return None;
        }
    }
    let mut names = Names::new("objects", "names become file names");
    let objects: Vec<_> = items
        .iter()
        .map(|item| {
            let table = item.named("world.object").table("[[world.object]]")?;
            let (name, object) = object(table);
            if let Some(name) = name {
                names.add(&field, &name.value, &name.place);
            }
            object
        })
        .collect();
    objects.into_iter().collect()
}

fn object(mut table: TableReader<'_>) -> (Option<Text>, Option<ObjectConfig>) {
    let name_field = table.required("name");
    let name_field = name_field.meaning("Name of the object in messages and in recorded files.");
    let name = file_name(&name_field, "an object's");
    let repeat = table.optional("repeat");
    let repeat = repeat.meaning("Copies of the object, named NAME-1, NAME-2 and so on.");
    if repeat.is_written() {
        let _ = short_forms::read(&repeat, MAX_OBJECTS);
    }
    let body = body(&mut table);
    let motion = table
        .required("trajectory")
        .meaning(MOTION)
        .such_as(TRAJECTORY_EXAMPLE)
        .table("a trajectory")
        .and_then(|table| trajectory(table, Owner::Object));
    let (follow_ground, footprint_m) = stance(&mut table, motion.as_ref(), false);
    table.finish();
    let object = || {
        let (body, body_place) = body?;
        let (trajectory, trajectory_place) = motion?;
        Some(ObjectConfig {
            name: name.as_ref()?.value.clone(),
            body,
            motion: RobotConfig { trajectory, follow_ground, footprint_m },
            body_place,
            trajectory_place,
        })
    };
    let object = object();
    (name, object)
}

fn body(table: &mut TableReader<'_>) -> Option<(ObjectBody, crate::toml::diagnostic::Place)> {
    let words = ObjectShape::WORDS.map(|(word, _)| word);
    let expected = format!(
        "a built-in body ({}) or the path of a mesh ({})",
        words.map(|word| format!("\"{word}\"")).join(", "),
        dotted(&MESH_EXTENSIONS)
    );
    let field = table.required("body");
    let field = field.meaning("Shape: a built-in body, or a mesh from a file.");
    let pattern = extension_pattern(&MESH_EXTENSIONS);
    let Some(text) = field.word_or_text(&words, &expected, &pattern, "?.obj") else {
        // Without a valid body, the other keys cannot be checked.
        for key in ["size_m", "reflectance", "mesh_pose", "scale"] {
            table.optional(key);
        }
        return None;
    };
    let built_in = ObjectShape::WORDS.iter().find(|(word, _)| *word == text.value);
    if let Some(&(word, shape)) = built_in {
        refuse(table, ["mesh_pose", "scale"], &format!("use `size_m` for the built-in {word}"));
        let size = Limit::new(0.01..=1000.0, "m", FORMAT);
        let size_field = table.optional("size_m").meaning(
            "Length, width and height of a built-in body (default: those of the body's kind).",
        );
        let size_m = size_field.numbers_or(&size, shape.default_size_m());
        let share = Limit::new(0.0..=1.0, "", "physics: a share");
        let reflectance = table
            .optional("reflectance")
            .meaning("Diffuse reflectance of a built-in body.")
            .number_or(&share, 0.5);
        return Some((ObjectBody::BuiltIn { shape, size_m, reflectance }, text.place));
    }
    if !has_extension(&text.value, &MESH_EXTENSIONS) {
        let title = format!("`{}` is not a body", text.value);
        let mut fault = text.place.fault(title, format!("allowed: {expected}"));
        if let Some(near) = nearest(&text.value, words.into_iter()) {
            fault = fault.help(format!("did you mean \"{near}\"?"));
        }
        field.fault(fault);
        for key in ["size_m", "reflectance", "mesh_pose", "scale"] {
            table.optional(key);
        }
        return None;
    }
    refuse(table, ["size_m", "reflectance"], "a mesh has its own; use `scale` and `mesh_pose`");
    let scale = Limit::new(1e-4..=1e4, "", FORMAT);
    let scale_field = table.optional("scale").meaning("Metres for each unit of the mesh.");
    let scale = scale_field.number_or(&scale, 1.0);
    let pose = table
        .optional("mesh_pose")
        .meaning("Position and rotation of the mesh on the body.")
        .such_as(MESH_POSE_EXAMPLE);
    let pose =
        if pose.is_written() { mesh_pose(pose.table("a pose")?) } else { DAffine3::IDENTITY };
    let path = text.place.source.resolve(&text.value);
    let body_from_mesh = pose * DAffine3::from_scale(DVec3::splat(scale));
    Some((ObjectBody::File { path, body_from_mesh }, text.place))
}

/// Rejects keys that belong to other kinds of bodies.
fn refuse(table: &mut TableReader<'_>, keys: [&'static str; 2], why: &str) {
    for key in keys {
        if let Some(place) = table.take_unlisted(key) {
            table.fault(place.fault(format!("`{key}` is not for this body"), why.to_string()));
        }
    }
}

/// Pose of a mesh on the body, in the same form as a mount on the robot.
fn mesh_pose(mut table: TableReader<'_>) -> DAffine3 {
    let reach = Limit::new(-1000.0..=1000.0, "m", FORMAT);
    let pose = Pose::read(&mut table, reach);
    table.finish();
    let [roll, pitch, yaw] = pose.roll_pitch_yaw_rad;
    let rotation = DMat3::from_quat(quat_from_rpy(roll, pitch, yaw));
    DAffine3::from_mat3_translation(rotation, DVec3::from_array(pose.translation_m))
}
