//! The figure of a run: the path with GNSS fixes, elevation and heading, and three maps near a
//! ditch.

use glam::DVec2;

use super::navigation::{Cell, RINGS, SECTORS, direction_rad, radius_m};
use super::robot::UsedMap;
use super::{DITCHES_M, GOALS_M, START_M, Trip};
use crate::plot::{Area, Axis, BLUE, Colour, Figure, GREY, ORANGE, Panel};

const WIDTH: f64 = 1100.0;
const PATH_HEIGHT: f64 = 620.0;
const CURVE_HEIGHT: f64 = 230.0;
const MAP_HEIGHT: f64 = 400.0;
/// Half of the side of a map's panel, metres.
const MAP_REACH_M: f64 = 10.5;
const RED: Colour = Colour([200, 40, 40]);
const GREEN: Colour = Colour([60, 160, 75]);
const UNKNOWN: Colour = Colour([190, 190, 190]);

/// Draws a run.
pub(super) fn draw(trip: &Trip) -> Figure {
    let mut figure = Figure::new(WIDTH, format!("Andabata crosses a field, seed {}", trip.seed));
    figure.legend("path", BLUE);
    figure.legend("phone fixes", ORANGE);
    figure.legend("ditches, start, goals", GREY);
    figure.legend("map: drivable", GREEN);
    figure.legend("map: not drivable", RED);
    figure.panel(Area { left: 0.0, top: 0.0, width: 700.0, height: PATH_HEIGHT }, path(trip));
    let beside = |row: f64, panel: Panel, figure: &mut Figure| {
        let area = Area {
            left: 700.0,
            top: row * CURVE_HEIGHT,
            width: WIDTH - 700.0,
            height: CURVE_HEIGHT,
        };
        figure.panel(area, panel);
    };
    let t_s = |index: usize| trip.truth.path[index].0.as_secs_f64();
    let end_s = trip.took.as_secs_f64().max(1.0);
    let heights = &trip.truth.heights_m;
    let (low, high) = range(heights.iter().copied());
    let mut elevation = Panel::new(
        "Elevation",
        Axis::linear("time, s", 0.0, end_s),
        Axis::linear("height, m", low - 0.1, high + 0.1),
    );
    elevation.line(heights.iter().enumerate().map(|(i, z)| (t_s(i), *z)), BLUE);
    beside(0.0, elevation, &mut figure);
    let mut heading = Panel::new(
        "Heading",
        Axis::linear("time, s", 0.0, end_s),
        Axis::linear("from east, degrees", -180.0, 180.0),
    );
    let compass = trip.logbook.headings_rad.iter().step_by(25);
    heading.dots(
        compass.map(|(at, rad)| (at.as_secs_f64(), rad.to_degrees(), ORANGE)).collect(),
        (2.0, 2.0),
    );
    let truth = trip.truth.headings_rad.iter().enumerate();
    heading.dots(truth.map(|(i, rad)| (t_s(i), rad.to_degrees(), BLUE)).collect(), (2.0, 2.0));
    beside(1.0, heading, &mut figure);
    for (place, used) in near_a_ditch(trip).iter().enumerate() {
        let width = WIDTH / 3.0;
        let area = Area { left: place as f64 * width, top: PATH_HEIGHT, width, height: MAP_HEIGHT };
        figure.panel(area, map(used));
    }
    figure
}

fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(value), high.max(value)))
}

fn corners([low, high]: [[f64; 2]; 2]) -> Vec<(f64, f64)> {
    vec![
        (low[0], low[1]),
        (high[0], low[1]),
        (high[0], high[1]),
        (low[0], high[1]),
        (low[0], low[1]),
    ]
}

fn path(trip: &Trip) -> Panel {
    let mut panel = Panel::new(
        "Path from above",
        Axis::linear("east, m", -27.0, 27.0),
        Axis::linear("north, m", -27.0, 27.0),
    );
    for ditch in DITCHES_M {
        panel.line(corners(ditch), GREY);
    }
    let marks = GOALS_M.iter().chain([&START_M]).map(|place| (place[0], place[1], GREY));
    panel.dots(marks.collect(), (10.0, 10.0));
    let fixes = trip.logbook.fixes_m.iter().map(|fix| (fix.x, fix.y, ORANGE));
    panel.dots(fixes.collect(), (3.0, 3.0));
    panel.line(trip.truth.path.iter().map(|(_, at)| (at.x, at.y)), BLUE);
    panel
}

/// The last three maps before the robot was nearest to a ditch.
fn near_a_ditch(trip: &Trip) -> Vec<&UsedMap> {
    let distance = |place: DVec2| {
        let to = |[low, high]: &[[f64; 2]; 2]| {
            place.distance(place.clamp(DVec2::from(*low), DVec2::from(*high)))
        };
        DITCHES_M.iter().map(to).fold(f64::MAX, f64::min)
    };
    let nearest = trip.truth.path.iter().min_by(|a, b| distance(a.1).total_cmp(&distance(b.1)));
    let Some((at, _)) = nearest else { return Vec::new() };
    let maps = &trip.logbook.maps;
    let after = maps.partition_point(|used| used.at < *at);
    let first = after.saturating_sub(3);
    maps[first..].iter().take(3).collect()
}

/// Panel with the map's cells, the direction of the goal and the chosen direction.
fn map(used: &UsedMap) -> Panel {
    let mut panel = Panel::new(
        format!("Map at {:.1} s", used.at.as_secs_f64()),
        Axis::linear("east of the robot, m", -MAP_REACH_M, MAP_REACH_M),
        Axis::linear("north of the robot, m", -MAP_REACH_M, MAP_REACH_M),
    );
    let at = |range_m: f64, rad: f64| {
        let (sin, cos) = libm::sincos(rad);
        (range_m * cos, range_m * sin)
    };
    let mut dots = Vec::new();
    for sector in 0..SECTORS {
        for ring in 0..RINGS {
            let colour = match used.map.cells[sector][ring] {
                Cell::Empty => continue,
                Cell::Green => GREEN,
                Cell::Red => RED,
                Cell::Grey => UNKNOWN,
            };
            let middle_m = 0.5 * (radius_m(ring + 1) + radius_m(ring + 2));
            let (x, y) = at(middle_m, direction_rad(sector));
            dots.push((x, y, colour));
        }
    }
    panel.dots(dots, (7.0, 7.0));
    panel.line([(0.0, 0.0), at(9.0, used.goal_rad)], GREY);
    if let Some(taken_rad) = used.taken_rad {
        panel.line([(0.0, 0.0), at(9.0, taken_rad)], BLUE);
    }
    panel
}
