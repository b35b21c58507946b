//! Reads a firmware profile: every key once, each within its limits, nothing left out.
//!
//! `firmware-profiles/example.toml` explains the keys.

use std::path::Path;
use std::sync::Arc;

use crate::config::gnss_read as gnss;
use crate::config::hdl64e_read as hdl64e;
use crate::config::imu::ImuProtocol;
use crate::config::imu_read;
use crate::config::profile::{DriverProfile, Profile};
use crate::config::sick_lms1xx_read as sick_lms1xx;
use crate::config::sick_lms2xx_read as sick_lms2xx;
use crate::config::toml::diagnostic::{Diagnostics, SourceFile};
use crate::config::toml::reader::{Faults, TableReader, parse_toml};
use crate::config::velodyne_read as velodyne;

/// Where limits come from that no product sets.
pub(crate) const PROFILES: &str = "Menura's profiles, see firmware-profiles/example.toml";
/// Reads the rest of a profile of one family.
type ReadFamily = fn(TableReader<'_>) -> Option<DriverProfile>;

/// Every family Menura speaks for, by the word of a profile's `driver` key.
const FAMILIES: [(&str, ReadFamily); 11] = [
    ("velodyne-hdl64e", |root| {
        hdl64e::profile(root).map(|driver| DriverProfile::VelodyneHdl64e(Arc::new(driver)))
    }),
    ("velodyne", |root| {
        velodyne::profile(root).map(|driver| DriverProfile::Velodyne(Arc::new(driver)))
    }),
    ("sick-lms2xx", |root| {
        sick_lms2xx::profile(root).map(|driver| DriverProfile::SickLms2xx(Arc::new(driver)))
    }),
    ("wheeltec-fdilink", |root| imu(root, ImuProtocol::FdiLink)),
    ("vectornav", |root| imu(root, ImuProtocol::VectorNav)),
    ("xsens-xbus", |root| imu(root, ImuProtocol::Xbus)),
    ("microstrain-mip", |root| imu(root, ImuProtocol::Mip)),
    ("sbg-ecom", |root| imu(root, ImuProtocol::SbgEcom)),
    ("phone-imu", |root| imu(root, ImuProtocol::Phone)),
    ("gnss", |root| gnss::profile(root).map(|driver| DriverProfile::Gnss(Arc::new(driver)))),
    ("sick-lms1xx", |root| {
        sick_lms1xx::profile(root).map(|driver| DriverProfile::SickLms1xx(Arc::new(driver)))
    }),
];

fn imu(root: TableReader<'_>, protocol: ImuProtocol) -> Option<DriverProfile> {
    imu_read::profile(root, protocol).map(|driver| DriverProfile::Imu(Arc::new(driver)))
}

/// Reads the profile in `source`; its name is the file's stem.
pub fn parse(source: &Arc<SourceFile>) -> Result<Profile, Diagnostics> {
    let faults = Faults::default();
    let profile = parse_toml(source, &faults)
        .and_then(|root| profile(TableReader::root(root, "a profile", &faults), source));
    let faults = faults.into_inner();
    match profile {
        Some(profile) if faults.is_empty() => Ok(profile),
        _ => Err(faults),
    }
}

fn profile(mut root: TableReader<'_>, source: &Arc<SourceFile>) -> Option<Profile> {
    let file = &source.name;
    let summary = root.required("summary").text("one line for `menura profiles`");
    let driver = root.required("driver").choice(&FAMILIES, PROFILES);
    let unsure = root.required("unsure").strings("what no two sources confirm");
    let sources = root.required("source").table("[source]").and_then(sources);
    // Without a known family the rest cannot be judged.
    let read = driver?;
    let driver = read(root);
    let name = Path::new(file).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Some(Profile {
        name,
        file: file.clone(),
        source: source.clone(),
        summary: summary?.value,
        sources: sources?,
        unsure: unsure?,
        driver: driver?,
    })
}

fn sources(mut table: TableReader<'_>) -> Option<Vec<String>> {
    let mut all = Vec::new();
    let mut complete = true;
    for (key, kind) in [("manual", "manual"), ("captures", "capture"), ("drivers", "driver")] {
        match table.required(key).strings("where the numbers come from") {
            Some(list) => all.extend(list.iter().map(|source| format!("{kind}: {source}"))),
            None => complete = false,
        }
    }
    if complete && all.is_empty() {
        let label = "at least one of manual, captures and drivers must name a source";
        table.fault(table.place().fault("a profile says where its numbers come from", label));
    }
    table.finish();
    complete.then_some(all)
}
