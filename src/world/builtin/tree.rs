//! A broad-leaved tree, grown from a seed to a given number of triangles.
//!
//! Wood is a hierarchy of bent, tapering prisms: trunk, branches, their branches, and twigs. Leaves grow on the last
//! generation. More triangles give more generations, rounder wood, and more, smaller and smoother leaves. Height,
//! crown and leaf area stay the same.

use std::f64::consts::TAU;
use std::ops::Range;

use glam::DVec3;
use rand_xoshiro::SplitMix64;
use rayon::iter::{
    IndexedParallelIterator, IntoParallelIterator, IntoParallelRefMutIterator, ParallelExtend,
    ParallelIterator,
};
use rayon::slice::ParallelSliceMut;

use crate::world::random::{self, uniform};
use crate::world::scene::{MaterialId, Mesh};

/// Height of the model above the ground, metres.
pub(super) const HEIGHT_M: f64 = 8.0;
/// Depth of the trunk below the ground, metres. It allows for slopes.
const ROOT_DEPTH_M: f64 = 0.4;
/// Trunk radius at the ground, metres.
pub(super) const TRUNK_RADIUS_M: f64 = 0.16;
/// One-sided area of all leaves, m²: about three times the ground area below the crown.
const LEAF_AREA_M2: f64 = 75.0;
/// Limits of the mean length of a tree's leaves, metres.
const LEAF_LENGTH_M: [f64; 2] = [0.02, 0.35];
/// Golden angle, radians: 180 (3 - sqrt 5) degrees. Successive leaves and branches are turned by this angle around the
/// stem.
const GOLDEN_ANGLE: f64 = 2.399_963_229_728_653;

/// One level of branching.
struct Generation {
    /// Number of branches on each branch of the previous level.
    children: usize,
    /// Number of sides of each prism.
    sides: usize,
    /// Number of prisms along a branch.
    segments: usize,
}

const fn generation(children: usize, sides: usize, segments: usize) -> Generation {
    Generation { children, sides, segments }
}

/// Plans of the wood, from coarse to fine. A tree uses the finest plan with at most half of the tree's triangles.
const PLANS: [&[Generation]; 5] = [
    &[generation(1, 4, 4), generation(8, 3, 2), generation(3, 3, 1)],
    &[generation(1, 6, 6), generation(10, 5, 4), generation(5, 3, 3), generation(4, 3, 1)],
    &[generation(1, 10, 12), generation(14, 7, 7), generation(8, 5, 5), generation(7, 3, 2)],
    &[
        generation(1, 16, 20),
        generation(16, 10, 10),
        generation(10, 6, 6),
        generation(9, 4, 4),
        generation(5, 3, 2),
    ],
    &[
        generation(1, 24, 40),
        generation(20, 12, 16),
        generation(12, 8, 10),
        generation(14, 6, 6),
        generation(8, 4, 4),
    ],
];

/// Number of triangles of the wood in a plan.
fn wood_triangles(plan: &[Generation]) -> usize {
    let mut branches = 1;
    let mut triangles = 0;
    for generation in plan {
        branches *= generation.children;
        triangles += branches * generation.sides * generation.segments * 2;
    }
    triangles
}

/// The tree for `seed`: ground level z = 0, trunk at the origin, [`HEIGHT_M`] tall. The number of its triangles is
/// `triangles`, but at least 1000 and rounded down to an even number.
pub(super) fn tree(seed: u64, triangles: u32, bark: MaterialId, leaf: MaterialId) -> Mesh {
    let triangles = triangles.max(1000) as usize & !1;
    let plan =
        PLANS.iter().rev().find(|plan| 2 * wood_triangles(plan) <= triangles).unwrap_or(&PLANS[0]);
    let mut grower = Grower {
        plan,
        rng: random::stream(seed, 0, 0),
        mesh: Mesh { name: "tree".into(), ..Mesh::default() },
        twigs: Vec::new(),
    };
    let mesh = &mut grower.mesh;
    mesh.triangles.reserve_exact(triangles);
    mesh.triangle_materials.reserve_exact(triangles);
    mesh.positions.reserve(triangles);
    grower.grow(&Branch {
        generation: 0,
        start: DVec3::new(0.0, 0.0, -ROOT_DEPTH_M),
        direction: DVec3::Z,
        length: 0.86 * HEIGHT_M,
        radius: TRUNK_RADIUS_M,
    });
    let wood = grower.mesh.triangles.len();
    grower.mesh.triangle_materials.resize(wood, bark);
    grower.leaves(seed, triangles - wood);
    let mut mesh = grower.mesh;
    mesh.triangle_materials.resize(mesh.triangles.len(), leaf);

    // The height of the crown is random: scale it to the requested height.
    let top = mesh.positions.iter().map(|p| p[2]).fold(0.0, f32::max);
    let scale = HEIGHT_M as f32 / top;
    mesh.positions.par_iter_mut().for_each(|p| *p = p.map(|coordinate| coordinate * scale));
    mesh
}

/// A branch that is still to be built.
struct Branch {
    generation: usize,
    start: DVec3,
    direction: DVec3,
    length: f64,
    /// Radius at the branch's start, metres.
    radius: f64,
}

/// Three points along a branch of the last generation, where leaves grow.
struct Twig {
    points: [DVec3; 3],
}

struct Grower<'a> {
    plan: &'a [Generation],
    rng: SplitMix64,
    mesh: Mesh,
    twigs: Vec<Twig>,
}

impl Grower<'_> {
    fn grow(&mut self, branch: &Branch) {
        let Generation { sides, segments, .. } = self.plan[branch.generation];
        let is_trunk = branch.generation == 0;
        let line = self.centre_line(branch, segments);
        let base = self.mesh.positions.len() as u32;
        let mut side = any_perpendicular(branch.direction);
        for (ring, &point) in line.iter().enumerate() {
            let along = ring as f64 / segments as f64;
            let forward =
                (line[(ring + 1).min(segments)] - line[ring.saturating_sub(1)]).normalize();
            side = (side - forward * side.dot(forward)).normalize();
            let up = forward.cross(side);
            let radius = taper(branch, is_trunk, along);
            for corner in 0..sides {
                let (sin, cos) = libm::sincos(TAU * corner as f64 / sides as f64);
                let vertex = point + (side * cos + up * sin) * radius;
                self.mesh.positions.push(vertex.as_vec3().to_array());
            }
        }
        let sides = sides as u32;
        for ring in 0..segments as u32 {
            for corner in 0..sides {
                let a = base + ring * sides + corner;
                let b = base + ring * sides + (corner + 1) % sides;
                self.mesh.triangles.push([a, b, b + sides]);
                self.mesh.triangles.push([a, b + sides, a + sides]);
            }
        }
        match self.plan.get(branch.generation + 1) {
            Some(next) => self.children(branch, &line, next.children),
            None => self.twigs.push(Twig { points: [0.0, 0.5, 1.0].map(|at| on(&line, at)) }),
        }
    }

    /// Start of a branch and end points of its segments. Branches wind randomly; all but the trunk bend upwards.
    fn centre_line(&mut self, branch: &Branch, segments: usize) -> Vec<DVec3> {
        let step = branch.length / segments as f64;
        let is_trunk = branch.generation == 0;
        let (wander, lift) = if is_trunk { (0.10, 0.0) } else { (0.22, 0.22) };
        let share = 1.0 / (segments as f64).sqrt();
        let mut direction = branch.direction;
        let mut line = vec![branch.start];
        let mut point = branch.start;
        for _ in 0..segments {
            point += direction * step;
            line.push(point);
            let nudge = self.unit_vector() * (wander * share);
            let light = DVec3::Z * (lift / segments as f64);
            direction = (direction + nudge + light).normalize();
        }
        line
    }

    fn children(&mut self, branch: &Branch, line: &[DVec3], count: usize) {
        let is_trunk = branch.generation == 0;
        // The lower part of the trunk and the inner part of branches are bare.
        let first = if is_trunk { 0.27 } else { 0.22 };
        let turn = random::angle(&mut self.rng);
        for child in 0..count {
            let spread = (child as f64 + uniform(&mut self.rng, 0.2, 0.8)) / count as f64;
            let along = first + (1.0 - first) * spread;
            let forward = (on(line, (along + 0.05).min(1.0)) - on(line, along - 0.05)).normalize();
            let side = any_perpendicular(forward);
            let azimuth = turn + GOLDEN_ANGLE * child as f64 + uniform(&mut self.rng, -0.4, 0.4);
            let (sin, cos) = libm::sincos(azimuth);
            let outward = side * cos + forward.cross(side) * sin;
            // Low branches grow outwards, high ones upwards.
            let fork = if is_trunk { 1.25 - 0.75 * spread } else { 0.85 };
            let (sin, cos) = libm::sincos(fork + uniform(&mut self.rng, -0.15, 0.15));
            let length = if is_trunk {
                crown(spread) * HEIGHT_M
            } else {
                branch.length * (0.62 - 0.34 * along)
            };
            let radius = taper(branch, is_trunk, along) * if is_trunk { 0.45 } else { 0.6 };
            let length = length * uniform(&mut self.rng, 0.85, 1.15);
            self.grow(&Branch {
                generation: branch.generation + 1,
                start: on(line, along),
                direction: (forward * cos + outward * sin).normalize(),
                length,
                radius: radius.max(0.002),
            });
        }
    }

    /// Distributes leaves over the twigs. Together, the leaves have `triangles` triangles, an even number.
    fn leaves(&mut self, seed: u64, triangles: usize) {
        let shape = match triangles {
            0..=100_000 => LeafShape::Folded,
            100_001..=700_000 => LeafShape::Bowed,
            _ => LeafShape::Curved,
        };
        let whole = triangles / shape.triangles().len();
        // The remaining triangles make simpler leaves.
        let rest =
            (triangles - whole * shape.triangles().len()) / LeafShape::Folded.triangles().len();
        let length = (LEAF_AREA_M2 / (whole.max(1) as f64 * LEAF_AREA_PER_LENGTH2)).sqrt();
        let length = length.clamp(LEAF_LENGTH_M[0], LEAF_LENGTH_M[1]);
        let count = whole + rest;
        let per_twig = count.div_ceil(self.twigs.len());
        let place = |leaf: usize| {
            let mut rng = random::stream(seed, 1, leaf as u64);
            let twig = &self.twigs[leaf % self.twigs.len()];
            let place = leaf / self.twigs.len();
            let along = (place as f64 + uniform(&mut rng, 0.1, 0.9)) / per_twig as f64;
            let root = on(&twig.points, 0.15 + 0.85 * along);
            let forward = (twig.points[2] - twig.points[0]).normalize();
            let side = any_perpendicular(forward);
            let azimuth = GOLDEN_ANGLE * place as f64 + uniform(&mut rng, -0.6, 0.6);
            let (sin, cos) = libm::sincos(azimuth);
            let outward = side * cos + forward.cross(side) * sin;
            let droop = DVec3::Z * uniform(&mut rng, -0.45, 0.15);
            let axis = (forward * uniform(&mut rng, 0.2, 0.9) + outward + droop).normalize();
            // Leaves face the sky, with some variation.
            let tilt = DVec3::new(uniform(&mut rng, -0.7, 0.7), uniform(&mut rng, -0.7, 0.7), 1.0);
            let face = (tilt - axis * tilt.dot(axis)).try_normalize().unwrap_or(side);
            Leaf { root, axis, face, length: length * uniform(&mut rng, 0.75, 1.25) }
        };
        shape.add(&mut self.mesh, 0..whole, place);
        LeafShape::Folded.add(&mut self.mesh, whole..count, place);
    }

    fn unit_vector(&mut self) -> DVec3 {
        let z = uniform(&mut self.rng, -1.0, 1.0);
        let (sin, cos) = libm::sincos(random::angle(&mut self.rng));
        let around = (1.0 - z * z).sqrt();
        DVec3::new(around * cos, around * sin, z)
    }
}

/// Length of a branch that grows from the trunk, as a share of the tree's height. `place` is 0 for the lowest branch
/// and 1 for the highest. The crown is round and widest below its middle.
fn crown(place: f64) -> f64 {
    let from_widest = (place - 0.25) / 0.8;
    0.10 + 0.26 * (1.0 - from_widest * from_widest).max(0.0).sqrt()
}

/// Radius of a branch, metres, at `along`: 0 at its start, 1 at its end.
fn taper(branch: &Branch, is_trunk: bool, along: f64) -> f64 {
    let slender = branch.radius * (1.0 - 0.88 * along);
    if is_trunk {
        // Roots widen the foot.
        let foot = (1.0 - along / 0.12).max(0.0);
        slender * (1.0 + 0.6 * foot * foot)
    } else {
        slender
    }
}

/// The point at `along` (0 at the start, 1 at the end) of a polyline with equal steps.
fn on(line: &[DVec3], along: f64) -> DVec3 {
    let last = line.len() - 1;
    let at = along.clamp(0.0, 1.0) * last as f64;
    let index = (at as usize).min(last - 1);
    line[index].lerp(line[index + 1], at - index as f64)
}

fn any_perpendicular(v: DVec3) -> DVec3 {
    let other = if v.z.abs() < 0.9 { DVec3::Z } else { DVec3::X };
    v.cross(other).normalize()
}

/// Shape of a leaf, by number of triangles.
#[derive(Clone, Copy)]
enum LeafShape {
    /// A rhomb folded along its midrib.
    Folded,
    /// Like [`LeafShape::Folded`], with a curved midrib.
    Bowed,
    /// Like [`LeafShape::Bowed`], with two cross-sections instead of one.
    Curved,
}

/// Approximate area of a leaf of length 1, the same for all shapes.
const LEAF_AREA_PER_LENGTH2: f64 = 0.33;

impl LeafShape {
    /// Vertices of a leaf of length 1: coordinates along the leaf, across it, and above its face. The first vertex is
    /// the leaf's base.
    fn vertices(self) -> &'static [[f64; 3]] {
        match self {
            Self::Folded => &[[0.0; 3], [1.0, 0.0, -0.12], [0.45, 0.32, 0.08], [0.45, -0.32, 0.08]],
            Self::Bowed => &[
                [0.0; 3],
                [0.5, 0.0, 0.05],
                [0.97, 0.0, -0.15],
                [0.45, 0.33, 0.12],
                [0.45, -0.33, 0.12],
            ],
            Self::Curved => &[
                [0.0; 3],
                [0.3, 0.25, 0.10],
                [0.3, -0.25, 0.10],
                [0.65, 0.24, 0.08],
                [0.65, -0.24, 0.08],
                [0.32, 0.0, 0.05],
                [0.66, 0.0, 0.02],
                [0.95, 0.0, -0.16],
            ],
        }
    }

    fn triangles(self) -> &'static [[u32; 3]] {
        match self {
            Self::Folded => &[[0, 3, 1], [0, 1, 2]],
            Self::Bowed => &[[0, 4, 1], [0, 1, 3], [1, 4, 2], [1, 2, 3]],
            Self::Curved => &[
                [0, 2, 5],
                [0, 5, 1],
                [5, 2, 4],
                [5, 4, 6],
                [5, 6, 3],
                [5, 3, 1],
                [6, 4, 7],
                [6, 7, 3],
            ],
        }
    }

    /// Adds leaves at the positions that `place` returns. Uses all processors, because large trees have half
    /// a million leaves.
    fn add(self, mesh: &mut Mesh, leaves: Range<usize>, place: impl Fn(usize) -> Leaf + Sync) {
        let (vertices, triangles) = (self.vertices(), self.triangles());
        let base = mesh.positions.len();
        mesh.positions.resize(base + leaves.len() * vertices.len(), [0.0; 3]);
        let slots = mesh.positions[base..].par_chunks_exact_mut(vertices.len());
        slots.zip(leaves.clone()).for_each(|(slots, leaf)| {
            let leaf = place(leaf);
            for (slot, &vertex) in slots.iter_mut().zip(vertices) {
                *slot = leaf.vertex(vertex);
            }
        });
        let of_leaf = |leaf: usize| (base + leaf * vertices.len()) as u32;
        let corners = (0..leaves.len() * triangles.len()).into_par_iter().map(|index| {
            let first = of_leaf(index / triangles.len());
            triangles[index % triangles.len()].map(|corner| first + corner)
        });
        mesh.triangles.par_extend(corners);
    }
}

/// A leaf with its pose.
struct Leaf {
    root: DVec3,
    /// Direction along the leaf.
    axis: DVec3,
    /// Normal of the leaf's upper side.
    face: DVec3,
    /// Length of the leaf, metres.
    length: f64,
}

impl Leaf {
    /// Position of a vertex of [`LeafShape::vertices`] for this leaf.
    fn vertex(&self, [along, aside, rise]: [f64; 3]) -> [f32; 3] {
        let across = self.face.cross(self.axis);
        let p = self.root + (self.axis * along + across * aside + self.face * rise) * self.length;
        p.as_vec3().to_array()
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::*;

    /// Lowest and highest corner of the mesh's bounding box.
    fn bounds(mesh: &Mesh) -> ([f32; 3], [f32; 3]) {
        mesh.positions.iter().fold(([f32::MAX; 3], [f32::MIN; 3]), |(mut low, mut high), p| {
            for axis in 0..3 {
                low[axis] = low[axis].min(p[axis]);
                high[axis] = high[axis].max(p[axis]);
            }
            (low, high)
        })
    }

    #[test]
    fn has_the_triangles_asked_for_and_the_shape_of_a_tree() {
        for triangles in [1000, 5001, 40_000, 300_000] {
            let mesh = tree(7, triangles, 0, 1);
            assert_eq!(mesh.triangles.len(), triangles as usize & !1);
            assert_eq!(mesh.triangle_materials.len(), mesh.triangles.len());
            let (low, high) = bounds(&mesh);
            assert_eq!(high[2], HEIGHT_M as f32);
            assert!((-0.6..-0.2).contains(&low[2]), "rooted: {}", low[2]);
            for axis in 0..2 {
                let width = high[axis] - low[axis];
                assert!((3.5..9.0).contains(&width), "{triangles}: crown {width} m wide");
            }
            // Below 0.8 m there is only the trunk.
            let trunk = mesh.positions.iter().filter(|p| p[2] < 0.8);
            for &[x, y, _] in trunk {
                assert!((x * x + y * y).sqrt() < 0.6, "{triangles}: {x} {y}");
            }
            assert!((0..mesh.triangles.len() as u32).all(|t| {
                let [a, b, c] = mesh.corners(t);
                (b - a).cross(c - a).length() > 1.0e-9
            }));
        }
    }

    #[test]
    fn leaf_area_stays_the_same() {
        for triangles in [40_000, 300_000, 1_500_000] {
            let mesh = tree(1, triangles, 0, 1);
            let area: f64 = (0..mesh.triangles.len() as u32)
                .filter(|&t| mesh.triangle_materials[t as usize] == 1)
                .map(|t| {
                    let [a, b, c] = mesh.corners(t);
                    (b - a).cross(c - a).length() / 2.0
                })
                .sum();
            assert!((0.6..1.5).contains(&(area / LEAF_AREA_M2)), "{triangles}: {area} m²");
        }
    }

    #[test]
    fn plans_go_from_coarse_to_fine() {
        let wood: Vec<usize> = PLANS.iter().map(|plan| wood_triangles(plan)).collect();
        assert!(wood.is_sorted(), "{wood:?}");
        assert!(2 * wood[0] <= 1000);
        assert!((GOLDEN_ANGLE - PI * (3.0 - 5f64.sqrt())).abs() < 1e-15);
    }

    #[test]
    fn the_seed_decides() {
        assert_eq!(tree(1, 4000, 0, 1).positions, tree(1, 4000, 0, 1).positions);
        assert_ne!(tree(1, 4000, 0, 1).positions, tree(2, 4000, 0, 1).positions);
    }
}
