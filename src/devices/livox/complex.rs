//! Complex numbers as vectors: real part, imaginary part.

use glam::DVec2;

/// The number of length 1 at an angle.
pub(super) fn unit(angle_rad: f64) -> DVec2 {
    let (sin, cos) = libm::sincos(angle_rad);
    DVec2::new(cos, sin)
}

/// The complex conjugate.
pub(super) fn conjugate(z: DVec2) -> DVec2 {
    DVec2::new(z.x, -z.y)
}
