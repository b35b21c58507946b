//! Constant answers whose format is documented and whose content is not: status words of a unit without errors, and
//! power-on values of settings without effect.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Dialect;
use crate::config::toml::key_types::{KeyType, RequiredKeys, Table};
use crate::config::toml::reader::{Field, Limit, TableReader};

/// Reads `[answers]` of a profile.
pub(crate) fn read<T: RequiredKeys + Dialect>(
    root: &mut TableReader<'_>,
) -> Option<Arc<dyn Dialect>> {
    let says = "Constant answers to commands with documented format and undocumented contents.";
    let answers: Option<T> = Table("[answers]").read(&root.required("answers").meaning(says));
    Some(Arc::new(answers?))
}

/// Limits of a status word: the range of the unsigned integer type `T`.
pub(crate) fn word<T>() -> Limit<i128> {
    Limit::new(0..=(1 << (8 * size_of::<T>())) - 1, "", "the wire format")
}

/// A setting that a host can write and that has no effect: key, number in the protocol, and size (in bytes or in
/// values, depending on the protocol).
pub(crate) type Setting = (&'static str, u8, usize);

/// Reads all settings of `list`; returns their values by number. `read` takes the field and the setting's
/// size.
pub(crate) fn stored<T>(
    table: &mut TableReader<'_>,
    list: impl IntoIterator<Item = (Setting, String)>,
    read: fn(&Field<'_>, usize) -> Option<T>,
) -> Option<BTreeMap<u8, T>> {
    let all: Vec<_> = list
        .into_iter()
        .map(|((key, id, size), says)| Some((id, read(&table.required(key).meaning(&says), size)?)))
        .collect();
    all.into_iter().collect()
}

/// Reads `count` bytes in hexadecimal.
pub(crate) fn bytes(field: &Field<'_>, count: usize) -> Option<Vec<u8>> {
    let text = field.text("bytes in hex")?;
    let bytes = text.value.split_whitespace().map(|byte| match byte.len() {
        2 => u8::from_str_radix(byte, 16).ok(),
        _ => None,
    });
    let bytes = bytes.collect::<Option<Vec<u8>>>().filter(|bytes| bytes.len() == count);
    if bytes.is_none() {
        let label =
            format!("allowed: two hex digits per byte, separated by blanks; bytes: {count}");
        let fault = text.place.fault("not the bytes of this setting", label);
        field.fault(fault.note("limit from the wire format"));
    }
    bytes
}

/// Reads `count` numbers separated by commas; returns the text as written.
pub(crate) fn numbers(field: &Field<'_>, count: usize) -> Option<String> {
    let text = field.text("numbers separated by commas")?;
    let is_number = |part: &str| part.parse::<f64>().is_ok_and(f64::is_finite);
    let is_good = text.value.split(',').count() == count && text.value.split(',').all(is_number);
    if !is_good {
        let label = format!("allowed: {count} numbers separated by commas");
        let fault = text.place.fault("not the content of this register", label);
        field.fault(fault.note("limit from the register's layout"));
    }
    is_good.then_some(text.value)
}
