//! Options with a fixed set of values.

/// Defines an enum whose values users choose by a word. The doc comment of a value is also its help text.
macro_rules! choices {
    ($(#[$meta:meta])* $type:ident { $($(#[doc = $help:literal])* $value:ident = $word:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[allow(missing_docs)] // values whose word is clear have no comment
        pub enum $type {
            $($(#[doc = $help])* $value,)+
        }

        impl $type {
            /// Every value with its word and a description; the description is empty if the word is clear on its own.
            pub const CHOICES: &'static [(Self, &'static str, &'static str)] =
                &[$((Self::$value, $word, concat!($($help),*).trim_ascii()),)+];

            /// The word by which users choose the value.
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
