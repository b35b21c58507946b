//! Reads the profile of a Velodyne with fixed optics, and what a rig sets on one.

use crate::config::profile::Profile;
use crate::config::profile::network::network;
use crate::config::profile::read::PROFILES;
use crate::config::profile::{lag, lidar};
use crate::config::toml::keys::Keys;
use crate::config::toml::reader::{Limit, TableReader};
use crate::spinning::clock_settings;
use crate::spinning::motor_settings::{self as motor, RotationRates};
use crate::spinning::profile_read::{self as spinning, Column};
use crate::velodyne::position_settings;
use crate::velodyne::profile::{VelodyneLaser, VelodynePacket, VelodyneProfile, VelodyneSettings};
use crate::velodyne::web_settings as web;

const ONE_BYTE: &str = "the wire format: one byte";
/// Possible numbers of lasers: whole blocks of 32 points contain one or more sequences, or the reverse.
const LASERS: [usize; 3] = [16, 32, 128];

/// Reads all keys of a profile except its name and sources.
pub(crate) fn profile(mut root: TableReader<'_>) -> Option<VelodyneProfile> {
    let mut packet = VelodynePacket::default();
    let mut rates = RotationRates::default();
    let mut all = VelodyneSettings { sector_deg: [0, 359], ..VelodyneSettings::default() };
    let network = root.required("network").table("[network]").and_then(network);
    let rotation = root.required("rotation").table("[rotation]").and_then(|table| {
        let (rate_rpm, start_rad) = (&mut all.rotation_rate_rpm, &mut all.start_azimuth_rad);
        spinning::rotation(Keys::of_profile(table), true, &mut rates, rate_rpm, start_rad)
    });
    let motor = root.required("motor").table("[motor]").and_then(motor::profile);
    let web = root.required("web").table("[web]").and_then(web::profile);
    let thermal = root.required("thermal").table("[thermal]").and_then(web::thermal);
    let modes = root.required("returns").table("[returns]");
    let modes = modes.and_then(|table| spinning::return_modes(table, true, PROFILES));
    let table = root.required("packet").table("[packet]");
    let has_packet =
        table.and_then(|table| read_packet(Keys::of_profile(table), &mut packet, &mut all));
    let position =
        root.required("position").table("[position]").and_then(position_settings::profile);
    let clock = root.required("clock").table("[clock]").and_then(clock_settings::profile);
    let optics = lidar::profile_optics(&mut root, &reach());
    let lasers = root.required("lasers").table("[lasers]").and_then(lasers);
    root.finish();
    rotation.and(has_packet)?;
    let (sequence_ns, lasers) = lasers?;
    let return_modes = modes?;
    all.return_mode = *return_modes.first()?;
    (all.motor, all.clock) = (motor?, clock?);
    (all.beam, all.noise) = optics?;
    Some(VelodyneProfile {
        network: network?,
        rotation_rates: rates,
        return_modes,
        position: position?,
        packet,
        sequence_ns,
        lasers,
        web: web?,
        thermal: thermal?,
        defaults: all,
    })
}

/// Reads a rig's `settings`; missing keys have the profile's values.
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
    spinning::start_azimuth(&mut keys, &mut all.start_azimuth_rad);
    let degrees = Limit::new(0.0..=359.0, "degrees", "the unit's configuration page");
    keys.table.was_called("field_of_view_deg", "sector_deg");
    let whole = all.sector_deg.to_vec();
    keys.with_default("sector_deg", whole, &mut all.sector_deg, |field| {
        field.numbers::<2>(&degrees).map(|view| view.map(|degree| degree as u16))
    });
    keys.number("azimuth_jitter_centideg", &jitter(), &mut all.azimuth_jitter_centideg);
    lag::read(&mut keys, &mut all.lag_ns);
    motor::settings(&mut keys, &mut all.motor);
    clock_settings::settings(&mut keys, &mut all.clock);
    spinning::optics(&mut keys, &reach(), &mut all.beam, &mut all.noise);
    keys.finish()?;
    Some(all)
}

fn jitter() -> Limit<f64> {
    Limit::new(0.0..=10.0, "hundredths of a degree", PROFILES)
}

fn reach() -> Limit<f64> {
    Limit::new(0.0..=262.14, "m", "the wire format: 16 bits of 4 mm at most")
}

fn read_packet(
    mut keys: Keys<'_>,
    packet: &mut VelodynePacket,
    defaults: &mut VelodyneSettings,
) -> Option<()> {
    let byte = Limit::new(0..=255, "", ONE_BYTE);
    keys.integer("product_id", &byte, &mut packet.product_id);
    let unit = Limit::new(1.0..=10.0, "mm", PROFILES);
    keys.read("distance_unit_mm", &mut packet.distance_unit_m, |field| {
        field.number(&unit).map(|mm| mm / 1000.0)
    });
    keys.integer("diffuse_full_scale", &byte, &mut packet.diffuse_full_scale);
    let gain = Limit::new(1.1..=1e6, "times a white target", PROFILES);
    keys.number("retro_full_gain", &gain, &mut packet.retro_full_gain);
    keys.read("dark_intensity", &mut packet.dark_intensity, spinning::dark_intensity);
    let offset = Limit::new(0.0..=100.0, "us", PROFILES);
    keys.time_ns("timestamp_offset_us", &offset, 1e3, &mut packet.timestamp_offset_ns);
    keys.number("azimuth_jitter_centideg", &jitter(), &mut defaults.azimuth_jitter_centideg);
    let flag = Limit::new(0..=0xffff, "", "the wire format: two bytes");
    keys.integer("filler_flag", &flag, &mut packet.filler_flag);
    lag::read(&mut keys, &mut defaults.lag_ns);
    keys.finish()
}

/// Duration of a sequence, and its lasers.
fn lasers(mut table: TableReader<'_>) -> Option<(u64, Vec<VelodyneLaser>)> {
    let period = Limit::new(1.0..=1000.0, "us", PROFILES);
    let sequence_us = table.required("sequence_us").number(&period);
    let columns = [
        Column::whole("id", 127, PROFILES),
        Column::number("elevation_deg", -90.0..=90.0, "degrees", PROFILES),
        Column::number("azimuth_offset_deg", -180.0..=180.0, "degrees", PROFILES),
        Column::number("vertical_offset_mm", -500.0..=500.0, "mm", PROFILES),
        Column::number("firing_offset_us", 0.0..=1000.0, "us", PROFILES),
    ];
    let field = table.required("rows");
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
