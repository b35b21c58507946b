//! Reads values of LMS1xx and LMS5xx that need more than a key type.

use crate::config::profile::Profile;
use crate::config::profile::read::PROFILES;
use crate::config::toml::diagnostic::{Diagnostic, Place};
use crate::config::toml::key_types::Time;
use crate::config::toml::keys::Keys;
use crate::config::toml::reader::{Field, Limit, TableReader};
use crate::sick_lms1xx::profile::{
    EchoFilter, Scan, ScanMode, SickLms1xxProfile, SickLms1xxSettings, TURN,
};

/// Origin of limits.
pub(super) const PROTOCOL: &str = "CoLa";
/// The places of the wire's angles in a degree.
const PER_DEGREE: f64 = 10_000.0;
/// Names of places are no longer in these scanners.
const LONGEST_TEXT: usize = 64;

/// Limits of a direction of the mirror.
pub(super) fn angle() -> Limit<f64> {
    Limit::new(-180.0..=540.0, "degrees", PROFILES)
}

/// The first and the last direction of a field of view.
pub(super) fn directions(field: &Field<'_>) -> Option<[i32; 2]> {
    let [first, last] = field.numbers::<2>(&angle())?.map(to_wire);
    if first < last && last - first < TURN as i32 {
        return Some([first, last]);
    }
    let label = "allowed: [first, last], counter-clockwise, less than a turn apart";
    field.fault(field.place()?.fault("this is no field of view", label));
    None
}

/// Whether the zero index is not within a scan.
pub(super) fn zero_index_fits(table: &TableReader<'_>, scan: &Scan) -> bool {
    let [first, last] = scan.field;
    let fits = scan.zero_index <= first && last - scan.zero_index <= TURN as i32;
    if let Some(place) = table.place_of("zero_index_deg").filter(|_| !fits) {
        let label = "allowed: at most at the first direction, a turn before the last one";
        table.fault(place.fault("the zero index is not between two scans", label));
    }
    fits
}

/// `[[frequency_hz, resolution_deg], ...]`
pub(super) fn modes(field: &Field<'_>) -> Option<Vec<ScanMode>> {
    let expected = "pairs [frequency_hz, resolution_deg], the factory's first";
    let items = field.some_items(expected, "a scanner needs at least one scan mode")?;
    let limit = Limit::new(0.05..=200.0, "", PROFILES);
    let mode = |item: &Field<'_>| item.numbers::<2>(&limit).map(|[hz, deg]| scan_mode(hz, deg));
    let modes: Vec<_> = items.iter().map(mode).collect();
    modes.into_iter().collect()
}

/// Resolutions divide a turn: 0.1667 degrees are a sixth.
fn scan_mode(frequency_hz: f64, resolution_deg: f64) -> ScanMode {
    ScanMode {
        frequency_centihz: (frequency_hz * 100.0).round() as u32,
        resolution: to_wire(resolution_deg) as u32,
        steps_per_turn: (360.0 / resolution_deg).round() as u32,
    }
}

/// `scan_frequency_hz` and `angular_resolution_deg`, which must go together.
pub(super) fn mode(
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
    let title = format!("this scanner has no scan of {}", words(frequency, resolution));
    place
        .fault(title, format!("allowed: {}", modes.join(", ")))
        .note(format!("limit from {}, [scan]", profile.file))
}

pub(super) fn output_range(
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

/// `echo_filter`, which only some scanners have.
pub(super) fn echo_filter(
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

/// Printable characters, which both dialects support.
pub(super) fn text(field: &Field<'_>) -> Option<String> {
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

pub(super) fn to_wire(degrees: f64) -> i32 {
    (degrees * PER_DEGREE).round() as i32
}

pub(super) fn two_bytes() -> Limit<i128> {
    Limit::new(0..=0xffff, "", "the wire format: two bytes")
}

pub(super) fn four_bytes() -> Limit<i128> {
    Limit::new(0..=0xffff_ffff, "", "the wire format: four bytes")
}

/// A time in seconds.
pub(super) fn seconds() -> Time {
    Time(Limit::new(0.0..=3600.0, "s", "Menura"), 1e9)
}

/// Ranges of a beam.
pub(super) fn reach() -> Limit<f64> {
    Limit::new(0.0..=131.07, "m", "the wire format: 16 bits of 2 mm")
}

pub(super) fn scale_limit() -> Limit<i128> {
    Limit::new(1..=2, "mm", "LMS5xx: 1 reaches 65.535 m, 2 reaches 131.07 m")
}
