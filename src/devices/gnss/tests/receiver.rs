//! The receiver model with the settings of a real receiver.

use glam::DVec3;

use crate::families::catalogue;
use crate::frames::{GeoOrigin, Geodetic};
use crate::gnss::profile::GnssProfile;
use crate::sensors::gnss::almanac::{Almanac, AlmanacSatellite, Orbit};
use crate::sensors::gnss::constellation::{Constellation, SatelliteOrbit};
use crate::sensors::gnss::navigator::{Fix, NavigationLimits, Navigator, Solution};
use crate::sensors::gnss::settings::{BestFix, ErrorPreset, GnssSystem, ReceiverSettings};
use crate::sensors::gnss::*;
use crate::sensors::noise::NoiseSource;
use crate::time::{Epoch, SimTime};

const SECOND: u64 = 1_000_000_000;

fn epoch() -> Epoch {
    Epoch::new("2026-11-21T09:27:25Z".parse().unwrap())
}

fn settings() -> ReceiverSettings {
    let profile = catalogue().profile("ublox-zed-f9p-hpg1.11").unwrap_or_else(|f| panic!("{f}"));
    let Some(driver) = profile.data::<GnssProfile>() else { panic!() };
    driver.defaults.receiver.clone()
}

const HERE: Geodetic =
    Geodetic { latitude_deg: 47.285_233_167, longitude_deg: 8.565_265, altitude_m: 547.6 };

/// The sky of the synthetic constellation. Satellites at azimuths (radians) for which `is_hidden` returns true are
/// occluded.
fn view(constellation: &Constellation, at: SimTime, is_hidden: impl Fn(f64) -> bool) -> SkyView {
    let local = GeoOrigin::new(HERE);
    let gps_s = epoch().gps_seconds(at);
    let mut satellites = Vec::new();
    for (index, satellite) in constellation.satellites.iter().enumerate() {
        let d = local.world_from_ecef(satellite.orbit.ecef_m(gps_s)).normalize();
        let azimuth_rad = libm::atan2(d.x, d.y).rem_euclid(std::f64::consts::TAU);
        let open_share = if is_hidden(azimuth_rad) { 0.0 } else { 1.0 };
        if d.z > 0.0 {
            let elevation_rad = libm::asin(d.z);
            satellites.push(SatelliteView { index, elevation_rad, azimuth_rad, open_share });
        }
    }
    SkyView { position: HERE, velocity_enu_m_s: DVec3::new(1.0, -1.0, 0.0), satellites }
}

struct Run {
    constellation: Constellation,
    navigator: Navigator,
    limits: NavigationLimits,
    index: u64,
}

impl Run {
    fn new(settings: &ReceiverSettings) -> Self {
        let constellation = Constellation::new(settings, epoch());
        let noise = NoiseSource::new(5, "gnss");
        Self {
            navigator: Navigator::new(settings, constellation.clone(), noise, SimTime::ZERO),
            constellation,
            limits: NavigationLimits::new(settings.systems.clone(), settings.mask_rad),
            index: 0,
        }
    }

    fn step(&mut self, at_ns: u64, is_hidden: impl Fn(f64) -> bool) -> Solution {
        let at = SimTime(at_ns);
        let view = view(&self.constellation, at, is_hidden);
        self.index += 1;
        self.navigator.step(at, self.index, &view, &self.limits)
    }
}

/// Compares a satellite's position at the reference time of its broadcast parameters with one computed by hand. Orbit
/// circular, node and anomaly zero: the satellite is on the x axis, rotated back by the Earth's rotation since the start of
/// the week.
#[test]
fn an_orbit_is_where_the_interface_specification_puts_it() {
    let elements = Orbit {
        eccentricity: 0.0,
        toa_s: 3600.0,
        week: 398,
        week_modulus: 1024,
        inclination_rad: 1.0,
        ascension_rate_rad_s: 0.0,
        sqrt_a: 5153.0,
        ascension_rad: 0.0,
        perigee_rad: 0.0,
        mean_anomaly_rad: 0.0,
    };
    let now_s = epoch().gps_seconds(SimTime::ZERO);
    let orbit = SatelliteOrbit::near(elements, now_s);
    // Week 2445 is week 397 after two cycles of 1024 weeks.
    let toa_s = 2446.0 * 604_800.0 + 3600.0;
    let at = orbit.ecef_m(toa_s);
    let angle = -7.292_115_146_7e-5 * 3600.0;
    let expected = 5153.0_f64.powi(2) * DVec3::new(libm::cos(angle), libm::sin(angle), 0.0);
    assert!((at - expected).length() < 1e-3, "{at}");
    // After one revolution it is at the same place in inertial space; the Earth has rotated meanwhile.
    let a: f64 = 5153.0_f64.powi(2);
    let period_s = std::f64::consts::TAU / (3.986_005e14 / a.powi(3)).sqrt();
    let turned = -7.292_115_146_7e-5 * (3600.0 + period_s);
    let expected = a * DVec3::new(libm::cos(turned), libm::sin(turned), 0.0);
    assert!((orbit.ecef_m(toa_s + period_s) - expected).length() < 1.0);
}

#[test]
fn an_almanac_replaces_gps_alone() {
    let mut settings = settings();
    let orbit = Orbit {
        eccentricity: 0.005,
        toa_s: 0.0,
        week: 397,
        week_modulus: 1024,
        inclination_rad: 0.96,
        ascension_rate_rad_s: -8e-9,
        sqrt_a: 5153.6,
        ascension_rad: 1.0,
        perigee_rad: 0.5,
        mean_anomaly_rad: 2.0,
    };
    let satellites = vec![AlmanacSatellite { svid: 17, is_healthy: false, orbit }];
    settings.almanac = Some(std::sync::Arc::new(Almanac { satellites }));
    let constellation = Constellation::new(&settings, epoch());
    let gps: Vec<_> =
        constellation.satellites.iter().filter(|s| s.system == GnssSystem::Gps).collect();
    assert_eq!((gps.len(), gps[0].svid, gps[0].is_healthy), (1, 17, false));
    assert_eq!(constellation.satellites.len(), 1 + 3 * 24);
}

#[test]
fn the_open_sky_gives_the_dilutions_of_open_sky() {
    let mut settings = settings();
    settings.acquisition.is_filtered = false;
    let mut run = Run::new(&settings);
    for hour in 0..24 {
        let solution = run.step((10 + hour * 3600) * SECOND, |_| false);
        let dop = solution.dop.unwrap();
        assert!((0.4..0.9).contains(&dop.horizontal()), "hour {hour}: {}", dop.horizontal());
        assert!((0.6..1.6).contains(&dop.vertical()), "hour {hour}: {}", dop.vertical());
        assert!((20..=45).contains(&solution.used().count()));
    }
}

/// AirSim's closed form: 0.1 + 99.9 exp(-t / 0.9), independent of the rate.
#[test]
fn hdop_falls_as_airsims_filter() {
    for rate_hz in [1_u64, 10, 50] {
        let mut settings = settings();
        settings.acquisition.hdop_final = Some(0.1);
        settings.acquisition.hdop_3d = 3.0;
        settings.acquisition.hdop_2d = 4.0;
        let mut run = Run::new(&settings);
        let mut first_3d = None;
        for epoch in 0..10 * rate_hz {
            let at_ns = epoch * SECOND / rate_hz;
            let solution = run.step(at_ns, |_| false);
            let t = at_ns as f64 * 1e-9 - 1.0;
            if t < 0.0 {
                assert_eq!(solution.fix, Fix::None);
                continue;
            }
            let expected = 0.1 + 99.9 * libm::exp(-t / 0.9);
            let found = solution.dop.unwrap().horizontal();
            assert!((found / expected - 1.0).abs() < 1e-9, "{rate_hz} Hz, {t} s: {found}");
            if matches!(solution.fix, Fix::ThreeD(_)) {
                first_3d.get_or_insert(t);
            }
        }
        // HDOP reaches 3.0 after 3.19 s.
        let first = first_3d.unwrap();
        assert!((3.19..=3.2 + 1.0 / rate_hz as f64).contains(&first), "{rate_hz} Hz: {first}");
    }
}

#[test]
fn float_and_fixed_follow_and_an_outage_starts_again() {
    let mut settings = settings();
    settings.acquisition.best_fix = Some(BestFix::RtkFixed);
    let mut run = Run::new(&settings);
    let mut seen = Vec::new();
    let mut note = |fix: Fix| {
        if seen.last() != Some(&fix) {
            seen.push(fix);
        }
    };
    for s in 0..40 {
        note(run.step(s * SECOND, |_| false).fix);
    }
    for s in 40..50 {
        note(run.step(s * SECOND, |_| true).fix);
    }
    for s in 50..80 {
        note(run.step(s * SECOND, |_| false).fix);
    }
    let grades = [BestFix::Standalone, BestFix::Differential, BestFix::RtkFloat, BestFix::RtkFixed];
    let once = grades.map(Fix::ThreeD);
    let outage = [Fix::DeadReckoning, Fix::None];
    // A two-dimensional fix is seen only if an epoch falls between the two limits.
    seen.retain(|fix| *fix != Fix::TwoD);
    let expected: Vec<Fix> = [&[Fix::None], &once[..], &outage, &once[..]].concat();
    assert_eq!(seen, expected);
}

#[test]
fn half_a_sky_is_worse_than_a_whole_one() {
    let settings = settings();
    let mut run = Run::new(&settings);
    let mut last = |is_hidden: fn(f64) -> bool, from: u64| {
        (from..from + 30).map(|s| run.step(s * SECOND, is_hidden)).last().unwrap()
    };
    let open = last(|_| false, 0);
    let half = last(|azimuth| azimuth < 3.0, 30);
    assert!(half.used().count() < open.used().count() * 2 / 3);
    assert!(half.dop.unwrap().horizontal() > 1.3 * open.dop.unwrap().horizontal());
    assert!(half.horizontal_accuracy_m() > open.horizontal_accuracy_m());
    // Occluded satellites stay in view, without a signal.
    assert_eq!(half.satellites.len(), open.satellites.len());
    assert!(half.satellites.iter().any(|s| s.cno_dbhz[0].is_none() && s.elevation_deg > 30.0));
}

/// Position errors agree with the reported accuracy: over many receivers their RMS equals hAcc.
#[test]
fn stated_accuracy_is_that_of_the_errors() {
    let settings = settings();
    let constellation = Constellation::new(&settings, epoch());
    let local = GeoOrigin::new(HERE);
    let limits = NavigationLimits::new(settings.systems.clone(), settings.mask_rad);
    let view = view(&constellation, SimTime(30 * SECOND), |_| false);
    let (mut squares, mut stated) = (0.0, 0.0);
    let runs = 400;
    for seed in 0..runs {
        let noise = NoiseSource::new(seed, "gnss");
        let mut navigator = Navigator::new(&settings, constellation.clone(), noise, SimTime::ZERO);
        navigator.step(SimTime(2 * SECOND), 0, &view, &limits);
        let solution = navigator.step(SimTime(30 * SECOND), 1, &view, &limits);
        squares += local.world_from_geodetic(solution.position).truncate().length_squared();
        stated += solution.horizontal_accuracy_m().powi(2);
    }
    let ratio = (squares / stated).sqrt();
    // 400 receivers: RMS within 10 % (4 standard errors of 800 samples); hAcc is a little pessimistic.
    assert!((0.8..1.05).contains(&ratio), "{ratio}");
}

#[test]
fn velocity_and_course_are_one_vector() {
    let mut settings = settings();
    settings.apply(ErrorPreset::None);
    let mut run = Run::new(&settings);
    let solution = (0..20).map(|s| run.step(s * SECOND, |_| false)).last().unwrap();
    assert_eq!(solution.velocity_enu_m_s, DVec3::new(1.0, -1.0, 0.0));
    assert!((solution.course_deg() - 135.0).abs() < 1e-9);
    assert_eq!(solution.position, HERE);
    assert!((solution.ground_speed_m_s() - 2.0_f64.sqrt()).abs() < 1e-12);
}

/// The five combinations of error model and HDOP in Mahajan et al. 2024 (arXiv 2403.11000).
#[test]
fn the_combinations_are_those_of_the_paper() {
    for (preset, errs, falls) in [
        (ErrorPreset::ChGauss, true, false),
        (ErrorPreset::ChRw, true, false),
        (ErrorPreset::Airsim, false, true),
        (ErrorPreset::ChGaussAirsim, true, true),
        (ErrorPreset::ChRwAirsim, true, true),
    ] {
        let mut settings = settings();
        settings.apply(preset);
        let mut run = Run::new(&settings);
        let hdop = |s: &Solution| s.dop.unwrap().horizontal();
        let early = run.step(2 * SECOND, |_| false);
        let late = (3..40).map(|s| run.step(s * SECOND, |_| false)).last().unwrap();
        assert_eq!(late.position != HERE, errs, "{preset:?}");
        assert_eq!(hdop(&early) > 10.0 * hdop(&late), falls, "{preset:?}");
        assert!(late.fix.is_some());
    }
}

#[test]
fn the_rtk_covariance_is_the_papers() {
    let mut settings = settings();
    settings.acquisition.best_fix = Some(BestFix::RtkFixed);
    let mut run = Run::new(&settings);
    let solution = (0..60).map(|s| run.step(s * SECOND, |_| false)).last().unwrap();
    let expected = 0.02 * solution.dop.unwrap().horizontal();
    assert!((solution.horizontal_accuracy_m() - expected).abs() < 1e-12);
}
