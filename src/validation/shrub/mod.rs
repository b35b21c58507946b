//! `menura validate shrub-histogram`: ranges of a potted shrub are spread and have two maxima, after Goodin et al. 2018
//! (Electronics 7, 154, section 3.4.3, figure 8; Browning et al. 2012). Ranges of a single laser on a bush are not
//! normally distributed, after Durst et al. 2011 (figure 1).
//!
//! An HDL-64E measures the built-in `shrub` from 91 positions on a quarter circle of 8 m radius, one rotation from
//! each. Then one of its lasers passes shrub and wall repeatedly.
//!
//! # What differs from the papers
//!
//! - The shrub is our own: neither paper gives its shape or the lidar's height. Leaf size and height are swept.
//! - The paper prints a histogram and no number; the experiment checks the two features that its text names.

mod bench;
mod judge;
mod plot;

use std::fmt::Write;

use serde_json::{Value, json};

use self::bench::{Rule, Setup, Shots, ahead, around};
use super::statistics::{
    correlation, excess_kurtosis, histogram, kolmogorov, mean, normal, skewness, std, unrounded,
};
use super::{ExperimentError, Findings, Plot, Run, Scope};

/// Bin width of histograms, metres.
const BIN_M: f64 = 0.05;
/// Lower end of the first bin of histograms, metres.
const FROM_M: f64 = 7.2;
const BINS: usize = 32;
/// A bin can count as a maximum if its count is at least this share of the highest bin's count. The far side of the
/// crown has fewer returns, because it is seen through the near side.
const LEAST_SHARE: f64 = 0.6;
/// Resolution of distances in packets, metres.
const STEP_M: f64 = 0.002;
/// Height above the ground at which the single laser should hit the shrub, metres: in the lower crown. The laser whose
/// returns are nearest to it is used.
const LASER_HEIGHT_M: f64 = 0.85;
/// Smallest number of returns from the shrub with which a laser can be chosen as the single laser.
const FEWEST_SHOTS: usize = 50;
/// Parameters that are swept, in addition to the default.
const SWEPT: [(&str, Setup); 6] = {
    const fn setup(height_m: f64, leaf_radius_m: f64, leaves: u32) -> Setup {
        Setup { height_m, leaf_radius_m, leaves }
    }
    [
        ("lidar 0.8 m high", setup(0.8, 0.025, 700)),
        ("lidar 2 m high", setup(2.0, 0.025, 700)),
        ("leaves of 15 mm", setup(1.2, 0.015, 700)),
        ("leaves of 35 mm", setup(1.2, 0.035, 700)),
        ("400 leaves", setup(1.2, 0.025, 400)),
        ("1200 leaves", setup(1.2, 0.025, 1200)),
    ]
};
/// Number of positions in the sweep.
const SWEPT_PLACES: u32 = 31;

/// Options of the experiment.
#[derive(Debug)]
pub struct Shrub {
    /// Number of positions on the quarter circle; one rotation is recorded at each
    pub places: u32,
    /// Number of rotations for the single laser
    pub turns: u32,
    /// Whether to run only the part with a single laser on a bush (Durst et al. 2011)
    pub single_laser: bool,
    /// Seed of the shrub's leaves and of the range errors
    pub seed: u32,
}

/// The two maxima of a histogram and the valley between them.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Maxima {
    /// Centres of the bins of the two maxima, metres.
    at_m: [f64; 2],
    /// Lowest bin between the maxima, divided by the lower maximum.
    valley: f64,
}

/// The two maxima with the deepest valley between them; `None` if no two maxima have a valley between them.
fn maxima(counts: &[u64]) -> Option<Maxima> {
    let tallest = counts.iter().copied().max()? as f64;
    let get = |bin: usize| counts[bin] as f64;
    let is_maximum = |bin: usize| {
        let beside = [bin.checked_sub(1), (bin + 1 < counts.len()).then_some(bin + 1)];
        get(bin) >= LEAST_SHARE * tallest && beside.iter().flatten().all(|b| get(bin) >= get(*b))
    };
    let peaks: Vec<usize> = (0..counts.len()).filter(|bin| is_maximum(*bin)).collect();
    let pairs = peaks.iter().flat_map(|a| peaks.iter().map(move |b| (*a, *b)));
    let stands_out = pairs.filter(|(a, b)| b > &(a + 1)).map(|(a, b)| {
        let lower = get(a).min(get(b));
        let lowest = (a + 1..b).map(get).fold(f64::MAX, f64::min);
        (lower - lowest, lowest / lower, a, b)
    });
    let (_, valley, a, b) =
        stands_out.filter(|(by, ..)| *by > 0.0).max_by(|x, y| x.0.total_cmp(&y.0))?;
    let middle = |bin: usize| FROM_M + (bin as f64 + 0.5) * BIN_M;
    Some(Maxima { at_m: [middle(a), middle(b)], valley })
}

/// Ranges of the shrub with one rule for the return of a pulse, or with one setup of the sweep.
struct Around {
    name: &'static str,
    ranges_m: Vec<f64>,
}

impl Around {
    fn counts(&self) -> Vec<u64> {
        histogram(&self.ranges_m, FROM_M, BIN_M, BINS)
    }

    fn maxima(&self) -> Option<Maxima> {
        maxima(&self.counts())
    }
}

/// Statistics of a single laser.
struct Single {
    shots: Shots,
    to_normal: f64,
    skewness: f64,
    kurtosis: f64,
    correlation: f64,
}

impl Single {
    fn of(shots: Shots) -> Self {
        let ranges = &shots.ranges_m;
        let (middle, spread) = (mean(ranges), std(ranges));
        Self {
            to_normal: kolmogorov(&unrounded(ranges, STEP_M), 0.0, |x| normal(x, middle, spread)),
            skewness: skewness(ranges),
            kurtosis: excess_kurtosis(ranges),
            correlation: correlation(&shots.neighbours_m),
            shots,
        }
    }

    fn report(&self) -> Value {
        let ranges = &self.shots.ranges_m;
        json!({ "height_m": self.shots.height_m(), "shots": ranges.len(), "mean_m": mean(ranges),
                "std_m": std(ranges), "ks_normal": self.to_normal, "skewness": self.skewness,
                "excess_kurtosis": self.kurtosis, "correlation": self.correlation })
    }
}

/// Results of all rules, of the sweep and of the single laser.
struct Measured {
    /// Results by rule; empty with `--single-laser`.
    around: Vec<Around>,
    swept: Vec<Around>,
    bush: Single,
    bush_today: Option<Single>,
    wall: Single,
}

impl Run for Shrub {
    const NAME: &'static str = "shrub-histogram";
    const ABOUT: &'static str =
        "Measure the spread of ranges on a shrub, after Goodin et al. 2018 and Durst et al. 2011";

    fn run(&self, scope: &Scope) -> Result<Findings, ExperimentError> {
        let measured = self.measure(scope)?;
        let comparisons = judge::comparisons(&measured, scope);
        let single = plot::single(&measured.bush, &measured.wall);
        let plots = match measured.around.is_empty() {
            true => vec![Plot::main(single)],
            false => vec![
                Plot::main(plot::histograms(&measured.around, &measured.wall)),
                Plot::further("single-laser", single),
            ],
        };
        Ok(Findings { text: text(&measured), report: self.report(&measured), plots, comparisons })
    }
}

impl Shrub {
    fn measure(&self, scope: &Scope) -> Result<Measured, ExperimentError> {
        let quarter_deg = 90.0 / f64::from(self.places - 1);
        let (places, step_deg, rate_rpm) =
            scope.of((self.places, quarter_deg, 300), (self.places.min(12), 3.0, 900));
        let turns = scope.of(self.turns, self.turns.min(6));
        let seed = u64::from(self.seed);
        let is_swept = !self.single_laser && !scope.short;
        let steps = if self.single_laser { 0 } else { 3 * places }
            + if is_swept { SWEPT.len() as u32 * SWEPT_PLACES } else { 0 }
            + if scope.short { 2 } else { 3 } * turns;
        let bar = scope.progress("scanning", steps.into());
        let named = |name: &'static str, ranges_m: Vec<f64>| Around { name, ranges_m };
        let mut all = Vec::new();
        if !self.single_laser {
            // Sequential, because this needs less memory and the same time.
            for rule in Rule::ALL {
                let advance = || bar.advance(1);
                let found =
                    around(&Setup::default(), rule, (places, step_deg), rate_rpm, seed, &advance)?;
                all.push(named(rule.name(), found));
            }
        }
        let mut swept = Vec::new();
        for (name, setup) in SWEPT.iter().filter(|_| is_swept) {
            let advance = || bar.advance(1);
            let found = around(setup, Rule::Ray, (SWEPT_PLACES, 3.0), 600, seed, &advance)?;
            swept.push(named(name, found));
        }
        let look = |scene: &str, rule: Rule| ahead(scene, rule, turns, seed, &|| bar.advance(1));
        let bush = look("shrub", Rule::Ray)?;
        let told = bush.iter().enumerate().filter(|(_, s)| s.ranges_m.len() >= FEWEST_SHOTS);
        let off = |shots: &Shots| (shots.height_m() - LASER_HEIGHT_M).abs();
        let laser = told.min_by(|a, b| off(a.1).total_cmp(&off(b.1))).map(|(laser, _)| laser);
        let laser = laser.ok_or_else(|| {
            let text =
                format!("no laser has {FEWEST_SHOTS} returns from the shrub: increase `--turns`");
            ExperimentError::Input(text)
        })?;
        let one = |mut lasers: Vec<Shots>| Single::of(lasers.swap_remove(laser));
        let wall = one(look("room", Rule::Ray)?);
        let bush_today = match scope.short {
            true => None,
            false => Some(one(look("shrub", Rule::Today)?)),
        };
        Ok(Measured { around: all, swept, bush: one(bush), bush_today, wall })
    }

    fn report(&self, measured: &Measured) -> Value {
        let histogram = |around: &Around| {
            let maxima = around.maxima();
            json!({
                "name": around.name, "returns": around.ranges_m.len(), "mean_m": mean(&around.ranges_m),
                "std_m": std(&around.ranges_m), "from_m": FROM_M, "bin_m": BIN_M,
                "counts": around.counts(), "maxima_m": maxima.map(|m| m.at_m),
                "valley": maxima.map(|m| m.valley),
            })
        };
        json!({
            "seed": self.seed,
            "around": measured.around.iter().map(histogram).collect::<Vec<_>>(),
            "swept": measured.swept.iter().map(histogram).collect::<Vec<_>>(),
            "single_laser": {
                "bush": measured.bush.report(), "wall": measured.wall.report(),
                "bush_today": measured.bush_today.as_ref().map(Single::report),
            },
        })
    }
}

fn describe(maxima: Option<Maxima>) -> String {
    maxima.map_or_else(
        || "one maximum".to_owned(),
        |m| {
            format!(
                "maxima at {:.2} and {:.2} m, valley {:.2} of the lower",
                m.at_m[0], m.at_m[1], m.valley
            )
        },
    )
}

fn text(measured: &Measured) -> String {
    let mut text = String::new();
    if !measured.around.is_empty() {
        text += "shrub at 8 m: all returns\n  returns    mean, m   std, m\n";
    }
    for around in measured.around.iter().chain(&measured.swept) {
        let _ = writeln!(
            text,
            "  {:7}  {:9.3}  {:7.3}  {}: {}",
            around.ranges_m.len(),
            mean(&around.ranges_m),
            std(&around.ranges_m),
            around.name,
            describe(around.maxima())
        );
    }
    text += "\none laser: shots, height, mean, std, distance from a normal law, skewness, kurtosis, correlation\n";
    let named = [("bush", Some(&measured.bush)), ("bush, today", measured.bush_today.as_ref())];
    for (name, single) in named.into_iter().chain([("wall", Some(&measured.wall))]) {
        let Some(single) = single else { continue };
        let ranges = &single.shots.ranges_m;
        let _ = writeln!(
            text,
            "  {name:12} {:6}  {:.2} m  {:.3} m  {:.3} m  {:.3}  {:+.2}  {:+.2}  {:+.2}",
            ranges.len(),
            single.shots.height_m(),
            mean(ranges),
            std(ranges),
            single.to_normal,
            single.skewness,
            single.kurtosis,
            single.correlation
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_maxima_are_found_where_they_stand_out_most() {
        let found = maxima(&[0, 5, 20, 30, 22, 18, 25, 40, 1, 13, 1]).unwrap();
        // 30 and 40 with 18 between them; 13 is too small to count.
        assert!((found.valley - 0.6).abs() < 1e-12, "{found:?}");
        assert!((found.at_m[1] - found.at_m[0] - 4.0 * BIN_M).abs() < 1e-9);
        assert_eq!(maxima(&[0, 1, 4, 9, 16, 10, 3]), None);
        assert_eq!(maxima(&[5, 5, 5]), None);
        assert_eq!(maxima(&[]), None);
    }
}
