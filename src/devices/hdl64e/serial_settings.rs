//! Serial line of an HDL-64E in a profile.

use crate::config::profile::read::PROFILES;
use crate::config::toml::reader::{Field, Limit, TableReader};
use crate::wire::velodyne::hdl64e_command::CommandWords;

/// Serial line of an HDL-64E, and its commands.
#[derive(Clone, Debug, PartialEq)]
pub struct SerialProfile {
    /// Bit rate; eight data bits, no parity, one stop bit.
    pub baud: u32,
    /// Command words, which differ between firmware versions.
    pub words: CommandWords,
}

/// Reads `[serial]` of a profile.
pub(crate) fn profile(mut table: TableReader<'_>) -> Option<SerialProfile> {
    table.was_called("baud", "baud_rate");
    let mut key = |key, says| table.required(key).meaning(says);
    let rates = Limit::new(300..=921_600, "baud", PROFILES);
    let baud = key("baud_rate", "Rate of the line, 8N1.").integer(&rates);
    let digits = Limit::new(3..=4, "", "the manuals: S1 three, S2 and S3 four");
    let rpm_digits = key("rpm_digits", "Number of digits after RPM.").integer(&digits);
    let says = "The word that sets a speed without storing it.";
    let unstored_rpm = word(&key("unstored_rpm", says));
    let says = "Word that sets the first and the last angle that are sent.";
    let view = word(&key("view", says));
    let says = "The word that sets the addresses of sensor and host.";
    let addresses = word(&key("addresses", says));
    let strongest = word(&key("strongest", "The word that asks for the strongest return."));
    let last = word(&key("last", "The word that asks for the last return."));
    let dual = word(&key("dual", "The word that asks for both returns."));
    let power = word(&key("power", "The word that sets the laser power."));
    table.finish();
    Some(SerialProfile {
        baud: baud?,
        words: CommandWords {
            rpm_digits: rpm_digits?,
            unstored_rpm: unstored_rpm?,
            view: view?,
            addresses: addresses?,
            strongest: strongest?,
            last: last?,
            dual: dual?,
            power: power?,
        },
    })
}

/// Reads the word of a command; an empty word means that the firmware lacks the command.
fn word(field: &Field<'_>) -> Option<String> {
    let expected = "up to 8 capital letters; empty if the firmware lacks the command";
    let text = field.text(expected)?;
    if text.value.len() > 8 || !text.value.bytes().all(|byte| byte.is_ascii_uppercase()) {
        let title = format!("\"{}\" is not a command word", text.value);
        field.fault(text.place.fault(title, format!("allowed: {expected}")));
        return None;
    }
    Some(text.value)
}
