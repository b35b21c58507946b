//! Ray casting on a GPU by Vulkan. Hits equal those of the processor bit by bit.
//!
//! The kernel (`cast.wgsl`) searches the trees of a [`BvhCaster`] in single precision, rounded to the safe side. It
//! then decides about the triangles that it finds as [`super::hit`] defines, in double precision and without
//! contraction ([`spirv`]). Triangle, range and cosine are therefore those of the processor, bit by bit. The kernel
//! leaves some rays undecided: those that may hit a triangle with an opacity mask, those with numbers so small or large
//! that GPUs may differ, and those that fill the kernel's stack. The processor casts these rays. The kernel also finds
//! the material of a hit and its reflectance; the processor computes the reflectance where a map changes it.
//!
//! The tables also contain the bodies of moving objects, as separate scenes. Each pulse names its scene, so that a
//! batch may contain pulses into several scenes.
//!
//! Each call waits for its hits, and a few threads combine waiting calls into batches ([`server`]). The processor casts
//! calls with few rays. If the GPU is lost, the processor casts the pulses that wait and all later ones.

mod device;
mod layout;
mod self_test;
mod server;
mod spirv;
#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
#[cfg(test)]
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;

use glam::DVec3;

use self::device::{Fault, Gpu, Kind, PackedPulse, UNDECIDED, most_pulses, scene_word};
use self::layout::{Layout, Sizes, UNKNOWN};
use self::server::{Answer, Request, Requests};
use super::surface::texture_coordinates;
use super::{Beams, BodyCast, BvhCaster, Finishes, GpuFacts, Hit, Pulse, RayCaster, Stencil, hit};
use crate::time::SimTime;
use crate::world::scene::{Material, Scene};

/// Environment variable with part of an adapter's name. It selects the GPU if there are several.
pub const ADAPTER_VARIABLE: &str = "MENURA_GPU";

/// The processor casts calls with fewer rays than this.
///
/// With the prototype on an H100, a batch took about 65 us of processor time, and each pulse of nine rays 0.12 us.
/// The processor alone took 1.33 us per pulse in a scene of 191 million triangles, and 0.46 us in one of 0.36
/// million. With one call per batch, both therefore took equally long for 54 pulses in the large scene and for 190 in
/// the small one. With four calls per batch, this number was 48 in the small scene. 600 rays are 67 such pulses.
const FEW_RAYS: usize = 600;
/// Number of simultaneous calls that keeps a GPU busy beside two processors: 32,768 pulses with [`PULSES_PER_CALL`].
const IN_FLIGHT: usize = 16;
/// See [`RayCaster::pulses_per_call`]. A worker waits and wakes once per call. With twice as many pulses, the workers'
/// memory no longer fits into the caches of the machine on which this was measured.
const PULSES_PER_CALL: usize = 2048;
/// Largest number of numbers in the memory that a thread keeps from call to call: 4096 pulses of nine rays.
const MOST_SPARE: usize = 16 * 4096;
/// Largest coordinate of a pulse that the kernel casts, metres.
const FARTHEST_M: f64 = 1e12;

/// Reason why no GPU casts rays.
#[derive(Clone, Debug, thiserror::Error)]
pub enum GpuError {
    /// There is no Vulkan, no driver, or no GPU.
    #[error(
        "no GPU was found; a GPU needs the Vulkan library (Debian: libvulkan1) and its maker's \
         driver (Debian: mesa-vulkan-drivers, nvidia-driver)"
    )]
    NoAdapter,
    /// No GPU has the requested name.
    #[error("no GPU has {name:?} ({ADAPTER_VARIABLE}) in its name; there are: {}", listed(found))]
    NotNamed {
        /// Name from [`ADAPTER_VARIABLE`].
        name: String,
        /// Names of the GPUs that exist.
        found: Vec<String>,
    },
    /// Vulkan finds only processors that act as a GPU.
    #[error(
        "no GPU was found, only a software GPU on the processor: {}; set {ADAPTER_VARIABLE} to \
         part of its name to use it",
        found.join(", ")
    )]
    Software {
        /// Names of the processors that act as a GPU.
        found: Vec<String>,
    },
    /// The GPU lacks a feature that the kernel needs.
    #[error("{gpu} has no {what}, which exact hits need")]
    Lacks {
        /// Name and driver of the GPU.
        gpu: String,
        /// Name of the missing feature.
        what: &'static str,
    },
    /// A part of the scene is larger than a GPU can address at a time.
    #[error("the scene's {what} take {} MB on the GPU; {gpu} can address {} MB", mb(*bytes), mb(*most))]
    TooLarge {
        /// Name and driver of the GPU.
        gpu: String,
        /// Name of the part, such as `triangles`.
        what: &'static str,
        /// Size of the part, bytes.
        bytes: u64,
        /// Largest size that the GPU can address, bytes.
        most: u64,
    },
    /// More triangles or entrances than the kernel can address.
    #[error("the scene has {count} {what}; the GPU's trees hold {}", layout::MOST)]
    TooMany {
        /// `triangles` or `entrances`.
        what: &'static str,
        /// Number of triangles or entrances.
        count: usize,
    },
    /// The GPU's memory is too small, or other programs use it.
    #[error("the scene takes {} MB, and {gpu} does not have that much free memory", mb(*bytes))]
    NoMemory {
        /// Name and driver of the GPU.
        gpu: String,
        /// Size of the scene on the GPU, bytes.
        bytes: u64,
    },
    /// The driver reports an error.
    #[error("{gpu} failed: {reason}")]
    Failed {
        /// Name and driver of the GPU.
        gpu: String,
        /// Error of the driver.
        reason: String,
    },
    /// A hit differs from the processor's.
    #[error(
        "{gpu} computes other hits than the processor, so Menura does not use it: {ray} gave \
         {gpu_hit} instead of {cpu_hit}"
    )]
    Differs {
        /// Name and driver of the GPU.
        gpu: String,
        /// Description of the ray.
        ray: String,
        /// Hit of the GPU.
        gpu_hit: String,
        /// Hit of the processor.
        cpu_hit: String,
    },
}

/// The GPUs that Vulkan finds.
///
/// # Errors
/// There is no GPU, or no Vulkan.
pub fn gpus() -> Result<Vec<GpuFacts>, GpuError> {
    let all = device::facts();
    if all.is_empty() { Err(GpuError::NoAdapter) } else { Ok(all) }
}

impl GpuError {
    /// Whether no suitable GPU was found: none at all, only a software GPU, or one that lacks a feature. False for a
    /// GPU that fails, is too small, or has another name than the requested one.
    pub fn is_absence(&self) -> bool {
        matches!(self, Self::NoAdapter | Self::Software { .. } | Self::Lacks { .. })
    }
}

fn listed(found: &[String]) -> String {
    if found.is_empty() { "none".into() } else { found.join(", ") }
}

fn mb(bytes: u64) -> u64 {
    bytes.div_ceil(1_000_000)
}

/// Casts pulses through the scenes of [`BvhCaster`]s on a GPU, with the same bits as the processor.
pub struct GpuCaster {
    cpu: Arc<BvhCaster>,
    /// The caster of the static scene, followed by the casters of moving bodies.
    scenes: Vec<Arc<BvhCaster>>,
    identity: String,
    bytes: u64,
    requests: Arc<Requests>,
    /// Threads that process the requests until they are closed.
    threads: Vec<JoinHandle<()>>,
    fault: Fault,
    is_lost: AtomicBool,
    /// See [`RayCaster::pulses_by_gpu`].
    pulses: AtomicU64,
    /// Function for tests that destroys the device, so that the GPU is lost.
    #[cfg(test)]
    device: Mutex<Box<dyn Fn() + Send>>,
}

impl GpuCaster {
    /// Opens the GPU that [`ADAPTER_VARIABLE`] names, otherwise the first discrete one, otherwise any. Uploads the
    /// scene of `cpu` and those of `bodies`, and runs the self-test. Without a name, a processor that acts as a GPU is
    /// opened only if no GPU exists and `software` is true.
    ///
    /// # Errors
    /// No GPU can cast these scenes with the same bits as `cpu`.
    pub fn new(
        cpu: Arc<BvhCaster>,
        bodies: &[Arc<BvhCaster>],
        software: bool,
    ) -> Result<Self, GpuError> {
        let name = std::env::var(ADAPTER_VARIABLE).ok().filter(|name| !name.is_empty());
        let gpu = Gpu::find(name.as_deref(), software)?;
        let mut scenes = vec![cpu];
        for body in bodies {
            if !scenes.iter().any(|scene| Arc::ptr_eq(scene, body)) {
                scenes.push(body.clone());
            }
        }
        let sizes = Sizes::of(&scenes);
        for (what, count) in [("triangles", sizes.triangles), ("entrances", sizes.entrances)] {
            if count > layout::MOST {
                return Err(GpuError::TooMany { what, count });
            }
        }
        gpu.admit(&sizes)?;
        let layout = Layout::new(&scenes);
        Self::with(scenes, gpu, &layout)
    }

    /// Opens `gpu` with `layout`, the tables of `scenes` (at least one), and runs the self-test.
    fn with(scenes: Vec<Arc<BvhCaster>>, gpu: Gpu, layout: &Layout) -> Result<Self, GpuError> {
        let identity = gpu.identity.clone();
        // wgpu panics if the driver loses the device while the scene is uploaded.
        let opened = catch_unwind(AssertUnwindSafe(|| gpu.open(layout)));
        let (device, slots) = opened.unwrap_or_else(|_| {
            let reason = "the device was lost while the scene was uploaded".into();
            Err(GpuError::Failed { gpu: identity.clone(), reason })
        })?;
        let mut caster = Self {
            identity,
            bytes: Sizes::of(&scenes).bytes().iter().map(|(_, bytes)| bytes).sum(),
            cpu: scenes[0].clone(),
            scenes,
            requests: Arc::default(),
            threads: Vec::new(),
            fault: device.fault().clone(),
            is_lost: AtomicBool::new(false),
            pulses: AtomicU64::new(0),
            #[cfg(test)]
            device: Mutex::new(Box::new(device.lose())),
        };
        let device = Arc::new(device);
        for slot in slots {
            let (device, requests) = (device.clone(), caster.requests.clone());
            let thread = std::thread::Builder::new()
                .name("gpu".into())
                .spawn(move || server::serve(device, slot, &requests))
                .map_err(|error| GpuError::Failed {
                    gpu: caster.identity.clone(),
                    reason: error.to_string(),
                })?;
            caster.threads.push(thread);
        }
        self_test::run(&caster)?;
        Ok(caster)
    }

    /// The GPU's name, its driver and the driver's version.
    pub fn identity(&self) -> String {
        self.identity.clone()
    }

    /// Size of the scene on the GPU, bytes.
    pub fn memory_bytes(&self) -> usize {
        self.bytes as usize
    }

    /// Reason for which the GPU was lost; `None` if it was not lost. After the loss, the processor casts.
    pub fn lost(&self) -> Option<String> {
        self.is_lost
            .load(Ordering::Acquire)
            .then(|| self.fault.get().unwrap_or_else(|| "its thread ended".into()))
    }

    /// A stencil of nine rays, and pulses for a comparison of speeds, in groups of 384 like those of a lidar; no pulses
    /// if the scene is empty.
    pub fn sample(&self) -> (Stencil, Vec<Pulse>) {
        self_test::sample(self)
    }

    /// Records that the GPU is lost.
    fn lose(&self) {
        if !self.is_lost.swap(true, Ordering::AcqRel) {
            let reason = self.lost().unwrap_or_default();
            tracing::warn!("{} is lost: {reason}; the processor casts from now on", self.identity);
        }
    }

    /// Casts pulses with the kernel; each pulse has the index of its scene. With `any`, a ray ends at any surface, not
    /// at the nearest. `strides` are the possible values of [`Kind::stride`], the last one 16; the first one that the
    /// pulses allow is used. Returns `None` if the processor must cast: the GPU is lost, a number is too large for the
    /// kernel, or there are no pulses or more than [`most_pulses`]. [`give_back`] takes the answer when it has been read.
    fn ask(
        &self,
        stencil: &Stencil,
        any: bool,
        strides: &[usize],
        pulses: impl Iterator<Item = (usize, Pulse)> + Clone,
    ) -> Option<Answer> {
        if self.is_lost.load(Ordering::Acquire) {
            return None;
        }
        let extent = |scene: usize| self.scenes[scene].frame.extent;
        let packed = pulses.map(|(scene, pulse)| pack(&pulse, scene, extent(scene)));
        let first = packed.clone().next()??;
        let (kind, pulses) = strides.iter().find_map(|&stride| {
            let mut common = first;
            common[..stride].fill(0.0);
            let kind = Kind { stencil: stencil.clone(), any, stride, common };
            let pulses = own_numbers(&kind, packed.clone())?;
            Some((kind, pulses))
        })?;
        let (answer, found) = channel();
        self.requests.push(Request { kind, pulses, answer });
        // If the GPU is lost, the request is dropped.
        let found = found.recv().ok();
        if found.is_none() {
            self.lose();
        }
        found
    }

    /// Casts on the GPU without counting the pulses; the processor casts undecided rays. Returns false if the processor
    /// must cast all pulses: the GPU does not answer, or a number is too large for the kernel.
    pub fn cast_by_gpu(&self, stencil: &Stencil, pulses: &[Pulse], hits: &mut [Hit]) -> bool {
        let most = most_pulses(stencil);
        let mut calls = pulses.chunks(most).zip(hits.chunks_mut(most * stencil.len()));
        calls.all(|(pulses, hits)| self.cast_parts(stencil, &mut [Part { scene: 0, pulses, hits }]))
    }

    /// Like [`GpuCaster::cast_by_gpu`], for pulses into several scenes. Also returns false if there are no pulses, or more
    /// than [`most_pulses`] in all parts together.
    fn cast_parts(&self, stencil: &Stencil, parts: &mut [Part<'_>]) -> bool {
        let pulses = parts.iter().flat_map(|part| {
            let (scene, pulses) = (part.scene, part.pulses);
            pulses.iter().map(move |pulse| (scene, *pulse))
        });
        let rays = stencil.len();
        // Rays of a camera have their range and scene in common.
        let strides: &[usize] = if rays == 1 && parts.len() == 1 { &[6, 16] } else { &[16] };
        let Some(answer) = self.ask(stencil, false, strides, pulses) else { return false };
        let mut found = answer.hits().chunks_exact(rays);
        let mut undecided = Vec::new();
        for (place, Part { hits, .. }) in parts.iter_mut().enumerate() {
            for (index, (hits, found)) in hits.chunks_exact_mut(rays).zip(&mut found).enumerate() {
                hits.copy_from_slice(found);
                if hits.iter().any(|hit| hit.reflectance.to_bits() == UNKNOWN) {
                    undecided.push((place, index));
                }
            }
        }
        // The thread of the batch waits for this, so that maps are sampled afterwards.
        give_back(answer);
        undecided.retain(|&(place, index)| {
            let Part { scene, pulses, hits } = &mut parts[place];
            let hits = &mut hits[index * rays..][..rays];
            !self.complete(*scene, &pulses[index], stencil, hits)
        });
        for of_part in undecided.chunk_by(|one, other| one.0 == other.0) {
            let Part { scene, pulses, hits } = &mut parts[of_part[0].0];
            let again: Vec<Pulse> = of_part.iter().map(|&(_, index)| pulses[index]).collect();
            let mut found = vec![Hit::MISS; again.len() * rays];
            self.scenes[*scene].cast(stencil, &again, &mut found);
            for ((_, index), found) in of_part.iter().zip(found.chunks_exact(rays)) {
                hits[index * rays..][..rays].copy_from_slice(found);
            }
        }
        true
    }

    /// Finds the unknown reflectances of a pulse's hits in `scene`. Returns false if a ray is undecided.
    #[cold]
    fn complete(&self, scene: usize, pulse: &Pulse, stencil: &Stencil, hits: &mut [Hit]) -> bool {
        let scene = &*self.scenes[scene].scene;
        for (hit, &offset) in hits.iter_mut().zip(stencil.offsets()) {
            if hit.instance == UNDECIDED {
                return false;
            }
            if hit.reflectance.to_bits() == UNKNOWN {
                hit.reflectance = mapped(scene, pulse, offset, hit);
            }
        }
        true
    }

    /// Like [`RayCaster::blocked_at`], but on the GPU. Returns false as [`GpuCaster::cast_by_gpu`] does.
    fn blocked_by_gpu(
        &self,
        beams: &Beams,
        from: &[DVec3],
        fired: &[SimTime],
        blocked: &mut [bool],
    ) -> bool {
        let single = Stencil::single();
        let most = most_pulses(&single);
        let calls = from.chunks(most).zip(fired.chunks(most)).zip(blocked.chunks_mut(most));
        for ((from, fired), blocked) in calls {
            let rays = from.iter().map(|place| (0, beams.ray(*place)));
            let Some(answer) = self.ask(&single, true, &[3, 16], rays) else { return false };
            let mut undecided = Vec::new();
            let found = answer.instances().iter().zip(blocked.iter_mut());
            for (index, (instance, blocked)) in found.enumerate() {
                *blocked = *instance != Hit::MISS.instance;
                if *instance == UNDECIDED {
                    undecided.push(index);
                }
            }
            give_back(answer);
            if !undecided.is_empty() {
                let again: Vec<DVec3> = undecided.iter().map(|&index| from[index]).collect();
                let at: Vec<SimTime> = undecided.iter().map(|&index| fired[index]).collect();
                let mut found = vec![false; again.len()];
                self.cpu.blocked_at(beams, &again, &at, &mut found);
                for (index, found) in undecided.into_iter().zip(found) {
                    blocked[index] = found;
                }
            }
        }
        true
    }
}

thread_local! {
    /// Memory of the pulses of a thread's latest call, for the next one.
    static SPARE: Cell<Vec<f64>> = Cell::default();
}

/// Keeps the memory of an answer that has been read for the next call, unless the call was large.
fn give_back(answer: Answer) {
    let spare = answer.pulses;
    SPARE.set(if spare.len() <= MOST_SPARE { spare } else { Vec::new() });
}

/// The pulses' own numbers; `None` if a pulse is `None` or has other common numbers than `kind`, or if there are more
/// than [`most_pulses`].
fn own_numbers(kind: &Kind, pulses: impl Iterator<Item = Option<PackedPulse>>) -> Option<Vec<f64>> {
    let bits = |pulse: &PackedPulse| pulse.map(f64::to_bits);
    let common = bits(&kind.common);
    let most = most_pulses(&kind.stencil) * kind.stride;
    let mut own = SPARE.take();
    own.clear();
    let has_common = |pulse: &PackedPulse| bits(pulse)[kind.stride..] == common[kind.stride..];
    for pulse in pulses {
        let Some(pulse) = pulse.filter(|pulse| own.len() < most && has_common(pulse)) else {
            SPARE.set(own);
            return None;
        };
        own.extend_from_slice(&pulse[..kind.stride]);
    }
    Some(own)
}

/// The reflectance at a hit on a material with a map of reflectance.
fn mapped(scene: &Scene, pulse: &Pulse, offset: [f32; 2], hit: &Hit) -> f32 {
    let placed = &scene.instances[hit.instance as usize];
    let mesh = &scene.meshes[placed.mesh as usize];
    let Material { reflectance, reflectance_map, .. } = &scene.materials[hit.material as usize];
    let map = reflectance_map.as_ref().filter(|_| !mesh.uvs.is_empty());
    let share = map.and_then(|map| {
        let pose = hit::Pose::new(&placed.world_from_mesh);
        let vertices = mesh.triangles[hit.triangle as usize];
        let corners = vertices.map(|vertex| mesh.positions[vertex as usize].into());
        let weights = hit::weights(&pose, pulse, offset, corners)?;
        Some(map.sample(texture_coordinates(mesh, hit.triangle, hit::shares(weights))))
    });
    reflectance * share.unwrap_or(1.0)
}

/// Pulses into one scene, and their hits.
struct Part<'a> {
    scene: usize,
    pulses: &'a [Pulse],
    hits: &'a mut [Hit],
}

/// Converts a pulse to the kernel's format; `None` if a coordinate is too large for the kernel.
fn pack(pulse: &Pulse, scene: usize, extent: f32) -> Option<PackedPulse> {
    let vectors = [pulse.origin, pulse.direction, pulse.half_axis_u, pulse.half_axis_v];
    let mut packed = [0.0; 16];
    for (into, vector) in packed[..12].chunks_exact_mut(3).zip(vectors) {
        into.copy_from_slice(&vector.to_array());
    }
    packed[12] = pulse.start_m.into();
    // An infinite range is replaced by the largest finite number.
    packed[13] = pulse.max_range_m.min(f32::MAX).into();
    packed[14] = scene_word(scene);
    packed[15] = extent.into();
    packed[..13].iter().all(|value| value.abs() <= FARTHEST_M).then_some(packed)
}

impl Drop for GpuCaster {
    fn drop(&mut self) {
        self.requests.close();
        for thread in self.threads.drain(..) {
            // A panic of the thread was reported when it occurred.
            let _ = thread.join();
        }
    }
}

impl RayCaster for GpuCaster {
    fn cast(&self, stencil: &Stencil, pulses: &[Pulse], hits: &mut [Hit]) {
        assert_eq!(hits.len(), pulses.len() * stencil.len(), "one hit for every ray");
        if hits.len() >= FEW_RAYS && self.cast_by_gpu(stencil, pulses, hits) {
            self.pulses.fetch_add(pulses.len() as u64, Ordering::Relaxed);
        } else {
            self.cpu.cast(stencil, pulses, hits);
        }
    }

    fn blocked_at(&self, beams: &Beams, from: &[DVec3], fired: &[SimTime], blocked: &mut [bool]) {
        if from.len() < FEW_RAYS || !self.blocked_by_gpu(beams, from, fired, blocked) {
            self.cpu.blocked_at(beams, from, fired, blocked);
        }
    }

    fn casts_bodies(&self, rays: usize) -> bool {
        rays >= FEW_RAYS && !self.is_lost.load(Ordering::Acquire)
    }

    fn cast_with_bodies(
        &self,
        stencil: &Stencil,
        pulses: &[Pulse],
        hits: &mut [Hit],
        bodies: &mut [BodyCast],
    ) -> bool {
        let mut parts = vec![Part { scene: 0, pulses, hits }];
        for BodyCast { body, pulses, hits } in bodies {
            let scene = self.scenes.iter().position(|scene| Arc::ptr_eq(scene, body));
            let Some(scene) = scene else { return false };
            parts.push(Part { scene, pulses, hits });
        }
        let is_cast = self.cast_parts(stencil, &mut parts);
        if is_cast {
            self.pulses.fetch_add(pulses.len() as u64, Ordering::Relaxed);
        }
        is_cast
    }

    fn in_flight(&self) -> usize {
        IN_FLIGHT
    }

    fn pulses_per_call(&self) -> usize {
        if self.is_lost.load(Ordering::Relaxed) { 0 } else { PULSES_PER_CALL }
    }

    fn lost(&self) -> Option<String> {
        Self::lost(self)
    }

    fn pulses_by_gpu(&self) -> u64 {
        self.pulses.load(Ordering::Relaxed)
    }

    fn finishes(&self) -> Option<&dyn Finishes> {
        self.cpu.finishes()
    }

    fn shading(&self) -> Option<&dyn Finishes> {
        self.cpu.shading()
    }
}
