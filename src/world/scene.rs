//! A scene: meshes with materials, placed by instances.
//!
//! Memory grows with the sum of meshes and instances, never with their product: a clump of grass
//! that is placed a million times is one mesh. Loaders are in [`super::loaders`], built-in scenes in
//! [`super::builtin`].

use glam::{DAffine3, DVec3};

/// Index of a material in [`Scene::materials`].
pub type MaterialId = u32;

/// Everything a lidar can see, and the ground a robot stands on.
#[derive(Clone, Debug, Default)]
pub struct Scene {
    /// Each mesh once, however many instances it has.
    pub meshes: Vec<Mesh>,
    /// Indexed by [`MaterialId`].
    pub materials: Vec<Material>,
    /// The visible instances.
    pub instances: Vec<Instance>,
    /// The instances that a robot drives on; height queries return the highest surface. They need not
    /// be visible (`Surface Mesh` of MAVS is not).
    pub ground: Vec<Instance>,
}

/// A triangle mesh in its own frame, metres.
#[derive(Clone, Debug, Default)]
pub struct Mesh {
    /// A file name or a part of a built-in scene, for messages.
    pub name: String,
    /// Vertices in the mesh's frame, metres.
    pub positions: Vec<[f32; 3]>,
    /// Texture coordinates, one per vertex, or empty. `u` runs right, `v` runs up from the
    /// image's bottom edge; they repeat.
    pub uvs: Vec<[f32; 2]>,
    /// Vertex indices of each triangle. Triangles are visible from both sides.
    pub triangles: Vec<[u32; 3]>,
    /// One entry for each triangle.
    pub triangle_materials: Vec<MaterialId>,
}

/// A copy of a mesh in the world.
#[derive(Clone, Copy, Debug)]
pub struct Instance {
    /// Index into [`Scene::meshes`].
    pub mesh: u32,
    /// Transforms mesh coordinates to World. Scale and shear are allowed, a zero determinant is not.
    pub world_from_mesh: DAffine3,
}

/// How a surface reflects a laser.
#[derive(Clone, Debug)]
pub struct Material {
    /// As in the material file.
    pub name: String,
    /// Diffuse (Lambertian) reflectance at the laser's wavelength, 0..=1.
    pub reflectance: f32,
    /// Multiplied with `reflectance`; nearest texel.
    pub reflectance_map: Option<Texture>,
    /// A ray passes through texels whose value is 0.5 or less.
    pub opacity_mask: Option<Texture>,
}

/// A one-channel image, values 0..=1.
#[derive(Clone, Debug)]
pub struct Texture {
    /// Pixels in a row.
    pub width: u32,
    /// Number of rows.
    pub height: u32,
    /// Row by row from the top left; `width * height` values, 255 is 1.0. Shared, as one image
    /// may serve many materials.
    pub texels: std::sync::Arc<[u8]>,
}

impl Texture {
    /// The nearest texel at `uv`, 0..=1; coordinates repeat.
    pub fn sample(&self, uv: [f32; 2]) -> f32 {
        let wrap = |x: f32| x - x.floor();
        let column = ((wrap(uv[0]) * self.width as f32) as u32).min(self.width - 1);
        let row = (((1.0 - wrap(uv[1])) * self.height as f32) as u32).min(self.height - 1);
        f32::from(self.texels[(row * self.width + column) as usize]) / 255.0
    }
}

impl Scene {
    /// Number of visible triangles, counting every instance.
    pub fn instanced_triangles(&self) -> u64 {
        self.instances.iter().map(|i| self.meshes[i.mesh as usize].triangles.len() as u64).sum()
    }

    /// Lowest and highest corner of the box around everything visible, World, metres; of a turned copy
    /// the box of its mesh's box. Infinities the wrong way round if there is nothing.
    pub fn extents(&self) -> [DVec3; 2] {
        self.extents_of(&self.instances)
    }

    /// The same of the ground.
    pub fn ground_extents(&self) -> [DVec3; 2] {
        self.extents_of(&self.ground)
    }

    fn extents_of(&self, instances: &[Instance]) -> [DVec3; 2] {
        let boxes: Vec<[DVec3; 2]> = self.meshes.iter().map(Mesh::bounds).collect();
        instances
            .iter()
            .map(|instance| instance.world_box(boxes[instance.mesh as usize]))
            .fold([DVec3::INFINITY, DVec3::NEG_INFINITY], |[low, high], [l, h]| {
                [low.min(l), high.max(h)]
            })
    }

    /// Number of triangles in memory, counting each mesh once.
    pub fn stored_triangles(&self) -> u64 {
        self.meshes.iter().map(|m| m.triangles.len() as u64).sum()
    }
}

impl Instance {
    /// The box around the box `[low, high]` of its mesh, in World.
    pub fn world_box(&self, [low, high]: [DVec3; 2]) -> [DVec3; 2] {
        (0..8)
            .map(|corner: u32| {
                let pick = |bit: u32, a: f64, b: f64| if corner & bit == 0 { a } else { b };
                let corner = DVec3::new(
                    pick(1, low.x, high.x),
                    pick(2, low.y, high.y),
                    pick(4, low.z, high.z),
                );
                self.world_from_mesh.transform_point3(corner)
            })
            .fold([DVec3::INFINITY, DVec3::NEG_INFINITY], |[low, high], corner| {
                [low.min(corner), high.max(corner)]
            })
    }
}

impl Mesh {
    /// Lowest and highest corner of the mesh's box, in its frame.
    pub fn bounds(&self) -> [DVec3; 2] {
        let points = self.positions.iter().map(|p| DVec3::from(p.map(f64::from)));
        points.fold([DVec3::INFINITY, DVec3::NEG_INFINITY], |[low, high], p| {
            [low.min(p), high.max(p)]
        })
    }

    /// The three corners of triangle `index`, in the mesh's frame.
    pub fn corners(&self, index: u32) -> [DVec3; 3] {
        self.triangles[index as usize].map(|vertex| {
            let [x, y, z] = self.positions[vertex as usize];
            DVec3::new(f64::from(x), f64::from(y), f64::from(z))
        })
    }
}
