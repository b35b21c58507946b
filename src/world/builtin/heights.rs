//! Ground as heights at the corners of square cells.

use glam::DVec2;

use crate::world::scene::{MaterialId, Mesh};

/// A square of cells around the origin. Each cell consists of two triangles.
pub(super) struct HeightGrid {
    /// Number of cells along each side.
    pub cells: u32,
    pub cell_m: f64,
    /// Heights row by row from the south-west, `cells + 1` per row, metres.
    pub heights: Vec<f32>,
}

impl HeightGrid {
    /// Position of a corner; column 0 is in the west, row 0 in the south.
    pub fn corner(&self, column: u32, row: u32) -> DVec2 {
        corner(self.cells, self.cell_m, column, row)
    }

    pub fn mesh(&self, material: MaterialId) -> Mesh {
        let side = self.cells + 1;
        let positions = (0..side * side)
            .map(|index| {
                let p = self.corner(index % side, index / side);
                [p.x as f32, p.y as f32, self.heights[index as usize]]
            })
            .collect();
        let cells =
            (0..self.cells * self.cells).map(|cell| cell / self.cells * side + cell % self.cells);
        let triangles: Vec<[u32; 3]> =
            cells.flat_map(|a| [[a, a + 1, a + side + 1], [a, a + side + 1, a + side]]).collect();
        Mesh {
            name: "ground".into(),
            label: None,
            positions,
            uvs: Vec::new(),
            triangle_materials: vec![material; triangles.len()],
            triangles,
        }
    }

    /// Height of the mesh at `p`, metres; outside of the mesh, the height of the nearest point of its edge.
    pub fn height(&self, p: DVec2) -> f64 {
        let (cell, s, t) = self.cell(p);
        let [a, b, c, d] = cell;
        // The diagonal runs from the south-west corner `a` to the north-east corner `c`.
        if s >= t { a + (b - a) * s + (c - b) * t } else { a + (c - d) * s + (d - a) * t }
    }

    /// Mean slope of the cell at `p` towards east and towards north, rise over run.
    pub fn slope(&self, p: DVec2) -> DVec2 {
        let ([a, b, c, d], _, _) = self.cell(p);
        DVec2::new(b - a + c - d, d - a + c - b) / (2.0 * self.cell_m)
    }

    /// The heights at the corners of `p`'s cell, counter-clockwise from south-west, and the position
    /// of `p` in the cell, 0..=1.
    fn cell(&self, p: DVec2) -> ([f64; 4], f64, f64) {
        let limit = f64::from(self.cells);
        let half = limit / 2.0;
        let place = |metres: f64| (metres / self.cell_m + half).clamp(0.0, limit);
        let (x, y) = (place(p.x), place(p.y));
        let (column, row) = ((x as u32).min(self.cells - 1), (y as u32).min(self.cells - 1));
        let side = self.cells + 1;
        let height =
            |column: u32, row: u32| f64::from(self.heights[(row * side + column) as usize]);
        let corners = [
            height(column, row),
            height(column + 1, row),
            height(column + 1, row + 1),
            height(column, row + 1),
        ];
        (corners, x - f64::from(column), y - f64::from(row))
    }
}

/// Position of a corner in a grid with `cells` cells along each side.
pub(super) fn corner(cells: u32, cell_m: f64, column: u32, row: u32) -> DVec2 {
    let half = f64::from(cells) / 2.0;
    DVec2::new(f64::from(column) - half, f64::from(row) - half) * cell_m
}
