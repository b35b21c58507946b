//! Reads the profile of a Livox with SDK 2, and its settings in a rig.

use super::profile::{LivoxClockSettings, LivoxProfile, LivoxSettings, PtpState};
use crate::config::profile::lidar;
use crate::config::profile::network::profile_network;
use crate::config::profile::read::{IDENTITY, PROFILES};
use crate::config::toml::keys::Keys;
use crate::config::toml::reader::{Limit, TableReader};
use crate::spinning::clock_settings::{self, profile_ptp, ptp, ptp_ahead};
use crate::spinning::profile_read as spinning;

/// Description of a profile's table `ports`.
pub(super) const PORTS: &str = "Further UDP ports.";
/// Description of a profile's table `pattern`.
pub(super) const PATTERN: &str = "The non-repetitive pattern.";
/// Description of a profile's table `points`.
pub(super) const POINTS: &str = "Contents of points.";

/// Reads a profile except its name and sources.
pub(crate) fn profile(root: TableReader<'_>) -> Option<LivoxProfile> {
    let mut root = Keys::of_profile(root);
    let mut all = LivoxSettings::default();
    let network = profile_network(&mut root.table);
    let ports = root.section("ports", PORTS);
    let identity = root.section_with("identity", IDENTITY, |keys| all.identity(keys));
    let interface = root.section_with("interface", spinning::INTERFACE, |keys| all.stored(keys));
    let pattern = root.section_with("pattern", PATTERN, |keys| all.pattern(keys));
    let points = root.section_with("points", POINTS, |keys| all.points(keys));
    let imu = root.section_with("imu", spinning::IMU, |keys| {
        place(keys, "place_mm", &mut all.imu_place_mm);
    });
    clock_settings::read(&mut root, &mut all.clock.own);
    profile_ptp(&mut root, &mut all.clock.ptp_ahead_s);
    let optics = lidar::profile_optics(&mut root.table, &reach());
    root.finish()?;
    (all.beam, all.noise) = optics?;
    Some(LivoxProfile {
        network: network?,
        ports: ports?,
        identity: identity?,
        interface: interface?,
        pattern: pattern?,
        points: points?,
        imu: imu?,
        defaults: all,
    })
}

/// Reads a rig's `settings`; the profile has the defaults.
pub(crate) fn settings(table: TableReader<'_>, driver: &LivoxProfile) -> Option<LivoxSettings> {
    let mut all = driver.defaults.clone();
    let mut keys = Keys::of_rig(table);
    all.identity(&mut keys);
    all.stored(&mut keys);
    place(&mut keys, "imu_place_mm", &mut all.imu_place_mm);
    all.start(&mut keys);
    all.pattern(&mut keys);
    all.points(&mut keys);
    clock(&mut keys, &mut all.clock);
    spinning::optics(&mut keys, &reach(), &mut all.beam, &mut all.noise);
    keys.finish()?;
    Some(all)
}

fn reach() -> Limit<f64> {
    Limit::new(0.0..=327.67, "m", "the wire format: 16 bits of 10 mm")
}

/// Reads the position of the IMU, whose key differs between profiles and rigs.
pub(super) fn place(keys: &mut Keys<'_>, key: &'static str, place_mm: &mut [f64; 3]) {
    let mm = Limit::new(-1000.0..=1000.0, "mm", PROFILES);
    keys.of_type(
        key,
        "Position of the IMU in the frame of the points: forward, left, up.",
        &mm,
        place_mm,
    );
}

/// Reads a rig's settings of the clock.
pub(super) fn clock(keys: &mut Keys<'_>, clock: &mut LivoxClockSettings) {
    clock_settings::read(keys, &mut clock.own);
    ptp(keys, &PtpState::WORDS, &mut clock.ptp);
    ptp_ahead(keys, &mut clock.ptp_ahead_s);
}
