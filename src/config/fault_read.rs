//! Reads `[[fault]]`.

use super::faults::{FaultConfig, FaultKind};
use super::profile::{DriverProfile, Interface, Profile};
use super::reader::{Field, Limit, TableReader, Text, nearest};
use super::rig::DeviceConfig;
use super::rig_read::file_name;
use super::schedule::schedule;
use super::world_read::seed_limit;

const FORMAT: &str = "the rig format, [[fault]]";

/// What a fault can be, before its own keys are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    PacketLoss,
    Duplication,
    Reordering,
    Delay,
    Truncation,
    BitErrors,
    LineNoise,
    DroppedBytes,
    FramingBreaks,
    LinkDown,
    PpsLoss,
}

const KINDS: &[(&str, Kind)] = &[
    ("packet-loss", Kind::PacketLoss),
    ("duplication", Kind::Duplication),
    ("reordering", Kind::Reordering),
    ("delay", Kind::Delay),
    ("truncation", Kind::Truncation),
    ("bit-errors", Kind::BitErrors),
    ("line-noise", Kind::LineNoise),
    ("dropped-bytes", Kind::DroppedBytes),
    ("framing-breaks", Kind::FramingBreaks),
    ("link-down", Kind::LinkDown),
    ("pps-loss", Kind::PpsLoss),
];

impl Kind {
    /// Whether a device with this profile can have it.
    fn fits(self, profile: &Profile) -> bool {
        let interface = profile.interface();
        match self {
            Self::PacketLoss
            | Self::Duplication
            | Self::Reordering
            | Self::Truncation
            | Self::BitErrors => interface == Interface::Datagrams,
            Self::Delay => interface != Interface::Line,
            Self::LineNoise | Self::DroppedBytes | Self::FramingBreaks => {
                interface == Interface::Line
            }
            Self::LinkDown => true,
            Self::PpsLoss => matches!(profile.driver, DriverProfile::Gnss(_)),
        }
    }
}

/// Reads all faults of a rig; none when the key is not written. `devices` is `None` if they could
/// not be read, and then nothing is said about them; `seed` is the rig's.
pub fn faults(
    field: &Field<'_>,
    devices: Option<&[DeviceConfig]>,
    seed: u64,
) -> Option<Vec<FaultConfig>> {
    if !field.is_written() {
        return Some(Vec::new());
    }
    let (items, _) = field.array("any number of [[fault]]")?;
    let mut names: Vec<Text> = Vec::new();
    let faults: Vec<_> = items
        .iter()
        .enumerate()
        .map(|(index, item)| {
            let mut table = item.named("fault").table("[[fault]]")?;
            let name_field = table.optional("name");
            let name = file_name(&name_field, "a fault's");
            if let Some(name) = &name {
                if let Some(first) = names.iter().find(|first| first.value == name.value) {
                    let title = format!("two faults are named \"{}\"", name.value);
                    let fault = name.place.fault(title, "again here");
                    field.fault(fault.related(&first.place, "first here"));
                }
                names.push(name.clone());
            }
            let default_name = || format!("fault-{}", index + 1);
            let called = name.map_or_else(default_name, |name| name.value);
            fault(table, called, devices, seed)
        })
        .collect();
    faults.into_iter().collect()
}

fn fault(
    mut table: TableReader<'_>,
    name: String,
    devices: Option<&[DeviceConfig]>,
    seed: u64,
) -> Option<FaultConfig> {
    let device_field = table.required("device");
    let device_name = device_field.text("the name of a device of this rig");
    let device = device_name
        .as_ref()
        .zip(devices)
        .and_then(|(text, devices)| device_named(&device_field, text, devices));
    let kind_field = table.required("kind");
    let kind = kind_field.choice(KINDS, FORMAT);
    if let (Some(kind), Some((_, device)), Some(place)) = (kind, device, kind_field.place())
        && !kind.fits(&device.profile)
    {
        let fitting = KINDS.iter().filter(|(_, kind)| kind.fits(&device.profile));
        let fitting: Vec<_> = fitting.map(|(word, _)| format!("\"{word}\"")).collect();
        let title = format!("`{}` cannot have this fault", device.name);
        let fault = place.fault(title, format!("allowed: {}", fitting.join(", ")));
        let what = match device.profile.interface() {
            Interface::Datagrams => "sends datagrams",
            Interface::Line => "has a serial line",
            Interface::Server => "is connected to by TCP, which mends or ends what goes wrong",
        };
        let name = &device.profile.name;
        kind_field.fault(fault.note(format!("limit from the profile: {name} {what}")));
    }
    let schedule = schedule(&mut table, FORMAT);
    let seed = table.optional("seed").integer(&seed_limit()).unwrap_or(seed);
    let Some(kind) = kind else {
        // Which other keys it may have is not known.
        table.drop_unknown(|_| true);
        table.finish();
        return None;
    };
    let kind = details(kind, &mut table);
    table.finish();
    let place = device_name?.place;
    Some(FaultConfig { name, device: device?.0, schedule: schedule?, seed, kind: kind?, place })
}

/// A device of the rig by its name, with its place.
pub(super) fn device_named<'d>(
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

/// The keys of one kind.
fn details(kind: Kind, table: &mut TableReader<'_>) -> Option<FaultKind> {
    let share = Limit::new(0.0..=1.0, "", "probability: a share");
    let noise = Limit::new(1e-12..=0.5, "", "a rate of 0.5 is random bits");
    let nanos = |ms: f64| (ms * 1e6).round() as u64;
    Some(match kind {
        Kind::PacketLoss => {
            FaultKind::PacketLoss { probability: table.required("probability").number(&share)? }
        }
        Kind::Duplication => {
            let probability = table.required("probability").number(&share);
            let after = Limit::new(0.0..=1e6, "us", FORMAT);
            let after_us = table.optional("after_us").number(&after).unwrap_or(0.0);
            FaultKind::Duplication {
                probability: probability?,
                after_ns: (after_us * 1e3).round() as u64,
            }
        }
        Kind::Reordering => {
            let probability = table.required("probability").number(&share);
            let by = Limit::new(1..=1000, "packets", FORMAT);
            let by_packets = table.optional("by_packets").integer(&by).unwrap_or(1);
            FaultKind::Reordering { probability: probability?, by_packets }
        }
        Kind::Delay => {
            let probability = table.optional("probability").number(&share).unwrap_or(1.0);
            let longest = Limit::new(0.001..=60_000.0, "ms", FORMAT);
            let delay_ms = table.required("delay_ms").number(&longest);
            let jitter = table.optional("jitter_ms");
            let jitter_ms = jitter.number(&Limit::new(0.0..=60_000.0, "ms", FORMAT)).unwrap_or(0.0);
            if let (Some(delay_ms), Some(place)) = (delay_ms, jitter.place())
                && jitter_ms > delay_ms
            {
                let label = format!("allowed: at most `delay_ms`, {delay_ms} ms");
                let fault = place.fault("nothing arrives before it is sent", label);
                jitter
                    .fault(fault.note("`jitter_ms` is how much earlier or later than `delay_ms`"));
            }
            FaultKind::Delay {
                probability,
                delay_ns: nanos(delay_ms?),
                jitter_ns: nanos(jitter_ms),
            }
        }
        Kind::Truncation => {
            let probability = table.required("probability").number(&share);
            let length = Limit::new(0..=65_507, "bytes", "UDP over IPv4");
            let to_bytes = table.optional("to_bytes").integer(&length);
            FaultKind::Truncation { probability: probability?, to_bytes }
        }
        Kind::BitErrors => FaultKind::BitErrors { rate: table.required("rate").number(&noise)? },
        Kind::LineNoise => FaultKind::LineNoise { rate: table.required("rate").number(&noise)? },
        Kind::DroppedBytes => {
            FaultKind::DroppedBytes { probability: table.required("probability").number(&share)? }
        }
        Kind::FramingBreaks => {
            let probability = table.required("probability").number(&share);
            let length = Limit::new(1..=1000, "bits", FORMAT);
            let length_bits = table.optional("length_bits").integer(&length).unwrap_or(12);
            FaultKind::FramingBreaks { probability: probability?, length_bits }
        }
        Kind::LinkDown => FaultKind::LinkDown,
        Kind::PpsLoss => FaultKind::PpsLoss,
    })
}
