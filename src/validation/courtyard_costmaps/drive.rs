//! Result of a drive with one lidar, and numbers computed from it.

use std::collections::BTreeMap;

use glam::DVec2;

use super::map::{Map, length_m};
use super::{GOAL_M, HEIGHT_M, RING_BIN_M, RINGS_TO_M, START_M};
use crate::world::builtin::courtyard::HALF_SIZE_M;
use crate::world::scene::Scene;

/// A cell counts as part of a tree or wall if it is at most this far outside the crown or wall, metres: half a cell
/// plus the pose error at 60 m.
const NEAR_M: f64 = 1.5;
/// Smallest number of points on a tree from which the spread of the ranges is computed.
const FEWEST_POINTS: u64 = 30;

/// A tree: position of the foot of its trunk, and radius of its crown, metres.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tree {
    pub foot_m: DVec2,
    pub reach_m: f64,
}

/// Statistics of the ranges to a tree minus the distance of the trunk's axis: number, sum (metres) and sum of squares
/// (m²).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spread {
    pub count: u64,
    pub sum: f64,
    pub squares: f64,
}

impl Spread {
    pub fn add(&mut self, value: f64) {
        self.count += 1;
        self.sum += value;
        self.squares += value * value;
    }

    pub fn std(&self) -> f64 {
        let mean = self.sum / self.count as f64;
        (self.squares / self.count as f64 - mean * mean).max(0.0).sqrt()
    }
}

/// Result of a drive with one lidar.
pub(super) struct Drive {
    pub name: &'static str,
    pub map: Map,
    /// Path from start to goal on the final map, metres.
    pub way: Vec<DVec2>,
    /// True positions of the vehicle at each step of its computer, metres.
    pub truth_m: Vec<DVec2>,
    /// Root mean square distance of the estimated from the true position, metres.
    pub pose_error_m: f64,
    pub contacts: usize,
    pub trees: Vec<Tree>,
    /// Spread of the ranges to each tree, by index in `trees`.
    pub spreads: BTreeMap<usize, Spread>,
    /// Number of returns from the ground, by horizontal distance from the sensor, in bins of [`RING_BIN_M`].
    pub rings: Vec<u32>,
    pub points: u64,
}

impl Drive {
    pub fn end_m(&self) -> DVec2 {
        self.truth_m.last().copied().unwrap_or(START_M)
    }

    pub fn driven_m(&self) -> f64 {
        length_m(&self.truth_m)
    }

    /// Number of cells with a cost whose height is within `heights_m` and whose distance from the vehicle's last
    /// position is within `distances_m`, metres.
    pub fn cells(&self, heights_m: [f64; 2], distances_m: [f64; 2]) -> usize {
        let within = |value: f64, [low, high]: [f64; 2]| value > low && value < high;
        let is = |cell: &usize| {
            let distance = self.map.middle_of(*cell).distance(self.end_m());
            self.map.height_m(*cell).is_some_and(|height| within(height, heights_m))
                && within(distance, distances_m)
        };
        self.map.costly().filter(is).count()
    }

    /// Number of cells with a cost that belong to no tree and no wall.
    pub fn stray_cells(&self) -> usize {
        let is_stray = |cell: &usize| {
            let place = self.map.middle_of(*cell);
            let at_wall = place.abs().max_element() > HALF_SIZE_M - NEAR_M;
            let at_tree = |tree: &Tree| place.distance(tree.foot_m) < tree.reach_m + NEAR_M;
            !at_wall && !self.trees.iter().any(at_tree)
        };
        self.map.costly().filter(is_stray).count()
    }

    /// Median over the trees of the standard deviation of their ranges, metres, and the number of these trees. Trees
    /// with fewer than [`FEWEST_POINTS`] points are ignored.
    pub fn tree_spread_m(&self) -> (f64, usize) {
        let known = self.spreads.values().filter(|spread| spread.count >= FEWEST_POINTS);
        let mut all: Vec<f64> = known.map(Spread::std).collect();
        all.sort_by(f64::total_cmp);
        (all.get(all.len() / 2).copied().unwrap_or(f64::NAN), all.len())
    }

    /// Length of the path divided by the straight distance from start to goal.
    pub fn detour(&self) -> f64 {
        length_m(&self.way) / START_M.distance(GOAL_M)
    }

    /// Searches for the rings of the VLP-16, whose lasers below the horizon hit level ground at known radii. Returns
    /// the number of known radii below [`RINGS_TO_M`] at which the number of returns has a peak, and the number of all
    /// known radii below this limit.
    pub fn ring_peaks(&self) -> (usize, usize) {
        let lasers_deg = [15.0, 13.0, 11.0, 9.0, 7.0];
        let bin = |radius_m: f64| (radius_m / RING_BIN_M).round() as usize;
        let radii: Vec<f64> = lasers_deg
            .iter()
            .map(|deg: &f64| HEIGHT_M / libm::tan(deg.to_radians()))
            .filter(|radius| *radius < RINGS_TO_M)
            .collect();
        let around = |middle: usize| {
            let low = middle.saturating_sub(3);
            self.rings
                .get(low..=middle + 3)
                .map_or(0, |bins| bins.iter().copied().max().unwrap_or(0))
        };
        let mut peaks = 0;
        for (place, radius) in radii.iter().enumerate() {
            // Distances halfway to the neighbouring rings, where a peak is compared with the number of returns.
            let inner = place.checked_sub(1).map_or(radius - 1.0, |before| radii[before]);
            let outer = radii.get(place + 1).copied().unwrap_or(radius + 2.5);
            let between = [0.5 * (inner + radius), 0.5 * (radius + outer)];
            let floor = between.map(|radius| self.rings.get(bin(radius)).copied().unwrap_or(0));
            let peak = around(bin(*radius));
            peaks += usize::from(peak >= 20 && peak >= 3 * floor[0].max(floor[1]));
        }
        (peaks, radii.len())
    }
}

/// Trees of a scene.
pub(super) fn trees_of(scene: &Scene) -> Vec<Tree> {
    let reach = |mesh: u32| {
        let positions = scene.meshes[mesh as usize].positions.iter();
        f64::from(positions.map(|&[x, y, _]| x * x + y * y).fold(0.0, f32::max)).sqrt()
    };
    let trees = scene.instances.iter().filter(|i| scene.meshes[i.mesh as usize].name == "tree");
    let model = trees.clone().next().map_or(0.0, |tree| reach(tree.mesh));
    trees
        .map(|tree| Tree {
            foot_m: tree.world_from_mesh.translation.truncate(),
            reach_m: model * tree.world_from_mesh.matrix3.x_axis.length(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validation::courtyard_costmaps::CORNER_M;
    use crate::validation::courtyard_costmaps::judge::{grass_cells, high_cells};

    fn drive() -> Drive {
        Drive {
            name: "test",
            map: Map::new(CORNER_M),
            way: vec![START_M, GOAL_M],
            truth_m: vec![START_M],
            pose_error_m: 0.0,
            contacts: 0,
            trees: vec![Tree { foot_m: START_M + 20.0, reach_m: 3.0 }],
            spreads: BTreeMap::new(),
            rings: vec![0; 400],
            points: 0,
        }
    }

    #[test]
    fn cells_of_trees_and_walls_are_not_stray() {
        let mut drive = drive();
        drive.map.add(START_M + 21.0, 2.0);
        drive.map.add(DVec2::new(-149.9, -100.0), 2.0);
        assert_eq!(drive.stray_cells(), 0);
        drive.map.add(START_M + 5.0, 0.5);
        assert_eq!((drive.stray_cells(), grass_cells(&drive), high_cells(&drive)), (1, 1, 0));
    }

    #[test]
    fn rings_are_found_where_lasers_meet_the_ground_and_nowhere_else() {
        let mut drive = drive();
        drive.rings = vec![10; 400];
        assert_eq!(drive.ring_peaks(), (0, 5));
        for radius in [7.46, 8.66, 10.29, 12.63, 16.29] {
            drive.rings[(radius / RING_BIN_M).round() as usize] = 400;
        }
        assert_eq!(drive.ring_peaks(), (5, 5));
        drive.rings = vec![400; 400];
        assert_eq!(drive.ring_peaks(), (0, 5));
    }

    #[test]
    fn the_spread_is_the_standard_deviation_of_the_median_tree() {
        let mut drive = drive();
        for (tree, size) in [(0, 1.0), (1, 2.0), (2, 3.0)] {
            let spread = drive.spreads.entry(tree).or_default();
            (0..20).for_each(|_| [-size, size].into_iter().for_each(|value| spread.add(value)));
        }
        drive.spreads.entry(3).or_default().add(9.0);
        let (spread_m, trees) = drive.tree_spread_m();
        assert!((spread_m - 2.0).abs() < 1e-12 && trees == 3);
        assert!((drive.detour() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn trees_are_those_of_the_scene() {
        use crate::config::rig::CourtyardParameters;
        let parameters = CourtyardParameters {
            trees: 7,
            tree_triangles: 1000,
            grass_blades: 0,
            ..Default::default()
        };
        let trees = trees_of(&crate::world::builtin::courtyard::build(&parameters));
        assert_eq!(trees.len(), 7);
        assert!(trees.iter().all(|tree| (1.0..6.0).contains(&tree.reach_m)), "{trees:?}");
    }
}
