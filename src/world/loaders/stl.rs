//! STL meshes, ascii and binary; z up, metres.
//!
//! Normals are ignored, and corners at the same position are merged. STL has no materials, so the default grey is
//! used. A file that begins with `solid` is binary if its length matches the count in its header, or if a NUL is near
//! its start. ASCII files can contain several solids, in upper or lower case.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use glam::DAffine3;

use super::assemble::Assembly;
use super::error::{Fault, Place, Problem, SceneError, shortened};
use super::resolve::Memory;
use crate::world::materials;
use crate::world::scene::{Mesh, Scene};

/// Reads the STL file `bytes`, named `file`; the scene has one instance of its mesh, with the identity as pose.
///
/// # Errors
/// The first fault, with its position.
pub fn parse(bytes: &[u8], file: &Path) -> Result<Scene, SceneError> {
    let no_files = Memory::default();
    let mut assembly = Assembly::new(&no_files);
    let indexed = if is_ascii(bytes) { read_ascii(bytes, file) } else { read_binary(bytes, file) }?;
    let mesh = Mesh {
        name: file.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        label: None,
        positions: indexed.vertices.iter().map(|vertex| vertex.0).collect(),
        uvs: Vec::new(),
        triangle_materials: vec![0; indexed.faces.len()],
        triangles: indexed.faces.iter().map(|face| face.vertices.map(|v| v as u32)).collect(),
    };
    assembly.add_material(materials::by_name("default"));
    let place = Place::of(file);
    if let Some(mesh) = assembly.add_mesh(mesh, &place) {
        assembly.add_instance(mesh, DAffine3::IDENTITY, &place);
    }
    assembly.finish(file, true)
}

/// Length of a binary file's header, with the count of triangles at its end, bytes.
const HEADER_BYTES: usize = 84;
/// Length of the part of a file that is searched for a NUL, bytes.
const SEARCHED_BYTES: usize = 512;
/// Length of a triangle in a binary file, bytes.
const TRIANGLE_BYTES: u64 = 50;

/// Length of a binary file according to its header, bytes; `None` if the header is incomplete.
fn binary_length(bytes: &[u8]) -> Option<u64> {
    let count = bytes.get(80..HEADER_BYTES)?.try_into().ok().map(u32::from_le_bytes)?;
    Some(HEADER_BYTES as u64 + TRIANGLE_BYTES * u64::from(count))
}

fn is_ascii(bytes: &[u8]) -> bool {
    let word = bytes.trim_ascii_start();
    let begins = word.get(..5).is_some_and(|start| start.eq_ignore_ascii_case(b"solid"));
    let has_nul = bytes[..bytes.len().min(SEARCHED_BYTES)].contains(&0);
    begins && !has_nul && binary_length(bytes) != Some(bytes.len() as u64)
}

fn read_binary(bytes: &[u8], file: &Path) -> Result<stl_io::IndexedMesh, Fault> {
    let fault = |problem| Fault::new(Place::of(file), problem);
    let announced = binary_length(bytes).ok_or_else(|| {
        fault(Problem::Syntax("is not an STL file: neither `solid` nor a binary header".into()))
    })?;
    if announced > bytes.len() as u64 {
        let header = HEADER_BYTES as u64;
        let (announced, available) = (announced - header, bytes.len() as u64 - header);
        let what = "triangles".to_owned();
        return Err(fault(Problem::Truncated { what, announced, available }));
    }
    // The crate treats every file that begins with `solid` as ASCII, so the header is replaced by zeros.
    let blank = [0; 80];
    let mut reader = Binary { start: &blank, bytes, at: 0 };
    stl_io::read_stl(&mut reader).map_err(|error| fault(Problem::Syntax(error.to_string())))
}

fn read_ascii(bytes: &[u8], file: &Path) -> Result<stl_io::IndexedMesh, Fault> {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = Lines::new(&text);
    stl_io::read_stl(&mut lines).map_err(|error| {
        let problem =
            Problem::Syntax(format!("is not valid STL: {}", shortened(&error.to_string())));
        Fault::new(Place::line(file, lines.number), problem)
    })
}

/// Reader of a binary file. In place of the first 80 bytes, the header without the count, it returns zeros.
struct Binary<'a> {
    start: &'a [u8],
    bytes: &'a [u8],
    at: usize,
}

impl Read for Binary<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let source = self.start.get(self.at..).filter(|left| !left.is_empty());
        let mut source = source.unwrap_or(self.bytes.get(self.at..).unwrap_or_default());
        let count = source.read(out)?;
        self.at += count;
        Ok(count)
    }
}

impl Seek for Binary<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let SeekFrom::Start(at) = to else { return Err(io::ErrorKind::Unsupported.into()) };
        self.at = at as usize;
        Ok(at)
    }
}

/// Reader of an ASCII file that returns one line at a time, so that the line number of a fault is known. It converts
/// the text to lower case and joins all solids into one.
struct Lines<'a> {
    text: &'a str,
    rest: &'a str,
    current: io::Cursor<Vec<u8>>,
    /// Number of lines read so far.
    number: usize,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq)]
enum Stage {
    Start,
    Facets,
    End,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str) -> Self {
        let current = io::Cursor::default();
        Self { text, rest: text, current, number: 0, stage: Stage::Start }
    }

    /// The next line for the STL parser.
    fn next_line(&mut self) -> Option<String> {
        if self.stage == Stage::Start {
            self.stage = Stage::Facets;
            return Some("solid file\n".into());
        }
        while !self.rest.is_empty() {
            let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
            self.rest = rest;
            self.number += 1;
            let line = line.trim().to_lowercase();
            // Normals are ignored, and some programs write `nan(ind)` for those of degenerate triangles.
            if line.split_whitespace().take(2).eq(["facet", "normal"]) {
                return Some("facet normal 0 0 0\n".into());
            }
            if !line.starts_with("solid") && !line.starts_with("endsolid") {
                return Some(line + "\n");
            }
        }
        let ended = std::mem::replace(&mut self.stage, Stage::End) == Stage::End;
        (!ended).then(|| "endsolid\n".into())
    }
}

impl Read for Lines<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.current.read(out)?;
        if count > 0 || out.is_empty() {
            return Ok(count);
        }
        match self.next_line() {
            Some(line) => self.current = io::Cursor::new(line.into_bytes()),
            None => return Ok(0),
        }
        self.current.read(out)
    }
}

impl Seek for Lines<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match to {
            SeekFrom::Start(0) => *self = Self::new(self.text),
            _ => return Err(io::ErrorKind::Unsupported.into()),
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FACET: &str = "facet normal 0 0 1\n outer loop\n  vertex 0 0 0\n  vertex 1 0 0\n\
                         \n  vertex 1 1 0.5\n endloop\nendfacet\n";

    fn load(bytes: &[u8]) -> Result<Scene, String> {
        parse(bytes, Path::new("m.stl")).map_err(|error| error.to_string())
    }

    fn binary(header: &[u8], triangles: &[[f32; 9]]) -> Vec<u8> {
        let mut bytes = header.to_vec();
        bytes.resize(80, b' ');
        bytes.extend((triangles.len() as u32).to_le_bytes());
        for triangle in triangles {
            bytes.extend([0; 12]);
            triangle.iter().for_each(|c| bytes.extend(c.to_le_bytes()));
            bytes.extend([7, 7]);
        }
        bytes
    }

    #[test]
    fn ascii_is_read_whatever_its_case_and_number_of_solids() {
        let second = FACET.replace("1 1 0.5", "0 1 0").to_uppercase();
        let scene =
            load(format!("solid\n{FACET}endsolid\nSOLID b\n{second}ENDSOLID b\n").as_bytes());
        let mesh = &scene.unwrap().meshes[0];
        assert_eq!(mesh.triangles, [[0, 1, 2], [0, 1, 3]]);
        assert_eq!(mesh.positions[2], [1.0, 1.0, 0.5]);
    }

    #[test]
    fn binary_is_read_even_if_it_begins_with_solid() {
        let triangles =
            [[0., 0., 0., 1., 0., 0., 1., 1., 0.], [0., 0., 0., 1., 1., 0., 0., 1., 0.]];
        for header in [b"solid tool".as_slice(), b"", b"COLOR="] {
            let scene = load(&binary(header, &triangles)).unwrap();
            assert_eq!(scene.meshes[0].triangles, [[0, 1, 2], [0, 2, 3]]);
            assert_eq!(scene.materials[0].reflectance, materials::DEFAULT_REFLECTANCE);
            assert_eq!(scene.ground.len(), 1);
        }
        let mut longer = binary(b"solid tool", &triangles);
        longer.push(b'\n');
        assert_eq!(load(&longer).unwrap().meshes[0].triangles.len(), 2);
    }

    #[test]
    fn normals_need_not_be_numbers() {
        let odd = FACET.replace("0 0 1", "-nan(ind) -nan(ind) -nan(ind)");
        let scene = load(format!("solid x\n{odd}endsolid\n").as_bytes()).unwrap();
        assert_eq!(scene.meshes[0].triangles, [[0, 1, 2]]);
    }

    #[test]
    fn wrong_files_are_told() {
        let ascii = format!("solid x\n{FACET}endsolid\n");
        for (from, to, expected) in [
            ("vertex 1 0 0", "vertex 1 0", "m.stl:5: is not valid STL: vertex f32 f32 f32, got"),
            ("vertex 1 0 0", "vertex 1 nan 0", "m.stl:5: is not valid STL: expected finite f32"),
            ("vertex 1 0 0", "vertex 1 x 0", "m.stl:5: is not valid STL: invalid float literal"),
            ("endfacet\n", "", "m.stl:9: is not valid STL: expected [\"endfacet\"]"),
            ("1 1 0.5", "2 0 0", "m.stl: has no triangle with an area"),
        ] {
            let told = load(ascii.replacen(from, to, 1).as_bytes()).unwrap_err();
            assert!(told.starts_with(expected), "{to}: {told}");
        }
        assert_eq!(
            load(b"hello").unwrap_err(),
            "m.stl: is not an STL file: neither `solid` nor a binary header"
        );
        let mut cut = binary(b"", &[[0.0; 9]; 3]);
        cut.truncate(150);
        let told = load(&cut).unwrap_err();
        assert_eq!(told, "m.stl: declares 150 bytes of triangles, but only 66 are left");
        let nan = binary(b"", &[[0., 0., 0., 1., 0., f32::NAN, 1., 1., 0.]]);
        assert_eq!(load(&nan).unwrap_err(), "m.stl: coordinate NaN is not within ±10000000 m");
    }
}
