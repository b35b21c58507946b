//! Settings of an IMU's physics: errors and environment.

/// Error models and environment of an IMU.
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
    /// Averaging window, ns. A sample of acceleration, rate and field is the mean of the true values over this time
    /// before the sample; 0: the true value at the sample.
    pub window_ns: u64,
    /// Whether the gyro measures the Earth's rotation, and the accelerometer the Coriolis acceleration.
    pub earth_rate: bool,
    /// Source of the magnetic field around the robot.
    pub magnetic_field: MagneticField,
}

impl ImuModel {
    /// The same IMU without errors: no noise, bias, range limit or quantisation.
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

/// Source of the magnetic field around the robot.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum MagneticField {
    /// The World Magnetic Model at the rig's origin and date.
    #[default]
    WorldModel,
    /// A constant field: north, east, down, gauss.
    Stated([f64; 3]),
}

/// Errors of a sensor with three axes. The sensor's unit is rad/s for gyros, m/s² for accelerometers and gauss for
/// magnetometers. All values are zero for no error.
///
/// The terms are those of an Allan deviation plot (IEEE Std 952), so that values from a datasheet can be used
/// directly. Chrono's model (`y = x + N(0, std) + b`, `b += N(0, drift * sqrt(dt / drift_time))`) is a special case.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TriadErrors {
    /// Density of the white noise, the sensor's unit per √Hz.
    pub noise_density: f64,
    /// Bias instability, in the sensor's unit. The flat part of the Allan deviation is 0.664 times this value.
    pub bias_instability: f64,
    /// Correlation time of the bias instability, s.
    pub bias_correlation_s: f64,
    /// Random walk of the bias, the sensor's unit per √s.
    pub random_walk: f64,
    /// White noise of Chrono's model, in the sensor's unit: standard deviation `std` of a sample at
    /// [`TriadErrors::chrono_rate_hz`].
    pub chrono_std: f64,
    /// Sampling rate of `chrono_std`, Hz.
    pub chrono_rate_hz: f64,
    /// Drift of Chrono's model (`drift`), in the sensor's unit.
    pub chrono_drift: f64,
    /// Drift time of Chrono's model (`drift_time`), s.
    pub chrono_drift_time_s: f64,
    /// Constant bias: forward, left, up, in the sensor's unit.
    pub bias: [f64; 3],
    /// Standard deviation of the turn-on bias, which is sampled once per run, in the sensor's unit.
    pub turn_on_bias_std: f64,
    /// Standard deviation of the scale factor error (a ratio), which is sampled once per run.
    pub scale_factor_std: f64,
    /// Standard deviation of each axis's misalignment towards each other axis, sampled once per run, radians.
    pub misalignment_std_rad: f64,
    /// Gyros: bias per acceleration along the same axis, rad/s per m/s².
    pub g_sensitivity: f64,
    /// Bias per kelvin of difference from 25 °C, the sensor's unit per K.
    pub temperature_coefficient: f64,
    /// -3 dB frequency of the second-order low-pass filter, Hz; 0: no filter.
    pub bandwidth_hz: f64,
    /// Quantisation step, in the sensor's unit; 0: no quantisation.
    pub resolution: f64,
    /// Full scale, in the sensor's unit: readings are limited to ± this value; 0: no limit.
    pub range: f64,
}

impl TriadErrors {
    /// Settings of a sensor without errors.
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

    /// Density of the total white noise, the sensor's unit per √Hz: the root of the sum of the squares of
    /// [`Self::noise_density`] and of the density of Chrono's white noise.
    pub fn white_density(&self) -> f64 {
        let chrono = self.chrono_std * self.chrono_std / self.chrono_rate_hz.max(1e-9);
        (self.noise_density * self.noise_density + chrono).sqrt()
    }

    /// Total random walk of the bias, the sensor's unit per √s: the root of the sum of the squares of
    /// [`Self::random_walk`] and of the random walk of Chrono's drift.
    pub fn walk_density(&self) -> f64 {
        let chrono = self.chrono_drift * self.chrono_drift / self.chrono_drift_time_s.max(1e-9);
        (self.random_walk * self.random_walk + chrono).sqrt()
    }
}

/// Air pressure and errors of its measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BarometerErrors {
    /// True pressure at sea level, Pa. At other heights the pressure is that of the standard atmosphere.
    pub sea_level_pressure_pa: f64,
    /// Standard deviation of the white noise of a sample, Pa.
    pub noise_std_pa: f64,
    /// Standard deviation of the slow drift, for example because of weather, Pa.
    pub drift_std_pa: f64,
    /// Correlation time of the drift, s.
    pub drift_correlation_s: f64,
}

/// Temperature inside the IMU, which warms up, and errors of its measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ThermometerErrors {
    /// Temperature at power-on, degrees C.
    pub ambient_c: f64,
    /// Final rise of the temperature above `ambient_c`, K.
    pub self_heating_k: f64,
    /// Time constant of the rise, s.
    pub self_heating_time_s: f64,
    /// Standard deviation of a reading, K.
    pub noise_std_k: f64,
}

/// Errors of the orientation that an IMU computes: slow and correlated, not integrated.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AttitudeErrors {
    /// Standard deviation of the errors of roll and of pitch, radians.
    pub roll_pitch_std_rad: f64,
    /// Correlation time of the errors of roll and pitch, s.
    pub roll_pitch_correlation_s: f64,
    /// Standard deviation of the error of the heading, radians.
    pub heading_std_rad: f64,
    /// Correlation time of the error of the heading, s.
    pub heading_correlation_s: f64,
    /// Whether the heading refers to magnetic north instead of true north.
    pub heading_is_magnetic: bool,
}

/// Errors of the computed position and velocity. Each axis has a Gauss-Markov process.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NavigationErrors {
    /// Standard deviation of the position error on each axis, metres.
    pub position_std_m: f64,
    /// Standard deviation of the velocity error on each axis, m/s.
    pub velocity_std_m_s: f64,
    /// Correlation time of the position and velocity errors, s.
    pub correlation_s: f64,
}
