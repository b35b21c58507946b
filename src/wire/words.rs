//! Enums whose values have a word in rig files, profiles and reports.

/// Gives an enum the words that TOML and `menura profiles` have for it.
#[macro_export]
macro_rules! words {
    ($type:ident: $($word:literal => $variant:ident),+) => {
        impl $type {
            /// Every value with its word in TOML.
            pub const WORDS: [(&'static str, Self); [$($word),+].len()] =
                [$(($word, Self::$variant)),+];

            /// The word for it in TOML.
            pub fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),+
                }
            }
        }
    };
}
