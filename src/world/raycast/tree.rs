//! Eight-wide bounding-volume trees.
//!
//! `obvhs` builds a binary tree (PLOC with reinsertion); [`Tree::build`] collapses it so that one
//! node holds the boxes of up to eight children in structure-of-arrays order, which is what a
//! vector unit reads. One tree serves triangles of a mesh and, above them, instances of a scene.

use glam::Vec3A;
use obvhs::aabb::Aabb;
use obvhs::bvh2::Bvh2;
use obvhs::{Boundable, BvhBuildParams};

/// A child slot that holds nothing.
const EMPTY: u32 = u32::MAX;
const LEAF_BIT: u32 = 1 << 31;
const COUNT_SHIFT: u32 = 28;
const FIRST_MASK: u32 = (1 << COUNT_SHIFT) - 1;
/// A leaf's count is stored in three bits.
const MAX_PER_LEAF: u32 = 8;
/// Primitives a tree may hold; the leaf encoding's limit.
pub const MAX_PRIMITIVES: usize = FIRST_MASK as usize;

/// Up to eight children.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct Node {
    /// Middles of the children's boxes, by axis and slot.
    pub middle: [[f32; 8]; 3],
    /// How far the boxes reach from there, rounded up.
    pub half: [[f32; 8]; 3],
    /// What the slots refer to, see [`leaf`].
    pub children: [u32; 8],
    /// A bit for each slot that holds a child; those come first.
    pub occupied: u32,
}

/// A tree over primitives `0..n`.
#[derive(Debug, Default)]
pub struct Tree {
    /// The root comes first; empty when there are no primitives.
    pub nodes: Vec<Node>,
    /// Leaf order: `order[i]` is the primitive at place `i` of the leaves' runs.
    pub order: Vec<u32>,
}

/// What a child's code refers to: `None` is the node with that index, else place and count of a
/// leaf's run in [`Tree::order`].
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

/// A primitive's box for the builder.
pub struct Bounded {
    pub low: [f32; 3],
    pub high: [f32; 3],
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
        let max_per_leaf = max_per_leaf.clamp(1, MAX_PER_LEAF);
        let params = BvhBuildParams {
            max_prims_per_leaf: max_per_leaf,
            // A leaf's primitives are tested side by side: always fill leaves.
            collapse_traversal_cost: 2.0 * max_per_leaf as f32,
            ..BvhBuildParams::medium_build()
        };
        let mut core_build_time = std::time::Duration::ZERO;
        let binary = obvhs::bvh2::builder::build_bvh2(primitives, params, &mut core_build_time);
        Self { nodes: collapse(&binary), order: binary.primitive_indices }
    }

    /// Renumbers the leaves: the first of a run becomes the leaf's own number, in the order in
    /// which the nodes name them. Returns each leaf's place and count in [`Tree::order`].
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

/// Gives each wide node the eight largest subtrees of its binary node.
fn collapse(binary: &Bvh2) -> Vec<Node> {
    let mut nodes = vec![Node::VACANT];
    let mut open = vec![(0usize, 0usize)];
    while let Some((binary_index, wide_index)) = open.pop() {
        let root = &binary.nodes[binary_index];
        let mut slots = [0usize; 8];
        let mut used = 1;
        slots[0] = binary_index;
        if !root.is_leaf() {
            slots[0] = root.first_index as usize;
            slots[1] = root.first_index as usize + 1;
            used = 2;
        }
        while used < 8 {
            let largest =
                (0..used).filter(|&slot| !binary.nodes[slots[slot]].is_leaf()).max_by(|&a, &b| {
                    let area = |slot: usize| binary.nodes[slots[slot]].aabb().half_area();
                    area(a).total_cmp(&area(b))
                });
            let Some(slot) = largest else { break };
            let first = binary.nodes[slots[slot]].first_index as usize;
            slots[slot] = first;
            slots[used] = first + 1;
            used += 1;
        }
        for (slot, &source) in slots[..used].iter().enumerate() {
            let node = &binary.nodes[source];
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
