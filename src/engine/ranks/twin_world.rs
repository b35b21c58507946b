//! Compares the worlds of two ranks by digests of the loaded data.

use std::fmt::Debug;

use sha2::{Digest, Sha256};

use crate::engine::certificate::digest;
use crate::engine::world::LiveWorld;

/// Digests of the data that a rank has loaded, by name.
pub type Digests = Vec<(String, String)>;

/// Digests of the scene, the robot's motion, and the shape and motion of each object.
pub fn digests(world: &LiveWorld) -> Digests {
    let mut all = vec![
        (format!("the scene {}", world.summary.scene), digest::of_scene(&world.scene)),
        ("the robot's trajectory".to_owned(), of(&world.trajectory)),
    ];
    all.extend(world.objects.iter().map(|object| {
        let body = digest::of_scene(object.body());
        (format!("the object {}", object.name), format!("{body} {}", of(&object.trajectory)))
    }));
    all
}

/// Name of the first entry of `one` that differs in `other` or is missing there; `None` if there is none.
pub fn difference<'d>(one: &'d Digests, other: &Digests) -> Option<&'d str> {
    let differs = one.iter().enumerate().find(|(place, own)| other.get(*place) != Some(*own));
    differs.map(|(_, (name, _))| name.as_str())
}

/// Digest of the debug text of a value. The text contains all numbers to the last bit.
fn of(value: &impl Debug) -> String {
    let digest = Sha256::digest(format!("{value:?}"));
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
