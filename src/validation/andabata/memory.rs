//! The robot's memory of the ground, and the path around known obstacles.
//!
//! The paper's robot steers by the latest scan alone and states the cost: without intermediate waypoints, a robot in a
//! dead end drives in circles. This robot keeps the results of its scans for five minutes and searches for the cheapest
//! path to the goal. Equations (8) to (11) of the map then use a point of this path as the goal.

use glam::{DVec2, IVec2};
use pathfinding::directed::astar::astar;

use super::classify::{Ground, Judged};
use crate::time::SimTime;

/// Size of a cell, metres.
const CELL_M: f64 = 0.25;
/// Number of cells along each side: 60 m in each direction from the place where the robot was switched on.
const SIDE: i32 = 480;
/// Smallest number of points of one scan that a cell must contain to be classified.
const FEWEST_POINTS: u32 = 2;
/// Smallest share of obstacle points with which a cell is closed, as in the polar map.
const CLOSED_SHARE: f64 = 0.15;
/// Largest distance between the two cells of a step, in cells. A step is a height difference above [`STEP_M`] with a
/// slope above [`STEP_SLOPE`] between two cells of a scan. Only this rule detects the near wall of a ditch, because the
/// scan has no points on that wall.
const STEP_CELLS: i32 = 6;
/// Smallest height difference of a step, metres.
const STEP_M: f64 = 0.25;
/// Smallest slope of a step: height difference divided by horizontal distance.
const STEP_SLOPE: f64 = 0.5;
/// The robot passes under a point that is at least this far above the lowest point near it, metres: the robot is 0.81 m
/// high, and the ground rises by at most 0.25 m between traversable cells. Tree crowns therefore do not close cells.
const OVERHEAD_M: f64 = 1.2;
/// Time for which observations are kept, nanoseconds: the wheel odometry drifts.
const KEPT_NS: u64 = 300_000_000_000;
/// A new observation of a cell replaces the stored one only if the robot was at most this much farther away, metres, or
/// if the stored one has expired. A ditch is not visible from afar, so farther observations do not replace nearer ones.
const FARTHER_M: f64 = 1.0;
/// Smallest distance between the robot's centre and closed cells, metres: half of the robot's diagonal plus the
/// steering error.
const KEPT_CLEAR_M: f64 = 0.75;
/// The path ends this far before the goal, metres.
const NEAR_GOAL_M: f64 = 2.5;
/// Smallest distance of the waypoint from the robot, metres.
const AHEAD_M: f64 = 2.0;
/// A direction is free if the path in this direction stays [`KEPT_CLEAR_M`] away from closed cells over this length,
/// metres.
const FREE_AHEAD_M: f64 = 2.0;
/// Up to this distance ahead, metres, a free direction may lead through cells that are too close to a closed cell, so
/// that the robot can drive away from an obstacle.
const LEAVES_WITHIN_M: f64 = 1.0;

/// Directions in which steps are searched; the opposite directions give the same steps.
const STEP_DIRECTIONS: [IVec2; 4] =
    [IVec2::new(1, 0), IVec2::new(0, 1), IVec2::new(1, 1), IVec2::new(1, -1)];

/// Cost of driving over an open or unknown cell.
const OPEN_COST: u32 = 100;
/// Cost of driving over a cell within [`KEPT_CLEAR_M`] of a closed cell.
const NEAR_CLOSED_COST: u32 = 1_000;
/// Cost of driving over a closed cell. It is finite, because a robot within a closed cell must be able to leave the
/// cell.
const CLOSED_COST: u32 = 10_000;

/// Latest observation of a cell.
#[derive(Clone, Copy, Debug)]
struct Seen {
    at: SimTime,
    from_m: f64,
    is_closed: bool,
}

/// Grid of the cells that the robot remembers from earlier scans, in the robot's own frame.
#[derive(Clone, Debug)]
pub struct Memory {
    cells: Vec<Option<Seen>>,
}

impl Default for Memory {
    fn default() -> Self {
        Self { cells: vec![None; (SIDE * SIDE) as usize] }
    }
}

fn cell_of(place_m: DVec2) -> IVec2 {
    (place_m / CELL_M).floor().as_ivec2() + SIDE / 2
}

fn middle_m(cell: IVec2) -> DVec2 {
    ((cell - SIDE / 2).as_dvec2() + 0.5) * CELL_M
}

fn index(cell: IVec2) -> Option<usize> {
    let is_inside = (0..SIDE).contains(&cell.x) && (0..SIDE).contains(&cell.y);
    is_inside.then(|| (cell.y * SIDE + cell.x) as usize)
}

/// Points of one scan in a cell.
#[derive(Clone, Copy, Debug, Default)]
struct Scanned {
    open: u32,
    closed: u32,
    /// Height of the lowest point, metres.
    z_m: f64,
    is_step: bool,
}

impl Scanned {
    fn add(&mut self, z_m: f64, ground: Ground) {
        let is_first = !self.is_seen();
        match ground {
            Ground::Indefinite => return,
            Ground::Traversable => self.open += 1,
            Ground::Obstacle => self.closed += 1,
        }
        self.z_m = if is_first { z_m } else { self.z_m.min(z_m) };
    }

    fn is_seen(&self) -> bool {
        self.open + self.closed > 0
    }

    /// Whether the cell is closed: always if it belongs to a step. `None` for any other cell with too few points.
    fn is_closed(&self) -> Option<bool> {
        let all = self.open + self.closed;
        let is_closed = f64::from(self.closed) >= CLOSED_SHARE * f64::from(all);
        match self.is_step {
            true => Some(true),
            false => (all >= FEWEST_POINTS).then_some(is_closed),
        }
    }
}

/// For each cell, the height above which points are overhead: measured from the lowest point in the cell and its eight
/// neighbours.
fn overhead_from_m(judged: &[Judged]) -> Vec<f64> {
    let mut from_m = vec![f64::MAX; (SIDE * SIDE) as usize];
    for (point, _) in judged {
        let here = cell_of(point.truncate());
        let around = (-1..=1).flat_map(|dy| (-1..=1).map(move |dx| here + IVec2::new(dx, dy)));
        for cell in around.filter_map(index) {
            from_m[cell] = from_m[cell].min(point.z + OVERHEAD_M);
        }
    }
    from_m
}

/// Cells of a step that starts at `cell` in the direction `along`; empty if no step starts there.
fn step(scan: &[Scanned], cell: IVec2, along: IVec2) -> Vec<usize> {
    let seen = |cell: IVec2| Some(scan[index(cell)?]).filter(Scanned::is_seen);
    let next = || (1..=STEP_CELLS).find_map(|far| Some((far, seen(cell + along * far)?)));
    let Some((here, (far, there))) = seen(cell).and_then(|here| Some((here, next()?))) else {
        return Vec::new();
    };
    let rise_m = (there.z_m - here.z_m).abs();
    let run_m = CELL_M * (along * far).as_dvec2().length();
    if rise_m <= STEP_M || rise_m <= STEP_SLOPE * run_m {
        return Vec::new();
    }
    (0..=far).filter_map(|far| index(cell + along * far)).collect()
}

impl Memory {
    /// Adds the classified points of a scan that was taken from `from_m` and ended at `at`.
    pub fn add(&mut self, at: SimTime, from_m: DVec2, judged: &[Judged]) {
        let mut scan = vec![Scanned::default(); self.cells.len()];
        let overhead_from_m = overhead_from_m(judged);
        for (point, ground) in judged {
            if let Some(cell) = index(cell_of(point.truncate()))
                && point.z <= overhead_from_m[cell]
            {
                scan[cell].add(point.z, *ground);
            }
        }
        let cells = (0..SIDE).flat_map(|y| (0..SIDE).map(move |x| IVec2::new(x, y)));
        let steps: Vec<usize> = (cells.clone())
            .flat_map(|cell| STEP_DIRECTIONS.map(|along| step(&scan, cell, along)))
            .flatten()
            .collect();
        for cell in steps {
            scan[cell].is_step = true;
        }
        for cell in cells {
            let place = index(cell).expect("a cell of the grid");
            let Some(is_closed) = scan[place].is_closed() else { continue };
            let seen_from_m = middle_m(cell).distance(from_m);
            let is_better = self.cells[place].is_none_or(|known| {
                seen_from_m <= known.from_m + FARTHER_M || known.at.0 + KEPT_NS < at.0
            });
            if is_better {
                self.cells[place] = Some(Seen { at, from_m: seen_from_m, is_closed });
            }
        }
    }

    /// Cost of driving over each cell.
    fn costs(&self, now: SimTime) -> Vec<u32> {
        let known = |seen: &Option<Seen>| seen.filter(|seen| seen.at.0 + KEPT_NS >= now.0);
        let mut costs = vec![OPEN_COST; self.cells.len()];
        let reach = (KEPT_CLEAR_M / CELL_M) as i32;
        for y in 0..SIDE {
            for x in 0..SIDE {
                let here = IVec2::new(x, y);
                let seen = index(here).and_then(|cell| known(&self.cells[cell]));
                if !seen.is_some_and(|seen| seen.is_closed) {
                    continue;
                }
                for dy in -reach..=reach {
                    for dx in -reach..=reach {
                        let off = IVec2::new(dx, dy);
                        let Some(cell) = index(here + off) else { continue };
                        let cost = match off.length_squared() {
                            0 => CLOSED_COST,
                            distance if distance <= reach * reach => NEAR_CLOSED_COST,
                            _ => continue,
                        };
                        costs[cell] = costs[cell].max(cost);
                    }
                }
            }
        }
        costs
    }

    /// Chart of the costs at `now`.
    pub fn chart(&self, now: SimTime) -> Chart {
        Chart { costs: self.costs(now) }
    }
}

/// Costs of driving over each cell, for searching paths.
pub struct Chart {
    costs: Vec<u32>,
}

impl Chart {
    /// Whether the path from `from_m` in a direction stays [`KEPT_CLEAR_M`] away from closed cells over
    /// [`FREE_AHEAD_M`]. Position and direction are in the robot's own frame (metres, radians). Near the robot, only
    /// closed cells block the path, so that a robot that is already too close can leave.
    pub fn is_free(&self, from_m: DVec2, direction_rad: f64) -> bool {
        let (sin, cos) = libm::sincos(direction_rad);
        let steps = (FREE_AHEAD_M / (0.5 * CELL_M)) as usize;
        (1..=steps).map(|step| step as f64 * 0.5 * CELL_M).all(|ahead_m| {
            let cell = index(cell_of(from_m + DVec2::new(cos, sin) * ahead_m));
            let limit = if ahead_m < LEAVES_WITHIN_M { CLOSED_COST } else { NEAR_CLOSED_COST };
            cell.is_none_or(|cell| self.costs[cell] < limit)
        })
    }

    /// Waypoint on the cheapest path to the goal, at least [`AHEAD_M`] from the robot if the path is long enough. All
    /// positions are in the robot's own frame, metres. `None` if a position is outside the memory or the goal is too
    /// close.
    pub fn waypoint(&self, from_m: DVec2, goal_m: DVec2) -> Option<DVec2> {
        let (from, goal) = (cell_of(from_m), cell_of(goal_m));
        index(from).and(index(goal))?;
        // A diagonal step is 1.414 cells long.
        let least = |cell: &IVec2| {
            let off = (goal - *cell).abs();
            let (long, short) = (off.max_element() as u32, off.min_element() as u32);
            OPEN_COST * (long - short) + OPEN_COST * 141 / 100 * short
        };
        let steps = |cell: &IVec2| {
            let here = *cell;
            let around = (-1..=1).flat_map(|dy| (-1..=1).map(move |dx| IVec2::new(dx, dy)));
            around.filter(|off| *off != IVec2::ZERO).filter_map(move |off| {
                let cost = self.costs[index(here + off)?];
                let is_slanted = off.x != 0 && off.y != 0;
                Some((here + off, if is_slanted { cost * 141 / 100 } else { cost }))
            })
        };
        let near = (NEAR_GOAL_M / CELL_M) as i32;
        let is_there = |cell: &IVec2| (*cell - goal).length_squared() <= near * near;
        let (way, _) = astar(&from, steps, least, is_there)?;
        let is_ahead = |cell: &&IVec2| middle_m(**cell).distance(from_m) >= AHEAD_M;
        let far_end = if way.len() > 1 { way.last() } else { None };
        way.iter().find(is_ahead).or(far_end).map(|cell| middle_m(*cell))
    }
}

#[cfg(test)]
mod tests {
    use glam::DVec3;

    use super::super::navigation::{SECTORS, direction_rad, wrapped};
    use super::*;

    /// A field of 20 m by 20 m around the origin; `closed` returns whether a point is an obstacle.
    fn field(closed: impl Fn(DVec2) -> bool) -> Vec<Judged> {
        let places = (0..200 * 200)
            .map(|n| DVec2::new(f64::from(n % 200) * 0.1 - 9.95, f64::from(n / 200) * 0.1 - 9.95));
        let ground = |place| if closed(place) { Ground::Obstacle } else { Ground::Traversable };
        places.map(|place| (place.extend(0.0), ground(place))).collect()
    }

    /// End of a walk in steps of 0.1 m. Each step takes the free direction closest to the direction of the waypoint, as
    /// the robot does.
    fn walk(
        memory: &Memory,
        from_m: DVec2,
        goal_m: DVec2,
        closed: impl Fn(DVec2) -> bool,
    ) -> DVec2 {
        let chart = memory.chart(SimTime(1));
        let mut at_m = from_m;
        for _ in 0..2000 {
            let Some(next_m) = chart.waypoint(at_m, goal_m) else { break };
            let to_m = next_m - at_m;
            let wanted_rad = libm::atan2(to_m.y, to_m.x);
            let off = |rad: &f64| wrapped(rad - wanted_rad).abs();
            let free = (0..SECTORS).map(direction_rad).filter(|rad| chart.is_free(at_m, *rad));
            let (sin, cos) =
                libm::sincos(free.min_by(|a, b| off(a).total_cmp(&off(b))).unwrap_or(wanted_rad));
            at_m += 0.1 * DVec2::new(cos, sin);
            assert!(!closed(at_m), "{at_m}");
        }
        at_m
    }

    #[test]
    fn a_dead_end_is_left() {
        // Walls with an opening to the west; the goal is behind the closed end.
        let cup = |p: DVec2| {
            let wall = |from: DVec2, to: DVec2| p.cmpge(from).all() && p.cmple(to).all();
            wall(DVec2::new(2.0, -4.0), DVec2::new(2.5, 4.0))
                || wall(DVec2::new(-3.0, 3.5), DVec2::new(2.5, 4.0))
                || wall(DVec2::new(-3.0, -4.0), DVec2::new(2.5, -3.5))
        };
        let mut memory = Memory::default();
        memory.add(SimTime(0), DVec2::ZERO, &field(cup));
        let goal_m = DVec2::new(8.0, 0.0);
        let end_m = walk(&memory, DVec2::ZERO, goal_m, cup);
        assert!(end_m.distance(goal_m) < 2.6, "{end_m}");
    }

    #[test]
    fn what_was_seen_from_near_is_not_forgotten_from_afar() {
        let ditch = |p: DVec2| p.x.abs() < 0.6;
        let mut memory = Memory::default();
        let closed = |memory: &Memory| {
            memory.cells[index(cell_of(DVec2::new(0.1, 0.1))).unwrap()].unwrap().is_closed
        };
        memory.add(SimTime(0), DVec2::new(-2.0, 0.0), &field(ditch));
        assert!(closed(&memory));
        memory.add(SimTime(5), DVec2::new(-8.0, 0.0), &field(|_| false));
        assert!(closed(&memory));
        memory.add(SimTime(6), DVec2::new(-1.0, 0.0), &field(|_| false));
        assert!(!closed(&memory));
    }

    #[test]
    fn an_open_field_has_its_waypoint_on_the_line_to_the_goal() {
        let chart = Memory::default().chart(SimTime(0));
        let to = |east_m: f64| chart.waypoint(DVec2::ZERO, DVec2::new(east_m, 0.0));
        let waypoint_m = to(20.0).unwrap();
        assert!(waypoint_m.y.abs() < 0.3 && (waypoint_m.x - 2.0).abs() < 0.3, "{waypoint_m}");
        assert_eq!([to(1.0), to(100.0)], [None; 2]);
    }

    #[test]
    fn the_near_wall_of_a_ditch_is_closed_though_nothing_is_seen_of_it() {
        // From west to east: ground, a gap without points, the bottom of the ditch.
        let ditch = |p: DVec2| (2.0..8.0).contains(&p.x);
        let seen = |p: DVec2| !(2.0..3.1).contains(&p.x);
        let points = field(|_| false).into_iter().filter(|(point, _)| seen(point.truncate()));
        let points = points.map(|(point, ground)| {
            let z_m = if ditch(point.truncate()) { -0.8 } else { 0.0 };
            (point.with_z(z_m), ground)
        });
        let mut memory = Memory::default();
        memory.add(SimTime(0), DVec2::ZERO, &points.collect::<Vec<_>>());
        let is_closed = |x: f64| {
            let seen = memory.cells[index(cell_of(DVec2::new(x, 0.1))).unwrap()];
            seen.map(|seen| seen.is_closed)
        };
        assert_eq!([1.0, 2.1, 2.6, 5.0].map(is_closed), [false, true, true, false].map(Some));
    }

    #[test]
    fn what_is_overhead_closes_nothing_and_what_is_in_the_way_does() {
        // The ground points alone make the cell at 2 m open. Above them are obstacle points from `low_m` to `high_m`.
        let is_closed = |low_m: f64, high_m: f64| {
            let place_m = DVec2::new(2.1, 0.1);
            let levels =
                (0..40).map(|n| f64::from(n) * 0.1).filter(|z| (low_m..=high_m).contains(z));
            let upper = levels.map(|z_m| (place_m.extend(z_m), Ground::Obstacle));
            let points: Vec<Judged> = field(|_| false).into_iter().chain(upper).collect();
            let mut memory = Memory::default();
            memory.add(SimTime(0), DVec2::ZERO, &points);
            memory.cells[index(cell_of(place_m)).unwrap()].map(|seen| seen.is_closed)
        };
        let [crown, wall, rock, branch] = [(1.35, 3.5), (0.05, 3.5), (0.05, 0.65), (0.55, 0.85)];
        assert_eq!(is_closed(crown.0, crown.1), Some(false));
        for (low_m, high_m) in [wall, rock, branch] {
            assert_eq!(is_closed(low_m, high_m), Some(true), "{low_m} to {high_m} m");
        }
    }

    #[test]
    fn the_ground_under_a_crown_may_show_beside_it_only() {
        let crown = |points: &mut Vec<Judged>, x_m: f64| {
            points.extend(
                (0..9).map(|n| (DVec3::new(x_m, 0.1, 1.5 + 0.1 * f64::from(n)), Ground::Obstacle)),
            );
        };
        let seen = |ground_x_m: f64| {
            let mut points = vec![(DVec3::new(ground_x_m, 0.1, 0.0), Ground::Traversable); 3];
            crown(&mut points, 2.1);
            let mut memory = Memory::default();
            memory.add(SimTime(0), DVec2::ZERO, &points);
            memory.cells[index(cell_of(DVec2::new(2.1, 0.1))).unwrap()].map(|seen| seen.is_closed)
        };
        // If the nearest ground point is one cell away, the ground below the crown is known; if it is four cells away,
        // the ground is unknown.
        assert_eq!([seen(1.85), seen(1.1)], [None, Some(true)]);
    }

    #[test]
    fn points_that_tell_nothing_are_left_out() {
        let mut memory = Memory::default();
        memory.add(SimTime(0), DVec2::ZERO, &[(DVec3::new(1.0, 1.0, 0.0), Ground::Obstacle)]);
        let many = vec![(DVec3::new(2.0, 1.0, 0.0), Ground::Indefinite); 9];
        memory.add(SimTime(0), DVec2::ZERO, &many);
        assert!(memory.cells.iter().all(Option::is_none));
    }
}
