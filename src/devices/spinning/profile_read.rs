//! Reads what profiles and rigs say of every spinning lidar.

use super::motor_settings::RotationRates;
use super::return_mode::ReturnMode;
use crate::config::profile::Profile;
use crate::config::profile::lidar::{self, BeamSettings, NoiseSettings};
use crate::config::profile::read::PROFILES;
use crate::config::toml::keys::Keys;
use crate::config::toml::reader::{Field, Limit, TableReader};

/// Reads `[rotation]` of a profile, with `step_rpm` if `has_steps`.
pub(crate) fn rotation(
    mut keys: Keys<'_>,
    has_steps: bool,
    rates: &mut RotationRates,
    default_rpm: &mut u32,
    start_azimuth_rad: &mut f64,
) -> Option<()> {
    let rpm = Limit::new(1..=6000, "rpm", PROFILES);
    keys.integer("min_rpm", &rpm, &mut rates.min_rpm);
    keys.integer("max_rpm", &rpm, &mut rates.max_rpm);
    rates.step_rpm = 1;
    if has_steps {
        keys.integer("step_rpm", &rpm, &mut rates.step_rpm);
    }
    let default = keys.field("default_rpm");
    keys.put(default.integer(&rpm), default_rpm);
    let has_rates = keys.is_complete();
    start_azimuth(&mut keys, start_azimuth_rad);
    let RotationRates { min_rpm: min, max_rpm: max, step_rpm: step } = *rates;
    if has_rates
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
    keys.finish()
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
pub(crate) fn dark_intensity(field: &Field<'_>) -> Option<[u8; 2]> {
    let byte = Limit::new(0.0..=255.0, "", "the wire format: one byte");
    let [low, high] = field.numbers::<2>(&byte)?.map(|value| value as u8);
    if low > high {
        let label = "allowed: [lowest, highest]";
        field.fault(field.place()?.fault("`dark_intensity` runs backwards", label));
        return None;
    }
    Some([low, high])
}

/// Reads `rotation_rate_rpm` of a rig, one of the product's `rates`.
pub(crate) fn rotation_rate(
    keys: &mut Keys<'_>,
    profile: &Profile,
    rates: &RotationRates,
    rate_rpm: &mut u32,
) {
    let origin = format!("{}, [rotation]", profile.file);
    let rpm = Limit::new(rates.min_rpm.into()..=rates.max_rpm.into(), "rpm", origin.clone());
    let field = keys.field("rotation_rate_rpm");
    let rate = field.integer::<u32>(&rpm);
    if rate.is_some_and(|rate| !rate.is_multiple_of(rates.step_rpm))
        && let Some(place) = field.place()
    {
        let label = format!("allowed: multiples of {}", rates.step_rpm);
        let fault = place.fault("this unit does not turn at such a rate", label);
        keys.table.fault(fault.note(format!("limit from {origin}")));
    }
    keys.put(rate, rate_rpm);
}

/// Reads `return_mode` of a rig, one of the product's `modes`.
pub(crate) fn return_mode(
    keys: &mut Keys<'_>,
    profile: &Profile,
    modes: &[ReturnMode],
    mode: &mut ReturnMode,
) {
    let words: Vec<_> =
        ReturnMode::WORDS.into_iter().filter(|(_, mode)| modes.contains(mode)).collect();
    keys.choice("return_mode", &words, &format!("{}, [returns]", profile.file), mode);
}

/// Reads `start_azimuth_deg`, the rotor's angle at the first instant.
pub(crate) fn start_azimuth(keys: &mut Keys<'_>, azimuth_rad: &mut f64) {
    let origin = "the wire format: azimuth is 0 to 35999 hundredths";
    keys.degrees("start_azimuth_deg", &Limit::new(0.0..=359.99, "degrees", origin), azimuth_rad);
}

/// Reads `lag_ms`, the extra delay from a packet's end to its leaving.
pub(crate) fn lag(keys: &mut Keys<'_>, lag_ns: &mut u64) {
    let origin = "Menura: packets are held in memory until they are due";
    keys.time_ns("lag_ms", &Limit::new(0.0..=1000.0, "ms", origin), 1e6, lag_ns);
}

/// Reads `beam` and `noise` of a rig; `reach` limits the beam's ranges, metres.
pub(crate) fn optics(
    keys: &mut Keys<'_>,
    reach: &Limit<f64>,
    beam: &mut BeamSettings,
    noise: &mut NoiseSettings,
) {
    lidar::rig_beam(keys, "{ shape = \"rectangular\" }", reach, beam);
    lidar::rig_noise(keys, "{ range_std_m = 0.02 }", noise);
}
