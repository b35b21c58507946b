//! Layout of the trees on the GPU.
//!
//! A node of [`tree`](crate::world::raycast::tree) has 256 bytes; a node on the GPU has 96, because the bounds of its
//! children are rounded outward to one byte each. A child gets the slot of the octant in which it lies, if that slot is
//! free. A ray therefore visits children in the order of `slot ^ octant`, where `octant` has a bit for each axis along
//! which the ray's coordinate decreases.

use std::sync::Arc;

use bytemuck::{Pod, Zeroable};
use rayon::iter::{IntoParallelRefIterator, ParallelExtend, ParallelIterator};

use crate::world::raycast::bvh::{BvhCaster, MeshTree, Placed};
use crate::world::raycast::tree::{Node, leaf};
use crate::world::scene::{Material, Mesh, Scene};

/// Bit that marks the code of a leaf. The value must equal that in the kernel.
const LEAF: u32 = 1 << 31;
const COUNT_SHIFT: u32 = 28;
/// Largest number of triangles, and of entrances, that a code can address.
pub const MOST: usize = 1 << COUNT_SHIFT;

/// A node as the kernel reads it: lower corner and exponents; bounds by axis and slot, lower ones first; codes of the
/// children.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub struct PackedNode {
    low: [f32; 3],
    exponents: [u8; 3],
    occupied: u8,
    bounds: [[[u8; 8]; 3]; 2],
    codes: [u32; 8],
}

/// A triangle as the kernel reads it: its corners, the triangle's index in the mesh, whether its material has an
/// opacity mask, and the index into [`Layout::materials`].
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub struct PackedTriangle {
    a: [f32; 3],
    index: u32,
    b: [f32; 3],
    is_masked: u32,
    c: [f32; 3],
    material: u32,
}

/// An `Entrance` of the top tree as the kernel reads it: index into [`Layout::placed`], and code of a child in the
/// mesh's tree.
pub type PackedEntrance = [u32; 2];
/// Pose of an instance as the kernel reads it: origin in World, and the columns of `mesh_from_world`.
pub type PackedPose = [f64; 12];
/// An instance as the kernel reads it: its index in the scene, and the largest coordinate of its mesh as the bits of an
/// `f32`.
pub type PackedPlaced = [u32; 2];

/// A material as the kernel reads it: its index in the scene, and the bits of its reflectance, or [`UNKNOWN`] if a map
/// changes the reflectance.
pub type PackedMaterial = [u32; 2];
/// Bits of a reflectance that the processor must find. The value must equal that in the kernel.
pub const UNKNOWN: u32 = u32::MAX;

/// Tables of scenes for the kernel. The first nodes are the roots of the scenes.
pub struct Layout {
    pub nodes: Vec<PackedNode>,
    pub triangles: Vec<PackedTriangle>,
    pub entrances: Vec<PackedEntrance>,
    pub poses: Vec<PackedPose>,
    pub placed: Vec<PackedPlaced>,
    pub materials: Vec<PackedMaterial>,
}

/// Number of items in the tables of a [`Layout`].
pub struct Sizes {
    pub nodes: usize,
    pub triangles: usize,
    pub entrances: usize,
    pub placed: usize,
    pub materials: usize,
}

impl Sizes {
    pub fn of(scenes: &[Arc<BvhCaster>]) -> Self {
        let sizes = scenes.iter().map(|scene| Self::of_one(scene));
        let none = Self { nodes: 0, triangles: 0, entrances: 0, placed: 0, materials: 0 };
        sizes.fold(none, |sum, one| Self {
            nodes: sum.nodes + one.nodes,
            triangles: sum.triangles + one.triangles,
            entrances: sum.entrances + one.entrances,
            placed: sum.placed + one.placed,
            materials: sum.materials + one.materials,
        })
    }

    fn of_one(caster: &BvhCaster) -> Self {
        let in_use = || caster.meshes.iter().zip(&caster.scene.meshes);
        let in_use = || in_use().filter(|(tree, _)| !tree.nodes.is_empty());
        Self {
            nodes: in_use().map(|(tree, _)| tree.nodes.len()).sum::<usize>()
                + caster.top.nodes.len()
                + 1,
            triangles: in_use().map(|(_, mesh)| mesh.triangles.len()).sum(),
            entrances: caster.entrances.len(),
            placed: caster.placed.len(),
            materials: caster.scene.materials.len(),
        }
    }

    /// Name of each table for messages, and its size in bytes.
    pub fn bytes(&self) -> [(&'static str, u64); 6] {
        let bytes = |count: usize, size: usize| count as u64 * size as u64;
        [
            ("nodes", bytes(self.nodes, size_of::<PackedNode>())),
            ("triangles", bytes(self.triangles, size_of::<PackedTriangle>())),
            ("entrances", bytes(self.entrances, size_of::<PackedEntrance>())),
            ("poses", bytes(self.placed, size_of::<PackedPose>())),
            ("instances", bytes(self.placed, size_of::<PackedPlaced>())),
            ("materials", bytes(self.materials, size_of::<PackedMaterial>())),
        ]
    }
}

impl Layout {
    pub fn new(scenes: &[Arc<BvhCaster>]) -> Self {
        let sizes = Sizes::of(scenes);
        let mut layout = Self {
            nodes: Vec::with_capacity(sizes.nodes),
            triangles: Vec::with_capacity(sizes.triangles),
            entrances: Vec::with_capacity(sizes.entrances),
            poses: Vec::with_capacity(sizes.placed),
            placed: Vec::with_capacity(sizes.placed),
            materials: Vec::with_capacity(sizes.materials),
        };
        layout.nodes.resize(scenes.len(), PackedNode::zeroed());
        for (index, scene) in scenes.iter().enumerate() {
            layout.add(index, scene);
        }
        layout
    }

    fn add(&mut self, index: usize, caster: &BvhCaster) {
        let Self { nodes, triangles, entrances, poses, placed, materials } = self;
        let first_material = materials.len() as u32;
        materials.extend((0..).zip(&caster.scene.materials).map(|(index, material)| {
            let Material { reflectance, reflectance_map, .. } = material;
            [index, reflectance_map.as_ref().map_or(reflectance.to_bits(), |_| UNKNOWN)]
        }));
        let first_entrance = entrances.len() as u32;
        let first_place = placed.len() as u32;
        let at = Bases { node: nodes.len() as u32, leaves: &|entrance| first_entrance + entrance };
        nodes.par_extend(caster.top.nodes.par_iter().map(|node| pack(node, &at)));
        if let Some(root) = caster.top.nodes.first() {
            nodes[index] = pack(root, &at);
        }
        let mut meshes = Vec::with_capacity(caster.meshes.len());
        for (tree, mesh) in caster.meshes.iter().zip(&caster.scene.meshes) {
            let below =
                Below { node: nodes.len() as u32, runs: runs(tree, triangles.len() as u32) };
            let at = Bases { node: below.node, leaves: &|block| below.runs[block as usize].0 };
            nodes.par_extend(tree.nodes.par_iter().map(|node| pack(node, &at)));
            let of_block =
                |block: usize| (0..below.runs[block].1).map(move |k| (8 * block) as u32 + k);
            let slots: Vec<u32> = (0..below.runs.len()).flat_map(of_block).collect();
            let of_slot = |&slot: &u32| triangle(tree, mesh, &caster.scene, first_material, slot);
            triangles.par_extend(slots.par_iter().map(of_slot));
            meshes.push(below);
        }
        entrances.extend(caster.entrances.iter().map(|entrance| {
            let below = &meshes[caster.placed[entrance.place as usize].mesh as usize];
            let at = Bases { node: below.node, leaves: &|block| below.runs[block as usize].0 };
            [first_place + entrance.place, at.code(entrance.code)]
        }));
        poses.extend(caster.placed.iter().map(|placed| {
            let (place, m) = (placed.pose.place, placed.pose.mesh_from_world);
            let vectors = [place, m.x_axis, m.y_axis, m.z_axis].map(|v| v.to_array());
            bytemuck::cast::<_, PackedPose>(vectors)
        }));
        let of_placed = |p: &Placed| [p.instance, p.frame.extent.to_bits()];
        placed.extend(caster.placed.iter().map(of_placed));
    }
}

/// Place of a mesh in the tables: the index of its first node, and for each block its first triangle and its number of
/// triangles.
struct Below {
    node: u32,
    runs: Vec<(u32, u32)>,
}

/// For each block of `tree`, the index of its first triangle in the table and its number of triangles; `first` is the
/// index of the tree's first triangle.
fn runs(tree: &MeshTree, mut first: u32) -> Vec<(u32, u32)> {
    let mut runs = vec![(0, 0); tree.blocks.len()];
    for node in &tree.nodes {
        for slot in (0..8).filter(|slot| node.occupied >> slot & 1 == 1) {
            if let Some((block, count)) = leaf(node.children[slot]) {
                runs[block as usize].1 = count;
            }
        }
    }
    for run in &mut runs {
        run.0 = first;
        first += run.1;
    }
    runs
}

/// The triangle in `slot` of a mesh's tree; `first_material` is the index of the scene's first material.
fn triangle(
    tree: &MeshTree,
    mesh: &Mesh,
    scene: &Scene,
    first_material: u32,
    slot: u32,
) -> PackedTriangle {
    let [a, b, c] = tree.corners(slot).map(|corner| corner.to_array());
    let material = tree.material(slot, mesh);
    let has_mask = || scene.materials[material as usize].opacity_mask.is_some();
    let is_masked = (tree.masked && has_mask()).into();
    let material = first_material + material;
    PackedTriangle { a, index: tree.triangle(slot), b, is_masked, c, material }
}

/// Converts child codes of a tree to child codes of the kernel.
struct Bases<'a> {
    node: u32,
    leaves: &'a (dyn Fn(u32) -> u32 + Sync),
}

impl Bases<'_> {
    fn code(&self, code: u32) -> u32 {
        match leaf(code) {
            None => self.node + code,
            Some((first, count)) => LEAF | (count - 1) << COUNT_SHIFT | (self.leaves)(first),
        }
    }
}

fn pack(node: &Node, at: &Bases<'_>) -> PackedNode {
    let used: Vec<usize> = (0..8).filter(|slot| node.occupied >> slot & 1 == 1).collect();
    let bound = |axis: usize, slot: usize| {
        let (middle, half) = (f64::from(node.middle[axis][slot]), f64::from(node.half[axis][slot]));
        [middle - half, middle + half]
    };
    let mut packed = PackedNode::zeroed();
    let mut steps = [0.0; 3];
    for (axis, step) in steps.iter_mut().enumerate() {
        let low = used.iter().map(|&slot| bound(axis, slot)[0]).fold(f64::INFINITY, f64::min);
        let high = used.iter().map(|&slot| bound(axis, slot)[1]).fold(f64::NEG_INFINITY, f64::max);
        packed.low[axis] = (low as f32).next_down();
        let size = high - f64::from(packed.low[axis]);
        // Exponent of the step size: the least power of two with which 255 steps cover the size, or twice this power.
        let exponent = ((size / 255.0).to_bits() >> 52 & 0x7ff) as i32 - 1023 + 1;
        let exponent = exponent.clamp(-100, 100);
        packed.exponents[axis] = (exponent + 127) as u8;
        *step = f64::from(f32::from_bits(((exponent + 127) as u32) << 23));
    }
    for (slot, child) in places(node, &used).into_iter().enumerate() {
        let Some(child) = child else { continue };
        packed.occupied |= 1 << slot;
        packed.codes[slot] = at.code(node.children[child]);
        for (axis, step) in steps.iter().enumerate() {
            let [low, high] = bound(axis, child).map(|c| (c - f64::from(packed.low[axis])) / step);
            packed.bounds[0][axis][slot] = low.floor() as u8;
            packed.bounds[1][axis][slot] = high.ceil() as u8;
        }
    }
    packed
}

/// Assigns the children to slots; `None` for an empty slot. A slot prefers children beyond the middle along the axes of
/// its set bits: 4 for x, 2 for y, 1 for z (Ylitie, Karras and Laine, HPG 2017).
fn places(node: &Node, used: &[usize]) -> [Option<usize>; 8] {
    let mean = |axis: usize| {
        used.iter().map(|&slot| node.middle[axis][slot]).sum::<f32>() / used.len() as f32
    };
    let middle: [f32; 3] = std::array::from_fn(mean);
    let mut pairs = Vec::with_capacity(64);
    for slot in 0..8usize {
        for &child in used {
            let cost = |axis: usize| {
                let beyond = node.middle[axis][child] - middle[axis];
                if slot & (4 >> axis) == 0 { beyond } else { -beyond }
            };
            pairs.push((cost(0) + cost(1) + cost(2), slot, child));
        }
    }
    pairs.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    let mut places = [None; 8];
    let mut is_placed = 0u32;
    for (_, slot, child) in pairs {
        if places[slot].is_none() && is_placed >> child & 1 == 0 {
            places[slot] = Some(child);
            is_placed |= 1 << child;
        }
    }
    places
}
