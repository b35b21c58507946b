//! The receiver's solution: tracked satellites, fix, position, velocity, reported accuracy.
//!
//! # From start to fix
//!
//! HDOP follows AirSim's filter (`GpsSimple`, where it filters the reported error). It starts at `hdop_initial`, and
//! `y <- alpha y + (1 - alpha) y_final` with `alpha = exp(-dt / time_constant)`. `y_final` is the HDOP of the
//! satellites' geometry, or the user's number; without a position it is `hdop_initial`. All other dilutions are
//! scaled by the same factor. Below `hdop_2d` there is a two-dimensional fix, below `hdop_3d` a three-dimensional
//! one. While the three-dimensional fix lasts, RTK float and RTK fixed follow after their times, or as received
//! corrections permit.
//!
//! # Carrier-to-noise ratio
//!
//! The ratio is `30 + 15 sqrt(sin elevation)` dB-Hz (an assumption), 3 dB less for the second signal. To this are added
//! `20 log10` of the open share of the line of sight, and a small random change from second to second. The factor is 20
//! because amplitudes add over the first Fresnel zone.
//!
//! # Reported accuracy
//!
//! The standard deviation along each axis is UERE times the DOP of the axis. hAcc is UERE × HDOP; with a UERE of 0.02
//! m, the covariance is that of Mahajan et al. 2024, (0.02 HDOP)². A receiver with `states_zero` reports accuracies
//! and covariances of zero while it has satellites.

use glam::{DMat3, DVec3};

use super::constellation::Constellation;
use super::corrected::{Baseline, Corrected};
use super::dop::Dop;
use super::errors::ErrorProcess;
pub use super::limits::{FixMode, Motion, NavigationLimits};
use super::settings::{BestFix, ReceiverSettings};
use super::tracked::SatelliteCorrection;
pub use super::tracked::TrackedSatellite;
use super::{SatelliteView, SkyView};
use crate::frames::{GeoOrigin, Geodetic};
use crate::sensors::SkyOutlook;
use crate::sensors::noise::{NoiseSource, Quantity};
use crate::time::SimTime;

/// Kind of a navigation solution: no fix, or the dimension of the fix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fix {
    /// No position.
    None,
    /// The last solution, extrapolated.
    DeadReckoning,
    /// Two-dimensional: the height is the last known one, or the host's if the host allows two-dimensional fixes only.
    TwoD,
    /// Three-dimensional, autonomous or RTK.
    ThreeD(BestFix),
}

impl Fix {
    /// Whether the solution has a position, measured or extrapolated.
    pub fn is_some(self) -> bool {
        self != Self::None
    }

    /// Kind of fix whose error models and accuracy apply; [`BestFix::Standalone`] unless the fix is three-dimensional.
    pub fn grade(self) -> BestFix {
        match self {
            Self::ThreeD(grade) => grade,
            _ => BestFix::Standalone,
        }
    }
}

/// The receiver's solution at an epoch.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// Time of the epoch, at which the solution is valid.
    pub at: SimTime,
    /// Kind of fix; [`Fix::None`] without a position.
    pub fix: Fix,
    /// Whether date and time are known.
    pub is_time_known: bool,
    /// Whether the leap seconds are known.
    pub is_leap_known: bool,
    /// Position of the antenna; meaningless without a fix.
    pub position: Geodetic,
    /// Ellipsoidal height minus height above mean sea level, metres.
    pub geoid_separation_m: f64,
    /// Velocity of the antenna: east, north, up, m/s.
    pub velocity_enu_m_s: DVec3,
    /// Dilution of precision as reported; `None` if the satellites do not determine a position.
    pub dop: Option<Dop>,
    /// Covariance of the position: east, north, up, m².
    pub covariance_m2: DMat3,
    /// Standard deviation of the error of each velocity component, m/s.
    pub velocity_std_m_s: f64,
    /// Error of the receiver's time, ns.
    pub time_error_ns: f64,
    /// Standard deviation of range errors (UERE), metres.
    pub uere_m: f64,
    /// All satellites in view that belong to enabled systems, sorted by system; empty while the receiver starts up.
    pub satellites: Vec<TrackedSatellite>,
    /// Time from start to the first fix, ns; `None` before it.
    pub time_to_first_fix_ns: Option<u64>,
    /// Whether dilutions and accuracies are within the limits of a valid fix.
    pub is_within_limits: bool,
    /// Time since the current three-dimensional fix was acquired, ns; `None` without one.
    pub fix_age_ns: Option<u64>,
    /// Vector from the base station whose corrections are used; `None` without corrections.
    pub baseline: Option<Baseline>,
}

impl Solution {
    /// Horizontal speed, m/s.
    pub fn ground_speed_m_s(&self) -> f64 {
        self.velocity_enu_m_s.truncate().length()
    }

    /// Direction of motion, degrees clockwise from north, 0 to 360.
    pub fn course_deg(&self) -> f64 {
        let v = self.velocity_enu_m_s;
        libm::atan2(v.x, v.y).to_degrees().rem_euclid(360.0)
    }

    /// Satellites that are part of the solution.
    pub fn used(&self) -> impl Iterator<Item = &TrackedSatellite> {
        self.satellites.iter().filter(|satellite| satellite.is_used)
    }

    /// Horizontal accuracy, metres: the root of the sum of both axes' variances.
    pub fn horizontal_accuracy_m(&self) -> f64 {
        (self.covariance_m2.x_axis.x + self.covariance_m2.y_axis.y).sqrt()
    }

    /// Vertical accuracy, metres: standard deviation of the height.
    pub fn vertical_accuracy_m(&self) -> f64 {
        self.covariance_m2.z_axis.z.sqrt()
    }
}

/// The navigation filter of a receiver, with its state.
#[derive(Clone, Debug)]
pub struct Navigator {
    settings: ReceiverSettings,
    constellation: Constellation,
    noise: NoiseSource,
    errors: [ErrorProcess; 4],
    started: SimTime,
    last: Option<SimTime>,
    hdop: f64,
    time_known_since: Option<SimTime>,
    first_fix: Option<SimTime>,
    fix_since: Option<SimTime>,
    /// The last two- or three-dimensional fix (time, position, velocity), for dead reckoning.
    held: Option<(SimTime, Geodetic, DVec3)>,
}

impl Navigator {
    /// A receiver that is switched on at `started`.
    pub fn new(
        settings: &ReceiverSettings,
        constellation: Constellation,
        noise: NoiseSource,
        started: SimTime,
    ) -> Self {
        let process =
            |grade: usize| ErrorProcess::new(&settings.grades[grade].errors, noise, grade);
        Self {
            errors: std::array::from_fn(process),
            hdop: settings.acquisition.hdop_initial,
            settings: settings.clone(),
            constellation,
            noise,
            started,
            last: None,
            time_known_since: None,
            first_fix: None,
            fix_since: None,
            held: None,
        }
    }

    /// Restarts at `at`; with `forgets_time`, the receiver must acquire the time again. Error processes keep their
    /// state, because the errors of signals continue.
    pub fn restart(&mut self, at: SimTime, forgets_time: bool) {
        self.started = at;
        self.hdop = self.settings.acquisition.hdop_initial;
        self.first_fix = None;
        self.fix_since = None;
        self.held = None;
        if forgets_time {
            self.time_known_since = None;
        }
    }

    /// The solution of the epoch `at`, which must be later than the previous one. `index` counts epochs.
    pub fn step(
        &mut self,
        at: SimTime,
        index: u64,
        view: &SkyView,
        limits: &NavigationLimits,
    ) -> Solution {
        let errors: [_; 4] = std::array::from_fn(|grade| self.errors[grade].step(at, index));
        let is_up = at.0 >= self.started.0 + self.settings.acquisition.startup_ns;
        let mut satellites = self.track(at, view, limits, is_up);
        limits.select(&mut satellites);
        let rows: Vec<_> = satellites.iter().filter(|s| s.is_used).map(row).collect();
        let geometry = Dop::of(&rows);
        let dop = self.filter(at, geometry, is_up);
        if is_up && satellites.iter().any(|s| s.cno_dbhz[0].is_some()) {
            self.time_known_since.get_or_insert(at);
        }
        let is_possible = limits.motion.allows(view.position.altitude_m, view.velocity_enu_m_s)
            && limits.has_enough(&satellites);
        let fix = self.fix(at, dop.as_ref().filter(|_| is_possible), limits);
        if matches!(fix, Fix::None | Fix::DeadReckoning) {
            satellites.iter_mut().for_each(|satellite| satellite.is_used = false);
        }
        let corrected = limits.corrected.filter(|_| fix.grade() > BestFix::Standalone);
        // With a moving base, corrections improve only the baseline, not the position.
        let position_grade = match corrected {
            Some(Corrected { is_moving: true, .. }) => BestFix::Standalone,
            _ => fix.grade(),
        };
        let scale = |grade: BestFix| match corrected {
            Some(corrected) if grade >= BestFix::RtkFloat => corrected.scale,
            _ => 1.0,
        };
        let velocity_error = errors[position_grade as usize].velocity_m_s;
        let axes = dop.map_or(DVec3::ONE, |dop| dop.axes());
        let grade = self.settings.grade(position_grade);
        let white = self.draw(index, Quantity::GnssVelocity);
        let offset_m = |grade: BestFix| {
            let error = errors[grade as usize];
            (error.position_m + error.range_m * axes) * scale(grade)
        };
        let mut position = moved(view.position, offset_m(position_grade));
        if let Some(shift_m) = corrected.map(|corrected| corrected.shift_m)
            && shift_m != DVec3::ZERO
        {
            position = Geodetic::from_ecef(position.to_ecef() + shift_m);
        }
        let mut velocity = view.velocity_enu_m_s + velocity_error + white * grade.velocity_std_m_s;
        let uere_of = |grade: BestFix| match self.settings.states_zero {
            true => 0.0,
            false => self.settings.grade(grade).uere_m * scale(grade),
        };
        let covariance_of =
            |uere_m: f64| dop.map_or(DMat3::ZERO, |dop| dop.covariance * (uere_m * uere_m));
        let uere_m = uere_of(position_grade);
        let mut covariance = covariance_of(uere_m);
        let baseline = corrected.map(|corrected| {
            let covariance_m2 = covariance_of(uere_of(fix.grade()));
            corrected.baseline(view.position, offset_m(fix.grade()), covariance_m2)
        });
        let velocity_std = grade.velocity_std_m_s;
        match (fix, self.held) {
            (Fix::DeadReckoning, Some((since, from, speed))) => {
                let age_s = at.saturating_since(since).as_secs_f64();
                position = moved(from, speed * age_s);
                velocity = speed;
                // Assume an unknown acceleration of 1 m/s², so that the error grows by 0.5 t².
                covariance =
                    DMat3::from_diagonal(DVec3::splat((uere_m + 0.5 * age_s * age_s).powi(2)));
            }
            (Fix::TwoD, Some((_, from, _))) => position.altitude_m = from.altitude_m,
            _ => {}
        }
        let geoid_separation_m = self.geoid_separation_m(&position);
        if fix == Fix::TwoD && limits.fix_mode == FixMode::TwoD {
            position.altitude_m = limits.altitude_2d_m + geoid_separation_m;
        }
        if matches!(fix, Fix::TwoD | Fix::ThreeD(_)) {
            self.held = Some((at, position, velocity));
        }
        self.last = Some(at);
        let clock = self.noise.request(index).standard_normal(0, Quantity::GnssClock);
        Solution {
            at,
            fix,
            is_time_known: self.time_known_since.is_some(),
            is_leap_known: self
                .time_known_since
                .is_some_and(|since| at.0 >= since.0 + self.settings.leap_known_after_ns),
            position,
            geoid_separation_m,
            velocity_enu_m_s: velocity,
            dop,
            covariance_m2: covariance,
            velocity_std_m_s: velocity_std,
            time_error_ns: clock * 20.0,
            is_within_limits: limits.holds(dop.as_ref(), &covariance),
            uere_m,
            satellites,
            time_to_first_fix_ns: self.first_fix.map(|first| first.0 - self.started.0),
            fix_age_ns: self.fix_since.map(|since| at.0 - since.0),
            baseline,
        }
    }

    /// The constellation whose satellites the receiver can track.
    pub fn constellation(&self) -> &Constellation {
        &self.constellation
    }

    fn geoid_separation_m(&self, at: &Geodetic) -> f64 {
        self.settings.geoid_separation_m.unwrap_or_else(|| at.geoid_height_m())
    }

    /// The satellites in view that belong to enabled systems, with their signal strengths; marks those in the solution.
    /// Empty before the receiver is up.
    fn track(
        &self,
        at: SimTime,
        view: &SkyView,
        limits: &NavigationLimits,
        is_up: bool,
    ) -> Vec<TrackedSatellite> {
        let sky = &self.settings.sky;
        let second = self.noise.request(at.0 / 1_000_000_000);
        let mut all = Vec::with_capacity(view.satellites.len());
        for seen in &view.satellites {
            let satellite = self.constellation.satellites[seen.index];
            if !is_up || !limits.systems.contains(&satellite.system) {
                continue;
            }
            let flutter = second.standard_normal(seen.index, Quantity::GnssCarrierToNoise);
            let cno = mean_cno_dbhz(seen) + flutter * sky.cno_std_db;
            let has_second = !limits.single_signal.contains(&satellite.system);
            let tracked = |cno: f64| (cno >= sky.min_cno_dbhz).then_some(cno);
            let residual = second.standard_normal(seen.index, Quantity::GnssResidual);
            all.push(TrackedSatellite {
                satellite,
                elevation_deg: seen.elevation_rad.to_degrees(),
                azimuth_deg: seen.azimuth_rad.to_degrees(),
                cno_dbhz: [tracked(cno), tracked(cno - 3.0).filter(|_| has_second)],
                is_used: tracked(cno).is_some_and(|cno| cno >= limits.min_cno_dbhz)
                    && satellite.is_healthy
                    && seen.elevation_rad >= limits.mask_rad,
                residual_m: residual * self.settings.grade(BestFix::Standalone).uere_m,
                correction: SatelliteCorrection::default(),
            });
        }
        all
    }

    /// Advances the filter of HDOP to `at`; returns the dilutions that the receiver reports. `None` during startup, or
    /// without a `geometry` that determines a position.
    fn filter(&mut self, at: SimTime, geometry: Option<Dop>, is_up: bool) -> Option<Dop> {
        let acquisition = &self.settings.acquisition;
        let target = match geometry {
            Some(dop) => acquisition.hdop_final.unwrap_or(dop.horizontal()),
            None => acquisition.hdop_initial,
        };
        if !is_up {
            return None;
        }
        if acquisition.is_filtered {
            // At the first epoch, the time step of the filter starts at the end of the receiver's startup.
            let up = SimTime(self.started.0 + acquisition.startup_ns);
            let since = self.last.map_or(up, |last| last.max(up));
            let dt = at.saturating_since(since).as_secs_f64();
            let alpha = libm::exp(-dt / acquisition.time_constant_s);
            self.hdop = alpha * self.hdop + (1.0 - alpha) * target;
        } else {
            self.hdop = target;
        }
        geometry.map(|dop| dop.scaled(self.hdop / dop.horizontal()))
    }

    fn fix(&mut self, at: SimTime, dop: Option<&Dop>, limits: &NavigationLimits) -> Fix {
        let acquisition = &self.settings.acquisition;
        let hdop = dop.map_or(f64::INFINITY, Dop::horizontal);
        let is_3d = hdop <= acquisition.hdop_3d && limits.fix_mode != FixMode::TwoD;
        let is_2d = hdop <= acquisition.hdop_2d
            && limits.fix_mode != FixMode::ThreeD
            && (self.first_fix.is_some() || !limits.is_first_fix_3d);
        if !is_3d && !is_2d {
            self.fix_since = None;
            let coasts =
                self.held.is_some_and(|(since, ..)| at.0 - since.0 <= self.settings.coast_ns);
            return if coasts { Fix::DeadReckoning } else { Fix::None };
        }
        self.first_fix.get_or_insert(at);
        if !is_3d {
            self.fix_since = None;
            return Fix::TwoD;
        }
        let age_ns = at.0 - self.fix_since.get_or_insert(at).0;
        let Some(best_fix) = acquisition.best_fix else {
            let best = limits.corrected.map_or(BestFix::Standalone, |by| by.best_fix);
            return Fix::ThreeD(best.min(limits.best_fix));
        };
        let best = [
            (BestFix::RtkFixed, acquisition.rtk_fixed_after_ns),
            (BestFix::RtkFloat, acquisition.rtk_float_after_ns),
            (BestFix::Differential, acquisition.differential_after_ns),
        ]
        .into_iter()
        .find(|(kind, after_ns)| *kind <= best_fix.min(limits.best_fix) && age_ns >= *after_ns);
        Fix::ThreeD(best.map_or(BestFix::Standalone, |(kind, _)| kind))
    }

    fn draw(&self, index: u64, quantity: Quantity) -> DVec3 {
        let noise = self.noise.request(index);
        let axis = |axis: usize| noise.standard_normal(axis, quantity);
        DVec3::new(axis(0), axis(1), axis(2))
    }
}

/// Expected reception for the satellites of `view`, long after power-on and with the settings that the receiver starts
/// with.
pub fn outlook(
    settings: &ReceiverSettings,
    constellation: &Constellation,
    view: &SkyView,
) -> SkyOutlook {
    let seen = |s: &&SatelliteView| {
        let satellite = &constellation.satellites[s.index];
        satellite.is_healthy
            && settings.systems.contains(&satellite.system)
            && s.elevation_rad >= settings.mask_rad
    };
    let above: Vec<&SatelliteView> = view.satellites.iter().filter(seen).collect();
    let received: Vec<_> = above
        .iter()
        .filter(|s| mean_cno_dbhz(s) >= settings.sky.min_cno_dbhz)
        .map(|s| {
            let system = constellation.satellites[s.index].system as usize;
            (direction(s.elevation_rad, s.azimuth_rad), system)
        })
        .collect();
    let acquisition = &settings.acquisition;
    let has_fix = Dop::of(&received).is_some_and(|dop| {
        acquisition.hdop_final.unwrap_or(dop.horizontal()) <= acquisition.hdop_2d
    });
    SkyOutlook { has_fix, received: received.len(), above_mask: above.len() }
}

/// The mean carrier-to-noise ratio of a satellite's first signal, dB-Hz.
fn mean_cno_dbhz(seen: &SatelliteView) -> f64 {
    let open_db = 20.0 * libm::log10(seen.open_share.max(1e-6));
    30.0 + 15.0 * libm::sin(seen.elevation_rad).max(0.0).sqrt() + open_db
}

/// The position at `offset` (east, north, up, metres) from `from`.
fn moved(from: Geodetic, offset: DVec3) -> Geodetic {
    if offset == DVec3::ZERO { from } else { GeoOrigin::new(from).geodetic_from_world(offset) }
}

fn row(tracked: &TrackedSatellite) -> (DVec3, usize) {
    let towards = direction(tracked.elevation_deg.to_radians(), tracked.azimuth_deg.to_radians());
    (towards, tracked.satellite.system as usize)
}

/// The unit vector east, north, up towards a satellite.
fn direction(elevation_rad: f64, azimuth_rad: f64) -> DVec3 {
    let (sin_e, cos_e) = libm::sincos(elevation_rad);
    let (sin_a, cos_a) = libm::sincos(azimuth_rad);
    DVec3::new(cos_e * sin_a, cos_e * cos_a, sin_e)
}
