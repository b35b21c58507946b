//! The trees that [`super::cast`] traverses: an eight-wide tree for each mesh, and one over the instances.

use std::sync::Arc;

use glam::{DAffine3, DMat3, DVec3, Mat3, Vec3};
use rayon::iter::{
    IndexedParallelIterator, IntoParallelIterator, IntoParallelRefIterator, ParallelIterator,
};

use super::boxes::Bounds;
use super::hit::Pose;
use super::memory;
use super::shadow::Frame;
use super::top::{self, Part};
use super::tree::{MAX_PRIMITIVES, Node, Tree, leaf};
use crate::world::scene::{Instance, MaterialId, Mesh, Scene};

/// Largest number of triangles in a leaf; they are tested in one vector.
const TRIANGLES_PER_LEAF: u32 = 8;

/// A triangle's depths are computed in `f64` if one of its coordinates in the bundle's frame exceeds this limit,
/// metres, and its mesh also extends beyond the limit. At the limit, the error of `f32` would be a tenth of a
/// millimetre; on a plane 200 km wide it would be ten metres.
pub(super) const VAST_M: f32 = 500.0;

/// Casts pulses through a scene with a two-level tree.
pub struct BvhCaster {
    pub(super) scene: Arc<Scene>,
    pub(super) meshes: Vec<MeshTree>,
    pub(super) top: Tree,
    /// Subtrees to which the leaves of the top tree refer.
    pub(super) entrances: Vec<Entrance>,
    /// Instances, in the order in which the top tree's leaves first refer to them.
    pub(super) placed: Vec<Placed>,
    /// Orientation of the World frame; its `extent` is that of the scene.
    pub(super) frame: Frame,
    /// Whether the trees fit into the processor's caches, so that a traversal rarely waits for memory.
    pub(super) is_small: bool,
}

/// Size up to which trees are small, bytes: the size of a third-level cache.
const SMALL_BYTES: usize = 32 << 20;

/// A subtree of an instance, to which a leaf of the top tree refers.
#[derive(Clone, Copy)]
pub(super) struct Entrance {
    /// Index into [`BvhCaster::placed`].
    pub place: u32,
    /// Code of the subtree in the mesh's tree.
    pub code: u32,
}

/// Number of parts that dividing the instances may add even in a scene with fewer instances. With more instances, it
/// may add as many parts as there are instances, up to [`MOST_PARTS`].
const LEAST_PARTS: usize = 1_000;
/// Largest number of parts that dividing the instances may add. A million copies that overlap gain nothing from twice
/// as many parts, and take seconds longer to build.
const MOST_PARTS: usize = 100_000;

/// Number of triangles above which a mesh is large. Trees of large meshes are built one after the other.
const LARGE_MESH: usize = 1 << 19;

/// Reason why no tree can be built for a scene.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// More triangles in one mesh, or more instances, than a tree can address.
    #[error("{what} has {count} {of}; allowed: at most {MAX_PRIMITIVES}")]
    TooMany {
        /// Name of the mesh, or `the scene`.
        what: String,
        /// Number of items.
        count: usize,
        /// `triangles` or `instances`.
        of: &'static str,
    },
}

/// The tree of one mesh.
pub(super) struct MeshTree {
    pub nodes: Vec<Node>,
    /// One block for each leaf. The slot of a triangle is `8 * block + place`.
    pub blocks: Vec<TriangleBlock>,
    /// The first materials of the mesh, up to [`PALETTE`].
    palette: Vec<MaterialId>,
    /// Largest absolute coordinate, metres. It scales the margin of culling.
    pub extent: f32,
    /// Whether the mesh has texture coordinates and any of its materials has an opacity mask.
    pub masked: bool,
}

/// The triangles of a leaf as a structure of arrays; unused places are zero.
#[derive(Clone)]
#[repr(align(64))]
pub(super) struct TriangleBlock {
    /// Coordinates, by corner, axis and triangle.
    pub corners: [[[f32; 8]; 3]; 3],
    /// Index of each triangle in the mesh. The upper bits are the index of its material in [`MeshTree::palette`],
    /// which saves a memory access to the scene.
    index: [u32; 8],
}

/// Number of bits of a triangle's index. The other bits of [`TriangleBlock::index`] are the material's.
const INDEX_BITS: u32 = 28;
/// Largest number of materials in a palette. A palette index of this value means that the material is not in the
/// palette.
const PALETTE: usize = (1 << (32 - INDEX_BITS)) - 1;
const _: () = assert!(MAX_PRIMITIVES < 1 << INDEX_BITS);

/// An instance prepared for traversal.
pub(super) struct Placed {
    pub instance: u32,
    pub mesh: u32,
    pub pose: Pose,
    /// Orientation of the mesh's frame; its `extent` is that of the mesh.
    pub frame: Frame,
    /// Whether the mesh, as scaled in World, extends beyond [`VAST_M`] from the mesh's origin.
    pub is_vast: bool,
}

impl BvhCaster {
    /// Builds the trees of all meshes that an instance uses, and the tree over the instances.
    pub fn new(scene: Arc<Scene>) -> Result<Self, BuildError> {
        let mut is_used = vec![false; scene.meshes.len()];
        for instance in &scene.instances {
            is_used[instance.mesh as usize] = true;
        }
        let meshes = MeshTree::all(&scene, &is_used)?;
        let instances = &scene.instances;
        let most = instances.len() + instances.len().clamp(LEAST_PARTS, MOST_PARTS);
        if most > MAX_PRIMITIVES {
            return Err(BuildError::TooMany {
                what: "the scene".into(),
                count: instances.len(),
                of: "instances",
            });
        }
        let bounds = |part: Part| {
            let instance = &instances[part.instance as usize];
            bounds_of(&meshes[instance.mesh as usize], part.code, &instance.world_from_mesh)
        };
        let boxes: Vec<(Bounds, Part)> = (0..instances.len() as u32)
            .into_par_iter()
            .filter(|&i| !meshes[instances[i as usize].mesh as usize].nodes.is_empty())
            .map(|instance| Part { instance, code: 0 })
            .map(|part| (bounds(part), part))
            .collect();
        let extent = boxes.iter().flat_map(|(b, _)| b.low.into_iter().chain(b.high));
        let extent = extent.fold(0.0f32, |most, c| most.max(c.abs()));
        let open = |part: Part, into: &mut Vec<(Bounds, Part)>| {
            let mesh = &meshes[instances[part.instance as usize].mesh as usize];
            if leaf(part.code).is_some() || mesh.nodes.is_empty() {
                return;
            }
            let node = &mesh.nodes[part.code as usize];
            for slot in (0..8).filter(|slot| node.occupied >> slot & 1 == 1) {
                let part = Part { code: node.children[slot], ..part };
                into.push((bounds(part), part));
            }
        };
        let (top, parts) = top::build(boxes, most, &open);
        let mut placed = Vec::with_capacity(instances.len());
        let mut places = vec![u32::MAX; instances.len()];
        let mut entrances = Vec::with_capacity(parts.len());
        for Part { instance, code } in parts {
            let place = &mut places[instance as usize];
            if *place == u32::MAX {
                *place = placed.len() as u32;
                placed.push(Placed::new(instance, &instances[instance as usize], &meshes));
            }
            entrances.push(Entrance { place: *place, code });
        }
        let frame =
            Frame { to_world: Mat3::IDENTITY, from_world: Mat3::IDENTITY, extent, distortion: 1.0 };
        let mut caster = Self { scene, meshes, top, entrances, placed, frame, is_small: false };
        caster.is_small = caster.memory_bytes() <= SMALL_BYTES;
        Ok(caster)
    }

    /// The scene of the trees.
    pub fn scene(&self) -> &Arc<Scene> {
        &self.scene
    }

    /// Size of trees and packed triangles without the scene itself, bytes.
    pub fn memory_bytes(&self) -> usize {
        let of_mesh =
            |m: &MeshTree| size_of_val(m.nodes.as_slice()) + size_of_val(m.blocks.as_slice());
        self.meshes.iter().map(of_mesh).sum::<usize>()
            + size_of_val(self.top.nodes.as_slice())
            + size_of_val(self.entrances.as_slice())
            + size_of_val(self.placed.as_slice())
    }
}

impl MeshTree {
    const EMPTY: Self = Self {
        nodes: Vec::new(),
        blocks: Vec::new(),
        palette: Vec::new(),
        extent: 0.0,
        masked: false,
    };

    /// The trees of all meshes in use. Trees of large meshes are built one after the other to limit memory, trees of
    /// others in parallel.
    fn all(scene: &Scene, is_used: &[bool]) -> Result<Vec<Self>, BuildError> {
        let used = || (0..scene.meshes.len()).filter(|&index| is_used[index]);
        for mesh in used().map(|index| &scene.meshes[index]) {
            if mesh.triangles.len() > MAX_PRIMITIVES {
                return Err(BuildError::TooMany {
                    what: format!("mesh {}", mesh.name),
                    count: mesh.triangles.len(),
                    of: "triangles",
                });
            }
        }
        let is_large = |&index: &usize| scene.meshes[index].triangles.len() > LARGE_MESH;
        let (large, small): (Vec<usize>, Vec<usize>) = used().partition(is_large);
        let build = |index| (index, Self::new(&scene.meshes[index], scene));
        let (large, small): (Vec<_>, Vec<_>) = rayon::join(
            || large.into_iter().map(build).collect(),
            || small.into_par_iter().map(build).collect(),
        );
        let mut meshes: Vec<Self> = scene.meshes.iter().map(|_| Self::EMPTY).collect();
        for (index, tree) in large.into_iter().chain(small) {
            meshes[index] = tree;
        }
        Ok(meshes)
    }

    fn new(mesh: &Mesh, scene: &Scene) -> Self {
        let corners = |index: usize| mesh.triangles[index].map(|v| mesh.positions[v as usize]);
        let bounds = |index: u32| {
            let [a, b, c] = corners(index as usize);
            Bounds {
                low: std::array::from_fn(|k| a[k].min(b[k]).min(c[k])),
                high: std::array::from_fn(|k| a[k].max(b[k]).max(c[k])),
            }
        };
        let around = around(&mesh.positions);
        let mut tree = Tree::build(mesh.triangles.len(), &around, &bounds, TRIANGLES_PER_LEAF);
        let runs = tree.number_leaves();
        let mut palette: Vec<MaterialId> = Vec::new();
        for &material in &mesh.triangle_materials {
            if palette.len() < PALETTE && !palette.contains(&material) {
                palette.push(material);
            }
        }
        let block = |(first, count): (u32, u32)| {
            let mut block = TriangleBlock { corners: [[[0.0; 8]; 3]; 3], index: [0; 8] };
            for (place, &index) in tree.order[first as usize..][..count as usize].iter().enumerate()
            {
                let material = mesh.triangle_materials[index as usize];
                let of_palette = palette.iter().position(|&known| known == material);
                block.index[place] = index | (of_palette.unwrap_or(PALETTE) as u32) << INDEX_BITS;
                for (corner, point) in corners(index as usize).into_iter().enumerate() {
                    for (axis, value) in point.into_iter().enumerate() {
                        block.corners[corner][axis][place] = value;
                    }
                }
            }
            block
        };
        let mut blocks = memory::huge(runs.len());
        runs.into_par_iter().map(block).collect_into_vec(&mut blocks);
        let nodes = std::mem::take(&mut tree.nodes);
        let axes = (0..3).filter(|&axis| around.low[axis] <= around.high[axis]);
        let extent = axes
            .flat_map(|axis| [around.low[axis], around.high[axis]])
            .fold(0.0f32, |most, c| most.max(c.abs()));
        let masked = !mesh.uvs.is_empty()
            && mesh
                .triangle_materials
                .iter()
                .any(|&m| scene.materials[m as usize].opacity_mask.is_some());
        Self { nodes, blocks, palette, extent, masked }
    }

    /// Index in the mesh of the triangle in `slot`.
    #[inline(always)]
    pub fn triangle(&self, slot: u32) -> u32 {
        self.blocks[slot as usize / 8].index[slot as usize % 8] & ((1 << INDEX_BITS) - 1)
    }

    /// Material of the triangle in `slot`. `mesh` must be the mesh of this tree.
    #[inline(always)]
    pub fn material(&self, slot: u32, mesh: &Mesh) -> MaterialId {
        let place = self.blocks[slot as usize / 8].index[slot as usize % 8] >> INDEX_BITS;
        match self.palette.get(place as usize) {
            Some(&material) => material,
            None => mesh.triangle_materials[self.triangle(slot) as usize],
        }
    }

    /// The corners of the triangle in `slot`, in the mesh's frame.
    #[inline(always)]
    pub fn corners(&self, slot: u32) -> [Vec3; 3] {
        let ([a, b, c], place) = (&self.blocks[slot as usize / 8].corners, slot as usize % 8);
        [
            Vec3::new(a[0][place], a[1][place], a[2][place]),
            Vec3::new(b[0][place], b[1][place], b[2][place]),
            Vec3::new(c[0][place], c[1][place], c[2][place]),
        ]
    }
}

impl Placed {
    fn new(index: u32, instance: &Instance, meshes: &[MeshTree]) -> Self {
        let turn = &instance.world_from_mesh.matrix3;
        let pose = Pose::new(&instance.world_from_mesh);
        let stretch = turn.x_axis.length().max(turn.y_axis.length()).max(turn.z_axis.length());
        let extent = meshes[instance.mesh as usize].extent;
        Self {
            instance: index,
            mesh: instance.mesh,
            pose,
            frame: Frame {
                to_world: turn.as_mat3(),
                from_world: pose.mesh_from_world.as_mat3(),
                extent,
                distortion: most_stretch(turn) * most_stretch(&pose.mesh_from_world.transpose()),
            },
            is_vast: f64::from(extent) * stretch > f64::from(VAST_M),
        }
    }

    /// Transforms a point from World to the mesh's frame.
    #[inline(always)]
    pub fn to_mesh(&self, p: DVec3) -> DVec3 {
        self.pose.mesh_from_world * (p - self.pose.place)
    }
}

/// Upper bound of the factor by which `turn` lengthens a vector; exact if its columns are perpendicular.
fn most_stretch(turn: &DMat3) -> f32 {
    let squares = turn.transpose() * *turn;
    let sum = |row: DVec3| row.abs().element_sum();
    sum(squares.x_axis).max(sum(squares.y_axis)).max(sum(squares.z_axis)).sqrt() as f32
}

/// Bounding box of `points`.
fn around(points: &[[f32; 3]]) -> Bounds {
    let union = |mut a: Bounds, b: Bounds| {
        a.include(&b);
        a
    };
    let boxes = points.par_iter().map(|&point| Bounds { low: point, high: point });
    boxes.reduce(|| Bounds::NOTHING, union)
}

/// Bounding box, in World, of the subtree `code` of `mesh`, rounded outward. It is computed from the boxes two levels
/// below, and from the triangles of leaves above that level.
fn bounds_of(mesh: &MeshTree, code: u32, world_from_mesh: &DAffine3) -> Bounds {
    let mut reach =
        Reach { mesh, world_from_mesh, low: DVec3::INFINITY, high: DVec3::NEG_INFINITY };
    if mesh.nodes.is_empty() {
        return Bounds::NOTHING;
    }
    reach.below(code, 2);
    let Reach { low, high, .. } = reach;
    Bounds {
        low: low.to_array().map(|c| (c as f32).next_down()),
        high: high.to_array().map(|c| (c as f32).next_up()),
    }
}

struct Reach<'a> {
    mesh: &'a MeshTree,
    world_from_mesh: &'a DAffine3,
    low: DVec3,
    high: DVec3,
}

impl Reach<'_> {
    /// Extends the bounds by the boxes `levels` levels below the subtree `code`, and by the triangles of leaves above
    /// that level.
    fn below(&mut self, code: u32, levels: u32) {
        if let Some((block, count)) = leaf(code) {
            for place in 0..count {
                for corner in self.mesh.corners(8 * block + place) {
                    let p = self.world_from_mesh.transform_point3(corner.as_dvec3());
                    (self.low, self.high) = (self.low.min(p), self.high.max(p));
                }
            }
            return;
        }
        let node = &self.mesh.nodes[code as usize];
        let turn = &self.world_from_mesh.matrix3;
        let (x, y, z) = (turn.x_axis.abs(), turn.y_axis.abs(), turn.z_axis.abs());
        for slot in (0..8).filter(|slot| node.occupied >> slot & 1 == 1) {
            if levels > 1 {
                self.below(node.children[slot], levels - 1);
                continue;
            }
            let [middle, half] = [&node.middle, &node.half]
                .map(|axes| DVec3::from_array(std::array::from_fn(|axis| axes[axis][slot].into())));
            let middle = self.world_from_mesh.transform_point3(middle);
            let half = x * half.x + y * half.y + z * half.z;
            self.low = self.low.min(middle - half);
            self.high = self.high.max(middle + half);
        }
    }
}
