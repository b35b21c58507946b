//! A scene: meshes with materials, placed by instances.
//!
//! Memory grows with the sum of meshes and instances, never with their product. A clump of grass that is placed a
//! million times is one mesh. Loaders are in [`super::loaders`], built-in scenes in [`super::builtin`].

use std::fmt;

use glam::{DAffine3, DVec3};

use super::colours::{ColourMap, Rgb};

/// Index of a material in [`Scene::materials`].
pub type MaterialId = u32;

/// All surfaces that sensors can detect, and the ground on which a robot drives.
#[derive(Clone, Debug, Default)]
pub struct Scene {
    /// Meshes; each is stored once, however many instances it has.
    pub meshes: Vec<Mesh>,
    /// All materials, by [`MaterialId`].
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
    /// Name for messages: the name of the file, or of the part of a built-in scene.
    pub name: String,
    /// Label from the scene's files; without one, the mesh's name is used.
    pub label: Option<String>,
    /// Vertices in the mesh's frame, metres.
    pub positions: Vec<[f32; 3]>,
    /// Texture coordinates, one per vertex, or empty. `u` runs right, `v` runs up from the image's bottom edge; the
    /// image repeats outside 0..=1.
    pub uvs: Vec<[f32; 2]>,
    /// Vertex indices of each triangle. Triangles are visible from both sides.
    pub triangles: Vec<[u32; 3]>,
    /// Material of each triangle.
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

/// Optical properties of a surface: reflection of laser light, and colour.
#[derive(Clone, Debug)]
pub struct Material {
    /// Name in the material file.
    pub name: String,
    /// Diffuse (Lambertian) reflectance at the laser's wavelength, 0..=1. Glass has the reflectance of the dirt on
    /// the pane; clear water has 0.
    pub reflectance: f32,
    /// Additional optical behaviour.
    pub finish: Finish,
    /// Factor of `reflectance`; the nearest texel is used.
    pub reflectance_map: Option<Texture>,
    /// Opacity; a ray passes through texels with a value of 0.5 or less.
    pub opacity_mask: Option<Texture>,
    /// Diffuse albedo in daylight, linear sRGB; `None` if only the material's name indicates a colour.
    pub colour: Option<Rgb>,
    /// Factor of `colour`; only for cameras.
    pub colour_map: Option<ColourMap>,
}

/// Reflection and transmission in addition to diffuse scattering. `sensors/surfaces` has the equations.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Finish {
    /// No finish: a diffuse (Lambertian) surface.
    #[default]
    Matt,
    /// Retroreflective: sheeting of signs, licence plates, safety vests.
    Retro {
        /// Reflection at normal incidence relative to a white diffuser: pi times the coefficient of retroreflection
        /// in cd/lx/m².
        gain: f32,
    },
    /// Glossy: lacquer, plastic, smooth metal.
    Glossy {
        /// Height of the highlight at normal incidence, relative to the reflection of a white diffuser.
        peak: f32,
        /// Exponent of the highlight's decrease with the angle from the direction of specular reflection. A larger
        /// exponent gives a narrower highlight.
        exponent: f32,
    },
    /// Specular: a mirror.
    Mirror {
        /// Share of the light that is reflected specularly, 0..=1.
        share: f32,
    },
    /// Transparent: a window. Its diffuse reflectance is that of the dirt.
    Glass {
        /// Refractive index.
        index: f32,
        /// Share of the light that passes through the glass itself, without reflection at its faces, 0..=1; 1 for clear
        /// glass.
        clear: f32,
        /// Number of glass faces that the surface represents: two for a pane, one if both sides are modelled.
        faces: u8,
    },
    /// Water: specular, with a visible bottom.
    Water {
        /// Bottom of the water; `None` if the water is too deep for it to be visible.
        bottom: Option<Bottom>,
    },
    /// Wet: water fills the roughness of the surface.
    Wet {
        /// Depth of the water as a share of the roughness's depth, 0..=1.
        film: f32,
    },
}

impl fmt::Display for Finish {
    /// Writes a description of the finish, which messages print after the material's name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Matt => f.write_str("diffuse"),
            Self::Retro { gain } => write!(f, "retro-reflecting, {gain} times white"),
            Self::Glossy { peak, exponent } => {
                write!(
                    f,
                    "glossy, up to {peak:.2} more than its diffuse part, exponent {exponent:.0}"
                )
            }
            Self::Mirror { share } => write!(f, "a mirror of {:.0} %", 100.0 * share),
            Self::Glass { clear: 1.0, faces: 2, .. } => f.write_str("a clear pane"),
            Self::Glass { clear, faces: 2, .. } => {
                write!(f, "a pane that transmits {:.0} %", 100.0 * clear)
            }
            Self::Glass { .. } => f.write_str("the face of a glass body"),
            Self::Water { bottom: None } => f.write_str("deep water"),
            Self::Water { bottom: Some(bottom) } => write!(f, "water, {} m deep", bottom.depth_m),
            Self::Wet { film } => {
                write!(f, "wet, its texture {:.0} % filled with water", 100.0 * film)
            }
        }
    }
}

/// The bottom of shallow water.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bottom {
    /// Depth below the surface, metres.
    pub depth_m: f32,
    /// Diffuse reflectance, 0..=1.
    pub reflectance: f32,
}

/// A one-channel image, values 0..=1.
#[derive(Clone, Debug)]
pub struct Texture {
    /// Pixels in a row.
    pub width: u32,
    /// Number of rows.
    pub height: u32,
    /// `width * height` values, row by row from the top left; 255 is 1.0. The values are shared, because many materials
    /// may use the same image.
    pub texels: std::sync::Arc<[u8]>,
}

impl Texture {
    /// Value of the texel nearest to `uv`, 0..=1; the image repeats outside 0..=1.
    pub fn sample(&self, uv: [f32; 2]) -> f32 {
        let wrap = |x: f32| x - x.floor();
        let column = ((wrap(uv[0]) * self.width as f32) as u32).min(self.width - 1);
        let row = (((1.0 - wrap(uv[1])) * self.height as f32) as u32).min(self.height - 1);
        f32::from(self.texels[(row * self.width + column) as usize]) / 255.0
    }
}

impl Scene {
    /// Whether any material of the scene does more than scatter light diffusely.
    pub fn has_finishes(&self) -> bool {
        self.materials.iter().any(|material| material.finish != Finish::Matt)
    }

    /// Visible materials with a finish other than diffuse, each name once, sorted by name.
    pub fn finished_materials(&self) -> Vec<&Material> {
        let mut is_used = vec![false; self.materials.len()];
        let mut is_seen = vec![false; self.meshes.len()];
        for instance in &self.instances {
            if !std::mem::replace(&mut is_seen[instance.mesh as usize], true) {
                let mesh = &self.meshes[instance.mesh as usize];
                mesh.triangle_materials.iter().for_each(|&id| is_used[id as usize] = true);
            }
        }
        let used = self.materials.iter().zip(is_used).filter(|(_, is_used)| *is_used);
        let mut finished: Vec<&Material> =
            used.map(|(material, _)| material).filter(|m| m.finish != Finish::Matt).collect();
        finished.sort_by(|a, b| a.name.cmp(&b.name));
        finished.dedup_by(|a, b| a.name == b.name);
        finished
    }

    /// Number of visible triangles, counting every instance.
    pub fn instanced_triangles(&self) -> u64 {
        self.instances.iter().map(|i| self.meshes[i.mesh as usize].triangles.len() as u64).sum()
    }

    /// Lowest and highest corner of the box around all visible surfaces, World, metres. For a rotated instance, the
    /// box around its mesh's box is used. Without surfaces, the lowest corner is +infinity and the highest -infinity.
    pub fn extents(&self) -> [DVec3; 2] {
        self.extents_of(&self.instances)
    }

    /// Lowest and highest corner of the box around the ground, World, metres; see [`Scene::extents`].
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

    /// Number of triangles in memory; each mesh counts once.
    pub fn stored_triangles(&self) -> u64 {
        self.meshes.iter().map(|m| m.triangles.len() as u64).sum()
    }
}

impl Instance {
    /// Lowest and highest corner of the box in World around the mesh's box `[low, high]`, metres.
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
    /// Lowest and highest corner of the mesh's bounding box, in the mesh's frame, metres.
    pub fn bounds(&self) -> [DVec3; 2] {
        let points = self.positions.iter().map(|p| DVec3::from(p.map(f64::from)));
        points.fold([DVec3::INFINITY, DVec3::NEG_INFINITY], |[low, high], p| {
            [low.min(p), high.max(p)]
        })
    }

    /// The three corners of triangle `index`, in the mesh's frame, metres.
    pub fn corners(&self, index: u32) -> [DVec3; 3] {
        self.triangles[index as usize].map(|vertex| {
            let [x, y, z] = self.positions[vertex as usize];
            DVec3::new(f64::from(x), f64::from(y), f64::from(z))
        })
    }
}
