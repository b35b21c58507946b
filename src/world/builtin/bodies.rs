//! Simple bodies of moving objects, in axes forward-left-up. The origin is the middle of a body's lower side, on the ground.

use std::f64::consts::TAU;

use glam::{DAffine3, DVec3};

use super::solids::loft;
use crate::config::rig::objects::ObjectShape;
use crate::world::materials;
use crate::world::scene::{Instance, Mesh, Scene};

/// Number of corners of the polygons that replace circles. A polygon deviates from its circle by at most 0.03 % of
/// the radius.
const ROUND: u32 = 128;

/// A body of `size_m` (length, width, height) with one reflectance, as a scene with one instance.
pub fn build(shape: ObjectShape, size_m: [f64; 3], reflectance: f64) -> Scene {
    let mut body = Body { mesh: Mesh { name: "body".into(), ..Mesh::default() } };
    match shape {
        ObjectShape::Box => body.block([-0.5, -0.5, 0.0], [0.5, 0.5, 1.0]),
        ObjectShape::Cylinder => body.column([0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.5, 0.5]),
        ObjectShape::Car => body.car(size_m[0] / size_m[2]),
        ObjectShape::Person => body.person(),
    }
    let mut mesh = body.mesh;
    for position in &mut mesh.positions {
        for (coordinate, size) in position.iter_mut().zip(size_m) {
            *coordinate = (f64::from(*coordinate) * size) as f32;
        }
    }
    mesh.triangle_materials = vec![0; mesh.triangles.len()];
    Scene {
        meshes: vec![mesh],
        materials: vec![materials::plain("body", reflectance as f32)],
        instances: vec![Instance { mesh: 0, world_from_mesh: DAffine3::IDENTITY }],
        ground: vec![],
    }
}

/// A mesh in units of the body's size: x and y from -0.5 to 0.5, z from 0 to 1.
struct Body {
    mesh: Mesh,
}

impl Body {
    fn block(&mut self, low: [f64; 3], high: [f64; 3]) {
        let ring = |z: f64| {
            [[low[0], low[1]], [high[0], low[1]], [high[0], high[1]], [low[0], high[1]]]
                .map(|[x, y]| DVec3::new(x, y, z))
        };
        loft(&mut self.mesh, &ring(low[2]), &ring(high[2]));
    }

    /// Adds a round column between the centres `foot` and `head` of its end faces, with `radii` along x and y. The
    /// column leans if `head` is not above `foot`.
    fn column(&mut self, foot: [f64; 3], head: [f64; 3], radii: [f64; 2]) {
        let ring = |centre: [f64; 3]| -> Vec<DVec3> {
            (0..ROUND)
                .map(|k| {
                    let (sin, cos) = libm::sincos(f64::from(k) / f64::from(ROUND) * TAU);
                    DVec3::from_array(centre) + DVec3::new(radii[0] * cos, radii[1] * sin, 0.0)
                })
                .collect()
        };
        loft(&mut self.mesh, &ring(foot), &ring(head));
    }

    /// Adds a car. `slenderness` is length divided by height; it keeps the wheels round.
    fn car(&mut self, slenderness: f64) {
        // Hull and cabin in side view. The cabin is narrower than the hull.
        let side = |outline: &[[f64; 2]], y: f64| -> Vec<DVec3> {
            outline.iter().map(|&[x, z]| DVec3::new(x, y, z)).collect()
        };
        let hull =
            [[-0.49, 0.15], [0.49, 0.15], [0.5, 0.40], [0.47, 0.52], [0.2, 0.60], [-0.5, 0.62]];
        loft(&mut self.mesh, &side(&hull, -0.5), &side(&hull, 0.5));
        let cabin = [[-0.42, 0.6], [0.22, 0.58], [0.05, 1.0], [-0.32, 1.0]];
        loft(&mut self.mesh, &side(&cabin, -0.43), &side(&cabin, 0.43));
        let radius = 0.21;
        for x in [-0.31, 0.31] {
            for [inner, outer] in [[-0.36, -0.499], [0.36, 0.499]] {
                let ring = |y: f64| -> Vec<DVec3> {
                    (0..ROUND)
                        .map(|k| {
                            let (sin, cos) = libm::sincos(f64::from(k) / f64::from(ROUND) * TAU);
                            DVec3::new(x + radius * cos / slenderness, y, radius * (1.0 + sin))
                        })
                        .collect()
                };
                loft(&mut self.mesh, &ring(inner), &ring(outer));
            }
        }
    }

    fn person(&mut self) {
        for (left, foot) in [(0.18, 0.34), (-0.18, -0.34)] {
            // Foot, leg, and the arm of the opposite side, which swings with the leg.
            self.block([foot - 0.10, left - 0.1, 0.0], [foot + 0.16, left + 0.1, 0.05]);
            self.column([foot, left, 0.03], [0.0, left, 0.5], [0.15, 0.13]);
            self.column([foot * 0.8, -left * 2.3, 0.44], [0.0, -left * 2.1, 0.8], [0.09, 0.08]);
        }
        self.column([0.0, 0.0, 0.47], [0.0, 0.0, 0.82], [0.24, 0.36]);
        self.column([0.0, 0.0, 0.8], [0.0, 0.0, 0.88], [0.11, 0.1]);
        self.column([0.03, 0.0, 0.87], [0.03, 0.0, 1.0], [0.19, 0.14]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_fill_their_size_and_stand_on_the_ground() {
        for (word, shape) in ObjectShape::WORDS {
            let size = shape.default_size_m();
            let scene = build(shape, size, 0.4);
            let mesh = &scene.meshes[0];
            for axis in 0..3 {
                let values = || mesh.positions.iter().map(|p| f64::from(p[axis]));
                let low = values().fold(f64::INFINITY, f64::min);
                let high = values().fold(f64::NEG_INFINITY, f64::max);
                let (from, to) =
                    if axis == 2 { (0.0, size[2]) } else { (-size[axis] / 2.0, size[axis] / 2.0) };
                assert!(low >= from - 1e-6 && high <= to + 1e-6, "{word} {axis}: {low} {high}");
                assert!(high - low > 0.95 * (to - from), "{word} {axis}: {low} {high}");
            }
            assert!(mesh.triangles.iter().flatten().all(|&v| (v as usize) < mesh.positions.len()));
            assert_eq!(scene.materials[0].reflectance, 0.4);
        }
    }
}
