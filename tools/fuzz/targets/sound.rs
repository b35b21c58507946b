//! Check of scenes from the loaders.

use menura::world::loaders::SceneError;
use menura::world::scene::Scene;

/// Panics if a loaded scene is invalid or an error has no message.
pub fn check(outcome: Result<Scene, SceneError>) {
    let scene = match outcome {
        Ok(scene) => scene,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    for instance in scene.instances.iter().chain(&scene.ground) {
        let mesh = &scene.meshes[instance.mesh as usize];
        let vertices = mesh.positions.len();
        assert!(instance.world_from_mesh.is_finite());
        assert!(mesh.positions.iter().flatten().all(|c| c.is_finite()));
        assert!(mesh.triangles.iter().flatten().all(|&vertex| (vertex as usize) < vertices));
        assert_eq!(mesh.triangles.len(), mesh.triangle_materials.len());
    }
}
