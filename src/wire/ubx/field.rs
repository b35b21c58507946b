//! Little-endian fields, and messages made of nothing else.

/// A number, or several, as bytes.
pub(super) trait Le: Sized {
    /// Bytes it takes.
    const SIZE: usize;
    /// Reads it from exactly that many bytes.
    fn get(bytes: &[u8]) -> Self;
    /// Appends it.
    fn put(&self, out: &mut Vec<u8>);
}

macro_rules! numbers {
    ($($type:ty),+) => {
        $(impl Le for $type {
            const SIZE: usize = size_of::<$type>();

            fn get(bytes: &[u8]) -> Self {
                Self::from_le_bytes(bytes.try_into().expect("SIZE bytes"))
            }

            fn put(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
        })+
    };
}

numbers!(u8, i8, u16, i16, u32, i32, u64, f32);

impl<T: Le, const N: usize> Le for [T; N] {
    const SIZE: usize = T::SIZE * N;

    fn get(bytes: &[u8]) -> Self {
        std::array::from_fn(|i| T::get(&bytes[i * T::SIZE..(i + 1) * T::SIZE]))
    }

    fn put(&self, out: &mut Vec<u8>) {
        for item in self {
            item.put(out);
        }
    }
}

/// A struct of fields that follow one another without gaps.
macro_rules! record {
    ($(#[$doc:meta])* $name:ident {
        $($(#[$field_doc:meta])* $field:ident: $type:ty),+ $(,)?
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $type),+
        }

        impl $crate::wire::ubx::field::Le for $name {
            const SIZE: usize = 0 $(+ <$type as $crate::wire::ubx::field::Le>::SIZE)+;

            fn get(bytes: &[u8]) -> Self {
                let mut at = 0;
                $(
                    let size = <$type as $crate::wire::ubx::field::Le>::SIZE;
                    let $field = $crate::wire::ubx::field::Le::get(&bytes[at..at + size]);
                    at += size;
                )+
                debug_assert_eq!(at, Self::SIZE);
                Self { $($field),+ }
            }

            fn put(&self, out: &mut Vec<u8>) {
                $(self.$field.put(out);)+
            }
        }
    };
}

/// A message that is one [`record`].
macro_rules! message {
    ($(#[$doc:meta])* $name:ident $class:literal $id:literal $length:literal { $($body:tt)+ }) => {
        $crate::wire::ubx::field::record! { $(#[$doc])* $name { $($body)+ } }

        const _: () = assert!(<$name as $crate::wire::ubx::field::Le>::SIZE == $length);

        impl $crate::wire::ubx::Payload for $name {
            const ID: $crate::wire::ubx::MessageId =
                $crate::wire::ubx::MessageId::new($class, $id);

            fn parse(payload: &[u8]) -> Result<Self, $crate::wire::ParseError> {
                if payload.len() != $length {
                    return Err($crate::wire::ParseError::Length {
                        what: stringify!($name),
                        need: $length,
                        got: payload.len(),
                    });
                }
                Ok($crate::wire::ubx::field::Le::get(payload))
            }

            fn emit(&self, out: &mut Vec<u8>) {
                $crate::wire::ubx::field::Le::put(self, out);
            }
        }
    };
}

pub(super) use {message, record};
