//! Reads the profile of a GNSS receiver, and what a rig sets on one.

use std::sync::Arc;

use super::profile::{
    BaseStation, GnssDialect, GnssIdentity, GnssProfile, GnssSettings, LinePort, NmeaFormat,
    NmeaVersion, PortOutput, PulseSettings, SentenceKind, UBX_OUTPUTS,
};
use super::settings_read::{PROFILES, RECEIVER, accuracy, acquisition, sky, up_to};
use crate::config::profile::lag;
use crate::config::toml::key_types::shortest;
use crate::config::toml::keys::Keys;
use crate::config::toml::reader::{Field, Limit, TableReader};
use crate::frames::Geodetic;
use crate::sensors::gnss::almanac::Almanac;
use crate::sensors::gnss::settings::GnssSystem;

/// Rates of a UART that receivers and hosts share.
const BAUD_RATES: [u32; 9] =
    [4800, 9600, 19_200, 38_400, 57_600, 115_200, 230_400, 460_800, 921_600];

/// Factory rate of UART2.
const UART2_BAUD: u32 = 38_400;

/// Reads all keys of a profile except its name and sources.
pub(super) fn profile(mut root: TableReader<'_>) -> Option<GnssProfile> {
    let receiver = root.required("receiver").table("[receiver]");
    let (dialect, hardware) = receiver.map_or((None, None), hardware);
    let identity = root.required("identity").table("[identity]").and_then(identity);
    let nmea = root.required("nmea").table("[nmea]").and_then(nmea);
    let settings = root.required("settings").table("[settings]");
    root.finish();
    let (dialect, nmea) = (dialect?, nmea?);
    let version = identity.as_ref().and_then(GnssIdentity::protocol_version);
    let min_period_ns = hardware.as_ref()?.min_period_ns;
    let scope = Scope { dialect, version, nmea: &nmea, min_period_ns };
    let mut defaults = GnssSettings::default();
    let complete = read_settings(Keys::of_profile(settings?), &scope, &mut defaults);
    let hardware = hardware?;
    let identity = identity?;
    complete?;
    Some(GnssProfile {
        dialect,
        identity,
        min_period_ns: hardware.min_period_ns,
        tx_buffer_bytes: hardware.tx_buffer_bytes,
        reply_delay_ns: hardware.reply_delay_ns,
        pvt_extra_bits: hardware.pvt_extra_bits,
        defaults,
        nmea,
    })
}

/// Reads the settings of a rig's device.
pub(super) fn settings(table: TableReader<'_>, profile: &GnssProfile) -> Option<GnssSettings> {
    let (dialect, min_period_ns) = (profile.dialect, profile.min_period_ns);
    let version = profile.protocol_version();
    let scope = Scope { dialect, version, nmea: &profile.nmea, min_period_ns };
    let mut all = profile.defaults.clone();
    read_settings(Keys::of_rig(table), &scope, &mut all)?;
    Some(all)
}

#[derive(Default)]
struct Hardware {
    min_period_ns: u64,
    tx_buffer_bytes: usize,
    reply_delay_ns: u64,
    pvt_extra_bits: [u8; 2],
}

fn hardware(table: TableReader<'_>) -> (Option<GnssDialect>, Option<Hardware>) {
    let mut keys = Keys::of_profile(table);
    let dialect = keys.field("dialect").choice(&GnssDialect::WORDS, PROFILES);
    let mut all = Hardware::default();
    let rate = Limit::new(0.1..=50.0, "Hz", PROFILES);
    keys.read("max_rate_hz", &mut all.min_period_ns, |field| {
        field.number_that_limits(&rate).map(|hz| whole_ms(1e9 / hz))
    });
    let buffer = Limit::new(256..=65_536, "bytes", PROFILES);
    keys.integer("tx_buffer_bytes", &buffer, &mut all.tx_buffer_bytes);
    keys.time_ns("reply_delay_ms", &up_to(1000.0, "ms"), 1e6, &mut all.reply_delay_ns);
    let byte = Limit::new(0.0..=255.0, "", "the wire format: one byte");
    keys.read("pvt_extra_bits", &mut all.pvt_extra_bits, |field| {
        field.numbers::<2>(&byte).map(|bits| bits.map(|bits| bits as u8))
    });
    (dialect, keys.finish().map(|()| all))
}

fn identity(mut table: TableReader<'_>) -> Option<GnssIdentity> {
    let software = line(&table.required("software"));
    let hardware = line(&table.required("hardware"));
    let extensions = lines(&table.required("extensions"));
    let boot_text = lines(&table.required("boot_text"));
    table.finish();
    Some(GnssIdentity {
        software: software?,
        hardware: hardware?,
        extensions: extensions?,
        boot_text: boot_text?,
    })
}

/// Text that a sentence can contain.
fn line(field: &Field<'_>) -> Option<String> {
    let expected = "up to 64 printable ASCII characters without comma, $, * and \\";
    let text = field.text(expected)?;
    let fits = |c: char| (' '..='~').contains(&c) && !",$*\\".contains(c);
    if text.value.len() > 64 || !text.value.chars().all(fits) {
        let title = "this cannot stand in a sentence";
        field.fault(text.place.fault(title, format!("allowed: {expected}")));
        return None;
    }
    Some(text.value)
}

fn lines(field: &Field<'_>) -> Option<Vec<String>> {
    let (items, _) = field.array("an array of texts")?;
    let lines: Vec<_> = items.iter().map(line).collect();
    lines.into_iter().collect()
}

fn nmea(mut table: TableReader<'_>) -> Option<NmeaFormat> {
    let version = table.required("version").choice(&NmeaVersion::WORDS, PROFILES);
    let order = table.required("order").choices(&SentenceKind::WORDS, PROFILES);
    let digits = Limit::new(0..=7, "digits", PROFILES);
    let position_decimals = table.required("position_decimals").integer(&digits);
    let altitude_decimals = table.required("altitude_decimals").integer(&digits);
    let time_decimals = table.required("time_decimals").integer(&digits);
    let dop_decimals = table.required("dop_decimals").integer(&digits);
    let satellites = Limit::new(1..=99, "satellites", "NMEA: two digits");
    let max_satellites = table.required("max_satellites").integer(&satellites);
    let signals = table.required("signals").table("`signals`").and_then(signals);
    let declination = table.required("declination_deg");
    let degrees = Limit::new(-180.0..=180.0, "degrees", PROFILES);
    let declination_deg = declination.number_or_word(&degrees, "none", PROFILES);
    table.finish();
    Some(NmeaFormat {
        version: version?,
        order: order?,
        position_decimals: position_decimals?,
        altitude_decimals: altitude_decimals?,
        time_decimals: time_decimals?,
        dop_decimals: dop_decimals?,
        max_satellites: max_satellites?,
        signals: signals?,
        declination_deg: declination_deg?,
    })
}

/// `{ gps = ["1", "6"] }`: the receiver's systems, each with one or two signals.
fn signals(mut table: TableReader<'_>) -> Option<Vec<(GnssSystem, Vec<String>)>> {
    let mut all = Vec::new();
    for (word, system) in GnssSystem::WORDS {
        let field = table.optional(word);
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

/// Names that settings may use.
struct Scope<'a> {
    dialect: GnssDialect,
    /// Protocol version, times 100.
    version: Option<u32>,
    nmea: &'a NmeaFormat,
    min_period_ns: u64,
}

/// Reads `settings` of a profile, or of a rig's device.
fn read_settings(mut keys: Keys<'_>, scope: &Scope<'_>, all: &mut GnssSettings) -> Option<()> {
    let max_hz = (1e9 / scope.min_period_ns as f64 * 1e3).round() / 1e3;
    let rate = Limit::new(0.1..=max_hz, "Hz", "the profile, max_rate_hz");
    let rate_hz = shortest(1e9 / all.period_ns as f64);
    keys.with_default("rate_hz", rate_hz, &mut all.period_ns, |field| {
        field.number(&rate).map(|hz| whole_ms(1e9 / hz))
    });
    keys.table.was_called("baud", "baud_rate");
    let is_multiport = !keys.is_profile() && scope.dialect.line_ports().len() > 1;
    if is_multiport {
        port(&mut keys, scope, all);
    }
    if all.port == LinePort::Usb {
        if let Some(place) = keys.table.take_unlisted("baud_rate") {
            let title = "USB has no baud rate";
            let label = "remove `baud_rate`, or choose another `port`";
            keys.table.fault(place.fault(title, label));
        }
    } else {
        keys.with_default("baud_rate", all.baud, &mut all.baud, baud);
    }
    let words: Vec<_> = all.sentences.iter().map(|kind| kind.word()).collect();
    keys.with_default("sentences", words, &mut all.sentences, |f| sentences(f, scope.nmea));
    ublox_only(&mut keys, scope, all);
    if is_multiport && scope.dialect.line_ports().contains(&LinePort::Uart2) {
        uart2(&mut keys, scope, all);
    }
    let receiver = &mut all.receiver;
    let words: Vec<_> = receiver.systems.iter().map(|system| system.word()).collect();
    keys.with_default("systems", words, &mut receiver.systems, |f| systems(f, scope.nmea));
    let mask = Limit::new(0.0..=89.0, "degrees", "geometry");
    keys.degrees("mask_deg", &mask, &mut receiver.mask_rad);
    if let Some(read) = almanac(&keys.table.optional("almanac")) {
        receiver.almanac = Some(read);
    }
    let geoid = Limit::new(-120.0..=120.0, "m", "the geoid: -107 to 86 m");
    let separation_m = keys.table.optional("geoid_separation_m").number(&geoid);
    receiver.geoid_separation_m = separation_m.or(receiver.geoid_separation_m);
    keys.time_ns("window_ms", &up_to(10_000.0, "ms"), 1e6, &mut receiver.window_ns);
    keys.time_ns("latency_ms", &up_to(1000.0, "ms"), 1e6, &mut all.latency_ns);
    lag::read(&mut keys, &mut all.lag_ns);
    let speed = Limit::new(0.0..=10.0, "m/s", RECEIVER);
    keys.number("min_course_speed_m_s", &speed, &mut all.min_course_speed_m_s);
    keys.time_ns("coast_s", &up_to(86_400.0, "s"), 1e9, &mut receiver.coast_ns);
    let leap = Limit::new(0..=127, "s", "the wire format: one signed byte");
    keys.integer("firmware_leap_s", &leap, &mut all.firmware_leap_s);
    let known_after = &mut receiver.leap_known_after_ns;
    keys.time_ns("leap_known_after_s", &up_to(86_400.0, "s"), 1e9, known_after);
    let leap_second_on = keys.table.optional("leap_second_on").date();
    all.leap_second_on = leap_second_on.or(all.leap_second_on);
    let weeks = Limit::new(1..=9999, "", "GPS weeks since 1980");
    all.week_base = keys.table.optional("week_base").integer(&weeks).or(all.week_base);
    let has_rtk = scope.dialect == GnssDialect::Ublox9;
    if has_rtk && !keys.is_profile() {
        let read = base_station(&keys.table.optional("base_station"));
        all.base_station = read.or(all.base_station);
    }
    keys.table("acquisition", "`acquisition`", &mut receiver.acquisition, |keys, all| {
        acquisition(keys, all, has_rtk)
    });
    keys.table("sky", "`sky`", &mut receiver.sky, sky);
    keys.table("pulse", "`pulse`", &mut all.pulse, pulse);
    accuracy(&mut keys, receiver);
    keys.finish()
}

/// Reads `port`. Missing values are the factory's: UART2 sends nothing.
fn port(keys: &mut Keys<'_>, scope: &Scope<'_>, all: &mut GnssSettings) {
    let ports = scope.dialect.line_ports();
    let words: Vec<_> =
        LinePort::WORDS.into_iter().filter(|(_, port)| ports.contains(port)).collect();
    keys.choice("port", &words, RECEIVER, &mut all.port);
    if all.port == LinePort::Uart2 {
        all.sentences.clear();
        all.messages.clear();
    }
}

/// Reads `uart2`: rate and output of the port if the link leads to another.
fn uart2(keys: &mut Keys<'_>, scope: &Scope<'_>, all: &mut GnssSettings) {
    let field = keys.table.optional("uart2");
    if let Some(place) = field.place().filter(|_| all.port == LinePort::Uart2) {
        let title = "the link leads to UART2";
        let label = "write the keys of `uart2` into `settings` itself";
        field.fault(place.fault(title, label));
    }
    let Some(mut table) = field.table("`uart2`") else { return };
    let mut output = PortOutput { baud: UART2_BAUD, ..PortOutput::default() };
    let rate = table.optional("baud_rate");
    output.baud = baud(&rate).unwrap_or(UART2_BAUD);
    let chosen = table.optional("sentences");
    output.sentences = sentences(&chosen, scope.nmea).unwrap_or_default();
    output.messages = messages(&table.optional("messages"), scope).unwrap_or_default();
    table.finish();
    all.uart2 = Some(output);
}

/// Reads `base_station`: a survey, or a position.
fn base_station(field: &Field<'_>) -> Option<BaseStation> {
    let place = field.place();
    let mut table = field.table("`base_station`")?;
    let survey_field = table.optional("survey_s");
    let least_s = survey_field.integer(&Limit::new(1..=86_400, "s", RECEIVER));
    let accuracy = Limit::new(0.001..=1000.0, "m", RECEIVER);
    let accuracy_field = table.optional("accuracy_m");
    let accuracy_m = accuracy_field.number(&accuracy).unwrap_or(2.0);
    let degrees = |most: f64| Limit::new(-most..=most, "degrees", "geometry");
    let height = Limit::new(-1000.0..=10_000.0, "m", RECEIVER);
    let numbers = [
        ("latitude_deg", degrees(90.0)),
        ("longitude_deg", degrees(180.0)),
        ("altitude_m", height),
    ]
    .map(|(key, limit)| {
        let field = table.optional(key);
        (field.is_written(), field.number(&limit))
    });
    let written = numbers.iter().filter(|(is_written, _)| *is_written).count();
    let is_survey = survey_field.is_written() && written == 0;
    let is_place = !survey_field.is_written() && !accuracy_field.is_written() && written == 3;
    if !is_survey && !is_place {
        let label = "allowed: `survey_s` with or without `accuracy_m`, or `latitude_deg`, `longitude_deg` and `altitude_m`";
        table.fault(place?.fault("`base_station` needs a survey or a place, not both", label));
        return None;
    }
    table.finish();
    if survey_field.is_written() {
        return Some(BaseStation::Survey { least_s: least_s?, accuracy_m });
    }
    let [(_, latitude_deg), (_, longitude_deg), (_, altitude_m)] = numbers;
    Some(BaseStation::Fixed(Geodetic {
        latitude_deg: latitude_deg?,
        longitude_deg: longitude_deg?,
        altitude_m: altitude_m?,
    }))
}

/// Receivers count in milliseconds.
fn whole_ms(ns: f64) -> u64 {
    (ns / 1e6).round() as u64 * 1_000_000
}

fn baud(field: &Field<'_>) -> Option<u32> {
    let rates = BAUD_RATES.map(|rate| rate.to_string()).join(", ");
    let place = field.place();
    let limit = Limit::new(4800..=921_600, "bits/s", "UARTs");
    let rate: u32 = field.integer_among(&limit, &BAUD_RATES.map(i128::from))?;
    if !BAUD_RATES.contains(&rate) {
        let fault = place?.fault("this is not a rate of a UART", format!("allowed: {rates}"));
        field.fault(fault);
        return None;
    }
    Some(rate)
}

fn sentences(field: &Field<'_>, nmea: &NmeaFormat) -> Option<Vec<SentenceKind>> {
    let words: Vec<_> =
        SentenceKind::WORDS.into_iter().filter(|(_, kind)| nmea.order.contains(kind)).collect();
    let chosen = field.choices(&words, "the profile, [nmea] order")?;
    // Whatever their order in the list, they leave in the receiver's.
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
            place?.fault("a GNSS receiver needs at least one satellite system", "none is here"),
        );
        return None;
    }
    Some(chosen)
}

/// `messages` and `high_precision`, which only u-blox receivers have.
fn ublox_only(keys: &mut Keys<'_>, scope: &Scope<'_>, all: &mut GnssSettings) {
    if !scope.dialect.is_ublox() {
        for key in ["messages", "high_precision"] {
            if let Some(place) = keys.table.take_unlisted(key) {
                let title = format!("`{key}` is for u-blox receivers only");
                let label = format!("this one is \"{}\"", scope.dialect.word());
                keys.table.fault(place.fault(title, label));
            }
        }
        return;
    }
    keys.with_default("messages", all.messages.clone(), &mut all.messages, |field| {
        messages(field, scope)
    });
    let field = keys.field_or("high_precision", all.high_precision);
    let high_precision = field.boolean();
    if high_precision == Some(true)
        && !scope.dialect.has_items()
        && let Some(place) = field.place()
    {
        let label = format!("this one is \"{}\"", scope.dialect.word());
        keys.table.fault(place.fault("only generations 9 and 10 have high precision", label));
    }
    keys.put(high_precision, &mut all.high_precision);
}

fn messages(field: &Field<'_>, scope: &Scope<'_>) -> Option<Vec<String>> {
    let words: Vec<_> = UBX_OUTPUTS
        .iter()
        .filter(|(name, _)| scope.dialect.has_message(scope.version, name))
        .map(|(name, _)| (*name, *name))
        .collect();
    let names = field.choices(&words, "the receiver's messages Menura has")?;
    Some(names.into_iter().map(str::to_string).collect())
}

fn almanac(field: &Field<'_>) -> Option<Arc<Almanac>> {
    let path = field.text("the path of a YUMA almanac")?;
    let file = path.place.source.resolve(&path.value);
    field.loaded(&path, Almanac::load(&path.value, &file)).map(Arc::new)
}

fn pulse(mut keys: Keys<'_>, all: &mut PulseSettings) -> Option<()> {
    keys.boolean("enabled", &mut all.is_enabled);
    let width = Limit::new(1.0..=999.0, "ms", "the pulse's period of a second");
    keys.time_ns("width_ms", &width, 1e6, &mut all.width_ns);
    keys.time_ns("after_fix_s", &up_to(86_400.0, "s"), 1e9, &mut all.after_fix_ns);
    let ns = Limit::new(0.0..=1e6, "ns", RECEIVER);
    keys.number("jitter_std_ns", &ns, &mut all.jitter_std_ns);
    keys.number("quantum_ns", &ns, &mut all.quantum_ns);
    keys.finish()
}
