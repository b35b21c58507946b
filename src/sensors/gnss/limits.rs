//! Settings of the navigation filter that a host may change.

use glam::{DMat3, DVec3};

use super::corrected::Corrected;
use super::dop::Dop;
use super::settings::{BestFix, GnssSystem};
use super::tracked::TrackedSatellite;

/// Allowed dimensions of fixes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FixMode {
    /// Two-dimensional fixes only.
    TwoD,
    /// Three-dimensional fixes only.
    ThreeD,
    /// Two- or three-dimensional fixes, as the satellites allow.
    Auto,
}

/// Navigation settings that the host may change during operation.
#[derive(Clone, Debug, PartialEq)]
pub struct NavigationLimits {
    /// GNSS systems whose satellites the receiver tracks.
    pub systems: Vec<GnssSystem>,
    /// GNSS systems of which the receiver tracks only the first signal of each satellite.
    pub single_signal: Vec<GnssSystem>,
    /// Elevation mask: lower satellites are not used, radians.
    pub mask_rad: f64,
    /// Least carrier-to-noise ratio of a satellite in the solution, dB-Hz. Weaker satellites are only tracked.
    pub min_cno_dbhz: f64,
    /// Least number of satellites for a fix.
    pub min_satellites: usize,
    /// Largest number of satellites in a fix. The highest ones are used.
    pub max_satellites: usize,
    /// Requirement for a fix: least number of strong satellites, and their least carrier-to-noise ratio, dB-Hz.
    pub strong: (usize, f64),
    /// Allowed dimensions of fixes.
    pub fix_mode: FixMode,
    /// Whether the first fix is always three-dimensional.
    pub is_first_fix_3d: bool,
    /// Height above mean sea level if all fixes are two-dimensional, metres.
    pub altitude_2d_m: f64,
    /// Best kind of fix that is possible.
    pub best_fix: BestFix,
    /// Received corrections, if they determine the kind of fix.
    pub corrected: Option<Corrected>,
    /// Assumed limits of the antenna's motion.
    pub motion: Motion,
    /// Largest PDOP, TDOP and three-dimensional position accuracy (metres) of a valid fix.
    pub valid: [f64; 3],
}

/// Assumed limits of the antenna's motion. Outside of them there is no fix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Motion {
    /// Largest altitude above the ellipsoid, metres.
    pub max_altitude_m: f64,
    /// Largest speed over ground, m/s.
    pub max_speed_m_s: f64,
    /// Largest vertical speed, m/s.
    pub max_climb_m_s: f64,
}

impl Motion {
    /// Limits that allow every motion.
    pub const ANY: Self = Self {
        max_altitude_m: f64::INFINITY,
        max_speed_m_s: f64::INFINITY,
        max_climb_m_s: f64::INFINITY,
    };

    /// Whether `altitude_m` (above the ellipsoid, metres) and the velocity (east, north, up, m/s) are within the
    /// limits.
    pub fn allows(&self, altitude_m: f64, velocity_enu_m_s: DVec3) -> bool {
        altitude_m <= self.max_altitude_m
            && velocity_enu_m_s.truncate().length() <= self.max_speed_m_s
            && velocity_enu_m_s.z.abs() <= self.max_climb_m_s
    }
}

impl NavigationLimits {
    /// Limits that restrict only the satellite systems and the elevation.
    pub fn new(systems: Vec<GnssSystem>, mask_rad: f64) -> Self {
        Self {
            systems,
            single_signal: Vec::new(),
            mask_rad,
            min_cno_dbhz: 0.0,
            min_satellites: 0,
            max_satellites: usize::MAX,
            strong: (0, 0.0),
            fix_mode: FixMode::Auto,
            is_first_fix_3d: false,
            altitude_2d_m: 0.0,
            best_fix: BestFix::RtkFixed,
            corrected: None,
            motion: Motion::ANY,
            valid: [f64::INFINITY; 3],
        }
    }

    /// Removes the lowest satellites from the solution if there are too many.
    pub(super) fn select(&self, satellites: &mut [TrackedSatellite]) {
        let mut used: Vec<&mut TrackedSatellite> =
            satellites.iter_mut().filter(|satellite| satellite.is_used).collect();
        used.sort_by(|a, b| b.elevation_deg.total_cmp(&a.elevation_deg));
        for satellite in used.into_iter().skip(self.max_satellites) {
            satellite.is_used = false;
        }
    }

    /// Whether there are enough satellites, and enough strong ones.
    pub(super) fn has_enough(&self, satellites: &[TrackedSatellite]) -> bool {
        let used = || satellites.iter().filter(|satellite| satellite.is_used);
        let (count, cno_dbhz) = self.strong;
        let is_strong =
            |s: &&TrackedSatellite| s.cno_dbhz[0].is_some_and(|strength| strength >= cno_dbhz);
        used().count() >= self.min_satellites && used().filter(is_strong).count() >= count
    }

    /// Whether a fix with these dilutions and this position covariance is within [`NavigationLimits::valid`].
    pub(super) fn holds(&self, dop: Option<&Dop>, covariance_m2: &DMat3) -> bool {
        let [pdop, tdop, accuracy_m] = self.valid;
        let c = covariance_m2;
        (c.x_axis.x + c.y_axis.y + c.z_axis.z).sqrt() <= accuracy_m
            && dop.is_none_or(|dop| dop.position() <= pdop && dop.time() <= tdop)
    }
}
