//! glTF 2.0, `.gltf` and `.glb`: nodes become instances, base colours become reflectance.
//!
//! - Axes: glTF's +X is east, its +Y is up, its +Z is south. Therefore `(x, y, z)` becomes `(x, -z, y)`. A model
//!   exported by a tool with z up regains its original axes.
//! - Reflectance is the red component of the base colour times the red channel of the base-colour texture, decoded
//!   from sRGB. The mean of a primitive's vertex colours (`COLOR_0`) is one more factor. A material with a known name
//!   but without base colour, texture and vertex colours gets the [table's](crate::world::materials) value. A primitive
//!   without material and vertex colours gets the default grey. `KHR_materials_pbrSpecularGlossiness` has its own
//!   colour and texture; its specular colour is not read.
//! - Alpha: the threshold is the material's cutoff for `MASK` and one half for `BLEND`; `OPAQUE` has none.
//! - Gloss, mirrors and glass come from the factors of metallicity, roughness, `KHR_materials_transmission` and
//!   `KHR_materials_ior`, and from the thickness of `KHR_materials_volume`. Textures of these properties are not read; a
//!   material with a metallic-roughness or specular-glossiness texture counts as non-metallic with a roughness of 1.
//!   Without transmission, a name such as `window` or `road sign` determines the finish.
//! - `KHR_texture_transform` is applied. Textures always repeat; the sampler's wrapping mode is ignored.
//! - Skins, morphs and animations stay at rest. Points, lines, lights, cameras, meshes without area and nodes with a
//!   scale of zero are skipped.
//!
//! The `gltf` crate panics at some faults that its validation does not find. This module therefore checks for them
//! first: short headers, positions and images without data, empty or overlong accessors, and nodes that do not form a
//! tree.

mod accessors;
mod finish;
mod images;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use ::gltf::accessor::{DataType, Dimensions};
use ::gltf::json::validation::Checked;
use ::gltf::material::AlphaMode;
use ::gltf::mesh::Mode;
use ::gltf::scene::Transform;
use ::gltf::{Accessor, Document, Gltf, Material, Node, Primitive, Semantic};
use base64::Engine;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use glam::{DAffine3, DMat3, DQuat, DVec3};

use self::accessors::{out_of_buffer, wrong_accessor};
use super::MAX_STORED;
use super::assemble::{self, Assembly};
use super::error::{Fault, Place, Problem, SceneError, clipped};
use super::oddity::Oddity;
use super::resolve::{Resolver, folder_of};
use super::texture::Image;
use crate::world::colours::{ColourMap, Rgb};
use crate::world::materials;
use crate::world::scene::{self, Finish, MaterialId, Mesh, Scene, Texture};

/// Reads the glTF file `bytes`, called `file`. It is binary if it begins with `glTF`, otherwise JSON text.
///
/// # Errors
/// All errors in the file, and in the buffers and images that it names.
pub fn parse(bytes: &[u8], file: &Path, resolver: &dyn Resolver) -> Result<Scene, SceneError> {
    let (document, blob) = open(bytes, file)?;
    let mut loader = Loader::new(&document, file, resolver);
    loader.load(blob);
    loader.assembly.finish(file, true)
}

/// Base64 of buffers and images within the file, with or without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Extensions that a file may require in addition to `KHR_texture_transform`: this module reads them, or ignores them
/// because they have no effect here.
const HARMLESS_EXTENSIONS: [&str; 9] = [
    "KHR_lights_punctual",
    "KHR_materials_emissive_strength",
    "KHR_materials_ior",
    "KHR_materials_pbrSpecularGlossiness",
    "KHR_materials_specular",
    "KHR_materials_transmission",
    "KHR_materials_unlit",
    "KHR_materials_variants",
    "KHR_materials_volume",
];

/// Parses and validates the document; also returns the binary chunk of a `.glb`.
fn open(bytes: &[u8], file: &Path) -> Result<(Document, Option<Vec<u8>>), Fault> {
    let syntax = |text: String| Fault::new(Place::of(file), Problem::Syntax(text));
    if bytes.starts_with(b"glTF") {
        // The crate subtracts the header's size from the length in the header. Without this check, the difference could
        // be negative.
        let length = bytes.get(8..12).and_then(|b| b.try_into().ok()).map(u32::from_le_bytes);
        if length.is_none_or(|length| length < 12) {
            return Err(syntax("has a truncated binary header".into()));
        }
    }
    let gltf = Gltf::from_slice_without_validation(bytes).map_err(|error| match error {
        ::gltf::Error::Deserialize(error) if !bytes.starts_with(b"glTF") => Fault::new(
            Place { column: Some(clipped(error.column())), ..Place::line(file, error.line()) },
            Problem::Syntax(error.to_string()),
        ),
        error => syntax(format!("is not glTF 2.0: {error}")),
    })?;
    let blob = gltf.blob;
    let mut root = gltf.document.into_json();
    for extension in &root.extensions_required {
        let known = extension == "KHR_texture_transform";
        if !known && !HARMLESS_EXTENSIONS.contains(&extension.as_str()) {
            let what = format!("the glTF extension `{extension}`, which the file requires,");
            return Err(Fault::new(Place::of(file), Problem::Unsupported(what)));
        }
    }
    root.extensions_required.clear();
    let accessors = root.accessors.len();
    for (index, mesh) in root.meshes.iter_mut().enumerate() {
        for primitive in &mut mesh.primitives {
            // Only these attributes are needed, and the crate rejects custom ones.
            primitive.attributes.retain(|semantic, _| {
                matches!(
                    semantic,
                    Checked::Valid(
                        Semantic::Positions | Semantic::Colors(0) | Semantic::TexCoords(_)
                    )
                )
            });
            // The crate's validation uses this index before it has checked it.
            let positions = primitive.attributes.get(&Checked::Valid(Semantic::Positions));
            if let Some(accessor) = positions.filter(|a| a.value() >= accessors) {
                let problem = Problem::IndexOutOfRange {
                    what: "accessor",
                    index: accessor.value() as i64,
                    available: accessors,
                    first: 0,
                };
                return Err(Fault::new(Place::element(file, format!("meshes[{index}]")), problem));
            }
        }
    }
    let document = Document::from_json(root).map_err(|error| match error {
        // One fault is enough to report.
        ::gltf::Error::Validation(faults) if !faults.is_empty() => {
            let (path, error) = &faults[0];
            Fault::new(Place::element(file, path.to_string()), Problem::Syntax(error.to_string()))
        }
        error => syntax(error.to_string()),
    })?;
    Ok((document, blob))
}

/// A converted material, with its texture mapping.
#[derive(Clone, Copy)]
struct Look {
    id: MaterialId,
    /// Whether the material is fully transparent.
    invisible: bool,
    /// Texture; `None` for a plain colour.
    texture: Option<TextureUse>,
}

#[derive(Clone, Copy)]
struct TextureUse {
    /// Number of the texture coordinate set, `TEXCOORD_n`.
    set: u32,
    /// Columns of the matrix that transforms texture coordinates to the image; `offset` is added afterwards.
    columns: [[f32; 2]; 2],
    offset: [f32; 2],
}

struct Loader<'a> {
    document: &'a Document,
    file: &'a Path,
    /// Buffers. Buffers from the same file are shared.
    buffers: Vec<Rc<[u8]>>,
    assembly: Assembly<'a>,
    /// The last decoded image.
    image: Option<(usize, Option<Image>)>,
    /// Reflectances by image; `None` for one that cannot be read.
    reflectances: BTreeMap<usize, Option<Texture>>,
    colours: BTreeMap<usize, Option<ColourMap>>,
    /// Converted materials by their number and the bits of the vertex colour.
    materials: BTreeMap<(Option<usize>, [u32; 3]), Look>,
    meshes: BTreeMap<usize, Option<u32>>,
    /// Vertices and triangles read so far, including those of unfinished meshes.
    held: usize,
}

impl<'a> Loader<'a> {
    fn new(document: &'a Document, file: &'a Path, resolver: &'a dyn Resolver) -> Self {
        Self {
            document,
            file,
            buffers: Vec::new(),
            assembly: Assembly::new(resolver),
            image: None,
            reflectances: BTreeMap::new(),
            colours: BTreeMap::new(),
            materials: BTreeMap::new(),
            meshes: BTreeMap::new(),
            held: 0,
        }
    }

    /// Reads everything into the assembly; `blob` is the binary chunk of a `.glb`.
    fn load(&mut self, blob: Option<Vec<u8>>) {
        let Self { document, file, .. } = *self;
        self.read_buffers(blob);
        for (used, what) in
            [(document.skins().len() > 0, "skins"), (document.animations().len() > 0, "animations")]
        {
            if used {
                tracing::warn!("{}: {what} are not supported, meshes stay at rest", file.display());
            }
        }
        if document.extensions_used().any(|name| name == "EXT_mesh_gpu_instancing") {
            self.assembly.warn(&Place::of(file), Oddity::GpuInstancing);
        }
        self.place_nodes();
    }

    fn place(&self, kind: &str, index: usize) -> Place {
        Place::element(self.file, format!("{kind}[{index}]"))
    }

    fn read_buffers(&mut self, mut blob: Option<Vec<u8>>) {
        let mut files: BTreeMap<&str, Rc<[u8]>> = BTreeMap::new();
        for (index, buffer) in self.document.as_json().buffers.iter().enumerate() {
            let place = self.place("buffers", index);
            let known = buffer.uri.as_deref().and_then(|uri| files.get(uri));
            if let Some(known) = known {
                self.buffers.push(known.clone());
                continue;
            }
            let data = match &buffer.uri {
                Some(uri) => self.resource(uri, &place),
                None => blob.take().or_else(|| {
                    let problem =
                        Problem::Syntax("has no `uri`, and no binary chunk is left".into());
                    self.assembly.fault(place.clone(), problem);
                    None
                }),
            };
            let data = data.unwrap_or_default();
            let announced = buffer.byte_length.0;
            if announced > data.len() as u64 && !data.is_empty() {
                let (what, available) = ("a buffer".to_owned(), data.len() as u64);
                self.assembly.fault(place, Problem::Truncated { what, announced, available });
            }
            let data: Rc<[u8]> = data.into();
            if let Some(uri) = &buffer.uri {
                files.insert(uri, data.clone());
            }
            self.buffers.push(data);
        }
    }

    /// Bytes of a `uri`: a data URI, or a path relative to the folder of the glTF file.
    fn resource(&mut self, uri: &str, place: &Place) -> Option<Vec<u8>> {
        if let Some(data) = uri.strip_prefix("data:") {
            // The part before the comma is the media type.
            let digits = data.split_once(";base64,").map_or(data, |(_, digits)| digits);
            let data = BASE64.decode(digits).map_err(|error| {
                Fault::new(place.clone(), Problem::Syntax(format!("has invalid data: {error}")))
            });
            return self.assembly.keep(data);
        }
        if uri.contains(':') {
            let problem = Problem::Unsupported(format!("the address `{uri}`"));
            self.assembly.fault(place.clone(), problem);
            return None;
        }
        let path = self.path_of(uri);
        self.assembly.read(&path, place)
    }

    /// The file that a relative `uri` names.
    fn path_of(&self, uri: &str) -> PathBuf {
        let name = percent_encoding::percent_decode_str(uri).decode_utf8_lossy();
        folder_of(self.file).join(name.as_ref())
    }

    /// Adds instances for the nodes of the default scene; without one, of the first scene; without any scene, for all
    /// nodes.
    fn place_nodes(&mut self) {
        let document = self.document;
        let scene = document.default_scene().or_else(|| document.scenes().next());
        let roots: Vec<Node<'a>> = match scene {
            Some(scene) => scene.nodes().collect(),
            None => {
                let children: BTreeSet<usize> =
                    document.nodes().flat_map(|n| n.children().map(|c| c.index())).collect();
                document.nodes().filter(|n| !children.contains(&n.index())).collect()
            }
        };
        let up = DAffine3::from_mat3(DMat3::from_cols(DVec3::X, DVec3::Z, -DVec3::Y));
        let mut stack: Vec<(Node<'a>, DAffine3)> =
            roots.into_iter().rev().map(|node| (node, up)).collect();
        let mut seen = BTreeSet::new();
        while let Some((node, world_from_parent)) = stack.pop() {
            let place = self.place("nodes", node.index());
            // A node that is reached twice is part of a loop, or lets the tree grow without bound.
            if !seen.insert(node.index()) {
                let problem = Problem::Syntax("is a child twice; nodes must form a tree".into());
                self.assembly.fault(place, problem);
                return;
            }
            let world_from_node = world_from_parent * local(&node);
            if let Some(mesh) = node.mesh() {
                if world_from_node.is_finite() && assemble::is_flat(&world_from_node) {
                    self.assembly.warn(&place, Oddity::FlatNode);
                } else if let Some(mesh) = self.mesh(&mesh) {
                    self.assembly.add_instance(mesh, world_from_node, &place);
                }
            }
            let children: Vec<_> = node.children().map(|c| (c, world_from_node)).collect();
            stack.extend(children.into_iter().rev());
        }
    }

    /// Adds a mesh with all its primitives; each mesh is read once.
    fn mesh(&mut self, mesh: &::gltf::Mesh<'a>) -> Option<u32> {
        if let Some(&known) = self.meshes.get(&mesh.index()) {
            return known;
        }
        let place = self.place("meshes", mesh.index());
        let mut build = MeshBuild::default();
        let outcome =
            mesh.primitives().try_for_each(|primitive| self.primitive(&primitive, &mut build));
        let id = match outcome {
            Ok(()) if !build.has_area() => {
                let count = build.mesh.triangles.len();
                if count > 0 {
                    self.assembly.warn(&place, Oddity::FlatTriangles { count });
                }
                None
            }
            Ok(()) => {
                build.mesh.name = mesh.name().unwrap_or("mesh").to_owned();
                if !build.textured {
                    build.mesh.uvs = Vec::new();
                }
                self.assembly.add_mesh(build.mesh, &place)
            }
            Err(problem) => {
                self.assembly.fault(place, problem);
                None
            }
        };
        self.meshes.insert(mesh.index(), id);
        id
    }

    fn primitive(
        &mut self,
        primitive: &Primitive<'a>,
        build: &mut MeshBuild,
    ) -> Result<(), Problem> {
        if matches!(primitive.mode(), Mode::Points | Mode::Lines | Mode::LineLoop | Mode::LineStrip)
        {
            self.assembly.warn(&Place::of(self.file), Oddity::NotTriangles);
            return Ok(());
        }
        if primitive.morph_targets().len() > 0 {
            self.assembly.warn(&Place::of(self.file), Oddity::Morphs);
        }
        let vertex_colour = self.vertex_colour(primitive)?;
        let look = self.look(&primitive.material(), vertex_colour);
        if look.invisible {
            return Ok(());
        }
        let positions = primitive
            .get(&Semantic::Positions)
            .ok_or_else(|| Problem::Syntax("a primitive has no positions".into()))?;
        let texture = look.texture.and_then(|texture| {
            let uvs = primitive.get(&Semantic::TexCoords(texture.set))?;
            Some((texture, uvs))
        });
        let count = positions.count();
        let key = (
            positions.index(),
            // Different materials can transform the same coordinates differently.
            texture.as_ref().map(|(_, uvs)| (uvs.index(), look.id)),
        );
        let base = match build.vertices.get(&key) {
            Some(&base) => base,
            None => {
                self.hold(count)?;
                let base = build.mesh.positions.len() as u32;
                build.mesh.positions.extend(self.positions(positions)?);
                match texture {
                    Some((texture, uvs)) => {
                        build.mesh.uvs.extend(self.texture_coordinates(uvs, count, texture)?);
                        build.textured = true;
                    }
                    None => build.mesh.uvs.resize(build.mesh.positions.len(), [0.0; 2]),
                }
                build.vertices.insert(key, base);
                base
            }
        };
        let corners: Vec<u32> = match primitive.indices() {
            Some(indices) => self.indices(indices, count)?,
            None => (0..count as u32).collect(),
        };
        let triangles: Vec<[u32; 3]> = match primitive.mode() {
            Mode::TriangleStrip => corners.windows(3).map(|w| [w[0], w[1], w[2]]).collect(),
            Mode::TriangleFan => {
                let first = corners.first().copied().unwrap_or_default();
                corners.windows(2).skip(1).map(|w| [first, w[0], w[1]]).collect()
            }
            _ => corners.as_chunks::<3>().0.to_vec(),
        };
        self.hold(triangles.len())?;
        build.mesh.triangles.extend(triangles.iter().map(|t| t.map(|corner| base + corner)));
        build.mesh.triangle_materials.resize(build.mesh.triangles.len(), look.id);
        Ok(())
    }

    /// Counts items against the limit. Accessors can share data, and even a small file can therefore need much
    /// memory.
    fn hold(&mut self, count: usize) -> Result<(), Problem> {
        self.held = self.held.saturating_add(count);
        if self.held > 2 * MAX_STORED {
            return Err(Problem::TooMany {
                what: "triangles and vertices in memory",
                count: self.held as u64,
                limit: 2 * MAX_STORED as u64,
            });
        }
        Ok(())
    }

    /// Converts texture coordinates to those of a [`Mesh`], in which v points up.
    fn texture_coordinates(
        &self,
        accessor: Accessor<'a>,
        count: usize,
        texture: TextureUse,
    ) -> Result<Vec<[f32; 2]>, Problem> {
        let wrong = wrong_accessor(
            &accessor,
            "two floats, bytes or shorts for texture coordinates, as many as positions",
        );
        if accessor.dimensions() != Dimensions::Vec2 || accessor.count() != count {
            return Err(wrong);
        }
        self.check(&accessor)?;
        let uvs: Vec<[f32; 2]> = match accessor.data_type() {
            DataType::F32 => self.items(accessor)?,
            DataType::U8 => {
                let items: Vec<[u8; 2]> = self.items(accessor)?;
                items.iter().map(|uv| uv.map(|c| f32::from(c) / 255.0)).collect()
            }
            DataType::U16 => {
                let items: Vec<[u16; 2]> = self.items(accessor)?;
                items.iter().map(|uv| uv.map(|c| f32::from(c) / 65_535.0)).collect()
            }
            _ => return Err(wrong),
        };
        let TextureUse { columns: [a, b], offset, .. } = texture;
        let laid = |[u, v]: [f32; 2]| {
            let along = a[0] * u + b[0] * v + offset[0];
            let down = a[1] * u + b[1] * v + offset[1];
            [along, 1.0 - down]
        };
        Ok(uvs.into_iter().map(laid).collect())
    }

    /// Mean linear colour of the vertices of a primitive; white without vertex colours.
    fn vertex_colour(&self, primitive: &Primitive<'a>) -> Result<Rgb, Problem> {
        let Some(accessor) = primitive.get(&Semantic::Colors(0)) else { return Ok([1.0; 3]) };
        let is_known = matches!(accessor.data_type(), DataType::F32 | DataType::U8 | DataType::U16)
            && matches!(accessor.dimensions(), Dimensions::Vec3 | Dimensions::Vec4);
        if !is_known {
            let expected = "three or four floats, bytes or shorts for vertex colours";
            return Err(wrong_accessor(&accessor, expected));
        }
        self.check(&accessor)?;
        let data = |buffer: ::gltf::Buffer| self.buffers.get(buffer.index()).map(|data| &data[..]);
        let colours = primitive
            .reader(data)
            .read_colors(0)
            .ok_or_else(|| out_of_buffer(accessor.index()))?
            .into_rgb_f32();
        let colours: Vec<DVec3> = colours.map(|c| DVec3::from(c.map(f64::from))).collect();
        // Primitives can share vertices; only those that this primitive uses count.
        let (sum, count) = match primitive.indices() {
            Some(indices) => {
                let corners = self.indices(indices, colours.len())?;
                let used = corners.iter().map(|&corner| colours[corner as usize]);
                (used.sum::<DVec3>(), corners.len())
            }
            None => (colours.iter().sum::<DVec3>(), colours.len()),
        };
        Ok((sum / count as f64).as_vec3().to_array())
    }

    fn look(&mut self, material: &Material<'a>, vertex_colour: Rgb) -> Look {
        let key = (material.index(), vertex_colour.map(f32::to_bits));
        if let Some(&known) = self.materials.get(&key) {
            return known;
        }
        let look = self.new_look(material, vertex_colour);
        self.materials.insert(key, look);
        look
    }

    fn new_look(&mut self, material: &Material<'a>, vertex_colour: Rgb) -> Look {
        let place = match material.index() {
            Some(index) => self.place("materials", index),
            None if vertex_colour == [1.0; 3] => {
                let id = self.assembly.add_material(materials::by_name("default"));
                return Look { id, invisible: false, texture: None };
            }
            None => Place::of(self.file),
        };
        let name = material.name().unwrap_or("unnamed");
        let (factor, info) = match material.pbr_specular_glossiness() {
            Some(pbr) => (pbr.diffuse_factor(), pbr.diffuse_texture()),
            None => {
                let pbr = material.pbr_metallic_roughness();
                (pbr.base_color_factor(), pbr.base_color_texture())
            }
        };
        let [red, green, blue]: Rgb = std::array::from_fn(|n| factor[n] * vertex_colour[n]);
        let alpha = factor[3];
        if ![red, green, blue, alpha].iter().all(|c| c.is_finite()) {
            let expected = "a base colour of numbers from 0 to 1";
            let got = format!("[{red}, {green}, {blue}, {alpha}]");
            self.assembly.fault(place.clone(), Problem::wrong(expected, got));
        }
        let (value, taken) = (red, red.clamp(0.0, 1.0));
        if value != taken && !value.is_nan() {
            self.assembly.warn(&place, Oddity::Colour { value, taken });
        }
        let red = taken;
        // White without a texture is glTF's default. It counts as missing.
        let unsaid = info.is_none() && [red, green, blue] == [1.0; 3];
        let typical = materials::typical(name).filter(|_| unsaid);
        let base_reflectance = typical.map_or(red, |typical| typical.reflectance_905nm);
        let colour = typical.is_none().then(|| [red, green, blue].map(|part| part.clamp(0.0, 1.0)));
        let mut out =
            self.finished(material, name, (base_reflectance, colour), info.is_some(), &place);
        // Smallest alpha of an opaque texel.
        let solid_from = match material.alpha_mode() {
            AlphaMode::Opaque => None,
            AlphaMode::Mask => Some(material.alpha_cutoff().unwrap_or(0.5)),
            AlphaMode::Blend => Some(0.5),
        };
        // A blended material can have the finish of glass or water. Its alpha then only imitates transparency, and it
        // stays visible.
        let lets_through = matches!(out.finish, Finish::Glass { .. } | Finish::Water { .. });
        let mut invisible = !lets_through && solid_from.is_some_and(|from| alpha < from);
        let mut texture = None;
        if let Some(info) = info {
            let source = info.texture().source().index();
            let threshold = solid_from.map(|from| (from, alpha));
            if let Some((map, mask)) = self.maps(source, threshold, &place) {
                let holes = |mask: &Texture| mask.texels.contains(&0);
                invisible |= mask.as_ref().is_some_and(|mask| !mask.texels.contains(&255));
                out.reflectance_map = Some(map);
                out.opacity_mask = mask.filter(holes);
                out.colour_map = self.colours(source, &place).filter(|_| out.colour.is_some());
            }
            texture = Some(laying(&info));
        }
        let id = self.assembly.add_material(out);
        Look { id, invisible, texture }
    }

    /// The material without textures. The finish follows from the parameters of the file or, if these have no
    /// transmission, from the material's name.
    fn finished(
        &mut self,
        material: &Material<'a>,
        name: &str,
        (base, colour): (f32, Option<Rgb>),
        is_textured: bool,
        place: &Place,
    ) -> scene::Material {
        let mut share =
            |key, value| self.assembly.within(key, value, (0.0..=1.0, "within 0 to 1"), place);
        // With a texture, the factors alone do not determine the roughness.
        let (metallic, roughness, is_mapped) = match material.pbr_specular_glossiness() {
            Some(pbr) => {
                let glossiness = share("glossinessFactor", pbr.glossiness_factor()).unwrap_or(0.0);
                (0.0, 1.0 - glossiness, pbr.specular_glossiness_texture().is_some())
            }
            None => {
                let pbr = material.pbr_metallic_roughness();
                let metallic = share("metallicFactor", pbr.metallic_factor()).unwrap_or(1.0);
                let roughness = share("roughnessFactor", pbr.roughness_factor()).unwrap_or(1.0);
                (metallic, roughness, pbr.metallic_roughness_texture().is_some())
            }
        };
        let transmission = material.transmission().map_or(0.0, |t| t.transmission_factor());
        let transmission = share("transmissionFactor", transmission).unwrap_or(0.0);
        let index = material.ior().unwrap_or(materials::GLASS_INDEX);
        let allowed = (1.0..=5.0, "a refractive index of 1 to 5");
        let index = self.assembly.within("ior", index, allowed, place);
        let surface = finish::Surface {
            base,
            metallic: if is_mapped { 0.0 } else { metallic },
            roughness: if is_mapped { 1.0 } else { roughness },
            index: index.unwrap_or(materials::GLASS_INDEX),
            transmission,
            has_volume: material.volume().is_some_and(|v| v.thickness_factor() > 0.0),
        };
        let (reflectance, finish) = surface.look();
        // Glass scatters only the light that it does not transmit, with its base colour.
        let scattered = |colour: Rgb| match finish {
            Finish::Glass { .. } => colour.map(|part| part * (1.0 - transmission)),
            _ => colour,
        };
        let mut out = scene::Material {
            finish,
            colour: colour.map(scattered),
            ..materials::plain(name, reflectance)
        };
        if transmission == 0.0 {
            Assembly::finish_by_name(&mut out, is_textured, false);
        }
        out
    }
}

/// A mesh under construction.
#[derive(Default)]
struct MeshBuild {
    mesh: Mesh,
    /// Index of the first vertex that was read from a position accessor. Key: the position accessor and, for textured
    /// primitives, the texture coordinate accessor and the material.
    vertices: BTreeMap<(usize, Option<(usize, MaterialId)>), u32>,
    /// Whether any vertex has texture coordinates.
    textured: bool,
}

impl MeshBuild {
    /// Whether any triangle has an area.
    fn has_area(&self) -> bool {
        let count = self.mesh.triangles.len() as u32;
        (0..count).any(|index| !assemble::is_degenerate(&self.mesh, index))
    }
}

/// Transform from a node to its parent.
fn local(node: &Node) -> DAffine3 {
    match node.transform() {
        Transform::Matrix { matrix: [x, y, z, origin] } => {
            let column = |c: [f32; 4]| DVec3::new(c[0].into(), c[1].into(), c[2].into());
            DAffine3::from_cols(column(x), column(y), column(z), column(origin))
        }
        Transform::Decomposed { translation, rotation, scale } => {
            // A zero quaternion gives NaN, which a later check rejects as not finite.
            let rotation = DQuat::from_array(rotation.map(f64::from));
            let rotation = rotation * rotation.length_recip();
            DAffine3::from_scale_rotation_translation(
                DVec3::from(scale.map(f64::from)),
                rotation,
                DVec3::from(translation.map(f64::from)),
            )
        }
    }
}

/// Mapping of texture coordinates with `KHR_texture_transform`: scale, then rotation, then offset.
fn laying(info: &::gltf::texture::Info) -> TextureUse {
    let plain =
        TextureUse { set: info.tex_coord(), columns: [[1.0, 0.0], [0.0, 1.0]], offset: [0.0; 2] };
    let Some(transform) = info.texture_transform() else { return plain };
    let (sin, cos) = libm::sincosf(transform.rotation());
    let [su, sv] = transform.scale();
    TextureUse {
        set: transform.tex_coord().unwrap_or(plain.set),
        columns: [[su * cos, -su * sin], [sv * sin, sv * cos]],
        offset: transform.offset(),
    }
}

#[cfg(test)]
mod tests;
