//! Parameters of the built-in `andabata-field`.

use super::scene_help::{LARGEST_WHOLE, ParameterHelp, help};

words!(PuddleChoice: "none" => None, "water" => Water, "matt" => Matt);
/// The puddle on the way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PuddleChoice {
    /// There is none.
    #[default]
    None,
    /// Water that mirrors and shows no bottom.
    Water,
    /// The same surface, matt: what a simulator without mirrors has.
    Matt,
}

/// Parameters of the field.
#[derive(Clone, Debug, PartialEq)]
pub struct AndabataFieldParameters {
    /// Seed of relief, rocks, trees and grass; the rig's seed when left out.
    pub seed: u64,
    /// Hills rise or sink by about this, metres.
    pub ground_relief_m: f64,
    /// Depth of the three ditches, metres.
    pub ditch_depth_m: f64,
    /// Rocks.
    pub rocks: u32,
    /// Trees.
    pub trees: u32,
    /// Triangles of the tree model, about.
    pub tree_triangles: u32,
    /// Blades of grass, rounded up to whole clumps of 100 blades (800 triangles).
    pub grass_blades: u64,
    /// The puddle on the way to the first goal.
    pub puddle: PuddleChoice,
}

impl AndabataFieldParameters {
    /// Names, defaults, limits and meanings, in the order they are listed.
    pub const HELP: &'static [ParameterHelp] = &[
        help("seed", "the rig's seed", [0.0, LARGEST_WHOLE], "fixes every shape and place"),
        help(
            "ground_relief_m",
            "0.6",
            [0.0, 3.0],
            "how far the ground rises above or sinks below z = 0, about, metres",
        ),
        help("ditch_depth_m", "0.8", [0.0, 2.0], "depth of the three ditches, metres"),
        help("rocks", "10", [0.0, 100.0], "rocks, 0.8 to 1.6 m across"),
        help("trees", "6", [0.0, 100.0], "copies of the tree, 4.8 to 7.2 m tall"),
        help(
            "tree_triangles",
            "40000",
            [1000.0, 5_000_000.0],
            "triangles of the tree model, rounded down to an even number",
        ),
        help(
            "grass_blades",
            "60000",
            [0.0, 10_000_000.0],
            "blades of high grass in eight patches, rounded up to clumps of 100 blades (800 triangles)",
        ),
        ParameterHelp {
            name: "puddle",
            default: "\"none\"",
            min: 0.0,
            max: 0.0,
            words: &["none", "water", "matt"],
            meaning: "the puddle of 3 x 2 m on the way to the first goal: none, water that mirrors, or a \
                      matt surface in its place",
        },
    ];
}

impl Default for AndabataFieldParameters {
    fn default() -> Self {
        Self {
            seed: 0,
            ground_relief_m: 0.6,
            ditch_depth_m: 0.8,
            rocks: 10,
            trees: 6,
            tree_triangles: 40_000,
            grass_blades: 60_000,
            puddle: PuddleChoice::None,
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The number behind a printed default.
    pub fn used(name: &str) -> Option<Vec<f64>> {
        let field = AndabataFieldParameters::default();
        Some(vec![match name {
            "ground_relief_m" => field.ground_relief_m,
            "ditch_depth_m" => field.ditch_depth_m,
            "rocks" => f64::from(field.rocks),
            "trees" => f64::from(field.trees),
            "tree_triangles" => f64::from(field.tree_triangles),
            "grass_blades" => field.grass_blades as f64,
            _ => return None,
        }])
    }

    #[test]
    fn the_printed_words_are_those_that_are_read() {
        let help = AndabataFieldParameters::HELP.iter().find(|help| help.name == "puddle").unwrap();
        let words: Vec<&str> = PuddleChoice::WORDS.iter().map(|(word, _)| *word).collect();
        assert_eq!(help.words, words);
        let default = AndabataFieldParameters::default().puddle.word();
        assert_eq!(help.default, format!("\"{default}\""));
        assert_eq!(help.allowed(), "\"none\", \"water\", \"matt\"");
    }
}
