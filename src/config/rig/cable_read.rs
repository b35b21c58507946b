//! Connects inputs of devices to outputs of other devices, as the rig defines.

use crate::rig::{CableKind, DeviceConfig, DeviceId};
use crate::toml::diagnostic::Place;
use crate::toml::reader::{Field, Text, nearest};

/// Expected form of `line_of`.
pub(crate) const LINE: &str = "a GNSS receiver of this rig and its port, such as \"base.uart2\"";

/// A device, and the names of the devices that its inputs are connected to.
pub(crate) struct Cabled {
    /// The device's name.
    pub name: Option<Text>,
    /// The device, not yet connected.
    pub device: DeviceConfig,
    /// The value of `gps_cable`.
    pub cable: Option<Text>,
    /// The value of `corrections`.
    pub corrections: Option<Text>,
    /// The value of `line_of`.
    pub line: Option<Text>,
    /// Position of `settings` in the file.
    pub settings: Option<Place>,
}

/// A key of a device that names another device.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Key {
    GpsCable,
    Corrections,
    LineOf,
}

impl Cabled {
    /// Name of the device at the other end of the cable, and the key that names it; `None` without a cable.
    fn wire(&self) -> Option<(&Text, Key)> {
        let keys = [
            (&self.line, Key::LineOf),
            (&self.cable, Key::GpsCable),
            (&self.corrections, Key::Corrections),
        ];
        keys.into_iter().find_map(|(text, key)| Some((text.as_ref()?, key)))
    }
}

/// Connects all devices of a rig; an invalid device is `None`. `names` are the names of all devices, valid or not. Errors
/// are reported at `field`. Returns `None` if a device is invalid.
pub(crate) fn connect(
    devices: Vec<Option<Cabled>>,
    names: &[Text],
    field: &Field<'_>,
) -> Option<Vec<DeviceConfig>> {
    let sources: Vec<_> = devices
        .iter()
        .map(|entry| entry.as_ref().and_then(|entry| source(entry, &devices, names, field)))
        .collect();
    for (listener, entry) in devices.iter().enumerate() {
        if let Some((cable, _)) = entry.as_ref().and_then(Cabled::wire)
            && is_in_circle(listener, &sources)
        {
            let fault = cable.place.fault("these cables form a loop", "remove one of them");
            field.fault(
                fault.note("limit from the rig format: no device can depend on its own output"),
            );
        }
    }
    let kinds: Vec<CableKind> =
        devices.iter().map(|entry| entry.as_ref().map_or(CableKind::Link, Cabled::kind)).collect();
    let lines_of = |device: usize| {
        let of = sources.iter().zip(&kinds).enumerate();
        of.filter_map(move |(line, (source, kind))| match kind {
            CableKind::Line(port) if *source == Some(DeviceId(device)) => Some((line, *port)),
            _ => None,
        })
    };
    for (index, entry) in devices.iter().enumerate() {
        let Some(entry) = entry else { continue };
        let link_port = entry.device.profile.family.link_port(&*entry.device.settings);
        let mut taken: Vec<u8> = link_port.into_iter().collect();
        for (line, port) in lines_of(index) {
            let text = devices[line].as_ref().and_then(|line| line.line.as_ref());
            if let Some(text) = text.filter(|_| taken.contains(&port)) {
                let title = format!("\"{}\" has a line already", text.value);
                let label = "name another port, or remove this device";
                let fault = text.place.fault(title, label);
                field.fault(fault.note("limit from the rig format: a port has one line"));
            }
            taken.push(port);
        }
    }
    let further: Vec<Vec<u8>> =
        (0..devices.len()).map(|index| lines_of(index).map(|(_, port)| port).collect()).collect();
    let wired = devices.into_iter().zip(sources).zip(kinds.into_iter().zip(further)).map(
        |((entry, cable_from), (cable, further_lines))| {
            entry.map(|entry| DeviceConfig { cable_from, cable, further_lines, ..entry.device })
        },
    );
    wired.collect()
}

/// Whether the cable of `listener` leads through other devices back to `listener`.
fn is_in_circle(listener: usize, sources: &[Option<DeviceId>]) -> bool {
    let before = |device: &DeviceId| sources[device.0];
    let heard = std::iter::successors(sources[listener], before).take(sources.len());
    heard.skip(1).any(|device| device.0 == listener)
}

/// The device that `entry` is connected to; `None` without a valid cable. Reports errors at `field`.
fn source(
    entry: &Cabled,
    devices: &[Option<Cabled>],
    names: &[Text],
    field: &Field<'_>,
) -> Option<DeviceId> {
    let (cable, key) = entry.wire()?;
    if key == Key::LineOf {
        return line_of(entry, cable, devices, names, field);
    }
    let is_corrections = key == Key::Corrections;
    let tell = |title: String, label: String, note: &str| {
        field.fault(cable.place.fault(title, label).note(note));
        None
    };
    let profile = &entry.device.profile;
    let (has_input, title, label, kind) = match is_corrections {
        false => (
            profile.product.has_gps_input,
            "has no GPS input",
            "remove `gps_cable`",
            "a GNSS receiver",
        ),
        true => (
            profile.product.corrections_port.is_some(),
            "does not accept corrections",
            "remove `corrections`",
            "a base station",
        ),
    };
    if !has_input {
        let title = format!("{} {title}", profile.name);
        let note = format!("limit from the profile {}", profile.name);
        return tell(title, label.into(), &note);
    }
    if let Some(refusal) = profile.family.gps_input_refusal(&*entry.device.settings) {
        return tell(refusal.title.into(), refusal.label.into(), "limit from the rig format");
    }
    let wanted = &cable.value;
    let outputs: Vec<_> = devices
        .iter()
        .flatten()
        .filter(|other| {
            let product = &other.device.profile.product;
            let has_output = match is_corrections {
                true => product.corrections_port.is_some(),
                false => product.has_gps_output,
            };
            has_output && other.line.is_none()
        })
        .map(|other| other.device.name.as_str())
        .collect();
    let allowed = match outputs.as_slice() {
        [] => "this rig has no GNSS receiver; add one as another [[device]]".to_string(),
        names => format!("allowed: {}", names.join(", ")),
    };
    let place = devices
        .iter()
        .position(|other| other.as_ref().is_some_and(|other| other.device.name == *wanted));
    let Some(place) = place else {
        // The named device is invalid and has its own error.
        if names.iter().any(|name| name.value == *wanted) {
            return None;
        }
        let near = nearest(wanted, outputs.iter().copied());
        let mean = near.map(|near| format!("did you mean \"{near}\"? ")).unwrap_or_default();
        let title = format!("there is no device \"{wanted}\" in this rig");
        return tell(title, format!("{mean}{allowed}"), "");
    };
    let is_itself = entry.name.as_ref().is_some_and(|name| name.value == *wanted);
    if is_itself {
        let title = "a device cannot be wired to itself".to_string();
        return tell(
            title,
            allowed,
            "limit from the product: the cable connects to a GNSS receiver",
        );
    }
    if !outputs.contains(&wanted.as_str()) {
        let title = format!("\"{wanted}\" is not {kind}");
        return tell(
            title,
            allowed,
            "limit from the product: the cable connects to a GNSS receiver",
        );
    }
    Some(DeviceId(place))
}

impl Cabled {
    /// Kind of the cable's signals.
    fn kind(&self) -> CableKind {
        let product = &self.device.profile.product;
        match self.wire() {
            Some((_, Key::Corrections)) => {
                product.corrections_port.map_or(CableKind::Link, CableKind::Port)
            }
            Some((text, Key::LineOf)) => port_of(text, &product.line_ports)
                .map_or(CableKind::Link, |(_, port)| CableKind::Line(port)),
            Some((_, Key::GpsCable)) | None => CableKind::Link,
        }
    }
}

/// Name of the device and number of the port in the value of `line_of`; `None` if the port is not among `ports`.
fn port_of<'a>(text: &'a Text, ports: &[(&str, u8)]) -> Option<(&'a str, u8)> {
    let (device, word) = text.value.rsplit_once('.')?;
    ports.iter().find(|(known, _)| *known == word).map(|(_, port)| (device, *port))
}

/// The GNSS receiver for which `entry` is a serial line; `None` after an error, which is reported at `field`.
fn line_of(
    entry: &Cabled,
    text: &Text,
    devices: &[Option<Cabled>],
    names: &[Text],
    field: &Field<'_>,
) -> Option<DeviceId> {
    let profile = &entry.device.profile;
    let tell = |place: &Place, title: String, label: String, note: &str| {
        field.fault(place.fault(title, label).note(note));
        None
    };
    let ports = &profile.product.line_ports;
    if ports.is_empty() {
        let title = format!("{} has one port only", profile.name);
        let note = format!("limit from the profile {}", profile.name);
        return tell(&text.place, title, "remove `line_of`".into(), &note);
    }
    let others = [&entry.cable, &entry.corrections].into_iter().flatten().next();
    if let Some(other) = others {
        let title = "a device with `line_of` cannot have `gps_cable` or `corrections`".to_string();
        let label = "move this key to the [[device]] of the GNSS receiver".to_string();
        return tell(&other.place, title, label, "limit from the rig format");
    }
    if let Some(place) = &entry.settings {
        let title = "a device with `line_of` cannot have `settings`".to_string();
        let label = "move them to the [[device]] of the GNSS receiver".to_string();
        return tell(place, title, label, "limit from the rig format");
    }
    let words: Vec<_> = ports.iter().map(|(word, _)| *word).collect();
    let Some((name, _)) = port_of(text, ports) else {
        let title = format!("\"{}\" is not a receiver and its port", text.value);
        let label = format!("allowed: {LINE}; ports: {}", words.join(", "));
        return tell(&text.place, title, label, "limit from the rig format");
    };
    let of_name = |other: &Cabled| other.device.name == name;
    let Some(place) = devices.iter().position(|other| other.as_ref().is_some_and(of_name)) else {
        // The named device is invalid and has its own error.
        if names.iter().any(|other| other.value == name) {
            return None;
        }
        let title = format!("there is no device \"{name}\" in this rig");
        return tell(&text.place, title, format!("allowed: {LINE}"), "");
    };
    let receiver = devices[place].as_ref()?;
    if receiver.line.is_some() || receiver.device.profile.name != profile.name {
        let title = format!("\"{name}\" is not a receiver with the profile {}", profile.name);
        let label =
            "name a GNSS receiver of this rig, and use its profile for this device".to_string();
        return tell(&text.place, title, label, "limit from the rig format");
    }
    Some(DeviceId(place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circles_are_seen_and_chains_are_none() {
        let sources = |of: [Option<usize>; 4]| of.map(|source| source.map(DeviceId));
        let chain = sources([None, Some(0), Some(1), Some(2)]);
        assert!((0..4).all(|listener| !is_in_circle(listener, &chain)));
        let circle = sources([Some(1), Some(2), Some(0), Some(0)]);
        let found: Vec<_> = (0..4).map(|listener| is_in_circle(listener, &circle)).collect();
        assert_eq!(found, [true, true, true, false], "the last only hears the circle");
    }
}
