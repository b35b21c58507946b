//! Structs with consecutive fields on the wire: one declaration generates the reader and the writer.

use super::ParseError;

/// Byte order: least significant byte first.
#[derive(Clone, Copy, Debug)]
pub enum Le {}

/// Byte order: most significant byte first.
#[derive(Clone, Copy, Debug)]
pub enum Be {}

/// A value with a fixed representation in bytes.
pub trait Record: Sized {
    /// Reads a value from bytes that contain nothing else.
    ///
    /// # Errors
    /// The record has a length or a value that is not allowed.
    fn parse(bytes: &[u8]) -> Result<Self, ParseError>;

    /// Appends the value's bytes.
    fn emit(&self, out: &mut Vec<u8>);

    /// The value as bytes.
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.emit(&mut bytes);
        bytes
    }
}

/// A field of a record in the byte order `Order`.
pub trait Field<Order>: Sized {
    /// Length in bytes; for fields of variable length, the smallest length.
    const MIN_LEN: usize;

    /// Reads a value from the start of the remaining bytes.
    ///
    /// # Errors
    /// There are too few bytes, or a value is not allowed.
    fn read(from: &mut Reader<'_>) -> Result<Self, ParseError>;

    /// Appends the value.
    fn write(&self, out: &mut Vec<u8>);
}

/// Reads values from bytes, from front to back.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    what: &'static str,
    whole: usize,
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Creates a reader of `bytes`. `what` is the name of these bytes in error messages.
    pub fn new(what: &'static str, bytes: &'a [u8]) -> Self {
        Self { what, whole: bytes.len(), rest: bytes }
    }

    /// The next `N` bytes.
    ///
    /// # Errors
    /// There are too few bytes. All functions that read return this error.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], ParseError> {
        let (head, rest) = self.rest.split_first_chunk().ok_or_else(|| self.too_short(N))?;
        self.rest = rest;
        Ok(*head)
    }

    /// The next `count` bytes.
    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], ParseError> {
        let (head, rest) =
            self.rest.split_at_checked(count).ok_or_else(|| self.too_short(count))?;
        self.rest = rest;
        Ok(head)
    }

    /// The next byte.
    pub fn u8(&mut self) -> Result<u8, ParseError> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// The next field, least significant byte first.
    pub fn le<T: Field<Le>>(&mut self) -> Result<T, ParseError> {
        T::read(self)
    }

    /// The next field, most significant byte first.
    pub fn be<T: Field<Be>>(&mut self) -> Result<T, ParseError> {
        T::read(self)
    }

    /// The next `count` fields, least significant byte first.
    pub fn le_vec<T: Field<Le>>(&mut self, count: impl Into<usize>) -> Result<Vec<T>, ParseError> {
        (0..count.into()).map(|_| T::read(self)).collect()
    }

    /// Whether all bytes were read.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Reads all remaining bytes.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    /// Returns an error if bytes are left.
    pub fn finish(self) -> Result<(), ParseError> {
        if self.rest.is_empty() {
            return Ok(());
        }
        let need = self.whole - self.rest.len();
        Err(ParseError::Length { what: self.what, need, got: self.whole })
    }

    fn too_short(&self, missing: usize) -> ParseError {
        let need = self.whole - self.rest.len() + missing;
        ParseError::Length { what: self.what, need, got: self.whole }
    }
}

/// Reads a `T` from bytes that contain nothing else. `what` is the name of the `T` in error messages.
///
/// # Errors
/// See [`Record::parse`].
pub fn parse<Order, T: Field<Order>>(what: &'static str, bytes: &[u8]) -> Result<T, ParseError> {
    if bytes.len() < T::MIN_LEN {
        return Err(ParseError::Length { what, need: T::MIN_LEN, got: bytes.len() });
    }
    let mut reader = Reader::new(what, bytes);
    let value = T::read(&mut reader)?;
    reader.finish()?;
    Ok(value)
}

/// Appends `values`, least significant byte first.
pub fn put_le<T: Field<Le>>(out: &mut Vec<u8>, values: &[T]) {
    values.iter().for_each(|value| value.write(out));
}

macro_rules! numbers {
    ($($type:ty),+) => {
        $(
            numbers!(@ $type, Le, from_le_bytes, to_le_bytes);
            numbers!(@ $type, Be, from_be_bytes, to_be_bytes);
        )+
    };
    (@ $type:ty, $order:ty, $from:ident, $to:ident) => {
        impl Field<$order> for $type {
            const MIN_LEN: usize = size_of::<$type>();

            fn read(from: &mut Reader<'_>) -> Result<Self, ParseError> {
                from.array().map(Self::$from)
            }

            fn write(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.$to());
            }
        }
    };
}

numbers!(u8, i8, u16, i16, u32, i32, u64, i64, f32, f64);

impl<Order, T: Field<Order> + Copy + Default, const N: usize> Field<Order> for [T; N] {
    const MIN_LEN: usize = T::MIN_LEN * N;

    fn read(from: &mut Reader<'_>) -> Result<Self, ParseError> {
        let mut items = [T::default(); N];
        for item in &mut items {
            *item = T::read(from)?;
        }
        Ok(items)
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.iter().for_each(|item| item.write(out));
    }
}

/// An optional field at the end of a record.
impl<Order, T: Field<Order>> Field<Order> for Option<T> {
    const MIN_LEN: usize = 0;

    fn read(from: &mut Reader<'_>) -> Result<Self, ParseError> {
        if from.is_empty() { Ok(None) } else { T::read(from).map(Some) }
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.iter().for_each(|item| item.write(out));
    }
}

/// A list of any length at the end of a record.
impl<Order, T: Field<Order>> Field<Order> for Vec<T> {
    const MIN_LEN: usize = 0;

    fn read(from: &mut Reader<'_>) -> Result<Self, ParseError> {
        let mut items = Vec::new();
        while !from.is_empty() {
            items.push(T::read(from)?);
        }
        Ok(items)
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.iter().for_each(|item| item.write(out));
    }
}

/// Declares structs of consecutive fields without gaps: `Name: Le 12 { field: type, … }`. The number is the length on
/// the wire in bytes; omit it for variable lengths.
macro_rules! record {
    ($($(#[$attribute:meta])* $name:ident: $order:ident $($length:literal)? {
        $($(#[$field_attribute:meta])* $field:ident: $type:ty),+ $(,)?
    })+) => {
        $(
            $(#[$attribute])*
            #[derive(Clone, Debug, PartialEq)]
            pub struct $name {
                $($(#[$field_attribute])* pub $field: $type),+
            }

            $(const _: () = assert!(
                <$name as $crate::record::Field<$crate::record::$order>>::MIN_LEN
                    == $length
            );)?

            impl $crate::record::Field<$crate::record::$order> for $name {
                const MIN_LEN: usize = 0 $(
                    + <$type as $crate::record::Field<$crate::record::$order>>::MIN_LEN
                )+;

                fn read(
                    from: &mut $crate::record::Reader<'_>,
                ) -> Result<Self, $crate::ParseError> {
                    type Order = $crate::record::$order;
                    Ok(Self { $($field: $crate::record::Field::<Order>::read(from)?),+ })
                }

                fn write(&self, out: &mut Vec<u8>) {
                    type Order = $crate::record::$order;
                    $($crate::record::Field::<Order>::write(&self.$field, out);)+
                }
            }

            impl $crate::record::Record for $name {
                fn parse(bytes: &[u8]) -> Result<Self, $crate::ParseError> {
                    $crate::record::parse::<$crate::record::$order, _>(
                        stringify!($name),
                        bytes,
                    )
                }

                fn emit(&self, out: &mut Vec<u8>) {
                    $crate::record::Field::write(self, out);
                }
            }
        )+
    };
}

pub(crate) use record;
