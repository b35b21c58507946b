//! Coordinate frames and the poses between them.
//!
//! ```text
//! World   x east, y north, z up; origin at the rig's `origin`.     Scenes, trajectories, ground truth.
//! Body    x forward, y left, z up; origin at the robot's reference point on the ground.
//! Sensor  axes like Body; origin and direction of a device's mount. Each device converts to its own axes.
//! ```
//!
//! All frames are right-handed, in metres. A pose is named `a_from_b`: it converts coordinates in `b` to
//! coordinates in `a`. The compiler checks this: `world_from_body * body_from_sensor` compiles,
//! `body_from_sensor * world_from_body` does not. GNSS positions are WGS84: see [`Geodetic`].
//!
//! Angles are right-handed about their axis; roll, pitch and yaw are about x, y and z and
//! compose as `Rz(yaw) * Ry(pitch) * Rx(roll)`. Trigonometry comes from `libm`, so that the same
//! seed gives the same bytes on every machine.

use std::marker::PhantomData;
use std::ops::Mul;

use glam::{DQuat, DVec3};

/// East-north-up axes at the rig's origin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum World {}
/// Forward-left-up axes at the robot's reference point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Body {}
/// Forward-left-up axes at a device's mount.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sensor {}

/// A rigid transform from coordinates in `From` to coordinates in `Into`.
#[derive(Debug, PartialEq)]
pub struct Transform<Into, From> {
    /// Origin of `From`, in `Into`, metres.
    pub translation: DVec3,
    /// Unit quaternion that rotates directions in `From` to directions in `Into`.
    pub rotation: DQuat,
    frames: PhantomData<(Into, From)>,
}

impl<A, B> Clone for Transform<A, B> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<A, B> Copy for Transform<A, B> {}

impl<A, B> Transform<A, B> {
    /// The transform between frames that coincide.
    pub const IDENTITY: Self =
        Self { translation: DVec3::ZERO, rotation: DQuat::IDENTITY, frames: PhantomData };

    /// The transform `a_from_b` for the position of B's origin in A, metres, and the rotation from B to A, which is
    /// normalised.
    #[inline(always)]
    pub fn new(translation: DVec3, rotation: DQuat) -> Self {
        Self { translation, rotation: rotation.normalize(), frames: PhantomData }
    }

    /// Like [`Transform::new`], with the rotation as roll, pitch and yaw, radians.
    pub fn from_rpy(translation: DVec3, roll: f64, pitch: f64, yaw: f64) -> Self {
        Self::new(translation, quat_from_rpy(roll, pitch, yaw))
    }

    /// Translation and rotation (x, y, z, w). [`Transform::from_components`] restores the same bits.
    pub fn components(&self) -> [f64; 7] {
        let ([x, y, z], [i, j, k, w]) = (self.translation.to_array(), self.rotation.to_array());
        [x, y, z, i, j, k, w]
    }

    /// A pose from the result of [`Transform::components`].
    pub fn from_components([x, y, z, i, j, k, w]: [f64; 7]) -> Self {
        let rotation = DQuat::from_xyzw(i, j, k, w);
        Self { translation: DVec3::new(x, y, z), rotation, frames: PhantomData }
    }

    /// Converts a point, metres: `a_from_b.point(p)` returns the coordinates in A of the point that has the coordinates
    /// `p` in B.
    pub fn point(&self, p: DVec3) -> DVec3 {
        self.rotation * p + self.translation
    }

    /// Converts a direction: `a_from_b.direction(v)` returns the components in A of the vector that has the components
    /// `v` in B. The translation has no effect.
    pub fn direction(&self, v: DVec3) -> DVec3 {
        self.rotation * v
    }

    /// The inverse transform.
    pub fn inverse(&self) -> Transform<B, A> {
        let rotation = self.rotation.conjugate();
        Transform { translation: rotation * -self.translation, rotation, frames: PhantomData }
    }

    /// The transform between `self` (`s` = 0) and `end` (`s` = 1): linear in position, normalised linear in rotation.
    /// Use it only for poses that are at most some milliseconds apart. The rotation then differs from the great circle
    /// arc by far less than the resolution of any wire format.
    #[inline(always)]
    pub fn interpolate(&self, end: &Self, s: f64) -> Self {
        let toward =
            if self.rotation.dot(end.rotation) < 0.0 { -end.rotation } else { end.rotation };
        Self::new(
            self.translation + (end.translation - self.translation) * s,
            self.rotation * (1.0 - s) + toward * s,
        )
    }
}

impl<A, B, C> Mul<Transform<B, C>> for Transform<A, B> {
    type Output = Transform<A, C>;
    fn mul(self, rhs: Transform<B, C>) -> Transform<A, C> {
        Transform::new(self.point(rhs.translation), self.rotation * rhs.rotation)
    }
}

/// The rotation `Rz(yaw) * Ry(pitch) * Rx(roll)`, radians.
pub fn quat_from_rpy(roll: f64, pitch: f64, yaw: f64) -> DQuat {
    quat_about(DVec3::Z, yaw) * quat_about(DVec3::Y, pitch) * quat_about(DVec3::X, roll)
}

/// The rotation by `angle` radians, right-handed about the unit vector `axis`.
pub fn quat_about(axis: DVec3, angle: f64) -> DQuat {
    let (s, c) = libm::sincos(angle * 0.5);
    DQuat::from_xyzw(axis.x * s, axis.y * s, axis.z * s, c)
}

/// Angular rate in the body's frame, rad/s. `roll` and `pitch` are the current angles, radians. `rates` are the
/// derivatives of roll, pitch and yaw, rad/s.
pub fn body_rate_from_rpy(roll: f64, pitch: f64, rates: [f64; 3]) -> DVec3 {
    let [roll_rate, pitch_rate, yaw_rate] = rates;
    let (sin_r, cos_r) = libm::sincos(roll);
    let (sin_p, cos_p) = libm::sincos(pitch);
    DVec3::new(
        roll_rate - yaw_rate * sin_p,
        pitch_rate * cos_r + yaw_rate * sin_r * cos_p,
        -pitch_rate * sin_r + yaw_rate * cos_r * cos_p,
    )
}

/// Roll, pitch and yaw in radians, the inverse of [`quat_from_rpy`]: roll and yaw in
/// -pi..=pi, pitch in -pi/2..=pi/2.
pub fn rpy_from_quat(q: DQuat) -> (f64, f64, f64) {
    let roll = libm::atan2(2.0 * (q.w * q.x + q.y * q.z), 1.0 - 2.0 * (q.x * q.x + q.y * q.y));
    let pitch = libm::asin((2.0 * (q.w * q.y - q.z * q.x)).clamp(-1.0, 1.0));
    let yaw = libm::atan2(2.0 * (q.w * q.z + q.x * q.y), 1.0 - 2.0 * (q.y * q.y + q.z * q.z));
    (roll, pitch, yaw)
}

/// A position on Earth: WGS84 latitude and longitude in degrees, height above the ellipsoid in metres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Geodetic {
    /// Latitude, positive to the north, -90..=90.
    pub latitude_deg: f64,
    /// Longitude, positive to the east, -180..=180.
    pub longitude_deg: f64,
    /// Height above the WGS84 ellipsoid, metres.
    pub altitude_m: f64,
}

/// WGS84 semi-major axis (NIMA TR8350.2).
const WGS84_A_M: f64 = 6_378_137.0;
/// WGS84 flattening (NIMA TR8350.2).
const WGS84_F: f64 = 1.0 / 298.257_223_563;
/// Square of the first eccentricity of WGS84.
const WGS84_E2: f64 = WGS84_F * (2.0 - WGS84_F);

impl Geodetic {
    /// Height of the geoid (EGM2008 on a grid of three degrees) above the ellipsoid at this position, metres.
    pub fn geoid_height_m(&self) -> f64 {
        // The model covers the whole Earth, so the call cannot fail for a geodetic position.
        let height = egm2008::geoid_height(self.latitude_deg as f32, self.longitude_deg as f32);
        height.map_or(0.0, f64::from)
    }

    /// Height above the geoid, which represents mean sea level, metres.
    pub fn height_above_sea_level_m(&self) -> f64 {
        self.altitude_m - self.geoid_height_m()
    }

    /// Earth-centred, Earth-fixed coordinates in metres.
    pub fn to_ecef(self) -> DVec3 {
        let (sin_lat, cos_lat) = libm::sincos(self.latitude_deg.to_radians());
        let (sin_lon, cos_lon) = libm::sincos(self.longitude_deg.to_radians());
        let n = WGS84_A_M / (1.0 - WGS84_E2 * sin_lat * sin_lat).sqrt();
        DVec3::new(
            (n + self.altitude_m) * cos_lat * cos_lon,
            (n + self.altitude_m) * cos_lat * sin_lon,
            (n * (1.0 - WGS84_E2) + self.altitude_m) * sin_lat,
        )
    }

    /// The inverse of [`Geodetic::to_ecef`], by four steps of Bowring's iteration. The tests allow an error of a
    /// micrometre.
    pub fn from_ecef(p: DVec3) -> Self {
        let rho = (p.x * p.x + p.y * p.y).sqrt();
        let b = WGS84_A_M * (1.0 - WGS84_F);
        let ep2 = WGS84_E2 / (1.0 - WGS84_E2);
        let mut beta = libm::atan2(p.z * WGS84_A_M, rho * b);
        let mut latitude = 0.0;
        for _ in 0..4 {
            let (s, c) = libm::sincos(beta);
            latitude =
                libm::atan2(p.z + ep2 * b * s * s * s, rho - WGS84_E2 * WGS84_A_M * c * c * c);
            let (sin_lat, cos_lat) = libm::sincos(latitude);
            beta = libm::atan2((1.0 - WGS84_F) * sin_lat, cos_lat);
        }
        let (sin_lat, cos_lat) = libm::sincos(latitude);
        let n = WGS84_A_M / (1.0 - WGS84_E2 * sin_lat * sin_lat).sqrt();
        // The usual form `rho / cos_lat - n` fails at the poles; this one does not.
        let altitude_m = rho * cos_lat + p.z * sin_lat - n * (1.0 - WGS84_E2 * sin_lat * sin_lat);
        Self {
            latitude_deg: latitude.to_degrees(),
            longitude_deg: libm::atan2(p.y, p.x).to_degrees(),
            altitude_m,
        }
    }
}

/// Position of the World frame on Earth.
#[derive(Clone, Copy, Debug)]
pub struct GeoOrigin {
    origin: Geodetic,
    origin_ecef: DVec3,
    ecef_from_world: glam::DMat3,
}

impl GeoOrigin {
    /// A World frame with its origin at `origin`.
    pub fn new(origin: Geodetic) -> Self {
        let (sin_lat, cos_lat) = libm::sincos(origin.latitude_deg.to_radians());
        let (sin_lon, cos_lon) = libm::sincos(origin.longitude_deg.to_radians());
        let east = DVec3::new(-sin_lon, cos_lon, 0.0);
        let north = DVec3::new(-sin_lat * cos_lon, -sin_lat * sin_lon, cos_lat);
        let up = DVec3::new(cos_lat * cos_lon, cos_lat * sin_lon, sin_lat);
        Self {
            origin,
            origin_ecef: origin.to_ecef(),
            ecef_from_world: glam::DMat3::from_cols(east, north, up),
        }
    }

    /// Origin of the World frame.
    pub fn origin(&self) -> Geodetic {
        self.origin
    }

    /// Converts a point of the World frame (metres, ENU) to a position on Earth.
    pub fn geodetic_from_world(&self, p: DVec3) -> Geodetic {
        Geodetic::from_ecef(self.origin_ecef + self.ecef_from_world * p)
    }

    /// Converts a position on Earth to the World frame (metres, ENU).
    pub fn world_from_geodetic(&self, g: Geodetic) -> DVec3 {
        self.world_from_ecef(g.to_ecef())
    }

    /// Converts an Earth-centred, Earth-fixed position (metres) to the World frame (metres, ENU).
    pub fn world_from_ecef(&self, p: DVec3) -> DVec3 {
        self.ecef_from_world.transpose() * (p - self.origin_ecef)
    }

    /// Converts a direction from the World frame to Earth-centred, Earth-fixed axes.
    pub fn ecef_direction(&self, v: DVec3) -> DVec3 {
        self.ecef_from_world * v
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn composing_with_the_inverse_is_the_identity() {
        let world_from_body =
            Transform::<World, Body>::from_rpy(DVec3::new(1.0, 2.0, 3.0), 0.1, -0.2, 2.5);
        let p = DVec3::new(-4.0, 5.0, 0.5);
        assert!((world_from_body.inverse().point(world_from_body.point(p)) - p).length() < 1e-12);
    }

    #[test]
    fn a_positive_yaw_turns_left_and_a_positive_pitch_noses_down() {
        let left = quat_from_rpy(0.0, 0.0, std::f64::consts::FRAC_PI_2) * DVec3::X;
        assert!((left - DVec3::Y).length() < 1e-12);
        let down = quat_from_rpy(0.0, 0.3, 0.0) * DVec3::X;
        assert!(down.z < 0.0);
    }

    #[test]
    fn rpy_survives_the_quaternion() {
        let (r, p, y) = rpy_from_quat(quat_from_rpy(0.3, -0.7, -2.9));
        assert!((r - 0.3).abs() < 1e-12 && (p + 0.7).abs() < 1e-12 && (y + 2.9).abs() < 1e-12);
    }

    #[test]
    fn geodetic_survives_ecef() {
        for (latitude_deg, longitude_deg, altitude_m) in [
            (33.4712, -88.7933, 92.0),
            (-89.9999, 179.0, 5000.0),
            (0.0, 0.0, -50.0),
            (90.0, 0.0, 0.0),
        ] {
            let g = Geodetic { latitude_deg, longitude_deg, altitude_m };
            let back = Geodetic::from_ecef(g.to_ecef());
            assert!((back.to_ecef() - g.to_ecef()).length() < 1e-6, "{g:?} {back:?}");
            assert!((back.altitude_m - altitude_m).abs() < 1e-6);
        }
    }

    #[test]
    fn the_sea_is_not_the_ellipsoid() {
        let at = |latitude_deg, longitude_deg| Geodetic {
            latitude_deg,
            longitude_deg,
            altitude_m: 100.0,
        };
        // EGM2008 at 0° N 0° E: 17.225 m. At Mississippi State University the geoid is below the ellipsoid.
        assert!((at(0.0, 0.0).geoid_height_m() - 17.225).abs() < 1e-3);
        let campus = at(33.4712, -88.7933);
        assert!((-30.0..-25.0).contains(&campus.geoid_height_m()), "{}", campus.geoid_height_m());
        let above = campus.height_above_sea_level_m();
        assert!((above - (100.0 - campus.geoid_height_m())).abs() < 1e-12, "{above}");
    }

    #[test]
    fn one_metre_north_is_the_meridian_arc() {
        let origin = GeoOrigin::new(Geodetic {
            latitude_deg: 33.4712,
            longitude_deg: -88.7933,
            altitude_m: 92.0,
        });
        let g = origin.geodetic_from_world(DVec3::new(0.0, 1.0, 0.0));
        // Meridian radius of curvature at this latitude, 6 354 900 m, plus the altitude.
        let metres_per_degree = (g.latitude_deg - 33.4712).recip();
        assert!((metres_per_degree - 110_917.0).abs() < 30.0, "{metres_per_degree}");
        assert!((origin.world_from_geodetic(g) - DVec3::Y).length() < 1e-8);
    }
}
