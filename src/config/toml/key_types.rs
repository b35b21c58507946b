//! Types of keys, for `keys!` and `Keys`: how a value is written in TOML and stored.

use serde_json::Value as Json;

use super::reader::{Field, Limit, TableReader};

/// Representation of a value of type `T` in TOML.
pub trait KeyType<T> {
    /// Reads the value. `None` if the key is missing or an error was reported.
    fn read(&self, field: &Field<'_>) -> Option<T>;

    /// `value` in the form of the file, for descriptions of the format; null if it has no such form.
    fn written(&self, _value: &T) -> Json {
        Json::Null
    }
}

/// A converted number, rounded to twelve significant digits: 0.3 instead of 0.30000000000000004.
pub fn shortest(x: f64) -> f64 {
    format!("{x:.11e}").parse().unwrap_or(x)
}

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

/// A number multiplied by the factor when it is read: 1e-3 for millimetres that are stored in metres.
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

/// Two numbers, or one number that stands for both. Each is divided by the factor when it is read, whereas [`Scaled`]
/// multiplies: 1e3 for millimetres that are stored in metres.
#[derive(Debug)]
pub struct OneOrTwo(pub Limit<f64>, pub f64);

impl KeyType<[f64; 2]> for OneOrTwo {
    fn read(&self, field: &Field<'_>) -> Option<[f64; 2]> {
        let written = match field.is_array() {
            true => field.numbers(&self.0),
            false => field.number(&self.0).map(|both| [both; 2]),
        };
        written.map(|values| values.map(|x| x / self.1))
    }

    fn written(&self, values: &[f64; 2]) -> Json {
        let [first, second] = values.map(|x| shortest(x * self.1));
        if first == second { first.into() } else { vec![first, second].into() }
    }
}

/// An array of a fixed number of integers.
#[derive(Debug)]
pub struct Whole(pub Limit<i128>);

impl<T: TryFrom<i128> + Copy + Into<Json>, const N: usize> KeyType<[T; N]> for Whole {
    fn read(&self, field: &Field<'_>) -> Option<[T; N]> {
        field.integers(&self.0)
    }

    fn written(&self, numbers: &[T; N]) -> Json {
        numbers.to_vec().into()
    }
}

/// An array of integers. The first field describes its content in messages.
#[derive(Debug)]
pub struct Listed(pub &'static str, pub Limit<i128>);

impl<T: TryFrom<i128>> KeyType<Vec<T>> for Listed {
    fn read(&self, field: &Field<'_>) -> Option<Vec<T>> {
        let (items, _) = field.array(self.0)?;
        items.iter().map(|item| item.integer(&self.1)).collect()
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

impl<const N: usize> KeyType<[f64; N]> for Degrees {
    fn read(&self, field: &Field<'_>) -> Option<[f64; N]> {
        field.numbers(&self.0).map(|degrees| degrees.map(f64::to_radians))
    }

    fn written(&self, values: &[f64; N]) -> Json {
        values.iter().map(|value| shortest(value.to_degrees())).collect()
    }
}

/// A duration, stored in nanoseconds: the number in the file is multiplied by the factor, 1e6 for milliseconds.
#[derive(Debug)]
pub struct Time(pub Limit<f64>, pub f64);

impl KeyType<i64> for Time {
    fn read(&self, field: &Field<'_>) -> Option<i64> {
        field.number(&self.0).map(|x| (x * self.1).round() as i64)
    }

    fn written(&self, value: &i64) -> Json {
        shortest(*value as f64 / self.1).into()
    }
}

impl KeyType<u64> for Time {
    fn read(&self, field: &Field<'_>) -> Option<u64> {
        field.number(&self.0).map(|x| (x * self.1).round() as u64)
    }

    fn written(&self, value: &u64) -> Json {
        shortest(*value as f64 / self.1).into()
    }
}

/// A word from a list. The fields are the words with their values, and the origin of the list for messages.
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

/// An integer from a list. The fields are the integers with their values, their unit (may be empty), and the origin of
/// the list for messages.
#[derive(Debug)]
pub struct Among<'n, T>(pub &'n [(i128, T)], pub &'static str, pub &'n str);

impl<T: Clone + PartialEq> KeyType<T> for Among<'_, T> {
    fn read(&self, field: &Field<'_>) -> Option<T> {
        field.integer_among(self.0, self.1, self.2)
    }

    fn written(&self, value: &T) -> Json {
        let number = self.0.iter().find(|(_, known)| known == value).map(|(number, _)| *number);
        number.and_then(|number| i64::try_from(number).ok()).into()
    }
}

/// Pairs each integer with itself as its value, for [`Among`].
pub fn plain<T: Copy + Into<i128>>(numbers: impl IntoIterator<Item = T>) -> Vec<(i128, T)> {
    numbers.into_iter().map(|number| (number.into(), number)).collect()
}

/// An array of words from a list, each at most once. The fields are the words with their values, and the origin of the
/// list for messages.
#[derive(Debug)]
pub struct SomeOf<'w, T>(pub &'w [(&'w str, T)], pub &'w str);

impl<T: Clone + PartialEq> KeyType<Vec<T>> for SomeOf<'_, T> {
    fn read(&self, field: &Field<'_>) -> Option<Vec<T>> {
        field.choices(self.0, self.1)
    }

    fn written(&self, values: &Vec<T>) -> Json {
        let one = OneOf(self.0, self.1);
        values.iter().map(|value| one.written(value)).collect()
    }
}

/// Like [`SomeOf`], with at least one word; the first word is the factory setting. The second field is the title of the
/// error for an empty array.
#[derive(Debug)]
pub struct FactoryFirst<'w, T>(pub SomeOf<'w, T>, pub &'static str);

impl<T: Clone + PartialEq> KeyType<Vec<T>> for FactoryFirst<'_, T> {
    fn read(&self, field: &Field<'_>) -> Option<Vec<T>> {
        let read = self.0.read(field)?;
        if read.is_empty() {
            let label = "allowed: one or more, starting with the factory setting";
            field.fault(field.place()?.fault(self.1, label));
            return None;
        }
        Some(read)
    }
}

/// Any string. The field describes its content in messages.
#[derive(Debug)]
pub struct AnyText(pub &'static str);

impl KeyType<String> for AnyText {
    fn read(&self, field: &Field<'_>) -> Option<String> {
        field.text(self.0).map(|text| text.value)
    }
}

/// A string of ASCII characters. The fields are its largest length, and a description of its content for messages.
#[derive(Debug)]
pub struct Ascii(pub usize, pub &'static str);

impl KeyType<String> for Ascii {
    fn read(&self, field: &Field<'_>) -> Option<String> {
        field.ascii(self.0, self.1)
    }

    fn written(&self, value: &String) -> Json {
        value.clone().into()
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

/// A value of any type; the field is the function that reads it.
#[derive(Debug)]
pub struct By<F>(pub F);

impl<T, F: Fn(&Field<'_>) -> Option<T>> KeyType<T> for By<F> {
    fn read(&self, field: &Field<'_>) -> Option<T> {
        (self.0)(field)
    }
}

/// A number, or a word that means `None`. The fields are the limit of the number, the word, and the origin of the word
/// for messages.
#[derive(Debug)]
pub struct NumberOr<'w>(pub Limit<f64>, pub &'w str, pub &'w str);

impl KeyType<Option<f64>> for NumberOr<'_> {
    fn read(&self, field: &Field<'_>) -> Option<Option<f64>> {
        field.number_or_word(&self.0, self.1, self.2)
    }

    fn written(&self, value: &Option<f64>) -> Json {
        value.map_or_else(|| self.1.into(), Json::from)
    }
}

/// A string; the field is the function that reads it.
#[derive(Debug)]
pub struct Text<F>(pub F);

impl<F: Fn(&Field<'_>) -> Option<String>> KeyType<String> for Text<F> {
    fn read(&self, field: &Field<'_>) -> Option<String> {
        (self.0)(field)
    }

    fn written(&self, value: &String) -> Json {
        value.as_str().into()
    }
}

/// An optional value without a default.
#[derive(Debug)]
pub struct Maybe<K>(pub K);

impl<T, K: KeyType<T>> KeyType<Option<T>> for Maybe<K> {
    fn read(&self, field: &Field<'_>) -> Option<Option<T>> {
        self.0.read(field).map(Some)
    }

    fn written(&self, value: &Option<T>) -> Json {
        value.as_ref().map_or(Json::Null, |value| self.0.written(value))
    }
}

/// A value for which a word was renamed. The old word gives an error that names the new one. The fields are the old
/// word, the new word, and the type of the value.
#[derive(Debug)]
pub struct Renamed<K>(pub &'static str, pub &'static str, pub K);

impl<T, K: KeyType<T>> KeyType<T> for Renamed<K> {
    fn read(&self, field: &Field<'_>) -> Option<T> {
        if field.refuse_old_word(self.0, self.1) { None } else { self.2.read(field) }
    }

    fn written(&self, value: &T) -> Json {
        self.2.written(value)
    }
}

/// A table. The first field is an example, shown in the message if the table is missing.
#[derive(Debug)]
pub struct SuchAs<K>(pub &'static str, pub K);

impl<T, K: KeyType<T>> KeyType<T> for SuchAs<K> {
    fn read(&self, field: &Field<'_>) -> Option<T> {
        self.1.read(&field.clone().such_as(self.0))
    }
}

/// A table of keys. The field is its name in messages.
#[derive(Debug)]
pub struct Table(pub &'static str);

impl<T: RequiredKeys> KeyType<T> for Table {
    fn read(&self, field: &Field<'_>) -> Option<T> {
        field.table(self.0).and_then(T::read)
    }
}

/// A table with required keys, as in a profile.
pub trait RequiredKeys: Sized {
    /// Reads the required keys; the table may have further keys.
    fn read_keys(table: &mut TableReader<'_>) -> Option<Self>;

    /// Reads the required keys, and reports any other key as an error.
    fn read(mut table: TableReader<'_>) -> Option<Self> {
        let all = Self::read_keys(&mut table);
        table.finish();
        all
    }
}

impl RequiredKeys for () {
    fn read_keys(_: &mut TableReader<'_>) -> Option<Self> {
        Some(())
    }
}

/// A table whose keys have defaults.
pub trait OptionalKeys: Default {
    /// Reads the keys that the table has; other values stay unchanged.
    fn read_into(&mut self, table: &mut TableReader<'_>);
}

/// Reads a required key; `doc` is its sentence in the documentation.
pub fn required<'f, T>(
    table: &mut TableReader<'f>,
    key: &'static str,
    doc: &str,
    key_type: &impl KeyType<T>,
) -> Option<T> {
    key_type.read(&table.required(key).meaning(doc.trim()))
}

/// Calls `read`, which may read `key`; `doc` is the sentence about `key` in the documentation.
pub fn read_by<'f, T>(
    table: &mut TableReader<'f>,
    key: &'static str,
    doc: &'static str,
    read: impl FnOnce(&mut TableReader<'f>) -> Option<T>,
) -> Option<T> {
    table.next_means(key, doc);
    read(table)
}

/// Reads an optional key into `value`, which keeps its default if the key is missing. `doc` is the sentence of the key
/// in the documentation.
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
