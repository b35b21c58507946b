//! Keys that are stated once: `keys!` makes a struct, its reader and the sentences of `docs/RIG-KEYS.md` of one
//! list, as `record!` does for bytes.

use serde_json::Value as Json;

pub use super::key_type::{KeyType, shortest};
use super::reader::{Field, Limit, TableReader};

impl KeyType<f64> for Limit<f64> {
    fn read(&self, field: &Field<'_>) -> Option<f64> {
        field.number(self)
    }

    fn written(&self, value: &f64) -> Json {
        shortest(*value).into()
    }
}

impl<const N: usize> KeyType<[f64; N]> for Limit<f64> {
    fn read(&self, field: &Field<'_>) -> Option<[f64; N]> {
        field.numbers(self)
    }

    fn written(&self, values: &[f64; N]) -> Json {
        values.to_vec().into()
    }
}

impl<T: TryFrom<i128> + Copy + Into<Json>> KeyType<T> for Limit<i128> {
    fn read(&self, field: &Field<'_>) -> Option<T> {
        field.integer(self)
    }

    fn written(&self, value: &T) -> Json {
        (*value).into()
    }
}

/// A number of which one is stored as so many of another unit.
#[derive(Debug)]
pub struct Scaled(pub Limit<f64>, pub f64);

impl KeyType<f64> for Scaled {
    fn read(&self, field: &Field<'_>) -> Option<f64> {
        field.number(&self.0).map(|x| x * self.1)
    }

    fn written(&self, value: &f64) -> Json {
        shortest(*value / self.1).into()
    }
}

/// An angle in degrees, stored in radians.
#[derive(Debug)]
pub struct Degrees(pub Limit<f64>);

impl KeyType<f64> for Degrees {
    fn read(&self, field: &Field<'_>) -> Option<f64> {
        field.number(&self.0).map(f64::to_radians)
    }

    fn written(&self, value: &f64) -> Json {
        shortest(value.to_degrees()).into()
    }
}

/// A time in units of so many nanoseconds, stored in whole nanoseconds.
#[derive(Debug)]
pub struct Time(pub Limit<f64>, pub f64);

impl KeyType<u64> for Time {
    fn read(&self, field: &Field<'_>) -> Option<u64> {
        field.number(&self.0).map(|x| (x * self.1).round() as u64)
    }

    fn written(&self, value: &u64) -> Json {
        shortest(*value as f64 / self.1).into()
    }
}

/// One of a few words, and the origin of the list.
#[derive(Debug)]
pub struct OneOf<'w, T>(pub &'w [(&'w str, T)], pub &'w str);

impl<T: Clone + PartialEq> KeyType<T> for OneOf<'_, T> {
    fn read(&self, field: &Field<'_>) -> Option<T> {
        field.choice(self.0, self.1)
    }

    fn written(&self, value: &T) -> Json {
        self.0.iter().find(|(_, known)| known == value).map(|(word, _)| *word).into()
    }
}

/// `true` or `false`.
#[derive(Debug)]
pub struct TrueOrFalse;

impl KeyType<bool> for TrueOrFalse {
    fn read(&self, field: &Field<'_>) -> Option<bool> {
        field.boolean()
    }

    fn written(&self, value: &bool) -> Json {
        (*value).into()
    }
}

/// A value with a reader of its own.
#[derive(Debug)]
pub struct By<F>(pub F);

impl<T, F: Fn(&Field<'_>) -> Option<T>> KeyType<T> for By<F> {
    fn read(&self, field: &Field<'_>) -> Option<T> {
        (self.0)(field)
    }
}

/// A table of keys; messages call it by this name.
#[derive(Debug)]
pub struct Table(pub &'static str);

impl<T: RequiredKeys> KeyType<T> for Table {
    fn read(&self, field: &Field<'_>) -> Option<T> {
        field.table(self.0).and_then(T::read)
    }
}

/// A table whose keys must all be written, as in a profile.
pub trait RequiredKeys: Sized {
    /// Reads the table.
    fn read(table: TableReader<'_>) -> Option<Self>;
}

/// A table whose keys have defaults.
pub trait OptionalKeys: Default {
    /// Reads the keys that are written; the others keep their values.
    fn read_into(&mut self, table: &mut TableReader<'_>);
}

/// Reads a key that must be written. `doc` says what it sets.
pub fn required<'f, T>(
    table: &mut TableReader<'f>,
    key: &'static str,
    doc: &str,
    key_type: &impl KeyType<T>,
) -> Option<T> {
    key_type.read(&table.required(key).meaning(doc.trim()))
}

/// Reads a key that may be left out into `value`, its default. `doc` says what it sets.
pub fn optional<T>(
    table: &mut TableReader<'_>,
    key: &'static str,
    doc: &str,
    key_type: &impl KeyType<T>,
    value: &mut T,
) {
    let field = table.optional(key).meaning(doc.trim());
    field.defaults_to(key_type.written(value));
    if let Some(read) = key_type.read(&field) {
        *value = read;
    }
}

/// Makes a struct and the reader of its table. Each field has its sentence as a doc comment, its key if that is not
/// its name, and its [`KeyType`](crate::toml::key_types::KeyType).
///
/// - Without more, all keys must be written: [`RequiredKeys`](crate::toml::key_types::RequiredKeys).
/// - With `= value` behind the type of each field, keys may be left out:
///   [`OptionalKeys`](crate::toml::key_types::OptionalKeys).
/// - With `in profile and rig;` at the start, a profile must have the keys and a rig may override them:
///   [`SharedKeys`](crate::toml::keys::SharedKeys).
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
            fn read(mut table: $crate::toml::reader::TableReader<'_>) -> Option<Self> {
                $(let $field: Option<$T> = $crate::toml::key_types::required(
                    &mut table,
                    $crate::keys!(@name $field $($key)?),
                    concat!($($doc),+),
                    &$key_type,
                );)+
                table.finish();
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
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $key:literal) => { $key };
}
