//! Keys that are stated once: `keys!` makes a struct, its reader and the sentences of `docs/RIG-KEYS.md` from
//! one list, as `record!` does for bytes.

/// Makes a struct and the reader of its table. Each field has a doc comment, which is its sentence, a key if
/// the key differs from the field's name, and a [`KeyType`](crate::toml::key_types::KeyType).
///
/// - Without more, all keys must be written: [`RequiredKeys`](crate::toml::key_types::RequiredKeys). A block
///   `then` behind the list has fields that are made of those read and of `name => reader;` before the block.
///   `check` names a function that refuses combinations of values.
/// - With `= value` behind the type of each field, keys may be left out:
///   [`OptionalKeys`](crate::toml::key_types::OptionalKeys). With it behind some types, those keys are optional and the
///   others required. In a table that a rig may leave out, read such a key with `By`, whose default no
///   description shows: `menura new` would write it without the required keys.
/// - With `in profile and rig;` at the start, a profile must have the keys and a rig may override them:
///   [`SharedKeys`](crate::toml::keys::SharedKeys). With `for Type as fn name();` behind it, the list makes a
///   reader of a struct that is declared elsewhere.
/// - With groups of keys, `name { ... }`, the struct has one method for each group, which reads its keys: they may
///   depend on other keys, or a profile has in several tables what a rig has in one. Fields without a key follow the
///   groups.
/// - With `with (name: Type);` at the start, key types may use these arguments of the reader, which is then a
///   function of the struct alone, `read_keys`.
///
/// In place of a key type, `=> reader` names a function that reads from the table. For shared keys it reads from
/// [`Keys`](crate::toml::keys::Keys) into the whole struct, and a field with neither is read by another's reader.
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
    (in profile and rig; for $Type:ty as $vis:vis fn $reader_name:ident($($arg:ident: $Arg:ty),*);
        $($(#[doc = $doc:literal])+ $field:ident $(as $key:literal)?
            $(, $key_type:expr)? $(=> $reader:expr)?;)+
    ) => {
        $vis fn $reader_name(
            all: &mut $Type,
            keys: &mut $crate::toml::keys::Keys<'_>,
            $($arg: $Arg),*
        ) {
            $($crate::keys!(
                @shared keys, all, $field, $crate::keys!(@name $field $($key)?), concat!($($doc),+),
                $($key_type)? $(=> $reader)?
            );)+
        }
    };
    (in profile and rig with $args:tt; $($rest:tt)+) => {
        $crate::keys!(@shared_struct $args $($rest)+);
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
    (in profile and rig; $(#[$meta:meta])* pub struct $Name:ident $($rest:tt)+) => {
        $crate::keys!(@shared_struct () $(#[$meta])* pub struct $Name $($rest)+);

        impl $crate::toml::keys::SharedKeys for $Name {
            fn read_keys(&mut self, keys: &mut $crate::toml::keys::Keys<'_>) {
                self.read_keys(keys);
            }
        }
    };
    (with $args:tt; $($rest:tt)+) => {
        $crate::keys!(@required_struct $args $($rest)+);
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
    ($(#[$meta:meta])* pub struct $Name:ident $($rest:tt)+) => {
        $crate::keys!(@required_struct () $(#[$meta])* pub struct $Name $($rest)+);

        impl $crate::toml::key_types::RequiredKeys for $Name {
            fn read_keys(table: &mut $crate::toml::reader::TableReader<'_>) -> Option<Self> {
                Self::read_keys(table)
            }
        }
    };
    (@required_struct ($($arg:ident: $Arg:ty),*) $(#[$meta:meta])* pub struct $Name:ident {
        $($(#[doc = $doc:literal])+ pub $field:ident $(as $key:literal)?: $T:ty $(= $default:expr)?
            $(, $key_type:expr)? $(=> $reader:expr)?;)+
    } $(then $($local:ident => $local_reader:expr;)* {
        $($(#[doc = $more:literal])+ pub $made:ident: $M:ty = $value:expr;)+
    })? $(check $check:path;)?) => {
        $(#[$meta])*
        pub struct $Name {
            $($(#[doc = $doc])+ pub $field: $T,)+
            $($($(#[doc = $more])+ pub $made: $M,)+)?
        }

        impl $Name {
            /// Reads the keys; the table may have others.
            pub fn read_keys(
                table: &mut $crate::toml::reader::TableReader<'_>,
                $($arg: $Arg),*
            ) -> Option<Self> {
                $(let $field: Option<$T> = $crate::keys!(
                    @required table, $crate::keys!(@name $field $($key)?), concat!($($doc),+),
                    $(= $default,)? $($key_type)? $(=> $reader)?
                );)+
                $($(let $local = $crate::keys!(@required table, "", "", => $local_reader);)*)?
                let all = (|| {
                    $(let $field = $field?;)+
                    $($(let $local = $local?;)* $(let $made: $M = $value;)+)?
                    Some(Self { $($field,)+ $($($made),+)? })
                })();
                $(let all = all.filter(|all| $check(table, all));)?
                all
            }
        }
    };
    (@shared_struct ($($arg:ident: $Arg:ty),*) $(#[$meta:meta])* pub struct $Name:ident {
        $($(#[doc = $doc:literal])+ pub $field:ident $(as $key:literal)?: $T:ty
            $(, $key_type:expr)? $(=> $reader:expr)?;)+
    }) => {
        $(#[$meta])*
        pub struct $Name {
            $($(#[doc = $doc])+ pub $field: $T,)+
        }

        impl $Name {
            /// Reads the keys of the table; missing keys of a rig keep the profile's values.
            pub fn read_keys(
                &mut self,
                keys: &mut $crate::toml::keys::Keys<'_>,
                $($arg: $Arg),*
            ) {
                $($crate::keys!(
                    @shared keys, self, $field, $crate::keys!(@name $field $($key)?), concat!($($doc),+),
                    $($key_type)? $(=> $reader)?
                );)+
            }
        }
    };
    (@required $table:ident, $key:expr, $doc:expr, => $reader:expr) => {
        $crate::toml::key_types::read_by($table, $key, $doc, $reader)
    };
    (@required $table:ident, $key:expr, $doc:expr, = $default:expr, $key_type:expr) => {
        $crate::toml::key_types::with_default($table, $key, $doc, &$key_type, $default)
    };
    (@required $table:ident, $key:expr, $doc:expr, $key_type:expr) => {
        $crate::toml::key_types::required($table, $key, $doc, &$key_type)
    };
    (@shared $keys:ident, $all:ident, $field:ident, $key:expr, $doc:expr,) => {};
    (@shared $keys:ident, $all:ident, $field:ident, $key:expr, $doc:expr, => $reader:expr) => {
        $crate::toml::keys::read_by($all, $keys, $key, $doc, $reader)
    };
    (@shared $keys:ident, $all:ident, $field:ident, $key:expr, $doc:expr, $key_type:expr) => {
        $keys.of_type($key, $doc, &$key_type, &mut $all.$field)
    };
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $key:literal) => { $key };
}
