//! Courses of the drives, and roughness of the ground.

use glam::DVec2;

use crate::config::rig::{RobotConfig, TrajectoryConfig};
use crate::frames::GeoOrigin;
use crate::sensors::noise::{NoiseSource, Quantity};
use crate::world::ground::GroundHeight;
use crate::world::trajectory::{Start, Trajectory, TrajectoryError};

/// Wheelbase and track width of a vehicle at the scale 1:6, metres.
const FOOTPRINT_M: [f64; 2] = [0.5, 0.35];
/// Number of waves that add up to rough ground.
const WAVES: u64 = 16;
/// Lengths of the shortest and the longest wave, metres.
const WAVELENGTHS_M: [f64; 2] = [0.8, 8.0];

choices! {
    /// Course of a drive.
    Course {
        /// Straight line, on grass
        Line = "line",
        /// Half-sine waves, on grass
        HalfSine = "half-sine",
        /// Circle, on grass
        Circle = "circle",
        /// Half-sine waves, on concrete
        HalfSineConcrete = "half-sine-concrete",
    }
}

impl Course {
    /// All courses of Mahajan et al. 2024.
    pub const ALL: [Self; 4] = [Self::Line, Self::HalfSine, Self::Circle, Self::HalfSineConcrete];

    /// Whether the course is on grass and counts in tables I and II of Mahajan et al. 2024.
    pub fn is_on_grass(self) -> bool {
        self != Self::HalfSineConcrete
    }
}

/// Parameters of the drives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Manner {
    /// Length of a half wave on the half-sine courses, metres.
    pub length_m: f64,
    /// Height of a half wave on the half-sine courses, metres.
    pub height_m: f64,
    /// Radius of the circular course, metres.
    pub radius_m: f64,
    /// Speed, m/s.
    pub speed_m_s: f64,
    /// Time for which the vehicle is switched on and at rest before the drive, seconds.
    pub still_s: f64,
    /// Time from rest to the full speed, seconds.
    pub ramp_s: f64,
    /// Time from the start of the motion to the end of the drive, seconds; does not include `still_s`.
    pub duration_s: f64,
    /// Root mean square height of the rough ground on courses on grass, metres.
    pub rough_m: f64,
    /// Seed of the rough ground.
    pub seed: u64,
}

impl Manner {
    /// Motion along a course.
    ///
    /// # Errors
    /// The course is impossible with these parameters.
    pub fn drive(&self, course: Course, origin: &GeoOrigin) -> Result<Trajectory, TrajectoryError> {
        let rough_m = if course.is_on_grass() { self.rough_m } else { 0.0 };
        let ground = Rough::new(rough_m, self.seed);
        let robot = RobotConfig {
            footprint_m: FOOTPRINT_M,
            ..RobotConfig::new(self.trajectory(course), rough_m > 0.0)
        };
        let start = Start { still_s: self.still_s, ramp_s: self.ramp_s };
        Ok(Trajectory::new(&robot, origin, Some(&ground))?.starting_from_rest(start))
    }

    fn trajectory(&self, course: Course) -> TrajectoryConfig {
        let speed_m_s = self.speed_m_s;
        match course {
            Course::Line => TrajectoryConfig::Line { start_m: [0.0; 3], yaw_rad: 0.0, speed_m_s },
            Course::HalfSine | Course::HalfSineConcrete => TrajectoryConfig::HalfSine {
                start_m: [0.0; 3],
                yaw_rad: 0.0,
                length_m: self.length_m,
                amplitude_m: self.height_m,
                speed_m_s,
            },
            Course::Circle => TrajectoryConfig::Circle {
                center_m: [0.0; 3],
                radius_m: self.radius_m,
                speed_m_s,
                start_angle_rad: 0.0,
            },
        }
    }
}

/// Rough ground: waves of equal height in all directions.
struct Rough {
    /// Wave vector (rad/m) and phase (rad) of each wave.
    waves: Vec<(DVec2, f64)>,
    height_m: f64,
}

impl Rough {
    fn new(rough_m: f64, seed: u64) -> Self {
        let noise = NoiseSource::new(seed, "vepd/grass");
        let wave = |i: u64| {
            let draw = |lane| noise.request(i).standard_normal(lane, Quantity::White);
            let share = i as f64 / (WAVES - 1) as f64;
            let [shortest, longest] = WAVELENGTHS_M;
            let length_m = shortest * libm::pow(longest / shortest, share);
            // Two normal random numbers give a uniformly distributed direction.
            let towards = DVec2::new(draw(0), draw(1)).normalize_or(DVec2::X);
            let phase = libm::atan2(draw(2), draw(3));
            (towards * (std::f64::consts::TAU / length_m), phase)
        };
        let waves = (0..WAVES).map(wave).collect();
        Self { waves, height_m: rough_m * (2.0 / WAVES as f64).sqrt() }
    }
}

impl GroundHeight for Rough {
    fn height_m(&self, x_m: f64, y_m: f64) -> Option<f64> {
        let at = DVec2::new(x_m, y_m);
        let waves = self.waves.iter();
        let sum: f64 = waves.map(|(wave, phase)| libm::sin(wave.dot(at) + phase)).sum();
        Some(self.height_m * sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grass_is_as_rough_as_asked_for() {
        let ground = Rough::new(0.01, 3);
        let squares: f64 = (0..40_000)
            .map(|i| ground.height_m(f64::from(i % 200) * 0.37, f64::from(i / 200) * 0.41))
            .map(|height| height.unwrap().powi(2))
            .sum();
        let rms = (squares / 40_000.0).sqrt();
        assert!((rms / 0.01 - 1.0).abs() < 0.1, "{rms}");
        assert_eq!(Rough::new(0.0, 3).height_m(1.0, 2.0), Some(0.0));
    }
}
