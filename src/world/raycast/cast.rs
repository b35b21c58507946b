//! Menura's ray caster: neighbouring pulses traverse an eight-wide two-level tree together.
//!
//! The rays of a pulse share an origin and lie within milliradians of each other, and so do the next pulses of the
//! same laser. They visit almost the same nodes. [`super::bundle`] groups such rays, [`super::walk`] traverses the
//! trees with them, [`super::slab`] and [`super::shadow`] compute which boxes they hit, [`super::leaf`] tests them
//! against triangles, and [`super::surface`] computes their hits.
//!
//! The vectors of `fearless_simd` are AVX2, SSE or NEON, selected at run time. No build contracts multiplications and
//! additions, so all give the same bits. [`super::hit`] decides where rounding could make a difference. A pulse
//! therefore gets the same hits whatever other pulses are cast with it.

use fearless_simd::{Simd, dispatch};
use glam::DVec3;

use super::bundle::{Room, Spot};
use super::bvh::BvhCaster;
use super::fired::Fired;
use super::walk::{WALKERS, Walker, may_meet};
use super::{Beams, Finishes, Hit, Pulse, RayCaster, Stencil, fastest, finishes, shade, surface};
use crate::time::SimTime;

impl RayCaster for BvhCaster {
    fn cast(&self, stencil: &Stencil, pulses: &[Pulse], hits: &mut [Hit]) {
        assert_eq!(hits.len(), pulses.len() * stencil.len(), "one hit for every ray");
        dispatch!(fastest(), simd => cast(simd, self, stencil, pulses, hits));
    }

    fn blocked_at(&self, beams: &Beams, from: &[DVec3], _fired: &[SimTime], blocked: &mut [bool]) {
        shade::blocked(self, beams, from, blocked);
    }

    fn finishes(&self) -> Option<&dyn Finishes> {
        finishes::of(&self.scene)
    }

    fn shading(&self) -> Option<&dyn Finishes> {
        Some(self.scene.as_ref())
    }
}

/// Pulses that would form a bundle of at most this number are first tested against the scene's largest boxes. If they
/// hit none, no bundle is formed.
const FEW_PULSES: usize = 3;

/// Groups `pulses` into bundles, casts the bundles, and writes `hits`.
#[inline(always)]
fn cast<S: Simd>(
    simd: S,
    caster: &BvhCaster,
    stencil: &Stencil,
    pulses: &[Pulse],
    hits: &mut [Hit],
) {
    let spot = Spot::new(stencil);
    let rays = stencil.len();
    let mut next = 0;
    let mut room = Room::new();
    let mut walkers: [Walker; WALKERS] = std::array::from_fn(|_| Walker::new());
    let walkers = &mut walkers[..if caster.is_small { 1 } else { WALKERS }];
    let fired = Fired::Pulses(pulses, stencil);
    let mut is_busy = true;
    while is_busy {
        is_busy = false;
        for walker in &mut *walkers {
            if walker.step(simd, caster, &fired) {
                is_busy = true;
                continue;
            }
            let pulses_done = walker.pulses.clone();
            if pulses_done.start < pulses_done.end {
                let found = &mut hits[pulses_done.start * rays..pulses_done.end * rays];
                let done = &pulses[pulses_done];
                surface::report(simd, caster, stencil, done, &walker.bundle, found);
            }
            walker.pulses = next..next;
            while next < pulses.len() {
                let first = next;
                next += spot.bundle_len(&pulses[first..]);
                let bundled = &pulses[first..next];
                if bundled.len() <= FEW_PULSES && !may_meet(simd, caster, spot.bounds(bundled)) {
                    hits[first * rays..next * rays].fill(Hit::MISS);
                    continue;
                }
                walker.bundle.aim(&spot, bundled, &mut room);
                walker.bundle.first = first;
                walker.start(simd, caster);
                walker.pulses = first..next;
                is_busy = true;
                break;
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::Arc;

    use fearless_simd::Level;
    use glam::{DAffine3, DQuat};

    use super::super::bundle::Bundle;
    use super::super::draws::Draws;
    use super::super::hit::reference;
    use super::*;
    use crate::world::materials;
    use crate::world::scene::{Instance, Material, Mesh, Scene, Texture};

    /// Blades and sheets in three tilted instances, and a fan of pulses.
    pub fn fixture() -> (BvhCaster, Vec<Pulse>, Stencil) {
        let mut draws = Draws(1);
        let mut draw = |low: f64, high: f64| draws.between(low, high);
        let mut mesh = Mesh { name: "blades".into(), ..Mesh::default() };
        for index in 0..3000u32 {
            let foot = DVec3::new(draw(-4.0, 4.0), draw(-4.0, 4.0), draw(-1.0, 1.0));
            let width = if index % 10 == 0 { 0.5 } else { 0.01 };
            let side = DVec3::new(draw(-width, width), draw(-width, width), 0.0);
            let tip = DVec3::new(draw(-0.3, 0.3), draw(-0.3, 0.3), draw(0.1, 0.6));
            let corners = [foot - side, foot + side, foot + tip];
            mesh.positions.extend(corners.map(|p| p.as_vec3().to_array()));
            mesh.triangles.push([3 * index, 3 * index + 1, 3 * index + 2]);
            mesh.triangle_materials.push(0);
        }
        let instances = (0..3).map(|k| Instance {
            mesh: 0,
            world_from_mesh: DAffine3::from_scale_rotation_translation(
                DVec3::new(1.0, 1.1, 0.9),
                DQuat::from_xyzw(0.1, 0.2 * f64::from(k), 0.3, 0.9).normalize(),
                DVec3::new(12.0, 5.0 * f64::from(k) - 5.0, 0.3),
            ),
        });
        let scene = Scene {
            materials: vec![materials::plain("plain", 0.5)],
            instances: instances.collect(),
            meshes: vec![mesh],
            ground: vec![],
        };
        let pulses = (0..4000).map(|k| {
            let (row, column) = (k / 200, k % 200);
            let across = 0.006 * f64::from(column) - 0.6;
            let along = DVec3::new(1.0, across, 0.02 * f64::from(row) - 0.2).normalize();
            let half_axis_u = along.cross(DVec3::Z).normalize() * 1e-3;
            Pulse {
                origin: DVec3::new(0.0, 1e-3 * f64::from(column), 0.0),
                direction: along,
                half_axis_u,
                half_axis_v: along.cross(half_axis_u),
                start_m: 0.0,
                max_range_m: 60.0,
            }
        });
        let mut offsets = vec![[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]];
        offsets.extend([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]]);
        let caster = BvhCaster::new(Arc::new(scene)).expect("a small scene");
        (caster, pulses.collect(), Stencil::new(offsets).expect("nine rays"))
    }

    /// Like [`fixture`], but a third of the triangles have holes and another third have a reflectance map.
    pub fn textured_fixture() -> (BvhCaster, Vec<Pulse>, Stencil) {
        let (caster, pulses, stencil) = fixture();
        let mut scene = Scene::clone(caster.scene());
        let mesh = &mut scene.meshes[0];
        mesh.uvs = mesh.positions.iter().map(|&[x, y, z]| [3.7 * x, 5.1 * (y + z)]).collect();
        for (index, material) in (0..).zip(&mut mesh.triangle_materials) {
            *material = index % 3;
        }
        let texture = |texels: [u8; 4]| {
            Some(Texture { width: 2, height: 2, texels: Arc::from(texels.as_slice()) })
        };
        let plain = materials::plain("plain", 0.5);
        let holes = Material { opacity_mask: texture([255, 0, 0, 255]), ..plain.clone() };
        let mapped = Material { reflectance_map: texture([255, 51, 102, 204]), ..plain.clone() };
        scene.materials = vec![plain, holes, mapped];
        (BvhCaster::new(Arc::new(scene)).expect("a small scene"), pulses, stencil)
    }

    /// The vector levels of this machine: first the default one, then each supported x86-64 level, narrowest first.
    pub fn levels() -> Vec<Level> {
        let best = Level::new();
        let mut levels = vec![best];
        #[cfg(target_arch = "x86_64")]
        {
            levels.extend(best.as_sse4_2().map(Level::Sse4_2));
            levels.extend(best.as_avx2().map(Level::Avx2));
            levels.extend(best.as_avx512().map(Level::Avx512));
        }
        levels
    }

    #[test]
    fn every_build_of_the_tracer_gives_the_same_bits() {
        let (caster, pulses, stencil) = fixture();
        let cast_at = |level: Level| {
            let mut hits = vec![Hit::MISS; pulses.len() * stencil.len()];
            dispatch!(level, simd => cast(simd, &caster, &stencil, &pulses, &mut hits));
            hits
        };
        let portable = cast_at(Level::baseline());
        for level in levels() {
            assert_eq!(cast_at(level), portable, "{level:?}");
        }
        for (pulse, hits) in pulses.iter().zip(portable.chunks(stencil.len())).step_by(40) {
            assert_eq!(hits, reference::cast(caster.scene(), &stencil, pulse));
        }
        let hit = portable.iter().filter(|hit| hit.range_m.is_finite()).count();
        assert!(hit > portable.len() / 10 && hit < portable.len(), "{hit} of {}", portable.len());
    }

    #[test]
    fn holes_and_reflectance_maps_are_those_of_the_definition() {
        let (caster, pulses, stencil) = textured_fixture();
        let (without_holes, ..) = fixture();
        let rays = stencil.len();
        let [hits, solid] = [&caster, &without_holes].map(|caster| {
            let mut hits = vec![Hit::MISS; pulses.len() * rays];
            caster.cast(&stencil, &pulses, &mut hits);
            hits
        });
        let (mut passed, mut mapped) = (0, 0);
        let pairs = hits.chunks(rays).zip(solid.chunks(rays));
        for (pulse, (hits, solid)) in pulses.iter().zip(pairs).step_by(40) {
            assert_eq!(hits, reference::cast(caster.scene(), &stencil, pulse));
            passed += hits.iter().zip(solid).filter(|(a, b)| a.triangle != b.triangle).count();
            mapped += hits.iter().filter(|hit| hit.material == 2 && hit.reflectance < 0.5).count();
        }
        assert!(passed > 0 && mapped > 0, "{passed} rays passed holes, {mapped} hit textures");
    }

    #[test]
    fn pulses_apart_are_not_bundled_and_neighbours_are() {
        let (_, pulses, stencil) = fixture();
        let spot = Spot::new(&stencil);
        assert_eq!(spot.bundle_len(&pulses[..7]), 7);
        // The first pulse is the end of a row; the pulses after it are in the next row, so it is not bundled with them.
        assert_eq!(spot.bundle_len(&pulses[199..]), 1);
        // Runs slightly longer than a bundle are split evenly.
        assert_eq!(spot.bundle_len(&pulses[191..]), 5);
        let moved = Pulse { origin: DVec3::Y, ..pulses[1] };
        assert_eq!(spot.bundle_len(&[pulses[0], moved]), 1);
        assert_eq!(Spot::new(&Stencil::single()).bundle_len(&pulses[..4]), 4);
    }

    #[test]
    fn beams_that_leave_wide_are_bundled_where_they_leave() {
        let (_, pulses, stencil) = fixture();
        // The exit beam of an Ouster OS2 is 22 mm wide.
        let wide = |pulse: &Pulse| Pulse {
            origin: pulse.origin - pulse.direction * 14.0,
            start_m: 14.0,
            ..*pulse
        };
        let wide: Vec<Pulse> = pulses[..7].iter().map(wide).collect();
        let spot = Spot::new(&stencil);
        assert_eq!(spot.bundle_len(&wide), 7);
        let mut bundle = Bundle::new();
        bundle.aim(&spot, &wide, &mut Room::new());
        // The bound is half of the beam's width plus the distance of the origins. The points where rays meet are 0.5
        // m apart.
        assert!(bundle.shift.into_iter().all(|shift_m| shift_m < 0.014 + 0.007));
        assert!(bundle.start.iter().take(bundle.lanes).all(|start_m| start_m.abs() < 0.01));
    }
}
