//! RTCM 3 messages of a base station, from the same measurements as RXM-RAWX.
//!
//! Measurements are corrected for the receiver's clock error, as a base does. No message is sent before the receiver knows
//! the time. Message 1005 is sent only while the base holds its position, and 4072.0 only with a fix; all other messages are
//! sent whenever they are enabled.

use super::Gnss;
use super::items::key;
use crate::frames::GeoOrigin;
use crate::sensors::gnss::observations::Observation;
use crate::sensors::gnss::settings::GnssSystem;
use crate::wire::rtcm::{self, Head, Signal, System};

/// Multiple signal messages (MSM): message id in class 0xF5, the system as in profiles and as in RTCM, and whether the
/// message is an MSM7 (otherwise an MSM4).
const MULTIPLE_SIGNALS: [(u8, GnssSystem, System, bool); 8] = [
    (0x4a, GnssSystem::Gps, System::Gps, false),
    (0x4d, GnssSystem::Gps, System::Gps, true),
    (0x54, GnssSystem::Glonass, System::Glonass, false),
    (0x57, GnssSystem::Glonass, System::Glonass, true),
    (0x5e, GnssSystem::Galileo, System::Galileo, false),
    (0x61, GnssSystem::Galileo, System::Galileo, true),
    (0x7c, GnssSystem::Beidou, System::Beidou, false),
    (0x7f, GnssSystem::Beidou, System::Beidou, true),
];

impl Gnss {
    /// Encodes the RTCM messages with the ids `due` (in class 0xF5) for the latest epoch.
    pub(super) fn corrections(&self, due: impl Iterator<Item = u8>) -> Vec<Vec<u8>> {
        let Some((s, stamp)) = self.last.as_ref().filter(|(s, _)| s.is_time_known) else {
            return Vec::new();
        };
        let due: Vec<u8> = due.collect();
        let is_multiple = |id: &u8| MULTIPLE_SIGNALS.iter().any(|(other, ..)| other == id);
        let last_multiple = due.iter().rfind(|id| is_multiple(id));
        let station = (self.store.get(key::RTCM_DF003_OUT) & 0xfff) as u16;
        let gps_ms =
            (self.epoch.gps_ns(s.at) / 1_000_000) as i64 - stamp.weeks_behind * 604_800_000;
        let message = |id: &u8| match *id {
            0x05 => {
                let (place, _) = self.held_position().filter(|_| self.is_held)?;
                rtcm::station(station, place.to_ecef().to_array())
            }
            0xe6 => rtcm::glonass_biases(station),
            0xfe => {
                let velocity = GeoOrigin::new(s.position).ecef_direction(s.velocity_enu_m_s);
                let motion = [s.position.to_ecef().to_array(), velocity.to_array()];
                s.fix.is_some().then(|| rtcm::moving_base(station, gps_ms, Some(motion)))
            }
            0xfd => Some(rtcm::moving_base(station, gps_ms, None)),
            id => {
                let (_, of, system, is_full) =
                    MULTIPLE_SIGNALS.iter().find(|(other, ..)| *other == id)?;
                let has_more = last_multiple != Some(&id);
                let head = Head { station, gps_ms, leap_s: stamp.leap_s, has_more };
                let of_system = self.observations.iter().filter(|o| o.satellite.system == *of);
                let signals: Vec<Signal> = of_system.map(signal).collect();
                rtcm::multiple_signals(*system, *is_full, &head, &signals)
            }
        };
        due.iter().filter_map(message).collect()
    }
}

/// A measurement in the fields of an MSM.
fn signal(o: &Observation) -> Signal {
    let code = match (o.satellite.system, o.is_second) {
        (GnssSystem::Beidou, false) => (2, 'I'),
        (_, false) => (1, 'C'),
        (GnssSystem::Gps, true) => (2, 'L'),
        (GnssSystem::Glonass, true) => (2, 'C'),
        (GnssSystem::Galileo, true) => (7, 'Q'),
        (GnssSystem::Beidou, true) => (7, 'I'),
    };
    Signal {
        satellite: o.satellite.svid,
        code,
        code_m: o.code_m,
        carrier_m: o.carrier_m,
        rate_m_s: o.rate_m_s,
        cno_dbhz: o.cno_dbhz,
        lock_ms: o.lock_ns / 1_000_000,
        slot: o.carrier.slot,
    }
}
