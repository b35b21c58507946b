//! Reads the profile of a Hesai, and its settings in a rig.

use super::profile::{COMMANDS, HesaiProfile, HesaiSettings, PacketProfile, PtpState, UnitLaser};
use crate::config::profile::Profile;
use crate::config::profile::lidar;
use crate::config::profile::network::{port, profile_network};
use crate::config::profile::read::{IDENTITY, PROFILES};
use crate::config::toml::key_types::KeyType;
use crate::config::toml::keys::Keys;
use crate::config::toml::reader::{Limit, TableReader};
use crate::spinning::clock_settings::{self, profile_ptp, ptp, ptp_ahead};
use crate::spinning::motor_settings;
use crate::spinning::profile_read as spinning;
use crate::spinning::unit_lasers;
use crate::wire::hesai::data::ReturnMode;
use crate::wire::hesai::format::HesaiFormat;

/// Possible numbers of lasers.
const LASERS: [usize; 4] = [16, 32, 40, 64];

/// Reads a profile except its name and sources.
pub(crate) fn profile(root: TableReader<'_>) -> Option<HesaiProfile> {
    let mut root = Keys::of_profile(root);
    let mut all = HesaiSettings { range_decideg: [0, 3600], ..HesaiSettings::default() };
    let (mut gps_udp_port, mut rates_rpm, mut steps_at_600_rpm) = (0, Vec::new(), 0);
    let mut return_modes = Vec::new();
    let network = profile_network(&mut root.table);
    root.section_with::<()>("gps", "GPS packets.", |keys| {
        keys.of_type("port", "The UDP port to which GPS packets go.", &port(), &mut gps_udp_port);
    });
    let identity = root.section_with("identity", IDENTITY, |keys| all.identity(keys));
    let interface = root.section("interface", spinning::INTERFACE);
    let packet: Option<PacketProfile> =
        root.section_with("packet", spinning::PACKET, |keys| all.packet(keys));
    root.section_with::<()>("rotation", spinning::ROTATION, |keys| {
        rotation(keys, &mut rates_rpm, &mut steps_at_600_rpm);
        all.rotation(keys);
    });
    root.section_with::<()>("returns", spinning::RETURNS, |keys| {
        spinning::return_modes(keys, &ReturnMode::NAMES, PROFILES, &mut return_modes);
        all.returns(keys);
    });
    motor_settings::read(&mut root, false, &mut all.motor);
    clock_settings::read(&mut root, &mut all.clock.own);
    profile_ptp(&mut root, &mut all.clock.ptp_ahead_s);
    let spread = unit_lasers::profile_spread(&mut root);
    let optics = lidar::profile_optics(&mut root.table, &reach());
    let format = packet.as_ref().map(|packet| packet.format);
    let table = spinning::lasers_table(&mut root);
    let lasers = table.and_then(|table| lasers(table, format));
    root.finish()?;
    (all.rotation_rate_rpm, all.return_mode) = (*rates_rpm.first()?, *return_modes.first()?);
    (all.beam, all.noise) = optics?;
    Some(HesaiProfile {
        network: network?,
        gps_udp_port,
        identity: identity?,
        interface: interface?,
        packet: packet?,
        rates_rpm,
        steps_at_600_rpm,
        return_modes,
        spread: spread?,
        lasers: lasers?,
        defaults: all,
    })
}

/// Reads a rig's `settings`; the profile has the defaults.
pub(crate) fn settings(
    table: TableReader<'_>,
    profile: &Profile,
    driver: &HesaiProfile,
) -> Option<HesaiSettings> {
    let mut all = driver.defaults.clone();
    let mut keys = Keys::of_rig(table);
    all.identity(&mut keys);
    spinning::listed_rate(&mut keys, profile, &driver.rates_rpm, &mut all.rotation_rate_rpm);
    let known = |(_, mode): &(&str, ReturnMode)| driver.return_modes.contains(mode);
    let modes: Vec<_> = ReturnMode::NAMES.into_iter().filter(known).collect();
    let origin = format!("{}, [returns]", profile.file);
    spinning::return_mode_among(&mut keys, &modes, &origin, &mut all.return_mode);
    all.returns(&mut keys);
    keys.table.was_called("azimuth_range_deg", "sector_deg");
    spinning::sector(&mut keys, 10.0, COMMANDS, &mut all.range_decideg);
    all.sync(&mut keys);
    all.rotation(&mut keys);
    all.packet(&mut keys);
    motor_settings::read(&mut keys, false, &mut all.motor);
    clock_settings::read(&mut keys, &mut all.clock.own);
    all.clock.reference(&mut keys);
    ptp(&mut keys, &PtpState::WORDS, &mut all.clock.ptp);
    ptp_ahead(&mut keys, &mut all.clock.ptp_ahead_s);
    all.clock.transport(&mut keys);
    all.clock.ptp_options.read(&mut keys);
    spinning::optics(&mut keys, &reach(), &mut all.beam, &mut all.noise);
    keys.finish()?;
    Some(all)
}

fn reach() -> Limit<f64> {
    Limit::new(0.0..=262.14, "m", "the wire format: 16 bits of 4 mm")
}

/// Reads the rotation rates into `rates` (rpm), and the firings per rotation at 600 rpm into `steps`.
fn rotation(keys: &mut Keys<'_>, rates: &mut Vec<u32>, steps: &mut u32) {
    let field = spinning::rates_field(keys);
    keys.put(spinning::listed_rates().read(&field), rates);
    let says = "Firings per rotation at 600 rpm; the number per second is the same at other rates.";
    keys.of_type("steps_at_600_rpm", says, &Limit::new(1..=36_000, "", PROFILES), steps);
    // Every speed needs a whole number of firings per rotation.
    let are_whole = |rate: &u32| (*steps * 600).is_multiple_of(*rate);
    if keys.is_complete()
        && (rates.is_empty() || !rates.iter().all(are_whole))
        && let Some(place) = field.place()
    {
        let label = format!("allowed: one or more that divide {}", *steps * 600);
        keys.table.fault(
            place.fault("each rate must give a whole number of firings per rotation", label),
        );
    }
}

fn lasers(table: TableReader<'_>, format: Option<HesaiFormat>) -> Option<Vec<UnitLaser>> {
    let own = format.map(HesaiFormat::lasers);
    let counts = own.as_ref().map_or(&LASERS[..], std::slice::from_ref);
    let many = own.map_or("16, 32, 40 or 64".to_owned(), |own| own.to_string());
    unit_lasers::lasers(table, counts, &many)
}
