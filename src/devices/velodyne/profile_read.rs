//! Reads the profile of a Velodyne with fixed optics, and its settings in a rig.

use crate::config::profile::Profile;
use crate::config::profile::lidar;
use crate::config::profile::network::profile_network;
use crate::config::profile::read::PROFILES;
use crate::config::toml::keys::{Keys, section_of};
use crate::config::toml::reader::{Limit, TableReader};
use crate::spinning::clock_settings;
use crate::spinning::motor_settings::{self as motor, RotationRates};
use crate::spinning::profile_read::{self as spinning, Column};
use crate::spinning::return_mode::ReturnMode;
use crate::velodyne::profile::{VelodyneLaser, VelodyneProfile, VelodyneSettings};

/// Possible numbers of lasers: a block of 32 points holds whole firing sequences, or a firing sequence fills whole
/// blocks.
const LASERS: [usize; 3] = [16, 32, 128];

/// Reads a profile except its name and sources.
pub(crate) fn profile(root: TableReader<'_>) -> Option<VelodyneProfile> {
    let mut root = Keys::of_profile(root);
    let (mut rates, mut modes) = (RotationRates::default(), Vec::new());
    let mut all = VelodyneSettings { sector_deg: [0, 359], ..VelodyneSettings::default() };
    let network = profile_network(&mut root.table);
    root.section_with::<()>("rotation", spinning::ROTATION, |keys| {
        spinning::rotation(keys, true, &mut rates, &mut all.rotation_rate_rpm);
        all.rotation(keys);
    });
    motor::read(&mut root, true, &mut all.motor);
    let web = root.section("web", "Contents of the web interface.");
    let says = "Temperatures of the boards, in diag.json and in position packets.";
    let thermal = root.section("thermal", says);
    root.section_with::<()>("returns", spinning::RETURNS, |keys| {
        spinning::return_modes(keys, &ReturnMode::WORDS, PROFILES, &mut modes);
    });
    let packet = root.section_with("packet", spinning::PACKET, |keys| all.packet(keys));
    let mut position_imu = None;
    let says = "Position packets: times and contents.";
    let position = root.section_with("position", says, |keys| {
        let says = "The inertial sensors of an HDL-32E; without this table their fields are zero.";
        let field = keys.table.optional("imu").meaning(says);
        position_imu = section_of(&field, "[position.imu]", |_| ());
    });
    clock_settings::read(&mut root, &mut all.clock);
    let optics = lidar::profile_optics(&mut root.table, &reach());
    let lasers = spinning::lasers_table(&mut root).and_then(lasers);
    root.finish()?;
    let (sequence_ns, lasers) = lasers?;
    all.return_mode = *modes.first()?;
    (all.beam, all.noise) = optics?;
    Some(VelodyneProfile {
        network: network?,
        rotation_rates: rates,
        return_modes: modes,
        position: position?,
        position_imu,
        packet: packet?,
        sequence_ns,
        lasers,
        web: web?,
        thermal: thermal?,
        defaults: all,
    })
}

/// Reads a rig's `settings`; the profile has the defaults.
pub(crate) fn settings(
    table: TableReader<'_>,
    profile: &Profile,
    driver: &VelodyneProfile,
) -> Option<VelodyneSettings> {
    let mut all = driver.defaults.clone();
    let mut keys = Keys::of_rig(table);
    let rates = &driver.rotation_rates;
    spinning::rotation_rate(&mut keys, profile, rates, &mut all.rotation_rate_rpm);
    spinning::return_mode(&mut keys, profile, &driver.return_modes, &mut all.return_mode);
    all.rotation(&mut keys);
    keys.table.was_called("field_of_view_deg", "sector_deg");
    all.sector(&mut keys);
    all.packet(&mut keys);
    motor::read(&mut keys, true, &mut all.motor);
    clock_settings::read(&mut keys, &mut all.clock);
    spinning::optics(&mut keys, &reach(), &mut all.beam, &mut all.noise);
    keys.finish()?;
    Some(all)
}

fn reach() -> Limit<f64> {
    Limit::new(0.0..=262.14, "m", "the wire format: 16 bits of 4 mm at most")
}

/// Reads the duration of a firing sequence and the lasers.
fn lasers(mut table: TableReader<'_>) -> Option<(u64, Vec<VelodyneLaser>)> {
    let period = Limit::new(1.0..=1000.0, "us", PROFILES);
    let says = "Time from the start of a firing sequence to the next.";
    let sequence_us = table.required("sequence_us").meaning(says).number(&period);
    let columns = [
        Column::whole("id", 127, PROFILES),
        Column::number("elevation_deg", -90.0..=90.0, "degrees", PROFILES),
        Column::number("azimuth_offset_deg", -180.0..=180.0, "degrees", PROFILES),
        Column::number("vertical_offset_mm", -500.0..=500.0, "mm", PROFILES),
        Column::number("firing_offset_us", 0.0..=1000.0, "us", PROFILES),
    ];
    let field = spinning::laser_rows(&mut table);
    let rows = spinning::lasers(&field, &LASERS, "16, 32 or 128", &columns, |_| None);
    table.finish();
    let lasers = rows?.into_iter().map(laser).collect();
    let sequence_ns = (sequence_us? * 1000.0).round() as u64;
    Some((sequence_ns, lasers))
}

fn laser(row: [f64; 5]) -> VelodyneLaser {
    let [_, elevation_deg, azimuth_offset_deg, vertical_offset_mm, firing_offset_us] = row;
    VelodyneLaser {
        elevation_rad: elevation_deg.to_radians(),
        azimuth_offset_rad: azimuth_offset_deg.to_radians(),
        vertical_offset_m: vertical_offset_mm / 1000.0,
        firing_offset_ns: (firing_offset_us * 1000.0).round() as u32,
    }
}
