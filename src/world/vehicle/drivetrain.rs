//! Motion of tracks, wheels and steering from their set points, and motion of the body.
//!
//! | Quantity | Law |
//! |---|---|
//! | speed of a track or wheel | first order: `dv/dt = (set point - v) / lag`, bounded by the largest acceleration; solved exactly |
//! | steering angle | towards its set point at the steering's rate |
//! | skid-steered body | `forward = (y_left v_right + y_right v_left) / (y_left + y_right)`, `turn = (v_right - v_left) / (y_left + y_right)`: with equal y these are equations 1 and 2 of the Andabata paper |
//! | set points of a twist | `v_left = forward - y_left turn`, `v_right = forward + y_right turn`; if one exceeds the highest speed, both are divided by the same number, so that the radius does not change (equations 3 to 6) |
//! | differential body | as skid-steered, with half of the track width for y |
//! | Ackermann body | `turn = v tan(steering) / wheelbase`, where v is the speed of the middle of the rear axle |

use crate::config::rig::drive::{DriveConfig, DriveModel};
use crate::world::actuation::Actuation;

/// Speed below which the steering angle of a twist is undefined, m/s.
const LEAST_STEERED_M_S: f64 = 1e-6;

/// Wheel state that encoders can measure.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WheelState {
    /// Travel of each side's wheels on their circumference, metres: left, right.
    pub travel_m: [f64; 2],
    /// Speed of each side's wheels, m/s.
    pub speed_m_s: [f64; 2],
    /// Set points of each side's speed, m/s: left, right.
    pub setpoint_m_s: [f64; 2],
    /// Angle of the wheel in the middle of the front axle, left positive, radians; 0 for robots without steering.
    pub steering_rad: f64,
}

/// Motion of the body in the plane of its wheels.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Twist {
    /// Forward speed of the body's origin, m/s.
    pub forward_m_s: f64,
    /// Speed of the body's origin to the left, m/s.
    pub left_m_s: f64,
    /// Rate of turn about the plane's normal, rad/s.
    pub turn_rad_s: f64,
}

impl Twist {
    /// The same motion at `share` times the speed.
    pub fn scaled(self, share: f64) -> Self {
        Self {
            forward_m_s: self.forward_m_s * share,
            left_m_s: self.left_m_s * share,
            turn_rad_s: self.turn_rad_s * share,
        }
    }
}

/// Kind of steering, with the dimensions that determine the body's rotation.
#[derive(Clone, Copy, Debug)]
enum Steering {
    /// Skid or differential steering: a difference between the speeds of the two sides turns the body.
    BySpeeds {
        /// Distances from the body's middle to the centres of rotation of the left and the right track, metres.
        y_icr_m: [f64; 2],
        /// Distance by which the centres of rotation are ahead of the body's origin, metres.
        x_icr_m: f64,
    },
    /// Steering by the angle of the front wheels.
    ByAngle { wheelbase_m: f64, track_m: f64, most_rad: f64, rate_rad_s: f64 },
}

/// Motors, wheels and steering of a robot.
#[derive(Clone, Debug)]
pub(super) struct Drivetrain {
    steering: Steering,
    max_speed_m_s: f64,
    /// Largest acceleration, m/s²; infinite if the motors set no limit.
    max_acceleration_m_s2: f64,
    lag_s: f64,
    /// Distance over ground per metre that the track or wheel travels: left, right.
    grip: [f64; 2],
    state: State,
}

/// State that changes during the motion.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// Set point of each side's motor: left, right. For a robot with steering, both are that of the rear axle.
    setpoint_m_s: [f64; 2],
    /// Speed of each side's motor: left, right. For a robot with steering, both are that of the rear axle.
    speed_m_s: [f64; 2],
    steering_setpoint_rad: f64,
    steering_rad: f64,
}

impl Drivetrain {
    pub fn new(config: &DriveConfig) -> Self {
        let steering = match config.model {
            DriveModel::SkidSteer { y_icr_m, x_icr_m, .. } => {
                Steering::BySpeeds { y_icr_m, x_icr_m }
            }
            DriveModel::Differential { track_m } => {
                Steering::BySpeeds { y_icr_m: [0.5 * track_m; 2], x_icr_m: 0.0 }
            }
            DriveModel::Ackermann {
                wheelbase_m,
                track_m,
                max_steering_rad,
                steering_rate_rad_s,
            } => Steering::ByAngle {
                wheelbase_m,
                track_m,
                most_rad: max_steering_rad,
                rate_rad_s: steering_rate_rad_s,
            },
        };
        Self {
            steering,
            max_speed_m_s: config.max_speed_m_s,
            max_acceleration_m_s2: config.max_acceleration_m_s2.unwrap_or(f64::INFINITY),
            lag_s: config.lag_s,
            grip: config.slip.map(|share| 1.0 - share),
            state: State::default(),
        }
    }

    /// Puts the drivetrain to rest, with set points and a steering angle of zero.
    pub fn reset(&mut self) {
        self.state = State::default();
    }

    /// Sets the set points to zero; the steering angle is unchanged.
    pub fn halt(&mut self) {
        self.state.setpoint_m_s = [0.0; 2];
    }

    /// Applies the set points of a command. Commands without set points for wheels have no effect.
    pub fn obey(&mut self, actuation: &Actuation) {
        match *actuation {
            Actuation::Treads { left_m_s, right_m_s } => match self.steering {
                // The set point of each side is limited separately.
                Steering::BySpeeds { .. } => {
                    self.state.setpoint_m_s = [left_m_s, right_m_s].map(|v| self.limited(v));
                }
                Steering::ByAngle { track_m, .. } => {
                    self.turn_at(0.5 * (left_m_s + right_m_s), (right_m_s - left_m_s) / track_m);
                }
            },
            Actuation::Twist { forward_m_s, turn_rad_s } => self.turn_at(forward_m_s, turn_rad_s),
            Actuation::Steering { forward_m_s, steering_rad } => match self.steering {
                Steering::BySpeeds { .. } => self.turn_at(forward_m_s, 0.0),
                Steering::ByAngle { most_rad, .. } => {
                    self.state.setpoint_m_s = [self.limited(forward_m_s); 2];
                    self.state.steering_setpoint_rad =
                        finite(steering_rad).clamp(-most_rad, most_rad);
                }
            },
            Actuation::EmergencyStop(_)
            | Actuation::JointRate { .. }
            | Actuation::JointAngle { .. }
            | Actuation::Reset => {}
        }
    }

    fn turn_at(&mut self, forward_m_s: f64, turn_rad_s: f64) {
        let (forward_m_s, turn_rad_s) = (finite(forward_m_s), finite(turn_rad_s));
        match self.steering {
            Steering::BySpeeds { y_icr_m: [left, right], .. } => {
                let wanted = [forward_m_s - left * turn_rad_s, forward_m_s + right * turn_rad_s];
                let fastest = wanted[0].abs().max(wanted[1].abs());
                let excess = (fastest / self.max_speed_m_s).max(1.0);
                self.state.setpoint_m_s = wanted.map(|speed| speed / excess);
            }
            Steering::ByAngle { wheelbase_m, most_rad, .. } => {
                self.state.setpoint_m_s = [self.limited(forward_m_s); 2];
                // A robot at rest cannot turn; the wheels keep their angle.
                if forward_m_s.abs() > LEAST_STEERED_M_S {
                    let angle = libm::atan(wheelbase_m * turn_rad_s / forward_m_s);
                    self.state.steering_setpoint_rad = angle.clamp(-most_rad, most_rad);
                }
            }
        }
    }

    fn limited(&self, speed_m_s: f64) -> f64 {
        finite(speed_m_s).clamp(-self.max_speed_m_s, self.max_speed_m_s)
    }

    /// Advances the motors and the steering by `dt_s` seconds.
    pub fn advance(&mut self, dt_s: f64) {
        let State { setpoint_m_s, speed_m_s, steering_setpoint_rad, steering_rad } =
            &mut self.state;
        for (speed, &setpoint) in speed_m_s.iter_mut().zip(&*setpoint_m_s) {
            *speed = follow(*speed, setpoint, self.lag_s, self.max_acceleration_m_s2, dt_s);
        }
        if let Steering::ByAngle { rate_rad_s, .. } = self.steering {
            let reach = rate_rad_s * dt_s;
            *steering_rad += (*steering_setpoint_rad - *steering_rad).clamp(-reach, reach);
        }
    }

    /// Speed of each side's wheels, m/s: left, right. For a robot with steering, that of the rear wheels.
    pub fn speed_m_s(&self) -> [f64; 2] {
        self.of_both_sides(self.state.speed_m_s, self.state.steering_rad)
    }

    /// Set points, m/s: left, right.
    pub fn setpoint_m_s(&self) -> [f64; 2] {
        self.of_both_sides(self.state.setpoint_m_s, self.state.steering_setpoint_rad)
    }

    /// Angle of the wheel in the middle of the front axle, radians.
    pub fn steering_rad(&self) -> f64 {
        self.state.steering_rad
    }

    fn of_both_sides(&self, motors_m_s: [f64; 2], steering_rad: f64) -> [f64; 2] {
        match self.steering {
            Steering::BySpeeds { .. } => motors_m_s,
            Steering::ByAngle { wheelbase_m, track_m, .. } => {
                let turn_rad_s = motors_m_s[0] * libm::tan(steering_rad) / wheelbase_m;
                [-0.5, 0.5].map(|side| motors_m_s[0] + side * track_m * turn_rad_s)
            }
        }
    }

    /// Motion of the body on firm ground. `icr_scale` has the distances of the left and right centres of rotation,
    /// relative to their averages.
    pub fn twist(&self, icr_scale: [f64; 2]) -> Twist {
        let [left, right] = [0, 1].map(|side| self.state.speed_m_s[side] * self.grip[side]);
        match self.steering {
            Steering::BySpeeds { y_icr_m, x_icr_m } => {
                let [y_left, y_right] = [0, 1].map(|side| y_icr_m[side] * icr_scale[side]);
                let between = y_left + y_right;
                let turn_rad_s = (right - left) / between;
                Twist {
                    forward_m_s: (y_left * right + y_right * left) / between,
                    left_m_s: -x_icr_m * turn_rad_s,
                    turn_rad_s,
                }
            }
            Steering::ByAngle { wheelbase_m, .. } => {
                let forward_m_s = 0.5 * (left + right);
                let turn_rad_s = forward_m_s * libm::tan(self.state.steering_rad) / wheelbase_m;
                // The body's origin is in the middle between the axles.
                Twist { forward_m_s, left_m_s: 0.5 * wheelbase_m * turn_rad_s, turn_rad_s }
            }
        }
    }
}

/// The value after `dt_s` seconds of `dv/dt = (target - v) / lag`. `limit` bounds the magnitude of `dv/dt`.
fn follow(value: f64, target: f64, lag_s: f64, limit: f64, dt_s: f64) -> f64 {
    let gap = target - value;
    // Within this gap the lag demands less acceleration than the limit.
    let soft = limit * lag_s;
    if gap.abs() <= soft {
        return target - gap * libm::exp(-dt_s / lag_s);
    }
    let bounded_s = (gap.abs() - soft) / limit;
    if bounded_s >= dt_s {
        return value + limit.copysign(gap) * dt_s;
    }
    target - soft.copysign(gap) * libm::exp(-(dt_s - bounded_s) / lag_s)
}

/// Replaces NaN and infinities by zero, a set point for rest.
fn finite(value: f64) -> f64 {
    if value.is_finite() { value } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paper() -> DriveConfig {
        let model = DriveModel::SkidSteer { y_icr_m: [0.45; 2], x_icr_m: 0.0, variation: None };
        DriveConfig { max_speed_m_s: 0.68, lag_s: 0.035, ..DriveConfig::of(model) }
    }

    fn told(config: &DriveConfig, actuation: Actuation) -> Drivetrain {
        let mut drive = Drivetrain::new(config);
        drive.obey(&actuation);
        drive
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    /// Equations 1 to 6 of the Andabata paper.
    #[test]
    fn the_papers_equations_hold() {
        for (v, w) in [(0.3, 0.0), (0.3, 0.5), (0.3, -0.8), (0.0, 1.4), (-0.2, 0.6), (0.6, 1.2)] {
            let drive = told(&paper(), Actuation::Twist { forward_m_s: v, turn_rad_s: w });
            let e = f64::max(1.0, (f64::abs(v) + 0.45 * f64::abs(w)) / 0.68);
            let [left, right] = drive.setpoint_m_s();
            assert!(near(left, (v - 0.45 * w) / e) && near(right, (v + 0.45 * w) / e), "{v} {w}");
            let mut settled = drive;
            settled.advance(10.0);
            let twist = settled.twist([1.0; 2]);
            assert!(near(twist.forward_m_s, v / e) && near(twist.turn_rad_s, w / e), "{twist:?}");
            assert_eq!(twist.left_m_s, 0.0);
        }
        // The largest turning rate at 0.3 m/s that needs no scaling.
        let turn_rad_s = (0.68 - 0.3) / 0.45;
        assert!(f64::abs(turn_rad_s - 0.844) < 1e-3);
        let drive = told(&paper(), Actuation::Twist { forward_m_s: 0.3, turn_rad_s });
        assert!(near(drive.setpoint_m_s()[1], 0.68) && near(drive.setpoint_m_s()[0], -0.08));
    }

    #[test]
    fn a_step_reaches_63_percent_after_the_lag() {
        let mut drive = told(&paper(), Actuation::Treads { left_m_s: 0.3, right_m_s: 0.3 });
        let mut by_the_paper = 0.0;
        for ms in 1..=200 {
            drive.advance(0.0005);
            drive.advance(0.0005);
            by_the_paper += (1.0 - libm::exp(-0.001 / 0.035)) * (0.3 - by_the_paper);
            let [left, right] = drive.speed_m_s();
            assert!(near(left, by_the_paper) && left == right, "{ms} ms: {left}");
            assert_eq!(left >= 0.3 * 0.632, ms >= 35, "{ms} ms: {left}");
        }
    }

    #[test]
    fn an_acceleration_is_bounded_and_the_rest_of_the_way_is_the_lags() {
        let config = DriveConfig { max_acceleration_m_s2: Some(0.5), ..paper() };
        let mut drive = told(&config, Actuation::Treads { left_m_s: 0.6, right_m_s: -0.6 });
        let mut once = drive.clone();
        let mut last = 0.0;
        for _ in 0..2000 {
            drive.advance(0.001);
            let speed = drive.speed_m_s()[0];
            assert!(speed - last <= 0.0005 + 1e-12 && speed <= 0.6);
            last = speed;
        }
        once.advance(2.0);
        assert!(near(once.speed_m_s()[0], last) && near(once.speed_m_s()[1], -last));
        assert!(0.6 - last < 1e-6);
    }

    #[test]
    fn treads_stop_at_their_own_limit_and_what_is_no_number_stands() {
        let drive = told(&paper(), Actuation::Treads { left_m_s: 0.3, right_m_s: 2.0 });
        assert_eq!(drive.setpoint_m_s(), [0.3, 0.68]);
        let drive =
            told(&paper(), Actuation::Treads { left_m_s: f64::NAN, right_m_s: f64::INFINITY });
        assert_eq!(drive.setpoint_m_s(), [0.0, 0.0]);
    }

    #[test]
    fn unequal_centres_of_rotation_bend_the_straight_and_slip_bends_it_too() {
        let model = DriveModel::SkidSteer { y_icr_m: [0.4, 0.6], x_icr_m: 0.1, variation: None };
        let config = DriveConfig { model, ..paper() };
        let mut drive = told(&config, Actuation::Twist { forward_m_s: 0.2, turn_rad_s: 0.3 });
        assert!(near(drive.setpoint_m_s()[0], 0.08) && near(drive.setpoint_m_s()[1], 0.38));
        drive.advance(10.0);
        let twist = drive.twist([1.0; 2]);
        assert!(near(twist.forward_m_s, 0.2) && near(twist.turn_rad_s, 0.3));
        assert!(near(twist.left_m_s, -0.03));
        let config = DriveConfig { slip: [0.1, 0.0], ..paper() };
        let mut drive = told(&config, Actuation::Treads { left_m_s: 0.5, right_m_s: 0.5 });
        drive.advance(10.0);
        let twist = drive.twist([1.0; 2]);
        assert!(near(twist.forward_m_s, 0.475) && near(twist.turn_rad_s, 0.05 / 0.9));
        assert!(near(drive.speed_m_s()[0], 0.5), "the encoder counts what is lost");
    }

    #[test]
    fn a_car_turns_about_its_rear_axle() {
        let model = DriveModel::Ackermann {
            wheelbase_m: 0.5,
            track_m: 0.3,
            max_steering_rad: 0.5,
            steering_rate_rad_s: 1.0,
        };
        let config = DriveConfig { model, max_speed_m_s: 3.0, lag_s: 0.1, ..paper() };
        let told_angle = Actuation::Steering { forward_m_s: 1.0, steering_rad: 0.4 };
        let mut drive = told(&config, told_angle);
        drive.advance(0.3);
        assert!(near(drive.steering_rad(), 0.3), "its rate is bounded");
        drive.advance(5.0);
        let radius_m = 0.5 / libm::tan(0.4);
        let twist = drive.twist([1.0; 2]);
        assert!(near(twist.turn_rad_s, 1.0 / radius_m) && near(twist.left_m_s, 0.25 / radius_m));
        let [left, right] = drive.speed_m_s();
        assert!(
            near(left, (radius_m - 0.15) / radius_m) && near(right, (radius_m + 0.15) / radius_m)
        );
        // A twist with the same turning rate gives the same angle, limited to that of the steering.
        let same = Actuation::Twist { forward_m_s: 1.0, turn_rad_s: 1.0 / radius_m };
        let mut drive = told(&config, same);
        drive.advance(5.0);
        assert!(near(drive.steering_rad(), 0.4));
        drive.obey(&Actuation::Twist { forward_m_s: -1.0, turn_rad_s: 9.0 });
        drive.advance(5.0);
        assert!(near(drive.steering_rad(), -0.5));
        drive.obey(&Actuation::Twist { forward_m_s: 0.0, turn_rad_s: 9.0 });
        drive.advance(5.0);
        assert!(near(drive.steering_rad(), -0.5) && drive.twist([1.0; 2]).turn_rad_s.abs() < 1e-12);
    }
}
