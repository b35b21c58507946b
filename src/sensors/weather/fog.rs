//! Fog: a uniform medium, because its droplets are too small and numerous for individual echoes.

use crate::config::rig::weather::FogConfig;

/// A medium that attenuates light and scatters some of it back.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Medium {
    /// Extinction coefficient, one way, 1/m.
    pub extinction_per_m: f64,
    /// Backscatter coefficient, 1/(m sr).
    pub backscatter_per_m_sr: f64,
}

/// The medium of a fog: extinction `-ln(contrast) / visibility` (Koschmieder 1924), and backscatter proportional to
/// it (Rasshofer et al. 2011, as used by Hahner et al. 2021).
pub(super) fn medium(fog: &FogConfig) -> Medium {
    let extinction_per_m = -libm::log(fog.contrast) / fog.visibility_m;
    Medium { extinction_per_m, backscatter_per_m_sr: extinction_per_m / fog.lidar_ratio_sr }
}
