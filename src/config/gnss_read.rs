//! Reads the profile of a GNSS receiver, and what a rig sets on one.
//!
//! A profile must say everything, a rig only what differs from its profile: both go through
//! [`settings_table`], the one without defaults.

use std::sync::Arc;

use crate::config::almanac::Almanac;
use crate::config::gnss::{
    Acquisition, BestFix, GnssDialect, GnssIdentity, GnssProfile, GnssSettings, GnssSystem,
    NmeaFormat, NmeaVersion, PulseSettings, SentenceKind, SkySettings, UBX_OUTPUTS,
};
use crate::config::gnss_errors_read::{Errors, errors, grades, uere_limit, velocity_limit};
use crate::config::profile::Profile;
use crate::config::toml::reader::{Field, Limit, TableReader, Value};

const PROFILES: &str = "Menura's profiles, see firmware-profiles/example-gnss.toml";
pub(crate) const RECEIVER: &str = "Menura's GNSS receivers";

/// Rates of a UART that receivers and hosts share.
const BAUD_RATES: [u32; 9] =
    [4800, 9600, 19_200, 38_400, 57_600, 115_200, 230_400, 460_800, 921_600];

/// Reads a table's keys, all of which must be there when there are no defaults.
struct Keys<'f> {
    table: TableReader<'f>,
    must: bool,
}

impl<'f> Keys<'f> {
    fn field(&mut self, key: &'static str) -> Field<'f> {
        if self.must { self.table.required(key) } else { self.table.optional(key) }
    }

    fn number(
        &mut self,
        key: &'static str,
        limit: &Limit<f64>,
        default: Option<f64>,
    ) -> Option<f64> {
        self.field(key).number(limit).or(default)
    }

    /// Milliseconds in, nanoseconds out.
    fn ms(&mut self, key: &'static str, most_ms: f64, default: Option<u64>) -> Option<u64> {
        let limit = Limit::new(0.0..=most_ms, "ms", RECEIVER);
        self.field(key).number(&limit).map(|ms| (ms * 1e6).round() as u64).or(default)
    }

    /// Seconds in, nanoseconds out.
    fn seconds(&mut self, key: &'static str, default: Option<u64>) -> Option<u64> {
        let limit = Limit::new(0.0..=86_400.0, "s", RECEIVER);
        self.field(key).number(&limit).map(|s| (s * 1e9).round() as u64).or(default)
    }

    fn boolean(&mut self, key: &'static str, default: Option<bool>) -> Option<bool> {
        self.field(key).boolean().or(default)
    }

    /// A table of its own.
    fn sub<T: Clone>(
        &mut self,
        key: &'static str,
        default: Option<&T>,
        read: impl FnOnce(Keys<'f>, Option<&T>) -> Option<T>,
    ) -> Option<T> {
        let field = self.field(key);
        if !field.is_written() && default.is_some() {
            return default.cloned();
        }
        let table = field.table(&format!("`{key}`"))?;
        read(Keys { table, must: default.is_none() }, default)
    }
}

/// Reads what a profile says besides its name and sources.
pub(crate) fn profile(mut root: TableReader<'_>) -> Option<GnssProfile> {
    let receiver = root.required("receiver").table("[receiver]");
    let (dialect, receiver) = receiver.map_or((None, None), receiver_table);
    let identity = root.required("identity").table("[identity]").and_then(identity);
    let nmea = root.required("nmea").table("[nmea]").and_then(nmea);
    let settings = root.required("settings").table("[settings]");
    root.finish();
    let (dialect, nmea) = (dialect?, nmea?);
    let scope = Scope { dialect, nmea: &nmea, min_period_ns: receiver.as_ref()?.min_period_ns };
    let defaults = settings_table(Keys { table: settings?, must: true }, &scope, None);
    let receiver = receiver?;
    Some(GnssProfile {
        dialect,
        identity: identity?,
        min_period_ns: receiver.min_period_ns,
        tx_buffer_bytes: receiver.tx_buffer_bytes,
        reply_delay_ns: receiver.reply_delay_ns,
        pvt_extra_bits: receiver.pvt_extra_bits,
        defaults: defaults?,
        nmea,
    })
}

/// Reads the settings of a rig's device.
pub(crate) fn settings(
    table: TableReader<'_>,
    _profile: &Profile,
    driver: &GnssProfile,
) -> Option<GnssSettings> {
    let scope =
        Scope { dialect: driver.dialect, nmea: &driver.nmea, min_period_ns: driver.min_period_ns };
    settings_table(Keys { table, must: false }, &scope, Some(&driver.defaults))
}

struct Receiver {
    min_period_ns: u64,
    tx_buffer_bytes: usize,
    reply_delay_ns: u64,
    pvt_extra_bits: [u8; 2],
}

fn receiver_table(table: TableReader<'_>) -> (Option<GnssDialect>, Option<Receiver>) {
    let mut keys = Keys { table, must: true };
    let dialect = keys.field("dialect").choice(&GnssDialect::WORDS, PROFILES);
    let rate = Limit::new(0.1..=50.0, "Hz", PROFILES);
    let max_rate_hz = keys.number("max_rate_hz", &rate, None);
    let buffer = Limit::new(256..=65_536, "bytes", PROFILES);
    let tx_buffer_bytes = keys.field("tx_buffer_bytes").integer(&buffer);
    let reply_delay_ns = keys.ms("reply_delay_ms", 1000.0, None);
    let byte = Limit::new(0.0..=255.0, "", "the wire format: one byte");
    let bits = keys.field("pvt_extra_bits").numbers::<2>(&byte);
    keys.table.finish();
    let receiver = || {
        Some(Receiver {
            min_period_ns: whole_ms(1e9 / max_rate_hz?),
            tx_buffer_bytes: tx_buffer_bytes?,
            reply_delay_ns: reply_delay_ns?,
            pvt_extra_bits: bits?.map(|bits| bits as u8),
        })
    };
    (dialect, receiver())
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

/// Text that may stand in a sentence.
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
    let order = list(&table.required("order"), &SentenceKind::WORDS, PROFILES);
    let digits = Limit::new(0..=7, "digits", PROFILES);
    let position_decimals = table.required("position_decimals").integer(&digits);
    let altitude_decimals = table.required("altitude_decimals").integer(&digits);
    let time_decimals = table.required("time_decimals").integer(&digits);
    let dop_decimals = table.required("dop_decimals").integer(&digits);
    let satellites = Limit::new(1..=99, "satellites", "NMEA: two digits");
    let max_satellites = table.required("max_satellites").integer(&satellites);
    let signals = table.required("signals").table("`signals`").and_then(signals);
    let declination = table.required("declination_deg");
    let declination_deg =
        none_or(&declination, &Limit::new(-180.0..=180.0, "degrees", PROFILES), "none");
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

/// `{ gps = ["1", "6"] }`: the systems that are there, each with one or two signals.
fn signals(mut table: TableReader<'_>) -> Option<Vec<(GnssSystem, Vec<String>)>> {
    let mut all = Vec::new();
    for (word, system) in GnssSystem::WORDS {
        let field = table.optional(word);
        if !field.is_written() {
            continue;
        }
        let expected = "one or two of NMEA's signal numbers, each at most one character";
        let (items, place) = field.array(expected)?;
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
        table.fault(table.place().fault("a receiver receives at least one system", label));
    }
    table.finish();
    (!all.is_empty()).then_some(all)
}

/// An array of words, each at most once.
fn list<T: Copy + PartialEq>(
    field: &Field<'_>,
    words: &[(&str, T)],
    origin: &str,
) -> Option<Vec<T>> {
    let names: Vec<_> = words.iter().map(|(word, _)| format!("\"{word}\"")).collect();
    let (items, _) = field.array(&format!("an array of {}", names.join(", ")))?;
    let mut all = Vec::new();
    for item in items {
        let place = item.place();
        let value = item.choice(words, origin)?;
        if all.contains(&value)
            && let Some(place) = place
        {
            item.fault(place.fault("this is in the list already", "again here"));
        }
        all.push(value);
    }
    Some(all)
}

/// A number, or a word that stands for none.
fn none_or(field: &Field<'_>, limit: &Limit<f64>, word: &str) -> Option<Option<f64>> {
    if !field.is_written() {
        field.any(&format!("a number or \"{word}\""));
        return None;
    }
    let node = field.any("")?;
    match &node.value {
        Value::String(_) => field.choice(&[(word, None)], &format!("{PROFILES}; else a number")),
        _ => field.number(limit).map(Some),
    }
}

/// What settings may name.
struct Scope<'a> {
    dialect: GnssDialect,
    nmea: &'a NmeaFormat,
    min_period_ns: u64,
}

fn settings_table(
    mut keys: Keys<'_>,
    scope: &Scope<'_>,
    base: Option<&GnssSettings>,
) -> Option<GnssSettings> {
    let max_hz = (1e9 / scope.min_period_ns as f64 * 1e3).round() / 1e3;
    let rate = Limit::new(0.1..=max_hz, "Hz", "the profile, max_rate_hz");
    let period = keys.field("rate_hz").number(&rate).map(|hz| whole_ms(1e9 / hz));
    let period_ns = period.or(base.map(|b| b.period_ns));
    let baud = baud(&keys.field("baud")).or(base.map(|b| b.baud));
    let sentences = sentences(&keys.field("sentences"), scope.nmea);
    let (messages, high_precision) = ublox_only(&mut keys, scope, base);
    let systems = systems(&keys.field("systems"), scope.nmea);
    let mask = Limit::new(0.0..=89.0, "degrees", "geometry");
    let mask_deg = keys.field("mask_deg").number(&mask).map(f64::to_radians);
    let almanac = almanac(&keys.table.optional("almanac"));
    let geoid = Limit::new(-120.0..=120.0, "m", "the geoid: -107 to 86 m");
    let geoid_separation_m = keys.table.optional("geoid_separation_m").number(&geoid);
    let window_ns = keys.ms("window_ms", 10_000.0, base.map(|b| b.window_ns));
    let latency_ns = keys.ms("latency_ms", 1000.0, base.map(|b| b.latency_ns));
    let lag_ns = keys.ms("lag_ms", 10_000.0, base.map(|b| b.lag_ns));
    let speed = Limit::new(0.0..=10.0, "m/s", RECEIVER);
    let min_course_speed_m_s =
        keys.number("min_course_speed_m_s", &speed, base.map(|b| b.min_course_speed_m_s));
    let coast_ns = keys.seconds("coast_s", base.map(|b| b.coast_ns));
    let leap = Limit::new(0..=127, "s", "the wire format: one signed byte");
    let firmware_leap_s =
        keys.field("firmware_leap_s").integer(&leap).or(base.map(|b| b.firmware_leap_s));
    let leap_known_after_ns =
        keys.seconds("leap_known_after_s", base.map(|b| b.leap_known_after_ns));
    let acquisition = keys.sub("acquisition", base.map(|b| &b.acquisition), acquisition);
    let sky = keys.sub("sky", base.map(|b| &b.sky), sky);
    let pulse = keys.sub("pulse", base.map(|b| &b.pulse), pulse);
    let grades = match base {
        None => keys.table.required("accuracy").table("`accuracy`").and_then(grades),
        Some(base) => Some(base.grades.clone()),
    };
    let errors = base.map(|_| errors(&keys.table.optional("errors")));
    let uere = base.and_then(|_| keys.table.optional("uere_m").number(&uere_limit()));
    let velocity =
        base.and_then(|_| keys.table.optional("velocity_std_m_s").number(&velocity_limit()));
    keys.table.finish();
    let mut all = GnssSettings {
        period_ns: period_ns?,
        baud: baud?,
        sentences: sentences.or_else(|| base.map(|b| b.sentences.clone()))?,
        messages: messages?,
        high_precision: high_precision?,
        systems: systems.or_else(|| base.map(|b| b.systems.clone()))?,
        mask_rad: mask_deg.or(base.map(|b| b.mask_rad))?,
        almanac: almanac.or_else(|| base.and_then(|b| b.almanac.clone())),
        geoid_separation_m: geoid_separation_m.or(base.and_then(|b| b.geoid_separation_m)),
        window_ns: window_ns?,
        latency_ns: latency_ns?,
        lag_ns: lag_ns?,
        min_course_speed_m_s: min_course_speed_m_s?,
        coast_ns: coast_ns?,
        acquisition: acquisition?,
        sky: sky?,
        grades: grades?,
        pulse: pulse?,
        firmware_leap_s: firmware_leap_s?,
        leap_known_after_ns: leap_known_after_ns?,
    };
    match errors.flatten() {
        Some(Errors::Preset(preset)) => all.apply(preset),
        Some(Errors::Models(models)) => {
            all.grades.iter_mut().for_each(|grade| grade.errors.clone_from(&models));
        }
        None => {}
    }
    for grade in &mut all.grades {
        grade.uere_m = uere.unwrap_or(grade.uere_m);
        grade.velocity_std_m_s = velocity.unwrap_or(grade.velocity_std_m_s);
    }
    Some(all)
}

/// Receivers count in milliseconds.
fn whole_ms(ns: f64) -> u64 {
    (ns / 1e6).round() as u64 * 1_000_000
}

fn baud(field: &Field<'_>) -> Option<u32> {
    let rates = BAUD_RATES.map(|rate| rate.to_string()).join(", ");
    let place = field.place();
    let limit = Limit::new(4800..=921_600, "bits/s", "UARTs");
    let rate: u32 = field.integer(&limit)?;
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
    let chosen = list(field, &words, "the profile, [nmea] order")?;
    // Whatever their order in the list, they leave in the receiver's.
    Some(nmea.order.iter().copied().filter(|kind| chosen.contains(kind)).collect())
}

fn systems(field: &Field<'_>, nmea: &NmeaFormat) -> Option<Vec<GnssSystem>> {
    let words: Vec<_> = GnssSystem::WORDS
        .into_iter()
        .filter(|(_, system)| nmea.signals.iter().any(|(known, _)| known == system))
        .collect();
    let place = field.place();
    let chosen = list(field, &words, "the profile, [nmea] signals")?;
    if chosen.is_empty() {
        field.fault(place?.fault("a receiver receives at least one system", "none is here"));
        return None;
    }
    Some(chosen)
}

/// `messages` and `high_precision`, which only u-blox receivers have.
fn ublox_only(
    keys: &mut Keys<'_>,
    scope: &Scope<'_>,
    base: Option<&GnssSettings>,
) -> (Option<Vec<String>>, Option<bool>) {
    if !scope.dialect.is_ublox() {
        for key in ["messages", "high_precision"] {
            if let Some(place) = keys.table.take_unlisted(key) {
                let title = format!("`{key}` is for u-blox receivers only");
                let label = format!("this one is \"{}\"", scope.dialect.word());
                keys.table.fault(place.fault(title, label));
            }
        }
        return (Some(Vec::new()), Some(false));
    }
    let words: Vec<_> = UBX_OUTPUTS
        .iter()
        .filter(|(name, _)| scope.dialect.has_message(name))
        .map(|(name, _)| (*name, *name))
        .collect();
    let messages = list(&keys.field("messages"), &words, "the receiver's messages Menura has")
        .map(|names| names.into_iter().map(str::to_string).collect())
        .or_else(|| base.map(|b| b.messages.clone()));
    let field = keys.field("high_precision");
    let place = field.place();
    let high_precision = field.boolean().or(base.map(|b| b.high_precision));
    if high_precision == Some(true)
        && scope.dialect != GnssDialect::Ublox9
        && let Some(place) = place
    {
        let label = format!("this one is \"{}\"", scope.dialect.word());
        keys.table.fault(place.fault("only generation 9 has high precision", label));
    }
    (messages, high_precision)
}

fn almanac(field: &Field<'_>) -> Option<Arc<Almanac>> {
    let path = field.text("the path of a YUMA almanac")?;
    let file = path.place.source.resolve(&path.value);
    field.loaded(&path, Almanac::load(&path.value, &file)).map(Arc::new)
}

fn acquisition(mut keys: Keys<'_>, base: Option<&Acquisition>) -> Option<Acquisition> {
    let hdop = Limit::new(0.1..=1000.0, "", RECEIVER);
    let startup_ns = keys.seconds("startup_s", base.map(|b| b.startup_ns));
    let is_filtered = keys.boolean("filtered", base.map(|b| b.is_filtered));
    let hdop_initial = keys.number("hdop_initial", &hdop, base.map(|b| b.hdop_initial));
    let tau = Limit::new(0.001..=3600.0, "s", RECEIVER);
    let time_constant_s = keys.number("time_constant_s", &tau, base.map(|b| b.time_constant_s));
    let final_field = keys.field("hdop_final");
    let hdop_final = if final_field.is_written() || base.is_none() {
        none_or(&final_field, &hdop, "sky")
    } else {
        base.map(|b| b.hdop_final)
    };
    let hdop_3d = keys.number("hdop_3d", &hdop, base.map(|b| b.hdop_3d));
    let field_2d = keys.field("hdop_2d");
    let place_2d = field_2d.place();
    let hdop_2d = field_2d.number(&hdop).or(base.map(|b| b.hdop_2d));
    if let (Some(two), Some(three), Some(place)) = (hdop_2d, hdop_3d, place_2d)
        && two < three
    {
        let label = format!("hdop_3d is {three}, hdop_2d is {two}");
        keys.table.fault(place.fault("`hdop_2d` must not be less than `hdop_3d`", label));
    }
    let best_fix =
        keys.field("best_fix").choice(&BestFix::WORDS, RECEIVER).or(base.map(|b| b.best_fix));
    let differential_after_ns =
        keys.seconds("differential_after_s", base.map(|b| b.differential_after_ns));
    let rtk_float_after_ns = keys.seconds("rtk_float_after_s", base.map(|b| b.rtk_float_after_ns));
    let rtk_fixed_after_ns = keys.seconds("rtk_fixed_after_s", base.map(|b| b.rtk_fixed_after_ns));
    keys.table.finish();
    Some(Acquisition {
        startup_ns: startup_ns?,
        is_filtered: is_filtered?,
        hdop_initial: hdop_initial?,
        time_constant_s: time_constant_s?,
        hdop_final: hdop_final?,
        hdop_3d: hdop_3d?,
        hdop_2d: hdop_2d?,
        best_fix: best_fix?,
        differential_after_ns: differential_after_ns?,
        rtk_float_after_ns: rtk_float_after_ns?,
        rtk_fixed_after_ns: rtk_fixed_after_ns?,
    })
}

fn sky(mut keys: Keys<'_>, base: Option<&SkySettings>) -> Option<SkySettings> {
    let spread = Limit::new(0.0..=30.0, "degrees", RECEIVER);
    let default = base.map(|b| b.ray_spread_rad.to_degrees());
    let ray_spread_deg = keys.number("ray_spread_deg", &spread, default);
    let cno = Limit::new(0.0..=60.0, "dB-Hz", RECEIVER);
    let min_cno_dbhz = keys.number("min_cno_dbhz", &cno, base.map(|b| b.min_cno_dbhz));
    let std = Limit::new(0.0..=10.0, "dB", RECEIVER);
    let cno_std_db = keys.number("cno_std_db", &std, base.map(|b| b.cno_std_db));
    keys.table.finish();
    Some(SkySettings {
        ray_spread_rad: ray_spread_deg?.to_radians(),
        min_cno_dbhz: min_cno_dbhz?,
        cno_std_db: cno_std_db?,
    })
}

fn pulse(mut keys: Keys<'_>, base: Option<&PulseSettings>) -> Option<PulseSettings> {
    let is_enabled = keys.boolean("enabled", base.map(|b| b.is_enabled));
    let width = Limit::new(1.0..=999.0, "ms", "the pulse's period of a second");
    let width_ns = keys
        .field("width_ms")
        .number(&width)
        .map(|ms| (ms * 1e6).round() as u64)
        .or(base.map(|b| b.width_ns));
    let after_fix_ns = keys.seconds("after_fix_s", base.map(|b| b.after_fix_ns));
    let ns = Limit::new(0.0..=1e6, "ns", RECEIVER);
    let jitter_std_ns = keys.number("jitter_std_ns", &ns, base.map(|b| b.jitter_std_ns));
    let quantum_ns = keys.number("quantum_ns", &ns, base.map(|b| b.quantum_ns));
    keys.table.finish();
    Some(PulseSettings {
        is_enabled: is_enabled?,
        width_ns: width_ns?,
        after_fix_ns: after_fix_ns?,
        jitter_std_ns: jitter_std_ns?,
        quantum_ns: quantum_ns?,
    })
}
