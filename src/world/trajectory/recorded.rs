//! Recorded poses: noisy samples over time, smoothed to a motion.

use glam::{DQuat, DVec3};

use super::path::{AngleJet, PositionJet, position_jet, thin};
use super::spline::{BSpline, Deviation, Fit, Grid, MAX_SPANS};
use crate::frames::quat_from_rpy;

/// Least interval between knots, seconds, except in recordings shorter than eight such intervals. An assumption: the
/// body of a robot does not change its motion faster.
const LEAST_SPACING_S: f64 = 0.05;
/// If a gap between samples is longer than this number of spans of the spline, a straight line fills it, which cannot
/// overshoot.
const BRIDGED_SPANS: f64 = 6.0;
/// Allowed deviation of orientations: 0.5° rms and 2° at most, radians.
const ALLOWED_RAD: Deviation =
    Deviation { rms: 0.5 * std::f64::consts::PI / 180.0, max: 2.0 * std::f64::consts::PI / 180.0 };
/// Fastest rotation from the last pose of a closed recording to the first pose of its next lap, rad/s.
const CLOSING_TURN_RAD_S: f64 = 0.5;

/// A pose at a time. Times start at 0 and increase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimedPose {
    /// Time since the first pose.
    pub time_s: f64,
    pub position_m: DVec3,
    /// Orientation, World from Body. Either all poses of a recording have it, or none.
    pub orientation: Option<DQuat>,
}

/// A smooth motion over time in seconds, starting at 0.
#[derive(Clone, Debug)]
pub struct Recorded {
    position: BSpline<3>,
    /// Quaternion x, y, z, w; its length is only approximately 1.
    attitude: BSpline<4>,
}

/// A smoothed recording, with its deviation from the samples.
#[derive(Clone, Debug)]
pub struct FittedRecording {
    pub motion: Recorded,
    /// Shortest period of motions that remain after smoothing, seconds.
    pub cutoff_s: f64,
    pub deviation_m: Deviation,
    pub deviation_rad: Deviation,
}

/// Error: orientations change too fast for the knots.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tumbling {
    /// First time at which the fitted quaternion is shorter than 0.5 instead of about 1, seconds. Checked only at the
    /// knots and midway between them.
    pub near_s: f64,
}

impl Recorded {
    /// Position and its derivatives at `u` seconds of the recording.
    pub fn position(&self, u: f64) -> PositionJet {
        position_jet(&self.position, u)
    }

    /// Orientation (World from Body), and angular rate in Body, rad per second of the recording, at `u` seconds.
    pub fn attitude(&self, u: f64) -> (DQuat, DVec3) {
        let jet = self.attitude.at(u);
        let (q, dq) = (DQuat::from_array(jet.value), DQuat::from_array(jet.first));
        // The formula is valid for q of any length, because the part of dq along q only changes the length.
        let turn = q.conjugate() * dq;
        (q.normalize(), turn.xyz() * (2.0 / q.length_squared()))
    }

    /// Yaw (rad) of the body's x axis, projected onto the horizontal plane, and its rate (rad/s), at `u` seconds of the
    /// recording.
    pub fn yaw(&self, u: f64) -> AngleJet {
        let (q, rate) = self.attitude(u);
        let forward = q * DVec3::X;
        let change = q * rate.cross(DVec3::X);
        // If the body's x axis is vertical, there is no heading; the limit avoids a division by zero.
        let squared = (forward.x * forward.x + forward.y * forward.y).max(1e-12);
        [libm::atan2(forward.y, forward.x), (forward.x * change.y - forward.y * change.x) / squared]
    }

    /// Duration of the recording or, if it is closed, of a lap, seconds.
    pub fn length_s(&self) -> f64 {
        self.position.grid().length()
    }

    /// Number of spans of the spline.
    pub fn spans(&self) -> usize {
        self.position.grid().spans
    }
}

/// Smooths a recording of 2 or more poses. Knots are about 0.05 s apart, or the median sample interval if that is
/// longer, but at most an eighth of the duration. Positions stay within `allowed_m` of the samples, as far as these
/// knots allow. Without orientations the robot is level and faces along its path; headings are computed over distances
/// of `heading_step_m`. The error [`Tumbling`] means that orientations change too fast.
pub fn fit_recording(
    poses: &[TimedPose],
    closed: bool,
    allowed_m: Deviation,
    heading_step_m: f64,
) -> Result<FittedRecording, Tumbling> {
    let mut quats = match poses.iter().map(|p| p.orientation).collect::<Option<Vec<_>>>() {
        Some(quats) => quats,
        None => headings(poses, closed, heading_step_m),
    };
    for i in 1..quats.len() {
        if quats[i].dot(quats[i - 1]) < 0.0 {
            quats[i] = -quats[i];
        }
    }
    let positions: Vec<_> =
        poses.iter().map(|p| (p.time_s, p.position_m.to_array())).collect::<Vec<_>>();
    let attitudes: Vec<_> =
        poses.iter().zip(&quats).map(|(p, q)| (p.time_s, q.to_array())).collect();

    let mut intervals: Vec<f64> = poses.windows(2).map(|w| w[1].time_s - w[0].time_s).collect();
    intervals.sort_by(f64::total_cmp);
    let median_s = intervals[intervals.len() / 2];
    let duration_s = poses[poses.len() - 1].time_s;
    let (first, last) = (quats[0], quats[quats.len() - 1]);
    let factor = if first.dot(last) < 0.0 { -1.0 } else { 1.0 };
    let mut length_s = duration_s;
    if closed {
        let gap_m = poses[0].position_m.distance(poses[poses.len() - 1].position_m);
        let way_m: f64 = poses.windows(2).map(|w| w[0].position_m.distance(w[1].position_m)).sum();
        let turn = 2.0 * libm::acos(first.dot(last).abs().min(1.0));
        if gap_m > 1e-3 || turn > 1e-3 {
            let drive_s = if way_m > 0.0 { gap_m * duration_s / way_m } else { 0.0 };
            length_s += median_s.max(drive_s).max(turn / CLOSING_TURN_RAD_S);
        }
    }
    let wanted_s = median_s.max(LEAST_SPACING_S).min(length_s / 8.0);
    let most = (64 * poses.len() + 1024).min(MAX_SPANS);
    let spans = ((length_s / wanted_s).ceil() as usize).clamp(1, most);
    let grid = |factor: f64| Grid {
        spacing: length_s / spans as f64,
        spans,
        lap_factor: closed.then_some(factor),
    };

    let positions = bridged(positions, &grid(1.0));
    let (position, cutoff_s, deviation_m) =
        Fit { grid: grid(1.0), samples: &positions, cutoff: 0.0 }.solve_within(allowed_m);
    let attitudes = bridged(attitudes, &grid(factor));
    // The distance between unit quaternions is half of the angle between them.
    let (attitude, _, half) = Fit { grid: grid(factor), samples: &attitudes, cutoff: 0.0 }
        .solve_within(Deviation { rms: 0.5 * ALLOWED_RAD.rms, max: 0.5 * ALLOWED_RAD.max });
    for i in 0..=2 * spans {
        let near_s = attitude.grid().spacing * i as f64 / 2.0;
        if DQuat::from_array(attitude.at(near_s).value).length_squared() < 0.25 {
            return Err(Tumbling { near_s });
        }
    }
    Ok(FittedRecording {
        motion: Recorded { position, attitude },
        cutoff_s,
        deviation_m,
        deviation_rad: Deviation { rms: 2.0 * half.rms, max: 2.0 * half.max },
    })
}

/// Adds samples on a straight line where neighbours are far apart, also between the last sample of a closed curve and
/// the first one of its next lap. Drops a sample at the end of a closed curve, where the next lap starts.
fn bridged<const D: usize>(mut samples: Vec<(f64, [f64; D])>, grid: &Grid) -> Vec<(f64, [f64; D])> {
    let length = grid.length();
    if let Some(factor) = grid.lap_factor {
        let (_, first) = samples[0];
        samples.retain(|(u, _)| *u < length * (1.0 - 1e-12));
        samples.push((length, first.map(|x| x * factor)));
    }
    let mut all = Vec::with_capacity(samples.len());
    for pair in samples.windows(2) {
        let ((u, a), (v, b)) = (pair[0], pair[1]);
        all.push((u, a));
        let steps = (v - u) / grid.spacing;
        if steps > BRIDGED_SPANS {
            let steps = steps.ceil() as usize;
            all.extend((1..steps).map(|i| {
                let share = i as f64 / steps as f64;
                (u + (v - u) * share, std::array::from_fn(|d| a[d] + (b[d] - a[d]) * share))
            }));
        }
    }
    if grid.lap_factor.is_none() {
        all.extend(samples.last());
    }
    all
}

/// Level orientations along the path: the direction between positions `step_m` apart, interpolated over the distance
/// from the first of them. A robot at rest keeps its heading.
fn headings(poses: &[TimedPose], closed: bool, step_m: f64) -> Vec<DQuat> {
    let places: Vec<DVec3> = poses.iter().map(|p| p.position_m.with_z(0.0)).collect();
    let anchors = thin(&places, false, step_m);
    let count = anchors.len();
    if count < 2 {
        return vec![DQuat::IDENTITY; poses.len()];
    }
    // On a closed path, positions near the ends are compared across the seam.
    let apart =
        |j: usize, k: usize| places[anchors[j]].distance(places[anchors[k]]) >= 0.5 * step_m;
    let before_first = (1..count).rev().find(|&j| closed && apart(j, 0)).unwrap_or(0);
    let after_last = (0..count - 1).find(|&j| closed && apart(j, count - 1)).unwrap_or(count - 1);
    let mut yaws: Vec<f64> = Vec::with_capacity(count);
    for k in 0..count {
        let before = if k == 0 { before_first } else { k - 1 };
        let after = if k == count - 1 { after_last } else { k + 1 };
        let mut along = places[anchors[after]] - places[anchors[before]];
        if along.length() < 1e-6 {
            // The positions are equal: use the direction of arrival.
            along = places[anchors[k]] - places[anchors[before]];
        }
        let yaw = libm::atan2(along.y, along.x);
        let turn = std::f64::consts::TAU;
        yaws.push(match yaws.last() {
            Some(last) => yaw - ((yaw - last) / turn).round() * turn,
            None => yaw,
        });
    }
    let (mut k, mut share) = (0, 0.0_f64);
    places
        .iter()
        .enumerate()
        .map(|(i, place)| {
            while k + 2 < count && anchors[k + 1] <= i {
                (k, share) = (k + 1, 0.0);
            }
            let (from, to) = (places[anchors[k]], places[anchors[k + 1]]);
            // The share never decreases, so that noise of the positions does not turn a robot at rest back and forth.
            let reached = place.distance(from) / from.distance(to).max(f64::MIN_POSITIVE);
            share = share.max(reached).min(1.0);
            quat_from_rpy(0.0, 0.0, yaws[k] + (yaws[k + 1] - yaws[k]) * share)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_robot_that_stands_in_a_bend_keeps_its_heading() {
        // 10 m east, a minute of rest, 10 m north; 1 m/s, 10 poses per second.
        let ways_m = (0..=100).chain([100; 600]).chain(101..=200).map(|i| 0.1 * f64::from(i));
        let pose = |(i, way_m): (u32, f64)| TimedPose {
            time_s: 0.1 * f64::from(i),
            position_m: DVec3::new(way_m.min(10.0), (way_m - 10.0).max(0.0), 0.0),
            orientation: None,
        };
        let poses: Vec<TimedPose> = (0..).zip(ways_m).map(pose).collect();
        let quats = headings(&poses, false, 0.5);
        let stands = &quats[100..=700];
        assert!(stands.iter().all(|quat| *quat == stands[0]), "{} {}", stands[0], stands[600]);
        let faces = |quat: DQuat, along: DVec3| (quat * DVec3::X - along).length() < 1e-9;
        assert!(faces(quats[50], DVec3::X) && faces(quats[750], DVec3::Y));
        assert!(faces(quats[0], DVec3::X) && faces(quats[800], DVec3::Y));
    }
}
