//! Positions of trees and grass in the built-in scenes.

use glam::{DAffine3, DMat3, DVec2, DVec3};
use rand_xoshiro::SplitMix64;

use super::heights::HeightGrid;
use super::tree;
use crate::world::random::{self, uniform};
use crate::world::scene::{Instance, Mesh, Scene};

/// Radius of the middle line of the lane, a circle around the origin that is kept clear, metres.
pub const LANE_RADIUS_M: f64 = 20.0;
/// Least distance between the lane's middle line and a trunk, metres.
pub const LANE_TO_TRUNK_M: f64 = 3.0;
/// Least distance between the lane's middle line and any part of a blade of grass, metres.
pub const LANE_TO_GRASS_M: f64 = 1.0;

/// Least distance between the middles of trees, metres. After 20 failed attempts, a tree can stand closer to others.
const TREE_SPACING_M: f64 = 5.0;

// Each constant below identifies a random stream. The stream and the seed determine shapes and positions.
pub(super) const RELIEF: u64 = 1;
pub(super) const TREE_MODEL: u64 = 2;
pub(super) const GRASS_MODEL: u64 = 3;
const TREE_PLACE: u64 = 4;
const GRASS_PLACE: u64 = 5;

/// Adds a mesh, and an instance of it with each pose in `places`.
pub(super) fn add(scene: &mut Scene, mesh: Mesh, places: &[DAffine3]) {
    let index = scene.meshes.len() as u32;
    scene.meshes.push(mesh);
    let instances = places.iter().map(|&world_from_mesh| Instance { mesh: index, world_from_mesh });
    scene.instances.extend(instances);
}

/// Seed for the shape of the model `kind`.
pub(super) fn draw(seed: u64, kind: u64) -> u64 {
    rand::Rng::next_u64(&mut random::stream(seed, kind, 0))
}

/// Largest horizontal distance of a vertex from the mesh's z axis, metres.
pub(super) fn reach(mesh: &Mesh) -> f64 {
    let farthest = mesh.positions.iter().map(|&[x, y, _]| x * x + y * y).fold(0.0, f32::max);
    f64::from(farthest).sqrt()
}

/// Distance from the lane's middle line, metres.
pub(super) fn from_lane(p: DVec2) -> f64 {
    (p.length() - LANE_RADIUS_M).abs()
}

/// Area where plants grow: a square around the origin with a free lane.
pub(super) struct Site<'a> {
    pub seed: u64,
    pub half_size_m: f64,
    pub ground: &'a HeightGrid,
}

impl Site<'_> {
    /// A uniformly sampled position at least `reach` metres inside the square.
    fn place_inside(&self, rng: &mut SplitMix64, reach: f64) -> DVec2 {
        let half = self.half_size_m - reach;
        DVec2::new(uniform(rng, -half, half), uniform(rng, -half, half))
    }

    /// Random placement of a clump of grass, clear of the lane. The clump is sheared, not rotated, to fit the slope, so
    /// its blades stay upright. Before scaling, the blades extend up to `reach` metres from the clump's middle.
    pub fn clump_place(&self, index: u64, reach: f64) -> DAffine3 {
        let mut rng = random::stream(self.seed, GRASS_PLACE, index);
        let scale = uniform(&mut rng, 0.8, 1.2);
        let (sin, cos) = libm::sincos(random::angle(&mut rng));
        let place = loop {
            let place = self.place_inside(&mut rng, reach * scale);
            if from_lane(place) >= LANE_TO_GRASS_M + reach * scale {
                break place;
            }
        };
        let z = self.ground.height(place);
        let slope = self.ground.slope(place);
        let on_slope = |v: DVec2| v.extend(v.dot(slope));
        let axes = DMat3::from_cols(
            on_slope(DVec2::new(cos, sin) * scale),
            on_slope(DVec2::new(-sin, cos) * scale),
            DVec3::Z * scale,
        );
        DAffine3::from_mat3_translation(axes, place.extend(z))
    }

    /// Random poses of the trees on the ground, clear of the lane, and 5 m apart if possible. Their crowns are inside
    /// the square; before scaling, a crown extends up to `reach` metres from the trunk.
    pub fn tree_places(&self, trees: u32, reach: f64) -> Vec<DAffine3> {
        let mut taken: Vec<DVec2> = Vec::new();
        let mut places = Vec::new();
        for index in 0..u64::from(trees) {
            let mut rng = random::stream(self.seed, TREE_PLACE, index);
            // The model is 8 m tall, so the trees are 6 to 10 m tall.
            let scale = uniform(&mut rng, 0.75, 1.25);
            let (sin, cos) = libm::sincos(random::angle(&mut rng));
            let clear = LANE_TO_TRUNK_M + 2.0 * tree::TRUNK_RADIUS_M * scale;
            let mut tries = 0;
            let place = loop {
                let place = self.place_inside(&mut rng, reach * scale);
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
            let root = place.extend(self.ground.height(place));
            places.push(DAffine3::from_mat3_translation(axes, root));
        }
        places
    }
}
