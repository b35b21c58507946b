//! Navigation: a polar map of traversable ground, and the choice of a direction.
//!
//! Equations (7) to (11) of the Andabata paper (Martínez et al. 2020). Two rules are our own: a direction
//! must be free for the robot's width, and the robot does not turn back while another direction is free.

use std::f64::consts::{PI, TAU};

use glam::DVec2;

use super::classify::Ground;

/// Number of directions of a map.
pub const SECTORS: usize = 32;
/// Number of rings of a map.
pub const RINGS: usize = 9;
/// Equation (7): growth of the rings' radii.
const TAU_RINGS: f64 = 1.0682;
/// Outer radius of the map, metres.
const RIM_M: f64 = 10.0;
/// Smallest share of obstacle points with which a cell is red.
const RED_SHARE: f64 = 0.15;
/// Share of traversable points above which a cell is green.
const GREEN_SHARE: f64 = 0.85;
/// Weight of the difference from the robot's heading in equation (9).
const K1: f64 = 0.15;
/// Weight of the difference from the previous direction in equation (9).
const K2: f64 = 0.15;
/// Weight of the green cells in a direction in equation (10).
const K3: f64 = 1.0;
/// Weight of the green cells in the neighbouring directions in equation (10).
const K4: f64 = 0.3;
/// Half-width of the robot's path, metres.
const HALF_WAY_M: f64 = 0.65;
/// Length of the path ahead that must be free of red cells, metres.
const CLEAR_AHEAD_M: f64 = 3.0;
/// Largest change of direction from one map to the next, radians; a larger one is chosen only if no other direction is
/// free.
const MOST_TURN_RAD: f64 = 0.5 * PI;

/// Class of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cell {
    /// The cell has no points.
    #[default]
    Empty,
    /// The robot can drive over the cell.
    Green,
    /// The robot cannot drive over the cell.
    Red,
    /// Too few obstacle points for red, too few traversable points for green.
    Grey,
}

/// A polar map around the robot. The first sector is centred on east, angles are counterclockwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Map {
    /// Cells by sector, then by ring from the centre.
    pub cells: [[Cell; RINGS]; SECTORS],
}

/// Radius number `j` by equation (7), metres. Ring `j`, counted from 1, is between the radii `j` and `j + 1`.
pub fn radius_m(j: usize) -> f64 {
    let grown = |j: usize| libm::pow(TAU_RINGS, j as f64) - 1.0;
    RIM_M * grown(j) / grown(RINGS + 1)
}

/// Reduces an angle to -π..=π.
pub fn wrapped(angle_rad: f64) -> f64 {
    angle_rad - TAU * libm::round(angle_rad / TAU)
}

/// Direction of the middle of a sector, radians from east.
pub fn direction_rad(sector: usize) -> f64 {
    wrapped(sector as f64 * TAU / SECTORS as f64)
}

impl Map {
    /// Map around `origin_m` of points on the ground. All positions are in the same frame: x east, y north, metres.
    pub fn around(origin_m: DVec2, points: impl Iterator<Item = (DVec2, Ground)>) -> Self {
        let limits: [f64; RINGS + 1] = std::array::from_fn(|j| radius_m(j + 1));
        let mut counts = [[[0u32; 3]; RINGS]; SECTORS];
        for (place_m, ground) in points {
            let offset = place_m - origin_m;
            let range_m = offset.length();
            let ring = limits.partition_point(|limit| *limit <= range_m);
            if !(1..=RINGS).contains(&ring) {
                continue;
            }
            let turns = libm::atan2(offset.y, offset.x) / TAU;
            let sector = libm::round(turns * SECTORS as f64).rem_euclid(SECTORS as f64) as usize;
            counts[sector % SECTORS][ring - 1][ground as usize] += 1;
        }
        Self { cells: counts.map(|rings| rings.map(cell)) }
    }

    /// Number of green cells of a sector, from the centre to the first red cell or the rim.
    fn green(&self, sector: usize) -> f64 {
        let open = self.cells[sector % SECTORS].iter().take_while(|cell| **cell != Cell::Red);
        open.filter(|cell| **cell == Cell::Green).count() as f64
    }

    /// Ease of driving in the direction of a sector, by equation (10): at least 1; it increases with the number of
    /// green cells.
    fn ease(&self, sector: usize) -> f64 {
        let own = self.green(sector);
        let (left, right) = (self.green(sector + 1), self.green(sector + SECTORS - 1));
        K3 * (1.0 + own) + K4 * (left + right - (left - right).abs())
    }

    /// Whether no red cell is near the first [`CLEAR_AHEAD_M`] of the path in this direction. Martínez et al. 2020 have
    /// no such rule: by equation (8) alone, the direction of the goal has no cost even if an obstacle is in the way.
    fn is_free(&self, sector: usize) -> bool {
        let ahead = direction_rad(sector);
        !self.cells.iter().enumerate().any(|(other, rings)| {
            let off_rad = wrapped(direction_rad(other) - ahead);
            let half_cell_rad = PI / SECTORS as f64;
            let nearest_rad = (off_rad.abs() - half_cell_rad).max(0.0);
            rings.iter().enumerate().any(|(ring, cell)| {
                let near_m = radius_m(ring + 1);
                *cell == Cell::Red
                    && near_m < CLEAR_AHEAD_M
                    && nearest_rad < 0.5 * PI
                    && near_m * libm::sin(nearest_rad) < HALF_WAY_M
            })
        })
    }

    /// The best free direction by equations (8) and (9), for a goal in the direction `goal_rad`, a robot with the
    /// heading `heading_rad`, and the previously chosen direction `previous_rad`. All angles are in World, radians
    /// counterclockwise from east. `is_free` returns whether the direction of a sector is free. `None` if no direction
    /// is free.
    pub fn best(
        &self,
        goal_rad: f64,
        heading_rad: f64,
        previous_rad: f64,
        is_free: impl Fn(usize) -> bool,
    ) -> Option<f64> {
        let cost = |sector: usize| {
            let off = |from_rad: f64| wrapped(direction_rad(sector) - from_rad).abs();
            let way = off(goal_rad) + K1 * off(heading_rad) + K2 * off(previous_rad);
            way / self.ease(sector)
        };
        let free = (0..SECTORS).filter(|sector| is_free(*sector));
        free.min_by(|a, b| cost(*a).total_cmp(&cost(*b))).map(direction_rad)
    }

    /// Like [`Map::best`], for a robot that knows only this map.
    ///
    /// A robot that follows an obstacle does not turn back while another direction is free. This rule is our own too:
    /// by equation (8) alone, the robot drives to and fro in front of a ditch, because it sees more and more of the
    /// ground behind the ditch.
    pub fn best_alone(&self, goal_rad: f64, heading_rad: f64, previous_rad: f64) -> Option<f64> {
        let goes_on =
            |sector: usize| wrapped(direction_rad(sector) - previous_rad).abs() <= MOST_TURN_RAD;
        let best = |is_free: &dyn Fn(usize) -> bool| {
            self.best(goal_rad, heading_rad, previous_rad, is_free)
        };
        best(&|sector| goes_on(sector) && self.is_free(sector))
            .or_else(|| best(&|sector| self.is_free(sector)))
    }
}

fn cell(counts: [u32; 3]) -> Cell {
    let all = f64::from(counts.iter().sum::<u32>());
    let share = |ground: Ground| f64::from(counts[ground as usize]) / all;
    if all == 0.0 {
        Cell::Empty
    } else if share(Ground::Obstacle) >= RED_SHARE {
        Cell::Red
    } else if share(Ground::Traversable) > GREEN_SHARE {
        Cell::Green
    } else {
        Cell::Grey
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_are_the_papers() {
        let printed = [0.730, 1.510, 2.343, 3.232, 4.183, 5.198, 6.282, 7.441, 8.678, 10.0];
        for (j, printed_m) in printed.into_iter().enumerate() {
            assert!((radius_m(j + 1) - printed_m).abs() < 1e-3, "{j}: {}", radius_m(j + 1));
        }
    }

    fn at(range_m: f64, angle_rad: f64) -> DVec2 {
        let (sin, cos) = libm::sincos(angle_rad);
        DVec2::new(cos, sin) * range_m
    }

    /// Map of a grid of points all around the robot. The points for which `obstacle` returns true are obstacles, the
    /// others traversable.
    fn map(obstacle: impl Fn(DVec2) -> bool) -> Map {
        let places = (0..100).flat_map(|ring| {
            (0..360)
                .map(move |degree| at(0.8 + 0.09 * f64::from(ring), f64::from(degree).to_radians()))
        });
        Map::around(
            DVec2::ZERO,
            places.map(|place| {
                (place, if obstacle(place) { Ground::Obstacle } else { Ground::Traversable })
            }),
        )
    }

    #[test]
    fn an_open_field_is_driven_straight_to_the_goal() {
        let open = map(|_| false);
        assert!(open.cells.iter().flatten().all(|cell| *cell == Cell::Green));
        for sector in 0..SECTORS {
            let goal = direction_rad(sector);
            assert_eq!(open.best_alone(goal, goal, goal), Some(goal));
        }
    }

    #[test]
    fn a_wall_ahead_is_driven_around() {
        let wall = map(|place| place.x > 1.8 && place.x < 2.4 && place.y.abs() < 1.5);
        let chosen = wall.best_alone(0.0, 0.0, 0.0).unwrap();
        assert!(chosen.abs() > 0.5 && chosen.abs() < 1.6, "{chosen}");
    }

    #[test]
    fn who_is_shut_in_goes_nowhere() {
        assert_eq!(
            map(|place| place.length() > 1.0 && place.length() < 2.0).best_alone(0.0, 0.0, 0.0),
            None
        );
    }

    #[test]
    fn shares_make_colours() {
        assert_eq!(cell([0, 0, 0]), Cell::Empty);
        let [traversable, obstacle, unknown] =
            [Ground::Traversable, Ground::Obstacle, Ground::Indefinite].map(|g| g as usize);
        let with = |pairs: &[(usize, u32)]| {
            let mut counts = [0; 3];
            pairs.iter().for_each(|(ground, count)| counts[*ground] = *count);
            cell(counts)
        };
        assert_eq!(with(&[(traversable, 85), (obstacle, 15)]), Cell::Red);
        assert_eq!(with(&[(traversable, 86), (obstacle, 14)]), Cell::Green);
        assert_eq!(with(&[(traversable, 85), (unknown, 15)]), Cell::Grey);
    }
}
