//! A cost map from lidar returns, which also uses the rays of the returns.
//!
//! The vehicle of Durst et al. 2011 computed its map with software that is not public. This map has the properties that
//! the paper states: slopes and obstacles have a cost, and hidden ground is assumed at an additional cost.

use glam::{DVec2, DVec3};

/// Size of a cell, metres.
pub const CELL_M: f64 = 0.25;
/// South-western corner of the map in World, metres.
pub const CORNER_M: DVec2 = DVec2::new(-12.0, -12.0);
/// Number of cells along each side of the map.
pub const CELLS: usize = 96;
/// Height below which points are ground, metres.
const GROUND_M: f64 = 0.1;
/// Half-width, in cells, of a square around each cell. The lowest return in the square is the ground of the cell.
const GROUND_REACH: usize = 4;
/// Height up to which returns and passing rays are counted, metres.
const COUNTED_M: f64 = 0.6;
/// Number of layers below [`COUNTED_M`], for each of which passing rays are counted.
const LAYERS: usize = 6;
/// Height of a step that has the full cost, metres.
const FULL_STEP_M: f64 = 0.5;
/// A cell contains plants if more than this share of the rays below its highest return passes through. The limit is not
/// 0, because rays also pass beside a rigid object that fills only a part of the cell.
const PLANT_PASSES: f64 = 0.5;
/// Cost of plants with the height [`COUNTED_M`].
const PLANT_COST: f64 = 30.0;
/// Cost of hidden ground; on plants, it is added to their cost. The ground of a cell is hidden if it gave no return and
/// at least one ray to it was stopped before.
pub const HIDDEN_COST: f64 = 60.0;
/// Largest cost of a rigid object.
const MOST_COST: f64 = 100.0;

/// Returns and rays in one cell.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    lowest_m: f64,
    highest_m: f64,
    /// Number of returns above the ground and below [`COUNTED_M`].
    hits: u32,
    /// Number of rays that passed above the ground, by layer.
    passes: [u32; LAYERS],
    /// Number of returns from the ground.
    ground: u32,
    /// Number of rays that would have hit the ground here but were stopped before.
    stopped: u32,
}

impl Default for Cell {
    fn default() -> Self {
        let (lowest_m, highest_m) = (f64::MAX, f64::MIN);
        Self { lowest_m, highest_m, hits: 0, passes: [0; LAYERS], ground: 0, stopped: 0 }
    }
}

/// Map of square cells, row by row from the south-west.
#[derive(Clone, Debug)]
pub struct Map {
    cells: Vec<Cell>,
}

/// Index of the cell at a position in World, metres; `None` outside.
pub fn cell_at(place: DVec2) -> Option<usize> {
    let offset = (place - CORNER_M) / CELL_M;
    let inside = |x: f64| (0.0..CELLS as f64).contains(&x);
    (inside(offset.x) && inside(offset.y)).then(|| offset.y as usize * CELLS + offset.x as usize)
}

/// Centre of a cell in World, metres.
pub fn middle_of(cell: usize) -> DVec2 {
    CORNER_M + (DVec2::new((cell % CELLS) as f64, (cell / CELLS) as f64) + 0.5) * CELL_M
}

impl Default for Map {
    fn default() -> Self {
        Self { cells: vec![Cell::default(); CELLS * CELLS] }
    }
}

impl Map {
    /// Adds the return at `hit` of a ray from `from`; both in World, metres. The ground is near z = 0.
    pub fn add(&mut self, from: DVec3, hit: DVec3) {
        let ray = hit - from;
        let flat_m = ray.truncate().length();
        if let Some(cell) = cell_at(hit.truncate()) {
            let cell = &mut self.cells[cell];
            cell.lowest_m = cell.lowest_m.min(hit.z);
            cell.highest_m = cell.highest_m.max(hit.z);
            if hit.z > GROUND_M {
                cell.hits += u32::from(hit.z < COUNTED_M);
            } else {
                cell.ground += 1;
            }
        }
        if ray.z >= 0.0 || flat_m <= 0.0 {
            return;
        }
        // Counts the ray once in each cell, from the place where it is below `COUNTED_M` to its end.
        let at = |share: f64| from + ray * share;
        let step = 0.4 * CELL_M / flat_m;
        let mut share = ((COUNTED_M - from.z) / ray.z).max(0.0);
        let mut last = None;
        while share < 1.0 {
            let place = at(share);
            let cell = cell_at(place.truncate());
            if cell != last && cell != cell_at(hit.truncate()) && place.z > GROUND_M {
                if let Some(cell) = cell {
                    let layer = (place.z / COUNTED_M * LAYERS as f64) as usize;
                    self.cells[cell].passes[layer.min(LAYERS - 1)] += 1;
                }
                last = cell;
            }
            share += step;
        }
        if hit.z > GROUND_M
            && let Some(cell) = cell_at(at(-from.z / ray.z).truncate())
        {
            self.cells[cell].stopped += 1;
        }
    }

    /// Number of returns from the ground of a cell.
    pub fn ground_returns(&self, cell: usize) -> u32 {
        self.cells[cell].ground
    }

    /// Height of the lowest return within [`GROUND_REACH`] cells of a cell, metres.
    fn ground_m(&self, cell: usize) -> f64 {
        let around = |middle: usize| {
            middle.saturating_sub(GROUND_REACH)..=(middle + GROUND_REACH).min(CELLS - 1)
        };
        let rows = around(cell / CELLS).flat_map(|row| {
            around(cell % CELLS).map(move |column| self.cells[row * CELLS + column].lowest_m)
        });
        rows.fold(f64::MAX, f64::min)
    }

    /// Cost of a cell, 0 to 100; `None` if it is unknown.
    pub fn cost(&self, index: usize) -> Option<f64> {
        let cell = &self.cells[index];
        let is_hidden = cell.ground == 0 && cell.stopped > 0;
        if cell.highest_m == f64::MIN {
            return is_hidden.then_some(HIDDEN_COST);
        }
        let top_m = cell.highest_m - self.ground_m(index);
        if top_m <= GROUND_M {
            return Some(if is_hidden { HIDDEN_COST } else { 0.0 });
        }
        let below = (cell.highest_m / COUNTED_M * LAYERS as f64) as usize;
        let passes: u32 = cell.passes[..below.min(LAYERS)].iter().sum();
        let passing = f64::from(passes) / f64::from(passes + cell.hits).max(1.0);
        if passing <= PLANT_PASSES {
            // A rigid object stands on its ground and hides no part of the path.
            return Some(MOST_COST * (top_m / FULL_STEP_M).min(1.0));
        }
        let hidden = if is_hidden { HIDDEN_COST } else { 0.0 };
        Some(PLANT_COST * (top_m / COUNTED_M).min(1.0) + hidden)
    }

    /// Costs of all cells, row by row.
    pub fn costs(&self) -> Vec<Option<f64>> {
        (0..self.cells.len()).map(|cell| self.cost(cell)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EYE: DVec3 = DVec3::new(-9.0, 0.1, 1.5);

    fn cost_at(map: &Map, x: f64) -> Option<f64> {
        map.cost(cell_at(DVec2::new(x, 0.1)).unwrap())
    }

    /// A map of rays that hit the ground at every centimetre; `stop` returns where a ray ends before it reaches the
    /// ground.
    fn swept(stop: impl Fn(usize, DVec3) -> Option<DVec3>) -> Map {
        let mut map = Map::default();
        for (index, x) in (0..900).map(|k| -7.0 + 0.01 * f64::from(k)).enumerate() {
            let ground = DVec3::new(x, 0.1, 0.0);
            map.add(EYE, stop(index, ground).unwrap_or(ground));
        }
        map
    }

    #[test]
    fn open_ground_costs_nothing_and_what_is_not_seen_is_not_known() {
        let map = swept(|_, _| None);
        for x in [-6.0, 0.0, 1.5] {
            assert_eq!(cost_at(&map, x), Some(0.0));
        }
        assert_eq!(cost_at(&map, 5.0), None);
        assert_eq!(cell_at(DVec2::new(12.1, 0.0)), None);
        assert_eq!(cell_at(middle_of(777)), Some(777));
    }

    /// Position at which a ray crosses the plane at `x`.
    fn at_plane(ground: DVec3, x: f64) -> DVec3 {
        EYE + (ground - EYE) * ((x - EYE.x) / (ground.x - EYE.x))
    }

    #[test]
    fn a_wall_costs_everything_and_hides_what_is_behind() {
        let wall = |_: usize, ground: DVec3| {
            let hit = at_plane(ground, -1.1);
            (ground.x > -1.1 && hit.z < 0.5).then_some(hit)
        };
        let map = swept(wall);
        let cost = cost_at(&map, -1.1).unwrap();
        assert!((80.0..=100.0).contains(&cost), "{cost}");
        assert_eq!(cost_at(&map, 0.5), Some(HIDDEN_COST));
        assert_eq!(cost_at(&map, -3.0), Some(0.0));
    }

    #[test]
    fn plants_that_most_rays_pass_cost_little_and_hide_nothing() {
        let plants = |index: usize, ground: DVec3| {
            let hit = at_plane(ground, -1.1);
            (index.is_multiple_of(3) && ground.x > -1.1 && hit.z < 0.6).then_some(hit)
        };
        let map = swept(plants);
        let cost = cost_at(&map, -1.1).unwrap();
        assert!((20.0..31.0).contains(&cost), "{cost}");
        assert_eq!(cost_at(&map, 0.5), Some(0.0));
    }
}
