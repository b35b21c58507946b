//! Cuts polygons into triangles.

use glam::{DVec2, DVec3};

/// Largest sine of an inward turn that still counts as straight, because corners in files are rounded.
const SLACK: f64 = 1.0e-4;
/// Largest number of corners of a polygon that is searched for notches; the effort increases with its cube.
const MAX_CORNERS: usize = 1000;

/// Triangles of a polygon, as indices into `corners`: the fan from the first corner for a convex polygon, for one that
/// crosses itself and for one with very many corners; otherwise triangles that leave its notches open.
pub(super) fn triangles(corners: &[DVec3]) -> Vec<[usize; 3]> {
    let fan = || (2..corners.len()).map(|corner| [0, corner - 1, corner]).collect();
    concave(corners).unwrap_or_else(fan)
}

/// Triangles of a polygon with a notch, by cutting off one ear after the other.
fn concave(corners: &[DVec3]) -> Option<Vec<[usize; 3]>> {
    let count = corners.len();
    if !(4..=MAX_CORNERS).contains(&count) {
        return None;
    }
    // Newell's normal; its length is twice the area.
    let normal: DVec3 =
        (1..count - 1).map(|n| (corners[n] - corners[0]).cross(corners[n + 1] - corners[0])).sum();
    let axis = normal.abs().max_position();
    let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
    // The polygon without its dominant axis, counter-clockwise.
    let points: Vec<DVec2> = corners
        .iter()
        .map(|&corner| corner - corners[0])
        .map(|p| DVec2::new(p[u] * normal[axis].signum(), p[v]))
        .collect();
    let is_reflex = |at: usize| {
        let (before, after) = (points[(at + count - 1) % count], points[(at + 1) % count]);
        let (into, out) = (points[at] - before, after - points[at]);
        into.perp_dot(out) < -SLACK * into.length() * out.length()
    };
    if !(0..count).any(is_reflex) {
        return None;
    }
    let mut left: Vec<usize> = (0..count).collect();
    let mut triangles = Vec::with_capacity(count - 2);
    let mut covered = 0.0;
    while let Some((at, ear, double_area)) = find_ear(&left, &points) {
        triangles.push(ear);
        covered += double_area;
        left.remove(at);
    }
    // If the polygon crosses itself, the ears do not cover it.
    let whole = normal[axis].abs();
    ((covered - whole).abs() < 1.0e-6 * whole).then_some(triangles)
}

/// A triangle of three successive corners that contains no other corner; also returns the position in `left` of its
/// middle corner, and twice its area. `left` are the indices of the corners that are not cut off yet.
fn find_ear(left: &[usize], points: &[DVec2]) -> Option<(usize, [usize; 3], f64)> {
    let count = left.len();
    (0..count).find_map(|at| {
        let ear = [left[(at + count - 1) % count], left[at], left[(at + 1) % count]];
        let [a, b, c] = ear.map(|corner| points[corner]);
        let double_area = (b - a).perp_dot(c - a);
        let inside = |p: DVec2| {
            let is_left = |from: DVec2, to: DVec2| (to - from).perp_dot(p - from) >= 0.0;
            ![a, b, c].contains(&p) && is_left(a, b) && is_left(b, c) && is_left(c, a)
        };
        let is_ear = double_area > 0.0 && !left.iter().any(|&corner| inside(points[corner]));
        is_ear.then_some((at, ear, double_area))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn double_area(corners: &[DVec3], triangles: &[[usize; 3]]) -> f64 {
        let of = |t: &[usize; 3]| {
            let [a, b, c] = t.map(|corner| corners[corner]);
            (b - a).cross(c - a).length()
        };
        triangles.iter().map(of).sum()
    }

    /// An L in each of the three planes, in both directions, from each of its corners.
    #[test]
    fn notches_stay_open() {
        let outline = [(0., 0.), (2., 0.), (2., 1.), (1., 1.), (1., 2.), (0., 2.)];
        for plane in 0..3 {
            for first in 0..6 {
                let mut corners: Vec<DVec3> = (0..6)
                    .map(|n| outline[(first + n) % 6])
                    .map(|(u, v)| match plane {
                        0 => DVec3::new(5.0, u, v),
                        1 => DVec3::new(u, 5.0, v),
                        _ => DVec3::new(u, v, 0.1 * u),
                    })
                    .collect();
                let whole = if plane == 2 { 6.0 * 1.01f64.sqrt() } else { 6.0 };
                for _ in 0..2 {
                    let found = triangles(&corners);
                    let area = double_area(&corners, &found);
                    assert_eq!(found.len(), 4);
                    assert!((area - whole).abs() < 1e-9, "{plane} {first}: {area}");
                    corners.reverse();
                }
            }
        }
    }

    #[test]
    fn other_polygons_are_fans() {
        let fan = [[0, 1, 2], [0, 2, 3]];
        let flat = |points: [(f64, f64); 4]| points.map(|(x, y)| DVec3::new(x, y, 0.0));
        for corners in [
            flat([(0., 0.), (1., 0.), (1., 1.), (0., 1.)]),
            // A corner that rounding moved inwards, and a polygon that crosses itself.
            flat([(0., 0.), (1., 1.0e-6), (2., 0.), (1., 1.)]),
            flat([(0., 0.), (1., 1.), (1., 0.), (0., 2.)]),
            [DVec3::NAN; 4],
        ] {
            assert_eq!(triangles(&corners), fan, "{corners:?}");
        }
        assert!(triangles(&[DVec3::ZERO; 2]).is_empty());
    }
}
