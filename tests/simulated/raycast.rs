//! Compares the ray tracer with brute force: every ray with every triangle, in `f64`.

use std::sync::Arc;

use glam::{DAffine3, DMat3, DQuat, DVec3};
use menura::world::materials;
use menura::world::raycast::{BvhCaster, Hit, Pulse, RayCaster, Stencil};
use menura::world::scene::{Instance, Material, Mesh, Scene, Texture};
use proptest::prelude::*;

/// Number of test cases: `usual`, or the value of `PROPTEST_CASES`.
fn cases(usual: u32) -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok());
    ProptestConfig::with_cases(asked.unwrap_or(usual))
}

/// Range along the unit vector `ray` to the plane of the triangle, and the least barycentric coordinate of the hit,
/// which is negative outside of the triangle; `None` if ray and plane are parallel.
fn intersect(corners: [DVec3; 3], origin: DVec3, ray: DVec3) -> Option<(f64, f64)> {
    let [a, b, c] = corners;
    let normal = (b - a).cross(c - a);
    let along = normal.dot(ray);
    if along == 0.0 {
        return None;
    }
    let t = normal.dot(a - origin) / along;
    let p = origin + ray * t;
    let scale = normal.length_squared();
    let wb = (c - a).cross(a - p).dot(normal) / scale;
    let wc = (a - p).cross(b - a).dot(normal) / scale;
    Some((t, wb.min(wc).min(1.0 - wb - wc)))
}

/// All surfaces that a ray hits or nearly hits, sorted by range: range, least barycentric coordinate, instance,
/// triangle.
fn all_hits(scene: &Scene, origin: DVec3, ray: DVec3) -> Vec<(f64, f64, u32, u32)> {
    let unit = ray.normalize();
    let mut found = Vec::new();
    for (instance_index, instance) in scene.instances.iter().enumerate() {
        let mesh = &scene.meshes[instance.mesh as usize];
        for triangle in 0..mesh.triangles.len() as u32 {
            let corners =
                mesh.corners(triangle).map(|p| instance.world_from_mesh.transform_point3(p));
            if let Some((range, inside)) = intersect(corners, origin, unit)
                && range > 0.0
                && inside > -0.02
            {
                found.push((range, inside, instance_index as u32, triangle));
            }
        }
    }
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    found
}

fn cast(scene: &Arc<Scene>, stencil: &Stencil, pulses: &[Pulse]) -> Vec<Hit> {
    let caster = BvhCaster::new(scene.clone()).unwrap();
    let mut hits = vec![Hit::MISS; pulses.len() * stencil.len()];
    caster.cast(stencil, pulses, &mut hits);
    hits
}

fn plain() -> Material {
    materials::plain("plain", 0.5)
}

fn mesh(positions: Vec<[f32; 3]>, triangles: Vec<[u32; 3]>) -> Mesh {
    let triangle_materials = vec![0; triangles.len()];
    Mesh { name: "test".into(), label: None, positions, uvs: vec![], triangles, triangle_materials }
}

fn nine() -> Stencil {
    let mut offsets = vec![[0.0, 0.0]];
    for a in [-1.0f32, 0.0, 1.0] {
        for b in [-1.0f32, 0.0, 1.0] {
            if (a, b) != (0.0, 0.0) {
                offsets.push([a, b]);
            }
        }
    }
    Stencil::new(offsets).unwrap()
}

/// A pulse whose half-axes have the lengths `half_rad` and half of `half_rad`, radians.
fn pulse(origin: DVec3, direction: DVec3, half_rad: f64, max_range_m: f32) -> Pulse {
    let direction = direction.normalize();
    let u = direction.any_orthonormal_vector();
    let v = direction.cross(u);
    Pulse {
        origin,
        direction,
        half_axis_u: u * half_rad,
        half_axis_v: v * half_rad * 0.5,
        start_m: 0.0,
        max_range_m,
    }
}

/// Compares a caster's hits with brute force. If a ray grazes an edge, both results are accepted.
fn agree(scene: &Scene, stencil: &Stencil, pulses: &[Pulse], hits: &[Hit]) {
    for (pulse, hits) in pulses.iter().zip(hits.chunks(stencil.len())) {
        for (&[a, b], hit) in stencil.offsets().iter().zip(hits) {
            let ray = pulse.direction
                + pulse.half_axis_u * f64::from(a)
                + pulse.half_axis_v * f64::from(b);
            let start = pulse.origin + ray.normalize() * f64::from(pulse.start_m);
            let expected = all_hits(scene, start, ray);
            let max = f64::from(pulse.max_range_m);
            let close = |r: f64| (r - f64::from(hit.range_m)).abs() < 1e-5 * (1.0 + r);
            if hit.range_m.is_finite() {
                assert!(
                    expected.iter().any(|&(r, ..)| close(r)),
                    "hit at {} where there is nothing: {expected:?}",
                    hit.range_m
                );
            }
            let clear = expected.iter().find(|e| e.1 > 1e-3 && e.0 > 1e-3 && e.0 < max * 0.9999);
            if let Some(&(range, _, instance, triangle)) = clear {
                let nearer = f64::from(hit.range_m) <= range + 1e-5 * (1.0 + range);
                assert!(nearer, "lost a hit at {range} of {instance}/{triangle}: got {hit:?}");
            }
        }
    }
}

prop_compose! {
    fn point(size: f64)(x in -size..size, y in -size..size, z in -size..size) -> DVec3 {
        DVec3::new(x, y, z)
    }
}

prop_compose! {
    fn soup(count: usize)(
        centres in prop::collection::vec(point(5.0), count),
        arms in prop::collection::vec((point(1.0), point(1.0), 0.0..1.0f64), count),
    ) -> Mesh {
        let mut positions = Vec::new();
        let mut triangles = Vec::new();
        for (centre, (arm_a, arm_b, thin)) in centres.into_iter().zip(arms) {
            let first = positions.len() as u32;
            // Some triangles are thin blades.
            let arm_b = if thin < 0.5 { arm_b * 0.004 } else { arm_b };
            for p in [centre, centre + arm_a, centre + arm_b] {
                positions.push(p.as_vec3().to_array());
            }
            triangles.push([first, first + 1, first + 2]);
        }
        mesh(positions, triangles)
    }
}

prop_compose! {
    fn placement()(
        at in point(8.0),
        axis in point(1.0),
        angle in -3.0..3.0f64,
        scale in (0.3..2.0f64, 0.3..2.0f64, 0.3..2.0f64),
        shear in -0.5..0.5f64,
        mirrored: bool,
    ) -> DAffine3 {
        let turn = DQuat::from_axis_angle((axis + DVec3::splat(1e-3)).normalize(), angle);
        let sx = if mirrored { -scale.0 } else { scale.0 };
        let linear = DMat3::from_quat(turn)
            * DMat3::from_cols(DVec3::X * sx, DVec3::new(shear, scale.1, 0.0), DVec3::Z * scale.2);
        DAffine3 { matrix3: linear, translation: at }
    }
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn hits_are_those_of_separate_rays(
        a in soup(60),
        b in soup(7),
        places in prop::collection::vec((placement(), 0..2u32), 1..12),
        origin in point(10.0),
        targets in prop::collection::vec((point(6.0), 0.0..0.05f64), 12),
    ) {
        let instances =
            places.into_iter().map(|(world_from_mesh, mesh)| Instance { mesh, world_from_mesh });
        let scene = Arc::new(Scene {
            meshes: vec![a, b],
            materials: vec![plain()],
            instances: instances.collect(),
            ground: vec![],
        });
        let pulses: Vec<Pulse> = targets
            .into_iter()
            .filter(|(t, _)| (*t - origin).length() > 1e-3)
            // Rays of wide pulses start at some distance along the beam.
            .map(|(t, half)| Pulse {
                start_m: if half > 0.02 { 60.0 * half as f32 } else { 0.0 },
                ..pulse(origin, t - origin, half, 25.0)
            })
            .collect();
        for stencil in [Stencil::single(), nine()] {
            let hits = cast(&scene, &stencil, &pulses);
            agree(&scene, &stencil, &pulses, &hits);
        }
    }

    #[test]
    fn a_closed_surface_has_no_gaps(
        bumps in prop::collection::vec(-0.2..0.2f32, 81),
        x in -0.95..0.95f64,
        y in -0.95..0.95f64,
    ) {
        // Rays from above at the vertices and edges of a bumpy sheet: no ray may pass through.
        let positions = (0..81)
            .map(|i| [(i % 9) as f32 / 4.0 - 1.0, (i / 9) as f32 / 4.0 - 1.0, bumps[i as usize]])
            .collect();
        let mut triangles = Vec::new();
        for cell in 0..64u32 {
            let corner = cell / 8 * 9 + cell % 8;
            triangles.push([corner, corner + 1, corner + 10]);
            triangles.push([corner, corner + 10, corner + 9]);
        }
        let sheet = mesh(positions, triangles);
        let scene = Arc::new(Scene {
            meshes: vec![sheet],
            materials: vec![plain()],
            instances: vec![Instance { mesh: 0, world_from_mesh: DAffine3::IDENTITY }],
            ground: vec![],
        });
        let origin = DVec3::new(x * 0.1, y * 0.1, 3.0);
        let inner = |i: u32| (1..8).contains(&(i % 9)) && (1..8).contains(&(i / 9));
        let mut targets: Vec<DVec3> = Vec::new();
        for i in (0..81).filter(|&i| inner(i)) {
            let p = DVec3::new(f64::from(i % 9) / 4.0 - 1.0, f64::from(i / 9) / 4.0 - 1.0, f64::from(bumps[i as usize]));
            let q = DVec3::new(p.x + 0.25, p.y, f64::from(bumps[i as usize + 1]));
            targets.extend([p, (p + q) * 0.5]);
        }
        let pulses: Vec<Pulse> = targets.iter().map(|&t| pulse(origin, t - origin, 0.0, 100.0)).collect();
        let hits = cast(&scene, &Stencil::single(), &pulses);
        for (hit, target) in hits.iter().zip(&targets) {
            prop_assert!(hit.range_m.is_finite(), "fell through at {target}");
        }
    }
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn neighbours_that_walk_together_hit_what_they_hit_alone(
        a in soup(120),
        places in prop::collection::vec(placement(), 1..6),
        origin in point(8.0),
        target in point(4.0),
        // A scan line that rotates, climbs, moves between pulses, and is wide or narrow.
        step_rad in 0.0005..0.012f64,
        climb in -0.3..0.3f64,
        travel in point(0.004),
        half in 0.0..0.002f64,
        // The rays meet at this distance behind the device, metres: zero, or up to the distance of an Ouster OS2.
        behind_m in prop_oneof![Just(0.0), 0.1..14.0f64],
        pulses in 2..40usize,
        shuffled in any::<u64>(),
    ) {
        let instances = places.into_iter().map(|p| Instance { mesh: 0, world_from_mesh: p });
        let scene = Arc::new(Scene {
            meshes: vec![a],
            materials: vec![plain()],
            instances: instances.collect(),
            ground: vec![],
        });
        let ahead = (target - origin).normalize_or(DVec3::X);
        let across = ahead.any_orthonormal_vector();
        let up = ahead.cross(across);
        let mut line: Vec<Pulse> = (0..pulses)
            .map(|k| {
                let turn = step_rad * (k as f64 - pulses as f64 / 2.0);
                let direction = ahead + across * turn + up * (turn * climb);
                pulse(origin + travel * k as f64, direction, half, 30.0)
            })
            .collect();
        // A second line, far from the first, in the same call.
        line.extend((0..5).map(|k| pulse(-origin, across + up * (0.002 * f64::from(k)), half, 30.0)));
        for pulse in &mut line {
            pulse.origin -= pulse.direction * behind_m;
            pulse.start_m = behind_m as f32;
        }
        let caster = BvhCaster::new(scene.clone()).unwrap();
        for stencil in [Stencil::single(), nine()] {
            let rays = stencil.len();
            let mut together = vec![Hit::MISS; line.len() * rays];
            caster.cast(&stencil, &line, &mut together);
            agree(&scene, &stencil, &line, &together);

            let mut alone = vec![Hit::MISS; line.len() * rays];
            for (pulse, hits) in line.chunks(1).zip(alone.chunks_mut(rays)) {
                caster.cast(&stencil, pulse, hits);
            }
            let mut order: Vec<usize> = (0..line.len()).collect();
            order.sort_by_key(|&k| (k as u64 + 1).wrapping_mul(shuffled | 1));
            let mixed_line: Vec<Pulse> = order.iter().map(|&k| line[k]).collect();
            let mut mixed = vec![Hit::MISS; line.len() * rays];
            caster.cast(&stencil, &mixed_line, &mut mixed);
            for (place, &k) in order.iter().enumerate() {
                for ray in 0..rays {
                    let expected = &alone[k * rays + ray];
                    for hit in [&together[k * rays + ray], &mixed[place * rays + ray]] {
                        prop_assert_eq!(hit, expected);
                    }
                }
            }
        }
    }
}

#[test]
fn of_equal_ranges_the_lowest_instance_then_triangle_wins() {
    let quad = mesh(
        vec![[2.0, -1.0, -1.0], [2.0, 1.0, -1.0], [2.0, 0.0, 1.0]],
        vec![[0, 1, 2], [0, 1, 2]],
    );
    let at = Instance { mesh: 0, world_from_mesh: DAffine3::IDENTITY };
    let scene = Arc::new(Scene {
        meshes: vec![quad],
        materials: vec![plain()],
        instances: vec![at; 40],
        ground: vec![],
    });
    let hits = cast(&scene, &nine(), &[pulse(DVec3::ZERO, DVec3::X, 0.01, 10.0)]);
    assert!(hits.iter().all(|h| (h.instance, h.triangle) == (0, 0)), "{hits:?}");
}

#[test]
fn a_ray_ends_at_the_maximum_range() {
    let wall = mesh(vec![[5.0, -9.0, -9.0], [5.0, 9.0, -9.0], [5.0, 0.0, 9.0]], vec![[0, 1, 2]]);
    let scene = Arc::new(Scene {
        meshes: vec![wall],
        materials: vec![plain()],
        instances: vec![Instance { mesh: 0, world_from_mesh: DAffine3::IDENTITY }],
        ground: vec![],
    });
    let reaches =
        |max| cast(&scene, &Stencil::single(), &[pulse(DVec3::ZERO, DVec3::X, 0.0, max)])[0];
    assert_eq!(reaches(4.999).range_m, f32::INFINITY);
    assert!((reaches(5.001).range_m - 5.0).abs() < 1e-6);
}

/// Scanners with wide steps fire pulses whose rays just reach the ground, or end above it.
#[test]
fn lone_pulses_find_the_ground_that_they_just_reach() {
    for east in [0.0, 300_000.0] {
        let corner = |x: f32, y: f32| [x, y, 0.0];
        let corners = vec![
            corner(-90.0, -90.0),
            corner(90.0, -90.0),
            corner(90.0, 90.0),
            corner(-90.0, 90.0),
        ];
        let world_from_mesh = DAffine3::from_translation(DVec3::new(east, 0.0, 0.0));
        let scene = Arc::new(Scene {
            meshes: vec![mesh(corners, vec![[0, 1, 2], [0, 2, 3]])],
            materials: vec![plain()],
            instances: vec![Instance { mesh: 0, world_from_mesh }],
            ground: vec![],
        });
        let mut pulses = Vec::new();
        for step in 0..36 {
            let azimuth = f64::from(step).to_radians() * 10.0;
            for down in [-0.05, 0.0, 0.02, 0.1, 0.4, 1.5] {
                let direction = DVec3::new(libm::cos(azimuth), libm::sin(azimuth), -down);
                let reach_m = direction.length() / f64::max(down, 0.02);
                for share in [0.5, 0.9, 0.999, 1.001, 1.1, 2.0, f64::INFINITY] {
                    let max_range_m = (reach_m * share) as f32;
                    pulses.push(pulse(DVec3::new(east, 0.0, 1.0), direction, 0.01, max_range_m));
                }
            }
        }
        // Successive pulses have different directions, so that each one is traced alone.
        let (left, right) = pulses.split_at(pulses.len() / 2);
        let alone: Vec<Pulse> = left.iter().zip(right).flat_map(|(a, b)| [*a, *b]).collect();
        let hits = cast(&scene, &nine(), &alone);
        agree(&scene, &nine(), &alone, &hits);
        let hit = hits.iter().filter(|hit| hit.range_m.is_finite()).count();
        assert!(hit > hits.len() / 4 && hit < hits.len() * 3 / 4, "{hit} of {}", hits.len());
    }
}

#[test]
fn normals_turn_with_a_squeezed_instance() {
    // A ramp of 45 degrees, flattened to a tenth: its slope is atan(0.1).
    let ramp = mesh(vec![[-9.0, -9.0, -9.0], [9.0, -9.0, 9.0], [0.0, 9.0, 0.0]], vec![[0, 1, 2]]);
    let scene = Arc::new(Scene {
        meshes: vec![ramp],
        materials: vec![plain()],
        instances: vec![Instance {
            mesh: 0,
            world_from_mesh: DAffine3::from_scale(DVec3::new(1.0, 1.0, 0.1)),
        }],
        ground: vec![],
    });
    let down = pulse(DVec3::new(0.0, 0.0, 5.0), DVec3::NEG_Z, 0.0, 100.0);
    let hit = cast(&scene, &Stencil::single(), &[down])[0];
    assert!((f64::from(hit.cos_incidence) - 1.0 / 1.01f64.sqrt()).abs() < 1e-5, "{hit:?}");
}

#[test]
fn a_ray_passes_a_transparent_texel_and_goes_on() {
    let card = |x: f32| Mesh {
        name: "card".into(),
        label: None,
        positions: vec![[x, -1.0, -1.0], [x, 1.0, -1.0], [x, 1.0, 1.0], [x, -1.0, 1.0]],
        uvs: vec![[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]],
        triangles: vec![[0, 1, 2], [0, 2, 3]],
        triangle_materials: vec![0, 0],
    };
    // The left half of the card is transparent: u below 0.5, y below 0.
    let mask = Texture { width: 2, height: 1, texels: Arc::from([0u8, 255].as_slice()) };
    let leaf = Material { opacity_mask: Some(mask), ..plain() };
    let scene = Arc::new(Scene {
        meshes: vec![card(2.0), Mesh { triangle_materials: vec![1, 1], ..card(4.0) }],
        materials: vec![leaf, plain()],
        instances: (0..2)
            .map(|mesh| Instance { mesh, world_from_mesh: DAffine3::IDENTITY })
            .collect(),
        ground: vec![],
    });
    let stencil = Stencil::new(vec![[-1.0, 0.0], [1.0, 0.0]]).unwrap();
    let split = Pulse {
        origin: DVec3::ZERO,
        direction: DVec3::X,
        half_axis_u: DVec3::Y * 0.1,
        half_axis_v: DVec3::Z * 0.1,
        start_m: 0.0,
        max_range_m: 50.0,
    };
    let hits = cast(&scene, &stencil, &[split]);
    assert_eq!((hits[0].instance, hits[1].instance), (1, 0));
}

#[test]
fn an_empty_scene_has_no_hits() {
    let scene = Arc::new(Scene::default());
    let hits = cast(&scene, &nine(), &[pulse(DVec3::ZERO, DVec3::X, 0.01, 10.0)]);
    assert!(hits.iter().all(|h| *h == Hit::MISS));
}

/// A ground of two triangles with a size of kilometres, and a low wall on it. In single precision the depth would be
/// lost, and the foot of the wall would be below the ground.
#[test]
fn a_vast_plane_is_where_it_is() {
    let square = |half: f32| {
        vec![[-half, -half, 0.0], [half, -half, 0.0], [half, half, 0.0], [-half, half, 0.0]]
    };
    let ground = mesh(square(100_000.0), vec![[0, 1, 2], [0, 2, 3]]);
    let wall = mesh(
        vec![[30.0, -50.0, 0.0], [30.0, 50.0, 0.0], [30.0, 50.0, 0.1], [30.0, -50.0, 0.1]],
        vec![[0, 1, 2], [0, 2, 3]],
    );
    let instance = |mesh| Instance { mesh, world_from_mesh: DAffine3::IDENTITY };
    let scene = Arc::new(Scene {
        meshes: vec![ground, wall],
        materials: vec![plain()],
        instances: vec![instance(0), instance(1)],
        ground: vec![],
    });
    let origin = DVec3::new(0.3, -7.7, 2.0);
    let pulses: Vec<Pulse> = (0..2000)
        .map(|k| {
            let (across, down) = (f64::from(k % 50) * 0.01, f64::from(k / 50) * 0.002 + 0.03);
            pulse(origin, DVec3::new(1.0, across, -down), 1e-3, 120.0)
        })
        .collect();
    // Neighbouring pulses are traced together, eight rays against one triangle; separate pulses of one ray are traced
    // alone, against eight triangles.
    let apart: Vec<Pulse> = (0..2000).map(|k| pulses[k * 7 % 2000]).collect();
    let one = Stencil::new(vec![[0.0, 0.0]]).expect("one ray");
    for (stencil, pulses) in [(nine(), &pulses), (one, &apart)] {
        let hits = cast(&scene, &stencil, pulses);
        for (pulse, hits) in pulses.iter().zip(hits.chunks(stencil.len())) {
            hits_the_vast_plane_or_the_wall(&stencil, pulse, hits);
        }
    }
}

/// Checks the hits of a pulse in the scene of `a_vast_plane_is_where_it_is`.
fn hits_the_vast_plane_or_the_wall(stencil: &Stencil, pulse: &Pulse, hits: &[Hit]) {
    let origin = pulse.origin;
    for (&[a, b], hit) in stencil.offsets().iter().zip(hits) {
        let ray =
            pulse.direction + pulse.half_axis_u * f64::from(a) + pulse.half_axis_v * f64::from(b);
        let ray = ray.normalize();
        let (to_ground, to_wall) = (origin.z / -ray.z, (30.0 - origin.x) / ray.x);
        let range = to_ground.min(to_wall);
        let is_edge = (to_ground - to_wall).abs() < 1e-3
            || (to_wall < to_ground && (origin.z + ray.z * to_wall - 0.1).abs() < 1e-4)
            || (to_wall < to_ground && origin.z + ray.z * to_wall > 0.1);
        if !is_edge && range < 119.0 {
            let off = (f64::from(hit.range_m) - range).abs();
            assert!(off < 1e-5 * range, "{off} m off at {range} m: {hit:?}");
        }
    }
}
