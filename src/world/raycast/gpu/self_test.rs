//! Self-test at the start of a run: hits of the GPU must equal those of the processor, bit by bit.

use glam::DVec3;
use rand_xoshiro::SplitMix64;

use super::{GpuCaster, GpuError, Part};
use crate::time::SimTime;
use crate::world::random::{stream, uniform};
use crate::world::raycast::{Beams, Hit, Pulse, RayCaster, Stencil};
use crate::world::scene::Scene;

/// Number of test pulses into the static scene.
const PULSES: usize = 400;
/// Number of test pulses into each moving body.
const PULSES_PER_BODY: usize = 40;
/// Number of positions that are tested for shadow.
const PLACES: usize = 400;
/// Number of groups of pulses that [`sample`] makes.
const GROUPS: usize = 64;
/// Number of pulses in a group of [`sample`].
const PER_GROUP: u32 = 384;

/// Compares hits and shadows of the GPU with those of the processor, at corners, on edges and inside of the scene's
/// triangles, where rounding decides. The error describes the first difference.
pub fn run(caster: &GpuCaster) -> Result<(), GpuError> {
    let mut rng = stream(40, 0, 0);
    for (index, own) in caster.scenes.iter().enumerate() {
        if !is_without_triangles(&own.scene) {
            let count = if index == 0 { PULSES } else { PULSES_PER_BODY };
            let pulses = (0..count).map(|index| pulse(&own.scene, &mut rng, index));
            compare_hits(caster, index, &pulses.collect::<Vec<_>>())?;
        }
    }
    if is_without_triangles(&caster.cpu.scene) { Ok(()) } else { compare_shadows(caster, &mut rng) }
}

fn compare_hits(caster: &GpuCaster, scene: usize, pulses: &[Pulse]) -> Result<(), GpuError> {
    for stencil in [&nine(), &Stencil::single()] {
        let mut expected = vec![Hit::MISS; pulses.len() * stencil.len()];
        let mut found = expected.clone();
        caster.scenes[scene].cast(stencil, pulses, &mut expected);
        if !caster.cast_parts(stencil, &mut [Part { scene, pulses, hits: &mut found }]) {
            return Err(unanswered(caster));
        }
        for (ray, (found, expected)) in found.iter().zip(&expected).enumerate() {
            if bits(found) != bits(expected) {
                let offset = stencil.offsets()[ray % stencil.len()];
                let ray = format!("the ray at {offset:?} of {:?}", pulses[ray / stencil.len()]);
                return Err(differs(caster, ray, format!("{found:?}"), format!("{expected:?}")));
            }
        }
    }
    Ok(())
}

fn compare_shadows(caster: &GpuCaster, rng: &mut SplitMix64) -> Result<(), GpuError> {
    let beams = Beams { toward: DVec3::new(0.48, 0.36, 0.8), reach_m: 1e4 };
    let from: Vec<DVec3> = (0..PLACES).map(|_| target(&caster.cpu.scene, rng, 3)).collect();
    let fired = vec![SimTime::ZERO; from.len()];
    let mut expected = vec![false; from.len()];
    let mut found = expected.clone();
    caster.cpu.blocked_at(&beams, &from, &fired, &mut expected);
    if !caster.blocked_by_gpu(&beams, &from, &fired, &mut found) {
        return Err(unanswered(caster));
    }
    match (0..from.len()).find(|&index| found[index] != expected[index]) {
        None => Ok(()),
        Some(index) => {
            let ray = format!("the light at {}", from[index]);
            let said = |blocked: bool| if blocked { "shadow" } else { "light" }.to_owned();
            Err(differs(caster, ray, said(found[index]), said(expected[index])))
        }
    }
}

/// A stencil of nine rays, and pulses like those of a lidar, in groups around random rays to the scene's triangles; no
/// pulses if the scene is empty.
pub fn sample(caster: &GpuCaster) -> (Stencil, Vec<Pulse>) {
    let scene = &caster.cpu.scene;
    if is_without_triangles(scene) {
        return (nine(), Vec::new());
    }
    let mut rng = stream(41, 0, 0);
    let group = |index| {
        let middle = Pulse { max_range_m: 120.0, start_m: 0.0, ..pulse(scene, &mut rng, index) };
        let (left, up) = (middle.half_axis_u.normalize(), middle.half_axis_v.normalize());
        // Eight lasers, a degree apart, in 48 directions. Their beams widen by 3 mrad.
        let (half_axis_u, half_axis_v) = (left * 1.5e-3, up * 1.5e-3);
        (0..PER_GROUP).map(move |k| {
            let (laser, column) = (f64::from(k / 48) - 3.5, f64::from(k % 48) - 23.5);
            let aside = left * (column * 3e-3) + up * (laser * 0.0175);
            let direction = (middle.direction + aside).normalize();
            Pulse { direction, half_axis_u, half_axis_v, ..middle }
        })
    };
    (nine(), (0..GROUPS).flat_map(group).collect())
}

/// Stencil of nine rays: three by three, evenly spaced.
pub fn nine() -> Stencil {
    let across = [-1.0, 0.0, 1.0];
    Stencil::new(across.iter().flat_map(|&a| across.map(|b| [a, b])).collect()).expect("nine rays")
}

fn is_without_triangles(scene: &Scene) -> bool {
    scene.instances.iter().all(|instance| is_empty(scene, instance.mesh))
}

fn is_empty(scene: &Scene, mesh: u32) -> bool {
    scene.meshes[mesh as usize].triangles.is_empty()
}

/// All fields of a hit, with numbers as bits.
pub fn bits(hit: &Hit) -> [u32; 6] {
    let Hit { range_m, cos_incidence, reflectance, instance, triangle, material } = *hit;
    let [range, cosine, reflectance] = [range_m, cos_incidence, reflectance].map(f32::to_bits);
    [range, cosine, reflectance, instance, triangle, material]
}

fn unanswered(caster: &GpuCaster) -> GpuError {
    let reason = caster.lost().unwrap_or_else(|| "the scene's numbers are too large".into());
    GpuError::Failed { gpu: caster.identity(), reason }
}

fn differs(caster: &GpuCaster, ray: String, gpu_hit: String, cpu_hit: String) -> GpuError {
    GpuError::Differs { gpu: caster.identity(), ray, gpu_hit, cpu_hit }
}

/// A point at a random triangle, in World. `kind` selects the point: 0 inside the triangle, 1 a corner, 2 on an edge, 3 from
/// 0.1 m below the triangle to 2 m above it.
fn target(scene: &Scene, rng: &mut SplitMix64, kind: usize) -> DVec3 {
    let mut draw = |count: usize| ((uniform(rng, 0.0, 1.0) * count as f64) as usize).min(count - 1);
    let instance = loop {
        let instance = &scene.instances[draw(scene.instances.len())];
        if !is_empty(scene, instance.mesh) {
            break instance;
        }
    };
    let mesh = &scene.meshes[instance.mesh as usize];
    let [a, b, c] = mesh.corners(draw(mesh.triangles.len()) as u32);
    let share = uniform(rng, 0.0, 1.0);
    let point = match kind {
        1 => a,
        2 => a.lerp(b, share),
        _ => a.lerp(b, share).lerp(c, uniform(rng, 0.0, 1.0)),
    };
    let point = instance.world_from_mesh.transform_point3(point);
    if kind == 3 { point + DVec3::Z * uniform(rng, -0.1, 2.0) } else { point }
}

/// A pulse towards a random triangle, from a random direction and distance.
fn pulse(scene: &Scene, rng: &mut SplitMix64, index: usize) -> Pulse {
    let aim = target(scene, rng, index % 4);
    let mut draw = || uniform(rng, -1.0, 1.0);
    let from = DVec3::new(draw(), draw(), draw()).normalize_or(DVec3::Z);
    let distance_m = libm::pow(10.0, 0.75 + 1.25 * draw());
    let half_m = libm::pow(10.0, -3.0 + 1.5 * draw());
    let direction = -from;
    let aside = direction.any_orthonormal_vector();
    let start_m = if index.is_multiple_of(5) { 3.0 } else { 0.0 };
    let max_range_m = if index.is_multiple_of(7) { distance_m } else { 1e3 };
    Pulse {
        origin: aim + from * (distance_m + start_m),
        start_m: start_m as f32,
        direction,
        half_axis_u: aside * half_m,
        half_axis_v: direction.cross(aside) * half_m,
        max_range_m: max_range_m as f32,
    }
}
