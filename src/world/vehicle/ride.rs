//! Ride of the body on its wheels: height, and slopes forward and to the left.
//!
//! Each wheel carries the body with the force `k (wheel - corner) + c (wheel - corner)'` at a corner of its footprint;
//! the prime marks the time derivative. The sums of these forces and of their moments accelerate heave, pitch and roll.
//! The equation has two settings:
//!
//! - **Rigid**, the default: a smoothing without a counterpart in real robots, because an IMU needs a continuous
//!   velocity. Heave, pitch and roll follow the plane of the wheels with critical damping at 4 Hz: waves with a period
//!   of a quarter of a second are halved. The damping ignores the rates of the wheels. This filter has a lag of 80 ms.
//!   The terrain is therefore queried at the positions that the wheels reach 80 ms later, which cancels the lag on an
//!   even slope.
//! - **Suspension**: springs and dampers from the rig, with the body's mass and the inertia of a box. An unloaded
//!   wheel hangs free. Beyond its stroke, a spring meets a stop that is ten times as stiff.
//!
//! In both, a wheel's height follows the terrain at a rate of at most 1 m/s plus twice the speed of the body. The edge
//! of a ditch is therefore a steep slope, not a jump. Heights are those of the ground under the wheels: a body at rest
//! on even ground has the ground's height.

use crate::config::rig::drive::Suspension;

/// Natural frequency of the smoothing for rigid wheels, rad/s: 4 Hz.
const RIGID_RAD_S: f64 = 8.0 * std::f64::consts::PI;
/// Lag of the smoothed plane behind an even slope, seconds.
const RIGID_LAG_S: f64 = 2.0 / RIGID_RAD_S;
/// Standard acceleration of gravity, m/s² (ISO 80000-3).
const GRAVITY_M_S2: f64 = 9.80665;
/// Stiffness of an end stop, as a multiple of the spring's.
const STOP_STIFFNESS: f64 = 10.0;
/// Largest permitted product of the integration step (s) and the fastest rate (rad/s) in the equations of motion;
/// larger products make the integration inaccurate or unstable.
const STABLE: f64 = 0.5;

/// Heights of wheels: front left, front right, rear left, rear right, metres.
pub(super) type AtWheels = [f64; 4];

/// Height of the body's origin (metres), and slopes of the body's plane forward and to the left; or the rates of these
/// three. A slope is the increase of height per horizontal distance.
pub(super) type Plane = [f64; 3];

/// The body's plane and its rates, and the heights of the wheels.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Riding {
    pub plane: Plane,
    pub rates: Plane,
    pub wheels_m: AtWheels,
}

/// Wheels, springs and the body on them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ride {
    /// Half of the distances between the wheels, along and across the body, metres.
    half_m: [f64; 2],
    /// Stiffness of one wheel's spring, N/m.
    stiffness_n_m: f64,
    /// Damping of one wheel, kg/s.
    damping_kg_s: f64,
    /// Mass of the body, kg; 1 for rigid wheels.
    mass_kg: f64,
    /// Moments of inertia about the axes to the left and ahead, kg m².
    inertia_kg_m2: [f64; 2],
    /// Stroke of the springs; `None` for rigid wheels, which neither lift off nor have a stop.
    stroke: Option<Stroke>,
    /// Number of integration steps in each call of [`Ride::advance`].
    parts: u32,
    step_s: f64,
}

/// Stroke of a spring.
#[derive(Clone, Copy, Debug)]
struct Stroke {
    /// Weight on a wheel at rest, N.
    load_n: f64,
    /// Distance from rest to the stop, metres.
    to_stop_m: f64,
}

impl Ride {
    /// A ride on wheels at the corners of a `footprint_m` (length, width), integrated in steps of `step_s`.
    pub fn new(
        footprint_m: [f64; 2],
        body_height_m: f64,
        suspension: Option<&Suspension>,
        step_s: f64,
    ) -> Self {
        let half_m = footprint_m.map(|side| 0.5 * side);
        let [length, width] = footprint_m.map(|side| side * side);
        let Some(springs) = suspension else {
            let stiffness_n_m = 0.25 * RIGID_RAD_S * RIGID_RAD_S;
            let inertia_kg_m2 = half_m.map(|half| half * half);
            return Self {
                half_m,
                stiffness_n_m,
                damping_kg_s: 0.5 * RIGID_RAD_S,
                mass_kg: 1.0,
                inertia_kg_m2,
                stroke: None,
                parts: 1,
                step_s,
            };
        };
        let Suspension { stiffness_n_m, damping_kg_s, mass_kg, stroke_m } = *springs;
        let height = body_height_m * body_height_m;
        let load_n = 0.25 * mass_kg * GRAVITY_M_S2;
        let stroke = Stroke { load_n, to_stop_m: stroke_m - load_n / stiffness_n_m };
        // Pitch and roll of a flat box are up to three times as stiff as heave; a stop is stiffer still.
        let stiff = 3.0 * 4.0 * (1.0 + STOP_STIFFNESS) * stiffness_n_m / mass_kg;
        let damped = 3.0 * 4.0 * damping_kg_s / mass_kg;
        let fastest_rad_s = stiff.sqrt().max(damped);
        Self {
            half_m,
            stiffness_n_m,
            damping_kg_s,
            mass_kg,
            inertia_kg_m2: [length, width].map(|side| mass_kg * (side + height) / 12.0),
            stroke: Some(stroke),
            parts: (fastest_rad_s * step_s / STABLE).ceil().clamp(1.0, 1000.0) as u32,
            step_s,
        }
    }

    /// Time by which terrain queries are ahead of the wheels, seconds; 0 with a suspension.
    pub fn lead_s(&self) -> f64 {
        if self.stroke.is_some() { 0.0 } else { RIGID_LAG_S }
    }

    /// Position of wheel `index`: forward and to the left of the body's origin, metres.
    pub fn wheel_m(&self, index: usize) -> [f64; 2] {
        let ahead = if index < 2 { 1.0 } else { -1.0 };
        let left = if index.is_multiple_of(2) { 1.0 } else { -1.0 };
        [ahead * self.half_m[0], left * self.half_m[1]]
    }

    /// The least-squares plane through the wheels, with the body at rest on it.
    pub fn settled(&self, wheels_m: AtWheels) -> Riding {
        let mut plane = [0.25 * wheels_m.iter().sum::<f64>(), 0.0, 0.0];
        for (index, height_m) in wheels_m.iter().enumerate() {
            let [ahead, left] = self.wheel_m(index);
            plane[1] += 0.25 * height_m / ahead;
            plane[2] += 0.25 * height_m / left;
        }
        Riding { plane, rates: [0.0; 3], wheels_m }
    }

    /// Heights of the wheels, metres, after they have moved from `from_m` towards the terrain at `terrain_m` for `dt_s`
    /// seconds. Their rates are at most 1 m/s plus twice the speed of the body, `speed_m_s`.
    pub fn reached(from_m: &AtWheels, terrain_m: &AtWheels, speed_m_s: f64, dt_s: f64) -> AtWheels {
        let most_m = (1.0 + 2.0 * speed_m_s.abs()) * dt_s;
        std::array::from_fn(|i| from_m[i] + (terrain_m[i] - from_m[i]).clamp(-most_m, most_m))
    }

    /// Integrates one step, during which the wheels move at a constant rate to `wheels_m`.
    pub fn advance(&self, riding: &Riding, wheels_m: AtWheels) -> Riding {
        let dt_s = self.step_s / f64::from(self.parts);
        let rates: AtWheels =
            std::array::from_fn(|i| (wheels_m[i] - riding.wheels_m[i]) / self.step_s);
        let mut now = *riding;
        for _ in 0..self.parts {
            now = self.part(&now, &rates, dt_s);
        }
        Riding { wheels_m, ..now }
    }

    /// A fourth-order Runge-Kutta step.
    fn part(&self, from: &Riding, wheel_rates: &AtWheels, dt_s: f64) -> Riding {
        let wheels = |after_s: f64| -> AtWheels {
            std::array::from_fn(|i| from.wheels_m[i] + after_s * wheel_rates[i])
        };
        let slope = |plane: &Plane, rates: &Plane, after_s: f64| {
            (*rates, self.accelerations(plane, rates, &wheels(after_s), wheel_rates))
        };
        let moved = |(rates, accelerations): &(Plane, Plane), after_s: f64| {
            (along(&from.plane, rates, after_s), along(&from.rates, accelerations, after_s))
        };
        let k1 = slope(&from.plane, &from.rates, 0.0);
        let (plane, rates) = moved(&k1, 0.5 * dt_s);
        let k2 = slope(&plane, &rates, 0.5 * dt_s);
        let (plane, rates) = moved(&k2, 0.5 * dt_s);
        let k3 = slope(&plane, &rates, 0.5 * dt_s);
        let (plane, rates) = moved(&k3, dt_s);
        let k4 = slope(&plane, &rates, dt_s);
        let mean = |a: &Plane, b: &Plane, c: &Plane, d: &Plane| -> Plane {
            std::array::from_fn(|i| (a[i] + 2.0 * b[i] + 2.0 * c[i] + d[i]) / 6.0)
        };
        Riding {
            plane: along(&from.plane, &mean(&k1.0, &k2.0, &k3.0, &k4.0), dt_s),
            rates: along(&from.rates, &mean(&k1.1, &k2.1, &k3.1, &k4.1), dt_s),
            wheels_m: wheels(dt_s),
        }
    }

    fn accelerations(
        &self,
        plane: &Plane,
        rates: &Plane,
        wheels_m: &AtWheels,
        wheel_rates: &AtWheels,
    ) -> Plane {
        let (mut lift_n, mut ahead_nm, mut left_nm) = (0.0, 0.0, 0.0);
        for (index, (wheel_m, wheel_rate)) in wheels_m.iter().zip(wheel_rates).enumerate() {
            let [ahead, left] = self.wheel_m(index);
            let corner = |of: &Plane| of[0] + of[1] * ahead + of[2] * left;
            let pressed_m = wheel_m - corner(plane);
            let follows = if self.stroke.is_some() { *wheel_rate } else { 0.0 };
            let pressing_m_s = follows - corner(rates);
            let mut force_n = self.stiffness_n_m * pressed_m + self.damping_kg_s * pressing_m_s;
            if let Some(stroke) = &self.stroke {
                let beyond_m = (pressed_m - stroke.to_stop_m).max(0.0);
                force_n += STOP_STIFFNESS * self.stiffness_n_m * beyond_m;
                // A wheel does not pull.
                force_n = force_n.max(-stroke.load_n);
            }
            lift_n += force_n;
            ahead_nm += force_n * ahead;
            left_nm += force_n * left;
        }
        let [of_ahead, of_left] = self.inertia_kg_m2;
        [lift_n / self.mass_kg, ahead_nm / of_ahead, left_nm / of_left]
    }
}

fn along(from: &Plane, rates: &Plane, dt_s: f64) -> Plane {
    std::array::from_fn(|i| from[i] + dt_s * rates[i])
}

#[cfg(test)]
mod tests {
    use std::f64::consts::TAU;

    use super::*;

    /// Suspension from the Andabata paper.
    const PAPER: Suspension =
        Suspension { stroke_m: 0.065, stiffness_n_m: 3976.6, damping_kg_s: 75.76, mass_kg: 41.0 };
    const FOOTPRINT_M: [f64; 2] = [0.67, 0.54];
    const STEP_S: f64 = 0.0005;

    fn springs() -> Ride {
        Ride::new(FOOTPRINT_M, 0.81, Some(&PAPER), STEP_S)
    }

    /// Motion over 4 s of one of the body's coordinates after a displacement.
    fn course(ride: &Ride, coordinate: usize, from: f64) -> Vec<f64> {
        let mut riding = ride.settled([0.0; 4]);
        riding.plane[coordinate] = from;
        (0..8000)
            .map(|_| {
                riding = ride.advance(&riding, [0.0; 4]);
                riding.plane[coordinate]
            })
            .collect()
    }

    /// Period of the oscillation and ratio of successive maxima.
    fn period_and_decay(course: &[f64]) -> (f64, f64) {
        let peaks: Vec<(f64, f64)> = (1..course.len() - 1)
            .filter(|&i| course[i] > course[i - 1] && course[i] >= course[i + 1])
            .map(|i| (STEP_S * (i + 1) as f64, course[i]))
            .collect();
        (peaks[1].0 - peaks[0].0, peaks[1].1 / peaks[0].1)
    }

    #[test]
    fn the_papers_suspension_swings_as_its_mass_and_springs_say() {
        let ride = springs();
        let (m, k, c) = (41.0_f64, 4.0 * 3976.6_f64, 4.0 * 75.76_f64);
        let of_ahead = m * (0.67 * 0.67 + 0.81 * 0.81) / 12.0;
        let of_left = m * (0.54 * 0.54 + 0.81 * 0.81) / 12.0;
        let levers = [1.0_f64, 0.335 * 0.335, 0.27 * 0.27];
        for (coordinate, inertia) in [m, of_ahead, of_left].into_iter().enumerate() {
            let (k, c) = (k * levers[coordinate], c * levers[coordinate]);
            let natural = (k / inertia).sqrt();
            let ratio = c / (2.0 * (k * inertia).sqrt());
            let damped = natural * (1.0 - ratio * ratio).sqrt();
            let (period_s, decay) = period_and_decay(&course(&ride, coordinate, 0.004));
            assert!((period_s - TAU / damped).abs() < 0.002, "{coordinate}: {period_s}");
            let expected = libm::exp(-ratio * natural * TAU / damped);
            assert!((decay / expected - 1.0).abs() < 0.01, "{coordinate}: {decay} {expected}");
        }
        let heave = (k / m).sqrt() / TAU;
        assert!((3.1..3.2).contains(&heave), "the paper's heave: {heave} Hz");
    }

    #[test]
    fn a_body_settles_to_the_plane_of_its_wheels() {
        let wheels = [0.11, 0.07, 0.03, -0.01];
        for ride in [springs(), Ride::new(FOOTPRINT_M, 0.81, None, STEP_S)] {
            let mut riding = ride.settled([0.0; 4]);
            for _ in 0..20_000 {
                riding = ride.advance(&riding, wheels);
            }
            let there = ride.settled(wheels);
            let off = riding.plane.iter().zip(there.plane).map(|(is, should)| (is - should).abs());
            assert!(off.chain(riding.rates.map(f64::abs)).all(|off| off < 1e-9), "{riding:?}");
            assert!((there.plane[0] - 0.05).abs() < 1e-12);
            assert!((there.plane[1] - 0.08 / 0.67).abs() < 1e-12);
            assert!((there.plane[2] - 0.04 / 0.54).abs() < 1e-12);
        }
    }

    #[test]
    fn rigid_wheels_do_not_lag_on_an_even_slope_and_do_not_swing() {
        let ride = Ride::new(FOOTPRINT_M, 0.5, None, STEP_S);
        // A slope that rises by 0.2 m/s; its height is looked up ahead of time.
        let at = |time_s: f64| [0.2 * (time_s + ride.lead_s()); 4];
        let mut riding = ride.settled([0.0; 4]);
        riding.wheels_m = at(0.0);
        for step in 1..=4000 {
            riding = ride.advance(&riding, at(f64::from(step) * STEP_S));
        }
        assert!((riding.plane[0] - 0.4).abs() < 1e-6, "{}", riding.plane[0]);
        let after_step = course(&ride, 0, 0.1);
        assert!(after_step.iter().all(|z| *z > -1e-6), "critically damped");
    }

    #[test]
    fn a_wheel_hangs_free_and_a_stop_holds() {
        let ride = springs();
        // The body falls from half a metre, freely at first, and comes to rest on its wheels.
        let fall = course(&ride, 0, 0.5);
        let fallen_m = 0.5 - fall[199];
        assert!((fallen_m - 0.5 * GRAVITY_M_S2 * 0.01).abs() < 1e-6, "{fallen_m}");
        let lowest = fall.iter().copied().fold(f64::INFINITY, f64::min);
        assert!((-0.15..-0.04).contains(&lowest), "beyond the stop a little: {lowest}");
        assert!(fall[7999].abs() < 0.01);
    }

    #[test]
    fn stiff_and_light_is_stable() {
        let hard =
            Suspension { stroke_m: 0.1, stiffness_n_m: 1e6, damping_kg_s: 1e4, mass_kg: 20.0 };
        let ride = Ride::new([0.3, 0.3], 0.05, Some(&hard), STEP_S);
        let mut riding = ride.settled([0.0; 4]);
        for step in 0..4000 {
            let wheels = if step < 2000 { [0.05, 0.0, 0.0, 0.0] } else { [0.0; 4] };
            riding = ride.advance(&riding, Ride::reached(&riding.wheels_m, &wheels, 1.0, STEP_S));
            assert!(riding.plane[0].abs() < 0.2, "{step}: {riding:?}");
        }
        assert!(riding.plane.iter().all(|x| x.abs() < 1e-6));
    }

    #[test]
    fn no_wheel_falls_faster_than_its_bound() {
        let reached = Ride::reached(&[0.0; 4], &[-0.8, 0.8, 0.0005, 0.0], 0.3, 0.001);
        assert_eq!(reached, [-0.0016, 0.0016, 0.0005, 0.0]);
    }
}
