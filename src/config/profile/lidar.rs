//! Optics and errors that all lidars have: what a profile says and a rig may set.

use crate::config::toml::diagnostic::{Diagnostic, Place};
use crate::config::toml::keys::Keys;
use crate::config::toml::reader::{Field, Limit, TableReader};

words!(BeamShape:
    "ray" => Ray, "circular" => Circular, "elliptical" => Elliptical, "rectangular" => Rectangular);

/// The shape of a laser's spot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BeamShape {
    /// One centre ray.
    Ray,
    /// Nine rays, Goodin et al. 2018.
    Circular,
    /// Nine rays, two half-axes.
    Elliptical,
    /// Nine rays: centre, corners, edge middles.
    Rectangular,
}

/// Optics of a lidar.
#[derive(Clone, Debug, PartialEq)]
pub struct BeamSettings {
    /// Spot shape.
    pub shape: BeamShape,
    /// Full divergence angle across (horizontal), radians.
    pub divergence_horizontal_rad: f64,
    /// Full divergence angle along (vertical), radians.
    pub divergence_vertical_rad: f64,
    /// Echoes nearer to one another than this are one, metres.
    pub signal_cutoff_m: f64,
    /// Nothing nearer is reported, metres.
    pub min_range_m: f64,
    /// Nothing farther is reported, metres.
    pub max_range_m: f64,
    /// `reflectance * cos(incidence)` below which an echo is not detected, 0..1.
    pub detection_threshold: f64,
}

impl Default for BeamSettings {
    /// One ray that sees everything.
    fn default() -> Self {
        Self {
            shape: BeamShape::Ray,
            divergence_horizontal_rad: 0.0,
            divergence_vertical_rad: 0.0,
            signal_cutoff_m: 0.0,
            min_range_m: 0.0,
            max_range_m: f64::INFINITY,
            detection_threshold: 0.0,
        }
    }
}

/// Gaussian errors of a lidar, standard deviations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NoiseSettings {
    /// On range, metres.
    pub range_std_m: f64,
    /// On the beam's azimuth, radians.
    pub azimuth_std_rad: f64,
    /// On the beam's elevation, radians.
    pub elevation_std_rad: f64,
    /// On intensity, of full scale.
    pub intensity_std: f64,
}

/// Reads `[beam]` and `[noise]` of a profile; `reach` limits the beam's ranges, metres.
pub(crate) fn profile_optics(
    root: &mut TableReader<'_>,
    reach: &Limit<f64>,
) -> Option<(BeamSettings, NoiseSettings)> {
    let mut optics = (BeamSettings::default(), NoiseSettings::default());
    let table = root.required("beam").table("[beam]");
    let has_beam = table.and_then(|table| beam(Keys::of_profile(table), reach, &mut optics.0));
    let table = root.required("noise").table("[noise]");
    let has_noise = table.and_then(|table| noise(Keys::of_profile(table), &mut optics.1));
    has_beam.and(has_noise).map(|()| optics)
}

/// Reads `beam` of a rig's settings; `reach` limits its ranges, metres.
pub(crate) fn rig_beam(
    keys: &mut Keys<'_>,
    example: &'static str,
    reach: &Limit<f64>,
    all: &mut BeamSettings,
) {
    let field = keys.field("beam").such_as(example);
    keys.table_in(&field, "a beam", all, |keys, all| beam(keys, reach, all));
}

/// Reads `noise` of a rig's settings.
pub(crate) fn rig_noise(keys: &mut Keys<'_>, example: &'static str, all: &mut NoiseSettings) {
    let field = keys.field("noise").such_as(example);
    keys.table_in(&field, "noise", all, noise);
}

fn beam(mut keys: Keys<'_>, reach: &Limit<f64>, all: &mut BeamSettings) -> Option<()> {
    let shape = keys.field("shape");
    keys.put(shape.choice(&BeamShape::WORDS, "Menura's beam models"), &mut all.shape);
    let divergence = keys.field("divergence_mrad");
    let mut axes_rad = [all.divergence_horizontal_rad, all.divergence_vertical_rad];
    keys.put(divergence_rad(&divergence), &mut axes_rad);
    [all.divergence_horizontal_rad, all.divergence_vertical_rad] = axes_rad;
    let cutoff = Limit::new(0.0..=100.0, "m", "Menura: echoes farther apart are never one");
    keys.number("signal_cutoff_m", &cutoff, &mut all.signal_cutoff_m);
    let min = keys.field("min_range_m");
    keys.put(min.number(reach), &mut all.min_range_m);
    let max = keys.field("max_range_m");
    keys.put(max.number(reach), &mut all.max_range_m);
    let threshold = Limit::new(0.0..=1.0, "", "the quantity itself: reflectance times cosine");
    keys.number("detection_threshold", &threshold, &mut all.detection_threshold);

    if all.min_range_m >= all.max_range_m
        && let Some(place) = max.place().or(min.place())
    {
        let label =
            format!("min_range_m is {} m, max_range_m is {} m", all.min_range_m, all.max_range_m);
        keys.table.fault(place.fault("`max_range_m` must be more than `min_range_m`", label));
    }
    if all.shape == BeamShape::Circular
        && axes_rad[0] != axes_rad[1]
        && let Some(place) = divergence.place().or(shape.place())
    {
        keys.table.fault(two_divergences(&place));
    }
    keys.finish()
}

fn two_divergences(place: &Place) -> Diagnostic {
    place
        .fault("a circular spot has one divergence", "these differ across and along")
        .help("write one number, divergence_mrad = 2.0, or shape = \"elliptical\"")
}

/// One number, or `[horizontal, vertical]`; milliradians in, radians out.
fn divergence_rad(field: &Field<'_>) -> Option<[f64; 2]> {
    let limit = Limit::new(0.0..=100.0, "mrad", "Menura: wider beams are not lidar beams");
    let mrad = if field.is_array() {
        field.numbers::<2>(&limit)
    } else {
        field.number(&limit).map(|both| [both; 2])
    };
    mrad.map(|axes| axes.map(|x| x / 1000.0))
}

fn noise(mut keys: Keys<'_>, all: &mut NoiseSettings) -> Option<()> {
    let range = Limit::new(0.0..=10.0, "m", "Menura's error model");
    let angle = Limit::new(0.0..=10.0, "degrees", "Menura's error model");
    let part = Limit::new(0.0..=1.0, "of full scale", "Menura's error model");
    keys.number("range_std_m", &range, &mut all.range_std_m);
    keys.degrees("azimuth_std_deg", &angle, &mut all.azimuth_std_rad);
    keys.degrees("elevation_std_deg", &angle, &mut all.elevation_std_rad);
    keys.number("intensity_std", &part, &mut all.intensity_std);
    keys.finish()
}
