//! Parameters of the built-in scenes of thin things, which share a beam with what stands behind.

use super::scene_help::{LARGEST_WHOLE, ParameterHelp, help};

/// Parameters of `rods`.
#[derive(Clone, Debug, PartialEq)]
pub struct RodsParameters {
    /// Sides of the square around the origin that have a row and a wall, from the east
    /// counter-clockwise, 1..=4.
    pub sides: u32,
    /// Rods in each row.
    pub rods: u32,
    /// Diameter of a rod, metres.
    pub diameter_m: f64,
    /// Diameter of the middle rod of each row, metres; 0 for that of the others.
    pub middle_diameter_m: f64,
    /// Distance from rod to rod, axis to axis, metres.
    pub spacing_m: f64,
    /// Height of rods and walls, metres.
    pub height_m: f64,
    /// Distance from the origin to the axes of a row, metres.
    pub row_distance_m: f64,
    /// Distance from the axes of a row to its wall, metres.
    pub wall_behind_m: f64,
    /// Width of each wall, metres; 0 for as wide as the square.
    pub wall_width_m: f64,
    /// Reflectance of rods.
    pub rod_reflectance: f64,
    /// Reflectance of walls and floor.
    pub wall_reflectance: f64,
}

/// Parameters of `meadow-wall`.
#[derive(Clone, Debug, PartialEq)]
pub struct MeadowWallParameters {
    /// Seed of the grass; the rig's seed when left out.
    pub seed: u64,
    /// Blades of grass, rounded up to whole clumps of 100 blades (800 triangles).
    pub grass_blades: u64,
    /// Distance from the origin to the fence, metres.
    pub fence_distance_m: f64,
    /// Height of posts and net, metres.
    pub fence_height_m: f64,
    /// Distance from post to post at most, metres.
    pub post_spacing_m: f64,
    /// Diameter of a post, metres.
    pub post_diameter_m: f64,
    /// Mesh width of the net at most, metres.
    pub wire_spacing_m: f64,
    /// Diameter of a wire, metres.
    pub wire_diameter_m: f64,
    /// Distance from the fence to the walls, metres.
    pub wall_behind_m: f64,
    /// Height of the walls, metres.
    pub wall_height_m: f64,
}

/// Parameters of `grass-stand`.
#[derive(Clone, Debug, PartialEq)]
pub struct GrassStandParameters {
    /// Seed of the stems' places; the rig's seed when left out.
    pub seed: u64,
    /// Stems on a square metre.
    pub stems_per_m2: f64,
    /// Diameter of a stem, metres.
    pub diameter_m: f64,
    /// Distance from the origin to the front edge, metres.
    pub distance_m: f64,
    /// Across, along y, metres.
    pub width_m: f64,
    /// Away from the sensor, along x, metres.
    pub depth_m: f64,
    /// Height of stems, metres.
    pub height_m: f64,
    /// Reflectance of stems.
    pub reflectance: f64,
}

/// Parameters of `shrub`.
#[derive(Clone, Debug, PartialEq)]
pub struct ShrubParameters {
    /// Seed of the leaves; the rig's seed when left out.
    pub seed: u64,
    /// Leaves.
    pub leaves: u32,
    /// Middle radius of a leaf, metres; leaves have 0.7 to 1.3 of it.
    pub leaf_radius_m: f64,
    /// Half-axes of the crown along x, y and z, metres.
    pub crown_m: [f64; 3],
    /// Diameter of the stem, metres.
    pub stem_diameter_m: f64,
    /// Distance from the pot to the crown, metres.
    pub bare_stem_m: f64,
    /// Reflectance of leaves.
    pub leaf_reflectance: f64,
    /// Reflectance of stem and pot.
    pub stem_reflectance: f64,
}

const SEED: ParameterHelp =
    help("seed", "the rig's seed", [0.0, LARGEST_WHOLE], "fixes every shape and place");
const SHARE: [f64; 2] = [0.0, 1.0];
const THICKNESS_M: [f64; 2] = [0.0005, 1.0];
const LENGTH_M: [f64; 2] = [0.1, 200.0];

impl RodsParameters {
    /// Names, defaults, limits and meanings, in the order they are listed.
    pub const HELP: &'static [ParameterHelp] = &[
        help(
            "sides",
            "4",
            [1.0, 4.0],
            "sides of the square around the origin that have a row of \
              rods and a wall; the first is in the east (x), the others follow counter-clockwise",
        ),
        help("rods", "60", [1.0, 1000.0], "upright rods in each row"),
        help("diameter_m", "0.03", THICKNESS_M, "diameter of a rod, a prism of 16 sides, metres"),
        help(
            "middle_diameter_m",
            "0.0",
            SHARE,
            "diameter of the middle rod of each row, metres; \
              0 for that of the others",
        ),
        help("spacing_m", "0.2", [0.001, 10.0], "distance from axis to axis, metres"),
        help("height_m", "5.0", LENGTH_M, "height of rods and walls, metres"),
        help(
            "row_distance_m",
            "6.0",
            LENGTH_M,
            "distance from the origin to the axes of a row, \
              metres",
        ),
        help(
            "wall_behind_m",
            "3.0",
            [0.01, 200.0],
            "distance from the axes of a row to the wall \
              behind them, metres",
        ),
        help(
            "wall_width_m",
            "0.0",
            [0.0, 1000.0],
            "width of each wall, metres; 0 for that of the \
              square",
        ),
        help("rod_reflectance", "0.5", SHARE, "diffuse reflectance of rods"),
        help("wall_reflectance", "0.5", SHARE, "diffuse reflectance of walls and floor"),
    ];
}

impl MeadowWallParameters {
    /// Names, defaults, limits and meanings, in the order they are listed.
    pub const HELP: &'static [ParameterHelp] = &[
        SEED,
        help(
            "grass_blades",
            "60000",
            [0.0, 10_000_000.0],
            "blades of grass between a clear \
              circle of 4 m around the origin and the walls, rounded up to clumps of 100 blades \
              (800 triangles)",
        ),
        help(
            "fence_distance_m",
            "8.0",
            [5.0, 200.0],
            "distance from the origin to each side of \
              the fence, metres",
        ),
        help("fence_height_m", "2.0", LENGTH_M, "height of posts and net, metres"),
        help("post_spacing_m", "2.0", [0.1, 100.0], "distance between posts at most, metres"),
        help(
            "post_diameter_m",
            "0.1",
            THICKNESS_M,
            "diameter of a post, a prism of 16 sides, \
              metres",
        ),
        help("wire_spacing_m", "0.15", [0.02, 10.0], "mesh width of the net at most, metres"),
        help(
            "wire_diameter_m",
            "0.004",
            THICKNESS_M,
            "diameter of a wire, a prism of 6 sides, \
              metres",
        ),
        help("wall_behind_m", "4.0", LENGTH_M, "distance from the fence to the walls, metres"),
        help("wall_height_m", "6.0", LENGTH_M, "height of the walls, metres"),
    ];
}

impl GrassStandParameters {
    /// Names, defaults, limits and meanings, in the order they are listed.
    pub const HELP: &'static [ParameterHelp] = &[
        SEED,
        help(
            "stems_per_m2",
            "50.0",
            [0.0, 2000.0],
            "upright stems on a square metre, each in a \
              random place",
        ),
        help("diameter_m", "0.01", THICKNESS_M, "diameter of a stem, a prism of 16 sides, metres"),
        help(
            "distance_m",
            "20.0",
            LENGTH_M,
            "distance from the origin to the stand's front edge \
              in the east (x), metres",
        ),
        help("width_m", "10.0", [0.1, 50.0], "width of the stand, along y, metres"),
        help("depth_m", "5.0", [0.1, 50.0], "depth of the stand, along x, metres"),
        help("height_m", "2.0", LENGTH_M, "height of stems, metres"),
        help("reflectance", "0.5", SHARE, "diffuse reflectance of stems"),
    ];
}

impl ShrubParameters {
    /// Names, defaults, limits and meanings, in the order they are listed.
    pub const HELP: &'static [ParameterHelp] = &[
        SEED,
        help(
            "leaves",
            "700",
            [0.0, 1_000_000.0],
            "leaves, octagons turned at random, in the \
              outer 15 % of the crown's radius",
        ),
        help(
            "leaf_radius_m",
            "0.025",
            THICKNESS_M,
            "middle radius of a leaf, metres; leaves have \
              0.7 to 1.3 of it",
        ),
        help(
            "crown_m",
            "[0.35, 0.35, 0.4]",
            [0.01, 20.0],
            "half-axes of the crown along x, y and \
              z, metres",
        ),
        help(
            "stem_diameter_m",
            "0.06",
            THICKNESS_M,
            "diameter of the stem, which ends at the \
              crown's top, metres",
        ),
        help(
            "bare_stem_m",
            "0.35",
            [0.0, 20.0],
            "length of the stem between pot and crown, \
              metres",
        ),
        help("leaf_reflectance", "0.5", SHARE, "diffuse reflectance of leaves"),
        help("stem_reflectance", "0.3", SHARE, "diffuse reflectance of stem and pot"),
    ];
}

impl Default for RodsParameters {
    fn default() -> Self {
        Self {
            sides: 4,
            rods: 60,
            diameter_m: 0.03,
            middle_diameter_m: 0.0,
            spacing_m: 0.2,
            height_m: 5.0,
            row_distance_m: 6.0,
            wall_behind_m: 3.0,
            wall_width_m: 0.0,
            rod_reflectance: 0.5,
            wall_reflectance: 0.5,
        }
    }
}

impl Default for MeadowWallParameters {
    fn default() -> Self {
        Self {
            seed: 0,
            grass_blades: 60_000,
            fence_distance_m: 8.0,
            fence_height_m: 2.0,
            post_spacing_m: 2.0,
            post_diameter_m: 0.1,
            wire_spacing_m: 0.15,
            wire_diameter_m: 0.004,
            wall_behind_m: 4.0,
            wall_height_m: 6.0,
        }
    }
}

impl Default for GrassStandParameters {
    fn default() -> Self {
        Self {
            seed: 0,
            stems_per_m2: 50.0,
            diameter_m: 0.01,
            distance_m: 20.0,
            width_m: 10.0,
            depth_m: 5.0,
            height_m: 2.0,
            reflectance: 0.5,
        }
    }
}

impl Default for ShrubParameters {
    fn default() -> Self {
        Self {
            seed: 0,
            leaves: 700,
            leaf_radius_m: 0.025,
            crown_m: [0.35, 0.35, 0.4],
            stem_diameter_m: 0.06,
            bare_stem_m: 0.35,
            leaf_reflectance: 0.5,
            stem_reflectance: 0.3,
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The default of a parameter that is used, as numbers.
    pub fn used(scene: &str, name: &str) -> Vec<f64> {
        let rods = RodsParameters::default();
        let meadow = MeadowWallParameters::default();
        let stand = GrassStandParameters::default();
        let shrub = ShrubParameters::default();
        let one = match (scene, name) {
            ("rods", "sides") => f64::from(rods.sides),
            ("rods", "rods") => f64::from(rods.rods),
            ("rods", "diameter_m") => rods.diameter_m,
            ("rods", "middle_diameter_m") => rods.middle_diameter_m,
            ("rods", "spacing_m") => rods.spacing_m,
            ("rods", "height_m") => rods.height_m,
            ("rods", "row_distance_m") => rods.row_distance_m,
            ("rods", "wall_behind_m") => rods.wall_behind_m,
            ("rods", "wall_width_m") => rods.wall_width_m,
            ("rods", "rod_reflectance") => rods.rod_reflectance,
            ("rods", "wall_reflectance") => rods.wall_reflectance,
            ("meadow-wall", "grass_blades") => meadow.grass_blades as f64,
            ("meadow-wall", "fence_distance_m") => meadow.fence_distance_m,
            ("meadow-wall", "fence_height_m") => meadow.fence_height_m,
            ("meadow-wall", "post_spacing_m") => meadow.post_spacing_m,
            ("meadow-wall", "post_diameter_m") => meadow.post_diameter_m,
            ("meadow-wall", "wire_spacing_m") => meadow.wire_spacing_m,
            ("meadow-wall", "wire_diameter_m") => meadow.wire_diameter_m,
            ("meadow-wall", "wall_behind_m") => meadow.wall_behind_m,
            ("meadow-wall", "wall_height_m") => meadow.wall_height_m,
            ("grass-stand", "stems_per_m2") => stand.stems_per_m2,
            ("grass-stand", "diameter_m") => stand.diameter_m,
            ("grass-stand", "distance_m") => stand.distance_m,
            ("grass-stand", "width_m") => stand.width_m,
            ("grass-stand", "depth_m") => stand.depth_m,
            ("grass-stand", "height_m") => stand.height_m,
            ("grass-stand", "reflectance") => stand.reflectance,
            ("shrub", "leaves") => f64::from(shrub.leaves),
            ("shrub", "leaf_radius_m") => shrub.leaf_radius_m,
            ("shrub", "crown_m") => return shrub.crown_m.to_vec(),
            ("shrub", "stem_diameter_m") => shrub.stem_diameter_m,
            ("shrub", "bare_stem_m") => shrub.bare_stem_m,
            ("shrub", "leaf_reflectance") => shrub.leaf_reflectance,
            ("shrub", "stem_reflectance") => shrub.stem_reflectance,
            other => panic!("{other:?} is not checked here"),
        };
        vec![one]
    }
}
