//! Reads the profile of a Livox with SDK 1, and its settings in a rig.

use super::super::profile_read::{PATTERN, POINTS, PORTS, clock, place};
use super::profile::{FirstProfile, FirstSettings, InterfaceProfile, ReturnMode};
use crate::config::profile::lidar;
use crate::config::profile::network::profile_network;
use crate::config::profile::read::IDENTITY;
use crate::config::toml::key_types::TrueOrFalse;
use crate::config::toml::keys::{Keys, section_of};
use crate::config::toml::reader::{Limit, TableReader};
use crate::spinning::clock_settings::{self, profile_ptp};
use crate::spinning::profile_read as spinning;

/// Reads a profile except its name and sources.
pub(crate) fn profile(root: TableReader<'_>) -> Option<FirstProfile> {
    let mut root = Keys::of_profile(root);
    let mut all = FirstSettings::default();
    let network = profile_network(&mut root.table);
    let ports = root.section("ports", PORTS);
    let identity = root.section_with("identity", IDENTITY, |keys| all.identity(keys));
    let field = root.table.optional("imu").meaning(spinning::IMU);
    let imu = section_of(&field, "[imu]", |keys| {
        place(keys, "place_mm", &mut all.imu_place_mm);
    });
    let interface = root.section_with("interface", spinning::INTERFACE, |keys| all.factory(keys));
    let pattern = root.section_with("pattern", PATTERN, |keys| all.pattern(keys));
    let points = root.section_with("points", POINTS, |keys| all.points(keys));
    clock_settings::read(&mut root, &mut all.clock.own);
    profile_ptp(&mut root, &mut all.clock.ptp_ahead_s);
    let optics = lidar::profile_optics(&mut root.table, &reach());
    root.finish()?;
    let interface: InterfaceProfile = interface?;
    (all.return_mode, all.imu_enable) = (interface.return_mode, interface.imu_enable);
    (all.beam, all.noise) = optics?;
    Some(FirstProfile {
        network: network?,
        ports: ports?,
        identity: identity?,
        interface,
        pattern: pattern?,
        points: points?,
        imu,
        defaults: all,
    })
}

/// Reads a rig's `settings`; the profile has the defaults.
pub(crate) fn settings(table: TableReader<'_>, driver: &FirstProfile) -> Option<FirstSettings> {
    let mut all = driver.defaults.clone();
    let mut keys = Keys::of_rig(table);
    all.identity(&mut keys);
    let modes = return_modes(driver);
    let origin = "the profile, [interface]";
    spinning::return_mode_among(&mut keys, &modes, origin, &mut all.return_mode);
    if driver.imu.is_some() {
        let says = "Send IMU samples until a host changes this setting.";
        keys.of_type("imu_enable", says, &TrueOrFalse, &mut all.imu_enable);
        place(&mut keys, "imu_place_mm", &mut all.imu_place_mm);
    }
    all.factory(&mut keys);
    all.start(&mut keys);
    all.pattern(&mut keys);
    all.points(&mut keys);
    clock(&mut keys, &mut all.clock);
    spinning::optics(&mut keys, &reach(), &mut all.beam, &mut all.noise);
    keys.finish()?;
    Some(all)
}

/// Return modes of a firmware with their words: the modes that a host can select or, if it can select none, the default
/// mode.
fn return_modes(driver: &FirstProfile) -> Vec<(&'static str, ReturnMode)> {
    let (modes, only) = (&driver.interface.return_modes, driver.defaults.return_mode);
    let has = |mode: &ReturnMode| modes.contains(mode) || (modes.is_empty() && *mode == only);
    ReturnMode::WORDS.into_iter().filter(|(_, mode)| has(mode)).collect()
}

fn reach() -> Limit<f64> {
    Limit::new(0.0..=1000.0, "m", "Menura: no unit has a longer range")
}
