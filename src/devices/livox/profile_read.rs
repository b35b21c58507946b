//! Reads the profile of a Livox, and what a rig sets on one.

use super::profile::{
    EchoChoice, Form, Identity, ImuProfile, InterfaceProfile, LivoxClockSettings, LivoxProfile,
    LivoxSettings, PointProfile, Ports, PtpState, TagRule, TargetState,
};
use crate::config::profile::network::network;
use crate::config::profile::read::PROFILES;
use crate::config::profile::{lag, lidar};
use crate::config::toml::keys::Keys;
use crate::config::toml::reader::{Field, Limit, TableReader};
use crate::spinning::clock_settings;
use crate::spinning::profile_read as spinning;
use crate::spinning::returns;
use crate::wire::livox::data::DataType;
use crate::wire::livox::key::length_of;

const FORMAT: &str = "the wire format";
/// Who allows what keys set.
const KEYS: &str = "the unit's keys";

/// Reads all of a profile but its name and sources.
pub(crate) fn profile(mut root: TableReader<'_>) -> Option<LivoxProfile> {
    let mut all = LivoxSettings::default();
    let network = root.required("network").table("[network]").and_then(network);
    let ports = root.required("ports").table("[ports]").and_then(ports);
    let table = root.required("identity").table("[identity]");
    let identity = table.and_then(|table| identity(Keys::of_profile(table), &mut all.serial));
    let table = root.required("interface").table("[interface]");
    let interface = table.and_then(|table| interface(Keys::of_profile(table), &mut all));
    let table = root.required("pattern").table("[pattern]");
    let rate = table.and_then(|table| pattern(Keys::of_profile(table), &mut all));
    let table = root.required("points").table("[points]");
    let points = table.and_then(|table| points(Keys::of_profile(table), &mut all));
    let table = root.required("imu").table("[imu]");
    let imu = table.and_then(|table| imu(Keys::of_profile(table), &mut all.imu_place_mm));
    let clock = root.required("clock").table("[clock]").and_then(clock_settings::profile);
    let table = root.required("ptp").table("[ptp]");
    let ptp = table.and_then(|table| ptp(Keys::of_profile(table), &mut all.clock));
    let optics = lidar::profile_optics(&mut root, &reach());
    root.finish();
    ptp?;
    all.clock.own = clock?;
    (all.beam, all.noise) = optics?;
    Some(LivoxProfile {
        network: network?,
        ports: ports?,
        identity: identity?,
        interface: interface?,
        point_rate_hz: rate?.0,
        form: rate?.1,
        points: points?,
        imu: imu?,
        defaults: all,
    })
}

/// Reads a rig's `settings`; what it leaves out is the profile's.
pub(crate) fn settings(table: TableReader<'_>, driver: &LivoxProfile) -> Option<LivoxSettings> {
    let mut all = driver.defaults.clone();
    let mut keys = Keys::of_rig(table);
    serial(&mut keys, &mut all.serial);
    stored(&mut keys, &mut all);
    place(&mut keys, "imu_place_mm", &mut all.imu_place_mm);
    keys.boolean("starts_cold", &mut all.starts_cold);
    frequencies(&mut keys, &mut all);
    let start = Limit::new(0.0..=1e6, "s", PROFILES);
    keys.number("pattern_start_s", &start, &mut all.pattern_start_s);
    choices(&mut keys, &mut all);
    lag::read(&mut keys, &mut all.lag_ns);
    clock(&mut keys, &mut all.clock);
    spinning::optics(&mut keys, &reach(), &mut all.beam, &mut all.noise);
    keys.finish()?;
    Some(all)
}

fn reach() -> Limit<f64> {
    Limit::new(0.0..=327.67, "m", "the wire format: 16 bits of 10 mm")
}

fn serial(keys: &mut Keys<'_>, serial: &mut String) {
    let default = serial.clone();
    keys.with_default("serial", default, serial, |field| {
        field.ascii(15, "a serial number such as \"47MDL8C0010101\"")
    });
}

/// What a unit stores, and how often it reports.
fn stored(keys: &mut Keys<'_>, all: &mut LivoxSettings) {
    keys.choice("target_state", &TargetState::WORDS, KEYS, &mut all.target_state);
    keys.choice("data_type", &DataType::WORDS, KEYS, &mut all.data_type);
    keys.boolean("imu_enable", &mut all.imu_enable);
    keys.boolean("stored_destination", &mut all.stored_destination);
    let period = Limit::new(0.005..=60.0, "s", PROFILES);
    keys.time_ns("push_period_s", &period, 1e9, &mut all.push_period_ns);
}

fn frequencies(keys: &mut Keys<'_>, all: &mut LivoxSettings) {
    keys.number("spin_hz", &Limit::new(1.0..=1000.0, "Hz", PROFILES), &mut all.spin_hz);
    keys.number("swing_hz", &Limit::new(0.1..=100.0, "Hz", PROFILES), &mut all.swing_hz);
}

fn choices(keys: &mut Keys<'_>, all: &mut LivoxSettings) {
    keys.choice("echo", &EchoChoice::WORDS, "Menura's receiver models", &mut all.echo);
    keys.choice("tags", &TagRule::WORDS, "Menura's receiver models", &mut all.tags);
}

fn ports(table: TableReader<'_>) -> Option<Ports> {
    let mut keys = Keys::of_profile(table);
    let mut all = Ports::default();
    let port = Limit::new(1..=65_535, "", "UDP");
    let pairs = [
        (["imu_source_port", "imu_destination_port"], &mut all.imu),
        (["state_source_port", "state_destination_port"], &mut all.state),
    ];
    for (names, ports) in pairs {
        for (name, own) in names.into_iter().zip(ports) {
            keys.integer(name, &port, own);
        }
    }
    keys.integer("command_port", &port, &mut all.command);
    keys.finish()?;
    Some(all)
}

fn identity(mut keys: Keys<'_>, default_serial: &mut String) -> Option<Identity> {
    let mut all = Identity::default();
    serial(&mut keys, default_serial);
    keys.integer("device_type", &Limit::new(0..=255, "", FORMAT), &mut all.device_type);
    keys.read("product", &mut all.product, |field| field.ascii(64, "a name and a date"));
    let names = ["version", "loader_version", "hardware_version"];
    for (name, version) in names.into_iter().zip(&mut all.versions) {
        keys.read(name, version, four_bytes);
    }
    let count = Limit::new(0..=i128::from(u32::MAX / 2), "", FORMAT);
    keys.integer("starts", &count, &mut all.starts);
    keys.number("temperature_c", &spinning::celsius(), &mut all.temperature_c);
    keys.finish()?;
    Some(all)
}

pub(super) fn four_bytes(field: &Field<'_>) -> Option<[u8; 4]> {
    let byte = Limit::new(0.0..=255.0, "", FORMAT);
    field.numbers::<4>(&byte).map(|parts| parts.map(|part| part as u8))
}

fn interface(mut keys: Keys<'_>, defaults: &mut LivoxSettings) -> Option<InterfaceProfile> {
    let mut all = InterfaceProfile::default();
    let ms = Limit::new(0.1..=1000.0, "ms", PROFILES);
    keys.time_ns("reply_ms", &ms, 1e6, &mut all.reply_ns);
    let seconds = Limit::new(0.0..=600.0, "s", PROFILES);
    keys.time_ns("boot_s", &seconds, 1e9, &mut all.boot_ns);
    keys.time_ns("self_check_s", &seconds, 1e9, &mut all.self_check_ns);
    keys.time_ns("motor_start_s", &seconds, 1e9, &mut all.motor_start_ns);
    keys.time_ns("motor_stop_s", &seconds, 1e9, &mut all.motor_stop_ns);
    keys.read("keys", &mut all.keys, numbers_of_keys);
    keys.read("push_keys", &mut all.push_keys, numbers_of_keys);
    let byte = Limit::new(0..=255, "", FORMAT);
    keys.read("patterns", &mut all.patterns, |field| {
        let (items, _) = field.array("patterns")?;
        items.iter().map(|item| item.integer(&byte)).collect()
    });
    keys.integer("pattern_refusal", &byte, &mut all.pattern_refusal);
    stored(&mut keys, defaults);
    keys.finish()?;
    Some(all)
}

fn numbers_of_keys(field: &Field<'_>) -> Option<Vec<u16>> {
    let key = Limit::new(0..=0xffff, "", FORMAT);
    let (items, place) = field.array("numbers of keys")?;
    let keys: Option<Vec<u16>> = items.iter().map(|item| item.integer(&key)).collect();
    let keys = keys?;
    if let Some(unknown) = keys.iter().find(|key| length_of(**key).is_none()) {
        let title = format!("the protocol has no key {unknown:#06x}");
        field.fault(place.fault(title, "allowed: keys of SDK 2"));
        return None;
    }
    Some(keys)
}

fn pattern(mut keys: Keys<'_>, defaults: &mut LivoxSettings) -> Option<(u32, Form)> {
    let (mut rate_hz, mut form) = (0, Form::default());
    keys.choice("form", &Form::WORDS, "Menura's patterns", &mut form);
    keys.integer("point_rate_hz", &Limit::new(1000..=2_000_000, "Hz", PROFILES), &mut rate_hz);
    frequencies(&mut keys, defaults);
    keys.finish()?;
    Some((rate_hz, form))
}

fn points(mut keys: Keys<'_>, defaults: &mut LivoxSettings) -> Option<PointProfile> {
    let mut all = PointProfile::default();
    let byte = Limit::new(0..=255, "", FORMAT);
    let (full_scale, gain) = (&mut all.diffuse_full_scale, &mut all.retro_full_gain);
    returns::intensities(&mut keys, &byte, full_scale, gain);
    keys.integer("outside_reflectivity", &byte, &mut all.outside_reflectivity);
    let factor = Limit::new(0.01..=1.0, "", PROFILES);
    keys.number("sensitive_threshold", &factor, &mut all.sensitive_threshold);
    choices(&mut keys, defaults);
    lag::read(&mut keys, &mut defaults.lag_ns);
    keys.finish()?;
    Some(all)
}

pub(super) fn place(keys: &mut Keys<'_>, key: &'static str, place_mm: &mut [f64; 3]) {
    let mm = Limit::new(-1000.0..=1000.0, "mm", PROFILES);
    let default = place_mm.to_vec();
    keys.with_default(key, default, place_mm, |field| field.numbers::<3>(&mm));
}

/// Reads `[ptp]` of a profile.
pub(super) fn ptp(mut keys: Keys<'_>, clock: &mut LivoxClockSettings) -> Option<()> {
    clock_settings::ptp_ahead(&mut keys, &mut clock.ptp_ahead_s);
    keys.finish()
}

/// Reads what a rig sets on the clock.
pub(super) fn clock(keys: &mut Keys<'_>, clock: &mut LivoxClockSettings) {
    clock_settings::settings(keys, &mut clock.own);
    keys.choice("ptp", &PtpState::WORDS, "Menura's clocks", &mut clock.ptp);
    clock_settings::ptp_ahead(keys, &mut clock.ptp_ahead_s);
}

pub(super) fn imu(mut keys: Keys<'_>, place_mm: &mut [f64; 3]) -> Option<ImuProfile> {
    let mut all = ImuProfile::default();
    keys.integer("rate_hz", &Limit::new(1..=1000, "Hz", PROFILES), &mut all.rate_hz);
    let latency = Limit::new(0.0..=100_000.0, "us", PROFILES);
    keys.time_ns("latency_us", &latency, 1e3, &mut all.latency_ns);
    keys.number("accel_std_g", &Limit::new(0.0..=1.0, "g", PROFILES), &mut all.accel_std_g);
    let rate = Limit::new(0.0..=100.0, "degrees/s", PROFILES);
    keys.number("gyro_std_deg_s", &rate, &mut all.gyro_std_deg_s);
    place(&mut keys, "place_mm", place_mm);
    keys.boolean("sends_when_ready", &mut all.sends_when_ready);
    keys.finish()?;
    Some(all)
}
