//! Oddities of scene files that a loader accepts because other programs do so, too.

use std::mem::discriminant;
use std::path::PathBuf;

use super::error::Place;

/// An oddity; the message also states how it is treated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Oddity {
    /// A copy beyond the range of all sensors. Some scenes place unused objects there.
    #[error("a copy at {value} m, beyond ±{} m, is left out", super::MAX_COORDINATE_M)]
    FarCopy {
        /// Farthest coordinate of the copy, metres.
        value: f64,
    },
    /// A colour with a reflectance above 1 or below 0.
    #[error("a diffuse colour of {value} is not within 0 to 1 and is taken as {taken}")]
    Colour {
        /// Value in the file.
        value: f32,
        /// Nearest valid value.
        taken: f32,
    },
    /// An invalid number in a material.
    #[error("`{key}` of {got} is not {allowed} and is {instead}")]
    Property {
        /// Key in the file.
        key: &'static str,
        /// Text in the file.
        got: String,
        /// The allowed values.
        allowed: &'static str,
        /// Treatment, as words of the message, such as `left out`.
        instead: String,
    },
    /// A material with an opacity of 0, which is loaded as opaque.
    #[error("a dissolve of 0 would make the material invisible; it is loaded as opaque")]
    Dissolved,
    /// A reflectance above 1 or below 0 in a spectrum.
    #[error(
        "a reflectance of {value} at {} micrometres is not within 0 to 1 and is taken as {taken}",
        super::spectrum::LASER_WAVELENGTH_UM
    )]
    Spectrum {
        /// Value in the file.
        value: f64,
        /// Nearest valid value.
        taken: f64,
    },
    /// A polygon without area.
    #[error("a polygon of {corners} points has no area: copies stand on its points and edges")]
    FlatPolygon {
        /// Number of the polygon's corners.
        corners: usize,
    },
    /// A missing material file.
    #[error("there is no file `{}`: its materials are plain", .path.display())]
    NoMaterials {
        /// Expected path of the file.
        path: PathBuf,
    },
    /// A material that no file defines.
    #[error("no file defines the material `{name}`: it is plain")]
    NoMaterial {
        /// Name of the material.
        name: String,
    },
    /// A missing image of a colour texture.
    #[error("there is no file `{}`: the colour is plain", .path.display())]
    NoTexture {
        /// Expected path of the image.
        path: PathBuf,
    },
    /// A missing image of an opacity mask.
    #[error("there is no file `{}`: the material is opaque", .path.display())]
    NoMask {
        /// Expected path of the image.
        path: PathBuf,
    },
    /// An unsupported option of a material's map.
    #[error("the option `{option}` is not supported; the map is used without it")]
    MapOption {
        /// The statement and the option.
        option: String,
    },
    /// Degenerate triangles, which are lines or points.
    #[error("{count} triangles without area are left out")]
    FlatTriangles {
        /// Number of such triangles in this mesh.
        count: usize,
    },
    /// A node of a glTF with a scale of zero, by which programs hide nodes.
    #[error("a node has a transform without volume: its mesh is left out")]
    FlatNode,
    /// A glTF that repeats meshes by an unsupported extension.
    #[error("`EXT_mesh_gpu_instancing` is not supported; each node has one copy of its mesh")]
    GpuInstancing,
    /// Primitives of a glTF other than triangles.
    #[error("points and lines are left out")]
    NotTriangles,
    /// A mesh of a glTF with morph targets.
    #[error("morph targets are not supported; the mesh keeps its shape")]
    Morphs,
    /// A missing spectrum.
    #[error("there is no file `{}`: the reflectance is that of the colour", .path.display())]
    NoSpectrum {
        /// Expected path of the file.
        path: PathBuf,
    },
}

/// One kind of oddity: the first case and the number of cases.
#[derive(Clone, Debug, PartialEq)]
struct Warning {
    place: Place,
    first: Oddity,
    count: usize,
}

/// The oddities of a scene, by kind.
#[derive(Clone, Debug, Default)]
pub(super) struct Warnings {
    list: Vec<Warning>,
}

impl Warnings {
    /// Records an oddity at `place`.
    pub fn add(&mut self, place: &Place, oddity: Oddity) {
        let kind = discriminant(&oddity);
        match self.list.iter_mut().find(|warning| discriminant(&warning.first) == kind) {
            Some(warning) => warning.count += 1,
            None => self.list.push(Warning { place: place.clone(), first: oddity, count: 1 }),
        }
    }

    /// One line for each kind, in the order of their first case.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        self.list.iter().map(|Warning { place, first, count }| match count {
            1 => format!("{place}: {first}"),
            _ => format!("{place}: {first} (the first of {count})"),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn each_kind_is_told_once_with_its_first_place_and_count() {
        let mut warnings = Warnings::default();
        for line in 3..1_000_003 {
            let place = Place::line(Path::new("s.json"), line);
            warnings.add(&place, Oddity::FarCopy { value: -1.0e9 - line as f64 });
        }
        warnings.add(&Place::of(Path::new("m.mtl")), Oddity::Colour { value: 1.25, taken: 1.0 });
        let lines: Vec<String> = warnings.lines().collect();
        assert_eq!(
            lines,
            [
                "s.json:3: a copy at -1000000003 m, beyond ±10000000 m, is left out (the first of \
                 1000000)",
                "m.mtl: a diffuse colour of 1.25 is not within 0 to 1 and is taken as 1",
            ]
        );
    }
}
