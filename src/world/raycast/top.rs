//! The tree over a scene's instances.
//!
//! Copies overlap: a ray that enters the box of one often leaves the box without entering a leaf. Instances that are
//! large compared with their nodes are therefore divided: the leaves of this tree are then subtrees of meshes
//! (Benthin, Woop, Wald and Áfra, Improved Two-Level BVHs using Partial Re-Braiding, HPG 2017). Nodes are split at
//! the best [`Border`], which takes a second for a million copies. Then nodes with large boxes are moved to better
//! places.

use super::binary::{Below, Binary, ROOT};
use super::borders::Border;
use super::boxes::{Bounds, VectorBounds};
use super::tree::Tree;

/// Part of an instance: the subtree below one child of its mesh's tree.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Index of the instance.
    pub instance: u32,
    /// Code of the child in the mesh's tree, see [`leaf`](super::tree::leaf); 0, the root, stands for the whole
    /// instance.
    pub code: u32,
}

/// A part with its box in World.
#[derive(Clone, Copy)]
struct Boxed {
    bounds: Bounds,
    part: Part,
}

/// A binary tree under construction.
enum Branch {
    Leaf(Boxed),
    Fork(Bounds, Box<[Branch; 2]>),
}

/// Appends the components of a part to a list. Appends nothing if the part cannot be divided.
type Open<'a> = dyn Fn(Part, &mut Vec<(Bounds, Part)>) + Sync + 'a;

/// Parts are divided if they extend over more than this share of their node.
const LARGE: f32 = 0.1;
/// Largest number of components into which a part is divided.
const MOST_INSIDE: usize = 8;
/// Least number of parts in a set whose two halves are processed in parallel.
const ENOUGH_FOR_THREADS: usize = 4096;

/// Builds the tree over `instances`, which are divided into at most `most` parts. Also returns the parts in the order
/// of the leaves.
pub fn build(instances: Vec<(Bounds, Part)>, most: usize, open: &Open<'_>) -> (Tree, Vec<Part>) {
    if instances.is_empty() {
        return (Tree::default(), Vec::new());
    }
    let room = most.saturating_sub(instances.len());
    let boxed = |(bounds, part)| Boxed { bounds, part };
    let root = branch(instances.into_iter().map(boxed).collect(), room, open);
    let (mut binary, parts) = flatten(root);
    binary.improve(0.0);
    (Tree::over(&binary), parts)
}

/// Lays out a tree so that the two nodes of a fork are next to each other. Also returns the parts in the order of the
/// leaves.
fn flatten(root: Branch) -> (Binary, Vec<Part>) {
    let mut tree = Binary::with_capacity(0);
    let mut parts = Vec::new();
    let vacant = (VectorBounds::NOTHING, Below { first: 0, count: 0 });
    let mut open = vec![(root, ROOT)];
    while let Some((branch, index)) = open.pop() {
        match branch {
            Branch::Leaf(Boxed { bounds, part }) => {
                let first = parts.len() as u32;
                parts.push(part);
                tree.set(index, (&bounds).into(), Below { first, count: 1 });
            }
            Branch::Fork(bounds, children) => {
                let first = tree.push([vacant; 2]);
                let [left, right] = *children;
                open.extend([(right, first as usize + 1), (left, first as usize)]);
                tree.set(index, (&bounds).into(), Below { first, count: 0 });
            }
        }
    }
    (tree, parts)
}

/// Builds the tree over `all` down to single parts. Large parts are divided first, which may add up to `room` parts.
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

/// Replaces parts that are large compared with `bounds` by their components; returns the number of additional parts.
fn open_large(all: &mut Vec<Boxed>, bounds: &Bounds, room: usize, open: &Open<'_>) -> usize {
    // Parts of a single instance are split equally well by the tree of its mesh.
    if all.iter().all(|boxed| boxed.part.instance == all[0].part.instance) {
        return 0;
    }
    let extent = |bounds: &Bounds, axis: usize| bounds.high[axis] - bounds.low[axis];
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

/// Splits parts into two sets at the best border.
fn split(all: Vec<Boxed>) -> (Vec<Boxed>, Vec<Boxed>) {
    let boxes = all.iter().map(|boxed| &boxed.bounds);
    match Border::best(boxes, 4 + all.len() / 8, 1) {
        Some(border) => all.into_iter().partition(|boxed| border.is_before(&boxed.bounds)),
        // All boxes are at the same position.
        None => {
            let mut left = all;
            let right = left.split_off(left.len() / 2);
            (left, right)
        }
    }
}

fn around(all: &[Boxed]) -> Bounds {
    let mut around = Bounds::NOTHING;
    all.iter().for_each(|boxed| around.include(&boxed.bounds));
    around
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::raycast::tree::leaf;

    /// Boxes of an instance: four levels, each of which halves the boxes along x.
    fn halves(part: Part, into: &mut Vec<(Bounds, Part)>) {
        // Codes are numbered like a heap: 0, then 1 and 2, then 3 to 6.
        if part.code < 7 {
            into.extend([1, 2].map(|k| {
                let part = Part { code: 2 * part.code + k, ..part };
                (bounds(part), part)
            }));
        }
    }

    fn bounds(part: Part) -> Bounds {
        let (mut low, mut size, mut code) = (0.0, 8.0, part.code + 1);
        let depth = code.ilog2();
        code -= 1 << depth;
        for level in (0..depth).rev() {
            size *= 0.5;
            low += size * (code >> level & 1) as f32;
        }
        let y = part.instance as f32 * 0.3;
        Bounds { low: [low, y, 0.0], high: [low + size, y + 1.0, 1.0] }
    }

    /// Parts below each leaf of the tree. Checks that boxes contain the parts below them.
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
                let Bounds { low, high } = bounds(parts[first as usize]);
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
            // The lengths of an instance's parts sum to its whole length.
            let mut lengths = vec![0.0; count as usize];
            for part in &parts {
                let Bounds { low, high } = bounds(*part);
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
