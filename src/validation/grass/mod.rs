//! `menura validate grass-distribution`: how far a beam penetrates into grass, after Goodin et al. 2018 (Electronics 7,
//! 154, section 3.4.1, figures 4 and 5).
//!
//! A beam of 1 mrad hits stands of upright cylinders in random positions. The paper compares the ranges with the
//! exponential law of Macedo et al. 2001 for a thin ray and with its own gamma law. Scanners with different beams pass
//! the same stands, and their telegrams are decoded.
//!
//! # What differs from the paper
//!
//! - The laws are compared within the stand: both are truncated at 5 m, where up to 8 % of thin rays leave the sparsest
//!   stand.
//! - Positions of the beam are evenly spaced and stems are random; the paper samples both.
//! - As printed, `a` of equation (3) makes `a r` a length. Derived, it contains 1 / d. The nearest ray of the beam
//!   tests this, because its law has no other unknown.

mod bench;
mod judge;
mod law;
mod plot;

use std::fmt::Write;

use serde_json::{Value, json};

use self::bench::{Depths, STEP_M, scanners, scanners_of_widths};
use self::law::{CAST_SHARE, DEPTH_M, GAMMA_RAD, PRINTED_SHARE, STANDS, Stand};
use super::statistics::{area_between, gamma_shape, histogram, kolmogorov, mean, unrounded};
use super::{ExperimentError, Findings, Plot, Run, Scope};

/// Index in the rig of the scanner with the beam of MAVS.
const CAST: usize = 0;
/// Index of the scanner with the beam that Goodin et al. 2018 print.
const PRINTED: usize = 1;
/// Index of the scanner with a single ray.
const SINGLE: usize = 2;
/// Index of the scanner that has the beam of MAVS and reports the nearest hit of all rays.
const NEAREST: usize = 3;
/// Index of the scanner that has the beam printed in Goodin et al. 2018 and reports the nearest hit of all rays.
const NEAREST_PRINTED: usize = 4;
/// Index of the scanner with the emulator's default beam.
const TODAY: usize = 5;
/// Beam divergences that are tested, mrad.
const WIDTHS_MRAD: [f64; 8] = [0.1, 0.4, 0.7, 1.0, 1.3, 1.6, 2.0, 2.5];
/// Indices of the stands with which the divergences are tested: thin and thick stems.
const WIDTH_STANDS: [usize; 2] = [0, 1];
/// Largest number of stands of each kind in the short form.
const SHORT_STANDS: u32 = 6;
/// Divisor of the number of stands for the part with different beam divergences, which uses fewer stands.
const WIDTH_SHARE: u32 = 3;

/// Options of the experiment.
#[derive(Debug)]
pub struct Grass {
    /// Number of stands of each kind, with about 200 pulses each
    pub stands: u32,
    /// Seed of the stems' positions
    pub seed: u32,
}

/// Results of all scanners for one kind of stand.
struct Case {
    stand: Stand,
    scanners: Vec<Depths>,
    /// One fit per scanner.
    fits: Vec<Fit>,
}

/// Depths of one scanner, compared with the laws.
struct Fit {
    mean_m: f64,
    mode_m: f64,
    shape: f64,
    to_gamma: f64,
    to_exponential: f64,
    gamma_area_m: f64,
}

impl Fit {
    fn of(stand: &Stand, depths_m: &[f64]) -> Self {
        Self {
            mean_m: mean(depths_m),
            mode_m: mode_m(depths_m, 0.15 / stand.rate_per_m()),
            shape: gamma_shape(depths_m),
            to_gamma: kolmogorov(depths_m, 0.0, |x| stand.gamma(x)),
            to_exponential: kolmogorov(depths_m, 0.0, |x| stand.exponential(x)),
            gamma_area_m: area_between(depths_m, [0.0, DEPTH_M], |x| stand.gamma(x)),
        }
    }
}

impl Case {
    fn new(stand: Stand, mut scanners: Vec<Depths>) -> Self {
        // The distance of the edge differs between beams, so their steps do not coincide: depths are spread over the
        // steps.
        for scanner in &mut scanners {
            scanner.depths_m = unrounded(&scanner.depths_m, STEP_M);
        }
        let fits = scanners.iter().map(|depths| Fit::of(&stand, &depths.depths_m)).collect();
        Self { stand, scanners, fits }
    }

    fn depths(&self, scanner: usize) -> &[f64] {
        &self.scanners[scanner].depths_m
    }

    fn fit(&self, scanner: usize) -> &Fit {
        &self.fits[scanner]
    }

    /// Kolmogorov distances of the nearest ray's depths from two laws: with the derived `a`, and with the printed `a`.
    fn nearest(&self, scanner: usize, share: f64) -> [f64; 2] {
        let to = |law: &dyn Fn(f64) -> f64| kolmogorov(self.depths(scanner), 0.0, law);
        [to(&|x| self.stand.nearest(x, share)), to(&|x| self.stand.exponential(x))]
    }

    /// Share of pulses with a return.
    fn detected(&self, scanner: usize) -> f64 {
        let Depths { pulses, depths_m } = &self.scanners[scanner];
        depths_m.len() as f64 / (*pulses).max(1) as f64
    }
}

/// Most frequent depth, metres: maximum of a histogram that is smoothed with a triangular window of half-width
/// `width_m`.
fn mode_m(depths_m: &[f64], width_m: f64) -> f64 {
    let bins = (DEPTH_M / STEP_M) as usize;
    let counts = histogram(depths_m, 0.0, STEP_M, bins);
    let middle_m = |bin: usize| (bin as f64 + 0.5) * STEP_M;
    let smoothed = |at: usize| {
        let weight = |bin: usize| (1.0 - (middle_m(bin) - middle_m(at)).abs() / width_m).max(0.0);
        counts.iter().enumerate().map(|(bin, count)| weight(bin) * *count as f64).sum::<f64>()
    };
    let density: Vec<f64> = (0..bins).map(smoothed).collect();
    let highest = (0..bins).max_by(|a, b| density[*a].total_cmp(&density[*b]));
    highest.map_or(0.0, middle_m)
}

/// Result for one beam divergence.
struct Width {
    mrad: f64,
    /// Kolmogorov distances from the gamma law, for thin and thick stems.
    to_gamma: [f64; 2],
}

impl Run for Grass {
    const NAME: &'static str = "grass-distribution";
    const ABOUT: &'static str =
        "Compare how far beams penetrate grass with the models of Goodin et al. 2018";

    fn run(&self, scope: &Scope) -> Result<Findings, ExperimentError> {
        let stands = scope.of(self.stands, SHORT_STANDS.min(self.stands));
        let for_widths = stands.div_ceil(WIDTH_SHARE);
        let worlds = STANDS.len() as u32 * stands + WIDTH_STANDS.len() as u32 * for_widths;
        let progress = scope.progress("scanning", worlds.into());
        let scan_all = |stand: &Stand, kind: u64, count: u32, rig: &str| {
            let mut all: Vec<Depths> = Vec::new();
            for number in 0..count {
                let seed = (u64::from(self.seed) * 100 + kind) * 100_000 + u64::from(number);
                let scanned = bench::scan(stand, seed, rig)?;
                all.resize(scanned.len(), Depths::default());
                for (sum, scanner) in all.iter_mut().zip(scanned) {
                    sum.pulses += scanner.pulses;
                    sum.depths_m.extend(scanner.depths_m);
                }
                progress.advance(1);
            }
            Ok::<_, ExperimentError>(all)
        };
        let mut cases = Vec::new();
        for (kind, stand) in STANDS.iter().enumerate() {
            let scanners = scan_all(stand, kind as u64, stands, scanners())?;
            cases.push(Case::new(*stand, scanners));
        }
        let mut of_widths = Vec::new();
        for kind in WIDTH_STANDS {
            let rig = scanners_of_widths(&WIDTHS_MRAD);
            of_widths.push(scan_all(&STANDS[kind], kind as u64, for_widths, &rig)?);
        }
        let widths: Vec<Width> = WIDTHS_MRAD
            .iter()
            .enumerate()
            .map(|(place, mrad)| {
                let distance = |row: usize| {
                    let stand = STANDS[WIDTH_STANDS[row]];
                    let depths = unrounded(&of_widths[row][place].depths_m, STEP_M);
                    kolmogorov(&depths, 0.0, |x| stand.gamma(x))
                };
                Width { mrad: *mrad, to_gamma: [distance(0), distance(1)] }
            })
            .collect();
        Ok(Findings {
            text: text(&cases, &widths),
            report: self.report(stands, &cases, &widths),
            plots: vec![
                Plot::main(plot::histograms(&cases)),
                Plot::further("spot-width", plot::widths(&widths)),
            ],
            comparisons: judge::comparisons(&cases, &widths),
        })
    }
}

fn text(cases: &[Case], widths: &[Width]) -> String {
    let mut text = String::from(
        "depths in the stand, metres, and distances of their distribution (Kolmogorov; area: \
         Wasserstein, metres)\n\n",
    );
    let names = ["cast by MAVS", "printed footprint", "one thin ray"];
    for (scanner, name) in [CAST, PRINTED, SINGLE].into_iter().zip(names) {
        let _ = writeln!(
            text,
            "{name}\n   D, m  lambda  d, mm  alpha  1/(lambda d)  mean  mode of gamma   mode  shape  \
             to gamma  to exp.   area  returns"
        );
        for case in cases {
            let (s, fit) = (&case.stand, case.fit(scanner));
            let _ = writeln!(
                text,
                "  {:5.0}  {:6.0}  {:5.0}  {:5.2}  {:12.2}  {:4.2}  {:13.2}  {:5.2}  {:5.2}  {:8.3}  \
                 {:7.3}  {:5.3}  {:6.1} %",
                s.distance_m,
                s.stems_per_m2,
                1e3 * s.diameter_m,
                s.alpha(),
                s.rate_per_m().recip(),
                fit.mean_m,
                s.gamma_mode_m(),
                fit.mode_m,
                fit.shape,
                fit.to_gamma,
                fit.to_exponential,
                fit.gamma_area_m,
                100.0 * case.detected(scanner),
            );
        }
        text.push('\n');
    }
    text.push_str("nearest ray of the beam: distance from equation (2)\n");
    text.push_str(
        "   D, m  lambda  d, mm  MAVS: a with 1/d  a as printed  printed footprint: a with 1/d\n",
    );
    for case in cases {
        let [derived, printed] = case.nearest(NEAREST, CAST_SHARE);
        let [narrow, _] = case.nearest(NEAREST_PRINTED, PRINTED_SHARE);
        let s = &case.stand;
        let _ = writeln!(
            text,
            "  {:5.0}  {:6.0}  {:5.0}  {derived:16.3}  {printed:12.3}  {narrow:29.3}",
            s.distance_m,
            s.stems_per_m2,
            1e3 * s.diameter_m
        );
    }
    text.push_str("\nratio of footprint to beam width, and distance from the gamma law\n");
    text.push_str("  ratio  10 mm  20 mm\n");
    for Width { mrad, to_gamma: [thin, thick] } in widths {
        let _ = writeln!(text, "  {:5.2}  {thin:5.3}  {thick:5.3}", mrad * CAST_SHARE);
    }
    text
}

impl Grass {
    fn report(&self, stands: u32, cases: &[Case], widths: &[Width]) -> Value {
        let fit = |case: &Case, scanner: usize| {
            let fit = case.fit(scanner);
            json!({ "mean_m": fit.mean_m, "mode_m": fit.mode_m, "gamma_shape": fit.shape,
                    "ks_gamma": fit.to_gamma, "ks_exponential": fit.to_exponential,
                    "wasserstein_gamma_m": fit.gamma_area_m, "pulses": case.scanners[scanner].pulses,
                    "returns": case.detected(scanner) })
        };
        let rows: Vec<Value> = cases
            .iter()
            .map(|case| {
                let s = &case.stand;
                json!({
                    "distance_m": s.distance_m, "stems_per_m2": s.stems_per_m2,
                    "diameter_m": s.diameter_m, "alpha": s.alpha(), "gamma_mode_m": s.gamma_mode_m(),
                    "mavs": fit(case, CAST), "printed": fit(case, PRINTED),
                    "single_ray": fit(case, SINGLE), "today": fit(case, TODAY),
                    "nearest_ks": { "mavs": case.nearest(NEAREST, CAST_SHARE)[0],
                                    "mavs_with_printed_a": case.nearest(NEAREST, CAST_SHARE)[1],
                                    "printed": case.nearest(NEAREST_PRINTED, PRINTED_SHARE)[0] },
                })
            })
            .collect();
        let widths: Vec<Value> = widths
            .iter()
            .map(|width| {
                json!({ "share_of_beam": width.mrad * CAST_SHARE, "ks_gamma_10_mm": width.to_gamma[0],
                        "ks_gamma_20_mm": width.to_gamma[1] })
            })
            .collect();
        json!({ "seed": self.seed, "stands": stands, "divergence_mrad": 1e3 * GAMMA_RAD,
                "cases": rows, "spot_widths": widths })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mode_is_where_most_depths_are() {
        let even = (0..1000).map(|n| 1.0 + f64::from(n) * 1e-3);
        let depths: Vec<f64> = even.chain((0..500).map(|n| 1.4 + f64::from(n) * 2e-4)).collect();
        let mode = mode_m(&depths, 0.05);
        assert!((mode - 1.45).abs() < 0.02, "{mode}");
    }
}
