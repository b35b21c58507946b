//! In-run compass calibration (ICC): the host starts and stops a representative motion and requests a quality
//! measure. The magnetic field at the emulated unit needs no correction.

use glam::DVec3;

use crate::sensors::imu::Sample;
use crate::wire::xbus::error;

/// Command codes in the data of `IccCommand`.
mod command {
    pub const START: u8 = 0;
    pub const STOP: u8 = 1;
    pub const STORE: u8 = 2;
    pub const STATE: u8 = 3;
}

/// Status of a calibration result: the motion was not sufficient.
const NOT_ENOUGH_DATA: u8 = 0x02;
/// An axis counts as rotated if the field along it varies by at least this much (largest minus smallest value), relative to
/// the mean field strength.
const TURNED: f64 = 1.0;

/// State of the in-run compass calibration.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Compass {
    motion: Option<Motion>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Motion {
    least: DVec3,
    most: DVec3,
    /// Sum of the field strength (gauss) and sum of its square (gauss²).
    strength: [f64; 2],
    count: u32,
}

impl Compass {
    /// Whether a representative motion is recorded.
    pub fn is_recording(&self) -> bool {
        self.motion.is_some()
    }

    /// Updates the statistics with a sample while a motion is recorded.
    pub fn step(&mut self, sample: &Sample) {
        let Some(motion) = &mut self.motion else { return };
        let (field, strength) = (sample.mag.value, sample.mag.value.length());
        motion.least = motion.least.min(field);
        motion.most = motion.most.max(field);
        motion.strength[0] += strength;
        motion.strength[1] += strength * strength;
        motion.count += 1;
    }

    /// Executes `IccCommand`; returns the data of the answer.
    ///
    /// # Errors
    /// Returns a code of [`error`] if the command is unknown, or stops a motion that was not started.
    pub fn obey(&mut self, data: &[u8]) -> Result<Vec<u8>, u8> {
        match data {
            [command::START] => {
                self.motion = Some(Motion {
                    least: DVec3::INFINITY,
                    most: DVec3::NEG_INFINITY,
                    strength: [0.0; 2],
                    count: 0,
                });
                Ok(data.to_vec())
            }
            [command::STOP] => {
                let motion = self.motion.take().ok_or(error::PARAMETER)?;
                let (residual, dimension, status) = motion.result();
                Ok([&[command::STOP][..], &residual.to_be_bytes(), &[dimension, status]].concat())
            }
            [command::STORE] => Ok(data.to_vec()),
            [command::STATE] => Ok(vec![command::STATE, self.is_recording().into()]),
            _ => Err(error::PARAMETER),
        }
    }
}

impl Motion {
    /// Standard deviation of the field strength relative to its mean, number of dimensions of the motion (2 or 3), and
    /// status: 0 or [`NOT_ENOUGH_DATA`].
    fn result(&self) -> (f32, u8, u8) {
        let mean = self.strength[0] / f64::from(self.count.max(1));
        if self.count == 0 || mean == 0.0 {
            return (0.0, 2, NOT_ENOUGH_DATA);
        }
        let variance = self.strength[1] / f64::from(self.count) - mean * mean;
        let turned = ((self.most - self.least) / mean).to_array();
        let axes = turned.iter().filter(|change| **change >= TURNED).count();
        let status = if axes < 2 { NOT_ENOUGH_DATA } else { 0 };
        ((variance.max(0.0).sqrt() / mean) as f32, axes.clamp(2, 3) as u8, status)
    }
}
