//! Connects the GPS inputs of devices with the receivers that a rig names.

use super::DeviceConfig;
use crate::config::toml::reader::{Field, Text, nearest};

/// A device and the name of the receiver that its GPS input is wired to.
pub(crate) struct Cabled {
    /// The device's name.
    pub name: Option<Text>,
    /// The device, not yet wired.
    pub device: DeviceConfig,
    /// The value of `gps_cable`.
    pub cable: Option<Text>,
}

/// Wires all devices of a rig; `names` are those of all devices, readable or not, and `field` is
/// where faults go.
pub(crate) fn connect(
    devices: Vec<Option<Cabled>>,
    names: &[Text],
    field: &Field<'_>,
) -> Option<Vec<DeviceConfig>> {
    let sources: Vec<_> = devices
        .iter()
        .map(|entry| entry.as_ref().and_then(|entry| source(entry, &devices, names, field)))
        .collect();
    let wired = devices
        .into_iter()
        .zip(sources)
        .map(|(entry, gps_cable)| entry.map(|entry| DeviceConfig { gps_cable, ..entry.device }));
    wired.collect()
}

/// The place in the rig of the receiver that `entry` is wired to.
fn source(
    entry: &Cabled,
    devices: &[Option<Cabled>],
    names: &[Text],
    field: &Field<'_>,
) -> Option<usize> {
    let cable = entry.cable.as_ref()?;
    let tell = |title: String, label: String, note: &str| {
        field.fault(cable.place.fault(title, label).note(note));
        None
    };
    let profile = &entry.device.profile;
    if !profile.product.has_gps_input {
        let title = format!("{} has no GPS input", profile.name);
        return tell(title, "remove `gps_cable`".into(), "the Velodynes with a clock have one");
    }
    if let Some(refusal) = profile.family.gps_input_refusal(&*entry.device.settings) {
        return tell(refusal.title.into(), refusal.label.into(), "limit from the rig format");
    }
    let wanted = &cable.value;
    let receivers: Vec<_> = devices
        .iter()
        .flatten()
        .filter(|other| other.device.profile.product.has_gps_output)
        .map(|other| other.device.name.as_str())
        .collect();
    let allowed = match receivers.as_slice() {
        [] => "this rig has no GNSS receiver; add one as another [[device]]".to_string(),
        names => format!("allowed: {}", names.join(", ")),
    };
    let place = devices
        .iter()
        .position(|other| other.as_ref().is_some_and(|other| other.device.name == *wanted));
    let Some(place) = place else {
        // A device that cannot be read has its own fault.
        if names.iter().any(|name| name.value == *wanted) {
            return None;
        }
        let near = nearest(wanted, receivers.iter().copied());
        let mean = near.map(|near| format!("did you mean \"{near}\"? ")).unwrap_or_default();
        let title = format!("there is no device \"{wanted}\" in this rig");
        return tell(title, format!("{mean}{allowed}"), "");
    };
    let is_itself = entry.name.as_ref().is_some_and(|name| name.value == *wanted);
    if is_itself {
        let title = "a device cannot be wired to itself".to_string();
        return tell(title, allowed, "limit from the product: the cable leads to a receiver");
    }
    if !receivers.contains(&wanted.as_str()) {
        let title = format!("\"{wanted}\" is not a GNSS receiver");
        return tell(title, allowed, "limit from the product: the cable leads to a receiver");
    }
    Some(place)
}
