// These tests may use functions of `std` whose last bits differ between machines, because they compare with tolerances.
#![allow(clippy::disallowed_methods)]

use std::f64::consts::PI;
use std::sync::Arc;

use glam::DVec3;

use super::soft::signal;
use super::*;
use crate::config::rig::objects::ObjectShape;
use crate::config::rig::weather::{
    DustConfig, FogConfig, RainConfig, RainLaw, SnowConfig, SnowKind,
};
use crate::config::rig::{RobotConfig, TrajectoryConfig};
use crate::frames::{GeoOrigin, Geodetic};
use crate::sensors::noise::NoiseSource;
use crate::world::builtin::bodies;
use crate::world::trajectory::Trajectory;

/// HDL-64E: range 50 m at a reflectance of 10 %, pulse width 5 ns, divergence 2 mrad.
const HDL64E: AirOptics = AirOptics {
    width_m: 0.75,
    threshold: 4e-5,
    max_range_m: 120.0,
    divergence_rad: [2e-3; 2],
    exit_m: [0.0; 2],
};

fn weather(config: WeatherConfig) -> Weather {
    Weather::new(&config, 5, Arc::new([]))
}

fn fog(visibility_m: f64) -> WeatherConfig {
    let fog = FogConfig { visibility_m, contrast: 0.05, lidar_ratio_sr: 65.0 };
    WeatherConfig { fog: Some(fog), ..WeatherConfig::default() }
}

fn rain(rate_mm_h: f64, law: RainLaw, drops: bool) -> WeatherConfig {
    let rain = RainConfig { rate_mm_h, law, drops, film_mm: None };
    WeatherConfig { rain: Some(rain), ..WeatherConfig::default() }
}

fn snow(rate_mm_h: f64, kind: SnowKind, flakes: bool) -> WeatherConfig {
    let (density_g_cm3, reflectance) = (kind.density_g_cm3(), kind.reflectance());
    let snow = SnowConfig { rate_mm_h, kind, flakes, density_g_cm3, reflectance };
    WeatherConfig { snow: Some(snow), ..WeatherConfig::default() }
}

/// A dust source with spheres that do not move; a new sphere starts at each whole second.
fn still_dust(name: &str, position_m: [f64; 3]) -> DustConfig {
    DustConfig {
        position_m,
        source_radius_m: 0.0,
        rate_per_s: 1.0,
        life_s: 0.5,
        velocity_m_s: [0.0; 3],
        spread_m_s: 0.0,
        ..DustConfig::named(name.to_owned())
    }
}

fn dusty(dust: Vec<DustConfig>, dust_law: DustLaw) -> WeatherConfig {
    WeatherConfig { dust, dust_law, ..WeatherConfig::default() }
}

/// Ends of nine rays: the first `near` of them at `near_m`, the others at `far_m`.
fn stops(near: usize, near_m: f32, far_m: f32) -> Vec<Stop> {
    let end = |ray| if ray < near { near_m } else { far_m };
    (0..9).map(|ray| Stop { range_m: end(ray), share: 1.0 / 9.0 }).collect()
}

/// Light from surfaces of `reflectance` at the ends of rays.
fn surfaces(stops: &[Stop], reflectance: f32) -> Vec<Backscatter> {
    let hit = |stop: &&Stop| stop.range_m.is_finite();
    let back =
        |stop: &Stop| Backscatter { range_m: stop.range_m, reflectance: stop.share * reflectance };
    stops.iter().filter(hit).map(back).collect()
}

/// Fires `count` pulses along x at `at`; calls `seen` with the light of each pulse.
fn fire(
    weather: &Weather,
    optics: &AirOptics,
    at: SimTime,
    stops: &[Stop],
    reflectance: f32,
    count: usize,
    mut seen: impl FnMut(&[Backscatter]),
) {
    let mut scratch = AirScratch::default();
    let source = NoiseSource::new(3, "lidar");
    for request in 0..count.div_ceil(100) {
        let air = weather.around(optics, at, at, &mut scratch);
        let noise = source.request(request as u64);
        for firing in 0..(count - 100 * request).min(100) {
            let (origin, direction) = (DVec3::ZERO, DVec3::X);
            let flight = Flight { origin, direction, at, noise: &noise, firing, stops };
            let mut light = surfaces(stops, reflectance);
            air.act(&flight, &mut scratch, &mut light);
            seen(&light);
        }
    }
}

fn one(weather: &Weather, stops: &[Stop], reflectance: f32) -> Vec<Backscatter> {
    let mut all = Vec::new();
    fire(weather, &HDL64E, SimTime::ZERO, stops, reflectance, 1, |light| all = light.to_vec());
    all
}

/// Signal of an HDL-64E's receiver at the range `x_m`, from all echoes in `light`.
fn at(light: &[Backscatter], x_m: f64) -> f64 {
    light.iter().map(|place| signal(place, x_m, HDL64E.width_m)).sum()
}

fn reflectance(light: &[Backscatter]) -> f64 {
    light.iter().map(|place| f64::from(place.reflectance)).sum()
}

#[test]
fn clear_air_changes_nothing() {
    let stops = stops(4, 10.0, 20.0);
    assert_eq!(one(&weather(WeatherConfig::default()), &stops, 0.5), surfaces(&stops, 0.5));
}

#[test]
fn hard_echoes_fall_with_twice_the_optical_depth() {
    let marshall_palmer = |rate: f64| 3.65e-4 * rate.powf(0.63);
    for (config, extinction) in [
        (fog(100.0), 0.029_957),
        (rain(10.0, RainLaw::MarshallPalmer, false), marshall_palmer(10.0)),
        (rain(50.0, RainLaw::MarshallPalmer, false), marshall_palmer(50.0)),
        (rain(10.0, RainLaw::Goodin2019, false), 0.01 * 10f64.powf(0.6)),
        // pi / 2 x 2500 x 2 / 2.29^3 x (1 / 0.1)^(2/3) per million.
        (snow(1.0, SnowKind::Dry, false), 3.035e-3),
        (snow(1.0, SnowKind::Wet, false), 1.038e-3),
    ] {
        let told = extinction_per_m(&config);
        assert!((told / extinction - 1.0).abs() < 2e-3, "{config:?}: {told}");
        let weather = weather(config);
        for range_m in [20.0f32, 50.0, 100.0] {
            let light = one(&weather, &stops(9, range_m, 0.0), 0.5);
            // The first nine entries are the light of the nine rays. One rain model adds an error to the range; the
            // extinction applies to the range with this error.
            let hard = &light[..9];
            let expected = 0.5 * (-2.0 * told * f64::from(hard[0].range_m)).exp();
            assert!((reflectance(hard) / expected - 1.0).abs() < 1e-4, "{range_m}: {hard:?}");
        }
    }
    // Share of the light that the two models transmit over 50 m and back at 10 mm/h: 86 % and 2 %.
    let left = |law| (-100.0 * extinction_per_m(&rain(10.0, law, false))).exp();
    assert!((left(RainLaw::MarshallPalmer) - 0.856).abs() < 2e-3);
    assert!((left(RainLaw::Goodin2019) - 0.019).abs() < 1e-3);
}

#[test]
fn koschmieders_visibility_has_the_smaller_contrast() {
    let mut config = fog(100.0);
    config.fog.as_mut().unwrap().contrast = 0.02;
    assert!((extinction_per_m(&config) - 0.039_12).abs() < 1e-5);
}

/// The largest distance at which `is_seen` is true, to a centimetre.
fn farthest(is_seen: impl Fn(f64) -> bool) -> f64 {
    (1..12_000).rev().map(|cm| f64::from(cm) * 0.01).find(|&range_m| is_seen(range_m)).unwrap()
}

#[test]
fn targets_and_fog_are_seen_as_far_as_computed_for_an_hdl64e() {
    for (visibility, dark, bright, itself) in [
        (200.0, 31.0, 59.0, 3.5),
        (100.0, 24.0, 41.0, 4.5),
        (50.0, 17.5, 27.0, 5.3),
        (20.0, 10.5, 15.0, 5.3),
    ] {
        let weather = weather(fog(visibility));
        for (rho, expected) in [(0.1, dark), (0.8, bright)] {
            let seen = farthest(|range_m| {
                let stops = stops(9, range_m as f32, 0.0);
                let light = one(&weather, &stops, rho);
                let hard: Vec<_> =
                    light.into_iter().filter(|b| b.range_m == range_m as f32).collect();
                at(&hard, range_m) >= HDL64E.threshold
            });
            assert!((seen - expected).abs() < 0.6, "{rho} at {visibility}: {seen}");
        }
        // The target at 6.5 m is black, so only the soft echo of the fog remains.
        let light = one(&weather, &stops(9, 6.5, 0.0), 0.0);
        let seen = farthest(|x| at(&light, x) >= HDL64E.threshold);
        assert!((seen - itself).abs() < 0.15, "fog at {visibility}: {seen}");
    }
}

/// Soft echo of a fog at `x_m`, by a fine sum. `ends` are the distances at which rays end, metres, with their shares of
/// the light.
fn fine_sum(visibility_m: f64, ends: &[(f64, f64)], x_m: f64) -> f64 {
    let extinction = 20f64.ln() / visibility_m;
    let step = 1e-3;
    let part = |i: i32| {
        let r = 0.9 + step * (f64::from(i) + 0.5);
        let overlap = ((r - 0.9) / 0.1).clamp(0.0, 1.0);
        let lit: f64 = ends.iter().filter(|(end, _)| *end > r).map(|(_, share)| share).sum();
        let pulse = if (x_m - r).abs() < 0.75 { (PI * (x_m - r) / 1.5).cos().powi(2) } else { 0.0 };
        let back = PI * extinction / 65.0 * (-2.0 * extinction * r).exp();
        lit * back * overlap / (r * r) * pulse * step
    };
    (0..20_000).map(part).sum()
}

#[test]
fn samples_of_fog_make_the_waveform_of_its_integral() {
    for visibility in [20.0, 100.0] {
        let weather = weather(fog(visibility));
        // All rays end at 6.5 m, or five of them at 3 m while the others continue.
        let cases = [
            (9, 6.5f32, 0.0, vec![(6.5, 1.0)]),
            (5, 3.0, 6.5, vec![(3.0, 5.0 / 9.0), (6.5, 4.0 / 9.0)]),
        ];
        for (near, near_m, far_m, ends) in cases {
            let light = one(&weather, &stops(near, near_m, far_m), 0.0);
            assert!(light.len() > 12, "{light:?}");
            for x in [1.1, 1.3, 1.6, 2.0, 2.7, 3.4, 4.5, 5.5] {
                let (is, expected) = (at(&light, x), fine_sum(visibility, &ends, x));
                assert!((is / expected - 1.0).abs() < 0.03, "{visibility} at {x}: {is} {expected}");
            }
        }
    }
}

#[test]
fn far_from_surfaces_the_whole_echo_of_fog_is_one_place() {
    for visibility in [20.0, 50.0, 200.0] {
        let weather = weather(fog(visibility));
        let sky = one(&weather, &stops(0, 0.0, f32::INFINITY), 0.5);
        assert_eq!(sky.len(), 1, "{sky:?}");
        let near = one(&weather, &stops(9, 6.0, 0.0), 0.0);
        let top = |light: &[Backscatter]| {
            let places = (0..400).map(|i| 0.9 + 0.005 * f64::from(i));
            places.map(|x| (x, at(light, x))).max_by(|a, b| a.1.total_cmp(&b.1)).unwrap()
        };
        let ((sky_m, sky), (near_m, near)) = (top(&sky), top(&near));
        assert!((sky_m - near_m).abs() < 0.02, "{sky_m} {near_m}");
        assert!((sky / near - 1.0).abs() < 1e-3, "{sky} {near}");
        // The fog's echo has its maximum between 1 and 2 m. Without extinction, its reflectance is 0.7 to 1 times pi
        // beta w, with w = 0.75 m.
        let extinction = 20f64.ln() / visibility;
        let bright = PI * extinction / 65.0 * 0.75;
        assert!((1.0..2.0).contains(&sky_m), "{sky_m}");
        let share = sky * sky_m * sky_m / bright / (-2.0 * extinction * sky_m).exp();
        assert!((0.7..1.0).contains(&share), "{share}");
    }
}

#[test]
fn fog_precedes_a_far_wall_and_hides_a_dark_near_one() {
    let weather = weather(fog(30.0));
    // With a wall of 50 % reflectance at 12 m, the signal has two maxima; that of the fog is at 1.3 m.
    let light = one(&weather, &stops(9, 12.0, 0.0), 0.5);
    assert!(at(&light, 1.3) > HDL64E.threshold && at(&light, 12.0) > HDL64E.threshold);
    assert!(at(&light, 8.0) < 0.1 * at(&light, 12.0));
    // One of nine rays hits a leaf of 2 % reflectance at 2 m. The leaf's echo is too weak for a maximum of its own
    // beside that of the fog.
    let stops = stops(1, 2.0, 30.0);
    let light = one(&weather, &stops, 0.02);
    let tops = (100..250).filter(|&i| {
        let y = |i: i32| at(&light, f64::from(i) * 0.01);
        y(i) > y(i - 1) && y(i) >= y(i + 1)
    });
    assert_eq!(tops.collect::<Vec<_>>().len(), 1);
}

/// Integrals of `density` over the bins of range with the ends `bins`, by a fine sum.
fn binned(bins: &[f64], density: impl Fn(f64) -> f64) -> Vec<f64> {
    let sum = |from: f64, to: f64| {
        let steps = 4000;
        let step = (to - from) / f64::from(steps);
        (0..steps).map(|i| density(from + step * (f64::from(i) + 0.5)) * step).sum()
    };
    bins.windows(2).map(|ends| sum(ends[0], ends[1])).collect()
}

/// Chi-squared of `counts` against the `expected` counts, each of which must exceed 20.
fn chi_squared(counts: &[u64], expected: &[f64]) -> f64 {
    let term = |(&count, &expected): (&u64, &f64)| {
        assert!(expected > 20.0, "{expected}");
        (count as f64 - expected).powi(2) / expected
    };
    counts.iter().zip(expected).map(term).sum()
}

/// Numbers of echoes from particles in the bins of range with the ends `bins`, for `pulses` pulses into the open sky.
fn counted(weather: &Weather, optics: &AirOptics, pulses: usize, bins: &[f64]) -> Vec<u64> {
    let mut counts = vec![0; bins.len() - 1];
    let sky = stops(0, 0.0, f32::INFINITY);
    fire(weather, optics, SimTime::ZERO, &sky, 0.0, pulses, |light| {
        for place in light {
            let bin = bins.partition_point(|&end| end <= f64::from(place.range_m));
            if (1..bins.len()).contains(&bin) {
                counts[bin - 1] += 1;
            }
        }
    });
    counts
}

#[test]
fn drops_are_as_many_as_their_volume_holds() {
    // A receiver that detects everything, as in LISA. The expected number of drops is the number per volume of drops
    // with D > 50 um times the volume of the beam, which grows with the cube of the range.
    let optics = AirOptics { threshold: 0.0, max_range_m: 15.0, ..HDL64E };
    let weather = weather(rain(10.0, RainLaw::MarshallPalmer, true));
    let slope = 4.1 * 10f64.powf(-0.21);
    let count = 8000.0 * (-slope * 0.05).exp() / slope;
    let bins = [2.0, 4.0, 6.0, 8.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0];
    let pulses = 2000;
    let volume = |r: f64| PI / 12.0 * 2e-3 * 2e-3 * r.powi(3);
    let expected: Vec<f64> = bins
        .windows(2)
        .map(|ends| pulses as f64 * count * (volume(ends[1]) - volume(ends[0])))
        .collect();
    let counts = counted(&weather, &optics, pulses, &bins);
    // 9 bins: a correct result exceeds 27.9 once in 1000 times.
    let chi = chi_squared(&counts, &expected);
    assert!(chi < 27.9, "{chi}: {counts:?} {expected:?}");
    // Sizes: the mean square of the drops' diameters, from the share of the beam that each drop covers. Diameters have
    // an exponential distribution from 50 um on.
    let (mut sum, mut seen) = (0.0, 0.0);
    let extinction = weather.extinction_per_m;
    let sky = stops(0, 0.0, f32::INFINITY);
    fire(&weather, &optics, SimTime::ZERO, &sky, 0.0, pulses, |light| {
        for place in light.iter().filter(|place| place.range_m > 4.0) {
            let r = f64::from(place.range_m);
            let area = (2e-3 * r).powi(2);
            let share = f64::from(place.reflectance) / 0.02 / (-2.0 * extinction * r).exp();
            sum += share * area * 1e6;
            seen += 1.0;
        }
    });
    let mean = 0.05 + 1.0 / slope;
    let square = mean * mean + 1.0 / slope / slope;
    // The standard deviation of the squared diameter is about 2.3 times its mean.
    let error = 2.3 * square / f64::sqrt(seen);
    assert!((sum / seen - square).abs() < 4.0 * error, "{} {square} {error}", sum / seen);
}

/// Returns the linear density of detected particles as a function of the range (m): the expected number, per metre of
/// the beam's length, of particles whose echo exceeds an eighth of the HDL-64E's detection threshold.
fn noticed(n0: f64, slope: f64, rho: f64, extinction: f64, most: f64) -> impl Fn(f64) -> f64 {
    move |r: f64| {
        let overlap = ((r - 0.9) / 0.1).clamp(0.0, 1.0);
        let whole = rho * overlap * (-2.0 * extinction * r).exp() / (r * r);
        let beam = 2.0 * r;
        let least = beam * (0.125 * 4e-5 / whole).sqrt();
        if least.is_nan() || least >= most.min(beam) {
            return 0.0;
        }
        let tail = |d: f64| (-slope * d).exp() / slope;
        PI / 4.0 * beam * beam * 1e-6 * n0 * (tail(least.max(0.05)) - tail(most))
    }
}

#[test]
fn drops_that_are_noticed_are_those_of_the_law() {
    let weather = weather(rain(50.0, RainLaw::MarshallPalmer, true));
    let slope = 4.1 * 50f64.powf(-0.21);
    let law = noticed(8000.0, slope, 0.02, weather.extinction_per_m, 8.0);
    let bins = [0.9, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0];
    let pulses = 60_000;
    let expected: Vec<f64> = binned(&bins, law).into_iter().map(|n| n * pulses as f64).collect();
    let counts = counted(&weather, &HDL64E, pulses, &bins);
    let chi = chi_squared(&counts, &expected);
    assert!(chi < 27.9, "{chi}: {counts:?} {expected:?}");
}

#[test]
fn flakes_that_are_noticed_are_those_of_the_law() {
    for (kind, density, rho) in [(SnowKind::Dry, 0.1f64, 0.9), (SnowKind::Wet, 0.5, 0.6)] {
        let weather = weather(snow(2.0, kind, true));
        let thicker = density.powf(-1.0 / 3.0);
        let (n0, slope) = (2500.0 * 2f64.powf(-0.94) / thicker, 2.29 * 2f64.powf(-0.45) / thicker);
        let law = noticed(n0, slope, rho, weather.extinction_per_m, 20.0);
        let bins = [1.0, 3.0, 5.0, 7.0, 9.0, 11.0, 14.0];
        let pulses = 20_000;
        let expected: Vec<f64> =
            binned(&bins, law).into_iter().map(|n| n * pulses as f64).collect();
        let counts = counted(&weather, &HDL64E, pulses, &bins);
        // 6 bins: a correct result exceeds 22.5 once in 1000 times.
        let chi = chi_squared(&counts, &expected);
        assert!(chi < 22.5, "{chi}: {counts:?} {expected:?}");
    }
}

#[test]
fn surfaces_shade_particles_behind_them() {
    let weather = weather(snow(5.0, SnowKind::Dry, true));
    let count = |stops: &[Stop], beyond: f32| {
        let (mut near, mut far) = (0.0, 0.0);
        fire(&weather, &HDL64E, SimTime::ZERO, stops, 0.0, 10_000, |light| {
            for place in light.iter().filter(|place| place.reflectance > 0.0) {
                if place.range_m < beyond { near += 1.0 } else { far += 1.0 }
            }
        });
        (near, far)
    };
    let open = count(&stops(0, 0.0, f32::INFINITY), 6.0);
    let closed = count(&stops(9, 6.0, 0.0), 6.0);
    let part = count(&stops(5, 6.0, f32::INFINITY), 6.0);
    assert_eq!(closed, (open.0, 0.0));
    assert_eq!(part.0, open.0);
    let share: f64 = part.1 / open.1;
    let error = (open.1 * 5.0 / 9.0 * 4.0 / 9.0f64).sqrt() / open.1;
    assert!((share - 4.0 / 9.0).abs() < 4.0 * error, "{share} {error}");
}

#[test]
fn goodins_rain_spreads_ranges() {
    let weather = weather(rain(2.0, RainLaw::Goodin2019, false));
    let (mut sum, mut square, mut count) = (0.0, 0.0, 0.0);
    fire(&weather, &HDL64E, SimTime::ZERO, &stops(9, 25.0, 0.0), 0.5, 20_000, |light| {
        let range = f64::from(light[0].range_m);
        assert!(light.iter().all(|place| place.range_m == light[0].range_m));
        sum += range - 25.0;
        square += (range - 25.0).powi(2);
        count += 1.0;
    });
    let expected = 0.02 * 25.0 * (1.0 - f64::exp(-2.0)).powi(2);
    let std = (square / count - (sum / count).powi(2)).sqrt();
    // Four standard errors.
    assert!((sum / count).abs() < 4.0 * expected / f64::sqrt(count));
    assert!((std / expected - 1.0).abs() < 4.0 / f64::sqrt(2.0 * count), "{std} {expected}");
}

#[test]
fn a_new_sphere_of_dust_has_its_optical_depth_and_ten_have_ten_times() {
    for (count, depth) in [(1, 0.051_29), (10, 0.512_9)] {
        let place = |i| still_dust(&format!("d{i}"), [10.0, 0.0, 0.0]);
        let weather = weather(dusty((0..count).map(place).collect(), DustLaw::Spheres));
        let light = one(&weather, &stops(9, 30.0, 0.0), 0.5);
        let hard: Vec<_> = light.iter().copied().filter(|b| b.range_m == 30.0).collect();
        let is = -0.5 * (reflectance(&hard) / 0.5).ln();
        assert!((is - depth).abs() < 1e-3, "{count}: {is}");
        // The optical depth is half if the surface is in the middle of the dust, and zero before the dust.
        let middle = one(&weather, &stops(9, 10.0, 0.0), 0.5);
        let middle: Vec<_> = middle.into_iter().filter(|b| b.range_m == 10.0).collect();
        let is = -0.5 * (reflectance(&middle) / 0.5).ln();
        assert!((is - 0.5 * depth).abs() < 1e-3, "{count}: {is}");
        let before = one(&weather, &stops(9, 9.0, 0.0), 0.5);
        assert_eq!(before, surfaces(&stops(9, 9.0, 0.0), 0.5));
        // The dust returns pi / 40 x its extinction, dimmed on the way there and back, minus the part below a twentieth
        // of the threshold.
        let soft: Vec<_> = light.into_iter().filter(|b| b.range_m < 11.0).collect();
        let expected = PI / 40.0 * 0.5 * (1.0 - (-2.0 * depth).exp());
        assert!((reflectance(&soft) / expected - 1.0).abs() < 0.04, "{soft:?} {expected}");
        assert!(soft.iter().all(|b| (9.4..10.6).contains(&b.range_m)), "{soft:?}");
    }
}

#[test]
fn dust_of_mavs_answers_by_chance() {
    for (count, chance) in [(1, 0.051_29 / 0.7), (10, 0.512_9 / 0.7)] {
        let place = |i| still_dust(&format!("d{i}"), [10.0, 0.1, 0.0]);
        let weather = weather(dusty((0..count).map(place).collect(), DustLaw::Mavs));
        // The beam passes the middle of each sphere at a fifth of its radius: a sphere transmits 1 - 0.8 x 0.05.
        let passed = (1.0f64 - 0.8 * 0.05).powi(count);
        let depth = -passed.ln();
        assert!((depth / 0.7 / chance - 0.8).abs() < 0.02);
        let (mut dust, mut all) = (0.0, 0.0);
        fire(&weather, &HDL64E, SimTime::ZERO, &stops(9, 30.0, 0.0), 0.5, 10_000, |light| {
            all += 1.0;
            if light[0].range_m < 11.0 {
                dust += 1.0;
                assert_eq!(light.len(), 1);
                let front = 10.0 - (0.25f32 - 0.01).sqrt();
                assert!((light[0].range_m - front).abs() < 1e-3, "{light:?}");
                let expected = (1.0 - passed) * 0.2;
                assert!((f64::from(light[0].reflectance) - expected).abs() < 1e-6);
            } else {
                assert_eq!(light, surfaces(&stops(9, 30.0, 0.0), 0.5), "no light is lost");
            }
        });
        let expected = depth / 0.7;
        let error = (expected * (1.0 - expected) / all).sqrt();
        let share: f64 = dust / all;
        assert!((share - expected).abs() < 4.0 * error, "{share} {expected}");
    }
}

fn rising(seed: u64, at_ms: &[u64]) -> Vec<Vec<plumes::Sphere>> {
    let config = DustConfig::named("yard".to_owned());
    let plumes = Plumes::new(&[config], DVec3::new(3.0, 0.0, 0.0), seed, Arc::new([]));
    let mut clouds = Clouds::default();
    at_ms
        .iter()
        .map(|ms| {
            let at = SimTime(ms * 1_000_000);
            plumes.prepare(
                SimTime(at.0.saturating_sub(4_000_000)),
                SimTime(at.0 + 3_000_000),
                &mut clouds,
            );
            clouds.at(at)[0].spheres.clone()
        })
        .collect()
}

#[test]
fn plumes_are_a_function_of_time_and_seed() {
    let forwards = rising(1, &[0, 1000, 5000, 12_000, 60_000]);
    let mut backwards = rising(1, &[60_000, 12_000, 5000, 1000, 0]);
    backwards.reverse();
    assert_eq!(forwards, backwards);
    let counts: Vec<usize> = forwards.iter().map(Vec::len).collect();
    assert_eq!(counts, [1, 51, 251, 450, 450]);
    assert_ne!(forwards[2], rising(2, &[5000])[0]);
    // Spheres drift with the wind, rise, and grow with age.
    for sphere in &forwards[3] {
        let middle = DVec3::new(3.0, 0.0, 0.5) * sphere.age_s;
        let off = (sphere.centre - middle).abs();
        assert!(off.max_element() <= 0.5 + 0.5 * sphere.age_s + 1e-9, "{sphere:?}");
        assert!((sphere.radius_m - 0.5 - 0.5 * sphere.age_s).abs() < 1e-9);
    }
    let off = |axis: fn(DVec3) -> f64| {
        let all = forwards[3].iter().map(|s| axis(s.centre - DVec3::new(3.0, 0.0, 0.5) * s.age_s));
        all.clone().fold(0.0, |m: f64, x| m.max(x)) - all.fold(0.0, |m: f64, x| m.min(x))
    };
    assert!(off(|p| p.x) > 4.0 && off(|p| p.y) > 4.0 && off(|p| p.z) > 4.0);
}

#[test]
fn dust_rises_in_its_time() {
    let config =
        DustConfig { start_s: 2.0, duration_s: Some(1.0), ..DustConfig::named("d".into()) };
    let plumes = Plumes::new(&[config], DVec3::ZERO, 1, Arc::new([]));
    let mut clouds = Clouds::default();
    let counts: Vec<usize> = [1999, 2000, 2990, 4000, 10_999, 11_000, 11_500, 12_000]
        .iter()
        .map(|ms| {
            let at = SimTime(ms * 1_000_000);
            plumes.prepare(at, at, &mut clouds);
            clouds.at(at)[0].spheres.len()
        })
        .collect();
    assert_eq!(counts, [0, 1, 50, 50, 50, 49, 24, 0]);
}

#[test]
fn an_object_leaves_its_dust_where_it_was() {
    let trajectory = TrajectoryConfig::Line { start_m: [0.0; 3], yaw_rad: 0.0, speed_m_s: 10.0 };
    let motion = RobotConfig::new(trajectory, false);
    let origin =
        GeoOrigin::new(Geodetic { latitude_deg: 0.0, longitude_deg: 0.0, altitude_m: 0.0 });
    let trajectory = Trajectory::new(&motion, &origin, None).unwrap();
    let body = bodies::build(ObjectShape::Box, [1.0; 3], 0.5);
    let truck = MovingObject::of("truck", body, trajectory).unwrap();
    let dust = DustConfig {
        position_m: [-2.0, 0.5, 0.3],
        object: Some(0),
        source_radius_m: 0.0,
        velocity_m_s: [0.0; 3],
        spread_m_s: 0.0,
        ..DustConfig::named("trail".to_owned())
    };
    let plumes = Plumes::new(&[dust], DVec3::ZERO, 1, Arc::new([truck]));
    let mut clouds = Clouds::default();
    let at = SimTime(5_000_000_000);
    plumes.prepare(at, at, &mut clouds);
    let spheres = &clouds.at(at)[0].spheres;
    assert_eq!(spheres.len(), 251);
    for sphere in spheres {
        let born_at = DVec3::new(10.0 * (5.0 - sphere.age_s) - 2.0, 0.5, 0.3);
        assert!(sphere.centre.distance(born_at) < 1e-6, "{sphere:?} {born_at}");
    }
}
