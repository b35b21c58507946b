//! Reads the profile of a RoboSense, and its settings in a rig.

use super::planner::FieldOfView;
use super::profile::{
    PacketProfile, PtpState, RasterProfile, Returns, RobosenseProfile, RobosenseSettings, SETTINGS,
    UnitLaser, byte,
};
use super::state::NARROWEST_CENTIDEG;
use crate::config::profile::Profile;
use crate::config::profile::lidar;
use crate::config::profile::network::profile_network;
use crate::config::profile::read::{IDENTITY, PROFILES};
use crate::config::toml::key_types::{FactoryFirst, KeyType, Listed, OneOf, SomeOf, Time};
use crate::config::toml::keys::{Keys, section_of};
use crate::config::toml::reader::{Limit, TableReader};
use crate::spinning::clock_settings::{self, ptp, ptp_ahead};
use crate::spinning::motor_settings;
use crate::spinning::profile_read as spinning;
use crate::spinning::turns::reduced;
use crate::spinning::unit_lasers;
use crate::wire::robosense::difop::SyncMode;
use crate::wire::robosense::layout::Layout;

/// Possible numbers of lasers.
const LASERS: [usize; 5] = [5, 16, 32, 96, 128];

/// Reads a profile except its name and sources.
pub(crate) fn profile(root: TableReader<'_>) -> Option<RobosenseProfile> {
    let mut root = Keys::of_profile(root);
    let mut all = RobosenseSettings { fov_centideg: [0, 36_000], ..RobosenseSettings::default() };
    let (mut rates_rpm, mut period_ns) = (Vec::new(), 0);
    let (mut return_modes, mut sync_modes) = (Vec::new(), Vec::new());
    let network = profile_network(&mut root.table);
    let difop = root.section_with("difop", "Status packets (DIFOP).", |keys| all.difop(keys));
    let identity = root.section_with("identity", IDENTITY, |keys| all.identity(keys));
    let interface = root.section_with("interface", spinning::INTERFACE, |keys| all.ucwp(keys));
    let packet: Option<PacketProfile> =
        root.section_with("packet", spinning::PACKET, |keys| all.packet(keys));
    let layout = packet.as_ref().map(|packet| packet.layout);
    root.section_with::<()>("rotation", spinning::ROTATION, |keys| {
        rates(keys, &mut rates_rpm);
        if layout != Some(Layout::M1) {
            let us = Limit::new(10.0..=1000.0, "us", PROFILES);
            let says = "Time from one firing of all lasers to the next.";
            keys.of_type("firing_period_us", says, &Time(us, 1e3), &mut period_ns);
            all.rotation(keys);
        }
        all.phase(keys);
    });
    let says = "Directions of an M1's channels, one after the other.";
    let table = root.table.optional("raster").meaning(says).table("[raster]");
    let raster = table.and_then(raster);
    root.section_with::<()>("returns", spinning::RETURNS, |keys| {
        modes(keys, &mut return_modes);
        all.returns(keys);
    });
    motor_settings::read(&mut root, false, &mut all.motor);
    clock_settings::read(&mut root, &mut all.clock.own);
    root.section_with::<()>("sync", "References that can set the clock.", |keys| {
        let words = SomeOf(&SyncMode::WORDS, PROFILES);
        let key_type = FactoryFirst(words, "a unit needs at least one clock reference");
        let sentence = "References of the clock; the first is the factory setting.";
        keys.of_type("modes", sentence, &key_type, &mut sync_modes);
        ptp_ahead(keys, &mut all.clock.ptp_ahead_s);
    });
    let spread = unit_lasers::profile_spread(&mut root);
    let exit = root.section("exit", "Point at which beams leave.");
    let imu = section_of(&root.table.optional("imu").meaning(spinning::IMU), "[imu]", |_| ());
    let optics = lidar::profile_optics(&mut root.table, &reach());
    let table = spinning::lasers_table(&mut root);
    let lasers = table.and_then(|table| lasers(table, layout));
    if layout.is_some_and(|layout| (layout == Layout::M1) != raster.is_some())
        && let Some(place) =
            root.table.optional("raster").place().or(Some(root.table.place().clone()))
    {
        let label = "write [raster] for the layout \"m1\" and for no other";
        root.table.fault(place.fault("only an M1 has a raster", label));
        return None;
    }
    root.finish()?;
    all.has_imu = imu.is_some();
    all.rotation_rate_rpm = *rates_rpm.first()?;
    (all.return_mode, all.clock.mode) = (return_modes.first()?.0, *sync_modes.first()?);
    (all.beam, all.noise) = optics?;
    let period_ns = match &raster {
        // Frames follow each other without a gap.
        Some(raster) => {
            let firings = u64::from(raster.rows * raster.columns);
            reduced([60_000_000_000, firings * u64::from(all.rotation_rate_rpm)])
        }
        None => [period_ns, 1],
    };
    Some(RobosenseProfile {
        network: network?,
        difop: difop?,
        identity: identity?,
        interface: interface?,
        packet: packet?,
        rates_rpm,
        period_ns,
        raster,
        return_modes,
        sync_modes,
        spread: spread?,
        exit: exit?,
        lasers: lasers?,
        imu,
        defaults: all,
    })
}

/// Reads a rig's `settings`; the profile has the defaults.
pub(crate) fn settings(
    table: TableReader<'_>,
    profile: &Profile,
    driver: &RobosenseProfile,
) -> Option<RobosenseSettings> {
    let mut all = driver.defaults.clone();
    let mut keys = Keys::of_rig(table);
    all.identity(&mut keys);
    spinning::listed_rate(&mut keys, profile, &driver.rates_rpm, &mut all.rotation_rate_rpm);
    let modes: Vec<_> = driver.return_modes.iter().map(|(mode, _)| (mode.word(), *mode)).collect();
    let origin = format!("{}, [returns]", profile.file);
    spinning::return_mode_among(&mut keys, &modes, &origin, &mut all.return_mode);
    all.returns(&mut keys);
    all.phase(&mut keys);
    if driver.interface.has_ucwp {
        all.ucwp(&mut keys);
    }
    all.difop(&mut keys);
    if driver.imu.is_some() {
        all.imu(&mut keys);
    }
    if driver.raster.is_none() {
        sector(&mut keys, &mut all.fov_centideg);
        all.rotation(&mut keys);
    }
    all.packet(&mut keys);
    motor_settings::read(&mut keys, false, &mut all.motor);
    clock_settings::read(&mut keys, &mut all.clock.own);
    let modes: Vec<_> = driver.sync_modes.iter().map(|mode| (mode.word(), *mode)).collect();
    let origin = format!("{}, [sync]", profile.file);
    let says = "Reference of the clock: a GNSS receiver, or a PTP master.";
    keys.of_type("sync_mode", says, &OneOf(&modes, &origin), &mut all.clock.mode);
    ptp(&mut keys, &PtpState::WORDS, &mut all.clock.ptp);
    ptp_ahead(&mut keys, &mut all.clock.ptp_ahead_s);
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
        && FieldOfView(*fov_centideg).width_centideg() < NARROWEST_CENTIDEG
        && let Some(place) = field.place()
    {
        let label = "allowed: two angles that are 10 degrees apart or more, clockwise";
        keys.table.fault(place.fault("the field of view is too narrow", label));
    }
}

fn rates(keys: &mut Keys<'_>, rates: &mut Vec<u32>) {
    let field = spinning::rates_field(keys);
    let read = spinning::listed_rates().read(&field);
    if read.as_ref().is_some_and(Vec::is_empty)
        && let Some(place) = field.place()
    {
        keys.table
            .fault(place.fault("a unit needs at least one rotation rate", "allowed: one or more"));
    }
    keys.put(read, rates);
}

fn raster(table: TableReader<'_>) -> Option<RasterProfile> {
    let mut keys = Keys::of_profile(table);
    let mut all = RasterProfile::default();
    // Rows and firings must make whole packets.
    let count = Limit::new(25..=1000, "", PROFILES);
    keys.of_type("rows", "Rows per frame.", &count, &mut all.rows);
    let columns = keys.field("columns").meaning("Firings per row.");
    keys.put(columns.integer(&count), &mut all.columns);
    let whole = Layout::M1.firings(false) as u32;
    if keys.is_complete()
        && !(all.rows * all.columns).is_multiple_of(whole)
        && let Some(place) = columns.place()
    {
        let label = format!("allowed: rows times columns is a multiple of {whole}");
        keys.table.fault(place.fault("a frame must be a whole number of packets", label));
    }
    let step = Limit::new(0.01..=1.0, "degrees", PROFILES);
    let says = "Angle between rows, and between firings of a row.";
    keys.of_type("step_deg", says, &step, &mut all.step_deg);
    keys.finish()?;
    Some(all)
}

/// Reads return modes and their codes.
fn modes(keys: &mut Keys<'_>, all: &mut Vec<(Returns, u8)>) {
    let (mut modes, mut codes) = (Vec::new(), Vec::<u8>::new());
    let field = keys.field("modes").meaning(spinning::RETURN_MODES);
    keys.put(field.choices(&Returns::WORDS, PROFILES), &mut modes);
    let numbers = Listed("codes of the modes", byte());
    keys.of_type("codes", "Numbers of the return modes in packets.", &numbers, &mut codes);
    if keys.is_complete()
        && (modes.is_empty() || modes.len() != codes.len())
        && let Some(place) = field.place()
    {
        let label = "allowed: one or more, starting with the factory setting, and as many codes";
        keys.table.fault(place.fault("`modes` and `codes` must have the same length", label));
    }
    *all = modes.into_iter().zip(codes).collect();
}

fn lasers(table: TableReader<'_>, layout: Option<Layout>) -> Option<Vec<UnitLaser>> {
    let own = layout.map(Layout::lasers);
    let counts = own.as_ref().map_or(&LASERS[..], std::slice::from_ref);
    let many = own.map_or("5, 16, 32, 96 or 128".to_owned(), |own| own.to_string());
    unit_lasers::lasers(table, counts, &many)
}
