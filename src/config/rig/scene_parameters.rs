//! Parameters of the built-in scenes: the keys of `world.parameters`.

use super::parts::seed;
use crate::toml::key_types::{By, OneOf};
use crate::toml::reader::Limit;

/// Text that error messages print as the source of the limits.
const SCENE: &str = "the scene, see `menura scenes`";

fn number(least: f64, most: f64, unit: &'static str) -> Limit<f64> {
    Limit::new(least..=most, unit, SCENE)
}

fn whole(least: i128, most: i128, unit: &'static str) -> Limit<i128> {
    Limit::new(least..=most, unit, SCENE)
}

fn share() -> Limit<f64> {
    number(0.0, 1.0, "")
}

fn thickness() -> Limit<f64> {
    number(0.0005, 1.0, "m")
}

fn length() -> Limit<f64> {
    number(0.1, 200.0, "m")
}

keys! {
    /// Parameters of the courtyard.
    #[derive(Clone, Debug, PartialEq)]
    pub struct CourtyardParameters {
        /// Fixes every shape and place (default: the rig's seed).
        pub seed: u64 = 0, By(seed);
        /// Blades of grass, rounded up to clumps of 100 blades (800 triangles).
        pub grass_blades: u64 = 200_000, whole(0, 100_000_000, "blades");
        /// Copies of the tree, 6 to 10 m tall.
        pub trees: u32 = 50, whole(0, 2000, "trees");
        /// Triangles of the tree model, rounded down to an even number.
        pub tree_triangles: u32 = 40_000, whole(1000, 5_000_000, "triangles");
        /// Largest height of the ground above z = 0, and largest depth below it, metres.
        pub ground_relief_m: f64 = 1.5, number(0.0, 10.0, "m");
    }
}

keys! {
    /// Parameters of the room.
    #[derive(Clone, Debug, PartialEq)]
    pub struct RoomParameters {
        /// Lengths along x, y and z, metres; the middle of the floor is the origin.
        pub size_m: [f64; 3] = [60.0, 60.0, 10.0], number(1.0, 1000.0, "m");
        /// Diffuse reflectance of floor, walls and ceiling.
        pub reflectance: f64 = 0.5, share();
        /// Radius of a puddle around the middle of the floor, metres; 0 for none.
        pub puddle_radius_m: f64 = 0.0, number(0.0, 500.0, "m");
    }
}

keys! {
    /// Parameters of the forest floor.
    #[derive(Clone, Debug, PartialEq)]
    pub struct RootStepParameters {
        /// Fixes every shape and place (default: the rig's seed).
        pub seed: u64 = 0, By(seed);
        /// Largest number of triangles of the floor, which is one mesh.
        pub ground_triangles: u32 = 22_000_000, whole(2000, 100_000_000, "triangles");
        /// Copies of the tree, 6 to 10 m tall, each with roots of its own in the floor.
        pub trees: u32 = 163, whole(0, 2000, "trees");
        /// Triangles of the tree model, rounded down to an even number.
        pub tree_triangles: u32 = 3_450_000, whole(1000, 5_000_000, "triangles");
        /// Clumps of undergrowth, each with 800 triangles.
        pub plants: u32 = 24_400, whole(0, 1_000_000, "plants");
        /// Largest height of hills and depth of hollows, metres.
        pub ground_relief_m: f64 = 1.2, number(0.0, 10.0, "m");
        /// Height of the bank, metres.
        pub step_height_m: f64 = 0.35, number(0.0, 2.0, "m");
    }
}

keys! {
    /// Parameters of the rods.
    #[derive(Clone, Debug, PartialEq)]
    pub struct RodsParameters {
        /// Sides of the square around the origin that have a row of rods and a wall; the first is in the east (x),
        /// the others follow counter-clockwise.
        pub sides: u32 = 4, whole(1, 4, "sides");
        /// Upright rods in each row.
        pub rods: u32 = 60, whole(1, 1000, "rods");
        /// Diameter of a rod, a prism of 16 sides, metres.
        pub diameter_m: f64 = 0.03, thickness();
        /// Diameter of the middle rod of each row, metres; 0: as the other rods.
        pub middle_diameter_m: f64 = 0.0, number(0.0, 1.0, "m");
        /// Distance from axis to axis, metres.
        pub spacing_m: f64 = 0.2, number(0.001, 10.0, "m");
        /// Height of rods and walls, metres.
        pub height_m: f64 = 5.0, length();
        /// Distance from the origin to the axes of a row, metres.
        pub row_distance_m: f64 = 6.0, length();
        /// Distance from the axes of a row to the wall behind them, metres.
        pub wall_behind_m: f64 = 3.0, number(0.01, 200.0, "m");
        /// Width of each wall, metres; 0: as wide as the square.
        pub wall_width_m: f64 = 0.0, number(0.0, 1000.0, "m");
        /// Diffuse reflectance of rods.
        pub rod_reflectance: f64 = 0.5, share();
        /// Diffuse reflectance of walls and floor.
        pub wall_reflectance: f64 = 0.5, share();
    }
}

keys! {
    /// Parameters of the walled meadow.
    #[derive(Clone, Debug, PartialEq)]
    pub struct MeadowWallParameters {
        /// Fixes every shape and place (default: the rig's seed).
        pub seed: u64 = 0, By(seed);
        /// Blades of grass between a clear circle of 4 m around the origin and the walls, rounded up to clumps of 100
        /// blades (800 triangles).
        pub grass_blades: u64 = 60_000, whole(0, 10_000_000, "blades");
        /// Distance from the origin to each side of the fence, metres.
        pub fence_distance_m: f64 = 8.0, number(5.0, 200.0, "m");
        /// Height of posts and net, metres.
        pub fence_height_m: f64 = 2.0, length();
        /// Largest distance between posts, metres.
        pub post_spacing_m: f64 = 2.0, number(0.1, 100.0, "m");
        /// Diameter of a post, a prism of 16 sides, metres.
        pub post_diameter_m: f64 = 0.1, thickness();
        /// Largest mesh width of the net, metres.
        pub wire_spacing_m: f64 = 0.15, number(0.02, 10.0, "m");
        /// Diameter of a wire, a prism of 6 sides, metres.
        pub wire_diameter_m: f64 = 0.004, thickness();
        /// Distance from the fence to the walls, metres.
        pub wall_behind_m: f64 = 4.0, length();
        /// Height of the walls, metres.
        pub wall_height_m: f64 = 6.0, length();
    }
}

keys! {
    /// Parameters of the stand of grass.
    #[derive(Clone, Debug, PartialEq)]
    pub struct GrassStandParameters {
        /// Fixes every shape and place (default: the rig's seed).
        pub seed: u64 = 0, By(seed);
        /// Upright stems on a square metre, each in a random place.
        pub stems_per_m2: f64 = 50.0, number(0.0, 2000.0, "stems");
        /// Diameter of a stem, a prism of 16 sides, metres.
        pub diameter_m: f64 = 0.01, thickness();
        /// Distance from the origin to the stand's front edge in the east (x), metres.
        pub distance_m: f64 = 20.0, length();
        /// Width of the stand, along y, metres.
        pub width_m: f64 = 10.0, number(0.1, 50.0, "m");
        /// Depth of the stand, along x, metres.
        pub depth_m: f64 = 5.0, number(0.1, 50.0, "m");
        /// Height of stems, metres.
        pub height_m: f64 = 2.0, length();
        /// Diffuse reflectance of stems.
        pub reflectance: f64 = 0.5, share();
    }
}

keys! {
    /// Parameters of the shrub.
    #[derive(Clone, Debug, PartialEq)]
    pub struct ShrubParameters {
        /// Fixes every shape and place (default: the rig's seed).
        pub seed: u64 = 0, By(seed);
        /// Leaves, octagons turned at random, in the outer 15 % of the crown's radius.
        pub leaves: u32 = 700, whole(0, 1_000_000, "leaves");
        /// Mean radius of the leaves, metres. A leaf has 0.7 to 1.3 times this radius.
        pub leaf_radius_m: f64 = 0.025, thickness();
        /// Half-axes of the crown along x, y and z, metres.
        pub crown_m: [f64; 3] = [0.35, 0.35, 0.4], number(0.01, 20.0, "m");
        /// Diameter of the stem, which ends at the crown's top, metres.
        pub stem_diameter_m: f64 = 0.06, thickness();
        /// Length of the stem between pot and crown, metres.
        pub bare_stem_m: f64 = 0.35, number(0.0, 20.0, "m");
        /// Diffuse reflectance of leaves.
        pub leaf_reflectance: f64 = 0.5, share();
        /// Diffuse reflectance of stem and pot.
        pub stem_reflectance: f64 = 0.3, share();
    }
}

keys! {
    /// Parameters of the street.
    #[derive(Clone, Debug, PartialEq)]
    pub struct StreetParameters {
        /// Length of the street along x, metres; its middle is the origin.
        pub length_m: f64 = 120.0, number(40.0, 1000.0, "m");
        /// Distance from the origin to the road sign along x, metres.
        pub sign_distance_m: f64 = 20.0, number(3.0, 500.0, "m");
        /// Radius of the puddle at x = 8 m, y = 1.8 m, metres; 0 for none.
        pub puddle_radius_m: f64 = 1.5, number(0.0, 1.9, "m");
        /// Share of the asphalt's texture that water fills: 0 is dry, 1 soaked.
        pub wetness: f64 = 0.0, share();
    }
}

words!(PuddleChoice: "none" => None, "water" => Water, "matt" => Matt);
/// Surface of the puddle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PuddleChoice {
    /// No puddle.
    #[default]
    None,
    /// Specular water without a visible bottom.
    Water,
    /// Water with a diffuse surface, as in a simulator without specular reflection.
    Matt,
}

keys! {
    /// Parameters of the field.
    #[derive(Clone, Debug, PartialEq)]
    pub struct AndabataFieldParameters {
        /// Fixes every shape and place (default: the rig's seed).
        pub seed: u64 = 0, By(seed);
        /// Approximate height of the ground above z = 0, and depth below it, metres.
        pub ground_relief_m: f64 = 0.6, number(0.0, 3.0, "m");
        /// Depth of the three ditches, metres.
        pub ditch_depth_m: f64 = 0.8, number(0.0, 2.0, "m");
        /// Rocks, 0.8 to 1.6 m across.
        pub rocks: u32 = 10, whole(0, 100, "rocks");
        /// Copies of the tree, 4.8 to 7.2 m tall.
        pub trees: u32 = 6, whole(0, 100, "trees");
        /// Triangles of the tree model, rounded down to an even number.
        pub tree_triangles: u32 = 40_000, whole(1000, 5_000_000, "triangles");
        /// Blades of high grass in eight patches, rounded up to clumps of 100 blades (800 triangles).
        pub grass_blades: u64 = 60_000, whole(0, 10_000_000, "blades");
        /// Puddle of 3 x 2 m on the way to the first goal: none, water that mirrors, or a diffuse (matt) surface.
        pub puddle: PuddleChoice = PuddleChoice::None, OneOf(&PuddleChoice::WORDS, SCENE);
    }
}

keys! {
    /// Parameters of the apron.
    #[derive(Clone, Debug, PartialEq)]
    pub struct FortDrumParameters {
        /// Fixes every shape and place (default: the rig's seed).
        pub seed: u64 = 0, By(seed);
        /// Largest height of the ground above z = 0, and largest depth below it, metres.
        pub roughness_m: f64 = 0.02, number(0.0, 0.5, "m");
        /// Upright stems on a square metre of the two strips of plants, 4 x 1.5 m each. At 307 stems of 5 mm, one ray in
        /// ten passes through 1.5 m of plants.
        pub plants_per_m2: f64 = 307.0, number(0.0, 2000.0, "stems");
        /// Diameter of a stem, a prism of 16 sides, metres.
        pub plant_diameter_m: f64 = 0.005, thickness();
        /// Height of a stem, metres.
        pub plant_height_m: f64 = 0.6, number(0.1, 10.0, "m");
        /// Diffuse reflectance of stems.
        pub plant_reflectance: f64 = 0.5, share();
        /// Blades of grass below 0.18 m on a strip of 4 x 1.5 m, rounded up to clumps of 100 blades (800 triangles).
        pub grass_blades: u64 = 40_000, whole(0, 1_000_000, "blades");
    }
}
