//! The built-in `meadow-wall`: a meadow and a fence of posts and wires, surrounded by walls.
//!
//! ```text
//! origin      a circle of 4 m radius without grass
//! fence       a square of posts with a net of upright and level wires
//! walls       a square around the fence; grass grows up to it
//! ```

use glam::{DAffine3, DMat3, DVec2, DVec3};

use super::grass;
use super::planting::{add, draw, reach};
use super::solids::{self, ROUND_SIDES, on_side, prism};
use crate::config::rig::MeadowWallParameters;
use crate::world::materials;
use crate::world::random::{self, uniform};
use crate::world::scene::{MaterialId, Scene};

/// Radius of the circle around the origin without grass, metres.
pub const CLEAR_RADIUS_M: f64 = 4.0;
/// Number of sides of the prism that represents a wire.
const WIRE_SIDES: u32 = 6;

// Each constant below identifies a random stream.
const GRASS_MODEL: u64 = 1;
const GRASS_PLACE: u64 = 2;

/// Builds the meadow. The ground is the plane z = 0.
pub fn build(parameters: &MeadowWallParameters) -> Scene {
    let mut scene = Scene::default();
    let [soil, blade, wood, wire, concrete] =
        ["soil", "grass", "wood", "steel", "concrete"].map(|name| {
            scene.materials.push(materials::by_name(name));
            (scene.materials.len() - 1) as MaterialId
        });
    let half_m = parameters.fence_distance_m + parameters.wall_behind_m;
    add(&mut scene, solids::floor(half_m, soil), &[DAffine3::IDENTITY]);
    scene.ground = scene.instances.clone();
    let walls = solids::walls(4, half_m, 2.0 * half_m, parameters.wall_height_m, concrete);
    add(&mut scene, walls, &[DAffine3::IDENTITY]);
    add_fence(&mut scene, parameters, wood, wire);

    let clumps = parameters.grass_blades.div_ceil(u64::from(grass::BLADES));
    if clumps > 0 {
        let clump = grass::clump(draw(parameters.seed, GRASS_MODEL), blade);
        let reach = reach(&clump);
        let places: Vec<DAffine3> =
            (0..clumps).map(|index| clump_place(parameters.seed, index, half_m, reach)).collect();
        add(&mut scene, clump, &places);
    }
    scene
}

/// Adds posts and wires on the four sides of the fence. Each side includes its right-hand corner post, as seen from the
/// origin; the left-hand one belongs to the next side.
fn add_fence(
    scene: &mut Scene,
    parameters: &MeadowWallParameters,
    wood: MaterialId,
    wire: MaterialId,
) {
    let half_m = parameters.fence_distance_m;
    let height_m = parameters.fence_height_m;
    let evenly = |spacing_m: f64| -> Vec<DAffine3> {
        let count = parts(2.0 * half_m, spacing_m);
        let along = |k: u32| 2.0 * half_m * f64::from(k) / f64::from(count) - half_m;
        let foot = |side, k| on_side(side, half_m, along(k)).extend(0.0);
        (0..4)
            .flat_map(|side| (0..count).map(move |k| DAffine3::from_translation(foot(side, k))))
            .collect()
    };
    let post = prism("post", ROUND_SIDES, parameters.post_diameter_m, height_m, wood);
    add(scene, post, &evenly(parameters.post_spacing_m));
    let diameter_m = parameters.wire_diameter_m;
    let upright = prism("upright wire", WIRE_SIDES, diameter_m, height_m, wire);
    add(scene, upright, &evenly(parameters.wire_spacing_m));

    // The prism's z axis becomes y on the east and west sides, and x on the north and south sides.
    let along_y = DMat3::from_cols(DVec3::Z, DVec3::X, DVec3::Y);
    let along_x = DMat3::from_cols(DVec3::Y, DVec3::Z, DVec3::X);
    let levels = parts(height_m, parameters.wire_spacing_m);
    let places: Vec<DAffine3> = (1..=levels)
        .flat_map(|level| {
            let z = height_m * f64::from(level) / f64::from(levels);
            [
                (along_y, DVec3::new(half_m, -half_m, z)),
                (along_x, DVec3::new(-half_m, half_m, z)),
                (along_y, DVec3::new(-half_m, -half_m, z)),
                (along_x, DVec3::new(-half_m, -half_m, z)),
            ]
        })
        .map(|(axes, from)| DAffine3::from_mat3_translation(axes, from))
        .collect();
    add(scene, prism("level wire", WIRE_SIDES, diameter_m, 2.0 * half_m, wire), &places);
}

/// Number of equal parts, each at most `spacing_m` long, into which a length is divided.
fn parts(length_m: f64, spacing_m: f64) -> u32 {
    ((length_m / spacing_m - 1e-9).ceil() as u32).max(1)
}

/// Random pose of a clump within the walls and outside the clear circle. The unscaled blades extend up to `reach` metres
/// from the clump's middle.
fn clump_place(seed: u64, index: u64, half_m: f64, reach: f64) -> DAffine3 {
    let mut rng = random::stream(seed, GRASS_PLACE, index);
    let scale = uniform(&mut rng, 0.8, 1.2);
    let (sin, cos) = libm::sincos(random::angle(&mut rng));
    let inside = half_m - reach * scale;
    let foot = loop {
        let x = uniform(&mut rng, -inside, inside);
        let foot = DVec2::new(x, uniform(&mut rng, -inside, inside));
        if foot.length() >= CLEAR_RADIUS_M + reach * scale {
            break foot;
        }
    };
    let axes = DMat3::from_cols(DVec3::new(cos, sin, 0.0), DVec3::new(-sin, cos, 0.0), DVec3::Z);
    DAffine3::from_mat3_translation(axes * scale, foot.extend(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::scene::Instance;

    fn copies<'a>(scene: &'a Scene, name: &str) -> Vec<&'a Instance> {
        let is = |i: &&Instance| scene.meshes[i.mesh as usize].name == name;
        scene.instances.iter().filter(is).collect()
    }

    #[test]
    fn grass_is_clear_of_the_circle_and_the_walls_and_the_seed_fixes_it() {
        let parameters = MeadowWallParameters { seed: 5, ..Default::default() };
        let scene = build(&parameters);
        let clumps = copies(&scene, "grass clump");
        assert_eq!(clumps.len(), 600);
        let mut nearest = f64::INFINITY;
        for clump in &clumps {
            for p in &scene.meshes[clump.mesh as usize].positions {
                let at = clump.world_from_mesh.transform_point3(DVec3::from(p.map(f64::from)));
                assert!(at.x.abs() < 12.0 && at.y.abs() < 12.0, "{at}");
                nearest = nearest.min(at.truncate().length());
            }
        }
        assert!((CLEAR_RADIUS_M..CLEAR_RADIUS_M + 0.5).contains(&nearest), "{nearest}");
        let places = |scene: &Scene| -> Vec<DAffine3> {
            copies(scene, "grass clump").iter().map(|i| i.world_from_mesh).collect()
        };
        assert_eq!(places(&scene), places(&build(&parameters)));
        assert_ne!(places(&scene), places(&build(&MeadowWallParameters::default())));
    }

    #[test]
    fn the_fence_is_closed_and_its_wires_lie_on_its_sides() {
        let scene = build(&MeadowWallParameters::default());
        assert_eq!(copies(&scene, "post").len(), 4 * 8);
        assert_eq!(copies(&scene, "upright wire").len(), 4 * 107);
        let level = copies(&scene, "level wire");
        assert_eq!(level.len(), 4 * 14);
        for wire in &level {
            let mesh = &scene.meshes[wire.mesh as usize];
            let [low, high] = wire.world_box(mesh.bounds());
            let size = high - low;
            assert!((size.max_element() - 16.0).abs() < 1e-6, "{size}");
            // The middle is between the corners, on one side of the square.
            let middle = (low + high) / 2.0;
            let out = middle.truncate().abs();
            assert!((out.max_element() - 8.0).abs() < 1e-3 && out.min_element() < 1e-3, "{middle}");
            assert!((0.14..=2.01).contains(&middle.z));
        }
        let mut corners: Vec<[i64; 2]> = copies(&scene, "post")
            .iter()
            .map(|i| i.world_from_mesh.translation)
            .map(|p| [(p.x * 1e6).round() as i64, (p.y * 1e6).round() as i64])
            .collect();
        corners.sort_unstable();
        corners.dedup();
        assert_eq!(corners.len(), 32, "no post twice");
    }
}
