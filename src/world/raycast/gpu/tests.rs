//! Compares the GPU with the processor, bit by bit. Mesa's lavapipe is sufficient (Debian: mesa-vulkan-drivers).

use std::sync::Arc;

use glam::{DAffine3, DMat3, DQuat, DVec3};
use rand_xoshiro::SplitMix64;

use super::self_test::nine;
use super::*;
use crate::config::rig::objects::ObjectShape;
use crate::config::rig::{
    CourtyardParameters, RobotConfig, RoomParameters, StreetParameters, TrajectoryConfig,
};
use crate::frames::{GeoOrigin, Geodetic};
use crate::world::builtin::{bodies, courtyard, room, street};
use crate::world::materials;
use crate::world::moving::{MovingCaster, MovingObject};
use crate::world::random::{stream, uniform};
use crate::world::raycast::cast::tests::{fixture, textured_fixture};
use crate::world::raycast::draws::{fan, mixed_triangles, repeat_some};
use crate::world::scene::{Instance, Scene};
use crate::world::trajectory::Trajectory;

fn casters(scene: Scene) -> (Arc<BvhCaster>, GpuCaster) {
    on(BvhCaster::new(Arc::new(scene)).expect("a small scene"))
}

fn on(cpu: BvhCaster) -> (Arc<BvhCaster>, GpuCaster) {
    let cpu = Arc::new(cpu);
    let gpu = GpuCaster::new(cpu.clone(), &[], true).unwrap_or_else(|error| panic!("{error}"));
    (cpu, gpu)
}

fn vector(rng: &mut SplitMix64) -> DVec3 {
    DVec3::from_array(std::array::from_fn(|_| uniform(rng, -1.0, 1.0)))
}

fn size(rng: &mut SplitMix64, low: f64, high: f64) -> f64 {
    libm::pow(10.0, uniform(rng, low, high))
}

/// Casts pulses of nine rays and of one ray, and rays like those of a camera, with both casters and compares; returns the
/// number of rays that hit something.
fn compare(cpu: &dyn RayCaster, gpu: &dyn RayCaster, pulses: &[Pulse], name: &str) -> usize {
    let fired: Vec<SimTime> = (0..pulses.len() as u64).map(|k| SimTime(k * 200_000)).collect();
    let mut met = 0;
    let rays: Vec<Pulse> = pulses.iter().map(as_of_camera).collect();
    let single = Stencil::single();
    for (stencil, pulses) in [(&nine(), pulses), (&single, pulses), (&single, &rays)] {
        let [expected, found] = [cpu, gpu].map(|caster| {
            let mut hits = vec![Hit::MISS; pulses.len() * stencil.len()];
            caster.cast_at(stencil, pulses, &fired, &mut hits);
            hits
        });
        for (ray, (expected, found)) in expected.iter().zip(&found).enumerate() {
            let pulse = &pulses[ray / stencil.len()];
            assert_eq!(self_test::bits(found), self_test::bits(expected), "{name}: {pulse:?}");
        }
        met += found.iter().filter(|hit| hit.range_m.is_finite()).count();
    }
    met
}

/// A ray with the origin and the direction of `pulse`; all such rays have the other numbers in common.
fn as_of_camera(pulse: &Pulse) -> Pulse {
    let (half_axis_u, half_axis_v) = (DVec3::ZERO, DVec3::ZERO);
    Pulse { start_m: 0.0, half_axis_u, half_axis_v, max_range_m: 2000.0, ..*pulse }
}

/// Number of rays that the kernel leaves to the processor, with nine rays for each pulse.
fn undecided(gpu: &GpuCaster, pulses: &[Pulse]) -> usize {
    let pulses = pulses.iter().map(|pulse| (0, *pulse));
    let found = gpu.ask(&nine(), false, &[16], pulses).expect("a GPU");
    found.hits().iter().filter(|hit| hit.instance == UNDECIDED).count()
}

/// Compares shadows of four lights; returns the number of positions in shadow.
fn compare_shadows(cpu: &dyn RayCaster, gpu: &dyn RayCaster, from: &[DVec3]) -> usize {
    let fired = vec![SimTime::ZERO; from.len()];
    let mut blocked = 0;
    for toward in [DVec3::Z, DVec3::new(0.6, 0.3, 0.5).normalize(), DVec3::X, -DVec3::Y] {
        let beams = Beams { toward, reach_m: 30.0 };
        let [expected, found] = [cpu, gpu].map(|caster| {
            let mut blocked = vec![false; from.len()];
            caster.blocked_at(&beams, from, &fired, &mut blocked);
            blocked
        });
        assert_eq!(found, expected, "{toward}");
        blocked += found.iter().filter(|blocked| **blocked).count();
    }
    blocked
}

/// A scene of triangles of two kinds around `home`.
fn mixed(rng: &mut SplitMix64, round: usize, home: DVec3) -> Scene {
    let meshes = [round % 7, (round / 7) % 7].map(|kind| {
        let mut mesh = mixed_triangles(&mut |low, high| uniform(rng, low, high), kind, 60);
        repeat_some(&mut mesh);
        mesh
    });
    let instances = (0..12u32).map(|k| Instance {
        mesh: k % 2,
        world_from_mesh: if k == 2 {
            DAffine3::from_translation(home)
        } else {
            let scale = if k % 4 == 3 { DVec3::ONE } else { DVec3::ONE + 0.7 * vector(rng) };
            let turn = DQuat::from_scaled_axis(vector(rng) * 3.0);
            DAffine3::from_scale_rotation_translation(scale, turn, home + 2.0 * vector(rng))
        },
    });
    let mut instances: Vec<Instance> = instances.collect();
    // The last instances equal the first ones.
    instances.extend_from_within(..3);
    let materials = vec![materials::plain("plain", 0.5)];
    Scene { materials, instances, meshes: meshes.to_vec(), ground: vec![] }
}

#[test]
#[ignore = "needs a Vulkan driver"]
fn random_scenes() {
    let mut rng = stream(7, 0, 0);
    let (mut met, mut left) = (0, 0);
    for round in 0..49 {
        let home = vector(&mut rng) * if round % 5 == 0 { 3e4 } else { 0.0 };
        let (cpu, gpu) = casters(mixed(&mut rng, round, home));
        let scene = cpu.scene().clone();
        let mut pulses = Vec::new();
        for line in 0..40 {
            // Each fan starts with a pulse at a corner or at the middle of an edge, where rounding decides.
            let origin = home + vector(&mut rng) * 8.0;
            let instance = &scene.instances[line % 4];
            let mesh = &scene.meshes[instance.mesh as usize];
            let [a, b, _] = mesh.corners((7 * line as u32 + round as u32) % 60);
            let aim = instance.world_from_mesh.transform_point3(a.lerp(b, 0.5 * (line % 3) as f64));
            let step_rad = size(&mut rng, -5.0, -1.8);
            let half = size(&mut rng, -5.0, -1.0);
            let behind_m = if line % 3 == 0 { 14.0 } else { 0.0 };
            let max_range_m = if line % 6 == 5 { (aim - origin).length() as f32 } else { 2e5 };
            pulses.extend(fan(origin, aim, [step_rad, half, behind_m], max_range_m));
        }
        met += compare(&*cpu, &gpu, &pulses, &format!("round {round}"));
        left += undecided(&gpu, &pulses);
        let from: Vec<DVec3> = (0..300).map(|_| home + 4.0 * vector(&mut rng)).collect();
        compare_shadows(&*cpu, &gpu, &from);
        assert_eq!(gpu.lost(), None);
    }
    // The processor decides about triangles without area.
    assert!(met > 50_000 && left < met / 50, "{met} {left}");
}

#[test]
#[ignore = "needs a Vulkan driver"]
fn blades_and_textures_with_holes() {
    for ((cpu, pulses, _), has_holes) in [(fixture(), false), (textured_fixture(), true)] {
        let (cpu, gpu) = on(cpu);
        let met = compare(&*cpu, &gpu, &pulses, "blades");
        let left = undecided(&gpu, &pulses);
        assert!((left > 0) == has_holes && left < 3 * pulses.len(), "{left}");
        assert!(met > pulses.len(), "{met}");
        let mut rng = stream(8, 0, 0);
        let place = |_| DVec3::new(12.0, 0.0, 0.0) + vector(&mut rng) * DVec3::new(6.0, 8.0, 2.0);
        let blocked = compare_shadows(&*cpu, &gpu, &(0..2000).map(place).collect::<Vec<_>>());
        assert!(blocked > 200, "{blocked}");
    }
}

/// Copies of the blades: mirrored, sheared, overlapping, and far from the origin of World, where single precision is
/// coarse.
#[test]
#[ignore = "needs a Vulkan driver"]
fn sheared_and_overlapping_copies_far_from_the_origin() {
    let (cpu, ..) = fixture();
    let far_away = DVec3::new(4321.0, -2345.0, 120.0);
    let mut rng = stream(9, 0, 0);
    let copy = |index: u32| {
        let shear = DMat3::from_cols(
            DVec3::new(1.0, 0.3 * uniform(&mut rng, -1.0, 1.0), 0.0),
            DVec3::new(0.4 * uniform(&mut rng, -1.0, 1.0), 1.2, 0.2),
            DVec3::new(0.0, 0.3, 0.7),
        );
        let turn = DMat3::from_quat(DQuat::from_scaled_axis(vector(&mut rng) * 3.0));
        let mirror = DMat3::from_diagonal(DVec3::new([0.8, -0.8][index as usize % 2], 1.1, 0.5));
        let place = far_away + vector(&mut rng) * DVec3::new(30.0, 30.0, 4.0);
        let world_from_mesh = DAffine3::from_mat3_translation(shear * turn * mirror, place);
        Instance { mesh: 0, world_from_mesh }
    };
    let scene = Scene { instances: (0..3000).map(copy).collect(), ..Scene::clone(cpu.scene()) };
    let (cpu, gpu) = casters(scene);
    let pulses = turn(far_away);
    let met = compare(&*cpu, &gpu, &pulses, "copies");
    assert!(met > 5 * pulses.len(), "{met}");
    assert_eq!(undecided(&gpu, &pulses), 0);
}

/// One rotation of a lidar with 16 lasers.
fn turn(origin: DVec3) -> Vec<Pulse> {
    let pulse = |k: u32| {
        let (laser, column) = (k / 120, k % 120);
        let (sin_a, cos_a) = libm::sincos(f64::from(column) * std::f64::consts::TAU / 120.0);
        let (sin_e, cos_e) = libm::sincos(0.05 - 0.03 * f64::from(laser));
        let direction = DVec3::new(cos_e * cos_a, cos_e * sin_a, sin_e);
        let left = DVec3::new(-sin_a, cos_a, 0.0);
        Pulse {
            origin,
            start_m: 0.0,
            direction,
            half_axis_u: left * 1e-3,
            half_axis_v: direction.cross(left) * 1e-3,
            max_range_m: 120.0,
        }
    };
    (0..16 * 120).map(pulse).collect()
}

#[test]
#[ignore = "needs a Vulkan driver"]
fn built_in_scenes() {
    let parameters = CourtyardParameters {
        seed: 7,
        grass_blades: 20_000,
        trees: 10,
        tree_triangles: 2000,
        ground_relief_m: 1.5,
    };
    let street_parameters = StreetParameters { wetness: 0.5, ..Default::default() };
    for (name, scene, origin) in [
        ("courtyard", courtyard::build(&parameters), DVec3::new(20.0, 0.0, 2.5)),
        ("street", street::build(&street_parameters), DVec3::new(0.5, 0.3, 1.2)),
        ("room", room::build(&RoomParameters::default()), DVec3::new(3.3, -7.1, 2.0)),
    ] {
        let (cpu, gpu) = casters(scene);
        let pulses = turn(origin);
        let met = compare(&*cpu, &gpu, &pulses, name);
        assert!(met > pulses.len(), "{name}: {met}");
        assert_eq!(undecided(&gpu, &pulses), 0, "{name}");
        assert_eq!(cpu.finishes().is_some(), gpu.finishes().is_some());
    }
}

/// A moving object for [`moving_objects_and_an_empty_scene`].
fn moving(body: Scene, start_m: f64) -> MovingObject {
    let start_m = [start_m, -3.0, 0.0];
    let line = TrajectoryConfig::Line { start_m, yaw_rad: 0.2, speed_m_s: 9.0 };
    let geo = GeoOrigin::new(Geodetic { latitude_deg: 0.0, longitude_deg: 0.0, altitude_m: 0.0 });
    let motion = Trajectory::new(&RobotConfig::new(line, false), &geo, None).unwrap();
    MovingObject::of("object", body, motion).unwrap()
}

#[test]
#[ignore = "needs a Vulkan driver"]
fn moving_objects_and_an_empty_scene() {
    let scene = Arc::new(room::build(&RoomParameters::default()));
    for (scene, name) in [(scene, "room"), (Arc::new(Scene::default()), "empty")] {
        let cpu = Arc::new(BvhCaster::new(scene.clone()).unwrap());
        // Two objects with equal bodies at the same place, one with holes, and one that is partly hidden.
        let (holes, ..) = textured_fixture();
        let objects: Arc<[MovingObject]> = [
            moving(bodies::build(ObjectShape::Car, [4.0, 1.8, 1.5], 0.5), 3.0),
            moving(bodies::build(ObjectShape::Car, [4.0, 1.8, 1.5], 0.9), 3.0),
            moving(holes.scene().as_ref().clone(), 7.0),
            moving(bodies::build(ObjectShape::Cylinder, [1.0, 1.0, 2.0], 0.2), 1.0),
        ]
        .into();
        let bodies: Vec<_> = objects.iter().map(|object| object.caster().clone()).collect();
        let still = GpuCaster::new(cpu, &bodies, true).unwrap_or_else(|error| panic!("{error}"));
        let instances = scene.instances.len();
        let cast_before = still.pulses_by_gpu();
        let gpu = MovingCaster::new(Box::new(still), instances, objects.clone());
        let cpu = MovingCaster::new(Box::new(BvhCaster::new(scene).unwrap()), instances, objects);
        assert_eq!((cpu.in_flight(), gpu.in_flight()), (1, IN_FLIGHT));
        let met = compare(&cpu, &gpu, &turn(DVec3::new(3.3, -7.1, 2.0)), name);
        assert!(met > 100, "{name}: {met}");
        assert!(gpu.pulses_by_gpu() > cast_before, "{name}");
        // Positions on the ground around the objects and in their shadows.
        let place = |index: u32| {
            let (east, north) = (f64::from(index % 80), f64::from(index / 80));
            DVec3::new(-2.0 + 0.15 * east, -6.0 + 0.1 * north, 0.01)
        };
        let blocked = compare_shadows(&cpu, &gpu, &(0..6400).map(place).collect::<Vec<_>>());
        assert!(blocked > 2000, "{name}: {blocked}");
    }
}

#[test]
#[ignore = "needs a Vulkan driver"]
fn many_callers_at_once_and_a_lost_gpu() {
    let (cpu, pulses, stencil) = fixture();
    let (cpu, gpu) = on(cpu);
    let stencils = [stencil, Stencil::single()];
    // More rays than a batch holds; those of a camera need six numbers each.
    let (single, most) = (&stencils[1], most_pulses(&stencils[1]));
    let many: Vec<Pulse> = pulses.iter().map(as_of_camera).cycle().take(most + 1000).collect();
    let rays = |count| many[..count].iter().map(|ray| (0, *ray));
    assert!(gpu.ask(single, false, &[6], rays(most)).is_some());
    assert!(gpu.ask(single, false, &[6, 16], rays(most + 1)).is_none());
    assert_eq!(gpu.lost(), None);
    let [mut expected, mut found] = [vec![Hit::MISS; many.len()], vec![Hit::MISS; many.len()]];
    cpu.cast(single, &many, &mut expected);
    gpu.cast(single, &many, &mut found);
    assert_eq!(found, expected);
    let begun = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for worker in 0..8 {
            let (cpu, gpu, pulses, stencils, begun) = (&cpu, &gpu, &pulses, &stencils, &begun);
            scope.spawn(move || {
                let stencil = &stencils[worker % 2];
                for part in pulses.chunks(400).skip(worker % 3) {
                    begun.fetch_add(1, Ordering::Relaxed);
                    let [expected, found] = [&**cpu as &dyn RayCaster, gpu].map(|caster| {
                        let mut hits = vec![Hit::MISS; part.len() * stencil.len()];
                        caster.cast(stencil, part, &mut hits);
                        hits
                    });
                    assert_eq!(found, expected);
                }
            });
        }
        assert_eq!(gpu.lost(), None);
        while begun.load(Ordering::Relaxed) < 30 {
            std::thread::yield_now();
        }
        gpu.device.lock().unwrap()();
    });
    // The GPU is lost, so the processor casts these pulses.
    let mut hits = vec![Hit::MISS; 400];
    gpu.cast(&stencils[1], &pulses[..400], &mut hits);
    let mut expected = hits.clone();
    cpu.cast(&stencils[1], &pulses[..400], &mut expected);
    assert_eq!(hits, expected);
    assert!(gpu.lost().is_some());
}

/// Checks that the tests above would find a wrong hit: the GPU's scene differs by a tenth of a millimetre.
#[test]
#[ignore = "needs a Vulkan driver"]
fn a_difference_is_found() {
    let [small, large] = [40.0, 40.0002].map(|length_m| {
        let size_m = [length_m, 40.0, 8.0];
        let scene = RoomParameters { size_m, reflectance: 0.4, puddle_radius_m: 0.0 };
        Arc::new(BvhCaster::new(Arc::new(room::build(&scene))).unwrap())
    });
    let gpu = Gpu::find(None, true).unwrap_or_else(|error| panic!("{error}"));
    let refused = GpuCaster::with(vec![small], gpu, &Layout::new(&[large])).map(drop);
    let Err(error @ GpuError::Differs { .. }) = refused else { panic!("{refused:?}") };
    assert!(error.to_string().contains("instead of"), "{error}");
}

#[test]
fn what_it_cannot_address_is_refused_with_the_figure() {
    let error = GpuError::TooLarge {
        gpu: "a card, a driver 1.2".into(),
        what: "triangles",
        bytes: 3_000_000_001,
        most: 2_147_483_648,
    };
    let wanted =
        "the scene's triangles take 3001 MB on the GPU; a card, a driver 1.2 can address 2148 MB";
    assert_eq!(error.to_string(), wanted);
    let cpu = [Arc::new(fixture().0), Arc::new(BvhCaster::new(Arc::default()).unwrap())];
    let [(_, nodes), (_, triangles), .., (_, placed), _] = Sizes::of(&cpu).bytes();
    let layout = Layout::new(&cpu);
    assert_eq!(nodes as usize, size_of_val(layout.nodes.as_slice()));
    assert_eq!(triangles as usize, size_of_val(layout.triangles.as_slice()));
    assert_eq!(placed as usize, size_of_val(layout.placed.as_slice()));
}
