//! What a profile and a rig both say about a lidar: optics and errors.
//!
//! A profile must say everything, a rig only what differs from its profile.

use crate::config::profile::lidar::{BeamSettings, BeamShape, NoiseSettings};
use crate::config::toml::diagnostic::Place;
use crate::config::toml::reader::{Field, Limit, TableReader};

fn field<'f>(table: &mut TableReader<'f>, key: &'static str, required: bool) -> Field<'f> {
    if required { table.required(key) } else { table.optional(key) }
}

/// Reads `beam`; without `defaults` every key must be there. `reach` limits its ranges, metres.
pub fn beam(
    mut table: TableReader<'_>,
    defaults: Option<&BeamSettings>,
    reach: &Limit<f64>,
) -> Option<BeamSettings> {
    let must = defaults.is_none();
    let default = |pick: fn(&BeamSettings) -> f64| defaults.map(pick);
    let shape_field = field(&mut table, "shape", must);
    let shape_place = shape_field.place();
    let shape =
        shape_field.choice(&BeamShape::WORDS, "Menura's beam models").or(defaults.map(|d| d.shape));
    let divergence_field = field(&mut table, "divergence_mrad", must);
    let divergence_place = divergence_field.place();
    let divergence = divergence(divergence_field)
        .or(defaults.map(|d| [d.divergence_horizontal_rad, d.divergence_vertical_rad]));
    let cutoff = Limit::new(0.0..=100.0, "m", "Menura: echoes farther apart are never one");
    let signal_cutoff_m = field(&mut table, "signal_cutoff_m", must)
        .number(&cutoff)
        .or(default(|d| d.signal_cutoff_m));
    let min_field = field(&mut table, "min_range_m", must);
    let min_place = min_field.place();
    let min_range_m = min_field.number(reach).or(default(|d| d.min_range_m));
    let max_field = field(&mut table, "max_range_m", must);
    let max_place = max_field.place();
    let max_range_m = max_field.number(reach).or(default(|d| d.max_range_m));
    let threshold = Limit::new(0.0..=1.0, "", "the quantity itself: reflectance times cosine");
    let detection_threshold = field(&mut table, "detection_threshold", must)
        .number(&threshold)
        .or(default(|d| d.detection_threshold));

    if let (Some(min), Some(max)) = (min_range_m, max_range_m)
        && min >= max
        && let Some(place) = max_place.or(min_place)
    {
        let label = format!("min_range_m is {min} m, max_range_m is {max} m");
        table.fault(place.fault("`max_range_m` must be more than `min_range_m`", label));
    }
    if let (Some(BeamShape::Circular), Some([horizontal, vertical])) = (shape, divergence)
        && horizontal != vertical
        && let Some(place) = divergence_place.or(shape_place)
    {
        table.fault(two_divergences(&place));
    }
    table.finish();
    let [divergence_horizontal_rad, divergence_vertical_rad] = divergence?;
    Some(BeamSettings {
        shape: shape?,
        divergence_horizontal_rad,
        divergence_vertical_rad,
        signal_cutoff_m: signal_cutoff_m?,
        min_range_m: min_range_m?,
        max_range_m: max_range_m?,
        detection_threshold: detection_threshold?,
    })
}

fn two_divergences(place: &Place) -> crate::config::toml::diagnostic::Diagnostic {
    place
        .fault("a circular spot has one divergence", "these differ across and along")
        .help("write one number, divergence_mrad = 2.0, or shape = \"elliptical\"")
}

/// One number, or `[horizontal, vertical]`; milliradians in, radians out.
fn divergence(field: Field<'_>) -> Option<[f64; 2]> {
    let limit = Limit::new(0.0..=100.0, "mrad", "Menura: wider beams are not lidar beams");
    let mrad = if field.is_array() {
        field.numbers::<2>(&limit)
    } else {
        field.number(&limit).map(|both| [both; 2])
    };
    mrad.map(|axes| axes.map(|x| x / 1000.0))
}

/// Reads `noise`; without `defaults` every key must be there.
pub fn noise(
    mut table: TableReader<'_>,
    defaults: Option<&NoiseSettings>,
) -> Option<NoiseSettings> {
    let must = defaults.is_none();
    let default = |pick: fn(&NoiseSettings) -> f64| defaults.map(pick);
    let range = Limit::new(0.0..=10.0, "m", "Menura's error model");
    let angle = Limit::new(0.0..=10.0, "degrees", "Menura's error model");
    let part = Limit::new(0.0..=1.0, "of full scale", "Menura's error model");
    let range_std_m =
        field(&mut table, "range_std_m", must).number(&range).or(default(|d| d.range_std_m));
    let azimuth_std_rad = field(&mut table, "azimuth_std_deg", must)
        .number(&angle)
        .map(f64::to_radians)
        .or(default(|d| d.azimuth_std_rad));
    let elevation_std_rad = field(&mut table, "elevation_std_deg", must)
        .number(&angle)
        .map(f64::to_radians)
        .or(default(|d| d.elevation_std_rad));
    let intensity_std =
        field(&mut table, "intensity_std", must).number(&part).or(default(|d| d.intensity_std));
    table.finish();
    Some(NoiseSettings {
        range_std_m: range_std_m?,
        azimuth_std_rad: azimuth_std_rad?,
        elevation_std_rad: elevation_std_rad?,
        intensity_std: intensity_std?,
    })
}
