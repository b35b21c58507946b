//! Satellite positions, from an almanac or a synthetic constellation.

use glam::DVec3;

use super::almanac::Orbit;
use super::settings::{GnssSystem, ReceiverSettings};
use crate::time::Epoch;

/// Earth's gravitational constant for GPS orbits, m³/s² (IS-GPS-200).
const MU_M3_S2: f64 = 3.986_005e14;
/// Earth's gravitational constant for GLONASS orbits, m³/s² (ICD L1 L2 5.1, A.3.1.2).
const GLONASS_MU_M3_S2: f64 = 3.986_004_4e14;
/// Second zonal harmonic of the Earth's gravity, J2, for GLONASS orbits (ICD L1 L2 5.1, A.3.1.2).
const GLONASS_J2: f64 = 1.082_625_7e-3;
/// Equatorial radius of the Earth for GLONASS orbits, metres (ICD L1 L2 5.1, A.3.1.2).
const GLONASS_EARTH_RADIUS_M: f64 = 6_378_136.0;
/// Speed of light, m/s.
pub const LIGHT_M_S: f64 = 299_792_458.0;
/// Earth's rate of rotation, rad/s (IS-GPS-200).
pub const EARTH_RATE_RAD_S: f64 = 7.292_115_146_7e-5;
const WEEK_S: f64 = 604_800.0;
/// Constant F of IS-GPS-200 for the relativistic clock correction, s/√m.
const RELATIVITY_S_SQRT_M: f64 = -4.442_807_633e-10;

/// A navigation satellite and its orbit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Satellite {
    /// System of the satellite.
    pub system: GnssSystem,
    /// Satellite number within the system, as in UBX messages.
    pub svid: u8,
    /// Health flag: whether a receiver may use the satellite.
    pub is_healthy: bool,
    /// Orbit of the satellite, with the week resolved.
    pub orbit: SatelliteOrbit,
}

/// Orbital elements with an unambiguous GPS week.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SatelliteOrbit {
    elements: Orbit,
    /// GPS time of applicability since the GPS epoch, seconds.
    toa_gps_s: f64,
    /// Whether the orbit includes the effect of the Earth's oblateness; its eccentricity is then 0. Only GLONASS orbits
    /// do, because GLONASS receivers integrate the broadcast state in a gravity field with J2.
    is_perturbed: bool,
}

/// Effect of the Earth's oblateness on a circular orbit, to the first order of J2 (Brouwer 1959, as in
/// Spacetrack Report 3 with an eccentricity of 0). The next order is 5e-9 of the radius, a decimetre.
struct Oblateness {
    /// Size of the J2 terms at the orbit: 0.5 J2 (earth radius / a)^2.
    k: f64,
    cos_i: f64,
    sin_i: f64,
}

impl Oblateness {
    fn new(inclination_rad: f64, semi_major_axis_m: f64) -> Self {
        let ratio = GLONASS_EARTH_RADIUS_M / semi_major_axis_m;
        let (sin_i, cos_i) = libm::sincos(inclination_rad);
        Self { k: 0.5 * GLONASS_J2 * ratio * ratio, cos_i, sin_i }
    }

    /// Rates of the argument of latitude and of the node, as multiples of the mean motion without oblateness.
    fn rates(&self) -> [f64; 2] {
        let cos2 = self.cos_i * self.cos_i;
        let anomaly = 1.0 + 1.5 * self.k * (3.0 * cos2 - 1.0);
        let perigee = 1.5 * self.k * (5.0 * cos2 - 1.0);
        [anomaly + perigee, -3.0 * self.k * self.cos_i]
    }

    /// Periodic perturbations at the argument of latitude `latitude_rad`: factor of the radius, and corrections of the
    /// argument of latitude, the node and the inclination, radians.
    fn periodic(&self, latitude_rad: f64) -> [f64; 4] {
        let Self { k, cos_i, sin_i } = self;
        let cos2 = cos_i * cos_i;
        let (sin_2u, cos_2u) = libm::sincos(2.0 * latitude_rad);
        [
            1.0 - 1.5 * k * (3.0 * cos2 - 1.0) + 0.5 * k * (1.0 - cos2) * cos_2u,
            -0.25 * k * (7.0 * cos2 - 1.0) * sin_2u,
            1.5 * k * cos_i * sin_2u,
            1.5 * k * cos_i * sin_i * cos_2u,
        ]
    }
}

/// All simulated satellites, including unhealthy ones.
#[derive(Clone, Debug)]
pub struct Constellation {
    /// Satellites, sorted by system.
    pub satellites: Vec<Satellite>,
}

/// A Walker constellation: evenly spaced satellites in evenly spaced planes.
struct Walker {
    system: GnssSystem,
    first_svid: u8,
    count: u32,
    planes: u32,
    phasing: u32,
    inclination_deg: f64,
    semi_major_axis_m: f64,
}

/// Nominal constellations. GPS has 24 slots in six planes (GPS SPS performance standard), GLONASS 24/3/1 (ICD L1 L2),
/// Galileo 24/3/1 (OS SIS ICD). BeiDou's medium orbits are 24/3/1 (OS SIS ICD), with the numbers 14 to 37.
const WALKERS: [Walker; 4] = [
    Walker {
        system: GnssSystem::Gps,
        first_svid: 1,
        count: 24,
        planes: 6,
        phasing: 1,
        inclination_deg: 55.0,
        semi_major_axis_m: 26_559_700.0,
    },
    Walker {
        system: GnssSystem::Glonass,
        first_svid: 1,
        count: 24,
        planes: 3,
        phasing: 1,
        inclination_deg: 64.8,
        semi_major_axis_m: 25_510_000.0,
    },
    Walker {
        system: GnssSystem::Galileo,
        first_svid: 1,
        count: 24,
        planes: 3,
        phasing: 1,
        inclination_deg: 56.0,
        semi_major_axis_m: 29_600_318.0,
    },
    Walker {
        system: GnssSystem::Beidou,
        first_svid: 14,
        count: 24,
        planes: 3,
        phasing: 1,
        inclination_deg: 55.0,
        semi_major_axis_m: 27_906_100.0,
    },
];

impl Constellation {
    /// Satellites of all systems. Those of GPS come from the almanac if there is one.
    pub fn new(settings: &ReceiverSettings, epoch: Epoch) -> Self {
        let mut satellites = Vec::new();
        for walker in &WALKERS {
            match &settings.almanac {
                Some(almanac) if walker.system == GnssSystem::Gps => {
                    let now_s = epoch.gps_seconds(crate::time::SimTime::ZERO);
                    satellites.extend(almanac.satellites.iter().map(|entry| Satellite {
                        system: GnssSystem::Gps,
                        svid: entry.svid,
                        is_healthy: entry.is_healthy,
                        orbit: SatelliteOrbit::near(entry.orbit, now_s),
                    }));
                }
                _ => satellites.extend(walker.satellites()),
            }
        }
        Self { satellites }
    }
}

impl Walker {
    fn satellites(&self) -> impl Iterator<Item = Satellite> {
        let per_plane = self.count / self.planes;
        (0..self.count).map(move |number| {
            let (plane, slot) = (number / per_plane, number % per_plane);
            let turn = std::f64::consts::TAU;
            let phase = f64::from(self.phasing * plane) / f64::from(self.count);
            let is_perturbed = self.system == GnssSystem::Glonass;
            let inclination_rad = self.inclination_deg.to_radians();
            let ascension_rate_rad_s = if is_perturbed {
                let a = self.semi_major_axis_m;
                let [_, node] = Oblateness::new(inclination_rad, a).rates();
                node * (GLONASS_MU_M3_S2 / (a * a * a)).sqrt()
            } else {
                0.0
            };
            let elements = Orbit {
                eccentricity: 0.0,
                toa_s: 0.0,
                week: 0,
                week_modulus: 8192,
                inclination_rad,
                ascension_rate_rad_s,
                sqrt_a: self.semi_major_axis_m.sqrt(),
                ascension_rad: turn * f64::from(plane) / f64::from(self.planes),
                perigee_rad: 0.0,
                mean_anomaly_rad: turn * (f64::from(slot) / f64::from(per_plane) + phase),
            };
            Satellite {
                system: self.system,
                svid: self.first_svid + number as u8,
                is_healthy: true,
                orbit: SatelliteOrbit { elements, toa_gps_s: 0.0, is_perturbed },
            }
        })
    }
}

impl SatelliteOrbit {
    /// Resolves the week of `elements` to the one nearest to the GPS time `now_s`.
    pub fn near(elements: Orbit, now_s: f64) -> Self {
        let cycle_s = f64::from(elements.week_modulus) * WEEK_S;
        let toa_s = f64::from(elements.week) * WEEK_S + elements.toa_s;
        let cycles = ((now_s - toa_s) / cycle_s).round();
        Self { elements, toa_gps_s: toa_s + cycles * cycle_s, is_perturbed: false }
    }

    /// The same orbit with its elements converted to another reference time, `toe_gps_s` seconds after the GPS epoch.
    pub fn at(&self, toe_gps_s: i64) -> Self {
        let (from, turn) = (&self.elements, std::f64::consts::TAU);
        let (week_s, toe_s) = (toe_gps_s.rem_euclid(WEEK_S as i64) as f64, toe_gps_s as f64);
        let tk = toe_s - self.toa_gps_s;
        let node = from.ascension_rad + (from.ascension_rate_rad_s - EARTH_RATE_RAD_S) * tk
            - EARTH_RATE_RAD_S * (from.toa_s - week_s);
        let mean = from.mean_anomaly_rad + self.mean_motion_rad_s() * tk;
        let elements = Orbit {
            toa_s: week_s,
            week: toe_gps_s.div_euclid(WEEK_S as i64) as u32,
            week_modulus: 8192,
            ascension_rad: node.rem_euclid(turn),
            mean_anomaly_rad: mean.rem_euclid(turn),
            ..*from
        };
        Self { elements, toa_gps_s: toe_s, ..*self }
    }

    /// Elements of the orbit.
    pub fn elements(&self) -> &Orbit {
        &self.elements
    }

    /// Rate of the mean anomaly, rad/s; for a perturbed orbit, which has no perigee, rate of the mean argument of
    /// latitude.
    pub fn mean_motion_rad_s(&self) -> f64 {
        let a = self.elements.sqrt_a * self.elements.sqrt_a;
        if self.is_perturbed {
            let [latitude, _] = Oblateness::new(self.elements.inclination_rad, a).rates();
            latitude * (GLONASS_MU_M3_S2 / (a * a * a)).sqrt()
        } else {
            (MU_M3_S2 / (a * a * a)).sqrt()
        }
    }

    /// Earth-centred, Earth-fixed position at a GPS time, metres.
    pub fn ecef_m(&self, gps_s: f64) -> DVec3 {
        self.ecef_after(gps_s - self.toa_gps_s)
    }

    /// Relativistic correction of the satellite's clock for an eccentric orbit, `tk` seconds after the time of the
    /// elements, in seconds (IS-GPS-200, 20.3.3.3.3.1).
    pub fn relativity_s(&self, tk: f64) -> f64 {
        let (e, sqrt_a) = (self.elements.eccentricity, self.elements.sqrt_a);
        RELATIVITY_S_SQRT_M * e * sqrt_a * self.eccentric_anomaly(tk).0
    }

    /// Sine and cosine of the eccentric anomaly `tk` seconds after the time of the elements.
    fn eccentric_anomaly(&self, tk: f64) -> (f64, f64) {
        let e = self.elements.eccentricity;
        let mean = self.elements.mean_anomaly_rad + self.mean_motion_rad_s() * tk;
        let mean = mean.rem_euclid(std::f64::consts::TAU);
        let mut eccentric = mean;
        for _ in 0..8 {
            let (sin, cos) = libm::sincos(eccentric);
            let step = (eccentric - e * sin - mean) / (1.0 - e * cos);
            if step == 0.0 {
                return (sin, cos);
            }
            eccentric -= step;
        }
        libm::sincos(eccentric)
    }

    /// Earth-centred, Earth-fixed position `tk` seconds after the time of the elements, metres: IS-GPS-200, table
    /// 20-IV, without the corrections that an almanac lacks.
    ///
    /// ```text
    /// tk = t - toa          n = sqrt(mu / A^3)     M = M0 + n tk        E - e sin E = M
    /// nu = atan2(sqrt(1 - e^2) sin E, cos E - e)   u = nu + w           r = A (1 - e cos E)
    /// O = O0 + (Odot - we) tk - we toa
    /// ```
    /// A perturbed orbit also has the periodic effects of the Earth's oblateness.
    pub fn ecef_after(&self, tk: f64) -> DVec3 {
        let orbit = &self.elements;
        let (e, a) = (orbit.eccentricity, orbit.sqrt_a * orbit.sqrt_a);
        let (sin_e, cos_e) = self.eccentric_anomaly(tk);
        let true_anomaly = libm::atan2((1.0 - e * e).sqrt() * sin_e, cos_e - e);
        let mut radius = a * (1.0 - e * cos_e);
        let mut latitude = true_anomaly + orbit.perigee_rad;
        let mut node = orbit.ascension_rad + (orbit.ascension_rate_rad_s - EARTH_RATE_RAD_S) * tk
            - EARTH_RATE_RAD_S * orbit.toa_s;
        let mut inclination = orbit.inclination_rad;
        if self.is_perturbed {
            let [factor, along, turned, tilted] =
                Oblateness::new(inclination, a).periodic(latitude);
            radius *= factor;
            latitude += along;
            node += turned;
            inclination += tilted;
        }
        let (sin_u, cos_u) = libm::sincos(latitude);
        let (sin_o, cos_o) = libm::sincos(node.rem_euclid(std::f64::consts::TAU));
        let (sin_i, cos_i) = libm::sincos(inclination);
        radius
            * DVec3::new(
                cos_u * cos_o - sin_u * cos_i * sin_o,
                cos_u * sin_o + sin_u * cos_i * cos_o,
                sin_u * sin_i,
            )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Acceleration in a frame that rotates with the Earth (ICD L1 L2 5.1, A.3.1.2), without Sun and Moon, m/s².
    fn acceleration(p: DVec3, v: DVec3) -> DVec3 {
        let rate = 7.292_115e-5;
        let r2 = p.length_squared();
        let pull = -GLONASS_MU_M3_S2 / (r2 * r2.sqrt());
        let flat = 1.5 * GLONASS_J2 * GLONASS_EARTH_RADIUS_M * GLONASS_EARTH_RADIUS_M / r2;
        let tilt = 5.0 * p.z * p.z / r2;
        let axial = |c: f64, three: f64| pull * c * (1.0 + flat * (three - tilt));
        DVec3::new(
            axial(p.x, 1.0) + rate * rate * p.x + 2.0 * rate * v.y,
            axial(p.y, 1.0) + rate * rate * p.y - 2.0 * rate * v.x,
            axial(p.z, 3.0),
        )
    }

    fn integrated([mut p, mut v]: [DVec3; 2], seconds: f64) -> DVec3 {
        let steps = 30;
        let h = seconds / f64::from(steps);
        for _ in 0..steps {
            let (v1, a1) = (v, acceleration(p, v));
            let (v2, a2) =
                (v + a1 * (h / 2.0), acceleration(p + v1 * (h / 2.0), v + a1 * (h / 2.0)));
            let (v3, a3) =
                (v + a2 * (h / 2.0), acceleration(p + v2 * (h / 2.0), v + a2 * (h / 2.0)));
            let (v4, a4) = (v + a3 * h, acceleration(p + v3 * h, v + a3 * h));
            p += (v1 + v2 * 2.0 + v3 * 2.0 + v4) * (h / 6.0);
            v += (a1 + a2 * 2.0 + a3 * 2.0 + a4) * (h / 6.0);
        }
        p
    }

    #[test]
    fn orbits_of_glonass_obey_the_gravity_that_its_receivers_integrate() {
        let mut farthest = 0.0f64;
        for satellite in WALKERS[1].satellites() {
            let orbit = satellite.orbit.at(1_448_000_000);
            for hour in 0..12 {
                let tk = 3600.0 * f64::from(hour);
                let v = orbit.ecef_after(tk + 0.5) - orbit.ecef_after(tk - 0.5);
                for seconds in [-900.0, 900.0] {
                    let ends = integrated([orbit.ecef_after(tk), v], seconds);
                    farthest = farthest.max((ends - orbit.ecef_after(tk + seconds)).length());
                }
            }
        }
        assert!(farthest < 0.15, "{farthest} m");
    }
}
