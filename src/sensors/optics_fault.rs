//! Faults of a lidar's optics: dead lasers and dirty windows.

use std::f64::consts::TAU;

use crate::config::rig::faults::Timed;
use crate::time::SimTime;

/// A fault of a lidar's optics.
#[derive(Clone, Debug, PartialEq)]
pub enum LidarFault {
    /// Lasers without returns, indexed from 0.
    DeadLasers(Vec<u16>),
    /// A part of the window absorbs light.
    DirtyWindow {
        /// Dirty sector of the window.
        sector: Sector,
        /// One-way transmission: share of the light that remains after one passage of the window, 0..=1.
        transmission: f64,
    },
}

/// A sector around a lidar's vertical axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sector {
    /// Start of the sector, radians, clockwise as seen from above; 0 is forward.
    pub from_rad: f64,
    /// Width of the sector, radians, clockwise, up to a whole rotation.
    pub width_rad: f64,
}

impl Sector {
    /// Whether the sector contains a direction, radians clockwise from forward.
    pub fn contains(&self, azimuth_rad: f64) -> bool {
        (azimuth_rad - self.from_rad).rem_euclid(TAU) <= self.width_rad
    }
}

/// Smallest one-way transmission of all dirty sectors at the time `at`, 0..=1; `None` if the window is clean.
pub fn dirt_at(faults: &[Timed<LidarFault>], at: SimTime) -> Option<f64> {
    let transmissions = faults.iter().filter(|fault| fault.is_on(at)).filter_map(|fault| {
        let LidarFault::DirtyWindow { transmission, .. } = fault.kind else { return None };
        Some(transmission)
    });
    transmissions.reduce(f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sector_may_run_through_forward() {
        let deg = f64::to_radians;
        let sector = Sector { from_rad: deg(350.0), width_rad: deg(20.0) };
        for (azimuth, held) in [(350.0, true), (0.0, true), (369.9, true), (12.0, false)] {
            assert_eq!(sector.contains(deg(azimuth)), held, "{azimuth}");
        }
        let all = Sector { from_rad: 0.0, width_rad: TAU };
        assert!(all.contains(deg(359.999)) && all.contains(0.0));
    }
}
