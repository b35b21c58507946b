//! Two returns of one pulse at an edge, after figures 6 to 8 of Elmquist et al. 2021: a beam footprint on the edge of a
//! near wall also hits the far wall, a single ray hits only one of them.

use std::f64::consts::TAU;
use std::fmt::Write;
use std::time::Duration;

use serde_json::{Value, json};

use super::super::{Comparison, ExperimentError, Scope, recording};
use super::{HEIGHT_M, LEVEL_LASER_S, LEVEL_M};

/// Distance of the slabs ahead of the lidar, metres.
const NEAR_M: f64 = 8.0;
/// Width of a slab, metres.
const WIDTH_M: f64 = 0.5;
/// Distance from the middle of one slab to the next, metres.
const PITCH_M: f64 = 1.0;
/// Thickness of a slab, metres.
const THICK_M: f64 = 0.01;
/// Number of slabs on each side of the one straight ahead.
const SLABS: i32 = 4;
const RATE_HZ: f64 = 10.0;
/// Half of the beam's full divergence, radians.
const HALF_RAD: f64 = 1.5e-3;
/// Angle of the beam's outer columns of rays, as a share of [`HALF_RAD`]. The nine rays form three columns.
const OUTER: f64 = 0.774_596_669_241_483_4;
/// A pulse counts only if an edge is between the outer columns of the pulse's rays and at least this angle, radians,
/// from both columns, because azimuths in packets have steps of 0.01 degrees.
const MARGIN_RAD: f64 = 1.5e-4;
/// Two ranges count as equal, and a range counts as the range of a wall, if the difference is less than this, metres.
const SAME_M: f64 = 0.02;

/// Counts of pulses at an edge.
pub(super) struct Edge {
    gap_m: f64,
    rays: u32,
    straddling: usize,
    /// Number of pulses with two ranges, one for each wall.
    double: usize,
    /// Number of pulses with one return: both blocks have the same range.
    single: usize,
}

/// Counts returns at edges in three cases: a beam at walls 3 m apart, a beam at walls 0.9 m apart, and a single ray at
/// walls 3 m apart.
pub(super) fn measure(seed: u64, scope: &Scope) -> Result<Vec<Edge>, ExperimentError> {
    let cases: &[(f64, u32)] = &[(3.0, 9), (0.9, 9), (3.0, 1)];
    let duration = scope.of(Duration::from_secs(1), Duration::from_millis(250));
    cases.iter().map(|(gap_m, rays)| edge(seed, *gap_m, *rays, duration)).collect()
}

fn rig_text(seed: u64, gap_m: f64, rays: u32) -> String {
    let size = 2.0 * (NEAR_M + gap_m);
    let shape = if rays == 1 { "shape = \"ray\", " } else { "" };
    let mut text = format!(
        "seed = {seed}\nstart_utc = 2026-06-01T10:00:00Z\n[world]\nscene = \"room\"\n\
         parameters = {{ size_m = [{size:?}, 60.0, 12.0] }}\n[robot]\ntrajectory = {{ kind = \"still\" }}\n\
         [[device]]\nname = \"lidar\"\nprofile = \"velodyne-hdl32e-2.2\"\n\
         mount = {{ translation_m = [0.0, 0.0, {HEIGHT_M:?}] }}\n\
         link = {{ udp = {{ to = \"127.0.0.1:2368\" }} }}\n\
         settings = {{ rotation_rate_rpm = {:.0}, return_mode = \"dual\", azimuth_jitter_centideg = 0.0, \
         beam = {{ {shape}sees = {{ reflectance = 0.0, at_m = 1.0 }} }}, errors = \"none\" }}\n",
        60.0 * RATE_HZ
    );
    for slab in -SLABS..=SLABS {
        let at = [NEAR_M + 0.5 * THICK_M, f64::from(slab) * PITCH_M, 0.0];
        let (number, size) = (slab + SLABS, [THICK_M, WIDTH_M, 3.0]);
        let _ = write!(
            text,
            "[[world.object]]\nname = \"slab-{number}\"\nbody = \"box\"\nsize_m = {size:?}\n\
             trajectory = {{ kind = \"still\", position_m = {at:?} }}\n"
        );
    }
    text
}

/// Directions of the slabs' edges as seen from the lidar, radians from forward, left positive.
fn edges_rad() -> Vec<f64> {
    let corner = |y: f64, x: f64| libm::atan2(y, x);
    let both = (-SLABS..=SLABS).flat_map(|slab| {
        let middle = f64::from(slab) * PITCH_M;
        let (right, left) = (middle - 0.5 * WIDTH_M, middle + 0.5 * WIDTH_M);
        let (front, back) = (NEAR_M, NEAR_M + THICK_M);
        [corner(right, front).min(corner(right, back)), corner(left, front).max(corner(left, back))]
    });
    both.collect()
}

fn edge(seed: u64, gap_m: f64, rays: u32, duration: Duration) -> Result<Edge, ExperimentError> {
    let rig = recording::rig("scan-distortion.toml", &rig_text(seed, gap_m, rays), &[])?;
    let world = recording::world(&rig)?;
    let edges = edges_rad();
    let mut found = Edge { gap_m, rays, straddling: 0, double: 0, single: 0 };
    // The two returns of a firing are in successive blocks with the same azimuth.
    let mut first: Option<recording::Sweep> = None;
    recording::decode(&rig, &world, duration, &mut |sweep| {
        let Some(other) = first.take_if(|first| first.azimuth_deg == sweep.azimuth_deg) else {
            first = Some(sweep);
            return;
        };
        let Some(azimuth_deg) = sweep.azimuth_deg else { return };
        let turned = azimuth_deg.to_radians() + TAU * RATE_HZ * LEVEL_LASER_S;
        // Counterclockwise from forward.
        let direction = -(turned - if turned > 0.5 * TAU { TAU } else { 0.0 });
        let off = |edge: &f64| (edge - direction).abs();
        let nearest = edges.iter().map(off).fold(f64::MAX, f64::min);
        if nearest > OUTER * HALF_RAD - MARGIN_RAD {
            return;
        }
        found.straddling += 1;
        let level = |sweep: &recording::Sweep| {
            let points = sweep.points.iter().filter(|point| point.position_m.z.abs() < LEVEL_M);
            points.map(|point| point.position_m.truncate().length()).next()
        };
        let (Some(a), Some(b)) = (level(&other), level(&sweep)) else { return };
        let cos = libm::cos(direction);
        let (near_m, far_m) = (NEAR_M / cos, (NEAR_M + gap_m) / cos);
        let is = |range: f64, wall: f64| (range - wall).abs() < SAME_M;
        if (a - b).abs() < SAME_M {
            found.single += 1;
        } else if is(a.min(b), near_m) && is(a.max(b), far_m) {
            found.double += 1;
        }
    })?;
    Ok(found)
}

impl Edge {
    fn share(&self) -> f64 {
        self.double as f64 / self.straddling.max(1) as f64
    }

    fn name(&self) -> String {
        let rays = if self.rays == 1 { "one ray" } else { "nine rays" };
        format!("walls {} m apart, {rays}", self.gap_m)
    }

    pub(super) fn comparison(&self) -> Comparison {
        let ours = format!(
            "{} of {} pulses at an edge have both returns, {} one",
            self.double, self.straddling, self.single
        );
        let what = format!("two returns at an edge, {}", self.name());
        let enough = self.straddling >= 10;
        if self.rays > 1 && self.gap_m > 1.0 {
            let why = "95 % or more: edges within 0.15 mrad of a column of rays are left out; the \
                       other pulses hit both walls";
            return Comparison::judged(what, "both", ours, why, self.share() >= 0.95 && enough);
        }
        let (paper, why) = match self.rays {
            1 => ("never two", "none: one ray ends on one wall"),
            _ => ("one, if nearer than 1 m", "none: echoes a pulse width apart have one maximum"),
        };
        let holds = self.double == 0 && self.single == self.straddling && enough;
        Comparison::judged(what, paper, ours, why, holds)
    }

    pub(super) fn json(&self) -> Value {
        json!({ "gap_m": self.gap_m, "rays": self.rays, "straddling": self.straddling,
                "double": self.double, "single": self.single })
    }
}

/// Table of all cases as text.
pub(super) fn table(edges: &[Edge]) -> String {
    let mut text = String::from("\npulses at an edge                straddling  both  one\n");
    for edge in edges {
        let _ = writeln!(
            text,
            "{:32} {:>10} {:>5} {:>4}",
            edge.name(),
            edge.straddling,
            edge.double,
            edge.single
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_those_of_nine_slabs() {
        let edges = edges_rad();
        assert_eq!(edges.len(), 18);
        // Edges of the slab straight ahead.
        let ahead: Vec<f64> = edges.iter().copied().filter(|edge| edge.abs() < 0.04).collect();
        assert_eq!(ahead.len(), 2);
        assert!((ahead[0] + ahead[1]).abs() < 1e-12);
        assert!((ahead[1] - libm::atan2(0.25, 8.0)).abs() < 1e-12);
        // For slabs to the side, the visible corner is the far one on the side that faces the middle.
        assert!(edges.iter().any(|edge| (edge - libm::atan2(0.75, 8.01)).abs() < 1e-12));
    }
}
