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

/// Up to eight children: rows 0..3 are their lowest x, y, z, rows 3..6 their highest.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct Node {
    pub bounds: [[f32; 8]; 6],
    children: [u32; 8],
}

/// What a child slot refers to.
pub enum Child {
    /// Index into [`Tree::nodes`].
    Inner(u32),
    /// A run of [`Tree::order`].
    Leaf { first: u32, count: u32 },
}

/// A tree over primitives `0..n`.
#[derive(Debug, Default)]
pub struct Tree {
    /// The root comes first; empty when there are no primitives.
    pub nodes: Vec<Node>,
    /// Leaf order: `order[i]` is the primitive at place `i` of the leaves' runs.
    pub order: Vec<u32>,
}

impl Node {
    const VACANT: Self = Self {
        bounds: [
            [f32::INFINITY; 8],
            [f32::INFINITY; 8],
            [f32::INFINITY; 8],
            [f32::NEG_INFINITY; 8],
            [f32::NEG_INFINITY; 8],
            [f32::NEG_INFINITY; 8],
        ],
        children: [EMPTY; 8],
    };

    /// What slot `slot` refers to. Vacant slots have inverted bounds that nothing hits.
    #[inline(always)]
    pub fn child(&self, slot: usize) -> Child {
        let code = self.children[slot];
        if code & LEAF_BIT == 0 {
            Child::Inner(code)
        } else {
            Child::Leaf { first: code & FIRST_MASK, count: ((code & !LEAF_BIT) >> COUNT_SHIFT) + 1 }
        }
    }

    /// Whether slot `slot` holds a child.
    #[inline(always)]
    pub fn is_occupied(&self, slot: usize) -> bool {
        self.children[slot] != EMPTY
    }

    fn set(&mut self, slot: usize, bounds: &Aabb, code: u32) {
        for axis in 0..3 {
            self.bounds[axis][slot] = bounds.min[axis];
            self.bounds[axis + 3][slot] = bounds.max[axis];
        }
        self.children[slot] = code;
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
        let params = BvhBuildParams {
            max_prims_per_leaf: max_per_leaf.clamp(1, MAX_PER_LEAF),
            collapse_traversal_cost: 1.0,
            ..BvhBuildParams::medium_build()
        };
        let mut core_build_time = std::time::Duration::ZERO;
        let binary = obvhs::bvh2::builder::build_bvh2(primitives, params, &mut core_build_time);
        Self { nodes: collapse(&binary), order: binary.primitive_indices }
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
