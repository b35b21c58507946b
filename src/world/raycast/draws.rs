//! Random numbers and scenes for tests.

use glam::{DAffine3, DVec3};

use super::Pulse;
use crate::world::materials;
use crate::world::scene::{Instance, Mesh, Scene};

/// Random numbers that depend only on a seed.
pub struct Draws(pub u64);

impl Draws {
    /// Random number, uniform in 0..1.
    pub fn share(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.share()
    }

    /// Random number, uniform in -1..1.
    pub fn next(&mut self) -> f64 {
        2.0 * self.share() - 1.0
    }

    /// Random vector, uniform in -1..1 along each axis.
    pub fn vector(&mut self) -> DVec3 {
        DVec3::new(self.next(), self.next(), self.next())
    }

    /// A size between `10^low` and `10^high`, uniform on a logarithmic scale.
    pub fn size(&mut self, low: f64, high: f64) -> f64 {
        libm::pow(10.0, low + (high - low) * (0.5 + 0.5 * self.next()))
    }

    /// A scene of `count` triangles of up to 1 m along each axis; their middles are in a cube with the half side
    /// `half_m`, metres.
    pub fn scene(&mut self, count: u32, half_m: f64) -> Scene {
        let mut mesh = Mesh { name: "triangles".into(), ..Mesh::default() };
        for index in 0..count {
            let middle = self.vector() * half_m;
            let corners = [(); 3].map(|()| middle + 0.5 * self.vector());
            mesh.positions.extend(corners.map(|corner| corner.as_vec3().to_array()));
            mesh.triangles.push([3 * index, 3 * index + 1, 3 * index + 2]);
            mesh.triangle_materials.push(0);
        }
        Scene {
            materials: vec![materials::plain("plain", 0.5)],
            instances: vec![Instance { mesh: 0, world_from_mesh: DAffine3::IDENTITY }],
            meshes: vec![mesh],
            ground: vec![],
        }
    }
}

/// A mesh of `count` triangles of one kind: 0 small, 1 thin, 2 large, 3 distant, 4 coplanar, 5 a fan, 6 without area.
/// `uniform` returns a random number between its arguments.
pub fn mixed_triangles(uniform: &mut dyn FnMut(f64, f64) -> f64, kind: usize, count: u32) -> Mesh {
    let mut mesh = Mesh { name: "mixed".into(), ..Mesh::default() };
    let hub = vector(uniform);
    for index in 0..count {
        let middle = vector(uniform) * if kind == 0 { 1.0 } else { 4.0 };
        let (a, b) = (vector(uniform), vector(uniform));
        let corners = match kind {
            0 => [middle, middle + a * 0.01, middle + b * 0.01],
            1 => [middle, middle + a * 3.0, middle + a * 1.5 + b * size(uniform, -6.0, -2.0)],
            2 => {
                let second = middle + a * size(uniform, 2.0, 5.0);
                [middle, second, middle + b * size(uniform, 2.0, 5.0)]
            }
            3 => [a, b, vector(uniform)].map(|p| (p + 700.0 * DVec3::Y) * 30.0),
            4 => [middle, middle + a, middle + b].map(|p| DVec3::new(p.x, p.y, 0.25)),
            5 => [hub, middle.with_z(-1.0), (middle + a).with_z(-1.0)],
            _ => [middle, middle + a, middle + a * [0.0, 1.0, 0.5][index as usize % 3]],
        };
        mesh.positions.extend(corners.map(|p| p.as_vec3().to_array()));
        mesh.triangles.push([3 * index, 3 * index + 1, 3 * index + 2]);
        mesh.triangle_materials.push(0);
    }
    mesh
}

/// Adds the first ten triangles a second time.
pub fn repeat_some(mesh: &mut Mesh) {
    let again = mesh.triangles[..10].to_vec();
    mesh.triangles.extend(again);
    mesh.triangle_materials.extend([0; 10]);
}

/// Seven pulses at steps of `step_rad` radians; the first points at `aim`. Their rays start at `origin`; the rays of a
/// pulse would meet `behind_m` metres before it. Half-axes of the footprints at 1 m have the length `half`, metres.
pub fn fan(
    origin: DVec3,
    aim: DVec3,
    [step_rad, half, behind_m]: [f64; 3],
    max_range_m: f32,
) -> [Pulse; 7] {
    let ahead = (aim - origin).normalize();
    let across = ahead.any_orthonormal_vector();
    std::array::from_fn(|k| {
        let direction = (ahead + across * (step_rad * k as f64)).normalize();
        let u = direction.any_orthonormal_vector();
        Pulse {
            origin: origin - direction * behind_m,
            direction,
            half_axis_u: u * half,
            half_axis_v: direction.cross(u) * half,
            start_m: behind_m as f32,
            max_range_m,
        }
    })
}

fn vector(uniform: &mut dyn FnMut(f64, f64) -> f64) -> DVec3 {
    DVec3::from_array(std::array::from_fn(|_| uniform(-1.0, 1.0)))
}

fn size(uniform: &mut dyn FnMut(f64, f64) -> f64, low: f64, high: f64) -> f64 {
    libm::pow(10.0, uniform(low, high))
}
