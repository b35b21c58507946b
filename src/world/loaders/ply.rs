//! PLY meshes, ascii and binary: positions and faces; z up, metres.
//!
//! Polygons are cut into triangles, see `polygon.rs`. PLY has no materials, so the default grey is used. Other elements
//! and properties are ignored.
//!
//! The `ply-rs-bw` crate trusts the header's counts, so they are first compared with the file's length.

use std::path::Path;

use glam::{DAffine3, DVec3};
use ply_rs_bw::parser::{ParseError, Parser, Reader};
use ply_rs_bw::ply::{
    ElementDef, Encoding, Property, PropertyAccess, PropertyAccessResult, PropertyType, ScalarType,
};

use super::assemble::{self, Assembly};
use super::error::{Fault, Place, Problem, SceneError, shortened};
use super::polygon;
use super::resolve::Memory;
use crate::world::materials;
use crate::world::scene::{Mesh, Scene};

/// Reads the PLY file `bytes`, named `file`; the scene has one instance of its mesh, with the identity as pose.
///
/// # Errors
/// The first fault, with its position.
pub fn parse(bytes: &[u8], file: &Path) -> Result<Scene, SceneError> {
    let no_files = Memory::default();
    let mut assembly = Assembly::new(&no_files);
    let (mesh, origin) = read(bytes, file)?;
    assembly.add_material(materials::by_name("default"));
    let place = Place::of(file);
    if let Some(mesh) = assembly.add_mesh(mesh, &place) {
        assembly.set_origin(mesh, origin);
        assembly.add_instance(mesh, DAffine3::IDENTITY, &place);
    }
    assembly.finish(file, true)
}

/// Returns the mesh, and the position from which it counts its coordinates, metres.
fn read(bytes: &[u8], file: &Path) -> Result<(Mesh, DVec3), Fault> {
    let mut reader = Reader::new(bytes);
    let header = Parser::<Skipped>::new()
        .read_header(&mut reader)
        .map_err(|error| told(file, &error, Encoding::Ascii))?;
    let payload = reader.get_ref().len() as u64;
    for element in header.elements.values() {
        check_length(element, header.encoding, payload, file)?;
    }
    let mut vertices: Vec<Vertex> = Vec::new();
    let mut faces: Vec<Face> = Vec::new();
    for element in header.elements.values() {
        let outcome = match element.name.as_str() {
            "vertex" => {
                for axis in ["x", "y", "z"] {
                    let number = |p: &PropertyType| matches!(p, PropertyType::Scalar(_));
                    require(element, &[axis], number, "numbers `x`, `y` and `z`", file)?;
                }
                Parser::new()
                    .read_payload_for_element(&mut reader, element, &header)
                    .map(|read| vertices = read)
            }
            "face" => {
                let list = |p: &PropertyType| matches!(p, PropertyType::List(..));
                require(element, &CORNERS, list, "a list `vertex_indices`", file)?;
                Parser::new()
                    .read_payload_for_element(&mut reader, element, &header)
                    .map(|read| faces = read)
            }
            _ => Parser::<Skipped>::new()
                .read_payload_for_element(&mut reader, element, &header)
                .map(|_| ()),
        };
        outcome.map_err(|error| told(file, &error, header.encoding))?;
    }

    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut mesh = Mesh { name, ..Mesh::default() };
    let positions: Vec<DVec3> = vertices.iter().map(|v| v.position.into()).collect();
    let origin = positions.first().map_or(DVec3::ZERO, |&first| assemble::origin_for(first));
    mesh.positions = positions.iter().map(|&p| (p - origin).as_vec3().to_array()).collect();
    for (index, face) in faces.iter().enumerate() {
        if let Some(&corner) = face.corners.iter().find(|&&c| c as usize >= vertices.len()) {
            let problem = Problem::IndexOutOfRange {
                what: "vertex",
                index: i64::from(corner),
                available: vertices.len(),
                first: 0,
            };
            return Err(Fault::new(Place::element(file, format!("face {index}")), problem));
        }
        let corners: Vec<DVec3> = face.corners.iter().map(|&c| positions[c as usize]).collect();
        let triangles = polygon::triangles(&corners);
        mesh.triangles.extend(triangles.iter().map(|t| t.map(|corner| face.corners[corner])));
    }
    mesh.triangle_materials = vec![0; mesh.triangles.len()];
    Ok((mesh, origin))
}

/// Possible names of the property that lists a face's corners.
const CORNERS: [&str; 2] = ["vertex_indices", "vertex_index"];

/// Checks that the file is long enough for the counts in its header.
fn check_length(
    element: &ElementDef,
    encoding: Encoding,
    payload: u64,
    file: &Path,
) -> Result<(), Fault> {
    let least = match encoding {
        // An element has one line.
        Encoding::Ascii => 1,
        _ => element.properties.values().map(|p| least_bytes(&p.data_type)).sum(),
    };
    let fault =
        |problem| Fault::new(Place::element(file, format!("element `{}`", element.name)), problem);
    if least == 0 && element.count > 0 {
        return Err(fault(Problem::Syntax("has no properties".into())));
    }
    let announced = least.saturating_mul(element.count as u64);
    if announced > payload {
        let what = format!("{} elements", element.count);
        return Err(fault(Problem::Truncated { what, announced, available: payload }));
    }
    Ok(())
}

/// The smallest size of a property, bytes. An empty list has only its count.
fn least_bytes(property: &PropertyType) -> u64 {
    let (PropertyType::Scalar(scalar) | PropertyType::List(scalar, _)) = property;
    match scalar {
        ScalarType::Char | ScalarType::UChar => 1,
        ScalarType::Short | ScalarType::UShort => 2,
        ScalarType::Int | ScalarType::UInt | ScalarType::Float => 4,
        ScalarType::Double => 8,
    }
}

/// Checks that `element` has a property with one of `names` and the right type.
fn require(
    element: &ElementDef,
    names: &[&str],
    fits: impl Fn(&PropertyType) -> bool,
    expected: &str,
    file: &Path,
) -> Result<(), Fault> {
    let found = names.iter().filter_map(|&name| element.properties.get(name));
    if found.into_iter().any(|property| fits(&property.data_type)) {
        return Ok(());
    }
    let place = Place::element(file, format!("element `{}`", element.name));
    Err(Fault::new(place, Problem::Syntax(format!("must have {expected}"))))
}

/// Converts an error of the crate to a fault. Only text files have line numbers.
fn told(file: &Path, error: &ParseError, encoding: Encoding) -> Fault {
    let place = match error.line() {
        Some(line) if encoding == Encoding::Ascii => Place::line(file, line),
        _ => Place::of(file),
    };
    // The crate's message contains the line; the last cause describes the fault.
    let text = error.to_string();
    let cause = text.rsplit("Error: ").next().unwrap_or(&text);
    let cause = cause.split_once("\n").map_or(cause, |(first, _)| first);
    Fault::new(place, Problem::Syntax(format!("is not valid PLY: {}", shortened(cause))))
}

/// An element whose values are skipped.
struct Skipped;

impl PropertyAccess for Skipped {
    fn new() -> Self {
        Self
    }
}

struct Vertex {
    position: [f64; 3],
}

impl PropertyAccess for Vertex {
    fn new() -> Self {
        Self { position: [f64::NAN; 3] }
    }

    fn set_property(&mut self, name: &str, property: Property) -> PropertyAccessResult {
        let axis = match name {
            "x" => 0,
            "y" => 1,
            "z" => 2,
            _ => return PropertyAccessResult::Ignored,
        };
        self.position[axis] = match property {
            Property::Float(v) => f64::from(v),
            Property::Double(v) => v,
            Property::Char(v) => f64::from(v),
            Property::UChar(v) => f64::from(v),
            Property::Short(v) => f64::from(v),
            Property::UShort(v) => f64::from(v),
            Property::Int(v) => f64::from(v),
            Property::UInt(v) => f64::from(v),
            _ => return PropertyAccessResult::UnsupportedType,
        };
        PropertyAccessResult::Set
    }
}

struct Face {
    corners: Vec<u32>,
}

impl PropertyAccess for Face {
    fn new() -> Self {
        Self { corners: Vec::new() }
    }

    fn set_property(&mut self, name: &str, property: Property) -> PropertyAccessResult {
        if !CORNERS.contains(&name) {
            return PropertyAccessResult::Ignored;
        }
        match property.to_u32_list() {
            Some(corners) => {
                self.corners = corners;
                PropertyAccessResult::Set
            }
            None => PropertyAccessResult::UnsupportedType,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "ply\nformat ascii 1.0\ncomment c\nelement vertex 4\nproperty float x\n\
                          property double y\nproperty uchar red\nproperty short z\nelement face 1\n\
                          property list uchar int vertex_indices\nelement edge 1\n\
                          property int a\nend_header\n";
    const BODY: &str = "0 0 9 0\n1 0 9 0\n1 1.5 9 0\n0 1 9 2\n4 0 1 2 3\n7\n";

    fn load(text: &str) -> Result<Scene, String> {
        parse(text.as_bytes(), Path::new("m.ply")).map_err(|error| error.to_string())
    }

    fn binary(big: bool) -> Vec<u8> {
        let name = if big { "binary_big_endian" } else { "binary_little_endian" };
        let mut bytes = HEADER.replace("ascii", name).into_bytes();
        let mut put = |little: &[u8]| {
            let mut word = little.to_vec();
            if big {
                word.reverse();
            }
            bytes.extend(word);
        };
        for (x, y, z) in [(0f32, 0f64, 0i16), (1.0, 0.0, 0), (1.0, 1.5, 0), (0.0, 1.0, 2)] {
            put(&x.to_le_bytes());
            put(&y.to_le_bytes());
            put(&[9]);
            put(&z.to_le_bytes());
        }
        put(&[4]);
        (0..4i32).for_each(|corner| put(&corner.to_le_bytes()));
        put(&7i32.to_le_bytes());
        bytes
    }

    #[test]
    fn ascii_and_binary_hold_the_same_mesh() {
        let ascii = load(&format!("{HEADER}{BODY}")).unwrap();
        let mesh = &ascii.meshes[0];
        assert_eq!(mesh.triangles, [[0, 1, 2], [0, 2, 3]]);
        assert_eq!(mesh.positions[2], [1.0, 1.5, 0.0]);
        assert_eq!(mesh.positions[3], [0.0, 1.0, 2.0]);
        assert_eq!(ascii.materials[0].reflectance, materials::DEFAULT_REFLECTANCE);
        for big in [false, true] {
            let scene = parse(&binary(big), Path::new("m.ply")).unwrap();
            assert_eq!(scene.meshes[0].positions, mesh.positions);
            assert_eq!(scene.meshes[0].triangles, mesh.triangles);
        }
    }

    /// In `f32`, coordinates in a UTM grid have steps of half a metre.
    #[test]
    fn map_coordinates_keep_their_precision() {
        let header = HEADER.replace("float x", "double x").replace("short z", "float z");
        let body = "448000.1 5411000.3 9 0\n448001 5411000.3 9 0\n448001 5411001.5 9 0\n\
                    448000.1 5411001.5 9 2\n4 0 1 2 3\n7\n";
        let scene = load(&format!("{header}{body}")).unwrap();
        let [low, high] = scene.extents();
        assert!((low - DVec3::new(448_000.1, 5_411_000.3, 0.0)).length() < 1e-6, "{low}");
        assert!((high - DVec3::new(448_001.0, 5_411_001.5, 2.0)).length() < 1e-6, "{high}");
    }

    #[test]
    fn wrong_files_are_told() {
        for (from, to, expected) in [
            (
                "4 0 1 2 3",
                "4 0 1 2 4",
                "m.ply: face 0: vertex 4 does not exist; there are 4, counted from 0",
            ),
            (
                "4 0 1 2 3",
                "2 0 1",
                "m.ply: has no triangle with an area; lidars detect only triangles",
            ),
            (
                "1 1.5 9 0",
                "1 1.5 9",
                "m.ply:16: is not valid PLY: Expected element of type \
                                      'Scalar(Short)', but found nothing.",
            ),
            ("1 1.5 9 0", "1 nan 9 0", "m.ply:16: is not valid PLY: error at 1:3"),
            (
                "vertex 4",
                "vertex 99999999999",
                "m.ply: element `vertex`: declares 99999999999 bytes of 99999999999 elements, but \
              only 46 are left",
            ),
            ("float x", "float u", "m.ply: element `vertex`: must have numbers `x`, `y` and `z`"),
            (
                "vertex_indices",
                "corners",
                "m.ply: element `face`: must have a list `vertex_indices`",
            ),
            ("format ascii 1.0\n", "", "m.ply: is not valid PLY: No format line found."),
            ("ply\n", "plane\n", "m.ply:1: is not valid PLY: "),
        ] {
            let text = format!("{HEADER}{BODY}").replacen(from, to, 1);
            let told = load(&text).unwrap_err();
            assert!(told.starts_with(expected), "{to}: {told}");
        }
    }

    #[test]
    fn counts_are_not_believed() {
        let mut bytes = HEADER.replace("ascii", "binary_little_endian").into_bytes();
        bytes.extend([0; 30]);
        let told = parse(&bytes, Path::new("m.ply")).unwrap_err().to_string();
        assert!(told.contains("declares 60 bytes of 4 elements, but only 30"), "{told}");
        let endless = "ply\nformat binary_little_endian 1.0\nelement vertex 18446744073709551615\n\
                       end_header\n";
        assert_eq!(load(endless).unwrap_err(), "m.ply: element `vertex`: has no properties");
    }
}
