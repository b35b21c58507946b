//! Raw measurements of the satellites in view: pseudorange, carrier phase, Doppler.
//!
//! ```text
//! code    = range + c (-satellite clock) + troposphere + ionosphere + multipath + noise
//! carrier = range + c (-satellite clock) + troposphere - ionosphere + multipath + noise + n wavelengths
//! ```
//! The range is from the satellite's position at transmission to the true position of the antenna, corrected for the
//! Earth's rotation during the time of flight. Orbits, clocks and the atmosphere are functions of satellite, position
//! and time, and therefore equal for two receivers side by side. Noise and multipath differ between receivers. The
//! measurements exclude the receiver's clock error; messages add it.
//!
//! The integer n of a signal is constant while the signal is tracked. It changes when the signal returns; this is a
//! cycle slip.
//!
//! Noise is white, 0.25 m for code and 1.2 mm for carrier at 45 dB-Hz, and inversely proportional to the amplitude.
//! Multipath is the sum of two slow waves with phases that depend on the satellite, and decreases with the elevation.
//! These sizes are assumptions for a patch antenna with a ground plane.

use std::collections::BTreeMap;

use glam::DVec3;

use super::SkyView;
use super::atmosphere::{ionosphere_m, troposphere_m};
use super::broadcast::clock_s;
use super::constellation::{EARTH_RATE_RAD_S, LIGHT_M_S, Satellite, SatelliteOrbit};
use super::navigator::{Solution, TrackedSatellite};
use super::settings::GnssSystem;
use crate::frames::{GeoOrigin, Geodetic};
use crate::sensors::noise::{NoiseSource, Quantity, RequestNoise};
use crate::time::{Epoch, SimTime};

const WEEK_S: i64 = 604_800;
const GPS_L1_HZ: f64 = 1_575.42e6;
/// Frequency slots of GLONASS satellites 1 to 24.
const GLONASS_SLOTS: [i8; 24] =
    [1, -4, 5, 6, 1, -4, 5, 6, -2, -7, 0, -1, -2, -7, 0, -1, 4, -3, 3, 2, 4, -3, 3, 2];
/// Standard deviation of the code noise at 45 dB-Hz, metres.
const CODE_STD_M: f64 = 0.25;
/// Standard deviation of the carrier phase noise at 45 dB-Hz, metres.
const CARRIER_STD_M: f64 = 0.0012;
/// Standard deviation of the Doppler noise at 45 dB-Hz, Hz.
const DOPPLER_STD_HZ: f64 = 0.08;
/// Largest multipath of the code at the horizon, metres.
const CODE_MULTIPATH_M: f64 = 0.5;
/// Largest multipath of the carrier phase at the horizon, metres.
const CARRIER_MULTIPATH_M: f64 = 0.004;
/// Elevation at which the multipath is 1/e of its size at the horizon, radians.
const MULTIPATH_FALL_RAD: f64 = 0.35;
/// Periods of the multipath waves, seconds.
const MULTIPATH_S: [f64; 2] = [310.0, 97.0];
/// Standard deviation of the random whole number of cycles that a signal gets when its tracking starts.
const CYCLES_STD: f64 = 100.0;

/// The carrier of a signal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Carrier {
    /// Frequency, Hz.
    pub frequency_hz: f64,
    /// GLONASS: frequency slot, -7 to 6; otherwise 0.
    pub slot: i8,
}

impl Carrier {
    /// The first (L1, E1, B1) or second (L2, E5b, B2) carrier of a satellite.
    pub fn new(satellite: &Satellite, is_second: bool) -> Self {
        let index = usize::from(satellite.svid.saturating_sub(1)) % GLONASS_SLOTS.len();
        let slot = match satellite.system {
            GnssSystem::Glonass => GLONASS_SLOTS[index],
            _ => 0,
        };
        let megahertz = match (satellite.system, is_second) {
            (GnssSystem::Gps | GnssSystem::Galileo, false) => 1575.42,
            (GnssSystem::Gps, true) => 1227.6,
            (GnssSystem::Galileo | GnssSystem::Beidou, true) => 1207.14,
            (GnssSystem::Beidou, false) => 1561.098,
            (GnssSystem::Glonass, false) => 1602.0 + 0.5625 * f64::from(slot),
            (GnssSystem::Glonass, true) => 1246.0 + 0.4375 * f64::from(slot),
        };
        Self { frequency_hz: megahertz * 1e6, slot }
    }

    /// Wavelength, metres.
    pub fn wavelength_m(&self) -> f64 {
        LIGHT_M_S / self.frequency_hz
    }
}

/// Measurements of one signal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// The satellite that sends the signal.
    pub satellite: Satellite,
    /// Whether this is the second signal.
    pub is_second: bool,
    /// Carrier of the signal.
    pub carrier: Carrier,
    /// Pseudorange of a receiver without clock error, metres.
    pub code_m: f64,
    /// Carrier phase of a receiver without clock error, including its whole cycles, metres.
    pub carrier_m: f64,
    /// Rate of the geometric range, m/s, with noise; positive if the distance increases. The drift of the satellite's
    /// clock is not included.
    pub rate_m_s: f64,
    /// Carrier-to-noise ratio, dB-Hz.
    pub cno_dbhz: f64,
    /// Time for which the carrier has been tracked, ns.
    pub lock_ns: u64,
    /// Standard deviation of the pseudorange, metres.
    pub code_std_m: f64,
    /// Standard deviation of the carrier phase, metres.
    pub carrier_std_m: f64,
}

/// A signal that is tracked.
#[derive(Clone, Copy, Debug)]
struct Lock {
    since: SimTime,
    cycles: f64,
}

/// Makes a receiver's measurements and keeps the state between them.
#[derive(Clone, Debug)]
pub struct Observer {
    noise: NoiseSource,
    epoch: Epoch,
    locks: BTreeMap<(GnssSystem, u8, bool), Lock>,
}

impl Observer {
    /// A receiver with `noise` in a run that begins at `epoch`.
    pub fn new(noise: NoiseSource, epoch: Epoch) -> Self {
        Self { noise, epoch, locks: BTreeMap::new() }
    }

    /// Stops tracking all signals. When a signal is tracked again, it gets a new whole number of cycles.
    pub fn restart(&mut self) {
        self.locks.clear();
    }

    /// Time since which a satellite's first signal has been tracked; `None` if the signal is not tracked.
    pub fn followed_since(&self, satellite: &Satellite) -> Option<SimTime> {
        self.locks.get(&(satellite.system, satellite.svid, false)).map(|lock| lock.since)
    }

    /// Measures, at the time `at`, the satellites that `solution` tracks. `view` has the position and velocity of the
    /// antenna. `signals_of` returns the number of a system's signals that the receiver tracks. `index` counts epochs.
    pub fn observe(
        &mut self,
        at: SimTime,
        index: u64,
        view: &SkyView,
        solution: &Solution,
        signals_of: impl Fn(GnssSystem) -> usize,
    ) -> Vec<Observation> {
        let geometry = Geometry::new(self.epoch.gps_ns(at), view);
        let noise = self.noise.request(index);
        let mut all = Vec::new();
        let mut locks = BTreeMap::new();
        for tracked in &solution.satellites {
            let mut path = None;
            let signals = tracked.cno_dbhz.iter().take(signals_of(tracked.satellite.system));
            for (is_second, cno_dbhz) in [false, true].into_iter().zip(signals) {
                let Some(cno_dbhz) = *cno_dbhz else { continue };
                let path = path.get_or_insert_with(|| geometry.path(&tracked.satellite));
                let name = (tracked.satellite.system, tracked.satellite.svid, is_second);
                let lane = name.0 as usize * 512 + usize::from(name.1) * 2 + usize::from(is_second);
                let lock = self.locks.get(&name).copied().unwrap_or_else(|| {
                    let drawn =
                        self.noise.request(at.0).standard_normal(lane, Quantity::GnssCycles);
                    Lock { since: at, cycles: (drawn * CYCLES_STD).round() }
                });
                locks.insert(name, lock);
                let multipath = self.multipath(lane, geometry.gps_s, path.elevation_rad);
                let lock_ns = at.0 - lock.since.0;
                let signal = Signal { tracked, is_second, cno_dbhz, lane, lock_ns };
                all.push(signal.observe(path, lock.cycles, multipath, &noise));
            }
        }
        self.locks = locks;
        all
    }

    /// Multipath of code and carrier, metres.
    fn multipath(&self, lane: usize, gps_s: i64, elevation_rad: f64) -> [f64; 2] {
        let own = self.noise.request(u64::MAX);
        let share = libm::exp(-elevation_rad / MULTIPATH_FALL_RAD);
        let wave = |place: u32| {
            let phase = own.standard_normal_of(lane, Quantity::GnssMultipath, place) * 10.0;
            let period_s = MULTIPATH_S[place as usize % 2];
            // Multipath changes slowly, so that whole seconds are sufficient.
            let turns = (gps_s % 1_000_000) as f64 / period_s;
            libm::sin(std::f64::consts::TAU * turns.fract() + phase)
        };
        [
            share * CODE_MULTIPATH_M * (wave(0) + wave(1)) / 2.0,
            share * CARRIER_MULTIPATH_M * (wave(2) + wave(3)) / 2.0,
        ]
    }
}

/// Position and time of a measurement.
struct Geometry {
    gps_s: i64,
    /// Fraction of a second by which the time exceeds `gps_s`.
    rest_s: f64,
    local: GeoOrigin,
    here: DVec3,
    velocity: DVec3,
}

/// Components of a signal's path from a satellite.
struct Path {
    /// Part that is equal for all carriers, metres: range, satellite clock and troposphere.
    common_m: f64,
    rate_m_s: f64,
    /// Ionospheric delay on GPS's first carrier, metres.
    ionosphere_m: f64,
    elevation_rad: f64,
}

impl Geometry {
    fn new(gps_ns: i128, view: &SkyView) -> Self {
        let local = GeoOrigin::new(view.position);
        Self {
            gps_s: gps_ns.div_euclid(1_000_000_000) as i64,
            rest_s: gps_ns.rem_euclid(1_000_000_000) as f64 * 1e-9,
            here: view.position.to_ecef(),
            velocity: local.ecef_direction(view.velocity_enu_m_s),
            local,
        }
    }

    /// Geometry of an antenna at rest.
    fn still(gps_s: f64, here: DVec3) -> Self {
        let whole_s = gps_s.floor();
        let local = GeoOrigin::new(Geodetic::from_ecef(here));
        Self { gps_s: whole_s as i64, rest_s: gps_s - whole_s, local, here, velocity: DVec3::ZERO }
    }

    fn path(&self, satellite: &Satellite) -> Path {
        // Elements with a nearby reference time keep `tk` small. A small `tk` loses no digits to rounding.
        let toe_s = self.gps_s.div_euclid(3600) * 3600;
        let orbit = satellite.orbit.at(toe_s);
        let tk = (self.gps_s - toe_s) as f64 + self.rest_s;
        let (range_m, from) = range(&orbit, tk, self.here);
        let (later_m, _) = range(&orbit, tk + 0.5, self.here + self.velocity * 0.5);
        let (earlier_m, _) = range(&orbit, tk - 0.5, self.here - self.velocity * 0.5);
        let towards = self.local.world_from_ecef(from).normalize();
        let elevation_rad = libm::asin(towards.z.clamp(-1.0, 1.0));
        let azimuth_rad = libm::atan2(towards.x, towards.y);
        let place = self.local.origin();
        let flight_s = range_m / LIGHT_M_S;
        let clock_s = clock_s(satellite, self.gps_s, self.rest_s - flight_s)
            + orbit.relativity_s(tk - flight_s);
        let tow_s = self.gps_s.rem_euclid(WEEK_S) as f64 + self.rest_s;
        Path {
            common_m: range_m - clock_s * LIGHT_M_S + troposphere_m(&place, elevation_rad),
            rate_m_s: later_m - earlier_m,
            ionosphere_m: ionosphere_m(&place, azimuth_rad, elevation_rad.max(0.0), tow_s),
            elevation_rad,
        }
    }
}

/// Measurement of a satellite at a GPS time by a receiver at `here` (Earth-centred, Earth-fixed, metres), without the
/// receiver's clock error, noise, multipath and whole cycles: the pseudorange of the first signal, and the carrier
/// phases of both signals, metres.
pub fn modelled(satellite: &Satellite, gps_s: f64, here: DVec3) -> (f64, [f64; 2]) {
    let path = Geometry::still(gps_s, here).path(satellite);
    let ionosphere_m = |is_second| {
        let ratio = GPS_L1_HZ / Carrier::new(satellite, is_second).frequency_hz;
        path.ionosphere_m * ratio * ratio
    };
    let phase_m = |is_second| path.common_m - ionosphere_m(is_second);
    (path.common_m + ionosphere_m(false), [phase_m(false), phase_m(true)])
}

/// Length of the signal's path from the satellite to `here`, metres, and the satellite's position at transmission. The
/// signal arrives `tk` seconds after the reference time of the elements. The position is in the Earth-fixed frame at
/// reception, so the path includes the Earth's rotation during the time of flight.
fn range(orbit: &SatelliteOrbit, tk: f64, here: DVec3) -> (f64, DVec3) {
    let (mut flight_s, mut from, mut range_m) = (0.075, DVec3::ZERO, 0.0);
    for _ in 0..3 {
        let then = orbit.ecef_after(tk - flight_s);
        let (sin, cos) = libm::sincos(EARTH_RATE_RAD_S * flight_s);
        from = DVec3::new(cos * then.x + sin * then.y, cos * then.y - sin * then.x, then.z);
        range_m = (from - here).length();
        flight_s = range_m / LIGHT_M_S;
    }
    (range_m, from)
}

struct Signal<'a> {
    tracked: &'a TrackedSatellite,
    is_second: bool,
    cno_dbhz: f64,
    lane: usize,
    lock_ns: u64,
}

impl Signal<'_> {
    fn observe(
        &self,
        path: &Path,
        cycles: f64,
        [code_multipath_m, carrier_multipath_m]: [f64; 2],
        noise: &RequestNoise,
    ) -> Observation {
        let satellite = self.tracked.satellite;
        let carrier = Carrier::new(&satellite, self.is_second);
        let ratio = GPS_L1_HZ / carrier.frequency_hz;
        let ionosphere_m = path.ionosphere_m * ratio * ratio;
        let weaker = libm::pow(10.0, (45.0 - self.cno_dbhz) / 20.0).clamp(0.5, 10.0);
        let (code_std_m, carrier_std_m) = (CODE_STD_M * weaker, CARRIER_STD_M * weaker);
        let drawn = |quantity| noise.standard_normal(self.lane, quantity);
        let doppler_m_s =
            drawn(Quantity::GnssDoppler) * DOPPLER_STD_HZ * weaker * carrier.wavelength_m();
        Observation {
            satellite,
            is_second: self.is_second,
            carrier,
            code_m: path.common_m
                + ionosphere_m
                + code_multipath_m
                + drawn(Quantity::GnssCode) * code_std_m,
            carrier_m: path.common_m - ionosphere_m
                + carrier_multipath_m
                + drawn(Quantity::GnssCarrier) * carrier_std_m
                + cycles * carrier.wavelength_m(),
            rate_m_s: path.rate_m_s + doppler_m_s,
            cno_dbhz: self.cno_dbhz,
            lock_ns: self.lock_ns,
            code_std_m,
            carrier_std_m,
        }
    }
}
