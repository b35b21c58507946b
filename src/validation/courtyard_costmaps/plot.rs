//! The figure: the four maps with their paths, like figure 10 of the paper.

use super::map::{CELL_M, CELLS};
use super::{CORNER_M, Drive, GOAL_M, START_M};
use crate::plot::{Area, Axis, Colour, ColourBar, Figure, HEIGHT, ORANGE, Panel};

const SIDE: (f64, f64) = (600.0, 530.0);
const DRIVEN: Colour = Colour([235, 60, 170]);
const GOAL: Colour = Colour([200, 40, 40]);

/// Draws all drives.
pub(super) fn draw(drives: &[Drive]) -> Figure {
    let title =
        "Cost maps of four lidars in the courtyard after the drive, with the paths that A* finds";
    let mut figure = Figure::new(2.0 * SIDE.0, title);
    figure.note(
        "A cell of 1.5 m height or more costs 100. Cells without cost and cells without data have \
         no colour.",
    );
    figure.legend("planned path", ORANGE);
    figure.legend("driven", DRIVEN);
    figure.legend("start and goal", GOAL);
    for (place, drive) in drives.iter().enumerate() {
        let area = Area {
            left: (place % 2) as f64 * SIDE.0,
            top: (place / 2) as f64 * SIDE.1,
            width: SIDE.0,
            height: SIDE.1,
        };
        figure.panel(area, map(drive));
    }
    figure
}

fn map(drive: &Drive) -> Panel {
    let end = CORNER_M + CELLS as f64 * CELL_M;
    let x = Axis::linear("east, m", CORNER_M.x, end.x);
    let y = Axis::linear("north, m", CORNER_M.y, end.y);
    let mut panel =
        Panel::new(drive.name, x, y).colour_bar(ColourBar::linear("cost", HEIGHT, 0.0, 100.0));
    let dots = drive.map.costly().map(|cell| {
        let at = drive.map.middle_of(cell);
        (at.x, at.y, HEIGHT.at(drive.map.cost(cell) / 100.0))
    });
    let size = (SIDE.0 - 146.0) / CELLS as f64 + 0.6;
    panel.dots(dots.collect(), (size, size));
    panel.line(drive.way.iter().map(|at| (at.x, at.y)), ORANGE);
    panel.line(drive.truth_m.iter().map(|at| (at.x, at.y)), DRIVEN);
    panel.dots([START_M, GOAL_M].map(|at| (at.x, at.y, GOAL)).to_vec(), (7.0, 7.0));
    panel
}
