//! Valid and invalid glTF files.

use super::super::resolve::Memory;
use super::super::texture::tests::{TWO_PIXELS, png_of};
use super::*;

/// A buffer with positions (0 0 0) (1 0 0) (0 1 0), texture coordinates (0 0) (1 0) (0 1) and indices 0 1 2.
fn buffer() -> Vec<u8> {
    let floats = [0., 0., 0., 1., 0., 0., 0., 1., 0., 0., 0., 1., 0., 0., 1.];
    let mut bytes: Vec<u8> = floats.iter().flat_map(|f: &f32| f.to_le_bytes()).collect();
    bytes.extend([0u16, 1, 2].iter().flat_map(|i| i.to_le_bytes()));
    bytes
}

/// A file of one triangle; the keys in `extra` are added to it or replace its own.
fn document(extra: &str) -> serde_json::Value {
    let mut value = serde_json::json!({
        "asset": { "version": "2.0" },
        "buffers": [{ "byteLength": 66, "uri": "my%20mesh.bin" }],
        "bufferViews": [
            { "buffer": 0, "byteLength": 36 },
            { "buffer": 0, "byteOffset": 36, "byteLength": 24 },
            { "buffer": 0, "byteOffset": 60, "byteLength": 6 },
        ],
        "accessors": [
            { "bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3",
              "min": [0, 0, 0], "max": [1, 1, 0] },
            { "bufferView": 1, "componentType": 5126, "count": 3, "type": "VEC2" },
            { "bufferView": 2, "componentType": 5123, "count": 3, "type": "SCALAR" },
        ],
        "meshes": [{ "name": "tri", "primitives": [
            { "attributes": { "POSITION": 0, "TEXCOORD_0": 1, "_CUSTOM": 1 }, "indices": 2 }
        ] }],
        "nodes": [{ "mesh": 0 }],
        "scenes": [{ "nodes": [0] }],
    });
    let extra: serde_json::Value = serde_json::from_str(extra).unwrap();
    for (key, new) in extra.as_object().unwrap() {
        value[key] = new.clone();
    }
    value
}

fn load_with(extra: &str, files: Memory) -> Result<Scene, String> {
    let text = document(extra).to_string();
    let files = files.with("d/my mesh.bin", buffer());
    parse(text.as_bytes(), Path::new("d/s.gltf"), &files).map_err(|e| e.to_string())
}

fn load(extra: &str) -> Result<Scene, String> {
    load_with(extra, Memory::default())
}

/// A binary file that contains the buffer; `extra` as in [`document`].
fn glb(extra: &str) -> Vec<u8> {
    let mut value = document(extra);
    value["buffers"][0].as_object_mut().unwrap().remove("uri");
    let mut json = value.to_string().into_bytes();
    json.resize(json.len().next_multiple_of(4), b' ');
    let mut data = buffer();
    data.resize(data.len().next_multiple_of(4), 0);
    let total = 12 + 8 + json.len() + 8 + data.len();
    let mut bytes = b"glTF".to_vec();
    for number in [2, total as u32, json.len() as u32] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(b"JSON");
    bytes.extend(&json);
    bytes.extend((data.len() as u32).to_le_bytes());
    bytes.extend(b"BIN\0");
    bytes.extend(&data);
    bytes
}

#[test]
fn y_up_becomes_z_up_through_the_node_tree() {
    // A child 2 m in front of (+z) and 1 m above (+y) its parent, which is turned by 90 degrees
    // about y and scaled by 2.
    let half = std::f64::consts::FRAC_1_SQRT_2;
    let scene = load(&format!(
        r#"{{ "nodes": [
            {{ "children": [1], "rotation": [0, {half}, 0, {half}], "scale": [2, 2, 2] }},
            {{ "mesh": 0, "translation": [0, 1, 2] }}
        ] }}"#
    ))
    .unwrap();
    let world_from_mesh = scene.instances[0].world_from_mesh;
    let near = |p: DVec3, q: [f64; 3]| assert!((p - DVec3::from(q)).length() < 1e-6, "{p} {q:?}");
    // glTF: (0 1 2) doubled is (0 2 4), turned about y is (4 2 0); ours is (4 0 2).
    near(world_from_mesh.transform_point3(DVec3::ZERO), [4.0, 0.0, 2.0]);
    // The mesh's y is up and its x points along glTF's -z, which is north.
    near(world_from_mesh.transform_vector3(DVec3::Y), [0.0, 0.0, 2.0]);
    near(world_from_mesh.transform_vector3(DVec3::X), [0.0, 2.0, 0.0]);
    assert_eq!(scene.ground.len(), 1);
    assert_eq!(scene.materials[0].reflectance, materials::DEFAULT_REFLECTANCE);
    assert!(scene.meshes[0].uvs.is_empty());
}

#[test]
fn a_matrix_places_as_its_parts_do() {
    let scene =
        load(r#"{ "nodes": [{ "mesh": 0, "matrix": [2,0,0,0, 0,3,0,0, 0,0,4,0, 5,6,7,1] }] }"#);
    let transform = scene.unwrap().instances[0].world_from_mesh;
    let p = transform.transform_point3(DVec3::ONE);
    assert_eq!(p.to_array(), [7.0, -11.0, 9.0]);
}

#[test]
fn binary_files_and_data_uris_hold_the_same_mesh() {
    let outside = load("{}").unwrap();
    let inside = parse(&glb("{}"), Path::new("s.glb"), &Memory::default()).unwrap();
    let mut value = document("{}");
    let base64 = "AAAAAAAAAAAAAAAAAACAPwAAAAAAAAAAAAAAAAAAgD8AAAAAAAAAAAAAAAAAAIA/AAAAAAAAAAAAAIA/\
                  AAABAAIA";
    let uri = format!("data:application/octet-stream;base64,{base64}");
    value["buffers"][0]["uri"] = uri.into();
    let data = parse(value.to_string().as_bytes(), Path::new("s.gltf"), &Memory::default());
    for scene in [inside, data.unwrap()] {
        assert_eq!(scene.meshes[0].positions, outside.meshes[0].positions);
        assert_eq!(scene.meshes[0].triangles, [[0, 1, 2]]);
    }
}

const TEXTURED: &str = r#"
    "images": [{ "uri": "t.png" }], "textures": [{ "source": 0 }],
    "meshes": [{ "primitives": [
        { "attributes": { "POSITION": 0, "TEXCOORD_0": 1 }, "indices": 2, "material": 0 }
    ] }]"#;

fn textured(material: &str) -> Scene {
    let files = Memory::default().with("d/t.png", png_of(2, 1, 4, &TWO_PIXELS));
    load_with(&format!(r#"{{ "materials": [{material}], {TEXTURED} }}"#), files).unwrap()
}

#[test]
fn base_colour_texture_and_alpha_become_reflectance_and_mask() {
    let scene = textured(
        r#"{ "name": "leaf", "alphaMode": "MASK", "alphaCutoff": 0.3,
             "pbrMetallicRoughness": { "baseColorFactor": [0.5, 1, 1, 1],
                                       "baseColorTexture": { "index": 0 } } }"#,
    );
    let material = &scene.materials[0];
    assert_eq!(material.reflectance, 0.5);
    // sRGB 200 and 100 are 0.578 and 0.127 in linear light.
    let map = material.reflectance_map.as_ref().unwrap();
    assert!((map.sample([0.25, 0.5]) - 0.578).abs() < 0.003);
    assert!((map.sample([0.75, 0.5]) - 0.127).abs() < 0.003);
    let mask = material.opacity_mask.as_ref().unwrap();
    assert_eq!((mask.sample([0.25, 0.5]), mask.sample([0.75, 0.5])), (1.0, 0.0));
    // v runs down in glTF, up here.
    assert_eq!(scene.meshes[0].uvs, [[0.0, 1.0], [1.0, 1.0], [0.0, 0.0]]);
}

#[test]
fn opaque_materials_have_no_mask_and_transforms_are_applied() {
    let scene = textured(
        r#"{ "pbrMetallicRoughness": { "baseColorTexture": { "index": 0, "extensions": {
            "KHR_texture_transform": { "offset": [0.25, 0.5], "scale": [2, 3] } } } } }"#,
    );
    assert!(scene.materials[0].opacity_mask.is_none());
    assert_eq!(scene.meshes[0].uvs, [[0.25, 0.5], [2.25, 0.5], [0.25, -2.5]]);
}

#[test]
fn materials_go_by_colour_then_name_and_may_be_invisible() {
    let plain = |material: &str| {
        load(&format!(
            r#"{{ "materials": [{material}], "meshes": [{{ "primitives": [
                {{ "attributes": {{ "POSITION": 0 }}, "material": 0 }}] }}] }}"#
        ))
    };
    let reflectance = |material: &str| plain(material).unwrap().materials[0].reflectance;
    assert_eq!(reflectance(r#"{ "name": "Concrete.001" }"#), 0.35);
    assert_eq!(reflectance(r#"{ "name": "shiny" }"#), 1.0);
    let red = r#""pbrMetallicRoughness": { "baseColorFactor": [0.25, 0, 0, 0.4] }"#;
    assert_eq!(reflectance(&format!(r#"{{ "name": "concrete", {red} }}"#)), 0.25);
    let nothing = plain(&format!(r#"{{ "alphaMode": "BLEND", {red} }}"#)).unwrap_err();
    assert!(nothing.contains("has no triangle"), "{nothing}");
}

#[test]
fn strips_and_fans_become_triangles() {
    for mode in [5, 6] {
        let scene = load(&format!(
            r#"{{ "meshes": [{{ "primitives": [
                {{ "attributes": {{ "POSITION": 0 }}, "mode": {mode} }}] }}] }}"#
        ));
        assert_eq!(scene.unwrap().meshes[0].triangles, [[0, 1, 2]]);
    }
}

#[test]
fn wrong_files_are_told() {
    for (extra, expected) in [
        (
            r#"{ "buffers": [{ "byteLength": 66, "uri": "no.bin" }] }"#,
            "d/s.gltf: buffers[0]: there is no file `d/no.bin`\n\
             d/s.gltf: meshes[0]: accessor 0 is empty or reaches beyond its buffer",
        ),
        (
            r#"{ "buffers": [{ "byteLength": 9000, "uri": "my%20mesh.bin" }] }"#,
            "d/s.gltf: buffers[0]: declares 9000 bytes of a buffer, but only 66 are left",
        ),
        (
            r#"{ "buffers": [{ "byteLength": 66, "uri": "http://x/y" }] }"#,
            "d/s.gltf: buffers[0]: the address `http://x/y` is not supported\n\
             d/s.gltf: meshes[0]: accessor 0 is empty or reaches beyond its buffer",
        ),
        (
            r#"{ "meshes": [{ "primitives": [{ "attributes": { "POSITION": 9 } }] }] }"#,
            "d/s.gltf: meshes[0]: accessor 9 does not exist; there are 3, counted from 0",
        ),
        (r#"{ "nodes": [{ "mesh": 3 }] }"#, "d/s.gltf: nodes[0].mesh: Index out of bounds"),
        (
            r#"{ "nodes": [{ "children": [1] }, { "children": [0] }] }"#,
            "d/s.gltf: nodes[0]: is a child twice; nodes must form a tree",
        ),
        (
            r#"{ "nodes": [{ "mesh": 0, "scale": [1, 0, 1] }] }"#,
            "d/s.gltf: has no triangle with an area; lidars detect only triangles",
        ),
        (
            r#"{ "nodes": [{ "mesh": 0, "rotation": [0, 0, 0, 0] }] }"#,
            "d/s.gltf: nodes[0]: has a transform with numbers that are not finite",
        ),
        (
            r#"{ "extensionsRequired": ["KHR_draco_mesh_compression"] }"#,
            "d/s.gltf: the glTF extension `KHR_draco_mesh_compression`, which the file requires, \
             is not supported",
        ),
        (
            r#"{ "meshes": [{ "primitives": [
                { "attributes": { "POSITION": 0 }, "indices": 1 }] }] }"#,
            "d/s.gltf: meshes[0]: expected unsigned integers for indices, got accessor 1 of F32 \
             Vec2, 3",
        ),
        (
            r#"{ "images": [{}], "textures": [{ "source": 0 }], "materials": [
                { "pbrMetallicRoughness": { "baseColorTexture": { "index": 0 } } }],
                "meshes": [{ "primitives": [
                { "attributes": { "POSITION": 0 }, "material": 0 }] }] }"#,
            "d/s.gltf: images[0]: has neither `uri` nor `bufferView`",
        ),
    ] {
        assert_eq!(load(extra).unwrap_err(), expected, "{extra}");
    }
}

#[test]
fn an_index_beyond_the_vertices_is_told() {
    let mut bytes = glb("{}");
    let last = bytes.len() - 4;
    bytes[last] = 3;
    let error = parse(&bytes, Path::new("s.glb"), &Memory::default()).unwrap_err();
    let expected = "s.glb: meshes[0]: vertex 3 does not exist; there are 3, counted from 0";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn broken_text_has_line_and_column() {
    let error = parse(b"{\n \"asset\": 7 }", Path::new("s.gltf"), &Memory::default()).unwrap_err();
    assert!(error.to_string().starts_with("s.gltf:2:"), "{error}");
}

/// The triangle with one material.
fn with_material(material: &str) -> Scene {
    let mesh = r#""meshes": [{ "primitives": [
        { "attributes": { "POSITION": 0, "TEXCOORD_0": 1 }, "indices": 2, "material": 0 } ] }]"#;
    load(&format!(r#"{{ {mesh}, "materials": [{material}] }}"#)).unwrap()
}

#[test]
fn parameters_and_names_say_how_a_surface_shines() {
    let look = |material: &str| {
        let scene = with_material(material);
        (scene.materials[0].reflectance, scene.materials[0].finish)
    };
    let red = r#""baseColorFactor": [0.6, 0, 0, 1]"#;
    assert_eq!(look(&format!(r#"{{ "pbrMetallicRoughness": {{ {red} }} }}"#)), (0.6, Finish::Matt));
    let (reflectance, finish) = look(&format!(
        r#"{{ "pbrMetallicRoughness": {{ {red}, "metallicFactor": 0, "roughnessFactor": 0.5 }} }}"#
    ));
    assert_eq!(reflectance, 0.6);
    assert!(matches!(finish, Finish::Glossy { exponent: 7.5, .. }), "{finish:?}");
    let glass = r#"{ "extensions": {
        "KHR_materials_transmission": { "transmissionFactor": 1 },
        "KHR_materials_ior": { "ior": 1.6 },
        "KHR_materials_volume": { "thicknessFactor": 0.01 } },
        "pbrMetallicRoughness": { "roughnessFactor": 0, "metallicFactor": 0 } }"#;
    assert_eq!(look(glass), (0.0, Finish::Glass { index: 1.6, clear: 1.0, faces: 1 }));
    // A window with alpha blending, as exported by programs that do not support transmission.
    let blended = r#"{ "name": "Window", "alphaMode": "BLEND",
        "pbrMetallicRoughness": { "baseColorFactor": [0.6, 0.6, 0.7, 0.2] } }"#;
    assert_eq!(look(blended), (materials::DIRT, materials::PANE));
    let sign =
        r#"{ "name": "stop sign", "pbrMetallicRoughness": { "baseColorFactor": [0.6, 0, 0, 1] } }"#;
    assert_eq!(look(sign), (0.6, Finish::Retro { gain: 785.0 }));
}

#[test]
fn impossible_parameters_are_taken_as_the_nearest() {
    let material = with_material(
        r#"{ "extensions": { "KHR_materials_ior": { "ior": 0.5 } },
            "pbrMetallicRoughness": { "metallicFactor": 7, "roughnessFactor": -1 } }"#,
    );
    assert_eq!(material.materials[0].finish, Finish::Mirror { share: 1.0 });
}

/// glTF 2.0 describes a scale of zero as the mechanism to animate visibility.
#[test]
fn hidden_nodes_and_meshes_without_area_do_not_prevent_loading() {
    let text = document(
        r#"{ "extensionsUsed": ["EXT_mesh_gpu_instancing"],
            "meshes": [
                { "primitives": [{ "attributes": { "POSITION": 0 }, "indices": 2 }] },
                { "primitives": [{ "attributes": { "POSITION": 0 }, "indices": 3 }] }
            ],
            "accessors": [
                { "bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3",
                  "min": [0, 0, 0], "max": [1, 1, 0] },
                { "bufferView": 1, "componentType": 5126, "count": 3, "type": "VEC2" },
                { "bufferView": 2, "componentType": 5123, "count": 3, "type": "SCALAR" },
                { "bufferView": 0, "componentType": 5123, "count": 3, "type": "SCALAR" }
            ],
            "nodes": [
                { "mesh": 0, "scale": [0, 0, 0] },
                { "mesh": 0, "scale": [1, 1, 0], "children": [4] },
                { "mesh": 1 },
                { "mesh": 0 },
                { "mesh": 0, "rotation": [0.36, 0.48, 0, 0.8] }
            ],
            "scenes": [{ "nodes": [0, 1, 2, 3] }] }"#,
    )
    .to_string();
    let (document, blob) = open(text.as_bytes(), Path::new("s.gltf")).unwrap();
    let files = Memory::default().with("my mesh.bin", buffer());
    let mut loader = Loader::new(&document, Path::new("s.gltf"), &files);
    loader.load(blob);
    assert_eq!(
        loader.assembly.warnings(),
        [
            "s.gltf: `EXT_mesh_gpu_instancing` is not supported; each node has one copy of its \
             mesh",
            "s.gltf: nodes[0]: a node has a transform without volume: its mesh is left out (the \
             first of 3)",
            "s.gltf: meshes[1]: 1 triangles without area are left out",
        ]
    );
    let scene = loader.assembly.finish(Path::new("s.gltf"), true).unwrap();
    assert_eq!((scene.meshes.len(), scene.instances.len()), (1, 1));
}

#[test]
fn specular_glossiness_materials_have_their_own_colour() {
    let look = |pbr: &str| {
        let scene = with_material(&format!(
            r#"{{ "extensions": {{ "KHR_materials_pbrSpecularGlossiness": {{ {pbr} }} }} }}"#
        ));
        (scene.materials[0].reflectance, scene.materials[0].finish)
    };
    let red = r#""diffuseFactor": [0.1, 0, 0, 1]"#;
    assert_eq!(look(&format!(r#"{red}, "glossinessFactor": 0"#)), (0.1, Finish::Matt));
    let (reflectance, finish) = look(&format!(r#"{red}, "glossinessFactor": 0.5"#));
    assert_eq!(reflectance, 0.1);
    assert!(matches!(finish, Finish::Glossy { exponent: 7.5, .. }), "{finish:?}");
    let scene = textured(
        r#"{ "extensions": { "KHR_materials_pbrSpecularGlossiness": {
            "diffuseTexture": { "index": 0 } } } }"#,
    );
    assert!(scene.materials[0].reflectance_map.is_some());
}

/// The positions serve as colours: their mean is 1/3, 1/3, 0.
#[test]
fn vertex_colours_multiply_the_base_colour() {
    let reflectances = |material: &str| -> Vec<f32> {
        let scene = load(&format!(
            r#"{{ "materials": [
                {{ "pbrMetallicRoughness": {{ "baseColorFactor": [0.6, 1, 1, 1] }} }}],
                "meshes": [{{ "primitives": [
                {{ "attributes": {{ "POSITION": 0, "COLOR_0": 0 }} {material} }},
                {{ "attributes": {{ "POSITION": 0 }} {material} }}] }}] }}"#
        ));
        scene.unwrap().materials.iter().map(|material| material.reflectance).collect()
    };
    let third = 1.0f32 / 3.0;
    assert_eq!(reflectances(r#", "material": 0"#), [0.6 * third, 0.6]);
    assert_eq!(reflectances(""), [third, materials::DEFAULT_REFLECTANCE]);
    let wrong = load(
        r#"{ "meshes": [{ "primitives": [
            { "attributes": { "POSITION": 0, "COLOR_0": 1 } }] }] }"#,
    );
    assert_eq!(
        wrong.unwrap_err(),
        "d/s.gltf: meshes[0]: expected three or four floats, bytes or shorts for vertex colours, \
         got accessor 1 of F32 Vec2, 3"
    );
}
