//! Enums whose values have names in rig files, profiles and reports.

/// Gives the values of an enum their names in TOML and `menura profiles`.
#[macro_export]
macro_rules! words {
    ($type:ident: $($word:literal => $variant:ident),+) => {
        impl $type {
            /// Every value with its name in TOML.
            pub const WORDS: [(&'static str, Self); [$($word),+].len()] =
                [$(($word, Self::$variant)),+];

            /// Name of the value in TOML.
            pub fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),+
                }
            }
        }
    };
}
