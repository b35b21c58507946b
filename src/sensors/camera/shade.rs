//! Light along rays: from the sky, and from surfaces that sun and sky illuminate.

use fearless_simd::{Level, dispatch};
use glam::DVec3;

use super::aim::Rays;
use super::air::PictureAir;
use super::lanes::{LANES, Lanes, Lanes3, ZEROS, set, vector};
use super::ray;
use super::sky::{Colour, Daylight};
use super::surface::{Look, Looks, brick};
use crate::sensors::surfaces::wet_reflectance;
use crate::time::SimTime;
use crate::world::raycast::{Beams, Hit, Pulse, RayCaster, Stencil};
use crate::world::scene::{Finish, Material};

/// Largest distance of an object that casts a shadow, metres.
const SHADOW_REACH_M: f32 = 300.0;
/// Largest number of mirrors and panes along a path of light.
const MOST_BOUNCES: usize = 3;
/// Number of cached triangles, a power of two. Neighbouring rays often hit the same triangle.
const FACETS: usize = 128;

/// Follows the rays of a tile.
pub(super) struct Shader<'a> {
    caster: &'a dyn RayCaster,
    day: &'a Daylight,
    air: PictureAir<'a>,
    /// Angle that a pixel covers, radians.
    pixel_rad: f64,
    level: Level,
    single: Stencil,
    /// Cached looks of surfaces, by scene and material.
    looks: Vec<((u32, u32), Look)>,
    /// Cache of [`FACETS`] triangles; the last element is for a triangle that must not be cached.
    facets: Vec<Option<Facet<'a>>>,
    skies: Box<Skies>,
    met: Box<Met<'a>>,
    hits: Vec<Hit>,
    onward: Rays,
    lit: Lit,
}

/// One side of a triangle, with the values shared by all of its points.
#[derive(Clone, Copy)]
struct Facet<'a> {
    instance: u32,
    triangle: u32,
    normal: DVec3,
    ambient_lx: Colour,
    /// Cosine of the angle to the sun; negative on the side away from the sun.
    toward_sun: f64,
    material: &'a Material,
    look: Look,
    /// Share of the depth of the surface's texture that is filled with water, 0 to 1.
    film: f32,
    /// Whether the surface reflects or transmits light without scattering.
    goes_on: bool,
}

/// Rays that hit no surface.
struct Skies {
    len: usize,
    direction: Lanes3,
    pixel: Lanes<u32>,
    share: Lanes,
}

/// Rays that hit a surface.
struct Met<'a> {
    len: usize,
    /// Index of the ray in `Rays::pulses`.
    ray: Lanes<u32>,
    pixel: Lanes<u32>,
    /// Share of the surface's scattered light that reaches the pixel.
    share: Lanes,
    place: Lanes3,
    range_m: Lanes,
    normal: Lanes3,
    ambient_lx: Lanes3,
    toward_sun: Lanes,
    looks: Looks,
    /// Laser reflectance at the point; `own_reflectance` is that of the material.
    reflectance: Lanes,
    own_reflectance: Lanes,
    /// [`Facet::special`] of the surfaces.
    special: Lanes<Option<(&'a Material, f32, bool)>>,
}

/// Surface points that face the sun, as lists with one entry per point.
#[derive(Default)]
struct Lit {
    from: Vec<DVec3>,
    fired: Vec<SimTime>,
    pixel: Vec<u32>,
    sun: Vec<Colour>,
    blocked: Vec<bool>,
}

impl<'a> Shader<'a> {
    pub(super) fn new(
        caster: &'a dyn RayCaster,
        day: &'a Daylight,
        air: PictureAir<'a>,
        pixel_rad: f64,
        level: Level,
    ) -> Self {
        let skies = Skies { len: 0, direction: [ZEROS; 3], pixel: [0; LANES], share: ZEROS };
        let looks = Looks { albedo: [ZEROS; 3], mottle: ZEROS, patch_m: [1.0; LANES] };
        let met = Met {
            len: 0,
            ray: [0; LANES],
            pixel: [0; LANES],
            share: ZEROS,
            place: [ZEROS; 3],
            range_m: ZEROS,
            normal: [ZEROS; 3],
            ambient_lx: [ZEROS; 3],
            toward_sun: ZEROS,
            looks,
            reflectance: ZEROS,
            own_reflectance: ZEROS,
            special: [None; LANES],
        };
        Self {
            caster,
            day,
            air,
            pixel_rad,
            level,
            single: Stencil::single(),
            looks: Vec::new(),
            facets: vec![None; FACETS + 1],
            skies: Box::new(skies),
            met: Box::new(met),
            hits: Vec::new(),
            onward: Rays::default(),
            lit: Lit::default(),
        }
    }

    /// Adds to `light` the light along each of `rays`, and empties `rays`.
    pub(super) fn follow(&mut self, rays: &mut Rays, light: &mut [Colour]) {
        for bounce in 0..=MOST_BOUNCES {
            if rays.pulses.is_empty() {
                break;
            }
            self.hits.clear();
            self.hits.resize(rays.pulses.len(), Hit::MISS);
            self.caster.cast_at(&self.single, &rays.pulses, &rays.fired, &mut self.hits);
            let may_go_on = bounce < MOST_BOUNCES;
            dispatch!(self.level, _simd => self.gather(rays, may_go_on, light));
            self.shine(light);
            std::mem::swap(rays, &mut self.onward);
            self.onward.clear();
        }
        rays.clear();
    }

    /// Adds the light of the air, of the sky, and of surfaces under the sky. Collects the points that the sun may
    /// light, and, if `may_go_on`, the rays that continue from mirrors and panes.
    #[inline(always)]
    fn gather(&mut self, rays: &Rays, may_go_on: bool, light: &mut [Colour]) {
        for k in 0..rays.pulses.len() {
            let (pulse, hit) = (&rays.pulses[k], self.hits[k]);
            let (pixel, mut share) = (rays.pixels[k], rays.shares[k]);
            if !self.air.is_clear() {
                let Pulse { origin, direction, .. } = *pulse;
                let (passes, added) =
                    self.air.between(origin, direction, rays.fired[k], hit.range_m);
                gain(&mut light[pixel as usize], added, share);
                share *= passes;
            }
            let is_hit = hit.range_m.is_finite();
            let slot = if is_hit { self.meet(pulse, &hit, rays.fired[k]) } else { None };
            let Some(facet) = slot.and_then(|slot| self.facets[slot].as_ref()) else {
                self.skies.push(pulse.direction, pixel, share);
                if self.skies.len == LANES {
                    self.skies.shine(self.day, light);
                }
                continue;
            };
            let place = pulse.exit() + pulse.direction * f64::from(hit.range_m);
            let mut matt = share;
            if may_go_on
                && facet.goes_on
                && let Some((through, onward)) =
                    facet.onward(pulse, place, share, self.day, &mut light[pixel as usize])
            {
                matt *= 1.0 - onward;
                self.onward.push(pixel, through, rays.fired[k], share * onward);
            }
            self.met.push(k as u32, pixel, matt, place, &hit, facet);
            if self.met.len == LANES {
                self.scatter(rays, light);
            }
        }
        self.skies.shine(self.day, light);
        self.scatter(rays, light);
    }

    /// Index in `facets` of the triangle that a ray hit; `None` if its material or normal is unknown. Returns an index
    /// and not a copy: reading a facet back right after it was written would stall.
    #[inline(always)]
    fn meet(&mut self, pulse: &Pulse, hit: &Hit, fired: SimTime) -> Option<usize> {
        let slot = (hit.triangle ^ hit.instance.wrapping_mul(0x9e37_79b9)) as usize % FACETS;
        match &mut self.facets[slot] {
            Some(kept) if (kept.instance, kept.triangle) == (hit.instance, hit.triangle) => {
                if kept.normal.dot(pulse.direction) > 0.0 {
                    kept.normal = -kept.normal;
                    kept.ambient_lx = self.day.ambient(kept.normal);
                    kept.toward_sun = kept.normal.dot(self.day.sun);
                }
                Some(slot)
            }
            _ => self.meet_other(pulse, hit, fired, slot),
        }
    }

    #[inline(never)]
    fn meet_other(
        &mut self,
        pulse: &Pulse,
        hit: &Hit,
        fired: SimTime,
        slot: usize,
    ) -> Option<usize> {
        let shading = self.caster.shading()?;
        let material = shading.surface(hit)?;
        let normal = shading.normal(pulse, hit, fired)?;
        let scene_of = shading.scene_of(hit);
        let key = (scene_of, hit.material);
        let look = match self.looks.iter().find(|(known, _)| *known == key) {
            Some((_, look)) => *look,
            None => {
                let look = Look::of(material);
                self.looks.push((key, look));
                look
            }
        };
        let film = match material.finish {
            Finish::Wet { film } => self.air.film().max(film),
            Finish::Matt => self.air.film(),
            _ => 0.0,
        };
        let goes_on = match material.finish {
            Finish::Mirror { .. } | Finish::Water { .. } | Finish::Glass { .. } => true,
            Finish::Wet { .. } | Finish::Matt => film > 0.0,
            Finish::Glossy { exponent, .. } => exponent >= LACQUER_FROM,
            Finish::Retro { .. } => false,
        };
        // Facets of moving objects are not cached, because their normals change from ray to ray.
        let slot = if scene_of == 0 { slot } else { FACETS };
        self.facets[slot] = Some(Facet {
            instance: hit.instance,
            triangle: hit.triangle,
            normal,
            ambient_lx: self.day.ambient(normal),
            toward_sun: normal.dot(self.day.sun),
            material,
            look,
            film,
            goes_on,
        });
        Some(slot)
    }

    /// Adds the sky's light that surfaces scatter, and collects the points that the sun may light.
    #[inline(always)]
    fn scatter(&mut self, rays: &Rays, light: &mut [Colour]) {
        let met = &mut *self.met;
        let len = std::mem::take(&mut met.len);
        if len == 0 {
            return;
        }
        let mut pixel_m = ZEROS;
        for k in 0..LANES {
            pixel_m[k] = self.pixel_rad * met.range_m[k];
        }
        let mut albedo = [ZEROS; 3];
        met.looks.albedos(&met.place, &pixel_m, len, &mut albedo);
        // Without a colour image, the reflectance map modulates the colour.
        let mut part = ZEROS;
        for k in 0..LANES {
            let own = met.own_reflectance[k];
            part[k] = if own > 0.0 { (met.reflectance[k] / own).min(2.0) } else { 1.0 };
        }
        for c in 0..3 {
            for k in 0..LANES {
                albedo[c][k] = (part[k] * albedo[c][k]).min(1.0);
            }
        }
        for k in 0..len {
            let Some((material, film, is_brick)) = met.special[k] else { continue };
            let ray = met.ray[k] as usize;
            let mut own = vector(&albedo, k).to_array();
            if is_brick
                && let Some(mortar) =
                    brick(vector(&met.place, k), vector(&met.normal, k), pixel_m[k])
            {
                own = mortar.map(|mortar| (part[k] * mortar).min(1.0));
            }
            let textured = textured(
                material,
                self.caster,
                &rays.pulses[ray],
                &self.hits[ray],
                rays.fired[ray],
                pixel_m[k],
            );
            own = textured.unwrap_or(own);
            if film > 0.0 {
                let cos = self.hits[ray].cos_incidence;
                own = own.map(|part| f64::from(wet_reflectance(part as f32, cos, film)));
            }
            set(&mut albedo, k, own.into());
        }
        let mut scale = ZEROS;
        for k in 0..LANES {
            scale[k] = met.share[k] / std::f64::consts::PI;
        }
        let (mut ambient, mut sun, mut from) = ([ZEROS; 3], [ZEROS; 3], [ZEROS; 3]);
        let sun_lx = self.day.sun_lx;
        for c in 0..3 {
            for k in 0..LANES {
                ambient[c][k] = albedo[c][k] * met.ambient_lx[c][k] * scale[k];
                sun[c][k] = albedo[c][k] * sun_lx[c] * met.toward_sun[k] * scale[k];
                let above_m = 1e-3 + 4e-6 * met.range_m[k];
                from[c][k] = met.place[c][k] + met.normal[c][k] * above_m;
            }
        }
        for k in 0..len {
            let pixel = met.pixel[k];
            gain(&mut light[pixel as usize], vector(&ambient, k).to_array(), 1.0);
            if met.toward_sun[k] > 0.0 && sun_lx[1] > 0.0 {
                let fired = rays.fired[met.ray[k] as usize];
                self.lit.push(vector(&from, k), fired, pixel, vector(&sun, k).to_array());
            }
        }
    }

    /// Adds the light of the sun at points that are not in shadow.
    fn shine(&mut self, light: &mut [Colour]) {
        let beams = Beams { toward: self.day.sun, reach_m: SHADOW_REACH_M };
        let lit = &mut self.lit;
        lit.blocked.clear();
        lit.blocked.resize(lit.from.len(), false);
        self.caster.blocked_at(&beams, &lit.from, &lit.fired, &mut lit.blocked);
        for ((pixel, sun), blocked) in lit.pixel.iter().zip(&lit.sun).zip(&lit.blocked) {
            if !blocked {
                gain(&mut light[*pixel as usize], *sun, 1.0);
            }
        }
        lit.from.clear();
        lit.fired.clear();
        lit.pixel.clear();
        lit.sun.clear();
    }
}

impl Skies {
    #[inline(always)]
    fn push(&mut self, direction: DVec3, pixel: u32, share: f64) {
        let k = self.len % LANES;
        set(&mut self.direction, k, direction);
        self.pixel[k] = pixel;
        self.share[k] = share;
        self.len = k + 1;
    }

    /// Adds the light of the collected rays, and empties the collection.
    #[inline(always)]
    fn shine(&mut self, day: &Daylight, light: &mut [Colour]) {
        let len = std::mem::take(&mut self.len);
        let mut seen = [[0.0; 3]; LANES];
        day.seen_by(&self.direction, len, &mut seen);
        for k in 0..len {
            gain(&mut light[self.pixel[k] as usize], seen[k], self.share[k]);
        }
    }
}

impl<'a> Met<'a> {
    #[inline(always)]
    fn push(
        &mut self,
        ray: u32,
        pixel: u32,
        share: f64,
        place: DVec3,
        hit: &Hit,
        facet: &Facet<'a>,
    ) {
        let k = self.len % LANES;
        self.len = k + 1;
        self.ray[k] = ray;
        self.pixel[k] = pixel;
        self.share[k] = share;
        set(&mut self.place, k, place);
        self.range_m[k] = f64::from(hit.range_m);
        set(&mut self.normal, k, facet.normal);
        set(&mut self.ambient_lx, k, facet.ambient_lx.into());
        self.toward_sun[k] = facet.toward_sun;
        self.looks.set(k, &facet.look);
        self.reflectance[k] = f64::from(hit.reflectance);
        self.own_reflectance[k] = f64::from(facet.material.reflectance);
        self.special[k] = facet.special();
    }
}

impl Lit {
    #[inline(always)]
    fn push(&mut self, from: DVec3, fired: SimTime, pixel: u32, sun: Colour) {
        self.from.push(from);
        self.fired.push(fired);
        self.pixel.push(pixel);
        self.sun.push(sun);
    }
}

#[inline(always)]
fn gain(light: &mut Colour, more: Colour, share: f64) {
    for (light, more) in light.iter_mut().zip(more) {
        *light += more * share;
    }
}

/// Albedo from the material's colour image; `None` without one. `pixel_m` is the width of a pixel at the surface,
/// metres.
fn textured(
    material: &Material,
    caster: &dyn RayCaster,
    pulse: &Pulse,
    hit: &Hit,
    fired: SimTime,
    pixel_m: f64,
) -> Option<Colour> {
    let map = material.colour_map.as_ref()?;
    let spot = caster.shading()?.texture_spot(pulse, hit, fired)?;
    let texel = map.sample(spot.uv, spot.per_m * pixel_m as f32);
    let colour = material.colour.unwrap_or([1.0; 3]);
    Some(std::array::from_fn(|c| f64::from(texel[c] * colour[c])))
}

impl<'a> Facet<'a> {
    /// Material, water film (0 to 1), and whether the surface is of bricks. `None` for a surface that has only a
    /// mottled colour: no bricks, no film and no colour image.
    #[inline(always)]
    fn special(&self) -> Option<(&'a Material, f32, bool)> {
        let is_special =
            self.look.is_brick || self.film > 0.0 || self.material.colour_map.is_some();
        is_special.then_some((self.material, self.film, self.look.is_brick))
    }

    /// The ray that continues from a mirror, water, lacquer, a wet surface or a pane, and the share of the light that
    /// comes along this ray. `None` if no ray continues. A pane reflects only the sky: the reflected light, scaled by
    /// `share`, is added to `light`.
    fn onward(
        &self,
        pulse: &Pulse,
        place: DVec3,
        share: f64,
        day: &Daylight,
        light: &mut Colour,
    ) -> Option<(Pulse, f64)> {
        let direction = pulse.direction;
        let cos = -direction.dot(self.normal);
        let mirrored = direction + 2.0 * cos * self.normal;
        let aside = 1e-3 * self.normal;
        match self.material.finish {
            Finish::Mirror { share } => Some((ray(place + aside, mirrored), f64::from(share))),
            Finish::Water { .. } => Some((ray(place + aside, mirrored), schlick(1.33, cos))),
            Finish::Wet { .. } | Finish::Matt => {
                // Texture breaks the water film, so that only a part of the film is level.
                let share = f64::from(self.film) * LEVEL_FILM * schlick(1.33, cos);
                (self.film > 0.0).then(|| (ray(place + aside, mirrored), share))
            }
            Finish::Glossy { exponent, .. } if exponent >= LACQUER_FROM => {
                Some((ray(place + aside, mirrored), schlick(1.5, cos)))
            }
            Finish::Glass { index, clear, .. } => {
                let face = schlick(f64::from(index), cos);
                let both = 2.0 * face / (1.0 + face);
                gain(light, day.seen(mirrored), share * both);
                Some((ray(place - aside, direction), (1.0 - both) * f64::from(clear)))
            }
            Finish::Retro { .. } | Finish::Glossy { .. } => None,
        }
    }
}

/// Share of a wet surface whose film is level and reflects specularly; an assumption.
const LEVEL_FILM: f64 = 0.3;
/// A glossy surface whose highlight has at least this exponent has a clear coat, which reflects specularly.
const LACQUER_FROM: f32 = 20.0;

/// Share of unpolarised light that is reflected (Fresnel), by Schlick's approximation.
fn schlick(index: f64, cos: f64) -> f64 {
    let straight = ((index - 1.0) / (index + 1.0)).powi(2);
    straight + (1.0 - straight) * (1.0 - cos.clamp(0.0, 1.0)).powi(5)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use glam::DAffine3;

    use super::*;
    use crate::sensors::camera::sky::Daylight;
    use crate::world::materials;
    use crate::world::raycast::BvhCaster;
    use crate::world::scene::{Instance, Mesh, Scene};

    const FLOOR: [f32; 3] = [0.2, 0.4, 0.1];
    const BRIGHT: [f32; 3] = [0.5, 0.5, 0.6];
    const MIRRORED: f32 = 0.75;
    const CLEAR: f32 = 0.9;

    /// A floor, a mirror on the ground to the north of it, a roof 4 m above the ground in the west, and a pane 6 m
    /// above the ground in the north-east.
    fn scene() -> Scene {
        let coloured = |name: &str, colour, finish| Material {
            colour: Some(colour),
            finish,
            ..materials::plain(name, 0.5)
        };
        let pane = Finish::Glass { index: 1.5, clear: CLEAR, faces: 2 };
        let materials = vec![
            coloured("floor", FLOOR, Finish::Matt),
            coloured("mirror", BRIGHT, Finish::Mirror { share: MIRRORED }),
            coloured("roof", BRIGHT, Finish::Matt),
            coloured("pane", BRIGHT, pane),
        ];
        let mut mesh = Mesh { name: "room".into(), ..Mesh::default() };
        // Material, west and east end, south and north end, height, metres.
        for (material, [west, east], [south, north], height) in [
            (0, [-40.0, 40.0], [-40.0, 0.0], 0.0),
            (1, [-40.0, 40.0], [0.0, 20.0], 0.0),
            (2, [-40.0, 0.0], [-40.0, 40.0], 4.0),
            (3, [10.0, 40.0], [20.0, 40.0], 6.0),
        ] {
            let first = mesh.positions.len() as u32;
            mesh.positions.extend([
                [west, south, height],
                [east, south, height],
                [east, north, height],
                [west, north, height],
            ]);
            for corners in [[0, 1, 2], [0, 2, 3]] {
                mesh.triangles.push(corners.map(|corner| first + corner));
                mesh.triangle_materials.push(material);
            }
        }
        let instances = vec![Instance { mesh: 0, world_from_mesh: DAffine3::IDENTITY }];
        Scene { materials, instances, meshes: vec![mesh], ground: vec![] }
    }

    /// Luminance of a diffuse surface of this colour, in the sun or in the shade.
    fn matt(colour: [f32; 3], day: &Daylight, normal: DVec3, is_lit: bool) -> Colour {
        let sun = if is_lit { normal.dot(day.sun).max(0.0) } else { 0.0 };
        let ambient_lx = day.ambient(normal);
        std::array::from_fn(|c| {
            let lx = ambient_lx[c] + day.sun_lx[c] * sun;
            f64::from(colour[c]) * lx / std::f64::consts::PI
        })
    }

    fn mixed(share: f64, one: Colour, other: Colour) -> Colour {
        std::array::from_fn(|c| share * one[c] + (1.0 - share) * other[c])
    }

    #[test]
    fn surfaces_show_the_light_that_falls_on_them() {
        let caster = BvhCaster::new(Arc::new(scene())).expect("a small scene");
        // The sun is in the south, so that shadows fall to the north.
        let day = Daylight::new([1.1, std::f64::consts::PI], 3.0, [0.15, 0.15, 0.12]);
        assert!(day.sun.y < -0.4 && day.sun.z > 0.8, "{}", day.sun);
        let from = DVec3::new(5.0, -10.0, 2.0);
        let toward = |place: DVec3| (place - from).normalize();
        let lit = matt(FLOOR, &day, DVec3::Z, true);
        let at_mirror = toward(DVec3::new(20.0, 10.0, 0.0));
        let at_pane = toward(DVec3::new(20.0, 30.0, 6.0));
        let cos = at_pane.z;
        let face = {
            let straight = 0.04;
            straight + (1.0 - straight) * (1.0 - cos).powi(5)
        };
        let both = 2.0 * face / (1.0 + face);
        let through = (1.0 - both) * f64::from(CLEAR);
        let (sky, below) = (day.seen(at_pane), day.seen(at_pane * DVec3::new(1.0, 1.0, -1.0)));
        // Seen from below, the dirt on the pane faces away from the sun.
        let dirt = matt(BRIGHT, &day, -DVec3::Z, false);
        let pane =
            std::array::from_fn(|c| both * below[c] + through * sky[c] + (1.0 - through) * dirt[c]);
        let mirrored = day.seen(at_mirror * DVec3::new(1.0, 1.0, -1.0));
        let cases = [
            (
                "the sky",
                DVec3::new(0.6, -0.3, 0.5).normalize(),
                day.seen(DVec3::new(0.6, -0.3, 0.5).normalize()),
            ),
            ("the floor in the sun", toward(DVec3::new(20.0, -10.0, 0.0)), lit),
            (
                "the floor under the roof",
                toward(DVec3::new(-20.0, -12.0, 0.0)),
                matt(FLOOR, &day, DVec3::Z, false),
            ),
            (
                "the roof from below",
                toward(DVec3::new(-20.0, -12.0, 4.0)),
                matt(BRIGHT, &day, -DVec3::Z, false),
            ),
            (
                "the mirror",
                at_mirror,
                mixed(f64::from(MIRRORED), mirrored, matt(BRIGHT, &day, DVec3::Z, true)),
            ),
            ("the pane", at_pane, pane),
        ];
        let seen = |directions: &[DVec3]| {
            let air = PictureAir::new(None, &day, SimTime::ZERO, SimTime::ZERO);
            let mut shader = Shader::new(&caster, &day, air, 1e-3, Level::new());
            let (mut rays, mut light) = (Rays::default(), vec![[0.0; 3]; directions.len()]);
            for (pixel, direction) in (0..).zip(directions) {
                rays.push(pixel, ray(from, *direction), SimTime::ZERO, 1.0);
            }
            shader.follow(&mut rays, &mut light);
            light
        };
        for (what, direction, wanted) in cases {
            let found = seen(&[direction])[0];
            for c in 0..3 {
                assert!((found[c] / wanted[c] - 1.0).abs() < 1e-6, "{what}: {found:?} {wanted:?}");
            }
        }
        // Pixels computed together have the same values as pixels computed alone.
        let many: Vec<DVec3> =
            cases.iter().map(|(_, direction, _)| *direction).cycle().take(200).collect();
        let alone: Vec<Colour> = many.iter().map(|direction| seen(&[*direction])[0]).collect();
        assert_eq!(seen(&many), alone);
    }
}
