//! The built-in `room`: a closed box of known planes.

use glam::{DAffine3, DVec3};

use super::solids::{PUDDLE_Z_M, puddle};
use crate::config::rig::RoomParameters;
use crate::world::materials;
use crate::world::scene::{Instance, Mesh, Scene};

/// The room: floor z = 0 with its middle at the origin, four walls and a ceiling, facing inward; 12 triangles of one
/// material. A puddle on the floor is added if its radius is above 0. The ground is the floor.
pub fn build(parameters: &RoomParameters) -> Scene {
    let [x, y, z] = parameters.size_m.map(|length| length as f32);
    let (x, y) = (x / 2.0, y / 2.0);
    let positions = vec![
        [-x, -y, 0.0],
        [x, -y, 0.0],
        [x, y, 0.0],
        [-x, y, 0.0],
        [-x, -y, z],
        [x, -y, z],
        [x, y, z],
        [-x, y, z],
    ];
    // Corners counter-clockwise as seen from inside.
    let part = |name: &str, quads: &[[u32; 4]]| Mesh {
        name: name.to_owned(),
        label: None,
        positions: positions.clone(),
        uvs: Vec::new(),
        triangles: quads.iter().flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]]).collect(),
        triangle_materials: vec![0; 2 * quads.len()],
    };
    let floor = part("floor", &[[0, 1, 2, 3]]);
    let shell = part(
        "walls and ceiling",
        &[[4, 7, 6, 5], [0, 4, 5, 1], [1, 5, 6, 2], [2, 6, 7, 3], [3, 7, 4, 0]],
    );
    let instance = |mesh| Instance { mesh, world_from_mesh: DAffine3::IDENTITY };
    let mut scene = Scene {
        meshes: vec![floor, shell],
        materials: vec![materials::plain("room", parameters.reflectance as f32)],
        instances: vec![instance(0), instance(1)],
        ground: vec![instance(0)],
    };
    if parameters.puddle_radius_m > 0.0 {
        scene.meshes.push(puddle(DVec3::Z * PUDDLE_Z_M, parameters.puddle_radius_m, 1));
        scene.materials.push(materials::by_name("puddle"));
        scene.instances.push(instance(2));
    }
    scene
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_planes_face_the_middle() {
        let parameters =
            RoomParameters { size_m: [8.0, 6.0, 3.0], reflectance: 0.7, puddle_radius_m: 0.0 };
        let scene = build(&parameters);
        assert_eq!(scene.instanced_triangles(), 12);
        let middle = DVec3::new(0.0, 0.0, 1.5);
        let mut area = 0.0;
        for mesh in &scene.meshes {
            for index in 0..mesh.triangles.len() as u32 {
                let [a, b, c] = mesh.corners(index);
                let normal = (b - a).cross(c - a);
                assert!(normal.dot(middle - a) > 0.0, "{} {index}", mesh.name);
                area += normal.length() / 2.0;
            }
        }
        assert_eq!(area, 2.0 * (8.0 * 6.0 + 8.0 * 3.0 + 6.0 * 3.0));
        assert_eq!(scene.materials[0].reflectance, 0.7);
        assert_eq!((scene.ground.len(), scene.ground[0].mesh), (1, 0));
        assert!(scene.meshes[0].triangles.iter().flatten().all(|&v| v < 4), "the floor is z = 0");
        assert!(!scene.has_finishes());
        let wet = build(&RoomParameters { puddle_radius_m: 2.0, ..parameters });
        let [low, high] = wet.meshes[2].bounds();
        assert!((high - low - DVec3::new(4.0, 4.0, 0.0)).length() < 1e-6 && low.z > 0.001);
        assert_eq!(wet.finished_materials()[0].name, "puddle");
    }
}
