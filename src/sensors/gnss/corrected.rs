//! Effect of a base station's corrections on a solution.

use glam::{DMat3, DVec3};

use super::settings::BestFix;
use crate::frames::{GeoOrigin, Geodetic};
use crate::time::SimTime;

/// Corrections that a solution uses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Corrected {
    /// Best kind of fix that the corrections permit.
    pub best_fix: BestFix,
    /// Identifier of the base station.
    pub station: u16,
    /// Reference time of the corrections.
    pub of: SimTime,
    /// Factor for the errors and the reported accuracies of an RTK solution.
    pub scale: f64,
    /// Error of the base's reported position; Earth-centred, Earth-fixed, metres. The rover's position has the same
    /// error.
    pub shift_m: DVec3,
    /// Vector from the base's antenna to the rover's; Earth-centred, Earth-fixed, metres. For a moving base, the base's
    /// position is that at [`Self::of`].
    pub baseline_m: DVec3,
    /// Whether the base moves. If it does, corrections improve only the baseline, not the position.
    pub is_moving: bool,
}

/// The vector from a base station to a receiver (rover), as the receiver reports it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Baseline {
    /// Corrections from which the receiver has computed the vector.
    pub by: Corrected,
    /// The vector: east, north, up, metres.
    pub enu_m: DVec3,
    /// Covariance of the vector's error: east, north, up, m².
    pub covariance_m2: DMat3,
}

impl Corrected {
    /// The vector from the base to `rover`, with the error `error_m` added: east, north and up at the base, metres.
    pub(super) fn baseline(
        &self,
        rover: Geodetic,
        error_m: DVec3,
        covariance_m2: DMat3,
    ) -> Baseline {
        let base_m = rover.to_ecef() - self.baseline_m;
        let base = GeoOrigin::new(Geodetic::from_ecef(base_m));
        let vector_m = base.world_from_ecef(base_m + self.baseline_m);
        Baseline { by: *self, enu_m: vector_m + error_m, covariance_m2 }
    }
}
