//! The figure: both cost maps, their difference, and costs by object.

use super::map::{CELL_M, CELLS, CORNER_M, middle_of};
use super::scene::Object;
use super::{Outcome, mean_cost};
use crate::plot::{
    Area, Axis, BLUE, Colour, ColourBar, DIFFERENCE, Figure, GREY, HEIGHT, ORANGE, Panel,
};

const SIDE: (f64, f64) = (520.0, 470.0);
const BARS_HEIGHT: f64 = 300.0;

/// Draws the cost maps of both runs (one ray per pulse, and a beam), their difference, and the costs by object.
pub(super) fn draw(objects: &[Object], point: &Outcome, beam: &Outcome) -> Figure {
    let title = "Cost maps of four forward scanners: one ray per pulse against a beam";
    let mut figure = Figure::new(3.0 * SIDE.0, title);
    figure.note("Grey outlines are objects and plants. Cells without colour have no data.");
    figure.legend("one ray", BLUE);
    figure.legend("beam", ORANGE);
    let map = |run: &Outcome, name: &str| panel(objects, name, 0.0, 100.0, |cell| run.costs[cell]);
    let difference = panel(objects, "Beam minus one ray", -100.0, 100.0, |cell| {
        Some(beam.costs[cell]? - point.costs[cell]?)
    });
    let panels = [map(point, "One ray per pulse"), map(beam, "Nine rays, waveform"), difference];
    for (place, panel) in panels.into_iter().enumerate() {
        let left = place as f64 * SIDE.0;
        figure.panel(Area { left, top: 0.0, width: SIDE.0, height: SIDE.1 }, panel);
    }
    figure.panel_below(BARS_HEIGHT, bars(objects, point, beam));
    figure
}

/// Panel with a map of `value`, with colours from `low` to `high`.
fn panel(
    objects: &[Object],
    title: &str,
    low: f64,
    high: f64,
    value: impl Fn(usize) -> Option<f64>,
) -> Panel {
    let end = CORNER_M + CELLS as f64 * CELL_M;
    let x = Axis::linear("east, m", CORNER_M.x, end.x);
    let y = Axis::linear("north, m", CORNER_M.y, end.y);
    let (colours, name) =
        if low < 0.0 { (DIFFERENCE, "difference of costs") } else { (HEIGHT, "cost") };
    let bar = ColourBar::linear(name, colours, low, high);
    let mut panel = Panel::new(title, x, y).colour_bar(bar);
    let dots = (0..CELLS * CELLS).filter_map(|cell| {
        let share = (value(cell)? - low) / (high - low);
        let at = middle_of(cell);
        Some((at.x, at.y, colours.at(share)))
    });
    let size = (SIDE.0 - 146.0) / CELLS as f64 + 0.4;
    panel.dots(dots.collect(), (size, size));
    for object in objects {
        outline(&mut panel, object);
    }
    panel
}

/// Draws the outline of an object's cells.
fn outline(panel: &mut Panel, object: &Object) {
    let has = |cell: Option<usize>| cell.is_some_and(|cell| object.cells.contains(&cell));
    for cell in &object.cells {
        let (middle, half) = (middle_of(*cell), 0.5 * CELL_M);
        let (column, row) = (cell % CELLS, cell / CELLS);
        let beside = [
            ((column + 1 < CELLS).then(|| cell + 1), [1.0, -1.0], [1.0, 1.0]),
            (column.checked_sub(1).map(|_| cell - 1), [-1.0, -1.0], [-1.0, 1.0]),
            ((row + 1 < CELLS).then(|| cell + CELLS), [-1.0, 1.0], [1.0, 1.0]),
            (row.checked_sub(1).map(|_| cell - CELLS), [-1.0, -1.0], [1.0, -1.0]),
        ];
        for (other, from, to) in beside {
            if !has(other) {
                let end = |[x, y]: [f64; 2]| (middle.x + x * half, middle.y + y * half);
                panel.line([end(from), end(to)], OUTLINE);
            }
        }
    }
}

const OUTLINE: Colour = GREY;

/// Panel with the mean cost of each object for both runs.
fn bars(objects: &[Object], point: &Outcome, beam: &Outcome) -> Panel {
    let ticks = objects.iter().enumerate();
    let ticks = ticks.map(|(place, object)| (place as f64 + 0.5, object.name.to_owned()));
    let x = Axis::linear("", 0.0, objects.len() as f64).with_ticks(ticks);
    let mut panel = Panel::new("Mean cost by object", x, Axis::linear("cost", 0.0, 100.0));
    for (run, from, colour) in [(point, 0.2, BLUE), (beam, 0.5, ORANGE)] {
        let bars = objects.iter().enumerate().filter_map(|(place, object)| {
            let cost = mean_cost(&run.costs, &object.cells)?;
            let from = place as f64 + from;
            Some((from, from + 0.3, cost))
        });
        panel.bars(bars.collect(), colour);
    }
    panel
}
