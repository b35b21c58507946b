//! Configuration of an Ouster: JSON values by key, each with its limits.
//!
//! Values are stored as clients write them, because clients compare the values they read with the ones they
//! wrote. Each value is checked when it is staged ([`merged`]), the configuration as a whole before it takes effect
//! ([`Effective::of`]).

use std::net::IpAddr;

use serde_json::{Map, Value, json};

use super::clock::NmeaInput;
use super::profile::{OusterProfile, OusterSettings};
use super::window::{self, ColumnWindow};
use super::words::{LidarMode, OperatingMode, ReturnOrder, TimestampMode};
use crate::wire::ouster::format::{COLUMNS, LidarFormat};

/// Keys with their values.
pub type Values = Map<String, Value>;

/// Value of a destination that stands for the address of the requesting host.
pub const AUTO: &str = "@auto";

/// Permitted values of a key.
enum Kind {
    Word(&'static [&'static str]),
    Whole(i64, i64),
    Boolean,
    /// A window: two angles in thousandths of a degree.
    Window,
    /// One of these numbers.
    Number(&'static [f64]),
    /// Text that the function accepts.
    Text(fn(&OusterProfile, &str) -> Result<(), String>),
}

const POLARITIES: Kind = Kind::Word(&["ACTIVE_HIGH", "ACTIVE_LOW"]);
const PORT: Kind = Kind::Whole(0, 65_535);
const RANGES: Kind = Kind::Word(&["NORMAL", "EXTENDED"]);
const HOST: Kind = Kind::Text(|_, address| host_of(address).map(|_| ()));

/// All keys of firmware 2.5.
const KEYS: [(&str, Kind); 23] = [
    ("azimuth_window", Kind::Window),
    ("columns_per_packet", Kind::Whole(COLUMNS as i64, COLUMNS as i64)),
    ("lidar_mode", Kind::Text(|profile, word| lidar_mode_of(profile, word).map(|_| ()))),
    (
        "multipurpose_io_mode",
        Kind::Word(&[
            "OFF",
            "INPUT_NMEA_UART",
            "OUTPUT_FROM_INTERNAL_OSC",
            "OUTPUT_FROM_SYNC_PULSE_IN",
            "OUTPUT_FROM_PTP_1588",
            "OUTPUT_FROM_ENCODER_ANGLE",
        ]),
    ),
    ("nmea_baud_rate", Kind::Word(&["BAUD_9600", "BAUD_115200"])),
    ("nmea_ignore_valid_char", Kind::Whole(0, 1)),
    ("nmea_in_polarity", POLARITIES),
    ("nmea_leap_seconds", Kind::Whole(-100, 100)),
    ("operating_mode", Kind::Word(&["NORMAL", "STANDBY"])),
    ("phase_lock_enable", Kind::Boolean),
    ("phase_lock_offset", Kind::Whole(0, 360_000)),
    ("signal_multiplier", Kind::Number(&window::MULTIPLIERS)),
    ("sync_pulse_in_polarity", POLARITIES),
    ("sync_pulse_out_angle", Kind::Whole(0, 360)),
    ("sync_pulse_out_frequency", Kind::Whole(1, 1000)),
    ("sync_pulse_out_polarity", POLARITIES),
    ("sync_pulse_out_pulse_width", Kind::Whole(0, 1000)),
    ("timestamp_mode", Kind::Text(|_, word| timestamp_mode_of(word).map(|_| ()))),
    ("udp_dest", HOST),
    ("udp_port_imu", PORT),
    ("udp_port_lidar", PORT),
    ("udp_profile_imu", Kind::Word(&["LEGACY"])),
    ("udp_profile_lidar", Kind::Text(|profile, word| format_of(profile, word).map(|_| ()))),
];

/// Keys of firmware 2.5 that firmware 2.0 lacks.
const NOT_YET: [&str; 4] =
    ["columns_per_packet", "signal_multiplier", "udp_profile_imu", "udp_profile_lidar"];

/// Additional keys of firmware 2.0 that later keys replaced: the flag for the operating mode, and the destination.
const EARLY_KEYS: [(&str, Kind); 2] = [(AUTO_START, Kind::Whole(0, 1)), (UDP_IP, HOST)];
const AUTO_START: &str = "auto_start_flag";
const UDP_IP: &str = "udp_ip";

/// Keys that firmware 3.1 added.
const LATER_KEYS: [(&str, Kind); 4] = [
    ("accel_fsr", RANGES),
    ("gyro_fsr", RANGES),
    ("min_range_threshold_cm", Kind::Whole(0, 50)),
    (
        "return_order",
        Kind::Word(&[
            "STRONGEST_TO_WEAKEST",
            "FARTHEST_TO_NEAREST",
            "NEAREST_TO_FARTHEST",
            "STRONGEST_RETURN_FIRST",
            "LAST_RETURN_FIRST",
        ]),
    ),
];

/// Effect of a configuration on the unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Effective {
    pub lidar_mode: LidarMode,
    pub format: LidarFormat,
    pub window: ColumnWindow,
    pub timestamp_mode: TimestampMode,
    pub operating_mode: OperatingMode,
    pub order: ReturnOrder,
    pub signal_multiplier: f64,
    /// Angle of the rotor at each whole second, rotations clockwise from the connector; `None` without phase lock.
    pub phase_turn: Option<f64>,
    /// Smallest reported range from the beam's origin, metres.
    pub blanked_m: f64,
    /// Destination of packets; `None`: no packets.
    pub host: Option<IpAddr>,
    /// UDP ports of lidar and IMU packets; 0 sends none.
    pub ports: [u16; 2],
    /// Settings of NMEA input; `None` if sentences are ignored.
    pub nmea: Option<NmeaInput>,
}

/// Configuration at power-on with a rig's `settings`; packets go to `host`.
pub fn at_power_on(
    profile: &OusterProfile,
    settings: &OusterSettings,
    host: IpAddr,
    ports: [u16; 2],
) -> Values {
    let multiplier = match settings.signal_multiplier {
        whole if whole.fract() == 0.0 => json!(whole as u64),
        part => json!(part),
    };
    let io = if settings.reads_nmea { "INPUT_NMEA_UART" } else { "OFF" };
    let baud = if settings.nmea_baud == 9600 { "BAUD_9600" } else { "BAUD_115200" };
    let values = json!({
        "azimuth_window": settings.azimuth_window_mdeg,
        "columns_per_packet": COLUMNS,
        "lidar_mode": settings.lidar_mode.word(),
        "multipurpose_io_mode": io,
        "nmea_baud_rate": baud,
        "nmea_ignore_valid_char": 0,
        "nmea_in_polarity": "ACTIVE_HIGH",
        "nmea_leap_seconds": settings.nmea_leap_seconds,
        "operating_mode": settings.operating_mode.word(),
        "phase_lock_enable": settings.phase_lock_enable,
        "phase_lock_offset": settings.phase_lock_offset_mdeg,
        "signal_multiplier": multiplier,
        "sync_pulse_in_polarity": "ACTIVE_HIGH",
        "sync_pulse_out_angle": 360,
        "sync_pulse_out_frequency": 1,
        "sync_pulse_out_polarity": "ACTIVE_HIGH",
        "sync_pulse_out_pulse_width": 10,
        "timestamp_mode": settings.timestamp_mode.word(),
        "udp_dest": host.to_string(),
        "udp_port_imu": ports[1],
        "udp_port_lidar": ports[0],
        "udp_profile_imu": "LEGACY",
        "udp_profile_lidar": settings.lidar_format.name(),
    });
    let mut values = crate::decoder::object_of(values);
    if profile.interface.has_return_order {
        values.insert("accel_fsr".into(), json!("NORMAL"));
        values.insert("gyro_fsr".into(), json!("NORMAL"));
        values.insert("min_range_threshold_cm".into(), json!(50));
        values.insert("return_order".into(), json!(settings.return_order.word()));
    }
    if profile.interface.has_tcp_commands {
        values.retain(|key, _| !NOT_YET.contains(&key.as_str()));
        values.insert(AUTO_START.into(), Value::Null);
        values.insert(UDP_IP.into(), Value::Null);
        repeat_in_early_words(&mut values);
    }
    values
}

/// Sets the keys of firmware 2.0 (`auto_start_flag`, `udp_ip`) from the values of the newer keys that replaced them.
fn repeat_in_early_words(values: &mut Values) {
    let is_on = values["operating_mode"] == OperatingMode::Normal.word();
    values.insert(AUTO_START.into(), json!(u8::from(is_on)));
    values.insert(UDP_IP.into(), values["udp_dest"].clone());
}

/// Applies changes of `auto_start_flag` and `udp_ip` to the newer keys that replaced them. If a key of firmware 2.0 and
/// its replacement both change, the replacement has priority.
fn take_early_words(old: &Values, values: &mut Values) {
    if old["operating_mode"] == values["operating_mode"] && old[AUTO_START] != values[AUTO_START] {
        let is_on = values[AUTO_START] == 1;
        let mode = if is_on { OperatingMode::Normal } else { OperatingMode::Standby };
        values.insert("operating_mode".into(), json!(mode.word()));
    }
    if old["udp_dest"] == values["udp_dest"] && old[UDP_IP] != values[UDP_IP] {
        values.insert("udp_dest".into(), values[UDP_IP].clone());
    }
    repeat_in_early_words(values);
}

/// Returns `values` with the changes of `wanted`. A destination `@auto` becomes the address `caller`. Each value is
/// checked, but not whether the values go together.
///
/// # Errors
/// Returns a description of the first value that the unit does not support.
pub fn merged(
    profile: &OusterProfile,
    values: &Values,
    wanted: &Values,
    caller: IpAddr,
) -> Result<Values, String> {
    let mut merged = values.clone();
    for (key, value) in wanted {
        let kind = kind_of(profile, key).ok_or_else(|| unknown(key))?;
        let value = match (key.as_str(), value.as_str()) {
            ("udp_dest" | UDP_IP, Some(AUTO)) => json!(caller.to_canonical().to_string()),
            _ => value.clone(),
        };
        check(profile, key, &kind.1, &value)?;
        merged.insert(key.clone(), value);
    }
    if profile.interface.has_tcp_commands {
        take_early_words(values, &mut merged);
    }
    Ok(merged)
}

/// Refusal of an unknown parameter.
pub(super) fn unknown(key: &str) -> String {
    format!("no parameter {key}")
}

/// Parses a host's text, which must be a JSON object, as keys and values.
///
/// # Errors
/// Returns the reason why the text is not an object.
pub fn object(text: &[u8]) -> Result<Values, String> {
    serde_json::from_slice(text).map_err(|error| format!("not an object: {error}"))
}

/// Whether a firmware has a parameter.
pub(super) fn has(profile: &OusterProfile, key: &str) -> bool {
    kind_of(profile, key).is_some()
}

fn kind_of(profile: &OusterProfile, key: &str) -> Option<&'static (&'static str, Kind)> {
    let is_early = profile.interface.has_tcp_commands;
    let later = LATER_KEYS.iter().filter(|_| profile.interface.has_return_order);
    let early = EARLY_KEYS.iter().filter(|_| is_early);
    let keys = KEYS.iter().filter(|(name, _)| !is_early || !NOT_YET.contains(name));
    keys.chain(later).chain(early).find(|(name, _)| *name == key)
}

fn check(profile: &OusterProfile, key: &str, kind: &Kind, value: &Value) -> Result<(), String> {
    let wrong = |allowed: String| Err(format!("{key} cannot be {value}; allowed: {allowed}"));
    let whole = |value: &Value, low: i64, high: i64| {
        value.as_i64().is_some_and(|number| (low..=high).contains(&number))
    };
    match kind {
        Kind::Word(words) if value.as_str().is_some_and(|word| words.contains(&word)) => Ok(()),
        Kind::Word(words) => wrong(words.join(", ")),
        Kind::Whole(low, high) if whole(value, *low, *high) => Ok(()),
        Kind::Whole(low, high) => wrong(format!("{low} to {high}")),
        Kind::Boolean if value.is_boolean() => Ok(()),
        Kind::Boolean => wrong("true, false".to_owned()),
        Kind::Window => match value.as_array().map(Vec::as_slice) {
            Some([from, to]) if whole(from, 0, 360_000) && whole(to, 0, 360_000) => Ok(()),
            _ => wrong("two angles of 0 to 360000".to_owned()),
        },
        Kind::Number(all) if value.as_f64().is_some_and(|number| all.contains(&number)) => Ok(()),
        Kind::Number(all) => wrong(all.iter().map(f64::to_string).collect::<Vec<_>>().join(", ")),
        Kind::Text(accepts) => match value.as_str() {
            Some(text) => accepts(profile, text),
            None => wrong("text".to_owned()),
        },
    }
}

fn lidar_mode_of(profile: &OusterProfile, word: &str) -> Result<LidarMode, String> {
    let mode = LidarMode::of_word(word).filter(|mode| profile.modes.contains(mode));
    mode.ok_or_else(|| format!("lidar_mode cannot be {word}"))
}

fn format_of(profile: &OusterProfile, word: &str) -> Result<LidarFormat, String> {
    let format = profile.packet.formats.iter().copied().find(|format| format.name() == word);
    format.ok_or_else(|| format!("udp_profile_lidar cannot be {word}"))
}

fn timestamp_mode_of(word: &str) -> Result<TimestampMode, String> {
    let mode = TimestampMode::WORDS.into_iter().find(|(own, _)| *own == word);
    mode.map(|(_, mode)| mode).ok_or_else(|| format!("timestamp_mode cannot be {word}"))
}

/// The destination that `address` names; `None` for an empty text, with which nothing is sent.
fn host_of(address: &str) -> Result<Option<IpAddr>, String> {
    match address {
        "" => Ok(None),
        address => address.parse::<IpAddr>().map(Some).map_err(|_| {
            format!("the destination cannot be {address}; allowed: an IP address, {AUTO}, \"\"")
        }),
    }
}

impl Effective {
    /// Derives the effective settings from the configuration `values`, which has only known keys.
    ///
    /// # Errors
    /// Returns a description of the value that is unsupported or does not go with the others.
    pub fn of(profile: &OusterProfile, values: &Values) -> Result<Self, String> {
        let text = |key: &str| values.get(key).and_then(Value::as_str).unwrap_or_default();
        let whole = |key: &str| values.get(key).and_then(Value::as_i64).unwrap_or_default();
        let lidar_mode = lidar_mode_of(profile, text("lidar_mode"))?;
        // Firmware without the key `udp_profile_lidar` has one packet format.
        let only = profile.packet.formats[0].name();
        let wanted = values.get("udp_profile_lidar").and_then(Value::as_str).unwrap_or(only);
        let format = format_of(profile, wanted)?;
        profile.check_rate(format, lidar_mode)?;
        let end = |place: usize| {
            let ends = values.get("azimuth_window").and_then(Value::as_array);
            let end = ends.and_then(|ends| ends.get(place)).and_then(Value::as_u64);
            end.unwrap_or_default() as u32
        };
        let ends = [end(0), end(1)];
        let window = window::columns(ends, lidar_mode.columns())
            .ok_or_else(|| format!("azimuth_window {ends:?} contains no column"))?;
        let multiplier = values.get("signal_multiplier").and_then(Value::as_f64);
        let signal_multiplier = multiplier.unwrap_or(1.0);
        window::check_multiplier(signal_multiplier, ends)?;
        let timestamp_mode = timestamp_mode_of(text("timestamp_mode"))?;
        let is_locked = values.get("phase_lock_enable").and_then(Value::as_bool) == Some(true);
        if is_locked && timestamp_mode == TimestampMode::InternalOsc {
            return Err("phase_lock_enable needs a timestamp_mode of an outer clock".to_owned());
        }
        let host = host_of(text("udp_dest"))?;
        let port = |key: &str| whole(key) as u16;
        let phase_turn = 1.0 - whole("phase_lock_offset") as f64 / 360_000.0;
        Ok(Self {
            lidar_mode,
            format,
            window,
            timestamp_mode,
            operating_mode: match text("operating_mode") {
                "STANDBY" => OperatingMode::Standby,
                _ => OperatingMode::Normal,
            },
            order: match text("return_order") {
                "FARTHEST_TO_NEAREST" | "LAST_RETURN_FIRST" => ReturnOrder::FarthestToNearest,
                "NEAREST_TO_FARTHEST" => ReturnOrder::NearestToFarthest,
                _ => ReturnOrder::StrongestToWeakest,
            },
            signal_multiplier,
            phase_turn: is_locked.then(|| phase_turn.rem_euclid(1.0)),
            blanked_m: {
                let from_axis_m = whole("min_range_threshold_cm") as f64 / 100.0;
                (from_axis_m - profile.geometry.beam_origin_m).max(0.0)
            },
            host,
            ports: [port("udp_port_lidar"), port("udp_port_imu")],
            nmea: (text("multipurpose_io_mode") == "INPUT_NMEA_UART").then(|| NmeaInput {
                baud: if text("nmea_baud_rate") == "BAUD_115200" { 115_200 } else { 9600 },
                leap_s: whole("nmea_leap_seconds") as i32,
                takes_invalid: whole("nmea_ignore_valid_char") == 1,
            }),
        })
    }
}
