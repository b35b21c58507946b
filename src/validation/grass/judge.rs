//! Compares the statements of Goodin et al. 2018 about stands of stems with our results.

use super::law::{CAST_SHARE, PRINTED_SHARE};
use super::{CAST, Case, NEAREST, NEAREST_PRINTED, PRINTED, SINGLE, TODAY, Width};
use crate::validation::Comparison;
use crate::validation::statistics::{kolmogorov, kolmogorov_limit, mean};

/// All comparisons for the stands and the widths of the beam footprint.
pub(super) fn comparisons(cases: &[Case], widths: &[Width]) -> Vec<Comparison> {
    // Tolerance for chance with few pulses; negligible in the full form.
    let chance = match cases[0].depths(CAST).len() {
        count if count >= 10_000 => 0.0,
        count => kolmogorov_limit(count.max(100)),
    };
    let near = |what: String, paper, ours, found: f64, limit: f64, why| {
        let (limit, why) = allowed(limit, why, chance);
        Comparison::judged(what, paper, ours, why, found <= limit)
    };
    let of = |scanner: usize| cases.iter().map(move |case| case.fit(scanner));
    let nearer =
        |scanner: usize| of(scanner).filter(|fit| fit.to_gamma < fit.to_exponential).count();
    let largest = |thick: bool| {
        let some = cases.iter().filter(|case| case.stand.is_thick() == thick);
        some.map(|case| case.fit(CAST).to_gamma).fold(0.0, f64::max)
    };

    let most = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::max);
    let mut all = vec![Comparison::judged(
        "stands whose ranges are nearer to the gamma law than to the exponential one",
        "the gamma law fits better, in all of figure 5",
        format!("{} of 8", nearer(CAST)),
        "all of them",
        nearer(CAST) == cases.len(),
    )];
    for (thick, limit, why) in [
        (true, 0.03, "four times the spread of the distance for 20,000 pulses, 0.007"),
        (false, 0.14, "the beam is as wide as the stems, which the gamma law does not include"),
    ] {
        let found = largest(thick);
        all.push(near(
            format!("distance from the gamma law, {} stems", if thick { "20 mm" } else { "10 mm" }),
            "a good fit in the figure, no number",
            format!("at most {found:.3} (Kolmogorov)"),
            found,
            limit,
            why,
        ));
    }
    let off = |thick: bool| {
        let some: Vec<f64> = cases
            .iter()
            .filter(|case| case.stand.is_thick() == thick)
            .map(|case| (case.fit(CAST).mode_m - case.stand.gamma_mode_m()).abs())
            .collect();
        mean(&some)
    };
    all.push(Comparison::judged(
        "most likely range: better fit for thick stems",
        "stated in the text, no number",
        format!("off by {:.2} m (20 mm) and {:.2} m (10 mm)", off(true), off(false)),
        "less for thick stems; means over four stands",
        off(true) < off(false),
    ));
    let means: Vec<f64> = cases
        .iter()
        .filter(|case| case.stand.is_thick())
        .map(|case| case.fit(CAST).mean_m * case.stand.rate_per_m() - 1.0)
        .collect();
    let mean_off = most(&mut means.iter().map(|off| off.abs()));
    all.push(near(
        "mean depth, 20 mm stems".to_owned(),
        "1 / (lambda d) at every distance",
        format!("relative error of at most {mean_off:.3}"),
        mean_off,
        0.08,
        "the beam is wider than a ray",
    ));
    let thin = |case: &Case| kolmogorov(case.depths(SINGLE), 0.0, |x| case.stand.thin(x));
    let single = most(&mut cases.iter().map(thin));
    all.push(near(
        "one thin ray: distance from equation (2) with a = 0".to_owned(),
        "0, the law is exact",
        format!("at most {single:.3}"),
        single,
        0.015,
        "statistical error of 20,000 pulses",
    ));
    for (name, scanner, share) in
        [("as MAVS casts it", NEAREST, CAST_SHARE), ("as printed", NEAREST_PRINTED, PRINTED_SHARE)]
    {
        let derived = most(&mut cases.iter().map(|case| case.nearest(scanner, share)[0]));
        all.push(near(
            format!("nearest ray, footprint {name}: distance from equation (2), a with 1 / d"),
            "0, the law is exact",
            format!("at most {derived:.3}"),
            derived,
            0.02,
            "statistical error, and three columns of rays instead of a solid beam",
        ));
    }
    let printed =
        cases.iter().map(|case| case.nearest(NEAREST, CAST_SHARE)[1]).fold(f64::MAX, f64::min);
    all.push(Comparison::judged(
        "nearest ray: distance from equation (2) with the a of equation (3)",
        "the printed a makes a r a length",
        format!("at least {printed:.3}"),
        "0.1 or more: the printed a lacks 1 / d",
        printed >= 0.1,
    ));

    all.push(Comparison::reported(
        "footprint as printed: stands nearer to the gamma law",
        "",
        format!(
            "{} of 8; distance at most {:.3}",
            nearer(PRINTED),
            most(&mut of(PRINTED).map(|f| f.to_gamma))
        ),
        "the paper's text prints a footprint half as wide as its simulator casts",
    ));
    all.push(Comparison::reported(
        "today's default (even footprint, waveform): stands nearer to the gamma law",
        "",
        format!(
            "{} of 8; distance at most {:.3}",
            nearer(TODAY),
            most(&mut of(TODAY).map(|fit| fit.to_gamma))
        ),
        "no mean over 100 m is formed: echoes are those of a real detector",
    ));
    let best = |row: usize| {
        let nearest = widths.iter().min_by(|a, b| a.to_gamma[row].total_cmp(&b.to_gamma[row]));
        nearest.map_or(0.0, |width| width.mrad * CAST_SHARE)
    };
    all.push(Comparison::reported(
        "ratio of footprint to beam width that fits the gamma law best",
        "0.7 (MAVS), 0.35 (printed)",
        format!("{:.2} (10 mm stems), {:.2} (20 mm)", best(0), best(1)),
        "swept, because text and simulator differ; 20 m, 50 stems per square metre",
    ));
    all
}

/// `limit` plus `chance`, the tolerance for few pulses; and a text that explains this sum.
fn allowed(limit: f64, why: &str, chance: f64) -> (f64, String) {
    let applied = limit + chance;
    let text = match chance > 0.0 {
        true => {
            format!("{applied:.3} = {limit} + {chance:.3}: {why}; plus the error of few pulses")
        }
        false => format!("{limit}: {why}"),
    };
    (applied, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_that_is_applied_is_printed() {
        let (limit, text) = allowed(0.03, "why", 0.047);
        assert!((limit - 0.077).abs() < 1e-12);
        assert_eq!(text, "0.077 = 0.03 + 0.047: why; plus the error of few pulses");
        assert_eq!(allowed(0.03, "why", 0.0).1, "0.03: why");
    }
}
