//! Classifies the points of a scan as traversable or not: a simple classifier in place of the paper's random forest.
//!
//! As in the paper, a point is classified by features of its five nearest neighbours: their deviation from a plane, the
//! plane's slope, and their range of heights. A point with fewer neighbours is indefinite.

use std::collections::HashMap;

use glam::DVec3;
use nalgebra::{Matrix3, SymmetricEigen};

/// Number of neighbours of a point.
const NEIGHBOURS: usize = 5;
/// Largest distance of a neighbour, metres.
const REACH_M: f64 = 0.5;
/// Edge length of the cubes for thinning, metres; one point of each cube is kept.
const CUBE_M: f64 = 0.1;
/// Largest root mean square distance of traversable points from their plane, metres: three times the scanner's noise.
const MOST_RESIDUE_M: f64 = 0.06;
/// Smallest vertical component of the unit normal of a traversable plane: a slope of 30 degrees.
const LEAST_UPRIGHT: f64 = 0.866;
/// Largest difference of heights among neighbouring points on traversable ground, metres.
const MOST_STEP_M: f64 = 0.25;

/// Class of a point: whether the robot can drive over it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ground {
    /// Ground that the robot can drive over.
    Traversable,
    /// Ground or object that the robot cannot drive over.
    Obstacle,
    /// Undecided: the point has too few neighbours.
    Indefinite,
}

/// A point with its class.
pub type Judged = (DVec3, Ground);

fn key(point: DVec3, size_m: f64) -> [i64; 3] {
    (point / size_m).floor().as_i64vec3().to_array()
}

/// The first point in each cube, in order.
fn thinned(points: &[DVec3]) -> Vec<DVec3> {
    let mut taken = HashMap::new();
    let is_first = |point: &&DVec3| taken.insert(key(**point, CUBE_M), ()).is_none();
    points.iter().filter(is_first).copied().collect()
}

/// Classifies `points`, which are levelled (z up, metres); one point is used per cube of 0.1 m.
pub fn classify(points: &[DVec3]) -> Vec<Judged> {
    let points = thinned(points);
    let mut cells: HashMap<[i64; 3], Vec<u32>> = HashMap::new();
    for (index, point) in points.iter().enumerate() {
        cells.entry(key(*point, REACH_M)).or_default().push(index as u32);
    }
    points.iter().map(|point| (*point, judge(*point, &points, &cells))).collect()
}

fn judge(point: DVec3, points: &[DVec3], cells: &HashMap<[i64; 3], Vec<u32>>) -> Ground {
    // The nearest points, in order of distance; the point itself is one of them.
    let mut nearest = [(f64::MAX, DVec3::ZERO); NEIGHBOURS + 1];
    let [x, y, z] = key(point, REACH_M);
    let around =
        (-1..=1).flat_map(|i| (-1..=1).flat_map(move |j| (-1..=1).map(move |k| [i, j, k])));
    for [i, j, k] in around {
        for index in cells.get(&[x + i, y + j, z + k]).into_iter().flatten() {
            let other = points[*index as usize];
            let distance = other.distance_squared(point);
            let place = nearest.partition_point(|(known, _)| *known <= distance);
            if place < nearest.len() {
                nearest[place..].rotate_right(1);
                nearest[place] = (distance, other);
            }
        }
    }
    if nearest[NEIGHBOURS].0 > REACH_M * REACH_M {
        return Ground::Indefinite;
    }
    let mean = nearest.iter().map(|(_, place)| *place).sum::<DVec3>() / nearest.len() as f64;
    let mut spread = Matrix3::zeros();
    for (_, place) in nearest {
        let off = nalgebra::Vector3::from((place - mean).to_array());
        spread += off * off.transpose();
    }
    let axes = SymmetricEigen::new(spread / nearest.len() as f64);
    let (thin, variance) = axes.eigenvalues.argmin();
    let upright = axes.eigenvectors[(2, thin)].abs();
    let heights = nearest.iter().map(|(_, place)| place.z);
    let step_m = heights.clone().fold(f64::MIN, f64::max) - heights.fold(f64::MAX, f64::min);
    let residue_m = variance.max(0.0).sqrt();
    if residue_m > MOST_RESIDUE_M || upright < LEAST_UPRIGHT || step_m > MOST_STEP_M {
        Ground::Obstacle
    } else {
        Ground::Traversable
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plane(normal: DVec3) -> Vec<DVec3> {
        let (a, b) = normal.normalize().any_orthonormal_pair();
        let grid = (0..400).map(|n| (f64::from(n % 20) * 0.17, f64::from(n / 20) * 0.17));
        grid.map(|(u, v)| a * u + b * v).collect()
    }

    fn share(points: &[DVec3], ground: Ground) -> f64 {
        let judged = classify(points);
        judged.iter().filter(|(_, is)| *is == ground).count() as f64 / judged.len() as f64
    }

    #[test]
    fn slopes_are_told_from_walls() {
        assert_eq!(share(&plane(DVec3::Z), Ground::Traversable), 1.0);
        assert_eq!(share(&plane(DVec3::new(0.3, 0.0, 1.0)), Ground::Traversable), 1.0);
        assert_eq!(share(&plane(DVec3::new(1.0, 0.0, 1.0)), Ground::Obstacle), 1.0);
        assert_eq!(share(&plane(DVec3::X), Ground::Obstacle), 1.0);
    }

    #[test]
    fn a_lonely_point_is_indefinite() {
        let points: Vec<_> = (0..20).map(|n| DVec3::X * 2.0 * f64::from(n)).collect();
        assert_eq!(share(&points, Ground::Indefinite), 1.0);
    }
}
