//! Plain solids and planes for scenes.

use std::f64::consts::TAU;

use glam::{DVec2, DVec3};

use crate::world::scene::{MaterialId, Mesh};

/// Height of a puddle's surface above the floor, metres.
pub(super) const PUDDLE_Z_M: f64 = 0.002;

/// Number of sides of the prisms that represent rods, posts, stems and pots.
pub(super) const ROUND_SIDES: u32 = 16;

/// Adds a closed surface between two convex rings with the same number of points. The points are counter-clockwise as
/// seen from above the ring `high`. The caller sets the triangles' materials.
pub(super) fn loft(mesh: &mut Mesh, low: &[DVec3], high: &[DVec3]) {
    let base = mesh.positions.len() as u32;
    let count = low.len() as u32;
    mesh.positions.extend(low.iter().chain(high).map(|p| p.as_vec3().to_array()));
    for k in 0..count {
        let (a, b) = (base + k, base + (k + 1) % count);
        mesh.triangles.extend([[a, b, b + count], [a, b + count, a + count]]);
    }
    for k in 1..count - 1 {
        mesh.triangles.push([base, base + k + 1, base + k]);
        let top = base + count;
        mesh.triangles.push([top, top + k, top + k + 1]);
    }
}

/// A regular prism that approximates a cylinder from z = 0 upward. Its edges are on the cylinder, the first one on
/// the x axis.
pub(super) fn prism(
    name: &str,
    sides: u32,
    diameter_m: f64,
    length_m: f64,
    material: MaterialId,
) -> Mesh {
    let mut mesh = Mesh { name: name.into(), ..Mesh::default() };
    let ring = |z: f64| -> Vec<DVec3> {
        (0..sides)
            .map(|k| {
                let (sin, cos) = libm::sincos(f64::from(k) / f64::from(sides) * TAU);
                DVec3::new(diameter_m / 2.0 * cos, diameter_m / 2.0 * sin, z)
            })
            .collect()
    };
    loft(&mut mesh, &ring(0.0), &ring(length_m));
    mesh.triangle_materials = vec![material; mesh.triangles.len()];
    mesh
}

/// The floor z = 0 within `half_m` of the origin along x and y, facing up.
pub(super) fn floor(half_m: f64, material: MaterialId) -> Mesh {
    let mut mesh = Mesh { name: "floor".into(), ..Mesh::default() };
    let h = half_m;
    add_quad(&mut mesh, [[-h, -h], [h, -h], [h, h], [-h, h]].map(|[x, y]| DVec3::new(x, y, 0.0)));
    mesh.triangle_materials = vec![material; 2];
    mesh
}

/// The surface of a round puddle: a regular polygon of 64 sides around `middle`, facing up.
pub(super) fn puddle(middle: DVec3, radius_m: f64, material: MaterialId) -> Mesh {
    const SIDES: u32 = 64;
    let mut mesh = Mesh { name: "puddle".into(), ..Mesh::default() };
    mesh.positions.push(middle.as_vec3().to_array());
    for k in 0..SIDES {
        let (sin, cos) = libm::sincos(f64::from(k) / f64::from(SIDES) * TAU);
        let edge = middle + DVec3::new(cos, sin, 0.0) * radius_m;
        mesh.positions.push(edge.as_vec3().to_array());
        mesh.triangles.push([0, 1 + k, 1 + (k + 1) % SIDES]);
    }
    mesh.triangle_materials = vec![material; mesh.triangles.len()];
    mesh
}

/// The first `sides` walls of a square around the origin, counter-clockwise from the east. Each wall is `distance_m`
/// away, `width_m` wide and `height_m` high, and faces the origin.
pub(super) fn walls(
    sides: u32,
    distance_m: f64,
    width_m: f64,
    height_m: f64,
    material: MaterialId,
) -> Mesh {
    let mut mesh = Mesh { name: "walls".into(), ..Mesh::default() };
    for side in 0..sides {
        let corner = |across: f64, z: f64| on_side(side, distance_m, across).extend(z);
        let half = width_m / 2.0;
        add_quad(
            &mut mesh,
            [
                corner(half, 0.0),
                corner(-half, 0.0),
                corner(-half, height_m),
                corner(half, height_m),
            ],
        );
    }
    mesh.triangle_materials = vec![material; mesh.triangles.len()];
    mesh
}

/// World x and y of a point on a side of a square, `out_m` from the origin and `across_m` to the left of the side's
/// middle. Side 0 is in the east; the others follow counter-clockwise.
pub(super) fn on_side(side: u32, out_m: f64, across_m: f64) -> DVec2 {
    let [x, y] = match side % 4 {
        0 => [out_m, across_m],
        1 => [-across_m, out_m],
        2 => [-out_m, -across_m],
        _ => [across_m, -out_m],
    };
    DVec2::new(x, y)
}

/// Adds a quadrangle. Corners are counter-clockwise as seen from its front. The caller sets the triangles' materials.
pub(super) fn add_quad(mesh: &mut Mesh, corners: [DVec3; 4]) {
    let base = mesh.positions.len() as u32;
    mesh.positions.extend(corners.map(|p| p.as_vec3().to_array()));
    mesh.triangles.extend([[base, base + 1, base + 2], [base, base + 2, base + 3]]);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Six times the volume that a closed mesh encloses; positive if it faces outward.
    fn six_volumes(mesh: &Mesh) -> f64 {
        let corners = (0..mesh.triangles.len() as u32).map(|index| mesh.corners(index));
        corners.map(|[a, b, c]| a.dot(b.cross(c))).sum()
    }

    #[test]
    fn a_prism_is_closed_faces_outward_and_has_its_edges_on_the_cylinder() {
        let mesh = prism("rod", 16, 0.04, 3.0, 2);
        assert_eq!(mesh.triangles.len(), 32 + 28);
        assert_eq!(mesh.triangle_materials, vec![2; 60]);
        for &[x, y, z] in &mesh.positions {
            assert!((libm::hypotf(x, y) - 0.02).abs() < 1e-8 && (z == 0.0 || z == 3.0));
        }
        assert_eq!((mesh.positions[0][0], mesh.positions[0][1]), (0.02, 0.0));
        // The area of a regular polygon of 16 sides.
        let area = 8.0 * 0.02 * 0.02 * libm::sin(TAU / 16.0);
        assert!((six_volumes(&mesh) / 6.0 - area * 3.0).abs() < 1e-8);
    }

    #[test]
    fn walls_and_floor_face_the_middle() {
        for sides in 1..=4 {
            let mesh = walls(sides, 5.0, 4.0, 2.0, 0);
            assert_eq!(mesh.triangles.len() as u32, 2 * sides);
            for index in 0..mesh.triangles.len() as u32 {
                let [a, b, c] = mesh.corners(index);
                let normal = (b - a).cross(c - a);
                assert_eq!(normal.length() / 2.0, 4.0, "half of 4 m by 2 m");
                assert!(normal.dot(DVec3::Z - a) > 0.0);
                let out = a.truncate().abs().max_element();
                assert_eq!(out, 5.0);
            }
        }
        let floor = floor(3.0, 0);
        let [a, b, c] = floor.corners(0);
        assert_eq!((b - a).cross(c - a), DVec3::Z * 36.0);
    }
}
