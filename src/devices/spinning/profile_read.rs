//! Reads the common keys of spinning lidars in profiles and rigs.

use std::ops::RangeInclusive;

use serde_json::Value as Json;

use super::motor_settings::{RotationRates, rpm};
use super::return_mode::ReturnMode;
use crate::config::profile::Profile;
use crate::config::profile::lidar::{self, BeamSettings, NoiseSettings};
use crate::config::profile::read::PROFILES;
use crate::config::toml::key_types::{Degrees, FactoryFirst, KeyType, Listed, OneOf, SomeOf, Time};
use crate::config::toml::keys::Keys;
use crate::config::toml::reader::{Field, Limit, TableReader};

/// Sentence about a profile's key `rotation`, for the documentation.
pub(crate) const ROTATION: &str = "Rotation rates of the head.";
/// Sentence about a profile's key `returns`, for the documentation.
pub(crate) const RETURNS: &str = "The firmware's return modes.";
/// Sentence about a profile's key `returns.modes`, for the documentation.
pub(crate) const RETURN_MODES: &str = "The return modes; the first is the factory setting.";
/// Sentence about a profile's key `packet`, for the documentation.
pub(crate) const PACKET: &str = "Format of data packets.";
/// Sentence about a profile's key `interface`, for the documentation.
pub(crate) const INTERFACE: &str =
    "Configuration interface of the unit, and the duration of changes.";
/// Sentence about a profile's key `imu`, for the documentation.
pub(crate) const IMU: &str = "The IMU in the sensor.";
/// Sentence about a rig's key `rotation_rate_rpm`, for the documentation.
const ROTATION_RATE: &str = "Rotation rate at the start.";

/// Reads `[rotation]` of a profile: the range of rates, `step_rpm` if `has_steps`, and `default_rpm`.
pub(crate) fn rotation(
    keys: &mut Keys<'_>,
    has_steps: bool,
    rates: &mut RotationRates,
    default_rpm: &mut u32,
) {
    rates.range(keys);
    rates.step_rpm = 1;
    if has_steps {
        rates.step(keys);
    }
    let says = "Rotation rate if the rig sets no `rotation_rate_rpm`.";
    let default = keys.field("default_rpm").meaning(says);
    keys.put(default.integer(&rpm()), default_rpm);
    let RotationRates { min_rpm: min, max_rpm: max, step_rpm: step } = *rates;
    if keys.is_complete()
        && !((min..=max).contains(default_rpm) && default_rpm.is_multiple_of(step))
        && let Some(place) = default.place()
    {
        let mut title = "`default_rpm` must be from `min_rpm` to `max_rpm`".to_string();
        let mut label = format!("min_rpm is {min}, max_rpm is {max}");
        if has_steps {
            title += ", a multiple of `step_rpm`";
            label += &format!(", step_rpm is {step}");
        }
        keys.table.fault(place.fault(title, label));
    }
}

/// Reads `modes` of `[returns]`; `origin` is the source of the list, for messages.
pub(crate) fn return_modes<T: Clone + PartialEq>(
    keys: &mut Keys<'_>,
    words: &[(&str, T)],
    origin: &str,
    modes: &mut Vec<T>,
) {
    let title = "a firmware needs at least one return mode";
    let key_type = FactoryFirst(SomeOf(words, origin), title);
    keys.of_type("modes", RETURN_MODES, &key_type, modes);
}

/// Opens the table `[lasers]` of a profile.
pub(crate) fn lasers_table<'f>(root: &mut Keys<'f>) -> Option<TableReader<'f>> {
    root.field("lasers").meaning("The lasers and when they fire.").table("[lasers]")
}

/// Field `rows` of the table `[lasers]`.
pub(crate) fn laser_rows<'f>(table: &mut TableReader<'f>) -> Field<'f> {
    let says = "The lasers in the order of their numbers, a row each: Velodynes have id, \
        elevation_deg, azimuth_offset_deg, vertical_offset_mm, firing_offset_us; Hesais id, \
        elevation_deg, azimuth_deg, firing_us.";
    table.required("rows").meaning(says)
}

/// A column of the table of lasers: a number in each laser's row.
pub(crate) struct Column {
    /// Name of the column in error messages.
    pub name: &'static str,
    /// Allowed values.
    pub limit: Numbers,
}

/// Allowed values of a column: integers that fit in a byte, or real numbers.
pub(crate) enum Numbers {
    Whole(Limit<i128>),
    Any(Limit<f64>),
}

impl Column {
    /// A column of integers from 0 to `most`.
    pub fn whole(name: &'static str, most: u8, origin: &'static str) -> Self {
        Self { name, limit: Numbers::Whole(Limit::new(0..=most.into(), "", origin)) }
    }

    /// A column of real numbers in `range`.
    pub fn number(
        name: &'static str,
        range: RangeInclusive<f64>,
        unit: &'static str,
        origin: &'static str,
    ) -> Self {
        Self { name, limit: Numbers::Any(Limit::new(range, unit, origin)) }
    }
}

/// Reads an array of rows, one per laser, ordered by laser number, which is the first column. `counts` are the
/// permitted numbers of rows; `many` describes them in messages. `refusal` returns title and label of a message if the
/// numbers of a row contradict each other.
pub(crate) fn lasers<const N: usize>(
    field: &Field<'_>,
    counts: &[usize],
    many: &str,
    columns: &[Column; N],
    refusal: impl Fn(&[f64; N]) -> Option<(&'static str, String)>,
) -> Option<Vec<[f64; N]>> {
    let row_text = format!("rows [{}]", columns.each_ref().map(|column| column.name).join(", "));
    let expected = format!("an array of {many} {row_text}");
    let least = counts.iter().copied().min().unwrap_or_default();
    let most = counts.iter().copied().max().unwrap_or(usize::MAX);
    let (rows, place) = field.array_of(least..=most, &expected)?;
    if !counts.contains(&rows.len()) {
        let label = format!("this has {}; allowed: {many}", rows.len());
        field.fault(place.fault("no model has this number of lasers", label));
    }
    let laser = |(index, row): (usize, &Field<'_>)| {
        let numbers = laser(row, index, columns, &row_text)?;
        if let (Some((title, label)), Some(place)) = (refusal(&numbers), row.place()) {
            row.fault(place.fault(title, label));
        }
        Some(numbers)
    };
    let lasers: Vec<_> = rows.iter().enumerate().map(laser).collect();
    let lasers: Option<Vec<_>> = lasers.into_iter().collect();
    lasers.filter(|lasers| counts.contains(&lasers.len()))
}

fn laser<const N: usize>(
    row: &Field<'_>,
    index: usize,
    columns: &[Column; N],
    expected: &str,
) -> Option<[f64; N]> {
    let (items, place) = row.array_of(N..=N, expected)?;
    if items.len() != N {
        let label = format!("this has {}; allowed: {expected}", items.len());
        row.fault(place.fault(format!("laser {index} must have {N} numbers"), label));
        return None;
    }
    let number = |(item, column): (Field<'_>, &Column)| {
        let item = item.named(column.name);
        match &column.limit {
            Numbers::Whole(limit) => item.integer::<u8>(limit).map(f64::from),
            Numbers::Any(limit) => item.number(limit),
        }
    };
    let numbers: Vec<Option<f64>> = items.into_iter().zip(columns).map(number).collect();
    let numbers: Option<Vec<f64>> = numbers.into_iter().collect();
    let numbers: [f64; N] = numbers?.try_into().ok()?;
    if numbers[0] != index as f64 {
        let label = format!("its id is {}; allowed: {index} in this row", numbers[0]);
        row.fault(place.fault("lasers must be in the order of their ids", label));
        return None;
    }
    Some(numbers)
}

/// Reads `dark_intensity`: lowest and highest value.
pub(crate) fn dark_intensity(field: &Field<'_>) -> Option<[u8; 2]> {
    let byte = Limit::new(0..=255, "", "the wire format: one byte");
    let [low, high] = field.integers::<u8, 2>(&byte)?;
    if low > high {
        let label = "allowed: [lowest, highest]";
        field.fault(
            field.place()?.fault(
                "the first number of `dark_intensity` must not be more than the second",
                label,
            ),
        );
        return None;
    }
    Some([low, high])
}

/// Reads a rig's `rotation_rate_rpm`, one of the product's `rates`.
pub(crate) fn rotation_rate(
    keys: &mut Keys<'_>,
    profile: &Profile,
    rates: &RotationRates,
    rate_rpm: &mut u32,
) {
    let origin = format!("{}, [rotation]", profile.file);
    let rpm = Limit::new(rates.min_rpm.into()..=rates.max_rpm.into(), "rpm", origin.clone());
    let field = keys.field_or("rotation_rate_rpm", *rate_rpm).meaning(ROTATION_RATE);
    let rate = field.integer::<u32>(&rpm);
    if rate.is_some_and(|rate| !rate.is_multiple_of(rates.step_rpm))
        && let Some(place) = field.place()
    {
        let label = format!("allowed: multiples of {}", rates.step_rpm);
        let fault = place.fault("this unit does not support this rotation rate", label);
        keys.table.fault(fault.note(format!("limit from {origin}")));
    }
    keys.put(rate, rate_rpm);
}

/// Reads a rig's `return_mode`, one of the product's `modes`.
pub(crate) fn return_mode(
    keys: &mut Keys<'_>,
    profile: &Profile,
    modes: &[ReturnMode],
    mode: &mut ReturnMode,
) {
    let words: Vec<_> =
        ReturnMode::WORDS.into_iter().filter(|(_, mode)| modes.contains(mode)).collect();
    return_mode_among(keys, &words, &format!("{}, [returns]", profile.file), mode);
}

/// Reads a rig's `return_mode`, one of `words`; `origin` is the source of the list.
pub(crate) fn return_mode_among<T: Clone + PartialEq>(
    keys: &mut Keys<'_>,
    words: &[(&str, T)],
    origin: &str,
    mode: &mut T,
) {
    let says = "Echoes of a pulse that are reported.";
    keys.of_type("return_mode", says, &OneOf(words, origin), mode);
}

/// Allowed angles of the rotor at the start of the run.
pub(crate) fn start_azimuth() -> Degrees {
    let origin = "the wire format: azimuth is 0 to 35999 hundredths";
    Degrees(Limit::new(0.0..=359.99, "degrees", origin))
}

/// Reads a rig's `beam` and `noise`; `reach` limits the beam's ranges, metres.
pub(crate) fn optics(
    keys: &mut Keys<'_>,
    reach: &Limit<f64>,
    beam: &mut BeamSettings,
    noise: &mut NoiseSettings,
) {
    lidar::rig_beam(keys, "{ shape = \"rectangular\" }", reach, beam);
    lidar::rig_noise(keys, "{ range_std_m = 0.02 }", noise);
}

/// Field `rates_rpm`, a profile's list of speeds.
pub(crate) fn rates_field<'f>(keys: &mut Keys<'f>) -> Field<'f> {
    let says = "Speeds that the unit can be set to; the first is the factory setting.";
    keys.field("rates_rpm").meaning(says)
}

/// Allowed values of a profile's list of speeds; the first is the factory setting.
pub(crate) fn listed_rates() -> Listed {
    Listed("speeds, starting with the factory setting", Limit::new(60..=6000, "rpm", PROFILES))
}

/// Reads a rig's `rotation_rate_rpm`, one of the speeds in the profile.
pub(crate) fn listed_rate(
    keys: &mut Keys<'_>,
    profile: &Profile,
    rates: &[u32],
    rate_rpm: &mut u32,
) {
    let origin = format!("{}, [rotation]", profile.file);
    let highest = rates.iter().copied().max().unwrap_or_default();
    let field = keys.field("rotation_rate_rpm").meaning(ROTATION_RATE);
    field.defaults_to(*rate_rpm);
    let rate = field.integer::<u32>(&Limit::new(1..=highest.into(), "rpm", origin.clone()));
    if rate.is_some_and(|rate| !rates.contains(&rate))
        && let Some(place) = field.place()
    {
        let allowed: Vec<_> = rates.iter().map(u32::to_string).collect();
        let label = format!("allowed: {} rpm", allowed.join(", "));
        let fault = place.fault("this unit does not support this rotation rate", label);
        keys.table.fault(fault.note(format!("limit from {origin}")));
    }
    keys.put(rate, rate_rpm);
}

/// Reads a rig's `sector_deg`: first and last angle, clockwise. Stores both angles in `ends`, in units of 1/`steps`
/// degree. Returns the field of the key if both angles are valid.
pub(crate) fn sector<'t>(
    keys: &mut Keys<'t>,
    steps: f64,
    origin: &'static str,
    ends: &mut [u16; 2],
) -> Option<Field<'t>> {
    let degrees = Limit::new(0.0..=360.0, "degrees", origin);
    let sentence =
        "First and last angle of the sector in which the lidar measures, clockwise from forward.";
    let field = keys.field("sector_deg").such_as("[270.0, 90.0]").meaning(sentence);
    field.defaults_to(ends.map(|end| f64::from(end) / steps).to_vec());
    let read = field.numbers::<2>(&degrees);
    let read = read.map(|ends| ends.map(|end| (end * steps).round() as u16));
    let is_read = read.is_some();
    keys.put(read, ends);
    is_read.then_some(field)
}

/// Allowed times from a restart until the unit works again.
pub(crate) fn boot() -> Time {
    Time(Limit::new(0.1..=600.0, "s", PROFILES), 1e9)
}

/// Allowed temperatures of a unit's boards.
pub(crate) fn celsius() -> Limit<f64> {
    Limit::new(-100.0..=200.0, "degrees C", PROFILES)
}

/// Key type of hexadecimal bytes. Fields: description of valid text, and title of the message about invalid text.
pub(crate) struct Hexadecimal(pub &'static str, pub &'static str);

impl<const N: usize> KeyType<[u8; N]> for Hexadecimal {
    fn read(&self, field: &Field<'_>) -> Option<[u8; N]> {
        let &Self(expected, title) = self;
        let text = field.text(expected)?;
        let digits = text.value.as_bytes();
        let byte = |pair: &[u8]| {
            let pair = std::str::from_utf8(pair).ok()?;
            u8::from_str_radix(pair, 16).ok()
        };
        let is_plain = digits.len() == 2 * N && digits.iter().all(u8::is_ascii_hexdigit);
        let bytes: Option<Vec<u8>> = digits.chunks(2).map(byte).collect();
        let bytes = bytes.filter(|_| is_plain).and_then(|bytes| bytes.try_into().ok());
        if bytes.is_none() {
            field.fault(text.place.fault(title, format!("allowed: {expected}")));
        }
        bytes
    }

    fn written(&self, bytes: &[u8; N]) -> Json {
        bytes.iter().map(|byte| format!("{byte:02X}")).collect::<String>().into()
    }
}
