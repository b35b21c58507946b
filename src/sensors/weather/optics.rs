//! Properties of a lidar that determine the effect of weather.

use crate::config::profile::lidar::{BeamSettings, BeamShape};

/// Properties of a lidar for light that the air scatters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AirOptics {
    /// The pulse's width at half height as a distance, metres.
    pub width_m: f64,
    /// Detection limit: the signal at which half of the pulses are detected, relative to that of a white surface at 1
    /// m.
    pub threshold: f64,
    /// Largest reported range, metres.
    pub max_range_m: f64,
    /// Full divergence, horizontal and vertical, radians.
    pub divergence_rad: [f64; 2],
    /// Width and height of the beam at the exit window, metres.
    pub exit_m: [f64; 2],
}

/// Smallest width of a beam, metres. It represents the diffraction limit, and avoids divisions by a width of 0.
const NARROWEST_M: f64 = 1e-3;

impl AirOptics {
    /// The optics of a lidar's settings.
    pub fn of(beam: &BeamSettings) -> Self {
        let along = match beam.shape {
            BeamShape::Circular => beam.divergence_rad[0],
            _ => beam.divergence_rad[1],
        };
        let divergence_rad = [beam.divergence_rad[0], along];
        Self {
            width_m: beam.signal_cutoff_m,
            threshold: beam.threshold(),
            max_range_m: beam.max_range_m,
            divergence_rad,
            exit_m: [0, 1].map(|axis| match divergence_rad[0] {
                0.0 => beam.exit_width_m,
                across => beam.exit_width_m * divergence_rad[axis] / across,
            }),
        }
    }

    /// Width and height of the beam at a distance, metres.
    pub(super) fn size_m(&self, range_m: f64) -> [f64; 2] {
        [0, 1]
            .map(|axis| (self.exit_m[axis] + self.divergence_rad[axis] * range_m).max(NARROWEST_M))
    }
}

/// Overlap of the beam with the detector's field of view. Near the sensor, it increases with distance from none to
/// full.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Overlap {
    /// Distance up to which there is no overlap, metres.
    pub begins_m: f64,
    /// Distance from which the overlap is complete, metres.
    pub complete_m: f64,
}

impl Overlap {
    /// Overlap at a distance, 0..=1.
    pub fn at(&self, range_m: f64) -> f64 {
        if range_m >= self.complete_m {
            return 1.0;
        }
        if range_m <= self.begins_m {
            return 0.0;
        }
        (range_m - self.begins_m) / (self.complete_m - self.begins_m)
    }
}
