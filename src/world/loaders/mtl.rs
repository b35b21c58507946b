//! Material files (`.mtl`) of OBJ meshes, with the `Kd spectral` of MAVS.
//!
//! `tobj` could read material files, but it rejects `Kd spectral`, panics at a `Kd` with fewer than three
//! numbers, and loses the line that names a texture.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use super::assemble::Assembly;
use super::error::{Fault, Place, Problem};
use super::oddity::Oddity;
use super::resolve::{Resolver, folder_of, named};
use super::texture::Channel;
use crate::world::colours::Rgb;
use crate::world::materials;
use crate::world::scene::{Finish, Material};

/// The statements of one material that the simulation needs.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Statement {
    /// Name after `newmtl`.
    pub name: String,
    /// Diffuse colour `Kd` as written in the file, and its position in the file. Lasers use the red component.
    diffuse: Option<(Rgb, Place)>,
    /// File named by `Kd spectral`, and its position.
    spectrum: Option<(String, Place)>,
    /// File named by `map_Kd`, and its position.
    diffuse_map: Option<(String, Place)>,
    /// File named by `map_d`, and its position.
    opacity_map: Option<(String, Place)>,
    /// The first option of a map, and its position; options are not supported.
    option: Option<(String, Place)>,
    /// Value and position of each of [`PROPERTIES`] that the material has.
    properties: BTreeMap<&'static str, (String, Place)>,
    /// Path of the material file.
    file: PathBuf,
}

/// Keys of specular reflection and transparency: colour and exponent of the highlight, opacity or transparency,
/// refractive index, and illumination model.
const PROPERTIES: [&str; 6] = ["Ks", "Ns", "d", "Tr", "Ni", "illum"];

/// Largest component of a `Ks` that some programs write for every surface, even a diffuse one. Such a `Ks` counts
/// only if `illum` requests reflections.
const USUAL_HIGHLIGHT: f32 = 0.5;
/// Opacity from which a material counts as opaque.
const OPAQUE: f32 = 0.99;

/// The materials of an .mtl file, in the order of the file. Statements that the simulation does not need are skipped.
pub(super) fn parse(bytes: &[u8], file: &Path) -> Result<Vec<Statement>, Fault> {
    let text = String::from_utf8_lossy(bytes);
    let mut materials: Vec<Statement> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let place = Place::line(file, index + 1);
        let line = line.trim();
        let (keyword, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        if keyword == "newmtl" {
            if rest.is_empty() {
                let problem = Problem::Syntax("`newmtl` has no name".into());
                return Err(Fault::new(place, problem));
            }
            materials.push(Statement {
                name: rest.to_owned(),
                diffuse: None,
                spectrum: None,
                diffuse_map: None,
                opacity_map: None,
                option: None,
                properties: BTreeMap::new(),
                file: file.to_owned(),
            });
            continue;
        }
        // Statements before the first material are ignored.
        let Some(material) = materials.last_mut() else { continue };
        match keyword {
            "Kd" => match rest.strip_prefix("spectral") {
                Some(path) => {
                    // A factor can follow the file name; MAVS ignores it.
                    let path = path.split_whitespace().next().unwrap_or_default();
                    material.spectrum = Some((non_empty(path, keyword, &place)?, place));
                }
                None => material.diffuse = Some((colour(rest, &place)?, place)),
            },
            "map_Kd" => {
                material.diffuse_map =
                    Some((texture_name(rest, keyword, &place, &mut material.option)?, place));
            }
            "map_d" => {
                material.opacity_map =
                    Some((texture_name(rest, keyword, &place, &mut material.option)?, place));
            }
            _ => {
                if let Some(property) = PROPERTIES.into_iter().find(|name| *name == keyword) {
                    material.properties.insert(property, (rest.to_owned(), place));
                }
            }
        }
    }
    Ok(materials)
}

impl Statement {
    /// Creates the material and reads its textures and spectrum. The search for a spectrum covers `spectra_folder`, if
    /// given, then the material file's folder and all folders above it. For lasers, a spectrum replaces colour and
    /// texture, as in MAVS.
    pub fn load(&self, assembly: &mut Assembly, spectra_folder: Option<&Path>) -> Material {
        let folder = folder_of(&self.file);
        let mut material = materials::by_name(&self.name);
        if let Some((option, place)) = &self.option {
            assembly.warn(place, Oddity::MapOption { option: option.clone() });
        }
        let spectral = self.spectrum.as_ref().and_then(|(name, place)| {
            let path = find_spectrum(assembly.resolver, name, spectra_folder, folder);
            assembly.spectrum(&path, place)
        });
        // The texture is read even if a spectrum replaces it, so that a missing file is reported.
        let map = self.diffuse_map.as_ref().and_then(|(name, place)| {
            let path = named(folder, name);
            let odd = |path| Oddity::NoTexture { path };
            assembly.texture_if_there(&path, Channel::First, place, odd)
        });
        if let Some(([red, ..], place)) = &self.diffuse {
            material.reflectance = red.clamp(0.0, 1.0);
            if material.reflectance != *red {
                let odd = Oddity::Colour { value: *red, taken: material.reflectance };
                assembly.warn(place, odd);
            }
        } else if map.is_some() {
            material.reflectance = 1.0;
        }
        // Cameras see the texture even if a spectrum replaces it for lasers.
        material.colour_map = map
            .as_ref()
            .and(self.diffuse_map.as_ref())
            .and_then(|(name, _)| assembly.colour_map(&named(folder, name)));
        let written = self.diffuse.as_ref().map(|(colour, _)| colour.map(|c| c.clamp(0.0, 1.0)));
        material.colour = written
            .or(map.is_some().then_some([1.0; 3]))
            .or(spectral.and_then(|spectral| spectral.colour));
        match spectral {
            Some(spectral) => material.reflectance = spectral.reflectance,
            None => material.reflectance_map = map,
        }
        if let Some((name, place)) = &self.opacity_map {
            let path = named(folder, name);
            let odd = |path| Oddity::NoMask { path };
            material.opacity_mask = assembly.texture_if_there(&path, Channel::First, place, odd);
        }
        self.finish(&mut material, spectral.is_some(), assembly);
        material
    }

    /// Sets the finish of the material. `Ni` and `Ns` are read only if they have an effect, because some programs write
    /// invalid ones.
    fn finish(&self, material: &mut Material, is_measured: bool, assembly: &mut Assembly) {
        let light = self.number("illum", 0.0..=10.0, "a whole number from 0 to 10", assembly);
        let light = light.map(|light| light as u8);
        let is_textured = self.diffuse_map.is_some();
        let opacity = self.opacity(assembly);
        let is_glass = opacity.is_none() && matches!(light, Some(4 | 6 | 7 | 9)) && !is_textured;
        material.finish = Finish::Matt;
        if is_glass || opacity.is_some_and(|opacity| opacity < OPAQUE) {
            let index = self.number("Ni", 1.0..=5.0, "a refractive index of 1 to 5", assembly);
            let index = index.unwrap_or(materials::GLASS_INDEX);
            let clear = 1.0 - opacity.unwrap_or(0.0);
            material.finish = Finish::Glass { index, clear, faces: 2 };
            material.reflectance =
                opacity.map_or(materials::DIRT, |opacity| opacity * material.reflectance);
            // Without an opacity, the pane is clear, and only the dirt on it is visible.
            material.colour = match (material.colour, opacity) {
                (Some(colour), Some(opacity)) => Some(colour.map(|part| opacity * part)),
                _ => None,
            };
            return;
        }
        let counts_from = match light {
            Some(0 | 1) => f32::INFINITY,
            None | Some(2) => USUAL_HIGHLIGHT,
            Some(_) => 0.0,
        };
        if !is_measured
            && counts_from.is_finite()
            && let Some(highlight) =
                self.number("Ks", 0.0..=1.0, "a colour of numbers from 0 to 1", assembly)
            && highlight > counts_from
        {
            let exponent = self.number("Ns", 0.0..=10_000.0, "a number from 0 to 10000", assembly);
            let peak = highlight.min(1.0 - material.reflectance);
            material.finish = Finish::Glossy { peak, exponent: exponent.unwrap_or_default() };
        }
        Assembly::finish_by_name(material, is_textured, is_measured);
    }

    /// Opacity of the material; `None` if the file does not set it or sets it to 0, or if a map sets the opacity of
    /// each texel.
    fn opacity(&self, assembly: &mut Assembly) -> Option<f32> {
        let dissolve = self.number("d", 0.0..=1.0, "a number from 0 to 1", assembly);
        let clear = self.number("Tr", 0.0..=1.0, "a number from 0 to 1", assembly);
        if self.opacity_map.is_some() {
            return None;
        }
        if dissolve == Some(0.0) {
            if let Some((_, place)) = self.properties.get("d") {
                assembly.warn(place, Oddity::Dissolved);
            }
            return None;
        }
        // Programs that confuse `Tr` with `d` write 1 for opaque materials.
        dissolve.or(clear.filter(|&clear| clear < 1.0).map(|clear| 1.0 - clear))
    }

    /// The first number of a property. A number outside `range` gives a warning and is replaced by the nearest number
    /// in `range`. `None` if the file lacks the property or, with a warning, if its first word is no finite number.
    fn number(
        &self,
        property: &'static str,
        range: RangeInclusive<f32>,
        allowed: &'static str,
        assembly: &mut Assembly,
    ) -> Option<f32> {
        let (text, place) = self.properties.get(property)?;
        let word = text.split_whitespace().find(|&word| word != "-halo").unwrap_or_default();
        match word.parse::<f32>() {
            Ok(value) => assembly.within(property, value, (range, allowed), place),
            Err(_) => {
                let (got, instead) = (format!("`{text}`"), "left out".to_owned());
                let odd = Oddity::Property { key: property, got, allowed, instead };
                assembly.warn(place, odd);
                None
            }
        }
    }
}

/// Path of a spectrum file. The search covers `spectra_folder`, `folder` and the folders above it, each with and
/// without `spectra/`. If no file exists, this is the path where the file is expected.
pub(super) fn find_spectrum(
    resolver: &dyn Resolver,
    name: &str,
    spectra_folder: Option<&Path>,
    folder: &Path,
) -> PathBuf {
    let places = spectra_folder.into_iter().chain(folder.ancestors());
    let mut candidates = places.flat_map(|f| [named(f, name), named(&f.join("spectra"), name)]);
    candidates
        .find(|path| resolver.exists(path))
        .unwrap_or_else(|| named(spectra_folder.unwrap_or(folder), name))
}

/// Reads a colour. A single number is grey, as the format defines; a missing or invalid component equals the red one.
fn colour(text: &str, place: &Place) -> Result<Rgb, Fault> {
    let mut words = text.split_whitespace();
    match words.next().unwrap_or_default().parse::<f32>() {
        // Values outside 0 to 1 are clamped when the material is used.
        Ok(red) if red.is_finite() => {
            let mut other = || {
                let value = words.next().and_then(|word| word.parse::<f32>().ok());
                value.filter(|value| value.is_finite()).unwrap_or(red)
            };
            Ok([red, other(), other()])
        }
        _ => {
            let expected = "a diffuse colour `Kd` of numbers from 0 to 1";
            Err(Fault::new(place.clone(), Problem::wrong(expected, text)))
        }
    }
}

/// Reads the file name after the options of a map statement. Stores the first option in `seen`.
fn texture_name(
    text: &str,
    keyword: &str,
    place: &Place,
    seen: &mut Option<(String, Place)>,
) -> Result<String, Fault> {
    let mut rest = text;
    while rest.starts_with('-') {
        let (option, after) = next_word(rest);
        // Number of words after each option; -o, -s and -t take one to three numbers.
        let (least, most) = match option {
            "-o" | "-s" | "-t" => (1, 3),
            "-mm" => (2, 2),
            _ => (1, 1),
        };
        rest = after;
        for taken in 0..most {
            let (word, after) = next_word(rest);
            if taken >= least && word.parse::<f32>().is_err() {
                break;
            }
            rest = after;
        }
        seen.get_or_insert_with(|| (format!("{keyword} {option}"), place.clone()));
    }
    non_empty(rest, keyword, place)
}

fn next_word(text: &str) -> (&str, &str) {
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, rest.trim_start())
}

fn non_empty(name: &str, keyword: &str, place: &Place) -> Result<String, Fault> {
    if name.is_empty() {
        let problem = Problem::Syntax(format!("`{keyword}` names no file"));
        return Err(Fault::new(place.clone(), problem));
    }
    Ok(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::resolve::Memory;
    use super::*;

    fn parsed(text: &str) -> Result<Vec<Statement>, String> {
        parse(text.as_bytes(), Path::new("a/b/m.mtl")).map_err(|fault| fault.to_string())
    }

    #[test]
    fn statements_are_read_with_their_lines() {
        let text = "# c\nKd 1 1 1\nnewmtl my leaf \r\n Kd 0.25 0.5 0.75\nmap_Kd leaf one.bmp\n\
                    map_d -s 1 1 -clamp on m.bmp\nNs 4\nnewmtl wall\nKd spectral spectra/c.spec 1\n";
        let materials = parsed(text).unwrap();
        assert_eq!(materials.len(), 2);
        assert_eq!(materials[0].name, "my leaf");
        assert_eq!(materials[0].diffuse.as_ref().unwrap().0, [0.25, 0.5, 0.75]);
        let (name, place) = materials[0].diffuse_map.clone().unwrap();
        assert_eq!((name.as_str(), place.line), ("leaf one.bmp", Some(5)));
        assert_eq!(materials[0].opacity_map.clone().unwrap().0, "m.bmp");
        assert_eq!(materials[0].option.as_ref().unwrap().0, "map_d -s");
        assert_eq!(materials[1].spectrum.clone().unwrap().0, "spectra/c.spec");
        assert_eq!(materials[1].diffuse, None);
    }

    #[test]
    fn wrong_statements_are_named() {
        for (text, expected) in [
            ("newmtl", "a/b/m.mtl:1: `newmtl` has no name"),
            (
                "newmtl x\nKd",
                "a/b/m.mtl:2: expected a diffuse colour `Kd` of numbers from 0 to 1, got ",
            ),
            (
                "newmtl x\nKd nan 0 0",
                "a/b/m.mtl:2: expected a diffuse colour `Kd` of numbers from 0 to 1, got nan 0 0",
            ),
            (
                "newmtl x\nKd inf 0 0",
                "a/b/m.mtl:2: expected a diffuse colour `Kd` of numbers from 0 to 1, got inf 0 0",
            ),
            ("newmtl x\nKd spectral ", "a/b/m.mtl:2: `Kd` names no file"),
            ("newmtl x\nmap_d -s 1", "a/b/m.mtl:2: `map_d` names no file"),
        ] {
            assert_eq!(parsed(text).unwrap_err(), expected);
        }
    }

    #[test]
    fn colours_come_from_texture_and_colour_before_spectrum() {
        let red_green = super::super::texture::tests::png_of(2, 1, 3, &[255, 0, 0, 0, 255, 0]);
        let files = Memory::default()
            .with("a/b/t.png", red_green)
            .with("a/spectra/c.spec", "0.4 0.1\n0.465 0.1\n0.55 0.5\n0.61 0.2\n1.0 0.6");
        let mut assembly = Assembly::new(&files);
        let mut load = |text: &str| parsed(text).unwrap()[0].load(&mut assembly, None);
        assert_eq!(load("newmtl x\nKd 0.1 0.2 0.3").colour, Some([0.1, 0.2, 0.3]));
        assert_eq!(load("newmtl x\nKd 0.1").colour, Some([0.1; 3]));
        assert_eq!(load("newmtl grass").colour, None);
        let textured = load("newmtl x\nmap_Kd t.png\nKd spectral c.spec");
        assert_eq!(textured.colour, Some([1.0; 3]));
        assert!((textured.reflectance - 0.502_56).abs() < 1e-4);
        assert_eq!(textured.colour_map.unwrap().sample([0.25, 0.5], 0.1), [1.0, 0.0, 0.0]);
        let [red, green, blue] = load("newmtl x\nKd spectral c.spec").colour.unwrap();
        assert_eq!([red, green, blue], [0.2, 0.5, 0.1]);
        assert_eq!(load("newmtl window\nKd 0.3 0.2 0.1").colour, None, "what glass shows is dirt");
    }

    #[test]
    fn materials_take_spectrum_before_colour_before_name() {
        let files = Memory::default().with("a/spectra/c.spec", "0.9 0.6\n1.0 0.6");
        let mut assembly = Assembly::new(&files);
        let mut reflectance =
            |text: &str| parsed(text).unwrap()[0].load(&mut assembly, None).reflectance;
        assert_eq!(reflectance("newmtl grass\nKd 0.3 0 0\nKd spectral c.spec"), 0.6);
        assert_eq!(reflectance("newmtl grass\nKd spectral spectra/c.spec\nKd 0.3 0 0"), 0.6);
        assert_eq!(reflectance("newmtl grass\nKd 0.3 0 0"), 0.3);
        assert_eq!(reflectance("newmtl grass"), 0.5);
        assert_eq!(reflectance("newmtl stuff"), materials::DEFAULT_REFLECTANCE);
        assert!(assembly.finish(Path::new("x"), true).is_err(), "no triangles");
    }

    fn finished(text: &str) -> (f32, Finish, Vec<String>) {
        let files = Memory::default().with("a/b/k.spec", "0.9 0.1\n1.0 0.1");
        let mut assembly = Assembly::new(&files);
        let material = parsed(text).unwrap()[0].load(&mut assembly, None);
        (material.reflectance, material.finish, assembly.warnings())
    }

    #[test]
    fn highlights_are_those_that_somebody_meant() {
        let finish = |text: &str| finished(&format!("newmtl m\nKd 0.4 0 0\nNs 60\n{text}")).1;
        let glossy = |peak| Finish::Glossy { peak, exponent: 60.0 };
        // Some programs write this highlight for every surface, even for soil and leaves.
        assert_eq!(finish("Ks 0.5 0.5 0.5\nillum 2"), Finish::Matt);
        assert_eq!(finish("Ks 0.55 0 0\nillum 2"), glossy(0.55));
        assert_eq!(finish("Ks 0.9 0 0"), glossy(0.6));
        assert_eq!(finish("Ks 0.9 0 0\nillum 1"), Finish::Matt);
        assert_eq!(finish("Ks 0.25 0 0\nillum 3"), glossy(0.25));
        assert_eq!(finish("Ks 0.9 0 0\nKd spectral k.spec"), Finish::Matt, "it is measured");
    }

    #[test]
    fn what_is_transparent_is_glass() {
        let look = |text: &str| {
            let (reflectance, finish, warnings) =
                finished(&format!("newmtl m\nKd 0.4 0 0\n{text}"));
            assert!(warnings.is_empty(), "{text}: {warnings:?}");
            (reflectance, finish)
        };
        let glass = |index, clear| Finish::Glass { index, clear, faces: 2 };
        assert_eq!(look("d 0.25"), (0.1, glass(1.5, 0.75)));
        assert_eq!(look("Tr 0.75\nNi 1.6"), (0.1, glass(1.6, 0.75)));
        assert_eq!(look("d -halo 0.25\nTr 1.0"), (0.1, glass(1.5, 0.75)));
        assert_eq!(look("illum 4"), (0.02, glass(1.5, 1.0)));
        assert_eq!(look("illum 9\nd 0.5"), (0.2, glass(1.5, 0.5)));
        for opaque in ["d 1.0", "Tr 0", "Tr 1.000000", "d 0.995", "d 1\nTr 1\nillum 4\nNi -1.5"] {
            assert_eq!(look(opaque), (0.4, Finish::Matt), "{opaque}");
        }
    }

    #[test]
    fn names_say_what_the_file_does_not() {
        let look = |text: &str| {
            let (reflectance, finish, _) = finished(text);
            (reflectance, finish)
        };
        // Values that some programs write for every material have no effect.
        let usual = "Kd 0.8 0.8 0.8\nKs 0.5 0.5 0.5\nNs 250\nNi 1.45\nd 1.0\nillum 2";
        let named = |name: &str| look(&format!("newmtl {name}\n{usual}"));
        assert_eq!(named("shop_window"), (materials::DIRT, materials::PANE));
        assert_eq!(named("road_sign"), (0.8, Finish::Retro { gain: 785.0 }));
        assert_eq!(named("pond"), (0.0, Finish::Water { bottom: None }));
        assert_eq!(named("wet_asphalt"), (0.8, Finish::Wet { film: materials::WET_FILM }));
        assert_eq!(named("window_frame"), (0.8, Finish::Matt));
        // A measured reflectance replaces that of the name `water`. A material with the name `window` and a texture,
        // such as a picture of a facade, is diffuse.
        let (reflectance, finish) = look("newmtl water\nKd spectral k.spec");
        assert_eq!((reflectance, finish), (0.1, Finish::Water { bottom: None }));
        assert_eq!(look("newmtl window\nmap_Kd facade.png\nKd 0.5 0 0").1, Finish::Matt);
    }

    #[test]
    fn impossible_numbers_are_told_and_put_up_with() {
        let text = "newmtl m\nKd 0.4 0 0\nKs shiny\nNs -3\nd 1.5\nTr x\nillum 12\n";
        let (_, finish, warnings) = finished(text);
        assert_eq!(finish, Finish::Matt);
        assert_eq!(
            warnings,
            [
                "a/b/m.mtl:7: `illum` of 12 is not a whole number from 0 to 10 and is taken as 10 (the \
              first of 4)"
            ]
        );
        let (_, finish, warnings) = finished("newmtl m\nKd 0.4 0 0\nKs 0.9\nNs -3");
        assert_eq!(finish, Finish::Glossy { peak: 0.6, exponent: 0.0 });
        assert_eq!(
            warnings,
            ["a/b/m.mtl:4: `Ns` of -3 is not a number from 0 to 10000 and is taken as 0"]
        );
        let (_, _, warnings) = finished("newmtl m\nKs shiny 0 0");
        assert_eq!(
            warnings,
            [
                "a/b/m.mtl:2: `Ks` of `shiny 0 0` is not a colour of numbers from 0 to 1 and is left \
              out"
            ]
        );
        let (_, finish, warnings) = finished("newmtl m\nd 0");
        assert_eq!(finish, Finish::Matt);
        assert_eq!(
            warnings,
            ["a/b/m.mtl:2: a dissolve of 0 would make the material invisible; it is loaded as \
                 opaque"]
        );
    }

    /// Missing files and colours beyond the range give warnings, not errors, because other programs load such
    /// materials.
    #[test]
    fn missing_files_and_bright_colours_are_told_and_put_up_with() {
        let files = Memory::default();
        let mut assembly = Assembly::new(&files);
        let text = "newmtl grass\nKd spectral s.spec\nmap_Kd k.bmp\nmap_d d.bmp\n\
                    newmtl paint\nKd 1.25 0 0\nmap_Kd k2.bmp\nnewmtl dark\nKd -1 0 0\n\
                    newmtl road\nmap_Kd k3.bmp\n";
        let statements = parsed(text).unwrap();
        let mut load = |n: usize| statements[n].load(&mut assembly, Some(Path::new("meshes")));
        let [grass, paint, dark, road] = [load(0), load(1), load(2), load(3)];
        assert!(grass.reflectance_map.is_none() && grass.opacity_mask.is_none());
        // The reflectance follows from the name if the file has no other data.
        assert_eq!(road.reflectance, materials::by_name("road").reflectance);
        assert_eq!((paint.reflectance, dark.reflectance), (1.0, 0.0));
        assert_eq!(
            assembly.warnings(),
            [
                "a/b/m.mtl:2: there is no file `meshes/s.spec`: the reflectance is that of the \
                 colour",
                "a/b/m.mtl:3: there is no file `a/b/k.bmp`: the colour is plain (the first of 3)",
                "a/b/m.mtl:4: there is no file `a/b/d.bmp`: the material is opaque",
                "a/b/m.mtl:6: a diffuse colour of 1.25 is not within 0 to 1 and is taken as 1 \
                 (the first of 2)",
            ]
        );
    }
}
