//! Converts numbers in received messages to measurements in SI units and forward, left, up axes.

use glam::{DQuat, DVec3};

use super::output::ned_from_frd;
use crate::decoder::readings::Inertial;

/// Returns the measurement; `None` if it has none of angular rate, acceleration, magnetic field and attitude.
pub(crate) fn some(inertial: Inertial) -> Option<Inertial> {
    let Inertial { gyro_rad_s, accel_m_s2, mag_gauss, attitude, .. } = inertial;
    let has_any = gyro_rad_s.or(accel_m_s2).or(mag_gauss).is_some() || attitude.is_some();
    has_any.then_some(inertial)
}

pub(crate) fn vector(values: [f32; 3]) -> DVec3 {
    DVec3::from_array(values.map(f64::from))
}

/// Attitude (rotation from sensor to World). The argument is a unit's quaternion w, x, y, z, which rotates
/// forward-right-down to north-east-down. `None` if it is not finite or its length is at most 0.5.
pub(crate) fn attitude([w, x, y, z]: [f64; 4]) -> Option<DQuat> {
    let q = DQuat::from_xyzw(x, y, z, w);
    // Units send zeros before the attitude is known.
    (q.is_finite() && q.length_squared() > 0.25).then(|| ned_from_frd(q.normalize()))
}
