//! A clump of grass: 100 curved, tapering blades.

use glam::DVec3;

use crate::world::random;
use crate::world::scene::{MaterialId, Mesh};

/// Number of blades in a clump.
pub(super) const BLADES: u32 = 100;
/// Quads along a blade, two triangles each.
const SEGMENTS: u32 = 4;
/// Triangles in a clump.
#[cfg(test)]
pub(super) const TRIANGLES: usize = (BLADES * SEGMENTS * 2) as usize;
/// Radius of the circle that contains the blades' roots, metres.
const ROOT_RADIUS_M: f64 = 0.40;
/// Range of the blades' lengths before a scene scales the copies, metres. Most scenes scale by 0.8 to 1.2, which gives
/// lengths of 0.2 to 0.6 m; `andabata-field` and `fort-drum` scale differently.
const LENGTH_M: [f64; 2] = [0.25, 0.50];
/// Depth of the blades' roots below the ground, metres.
const ROOT_DEPTH_M: f64 = 0.04;

/// Makes the clump for `seed`; the ground is at z = 0 and the middle of the clump at the origin.
pub(super) fn clump(seed: u64, material: MaterialId) -> Mesh {
    let mut mesh = Mesh { name: "grass clump".into(), ..Mesh::default() };
    for blade in 0..BLADES {
        let mut rng = random::stream(seed, 0, u64::from(blade));
        // A uniform radius makes the roots denser in the middle than a uniform distribution on the disc.
        let radius = ROOT_RADIUS_M * random::uniform(&mut rng, 0.0, 1.0);
        let (sin, cos) = libm::sincos(random::angle(&mut rng));
        let root = DVec3::new(radius * cos, radius * sin, -ROOT_DEPTH_M);

        let length = random::uniform(&mut rng, LENGTH_M[0], LENGTH_M[1]);
        let half_width = random::uniform(&mut rng, 0.002, 0.0045);
        let (sin, cos) = libm::sincos(random::angle(&mut rng));
        let (outward, sideways) = (DVec3::new(cos, sin, 0.0), DVec3::new(-sin, cos, 0.0));
        // Angle from upright at the root, and its increase towards the tip, radians.
        let lean = random::uniform(&mut rng, 0.02, 0.35);
        let curl = random::uniform(&mut rng, 0.2, 1.5);

        let base = mesh.positions.len() as u32;
        let mut centre = root;
        for ring in 0..=SEGMENTS {
            let along = f64::from(ring) / f64::from(SEGMENTS);
            let half = half_width * (1.0 - along * along).max(0.06);
            mesh.positions.push((centre - sideways * half).as_vec3().to_array());
            mesh.positions.push((centre + sideways * half).as_vec3().to_array());
            let (sin, cos) = libm::sincos(lean + curl * (along + 0.5 / f64::from(SEGMENTS)));
            centre += (outward * sin + DVec3::Z * cos) * (length / f64::from(SEGMENTS));
        }
        for segment in 0..SEGMENTS {
            let a = base + 2 * segment;
            mesh.triangles.push([a, a + 1, a + 3]);
            mesh.triangles.push([a, a + 3, a + 2]);
        }
    }
    mesh.triangle_materials = vec![material; mesh.triangles.len()];
    mesh
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clump_is_100_tapering_blades() {
        let mesh = clump(3, 7);
        assert_eq!(mesh.triangles.len(), TRIANGLES);
        assert_eq!(TRIANGLES, 800);
        assert!(mesh.triangle_materials.iter().all(|&m| m == 7));
        for blade in mesh.positions.chunks(10) {
            let points: Vec<DVec3> = blade.iter().map(|p| DVec3::from(p.map(f64::from))).collect();
            let width = |ring: usize| (points[2 * ring] - points[2 * ring + 1]).length();
            assert!(width(0) > 0.003 && width(4) < 0.1 * width(0), "tapers");
            let centre = |ring: usize| (points[2 * ring] + points[2 * ring + 1]) / 2.0;
            let length: f64 = (0..4).map(|r| (centre(r + 1) - centre(r)).length()).sum();
            assert!((LENGTH_M[0] - 1e-6..=LENGTH_M[1] + 1e-6).contains(&length), "{length}");
            let straight = (centre(4) - centre(0)).length();
            assert!(straight < 0.999 * length, "curves");
        }
    }
}
