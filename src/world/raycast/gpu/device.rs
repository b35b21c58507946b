//! The GPU as a device of wgpu. No other file calls wgpu.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytemuck::{Pod, Zeroable};
use wgpu::{BufferUsages, DeviceType, Features};

use super::GpuError;
use super::layout::{Layout, Sizes};
use super::spirv;
use crate::world::raycast::{GpuFacts, Hit, MAX_RAYS, Stencil};

/// Number of batches that may be in progress or read at a time, each by its own thread.
const SLOTS: usize = 4;
/// Largest number of rays in a batch.
const MOST_RAYS: usize = 9 * MOST_PULSES;
/// Largest number of pulses in a batch.
const MOST_PULSES: usize = 98_304;
/// Unit in which waits for the GPU are counted.
const STEP: Duration = Duration::from_millis(10);
/// Longest wait for an answer, in [`STEP`]s. Afterwards a GPU always counts as lost.
const MOST_STEPS: u32 = 12_000;
/// Shortest wait for an answer before a GPU counts as lost, in [`STEP`]s.
const LEAST_STEPS: u32 = 1000;
/// Ratio of the longest wait for a batch to its expected time, which follows from the slowest batch per ray so far.
/// After this wait, the GPU counts as lost. The wait is always within [`LEAST_STEPS`] and [`MOST_STEPS`]. A GPU becomes
/// slower if other programs use it, or if rays hit many triangles.
const SLOWER: f64 = 10.0;
// Vulkan requires that a GPU accepts 65,535 workgroups (`maxComputeWorkGroupCount`).
const _: () = assert!(MOST_RAYS <= 65_535 * spirv::GROUP as usize);
/// Size of one upload, bytes.
const UPLOAD: usize = 64 << 20;

/// A pulse as the kernel reads it: origin (x, y, z), direction, first and second half-axis, start and range in metres,
/// [`scene_word`], and the scene's largest coordinate in metres.
pub type PackedPulse = [f64; 16];

/// Kind of a request. All requests of a batch have the same kind.
#[derive(Clone, PartialEq)]
pub struct Kind {
    /// The rays of a pulse.
    pub stencil: Stencil,
    /// Whether a ray ends at any surface instead of the nearest one.
    pub any: bool,
    /// Number of numbers that each pulse has of its own, the first ones of a [`PackedPulse`]: 3 (origin), 6 (origin and
    /// direction) or 16.
    pub stride: usize,
    /// The numbers that all pulses have in common, at their places in a [`PackedPulse`]; the first `stride` numbers are
    /// zero.
    pub common: PackedPulse,
}

/// Largest number of pulses in a batch, for pulses with these rays.
pub fn most_pulses(stencil: &Stencil) -> usize {
    MOST_PULSES.min(MOST_RAYS / stencil.len())
}

impl Kind {
    /// Number of words that the kernel writes for a ray.
    fn words(&self) -> usize {
        if self.any { 1 } else { size_of::<Hit>() / 4 }
    }
}

/// The kernel's results of a batch, in memory of the GPU's driver.
pub struct Results {
    /// `None` while this is dropped.
    view: Option<wgpu::BufferView>,
    /// Sends a message when this is dropped.
    read: Sender<()>,
}

impl Results {
    /// The hits of a batch without [`Kind::any`].
    pub fn hits(&self) -> &[Hit] {
        bytemuck::cast_slice(self.bytes())
    }

    /// The instances that the rays of a batch with [`Kind::any`] hit.
    pub fn instances(&self) -> &[u32] {
        bytemuck::cast_slice(self.bytes())
    }

    fn bytes(&self) -> &[u8] {
        self.view.as_deref().unwrap_or_default()
    }
}

impl Drop for Results {
    fn drop(&mut self) {
        self.view = None;
        // The thread of the batch may have ended.
        let _ = self.read.send(());
    }
}

/// Encodes the index of a scene for a [`PackedPulse`]: as the lower bits of an `f32`, which is converted to `f64`.
pub fn scene_word(scene: usize) -> f64 {
    f64::from(f32::from_bits(2.0_f32.powi(23).to_bits() | scene as u32))
}

/// Instance of a ray that the processor must cast.
pub const UNDECIDED: u32 = u32::MAX - 1;

/// Number of tables in a [`Layout`], which have the kernel's bindings 0 to 5.
const TABLES: u32 = 6;
/// Binding of a batch's parameters.
const PARAMS: u32 = 6;
/// Binding of a batch's pulses.
const PULSES: u32 = 7;
/// Binding of a batch's hits.
const HITS: u32 = 8;

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Params {
    count: u32,
    rays: u32,
    any: u32,
    stride: u32,
    offsets: [[f32; 4]; MAX_RAYS],
}

/// A GPU that was found and is not opened yet.
pub struct Gpu {
    adapter: wgpu::Adapter,
    /// Names of the GPU and its driver, with the driver's version.
    pub identity: String,
}

/// Reason why a GPU was lost, shared by several owners; empty while the GPU works. Later reasons are ignored.
#[derive(Clone, Default)]
pub struct Fault(Arc<Mutex<Option<String>>>);

impl Fault {
    pub fn set(&self, reason: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(reason);
    }

    pub fn get(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// All adapters that Vulkan lists.
fn adapters() -> Vec<wgpu::Adapter> {
    let backends = wgpu::Backends::VULKAN;
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
        backends,
        flags: wgpu::InstanceFlags::empty(),
        ..wgpu::InstanceDescriptor::new_without_display_handle()
    });
    finished(instance.enumerate_adapters(backends))
}

fn driver_of(info: &wgpu::AdapterInfo) -> String {
    [info.driver.as_str(), &info.driver_info].join(" ").trim().to_owned()
}

/// Name, driver and capabilities of each adapter that Vulkan lists.
pub fn facts() -> Vec<GpuFacts> {
    let of = |adapter: &wgpu::Adapter| {
        let info = adapter.get_info();
        GpuFacts {
            driver: driver_of(&info),
            has_f64: adapter.features().contains(Features::SHADER_F64),
            is_software: info.device_type == DeviceType::Cpu,
            name: info.name,
        }
    };
    adapters().iter().map(of).collect()
}

impl Gpu {
    /// The GPU with `name` in its name. Without a name, the first discrete GPU is used, otherwise the first other GPU.
    /// A processor that acts as a GPU is the last choice, and only if `software` is true. The error is the reason why
    /// there is no usable GPU.
    pub fn find(name: Option<&str>, software: bool) -> Result<Self, GpuError> {
        let all = adapters();
        let kind = |adapter: &wgpu::Adapter| match adapter.get_info().device_type {
            DeviceType::DiscreteGpu => 0,
            DeviceType::IntegratedGpu | DeviceType::VirtualGpu => 1,
            DeviceType::Other => 2,
            DeviceType::Cpu => 3,
        };
        let found: Vec<String> = all.iter().map(|a| a.get_info().name).collect();
        let may_be = |adapter: &wgpu::Adapter| match name {
            Some(name) => adapter.get_info().name.to_lowercase().contains(&name.to_lowercase()),
            None => software || kind(adapter) < 3,
        };
        let Some(adapter) = all.into_iter().filter(may_be).min_by_key(kind) else {
            return Err(match name {
                Some(name) => GpuError::NotNamed { name: name.to_owned(), found },
                None if found.is_empty() => GpuError::NoAdapter,
                None => GpuError::Software { found },
            });
        };
        let info = adapter.get_info();
        let identity = format!("{}, {}", info.name, driver_of(&info));
        let features = adapter.features();
        for (feature, what) in [
            (Features::SHADER_F64, "numbers in double precision (shaderFloat64)"),
            (Features::PASSTHROUGH_SHADERS, "shaders in SPIR-V"),
        ] {
            if !features.contains(feature) {
                return Err(GpuError::Lacks { gpu: identity, what });
            }
        }
        Ok(Self { adapter, identity })
    }

    /// Rejects scenes if one of their tables is too large for the GPU.
    pub fn admit(&self, sizes: &Sizes) -> Result<(), GpuError> {
        let limits = self.adapter.limits();
        let most = limits.max_storage_buffer_binding_size.min(limits.max_buffer_size);
        for (what, bytes) in sizes.bytes() {
            if bytes > most {
                let gpu = self.identity.clone();
                return Err(GpuError::TooLarge { gpu, what, bytes, most });
            }
        }
        Ok(())
    }

    /// Opens the GPU and uploads the tables of `layout`. Returns the device and the memory of its batches.
    pub fn open(self, layout: &Layout) -> Result<(Device, [Slot; SLOTS]), GpuError> {
        let identity = self.identity;
        let failed = |reason: String| GpuError::Failed { gpu: identity.clone(), reason };
        let (device, queue) = finished(self.adapter.request_device(&wgpu::DeviceDescriptor {
            required_features: Features::SHADER_F64 | Features::PASSTHROUGH_SHADERS,
            required_limits: self.adapter.limits(),
            memory_hints: wgpu::MemoryHints::Performance,
            ..Default::default()
        }))
        .map_err(|error| failed(error.to_string()))?;
        let fault = Fault::default();
        let (lost, erred) = (fault.clone(), fault.clone());
        device.set_device_lost_callback(move |_, reason| lost.set(format!("lost: {reason}")));
        device
            .on_uncaptured_error(Arc::new(move |error: wgpu::Error| erred.set(error.to_string())));

        let memory = device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let tables: [&[u8]; TABLES as usize] = [
            bytemuck::cast_slice(&layout.nodes),
            bytemuck::cast_slice(&layout.triangles),
            bytemuck::cast_slice(&layout.entrances),
            bytemuck::cast_slice(&layout.poses),
            bytemuck::cast_slice(&layout.placed),
            bytemuck::cast_slice(&layout.materials),
        ];
        let buffers = tables.map(|bytes| {
            let size = (bytes.len() as u64).max(96);
            buffer(&device, size, BufferUsages::STORAGE | BufferUsages::COPY_DST)
        });
        let (pipeline, bindings) = pipeline(&device).map_err(&failed)?;
        let slots = std::array::from_fn(|_| Slot::new(&device, &bindings, &buffers));
        if finished(memory.pop()).is_some() {
            let bytes = tables.iter().map(|bytes| bytes.len() as u64).sum();
            return Err(GpuError::NoMemory { gpu: identity, bytes });
        }
        for (buffer, bytes) in buffers.iter().zip(tables) {
            for (k, part) in bytes.chunks(UPLOAD).enumerate() {
                queue.write_buffer(buffer, (k * UPLOAD) as u64, part);
                queue.submit([]);
                let wait = wgpu::PollType::Wait {
                    submission_index: None,
                    timeout: Some(STEP * MOST_STEPS),
                };
                if let Err(error) = device.poll(wait) {
                    // Closing the queue would wait for the GPU without limit.
                    std::mem::forget(queue);
                    return Err(failed(error.to_string()));
                }
            }
        }
        match fault.get() {
            Some(reason) => Err(failed(reason)),
            None => {
                let (steps_per_ray, in_progress) = (Mutex::default(), AtomicU64::default());
                Ok((Device { device, queue, pipeline, fault, steps_per_ray, in_progress }, slots))
            }
        }
    }
}

/// An opened GPU with the tables of a [`Layout`].
pub struct Device {
    device: wgpu::Device,
    queue: wgpu::Queue,
    pipeline: wgpu::ComputePipeline,
    fault: Fault,
    /// Number of [`STEP`]s per ray of the slowest batch; `None` before the first batch.
    steps_per_ray: Mutex<Option<f64>>,
    /// Number of rays of the batches in progress.
    in_progress: AtomicU64,
}

/// Buffers of a batch.
pub struct Slot {
    params: wgpu::Buffer,
    pulses: wgpu::Buffer,
    hits: wgpu::Buffer,
    /// Copy of the hits that the processor can read.
    read: wgpu::Buffer,
    group: wgpu::BindGroup,
}

impl Slot {
    /// Ends the reading of the slot's results, which must have been dropped.
    pub fn unmap(&self) {
        self.read.unmap();
    }
}

fn buffer(device: &wgpu::Device, size: u64, usage: BufferUsages) -> wgpu::Buffer {
    let size = size.next_multiple_of(16);
    device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size,
        usage,
        mapped_at_creation: false,
    })
}

fn pipeline(
    device: &wgpu::Device,
) -> Result<(wgpu::ComputePipeline, wgpu::BindGroupLayout), String> {
    let words = spirv::kernel()?;
    let entries = [wgpu::PassthroughShaderEntryPoint {
        name: spirv::ENTRY.into(),
        workgroup_size: (spirv::GROUP, 1, 1),
    }];
    let descriptor = wgpu::ShaderModuleDescriptorPassthrough {
        entry_points: entries.as_slice().into(),
        spirv: Some(words.into()),
        ..Default::default()
    };
    let invalid = device.push_error_scope(wgpu::ErrorFilter::Validation);
    #[allow(
        unsafe_code,
        reason = "wgpu's own way to SPIR-V cannot keep products and sums apart: bits would differ by driver"
    )]
    // SAFETY: naga made the words from WGSL that it validated, with a check on every index; the pass adds
    // decorations.
    let module = unsafe { device.create_shader_module_passthrough(descriptor) };
    let entries: Vec<wgpu::BindGroupLayoutEntry> = (0..=HITS)
        .map(|binding| wgpu::BindGroupLayoutEntry {
            binding,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer {
                ty: match binding {
                    PARAMS => wgpu::BufferBindingType::Uniform,
                    _ => wgpu::BufferBindingType::Storage { read_only: binding != HITS },
                },
                has_dynamic_offset: false,
                min_binding_size: None,
            },
            count: None,
        })
        .collect();
    let bindings = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
        label: None,
        entries: &entries,
    });
    let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: None,
        bind_group_layouts: &[Some(&bindings)],
        immediate_size: 0,
    });
    let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: None,
        layout: Some(&layout),
        module: &module,
        entry_point: Some(spirv::ENTRY),
        compilation_options: wgpu::PipelineCompilationOptions {
            zero_initialize_workgroup_memory: false,
            ..Default::default()
        },
        cache: None,
    });
    match finished(invalid.pop()) {
        Some(error) => Err(error.to_string()),
        None => Ok((pipeline, bindings)),
    }
}

impl Slot {
    fn new(
        device: &wgpu::Device,
        bindings: &wgpu::BindGroupLayout,
        tables: &[wgpu::Buffer; TABLES as usize],
    ) -> Self {
        let bytes = |count: usize, size: usize| (count * size) as u64;
        let params = buffer(
            device,
            bytes(1, size_of::<Params>()),
            BufferUsages::UNIFORM | BufferUsages::COPY_DST,
        );
        let pulses = buffer(
            device,
            bytes(MOST_PULSES + 1, size_of::<PackedPulse>()),
            BufferUsages::STORAGE | BufferUsages::COPY_DST,
        );
        let of_hits = bytes(MOST_RAYS, size_of::<Hit>());
        let hits = buffer(device, of_hits, BufferUsages::STORAGE | BufferUsages::COPY_SRC);
        let read = buffer(device, of_hits, BufferUsages::MAP_READ | BufferUsages::COPY_DST);
        let all = tables.iter().zip(0..);
        let all = all.chain([(&params, PARAMS), (&pulses, PULSES), (&hits, HITS)]);
        let entries: Vec<wgpu::BindGroupEntry<'_>> = all
            .map(|(buffer, binding)| wgpu::BindGroupEntry {
                binding,
                resource: buffer.as_entire_binding(),
            })
            .collect();
        let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: bindings,
            entries: &entries,
        });
        drop(entries);
        Self { params, pulses, hits, read, group }
    }
}

impl Device {
    pub fn fault(&self) -> &Fault {
        &self.fault
    }

    /// Returns a function that destroys the device, so that the GPU is lost as after a failure of its driver.
    #[cfg(test)]
    pub fn lose(&self) -> impl Fn() + Send + use<> {
        let device = self.device.clone();
        move || device.destroy()
    }

    /// Casts a batch of at most [`most_pulses`] pulses with the buffers of `slot`, whose former results must have been
    /// dropped. `parts` have the pulses' own numbers. Returns the results, which send a message to `read` when they are
    /// dropped, or the reason why they cannot be read.
    pub fn cast(
        &self,
        slot: &Slot,
        kind: &Kind,
        parts: &[&[f64]],
        read: Sender<()>,
    ) -> Result<Results, String> {
        let mut params = Params::zeroed();
        let numbers: usize = parts.iter().map(|part| part.len()).sum();
        params.rays = kind.stencil.len() as u32;
        params.count = (numbers / kind.stride * kind.stencil.len()) as u32;
        params.any = kind.any.into();
        params.stride = kind.stride as u32;
        for (into, [a, b]) in params.offsets.iter_mut().zip(kind.stencil.offsets()) {
            *into = [*a, *b, 0.0, 0.0];
        }
        self.queue.write_buffer(&slot.params, 0, bytemuck::bytes_of(&params));
        let bytes = ((kind.common.len() + numbers) * size_of::<f64>()) as u64;
        let view = wgpu::BufferSize::new(bytes)
            .and_then(|bytes| self.queue.write_buffer_with(&slot.pulses, 0, bytes));
        if let Some(mut view) = view {
            let mut at = 0;
            for part in [&kind.common[..]].iter().chain(parts) {
                let part: &[u8] = bytemuck::cast_slice(part);
                view.slice(at..at + part.len()).copy_from_slice(part);
                at += part.len();
            }
        }
        let mut encoder = self.device.create_command_encoder(&Default::default());
        {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            pass.set_pipeline(&self.pipeline);
            pass.set_bind_group(0, &slot.group, &[]);
            pass.dispatch_workgroups(params.count.div_ceil(spirv::GROUP), 1, 1);
        }
        let bytes = u64::from(params.count) * 4 * kind.words() as u64;
        encoder.copy_buffer_to_buffer(&slot.hits, 0, &slot.read, 0, bytes);
        let rays = u64::from(params.count);
        // The GPU casts one batch after the other.
        let until_done = self.in_progress.fetch_add(rays, Ordering::Relaxed) + rays;
        let submission = self.queue.submit([encoder.finish()]);
        let (mapped, is_mapped) = channel();
        slot.read.slice(..bytes).map_async(wgpu::MapMode::Read, move |result| {
            // The receiver is gone if the GPU was lost.
            let _ = mapped.send(result.is_ok());
        });
        let waited = self.wait(submission, until_done as f64, &is_mapped);
        self.in_progress.fetch_sub(rays, Ordering::Relaxed);
        waited?;
        let view =
            slot.read.slice(..bytes).get_mapped_range().map_err(|error| error.to_string())?;
        Ok(Results { view: Some(view), read })
    }

    /// Waits until a batch is cast and its results are mapped; the error is the reason why they are not. `rays` is the
    /// number of rays of the batch and of the batches before it that are in progress.
    fn wait(
        &self,
        submission: wgpu::SubmissionIndex,
        rays: f64,
        is_mapped: &Receiver<bool>,
    ) -> Result<(), String> {
        let slowest = || self.steps_per_ray.lock().unwrap_or_else(PoisonError::into_inner);
        let most = patience(*slowest(), rays);
        let mut steps = 0;
        loop {
            if let Some(reason) = self.fault.get() {
                return Err(reason);
            }
            let submission_index = Some(submission.clone());
            let wait = wgpu::PollType::Wait { submission_index, timeout: Some(STEP) };
            // wgpu panics if the driver loses the GPU, and if a wait ends while another thread finds all batches done.
            match catch_unwind(AssertUnwindSafe(|| self.device.poll(wait))) {
                Ok(Ok(_)) => break,
                Ok(Err(wgpu::PollError::Timeout)) | Err(_) if steps < most => steps += 1,
                Ok(Err(error)) => {
                    let waited_s = (STEP * steps).as_secs();
                    return Err(format!("it has not answered for {waited_s} s: {error}"));
                }
                Err(_) => return Err("its driver failed".into()),
            }
        }
        {
            let mut slowest = slowest();
            let pace = f64::from(steps) / rays;
            *slowest = Some(slowest.unwrap_or(0.0).max(pace));
        }
        // Another thread may be about to report that the memory is mapped.
        let is_mapped = is_mapped.recv_timeout(STEP * LEAST_STEPS).unwrap_or(false);
        match self.fault.get() {
            Some(reason) => Err(reason),
            None if is_mapped => Ok(()),
            None => Err("its memory cannot be read".into()),
        }
    }
}

/// Largest number of [`STEP`]s to wait for a batch of `rays` rays. The slowest batch so far took `steps_per_ray`; this
/// is `None` before the first batch, which may include the driver's compilation of the kernel.
fn patience(steps_per_ray: Option<f64>, rays: f64) -> u32 {
    let expected = steps_per_ray.map_or(f64::INFINITY, |steps| SLOWER * steps * rays);
    expected.clamp(LEAST_STEPS.into(), MOST_STEPS.into()) as u32
}

/// The result of a wgpu future. Such a future is ready soon and needs no executor.
fn finished<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_gpu_is_lost_soon_if_it_was_fast_before() {
        let seconds = |steps_per_ray, rays| (STEP * patience(steps_per_ray, rays)).as_secs();
        assert_eq!(seconds(None, 600.0), 120);
        // Every batch so far took less than one step.
        assert_eq!(seconds(Some(0.0), MOST_RAYS as f64), 10);
        // lavapipe can take 0.14 s for 3600 rays.
        assert_eq!(seconds(Some(1.0 / 256.0), 3600.0), 10);
        assert_eq!(seconds(Some(1.0 / 256.0), 51_200.0), 20);
        assert_eq!(seconds(Some(1.0 / 256.0), MOST_RAYS as f64), 120);
    }
}
