//! Firmware profile of a GNSS receiver, and its settings in a rig.
//!
//! Types and their keys come first, then the readers of single keys.

use super::settings_read::{PROFILES, RECEIVER, accuracy, acquisition, sky, up_to};
use super::ubx_outputs::UBX_OUTPUTS;
use crate::config::profile::lag;
use crate::config::toml::key_types::{
    Among, By, Degrees, Maybe, NumberOr, OneOf, Table, Time, TrueOrFalse, Whole, plain, shortest,
};
use crate::config::toml::keys::{Keys, SharedKeys};
use crate::config::toml::reader::{Field, Limit, TableReader};
use crate::frames::Geodetic;
use crate::sensors::gnss::almanac::Almanac;
use crate::sensors::gnss::settings::{GnssSystem, ReceiverSettings};
use std::sync::Arc;

/// Commands and formats of a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GnssDialect {
    /// u-blox generation 8: NMEA, UBX, old configuration messages.
    Ublox8,
    /// u-blox generation 9: like 8, and also configuration items.
    Ublox9,
    /// u-blox generation 10: NMEA, UBX, configuration by items only.
    Ublox10,
    /// Garmin: NMEA, `PGRM` commands.
    Garmin,
    /// NMEA output only; no commands.
    Plain,
}

/// NMEA version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NmeaVersion {
    /// Version 2.0: no mode fields.
    V2_0,
    /// Version 2.3, and version 4.0 as receivers implement it: with mode fields.
    V2_3,
    /// Version 4.10: with system and signal numbers and navigation status.
    V4_10,
    /// Version 4.11: like 4.10, with a number for BeiDou's second signal, a mode letter for QZSS in GNS, and in each
    /// group of GSV only the satellites that are tracked on its signal.
    V4_11,
}

/// A sentence of a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SentenceKind {
    /// Position, speed, course, date.
    Rmc,
    /// Course and speed.
    Vtg,
    /// Position and quality.
    Gga,
    /// Satellites used.
    Gsa,
    /// Satellites in view.
    Gsv,
    /// Position.
    Gll,
    /// Standard deviations.
    Gst,
    /// Time and date.
    Zda,
    /// Position by several systems.
    Gns,
    /// Fault detection.
    Gbs,
    /// Garmin: estimated errors.
    Pgrme,
    /// Garmin: sensor status, once per minute.
    Pgrmt,
}

/// A port to which a line can be connected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LinePort {
    /// The first UART.
    #[default]
    Uart1,
    /// The second UART of a ZED-F9P; factory setting: RTCM 3 only.
    Uart2,
    /// USB.
    Usb,
}

words!(LinePort: "uart1" => Uart1, "uart2" => Uart2, "usb" => Usb);
words!(GnssDialect:
    "ublox-8" => Ublox8, "ublox-9" => Ublox9, "ublox-10" => Ublox10, "garmin" => Garmin,
    "plain" => Plain);
words!(NmeaVersion: "2.0" => V2_0, "2.3" => V2_3, "4.10" => V4_10, "4.11" => V4_11);
words!(SentenceKind:
    "RMC" => Rmc, "VTG" => Vtg, "GGA" => Gga, "GSA" => Gsa, "GSV" => Gsv, "GLL" => Gll,
    "GST" => Gst, "ZDA" => Zda, "GNS" => Gns, "GBS" => Gbs, "PGRME" => Pgrme, "PGRMT" => Pgrmt);

keys! {
    /// A GNSS receiver's firmware.
    #[derive(Clone, Debug, PartialEq)]
    pub struct GnssProfile {
        /// Hardware of the GNSS receiver.
        pub receiver: GnssHardware, Table("[receiver]");
        /// Identity that the product reports.
        pub identity: GnssIdentity, Table("[identity]");
        /// Format of sentences.
        pub nmea: NmeaFormat, Table("[nmea]");
        /// Default settings of a unit.
        pub defaults as "settings": GnssSettings, By(|field: &Field<'_>| {
            let version = identity.as_ref().and_then(GnssIdentity::protocol_version);
            default_settings(field, receiver.as_ref()?, version, nmea.as_ref()?)
        });
    }
}

keys! {
    /// Hardware of a receiver.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct GnssHardware {
        /// Set of commands and format of outputs.
        pub dialect: GnssDialect, OneOf(&GnssDialect::WORDS, PROFILES);
        /// The highest rate of solutions.
        pub min_period_ns as "max_rate_hz": u64, By(|field: &Field<'_>| {
            let rate = Limit::new(0.1..=50.0, "Hz", PROFILES);
            field.number_that_limits(&rate).map(|hz| whole_ms(1e9 / hz))
        });
        /// Size of the transmit buffer; output that does not fit is lost.
        pub tx_buffer_bytes: usize, Limit::new(256..=65_536, "bytes", PROFILES);
        /// Time from a command's last byte to the first byte of the answer.
        pub reply_delay_ns as "reply_delay_ms": u64, Time(up_to(1000.0, "ms"), 1e6);
        /// Undocumented bits that real units set in NAV-PVT, in `valid` and `flags2`.
        pub pvt_extra_bits: [u8; 2],
            Whole(Limit::new(0..=255, "", "the wire format: one byte"));
    }
}

keys! {
    /// Identity that a receiver reports.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct GnssIdentity {
        /// The software's version.
        pub software: String, By(line);
        /// The hardware's version.
        pub hardware: String, By(line);
        /// Further lines of u-blox's MON-VER.
        pub extensions: Vec<String>, By(lines);
        /// TXT sentences after a start.
        pub boot_text: Vec<String>, By(lines);
    }
}

fn digits() -> Limit<i128> {
    Limit::new(0..=7, "digits", PROFILES)
}

keys! {
    /// Format of sentences.
    #[derive(Clone, Debug, PartialEq)]
    pub struct NmeaFormat {
        /// The version of NMEA 0183, as receivers write it.
        pub version: NmeaVersion, OneOf(&NmeaVersion::WORDS, PROFILES);
        /// All sentences of the receiver, in the order of output.
        pub order: Vec<SentenceKind>,
            By(|field: &Field<'_>| field.choices(&SentenceKind::WORDS, PROFILES));
        /// Digits of a minute of latitude and longitude.
        pub position_decimals: u8, digits();
        /// Digits of a metre.
        pub altitude_decimals: u8, digits();
        /// Digits of a second.
        pub time_decimals: u8, digits();
        /// Digits of a DOP.
        pub dop_decimals: u8, digits();
        /// The largest number of satellites in GGA and GNS.
        pub max_satellites: u8, Limit::new(1..=99, "satellites", "NMEA: two digits");
        /// Satellite systems of the receiver, each with the NMEA numbers of its one or two signals.
        pub signals: Vec<(GnssSystem, Vec<String>)>,
            By(|field: &Field<'_>| field.table("`signals`").and_then(signals));
        /// The magnetic declination in RMC, east positive, or "none" for empty fields.
        pub declination_deg: Option<f64>,
            NumberOr(Limit::new(-180.0..=180.0, "degrees", PROFILES), "none", PROFILES);
    }
}

keys! {
    in profile and rig with (scope: &Scope<'_>);
    /// Settings of a GNSS receiver in a rig; the profile has the defaults.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct GnssSettings {
        /// Outputs per second.
        pub period_ns as "rate_hz": u64 => |all, keys| rate(all, keys, scope);
        /// Port of the receiver at the end of the link. `baud_rate`, `sentences` and `messages` set this port.
        pub port: LinePort => |all, keys| port(all, keys, scope);
        /// Rate of the serial line after power-on.
        pub baud as "baud_rate": u32 => baud_rate;
        /// NMEA sentences that are sent every epoch.
        pub sentences: Vec<SentenceKind> => |all, keys| {
            let words: Vec<_> = all.sentences.iter().map(|kind| kind.word()).collect();
            let read = |field: &Field<'_>| sentences(field, scope.nmea);
            keys.with_default("sentences", words, &mut all.sentences, read);
        };
        /// UBX and RTCM messages that are sent every epoch.
        pub messages: Vec<String> => |all, keys| ublox_messages(all, keys, scope);
        /// Whether positions in NMEA sentences have more digits.
        pub high_precision: bool => |all, keys| high_precision(all, keys, scope);
        /// Rate and output of the second UART, if the link leads to another port.
        pub uart2: Option<PortOutput> => |all, keys| uart2(all, keys, scope);
        /// Time from the epoch to its first byte.
        pub latency_ns as "latency_ms": u64, Time(up_to(1000.0, "ms"), 1e6);
        /// Output latency in addition to the product's own delay.
        pub lag_ns as "lag_ms": u64, lag::key();
        /// Below this speed the course is left empty.
        pub min_course_speed_m_s: f64, up_to(10.0, "m/s");
        /// The leap seconds that the firmware assumes until it receives them.
        pub firmware_leap_s: i8, Limit::new(0..=127, "s", "the wire format: one signed byte");
        /// Day at whose end a leap second (23:59:60) is inserted into UTC; satellites announce it. The run's own UTC
        /// has no leap second: afterwards the receiver is one second behind it.
        pub leap_second_on: Option<jiff::civil::Date> =>
            |all, keys| keys.maybe("leap_second_on", &mut all.leap_second_on, |field| field.date());
        /// First of the 1024 GPS weeks that the receiver can represent (default: the firmware's). With an old week, its
        /// date is 1024 weeks behind.
        pub week_base: Option<u16> => |all, keys| {
            let weeks = Limit::new(1..=9999, "", "GPS weeks since 1980");
            keys.maybe("week_base", &mut all.week_base, |field| field.integer(&weeks));
        };
        /// Position of a base station from power-on: a survey (`survey_s`, `accuracy_m`) or a known position
        /// (`latitude_deg`, `longitude_deg`, `altitude_m`). Hosts can change it by CFG-TMODE.
        pub base_station: Option<BaseStation> => |all, keys| {
            if scope.has_rtk() && !keys.is_profile() {
                keys.maybe("base_station", &mut all.base_station, base_station);
            }
        };
        /// PPS (time pulse).
        pub pulse: PulseSettings =>
            |all, keys| keys.table("pulse", "`pulse`", &mut all.pulse, SharedKeys::read);
        /// Settings of reception: the physics.
        pub receiver: ReceiverSettings => |all, keys| {
            reception(&mut all.receiver, keys, scope);
            accuracy(&mut all.receiver, keys);
        };
    }
}

keys! {
    with (scope: &Scope<'_>);
    /// Baud rate and output of a port at power-on.
    #[derive(Clone, Debug, PartialEq)]
    pub struct PortOutput {
        /// Baud rate of the second UART after power-on (default: 38400).
        pub baud as "baud_rate": u32 = UART2_BAUD, By(|field: &Field<'_>| {
            field.integer_among(&plain(BAUD_RATES), "baud", "UARTs")
        });
        /// NMEA sentences that the second UART sends every epoch.
        pub sentences: Vec<SentenceKind> = Vec::new(),
            By(|field: &Field<'_>| sentences(field, scope.nmea));
        /// UBX and RTCM messages that the second UART sends every epoch.
        pub messages: Vec<String> = Vec::new(),
            By(|field: &Field<'_>| messages(field, scope));
    }
}

/// Source of a base station's position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BaseStation {
    /// A survey.
    Survey {
        /// Minimum duration of the survey, seconds.
        least_s: u32,
        /// Largest error at which the survey ends, metres.
        accuracy_m: f64,
    },
    /// A known position of the antenna.
    Fixed(Geodetic),
}

keys! {
    /// Keys of `base_station`: those for a survey and those for a position.
    #[derive(Debug)]
    pub struct BaseStationKeys {
        /// Least duration of the survey.
        pub survey_s: Option<u32> = None, Maybe(Limit::new(1..=86_400, "s", RECEIVER));
        /// Largest error at which the survey ends, after `survey_s` (default: 2 m).
        pub accuracy_m: Option<f64> = None, Maybe(Limit::new(0.001..=1000.0, "m", RECEIVER));
        /// Latitude of the antenna.
        pub latitude_deg: Option<f64> = None, Maybe(Limit::new(-90.0..=90.0, "degrees", "geometry"));
        /// Longitude of the antenna.
        pub longitude_deg: Option<f64> = None,
            Maybe(Limit::new(-180.0..=180.0, "degrees", "geometry"));
        /// Height of the antenna above the ellipsoid.
        pub altitude_m: Option<f64> = None, Maybe(Limit::new(-1000.0..=10_000.0, "m", RECEIVER));
    }
}

keys! {
    in profile and rig;
    /// PPS (time pulse) of a GNSS receiver.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct PulseSettings {
        /// Whether the receiver has a PPS (time pulse).
        pub is_enabled as "enabled": bool, TrueOrFalse;
        /// Length of the pulse.
        pub width_ns as "width_ms": u64,
            Time(Limit::new(1.0..=999.0, "ms", "the pulse's period: 1 s"), 1e6);
        /// Time from the first fix until the pulse starts.
        pub after_fix_ns as "after_fix_s": u64, Time(up_to(86_400.0, "s"), 1e9);
        /// Standard deviation of the pulse's edges.
        pub jitter_std_ns: f64, up_to(1e6, "ns");
        /// Period of the receiver's clock; the pulse starts at one of its edges.
        pub quantum_ns: f64, up_to(1e6, "ns");
    }
}

keys! {
    in profile and rig; for ReceiverSettings as fn reception(scope: &Scope<'_>);
    /// Satellite systems in use.
    systems => |all, keys| {
        let words: Vec<_> = all.systems.iter().map(|system| system.word()).collect();
        let read = |field: &Field<'_>| systems(field, scope.nmea);
        keys.with_default("systems", words, &mut all.systems, read);
    };
    /// Satellites lower than this are not used.
    mask_rad as "mask_deg", Degrees(Limit::new(0.0..=89.0, "degrees", "geometry"));
    /// A YUMA almanac of GPS, instead of synthetic orbits.
    almanac => |all, keys| keys.maybe("almanac", &mut all.almanac, almanac);
    /// Height of the geoid above the ellipsoid (default: that of EGM2008).
    geoid_separation_m => |all, keys| {
        let geoid = Limit::new(-120.0..=120.0, "m", "the geoid: -107 to 86 m");
        let read = |field: &Field<'_>| field.number(&geoid);
        keys.maybe("geoid_separation_m", &mut all.geoid_separation_m, read);
    };
    /// Averaging window: the true value is averaged over this time before the epoch.
    window_ns as "window_ms", Time(up_to(10_000.0, "ms"), 1e6);
    /// Time for which the position is extrapolated after the loss of a fix.
    coast_ns as "coast_s", Time(up_to(86_400.0, "s"), 1e9);
    /// Time from the first time fix until the leap seconds are received.
    leap_known_after_ns as "leap_known_after_s", Time(up_to(86_400.0, "s"), 1e9);
    /// Course from power-on to a fix.
    acquisition => |all, keys| keys.shared_table("acquisition", "`acquisition`", &mut all.acquisition, |all, keys| {
        acquisition(all, keys, scope.has_rtk());
    });
    /// Reception of satellites.
    sky => |all, keys| keys.shared_table("sky", "`sky`", &mut all.sky, sky);
}

impl GnssIdentity {
    /// Protocol version of a u-blox receiver (PROTVER), times 100; `None` for others.
    pub fn protocol_version(&self) -> Option<u32> {
        let text = self.extensions.iter().find_map(|e| e.strip_prefix("PROTVER="))?;
        let (whole, hundredths) = text.split_once('.')?;
        Some(whole.parse::<u32>().ok()? * 100 + hundredths.parse::<u32>().ok()?)
    }
}

impl GnssProfile {
    /// Protocol version of a u-blox receiver (PROTVER), times 100; `None` for others.
    pub fn protocol_version(&self) -> Option<u32> {
        self.identity.protocol_version()
    }

    /// Whether the firmware has the message `name`.
    pub fn has_message(&self, name: &str) -> bool {
        self.receiver.dialect.has_message(self.protocol_version(), name)
    }

    /// Satellite systems of the hardware, in the order of the profile.
    pub fn systems(&self) -> impl Iterator<Item = GnssSystem> {
        self.nmea.signals.iter().map(|(system, _)| *system)
    }
}

impl LinePort {
    /// u-blox's port number.
    pub fn number(self) -> u8 {
        match self {
            Self::Uart1 => 1,
            Self::Uart2 => 2,
            Self::Usb => 3,
        }
    }
}

impl GnssDialect {
    /// Ports of receivers with this dialect to which a line can be connected.
    pub fn line_ports(self) -> &'static [LinePort] {
        match self {
            Self::Ublox8 => &[LinePort::Uart1, LinePort::Usb],
            Self::Ublox9 => &[LinePort::Uart1, LinePort::Uart2, LinePort::Usb],
            Self::Ublox10 | Self::Garmin | Self::Plain => &[LinePort::Uart1],
        }
    }

    /// Whether receivers with this dialect support UBX.
    pub fn is_ublox(self) -> bool {
        self.column().is_some()
    }

    /// Whether the receiver has configuration items.
    pub fn has_items(self) -> bool {
        matches!(self, Self::Ublox9 | Self::Ublox10)
    }

    /// Column of a u-blox generation in tables: 0, 1, 2 for 8, 9, 10; `None` for other makers.
    pub fn column(self) -> Option<usize> {
        match self {
            Self::Ublox8 => Some(0),
            Self::Ublox9 => Some(1),
            Self::Ublox10 => Some(2),
            Self::Garmin | Self::Plain => None,
        }
    }
}

/// Baud rates that receivers and hosts support.
const BAUD_RATES: [u32; 9] =
    [4800, 9600, 19_200, 38_400, 57_600, 115_200, 230_400, 460_800, 921_600];

/// Factory rate of UART2.
const UART2_BAUD: u32 = 38_400;

/// Properties of a profile that the readers of its settings need.
pub struct Scope<'a> {
    hardware: &'a GnssHardware,
    /// Protocol version, times 100.
    version: Option<u32>,
    nmea: &'a NmeaFormat,
}

impl<'a> Scope<'a> {
    /// Properties of a complete profile.
    pub(super) fn of(profile: &'a GnssProfile) -> Self {
        let (hardware, nmea) = (&profile.receiver, &profile.nmea);
        Self { hardware, version: profile.protocol_version(), nmea }
    }

    /// Whether receivers with this dialect use RTCM corrections, which then determine the kind of fix.
    fn has_rtk(&self) -> bool {
        self.hardware.dialect == GnssDialect::Ublox9
    }

    /// Whether a rig can choose `port`.
    fn is_multiport(&self, keys: &Keys<'_>) -> bool {
        !keys.is_profile() && self.hardware.dialect.line_ports().len() > 1
    }
}

/// Reads `[settings]` of a profile.
fn default_settings(
    field: &Field<'_>,
    hardware: &GnssHardware,
    version: Option<u32>,
    nmea: &NmeaFormat,
) -> Option<GnssSettings> {
    let mut keys = Keys::of_profile(field.table("[settings]")?);
    let mut all = GnssSettings::default();
    all.read_keys(&mut keys, &Scope { hardware, version, nmea });
    keys.finish().map(|()| all)
}

/// Reads a text that can be sent in an NMEA sentence: at most 64 printable ASCII characters without reserved ones.
fn line(field: &Field<'_>) -> Option<String> {
    let expected = "up to 64 printable ASCII characters without comma, $, * and \\";
    let text = field.text(expected)?;
    let fits = |c: char| (' '..='~').contains(&c) && !",$*\\".contains(c);
    if text.value.len() > 64 || !text.value.chars().all(fits) {
        let title = "this text cannot be sent in an NMEA sentence";
        field.fault(text.place.fault(title, format!("allowed: {expected}")));
        return None;
    }
    Some(text.value)
}

/// Reads an array of texts that can be sent in NMEA sentences.
fn lines(field: &Field<'_>) -> Option<Vec<String>> {
    let (items, _) = field.array("an array of texts")?;
    let lines: Vec<_> = items.iter().map(line).collect();
    lines.into_iter().collect()
}

/// Reads `{ gps = ["1", "6"] }`: the receiver's systems, each with one or two signals.
fn signals(mut table: TableReader<'_>) -> Option<Vec<(GnssSystem, Vec<String>)>> {
    let mut all = Vec::new();
    for ((word, system), name) in
        GnssSystem::WORDS.into_iter().zip(["GPS", "GLONASS", "Galileo", "BeiDou"])
    {
        let says = format!("NMEA numbers of the {name} signals; \"\" is an empty field.");
        let field = table.optional(word).meaning(&says);
        if !field.is_written() {
            continue;
        }
        let expected = "one or two of NMEA's signal numbers, each at most one character";
        let (items, place) = field.array_of(1..=2, expected)?;
        let numbers: Option<Vec<String>> = items.iter().map(line).collect();
        let numbers = numbers?;
        if !(1..=2).contains(&numbers.len()) || numbers.iter().any(|number| number.len() > 1) {
            field.fault(place.fault("not a list of signals", format!("allowed: {expected}")));
            return None;
        }
        all.push((system, numbers));
    }
    if all.is_empty() {
        let label = "allowed: one or more of gps, glonass, galileo, beidou";
        table.fault(
            table.place().fault("a GNSS receiver needs at least one satellite system", label),
        );
    }
    table.finish();
    (!all.is_empty()).then_some(all)
}

/// Reads `rate_hz`.
fn rate(all: &mut GnssSettings, keys: &mut Keys<'_>, scope: &Scope<'_>) {
    let max_hz = (1e9 / scope.hardware.min_period_ns as f64 * 1e3).round() / 1e3;
    let rate = Limit::new(0.1..=max_hz, "Hz", "the profile, max_rate_hz");
    let rate_hz = shortest(1e9 / all.period_ns as f64);
    keys.with_default("rate_hz", rate_hz, &mut all.period_ns, |field| {
        field.number(&rate).map(|hz| whole_ms(1e9 / hz))
    });
}

/// Reads `port`. If it is UART2, `sentences` and `messages` are empty by default.
fn port(all: &mut GnssSettings, keys: &mut Keys<'_>, scope: &Scope<'_>) {
    if !scope.is_multiport(keys) {
        return;
    }
    let ports = scope.hardware.dialect.line_ports();
    let words: Vec<_> =
        LinePort::WORDS.into_iter().filter(|(_, port)| ports.contains(port)).collect();
    keys.choice("port", &words, RECEIVER, &mut all.port);
    if all.port == LinePort::Uart2 {
        all.sentences.clear();
        all.messages.clear();
    }
}

/// Reads `baud_rate`, which USB does not have.
fn baud_rate(all: &mut GnssSettings, keys: &mut Keys<'_>) {
    keys.table.was_called("baud", "baud_rate");
    if all.port != LinePort::Usb {
        keys.typed("baud_rate", &Among(&plain(BAUD_RATES), "baud", "UARTs"), &mut all.baud);
    } else if let Some(place) = keys.table.take_unlisted("baud_rate") {
        let label = "remove `baud_rate`, or choose another `port`";
        keys.table.fault(place.fault("USB has no baud rate", label));
    }
}

/// Reads `uart2`: rate and output of UART2 if the link leads to another port.
fn uart2(all: &mut GnssSettings, keys: &mut Keys<'_>, scope: &Scope<'_>) {
    let has_uart2 = scope.hardware.dialect.line_ports().contains(&LinePort::Uart2);
    if !has_uart2 || !scope.is_multiport(keys) {
        return;
    }
    let field = keys.table.optional("uart2");
    if let Some(place) = field.place().filter(|_| all.port == LinePort::Uart2) {
        let title = "`uart2` conflicts with a link on UART2";
        let label = "move the keys of `uart2` into `settings`";
        field.fault(place.fault(title, label));
    }
    let Some(mut table) = field.table("`uart2`") else { return };
    let mut output = PortOutput::default();
    output.read_into(&mut table, scope);
    table.finish();
    all.uart2 = Some(output);
}

/// Reads `base_station`: a survey, or a position.
fn base_station(field: &Field<'_>) -> Option<BaseStation> {
    let mut table = field.table("`base_station`")?;
    let mut keys = BaseStationKeys::default();
    keys.read_into(&mut table);
    table.finish();
    let BaseStationKeys { survey_s, accuracy_m, latitude_deg, longitude_deg, altitude_m } = keys;
    match (survey_s, accuracy_m, [latitude_deg, longitude_deg, altitude_m]) {
        (Some(least_s), _, [None, None, None]) => {
            Some(BaseStation::Survey { least_s, accuracy_m: accuracy_m.unwrap_or(2.0) })
        }
        (None, None, [Some(latitude_deg), Some(longitude_deg), Some(altitude_m)]) => {
            Some(BaseStation::Fixed(Geodetic { latitude_deg, longitude_deg, altitude_m }))
        }
        _ => {
            let label = "allowed: `survey_s` with or without `accuracy_m`, or `latitude_deg`, `longitude_deg` and `altitude_m`";
            let title = "`base_station` needs a survey or a known position, not both";
            field.fault(field.place()?.fault(title, label));
            None
        }
    }
}

/// Rounds to milliseconds, the receivers' time unit.
fn whole_ms(ns: f64) -> u64 {
    (ns / 1e6).round() as u64 * 1_000_000
}

/// Reads a list of sentences and puts them in the order of the receiver.
fn sentences(field: &Field<'_>, nmea: &NmeaFormat) -> Option<Vec<SentenceKind>> {
    let words: Vec<_> =
        SentenceKind::WORDS.into_iter().filter(|(_, kind)| nmea.order.contains(kind)).collect();
    let chosen = field.choices(&words, "the profile, [nmea] order")?;
    Some(nmea.order.iter().copied().filter(|kind| chosen.contains(kind)).collect())
}

fn systems(field: &Field<'_>, nmea: &NmeaFormat) -> Option<Vec<GnssSystem>> {
    let words: Vec<_> = GnssSystem::WORDS
        .into_iter()
        .filter(|(_, system)| nmea.signals.iter().any(|(known, _)| known == system))
        .collect();
    let place = field.place();
    let chosen = field.choices(&words, "the profile, [nmea] signals")?;
    if chosen.is_empty() {
        field.fault(
            place?
                .fault("a GNSS receiver needs at least one satellite system", "this list is empty"),
        );
        return None;
    }
    Some(chosen)
}

/// Returns true if the receiver is not from u-blox. In this case, also rejects `key` if the table has it.
fn is_refused(keys: &mut Keys<'_>, key: &'static str, dialect: GnssDialect) -> bool {
    if !dialect.is_ublox()
        && let Some(place) = keys.table.take_unlisted(key)
    {
        let title = format!("`{key}` is for u-blox receivers only");
        let label = format!("this one is \"{}\"", dialect.word());
        keys.table.fault(place.fault(title, label));
    }
    !dialect.is_ublox()
}

/// Reads `messages`, a key of u-blox receivers only.
fn ublox_messages(all: &mut GnssSettings, keys: &mut Keys<'_>, scope: &Scope<'_>) {
    if !is_refused(keys, "messages", scope.hardware.dialect) {
        let read = |field: &Field<'_>| messages(field, scope);
        keys.with_default("messages", all.messages.clone(), &mut all.messages, read);
    }
}

/// Reads `high_precision`, a key of u-blox receivers only.
fn high_precision(all: &mut GnssSettings, keys: &mut Keys<'_>, scope: &Scope<'_>) {
    let dialect = scope.hardware.dialect;
    if is_refused(keys, "high_precision", dialect) {
        return;
    }
    let field = keys.field_or("high_precision", all.high_precision);
    let high_precision = field.boolean();
    if high_precision == Some(true)
        && !dialect.has_items()
        && let Some(place) = field.place()
    {
        let label = format!("this one is \"{}\"", dialect.word());
        keys.table.fault(place.fault("only generations 9 and 10 have high precision", label));
    }
    keys.put(high_precision, &mut all.high_precision);
}

fn messages(field: &Field<'_>, scope: &Scope<'_>) -> Option<Vec<String>> {
    let words: Vec<_> = UBX_OUTPUTS
        .iter()
        .filter(|(name, _)| scope.hardware.dialect.has_message(scope.version, name))
        .map(|(name, _)| (*name, *name))
        .collect();
    let names = field.choices(&words, "the receiver's messages that Menura supports")?;
    Some(names.into_iter().map(str::to_string).collect())
}

fn almanac(field: &Field<'_>) -> Option<Arc<Almanac>> {
    let path = field.text("the path of a YUMA almanac")?;
    let file = path.place.source.resolve(&path.value);
    field.loaded(&path, Almanac::load(&path.value, &file)).map(Arc::new)
}
