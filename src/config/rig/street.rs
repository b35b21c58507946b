//! Parameters of the built-in `street`.

use super::scene_help::ParameterHelp;

/// Parameters of the street.
#[derive(Clone, Debug, PartialEq)]
pub struct StreetParameters {
    /// Along x, metres; half of it on either side of the origin.
    pub length_m: f64,
    /// Distance from the origin to the road sign along x, metres.
    pub sign_distance_m: f64,
    /// Radius of the puddle, metres; 0 for none.
    pub puddle_radius_m: f64,
    /// Share of the asphalt's texture that is filled with water.
    pub wetness: f64,
}

impl StreetParameters {
    /// Names, defaults, limits and meanings, in the order they are listed.
    pub const HELP: &'static [ParameterHelp] = &[
        ParameterHelp {
            name: "length_m",
            default: "120.0",
            min: 40.0,
            max: 1000.0,
            words: &[],
            meaning: "length of the street along x, metres; its middle is the origin",
        },
        ParameterHelp {
            name: "sign_distance_m",
            default: "20.0",
            min: 3.0,
            max: 500.0,
            words: &[],
            meaning: "from the origin to the road sign along x, metres",
        },
        ParameterHelp {
            name: "puddle_radius_m",
            default: "1.5",
            min: 0.0,
            max: 1.9,
            words: &[],
            meaning: "radius of the puddle at x = 8 m, y = 1.8 m, metres; 0 for none",
        },
        ParameterHelp {
            name: "wetness",
            default: "0.0",
            min: 0.0,
            max: 1.0,
            words: &[],
            meaning: "share of the asphalt's texture that water fills: 0 is dry, 1 soaked",
        },
    ];
}

impl Default for StreetParameters {
    fn default() -> Self {
        Self { length_m: 120.0, sign_distance_m: 20.0, puddle_radius_m: 1.5, wetness: 0.0 }
    }
}
