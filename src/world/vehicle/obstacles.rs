//! Obstacles that the body collides with.
//!
//! The body is a box. It is as long and wide as the footprint, and reaches from [`DriveBody::blocks_above_m`] above the
//! plane of the wheels up to the body's height. At each check, rays leave the faces that move outward, from points at
//! most 5 cm apart across and 15 cm apart upward, each in the direction of its point's motion. On faces wider than 3 m
//! or higher than 1.35 m, the points are farther apart. The length of a ray is the distance until the next check plus
//! the braking distance. A ray passes
//!
//! - surfaces of the materials that the robot drives through (grass and leaves, unless the rig names others), and
//! - surfaces that are at most [`DriveBody::blocks_above_m`] above the ground 0.1 m before them: wheels roll over
//!   them, and a slope up to 45° (with the default of 0.1 m) is ground.
//!
//! Any other surface on a ray is an obstacle, moving objects included. Objects thinner than the distance between two
//! rays may be missed.
//!
//! [`DriveBody::blocks_above_m`]: crate::config::rig::drive::DriveBody::blocks_above_m

use glam::DVec3;

use super::drivetrain::Twist;
use crate::config::rig::drive::DriveBody;
use crate::frames::{Body, Transform, World};
use crate::time::SimTime;
use crate::world::ground::GroundHeight;
use crate::world::raycast::{Hit, Pulse, RayCaster, Stencil};

/// Largest distance between neighbouring rays across a face, metres.
const ACROSS_M: f64 = 0.05;
/// Largest vertical distance between neighbouring rays, metres.
const UPWARD_M: f64 = 0.15;
/// Largest number of gaps between rays across a face. On a wider face, the gaps exceed [`ACROSS_M`].
const MOST_ACROSS: u32 = 60;
/// Largest number of rays above one another. On a taller body, the gaps exceed [`UPWARD_M`].
const MOST_UPWARD: u32 = 10;
/// Rays start up to this distance inside the body, so that surfaces in contact with the body are hit; metres.
const INSET_M: f64 = 0.1;
/// Length added to rays, metres.
const MARGIN_M: f64 = 0.005;
/// Distance in front of a hit surface at which the height of the ground is queried, metres.
const FOOT_M: f64 = 0.1;
/// Largest number of surfaces that a ray passes.
const MOST_PASSED: u32 = 32;
/// Speed below which a point counts as at rest, m/s.
const STANDS_M_S: f64 = 1e-4;

/// Surfaces that rays may pass.
#[derive(Clone, Debug, Default)]
pub(super) struct Passable {
    /// For each material of the scene, whether the robot drives through it.
    pub materials: Vec<bool>,
    /// Number of the scene's instances. Moving objects have the indices from this number on; the robot drives through
    /// none of them, whatever their material.
    pub instances: u32,
}

/// An obstacle in the robot's path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ahead {
    /// Time until contact at the given speed, seconds; negative if the obstacle is within the body.
    pub in_s: f64,
    /// Position of the obstacle, World, metres.
    pub point_m: DVec3,
    /// Instance and material as in [`Hit::instance`] and [`Hit::material`].
    pub instance: u32,
    pub material: u32,
}

/// Searches for obstacles that the robot's body, a box, would touch.
#[derive(Clone, Debug)]
pub(super) struct Lookout {
    /// Half of the box's length and width, metres.
    half_m: [f64; 2],
    /// Heights of rays above the plane of the wheels, metres.
    heights_m: Vec<f64>,
    blocks_above_m: f64,
}

/// The surfaces that a search queries.
pub(super) struct Surroundings<'a> {
    pub caster: &'a dyn RayCaster,
    pub ground: Option<&'a dyn GroundHeight>,
    pub passable: &'a Passable,
}

/// A ray of a search.
struct Ray {
    pulse: Pulse,
    speed_m_s: f64,
    /// Distance from the ray's beginning to the body's surface, metres.
    inset_m: f64,
}

impl Lookout {
    pub fn new(footprint_m: [f64; 2], body: &DriveBody) -> Self {
        let half_m = footprint_m.map(|side| 0.5 * side);
        let low = body.blocks_above_m;
        let gaps =
            (((body.height_m - low) / UPWARD_M).ceil()).clamp(1.0, f64::from(MOST_UPWARD - 1));
        let heights_m = (0..=gaps as u32)
            .map(|row| low + (body.height_m - low) * f64::from(row) / gaps)
            .collect();
        Self { half_m, heights_m, blocks_above_m: low }
    }

    /// The obstacle that a body with this `twist` at `pose` touches first within `within_s` seconds, if any.
    pub fn look(
        &self,
        pose: &Transform<World, Body>,
        twist: Twist,
        within_s: f64,
        at: SimTime,
        around: &Surroundings<'_>,
    ) -> Option<Ahead> {
        let mut rays = self.rays(pose, twist, within_s);
        let mut nearest: Option<Ahead> = None;
        let single = Stencil::single();
        for _ in 0..MOST_PASSED {
            if rays.is_empty() {
                break;
            }
            let pulses: Vec<Pulse> = rays.iter().map(|ray| ray.pulse).collect();
            let mut hits = vec![Hit::MISS; pulses.len()];
            around.caster.cast_at(&single, &pulses, &vec![at; pulses.len()], &mut hits);
            let mut left = Vec::new();
            for (mut ray, hit) in rays.into_iter().zip(&hits) {
                if !hit.range_m.is_finite() {
                    continue;
                }
                let from_start_m = ray.pulse.start_m + hit.range_m;
                let way_m = f64::from(from_start_m);
                let point_m = ray.pulse.origin + ray.pulse.direction * way_m;
                if self.is_passed(hit, point_m, ray.pulse.direction, around) {
                    let step_m = hit.range_m + 1e-3;
                    ray.pulse.start_m += step_m;
                    ray.pulse.max_range_m -= step_m;
                    if ray.pulse.max_range_m > 0.0 {
                        left.push(ray);
                    }
                    continue;
                }
                let in_s = (way_m - ray.inset_m) / ray.speed_m_s;
                if nearest.is_none_or(|nearest| in_s < nearest.in_s) {
                    let Hit { instance, material, .. } = *hit;
                    nearest = Some(Ahead { in_s, point_m, instance, material });
                }
            }
            rays = left;
        }
        nearest.filter(|ahead| ahead.in_s <= within_s)
    }

    /// Rays in the direction of motion, from the points on the body's sides that move outward.
    fn rays(&self, pose: &Transform<World, Body>, twist: Twist, within_s: f64) -> Vec<Ray> {
        let mut rays = Vec::new();
        for (normal, across) in [
            ([1.0, 0.0], [0.0, 1.0]),
            ([-1.0, 0.0], [0.0, 1.0]),
            ([0.0, 1.0], [1.0, 0.0]),
            ([0.0, -1.0], [1.0, 0.0]),
        ] {
            let [half_length, half_width] = self.half_m;
            let side_m = 2.0 * (across[0] * half_length + across[1] * half_width);
            let gaps = (side_m / ACROSS_M).ceil().clamp(1.0, f64::from(MOST_ACROSS));
            for column in 0..=gaps as u32 {
                let off_m = side_m * (f64::from(column) / gaps - 0.5);
                let x = normal[0] * half_length + across[0] * off_m;
                let y = normal[1] * half_width + across[1] * off_m;
                let moves = [
                    twist.forward_m_s - twist.turn_rad_s * y,
                    twist.left_m_s + twist.turn_rad_s * x,
                ];
                let outward_m_s = moves[0] * normal[0] + moves[1] * normal[1];
                let speed_m_s = (moves[0] * moves[0] + moves[1] * moves[1]).sqrt();
                // A point that moves along its face hits only surfaces that the corners of the face also hit.
                if outward_m_s <= STANDS_M_S.max(1e-3 * speed_m_s) {
                    continue;
                }
                let ahead = DVec3::new(moves[0], moves[1], 0.0) / speed_m_s;
                let direction = pose.direction(ahead);
                let inset_m = self.inset_m([x, y], ahead);
                let (u, v) = (direction.any_orthonormal_vector(), DVec3::ZERO);
                for &height_m in &self.heights_m {
                    let from = DVec3::new(x, y, height_m) - ahead * inset_m;
                    let way_m = inset_m + speed_m_s * within_s + MARGIN_M;
                    let pulse = Pulse {
                        origin: pose.point(from),
                        start_m: 0.0,
                        direction,
                        half_axis_u: u,
                        half_axis_v: v,
                        max_range_m: way_m as f32,
                    };
                    rays.push(Ray { pulse, speed_m_s, inset_m });
                }
            }
        }
        rays
    }

    /// Distance from the start of a ray inside the body to the point at `place` on the body's surface, metres.
    fn inset_m(&self, place: [f64; 2], ahead: DVec3) -> f64 {
        let along = |axis: usize, ahead: f64| match ahead {
            back if back > 0.0 => (place[axis] + self.half_m[axis]) / back,
            back if back < 0.0 => (place[axis] - self.half_m[axis]) / back,
            _ => INSET_M,
        };
        INSET_M.min(along(0, ahead.x)).min(along(1, ahead.y)).max(0.0)
    }

    fn is_passed(
        &self,
        hit: &Hit,
        point_m: DVec3,
        direction: DVec3,
        around: &Surroundings<'_>,
    ) -> bool {
        let moves = hit.instance >= around.passable.instances;
        let materials = &around.passable.materials;
        if !moves && materials.get(hit.material as usize) == Some(&true) {
            return true;
        }
        let Some(ground) = around.ground else { return false };
        let level = direction.truncate().normalize_or_zero();
        let foot = point_m.truncate() - level * FOOT_M;
        // A roof is not the ground of objects below it. A surface below all ground is part of a ditch.
        let floor_m = ground.height_under_m(foot.x, foot.y, point_m.z + FOOT_M);
        floor_m.is_some_and(|floor_m| point_m.z <= floor_m + self.blocks_above_m)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::config::rig::RoomParameters;
    use crate::world::builtin::room;
    use crate::world::raycast::BvhCaster;

    const FOOTPRINT_M: [f64; 2] = [0.6, 0.5];

    fn look_in_room(pose: &Transform<World, Body>, twist: Twist) -> Option<Ahead> {
        let parameters = RoomParameters { size_m: [10.0, 10.0, 3.0], ..RoomParameters::default() };
        let scene = Arc::new(room::build(&parameters));
        let ground = crate::world::ground::Terrain::new(&scene);
        let caster = BvhCaster::new(scene).unwrap();
        let passable = Passable { materials: vec![false; 8], instances: 8 };
        let around = Surroundings { caster: &caster, ground: Some(&ground), passable: &passable };
        let body = DriveBody::default();
        Lookout::new(FOOTPRINT_M, &body).look(pose, twist, 0.05, SimTime::ZERO, &around)
    }

    fn at(x: f64, y: f64, yaw: f64) -> Transform<World, Body> {
        Transform::from_rpy(DVec3::new(x, y, 0.0), 0.0, 0.0, yaw)
    }

    #[test]
    fn a_wall_ahead_is_found_at_its_distance_and_one_behind_is_none() {
        let ahead = Twist { forward_m_s: 1.0, ..Twist::default() };
        let found = look_in_room(&at(4.68, 0.0, 0.0), ahead).unwrap();
        assert!((found.in_s - 0.02).abs() < 1e-5, "{found:?}");
        assert!((found.point_m.x - 5.0).abs() < 1e-5);
        assert_eq!(look_in_room(&at(4.0, 0.0, 0.0), ahead), None);
        let back = Twist { forward_m_s: -1.0, ..Twist::default() };
        assert_eq!(look_in_room(&at(4.68, 0.0, 0.0), back), None);
        // The body overlaps the wall slightly. The obstacle is still found, and driving away is possible.
        assert!(look_in_room(&at(4.71, 0.0, 0.0), ahead).unwrap().in_s < 0.0);
        assert_eq!(look_in_room(&at(4.71, 0.0, 0.0), back), None);
    }

    #[test]
    fn corners_meet_a_wall_when_the_robot_turns() {
        let left = Twist { turn_rad_s: 1.0, ..Twist::default() };
        // Beside the wall with 1 cm of clearance: the corners reach 0.39 m.
        let found = look_in_room(&at(0.0, 4.74, 0.0), left).unwrap();
        assert!((0.02..0.05).contains(&found.in_s), "{found:?}");
        assert_eq!(look_in_room(&at(0.0, 4.6, 0.0), left), None);
        let along = Twist { forward_m_s: 1.0, ..Twist::default() };
        assert_eq!(look_in_room(&at(0.0, 4.745, 0.0), along), None, "sliding along is free");
    }
}
