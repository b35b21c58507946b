//! Scenes of the bench, built on request.
//!
//! | name | triangles | difficulty |
//! |---|---|---|
//! | `courtyard-0.36m`, `-20m`, `-191m` | 0.36 M, 20 M, 191 M | grass, and trees of 3.5 M triangles |
//! | `grass-dense` | 31 M | MAVS's own scene, from its files |
//! | `random-field` | 12.6 billion | a million copies of one plant, which overlap |
//! | `poles` | 0.6 M | long thin triangles that lean every way, in one mesh |
//! | `mesh-20m` | 20 M | one mesh without copies |
//! | `buildings` | 19 k | large walls with windows |
//! | `boxes` | 122 | almost none |
//!
//! In the courtyards, `poles`, `buildings` and `boxes`, nothing stands on the lane of the sensors.

use std::f64::consts::{PI, TAU};
use std::path::{Path, PathBuf};

use glam::{DAffine3, DVec2, DVec3};
use menura::config::rig::{CourtyardParameters, SceneSource};
use menura::world::builtin::courtyard;
use menura::world::loaders::{self, Disk, Memory};
use menura::world::materials;
use menura::world::scene::{Instance, Mesh, Scene};

/// Scenes in the courtyard: name, number of grass blades, number of trees, triangles per tree.
const COURTYARDS: [(&str, u64, u32, u32); 3] = [
    ("courtyard-0.36m", 22_500, 0, 1_000),
    ("courtyard-20m", 2_000_000, 1, 3_500_000),
    ("courtyard-191m", 2_000_000, 50, 3_500_000),
];
/// All scenes, in the order of measurement.
pub const NAMES: [&str; 9] = [
    "courtyard-0.36m",
    "courtyard-20m",
    "courtyard-191m",
    "grass-dense",
    "random-field",
    "poles",
    "mesh-20m",
    "buildings",
    "boxes",
];

/// Loads the scene `name` of [`NAMES`], or returns the reason why this is impossible. `mavs` is the
/// folder that contains the folder `data` of MAVS.
pub fn load(name: &str, mavs: Option<&Path>) -> Result<Scene, String> {
    let courtyard = COURTYARDS.iter().find(|courtyard| courtyard.0 == name);
    if let Some(&(_, grass_blades, trees, tree_triangles)) = courtyard {
        let shape = CourtyardParameters {
            seed: 7,
            grass_blades,
            trees,
            tree_triangles,
            ..Default::default()
        };
        return Ok(courtyard::build(&shape));
    }
    match name {
        "grass-dense" => grass_dense(mavs),
        "random-field" => random_field(),
        "poles" => Ok(poles()),
        "mesh-20m" => Ok(rough_ground()),
        "buildings" => Ok(buildings()),
        _ => Ok(boxes()),
    }
}

fn grass_dense(mavs: Option<&Path>) -> Result<Scene, String> {
    let shared = std::env::var_os("MENURA_SHARED").map(|p| PathBuf::from(p).join("scenes/mavs"));
    let Some(folder) = mavs.map(Path::to_owned).or(shared) else {
        return Err("needs MAVS's scenes: --mavs or MENURA_SHARED".into());
    };
    let path = folder.join("data/scenes/grass_dense.json");
    let source = SceneSource::File { path, seed: 7, placement: Default::default() };
    loaders::load(&source, &Disk::default()).map_err(|error| error.to_string())
}

/// Random numbers in 0..1, the same on every machine.
struct Draws(u64);

impl Draws {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn within(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }
}

/// A scene of one material. The first mesh is the ground; each mesh is placed at the origin.
fn of_meshes(meshes: Vec<Mesh>) -> Scene {
    let here = |mesh| Instance { mesh, world_from_mesh: DAffine3::IDENTITY };
    Scene {
        instances: (0..meshes.len() as u32).map(here).collect(),
        ground: vec![here(0)],
        materials: vec![materials::plain("plain", 0.4)],
        meshes,
    }
}

/// A square floor of two triangles at z = 0; `half_m` is half of its side, metres.
fn floor(half_m: f32) -> Mesh {
    let mut mesh = Mesh { name: "floor".into(), ..Mesh::default() };
    let corners = [[-half_m, -half_m], [half_m, -half_m], [half_m, half_m], [-half_m, half_m]];
    add_quad(&mut mesh, corners.map(|[x, y]| DVec3::new(x.into(), y.into(), 0.0)));
    mesh
}

fn add_quad(mesh: &mut Mesh, corners: [DVec3; 4]) {
    let base = mesh.positions.len() as u32;
    mesh.positions.extend(corners.map(|p| p.as_vec3().to_array()));
    mesh.triangles.extend([[base, base + 1, base + 2], [base, base + 2, base + 3]]);
    mesh.triangle_materials.extend([0, 0]);
}

/// Adds the five visible sides of a box on the ground.
fn add_box(mesh: &mut Mesh, [west, south]: [f64; 2], [east, north]: [f64; 2], high: f64) {
    let at = |x: f64, y: f64, z: f64| DVec3::new(x, y, z);
    let corners = [[west, south], [east, south], [east, north], [west, north]];
    for k in 0..4 {
        let ([ax, ay], [bx, by]) = (corners[k], corners[(k + 1) % 4]);
        add_quad(mesh, [at(ax, ay, 0.0), at(bx, by, 0.0), at(bx, by, high), at(ax, ay, high)]);
    }
    add_quad(mesh, corners.map(|[x, y]| at(x, y, high)));
}

/// Whether every point of a disc is more than 2 m away from the centre line of the circular lane; all lengths in
/// metres.
fn is_clear(middle: DVec2, radius: f64) -> bool {
    (middle.length() - courtyard::LANE_RADIUS_M).abs() > radius + 2.0
}

/// Half of the field's side, metres.
const FIELD_M: f64 = 100.0;
/// Number of leaves of a plant. With [`QUADS`] quads per leaf, a plant has 12,600 triangles.
const LEAVES: u32 = 63;
/// Number of quads per leaf, each of two triangles.
const QUADS: u32 = 100;

/// A million copies of a plant, placed by MAVS's `Random`: 25 per square metre, each about a metre
/// wide.
fn random_field() -> Result<Scene, String> {
    let json = format!(
        r#"{{
            "Surface Mesh": [{{ "Mesh": "ground.obj" }}],
            "Objects": [
                {{ "Mesh": "ground.obj", "Instances": [{{
                    "YawPitchRoll": [0, 0, 0], "Position": [0, 0, 0], "Scale": [1, 1, 1] }}] }},
                {{ "Mesh": "plant.obj", "Random": {{
                    "Number": 1000000, "Scale": [0.8, 1.2], "Offset": [0, 0, 0],
                    "Polygon": [[-{h}, -{h}], [-{h}, {h}], [{h}, {h}], [{h}, -{h}]] }} }}
            ]
        }}"#,
        h = FIELD_M
    );
    let files = Memory::default()
        .with("data/scenes/meshes/ground.obj", to_obj(&floor(150.0)))
        .with("data/scenes/meshes/plant.obj", to_obj(&plant()))
        .with("data/scenes/field.json", json);
    loaders::load_file(Path::new("data/scenes/field.json"), 7, &files)
        .map_err(|error| error.to_string())
}

/// A bush of arching leaves, 0.6 m high.
fn plant() -> Mesh {
    let mut mesh = Mesh { name: "plant".into(), ..Mesh::default() };
    let mut draws = Draws(11);
    for _ in 0..LEAVES {
        let (sin, cos) = libm::sincos(draws.within(0.0, TAU));
        let (out, side) = (DVec3::new(cos, sin, 0.0), DVec3::new(-sin, cos, 0.0));
        let (length, half_width) = (draws.within(0.3, 0.7), draws.within(0.004, 0.012));
        let (lean, curl) = (draws.within(0.1, 0.6), draws.within(0.3, 1.6));
        let mut middle = out * draws.within(0.0, 0.05) + side * draws.within(-0.05, 0.05);
        let mut rim = |along: f64| {
            let half = side * (half_width * libm::sin(PI * (0.04 + 0.95 * along)));
            let (sin, cos) = libm::sincos(lean + curl * along);
            let ends = [middle - half, middle + half];
            middle += (out * sin + DVec3::Z * cos) * (length / f64::from(QUADS));
            ends
        };
        let mut below = rim(0.0);
        for quad in 1..=QUADS {
            let above = rim(f64::from(quad) / f64::from(QUADS));
            add_quad(&mut mesh, [below[0], below[1], above[1], above[0]]);
            below = above;
        }
    }
    mesh
}

fn to_obj(mesh: &Mesh) -> String {
    let mut text = String::new();
    for [x, y, z] in &mesh.positions {
        text += &format!("v {x} {y} {z}\n");
    }
    for triangle in &mesh.triangles {
        let [a, b, c] = triangle.map(|corner| corner + 1);
        text += &format!("f {a} {b} {c}\n");
    }
    text
}

/// A hundred thousand leaning poles, 5 m high; each has three sides of two triangles.
fn poles() -> Scene {
    let mut mesh = Mesh { name: "poles".into(), ..Mesh::default() };
    let mut draws = Draws(5);
    while mesh.triangles.len() < 600_000 {
        let mut place = || DVec2::new(draws.within(-150.0, 150.0), draws.within(-150.0, 150.0));
        let (foot, lean) = (place(), place() * (4.0 / 150.0));
        if !is_clear(foot, 0.0) {
            continue;
        }
        let rim = |middle: DVec3| {
            [0.0, 1.0, 2.0].map(|k| {
                let (sin, cos) = libm::sincos(TAU * k / 3.0);
                middle + DVec3::new(cos, sin, 0.0) * 0.01
            })
        };
        let (low, high) = (rim(foot.extend(0.0)), rim((foot + lean).extend(5.0)));
        for k in 0..3 {
            let next = (k + 1) % 3;
            add_quad(&mut mesh, [low[k], low[next], high[next], high[k]]);
        }
    }
    of_meshes(vec![floor(150.0), mesh])
}

/// Number of cells of the rough ground along each side.
const CELLS: u32 = 3162;

/// One mesh of 20 M triangles: rough ground with hills, 0.1 m per cell.
fn rough_ground() -> Scene {
    let side = CELLS + 1;
    let mut mesh = Mesh { name: "rough ground".into(), ..Mesh::default() };
    let mut draws = Draws(3);
    mesh.positions.reserve_exact((side * side) as usize);
    for index in 0..side * side {
        let at = |k: u32| 0.1 * (f64::from(k) - f64::from(CELLS) / 2.0);
        let (x, y) = (at(index % side), at(index / side));
        let hills = libm::sin(x / 9.0) * libm::cos(y / 7.0) + 0.4 * libm::sin(x / 2.3 + y / 3.1);
        let stones = draws.unit();
        let z = hills + 0.05 * stones + if stones > 0.995 { 0.5 } else { 0.0 };
        mesh.positions.push([x as f32, y as f32, z as f32]);
    }
    let count = (2 * CELLS * CELLS) as usize;
    mesh.triangles.reserve_exact(count);
    for cell in 0..CELLS * CELLS {
        let a = cell / CELLS * side + cell % CELLS;
        mesh.triangles.extend([[a, a + 1, a + side + 1], [a, a + side + 1, a + side]]);
    }
    mesh.triangle_materials = vec![0; count];
    of_meshes(vec![mesh])
}

/// Houses on a grid of streets. Two walls of each have flat windows, 0.1 m in front of the wall.
fn buildings() -> Scene {
    let mut mesh = Mesh { name: "buildings".into(), ..Mesh::default() };
    let mut draws = Draws(9);
    for east in -7..=7 {
        for north in -7..=7 {
            let middle = DVec2::new(f64::from(east), f64::from(north)) * 20.0;
            let half = DVec2::new(draws.within(3.0, 8.0), draws.within(3.0, 8.0));
            let high = draws.within(4.0, 30.0);
            if !is_clear(middle, half.length()) {
                continue;
            }
            let (low, top) = (middle - half, middle + half);
            add_box(&mut mesh, low.to_array(), top.to_array(), high);
            for floor in 0..(high / 3.0) as u32 {
                for k in 0..4 {
                    let x = low.x + (f64::from(k) + 0.2) * half.x / 2.0;
                    let z = 3.0 * f64::from(floor) + 1.0;
                    for y in [low.y - 0.1, top.y + 0.1] {
                        let at = |x: f64, z: f64| DVec3::new(x, y, z);
                        let (right, up) = (x + 0.3 * half.x, z + 1.4);
                        add_quad(&mut mesh, [at(x, z), at(right, z), at(right, up), at(x, up)]);
                    }
                }
            }
        }
    }
    of_meshes(vec![floor(200.0), mesh])
}

/// A dozen large boxes on a floor.
fn boxes() -> Scene {
    let mut mesh = Mesh { name: "boxes".into(), ..Mesh::default() };
    for k in 0..12 {
        let (sin, cos) = libm::sincos(TAU * f64::from(k) / 12.0);
        let middle = DVec2::new(cos, sin) * if k % 2 == 0 { 40.0 } else { 10.0 };
        let half = DVec2::splat(if k % 2 == 0 { 6.0 } else { 1.5 });
        add_box(&mut mesh, (middle - half).to_array(), (middle + half).to_array(), 5.0);
    }
    of_meshes(vec![floor(150.0), mesh])
}
