//! Tests of a scan's values: distances, echoes and intensities.

use super::*;
use crate::PacketTruth;
use crate::hokuyo::profile::{ClusterRule, EchoChoice, EchoOrder};
use crate::hokuyo::values::{Scan, Wanted, scan_data};
use crate::wire::scip::scan::Step;

fn scan(echoes: &[&[(f32, f32, f32)]]) -> Scan {
    let all = echoes.iter().map(|step| {
        let mut echoes = Echoes::default();
        for (range_m, intensity, signal) in *step {
            echoes.push(Return { range_m: *range_m, intensity: *intensity, signal: *signal });
        }
        echoes
    });
    let truth = PacketTruth::default();
    let (echoes, fault_effects) = (all.collect(), Vec::new());
    Scan { revolution: 0, first_step: 0, echoes, fault_effects, truth }
}

fn profile(change: impl FnOnce(&mut HokuyoProfile)) -> HokuyoProfile {
    unit("hokuyo-utm30lx-ew", "", change).profile
}

/// Encodes the steps 0 to `last` of `scan` in clusters of `cluster` steps. Returns the distances of each cluster, one
/// for each echo.
fn distances(
    profile: &HokuyoProfile,
    scan: &Scan,
    format: ScanFormat,
    last: u32,
    cluster: u32,
) -> Vec<Vec<u32>> {
    let wanted = Wanted { format, steps: 0..=last, cluster };
    let (data, _) = scan_data(profile, &wanted, scan, 0);
    assert_eq!(data.steps.len(), wanted.values());
    let of = |step: &Step| {
        std::iter::once(&step.first).chain(&step.others).map(|echo| echo.distance).collect()
    };
    data.steps.iter().map(of).collect()
}

#[test]
fn distances_are_millimetres_and_codes() {
    let measured = scan(&[
        &[(1.0004, 1.0, 1.0)],
        &[(1.0006, 1.0, 1.0)],
        &[],
        &[(0.0224, 1.0, 1.0)],
        &[(0.0226, 1.0, 1.0)],
        &[(60.001, 1.0, 1.0)],
    ]);
    let plain = profile(|_| {});
    let flat = |last, cluster| -> Vec<u32> {
        distances(&plain, &measured, ONE, last, cluster).into_iter().flatten().collect()
    };
    assert_eq!(flat(5, 1), [1000, 1001, 1, 4, 23, 1]);
    // A cluster has the shortest distance; error codes are not distances. The last cluster is shorter.
    assert_eq!(flat(5, 4), [1000, 23]);
    assert_eq!(flat(5, 5), [23, 1]);
    let first = profile(|profile| profile.distances.cluster = ClusterRule::First);
    assert_eq!(distances(&first, &measured, ONE, 5, 2), [[1000], [1], [23]]);
    // Steps outside the measured range have their own code.
    let narrow = profile(|profile| profile.steps.last = 3);
    assert_eq!(distances(&narrow, &measured, ONE, 4, 1)[4], [5]);
}

#[test]
fn echoes_are_chosen_and_ordered_as_the_profile_says() {
    let four: &[(f32, f32, f32)] =
        &[(1.0, 0.1, 0.1), (2.0, 0.9, 0.4), (3.0, 0.5, 0.2), (4.0, 1.0, 0.9)];
    let measured = scan(&[four]);
    for (order, expected) in [
        (EchoOrder::NearToFar, [1000, 2000, 3000]),
        (EchoOrder::FarToNear, [3000, 2000, 1000]),
        (EchoOrder::StrongestFirst, [2000, 3000, 1000]),
    ] {
        let profile = profile(|profile| profile.echoes.order = order);
        assert_eq!(distances(&profile, &measured, ALL, 0, 1), [expected]);
    }
    for (single, expected) in
        [(EchoChoice::First, 1000), (EchoChoice::Strongest, 2000), (EchoChoice::Last, 3000)]
    {
        let profile = profile(|profile| profile.echoes.single = single);
        assert_eq!(distances(&profile, &measured, ONE, 0, 1), [[expected]]);
    }
}

#[test]
fn intensities_follow_the_stated_model() {
    let counts = |profile: &HokuyoProfile, range_m: f32, intensity: f32| {
        let wanted = Wanted { format: ALL, steps: 0..=0, cluster: 1 };
        let measured = scan(&[&[(range_m, intensity, 1.0)]]);
        scan_data(profile, &wanted, &measured, 0).0.steps[0].first.intensity
    };
    // Square root of light that decreases with the square of distance: 4000 at 1 m, half at 2 m.
    let plain = profile(|_| {});
    assert_eq!(counts(&plain, 1.0, 1.0), 4000);
    assert_eq!(counts(&plain, 2.0, 1.0), 2000);
    assert_eq!(counts(&plain, 1.0, 0.25), 2000);
    assert_eq!(counts(&plain, 0.03, 1.0), 65_535);
    let flat = profile(|profile| {
        profile.intensity.falloff = 0.0;
        profile.intensity.power = 1.0;
    });
    assert_eq!(counts(&flat, 20.0, 0.5), 2000);
}
