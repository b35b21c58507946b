//! Common profile keys of devices on a serial line.

use crate::config::toml::key_types::{By, Time};
use crate::config::toml::reader::{Field, Limit, TableReader};

keys! {
    with (origin: &'static str);
    /// Serial line of a unit; messages name `origin` as the source of limits.
    #[derive(Clone, Debug)]
    pub struct SerialLine {
        /// The rates that the unit can run at; the first is the factory setting.
        pub baud_rates: Vec<u32>, By(baud_rates);
        /// Size of the transmit buffer; a message that does not fit is lost.
        pub transmit_buffer_bytes: usize, Limit::new(64..=1_000_000, "bytes", origin);
        /// Silence of the unit after a reset.
        pub boot_ns as "boot_ms": u64, delay(origin);
    }
}

impl SerialLine {
    /// Character format and baud rates of the line as text, for `menura profiles`.
    pub(crate) fn words(&self) -> String {
        let bauds: Vec<String> = self.baud_rates.iter().map(u32::to_string).collect();
        format!("8N1, {} baud", bauds.join(", "))
    }
}

/// Field of the `[line]` table of a profile.
pub(crate) fn line_field<'f>(root: &mut TableReader<'f>) -> Field<'f> {
    root.required("line").meaning("Serial line and response times.")
}

/// Key type of a delay from 0 to 10 s, in milliseconds.
pub(crate) fn delay(origin: &'static str) -> Time {
    Time(Limit::new(0.0..=10_000.0, "ms", origin), 1e6)
}

/// Reads the baud rates that a unit supports; the first is the factory setting.
fn baud_rates(field: &Field<'_>) -> Option<Vec<u32>> {
    let expected = "baud rates, starting with the factory setting";
    let items = field.some_items(expected, "a serial line needs at least one rate")?;
    let baud = Limit::new(1200..=4_000_000, "baud", "UARTs");
    items.iter().map(|item| item.integer(&baud)).collect()
}

/// Reads an identity text of at most `longest` characters; `why` is the reason for that limit.
pub(crate) fn identity_text(field: &Field<'_>, longest: usize, why: &str) -> Option<String> {
    let text = field.text("a text of the product's identity")?;
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
