//! Firmware profile of a SICK LMS1xx or LMS5xx, and its settings in a rig.
//!
//! Angles are counter-clockwise from above, with 90 degrees forward, in units of 1/10000 degree as in telegrams.
//!
//! Types and their keys come first, then the readers of single keys.

use crate::config::profile::lidar::{self, BeamSettings, NoiseSettings};
use crate::config::profile::read::PROFILES;
use crate::config::profile::{Profile, lag};
use crate::config::toml::diagnostic::{Diagnostic, Place};
use crate::config::toml::key_types::{Among, By, OneOf, Table, Text, Time, TrueOrFalse, Whole};
use crate::config::toml::keys::Keys;
use crate::config::toml::reader::{Field, Limit, TableReader};
use crate::wire::cola::Dialect;

words!(AcceptedDialects: "both" => Both, "configured" => Configured);
words!(EchoFilter: "first" => First, "all" => All, "last" => Last);
words!(ScannerStatus:
    "ok" => Ok, "error" => Error, "pollution-warning" => PollutionWarning,
    "pollution-error" => PollutionError);
words!(ScannerClock: "since-power-on" => SincePowerOn, "utc" => Utc);

/// A full rotation, in units of 1/10000 degree.
pub const TURN: u32 = 3_600_000;

/// Dialects of CoLa that a scanner accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AcceptedDialects {
    /// Both dialects; an answer has the dialect of its command.
    Both,
    /// Only the dialect that `EIHstCola` had when the host connected; the other one gets no answer.
    Configured,
}

/// Echoes in telegrams: values of `FREchoFilter`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EchoFilter {
    /// The nearest echo, as DIST1.
    First = 0,
    /// Each echo whose bit is set in the channels of `LMDscandatacfg`: bit 0 the nearest as DIST1, bit 1 the next as
    /// DIST2, and so on.
    All = 1,
    /// The farthest echo, as DIST1.
    Last = 2,
}

/// Status that a scanner reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScannerStatus {
    /// No error.
    Ok,
    /// A fault.
    Error,
    /// The window is slightly polluted.
    PollutionWarning,
    /// The window is heavily polluted.
    PollutionError,
}

/// Time base of the scanner's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScannerClock {
    /// The clock is not set: it counts from 1 January 1970 at power-on.
    SincePowerOn,
    /// UTC.
    Utc,
}

/// A scan frequency with its resolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanMode {
    /// Scan frequency, in units of 1/100 Hz.
    pub frequency_centihz: u32,
    /// Angular resolution, rounded as in telegrams, in units of 1/10000 degree.
    pub resolution: u32,
    /// Number of directions in a full rotation, exact.
    pub steps_per_turn: u32,
}

/// Level and password hash of `SetAccessMode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Password {
    /// User level: 2 maintenance, 3 authorised client, 4 service.
    pub level: u8,
    /// Hash of the password.
    pub hash: u32,
}

keys! {
    /// Profile of an LMS1xx or LMS5xx firmware.
    #[derive(Clone, Debug)]
    pub struct SickLms1xxProfile {
        /// Identity that the product reports.
        pub identity: Identity, Table("[identity]");
        /// The mirror and the directions that are measured.
        pub scan: Scan, Table("[scan]");
        /// The motor of the mirror.
        pub motor: Motor, Table("[motor]");
        /// Echoes of a pulse that are distinguished.
        pub echoes: Echoes, Table("[echoes]");
        /// The RSSI of a white target that faces the scanner.
        pub remission: Remission, Table("[remission]");
        /// Behaviour of the scanner's protocol.
        pub protocol: Protocol, Table("[protocol]");
    } then optics => |root| lidar::profile_optics(root, &reach()); {
        /// Defaults that a rig may override.
        pub defaults: SickLms1xxSettings = SickLms1xxSettings {
            mode: *scan.modes.first()?,
            output_range: scan.field,
            channels: 1,
            echo_filter: if echoes.has_filter { EchoFilter::Last } else { EchoFilter::All },
            remission: false,
            remission_16_bit: true,
            timestamp: false,
            output_interval: 1,
            accepted_dialects: protocol.accepted_dialects,
            host_dialect: protocol.host_dialect,
            power_on_stream: None,
            status: ScannerStatus::Ok,
            clock: ScannerClock::SincePowerOn,
            start_up_ns: 0,
            uptime_ns: 60_000_000_000,
            lag_ns: scan.lag_ns,
            serial_number: identity.serial_number,
            location_name: identity.location_name.clone(),
            scale_factor: scan.scale_factor,
            beam: optics.0,
            noise: optics.1,
        };
    }
}

keys! {
    /// Texts and numbers of the identification.
    #[derive(Clone, Debug)]
    pub struct Identity {
        /// The name: the first text of the identification.
        pub name: String, By(text);
        /// The version: the second text of the identification.
        pub version: String, By(text);
        /// The firmware's version.
        pub firmware_version: String, By(text);
        /// The order number.
        pub order_number: String, By(text);
        /// Type of the scanner, as it reports it.
        pub kind as "type": String, By(text);
        /// The serial number.
        pub serial_number: u32, four_bytes();
        /// The name of the place.
        pub location_name: String, By(text);
        /// The device's number in telegrams with scans.
        pub device_number: u16, two_bytes();
        /// Operating hours at the start of a run.
        pub operating_time_tenth_h as "operating_hours": u32, By(|field: &Field<'_>| {
            let hours = Limit::new(0.0..=4e8, "h", "the wire format: four bytes of 0.1 h");
            field.number(&hours).map(|hours| (hours * 10.0).round() as u32)
        });
        /// Number of power-ons before the run.
        pub power_on_count: u32, four_bytes();
    }
}

keys! {
    /// Mirror and measured directions.
    #[derive(Clone, Debug)]
    pub struct Scan {
        /// The first and the last direction, counter-clockwise; 90 is forward.
        pub field as "field_deg": [i32; 2], By(directions);
        /// Pairs of a frequency in Hz and a resolution in degrees; the first is the factory setting.
        pub modes: Vec<ScanMode>, By(modes);
        /// Direction of the mirror at the time that telegrams report.
        pub zero_index as "zero_index_deg": i32,
            By(|field: &Field<'_>| field.number(&angle()).map(to_wire));
        /// Time from the last direction until the telegram is sent.
        pub transmission_delay_ns as "transmission_delay_ms": u64,
            Time(Limit::new(0.0..=1000.0, "ms", PROFILES), 1e6);
        /// Output latency in addition to the product's own delay.
        pub lag_ns as "lag_ms": u64, lag::key();
        /// Millimetres of a distance count.
        pub scale_factor: u8, scale_limit();
    }
    check zero_index_fits;
}

keys! {
    /// Timing of the mirror's motor.
    #[derive(Clone, Copy, Debug)]
    pub struct Motor {
        /// Time from power-on or a reboot to the first answer.
        pub boot_ns as "boot_s": u64, seconds();
        /// Time from the start of the motor until scans are sent.
        pub start_ns as "start_s": u64, seconds();
        /// Time from the end of the stand-by until scans are sent.
        pub leave_standby_ns as "leave_standby_s": u64, seconds();
        /// Time from a change of the scan until scans are sent.
        pub settle_ns as "settle_s": u64, seconds();
        /// The state that STlms reports while the motor is stalled.
        pub stalled_state: u16, Limit::new(0..=7, "", "STlms: the states of LMS1xx and LMS5xx");
    }
}

keys! {
    /// Echoes that the scanner distinguishes.
    #[derive(Clone, Copy, Debug)]
    pub struct Echoes {
        /// Largest number of echoes of a pulse.
        pub count: u8, Limit::new(1..=5, "", "the names DIST1 to DIST5");
        /// Whether the scanner has a setting that selects echoes.
        pub has_filter as "filter": bool, TrueOrFalse;
    }
}

keys! {
    /// RSSI scale: RSSI of a white target at normal incidence.
    #[derive(Clone, Copy, Debug)]
    pub struct Remission {
        /// RSSI of a white target with 8 bits.
        pub full_scale_8_bit: u8, Limit::new(1..=255, "", PROTOCOL);
        /// RSSI of a white target with 16 bits.
        pub full_scale_16_bit: u16, Limit::new(1..=65_535, "", PROTOCOL);
    }
}

keys! {
    /// Protocol behaviour of the scanner.
    #[derive(Clone, Copy, Debug)]
    pub struct Protocol {
        /// Whether the scanner answers both dialects, or the configured one only.
        pub accepted_dialects as "dialects": AcceptedDialects,
            OneOf(&AcceptedDialects::WORDS, PROFILES);
        /// The dialect that is configured for hosts.
        pub host_dialect: Dialect, OneOf(&Dialect::WORDS, PROTOCOL);
        /// Version of telegrams with scans and states; from 1 on, LIDoutputstate has the time of the last change.
        pub telegram_version: u16, two_bytes();
        /// Time from a command to its answer.
        pub reply_ns as "reply_ms": u64, Time(Limit::new(0.01..=1000.0, "ms", PROFILES), 1e6);
        /// The answer to the command Run.
        pub run_result: u8, Limit::new(0..=1, "", PROTOCOL);
        /// Digital outputs at power-on, one bit each: set while the output is on.
        pub digital_outputs: [u8; 2],
            Whole(Limit::new(0..=255, "", "the wire format: one bit per output"));
        /// Outputs that the scanner has, in LIDoutputstate.
        pub outputs: u8, Limit::new(0..=6, "", "LIDoutputstate: six outputs");
        /// Changes that each output has counted at the start of the run, in LIDoutputstate.
        pub output_changes: u32, four_bytes();
        /// Time since power-on at which the inputs were read, microseconds, in LIDinputstate. Inputs never change.
        pub inputs_read_us: u32, four_bytes();
        /// Time of the clock at which the inputs were read, microseconds since 1970, in LIDinputstate.
        pub inputs_read_clock_us: u32, four_bytes();
        /// The hash of the password of level 2.
        pub maintenance_hash: u32, four_bytes();
        /// The hash of the password of level 3.
        pub client_hash: u32, four_bytes();
        /// The hash of the password of level 4.
        pub service_hash: u32, four_bytes();
    }
}

impl Protocol {
    /// Factory passwords.
    pub fn passwords(&self) -> Vec<Password> {
        let hashes = [(2, self.maintenance_hash), (3, self.client_hash), (4, self.service_hash)];
        hashes.map(|(level, hash)| Password { level, hash }).into()
    }
}

keys! {
    in profile and rig with (profile: &Profile, driver: &SickLms1xxProfile);
    /// Settings of an LMS1xx or LMS5xx in a rig; the profile has the defaults. The first ones belong to the stored
    /// configuration, which hosts can change.
    #[derive(Clone, Debug)]
    pub struct SickLms1xxSettings {
        /// Frequency and resolution after power-on.
        pub mode: ScanMode => |all, keys| {
            let read = mode(&mut keys.table, profile, driver);
            keys.put(read, &mut all.mode);
        };
        /// First and last angle of the sector that is sent, counter-clockwise; 90 is forward.
        pub output_range as "sector_deg": [i32; 2] => |all, keys| {
            let read = output_range(&mut keys.table, profile, driver);
            keys.put(read, &mut all.output_range);
        };
        /// Which echoes are sent: one bit for each.
        pub channels: u8, Limit::new(
            1..=(1i128 << driver.echoes.count) - 1, "", format!("{}, [echoes]", profile.file),
        );
        /// Which echoes are sent: the first, all or the last.
        pub echo_filter: EchoFilter => |all, keys| echo_filter(all, keys, profile, driver);
        /// Whether RSSI values are sent.
        pub remission: bool, TrueOrFalse;
        /// The width of RSSI values.
        pub remission_16_bit as "remission_bits": bool,
            Among(&[(8, false), (16, true)], "bits", "CoLa, LMDscandatacfg");
        /// Whether telegrams carry the time of the scan.
        pub timestamp: bool, TrueOrFalse;
        /// Send every n-th scan.
        pub output_interval: u16, Limit::new(1..=50_000, "scans", "CoLa, LMDscandatacfg");
        /// Whether the scanner answers both dialects, or the configured one only.
        pub accepted_dialects as "dialects": AcceptedDialects,
            OneOf(&AcceptedDialects::WORDS, PROFILES);
        /// The dialect that is configured for hosts.
        pub host_dialect: Dialect, OneOf(&Dialect::WORDS, PROTOCOL);
        /// Whether hosts get scans from power-on without a request, and in which dialect.
        pub power_on_stream: Option<Dialect>, OneOf(
            &[("off", None), ("cola-a", Some(Dialect::A)), ("cola-b", Some(Dialect::B))], PROTOCOL,
        );
        /// State that the scanner reports.
        pub status: ScannerStatus, OneOf(&ScannerStatus::WORDS, "CoLa, LMDscandata");
        /// Start of the scanner's clock.
        pub clock: ScannerClock, OneOf(&ScannerClock::WORDS, "Menura's profiles");
        /// Time from the start of the run until the scanner is ready; 0 for a scanner that was on before.
        pub start_up_ns as "start_up_s": u64, seconds();
        /// Time since power-on at the start of the run; the unit's clock and counters show it.
        pub uptime_ns as "uptime_s": u64, Time(Limit::new(0.0..=1e9, "s", "Menura"), 1e9);
        /// Output latency in addition to the product's own delay.
        pub lag_ns as "lag_ms": u64, lag::key();
        /// The serial number that the scanner reports.
        pub serial_number: u32, four_bytes();
        /// The name of the place that the scanner reports.
        pub location_name: String, Text(text);
        /// Millimetres of a distance count.
        pub scale_factor: u8, scale_limit();
        /// Optics of the laser beam.
        pub beam: BeamSettings =>
            |all, keys| lidar::rig_beam(keys, "{ shape = \"circular\" }", &reach(), &mut all.beam);
        /// Random errors, as standard deviations.
        pub noise: NoiseSettings =>
            |all, keys| lidar::rig_noise(keys, "{ range_std_m = 0.012 }", &mut all.noise);
    }
}

/// Source of limits that the protocol sets. Error messages name it.
const PROTOCOL: &str = "CoLa";
/// Angle units per degree in telegrams.
const PER_DEGREE: f64 = 10_000.0;
/// Largest length of a text, characters.
const LONGEST_TEXT: usize = 64;

/// Allowed angles of the mirror.
fn angle() -> Limit<f64> {
    Limit::new(-180.0..=540.0, "degrees", PROFILES)
}

/// Reads the first and the last angle of a field of view, in units of 1/10000 degree.
fn directions(field: &Field<'_>) -> Option<[i32; 2]> {
    let [first, last] = field.numbers::<2>(&angle())?.map(to_wire);
    if first < last && last - first < TURN as i32 {
        return Some([first, last]);
    }
    let label = "allowed: [first, last], counter-clockwise, less than 360 degrees apart";
    field.fault(field.place()?.fault("this is not a field of view", label));
    None
}

/// Checks that the mirror passes the zero index outside the field of view: after the last direction of one scan and before
/// the first direction of the next. Returns the result; reports an error if the check fails.
fn zero_index_fits(table: &TableReader<'_>, scan: &Scan) -> bool {
    let [first, last] = scan.field;
    let fits = scan.zero_index <= first && last - scan.zero_index <= TURN as i32;
    if let Some(place) = table.place_of("zero_index_deg").filter(|_| !fits) {
        let label = "allowed: up to the first direction, at most 360 degrees before the last";
        table.fault(place.fault("the zero index must be between two scans", label));
    }
    fits
}

/// Reads `[[frequency_hz, resolution_deg], ...]`.
fn modes(field: &Field<'_>) -> Option<Vec<ScanMode>> {
    let expected = "pairs [frequency_hz, resolution_deg], starting with the factory setting";
    let items = field.some_items(expected, "a scanner needs at least one scan mode")?;
    let limit = Limit::new(0.05..=200.0, "", PROFILES);
    let mode = |item: &Field<'_>| item.numbers::<2>(&limit).map(|[hz, deg]| scan_mode(hz, deg));
    let modes: Vec<_> = items.iter().map(mode).collect();
    modes.into_iter().collect()
}

/// Scan mode of a frequency and a rounded resolution. The exact resolution is a whole fraction of a rotation: 0.1667 means a
/// sixth of a degree.
fn scan_mode(frequency_hz: f64, resolution_deg: f64) -> ScanMode {
    ScanMode {
        frequency_centihz: (frequency_hz * 100.0).round() as u32,
        resolution: to_wire(resolution_deg) as u32,
        steps_per_turn: (360.0 / resolution_deg).round() as u32,
    }
}

/// Reads `scan_frequency_hz` and `angular_resolution_deg`, which must form a scan mode of the profile.
fn mode(
    table: &mut TableReader<'_>,
    profile: &Profile,
    driver: &SickLms1xxProfile,
) -> Option<ScanMode> {
    let limit = Limit::new(0.05..=200.0, "", PROFILES);
    let (frequency, resolution) =
        (table.optional("scan_frequency_hz"), table.optional("angular_resolution_deg"));
    let frequency = frequency.meaning("Scans per second after power-on; must fit the resolution.");
    let resolution = resolution
        .meaning("Angle between two samples after power-on; must fit the scan frequency.");
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
    let found = driver.scan.modes.iter().find(|mode| {
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
) -> Diagnostic {
    let words = |frequency: u32, resolution: u32| {
        let (hz, deg) = (f64::from(frequency) / 100.0, f64::from(resolution) / PER_DEGREE);
        format!("{hz} Hz at {deg} degrees")
    };
    let modes: Vec<_> = driver
        .scan
        .modes
        .iter()
        .map(|mode| words(mode.frequency_centihz, mode.resolution))
        .collect();
    let title = format!("this scanner does not support {}", words(frequency, resolution));
    place
        .fault(title, format!("allowed: {}", modes.join(", ")))
        .note(format!("limit from {}, [scan]", profile.file))
}

fn output_range(
    table: &mut TableReader<'_>,
    profile: &Profile,
    driver: &SickLms1xxProfile,
) -> Option<[i32; 2]> {
    let [first, last] = driver.scan.field.map(|angle| f64::from(angle) / PER_DEGREE);
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

/// Reads `echo_filter`; rejects it for scanners without this setting.
fn echo_filter(
    all: &mut SickLms1xxSettings,
    keys: &mut Keys<'_>,
    profile: &Profile,
    driver: &SickLms1xxProfile,
) {
    if driver.echoes.has_filter {
        let origin = "CoLa, FREchoFilter";
        keys.choice("echo_filter", &EchoFilter::WORDS, origin, &mut all.echo_filter);
    } else if let Some(place) = keys.table.take_unlisted("echo_filter") {
        let label = format!("{} has no such setting; `channels` chooses echoes", profile.name);
        let fault = place.fault("this scanner has no echo filter", label);
        keys.table.fault(fault.note(format!("limit from {}, [echoes]", profile.file)));
    }
}

/// Reads a text of printable characters that both dialects support.
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

/// Key type of a time from 0 to 3600 s, in seconds.
fn seconds() -> Time {
    Time(Limit::new(0.0..=3600.0, "s", "Menura"), 1e9)
}

/// Allowed maximum ranges of the beam, metres.
fn reach() -> Limit<f64> {
    Limit::new(0.0..=131.07, "m", "the wire format: 16 bits of 2 mm")
}

fn scale_limit() -> Limit<i128> {
    Limit::new(1..=2, "mm", "LMS5xx: 1 reaches 65.535 m, 2 reaches 131.07 m")
}
