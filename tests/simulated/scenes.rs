//! Tests of scenes as users load them: real MAVS scenes, every file format, sizes of the courtyard.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use glam::DVec3;
use menura::config::rig::placement::ScenePlacement;
use menura::config::rig::{CourtyardParameters, RoomParameters, SceneSource};
use menura::world::ground::{GroundHeight, Terrain};
use menura::world::loaders::{Disk, SceneError, load};
use menura::world::scene::{Material, Scene};

use crate::common;

fn load_file(path: &Path) -> Result<Scene, SceneError> {
    load(
        &SceneSource::File { path: path.to_owned(), seed: 7, placement: Default::default() },
        &Disk { colours: false },
    )
}

/// Loads a file of the MAVS reference data.
fn mavs(path: &str) -> Scene {
    let file = common::shared(&format!("scenes/mavs/data/{path}"));
    load_file(&file).unwrap_or_else(|error| panic!("{error}"))
}

fn material<'a>(scene: &'a Scene, name: &str) -> &'a Material {
    scene.materials.iter().find(|m| m.name == name).unwrap_or_else(|| panic!("no {name}"))
}

/// Number of copies whose mesh is called `name`.
fn copies(scene: &Scene, name: &str) -> usize {
    let named = |i: &&menura::world::scene::Instance| scene.meshes[i.mesh as usize].name == name;
    scene.instances.iter().filter(named).count()
}

/// Lowest and highest corner of a mesh.
fn bounds(scene: &Scene, mesh: usize) -> (DVec3, DVec3) {
    let points = scene.meshes[mesh].positions.iter().map(|p| DVec3::from(p.map(f64::from)));
    points.fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(low, high), p| (low.min(p), high.max(p)))
}

#[test]
#[ignore = "needs reference data"]
fn mavs_grass_dense() {
    let scene = mavs("scenes/grass_dense.json");
    assert_eq!(copies(&scene, "wall.obj"), 4);
    assert_eq!(copies(&scene, "grass_clump_2.obj"), 5000);
    // Walls, ground and 5000 clumps of 6235 triangles, without triangles of zero area.
    let instanced = scene.instanced_triangles();
    assert!((31_100_000..=31_175_060).contains(&instanced), "{instanced}");
    // The cube is ground for driving, but not visible.
    assert_eq!(scene.ground.len(), 1);
    assert_eq!(copies(&scene, "cube.obj"), 0);
    // A spectrum replaces colour and texture.
    let grass = material(&scene, "grass_02");
    assert!((grass.reflectance - 0.7046).abs() < 0.005, "{}", grass.reflectance);
    assert!(grass.reflectance_map.is_none());
    assert!((material(&scene, "wall").reflectance - 0.31).abs() < 0.1);
    for instance in &scene.instances {
        if scene.meshes[instance.mesh as usize].name == "grass_clump_2.obj" {
            let p = instance.world_from_mesh.translation;
            assert!(p.x.abs() <= 300.0 && p.y.abs() <= 300.0);
            assert!((p.z - 0.005).abs() < 1e-6, "on the ground: {p}");
            let scale = instance.world_from_mesh.matrix3.x_axis.length();
            assert!((0.85..=1.15).contains(&scale));
        }
    }
}

#[test]
#[ignore = "needs reference data"]
fn mavs_heightmap() {
    let scene = mavs("scenes/heightmap_example_scene.json");
    let relief = &scene.meshes[0];
    assert_eq!(relief.positions.len(), 1081 * 1081);
    assert_eq!(relief.triangles.len(), 1080 * 1080 * 2);
    assert_eq!((scene.instances.len(), scene.ground.len()), (1, 1));
    let (low, high) = bounds(&scene, 0);
    assert_eq!((high - low).truncate().to_array(), [10_800.0, 10_800.0]);
    assert!(low.z >= -256.0 && high.z <= 254.0 && high.z - low.z > 100.0, "{low} {high}");
}

#[test]
#[ignore = "needs reference data"]
fn mavs_plants_have_their_masks() {
    let plants = "scenes/meshes/vegetation";
    let oat = mavs(&format!("{plants}/oat_grass/oat_grass_5.obj"));
    assert!((24_000..=24_083).contains(&oat.stored_triangles()), "{}", oat.stored_triangles());
    let leaf = material(&oat, "AG01_Leaf1");
    let mask = leaf.opacity_mask.as_ref().unwrap();
    assert_eq!((mask.width, mask.height), (128, 1024));
    assert!(mask.texels.contains(&255) && mask.texels.contains(&0));
    assert_eq!(leaf.reflectance, 0.5);
    assert!(leaf.reflectance_map.is_some());
    assert!(material(&oat, "AG01_Branch1").opacity_mask.is_none());
    assert_eq!(oat.meshes[0].uvs.len(), oat.meshes[0].positions.len());

    // Palette images with 8 bits per pixel.
    let celandine = mavs(&format!("{plants}/greater_celandine/greater_celandine_1.obj"));
    for (name, side) in [("Leaf1", 512), ("Leaf2", 256), ("Leaf3", 512), ("Petal", 256)] {
        let mask = material(&celandine, name).opacity_mask.as_ref().unwrap();
        assert_eq!((mask.width, mask.height), (side, side), "{name}");
        let solid = mask.texels.iter().filter(|&&t| t > 127).count();
        let share = solid as f64 / mask.texels.len() as f64;
        assert!((0.05..0.95).contains(&share), "{name}: {share}");
    }
    assert!(material(&celandine, "Stalk").opacity_mask.is_none());
}

#[test]
#[ignore = "needs reference data"]
fn every_mavs_mesh_loads() {
    let mut meshes = 0;
    let mut folders = vec![common::shared("scenes/mavs/data/scenes/meshes")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|suffix| suffix == "obj") {
                load_file(&path).unwrap_or_else(|error| panic!("{error}"));
                meshes += 1;
            }
        }
    }
    assert_eq!(meshes, 8);
}

/// A tetrahedron in every supported file format.
#[test]
fn formats_by_suffix() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| -> PathBuf {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let points = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]];
    let faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]];
    let words = |p: &[i32; 3]| p.map(|c| c.to_string()).join(" ");

    let mut obj = points.map(|p| format!("v {}\n", words(&p))).concat();
    obj += &faces.map(|f| format!("f {}\n", words(&f.map(|v| v + 1)))).concat();
    let mut ply = "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\n\
                   property float z\nelement face 4\nproperty list uchar int vertex_index\n\
                   end_header\n"
        .to_owned();
    ply += &points.map(|p| words(&p) + "\n").concat();
    ply += &faces.map(|f| format!("3 {}\n", words(&f))).concat();
    let facet = |f: [i32; 3]| {
        let corner = |v: i32| format!("vertex {}\n", words(&points[v as usize]));
        let corners = f.map(corner).concat();
        format!("facet normal 0 0 0\nouter loop\n{corners}endloop\nendfacet\n")
    };
    let stl = format!("solid t\n{}endsolid t\n", faces.map(facet).concat());

    for (name, text) in [("t.obj", &obj), ("T.PLY", &ply), ("t.stl", &stl)] {
        let scene = load_file(&file(name, text)).unwrap();
        assert_eq!(scene.instanced_triangles(), 4, "{name}");
        assert_eq!(scene.meshes[0].positions.len(), 4, "{name}");
        assert_eq!(bounds(&scene, 0), (DVec3::ZERO, DVec3::ONE), "{name}");
        assert_eq!(scene.ground.len(), 1, "{name}");
    }
}

/// A missing material file does not prevent loading a scene.
#[test]
fn missing_material_files_are_put_up_with() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.obj");
    std::fs::write(&path, "mtllib a.mtl\nmtllib b.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
        .unwrap();
    let scene = load_file(&path).unwrap();
    assert_eq!(scene.instanced_triangles(), 1);
    assert_eq!(scene.materials[0].reflectance, 0.2);
}

#[test]
fn missing_files_are_told_together() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.json");
    let mesh = |name: &str| format!("{{ \"Mesh\": \"{name}\", \"Instances\": [{{}}] }}");
    let text = format!("{{ \"Objects\": [\n{},\n{}] }}", mesh("a.obj"), mesh("b.obj"));
    std::fs::write(&path, text).unwrap();
    let error = load_file(&path).unwrap_err();
    assert_eq!(error.faults().len(), 2);
    let text = error.to_string();
    for (line, name) in [(2, "a.obj"), (3, "b.obj")] {
        let expected = format!("s.json:{line}:");
        let is_told = |l: &str| l.contains(&expected) && l.contains("there is no file `");
        assert!(text.lines().any(|l| is_told(l) && l.contains(name)), "{text}");
    }
}

/// The rig's keys apply to all parts of a scene: visible surfaces, copies, and the ground.
#[test]
fn a_placed_scene_is_placed_as_a_whole() {
    let folder = tempfile::tempdir().unwrap();
    let meshes = folder.path().join("scenes/meshes");
    std::fs::create_dir_all(&meshes).unwrap();
    // A floor of 20 m at a height of 3 m, in millimetres, and a post of one metre.
    let floor = "v -1e4 -1e4 3e3\nv 1e4 -1e4 3e3\nv 1e4 1e4 3e3\nv -1e4 1e4 3e3\nf 1 2 3 4\n";
    let post = "v 0 0 0\nv 100 0 0\nv 0 0 1000\nf 1 2 3\n";
    std::fs::write(meshes.join("floor.obj"), floor).unwrap();
    std::fs::write(meshes.join("post.obj"), post).unwrap();
    let path = folder.path().join("scenes/s.json");
    let text = r#"{ "Surface Mesh": [{ "Mesh": "floor.obj" }], "Objects": [
        { "Mesh": "post.obj", "Instances": [{ "Position": [5000, 0, 3000] }] },
        { "Mesh": "post.obj", "Random": { "Number": 1, "Polygon": [[0, 8000]] } }] }"#;
    std::fs::write(&path, text).unwrap();
    let placement = ScenePlacement {
        up_axis: None,
        scale: 0.001,
        roll_pitch_yaw_rad: [0.0, 0.0, std::f64::consts::FRAC_PI_2],
        offset_m: [100.0, 200.0, -1.0],
    };
    let source = SceneSource::File { path: path.clone(), seed: 7, placement };
    let scene = load(&source, &Disk::default()).unwrap();
    let foot = |n: usize| scene.instances[n].world_from_mesh.translation;
    assert!((foot(0) - DVec3::new(100.0, 205.0, 2.0)).length() < 1e-9, "{}", foot(0));
    assert!((foot(1) - DVec3::new(92.0, 200.0, 2.0)).length() < 1e-9, "{}", foot(1));
    let ground = Terrain::new(&scene);
    assert!((ground.height_m(109.0, 209.0).unwrap() - 2.0).abs() < 1e-9);
    assert_eq!(ground.height_m(111.0, 200.0), None);
    let [low, high] = scene.extents();
    assert!((high.z - 3.0).abs() < 1e-6 && (low.z - 2.0).abs() < 1e-6, "{low} {high}");

    let far = ScenePlacement { scale: 1e6, ..placement };
    let source = SceneSource::File { path, seed: 7, placement: far };
    let told = load(&source, &Disk::default()).unwrap_err().to_string();
    assert!(told.contains("after `scale`, `rotate_deg` and `offset_m` of the rig"), "{told}");
}

/// Hash of all parts of a scene that sensors use.
fn fingerprint(scene: &Scene) -> u64 {
    let mut hasher = DefaultHasher::new();
    for mesh in &scene.meshes {
        mesh.positions.iter().flatten().for_each(|c| c.to_bits().hash(&mut hasher));
        mesh.triangles.hash(&mut hasher);
        mesh.triangle_materials.hash(&mut hasher);
    }
    for instance in scene.instances.iter().chain(&scene.ground) {
        instance.mesh.hash(&mut hasher);
        let numbers = instance.world_from_mesh.to_cols_array();
        numbers.iter().for_each(|c| c.to_bits().hash(&mut hasher));
    }
    hasher.finish()
}

#[test]
fn courtyard_is_the_same_on_every_thread() {
    let build = || {
        let source = SceneSource::Courtyard(CourtyardParameters { seed: 7, ..Default::default() });
        fingerprint(&load(&source, &Disk::default()).unwrap())
    };
    let here = build();
    let elsewhere = std::thread::spawn(build).join().unwrap();
    assert_eq!(here, elsewhere);
    let other = SceneSource::Courtyard(CourtyardParameters { seed: 8, ..Default::default() });
    assert_ne!(here, fingerprint(&load(&other, &Disk::default()).unwrap()));
}

/// The three sizes in the paper and in the benches.
#[test]
fn courtyard_sizes() {
    let paper = |grass_blades, trees, tree_triangles| {
        let parameters =
            CourtyardParameters { grass_blades, trees, tree_triangles, ..Default::default() };
        load(&SceneSource::Courtyard(parameters), &Disk::default()).unwrap()
    };
    assert_eq!(paper(22_500, 0, 40_000).instanced_triangles(), 362_456);
    let large = paper(2_000_000, 50, 3_500_000);
    assert_eq!(large.instanced_triangles(), 191_182_456);
    assert_eq!(large.stored_triangles(), 182_408 + 48 + 800 + 3_500_000);
    // With one tree instead of fifty, it is the middle size.
    let middle = large.instanced_triangles() - 49 * 3_500_000;
    assert_eq!(middle, 19_682_456);
    let highest = large
        .instances
        .iter()
        .filter(|i| large.meshes[i.mesh as usize].name == "tree")
        .map(|i| 8.0 * i.world_from_mesh.matrix3.z_axis.length())
        .fold(0.0, f64::max);
    assert!((9.0..=10.0).contains(&highest), "tallest tree {highest} m");
}

#[test]
fn room_by_its_parameters() {
    let source = SceneSource::Room(RoomParameters {
        size_m: [4.0, 6.0, 3.0],
        reflectance: 0.25,
        puddle_radius_m: 0.0,
    });
    let scene = load(&source, &Disk::default()).unwrap();
    assert_eq!(scene.instanced_triangles(), 12);
    assert_eq!(bounds(&scene, 1), (DVec3::new(-2.0, -3.0, 0.0), DVec3::new(2.0, 3.0, 3.0)));
    assert_eq!(scene.materials[0].reflectance, 0.25);
}
