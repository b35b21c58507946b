//! Reads `[[stimulus]]` and `[[response]]`.

use super::parts::{Names, device_named, file_name, place_of, socket};
use regex::bytes::{Regex, RegexBuilder};

use crate::profile::Interface;
use crate::rig::DeviceConfig;
use crate::rig::claims::Claims;
use crate::rig::faults::FaultConfig;
use crate::rig::objects::ObjectConfig;
use crate::rig::responses::{ResponseConfig, ResponseSource, StimulusCause, StimulusConfig};
use crate::rig::schedule::schedule;
use crate::toml::reader::{Field, Limit, TableReader};

const STIMULUS: &str = "the rig format, [[stimulus]]";
const RESPONSE: &str = "the rig format, [[response]]";
/// Largest size of the compiled regular expression of a pattern, bytes.
const MAX_PATTERN_BYTES: usize = 1 << 20;
/// Largest number of responses. Each message is searched for the pattern of every response.
const MAX_RESPONSES: usize = 1000;
/// Largest number of stimuli. Each packet has a mask with one bit per stimulus.
const MAX_STIMULI: usize = 32;

/// Parts of the rig to which stimuli and responses refer by name; `None` for a part that has errors.
#[derive(Clone, Copy)]
pub struct Named<'a> {
    /// The rig's devices.
    pub devices: Option<&'a [DeviceConfig]>,
    /// The rig's faults.
    pub faults: Option<&'a [FaultConfig]>,
    /// The world's objects.
    pub objects: Option<&'a [ObjectConfig]>,
}

/// Reads all stimuli: an empty list if the key is missing, `None` after an error.
pub fn stimuli(field: &Field<'_>, named: Named<'_>) -> Option<Vec<StimulusConfig>> {
    let most = (MAX_STIMULI, STIMULUS);
    tables(field, ["stimulus", "stimuli"], most, "a stimulus's", |table, name| {
        Some(StimulusConfig { name: name?, cause: cause(table, named)? })
    })
}

/// Reads all responses: an empty list if the key is missing, `None` after an error.
pub fn responses(
    field: &Field<'_>,
    stimuli: Option<&[StimulusConfig]>,
    named: Named<'_>,
    claims: &Claims<'_>,
) -> Option<Vec<ResponseConfig>> {
    let most = (MAX_RESPONSES, RESPONSE);
    tables(field, ["response", "responses"], most, "a response's", |table, name| {
        table.was_called("to", "stimulus");
        let to = table.required("stimulus");
        let to = to.meaning("Name of the stimulus that the response answers.");
        let to_name = to.text("the name of a [[stimulus]]");
        let names = stimuli.map(|all| all.iter().map(|s| s.name.as_str()).collect::<Vec<_>>());
        let stimulus =
            to_name.zip(names).and_then(|(text, names)| place_of(&to, &text, "stimulus", &names));
        let source = source(table, named, claims);
        let pattern = pattern(table);
        let longest = Limit::new(0.001..=3600.0, "s", RESPONSE);
        let timeout_s = table
            .optional("timeout_s")
            .meaning("Time after the stimulus at which a response counts as missed.")
            .number_or(&longest, 1.0);
        Some(ResponseConfig {
            name: name?,
            stimulus: stimulus?,
            source: source?,
            pattern: pattern?,
            timeout_ns: (timeout_s * 1e9).round() as u64,
        })
    })
}

/// Reads each table of an array with `read`, which gets the table's name if the name is valid.
fn tables<T>(
    field: &Field<'_>,
    [what, plural]: [&'static str; 2],
    (most, origin): (usize, &str),
    whose: &str,
    mut read: impl FnMut(&mut TableReader<'_>, Option<String>) -> Option<T>,
) -> Option<Vec<T>> {
    if !field.is_written() {
        return Some(Vec::new());
    }
    let expected = format!("up to {most} of [[{what}]]");
    let (items, _) = field.array_up_to(0..=most, origin, &expected)?;
    let mut names = Names::new(plural, "");
    let read: Vec<_> = items
        .iter()
        .map(|item| {
            let mut table = item.named(what).table(&format!("[[{what}]]"))?;
            let name_field = table.required("name");
            let name_field = name_field.meaning(&format!("The {what}'s name in reports."));
            let name = file_name(&name_field, whose);
            if let Some(name) = &name {
                names.add(field, &name.value, &name.place);
            }
            let made = read(&mut table, name.map(|name| name.value));
            table.finish();
            made
        })
        .collect();
    read.into_iter().collect()
}

/// Returns which one of `words` is a key of `table`; exactly one is required.
fn one_of(table: &TableReader<'_>, what: &str, words: &[&'static str]) -> Option<&'static str> {
    let written = table.written_among(words);
    if let [one] = written[..] {
        return Some(one);
    }
    let list = words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    let title =
        if written.is_empty() { "is missing" } else { "is given by several keys; keep one" };
    let label = format!("allowed: one of {list}");
    table.fault(table.place().fault(format!("{what} {title}"), label));
    None
}

fn cause(table: &mut TableReader<'_>, named: Named<'_>) -> Option<StimulusCause> {
    let which = one_of(table, "the cause of the stimulus", &["object", "fault"]);
    let fault = table.optional("fault").meaning("Name of the fault that starts.");
    let object = table.optional("object").meaning("The name of the object that appears.");
    match which? {
        "fault" => {
            let text = fault.text("the name of a [[fault]]")?;
            let names: Vec<_> = named.faults?.iter().map(|fault| fault.name.as_str()).collect();
            place_of(&fault, &text, "fault", &names).map(StimulusCause::Fault)
        }
        _ => {
            let schedule = schedule(table, STIMULUS);
            let text = object.text("the name of a [[world.object]]")?;
            let names: Vec<_> = named.objects?.iter().map(|object| object.name.as_str()).collect();
            let place = place_of(&object, &text, "object", &names)?;
            Some(StimulusCause::Object { object: place, schedule: schedule? })
        }
    }
}

fn source(
    table: &mut TableReader<'_>,
    named: Named<'_>,
    claims: &Claims<'_>,
) -> Option<ResponseSource> {
    let which = one_of(table, "the source of the response", &["udp", "tcp", "device"]);
    let udp = table.optional("udp");
    let udp = udp.meaning("Address at which Menura receives the response as a datagram.");
    let tcp = table
        .optional("tcp")
        .meaning("Address at which Menura listens; the robot connects and sends the response.");
    let device = table.optional("device").meaning("Device that receives the response.");
    match which? {
        "udp" => {
            let (address, place) = socket(&udp)?;
            claims.udp(address, None, &place);
            Some(ResponseSource::Udp(address))
        }
        "tcp" => {
            let (address, place) = socket(&tcp)?;
            claims.tcp(address, &place);
            Some(ResponseSource::Tcp(address))
        }
        _ => {
            let text = device.text("the name of a device of this rig")?;
            let (place, config) = device_named(&device, &text, named.devices?)?;
            if config.profile.product.interface == Interface::Datagrams {
                let label = "allowed: a device whose link is a serial line or a TCP server";
                let title = format!("`{}` has no line on which a response can arrive", config.name);
                device.fault(text.place.fault(title, label).help("use `udp` or `tcp`"));
                return None;
            }
            Some(ResponseSource::Device(place))
        }
    }
}

/// Reads `text`, `hex` or `regex` and converts it to a regular expression.
fn pattern(table: &mut TableReader<'_>) -> Option<Regex> {
    let which = one_of(table, "the response's pattern", &["text", "hex", "regex"]);
    let [text, hex, regex] = [
        ("text", "Text that the response contains."),
        ("hex", "Bytes that the response contains."),
        ("regex", "A regular expression over the response's bytes."),
    ]
    .map(|(word, meaning)| table.optional(word).meaning(meaning));
    let (field, written, expression) = match which? {
        "text" => {
            let written = text.text("what the response contains")?;
            let expression = regex::escape(&written.value);
            (text, written, expression)
        }
        "hex" => {
            let expected = "bytes in hexadecimal, such as \"aa 55 01\"";
            let pattern = r"^\s*([0-9a-fA-F]\s*[0-9a-fA-F]\s*)+$";
            let written = hex.text_like(expected, Some(pattern))?;
            let digits: String = written.value.split_whitespace().collect();
            let is_hex =
                digits.len().is_multiple_of(2) && digits.bytes().all(|b| b.is_ascii_hexdigit());
            if !is_hex {
                let title = format!("\"{}\" is not hexadecimal", written.value);
                hex.fault(written.place.fault(title, format!("allowed: {expected}")));
                return None;
            }
            let bytes = digits.as_bytes().chunks(2);
            let bytes = bytes.map(|byte| format!("\\x{}", String::from_utf8_lossy(byte)));
            let expression = bytes.collect();
            (hex, written, expression)
        }
        _ => {
            let written = regex.text("a regular expression over bytes")?;
            let expression = written.value.clone();
            (regex, written, expression)
        }
    };
    let built = RegexBuilder::new(&expression)
        .unicode(false)
        .dot_matches_new_line(true)
        .size_limit(MAX_PATTERN_BYTES)
        .build();
    match built {
        Ok(built) if built.is_match(b"") => {
            let label = "allowed: a pattern that needs at least one byte";
            field.fault(written.place.fault("this pattern matches empty text", label));
            None
        }
        Ok(built) => Some(built),
        Err(error) => {
            let last = error.to_string().lines().last().unwrap_or_default().trim().to_owned();
            field.fault(written.place.fault("not a pattern", last));
            None
        }
    }
}
