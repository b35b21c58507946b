//! The robot's motion: position, orientation and their rates, smooth enough for an IMU.
//!
//! ```text
//! curve over a parameter u        path.rs        line, circle, sine, spline over arc length (cubic.rs)
//!                                 recorded.rs    splines of poses over the file's time
//!                                 feed.rs        poses from another simulator during the run
//!                                 ../vehicle     motion commanded by the robot's computer during the run
//! u over time                     progress.rs    constant rate, also with a stop at the end
//! z, roll, pitch over u           ground_following.rs, if the robot follows the ground
//! ```
//!
//! The motion starts at full speed at the start of the run; [`Trajectory::starting_from_rest`] adds a
//! ramp.
//!
//! # Smoothness
//!
//! If the motion is known before the run, position has a continuous acceleration and orientation a continuous angular
//! acceleration, everywhere and for every kind. All splines that are evaluated during the run are quintic, with four
//! continuous derivatives. Velocity, acceleration and angular rate are analytic derivatives, never differences. The
//! motion from a feed can jump at each datagram.
//!
//! # Smoothing
//!
//! | Kind | Curve | Facing |
//! |---|---|---|
//! | still, line, circle | exact | line: its yaw, even if the robot moves backwards; circle: along |
//! | half-sine | exact sine; after the half wave the next one swings to the other side | along |
//! | waypoints | the C2 cubic spline through the points over centripetal knots, rewritten over arc length within 1 mm rms, 4 mm at most | along, nose up and down with the slope |
//! | file with `speed_m_s` | the same, over points at least twice the rms tolerance apart; within 0.1 m rms, 0.4 m at most (TUM, CSV), 0.25 m and 2 m (`.vprp`: drawn by hand, with bends too tight for any robot), 0.5 m and 2 m (GPX) | along, as above |
//! | file with its times | each coordinate over time, within 0.03 m rms, 0.12 m at most (GPX 0.5 m and 2 m) | the recorded orientation within 0.5° rms, 2° at most; if there is none, level and along the path |
//! | z, roll and pitch from the ground | the plane under four wheels at the corners of `footprint_m`, 0.6 m by 0.5 m unless the rig sets another size; waves shorter than its length are averaged; without ground, the robot is level at the last height | yaw as above |
//!
//! Smoothing is as strong as the tolerances allow (a penalty on the third derivative, see `spline`). Knots of
//! recordings are 0.05 s apart, or the median sample interval if that is longer. Gaps of more than six knots are
//! bridged by a straight line. [`Trajectory::describe`] returns the deviations, the largest acceleration, and the
//! speed ripple (the largest relative error of a speed that should be constant: 1e-4, and 1e-2 in bends with a radius
//! of centimetres).
//!
//! # End of the path
//!
//! On waypoints and files that are not closed, the robot brakes over the last metres (peak 1.5 m/s², continuous jerk)
//! and stays at the end. Closed paths repeat without end; the last pose of a closed file must be within 1 m of its
//! first, or within 1.5 times the usual step.

mod cubic;
pub(crate) mod error;
pub mod feed;
pub mod files;
pub(crate) mod ground_following;
mod motion;
mod path;
mod progress;
mod recorded;
pub(crate) mod spline;
pub mod truth;

pub use error::{FileFault, TrajectoryError};
pub use motion::{Description, End, Trajectory};
pub use progress::Start;
