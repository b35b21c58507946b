//! Reads what profiles and rigs say of every spinning lidar.

use super::return_mode::ReturnMode;
use crate::config::profile::Profile;
use crate::config::profile::lidar::{BeamSettings, NoiseSettings};
use crate::config::profile::lidar_read as lidar;
use crate::config::profile::read::PROFILES;
use crate::config::toml::reader::{Limit, TableReader};

/// `[rotation]` of a profile.
pub(crate) struct Rotation {
    pub min_rpm: u32,
    pub max_rpm: u32,
    /// Speeds are multiples of this.
    pub step_rpm: u32,
    pub default_rpm: u32,
    pub start_azimuth_rad: f64,
}

/// Reads `[rotation]`, with `step_rpm` if `has_steps`.
pub(crate) fn rotation(mut table: TableReader<'_>, has_steps: bool) -> Option<Rotation> {
    let rpm = Limit::new(1..=6000, "rpm", PROFILES);
    let min_rpm = table.required("min_rpm").integer::<u32>(&rpm);
    let max_rpm = table.required("max_rpm").integer::<u32>(&rpm);
    let step_rpm =
        if has_steps { table.required("step_rpm").integer::<u32>(&rpm) } else { Some(1) };
    let default_field = table.required("default_rpm");
    let default_rpm = default_field.integer::<u32>(&rpm);
    let start = table.required("start_azimuth_deg").number(&start_azimuth_limit());
    if let (Some(min), Some(max), Some(step), Some(default), Some(place)) =
        (min_rpm, max_rpm, step_rpm, default_rpm, default_field.place())
        && !(min <= default && default <= max && default.is_multiple_of(step))
    {
        let mut title = "`default_rpm` must be from `min_rpm` to `max_rpm`".to_string();
        let mut label = format!("min_rpm is {min}, max_rpm is {max}");
        if has_steps {
            title += ", a multiple of `step_rpm`";
            label += &format!(", step_rpm is {step}");
        }
        table.fault(place.fault(title, label));
    }
    table.finish();
    Some(Rotation {
        min_rpm: min_rpm?,
        max_rpm: max_rpm?,
        step_rpm: step_rpm?,
        default_rpm: default_rpm?,
        start_azimuth_rad: start?.to_radians(),
    })
}

/// Reads `modes` of `[returns]`. `refusal` says why a product has no such mode: title and label.
pub(crate) fn return_modes(
    mut table: TableReader<'_>,
    refusal: impl Fn(ReturnMode) -> Option<(&'static str, &'static str)>,
) -> Option<Vec<ReturnMode>> {
    let expected = "an array of \"strongest\", \"last\", \"dual\", the factory's first";
    let (items, place) = table.required("modes").array(expected)?;
    if items.is_empty() {
        let label = format!("allowed: {expected}");
        table.fault(place.fault("a firmware has at least one return mode", label));
    }
    let mut modes = Vec::new();
    for item in items {
        let Some(mode) = item.choice(&ReturnMode::WORDS, PROFILES) else { continue };
        if let Some(place) = item.place() {
            if modes.contains(&mode) {
                table.fault(place.fault("a return mode is there twice", "again here"));
            }
            if let Some((title, label)) = refusal(mode) {
                table.fault(place.fault(title, label));
            }
        }
        modes.push(mode);
    }
    table.finish();
    (!modes.is_empty()).then_some(modes)
}

/// Reads `dark_intensity`: lowest and highest.
pub(crate) fn dark_intensity(table: &mut TableReader<'_>) -> Option<[u8; 2]> {
    let field = table.required("dark_intensity");
    let place = field.place();
    let byte = Limit::new(0.0..=255.0, "", "the wire format: one byte");
    let [low, high] = field.numbers::<2>(&byte)?.map(|value| value as u8);
    if low > high {
        let label = "allowed: [lowest, highest]";
        table.fault(place?.fault("`dark_intensity` runs backwards", label));
        return None;
    }
    Some([low, high])
}

/// Reads `lag_ms`, the extra delay from a packet's end to its leaving, of a profile; nanoseconds.
pub(crate) fn lag_ns(table: &mut TableReader<'_>) -> Option<u64> {
    table.required("lag_ms").number(&lag_limit()).map(to_ns)
}

/// Reads `rotation_rate_rpm` of a rig; `[min, max]` are the product's speeds, multiples of `step_rpm`.
pub(crate) fn rotation_rate(
    table: &mut TableReader<'_>,
    profile: &Profile,
    [min, max]: [u32; 2],
    step_rpm: u32,
    rate_rpm: &mut u32,
) {
    let origin = format!("{}, [rotation]", profile.file);
    let rpm = Limit::new(min.into()..=max.into(), "rpm", origin.clone());
    let field = table.optional("rotation_rate_rpm");
    let Some(rate) = field.integer::<u32>(&rpm) else { return };
    *rate_rpm = rate;
    if !rate.is_multiple_of(step_rpm)
        && let Some(place) = field.place()
    {
        let label = format!("allowed: multiples of {step_rpm}");
        let fault = place.fault("this unit does not turn at such a rate", label);
        table.fault(fault.note(format!("limit from {origin}")));
    }
}

/// Reads `return_mode` of a rig, one of the product's `modes`.
pub(crate) fn return_mode(
    table: &mut TableReader<'_>,
    profile: &Profile,
    modes: &[ReturnMode],
    mode: &mut ReturnMode,
) {
    let words: Vec<_> =
        ReturnMode::WORDS.into_iter().filter(|(_, mode)| modes.contains(mode)).collect();
    let origin = format!("{}, [returns]", profile.file);
    *mode = table.optional("return_mode").choice(&words, &origin).unwrap_or(*mode);
}

/// Reads `start_azimuth_deg` of a rig.
pub(crate) fn start_azimuth(table: &mut TableReader<'_>, azimuth_rad: &mut f64) {
    let start = table.optional("start_azimuth_deg").number(&start_azimuth_limit());
    *azimuth_rad = start.map_or(*azimuth_rad, f64::to_radians);
}

/// Reads `lag_ms` of a rig.
pub(crate) fn lag(table: &mut TableReader<'_>, lag_ns: &mut u64) {
    if let Some(ms) = table.optional("lag_ms").number(&lag_limit()) {
        *lag_ns = to_ns(ms);
    }
}

/// Reads `beam` and `noise` of a rig; `reach` limits the beam's ranges, metres.
pub(crate) fn optics(
    table: &mut TableReader<'_>,
    reach: &Limit<f64>,
    beam: &mut BeamSettings,
    noise: &mut NoiseSettings,
) {
    let field = table.optional("beam").such_as("{ shape = \"rectangular\" }");
    if let Some(read) = field.table("a beam").and_then(|t| lidar::beam(t, Some(beam), reach)) {
        *beam = read;
    }
    let field = table.optional("noise").such_as("{ range_std_m = 0.02 }");
    if let Some(read) = field.table("noise").and_then(|t| lidar::noise(t, Some(noise))) {
        *noise = read;
    }
}

fn to_ns(ms: f64) -> u64 {
    (ms * 1e6).round() as u64
}

fn lag_limit() -> Limit<f64> {
    Limit::new(0.0..=1000.0, "ms", "Menura: packets are held in memory until they are due")
}

fn start_azimuth_limit() -> Limit<f64> {
    Limit::new(0.0..=359.99, "degrees", "the wire format: azimuth is 0 to 35999 hundredths")
}
