//! Creates a trajectory from its configuration.

use std::path::Path as FilePath;
use std::sync::Arc;

use glam::DVec3;

use super::{Base, Description, Trajectory};
use crate::config::rig::{RobotConfig, TrajectoryConfig};
use crate::frames::GeoOrigin;
use crate::time::SimTime;
use crate::world::ground::GroundHeight;
use crate::world::trajectory::error::{FileFault, TrajectoryError};
use crate::world::trajectory::feed::Feed;
use crate::world::trajectory::files::{self, Format, MAX_COORDINATE_M, Pose};
use crate::world::trajectory::ground_following::{GroundProfile, Stance, stance};
use crate::world::trajectory::path::{Extent, Path, PathFault, SinePath, fit_path};
use crate::world::trajectory::progress::Progress;
use crate::world::trajectory::recorded::{FittedRecording, TimedPose, fit_recording};
use crate::world::trajectory::spline::Deviation;
use crate::world::vehicle::Driven;

/// Highest speed of a robot, m/s.
const MAX_SPEED_M_S: f64 = 1000.0;
/// Largest deviation from waypoints, metres.
const WAYPOINT_ALLOWED_M: Deviation = Deviation { rms: 1e-3, max: 4e-3 };
/// Speed above which the times of a `.vprp` file are rejected as counters instead of seconds, m/s.
const COUNTER_SPEED_M_S: f64 = 100.0;
/// Shortest permitted duration of a recording, seconds.
const LEAST_DURATION_S: f64 = 1e-2;
/// Acceleration above which a warning is logged, m/s².
const ROUGH_M_S2: f64 = 20.0;

impl Trajectory {
    pub(super) fn without_ground(
        robot: &RobotConfig,
        geo: &GeoOrigin,
    ) -> Result<Self, TrajectoryError> {
        match &robot.trajectory {
            TrajectoryConfig::Still { position_m, yaw_rad } => {
                let position_m = checked_place("position_m", position_m)?;
                let yaw_rad = checked("yaw_deg", *yaw_rad, -1e6, 1e6)?;
                let stance = Stance { z_m: position_m.z, ..Stance::default() };
                let base = Base::Still { position_m, yaw_rad, stance };
                Ok(Self::bare(base, Progress::Steady { rate: 0.0 }, "still"))
            }
            TrajectoryConfig::Line { start_m, yaw_rad, speed_m_s } => {
                let start_m = checked_place("start_m", start_m)?;
                let yaw_rad = checked("yaw_deg", *yaw_rad, -1e6, 1e6)?;
                let speed = checked("speed_m_s", *speed_m_s, -MAX_SPEED_M_S, MAX_SPEED_M_S)?;
                let (sin, cos) = libm::sincos(yaw_rad);
                let travel = DVec3::new(cos, sin, 0.0) * if speed < 0.0 { -1.0 } else { 1.0 };
                let base = Base::Path(Path::Line { start_m, travel, yaw_rad });
                Ok(Self::bare(base, Progress::Steady { rate: speed.abs() }, "line"))
            }
            TrajectoryConfig::Circle { center_m, radius_m, speed_m_s, start_angle_rad } => {
                let center_m = checked_place("center_m", center_m)?;
                let radius_m = checked("radius_m", *radius_m, 1e-3, MAX_COORDINATE_M)?;
                let speed = checked("speed_m_s", *speed_m_s, -MAX_SPEED_M_S, MAX_SPEED_M_S)?;
                let start_angle_rad = checked("start_angle_deg", *start_angle_rad, -1e6, 1e6)?;
                let turn = if speed < 0.0 { -1.0 } else { 1.0 };
                let base = Base::Path(Path::Circle { center_m, radius_m, start_angle_rad, turn });
                Ok(Self::bare(base, Progress::Steady { rate: speed.abs() }, "circle"))
            }
            TrajectoryConfig::HalfSine { start_m, yaw_rad, length_m, amplitude_m, speed_m_s } => {
                let start_m = checked_place("start_m", start_m)?;
                let yaw_rad = checked("yaw_deg", *yaw_rad, -1e6, 1e6)?;
                let length_m = checked("length_m", *length_m, 1e-2, MAX_COORDINATE_M)?;
                let steepest = 10.0 * length_m;
                let amplitude_m = checked("amplitude_m", *amplitude_m, -steepest, steepest)?;
                let rate = checked_speed(*speed_m_s)?;
                let sine = SinePath::new(start_m, yaw_rad, length_m, amplitude_m);
                let base = Base::Path(Path::Sine(sine));
                Ok(Self::bare(base, Progress::Steady { rate }, "half-sine"))
            }
            TrajectoryConfig::Waypoints { points_m, speed_m_s, closed } => {
                let rate = checked_speed(*speed_m_s)?;
                let points = points_m
                    .iter()
                    .enumerate()
                    .map(|(i, p)| checked_place(&format!("points_m[{i}]"), p))
                    .collect::<Result<Vec<_>, _>>()?;
                Self::through(&points, *closed, rate, 1e-3, WAYPOINT_ALLOWED_M, "waypoints")
                    .map_err(|fault| {
                        let (problem, allowed) = explain(&fault, |i| format!("points_m[{i}]"));
                        TrajectoryError::parameter("trajectory.points_m", problem, allowed)
                    })
            }
            TrajectoryConfig::Feed(config) => {
                let base = Base::Feed(Arc::new(Feed::new(config.clone())));
                let name = format!("feed at {}", config.listen);
                Ok(Self::bare(base, Progress::Steady { rate: 0.0 }, &name))
            }
            TrajectoryConfig::Drive(config) => {
                let base = Base::Driven(Arc::new(Driven::new(config.clone(), robot.footprint_m)));
                let name = format!("driven, {}", config.model.word());
                let mut made = Self::bare(base, Progress::Steady { rate: 0.0 }, &name);
                let steepest_m_s2 = config.max_speed_m_s / config.lag_s;
                let most_m_s2 = config.max_acceleration_m_s2.unwrap_or(steepest_m_s2);
                made.description.max_speed_m_s = config.max_speed_m_s;
                made.description.max_acceleration_m_s2 = most_m_s2.min(steepest_m_s2);
                Ok(made)
            }
            TrajectoryConfig::File { path, speed_m_s, closed } => {
                let speed = speed_m_s.map(checked_speed).transpose()?;
                Self::from_file(path, speed, *closed, geo)
                    .map_err(|fault| TrajectoryError::File { path: path.clone(), fault })
            }
        }
    }

    fn from_file(
        path: &FilePath,
        speed: Option<f64>,
        closed: bool,
        geo: &GeoOrigin,
    ) -> Result<Self, FileFault> {
        let (format, poses) = files::read(path, geo)?;
        let name = format!("file {}", path.display());
        if poses.len() < 2 {
            return Err(FileFault::whole(format!(
                "found {} poses; allowed: at least 2",
                poses.len()
            )));
        }
        if closed {
            check_gap(&poses)?;
        }
        let Some(rate) = speed else {
            return Self::recorded(format, &poses, closed, name);
        };
        let allowed_m = match format {
            Format::Tum | Format::Csv => Deviation { rms: 0.1, max: 0.4 },
            // These paths are drawn by hand, with a metre or more between clicks and with impossibly sharp turns.
            Format::Vprp => Deviation { rms: 0.25, max: 2.0 },
            Format::Gpx => Deviation { rms: 0.5, max: 2.0 },
        };
        let points: Vec<DVec3> = poses.iter().map(|p| p.position_m).collect();
        Self::through(&points, closed, rate, 2.0 * allowed_m.rms, allowed_m, &name).map_err(
            |fault| {
                let (problem, allowed) =
                    explain(&fault, |i| format!("line {}", poses.get(i).map_or(0, |p| p.line)));
                FileFault::whole(format!("{problem}; allowed: {allowed}"))
            },
        )
    }

    fn recorded(
        format: Format,
        poses: &[Pose],
        closed: bool,
        name: String,
    ) -> Result<Self, FileFault> {
        let mut timed: Vec<TimedPose> = Vec::with_capacity(poses.len());
        let mut start_s = None;
        for pose in poses {
            let at = |problem: String| {
                FileFault::at_line(pose.line, format!("{problem}, or give `speed_m_s`"))
            };
            let time =
                pose.time_s.ok_or_else(|| at("no time; allowed: a time for each pose".into()))?;
            let time_s = time - *start_s.get_or_insert(time);
            if let Some(before) = timed.last()
                && time_s <= before.time_s
            {
                return Err(at(format!(
                    "the time goes from {} s to {time} s; allowed: increasing times",
                    before.time_s + start_s.unwrap_or(0.0)
                )));
            }
            let Pose { position_m, orientation, .. } = *pose;
            timed.push(TimedPose { time_s, position_m, orientation });
        }
        let duration_s = timed[timed.len() - 1].time_s;
        let way_m: f64 = timed.windows(2).map(|w| w[0].position_m.distance(w[1].position_m)).sum();
        if format == Format::Vprp && way_m > COUNTER_SPEED_M_S * duration_s {
            return Err(FileFault::whole(format!(
                "its times give a speed of {:.0} m/s, so they are counters, not seconds; give \
                 `speed_m_s`",
                way_m / duration_s
            )));
        }
        if duration_s < LEAST_DURATION_S {
            return Err(FileFault::whole(format!(
                "lasts {duration_s} s; allowed: at least {LEAST_DURATION_S} s"
            )));
        }
        let (allowed_m, heading_step_m) = match format {
            Format::Gpx => (Deviation { rms: 0.5, max: 2.0 }, 3.0),
            Format::Tum | Format::Csv | Format::Vprp => (Deviation { rms: 0.03, max: 0.12 }, 0.5),
        };
        let FittedRecording { motion, cutoff_s, deviation_m, deviation_rad } = fit_recording(
            &timed,
            closed,
            allowed_m,
            heading_step_m,
        )
        .map_err(|tumbling| {
            FileFault::whole(format!(
                "the orientation turns too fast to follow, {:.3} s after the first pose; allowed: \
                     less than half a turn in 0.1 s",
                tumbling.near_s
            ))
        })?;
        let length_s = motion.length_s();
        let progress = if closed {
            Progress::Steady { rate: 1.0 }
        } else {
            // The speed before the stop: the highest of the last two seconds.
            let last_speed = (0..=40)
                .map(|i| motion.position((length_s - 0.05 * f64::from(i)).max(0.0)).first.length())
                .fold(0.0, f64::max);
            Progress::stopping(1.0, length_s, last_speed)
        };
        let mut made = Self::bare(Base::Recorded(Box::new(motion)), progress, &name);
        made.description.cutoff_s = Some(cutoff_s);
        made.description.deviation_m = deviation_m;
        made.description.deviation_rad = deviation_rad;
        made.description.length_m = Some(way_m);
        Ok(made)
    }

    fn through(
        points: &[DVec3],
        closed: bool,
        rate: f64,
        thin_m: f64,
        allowed_m: Deviation,
        name: &str,
    ) -> Result<Self, PathFault> {
        let fitted = fit_path(points, closed, thin_m, allowed_m)?;
        let length_m = fitted.spline.grid().length();
        let progress = if closed {
            Progress::Steady { rate }
        } else {
            Progress::stopping(rate, length_m, rate)
        };
        let mut made = Self::bare(Base::Path(Path::Spline(fitted.spline)), progress, name);
        made.description.deviation_m =
            Deviation { rms: fitted.deviation_m.rms, max: fitted.farthest_point_m };
        made.description.speed_ripple = fitted.speed_ripple;
        Ok(made)
    }

    fn bare(base: Base, progress: Progress, name: &str) -> Self {
        let description = Description { name: name.to_owned(), ..Description::default() };
        Self { base, progress, start: None, ground: None, description }
    }

    /// Makes the motion follow the ground: height, roll and pitch are those of the ground.
    pub(super) fn put_on(
        &mut self,
        ground: &dyn GroundHeight,
        footprint_m: [f64; 2],
    ) -> Result<(), TrajectoryError> {
        let profile = match &mut self.base {
            // The vehicle queries the ground itself, see `keep_ground`.
            Base::Driven(_) => return Ok(()),
            Base::Feed(_) => {
                return Err(TrajectoryError::parameter(
                    "follow_ground",
                    "a feed sets z, roll and pitch itself",
                    "false",
                ));
            }
            Base::Still { position_m, yaw_rad, stance: stands } => {
                let place = [position_m.x, position_m.y, *yaw_rad];
                *stands =
                    stance(ground, footprint_m, place, &mut position_m.z).ok_or_else(nowhere)?;
                position_m.z = stands.z_m;
                return Ok(());
            }
            Base::Path(path) => {
                let place = |s: f64| {
                    let position = path.at(s);
                    let (yaw, _) = path.heading(&position);
                    (position.value, yaw[0])
                };
                GroundProfile::new(place, path.extent(), 1.0, ground, footprint_m)
            }
            Base::Recorded(recorded) => {
                let place = |u: f64| (recorded.position(u).value, recorded.yaw(u)[0]);
                let length_s = recorded.length_s();
                let count = 2 * recorded.spans();
                let fastest = (0..=count)
                    .map(|i| recorded.position(length_s * i as f64 / count as f64).first.length())
                    .fold(0.0, f64::max);
                let extent = match self.progress {
                    Progress::Steady { .. } => Extent::Closed(length_s),
                    Progress::Stop { .. } => Extent::Open(length_s),
                };
                // Turning on the spot moves the wheels, too.
                GroundProfile::new(place, extent, fastest.max(0.5), ground, footprint_m)
            }
        };
        let profile = profile.map_err(|_| nowhere())?;
        self.description.without_ground = profile.without_ground;
        if profile.without_ground > 0.0 {
            tracing::warn!(
                percent = (100.0 * profile.without_ground).ceil(),
                "part of the trajectory has no ground to follow; level at the last height there"
            );
        }
        self.ground = Some(profile);
        Ok(())
    }

    /// Puts a driven robot on `ground`. Other trajectories already follow their ground and are unchanged.
    ///
    /// # Errors
    /// There is no ground at the robot's start position.
    pub fn keep_ground(&self, ground: Arc<dyn GroundHeight>) -> Result<(), TrajectoryError> {
        match &self.base {
            Base::Driven(driven) if !driven.stand_on(ground) => Err(TrajectoryError::parameter(
                "follow_ground",
                "no ground at the start of the robot",
                "a `position_m` on the scene's ground, or false",
            )),
            _ => Ok(()),
        }
    }

    /// Computes highest speed, highest acceleration, duration and length of the finished motion for the description.
    pub(super) fn survey(&mut self) {
        let (extent, spans) = match &self.base {
            Base::Still { .. } | Base::Feed(_) | Base::Driven(_) => return,
            Base::Path(path) => (path.extent(), path.spans()),
            Base::Recorded(recorded) => match self.progress {
                Progress::Steady { .. } => (Extent::Closed(recorded.length_s()), recorded.spans()),
                Progress::Stop { .. } => (Extent::Open(recorded.length_s()), recorded.spans()),
            },
        };
        let [_, rate, _] = self.progress.at(0.0);
        let (surveyed_s, closed) = match extent {
            _ if rate == 0.0 => (0.0, false),
            Extent::Unbounded => (200.0 / rate, false),
            Extent::Closed(length) => (length / rate, true),
            Extent::Open(_) => (self.progress.ends_at_s().unwrap_or(0.0), false),
        };
        let steps = (2 * spans).clamp(1000, 200_000);
        for i in 0..=steps {
            let t = SimTime::from_secs_f64(surveyed_s * i as f64 / steps as f64);
            let state = self.state(t);
            let d = &mut self.description;
            d.max_speed_m_s = d.max_speed_m_s.max(state.velocity_m_s.length());
            d.max_acceleration_m_s2 = d.max_acceleration_m_s2.max(state.acceleration_m_s2.length());
        }
        let d = &mut self.description;
        d.closed = closed;
        if extent != Extent::Unbounded {
            d.duration_s = Some(surveyed_s);
            if let (Base::Path(_), Extent::Open(m) | Extent::Closed(m)) = (&self.base, extent) {
                d.length_m = Some(m);
            }
        }
        if d.max_acceleration_m_s2 > ROUGH_M_S2 {
            tracing::warn!(
                acceleration_m_s2 = d.max_acceleration_m_s2.round(),
                "the trajectory is rough: bends too tight or bumps too sharp for its speed"
            );
        }
    }
}

fn nowhere() -> TrajectoryError {
    TrajectoryError::parameter(
        "follow_ground",
        "no ground anywhere along the trajectory",
        "a trajectory over the scene's ground, or false",
    )
}

/// Checks that a closed path ends near its start: within 1.5 median steps, or within 1 m if that is more.
fn check_gap(poses: &[Pose]) -> Result<(), FileFault> {
    let mut steps: Vec<f64> =
        poses.windows(2).map(|w| w[0].position_m.distance(w[1].position_m)).collect();
    steps.sort_by(f64::total_cmp);
    let gap_m = poses[0].position_m.distance(poses[poses.len() - 1].position_m);
    let allowed_m = (1.5 * steps[steps.len() / 2]).max(1.0);
    if gap_m > allowed_m {
        return Err(FileFault::whole(format!(
            "`closed`, but the last pose is {gap_m:.2} m from the first; allowed: {allowed_m:.2} m"
        )));
    }
    Ok(())
}

/// Two texts about a fault: the problem, and the allowed values.
fn explain(fault: &PathFault, place: impl Fn(usize) -> String) -> (String, String) {
    match fault {
        PathFault::TooFew { found, least } => {
            (format!("{found} different points"), format!("at least {least}"))
        }
        PathFault::Vertical { index } => (
            format!("{} is straight above or below the point before", place(*index)),
            "points apart in x or y, because the robot faces along its path".into(),
        ),
        PathFault::Cusp { near_m } => (
            format!(
                "the path turns back on itself or climbs straight up near x {:.2} m, y {:.2} m",
                near_m.x, near_m.y
            ),
            "wider bends (add points)".into(),
        ),
    }
}

fn checked(field: &str, value: f64, low: f64, high: f64) -> Result<f64, TrajectoryError> {
    if (low..=high).contains(&value) {
        Ok(value)
    } else {
        Err(TrajectoryError::parameter(
            &format!("trajectory.{field}"),
            format!("found {value}"),
            format!("{low} to {high}"),
        ))
    }
}

fn checked_speed(value: f64) -> Result<f64, TrajectoryError> {
    checked("speed_m_s", value, 1e-3, MAX_SPEED_M_S)
}

fn checked_place(field: &str, place: &[f64; 3]) -> Result<DVec3, TrajectoryError> {
    for value in place {
        checked(field, *value, -MAX_COORDINATE_M, MAX_COORDINATE_M)?;
    }
    Ok(DVec3::from_array(*place))
}
