//! Reads the profile of an Ouster, and what a rig sets on one.

use super::profile::{
    BeamAngles, OusterClockSettings, OusterProfile, OusterSettings, PacketProfile,
};
use super::window;
use super::words::{LidarMode, OperatingMode, PtpProfile, PtpState, ReturnOrder, TimestampMode};
use crate::config::profile::Profile;
use crate::config::profile::network::network;
use crate::config::profile::read::PROFILES;
use crate::config::profile::{drift, lag, lidar};
use crate::config::toml::key_types::{KeyType, Table};
use crate::config::toml::keys::Keys;
use crate::config::toml::reader::{Limit, TableReader};
use crate::spinning::motor_settings;
use crate::spinning::profile_read::{self as spinning, Column};
use crate::wire::ouster::format::{LidarFormat, PIXELS};
use crate::wire::ouster::lidar::Footer;

/// Origin of the limits of the unit's own configuration.
pub(super) const MANUAL: &str = "the unit's configuration, see its HTTP API guide";
const FOOTERS: [(&str, Footer); 3] =
    [("zero", Footer::Zero), ("constant", Footer::Constant), ("crc64", Footer::Crc64)];

/// Reads all keys of a profile except its name and sources.
pub(crate) fn profile(mut root: TableReader<'_>) -> Option<OusterProfile> {
    let network = root.required("network").table("[network]").and_then(network);
    let identity = Table("[identity]").read(&root.required("identity"));
    let interface = Table("[interface]").read(&root.required("interface"));
    let mut all = OusterSettings {
        azimuth_window_mdeg: [0, 360_000],
        signal_multiplier: 1.0,
        nmea_baud: 9600,
        ..OusterSettings::default()
    };
    let table = root.required("packet").table("[packet]");
    let packet = table.and_then(|table| packet(Keys::of_profile(table), &mut all));
    let table = root.required("modes").table("[modes]");
    let first = packet.as_ref().and_then(|packet| packet.formats.first().copied());
    let modes = table.and_then(|table| modes(table, first));
    let geometry = Table("[geometry]").read(&root.required("geometry"));
    let photons = Table("[photons]").read(&root.required("photons"));
    let imu = Table("[imu]").read(&root.required("imu"));
    let table = root.required("motor").table("[motor]");
    let motor =
        table.and_then(|table| motor_settings::plain(Keys::of_profile(table), &mut all.motor));
    let table = root.required("clock").table("[clock]");
    let clock = table.and_then(|table| clock(Keys::of_profile(table), &mut all.clock));
    let optics = lidar::profile_optics(&mut root, &reach());
    let beams = root.required("beams").table("[beams]").and_then(beams);
    root.finish();
    motor.and(clock)?;
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

/// Reads a rig's `settings`; missing keys have the profile's values.
pub(crate) fn settings(
    table: TableReader<'_>,
    profile: &Profile,
    driver: &OusterProfile,
) -> Option<OusterSettings> {
    let mut all = driver.defaults.clone();
    let mut keys = Keys::of_rig(table);
    let modes: Vec<_> = driver.modes.iter().map(|mode| (mode.word(), *mode)).collect();
    keys.choice("lidar_mode", &modes, &format!("{}, [modes]", profile.file), &mut all.lidar_mode);
    let known = &driver.packet.formats;
    let formats: Vec<_> = known.iter().map(|format| (format.name(), *format)).collect();
    let field = keys.field("udp_profile_lidar");
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
    let field = keys.field("sector_deg").such_as("[90.0, 270.0]");
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
    keys.choice("timestamp_mode", &TimestampMode::WORDS, MANUAL, &mut all.timestamp_mode);
    keys.choice("operating_mode", &OperatingMode::WORDS, MANUAL, &mut all.operating_mode);
    let field = keys.field("signal_multiplier");
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
    let field = keys.field("phase_lock_enable");
    field.defaults_to(all.phase_lock_enable);
    let is_locked = field.boolean();
    keys.put(is_locked, &mut all.phase_lock_enable);
    if all.phase_lock_enable
        && all.timestamp_mode == TimestampMode::InternalOsc
        && let Some(place) = field.place()
    {
        let label = "allowed: with timestamp_mode = \"TIME_FROM_PTP_1588\" or of a sync pulse";
        keys.table.fault(place.fault("a phase lock needs an external clock", label));
    }
    let whole = Limit::new(0..=360_000, "thousandths of a degree", MANUAL);
    keys.integer("phase_lock_offset_mdeg", &whole, &mut all.phase_lock_offset_mdeg);
    if driver.interface.has_return_order {
        keys.choice("return_order", &ReturnOrder::WORDS, MANUAL, &mut all.return_order);
    }
    keys.boolean("reads_nmea", &mut all.reads_nmea);
    let seconds = Limit::new(-100..=100, "s", "Menura: TAI is 37 s ahead of UTC");
    keys.integer("nmea_leap_seconds", &seconds, &mut all.nmea_leap_seconds);
    let bauds = [("BAUD_9600", 9600), ("BAUD_115200", 115_200)];
    keys.choice("nmea_baud_rate", &bauds, MANUAL, &mut all.nmea_baud);
    spinning::start_azimuth(&mut keys, &mut all.start_azimuth_rad);
    lag::read(&mut keys, &mut all.lag_ns);
    let field = keys.field("motor").such_as("{ starts_at_rest = true }");
    keys.table_in(&field, "a motor", &mut all.motor, motor_settings::plain);
    let field = keys.field("clock").such_as("{ ptp = \"locked\" }");
    keys.table_in(&field, "a clock", &mut all.clock, clock);
    spinning::optics(&mut keys, &reach(), &mut all.beam, &mut all.noise);
    keys.finish()?;
    Some(all)
}

fn reach() -> Limit<f64> {
    Limit::new(0.0..=524.287, "m", "the wire format: 19 bits of 1 mm")
}

fn packet(mut keys: Keys<'_>, defaults: &mut OusterSettings) -> Option<PacketProfile> {
    let mut all = PacketProfile::default();
    let field = keys.field("udp_profiles");
    let formats = field.choices(&LidarFormat::NAMES, PROFILES);
    if formats.as_ref().is_some_and(Vec::is_empty)
        && let Some(place) = field.place()
    {
        let label = "allowed: one or more, the factory's first";
        keys.table.fault(place.fault("a firmware needs at least one lidar profile", label));
    }
    keys.put(formats, &mut all.formats);
    keys.choice("footer", &FOOTERS, PROFILES, &mut all.footer);
    let step = Limit::new(1..=100, "mm", PROFILES);
    keys.integer("range_step_mm", &step, &mut all.range_step_mm);
    lag::read(&mut keys, &mut defaults.lag_ns);
    keys.finish()?;
    Some(all)
}

/// The modes, and whether two returns of full width go with the fastest; `format` is the factory's.
fn modes(table: TableReader<'_>, format: Option<LidarFormat>) -> Option<(Vec<LidarMode>, bool)> {
    let mut keys = Keys::of_profile(table);
    let (mut all, mut has_fast_dual) = (Vec::new(), false);
    let field = keys.field("lidar_modes");
    let modes = field.choices(&LidarMode::WORDS, PROFILES);
    if modes.as_ref().is_some_and(Vec::is_empty)
        && let Some(place) = field.place()
    {
        let label = "allowed: one or more, the factory's first";
        keys.table.fault(place.fault("a firmware needs at least one lidar mode", label));
    }
    let is_fast = modes.as_ref().and_then(|modes| modes.first()).is_some_and(|mode| mode.is_fast());
    keys.put(modes, &mut all);
    keys.boolean("has_fast_dual", &mut has_fast_dual);
    if is_fast && format == Some(LidarFormat::Dual) && !has_fast_dual {
        let title = "the factory's lidar mode does not go with the factory's lidar profile";
        let label = "allowed first: a mode of up to 10240 columns a second";
        field.place().into_iter().for_each(|place| keys.table.fault(place.fault(title, label)));
    }
    keys.finish()?;
    Some((all, has_fast_dual))
}

/// Reads the keys of a profile, without those about the start of a run.
fn clock(mut keys: Keys<'_>, clock: &mut OusterClockSettings) -> Option<()> {
    let ns = Limit::new(1..=1000, "ns", PROFILES);
    keys.integer("resolution_ns", &ns, &mut clock.resolution_ns);
    drift::read(&mut keys, &mut clock.drift_s_per_day);
    let ahead = Limit::new(-100..=100, "s", "Menura: TAI is 37 s ahead of UTC");
    keys.integer("ptp_ahead_s", &ahead, &mut clock.ptp_ahead_s);
    if !keys.is_profile() {
        keys.choice("ptp", &PtpState::WORDS, "Menura's clocks", &mut clock.ptp);
        keys.choice("ptp_profile", &PtpProfile::WORDS, MANUAL, &mut clock.ptp_profile);
        clock.ptp_options.read(&mut keys);
        let since = Limit::new(0.0..=1e9, "s", "the rig format");
        keys.table.was_called("power_up_s", "uptime_s");
        keys.time_ns("uptime_s", &since, 1e9, &mut clock.power_up_ns);
    }
    keys.finish()
}

fn beams(mut table: TableReader<'_>) -> Option<Vec<BeamAngles>> {
    let columns = [
        Column::whole("row", 127, PROFILES),
        Column::number("altitude_deg", -90.0..=90.0, "degrees", PROFILES),
        Column::number("azimuth_deg", -180.0..=180.0, "degrees", PROFILES),
    ];
    let field = table.required("rows");
    let rows = spinning::lasers(&field, &PIXELS, "32, 64 or 128", &columns, |_| None);
    table.finish();
    let angles =
        |[_, altitude_deg, azimuth_deg]: [f64; 3]| BeamAngles { altitude_deg, azimuth_deg };
    Some(rows?.into_iter().map(angles).collect())
}
