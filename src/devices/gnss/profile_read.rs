//! Reads the profile of a GNSS receiver, and what a rig sets on one.

use std::sync::Arc;

use super::profile::{
    BaseStation, GnssDialect, GnssHardware, GnssProfile, GnssSettings, LinePort, NmeaFormat,
    PortOutput, SentenceKind, UBX_OUTPUTS,
};
use super::settings_read::{RECEIVER, acquisition, sky, up_to};
use crate::config::toml::key_types::{Among, Degrees, Time, plain, shortest};
use crate::config::toml::keys::Keys;
use crate::config::toml::reader::{Field, Limit, TableReader};
use crate::frames::Geodetic;
use crate::sensors::gnss::almanac::Almanac;
use crate::sensors::gnss::settings::{GnssSystem, ReceiverSettings};

/// Rates of a UART that receivers and hosts share.
const BAUD_RATES: [u32; 9] =
    [4800, 9600, 19_200, 38_400, 57_600, 115_200, 230_400, 460_800, 921_600];

/// Factory rate of UART2.
const UART2_BAUD: u32 = 38_400;

/// Facts of a profile on which its settings depend.
pub struct Scope<'a> {
    pub(super) hardware: &'a GnssHardware,
    /// Protocol version, times 100.
    pub(super) version: Option<u32>,
    pub(super) nmea: &'a NmeaFormat,
}

impl<'a> Scope<'a> {
    /// Facts of a complete profile.
    pub(super) fn of(profile: &'a GnssProfile) -> Self {
        let (hardware, nmea) = (&profile.receiver, &profile.nmea);
        Self { hardware, version: profile.protocol_version(), nmea }
    }

    /// Whether corrections can decide about the kind of fix.
    pub(super) fn has_rtk(&self) -> bool {
        self.hardware.dialect == GnssDialect::Ublox9
    }

    /// Whether a rig's `port` has a choice.
    fn is_multiport(&self, keys: &Keys<'_>) -> bool {
        !keys.is_profile() && self.hardware.dialect.line_ports().len() > 1
    }
}

/// Reads `[settings]` of a profile.
pub(super) fn default_settings(
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

/// Text that a sentence can contain.
pub(super) fn line(field: &Field<'_>) -> Option<String> {
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

/// Texts that sentences can contain.
pub(super) fn lines(field: &Field<'_>) -> Option<Vec<String>> {
    let (items, _) = field.array("an array of texts")?;
    let lines: Vec<_> = items.iter().map(line).collect();
    lines.into_iter().collect()
}

/// `{ gps = ["1", "6"] }`: the receiver's systems, each with one or two signals.
pub(super) fn signals(mut table: TableReader<'_>) -> Option<Vec<(GnssSystem, Vec<String>)>> {
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

/// Reads `rate_hz`.
pub(super) fn rate(all: &mut GnssSettings, keys: &mut Keys<'_>, scope: &Scope<'_>) {
    let max_hz = (1e9 / scope.hardware.min_period_ns as f64 * 1e3).round() / 1e3;
    let rate = Limit::new(0.1..=max_hz, "Hz", "the profile, max_rate_hz");
    let rate_hz = shortest(1e9 / all.period_ns as f64);
    keys.with_default("rate_hz", rate_hz, &mut all.period_ns, |field| {
        field.number(&rate).map(|hz| whole_ms(1e9 / hz))
    });
}

/// Reads `port`. Missing values are the factory's: UART2 sends nothing.
pub(super) fn port(all: &mut GnssSettings, keys: &mut Keys<'_>, scope: &Scope<'_>) {
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
pub(super) fn baud_rate(all: &mut GnssSettings, keys: &mut Keys<'_>) {
    keys.table.was_called("baud", "baud_rate");
    if all.port != LinePort::Usb {
        keys.typed("baud_rate", &Among(&plain(BAUD_RATES), "baud", "UARTs"), &mut all.baud);
    } else if let Some(place) = keys.table.take_unlisted("baud_rate") {
        let label = "remove `baud_rate`, or choose another `port`";
        keys.table.fault(place.fault("USB has no baud rate", label));
    }
}

/// Reads `uart2`: rate and output of the port if the link leads to another.
pub(super) fn uart2(all: &mut GnssSettings, keys: &mut Keys<'_>, scope: &Scope<'_>) {
    let has_uart2 = scope.hardware.dialect.line_ports().contains(&LinePort::Uart2);
    if !has_uart2 || !scope.is_multiport(keys) {
        return;
    }
    let field = keys.table.optional("uart2");
    if let Some(place) = field.place().filter(|_| all.port == LinePort::Uart2) {
        let title = "the link leads to UART2";
        let label = "write the keys of `uart2` into `settings` itself";
        field.fault(place.fault(title, label));
    }
    let Some(mut table) = field.table("`uart2`") else { return };
    let mut output = PortOutput { baud: UART2_BAUD, ..PortOutput::default() };
    let rate = table.optional("baud_rate");
    let rates = plain(BAUD_RATES);
    output.baud = rate.integer_among(&rates, "baud", "UARTs").unwrap_or(UART2_BAUD);
    let chosen = table.optional("sentences");
    output.sentences = sentences(&chosen, scope.nmea).unwrap_or_default();
    output.messages = messages(&table.optional("messages"), scope).unwrap_or_default();
    table.finish();
    all.uart2 = Some(output);
}

/// Reads `base_station`: a survey, or a position.
pub(super) fn base_station(field: &Field<'_>) -> Option<BaseStation> {
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
pub(super) fn whole_ms(ns: f64) -> u64 {
    (ns / 1e6).round() as u64 * 1_000_000
}

/// Sentences of the receiver, in its order.
pub(super) fn sentences(field: &Field<'_>, nmea: &NmeaFormat) -> Option<Vec<SentenceKind>> {
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

/// Whether only u-blox receivers have `key`, and this is none; the key is then refused.
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

/// Reads `messages`, which only u-blox receivers have.
pub(super) fn ublox_messages(all: &mut GnssSettings, keys: &mut Keys<'_>, scope: &Scope<'_>) {
    if !is_refused(keys, "messages", scope.hardware.dialect) {
        let read = |field: &Field<'_>| messages(field, scope);
        keys.with_default("messages", all.messages.clone(), &mut all.messages, read);
    }
}

/// Reads `high_precision`, which only u-blox receivers have.
pub(super) fn high_precision(all: &mut GnssSettings, keys: &mut Keys<'_>, scope: &Scope<'_>) {
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
    let names = field.choices(&words, "the receiver's messages Menura has")?;
    Some(names.into_iter().map(str::to_string).collect())
}

fn almanac(field: &Field<'_>) -> Option<Arc<Almanac>> {
    let path = field.text("the path of a YUMA almanac")?;
    let file = path.place.source.resolve(&path.value);
    field.loaded(&path, Almanac::load(&path.value, &file)).map(Arc::new)
}

keys! {
    in profile and rig; for ReceiverSettings as pub(super) fn reception(scope: &Scope<'_>);
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
    /// How long the position is extrapolated after the loss of a fix.
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
