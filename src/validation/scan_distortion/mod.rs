//! `menura validate scan-distortion`: an HDL-32E drives past cylinders at 20 m/s, after figure 5 of Elmquist et
//! al. 2021 (Chrono::Sensor).
//!
//! A scan takes 50 ms, in which the vehicle moves by one metre. On the side where the beam moves with the cylinders in
//! the sensor's frame, from front to back, they appear longer; on the other side shorter. The paper's lidar rotates
//! counterclockwise, so the left side is longer. A real Velodyne rotates clockwise: mounted upright, its right side is
//! longer; mounted upside down, it rotates like the paper's. The run has both mounts. The paper prints neither the
//! cylinders' distance nor a length, so the results are compared with the closed form ([`measure::stretch`]).

mod edges;
mod measure;
mod plot;

use std::collections::BTreeMap;
use std::f64::consts::TAU;
use std::fmt::Write;
use std::time::Duration;

use glam::{DQuat, DVec2, DVec3};
use serde_json::json;

use self::measure::{Passes, RADIUS_M, Shown, axis_of, range_to_rows, stretch};
use super::{Comparison, ExperimentError, Findings, Plot, Run, Scope, recording};
use crate::frames::quat_about;

/// Rotation rate of the lidar, Hz. An error of the rate by 10 % changes the distortion by 10 %.
const RATE_HZ: f64 = 20.0;
const SPEED_M_S: f64 = 20.0;
/// Distance from one cylinder's axis to the next, metres.
const SPACING_M: f64 = 2.0;
/// Distance of the room's eastern wall, metres. The start and the end of each scan are on this wall, and the difference
/// of their distances is measured.
const WALL_M: f64 = 100.0;
/// Height of the lidars above the ground, metres.
const HEIGHT_M: f64 = 1.5;
/// Number of blocks per packet (HDL-32E manual).
const BLOCKS: usize = 12;
/// Time per block, seconds (HDL-32E manual).
const BLOCK_S: f64 = 46.08e-6;
/// Time from the start of a block to the firing of the level laser, seconds (HDL-32E manual).
const LEVEL_LASER_S: f64 = 15.0 * 1.152e-6;
/// Points count as points of the level laser if their height differs from that of the lidar by at most this, metres.
const LEVEL_M: f64 = 0.02;
/// Largest distance of a used cylinder ahead of or behind the lidar, along the path, metres.
const NEAR_M: f64 = 0.5;
/// Smallest cosine of incidence of rays whose ranges test the firing times; ranges of grazing rays are not accurate
/// enough.
const LEAST_COSINE: f64 = 0.5;
/// Resolution of distances in packets, metres.
const QUANTUM_M: f64 = 0.002;

/// Options of the experiment.
#[derive(Debug)]
pub struct ScanDistortion {
    /// Seed of the noise, in variants with noise
    pub seed: u64,
}

/// Mounts of the two lidars with their roll, degrees: upright and upside down.
const MOUNTS: [(&str, f64); 2] = [("clockwise", 0.0), ("counter-clockwise", 180.0)];

/// Result of one drive past the rows of cylinders, at one distance.
struct Pass {
    edge_m: f64,
    /// Cylinders as each lidar shows them, by mount.
    shown: [Vec<Shown>; 2],
    /// Decrease of the wall's distance from the start to the end of a scan of the upright lidar, metres.
    tears_m: Vec<f64>,
    /// Measured ranges minus the exact ranges at the firing times, metres.
    residuals_m: Vec<f64>,
    /// Points of one rotation of the upright lidar, in its axes, metres.
    picture: Vec<DVec2>,
    /// Position of the sensor in the middle of the rotation in `picture`, metres along the path.
    picture_at_m: f64,
}

/// Results of the packets of one lidar so far.
#[derive(Default)]
struct Reading {
    passes: Passes,
    revolution: u64,
    last_azimuth_deg: f64,
    block: usize,
    leaves_ns: u64,
    /// The wall ahead, by rotation: azimuth (degrees) and distance (metres) of its first and its last point.
    wall: BTreeMap<u64, [(f64, f64); 2]>,
    residuals_m: Vec<f64>,
    picture: Vec<DVec2>,
    picture_span_m: Option<[f64; 2]>,
}

/// Text of the rig. The robot is at rest at `x_m` or, with a speed above 0, drives from there. `cylinders` is the
/// number of the last cylinder of a row.
fn rig_text(seed: u64, edge_m: f64, x_m: f64, speed_m_s: f64, cylinders: i64) -> String {
    let trajectory = if speed_m_s > 0.0 {
        format!("{{ kind = \"line\", start_m = [{x_m:?}, 0.0, 0.0], speed_m_s = {speed_m_s:?} }}")
    } else {
        format!("{{ kind = \"still\", position_m = [{x_m:?}, 0.0, 0.0] }}")
    };
    let mut text = format!(
        "seed = {seed}\nstart_utc = 2026-06-01T10:00:00Z\n[world]\nscene = \"room\"\n\
         parameters = {{ size_m = [{:?}, 60.0, 12.0] }}\n[robot]\ntrajectory = {trajectory}\n",
        2.0 * WALL_M
    );
    for number in -3..=cylinders {
        for (side, sign) in [("left", 1.0), ("right", -1.0)] {
            let at = [number as f64 * SPACING_M, sign * axis_of(edge_m), 0.0];
            let (name, size) = (number + 3, [2.0 * RADIUS_M, 2.0 * RADIUS_M, 3.0]);
            let _ = write!(
                text,
                "[[world.object]]\nname = \"{side}-{name}\"\nbody = \"cylinder\"\nsize_m = {size:?}\n\
                 trajectory = {{ kind = \"still\", position_m = {at:?} }}\n"
            );
        }
    }
    for (name, roll_deg) in MOUNTS {
        let _ = write!(
            text,
            "[[device]]\nname = \"{name}\"\nprofile = \"velodyne-hdl32e-2.2\"\n\
             mount = {{ translation_m = [0.0, 0.0, {HEIGHT_M:?}], roll_pitch_yaw_deg = [{roll_deg:?}, 0.0, 0.0] }}\n\
             link = {{ udp = {{ to = \"127.0.0.1:2368\" }} }}\n\
             settings = {{ rotation_rate_rpm = {:.0}, azimuth_jitter_centideg = 0.0, \
             beam = {{ shape = \"ray\", sees = {{ reflectance = 0.0, at_m = 1.0 }} }}, \
             errors = \"none\" }}\n",
            60.0 * RATE_HZ
        );
    }
    text
}

impl Reading {
    /// Adds a block of a packet. `rolled` is the rotation of the lidar's mount. `x_at` returns the lidar's position
    /// along the path, metres, at a time in seconds.
    fn see(
        &mut self,
        sweep: &recording::Sweep,
        rolled: DQuat,
        edge_m: f64,
        x_at: &dyn Fn(f64) -> f64,
    ) {
        self.block = if sweep.leaves.0 == self.leaves_ns { self.block + 1 } else { 0 };
        self.leaves_ns = sweep.leaves.0;
        let azimuth_deg = sweep.azimuth_deg.unwrap_or_default();
        if azimuth_deg < self.last_azimuth_deg - 180.0 {
            self.revolution += 1;
        }
        self.last_azimuth_deg = azimuth_deg;
        // A packet leaves after its last block.
        let to_go = (BLOCKS - self.block.min(BLOCKS)) as f64;
        let fired_s = sweep.leaves.as_secs_f64() - to_go * BLOCK_S + LEVEL_LASER_S;
        let x_m = x_at(fired_s);
        // Drivers use the block's azimuth for all its lasers, although the head rotates between firings. This corrects
        // the angle.
        let late = quat_about(DVec3::Z, -TAU * RATE_HZ * LEVEL_LASER_S);
        for point in &sweep.points {
            if point.position_m.z.abs() > LEVEL_M {
                continue;
            }
            let place = rolled * (late * point.position_m);
            self.point(place, azimuth_deg, x_m, edge_m);
        }
    }

    fn point(&mut self, place: DVec3, azimuth_deg: f64, x_m: f64, edge_m: f64) {
        let flat = place.truncate();
        if self.revolution == 2 {
            self.picture.push(flat);
            let span = self.picture_span_m.get_or_insert([x_m; 2]);
            span[1] = x_m;
        }
        if flat.x > 40.0 && flat.y.abs() < 1.0 {
            let seen = (azimuth_deg, flat.x);
            self.wall.entry(self.revolution).or_insert([seen; 2])[1] = seen;
        }
        let axis_m = axis_of(edge_m);
        if flat.y.abs() > axis_m + RADIUS_M || flat.x.abs() > 2.0 * SPACING_M {
            return;
        }
        let number = ((x_m + flat.x) / SPACING_M).round() as i64;
        self.passes.add((self.revolution, flat.y > 0.0, number), place, x_m);
        let range_m = flat.length();
        let cast = range_to_rows(DVec2::new(x_m, 0.0), flat / range_m, axis_m, SPACING_M);
        if let Some((cast_m, cosine)) = cast
            && cosine > LEAST_COSINE
        {
            self.residuals_m.push(range_m - cast_m);
        }
    }

    /// Decrease of the wall's distance within each complete rotation, metres.
    fn tears_m(&self) -> Vec<f64> {
        let whole = self.wall.values().filter(|[(from, _), (to, _)]| *from < 1.0 && *to > 359.0);
        whole.map(|[(_, from_m), (_, to_m)]| from_m - to_m).collect()
    }
}

impl ScanDistortion {
    fn pass(
        &self,
        edge_m: f64,
        x_m: f64,
        speed_m_s: f64,
        duration_s: f64,
    ) -> Result<Pass, ExperimentError> {
        let cylinders = ((x_m + speed_m_s * duration_s) / SPACING_M) as i64 + 4;
        let text = rig_text(self.seed, edge_m, x_m, speed_m_s, cylinders);
        let rig = recording::rig("scan-distortion.toml", &text, &[])?;
        let world = recording::world(&rig)?;
        let mut readings = [Reading::default(), Reading::default()];
        let rolled = MOUNTS.map(|(_, roll_deg)| quat_about(DVec3::X, roll_deg.to_radians()));
        let x_at = |t_s: f64| x_m + speed_m_s * t_s;
        recording::decode(&rig, &world, Duration::from_secs_f64(duration_s), &mut |sweep| {
            let device = sweep.device.0;
            readings[device].see(&sweep, rolled[device], edge_m, &x_at);
        })?;
        let step_rad = TAU * RATE_HZ * BLOCK_S;
        let [upright, hung] = readings;
        let picture_at_m = upright.picture_span_m.map_or(x_m, |[from, to]| 0.5 * (from + to));
        let tears_m = upright.tears_m();
        let shown = [&upright, &hung]
            .map(|reading| reading.passes.shown(edge_m, SPACING_M, step_rad, NEAR_M));
        let residuals_m = [upright.residuals_m, hung.residuals_m].concat();
        Ok(Pass { edge_m, shown, tears_m, residuals_m, picture: upright.picture, picture_at_m })
    }
}

/// Mean ratio of the cylinders on one side, and their number.
fn mean_ratio(shown: &[Shown], is_left: bool) -> (f64, usize) {
    let own: Vec<f64> = shown.iter().filter(|s| s.is_left == is_left).map(|s| s.ratio).collect();
    (own.iter().sum::<f64>() / own.len() as f64, own.len())
}

/// Ratio of a cylinder's length in a scan to its true length, as the closed form predicts it. The first lidar rotates
/// clockwise, so its right side is longer.
fn expected(mount: usize, is_left: bool, edge_m: f64) -> f64 {
    let is_longer = (mount == 1) == is_left;
    let turn = TAU * RATE_HZ;
    stretch(SPEED_M_S, if is_longer { turn } else { -turn }, edge_m)
}

fn rms(values: &[f64]) -> f64 {
    (values.iter().map(|value| value * value).sum::<f64>() / values.len() as f64).sqrt()
}

impl Run for ScanDistortion {
    const NAME: &'static str = "scan-distortion";
    const ABOUT: &'static str = "Drive a spinning lidar past cylinders: its rotation makes them look longer or shorter (Elmquist et al. 2021)";

    fn run(&self, scope: &Scope) -> Result<Findings, ExperimentError> {
        let edges_m: &[f64] = scope.of(&[2.0, 3.0], &[2.0]);
        let still_at_m: &[f64] = scope.of(&[-0.4, -0.2, 0.0, 0.2, 0.4], &[-0.25, 0.25]);
        let duration_s = scope.of(1.3, 0.7);
        let total = edges_m.len() * (1 + still_at_m.len()) + 1;
        let progress = scope.progress(Self::NAME, total as u64);
        let (mut moving, mut still) = (Vec::new(), Vec::new());
        for edge_m in edges_m {
            moving.push(self.pass(*edge_m, 0.0, SPEED_M_S, duration_s)?);
            progress.advance(1);
            for x_m in still_at_m {
                still.push(self.pass(*edge_m, *x_m, 0.0, 0.12)?);
                progress.advance(1);
            }
        }
        let edges = edges::measure(self.seed, scope)?;
        drop(progress);
        Ok(self.findings(&moving, &still, &edges))
    }
}

impl ScanDistortion {
    fn findings(&self, moving: &[Pass], still: &[Pass], edges: &[edges::Edge]) -> Findings {
        let mut comparisons = Vec::new();
        let mut rows = Vec::new();
        let mut text = format!(
            "{:18} {:>8} {:>6} {:>9} {:>10} {:>9}\n",
            "lidar turns", "edges at", "side", "cylinders", "length", "expected"
        );
        for pass in moving {
            for (mount, (name, _)) in MOUNTS.iter().enumerate() {
                for (side, is_left) in [("left", true), ("right", false)] {
                    let (ratio, count) = mean_ratio(&pass.shown[mount], is_left);
                    let expected = expected(mount, is_left, pass.edge_m);
                    let _ = writeln!(
                        text,
                        "{name:18} {:>6.1} m {side:>6} {count:>9} {ratio:>10.4} {expected:>9.4}",
                        pass.edge_m
                    );
                    rows.push(json!({ "turns": name, "edge_m": pass.edge_m, "side": side,
                                      "cylinders": count, "ratio": ratio, "expected": expected }));
                    comparisons.push(Comparison::judged(
                        format!("{side} cylinders at {} m, {name}", pass.edge_m),
                        format!("{expected:.3}, closed form"),
                        format!("{ratio:.3} of their length, {count} cylinders"),
                        "1 %: an edge is known to half a step of 12 to 17 mm, the mean of ten \
                         cylinders to a third of that",
                        (ratio / expected - 1.0).abs() <= 0.01 && count >= 5,
                    ));
                }
            }
        }
        let ratios: Vec<f64> = still
            .iter()
            .flat_map(|pass| pass.shown.iter().flatten().map(|shown| shown.ratio))
            .collect();
        let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
        comparisons.push(Comparison::judged(
            "cylinders from a vehicle at rest",
            "1.000",
            format!("{mean:.4} of their length, {} cylinders", ratios.len()),
            "0.5 %: half a step over the number of edges",
            (mean - 1.0).abs() <= 0.005 && ratios.len() >= 6,
        ));
        let tears: Vec<f64> = moving.iter().flat_map(|pass| pass.tears_m.iter().copied()).collect();
        let tear_m = tears.iter().sum::<f64>() / tears.len() as f64;
        comparisons.push(Comparison::judged(
            "gap between the start and the end of a scan, at a wall ahead",
            format!("{:.2} m, speed over rate", SPEED_M_S / RATE_HZ),
            format!("{tear_m:.3} m, {} scans", tears.len()),
            "20 mm: a step of 1 mm and two distances of 2 mm, with a margin",
            (tear_m - SPEED_M_S / RATE_HZ).abs() <= 0.02 && tears.len() >= 5,
        ));
        let residuals: Vec<f64> =
            moving.iter().flat_map(|pass| pass.residuals_m.iter().copied()).collect();
        let off_m = rms(&residuals);
        comparisons.push(Comparison::judged(
            "points against rays cast at their firing times",
            "none",
            format!("{:.2} mm rms, {} points", 1e3 * off_m, residuals.len()),
            "1 mm and a distance's step of 2 mm: a cylinder is a prism of 128 sides",
            off_m <= 1e-3 + QUANTUM_M && residuals.len() >= 500,
        ));
        comparisons.extend(edges.iter().map(edges::Edge::comparison));
        let _ = writeln!(
            text,
            "\nat rest: {mean:.4}; gap {tear_m:.3} m; error of the points {:.2} mm rms",
            1e3 * off_m
        );
        text += &edges::table(edges);
        let report = json!({ "seed": self.seed, "speed_m_s": SPEED_M_S, "rate_hz": RATE_HZ,
            "cylinders": rows, "standing": mean, "tear_m": tear_m, "residual_rms_m": off_m,
            "edges": edges.iter().map(edges::Edge::json).collect::<Vec<_>>() });
        Findings { text, report, plots: vec![Plot::main(plot::draw(moving))], comparisons }
    }
}
