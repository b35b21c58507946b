//! Settings of an IMU's physics: errors, and the surroundings that it measures.

/// Error models and surroundings of an IMU.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImuModel {
    /// Errors of the gyros, rad/s.
    pub gyro: TriadErrors,
    /// Errors of the accelerometers, m/s².
    pub accel: TriadErrors,
    /// Errors of the magnetometers, gauss.
    pub mag: TriadErrors,
    /// Air pressure, and errors of its measurement.
    pub barometer: BarometerErrors,
    /// Temperature inside the IMU, and errors of its measurement.
    pub thermometer: ThermometerErrors,
    /// Errors of the orientation that the IMU computes.
    pub attitude: AttitudeErrors,
    /// Errors of the position and velocity that an IMU with navigation computes.
    pub navigation: NavigationErrors,
    /// Averaging window: a sample of acceleration, rate and field is the mean of the truth over this time
    /// before its instant; 0: the truth at the instant.
    pub window_ns: u64,
    /// Whether the gyro measures the Earth's rotation and the accelerometer the Coriolis force.
    pub earth_rate: bool,
    /// Source of the magnetic field around the robot.
    pub magnetic_field: MagneticField,
}

impl ImuModel {
    /// The same IMU without errors: no noise, no range, no quantisation.
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
    /// A field of these values: north, east, down, gauss.
    Stated([f64; 3]),
}

/// Errors of three axes, in the quantity's SI unit `u` (gauss for magnetometers). All zero: none.
///
/// The terms are those of an Allan deviation plot (IEEE Std 952), so that a data sheet's numbers can be used
/// directly; Chrono's model (`y = x + N(0, std) + b`, `b += N(0, drift * sqrt(dt / drift_time))`) is a
/// special case.
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
    /// Sampling rate of `chrono_std`, Hz.
    pub chrono_rate_hz: f64,
    /// Chrono's `b0`, u.
    pub chrono_drift: f64,
    /// Chrono's `t_b`, s.
    pub chrono_drift_time_s: f64,
    /// Constant bias, forward, left, up, u.
    pub bias: [f64; 3],
    /// Standard deviation of the bias that is drawn once a run, u.
    pub turn_on_bias_std: f64,
    /// Standard deviation of the scale factor error that is drawn once a run, 1.
    pub scale_factor_std: f64,
    /// Standard deviation of each axis's misalignment towards each other axis, sampled once per run.
    pub misalignment_std_rad: f64,
    /// Gyros: bias for each m/s² along the same axis, u/(m/s²).
    pub g_sensitivity: f64,
    /// Bias for each kelvin away from 25 °C, u/K.
    pub temperature_coefficient: f64,
    /// -3 dB frequency of the second-order low-pass; 0: none.
    pub bandwidth_hz: f64,
    /// Quantisation step, u; 0: no quantisation.
    pub resolution: f64,
    /// Full scale, u; 0: no limit.
    pub range: f64,
}

impl TriadErrors {
    /// No error.
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

    /// Total density of the white noise, u/√Hz: that of the datasheet and of Chrono's samples.
    pub fn white_density(&self) -> f64 {
        let chrono = self.chrono_std * self.chrono_std / self.chrono_rate_hz.max(1e-9);
        (self.noise_density * self.noise_density + chrono).sqrt()
    }

    /// Total density of the random walk, u/√s: that of the datasheet and of Chrono's drift.
    pub fn walk_density(&self) -> f64 {
        let chrono = self.chrono_drift * self.chrono_drift / self.chrono_drift_time_s.max(1e-9);
        (self.random_walk * self.random_walk + chrono).sqrt()
    }
}

/// Air pressure and errors of its measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BarometerErrors {
    /// True pressure at sea level; at other heights it follows the standard atmosphere.
    pub sea_level_pressure_pa: f64,
    /// White noise of a sample, standard deviation.
    pub noise_std_pa: f64,
    /// Slow drift as by weather, standard deviation.
    pub drift_std_pa: f64,
    /// Correlation time of the drift.
    pub drift_correlation_s: f64,
}

/// Temperature inside the IMU, which warms up, and errors of its measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ThermometerErrors {
    /// Temperature at power-on.
    pub ambient_c: f64,
    /// Final rise above ambient.
    pub self_heating_k: f64,
    /// Time constant of the rise.
    pub self_heating_time_s: f64,
    /// Standard deviation of a reading.
    pub noise_std_k: f64,
}

/// Errors of the orientation that an IMU computes: slow and correlated, not integrated.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AttitudeErrors {
    /// Standard deviation of roll and of pitch.
    pub roll_pitch_std_rad: f64,
    /// Correlation time of the errors of roll and pitch.
    pub roll_pitch_correlation_s: f64,
    /// Standard deviation of heading.
    pub heading_std_rad: f64,
    /// Correlation time of the error of heading.
    pub heading_correlation_s: f64,
    /// Whether heading counts from magnetic north rather than true north.
    pub heading_is_magnetic: bool,
}

/// Errors of the computed position and velocity; each axis is a Gauss-Markov process.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NavigationErrors {
    /// Standard deviation of each axis.
    pub position_std_m: f64,
    /// Standard deviation of each axis.
    pub velocity_std_m_s: f64,
    /// Correlation time of both errors.
    pub correlation_s: f64,
}
