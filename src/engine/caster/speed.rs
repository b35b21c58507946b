//! Measures whether the GPU or the processor casts faster.
//!
//! The choice between them does not change a measurement, because both return the same hits.

use std::slice::Chunks;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::Builder;
use std::time::Duration;

use super::{GpuProblem, Probed, callers, open};
use crate::config::rig::CourtyardParameters;
use crate::timing::clock::Stopwatch;
use crate::world::builtin::courtyard;
use crate::world::raycast::gpu::GpuCaster;
use crate::world::raycast::{BvhCaster, Hit, Pulse, RayCaster};

/// Pulses per call of the processor's caster, as many as a lidar's packet has.
const PULSES_PER_PACKET: usize = 384;
/// Number of rounds in which each caster casts all pulses; the fastest round counts. The first round also fills caches.
const ROUNDS: usize = 2;

/// Refuses the GPU called `gpu` if it is slower than the processor; `[gpu_hz, processor_hz]` are pulses per second.
pub fn admit(gpu: String, [gpu_hz, processor_hz]: [f64; 2]) -> Result<(), GpuProblem> {
    if gpu_hz < processor_hz {
        return Err(GpuProblem::Slower { gpu, gpu_hz, processor_hz });
    }
    let million = |hz: f64| hz / 1e6;
    tracing::info!(
        "million pulses per second in this scene: {:.2} by the GPU, {:.2} by the processor",
        million(gpu_hz),
        million(processor_hz)
    );
    Ok(())
}

/// Measures how many pulses per second the GPU and `own`, the processor's caster, cast in their scene. `workers` is the
/// number of calling threads (default: as many as a rig would use).
pub fn speeds(gpu: &GpuCaster, own: &BvhCaster, workers: Option<usize>) -> [f64; 2] {
    let (stencil, pulses) = gpu.sample();
    let by_gpu = |pulses: &[Pulse], hits: &mut [Hit]| {
        if !gpu.cast_by_gpu(&stencil, pulses, hits) {
            own.cast(&stencil, pulses, hits);
        }
    };
    let by_processor = |pulses: &[Pulse], hits: &mut [Hit]| own.cast(&stencil, pulses, hits);
    let casts: [(&Cast<'_>, usize, usize); 2] =
        [(&by_gpu, gpu.in_flight(), gpu.pulses_per_call()), (&by_processor, 1, PULSES_PER_PACKET)];
    let mut best = [0.0_f64; 2];
    for _ in 0..ROUNDS {
        for ((cast, in_flight, per_call), best) in casts.into_iter().zip(&mut best) {
            let callers = workers.unwrap_or_else(|| callers(in_flight, 0));
            // Every caller gets a call, even if a GPU's calls may be larger.
            let share = pulses.len().div_ceil(callers);
            let calls = pulses.chunks(per_call.min(share).max(PULSES_PER_PACKET));
            let took = time_of(cast, callers, calls, stencil.len());
            *best = best.max(pulses.len() as f64 / took.as_secs_f64().max(1e-9));
        }
    }
    best
}

/// Function that casts pulses and writes their hits.
type Cast<'a> = dyn Fn(&[Pulse], &mut [Hit]) + Sync + 'a;

/// Time that `callers` threads, including this one, need for all calls; each pulse has `rays` rays.
fn time_of(cast: &Cast<'_>, callers: usize, calls: Chunks<'_, Pulse>, rays: usize) -> Duration {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut hits = Vec::new();
        let call = || calls.clone().nth(next.fetch_add(1, Ordering::Relaxed));
        while let Some(pulses) = call() {
            hits.resize(pulses.len() * rays, Hit::MISS);
            cast(pulses, &mut hits);
        }
    };
    let watch = Stopwatch::start();
    std::thread::scope(|scope| {
        // If the system refuses a thread, the existing threads cast all pulses.
        let _ = (1..callers).try_for_each(|_| Builder::new().spawn_scoped(scope, work).map(drop));
        work();
    });
    watch.elapsed()
}

/// Measures the GPU and the processor in a courtyard scene; see [`super::measure_gpu`].
pub fn measure() -> Result<Probed, GpuProblem> {
    let parameters = CourtyardParameters {
        seed: 7,
        grass_blades: 20_000,
        trees: 10,
        tree_triangles: 20_000,
        ground_relief_m: 1.5,
    };
    let scene = courtyard::build(&parameters);
    let millions = scene.instanced_triangles() as f64 / 1e6;
    let own = Arc::new(BvhCaster::new(Arc::new(scene)).expect("a small scene"));
    let gpu = open(own.clone(), &[])?;
    Ok(Probed {
        identity: format!("GPU {}", gpu.identity()),
        scene: format!("a courtyard of {millions:.1} million triangles"),
        speeds_hz: speeds(&gpu, &own, None),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Mutex;

    use glam::DVec3;

    use super::*;

    #[test]
    fn a_gpu_is_taken_unless_the_processor_is_faster() {
        assert!(admit("card".into(), [2e6, 1e6]).is_ok());
        // A scene without triangles has no pulses.
        assert!(admit("card".into(), [0.0, 0.0]).is_ok());
        let refused = admit("card".into(), [1_234_000.0, 20e6]).unwrap_err();
        let wanted = "card casts 1.23 million pulses per second in this scene, the processor 20.00";
        assert_eq!(refused.to_string(), wanted);
    }

    #[test]
    fn the_callers_cast_each_pulse_once() {
        let pulse = |k: u32| Pulse {
            origin: DVec3::X * f64::from(k),
            direction: DVec3::X,
            half_axis_u: DVec3::ZERO,
            half_axis_v: DVec3::ZERO,
            start_m: 0.0,
            max_range_m: 1.0,
        };
        let pulses: Vec<Pulse> = (0..3000).map(pulse).collect();
        let noted = Mutex::new(BTreeSet::new());
        let cast = |pulses: &[Pulse], hits: &mut [Hit]| {
            assert_eq!(hits.len(), 9 * pulses.len());
            let mut noted = noted.lock().unwrap();
            assert!(pulses.iter().all(|pulse| noted.insert(pulse.origin.x.to_bits())));
        };
        assert!(time_of(&cast, 7, pulses.chunks(384), 9) > Duration::ZERO);
        assert_eq!(noted.lock().unwrap().len(), 3000);
    }
}
