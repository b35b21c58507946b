//! Eight-wide bounding-volume trees.
//!
//! `obvhs` builds a binary tree over the triangles of a mesh (PLOC with reinsertion); [`Tree::build`]
//! collapses it so that one node holds the boxes of up to eight children as structure of arrays, for vector
//! instructions. The same type serves the instances of a scene, see [`super::top`].

use glam::Vec3A;
use obvhs::aabb::Aabb;
use obvhs::bvh2::node::Bvh2Node;
use obvhs::{Boundable, BvhBuildParams};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use super::memory;

/// Approximate number of primitives that are considered for reinsertion.
const REINSERTED: f32 = 20_000.0;
/// Marks an unused child slot.
const EMPTY: u32 = u32::MAX;
const LEAF_BIT: u32 = 1 << 31;
const COUNT_SHIFT: u32 = 28;
const FIRST_MASK: u32 = (1 << COUNT_SHIFT) - 1;
/// A leaf's count is stored in three bits.
const MAX_PER_LEAF: u32 = 8;
/// Trees of more primitives are built in parts, because building needs some 200 bytes a primitive.
const MOST_AT_ONCE: usize = 1 << 19;
/// Largest number of primitives in a tree, the limit of the leaf encoding.
pub const MAX_PRIMITIVES: usize = FIRST_MASK as usize;

/// A node with up to eight children.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct Node {
    /// Centres of the children's boxes, by axis and slot.
    pub middle: [[f32; 8]; 3],
    /// Half sizes of the boxes, rounded up.
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

/// Decodes a child: `None` is the node with that index, otherwise the start and length of a leaf's
/// run in [`Tree::order`].
#[inline(always)]
pub fn leaf(code: u32) -> Option<(u32, u32)> {
    let is_leaf = code & LEAF_BIT != 0;
    is_leaf.then_some((code & FIRST_MASK, ((code & !LEAF_BIT) >> COUNT_SHIFT) + 1))
}

impl Node {
    const VACANT: Self =
        Self { middle: [[0.0; 8]; 3], half: [[0.0; 8]; 3], children: [EMPTY; 8], occupied: 0 };

    fn set(&mut self, slot: usize, bounds: &Aabb, code: u32) {
        for axis in 0..3 {
            let (low, high) = (bounds.min[axis], bounds.max[axis]);
            let middle = 0.5 * low + 0.5 * high;
            self.middle[axis][slot] = middle;
            self.half[axis][slot] = (high - middle).max(middle - low).next_up();
        }
        self.children[slot] = code;
        self.occupied |= 1 << slot;
    }
}

/// The bounding box of a primitive, for the builder.
#[derive(Clone, Copy)]
pub struct Bounded {
    pub low: [f32; 3],
    pub high: [f32; 3],
}

impl Bounded {
    /// The box of no primitive.
    pub const NOTHING: Self = Self { low: [f32::INFINITY; 3], high: [f32::NEG_INFINITY; 3] };

    /// Grows to contain `other`.
    pub fn include(&mut self, other: &Self) {
        for axis in 0..3 {
            self.low[axis] = self.low[axis].min(other.low[axis]);
            self.high[axis] = self.high[axis].max(other.high[axis]);
        }
    }

    /// Half of the surface.
    pub fn half_area(&self) -> f32 {
        let [x, y, z]: [f32; 3] = std::array::from_fn(|axis| self.high[axis] - self.low[axis]);
        x * y + y * z + z * x
    }
}

impl Boundable for Bounded {
    fn aabb(&self) -> Aabb {
        Aabb::new(Vec3A::from_array(self.low), Vec3A::from_array(self.high))
    }
}

impl Tree {
    /// Builds a tree whose leaves hold up to `max_per_leaf` (1..=8) primitives.
    ///
    /// # Panics
    /// With more than [`MAX_PRIMITIVES`] primitives; callers check.
    pub fn build(primitives: &[Bounded], max_per_leaf: u32) -> Self {
        assert!(primitives.len() <= MAX_PRIMITIVES);
        if primitives.is_empty() {
            return Self::default();
        }
        Self::build_in_parts(primitives, max_per_leaf.clamp(1, MAX_PER_LEAF), MOST_AT_ONCE)
    }

    /// Builds a tree for every `most` neighbouring primitives, on all processors, and one tree above them.
    fn build_in_parts(primitives: &[Bounded], max_per_leaf: u32, most: usize) -> Self {
        if primitives.len() <= most {
            return Self::build_at_once(primitives, max_per_leaf);
        }
        let mut indices: Vec<u32> = (0..primitives.len() as u32).collect();
        let mut parts = Vec::new();
        part(primitives, &mut indices, most, &mut parts);
        let boxes: Vec<Bounded> = parts.iter().map(|part| around(primitives, part)).collect();
        // The upper tree, whose leaves are then replaced by the roots of the parts.
        let Self { mut nodes, order: order_of_parts } = Self::build_at_once(&boxes, 1);
        let nodes_above = nodes.len();
        let trees: Vec<Self> = parts
            .par_iter()
            .map(|part| {
                let members: Vec<Bounded> = part.iter().map(|&i| primitives[i as usize]).collect();
                Self::build_at_once(&members, max_per_leaf)
            })
            .collect();
        let count = nodes_above + trees.iter().map(|tree| tree.nodes.len()).sum::<usize>();
        let mut all = memory::huge(count);
        all.append(&mut nodes);
        let mut nodes = all;
        let mut roots = Vec::with_capacity(parts.len());
        let mut order = Vec::with_capacity(primitives.len());
        for (part, tree) in parts.into_iter().zip(trees) {
            let (first_node, first_place) = (nodes.len() as u32, order.len() as u32);
            roots.push(first_node);
            order.extend(tree.order.into_iter().map(|place| part[place as usize]));
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
                *code = roots[order_of_parts[place as usize] as usize];
            }
        }
        Self { nodes, order }
    }

    fn build_at_once(primitives: &[Bounded], max_per_leaf: u32) -> Self {
        let params = BvhBuildParams {
            max_prims_per_leaf: max_per_leaf,
            // A leaf's primitives are tested in one vector, so leaves are always filled.
            collapse_traversal_cost: 2.0 * max_per_leaf as f32,
            // Reinserting all would make traversal 4 to 7 % faster and take a minute for millions.
            reinsertion_batch_ratio: (REINSERTED / primitives.len() as f32).clamp(0.05, 1.0),
            ..BvhBuildParams::medium_build()
        };
        let mut core_build_time = std::time::Duration::ZERO;
        let binary = obvhs::bvh2::builder::build_bvh2(primitives, params, &mut core_build_time);
        Self { nodes: collapse(&binary.nodes), order: binary.primitive_indices }
    }

    /// The wide tree of a binary one, whose leaves refer to runs of an order that is kept elsewhere.
    pub fn over(binary: &[Bvh2Node]) -> Self {
        Self { nodes: collapse(binary), order: Vec::new() }
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

/// Halves `indices` across the longest side of the boxes' centres until each part has at most `most`.
fn part<'a>(
    primitives: &[Bounded],
    indices: &'a mut [u32],
    most: usize,
    parts: &mut Vec<&'a [u32]>,
) {
    if indices.len() <= most {
        parts.push(indices);
        return;
    }
    let middle = |index: u32, axis: usize| {
        let Bounded { low, high } = &primitives[index as usize];
        0.5 * low[axis] + 0.5 * high[axis]
    };
    let extent = |axis: usize| {
        let all = indices.iter().map(|&index| middle(index, axis));
        let (low, high) = all
            .fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), c| (low.min(c), high.max(c)));
        high - low
    };
    let longest = (0..3).max_by(|&a, &b| extent(a).total_cmp(&extent(b))).unwrap_or(0);
    let half = indices.len() / 2;
    indices.select_nth_unstable_by(half, |&a, &b| {
        middle(a, longest).total_cmp(&middle(b, longest)).then(a.cmp(&b))
    });
    let (near, far) = indices.split_at_mut(half);
    part(primitives, near, most, parts);
    part(primitives, far, most, parts);
}

/// The bounding box of the primitives `indices`.
fn around(primitives: &[Bounded], indices: &[u32]) -> Bounded {
    let mut all = Bounded::NOTHING;
    indices.iter().for_each(|&index| all.include(&primitives[index as usize]));
    all
}

/// Collapses the binary tree into wide nodes with the least sum of areas, which rays hit in
/// proportion (Ylitie, Karras and Laine, Efficient Incoherent Ray Traversal on GPUs Through
/// Compressed Wide BVHs, HPG 2017).
fn collapse(binary: &[Bvh2Node]) -> Vec<Node> {
    let costs = Costs::new(binary);
    let mut nodes = vec![Node::VACANT];
    let mut open = vec![(0usize, 0usize)];
    let mut children = Vec::with_capacity(WIDTH);
    while let Some((binary_index, wide_index)) = open.pop() {
        children.clear();
        if binary[binary_index].is_leaf() {
            children.push(binary_index);
        } else {
            costs.split(binary_index, WIDTH, &mut children);
        }
        for (slot, &source) in children.iter().enumerate() {
            let node = &binary[source];
            let code = if node.is_leaf() {
                LEAF_BIT | (node.prim_count - 1) << COUNT_SHIFT | node.first_index
            } else {
                nodes.push(Node::VACANT);
                open.push((source, nodes.len() - 1));
                (nodes.len() - 1) as u32
            };
            nodes[wide_index].set(slot, node.aabb(), code);
        }
    }
    nodes
}

/// Largest number of children of a node.
const WIDTH: usize = 8;

/// Least costs of the subtrees of a binary tree.
struct Costs<'a> {
    binary: &'a [Bvh2Node],
    /// For each node, the least sum of areas of the wide nodes below it if the subtree takes up to 1,
    /// 2, ... 7 slots of its parent. Leaves are the same in any case and cost nothing.
    least: Vec<[f32; WIDTH - 1]>,
}

impl<'a> Costs<'a> {
    fn new(binary: &'a [Bvh2Node]) -> Self {
        let mut costs = Self { binary, least: vec![[0.0; WIDTH - 1]; binary.len()] };
        let mut parents_first = vec![0];
        let mut next = 0;
        while let Some(&index) = parents_first.get(next) {
            let node = &binary[index as usize];
            if !node.is_leaf() {
                parents_first.extend([node.first_index, node.first_index + 1]);
            }
            next += 1;
        }
        for index in parents_first.into_iter().rev().map(|index| index as usize) {
            let node = &binary[index];
            if node.is_leaf() {
                continue;
            }
            let mut best = node.aabb().half_area() + costs.best_split(index, WIDTH).0;
            for slots in 1..WIDTH {
                if slots > 1 {
                    best = best.min(costs.best_split(index, slots).0);
                }
                costs.least[index][slots - 1] = best;
            }
        }
        costs
    }

    /// The least cost of an inner node's children in `slots` slots (2..=8), and how many of them
    /// the first child takes.
    fn best_split(&self, index: usize, slots: usize) -> (f32, usize) {
        let first = self.binary[index].first_index as usize;
        let (left, right) = (&self.least[first], &self.least[first + 1]);
        (1..slots)
            .map(|taken| (left[taken - 1] + right[slots - taken - 1], taken))
            .fold((f32::INFINITY, 1), |best, split| if split.0 < best.0 { split } else { best })
    }

    /// Adds the children of an inner node, in up to `slots` slots.
    fn split(&self, index: usize, slots: usize, children: &mut Vec<usize>) {
        let taken = self.best_split(index, slots).1;
        let first = self.binary[index].first_index as usize;
        self.place(first, taken, children);
        self.place(first + 1, slots - taken, children);
    }

    /// Adds a subtree, in up to `slots` slots.
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

    /// The primitives that are reached from the root, after checking that all boxes on the way contain
    /// them.
    fn reached(tree: &Tree, primitives: &[Bounded]) -> Vec<u32> {
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
                            let Bounded { low, high } = &primitives[primitive as usize];
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
        let mut state = 3u64;
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 40) as f32 / (1u64 << 24) as f32
        };
        let primitives: Vec<Bounded> = (0..5000)
            .map(|_| {
                let low = [100.0 * draw(), 40.0 * draw(), 10.0 * draw()];
                Bounded { low, high: low.map(|c| c + 0.5) }
            })
            .collect();
        let all: Vec<u32> = (0..5000).collect();
        for most in [5000, 4999, 700, 100] {
            let tree = Tree::build_in_parts(&primitives, 8, most);
            assert_eq!(reached(&tree, &primitives), all, "{most} at once");
        }
        // Also if all are at the same position.
        let alike = vec![primitives[0]; 3000];
        let tree = Tree::build_in_parts(&alike, 8, 500);
        assert_eq!(reached(&tree, &alike), all[..3000]);
    }
}
