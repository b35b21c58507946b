//! Fog: a medium of droplets that are too small and numerous to be seen singly.

use crate::config::rig::weather::FogConfig;

/// A medium that dims light and sends some of it back.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Medium {
    /// Extinction coefficient, one way, 1/m.
    pub extinction_per_m: f64,
    /// Backscatter coefficient, 1/(m sr).
    pub backscatter_per_m_sr: f64,
}

/// The medium of a fog: extinction `-ln(contrast) / visibility` (Koschmieder 1924), and proportional
/// backscatter (Rasshofer et al. 2011, as Hahner et al. 2021 use it).
pub(super) fn medium(fog: &FogConfig) -> Medium {
    let extinction_per_m = -libm::log(fog.contrast) / fog.visibility_m;
    Medium { extinction_per_m, backscatter_per_m_sr: extinction_per_m / fog.lidar_ratio_sr }
}
