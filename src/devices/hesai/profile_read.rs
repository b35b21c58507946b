//! Reads the profile of a Hesai, and what a rig sets on one.

use super::profile::{
    ClockSource, DualOrder, HesaiProfile, HesaiSettings, Identity, InterfaceProfile, PacketProfile,
    PtpProfile, PtpState, PtpTransport, Stamped, UnitLaser,
};
use crate::config::profile::Profile;
use crate::config::profile::network::network;
use crate::config::profile::read::PROFILES;
use crate::config::profile::{lag, lidar};
use crate::config::toml::keys::Keys;
use crate::config::toml::reader::{Field, Limit, TableReader};
use crate::spinning::clock_settings;
use crate::spinning::motor_settings;
use crate::spinning::profile_read as spinning;
use crate::spinning::{returns, unit_lasers};
use crate::wire::hesai::data::ReturnMode;
use crate::wire::hesai::format::HesaiFormat;

const ONE_BYTE: &str = "the wire format: one byte";
/// Origin of the limits of values that commands set.
const COMMANDS: &str = "the unit's commands by TCP";
/// Tables of lasers that a model can have.
const LASERS: [usize; 4] = [16, 32, 40, 64];

/// Reads all keys of a profile except its name and sources.
pub(crate) fn profile(mut root: TableReader<'_>) -> Option<HesaiProfile> {
    let mut all = HesaiSettings { range_decideg: [0, 3600], ..HesaiSettings::default() };
    let network = root.required("network").table("[network]").and_then(network);
    let gps_udp_port = root.required("gps").table("[gps]").and_then(gps_port);
    let table = root.required("identity").table("[identity]");
    let identity = table.and_then(|table| identity(Keys::of_profile(table), &mut all.serial));
    let interface = root.required("interface").table("[interface]").and_then(interface);
    let table = root.required("packet").table("[packet]");
    let packet = table.and_then(|table| packet(Keys::of_profile(table), &mut all));
    let table = root.required("rotation").table("[rotation]");
    let rotation = table.and_then(|table| rotation(Keys::of_profile(table), &mut all));
    let table = root.required("returns").table("[returns]");
    let modes = table.and_then(|table| modes(Keys::of_profile(table), &mut all));
    let table = root.required("motor").table("[motor]");
    let motor =
        table.and_then(|table| motor_settings::plain(Keys::of_profile(table), &mut all.motor));
    let clock = root.required("clock").table("[clock]").and_then(clock_settings::profile);
    let table = root.required("ptp").table("[ptp]");
    let ptp = table.and_then(|table| {
        let mut keys = Keys::of_profile(table);
        clock_settings::ptp_ahead(&mut keys, &mut all.clock.ptp_ahead_s);
        keys.finish()
    });
    let spread = root.required("spread").table("[spread]").and_then(unit_lasers::spread);
    let optics = lidar::profile_optics(&mut root, &reach());
    let format = packet.as_ref().map(|packet| packet.format);
    let table = root.required("lasers").table("[lasers]");
    let lasers = table.and_then(|table| lasers(table, format));
    root.finish();
    motor.and(ptp)?;
    all.clock.own = clock?;
    (all.beam, all.noise) = optics?;
    let (rates_rpm, steps_at_600_rpm) = rotation?;
    Some(HesaiProfile {
        network: network?,
        gps_udp_port: gps_udp_port?,
        identity: identity?,
        interface: interface?,
        packet: packet?,
        rates_rpm,
        steps_at_600_rpm,
        return_modes: modes?,
        spread: spread?,
        lasers: lasers?,
        defaults: all,
    })
}

/// Reads a rig's `settings`; missing keys have the profile's values.
pub(crate) fn settings(
    table: TableReader<'_>,
    profile: &Profile,
    driver: &HesaiProfile,
) -> Option<HesaiSettings> {
    let mut all = driver.defaults.clone();
    let mut keys = Keys::of_rig(table);
    serial(&mut keys, &mut all.serial);
    spinning::listed_rate(&mut keys, profile, &driver.rates_rpm, &mut all.rotation_rate_rpm);
    let known = |(_, mode): &(&str, ReturnMode)| driver.return_modes.contains(mode);
    let modes: Vec<_> = ReturnMode::NAMES.into_iter().filter(known).collect();
    let origin = format!("{}, [returns]", profile.file);
    keys.choice("return_mode", &modes, &origin, &mut all.return_mode);
    keys.choice("dual_order", &DualOrder::WORDS, "captures of real units", &mut all.dual_order);
    keys.table.was_called("azimuth_range_deg", "sector_deg");
    spinning::sector(&mut keys, 10.0, COMMANDS, &mut all.range_decideg);
    keys.boolean("sync_enable", &mut all.sync_enable);
    let angle = Limit::new(0..=359, "degrees", COMMANDS);
    keys.integer("sync_angle_deg", &angle, &mut all.sync_angle_deg);
    keys.boolean("standby", &mut all.standby);
    keys.boolean("udp_sequence", &mut all.has_sequence);
    spinning::start_azimuth(&mut keys, &mut all.start_azimuth_rad);
    keys.number("azimuth_jitter_centideg", &jitter(), &mut all.azimuth_jitter_centideg);
    lag::read(&mut keys, &mut all.lag_ns);
    let field = keys.field("motor").such_as("{ starts_at_rest = true }");
    keys.table_in(&field, "a motor", &mut all.motor, motor_settings::plain);
    clock_settings::settings(&mut keys, &mut all.clock.own);
    keys.choice("clock_source", &ClockSource::WORDS, COMMANDS, &mut all.clock.source);
    keys.choice("ptp", &PtpState::WORDS, "Menura's clocks", &mut all.clock.ptp);
    clock_settings::ptp_ahead(&mut keys, &mut all.clock.ptp_ahead_s);
    keys.choice("ptp_profile", &PtpProfile::WORDS, COMMANDS, &mut all.clock.ptp_profile);
    keys.choice("ptp_transport", &PtpTransport::WORDS, COMMANDS, &mut all.clock.ptp_transport);
    all.clock.ptp_options.read(&mut keys);
    spinning::optics(&mut keys, &reach(), &mut all.beam, &mut all.noise);
    keys.finish()?;
    Some(all)
}

fn reach() -> Limit<f64> {
    Limit::new(0.0..=262.14, "m", "the wire format: 16 bits of 4 mm")
}

fn jitter() -> Limit<f64> {
    Limit::new(0.0..=10.0, "hundredths of a degree", PROFILES)
}

fn serial(keys: &mut Keys<'_>, serial: &mut String) {
    let default = serial.clone();
    keys.with_default("serial", default, serial, |field| {
        field.ascii(18, "a serial number such as \"XT2A1B2C3D4E5F\"")
    });
}

fn gps_port(mut table: TableReader<'_>) -> Option<u16> {
    let port = table.required("port").integer(&Limit::new(1..=65535, "", "UDP"));
    table.finish();
    port
}

fn identity(mut keys: Keys<'_>, default_serial: &mut String) -> Option<Identity> {
    let mut all = Identity::default();
    serial(&mut keys, default_serial);
    keys.integer("model", &Limit::new(0..=255, "", ONE_BYTE), &mut all.model);
    keys.read("manufactured", &mut all.manufactured, |field| field.ascii(16, "a date"));
    let words = ["software", "hardware", "control_firmware", "sensor_firmware"];
    for (key, version) in words.into_iter().zip(&mut all.versions) {
        keys.read(key, version, |field| field.ascii(16, "a version"));
    }
    let count = Limit::new(0..=i128::from(i32::MAX), "", "the wire format: four bytes");
    keys.integer("starts", &count, &mut all.starts);
    keys.integer("operation_min", &count, &mut all.operation_min);
    keys.finish()?;
    Some(all)
}

fn interface(table: TableReader<'_>) -> Option<InterfaceProfile> {
    let mut keys = Keys::of_profile(table);
    let mut all = InterfaceProfile::default();
    let ms = Limit::new(0.1..=1000.0, "ms", PROFILES);
    keys.time_ns("reply_ms", &ms, 1e6, &mut all.reply_ns);
    spinning::boot(&mut keys, &mut all.boot_ns);
    keys.read("temperatures_c", &mut all.temperatures_c, |field| {
        field.numbers::<8>(&spinning::celsius())
    });
    let [volts, running_w, standby_w] = &mut all.supply;
    keys.number("supply_v", &Limit::new(1.0..=60.0, "V", PROFILES), volts);
    let watts = Limit::new(0.0..=100.0, "W", PROFILES);
    keys.number("running_w", &watts, running_w);
    keys.number("standby_w", &watts, standby_w);
    keys.finish()?;
    Some(all)
}

fn packet(mut keys: Keys<'_>, defaults: &mut HesaiSettings) -> Option<PacketProfile> {
    let mut all = PacketProfile::default();
    keys.choice("format", &HesaiFormat::NAMES, PROFILES, &mut all.format);
    let byte = Limit::new(0..=255, "", ONE_BYTE);
    keys.integer("minor", &byte, &mut all.minor);
    keys.choice(
        "year_base",
        &[("1900", 1900), ("2000", 2000)],
        "drivers know no other",
        &mut all.year_base,
    );
    keys.integer("factory", &byte, &mut all.factory);
    let bytes = Limit::new(0.0..=255.0, "", ONE_BYTE);
    keys.read("told_returns", &mut all.told_returns, |field| {
        field.numbers::<2>(&bytes).map(|told| told.map(|count| count as u8))
    });
    keys.integer("confidence", &byte, &mut all.confidence);
    keys.read("status", &mut all.status, status_words);
    keys.read("live_words", &mut all.live_words, |field| {
        let place = Limit::new(0..=8, "", "the wire format: ten bytes");
        let (items, _) = field.array("places among the words of state")?;
        items.iter().map(|item| item.integer(&place)).collect()
    });
    let (full_scale, gain) = (&mut all.diffuse_full_scale, &mut all.retro_full_gain);
    returns::intensities(&mut keys, &byte, full_scale, gain);
    let (stamped, offset_ns) = &mut all.stamp;
    keys.choice("stamp_of", &Stamped::WORDS, PROFILES, stamped);
    let us = Limit::new(-1000.0..=1000.0, "us", PROFILES);
    keys.read("stamp_offset_us", offset_ns, |field| {
        field.number(&us).map(|us| (us * 1000.0).round() as i64)
    });
    let us = Limit::new(0.0..=1000.0, "us", PROFILES);
    keys.time_ns("azimuth_after_us", &us, 1e3, &mut all.azimuth_after_ns);
    keys.number("azimuth_jitter_centideg", &jitter(), &mut defaults.azimuth_jitter_centideg);
    keys.boolean("udp_sequence", &mut defaults.has_sequence);
    lag::read(&mut keys, &mut defaults.lag_ns);
    keys.finish()?;
    Some(all)
}

/// Ten bytes as hexadecimal digits.
fn status_words(field: &Field<'_>) -> Option<[u8; 10]> {
    let expected = "ten bytes as twenty hexadecimal digits";
    spinning::hexadecimal(field, expected, "these are not the words of state")
}

/// The speeds, and the firings of a turn at 600 rpm.
fn rotation(mut keys: Keys<'_>, defaults: &mut HesaiSettings) -> Option<(Vec<u32>, u32)> {
    let field = keys.field("rates_rpm");
    let mut rates: Vec<u32> = Vec::new();
    keys.put(spinning::listed_rates(&field), &mut rates);
    let steps_field = keys.field("steps_at_600_rpm");
    let mut steps: u32 = 0;
    keys.put(steps_field.integer(&Limit::new(1..=36_000, "", PROFILES)), &mut steps);
    spinning::start_azimuth(&mut keys, &mut defaults.start_azimuth_rad);
    // Any number of firings, of one return or two, whole packets of each model.
    let are_whole = |rate: &u32| (steps * 600).is_multiple_of(*rate);
    if keys.is_complete()
        && (rates.is_empty() || !rates.iter().all(are_whole))
        && let Some(place) = field.place()
    {
        let label = format!("allowed: one or more that divide {}", steps * 600);
        keys.table.fault(place.fault("a turn has a whole number of firings", label));
        rates.clear();
    }
    keys.finish()?;
    defaults.rotation_rate_rpm = *rates.first()?;
    Some((rates, steps))
}

fn modes(mut keys: Keys<'_>, defaults: &mut HesaiSettings) -> Option<Vec<ReturnMode>> {
    let mut modes = Vec::new();
    let field = keys.field("modes");
    let read = field.choices(&ReturnMode::NAMES, PROFILES);
    if read.as_ref().is_some_and(Vec::is_empty)
        && let Some(place) = field.place()
    {
        let label = "allowed: one or more, the factory's first";
        keys.table.fault(place.fault("a firmware has at least one return mode", label));
    }
    keys.put(read, &mut modes);
    keys.choice("dual_order", &DualOrder::WORDS, PROFILES, &mut defaults.dual_order);
    keys.finish()?;
    defaults.return_mode = *modes.first()?;
    Some(modes)
}

fn lasers(table: TableReader<'_>, format: Option<HesaiFormat>) -> Option<Vec<UnitLaser>> {
    let own = format.map(HesaiFormat::lasers);
    let counts = own.as_ref().map_or(&LASERS[..], std::slice::from_ref);
    let many = own.map_or("16, 32, 40 or 64".to_owned(), |own| own.to_string());
    unit_lasers::lasers(table, counts, &many)
}
