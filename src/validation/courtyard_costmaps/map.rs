//! The cost map of Goodin et al. 2018, section 3.5, and its path by A*.

use glam::DVec2;
use pathfinding::directed::astar::astar;

/// Number of cells along each side of the map.
pub const CELLS: usize = 400;
/// Width of a cell, metres.
pub const CELL_M: f64 = 0.5;
/// Height with the full cost, metres: `h_max` of Goodin et al. 2018.
pub const FULL_HEIGHT_M: f64 = 1.5;
/// Points up to this height count as ground, metres; it covers the noise of lidar and pose.
const GROUND_M: f64 = 0.15;
/// Price of a metre across cells of cost 100, relative to a metre across cells of cost 0.
const DEAREST: f64 = 6.0;
/// Number of cells by which costs are dilated.
const WIDEN: usize = 2;

/// Heights above the ground, row by row from the south-west.
#[derive(Clone, Debug)]
pub struct Map {
    corner_m: DVec2,
    /// Height of the highest point in each cell, metres; `None` without points. Goodin et al. 2018 do not state how
    /// several points give one height.
    heights_m: Vec<Option<f32>>,
}

impl Map {
    /// An empty map with this south-western corner in World, metres.
    pub fn new(corner_m: DVec2) -> Self {
        Self { corner_m, heights_m: vec![None; CELLS * CELLS] }
    }

    /// Index of the cell at a position; `None` outside.
    pub fn cell_at(&self, place: DVec2) -> Option<usize> {
        let offset = (place - self.corner_m) / CELL_M;
        let inside = |x: f64| (0.0..CELLS as f64).contains(&x);
        (inside(offset.x) && inside(offset.y))
            .then(|| offset.y as usize * CELLS + offset.x as usize)
    }

    /// Centre of a cell in World, metres.
    pub fn middle_of(&self, cell: usize) -> DVec2 {
        let place = DVec2::new((cell % CELLS) as f64, (cell / CELLS) as f64);
        self.corner_m + (place + 0.5) * CELL_M
    }

    /// Adds a point `height_m` above the ground.
    pub fn add(&mut self, place: DVec2, height_m: f64) {
        if let Some(cell) = self.cell_at(place) {
            let known = &mut self.heights_m[cell];
            *known = Some(known.map_or(height_m as f32, |known| known.max(height_m as f32)));
        }
    }

    /// Height of the highest point in a cell, metres; `None` without points.
    pub fn height_m(&self, cell: usize) -> Option<f64> {
        self.heights_m[cell].map(f64::from)
    }

    /// Cost of a cell: `min(100 h / h_max, 100)`; 0 without points or for ground points only. Goodin et al. 2018 print
    /// `max`, with which every cell would cost at least 100.
    pub fn cost(&self, cell: usize) -> f64 {
        match self.height_m(cell) {
            Some(height_m) if height_m > GROUND_M => (100.0 * height_m / FULL_HEIGHT_M).min(100.0),
            _ => 0.0,
        }
    }

    /// Indices of cells with a cost above zero.
    pub fn costly(&self) -> impl Iterator<Item = usize> {
        (0..self.heights_m.len()).filter(|cell| self.cost(*cell) > 0.0)
    }

    /// For each cell, the largest cost within [`WIDEN`] cells.
    fn widened(&self) -> Vec<f64> {
        let costs: Vec<f64> = (0..self.heights_m.len()).map(|cell| self.cost(cell)).collect();
        let along = |costs: &[f64], stride: usize, at: fn(usize) -> usize| -> Vec<f64> {
            (0..costs.len())
                .map(|cell| {
                    let place = at(cell);
                    let from = cell - stride * WIDEN.min(place);
                    let to = cell + stride * WIDEN.min(CELLS - 1 - place);
                    (from..=to).step_by(stride).map(|cell| costs[cell]).fold(0.0, f64::max)
                })
                .collect()
        };
        let rows = along(&costs, 1, |cell| cell % CELLS);
        along(&rows, CELLS, |cell| cell / CELLS)
    }

    /// Cheapest path between two positions, as the centres of its cells; `None` if a position is outside.
    pub fn way(&self, from: DVec2, to: DVec2) -> Option<Vec<DVec2>> {
        let (start, goal) = (self.cell_at(from)?, self.cell_at(to)?);
        let costs = self.widened();
        let diagonal = 2.0_f64.sqrt();
        // Costs are integers, because the search must order them; the unit is a thousandth of a cell.
        let price = |cell: usize, length: f64| {
            (1000.0 * length * (1.0 + (DEAREST - 1.0) * costs[cell] / 100.0)).round() as u64
        };
        let least = |cell: usize| {
            let (a, b) =
                ((cell % CELLS).abs_diff(goal % CELLS), (cell / CELLS).abs_diff(goal / CELLS));
            let (far, near) = (a.max(b) as f64, a.min(b) as f64);
            (1000.0 * (far + (diagonal - 1.0) * near)) as u64
        };
        let beside = |cell: &usize| {
            let (column, row) = ((*cell % CELLS) as i64, (*cell / CELLS) as i64);
            let around = (-1..=1_i64).flat_map(|i| (-1..=1_i64).map(move |j| (i, j)));
            let next = around.filter(|step| *step != (0, 0)).filter_map(|(i, j)| {
                let (x, y) = (column + i, row + j);
                let is_inside = (0..CELLS as i64).contains(&x) && (0..CELLS as i64).contains(&y);
                let length = if i != 0 && j != 0 { diagonal } else { 1.0 };
                is_inside.then(|| {
                    let cell = y as usize * CELLS + x as usize;
                    (cell, price(cell, length))
                })
            });
            next.collect::<Vec<_>>()
        };
        let (cells, _) = astar(&start, beside, |cell| least(*cell), |cell| *cell == goal)?;
        Some(cells.into_iter().map(|cell| self.middle_of(cell)).collect())
    }
}

/// Length of a path, metres.
pub fn length_m(way: &[DVec2]) -> f64 {
    way.windows(2).map(|pair| pair[0].distance(pair[1])).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CORNER: DVec2 = DVec2::new(-155.0, -155.0);

    #[test]
    fn costs_are_the_papers() {
        let mut map = Map::new(CORNER);
        let at = DVec2::new(-100.2, -80.1);
        let cell = map.cell_at(at).unwrap();
        assert!(map.middle_of(cell).distance(at) < CELL_M);
        assert_eq!((map.height_m(cell), map.cost(cell)), (None, 0.0));
        map.add(at, 0.05);
        assert_eq!(map.cost(cell), 0.0);
        map.add(at, 0.3);
        map.add(at, 0.1);
        assert!((map.cost(cell) - 20.0).abs() < 1e-4);
        map.add(at, 8.0);
        assert_eq!(map.cost(cell), 100.0);
        assert_eq!(map.costly().collect::<Vec<_>>(), [cell]);
        assert_eq!(map.cell_at(DVec2::new(45.1, 0.0)), None);
    }

    #[test]
    fn an_empty_map_is_crossed_straight_and_a_wall_is_driven_around() {
        let mut map = Map::new(CORNER);
        let (from, to) = (DVec2::new(-130.0, -130.0), DVec2::new(-38.0, -38.0));
        let straight = map.way(from, to).unwrap();
        assert!((length_m(&straight) / from.distance(to) - 1.0).abs() < 0.01);
        // A wall across the path, 20 m long.
        for k in 0..80 {
            let along = f64::from(k) * 0.25 - 10.0;
            map.add(DVec2::new(-90.0 + along, -90.0 - along), 2.0);
        }
        let around = map.way(from, to).unwrap();
        let ratio = length_m(&around) / from.distance(to);
        assert!((1.01..1.2).contains(&ratio), "{ratio}");
        assert!(around.iter().all(|at| map.cost(map.cell_at(*at).unwrap()) == 0.0));
        assert_eq!(map.way(from, DVec2::new(100.0, 0.0)), None);
    }
}
