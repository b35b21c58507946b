//! The ray caster that a rig requests, and its description for reports.

#[cfg(feature = "gpu")]
mod speed;

use std::sync::Arc;

use super::{SetupError, default_workers};
use crate::config::rig::{CasterChoice, Rig, RoomParameters};
use crate::world::builtin;
use crate::world::raycast::embree::{self, EmbreeCaster, EmbreeSettings};
#[cfg(feature = "gpu")]
use crate::world::raycast::gpu::{self, ADAPTER_VARIABLE, GpuCaster, GpuError};
use crate::world::raycast::{BvhCaster, GpuFacts, RayCaster};
use crate::world::scene::Scene;

/// Reason why no GPU casts the rays.
#[derive(Debug, thiserror::Error)]
pub enum GpuProblem {
    /// The program has no code for GPUs.
    #[error(
        "this Menura was built without support for GPUs\nbuild it with `cargo build --release --features \
         gpu`, or install the Debian package (docs/GPU.md)"
    )]
    NotBuilt,
    /// No device file of a GPU exists.
    #[error("no device file of a GPU: /dev/dri/renderD*, /dev/nvidiactl or /dev/dxg")]
    NoDevice,
    /// The processor casts faster than the GPU.
    #[error(
        "{gpu} casts {:.2} million pulses per second in this scene, the processor {:.2}", gpu_hz / 1e6,
        processor_hz / 1e6
    )]
    Slower {
        /// Name and driver of the GPU.
        gpu: String,
        /// Pulses per second that the GPU casts; a pulse has nine rays.
        gpu_hz: f64,
        /// Pulses per second that the processor casts; a pulse has nine rays.
        processor_hz: f64,
    },
    /// No GPU can be opened, or the GPU is too small for the scene or computes hits that differ from the processor's.
    #[cfg(feature = "gpu")]
    #[error(transparent)]
    Refused(#[from] GpuError),
}

/// The ray caster of a scene.
pub struct Chosen {
    /// Ray caster for pulses.
    pub caster: Box<dyn RayCaster>,
    /// Size of the ray tracer's trees, bytes; with a GPU, those of the processor and of the GPU.
    pub tracer_bytes: usize,
    /// Name of the caster: the processor, the GPU with its driver, or the library with its version.
    pub identity: String,
}

/// Identity of the processor's ray caster.
const PROCESSOR: &str = "processor";

/// Builds the ray caster of a scene that `rig` requests. `bodies` are the shapes of moving objects; a GPU casts rays at
/// them, too.
///
/// # Errors
/// The scene has too many triangles, or the requested caster is not available.
pub fn choose(
    rig: &Rig,
    scene: &Arc<Scene>,
    bodies: &[Arc<BvhCaster>],
) -> Result<Chosen, SetupError> {
    let own = || BvhCaster::new(scene.clone()).map(Arc::new);
    Ok(match rig.engine.caster {
        CasterChoice::Menura => of_processor(own()?),
        CasterChoice::Gpu => of_gpu(own()?, bodies)?,
        CasterChoice::Auto => {
            let own = own()?;
            let opened = match casts_much(rig) {
                true => may_have_gpu().and_then(|()| of_faster_gpu(rig, own.clone(), bodies)),
                false => return Ok(of_processor(own)),
            };
            opened.unwrap_or_else(|problem| {
                note(&problem);
                let mut chosen = of_processor(own);
                if let GpuProblem::Slower { .. } = problem {
                    chosen.identity = format!("{PROCESSOR}; {problem}");
                }
                chosen
            })
        }
        CasterChoice::Embree => {
            let (version, path) = embree::find()?;
            let caster = EmbreeCaster::new(scene.clone(), EmbreeSettings::default())?;
            let tracer_bytes = caster.memory_bytes();
            let identity = format!("Embree {version} ({path})");
            Chosen { caster: Box::new(caster), tracer_bytes, identity }
        }
    })
}

/// Returns a copy of `rig` for casting a few rays: it never opens a GPU.
pub fn for_few_rays(rig: &Rig) -> Rig {
    let mut rig = rig.clone();
    if let CasterChoice::Auto | CasterChoice::Gpu = rig.engine.caster {
        rig.engine.caster = CasterChoice::Menura;
    }
    rig
}

/// Describes the ray casters of a distributed run. The other ranks cast for the lidars with `others`. Rank 0 casts for
/// the cameras with `own`, which is described only if the rig has cameras.
pub fn of_ranks(rig: &Rig, own: &str, others: &str) -> String {
    match has_cameras(rig) {
        true => format!("{others}; images, by rank 0: {own}"),
        false => others.to_owned(),
    }
}

/// Whether `rig` has cameras.
pub fn has_cameras(rig: &Rig) -> bool {
    rig.devices.iter().any(|device| device.profile.product.sees_colours)
}

/// Checks, before a scene is loaded, that this program can cast rays with `choice`.
///
/// # Errors
/// The library is not installed, or this program has no code for GPUs.
pub fn look_for(choice: CasterChoice) -> Result<(), SetupError> {
    match choice {
        CasterChoice::Embree => {
            let (version, path) = embree::find()?;
            tracing::info!("Embree {version}, {path}");
        }
        CasterChoice::Gpu if cfg!(not(feature = "gpu")) => return Err(GpuProblem::NotBuilt.into()),
        CasterChoice::Gpu | CasterChoice::Auto | CasterChoice::Menura => {}
    }
    Ok(())
}

/// Opens the GPU that a rig would use, and casts test rays through a room; returns the GPU's name.
///
/// # Errors
/// No GPU exists, or it is refused.
pub fn probe_gpu() -> Result<String, GpuProblem> {
    let room = builtin::room::build(&RoomParameters::default());
    let own = BvhCaster::new(Arc::new(room)).expect("a room is small");
    Ok(of_gpu(Arc::new(own), &[])?.identity)
}

/// A GPU that has passed the self-test, and its speed.
#[derive(Clone, Debug)]
pub struct Probed {
    /// Name and driver of the GPU.
    pub identity: String,
    /// Description of the scene in which the speeds were measured.
    pub scene: String,
    /// Pulses per second, with nine rays each: of the GPU, then of the processor.
    pub speeds_hz: [f64; 2],
}

/// Opens the GPU that a rig would use, and measures its speed in a small courtyard.
///
/// # Errors
/// No GPU exists, or it is refused.
#[cfg(feature = "gpu")]
pub fn measure_gpu() -> Result<Probed, GpuProblem> {
    speed::measure()
}

/// Opens the GPU that a rig would use, and measures its speed.
///
/// # Errors
/// Always fails: this program has no code for GPUs.
#[cfg(not(feature = "gpu"))]
pub fn measure_gpu() -> Result<Probed, GpuProblem> {
    Err(GpuProblem::NotBuilt)
}

/// The GPUs of this machine that Vulkan finds.
///
/// # Errors
/// No GPU exists.
#[cfg(feature = "gpu")]
pub fn gpus() -> Result<Vec<GpuFacts>, GpuProblem> {
    gpu::gpus().map_err(GpuProblem::from)
}

/// The GPUs of this machine.
///
/// # Errors
/// Always fails: this program has no code for GPUs.
#[cfg(not(feature = "gpu"))]
pub fn gpus() -> Result<Vec<GpuFacts>, GpuProblem> {
    Err(GpuProblem::NotBuilt)
}

/// Calls that wait for a GPU, for each processor. On an H100, the prototype took 0.33 ms for a batch and 19 ns more for
/// each pulse of nine rays. By computation, batches of 30,000 pulses let it cast 33 million pulses per second, an HDL-64E
/// S2 at 25 times real time. With 16 processors, half of the waiting calls have as many pulses.
const WAITING_PER_PROCESSOR: usize = 2;

/// Number of threads that cast the rays of `rig`: `engine.workers` if set. Otherwise one per processor except `reserved`
/// ones, and with a GPU those that wait for it while the others compute.
pub fn workers(rig: &Rig, caster: &dyn RayCaster, reserved: usize) -> usize {
    rig.engine.workers.unwrap_or_else(|| callers(caster.in_flight(), reserved))
}

/// Number of threads that keep the processors except `reserved` ones busy, and a caster that needs `in_flight`
/// simultaneous calls.
fn callers(in_flight: usize, reserved: usize) -> usize {
    let own = default_workers().saturating_sub(reserved).max(1);
    if in_flight > 1 { own + in_flight.max(WAITING_PER_PROCESSOR * own) } else { own }
}

fn of_processor(own: Arc<BvhCaster>) -> Chosen {
    let tracer_bytes = own.memory_bytes();
    Chosen { caster: Box::new(own), tracer_bytes, identity: PROCESSOR.to_owned() }
}

/// Whether `rig` has a lidar or a camera. Other devices cast too few rays for a GPU.
fn casts_much(rig: &Rig) -> bool {
    let mut products = rig.devices.iter().map(|device| &device.profile.product);
    has_cameras(rig) || products.any(|product| product.lidar.is_some())
}

/// Like [`of_gpu`], but only if the GPU is faster than the processor or the user has named it in `MENURA_GPU`.
#[cfg(feature = "gpu")]
fn of_faster_gpu(
    rig: &Rig,
    own: Arc<BvhCaster>,
    bodies: &[Arc<BvhCaster>],
) -> Result<Chosen, GpuProblem> {
    let gpu = open(own.clone(), bodies)?;
    if !is_named() {
        speed::admit(gpu.identity(), speed::speeds(&gpu, &own, rig.engine.workers))?;
    }
    Ok(chosen(&own, gpu))
}

/// Opens a GPU for the scene of `own`. A software GPU (a processor) is accepted only if the user has named it in
/// `MENURA_GPU`.
#[cfg(feature = "gpu")]
fn open(own: Arc<BvhCaster>, bodies: &[Arc<BvhCaster>]) -> Result<GpuCaster, GpuProblem> {
    Ok(GpuCaster::new(own, bodies, false)?)
}

#[cfg(feature = "gpu")]
fn of_gpu(own: Arc<BvhCaster>, bodies: &[Arc<BvhCaster>]) -> Result<Chosen, GpuProblem> {
    Ok(chosen(&own, open(own.clone(), bodies)?))
}

#[cfg(feature = "gpu")]
fn chosen(own: &BvhCaster, caster: GpuCaster) -> Chosen {
    let identity = format!("GPU {}", caster.identity());
    tracing::info!("{identity} casts the rays");
    let tracer_bytes = own.memory_bytes() + caster.memory_bytes();
    Chosen { caster: Box::new(caster), tracer_bytes, identity }
}

/// Whether the user has named a GPU in the environment variable `MENURA_GPU`.
#[cfg(feature = "gpu")]
fn is_named() -> bool {
    std::env::var_os(ADAPTER_VARIABLE).is_some_and(|name| !name.is_empty())
}

/// Checks that a device file of a GPU exists, or that the user has named a GPU. Otherwise Vulkan is not loaded, because
/// loading takes longer than casting small scenes.
#[cfg(feature = "gpu")]
fn may_have_gpu() -> Result<(), GpuProblem> {
    let has_render_node = || {
        let nodes = std::fs::read_dir("/dev/dri").into_iter().flatten().flatten();
        nodes.into_iter().any(|node| node.file_name().to_string_lossy().starts_with("renderD"))
    };
    let has_file = |path: &str| std::path::Path::new(path).exists();
    let found =
        is_named() || has_render_node() || has_file("/dev/nvidiactl") || has_file("/dev/dxg");
    if found { Ok(()) } else { Err(GpuProblem::NoDevice) }
}

#[cfg(not(feature = "gpu"))]
fn of_gpu(_own: Arc<BvhCaster>, _bodies: &[Arc<BvhCaster>]) -> Result<Chosen, GpuProblem> {
    Err(GpuProblem::NotBuilt)
}

#[cfg(not(feature = "gpu"))]
fn of_faster_gpu(
    _rig: &Rig,
    own: Arc<BvhCaster>,
    bodies: &[Arc<BvhCaster>],
) -> Result<Chosen, GpuProblem> {
    of_gpu(own, bodies)
}

#[cfg(not(feature = "gpu"))]
fn may_have_gpu() -> Result<(), GpuProblem> {
    Err(GpuProblem::NotBuilt)
}

/// Logs that the processor casts the rays, and why: as a warning if a GPU was found but fails, is too small or does not have
/// the name in `MENURA_GPU`; otherwise as information.
fn note(problem: &GpuProblem) {
    #[cfg(feature = "gpu")]
    if let GpuProblem::Refused(error) = problem
        && !error.is_absence()
    {
        tracing::warn!("the processor casts the rays, not the GPU: {error}");
        return;
    }
    tracing::info!("the processor casts the rays, not a GPU: {problem}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::toml::overrides::Override;
    use crate::devices::families::catalogue;
    use crate::world::raycast::{Hit, OpenSky, Pulse, Stencil};

    /// A caster with many calls in flight, like a GPU.
    struct Waited;

    impl RayCaster for Waited {
        fn cast(&self, _stencil: &Stencil, _pulses: &[Pulse], hits: &mut [Hit]) {
            hits.fill(Hit::MISS);
        }

        fn in_flight(&self) -> usize {
            10_000
        }
    }

    fn rig(sets: &[&str]) -> Rig {
        let sets: Vec<Override> = sets.iter().map(|set| set.parse().unwrap()).collect();
        Rig::default_rig(&sets, catalogue()).unwrap_or_else(|faults| panic!("{faults}"))
    }

    #[test]
    fn workers_keep_processors_or_a_gpu_busy_unless_the_rig_sets_them() {
        let cores = default_workers();
        assert_eq!(workers(&rig(&[]), &OpenSky, 0), cores);
        assert_eq!(workers(&rig(&[]), &OpenSky, 1), (cores - 1).max(1));
        assert_eq!(workers(&rig(&[]), &Waited, 1), (cores - 1).max(1) + 10_000);
        assert_eq!(workers(&rig(&["engine.workers=3"]), &Waited, 0), 3);
    }

    #[test]
    fn a_gpu_is_looked_for_by_rigs_with_lidars_or_cameras() {
        assert!(casts_much(&rig(&[])));
        let mut other = rig(&[]);
        other.devices.retain(|device| device.profile.product.lidar.is_none());
        assert!(!other.devices.is_empty() && !casts_much(&other));
    }
}
