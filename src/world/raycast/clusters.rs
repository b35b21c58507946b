//! Builds binary trees bottom up: among clusters that are neighbours along a space-filling curve, the pairs with the
//! smallest common box are merged (Meister and Bittner, Parallel Locally-Ordered Clustering for Bounding Volume
//! Hierarchy Construction, 2018). Leaves are filled at the same time.

use fearless_simd::prelude::{Select, SimdBase, SimdMask};
use fearless_simd::{Simd, dispatch, f32x8};
use glam::Vec3A;

use super::binary::{Below, Binary, ROOT};
use super::boxes::{Primitive, VectorBounds};
use super::fastest;

/// Number of clusters on each side of a cluster that are searched for a partner: two vectors.
const REACH: usize = 16;
const LANES: usize = 8;

/// Clusters to merge, in the order of the curve, with [`REACH`] vacant places before and after them.
#[derive(Default)]
struct Clusters {
    /// Corners of the clusters' boxes: lower corners by axis, then upper corners by axis.
    sides: [Vec<f32>; 6],
    /// Content of each cluster. Unlike in a finished tree, `first` of a leaf is the last member of its ring, see
    /// [`Clustering::next`].
    below: Vec<Below>,
}

impl Clusters {
    /// Allocates memory for `count` clusters.
    fn make_room(&mut self, count: usize) {
        let vacant = Below { first: 0, count: 0 };
        self.sides.iter_mut().for_each(|side| side.resize(count + 2 * REACH, 0.0));
        self.below.resize(count, vacant);
    }

    /// Keeps the first `count` clusters, with vacant places around them.
    fn close(&mut self, count: usize) {
        for (k, side) in self.sides.iter_mut().enumerate() {
            let vacant = if k < 3 { f32::NEG_INFINITY } else { f32::INFINITY };
            side.truncate(count + 2 * REACH);
            side[..REACH].fill(vacant);
            side[count + REACH..].fill(vacant);
        }
        self.below.truncate(count);
    }

    #[inline(always)]
    fn set(&mut self, index: usize, bounds: &VectorBounds, below: Below) {
        let low = bounds.low.to_array().into_iter();
        for (side, value) in self.sides.iter_mut().zip(low.chain(bounds.high.to_array())) {
            side[index + REACH] = value;
        }
        self.below[index] = below;
    }

    #[inline(always)]
    fn bounds(&self, index: usize) -> VectorBounds {
        let [a, b, c, d, e, f] = &self.sides;
        let at = index + REACH;
        VectorBounds { low: Vec3A::new(a[at], b[at], c[at]), high: Vec3A::new(d[at], e[at], f[at]) }
    }

    fn len(&self) -> usize {
        self.below.len()
    }
}

/// Builds trees; reuses its memory for the next tree.
#[derive(Default)]
pub struct Clustering {
    keys: Vec<u64>,
    now: Clusters,
    then: Clusters,
    /// The preferred partner of each cluster.
    partners: Vec<u32>,
    /// Next primitive of the same leaf; the primitives of a leaf form a ring.
    next: Vec<u32>,
}

impl Clustering {
    /// Builds the tree over `primitives` with up to `most` of them in a leaf. Also returns the indices of the
    /// primitives; each leaf is a run of this list.
    pub fn build(&mut self, primitives: &[Primitive], most: u32) -> (Binary, Vec<u32>) {
        self.sort(primitives);
        self.next.clear();
        self.next.extend(0..primitives.len() as u32);
        self.now.make_room(primitives.len());
        for (place, &key) in self.keys.iter().enumerate() {
            let first = key as u32;
            let bounds = VectorBounds::from(&primitives[first as usize].bounds);
            self.now.set(place, &bounds, Below { first, count: 1 });
        }
        self.now.close(primitives.len());
        let mut tree = Binary::with_capacity(primitives.len() / most as usize * 2);
        let mut order = Vec::with_capacity(primitives.len());
        let level = fastest();
        while self.now.len() > 1 {
            self.partners.resize(self.now.len(), 0);
            dispatch!(level, simd => choose(simd, &self.now, &mut self.partners));
            self.merge(primitives, most, &mut tree, &mut order);
            std::mem::swap(&mut self.now, &mut self.then);
        }
        let bounds = self.now.bounds(0);
        let below = self.settle(self.now.below[0], primitives, &mut order);
        tree.set(ROOT, bounds, below);
        (tree, order)
    }

    /// Sorts the primitives along the space-filling curve. The upper half of a key is the position on the curve, the
    /// lower half is the index of the primitive.
    fn sort(&mut self, primitives: &[Primitive]) {
        let middle = |Primitive { bounds, .. }: &Primitive| {
            Vec3A::from_array(bounds.low) + Vec3A::from_array(bounds.high)
        };
        let (low, high) = primitives
            .iter()
            .map(middle)
            .fold((Vec3A::INFINITY, Vec3A::NEG_INFINITY), |(low, high), p| {
                (low.min(p), high.max(p))
            });
        let scale = Vec3A::splat(1023.99) / (high - low).max(Vec3A::splat(f32::MIN_POSITIVE));
        self.keys.clear();
        self.keys.extend(primitives.iter().zip(0u64..).map(|(b, index)| {
            let [x, y, z] = ((middle(b) - low) * scale).to_array().map(|c| spread(c as u32));
            (x << 2 | y << 1 | z) << 32 | index
        }));
        self.keys.sort_unstable();
    }

    /// Merges all pairs of clusters that prefer each other.
    fn merge(
        &mut self,
        primitives: &[Primitive],
        most: u32,
        tree: &mut Binary,
        order: &mut Vec<u32>,
    ) {
        self.then.make_room(self.now.len());
        let mut count = 0;
        for index in 0..self.now.len() {
            let partner = self.partners[index] as usize;
            if self.partners[partner] as usize != index {
                self.then.set(count, &self.now.bounds(index), self.now.below[index]);
                count += 1;
                continue;
            }
            if partner < index {
                continue;
            }
            let both = [index, partner].map(|i| (self.now.bounds(i), self.now.below[i]));
            let around = both[0].0.union(&both[1].0);
            let [a, b] = both.map(|(_, below)| below);
            let below = if a.is_leaf() && b.is_leaf() && a.count + b.count <= most {
                self.next.swap(a.first as usize, b.first as usize);
                Below { first: b.first, count: a.count + b.count }
            } else {
                let both =
                    both.map(|(bounds, below)| (bounds, self.settle(below, primitives, order)));
                Below { first: tree.push(both), count: 0 }
            };
            self.then.set(count, &around, below);
            count += 1;
        }
        self.then.close(count);
    }

    /// Appends the members of a leaf to `order`, and returns the leaf as a run of `order`. Inner nodes are returned
    /// unchanged.
    fn settle(&self, below: Below, primitives: &[Primitive], order: &mut Vec<u32>) -> Below {
        if !below.is_leaf() {
            return below;
        }
        let first = order.len() as u32;
        let mut member = below.first;
        for _ in 0..below.count {
            member = self.next[member as usize];
            order.push(primitives[member as usize].index);
        }
        Below { first, count: below.count }
    }
}

/// Moves bit `k` of a number of ten bits to bit `3 k`. Larger numbers count as 1023.
fn spread(bits: u32) -> u64 {
    let mut bits = u64::from(bits.min(1023));
    bits = (bits | bits << 16) & 0x0300_00ff;
    bits = (bits | bits << 8) & 0x0300_f00f;
    bits = (bits | bits << 4) & 0x030c_30c3;
    (bits | bits << 2) & 0x0924_9249
}

/// Half of the surface areas of eight boxes. Each box contains the cluster with the sides `own` and one of the eight
/// clusters that start at `at`.
#[inline(always)]
fn costs<S: Simd>(simd: S, sides: &[&[f32]; 6], own: &[f32x8<S>; 6], at: usize) -> f32x8<S> {
    let load = |k: usize| f32x8::from_slice(simd, &sides[k][at..at + LANES]);
    let x = load(3).max(own[3]) - load(0).min(own[0]);
    let y = load(4).max(own[4]) - load(1).min(own[1]);
    let z = load(5).max(own[5]) - load(2).min(own[2]);
    let cost = x * y + y * z + z * x;
    // NaN counts as the largest area, so that the nearest cluster is preferred.
    let most = f32x8::splat(simd, f32::MAX);
    cost.simd_lt(most).select(cost, most)
}

/// For each cluster, the partner within [`REACH`] with the smallest common box. Of equal partners the nearest is
/// chosen, then the pair whose first index is even. Boxes that are all alike are therefore merged in pairs.
#[inline(always)]
fn choose<S: Simd>(simd: S, clusters: &Clusters, partners: &mut [u32]) {
    let count = clusters.len();
    let sides = clusters.sides.each_ref().map(Vec::as_slice);
    for (index, partner) in partners.iter_mut().enumerate() {
        let own: [f32x8<S>; 6] =
            std::array::from_fn(|k| f32x8::splat(simd, sides[k][index + REACH]));
        let cost = |at: usize| costs(simd, &sides, &own, at);
        let (far_before, before) = (cost(index), cost(index + LANES));
        let after = index + REACH + 1;
        let (after, far_after) = (cost(after), cost(after + LANES));
        let least = before.min(far_before).min(after.min(far_after));
        let least: [f32; 8] = least.into();
        let pick = |a: f32, b: f32| if a < b { a } else { b };
        let least = pick(
            pick(pick(least[0], least[1]), pick(least[2], least[3])),
            pick(pick(least[4], least[5]), pick(least[6], least[7])),
        );
        let least = f32x8::splat(simd, least);
        let is_least = |costs: f32x8<S>| costs.simd_eq(least).to_bitmask() as u32;
        let back = is_least(before) << 8 | is_least(far_before);
        let ahead = is_least(far_after) << 8 | is_least(after);
        let back = (back << 16).leading_zeros() as usize + 1;
        let ahead = ahead.trailing_zeros() as usize + 1;
        let is_after = ahead < back || ahead == back && back % 2 == 1 && index % 2 == 0;
        let is_after = back > index || is_after && index + ahead < count;
        *partner = if is_after { index + ahead } else { index - back } as u32;
    }
}
