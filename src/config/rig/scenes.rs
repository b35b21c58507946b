//! The built-in scenes, for `menura scenes` and for the readers of `world.parameters`.
//!
//! The list is in this layer so that rigs are checked against the same numbers that `menura scenes` prints and the
//! scenes use.

use super::SceneSource;
use super::scene_parameters::{
    AndabataFieldParameters, CourtyardParameters, FortDrumParameters, GrassStandParameters,
    MeadowWallParameters, RodsParameters, RoomParameters, RootStepParameters, ShrubParameters,
    StreetParameters,
};
use super::scene_read::ChosenScene;
use crate::toml::diagnostic::{Place, SourceFile};
use crate::toml::explore::explore;
use crate::toml::reader::{Faults, Field, TableReader, Text};
use crate::toml::spec::{KeySpec, TableSpec};

/// A scene that needs no file.
#[derive(Clone, Copy, Debug)]
pub struct BuiltinScene {
    /// Name in `world.scene`.
    pub name: &'static str,
    /// One line about the scene and its purpose.
    pub summary: &'static str,
    /// Reads `world.parameters`.
    pub read: fn(&ChosenScene<'_, '_>) -> Option<SceneSource>,
    /// Radius, metres, of a circle around the origin along which a robot meets no obstacle, with the default
    /// parameters.
    pub lap_radius_m: f64,
    /// Whether the ground is z = 0 everywhere.
    pub is_flat: bool,
    /// Position of a camera that shows the scene, and the point at the centre of its image; World, metres.
    pub view_m: [[f64; 3]; 2],
}

/// All built-in scenes, in the order of `menura scenes`.
pub const BUILTIN: &[BuiltinScene] = &[
    BuiltinScene {
        name: "courtyard",
        summary: "A walled, vegetated courtyard of 300 x 300 m with uneven ground, after Goodin et \
                  al. 2018: for drivers and perception code that must handle grass, leaves and \
                  partial hits, and for load tests up to 191 million triangles.",
        read: |chosen| {
            let all = CourtyardParameters { seed: chosen.rig_seed, ..Default::default() };
            chosen.read("the courtyard", all).map(SceneSource::Courtyard)
        },
        lap_radius_m: 20.0,
        is_flat: false,
        view_m: [[-30.0, -24.0, 9.0], [10.0, 8.0, 0.0]],
    },
    BuiltinScene {
        name: "room",
        summary: "An empty box with known planes: for checking ranges and angles to the \
                  millimetre.",
        read: |chosen| {
            let all = RoomParameters::default();
            chosen.read("the room", all).map(SceneSource::Room)
        },
        lap_radius_m: 5.0,
        is_flat: true,
        view_m: [[-27.0, -25.0, 7.0], [6.0, 4.0, 2.0]],
    },
    BuiltinScene {
        name: "root-step",
        summary: "A forest floor of 200 x 200 m with roots and a step of 0.35 m, as large as the \
                  second scene of Goodin et al. 2018: 604 million triangles in 24,564 instances, \
                  one mesh of 22 million. Loading takes up to 4 GB of memory; use fewer triangles \
                  on smaller machines.",
        read: |chosen| {
            let all = RootStepParameters { seed: chosen.rig_seed, ..Default::default() };
            chosen.read_own("the forest floor", all).map(SceneSource::RootStep)
        },
        lap_radius_m: 20.0,
        is_flat: false,
        view_m: [[-14.0, -10.0, 4.0], [4.0, 3.0, 0.0]],
    },
    BuiltinScene {
        name: "rods",
        summary: "A square of upright rods before walls, so that many beams meet a rod and the wall \
                  behind it: for two returns of one pulse and for mixed pixels. One side of nine \
                  rods is the test that Goodin et al. 2018 repeat with an LMS 291.",
        read: |chosen| {
            let all = RodsParameters::default();
            chosen.read_own("the rods", all).map(SceneSource::Rods)
        },
        lap_radius_m: 2.0,
        is_flat: true,
        view_m: [[-12.0, -9.0, 9.0], [1.0, 0.5, 0.5]],
    },
    BuiltinScene {
        name: "meadow-wall",
        summary: "Grass and a wire fence in front of walls. Thin objects split the beams: a test \
                  for drivers and perception code.",
        read: |chosen| {
            let all = MeadowWallParameters { seed: chosen.rig_seed, ..Default::default() };
            chosen.read_own("the walled meadow", all).map(SceneSource::MeadowWall)
        },
        lap_radius_m: 2.0,
        is_flat: true,
        view_m: [[-2.5, -2.0, 2.6], [3.0, 1.0, 0.3]],
    },
    BuiltinScene {
        name: "grass-stand",
        summary: "A stand of upright stems in random places on bare ground, east of the origin: the \
                  stand of cylinders with which Goodin et al. 2018 test ranges in grass.",
        read: |chosen| {
            let all = GrassStandParameters { seed: chosen.rig_seed, ..Default::default() };
            chosen.read_own("the stand of grass", all).map(SceneSource::GrassStand)
        },
        lap_radius_m: 2.0,
        is_flat: true,
        view_m: [[13.0, -5.0, 3.0], [22.0, 0.0, 0.3]],
    },
    BuiltinScene {
        name: "shrub",
        summary: "A potted shrub at the origin, of one stem and a hull of leaves, on bare ground: \
                  for the spread of ranges in foliage that Durst et al. 2011 and Goodin et al. 2018 \
                  show.",
        read: |chosen| {
            let all = ShrubParameters { seed: chosen.rig_seed, ..Default::default() };
            chosen.read_own("the shrub", all).map(SceneSource::Shrub)
        },
        lap_radius_m: 8.0,
        is_flat: true,
        view_m: [[-1.7, -1.2, 1.3], [0.0, 0.0, 0.75]],
    },
    BuiltinScene {
        name: "street",
        summary: "A street with surfaces that are not diffuse, at known places: a road sign and a \
                  licence plate that retro-reflect, the paint of a parked car, a shop window with \
                  a room behind it, a puddle in which the car is mirrored, and wet asphalt if \
                  asked for.",
        read: |chosen| {
            let all = StreetParameters::default();
            chosen.read_own("the street", all).map(SceneSource::Street)
        },
        lap_radius_m: 2.0,
        is_flat: true,
        view_m: [[-7.0, -5.0, 3.5], [5.0, 2.0, 0.5]],
    },
    BuiltinScene {
        name: "andabata-field",
        summary: "A field of 50 x 50 m to drive across, after the one of the Andabata paper (2020): gentle \
                  relief, three ditches of 6 x 1.2 m, a barrier, a fence, rocks, trees and high grass, and a \
                  puddle if asked for. Start at -20, -20; goals at 20, -14, then -20, 2, then 18, 20.",
        read: |chosen| {
            let all = AndabataFieldParameters { seed: chosen.rig_seed, ..Default::default() };
            chosen.read_own("the field", all).map(SceneSource::AndabataField)
        },
        lap_radius_m: 2.0,
        is_flat: false,
        view_m: [[-25.0, -25.0, 11.0], [2.0, -1.0, -1.0]],
    },
    BuiltinScene {
        name: "fort-drum",
        summary: "A parking apron with a boulder, three hay bales, two strips of upright stems and \
                  one of low grass, after the scene at Fort Drum of Durst et al. 2011: for cost \
                  maps, and for beams that hit thin plants where a single ray would hit the \
                  ground.",
        read: |chosen| {
            let all = FortDrumParameters { seed: chosen.rig_seed, ..Default::default() };
            chosen.read_own("the apron", all).map(SceneSource::FortDrum)
        },
        lap_radius_m: 14.0,
        is_flat: false,
        view_m: [[-11.0, -8.0, 4.5], [1.0, 0.0, 0.0]],
    },
];

/// The built-in scene called `name`; `None` if there is none.
pub fn builtin(name: &str) -> Option<&'static BuiltinScene> {
    BUILTIN.iter().find(|scene| scene.name == name)
}

/// The built-in scene that `scene` names, with `parameters`; `rig_seed` is the default seed. `None` if there is no such
/// scene or its parameters are invalid.
pub fn built_in(scene: &Text, parameters: &Field<'_>, rig_seed: u64) -> Option<SceneSource> {
    let known = builtin(&scene.value)?;
    (known.read)(&ChosenScene { scene, parameters, rig_seed })
}

impl BuiltinScene {
    /// The keys of `world.parameters`, with their defaults and limits.
    pub fn parameters(&self) -> TableSpec {
        let place = Place::new(&SourceFile::new("", "", ""), 0..0);
        let scene = Text { value: self.name.to_owned(), place };
        let spec = explore(|survey| {
            let faults = Faults::default();
            let parameters = TableReader::surveyed(survey, &faults).optional("parameters");
            (self.read)(&ChosenScene { scene: &scene, parameters: &parameters, rig_seed: 0 });
        });
        spec.key("parameters").and_then(KeySpec::table).cloned().unwrap_or_default()
    }
}
