//! SHA-256 of the inputs of a run.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::Hash;
use crate::config::rig::Rig;
use crate::world::colours::ColourMap;
use crate::world::scene::{Instance, Scene};

/// Hashes of the rig's text, of each profile's text, of the scene, and of the program. `scene` is the scene's name,
/// `scene_sha256` its digest.
pub fn hashes(rig: &Rig, scene: &str, scene_sha256: String) -> Vec<Hash> {
    let text = |part, name: &str, text: &str| Hash::new(part, name, hex(Sha256::digest(text)));
    let mut all = vec![text("rig", &rig.name, &rig.source.text)];
    // Keyed by name, so that each profile appears once.
    let profiles: BTreeMap<_, _> =
        rig.devices.iter().map(|device| (&device.profile.name, &device.profile)).collect();
    all.extend(profiles.values().map(|p| text("profile", &p.file, &p.source.text)));
    all.push(Hash::new("scene", scene, scene_sha256));
    match of_binary() {
        Ok(binary) => all.push(binary),
        Err(error) => tracing::warn!("cannot read the program's file to hash it: {error}"),
    }
    all
}

/// Hashes of a replayed capture and of the program.
pub fn of_replay(capture: &Path) -> io::Result<Vec<Hash>> {
    let name = capture.display().to_string();
    Ok(vec![Hash::new("capture", &name, of_file(capture)?), of_binary()?])
}

/// Hash of the running program.
pub(in crate::engine) fn of_binary() -> io::Result<Hash> {
    Ok(Hash::new("binary", "menura", of_file(Path::new("/proc/self/exe"))?))
}

impl Hash {
    fn new(part: &str, name: &str, sha256: String) -> Self {
        Self { part: part.to_owned(), name: name.to_owned(), sha256 }
    }
}

fn of_file(path: &Path) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut file = File::open(path)?;
    let mut buffer = vec![0; 1 << 16];
    loop {
        match io::Read::read(&mut file, &mut buffer)? {
            0 => return Ok(hex(hasher.finalize())),
            count => hasher.update(&buffer[..count]),
        }
    }
}

/// Digest of the scene as loaded: meshes, materials without their names, and placement of the instances. It is the same
/// on every machine.
pub fn of_scene(scene: &Scene) -> String {
    let mut hasher = Sha256::new();
    let length = |hasher: &mut Sha256, length: usize| hasher.update((length as u64).to_le_bytes());
    length(&mut hasher, scene.meshes.len());
    for mesh in &scene.meshes {
        length(&mut hasher, mesh.positions.len());
        update(&mut hasher, mesh.positions.iter().flatten().map(|x| x.to_le_bytes()));
        length(&mut hasher, mesh.uvs.len());
        update(&mut hasher, mesh.uvs.iter().flatten().map(|x| x.to_le_bytes()));
        length(&mut hasher, mesh.triangles.len());
        update(&mut hasher, mesh.triangles.iter().flatten().map(|n| n.to_le_bytes()));
        update(&mut hasher, mesh.triangle_materials.iter().map(|m| m.to_le_bytes()));
    }
    length(&mut hasher, scene.materials.len());
    for material in &scene.materials {
        hasher.update(material.reflectance.to_le_bytes());
        for texture in [&material.reflectance_map, &material.opacity_mask] {
            let (width, height) = texture.as_ref().map_or((0, 0), |t| (t.width, t.height));
            update(&mut hasher, [width, height].iter().map(|n| n.to_le_bytes()));
            hasher.update(texture.as_ref().map_or(&[][..], |t| &t.texels));
        }
        // The debug text of a number is exact: different numbers have different texts.
        let optics = format!("{:?} {:?}", material.finish, material.colour);
        length(&mut hasher, optics.len());
        hasher.update(optics);
        let (width, height, texels) =
            material.colour_map.as_ref().map_or((0, 0, &[][..]), ColourMap::image);
        update(&mut hasher, [width, height].iter().map(|n| n.to_le_bytes()));
        hasher.update(texels.as_flattened());
    }
    for instances in [&scene.instances, &scene.ground] {
        length(&mut hasher, instances.len());
        for Instance { mesh, world_from_mesh } in instances {
            hasher.update(mesh.to_le_bytes());
            let placed = world_from_mesh.to_cols_array();
            update(&mut hasher, placed.iter().map(|x| x.to_le_bytes()));
        }
    }
    hex(hasher.finalize())
}

/// Passes values to the hasher in pieces that are large enough for full speed.
fn update<const N: usize>(hasher: &mut Sha256, values: impl Iterator<Item = [u8; N]>) {
    let mut piece = [0; 4096];
    let mut filled = 0;
    for value in values {
        piece[filled..filled + N].copy_from_slice(&value);
        filled += N;
        if filled + N > piece.len() {
            hasher.update(&piece[..filled]);
            filled = 0;
        }
    }
    hasher.update(&piece[..filled]);
}

fn hex(digest: impl AsRef<[u8]>) -> String {
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::toml::overrides::Override;
    use crate::devices::families::catalogue;
    use crate::engine::load_scene;
    use crate::world::scene::{Finish, Material};

    fn rig(sets: &[&str]) -> Rig {
        let sets: Vec<Override> = sets.iter().map(|set| set.parse().unwrap()).collect();
        Rig::default_rig(&sets, catalogue()).unwrap_or_else(|faults| panic!("{faults}"))
    }

    #[test]
    fn hashes_are_those_of_the_texts() {
        assert_eq!(
            hex(Sha256::digest("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        );
        let all = hashes(&rig(&["world.scene=room"]), "room", "x".into());
        let parts: Vec<_> = all.iter().map(|hash| hash.part.as_str()).collect();
        let profiles = ["profile"; 5];
        assert_eq!(parts, [&["rig"], &profiles[..], &["scene", "binary"]].concat());
        assert_eq!(all[0].sha256, hex(Sha256::digest(Rig::default_text())));
        assert!(all.iter().all(|hash| hash.part == "scene" || hash.sha256.len() == 64));
    }

    #[test]
    fn a_scene_has_one_hash_and_another_scene_another() {
        let of = |sets: &[&str]| of_scene(&load_scene(&rig(sets)).unwrap().scene);
        let room = of(&["world.scene=room"]);
        assert_eq!(room, of(&["world.scene=room"]));
        let darker = ["world.scene=room", "world.parameters.reflectance=0.1"];
        assert_ne!(room, of(&darker));
        let larger = ["world.scene=room", "world.parameters.size_m=[90.0, 90.0, 8.0]"];
        assert_ne!(room, of(&larger));
        // The digest depends on all optical properties of a material.
        let mut scene = load_scene(&rig(&["world.scene=room"])).unwrap().scene;
        let changes: [fn(&mut Material); 3] = [
            |wall| wall.finish = Finish::Retro { gain: 2.0 },
            |wall| wall.colour = Some([0.1, 0.2, 0.3]),
            |wall| wall.colour_map = ColourMap::new(1, 1, vec![[1, 2, 3]]),
        ];
        for change in changes {
            let before = of_scene(&scene);
            change(&mut scene.materials[0]);
            assert_ne!(of_scene(&scene), before);
        }
    }

    #[test]
    fn pieces_do_not_change_the_hash() {
        let values: Vec<[u8; 4]> = (0..5000_u32).map(u32::to_le_bytes).collect();
        let mut hasher = Sha256::new();
        update(&mut hasher, values.iter().copied());
        assert_eq!(hasher.finalize(), Sha256::digest(values.concat()));
    }
}
