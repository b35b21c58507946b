//! Assigns cells to objects by their footprints, and to the ground that plants hide.

use glam::{DVec2, DVec3};
use std::time::Duration;

use super::map::{CELLS, cell_at, middle_of};
use super::sensor_pose;
use crate::config::rig::Rig;
use crate::engine::LiveWorld;
use crate::time::SimTime;
use crate::world::builtin::fort_drum::{
    BALE_SIZE_M, BALES, BOULDER_M, BOULDER_SIZE_M, GRASS_M, PLANTS_M,
};

/// Length along x of the ground behind plants that is examined, metres.
const SHADOW_M: f64 = 2.0;
/// A cell is in the shadow only if at least this many pulses would hit its ground without the plants, and all of them
/// pass through the plants.
const FEWEST_PULSES: u32 = 20;
/// A pulse passes through plants if its height is at most [`BELOW_M`] at this distance along x before the far edge of
/// the plants, metres.
const THROUGH_M: f64 = 1.35;
/// Largest height of a pulse that passes through plants, at the distance [`THROUGH_M`] before their far edge, metres.
const BELOW_M: f64 = 0.58;
/// Number of values of a scan, from right to left.
const VALUES: usize = 181;
/// Angle from one value of a scan to the next, degrees.
const STEP_DEG: f64 = 0.5;

/// An object of the scene, as cells.
pub struct Object {
    /// Name of the object in reports.
    pub name: &'static str,
    /// Cells whose centres are within the object.
    pub cells: Vec<usize>,
}

/// For each strip of plants, the cells in its shadow: pulses reach the ground of these cells only through plants.
pub fn shadows(rig: &Rig, world: &LiveWorld, duration: Duration) -> [Vec<usize>; 2] {
    let mut pulses = vec![[0u32; 2]; CELLS * CELLS];
    let directions: Vec<DVec3> = (0..VALUES)
        .map(|value| {
            let (sin, cos) = libm::sincos((value as f64 * STEP_DEG - 45.0).to_radians());
            DVec3::new(cos, sin, 0.0)
        })
        .collect();
    let scans = (duration.as_secs_f64() * 75.0) as u64;
    for scan in 0..scans {
        let at = SimTime(scan * 1_000_000_000 / 75);
        for device in 0..rig.devices.len() {
            let pose = sensor_pose(rig, world, device, at);
            for direction in &directions {
                let ray = pose.direction(*direction);
                if ray.z >= 0.0 {
                    continue;
                }
                let from = pose.translation;
                let ground = from - ray * (from.z / ray.z);
                let Some(cell) = cell_at(ground.truncate()) else { continue };
                let through = PLANTS_M.iter().any(|strip| passes_through(from, ray, strip));
                pulses[cell][usize::from(through)] += 1;
            }
        }
    }
    PLANTS_M.map(|[low, high]| {
        let is_shadow = |cell: &usize| {
            let place = middle_of(*cell);
            let [around, through] = pulses[*cell];
            (high[0]..high[0] + SHADOW_M).contains(&place.x)
                && (low[1]..high[1]).contains(&place.y)
                && around == 0
                && through >= FEWEST_PULSES
        };
        (0..CELLS * CELLS).filter(is_shadow).collect()
    })
}

/// Whether a ray passes through a strip of plants from west to east, low enough to be blocked by the plants (see
/// `THROUGH_M`).
pub fn passes_through(from: DVec3, ray: DVec3, [low, high]: &[[f64; 2]; 2]) -> bool {
    let at = |x: f64| from + ray * ((x - from.x) / ray.x);
    if ray.x <= 0.0 || from.x >= low[0] {
        return false;
    }
    let (enters, leaves) = (at(high[0] - THROUGH_M), at(high[0]));
    let within = |y: f64| (low[1]..high[1]).contains(&y);
    within(at(low[0]).y) && within(leaves.y) && enters.z <= BELOW_M && leaves.z >= -0.02
}

/// Cells whose centres are within a rectangle around `middle`, rotated by `yaw_deg`.
pub fn footprint(middle: [f64; 2], [length, width]: [f64; 2], yaw_deg: f64) -> Vec<usize> {
    let (sin, cos) = libm::sincos(yaw_deg.to_radians());
    let inside = |cell: &usize| {
        let off = middle_of(*cell) - DVec2::from(middle);
        let (along, across) = (off.x * cos + off.y * sin, off.y * cos - off.x * sin);
        along.abs() <= 0.5 * length && across.abs() <= 0.5 * width
    };
    (0..CELLS * CELLS).filter(inside).collect()
}

/// Cells of a rectangle with these corners.
pub fn strip([low, high]: [[f64; 2]; 2]) -> Vec<usize> {
    let middle = [0.5 * (low[0] + high[0]), 0.5 * (low[1] + high[1])];
    footprint(middle, [high[0] - low[0], high[1] - low[1]], 0.0)
}

/// Objects of the scene, followed by the shadows.
pub fn objects(shadows: [Vec<usize>; 2]) -> Vec<Object> {
    let [length, width, _] = BOULDER_SIZE_M;
    let mut objects =
        vec![Object { name: "boulder", cells: footprint(BOULDER_M, [length, width], 0.0) }];
    for (name, (middle, yaw_deg)) in ["bale 1", "bale 2", "bale 3"].into_iter().zip(BALES) {
        let [length, width, _] = BALE_SIZE_M;
        objects.push(Object { name, cells: footprint(middle, [length, width], yaw_deg) });
    }
    objects.push(Object { name: "plants, north", cells: strip(PLANTS_M[0]) });
    objects.push(Object { name: "plants, south", cells: strip(PLANTS_M[1]) });
    objects.push(Object { name: "low grass", cells: strip(GRASS_M) });
    let [north, south] = shadows;
    objects.push(Object { name: "behind plants, north", cells: north });
    objects.push(Object { name: "behind plants, south", cells: south });
    objects
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ray_goes_through_a_strip_or_past_it() {
        let strip = &PLANTS_M[0];
        let from = DVec3::new(-5.0, 1.0, 1.5);
        let towards = |x: f64, y: f64| DVec3::new(x, y, 0.0) - from;
        assert!(passes_through(from, towards(3.0, 4.5), strip));
        // Past the strip's southern end, above it, and in front of it.
        assert!(!passes_through(from, towards(3.0, 1.2), strip));
        assert!(!passes_through(from, towards(9.0, 4.5), strip));
        assert!(!passes_through(from, towards(2.0, 4.5), strip));
    }

    #[test]
    fn footprints_have_the_area_of_what_they_are_of() {
        let area = |cells: &[usize]| {
            cells.len() as f64 * super::super::map::CELL_M * super::super::map::CELL_M
        };
        assert!((area(&strip(PLANTS_M[0])) - 6.0).abs() < 0.01);
        let bale = footprint(BALES[0].0, [1.2, 0.5], BALES[0].1);
        assert!((0.3..0.9).contains(&area(&bale)), "{}", area(&bale));
    }
}
