//! A GNSS receiver's firmware and what a rig may set on it.

use std::sync::Arc;

use crate::config::almanac::Almanac;
use crate::wire::ubx::{MessageId, Payload, mon, nav};

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

/// What a receiver understands and how it writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GnssDialect {
    /// u-blox generation 8: NMEA, UBX, old configuration messages.
    Ublox8,
    /// u-blox generation 9: the same, and configuration items.
    Ublox9,
    /// Garmin: NMEA, `PGRM` commands.
    Garmin,
    /// NMEA only; takes no commands.
    Plain,
}

/// Which NMEA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NmeaVersion {
    /// 2.0: no modes.
    V2_0,
    /// 2.3, and 4.0 as receivers write it: modes.
    V2_3,
    /// 4.10: systems, signals, navigation status.
    V4_10,
    /// 4.11: BeiDou's second signal has a number, GNS has QZSS.
    V4_11,
}

/// A sentence a receiver may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SentenceKind {
    /// Position, speed, course, date.
    Rmc,
    /// Course and speed.
    Vtg,
    /// Position and quality.
    Gga,
    /// Satellites used.
    Gsa,
    /// Satellites in view.
    Gsv,
    /// Position.
    Gll,
    /// Standard deviations.
    Gst,
    /// Time and date.
    Zda,
    /// Position by several systems.
    Gns,
    /// Fault detection.
    Gbs,
    /// Garmin: estimated errors.
    Pgrme,
    /// Garmin: sensor status, once a minute.
    Pgrmt,
}

/// The best a receiver may reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BestFix {
    /// Without corrections.
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
words!(GnssDialect:
    "ublox-8" => Ublox8, "ublox-9" => Ublox9, "garmin" => Garmin, "plain" => Plain);
words!(NmeaVersion: "2.0" => V2_0, "2.3" => V2_3, "4.10" => V4_10, "4.11" => V4_11);
words!(SentenceKind:
    "RMC" => Rmc, "VTG" => Vtg, "GGA" => Gga, "GSA" => Gsa, "GSV" => Gsv, "GLL" => Gll,
    "GST" => Gst, "ZDA" => Zda, "GNS" => Gns, "GBS" => Gbs, "PGRME" => Pgrme, "PGRMT" => Pgrmt);
words!(BestFix:
    "standalone" => Standalone, "differential" => Differential, "rtk-float" => RtkFloat,
    "rtk-fixed" => RtkFixed);
words!(ErrorPreset:
    "none" => None, "ch-gauss" => ChGauss, "ch-rw" => ChRw, "airsim" => Airsim,
    "ch-gauss+airsim" => ChGaussAirsim, "ch-rw+airsim" => ChRwAirsim);

/// A GNSS receiver's firmware.
#[derive(Clone, Debug, PartialEq)]
pub struct GnssProfile {
    /// What it understands.
    pub dialect: GnssDialect,
    /// Who it says it is.
    pub identity: GnssIdentity,
    /// How it writes sentences.
    pub nmea: NmeaFormat,
    /// Least time between solutions, nanoseconds.
    pub min_period_ns: u64,
    /// Bytes of the port's transmit buffer; what does not fit is lost.
    pub tx_buffer_bytes: usize,
    /// From a command's last byte to the first of the answer, nanoseconds.
    pub reply_delay_ns: u64,
    /// u-blox: bits real units set in NAV-PVT besides the documented ones: `valid`, `flags2`.
    pub pvt_extra_bits: [u8; 2],
    /// Values a rig may override.
    pub defaults: GnssSettings,
}

/// Who a receiver says it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GnssIdentity {
    /// u-blox: MON-VER's software version; Garmin: PGRMT's text.
    pub software: String,
    /// u-blox: MON-VER's hardware version.
    pub hardware: String,
    /// u-blox: MON-VER's extensions.
    pub extensions: Vec<String>,
    /// Text sent once after a start.
    pub boot_text: Vec<String>,
}

/// How a receiver writes sentences.
#[derive(Clone, Debug, PartialEq)]
pub struct NmeaFormat {
    /// Which NMEA.
    pub version: NmeaVersion,
    /// All it has, in the order of an epoch.
    pub order: Vec<SentenceKind>,
    /// Of a minute of latitude and longitude.
    pub position_decimals: u8,
    /// Of a metre of altitude and separation.
    pub altitude_decimals: u8,
    /// Of a second.
    pub time_decimals: u8,
    /// Of a dilution of precision.
    pub dop_decimals: u8,
    /// GGA and GNS count satellites up to this.
    pub max_satellites: u8,
    /// GSV signals of each system it receives, by their NMEA number; empty text is an empty field.
    pub signals: Vec<(GnssSystem, Vec<String>)>,
    /// RMC's magnetic declination, degrees, east positive; none leaves the fields empty.
    pub declination_deg: Option<f64>,
}

/// What a rig may set on a GNSS receiver; the profile gives the defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct GnssSettings {
    /// Time between solutions, nanoseconds.
    pub period_ns: u64,
    /// Bits a second of the UART, 8N1.
    pub baud: u32,
    /// Sentences sent, of the profile's order.
    pub sentences: Vec<SentenceKind>,
    /// u-blox: UBX messages sent every epoch, by name.
    pub messages: Vec<String>,
    /// u-blox: seven decimals of a minute, three of a metre.
    pub high_precision: bool,
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
    /// From the epoch to the first byte, nanoseconds.
    pub latency_ns: u64,
    /// Extra delay of every epoch's bytes, nanoseconds.
    pub lag_ns: u64,
    /// Course is left empty below this speed, m/s.
    pub min_course_speed_m_s: f64,
    /// How long a lost fix is carried on with the last velocity, nanoseconds.
    pub coast_ns: u64,
    /// From start to fix.
    pub acquisition: Acquisition,
    /// What dims satellites.
    pub sky: SkySettings,
    /// By kind of fix, as [`BestFix`] orders them.
    pub grades: [FixGrade; 4],
    /// Time pulse.
    pub pulse: PulseSettings,
    /// GPS minus UTC before satellites told it, seconds.
    pub firmware_leap_s: i8,
    /// How long after the first time the satellites have told it, nanoseconds.
    pub leap_known_after_ns: u64,
}

/// From start to fix.
#[derive(Clone, Debug, PartialEq)]
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
#[derive(Clone, Debug, PartialEq)]
pub struct SkySettings {
    /// Half the angle of the bundle of rays towards a satellite, radians.
    pub ray_spread_rad: f64,
    /// Satellites weaker than this are not tracked, dB-Hz.
    pub min_cno_dbhz: f64,
    /// Of the carrier-to-noise ratio from second to second, dB.
    pub cno_std_db: f64,
}

/// Errors and stated accuracy of one kind of fix.
#[derive(Clone, Debug, PartialEq)]
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

/// Time pulse.
#[derive(Clone, Debug, PartialEq)]
pub struct PulseSettings {
    /// Whether there is one.
    pub is_enabled: bool,
    /// How long it is high, nanoseconds.
    pub width_ns: u64,
    /// How long after the fix it starts, nanoseconds.
    pub after_fix_ns: u64,
    /// Of the rising edge, nanoseconds.
    pub jitter_std_ns: f64,
    /// Its clock's period: edges fall on multiples of it, nanoseconds.
    pub quantum_ns: f64,
}

impl GnssSettings {
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

impl GnssProfile {
    /// Systems the hardware has, in the order its sentences name them.
    pub fn systems(&self) -> impl Iterator<Item = GnssSystem> {
        self.nmea.signals.iter().map(|(system, _)| *system)
    }
}

/// UBX messages Menura's receivers can send, in the order of an epoch.
pub const UBX_OUTPUTS: [(&str, MessageId); 20] = [
    ("NAV-PVT", nav::NavPvt::ID),
    ("NAV-SOL", nav::NavSol::ID),
    ("NAV-POSECEF", nav::NavPosecef::ID),
    ("NAV-POSLLH", nav::NavPosllh::ID),
    ("NAV-HPPOSECEF", nav::NavHpposecef::ID),
    ("NAV-HPPOSLLH", nav::NavHpposllh::ID),
    ("NAV-STATUS", nav::NavStatus::ID),
    ("NAV-DOP", nav::NavDop::ID),
    ("NAV-VELECEF", nav::NavVelecef::ID),
    ("NAV-VELNED", nav::NavVelned::ID),
    ("NAV-TIMEGPS", nav::NavTimegps::ID),
    ("NAV-TIMEUTC", nav::NavTimeutc::ID),
    ("NAV-CLOCK", nav::NavClock::ID),
    ("NAV-TIMELS", nav::NavTimels::ID),
    ("NAV-SVINFO", nav::NavSvinfo::ID),
    ("NAV-SAT", nav::NavSat::ID),
    ("NAV-COV", nav::NavCov::ID),
    ("NAV-RELPOSNED", nav::NavRelposned::ID),
    ("TIM-TP", mon::TimTp::ID),
    ("NAV-EOE", nav::NavEoe::ID),
];

impl GnssDialect {
    /// Whether it speaks UBX.
    pub fn is_ublox(self) -> bool {
        matches!(self, Self::Ublox8 | Self::Ublox9)
    }

    /// Whether it has a message: generation 9 dropped some, generation 8 did not have others.
    pub fn has_message(self, name: &str) -> bool {
        match name {
            "NAV-SOL" | "NAV-SVINFO" => self == Self::Ublox8,
            "NAV-HPPOSECEF" | "NAV-HPPOSLLH" | "NAV-COV" | "NAV-RELPOSNED" => self == Self::Ublox9,
            _ => self.is_ublox(),
        }
    }
}
