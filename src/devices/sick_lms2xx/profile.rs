//! Firmware profile of a SICK LMS 2xx, and its settings in a rig.
//!
//! Types and their keys come first, then the reader of settings, then the readers of single keys.

use crate::config::profile::lidar::{self, BeamSettings, NoiseSettings};
use crate::config::profile::read::PROFILES;
use crate::config::profile::{Profile, lag};
use crate::config::toml::diagnostic::Place;
use crate::config::toml::key_types::{Among, By, Degrees, OneOf, Table, Time, TrueOrFalse};
use crate::config::toml::keys::Keys;
use crate::config::toml::reader::{Field, Limit, Node, TableReader, Value};
use crate::wire::sick_lms2xx::configuration::{CONFIGURATION_LEN, OLD_CONFIGURATION_LEN};
use crate::wire::sick_lms2xx::data::{MeasuringMode, Unit};
use crate::wire::sick_lms2xx::{LineRate, Variant};

words!(PowerOnMode:
    "on-request" => OnRequest, "continuous" => Continuous, "partial" => Partial,
    "reflectivity" => Reflectivity);
words!(SpoiltTelegram: "nak" => Nak, "silence" => Silence);
words!(TransmissionStart: "scan-end" => ScanEnd, "line-free" => LineFree);
words!(ScanIndexCounts: "revolutions" => Revolutions, "scans" => Scans);

/// Unit of ranges.
pub type RangeUnit = Unit;

/// Operating mode after power-on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PowerOnMode {
    /// Scans are sent on request only.
    OnRequest,
    /// Every scan is sent.
    Continuous,
    /// Every revolution of the mirror is sent as a partial scan.
    Partial,
    /// Every scan is sent with its reflectivity.
    Reflectivity,
}

/// Reaction to a telegram with a wrong CRC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpoiltTelegram {
    /// The scanner answers with the byte NAK.
    Nak,
    /// The scanner does not answer.
    Silence,
}

/// Scan that the scanner sends when a busy line becomes free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransmissionStart {
    /// When the line becomes free, the scanner waits for the end of the next scan and sends that scan.
    ScanEnd,
    /// When the line becomes free, the scanner sends the latest complete scan at once.
    LineFree,
}

/// Unit of the real-time scan index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanIndexCounts {
    /// Revolutions of the mirror.
    Revolutions,
    /// Scans.
    Scans,
}

keys! {
    /// Profile of an LMS 2xx firmware.
    #[derive(Clone, Debug)]
    pub struct SickLms2xxProfile {
        /// Identity that the product reports.
        pub identity: Identity, Table("[identity]");
        /// The mirror and the directions that are measured.
        pub scan: Scan, Table("[scan]");
        /// The motor of the mirror.
        pub motor: Motor, Table("[motor]");
        /// Serial line and response times.
        pub line: Line, Table("[line]");
        /// The configuration block and related values.
        pub configuration: StoredConfiguration, Table("[configuration]");
        /// Telegrams with reflectivity.
        pub reflectivity: Reflectivity, Table("[reflectivity]");
    } then optics => |root| lidar::profile_optics(root, &range_limit()); {
        /// Defaults that a rig may override.
        pub defaults: SickLms2xxSettings = SickLms2xxSettings {
            variant: *scan.variants.first()?,
            rate: *line.rates.first()?,
            unit: configuration.unit,
            measuring_mode: *configuration.measuring_modes.first()?,
            real_time_indices: false,
            sensitivity: 0,
            power_on_mode: PowerOnMode::OnRequest,
            password: configuration.password,
            address: 0,
            start_up_ns: 0,
            restart_ns: line.restart_ns,
            lag_ns: line.lag_ns,
            mirror_phase_rad: scan.mirror_phase_rad,
            errors: Vec::new(),
            error_level: 0,
            is_polluted: false,
            is_implausible: false,
            beam: optics.0,
            noise: optics.1,
        };
    }
}

keys! {
    /// Texts and numbers of the status and type telegrams.
    #[derive(Clone, Debug)]
    pub struct Identity {
        /// Type of the scanner, as it reports it.
        pub type_text as "type": String,
            By(|field: &Field<'_>| characters::<20>(field).map(|(text, _)| text));
        /// The software's version in the status telegram.
        pub software_version: [u8; 7],
            By(|field: &Field<'_>| characters(field).map(|(_, filled)| filled));
        /// The boot software's version in the status telegram.
        pub boot_version: [u8; 7],
            By(|field: &Field<'_>| characters(field).map(|(_, filled)| filled));
        /// The variant in the status telegram: 0 is the standard, 1 special.
        pub variant_type: u8, Limit::new(0..=1, "", "the status telegram: 0 standard, 1 special");
        /// Operating hours at the start of a run.
        pub operating_hours: u16, Limit::new(0..=65_535, "h", PROTOCOL);
        /// Number of power-ons before the run.
        pub power_on_count: u16, Limit::new(0..=65_535, "", "the wire format: two bytes");
    }
}

keys! {
    /// Mirror and measured directions.
    #[derive(Clone, Debug)]
    pub struct Scan {
        /// Rotations of the mirror per second.
        pub mirror_millihertz as "mirror_hz": u64, By(|field: &Field<'_>| {
            let hz = field.number(&Limit::new(1.0..=1000.0, "Hz", PROFILES))?;
            Some((hz * 1000.0).round() as u64)
        });
        /// Pairs of scan angle and resolution, degrees; the first is the factory setting.
        pub variants: Vec<Variant>, By(variants);
        /// Whether a command can change the variant.
        pub can_switch_variant as "switchable": bool, TrueOrFalse;
        /// Whether a rotation has one sample per degree, so that finer scans take several rotations.
        pub is_interlaced as "interlaced": bool, TrueOrFalse;
        /// The quarter of a degree at which each of four revolutions starts.
        pub quarter_order: [u8; 4], By(quarter_order);
        /// Direction of the mirror at the start of a run, counter-clockwise from the right.
        pub mirror_phase_rad as "mirror_phase_deg": f64, phase();
    }
}

keys! {
    /// Error reports about a stalled mirror. The error number comes from Gearbox; the rest has no source.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Motor {
        /// Time from the end of a stall until scans are sent again.
        pub spin_up_ns as "spin_up_s": u64, seconds();
        /// The error level in the status byte while the motor is stalled.
        pub stalled_level: u8, OneOf(&ERROR_LEVELS, PROTOCOL);
        /// The number of the error that is listed while the motor is stalled.
        pub stalled_error: u8, Limit::new(0..=255, "", "the wire format: one byte");
    }
}

keys! {
    /// Serial line, and response times.
    #[derive(Clone, Debug)]
    pub struct Line {
        /// The rates that the scanner can run at; the first is the factory setting.
        pub rates as "rates_baud": Vec<LineRate>, By(rates);
        /// Time from a telegram's last byte to its acknowledgement.
        pub ack_ns as "ack_ms": u64, milliseconds(0.0);
        /// Time from the acknowledgement to the reply.
        pub reply_ns as "reply_ms": u64, milliseconds(0.0);
        /// Time from the acknowledgement to the reply to a configuration.
        pub configure_ns as "configure_ms": u64, milliseconds(0.0);
        /// A pause longer than this within a telegram aborts the telegram.
        pub byte_gap_ns as "byte_gap_ms": u64, milliseconds(1.0);
        /// Time from a reset to the power-on telegram.
        pub restart_ns as "restart_s": u64, seconds();
        /// Output latency in addition to the product's own delay.
        pub lag_ns as "lag_ms": u64, lag::key();
        /// Reaction of the scanner to a wrong checksum.
        pub spoilt_telegram: SpoiltTelegram, OneOf(&SpoiltTelegram::WORDS, PROFILES);
        /// Start of a scan's telegram if the line was busy.
        pub transmission_start: TransmissionStart, OneOf(&TransmissionStart::WORDS, PROFILES);
    }
}

keys! {
    /// The configuration block and related values.
    #[derive(Clone, Debug)]
    pub struct StoredConfiguration {
        /// The length of the block, bytes.
        pub length: usize, Among(
            &[CONFIGURATION_LEN, OLD_CONFIGURATION_LEN].map(|len| (len as i128, len)), "bytes", PROTOCOL,
        );
        /// Values of block D that are accepted; the first is the factory setting.
        pub measuring_modes: Vec<MeasuringMode>, By(measuring_modes);
        /// The unit of distances: block E.
        pub unit: RangeUnit, OneOf(&RangeUnit::WORDS, PROTOCOL);
        /// The largest range of a target with 10 % reflectance for block B = 0, 1, 2 and 3.
        pub sensitivity_range_m: [f64; 4], Limit::new(0.1..=1000.0, "m", PROFILES);
        /// Ratio of signal to detection threshold from which an echo dazzles the scanner; 0 for never.
        pub dazzling_signal: f64, Limit::new(0.0..=1e9, "times the threshold", PROFILES);
        /// Events that the index of a scan counts.
        pub scan_index_counts: ScanIndexCounts, OneOf(&ScanIndexCounts::WORDS, PROFILES);
        /// The password of installation mode.
        pub password: [u8; 8], By(password);
    }
}

keys! {
    /// Telegrams with reflectivity.
    #[derive(Clone, Copy, Debug)]
    pub struct Reflectivity {
        /// Whether the scanner has telegrams with reflectivity.
        pub telegrams: bool, TrueOrFalse;
        /// The value of a white target that faces the scanner.
        pub full_scale: u8, Limit::new(1..=255, "", "the wire format: one byte");
        /// Value of a white target in telegram 0xF5 and for the amplitudes of echoes.
        pub remission_full_scale: u16, Limit::new(1..=65_535, "", "the wire format: two bytes");
    }
}

keys! {
    in profile and rig with (profile: &Profile, driver: &SickLms2xxProfile);
    /// Settings of an LMS 2xx in a rig; the profile has the defaults. Most of them belong to the stored configuration,
    /// which hosts can change.
    #[derive(Clone, Debug)]
    pub struct SickLms2xxSettings {
        /// Angle and resolution after power-on.
        pub variant: Variant => |all, keys| {
            let read = variant(&mut keys.table, driver, &format!("{}, [scan]", profile.file));
            keys.put(read, &mut all.variant);
        };
        /// Rate of the serial line after power-on.
        pub rate as "baud_rate": LineRate,
            Among(&listed_rates(&driver.line.rates), "baud", &format!("{}, [line]", profile.file));
        /// The unit of distances after power-on.
        pub unit: RangeUnit, OneOf(&RangeUnit::WORDS, PROTOCOL);
        /// The measuring mode after power-on: block D of the configuration.
        pub measuring_mode: MeasuringMode, Among(
            &listed_modes(&driver.configuration.measuring_modes), "",
            &format!("{}, [configuration]", profile.file),
        );
        /// Whether scans carry real-time indices.
        pub real_time_indices: bool, TrueOrFalse;
        /// The sensitivity: block B of the configuration.
        pub sensitivity: u8, Limit::new(0..=3, "", "block B of the configuration");
        /// Whether the scanner streams from power-on, or waits for a request.
        pub power_on_mode: PowerOnMode,
            OneOf(&power_on_modes(driver), &format!("{}, [reflectivity]", profile.file));
        /// The password of installation mode.
        pub password: [u8; 8] => |all, keys| {
            let default = String::from_utf8_lossy(&all.password).into_owned();
            keys.with_default("password", default, &mut all.password, password);
        };
        /// The scanner's address in its telegrams.
        pub address: u8, Limit::new(0..=127, "", "the wire format: seven bits");
        /// Time from the start of the run until the scanner is ready; 0 for a scanner that was on before.
        pub start_up_ns as "start_up_s": u64, seconds();
        /// Time that the scanner takes to restart after a reset.
        pub restart_ns as "restart_s": u64, seconds();
        /// Output latency in addition to the product's own delay.
        pub lag_ns as "lag_ms": u64, lag::key();
        /// Direction of the mirror at the first instant.
        pub mirror_phase_rad as "mirror_phase_deg": f64, phase();
        /// Errors that the scanner reports, each with its type and number.
        pub errors as "error_list": Vec<[u8; 2]>, By(errors);
        /// The error level in the status byte.
        pub error_level: u8, OneOf(&ERROR_LEVELS, PROTOCOL);
        /// Whether the scanner reports a dirty window.
        pub is_polluted as "polluted": bool, TrueOrFalse;
        /// Whether the scanner reports its measured values as implausible.
        pub is_implausible as "implausible": bool, TrueOrFalse;
        /// Optics of the laser beam.
        pub beam: BeamSettings =>
            |all, keys| lidar::rig_beam(keys, "{ shape = \"circular\" }", &range_limit(), &mut all.beam);
        /// Random errors, as standard deviations.
        pub noise: NoiseSettings =>
            |all, keys| lidar::rig_noise(keys, "{ range_std_m = 0.012 }", &mut all.noise);
    }
}

/// Name of the source of protocol limits in error messages.
const PROTOCOL: &str = "the LMS 2xx protocol";
/// Words for the severities in bits 0 to 2 of the status byte.
const ERROR_LEVELS: [(&str, u8); 5] =
    [("ok", 0), ("info", 1), ("warning", 2), ("error", 3), ("fatal", 4)];

/// Reads a rig's `settings`.
pub(super) fn settings(
    mut table: TableReader<'_>,
    profile: &Profile,
    driver: &SickLms2xxProfile,
) -> Option<SickLms2xxSettings> {
    table.was_called("rate_baud", "baud_rate");
    if matches!(table.node("errors"), Some(Node { value: Value::Array(_), .. })) {
        table.was_called("errors", "error_list");
    }
    Keys::over(table, &driver.defaults, |all, keys| all.read_keys(keys, profile, driver))
}

fn range_limit() -> Limit<f64> {
    Limit::new(0.0..=327.58, "m", "the wire format: 15 bits of 1 cm")
}

/// Key type of a time from 0 to 600 s, in seconds.
fn seconds() -> Time {
    Time(Limit::new(0.0..=600.0, "s", "Menura"), 1e9)
}

/// Key type of a time from `least` milliseconds to 10 s, in milliseconds.
fn milliseconds(least: f64) -> Time {
    Time(Limit::new(least..=10_000.0, "ms", PROFILES), 1e6)
}

/// Allowed initial angles of the mirror.
fn phase() -> Degrees {
    Degrees(Limit::new(0.0..=360.0, "degrees", "geometry: one turn"))
}

/// Reads a text of at most `N` printable characters; returns it and the same text padded with blanks.
fn characters<const N: usize>(field: &Field<'_>) -> Option<(String, [u8; N])> {
    let expected = format!("1 to {N} printable ASCII characters");
    let text = field.text(&expected)?;
    let is_good = (1..=N).contains(&text.value.len())
        && text.value.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    if !is_good {
        let label = format!("allowed: {expected}");
        let fault = text.place.fault("this text does not fit in a telegram", label);
        field.fault(fault.note(format!("limit from {PROTOCOL}")));
        return None;
    }
    let mut filled = [b' '; N];
    filled[..text.value.len()].copy_from_slice(text.value.as_bytes());
    Some((text.value, filled))
}

/// Reads `[[angle_deg, resolution_deg], ...]`.
fn variants(field: &Field<'_>) -> Option<Vec<Variant>> {
    let expected =
        "an array of [angle in degrees, resolution in degrees], starting with the factory setting";
    let items = field.some_items(expected, "a scanner needs at least one variant")?;
    let angle = Limit::new(0.25..=180.0, "degrees", "the LMS 2xx: half a turn of the mirror");
    let variants: Vec<_> = items
        .iter()
        .map(|item| {
            let [angle_deg, resolution_deg] = item.numbers::<2>(&angle)?;
            let variant = variant_of(angle_deg, resolution_deg);
            if variant.is_none() {
                let label = "allowed: even degrees, resolutions 0.25, 0.5 and 1";
                let title = "this is not an angle with its resolution";
                item.fault(item.place()?.fault(title, label));
            }
            variant
        })
        .collect();
    variants.into_iter().collect()
}

fn variant_of(angle_deg: f64, resolution_deg: f64) -> Option<Variant> {
    let resolution_centideg = (resolution_deg * 100.0).round() as u16;
    let is_good = angle_deg % 2.0 == 0.0
        && [25, 50, 100].contains(&resolution_centideg)
        && f64::from(resolution_centideg) == resolution_deg * 100.0;
    is_good.then_some(Variant { angle_deg: angle_deg as u16, resolution_centideg })
}

/// Reads an order of the quarters of a degree: 0, 1, 2 and 3, each once.
fn quarter_order(field: &Field<'_>) -> Option<[u8; 4]> {
    let quarter = Limit::new(0.0..=3.0, "", "quarters of a degree");
    let order = field.numbers::<4>(&quarter)?.map(|quarter| quarter as u8);
    let is_order = (0..4).all(|quarter| order.contains(&quarter));
    if !is_order {
        let label = "allowed: 0, 1, 2 and 3 in any order";
        field
            .fault(field.place()?.fault("each quarter of a degree must occur exactly once", label));
    }
    is_order.then_some(order)
}

/// Each of `rates` with its number in profiles and rigs, bits per second.
fn listed_rates(rates: &[LineRate]) -> Vec<(i128, LineRate)> {
    rates.iter().map(|rate| (rate.baud().into(), *rate)).collect()
}

/// Reads the baud rates of a profile; the first is the factory setting.
fn rates(field: &Field<'_>) -> Option<Vec<LineRate>> {
    let expected = "one or more rates, starting with the factory setting";
    let items = field.some_items(expected, "a serial line needs at least one rate")?;
    let known = listed_rates(&LineRate::ALL);
    let rates: Vec<_> =
        items.iter().map(|item| item.integer_among(&known, "baud", PROTOCOL)).collect();
    rates.into_iter().collect()
}

/// Each of `modes` with its number in profiles and rigs, the code in block D.
fn listed_modes(modes: &[MeasuringMode]) -> Vec<(i128, MeasuringMode)> {
    modes.iter().map(|mode| (mode.code().into(), *mode)).collect()
}

/// Reads the measuring modes (block D) of a profile; the first is the factory setting.
fn measuring_modes(field: &Field<'_>) -> Option<Vec<MeasuringMode>> {
    let expected = "one or more values of block D, starting with the factory setting";
    let items = field.some_items(expected, "a scanner needs at least one measuring mode")?;
    let known: Vec<_> = (0..=0xff).filter_map(MeasuringMode::from_code).collect();
    let known = listed_modes(&known);
    let modes: Vec<_> = items.iter().map(|item| item.integer_among(&known, "", PROTOCOL)).collect();
    modes.into_iter().collect()
}

/// Words for the operating modes that a scanner supports.
fn power_on_modes(driver: &SickLms2xxProfile) -> Vec<(&'static str, PowerOnMode)> {
    let has = |mode| mode != PowerOnMode::Reflectivity || driver.reflectivity.telegrams;
    PowerOnMode::WORDS.into_iter().filter(|(_, mode)| has(*mode)).collect()
}

/// Reads the password of the configuration.
fn password(field: &Field<'_>) -> Option<[u8; 8]> {
    let expected = "8 ASCII characters";
    let text = field.text(expected)?;
    let password = text.value.as_bytes().try_into().ok().filter(|bytes: &[u8; 8]| bytes.is_ascii());
    if password.is_none() {
        let fault = text.place.fault("not a password", format!("allowed: {expected}"));
        field.fault(fault.note(format!("limit from {PROTOCOL}")));
    }
    password
}

/// Reads angle and resolution. If only one of them is set, the other is the default if the scanner has that combination;
/// otherwise it comes from the first variant with the set value.
fn variant(
    table: &mut TableReader<'_>,
    driver: &SickLms2xxProfile,
    origin: &str,
) -> Option<Variant> {
    let angle = table.optional("angle_deg").meaning("Scan angle after power-on.");
    let resolution =
        table.optional("resolution_deg").meaning("Angle between two samples after power-on.");
    if angle.is_written() == resolution.is_written() {
        let Variant { angle_deg, resolution_centideg } = driver.defaults.variant;
        angle.defaults_to(angle_deg);
        resolution.defaults_to(f64::from(resolution_centideg) / 100.0);
    }
    let place: Place = angle.place().or(resolution.place())?;
    let limit = Limit::new(0.25..=180.0, "degrees", "the LMS 2xx: half a turn of the mirror");
    let (written_angle, written_resolution) = (angle.is_written(), resolution.is_written());
    let (angle, resolution) = (angle.number(&limit), resolution.number(&limit));
    if (written_angle && angle.is_none()) || (written_resolution && resolution.is_none()) {
        return None;
    }
    let degrees = |variant: &Variant| {
        (f64::from(variant.angle_deg), f64::from(variant.resolution_centideg) / 100.0)
    };
    let fits = |variant: &&Variant| {
        let (has_angle, has_resolution) = degrees(variant);
        angle.is_none_or(|angle| angle == has_angle)
            && resolution.is_none_or(|resolution| resolution == has_resolution)
    };
    let default = &driver.defaults.variant;
    let near = |variant: &&Variant| {
        variant.angle_deg == default.angle_deg
            || variant.resolution_centideg == default.resolution_centideg
    };
    let mut found: Vec<_> = driver.scan.variants.iter().filter(fits).collect();
    found.sort_by_key(|variant| !near(variant));
    if found.is_empty() {
        let list: Vec<_> = driver
            .scan
            .variants
            .iter()
            .map(degrees)
            .map(|(angle, resolution)| format!("{angle} at {resolution}"))
            .collect();
        let label = format!("allowed, degrees: {}", list.join(", "));
        let fault = place.fault("this scanner has no such angle and resolution", label);
        table.fault(fault.note(format!("limit from {origin}")));
    }
    found.first().map(|variant| **variant)
}

/// Reads a list of errors, each with type and number.
fn errors(field: &Field<'_>) -> Option<Vec<[u8; 2]>> {
    let (items, place) = field.array_of(0..=100, "an array of [type, number]")?;
    let byte = Limit::new(0.0..=255.0, "", "the wire format: one byte");
    if items.len() > 100 {
        let fault = place.fault("these are too many errors", "allowed: 100 at most");
        field.fault(fault.note(format!("limit from {PROTOCOL}")));
        return None;
    }
    let pairs: Vec<_> = items.iter().map(|item| item.numbers::<2>(&byte)).collect();
    pairs.into_iter().map(|pair| pair.map(|pair| pair.map(|number| number as u8))).collect()
}
