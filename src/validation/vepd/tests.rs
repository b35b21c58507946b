use clap::Parser;

use super::*;

#[derive(Parser)]
struct Alone {
    #[command(flatten)]
    cmd: Vepd,
}

fn cmd(arguments: &[&str]) -> Vepd {
    Alone::try_parse_from([&["vepd"], arguments].concat()).unwrap_or_else(|e| panic!("{e}")).cmd
}

fn find(arguments: &[&str]) -> Comparison {
    cmd(arguments).compare().unwrap_or_else(|e| panic!("{e}"))
}

fn rmse(comparison: &Comparison, name: &str, course: Course) -> f64 {
    let groups = comparison.groups.iter().chain([&comparison.reference]);
    let group = groups.into_iter().find(|group| group.name == name).unwrap();
    metrics::mean_and_std(&group.courses[&course].rmse_m_s()).0
}

/// On every course: without errors of the receiver the speed is good to centimetres a second, white
/// errors of 3 cm that the stated accuracy keeps quiet about make it worse than a slow walk.
#[test]
fn variants_stand_in_the_order_that_their_errors_say() {
    let comparison =
        find(&["--runs", "3", "--variants", "none,ch-gauss,ch-rw", "--duration", "12s"]);
    assert_eq!(comparison.courses, Course::ALL);
    assert_eq!(comparison.reference.name, "profile");
    for course in Course::ALL {
        let of = |name| rmse(&comparison, name, course);
        assert!(of("none") < 0.03, "{course:?}: {}", of("none"));
        assert!(of("none") < of("ch-rw") && of("ch-rw") < of("ch-gauss"), "{course:?}");
        assert!(of("ch-gauss") < 0.3, "{course:?}: {}", of("ch-gauss"));
    }
    // The judge's belief is right where the receiver states its errors rightly.
    let nees = |group: &Group| {
        metrics::mean_and_std(&group.all(&Course::ALL, |drives| drives.velocity_nees.clone())).0
    };
    assert!(nees(&comparison.groups[0]) < 6.0, "{}", nees(&comparison.groups[0]));
    assert!(nees(&comparison.groups[1]) > 6.0, "{}", nees(&comparison.groups[1]));
}

#[test]
fn the_same_seed_says_the_same_and_another_does_not() {
    let arguments =
        ["--runs", "2", "--trajectory", "circle", "--variants", "ch-rw+airsim", "--duration", "5s"];
    let said = |more: &[&str]| {
        let cmd = cmd(&[&arguments, more].concat());
        let comparison = cmd.compare().unwrap();
        (table::text(&cmd, &comparison), table::report(&cmd, &comparison).to_string())
    };
    assert_eq!(said(&[]), said(&[]));
    assert_ne!(said(&[]).1, said(&["--seed", "2"]).1);
}

/// Drives that were written are a recording at no distance from the model that made them.
#[test]
fn recorded_drives_are_found_again() {
    let folder = tempfile::tempdir().unwrap();
    let common = [
        "--runs",
        "2",
        "--trajectory",
        "line,circle",
        "--variants",
        "ch-gauss,airsim",
        "--duration",
        "6s",
    ];
    let out = folder.path().to_str().unwrap();
    find(&[&common[..], &["--out", out]].concat());
    let recorded = folder.path().join("ch-gauss");
    let comparison = find(&[&common[..], &["--recorded", recorded.to_str().unwrap()]].concat());
    let distance = |place: usize| {
        Distance::between(&comparison.groups[place], &comparison.reference, &comparison.courses)
            .vepd()
    };
    assert_eq!(comparison.groups[0].name, "ch-gauss");
    assert!(distance(0) < 1e-6, "{}", distance(0));
    assert!(distance(1) > 1e-3, "{}", distance(1));
    let cmd = cmd(&[&common[..], &["--recorded", recorded.to_str().unwrap()]].concat());
    let text = table::text(&cmd, &comparison);
    assert!(
        text.contains("4 recorded drives; their speeds were estimated by their own judge"),
        "{text}"
    );
    let svg = plot::draw(&cmd, &comparison).svg();
    let bars = svg.matches("<rect").count();
    assert!(bars > 10 && svg.contains("RMSE of the speed, m/s"), "{bars}");
}

#[test]
fn what_cannot_be_driven_is_refused() {
    let refused = |arguments: &[&str]| match cmd(arguments).compare() {
        Err(ExperimentError::Input(text)) => text,
        _ => panic!("{arguments:?}"),
    };
    assert!(refused(&["--duration", "1s"]).contains("2 s or more"));
    assert!(
        refused(&["--variants", "airsim", "--reference", "airsim"]).contains("nothing is left")
    );
    assert!(refused(&["--recorded", "no-such-folder"]).contains("no-such-folder"));
    for wrong in
        [&["--radius", "0"][..], &["--speed", "nan"], &["--runs", "0"], &["--variants", "best"]]
    {
        assert!(Alone::try_parse_from([&["vepd"], wrong].concat()).is_err(), "{wrong:?}");
    }
}
