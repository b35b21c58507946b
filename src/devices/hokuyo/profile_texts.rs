//! Reads the texts and statuses of a Hokuyo profile.

use crate::config::toml::reader::Field;
use crate::wire::scip::message::{LONGEST_LINE, is_printable};

/// Status of a command, two characters.
pub type Code = [u8; 2];

/// Number of characters after the text of a line: semicolon and checksum.
const BEHIND_TEXT: usize = 2;
/// Largest length of a text, characters. Before the text, a line has a key and a colon: at most 5 characters.
const LONGEST_TEXT: usize = LONGEST_LINE - BEHIND_TEXT - 5;
/// Smallest number of lines of `II`; drivers refuse fewer.
const LEAST_STATE_LINES: usize = 7;

/// States of the scanner that the answer to `II` names: key of the state's text, and description of the key.
pub(super) const MODES: [(&str, &str); 8] = [
    ("booting", "Text while the scanner starts."),
    ("idle", "Text while the laser is off."),
    ("time_adjustment", "Text while the host compares clocks."),
    ("single_scan", "Text while the laser is on."),
    ("multi_scan", "Text while scans are sent."),
    ("sleep", "Text while the motor is at rest."),
    ("waking", "Text while the motor starts."),
    ("failed", "Text when the scanner has failed."),
];

/// Placeholders in lines of `II`.
const PLACEHOLDERS: [&str; 8] =
    ["model", "laser", "speed", "mode", "bit_rate", "time", "time_hex", "status"];

/// Reads the statuses of the seven possible errors of scan commands.
pub(super) fn codes(field: &Field<'_>) -> Option<[Code; 7]> {
    let expected = "7 codes, for start, end, cluster, range, order, skip and count";
    let (items, place) = field.array_of(7..=7, expected)?;
    let count = items.len();
    let codes: Option<Vec<Code>> = items.iter().map(status).collect();
    if count != 7 {
        field.fault(place.fault("`scan` must have 7 codes", format!("allowed: {expected}")));
        return None;
    }
    codes?.try_into().ok()
}

/// Reads a status, for example `0E`.
pub(super) fn status(field: &Field<'_>) -> Option<Code> {
    let expected = "two digits or capitals, such as \"0E\"";
    let text = field.text_like(expected, Some("^[0-9A-Z]{2}$"))?;
    let is_in = |byte: &u8| byte.is_ascii_digit() || byte.is_ascii_uppercase();
    match text.value.as_bytes() {
        [one, two] if is_in(one) && is_in(two) => Some([*one, *two]),
        _ => {
            let fault =
                text.place.fault("this is not a status code", format!("allowed: {expected}"));
            field.fault(fault.note("limit from SCIP"));
            None
        }
    }
}

/// Reads the lines of the answer to `II`; each line has one key.
pub(super) fn state_lines(field: &Field<'_>) -> Option<Vec<String>> {
    let expected = "lines such as \"LASR:{laser}\"";
    let lines = field.strings(expected)?;
    let place = field.place()?;
    let names: Vec<_> = PLACEHOLDERS.iter().map(|name| format!("{{{name}}}")).collect();
    let mut is_good = true;
    if lines.len() < LEAST_STATE_LINES {
        let label = format!("allowed: {LEAST_STATE_LINES} or more; drivers require this number");
        field.fault(place.fault("there are too few lines", label));
        is_good = false;
    }
    for line in &lines {
        let plain = names.iter().fold(line.clone(), |line, name| line.replace(name.as_str(), ""));
        let has_one_colon = plain.matches(':').count() == 1;
        let fits = plain.len() <= LONGEST_TEXT && plain.bytes().all(is_printable);
        if !has_one_colon || !fits || plain.contains(['{', '}', ';']) {
            let label = format!(
                "allowed: KEY:text of up to {LONGEST_TEXT} printable ASCII characters except `;`, \
                 with {}",
                names.join(" ")
            );
            field
                .fault(place.fault(format!("\"{line}\" is not a line of the answer to II"), label));
            is_good = false;
        }
    }
    is_good.then_some(lines)
}

/// Reads printable characters without separators of the protocol.
pub(super) fn text(field: &Field<'_>) -> Option<String> {
    let expected = format!("up to {LONGEST_TEXT} printable ASCII characters except `:` and `;`");
    let text = field.text(&expected)?;
    let is_good = |byte: u8| is_printable(byte) && !matches!(byte, b':' | b';');
    if text.value.len() > LONGEST_TEXT || !text.value.bytes().all(is_good) {
        let label = format!("allowed: {expected}");
        let fault = text.place.fault("this text does not fit into a line", label);
        field.fault(fault.note("limit from SCIP: 71 characters and one colon"));
        return None;
    }
    Some(text.value)
}

/// Reads the texts of [`MODES`].
pub(super) fn state_modes(field: &Field<'_>) -> Option<[String; MODES.len()]> {
    let mut table = field.table("`modes`")?;
    let modes = MODES.map(|(key, says)| text(&table.required(key).meaning(says)));
    table.finish();
    let modes: Option<Vec<String>> = modes.into_iter().collect();
    modes?.try_into().ok()
}
