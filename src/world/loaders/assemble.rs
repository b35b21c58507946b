//! A scene under construction, shared by all loaders.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use glam::{DAffine3, DVec3};

use super::error::{Fault, Faults, Place, Problem, SceneError};
use super::oddity::{Oddity, Warnings};
use super::resolve::Resolver;
use super::texture::{self, Channel};
use super::{MAX_COORDINATE_M, MAX_INSTANCES, MAX_STORED, MAX_TEXELS, spectrum};
use crate::world::colours::{ColourMap, Rgb};
use crate::world::materials;
use crate::world::scene::{Finish, Instance, Material, MaterialId, Mesh, Scene, Texture};

/// A triangle is degenerate if twice its area is at most this, m²: the square of 0.1 µm.
const MIN_DOUBLE_AREA_M2: f64 = 1.0e-14;

/// Coordinate in metres above which `f32` loses a millimetre or more.
const NEAR_M: f64 = 10_000.0;

/// Reflectance and colour of a spectrum file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spectral {
    /// Reflectance at the laser's wavelength.
    pub reflectance: f32,
    /// Colour, if the spectrum includes visible light.
    pub colour: Option<Rgb>,
}

/// A scene under construction and the faults found so far.
pub(super) struct Assembly<'a> {
    /// Reads the files that the scene file names.
    pub resolver: &'a dyn Resolver,
    scene: Scene,
    /// Lowest and highest corner of each mesh.
    bounds: Vec<[DVec3; 2]>,
    /// Origins of those meshes that have one of their own.
    origins: BTreeMap<u32, DVec3>,
    faults: Faults,
    warnings: Warnings,
    stored: usize,
    texels: usize,
    textures: BTreeMap<(PathBuf, Channel), Option<Texture>>,
    /// Colour images by file, for images that were read as textures.
    colours: BTreeMap<PathBuf, Option<ColourMap>>,
    spectra: BTreeMap<PathBuf, Option<Spectral>>,
}

impl<'a> Assembly<'a> {
    /// Starts with an empty scene.
    pub fn new(resolver: &'a dyn Resolver) -> Self {
        Self {
            resolver,
            scene: Scene::default(),
            bounds: Vec::new(),
            origins: BTreeMap::new(),
            faults: Faults::default(),
            warnings: Warnings::default(),
            stored: 0,
            texels: 0,
            textures: BTreeMap::new(),
            colours: BTreeMap::new(),
            spectra: BTreeMap::new(),
        }
    }

    /// Sets the label of a mesh.
    pub fn label_mesh(&mut self, mesh: u32, label: &str) {
        if let Some(mesh) = self.scene.meshes.get_mut(mesh as usize) {
            mesh.label = Some(label.to_owned());
        }
    }

    /// Sets the position, metres, from which a mesh counts its coordinates. All instances of the mesh that are added
    /// later include it in their transform.
    pub fn set_origin(&mut self, mesh: u32, origin: DVec3) {
        if origin != DVec3::ZERO {
            self.origins.insert(mesh, origin);
        }
    }

    /// The scene so far.
    pub fn scene(&self) -> &Scene {
        &self.scene
    }

    /// Records a fault. The scene will not load, but reading continues to find more faults.
    pub fn fault(&mut self, place: Place, problem: Problem) {
        self.faults.add(Fault::new(place, problem));
    }

    /// Records an oddity; the scene is loaded nevertheless.
    pub fn warn(&mut self, place: &Place, oddity: Oddity) {
        self.warnings.add(place, oddity);
    }

    /// Texts of all warnings, one line for each kind.
    #[cfg(test)]
    pub fn warnings(&self) -> Vec<String> {
        self.warnings.lines().collect()
    }

    /// Returns the value of `outcome`; if `outcome` is a fault, records the fault and returns `None`.
    pub fn keep<T>(&mut self, outcome: Result<T, Fault>) -> Option<T> {
        outcome.map_err(|fault| self.faults.add(fault)).ok()
    }

    /// Reads the file at `path`; records a fault and returns `None` if this fails. `named_at` is the position that
    /// names the file.
    pub fn read(&mut self, path: &Path, named_at: &Place) -> Option<Vec<u8>> {
        match self.resolver.read(path) {
            Ok(bytes) => Some(bytes),
            Err(error) => {
                self.fault(named_at.clone(), Problem::of_reading(path, &error));
                None
            }
        }
    }

    /// One channel of the image file at `path`; `None` after a fault. A file is read once per channel, even if it is
    /// named several times.
    pub fn texture(&mut self, path: &Path, channel: Channel, named_at: &Place) -> Option<Texture> {
        let key = (path.to_owned(), channel);
        if let Some(known) = self.textures.get(&key) {
            return known.clone();
        }
        let texture = self.read(path, named_at).and_then(|bytes| {
            let decoded = texture::decode(&bytes, &Place::of(path));
            let image = self.keep(decoded)?;
            self.hold_texels(image.pixels(), named_at)?;
            if channel == Channel::First {
                let colours = self.colours_of(&image, named_at);
                self.colours.insert(path.to_owned(), colours);
            }
            Some(texture::channel(&image, channel))
        });
        self.textures.insert(key, texture.clone());
        texture
    }

    /// Colours of the image file at `path`, which [`Assembly::texture`] has read for [`Channel::First`]; `None` if it
    /// has not, or if colours are not requested or exceed the limit of texels.
    pub fn colour_map(&self, path: &Path) -> Option<ColourMap> {
        self.colours.get(path).cloned().flatten()
    }

    /// Colours of an image; `None` if they are not requested, or, after a fault, if they exceed the limit of texels.
    pub fn colours_of(&mut self, image: &texture::Image, named_at: &Place) -> Option<ColourMap> {
        if !self.resolver.wants_colours() {
            return None;
        }
        self.hold_texels(3 * ColourMap::texels(image.pixels()), named_at)?;
        texture::colours(image)
    }

    /// Like [`Assembly::texture`], for an optional image. If the file does not exist, records the warning `odd` and
    /// returns `None`.
    pub fn texture_if_there(
        &mut self,
        path: &Path,
        channel: Channel,
        named_at: &Place,
        odd: impl FnOnce(PathBuf) -> Oddity,
    ) -> Option<Texture> {
        if !self.resolver.exists(path) {
            self.warn(named_at, odd(path.to_owned()));
            return None;
        }
        self.texture(path, channel, named_at)
    }

    /// Counts `count` more texels; `None`, after a fault, if the sum exceeds the limit of a scene.
    pub fn hold_texels(&mut self, count: usize, place: &Place) -> Option<()> {
        self.texels = self.texels.saturating_add(count);
        if self.texels > MAX_TEXELS {
            let (count, limit) = (self.texels as u64, MAX_TEXELS as u64);
            let what = "pixels of all images";
            self.fault(place.clone(), Problem::TooMany { what, count, limit });
            return None;
        }
        Some(())
    }

    /// Values of the spectrum file at `path`, which is read once; `None` after a warning if the file does not exist, or
    /// after a fault if it cannot be read.
    pub fn spectrum(&mut self, path: &Path, named_at: &Place) -> Option<Spectral> {
        if let Some(&known) = self.spectra.get(path) {
            return known;
        }
        if !self.resolver.exists(path) {
            self.warn(named_at, Oddity::NoSpectrum { path: path.to_owned() });
            return None;
        }
        let spectral = self.read(path, named_at).and_then(|bytes| {
            let outcome = spectrum::read(&bytes, path);
            let (value, colour) = self.keep(outcome)?;
            let taken = value.clamp(0.0, 1.0);
            if taken != value {
                self.warn(&Place::of(path), Oddity::Spectrum { value, taken });
            }
            let colour = colour.map(|colour| colour.map(|part| part.clamp(0.0, 1.0) as f32));
            Some(Spectral { reflectance: taken as f32, colour })
        });
        self.spectra.insert(path.to_owned(), spectral);
        spectral
    }

    /// Returns `value` or, with a warning, the nearest permitted value; `None`, with a warning, if it is not finite.
    pub fn within(
        &mut self,
        key: &'static str,
        value: f32,
        allowed: (std::ops::RangeInclusive<f32>, &'static str),
        place: &Place,
    ) -> Option<f32> {
        let (range, words) = allowed;
        if range.contains(&value) {
            return Some(value);
        }
        let taken = value.is_finite().then(|| value.clamp(*range.start(), *range.end()));
        let instead = taken.map_or("left out".to_owned(), |taken| format!("taken as {taken}"));
        self.warn(place, Oddity::Property { key, got: value.to_string(), allowed: words, instead });
        taken
    }

    /// Gives `material` the finish that its name indicates, if any. Glass, water and mirrors also get the reflectance
    /// of the name, unless `is_measured`: the reflectance then comes from a spectrum. A material named as glass keeps
    /// its finish if it has a texture, which counts as a picture of the glass. A glossy name has an effect only on a
    /// diffuse material.
    pub fn finish_by_name(material: &mut Material, is_textured: bool, is_measured: bool) {
        let named = materials::by_name(&material.name);
        match named.finish {
            Finish::Matt => {}
            Finish::Glass { .. } if is_textured => {}
            Finish::Glossy { .. } if material.finish != Finish::Matt => {}
            // The colour in the file is that of objects seen in or through the surface.
            Finish::Glass { .. } | Finish::Water { .. } | Finish::Mirror { .. } if !is_measured => {
                material.finish = named.finish;
                material.reflectance = named.reflectance;
                material.reflectance_map = None;
                (material.colour, material.colour_map) = (None, None);
            }
            finish => material.finish = finish,
        }
    }

    /// Adds a material.
    pub fn add_material(&mut self, material: Material) -> MaterialId {
        self.scene.materials.push(material);
        (self.scene.materials.len() - 1) as MaterialId
    }

    /// Removes degenerate triangles from `mesh`, adds the mesh, and returns the index of the mesh in the scene. Vertex
    /// indices must be valid. If the mesh is unusable, records a fault at `place` and returns `None`.
    pub fn add_mesh(&mut self, mut mesh: Mesh, place: &Place) -> Option<u32> {
        let mut bounds = [DVec3::INFINITY, DVec3::NEG_INFINITY];
        for position in &mesh.positions {
            let position = DVec3::from(position.map(f64::from));
            if let Some(value) = far_out(position) {
                self.fault(place.clone(), Problem::BadCoordinate { value });
                return None;
            }
            bounds = [bounds[0].min(position), bounds[1].max(position)];
        }
        let removed = remove_flat_triangles(&mut mesh);
        if removed > 0 {
            self.warn(place, Oddity::FlatTriangles { count: removed });
        }
        if mesh.triangles.is_empty() {
            self.fault(place.clone(), Problem::NoTriangles);
            return None;
        }
        self.reserve(mesh.triangles.len().max(mesh.positions.len()), place)?;
        self.scene.meshes.push(mesh);
        self.bounds.push(bounds);
        Some((self.scene.meshes.len() - 1) as u32)
    }

    /// Counts `count` more triangles or vertices; `None`, after a fault, if the sum exceeds the limit of a scene.
    fn reserve(&mut self, count: usize, place: &Place) -> Option<()> {
        self.stored = self.stored.saturating_add(count);
        if self.stored > MAX_STORED {
            let problem = Problem::TooMany {
                what: "triangles or vertices in memory",
                count: self.stored as u64,
                limit: MAX_STORED as u64,
            };
            self.fault(place.clone(), problem);
            return None;
        }
        Some(())
    }

    /// Adds a visible instance of `mesh`, unless the transform is invalid, the instance is too far from the origin, or
    /// the scene is full.
    pub fn add_instance(&mut self, mesh: u32, world_from_mesh: DAffine3, place: &Place) {
        if let Some(instance) = self.instance(mesh, world_from_mesh, place)
            && self.room_for_another(self.scene.instances.len(), place)
        {
            self.scene.instances.push(instance);
        }
    }

    /// Adds an instance of `mesh` to the ground of the scene, with the same exceptions as [`Assembly::add_instance`].
    pub fn add_ground(&mut self, mesh: u32, world_from_mesh: DAffine3, place: &Place) {
        if let Some(instance) = self.instance(mesh, world_from_mesh, place)
            && self.room_for_another(self.scene.ground.len(), place)
        {
            self.scene.ground.push(instance);
        }
    }

    /// Lowest and highest corner of the bounding box of `instance` in World.
    pub fn world_bounds(&self, instance: &Instance) -> [DVec3; 2] {
        instance.world_box(self.bounds[instance.mesh as usize])
    }

    /// Finishes the scene of `file`. If `all_is_ground`, every visible instance is also ground.
    pub fn finish(mut self, file: &Path, all_is_ground: bool) -> Result<Scene, SceneError> {
        for line in self.warnings.lines() {
            tracing::warn!("{line}");
        }
        if self.faults.is_empty() && self.scene.instanced_triangles() == 0 {
            self.fault(Place::of(file), Problem::NoTriangles);
        }
        if let Some(error) = self.faults.into_error() {
            return Err(error);
        }
        if all_is_ground {
            self.scene.ground = self.scene.instances.clone();
        }
        Ok(self.scene)
    }

    /// Checks that a scene can have `count` more visible instances; `None`, after a fault, if it cannot. The instances
    /// are not counted here.
    pub fn room_for(&mut self, count: u64, place: &Place) -> Option<()> {
        let count = count.saturating_add(self.scene.instances.len() as u64);
        let limit = MAX_INSTANCES as u64;
        if count > limit {
            self.fault(place.clone(), Problem::TooMany { what: "copies", count, limit });
            return None;
        }
        Some(())
    }

    fn room_for_another(&mut self, count: usize, place: &Place) -> bool {
        let room = count < MAX_INSTANCES;
        if !room {
            let (count, limit) = (count as u64 + 1, MAX_INSTANCES as u64);
            self.fault(place.clone(), Problem::TooMany { what: "copies", count, limit });
        }
        room
    }

    /// Creates an instance. `None` after a fault if its transform cannot be inverted, or after a warning if it is too
    /// far out.
    fn instance(&mut self, mesh: u32, transform: DAffine3, place: &Place) -> Option<Instance> {
        let world_from_mesh = match self.origins.get(&mesh) {
            Some(&origin) => transform * DAffine3::from_translation(origin),
            None => transform,
        };
        let instance = Instance { mesh, world_from_mesh };
        if let Some(problem) = transform_problem(&instance) {
            self.fault(place.clone(), problem);
            return None;
        }
        let [low, high] = self.world_bounds(&instance);
        if let Some(value) = far_out(low).or(far_out(high)) {
            self.warn(place, Oddity::FarCopy { value });
            return None;
        }
        Some(instance)
    }
}

fn transform_problem(instance: &Instance) -> Option<Problem> {
    let transform = instance.world_from_mesh;
    if !transform.is_finite() {
        return Some(Problem::BadTransform("has a transform with numbers that are not finite"));
    }
    if is_flat(&transform) {
        return Some(Problem::BadTransform(
            "has a transform without volume: no scale may be zero, no axes may coincide",
        ));
    }
    None
}

/// Whether a transform has no volume, so that it cannot be inverted.
pub(super) fn is_flat(transform: &DAffine3) -> bool {
    let axes = transform.matrix3;
    let volume = axes.determinant().abs();
    let longest = axes.x_axis.length() * axes.y_axis.length() * axes.z_axis.length();
    // The comparison is false for NaN, which results from lengths that overflow.
    let solid = volume > 1.0e-12 * longest && volume >= f64::MIN_POSITIVE;
    !solid
}

/// Origin for a mesh with a vertex at `first`: the nearest whole metres if `first` is far out, as in map coordinates,
/// otherwise zero. Coordinates relative to it fit into `f32` without a loss.
pub(super) fn origin_for(first: DVec3) -> DVec3 {
    let is_far = first.abs().max_element() > NEAR_M && far_out(first).is_none();
    if is_far { first.round() } else { DVec3::ZERO }
}

/// The first coordinate that is NaN or exceeds the limit; `None` if all are within it.
fn far_out(p: DVec3) -> Option<f64> {
    let near = -MAX_COORDINATE_M..=MAX_COORDINATE_M;
    p.to_array().into_iter().find(|c| !near.contains(c))
}

/// Whether triangle `index` of `mesh` has no area.
pub(super) fn is_degenerate(mesh: &Mesh, index: u32) -> bool {
    let [a, b, c] = mesh.corners(index);
    (b - a).cross(c - a).length() <= MIN_DOUBLE_AREA_M2
}

/// Removes degenerate triangles and returns their number.
fn remove_flat_triangles(mesh: &mut Mesh) -> usize {
    let flat: Vec<bool> =
        (0..mesh.triangles.len() as u32).map(|index| is_degenerate(mesh, index)).collect();
    let count = flat.iter().filter(|&&flat| flat).count();
    if count > 0 {
        let mut kept = flat.iter();
        mesh.triangles.retain(|_| kept.next() == Some(&false));
        let mut kept = flat.iter();
        mesh.triangle_materials.retain(|_| kept.next() == Some(&false));
    }
    count
}

#[cfg(test)]
mod tests {
    use glam::DMat3;

    use super::super::resolve::Memory;
    use super::*;

    fn triangle() -> Mesh {
        Mesh {
            positions: vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [2.0, 0.0, 0.0]],
            triangles: vec![[0, 1, 3], [0, 1, 2], [1, 1, 2]],
            triangle_materials: vec![0, 1, 2],
            ..Mesh::default()
        }
    }

    fn problem_of(transform: DAffine3) -> Option<Problem> {
        let files = Memory::default();
        let mut assembly = Assembly::new(&files);
        let place = Place::of(Path::new("x"));
        let mesh = assembly.add_mesh(triangle(), &place).unwrap();
        assembly.add_instance(mesh, transform, &place);
        assembly.finish(Path::new("x"), true).err().map(|e| e.faults()[0].problem.clone())
    }

    #[test]
    fn triangles_without_area_are_left_out_with_their_materials() {
        let mut mesh = triangle();
        assert_eq!(remove_flat_triangles(&mut mesh), 2);
        assert_eq!((mesh.triangles, mesh.triangle_materials), (vec![[0, 1, 2]], vec![1]));
    }

    #[test]
    fn transforms_are_checked() {
        assert_eq!(problem_of(DAffine3::IDENTITY), None);
        // Mirrored and very uneven scales are allowed.
        let uneven = DAffine3::from_scale(DVec3::new(-1.0e4, 1.0e4, 1.0e-3));
        assert_eq!(problem_of(uneven), None);
        let flat = DAffine3::from_scale(DVec3::new(1.0, 0.0, 1.0));
        assert!(matches!(problem_of(flat), Some(Problem::BadTransform(_))));
        let sheared_flat = DAffine3::from_mat3(DMat3::from_cols(DVec3::X, DVec3::X, DVec3::Z));
        assert!(matches!(problem_of(sheared_flat), Some(Problem::BadTransform(_))));
        let nan = DAffine3::from_translation(DVec3::new(0.0, f64::NAN, 0.0));
        assert!(matches!(problem_of(nan), Some(Problem::BadTransform(_))));
        let far = DAffine3::from_translation(DVec3::new(0.0, 2.0e7, 0.0));
        // No triangle remains, so the scene is empty.
        assert_eq!(problem_of(far), Some(Problem::NoTriangles));
    }

    /// A copy at a far position does not prevent the others from being loaded.
    #[test]
    fn copies_far_out_are_left_out_with_one_warning() {
        let files = Memory::default();
        let mut assembly = Assembly::new(&files);
        let mesh = assembly.add_mesh(triangle(), &Place::of(Path::new("x"))).unwrap();
        for (line, x) in [5.0, -1.0e9, 6.0, 2.0e7].into_iter().enumerate() {
            let place = Place::line(Path::new("s.json"), line + 1);
            assembly.add_instance(mesh, DAffine3::from_translation(DVec3::X * x), &place);
            assembly.add_ground(mesh, DAffine3::from_translation(DVec3::X * x), &place);
        }
        assert_eq!(
            assembly.warnings(),
            [
                "x: 2 triangles without area are left out",
                "s.json:2: a copy at -1000000000 m, beyond ±10000000 m, is left out (the first of \
                 4)"
            ]
        );
        let scene = assembly.finish(Path::new("s.json"), false).unwrap();
        assert_eq!((scene.instances.len(), scene.ground.len()), (2, 2));
    }

    /// Small image files can need much memory, so their texels are counted before memory is allocated.
    #[test]
    fn texels_are_summed_before_they_are_made() {
        let files = Memory::default();
        let mut assembly = Assembly::new(&files);
        let place = Place::line(Path::new("m.mtl"), 9);
        assert!(assembly.hold_texels(MAX_TEXELS, &place).is_some());
        assert!(assembly.hold_texels(1, &place).is_none());
        assert_eq!(
            assembly.finish(Path::new("x"), true).unwrap_err().to_string(),
            "m.mtl:9: pixels of all images: 1073741825, but at most 1073741824 are allowed, so \
             that a scene fits into memory"
        );
    }

    #[test]
    fn a_scene_without_triangles_fails() {
        let files = Memory::default();
        let error = Assembly::new(&files).finish(Path::new("empty.obj"), true).unwrap_err();
        assert_eq!(
            error.to_string(),
            "empty.obj: has no triangle with an area; lidars detect only triangles"
        );
    }
}
