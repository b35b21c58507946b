//! Reads `[[fault]]`.

use crate::config::profile::{DriverProfile, Interface, Profile};
use crate::config::rig::DeviceConfig;
use crate::config::rig::fault_details::details;
use crate::config::rig::faults::FaultConfig;
use crate::config::rig::read::file_name;
use crate::config::rig::schedule::schedule;
use crate::config::rig::world_read::seed_limit;
use crate::config::toml::reader::{Field, TableReader, Text, nearest};

pub(crate) const FORMAT: &str = "the rig format, [[fault]]";

/// What a fault can be, before its own keys are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
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
    GpsCableDown,
    GnssOutage,
    GnssJump,
    GnssFrozen,
    LaserDead,
    WindowDirty,
    MotorStall,
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
    ("gps-cable-down", Kind::GpsCableDown),
    ("gnss-outage", Kind::GnssOutage),
    ("gnss-jump", Kind::GnssJump),
    ("gnss-frozen", Kind::GnssFrozen),
    ("laser-dead", Kind::LaserDead),
    ("window-dirty", Kind::WindowDirty),
    ("motor-stall", Kind::MotorStall),
];

impl Kind {
    /// Whether a device can have it.
    fn fits(self, device: &DeviceConfig) -> bool {
        let profile = &device.profile;
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
            Self::PpsLoss | Self::GnssOutage | Self::GnssJump | Self::GnssFrozen => {
                matches!(profile.driver, DriverProfile::Gnss(_))
            }
            Self::GpsCableDown => device.gps_cable.is_some(),
            Self::LaserDead => matches!(
                profile.driver,
                DriverProfile::VelodyneHdl64e(_) | DriverProfile::Velodyne(_)
            ),
            Self::MotorStall | Self::WindowDirty => {
                !matches!(profile.driver, DriverProfile::Gnss(_) | DriverProfile::Imu(_))
            }
        }
    }
}

/// What decides about a device's faults.
fn nature(profile: &Profile) -> String {
    let is = match profile.driver {
        DriverProfile::VelodyneHdl64e(_) | DriverProfile::Velodyne(_) => "a spinning lidar",
        DriverProfile::SickLms1xx(_) | DriverProfile::SickLms2xx(_) => "a scanner with one laser",
        DriverProfile::Gnss(_) => "a receiver",
        DriverProfile::Imu(_) => "an IMU",
    };
    let has = match profile.interface() {
        Interface::Datagrams => "it sends datagrams",
        Interface::Line => "it has a serial line",
        Interface::Server => "hosts connect to it by TCP, which mends or ends what goes wrong",
    };
    format!("{} is {is}; {has}", profile.name)
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
        && !kind.fits(device)
    {
        let fitting = KINDS.iter().filter(|(_, kind)| kind.fits(device));
        let fitting: Vec<_> = fitting.map(|(word, _)| format!("\"{word}\"")).collect();
        let title = format!("`{}` cannot have this fault", device.name);
        let fault = place.fault(title, format!("allowed: {}", fitting.join(", ")));
        let profile = &device.profile;
        let why = match kind {
            Kind::GpsCableDown if profile.has_gps_input() => "it has no `gps_cable`".into(),
            _ => format!("limit from the profile: {}", nature(profile)),
        };
        let fault = fault.note(why);
        kind_field.fault(fault);
    }
    let schedule = schedule(&mut table, FORMAT);
    let seed = table.optional("seed").integer(&seed_limit()).unwrap_or(seed);
    let Some(kind) = kind else {
        // Which other keys it may have is not known.
        table.drop_unknown(|_| true);
        table.finish();
        return None;
    };
    let word = KINDS.iter().find(|(_, known)| *known == kind)?.0;
    let kind = details(kind, &mut table, device.map(|(_, device)| device));
    table.finish();
    Some(FaultConfig {
        name,
        device: device?.0,
        schedule: schedule?,
        seed,
        kind: kind?,
        word,
        place: device_name?.place,
    })
}

/// A device of the rig by its name, with its place.
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
