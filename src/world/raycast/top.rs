//! The tree over a scene's instances.
//!
//! Copies overlap: a ray that enters the box of one often leaves it without having met a leaf. So the
//! leaves of this tree are not whole instances but parts of them, subtrees of their meshes, wherever an
//! instance is large beside the node that it lies in (Benthin, Woop, Wald and Áfra, Improved Two-Level
//! BVHs using Partial Re-Braiding, HPG 2017). Nodes are split where binned costs of surface area are least
//! (Wald, On fast Construction of SAH-based Bounding Volume Hierarchies, 2007), which takes a second for a
//! million copies.

use obvhs::aabb::Aabb;
use obvhs::bvh2::node::Bvh2Node;

use super::tree::{Bounded, Tree};

/// Part of an instance: what its mesh's tree has below one child.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Index of the instance.
    pub instance: u32,
    /// The child's code in the mesh's tree, see [`leaf`](super::tree::leaf); 0, the root, is all of it.
    pub code: u32,
}

/// A part with its box in World.
#[derive(Clone, Copy)]
struct Boxed {
    bounds: Bounded,
    part: Part,
}

/// A binary tree in the making.
enum Branch {
    Leaf(Boxed),
    Fork(Bounded, Box<[Branch; 2]>),
}

/// Adds what a part consists of to a list, or nothing if it cannot be opened.
type Open<'a> = dyn Fn(Part, &mut Vec<(Bounded, Part)>) + Sync + 'a;

/// Parts are opened if they extend over more than this share of their node.
const LARGE: f32 = 0.1;
/// A part consists of at most so many others.
const MOST_INSIDE: usize = 8;
/// Bins along an axis.
const BINS: usize = 16;
/// Sets of at least so many parts are split on several threads.
const ENOUGH_FOR_THREADS: usize = 4096;

/// Builds the tree over `instances`, opened into `most` parts at the most. Returns the parts in the order of
/// the leaves too.
pub fn build(instances: Vec<(Bounded, Part)>, most: usize, open: &Open<'_>) -> (Tree, Vec<Part>) {
    if instances.is_empty() {
        return (Tree::default(), Vec::new());
    }
    let room = most.saturating_sub(instances.len());
    let boxed = |(bounds, part)| Boxed { bounds, part };
    let root = branch(instances.into_iter().map(boxed).collect(), room, open);
    let (mut nodes, mut parts) = (Vec::new(), Vec::new());
    flatten(root, &mut nodes, &mut parts);
    (Tree::over(&nodes), parts)
}

/// Lays out a branch with the two nodes of a fork next to each other.
fn flatten(root: Branch, nodes: &mut Vec<Bvh2Node>, parts: &mut Vec<Part>) {
    let aabb = |bounds: &Bounded| Aabb::new(bounds.low.into(), bounds.high.into());
    nodes.push(Bvh2Node::new(Aabb::empty(), 0, 0));
    let mut open = vec![(root, 0)];
    while let Some((branch, index)) = open.pop() {
        nodes[index] = match branch {
            Branch::Leaf(Boxed { bounds, part }) => {
                parts.push(part);
                Bvh2Node::new(aabb(&bounds), 1, (parts.len() - 1) as u32)
            }
            Branch::Fork(bounds, children) => {
                let first = nodes.len();
                let vacant = Bvh2Node::new(Aabb::empty(), 0, 0);
                nodes.extend([vacant, vacant]);
                let [left, right] = *children;
                open.extend([(right, first + 1), (left, first)]);
                Bvh2Node::new(aabb(&bounds), 0, first as u32)
            }
        };
    }
}

/// Splits `all` down to single parts; up to `room` more parts may be made of them.
fn branch(mut all: Vec<Boxed>, mut room: usize, open: &Open<'_>) -> Branch {
    let mut bounds = around(&all);
    if let [only] = all[..] {
        return Branch::Leaf(only);
    }
    if room >= MOST_INSIDE {
        room -= open_large(&mut all, &bounds, room, open);
        bounds = around(&all);
    }
    let count = all.len();
    let (left, right) = split(all);
    let room_left = (room as u64 * left.len() as u64 / count as u64) as usize;
    let room_right = room - room_left;
    let children = if count >= ENOUGH_FOR_THREADS {
        let join =
            rayon::join(|| branch(left, room_left, open), || branch(right, room_right, open));
        [join.0, join.1]
    } else {
        [branch(left, room_left, open), branch(right, room_right, open)]
    };
    Branch::Fork(bounds, Box::new(children))
}

/// Replaces parts that are large beside `bounds` by what they consist of; returns how many more there are.
fn open_large(all: &mut Vec<Boxed>, bounds: &Bounded, room: usize, open: &Open<'_>) -> usize {
    // What belongs to one instance is as well split by its own tree.
    if all.iter().all(|boxed| boxed.part.instance == all[0].part.instance) {
        return 0;
    }
    let extent = |bounds: &Bounded, axis: usize| bounds.high[axis] - bounds.low[axis];
    let longest = (0..3).max_by(|&a, &b| extent(bounds, a).total_cmp(&extent(bounds, b)));
    let axis = longest.unwrap_or(0);
    let large = LARGE * extent(bounds, axis);
    let before = all.len();
    let mut inside = Vec::new();
    for index in 0..before {
        if all.len() + MOST_INSIDE - 1 - before > room {
            break;
        }
        if extent(&all[index].bounds, axis) <= large {
            continue;
        }
        inside.clear();
        open(all[index].part, &mut inside);
        if inside.is_empty() {
            continue;
        }
        let mut inside = inside.drain(..).map(|(bounds, part)| Boxed { bounds, part });
        all[index] = inside.next().expect("there is a part");
        all.extend(inside);
    }
    all.len() - before
}

/// Splits into two sets where the sum of their areas, each times its number, is least among the borders
/// of bins.
fn split(all: Vec<Boxed>) -> (Vec<Boxed>, Vec<Boxed>) {
    // Twice the middle of the box.
    let place = |boxed: &Boxed, axis: usize| boxed.bounds.low[axis] + boxed.bounds.high[axis];
    let (mut low, mut high) = ([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);
    for boxed in &all {
        for axis in 0..3 {
            let place = place(boxed, axis);
            low[axis] = low[axis].min(place);
            high[axis] = high[axis].max(place);
        }
    }
    let bins = BINS.min(4 + all.len() / 8);
    let scale: [f32; 3] = std::array::from_fn(|axis| {
        let scale = 0.999 * bins as f32 / (high[axis] - low[axis]);
        if scale.is_finite() { scale } else { 0.0 }
    });
    let bin = |boxed: &Boxed, axis: usize| {
        (((place(boxed, axis) - low[axis]) * scale[axis]) as usize).min(BINS - 1)
    };
    let mut counts = [[0usize; BINS]; 3];
    let mut boxes = [[Bounded::NOTHING; BINS]; 3];
    for boxed in &all {
        for axis in 0..3 {
            let bin = bin(boxed, axis);
            counts[axis][bin] += 1;
            boxes[axis][bin].include(&boxed.bounds);
        }
    }
    let mut best: Option<(f32, usize, usize)> = None;
    for axis in (0..3).filter(|&axis| scale[axis] > 0.0) {
        let mut costs_above = [0.0; BINS];
        let (mut above, mut count) = (Bounded::NOTHING, 0);
        for bin in (1..bins).rev() {
            above.include(&boxes[axis][bin]);
            count += counts[axis][bin];
            costs_above[bin] = if count > 0 { above.half_area() * count as f32 } else { f32::NAN };
        }
        let (mut below, mut count) = (Bounded::NOTHING, 0);
        for bin in 1..bins {
            below.include(&boxes[axis][bin - 1]);
            count += counts[axis][bin - 1];
            let cost = below.half_area() * count as f32 + costs_above[bin];
            // False if there is nothing on either side.
            if count > 0 && cost < best.map_or(f32::INFINITY, |best| best.0) {
                best = Some((cost, axis, bin));
            }
        }
    }
    match best {
        Some((_, axis, border)) => all.into_iter().partition(|boxed| bin(boxed, axis) < border),
        // All are in the same place.
        None => {
            let mut left = all;
            let right = left.split_off(left.len() / 2);
            (left, right)
        }
    }
}

fn around(all: &[Boxed]) -> Bounded {
    let mut around = Bounded::NOTHING;
    all.iter().for_each(|boxed| around.include(&boxed.bounds));
    around
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::raycast::tree::leaf;

    /// Boxes of which each instance has four levels, halves of halves along x.
    fn halves(part: Part, into: &mut Vec<(Bounded, Part)>) {
        // Codes count as a heap does: 0, then 1 and 2, then 3 to 6.
        if part.code < 7 {
            into.extend([1, 2].map(|k| {
                let part = Part { code: 2 * part.code + k, ..part };
                (bounds(part), part)
            }));
        }
    }

    fn bounds(part: Part) -> Bounded {
        let (mut low, mut size, mut code) = (0.0, 8.0, part.code + 1);
        let depth = code.ilog2();
        code -= 1 << depth;
        for level in (0..depth).rev() {
            size *= 0.5;
            low += size * (code >> level & 1) as f32;
        }
        let y = part.instance as f32 * 0.3;
        Bounded { low: [low, y, 0.0], high: [low + size, y + 1.0, 1.0] }
    }

    /// Parts below each leaf of the tree, and that boxes on the way contain theirs.
    fn leaves(tree: &Tree, parts: &[Part]) -> Vec<u32> {
        let mut found = Vec::new();
        let mut open = vec![0];
        while let Some(index) = open.pop() {
            let node: &crate::world::raycast::tree::Node = &tree.nodes[index as usize];
            for slot in (0..8).filter(|slot| node.occupied >> slot & 1 == 1) {
                let Some((first, count)) = leaf(node.children[slot]) else {
                    open.push(node.children[slot]);
                    continue;
                };
                assert_eq!(count, 1);
                let Bounded { low, high } = bounds(parts[first as usize]);
                for axis in 0..3 {
                    let (middle, half) = (node.middle[axis][slot], node.half[axis][slot]);
                    assert!(low[axis] >= middle - half && high[axis] <= middle + half);
                }
                found.push(first);
            }
        }
        found.sort_unstable();
        found
    }

    #[test]
    fn opened_instances_are_covered_once() {
        for (count, most) in [(1, 50), (5, 5), (40, 40), (40, 90), (300, 2000), (5000, 9000)] {
            let whole = |instance| Part { instance, code: 0 };
            let instances = (0..count).map(|i| (bounds(whole(i)), whole(i))).collect();
            let (tree, parts) = build(instances, most, &halves);
            assert!(parts.len() <= most, "{} of {most}", parts.len());
            assert_eq!(parts.len() > count as usize, most > count as usize && count > 1);
            assert_eq!(leaves(&tree, &parts), (0..parts.len() as u32).collect::<Vec<_>>());
            // What parts of each instance are long adds up to all of it.
            let mut lengths = vec![0.0; count as usize];
            for part in &parts {
                let Bounded { low, high } = bounds(*part);
                lengths[part.instance as usize] += high[0] - low[0];
            }
            assert!(lengths.iter().all(|&length| length == 8.0));
        }
    }

    #[test]
    fn the_number_of_threads_does_not_matter() {
        let tree = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let whole = |instance| Part { instance, code: 0 };
            let instances = (0..9000).map(|i| (bounds(whole(i)), whole(i))).collect();
            let (_, parts) = pool.install(|| build(instances, 12_000, &halves));
            parts.into_iter().map(|part| (part.instance, part.code)).collect::<Vec<_>>()
        };
        assert_eq!(tree(1), tree(3));
    }
}
