//! Signals of each system in UBX's numbering: NAV-SIG, and raw measurements.
//!
//! Raw measurements come from [`crate::sensors::gnss::observations`] and include the receiver's clock: its bias is
//! part of pseudorange and carrier phase, its drift is part of the Doppler.

use super::messages::gnss_id;
use crate::sensors::gnss::constellation::{LIGHT_M_S, Satellite};
use crate::sensors::gnss::navigator::{Solution, TrackedSatellite};
use crate::sensors::gnss::observations::{Carrier, Observation};
use crate::sensors::gnss::settings::GnssSystem;
use crate::sensors::gnss::tracked::CorrectionSource;
use crate::wire::ubx::nav::{NavSig, SignalInfo};
use crate::wire::ubx::rxm::{RawSignal, RxmRawx};

/// Longest lock time in a message, ms.
const MAX_LOCK_MS: u64 = 64_500;

/// UBX's number of the first (L1, E1, B1) or second (L2, E5b, B2) signal of a system.
pub fn signal_id(system: GnssSystem, is_second: bool) -> u8 {
    match (system, is_second) {
        (_, false) => 0,
        (GnssSystem::Gps, true) => 3,
        (GnssSystem::Galileo, true) => 6,
        (GnssSystem::Beidou | GnssSystem::Glonass, true) => 2,
    }
}

/// UBX's frequency slot: GLONASS slot plus 7; 0 for other systems.
pub fn slot_id(satellite: &Satellite) -> u8 {
    let is_glonass = satellite.system == GnssSystem::Glonass;
    if is_glonass { (Carrier::new(satellite, false).slot + 7) as u8 } else { 0 }
}

/// Tracked signals of a satellite: for each, whether it is the second signal, and its strength in dB-Hz.
fn followed(tracked: &TrackedSatellite) -> impl Iterator<Item = (bool, f64)> {
    let [first, second] = tracked.cno_dbhz;
    [(false, first), (true, second)].into_iter().filter_map(|(is, cno)| Some((is, cno?)))
}

/// NAV-SIG with each tracked signal. `signals_of` returns the number of signals of a system that the receiver tracks.
pub fn nav_sig(
    s: &Solution,
    itow_ms: u32,
    is_rtk: bool,
    signals_of: impl Fn(GnssSystem) -> usize,
) -> NavSig {
    let row = |t: &TrackedSatellite, (is_second, cno): (bool, f64)| {
        let used = u16::from(t.is_used);
        let health = if t.satellite.is_healthy { 1 } else { 2 };
        let carrier = u16::from(t.is_used && is_rtk);
        let is_corrected = !is_second || t.correction.has_second;
        let (source, code, carrier_corrected) = match t.correction.source {
            CorrectionSource::Sbas if is_corrected => (1, 1, 0),
            CorrectionSource::Rtcm if is_corrected => (4, 1, u16::from(t.correction.has_carrier)),
            _ => (0, 0, 0),
        };
        SignalInfo {
            gnss_id: gnss_id(t.satellite.system),
            sv_id: t.satellite.svid,
            sig_id: signal_id(t.satellite.system, is_second),
            freq_id: slot_id(&t.satellite),
            residual_dm: if t.is_used { (t.residual_m * 10.0).round() as i16 } else { 0 },
            cno_dbhz: cno.round() as u8,
            quality: 7,
            correction_source: source,
            ionosphere_model: 8,
            flags: health
                | used << 3
                | carrier << 4
                | used << 5
                | code << 6
                | carrier_corrected << 7,
            ..SignalInfo::default()
        }
    };
    let all = s.satellites.iter().flat_map(|t| {
        let count = signals_of(t.satellite.system);
        followed(t).take(count).map(move |signal| row(t, signal))
    });
    NavSig { itow_ms, signals: all.take(255).collect(), ..NavSig::default() }
}

/// State of the receiver's clock at a measurement.
#[derive(Clone, Copy, Debug)]
pub struct ReceiverClock {
    /// GPS time since the GPS epoch.
    pub gps_ns: i128,
    /// Time by which the clock is ahead of GPS time.
    pub bias_ns: f64,
    /// Drift of the clock.
    pub drift_ns_s: f64,
    /// Whether the receiver has corrected the clock by whole milliseconds since the previous epoch. With a message rate
    /// above 1, corrections in skipped epochs are not reported.
    pub is_reset: bool,
    /// GPS minus UTC, seconds.
    pub leap_s: i8,
    /// Number of weeks by which the receiver's week number is too low.
    pub weeks_behind: i64,
}

/// RXM-RAWX message with `observations`.
pub fn raw(observations: &[Observation], clock: &ReceiverClock, is_leap_known: bool) -> RxmRawx {
    const WEEK_NS: i128 = 604_800_000_000_000;
    let week = clock.gps_ns.div_euclid(WEEK_NS) - i128::from(clock.weeks_behind);
    let tow_s = clock.gps_ns.rem_euclid(WEEK_NS) as f64 * 1e-9;
    let bias_m = clock.bias_ns * 1e-9 * LIGHT_M_S;
    let row = |o: &Observation| {
        let wavelength_m = o.carrier.wavelength_m();
        let rate_m_s = o.rate_m_s + clock.drift_ns_s * 1e-9 * LIGHT_M_S;
        // Code n of a standard deviation: 0.01 m * 2^n for the pseudorange, n * 0.004 cycles for the carrier, rounded up.
        let power = |ratio: f64| libm::log2(ratio).ceil().clamp(0.0, 15.0) as u8;
        let carrier_std = o.carrier_std_m / wavelength_m;
        RawSignal {
            pseudorange_m: o.code_m + bias_m,
            carrier_cycles: (o.carrier_m + bias_m) / wavelength_m,
            doppler_hz: (-rate_m_s / wavelength_m) as f32,
            gnss_id: gnss_id(o.satellite.system),
            sv_id: o.satellite.svid,
            sig_id: signal_id(o.satellite.system, o.is_second),
            freq_id: slot_id(&o.satellite),
            lock_time_ms: (o.lock_ns / 1_000_000).min(MAX_LOCK_MS) as u16,
            cno_dbhz: o.cno_dbhz.round() as u8,
            pr_std: power(o.code_std_m / 0.01),
            cp_std: (carrier_std / 0.004).ceil().clamp(1.0, 15.0) as u8,
            do_std: 6,
            tracking: 0b0111,
            reserved1: 0,
        }
    };
    RxmRawx {
        receiver_tow_s: tow_s + clock.bias_ns * 1e-9,
        week: week as u16,
        leap_s: clock.leap_s,
        status: u8::from(is_leap_known) | u8::from(clock.is_reset) << 1,
        version: 1,
        reserved1: [0; 2],
        signals: observations.iter().take(255).map(row).collect(),
    }
}
