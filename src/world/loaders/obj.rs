//! Wavefront OBJ meshes: `v`, `vt`, `f`, `usemtl`, `mtllib`; z up, metres.
//!
//! Polygons are cut into triangles, see `polygon.rs`; negative indices count back from the newest. Normals, groups,
//! lines and points are ignored. If no file defines a material, its name determines its optics, see
//! [`materials::by_name`]. Triangles without a material get the default grey.
//!
//! `tobj` builds the mesh. Its errors have no line numbers, it overflows at negative indices that are too large, and it
//! copies the last name for each group. This module therefore checks every statement first and passes on only
//! statements that are valid and needed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

use glam::{DAffine3, DVec3};

use super::assemble::{self, Assembly};
use super::error::{Fault, Place, Problem, SceneError, clipped};
use super::mtl::{self, Statement};
use super::oddity::Oddity;
use super::polygon;
use super::resolve::{Resolver, folder_of, named};
use crate::world::materials;
use crate::world::scene::{MaterialId, Mesh, Scene};

/// Reads the OBJ file `bytes`, named `file`; the scene has one instance of its mesh, with the identity as pose.
///
/// # Errors
/// All errors in the file, and in the material files, textures and spectra that it names.
pub fn parse(bytes: &[u8], file: &Path, resolver: &dyn Resolver) -> Result<Scene, SceneError> {
    let mut assembly = Assembly::new(resolver);
    if let Some(mesh) = read(bytes, file, None, None, &mut assembly) {
        assembly.add_instance(mesh, DAffine3::IDENTITY, &Place::of(file));
    }
    assembly.finish(file, true)
}

/// Adds the mesh and its materials to `assembly`; returns the mesh's index, or `None` after a fault. `library` replaces
/// the material files that the mesh names. The search for spectra starts in `spectra_folder`.
pub(super) fn read(
    bytes: &[u8],
    file: &Path,
    library: Option<&str>,
    spectra_folder: Option<&Path>,
    assembly: &mut Assembly,
) -> Option<u32> {
    let checked = check(&String::from_utf8_lossy(bytes), file);
    let checked = assembly.keep(checked)?;
    let libraries = match library {
        Some(name) => vec![(name.to_owned(), Place::of(file))],
        None => checked.libraries,
    };
    let mut defined: BTreeMap<String, Statement> = BTreeMap::new();
    let mut seen: BTreeSet<PathBuf> = BTreeSet::new();
    for (name, place) in libraries {
        let path = named(folder_of(file), &name);
        if !seen.insert(path.clone()) {
            continue;
        }
        if !assembly.resolver.exists(&path) {
            assembly.warn(&place, Oddity::NoMaterials { path });
            continue;
        }
        if let Some(bytes) = assembly.read(&path, &place) {
            let statements = mtl::parse(&bytes, &path);
            for statement in assembly.keep(statements).unwrap_or_default() {
                defined.insert(statement.name.clone(), statement);
            }
        }
    }
    let ids: Vec<MaterialId> = checked
        .materials
        .iter()
        .map(|name| {
            let material = match defined.get(name) {
                Some(statement) => statement.load(assembly, spectra_folder),
                None => {
                    if name != UNNAMED {
                        let odd = Oddity::NoMaterial { name: name.clone() };
                        assembly.warn(&Place::of(file), odd);
                    }
                    materials::by_name(name)
                }
            };
            assembly.add_material(material)
        })
        .collect();
    let mesh = build(&checked.text, &ids, file);
    let mesh = assembly.keep(mesh)?;
    let mesh = assembly.add_mesh(mesh, &Place::of(file))?;
    assembly.set_origin(mesh, checked.origin);
    Some(mesh)
}

/// Reads the mesh without its materials; all triangles get `material`.
pub(super) fn read_shape(bytes: &[u8], file: &Path, material: MaterialId) -> Result<Mesh, Fault> {
    let checked = check(&String::from_utf8_lossy(bytes), file)?;
    let mut mesh = build(&checked.text, &vec![material; checked.materials.len()], file)?;
    for position in &mut mesh.positions {
        *position = (DVec3::from(position.map(f64::from)) + checked.origin).as_vec3().to_array();
    }
    Ok(mesh)
}

/// Name of the material of faces before the first `usemtl`.
const UNNAMED: &str = "default";

/// An OBJ file reduced to valid statements that are needed.
struct Checked {
    /// Statements for `tobj`. Materials are named by their index in `materials`. Every face has positive indices of
    /// positions and texture coordinates; the first texture coordinate means "none".
    text: String,
    /// Position from which `text` counts its coordinates, metres.
    origin: DVec3,
    /// Names of the materials in the order in which faces first use them.
    materials: Vec<String>,
    /// Material files named by the OBJ file, with the positions of the names.
    libraries: Vec<(String, Place)>,
}

fn check(text: &str, file: &Path) -> Result<Checked, Fault> {
    let mut out = Checked {
        text: String::with_capacity(text.len()),
        origin: DVec3::ZERO,
        materials: Vec::new(),
        libraries: Vec::new(),
    };
    out.text.push_str("mtllib all\nvt 0 0\n");
    let mut materials: BTreeMap<String, usize> = BTreeMap::new();
    let mut vertices: Vec<DVec3> = Vec::new();
    let mut coordinates = 0;
    let mut material = UNNAMED.to_owned();
    // Whether the next face is the first of its material.
    let mut switched = true;

    let mut lines = text.lines().enumerate();
    let mut joined = String::new();
    while let Some((index, mut line)) = lines.next() {
        if line.ends_with('\\') {
            joined.clear();
            while let Some(part) = line.strip_suffix('\\') {
                joined.push_str(part);
                joined.push(' ');
                line = lines.next().map_or("", |(_, next)| next);
            }
            joined.push_str(line);
            line = &joined;
        }
        let at = |word: &str| {
            let offset = word.as_ptr() as usize - line.as_ptr() as usize;
            let column = line[..offset].chars().count() + 1;
            Place { column: Some(clipped(column)), ..Place::line(file, index + 1) }
        };
        let statement = line.trim();
        // The position of a missing word is an empty slice at the end of the line.
        let nothing = &statement[statement.len()..];
        let (keyword, rest) =
            statement.split_once(char::is_whitespace).unwrap_or((statement, nothing));
        let rest = rest.trim();
        // Names can contain `#`.
        let values = rest.split_once('#').map_or(rest, |(before, _)| before.trim());
        match keyword {
            "v" => {
                let read = numbers::<3>("v", values)
                    .map_err(|(word, problem)| Fault::new(at(word), problem))?;
                let position = DVec3::from(read.map(|(number, _)| number));
                if vertices.is_empty() {
                    out.origin = assemble::origin_for(position);
                }
                vertices.push(position);
                let _ = if out.origin == DVec3::ZERO {
                    let [x, y, z] = read.map(|(_, word)| word);
                    writeln!(out.text, "v {x} {y} {z}")
                } else {
                    let [x, y, z] = (position - out.origin).to_array();
                    writeln!(out.text, "v {x} {y} {z}")
                };
            }
            "vt" => {
                let [(_, u), (_, v)] = numbers::<2>("vt", values)
                    .map_err(|(word, problem)| Fault::new(at(word), problem))?;
                let _ = writeln!(out.text, "vt {u} {v}");
                coordinates += 1;
            }
            // With fewer than three corners, `f` is a point or a line.
            "f" if values.split_whitespace().nth(2).is_some() => {
                if switched {
                    let number = *materials.entry(material.clone()).or_insert(out.materials.len());
                    if number == out.materials.len() {
                        out.materials.push(material.clone());
                    }
                    let _ = writeln!(out.text, "usemtl {number}");
                    switched = false;
                }
                let mut corners = Vec::new();
                for word in values.split_whitespace() {
                    let (v, vt) = corner(word, vertices.len(), coordinates)
                        .map_err(|problem| Fault::new(at(word), problem))?;
                    corners.push((v, vt.map_or(1, |vt| vt + 1)));
                }
                let positions: Vec<DVec3> = corners.iter().map(|&(v, _)| vertices[v - 1]).collect();
                for triangle in polygon::triangles(&positions) {
                    let [(a, s), (b, t), (c, u)] = triangle.map(|corner| corners[corner]);
                    let _ = writeln!(out.text, "f {a}/{s} {b}/{t} {c}/{u}");
                }
            }
            "usemtl" if !rest.is_empty() => {
                rest.clone_into(&mut material);
                switched = true;
            }
            "mtllib" if !rest.is_empty() => {
                out.libraries.push((rest.to_owned(), Place::line(file, index + 1)));
            }
            _ => {}
        }
    }
    Ok(out)
}

/// The first numbers of a statement, each with its text. An error contains the invalid word. Texture coordinates can
/// have a single number.
fn numbers<'a, const COUNT: usize>(
    keyword: &str,
    rest: &'a str,
) -> Result<[(f64, &'a str); COUNT], (&'a str, Problem)> {
    let mut words = rest.split_whitespace();
    let mut out = [(0.0, "0"); COUNT];
    for (index, place) in out.iter_mut().enumerate() {
        let word = match words.next() {
            Some(word) => word,
            None if keyword == "vt" && index == 1 => break,
            None => {
                let problem = Problem::Syntax(format!("`{keyword}` takes {COUNT} numbers"));
                return Err((rest, problem));
            }
        };
        match word.parse::<f64>() {
            Ok(number) if (number as f32).is_finite() => *place = (number, word),
            _ => {
                let expected = format!("a finite number in `{keyword}`");
                return Err((word, Problem::wrong(expected, word)));
            }
        }
    }
    Ok(out)
}

/// Indices, from 1, of the position and the texture coordinate of a face's corner: `v`, `v/vt`, `v//vn` or `v/vt/vn`.
fn corner(
    word: &str,
    vertices: usize,
    coordinates: usize,
) -> Result<(usize, Option<usize>), Problem> {
    let mut parts = word.split('/');
    let vertex = parts.next().unwrap_or_default();
    let coordinate = parts.next().filter(|part| !part.is_empty());
    let resolve = |text: &str, what: &'static str, available: usize| {
        let index: i64 = text
            .parse()
            .map_err(|_| Problem::wrong("a corner `v`, `v/vt`, `v//vn` or `v/vt/vn`", word))?;
        let positive = if index < 0 { available as i64 + 1 + index } else { index };
        match usize::try_from(positive) {
            Ok(positive) if (1..=available).contains(&positive) => Ok(positive),
            _ => Err(Problem::IndexOutOfRange { what, index, available, first: 1 }),
        }
    };
    let v = resolve(vertex, "vertex", vertices)?;
    let vt = coordinate.map(|text| resolve(text, "texture coordinate", coordinates)).transpose()?;
    Ok((v, vt))
}

/// Builds one mesh from checked statements. `ids` are the materials by their index in [`Checked::materials`].
fn build(text: &str, ids: &[MaterialId], file: &Path) -> Result<Mesh, Fault> {
    let options = tobj::LoadOptions {
        single_index: true,
        triangulate: true,
        ignore_points: true,
        ignore_lines: true,
    };
    let numbered = |_: &Path| {
        let material = |n: usize| tobj::Material { name: n.to_string(), ..Default::default() };
        let materials: Vec<_> = (0..ids.len()).map(material).collect();
        let by_name = materials.iter().enumerate().map(|(n, m)| (m.name.clone(), n)).collect();
        Ok((materials, by_name))
    };
    let (models, _) = tobj::load_obj_buf(&mut text.as_bytes(), &options, numbered)
        .map_err(|error| Fault::new(Place::of(file), Problem::Syntax(error.to_string())))?;

    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut mesh = Mesh { name, ..Mesh::default() };
    for model in models {
        let part = model.mesh;
        let base = mesh.positions.len() as u32;
        mesh.positions.extend(part.positions.as_chunks::<3>().0);
        mesh.uvs.extend(part.texcoords.as_chunks::<2>().0);
        let corners = part.indices.as_chunks::<3>().0;
        mesh.triangles.extend(corners.iter().map(|corner| corner.map(|index| base + index)));
        let material = part.material_id.and_then(|n| ids.get(n)).copied().unwrap_or_default();
        mesh.triangle_materials.resize(mesh.triangles.len(), material);
    }
    Ok(mesh)
}

#[cfg(test)]
mod tests {
    use super::super::resolve::Memory;
    use super::super::texture::tests::{TWO_OPAQUE_PIXELS, bmp_of};
    use super::*;

    fn load(text: &str, files: Memory) -> Result<Scene, String> {
        parse(text.as_bytes(), Path::new("d/m.obj"), &files).map_err(|error| error.to_string())
    }

    const SQUARE: &str = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\n";

    /// The corners of each triangle, in order.
    fn corners(scene: &Scene) -> Vec<[[f32; 3]; 3]> {
        let mesh = &scene.meshes[0];
        mesh.triangles.iter().map(|t| t.map(|v| mesh.positions[v as usize])).collect()
    }

    #[test]
    fn polygons_become_fans_and_negative_indices_count_back() {
        let scene = load(&format!("{SQUARE}f 1 2 3 4\n"), Memory::default()).unwrap();
        let (a, b, c, d) = ([0., 0., 0.], [1., 0., 0.], [1., 1., 0.], [0., 1., 0.]);
        assert_eq!(corners(&scene), [[a, b, c], [a, c, d]]);
        let back = load(&format!("{SQUARE}f -4//1 -3//1 \\\n -2//1 -1//1\n"), Memory::default());
        assert_eq!(corners(&back.unwrap()), corners(&scene));
        assert_eq!(scene.ground.len(), 1);
        let material = &scene.materials[0];
        assert_eq!((material.name.as_str(), material.reflectance), ("default", 0.2));
    }

    /// An L, from a corner whose fan covers the open notch.
    #[test]
    fn concave_polygons_keep_their_notch() {
        let corners_of_l = "v 0 0 0\nv 2 0 0\nv 2 1 0\nv 1 1 0\nv 1 2 0\nv 0 2 0\n";
        let scene = load(&format!("{corners_of_l}f 2 3 4 5 6 1\n"), Memory::default()).unwrap();
        let double_area: f32 = corners(&scene)
            .iter()
            .map(|&[[ax, ay, _], [bx, by, _], [cx, cy, _]]| {
                ((bx - ax) * (cy - ay) - (by - ay) * (cx - ax)).abs()
            })
            .sum();
        assert_eq!((corners(&scene).len(), double_area), (4, 6.0));
    }

    /// In `f32`, coordinates in a UTM grid have steps of half a metre.
    #[test]
    fn map_coordinates_keep_their_precision() {
        let square = "v 448000.1 5411000.3 0\nv 448000.25 5411000.3 0\nv 448000.25 5411040.3 2\n";
        let scene = load(&format!("{square}f 1 2 3\n"), Memory::default()).unwrap();
        let [low, high] = scene.extents();
        assert!((low - DVec3::new(448_000.1, 5_411_000.3, 0.0)).length() < 1e-5, "{low}");
        assert!((high - DVec3::new(448_000.25, 5_411_040.3, 2.0)).length() < 1e-5, "{high}");
        let mesh = read_shape(format!("{square}f 1 2 3\n").as_bytes(), Path::new("m.obj"), 0);
        assert_eq!(mesh.unwrap().positions[0], [448_000.1, 5_411_000.5, 0.0]);
    }

    #[test]
    fn comments_behind_numbers_are_ignored() {
        let text = SQUARE.replace("0 0 0\n", "0 0 0 # corner\n");
        let scene = load(&format!("{text}f 1 2 3 4 # quad\nf 1 2 #3\n"), Memory::default());
        assert_eq!(scene.unwrap().meshes[0].triangles.len(), 2);
    }

    #[test]
    fn materials_and_textures_reach_their_triangles() {
        let files = Memory::default()
            .with("d/m.mtl", "newmtl red\nKd 0.5 0 0\nmap_Kd t.bmp\nmap_d t.bmp\nnewmtl idle\n")
            .with("d/t.bmp", bmp_of(2, 1, 3, &TWO_OPAQUE_PIXELS));
        let text = format!(
            "mtllib m.mtl\n{SQUARE}vt 0.25 0.5\nvt 0.75 0.5\nvt 1\nf 1/-3 2/2 3/3\n\
             usemtl red\nusemtl idle\nusemtl red\nf 1/1 3/2 4/3\nusemtl grass\nf 1 2 4\n"
        );
        let scene = load(&text, files).unwrap();
        let names: Vec<&str> = scene.materials.iter().map(|m| m.name.as_str()).collect();
        assert_eq!(names, ["default", "red", "grass"]);
        assert_eq!(scene.materials[2].reflectance, 0.5);
        let mesh = &scene.meshes[0];
        assert_eq!(mesh.triangle_materials, [0, 1, 2]);
        assert_eq!(mesh.uvs.len(), mesh.positions.len());
        let uv_of = |t: usize| mesh.triangles[t].map(|v| mesh.uvs[v as usize]);
        assert_eq!(uv_of(1), [[0.25, 0.5], [0.75, 0.5], [1.0, 0.0]]);
        assert_eq!(uv_of(2), [[0.0, 0.0]; 3]);
        let map = scene.materials[1].reflectance_map.as_ref().unwrap();
        assert_eq!(map.sample([0.25, 0.5]), 200.0 / 255.0);
        assert_eq!(map.sample([1.75, 0.5]), 100.0 / 255.0);
        assert!(scene.materials[1].opacity_mask.is_some());
    }

    #[test]
    fn faults_name_line_and_column() {
        for (text, expected) in [
            ("f 1 2 3", "d/m.obj:5:3: vertex 1 does not exist; there are 0, counted from 1"),
            ("v 0 0", "d/m.obj:5:3: `v` takes 3 numbers"),
            (" v", "d/m.obj:5:3: `v` takes 3 numbers"),
            ("v 0 nan 0", "d/m.obj:5:5: expected a finite number in `v`, got nan"),
            ("v 0 0 1e39", "d/m.obj:5:7: expected a finite number in `v`, got 1e39"),
            ("vt x", "d/m.obj:5:4: expected a finite number in `vt`, got x"),
        ] {
            let text = format!("#\n#\n\n# ä\n{text}\n{SQUARE}");
            assert_eq!(load(&text, Memory::default()).unwrap_err(), expected);
        }
        for (face, expected) in [
            ("1 2 5", "d/m.obj:5:7: vertex 5 does not exist; there are 4, counted from 1"),
            ("1 2 0", "d/m.obj:5:7: vertex 0 does not exist; there are 4, counted from 1"),
            (
                "1 -9223372036854775808 3",
                "d/m.obj:5:5: vertex -9223372036854775808 does not exist; there are 4, \
              counted from 1",
            ),
            (
                "1/2 2 3",
                "d/m.obj:5:3: texture coordinate 2 does not exist; there are 0, counted from 1",
            ),
            (
                "1/a 2 3",
                "d/m.obj:5:3: expected a corner `v`, `v/vt`, `v//vn` or `v/vt/vn`, got 1/a",
            ),
        ] {
            let outcome = load(&format!("{SQUARE}f {face}\n"), Memory::default());
            assert_eq!(outcome.unwrap_err(), expected);
        }
    }

    #[test]
    fn empty_and_flat_files_are_refused() {
        let none = "d/m.obj: has no triangle with an area; lidars detect only triangles";
        for text in ["", SQUARE, &format!("{SQUARE}f 1 2\nl 1 2\nf 1 1 2\n")] {
            assert_eq!(load(text, Memory::default()).unwrap_err(), none);
        }
    }

    #[test]
    fn missing_material_files_leave_plain_materials() {
        let files = Memory::default();
        let mut assembly = Assembly::new(&files);
        let text = format!(
            "mtllib a b.mtl\nmtllib c.mtl\nmtllib a b.mtl\n{SQUARE}usemtl grass\nf 1 2 3\n\
             usemtl x\nf 1 3 4\n"
        );
        let mesh = read(text.as_bytes(), Path::new("d/m.obj"), None, None, &mut assembly);
        assert!(mesh.is_some());
        let reflectances: Vec<f32> =
            assembly.scene().materials.iter().map(|material| material.reflectance).collect();
        assert_eq!(reflectances, [0.5, 0.2]);
        assert_eq!(
            assembly.warnings(),
            [
                "d/m.obj:1: there is no file `d/a b.mtl`: its materials are plain (the first of 2)",
                "d/m.obj: no file defines the material `grass`: it is plain (the first of 2)",
            ]
        );
    }

    #[test]
    fn many_switches_of_a_long_name_stay_small() {
        let name = "x".repeat(1000);
        let mut text = SQUARE.to_owned();
        for _ in 0..2000 {
            text.push_str(&format!("usemtl {name}\nf 1 2 3\nusemtl b\nf 1 2 3\n"));
        }
        let checked = check(&text, Path::new("m.obj")).unwrap();
        assert!(checked.text.len() < text.len() / 10);
        assert_eq!(checked.materials.len(), 2);
    }
}
