//! Parameters of the built-in `fort-drum`.

use super::scene_help::{LARGEST_WHOLE, ParameterHelp, help};

/// Parameters of the apron.
#[derive(Clone, Debug, PartialEq)]
pub struct FortDrumParameters {
    /// Seed of roughness, boulder, plants and grass; the rig's seed when left out.
    pub seed: u64,
    /// The ground rises above or sinks below z = 0 by no more, metres.
    pub roughness_m: f64,
    /// Upright stems on a square metre of the two strips of plants.
    pub plants_per_m2: f64,
    /// Diameter of a stem, metres.
    pub plant_diameter_m: f64,
    /// Height of a stem, metres.
    pub plant_height_m: f64,
    /// Reflectance of stems.
    pub plant_reflectance: f64,
    /// Blades of low grass, rounded up to whole clumps of 100 blades (800 triangles).
    pub grass_blades: u64,
}

impl FortDrumParameters {
    /// Names, defaults, limits and meanings, in the order they are listed.
    pub const HELP: &'static [ParameterHelp] = &[
        help("seed", "the rig's seed", [0.0, LARGEST_WHOLE], "fixes every shape and place"),
        help(
            "roughness_m",
            "0.02",
            [0.0, 0.5],
            "how far the ground rises above or sinks below z = 0 at most, metres",
        ),
        help(
            "plants_per_m2",
            "307.0",
            [0.0, 2000.0],
            "upright stems on a square metre of the two strips of plants, 4 x 1.5 m each; a single ray \
             passes 1.5 m of 307 stems of 5 mm with a chance of 0.1",
        ),
        help(
            "plant_diameter_m",
            "0.005",
            [0.0005, 1.0],
            "diameter of a stem, a prism of 16 sides, metres",
        ),
        help("plant_height_m", "0.6", [0.1, 10.0], "height of a stem, metres"),
        help("plant_reflectance", "0.5", [0.0, 1.0], "diffuse reflectance of stems"),
        help(
            "grass_blades",
            "40000",
            [0.0, 1_000_000.0],
            "blades of grass below 0.18 m on a strip of 4 x 1.5 m, rounded up to clumps of 100 blades \
             (800 triangles)",
        ),
    ];
}

impl Default for FortDrumParameters {
    fn default() -> Self {
        Self {
            seed: 0,
            roughness_m: 0.02,
            plants_per_m2: 307.0,
            plant_diameter_m: 0.005,
            plant_height_m: 0.6,
            plant_reflectance: 0.5,
            grass_blades: 40_000,
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The number behind a printed default.
    pub fn used(name: &str) -> Option<Vec<f64>> {
        let apron = FortDrumParameters::default();
        Some(vec![match name {
            "roughness_m" => apron.roughness_m,
            "plants_per_m2" => apron.plants_per_m2,
            "plant_diameter_m" => apron.plant_diameter_m,
            "plant_height_m" => apron.plant_height_m,
            "plant_reflectance" => apron.plant_reflectance,
            "grass_blades" => apron.grass_blades as f64,
            _ => return None,
        }])
    }
}
