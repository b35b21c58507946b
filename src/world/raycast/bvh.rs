//! The tracer: neighbouring pulses walk an eight-wide two-level tree together.
//!
//! The rays of a pulse share an origin and lie within milliradians, and so do the next pulses of
//! the same laser: they visit almost the same nodes. [`super::bundle`] holds such rays,
//! [`super::walk`] takes them through the trees, [`super::surface`] tells what they met.
//!
//! `multiversion` picks the AVX2 build at run time where there is one. No build contracts
//! multiply and add, so all give the same bits.

use std::sync::Arc;

use glam::{DMat3, DVec3, Mat3, Vec3};
use multiversion::multiversion;

use super::bundle::{Bundle, Spot};
use super::tree::{Bounded, MAX_PRIMITIVES, Node, Tree};
use super::walk::{Workbench, walk};
use super::{Hit, Pulse, RayCaster, Stencil, surface};
use crate::world::scene::{Instance, Mesh, Scene};

/// Triangles of a leaf, tested side by side.
const TRIANGLES_PER_LEAF: u32 = 8;

/// Casts pulses through a scene with a two-level tree.
pub struct BvhCaster {
    pub(super) scene: Arc<Scene>,
    pub(super) meshes: Vec<MeshTree>,
    pub(super) top: Tree,
    /// In the order of the top tree's leaves.
    pub(super) placed: Vec<Placed>,
    /// Largest coordinate; scales the slack of culling.
    pub(super) extent: f32,
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

/// The tree of one mesh.
pub(super) struct MeshTree {
    pub nodes: Vec<Node>,
    /// One for each leaf. A triangle's slot is `8 * block + place`.
    pub blocks: Vec<TriangleBlock>,
    /// Largest coordinate; scales the slack of culling.
    pub extent: f32,
    /// Whether a surface of it may let rays through.
    pub masked: bool,
}

/// A leaf's triangles side by side; places beyond its count are zero.
#[derive(Clone)]
#[repr(align(64))]
pub(super) struct TriangleBlock {
    /// By corner, axis and triangle.
    pub corners: [[[f32; 8]; 3]; 3],
    /// The triangles' indices in the mesh.
    index: [u32; 8],
}

/// An instance.
pub(super) struct Placed {
    pub instance: u32,
    pub mesh: u32,
    origin: DVec3,
    mesh_from_world_f64: DMat3,
    pub mesh_from_world: Mat3,
    pub world_from_mesh: Mat3,
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
        let extent = boxes.iter().flat_map(|b| b.low.into_iter().chain(b.high));
        let extent = extent.fold(0.0f32, |most, c| most.max(c.abs()));
        let top = Tree::build(&boxes, 1);
        let placed =
            top.order.iter().map(|&index| Placed::new(index, &instances[index as usize])).collect();
        Ok(Self { scene, meshes, top, placed, extent })
    }

    /// The scene that was built.
    pub fn scene(&self) -> &Arc<Scene> {
        &self.scene
    }

    /// Bytes held by trees and packed triangles, the scene itself aside.
    pub fn memory_bytes(&self) -> usize {
        let of_mesh =
            |m: &MeshTree| size_of_val(m.nodes.as_slice()) + size_of_val(m.blocks.as_slice());
        self.meshes.iter().map(of_mesh).sum::<usize>()
            + size_of_val(self.top.nodes.as_slice())
            + size_of_val(self.placed.as_slice())
    }
}

impl RayCaster for BvhCaster {
    fn cast(&self, stencil: &Stencil, pulses: &[Pulse], hits: &mut [Hit]) {
        assert_eq!(hits.len(), pulses.len() * stencil.len(), "one hit for every ray");
        cast(self, stencil, pulses, hits);
    }
}

#[multiversion(targets("x86_64+avx2+fma"))]
fn cast(caster: &BvhCaster, stencil: &Stencil, pulses: &[Pulse], hits: &mut [Hit]) {
    cast_bundles(caster, stencil, pulses, hits);
}

#[inline(always)]
fn cast_bundles(caster: &BvhCaster, stencil: &Stencil, mut pulses: &[Pulse], mut hits: &mut [Hit]) {
    let spot = Spot::new(stencil);
    let mut bench = Workbench::new();
    let mut bundle = Bundle::new();
    while !pulses.is_empty() {
        let taken = spot.bundle_len(pulses);
        let (together, others) = pulses.split_at(taken);
        let (found, open) = hits.split_at_mut(taken * stencil.len());
        bundle.aim(&spot, together);
        walk(caster, &mut bundle, &mut bench);
        surface::report(caster, &bundle, found);
        (pulses, hits) = (others, open);
    }
}

impl MeshTree {
    const EMPTY: Self = Self { nodes: Vec::new(), blocks: Vec::new(), extent: 0.0, masked: false };

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
        let mut tree = Tree::build(&boxes, TRIANGLES_PER_LEAF);
        drop(boxes);
        let runs = tree.number_leaves();
        let block = |(first, count): (u32, u32)| {
            let mut block = TriangleBlock { corners: [[[0.0; 8]; 3]; 3], index: [0; 8] };
            for (place, &index) in tree.order[first as usize..][..count as usize].iter().enumerate()
            {
                block.index[place] = index;
                for (corner, point) in corners(index as usize).into_iter().enumerate() {
                    for (axis, value) in point.into_iter().enumerate() {
                        block.corners[corner][axis][place] = value;
                    }
                }
            }
            block
        };
        let blocks = runs.into_iter().map(block).collect();
        let extent = mesh.positions.iter().flatten().fold(0.0f32, |m, c| m.max(c.abs()));
        let masked = !mesh.uvs.is_empty()
            && mesh
                .triangle_materials
                .iter()
                .any(|&m| scene.materials[m as usize].opacity_mask.is_some());
        Ok(Self { nodes: tree.nodes, blocks, extent, masked })
    }

    /// The index in the mesh of the triangle in `slot`.
    #[inline(always)]
    pub fn triangle(&self, slot: u32) -> u32 {
        self.blocks[slot as usize / 8].index[slot as usize % 8]
    }

    /// The corners of the triangle in `slot`, in the mesh's frame.
    #[inline(always)]
    pub fn corners(&self, slot: u32) -> [Vec3; 3] {
        let (block, place) = (&self.blocks[slot as usize / 8].corners, slot as usize % 8);
        let corner =
            |k: usize| Vec3::new(block[k][0][place], block[k][1][place], block[k][2][place]);
        [corner(0), corner(1), corner(2)]
    }
}

impl Placed {
    fn new(index: u32, instance: &Instance) -> Self {
        let mesh_from_world = instance.world_from_mesh.matrix3.inverse();
        Self {
            instance: index,
            mesh: instance.mesh,
            origin: instance.world_from_mesh.translation,
            mesh_from_world_f64: mesh_from_world,
            mesh_from_world: mesh_from_world.as_mat3(),
            world_from_mesh: instance.world_from_mesh.matrix3.as_mat3(),
        }
    }

    /// A point of World, in the mesh's frame.
    #[inline(always)]
    pub fn to_mesh(&self, p: DVec3) -> DVec3 {
        self.mesh_from_world_f64 * (p - self.origin)
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
