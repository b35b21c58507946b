//! Compares Embree with Menura's ray tracer: same scene, same pulses, hit by hit.
//!
//! Needs Embree 4, from the system or at the path `MENURA_EMBREE`. Tests that need it are ignored by default;
//! `tools/test` fetches Embree and runs them.

use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use glam::{DAffine3, DMat3, DQuat, DVec3};
use menura::config::profile::lidar::{BeamSettings, BeamShape};
use menura::config::rig::{CourtyardParameters, RoomParameters, SceneSource, StreetParameters};
use menura::sensors::beam;
use menura::sensors::surfaces::Glimpses;
use menura::time::SimTime;
use menura::world::builtin::{courtyard, room, street};
use menura::world::loaders::{Disk, load};
use menura::world::materials;
use menura::world::raycast::embree::{EmbreeCaster, EmbreeSettings, Packets};
use menura::world::raycast::{BvhCaster, Hit, Pulse, RayCaster, Stencil};
use menura::world::scene::{Instance, Material, Mesh, Scene, Texture};

use crate::common;

/// Prints to standard error directly, because the test harness hides the output of passing tests.
fn say(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Nine rays in a round footprint with a divergence of 2 mrad, about that of the HDL-64E; also returns the half-axis of
/// the footprint at 1 m, metres.
fn spot() -> (Stencil, f64) {
    let (shape, divergence_rad) = (BeamShape::Circular, [2e-3; 2]);
    let settings = BeamSettings { shape, rays: 9, divergence_rad, ..BeamSettings::default() };
    (beam::Spot::new(&settings, 9).stencil, beam::half_axes_m(&settings)[0])
}

/// A rotation of 64 lasers around `origin`, with steps of `step_deg`; elevations are from 2 degrees above to 24.8
/// degrees below the horizon.
fn turn(origin: DVec3, step_deg: f64, max_range_m: f32) -> Vec<Pulse> {
    let (_, half_axis_m) = spot();
    let columns = (360.0 / step_deg) as u32;
    let mut pulses = Vec::new();
    for laser in 0..64 {
        let elevation = (2.0 - 26.8 * f64::from(laser) / 63.0).to_radians();
        for column in 0..columns {
            let azimuth = (f64::from(column) * step_deg).to_radians();
            let (sin_a, cos_a) = libm::sincos(azimuth);
            let (sin_e, cos_e) = libm::sincos(elevation);
            let direction = DVec3::new(cos_e * cos_a, cos_e * sin_a, sin_e);
            let left = DVec3::new(-sin_a, cos_a, 0.0);
            pulses.push(Pulse {
                origin,
                direction,
                half_axis_u: left * half_axis_m,
                half_axis_v: direction.cross(left) * half_axis_m,
                start_m: 0.0,
                max_range_m,
            });
        }
    }
    pulses
}

/// A pulse in the direction of ray `index` of a cast, rotated by `angle` radians towards one of six sides, which
/// `axis`, 0..6, selects.
fn nudged(stencil: &Stencil, pulses: &[Pulse], index: usize, axis: u32, angle: f64) -> Pulse {
    let pulse = pulses[index / stencil.len()];
    let [a, b] = stencil.offsets()[index % stencil.len()];
    let ray = pulse.direction + pulse.half_axis_u * f64::from(a) + pulse.half_axis_v * f64::from(b);
    let (u, v) = (pulse.half_axis_u.normalize(), pulse.half_axis_v.normalize());
    let (sin, cos) = libm::sincos(f64::from(axis) * std::f64::consts::FRAC_PI_3);
    let direction = (ray.normalize() + (u * cos + v * sin) * angle).normalize();
    Pulse { direction, ..pulse }
}

/// Result of a comparison.
struct Compared {
    rays: usize,
    hits: usize,
    /// Number of rays whose ranges differ by more than 1e-5 of the range.
    disagreements: usize,
    /// Descriptions of the differing rays that do not run along an edge.
    unexplained: Vec<String>,
    /// Number of rays with the same range but another triangle or instance.
    other_surface: usize,
}

const TOLERANCE: f32 = 1e-5;

fn same_range(a: f32, b: f32) -> bool {
    a == b || (a - b).abs() <= TOLERANCE * a.max(b)
}

/// Compares hit by hit. A ray with different ranges counts as a ray along an edge if each tracer returns the range of
/// the other tracer for a ray some microradians beside it.
fn compare(name: &str, scene: Scene, pulses: &[Pulse], packets: Packets) -> Compared {
    let scene = Arc::new(scene);
    let (stencil, _) = spot();
    let ours = BvhCaster::new(scene.clone()).unwrap();
    let settings = EmbreeSettings { packets, robust: true };
    let theirs = EmbreeCaster::new(scene, settings).unwrap();
    let cast = |caster: &dyn RayCaster, stencil: &Stencil, pulses: &[Pulse]| {
        let mut hits = vec![Hit::MISS; pulses.len() * stencil.len()];
        caster.cast(stencil, pulses, &mut hits);
        hits
    };
    let (a, b) = (cast(&ours, &stencil, pulses), cast(&theirs, &stencil, pulses));
    let mut found = Compared {
        rays: a.len(),
        hits: a.iter().filter(|hit| hit.range_m.is_finite()).count(),
        disagreements: 0,
        unexplained: Vec::new(),
        other_surface: 0,
    };
    for (index, (a, b)) in a.iter().zip(&b).enumerate() {
        if same_range(a.range_m, b.range_m) {
            let same = (a.instance, a.triangle) == (b.instance, b.triangle);
            found.other_surface += usize::from(!same);
            if same {
                assert_eq!(a, b, "one triangle, one hit");
            }
            continue;
        }
        found.disagreements += 1;
        let limit = pulses[index / stencil.len()].max_range_m;
        let mut beside = Vec::new();
        for angle in [0.0, 1e-6, 4e-6] {
            for axis in 0..6 {
                let pulse = nudged(&stencil, pulses, index, axis, angle);
                for caster in [&ours as &dyn RayCaster, &theirs] {
                    beside.push(cast(caster, &Stencil::single(), &[pulse])[0].range_m);
                }
            }
        }
        // A rotated ray changes its range on slanted surfaces, more at grazing incidence.
        let is_near = |wanted: f32, slack: f32| {
            beside.iter().any(|&r| r == wanted || (r - wanted).abs() <= slack * wanted)
                || wanted.is_finite() && wanted > limit * (1.0 - TOLERANCE)
        };
        let slack = |hit: &Hit| TOLERANCE + 1e-5 / hit.cos_incidence.max(1e-3);
        let both_sides = |hit: &Hit, other: &Hit| {
            is_near(hit.range_m, slack(hit))
                && beside.iter().any(|&r| same_range(r, other.range_m) || r.is_infinite())
        };
        let is_tie = both_sides(a, b) && both_sides(b, a) && {
            // An edge: for slightly rotated rays, the tracers return different ranges.
            let first = beside[0];
            beside.iter().any(|&r| !same_range(r, first))
        };
        if !is_tie {
            found.unexplained.push(format!("ray {index}: {a:?} and {b:?}, beside {beside:?}"));
        }
    }
    let Compared { rays, hits, disagreements, unexplained, other_surface } = &found;
    say(&format!(
        "{name}, {packets:?}: {rays} rays, {hits} hits, {disagreements} disagree in range, {} of \
         them no tie; {other_surface} name another surface at the same range\n",
        unexplained.len(),
    ));
    found
}

fn agree(name: &str, scene: &Scene, pulses: &[Pulse]) {
    for packets in [Packets::One, Packets::Eight] {
        let found = compare(name, scene.clone(), pulses, packets);
        assert!(found.unexplained.is_empty(), "{}", found.unexplained[..1].join("\n"));
        assert!(found.hits > found.rays / 10, "{} of {}", found.hits, found.rays);
        assert!(found.disagreements * 10_000 <= found.rays, "{}", found.disagreements);
    }
}

#[test]
#[ignore = "needs Embree"]
fn courtyard() {
    let parameters = CourtyardParameters {
        seed: 7,
        grass_blades: 200_000,
        trees: 50,
        tree_triangles: 8000,
        ground_relief_m: 1.5,
    };
    let scene = courtyard::build(&parameters);
    agree("courtyard", &scene, &turn(DVec3::new(20.0, 0.0, 2.5), 1.0, 120.0));
}

#[test]
#[ignore = "needs Embree"]
fn room() {
    let scene = room::build(&RoomParameters::default());
    agree("room", &scene, &turn(DVec3::new(3.3, -7.1, 2.0), 0.5, 120.0));
}

/// Light that continues behind glass panes and after reflection by water is the same with both tracers.
#[test]
#[ignore = "needs Embree"]
fn light_beyond_the_first_hit() {
    let scene = street::build(&StreetParameters { wetness: 0.5, ..Default::default() });
    let pulses = turn(DVec3::new(0.5, 0.3, 1.2), 0.5, 120.0);
    agree("street", &scene, &pulses);
    let scene = Arc::new(scene);
    let (stencil, _) = spot();
    let fired = vec![SimTime::ZERO; pulses.len()];
    let seen = |caster: &dyn RayCaster| -> Vec<Vec<(f32, f32)>> {
        let mut hits = vec![Hit::MISS; pulses.len() * stencil.len()];
        caster.cast(&stencil, &pulses, &mut hits);
        let finishes = caster.finishes().expect("a window");
        let mut glimpses = Glimpses::default();
        glimpses.follow(caster, finishes, &stencil, (&pulses, &fired), &hits);
        // Diffuse pulses have none.
        let by_pulse = glimpses.by_pulse(stencil.len()).map(Option::unwrap_or_default);
        by_pulse.map(|all| all.iter().map(|g| (g.range_m, g.reflectance)).collect()).collect()
    };
    let theirs = EmbreeCaster::new(scene.clone(), EmbreeSettings::default()).unwrap();
    let (a, b) = (seen(&BvhCaster::new(scene).unwrap()), seen(&theirs));
    let is_alike = |(a, b): &(&(f32, f32), &(f32, f32))| {
        (a.0 - b.0).abs() <= 1e-4 * a.0 && (a.1 - b.1).abs() <= 1e-2 * a.1 + 1e-6
    };
    let differ = a
        .iter()
        .zip(&b)
        .filter(|(a, b)| a.len() != b.len() || !a.iter().zip(b.iter()).all(|pair| is_alike(&pair)));
    let differ = differ.count();
    let further = a.iter().filter(|places| places.len() > stencil.len()).count();
    say(&format!("street: {further} of {} pulses see further, {differ} differ\n", a.len()));
    // Rays along an edge may continue on either side of it.
    assert!(further > 200 && differ * 200 <= a.len(), "{further} {differ} of {}", a.len());
}

fn plain(name: &str) -> Material {
    materials::plain(name, 0.5)
}

/// Square cards that are opaque only in the shape of leaves, at all angles and in three sizes.
fn leaves() -> Scene {
    let texels: Vec<u8> = (0..64 * 64)
        .map(|index| {
            let (x, y) = (f64::from(index % 64) / 32.0 - 1.0, f64::from(index / 64) / 32.0 - 1.0);
            if x * x + 2.0 * y * y < 0.6 && libm::sin(x * 9.0) * libm::cos(y * 7.0) < 0.5 {
                255
            } else {
                0
            }
        })
        .collect();
    let mask = Texture { width: 64, height: 64, texels: texels.into() };
    let leaf = Material { opacity_mask: Some(mask), ..plain("leaf") };
    let card = Mesh {
        name: "card".into(),
        label: None,
        positions: vec![[-1.0, -1.0, 0.0], [1.0, -1.0, 0.0], [1.0, 1.0, 0.0], [-1.0, 1.0, 0.0]],
        uvs: vec![[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [0.0, 2.0]],
        triangles: vec![[0, 1, 2], [0, 2, 3]],
        triangle_materials: vec![1, 1],
    };
    let mut scene = room::build(&RoomParameters {
        size_m: [40.0, 40.0, 8.0],
        reflectance: 0.4,
        puddle_radius_m: 0.0,
    });
    scene.materials.push(leaf);
    scene.meshes.push(card);
    let mut state = 5_u64;
    let mut draw = |low: f64, high: f64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        low + (high - low) * (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    for _ in 0..3000 {
        let rotation =
            DQuat::from_xyzw(draw(-1.0, 1.0), draw(-1.0, 1.0), draw(-1.0, 1.0), draw(-1.0, 1.0));
        let place = DVec3::new(draw(-15.0, 15.0), draw(-15.0, 15.0), draw(0.3, 5.0));
        let scale = DVec3::splat([0.08, 0.2, 0.5][(draw(0.0, 3.0) as usize).min(2)]);
        scene.instances.push(Instance {
            mesh: 2,
            world_from_mesh: DAffine3::from_scale_rotation_translation(
                scale,
                rotation.normalize(),
                place,
            ),
        });
    }
    scene
}

#[test]
#[ignore = "needs Embree"]
fn masked_leaves() {
    agree("masked leaves", &leaves(), &turn(DVec3::new(0.5, 0.2, 2.0), 0.5, 100.0));
}

/// Copies of a bumpy ball: mirrored, sheared, and placed by chains of transforms, far from the origin of World, where
/// single precision is coarse.
fn sheared() -> Scene {
    let mut ball = Mesh { name: "ball".into(), ..Mesh::default() };
    let (rings, spokes) = (24_u32, 48_u32);
    for ring in 0..=rings {
        for spoke in 0..spokes {
            let (sin_p, cos_p) =
                libm::sincos(f64::from(ring) / f64::from(rings) * std::f64::consts::PI);
            let (sin, cos) =
                libm::sincos(f64::from(spoke) / f64::from(spokes) * std::f64::consts::TAU);
            let bump = 1.0 + 0.1 * libm::sin(f64::from(ring * 5 + spoke * 3));
            ball.positions
                .push((DVec3::new(sin_p * cos, sin_p * sin, cos_p) * bump).as_vec3().to_array());
        }
    }
    for ring in 0..rings {
        for spoke in 0..spokes {
            let (a, b) = (ring * spokes + spoke, ring * spokes + (spoke + 1) % spokes);
            ball.triangles.extend([[a, b, b + spokes], [a, b + spokes, a + spokes]]);
        }
    }
    ball.triangle_materials = vec![0; ball.triangles.len()];
    let mut scene =
        Scene { meshes: vec![ball], materials: vec![plain("ball")], ..Scene::default() };
    for index in 0..400 {
        let angle = f64::from(index) * 0.37;
        let (sin, cos) = libm::sincos(angle);
        let outer = DMat3::from_cols(
            DVec3::new(1.0, 0.3 * sin, 0.0),
            DVec3::new(0.4 * cos, 1.2, 0.2),
            DVec3::new(0.0, 0.3, 0.7),
        );
        let inner = DMat3::from_quat(DQuat::from_xyzw(sin, cos, 0.3, 0.5).normalize())
            * DMat3::from_diagonal(DVec3::new(if index % 3 == 0 { -0.8 } else { 0.8 }, 1.1, 0.5));
        let distance = 4.0 + f64::from(index) * 0.12;
        let place =
            FAR_AWAY + DVec3::new(distance * cos, distance * sin, f64::from(index % 7) - 4.0);
        scene.instances.push(Instance {
            mesh: 0,
            world_from_mesh: DAffine3::from_mat3_translation(outer * inner, place),
        });
    }
    scene
}

const FAR_AWAY: DVec3 = DVec3::new(4321.0, -2345.0, 120.0);

#[test]
#[ignore = "needs Embree"]
fn sheared_and_mirrored_copies_far_from_the_origin() {
    agree("sheared copies", &sheared(), &turn(FAR_AWAY, 0.5, 60.0));
}

#[test]
#[ignore = "needs Embree and reference data"]
fn a_simulators_meadow() {
    let path = common::shared("scenes/mavs/data/scenes/grass_dense.json");
    let source = SceneSource::File { path, seed: 7, placement: Default::default() };
    let scene = load(&source, &Disk::default()).unwrap();
    agree("grass_dense.json", &scene, &turn(DVec3::new(0.0, 0.0, 2.0), 2.0, 120.0));
}

/// Checks that the tests above would notice a wrong Embree: here its scene differs by a millimetre.
#[test]
#[ignore = "needs Embree"]
fn a_difference_is_found() {
    let sizes = [[40.0, 40.0, 8.0], [40.002, 40.0, 8.0]];
    let [a, b] = sizes.map(|size_m| {
        Arc::new(room::build(&RoomParameters { size_m, reflectance: 0.4, puddle_radius_m: 0.0 }))
    });
    let pulses = turn(DVec3::new(0.0, 0.0, 2.0), 5.0, 100.0);
    let mut ours = vec![Hit::MISS; pulses.len()];
    let mut theirs = ours.clone();
    BvhCaster::new(a).unwrap().cast(&Stencil::single(), &pulses, &mut ours);
    let embree = EmbreeCaster::new(b, EmbreeSettings::default()).unwrap();
    embree.cast(&Stencil::single(), &pulses, &mut theirs);
    let differ =
        ours.iter().zip(&theirs).filter(|(a, b)| !same_range(a.range_m, b.range_m)).count();
    assert!(differ > pulses.len() / 10 && differ < pulses.len(), "{differ}");
}

/// Exit code and standard error of `menura check` with a library that reports this version.
fn checked_with(folder: &Path, version: u32) -> (Option<i32>, String) {
    let (source, library) = (folder.join("stub.c"), folder.join(format!("{version}.so")));
    let names = [
        "GetDeviceError",
        "SetDeviceMemoryMonitorFunction",
        "NewScene",
        "ReleaseScene",
        "SetSceneFlags",
        "CommitScene",
        "NewGeometry",
        "ReleaseGeometry",
        "CommitGeometry",
        "AttachGeometryByID",
        "SetNewGeometryBuffer",
        "SetGeometryUserData",
        "SetGeometryIntersectFilterFunction",
        "SetGeometryInstancedScene",
        "SetGeometryTransform",
        "Intersect1",
        "Intersect8",
    ];
    let mut text: String =
        names.map(|name| format!("long rtc{name}(void) {{ return 0; }}\n")).concat();
    text.push_str("static int device;\nvoid *rtcNewDevice(const char *c) { return &device; }\n");
    text.push_str(&format!(
        "long rtcGetDeviceProperty(void *d, int p) {{ return p == 0 ? {version} : 1; }}\n"
    ));
    std::fs::write(&source, text).unwrap();
    let compiled =
        Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).status();
    assert!(compiled.unwrap().success());
    checked(folder, &library)
}

fn checked(folder: &Path, library: &Path) -> (Option<i32>, String) {
    let rig = "[world]\nscene = \"room\"\n[robot]\ntrajectory = { kind = \"still\" }\n[engine]\n\
               caster = \"embree\"\n[[device]]\nname = \"a\"\nprofile = \"velodyne-hdl64e-s1\"\n\
               link = { udp = { to = \"127.0.0.1:2368\" } }\n";
    std::fs::write(folder.join("rig.toml"), rig).unwrap();
    let output = common::menura()
        .args(["check", "rig.toml"])
        .env("MENURA_EMBREE", library)
        .current_dir(folder)
        .output()
        .unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_library_of_another_version_or_none_is_refused_where_the_rig_asks_for_it() {
    let folder = tempfile::tempdir().unwrap();
    for (version, words) in [(31_305, "Embree 3.13.5"), (40_500, "Embree 4.5.0")] {
        let (code, text) = checked_with(folder.path(), version);
        assert_eq!(code, Some(2), "{text}");
        for part in ["rig.toml:6:10", words, "allowed: 4.0 to 4.4"] {
            assert!(text.contains(part), "{part} is not in: {text}");
        }
    }
    let (code, text) = checked(folder.path(), Path::new("/no/such/libembree4.so"));
    assert_eq!(code, Some(2), "{text}");
    for part in ["rig.toml:6:10", "/no/such/libembree4.so", "MENURA_EMBREE", "libembree4-4"] {
        assert!(text.contains(part), "{part} is not in: {text}");
    }
    let (code, text) = checked_with(folder.path(), 40_300);
    assert_eq!(code, Some(0), "a library of a known version will do for a check: {text}");
}

/// Recordings with either caster have the same points, packet by packet. Moving objects are traced separately, with any
/// caster.
#[test]
#[ignore = "needs Embree"]
fn recordings_with_either_caster_hold_the_same_points() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/passing-cylinders.toml");
    for rig in [None, Some(example)] {
        let folder = tempfile::tempdir().unwrap();
        let record = |caster: &str| {
            let out = folder.path().join(caster);
            let output = common::menura()
                .arg("record")
                .args(&rig)
                .args(["--duration", "50ms", "--seed", "3", "--out"])
                .arg(&out)
                .args(["--set", "start_utc=2026-06-01T12:00:00Z"])
                .args(["--set", &format!("engine.caster={caster}")])
                .output()
                .unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            std::fs::read(out.join("roof-lidar.pcap")).unwrap()
        };
        let (a, b) = (record("menura"), record("embree"));
        assert_eq!(a.len(), b.len());
        let differ = a.iter().zip(&b).filter(|(a, b)| a != b).count();
        say(&format!("recorded with either caster: {differ} of {} bytes differ\n", a.len()));
        // Ranges have steps of 2 mm: a difference of 1e-6 near the edge of a step changes a byte.
        assert!(differ * 200 < a.len(), "{differ} of {}", a.len());
    }
}
