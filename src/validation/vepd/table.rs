//! Results as tables and as JSON.

use std::fmt::Write;

use serde_json::{Map, Value, json};

use super::course::Course;
use super::drive::{IMU, JUDGE_HZ, RECEIVER};
use super::variant::{Stated, Variant};
use super::{Comparison, Distance, Drives, Group, JudgeOn, Vepd, recorded};
use crate::validation::statistics::{mean, sample_std};

/// Lines that precede the tables: simulated devices, courses, motion, estimator, reported accuracies and reference.
pub fn preamble(options: &Vepd, comparison: &Comparison) -> Vec<String> {
    let m = options.manner();
    let courses: Vec<String> = comparison
        .courses
        .iter()
        .map(|course| match course {
            Course::Line => "line".to_owned(),
            Course::HalfSine => format!("half-sine of {} m by {} m", m.length_m, m.height_m),
            Course::Circle => format!("circle of {} m radius", m.radius_m),
            Course::HalfSineConcrete => "the same half-sine on concrete".to_owned(),
        })
        .collect();
    let reference = if options.recorded.is_some() {
        let drives: usize = comparison.reference.courses.values().map(|d| d.scores.len()).sum();
        format!(
            "reference: {}, {drives} recorded drives; their speeds come from their own estimator",
            comparison.reference.name
        )
    } else {
        format!(
            "reference: {}, simulated; nothing here is compared with a real drive",
            comparison.reference.name
        )
    };
    vec![
        format!(
            "simulated: {} at {} Hz with fixed RTK under an open sky, {} at {} Hz",
            RECEIVER.0, RECEIVER.1, IMU.0, IMU.1
        ),
        format!(
            "courses: {}; drives of each: {}; seed {}",
            courses.join(", "),
            options.runs,
            options.seed
        ),
        format!(
            "motion: {} s still, within {} s to {} m/s, evaluated for {} s; grass of {} m rms",
            m.still_s, m.ramp_s, m.speed_m_s, m.duration_s, m.rough_m
        ),
        format!(
            "estimator: Menura's error-state Kalman filter of 15 states at {JUDGE_HZ} Hz, not \
             robot_localization, on {}",
            match options.judge {
                JudgeOn::Bytes => "data that drivers read from the devices' bytes",
                JudgeOn::Models => "outputs of the devices' models",
            }
        ),
        format!(
            "stated: {} for ch-gauss and ch-rw; AirSim's HDOP from 100 to {} with {} s",
            if options.stated == Stated::Zero { "zero covariance" } else { "the profile's" },
            options.preset.hdop().1,
            options.preset.hdop().0
        ),
        reference,
    ]
}

/// All tables as text.
pub fn text(options: &Vepd, comparison: &Comparison) -> String {
    let mut out = preamble(options, comparison).join("\n");
    out.push_str("\n\nerror of the estimated speed: mean and standard deviation over drives\n");
    errors(&mut out, comparison);
    out.push_str("  entropy: difference of the Wiener entropies of estimated and true speed\n");
    out.push_str(
        "  NEES: 3 if the estimator's covariance of its velocity is right, more if it is too \
         small\n",
    );
    let _ = writeln!(out, "\nVEPD against {}, and its rank", comparison.reference.name);
    distances(&mut out, comparison);
    out.push_str("  W1: distance of RMSE, m/s; W2: of entropy; VEPD: their mean\n");
    // Cells are padded with blanks, which are removed at line ends.
    out.lines().flat_map(|line| [line.trim_end(), "\n"]).collect()
}

/// Name and VEPD of the error model that is nearest to the reference, on one line. The variant that differs only in its
/// IMU is left out.
pub fn nearest(comparison: &Comparison) -> String {
    let distances = column(comparison, &comparison.counted());
    let nearest = comparison
        .groups
        .iter()
        .zip(&distances)
        .filter(|(group, _)| group.variant != Some(Variant::ImuAlone))
        .min_by(|(_, a), (_, b)| a.vepd().total_cmp(&b.vepd()));
    nearest.map_or_else(String::new, |(group, distance)| {
        format!("{}, VEPD {:.4}", group.name, distance.vepd())
    })
}

fn width(comparison: &Comparison) -> usize {
    let groups = comparison.groups.iter().chain([&comparison.reference]);
    groups.map(|group| group.name.len()).max().unwrap_or(0).max(10)
}

fn errors(out: &mut String, comparison: &Comparison) {
    let width = width(comparison);
    let _ = write!(out, "  {:width$}", "");
    for course in &comparison.courses {
        let _ = write!(out, "  {:<40}", recorded::name_of(*course));
    }
    let _ = write!(out, "\n  {:width$}", "");
    for _ in &comparison.courses {
        let _ = write!(out, "  {:<16} {:<16} {:>6}", "RMSE, m/s", "entropy", "NEES");
    }
    out.push('\n');
    for group in comparison.groups.iter().chain([&comparison.reference]) {
        let _ = write!(out, "  {:width$}", group.name);
        for course in &comparison.courses {
            let drives = &group.courses[course];
            let shown =
                |values: Vec<f64>| format!("{:.4} ± {:.4}", mean(&values), sample_std(&values));
            let nees = if drives.velocity_nees.is_empty() {
                "-".to_owned()
            } else {
                format!("{:.1}", mean(&drives.velocity_nees))
            };
            let (rmse, entropy) = (shown(drives.rmse_m_s()), shown(drives.flatness_differences()));
            let _ = write!(out, "  {rmse:<16} {entropy:<16} {nees:>6}");
        }
        out.push('\n');
    }
}

fn distances(out: &mut String, comparison: &Comparison) {
    let width = width(comparison);
    let _ = write!(out, "  {:width$}", "");
    for course in &comparison.courses {
        let _ = write!(out, "  {:>10}    ", recorded::name_of(*course));
    }
    let _ = writeln!(out, "  {:>8}  {:>8}  {:>8}", "all: W1", "W2", "VEPD");
    let ranks: Vec<Vec<usize>> = comparison
        .courses
        .iter()
        .map(|course| ranks(&column(comparison, std::slice::from_ref(course))))
        .collect();
    let all = column(comparison, &comparison.counted());
    let all_ranks = self::ranks(&all);
    for (row, group) in comparison.groups.iter().enumerate() {
        let _ = write!(out, "  {:width$}", group.name);
        for (course, ranks) in comparison.courses.iter().zip(&ranks) {
            let distance = Distance::between(group, &comparison.reference, &[*course]);
            let _ = write!(out, "  {:>10.4} {:>2} ", distance.vepd(), ranks[row]);
        }
        let d = all[row];
        let _ = writeln!(
            out,
            "  {:>8.4}  {:>8.4}  {:>8.4} {:>2}",
            d.w1_m_s,
            d.w2,
            d.vepd(),
            all_ranks[row]
        );
    }
}

fn column(comparison: &Comparison, courses: &[Course]) -> Vec<Distance> {
    comparison
        .groups
        .iter()
        .map(|group| Distance::between(group, &comparison.reference, courses))
        .collect()
}

/// Ranks; 1 is the nearest to the reference. Equal distances share the better rank.
fn ranks(distances: &[Distance]) -> Vec<usize> {
    let place = |d: &Distance| distances.iter().filter(|other| other.vepd() < d.vepd()).count() + 1;
    distances.iter().map(place).collect()
}

/// All results as JSON.
pub fn report(options: &Vepd, comparison: &Comparison) -> Value {
    let m = options.manner();
    let shown = |distance: Distance| json!({ "w1_m_s": distance.w1_m_s, "w2": distance.w2, "vepd": distance.vepd() });
    let groups: Vec<Value> = comparison
        .groups
        .iter()
        .map(|group| {
            let per_course: Map<String, Value> = comparison
                .courses
                .iter()
                .map(|course| {
                    let distance = Distance::between(group, &comparison.reference, &[*course]);
                    (recorded::name_of(*course).to_owned(), shown(distance))
                })
                .collect();
            let all = Distance::between(group, &comparison.reference, &comparison.counted());
            json!({ "name": group.name, "drives": drives(group), "distance": per_course,
                    "distance_all": shown(all) })
        })
        .collect();
    json!({
        "simulated": { "receiver": RECEIVER.0, "receiver_rate_hz": RECEIVER.1, "imu": IMU.0,
                       "imu_rate_hz": IMU.1 },
        "motion": { "still_s": m.still_s, "ramp_s": m.ramp_s, "speed_m_s": m.speed_m_s,
                    "duration_s": m.duration_s, "half_sine_length_m": m.length_m,
                    "half_sine_height_m": m.height_m, "circle_radius_m": m.radius_m },
        "judge": match options.judge { JudgeOn::Bytes => "bytes", JudgeOn::Models => "models" },
        "judge_rate_hz": JUDGE_HZ, "states_zero": options.stated == Stated::Zero,
        "airsim_hdop": { "initial": 100.0, "final": options.preset.hdop().1,
                         "time_constant_s": options.preset.hdop().0 },
        "grass_rms_m": m.rough_m,
        "runs": options.runs, "seed": options.seed,
        "reference": { "name": comparison.reference.name, "is_recorded": options.recorded.is_some(),
                       "drives": drives(&comparison.reference) },
        "variants": groups,
    })
}

fn drives(group: &Group) -> Map<String, Value> {
    let shown = |drives: &Drives| {
        json!({ "rmse_m_s": drives.rmse_m_s(),
                "wiener_entropy_difference": drives.flatness_differences(),
                "velocity_nees": drives.velocity_nees })
    };
    let courses = group.courses.iter();
    courses.map(|(course, drives)| (recorded::name_of(*course).to_owned(), shown(drives))).collect()
}
