//! Reads values of LMS 2xx that need more than a key type.

use crate::config::profile::Profile;
use crate::config::profile::read::PROFILES;
use crate::config::toml::diagnostic::Place;
use crate::config::toml::key_types::{Degrees, Time};
use crate::config::toml::keys::Keys;
use crate::config::toml::reader::{Field, Limit, Node, TableReader, Value};
use crate::sick_lms2xx::profile::{PowerOnMode, SickLms2xxProfile, SickLms2xxSettings};
use crate::wire::sick_lms2xx::data::MeasuringMode;
use crate::wire::sick_lms2xx::{LineRate, Variant};

/// Origin of limits.
pub(super) const PROTOCOL: &str = "the LMS 2xx protocol";
/// Words of the status byte's bits 0 to 2.
pub(super) const ERROR_LEVELS: [(&str, u8); 5] =
    [("ok", 0), ("info", 1), ("warning", 2), ("error", 3), ("fatal", 4)];

/// Limits of ranges.
pub(super) fn range_limit() -> Limit<f64> {
    Limit::new(0.0..=327.58, "m", "the wire format: 15 bits of 1 cm")
}

/// A time in seconds.
pub(super) fn seconds() -> Time {
    Time(Limit::new(0.0..=600.0, "s", "Menura"), 1e9)
}

/// A time in milliseconds, at least `least`.
pub(super) fn milliseconds(least: f64) -> Time {
    Time(Limit::new(least..=10_000.0, "ms", PROFILES), 1e6)
}

/// A direction of the mirror.
pub(super) fn phase() -> Degrees {
    Degrees(Limit::new(0.0..=360.0, "degrees", "geometry: one turn"))
}

/// A text of at most `N` printable characters, and the same padded with blanks.
pub(super) fn characters<const N: usize>(field: &Field<'_>) -> Option<(String, [u8; N])> {
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

/// `[[angle_deg, resolution_deg], ...]`
pub(super) fn variants(field: &Field<'_>) -> Option<Vec<Variant>> {
    let expected = "an array of [angle in degrees, resolution in degrees], the factory's first";
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

/// The four quarters of a degree in some order.
pub(super) fn quarter_order(field: &Field<'_>) -> Option<[u8; 4]> {
    let quarter = Limit::new(0.0..=3.0, "", "quarters of a degree");
    let order = field.numbers::<4>(&quarter)?.map(|quarter| quarter as u8);
    let is_order = (0..4).all(|quarter| order.contains(&quarter));
    if !is_order {
        let label = "allowed: 0, 1, 2 and 3 in any order";
        field.fault(field.place()?.fault("each quarter of a degree has one turn", label));
    }
    is_order.then_some(order)
}

/// The rates of a line, with their numbers in files.
pub(super) fn listed_rates(rates: &[LineRate]) -> Vec<(i128, LineRate)> {
    rates.iter().map(|rate| (rate.baud().into(), *rate)).collect()
}

/// The rates of a line, the factory's first.
pub(super) fn rates(field: &Field<'_>) -> Option<Vec<LineRate>> {
    let expected = "one or more rates, the factory's first";
    let items = field.some_items(expected, "a serial line needs at least one rate")?;
    let known = listed_rates(&LineRate::ALL);
    let rates: Vec<_> =
        items.iter().map(|item| item.integer_among(&known, "baud", PROTOCOL)).collect();
    rates.into_iter().collect()
}

/// Measuring modes, with their numbers in files.
pub(super) fn listed_modes(modes: &[MeasuringMode]) -> Vec<(i128, MeasuringMode)> {
    modes.iter().map(|mode| (mode.code().into(), *mode)).collect()
}

/// Values of block D, the factory's first.
pub(super) fn measuring_modes(field: &Field<'_>) -> Option<Vec<MeasuringMode>> {
    let expected = "one or more values of block D, the factory's first";
    let items = field.some_items(expected, "a scanner needs at least one measuring mode")?;
    let known: Vec<_> = (0..=0xff).filter_map(MeasuringMode::from_code).collect();
    let known = listed_modes(&known);
    let modes: Vec<_> = items.iter().map(|item| item.integer_among(&known, "", PROTOCOL)).collect();
    modes.into_iter().collect()
}

/// The words for the operating modes of a scanner.
pub(super) fn power_on_modes(driver: &SickLms2xxProfile) -> Vec<(&'static str, PowerOnMode)> {
    let has = |mode| mode != PowerOnMode::Reflectivity || driver.reflectivity.telegrams;
    PowerOnMode::WORDS.into_iter().filter(|(_, mode)| has(*mode)).collect()
}

/// A password of the configuration.
pub(super) fn password(field: &Field<'_>) -> Option<[u8; 8]> {
    let expected = "8 ASCII characters";
    let text = field.text(expected)?;
    let password = text.value.as_bytes().try_into().ok().filter(|bytes: &[u8; 8]| bytes.is_ascii());
    if password.is_none() {
        let fault = text.place.fault("not a password", format!("allowed: {expected}"));
        field.fault(fault.note(format!("limit from {PROTOCOL}")));
    }
    password
}

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

/// The variant with the written angle and resolution. A missing one is the default's if there is such a
/// variant, else that of the first match.
pub(super) fn variant(
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

/// Errors, each with its type and number.
pub(super) fn errors(field: &Field<'_>) -> Option<Vec<[u8; 2]>> {
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
