//! Sweep of two values that Mahajan et al. 2024 do not print: the time from power-on of the receiver to the start of
//! the motion, and the error of the estimates in their real drives.
//!
//! AirSim's HDOP falls from 100 after power-on, so the first value determines the reported accuracy during the drive.
//! The second value is not simulated: it is added to the root mean square speed error of each reference drive. The
//! paper prints this error for one pair of real and simulated IMU, 0.20 and 0.21 m/s; our reference has errors of
//! millimetres per second.

use std::fmt::Write;

use serde_json::{Value, json};

use super::course::Course;
use super::metrics::wasserstein;
use super::paper::COURSES;
use super::variant::Variant;
use super::{Comparison, Drives, JudgeOn, Vepd};
use crate::plot::{Area, Axis, Figure, GREY, PALETTE, Panel};
use crate::validation::{Comparison as Compared, ExperimentError, Scope};

/// Times from power-on to the start of the motion, seconds; the vehicle is at rest in between.
const STILL_S: [f64; 8] = [1.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 120.0];
/// Values that are added to the root mean square speed errors of the reference drives, m/s.
const OFF_M_S: [f64; 5] = [0.0, 0.05, 0.1, 0.15, 0.2];
/// Speed error of the real and the simulated IMU with a real receiver in Mahajan et al. 2024 (section III-A), m/s.
const OFF_LIKE_REAL_M_S: f64 = 0.2;
/// Largest number of drives of each course.
const RUNS: u32 = 4;
/// Two ratios from Mahajan et al. 2024: VEPD of Ch:Gauss divided by the VEPD of Ch:Gauss with AirSim's HDOP, and
/// largest divided by smallest VEPD of the other three variants.
const PRINTED: [f64; 2] = [2.47, 1.24];

/// Results for one pair of swept values: time at rest, and added error.
#[derive(Clone, Debug)]
pub(super) struct Swept {
    still_s: f64,
    off_m_s: f64,
    /// VEPD of the five variants of Mahajan et al. 2024 over all courses, in the order of [`Variant::PAPER`].
    pub vepd: [f64; 5],
    /// Rank of each variant on each course; 1 is the nearest to the reference. The first index is the course, in the
    /// order of [`COURSES`]; the second is the variant, in the order of [`Variant::PAPER`].
    ranks: [[usize; 5]; 3],
}

impl Swept {
    fn gain(&self) -> f64 {
        self.vepd[0] / self.vepd[3]
    }

    fn spread(&self) -> f64 {
        let others = [1, 2, 4].map(|place| self.vepd[place]);
        let least = others.into_iter().fold(f64::INFINITY, f64::min);
        others.into_iter().fold(0.0, f64::max) / least
    }

    pub fn rank(&self, place: usize) -> [usize; 3] {
        self.ranks.map(|course| course[place])
    }
}

/// Simulates the drives and returns the results for all pairs of swept values. Sensor readings come
/// directly from the models; speeds from decoded bytes would differ by some mm/s.
pub(super) fn run(options: &Vepd, scope: &Scope) -> Result<Vec<Swept>, ExperimentError> {
    let mut all = Vec::new();
    for still_s in STILL_S {
        let one = Vepd {
            still: still_s,
            runs: RUNS.min(options.runs),
            judge: JudgeOn::Models,
            trajectory: COURSES.to_vec(),
            variants: Variant::PAPER.to_vec(),
            reference: Variant::Profile,
            write_drives: None,
            ..options.clone()
        };
        let found = one.compare(scope)?;
        all.extend(OFF_M_S.map(|off_m_s| swept(&found, still_s, off_m_s)));
    }
    Ok(all)
}

pub(super) fn swept(found: &Comparison, still_s: f64, off_m_s: f64) -> Swept {
    let vepd = |courses: &[Course]| {
        Variant::PAPER.map(|variant| {
            let Some(group) = found.group(variant) else { return f64::NAN };
            let reference = |of: fn(&Drives) -> Vec<f64>| found.reference.all(courses, of);
            let further: Vec<f64> =
                reference(Drives::rmse_m_s).iter().map(|error| error + off_m_s).collect();
            let w1 = wasserstein(&group.all(courses, Drives::rmse_m_s), &further);
            let flatness = group.all(courses, Drives::flatness_differences);
            0.5 * (w1 + wasserstein(&flatness, &reference(Drives::flatness_differences)))
        })
    };
    let ranks = COURSES.map(|course| {
        let of = vepd(&[course]);
        of.map(|own| of.iter().filter(|other| **other < own).count() + 1)
    });
    Swept { still_s, off_m_s, vepd: vepd(&COURSES), ranks }
}

/// Compares the ratios that Mahajan et al. 2024 print with one result of the sweep: the result for the shortest time at
/// rest, and for a reference with the error of their real drives.
pub(super) fn comparisons(swept: &[Swept]) -> Vec<Compared> {
    let is_papers = |one: &&Swept| one.still_s == STILL_S[0] && one.off_m_s == OFF_LIKE_REAL_M_S;
    let Some(one) = swept.iter().find(is_papers) else { return Vec::new() };
    let [gain, spread] = PRINTED;
    let what =
        |what: &str| format!("D2: {what}, {OFF_LIKE_REAL_M_S} m/s more error of the reference");
    vec![
        Compared::judged(
            what("VEPD of ch-gauss over that with AirSim's HDOP"),
            format!("{gain}"),
            format!("{:.2}", one.gain()),
            "1.5 to 5.5: the paper's range over courses, with a margin",
            (1.5..=5.5).contains(&one.gain()),
        ),
        Compared::judged(
            what("largest over smallest VEPD of the other three"),
            format!("{spread}"),
            format!("{:.2}", one.spread()),
            "at most 2: our vehicle, courses and estimator are not the paper's",
            one.spread() <= 2.0,
        ),
    ]
}

/// The results as a text table.
pub(super) fn text(swept: &[Swept]) -> String {
    if swept.is_empty() {
        return String::new();
    }
    let mut text = String::from(
        "\nswept, judged on models: time from power-on of the GNSS receiver to the drive (on), and \
         error added to the reference (off)\n\
         \x20 on, s  off, m/s  VEPD: gauss     rw  airsim  g+air  rw+air  rank of gauss  of g+air  gauss/g+air  \
         largest/smallest\n",
    );
    let shown = |ranks: [usize; 3]| ranks.map(|rank| rank.to_string()).join(", ");
    for one in swept {
        let [gauss, walk, airsim, gauss_airsim, walk_airsim] = one.vepd;
        let _ = writeln!(
            text,
            "  {:5.0}  {:8.2}  {gauss:11.3}  {walk:5.3}  {airsim:6.3}  {gauss_airsim:5.3}  {walk_airsim:6.3}  \
             {:>13}  {:>8}  {:11.2}  {:16.2}",
            one.still_s,
            one.off_m_s,
            shown(one.rank(0)),
            shown(one.rank(3)),
            one.gain(),
            one.spread(),
        );
    }
    let [gain, spread] = PRINTED;
    let _ = writeln!(text, "  the paper: {:44} 5, 5, 5   4, 3, 4  {gain:11.2}  {spread:16.2}", "");
    text
}

/// The results as JSON.
pub(super) fn report(swept: &[Swept]) -> Value {
    let row = |one: &Swept| {
        json!({ "still_s": one.still_s, "reference_off_m_s": one.off_m_s, "vepd": one.vepd,
                "rank_of_ch_gauss": one.rank(0), "rank_of_ch_gauss_airsim": one.rank(3),
                "gain": one.gain(), "spread": one.spread() })
    };
    swept.iter().map(row).collect()
}

/// A ratio: name, computation, and the value of Mahajan et al. 2024.
type Column = (&'static str, fn(&Swept) -> f64, f64);

/// Draws both ratios against the time at rest, with one line for each added error.
pub(super) fn draw(swept: &[Swept]) -> Figure {
    const WIDTH: f64 = 1000.0;
    let mut figure =
        Figure::new(WIDTH, "VEPD over values that the paper does not print (judged on models)");
    figure.note("Colours: RMS error added to the reference's speed. Grey: the paper's ratio.");
    let columns: [Column; 2] = [
        ("Ch:Gauss over Ch:Gauss+AirSim", Swept::gain, PRINTED[0]),
        ("largest over smallest of the other three", Swept::spread, PRINTED[1]),
    ];
    for (off_m_s, colour) in OFF_M_S.into_iter().zip(PALETTE) {
        figure.legend(format!("{off_m_s} m/s"), colour);
    }
    let longest_s = STILL_S.into_iter().fold(0.0, f64::max);
    for (column, (name, of, printed)) in columns.into_iter().enumerate() {
        let x = Axis::linear("on before the drive, s", 0.0, longest_s);
        let most = swept.iter().map(of).fold(printed, f64::max);
        let mut panel = Panel::new(name, x, Axis::logarithmic("ratio of VEPDs", 0.5, most * 1.1));
        panel.line([(0.0, printed), (longest_s, printed)], GREY);
        for (off_m_s, colour) in OFF_M_S.into_iter().zip(PALETTE) {
            let points: Vec<(f64, f64)> = swept
                .iter()
                .filter(|one| one.off_m_s == off_m_s)
                .map(|one| (one.still_s, of(one)))
                .collect();
            panel.line(points.iter().copied(), colour);
            panel.dots(points.iter().map(|(x, y)| (*x, *y, colour)).collect(), (5.0, 5.0));
        }
        let left = column as f64 * WIDTH / 2.0;
        figure.panel(Area { left, top: 0.0, width: WIDTH / 2.0, height: 380.0 }, panel);
    }
    figure
}
