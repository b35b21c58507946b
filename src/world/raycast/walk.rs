//! The walk of a bundle through the trees.
//!
//! Boxes and triangles are turned into the bundle's frame eight at a time, where their shadow,
//! bounds in `x / z` and `y / z`, is compared with the rays' slopes: first with those of the whole
//! bundle, then with those of all registers at once, at last with the eight rays of a register.
//! What is left has a ray in its shadow and in front of what that ray has hit: as few nodes
//! and triangles as with separate rays, and their data is fetched once for all rays.
//!
//! **Watertight.** Triangles are tested as Woop, Benthin and Wald do (Watertight Ray/Triangle
//! Intersection, JCGT 2013): corners are sheared so that the ray runs along one axis, and the
//! ray is inside when the three edge functions agree in sign. The sign of a difference of two
//! rounded products is exact unless it is zero, zero counts as inside, and both triangles of an
//! edge shear the same corners: no ray slips through an edge or a corner. Depth is a convex
//! combination of the corners' depths, so it stays on the triangle even when it is seen edge-on.
//!
//! The loops run over fixed arrays of eight that the compiler turns into vector code; iterators
//! over several arrays at once it does not.

#![allow(clippy::needless_range_loop)]

use glam::{Mat3, Vec3};

use super::bundle::{Bundle, LANES, NONE, REGISTERS, Spans, max, min, most, settle};
use super::bvh::{BvhCaster, MeshTree, Placed, TriangleBlock, VAST_M};
use super::surface;
use super::tree::{Node, leaf};

/// Rounding in culling, as a share of the coordinates' size: some 16 times half an ulp.
const ROUNDING: f32 = 1e-6;
/// Depths that are taken for none, and the inverse of none; not infinite, as zero times it is zero.
const TINY: f32 = 1e-30;
const HUGE: f32 = 1e30;

/// What a walk works with, kept from walk to walk: nothing is allocated, cleared or copied.
pub struct Workbench {
    top: Stack,
    mesh: Stack,
    /// Boxes along the bundle's axes.
    low: [[f32; 8]; 3],
    high: [[f32; 8]; 3],
    shadows: Shadows,
    corners: Corners<[f32; 8]>,
}

/// Children still to visit. An entry is the bits of the least depth above the child's code; depths
/// are not negative, so entries compare as depths do.
#[derive(Default)]
struct Stack {
    entries: Vec<u64>,
    len: usize,
}

const ROOT: u64 = 0;

impl Workbench {
    pub fn new() -> Self {
        let slopes = [[0.0; 8]; 2];
        Self {
            top: Stack::default(),
            mesh: Stack::default(),
            low: [[0.0; 8]; 3],
            high: [[0.0; 8]; 3],
            shadows: Shadows { low: slopes, high: slopes, near: [0.0; 8], far: [0.0; 8] },
            corners: [[[0.0; 8]; 3]; 3],
        }
    }
}

impl Stack {
    #[inline(always)]
    fn start(&mut self) {
        self.room()[0] = ROOT;
        self.len = 1;
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<u64> {
        self.len = self.len.checked_sub(1)?;
        Some(self.entries[self.len])
    }

    /// Room above the top for all children of a node.
    #[inline(always)]
    fn room(&mut self) -> &mut [u64; 8] {
        if self.entries.len() < self.len + 8 {
            self.grow();
        }
        self.entries[self.len..].first_chunk_mut().expect("room for eight")
    }

    #[cold]
    fn grow(&mut self) {
        self.entries.resize(2 * self.len + 64, ROOT);
    }
}

/// A frame seen from the bundle.
struct View {
    /// Turns the frame's axes to the bundle's.
    rows: [[f32; 3]; 3],
    /// The bundle's origin, in the frame and turned to the bundle's axes.
    origin: [f32; 3],
    turned_origin: [f32; 3],
    /// How much wider things are taken for: rounding, and in `x` and `y` how far rays start from
    /// the origin.
    slack: [f32; 3],
}

/// What eight boxes or triangles hide of the bundle: bounds of slopes by axis, and depth.
#[repr(align(32))]
struct Shadows {
    low: [[f32; 8]; 2],
    high: [[f32; 8]; 2],
    near: [f32; 8],
    far: [f32; 8],
}

impl View {
    /// Of a frame whose axes `bundle_from_frame` turns, which holds coordinates up to `extent`
    /// and has the bundle's origin at `origin`.
    #[inline(always)]
    fn new(bundle: &Bundle, bundle_from_frame: &Mat3, origin: Vec3, extent: f32) -> Self {
        let m = bundle_from_frame;
        let rows = [
            [m.x_axis.x, m.y_axis.x, m.z_axis.x],
            [m.x_axis.y, m.y_axis.y, m.z_axis.y],
            [m.x_axis.z, m.y_axis.z, m.z_axis.z],
        ];
        let size = (origin.abs().max_element() + extent) * ROUNDING;
        let rounding = |row: [f32; 3]| (row[0].abs() + row[1].abs() + row[2].abs()) * size;
        let slack = [
            rounding(rows[0]) + bundle.shift[0],
            rounding(rows[1]) + bundle.shift[1],
            rounding(rows[2]),
        ];
        let origin = [origin.x, origin.y, origin.z];
        let turn = |row: [f32; 3]| row[0] * origin[0] + row[1] * origin[1] + row[2] * origin[2];
        let turned_origin = [turn(rows[0]), turn(rows[1]), turn(rows[2])];
        Self { rows, origin, turned_origin, slack }
    }

    /// Finds the shadows of a node's children.
    #[inline(always)]
    fn boxes(&self, node: &Node, bench: &mut Workbench) {
        let [middle_x, middle_y, middle_z] = &node.middle;
        let [half_x, half_y, half_z] = &node.half;
        for axis in 0..3 {
            let row = self.rows[axis];
            let abs = [row[0].abs(), row[1].abs(), row[2].abs()];
            let (origin, slack) = (self.turned_origin[axis], self.slack[axis]);
            for k in 0..8 {
                // Neighbours in memory, x and y, are not added first: the compiler would take
                // them for one vector and shuffle it.
                let middle =
                    row[0] * middle_x[k] + row[2] * middle_z[k] + row[1] * middle_y[k] - origin;
                let half = abs[0] * half_x[k] + abs[2] * half_z[k] + abs[1] * half_y[k] + slack;
                bench.low[axis][k] = middle - half;
                bench.high[axis][k] = middle + half;
            }
        }
        bench.cast_shadows();
    }

    /// Turns a block's corners to the bundle's frame and finds the triangles' shadows.
    #[inline(always)]
    fn triangles(&self, block: &TriangleBlock, bench: &mut Workbench) {
        let [row_x, row_y, row_z] = self.rows;
        for corner in 0..3 {
            for k in 0..8 {
                let x = block.corners[corner][0][k] - self.origin[0];
                let y = block.corners[corner][1][k] - self.origin[1];
                let z = block.corners[corner][2][k] - self.origin[2];
                let turned = &mut bench.corners[corner];
                turned[0][k] = row_x[0] * x + row_x[1] * y + row_x[2] * z;
                turned[1][k] = row_y[0] * x + row_y[1] * y + row_y[2] * z;
                turned[2][k] = row_z[0] * x + row_z[1] * y + row_z[2] * z;
            }
        }
        settle(&mut bench.corners);
        let [a, b, c] = &bench.corners;
        for axis in 0..3 {
            for k in 0..8 {
                let (a, b, c) = (a[axis][k], b[axis][k], c[axis][k]);
                bench.low[axis][k] = min(min(a, b), c) - self.slack[axis];
                bench.high[axis][k] = max(max(a, b), c) + self.slack[axis];
            }
        }
        bench.cast_shadows();
    }
}

impl Workbench {
    /// The shadows of the boxes.
    #[inline(always)]
    fn cast_shadows(&mut self) {
        settle(self);
        let Self { low, high, shadows, .. } = self;
        for k in 0..8 {
            // What reaches behind the origin hides everything on its side of the axis.
            let (near, far) = (low[2][k], high[2][k]);
            shadows.near[k] = near;
            shadows.far[k] = far;
            let near = if near > TINY { 1.0 / near } else { HUGE };
            let far = if far > TINY { 1.0 / far } else { HUGE };
            for axis in 0..2 {
                let (low, high) = (low[axis][k], high[axis][k]);
                shadows.low[axis][k] = low * if low >= 0.0 { far } else { near };
                shadows.high[axis][k] = high * if high <= 0.0 { far } else { near };
            }
        }
        settle(self);
    }
}

impl Shadows {
    /// A bit for each that meets the bundle.
    #[inline(always)]
    fn in_bundle(&self, bundle: &Bundle) -> u32 {
        let mut margin = [0.0f32; 8];
        for k in 0..8 {
            let x = min(bundle.high[0] - self.low[0][k], self.high[0][k] - bundle.low[0]);
            let y = min(bundle.high[1] - self.low[1][k], self.high[1][k] - bundle.low[1]);
            let z = min(bundle.farthest - self.near[k], self.far[k] - bundle.least_start);
            margin[k] = min(min(x, y), z);
        }
        not_negative(margin)
    }

    /// A bit for each register that `k` meets.
    #[inline(always)]
    fn in_registers(&self, k: usize, bundle: &Bundle) -> u32 {
        let Spans { low, high, farthest } = &bundle.spans;
        let mut margin = [0.0f32; REGISTERS];
        for register in 0..REGISTERS {
            let x = min(high[0][register] - self.low[0][k], self.high[0][k] - low[0][register]);
            let y = min(high[1][register] - self.low[1][k], self.high[1][k] - low[1][register]);
            margin[register] = min(min(x, y), farthest[register] - self.near[k]);
        }
        not_negative(margin)
    }

    /// Whether `k` meets a ray of a register.
    #[inline(always)]
    fn in_register(&self, k: usize, bundle: &Bundle, register: usize) -> bool {
        let mut meets = false;
        for lane in 0..LANES {
            meets |= self.in_ray(k, bundle, register, lane);
        }
        meets
    }

    /// Whether `k` meets a ray. All registers are asked: to stop at the first that answers would
    /// cost more in mispredicted branches.
    #[inline(always)]
    fn in_rays(&self, k: usize, bundle: &Bundle, registers: usize) -> bool {
        let mut meets = [0u32; LANES];
        for register in 0..registers {
            for lane in 0..LANES {
                let is_met = self.in_ray(k, bundle, register, lane);
                meets[lane] |= if is_met { u32::MAX } else { 0 };
            }
        }
        let mut any = 0;
        for lane in meets {
            any |= lane;
        }
        any != 0
    }

    #[inline(always)]
    fn in_ray(&self, k: usize, bundle: &Bundle, register: usize, lane: usize) -> bool {
        let (x, y) = (bundle.slope_x[register][lane], bundle.slope_y[register][lane]);
        // Not `&&`: a branch here would keep the loops from becoming vector code.
        (self.low[0][k] <= x)
            & (self.high[0][k] >= x)
            & (self.low[1][k] <= y)
            & (self.high[1][k] >= y)
            & (self.near[k] <= bundle.depth[register][lane])
    }
}

/// Bit `k` is set where `margin[k]` is not negative. Comparing would be clearer, but only sign
/// bits become vector code.
#[inline(always)]
fn not_negative(mut margin: [f32; 8]) -> u32 {
    settle(&mut margin);
    let mut negative = 0;
    for k in 0..8 {
        negative |= (margin[k].to_bits() >> 31) << k;
    }
    negative ^ 0xff
}

/// Pushes a node's children that rays meet, the nearest last.
#[inline(always)]
fn enter(view: &View, node: &Node, bundle: &Bundle, bench: &mut Workbench, is_top: bool) {
    view.boxes(node, bench);
    let Workbench { top, mesh, shadows, .. } = bench;
    let stack = if is_top { top } else { mesh };
    let mut met = shadows.in_bundle(bundle) & node.occupied;
    let registers = bundle.registers().min(REGISTERS);
    let room = stack.room();
    let mut used = 0;
    while met != 0 {
        let slot = met.trailing_zeros() as usize & 7;
        met &= met - 1;
        if !shadows.in_rays(slot, bundle, registers) {
            continue;
        }
        let near = max(shadows.near[slot], 0.0);
        let entry = u64::from(near.to_bits()) << 32 | u64::from(node.children[slot]);
        // Few children are met: insertion is the fastest sort.
        let mut place = used & 7;
        while place > 0 && room[place - 1] < entry {
            room[place] = room[place - 1];
            place -= 1;
        }
        room[place] = entry;
        used += 1;
    }
    stack.len += used;
}

/// The least depth of a stack's entry, and its child.
#[inline(always)]
fn unpack(entry: u64) -> (f32, u32) {
    (f32::from_bits((entry >> 32) as u32), entry as u32)
}

/// Finds the nearest hits of `bundle`.
#[inline(always)]
pub fn walk(caster: &BvhCaster, bundle: &mut Bundle, bench: &mut Workbench) {
    if caster.top.nodes.is_empty() {
        return;
    }
    let view = View::new(bundle, &bundle.from_world, bundle.origin.as_vec3(), caster.extent);
    bench.top.start();
    while let Some(entry) = bench.top.pop() {
        let (depth, code) = unpack(entry);
        if depth > bundle.farthest {
            continue;
        }
        match leaf(code) {
            None => enter(&view, &caster.top.nodes[code as usize], bundle, bench, true),
            Some((first, count)) => {
                for place in first..first + count {
                    walk_instance(caster, place, bundle, bench);
                }
            }
        }
    }
}

#[inline(always)]
fn walk_instance(caster: &BvhCaster, place: u32, bundle: &mut Bundle, bench: &mut Workbench) {
    let placed = &caster.placed[place as usize];
    let mesh = &caster.meshes[placed.mesh as usize];
    let origin = placed.to_mesh(bundle.origin).as_vec3();
    let bundle_from_mesh = bundle.from_world * placed.world_from_mesh;
    let view = View::new(bundle, &bundle_from_mesh, origin, mesh.extent);
    bench.mesh.start();
    while let Some(entry) = bench.mesh.pop() {
        let (depth, code) = unpack(entry);
        if depth > bundle.farthest {
            continue;
        }
        match leaf(code) {
            None => enter(&view, &mesh.nodes[code as usize], bundle, bench, false),
            Some((block, count)) => {
                view.triangles(&mesh.blocks[block as usize], bench);
                let target = Target { caster, mesh, placed, place, block };
                test_block(&target, count, &bench.shadows, &bench.corners, bundle);
            }
        }
    }
}

/// Which triangles are tested.
struct Target<'a> {
    caster: &'a BvhCaster,
    mesh: &'a MeshTree,
    placed: &'a Placed,
    place: u32,
    block: u32,
}

/// Corners in the bundle's frame: by corner and axis.
type Corners<T> = [[T; 3]; 3];

/// The triangles that [`View::triangles`] has laid out.
#[inline(always)]
fn test_block(
    target: &Target,
    count: u32,
    shadows: &Shadows,
    corners: &Corners<[f32; 8]>,
    bundle: &mut Bundle,
) {
    let mut met = shadows.in_bundle(bundle) & ((1 << count) - 1);
    while met != 0 {
        let k = met.trailing_zeros() as usize & 7;
        met &= met - 1;
        let mut registers = shadows.in_registers(k, bundle);
        while registers != 0 {
            let register = registers.trailing_zeros() as usize & (REGISTERS - 1);
            registers &= registers - 1;
            if shadows.in_register(k, bundle, register) {
                let [a, b, c] = corners;
                let triangle = [
                    [a[0][k], a[1][k], a[2][k]],
                    [b[0][k], b[1][k], b[2][k]],
                    [c[0][k], c[1][k], c[2][k]],
                ];
                test_register(target, k, &triangle, register, bundle);
            }
        }
    }
}

/// The rays of one register against triangle `k` of the target's block.
#[inline(always)]
fn test_register(
    target: &Target,
    k: usize,
    triangle: &Corners<f32>,
    register: usize,
    bundle: &mut Bundle,
) {
    let [a, b, c] = *triangle;
    let (slope_x, slope_y) = (&bundle.slope_x[register], &bundle.slope_y[register]);
    let (shift_x, shift_y) = (&bundle.shift_x[register], &bundle.shift_y[register]);
    let mut weights = [[0.0f32; LANES]; 3];
    let mut depth = [0.0f32; LANES];
    let mut is_inside = [false; LANES];
    for lane in 0..LANES {
        let (ax, ay) = (
            a[0] - slope_x[lane] * a[2] - shift_x[lane],
            a[1] - slope_y[lane] * a[2] - shift_y[lane],
        );
        let (bx, by) = (
            b[0] - slope_x[lane] * b[2] - shift_x[lane],
            b[1] - slope_y[lane] * b[2] - shift_y[lane],
        );
        let (cx, cy) = (
            c[0] - slope_x[lane] * c[2] - shift_x[lane],
            c[1] - slope_y[lane] * c[2] - shift_y[lane],
        );
        let u = cx * by - cy * bx;
        let v = ax * cy - ay * cx;
        let w = bx * ay - by * ax;
        is_inside[lane] = (min(min(u, v), w) >= 0.0) | (max(max(u, v), w) <= 0.0);
        // Edge-on, all three are zero, the depth is NaN and fails both comparisons.
        depth[lane] = (u * a[2] + v * b[2] + w * c[2]) / (u + v + w);
        weights[0][lane] = u;
        weights[1][lane] = v;
        weights[2][lane] = w;
    }
    let slot = target.block * 8 + k as u32;
    if target.placed.is_vast && reaches_far(triangle) {
        surface::precise_depths(target.caster, bundle, target.placed, slot, register, &mut depth);
    }
    let (start, limit) = (&bundle.start[register], &bundle.depth[register]);
    let mut is_hit = [false; LANES];
    let mut any = false;
    for lane in 0..LANES {
        is_hit[lane] = is_inside[lane] & (depth[lane] > start[lane]) & (depth[lane] <= limit[lane]);
        any |= is_hit[lane];
    }
    if !any {
        return;
    }
    let is_masked = target.mesh.masked;
    for lane in 0..LANES {
        if !is_hit[lane] {
            continue;
        }
        let is_tie = depth[lane] == bundle.depth[register][lane];
        if is_tie
            && !wins_tie(target, slot, bundle.placed[register][lane], bundle.slot[register][lane])
        {
            continue;
        }
        if is_masked {
            let weights = [weights[0][lane], weights[1][lane], weights[2][lane]];
            if !surface::is_opaque(target.caster, target.placed, slot, weights) {
                continue;
            }
        }
        bundle.depth[register][lane] = depth[lane];
        bundle.placed[register][lane] = target.place;
        bundle.slot[register][lane] = slot;
    }
    bundle.spans.farthest[register] = most(&bundle.depth[register]);
    bundle.farthest = most(&bundle.spans.farthest);
}

/// Whether a corner lies so far off that single precision is too coarse for what is near.
#[inline(never)]
fn reaches_far(triangle: &Corners<f32>) -> bool {
    triangle.iter().flatten().any(|coordinate| coordinate.abs() > VAST_M)
}

/// The tie rule of [`super::RayCaster`].
#[inline(never)]
fn wins_tie(target: &Target, slot: u32, rival_place: u32, rival_slot: u32) -> bool {
    if rival_place == NONE {
        return true;
    }
    let caster = target.caster;
    let rival = &caster.placed[rival_place as usize];
    let rival_mesh = &caster.meshes[rival.mesh as usize];
    (target.placed.instance, target.mesh.triangle(slot))
        < (rival.instance, rival_mesh.triangle(rival_slot))
}
