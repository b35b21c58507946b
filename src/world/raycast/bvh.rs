//! The tracer: one walk of an eight-wide tree for all rays of a pulse.
//!
//! The rays of a pulse share an origin and lie within milliradians, so they visit almost the same
//! nodes. The walk therefore culls a node's eight boxes against the pulse's four side planes and
//! its depth, once for all rays, and tests a leaf's triangles against all rays side by side.
//! The loops run over fixed arrays that the compiler turns into vector code; `multiversion` picks
//! the AVX2 build at run time where there is one. No build contracts multiply and add, so all
//! give the same bits.
//!
//! **Watertight.** Triangles are tested as Woop, Benthin and Wald do (Watertight Ray/Triangle
//! Intersection, JCGT 2013): corners are sheared so that the ray runs along one axis, and the
//! ray is inside when the three edge functions agree in sign. The sign of a difference of two
//! rounded products is exact unless it is zero, zero counts as inside, and both triangles of an
//! edge shear the same corners: no ray slips through an edge or a corner. Depth is a convex
//! combination of the corners' depths, so it stays on the triangle even when it is seen edge-on.
//!
//! **Depth** `t` is measured along the pulse's centre direction: every ray has the same `t` at the
//! same plane across the beam, and `t` survives any affine instance transform.

use std::sync::Arc;

use glam::{DMat3, DVec3, Mat3, Vec3};
use multiversion::multiversion;

use super::tree::{Bounded, Child, MAX_PRIMITIVES, Node, Tree};
use super::{Hit, MAX_RAYS, Pulse, RayCaster, Stencil};
use crate::world::scene::{Instance, MaterialId, Mesh, Scene};

/// Triangles a leaf may hold.
const TRIANGLES_PER_LEAF: u32 = 4;
const NONE: u32 = u32::MAX;

/// Casts pulses through a scene with a two-level tree.
pub struct BvhCaster {
    scene: Arc<Scene>,
    meshes: Vec<MeshTree>,
    top: Tree,
    /// In the order of the top tree's leaves.
    placed: Vec<Placed>,
}

/// Why a scene cannot be cast into.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// More triangles in one mesh, or more instances, than a tree can address.
    #[error("{what} holds {count} {of}; a tree can hold {MAX_PRIMITIVES}")]
    TooMany {
        /// The mesh, or the scene.
        what: String,
        /// How many.
        count: usize,
        /// Of what.
        of: &'static str,
    },
}

struct MeshTree {
    nodes: Vec<Node>,
    /// In leaf order.
    triangles: Vec<PackedTriangle>,
    /// Largest coordinate; scales the slack of culling.
    extent: f32,
    masked: bool,
}

#[derive(Clone, Copy)]
#[repr(C, align(16))]
struct PackedTriangle {
    corners: [[f32; 3]; 3],
    index: u32,
    material: MaterialId,
}

struct Placed {
    instance: u32,
    mesh: u32,
    origin: DVec3,
    mesh_from_world: DMat3,
    mesh_from_world_f32: Mat3,
    /// Takes plane normals of World to the mesh's frame.
    normals_to_mesh: Mat3,
}

impl BvhCaster {
    /// Builds the trees. Meshes that no instance uses cost nothing.
    pub fn new(scene: Arc<Scene>) -> Result<Self, BuildError> {
        let mut is_used = vec![false; scene.meshes.len()];
        for instance in &scene.instances {
            is_used[instance.mesh as usize] = true;
        }
        let mut meshes = Vec::with_capacity(scene.meshes.len());
        for (mesh, used) in scene.meshes.iter().zip(is_used) {
            meshes.push(if used { MeshTree::new(mesh, &scene)? } else { MeshTree::EMPTY });
        }
        let instances = &scene.instances;
        if instances.len() > MAX_PRIMITIVES {
            return Err(BuildError::TooMany {
                what: "the scene".into(),
                count: instances.len(),
                of: "instances",
            });
        }
        let boxes: Vec<Bounded> =
            instances.iter().map(|i| world_bounds(&scene.meshes[i.mesh as usize], i)).collect();
        let top = Tree::build(&boxes, 1);
        let placed =
            top.order.iter().map(|&index| Placed::new(index, &instances[index as usize])).collect();
        Ok(Self { scene, meshes, top, placed })
    }

    /// The scene that was built.
    pub fn scene(&self) -> &Arc<Scene> {
        &self.scene
    }

    /// Bytes held by trees and packed triangles, the scene itself aside.
    pub fn memory_bytes(&self) -> usize {
        let of_mesh =
            |m: &MeshTree| size_of_val(m.nodes.as_slice()) + size_of_val(m.triangles.as_slice());
        self.meshes.iter().map(of_mesh).sum::<usize>()
            + size_of_val(self.top.nodes.as_slice())
            + size_of_val(self.placed.as_slice())
    }
}

impl RayCaster for BvhCaster {
    fn cast(&self, stencil: &Stencil, pulses: &[Pulse], hits: &mut [Hit]) {
        assert_eq!(hits.len(), pulses.len() * stencil.len(), "one hit for every ray");
        if stencil.len() <= 8 {
            cast_8(self, stencil, pulses, hits);
        } else {
            cast_16(self, stencil, pulses, hits);
        }
    }
}

impl MeshTree {
    const EMPTY: Self =
        Self { nodes: Vec::new(), triangles: Vec::new(), extent: 0.0, masked: false };

    fn new(mesh: &Mesh, scene: &Scene) -> Result<Self, BuildError> {
        if mesh.triangles.len() > MAX_PRIMITIVES {
            return Err(BuildError::TooMany {
                what: format!("mesh {}", mesh.name),
                count: mesh.triangles.len(),
                of: "triangles",
            });
        }
        let corners = |index: usize| mesh.triangles[index].map(|v| mesh.positions[v as usize]);
        let boxes: Vec<Bounded> = (0..mesh.triangles.len())
            .map(|index| {
                let [a, b, c] = corners(index);
                Bounded {
                    low: std::array::from_fn(|k| a[k].min(b[k]).min(c[k])),
                    high: std::array::from_fn(|k| a[k].max(b[k]).max(c[k])),
                }
            })
            .collect();
        let tree = Tree::build(&boxes, TRIANGLES_PER_LEAF);
        let triangles = tree
            .order
            .iter()
            .map(|&index| PackedTriangle {
                corners: corners(index as usize),
                index,
                material: mesh.triangle_materials[index as usize],
            })
            .collect();
        let extent = mesh.positions.iter().flatten().fold(0.0f32, |m, c| m.max(c.abs()));
        let masked = !mesh.uvs.is_empty()
            && mesh
                .triangle_materials
                .iter()
                .any(|&m| scene.materials[m as usize].opacity_mask.is_some());
        Ok(Self { nodes: tree.nodes, triangles, extent, masked })
    }
}

impl Placed {
    fn new(index: u32, instance: &Instance) -> Self {
        let mesh_from_world = instance.world_from_mesh.matrix3.inverse();
        Self {
            instance: index,
            mesh: instance.mesh,
            origin: instance.world_from_mesh.translation,
            mesh_from_world,
            mesh_from_world_f32: mesh_from_world.as_mat3(),
            normals_to_mesh: instance.world_from_mesh.matrix3.transpose().as_mat3(),
        }
    }
}

/// The box of a placed mesh, rounded outward to `f32`.
fn world_bounds(mesh: &Mesh, instance: &Instance) -> Bounded {
    let mut low = DVec3::INFINITY;
    let mut high = DVec3::NEG_INFINITY;
    for &[x, y, z] in &mesh.positions {
        let p = instance.world_from_mesh.transform_point3(DVec3::new(x.into(), y.into(), z.into()));
        low = low.min(p);
        high = high.max(p);
    }
    Bounded {
        low: low.to_array().map(|c| (c as f32).next_down()),
        high: high.to_array().map(|c| (c as f32).next_up()),
    }
}

/// The rays of a pulse in one frame.
#[repr(align(32))]
struct Rays<const N: usize> {
    x: [f32; N],
    y: [f32; N],
    z: [f32; N],
}

/// The nearest hit of each ray so far.
#[repr(align(32))]
struct Nearest<const N: usize> {
    /// Depth; starts at the maximum range. Lanes without a ray hold -1.
    depth: [f32; N],
    /// Place in `BvhCaster::placed`, or `NONE`.
    placed: [u32; N],
    /// Place in the mesh's packed triangles.
    slot: [u32; N],
    /// The largest depth: nothing behind it matters.
    farthest: f32,
}

/// What a node's boxes are culled against: `normal . p >= offset` for the four sides, and the
/// depth of `p`, which is `axis . p - axis_offset`.
struct Beam {
    sides: [Side; 4],
    axis: Vec3,
    axis_offset: f32,
    axis_rows: [usize; 3],
    slack: f32,
}

#[derive(Clone, Copy)]
struct Side {
    normal: [f32; 3],
    offset: f32,
    /// Which bound of a box is farthest inside, per axis.
    rows: [usize; 3],
}

#[multiversion(targets("x86_64+avx2+fma"))]
fn cast_8(caster: &BvhCaster, stencil: &Stencil, pulses: &[Pulse], hits: &mut [Hit]) {
    cast_lanes::<8>(caster, stencil, pulses, hits);
}

#[multiversion(targets("x86_64+avx2+fma"))]
fn cast_16(caster: &BvhCaster, stencil: &Stencil, pulses: &[Pulse], hits: &mut [Hit]) {
    cast_lanes::<MAX_RAYS>(caster, stencil, pulses, hits);
}

#[inline(always)]
fn cast_lanes<const N: usize>(
    caster: &BvhCaster,
    stencil: &Stencil,
    pulses: &[Pulse],
    hits: &mut [Hit],
) {
    let mut stacks = Stacks::default();
    for (pulse, hits) in pulses.iter().zip(hits.chunks_exact_mut(stencil.len())) {
        cast_pulse::<N>(caster, stencil, pulse, &mut stacks, hits);
    }
}

#[inline(always)]
fn cast_pulse<const N: usize>(
    caster: &BvhCaster,
    stencil: &Stencil,
    pulse: &Pulse,
    stacks: &mut Stacks,
    hits: &mut [Hit],
) {
    hits.fill(Hit::MISS);
    if caster.top.nodes.is_empty() {
        return;
    }
    let offsets = stencil.offsets();
    let direction = pulse.direction.as_vec3();
    let (u, v) = (pulse.half_axis_u.as_vec3(), pulse.half_axis_v.as_vec3());
    let mut rays = Rays::<N> { x: [0.0; N], y: [0.0; N], z: [0.0; N] };
    let mut length = [1.0f32; N];
    let mut nearest =
        Nearest::<N> { depth: [-1.0; N], placed: [NONE; N], slot: [NONE; N], farthest: 0.0 };
    let mut reach = [0.0f32; 2];
    for lane in 0..N {
        let [a, b] = offsets[lane.min(offsets.len() - 1)];
        let ray = direction + u * a + v * b;
        (rays.x[lane], rays.y[lane], rays.z[lane]) = (ray.x, ray.y, ray.z);
        if lane < offsets.len() {
            length[lane] = ray.length();
            nearest.depth[lane] = pulse.max_range_m / length[lane];
            nearest.farthest = nearest.farthest.max(nearest.depth[lane]);
            reach = [reach[0].max(a.abs()), reach[1].max(b.abs())];
        }
    }
    let beam = WorldBeam::new(direction, u * reach[0], v * reach[1]);
    walk_top(caster, pulse.origin, &beam, &rays, stacks, &mut nearest);

    for (lane, hit) in hits.iter_mut().enumerate() {
        if nearest.placed[lane] != NONE {
            let ray = Vec3::new(rays.x[lane], rays.y[lane], rays.z[lane]);
            *hit = finish(
                caster,
                pulse.origin,
                ray,
                length[lane],
                nearest.depth[lane],
                nearest.placed[lane],
                nearest.slot[lane],
            );
        }
    }
}

/// The beam's side normals and axis in World; instances take them to their own frame.
struct WorldBeam {
    normals: [Vec3; 4],
    axis: Vec3,
}

impl WorldBeam {
    /// Sides that hold `direction +- u +- v`, a little widened: a ray on the rim must not lose a
    /// box to rounding.
    #[inline(always)]
    fn new(direction: Vec3, u: Vec3, v: Vec3) -> Self {
        const WIDEN: f32 = 1.0 + 1e-3;
        const WIDEN_RAD: f32 = 2e-6;
        // For a single ray the half-axes may be zero: any two across the beam do then.
        let across = direction.any_orthonormal_vector();
        let unit_u = u.try_normalize().unwrap_or(across);
        let unit_v = v.try_normalize().unwrap_or(direction.cross(unit_u).normalize());
        let u = u * WIDEN + unit_u * WIDEN_RAD;
        let v = v * WIDEN + unit_v * WIDEN_RAD;
        let handed = if u.cross(v).dot(direction) < 0.0 { -1.0 } else { 1.0 };
        Self {
            normals: [
                (direction - u).cross(-v) * handed,
                (direction + u).cross(v) * handed,
                (direction - v).cross(u) * handed,
                (direction + v).cross(-u) * handed,
            ],
            axis: direction,
        }
    }

    /// In a frame that normals reach by `normals_to_frame`, where the pulse starts at `origin`.
    #[inline(always)]
    fn in_frame(&self, normals_to_frame: &Mat3, origin: Vec3, extent: f32) -> Beam {
        // Positions carry an error of their size times half an ulp; be generous.
        let size = origin.abs().max_element() + extent;
        let slack_of = |normal: Vec3| normal.abs().element_sum() * size * 4e-7;
        let sides = self.normals.map(|normal| {
            let normal = *normals_to_frame * normal;
            Side {
                normal: normal.to_array(),
                offset: normal.dot(origin) - slack_of(normal),
                rows: farthest_rows(normal),
            }
        });
        let axis = *normals_to_frame * self.axis;
        Beam {
            sides,
            axis,
            axis_offset: axis.dot(origin),
            axis_rows: farthest_rows(axis),
            slack: slack_of(axis),
        }
    }
}

/// Rows of [`Node::bounds`] whose corner is farthest along `normal`.
#[inline(always)]
fn farthest_rows(normal: Vec3) -> [usize; 3] {
    std::array::from_fn(|axis| if normal[axis] >= 0.0 { axis + 3 } else { axis })
}

/// The opposite bound of the same axis.
#[inline(always)]
fn opposite(row: usize) -> usize {
    (row + 3) % 6
}

impl Beam {
    /// The least depth of each child's box, infinite for those the beam does not meet or that lie
    /// behind `farthest`.
    #[inline(always)]
    fn enter(&self, node: &Node, farthest: f32) -> [f32; 8] {
        let mut margin = [f32::INFINITY; 8];
        for side in &self.sides {
            let [x, y, z] = side.rows.map(|row| &node.bounds[row]);
            let [nx, ny, nz] = side.normal;
            for k in 0..8 {
                margin[k] = margin[k].min(nx * x[k] + ny * y[k] + nz * z[k] - side.offset);
            }
        }
        let [x, y, z] = self.axis_rows.map(|row| &node.bounds[row]);
        let [nx, ny, nz] = self.axis_rows.map(|row| &node.bounds[opposite(row)]);
        let axis = self.axis;
        let mut near = [0.0f32; 8];
        for k in 0..8 {
            let far = axis.x * x[k] + axis.y * y[k] + axis.z * z[k] - self.axis_offset;
            margin[k] = margin[k].min(far + self.slack);
            near[k] =
                axis.x * nx[k] + axis.y * ny[k] + axis.z * nz[k] - self.axis_offset - self.slack;
        }
        for k in 0..8 {
            // Not `&&`: a branch here would keep the loop from becoming vector code.
            let meets = (margin[k] >= 0.0) & (near[k] <= farthest);
            near[k] = if meets { near[k] } else { f32::INFINITY };
        }
        near
    }
}

/// Children still to visit, with the least depth of each. Kept from walk to walk, so that a
/// walk allocates nothing.
#[derive(Default)]
struct Stacks {
    top: Vec<(f32, u32)>,
    mesh: Vec<(f32, u32)>,
}

const ROOT: (f32, u32) = (f32::NEG_INFINITY, 0);

/// The slots that `depths` says are met, nearest first.
#[inline(always)]
fn nearest_first(node: &Node, depths: &[f32; 8]) -> ([(f32, u8); 8], usize) {
    let mut slots = [(0.0f32, 0u8); 8];
    let mut used = 0;
    for (slot, &depth) in depths.iter().enumerate() {
        if depth == f32::INFINITY || !node.is_occupied(slot) {
            continue;
        }
        let mut place = used;
        while place > 0 && slots[place - 1].0 > depth {
            slots[place] = slots[place - 1];
            place -= 1;
        }
        slots[place] = (depth, slot as u8);
        used += 1;
    }
    (slots, used)
}

#[inline(always)]
fn walk_top<const N: usize>(
    caster: &BvhCaster,
    origin: DVec3,
    world_beam: &WorldBeam,
    rays: &Rays<N>,
    stacks: &mut Stacks,
    nearest: &mut Nearest<N>,
) {
    let beam = world_beam.in_frame(&Mat3::IDENTITY, origin.as_vec3(), 0.0);
    let Stacks { top: stack, mesh: mesh_stack } = stacks;
    stack.push(ROOT);
    while let Some((depth, index)) = stack.pop() {
        if depth > nearest.farthest {
            continue;
        }
        let node = &caster.top.nodes[index as usize];
        let depths = beam.enter(node, nearest.farthest);
        let (slots, used) = nearest_first(node, &depths);
        // Instances are walked at once, nearest first; inner nodes wait on the stack.
        for &(depth, slot) in &slots[..used] {
            if let Child::Leaf { first, count } = node.child(slot.into()) {
                for place in first..first + count {
                    if depth <= nearest.farthest {
                        enter_instance(
                            caster, origin, world_beam, rays, place, mesh_stack, nearest,
                        );
                    }
                }
            }
        }
        for &(depth, slot) in slots[..used].iter().rev() {
            if let Child::Inner(child) = node.child(slot.into()) {
                stack.push((depth, child));
            }
        }
    }
}

#[inline(always)]
fn enter_instance<const N: usize>(
    caster: &BvhCaster,
    origin: DVec3,
    world_beam: &WorldBeam,
    rays: &Rays<N>,
    place: u32,
    stack: &mut Vec<(f32, u32)>,
    nearest: &mut Nearest<N>,
) {
    let placed = &caster.placed[place as usize];
    let mesh = &caster.meshes[placed.mesh as usize];
    let origin = (placed.mesh_from_world * (origin - placed.origin)).as_vec3();
    let beam = world_beam.in_frame(&placed.normals_to_mesh, origin, mesh.extent);
    let m = placed.mesh_from_world_f32;
    let sheared = Sheared::new(&m, rays, origin);

    stack.push(ROOT);
    while let Some((depth, index)) = stack.pop() {
        if depth > nearest.farthest {
            continue;
        }
        let node = &mesh.nodes[index as usize];
        let depths = beam.enter(node, nearest.farthest);
        let (slots, used) = nearest_first(node, &depths);
        for &(depth, slot) in &slots[..used] {
            if let Child::Leaf { first, count } = node.child(slot.into()) {
                if depth > nearest.farthest {
                    break;
                }
                for slot in first..first + count {
                    test_triangle(caster, mesh, slot, &sheared, place, nearest);
                }
            }
        }
        for &(depth, slot) in slots[..used].iter().rev() {
            if let Child::Inner(child) = node.child(slot.into()) {
                stack.push((depth, child));
            }
        }
    }
}

/// The rays in an instance's frame, ready for the watertight test.
#[repr(align(32))]
struct Sheared<const N: usize> {
    /// Shear of the first and second axis by the third, and the scale of the third.
    x: [f32; N],
    y: [f32; N],
    z: [f32; N],
    /// The axes in the order first, second, third; the rays run mostly along the third.
    axes: [usize; 3],
    origin: Vec3,
}

impl<const N: usize> Sheared<N> {
    #[inline(always)]
    fn new(m: &Mat3, rays: &Rays<N>, origin: Vec3) -> Self {
        let centre = *m * Vec3::new(rays.x[0], rays.y[0], rays.z[0]);
        let third = centre.abs().max_position();
        let axes = [(third + 1) % 3, (third + 2) % 3, third];
        let [row_x, row_y, row_z] = axes.map(|axis| m.row(axis));
        let mut sheared = Self { x: [0.0; N], y: [0.0; N], z: [0.0; N], axes, origin };
        for lane in 0..N {
            let (x, y, z) = (rays.x[lane], rays.y[lane], rays.z[lane]);
            let along = (row_z.x * x + row_z.y * y + row_z.z * z).recip();
            sheared.x[lane] = (row_x.x * x + row_x.y * y + row_x.z * z) * along;
            sheared.y[lane] = (row_y.x * x + row_y.y * y + row_y.z * z) * along;
            sheared.z[lane] = along;
        }
        sheared
    }

    /// The point at `depth` along a lane's ray, in the instance's frame.
    fn point(&self, lane: usize, depth: f32) -> Vec3 {
        let along = depth / self.z[lane];
        let mut p = self.origin;
        p[self.axes[0]] += self.x[lane] * along;
        p[self.axes[1]] += self.y[lane] * along;
        p[self.axes[2]] += along;
        p
    }
}

#[inline(always)]
fn test_triangle<const N: usize>(
    caster: &BvhCaster,
    mesh: &MeshTree,
    slot: u32,
    rays: &Sheared<N>,
    place: u32,
    nearest: &mut Nearest<N>,
) {
    let triangle = &mesh.triangles[slot as usize];
    let [first, second, third] = rays.axes;
    let [a, b, c] = triangle.corners.map(|p| {
        let p = Vec3::from_array(p) - rays.origin;
        (p[first], p[second], p[third])
    });
    let mut depth = [0.0f32; N];
    let mut is_hit = [false; N];
    for lane in 0..N {
        let (shear_x, shear_y) = (rays.x[lane], rays.y[lane]);
        let (ax, ay) = (a.0 - shear_x * a.2, a.1 - shear_y * a.2);
        let (bx, by) = (b.0 - shear_x * b.2, b.1 - shear_y * b.2);
        let (cx, cy) = (c.0 - shear_x * c.2, c.1 - shear_y * c.2);
        let u = cx * by - cy * bx;
        let v = ax * cy - ay * cx;
        let w = bx * ay - by * ax;
        let inside = (u.min(v).min(w) >= 0.0) | (u.max(v).max(w) <= 0.0);
        // Edge-on, all three are zero, the depth is NaN and fails both comparisons.
        let t = (u * a.2 + v * b.2 + w * c.2) / (u + v + w) * rays.z[lane];
        depth[lane] = t;
        is_hit[lane] = inside & (t > 0.0) & (t <= nearest.depth[lane]);
    }
    if !is_hit.iter().fold(false, |any, &hit| any | hit) {
        return;
    }
    for lane in 0..N {
        if !is_hit[lane] || !wins(caster, mesh, depth[lane], place, slot, nearest, lane) {
            continue;
        }
        if mesh.masked {
            let p = rays.point(lane, depth[lane]);
            if !is_opaque(caster, place, triangle, p) {
                continue;
            }
        }
        nearest.depth[lane] = depth[lane];
        nearest.placed[lane] = place;
        nearest.slot[lane] = slot;
    }
    nearest.farthest = nearest.depth.iter().fold(0.0f32, |far, &d| far.max(d));
}

/// The tie rule of [`RayCaster`].
#[inline(always)]
fn wins<const N: usize>(
    caster: &BvhCaster,
    mesh: &MeshTree,
    depth: f32,
    place: u32,
    slot: u32,
    nearest: &Nearest<N>,
    lane: usize,
) -> bool {
    if depth < nearest.depth[lane] || nearest.placed[lane] == NONE {
        return true;
    }
    let key = |place: u32, slot: u32, triangles: &[PackedTriangle]| {
        (caster.placed[place as usize].instance, triangles[slot as usize].index)
    };
    let (rival_place, rival_slot) = (nearest.placed[lane], nearest.slot[lane]);
    let rival_mesh = &caster.meshes[caster.placed[rival_place as usize].mesh as usize];
    key(place, slot, &mesh.triangles) < key(rival_place, rival_slot, &rival_mesh.triangles)
}

/// Weights of a triangle's corners at a point of its plane.
fn barycentric(corners: [Vec3; 3], p: Vec3) -> [f32; 3] {
    let [a, b, c] = corners;
    let normal = (b - a).cross(c - a);
    let scale = normal.length_squared().recip();
    let wb = (c - a).cross(a - p).dot(normal) * scale;
    let wc = (a - p).cross(b - a).dot(normal) * scale;
    [1.0 - wb - wc, wb, wc]
}

fn texture_coordinates(mesh: &Mesh, triangle: &PackedTriangle, p: Vec3) -> [f32; 2] {
    let weights = barycentric(triangle.corners.map(Vec3::from_array), p);
    let corners = mesh.triangles[triangle.index as usize];
    let mut uv = [0.0; 2];
    for (weight, vertex) in weights.into_iter().zip(corners) {
        let [u, v] = mesh.uvs[vertex as usize];
        uv = [uv[0] + weight * u, uv[1] + weight * v];
    }
    uv
}

/// Whether the surface stops a ray at point `p` of the mesh's frame.
#[inline(never)]
fn is_opaque(caster: &BvhCaster, place: u32, triangle: &PackedTriangle, p: Vec3) -> bool {
    let Some(mask) = &caster.scene.materials[triangle.material as usize].opacity_mask else {
        return true;
    };
    let mesh = &caster.scene.meshes[caster.placed[place as usize].mesh as usize];
    mask.sample(texture_coordinates(mesh, triangle, p)) > 0.5
}

/// What the sensor needs to know of the nearest hit.
#[inline(never)]
fn finish(
    caster: &BvhCaster,
    origin: DVec3,
    ray: Vec3,
    length: f32,
    depth: f32,
    place: u32,
    slot: u32,
) -> Hit {
    let placed = &caster.placed[place as usize];
    let triangle = &caster.meshes[placed.mesh as usize].triangles[slot as usize];
    let corners = triangle.corners.map(Vec3::from_array);
    let normal_in_mesh = (corners[1] - corners[0]).cross(corners[2] - corners[0]);
    // The inverse transpose turns normals, also under non-uniform scale.
    let normal = placed.mesh_from_world_f32.transpose() * normal_in_mesh;
    let cos_incidence = (normal.dot(ray).abs() / (normal.length() * length)).min(1.0);
    let material = &caster.scene.materials[triangle.material as usize];
    let mesh = &caster.scene.meshes[placed.mesh as usize];
    let texture = match &material.reflectance_map {
        Some(map) if !mesh.uvs.is_empty() => {
            let origin = (placed.mesh_from_world * (origin - placed.origin)).as_vec3();
            let p = origin + placed.mesh_from_world_f32 * ray * depth;
            map.sample(texture_coordinates(mesh, triangle, p))
        }
        _ => 1.0,
    };
    Hit {
        range_m: depth * length,
        cos_incidence,
        reflectance: material.reflectance * texture,
        instance: placed.instance,
        triangle: triangle.index,
        material: triangle.material,
    }
}
