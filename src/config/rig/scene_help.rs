//! What is said of a parameter of a built-in scene.

/// One parameter of a built-in scene.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParameterHelp {
    /// The key.
    pub name: &'static str,
    /// Its default, as written in a rig, or in words.
    pub default: &'static str,
    /// Smallest allowed value (of each number, if it is a list).
    pub min: f64,
    /// Largest allowed value (of each number, if it is a list).
    pub max: f64,
    /// The words that it may be instead of a number; none if it is a number.
    pub words: &'static [&'static str],
    /// Meaning of the parameter, with its unit.
    pub meaning: &'static str,
}

/// A parameter that is a number within limits.
pub(super) const fn help(
    name: &'static str,
    default: &'static str,
    [min, max]: [f64; 2],
    meaning: &'static str,
) -> ParameterHelp {
    ParameterHelp { name, default, min, max, words: &[], meaning }
}

/// The limit of what a TOML integer can hold, which is no limit worth telling.
pub(super) const LARGEST_WHOLE: f64 = i64::MAX as f64;

impl ParameterHelp {
    /// The limits in words, such as `0 to 2000`, or the words.
    pub fn allowed(&self) -> String {
        if !self.words.is_empty() {
            return self.words.iter().map(|w| format!("\"{w}\"")).collect::<Vec<_>>().join(", ");
        }
        if self.max >= LARGEST_WHOLE {
            return format!("{} or more", self.min);
        }
        format!("{} to {}", self.min, self.max)
    }

    /// Whether `value` lies within the limits; NaN does not.
    pub fn allows(&self, value: f64) -> bool {
        (self.min..=self.max).contains(&value)
    }
}
