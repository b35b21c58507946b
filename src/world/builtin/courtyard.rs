//! The built-in `courtyard`: the walled, vegetated test scene of Goodin et al. 2018.
//!
//! ```text
//! ±150 m      inner faces of the walls, 1 m thick, 10 m high
//! ±151 m      edge of the ground: 302 x 302 cells of 1 m
//! 20 m        radius of the lane: no trunk within 3 m of it, no grass within 1 m
//! ```
//!
//! One tree and one clump of grass are instanced with random yaw, scale and position. The ground's relief decreases to zero
//! towards the walls, where the ground is at z = 0.

use std::f64::consts::{PI, TAU};

use glam::{DAffine3, DVec2};

use super::heights::{HeightGrid, corner};
use super::planting::{GRASS_MODEL, RELIEF, Site, TREE_MODEL, add, draw, reach};
pub use super::planting::{LANE_RADIUS_M, LANE_TO_GRASS_M, LANE_TO_TRUNK_M};
use super::{grass, tree};
use crate::config::rig::CourtyardParameters;
use crate::world::materials;
use crate::world::random;
use crate::world::scene::{MaterialId, Mesh, Scene};

/// Distance of the walls' inner faces from the origin, metres.
pub const HALF_SIZE_M: f64 = 150.0;
/// Height of the walls, metres.
pub const WALL_HEIGHT_M: f64 = 10.0;
/// Ground cells along each side, 1 m each.
const CELLS: u32 = 302;
/// Thickness of the walls, metres.
const WALL_THICKNESS_M: f64 = 1.0;
/// Distance in front of the walls over which the relief fades out, metres.
const FADE_M: f64 = 20.0;
/// Builds the courtyard.
pub fn build(parameters: &CourtyardParameters) -> Scene {
    let seed = parameters.seed;
    let mut scene = Scene::default();
    let [soil, grass_blade, bark, leaf, concrete] = ["soil", "grass", "bark", "leaf", "concrete"]
        .map(|name| {
            scene.materials.push(materials::by_name(name));
            (scene.materials.len() - 1) as MaterialId
        });

    let relief = relief(seed, parameters.ground_relief_m);
    let site = Site { seed, half_size_m: HALF_SIZE_M, ground: &relief };
    add(&mut scene, relief.mesh(soil), &[DAffine3::IDENTITY]);
    scene.ground = scene.instances.clone();
    add(&mut scene, walls(concrete), &[DAffine3::IDENTITY]);

    let clumps = parameters.grass_blades.div_ceil(u64::from(grass::BLADES));
    if clumps > 0 {
        let clump = grass::clump(draw(seed, GRASS_MODEL), grass_blade);
        let reach = reach(&clump);
        let places: Vec<DAffine3> =
            (0..clumps).map(|index| site.clump_place(index, reach)).collect();
        add(&mut scene, clump, &places);
    }
    if parameters.trees > 0 {
        let model = tree::tree(draw(seed, TREE_MODEL), parameters.tree_triangles, bark, leaf);
        let places = site.tree_places(parameters.trees, reach(&model));
        add(&mut scene, model, &places);
    }
    scene
}

/// Makes four walls that start half a metre below z = 0.
fn walls(material: MaterialId) -> Mesh {
    let mut mesh = Mesh { name: "walls".into(), ..Mesh::default() };
    let (inner, outer) = (HALF_SIZE_M, HALF_SIZE_M + WALL_THICKNESS_M);
    for (low, high) in [
        ([-outer, inner], [outer, outer]),
        ([-outer, -outer], [outer, -inner]),
        ([inner, -inner], [outer, inner]),
        ([-outer, -inner], [-inner, inner]),
    ] {
        let base = mesh.positions.len() as u32;
        for z in [-0.5, WALL_HEIGHT_M] {
            for [x, y] in [low, [high[0], low[1]], high, [low[0], high[1]]] {
                mesh.positions.push([x as f32, y as f32, z as f32]);
            }
        }
        for [a, b, c, d] in
            [[3, 2, 1, 0], [4, 5, 6, 7], [0, 1, 5, 4], [1, 2, 6, 5], [2, 3, 7, 6], [3, 0, 4, 7]]
        {
            mesh.triangles.push([a, b, c].map(|corner| base + corner));
            mesh.triangles.push([a, c, d].map(|corner| base + corner));
        }
    }
    mesh.triangle_materials = vec![material; mesh.triangles.len()];
    mesh
}

/// Makes the uneven ground: cells of 1 m, and waves of at most `amplitude_m` above or below z = 0.
fn relief(seed: u64, amplitude_m: f64) -> HeightGrid {
    let mut rng = random::stream(seed, RELIEF, 0);
    let waves: Vec<(DVec2, f64, f64)> = (0..16)
        .map(|wave| {
            // Wavelengths decrease from 120 m to 15 m. Short waves are lower, so that no slope is steep.
            let length = 120.0 * libm::pow(0.125, f64::from(wave) / 15.0);
            let (sin, cos) = libm::sincos(random::angle(&mut rng));
            let number = DVec2::new(cos, sin) * (TAU / length);
            (number, random::angle(&mut rng), libm::pow(length / 120.0, 1.3))
        })
        .collect();
    let side = CELLS + 1;
    let raw: Vec<f64> = (0..side * side)
        .map(|index| {
            let p = corner(CELLS, 1.0, index % side, index / side);
            let sum: f64 = waves
                .iter()
                .map(|&(number, phase, weight)| weight * libm::sin(number.dot(p) + phase))
                .sum();
            sum * fade(p.x) * fade(p.y)
        })
        .collect();
    let peak = raw.iter().fold(0.0, |peak: f64, z| peak.max(z.abs()));
    let heights = raw.iter().map(|z| (z / peak * amplitude_m) as f32).collect();
    HeightGrid { cells: CELLS, cell_m: 1.0, heights }
}

/// Factor that is 1 in the middle and falls smoothly to 0 at the walls.
fn fade(coordinate: f64) -> f64 {
    let to_wall = ((HALF_SIZE_M - coordinate.abs()) / FADE_M).clamp(0.0, 1.0);
    0.5 - 0.5 * libm::cos(PI * to_wall)
}

#[cfg(test)]
mod tests {
    use glam::DVec3;

    use super::*;
    use crate::world::builtin::planting::from_lane;
    use crate::world::scene::Instance;

    fn small() -> CourtyardParameters {
        CourtyardParameters {
            seed: 7,
            grass_blades: 20_050,
            trees: 60,
            tree_triangles: 2000,
            ground_relief_m: 1.5,
        }
    }

    /// The instances of the mesh called `name`.
    fn copies<'a>(scene: &'a Scene, name: &str) -> Vec<&'a Instance> {
        let is = |i: &&Instance| scene.meshes[i.mesh as usize].name == name;
        scene.instances.iter().filter(is).collect()
    }

    #[test]
    fn counts_are_those_asked_for() {
        let scene = build(&small());
        assert_eq!(copies(&scene, "grass clump").len(), 201);
        assert_eq!(copies(&scene, "tree").len(), 60);
        assert_eq!(scene.meshes[0].triangles.len(), 182_408);
        assert_eq!(scene.instanced_triangles(), 182_408 + 48 + 201 * 800 + 60 * 2000);
        let bare = build(&CourtyardParameters { grass_blades: 0, trees: 0, ..small() });
        assert_eq!(bare.instanced_triangles(), 182_456);
        assert_eq!((bare.ground.len(), bare.ground[0].mesh), (1, 0));
    }

    #[test]
    fn the_ground_swells_as_high_as_asked_and_is_flat_at_the_walls() {
        let ground = &build(&small()).meshes[0];
        let swell = ground.positions.iter().map(|p| p[2].abs()).fold(0.0, f32::max);
        assert!((swell - 1.5).abs() < 1e-6, "{swell}");
        let at_walls = |p: &&[f32; 3]| p[0].abs() >= 150.0 || p[1].abs() >= 150.0;
        assert!(ground.positions.iter().filter(at_walls).all(|p| p[2].abs() < 1e-6));
        let steepest = (0..ground.triangles.len() as u32)
            .map(|t| {
                let [a, b, c] = ground.corners(t);
                let normal = (b - a).cross(c - a).normalize();
                assert!(normal.z > 0.0);
                libm::acos(normal.z)
            })
            .fold(0.0, f64::max);
        assert!((2.0..20.0).contains(&steepest.to_degrees()), "{}", steepest.to_degrees());
    }

    #[test]
    fn heights_are_those_of_the_mesh() {
        let relief = super::relief(5, 2.0);
        let mesh = relief.mesh(0);
        for (t, weights) in [(0, [0.2, 0.3, 0.5]), (91_000, [0.6, 0.3, 0.1]), (91_001, [0.1; 3])] {
            let corners = mesh.corners(t);
            let total: f64 = weights.iter().sum();
            let point: DVec3 = corners.iter().zip(weights).map(|(&c, w)| c * (w / total)).sum();
            assert!((relief.height(point.truncate()) - point.z).abs() < 1e-6);
        }
    }

    #[test]
    fn things_stand_on_the_ground_clear_of_lane_and_walls() {
        let scene = build(&small());
        let relief = super::relief(7, 1.5);
        let tallest = copies(&scene, "tree")
            .iter()
            .map(|i| i.world_from_mesh.matrix3.z_axis.z * tree::HEIGHT_M)
            .collect::<Vec<f64>>();
        assert!(tallest.iter().all(|h| (6.0..=10.0).contains(h)), "{tallest:?}");
        assert!(tallest.iter().any(|&h| h > 9.5) && tallest.iter().any(|&h| h < 6.5));
        for (name, clearance) in [("tree", 3.0), ("grass clump", 1.0)] {
            for copy in copies(&scene, name) {
                let foot = copy.world_from_mesh.translation;
                assert!((foot.z - relief.height(foot.truncate())).abs() < 1e-6);
                for p in &scene.meshes[copy.mesh as usize].positions {
                    let at = copy.world_from_mesh.transform_point3(DVec3::from(p.map(f64::from)));
                    assert!(at.x.abs() < 150.0 && at.y.abs() < 150.0, "{name} in a wall: {at}");
                    if name == "grass clump" || p[2] < 0.5 {
                        assert!(from_lane(at.truncate()) >= clearance - 1e-3, "{name}: {at}");
                    }
                }
            }
        }
        let feet: Vec<DVec3> =
            copies(&scene, "tree").iter().map(|i| i.world_from_mesh.translation).collect();
        for (index, foot) in feet.iter().enumerate() {
            assert!(feet[..index].iter().all(|other| other.distance(*foot) > 4.9));
        }
    }

    #[test]
    fn grass_follows_the_slope() {
        let relief = super::relief(7, 10.0);
        let place = Site { seed: 7, half_size_m: HALF_SIZE_M, ground: &relief }.clump_place(3, 0.5);
        let foot = place.translation;
        for direction in [DVec3::X, DVec3::Y, -DVec3::X] {
            let edge = place.transform_point3(direction * 0.4);
            assert!((edge.z - relief.height(edge.truncate())).abs() < 0.05, "{edge} {foot}");
        }
        assert_eq!(place.matrix3.z_axis.truncate(), DVec2::ZERO, "blades stay upright");
    }

    #[test]
    fn the_seed_fixes_everything() {
        let first = build(&small());
        let again = build(&small());
        let other = build(&CourtyardParameters { seed: 8, ..small() });
        for (a, b) in first.meshes.iter().zip(&again.meshes) {
            assert_eq!((&a.positions, &a.triangles), (&b.positions, &b.triangles));
        }
        let places = |scene: &Scene| -> Vec<DAffine3> {
            scene.instances.iter().map(|i| i.world_from_mesh).collect()
        };
        assert_eq!(places(&first), places(&again));
        assert_ne!(places(&first)[5..], places(&other)[5..]);
        // More grass does not move the trees.
        let more = build(&CourtyardParameters { grass_blades: 30_000, ..small() });
        let trees = |scene: &Scene| -> Vec<DAffine3> {
            copies(scene, "tree").iter().map(|i| i.world_from_mesh).collect()
        };
        assert_eq!(trees(&first), trees(&more));
    }
}
