//! How well an IMU measures: the settings of the physics.

/// How well an IMU measures, and what it feels.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImuModel {
    /// rad/s
    pub gyro: TriadErrors,
    /// m/s²
    pub accel: TriadErrors,
    /// gauss
    pub mag: TriadErrors,
    /// Air pressure.
    pub barometer: BarometerErrors,
    /// The unit's temperature.
    pub thermometer: ThermometerErrors,
    /// Of the orientation it computes.
    pub attitude: AttitudeErrors,
    /// Of the position and velocity it computes, for units that navigate.
    pub navigation: NavigationErrors,
    /// Whether the gyro feels the Earth turn and the accelerometer the Coriolis force.
    pub earth_rate: bool,
    /// The field around.
    pub magnetic_field: MagneticField,
}

impl ImuModel {
    /// The same unit if it made no errors: no noise, no range, no digits.
    #[must_use]
    pub fn without_errors(self) -> Self {
        Self {
            gyro: TriadErrors::NONE,
            accel: TriadErrors::NONE,
            mag: TriadErrors::NONE,
            barometer: BarometerErrors { noise_std_pa: 0.0, drift_std_pa: 0.0, ..self.barometer },
            thermometer: ThermometerErrors { noise_std_k: 0.0, ..self.thermometer },
            attitude: AttitudeErrors {
                roll_pitch_std_rad: 0.0,
                heading_std_rad: 0.0,
                ..self.attitude
            },
            navigation: NavigationErrors {
                position_std_m: 0.0,
                velocity_std_m_s: 0.0,
                ..self.navigation
            },
            ..self
        }
    }
}

/// The field around the robot.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum MagneticField {
    /// The World Magnetic Model at the rig's origin and date.
    #[default]
    WorldModel,
    /// North, east, down, gauss.
    Stated([f64; 3]),
}

/// Errors of three axes, in the quantity's SI unit `u` (gauss for magnetometers). All zero: none.
///
/// The terms are those of an Allan deviation plot (IEEE Std 952), so that a datasheet's numbers
/// can be copied; Chrono's model (`y = x + N(0, std) + b`, `b += N(0, drift * sqrt(dt /
/// drift_time))`) is a choice of them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TriadErrors {
    /// White noise, u/√Hz.
    pub noise_density: f64,
    /// The flat part of the Allan deviation is 0.664 times this, u.
    pub bias_instability: f64,
    /// Correlation time of the bias instability, s.
    pub bias_correlation_s: f64,
    /// Random walk of the bias, u/√s.
    pub random_walk: f64,
    /// Chrono's white noise: standard deviation of a sample at [`TriadErrors::chrono_rate_hz`], u.
    pub chrono_std: f64,
    /// The rate for which `chrono_std` was given, Hz.
    pub chrono_rate_hz: f64,
    /// Chrono's `b0`, u.
    pub chrono_drift: f64,
    /// Chrono's `t_b`, s.
    pub chrono_drift_time_s: f64,
    /// A bias known beforehand, forward, left, up, u.
    pub bias: [f64; 3],
    /// Bias drawn once a run, standard deviation, u.
    pub turn_on_bias_std: f64,
    /// Scale factor error drawn once a run, standard deviation, 1.
    pub scale_factor_std: f64,
    /// Misalignment of each axis towards each other drawn once a run, standard deviation, rad.
    pub misalignment_std_rad: f64,
    /// Gyros: bias for each m/s² along the same axis, u/(m/s²).
    pub g_sensitivity: f64,
    /// Bias for each kelvin away from 25 °C, u/K.
    pub temperature_coefficient: f64,
    /// Low-pass of second order, -3 dB, Hz; 0: none.
    pub bandwidth_hz: f64,
    /// Step of the digits, u; 0: none.
    pub resolution: f64,
    /// Full scale, u; 0: none.
    pub range: f64,
}

impl TriadErrors {
    /// No error at all.
    pub const NONE: Self = Self {
        noise_density: 0.0,
        bias_instability: 0.0,
        bias_correlation_s: 100.0,
        random_walk: 0.0,
        chrono_std: 0.0,
        chrono_rate_hz: 100.0,
        chrono_drift: 0.0,
        chrono_drift_time_s: 1.0,
        bias: [0.0; 3],
        turn_on_bias_std: 0.0,
        scale_factor_std: 0.0,
        misalignment_std_rad: 0.0,
        g_sensitivity: 0.0,
        temperature_coefficient: 0.0,
        bandwidth_hz: 0.0,
        resolution: 0.0,
        range: 0.0,
    };

    /// All white noise, u/√Hz: the datasheet's density and Chrono's samples.
    pub fn white_density(&self) -> f64 {
        let chrono = self.chrono_std * self.chrono_std / self.chrono_rate_hz.max(1e-9);
        (self.noise_density * self.noise_density + chrono).sqrt()
    }

    /// All random walk, u/√s: the datasheet's and Chrono's drift.
    pub fn walk_density(&self) -> f64 {
        let chrono = self.chrono_drift * self.chrono_drift / self.chrono_drift_time_s.max(1e-9);
        (self.random_walk * self.random_walk + chrono).sqrt()
    }
}

/// Errors of air pressure.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BarometerErrors {
    /// At sea level, standard atmosphere otherwise, Pa.
    pub sea_level_pressure_pa: f64,
    /// White noise of a sample, standard deviation, Pa.
    pub noise_std_pa: f64,
    /// Slow weather-like drift, standard deviation, Pa.
    pub drift_std_pa: f64,
    /// Its correlation time, s.
    pub drift_correlation_s: f64,
}

/// The unit's temperature: ambient, then warmer by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ThermometerErrors {
    /// degrees C.
    pub ambient_c: f64,
    /// How much warmer it gets, K.
    pub self_heating_k: f64,
    /// How fast, s.
    pub self_heating_time_s: f64,
    /// Of a reading, standard deviation, K.
    pub noise_std_k: f64,
}

/// Errors of the orientation a unit computes: slow and correlated, not integrated.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AttitudeErrors {
    /// Of roll and of pitch, standard deviation, rad.
    pub roll_pitch_std_rad: f64,
    /// Their correlation time, s.
    pub roll_pitch_correlation_s: f64,
    /// Of heading, standard deviation, rad.
    pub heading_std_rad: f64,
    /// Its correlation time, s.
    pub heading_correlation_s: f64,
    /// Whether heading counts from magnetic north rather than true north.
    pub heading_is_magnetic: bool,
}

/// Errors of the position and velocity a unit computes; each axis a Gauss-Markov process.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NavigationErrors {
    /// Standard deviation, m.
    pub position_std_m: f64,
    /// Standard deviation, m/s.
    pub velocity_std_m_s: f64,
    /// Correlation time, s.
    pub correlation_s: f64,
}
