//! The built-in `andabata-field`: a square field of 50 m with high grass, rocks, trees, a fence, a barrier and ditches.
//! It is modelled on the test field of the Andabata paper (Martínez et al. 2020). The paper states no dimensions; the
//! dimensions here were chosen for this scene.
//!
//! ```text
//! ±25 m          edge of the field; the ground extends to ±30 m
//! -20, -20       recommended start
//! 20, -14        first goal; on the way, a ditch with its middle at 0, -17 runs 6 m from south to north
//! -20, 2         second goal; on the way, a barrier at 10, -10 and a ditch at 0, -6 run from south to north
//! 18, 20         third goal; on the way, a ditch at -2, 10.6 runs 6 m eastwards; a fence runs from 9, 14 to 9, 22
//! -11, -18.6     puddle, 3 m by 2 m, on the way to the first goal
//! ```
//!
//! Ditches are 6 m long and 1.2 m wide at the top; their walls slope over a horizontal distance of 0.2 m. Rocks, trees
//! and patches of grass have random positions, clear of start, goals, origin, ditches, barrier, fence and puddle. The
//! ground consists of cells of 0.2 m; below the puddle it is level.

use std::f64::consts::{PI, TAU};

use glam::{DAffine3, DMat3, DVec2, DVec3};
use rand_xoshiro::SplitMix64;

use super::heights::{HeightGrid, corner};
use super::planting::{GRASS_MODEL, RELIEF, TREE_MODEL, add, draw};
use super::solids::{self, PUDDLE_Z_M, add_quad};
use super::{grass, tree};
use crate::config::rig::{AndabataFieldParameters, PuddleChoice};
use crate::world::materials;
use crate::world::random::{self, uniform};
use crate::world::scene::{MaterialId, Mesh, Scene};

/// Half of the field's side, metres.
pub const HALF_SIZE_M: f64 = 25.0;
/// Start position of a robot, World x and y, metres.
pub const START_M: [f64; 2] = [-20.0, -20.0];
/// Goals of a robot, in order, World x and y, metres.
pub const GOALS_M: [[f64; 2]; 3] = [[20.0, -14.0], [-20.0, 2.0], [18.0, 20.0]];
/// Centre of a circle without rocks, trees and grass, in which a robot can drive laps, World x and y, metres. Its
/// radius is [`CLEAR_OF_GOALS_M`]; a ditch begins 3 m south of the centre.
const LAP_M: [f64; 2] = [0.0, 0.0];
/// South-western and north-eastern corners of the ditches' upper edges, metres. All coordinates are multiples of the
/// ground's cell size, 0.2 m.
pub const DITCHES_M: [[[f64; 2]; 2]; 3] =
    [[[-0.6, -20.0], [0.6, -14.0]], [[-0.6, -9.0], [0.6, -3.0]], [[-5.0, 10.0], [1.0, 11.2]]];
/// South-western and north-eastern corners of the barrier, metres.
const BARRIER_M: [[f64; 2]; 2] = [[9.8, -12.0], [10.2, -8.0]];
const BARRIER_HEIGHT_M: f64 = 0.9;
/// Southern and northern end of the fence, metres.
const FENCE_M: [[f64; 2]; 2] = [[9.0, 14.0], [9.0, 22.0]];
const FENCE_HEIGHT_M: f64 = 1.2;
const POST_SPACING_M: f64 = 2.0;
const POST_M: f64 = 0.12;
/// Upper edges of the fence's planks, metres above ground.
const PLANKS_M: [f64; 3] = [0.35, 0.75, 1.15];
const PLANK_HEIGHT_M: f64 = 0.15;
const PLANK_THICKNESS_M: f64 = 0.03;
/// South-western and north-eastern corners of the puddle, metres.
pub const PUDDLE_M: [[f64; 2]; 2] = [[-12.6, -19.6], [-9.6, -17.6]];
/// Reflectance of a diffuse puddle, that is, of water without specular reflection.
const MATT_PUDDLE_REFLECTANCE: f32 = 0.15;

/// Cells along each side of the ground.
const CELLS: u32 = 300;
const CELL_M: f64 = 0.2;
/// Width of the transition between the relief and the level ground around the puddle, metres.
const LEVEL_M: f64 = 2.0;
/// Number of waves that form the relief.
const WAVES: u32 = 8;
/// Number of patches of grass.
const PATCHES: u64 = 8;
/// Number of rings of corners between the two poles of a rock.
const ROCK_RINGS: u32 = 7;
const ROCK_SIDES: u32 = 12;
/// Smallest distance of rocks, trees and patches of grass from start, goals and origin, metres.
const CLEAR_OF_GOALS_M: f64 = 3.5;
/// Number of attempts to find a free position. If all fail, an object can overlap with others.
const TRIES: u32 = 200;

// Each constant below identifies a random stream. The numbers 1 to 5 belong to `planting`.
const ROCK_MODEL: u64 = 16;
const ROCK_PLACE: u64 = 17;
const TREE_PLACE: u64 = 18;
const PATCH_PLACE: u64 = 19;
const BLADE_PLACE: u64 = 20;

/// Builds the field. [`Scene::ground`] is the relief with the ditches.
pub fn build(parameters: &AndabataFieldParameters) -> Scene {
    let seed = parameters.seed;
    let mut scene = Scene::default();
    let [soil, blade, bark, leaf, rock, concrete, wood] =
        ["soil", "grass", "bark", "leaf", "rock", "concrete", "wood"].map(|name| {
            scene.materials.push(materials::by_name(name));
            (scene.materials.len() - 1) as MaterialId
        });
    let ground = ground(parameters);
    let here = [DAffine3::IDENTITY];
    add(&mut scene, ground.mesh(soil), &here);
    scene.ground = scene.instances.clone();
    add(&mut scene, barrier(&ground, concrete), &here);
    add(&mut scene, fence(&ground, wood), &here);

    let mut room = Room::default();
    if parameters.rocks > 0 {
        let places = rock_places(parameters, &ground, &mut room);
        add(&mut scene, rock_model(seed, rock), &places);
    }
    if parameters.trees > 0 {
        let model = tree::tree(draw(seed, TREE_MODEL), parameters.tree_triangles, bark, leaf);
        let places = tree_places(parameters, &ground, &mut room);
        add(&mut scene, model, &places);
    }
    let clumps = parameters.grass_blades.div_ceil(u64::from(grass::BLADES));
    if clumps > 0 {
        let places = grass_places(seed, clumps, &ground);
        add(&mut scene, grass::clump(draw(seed, GRASS_MODEL), blade), &places);
    }
    if parameters.puddle != PuddleChoice::None {
        scene.materials.push(match parameters.puddle {
            PuddleChoice::Matt => materials::plain("matt puddle", MATT_PUDDLE_REFLECTANCE),
            PuddleChoice::None | PuddleChoice::Water => materials::by_name("water"),
        });
        let water = (scene.materials.len() - 1) as MaterialId;
        add(&mut scene, puddle(&ground, water), &here);
    }
    scene
}

/// Makes the ground: relief, level area of the puddle, and ditches.
fn ground(parameters: &AndabataFieldParameters) -> HeightGrid {
    let mut rng = random::stream(parameters.seed, RELIEF, 0);
    let waves: Vec<(DVec2, f64, f64)> = (0..WAVES)
        .map(|wave| {
            // Wavelengths decrease from 60 m to 12 m. Short waves are lower, so that no slope is steep.
            let length = 60.0 * libm::pow(0.2, f64::from(wave) / f64::from(WAVES - 1));
            let (sin, cos) = libm::sincos(random::angle(&mut rng));
            let number = DVec2::new(cos, sin) * (TAU / length);
            (number, random::angle(&mut rng), libm::pow(length / 60.0, 1.2))
        })
        .collect();
    let weights: f64 = waves.iter().map(|wave| wave.2 * wave.2).sum::<f64>().sqrt();
    // The sum of the waves seldom exceeds twice its root mean square.
    let scale = parameters.ground_relief_m / (2.0 * weights * 0.5_f64.sqrt());
    let relief = |p: DVec2| {
        let heights =
            waves.iter().map(|(number, phase, weight)| weight * libm::sin(number.dot(p) + phase));
        scale * heights.sum::<f64>()
    };
    let [low, high] = PUDDLE_M.map(DVec2::from);
    let level_m = relief(0.5 * (low + high));
    let side = CELLS + 1;
    let heights = (0..side * side)
        .map(|index| {
            let p = corner(CELLS, CELL_M, index % side, index / side);
            let outside = (low - p).max(p - high).max(DVec2::ZERO).length();
            // This factor is 0 up to two cells from the puddle and rises to 1 over the next `LEVEL_M`.
            let away = ((outside - 2.0 * CELL_M) / LEVEL_M).clamp(0.0, 1.0);
            let away = 0.5 - 0.5 * libm::cos(PI * away);
            let surface = level_m + away * (relief(p) - level_m);
            let inside = DITCHES_M.iter().map(|ditch| depth_inside(p, ditch)).fold(0.0, f64::max);
            (surface - parameters.ditch_depth_m * (inside / CELL_M).min(1.0)) as f32
        })
        .collect();
    HeightGrid { cells: CELLS, cell_m: CELL_M, heights }
}

/// Distance of a point from the nearest edge of the rectangle around it, metres; 0 outside.
fn depth_inside(p: DVec2, [low, high]: &[[f64; 2]; 2]) -> f64 {
    (p - DVec2::from(*low)).min(DVec2::from(*high) - p).min_element().max(0.0)
}

fn outside_by(p: DVec2, [low, high]: &[[f64; 2]; 2]) -> f64 {
    (DVec2::from(*low) - p).max(p - DVec2::from(*high)).max(DVec2::ZERO).length()
}

/// Adds an upright box between two corners and two heights.
fn block(mesh: &mut Mesh, [low, high]: [[f64; 2]; 2], z: [f64; 2]) {
    let ring = |z: f64| {
        [[low[0], low[1]], [high[0], low[1]], [high[0], high[1]], [low[0], high[1]]]
            .map(|[x, y]| DVec3::new(x, y, z))
    };
    solids::loft(mesh, &ring(z[0]), &ring(z[1]));
}

fn finished(mut mesh: Mesh, material: MaterialId) -> Mesh {
    mesh.triangle_materials = vec![material; mesh.triangles.len()];
    mesh
}

/// Makes a concrete wall of pieces 1 m long. Each piece is [`BARRIER_HEIGHT_M`] high above the ground at its middle.
fn barrier(ground: &HeightGrid, material: MaterialId) -> Mesh {
    let mut mesh = Mesh { name: "barrier".into(), ..Mesh::default() };
    let [[west, south], [east, north]] = BARRIER_M;
    let pieces = (north - south).round() as u32;
    for piece in 0..pieces {
        let from = south + f64::from(piece);
        let to = from + (north - south) / f64::from(pieces);
        let z = ground.height(DVec2::new(0.5 * (west + east), 0.5 * (from + to)));
        block(&mut mesh, [[west, from], [east, to]], [z - 0.3, z + BARRIER_HEIGHT_M]);
    }
    finished(mesh, material)
}

/// Makes the posts of the fence, with planks between them.
fn fence(ground: &HeightGrid, material: MaterialId) -> Mesh {
    let mut mesh = Mesh { name: "fence".into(), ..Mesh::default() };
    let [[x, south], [_, north]] = FENCE_M;
    let spans = ((north - south) / POST_SPACING_M).round() as u32;
    let post = |k: u32| {
        let y = south + (north - south) * f64::from(k) / f64::from(spans);
        (y, ground.height(DVec2::new(x, y)))
    };
    let half = 0.5 * POST_M;
    for k in 0..=spans {
        let (y, z) = post(k);
        block(
            &mut mesh,
            [[x - half, y - half], [x + half, y + half]],
            [z - 0.3, z + FENCE_HEIGHT_M],
        );
    }
    let half = 0.5 * PLANK_THICKNESS_M;
    for k in 0..spans {
        let ((from, low), (to, high)) = (post(k), post(k + 1));
        for top in PLANKS_M {
            let end = |y: f64, z: f64| {
                let corners =
                    [(-half, -PLANK_HEIGHT_M), (half, -PLANK_HEIGHT_M), (half, 0.0), (-half, 0.0)];
                corners.map(|(dx, dz)| DVec3::new(x + dx, y, z + top + dz))
            };
            solids::loft(&mut mesh, &end(to, high), &end(from, low));
        }
    }
    finished(mesh, material)
}

/// Makes the surface of the puddle.
fn puddle(ground: &HeightGrid, material: MaterialId) -> Mesh {
    let mut mesh = Mesh { name: "puddle".into(), ..Mesh::default() };
    let [[west, south], [east, north]] = PUDDLE_M;
    let z = PUDDLE_Z_M + ground.height(DVec2::new(0.5 * (west + east), 0.5 * (south + north)));
    let corners = [[west, south], [east, south], [east, north], [west, north]];
    add_quad(&mut mesh, corners.map(|[x, y]| DVec3::new(x, y, z)));
    finished(mesh, material)
}

/// Makes a rock with a radius of about one metre around the origin.
pub(super) fn rock_model(seed: u64, material: MaterialId) -> Mesh {
    let mut mesh = Mesh { name: "rock".into(), ..Mesh::default() };
    let mut rng = random::stream(seed, ROCK_MODEL, 0);
    let mut point = |height: f64, angle: f64| {
        let radius = uniform(&mut rng, 0.8, 1.15);
        let (sin, cos) = libm::sincos(angle);
        let around = (1.0 - height * height).max(0.0).sqrt();
        mesh.positions
            .push((DVec3::new(around * cos, around * sin, height) * radius).as_vec3().to_array());
    };
    point(-1.0, 0.0);
    for ring in 1..=ROCK_RINGS {
        let height = -libm::cos(PI * f64::from(ring) / f64::from(ROCK_RINGS + 1));
        for k in 0..ROCK_SIDES {
            point(height, TAU * f64::from(k) / f64::from(ROCK_SIDES));
        }
    }
    point(1.0, 0.0);
    let at = |ring: u32, k: u32| 1 + ring * ROCK_SIDES + k % ROCK_SIDES;
    let top = 1 + ROCK_RINGS * ROCK_SIDES;
    for k in 0..ROCK_SIDES {
        mesh.triangles.push([0, at(0, k + 1), at(0, k)]);
        for ring in 1..ROCK_RINGS {
            let (a, b) = (at(ring - 1, k), at(ring - 1, k + 1));
            let (c, d) = (at(ring, k + 1), at(ring, k));
            mesh.triangles.extend([[a, b, c], [a, c, d]]);
        }
        mesh.triangles.push([top, at(ROCK_RINGS - 1, k), at(ROCK_RINGS - 1, k + 1)]);
    }
    finished(mesh, material)
}

/// Positions and radii of the objects placed so far.
#[derive(Default)]
struct Room {
    taken: Vec<(DVec2, f64)>,
}

impl Room {
    /// Finds a position for an object of this radius, clear of all other objects if possible.
    fn find(&mut self, rng: &mut SplitMix64, radius_m: f64) -> DVec2 {
        let reach = HALF_SIZE_M - 1.0 - radius_m;
        let mut place = DVec2::ZERO;
        for _ in 0..TRIES {
            place = DVec2::new(uniform(rng, -reach, reach), uniform(rng, -reach, reach));
            let is_apart = self
                .taken
                .iter()
                .all(|(other, other_m)| other.distance(place) > other_m + radius_m + 1.5);
            if is_apart && is_clear(place, radius_m) {
                break;
            }
        }
        self.taken.push((place, radius_m));
        place
    }
}

/// Whether an object of this radius keeps clear of start, goals, origin, ditches, barrier, fence and puddle.
fn is_clear(place: DVec2, radius_m: f64) -> bool {
    let goals = GOALS_M.iter().chain([&START_M, &LAP_M]);
    let built = DITCHES_M.iter().chain([&BARRIER_M, &FENCE_M, &PUDDLE_M]);
    goals.into_iter().all(|goal| place.distance(DVec2::from(*goal)) > CLEAR_OF_GOALS_M + radius_m)
        && built.into_iter().all(|corners| outside_by(place, corners) > 1.0 + radius_m)
}

fn turned(angle: f64, scale: DVec3) -> DMat3 {
    let (sin, cos) = libm::sincos(angle);
    DMat3::from_cols(
        DVec3::new(cos, sin, 0.0) * scale.x,
        DVec3::new(-sin, cos, 0.0) * scale.y,
        DVec3::Z * scale.z,
    )
}

fn rock_places(
    parameters: &AndabataFieldParameters,
    ground: &HeightGrid,
    room: &mut Room,
) -> Vec<DAffine3> {
    (0..u64::from(parameters.rocks))
        .map(|index| {
            let mut rng = random::stream(parameters.seed, ROCK_PLACE, index);
            let radius = uniform(&mut rng, 0.4, 0.8);
            let scale = DVec3::new(radius, radius * uniform(&mut rng, 0.7, 1.0), radius * 0.9);
            let axes = turned(random::angle(&mut rng), scale);
            let place = room.find(&mut rng, radius);
            // A third of the rock's height is below the ground.
            let z = ground.height(place) + 0.35 * scale.z;
            DAffine3::from_mat3_translation(axes, place.extend(z))
        })
        .collect()
}

fn tree_places(
    parameters: &AndabataFieldParameters,
    ground: &HeightGrid,
    room: &mut Room,
) -> Vec<DAffine3> {
    (0..u64::from(parameters.trees))
        .map(|index| {
            let mut rng = random::stream(parameters.seed, TREE_PLACE, index);
            // The model is 8 m tall.
            let scale = uniform(&mut rng, 0.6, 0.9);
            let axes = turned(random::angle(&mut rng), DVec3::splat(scale));
            let place = room.find(&mut rng, 2.0 * tree::TRUNK_RADIUS_M * scale);
            DAffine3::from_mat3_translation(axes, place.extend(ground.height(place)))
        })
        .collect()
}

/// Poses of the clumps of grass, in patches. A shear fits the clumps to the slope while their blades stay upright.
/// Rocks and trees can be within a patch.
fn grass_places(seed: u64, clumps: u64, ground: &HeightGrid) -> Vec<DAffine3> {
    let mut room = Room::default();
    let patches: Vec<(DVec2, f64)> = (0..PATCHES)
        .map(|index| {
            let mut rng = random::stream(seed, PATCH_PLACE, index);
            let radius = uniform(&mut rng, 1.5, 3.0);
            (room.find(&mut rng, radius), radius)
        })
        .collect();
    (0..clumps)
        .map(|index| {
            let mut rng = random::stream(seed, BLADE_PLACE, index);
            let (middle, radius) = patches[(index % PATCHES) as usize];
            let out = radius * uniform(&mut rng, 0.0, 1.0).sqrt();
            let (sin, cos) = libm::sincos(random::angle(&mut rng));
            let place = middle + DVec2::new(cos, sin) * out;
            // Blades of the model are 0.25 to 0.5 m long.
            let scale = uniform(&mut rng, 1.4, 2.0);
            let slope = ground.slope(place);
            let flat = turned(random::angle(&mut rng), DVec3::splat(scale));
            let sheared = |axis: DVec3| axis + DVec3::Z * axis.truncate().dot(slope);
            let axes = DMat3::from_cols(sheared(flat.x_axis), sheared(flat.y_axis), flat.z_axis);
            DAffine3::from_mat3_translation(axes, place.extend(ground.height(place)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::ground::{GroundHeight, Terrain};

    fn small(seed: u64) -> AndabataFieldParameters {
        AndabataFieldParameters {
            seed,
            tree_triangles: 2000,
            grass_blades: 4000,
            ..Default::default()
        }
    }

    fn copies(scene: &Scene, name: &str) -> Vec<DAffine3> {
        let is = |mesh: u32| scene.meshes[mesh as usize].name == name;
        let copies = scene.instances.iter().filter(|instance| is(instance.mesh));
        copies.map(|instance| instance.world_from_mesh).collect()
    }

    #[test]
    fn everything_is_there_and_bounded() {
        let scene = build(&small(4));
        assert_eq!(copies(&scene, "rock").len(), 10);
        assert_eq!(copies(&scene, "tree").len(), 6);
        assert_eq!(copies(&scene, "grass clump").len(), 40);
        assert_eq!(copies(&scene, "barrier").len() + copies(&scene, "fence").len(), 2);
        assert!(copies(&scene, "puddle").is_empty());
        assert_eq!(scene.meshes[0].triangles.len(), 180_000);
        let [low, high] = scene.ground_extents();
        assert!((high - low).truncate().abs_diff_eq(DVec2::splat(60.0), 1e-4));
        let default = AndabataFieldParameters::default();
        let blades = default.grass_blades.div_ceil(100) * 800;
        let all = u64::from(default.trees) * u64::from(default.tree_triangles) + blades;
        assert!(all < 1_500_000, "{all}");
    }

    #[test]
    fn ditches_have_their_size() {
        let flat = AndabataFieldParameters { ground_relief_m: 0.0, ..small(4) };
        let terrain = Terrain::new(&build(&flat));
        let height = |x: f64, y: f64| terrain.height_m(x, y).unwrap();
        for [low, high] in DITCHES_M {
            let size = [high[0] - low[0], high[1] - low[1]];
            let (long, wide) = (size[0].max(size[1]), size[0].min(size[1]));
            assert!((long - 6.0).abs() < 1e-9 && (wide - 1.2).abs() < 1e-9);
            let middle = [0.5 * (low[0] + high[0]), 0.5 * (low[1] + high[1])];
            assert!((height(middle[0], middle[1]) + 0.8).abs() < 1e-4);
            for (x, y) in [(low[0] - 0.01, middle[1]), (middle[0], high[1] + 0.01)] {
                assert!(height(x, y).abs() < 1e-4, "{x} {y}");
            }
            assert!((height(low[0] + 0.21, middle[1]) + 0.8).abs() < 1e-4, "down within a cell");
        }
    }

    #[test]
    fn a_run_climbs_about_two_metres() {
        for seed in 0..4 {
            let terrain = Terrain::new(&build(&AndabataFieldParameters {
                trees: 0,
                grass_blades: 0,
                ..small(seed)
            }));
            let (mut climbed, mut descended, mut last) = (0.0, 0.0, None);
            let stops: Vec<DVec2> =
                [START_M].iter().chain(&GOALS_M).map(|p| DVec2::from(*p)).collect();
            for leg in stops.windows(2) {
                for k in 0..=400 {
                    let p = leg[0].lerp(leg[1], f64::from(k) / 400.0);
                    let in_ditch = DITCHES_M.iter().any(|ditch| outside_by(p, ditch) == 0.0);
                    let height = terrain.height_m(p.x, p.y).unwrap();
                    if in_ditch {
                        continue;
                    }
                    let rise: f64 = height - last.unwrap_or(height);
                    (climbed, descended) = (climbed + rise.max(0.0), descended - rise.min(0.0));
                    last = Some(height);
                }
            }
            let mean = 0.5 * (climbed + descended);
            assert!((1.0..4.0).contains(&mean), "seed {seed}: up {climbed} m, down {descended} m");
        }
    }

    #[test]
    fn start_goals_ditches_and_puddle_are_clear() {
        for seed in 0..6 {
            let scene =
                build(&AndabataFieldParameters { trees: 6, tree_triangles: 1000, ..small(seed) });
            for name in ["rock", "tree", "grass clump"] {
                for place in copies(&scene, name) {
                    let p = place.translation.truncate();
                    assert!(p.abs().max_element() < HALF_SIZE_M, "{name} at {p}");
                    for goal in GOALS_M.iter().chain([&START_M, &LAP_M]) {
                        assert!(p.distance(DVec2::from(*goal)) > 3.4, "seed {seed}: {name} at {p}");
                    }
                    for corners in DITCHES_M.iter().chain([&PUDDLE_M]) {
                        assert!(outside_by(p, corners) > 0.9, "seed {seed}: {name} at {p}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_puddle_lies_on_level_ground_and_is_water_or_not() {
        use crate::world::scene::Finish;
        for (puddle, finish) in [
            (PuddleChoice::Water, Finish::Water { bottom: None }),
            (PuddleChoice::Matt, Finish::Matt),
        ] {
            let scene = build(&AndabataFieldParameters { puddle, ..small(2) });
            let mesh = scene.meshes.iter().find(|mesh| mesh.name == "puddle").unwrap();
            assert_eq!(scene.materials[mesh.triangle_materials[0] as usize].finish, finish);
            let [low, high] = mesh.bounds();
            assert!((high - low).abs_diff_eq(DVec3::new(3.0, 2.0, 0.0), 1e-5));
            let terrain = Terrain::new(&scene);
            for (x, y) in [(low.x, low.y), (high.x, low.y), (low.x, high.y), (-11.0, -18.0)] {
                let above = low.z - terrain.height_m(x, y).unwrap();
                assert!((above - PUDDLE_Z_M).abs() < 1e-5, "{above}");
            }
        }
    }

    #[test]
    fn the_seed_fixes_everything() {
        let (first, again, other) = (build(&small(1)), build(&small(1)), build(&small(2)));
        for (a, b) in first.meshes.iter().zip(&again.meshes) {
            assert_eq!((&a.positions, &a.triangles), (&b.positions, &b.triangles));
        }
        assert_eq!(copies(&first, "rock"), copies(&again, "rock"));
        assert_ne!(copies(&first, "rock"), copies(&other, "rock"));
        assert_ne!(first.meshes[0].positions, other.meshes[0].positions);
    }
}
