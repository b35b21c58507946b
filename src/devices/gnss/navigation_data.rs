//! RXM-SFRBX: the navigation messages of satellites, one per received subframe (string, page).
//!
//! A subframe is complete at its end plus the time of flight. It is sent with the next epoch, if the receiver
//! has tracked the satellite since the subframe began. Supported: GPS LNAV on L1, GLONASS strings on L1, Galileo
//! I/NAV on E1-B, BeiDou D1 on B1I.

use super::Gnss;
use super::messages::gnss_id;
use super::signals::slot_id;
use super::times::{GlonassTime, MOSCOW_S};
use crate::sensors::gnss::atmosphere::IONOSPHERE;
use crate::sensors::gnss::broadcast::{BEIDOU_BEHIND_S, Broadcast, clock_s, drift};
use crate::sensors::gnss::constellation::{EARTH_RATE_RAD_S, Satellite};
use crate::sensors::gnss::navigator::{Solution, TrackedSatellite};
use crate::sensors::gnss::settings::GnssSystem;
use crate::time::SimTime;
use crate::wire::navigation::Keplerian;
use crate::wire::navigation::d1::{self, D1};
use crate::wire::navigation::glonass::{self, Glonass};
use crate::wire::navigation::inav::{self, Inav};
use crate::wire::navigation::lnav::{self, Lnav};
use crate::wire::ubx::rxm::RxmSfrbx;

const WEEK_S: i64 = 604_800;
const DAY_S: i64 = 86_400;
/// Time for which a GLONASS orbit is valid.
const HALF_HOUR_S: i64 = 1800;
const SECOND_NS: i128 = 1_000_000_000;
/// Largest time of flight, plus the time to read the last bit.
const FLIGHT_NS: i128 = 100_000_000;
/// GPS week at the start of Galileo's week count.
const GALILEO_WEEK_0: i64 = 1024;
/// GPS week at the start of BeiDou's week count.
const BEIDOU_WEEK_0: i64 = 1356;
/// Gravity constant of Galileo and BeiDou (interface documents).
const MU_M3_S2: f64 = 3.986_004_418e14;
/// Earth rotation rate of BeiDou (interface document).
const BEIDOU_EARTH_RATE_RAD_S: f64 = 7.292_115_0e-5;

impl Gnss {
    /// Subframes that arrived between the previous epoch and the latest one.
    pub(super) fn navigation_data(&self) -> Vec<RxmSfrbx> {
        let (Some((s, stamp)), Some(before)) = (&self.last, self.observed_before) else {
            return Vec::new();
        };
        let mut parts = Vec::new();
        for (channel, tracked) in s.satellites.iter().enumerate() {
            let satellite = &tracked.satellite;
            let grid_s = part_s(satellite.system, stamp.leap_s);
            let part = |start_s| RxmSfrbx {
                gnss_id: gnss_id(satellite.system),
                sv_id: satellite.svid,
                sig_id: data_signal(satellite.system),
                freq_id: slot_id(satellite),
                channel: channel.min(255) as u8,
                version: 2,
                words: words(satellite, start_s, stamp.leap_s),
                ..RxmSfrbx::default()
            };
            parts.extend(self.parts_between(before, s, tracked, grid_s).map(part));
        }
        parts
    }

    /// Start times (GPS time, seconds) of the subframes that the receiver finished receiving from satellite `tracked`
    /// between the epoch `before` and the epoch of the solution `s`.
    fn parts_between(
        &self,
        before: SimTime,
        s: &Solution,
        tracked: &TrackedSatellite,
        [length_s, first_s]: [i64; 2],
    ) -> impl Iterator<Item = i64> {
        let sent_ns =
            |at: SimTime| self.epoch.gps_ns(at) - FLIGHT_NS - i128::from(first_s) * SECOND_NS;
        let length_ns = i128::from(length_s) * SECOND_NS;
        let ended = |at: SimTime| sent_ns(at).div_euclid(length_ns);
        let followed_ns = self.observer.followed_since(&tracked.satellite).map(sent_ns);
        (ended(before)..ended(s.at))
            .filter(move |count| followed_ns.is_some_and(|since| since <= count * length_ns))
            .map(move |count| count as i64 * length_s + first_s)
    }
}

/// Duration of a system's subframe, and the GPS time from which subframes are counted, seconds.
fn part_s(system: GnssSystem, leap_s: i8) -> [i64; 2] {
    match system {
        GnssSystem::Gps => [lnav::SUBFRAME_S.into(), 0],
        GnssSystem::Galileo => [inav::PAGE_S.into(), inav::FIRST_S.into()],
        GnssSystem::Beidou => [d1::SUBFRAME_S.into(), BEIDOU_BEHIND_S],
        GnssSystem::Glonass => [glonass::STRING_S.into(), leap_s.into()],
    }
}

/// UBX's number of the signal that carries the navigation message.
fn data_signal(system: GnssSystem) -> u8 {
    if system == GnssSystem::Galileo { 1 } else { 0 }
}

/// The subframe that a satellite sends from the GPS time `start_s` on.
fn words(satellite: &Satellite, start_s: i64, leap_s: i8) -> Vec<u32> {
    let broadcast = Broadcast::new(satellite, start_s);
    let is_healthy = satellite.is_healthy;
    let in_week = |weeks: i64, behind_s: i64| {
        let start_s = start_s - behind_s;
        (start_s.div_euclid(WEEK_S) - weeks, start_s.rem_euclid(WEEK_S))
    };
    let words: &[u32] = match satellite.system {
        GnssSystem::Gps => {
            let (week, tow_s) = in_week(0, 0);
            let orbit = keplerian(&broadcast, 0, EARTH_RATE_RAD_S, None);
            let lnav = Lnav { orbit, is_healthy, ionosphere: IONOSPHERE, leap_s };
            &lnav.subframe(week as u32, tow_s as u32)
        }
        GnssSystem::Galileo => {
            let (week, tow_s) = in_week(GALILEO_WEEK_0, 0);
            let orbit = keplerian(&broadcast, 0, EARTH_RATE_RAD_S, Some(MU_M3_S2));
            let inav = Inav { satellite: satellite.svid, orbit, is_healthy, leap_s };
            &inav.page(week as u32, tow_s as u32)
        }
        GnssSystem::Beidou => {
            let (week, sow_s) = in_week(BEIDOU_WEEK_0, BEIDOU_BEHIND_S);
            let orbit =
                keplerian(&broadcast, BEIDOU_BEHIND_S, BEIDOU_EARTH_RATE_RAD_S, Some(MU_M3_S2));
            let leap_s = leap_s - BEIDOU_BEHIND_S as i8;
            let d1 = D1 { orbit, is_healthy, ionosphere: IONOSPHERE, leap_s };
            &d1.subframe(week as u32, sow_s as u32)
        }
        GnssSystem::Glonass => {
            let time = GlonassTime::new(start_s, leap_s);
            &glonass(satellite, start_s, leap_s, &time).string(time.tod_s)
        }
    };
    words.to_vec()
}

/// Data of a GLONASS satellite at a GPS time: position and velocity at the middle of the current half hour.
fn glonass(satellite: &Satellite, gps_s: i64, leap_s: i8, time: &GlonassTime) -> Glonass {
    let ahead_s = MOSCOW_S - i64::from(leap_s);
    let toe_s = (gps_s + ahead_s).div_euclid(HALF_HOUR_S) * HALF_HOUR_S + HALF_HOUR_S / 2;
    let orbit = satellite.orbit.at(toe_s - ahead_s);
    let velocity = orbit.ecef_after(0.5) - orbit.ecef_after(-0.5);
    Glonass {
        slot: satellite.svid,
        is_healthy: satellite.is_healthy,
        day: time.day,
        four_years: time.four_years,
        toe_s: toe_s.rem_euclid(DAY_S) as u32,
        position_m: orbit.ecef_after(0.0).to_array(),
        velocity_m_s: velocity.to_array(),
        clock_s: clock_s(satellite, toe_s - ahead_s, 0.0),
        drift: drift(satellite),
    }
}

/// Converts orbit and clock to the parameters that a system broadcasts. The time of the system is `behind_s` behind GPS
/// time. A system can have another Earth rotation rate and another gravity constant than GPS (`None`: the gravity
/// constant of GPS); node and mean motion compensate for the differences.
fn keplerian(
    broadcast: &Broadcast,
    behind_s: i64,
    earth_rate_rad_s: f64,
    mu_m3_s2: Option<f64>,
) -> Keplerian {
    let elements = broadcast.orbit.elements();
    let toe_s = (broadcast.toe_gps_s - behind_s).rem_euclid(WEEK_S);
    let a = elements.sqrt_a * elements.sqrt_a;
    let own_motion = |mu: f64| broadcast.orbit.mean_motion_rad_s() - (mu / (a * a * a)).sqrt();
    Keplerian {
        issue: broadcast.issue.into(),
        toe_s: toe_s as u32,
        sqrt_a: elements.sqrt_a,
        eccentricity: elements.eccentricity,
        mean_anomaly_rad: elements.mean_anomaly_rad,
        mean_motion_rad_s: mu_m3_s2.map_or(0.0, own_motion),
        node_rad: elements.ascension_rad - EARTH_RATE_RAD_S * elements.toa_s
            + earth_rate_rad_s * toe_s as f64,
        node_rate_rad_s: elements.ascension_rate_rad_s - EARTH_RATE_RAD_S + earth_rate_rad_s,
        inclination_rad: elements.inclination_rad,
        perigee_rad: elements.perigee_rad,
        clock_s: broadcast.clock_s,
        drift: broadcast.drift,
    }
}
