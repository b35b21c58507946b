//! A scene of any bytes as PLY: loaded soundly, or refused with words.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use menura::world::loaders::ply;

fuzz_target!(|bytes: &[u8]| {
    match ply::parse(bytes, Path::new("a.ply")) {
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
