//! Ground truth of a frame: for each pixel the surface, its depth, and its position in the previous frame.
//!
//! All values refer to the middle of the pixel at the middle of its exposure. No output of a device depends on them.
//! `docs/TRUTH.md` describes each value.

use std::sync::Arc;

use super::lens::Mirror;
use super::poses::Poses;
use super::{BLOCK, Camera, Shot, Tile, forward, project, ray};
use crate::sensors::Surroundings;
use crate::sensors::truth::NONE;
use crate::time::SimTime;
use crate::world::raycast::{Hit, Stencil};

/// Selects the images that are computed for each frame while ground truth is recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TruthImages {
    /// The label of each pixel.
    pub labels: bool,
    /// The depth of each pixel.
    pub depth: bool,
    /// The optical flow of each pixel since the previous frame.
    pub flow: bool,
}

impl TruthImages {
    /// Whether any image is requested.
    pub fn any(self) -> bool {
        self.labels || self.depth || self.flow
    }
}

/// Exposure times of the rows of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exposure {
    /// Start of the first row's exposure.
    pub start: SimTime,
    /// Length of each row's exposure, nanoseconds.
    pub exposure_ns: u64,
    /// Time from a row's start to that of the next, nanoseconds.
    pub line_ns: u64,
}

impl Exposure {
    /// Middle of a row's exposure. Fractional rows are interpolated.
    pub fn middle(&self, row: f64) -> SimTime {
        let later_ns = 0.5 * self.exposure_ns as f64 + row.max(0.0) * self.line_ns as f64;
        SimTime(self.start.0 + later_ns as u64)
    }
}

/// Ground truth of a tile, row by row. Lists that were not requested are empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TileTruth {
    /// Instance and material as in [`Hit`]; [`NONE`] for the sky and outside the lens's image.
    pub surfaces: Vec<[u32; 2]>,
    /// Distance along the optical axis, metres: infinite for the sky, NaN outside the lens's image.
    pub depth_m: Vec<f32>,
    /// Vector from the pixel to the position of the same surface point in the previous frame, pixels. NaN without a
    /// previous frame, outside the lens's image, and if the lens cannot show the earlier position, such as one behind
    /// the camera.
    pub flow_px: Vec<[f32; 2]>,
}

/// Ground truth of a frame that was sent.
#[derive(Clone, Debug, PartialEq)]
pub struct FrameTruth {
    /// Time when the frame's first packet is due.
    pub due: SimTime,
    /// Block number on the wire.
    pub block: u64,
    /// Timestamp in the frame's leader packet.
    pub stamp: u64,
    /// Start of the first row's exposure.
    pub start: SimTime,
    /// Exposure and geometry of the frame.
    pub shot: Arc<Shot>,
    /// Mirroring of the image.
    pub mirror: Mirror,
    /// Ground truth of the tiles from the top down; empty if not requested.
    pub tiles: Vec<Arc<TileTruth>>,
}

impl FrameTruth {
    /// Middle of the exposure of the frame's middle row.
    pub fn middle(&self) -> SimTime {
        let [_, _, _, height] = self.shot.region;
        self.shot.exposed(self.start).middle(0.5 * f64::from(height.saturating_sub(1)))
    }
}

impl Shot {
    /// Exposure times of the rows if the first row's exposure starts at `start`.
    pub fn exposed(&self, start: SimTime) -> Exposure {
        Exposure { start, exposure_ns: self.exposure_ns, line_ns: self.line_ns }
    }
}

/// Computes the ground truth of `tile` in a frame that starts at `start`.
pub(super) fn of_tile(
    camera: &Camera,
    tile: &Tile,
    start: SimTime,
    surroundings: &Surroundings<'_>,
) -> TileTruth {
    let shot = &*tile.shot;
    let [left, top, width, height] = shot.region;
    let [bin_x, bin_y] = shot.binning.map(f64::from);
    let exposed = shot.exposed(start);
    let [first_row, end_row] = tile.rows;
    let middle = |row: u32| exposed.middle(f64::from(row));
    let poses = Poses::between(middle(first_row), middle(end_row.max(1) - 1), surroundings);
    let earlier = shot.before.map(|before| {
        let last = before.middle(f64::from(height.max(1) - 1));
        (before, Poses::between(before.middle(0.0), last, surroundings))
    });
    let mut cells = Vec::new();
    let mut pulses = Vec::new();
    let mut fired = Vec::new();
    for (row, column) in in_blocks(tile.rows, width) {
        let seen = camera.directions.at(shot.on_sensor(column, row));
        let Some(direction) = seen.map(forward) else { continue };
        let when = middle(row);
        let pose = poses.at(when);
        cells.push((((row - first_row) * width + column) as usize, row, column, direction.x));
        pulses.push(ray(pose.translation, pose.direction(direction)));
        fired.push(when);
    }
    let mut hits = vec![Hit::MISS; pulses.len()];
    surroundings.caster.cast_at(&Stencil::single(), &pulses, &fired, &mut hits);
    let TruthImages { labels, depth, flow } = camera.truth_images;
    let pixels = |wanted: bool| if wanted { tile.pixels() } else { 0 };
    let mut truth = TileTruth {
        surfaces: vec![[NONE; 2]; pixels(labels)],
        depth_m: vec![f32::NAN; pixels(depth)],
        flow_px: vec![[f32::NAN; 2]; pixels(flow)],
    };
    for ((&(index, row, column, axis_cos), hit), (pulse, when)) in
        cells.iter().zip(&hits).zip(pulses.iter().zip(&fired))
    {
        let is_hit = hit.range_m.is_finite();
        if let Some(surface) = truth.surfaces.get_mut(index).filter(|_| is_hit) {
            *surface = [hit.instance, hit.material];
        }
        if let Some(depth_m) = truth.depth_m.get_mut(index) {
            *depth_m = hit.range_m * axis_cos as f32;
        }
        let (Some(flow_px), Some((before, poses))) = (truth.flow_px.get_mut(index), &earlier)
        else {
            continue;
        };
        let place = pulse.origin + pulse.direction * f64::from(hit.range_m);
        // The previous position depends on the row that saw it, and the row on the position: iterate.
        let mut was = [f64::from(column), f64::from(row)];
        for _ in 0..3 {
            let then = before.middle(was[1]);
            let camera_from_world = poses.at(then).inverse();
            let seen = if is_hit {
                let carried = surroundings.caster.shading();
                let place = carried.map_or(place, |of| of.carried(hit, place, *when, then));
                camera_from_world.point(place)
            } else {
                camera_from_world.direction(pulse.direction)
            };
            let Some([u, v]) = project(&camera.optics.lens, seen) else {
                was = [f64::NAN; 2];
                break;
            };
            let in_region =
                |at: f64, bin: f64, from: u32| (at - 0.5 * (bin - 1.0)) / bin - f64::from(from);
            was = [in_region(u, bin_x, left), in_region(v, bin_y, top)];
        }
        *flow_px = [(was[0] - f64::from(column)) as f32, (was[1] - f64::from(row)) as f32];
    }
    truth
}

/// Row and column of the pixels of `rows`, block by block, because rays of neighbours are cast faster together.
fn in_blocks(rows: [u32; 2], width: u32) -> impl Iterator<Item = (u32, u32)> {
    let blocks = (rows[0]..rows[1])
        .step_by(BLOCK as usize)
        .flat_map(move |row| (0..width).step_by(BLOCK as usize).map(move |column| (row, column)));
    blocks.flat_map(move |(top, left)| {
        (top..rows[1].min(top + BLOCK))
            .flat_map(move |row| (left..width.min(left + BLOCK)).map(move |column| (row, column)))
    })
}
