//! Beam geometry of a spinning lidar's lasers.

use glam::DVec3;

/// The beam of one laser relative to the rotor.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LaserGeometry {
    /// Angle above the rotor's plane, radians.
    pub elevation_rad: f64,
    /// Offset from the rotor's azimuth, clockwise, radians.
    pub azimuth_offset_rad: f64,
    /// Position of the exit point relative to the rotor's axis, along the beam's heading, metres.
    pub exit_forward_m: f64,
    /// Position of the exit point relative to the rotor's axis, to the left of the beam's heading, metres.
    pub exit_left_m: f64,
    /// Height of the exit point above the sensor's origin, metres.
    pub exit_up_m: f64,
}

/// A beam in the Sensor frame (forward-left-up).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Beam {
    /// Exit point of the laser, metres.
    pub exit: DVec3,
    /// Unit vector along the beam.
    pub direction: DVec3,
    /// Unit vector to the left of the beam, in the rotor's plane.
    pub left: DVec3,
    /// Unit vector perpendicular to `direction` and `left`.
    pub up: DVec3,
}

impl LaserGeometry {
    /// The laser's beam at an azimuth (clockwise from forward) and an elevation, each given as sine and cosine.
    pub fn beam(
        &self,
        (sin_azimuth, cos_azimuth): (f64, f64),
        (sin_elevation, cos_elevation): (f64, f64),
    ) -> Beam {
        let heading = DVec3::new(cos_azimuth, -sin_azimuth, 0.0);
        let left = DVec3::new(sin_azimuth, cos_azimuth, 0.0);
        Beam {
            exit: heading * self.exit_forward_m
                + left * self.exit_left_m
                + DVec3::Z * self.exit_up_m,
            direction: heading * cos_elevation + DVec3::Z * sin_elevation,
            left,
            up: DVec3::Z * cos_elevation - heading * sin_elevation,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::FRAC_PI_2;

    #[test]
    fn azimuth_runs_clockwise_from_forward() {
        let laser = LaserGeometry { exit_left_m: 0.026, ..LaserGeometry::default() };
        let right = laser.beam(libm::sincos(FRAC_PI_2), libm::sincos(0.0));
        assert!((right.direction - DVec3::NEG_Y).length() < 1e-12);
        // For a beam to the right, the beam's left is forward.
        assert!((right.exit - DVec3::X * 0.026).length() < 1e-12);
    }

    #[test]
    fn axes_are_right_handed_and_across() {
        let laser = LaserGeometry::default();
        let beam = laser.beam(libm::sincos(2.01), libm::sincos(-0.42));
        assert!((beam.direction.cross(beam.left) - beam.up).length() < 1e-12);
        assert!((beam.direction.z - libm::sin(-0.42)).abs() < 1e-12);
    }
}
