//! Trails (`.vprp`), which are kept clear of plants.

use std::collections::HashMap;
use std::path::Path;

use glam::DVec2;

use super::super::error::{Fault, Place, Problem};

/// Least distance between plants and the middle of a trail, metres.
const CLEARANCE_M: f64 = 1.0;

/// Smallest distance from the previous point of a path, metres; closer points are skipped.
const CLOSEST_M: f64 = 0.01;
/// Largest total number of pieces of all paths. A piece is at most one metre long.
pub const MAX_PIECES: u64 = 1_000_000;

/// Paths that are kept clear of plants.
#[derive(Default)]
pub struct Trails {
    /// Pieces of paths, by the cells (1 m wide) of their two ends. The map is never iterated, because the order of a
    /// hash map is random.
    cells: HashMap<(i64, i64), Vec<[DVec2; 2]>>,
}

impl Trails {
    /// Adds a path of at most [`MAX_PIECES`] pieces.
    pub fn add(&mut self, path: &[DVec2]) {
        let path = thinned(path);
        for pair in path.windows(2) {
            let (start, end) = (pair[0], pair[1]);
            let pieces = pieces(start, end);
            for piece in 0..pieces as u32 {
                let at = |n: u32| start.lerp(end, f64::from(n) / pieces);
                let segment = [at(piece), at(piece + 1)];
                let cell = |p: DVec2| (p.x.floor() as i64, p.y.floor() as i64);
                let (first, last) = (cell(segment[0]), cell(segment[1]));
                self.cells.entry(first).or_default().push(segment);
                if last != first {
                    self.cells.entry(last).or_default().push(segment);
                }
            }
        }
    }

    /// Whether `p` is less than `CLEARANCE_M` from the middle of a trail.
    pub fn covers(&self, p: DVec2) -> bool {
        let (x, y) = (p.x.floor() as i64, p.y.floor() as i64);
        // A piece can cross a cell that contains neither of its ends: search one cell further.
        let reach = CLEARANCE_M.ceil() as i64 + 1;
        (x - reach..=x + reach).any(|x| {
            (y - reach..=y + reach).any(|y| {
                let near = self.cells.get(&(x, y)).into_iter().flatten();
                near.into_iter().any(|&[a, b]| distance(p, a, b) < CLEARANCE_M)
            })
        })
    }
}

/// Number of equal pieces into which the line from `start` to `end` is divided. No piece is longer than a cell, so that
/// each crosses few cells.
fn pieces(start: DVec2, end: DVec2) -> f64 {
    start.distance(end).ceil().max(1.0)
}

/// Number of pieces of a path.
pub fn count(path: &[DVec2]) -> f64 {
    thinned(path).windows(2).map(|pair| pieces(pair[0], pair[1])).sum()
}

/// Removes points that almost equal the previous one from a path. A recorded drive has many of them where the vehicle
/// stood still.
fn thinned(path: &[DVec2]) -> Vec<DVec2> {
    let mut kept: Vec<DVec2> = Vec::new();
    for &point in path {
        if kept.last().is_none_or(|last| last.distance(point) >= CLOSEST_M) {
            kept.push(point);
        }
    }
    kept
}

/// Distance of `p` from the segment between `a` and `b`.
fn distance(p: DVec2, a: DVec2, b: DVec2) -> f64 {
    let along = b - a;
    let length2 = along.length_squared();
    let s = if length2 > 0.0 { ((p - a).dot(along) / length2).clamp(0.0, 1.0) } else { 0.0 };
    p.distance(a + along * s)
}

/// Reads x and y of the poses. Between the lines `@Data` and `@END`, the line of a pose has eight numbers, separated by
/// blanks or colons. Lines with more or fewer words are ignored.
pub fn parse(bytes: &[u8], file: &Path) -> Result<Vec<DVec2>, Fault> {
    let text = String::from_utf8_lossy(bytes);
    let mut points = Vec::new();
    let mut lines = text.lines().enumerate();
    if !lines.any(|(_, line)| line.trim().starts_with("@Data")) {
        let problem = Problem::Syntax("has no line `@Data`".into());
        return Err(Fault::new(Place::of(file), problem));
    }
    for (index, line) in lines {
        if line.trim().starts_with("@END") {
            break;
        }
        let words: Vec<&str> =
            line.split([' ', '\t', ':']).filter(|word| !word.trim().is_empty()).collect();
        // Lines of parts, such as wheels, have no time.
        if words.len() != 8 {
            continue;
        }
        let numbers: Option<Vec<f64>> = words
            .iter()
            .map(|word| word.trim().parse().ok().filter(|n: &f64| n.is_finite()))
            .collect();
        match numbers {
            Some(numbers) => points.push(DVec2::new(numbers[1], numbers[2])),
            None => {
                let problem = Problem::wrong("eight finite numbers", line.trim());
                return Err(Fault::new(Place::line(file, index + 1), problem));
            }
        }
    }
    Ok(points)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn poses_are_read_and_parts_skipped() {
        let text = "Version 1\n@Data\n0.0:1 2 3:1 0 0 0\n5 6 7:1 0 0 0\n0.1: 4 5 6 :1 0 0 0\n@END\n\
                    0.2:9 9 9:1 0 0 0\n";
        let points = parse(text.as_bytes(), Path::new("t.vprp")).unwrap();
        assert_eq!(points, [DVec2::new(1.0, 2.0), DVec2::new(4.0, 5.0)]);
        let told =
            |text: &str| parse(text.as_bytes(), Path::new("t.vprp")).unwrap_err().to_string();
        assert_eq!(
            told("@Data\n0:nan 2 3:1 0 0 0\n"),
            "t.vprp:2: expected eight finite numbers, got 0:nan 2 3:1 0 0 0"
        );
        assert_eq!(told("0:1 2 3:1 0 0 0\n"), "t.vprp: has no line `@Data`");
    }

    #[test]
    fn trails_cover_a_metre_to_each_side() {
        let mut trails = Trails::default();
        trails.add(&[DVec2::new(-30.0, -10.0), DVec2::new(30.0, 10.0)]);
        let along = DVec2::new(3.0, 1.0).normalize();
        let across = along.perp();
        for step in -90..90 {
            let middle = along * (f64::from(step) / 3.0);
            for side in [-1.0, 1.0] {
                assert!(trails.covers(middle + across * 0.99 * side), "{middle}");
                assert!(!trails.covers(middle + across * 1.01 * side), "{middle}");
            }
        }
        assert!(!trails.covers(DVec2::new(50.0, 10.0)));
    }

    /// A drive that stood still for an hour is reduced to one point. Queries stay fast.
    #[test]
    fn points_on_top_of_each_other_are_one() {
        let stood: Vec<DVec2> =
            (0..360_000).map(|n| DVec2::splat(f64::from(n % 2) * 1e-3)).collect();
        assert_eq!(count(&stood), 0.0);
        let mut trails = Trails::default();
        trails.add(&[&stood[..], &[DVec2::new(0.0, 5.5)]].concat());
        assert_eq!(trails.cells.values().map(Vec::len).sum::<usize>(), 6 + 5);
        assert!(trails.covers(DVec2::new(0.5, 3.0)));
        assert_eq!(count(&[DVec2::ZERO, DVec2::new(1.0e9, 0.0)]), 1.0e9);
    }
}
