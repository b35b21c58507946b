//! Eight-wide bounding-volume trees.
//!
//! [`Clustering`] builds a binary tree over the triangles of a mesh, and [`Binary::improve`] improves it.
//! [`Tree::build`] collapses it: one node has the boxes of up to eight children as a structure of arrays, for vector
//! instructions. The same type is used for the instances of a scene, see [`super::top`].

use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};

use super::binary::{Binary, ROOT};
use super::boxes::{Bounds, Primitive, VectorBounds};
use super::clusters::Clustering;
use super::memory;
use super::parts::{Divider, INDEX_BITS, index};

/// Marks an unused child slot.
const EMPTY: u32 = u32::MAX;
const LEAF_BIT: u32 = 1 << 31;
const COUNT_SHIFT: u32 = 28;
const FIRST_MASK: u32 = (1 << COUNT_SHIFT) - 1;
/// Largest number of primitives in a leaf, which is stored in three bits.
const MAX_PER_LEAF: u32 = 8;
/// Least share of a tree's nodes that the first round of [`Binary::improve`] moves to better places.
const LEAST_MOVED: f32 = 0.4;
/// Number of primitives above which a tree is built in parts. Parts of up to half as many are fastest.
const MOST_AT_ONCE: usize = 1 << 18;
/// Largest number of primitives in a tree, the limit of the leaf encoding.
pub const MAX_PRIMITIVES: usize = FIRST_MASK as usize;
const _: () = assert!(MAX_PRIMITIVES < 1 << INDEX_BITS);

/// A node with up to eight children.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct Node {
    /// Centres of the children's boxes, by axis and slot.
    pub middle: [[f32; 8]; 3],
    /// Half sizes of the children's boxes, rounded up.
    pub half: [[f32; 8]; 3],
    /// Codes of the children, see [`leaf`].
    pub children: [u32; 8],
    /// A bit for each slot in use; used slots come first.
    pub occupied: u32,
}

/// A tree over primitives `0..n`.
#[derive(Debug, Default)]
pub struct Tree {
    /// The root is first; empty if there are no primitives.
    pub nodes: Vec<Node>,
    /// Primitives in the order of the leaves; a leaf is a run of them.
    pub order: Vec<u32>,
}

/// Decodes a child. `None` means that `code` is the index of a node; otherwise the result is the start and length of
/// a leaf's run in [`Tree::order`].
#[inline(always)]
pub fn leaf(code: u32) -> Option<(u32, u32)> {
    let is_leaf = code & LEAF_BIT != 0;
    is_leaf.then_some((code & FIRST_MASK, ((code & !LEAF_BIT) >> COUNT_SHIFT) + 1))
}

impl Node {
    const VACANT: Self =
        Self { middle: [[0.0; 8]; 3], half: [[0.0; 8]; 3], children: [EMPTY; 8], occupied: 0 };

    fn set(&mut self, slot: usize, bounds: &VectorBounds, code: u32) {
        for axis in 0..3 {
            let (low, high) = (bounds.low[axis], bounds.high[axis]);
            let middle = 0.5 * low + 0.5 * high;
            self.middle[axis][slot] = middle;
            self.half[axis][slot] = (high - middle).max(middle - low).next_up();
        }
        self.children[slot] = code;
        self.occupied |= 1 << slot;
    }
}

impl Tree {
    /// Builds a tree over `count` primitives with up to `max_per_leaf` (1..=8) of them in a leaf. `bounds` returns a
    /// primitive's box; all boxes lie in `around`.
    ///
    /// # Panics
    /// With more than [`MAX_PRIMITIVES`] primitives; callers check.
    pub fn build(
        count: usize,
        around: &Bounds,
        bounds: &(impl Fn(u32) -> Bounds + Sync),
        max_per_leaf: u32,
    ) -> Self {
        assert!(count <= MAX_PRIMITIVES);
        if count == 0 {
            return Self::default();
        }
        let max_per_leaf = max_per_leaf.clamp(1, MAX_PER_LEAF);
        Self::build_in_parts(count, around, bounds, max_per_leaf, MOST_AT_ONCE)
    }

    /// Like [`Tree::build`]. For more than `most` primitives, it builds trees of parts of up to half of `most` on all
    /// processors, and one tree above them.
    fn build_in_parts(
        count: usize,
        around: &Bounds,
        bounds: &(impl Fn(u32) -> Bounds + Sync),
        max_per_leaf: u32,
        most: usize,
    ) -> Self {
        if count <= most {
            let all = (0..count as u32).map(|index| Primitive { bounds: bounds(index), index });
            let Self { nodes, order } = Builder::default().build(all, max_per_leaf, false).0;
            return Self { nodes: in_huge_pages(nodes), order };
        }
        let (divider, mut words) = Divider::new(count, around, bounds);
        let parts: Vec<(Self, Bounds)> = divider
            .divide(&mut words, most / 2)
            .into_par_iter()
            .with_max_len(1)
            .map_init(Builder::default, |builder, part| {
                let indices = part.iter().map(|&word| index(word));
                let part = indices.map(|index| Primitive { bounds: bounds(index), index });
                builder.build(part, max_per_leaf, true)
            })
            .collect();
        drop(words);
        Self::above(parts, count)
    }

    /// Combines the trees of parts, which have `count` primitives, into one tree.
    fn above(parts: Vec<(Self, Bounds)>, count: usize) -> Self {
        let boxes = (0..).zip(&parts).map(|(index, part)| Primitive { bounds: part.1, index });
        // Builds the upper tree, whose leaves are then replaced by the roots of the parts.
        let (mut above, _) = Builder::default().build(boxes, 1, false);
        let nodes_above = above.nodes.len();
        let nodes_below = parts.iter().map(|(tree, _)| tree.nodes.len()).sum::<usize>();
        let mut nodes = memory::huge(nodes_above + nodes_below);
        nodes.append(&mut above.nodes);
        let mut roots = Vec::with_capacity(parts.len());
        let mut order = Vec::with_capacity(count);
        for (tree, _) in parts {
            let (first_node, first_place) = (nodes.len() as u32, order.len() as u32);
            roots.push(first_node);
            order.extend(tree.order);
            nodes.extend(tree.nodes.into_iter().map(|mut node| {
                for code in node.children.iter_mut().filter(|code| **code != EMPTY) {
                    *code += if leaf(*code).is_some() { first_place } else { first_node };
                }
                node
            }));
        }
        for code in nodes[..nodes_above].iter_mut().flat_map(|node| &mut node.children) {
            if *code == EMPTY {
                continue;
            }
            if let Some((place, _)) = leaf(*code) {
                *code = roots[above.order[place as usize] as usize];
            }
        }
        Self { nodes, order }
    }

    /// Converts a binary tree to a wide one. Leaves refer to runs of an order that is stored elsewhere.
    pub fn over(binary: &Binary) -> Self {
        Self { nodes: in_huge_pages(collapse(binary)), order: Vec::new() }
    }

    /// Renumbers the leaves consecutively in the order of the nodes. Returns the start and length of
    /// each leaf's run in [`Tree::order`].
    pub fn number_leaves(&mut self) -> Vec<(u32, u32)> {
        let mut runs = Vec::new();
        for code in self.nodes.iter_mut().flat_map(|node| &mut node.children) {
            if *code == EMPTY {
                continue;
            }
            if let Some(run) = leaf(*code) {
                *code = *code & !FIRST_MASK | runs.len() as u32;
                runs.push(run);
            }
        }
        runs
    }
}

fn in_huge_pages(mut nodes: Vec<Node>) -> Vec<Node> {
    let mut all = memory::huge(nodes.len());
    all.append(&mut nodes);
    all
}

/// Builds trees on one thread; reuses its memory for the next tree.
#[derive(Default)]
struct Builder {
    primitives: Vec<Primitive>,
    clustering: Clustering,
}

impl Builder {
    /// The tree over `primitives`, which may be part of a mesh, and its bounding box.
    fn build(
        &mut self,
        primitives: impl Iterator<Item = Primitive>,
        max_per_leaf: u32,
        is_part: bool,
    ) -> (Tree, Bounds) {
        self.primitives.clear();
        self.primitives.extend(primitives);
        let primitives = &self.primitives;
        let (mut binary, order) = if is_part {
            self.clustering.build(primitives, max_per_leaf)
        } else {
            // Single primitives are first moved to their best places and then gathered in leaves.
            let (mut single, order) = self.clustering.build(primitives, 1);
            single.improve(0.0);
            single.filled(&order, max_per_leaf)
        };
        binary.improve(LEAST_MOVED);
        let root = binary.bounds(ROOT);
        let bounds = Bounds { low: root.low.to_array(), high: root.high.to_array() };
        (Tree { nodes: collapse(&binary), order }, bounds)
    }
}

/// Collapses the binary tree into wide nodes with the least sum of areas. Rays hit a node in proportion to its area
/// (Ylitie, Karras and Laine, Efficient Incoherent Ray Traversal on GPUs Through Compressed Wide BVHs, HPG 2017).
fn collapse(binary: &Binary) -> Vec<Node> {
    let costs = Costs::new(binary);
    let mut nodes = vec![Node::VACANT];
    let mut open = vec![(ROOT, 0usize)];
    let mut children = Vec::with_capacity(WIDTH);
    while let Some((binary_index, wide_index)) = open.pop() {
        children.clear();
        if binary.below(binary_index).is_leaf() {
            children.push(binary_index);
        } else {
            costs.split(binary_index, WIDTH, &mut children);
        }
        for (slot, &source) in children.iter().enumerate() {
            let below = binary.below(source);
            let code = if below.is_leaf() {
                LEAF_BIT | (below.count - 1) << COUNT_SHIFT | below.first
            } else {
                nodes.push(Node::VACANT);
                open.push((source, nodes.len() - 1));
                (nodes.len() - 1) as u32
            };
            nodes[wide_index].set(slot, binary.bounds(source), code);
        }
    }
    nodes
}

/// Largest number of children of a node.
const WIDTH: usize = 8;

/// Least costs of the subtrees of a binary tree.
struct Costs<'a> {
    binary: &'a Binary,
    /// For each node, the least sum of areas of the wide nodes below, if the subtree takes up to 1, 2, ... 7 slots of
    /// its parent. Leaves cost nothing, because their cost is always the same.
    least: Vec<[f32; WIDTH - 1]>,
}

impl<'a> Costs<'a> {
    fn new(binary: &'a Binary) -> Self {
        let mut costs = Self { binary, least: vec![[0.0; WIDTH - 1]; binary.len()] };
        for index in binary.parents_first().into_iter().rev().map(|index| index as usize) {
            if binary.below(index).is_leaf() {
                continue;
            }
            let mut best = binary.bounds(index).half_area() + costs.best_split(index, WIDTH).0;
            for slots in 1..WIDTH {
                if slots > 1 {
                    best = best.min(costs.best_split(index, slots).0);
                }
                costs.least[index][slots - 1] = best;
            }
        }
        costs
    }

    /// Least cost of an inner node's children in `slots` slots (2..=8), and the number of slots of the first child.
    fn best_split(&self, index: usize, slots: usize) -> (f32, usize) {
        let first = self.binary.below(index).first as usize;
        let (left, right) = (&self.least[first], &self.least[first + 1]);
        (1..slots)
            .map(|taken| (left[taken - 1] + right[slots - taken - 1], taken))
            .fold((f32::INFINITY, 1), |best, split| if split.0 < best.0 { split } else { best })
    }

    /// Appends the children of an inner node to `children`, in up to `slots` slots.
    fn split(&self, index: usize, slots: usize, children: &mut Vec<usize>) {
        let taken = self.best_split(index, slots).1;
        let first = self.binary.below(index).first as usize;
        self.place(first, taken, children);
        self.place(first + 1, slots - taken, children);
    }

    /// Appends a subtree to `children`, in up to `slots` slots.
    fn place(&self, index: usize, slots: usize, children: &mut Vec<usize>) {
        let least = &self.least[index];
        let fewest = (1..=slots).find(|&fewer| least[fewer - 1] == least[slots - 1]);
        match fewest {
            Some(fewest) if fewest > 1 => self.split(index, fewest, children),
            _ => children.push(index),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::raycast::draws::Draws;

    /// The primitives below the root. Checks that all boxes contain the primitives below them.
    fn reached(tree: &Tree, primitives: &[Bounds]) -> Vec<u32> {
        let mut found = Vec::new();
        let mut open = vec![(0u32, vec![])];
        while let Some((index, boxes)) = open.pop() {
            let node = &tree.nodes[index as usize];
            for slot in (0..8).filter(|slot| node.occupied >> slot & 1 == 1) {
                let mut boxes: Vec<(usize, usize)> = boxes.clone();
                boxes.push((index as usize, slot));
                match leaf(node.children[slot]) {
                    None => open.push((node.children[slot], boxes)),
                    Some((first, count)) => {
                        for place in first..first + count {
                            let primitive = tree.order[place as usize];
                            found.push(primitive);
                            let Bounds { low, high } = &primitives[primitive as usize];
                            for &(node, slot) in &boxes {
                                let node = &tree.nodes[node];
                                for axis in 0..3 {
                                    let middle = node.middle[axis][slot];
                                    let half = node.half[axis][slot];
                                    assert!(low[axis] >= middle - half - 1e-5);
                                    assert!(high[axis] <= middle + half + 1e-5);
                                }
                            }
                        }
                    }
                }
            }
        }
        found.sort_unstable();
        found
    }

    #[test]
    fn trees_built_in_parts_hold_every_primitive_once() {
        let mut draws = Draws(3);
        let mut draw = || draws.share() as f32;
        let primitives: Vec<Bounds> = (0..5000)
            .map(|_| {
                let low = [100.0 * draw(), 40.0 * draw(), 10.0 * draw()];
                Bounds { low, high: low.map(|c| c + 0.5) }
            })
            .collect();
        let around = Bounds { low: [0.0; 3], high: [101.0, 41.0, 11.0] };
        let all: Vec<u32> = (0..5000).collect();
        for most in [5000, 4999, 700, 100] {
            let tree = Tree::build_in_parts(5000, &around, &|i| primitives[i as usize], 8, most);
            assert_eq!(reached(&tree, &primitives), all, "{most} at once");
        }
        // The tree must also be correct if all primitives are at the same position.
        let alike = vec![primitives[0]; 3000];
        for most in [3000, 500] {
            let tree = Tree::build_in_parts(3000, &around, &|i| alike[i as usize], 8, most);
            assert_eq!(reached(&tree, &alike), all[..3000]);
        }
    }

    #[test]
    fn boxes_that_are_not_numbers_are_kept() {
        let places = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, 1.0];
        let bounds = |i: u32| {
            let at = places[i as usize % places.len()];
            Bounds { low: [at, i as f32, 0.0], high: [at, i as f32, at] }
        };
        let around = Bounds { low: [f32::NEG_INFINITY; 3], high: [f32::INFINITY; 3] };
        for most in [2000, 300] {
            let mut order = Tree::build_in_parts(2000, &around, &bounds, 8, most).order;
            order.sort_unstable();
            assert_eq!(order, (0..2000).collect::<Vec<u32>>());
        }
    }

    #[test]
    fn the_number_of_threads_does_not_matter() {
        let bounds = |i: u32| {
            let low = [3, 5, 7].map(|k| (i * k % 1009) as f32);
            Bounds { low, high: low.map(|c| c + 9.0) }
        };
        let around = Bounds { low: [0.0; 3], high: [1018.0; 3] };
        let order = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| Tree::build_in_parts(9000, &around, &bounds, 8, 1000)).order
        };
        assert_eq!(order(1), order(3));
    }
}
