//! Reads the profile of an LMS 2xx, and what a rig sets on one.

use crate::config::profile::Profile;
use crate::config::profile::read::PROFILES;
use crate::config::profile::{lag, lidar};
use crate::config::toml::diagnostic::Place;
use crate::config::toml::keys::Keys;
use crate::config::toml::reader::{Field, Limit, Node, TableReader, Value};
use crate::sick_lms2xx::profile::{
    Motor, PowerOnMode, RangeUnit, ReplyTiming, ScanIndexCounts, SickLms2xxProfile,
    SickLms2xxSettings, SpoiltTelegram, TransmissionStart,
};
use crate::wire::sick_lms2xx::configuration::{CONFIGURATION_LEN, OLD_CONFIGURATION_LEN};
use crate::wire::sick_lms2xx::data::MeasuringMode;
use crate::wire::sick_lms2xx::{LineRate, Variant};

const PROTOCOL: &str = "the LMS 2xx protocol";
/// Words of the status byte's bits 0 to 2.
pub(crate) const ERROR_LEVELS: [(&str, u8); 5] =
    [("ok", 0), ("info", 1), ("warning", 2), ("error", 3), ("fatal", 4)];

/// Reads all keys of a profile except its name and sources.
pub(crate) fn profile(mut root: TableReader<'_>) -> Option<SickLms2xxProfile> {
    let identity = root.required("identity").table("[identity]").and_then(identity);
    let scan = root.required("scan").table("[scan]").and_then(scan);
    let motor = root.required("motor").table("[motor]").and_then(motor);
    let line = root.required("line").table("[line]").and_then(line);
    let stored = root.required("configuration").table("[configuration]").and_then(configuration);
    let reflectivity = root.required("reflectivity").table("[reflectivity]").and_then(reflectivity);
    let optics = lidar::profile_optics(&mut root, &range_limit());
    root.finish();
    let (identity, scan, motor, line, stored) = (identity?, scan?, motor?, line?, stored?);
    let (has_reflectivity, reflectivity_full_scale, remission_full_scale) = reflectivity?;
    let (beam, noise) = optics?;
    let defaults = SickLms2xxSettings {
        variant: *scan.variants.first()?,
        rate: *line.rates.first()?,
        unit: stored.unit,
        measuring_mode: *stored.measuring_modes.first()?,
        real_time_indices: false,
        sensitivity: 0,
        power_on_mode: PowerOnMode::OnRequest,
        password: stored.password,
        address: 0,
        start_up_ns: 0,
        restart_ns: line.restart_ns,
        lag_ns: line.lag_ns,
        mirror_phase_rad: scan.mirror_phase_rad,
        errors: Vec::new(),
        error_level: 0,
        is_polluted: false,
        is_implausible: false,
        beam,
        noise,
    };
    Some(SickLms2xxProfile {
        type_text: identity.type_text,
        software_version: identity.software_version,
        boot_version: identity.boot_version,
        variant_type: identity.variant_type,
        configuration_len: stored.length,
        operating_time: identity.operating_hours / 2,
        power_on_count: identity.power_on_count,
        variants: scan.variants,
        can_switch_variant: scan.can_switch_variant,
        is_interlaced: scan.is_interlaced,
        mirror_millihertz: scan.mirror_millihertz,
        quarter_order: scan.quarter_order,
        motor,
        rates: line.rates,
        has_reflectivity,
        measuring_modes: stored.measuring_modes,
        sensitivity_range_m: stored.sensitivity_range_m,
        dazzling_signal: stored.dazzling_signal,
        reflectivity_full_scale,
        remission_full_scale,
        timing: line.timing,
        spoilt_telegram: line.spoilt_telegram,
        transmission_start: line.transmission_start,
        scan_index_counts: stored.scan_index_counts,
        defaults,
    })
}

fn range_limit() -> Limit<f64> {
    Limit::new(0.0..=327.58, "m", "the wire format: 15 bits of 1 cm")
}

struct Identity {
    type_text: String,
    software_version: [u8; 7],
    boot_version: [u8; 7],
    variant_type: u8,
    operating_hours: u16,
    power_on_count: u16,
}

fn identity(mut table: TableReader<'_>) -> Option<Identity> {
    let type_text = characters::<20>(&table.required("type"));
    let software_version = characters::<7>(&table.required("software_version"));
    let boot_version = characters::<7>(&table.required("boot_version"));
    let flag = Limit::new(0..=1, "", "the status telegram: 0 standard, 1 special");
    let variant_type = table.required("variant_type").integer(&flag);
    let hours = Limit::new(0..=65_535, "h", PROTOCOL);
    let operating_hours = table.required("operating_hours").integer(&hours);
    let count = Limit::new(0..=65_535, "", "the wire format: two bytes");
    let power_on_count = table.required("power_on_count").integer(&count);
    table.finish();
    let (type_text, _) = type_text?;
    Some(Identity {
        type_text,
        software_version: software_version?.1,
        boot_version: boot_version?.1,
        variant_type: variant_type?,
        operating_hours: operating_hours?,
        power_on_count: power_on_count?,
    })
}

/// A text of at most `N` printable characters, and the same padded with blanks.
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

struct Scan {
    mirror_millihertz: u64,
    variants: Vec<Variant>,
    can_switch_variant: bool,
    is_interlaced: bool,
    quarter_order: [u8; 4],
    mirror_phase_rad: f64,
}

fn scan(mut table: TableReader<'_>) -> Option<Scan> {
    let rate = Limit::new(1.0..=1000.0, "Hz", PROFILES);
    let mirror_hz = table.required("mirror_hz").number(&rate);
    let variants = variants(&mut table);
    let can_switch_variant = table.required("switchable").boolean();
    let is_interlaced = table.required("interlaced").boolean();
    let quarter_order = quarter_order(&mut table);
    let phase = table.required("mirror_phase_deg").number(&phase_limit());
    table.finish();
    Some(Scan {
        mirror_millihertz: (mirror_hz? * 1000.0).round() as u64,
        variants: variants?,
        can_switch_variant: can_switch_variant?,
        is_interlaced: is_interlaced?,
        quarter_order: quarter_order?,
        mirror_phase_rad: phase?.to_radians(),
    })
}

fn phase_limit() -> Limit<f64> {
    Limit::new(0.0..=360.0, "degrees", "geometry: one turn")
}

fn variants(table: &mut TableReader<'_>) -> Option<Vec<Variant>> {
    let expected = "an array of [angle in degrees, resolution in degrees], the factory's first";
    let (items, place) = table.required("variants").array_of(1..=usize::MAX, expected)?;
    let angle = Limit::new(0.25..=180.0, "degrees", "the LMS 2xx: half a turn of the mirror");
    let mut variants = Vec::new();
    for item in &items {
        let item_place = item.place();
        let [angle_deg, resolution_deg] = item.numbers::<2>(&angle)?;
        let variant = variant_of(angle_deg, resolution_deg);
        if variant.is_none()
            && let Some(place) = item_place
        {
            let label = "allowed: even degrees, resolutions 0.25, 0.5 and 1";
            table.fault(place.fault("this is not an angle with its resolution", label));
        }
        variants.extend(variant);
    }
    if items.is_empty() {
        let label = format!("allowed: {expected}");
        table.fault(place.fault("a scanner needs at least one variant", label));
    }
    (!variants.is_empty() && variants.len() == items.len()).then_some(variants)
}

fn variant_of(angle_deg: f64, resolution_deg: f64) -> Option<Variant> {
    let resolution_centideg = (resolution_deg * 100.0).round() as u16;
    let is_good = angle_deg % 2.0 == 0.0
        && [25, 50, 100].contains(&resolution_centideg)
        && f64::from(resolution_centideg) == resolution_deg * 100.0;
    is_good.then_some(Variant { angle_deg: angle_deg as u16, resolution_centideg })
}

fn quarter_order(table: &mut TableReader<'_>) -> Option<[u8; 4]> {
    let field = table.required("quarter_order");
    let place = field.place();
    let quarter = Limit::new(0.0..=3.0, "", "quarters of a degree");
    let order = field.numbers::<4>(&quarter)?.map(|quarter| quarter as u8);
    let is_order = (0..4).all(|quarter| order.contains(&quarter));
    if !is_order {
        let label = "allowed: 0, 1, 2 and 3 in any order";
        table.fault(place?.fault("each quarter of a degree has one turn", label));
    }
    is_order.then_some(order)
}

fn motor(mut table: TableReader<'_>) -> Option<Motor> {
    let spin_up_s = table.required("spin_up_s").number(&seconds_limit());
    let stalled_level = table.required("stalled_level").choice(&ERROR_LEVELS, PROTOCOL);
    let number = Limit::new(0..=255, "", "the wire format: one byte");
    let stalled_error = table.required("stalled_error").integer(&number);
    table.finish();
    Some(Motor {
        spin_up_ns: (spin_up_s? * 1e9).round() as u64,
        stalled_level: stalled_level?,
        stalled_error: stalled_error?,
    })
}

struct Line {
    rates: Vec<LineRate>,
    timing: ReplyTiming,
    restart_ns: u64,
    lag_ns: u64,
    spoilt_telegram: SpoiltTelegram,
    transmission_start: TransmissionStart,
}

fn line(mut table: TableReader<'_>) -> Option<Line> {
    let rates = rates(&table.required("rates_baud"));
    let ms = Limit::new(0.0..=10_000.0, "ms", PROFILES);
    let ack = table.required("ack_ms").number(&ms);
    let reply = table.required("reply_ms").number(&ms);
    let configure = table.required("configure_ms").number(&ms);
    let byte_gap =
        table.required("byte_gap_ms").number(&Limit::new(1.0..=10_000.0, "ms", PROFILES));
    let restart = table.required("restart_s").number(&seconds_limit());
    let lag_ns = lag::of_profile(&mut table);
    let spoilt = table.required("spoilt_telegram").choice(&SpoiltTelegram::WORDS, PROFILES);
    let start = table.required("transmission_start").choice(&TransmissionStart::WORDS, PROFILES);
    table.finish();
    let ns = |ms: f64| (ms * 1e6).round() as u64;
    Some(Line {
        rates: rates?,
        timing: ReplyTiming {
            ack_ns: ns(ack?),
            reply_ns: ns(reply?),
            configure_ns: ns(configure?),
            byte_gap_ns: ns(byte_gap?),
        },
        restart_ns: ns(restart? * 1000.0),
        lag_ns: lag_ns?,
        spoilt_telegram: spoilt?,
        transmission_start: start?,
    })
}

fn seconds_limit() -> Limit<f64> {
    Limit::new(0.0..=600.0, "s", "Menura")
}

fn rates(field: &Field<'_>) -> Option<Vec<LineRate>> {
    let (items, place) =
        field.array_of(1..=usize::MAX, "an array of rates, the factory's first")?;
    let rates: Vec<_> = items.iter().map(|item| rate(item, &LineRate::ALL, PROTOCOL)).collect();
    if rates.is_empty() {
        field.fault(place.fault(
            "a serial line needs at least one rate",
            "allowed: one or more, the factory's first",
        ));
        return None;
    }
    rates.into_iter().collect()
}

fn rate(field: &Field<'_>, known: &[LineRate], origin: &str) -> Option<LineRate> {
    let rates: Vec<_> = known.iter().map(|rate| (i128::from(rate.baud()), *rate)).collect();
    listed(field, &rates, "not a rate of this scanner", origin)
}

/// A whole number that is one of a few.
fn listed<T: Copy>(field: &Field<'_>, known: &[(i128, T)], title: &str, origin: &str) -> Option<T> {
    let place = field.place();
    let numbers: Vec<i128> = known.iter().map(|(number, _)| *number).collect();
    let number: i128 = field.integer_among(&Limit::new(0..=1_000_000, "", origin), &numbers)?;
    let found = known.iter().find(|(one, _)| *one == number).map(|(_, value)| *value);
    if found.is_none() {
        let list: Vec<_> = known.iter().map(|(one, _)| one.to_string()).collect();
        let fault = place?.fault(title, format!("allowed: {}", list.join(", ")));
        field.fault(fault.note(format!("limit from {origin}")));
    }
    found
}

struct StoredConfiguration {
    length: usize,
    measuring_modes: Vec<MeasuringMode>,
    unit: RangeUnit,
    sensitivity_range_m: [f64; 4],
    dazzling_signal: f64,
    scan_index_counts: ScanIndexCounts,
    password: [u8; 8],
}

fn configuration(mut table: TableReader<'_>) -> Option<StoredConfiguration> {
    let lengths = [CONFIGURATION_LEN, OLD_CONFIGURATION_LEN].map(|len| (len as i128, len));
    let title = "no firmware has a block this long";
    let length = listed(&table.required("length"), &lengths, title, PROTOCOL);
    let modes = measuring_modes(&table.required("measuring_modes"));
    let unit = table.required("unit").choice(&RangeUnit::WORDS, PROTOCOL);
    let range = Limit::new(0.1..=1000.0, "m", PROFILES);
    let sensitivity_range_m = table.required("sensitivity_range_m").numbers::<4>(&range);
    let factor = Limit::new(0.0..=1e9, "times the threshold", PROFILES);
    let dazzling_signal = table.required("dazzling_signal").number(&factor);
    let counts = table.required("scan_index_counts").choice(&ScanIndexCounts::WORDS, PROFILES);
    let password = password(&table.required("password"));
    table.finish();
    Some(StoredConfiguration {
        length: length?,
        measuring_modes: modes?,
        unit: unit?,
        sensitivity_range_m: sensitivity_range_m?,
        dazzling_signal: dazzling_signal?,
        scan_index_counts: counts?,
        password: password?,
    })
}

fn measuring_modes(field: &Field<'_>) -> Option<Vec<MeasuringMode>> {
    let expected = "an array of values of block D, the factory's first";
    let (items, place) = field.array_of(1..=usize::MAX, expected)?;
    let known: Vec<_> = (0..=0xff)
        .filter_map(|code| Some((code.into(), MeasuringMode::from_code(code)?)))
        .collect();
    let modes: Vec<_> =
        items.iter().map(|item| listed(item, &known, "not a measuring mode", PROTOCOL)).collect();
    if modes.is_empty() {
        let label = "allowed: one or more, the factory's first";
        field.fault(place.fault("a scanner needs at least one measuring mode", label));
        return None;
    }
    modes.into_iter().collect()
}

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

fn reflectivity(mut table: TableReader<'_>) -> Option<(bool, u8, u16)> {
    let telegrams = table.required("telegrams").boolean();
    let byte = Limit::new(1..=255, "", "the wire format: one byte");
    let full_scale = table.required("full_scale").integer(&byte);
    let two_bytes = Limit::new(1..=65_535, "", "the wire format: two bytes");
    let remission = table.required("remission_full_scale").integer(&two_bytes);
    table.finish();
    Some((telegrams?, full_scale?, remission?))
}

/// Reads a rig's `settings`.
pub(crate) fn settings(
    table: TableReader<'_>,
    profile: &Profile,
    driver: &SickLms2xxProfile,
) -> Option<SickLms2xxSettings> {
    let mut all = driver.defaults.clone();
    let mut keys = Keys::of_rig(table);
    let of_profile = |part: &str| format!("{}, {part}", profile.file);
    let variant = variant(&mut keys.table, driver, &of_profile("[scan]"));
    keys.put(variant, &mut all.variant);
    let origin = of_profile("[line]");
    keys.table.was_called("rate_baud", "baud_rate");
    keys.with_default("baud_rate", all.rate.baud(), &mut all.rate, |field| {
        rate(field, &driver.rates, &origin)
    });
    keys.choice("unit", &RangeUnit::WORDS, PROTOCOL, &mut all.unit);
    let modes: Vec<_> =
        driver.measuring_modes.iter().map(|mode| (i128::from(mode.code()), *mode)).collect();
    let (title, origin) = ("not a measuring mode of this scanner", of_profile("[configuration]"));
    let code = all.measuring_mode.code();
    keys.with_default("measuring_mode", code, &mut all.measuring_mode, |field| {
        listed(field, &modes, title, &origin)
    });
    keys.boolean("real_time_indices", &mut all.real_time_indices);
    let sensitivity = Limit::new(0..=3, "", "block B of the configuration");
    keys.integer("sensitivity", &sensitivity, &mut all.sensitivity);
    let words: Vec<_> = PowerOnMode::WORDS
        .into_iter()
        .filter(|(_, mode)| *mode != PowerOnMode::Reflectivity || driver.has_reflectivity)
        .collect();
    keys.choice("power_on_mode", &words, &of_profile("[reflectivity]"), &mut all.power_on_mode);
    let default = String::from_utf8_lossy(&all.password).into_owned();
    keys.with_default("password", default, &mut all.password, password);
    let address = Limit::new(0..=127, "", "the wire format: seven bits");
    keys.integer("address", &address, &mut all.address);
    keys.time_ns("start_up_s", &seconds_limit(), 1e9, &mut all.start_up_ns);
    keys.time_ns("restart_s", &seconds_limit(), 1e9, &mut all.restart_ns);
    lag::read(&mut keys, &mut all.lag_ns);
    keys.degrees("mirror_phase_deg", &phase_limit(), &mut all.mirror_phase_rad);
    if matches!(keys.table.node("errors"), Some(Node { value: Value::Array(_), .. })) {
        keys.table.was_called("errors", "error_list");
    }
    keys.read("error_list", &mut all.errors, errors);
    keys.choice("error_level", &ERROR_LEVELS, PROTOCOL, &mut all.error_level);
    keys.boolean("polluted", &mut all.is_polluted);
    keys.boolean("implausible", &mut all.is_implausible);
    lidar::rig_beam(&mut keys, "{ shape = \"circular\" }", &range_limit(), &mut all.beam);
    lidar::rig_noise(&mut keys, "{ range_std_m = 0.012 }", &mut all.noise);
    keys.finish()?;
    Some(all)
}

/// The variant with the written angle and resolution. A missing one is the default's if there is such a
/// variant, else that of the first match.
fn variant(
    table: &mut TableReader<'_>,
    driver: &SickLms2xxProfile,
    origin: &str,
) -> Option<Variant> {
    let (angle, resolution) = (table.optional("angle_deg"), table.optional("resolution_deg"));
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
    let mut found: Vec<_> = driver.variants.iter().filter(fits).collect();
    found.sort_by_key(|variant| !near(variant));
    if found.is_empty() {
        let list: Vec<_> = driver
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

fn errors(field: &Field<'_>) -> Option<Vec<[u8; 2]>> {
    let (items, place) = field.array_of(0..=100, "an array of [type, number]")?;
    let byte = Limit::new(0.0..=255.0, "", "the wire format: one byte");
    if items.len() > 100 {
        let fault = place.fault("these errors do not fit", "allowed: 100 at most");
        field.fault(fault.note(format!("limit from {PROTOCOL}")));
        return None;
    }
    let pairs: Vec<_> = items.iter().map(|item| item.numbers::<2>(&byte)).collect();
    pairs.into_iter().map(|pair| pair.map(|pair| pair.map(|number| number as u8))).collect()
}
