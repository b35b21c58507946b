//! Keys that profiles of devices on a serial line have in common.

use crate::config::toml::reader::{Limit, TableReader};

/// `baud_rates` of `[line]`: those a unit can be set to, the factory's first.
pub(crate) fn baud_rates(table: &mut TableReader<'_>) -> Option<Vec<u32>> {
    let expected = "baud rates, the factory's first";
    let baud = Limit::new(1200..=4_000_000, "baud", "UARTs");
    let field = table.required("baud_rates");
    let (items, place) = field.array_of(1..=usize::MAX, expected)?;
    if items.is_empty() {
        field.fault(
            place.fault("a serial line needs at least one rate", format!("allowed: {expected}")),
        );
        return None;
    }
    items.iter().map(|item| item.integer(&baud)).collect()
}

/// `transmit_buffer_bytes` of `[line]`, with where the limit comes from.
pub(crate) fn transmit_buffer_bytes(
    table: &mut TableReader<'_>,
    origin: &'static str,
) -> Option<usize> {
    table.required("transmit_buffer_bytes").integer(&Limit::new(64..=1_000_000, "bytes", origin))
}

/// An identity text of at most `longest` characters on the wire; `why` is the origin of that limit.
pub(crate) fn identity_text(
    table: &mut TableReader<'_>,
    key: &'static str,
    longest: usize,
    why: &str,
) -> Option<String> {
    let field = table.required(key);
    let text = field.text("what the product says of itself")?;
    if text.value.len() <= longest && text.value.chars().all(|c| (' '..='~').contains(&c)) {
        return Some(text.value);
    }
    let fault = text.place.fault(
        format!("`{key}` cannot be sent"),
        format!("allowed: at most {longest} printable ASCII characters"),
    );
    field.fault(fault.note(why));
    None
}
