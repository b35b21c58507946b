//! The built-in `courtyard`: the walled, vegetated test scene of Goodin et al. 2018.
//!
//! ```text
//! ±150 m      inner faces of the walls, 1 m thick, 10 m high
//! ±151 m      edge of the ground: 302 x 302 cells of 1 m
//! 20 m        radius of the lane: no trunk within 3 m of it, no grass within 1 m
//! ```
//!
//! One tree and one clump of grass are instanced with random yaw, scale and place. The ground's
//! relief fades out before the walls, which stand on z = 0.

use std::f64::consts::{PI, TAU};

use glam::{DAffine3, DMat3, DVec2, DVec3};
use rand_xoshiro::SplitMix64;

use super::{grass, tree};
use crate::config::rig::CourtyardParameters;
use crate::world::materials;
use crate::world::random::{self, uniform};
use crate::world::scene::{Instance, MaterialId, Mesh, Scene};

/// The inner faces of the walls lie this far from the middle, metres.
pub const HALF_SIZE_M: f64 = 150.0;
/// Height of the walls, metres.
pub const WALL_HEIGHT_M: f64 = 10.0;
/// Radius of the lane that is kept clear about the origin, metres.
pub const LANE_RADIUS_M: f64 = 20.0;
/// No trunk stands nearer to the lane than this, metres.
pub const LANE_TO_TRUNK_M: f64 = 3.0;
/// No blade of grass roots or leans nearer to the lane than this, metres.
pub const LANE_TO_GRASS_M: f64 = 1.0;

/// Ground cells along each side, 1 m each.
const CELLS: u32 = 302;
/// Half the ground's width, metres.
const HALF_GROUND_M: f64 = CELLS as f64 / 2.0;
/// Thickness of the walls, metres.
const WALL_THICKNESS_M: f64 = 1.0;
/// The relief fades to nothing over this distance before the walls, metres.
const FADE_M: f64 = 20.0;
/// Trees keep this distance from each other where there is room, metres.
const TREE_SPACING_M: f64 = 5.0;

// What a random stream is for.
const RELIEF: u64 = 1;
const TREE_MODEL: u64 = 2;
const GRASS_MODEL: u64 = 3;
const TREE_PLACE: u64 = 4;
const GRASS_PLACE: u64 = 5;

/// Builds the courtyard.
pub fn build(parameters: &CourtyardParameters) -> Scene {
    let seed = parameters.seed;
    let mut scene = Scene::default();
    let [soil, grass_blade, bark, leaf, concrete] = ["soil", "grass", "bark", "leaf", "concrete"]
        .map(|name| {
            scene.materials.push(materials::by_name(name));
            (scene.materials.len() - 1) as MaterialId
        });

    let relief = Relief::new(seed, parameters.ground_relief_m);
    add(&mut scene, relief.mesh(soil), &[DAffine3::IDENTITY]);
    scene.ground = scene.instances.clone();
    add(&mut scene, walls(concrete), &[DAffine3::IDENTITY]);

    let clumps = parameters.grass_blades.div_ceil(u64::from(grass::BLADES));
    if clumps > 0 {
        let clump = grass::clump(draw(seed, GRASS_MODEL), grass_blade);
        let reach = reach(&clump);
        let places: Vec<DAffine3> =
            (0..clumps).map(|index| clump_place(seed, index, reach, &relief)).collect();
        add(&mut scene, clump, &places);
    }
    if parameters.trees > 0 {
        let model = tree::tree(draw(seed, TREE_MODEL), parameters.tree_triangles, bark, leaf);
        let places = tree_places(seed, parameters.trees, reach(&model), &relief);
        add(&mut scene, model, &places);
    }
    scene
}

/// Adds a mesh and its copies.
fn add(scene: &mut Scene, mesh: Mesh, places: &[DAffine3]) {
    let index = scene.meshes.len() as u32;
    scene.meshes.push(mesh);
    let instances = places.iter().map(|&world_from_mesh| Instance { mesh: index, world_from_mesh });
    scene.instances.extend(instances);
}

/// The seed of a model.
fn draw(seed: u64, kind: u64) -> u64 {
    rand::Rng::next_u64(&mut random::stream(seed, kind, 0))
}

/// How far a mesh reaches from its upright axis, metres.
fn reach(mesh: &Mesh) -> f64 {
    let farthest = mesh.positions.iter().map(|&[x, y, _]| x * x + y * y).fold(0.0, f32::max);
    f64::from(farthest).sqrt()
}

/// Distance from the lane's middle line, metres.
fn from_lane(p: DVec2) -> f64 {
    (p.length() - LANE_RADIUS_M).abs()
}

/// A uniform place whose surroundings of `reach` metres lie inside the walls.
fn place_inside(rng: &mut SplitMix64, reach: f64) -> DVec2 {
    let half = HALF_SIZE_M - reach;
    DVec2::new(uniform(rng, -half, half), uniform(rng, -half, half))
}

/// Where a clump stands. It is sheared so that its blades follow the slope and stay upright.
fn clump_place(seed: u64, index: u64, reach: f64, relief: &Relief) -> DAffine3 {
    let mut rng = random::stream(seed, GRASS_PLACE, index);
    let scale = uniform(&mut rng, 0.8, 1.2);
    let (sin, cos) = libm::sincos(random::angle(&mut rng));
    let place = loop {
        let place = place_inside(&mut rng, reach * scale);
        if from_lane(place) >= LANE_TO_GRASS_M + reach * scale {
            break place;
        }
    };
    let z = relief.height(place);
    let slope = relief.slope(place);
    let on_slope = |v: DVec2| v.extend(v.dot(slope));
    let axes = DMat3::from_cols(
        on_slope(DVec2::new(cos, sin) * scale),
        on_slope(DVec2::new(-sin, cos) * scale),
        DVec3::Z * scale,
    );
    DAffine3::from_mat3_translation(axes, place.extend(z))
}

/// Where the trees stand: on the ground, clear of lane and walls, apart from each other where there
/// is room.
fn tree_places(seed: u64, trees: u32, reach: f64, relief: &Relief) -> Vec<DAffine3> {
    let mut taken: Vec<DVec2> = Vec::new();
    let mut places = Vec::new();
    for index in 0..u64::from(trees) {
        let mut rng = random::stream(seed, TREE_PLACE, index);
        // The model is 8 m tall.
        let scale = uniform(&mut rng, 0.75, 1.25);
        let (sin, cos) = libm::sincos(random::angle(&mut rng));
        let clear = LANE_TO_TRUNK_M + 2.0 * tree::TRUNK_RADIUS_M * scale;
        let mut tries = 0;
        let place = loop {
            let place = place_inside(&mut rng, reach * scale);
            tries += 1;
            let crowded = taken.iter().any(|other| other.distance(place) < TREE_SPACING_M);
            if from_lane(place) >= clear && (!crowded || tries > 20) {
                break place;
            }
        };
        taken.push(place);
        let axes = DMat3::from_cols(
            DVec3::new(cos, sin, 0.0) * scale,
            DVec3::new(-sin, cos, 0.0) * scale,
            DVec3::Z * scale,
        );
        let root = place.extend(relief.height(place));
        places.push(DAffine3::from_mat3_translation(axes, root));
    }
    places
}

/// Four walls that stand on z = 0, and half a metre below it.
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

/// The uneven ground: heights at the corners of 1 m cells, plane triangles between.
struct Relief {
    /// Row by row from the south-west, `CELLS + 1` a row.
    heights: Vec<f32>,
}

impl Relief {
    /// A sum of waves whose highest swell or deepest hollow is `amplitude_m`.
    fn new(seed: u64, amplitude_m: f64) -> Self {
        let mut rng = random::stream(seed, RELIEF, 0);
        let waves: Vec<(DVec2, f64, f64)> = (0..16)
            .map(|wave| {
                // From 120 m down to 15 m; short waves are lower, so that no slope is steep.
                let length = 120.0 * libm::pow(0.125, f64::from(wave) / 15.0);
                let (sin, cos) = libm::sincos(random::angle(&mut rng));
                let number = DVec2::new(cos, sin) * (TAU / length);
                (number, random::angle(&mut rng), libm::pow(length / 120.0, 1.3))
            })
            .collect();
        let side = CELLS + 1;
        let raw: Vec<f64> = (0..side * side)
            .map(|index| {
                let p = corner(index % side, index / side);
                let sum: f64 = waves
                    .iter()
                    .map(|&(number, phase, weight)| weight * libm::sin(number.dot(p) + phase))
                    .sum();
                sum * fade(p.x) * fade(p.y)
            })
            .collect();
        let peak = raw.iter().fold(0.0, |peak: f64, z| peak.max(z.abs()));
        let heights = raw.iter().map(|z| (z / peak * amplitude_m) as f32).collect();
        Self { heights }
    }

    fn mesh(&self, material: MaterialId) -> Mesh {
        let side = CELLS + 1;
        let positions = (0..side * side)
            .map(|index| {
                let p = corner(index % side, index / side);
                [p.x as f32, p.y as f32, self.heights[index as usize]]
            })
            .collect();
        let cells = (0..CELLS * CELLS).map(|cell| cell / CELLS * side + cell % CELLS);
        let triangles: Vec<[u32; 3]> =
            cells.flat_map(|a| [[a, a + 1, a + side + 1], [a, a + side + 1, a + side]]).collect();
        Mesh {
            name: "ground".into(),
            positions,
            uvs: Vec::new(),
            triangle_materials: vec![material; triangles.len()],
            triangles,
        }
    }

    /// Height of the mesh at `p`, metres.
    fn height(&self, p: DVec2) -> f64 {
        let (cell, s, t) = self.cell(p);
        let [a, b, c, d] = cell;
        // The diagonal runs from the south-west corner `a` to the north-east corner `c`.
        if s >= t { a + (b - a) * s + (c - b) * t } else { a + (c - d) * s + (d - a) * t }
    }

    /// Rise towards east and north at `p`, from the cell's corners.
    fn slope(&self, p: DVec2) -> DVec2 {
        let ([a, b, c, d], _, _) = self.cell(p);
        DVec2::new(b - a + c - d, d - a + c - b) / 2.0
    }

    /// The heights of the corners of `p`'s cell, counter-clockwise from south-west, and the place
    /// of `p` in it.
    fn cell(&self, p: DVec2) -> ([f64; 4], f64, f64) {
        let limit = f64::from(CELLS);
        let (x, y) =
            ((p.x + HALF_GROUND_M).clamp(0.0, limit), (p.y + HALF_GROUND_M).clamp(0.0, limit));
        let (column, row) = ((x as u32).min(CELLS - 1), (y as u32).min(CELLS - 1));
        let height =
            |column: u32, row: u32| f64::from(self.heights[(row * (CELLS + 1) + column) as usize]);
        let corners = [
            height(column, row),
            height(column + 1, row),
            height(column + 1, row + 1),
            height(column, row + 1),
        ];
        (corners, x - f64::from(column), y - f64::from(row))
    }
}

/// A corner of the ground's cells.
fn corner(column: u32, row: u32) -> DVec2 {
    DVec2::new(f64::from(column) - HALF_GROUND_M, f64::from(row) - HALF_GROUND_M)
}

/// 1 in the middle, falling smoothly to 0 at the walls.
fn fade(coordinate: f64) -> f64 {
    let to_wall = ((HALF_SIZE_M - coordinate.abs()) / FADE_M).clamp(0.0, 1.0);
    0.5 - 0.5 * libm::cos(PI * to_wall)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> CourtyardParameters {
        CourtyardParameters {
            seed: 7,
            grass_blades: 20_050,
            trees: 60,
            tree_triangles: 2000,
            ground_relief_m: 1.5,
        }
    }

    /// The copies of the mesh called `name`.
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
        let relief = Relief::new(5, 2.0);
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
        let relief = Relief::new(7, 1.5);
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
        let relief = Relief::new(7, 10.0);
        let place = clump_place(7, 3, 0.5, &relief);
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
        // More of one thing moves nothing else.
        let more = build(&CourtyardParameters { grass_blades: 30_000, ..small() });
        let trees = |scene: &Scene| -> Vec<DAffine3> {
            copies(scene, "tree").iter().map(|i| i.world_from_mesh).collect()
        };
        assert_eq!(trees(&first), trees(&more));
    }
}
