//! The built-in `fort-drum`: a parking apron with objects and plants, modelled on the scene at Fort Drum that Durst et
//! al. 2011 simulate. The paper states no dimensions; the dimensions here were chosen for this scene.
//!
//! ```text
//! ±20 m              the apron, rough concrete; around it soil up to ±30 m
//! 1..2.5, ±1.5..5.5  two strips of upright stems, 4 m along y and 1.5 m along x
//! 3.6, 0             the boulder, 1.5 x 1.2 x 1.0 m
//! [`BALES`]          three hay bales, 1.2 x 0.5 x 0.4 m
//! -7..-5.5, -8..-4   a strip of low grass
//! ```
//!
//! A robot that comes along the x axis from the west has all objects ahead. It can drive a circle of 14 m radius around
//! the origin, because all objects are within 12 m of the origin. The ground consists of cells of 0.25 m.

use std::f64::consts::TAU;

use glam::{DAffine3, DMat3, DVec2, DVec3};

use super::andabata_field::rock_model;
use super::grass;
use super::heights::{HeightGrid, corner};
use super::planting::{GRASS_MODEL, RELIEF, add, draw, reach};
use super::solids::{self, ROUND_SIDES, prism};
use crate::config::rig::FortDrumParameters;
use crate::world::materials;
use crate::world::random::{self, uniform};
use crate::world::scene::{MaterialId, Mesh, Scene};

/// Half of the apron's side, metres.
pub const APRON_HALF_M: f64 = 20.0;
/// South-western and north-eastern corners of the strips of plants, metres.
pub const PLANTS_M: [[[f64; 2]; 2]; 2] = [[[1.0, 1.5], [2.5, 5.5]], [[1.0, -5.5], [2.5, -1.5]]];
/// South-western and north-eastern corners of the strip of grass, metres.
pub const GRASS_M: [[f64; 2]; 2] = [[-7.0, -8.0], [-5.5, -4.0]];
/// Middle of the boulder, metres. Its sides are parallel to the axes.
pub const BOULDER_M: [f64; 2] = [3.6, 0.0];
/// Length, width and height above ground of the boulder, metres.
pub const BOULDER_SIZE_M: [f64; 3] = [1.5, 1.2, 1.0];
/// Middles of the bales, metres, and their yaw: the angle from east to the bale's length, counter-clockwise, degrees.
pub const BALES: [([f64; 2], f64); 3] =
    [([-2.0, 3.2], 20.0), ([-3.0, -3.5], -35.0), ([0.0, -0.2], 90.0)];
/// Length, width and height of a bale, metres.
pub const BALE_SIZE_M: [f64; 3] = [1.2, 0.5, 0.4];

/// Cells along each side of the ground.
const CELLS: u32 = 240;
const CELL_M: f64 = 0.25;
/// Number of waves that form the roughness.
const WAVES: u32 = 12;
/// Depth of the lower ends of stems and bales below the ground, metres.
const IN_GROUND_M: f64 = 0.1;
/// Range of the vertical scale of the grass model, whose blades are 0.25 to 0.5 m long.
const GRASS_SCALE: [f64; 2] = [0.26, 0.34];
/// Diffuse reflectance of hay; an estimate without a source.
const HAY_REFLECTANCE: f32 = 0.45;

// Each constant below identifies a random stream. The numbers 1 to 5 belong to `planting`, 16 to 20 to
// `andabata_field`.
const STEM: u64 = 32;
const GRASS_PLACE: u64 = 33;

/// Builds the apron; the ground is its rough surface.
pub fn build(parameters: &FortDrumParameters) -> Scene {
    let seed = parameters.seed;
    let mut scene = Scene::default();
    let [concrete, soil, blade, rock] = ["concrete", "soil", "grass", "rock"].map(|name| {
        scene.materials.push(materials::by_name(name));
        (scene.materials.len() - 1) as MaterialId
    });
    scene.materials.push(materials::plain("hay", HAY_REFLECTANCE));
    scene.materials.push(materials::plain("stem", parameters.plant_reflectance as f32));
    let (hay, stem) = (rock + 1, rock + 2);
    let ground = ground(parameters);
    add(&mut scene, apron(&ground, concrete, soil), &[DAffine3::IDENTITY]);
    scene.ground = scene.instances.clone();

    let stands = |at: [f64; 2], yaw_deg: f64| {
        let z = ground.height(DVec2::from(at));
        let (sin, cos) = libm::sincos(yaw_deg.to_radians());
        let turned =
            DMat3::from_cols(DVec3::new(cos, sin, 0.0), DVec3::new(-sin, cos, 0.0), DVec3::Z);
        DAffine3::from_mat3_translation(turned, DVec2::from(at).extend(z))
    };
    add(&mut scene, boulder(seed, rock), &[stands(BOULDER_M, 0.0)]);
    add(&mut scene, bale(hay), &BALES.map(|(at, yaw_deg)| stands(at, yaw_deg)));

    let stems = stem_places(parameters, &ground);
    if !stems.is_empty() {
        let length_m = parameters.plant_height_m + IN_GROUND_M;
        let model = prism("stem", ROUND_SIDES, parameters.plant_diameter_m, length_m, stem);
        add(&mut scene, model, &stems);
    }
    let clumps = parameters.grass_blades.div_ceil(u64::from(grass::BLADES));
    if clumps > 0 {
        let clump = grass::clump(draw(seed, GRASS_MODEL), blade);
        let places = grass_places(seed, clumps, reach(&clump), &ground);
        add(&mut scene, clump, &places);
    }
    scene
}

/// Makes the ground from waves of 0.6 to 6 m length. The largest height above or depth below z = 0 is `roughness_m`.
fn ground(parameters: &FortDrumParameters) -> HeightGrid {
    let mut rng = random::stream(parameters.seed, RELIEF, 0);
    let waves: Vec<(DVec2, f64)> = (0..WAVES)
        .map(|wave| {
            let length = 6.0 * libm::pow(0.1, f64::from(wave) / f64::from(WAVES - 1));
            let (sin, cos) = libm::sincos(random::angle(&mut rng));
            (DVec2::new(cos, sin) * (TAU / length), random::angle(&mut rng))
        })
        .collect();
    let side = CELLS + 1;
    let height = |index: u32| {
        let p = corner(CELLS, CELL_M, index % side, index / side);
        waves.iter().map(|(number, phase)| libm::sin(number.dot(p) + phase)).sum::<f64>()
    };
    let raw: Vec<f64> = (0..side * side).map(height).collect();
    let peak = raw.iter().fold(0.0, |peak: f64, z| peak.max(z.abs()));
    let heights = raw.iter().map(|z| (z / peak * parameters.roughness_m) as f32).collect();
    HeightGrid { cells: CELLS, cell_m: CELL_M, heights }
}

/// Makes the concrete apron with soil around it.
fn apron(ground: &HeightGrid, concrete: MaterialId, soil: MaterialId) -> Mesh {
    let mut mesh = ground.mesh(soil);
    for index in 0..mesh.triangles.len() {
        let middle = mesh.corners(index as u32).iter().sum::<DVec3>() / 3.0;
        if middle.truncate().abs().max_element() < APRON_HALF_M {
            mesh.triangle_materials[index] = concrete;
        }
    }
    mesh
}

/// Makes a rock that has exactly the size [`BOULDER_SIZE_M`] above z = 0. A fifth of its total height is below z = 0.
fn boulder(seed: u64, material: MaterialId) -> Mesh {
    let mut mesh = rock_model(seed, material);
    mesh.name = "boulder".into();
    let [low, high] = mesh.bounds();
    let [length, width, height] = BOULDER_SIZE_M;
    let buried = 0.25 * height;
    let scale = DVec3::new(length, width, height + buried) / (high - low);
    let middle = 0.5 * (low + high);
    for position in &mut mesh.positions {
        let p = DVec3::from(position.map(f64::from));
        let at = (p - DVec3::new(middle.x, middle.y, low.z)) * scale - DVec3::Z * buried;
        *position = at.as_vec3().to_array();
    }
    mesh
}

/// Makes a bale that stands on the ground, its length along x.
fn bale(material: MaterialId) -> Mesh {
    let mut mesh = Mesh { name: "hay bale".into(), ..Mesh::default() };
    let [length, width, height] = BALE_SIZE_M;
    let ring = |z: f64| {
        [[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]]
            .map(|[x, y]| DVec3::new(x * length, y * width, z))
    };
    solids::loft(&mut mesh, &ring(-IN_GROUND_M), &ring(height));
    mesh.triangle_materials = vec![material; mesh.triangles.len()];
    mesh
}

/// Poses of stems at independent random positions in both strips.
fn stem_places(parameters: &FortDrumParameters, ground: &HeightGrid) -> Vec<DAffine3> {
    let mut places = Vec::new();
    for (strip, [low, high]) in PLANTS_M.iter().enumerate() {
        let area_m2 = (high[0] - low[0]) * (high[1] - low[1]);
        let stems = (parameters.plants_per_m2 * area_m2).round() as u64;
        for stem in 0..stems {
            let index = (strip as u64) << 32 | stem;
            let mut rng = random::stream(parameters.seed, STEM, index);
            let at =
                DVec2::new(uniform(&mut rng, low[0], high[0]), uniform(&mut rng, low[1], high[1]));
            let foot = at.extend(ground.height(at) - IN_GROUND_M);
            places.push(DAffine3::from_translation(foot));
        }
    }
    places
}

/// Poses of clumps of low grass. The model is scaled by 0.5 to 0.7 horizontally and by [`GRASS_SCALE`] vertically. The
/// unscaled blades extend up to `reach` metres from the model's axis.
fn grass_places(seed: u64, clumps: u64, reach: f64, ground: &HeightGrid) -> Vec<DAffine3> {
    let [low, high] = GRASS_M.map(DVec2::from);
    (0..clumps)
        .map(|index| {
            let mut rng = random::stream(seed, GRASS_PLACE, index);
            let flat = uniform(&mut rng, 0.5, 0.7);
            let inset = reach * flat;
            let at = DVec2::new(
                uniform(&mut rng, low.x + inset, high.x - inset),
                uniform(&mut rng, low.y + inset, high.y - inset),
            );
            let (sin, cos) = libm::sincos(random::angle(&mut rng));
            let axes = DMat3::from_cols(
                DVec3::new(cos, sin, 0.0) * flat,
                DVec3::new(-sin, cos, 0.0) * flat,
                DVec3::Z * uniform(&mut rng, GRASS_SCALE[0], GRASS_SCALE[1]),
            );
            DAffine3::from_mat3_translation(axes, at.extend(ground.height(at)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::ground::{GroundHeight, Terrain};

    fn copies(scene: &Scene, name: &str) -> Vec<DAffine3> {
        let is = |mesh: u32| scene.meshes[mesh as usize].name == name;
        let copies = scene.instances.iter().filter(|instance| is(instance.mesh));
        copies.map(|instance| instance.world_from_mesh).collect()
    }

    /// Lowest and highest corner of the box around all instances of the mesh `name`, World.
    fn bounds(scene: &Scene, name: &str) -> [DVec3; 2] {
        let mesh = scene.meshes.iter().find(|mesh| mesh.name == name).unwrap();
        let all = copies(scene, name).into_iter().flat_map(|place| {
            mesh.positions
                .iter()
                .map(move |p| place.transform_point3(DVec3::from(p.map(f64::from))))
        });
        all.fold([DVec3::MAX, DVec3::MIN], |[low, high], p| [low.min(p), high.max(p)])
    }

    #[test]
    fn objects_have_their_sizes_and_places() {
        let scene = build(&FortDrumParameters { seed: 5, ..Default::default() });
        let [low, high] = bounds(&scene, "boulder");
        assert!((high - low).truncate().abs_diff_eq(DVec2::new(1.5, 1.2), 1e-5), "{low} {high}");
        assert!((high.z - 1.0).abs() < 0.021 && low.z < -0.2, "{low} {high}");
        assert_eq!(copies(&scene, "hay bale").len(), 3);
        let top = bounds(&scene, "hay bale")[1].z;
        assert!((top - 0.4).abs() < 0.021, "{top}");
        let [low, high] = bounds(&scene, "grass clump");
        assert!(high.z < 0.18, "{high}");
        let [from, to] = GRASS_M.map(DVec2::from);
        // Blades lean beyond the circle that contains their roots.
        assert!(low.truncate().cmpge(from - 0.1).all() && high.truncate().cmple(to + 0.1).all());
        let stem_top = bounds(&scene, "stem")[1].z;
        assert!((0.57..0.63).contains(&stem_top), "{stem_top}");
    }

    #[test]
    fn a_ray_passes_a_strip_with_a_chance_of_a_tenth() {
        let parameters = FortDrumParameters { seed: 2, ..Default::default() };
        let scene = build(&parameters);
        let stems: Vec<DVec2> =
            copies(&scene, "stem").iter().map(|place| place.translation.truncate()).collect();
        assert_eq!(stems.len(), 2 * 1842);
        let [low, high] = PLANTS_M[0];
        let rays = 4000;
        let passes = (0..rays)
            .filter(|k| {
                let y = low[1] + 0.01 + (high[1] - low[1] - 0.02) * f64::from(*k) / f64::from(rays);
                !stems.iter().any(|at| at.y > 0.0 && (at.y - y).abs() < 0.0025)
            })
            .count();
        let share = passes as f64 / f64::from(rays);
        assert!((0.06..0.15).contains(&share), "{share}");
    }

    #[test]
    fn a_wide_circle_is_clear_and_the_ground_is_rough() {
        let scene = build(&FortDrumParameters::default());
        for name in ["boulder", "hay bale", "stem", "grass clump"] {
            let farthest = bounds(&scene, name).map(|p| p.truncate().abs());
            let reach = farthest[0].max(farthest[1]).length();
            assert!(reach < 12.0, "{name} reaches {reach} m");
        }
        let terrain = Terrain::new(&scene);
        let heights: Vec<f64> = (0..2000)
            .map(|k| terrain.height_m(-25.0 + 0.025 * f64::from(k), 3.0).unwrap())
            .collect();
        let highest = heights.iter().fold(0.0, |most: f64, z| most.max(z.abs()));
        assert!((0.008..0.0201).contains(&highest), "{highest}");
        let is =
            |index: usize| &scene.materials[scene.meshes[0].triangle_materials[index] as usize];
        assert_eq!(is(0).name, "soil");
        assert_eq!(is(scene.meshes[0].triangles.len() / 2 + CELLS as usize).name, "concrete");
    }
}
