//! A robot's motion: a curve, the progress along it, and the ground below.

mod build;

use std::fmt;
use std::sync::Arc;

use glam::{DQuat, DVec3};

use super::error::TrajectoryError;
use super::feed::Feed;
use super::ground_following::{GroundProfile, Stance};
use super::path::{AngleJet, Path};
use super::progress::{Progress, Start};
use super::recorded::Recorded;
use super::spline::Deviation;
use crate::config::rig::RobotConfig;
use crate::frames::{Body, GeoOrigin, Transform, World, body_rate_from_rpy, quat_from_rpy};
use crate::time::SimTime;
use crate::world::body_state::{BodyState, ShownPose};
use crate::world::ground::GroundHeight;
use crate::world::vehicle::{Driven, WheelState};

/// A robot's motion from the start of the run. All threads may query it; a query takes a fraction of a microsecond
/// and allocates nothing.
#[derive(Clone, Debug)]
pub struct Trajectory {
    base: Base,
    progress: Progress,
    start: Option<Start>,
    ground: Option<GroundProfile>,
    description: Description,
}

/// Properties of a finished trajectory; prints as one line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Description {
    /// Kind of the trajectory, such as "circle"; with the path of the file for a trajectory from a file.
    pub name: String,
    /// Length of the path or lap, metres; `None` if the motion is endless or the robot stands still.
    pub length_m: Option<f64>,
    /// Time until the robot stops at the end of its path, or duration of a lap, seconds; `None` for all other motions.
    pub duration_s: Option<f64>,
    /// Whether the path is a lap that repeats.
    pub closed: bool,
    /// Approximate highest speed, m/s.
    pub max_speed_m_s: f64,
    /// Approximate largest acceleration, m/s².
    pub max_acceleration_m_s2: f64,
    /// Largest relative error of a speed that should be constant.
    pub speed_ripple: f64,
    /// Deviation of the smoothed curve from the input, metres.
    pub deviation_m: Deviation,
    /// Deviation of the smoothed orientation from the input, radians.
    pub deviation_rad: Deviation,
    /// For recordings: shortest period of motions that remain after smoothing, seconds.
    pub cutoff_s: Option<f64>,
    /// Share of the path without ground to follow, 0..=1.
    pub without_ground: f64,
}

/// End of a motion, or the reason why the motion has no defined end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The robot never moves.
    Stands,
    /// The robot brakes and stays at the end.
    Stops,
    /// The motion repeats without end and without a jump.
    Repeats,
    /// The motion never ends and never repeats.
    Endless,
    /// Another simulator controls the motion.
    Fed,
    /// The robot's computer controls the motion.
    Driven,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stands => "stands still",
            Self::Stops => "stops at the end and stays there",
            Self::Repeats => "repeats for ever",
            Self::Endless => "goes on for ever",
            Self::Fed => "follows the feed",
            Self::Driven => "follows the commands of the robot's computer",
        })
    }
}

/// The motion without the changes by a [`GroundProfile`].
#[derive(Clone, Debug)]
enum Base {
    Still { position_m: DVec3, yaw_rad: f64, stance: Stance },
    Path(Path),
    Recorded(Box<Recorded>),
    Feed(Arc<Feed>),
    Driven(Arc<Driven>),
}

impl Trajectory {
    /// Makes the motion of `robot`. `geo` is the geodetic position of World's origin, for GPX tracks; `ground` is
    /// required if the robot follows it. Memory is bounded: about 10 MB for the longest paths, 60 MB for the longest
    /// recordings.
    pub fn new(
        robot: &RobotConfig,
        geo: &GeoOrigin,
        ground: Option<&dyn GroundHeight>,
    ) -> Result<Self, TrajectoryError> {
        let mut made = Self::without_ground(robot, geo)?;
        if robot.follow_ground {
            let ground = ground.ok_or_else(|| {
                TrajectoryError::parameter(
                    "follow_ground",
                    "the scene has no ground",
                    "false, or a scene with ground",
                )
            })?;
            made.put_on(ground, robot.footprint_m)?;
        }
        made.survey();
        Ok(made)
    }

    /// Returns the trajectory with a start from rest: the robot reaches full speed after the ramp of `start`.
    #[must_use]
    pub fn starting_from_rest(mut self, start: Start) -> Self {
        if !self.description.closed
            && let Some(duration_s) = &mut self.description.duration_s
        {
            *duration_s += start.delay_s();
        }
        self.start = Some(start);
        self
    }

    /// Position, orientation and their rates at `t`.
    pub fn state(&self, t: SimTime) -> BodyState {
        let [u, rate, rate_change] = self.progress(t.as_secs_f64());
        let (mut position, facing) = match &self.base {
            Base::Still { position_m, yaw_rad, stance } => {
                return BodyState {
                    world_from_body: Transform::from_rpy(
                        *position_m,
                        stance.roll_rad,
                        stance.pitch_rad,
                        *yaw_rad,
                    ),
                    velocity_m_s: DVec3::ZERO,
                    acceleration_m_s2: DVec3::ZERO,
                    angular_rate_rad_s: DVec3::ZERO,
                };
            }
            Base::Feed(feed) => return feed.state(t),
            Base::Driven(driven) => return driven.state(t),
            Base::Path(path) => {
                let position = path.at(u);
                let (yaw, pitch) = path.heading(&position);
                (position, Facing::Angles { roll: [0.0; 2], pitch, yaw })
            }
            Base::Recorded(recorded) => {
                let facing = match &self.ground {
                    Some(_) => {
                        Facing::Angles { roll: [0.0; 2], pitch: [0.0; 2], yaw: recorded.yaw(u) }
                    }
                    None => {
                        let (rotation, rate) = recorded.attitude(u);
                        Facing::Rotation { rotation, rate }
                    }
                };
                (recorded.position(u), facing)
            }
        };
        let mut facing = facing;
        if let Some(ground) = &self.ground {
            let (z, ground_roll, ground_pitch) = ground.at(u);
            position.value.z = z[0];
            position.first.z = z[1];
            position.second.z = z[2];
            if let Facing::Angles { roll, pitch, .. } = &mut facing {
                *roll = ground_roll;
                *pitch = ground_pitch;
            }
        }
        let (rotation, turn) = facing.resolve();
        BodyState {
            world_from_body: Transform::new(position.value, rotation),
            velocity_m_s: position.first * rate,
            acceleration_m_s2: position.second * (rate * rate) + position.first * rate_change,
            angular_rate_rad_s: turn * rate,
        }
    }

    /// The curve's parameter at `t_s` seconds, and its first and second derivative with respect to time.
    fn progress(&self, t_s: f64) -> [f64; 3] {
        let Some(start) = &self.start else { return self.progress.at(t_s) };
        let [own_s, pace, pace_change] = start.at(t_s);
        let [u, rate, rate_change] = self.progress.at(own_s);
        [u, rate * pace, rate_change * pace * pace + rate * pace_change]
    }

    /// Pose of the body at `t`.
    pub fn pose(&self, t: SimTime) -> Transform<World, Body> {
        self.state(t).world_from_body
    }

    /// The feed; `None` unless another simulator controls the motion.
    pub fn feed(&self) -> Option<&Arc<Feed>> {
        match &self.base {
            Base::Feed(feed) => Some(feed),
            Base::Still { .. } | Base::Path(_) | Base::Recorded(_) | Base::Driven(_) => None,
        }
    }

    /// The vehicle; `None` unless the robot's computer controls the motion.
    pub fn driven(&self) -> Option<&Arc<Driven>> {
        match &self.base {
            Base::Driven(driven) => Some(driven),
            Base::Still { .. } | Base::Path(_) | Base::Recorded(_) | Base::Feed(_) => None,
        }
    }

    /// The received pose or command in effect at `t`; `None` before the first one, and for motions without external
    /// input.
    pub fn shown_at(&self, t: SimTime) -> Option<ShownPose> {
        match &self.base {
            Base::Feed(feed) => feed.shown_at(t),
            Base::Driven(driven) => driven.shown_at(t),
            Base::Still { .. } | Base::Path(_) | Base::Recorded(_) => None,
        }
    }

    /// State of the wheels at `t`; `None` unless the robot's computer controls the motion.
    pub fn wheels(&self, t: SimTime) -> Option<WheelState> {
        self.driven().map(|driven| driven.wheels(t))
    }

    /// The end of the motion.
    pub fn end(&self) -> End {
        match (&self.base, self.progress) {
            (Base::Still { .. }, _) => End::Stands,
            (Base::Feed(_), _) => End::Fed,
            (Base::Driven(_), _) => End::Driven,
            (_, Progress::Stop { .. }) => End::Stops,
            _ if self.description.closed => End::Repeats,
            _ => End::Endless,
        }
    }

    /// Properties of the finished trajectory.
    pub fn describe(&self) -> &Description {
        &self.description
    }
}

impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if let Some(length_m) = self.length_m {
            write!(f, ", {length_m:.1} m")?;
        }
        if let Some(duration_s) = self.duration_s {
            let what = if self.closed { "a lap" } else { "to the stop" };
            write!(f, ", {duration_s:.1} s {what}")?;
        }
        write!(
            f,
            ", up to {:.2} m/s and {:.2} m/s²",
            self.max_speed_m_s, self.max_acceleration_m_s2
        )?;
        if self.deviation_m.max > 0.0 {
            write!(
                f,
                ", smoothed within {:.3} m (rms {:.3} m)",
                self.deviation_m.max, self.deviation_m.rms
            )?;
        }
        if self.deviation_rad.max > 0.0 {
            write!(f, " and {:.2}°", self.deviation_rad.max.to_degrees())?;
        }
        if let Some(cutoff_s) = self.cutoff_s {
            write!(f, ", motions shorter than {cutoff_s:.2} s averaged")?;
        }
        if self.speed_ripple > 0.0 {
            write!(f, ", speed within {:.1e}", self.speed_ripple)?;
        }
        if self.without_ground > 0.0 {
            write!(f, ", {:.0} % without ground", (100.0 * self.without_ground).ceil())?;
        }
        Ok(())
    }
}

/// Orientation and its derivative with respect to the curve's parameter.
enum Facing {
    Angles { roll: AngleJet, pitch: AngleJet, yaw: AngleJet },
    Rotation { rotation: DQuat, rate: DVec3 },
}

impl Facing {
    /// The orientation, and the angular rate in the Body frame per unit of the parameter.
    fn resolve(&self) -> (DQuat, DVec3) {
        match self {
            Self::Rotation { rotation, rate } => (*rotation, *rate),
            Self::Angles { roll, pitch, yaw } => {
                let rate = body_rate_from_rpy(roll[0], pitch[0], [roll[1], pitch[1], yaw[1]]);
                (quat_from_rpy(roll[0], pitch[0], yaw[0]), rate)
            }
        }
    }
}
