//! Air pressure and temperature as an IMU measures them.

use super::errors::GaussMarkov;
use super::settings::{BarometerErrors, ThermometerErrors};
use crate::sensors::noise::{NoiseSource, Quantity};
use crate::time::SimTime;

/// A barometer: pressure of the International Standard Atmosphere, with a slow drift and white noise.
#[derive(Clone, Debug)]
pub struct Barometer {
    settings: BarometerErrors,
    noise: NoiseSource,
    dt_s: f64,
    drift: GaussMarkov,
}

/// Pressure in the lowest layer of the standard atmosphere, Pa (ISO 2533): `p0 (1 - 2.25577e-5 h)^5.25588`.
pub fn standard_pressure_pa(sea_level_pa: f64, height_m: f64) -> f64 {
    sea_level_pa * libm::pow((1.0 - 2.255_77e-5 * height_m).max(0.0), 5.255_88)
}

/// Height at which the standard atmosphere has this pressure, m.
pub fn pressure_altitude_m(pressure_pa: f64) -> f64 {
    (1.0 - libm::pow(pressure_pa.max(0.0) / 101_325.0, 1.0 / 5.255_88)) / 2.255_77e-5
}

impl Barometer {
    /// A barometer sampled every `dt_s`. `noise` must not be shared with other models.
    pub fn new(settings: BarometerErrors, noise: NoiseSource, dt_s: f64) -> Self {
        Self { settings, noise, dt_s, drift: GaussMarkov::default() }
    }

    /// Reading of sample `index` at a height above mean sea level, Pa.
    pub fn step(&mut self, index: u64, height_m: f64) -> f64 {
        let s = &self.settings;
        let draws = self.noise.request(index);
        let draw = |std: f64, quantity| {
            if std == 0.0 { 0.0 } else { draws.standard_normal(0, quantity) }
        };
        let drift_draw = draw(s.drift_std_pa, Quantity::BiasInstability);
        let drift = self.drift.step(s.drift_std_pa, s.drift_correlation_s, self.dt_s, drift_draw);
        standard_pressure_pa(s.sea_level_pressure_pa, height_m)
            + drift
            + s.noise_std_pa * draw(s.noise_std_pa, Quantity::White)
    }
}

/// A thermometer in an IMU that warms up: `T = ambient + ΔT (1 - e^(-t/τ))`.
#[derive(Clone, Debug)]
pub struct Thermometer {
    settings: ThermometerErrors,
    noise: NoiseSource,
}

impl Thermometer {
    /// A thermometer. `noise` must not be shared with other models.
    pub fn new(settings: ThermometerErrors, noise: NoiseSource) -> Self {
        Self { settings, noise }
    }

    /// The true temperature inside the IMU, degrees C.
    pub fn inside_c(&self, at: SimTime) -> f64 {
        let s = &self.settings;
        let time_s = s.self_heating_time_s.max(1e-9);
        s.ambient_c + s.self_heating_k * (1.0 - libm::exp(-at.as_secs_f64() / time_s))
    }

    /// Reading of sample `index`, degrees C.
    pub fn reading_c(&self, index: u64, at: SimTime) -> f64 {
        let std = self.settings.noise_std_k;
        let error = if std == 0.0 {
            0.0
        } else {
            std * self.noise.request(index).standard_normal(0, Quantity::White)
        };
        self.inside_c(at) + error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pressure_is_the_standard_atmospheres() {
        // ISO 2533, table 5: 89 876 Pa at 1000 m.
        assert!((standard_pressure_pa(101_325.0, 1000.0) - 89_875.0).abs() < 3.0);
        assert!((pressure_altitude_m(standard_pressure_pa(101_325.0, 500.0)) - 500.0).abs() < 1e-6);
    }

    #[test]
    fn a_drift_wanders_about_the_truth() {
        let settings = BarometerErrors {
            sea_level_pressure_pa: 101_325.0,
            noise_std_pa: 0.0,
            drift_std_pa: 20.0,
            drift_correlation_s: 10.0,
        };
        let mut barometer = Barometer::new(settings, NoiseSource::new(1, "a/barometer"), 0.1);
        let n = 200_000u32;
        let squares: f64 =
            (0..n).map(|i| (barometer.step(i.into(), 0.0) - 101_325.0).powi(2)).sum();
        // 20 000 s contain about 1000 independent values: 20 within 4 * 20 / sqrt(2000).
        let std = (squares / f64::from(n)).sqrt();
        assert!((std - 20.0).abs() < 1.8, "{std}");
    }

    #[test]
    fn a_unit_warms_itself() {
        let settings = ThermometerErrors {
            ambient_c: 20.0,
            self_heating_k: 10.0,
            self_heating_time_s: 100.0,
            noise_std_k: 0.0,
        };
        let thermometer = Thermometer::new(settings, NoiseSource::new(1, "a/thermometer"));
        assert_eq!(thermometer.inside_c(SimTime::ZERO), 20.0);
        let later = thermometer.reading_c(5, SimTime(100_000_000_000));
        assert!((later - 26.3212).abs() < 1e-3, "{later}");
    }
}
