//! Optics and errors of all lidars: keys of profiles and rigs.

use super::errors;
use crate::toml::diagnostic::{Diagnostic, Place};
use crate::toml::key_types::{Among, Degrees, OneOf, OneOrTwo, Scaled, plain};
use crate::toml::keys::{Keys, SharedKeys};
use crate::toml::reader::{Limit, TableReader};

words!(BeamShape:
    "ray" => Ray, "circular" => Circular, "elliptical" => Elliptical, "rectangular" => Rectangular);

/// Shape of a laser's beam footprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BeamShape {
    /// A single ray in the centre.
    Ray,
    /// A circle with the horizontal divergence; the vertical one has no effect.
    Circular,
    /// An ellipse with horizontal and vertical divergence.
    Elliptical,
    /// A rectangle with horizontal and vertical divergence.
    Rectangular,
}

words!(SpotRule: "mavs" => Mavs, "printed" => Printed, "even" => Even);

/// Positions of the rays in the beam footprint, and their shares of the energy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpotRule {
    /// Rays as in MAVS: one in the centre, four on an upright cross, and four on a diagonal cross of half its width.
    /// Each arm of the upright cross is 0.7 tan(divergence / 2) long at a distance of 1 m. All rays have equal shares.
    /// A rectangular beam has three by three rays at the same steps.
    Mavs,
    /// Rays as printed in Goodin et al. 2018: one in the centre, and eight on a circle. Its radius is
    /// sqrt(2) / 4 tan(divergence / 2) at a distance of 1 m. All rays have equal shares.
    Printed,
    /// Rays whose mean square offset from the beam axis, weighted by the shares of energy, equals that of a uniformly
    /// lit footprint.
    Even,
}

words!(EchoRule:
    "waveform" => Waveform, "window" => Window, "window-mean" => WindowMean, "ray" => Ray);

/// Rule that converts received light to echoes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EchoRule {
    /// Each maximum of the sum of the returning pulses is an echo.
    Waveform,
    /// All light within `signal_cutoff_m` behind the nearest surface is one echo. Its range is the mean, weighted by
    /// energy.
    Window,
    /// Like `Window`, but with the unweighted mean range, as the first return in Goodin et al. 2018.
    WindowMean,
    /// Each ray is an echo, as for the strongest and the last return in Goodin et al. 2018.
    Ray,
}

const MODELS: &str = "Menura's beam models";

keys! {
    in profile and rig with (reach: &Limit<f64>);
    /// Optics of a lidar; `reach` limits the beam's ranges.
    #[derive(Clone, Debug, PartialEq)]
    pub struct BeamSettings {
        /// Shape of the beam footprint; `ray` casts a single ray in its centre.
        pub shape: BeamShape, OneOf(&BeamShape::WORDS, MODELS);
        /// Positions of the rays in the beam footprint: equal light for each, or those of MAVS or of Goodin et al.
        /// 2018.
        pub spot: SpotRule, OneOf(&SpotRule::WORDS, MODELS);
        /// Rays of a pulse: 1, 5, 9 or 16. 5 and 16 need an evenly lit footprint.
        pub rays: u8, Among(&plain(RAYS), "rays", MODELS);
        /// Full angle by which the beam widens: one number, or horizontal and vertical.
        pub divergence_rad as "divergence_mrad": [f64; 2],
            OneOrTwo(Limit::new(0.0..=100.0, "mrad", MODELS), 1e3);
        /// Width of the beam where it leaves the device.
        pub exit_width_m as "exit_width_mm": f64,
            Scaled(Limit::new(0.0..=100.0, "mm", "Menura: no lidar has a wider window"), 1e-3);
        /// How echoes are formed: from the sum of pulses, or as in Goodin et al. 2018.
        pub echoes: EchoRule, OneOf(&EchoRule::WORDS, "Menura's detector models");
        /// Echoes closer together than this merge into one.
        pub signal_cutoff_m: f64,
            Limit::new(0.0..=100.0, "m", "Menura: echoes farther apart never merge");
        /// Nearer surfaces are not reported.
        pub min_range_m: f64, *reach;
        /// Farther surfaces are not reported.
        pub max_range_m: f64, *reach;
        /// Detection limit: a target of the data sheet that half of the pulses detect.
        pub sees: Target =>
            |all, keys| keys.table("sees", "a target of the data sheet", &mut all.sees, SharedKeys::read);
        /// Parameter sets of papers, by name.
        pub papers: Vec<(String, BeamSettings)>;
    }
}

keys! {
    in profile and rig;
    /// A diffuse surface that the whole pulse meets at normal incidence.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Target {
        /// Diffuse reflectance of the target; 0 detects everything.
        pub reflectance: f64,
            Limit::new(0.0..=1.0, "", "physics: reflectance is a share of the light");
        /// Distance of the target.
        pub at_m: f64,
            Limit::new(0.1..=1000.0, "m", "Menura: no lidar's data sheet states a larger distance");
    }
}

impl BeamSettings {
    /// Detection limit: the signal at which half of the pulses are detected, relative to that of a white surface at 1
    /// m.
    pub fn threshold(&self) -> f64 {
        self.sees.reflectance / (self.sees.at_m * self.sees.at_m)
    }

    /// Distance at which half of the pulses on a diffuse surface with this reflectance are detected in clear air,
    /// metres; at most `max_range_m`.
    pub fn reach_m(&self, reflectance: f64) -> f64 {
        (reflectance / self.threshold()).sqrt().min(self.max_range_m)
    }
}

impl Default for BeamSettings {
    /// A single ray, and a detector without a threshold.
    fn default() -> Self {
        Self {
            shape: BeamShape::Ray,
            spot: SpotRule::Even,
            rays: 1,
            divergence_rad: [0.0; 2],
            exit_width_m: 0.0,
            echoes: EchoRule::Waveform,
            signal_cutoff_m: 0.0,
            min_range_m: 0.0,
            max_range_m: f64::INFINITY,
            sees: Target { reflectance: 0.0, at_m: 1.0 },
            papers: Vec::new(),
        }
    }
}

const ERROR_MODEL: &str = "Menura's error model";

fn error_limit(least: f64, most: f64, unit: &'static str) -> Limit<f64> {
    Limit::new(least..=most, unit, ERROR_MODEL)
}

/// Limits of a range error, metres.
fn metres() -> Limit<f64> {
    error_limit(0.0, 10.0, "m")
}

/// Limits of an angular error.
fn angle() -> Degrees {
    Degrees(error_limit(0.0, 10.0, "degrees"))
}

keys! {
    in profile and rig;
    /// Errors of a lidar. Standard deviations are those of normal distributions.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct NoiseSettings {
        /// Ratio of the detection threshold to the noise of the signal; 0 for a sharp threshold.
        pub signal_to_noise: f64, error_limit(0.0, 1e6, "");
        /// Standard deviation of ranges of strong echoes.
        pub range_std_m: f64, metres();
        /// Standard deviation that is added to ranges of echoes at the detection threshold.
        pub weak_range_std_m: f64, metres();
        /// Power of threshold over signal with which the square of `weak_range_std_m` falls, 1 or 2.
        pub weak_range_power: f64,
            Limit::new(1.0..=2.0, "", "the noise model: 1 for photon noise, 2 for detector noise");
        /// Standard deviation of an error that all ranges of an interval share.
        pub scan_range_std_m: f64, metres();
        /// Length of the interval of `scan_range_std_m`, such as one rotation.
        pub scan_s: f64, error_limit(0.0, 1e6, "s");
        /// Standard deviation of the lasers' range biases, sampled once per run.
        pub laser_range_std_m: f64, metres();
        /// Range error of an echo at the threshold; positive is too far.
        pub walk_m: f64, metres();
        /// Ratio of signal to threshold from which the detector is saturated; 0 for never.
        pub saturation: f64, error_limit(0.0, 1e6, "");
        /// Largest range error of saturated echoes, towards the sensor.
        pub saturation_shift_m: f64, metres();
        /// Change of the ranges between power-on and a warm device.
        pub warm_up_drift_m: f64, error_limit(-10.0, 10.0, "m");
        /// Time constant of `warm_up_drift_m`.
        pub warm_up_s: f64, error_limit(0.0, 1e6, "s");
        /// Standard deviation of the beam's azimuth.
        pub azimuth_std_rad as "azimuth_std_deg": f64, angle();
        /// Standard deviation of the lasers' azimuth biases, sampled once per run.
        pub laser_azimuth_std_rad as "laser_azimuth_std_deg": f64, angle();
        /// Standard deviation of the beam's elevation.
        pub elevation_std_rad as "elevation_std_deg": f64, angle();
        /// Standard deviation of the lasers' elevation biases, sampled once per run.
        pub laser_elevation_std_rad as "laser_elevation_std_deg": f64, angle();
        /// Standard deviation of intensities.
        pub intensity_std: f64, error_limit(0.0, 1.0, "of full scale");
    }
}

const BEAM: &str = "Optics of the laser beam.";
const NOISE: &str = "Random errors, as standard deviations.";

/// Reads `[beam]`, `[papers]` and `[noise]` of a profile; `None` after an error in beam or noise. `reach` limits the
/// beam's ranges, metres.
pub fn profile_optics(
    root: &mut TableReader<'_>,
    reach: &Limit<f64>,
) -> Option<(BeamSettings, NoiseSettings)> {
    let mut optics = (BeamSettings::default(), NoiseSettings::default());
    let table = root.required("beam").meaning(BEAM).table("[beam]");
    let has_beam = table.and_then(|table| beam(Keys::of_profile(table), reach, &mut optics.0));
    papers(root, reach, &mut optics.0);
    let table = root.required("noise").meaning(NOISE).table("[noise]");
    let has_noise =
        table.and_then(|table| NoiseSettings::read(Keys::of_profile(table), &mut optics.1));
    has_beam.and(has_noise).map(|()| optics)
}

/// Reads `beam` of a rig's settings; `reach` limits its ranges, metres.
pub fn rig_beam(
    keys: &mut Keys<'_>,
    example: &'static str,
    reach: &Limit<f64>,
    all: &mut BeamSettings,
) {
    let field = keys.field("beam").meaning(BEAM).such_as(example);
    keys.table_in(&field, "a beam", all, |mut keys, all| {
        paper(&mut keys, all);
        beam(keys, reach, all)
    });
}

/// Reads `errors` and `noise` of a rig's settings.
pub fn rig_noise(keys: &mut Keys<'_>, example: &'static str, all: &mut NoiseSettings) {
    if errors::are_none(&mut keys.table, "Menura's lidars") {
        *all = NoiseSettings { weak_range_power: all.weak_range_power, ..Default::default() };
    }
    let field = keys.field("noise").meaning(NOISE).such_as(example);
    keys.table_in(&field, "noise", all, |mut keys, all| {
        let how = "write errors = \"none\" among the settings";
        keys.table.was_called_in("none", "errors", how);
        NoiseSettings::read(keys, all)
    });
}

/// Allowed numbers of rays per pulse.
const RAYS: [u8; 4] = [1, 5, 9, 16];

/// Papers whose beams a profile can define in `[papers.NAME.beam]`: each NAME, and the documentation of the key NAME.
const PAPERS: [(&str, &str); 2] =
    [("goodin-2018", "Beam in Goodin et al. 2018."), ("mavs", "Beam in the source of MAVS.")];

/// Reads `[papers]`. If a paper states no value for a key, the product's value is used.
fn papers(root: &mut TableReader<'_>, reach: &Limit<f64>, all: &mut BeamSettings) {
    let field = root.optional("papers").meaning("Beams of the product as papers give them.");
    if !field.is_written() {
        return;
    }
    let Some(mut table) = field.table("[papers]") else { return };
    for (name, says) in PAPERS {
        let field = table.optional(name).meaning(says);
        if !field.is_written() {
            continue;
        }
        let Some(mut paper) = field.table("what a paper has") else { continue };
        let mut set = all.clone();
        let table = paper.required("beam").meaning(BEAM).table("a paper's beam");
        if table.and_then(|table| beam(Keys::of_rig(table), reach, &mut set)).is_some() {
            all.papers.push((name.to_owned(), set));
        }
        paper.finish();
    }
    table.finish();
}

/// Replaces the product's beam in `all` by that of a paper if the rig's key `paper` names one.
fn paper(keys: &mut Keys<'_>, all: &mut BeamSettings) {
    let papers = std::mem::take(&mut all.papers);
    let product = ("product", &*all);
    let named = papers.iter().map(|(name, set)| (name.as_str(), set));
    let sets: Vec<_> = std::iter::once(product).chain(named).collect();
    let says = "Beam that sets the defaults of the other keys: the product's, or that of a paper.";
    let field = keys.table.optional("paper").meaning(says);
    field.defaults_to("product");
    let chosen =
        if field.is_written() { field.choice(&sets, "[papers] of the profile") } else { None };
    if let Some(set) = chosen.cloned() {
        *all = set;
    }
    all.papers = papers;
}

fn beam(mut keys: Keys<'_>, reach: &Limit<f64>, all: &mut BeamSettings) -> Option<()> {
    if let Some(place) = keys.table.take_unlisted("detection_threshold") {
        let label =
            "a target that is just detected; the signal falls with the square of the distance";
        let fault = place.fault("`detection_threshold` is now called `sees`", label);
        keys.table.fault(fault.help("write such as sees = { reflectance = 0.1, at_m = 50.0 }"));
    }
    all.read_keys(&mut keys, reach);
    let place = |key: &str| keys.table.place_of(key);
    if all.min_range_m >= all.max_range_m
        && let Some(place) = place("max_range_m").or(place("min_range_m"))
    {
        let label =
            format!("min_range_m is {} m, max_range_m is {} m", all.min_range_m, all.max_range_m);
        keys.table.fault(place.fault("`max_range_m` must be more than `min_range_m`", label));
    }
    if all.shape == BeamShape::Circular
        && all.divergence_rad[0] != all.divergence_rad[1]
        && let Some(place) = place("divergence_mrad").or(place("shape"))
    {
        keys.table.fault(two_divergences(&place));
    }
    if all.spot != SpotRule::Even
        && matches!(all.rays, 5 | 16)
        && let Some(place) = place("rays")
    {
        let title = format!("the spot \"{}\" has 1 or 9 rays", all.spot.word());
        keys.table.fault(place.fault(title, "5 and 16 require spot = \"even\""));
    }
    keys.finish()
}

fn two_divergences(place: &Place) -> Diagnostic {
    place
        .fault(
            "a circular spot has one divergence",
            "the horizontal and the vertical divergence differ",
        )
        .help("write one number, divergence_mrad = 2.0, or shape = \"elliptical\"")
}
