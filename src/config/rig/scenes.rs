//! The built-in scenes' parameters: names, defaults, limits and what they mean.
//!
//! Kept here, left of `menura_world::world`, so that a rig is checked against the same numbers that
//! `menura scenes` prints and the scenes are built with.

pub use super::scene_help::ParameterHelp;

use super::andabata_field::AndabataFieldParameters;
use super::fort_drum::FortDrumParameters;
use super::scene_help::LARGEST_WHOLE;
use super::street::StreetParameters;
use super::thin_scenes::{
    GrassStandParameters, MeadowWallParameters, RodsParameters, ShrubParameters,
};
use crate::rig::{CourtyardParameters, RoomParameters, RootStepParameters};

/// A scene that needs no file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BuiltinScene {
    /// Name in `world.scene`.
    pub name: &'static str,
    /// One line: what it is and what it is for.
    pub summary: &'static str,
    /// Parameters allowed in `world.parameters`.
    pub parameters: &'static [ParameterHelp],
    /// A robot may circle the origin at this distance with the default parameters, metres.
    pub lap_radius_m: f64,
    /// Whether the ground is z = 0 everywhere.
    pub is_flat: bool,
    /// From where a picture shows it well, and what is in its middle, metres.
    pub view_m: [[f64; 3]; 2],
}

/// Every built-in scene, in the order `menura scenes` lists them.
pub const BUILTIN: &[BuiltinScene] = &[
    BuiltinScene {
        name: "courtyard",
        summary: "A walled, vegetated courtyard of 300 x 300 m with uneven ground, after Goodin et \
                  al. 2018: for drivers and perception code that should meet grass, leaves and \
                  partial hits, and for load tests up to 191 million triangles.",
        parameters: CourtyardParameters::HELP,
        lap_radius_m: 20.0,
        is_flat: false,
        view_m: [[-30.0, -24.0, 9.0], [10.0, 8.0, 0.0]],
    },
    BuiltinScene {
        name: "room",
        summary: "An empty box with known planes: for checking ranges and angles to the \
                  millimetre.",
        parameters: RoomParameters::HELP,
        lap_radius_m: 5.0,
        is_flat: true,
        view_m: [[-27.0, -25.0, 7.0], [6.0, 4.0, 2.0]],
    },
    BuiltinScene {
        name: "root-step",
        summary: "A forest floor of 200 x 200 m with roots and a step of 0.35 m, as large as the \
                  second scene of Goodin et al. 2018: 604 million triangles in 24,564 instances, \
                  one mesh of 22 million. Loads within 4 GB; make it smaller for other machines.",
        parameters: RootStepParameters::HELP,
        lap_radius_m: 20.0,
        is_flat: false,
        view_m: [[-14.0, -10.0, 4.0], [4.0, 3.0, 0.0]],
    },
    BuiltinScene {
        name: "rods",
        summary: "A square of upright rods before walls, so that many beams meet a rod and the wall \
                  behind it: for two returns of one pulse and for mixed pixels. One side of nine \
                  rods is the test that Goodin et al. 2018 repeat with an LMS 291.",
        parameters: RodsParameters::HELP,
        lap_radius_m: 2.0,
        is_flat: true,
        view_m: [[-12.0, -9.0, 9.0], [1.0, 0.5, 0.5]],
    },
    BuiltinScene {
        name: "meadow-wall",
        summary: "Grass, and a fence of posts with a net of wires, before walls all around: for \
                  drivers and perception code that should meet beams which thin things split.",
        parameters: MeadowWallParameters::HELP,
        lap_radius_m: 2.0,
        is_flat: true,
        view_m: [[-2.5, -2.0, 2.6], [3.0, 1.0, 0.3]],
    },
    BuiltinScene {
        name: "grass-stand",
        summary: "A stand of upright stems in random places on bare ground, east of the origin: the \
                  stand of cylinders with which Goodin et al. 2018 test ranges in grass.",
        parameters: GrassStandParameters::HELP,
        lap_radius_m: 2.0,
        is_flat: true,
        view_m: [[13.0, -5.0, 3.0], [22.0, 0.0, 0.3]],
    },
    BuiltinScene {
        name: "shrub",
        summary: "A potted shrub at the origin, of one stem and a hull of leaves, on bare ground: \
                  for the spread of ranges in foliage that Durst et al. 2011 and Goodin et al. 2018 \
                  show.",
        parameters: ShrubParameters::HELP,
        lap_radius_m: 8.0,
        is_flat: true,
        view_m: [[-1.7, -1.2, 1.3], [0.0, 0.0, 0.75]],
    },
    BuiltinScene {
        name: "street",
        summary: "A street with what is not matt, at known places: a road sign and a licence plate that \
                  retro-reflect, the paint of a parked car, a shop window with a room behind it, a puddle \
                  in which the car is mirrored, and wet asphalt if asked for.",
        parameters: StreetParameters::HELP,
        lap_radius_m: 2.0,
        is_flat: true,
        view_m: [[-7.0, -5.0, 3.5], [5.0, 2.0, 0.5]],
    },
    BuiltinScene {
        name: "andabata-field",
        summary: "A field of 50 x 50 m to drive across, after the one of the Andabata paper (2020): gentle \
                  relief, three ditches of 6 x 1.2 m, a barrier, a fence, rocks, trees and high grass, and a \
                  puddle if asked for. Start at -20, -20; goals at 20, -14, then -20, 2, then 18, 20.",
        parameters: AndabataFieldParameters::HELP,
        lap_radius_m: 2.0,
        is_flat: false,
        view_m: [[-25.0, -25.0, 11.0], [2.0, -1.0, -1.0]],
    },
    BuiltinScene {
        name: "fort-drum",
        summary: "A parking apron with a boulder, three hay bales, two strips of upright stems and one of low \
                  grass, after the scene at Fort Drum of Durst et al. 2011: for cost maps, and for what a \
                  beam sees behind thin plants where a single ray sees the ground.",
        parameters: FortDrumParameters::HELP,
        lap_radius_m: 14.0,
        is_flat: false,
        view_m: [[-11.0, -8.0, 4.5], [1.0, 0.0, 0.0]],
    },
];

/// The built-in scene called `name`.
pub fn builtin(name: &str) -> Option<&'static BuiltinScene> {
    BUILTIN.iter().find(|scene| scene.name == name)
}

impl BuiltinScene {
    /// The parameter called `name`.
    pub fn parameter(&self, name: &str) -> Option<&'static ParameterHelp> {
        self.parameters.iter().find(|parameter| parameter.name == name)
    }
}

impl CourtyardParameters {
    /// Names, defaults, limits and meanings, in the order they are listed.
    pub const HELP: &'static [ParameterHelp] = &[
        ParameterHelp {
            name: "seed",
            default: "the rig's seed",
            min: 0.0,
            max: LARGEST_WHOLE,
            words: &[],
            meaning: "fixes every shape and place",
        },
        ParameterHelp {
            name: "grass_blades",
            default: "200000",
            min: 0.0,
            max: 100_000_000.0,
            words: &[],
            meaning: "blades of grass, rounded up to clumps of 100 blades (800 triangles)",
        },
        ParameterHelp {
            name: "trees",
            default: "50",
            min: 0.0,
            max: 2000.0,
            words: &[],
            meaning: "copies of the tree, 6 to 10 m tall",
        },
        ParameterHelp {
            name: "tree_triangles",
            default: "40000",
            min: 1000.0,
            max: 5_000_000.0,
            words: &[],
            meaning: "triangles of the tree model, rounded down to an even number",
        },
        ParameterHelp {
            name: "ground_relief_m",
            default: "1.5",
            min: 0.0,
            max: 10.0,
            words: &[],
            meaning: "how far the ground rises above or sinks below z = 0 at most, metres",
        },
    ];
}

impl Default for CourtyardParameters {
    fn default() -> Self {
        Self {
            seed: 0,
            grass_blades: 200_000,
            trees: 50,
            tree_triangles: 40_000,
            ground_relief_m: 1.5,
        }
    }
}

impl RootStepParameters {
    /// Names, defaults, limits and meanings, in the order they are listed.
    pub const HELP: &'static [ParameterHelp] = &[
        ParameterHelp {
            name: "seed",
            default: "the rig's seed",
            min: 0.0,
            max: LARGEST_WHOLE,
            words: &[],
            meaning: "fixes every shape and place",
        },
        ParameterHelp {
            name: "ground_triangles",
            default: "22000000",
            min: 2000.0,
            max: 100_000_000.0,
            words: &[],
            meaning: "triangles of the floor, one mesh, at most",
        },
        ParameterHelp {
            name: "trees",
            default: "163",
            min: 0.0,
            max: 2000.0,
            words: &[],
            meaning: "copies of the tree, 6 to 10 m tall, each with roots of its own in the floor",
        },
        ParameterHelp {
            name: "tree_triangles",
            default: "3450000",
            min: 1000.0,
            max: 5_000_000.0,
            words: &[],
            meaning: "triangles of the tree model, rounded down to an even number",
        },
        ParameterHelp {
            name: "plants",
            default: "24400",
            min: 0.0,
            max: 1_000_000.0,
            words: &[],
            meaning: "clumps of undergrowth (800 triangles)",
        },
        ParameterHelp {
            name: "ground_relief_m",
            default: "1.2",
            min: 0.0,
            max: 10.0,
            words: &[],
            meaning: "hills rise or sink by less than this, metres",
        },
        ParameterHelp {
            name: "step_height_m",
            default: "0.35",
            min: 0.0,
            max: 2.0,
            words: &[],
            meaning: "height of the bank, metres",
        },
    ];
}

impl Default for RootStepParameters {
    fn default() -> Self {
        Self {
            seed: 0,
            ground_triangles: 22_000_000,
            trees: 163,
            tree_triangles: 3_450_000,
            plants: 24_400,
            ground_relief_m: 1.2,
            step_height_m: 0.35,
        }
    }
}

impl RoomParameters {
    /// Names, defaults, limits and meanings, in the order they are listed.
    pub const HELP: &'static [ParameterHelp] = &[
        ParameterHelp {
            name: "size_m",
            default: "[60.0, 60.0, 10.0]",
            min: 1.0,
            max: 1000.0,
            words: &[],
            meaning: "lengths along x, y and z, metres; the middle of the floor is the origin",
        },
        ParameterHelp {
            name: "reflectance",
            default: "0.5",
            min: 0.0,
            max: 1.0,
            words: &[],
            meaning: "diffuse reflectance of floor, walls and ceiling",
        },
        ParameterHelp {
            name: "puddle_radius_m",
            default: "0.0",
            min: 0.0,
            max: 500.0,
            words: &[],
            meaning: "radius of a puddle around the middle of the floor, metres; 0 for none",
        },
    ];
}

impl Default for RoomParameters {
    fn default() -> Self {
        Self { size_m: [60.0, 60.0, 10.0], reflectance: 0.5, puddle_radius_m: 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::andabata_field::tests as field;
    use crate::rig::fort_drum::tests as apron;

    /// The printed defaults are those that are used, and lie within the printed limits.
    #[test]
    fn printed_defaults_are_the_defaults() {
        let courtyard = CourtyardParameters::default();
        let room = RoomParameters::default();
        let forest = RootStepParameters::default();
        let street = StreetParameters::default();
        let used = |scene: &str, name: &str| -> Vec<f64> {
            match (scene, name) {
                ("courtyard", "grass_blades") => vec![courtyard.grass_blades as f64],
                ("courtyard", "trees") => vec![f64::from(courtyard.trees)],
                ("courtyard", "tree_triangles") => vec![f64::from(courtyard.tree_triangles)],
                ("courtyard", "ground_relief_m") => vec![courtyard.ground_relief_m],
                ("root-step", "ground_triangles") => vec![f64::from(forest.ground_triangles)],
                ("root-step", "trees") => vec![f64::from(forest.trees)],
                ("root-step", "tree_triangles") => vec![f64::from(forest.tree_triangles)],
                ("root-step", "plants") => vec![f64::from(forest.plants)],
                ("root-step", "ground_relief_m") => vec![forest.ground_relief_m],
                ("root-step", "step_height_m") => vec![forest.step_height_m],
                ("room", "size_m") => room.size_m.to_vec(),
                ("room", "reflectance") => vec![room.reflectance],
                ("room", "puddle_radius_m") => vec![room.puddle_radius_m],
                ("street", "length_m") => vec![street.length_m],
                ("street", "sign_distance_m") => vec![street.sign_distance_m],
                ("street", "puddle_radius_m") => vec![street.puddle_radius_m],
                ("street", "wetness") => vec![street.wetness],
                ("andabata-field", name) => field::used(name).unwrap(),
                ("fort-drum", name) => apron::used(name).unwrap(),
                (scene, name) => crate::rig::thin_scenes::tests::used(scene, name),
            }
        };
        for scene in BUILTIN {
            let is_number = |help: &&ParameterHelp| help.name != "seed" && help.words.is_empty();
            for help in scene.parameters.iter().filter(is_number) {
                let printed: Vec<f64> = help
                    .default
                    .trim_matches(['[', ']'])
                    .split(',')
                    .map(|number| number.trim().parse().unwrap())
                    .collect();
                assert_eq!(printed, used(scene.name, help.name), "{}.{}", scene.name, help.name);
                assert!(printed.iter().all(|&value| help.allows(value)), "{help:?}");
            }
        }
    }

    #[test]
    fn scenes_and_parameters_are_found_by_name() {
        let trees = builtin("courtyard").unwrap().parameter("trees").unwrap();
        assert_eq!(trees.allowed(), "0 to 2000");
        let seed = builtin("courtyard").unwrap().parameter("seed").unwrap();
        assert_eq!(seed.allowed(), "0 or more");
        assert!(!trees.allows(2001.0) && !trees.allows(f64::NAN));
        assert!(builtin("meadow").is_none());
    }
}
