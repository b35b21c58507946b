//! What a GNSS receiver receives and how well: the settings of the physics.

use std::sync::Arc;

use super::almanac::Almanac;

/// Which satellite system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GnssSystem {
    /// United States.
    Gps,
    /// Russia.
    Glonass,
    /// European Union.
    Galileo,
    /// China.
    Beidou,
}

/// The best a receiver may reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, PartialOrd, Ord)]
pub enum BestFix {
    /// Without corrections.
    #[default]
    Standalone,
    /// With differential corrections.
    Differential,
    /// Carrier phase, ambiguities not resolved.
    RtkFloat,
    /// Carrier phase, ambiguities resolved.
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

/// What a receiver receives and how well.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReceiverSettings {
    /// Systems received.
    pub systems: Vec<GnssSystem>,
    /// Satellites lower than this are not used, radians.
    pub mask_rad: f64,
    /// GPS satellites; a synthetic constellation when none.
    pub almanac: Option<Arc<Almanac>>,
    /// Ellipsoidal height minus height above mean sea level, metres; EGM2008's when none.
    pub geoid_separation_m: Option<f64>,
    /// Truth is averaged over this time before the epoch, nanoseconds.
    pub window_ns: u64,
    /// How long a lost fix is carried on with the last velocity, nanoseconds.
    pub coast_ns: u64,
    /// How long after the first time the satellites have told the leap seconds, nanoseconds.
    pub leap_known_after_ns: u64,
    /// From start to fix.
    pub acquisition: Acquisition,
    /// What dims satellites.
    pub sky: SkySettings,
    /// By kind of fix, as [`BestFix`] orders them.
    pub grades: [FixGrade; 4],
}

/// From start to fix.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Acquisition {
    /// Nothing is received before, nanoseconds after start.
    pub startup_ns: u64,
    /// Whether HDOP comes down as AirSim's filter does; else it is the sky's at once.
    pub is_filtered: bool,
    /// HDOP at start.
    pub hdop_initial: f64,
    /// Of the filter, seconds.
    pub time_constant_s: f64,
    /// Where HDOP ends; the sky's geometry when none.
    pub hdop_final: Option<f64>,
    /// Most HDOP of a three-dimensional fix.
    pub hdop_3d: f64,
    /// Most HDOP of a two-dimensional fix.
    pub hdop_2d: f64,
    /// The best fix there will be.
    pub best_fix: BestFix,
    /// How long after the three-dimensional fix corrections are used, nanoseconds.
    pub differential_after_ns: u64,
    /// How long until RTK float, nanoseconds.
    pub rtk_float_after_ns: u64,
    /// How long until RTK fixed, nanoseconds.
    pub rtk_fixed_after_ns: u64,
}

/// What dims satellites.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SkySettings {
    /// Half the angle of the bundle of rays towards a satellite, radians.
    pub ray_spread_rad: f64,
    /// Satellites weaker than this are not tracked, dB-Hz.
    pub min_cno_dbhz: f64,
    /// Of the carrier-to-noise ratio from second to second, dB.
    pub cno_std_db: f64,
}

/// Errors and stated accuracy of one kind of fix.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FixGrade {
    /// What is added to the truth; they add up.
    pub errors: Vec<ErrorModel>,
    /// User equivalent range error: stated accuracy is this times DOP, metres.
    pub uere_m: f64,
    /// White error of each component of the velocity, m/s.
    pub velocity_std_m_s: f64,
}

/// An error of the position, east, north and up.
#[derive(Clone, Debug, PartialEq)]
pub struct ErrorModel {
    /// How it moves.
    pub kind: ErrorKind,
    /// Whether it is an error of ranges, to be multiplied by the DOP of each axis.
    pub times_dop: bool,
}

/// How an error moves; see `sensors::gnss::errors` for the equations.
#[derive(Clone, Debug, PartialEq)]
pub enum ErrorKind {
    /// Independent from epoch to epoch.
    Gaussian {
        /// Metres.
        mean_m: [f64; 3],
        /// Metres.
        std_m: [f64; 3],
    },
    /// Chrono's random walk with a restoring acceleration.
    RandomWalk {
        /// Of the acceleration, m/s².
        std_m_s2: f64,
        /// Steps a second.
        update_hz: f64,
        /// Fastest, m/s.
        max_speed_m_s: f64,
        /// Of each component, m/s².
        max_acceleration_m_s2: f64,
        /// Where the restoring mean is a fifth of a standard deviation, metres.
        radius_m: f64,
    },
    /// First-order Gauss-Markov process.
    GaussMarkov {
        /// Steady state, metres.
        std_m: [f64; 3],
        /// Seconds.
        time_constant_s: f64,
    },
}

/// The combinations of Mahajan et al. 2024, and none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorPreset {
    /// Truth.
    None,
    /// Chrono's Gaussian error; HDOP from the sky.
    ChGauss,
    /// Chrono's random walk; HDOP from the sky.
    ChRw,
    /// No position error; HDOP from AirSim's filter.
    Airsim,
    /// Chrono's Gaussian error and AirSim's HDOP.
    ChGaussAirsim,
    /// Chrono's random walk and AirSim's HDOP.
    ChRwAirsim,
}

impl ReceiverSettings {
    /// Puts the errors of `preset` in the place of all grades', and its HDOP.
    ///
    /// Parameters: Gaussian 0.03 m and the walk (0.016 m/s², 100 Hz, 0.03 m/s, 0.005 m/s²) as Chrono's
    /// users set them for RTK-class receivers.
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

    /// The errors and accuracy of a kind of fix.
    pub fn grade(&self, fix: BestFix) -> &FixGrade {
        &self.grades[fix as usize]
    }
}
