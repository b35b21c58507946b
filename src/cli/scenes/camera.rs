//! Picture of a scene, as from a camera on a clear day.
//!
//! The lidars' ray caster casts the rays. Colours are chosen by the names of materials, because scenes have
//! reflectances at one wavelength only.

use std::sync::Arc;

use glam::{DVec2, DVec3};

use crate::engine::default_workers;
use crate::plot;
use crate::world::raycast::{BuildError, BvhCaster, Hit, Pulse, RayCaster, Stencil};
use crate::world::scene::{Finish, Scene};

/// Aspect ratio of a picture: width divided by height.
const SHAPE: f64 = 1.6;
/// Number of rays along each side of a pixel; a pixel has the square of this number.
const SAMPLES: u32 = 3;
/// Tangent of half of the horizontal field of view.
const HALF_WIDTH: f64 = 0.7;
/// Largest visible distance, metres.
const FARTHEST_M: f32 = 2000.0;
/// Direction to the sun in World.
const SUN: DVec3 = DVec3::new(-0.45, -0.25, 0.85);
/// Intensity of the lights: the sky, a light from behind the camera, the sun.
const LIGHTS: [f64; 3] = [0.35, 0.2, 0.55];
/// Distance between a surface and the start of a shadow ray, as a share of the viewing distance.
const SHADOW_GAP: f64 = 1e-4;
/// Colour of the sky at the horizon and overhead: red, green, blue, 0..=1.
const SKY: [DVec3; 2] = [DVec3::new(0.88, 0.92, 0.96), DVec3::new(0.55, 0.72, 0.92)];
/// Colours of materials: the first entry whose text is part of the material's name.
const COLOURS: [(&str, [u8; 3]); 15] = [
    ("grass", [112, 146, 62]),
    ("leaf", [74, 122, 52]),
    ("stem", [136, 158, 72]),
    ("bark", [104, 80, 58]),
    ("wood", [168, 130, 86]),
    ("soil", [150, 122, 92]),
    ("hay", [214, 184, 96]),
    ("rock", [132, 130, 128]),
    ("asphalt", [84, 86, 92]),
    ("concrete", [184, 182, 174]),
    ("steel", [120, 132, 146]),
    ("water", [62, 110, 150]),
    ("puddle", [62, 110, 150]),
    ("glass", [150, 190, 205]),
    ("rod", [196, 84, 60]),
];
/// Greys of materials that are not in [`COLOURS`], from dark to light, 0..=1.
const GREYS: [f64; 2] = [0.35, 0.85];

/// A camera: position in World (metres), and unit vectors forward, right and up.
#[derive(Clone, Copy, Debug)]
pub struct Camera {
    from_m: DVec3,
    ahead: DVec3,
    right: DVec3,
    up: DVec3,
    /// Width and height, pixels.
    size: [u32; 2],
}

impl Camera {
    /// An upright camera at `from_m` with `to_m` in the middle of the picture; `width` is in pixels. `None` if both
    /// positions are equal or not finite.
    pub fn new(from_m: DVec3, to_m: DVec3, width: u32) -> Option<Self> {
        let ahead = (to_m - from_m).try_normalize()?;
        // If the camera looks straight down, north is up.
        let right = ahead.cross(DVec3::Z).try_normalize().unwrap_or(DVec3::X);
        let size = [width, (f64::from(width) / SHAPE) as u32];
        Some(Self { from_m, ahead, right, up: right.cross(ahead), size })
    }

    /// Direction, in World, of the ray through a position in the picture; `place` is in pixels from the top left.
    fn direction(&self, place: DVec2) -> DVec3 {
        let [width, height] = self.size.map(f64::from);
        let middle = DVec2::new(width, height) / 2.0;
        let off = (place - middle) * (HALF_WIDTH / middle.x);
        (self.ahead + self.right * off.x - self.up * off.y).normalize()
    }
}

/// A position from which the whole scene is visible, and the centre of the scene, in World, metres.
pub fn view_of(scene: &Scene) -> [DVec3; 2] {
    let [low, high] = scene.extents();
    let (middle, size) = ((low + high) / 2.0, (high - low).length());
    [middle + DVec3::new(-0.6, -0.5, 0.4) * size.max(1.0), middle]
}

/// Draws the picture; returns the bytes of a PNG file.
///
/// # Errors
/// The scene is too large for the ray caster.
pub fn picture(scene: Scene, camera: &Camera) -> Result<Vec<u8>, BuildError> {
    let scene = Arc::new(scene);
    let caster = BvhCaster::new(scene.clone())?;
    let painter = Painter { scene: &scene, caster: &caster, camera, colours: colours(&scene) };
    let rows: Vec<u32> = (0..camera.size[1]).collect();
    let share = rows.len().div_ceil(default_workers());
    let mut pixels: Vec<[u8; 3]> = Vec::new();
    std::thread::scope(|scope| {
        let paint =
            |rows: &[u32]| rows.iter().flat_map(|row| painter.row(*row)).collect::<Vec<_>>();
        let workers: Vec<_> =
            rows.chunks(share).map(|rows| scope.spawn(move || paint(rows))).collect();
        for worker in workers {
            pixels.extend(worker.join().expect("painting does not panic"));
        }
    });
    Ok(plot::picture(camera.size, &pixels))
}

/// Colour of each material: red, green, blue, 0..=1.
fn colours(scene: &Scene) -> Vec<DVec3> {
    let of = |material: &crate::world::scene::Material| {
        let name = material.name.to_ascii_lowercase();
        let known = COLOURS.iter().find(|(part, _)| name.contains(part));
        match (known, material.finish) {
            (Some((_, colour)), _) => DVec3::from(colour.map(|part| f64::from(part) / 255.0)),
            (None, Finish::Water { .. }) => DVec3::new(0.25, 0.45, 0.6),
            _ => {
                let [dark, white] = GREYS;
                DVec3::splat(dark + (white - dark) * f64::from(material.reflectance))
            }
        }
    };
    scene.materials.iter().map(of).collect()
}

/// Computes colours along rays.
struct Painter<'a> {
    scene: &'a Scene,
    caster: &'a BvhCaster,
    camera: &'a Camera,
    colours: Vec<DVec3>,
}

impl Painter<'_> {
    fn row(&self, row: u32) -> Vec<[u8; 3]> {
        let fine =
            |coarse: u32, n: u32| f64::from(coarse) + (f64::from(n) + 0.5) / f64::from(SAMPLES);
        let columns = (0..self.camera.size[0]).flat_map(|column| {
            (0..SAMPLES * SAMPLES)
                .map(move |n| DVec2::new(fine(column, n % SAMPLES), fine(row, n / SAMPLES)))
        });
        let directions: Vec<DVec3> = columns.map(|place| self.camera.direction(place)).collect();
        let seen = self.cast(directions.iter().map(|direction| (self.camera.from_m, *direction)));
        let sun = SUN.normalize();
        // Points from which the sun may be visible, offset from the surface towards the camera.
        let surfaces: Vec<Option<(DVec3, DVec3)>> = seen
            .iter()
            .zip(&directions)
            .map(|(hit, direction)| {
                let range_m = f64::from(hit.range_m);
                range_m.is_finite().then(|| {
                    let normal = self.normal(hit);
                    let normal = if normal.dot(*direction) > 0.0 { -normal } else { normal };
                    let place = self.camera.from_m + *direction * range_m;
                    (place + normal * (1e-4 + range_m * SHADOW_GAP), normal)
                })
            })
            .collect();
        let lit = self.cast(surfaces.iter().map(|s| (s.map_or(DVec3::Z * 1e6, |s| s.0), sun)));
        let light = seen.iter().zip(&directions).zip(surfaces.iter().zip(&lit)).map(
            |((hit, direction), (surface, shadow))| match surface {
                None => SKY[0].lerp(SKY[1], direction.z.clamp(0.0, 0.5) * 2.0),
                Some((_, normal)) => {
                    let sun = match shadow.range_m.is_finite() {
                        true => 0.0,
                        false => normal.dot(sun).max(0.0),
                    };
                    let facing = f64::from(hit.cos_incidence);
                    let [sky, lamp, day] = LIGHTS;
                    let light = sky * (0.7 + 0.3 * normal.z) + lamp * facing + day * sun;
                    let far = (f64::from(hit.range_m) / 400.0).min(0.5);
                    (self.colours[hit.material as usize] * light * 1.25).lerp(SKY[0], far)
                }
            },
        );
        let samples: Vec<DVec3> = light.collect();
        let a_pixel = (SAMPLES * SAMPLES) as usize;
        let means =
            samples.chunks_exact(a_pixel).map(|all| all.iter().sum::<DVec3>() / a_pixel as f64);
        means
            .map(|colour| colour.to_array().map(|part| (part.clamp(0.0, 1.0) * 255.0) as u8))
            .collect()
    }

    fn cast(&self, rays: impl Iterator<Item = (DVec3, DVec3)>) -> Vec<Hit> {
        let pulse = |(origin, direction)| Pulse {
            origin,
            start_m: 0.0,
            direction,
            half_axis_u: DVec3::ZERO,
            half_axis_v: DVec3::ZERO,
            max_range_m: FARTHEST_M,
        };
        let pulses: Vec<Pulse> = rays.map(pulse).collect();
        let mut hits = vec![Hit::MISS; pulses.len()];
        self.caster.cast(&Stencil::single(), &pulses, &mut hits);
        hits
    }

    /// Unit normal of the hit triangle in World. It points to the side from which the corners run counter-clockwise, so
    /// it may point away from the camera.
    fn normal(&self, hit: &Hit) -> DVec3 {
        let instance = &self.scene.instances[hit.instance as usize];
        let mesh = &self.scene.meshes[instance.mesh as usize];
        let corners = mesh.triangles[hit.triangle as usize].map(|corner| {
            let place = mesh.positions[corner as usize].map(f64::from);
            instance.world_from_mesh.transform_point3(DVec3::from(place))
        });
        let [a, b, c] = corners;
        (b - a).cross(c - a).normalize_or(DVec3::Z)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::rig::RoomParameters;
    use crate::world::builtin::room;

    #[test]
    fn what_is_to_the_left_is_left_in_the_picture_and_the_middle_is_ahead() {
        let camera = Camera::new(DVec3::Z, DVec3::new(10.0, 0.0, 1.0), 640).unwrap();
        let [width, height] = [640.0, 400.0];
        let ahead = camera.direction(DVec2::new(width, height) / 2.0);
        assert!((ahead - DVec3::X).length() < 1e-12);
        // North is to the left of east, and rows count downwards.
        assert!(camera.direction(DVec2::new(0.0, 0.0)).y > 0.5);
        assert!(camera.direction(DVec2::new(0.0, 0.0)).z > 0.1);
        assert!(Camera::new(DVec3::Z, DVec3::Z, 640).is_none());
        assert!(Camera::new(DVec3::splat(f64::NAN), DVec3::Z, 640).is_none());
        let down = Camera::new(DVec3::Z, DVec3::ZERO, 640).unwrap();
        assert!(down.direction(DVec2::new(width / 2.0, 0.0)).y > 0.1);
    }

    /// From inside a closed room no sky is visible; from above, only roof and sky are.
    #[test]
    fn a_room_fills_the_picture_from_inside_and_not_from_outside() {
        let sky = |from_m: DVec3, to_m: DVec3| {
            let scene = Arc::new(room::build(&RoomParameters::default()));
            let caster = BvhCaster::new(scene.clone()).unwrap();
            let camera = Camera::new(from_m, to_m, 64).unwrap();
            let painter = Painter {
                scene: &scene,
                caster: &caster,
                camera: &camera,
                colours: colours(&scene),
            };
            let row = painter.row(20);
            assert_eq!(row.len(), 64);
            row.iter().filter(|[red, _, blue]| *blue > red.saturating_add(15)).count()
        };
        assert_eq!(sky(DVec3::Z * 5.0, DVec3::new(10.0, 0.0, 4.0)), 0);
        let outside = sky(DVec3::new(-200.0, 0.0, 5.0), DVec3::new(0.0, 0.0, 5.0));
        assert!((20..60).contains(&outside), "{outside}");
    }
}
