//! Settings of a GNSS receiver's physics: satellites, acquisition, errors.

use std::sync::Arc;

use super::almanac::Almanac;

/// A satellite system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GnssSystem {
    /// GPS (United States).
    Gps,
    /// GLONASS (Russia).
    Glonass,
    /// Galileo (European Union).
    Galileo,
    /// BeiDou (China).
    Beidou,
}

/// The best fix that a receiver can reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, PartialOrd, Ord)]
pub enum BestFix {
    /// A fix without corrections.
    #[default]
    Standalone,
    /// A fix with differential corrections.
    Differential,
    /// Carrier phase with float ambiguities.
    RtkFloat,
    /// Carrier phase with fixed (integer) ambiguities.
    RtkFixed,
}

words!(GnssSystem:
    "gps" => Gps, "glonass" => Glonass, "galileo" => Galileo, "beidou" => Beidou);
words!(BestFix:
    "standalone" => Standalone, "differential" => Differential, "rtk-float" => RtkFloat,
    "rtk-fixed" => RtkFixed);
words!(ErrorPreset:
    "none" => None, "ch-gauss" => ChGauss, "ch-rw" => ChRw, "airsim" => Airsim,
    "ch-gauss+airsim" => ChGaussAirsim, "ch-rw+airsim" => ChRwAirsim);

/// Settings of a receiver.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReceiverSettings {
    /// GNSS systems whose satellites the receiver tracks.
    pub systems: Vec<GnssSystem>,
    /// Elevation mask: lower satellites are not used, radians.
    pub mask_rad: f64,
    /// Orbits of the GPS satellites; `None` for a synthetic constellation.
    pub almanac: Option<Arc<Almanac>>,
    /// Ellipsoidal height minus height above mean sea level, metres; `None` for EGM2008.
    pub geoid_separation_m: Option<f64>,
    /// Averaging window: position and velocity are averaged over this time before the epoch, ns; 0: no averaging.
    pub window_ns: u64,
    /// Time after the loss of a fix for which the position is extrapolated with the last velocity, ns.
    pub coast_ns: u64,
    /// Delay of the leap seconds, ns: the receiver knows them this long after it knows the time.
    pub leap_known_after_ns: u64,
    /// Acquisition from start to fix.
    pub acquisition: Acquisition,
    /// Visibility and strength of satellite signals.
    pub sky: SkySettings,
    /// Errors by kind of fix, in the order of [`BestFix`].
    pub grades: [FixGrade; 4],
    /// Whether the receiver reports accuracies of zero, like simulators with a covariance of zero.
    pub states_zero: bool,
}

/// Acquisition from start to fix; see `gnss::navigator`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Acquisition {
    /// Time after the start until signals are received, ns.
    pub startup_ns: u64,
    /// Whether AirSim's filter smooths HDOP; otherwise HDOP has its final value at once.
    pub is_filtered: bool,
    /// HDOP of the filter at the start; also the value that the filter approaches without a position.
    pub hdop_initial: f64,
    /// Time constant of the filter, seconds.
    pub time_constant_s: f64,
    /// Final value of HDOP with a position; `None`: the HDOP of the satellites' geometry.
    pub hdop_final: Option<f64>,
    /// Largest HDOP of a three-dimensional fix.
    pub hdop_3d: f64,
    /// Largest HDOP of a two-dimensional fix.
    pub hdop_2d: f64,
    /// Best kind of fix; `None` if received corrections determine it.
    pub best_fix: Option<BestFix>,
    /// Time from the three-dimensional fix until corrections are used, ns.
    pub differential_after_ns: u64,
    /// Time from the three-dimensional fix to RTK float, ns.
    pub rtk_float_after_ns: u64,
    /// Time from the three-dimensional fix to RTK fixed, ns.
    pub rtk_fixed_after_ns: u64,
}

/// Visibility and strength of satellite signals.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SkySettings {
    /// Half of the opening angle of the rays towards a satellite, radians.
    pub ray_spread_rad: f64,
    /// Least carrier-to-noise ratio of a tracked satellite, dB-Hz.
    pub min_cno_dbhz: f64,
    /// Standard deviation of the carrier-to-noise ratio from second to second, dB.
    pub cno_std_db: f64,
}

/// Errors and stated accuracy of one kind of fix.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FixGrade {
    /// Errors that are added to the true position.
    pub errors: Vec<ErrorModel>,
    /// User equivalent range error, metres. The reported accuracy is UERE times DOP.
    pub uere_m: f64,
    /// Standard deviation of the error of each velocity component (white noise), m/s.
    pub velocity_std_m_s: f64,
}

/// An error of the position along east, north and up.
#[derive(Clone, Debug, PartialEq)]
pub struct ErrorModel {
    /// Random process of the error.
    pub kind: ErrorKind,
    /// Whether the error is a range error, which is multiplied by the DOP of each axis.
    pub times_dop: bool,
}

/// The random process of an error; `sensors::gnss::errors` has the equations.
#[derive(Clone, Debug, PartialEq)]
pub enum ErrorKind {
    /// Errors that are independent from epoch to epoch.
    Gaussian {
        /// Mean of the error: east, north, up, metres.
        mean_m: [f64; 3],
        /// Standard deviation of the error: east, north, up, metres.
        std_m: [f64; 3],
    },
    /// Chrono's random walk with a restoring acceleration.
    RandomWalk {
        /// Standard deviation of the acceleration, m/s².
        std_m_s2: f64,
        /// Rate of steps, Hz.
        update_hz: f64,
        /// Limit of the speed of the error, m/s.
        max_speed_m_s: f64,
        /// Limit of each component of the acceleration, m/s².
        max_acceleration_m_s2: f64,
        /// Offset at which the restoring acceleration is a fifth of a standard deviation, metres.
        radius_m: f64,
    },
    /// First-order Gauss-Markov process.
    GaussMarkov {
        /// Standard deviation of the stationary distribution: east, north, up, metres.
        std_m: [f64; 3],
        /// Time in which the autocorrelation decreases to 1/e, seconds.
        time_constant_s: f64,
    },
}

/// The combinations of error models in Mahajan et al. 2024, and one without errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorPreset {
    /// No error of position and velocity; the setting of AirSim's HDOP filter is unchanged.
    None,
    /// Chrono's Gaussian error; HDOP without AirSim's filter.
    ChGauss,
    /// Chrono's random walk; HDOP without AirSim's filter.
    ChRw,
    /// No position error; HDOP from AirSim's filter.
    Airsim,
    /// Chrono's Gaussian error and AirSim's HDOP.
    ChGaussAirsim,
    /// Chrono's random walk and AirSim's HDOP.
    ChRwAirsim,
}

impl ReceiverSettings {
    /// Sets the errors of all kinds of fix to those of `preset`, and turns AirSim's HDOP filter on or off.
    /// [`ErrorPreset::None`] also sets the velocity errors to zero, and leaves the filter unchanged.
    ///
    /// The Gaussian error has a standard deviation of 0.03 m, as in code of Chrono's users for RTK-class receivers. The
    /// random walk has the parameters of a Chrono demo: steps at 100 Hz, a standard deviation of the acceleration of
    /// 0.016 m/s², and limits of 0.03 m/s and 0.005 m/s².
    pub fn apply(&mut self, preset: ErrorPreset) {
        let gaussian = ErrorKind::Gaussian { mean_m: [0.0; 3], std_m: [0.03; 3] };
        let walk = ErrorKind::RandomWalk {
            std_m_s2: 0.016,
            update_hz: 100.0,
            max_speed_m_s: 0.03,
            max_acceleration_m_s2: 0.005,
            radius_m: 1.0,
        };
        let (kind, is_filtered) = match preset {
            ErrorPreset::None => (None, self.acquisition.is_filtered),
            ErrorPreset::ChGauss => (Some(gaussian), false),
            ErrorPreset::ChRw => (Some(walk), false),
            ErrorPreset::Airsim => (None, true),
            ErrorPreset::ChGaussAirsim => (Some(gaussian), true),
            ErrorPreset::ChRwAirsim => (Some(walk), true),
        };
        self.acquisition.is_filtered = is_filtered;
        let errors: Vec<_> =
            kind.into_iter().map(|kind| ErrorModel { kind, times_dop: false }).collect();
        for grade in &mut self.grades {
            grade.errors.clone_from(&errors);
            grade.velocity_std_m_s =
                if preset == ErrorPreset::None { 0.0 } else { grade.velocity_std_m_s };
        }
    }

    /// Errors and accuracy of a kind of fix.
    pub fn grade(&self, fix: BestFix) -> &FixGrade {
        &self.grades[fix as usize]
    }
}
