//! The built-in `street`: non-diffuse surfaces at known positions.
//!
//! ```text
//!  y  7 m   facades, 6 m high; a shop window from x = 4 to 7, 0.6 to 2.6 m high, and a room behind it
//!  y  4 m   kerbs, 0.12 m high, with pavements behind them
//!  y  1.7 m a parked car from x = 10 to 14.2, with a licence plate at its western end
//!  y  1.8 m the puddle at x = 8, before the car
//!  y -4.5 m the road sign on its post
//! ```
//!
//! Both sides of the road have facades, kerbs and pavements.

use glam::{DAffine3, DVec2, DVec3};

use super::solids::{self, PUDDLE_Z_M, add_quad};
use crate::config::rig::StreetParameters;
use crate::world::materials;
use crate::world::scene::{Finish, Instance, Material, MaterialId, Mesh, Scene};

/// Distance from the middle of the road to a kerb, metres.
const KERB_M: f64 = 4.0;
const FACADE_M: f64 = 7.0;
const KERB_HEIGHT_M: f64 = 0.12;
const FACADE_HEIGHT_M: f64 = 6.0;
/// Western and eastern edge of the shop window, metres.
const WINDOW_X_M: [f64; 2] = [4.0, 7.0];
const WINDOW_Z_M: [f64; 2] = [0.6, 2.6];
/// Distance from the middle of the road to the back wall of the room behind the window, metres.
const ROOM_BACK_M: f64 = 11.0;
/// Middle of the puddle, metres.
const PUDDLE_M: [f64; 2] = [8.0, 1.8];
/// World y of the road sign, metres.
const SIGN_Y_M: f64 = -4.5;
const SIGN_Z_M: f64 = 2.3;
const SIGN_SIZE_M: f64 = 0.6;
/// Middle of the licence plate, World, metres.
const PLATE_M: [f64; 3] = [9.99, 2.6, 0.5];
/// Width and height of a licence plate of the European Union, metres.
const PLATE_SIZE_M: [f64; 2] = [0.52, 0.11];
/// Largest length of the pieces into which long rectangles are divided, metres. The depth of a hit is less exact on
/// long thin triangles.
const PIECE_M: f64 = 10.0;
/// Lowest and highest corner of the parked car, World, metres.
const CAR_M: [[f64; 3]; 2] = [[10.0, 1.7, 0.2], [14.2, 3.5, 1.5]];

/// Builds the street. Its ground is road and pavements.
pub fn build(parameters: &StreetParameters) -> Scene {
    let mut scene = Scene::default();
    let mut material = |material: Material| -> MaterialId {
        scene.materials.push(material);
        (scene.materials.len() - 1) as MaterialId
    };
    let mut asphalt = materials::by_name("asphalt");
    if parameters.wetness > 0.0 {
        asphalt.finish = Finish::Wet { film: parameters.wetness as f32 };
    }
    let asphalt = material(asphalt);
    let [concrete, brick, wood, window, paint, metal, plate, sign, puddle] = [
        "concrete",
        "brick",
        "wood",
        "window",
        "car paint",
        "metal",
        "licence plate",
        "road sign",
        "puddle",
    ]
    .map(|name| material(materials::by_name(name)));
    let end = parameters.length_m / 2.0;

    let mut road = Part::new("road");
    road.level([-end, -KERB_M], [end, KERB_M], 0.0, asphalt);
    let mut pavements = Part::new("pavements");
    let mut facades = Part::new("facades");
    let [window_west, window_east] = WINDOW_X_M;
    let [sill, lintel] = WINDOW_Z_M;
    for side in [-1.0, 1.0] {
        let (kerb, facade) = (side * KERB_M, side * FACADE_M);
        pavements.upright([-end, kerb], [end, kerb], [0.0, KERB_HEIGHT_M], concrete);
        let (low, high) = (kerb.min(facade), kerb.max(facade));
        pavements.level([-end, low], [end, high], KERB_HEIGHT_M, concrete);
        let mut wall = |west: f64, east: f64, z: [f64; 2]| {
            facades.upright([west, facade], [east, facade], z, brick);
        };
        if side < 0.0 {
            wall(-end, end, [KERB_HEIGHT_M, FACADE_HEIGHT_M]);
        } else {
            wall(-end, window_west, [KERB_HEIGHT_M, FACADE_HEIGHT_M]);
            wall(window_east, end, [KERB_HEIGHT_M, FACADE_HEIGHT_M]);
            wall(window_west, window_east, [KERB_HEIGHT_M, sill]);
            wall(window_west, window_east, [lintel, FACADE_HEIGHT_M]);
        }
    }
    let mut shop = Part::new("shop");
    let high = [KERB_HEIGHT_M, 3.0];
    shop.upright([window_west - 1.0, ROOM_BACK_M], [window_east + 1.0, ROOM_BACK_M], high, wood);
    for x in [window_west - 1.0, window_east + 1.0] {
        shop.upright([x, FACADE_M], [x, ROOM_BACK_M], high, wood);
    }
    for z in high {
        let corners = [[window_west - 1.0, FACADE_M], [window_east + 1.0, ROOM_BACK_M]];
        shop.level(corners[0], corners[1], z, wood);
    }
    let mut pane = Part::new("shop window");
    pane.upright([window_west, FACADE_M], [window_east, FACADE_M], WINDOW_Z_M, window);

    let mut car = Part::new("parked car");
    car.block(CAR_M, paint);
    let [x, y, z] = PLATE_M;
    let [width, height] = PLATE_SIZE_M.map(|size| size / 2.0);
    car.upright([x, y - width], [x, y + width], [z - height, z + height], plate);

    let mut road_sign = Part::new("road sign");
    let x = parameters.sign_distance_m;
    let half = SIGN_SIZE_M / 2.0;
    let z = [SIGN_Z_M - half, SIGN_Z_M + half];
    road_sign.upright([x, SIGN_Y_M - half], [x, SIGN_Y_M + half], z, sign);
    let post = 0.03;
    road_sign.block(
        [
            [x + 0.01, SIGN_Y_M - post, KERB_HEIGHT_M],
            [x + 0.01 + 2.0 * post, SIGN_Y_M + post, z[1]],
        ],
        metal,
    );

    for part in [road, pavements, facades, shop, pane, car, road_sign] {
        part.place(&mut scene);
    }
    scene.ground = scene.instances[..2].to_vec();
    if parameters.puddle_radius_m > 0.0 {
        let [x, y] = PUDDLE_M;
        let middle = DVec3::new(x, y, PUDDLE_Z_M);
        let mesh = solids::puddle(middle, parameters.puddle_radius_m, puddle);
        Part { mesh }.place(&mut scene);
    }
    scene
}

/// Divides the line between two points into equal pieces of at most [`PIECE_M`]; returns the ends of each.
fn pieces(from: [f64; 2], to: [f64; 2]) -> impl Iterator<Item = [[f64; 2]; 2]> {
    let (from, to) = (DVec2::from(from), DVec2::from(to));
    let count = (from.distance(to) / PIECE_M).ceil().max(1.0) as u32;
    let at = move |k: u32| from.lerp(to, f64::from(k) / f64::from(count)).to_array();
    (0..count).map(move |k| [at(k), at(k + 1)])
}

/// A mesh under construction, in World.
struct Part {
    mesh: Mesh,
}

impl Part {
    fn new(name: &str) -> Self {
        Self { mesh: Mesh { name: name.into(), ..Mesh::default() } }
    }

    fn quad(&mut self, corners: [[f64; 3]; 4], material: MaterialId) {
        add_quad(&mut self.mesh, corners.map(DVec3::from));
        self.mesh.triangle_materials.extend([material; 2]);
    }

    /// Adds a level rectangle at the height `z`, from the south-western corner `low` to the north-eastern corner
    /// `high`.
    fn level(&mut self, low: [f64; 2], high: [f64; 2], z: f64, material: MaterialId) {
        let [[west, south], [east, north]] = [low, high];
        for [from, to] in pieces([west, south], [east, south]) {
            let (back, front) = ([from[0], north, z], [to[0], north, z]);
            self.quad([[from[0], south, z], [to[0], south, z], front, back], material);
        }
    }

    /// Adds an upright rectangle above the line between two points, from the height `z[0]` to `z[1]`.
    fn upright(&mut self, from: [f64; 2], to: [f64; 2], z: [f64; 2], material: MaterialId) {
        let corner = |[x, y]: [f64; 2], z: f64| [x, y, z];
        let [low, high] = z;
        for [from, to] in pieces(from, to) {
            let upper = [corner(to, high), corner(from, high)];
            self.quad([corner(from, low), corner(to, low), upper[0], upper[1]], material);
        }
    }

    /// Adds a box from its lowest to its highest corner.
    fn block(&mut self, [low, high]: [[f64; 3]; 2], material: MaterialId) {
        let z = [low[2], high[2]];
        let corners = [[low[0], low[1]], [high[0], low[1]], [high[0], high[1]], [low[0], high[1]]];
        for (k, &from) in corners.iter().enumerate() {
            self.upright(from, corners[(k + 1) % 4], z, material);
        }
        for z in z {
            self.level([low[0], low[1]], [high[0], high[1]], z, material);
        }
    }

    /// Adds the mesh to `scene`, with one instance that has the identity as pose.
    fn place(self, scene: &mut Scene) {
        let mesh = scene.meshes.len() as u32;
        scene.meshes.push(self.mesh);
        scene.instances.push(Instance { mesh, world_from_mesh: DAffine3::IDENTITY });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_where_the_picture_has_it() {
        let parameters = StreetParameters::default();
        let scene = build(&parameters);
        let finish = |name: &str| {
            let place = scene.meshes.iter().position(|mesh| mesh.name == name).unwrap();
            let mesh = &scene.meshes[place];
            (mesh.bounds(), scene.materials[mesh.triangle_materials[0] as usize].clone())
        };
        let ([low, high], pane) = finish("shop window");
        assert_eq!(pane.finish, materials::PANE);
        let corners =
            [WINDOW_X_M[0], FACADE_M, WINDOW_Z_M[0], WINDOW_X_M[1], FACADE_M, WINDOW_Z_M[1]];
        let found = [low.x, low.y, low.z, high.x, high.y, high.z];
        assert!(found.iter().zip(corners).all(|(a, b)| (a - b).abs() < 1e-6), "{found:?}");
        let ([low, high], puddle) = finish("puddle");
        assert!(matches!(puddle.finish, Finish::Water { bottom: Some(_) }));
        assert!((high - low - DVec3::new(3.0, 3.0, 0.0)).length() < 1e-6 && low.z > 0.001);
        let ([low, _], sign) = finish("road sign");
        assert!(matches!(sign.finish, Finish::Retro { .. }) && low.x == 20.0);
        // The facades have an opening for the window: their area is smaller by that of the pane.
        let area = |name: &str| {
            let mesh = scene.meshes.iter().find(|mesh| mesh.name == name).unwrap();
            let double = |t: u32| {
                let [a, b, c] = mesh.corners(t);
                (b - a).cross(c - a).length()
            };
            (0..mesh.triangles.len() as u32).map(double).sum::<f64>() / 2.0
        };
        let walls = 2.0 * 120.0 * (FACADE_HEIGHT_M - KERB_HEIGHT_M) - 6.0;
        assert!((area("facades") - walls).abs() < 1e-3, "{}", area("facades"));
        assert_eq!(scene.ground.len(), 2);
        let [low, high] = scene.ground_extents();
        assert!((high - low - DVec3::new(120.0, 14.0, 0.12)).length() < 1e-6);
    }

    #[test]
    fn a_dry_street_without_a_puddle_is_one() {
        let dry = build(&StreetParameters { puddle_radius_m: 0.0, ..Default::default() });
        assert!(dry.meshes.iter().all(|mesh| mesh.name != "puddle"));
        assert_eq!(dry.materials[0].finish, Finish::Matt);
        let wet = build(&StreetParameters { wetness: 0.5, ..Default::default() });
        assert_eq!(wet.materials[0].finish, Finish::Wet { film: 0.5 });
    }
}
