//! Reads the profile of an Ouster, and its settings in a rig.

use super::profile::{
    BeamAngles, MANUAL, OusterClockSettings, OusterProfile, OusterSettings, PacketProfile,
};
use super::window;
use super::words::{LidarMode, PtpState, TimestampMode};
use crate::config::profile::Profile;
use crate::config::profile::network::profile_network;
use crate::config::profile::read::{IDENTITY, PROFILES};
use crate::config::profile::{drift, lidar};
use crate::config::toml::key_types::{FactoryFirst, KeyType, OneOf, SomeOf, TrueOrFalse};
use crate::config::toml::keys::Keys;
use crate::config::toml::reader::{Limit, TableReader};
use crate::spinning::clock_settings::{clock_field, ptp, ptp_ahead};
use crate::spinning::motor_settings;
use crate::spinning::profile_read::{self as spinning, Column};
use crate::wire::ouster::format::{LidarFormat, PIXELS};

/// Reads a profile except its name and sources.
pub(crate) fn profile(root: TableReader<'_>) -> Option<OusterProfile> {
    let mut root = Keys::of_profile(root);
    let network = profile_network(&mut root.table);
    let identity = root.section("identity", IDENTITY);
    let interface = root.section("interface", spinning::INTERFACE);
    let mut all = OusterSettings {
        azimuth_window_mdeg: [0, 360_000],
        signal_multiplier: 1.0,
        nmea_baud: 9600,
        ..OusterSettings::default()
    };
    let packet: Option<PacketProfile> =
        root.section_with("packet", spinning::PACKET, |keys| all.packet(keys));
    let first = packet.as_ref().and_then(|packet| packet.formats.first().copied());
    let says = "Rotation and output modes of the unit.";
    let table = root.field("modes").meaning(says).table("[modes]");
    let modes = table.and_then(|table| modes(table, first));
    let geometry = root.section("geometry", "Positions in the sensor.");
    let photons = root.section("photons", "Conversion of light to counts.");
    let imu = root.section("imu", spinning::IMU);
    motor_settings::read(&mut root, false, &mut all.motor);
    read_clock(&mut root, &mut all.clock);
    let optics = lidar::profile_optics(&mut root.table, &reach());
    let field = root.field("beams").meaning("Directions of the beams.");
    let beams = field.table("[beams]").and_then(beams);
    root.finish()?;
    let (packet, (modes, has_fast_dual)) = (packet?, modes?);
    all.lidar_mode = *modes.first()?;
    all.lidar_format = *packet.formats.first()?;
    (all.beam, all.noise) = optics?;
    Some(OusterProfile {
        network: network?,
        identity: identity?,
        interface: interface?,
        packet,
        modes,
        has_fast_dual,
        geometry: geometry?,
        photons: photons?,
        beams: beams?,
        imu: imu?,
        defaults: all,
    })
}

/// Reads a rig's `settings`; the profile has the defaults.
pub(crate) fn settings(
    table: TableReader<'_>,
    profile: &Profile,
    driver: &OusterProfile,
) -> Option<OusterSettings> {
    let mut all = driver.defaults.clone();
    let mut keys = Keys::of_rig(table);
    let modes: Vec<_> = driver.modes.iter().map(|mode| (mode.word(), *mode)).collect();
    let (says, origin) = (
        "Columns per rotation and rotations per second at the start.",
        format!("{}, [modes]", profile.file),
    );
    keys.of_type("lidar_mode", says, &OneOf(&modes, &origin), &mut all.lidar_mode);
    let known = &driver.packet.formats;
    let formats: Vec<_> = known.iter().map(|format| (format.name(), *format)).collect();
    let says = "Format of lidar packets at the start.";
    let field = keys.field("udp_profile_lidar").meaning(says);
    field.defaults_to(all.lidar_format.name());
    let origin = format!("{}, [packet]", profile.file);
    let format = field.choice(&formats, &origin);
    keys.put(format, &mut all.lidar_format);
    if let (Err(why), Some(place)) =
        (driver.check_rate(all.lidar_format, all.lidar_mode), field.place())
    {
        let label = "allowed: up to 10240 columns a second, such as 1024x10";
        keys.table.fault(place.fault(why, label));
    }
    let how = "write degrees, such as sector_deg = [90.0, 270.0]";
    keys.table.was_called_in("azimuth_window_mdeg", "sector_deg", how);
    let degrees = Limit::new(0.0..=360.0, "degrees", MANUAL);
    let sentence = "First and last angle of the sector in which the lidar measures, counter-clockwise from the connector.";
    let field = keys.field("sector_deg").such_as("[90.0, 270.0]").meaning(sentence);
    field.defaults_to(all.azimuth_window_mdeg.map(|mdeg| f64::from(mdeg) / 1e3).to_vec());
    let window =
        field.numbers::<2>(&degrees).map(|ends| ends.map(|end| (end * 1e3).round() as u32));
    if let (Some(window), Some(place)) = (window, field.place())
        && window::columns(window, all.lidar_mode.columns()).is_none()
    {
        let label = "allowed: [from, to] with at least one column between them";
        keys.table.fault(place.fault("no column lies in this window", label));
    }
    keys.put(window, &mut all.azimuth_window_mdeg);
    all.operation(&mut keys);
    let says = "Factor of the signal: 0.25, 0.5, 1, 2 or 3.";
    let field = keys.field("signal_multiplier").meaning(says);
    field.defaults_to(all.signal_multiplier);
    let multiplier = field.number(&Limit::new(0.25..=3.0, "", MANUAL));
    if let (Some(multiplier), Some(place)) = (multiplier, field.place())
        && let Err(why) = window::check_multiplier(multiplier, all.azimuth_window_mdeg)
    {
        keys.table.fault(place.fault(why, "allowed: 0.25, 0.5, 1, and 2 or 3 in a narrow window"));
    }
    if driver.interface.has_tcp_commands
        && multiplier.is_some_and(|multiplier| multiplier != 1.0)
        && let Some(place) = field.place()
    {
        keys.table.fault(place.fault("firmware 2.0 cannot multiply the signal", "allowed: 1"));
    }
    keys.put(multiplier, &mut all.signal_multiplier);
    let says = "Whether an external clock controls the rotor's phase.";
    let field = keys.field("phase_lock_enable").meaning(says);
    field.defaults_to(all.phase_lock_enable);
    let is_locked = field.boolean();
    keys.put(is_locked, &mut all.phase_lock_enable);
    if all.phase_lock_enable
        && all.timestamp_mode == TimestampMode::InternalOsc
        && let Some(place) = field.place()
    {
        let label = "allowed: with timestamp_mode = \"TIME_FROM_PTP_1588\" or a sync pulse mode";
        keys.table.fault(place.fault("a phase lock needs an external clock", label));
    }
    all.phase(&mut keys);
    if driver.interface.has_return_order {
        all.order(&mut keys);
    }
    all.nmea(&mut keys);
    all.start(&mut keys);
    all.packet(&mut keys);
    motor_settings::read(&mut keys, false, &mut all.motor);
    read_clock(&mut keys, &mut all.clock);
    spinning::optics(&mut keys, &reach(), &mut all.beam, &mut all.noise);
    keys.finish()?;
    Some(all)
}

fn reach() -> Limit<f64> {
    Limit::new(0.0..=524.287, "m", "the wire format: 19 bits of 1 mm")
}

/// Reads the lidar modes, and whether two full returns are possible at the highest column rate. `format` is the factory
/// format of packets.
fn modes(table: TableReader<'_>, format: Option<LidarFormat>) -> Option<(Vec<LidarMode>, bool)> {
    let mut keys = Keys::of_profile(table);
    let (mut all, mut has_fast_dual) = (Vec::new(), false);
    let says = "Values of lidar_mode that the firmware supports; the first is the factory setting.";
    let field = keys.field("lidar_modes").meaning(says);
    let words = SomeOf(&LidarMode::WORDS, PROFILES);
    let modes = FactoryFirst(words, "a firmware needs at least one lidar mode").read(&field);
    let is_fast = modes.as_ref().and_then(|modes| modes.first()).is_some_and(|mode| mode.is_fast());
    keys.put(modes, &mut all);
    let says = "Whether the unit supports two returns of full width at 20480 columns per second.";
    keys.of_type("has_fast_dual", says, &TrueOrFalse, &mut has_fast_dual);
    if is_fast && format == Some(LidarFormat::Dual) && !has_fast_dual {
        let title = "the first lidar mode does not fit the first lidar profile";
        let label = "allowed first: a mode of up to 10240 columns a second";
        field.place().into_iter().for_each(|place| keys.table.fault(place.fault(title, label)));
    }
    keys.finish()?;
    Some((all, has_fast_dual))
}

/// Reads `clock` of a profile's root or of a rig's settings.
fn read_clock(keys: &mut Keys<'_>, clock: &mut OusterClockSettings) {
    let field = clock_field(keys);
    keys.part(field, ["a clock", "{ ptp = \"locked\" }"], clock, |mut keys, clock| {
        clock.resolution(&mut keys);
        drift::read(&mut keys, &mut clock.drift_s_per_day);
        ptp_ahead(&mut keys, &mut clock.ptp_ahead_s);
        if !keys.is_profile() {
            ptp(&mut keys, &PtpState::WORDS, &mut clock.ptp);
            clock.master(&mut keys);
            clock.ptp_options.read(&mut keys);
            keys.table.was_called("power_up_s", "uptime_s");
            clock.start(&mut keys);
        }
        keys.finish()
    });
}

fn beams(mut table: TableReader<'_>) -> Option<Vec<BeamAngles>> {
    let columns = [
        Column::whole("row", 127, PROFILES),
        Column::number("altitude_deg", -90.0..=90.0, "degrees", PROFILES),
        Column::number("azimuth_deg", -180.0..=180.0, "degrees", PROFILES),
    ];
    let says = "A row for each beam from the top: number, altitude, and azimuth clockwise from the \
        column's direction.";
    let field = table.required("rows").meaning(says);
    let rows = spinning::lasers(&field, &PIXELS, "32, 64 or 128", &columns, |_| None);
    table.finish();
    let angles =
        |[_, altitude_deg, azimuth_deg]: [f64; 3]| BeamAngles { altitude_deg, azimuth_deg };
    Some(rows?.into_iter().map(angles).collect())
}
