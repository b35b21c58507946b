//! Keys that profiles of devices on a serial line have in common.

use crate::config::toml::reader::{Field, Limit};

/// Baud rates that a unit can be set to, the factory's first.
pub(crate) fn baud_rates(field: &Field<'_>) -> Option<Vec<u32>> {
    let expected = "baud rates, the factory's first";
    let items = field.some_items(expected, "a serial line needs at least one rate")?;
    let baud = Limit::new(1200..=4_000_000, "baud", "UARTs");
    items.iter().map(|item| item.integer(&baud)).collect()
}

/// An identity text of at most `longest` characters on the wire; `why` is the origin of that limit.
pub(crate) fn identity_text(field: &Field<'_>, longest: usize, why: &str) -> Option<String> {
    let text = field.text("what the product says of itself")?;
    if text.value.len() <= longest && text.value.chars().all(|c| (' '..='~').contains(&c)) {
        return Some(text.value);
    }
    let fault = text.place.fault(
        format!("`{}` cannot be sent", field.name()),
        format!("allowed: at most {longest} printable ASCII characters"),
    );
    field.fault(fault.note(why));
    None
}
