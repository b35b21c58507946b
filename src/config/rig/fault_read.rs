//! Reads `[[fault]]`.

use super::faults::{FORMAT, FaultConfig, FaultKind, WireKind};
use super::parts::{Names, device_named, file_name, seed_limit};
use super::schedule::{schedule, schedule_from_now};
use super::wire_fault_read::details;
use super::{DeviceConfig, Rig};
use crate::profile::{Catalogue, DeviceFaultKind, Interface, Profile};
use crate::toml::diagnostic::{Diagnostics, SourceFile};
use crate::toml::explore::explore;
use crate::toml::reader::{Faults, Field, TableReader, parse_toml};
use crate::toml::spec::TableSpec;

/// Largest number of faults of a rig. A repeated fault counts once.
const MAX_FAULTS: usize = 1000;

/// Kind of a fault, without the values of the keys that only this kind has.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Wire(WireKind),
    Device(&'static DeviceFaultKind),
}

/// All kinds of faults with their names: first the faults of the wire, then those inside devices.
fn kinds(catalogue: &Catalogue) -> Vec<(&'static str, Kind)> {
    let wire = WireKind::WORDS.into_iter().map(|(word, kind)| (word, Kind::Wire(kind)));
    let device = catalogue.device_faults().into_iter().map(|kind| (kind.word, Kind::Device(kind)));
    wire.chain(device).collect()
}

impl Kind {
    /// Whether `device` can have a fault of this kind.
    fn fits(self, device: &DeviceConfig) -> bool {
        match self {
            Self::Wire(kind) => kind.fits(device),
            // Faults of a GNSS receiver do not apply to its further lines.
            Self::Device(_) if device.is_line() => false,
            Self::Device(kind) => {
                let family = device.profile.family;
                let has =
                    |own: &'static [DeviceFaultKind]| own.iter().any(|own| own.word == kind.word);
                has(family.faults())
                    || family.follows_ptp(&*device.settings) && has(family.ptp_faults())
            }
        }
    }

    /// Whether `device` could have a fault of this kind if the device followed a PTP master.
    fn needs_ptp(self, device: &DeviceConfig) -> bool {
        let kinds = device.profile.family.ptp_faults();
        matches!(self, Self::Device(kind) if kinds.iter().any(|own| own.word == kind.word))
    }
}

/// Text for messages: the profile's name, product and interface, which determine the faults that a device can have.
fn nature(profile: &Profile) -> String {
    let has = match profile.product.interface {
        Interface::Datagrams => "it sends datagrams",
        Interface::Line => "it has a serial line",
        Interface::Server => "hosts connect to it by TCP, which retransmits lost packets",
    };
    format!("{} is {}; {has}", profile.name, profile.product.noun)
}

/// Reads all faults of a rig: an empty list if the key is missing, `None` after an error. `devices` is `None` if they
/// are invalid; references to devices are then not checked. `seed` is the rig's seed.
pub fn faults(
    field: &Field<'_>,
    devices: Option<&[DeviceConfig]>,
    seed: u64,
    catalogue: &Catalogue,
) -> Option<Vec<FaultConfig>> {
    if !field.is_written() {
        return Some(Vec::new());
    }
    let (items, _) = field.array_up_to(0..=MAX_FAULTS, FORMAT, "up to 1000 of [[fault]]")?;
    let kinds = kinds(catalogue);
    let mut names = Names::new("faults", "");
    let faults: Vec<_> = items
        .iter()
        .enumerate()
        .map(|(index, item)| {
            let mut table = item.named("fault").table("[[fault]]")?;
            let says = "Name of the fault in the fault log (default: fault-1, fault-2 and so on).";
            let name = file_name(&table.optional("name").meaning(says), "a fault's");
            if let Some(name) = &name {
                names.add(field, &name.value, &name.place);
            }
            let default_name = || format!("fault-{}", index + 1);
            let called = name.map_or_else(default_name, |name| name.value);
            fault(table, called, devices, seed, &kinds, Begins::AsWritten)
        })
        .collect();
    faults.into_iter().collect()
}

/// Names of the fault kinds in `catalogue` that `device` can have.
pub fn kinds_of(device: &DeviceConfig, catalogue: &Catalogue) -> Vec<&'static str> {
    let fitting = kinds(catalogue).into_iter().filter(|(_, kind)| kind.fits(device));
    fitting.map(|(word, _)| word).collect()
}

/// Keys of a `[[fault]]` of the kind `word`, with the limits of the firmware of `device`. Omits the keys that all kinds
/// have. Includes `stream` if the kind affects datagrams. `None` if the device cannot have the fault.
pub fn keys_of(device: &DeviceConfig, word: &str, catalogue: &Catalogue) -> Option<TableSpec> {
    let (_, kind) =
        kinds(catalogue).into_iter().find(|(known, kind)| *known == word && kind.fits(device))?;
    Some(explore(|survey| {
        let told = Faults::default();
        read_kind(kind, &mut TableReader::surveyed(survey, &told), Some(&device.profile));
    }))
}

/// Reads a fault that is started during a run. Its TOML has the keys of `[[fault]]` except `start_s` and `period_s`.
/// Returns the fault and its duration, nanoseconds (`None`: without end). The fault's own schedule starts with the run
/// and has no end. `default_name` is used if the fault has no name.
///
/// # Errors
/// All errors in the keys.
pub fn live_fault(
    text: &str,
    rig: &Rig,
    default_name: &str,
    catalogue: &Catalogue,
) -> Result<(FaultConfig, Option<u64>), Diagnostics> {
    let source = SourceFile::new("the fault", text, "");
    let told = Faults::default();
    let read = parse_toml(&source, &told).and_then(|root| {
        let mut table = TableReader::root(root, "a fault of a run", &told);
        let name = file_name(&table.optional("name"), "a fault's");
        let name = name.map_or_else(|| default_name.to_owned(), |name| name.value);
        fault(table, name, Some(&rig.devices), rig.seed, &kinds(catalogue), Begins::WhileItRuns)
    });
    match (read, told.into_inner()) {
        (Some(mut fault), told) if told.is_empty() => {
            let duration_ns = fault.schedule.duration_ns.take();
            Ok((fault, duration_ns))
        }
        (_, told) => Err(told),
    }
}

/// Time at which a fault starts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Begins {
    /// The fault starts at the time in its keys.
    AsWritten,
    /// The fault starts as soon as possible.
    WhileItRuns,
}

fn fault(
    mut table: TableReader<'_>,
    name: String,
    devices: Option<&[DeviceConfig]>,
    seed: u64,
    kinds: &[(&'static str, Kind)],
    begins: Begins,
) -> Option<FaultConfig> {
    let device_field = table.required("device").meaning("Name of the device that has the fault.");
    let device_name = device_field.text("the name of a device of this rig");
    let device = device_name
        .as_ref()
        .zip(devices)
        .and_then(|(text, devices)| device_named(&device_field, text, devices));
    let says = "Kind of fault; the device determines which kinds are possible.";
    let kind_field = table.required("kind").meaning(says);
    let kind = kind_field.choice(kinds, FORMAT);
    if let (Some(kind), Some((_, device)), Some(place)) = (kind, device, kind_field.place())
        && !kind.fits(device)
    {
        let fitting = kinds.iter().filter(|(_, kind)| kind.fits(device));
        let fitting: Vec<_> = fitting.map(|(word, _)| format!("\"{word}\"")).collect();
        let title = format!("`{}` cannot have this fault", device.name);
        let fault = place.fault(title, format!("allowed: {}", fitting.join(", ")));
        let profile = &device.profile;
        let why = match kind {
            Kind::Wire(WireKind::GpsCableDown) if profile.product.has_gps_input => {
                "it has no `gps_cable`".into()
            }
            kind if kind.needs_ptp(device) => {
                "it follows a PTP master with `ptp = \"wire\"` or `ptp = \"virtual\"` only".into()
            }
            _ => format!("limit from the profile: {}", nature(profile)),
        };
        let fault = fault.note(why);
        kind_field.fault(fault);
    }
    let schedule = match begins {
        Begins::AsWritten => schedule(&mut table, FORMAT),
        Begins::WhileItRuns => Some(schedule_from_now(&mut table, FORMAT)),
    };
    let says = "Seed of the fault's random samples (default: the rig's).";
    let seed = table.optional("seed").meaning(says).integer(&seed_limit()).unwrap_or(seed);
    let Some(kind) = kind else {
        // Without a kind, the other allowed keys are unknown, so no key is rejected.
        table.drop_unknown(|_| true);
        table.finish();
        return None;
    };
    let profile = device.map(|(_, device)| &*device.profile);
    let (word, kind, stream) = read_kind(kind, &mut table, profile);
    table.finish();
    Some(FaultConfig {
        name,
        device: device?.0,
        schedule: schedule?,
        seed,
        kind: kind?,
        stream,
        word,
        place: device_name?.place,
    })
}

/// Reads the keys that depend on the kind of a fault. Returns the name of the kind, the kind with its details (`None`
/// after an error), and the index of the affected port (`None`: all ports).
fn read_kind(
    kind: Kind,
    table: &mut TableReader<'_>,
    profile: Option<&Profile>,
) -> (&'static str, Option<FaultKind>, Option<usize>) {
    let sends_datagrams = |kind: WireKind| {
        let interface = profile.map(|profile| profile.product.interface);
        kind.is_of_packets() && interface.is_none_or(|known| known == Interface::Datagrams)
    };
    let stream = match kind {
        Kind::Wire(kind) if sends_datagrams(kind) => stream(table, profile),
        _ => None,
    };
    let (word, kind) = match kind {
        Kind::Wire(kind) => (kind.word(), details(kind, table).map(FaultKind::Wire)),
        Kind::Device(kind) => {
            // Families may use the same word for faults of their own.
            let own = profile.and_then(|profile| {
                profile.family.faults().iter().find(|own| own.word == kind.word).copied()
            });
            let kind = own.unwrap_or(*kind);
            (kind.word, (kind.read)(table, profile).map(FaultKind::Device))
        }
    };
    (word, kind, stream)
}

/// Reads `stream`; returns the index of the named port in the product's list, `None` without the key or after an error.
fn stream(table: &mut TableReader<'_>, profile: Option<&Profile>) -> Option<usize> {
    let says = "Affects the datagrams of this port only, named as in the fault log \
        (default: all ports).";
    let field = table.optional("stream").meaning(says);
    if !field.is_written() {
        return None;
    }
    let Some(profile) = profile else {
        field.text("the name of a port");
        return None;
    };
    let ports = profile.ports().iter().enumerate().map(|(place, port)| (port.name, place));
    field.choice(&ports.collect::<Vec<_>>(), "the ports of this product")
}
