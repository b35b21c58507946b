//! Typical reflectances of common materials at 905 nm, for meshes that name a material but give
//! no number.
//!
//! The values are rounded, typical values. Natural surfaces vary by half of the value and more with
//! moisture, age and species. Each source names the public library that has such surfaces and the
//! approximate range to expect there; the values are rules of thumb, not computed from a
//! library's records. For better values, write `Kd` or a spectrum into the material file.

use super::scene::Material;

/// Reflectance of a mesh whose file gives none; the default of MAVS.
pub const DEFAULT_REFLECTANCE: f32 = 0.2;

/// One kind of surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Typical {
    /// Singular, in lower case.
    pub name: &'static str,
    /// Synonyms that occur in material names.
    pub also: &'static [&'static str],
    /// Diffuse reflectance at 905 nm, 0..=1.
    pub reflectance_905nm: f32,
    /// Library of measured spectra, and the range to expect there.
    pub source: &'static str,
}

/// The table, in the order a name is searched.
pub const TYPICAL: &[Typical] = &[
    Typical {
        name: "soil",
        also: &["dirt", "earth", "loam", "clay", "mud", "ground"],
        reflectance_905nm: 0.30,
        source: "ECOSTRESS spectral library, soils: dry loams 0.2 to 0.45 near 900 nm",
    },
    Typical {
        name: "grass",
        also: &["lawn", "meadow", "turf"],
        reflectance_905nm: 0.50,
        source: "USGS spectral library 7 and ECOSTRESS, green lawn and meadow grass: 0.4 to 0.7 on \
                 the near-infrared plateau",
    },
    Typical {
        name: "bark",
        also: &["trunk", "branch", "stem", "twig"],
        reflectance_905nm: 0.35,
        source: "ECOSTRESS spectral library, non-photosynthetic vegetation, tree bark: 0.25 to 0.5",
    },
    Typical {
        name: "leaf",
        also: &["leaves", "foliage", "needle", "bush", "hedge"],
        reflectance_905nm: 0.45,
        source: "ECOSTRESS spectral library, green broad leaves: 0.4 to 0.55 on the near-infrared \
                 plateau",
    },
    Typical {
        name: "concrete",
        also: &["cement", "pavement", "sidewalk"],
        reflectance_905nm: 0.35,
        source: "ECOSTRESS spectral library, manmade, construction concrete: 0.25 to 0.45",
    },
    Typical {
        name: "asphalt",
        also: &["tarmac", "road", "bitumen"],
        reflectance_905nm: 0.15,
        source: "ECOSTRESS spectral library, manmade, road asphalt: 0.07 fresh to 0.25 worn",
    },
    Typical {
        name: "metal",
        also: &["steel", "iron", "aluminium", "aluminum", "zinc"],
        reflectance_905nm: 0.50,
        source: "ECOSTRESS spectral library, manmade, galvanised and weathered sheet metal: 0.3 to \
                 0.7, taken as diffuse",
    },
    Typical {
        name: "brick",
        also: &["masonry", "clinker"],
        reflectance_905nm: 0.40,
        source: "ECOSTRESS spectral library, manmade, bare red brick: 0.3 to 0.5",
    },
    Typical {
        name: "water",
        also: &["pond", "puddle", "lake"],
        reflectance_905nm: 0.02,
        source: "ECOSTRESS spectral library, tap and sea water: about 0.02, the surface's Fresnel \
                 reflection",
    },
    Typical {
        name: "sand",
        also: &["beach", "dune"],
        reflectance_905nm: 0.45,
        source: "ECOSTRESS spectral library, soils, dry quartz sands: 0.35 to 0.6",
    },
    Typical {
        name: "gravel",
        also: &["rock", "stone", "rubble"],
        reflectance_905nm: 0.30,
        source: "USGS spectral library 7, limestone and granite rock: 0.2 to 0.5",
    },
    Typical {
        name: "wood",
        also: &["timber", "lumber", "plank"],
        reflectance_905nm: 0.55,
        source: "USGS spectral library 7, untreated lumber: 0.45 to 0.7",
    },
    Typical {
        name: "snow",
        also: &["firn"],
        reflectance_905nm: 0.85,
        source: "ECOSTRESS spectral library, fine and medium granular snow: 0.75 to 0.95",
    },
];

/// The table's entry for a material called `name`: the first entry that matches one of the words in
/// `name`, regardless of case, number or plural (`Tree_Bark.001` is bark).
pub fn typical(name: &str) -> Option<&'static Typical> {
    let words: Vec<String> = name
        .split(|c: char| !c.is_alphabetic())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    let says = |word: &str, names: &str| {
        word == names || word.strip_suffix('s').is_some_and(|singular| singular == names)
    };
    TYPICAL.iter().find(|entry| {
        words.iter().any(|word| says(word, entry.name) || entry.also.iter().any(|a| says(word, a)))
    })
}

/// A plain material called `name`, with typical reflectance if the name is known and
/// [`DEFAULT_REFLECTANCE`] otherwise.
pub fn by_name(name: &str) -> Material {
    let reflectance = typical(name).map_or(DEFAULT_REFLECTANCE, |entry| entry.reflectance_905nm);
    plain(name, reflectance)
}

/// A material without textures.
pub fn plain(name: &str, reflectance: f32) -> Material {
    Material { name: name.to_owned(), reflectance, reflectance_map: None, opacity_mask: None }
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
        // Part of another word is not the word.
        for name in ["grasshopper", "broadcast", "material_0", ""] {
            assert_eq!(typical(name), None, "{name}");
        }
    }

    #[test]
    fn the_table_is_sound() {
        for entry in TYPICAL {
            assert!((0.0..=1.0).contains(&entry.reflectance_905nm), "{entry:?}");
            assert!(!entry.source.is_empty(), "{entry:?}");
            assert_eq!(typical(entry.name), Some(entry));
            for word in entry.also {
                assert_eq!(typical(word), Some(entry), "{word}");
            }
        }
        assert_eq!(by_name("mystery").reflectance, DEFAULT_REFLECTANCE);
    }
}
