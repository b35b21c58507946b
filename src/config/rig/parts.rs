//! Common parts of several tables of a rig: names, seeds, addresses.

use std::net::SocketAddr;
use std::path::Path;

use glam::DVec3;

use super::DeviceConfig;
use crate::frames::Transform;
use crate::toml::diagnostic::Place;
use crate::toml::key_types::Degrees;
use crate::toml::reader::{Field, Limit, TableReader, Text, nearest};

/// Source, in error messages, of limits that do not depend on the product.
pub(crate) const FORMAT: &str = "the rig format";

/// Reads a name that becomes part of file names. `whose` is its owner in messages, such as "a device's".
pub(crate) fn file_name(field: &Field<'_>, whose: &str) -> Option<Text> {
    let expected = "1 to 64 of a-z, 0-9, - and _, the first a letter or digit";
    let name = field.text_like(expected, Some("^[a-z0-9][a-z0-9_-]{0,63}$"))?;
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let good = name.value.len() <= 64
        && name.value.starts_with(is_plain)
        && name.value.chars().all(|c| is_plain(c) || c == '-' || c == '_');
    if !good {
        let title = format!("\"{}\" cannot be {whose} name", name.value);
        let fault = name.place.fault(title, format!("allowed: {expected}"));
        field.fault(fault.note(format!("limit from {FORMAT}: names become file names")));
        return None;
    }
    Some(name)
}

/// Names of the tables in one array, which must be unique.
pub(crate) struct Names {
    known: Vec<Text>,
    tables: &'static str,
    reason: &'static str,
}

impl Names {
    /// An empty set of names. In messages, `tables` is the plural of a table's noun, such as "devices", and `reason`
    /// explains the rule; `reason` may be empty.
    pub(crate) fn new(tables: &'static str, reason: &'static str) -> Self {
        Self { known: Vec::new(), tables, reason }
    }

    /// Adds the name of the next table, and reports an error if an earlier table has the same name. An empty name is
    /// ignored.
    pub(crate) fn add(&mut self, field: &Field<'_>, name: &str, place: &Place) {
        if name.is_empty() {
            return;
        }
        if let Some(first) = self.known.iter().find(|first| first.value == name) {
            let fault =
                place.fault(format!("two {} are named \"{name}\"", self.tables), "again here");
            let reason = match self.reason {
                "" => String::new(),
                reason => format!("limit from {FORMAT}: {reason}"),
            };
            field.fault(fault.related(&first.place, "first here").note(reason));
        }
        self.known.push(Text { value: name.to_owned(), place: place.clone() });
    }
}

/// Extensions for messages: `.a, .b`.
pub(crate) fn dotted(extensions: &[&str]) -> String {
    extensions.iter().map(|e| format!(".{e}")).collect::<Vec<_>>().join(", ")
}

/// Regular expression for the paths that [`has_extension`] accepts.
pub(crate) fn extension_pattern(extensions: &[&str]) -> String {
    let both = |letter: char| match letter.is_ascii_alphabetic() {
        true => format!("[{letter}{}]", letter.to_ascii_uppercase()),
        false => letter.to_string(),
    };
    let any: Vec<String> = extensions.iter().map(|e| e.chars().map(both).collect()).collect();
    format!("\\.({})$", any.join("|"))
}

/// Whether the extension of `path` is one of `allowed`; upper and lower case are equal.
pub(crate) fn has_extension(path: &str, allowed: &[&str]) -> bool {
    let extension = Path::new(path).extension().and_then(|e| e.to_str()).unwrap_or_default();
    allowed.iter().any(|known| known.eq_ignore_ascii_case(extension))
}

/// Limits of a seed: any unsigned 64-bit number.
pub fn seed_limit() -> Limit<i128> {
    Limit::new(0..=i128::from(u64::MAX), "", "the random generator: 64 bits")
}

/// Reads a seed.
pub(crate) fn seed(field: &Field<'_>) -> Option<u64> {
    field.integer(&seed_limit())
}

/// Limits of a coordinate in the World frame, metres.
pub(crate) fn position_limit() -> Limit<f64> {
    Limit::new(
        -100_000.0..=100_000.0,
        "m",
        "the World frame: it is flat, so it is valid near its origin only",
    )
}

/// Limits of an angle of up to one turn, degrees.
pub(crate) fn turn_limit() -> Limit<f64> {
    Limit::new(-360.0..=360.0, "degrees", "geometry: one turn either way")
}

keys! {
    with (reach: Limit<f64>);
    /// Pose of a part in the frame of its carrier.
    #[derive(Clone, Copy, Debug)]
    pub struct Pose {
        /// Position on the part that carries it: forward, left and up.
        pub translation_m: [f64; 3] = [0.0; 3], reach;
        /// Rotation about the axes forward, left and up: roll, pitch, yaw, in this order from the mounted frame to that of
        /// the part that carries it.
        pub roll_pitch_yaw_rad as "roll_pitch_yaw_deg": [f64; 3] = [0.0; 3], Degrees(turn_limit());
    }
}

impl Pose {
    /// Reads a pose from the keys of `table`; missing keys have their defaults. `reach` limits each coordinate of the
    /// position.
    pub(crate) fn read(table: &mut TableReader<'_>, reach: Limit<f64>) -> Self {
        let mut all = Self::default();
        all.read_into(table, reach);
        all
    }

    /// Returns the transform from coordinates of the part to coordinates of its carrier.
    pub(crate) fn transform<To, From>(&self) -> Transform<To, From> {
        let [roll, pitch, yaw] = self.roll_pitch_yaw_rad;
        Transform::from_rpy(DVec3::from_array(self.translation_m), roll, pitch, yaw)
    }
}

/// Regular expression of an address with its port.
const SOCKET_PATTERN: &str =
    r"^([0-9]{1,3}(\.[0-9]{1,3}){3}|\[[0-9a-fA-F:.]+(%[0-9]+)?\]):[0-9]{1,5}$";

/// Reads an address with its port; also returns its position in the file.
pub(crate) fn socket(field: &Field<'_>) -> Option<(SocketAddr, Place)> {
    let expected = "a numeric address and port such as \"192.168.3.255:2368\"";
    let text = field.text_like(expected, Some(SOCKET_PATTERN))?;
    match text.value.parse() {
        Ok(address) => Some((address, text.place)),
        Err(_) => {
            let title = format!("\"{}\" is not an address and port", text.value);
            field.fault(text.place.fault(title, format!("allowed: {expected}")));
            None
        }
    }
}

/// Device with the name `text`, with its index in the rig; reports an error if there is none.
pub(crate) fn device_named<'d>(
    field: &Field<'_>,
    text: &Text,
    devices: &'d [DeviceConfig],
) -> Option<(usize, &'d DeviceConfig)> {
    let found = devices.iter().enumerate().find(|(_, device)| device.name == text.value);
    if found.is_none() {
        let names: Vec<_> = devices.iter().map(|device| device.name.as_str()).collect();
        let near = nearest(&text.value, names.iter().copied());
        let mean = near.map(|near| format!("did you mean \"{near}\"? ")).unwrap_or_default();
        let title = format!("there is no device \"{}\"", text.value);
        field.fault(text.place.fault(title, format!("{mean}allowed: {}", names.join(", "))));
    }
    found
}

/// Index of `text` in `names`. If `text` is not among them, reports an error, in which `what` is the noun for a name,
/// and returns `None`.
pub(crate) fn place_of(
    field: &Field<'_>,
    text: &Text,
    what: &str,
    names: &[&str],
) -> Option<usize> {
    let found = names.iter().position(|name| *name == text.value);
    if found.is_none() {
        let near = nearest(&text.value, names.iter().copied());
        let mean = near.map(|near| format!("did you mean \"{near}\"? ")).unwrap_or_default();
        let all = if names.is_empty() { "none".into() } else { names.join(", ") };
        let title = format!("there is no {what} \"{}\"", text.value);
        field.fault(text.place.fault(title, format!("{mean}there are: {all}")));
    }
    found
}
