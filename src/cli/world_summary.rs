//! Text of `menura check` about a world: size of the scene, the robot's path, and probable mistakes.

use super::weather_summary;
use crate::config::rig::{DeviceConfig, Rig, SceneSource};
use crate::engine::LoadedWorld;
use crate::time::SimTime;
use crate::world::ground::{GroundHeight, Terrain};
use crate::world::scene::Scene;
use crate::world::survey::{self, describe_box};
use crate::world::trajectory::{End, Trajectory};

/// A device counts as inside an object if the surfaces on all sides of it are nearer than this, metres.
const ENCLOSED_M: f64 = 1.0;
/// Largest number of devices whose surroundings are examined.
const MAX_PLACES: usize = 32;
/// Number of ground triangles above which only the ground's bounding box is used, because building its height field
/// would take longer than loading the scene.
const MAX_GROUND_TRIANGLES: u64 = 2_000_000;
/// Largest number of surfaces that are named.
const MAX_SURFACES: usize = 20;
/// A warning is printed if more than this share of the robot's path, 0 to 1, has no ground below it.
const LEAST_SHARE: f64 = 0.001;

/// Lines about the world; each warning is after the line that it refers to.
pub fn lines(rig: &Rig, world: &LoadedWorld) -> Vec<String> {
    let LoadedWorld { scene, trajectory, objects, .. } = world;
    let mut lines = vec![format!(
        "scene: {} triangles in {} instances, {} of them stored",
        scene.instanced_triangles(),
        scene.instances.len(),
        scene.stored_triangles()
    )];
    let extents = scene.extents();
    if extents[0].x <= extents[1].x {
        lines.push(format!("scene extents: {}{}", describe_box(extents), up_axis(rig)));
        if let SceneSource::File { .. } = rig.world.scene {
            lines.extend(survey::hints(extents).into_iter().map(warning));
        }
    }
    lines.extend(surfaces("scene", scene));
    lines.push(format!("robot: {}", motion(trajectory)));
    let ground = Ground::of(scene);
    if let Some(way) = survey::way(trajectory, &ground) {
        let until = match trajectory.end() {
            End::Endless => format!(" in the first {} s", way.looked_s),
            _ => String::new(),
        };
        lines.push(format!("robot's path: {}{until}", describe_box(way.extents)));
        if way.without_ground > LEAST_SHARE && !scene.ground.is_empty() {
            let percent = (100.0 * way.without_ground).ceil();
            let text =
                format!("{percent} % of the robot's path has no ground of the scene under it");
            lines.push(warning(text));
        }
    }
    lines.extend(rig.joints.iter().map(|joint| format!("{}: {}", joint.name, joint.describe())));
    lines.extend(inside(rig, world).map(warning));
    for object in objects {
        lines.push(format!("{}: {}", object.name, motion(&object.trajectory)));
        lines.extend(surfaces(&object.name, object.body()));
    }
    lines.extend(weather_summary::lines(&rig.world.weather, &rig.world.objects));
    lines
}

/// Line about the surfaces of `scene` that are not purely diffuse; `None` if there are none. The line begins with
/// `what`, the name of the scene or object.
fn surfaces(what: &str, scene: &Scene) -> Option<String> {
    let finished = scene.finished_materials();
    let told = finished.iter().take(MAX_SURFACES);
    let mut words: Vec<String> = told.map(|m| format!("{} ({})", m.name, m.finish)).collect();
    if finished.len() > MAX_SURFACES {
        words.push(format!("and {} more", finished.len() - MAX_SURFACES));
    }
    (!words.is_empty())
        .then(|| format!("{what}: surfaces that are not diffuse: {}", words.join("; ")))
}

fn warning(text: String) -> String {
    format!("warning: {text}")
}

fn motion(trajectory: &Trajectory) -> String {
    match trajectory.end() {
        End::Stands => "stands still".into(),
        end => format!("{}; {end}", trajectory.describe()),
    }
}

fn up_axis(rig: &Rig) -> String {
    match &rig.world.scene {
        SceneSource::File { path, placement, .. } => format!("; {}", placement.describe_up(path)),
        _ => String::new(),
    }
}

/// Warning about devices that are inside an object at the start of the run.
fn inside(rig: &Rig, world: &LoadedWorld) -> Option<String> {
    let start = world.trajectory.pose(SimTime::default());
    let place = |device: &DeviceConfig| {
        let mount = device.body_from_sensor;
        let on = device.on.as_ref().map(|(joint, _)| world.joints.carrier(*joint));
        let mount = on.map_or(mount, |on| on.pose(SimTime::default()) * mount);
        (start * mount).translation
    };
    let places: Vec<_> = rig.devices.iter().take(MAX_PLACES).map(place).collect();
    let enclosed = survey::enclosed(&world.scene, &places, ENCLOSED_M);
    let named = rig.devices.iter().zip(enclosed).filter(|(_, inside)| *inside);
    let names: Vec<&str> = named.map(|(device, _)| device.name.as_str()).collect();
    (!names.is_empty()).then(|| {
        let names = names.join(", ");
        format!(
            "inside an object at the start, with surfaces on all sides within {ENCLOSED_M} m: \
             {names}"
        )
    })
}

/// Ground of a scene: exact heights, or only a bounding box if the ground has many triangles.
enum Ground {
    Exact(Terrain),
    Box([glam::DVec3; 2]),
}

impl Ground {
    fn of(scene: &Scene) -> Self {
        let triangles =
            scene.ground.iter().map(|i| scene.meshes[i.mesh as usize].triangles.len() as u64);
        if triangles.sum::<u64>() <= MAX_GROUND_TRIANGLES {
            return Self::Exact(Terrain::new(scene));
        }
        Self::Box(scene.ground_extents())
    }
}

impl GroundHeight for Ground {
    fn height_m(&self, x_m: f64, y_m: f64) -> Option<f64> {
        match self {
            Self::Exact(terrain) => terrain.height_m(x_m, y_m),
            Self::Box([low, high]) => {
                let is_over = (low.x..=high.x).contains(&x_m) && (low.y..=high.y).contains(&y_m);
                is_over.then_some(high.z)
            }
        }
    }
}
