//! Valid and invalid MAVS scenes.

use glam::DVec3;

use super::super::resolve::Memory;
use super::super::texture::tests::bmp_of;
use super::*;

const TRIANGLE: &str = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";
const PLANE: &str = "v -50 -50 2\nv 50 -50 2\nv 50 50 2\nv -50 50 2\nusemtl stuff\nf 1 2 3 4\n";

/// The folders of MAVS, with a triangle and a plane.
fn files() -> Memory {
    Memory::default()
        .with("data/scenes/meshes/a/tri.obj", TRIANGLE)
        .with("data/scenes/meshes/plane.obj", PLANE)
}

fn load_with(text: &str, files: &Memory) -> Result<Scene, String> {
    parse(text.as_bytes(), Path::new("data/scenes/s.json"), 7, files).map_err(|e| e.to_string())
}

fn load(text: &str) -> Result<Scene, String> {
    load_with(text, &files())
}

/// Transforms a point by the first copy's pose.
fn placed(scene: &Scene, p: [f64; 3]) -> [f64; 3] {
    let at = scene.instances[0].world_from_mesh.transform_point3(p.into());
    at.to_array().map(|c| (c * 1e9).round() / 1e9 + 0.0)
}

#[test]
fn meshes_are_loaded_once_and_placed_often() {
    let scene = load(
        r#"{ "Objects": [
            { "Mesh": "a/tri.obj", "Rotate Y to Z": true, "Unknown": [1, {}], "Instances": [
                { "Position": [5, 6, 7], "Scale": [2, 3, 4] }, {} ] },
            { "Mesh": "a/tri.obj", "Instances": [ {} ] } ],
          "Surface Mesh": [ { "Mesh": "a/tri.obj", "Position": [0, 0, 9] } ] }"#,
    )
    .unwrap();
    assert_eq!((scene.meshes.len(), scene.instances.len(), scene.ground.len()), (1, 3, 1));
    // (0 1 0) is turned up to (0 0 1), then scaled.
    assert_eq!(placed(&scene, [0.0, 1.0, 0.0]), [5.0, 6.0, 11.0]);
    assert_eq!(scene.materials[0].reflectance, 0.2);
}

#[test]
fn data_and_meshes_are_found() {
    let elsewhere = Memory::default()
        .with("data/scenes/meshes/x", "")
        .with("data/other/deep/m/tri.obj", TRIANGLE)
        .with("data/other/deep/tri.obj", TRIANGLE)
        .with("data/scenes/meshes/tri.obj", TRIANGLE);
    for text in [
        r#"{ "PathToMeshes": "m/", "Objects": [{ "Mesh": "tri.obj", "Instances": [{}] }] }"#,
        r#"{ "Objects": [{ "Mesh": "tri.obj", "Instances": [{}] }] }"#,
        r#"{ "UseFullPaths": true, "Objects": [{ "Mesh": "tri.obj", "Instances": [{}] }],
             "Surface Mesh": [{ "Mesh": "m/tri.obj" }] }"#,
    ] {
        let file = Path::new("data/other/deep/s.json");
        parse(text.as_bytes(), file, 7, &elsewhere).unwrap();
    }
}

#[test]
fn a_material_file_replaces_the_named_one() {
    let files = files()
        .with("data/scenes/meshes/m.obj", format!("mtllib no.mtl\nusemtl x\n{TRIANGLE}"))
        .with("data/scenes/meshes/other.mtl", "newmtl x\nKd spectral spectra/s.spec\n")
        .with("data/scenes/meshes/spectra/s.spec", "0.9 0.7\n1.0 0.7");
    let text = r#"{ "Objects": [{ "Mesh": "m.obj", "Material": "other.mtl",
                                  "Instances": [{}] }] }"#;
    assert_eq!(load_with(text, &files).unwrap().materials[0].reflectance, 0.7);
}

const RANDOM: &str = r#"{
    "Surface Mesh": [{ "Mesh": "plane.obj" }],
    "Objects": [{ "Mesh": "a/tri.obj", "Random": {
        "Number": 500, "Offset": [0, 0, 0.5], "Scale": [0.5, 1.5],
        "Polygon": [[0, 0], [100, 0], [100, 10], [0, 10]] } }] }"#;

#[test]
fn random_copies_stand_on_the_ground() {
    let scene = load(RANDOM).unwrap();
    assert_eq!(scene.instances.len(), 500);
    let (mut on, mut off) = (0, 0);
    for instance in &scene.instances {
        let p = instance.world_from_mesh.translation;
        assert!((0.0..100.0).contains(&p.x) && (0.0..10.0).contains(&p.y), "{p}");
        let scale = instance.world_from_mesh.matrix3.z_axis.length();
        assert!((0.5..1.5).contains(&scale), "{scale}");
        // The plane ends at x = 50; there is nothing beyond.
        if p.x < 50.0 {
            assert_eq!(p.z, 2.5);
            on += 1;
        } else {
            assert_eq!(p.z, 0.5);
            off += 1;
        }
    }
    assert!(on > 200 && off > 200, "{on} {off}");
    let places = |scene: &Scene| -> Vec<DVec3> {
        scene.instances.iter().map(|i| i.world_from_mesh.translation).collect()
    };
    assert_eq!(places(&scene), places(&load(RANDOM).unwrap()));
    let other = parse(RANDOM.as_bytes(), Path::new("data/scenes/s.json"), 8, &files()).unwrap();
    assert_ne!(places(&scene), places(&other));
}

/// A ground of 3 x 2 pixels and its layer file.
fn layered(material: &str) -> Memory {
    let grey = |w, h, texels: &[u8]| bmp_of(w, h, 1, texels);
    let layer = |name: &str, material: &str| {
        format!(r#""{name} Layer": {{ "Texture File": "t.bmp", "Texture Size": 4 {material} }}"#)
    };
    let layers = [layer("Soil", ""), layer("Grass", ""), layer("Undergrowth", material)];
    files()
        .with("data/scenes/meshes/h.bmp", grey(3, 2, &[128, 129, 130, 128, 128, 118]))
        .with("data/scenes/meshes/surface_textures/t.bmp", grey(2, 2, &[10, 20, 30, 40]))
        .with("data/scenes/meshes/layers.json", format!("{{ {} }}", layers.join(", ")))
        .with("data/scenes/meshes/spectra/g.spec", "0.9 0.4\n1.0 0.4")
}

const HEIGHTMAP: &str = r#"{ "Layered Surface": { "Layers": "layers.json",
    "Heightmap": { "Map": "h.bmp", "Resolution": 2, "Scale": 0.5 } } }"#;

#[test]
fn a_heightmap_is_seen_and_driven_on() {
    let scene = load_with(HEIGHTMAP, &layered("")).unwrap();
    let mesh = &scene.meshes[0];
    assert_eq!(mesh.triangles.len(), 4);
    assert_eq!(mesh.positions[1], [-1.0, -2.0, 0.5]);
    assert_eq!(mesh.positions[5], [1.0, 0.0, -5.0]);
    assert_eq!((scene.instances.len(), scene.ground.len()), (1, 1));
    // The expected texel is (frac(x/4) w, frac(y/4) h) from the image's top left.
    let map = scene.materials[0].reflectance_map.as_ref().unwrap();
    assert_eq!(scene.materials[0].reflectance, 1.0);
    let at = |x: f32, y: f32| map.sample([x / 4.0, 1.0 - y / 4.0]) * 255.0;
    assert_eq!([at(1.0, 1.0), at(3.0, 1.0), at(1.0, 3.0), at(3.0, 3.0)], [10.0, 20.0, 30.0, 40.0]);
    for (uv, [x, y, _]) in mesh.uvs.iter().zip(&mesh.positions) {
        assert_eq!(*uv, [x / 4.0, 1.0 - y / 4.0]);
    }
}

#[test]
fn a_spectrum_stands_for_a_layers_texture() {
    let files = layered(r#", "Material": { "Spectrum File": "spectra/g.spec" }"#);
    let scene = load_with(HEIGHTMAP, &files).unwrap();
    let material = &scene.materials[0];
    assert_eq!((material.reflectance, material.reflectance_map.is_none()), (0.4, true));
    // Cameras see the texture.
    assert!(material.colour_map.is_some() && !scene.meshes[0].uvs.is_empty());
}

#[test]
fn a_layered_mesh_is_seen_but_not_driven_on() {
    let text = r#"{ "Layered Surface": { "Mesh": "plane.obj", "Scale": [1, 2, 3],
                    "Layers": "layers.json" } }"#;
    let scene = load_with(text, &layered("")).unwrap();
    assert_eq!((scene.instances.len(), scene.ground.len()), (1, 0));
    assert_eq!(scene.meshes[0].positions[0], [-50.0, -100.0, 6.0]);
    // Without layers the ground is invisible, so the scene is empty.
    let told = load(r#"{ "Layered Surface": { "Mesh": "plane.obj" } }"#).unwrap_err();
    assert!(told.contains("has no triangle"), "{told}");
}

#[test]
fn plants_grow_by_zone_and_keep_off_trails() {
    let files = layered("").with("data/t.vprp", "@Data\n0:-40 0 0:1 0 0 0\n1:40 0 0:1 0 0 0\n");
    let text = r#"{ "Surface Mesh": [{ "Mesh": "plane.obj" }],
        "Layered Surface": { "Mesh": "plane.obj", "Layers": "layers.json",
                             "Trail": { "Path": "t.vprp" } },
        "Vegetation Distribution": {
            "Species": [{ "Name": "x", "Mesh": "a/tri.obj", "Rotated": true, "Mesh Height": 2 }],
            "Zones": [{ "Coordinates": [-50, 0],
                        "Species": [{ "Density": 0.4, "MinDiam": 10, "MaxDiam": 20 }] },
                      { "Coordinates": [50, 0],
                        "Species": [{ "Density": 0.1, "MinDiam": 5, "MaxDiam": 10 }] }] } }"#;
    let scene = load_with(text, &files).unwrap();
    // The first instance is the ground.
    let plants = &scene.instances[1..];
    let (mut west, mut east) = (0, 0);
    for plant in plants {
        let foot = plant.world_from_mesh.translation;
        assert_eq!(foot.z, 2.0);
        assert!(foot.y.abs() >= 1.0 || foot.x.abs() > 40.0, "on the trail: {foot}");
        let top = plant.world_from_mesh.transform_vector3(DVec3::Y);
        assert!(top.x.abs() < 1e-9 && top.y.abs() < 1e-9);
        // The heights range from 2.16 m (trunk of 5 cm) to 6.24 m (20 cm).
        assert!((1.08..3.13).contains(&top.z), "{top}");
        if foot.x < 0.0 { west += 1 } else { east += 1 }
    }
    // Half of 100 m x 100 m at densities of about 0.4 and 0.1, less some for the mixing of zones and the trail.
    assert!((1700..2000).contains(&west), "{west}");
    assert!((500..800).contains(&east), "{east}");
}

#[test]
fn everything_wrong_is_told_at_once() {
    let text = r#"{
  "UseFullPaths": false,
  "Layered Surface": { "Mesh": "no.obj", "Layers": "nolayers.json",
                       "Trail": { "Path": ["t1.vprp", "t2.vprp"] } },
  "Objects": [
    { "Mesh": "gone.obj", "Instances": [{}] },
    { "Mesh": "gone.obj", "Instances": [{ "Scale": [1, 1] }] },
    { "Mesh": "a/tri.obj", "Instances": [{ "Scale": [1, 0, 1] }] },
    { "Mesh": "a/tri.obj" },
    { "Mesh": "a/tri.obj", "Random": { "Number": 1.5, "Polygon": [] } },
    { "Mesh": "a/tri.obj", "Random": { "Number": 1, "Polygon": [[0, 0], [1, 2e7]] } },
    { "Mesh": "a/tri.obj", "Random": { "Number": 1, "Polygon": [[0, 0], [1, 1], [1, 0]],
                                       "Scale": [2, 1] } },
    { "Mesh": 7, "Instances": {} }
  ]
}"#;
    let told = load(text).unwrap_err();
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(
        lines,
        [
            "data/scenes/s.json:4:44: $['Layered Surface'].Trail.Path[0]: there is no file \
             `data/t1.vprp`",
            "data/scenes/s.json:4:55: $['Layered Surface'].Trail.Path[1]: there is no file \
             `data/t2.vprp`",
            "data/scenes/s.json:3:52: $['Layered Surface'].Layers: there is no file \
             `data/scenes/meshes/nolayers.json`",
            "data/scenes/s.json:3:32: $['Layered Surface'].Mesh: there is no file \
             `data/scenes/meshes/no.obj`",
            "data/scenes/s.json:6:15: $.Objects[0].Mesh: there is no file \
             `data/scenes/meshes/gone.obj`",
            "data/scenes/s.json:7:52: $.Objects[1].Instances[0].Scale: expected an array of 3 \
             finite numbers, got [1, 1]",
            "data/scenes/s.json:8:42: $.Objects[2].Instances[0]: has a transform without volume: \
             no scale may be zero, no axes may coincide",
            "data/scenes/s.json:9:5: $.Objects[3]: has no `Instances`: expected an array of \
             poses, unless there is `Random`",
            "data/scenes/s.json:10:50: $.Objects[4].Random.Number: expected a whole number from 0 \
             to 10000000, got 1.5",
            "data/scenes/s.json:11:64: $.Objects[5].Random.Polygon: expected an array of 1 to \
             1000 points [x, y] within ±10000000 m around an area, got [[0, 0], [1, 2e7]]",
            "data/scenes/s.json:13:49: $.Objects[6].Random.Scale: expected [low, high], or three \
             of these for x, y and z, got [2, 1]",
            "data/scenes/s.json:14:15: $.Objects[7].Mesh: expected a string, got 7",
        ]
    );
}

/// A scene with oddities that MAVS accepts is loaded.
#[test]
fn odd_scenes_are_put_up_with() {
    let files = files()
        .with("data/scenes/meshes/m.obj", format!("mtllib m.mtl\nusemtl x\n{TRIANGLE}"))
        .with("data/scenes/meshes/m.mtl", "newmtl x\nKd 1.25 1 1\nmap_Kd gone.bmp\n")
        .with("data/scenes/meshes/n.obj", format!("mtllib gone.mtl\n{TRIANGLE}"));
    let scene = load_with(
        r#"{ "Objects": [
            { "Mesh": "a/tri.obj", "Instances": [{ "Position": [0, 0, -1e9] }, {}] },
            { "Mesh": "a/tri.obj", "Random": { "Number": 20, "Polygon": [[3, 4]] } },
            { "Mesh": "a/tri.obj", "Random": { "Number": 20, "Polygon": [[0, 7], [9, 7]] } },
            { "Mesh": "m.obj", "Instances": [{}] }, { "Mesh": "n.obj", "Instances": [{}] } ] }"#,
        &files,
    )
    .unwrap();
    assert_eq!(scene.instances.len(), 1 + 20 + 20 + 2);
    let at = |n: usize| scene.instances[n].world_from_mesh.translation;
    assert!((1..21).all(|n| at(n) == DVec3::new(3.0, 4.0, 0.0)));
    assert!((21..41).all(|n| at(n).y == 7.0 && (0.0..=9.0).contains(&at(n).x)));
    assert_eq!(scene.materials[1].reflectance, 1.0);
}

/// The total numbers of copies, plants and cells, and the length of trails, are checked before anything is made. Without
/// the check, each of these scenes would take hours and terabytes.
#[test]
fn bombs_are_refused_before_they_are_made() {
    let copies = |count: usize, spacing: &str| {
        let one = format!(
            r#"{{ "Mesh": "a/tri.obj", "Random": {{ "Number": 1000000{spacing},
               "Polygon": [[0, 0], [90, 0], [90, 90]] }} }}"#
        );
        format!(r#"{{ "Objects": [{}] }}"#, vec![one; count].join(","))
    };
    let plants = |density: &str, species: usize, size: &str| {
        let kinds = vec![r#"{ "Mesh": "a/tri.obj", "Mesh Height": 2 }"#; species].join(",");
        let zone = format!(r#"{{ "Density": {density}, "MinDiam": 1, "MaxDiam": 2 }}"#);
        let zones = vec![zone; species].join(",");
        format!(
            r#"{{ "Surface Mesh": [{{ "Mesh": "plane.obj", "Scale": [{size}, {size}, 1] }}],
            "Layered Surface": {{ "Mesh": "plane.obj", "Trail": {{ "Path": "t.vprp" }} }},
            "Vegetation Distribution": {{ "Species": [{kinds}],
            "Zones": [{{ "Coordinates": [0, 0], "Species": [{zones}] }}] }} }}"#
        )
    };
    let calm = "@Data\n0:0 0 0:1 0 0 0\n";
    let wild = format!("@Data\n{}", "0:-1e9 0 0:1 0 0 0\n1:1e9 0 0:1 0 0 0\n".repeat(1000));
    for (text, trail, expected) in [
        (
            copies(3000, ""),
            calm,
            "data/scenes/s.json:1:14: $.Objects: copies: 3000000000, but at most 10000000 are \
             allowed, so that a scene fits into memory",
        ),
        (
            copies(3000, r#", "Minimum Spacing": 0.5"#),
            calm,
            "data/scenes/s.json:1:14: $.Objects: copies: 3000000000, but at most 10000000 are \
             allowed, so that a scene fits into memory",
        ),
        (
            copies(1, "000"),
            calm,
            "data/scenes/s.json:1:60: $.Objects[0].Random.Number: expected a whole number from 0 \
             to 10000000, got 1000000000",
        ),
        (
            copies(1, r#"0, "Minimum Spacing": 0.5"#),
            calm,
            "data/scenes/s.json:1:60: $.Objects[0].Random.Number: expected a whole number from 0 \
             to 1000000, got 10000000",
        ),
        (
            plants("1e6", 1, "1"),
            calm,
            "data/scenes/s.json:3:40: $['Vegetation Distribution']: plants: 10000000000, but at \
             most 10000000 are allowed, so that a scene fits into memory",
        ),
        (
            plants("0", 3000, "200"),
            calm,
            "data/scenes/s.json:3:40: $['Vegetation Distribution']: cells of 20 m on the ground, \
             times zones, times species: 3000000000, but at most 10000000 are allowed, so that a \
             scene fits into memory",
        ),
        (
            plants("0.1", 1, "1"),
            &*wild,
            "data/scenes/s.json:3:40: $['Vegetation Distribution']: metres of trail: \
             3998000000000, but at most 1000000 are allowed, so that a scene fits into memory",
        ),
    ] {
        let told = load_with(&text, &files().with("data/t.vprp", trail)).unwrap_err();
        assert_eq!(told.lines().next().unwrap(), expected);
    }
}

#[test]
fn empty_scenes_and_broken_text_are_told() {
    let file = "data/scenes/s.json";
    assert_eq!(
        load("{}").unwrap_err(),
        format!("{file}: has no triangle with an area; lidars detect only triangles")
    );
    assert!(load("{").unwrap_err().starts_with(&format!("{file}:1:1: is not valid JSON")));
    assert_eq!(load("7").unwrap_err(), format!("{file}:1:1: $: expected an object, got 7"));
}
