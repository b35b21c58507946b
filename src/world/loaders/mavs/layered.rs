//! `Layered Surface`: the textured ground, from a mesh or a heightmap.

use std::path::Path;

use glam::{DAffine3, DVec2, DVec3};

use super::super::error::{Fault, Problem};
use super::super::json::{Document, Node, Object};
use super::super::mtl::find_spectrum;
use super::super::obj;
use super::super::resolve::named;
use super::super::texture::Channel;
use super::{Loader, trail};
use crate::world::materials;
use crate::world::scene::{Material, MaterialId, Mesh, Texture};

/// Material of the ground, and the size of its texture.
struct Look {
    material: Material,
    /// Side of the texture, metres.
    texture_size: f64,
}

impl Loader<'_> {
    /// Loads the surface; returns the trails on it, each as its points.
    pub(super) fn layered_surface(&mut self, node: &Node) -> Result<Vec<Vec<DVec2>>, Fault> {
        let surface = node.object()?;
        if let Some(potholes) = surface.get("Potholes") {
            tracing::debug!("{}: potholes change labels only", potholes.place());
        }
        let trails = match surface.get("Trail") {
            Some(trail) => self.trails(&trail)?,
            None => Vec::new(),
        };
        let look = match surface.get("Layers") {
            Some(layers) => {
                let path = self.roots.literal_or(&self.roots.meshes, &layers.string()?);
                let bytes = self.assembly.read(&path, &layers.place());
                bytes.and_then(|bytes| {
                    let look = self.layers(&bytes, &path);
                    self.assembly.keep(look)
                })
            }
            None => {
                let place = node.place();
                tracing::warn!("{place}: has no `Layers` and stays invisible, as in MAVS");
                None
            }
        };
        let texture_size = look.as_ref().map_or(1.0, |look| look.texture_size);
        let visible = look.is_some();
        let textured = look.as_ref().is_some_and(|look| {
            look.material.reflectance_map.is_some() || look.material.colour_map.is_some()
        });
        let material = match look {
            Some(look) => self.assembly.add_material(look.material),
            None => self.assembly.add_material(materials::by_name("ground")),
        };

        let heightmap = surface.get("Heightmap");
        let shape = match &heightmap {
            Some(heightmap) => self.heightmap(&heightmap.object()?, material)?,
            None => self.shape(&surface, material)?,
        };
        let Some(mut mesh) = shape else { return Ok(trails) };
        if textured {
            // The texture's rows run towards +y from its top edge; v runs up from its bottom edge.
            let uv = |&[x, y, _]: &[f32; 3]| {
                [x as f64 / texture_size, 1.0 - y as f64 / texture_size].map(|c| c as f32)
            };
            mesh.uvs = mesh.positions.iter().map(uv).collect();
        }
        let place = node.place();
        if let Some(mesh) = self.assembly.add_mesh(mesh, &place) {
            if visible {
                self.assembly.add_instance(mesh, DAffine3::IDENTITY, &place);
            }
            if heightmap.is_some() {
                self.assembly.add_ground(mesh, DAffine3::IDENTITY, &place);
            }
        }
        Ok(trails)
    }

    /// Reads the surface's mesh and multiplies its coordinates by `Scale`.
    fn shape(&mut self, surface: &Object, material: MaterialId) -> Result<Option<Mesh>, Fault> {
        let file = surface.need("Mesh", "the path of an .obj file, unless there is `Heightmap`")?;
        let path = self.roots.literal_or(&self.roots.meshes, &file.string()?);
        let scale: DVec3 = surface.or("Scale", [1.0; 3], Node::numbers)?.into();
        if scale.to_array().contains(&0.0) {
            let node = surface.get("Scale").unwrap_or(file);
            return Err(node.wrong("three factors, none of them zero"));
        }
        let Some(bytes) = self.assembly.read(&path, &file.place()) else { return Ok(None) };
        let mut mesh = obj::read_shape(&bytes, &path, material)?;
        for position in &mut mesh.positions {
            *position = (DVec3::from(position.map(f64::from)) * scale).as_vec3().to_array();
        }
        mesh.uvs = Vec::new();
        Ok(Some(mesh))
    }

    /// Reads a heightmap as a mesh with two triangles per cell.
    fn heightmap(&mut self, map: &Object, material: MaterialId) -> Result<Option<Mesh>, Fault> {
        let file = map.need("Map", "the path of an image")?;
        let path = self.roots.literal_or(&self.roots.meshes, &file.string()?);
        let resolution = map.or("Resolution", 1.0, Node::positive)?;
        let scale = map.or("Scale", 0.1, Node::number)?;
        let Some(grey) = self.assembly.texture(&path, Channel::First, &file.place()) else {
            return Ok(None);
        };
        if grey.width < 2 || grey.height < 2 {
            let expected = "an image of at least 2 x 2 pixels";
            let got = format!("{} x {}", grey.width, grey.height);
            return Err(file.fault(Problem::wrong(expected, got)));
        }
        Ok(Some(relief(&grey, resolution, scale, material, &path)))
    }

    /// Reads the ground's material from the undergrowth layer of the layer file, because this layer is visible beside
    /// the trail. A spectrum replaces the texture, as everywhere in MAVS.
    fn layers(&mut self, bytes: &[u8], file: &Path) -> Result<Look, Fault> {
        let document = Document::new(file, bytes)?;
        let layers = document.root()?.object()?;
        let expected = "an object with a texture and a material";
        // All layers are read, so that every missing file is reported.
        self.layer(&layers.need("Soil Layer", expected)?)?;
        self.layer(&layers.need("Grass Layer", expected)?)?;
        self.layer(&layers.need("Undergrowth Layer", expected)?)
    }

    fn layer(&mut self, node: &Node) -> Result<Look, Fault> {
        let layer = node.object()?;
        let file = layer.need("Texture File", "the name of an image")?;
        let folder = self.roots.meshes.join("surface_textures");
        let texture_size =
            layer.need("Texture Size", "metres that the texture covers")?.positive()?;
        let path = named(&folder, &file.string()?);
        let texture = self.assembly.texture(&path, Channel::First, &file.place());
        let mut material = materials::plain("ground", 1.0);
        material.colour_map = self.assembly.colour_map(&path);
        material.colour = material.colour_map.is_some().then_some([1.0; 3]);
        let spectrum = match layer.get("Material") {
            Some(node) => node.object()?.get("Spectrum File"),
            None => None,
        };
        match spectrum {
            Some(node) => {
                let root = self.roots.spectra();
                let name = node.string()?;
                let path = find_spectrum(self.assembly.resolver, &name, Some(&root), &root);
                match self.assembly.spectrum(&path, &node.place()) {
                    Some(spectral) => material.reflectance = spectral.reflectance,
                    None => material.reflectance_map = texture,
                }
            }
            None => material.reflectance_map = texture,
        }
        Ok(Look { material, texture_size })
    }

    /// Paths of the trail; none if its width is zero, which disables it.
    fn trails(&mut self, node: &Node) -> Result<Vec<Vec<DVec2>>, Fault> {
        let trail = node.object()?;
        if trail.or("Trail Width", 1.0, Node::number)? == 0.0 {
            return Ok(Vec::new());
        }
        let place = node.place();
        tracing::info!("{place}: the trail keeps plants off but does not change the texture");
        let paths = trail.need("Path", "the path of a .vprp file, or an array of them")?;
        let files = if paths.string().is_ok() { vec![paths] } else { paths.array()? };
        let mut trails = Vec::new();
        for file in files {
            let path = self.roots.literal_or(&self.roots.data, &file.string()?);
            if let Some(bytes) = self.assembly.read(&path, &file.place()) {
                let points = trail::parse(&bytes, &path);
                trails.extend(self.assembly.keep(points));
            }
        }
        Ok(trails)
    }
}

/// Makes the mesh of a heightmap. Pixel (i, j) from the top left becomes the vertex at ((i - nx/2), (j - ny/2)) times
/// `resolution`, with the height (grey - 128) times `scale`.
fn relief(grey: &Texture, resolution: f64, scale: f64, material: MaterialId, path: &Path) -> Mesh {
    let (nx, ny) = (grey.width, grey.height);
    let positions = (0..ny)
        .flat_map(|j| (0..nx).map(move |i| (i, j)))
        .zip(grey.texels.iter())
        .map(|((i, j), &level)| {
            let x = (f64::from(i) - f64::from(nx) / 2.0) * resolution;
            let y = (f64::from(j) - f64::from(ny) / 2.0) * resolution;
            [x, y, (f64::from(level) - 128.0) * scale].map(|c| c as f32)
        })
        .collect();
    let triangles: Vec<[u32; 3]> = (0..ny - 1)
        .flat_map(|j| (0..nx - 1).map(move |i| j * nx + i))
        .flat_map(|a| [[a, a + 1, a + nx + 1], [a, a + nx + 1, a + nx]])
        .collect();
    Mesh {
        name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        label: None,
        positions,
        uvs: Vec::new(),
        triangle_materials: vec![material; triangles.len()],
        triangles,
    }
}
