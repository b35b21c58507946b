//! Keys that are stated once: `keys!` makes a struct, its reader and the sentences of `docs/RIG-KEYS.md` from
//! one list, as `record!` does for bytes.

/// Makes a struct and the reader of its table. Each field has a doc comment, which is its sentence, a key if
/// the key differs from the field's name, and a [`KeyType`](crate::toml::key_types::KeyType).
///
/// - Without more, all keys must be written: [`RequiredKeys`](crate::toml::key_types::RequiredKeys).
/// - With `= value` behind the type of each field, keys may be left out:
///   [`OptionalKeys`](crate::toml::key_types::OptionalKeys).
/// - With `in profile and rig;` at the start, a profile must have the keys and a rig may override them:
///   [`SharedKeys`](crate::toml::keys::SharedKeys).
/// - With groups of keys, `name { ... }`, the struct has one method for each group, which reads its keys: they may
///   depend on other keys, or a profile has in several tables what a rig has in one. Fields without a key follow the
///   groups.
///
/// ```text
/// keys! {
///     /// The motor.
///     pub struct Motor {
///         /// Rotation speed at the start.
///         pub speed_rpm: u32, Limit::new(300..=1200, "rpm", PROFILES);
///         /// Time from rest to full speed.
///         pub spin_up_ns as "spin_up_s": u64, Time(Limit::new(0.0..=60.0, "s", PROFILES), 1e9);
///     }
/// }
/// ```
#[macro_export]
macro_rules! keys {
    ($(#[$meta:meta])* pub struct $Name:ident {
        $($(#[doc = $doc:literal])+ pub $field:ident $(as $key:literal)?: $T:ty, $key_type:expr;)+
    }) => {
        $(#[$meta])*
        pub struct $Name {
            $($(#[doc = $doc])+ pub $field: $T,)+
        }

        impl $crate::toml::key_types::RequiredKeys for $Name {
            fn read_keys(table: &mut $crate::toml::reader::TableReader<'_>) -> Option<Self> {
                $(let $field: Option<$T> = $crate::toml::key_types::required(
                    table,
                    $crate::keys!(@name $field $($key)?),
                    concat!($($doc),+),
                    &$key_type,
                );)+
                Some(Self { $($field: $field?),+ })
            }
        }
    };
    ($(#[$meta:meta])* pub struct $Name:ident {
        $($(#[doc = $doc:literal])+ pub $field:ident $(as $key:literal)?: $T:ty = $value:expr, $key_type:expr;)+
    }) => {
        $(#[$meta])*
        pub struct $Name {
            $($(#[doc = $doc])+ pub $field: $T,)+
        }

        impl Default for $Name {
            fn default() -> Self {
                Self { $($field: $value),+ }
            }
        }

        impl $crate::toml::key_types::OptionalKeys for $Name {
            fn read_into(&mut self, table: &mut $crate::toml::reader::TableReader<'_>) {
                $($crate::toml::key_types::optional(
                    table,
                    $crate::keys!(@name $field $($key)?),
                    concat!($($doc),+),
                    &$key_type,
                    &mut self.$field,
                );)+
            }
        }
    };
    (in profile and rig; $(#[$meta:meta])* pub struct $Name:ident {
        $($(#[doc = $doc:literal])+ pub $field:ident $(as $key:literal)?: $T:ty, $key_type:expr;)+
    }) => {
        $(#[$meta])*
        pub struct $Name {
            $($(#[doc = $doc])+ pub $field: $T,)+
        }

        impl $crate::toml::keys::SharedKeys for $Name {
            fn read_keys(&mut self, keys: &mut $crate::toml::keys::Keys<'_>) {
                $(keys.of_type(
                    $crate::keys!(@name $field $($key)?),
                    concat!($($doc),+),
                    &$key_type,
                    &mut self.$field,
                );)+
            }
        }
    };
    ($(in profile and rig;)? $(#[$meta:meta])* pub struct $Name:ident {
        $($group:ident {
            $($(#[doc = $doc:literal])+ pub $field:ident $(as $key:literal)?: $T:ty, $key_type:expr;)+
        })+
        $($(#[doc = $other_doc:literal])+ pub $other:ident: $O:ty,)*
    }) => {
        $(#[$meta])*
        pub struct $Name {
            $($($(#[doc = $doc])+ pub $field: $T,)+)+
            $($(#[doc = $other_doc])+ pub $other: $O,)*
        }

        impl $Name {
            $(pub(crate) fn $group(&mut self, keys: &mut $crate::toml::keys::Keys<'_>) {
                $(keys.of_type(
                    $crate::keys!(@name $field $($key)?),
                    concat!($($doc),+),
                    &$key_type,
                    &mut self.$field,
                );)+
            })+
        }
    };
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $key:literal) => { $key };
}
