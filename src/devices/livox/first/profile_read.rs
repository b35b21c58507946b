//! Reads the profile of a Livox of the protocol "SDK 1", and what a rig sets on one.

use super::super::profile_read::{clock, four_bytes, imu, place, ptp};
use super::profile::{
    FirstProfile, FirstSettings, Form, Identity, InterfaceProfile, PointProfile, Ports, ReturnMode,
};
use crate::config::profile::network::network;
use crate::config::profile::read::PROFILES;
use crate::config::profile::{lag, lidar};
use crate::config::toml::keys::Keys;
use crate::config::toml::reader::{Limit, TableReader};
use crate::spinning::clock_settings;
use crate::spinning::profile_read as spinning;
use crate::spinning::returns;
use crate::wire::livox::first::command::key;
use crate::wire::livox::first::data::Coordinates;

const FORMAT: &str = "the wire format";
/// Who allows what commands set.
const COMMANDS: &str = "the unit's commands";
/// Characters of a serial number.
const SERIAL_LEN: usize = 14;

/// Reads all of a profile but its name and sources.
pub(crate) fn profile(mut root: TableReader<'_>) -> Option<FirstProfile> {
    let mut all = FirstSettings::default();
    let network = root.required("network").table("[network]").and_then(network);
    let ports = root.required("ports").table("[ports]").and_then(ports);
    let table = root.required("identity").table("[identity]");
    let identity = table.and_then(|table| identity(Keys::of_profile(table), &mut all));
    let field = root.optional("imu");
    let has_imu = field.is_written();
    let imu = if has_imu {
        let table = field.table("[imu]");
        table.and_then(|table| imu(Keys::of_profile(table), &mut all.imu_place_mm)).map(Some)
    } else {
        Some(None)
    };
    let table = root.required("interface").table("[interface]");
    let interface = table.and_then(|table| interface(Keys::of_profile(table), &mut all));
    let table = root.required("pattern").table("[pattern]");
    let rate = table.and_then(|table| pattern(Keys::of_profile(table), &mut all));
    let table = root.required("points").table("[points]");
    let points = table.and_then(|table| points(Keys::of_profile(table), &mut all));
    let clock = root.required("clock").table("[clock]").and_then(clock_settings::profile);
    let table = root.required("ptp").table("[ptp]");
    let ptp = table.and_then(|table| ptp(Keys::of_profile(table), &mut all.clock));
    let optics = lidar::profile_optics(&mut root, &reach());
    root.finish();
    ptp?;
    all.clock.own = clock?;
    (all.beam, all.noise) = optics?;
    Some(FirstProfile {
        network: network?,
        ports: ports?,
        identity: identity?,
        interface: interface?,
        pulse_rate_hz: rate?.0,
        form: rate?.1,
        points: points?,
        imu: imu?,
        defaults: all,
    })
}

/// Reads a rig's `settings`; what it leaves out is the profile's.
pub(crate) fn settings(table: TableReader<'_>, driver: &FirstProfile) -> Option<FirstSettings> {
    let mut all = driver.defaults.clone();
    let mut keys = Keys::of_rig(table);
    code(&mut keys, &mut all);
    keys.choice("coordinates", &Coordinates::WORDS, COMMANDS, &mut all.coordinates);
    let modes = return_modes(driver);
    keys.choice("return_mode", &modes, "the profile, [interface]", &mut all.return_mode);
    if driver.imu.is_some() {
        keys.boolean("imu_enable", &mut all.imu_enable);
        place(&mut keys, "imu_place_mm", &mut all.imu_place_mm);
    }
    keys.boolean("streams_alone", &mut all.streams_alone);
    keys.boolean("starts_cold", &mut all.starts_cold);
    broadcast_period(&mut keys, &mut all);
    prisms(&mut keys, &mut all);
    let start = Limit::new(0.0..=1e6, "s", PROFILES);
    keys.number("pattern_start_s", &start, &mut all.pattern_start_s);
    tags(&mut keys, &mut all);
    lag::read(&mut keys, &mut all.lag_ns);
    clock(&mut keys, &mut all.clock);
    spinning::optics(&mut keys, &reach(), &mut all.beam, &mut all.noise);
    keys.finish()?;
    Some(all)
}

/// The return modes of a firmware with their words: those that a host can choose, else that which it has.
fn return_modes(driver: &FirstProfile) -> Vec<(&'static str, ReturnMode)> {
    let (modes, only) = (&driver.interface.return_modes, driver.defaults.return_mode);
    let has = |mode: &ReturnMode| modes.contains(mode) || (modes.is_empty() && *mode == only);
    ReturnMode::WORDS.into_iter().filter(|(_, mode)| has(mode)).collect()
}

fn reach() -> Limit<f64> {
    Limit::new(0.0..=1000.0, "m", "Menura: no unit reaches farther")
}

/// The broadcast code: a serial number and a slot.
fn code(keys: &mut Keys<'_>, all: &mut FirstSettings) {
    let default = all.serial.clone();
    keys.with_default("serial", default, &mut all.serial, |field| {
        field.ascii(SERIAL_LEN, "a serial number such as \"3WEDH760010123\"")
    });
    keys.integer("slot", &Limit::new(1..=9, "", "Livox Hub: nine slots"), &mut all.slot);
}

fn broadcast_period(keys: &mut Keys<'_>, all: &mut FirstSettings) {
    let period = Limit::new(0.005..=60.0, "s", PROFILES);
    keys.time_ns("broadcast_period_s", &period, 1e9, &mut all.broadcast_period_ns);
}

fn prisms(keys: &mut Keys<'_>, all: &mut FirstSettings) {
    let rpm = Limit::new(-60_000.0..=60_000.0, "rpm", PROFILES);
    let default = all.prism_rpm.to_vec();
    keys.with_default("prism_rpm", default, &mut all.prism_rpm, |field| field.numbers::<2>(&rpm));
}

fn tags(keys: &mut Keys<'_>, all: &mut FirstSettings) {
    keys.boolean("with_tags", &mut all.with_tags);
    keys.boolean("judged_tags", &mut all.judged_tags);
}

fn ports(table: TableReader<'_>) -> Option<Ports> {
    let mut keys = Keys::of_profile(table);
    let mut all = Ports::default();
    let port = Limit::new(1..=65_535, "", "UDP");
    keys.integer("imu_destination_port", &port, &mut all.imu);
    keys.integer("state_destination_port", &port, &mut all.status);
    keys.finish()?;
    Some(all)
}

fn identity(mut keys: Keys<'_>, defaults: &mut FirstSettings) -> Option<Identity> {
    let mut all = Identity::default();
    code(&mut keys, defaults);
    let byte = Limit::new(0..=255, "", FORMAT);
    keys.integer("device_type", &byte, &mut all.device_type);
    keys.read("product", &mut all.product, |field| field.ascii(64, "a name"));
    keys.read("version", &mut all.version, four_bytes);
    keys.finish()?;
    Some(all)
}

fn interface(mut keys: Keys<'_>, defaults: &mut FirstSettings) -> Option<InterfaceProfile> {
    let mut all = InterfaceProfile::default();
    let ms = Limit::new(0.1..=1000.0, "ms", PROFILES);
    keys.time_ns("reply_ms", &ms, 1e6, &mut all.reply_ns);
    let seconds = Limit::new(0.0..=600.0, "s", PROFILES);
    keys.time_ns("boot_s", &seconds, 1e9, &mut all.boot_ns);
    keys.time_ns("motor_start_s", &seconds, 1e9, &mut all.motor_start_ns);
    let period = Limit::new(0.1..=600.0, "s", PROFILES);
    keys.time_ns("heartbeat_timeout_s", &period, 1e9, &mut all.heartbeat_timeout_ns);
    keys.time_ns("abnormal_period_s", &period, 1e9, &mut all.abnormal_period_ns);
    let of_protocol = Limit::new(key::SENSITIVITY.into()..=key::SLOT.into(), "", FORMAT);
    keys.read("keys", &mut all.keys, |field| {
        let (items, _) = field.array("numbers of parameters")?;
        items.iter().map(|item| item.integer(&of_protocol)).collect()
    });
    keys.read("return_modes", &mut all.return_modes, |field| {
        field.choices(&ReturnMode::WORDS, COMMANDS)
    });
    keys.boolean("has_rain_fog", &mut all.has_rain_fog);
    keys.boolean("has_fan", &mut all.has_fan);
    keys.choice("coordinates", &Coordinates::WORDS, COMMANDS, &mut defaults.coordinates);
    keys.choice("return_mode", &ReturnMode::WORDS, COMMANDS, &mut defaults.return_mode);
    keys.boolean("imu_enable", &mut defaults.imu_enable);
    keys.boolean("streams_alone", &mut defaults.streams_alone);
    broadcast_period(&mut keys, defaults);
    keys.finish()?;
    Some(all)
}

fn pattern(mut keys: Keys<'_>, defaults: &mut FirstSettings) -> Option<(u32, Form)> {
    let (mut rate_hz, mut form) = (0, Form::default());
    keys.choice("form", &Form::WORDS, "Menura's patterns", &mut form);
    keys.integer("pulse_rate_hz", &Limit::new(1000..=2_000_000, "Hz", PROFILES), &mut rate_hz);
    prisms(&mut keys, defaults);
    keys.finish()?;
    Some((rate_hz, form))
}

fn points(mut keys: Keys<'_>, defaults: &mut FirstSettings) -> Option<PointProfile> {
    let mut all = PointProfile::default();
    let byte = Limit::new(0..=255, "", FORMAT);
    let (full_scale, gain) = (&mut all.diffuse_full_scale, &mut all.retro_full_gain);
    returns::intensities(&mut keys, &byte, full_scale, gain);
    let factor = Limit::new(0.01..=1.0, "", PROFILES);
    keys.number("sensitive_threshold", &factor, &mut all.sensitive_threshold);
    let factor = Limit::new(1.0..=100.0, "", PROFILES);
    keys.number("rain_fog_threshold", &factor, &mut all.rain_fog_threshold);
    tags(&mut keys, defaults);
    lag::read(&mut keys, &mut defaults.lag_ns);
    keys.finish()?;
    Some(all)
}
