//! Traversal of the trees with a bundle.
//!
//! A child of a node is visited with the set of rays that hit its box and have no nearer hit. Therefore no more nodes
//! and triangles are tested than with separate rays, and their data is fetched once for all rays. A box that is large
//! compared with the bundle is visited with all rays that hit its parent: finding the rays that miss it would take
//! longer than the visit.
//!
//! A traversal consists of steps. Each step ends with a prefetch of the memory that the next one needs, and several
//! traversals alternate, so that their waits for memory overlap. A small scene needs no waits.

use std::ops::Range;

use fearless_simd::prelude::{Select, SimdBase, SimdFrom, SimdMask};
use fearless_simd::{Simd, f32x8, u32x8};
use glam::DVec3;

use super::bundle::{Bundle, MAX_LANES, NONE, REGISTERS, ROUNDING};
use super::bvh::{BvhCaster, Entrance, MeshTree};
use super::fired::Fired;
use super::leaf::{Target, test};
use super::memory::prefetch;
use super::shadow::{Shadows, View, load};
use super::slab::Spread;
use super::tree::{Node, leaf};

/// Number of interleaved traversals: while one waits for memory, the others compute. A small scene has one, see
/// [`BvhCaster::is_small`].
pub(super) const WALKERS: usize = 4;

/// Largest number of rays that are tested one by one against a node's children. More rays are tested child by child.
const FEW_RAYS: u32 = 8;

/// The traversal of one bundle.
pub struct Walker {
    /// The rays, with their nearest hits so far.
    pub bundle: Bundle,
    /// Indices of the bundle's pulses in the call.
    pub pulses: Range<usize>,
    top: Stack,
    mesh: Stack,
    spread: Spread,
    top_view: View,
    /// View of the current instance.
    view: View,
    /// Index of the current instance in `BvhCaster::placed`, or [`NONE`].
    place: u32,
}

/// A child that remains to be visited.
#[derive(Clone, Copy, Default)]
struct Entry {
    /// Bits of the depth at which the bundle enters the child's box, followed by the child's code. Depths are not
    /// negative, so entries compare by depth.
    key: u64,
    /// Rays that hit the child's box.
    rays: u64,
    /// Least depth of the child's box; no hit in the box is nearer.
    least: f32,
}

#[derive(Default)]
struct Stack {
    entries: Vec<Entry>,
    len: usize,
}

impl Entry {
    #[inline(always)]
    fn new(near: f32, least: f32, code: u32, rays: u64) -> Self {
        Self { key: u64::from(near.to_bits()) << 32 | u64::from(code), rays, least }
    }

    #[inline(always)]
    fn code(self) -> u32 {
        self.key as u32
    }
}

impl Stack {
    /// Clears the stack and pushes a child that is visited next.
    #[inline(always)]
    fn start(&mut self, code: u32, rays: u64) {
        self.len = 0;
        self.room()[0] = Entry { key: u64::from(code), rays, least: 0.0 };
        self.len = 1;
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<Entry> {
        self.len = self.len.checked_sub(1)?;
        Some(self.entries[self.len])
    }

    /// Space on top of the stack for all children of a node.
    #[inline(always)]
    fn room(&mut self) -> &mut [Entry; 8] {
        if self.entries.len() < self.len + 8 {
            self.grow();
        }
        self.entries[self.len..].first_chunk_mut().expect("room for eight")
    }

    #[cold]
    fn grow(&mut self) {
        self.entries.resize(2 * self.len + 64, Entry::default());
    }
}

impl Walker {
    pub fn new() -> Self {
        Self {
            bundle: Bundle::new(),
            pulses: 0..0,
            top: Stack::default(),
            mesh: Stack::default(),
            spread: Spread::default(),
            top_view: View::default(),
            view: View::default(),
            place: NONE,
        }
    }

    /// Starts the traversal at the root of the top tree.
    #[inline(always)]
    pub fn start<S: Simd>(&mut self, simd: S, caster: &BvhCaster) {
        let bundle = &self.bundle;
        self.mesh.len = 0;
        self.top.len = 0;
        self.place = NONE;
        if !caster.top.nodes.is_empty() {
            let origin = bundle.origin.as_vec3();
            self.spread = Spread::new(bundle);
            self.top_view = View::new(simd, bundle, &self.spread, &caster.frame, origin);
            self.top.start(0, bundle.all());
        }
    }

    /// Visits a node, a leaf or an instance; returns false if none is left.
    #[inline(always)]
    pub fn step<S: Simd>(&mut self, simd: S, caster: &BvhCaster, fired: &Fired) -> bool {
        while let Some(entry) = self.mesh.pop() {
            let rays = open(simd, &self.bundle, entry);
            if rays == 0 {
                continue;
            }
            let placed = &caster.placed[self.place as usize];
            let mesh = &caster.meshes[placed.mesh as usize];
            match leaf(entry.code()) {
                None => {
                    let node = &mesh.nodes[entry.code() as usize];
                    let memory = (!caster.is_small).then_some(mesh);
                    push(simd, &self.view, node, rays, &self.bundle, &mut self.mesh, memory);
                }
                Some((block, count)) => {
                    let place = self.place;
                    let target = Target { caster, fired, mesh, placed, place, block, count };
                    test(simd, &target, &self.view, rays, &mut self.bundle);
                }
            }
            return true;
        }
        while let Some(entry) = self.top.pop() {
            let rays = open(simd, &self.bundle, entry);
            if rays == 0 {
                continue;
            }
            match leaf(entry.code()) {
                None => {
                    let node = &caster.top.nodes[entry.code() as usize];
                    let memory = (!caster.is_small).then_some(caster);
                    push(simd, &self.top_view, node, rays, &self.bundle, &mut self.top, memory);
                }
                Some((entrance, _)) => self.enter_instance(simd, caster, entrance, rays),
            }
            return true;
        }
        false
    }

    #[inline(always)]
    fn enter_instance<S: Simd>(&mut self, simd: S, caster: &BvhCaster, entrance: u32, rays: u64) {
        let Entrance { place, code } = caster.entrances[entrance as usize];
        let placed = &caster.placed[place as usize];
        let mesh = &caster.meshes[placed.mesh as usize];
        // An instance divided into parts is often entered several times.
        if self.place != place {
            let bundle = &self.bundle;
            let origin = placed.to_mesh(bundle.origin).as_vec3();
            self.place = place;
            self.view = View::new(simd, bundle, &self.spread, &placed.frame, origin);
        }
        if !mesh.nodes.is_empty() {
            if !caster.is_small {
                mesh.prefetch(code);
            }
            self.mesh.start(code, rays);
        }
    }
}

/// Whether a box with this middle and half size in World overlaps any of the boxes below the scene's root.
#[inline(always)]
pub fn may_meet<S: Simd>(simd: S, caster: &BvhCaster, [middle, half]: [DVec3; 2]) -> bool {
    let Some(root) = caster.top.nodes.first() else { return false };
    let margin = (middle.abs().max_element() as f32 + caster.frame.extent) * ROUNDING;
    // The box of a ray of infinite length has no finite middle and half size. It then overlaps every box.
    let mut apart = 0;
    for axis in 0..3 {
        let between = f32x8::simd_from(simd, root.middle[axis]) - middle[axis] as f32;
        let reach = f32x8::simd_from(simd, root.half[axis]) + (half[axis] as f32 + margin);
        apart |= between.abs().simd_gt(reach).to_bitmask() as u32;
    }
    root.occupied & !apart != 0
}

/// The rays of `entry` without a nearer hit.
#[inline(always)]
fn open<S: Simd>(simd: S, bundle: &Bundle, entry: Entry) -> u64 {
    if entry.least <= bundle.nearest {
        return entry.rays;
    }
    if entry.least > bundle.deepest {
        return 0;
    }
    let depth = f32x8::splat(simd, entry.least);
    let beyond = |registers: usize| {
        let mut rays = 0;
        for register in 0..registers {
            let nearest = load(simd, &bundle.depth, register);
            rays |= nearest.simd_ge(depth).to_bitmask() << (8 * register);
        }
        rays
    };
    // Each call of `beyond` has a constant argument, so that the compiler unrolls its loop.
    entry.rays & if bundle.registers() <= 2 { beyond(2) } else { beyond(REGISTERS) }
}

/// The nodes and leaves to which a tree's child codes refer.
trait Children {
    /// Prefetches the child that `code` refers to.
    fn prefetch(&self, code: u32);
}

impl Children for MeshTree {
    #[inline(always)]
    fn prefetch(&self, code: u32) {
        match leaf(code) {
            None => prefetch(&self.nodes[code as usize]),
            Some((block, _)) => prefetch(&self.blocks[block as usize]),
        }
    }
}

impl Children for BvhCaster {
    #[inline(always)]
    fn prefetch(&self, code: u32) {
        match leaf(code) {
            None => prefetch(&self.top.nodes[code as usize]),
            Some((entrance, _)) => {
                let place = self.entrances[entrance as usize].place;
                prefetch(&self.placed[place as usize]);
            }
        }
    }
}

/// Pushes the children that any of `rays` may hit, nearest last. Prefetches them unless `memory` is `None`.
#[inline(always)]
fn push<S: Simd>(
    simd: S,
    view: &View,
    node: &Node,
    rays: u64,
    bundle: &Bundle,
    stack: &mut Stack,
    memory: Option<&impl Children>,
) {
    let depths = view.depths(simd, node);
    let mut met = depths.met & node.occupied;
    if met == 0 {
        return;
    }
    let [near, far] = view.depth_bounds(simd, node);
    met &= near.simd_le(f32x8::splat(simd, bundle.deepest)).to_bitmask() as u32
        & far.simd_ge(f32x8::splat(simd, bundle.least_start)).to_bitmask() as u32;
    let room = stack.room();
    let mut used = 0;
    let mut add = |slot: usize, rays: u64| {
        let code = node.children[slot];
        if let Some(memory) = memory {
            memory.prefetch(code);
        }
        insert(room, used, Entry::new(depths.near[slot], near[slot], code, rays));
        used += 1;
    };
    // If all these boxes are large compared with the bundle, few rays miss them, so that tests of single rays would
    // exclude hardly any.
    if met & !depths.large == 0 {
        while met != 0 {
            let slot = met.trailing_zeros() as usize & 7;
            met &= met - 1;
            add(slot, rays);
        }
        stack.len += used;
        return;
    }
    let shadows = view.boxes(simd, node, &depths, [near, far]);
    if rays.count_ones() <= FEW_RAYS {
        let (met_by_any, low, high) = meet_few(&shadows, rays, bundle);
        met &= met_by_any;
        while met != 0 {
            let slot = met.trailing_zeros() as usize & 7;
            met &= met - 1;
            add(slot, u64::from(low[slot]) | u64::from(high[slot]) << 32);
        }
    } else {
        met &= shadows.in_bundle(bundle);
        let whole = depths.large | shadows.covering(bundle);
        let registers = bundle.registers().min(REGISTERS);
        while met != 0 {
            let slot = met.trailing_zeros() as usize & 7;
            met &= met - 1;
            let is_met_by_all = whole >> slot & 1 == 1;
            let rays =
                if is_met_by_all { rays } else { rays & shadows.rays(slot, bundle, registers) };
            if rays != 0 {
                add(slot, rays);
            }
        }
    }
    stack.len += used;
}

/// Inserts an entry so that keys decrease, with the nearest last. Insertion sort is fastest, because few children are
/// hit.
#[inline(always)]
fn insert(room: &mut [Entry; 8], used: usize, entry: Entry) {
    let mut place = used & 7;
    while place > 0 && room[place - 1].key < entry.key {
        room[place] = room[place - 1];
        place -= 1;
    }
    room[place] = entry;
}

/// The children that any of `rays` may hit, as bits. Also returns the rays that may hit each child: the set of rays 0
/// to 31, and the set of rays 32 to 63.
#[inline(always)]
fn meet_few<S: Simd>(
    shadows: &Shadows<S>,
    rays: u64,
    bundle: &Bundle,
) -> (u32, [u32; 8], [u32; 8]) {
    let simd = shadows.far.simd;
    let none = u32x8::splat(simd, 0);
    let (mut low, mut high) = (none, none);
    let mut left = rays;
    while left != 0 {
        let ray = left.trailing_zeros() as usize & (MAX_LANES - 1);
        left &= left - 1;
        let is_met = shadows.at_ray(bundle, ray);
        let bit = 1u64 << ray;
        low |= is_met.select(u32x8::splat(simd, bit as u32), none);
        high |= is_met.select(u32x8::splat(simd, (bit >> 32) as u32), none);
    }
    let met = !(low | high).simd_eq(none);
    (met.to_bitmask() as u32, low.into(), high.into())
}
