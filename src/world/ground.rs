//! Height of the ground under the robot's wheels.

use glam::DVec3;

use super::scene::Scene;

/// Height above a wheel up to which a surface counts as ground, metres. Roofs and tree crowns are higher.
pub const OVERHEAD_M: f64 = 0.5;

/// A height field. All threads may query it.
pub trait GroundHeight: Send + Sync {
    /// Height of the highest surface at `x_m`, `y_m` (World), metres; `None` where there is none.
    fn height_m(&self, x_m: f64, y_m: f64) -> Option<f64>;

    /// Height of the ground under an object at the height `below_m`, metres: the highest surface at or below `below_m` or,
    /// if all surfaces are above it, the lowest one. `None` where there is no surface.
    fn height_under_m(&self, x_m: f64, y_m: f64, below_m: f64) -> Option<f64> {
        let _ = below_m; // a ground has one surface unless it implements this method
        self.height_m(x_m, y_m)
    }
}

/// The height of a scene's [`Scene::ground`], exact on every triangle.
///
/// Square bins hold the triangles. There is a level of bins for every power of two from 2^-6 to 2^30 m. A triangle is in the
/// finest level whose bins are at least twice its extent. It is therefore in at most four bins, and memory grows only with
/// the number of triangles.
#[derive(Clone, Debug, Default)]
pub struct Terrain {
    vertices: Vec<DVec3>,
    triangles: Vec<[u32; 3]>,
    levels: Vec<Level>,
}

/// Bins of one size. Bin `keys[i]` contains the triangles `members[starts[i]..starts[i + 1]]`.
#[derive(Clone, Debug, Default)]
struct Level {
    bins_per_m: f64,
    keys: Vec<u64>,
    starts: Vec<u32>,
    members: Vec<u32>,
}

/// Exponent of the smallest bins, which are 2^-6 m wide.
const LEAST_EXPONENT: i32 = -6;
/// Exponent of the largest bins, which are 2^30 m wide.
const LARGEST_EXPONENT: i32 = 30;

impl Terrain {
    /// Creates the terrain of the ground instances of `scene`. Vertical triangles, and triangles with a vertex that
    /// is not finite, are left out because they cannot carry a robot.
    pub fn new(scene: &Scene) -> Self {
        let mut terrain = Self::default();
        let mut unusable = 0_usize;
        let mut entries: Vec<Vec<(u64, u32)>> =
            vec![Vec::new(); (LARGEST_EXPONENT - LEAST_EXPONENT + 1) as usize];
        for instance in &scene.ground {
            let Some(mesh) = scene.meshes.get(instance.mesh as usize) else {
                unusable += 1;
                continue;
            };
            let first = terrain.vertices.len();
            if u32::try_from(first + mesh.positions.len()).is_err() {
                tracing::warn!("ground beyond 2^32 vertices is left out");
                break;
            }
            terrain.vertices.extend(mesh.positions.iter().map(|&[x, y, z]| {
                let p = DVec3::new(f64::from(x), f64::from(y), f64::from(z));
                instance.world_from_mesh.transform_point3(p)
            }));
            for triangle in &mesh.triangles {
                let corners = triangle.map(|v| terrain.vertices.get(first + v as usize).copied());
                let [Some(a), Some(b), Some(c)] = corners else {
                    unusable += 1;
                    continue;
                };
                if !(a.is_finite() && b.is_finite() && c.is_finite()) {
                    unusable += 1;
                    continue;
                }
                if upright(a, b, c) {
                    continue;
                }
                let index = terrain.triangles.len() as u32;
                terrain.triangles.push(triangle.map(|v| first as u32 + v));
                let low = a.min(b).min(c);
                let high = a.max(b).max(c);
                let extent = (high.x - low.x).max(high.y - low.y);
                let level = level_of(extent);
                let bins_per_m = bins_per_m(level);
                let (x0, x1) = (bin(low.x, bins_per_m), bin(high.x, bins_per_m));
                let (y0, y1) = (bin(low.y, bins_per_m), bin(high.y, bins_per_m));
                for x in x0..=x1 {
                    for y in y0..=y1 {
                        entries[level].push((key(x, y), index));
                    }
                }
            }
        }
        if unusable > 0 {
            tracing::warn!(unusable, "ground triangles without finite corners are left out");
        }
        terrain.levels = entries
            .into_iter()
            .enumerate()
            .filter(|(_, entries)| !entries.is_empty())
            .map(|(level, entries)| Level::new(bins_per_m(level), entries))
            .collect();
        terrain
    }

    /// Whether there is no ground at all.
    pub fn is_empty(&self) -> bool {
        self.triangles.is_empty()
    }

    /// Calls `tell` with the height of each surface at a position, metres, in any order.
    fn each_height(&self, x_m: f64, y_m: f64, mut tell: impl FnMut(f64)) {
        for level in &self.levels {
            let wanted = key(bin(x_m, level.bins_per_m), bin(y_m, level.bins_per_m));
            let Ok(found) = level.keys.binary_search(&wanted) else { continue };
            let members = level.starts[found] as usize..level.starts[found + 1] as usize;
            for &triangle in &level.members[members] {
                if let Some(height) = self.height_on(triangle, x_m, y_m) {
                    tell(height);
                }
            }
        }
    }

    fn height_on(&self, triangle: u32, x: f64, y: f64) -> Option<f64> {
        let [a, b, c] = self.triangles[triangle as usize].map(|v| self.vertices[v as usize]);
        let (ab, ac) = (b - a, c - a);
        let (px, py) = (x - a.x, y - a.y);
        let area = ab.x * ac.y - ab.y * ac.x;
        let v = (px * ac.y - py * ac.x) / area;
        let w = (ab.x * py - ab.y * px) / area;
        // Neighbouring triangles overlap slightly, so that rounding leaves no gap between them.
        const HAIR: f64 = -1e-9;
        (v >= HAIR && w >= HAIR && 1.0 - v - w >= HAIR).then_some(a.z + v * ab.z + w * ac.z)
    }
}

impl GroundHeight for Terrain {
    fn height_m(&self, x_m: f64, y_m: f64) -> Option<f64> {
        let mut highest: Option<f64> = None;
        self.each_height(x_m, y_m, |height| {
            highest = Some(highest.map_or(height, |highest| highest.max(height)));
        });
        highest
    }

    fn height_under_m(&self, x_m: f64, y_m: f64, below_m: f64) -> Option<f64> {
        let (mut under, mut over): (Option<f64>, Option<f64>) = (None, None);
        self.each_height(x_m, y_m, |height| {
            if height <= below_m {
                under = Some(under.map_or(height, |under| under.max(height)));
            } else {
                over = Some(over.map_or(height, |over| over.min(height)));
            }
        });
        under.or(over)
    }
}

impl Level {
    fn new(bins_per_m: f64, mut entries: Vec<(u64, u32)>) -> Self {
        entries.sort_unstable();
        let mut level = Self { bins_per_m, ..Self::default() };
        level.members.reserve_exact(entries.len());
        for (key, triangle) in entries {
            if level.keys.last() != Some(&key) {
                level.keys.push(key);
                level.starts.push(level.members.len() as u32);
            }
            level.members.push(triangle);
        }
        level.starts.push(level.members.len() as u32);
        level
    }
}

/// Whether a triangle's projection onto the ground has almost no area.
fn upright(a: DVec3, b: DVec3, c: DVec3) -> bool {
    let (ab, ac) = ((b - a).truncate(), (c - a).truncate());
    let longest = ab.length_squared().max(ac.length_squared()).max((ac - ab).length_squared());
    ab.perp_dot(ac).abs() <= 1e-9 * longest
}

/// Index of the finest level whose bins are at least as wide as twice `extent`, metres; the coarsest level if no bins are.
fn level_of(extent: f64) -> usize {
    let mut level = 0;
    let last = (LARGEST_EXPONENT - LEAST_EXPONENT) as usize;
    while level < last && bins_per_m(level) * extent > 0.5 {
        level += 1;
    }
    level
}

fn bins_per_m(level: usize) -> f64 {
    let exponent = LEAST_EXPONENT + level as i32;
    if exponent < 0 { (1_u64 << -exponent) as f64 } else { ((1_u64 << exponent) as f64).recip() }
}

fn bin(metres: f64, bins_per_m: f64) -> i32 {
    // Far from the origin, the conversion to integers saturates. All triangles there share the outermost bins and are
    // still found.
    (metres * bins_per_m).floor() as i32
}

fn key(x: i32, y: i32) -> u64 {
    u64::from(x as u32) << 32 | u64::from(y as u32)
}

#[cfg(test)]
mod tests {
    use glam::DAffine3;

    use super::*;
    use crate::world::scene::{Instance, Mesh};

    fn scene(meshes: Vec<(Mesh, DAffine3)>) -> Scene {
        let mut scene = Scene::default();
        for (mesh, world_from_mesh) in meshes {
            scene.ground.push(Instance { mesh: scene.meshes.len() as u32, world_from_mesh });
            scene.meshes.push(mesh);
        }
        scene
    }

    fn grid_mesh(cells: u32, step: f32, height: impl Fn(f64, f64) -> f64) -> Mesh {
        let mut mesh = Mesh::default();
        for j in 0..=cells {
            for i in 0..=cells {
                let (x, y) = (i as f32 * step, j as f32 * step);
                mesh.positions.push([x, y, height(f64::from(x), f64::from(y)) as f32]);
            }
        }
        let at = |i: u32, j: u32| j * (cells + 1) + i;
        for j in 0..cells {
            for i in 0..cells {
                mesh.triangles.push([at(i, j), at(i + 1, j), at(i + 1, j + 1)]);
                mesh.triangles.push([at(i, j), at(i + 1, j + 1), at(i, j + 1)]);
            }
        }
        mesh
    }

    fn plane(half: f32, z: f32) -> Mesh {
        Mesh {
            positions: vec![[-half, -half, z], [half, -half, z], [half, half, z], [-half, half, z]],
            triangles: vec![[0, 1, 2], [0, 2, 3]],
            ..Mesh::default()
        }
    }

    #[test]
    fn a_slope_is_exact_at_and_between_vertices() {
        let slope = |x: f64, y: f64| 0.25 * x - 0.5 * y + 2.0;
        let terrain = Terrain::new(&scene(vec![(grid_mesh(40, 0.5, slope), DAffine3::IDENTITY)]));
        for i in 0..=200 {
            for j in 0..=200 {
                let (x, y) = (f64::from(i) * 0.1, f64::from(j) * 0.1);
                let height = terrain.height_m(x, y).unwrap_or_else(|| panic!("hole at {x}, {y}"));
                assert!((height - slope(x, y)).abs() < 1e-6, "{x} {y} {height}");
            }
        }
        assert_eq!(terrain.height_m(-0.1, 3.0), None);
        assert_eq!(terrain.height_m(3.0, 20.1), None);
        assert_eq!(terrain.height_m(f64::NAN, 0.0), None);
        assert_eq!(terrain.height_m(f64::INFINITY, 0.0), None);
    }

    #[test]
    fn the_highest_surface_wins_and_instances_are_placed() {
        let lift = DAffine3::from_translation(DVec3::new(5.0, 0.0, 1.5));
        let terrain = Terrain::new(&scene(vec![
            (plane(20.0, 0.0), DAffine3::IDENTITY),
            (plane(1.0, 0.0), lift),
        ]));
        assert_eq!(terrain.height_m(5.5, 0.5), Some(1.5));
        assert_eq!(terrain.height_m(3.5, 0.5), Some(0.0));
        // Heights below the upper plane, on it, above it, and below all surfaces.
        for (below_m, height_m) in [(1.0, 0.0), (1.5, 1.5), (9.0, 1.5), (-1.0, 0.0)] {
            assert_eq!(terrain.height_under_m(5.5, 0.5, below_m), Some(height_m));
        }
        assert_eq!(terrain.height_under_m(99.0, 0.5, 1.0), None);
    }

    #[test]
    fn a_plane_of_200_km_takes_no_more_bins_than_a_tile() {
        let terrain = Terrain::new(&scene(vec![
            (plane(100_000.0, -2.0), DAffine3::IDENTITY),
            (grid_mesh(10, 0.1, |_, _| 0.0), DAffine3::IDENTITY),
        ]));
        let entries: usize = terrain.levels.iter().map(|l| l.members.len()).sum();
        assert!(entries <= 4 * terrain.triangles.len(), "{entries}");
        assert_eq!(terrain.height_m(99_999.0, -99_999.0), Some(-2.0));
        assert_eq!(terrain.height_m(0.55, 0.55), Some(0.0));
    }

    #[test]
    fn walls_and_broken_triangles_hold_no_robot() {
        let mut mesh = plane(1.0, 0.0);
        mesh.positions.extend([
            [0.0, 0.0, 0.0],
            [0.0, 1.0, 0.0],
            [0.0, 0.5, 9.0],
            [0.0, 0.0, f32::NAN],
        ]);
        mesh.triangles.extend([[4, 5, 6], [0, 1, 7], [0, 1, 99]]);
        let terrain = Terrain::new(&scene(vec![(mesh, DAffine3::IDENTITY)]));
        assert_eq!(terrain.height_m(0.0, 0.5), Some(0.0));
        assert!(!terrain.is_empty() && Terrain::new(&Scene::default()).is_empty());
    }
}
