//! Options with a few values.

/// An enum whose values have a word each, by which users choose it. The sentence in front of a value is its help, too.
macro_rules! choices {
    ($(#[$meta:meta])* $type:ident { $($(#[doc = $help:literal])* $value:ident = $word:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[allow(missing_docs)] // some words say it
        pub enum $type {
            $($(#[doc = $help])* $value,)+
        }

        impl $type {
            /// Every value with its word, and what it is if the word does not say it.
            pub const CHOICES: &'static [(Self, &'static str, &'static str)] =
                &[$((Self::$value, $word, concat!($($help),*).trim_ascii()),)+];

            /// Its word.
            pub fn word(self) -> &'static str {
                match self {
                    $(Self::$value => $word,)+
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.word())
            }
        }
    };
}
