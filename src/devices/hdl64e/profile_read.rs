//! Reads the profile of an HDL-64E, and its settings in a rig.

use crate::config::profile::Profile;
use crate::config::profile::lidar;
use crate::config::profile::network::profile_network;
use crate::config::profile::read::PROFILES;
use crate::config::toml::key_types::OneOf;
use crate::config::toml::keys::Keys;
use crate::config::toml::reader::{Field, Limit, TableReader};
use crate::hdl64e::calibration::{LASERS, MAX_LENGTH_M, MAX_SLOPE, RECORD};
use crate::hdl64e::profile::{
    CalibrationReading, CycleStarts, Hdl64eGeneration, Hdl64eProfile, Hdl64eSettings, Hdl64eStatus,
    LaserCalibration, LaserTable, PacketTiming,
};
use crate::hdl64e::serial_settings as serial;
use crate::spinning::clock_settings::{self, ClockSettings};
use crate::spinning::motor_settings::{self as motor, RotationRates};
use crate::spinning::profile_read::{self as spinning, Column};
use crate::spinning::return_mode::ReturnMode;

const ONE_BYTE: &str = "the wire format: one byte";

/// Reads a profile except its name and sources.
pub(crate) fn profile(root: TableReader<'_>) -> Option<Hdl64eProfile> {
    let mut root = Keys::of_profile(root);
    let mut all = Hdl64eSettings::default();
    let (mut rates, mut dark_intensity) = (RotationRates::default(), [0; 2]);
    let network = profile_network(&mut root.table);
    root.section_with::<()>("rotation", spinning::ROTATION, |keys| {
        spinning::rotation(keys, false, &mut rates, &mut all.rotation_rate_rpm);
        all.rotation(keys);
    });
    let says = "Serial line for commands. An empty word: the firmware lacks the command.";
    let serial = root.field("serial").meaning(says).table("[serial]").and_then(serial::profile);
    motor::read(&mut root, true, &mut all.motor);
    let table = root.field("packet").meaning(spinning::PACKET).table("[packet]");
    let (generation, packet) = table.map_or((None, None), |table| {
        read_packet(Keys::of_profile(table), &mut all, &mut dark_intensity)
    });
    let is_s1 = generation == Some(Hdl64eGeneration::S1);
    let mut modes = Vec::new();
    root.section_with::<()>("returns", spinning::RETURNS, |keys| {
        return_modes(keys, generation, &mut modes);
    });
    let has_dual = generation == Some(Hdl64eGeneration::S3) && modes.contains(&ReturnMode::Dual);
    let says = "Firing times of the lasers in a packet.";
    let table = root.field("timing").meaning(says).table("[timing]");
    let timings = table.and_then(|table| timings(table, generation?, has_dual));
    let mut status_bytes =
        Hdl64eStatus { calibration_time: [0xff; 6], s1_form_packets: 1, ..Default::default() };
    if let Some(generation) = generation {
        let says = "Status bytes of a healthy unit.";
        root.section_with::<()>("status", says, |keys| status(keys, generation, &mut status_bytes));
    } else {
        let _ = root.field("status").table("[status]");
    }
    // An S1 has no `[clock]`, because it reports no time. If the generation is unknown, `[clock]` cannot be checked.
    if generation.is_none() {
        let _ = root.table.optional("clock").table("[clock]");
    } else if !is_s1 {
        let mut clock = ClockSettings::default();
        clock_settings::read(&mut root, &mut clock);
        all.clock = Some(clock);
    }
    let optics = lidar::profile_optics(&mut root.table, &reach());
    let says = "Calibration of one unit; a rig can name another unit's file.";
    let table = root.field("calibration").meaning(says).table("[calibration]");
    let calibration = table.and_then(calibration);
    root.finish()?;
    packet?;
    let (timing, dual_timing) = timings?;
    all.return_mode = *modes.first()?;
    (all.beam, all.noise) = optics?;
    (all.calibration, all.calibration_reading) = calibration?;
    Some(Hdl64eProfile {
        generation: generation?,
        network: network?,
        rotation_rates: rates,
        dark_intensity,
        return_modes: modes,
        timing,
        dual_timing,
        serial: serial?,
        status: status_bytes,
        defaults: all,
    })
}

fn return_modes(
    keys: &mut Keys<'_>,
    generation: Option<Hdl64eGeneration>,
    modes: &mut Vec<ReturnMode>,
) {
    let has_dual = generation.is_none_or(|generation| generation == Hdl64eGeneration::S3);
    let words: Vec<_> = ReturnMode::WORDS
        .into_iter()
        .filter(|(_, mode)| has_dual || *mode != ReturnMode::Dual)
        .collect();
    let origin =
        if has_dual { PROFILES } else { "the HDL-64E: only generation \"s3\" packs two returns" };
    spinning::return_modes(keys, &words, origin, modes);
}

fn read_packet(
    mut keys: Keys<'_>,
    defaults: &mut Hdl64eSettings,
    dark_intensity: &mut [u8; 2],
) -> (Option<Hdl64eGeneration>, Option<()>) {
    let says =
        "The generation: \"s1\" sends U U U L, \"s2\" U L, \"s3\" U L with CRC and dual return.";
    let field = keys.field("generation").meaning(says);
    let generation = field.choice(&Hdl64eGeneration::WORDS, PROFILES);
    defaults.packet(&mut keys);
    let says = "The lowest and the highest intensity of a point without a return.";
    let field = keys.field("dark_intensity").meaning(says);
    keys.put(spinning::dark_intensity(&field), dark_intensity);
    // Only the S1 has `start_phase` and `grouping`; only the others report thresholds.
    if generation == Some(Hdl64eGeneration::S1) {
        defaults.s1_order(&mut keys);
    } else {
        defaults.thresholds(&mut keys);
    }
    // An unknown generation is reported already; its keys cannot be checked.
    (generation, generation.and_then(|_| keys.finish()))
}

fn timings(
    mut table: TableReader<'_>,
    generation: Hdl64eGeneration,
    has_dual: bool,
) -> Option<(PacketTiming, Option<PacketTiming>)> {
    let single_cycles = if generation == Hdl64eGeneration::S1 { 12 } else { 6 };
    let dual = if has_dual {
        let says = "Firing times with dual return, if `modes` has it.";
        let dual = table.required("dual").meaning(says).table("[timing.dual]");
        let dual = dual.and_then(|mut table| {
            let timing = timing(&mut table, generation, 3);
            table.finish();
            timing
        });
        Some(dual)
    } else {
        None
    };
    let single = timing(&mut table, generation, single_cycles);
    table.finish();
    match dual {
        Some(dual) => Some((single?, Some(dual?))),
        None => Some((single?, None)),
    }
}

fn timing(
    table: &mut TableReader<'_>,
    generation: Hdl64eGeneration,
    cycles: u64,
) -> Option<PacketTiming> {
    let mut end_place = None;
    let rate_limit = Limit::new(1.0..=20_000.0, "packets/s", PROFILES);
    let us = Limit::new(0.0..=100_000.0, "us", PROFILES);
    let rate_field = table.required("packets_per_second").meaning("Packets per second.");
    let rate_place = rate_field.place();
    let packets_per_second = rate_field.number(&rate_limit);
    let (cycles, last_cycle_ns) = if generation == Hdl64eGeneration::S1 {
        let grid = Limit::new(1.0..=1000.0, "us", PROFILES);
        let says = "Step of the start times of blocks.";
        let grid_ns = table.required("block_grid_us").meaning(says).number(&grid).map(to_ns);
        (grid_ns.map(|grid_ns| CycleStarts::Grid { grid_ns }), grid_ns.map(|ns| ns * (cycles - 1)))
    } else {
        let says = "Time from a packet's first firing to the start of each of its firing cycles.";
        let field = table.required("cycle_start_us").meaning(says);
        let start_ns = rising(&field, cycles as usize, &us);
        let last_ns = start_ns.as_ref().and_then(|starts| starts.last().copied());
        let says = "Time from a packet's first firing until it is sent.";
        let end_field = table.required("packet_end_us").meaning(says);
        end_place = end_field.place();
        let packet_end_ns = end_field.number(&us).map(to_ns);
        let cycles = start_ns
            .zip(packet_end_ns)
            .map(|(start_ns, packet_end_ns)| CycleStarts::Listed { start_ns, packet_end_ns });
        (cycles, last_ns)
    };
    let says = "Time from the start of a firing cycle to the firing of each of its 32 slots.";
    let slots = rising(&table.required("slot_offset_us").meaning(says), 32, &us);
    let (cycles, slots, packets_per_second) = (cycles?, slots?, packets_per_second?);
    let last_slot_ns = *slots.last()?;
    let last_firing_ns = last_cycle_ns? + last_slot_ns;
    if let CycleStarts::Listed { packet_end_ns, .. } = cycles
        && packet_end_ns < last_firing_ns
    {
        let label =
            format!("the last laser fires {} us after the first", last_firing_ns as f64 / 1e3);
        table.fault(end_place?.fault("the packet ends before its last firing", label));
        return None;
    }
    if 1e9 / packets_per_second < last_firing_ns as f64 {
        let label = format!("a packet's firings last {} us", last_firing_ns as f64 / 1e3);
        table.fault(rate_place?.fault("packets come faster than their lasers fire", label));
        return None;
    }
    let slots: Option<Vec<u32>> = slots.iter().map(|ns| u32::try_from(*ns).ok()).collect();
    Some(PacketTiming { packets_per_second, cycles, slot_offset_ns: slots?.try_into().ok()? })
}

fn to_ns(us: f64) -> u64 {
    (us * 1000.0).round() as u64
}

/// Reads `[status]`; the S1 has fewer keys.
fn status(keys: &mut Keys<'_>, generation: Hdl64eGeneration, all: &mut Hdl64eStatus) {
    all.of_all(keys);
    match generation {
        Hdl64eGeneration::S1 => all.of_s1(keys),
        Hdl64eGeneration::S2 | Hdl64eGeneration::S3 => all.of_later(keys),
    }
}

fn calibration(mut table: TableReader<'_>) -> Option<(LaserTable, CalibrationReading)> {
    let says = "Driver whose use of the table is inverted to compute raw distances.";
    let field = table.required("reading").meaning(says);
    let reading = field.choice(&CalibrationReading::WORDS, PROFILES);
    let says = "Whether x_cm and y_cm are used.";
    let two_point_correction = table.required("two_point_correction").meaning(says).boolean();
    let degrees = |name, most: f64| Column::number(name, -most..=most, "degrees", "geometry");
    let most_cm = 100.0 * MAX_LENGTH_M;
    let length = |name| Column::number(name, -most_cm..=most_cm, "cm", RECORD);
    let columns = [
        Column::whole("id", 63, "the HDL-64E: 64 lasers"),
        degrees("vert_deg", 90.0),
        degrees("rot_deg", 180.0),
        length("dist_cm"),
        length("x_cm"),
        length("y_cm"),
        length("voff_cm"),
        length("hoff_cm"),
        Column::number("focal_m", 0.0..=MAX_LENGTH_M, "m", RECORD),
        Column::number("slope", -MAX_SLOPE..=MAX_SLOPE, "", RECORD),
        Column::whole("min", 255, ONE_BYTE),
        Column::whole("max", 255, ONE_BYTE),
    ];
    let says = "The lasers in the order of their numbers, a row each: id, vert_deg, rot_deg, \
        dist_cm, x_cm, y_cm, voff_cm, hoff_cm, focal_m, slope, min, max.";
    let field = table.required("lasers").meaning(says);
    let backwards = |row: &[f64; 12]| {
        let [.., min, max] = *row;
        let title = "`min` must not be more than `max`";
        (min > max).then(|| (title, format!("min is {min}, max is {max}")))
    };
    let many = LASERS.to_string();
    let rows = spinning::lasers(&field, &[LASERS], &many, &columns, backwards);
    table.finish();
    let lasers: Vec<_> = rows?.into_iter().map(laser).collect();
    Some((LaserTable { two_point_correction: two_point_correction?, lasers }, reading?))
}

fn laser(x: [f64; 12]) -> LaserCalibration {
    LaserCalibration {
        vertical_rad: x[1].to_radians(),
        rotational_rad: x[2].to_radians(),
        distance_m: x[3] / 100.0,
        distance_x_m: x[4] / 100.0,
        distance_y_m: x[5] / 100.0,
        vertical_offset_m: x[6] / 100.0,
        horizontal_offset_m: x[7] / 100.0,
        focal_distance_m: x[8],
        focal_slope: x[9],
        min_intensity: x[10] as u8,
        max_intensity: x[11] as u8,
    }
}

/// Reads an array of `count` firing times, microseconds: the first is 0, and they never decrease. Returns them in
/// nanoseconds.
fn rising(field: &Field<'_>, count: usize, limit: &Limit<f64>) -> Option<Vec<u64>> {
    let expected = format!("{count} times in us, the first 0, none less than the one before");
    let (items, place) = field.array_of(count..=count, &expected)?;
    let length = items.len();
    let times: Vec<_> = items.iter().map(|item| item.number(limit).map(to_ns)).collect();
    let times: Option<Vec<u64>> = times.into_iter().collect();
    let times = times?;
    let found = if length != count {
        format!("this has {length}")
    } else if times.first() != Some(&0) {
        "the first is not 0".to_string()
    } else if let Some(index) = times.windows(2).position(|pair| pair[1] < pair[0]) {
        format!("[{}] is less than the one before", index + 1)
    } else {
        return Some(times);
    };
    let label = format!("{found}; allowed: {expected}");
    field.fault(place.fault("these are not firing times of a packet", label));
    None
}

/// Reads a rig's `settings`; the profile has the defaults.
pub(crate) fn settings(
    table: TableReader<'_>,
    profile: &Profile,
    driver: &Hdl64eProfile,
) -> Option<Hdl64eSettings> {
    let mut all = driver.defaults.clone();
    let mut keys = Keys::of_rig(table);
    let rates = &driver.rotation_rates;
    spinning::rotation_rate(&mut keys, profile, rates, &mut all.rotation_rate_rpm);
    spinning::return_mode(&mut keys, profile, &driver.return_modes, &mut all.return_mode);
    all.rotation(&mut keys);
    all.packet(&mut keys);
    if driver.generation == Hdl64eGeneration::S1 {
        all.s1_order(&mut keys);
    } else {
        all.thresholds(&mut keys);
        refuse_s1_order(&mut keys, profile);
    }
    let says = "A calibration file of the ROS velodyne driver, instead of the profile's table.";
    let field = keys.field("calibration").meaning(says);
    keys.put(calibration_file(&field), &mut all.calibration);
    let says = "Driver whose reading of the calibration is used; drivers differ by centimetres.";
    let reading = OneOf(&CalibrationReading::WORDS, "the drivers that Menura supports");
    keys.of_type("calibration_reading", says, &reading, &mut all.calibration_reading);
    motor::read(&mut keys, true, &mut all.motor);
    if let Some(clock) = &mut all.clock {
        clock_settings::read(&mut keys, clock);
    }
    spinning::optics(&mut keys, &reach(), &mut all.beam, &mut all.noise);
    keys.finish()?;
    Some(all)
}

/// Reads the calibration file that a rig names.
fn calibration_file(field: &Field<'_>) -> Option<LaserTable> {
    let path = field.text("the path of a .yaml file of the ROS velodyne driver")?;
    let file = path.place.source.resolve(&path.value);
    field.loaded(&path, LaserTable::load(&path.value, &file))
}

/// Refuses `start_phase` and `grouping`, which only the S1 has.
fn refuse_s1_order(keys: &mut Keys<'_>, profile: &Profile) {
    for key in ["start_phase", "grouping"] {
        if let Some(place) = keys.table.take_unlisted(key) {
            let title = format!("`{key}` is for the HDL-64E S1 only");
            let fault = place.fault(title, format!("{} has no such order", profile.name));
            keys.table.fault(fault.note(format!(
                "limit from {}, [packet]: upper and lower blocks alternate",
                profile.file
            )));
        }
    }
}

/// Range of distances that the data packets can hold.
fn reach() -> Limit<f64> {
    Limit::new(0.0..=131.07, "m", "the wire format: 16 bits of 2 mm")
}
