//! Binary bounding-volume trees under construction. [`super::tree`] collapses them into wide trees.
//!
//! Nodes lie in pairs of siblings, so that both are in one cache line and the sibling of `index` is `index ^ 1`.
//! [`Binary::improve`] moves subtrees to where they cost less (Meister and Bittner, Parallel Reinsertion for Bounding
//! Volume Hierarchy Optimization, 2018). Here a single thread makes one move after the other, so that each move uses
//! the result of those before it and few rounds are enough. Large meshes are divided into parts, whose trees are built
//! in parallel.

use super::boxes::VectorBounds;

/// Index of the root.
pub const ROOT: usize = 0;
/// Approximate number of nodes that the first round of [`Binary::improve`] moves; its parameter `least` can require
/// more.
const MOVED: f32 = 20_000.0;
/// Number of rounds of moves. More rounds give no better trees.
const ROUNDS: usize = 4;
/// Index of the first pair of siblings, the children of the root.
const FIRST_PAIR: usize = 2;

/// Children of an inner node, or primitives of a leaf.
#[derive(Clone, Copy, Debug)]
pub struct Below {
    /// Index of the first of two children, or of a leaf's first primitive.
    pub first: u32,
    /// Number of primitives of a leaf; 0 for an inner node.
    pub count: u32,
}

impl Below {
    /// Whether the node is a leaf.
    #[inline(always)]
    pub fn is_leaf(&self) -> bool {
        self.count > 0
    }
}

/// The boxes of two siblings.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Pair([VectorBounds; 2]);

/// A binary tree. The root has index 0 and no sibling; pairs of children follow it.
pub struct Binary {
    boxes: Vec<Pair>,
    below: Vec<[Below; 2]>,
}

impl Binary {
    /// Creates an empty tree with memory for `leaves` leaves.
    pub fn with_capacity(leaves: usize) -> Self {
        let mut tree =
            Self { boxes: Vec::with_capacity(leaves), below: Vec::with_capacity(leaves) };
        let vacant = Below { first: 0, count: 0 };
        tree.push([(VectorBounds::NOTHING, vacant); 2]);
        tree
    }

    /// Adds a pair of siblings; returns the index of the first.
    pub fn push(&mut self, [a, b]: [(VectorBounds, Below); 2]) -> u32 {
        self.boxes.push(Pair([a.0, b.0]));
        self.below.push([a.1, b.1]);
        2 * (self.boxes.len() - 1) as u32
    }

    /// Number of nodes, including the unused one next to the root.
    pub fn len(&self) -> usize {
        2 * self.boxes.len()
    }

    /// The box of a node.
    #[inline(always)]
    pub fn bounds(&self, index: usize) -> &VectorBounds {
        &self.boxes[index / 2].0[index % 2]
    }

    /// Children of a node, or primitives of a leaf.
    #[inline(always)]
    pub fn below(&self, index: usize) -> Below {
        self.below[index / 2][index % 2]
    }

    /// Sets the box of a node, and its children or primitives.
    pub fn set(&mut self, index: usize, bounds: VectorBounds, below: Below) {
        self.boxes[index / 2].0[index % 2] = bounds;
        self.below[index / 2][index % 2] = below;
    }

    /// Indices of all nodes, each node before its children.
    pub fn parents_first(&self) -> Vec<u32> {
        let mut all = Vec::with_capacity(self.len());
        all.push(ROOT as u32);
        let mut next = 0;
        while let Some(&index) = all.get(next) {
            let Below { first, count } = self.below(index as usize);
            if count == 0 {
                all.extend([first, first + 1]);
            }
            next += 1;
        }
        all
    }

    /// Returns the same tree with subtrees of up to `most` primitives merged into leaves, and the new order of the
    /// primitives.
    pub fn filled(&self, order: &[u32], most: u32) -> (Self, Vec<u32>) {
        let mut counts = vec![0; self.len()];
        for index in self.parents_first().into_iter().rev().map(|index| index as usize) {
            let Below { first, count } = self.below(index);
            counts[index] =
                if count > 0 { count } else { counts[first as usize] + counts[first as usize + 1] };
        }
        let vacant = (VectorBounds::NOTHING, Below { first: 0, count: 0 });
        let (mut filled, mut new_order) = (Self::with_capacity(order.len() / 4), Vec::new());
        let mut open = vec![(ROOT, ROOT)];
        let mut inside = Vec::new();
        while let Some((from, to)) = open.pop() {
            let Below { first, count } = self.below(from);
            if counts[from] > most && count == 0 {
                let pair = filled.push([vacant; 2]);
                filled.set(to, *self.bounds(from), Below { first: pair, count: 0 });
                let (from, to) = (first as usize, pair as usize);
                open.extend([(from + 1, to + 1), (from, to)]);
                continue;
            }
            let first_place = new_order.len() as u32;
            inside.push(from);
            while let Some(index) = inside.pop() {
                let Below { first, count } = self.below(index);
                if count == 0 {
                    inside.extend([first as usize + 1, first as usize]);
                    continue;
                }
                new_order.extend_from_slice(&order[first as usize..][..count as usize]);
            }
            let below = Below { first: first_place, count: counts[from] };
            filled.set(to, *self.bounds(from), below);
        }
        (filled, new_order)
    }

    /// Moves subtrees to reduce the sum of the boxes' areas. The first round moves the nodes with the largest boxes,
    /// about [`MOVED`] but at least the share `least` of all nodes. Later rounds move fewer.
    pub fn improve(&mut self, least: f32) {
        if self.below(ROOT).is_leaf() {
            return;
        }
        let nodes = (self.len() - FIRST_PAIR) as f32;
        let share = (MOVED / nodes).clamp(least, 1.0);
        let mut mover = Mover::new(self);
        for round in 0..ROUNDS {
            mover.round((nodes * share / (2 * round + 1) as f32).ceil() as usize);
        }
    }
}

/// The best new place found so far for a node.
struct Best {
    place: usize,
    gain: f32,
    own: VectorBounds,
    own_area: f32,
}

impl Best {
    /// Evaluates the place beside the node `index`. `saved` is the area that a move to this place saves, without the
    /// area of the new parent's box. Returns the value of `saved` for the children of `index`; `None` if no place below
    /// `index` can be better than the best so far.
    #[inline(always)]
    fn look(&mut self, tree: &Binary, index: usize, saved: f32) -> Option<f32> {
        let bounds = tree.bounds(index);
        let gain = saved - bounds.union(&self.own).half_area();
        if gain > self.gain {
            (self.place, self.gain) = (index, gain);
        }
        let inside = gain + bounds.half_area();
        (!tree.below(index).is_leaf() && inside - self.own_area > self.gain).then_some(inside)
    }
}

/// Moves subtrees of a tree.
struct Mover<'a> {
    tree: &'a mut Binary,
    /// Index of the parent of each pair.
    parents: Vec<u32>,
    candidates: Vec<(f32, u32)>,
    open: Vec<(f32, u32)>,
}

impl<'a> Mover<'a> {
    fn new(tree: &'a mut Binary) -> Self {
        let mut parents = vec![0; tree.boxes.len()];
        for index in 0..tree.len() {
            let Below { first, count } = tree.below(index);
            if count == 0 && index != 1 {
                parents[first as usize / 2] = index as u32;
            }
        }
        Self { tree, parents, candidates: Vec::new(), open: Vec::new() }
    }

    #[inline(always)]
    fn parent(&self, index: usize) -> usize {
        self.parents[index / 2] as usize
    }

    /// Tries to move each of the `count` nodes with the largest boxes to a better place, the largest first.
    fn round(&mut self, count: usize) {
        let mut candidates = std::mem::take(&mut self.candidates);
        candidates.clear();
        let nodes = FIRST_PAIR..self.tree.len();
        candidates.extend(nodes.map(|i| (self.tree.bounds(i).half_area(), i as u32)));
        let larger_first = |a: &(f32, u32), b: &(f32, u32)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
        if count < candidates.len() {
            candidates.select_nth_unstable_by(count, larger_first);
            candidates.truncate(count);
        }
        candidates.sort_unstable_by(larger_first);
        for &(_, index) in &candidates {
            if let Some(to) = self.better_place(index as usize) {
                self.move_to(index as usize, to);
            }
        }
        self.candidates = candidates;
    }

    /// The new sibling that makes the boxes smallest if `node` moves beside it; `None` if no place is better than the
    /// present one.
    fn better_place(&mut self, node: usize) -> Option<usize> {
        let tree = &*self.tree;
        let own = *tree.bounds(node);
        let parent = self.parent(node);
        let mut best = Best { place: ROOT, gain: 0.0, own, own_area: own.half_area() };
        // `saved`: area that removing `node` saves in the ancestors visited so far. `rest`: box of the nodes that
        // remain below the last of these ancestors.
        let mut saved = tree.bounds(parent).half_area();
        let mut sibling = node ^ 1;
        let mut rest = *tree.bounds(sibling);
        let mut above = parent;
        loop {
            if let Some(saved_inside) = best.look(tree, sibling, saved) {
                self.open.push((saved_inside, tree.below(sibling).first));
            }
            while let Some((saved, first)) = self.open.pop() {
                if saved - best.own_area <= best.gain {
                    continue;
                }
                let [a, b] = [first as usize, first as usize + 1];
                let inside = [best.look(tree, a, saved), best.look(tree, b, saved)];
                match inside.map(|saved| saved.unwrap_or(f32::NEG_INFINITY)) {
                    // The more promising child is on top of the stack.
                    [in_a, in_b] if in_a > in_b => {
                        inside[1].inspect(|&s| self.open.push((s, tree.below(b).first)));
                        self.open.push((in_a, tree.below(a).first));
                    }
                    _ => {
                        inside[0].inspect(|&s| self.open.push((s, tree.below(a).first)));
                        inside[1].inspect(|&s| self.open.push((s, tree.below(b).first)));
                    }
                }
            }
            if above != parent {
                rest = rest.union(tree.bounds(sibling));
                saved += tree.bounds(above).half_area() - rest.half_area();
            }
            if above == ROOT {
                break;
            }
            sibling = above ^ 1;
            above = self.parent(above);
        }
        let Best { place, .. } = best;
        (place != ROOT && place != node ^ 1 && place != parent).then_some(place)
    }

    /// Makes `node` the sibling of `to`. The sibling of `node` takes the place of their parent.
    fn move_to(&mut self, node: usize, to: usize) {
        let sibling = node ^ 1;
        let parent = self.parent(node);
        let (sibling_box, sibling_below) = (*self.tree.bounds(sibling), self.tree.below(sibling));
        let (to_box, to_below) = (*self.tree.bounds(to), self.tree.below(to));
        let pair = Below { first: (node & !1) as u32, count: 0 };
        self.tree.set(to, to_box, pair);
        self.place(sibling, to_box, to_below);
        self.place(parent, sibling_box, sibling_below);
        self.parents[node / 2] = to as u32;
        self.refit(to);
        if parent != ROOT {
            self.refit(self.parent(parent));
        }
    }

    fn place(&mut self, index: usize, bounds: VectorBounds, below: Below) {
        self.tree.set(index, bounds, below);
        if !below.is_leaf() {
            self.parents[below.first as usize / 2] = index as u32;
        }
    }

    /// Fits the boxes of an inner node and of its ancestors to their children.
    fn refit(&mut self, mut index: usize) {
        loop {
            let Below { first, count } = self.tree.below(index);
            debug_assert_eq!(count, 0);
            let Pair([a, b]) = &self.tree.boxes[first as usize / 2];
            let around = a.union(b);
            if around == *self.tree.bounds(index) {
                return;
            }
            self.tree.boxes[index / 2].0[index % 2] = around;
            if index == ROOT {
                return;
            }
            index = self.parent(index);
        }
    }
}

#[cfg(test)]
mod tests {
    use glam::Vec3A;

    use super::*;

    /// Boxes on a line, merged one after the other in an order independent of their positions.
    fn line() -> Binary {
        let leaf = |i: u32| {
            let x = (i * 37 % 101) as f32;
            let (low, high) = (Vec3A::new(x, 0.0, 0.0), Vec3A::new(x + 1.0, 1.0, 1.0));
            (VectorBounds { low, high }, Below { first: i, count: 1 })
        };
        let mut tree = Binary::with_capacity(100);
        let mut all = leaf(0);
        for i in 1..101 {
            let around = all.0.union(&leaf(i).0);
            all = (around, Below { first: tree.push([all, leaf(i)]), count: 0 });
        }
        tree.set(ROOT, all.0, all.1);
        tree
    }

    fn areas(tree: &Binary) -> f32 {
        tree.parents_first().into_iter().map(|i| tree.bounds(i as usize).half_area()).sum()
    }

    /// The primitives below all leaves, after checking that boxes are the unions of their children.
    fn primitives(tree: &Binary) -> Vec<u32> {
        let mut found = Vec::new();
        for index in tree.parents_first().into_iter().map(|index| index as usize) {
            let Below { first, count } = tree.below(index);
            found.extend(first..first + count);
            if count == 0 {
                let [a, b] = [0, 1].map(|k| tree.bounds(first as usize + k));
                assert_eq!(*tree.bounds(index), a.union(b));
            }
        }
        found.sort_unstable();
        found
    }

    #[test]
    fn moving_keeps_all_and_saves_area() {
        let mut tree = line();
        let before = areas(&tree);
        tree.improve(1.0);
        assert_eq!(primitives(&tree), (0..101).collect::<Vec<u32>>());
        assert!(areas(&tree) < 0.2 * before, "{} of {before}", areas(&tree));
    }

    #[test]
    fn filled_leaves_hold_all_once() {
        let mut tree = line();
        tree.improve(1.0);
        let order: Vec<u32> = (0..101).rev().collect();
        let (filled, mut order) = tree.filled(&order, 8);
        assert_eq!(primitives(&filled), (0..101).collect::<Vec<u32>>());
        order.sort_unstable();
        assert_eq!(order, (0..101).collect::<Vec<u32>>());
        let counts = filled.parents_first().into_iter().map(|i| filled.below(i as usize).count);
        assert_eq!(counts.clone().max(), Some(8));
        assert!(counts.filter(|&count| count > 0).count() < 30);
    }
}
