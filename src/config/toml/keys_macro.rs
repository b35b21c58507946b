//! Keys that are defined once: `keys!` makes a struct, its reader and the sentences of `docs/RIG-KEYS.md` from one
//! list, as `record!` does for bytes.

/// Makes a struct and the reader of its table. Each field has a doc comment, which is its sentence in the
/// documentation, and a [`KeyType`](crate::toml::key_types::KeyType). If the key differs from the field's name, the
/// field also has `as "key"`.
///
/// - By default, all keys are required: [`RequiredKeys`](crate::toml::key_types::RequiredKeys). A block `then` after
///   the list has fields that are computed from the keys and from `name => reader;` before the block. `check` names a
///   function that rejects combinations of values.
/// - With `= value` after the type of a field, its key is optional. The value may depend on fields above. In a table
///   that is itself optional, read such a key with `By`, because descriptions do not show its default. Otherwise
///   `menura new` would write the default without the required keys.
/// - With `= value` after the type of each field, the struct also has these values as its `Default`, and a reader
///   that overwrites them: [`OptionalKeys`](crate::toml::key_types::OptionalKeys). Here a value must not depend on
///   other fields. `as required` after a field's name makes its key required.
/// - With `in profile and rig;` at the start, a profile must have the keys and a rig may override them:
///   [`SharedKeys`](crate::toml::keys::SharedKeys). If `for Type as fn name();` follows, the list makes a reader of a
///   struct that is declared elsewhere.
/// - With groups of keys, `name { ... }`, the struct has one method for each group, which reads the group's keys. Use
///   groups if keys depend on other keys, or if a profile has several tables for one table of a rig. Fields without a
///   key follow the groups.
/// - With `with (name: Type);` at the start, key types may use these arguments of the reader. The reader is then a
///   function of the struct, `read_keys` or `read_into`.
/// - `pub enum Name of Kind` has a word for each variant, and either keys like those of a struct, or a tuple with its
///   reader: `Variant = "word" (Type) => reader;`. `Kind` is the same enum without content; its `read` reads the
///   keys.
///
/// Instead of a key type, `=> reader` names a function that reads from the table. For shared keys, the function reads
/// from [`Keys`](crate::toml::keys::Keys) into the whole struct. A shared field with neither a key type nor a
/// function is read by the function of another field.
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
    ($(with ($($arg:ident: $Arg:ty),*);)? $(#[$meta:meta])* pub enum $Name:ident of $Kind:ident {
        $($(#[doc = $variant_doc:literal])+ $Variant:ident = $word:literal $({
            $($(#[doc = $doc:literal])+ $field:ident $(as $key:literal)?: $T:ty $(= $value:expr)?
                $(, $key_type:expr)? $(=> $reader:expr)?;)+
        })? $(($Inner:ty) => $inner:expr;)?)+
    }) => {
        $(#[$meta])*
        pub enum $Name {
            $($(#[doc = $variant_doc])+ $Variant $({ $($(#[doc = $doc])+ $field: $T,)+ })? $(($Inner))?,)+
        }

        impl $Name {
            /// Name of the kind in TOML.
            pub fn word(&self) -> &'static str {
                match self {
                    $(Self::$Variant { .. } => $word,)+
                }
            }
        }

        words!($Kind: $($word => $Variant),+);
        #[doc = concat!("Kind of a [`", stringify!($Name), "`], before its keys are read.")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $Kind {
            $($(#[doc = $variant_doc])+ $Variant,)+
        }

        impl $Kind {
            /// Reads the keys of this kind; the table may have further keys.
            pub fn read(
                self,
                table: &mut $crate::toml::reader::TableReader<'_>,
                $($($arg: $Arg),*)?
            ) -> Option<$Name> {
                match self {
                    $(Self::$Variant => {
                        $($($crate::keys!(
                            @let $field: $T $(= $value)?; table, $crate::keys!(@name $field $($key)?),
                            concat!($($doc),+), $($key_type)? $(=> $reader)?
                        );)+)?
                        $crate::keys!(
                            @variant $Name $Variant, table $(, { $($field $(= $value)?,)+ })? $(, ($inner))?
                        )
                    })+
                }
            }
        }
    };
    ($(with ($($arg:ident: $Arg:ty),*);)? $(#[$meta:meta])* pub struct $Name:ident {
        $($(#[doc = $doc:literal])+ pub $field:ident $(as $required:ident)? $(as $key:literal)?: $T:ty = $value:expr,
            $key_type:expr;)+
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

        impl $Name {
            /// Reads the keys that the table has; other values stay unchanged.
            pub fn read_into(
                &mut self,
                table: &mut $crate::toml::reader::TableReader<'_>,
                $($($arg: $Arg),*)?
            ) {
                $($crate::keys!(
                    @into table, self.$field, $crate::keys!(@name $field $($key)?), concat!($($doc),+),
                    $key_type $(, $required)?
                );)+
            }
        }

        $crate::keys!(@optional_keys $Name $(with ($($arg),*))?);
    };
    (with $args:tt; $($rest:tt)+) => {
        $crate::keys!(@required_struct $args $($rest)+);
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
        $($(#[doc = $doc:literal])+ pub $field:ident $(as $key:literal)?: $T:ty $(= $value:expr)?
            $(, $key_type:expr)? $(=> $reader:expr)?;)+
    } $(then $($local:ident => $local_reader:expr;)* {
        $($(#[doc = $more:literal])+ pub $made:ident: $M:ty = $made_of:expr;)+
    })? $(check $check:path;)?) => {
        $(#[$meta])*
        pub struct $Name {
            $($(#[doc = $doc])+ pub $field: $T,)+
            $($($(#[doc = $more])+ pub $made: $M,)+)?
        }

        impl $Name {
            /// Reads the keys; the table may have further keys.
            pub fn read_keys(
                table: &mut $crate::toml::reader::TableReader<'_>,
                $($arg: $Arg),*
            ) -> Option<Self> {
                $($crate::keys!(
                    @let $field: $T $(= $value)?; table, $crate::keys!(@name $field $($key)?),
                    concat!($($doc),+), $($key_type)? $(=> $reader)?
                );)+
                $($(let $local = $crate::keys!(@required table, "", "", => $local_reader);)*)?
                let all = (|| {
                    $(let $field = $crate::keys!(@got $field $(= $value)?);)+
                    $($(let $local = $local?;)* $(let $made: $M = $made_of;)+)?
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
            /// Reads the keys of the table; keys that a rig lacks keep the profile's values.
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
    (@let $field:ident: $T:ty; $($key:tt)+) => {
        let $field: Option<$T> = $crate::keys!(@required $($key)+);
    };
    (@let $field:ident: $T:ty = $value:expr; $table:ident, $key:expr, $doc:expr, $key_type:expr) => {
        let $field: $T = {
            let mut value = $value;
            $crate::toml::key_types::optional($table, $key, $doc, &$key_type, &mut value);
            value
        };
    };
    (@variant $Name:ident $Variant:ident, $table:ident) => { Some($Name::$Variant) };
    (@variant $Name:ident $Variant:ident, $table:ident, { $($field:ident $(= $value:expr)?,)+ }) => {
        Some($Name::$Variant { $($field: $crate::keys!(@got $field $(= $value)?)),+ })
    };
    (@variant $Name:ident $Variant:ident, $table:ident, ($inner:expr)) => {
        $crate::toml::key_types::read_by($table, "", "", $inner).map($Name::$Variant)
    };
    (@got $field:ident) => { $field? };
    (@got $field:ident = $value:expr) => { $field };
    (@into $table:ident, $all:ident.$field:ident, $key:expr, $doc:expr, $key_type:expr) => {
        $crate::toml::key_types::optional($table, $key, $doc, &$key_type, &mut $all.$field)
    };
    (@into $table:ident, $all:ident.$field:ident, $key:expr, $doc:expr, $key_type:expr, required) => {
        if let Some(read) = $crate::toml::key_types::required($table, $key, $doc, &$key_type) {
            $all.$field = read;
        }
    };
    (@optional_keys $Name:ident with $args:tt) => {};
    (@optional_keys $Name:ident) => {
        impl $crate::toml::key_types::OptionalKeys for $Name {
            fn read_into(&mut self, table: &mut $crate::toml::reader::TableReader<'_>) {
                self.read_into(table);
            }
        }
    };
    (@required $table:ident, $key:expr, $doc:expr, => $reader:expr) => {
        $crate::toml::key_types::read_by($table, $key, $doc, $reader)
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
