use super::*;
use crate::config::profile::lidar::{NoiseSettings, Target};
use crate::sensors::noise::NoiseSource;
use crate::time::SimTime;

/// Beam of a Velodyne that detects 10 % reflectance at up to 50 m; it reports ranges from 0.9 to 120 m.
fn beam() -> BeamSettings {
    BeamSettings {
        signal_cutoff_m: 0.75,
        min_range_m: 0.9,
        max_range_m: 120.0,
        sees: Target { reflectance: 0.1, at_m: 50.0 },
        ..BeamSettings::default()
    }
}

fn light(range_m: f32, reflectance: f32) -> Backscatter {
    Backscatter { range_m, reflectance }
}

struct Heard {
    noise: RequestNoise,
    buffers: RefCell<Buffers>,
}

impl Heard {
    fn new() -> Self {
        Self { noise: NoiseSource::new(3, "a").request(0), buffers: RefCell::default() }
    }

    fn reception(&self, setting: ReceiverSetting, window: f32, firing: usize) -> Reception<'_> {
        let (noise, buffers) = (&self.noise, &self.buffers);
        Reception { setting, light: window, noise, firing, buffers }
    }
}

/// Range and intensity of the reported returns through a window with the transmission `window`, without noise.
fn reports(
    beam: &BeamSettings,
    scatter: &[Backscatter],
    selection: EchoSelection,
    window: f32,
) -> [Option<(f32, f32)>; 2] {
    let heard = Heard::new();
    let reception = heard.reception(ReceiverSetting::default(), window, 0);
    let seen = Receiver::new(beam, 0.0).returns(scatter, selection, &reception);
    [seen.first, seen.second].map(|echo| echo.map(|echo| (echo.range_m, echo.intensity)))
}

fn first(beam: &BeamSettings, scatter: &[Backscatter], selection: EchoSelection) -> Option<f32> {
    reports(beam, scatter, selection, 1.0)[0].map(|(range_m, _)| range_m)
}

#[test]
fn the_data_sheets_target_is_just_seen_and_the_signal_falls_with_the_square() {
    let seen = |reflectance, range_m| {
        first(&beam(), &[light(range_m, reflectance)], EchoSelection::Strongest).is_some()
    };
    assert!(seen(0.1, 49.9) && !seen(0.1, 50.1));
    assert!(seen(0.4, 99.9) && !seen(0.4, 100.1));
    assert!(seen(0.9, 119.9) && !seen(0.9, 120.1), "the range gate");
    // A dark stem is not detected at 80 m, but is detected at 2 m.
    assert!(!seen(0.006, 80.0) && seen(0.006, 2.0));
    assert!(!seen(0.9, 0.8), "too near");
    assert!((beam().reach_m(0.1) - 50.0).abs() < 1e-9 && beam().reach_m(0.8) == 120.0);
}

#[test]
fn the_first_echo_is_the_first_that_is_seen() {
    // SICK LMS 291: a ninth of its beam hits a stem at 25 m, the rest a wall at 40 m.
    let lms = BeamSettings {
        signal_cutoff_m: 1.6,
        min_range_m: 0.0,
        max_range_m: 80.0,
        sees: Target { reflectance: 0.1, at_m: 30.0 },
        ..BeamSettings::default()
    };
    let stem_and_wall = [light(25.0, 0.5 / 9.0), light(40.0, 0.5 * 8.0 / 9.0)];
    let wall = first(&lms, &stem_and_wall, EchoSelection::First).unwrap();
    assert!((wall - 40.0).abs() < 1e-3, "{wall}");
    // The nearest echo is not reported within the device's blanking distance, or if the window is so dirty that it
    // hides the stem.
    let heard = Heard::new();
    let blanked = ReceiverSetting { blanked_m: 10.0, ..ReceiverSetting::default() };
    let near = [light(5.0, 0.3), light(12.0, 0.3)];
    let reception = heard.reception(blanked, 1.0, 0);
    let seen = Receiver::new(&lms, 0.0).returns(&near, EchoSelection::First, &reception);
    assert!((seen.first.unwrap().range_m - 12.0).abs() < 1e-3);
    let strong_stem = [light(25.0, 0.1), light(40.0, 0.8)];
    let dirty = |window| reports(&lms, &strong_stem, EchoSelection::First, window)[0].unwrap().0;
    assert!((dirty(1.0) - 25.0).abs() < 1e-3 && (dirty(0.5) - 40.0).abs() < 1e-3);
    // The receiver's sensitivity changes the detected echoes.
    let high = ReceiverSetting { threshold_factor: 0.5, ..ReceiverSetting::default() };
    let reception = heard.reception(high, 1.0, 0);
    let seen = Receiver::new(&lms, 0.0).returns(&stem_and_wall, EchoSelection::First, &reception);
    assert!((seen.first.unwrap().range_m - 25.0).abs() < 1e-3);
}

#[test]
fn selections_take_what_they_say() {
    // The strength at the receiver, not the reflectance, determines the order.
    let scatter = [light(10.0, 0.1), light(30.0, 0.3), light(34.0, 0.2)];
    let ranges = |selection| {
        reports(&beam(), &scatter, selection, 1.0).map(|echo| echo.map(|(r, _)| r.round()))
    };
    assert_eq!(ranges(EchoSelection::First), [Some(10.0), None]);
    assert_eq!(ranges(EchoSelection::Strongest), [Some(10.0), None]);
    assert_eq!(ranges(EchoSelection::Last), [Some(34.0), None]);
    assert_eq!(ranges(EchoSelection::StrongestAndLast), [Some(10.0), Some(34.0)]);
    assert_eq!(ranges(EchoSelection::OtherAndLast), [Some(10.0), Some(34.0)]);
    let last_is_strongest = [light(10.0, 0.01), light(20.0, 0.1)];
    let seen = reports(&beam(), &last_is_strongest, EchoSelection::OtherAndLast, 1.0);
    assert_eq!(seen.map(|echo| echo.unwrap().0.round()), [10.0, 20.0]);
    let one = reports(&beam(), &[light(20.0, 0.5)], EchoSelection::OtherAndLast, 1.0);
    assert!(one[0].is_some() && one[0] == one[1], "one return only: both alike");
}

#[test]
fn papers_rules_form_echoes_as_they_print() {
    let rule = |echoes| BeamSettings { echoes, signal_cutoff_m: 1.6, ..beam() };
    let scatter = [light(10.0, 0.3), light(10.5, 0.1), light(11.5, 0.2), light(14.0, 0.2)];
    let one = |echoes, selection| first(&rule(echoes), &scatter, selection).unwrap();
    let mean = one(EchoRule::WindowMean, EchoSelection::First);
    assert!((mean - 32.0 / 3.0).abs() < 1e-4, "{mean}");
    let weighted = one(EchoRule::Window, EchoSelection::First);
    assert!(weighted > 10.0 && weighted < mean, "{weighted}");
    assert_eq!(one(EchoRule::Ray, EchoSelection::Strongest), 10.0);
    assert_eq!(one(EchoRule::Ray, EchoSelection::Last), 14.0);
    assert!((one(EchoRule::WindowMean, EchoSelection::Last) - 14.0).abs() < 1e-5);
}

#[test]
fn intensity_is_the_reflectance_at_any_distance_and_dirt_dims_it() {
    for range_m in [2.0, 20.0, 60.0] {
        let seen = |window| {
            reports(&beam(), &[light(range_m, 0.5)], EchoSelection::Strongest, window)[0].unwrap().1
        };
        assert!((seen(1.0) - 0.5).abs() < 1e-5 && (seen(0.5) - 0.25).abs() < 1e-5);
    }
    let nothing = reports(&beam(), &[light(2.0, 0.5)], EchoSelection::Strongest, 0.0);
    assert_eq!(nothing, [None, None]);
    let retro = reports(&beam(), &[light(50.0, 300.0)], EchoSelection::Strongest, 1.0);
    assert!((retro[0].unwrap().1 - 300.0).abs() < 0.1);
}

#[test]
fn near_the_threshold_echoes_drop_out_by_chance() {
    // Values of the normal distribution at -1, 0, 1 and 2 standard deviations of the signal's noise.
    let receiver = Receiver::new(&beam(), 6.0);
    let heard = Heard::new();
    let count = 20_000;
    for (sigmas, expected) in [(-1.0, 0.158_66), (0.0, 0.5), (1.0, 0.841_34), (2.0, 0.977_25)] {
        let reflectance = 0.1 * (1.0 + sigmas / 6.0);
        let detected = (0..count).filter(|firing| {
            let reception = heard.reception(ReceiverSetting::default(), 1.0, *firing);
            let scatter = [light(50.0, reflectance)];
            let seen = receiver.returns(&scatter, EchoSelection::Strongest, &reception);
            seen.first.is_some()
        });
        let share = detected.count() as f64 / count as f64;
        // Four standard errors.
        let allowed = 4.0 * (expected * (1.0 - expected) / count as f64).sqrt();
        assert!((share - expected).abs() < allowed, "{sigmas}: {share} {expected}");
    }
}

#[test]
fn ranges_scatter_more_as_the_signal_falls() {
    let settings = NoiseSettings {
        range_std_m: 0.01,
        weak_range_std_m: 0.03,
        weak_range_power: 1.0,
        ..NoiseSettings::default()
    };
    let source = NoiseSource::new(9, "a");
    let errors = Errors::new(&settings, 1e-4, 1, source);
    let draws = source.request(0);
    for (over, expected_m) in [(1.0, 0.031_623), (9.0, 0.014_142), (1e6, 0.01)] {
        let echo = Return { range_m: 20.0, intensity: 0.5, signal: 1e-4 * over };
        let count = 20_000;
        let all = (0..count).map(|firing| {
            let kinds = [Quantity::FirstRange, Quantity::FirstIntensity];
            let seen = errors.apply(echo, 0, firing, 0.0, &draws, kinds);
            f64::from(seen.range_m - echo.range_m).powi(2)
        });
        let std_m = (all.sum::<f64>() / count as f64).sqrt();
        // Four standard errors of a standard deviation.
        assert!(
            (std_m / expected_m - 1.0).abs() < 4.0 / (2.0 * count as f64).sqrt(),
            "{over}: {std_m}"
        );
    }
}

#[test]
fn biases_drift_walk_and_saturation_shift_ranges() {
    let source = NoiseSource::new(9, "a");
    let draws = source.request(0);
    let kinds = [Quantity::FirstRange, Quantity::FirstIntensity];
    let shift = |settings: NoiseSettings, laser: usize, over: f32, at_s: f64| {
        let errors = Errors::new(&settings, 1e-4, 32, source);
        let echo = Return { range_m: 20.0, intensity: 0.5, signal: 1e-4 * over };
        let common_m = errors.common_m(SimTime::from_secs_f64(at_s));
        errors.apply(echo, laser, 0, common_m, &draws, kinds).range_m - 20.0
    };
    let walk = NoiseSettings { walk_m: 0.02, ..NoiseSettings::default() };
    assert!((shift(walk.clone(), 0, 1.0, 0.0) - 0.02).abs() < 1e-5);
    assert!((shift(walk, 0, 4.0, 0.0) - 0.01).abs() < 1e-5);
    let strong =
        NoiseSettings { saturation: 100.0, saturation_shift_m: 0.02, ..NoiseSettings::default() };
    assert_eq!(shift(strong.clone(), 0, 99.0, 0.0), 0.0);
    assert!((shift(strong, 0, 200.0, 0.0) + 0.01).abs() < 1e-5);
    let drift =
        NoiseSettings { warm_up_drift_m: 0.005, warm_up_s: 3600.0, ..NoiseSettings::default() };
    assert!(shift(drift.clone(), 0, 9.0, 0.0).abs() < 1e-6);
    assert!((shift(drift, 0, 9.0, 3600.0) - 0.005 * 0.632_12).abs() < 1e-5);
    let biased = NoiseSettings { laser_range_std_m: 0.01, ..NoiseSettings::default() };
    let lasers: Vec<f32> = (0..32).map(|laser| shift(biased.clone(), laser, 9.0, 0.0)).collect();
    let again: Vec<f32> = (0..32).map(|laser| shift(biased.clone(), laser, 9.0, 7.0)).collect();
    assert_eq!(lasers, again, "a bias stays");
    let square = lasers.iter().map(|x| x * x).sum::<f32>() / 32.0;
    assert!((0.006..0.014).contains(&square.sqrt()), "{}", square.sqrt());
    let of_scan =
        NoiseSettings { scan_range_std_m: 0.002, scan_s: 0.1, ..NoiseSettings::default() };
    let at = |laser, at_s| shift(of_scan.clone(), laser, 9.0, at_s);
    assert_eq!(at(0, 0.01), at(5, 0.09), "one scan");
    assert_ne!(at(0, 0.01), at(0, 0.11), "another");
}
