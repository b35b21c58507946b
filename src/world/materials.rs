//! Typical optics of common materials at 905 nm, for meshes that name a material but give no numbers.
//!
//! The values are rounded and typical. Natural surfaces vary with moisture, age and species by half of the value or
//! more. Each source names the public library with such surfaces and the approximate range there; the values are
//! rules of thumb, not computed from a library's records. For better values, write `Kd` or a spectrum into the
//! material file.
//!
//! The gain of retroreflective sheeting is pi times the least coefficient of retroreflection that ASTM D4956 requires
//! of new white sheeting at an observation angle of 0.2 degrees. These coefficients are quoted from memory.

use super::scene::{Bottom, Finish, Material};

/// Reflectance of a mesh without a material. MAVS has the same default.
pub const DEFAULT_REFLECTANCE: f32 = 0.2;
/// Diffuse reflectance of the dirt on a window, an assumption: the middle of 1 to 3 %.
pub const DIRT: f32 = 0.02;
/// Refractive index of window glass.
pub const GLASS_INDEX: f32 = 1.5;
/// Water film of a wet surface, as a share of the texture's depth: 1 mm of water in a texture 1.2 mm deep. This is
/// the default of the wet ground of Hahner et al. 2022.
pub const WET_FILM: f32 = 1.0 / 1.2;

/// A clean pane of window glass.
pub const PANE: Finish = Finish::Glass { index: GLASS_INDEX, clear: 1.0, faces: 2 };

/// A kind of surface, with its typical optics.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Typical {
    /// Name of the surface, in the singular and in lower case.
    pub name: &'static str,
    /// Synonyms that occur in material names. A synonym of several words matches if all of them occur.
    pub also: &'static [&'static str],
    /// Diffuse reflectance at 905 nm, 0..=1.
    pub reflectance_905nm: f32,
    /// Optical behaviour in addition to diffuse reflection.
    pub finish: Finish,
    /// Library of measured spectra, and the range to expect there.
    pub source: &'static str,
}

/// Words for parts that carry or hold a named object. For example, a window frame is not glass.
const CARRIERS: &[&str] = &[
    "back", "bottle", "column", "curtain", "frame", "handle", "pipe", "pole", "post", "sill",
    "shutter", "tank", "tower",
];

/// Typical surfaces, in the order in which names are compared.
pub const TYPICAL: &[Typical] = &[
    Typical {
        name: "retro-sheeting type i",
        also: &[],
        reflectance_905nm: 0.30,
        finish: Finish::Retro { gain: 220.0 },
        source: "ASTM D4956, type I, glass beads: 70 cd/lx/m²",
    },
    Typical {
        name: "retro-sheeting type iii",
        also: &[],
        reflectance_905nm: 0.30,
        finish: Finish::Retro { gain: 785.0 },
        source: "ASTM D4956, type III: 250 cd/lx/m²",
    },
    Typical {
        name: "retro-sheeting type ix",
        also: &[],
        reflectance_905nm: 0.30,
        finish: Finish::Retro { gain: 1190.0 },
        source: "ASTM D4956, type IX, prisms: 380 cd/lx/m²",
    },
    Typical {
        name: "retro-sheeting type xi",
        also: &["diamond grade"],
        reflectance_905nm: 0.30,
        finish: Finish::Retro { gain: 1820.0 },
        source: "ASTM D4956, type XI, prisms: 580 cd/lx/m²",
    },
    Typical {
        name: "licence plate",
        also: &["license plate", "number plate", "numberplate", "registration plate"],
        reflectance_905nm: 0.30,
        finish: Finish::Retro { gain: 220.0 },
        source: "taken as type I, the common sheeting of plates",
    },
    Typical {
        name: "safety vest",
        also: &["hi vis", "hivis", "high visibility", "warning vest", "vest"],
        reflectance_905nm: 0.50,
        finish: Finish::Retro { gain: 150.0 },
        source: "EN ISO 20471: tape of 330 cd/lx/m² (from memory) on a seventh of the cloth, \
                 averaged over the whole cloth",
    },
    Typical {
        name: "road sign",
        also: &["traffic sign", "stop sign", "sign"],
        reflectance_905nm: 0.30,
        finish: Finish::Retro { gain: 785.0 },
        source: "taken as type III",
    },
    Typical {
        name: "retro-reflector",
        also: &[
            "retroreflector",
            "retro reflective",
            "retroreflective",
            "retro sheeting",
            "reflector",
            "reflective tape",
            "cat eye",
        ],
        reflectance_905nm: 0.30,
        finish: Finish::Retro { gain: 785.0 },
        source: "taken as type III",
    },
    Typical {
        name: "mirror",
        also: &["chrome"],
        reflectance_905nm: 0.0,
        finish: Finish::Mirror { share: 0.9 },
        source: "aluminium and silver behind glass: 0.85 to 0.95",
    },
    Typical {
        name: "window",
        also: &["glass", "pane", "windshield", "windscreen", "glazing"],
        reflectance_905nm: DIRT,
        finish: PANE,
        source: "Fresnel's equations for an index of 1.5, with dirt of 1 to 3 %",
    },
    Typical {
        name: "puddle",
        also: &[],
        reflectance_905nm: 0.0,
        finish: Finish::Water { bottom: Some(Bottom { depth_m: 0.02, reflectance: 0.15 }) },
        source: "Fresnel's equations for an index of 1.33, 2 cm above asphalt",
    },
    Typical {
        name: "water",
        also: &["pond", "lake"],
        reflectance_905nm: 0.0,
        finish: Finish::Water { bottom: None },
        source: "Fresnel's equations for an index of 1.33; infrared light does not return from \
                 below the surface",
    },
    Typical {
        name: "car paint",
        also: &["carpaint", "lacquer", "varnish", "enamel", "glossy"],
        reflectance_905nm: 0.30,
        finish: Finish::Glossy { peak: 0.40, exponent: 40.0 },
        source: "a rule of thumb: colours differ from 0.05 (black) to 0.7 (white)",
    },
    Typical {
        name: "soil",
        also: &["dirt", "earth", "loam", "clay", "mud", "ground"],
        reflectance_905nm: 0.30,
        finish: Finish::Matt,
        source: "ECOSTRESS spectral library, soils: dry loams 0.2 to 0.45 near 900 nm",
    },
    Typical {
        name: "grass",
        also: &["lawn", "meadow", "turf"],
        reflectance_905nm: 0.50,
        finish: Finish::Matt,
        source: "USGS spectral library 7 and ECOSTRESS, green lawn and meadow grass: 0.4 to 0.7 on \
                 the near-infrared plateau",
    },
    Typical {
        name: "bark",
        also: &["trunk", "branch", "stem", "twig"],
        reflectance_905nm: 0.35,
        finish: Finish::Matt,
        source: "ECOSTRESS spectral library, non-photosynthetic vegetation, tree bark: 0.25 to 0.5",
    },
    Typical {
        name: "leaf",
        also: &["leaves", "foliage", "needle", "bush", "hedge"],
        reflectance_905nm: 0.45,
        finish: Finish::Matt,
        source: "ECOSTRESS spectral library, green broad leaves: 0.4 to 0.55 on the near-infrared \
                 plateau",
    },
    Typical {
        name: "concrete",
        also: &["cement", "pavement", "sidewalk"],
        reflectance_905nm: 0.35,
        finish: Finish::Matt,
        source: "ECOSTRESS spectral library, manmade, construction concrete: 0.25 to 0.45",
    },
    Typical {
        name: "asphalt",
        also: &["tarmac", "road", "bitumen"],
        reflectance_905nm: 0.15,
        finish: Finish::Matt,
        source: "ECOSTRESS spectral library, manmade, road asphalt: 0.07 fresh to 0.25 worn",
    },
    Typical {
        name: "metal",
        also: &["steel", "iron", "aluminium", "aluminum", "zinc"],
        reflectance_905nm: 0.50,
        finish: Finish::Matt,
        source: "ECOSTRESS spectral library, manmade, galvanised and weathered sheet metal: 0.3 to \
                 0.7, taken as diffuse",
    },
    Typical {
        name: "brick",
        also: &["masonry", "clinker"],
        reflectance_905nm: 0.40,
        finish: Finish::Matt,
        source: "ECOSTRESS spectral library, manmade, bare red brick: 0.3 to 0.5",
    },
    Typical {
        name: "sand",
        also: &["beach", "dune"],
        reflectance_905nm: 0.45,
        finish: Finish::Matt,
        source: "ECOSTRESS spectral library, soils, dry quartz sands: 0.35 to 0.6",
    },
    Typical {
        name: "gravel",
        also: &["rock", "stone", "rubble"],
        reflectance_905nm: 0.30,
        finish: Finish::Matt,
        source: "USGS spectral library 7, limestone and granite rock: 0.2 to 0.5",
    },
    Typical {
        name: "wood",
        also: &["timber", "lumber", "plank"],
        reflectance_905nm: 0.55,
        finish: Finish::Matt,
        source: "USGS spectral library 7, untreated lumber: 0.45 to 0.7",
    },
    Typical {
        name: "snow",
        also: &["firn"],
        reflectance_905nm: 0.85,
        finish: Finish::Matt,
        source: "ECOSTRESS spectral library, fine and medium granular snow: 0.75 to 0.95",
    },
];

/// The first entry of [`TYPICAL`] that `name` mentions: all words of the entry's name, or of one of its synonyms, occur
/// in `name`. Order, upper and lower case, and a plural `s` have no effect (`Tree_Bark.001` is bark). Names of parts
/// that only carry an object, such as a window frame, match only diffuse entries. `None` if no entry matches.
pub fn typical(name: &str) -> Option<&'static Typical> {
    let words = words_of(name);
    let is_carrier = CARRIERS.iter().any(|carrier| says(&words, carrier));
    TYPICAL.iter().find(|entry| {
        let is_named = says(&words, entry.name) || entry.also.iter().any(|also| says(&words, also));
        is_named && !(is_carrier && entry.finish != Finish::Matt)
    })
}

/// The words of a name in lower case.
fn words_of(name: &str) -> Vec<String> {
    let words = name.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

/// Whether all words of `named` are among `words`, in the singular or the plural.
fn says(words: &[String], named: &str) -> bool {
    named.split([' ', '-']).all(|part| {
        let is_part = |word: &String| word == part || word.strip_suffix('s') == Some(part);
        words.iter().any(is_part)
    })
}

/// Creates a material called `name`. Its optics are those typical of the name, or diffuse with
/// [`DEFAULT_REFLECTANCE`] if the name is unknown. The word `wet` makes a diffuse surface wet.
pub fn by_name(name: &str) -> Material {
    let known = typical(name).map(|entry| (entry.reflectance_905nm, entry.finish));
    let (reflectance, finish) = known.unwrap_or((DEFAULT_REFLECTANCE, Finish::Matt));
    let finish = match finish {
        Finish::Matt if says(&words_of(name), "wet") => Finish::Wet { film: WET_FILM },
        other => other,
    };
    Material { finish, ..plain(name, reflectance) }
}

/// Creates a diffuse material without textures.
pub fn plain(name: &str, reflectance: f32) -> Material {
    Material {
        name: name.to_owned(),
        reflectance,
        finish: Finish::Matt,
        reflectance_map: None,
        opacity_mask: None,
        colour: None,
        colour_map: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_word_by_word() {
        for (name, expected) in [
            ("soil", "soil"),
            ("Grass_01", "grass"),
            ("Tree_Bark.001", "bark"),
            ("leaves", "leaf"),
            ("old-bricks", "brick"),
            ("STEEL plate", "metal"),
        ] {
            assert_eq!(typical(name).map(|t| t.name), Some(expected), "{name}");
        }
        for (name, expected) in [
            ("road_sign_01", "road sign"),
            ("License-Plate.front", "licence plate"),
            ("retro_sheeting_type_XI", "retro-sheeting type xi"),
            ("retro sheeting type I", "retro-sheeting type i"),
            ("plain retro sheeting", "retro-reflector"),
            ("Safety vests", "safety vest"),
            ("shop window", "window"),
            ("Glass", "window"),
            ("Puddle_2", "puddle"),
            ("pond water", "water"),
            ("wet asphalt", "asphalt"),
            // A part that carries a window is not a window.
            ("window_frame_wood", "wood"),
            ("sign post steel", "metal"),
        ] {
            assert_eq!(typical(name).map(|t| t.name), Some(expected), "{name}");
        }
        assert_eq!(typical("mirror frame"), None);
        // Words that only contain a known word do not match.
        for name in ["grasshopper", "broadcast", "material_0", ""] {
            assert_eq!(typical(name), None, "{name}");
        }
    }

    #[test]
    fn the_table_is_sound_and_stands_in_the_documents() {
        let page = include_str!("../../docs/MATERIALS.md").to_lowercase();
        for entry in TYPICAL {
            assert!((0.0..=1.0).contains(&entry.reflectance_905nm), "{entry:?}");
            assert!(!entry.source.is_empty(), "{entry:?}");
            let row = format!("| {} |", entry.name);
            let says_all = |line: &str| {
                line.starts_with(&row) && entry.also.iter().all(|also| line.contains(also))
            };
            let has_row = page.lines().any(says_all);
            assert!(has_row, "docs/MATERIALS.md: no row `{row}` with {:?}", entry.also);
            assert_eq!(typical(entry.name), Some(entry));
            for word in entry.also {
                assert_eq!(typical(word), Some(entry), "{word}");
            }
        }
        assert_eq!(by_name("mystery").reflectance, DEFAULT_REFLECTANCE);
    }

    #[test]
    fn a_word_wets_what_is_matt() {
        let wet = by_name("wet asphalt");
        assert_eq!((wet.reflectance, wet.finish), (0.15, Finish::Wet { film: WET_FILM }));
        assert_eq!(by_name("asphalt").finish, Finish::Matt);
        assert_eq!(by_name("wet window").finish, PANE);
        assert_eq!(by_name("wet stuff").reflectance, DEFAULT_REFLECTANCE);
    }
}
