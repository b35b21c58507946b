//! Reads the profile of an LMS1xx or LMS5xx, and what a rig sets on one.

use crate::config::profile::Profile;
use crate::config::profile::read::PROFILES;
use crate::config::profile::{lag, lidar};
use crate::config::toml::diagnostic::Place;
use crate::config::toml::key_types::{KeyType, Time};
use crate::config::toml::keys::Keys;
use crate::config::toml::reader::{Field, Limit, TableReader};
use crate::sick_lms1xx::profile::{
    AcceptedDialects, EchoFilter, Password, ScanMode, ScannerClock, ScannerStatus,
    SickLms1xxProfile, SickLms1xxSettings, TURN,
};
use crate::wire::cola::Dialect;

const PROTOCOL: &str = "CoLa";
/// The places of the wire's angles in a degree.
const PER_DEGREE: f64 = 10_000.0;
/// Names of places are no longer in these scanners.
const LONGEST_TEXT: usize = 64;
/// Number of names for channels.
const MAX_ECHOES: i128 = 5;

/// Reads all keys of a profile except its name and sources.
pub(crate) fn profile(mut root: TableReader<'_>) -> Option<SickLms1xxProfile> {
    let identity = root.required("identity").table("[identity]").and_then(identity);
    let scan = root.required("scan").table("[scan]").and_then(scan);
    let motor = root.required("motor").table("[motor]").and_then(motor);
    let echoes = root.required("echoes").table("[echoes]").and_then(echoes);
    let remission = root.required("remission").table("[remission]").and_then(remission);
    let protocol = root.required("protocol").table("[protocol]").and_then(protocol);
    let optics = lidar::profile_optics(&mut root, &reach());
    root.finish();
    let (identity, scan, protocol) = (identity?, scan?, protocol?);
    let (motor, (echoes, has_echo_filter)) = (motor?, echoes?);
    let (beam, noise) = optics?;
    let defaults = SickLms1xxSettings {
        mode: *scan.modes.first()?,
        output_range: scan.field,
        channels: 1,
        echo_filter: EchoFilter::First,
        remission: false,
        remission_16_bit: true,
        timestamp: false,
        output_interval: 1,
        host_dialect: protocol.host_dialect,
        location_name: identity.location_name,
        accepted_dialects: protocol.accepted_dialects,
        power_on_stream: None,
        status: ScannerStatus::Ok,
        clock: ScannerClock::SincePowerOn,
        start_up_ns: 0,
        uptime_ns: 60_000_000_000,
        lag_ns: scan.lag_ns,
        serial_number: identity.serial_number,
        scale_factor: scan.scale_factor,
        beam,
        noise,
    };
    Some(SickLms1xxProfile {
        ident: identity.ident,
        firmware_version: identity.firmware_version,
        telegram_version: protocol.telegram_version,
        device_number: identity.device_number,
        operating_time_tenth_h: identity.operating_time_tenth_h,
        power_on_count: identity.power_on_count,
        field: scan.field,
        modes: scan.modes,
        zero_index: scan.zero_index,
        transmission_delay_ns: scan.transmission_delay_ns,
        start_ns: motor.start_ns,
        leave_standby_ns: motor.leave_standby_ns,
        settle_ns: motor.settle_ns,
        boot_ns: motor.boot_ns,
        stalled_state: motor.stalled_state,
        echoes,
        has_echo_filter,
        remission_full_scale: remission?,
        reply_ns: protocol.reply_ns,
        run_result: protocol.run_result,
        digital_outputs: protocol.digital_outputs,
        outputs: protocol.outputs,
        output_changes: protocol.output_changes,
        order: identity.order,
        passwords: protocol.passwords,
        defaults,
    })
}

struct Identity {
    order: [String; 2],
    ident: [String; 2],
    firmware_version: String,
    serial_number: u32,
    location_name: String,
    device_number: u16,
    operating_time_tenth_h: u32,
    power_on_count: u32,
}

fn identity(mut table: TableReader<'_>) -> Option<Identity> {
    let name = text(&table.required("name"));
    let version = text(&table.required("version"));
    let firmware_version = text(&table.required("firmware_version"));
    let order = ["order_number", "type"].map(|key| text(&table.required(key)));
    let serial_number = table.required("serial_number").integer(&four_bytes());
    let location_name = text(&table.required("location_name"));
    let device_number = table.required("device_number").integer(&two_bytes());
    let hours = Limit::new(0.0..=400_000_000.0, "h", "the wire format: four bytes of 0.1 h");
    let operating_hours = table.required("operating_hours").number(&hours);
    let power_on_count = table.required("power_on_count").integer(&four_bytes());
    table.finish();
    let [number, kind] = order;
    Some(Identity {
        order: [number?, kind?],
        ident: [name?, version?],
        firmware_version: firmware_version?,
        serial_number: serial_number?,
        location_name: location_name?,
        device_number: device_number?,
        operating_time_tenth_h: (operating_hours? * 10.0).round() as u32,
        power_on_count: power_on_count?,
    })
}

struct Scan {
    field: [i32; 2],
    modes: Vec<ScanMode>,
    zero_index: i32,
    transmission_delay_ns: u64,
    lag_ns: u64,
    scale_factor: u8,
}

fn scan(mut table: TableReader<'_>) -> Option<Scan> {
    let angle = Limit::new(-180.0..=540.0, "degrees", PROFILES);
    let field_field = table.required("field_deg");
    let field_place = field_field.place();
    let mut field = field_field.numbers::<2>(&angle).map(|both| both.map(to_wire));
    if let (Some([first, last]), Some(place)) = (field, field_place)
        && !(first < last && last - first < TURN as i32)
    {
        let label = "allowed: [first, last], counter-clockwise, less than a turn apart";
        table.fault(place.fault("this is no field of view", label));
        field = None;
    }
    let modes = modes(&table.required("modes"));
    let zero_field = table.required("zero_index_deg");
    let zero_place = zero_field.place();
    let zero_index = zero_field.number(&angle).map(to_wire);
    if let (Some([first, last]), Some(zero), Some(place)) = (field, zero_index, zero_place)
        && !(zero <= first && last - zero <= TURN as i32)
    {
        let label = "allowed: at most at the first direction, a turn before the last one";
        table.fault(place.fault("the zero index is not between two scans", label));
    }
    let delay = Time(Limit::new(0.0..=1000.0, "ms", PROFILES), 1e6);
    let delay = delay.read(&table.required("transmission_delay_ms"));
    let lag_ns = lag::of_profile(&mut table);
    let scale_factor = table.required("scale_factor").integer(&scale_limit());
    table.finish();
    Some(Scan {
        field: field?,
        modes: modes?,
        zero_index: zero_index?,
        transmission_delay_ns: delay?,
        lag_ns: lag_ns?,
        scale_factor: scale_factor?,
    })
}

/// `[[frequency_hz, resolution_deg], ...]`
fn modes(field: &Field<'_>) -> Option<Vec<ScanMode>> {
    let expected = "pairs [frequency_hz, resolution_deg], the factory's first";
    let (items, place) = field.array_of(1..=usize::MAX, expected)?;
    let limit = Limit::new(0.05..=200.0, "", PROFILES);
    let modes: Vec<_> = items
        .iter()
        .map(|item| item.numbers::<2>(&limit).map(|[hz, deg]| scan_mode(hz, deg)))
        .collect();
    let modes: Option<Vec<_>> = modes.into_iter().collect();
    if modes.as_ref().is_some_and(Vec::is_empty) {
        let label = format!("allowed: {expected}");
        field.fault(place.fault("a scanner needs at least one scan mode", label));
        return None;
    }
    modes
}

/// Resolutions divide a turn: 0.1667 degrees are a sixth.
fn scan_mode(frequency_hz: f64, resolution_deg: f64) -> ScanMode {
    ScanMode {
        frequency_centihz: (frequency_hz * 100.0).round() as u32,
        resolution: to_wire(resolution_deg) as u32,
        steps_per_turn: (360.0 / resolution_deg).round() as u32,
    }
}

struct Motor {
    boot_ns: u64,
    start_ns: u64,
    leave_standby_ns: u64,
    settle_ns: u64,
    stalled_state: u16,
}

fn motor(mut table: TableReader<'_>) -> Option<Motor> {
    let time = Time(seconds_limit(), 1e9);
    let [boot, start, leave_standby, settle] = ["boot_s", "start_s", "leave_standby_s", "settle_s"]
        .map(|key| time.read(&table.required(key)));
    let states = Limit::new(0..=7, "", "STlms: the states of LMS1xx and LMS5xx");
    let stalled = table.required("stalled_state").integer(&states);
    table.finish();
    Some(Motor {
        boot_ns: boot?,
        start_ns: start?,
        leave_standby_ns: leave_standby?,
        settle_ns: settle?,
        stalled_state: stalled?,
    })
}

fn echoes(mut table: TableReader<'_>) -> Option<(u8, bool)> {
    let limit = Limit::new(1..=MAX_ECHOES, "", "the names DIST1 to DIST5");
    let count = table.required("count").integer(&limit);
    let filter = table.required("filter").boolean();
    table.finish();
    Some((count?, filter?))
}

fn remission(mut table: TableReader<'_>) -> Option<(u8, u16)> {
    let eight = table.required("full_scale_8_bit").integer(&Limit::new(1..=255, "", PROTOCOL));
    let sixteen =
        table.required("full_scale_16_bit").integer(&Limit::new(1..=65_535, "", PROTOCOL));
    table.finish();
    Some((eight?, sixteen?))
}

struct Protocol {
    accepted_dialects: AcceptedDialects,
    host_dialect: Dialect,
    telegram_version: u16,
    reply_ns: u64,
    run_result: u8,
    digital_outputs: [u8; 2],
    outputs: u8,
    output_changes: u32,
    passwords: Vec<Password>,
}

fn protocol(mut table: TableReader<'_>) -> Option<Protocol> {
    let accepted = table.required("dialects").choice(&AcceptedDialects::WORDS, PROFILES);
    let host_dialect = table.required("host_dialect").choice(&Dialect::WORDS, PROTOCOL);
    let telegram_version = table.required("telegram_version").integer(&two_bytes());
    let reply = Time(Limit::new(0.01..=1000.0, "ms", PROFILES), 1e6);
    let reply = reply.read(&table.required("reply_ms"));
    let run_result = table.required("run_result").integer(&Limit::new(0..=1, "", PROTOCOL));
    let byte = Limit::new(0.0..=255.0, "", "the wire format: a bit an output");
    let outputs = table.required("digital_outputs").numbers::<2>(&byte);
    let count = Limit::new(0..=6, "", "LIDoutputstate: six outputs");
    let output_count = table.required("outputs").integer(&count);
    let output_changes = table.required("output_changes").integer(&four_bytes());
    let keys = [("maintenance_hash", 2), ("client_hash", 3), ("service_hash", 4)];
    let hashes = keys.map(|(key, level)| {
        let hash = table.required(key).integer(&four_bytes());
        hash.map(|hash| Password { level, hash })
    });
    table.finish();
    let passwords: Option<Vec<Password>> = hashes.into_iter().collect();
    Some(Protocol {
        accepted_dialects: accepted?,
        host_dialect: host_dialect?,
        telegram_version: telegram_version?,
        reply_ns: reply?,
        run_result: run_result?,
        digital_outputs: outputs?.map(|byte| byte as u8),
        outputs: output_count?,
        output_changes: output_changes?,
        passwords: passwords?,
    })
}

/// Reads a rig's `settings`; missing keys have the profile's values.
pub(crate) fn settings(
    table: TableReader<'_>,
    profile: &Profile,
    driver: &SickLms1xxProfile,
) -> Option<SickLms1xxSettings> {
    let mut all = driver.defaults.clone();
    let mut keys = Keys::of_rig(table);
    let mode = mode(&mut keys.table, profile, driver);
    keys.put(mode, &mut all.mode);
    let range = output_range(&mut keys.table, profile, driver);
    keys.put(range, &mut all.output_range);
    echo_settings(&mut keys, profile, driver, &mut all);
    keys.boolean("remission", &mut all.remission);
    let bits = if all.remission_16_bit { 16 } else { 8 };
    keys.with_default("remission_bits", bits, &mut all.remission_16_bit, remission_bits);
    keys.boolean("timestamp", &mut all.timestamp);
    let interval = Limit::new(1..=50_000, "scans", "CoLa, LMDscandatacfg");
    keys.integer("output_interval", &interval, &mut all.output_interval);
    connection_settings(&mut keys, &mut all);
    keys.choice("status", &ScannerStatus::WORDS, "CoLa, LMDscandata", &mut all.status);
    keys.choice("clock", &ScannerClock::WORDS, "Menura's profiles", &mut all.clock);
    keys.time_ns("start_up_s", &seconds_limit(), 1e9, &mut all.start_up_ns);
    let uptime_limit = Limit::new(0.0..=1e9, "s", "Menura");
    keys.time_ns("uptime_s", &uptime_limit, 1e9, &mut all.uptime_ns);
    lag::read(&mut keys, &mut all.lag_ns);
    keys.integer("serial_number", &four_bytes(), &mut all.serial_number);
    keys.with_default("location_name", all.location_name.clone(), &mut all.location_name, text);
    keys.integer("scale_factor", &scale_limit(), &mut all.scale_factor);
    lidar::rig_beam(&mut keys, "{ shape = \"circular\" }", &reach(), &mut all.beam);
    lidar::rig_noise(&mut keys, "{ range_std_m = 0.012 }", &mut all.noise);
    keys.finish()?;
    Some(all)
}

/// Whether the number of bits is 16 instead of 8.
fn remission_bits(field: &Field<'_>) -> Option<bool> {
    let place = field.place()?;
    let bits = Limit::new(8..=16, "bits", "CoLa, LMDscandatacfg");
    match field.integer_among::<u8>(&bits, &[8, 16])? {
        8 => Some(false),
        16 => Some(true),
        _ => {
            field.fault(place.fault("RSSI values have 8 or 16 bits", "allowed: 8, 16"));
            None
        }
    }
}

/// `scan_frequency_hz` and `angular_resolution_deg`, which must go together.
fn mode(
    table: &mut TableReader<'_>,
    profile: &Profile,
    driver: &SickLms1xxProfile,
) -> Option<ScanMode> {
    let limit = Limit::new(0.05..=200.0, "", PROFILES);
    let (frequency, resolution) =
        (table.optional("scan_frequency_hz"), table.optional("angular_resolution_deg"));
    let default = driver.defaults.mode;
    frequency.defaults_to(f64::from(default.frequency_centihz) / 100.0);
    resolution.defaults_to(f64::from(default.resolution) / PER_DEGREE);
    let place = frequency.place().or(resolution.place())?;
    let wanted = |field: &Field<'_>, default: u32, unit: f64| {
        if field.is_written() {
            field.number(&limit).map(|value| (value * unit).round() as u32)
        } else {
            Some(default)
        }
    };
    let frequency = wanted(&frequency, default.frequency_centihz, 100.0)?;
    let resolution = wanted(&resolution, default.resolution, PER_DEGREE)?;
    let found = driver.modes.iter().find(|mode| {
        mode.frequency_centihz == frequency && mode.resolution.abs_diff(resolution) <= 1
    });
    if found.is_none() {
        table.fault(no_such_mode(&place, profile, driver, [frequency, resolution]));
    }
    found.copied()
}

fn no_such_mode(
    place: &Place,
    profile: &Profile,
    driver: &SickLms1xxProfile,
    [frequency, resolution]: [u32; 2],
) -> crate::config::toml::diagnostic::Diagnostic {
    let words = |frequency: u32, resolution: u32| {
        let (hz, deg) = (f64::from(frequency) / 100.0, f64::from(resolution) / PER_DEGREE);
        format!("{hz} Hz at {deg} degrees")
    };
    let modes: Vec<_> =
        driver.modes.iter().map(|mode| words(mode.frequency_centihz, mode.resolution)).collect();
    let title = format!("this scanner has no scan of {}", words(frequency, resolution));
    place
        .fault(title, format!("allowed: {}", modes.join(", ")))
        .note(format!("limit from {}, [scan]", profile.file))
}

fn output_range(
    table: &mut TableReader<'_>,
    profile: &Profile,
    driver: &SickLms1xxProfile,
) -> Option<[i32; 2]> {
    let [first, last] = driver.field.map(|angle| f64::from(angle) / PER_DEGREE);
    let limit = Limit::new(first..=last, "degrees", format!("{}, [scan]", profile.file));
    table.was_called("output_range_deg", "sector_deg");
    let field = table.optional("sector_deg");
    let default = driver.defaults.output_range.map(|end| f64::from(end) / PER_DEGREE);
    field.defaults_to(default.to_vec());
    let place = field.place()?;
    let [start, stop] = field.numbers::<2>(&limit)?.map(to_wire);
    if start > stop {
        let label = "allowed: [first, last], counter-clockwise; 90 is forward";
        table.fault(place.fault("the first direction is after the last", label));
        return None;
    }
    Some([start, stop])
}

fn echo_settings(
    keys: &mut Keys<'_>,
    profile: &Profile,
    driver: &SickLms1xxProfile,
    all: &mut SickLms1xxSettings,
) {
    let origin = format!("{}, [echoes]", profile.file);
    let most = (1i128 << driver.echoes) - 1;
    keys.integer("channels", &Limit::new(1..=most, "", origin.as_str()), &mut all.channels);
    if driver.has_echo_filter {
        let origin = "CoLa, FREchoFilter";
        keys.choice("echo_filter", &EchoFilter::WORDS, origin, &mut all.echo_filter);
    } else if let Some(place) = keys.table.take_unlisted("echo_filter") {
        let label = format!("{} has no such setting; `channels` chooses echoes", profile.name);
        let fault = place.fault("this scanner has no echo filter", label);
        keys.table.fault(fault.note(format!("limit from {origin}")));
    }
}

fn connection_settings(keys: &mut Keys<'_>, all: &mut SickLms1xxSettings) {
    let accepted = &mut all.accepted_dialects;
    keys.choice("dialects", &AcceptedDialects::WORDS, PROFILES, accepted);
    keys.choice("host_dialect", &Dialect::WORDS, PROTOCOL, &mut all.host_dialect);
    let streams = [("off", None), ("cola-a", Some(Dialect::A)), ("cola-b", Some(Dialect::B))];
    keys.choice("power_on_stream", &streams, PROTOCOL, &mut all.power_on_stream);
}

/// Printable characters, which both dialects support.
fn text(field: &Field<'_>) -> Option<String> {
    let expected = format!("0 to {LONGEST_TEXT} printable ASCII characters");
    let text = field.text(&expected)?;
    let is_printable = |byte: u8| byte == b' ' || byte.is_ascii_graphic();
    if text.value.len() > LONGEST_TEXT || !text.value.bytes().all(is_printable) {
        let label = format!("allowed: {expected}");
        let fault = text.place.fault("this text does not fit in a telegram", label);
        field.fault(fault.note(format!("limit from {PROTOCOL}")));
        return None;
    }
    Some(text.value)
}

fn to_wire(degrees: f64) -> i32 {
    (degrees * PER_DEGREE).round() as i32
}

fn two_bytes() -> Limit<i128> {
    Limit::new(0..=0xffff, "", "the wire format: two bytes")
}

fn four_bytes() -> Limit<i128> {
    Limit::new(0..=0xffff_ffff, "", "the wire format: four bytes")
}

fn seconds_limit() -> Limit<f64> {
    Limit::new(0.0..=3600.0, "s", "Menura")
}

/// Ranges of a beam.
fn reach() -> Limit<f64> {
    Limit::new(0.0..=131.07, "m", "the wire format: 16 bits of 2 mm")
}

fn scale_limit() -> Limit<i128> {
    Limit::new(1..=2, "mm", "LMS5xx: 1 reaches 65.535 m, 2 reaches 131.07 m")
}
