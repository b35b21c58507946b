//! Compares the papers' statements about the shrub and the single laser with the simulated results.

use super::{Around, Measured, describe};
use crate::validation::statistics::{kolmogorov_limit, std};
use crate::validation::{Comparison, Scope};

/// All comparisons.
pub(super) fn comparisons(measured: &Measured, scope: &Scope) -> Vec<Comparison> {
    let mut all = Vec::new();
    if !measured.around.is_empty() {
        histogram_comparisons(measured, scope, &mut all);
    }
    single_comparisons(measured, &mut all);
    all
}

fn histogram_comparisons(measured: &Measured, scope: &Scope, all: &mut Vec<Comparison>) {
    let [ray, others @ ..] = measured.around.as_slice() else { return };
    // With a few hundred returns, chance changes the depth of the valley by this much.
    let valley = scope.of(0.85, 0.95);
    let board = std(&measured.wall.shots.ranges_m);
    let broad = |around: &Around| {
        let spread = std(&around.ranges_m);
        (spread >= 5.0 * board, format!("{spread:.3} m, {:.1} times a board's", spread / board))
    };
    let (is_broad, ours) = broad(ray);
    all.push(Comparison::judged(
        "spread of the shrub's ranges, strongest ray",
        "broad (figure 8)",
        ours,
        "at least 5 times that of a flat board at 8 m, whose ranges have errors of 2 cm",
        is_broad,
    ));
    let found = ray.maxima();
    let holds = found.is_some_and(|m| {
        let apart_m = m.at_m[1] - m.at_m[0];
        m.valley <= valley && (0.149..=0.351).contains(&apart_m)
    });
    all.push(Comparison::judged(
        "two maxima, strongest ray",
        "bimodal: foliage and trunk",
        describe(found),
        format!(
            "0.15 to 0.35 m apart, like the crown's front and the stem, and a valley of at most \
             {valley} of the lower maximum (0.69 in a separate calculation)"
        ),
        holds,
    ));
    for around in others {
        let (is_broad, ours) = broad(around);
        all.push(Comparison::judged(
            format!("spread of the shrub's ranges, {}", around.name),
            "broad",
            ours,
            "at least 5 times a board's",
            is_broad,
        ));
        all.push(Comparison::reported(
            format!("two maxima, {}", around.name),
            "bimodal",
            describe(around.maxima()),
            "an echo that is a mean over more than half of the crown cannot show the stem; only a \
             selected ray, or a pulse shorter than the crown, can",
        ));
    }
    for around in &measured.swept {
        all.push(Comparison::reported(
            format!("two maxima, strongest ray, {}", around.name),
            "bimodal",
            describe(around.maxima()),
            "swept, because the paper does not print the value",
        ));
    }
}

fn single_comparisons(measured: &Measured, all: &mut Vec<Comparison>) {
    let Measured { bush, wall, .. } = measured;
    let chance = kolmogorov_limit(wall.shots.ranges_m.len());
    let near = if chance > 0.04 { 0.02 + chance } else { 0.03 };
    let shots = wall.shots.ranges_m.len();
    all.push(Comparison::judged(
        "one laser on a wall: distance from the fitted normal law",
        "Gaussian",
        format!("{:.3} (Kolmogorov)", wall.to_normal),
        format!("{near:.3}: statistical error of {shots} shots"),
        wall.to_normal <= near,
    ));
    all.push(Comparison::judged(
        "one laser on a bush: distance from the fitted normal law",
        "clearly non-Gaussian",
        format!("{:.3}", bush.to_normal),
        "0.10 or more: three times the tolerance on the wall",
        bush.to_normal >= 0.10,
    ));
    let shape = bush.skewness.abs().max(bush.kurtosis.abs());
    all.push(Comparison::judged(
        "one laser on a bush: skewness and excess kurtosis",
        "clearly non-Gaussian",
        format!("{:.2} and {:.2}", bush.skewness, bush.kurtosis),
        "one of them 0.5 or more; both are 0 for a normal law",
        shape >= 0.5,
    ));
    let few = wall.shots.neighbours_m.len().max(1) as f64;
    let by_chance = 0.05f64.max(2.6 / few.sqrt());
    all.push(Comparison::judged(
        "correlation of neighbouring shots (16 mm apart) of a scan, on the bush",
        "ranges within a scan are correlated",
        format!("{:.2}", bush.correlation),
        "0.3 or more: leaves are wider than the step",
        bush.correlation >= 0.3,
    ));
    all.push(Comparison::judged(
        "correlation of neighbouring shots of a scan, on the wall",
        "errors of shots are independent",
        format!("{:.3}", wall.correlation),
        format!("{by_chance:.2}: statistical error of {few} pairs"),
        wall.correlation.abs() <= by_chance,
    ));
    if let Some(today) = &measured.bush_today {
        all.push(Comparison::reported(
            "one laser on a bush with today's default: distance from the fitted normal law",
            "clearly non-Gaussian",
            format!("{:.3}, correlation {:.2}", today.to_normal, today.correlation),
            "the paper's statement is about its own echo rule",
        ));
    }
}
