//! Reads the profile of a RoboSense, and what a rig sets on one.

use super::profile::{
    Identity, ImuProfile, InterfaceProfile, PacketProfile, PtpState, RasterProfile, Returns,
    RobosenseProfile, RobosenseSettings, TwoReturns, UcwpEffect, UnitLaser,
};
use super::state::NARROWEST_CENTIDEG;
use crate::config::profile::Profile;
use crate::config::profile::network::network;
use crate::config::profile::read::PROFILES;
use crate::config::profile::{lag, lidar};
use crate::config::toml::keys::Keys;
use crate::config::toml::reader::{Field, Limit, TableReader};
use crate::spinning::clock_settings;
use crate::spinning::motor_settings;
use crate::spinning::profile_read as spinning;
use crate::spinning::turns::reduced;
use crate::spinning::{returns, unit_lasers};
use crate::wire::robosense::difop::{SUPPLIES, SyncMode};
use crate::wire::robosense::layout::Layout;

const FORMAT: &str = "the wire format";
/// Who allows what hosts set.
const SETTINGS: &str = "the unit's configuration";
/// Tables of lasers that a model can have.
const LASERS: [usize; 5] = [5, 16, 32, 96, 128];

/// Reads all of a profile but its name and sources.
pub(crate) fn profile(mut root: TableReader<'_>) -> Option<RobosenseProfile> {
    let mut all = RobosenseSettings { fov_centideg: [0, 36_000], ..RobosenseSettings::default() };
    let network = root.required("network").table("[network]").and_then(network);
    let difop = root.required("difop").table("[difop]").and_then(|table| difop(table, &mut all));
    let table = root.required("identity").table("[identity]");
    let identity = table.and_then(|table| identity(Keys::of_profile(table), &mut all.serial));
    let table = root.required("interface").table("[interface]");
    let interface = table.and_then(|table| interface(Keys::of_profile(table), &mut all));
    let table = root.required("packet").table("[packet]");
    let packet = table.and_then(|table| packet(Keys::of_profile(table), &mut all));
    let layout = packet.as_ref().map(|packet| packet.layout);
    let table = root.required("rotation").table("[rotation]");
    let rotation = table.and_then(|table| rotation(Keys::of_profile(table), layout, &mut all));
    let table = root.optional("raster").table("[raster]");
    let raster = table.and_then(raster);
    let table = root.required("returns").table("[returns]");
    let modes = table.and_then(|table| modes(Keys::of_profile(table), &mut all));
    let table = root.required("motor").table("[motor]");
    let motor =
        table.and_then(|table| motor_settings::plain(Keys::of_profile(table), &mut all.motor));
    let clock = root.required("clock").table("[clock]").and_then(clock_settings::profile);
    let table = root.required("sync").table("[sync]");
    let sync = table.and_then(|table| sync(Keys::of_profile(table), &mut all));
    let spread = root.required("spread").table("[spread]").and_then(unit_lasers::spread);
    let exit = root.required("exit").table("[exit]").and_then(exit);
    let table = root.optional("imu").table("[imu]");
    let imu = table.and_then(|table| imu(Keys::of_profile(table)));
    let optics = lidar::profile_optics(&mut root, &reach());
    let table = root.required("lasers").table("[lasers]");
    let lasers = table.and_then(|table| lasers(table, layout));
    if layout.is_some_and(|layout| (layout == Layout::M1) != raster.is_some())
        && let Some(place) = root.optional("raster").place().or(Some(root.place().clone()))
    {
        let label = "write [raster] for the layout \"m1\" and for no other";
        root.fault(place.fault("only an M1 has a raster", label));
        return None;
    }
    root.finish();
    motor?;
    all.has_imu = imu.is_some();
    all.clock.own = clock?;
    (all.beam, all.noise) = optics?;
    let (rates_rpm, period_ns) = rotation?;
    let period_ns = match &raster {
        // Frames follow one another without a gap.
        Some(raster) => {
            let firings = u64::from(raster.rows * raster.columns);
            reduced([60_000_000_000, firings * u64::from(*rates_rpm.first()?)])
        }
        None => [period_ns, 1],
    };
    Some(RobosenseProfile {
        network: network?,
        difop_ports: difop?,
        identity: identity?,
        interface: interface?,
        packet: packet?,
        rates_rpm,
        period_ns,
        raster,
        return_modes: modes?,
        sync_modes: sync?,
        spread: spread?,
        exit_m: exit?,
        lasers: lasers?,
        imu,
        defaults: all,
    })
}

/// Reads a rig's `settings`; what it leaves out is the profile's.
pub(crate) fn settings(
    table: TableReader<'_>,
    profile: &Profile,
    driver: &RobosenseProfile,
) -> Option<RobosenseSettings> {
    let mut all = driver.defaults.clone();
    let mut keys = Keys::of_rig(table);
    serial(&mut keys, &mut all.serial);
    spinning::listed_rate(&mut keys, profile, &driver.rates_rpm, &mut all.rotation_rate_rpm);
    let modes: Vec<_> = driver.return_modes.iter().map(|(mode, _)| (mode.word(), *mode)).collect();
    let origin = format!("{}, [returns]", profile.file);
    keys.choice("return_mode", &modes, &origin, &mut all.return_mode);
    two_returns(&mut keys, &mut all.two_returns);
    phase(&mut keys, &mut all);
    if driver.interface.has_ucwp {
        ucwp_effect(&mut keys, &mut all.ucwp_effect);
    }
    difop_period(&mut keys, &mut all);
    if driver.imu.is_some() {
        keys.boolean("imu_enable", &mut all.has_imu);
    }
    if driver.raster.is_none() {
        sector(&mut keys, &mut all.fov_centideg);
        spinning::start_azimuth(&mut keys, &mut all.start_azimuth_rad);
    }
    lag::read(&mut keys, &mut all.lag_ns);
    let field = keys.field("motor").such_as("{ starts_at_rest = true }");
    keys.table_in(&field, "a motor", &mut all.motor, motor_settings::plain);
    clock_settings::settings(&mut keys, &mut all.clock.own);
    let modes: Vec<_> = driver.sync_modes.iter().map(|mode| (mode.word(), *mode)).collect();
    let origin = format!("{}, [sync]", profile.file);
    keys.choice("sync_mode", &modes, &origin, &mut all.clock.mode);
    keys.choice("ptp", &PtpState::WORDS, "Menura's clocks", &mut all.clock.ptp);
    clock_settings::ptp_ahead(&mut keys, &mut all.clock.ptp_ahead_s);
    all.clock.ptp_options.read(&mut keys);
    spinning::optics(&mut keys, &reach(), &mut all.beam, &mut all.noise);
    keys.finish()?;
    Some(all)
}

fn reach() -> Limit<f64> {
    Limit::new(0.0..=327.675, "m", "the wire format: 16 bits of 5 mm")
}

fn sector(keys: &mut Keys<'_>, fov_centideg: &mut [u16; 2]) {
    if let Some(field) = spinning::sector(keys, 100.0, SETTINGS, fov_centideg)
        && let [first, last] = fov_centideg.map(i32::from)
        && (last - first).rem_euclid(36_001) < NARROWEST_CENTIDEG.into()
        && let Some(place) = field.place()
    {
        let label = "allowed: two angles that are 10 degrees apart or more, clockwise";
        keys.table.fault(place.fault("the field of view is too narrow", label));
    }
}

fn serial(keys: &mut Keys<'_>, serial: &mut [u8; 6]) {
    let default = super::angles::serial_text(*serial);
    let expected = "twelve hexadecimal digits such as \"001C23174ACC\"";
    keys.with_default("serial", default, serial, |field| hexadecimal(field, expected));
}

fn hexadecimal<const N: usize>(field: &Field<'_>, expected: &str) -> Option<[u8; N]> {
    spinning::hexadecimal(field, expected, "these are not hexadecimal digits")
}

fn two_returns(keys: &mut Keys<'_>, into: &mut TwoReturns) {
    keys.choice("two_returns", &TwoReturns::WORDS, PROFILES, into);
}

fn phase(keys: &mut Keys<'_>, all: &mut RobosenseSettings) {
    keys.boolean("phase_lock", &mut all.phase_lock);
    let angle = Limit::new(0..=359, "degrees", SETTINGS);
    keys.integer("phase_deg", &angle, &mut all.phase_deg);
}

fn ucwp_effect(keys: &mut Keys<'_>, into: &mut UcwpEffect) {
    keys.choice("ucwp_effect", &UcwpEffect::WORDS, PROFILES, into);
}

fn difop_period(keys: &mut Keys<'_>, all: &mut RobosenseSettings) {
    let period = Limit::new(0.01..=60.0, "s", PROFILES);
    keys.time_ns("difop_period_s", &period, 1e9, &mut all.difop_period_ns);
}

fn difop(table: TableReader<'_>, defaults: &mut RobosenseSettings) -> Option<[u16; 2]> {
    let mut keys = Keys::of_profile(table);
    let mut ports = [0; 2];
    read_ports(&mut keys, &mut ports);
    difop_period(&mut keys, defaults);
    keys.finish()?;
    Some(ports)
}

fn read_ports(keys: &mut Keys<'_>, [source, destination]: &mut [u16; 2]) {
    let port = Limit::new(1..=65_535, "", "UDP");
    keys.integer("source_port", &port, source);
    keys.integer("destination_port", &port, destination);
}

fn identity(mut keys: Keys<'_>, default_serial: &mut [u8; 6]) -> Option<Identity> {
    let mut all = Identity::default();
    serial(&mut keys, default_serial);
    let expected = "ten hexadecimal digits such as \"0714040100\"";
    for (key, version) in ["top_version", "bottom_version"].into_iter().zip(&mut all.versions) {
        keys.read(key, version, |field| hexadecimal(field, expected));
    }
    keys.finish()?;
    Some(all)
}

fn interface(mut keys: Keys<'_>, defaults: &mut RobosenseSettings) -> Option<InterfaceProfile> {
    let mut all = InterfaceProfile::default();
    keys.boolean("has_ucwp", &mut all.has_ucwp);
    ucwp_effect(&mut keys, &mut defaults.ucwp_effect);
    spinning::boot(&mut keys, &mut all.boot_ns);
    keys.read("board_temperatures_c", &mut all.celsius, |field| {
        field.numbers(&spinning::celsius())
    });
    let counts = Limit::new(0.0..=65_535.0, "", FORMAT);
    keys.read("supplies", &mut all.supplies, |field| {
        field.numbers::<SUPPLIES>(&counts).map(|all| all.map(|count| count as u16))
    });
    keys.integer("mounting", &Limit::new(0..=255, "", FORMAT), &mut all.mounting);
    keys.finish()?;
    Some(all)
}

fn packet(mut keys: Keys<'_>, defaults: &mut RobosenseSettings) -> Option<PacketProfile> {
    let mut all = PacketProfile::default();
    keys.choice("layout", &Layout::WORDS, PROFILES, &mut all.layout);
    let byte = Limit::new(0..=255, "", FORMAT);
    let [kind, model] = &mut all.kind;
    keys.integer("type", &byte, kind);
    keys.integer("model", &byte, model);
    let celsius = Limit::new(-80.0..=127.0, "degrees C", PROFILES);
    keys.number("temperature_c", &celsius, &mut all.celsius);
    let (full_scale, gain) = (&mut all.diffuse_full_scale, &mut all.retro_full_gain);
    returns::intensities(&mut keys, &byte, full_scale, gain);
    lag::read(&mut keys, &mut defaults.lag_ns);
    keys.finish()?;
    Some(all)
}

/// The speeds, and the time from a firing to the next, nanoseconds; of an M1 its raster says that.
fn rotation(
    mut keys: Keys<'_>,
    layout: Option<Layout>,
    defaults: &mut RobosenseSettings,
) -> Option<(Vec<u32>, u64)> {
    let field = keys.field("rates_rpm");
    let mut rates: Vec<u32> = Vec::new();
    let read = spinning::listed_rates(&field);
    if read.as_ref().is_some_and(Vec::is_empty)
        && let Some(place) = field.place()
    {
        keys.table.fault(place.fault("a unit has at least one speed", "allowed: one or more"));
    }
    keys.put(read, &mut rates);
    let mut period_ns = 0;
    if layout != Some(Layout::M1) {
        let us = Limit::new(10.0..=1000.0, "us", PROFILES);
        keys.time_ns("firing_period_us", &us, 1e3, &mut period_ns);
        spinning::start_azimuth(&mut keys, &mut defaults.start_azimuth_rad);
    }
    phase(&mut keys, defaults);
    keys.finish()?;
    defaults.rotation_rate_rpm = *rates.first()?;
    Some((rates, period_ns))
}

fn raster(table: TableReader<'_>) -> Option<RasterProfile> {
    let mut keys = Keys::of_profile(table);
    let mut all = RasterProfile::default();
    // Any number of rows and firings that make whole packets.
    let count = Limit::new(25..=1000, "", PROFILES);
    keys.integer("rows", &count, &mut all.rows);
    let columns = keys.field("columns");
    keys.put(columns.integer(&count), &mut all.columns);
    let whole = Layout::M1.firings(false) as u32;
    if keys.is_complete()
        && !(all.rows * all.columns).is_multiple_of(whole)
        && let Some(place) = columns.place()
    {
        let label = format!("allowed: rows times columns is a multiple of {whole}");
        keys.table.fault(place.fault("a frame has a whole number of packets", label));
    }
    let step = Limit::new(0.01..=1.0, "degrees", PROFILES);
    keys.number("step_deg", &step, &mut all.step_deg);
    keys.finish()?;
    Some(all)
}

fn modes(mut keys: Keys<'_>, defaults: &mut RobosenseSettings) -> Option<Vec<(Returns, u8)>> {
    let (mut modes, mut codes) = (Vec::new(), Vec::new());
    let field = keys.field("modes");
    keys.put(field.choices(&Returns::WORDS, PROFILES), &mut modes);
    let byte = Limit::new(0..=255, "", FORMAT);
    keys.read("codes", &mut codes, |field| {
        let (items, _) = field.array("codes of the modes")?;
        items.iter().map(|item| item.integer::<u8>(&byte)).collect()
    });
    if keys.is_complete()
        && (modes.is_empty() || modes.len() != codes.len())
        && let Some(place) = field.place()
    {
        let label = "allowed: one or more, the factory's first, and as many codes";
        keys.table.fault(place.fault("each return mode has a code", label));
        codes.clear();
    }
    two_returns(&mut keys, &mut defaults.two_returns);
    keys.finish()?;
    let modes: Vec<(Returns, u8)> = modes.into_iter().zip(codes).collect();
    defaults.return_mode = modes.first()?.0;
    Some(modes)
}

fn sync(mut keys: Keys<'_>, defaults: &mut RobosenseSettings) -> Option<Vec<SyncMode>> {
    let mut modes = Vec::new();
    let field = keys.field("modes");
    keys.put(field.choices(&SyncMode::WORDS, PROFILES), &mut modes);
    if modes.is_empty()
        && keys.is_complete()
        && let Some(place) = field.place()
    {
        let label = "allowed: one or more, the factory's first";
        keys.table.fault(place.fault("a unit's clock is set in some way", label));
    }
    clock_settings::ptp_ahead(&mut keys, &mut defaults.clock.ptp_ahead_s);
    keys.finish()?;
    defaults.clock.mode = *modes.first()?;
    Some(modes)
}

fn exit(table: TableReader<'_>) -> Option<[f64; 2]> {
    let mut keys = Keys::of_profile(table);
    let mut exit_m = [0.0; 2];
    let mm = Limit::new(-1000.0..=1000.0, "mm", PROFILES);
    for (key, own) in ["out_mm", "up_mm"].into_iter().zip(&mut exit_m) {
        keys.scaled(key, &mm, 1e-3, own);
    }
    keys.finish()?;
    Some(exit_m)
}

fn imu(mut keys: Keys<'_>) -> Option<ImuProfile> {
    let mut all = ImuProfile::default();
    read_ports(&mut keys, &mut all.ports);
    keys.integer("rate_hz", &Limit::new(1..=1000, "Hz", PROFILES), &mut all.rate_hz);
    let latency = Limit::new(0.0..=100_000.0, "us", PROFILES);
    keys.time_ns("latency_us", &latency, 1e3, &mut all.latency_ns);
    let range = Limit::new(0..=3, "", FORMAT);
    let [accel, gyro] = &mut all.ranges;
    keys.integer("accel_range", &range, accel);
    keys.integer("gyro_range", &range, gyro);
    let bits = Limit::new(8..=31, "", FORMAT);
    keys.integer("full_scale_bits", &bits, &mut all.full_scale_bits);
    keys.number("accel_std_g", &Limit::new(0.0..=1.0, "g", PROFILES), &mut all.accel_std_g);
    let rate = Limit::new(0.0..=100.0, "degrees/s", PROFILES);
    keys.number("gyro_std_deg_s", &rate, &mut all.gyro_std_deg_s);
    let mm = Limit::new(-1000.0..=1000.0, "mm", PROFILES);
    keys.read("place_mm", &mut all.place_m, |field| {
        field.numbers::<3>(&mm).map(|place| place.map(|mm| mm / 1000.0))
    });
    keys.finish()?;
    Some(all)
}

fn lasers(table: TableReader<'_>, layout: Option<Layout>) -> Option<Vec<UnitLaser>> {
    let own = layout.map(Layout::lasers);
    let counts = own.as_ref().map_or(&LASERS[..], std::slice::from_ref);
    let many = own.map_or("5, 16, 32, 96 or 128".to_owned(), |own| own.to_string());
    unit_lasers::lasers(table, counts, &many)
}
