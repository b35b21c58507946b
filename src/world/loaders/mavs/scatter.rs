//! `Random`: copies at random positions in a polygon.

use std::collections::HashMap;

use glam::{DAffine3, DMat3, DVec2, DVec3};
use rand_xoshiro::SplitMix64;

use super::super::MAX_INSTANCES;
use super::super::error::{Fault, Place};
use super::super::json::Node;
use crate::frames::quat_about;
use crate::world::random::{self, uniform};

/// Largest number of corners of a polygon.
const MAX_CORNERS: usize = 1000;
/// Largest number of copies of an object with a minimum distance between copies. Each copy is compared with its
/// neighbours.
const MAX_SPACED: u64 = 1_000_000;
/// Minimum distances below this have no effect, metres.
const CLOSEST_M: f64 = 1.0e-4;
/// Largest coordinate of a polygon's corner, metres. No sensor has such a range.
const MAX_CORNER_M: f64 = super::super::MAX_COORDINATE_M;
/// Largest number of attempts to find a position for a copy that keeps the minimum distance.
const MAX_TRIES: u32 = 200;

/// Content of a `Random` object.
pub struct Scatter {
    number: u64,
    polygon: Polygon,
    offset: DVec3,
    scale: Scale,
    spacing: Option<f64>,
}

/// Ranges from which the scales of the copies are sampled.
enum Scale {
    /// One random scale for all axes.
    Uniform([f64; 2]),
    /// A random scale for each axis.
    EachAxis([[f64; 2]; 3]),
}

/// Position, scale and rotation of one copy.
pub struct Copy {
    /// Position east and north, metres.
    pub place: DVec2,
    offset: DVec3,
    yaw: f64,
    scale: DVec3,
}

impl Copy {
    /// Transform from mesh to World, for a ground height of `height` metres.
    pub fn pose(&self, height: f64) -> DAffine3 {
        let axes =
            DMat3::from_quat(quat_about(DVec3::Z, self.yaw)) * DMat3::from_diagonal(self.scale);
        DAffine3::from_mat3_translation(axes, self.place.extend(height) + self.offset)
    }
}

impl Scatter {
    /// Reads a `Random` object.
    pub fn read(node: &Node) -> Result<Self, Fault> {
        let object = node.object()?;
        let spacing = object.or("Minimum Spacing", 0.0, Node::number)?;
        let spacing = Some(spacing).filter(|&spacing| spacing >= CLOSEST_M);
        let number = object.need("Number", "the number of copies")?;
        let number = match spacing {
            None => number.whole(MAX_INSTANCES as u64)?,
            Some(_) => number.whole(MAX_SPACED)?,
        };
        let polygon = Polygon::read(&object.need("Polygon", "an array of points [x, y]")?)?;
        let offset = object.or("Offset", [0.0; 3], Node::numbers)?.into();
        let scale = object.get("Scale").map_or(Ok(Scale::Uniform([1.0; 2])), |node| {
            let expected = "[low, high], or three of these for x, y and z";
            let range = |node: &Node| {
                let numbers = node.numbers::<2>().map_err(|_| node.wrong(expected))?;
                if numbers[0] > numbers[1] { Err(node.wrong(expected)) } else { Ok(numbers) }
            };
            let entries = node.array()?;
            match entries.as_slice() {
                [x, y, z] => Ok(Scale::EachAxis([range(x)?, range(y)?, range(z)?])),
                _ => Ok(Scale::Uniform(range(&node)?)),
            }
        })?;
        Ok(Self { number, polygon, offset, scale, spacing })
    }

    /// Requested number of copies.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Number of corners of a polygon without area; `None` if the polygon has an area.
    pub fn flat_corners(&self) -> Option<usize> {
        Some(self.polygon.line.len()).filter(|&corners| corners > 0)
    }

    /// Passes each copy to `give`. If the minimum distance leaves too little space, there are fewer copies, and a
    /// warning names `place`.
    pub fn copies(&self, seed: u64, kind: u64, place: &Place, mut give: impl FnMut(Copy)) {
        let mut taken = self.spacing.map(Spaced::new);
        let mut given = 0;
        for index in 0..self.number {
            let mut rng = random::stream(seed, kind, index);
            let spot = match &mut taken {
                None => self.polygon.draw(&mut rng),
                Some(taken) => {
                    let mut tries = (0..MAX_TRIES).map(|_| self.polygon.draw(&mut rng));
                    let Some(spot) = tries.find(|&spot| taken.take(spot)) else { break };
                    spot
                }
            };
            let yaw = random::angle(&mut rng);
            let mut within = |[low, high]: [f64; 2]| uniform(&mut rng, low, high);
            let scale = match self.scale {
                Scale::Uniform(range) => DVec3::splat(within(range)),
                Scale::EachAxis([x, y, z]) => DVec3::new(within(x), within(y), within(z)),
            };
            let offset = self.offset;
            give(Copy { place: spot, offset, yaw, scale });
            given += 1;
        }
        if given < self.number {
            let asked = self.number;
            tracing::warn!("{place}: only {given} of {asked} copies keep the minimum spacing");
        }
    }
}

/// Positions that keep a minimum distance from each other.
struct Spaced {
    spacing: f64,
    /// Positions by square cells as wide as the minimum distance. The map is never iterated, because the order of a
    /// hash map is random.
    cells: HashMap<(i64, i64), Vec<DVec2>>,
}

impl Spaced {
    fn new(spacing: f64) -> Self {
        Self { spacing, cells: HashMap::new() }
    }

    /// Adds the position `p` and returns true if `p` is far enough from all positions added before.
    fn take(&mut self, p: DVec2) -> bool {
        let cell = (p / self.spacing).floor().as_i64vec2();
        for x in -1..=1 {
            for y in -1..=1 {
                let key = (cell.x.saturating_add(x), cell.y.saturating_add(y));
                let near = self.cells.get(&key).into_iter().flatten();
                if near.into_iter().any(|other| other.distance(p) < self.spacing) {
                    return false;
                }
            }
        }
        self.cells.entry((cell.x, cell.y)).or_default().push(p);
        true
    }
}

/// A polygon, divided into trapezoids between the y coordinates of its corners, so that positions can be sampled
/// uniformly for any shape.
struct Polygon {
    trapezoids: Vec<Trapezoid>,
    /// Cumulative area up to and including each trapezoid.
    areas: Vec<f64>,
    /// Corners of a polygon with an area of 0, such as a line or a point. Empty for other polygons.
    line: Vec<DVec2>,
}

/// A trapezoid between two values of y. `low` has the x coordinates of its left and right side at the lower y, `high`
/// those at the upper y.
struct Trapezoid {
    y: [f64; 2],
    low: [f64; 2],
    high: [f64; 2],
}

impl Polygon {
    fn read(node: &Node) -> Result<Self, Fault> {
        let expected = format!(
            "an array of 1 to {MAX_CORNERS} points [x, y] within ±{MAX_CORNER_M} m around an area"
        );
        let entries = node.array()?;
        if !(1..=MAX_CORNERS).contains(&entries.len()) {
            return Err(node.wrong(expected));
        }
        let corners = entries
            .iter()
            .map(|point| point.numbers::<2>().map(DVec2::from))
            .collect::<Result<Vec<DVec2>, Fault>>()?;
        if corners.iter().any(|corner| corner.abs().max_element() > MAX_CORNER_M) {
            return Err(node.wrong(expected));
        }
        let flat = || Self { trapezoids: Vec::new(), areas: Vec::new(), line: corners.clone() };
        Ok(Self::new(&corners).unwrap_or_else(flat))
    }

    /// Divides a polygon into trapezoids; `None` if it has no area.
    fn new(corners: &[DVec2]) -> Option<Self> {
        let mut levels: Vec<f64> = corners.iter().map(|corner| corner.y).collect();
        levels.sort_by(f64::total_cmp);
        levels.dedup();
        let mut polygon = Self { trapezoids: Vec::new(), areas: Vec::new(), line: Vec::new() };
        let mut total = 0.0;
        for pair in levels.windows(2) {
            let (bottom, top) = (pair[0], pair[1]);
            let middle = bottom + (top - bottom) / 2.0;
            let next = corners.iter().cycle().skip(1);
            // The positions where edges cross this band.
            let mut crossings: Vec<[f64; 3]> = corners
                .iter()
                .zip(next)
                .filter(|(a, b)| (a.y <= bottom && b.y >= top) || (b.y <= bottom && a.y >= top))
                .map(|(a, b)| {
                    let x = |y: f64| a.x + (b.x - a.x) * (y - a.y) / (b.y - a.y);
                    [x(middle), x(bottom), x(top)]
                })
                .collect();
            crossings.sort_by(|a, b| a[0].total_cmp(&b[0]));
            for sides in crossings.as_chunks::<2>().0 {
                let trapezoid = Trapezoid {
                    y: [bottom, top],
                    low: [sides[0][1], sides[1][1]],
                    high: [sides[0][2], sides[1][2]],
                };
                total += trapezoid.area();
                polygon.trapezoids.push(trapezoid);
                polygon.areas.push(total);
            }
        }
        (total > 0.0 && total.is_finite()).then_some(polygon)
    }

    fn draw(&self, rng: &mut SplitMix64) -> DVec2 {
        if !self.line.is_empty() {
            return self.draw_on_line(rng);
        }
        let total = self.areas.last().copied().unwrap_or_default();
        let pick = uniform(rng, 0.0, total);
        let index = self.areas.partition_point(|&area| area <= pick);
        self.trapezoids[index.min(self.trapezoids.len() - 1)].draw(rng)
    }

    /// A position on the edges of a polygon without area, uniform over their length.
    fn draw_on_line(&self, rng: &mut SplitMix64) -> DVec2 {
        let ends = || self.line.iter().zip(self.line.iter().cycle().skip(1));
        let length: f64 = ends().map(|(a, b)| a.distance(*b)).sum();
        let mut left = uniform(rng, 0.0, length);
        for (a, b) in ends() {
            let edge = a.distance(*b);
            if left < edge {
                return a.lerp(*b, left / edge);
            }
            left -= edge;
        }
        self.line[0]
    }
}

impl Trapezoid {
    fn widths(&self) -> [f64; 2] {
        [self.low, self.high].map(|[left, right]| (right - left).max(0.0))
    }

    fn area(&self) -> f64 {
        let [low, high] = self.widths();
        (self.y[1] - self.y[0]) * (low + high) / 2.0
    }

    fn draw(&self, rng: &mut SplitMix64) -> DVec2 {
        let [low, high] = self.widths();
        // Inverts the cumulative area. This form also holds for a trapezoid with equal widths.
        let share = uniform(rng, 0.0, 1.0);
        let root = (low * low + (high * high - low * low) * share).sqrt();
        let up = if low + root > 0.0 { share * (low + high) / (low + root) } else { 0.0 };
        let left = self.low[0] + (self.high[0] - self.low[0]) * up;
        let right = self.low[1] + (self.high[1] - self.low[1]) * up;
        let y = self.y[0] + (self.y[1] - self.y[0]) * up;
        DVec2::new(uniform(rng, left, right), y)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn polygon(corners: &[[f64; 2]]) -> Option<Polygon> {
        let corners: Vec<DVec2> = corners.iter().map(|&c| c.into()).collect();
        Polygon::new(&corners)
    }

    #[test]
    fn draws_fill_a_polygon_that_is_not_convex_evenly() {
        // The letter U, open at the top: three unit squares wide and two high, without the upper middle square.
        let u = [[0., 0.], [3., 0.], [3., 2.], [2., 2.], [2., 1.], [1., 1.], [1., 2.], [0., 2.]];
        let polygon = polygon(&u).unwrap();
        assert!((polygon.areas.last().unwrap() - 5.0).abs() < 1e-12);
        let mut rng = random::stream(1, 2, 3);
        let mut counts = [0; 6];
        for _ in 0..50_000 {
            let p = polygon.draw(&mut rng);
            counts[(p.y.floor() * 3.0 + p.x.floor()) as usize] += 1;
        }
        assert_eq!(counts[4], 0, "the gap");
        for count in [counts[0], counts[1], counts[2], counts[3], counts[5]] {
            assert!((9_500..10_500).contains(&count), "{counts:?}");
        }
    }

    #[test]
    fn draws_fill_slanted_sides_evenly() {
        let triangle = polygon(&[[0., 0.], [4., 0.], [0., 4.]]).unwrap();
        let mut rng = random::stream(1, 2, 3);
        let (mut sum, count) = (DVec2::ZERO, 50_000);
        for _ in 0..count {
            let p = triangle.draw(&mut rng);
            assert!(p.x >= 0.0 && p.y >= 0.0 && p.x + p.y <= 4.0 + 1e-9);
            sum += p;
        }
        let mean = sum / f64::from(count);
        assert!((mean - DVec2::splat(4.0 / 3.0)).length() < 0.02, "{mean}");
    }

    #[test]
    fn polygons_without_area_are_none() {
        assert!(polygon(&[[0., 0.], [1., 1.], [2., 2.]]).is_none());
        assert!(polygon(&[[0., 1.], [1., 1.], [2., 1.]]).is_none());
    }

    /// Other programs place copies on the point or the line, too.
    #[test]
    fn polygons_without_area_are_points_and_lines() {
        let drawn = |corners: &[[f64; 2]]| -> Vec<DVec2> {
            let line = corners.iter().map(|&c| c.into()).collect();
            let polygon = Polygon { trapezoids: Vec::new(), areas: Vec::new(), line };
            let mut rng = random::stream(1, 2, 3);
            (0..10_000).map(|_| polygon.draw(&mut rng)).collect()
        };
        assert!(drawn(&[[4.0, -2.0]]).iter().all(|&p| p == DVec2::new(4.0, -2.0)));
        assert!(drawn(&[[4.0, -2.0]; 3]).iter().all(|&p| p == DVec2::new(4.0, -2.0)));
        let line = drawn(&[[0.0, 0.0], [10.0, 10.0]]);
        assert!(line.iter().all(|p| (0.0..=10.0).contains(&p.x) && (p.x - p.y).abs() < 1e-9));
        let mean = line.iter().map(|p| p.x).sum::<f64>() / line.len() as f64;
        assert!((mean - 5.0).abs() < 0.1, "{mean}");
    }

    #[test]
    fn spaced_copies_keep_their_distance() {
        let scatter = |number, spacing| Scatter {
            number,
            polygon: polygon(&[[0., 0.], [20., 0.], [20., 20.], [0., 20.]]).unwrap(),
            offset: DVec3::ZERO,
            scale: Scale::EachAxis([[1.0, 2.0], [3.0, 3.0], [-2.0, -1.0]]),
            spacing: Some(spacing),
        };
        let place = Place::of(std::path::Path::new("s"));
        let copies_of = |scatter: Scatter| {
            let mut copies = Vec::new();
            scatter.copies(9, 0, &place, |copy| copies.push(copy));
            copies
        };
        let copies = copies_of(scatter(80, 1.0));
        assert_eq!(copies.len(), 80);
        for (index, copy) in copies.iter().enumerate() {
            assert!(copies[..index].iter().all(|other| other.place.distance(copy.place) >= 1.0));
            assert!((1.0..2.0).contains(&copy.scale.x) && copy.scale.y == 3.0);
            assert!((-2.0..-1.0).contains(&copy.scale.z));
        }
        // More copies are requested than fit.
        let full = copies_of(scatter(1000, 5.0));
        assert!((12..30).contains(&full.len()), "{}", full.len());
    }
}
