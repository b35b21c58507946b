//! Wires the inputs of devices to the outputs of others, as a rig names them.

use crate::rig::{DeviceConfig, DeviceId};
use crate::toml::reader::{Field, Text, nearest};

/// A device and the name of the one that its input is wired to.
pub(crate) struct Cabled {
    /// The device's name.
    pub name: Option<Text>,
    /// The device, not yet wired.
    pub device: DeviceConfig,
    /// The value of `gps_cable`.
    pub cable: Option<Text>,
    /// The value of `corrections`.
    pub corrections: Option<Text>,
}

impl Cabled {
    /// The device it is wired to, and whether for corrections.
    fn wire(&self) -> Option<(&Text, bool)> {
        let cable = self.cable.as_ref().map(|text| (text, false));
        cable.or(self.corrections.as_ref().map(|text| (text, true)))
    }
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
    for (listener, entry) in devices.iter().enumerate() {
        if let Some((cable, _)) = entry.as_ref().and_then(Cabled::wire)
            && is_in_circle(listener, &sources)
        {
            let fault = cable.place.fault("these cables lead in a circle", "remove one of them");
            field.fault(fault.note("limit from the rig format: somebody must be heard first"));
        }
    }
    let wired = devices
        .into_iter()
        .zip(sources)
        .map(|(entry, cable_from)| entry.map(|entry| DeviceConfig { cable_from, ..entry.device }));
    wired.collect()
}

/// Whether what `listener` hears comes from itself in the end, by way of others.
fn is_in_circle(listener: usize, sources: &[Option<DeviceId>]) -> bool {
    let before = |device: &DeviceId| sources[device.0];
    let heard = std::iter::successors(sources[listener], before).take(sources.len());
    heard.skip(1).any(|device| device.0 == listener)
}

/// The device that `entry` is wired to.
fn source(
    entry: &Cabled,
    devices: &[Option<Cabled>],
    names: &[Text],
    field: &Field<'_>,
) -> Option<DeviceId> {
    let (cable, is_corrections) = entry.wire()?;
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
            profile.product.has_corrections,
            "takes no corrections",
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
            if is_corrections { product.has_corrections } else { product.has_gps_output }
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
        // A device that cannot be read has its own fault.
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
        return tell(title, allowed, "limit from the product: the cable leads to a receiver");
    }
    if !outputs.contains(&wanted.as_str()) {
        let title = format!("\"{wanted}\" is not {kind}");
        return tell(title, allowed, "limit from the product: the cable leads to a receiver");
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
