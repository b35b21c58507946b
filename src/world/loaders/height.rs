//! Heights of the ground while a scene is loaded, to stand things on.

use glam::{DVec2, DVec3, Vec3A};
use obvhs::aabb::Aabb;
use obvhs::bvh2::Bvh2;
use obvhs::ploc::{PlocBuilder, PlocSearchDistance, SortPrecision};

use crate::world::scene::{Instance, Mesh};

/// The triangles of a ground, in World.
pub(super) struct Heights {
    triangles: Vec<[DVec3; 3]>,
    bvh: Bvh2,
}

impl Heights {
    /// Of all copies in `ground`.
    pub fn new(meshes: &[Mesh], ground: &[Instance]) -> Self {
        let mut triangles = Vec::new();
        for instance in ground {
            let mesh = &meshes[instance.mesh as usize];
            let in_world =
                |index| mesh.corners(index).map(|p| instance.world_from_mesh.transform_point3(p));
            triangles.extend((0..mesh.triangles.len() as u32).map(in_world));
        }
        let boxes: Vec<Aabb> = triangles
            .iter()
            .map(|corners| Aabb::from_points(&corners.map(|p: DVec3| Vec3A::from(p.as_vec3()))))
            .collect();
        let order = (0..boxes.len() as u32).collect();
        let bvh =
            PlocBuilder::new().build(PlocSearchDistance::Low, &boxes, order, SortPrecision::U64, 0);
        Self { triangles, bvh }
    }

    /// Height of the highest surface at `p`, metres.
    pub fn at(&self, p: DVec2) -> Option<f64> {
        // The boxes are rounded; candidates are then tested exactly.
        let slack = 1.0e-3 + 1.0e-6 * p.abs().max_element();
        let column = Aabb::new(
            Vec3A::new((p.x - slack) as f32, (p.y - slack) as f32, f32::MIN),
            Vec3A::new((p.x + slack) as f32, (p.y + slack) as f32, f32::MAX),
        );
        let mut highest: Option<f64> = None;
        self.bvh.aabb_traverse(column, |bvh, node| {
            let node = &bvh.nodes[node as usize];
            let first = node.first_index as usize;
            for &index in &bvh.primitive_indices[first..first + node.prim_count as usize] {
                if let Some(z) = height_of(&self.triangles[index as usize], p) {
                    highest = Some(highest.map_or(z, |other| other.max(z)));
                }
            }
            true
        });
        highest
    }
}

/// Height of a triangle at `p`, if it covers it; edges belong to both sides.
fn height_of([a, b, c]: &[DVec3; 3], p: DVec2) -> Option<f64> {
    let (ab, ac, ap) = ((*b - *a).truncate(), (*c - *a).truncate(), p - a.truncate());
    let area = ab.perp_dot(ac);
    // Seen from above it is a line, or next to nothing.
    if area.abs() < 1.0e-12 {
        return None;
    }
    let (s, t) = (ap.perp_dot(ac) / area, ab.perp_dot(ap) / area);
    let inside = s >= -1.0e-9 && t >= -1.0e-9 && s + t <= 1.0 + 1.0e-9;
    inside.then_some(a.z + (b.z - a.z) * s + (c.z - a.z) * t)
}

#[cfg(test)]
mod tests {
    use glam::DAffine3;

    use super::*;

    fn square(z: [f32; 4]) -> Mesh {
        Mesh {
            positions: vec![[0., 0., z[0]], [1., 0., z[1]], [1., 1., z[2]], [0., 1., z[3]]],
            triangles: vec![[0, 1, 2], [0, 2, 3]],
            triangle_materials: vec![0; 2],
            ..Mesh::default()
        }
    }

    fn copy(mesh: u32, scale: f64, translation: DVec3) -> Instance {
        let world_from_mesh = DAffine3::from_translation(translation)
            * DAffine3::from_scale(DVec3::new(scale, scale, 1.0));
        Instance { mesh, world_from_mesh }
    }

    #[test]
    fn the_highest_surface_counts() {
        let meshes = [square([0.0, 1.0, 1.0, 0.0]), square([5.0; 4])];
        let ground = [
            copy(0, 10.0, DVec3::new(100_000.0, 0.0, -2.0)),
            copy(1, 1.0, DVec3::new(100_002.0, 2.0, 0.0)),
        ];
        let heights = Heights::new(&meshes, &ground);
        let at = |x, y| heights.at(DVec2::new(x, y));
        let near = |found: Option<f64>, z: f64| (found.unwrap() - z).abs() < 1e-9;
        assert!(near(at(100_005.0, 7.0), -1.5));
        assert!(near(at(100_000.0, 10.0), -2.0), "corners belong to it");
        assert!(near(at(100_002.5, 2.5), 5.0));
        assert!(near(at(100_003.5, 2.5), -1.65));
        assert_eq!(at(99_999.0, 5.0), None);
        assert_eq!(Heights::new(&meshes, &[]).at(DVec2::ZERO), None);
    }
}
