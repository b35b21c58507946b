//! Reads the keys that one kind of `[[fault]]` has.

use crate::config::calibration::LASERS;
use crate::config::profile::DriverProfile;
use crate::config::rig::DeviceConfig;
use crate::config::rig::fault_read::{FORMAT, Kind};
use crate::config::rig::faults::{FaultKind, GnssFault, LidarFault, MotorStall, Sector, WireFault};
use crate::config::toml::reader::{Limit, TableReader};

/// The keys of one kind, for `device` if that is known.
pub(crate) fn details(
    kind: Kind,
    table: &mut TableReader<'_>,
    device: Option<&DeviceConfig>,
) -> Option<FaultKind> {
    let share = Limit::new(0.0..=1.0, "", "probability: a share");
    let noise = Limit::new(1e-12..=0.5, "", "a rate of 0.5 is random bits");
    let nanos = |ms: f64| (ms * 1e6).round() as u64;
    Some(FaultKind::Wire(match kind {
        Kind::PacketLoss => {
            WireFault::PacketLoss { probability: table.required("probability").number(&share)? }
        }
        Kind::Duplication => {
            let probability = table.required("probability").number(&share);
            let after = Limit::new(0.0..=1e6, "us", FORMAT);
            let after_us = table.optional("after_us").number(&after).unwrap_or(0.0);
            WireFault::Duplication {
                probability: probability?,
                after_ns: (after_us * 1e3).round() as u64,
            }
        }
        Kind::Reordering => {
            let probability = table.required("probability").number(&share);
            let by = Limit::new(1..=1000, "packets", FORMAT);
            let by_packets = table.optional("by_packets").integer(&by).unwrap_or(1);
            WireFault::Reordering { probability: probability?, by_packets }
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
            WireFault::Delay {
                probability,
                delay_ns: nanos(delay_ms?),
                jitter_ns: nanos(jitter_ms),
            }
        }
        Kind::Truncation => {
            let probability = table.required("probability").number(&share);
            let length = Limit::new(0..=65_507, "bytes", "UDP over IPv4");
            let to_bytes = table.optional("to_bytes").integer(&length);
            WireFault::Truncation { probability: probability?, to_bytes }
        }
        Kind::BitErrors => WireFault::BitErrors { rate: table.required("rate").number(&noise)? },
        Kind::LineNoise => WireFault::LineNoise { rate: table.required("rate").number(&noise)? },
        Kind::DroppedBytes => {
            WireFault::DroppedBytes { probability: table.required("probability").number(&share)? }
        }
        Kind::FramingBreaks => {
            let probability = table.required("probability").number(&share);
            let length = Limit::new(1..=1000, "bits", FORMAT);
            let length_bits = table.optional("length_bits").integer(&length).unwrap_or(12);
            WireFault::FramingBreaks { probability: probability?, length_bits }
        }
        Kind::LinkDown => WireFault::LinkDown,
        Kind::PpsLoss => WireFault::PpsLoss,
        Kind::GpsCableDown => WireFault::GpsCableDown,
        Kind::GnssOutage => return Some(FaultKind::Gnss(GnssFault::Outage)),
        Kind::GnssJump => return gnss_jump(table),
        Kind::GnssFrozen => {
            let time_goes_on = table.optional("time_goes_on").boolean().unwrap_or(true);
            return Some(FaultKind::Gnss(GnssFault::Frozen { time_goes_on }));
        }
        Kind::LaserDead => return dead_lasers(table, device?),
        Kind::WindowDirty => return dirty_window(table, device),
        Kind::MotorStall => {
            let longest = Limit::new(0.001..=3600.0, "s", FORMAT);
            let stops_within_s = table.optional("stops_within_s").number(&longest);
            let stops_within_ns = stops_within_s.map(|s| (s * 1e9).round() as u64);
            return Some(FaultKind::Stall(MotorStall { stops_within_ns }));
        }
    }))
}

fn gnss_jump(table: &mut TableReader<'_>) -> Option<FaultKind> {
    let far = Limit::new(-100_000.0..=100_000.0, "m", FORMAT);
    let field = table.required("offset_m").such_as("[east, north, up]");
    let offset_enu_m = field.numbers(&far)?;
    Some(FaultKind::Gnss(GnssFault::Jump { offset_enu_m }))
}

fn dead_lasers(table: &mut TableReader<'_>, device: &DeviceConfig) -> Option<FaultKind> {
    let profile = &device.profile;
    let count = match &profile.driver {
        DriverProfile::VelodyneHdl64e(_) => LASERS,
        DriverProfile::Velodyne(driver) => driver.lasers.len(),
        _ => 1,
    };
    let origin = format!("the profile: {} has {count} lasers", profile.name);
    let laser = Limit::new(0..=count as i128 - 1, "", origin);
    let field = table.required("lasers").such_as("[3, 7]");
    let (items, place) = field.array("numbers of lasers, such as [3, 7]")?;
    if items.is_empty() {
        field.fault(place.fault("no laser is named", "allowed: one or more, such as [3, 7]"));
    }
    let mut lasers = Vec::new();
    for item in &items {
        let Some(number) = item.integer::<u16>(&laser) else { continue };
        if lasers.contains(&number)
            && let Some(place) = item.place()
        {
            item.fault(place.fault(format!("laser {number} is named twice"), "again here"));
        }
        lasers.push(number);
    }
    Some(FaultKind::Lidar(LidarFault::DeadLasers(lasers)))
}

/// Angles are those that the device itself tells: a Velodyne's clockwise from forward, a scanner's
/// counter-clockwise from its right.
fn dirty_window(table: &mut TableReader<'_>, device: Option<&DeviceConfig>) -> Option<FaultKind> {
    let angle = Limit::new(-360.0..=360.0, "degrees", FORMAT);
    let (from, to) = (table.optional("from_deg"), table.optional("to_deg"));
    let from_deg = if from.is_written() { from.number(&angle) } else { Some(0.0) };
    let to_deg = if to.is_written() { to.number(&angle) } else { Some(360.0) };
    let share = Limit::new(0.0..=1.0, "", "transmission: a share of the light, one way");
    let transmission = table.required("transmission").number(&share);
    let (from_deg, to_deg) = (from_deg?, to_deg?);
    if from_deg == to_deg
        && let Some(place) = to.place().or(from.place())
    {
        to.fault(place.fault("this sector is empty", "allowed: not the other end's angle"));
    }
    // A whole turn and more is all there is; from 350 to 10 runs through 0.
    let width_deg = match to_deg - from_deg {
        width if width >= 360.0 => 360.0,
        width => width.rem_euclid(360.0),
    };
    let is_velodyne = device.is_none_or(|device| {
        matches!(
            device.profile.driver,
            DriverProfile::VelodyneHdl64e(_) | DriverProfile::Velodyne(_)
        )
    });
    let from_deg = if is_velodyne { from_deg } else { 90.0 - from_deg - width_deg };
    let sector = Sector { from_rad: from_deg.to_radians(), width_rad: width_deg.to_radians() };
    Some(FaultKind::Lidar(LidarFault::DirtyWindow { sector, transmission: transmission? }))
}
