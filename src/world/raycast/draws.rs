//! Random numbers and scenes of the tests.

use glam::{DAffine3, DVec3};

use crate::world::materials;
use crate::world::scene::{Instance, Mesh, Scene};

/// Random numbers that depend on a seed alone.
pub struct Draws(pub u64);

impl Draws {
    /// In 0..1.
    pub fn share(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.share()
    }

    /// In -1..1.
    pub fn next(&mut self) -> f64 {
        2.0 * self.share() - 1.0
    }

    /// In -1..1 along each axis.
    pub fn vector(&mut self) -> DVec3 {
        DVec3::new(self.next(), self.next(), self.next())
    }

    /// A size between `10^low` and `10^high`.
    pub fn size(&mut self, low: f64, high: f64) -> f64 {
        libm::pow(10.0, low + (high - low) * (0.5 + 0.5 * self.next()))
    }

    /// `count` triangles of up to 1 m in a cube with this half side, metres.
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
