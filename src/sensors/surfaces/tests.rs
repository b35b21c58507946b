//! Light through panes and from mirrors and water, in static and moving scenes.

use std::sync::Arc;

use glam::{DAffine3, DQuat, DVec3};

use super::*;
use crate::config::rig::TrajectoryConfig;
use crate::frames::{GeoOrigin, Geodetic};
use crate::world::materials;
use crate::world::moving::{MovingCaster, MovingObject};
use crate::world::raycast::BvhCaster;
use crate::world::scene::{Instance, Material, Mesh, Scene};

/// A square of 40 m by 40 m with one material: a vertical wall across x, or a floor.
struct Sheet {
    /// A point of the surface.
    place: DVec3,
    normal: DVec3,
    material: Material,
}

fn wall(x: f64, material: Material) -> Sheet {
    Sheet { place: DVec3::X * x, normal: DVec3::X, material }
}

fn floor(z: f64, material: Material) -> Sheet {
    Sheet { place: DVec3::Z * z, normal: DVec3::Z, material }
}

fn named(name: &str) -> Material {
    materials::by_name(name)
}

fn matt(reflectance: f32) -> Material {
    materials::plain("matt", reflectance)
}

fn scene(sheets: Vec<Sheet>) -> Scene {
    let square = Mesh {
        name: "square".into(),
        positions: vec![[-20., -20., 0.], [20., -20., 0.], [20., 20., 0.], [-20., 20., 0.]],
        triangles: vec![[0, 1, 2], [0, 2, 3]],
        ..Mesh::default()
    };
    let mut scene = Scene::default();
    for (index, sheet) in sheets.into_iter().enumerate() {
        let turn = DQuat::from_rotation_arc(DVec3::Z, sheet.normal);
        let world_from_mesh = DAffine3::from_rotation_translation(turn, sheet.place);
        scene.meshes.push(Mesh { triangle_materials: vec![index as u32; 2], ..square.clone() });
        scene.materials.push(sheet.material);
        scene.instances.push(Instance { mesh: index as u32, world_from_mesh });
    }
    scene
}

fn caster(sheets: Vec<Sheet>) -> BvhCaster {
    BvhCaster::new(Arc::new(scene(sheets))).unwrap()
}

fn pulse(origin: DVec3, direction: DVec3) -> Pulse {
    let direction = direction.normalize();
    let half_axis_u = direction.any_orthonormal_vector() * 1e-3;
    let half_axis_v = direction.cross(half_axis_u);
    Pulse { origin, direction, half_axis_u, half_axis_v, start_m: 0.0, max_range_m: 100.0 }
}

/// Ranges and strengths of the returned light of a ray in `direction` from a point 1 m above the origin.
fn seen(caster: &dyn RayCaster, direction: DVec3) -> Vec<(f32, f32)> {
    seen_at(caster, direction, SimTime::ZERO)
}

fn seen_at(caster: &dyn RayCaster, direction: DVec3, fired: SimTime) -> Vec<(f32, f32)> {
    let pulses = [pulse(DVec3::Z, direction)];
    let mut hits = [Hit::MISS];
    caster.cast_at(&Stencil::single(), &pulses, &[fired], &mut hits);
    let mut glimpses = Glimpses::default();
    let finishes = caster.finishes().expect("some finish");
    glimpses.follow(caster, finishes, &Stencil::single(), (&pulses, &[fired]), &hits);
    match glimpses.by_pulse(1).next().expect("one pulse") {
        Some(glimpses) => glimpses.iter().map(|g| (g.range_m, g.reflectance)).collect(),
        None => {
            let met = hits.iter().filter(|hit| hit.range_m.is_finite());
            met.map(|hit| (hit.range_m, hit.reflectance * hit.cos_incidence)).collect()
        }
    }
}

fn assert_seen(seen: &[(f32, f32)], expected: &[(f64, f64)]) {
    assert_eq!(seen.len(), expected.len(), "{seen:?}");
    for (&(range_m, reflectance), &(at_m, strength)) in seen.iter().zip(expected) {
        assert!((f64::from(range_m) - at_m).abs() < 2e-3, "{seen:?}, not {expected:?}");
        let error = f64::from(reflectance) - strength;
        assert!(error.abs() < 0.02 * strength + 1e-5, "{seen:?}, not {expected:?}");
    }
}

#[test]
fn matt_scenes_have_no_finishes() {
    assert!(caster(vec![wall(5.0, matt(0.5))]).finishes().is_none());
    assert!(caster(vec![wall(5.0, named("asphalt"))]).finishes().is_none());
    assert!(caster(vec![wall(5.0, named("window"))]).finishes().is_some());
}

#[test]
fn a_wall_is_seen_through_a_window() {
    let caster = caster(vec![wall(5.0, named("window")), wall(8.0, matt(0.5))]);
    // The angle of incidence is 20 degrees, so that the pane has no glint.
    let (sin, cos) = libm::sincos(20_f64.to_radians());
    let through = 0.98 * 0.921;
    assert_seen(
        &seen(&caster, DVec3::new(cos, sin, 0.0)),
        &[(5.0 / cos, 0.02 * cos), (8.0 / cos, 0.5 * cos * through * through)],
    );
}

#[test]
fn double_glazing_on_both_sides_is_four_passages() {
    let clean = || Material { reflectance: 0.0, ..named("window") };
    let mut sheets: Vec<Sheet> = [5.0, 5.02, 9.0, 9.02].map(|x| wall(x, clean())).into();
    sheets.push(wall(12.0, matt(0.8)));
    let caster = caster(sheets);
    let (sin, cos) = libm::sincos(20_f64.to_radians());
    let seen = seen(&caster, DVec3::new(cos, sin, 0.0));
    let (range_m, reflectance) = seen[seen.len() - 1];
    assert!((f64::from(range_m) - 12.0 / cos).abs() < 2e-3, "{seen:?}");
    let expected = 0.8 * cos * 0.921_f64.powi(8);
    assert!((f64::from(reflectance) - expected).abs() < 0.01, "{seen:?} {expected}");
}

#[test]
fn a_solid_block_of_glass_has_a_face_on_either_side() {
    let glass = |x| {
        let finish = crate::world::scene::Finish::Glass { index: 1.5, clear: 1.0, faces: 1 };
        wall(x, Material { finish, ..matt(0.0) })
    };
    let caster = caster(vec![glass(5.0), glass(5.3), wall(8.0, matt(0.5))]);
    let (sin, cos) = libm::sincos(10_f64.to_radians());
    let seen = seen(&caster, DVec3::new(cos, sin, 0.0));
    assert_eq!(seen.len(), 1, "{seen:?}");
    assert!((f64::from(seen[0].1) - 0.5 * cos * 0.96_f64.powi(4)).abs() < 0.005, "{seen:?}");
}

#[test]
fn what_water_mirrors_seems_to_lie_below_it() {
    // Water at z = 0 and a wall 15 m ahead. The sensor is at a height of 1 m.
    let caster = caster(vec![floor(0.0, named("pond")), wall(15.0, matt(0.5))]);
    // The ray hits the water 5 m ahead and then the wall 2 m above the water. That point appears 2 m below the water.
    let direction = DVec3::new(5.0, 0.0, -1.0);
    let length = direction.length();
    let fresnel = 0.304_f64;
    assert_seen(
        &seen(&caster, direction),
        &[(3.0 * length, fresnel * fresnel * 0.5 * 5.0 / length)],
    );
    // Without a mirrored object there is no return. Ditches and ponds therefore look alike.
    assert_seen(&seen(&caster, DVec3::new(-5.0, 0.0, -1.0)), &[]);
    assert_seen(&seen(&caster, DVec3::new(0.1, 8.0, -1.0)), &[]);
}

/// At a height of 1 m and a distance of 8 m, a puddle has no usable return, and the asphalt beside it is visible.
#[test]
fn a_puddle_far_away_returns_nothing_that_can_be_used() {
    let grazing = DVec3::new(8.0, 0.0, -1.0);
    // The limit of a VLP-16: a reflectance of 0.8 at 100 m.
    let needed = 8e-5 * grazing.length_squared();
    let over = |name: &str| {
        seen(&caster(vec![floor(0.0, named(name)), wall(-50.0, named("window"))]), grazing)
    };
    let puddle = over("puddle");
    assert!(
        puddle.iter().all(|&(range_m, f)| range_m < 9.0 && f64::from(f) < needed),
        "{puddle:?}"
    );
    let asphalt = over("asphalt");
    assert!(f64::from(asphalt[0].1) > 2.0 * needed, "{asphalt:?}");
    // From directly above, the bottom is visible; its optical path below the surface is 2.7 cm.
    let caster = caster(vec![floor(0.0, named("puddle"))]);
    let below = seen(&caster, DVec3::new(0.05, 0.0, -1.0));
    assert!(
        below.iter().any(|&(range_m, f)| (range_m - 1.0279).abs() < 1e-3 && f > 0.05),
        "{below:?}"
    );
}

#[test]
fn a_mirror_shows_what_is_beside_the_sensor_and_a_second_mirror_nothing() {
    let beside = Sheet { place: DVec3::Y * 4.0, normal: DVec3::Y, material: matt(0.5) };
    let caster = caster(vec![wall(5.0, named("mirror")), beside]);
    let direction = DVec3::new(5.0, 1.0, 0.0);
    let length = direction.length();
    // In the mirror, the wall is at four times the distance.
    assert_seen(&seen(&caster, direction), &[(4.0 * length, 0.81 * 0.5 / length)]);
    let facing = super::tests::caster(vec![
        wall(5.0, named("mirror")),
        wall(-5.0, named("mirror")),
        Sheet { place: DVec3::Y * 18.0, normal: DVec3::Y, material: matt(0.5) },
    ]);
    assert_seen(&seen(&facing, DVec3::new(5.0, 1.0, 0.0)), &[]);
}

#[test]
fn nothing_is_seen_beyond_the_length_of_a_ray() {
    let caster = caster(vec![wall(5.0, named("window")), wall(19.0, matt(0.5))]);
    let mut pulses = [pulse(DVec3::Z, DVec3::new(1.0, 0.2, 0.0))];
    for (max_range_m, expected) in [(30.0, 2), (19.3, 1)] {
        pulses[0].max_range_m = max_range_m;
        let mut hits = [Hit::MISS];
        caster.cast(&Stencil::single(), &pulses, &mut hits);
        let mut glimpses = Glimpses::default();
        let finishes = caster.finishes().unwrap();
        let fired = [SimTime::ZERO];
        glimpses.follow(&caster, finishes, &Stencil::single(), (&pulses, &fired), &hits);
        assert_eq!(
            glimpses.by_pulse(1).next().flatten().expect("glass").len(),
            expected,
            "{max_range_m}"
        );
    }
}

/// Two pulses of four rays at the edge of a pane; every ray keeps its own light.
#[test]
fn glimpses_belong_to_the_pulses_whose_rays_saw_them() {
    let mut scene = scene(vec![wall(5.0, named("window")), wall(8.0, matt(0.5))]);
    // The pane ends at y = 0. One of the first pulse's four rays and all of the second's pass beside it.
    scene.instances[0].world_from_mesh.translation.y = 20.0;
    let caster = BvhCaster::new(Arc::new(scene)).unwrap();
    let offsets = vec![[0.0, 0.5], [0.0, 1.0], [0.0, -0.5], [0.5, 0.1]];
    let stencil = Stencil::new(offsets).unwrap();
    let along_y = |y: f64| {
        let ray = pulse(DVec3::Z, DVec3::new(8.0, y, 0.1));
        let half_axis_v = DVec3::Z.cross(ray.direction).normalize() * 1e-2;
        Pulse { half_axis_u: ray.direction.cross(half_axis_v), half_axis_v, ..ray }
    };
    let (pulses, fired) = ([along_y(0.0), along_y(-1.0)], [SimTime::ZERO; 2]);
    let mut hits = [Hit::MISS; 8];
    caster.cast(&stencil, &pulses, &mut hits);
    let mut glimpses = Glimpses::default();
    glimpses.follow(&caster, caster.finishes().unwrap(), &stencil, (&pulses, &fired), &hits);
    let mut pulses = glimpses.by_pulse(4);
    let first = pulses.next().flatten().expect("glass");
    let by_ray = |ray| first.iter().filter(|g| g.ray == ray).map(|g| g.range_m.round()).collect();
    let ranges: [Vec<f32>; 4] = [by_ray(0), by_ray(1), by_ray(2), by_ray(3)];
    assert_eq!(ranges, [vec![5.0, 8.0], vec![5.0, 8.0], vec![8.0], vec![5.0, 8.0]]);
    let second = pulses.next().expect("a second pulse");
    assert!(second.is_none(), "passes beside the pane: {second:?}");
}

/// A moving pane and a moving mirror, like a bus with windows. The hit does not identify the part of the body.
#[test]
fn windows_and_mirrors_of_moving_objects_work() {
    let body = scene(vec![
        Sheet { place: DVec3::Z * -50.0, normal: DVec3::Z, material: matt(0.1) },
        wall(0.0, named("window")),
        wall(1.0, named("mirror")),
    ]);
    // 2 m/s towards the east from x = 3.
    let line = TrajectoryConfig::Line { start_m: [3.0, 0.0, 0.0], yaw_rad: 0.0, speed_m_s: 2.0 };
    let bus = object("bus", body, line);
    let beside = Sheet { place: DVec3::Y * 4.0, normal: DVec3::Y, material: matt(0.5) };
    let still = BvhCaster::new(Arc::new(scene(vec![beside]))).unwrap();
    let caster = MovingCaster::new(Box::new(still), 1, vec![bus].into());
    assert!(caster.finishes().is_some());
    let direction = DVec3::new(5.0, 1.0, 0.0);
    let slant = direction.length() / 5.0;
    for (fired, x) in [(SimTime(0), 3.0), (SimTime(1_500_700_000), 6.001_4)] {
        let seen = seen_at(&caster, direction, fired);
        // First the dirt of the pane; then, through the pane, the wall beside the bus in the mirror behind the pane.
        // The pane absorbs its share again when light leaves the bus. The pane's own mirror image of the wall is
        // weaker.
        assert!((f64::from(seen[0].0) - x * slant).abs() < 2e-3, "{seen:?}");
        let through = 0.98 * 0.923_f64;
        let expected = 0.81 * 0.5 / 26_f64.sqrt() * through.powi(4);
        let wall_m = 20.0 * slant;
        let at_wall =
            seen.iter().filter(|(range_m, _)| (f64::from(*range_m) - wall_m).abs() < 5e-3);
        let strength = at_wall.map(|&(_, strength)| f64::from(strength)).fold(0.0, f64::max);
        assert!((strength - expected).abs() < 0.03 * expected, "{seen:?} {expected}");
    }
}

#[test]
fn what_stands_behind_a_still_window_moves() {
    let block = scene(vec![wall(0.0, matt(0.5))]);
    let line = TrajectoryConfig::Line { start_m: [7.0, 0.0, 0.0], yaw_rad: 0.0, speed_m_s: 2.0 };
    let still = BvhCaster::new(Arc::new(scene(vec![wall(5.0, named("window"))]))).unwrap();
    let caster = MovingCaster::new(Box::new(still), 1, vec![object("car", block, line)].into());
    let pulses = [pulse(DVec3::Z, DVec3::new(5.0, 1.0, 0.0))];
    for (fired, x) in [(SimTime(0), 7.0), (SimTime(2_000_000_000), 11.0)] {
        let mut hits = [Hit::MISS];
        caster.cast_at(&Stencil::single(), &pulses, &[fired], &mut hits);
        let mut glimpses = Glimpses::default();
        let finishes = caster.finishes().unwrap();
        glimpses.follow(&caster, finishes, &Stencil::single(), (&pulses, &[fired]), &hits);
        let last = *glimpses.by_pulse(1).next().flatten().expect("glass").last().unwrap();
        let expected = x * 26_f64.sqrt() / 5.0;
        assert!((f64::from(last.range_m) - expected).abs() < 2e-3, "{last:?} {expected}");
        assert_eq!(last.instance, 1, "the object is told by its index");
    }
}

fn object(name: &str, body: Scene, trajectory: TrajectoryConfig) -> MovingObject {
    let robot = crate::config::rig::RobotConfig::new(trajectory, false);
    let geo = Geodetic { latitude_deg: 0.0, longitude_deg: 0.0, altitude_m: 0.0 };
    let geo = GeoOrigin::new(geo);
    let motion = crate::world::trajectory::Trajectory::new(&robot, &geo, None).unwrap();
    MovingObject::of(name, body, motion).unwrap()
}
