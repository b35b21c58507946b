//! `menura validate mixed-pixels`: points between rods and the wall behind them, after Goodin et al.
//! 2018 (Electronics 7, 154, section 3.4.2, figures 6 and 7), who repeat a test of Matthies et al. 2005.
//!
//! An LMS 291 measures nine rods 0.80 m ahead and a wall 0.6 or 2 m behind them. If a beam hits both, the scanner
//! reports a range between them: a mixed pixel. According to the paper, the detector cannot separate echoes that are
//! less than 1.6 m apart. There are no mixed pixels if the wall is farther behind.
//!
//! # What differs from the paper
//!
//! - The paper shows pictures and no counts. Here a point is mixed if it is 3 cm or more from rods and wall, and counts
//!   are means over offsets of the directions within an angular step.
//! - The paper does not state which rod is the thick one: here it is the middle one.

mod bench;
mod plot;

use std::fmt::Write;

use serde_json::{Value, json};

use self::bench::{Beam, Scan, mixed, scan};
use super::{Comparison, ExperimentError, Findings, Plot, Run, Scope};

/// Distances from the rods to the wall (offsets), metres, in coarse steps over the whole range.
const COARSE_M: [f64; 14] = [0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.8, 1.9, 2.0];
/// Offsets in steps of a centimetre around the largest offset at which mixed pixels occur.
const FINE_CM: std::ops::RangeInclusive<u32> = 125..=175;
/// Offsets of the short form, metres.
const SHORT_M: [f64; 8] = [0.2, 0.6, 1.0, 1.3, 1.5, 1.57, 1.61, 2.0];
/// Smaller distance from the rods to the wall in Goodin et al. 2018, metres.
const NEAR_M: f64 = 0.6;
/// Larger distance from the rods to the wall in Goodin et al. 2018, metres.
const FAR_M: f64 = 2.0;
/// Lowest and highest expected value of the largest offset at which mixed pixels occur, metres.
const LAST_M: [f64; 2] = [1.55, 1.60];
/// At this offset of the wall and at larger offsets, metres, the number of mixed pixels must not increase with the
/// offset.
const FALLS_FROM_M: f64 = 1.3;
/// Lowest and highest expected number of mixed pixels in a scan with the offset [`NEAR_M`].
const COUNT: [f64; 2] = [16.0, 21.0];

/// Options of the experiment.
#[derive(Debug)]
pub struct MixedPixels {
    /// Number of offsets of the directions within an angular step, over which counts are averaged
    pub phases: u32,
    /// Seed of the range errors
    pub seed: u32,
}

/// Scans with the wall at one distance behind the rods.
struct Row {
    offset_m: f64,
    /// Scans, indexed `[beam][phase]`. The directions of each phase are offset by a different part of an angular step.
    scans: Vec<Vec<Scan>>,
}

impl Row {
    /// Mean number of mixed pixels per scan of `beam`, over all phases.
    fn count(&self, beam: Beam) -> f64 {
        let scans = &self.scans[beam as usize];
        let all: usize = scans.iter().map(|scan| mixed(scan, self.offset_m)).sum();
        all as f64 / scans.len().max(1) as f64
    }
}

impl Run for MixedPixels {
    const NAME: &'static str = "mixed-pixels";
    const ABOUT: &'static str =
        "Count the points of an LMS 291 between rods and a wall, after Goodin et al. 2018";

    fn run(&self, scope: &Scope) -> Result<Findings, ExperimentError> {
        let mut offsets_m: Vec<f64> = match scope.short {
            true => SHORT_M.to_vec(),
            false => COARSE_M.into_iter().chain(FINE_CM.map(|cm| f64::from(cm) / 100.0)).collect(),
        };
        offsets_m.sort_by(f64::total_cmp);
        let phases = scope.of(self.phases, self.phases.min(4));
        let progress = scope.progress("scanning", offsets_m.len() as u64);
        let mut rows = Vec::new();
        for offset_m in offsets_m {
            rows.push(Row { offset_m, scans: scan(offset_m, phases, self.seed.into())? });
            progress.advance(1);
        }
        Ok(Findings {
            text: text(&rows, phases),
            report: self.report(&rows, phases),
            plots: vec![
                Plot::main(plot::overview(&rows, Beam::Noisy)),
                Plot::further("without-errors", plot::overview(&rows, Beam::Cast)),
            ],
            comparisons: comparisons(&rows),
        })
    }
}

fn at(rows: &[Row], offset_m: f64) -> Option<&Row> {
    rows.iter().find(|row| (row.offset_m - offset_m).abs() < 1e-9)
}

/// Largest offset with mixed pixels, metres.
fn last_m(rows: &[Row], beam: Beam) -> f64 {
    let with = rows.iter().filter(|row| row.count(beam) > 0.0);
    with.map(|row| row.offset_m).fold(0.0, f64::max)
}

fn comparisons(rows: &[Row]) -> Vec<Comparison> {
    let count =
        |beam: Beam, offset_m: f64| at(rows, offset_m).map_or(f64::NAN, |row| row.count(beam));
    let (near, far) = (count(Beam::Cast, NEAR_M), count(Beam::Cast, FAR_M));
    let last = last_m(rows, Beam::Cast);
    let falling: Vec<f64> = rows
        .iter()
        .filter(|row| row.offset_m >= FALLS_FROM_M - 1e-9)
        .map(|row| row.count(Beam::Cast))
        .collect();
    let falls = falling.windows(2).all(|pair| pair[1] <= pair[0]);

    let mut all = vec![
        Comparison::judged(
            "mixed pixels of a scan, wall 0.6 m behind the rods",
            "many (a picture)",
            format!("{near:.1}"),
            format!(
                "{} to {}: one at each of the rods' 18 edges; a separate calculation gives 18.5",
                COUNT[0], COUNT[1]
            ),
            (COUNT[0]..=COUNT[1]).contains(&near),
        ),
        Comparison::judged(
            "mixed pixels of a scan, wall 2.0 m behind the rods",
            "0",
            format!("{far:.1}"),
            "none: both surfaces are farther apart than the cutoff of 1.6 m",
            far == 0.0,
        ),
        Comparison::judged(
            "farthest wall with any mixed pixel",
            "1.6 m behind the rods",
            format!("{last:.2} m"),
            format!(
                "{} to {} m: slanted beams have a larger difference of ranges",
                LAST_M[0], LAST_M[1]
            ),
            (LAST_M[0]..=LAST_M[1]).contains(&last),
        ),
        Comparison::judged(
            "mixed pixels from 1.3 m on",
            "none beyond 1.6 m",
            if falls { "decreasing" } else { "not decreasing" },
            "from 1.35 m on: 1.6 m cos 32 degrees, the outer rods",
            falls,
        ),
    ];
    let noisy = |offset_m| count(Beam::Noisy, offset_m);
    all.push(Comparison::judged(
        "mixed pixels with range errors of 1 cm, wall at 0.6 and 2.0 m",
        "many, and 0",
        format!("{:.1} and {:.1}", noisy(NEAR_M), noisy(FAR_M)),
        "within 3 of the count without errors, and at most 1: 0.3 % of all points have errors \
         above three sigma, the threshold of a mixed pixel",
        (noisy(NEAR_M) - near).abs() <= 3.0 && noisy(FAR_M) <= 1.0,
    ));
    for (beam, why) in [
        (Beam::Coarse, "the paper gives 0.5 and 1 degree"),
        (Beam::Printed, "the paper's text prints a footprint half as wide as its simulator casts"),
        (
            Beam::Wide,
            "the beam of a real LMS 291 is wide at its window, so it has far more mixed pixels \
             this near",
        ),
        (
            Beam::Today,
            "echoes of a pulse of 10.7 ns merge or shift each other up to about 2 m, depending on \
             their strengths; the paper's rule is a cutoff",
        ),
    ] {
        all.push(Comparison::reported(
            format!("mixed pixels with: {}", beam.name()),
            "",
            format!(
                "{:.1} at 0.6 m, {:.1} at 2.0 m, last at {:.2} m",
                count(beam, NEAR_M),
                count(beam, FAR_M),
                last_m(rows, beam)
            ),
            why,
        ));
    }
    all
}

fn text(rows: &[Row], phases: u32) -> String {
    let mut text = format!(
        "mixed pixels of a scan of 100 degrees, mean over {phases} phases of the angular step\n\
         offset, m"
    );
    for beam in Beam::ALL {
        let _ = write!(text, "  {}", beam.name());
    }
    text.push('\n');
    for row in rows {
        let _ = write!(text, "{:9.2}", row.offset_m);
        for beam in Beam::ALL {
            let width = beam.name().chars().count();
            let _ = write!(text, "  {:width$.1}", row.count(beam));
        }
        text.push('\n');
    }
    text
}

impl MixedPixels {
    fn report(&self, rows: &[Row], phases: u32) -> Value {
        let rows: Vec<Value> = rows
            .iter()
            .map(|row| {
                let counts = Beam::ALL.map(|beam| (beam.name().to_owned(), row.count(beam).into()));
                let counts = serde_json::Map::from_iter(counts);
                json!({ "offset_m": row.offset_m, "mixed": counts })
            })
            .collect();
        json!({ "seed": self.seed, "phases": phases, "offsets": rows })
    }
}
