//! The built-in `root-step`: a forest floor with roots and a step, as large as the second scene of Goodin et al. 2018 (604
//! million triangles, 24,564 instances, one mesh of 22 million triangles).
//!
//! ```text
//! ±100 m      the forest
//! 20 m        radius of the lane, as in the courtyard; roots cross it, trunks do not
//! y axis      a bank, 0.35 m high, that runs from south to north and crosses the lane twice
//! ```
//!
//! The floor is one height field, by default of 6 cm cells: low hills, the bank, roots of the trees, and litter, which is
//! noise of ±1 cm. The robot drives on an invisible copy of hills and bank with cells of half a metre, because finer detail
//! has no effect on wheels and a finer copy would double the memory.

use std::f64::consts::TAU;

use glam::{DAffine3, DVec2};

use super::heights::{HeightGrid, corner};
use super::planting::{GRASS_MODEL, RELIEF, Site, TREE_MODEL, add, draw, reach};
use super::{grass, tree};
use crate::config::rig::RootStepParameters;
use crate::world::materials;
use crate::world::random::{self, uniform};
use crate::world::scene::{Instance, MaterialId, Scene};

/// Distance of the forest's edges from the origin, metres.
pub const HALF_SIZE_M: f64 = 100.0;
/// Horizontal length of the bank's slope, metres.
const BANK_WIDTH_M: f64 = 0.3;
/// Cells along each side of the surface that the robot drives on.
const DRIVEN_CELLS: u32 = 400;
/// Number of waves that form the hills.
const WAVES: u32 = 12;
/// Number of roots of each tree.
const ROOTS: u64 = 7;
/// Amplitude of the noise that represents the litter, metres.
const LITTER_M: f64 = 0.01;

// Each constant below identifies a random stream. The numbers 1 to 5 belong to `planting`.
const BANK: u64 = 6;
const ROOT: u64 = 7;
const LITTER: u64 = 8;

/// Builds the forest.
pub fn build(parameters: &RootStepParameters) -> Scene {
    let seed = parameters.seed;
    let mut scene = Scene::default();
    let [soil, fern, bark, leaf] = ["soil", "grass", "bark", "leaf"].map(|name| {
        scene.materials.push(materials::by_name(name));
        (scene.materials.len() - 1) as MaterialId
    });
    let driven = floor(parameters, DRIVEN_CELLS);
    let site = Site { seed, half_size_m: HALF_SIZE_M, ground: &driven };

    let tree_model = (parameters.trees > 0)
        .then(|| tree::tree(draw(seed, TREE_MODEL), parameters.tree_triangles, bark, leaf));
    let trees = match &tree_model {
        Some(model) => site.tree_places(parameters.trees, reach(model)),
        None => Vec::new(),
    };
    let mut seen = floor(parameters, cells(parameters.ground_triangles));
    grow_roots(seed, &trees, &mut seen);
    scatter_litter(seed, &mut seen);
    add(&mut scene, seen.mesh(soil), &[DAffine3::IDENTITY]);
    drop(seen);

    if let Some(model) = tree_model {
        add(&mut scene, model, &trees);
    }
    if parameters.plants > 0 {
        let plant = grass::clump(draw(seed, GRASS_MODEL), fern);
        let reach = reach(&plant);
        let places: Vec<DAffine3> =
            (0..u64::from(parameters.plants)).map(|index| site.clump_place(index, reach)).collect();
        add(&mut scene, plant, &places);
    }
    scene.meshes.push(driven.mesh(soil));
    let mesh = (scene.meshes.len() - 1) as u32;
    scene.ground = vec![Instance { mesh, world_from_mesh: DAffine3::IDENTITY }];
    scene
}

/// Largest number of cells along each side of a floor with at most `triangles` triangles.
fn cells(triangles: u32) -> u32 {
    let mut side = (f64::from(triangles) / 2.0).sqrt() as u32 + 1;
    while u64::from(side) * u64::from(side) * 2 > u64::from(triangles) {
        side -= 1;
    }
    side
}

/// Makes the floor: hills and the bank.
fn floor(parameters: &RootStepParameters, cells: u32) -> HeightGrid {
    let cell_m = 2.0 * HALF_SIZE_M / f64::from(cells);
    let mut rng = random::stream(parameters.seed, RELIEF, 0);
    let waves: Vec<(DVec2, f64, f64)> = (0..WAVES)
        .map(|wave| {
            // Wavelengths decrease from 100 m to 8 m. Short waves are lower, so that no slope is steep.
            let length = 100.0 * libm::pow(0.08, f64::from(wave) / f64::from(WAVES - 1));
            let (sin, cos) = libm::sincos(random::angle(&mut rng));
            let number = DVec2::new(cos, sin) * (TAU / length);
            (number, random::angle(&mut rng), libm::pow(length / 100.0, 1.3))
        })
        .collect();
    let weights: f64 = waves.iter().map(|wave| wave.2).sum();
    let mut rng = random::stream(parameters.seed, BANK, 0);
    let bends = [(40.0, 1.5), (17.0, 0.6), (5.0, 0.15)]
        .map(|(length, swing)| (TAU / length, random::angle(&mut rng), swing));
    // By the addition theorem, sines and cosines of rows and columns are sufficient for all corners. The phase is part
    // of the columns' angle.
    let columns: Vec<Vec<(f64, f64)>> = (0..=cells)
        .map(|column| {
            let x = corner(cells, cell_m, column, 0).x;
            waves.iter().map(|wave| libm::sincos(wave.0.x * x + wave.1)).collect()
        })
        .collect();
    let mut heights = Vec::with_capacity((cells as usize + 1) * (cells as usize + 1));
    for row in 0..=cells {
        let y = corner(cells, cell_m, 0, row).y;
        let of_row: Vec<(f64, f64)> = waves.iter().map(|wave| libm::sincos(wave.0.y * y)).collect();
        let edge: f64 =
            bends.iter().map(|&(number, phase, swing)| swing * libm::sin(number * y + phase)).sum();
        for column in 0..=cells {
            let of_column = &columns[column as usize];
            let mut hills = 0.0;
            for (k, wave) in waves.iter().enumerate() {
                let ((sin_x, cos_x), (sin_y, cos_y)) = (of_column[k], of_row[k]);
                hills += wave.2 * (sin_x * cos_y + cos_x * sin_y);
            }
            let past = (corner(cells, cell_m, column, 0).x - edge) / BANK_WIDTH_M;
            let up = (0.5 + past).clamp(0.0, 1.0);
            let bank = parameters.step_height_m * (up * up * (3.0 - 2.0 * up) - 0.5);
            heights.push((hills / weights * parameters.ground_relief_m + bank) as f32);
        }
    }
    HeightGrid { cells, cell_m, heights }
}

/// Raises the floor along the roots.
fn grow_roots(seed: u64, trees: &[DAffine3], floor: &mut HeightGrid) {
    let side = floor.cells as usize + 1;
    let half = f64::from(floor.cells) / 2.0;
    let mut raised = vec![0.0f32; floor.heights.len()];
    for (index, tree) in (0..).zip(trees) {
        for root in 0..ROOTS {
            let mut rng = random::stream(seed, ROOT, index * ROOTS + root);
            let mut heading = (root as f64 + uniform(&mut rng, -0.3, 0.3)) / ROOTS as f64 * TAU;
            let length = uniform(&mut rng, 1.5, 6.0);
            let thick = uniform(&mut rng, 0.04, 0.11);
            let mut turn = 0.0;
            let mut at = tree.translation.truncate();
            let mut along = 0.0;
            while along < length {
                // A root gets thinner towards its end, and finally runs below the ground.
                let radius = thick * (1.0 - along / length);
                stamp(&mut raised, side, at / floor.cell_m + half, radius, floor.cell_m);
                turn = 0.9 * turn + uniform(&mut rng, -0.04, 0.04);
                heading += turn;
                let (sin, cos) = libm::sincos(heading);
                at += DVec2::new(cos, sin) * 0.03;
                along += 0.03;
            }
        }
    }
    for (height, raised) in floor.heights.iter_mut().zip(raised) {
        *height += raised;
    }
}

/// Raises the corners around `at` (in cells) to the shape of a half-buried ball of `radius` metres.
fn stamp(raised: &mut [f32], side: usize, at: DVec2, radius: f64, cell_m: f64) {
    let reach = radius / cell_m;
    let range = |c: f64| {
        let last = side as f64 - 1.0;
        (c - reach).ceil().clamp(0.0, last) as usize..=(c + reach).floor().clamp(0.0, last) as usize
    };
    for row in range(at.y) {
        for column in range(at.x) {
            let off = DVec2::new(column as f64, row as f64).distance(at) * cell_m;
            let inside = radius * radius - off * off;
            if inside > 0.0 {
                let corner = &mut raised[row * side + column];
                *corner = corner.max(inside.sqrt() as f32);
            }
        }
    }
}

/// Adds leaves and twigs as noise.
fn scatter_litter(seed: u64, floor: &mut HeightGrid) {
    let side = floor.cells as usize + 1;
    for (row, heights) in (0..).zip(floor.heights.chunks_mut(side)) {
        let mut rng = random::stream(seed, LITTER, row);
        for height in heights {
            *height += uniform(&mut rng, -LITTER_M, LITTER_M) as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::ground::{GroundHeight, Terrain};

    fn small() -> RootStepParameters {
        RootStepParameters {
            seed: 3,
            ground_triangles: 400_000,
            trees: 30,
            tree_triangles: 2000,
            plants: 500,
            ..RootStepParameters::default()
        }
    }

    #[test]
    fn counts_are_those_asked_for() {
        let scene = build(&small());
        let ground = scene.meshes[0].triangles.len() as u64;
        assert!((399_000..=400_000).contains(&ground), "{ground}");
        assert_eq!(scene.instances.len(), 1 + 30 + 500);
        assert_eq!(scene.instanced_triangles(), ground + 30 * 2000 + 500 * 800);
        let bare = build(&RootStepParameters { trees: 0, plants: 0, ..small() });
        assert_eq!((bare.instances.len(), bare.ground.len()), (1, 1));
    }

    /// Checks the default parameters only: the default scene would take gigabytes.
    #[test]
    fn the_default_is_as_large_as_the_papers() {
        let paper = RootStepParameters::default();
        let side = u64::from(cells(paper.ground_triangles));
        let ground = 2 * side * side;
        assert_eq!(ground / 1_000_000, 21);
        assert!(ground > 21_990_000);
        assert_eq!(1 + paper.trees + paper.plants, 24_564);
        let all = ground
            + u64::from(paper.trees) * u64::from(paper.tree_triangles)
            + u64::from(paper.plants) * 800;
        assert!((603_500_000..=604_500_000).contains(&all), "{all}");
    }

    #[test]
    fn the_bank_is_a_step_and_what_is_driven_on_is_what_is_seen() {
        let scene = build(&small());
        let driven = Terrain::new(&scene);
        for y in [-60.0, -20.0, 20.0, 55.0] {
            // Near x = 0 the floor rises by the bank's height within about half a metre.
            let rise = (-40..40)
                .map(|k| f64::from(k) * 0.1)
                .map(|x| driven.height_m(x + 0.8, y).unwrap() - driven.height_m(x, y).unwrap())
                .fold(0.0, f64::max);
            assert!((0.2..0.6).contains(&rise), "{rise} at y = {y}");
        }
        let seen = &scene.meshes[0];
        let mut worst: f64 = 0.0;
        let mut highest: f64 = 0.0;
        for &[x, y, z] in &seen.positions {
            let height = driven.height_m(f64::from(x), f64::from(y)).unwrap_or(f64::NAN);
            worst = worst.max(height - f64::from(z));
            highest = highest.max(f64::from(z) - height);
        }
        // The tolerance covers litter and the bank's curve within a cell. Roots are higher.
        assert!(worst < 0.2, "{worst}");
        assert!((0.05..0.4).contains(&highest), "{highest}");
    }

    #[test]
    fn roots_cross_the_floor_and_the_seed_fixes_them() {
        let with = build(&small());
        let without = build(&RootStepParameters { trees: 0, ..small() });
        let raised = with.meshes[0]
            .positions
            .iter()
            .zip(&without.meshes[0].positions)
            .filter(|(a, b)| a[2] > b[2] + 0.01)
            .count();
        assert!(raised > 100, "{raised}");
        assert_eq!(with.meshes[0].positions, build(&small()).meshes[0].positions);
        let other = build(&RootStepParameters { seed: 4, ..small() });
        assert_ne!(with.meshes[0].positions, other.meshes[0].positions);
    }
}
