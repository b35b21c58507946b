//! Facts about a world before a run: size of the scene, path of the robot, and suspicious values.

use glam::{DAffine3, DVec3, Vec3};

use super::ground::GroundHeight;
use super::scene::{Instance, Mesh, Scene};
use super::trajectory::{End, Trajectory};
use crate::time::SimTime;

/// Width in metres above which the unit of a scene file is probably the millimetre.
const WIDEST_M: f64 = 20_000.0;
/// Height in metres above which the unit of a scene file is probably the millimetre.
const HIGHEST_M: f64 = 2_000.0;
/// Size in metres below which the unit of a scene file is probably larger than a metre, such as the kilometre.
const SMALLEST_M: f64 = 0.5;
/// Duration of the examined part of an endless motion, seconds.
const ENDLESS_S: f64 = 60.0;
/// Number of poses along a path that are examined.
const SAMPLES: u32 = 2000;

/// Description of a box (lowest and highest corner, metres) for `menura check`.
pub fn describe_box([low, high]: [DVec3; 2]) -> String {
    let side = |axis, low: f64, high: f64| {
        // Adding 0.0 removes the sign of a rounded zero.
        let [low, high] = [low, high].map(|m| (m * 100.0).round() / 100.0 + 0.0);
        format!("{axis} {low:.2} to {high:.2} m")
    };
    let sides = [side("x", low.x, high.x), side("y", low.y, high.y), side("z", low.z, high.z)];
    sides.join(", ")
}

/// Hints about a suspicious size or orientation of a scene file. The argument is the box around the visible part:
/// lowest and highest corner, metres.
pub fn hints([low, high]: [DVec3; 2]) -> Vec<String> {
    let size = high - low;
    let mut hints = Vec::new();
    let widest = size.truncate().max_element();
    if widest > WIDEST_M || size.z > HIGHEST_M {
        hints.push(format!(
            "the scene is {widest:.0} m wide and {:.0} m high; if its file is in millimetres, write \
             `scale = 0.001` in [world]",
            size.z
        ));
    } else if size.max_element() < SMALLEST_M {
        hints.push(format!(
            "the scene is only {:.3} m large; if its file is not in metres, set `scale` in [world] \
             to the metres per unit",
            size.max_element()
        ));
    }
    if size.z > 20.0 && size.y * 4.0 < size.x.min(size.z) {
        hints.push(
            "the scene is flat along y; if its file is y up, write `up_axis = \"y\"` in [world]"
                .into(),
        );
    }
    hints
}

/// Properties of a robot's path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Way {
    /// Lowest and highest coordinates of the path of the robot's origin, World, metres.
    pub extents: [DVec3; 2],
    /// Duration of the examined part of the path, seconds: the first 60 s of a path that never ends and never repeats,
    /// otherwise the whole path or one lap; 0 for a robot that stands still.
    pub looked_s: f64,
    /// Share of the path without ground below it, 0..=1.
    pub without_ground: f64,
}

/// Properties of the path of `trajectory` over `ground`; `None` if the path is known only during a run.
pub fn way(trajectory: &Trajectory, ground: &dyn GroundHeight) -> Option<Way> {
    let about = trajectory.describe();
    let looked_s = match trajectory.end() {
        End::Fed | End::Driven => return None,
        End::Stands => 0.0,
        End::Endless => ENDLESS_S,
        End::Stops | End::Repeats => about.duration_s.unwrap_or(ENDLESS_S),
    };
    let steps = if looked_s > 0.0 { SAMPLES } else { 0 };
    let mut extents = [DVec3::INFINITY, DVec3::NEG_INFINITY];
    let mut without = 0;
    for step in 0..=steps {
        let at = SimTime::from_secs_f64(looked_s * f64::from(step) / f64::from(steps.max(1)));
        let p = trajectory.pose(at).translation;
        extents = [extents[0].min(p), extents[1].max(p)];
        without += u32::from(ground.height_m(p.x, p.y).is_none());
    }
    let without_ground = f64::from(without) / f64::from(steps + 1);
    Some(Way { extents, looked_s, without_ground })
}

/// For each of `points`, whether rays in 26 directions all meet a surface within `reach_m`, so that the point is probably
/// inside an object. Opacity masks are ignored.
pub fn enclosed(scene: &Scene, points: &[DVec3], reach_m: f64) -> Vec<bool> {
    let around = points.iter().fold([DVec3::INFINITY, DVec3::NEG_INFINITY], |[low, high], p| {
        [low.min(*p - reach_m), high.max(*p + reach_m)]
    });
    let boxes: Vec<[DVec3; 2]> = scene.meshes.iter().map(Mesh::bounds).collect();
    let placed = scene.instances.iter().map(|i| (i, i.world_box(boxes[i.mesh as usize])));
    let near: Vec<_> = placed.filter(|(_, place)| overlap(*place, around)).collect();
    points.iter().map(|point| is_enclosed(scene, &near, *point, reach_m)).collect()
}

fn is_enclosed(
    scene: &Scene,
    instances: &[(&Instance, [DVec3; 2])],
    point: DVec3,
    reach_m: f64,
) -> bool {
    let cube = [point - reach_m, point + reach_m];
    let near: Vec<[DVec3; 3]> = instances
        .iter()
        .filter(|(_, place)| overlap(*place, cube))
        .flat_map(|(instance, _)| triangles_in(scene, instance, cube))
        .collect();
    let mut directions = (0..27).filter(|&n| n != 13).map(|n: i32| {
        let axis = |n: i32| f64::from(n % 3 - 1);
        DVec3::new(axis(n), axis(n / 3), axis(n / 9)).normalize()
    });
    !near.is_empty()
        && directions
            .all(|direction| near.iter().any(|triangle| hits(triangle, point, direction, reach_m)))
}

/// Corners, in World, of those triangles of `instance` that may overlap `cube`, judged by bounding boxes.
fn triangles_in(scene: &Scene, instance: &Instance, cube: [DVec3; 2]) -> Vec<[DVec3; 3]> {
    // The cube is transformed to the mesh's frame, so that most triangles need not be transformed.
    let [low, high] = box_of(&instance.world_from_mesh.inverse(), cube).map(|c| c.as_vec3());
    let mesh = &scene.meshes[instance.mesh as usize];
    let is_near = |triangle: &[u32; 3]| {
        let [a, b, c] = triangle.map(|v| Vec3::from(mesh.positions[v as usize]));
        a.min(b).min(c).cmple(high).all() && a.max(b).max(c).cmpge(low).all()
    };
    (0..)
        .zip(&mesh.triangles)
        .filter(|(_, triangle)| is_near(triangle))
        .map(|(index, _)| mesh.corners(index).map(|c| instance.world_from_mesh.transform_point3(c)))
        .collect()
}

fn box_of(transform: &DAffine3, corners: [DVec3; 2]) -> [DVec3; 2] {
    Instance { mesh: 0, world_from_mesh: *transform }.world_box(corners)
}

fn overlap(a: [DVec3; 2], b: [DVec3; 2]) -> bool {
    a[0].cmple(b[1]).all() && b[0].cmple(a[1]).all()
}

/// Whether a ray meets a triangle from either side within `reach_m` (Möller and Trumbore).
fn hits([a, b, c]: &[DVec3; 3], from: DVec3, direction: DVec3, reach_m: f64) -> bool {
    let (ab, ac) = (*b - *a, *c - *a);
    let normal = direction.cross(ac);
    let volume = ab.dot(normal);
    if volume == 0.0 {
        return false;
    }
    let to = from - *a;
    let u = to.dot(normal) / volume;
    let across = to.cross(ab);
    let v = direction.dot(across) / volume;
    let range = ac.dot(across) / volume;
    // An edge belongs to both triangles beside it, so that no ray passes between them.
    const HAIR: f64 = -1e-9;
    u >= HAIR && v >= HAIR && u + v <= 1.0 - HAIR && (0.0..=reach_m).contains(&range)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::rig::objects::ObjectShape;
    use crate::config::rig::{RobotConfig, TrajectoryConfig};
    use crate::frames::{GeoOrigin, Geodetic};
    use crate::world::builtin::bodies;

    struct Square(f64);

    impl GroundHeight for Square {
        fn height_m(&self, x_m: f64, y_m: f64) -> Option<f64> {
            (x_m.abs() <= self.0 && y_m.abs() <= self.0).then_some(0.0)
        }
    }

    fn driven(trajectory: TrajectoryConfig) -> Trajectory {
        let geo = Geodetic { latitude_deg: 0.0, longitude_deg: 0.0, altitude_m: 0.0 };
        let robot = RobotConfig::new(trajectory, false);
        Trajectory::new(&robot, &GeoOrigin::new(geo), None).unwrap()
    }

    #[test]
    fn a_way_has_extents_and_leaves_the_ground() {
        let line =
            driven(TrajectoryConfig::Line { start_m: [0.0; 3], yaw_rad: 0.0, speed_m_s: 2.0 });
        let way = way(&line, &Square(60.0)).unwrap();
        assert_eq!(way.looked_s, 60.0);
        assert_eq!(
            describe_box(way.extents),
            "x 0.00 to 120.00 m, y 0.00 to 0.00 m, z 0.00 to 0.00 m"
        );
        assert!((way.without_ground - 0.5).abs() < 1e-3, "{}", way.without_ground);
        let circle = driven(TrajectoryConfig::Circle {
            center_m: [5.0, 0.0, 1.0],
            radius_m: 10.0,
            speed_m_s: -1.0,
            start_angle_rad: 0.0,
        });
        let round = super::way(&circle, &Square(60.0)).unwrap();
        assert_eq!(
            describe_box(round.extents),
            "x -5.00 to 15.00 m, y -10.00 to 10.00 m, z 1.00 to 1.00 m"
        );
        assert_eq!(round.without_ground, 0.0);
    }

    #[test]
    fn odd_sizes_and_attitudes_get_a_hint() {
        let hints_of = |x: f64, y: f64, z: f64| hints([DVec3::ZERO, DVec3::new(x, y, z)]);
        for usual in [(300.0, 300.0, 12.0), (10_800.0, 10_800.0, 400.0), (1.0, 0.5, 0.7)] {
            assert_eq!(hints_of(usual.0, usual.1, usual.2), [""; 0], "{usual:?}");
        }
        let millimetres = hints_of(45_000.0, 30_000.0, 3_000.0);
        assert!(millimetres[0].contains("45000 m wide and 3000 m high"), "{millimetres:?}");
        assert!(millimetres[0].contains("`scale = 0.001`"), "{millimetres:?}");
        assert!(hints_of(0.05, 0.02, 0.03)[0].contains("only 0.050 m large"));
        assert!(hints_of(100.0, 6.0, 100.0)[0].contains("`up_axis = \"y\"`"));
    }

    #[test]
    fn inside_is_surfaces_on_all_sides() {
        let mut scene = bodies::build(ObjectShape::Box, [1.0, 1.0, 1.0], 0.5);
        let is_inside = |scene: &Scene, p: DVec3, reach_m| enclosed(scene, &[p], reach_m)[0];
        let middle = DVec3::new(0.0, 0.0, 0.5);
        let above = DVec3::new(0.0, 0.0, 1.2);
        assert_eq!(enclosed(&scene, &[middle, above], 1.0), [true, false]);
        assert!(!is_inside(&scene, middle, 0.3), "the box is larger than the reach");
        // The same box, smaller, rotated and moved.
        let turned = DAffine3::from_scale_rotation_translation(
            DVec3::splat(0.5),
            glam::DQuat::from_rotation_x(1.0),
            DVec3::new(100.0, 0.0, 0.0),
        );
        scene.instances = vec![Instance { mesh: 0, world_from_mesh: turned }];
        assert!(is_inside(&scene, turned.transform_point3(middle), 1.0));
        assert!(!is_inside(&scene, middle, 1.0));
    }
}
