//! Height, roll and pitch of a robot that stands on the terrain.
//!
//! A least-squares plane through the heights under four wheels gives height, roll and pitch. They are smoothed into
//! quintic splines over the path. Waves shorter than the footprint are averaged deliberately, as tyres and springs
//! do.

use glam::DVec3;

use super::path::{AngleJet, Extent};
use super::spline::{BSpline, Fit, Grid};
use crate::world::ground::{GroundHeight, OVERHEAD_M};

/// Distance between knots, as a multiple of the footprint's length.
const SPACING: f64 = 0.5;
/// Height queries in each span.
const SAMPLES_PER_SPAN: usize = 3;
/// Largest number of spans; spans get longer on paths of more than 130,000 footprint lengths.
const MAX_SPANS: usize = 1 << 18;
/// Length over which an endless path follows the ground, metres.
const REACH_M: f64 = 20_000.0;
/// Length without ground after which an endless path stops following the ground, metres.
const GIVE_UP_M: f64 = 1_000.0;

/// The plane through the wheels' contacts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stance {
    /// Height of the footprint's centre, metres.
    pub z_m: f64,
    /// Angle about the body's x axis, radians.
    pub roll_rad: f64,
    /// Angle about the body's y axis, radians; positive with the nose down.
    pub pitch_rad: f64,
}

/// Height, roll and pitch over the parameter of a motion.
#[derive(Clone, Debug)]
pub struct GroundProfile {
    /// z (metres), roll and pitch (radians).
    spline: BSpline<3>,
    /// Share of the queried positions without ground, 0..=1.
    pub without_ground: f64,
}

/// Error: there is no ground anywhere along the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoGround;

impl GroundProfile {
    /// Makes a motion follow the ground on wheels at the corners of a `footprint_m` (length, width). `place` returns
    /// position and yaw (metres, radians) at a parameter. `m_per_unit` is the largest distance that the robot travels
    /// per unit of the parameter.
    ///
    /// The height of the first position selects one of several surfaces, see [`stance`]. From there on, the robot
    /// stays on the surface on which it stands.
    ///
    /// Where any wheel has no ground, the robot is level at the last height; before the first ground, it has that
    /// ground's height.
    pub fn new(
        place: impl Fn(f64) -> (DVec3, f64),
        extent: Extent,
        m_per_unit: f64,
        ground: &dyn GroundHeight,
        footprint_m: [f64; 2],
    ) -> Result<Self, NoGround> {
        let mut about_m = place(0.0).0.z;
        let mut stance_at = |u: f64| {
            let (position_m, yaw_rad) = place(u);
            let [x, y, _] = position_m.to_array();
            stance(ground, footprint_m, [x, y, yaw_rad], &mut about_m)
        };
        let wanted = SPACING * footprint_m[0] / m_per_unit;
        let (length, lap_factor) = match extent {
            Extent::Unbounded => (REACH_M / m_per_unit, None),
            Extent::Open(length) => (length, None),
            Extent::Closed(length) => (length, Some(1.0)),
        };
        let spans = ((length / wanted).ceil() as usize).clamp(1, MAX_SPANS);
        let mut grid = Grid { spacing: length / spans as f64, spans, lap_factor };
        let step = grid.spacing / SAMPLES_PER_SPAN as f64;
        let mut count = spans * SAMPLES_PER_SPAN + usize::from(lap_factor.is_none());
        let mut stances = Vec::new();
        let mut nothing_for_m = 0.0;
        for i in 0..count {
            let stance = stance_at(step * i as f64);
            nothing_for_m = if stance.is_some() { 0.0 } else { nothing_for_m + step * m_per_unit };
            stances.push(stance);
            if extent == Extent::Unbounded && nothing_for_m > GIVE_UP_M {
                grid.spans = i / SAMPLES_PER_SPAN;
                count = grid.spans * SAMPLES_PER_SPAN + 1;
                break;
            }
        }
        stances.truncate(count);
        let first = stances.iter().flatten().next().copied().ok_or(NoGround)?;
        let without_ground =
            stances.iter().filter(|s| s.is_none()).count() as f64 / stances.len() as f64;
        let mut level = Stance { z_m: first.z_m, ..Stance::default() };
        let samples: Vec<_> = stances
            .into_iter()
            .enumerate()
            .map(|(i, stance)| {
                let s = stance.unwrap_or(level);
                level = Stance { z_m: s.z_m, ..Stance::default() };
                (step * i as f64, [s.z_m, s.roll_rad, s.pitch_rad])
            })
            .collect();
        let cutoff = footprint_m[0] / m_per_unit;
        let mut spline = Fit { grid, samples: &samples, cutoff }.solve();
        if extent == Extent::Unbounded {
            spline.hold_end();
        }
        Ok(Self { spline, without_ground })
    }

    /// z (metres) with its first and second derivative with respect to the parameter; then roll and pitch (radians),
    /// each with its first derivative.
    pub fn at(&self, u: f64) -> ([f64; 3], AngleJet, AngleJet) {
        let jet = self.spline.at(u);
        (
            [jet.value[0], jet.first[0], jet.second[0]],
            [jet.value[1], jet.first[1]],
            [jet.value[2], jet.first[2]],
        )
    }
}

/// Plane through wheels at the corners of a footprint (length, width) at a position (x, y, yaw); `None` if a
/// wheel has no ground. A surface more than [`OVERHEAD_M`] above `about_m` counts only if there is no lower one.
///
/// `about_m` becomes the height of the highest wheel, for the next position along the path. It is not the height of
/// each wheel, because a wheel that leaves the edge of a bridge must return to the bridge.
pub fn stance(
    ground: &dyn GroundHeight,
    [length_m, width_m]: [f64; 2],
    [x_m, y_m, yaw_rad]: [f64; 3],
    about_m: &mut f64,
) -> Option<Stance> {
    let (sin, cos) = libm::sincos(yaw_rad);
    let below_m = *about_m + OVERHEAD_M;
    let wheel = |ahead: f64, left: f64| {
        let (x, y) = (x_m + cos * ahead - sin * left, y_m + sin * ahead + cos * left);
        ground.height_under_m(x, y, below_m)
    };
    let (a, b) = (0.5 * length_m, 0.5 * width_m);
    let (front_left, front_right) = (wheel(a, b)?, wheel(a, -b)?);
    let (rear_left, rear_right) = (wheel(-a, b)?, wheel(-a, -b)?);
    *about_m = front_left.max(front_right).max(rear_left).max(rear_right);
    let slope_ahead = (front_left + front_right - rear_left - rear_right) / (2.0 * length_m);
    let slope_left = (front_left + rear_left - front_right - rear_right) / (2.0 * width_m);
    // The body's x axis (cos p, 0, -sin p) and y axis (sin p sin r, cos r, cos p sin r), in axes aligned with the
    // heading, lie in the plane.
    let pitch_rad = -libm::atan(slope_ahead);
    let roll_rad = libm::atan(slope_left * libm::cos(pitch_rad));
    let z_m = 0.25 * (front_left + front_right + rear_left + rear_right);
    Some(Stance { z_m, roll_rad, pitch_rad })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::rig::RobotConfig;
    use crate::frames::quat_from_rpy;

    const FOOTPRINT_M: [f64; 2] = RobotConfig::USUAL_FOOTPRINT_M;

    fn place(u: f64) -> (DVec3, f64) {
        (DVec3::X * u, 0.0)
    }

    struct Plane;
    impl GroundHeight for Plane {
        fn height_m(&self, x_m: f64, y_m: f64) -> Option<f64> {
            (x_m < 50.0).then_some(0.3 * x_m - 0.2 * y_m + 1.0)
        }
    }

    #[test]
    fn the_body_stands_square_on_a_plane_whatever_its_heading() {
        let normal = DVec3::new(-0.3, 0.2, 1.0).normalize();
        for i in 0..12 {
            let yaw = f64::from(i) * 0.55;
            let stance = stance(&Plane, FOOTPRINT_M, [3.0, -4.0, yaw], &mut 0.0).unwrap();
            let up = quat_from_rpy(stance.roll_rad, stance.pitch_rad, yaw) * DVec3::Z;
            assert!((up - normal).length() < 1e-12, "{up} {normal}");
            assert!((stance.z_m - 2.7).abs() < 1e-12);
        }
    }

    #[test]
    fn beyond_the_ground_the_robot_is_level_at_the_last_height() {
        let profile =
            GroundProfile::new(place, Extent::Unbounded, 1.0, &Plane, FOOTPRINT_M).unwrap();
        let ([z, dz, _], _, [pitch, _]) = profile.at(20.0);
        assert!((z - 7.0).abs() < 1e-6 && (dz - 0.3).abs() < 1e-6, "{z} {dz}");
        assert!((pitch + libm::atan(0.3)).abs() < 1e-6);
        for u in [60.0, 900.0, 1e9] {
            let ([z, dz, ddz], _, [pitch, _]) = profile.at(u);
            assert!((z - 15.9).abs() < 0.1 && dz.abs() < 1e-3 && ddz.abs() < 1e-3, "{u} {z}");
            assert!(pitch.abs() < 1e-3);
        }
        let ([_, dz, ddz], _, _) = profile.at(1e9);
        assert!(dz.abs() < 1e-12 && ddz.abs() < 1e-12);
        assert!(profile.without_ground > 0.9);
    }

    #[test]
    fn a_long_robot_does_not_feel_short_waves() {
        struct Waves;
        impl GroundHeight for Waves {
            fn height_m(&self, x_m: f64, _: f64) -> Option<f64> {
                Some(0.1 * libm::sin(std::f64::consts::TAU * x_m / 3.0))
            }
        }
        let highest = |footprint_m: [f64; 2]| {
            let made = GroundProfile::new(place, Extent::Open(60.0), 1.0, &Waves, footprint_m);
            let profile = made.unwrap();
            let heights = (200..400).map(|u| profile.at(0.1 * f64::from(u)).0[0].abs());
            heights.fold(0.0, f64::max)
        };
        let (short, long) = (highest(FOOTPRINT_M), highest([5.1, 2.6]));
        assert!(short > 0.06 && long < 0.02, "{short} {long}");
    }

    /// The plane z = 0, and a slab at z = 4 m over x = 10 m to 20 m and y up to 0.1 m.
    struct Bridge;
    impl GroundHeight for Bridge {
        fn height_m(&self, x_m: f64, y_m: f64) -> Option<f64> {
            self.height_under_m(x_m, y_m, f64::INFINITY)
        }

        fn height_under_m(&self, x_m: f64, y_m: f64, below_m: f64) -> Option<f64> {
            let is_slab = (10.0..=20.0).contains(&x_m) && y_m <= 0.1 && below_m >= 4.0;
            Some(if is_slab { 4.0 } else { 0.0 })
        }
    }

    #[test]
    fn a_robot_below_a_bridge_stays_there_and_one_on_it_stays_on_it() {
        let driven = |from_m: f64, z_m: f64| {
            let place = |u: f64| (DVec3::new(from_m + u, -1.0, z_m), 0.0);
            GroundProfile::new(place, Extent::Open(7.0), 1.0, &Bridge, FOOTPRINT_M).unwrap()
        };
        let (below, above) = (driven(5.0, 0.0), driven(12.0, 4.2));
        for u in 0..=70 {
            let ([z, ..], roll, pitch) = below.at(0.1 * f64::from(u));
            assert!(z.abs() < 1e-9 && roll[0].abs() < 1e-9 && pitch[0].abs() < 1e-9, "{u} {z}");
            let ([z, ..], ..) = above.at(0.1 * f64::from(u));
            assert!((z - 4.0).abs() < 1e-6, "{u} {z}");
        }
        // Two wheels leave the edge of the slab, and return.
        let mut about_m = 4.0;
        let height_m = |y: f64| {
            let stance = stance(&Bridge, FOOTPRINT_M, [15.0, y, 0.0], &mut about_m);
            stance.unwrap().z_m
        };
        assert_eq!([-1.0, 0.0, -1.0].map(height_m), [4.0, 2.0, 4.0]);
    }

    #[test]
    fn no_ground_at_all_is_an_error() {
        struct Void;
        impl GroundHeight for Void {
            fn height_m(&self, _: f64, _: f64) -> Option<f64> {
                None
            }
        }
        let made = GroundProfile::new(place, Extent::Open(10.0), 1.0, &Void, FOOTPRINT_M);
        assert_eq!(made.err(), Some(NoGround));
    }
}
