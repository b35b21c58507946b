//! Answers of an IMU whose format is documented but whose contents are not: status words of a healthy unit,
//! and settings without effect, with the values before a host writes them.

use std::collections::BTreeMap;

use crate::config::toml::reader::{Field, Limit, TableReader};

/// Reads `[answers]` of a profile.
pub(crate) fn read<T>(
    root: &mut TableReader<'_>,
    read: fn(&mut TableReader<'_>) -> Option<T>,
) -> Option<T> {
    let mut table = root.required("answers").table("[answers]")?;
    let answers = read(&mut table);
    table.finish();
    answers
}

/// A status word of the type that is wanted.
pub(crate) fn word<T: TryFrom<i128>>(table: &mut TableReader<'_>, key: &'static str) -> Option<T> {
    let most = (1_i128 << (8 * size_of::<T>())) - 1;
    table.required(key).integer(&Limit::new(0..=most, "", "the wire format"))
}

/// Reads all settings of a list.
pub(crate) fn stored<T>(
    table: &mut TableReader<'_>,
    list: &[(&'static str, u8, usize)],
    read: fn(&Field<'_>, usize) -> Option<T>,
) -> Option<BTreeMap<u8, T>> {
    let all: Vec<_> = list
        .iter()
        .map(|(key, id, count)| Some((*id, read(&table.required(key), *count)?)))
        .collect();
    all.into_iter().collect()
}

/// Reads `count` bytes in hex.
pub(crate) fn bytes(field: &Field<'_>, count: usize) -> Option<Vec<u8>> {
    let text = field.text("bytes in hex")?;
    let bytes = text.value.split_whitespace().map(|byte| match byte.len() {
        2 => u8::from_str_radix(byte, 16).ok(),
        _ => None,
    });
    let bytes = bytes.collect::<Option<Vec<u8>>>().filter(|bytes| bytes.len() == count);
    if bytes.is_none() {
        let label = format!("allowed: two hex digits a byte, blanks between; bytes: {count}");
        let fault = text.place.fault("not the bytes of this setting", label);
        field.fault(fault.note("limit from the wire format"));
    }
    bytes
}

/// Reads numbers with commas between, as the unit prints them.
pub(crate) fn numbers(field: &Field<'_>, count: usize) -> Option<String> {
    let text = field.text("numbers with commas between")?;
    let is_number = |part: &str| part.parse::<f64>().is_ok_and(f64::is_finite);
    let is_good = text.value.split(',').count() == count && text.value.split(',').all(is_number);
    if !is_good {
        let label = format!("allowed: {count} numbers with commas between");
        let fault = text.place.fault("not the content of this register", label);
        field.fault(fault.note("limit from the register's layout"));
    }
    is_good.then_some(text.value)
}
