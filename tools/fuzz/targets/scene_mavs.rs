//! A scene of any bytes as a MAVS scene: loaded soundly, or refused with words.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use menura::world::loaders::mavs;
use menura::world::loaders::resolve::Memory;

const MESH: &str = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";

fuzz_target!(|bytes: &[u8]| {
    match mavs::parse(bytes, Path::new("a.json"), 1, &Memory::default().with("a.obj", MESH)) {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(scene) => {
            for instance in scene.instances.iter().chain(&scene.ground) {
                let mesh = &scene.meshes[instance.mesh as usize];
                assert!(instance.world_from_mesh.is_finite());
                assert!(mesh.positions.iter().flatten().all(|c| c.is_finite()));
                assert!(
                    mesh.triangles.iter().flatten().all(|&v| (v as usize) < mesh.positions.len())
                );
                assert_eq!(mesh.triangles.len(), mesh.triangle_materials.len());
            }
        }
    }
});
