//! The signals of each system as UBX numbers them: NAV-SIG, and raw measurements.
//!
//! Raw measurements are those of a receiver at the position that it tells, whatever that position's
//! error: pseudorange = geometric range between the satellite at the time of transmission and that
//! position + the clock's bias + the satellite's residual. There is no ionosphere, no troposphere and
//! no error of the satellites' clocks. The carrier phase is the range without the residual in
//! wavelengths, plus a whole number of cycles that a satellite keeps as long as it is followed; the
//! Doppler is the change of the range, seen by the receiver's drifting clock.

use glam::DVec3;

use super::messages::gnss_id;
use crate::frames::GeoOrigin;
use crate::sensors::gnss::constellation::Satellite;
use crate::sensors::gnss::navigator::{Solution, TrackedSatellite};
use crate::sensors::gnss::settings::GnssSystem;
use crate::wire::ubx::nav::{NavSig, SignalInfo};
use crate::wire::ubx::rxm::{RawSignal, RxmRawx};

const LIGHT_M_S: f64 = 299_792_458.0;
/// IS-GPS-200.
const EARTH_RATE_RAD_S: f64 = 7.292_115_146_7e-5;
/// The longest lock that a message tells, ms.
const MAX_LOCK_MS: u64 = 64_500;
/// Frequency slots of GLONASS satellites 1 to 24.
const GLONASS_SLOTS: [i8; 24] =
    [1, -4, 5, 6, 1, -4, 5, 6, -2, -7, 0, -1, -2, -7, 0, -1, 4, -3, 3, 2, 4, -3, 3, 2];

/// A signal of a satellite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Signal {
    /// UBX's number of it.
    pub id: u8,
    /// GLONASS: frequency slot plus 7; else 0.
    pub slot: u8,
    /// Of the carrier.
    pub frequency_hz: f64,
}

/// The first (L1, E1, B1) or second (L2, E5b, B2) signal of a satellite.
pub fn signal(satellite: &Satellite, is_second: bool) -> Signal {
    let index = usize::from(satellite.svid.saturating_sub(1)) % GLONASS_SLOTS.len();
    let slot = GLONASS_SLOTS[index];
    let (id, megahertz) = match (satellite.system, is_second) {
        (GnssSystem::Gps, false) => (0, 1575.42),
        (GnssSystem::Gps, true) => (3, 1227.6),
        (GnssSystem::Galileo, false) => (0, 1575.42),
        (GnssSystem::Galileo, true) => (6, 1207.14),
        (GnssSystem::Beidou, false) => (0, 1561.098),
        (GnssSystem::Beidou, true) => (2, 1207.14),
        (GnssSystem::Glonass, false) => (0, 1602.0 + 0.5625 * f64::from(slot)),
        (GnssSystem::Glonass, true) => (2, 1246.0 + 0.4375 * f64::from(slot)),
    };
    let is_glonass = satellite.system == GnssSystem::Glonass;
    let slot = if is_glonass { (slot + 7) as u8 } else { 0 };
    Signal { id, slot, frequency_hz: megahertz * 1e6 }
}

/// The signals of a satellite that are followed, with their strengths.
fn followed(tracked: &TrackedSatellite) -> impl Iterator<Item = (bool, f64)> {
    let [first, second] = tracked.cno_dbhz;
    [(false, first), (true, second)].into_iter().filter_map(|(is, cno)| Some((is, cno?)))
}

/// NAV-SIG: each signal that is followed. `signals_of` says how many signals the receiver has.
pub fn nav_sig(
    s: &Solution,
    itow_ms: u32,
    is_rtk: bool,
    signals_of: impl Fn(GnssSystem) -> usize,
) -> NavSig {
    let row = |t: &TrackedSatellite, (is_second, cno): (bool, f64)| {
        let signal = signal(&t.satellite, is_second);
        let used = u16::from(t.is_used);
        let health = if t.satellite.is_healthy { 1 } else { 2 };
        let carrier = u16::from(t.is_used && is_rtk);
        SignalInfo {
            gnss_id: gnss_id(t.satellite.system),
            sv_id: t.satellite.svid,
            sig_id: signal.id,
            freq_id: signal.slot,
            residual_dm: if t.is_used { (t.residual_m * 10.0).round() as i16 } else { 0 },
            cno_dbhz: cno.round() as u8,
            quality: 7,
            correction_source: if is_rtk { 4 } else { 0 },
            ionosphere_model: 8,
            flags: health | used << 3 | carrier << 4 | used << 5 | carrier << 6 | carrier << 7,
            ..SignalInfo::default()
        }
    };
    let all = s.satellites.iter().flat_map(|t| {
        let count = signals_of(t.satellite.system);
        followed(t).take(count).map(move |signal| row(t, signal))
    });
    NavSig { itow_ms, signals: all.take(255).collect(), ..NavSig::default() }
}

/// The receiver's clock when it measured.
#[derive(Clone, Copy, Debug)]
pub struct ReceiverClock {
    /// GPS time.
    pub gps_ns: i128,
    /// The clock is ahead of GPS time by this.
    pub bias_ns: f64,
    /// How fast that grows.
    pub drift_ns_s: f64,
    /// GPS minus UTC.
    pub leap_s: i8,
    /// How many weeks the receiver's count is behind.
    pub weeks_behind: i64,
}

/// RXM-RAWX of a solution. `lock_ns` says how long a satellite has been followed.
pub fn raw(
    s: &Solution,
    clock: &ReceiverClock,
    signals_of: impl Fn(GnssSystem) -> usize,
    lock_ns: impl Fn(&Satellite) -> u64,
) -> RxmRawx {
    const WEEK_NS: i128 = 604_800_000_000_000;
    let week = clock.gps_ns.div_euclid(WEEK_NS) - i128::from(clock.weeks_behind);
    let tow_s = clock.gps_ns.rem_euclid(WEEK_NS) as f64 * 1e-9;
    let gps_s = (clock.gps_ns as f64) * 1e-9;
    let here = s.position.to_ecef();
    let velocity = GeoOrigin::new(s.position).ecef_direction(s.velocity_enu_m_s);
    let mut signals = Vec::new();
    for t in s.satellites.iter().filter(|_| s.is_time_known) {
        let range_m = range_at(&t.satellite, gps_s, here);
        let later_m = range_at(&t.satellite, gps_s + 0.5, here + velocity * 0.5);
        let earlier_m = range_at(&t.satellite, gps_s - 0.5, here - velocity * 0.5);
        let rate_m_s = later_m - earlier_m + clock.drift_ns_s * 1e-9 * LIGHT_M_S;
        let told_m = range_m + clock.bias_ns * 1e-9 * LIGHT_M_S;
        let lock_ns = lock_ns(&t.satellite);
        for (is_second, cno) in followed(t).take(signals_of(t.satellite.system)) {
            let signal = signal(&t.satellite, is_second);
            let wavelength_m = LIGHT_M_S / signal.frequency_hz;
            // A number of its own for each satellite, signal and start of the lock.
            let ambiguity =
                i32::from(t.satellite.svid) * 7919 + i32::from(signal.id) * 104_729 - 100_000;
            // Code noise falls with the square root of the strength.
            let pr_std = ((50.0 - cno) / 6.0).clamp(2.0, 9.0) as u8;
            signals.push(RawSignal {
                pseudorange_m: told_m + t.residual_m,
                carrier_cycles: told_m / wavelength_m + f64::from(ambiguity),
                doppler_hz: (-rate_m_s / wavelength_m) as f32,
                gnss_id: gnss_id(t.satellite.system),
                sv_id: t.satellite.svid,
                sig_id: signal.id,
                freq_id: signal.slot,
                lock_time_ms: (lock_ns / 1_000_000).min(MAX_LOCK_MS) as u16,
                cno_dbhz: cno.round() as u8,
                pr_std,
                cp_std: 1,
                do_std: 6,
                tracking: 0b0111,
                reserved1: 0,
            });
        }
    }
    signals.truncate(255);
    RxmRawx {
        receiver_tow_s: tow_s + clock.bias_ns * 1e-9,
        week: week as u16,
        leap_s: clock.leap_s,
        status: u8::from(s.is_leap_known),
        version: 1,
        reserved1: [0; 2],
        signals,
    }
}

/// How far the light has come that is received `here` at a GPS time; Earth turns under it.
fn range_at(satellite: &Satellite, gps_s: f64, here: DVec3) -> f64 {
    let mut flight_s = 0.075;
    let mut range_m = 0.0;
    for _ in 0..3 {
        let then = satellite.orbit.ecef_m(gps_s - flight_s);
        let (sin, cos) = libm::sincos(EARTH_RATE_RAD_S * flight_s);
        let turned = DVec3::new(cos * then.x + sin * then.y, cos * then.y - sin * then.x, then.z);
        range_m = (turned - here).length();
        flight_s = range_m / LIGHT_M_S;
    }
    range_m
}
