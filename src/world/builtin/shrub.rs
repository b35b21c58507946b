//! The built-in `shrub`: a potted shrub at the origin. Durst et al. 2011 and Goodin et al. 2018 (section 3.4.3) scan
//! a shrub but do not give its shape.
//!
//! A stem runs from the pot to the top of the crown. The crown is an ellipsoid with leaves only in the outer 15 % of
//! its radius, so that a beam can pass between leaves and hit the stem.

use std::f64::consts::TAU;

use glam::{DAffine3, DVec3};

use super::planting::add;
use super::solids::{self, ROUND_SIDES, prism};
use crate::config::rig::ShrubParameters;
use crate::world::materials;
use crate::world::random::{self, uniform};
use crate::world::scene::{Mesh, Scene};

/// Height and diameter of the pot, metres.
pub const POT_M: [f64; 2] = [0.30, 0.40];
/// Inner share of the crown's radius, in which there are no leaves.
pub const HOLLOW: f64 = 0.85;
/// Distance from the origin to the edges of the ground, metres.
const GROUND_M: f64 = 20.0;
/// Number of corners of a leaf.
const LEAF_CORNERS: u32 = 8;
/// Identifier of the leaves' random streams.
const LEAF: u64 = 1;

/// Builds the shrub. The ground is the plane z = 0.
pub fn build(parameters: &ShrubParameters) -> Scene {
    let mut scene = Scene {
        materials: vec![
            materials::by_name("soil"),
            materials::plain("stem", parameters.stem_reflectance as f32),
            materials::plain("leaf", parameters.leaf_reflectance as f32),
        ],
        ..Scene::default()
    };
    let here = [DAffine3::IDENTITY];
    add(&mut scene, solids::floor(GROUND_M, 0), &here);
    scene.ground = scene.instances.clone();
    let [pot_height_m, pot_diameter_m] = POT_M;
    add(&mut scene, prism("pot", ROUND_SIDES, pot_diameter_m, pot_height_m, 1), &here);
    let crown = DVec3::from_array(parameters.crown_m);
    let length_m = parameters.bare_stem_m + 2.0 * crown.z;
    let on_pot = DAffine3::from_translation(DVec3::Z * pot_height_m);
    let stem = prism("stem", ROUND_SIDES, parameters.stem_diameter_m, length_m, 1);
    add(&mut scene, stem, &[on_pot]);
    if parameters.leaves > 0 {
        let middle = DVec3::Z * (pot_height_m + parameters.bare_stem_m + crown.z);
        add(&mut scene, leaves(parameters, crown), &[DAffine3::from_translation(middle)]);
    }
    scene
}

/// Makes the leaves. The crown's middle is at the origin.
fn leaves(parameters: &ShrubParameters, crown: DVec3) -> Mesh {
    let mut mesh = Mesh { name: "leaves".into(), ..Mesh::default() };
    for leaf in 0..u64::from(parameters.leaves) {
        let mut rng = random::stream(parameters.seed, LEAF, leaf);
        // Positions are uniform in the volume of the outer layer.
        let radius = libm::cbrt(uniform(&mut rng, HOLLOW * HOLLOW * HOLLOW, 1.0));
        let middle = direction(&mut rng) * crown * radius;
        let normal = direction(&mut rng);
        let (u, v) = normal.any_orthonormal_pair();
        let leaf_radius = parameters.leaf_radius_m * uniform(&mut rng, 0.7, 1.3);
        let base = mesh.positions.len() as u32;
        for corner in 0..LEAF_CORNERS {
            let (sin, cos) = libm::sincos(f64::from(corner) / f64::from(LEAF_CORNERS) * TAU);
            let at = middle + (u * cos + v * sin) * leaf_radius;
            mesh.positions.push(at.as_vec3().to_array());
        }
        mesh.triangles.extend((1..LEAF_CORNERS - 1).map(|k| [base, base + k, base + k + 1]));
    }
    mesh.triangle_materials = vec![2; mesh.triangles.len()];
    mesh
}

/// A direction, sampled uniformly from the sphere.
fn direction(rng: &mut rand_xoshiro::SplitMix64) -> DVec3 {
    let z = uniform(rng, -1.0, 1.0);
    let (sin, cos) = libm::sincos(random::angle(rng));
    let flat = (1.0 - z * z).sqrt();
    DVec3::new(flat * cos, flat * sin, z)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_are_in_the_hull_and_turned_every_way() {
        let parameters = ShrubParameters { seed: 3, ..Default::default() };
        let scene = build(&parameters);
        let leaves = &scene.meshes[3];
        assert_eq!(leaves.triangles.len(), 700 * 6);
        let crown = DVec3::from_array(parameters.crown_m);
        let (mut up, mut inner): (f64, f64) = (0.0, 1.0);
        for corners in leaves.positions.chunks(8) {
            let corners: Vec<DVec3> =
                corners.iter().map(|p| DVec3::from(p.map(f64::from))).collect();
            let middle = corners.iter().sum::<DVec3>() / 8.0;
            let share = (middle / crown).length();
            assert!((HOLLOW - 1e-5..=1.0 + 1e-5).contains(&share), "{share}");
            inner = inner.min(share);
            let radius = (corners[0] - middle).length();
            assert!((0.0174..=0.0326).contains(&radius), "{radius}");
            let normal = (corners[2] - middle).cross(corners[0] - middle).normalize();
            up += normal.z.abs();
        }
        assert!(inner < HOLLOW + 0.01);
        // For directions that are uniform on the sphere, the mean is a half.
        assert!((up / 700.0 - 0.5).abs() < 0.04, "{}", up / 700.0);
        let [low, high] = scene.extents();
        assert!((low.z, high.x) == (0.0, 20.0) && (1.4..1.49).contains(&high.z), "{high}");
    }
}
