use super::*;
use crate::validation::statistics::mean;

/// The courses on grass.
const GRASS: &[Course] = &[Course::Line, Course::HalfSine, Course::Circle];

/// Options of drives whose readings come directly from the models.
fn options(runs: u32, duration_s: u64, trajectory: &[Course], variants: &[Variant]) -> Vepd {
    Vepd {
        runs,
        duration: Duration::from_secs(duration_s),
        trajectory: trajectory.to_vec(),
        variants: variants.to_vec(),
        judge: JudgeOn::Models,
        ..Vepd::default()
    }
}

fn find(options: &Vepd) -> Comparison {
    options.compare(&Scope::default()).unwrap_or_else(|e| panic!("{e}"))
}

fn out(folder: &tempfile::TempDir) -> OutPath {
    folder.path().as_os_str().to_owned().into()
}

fn rmse(comparison: &Comparison, name: &str, course: Course) -> f64 {
    let groups = comparison.groups.iter().chain([&comparison.reference]);
    let group = groups.into_iter().find(|group| group.name == name).unwrap();
    mean(&group.courses[&course].rmse_m_s())
}

/// On every course: without errors of the receiver, the speed is accurate to centimetres per second; with white errors
/// of 3 cm that the reported accuracy omits, the error is largest, but below 0.3 m/s.
#[test]
fn variants_stand_in_the_order_that_their_errors_say() {
    let variants = [Variant::None, Variant::ChGauss, Variant::ChRw];
    let comparison =
        find(&Vepd { stated: Stated::Model, still: 3.0, ..options(3, 12, GRASS, &variants) });
    assert_eq!(comparison.courses, Course::ALL[..3]);
    assert_eq!(comparison.reference.name, "profile");
    for course in comparison.courses.iter().copied() {
        let of = |name| rmse(&comparison, name, course);
        assert!(of("none") < 0.03, "{course:?}: {}", of("none"));
        assert!(of("none") < of("ch-rw") && of("ch-rw") < of("ch-gauss"), "{course:?}");
        assert!(of("ch-gauss") < 0.3, "{course:?}: {}", of("ch-gauss"));
    }
    // The judge's covariance is right if the receiver reports its true accuracy.
    let nees =
        |group: &Group| mean(&group.all(&Course::ALL[..3], |drives| drives.velocity_nees.clone()));
    assert!(nees(&comparison.groups[0]) < 6.0, "{}", nees(&comparison.groups[0]));
    assert!(nees(&comparison.groups[1]) > 6.0, "{}", nees(&comparison.groups[1]));
}

/// A swept reference without an additional error gives the distances of the driven reference. If the additional error
/// is larger than the errors of all models, each distance grows by half of its further increase.
#[test]
fn what_is_swept_is_the_reference_that_errs_more() {
    let found = find(&options(1, 4, GRASS, &Variant::USUAL));
    let at = |off_m_s: f64| sweep::swept(&found, 1.0, off_m_s).vepd;
    for (place, variant) in Variant::PAPER.into_iter().enumerate() {
        let driven = found.distance(variant, &paper::COURSES).unwrap().vepd();
        assert!((at(0.0)[place] - driven).abs() < 1e-12, "{variant:?}");
        assert!((at(12.0)[place] - at(10.0)[place] - 1.0).abs() < 1e-9, "{variant:?}");
    }
    assert_eq!(sweep::swept(&found, 1.0, 0.0).rank(0), [5, 5, 5]);
}

#[test]
fn the_same_seed_says_the_same_and_another_does_not() {
    let said = |seed| {
        let options = options(2, 5, &[Course::Circle], &[Variant::ChRwAirsim]);
        let options = Vepd { seed, ..options };
        let comparison = find(&options);
        (table::text(&options, &comparison), table::report(&options, &comparison).to_string())
    };
    assert_eq!(said(1), said(1));
    assert_ne!(said(1).1, said(2).1);
}

/// The distance of a model from its own drives is zero after the drives were written and read back.
#[test]
fn recorded_drives_are_found_again() {
    let folder = tempfile::tempdir().unwrap();
    let variants = [Variant::ChGauss, Variant::Airsim];
    let options = options(2, 6, &[Course::Line, Course::Circle], &variants);
    find(&Vepd { write_drives: Some(out(&folder)), ..options.clone() });
    let options = Vepd { recorded: Some(folder.path().join("ch-gauss")), ..options };
    let comparison = find(&options);
    let distance = |place: usize| {
        Distance::between(&comparison.groups[place], &comparison.reference, &comparison.courses)
            .vepd()
    };
    assert_eq!(comparison.groups[0].name, "ch-gauss");
    assert!(distance(0) < 1e-6, "{}", distance(0));
    assert!(distance(1) > 1e-3, "{}", distance(1));
    let text = table::text(&options, &comparison);
    assert!(
        text.contains("4 recorded drives; their speeds come from their own estimator"),
        "{text}"
    );
    let svg = plot::draw(&options, &comparison).svg();
    let bars = svg.matches("<rect").count();
    assert!(bars > 10 && svg.contains("RMSE of the speed, m/s"), "{bars}");
}

/// Readings that a driver decodes equal the models' output, except for rounding and the delay of the line. So the
/// judge's error changes by less than a fifth, or by less than a centimetre per second.
#[test]
fn judged_on_bytes_it_is_nearly_the_same() {
    let models = options(1, 5, &[Course::HalfSine], &[Variant::ChRw, Variant::Airsim]);
    let bytes = find(&Vepd { judge: JudgeOn::Bytes, ..models.clone() });
    let models = find(&models);
    for name in ["ch-rw", "airsim", "profile"] {
        let [bytes, models] =
            [&bytes, &models].map(|comparison| rmse(comparison, name, Course::HalfSine));
        let allowed = (0.2 * models).max(0.01);
        assert!((bytes - models).abs() < allowed, "{name}: {bytes} and {models}");
    }
}

/// If the receiver reports zero for white errors of 3 cm, the estimate jumps with every fix.
#[test]
fn stated_zero_is_worse_than_stated_rightly() {
    let zero = options(2, 6, &[Course::Line], &[Variant::ChGauss]);
    let right = find(&Vepd { stated: Stated::Model, ..zero.clone() });
    let zero = find(&zero);
    let of = |comparison| rmse(comparison, "ch-gauss", Course::Line);
    assert!(of(&zero) > 1.5 * of(&right), "{} and {}", of(&zero), of(&right));
}

/// Both sides are recorded: nothing is simulated, and all results are compared with the printed tables.
#[test]
fn drives_of_both_sides_are_held_against_the_printed_tables() {
    let folder = tempfile::tempdir().unwrap();
    let options = options(1, 3, GRASS, &[Variant::ChGauss, Variant::ChRw]);
    find(&Vepd { write_drives: Some(out(&folder)), ..options.clone() });
    let both = Vepd {
        recorded: Some(folder.path().join("ch-rw")),
        recorded_variants: Some(folder.path().to_owned()),
        ..options
    };
    let found = both.run(&Scope::default()).unwrap();
    let of = |name: &str| found.comparisons.iter().filter(|c| c.what.contains(name)).count();
    // Three values of table I and three of table II for each variant.
    assert_eq!((of("ch-gauss"), of("ch-rw"), found.comparisons.len()), (6, 6, 12));
    let own = found.comparisons.iter().find(|c| c.what == "D1: table II, ch-rw, line").unwrap();
    assert_eq!((&*own.ours, own.holds), ("0.0000", Some(false)));
    assert!(found.text.contains("comparison with the paper's tables"), "{}", found.text);
}

#[test]
fn what_cannot_be_driven_is_refused() {
    let refused = |options: Vepd| match options.compare(&Scope::default()) {
        Err(ExperimentError::Input(text)) => text,
        _ => panic!("{options:?}"),
    };
    let usual = Vepd::default;
    assert!(refused(Vepd { duration: Duration::from_secs(1), ..usual() }).contains("at least 2 s"));
    let (reference, variants) = (Variant::Airsim, vec![Variant::Airsim]);
    assert!(refused(Vepd { reference, variants, ..usual() }).contains("no error model is left"));
    let recorded = Some(PathBuf::from("no-such-folder"));
    assert!(refused(Vepd { recorded, ..usual() }).contains("no-such-folder"));
}
