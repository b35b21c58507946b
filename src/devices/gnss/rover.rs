//! A rover: effect of received RTCM 3 messages on its solution.
//!
//! Corrections are used under these conditions: they are at most CFG-NAVSPG-CONSTR_DGNSSTO (60 s) old; they come from
//! one station; they include the station's position (1005 or 1006) or motion (4072); they cover at least four
//! satellites that the rover uses. Observations that fit no position on Earth are refused.
//!
//! # From differential to fixed
//!
//! The solution is differential from the first corrections on, float after [`FLOAT_AFTER_S`], and fixed when the
//! sum of `dt / t` reaches 1, with
//! ```text
//! t = 8 s (20 / n)^1.5 (1 + d / 10 km)
//! ```
//! for n common satellites (GLONASS only after a message 1230) and the distance d from the base. This formula is an
//! assumption: n = 20 takes 8 s and n = 8 takes 32 s on a short baseline. With fewer than five satellites the solution
//! stays differential. There is no fixed solution beyond [`FIXED_WITHIN_M`], no carrier solution beyond
//! [`FLOAT_WITHIN_M`], and no correction beyond [`USED_WITHIN_M`]. Corrections older than
//! [`FIXED_WITHIN_S`] leave a float solution.
//!
//! # Errors
//!
//! Errors and reported accuracies of a carrier solution are multiplied by `1 + d / 10 km`, which gives 1 cm + 1 ppm.
//! The position has the error of the base's reported position ([`super::base_place`]). A wrong base position also
//! distorts the vector to the rover: by `w d / 20200 km` for an error w. A distortion above [`MOST_BENT_M`] prevents a
//! fixed solution.
//!
//! With a moving base, the vector between the antennas is as accurate as in any carrier solution. The positions of
//! rover and base are as inaccurate as without corrections.

use std::collections::{BTreeMap, VecDeque};

use glam::DVec3;

use super::Gnss;
use super::base_place::{AROUND_CODE_M, Epoch, Observation};
use super::items::key;
use super::survey::EARTH_RADIUS_M;
use super::ublox::Heard;
use crate::config::rig::faults::Timed;
use crate::frames::{GeoOrigin, Geodetic};
use crate::sensors::fault::{EffectKind, FaultEffect};
use crate::sensors::gnss::SkyView;
use crate::sensors::gnss::constellation::Satellite;
use crate::sensors::gnss::corrected::Corrected;
use crate::sensors::gnss::faults::GnssFault;
use crate::sensors::gnss::navigator::{Fix, Solution};
use crate::sensors::gnss::observations::Carrier;
use crate::sensors::gnss::settings::{BestFix, GnssSystem};
use crate::sensors::gnss::tracked::{CorrectionSource, SatelliteCorrection};
use crate::time::SimTime;
use crate::wire::corrections::{Content, Correction, Observations};
use crate::wire::rtcm::System;

/// Time from the first corrections to a float solution.
const FLOAT_AFTER_S: f64 = 2.0;
/// Largest distance from the base for a fixed solution.
const FIXED_WITHIN_M: f64 = 40e3;
/// Largest distance from the base for a carrier solution.
const FLOAT_WITHIN_M: f64 = 100e3;
/// Largest distance from the base for corrections.
const USED_WITHIN_M: f64 = 500e3;
/// Largest age of corrections for a fixed solution.
const FIXED_WITHIN_S: f64 = 30.0;
/// Largest distortion of the vector to the rover, by a wrong base position, that permits a fixed solution.
const MOST_BENT_M: f64 = 0.05;
/// Assumed distance of satellites, for the distortion by a wrong base position.
const SATELLITES_M: f64 = 20.2e6;
/// Largest time by which observations may be in the future; clock errors are smaller.
const AHEAD_MS: i64 = 1_000;
/// Code residuals (RMS) above which observations are refused, metres.
const NONSENSE_M: f64 = 100.0;
/// Without a phase position of the base, the reported position is used if it is at most this far from the code
/// position; otherwise the code position is used.
const CODE_TELLS_M: f64 = 10.0;
/// The mean code position of the base is the plain mean of the first 20 code positions; each later one gets the weight
/// 1/20.
const CODE_MEAN: f64 = 20.0;
/// Number of unsuccessful phase searches after which only every tenth epoch is searched.
const SEARCHES: u32 = 10;
/// Half the edge of the cube that is searched for a moving base around its expected position.
const NEARBY_M: f64 = 0.8;
/// Number of past rover positions kept for matching observations of a moving base.
const KEPT_EPOCHS: usize = 64;

/// Largest number of messages that a fault delays at a time; further messages are lost.
const MOST_LATE: usize = 4096;

const DAY_MS: i64 = 86_400_000;
const WEEK_MS: i64 = 7 * DAY_MS;

/// Data from the base, and state of the solution.
#[derive(Clone, Debug, Default)]
pub struct Rover {
    station: Option<u16>,
    /// Reported position of the base's antenna (ECEF).
    told_m: Option<DVec3>,
    moves_since: Option<SimTime>,
    has_biases: bool,
    /// Latest observations of each system.
    sets: BTreeMap<GnssSystem, Set>,
    base: Base,
    /// Time from which corrections have been used without interruption.
    used_since: Option<SimTime>,
    /// Progress to a fixed solution: the sum of `dt / t` in the module's description. A fixed solution needs at least
    /// 1.
    progress: f64,
    last: Option<SimTime>,
    /// Recent positions of the rover's antenna (ECEF, metres).
    track: VecDeque<(SimTime, DVec3)>,
}

#[derive(Clone, Debug)]
struct Set {
    /// Time of the observations.
    at: SimTime,
    observations: Vec<Observation>,
    /// Satellites whose second signal was observed.
    with_second: Vec<u8>,
}

/// Base position, computed from the base's observations.
#[derive(Clone, Debug, Default)]
struct Base {
    /// Time of the latest processed observations.
    at: Option<SimTime>,
    ecef_m: Option<DVec3>,
    is_by_phase: bool,
    is_nonsense: bool,
    /// Mean of positions from code ranges (ECEF); a moving base's are relative to the rover.
    mean_m: DVec3,
    count: f64,
    searches: u32,
}

/// The receiver's time, truncated to milliseconds of GPS time. The time counts of all systems are computed from it.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    /// Time in the run.
    pub at: SimTime,
    /// GPS time, milliseconds.
    pub gps_ms: i64,
    /// GPS minus UTC, seconds.
    pub leap_s: i8,
}

impl Rover {
    /// Processes a message; returns whether it is used. `timeout_s` is the largest age of corrections.
    pub fn hear(
        &mut self,
        now: Now,
        timeout_s: u64,
        message: &Correction,
        satellites: &[Satellite],
    ) -> bool {
        match &message.content {
            Content::MovingBase => {
                self.moves_since = Some(now.at);
                true
            }
            Content::Place { ecef_m, height_m } => {
                if !EARTH_RADIUS_M.contains(&ecef_m.length()) {
                    return false;
                }
                self.follow(message.station);
                let place = Geodetic::from_ecef(*ecef_m);
                let up = GeoOrigin::new(place).ecef_direction(DVec3::Z);
                let told_m = *ecef_m + up * *height_m;
                // A changed position means that another base sends the corrections.
                if self.told_m.is_some_and(|old| (old - told_m).length() > 1e-3) {
                    self.base = Base::default();
                }
                self.told_m = Some(told_m);
                true
            }
            Content::GlonassBiases => {
                self.follow(message.station);
                self.has_biases = true;
                true
            }
            Content::Observations(observations) => {
                let age_ms = age_ms(now, observations);
                let is_of_use = -AHEAD_MS <= age_ms && age_ms <= timeout_s as i64 * 1000;
                let (system, set) = set_of(observations, satellites);
                if !is_of_use || set.is_empty() {
                    return false;
                }
                self.follow(message.station);
                let at = SimTime(now.at.0.saturating_add_signed(-age_ms * 1_000_000));
                if self.sets.get(&system).is_some_and(|old| old.at > at) {
                    return false;
                }
                let second = observations.signals.iter().filter(|s| s.band == bands(system)[1]);
                let with_second = second.map(|signal| signal.svid).collect();
                self.sets.insert(system, Set { at, observations: set, with_second });
                true
            }
            Content::Other | Content::Corrupt => false,
        }
    }

    /// Follows a station. If the station changes, all state is reset except the positions of the rover and the time of
    /// the last message from a moving base.
    fn follow(&mut self, station: u16) {
        if self.station != Some(station) {
            let track = std::mem::take(&mut self.track);
            let moves_since = self.moves_since;
            *self = Self { station: Some(station), track, moves_since, ..Self::default() };
        }
    }

    /// Whether corrections of a satellite at `at` include its second signal; `None` without corrections. `timeout_s` is
    /// the largest age.
    fn correction_of(&self, satellite: &Satellite, at: SimTime, timeout_s: u64) -> Option<bool> {
        let timeout_ns = u128::from(timeout_s) * 1_000_000_000;
        let set = self.sets.get(&satellite.system)?;
        let is_fresh = at.saturating_since(set.at).as_nanos() <= timeout_ns;
        let is_of_it = |o: &Observation| o.satellite.svid == satellite.svid;
        let is_corrected = is_fresh && set.observations.iter().any(is_of_it);
        is_corrected.then(|| set.with_second.contains(&satellite.svid))
    }

    /// Whether carrier phases of a system can be corrected; those of GLONASS only if the station has sent its biases
    /// (message 1230).
    fn has_carriers(&self, system: GnssSystem) -> bool {
        system != GnssSystem::Glonass || self.has_biases
    }

    /// Clears all state, as a restart of the receiver does.
    pub fn restart(&mut self) {
        *self = Self::default();
    }

    /// Effect of corrections on the solution at `at` with the antenna at `here` (ECEF, metres); `last` is the previous
    /// solution. `None` if no corrections are used.
    pub fn step(
        &mut self,
        at: SimTime,
        gps_s: f64,
        here: DVec3,
        timeout_s: u64,
        last: Option<&Solution>,
    ) -> Option<Corrected> {
        self.track.push_back((at, here));
        if self.track.len() > KEPT_EPOCHS {
            self.track.pop_front();
        }
        let before = self.last.replace(at);
        let corrected = self.used_at(at, gps_s, here, timeout_s, before, last);
        if corrected.is_none() {
            self.used_since = None;
            self.progress = 0.0;
        }
        corrected
    }

    fn used_at(
        &mut self,
        at: SimTime,
        gps_s: f64,
        here: DVec3,
        timeout_s: u64,
        before: Option<SimTime>,
        last: Option<&Solution>,
    ) -> Option<Corrected> {
        let timeout_ns = timeout_s * 1_000_000_000;
        let is_fresh = |then: SimTime| at.saturating_since(then).as_nanos() <= timeout_ns.into();
        let newest = self.sets.values().map(|set| set.at).max().filter(|at| is_fresh(*at))?;
        let is_moving = self.moves_since.is_some_and(is_fresh);
        if !is_moving {
            self.told_m?;
        }
        self.find_base(newest, at, gps_s, is_moving);
        if self.base.is_nonsense {
            return None;
        }
        let last = last.filter(|last| matches!(last.fix, Fix::ThreeD(_)))?;
        let is_common = |satellite: &Satellite, for_phase: bool| {
            (!for_phase || self.has_carriers(satellite.system))
                && self.correction_of(satellite, at, timeout_s).is_some()
        };
        let common = |for_phase| last.used().filter(|t| is_common(&t.satellite, for_phase)).count();
        if common(false) < 4 {
            return None;
        }
        let base = match is_moving {
            // Without a phase position of the base there is no vector.
            true => self.base.ecef_m?,
            false => self.base.ecef_m.or(self.told_m)?,
        };
        let shift_m = if is_moving { DVec3::ZERO } else { self.told_m? - base };
        let rover = if is_moving { self.rover_at(newest)? } else { here };
        let baseline_m = rover - base;
        let distance_m = baseline_m.length();
        if distance_m > USED_WITHIN_M {
            return None;
        }
        let age_s = at.saturating_since(newest).as_secs_f64();
        let satellites = common(true) as f64;
        let since = *self.used_since.get_or_insert(at);
        let dt_s = before.map_or(0.0, |before| at.saturating_since(before).as_secs_f64());
        if since < at && satellites >= 5.0 {
            self.progress += dt_s / time_to_fix_s(satellites, distance_m);
        }
        let bent_m = shift_m.length() * distance_m / SATELLITES_M;
        let is_carrier = distance_m <= FLOAT_WITHIN_M
            && satellites >= 5.0
            && at.saturating_since(since).as_secs_f64() >= FLOAT_AFTER_S;
        let is_fixed = self.progress >= 1.0
            && distance_m <= FIXED_WITHIN_M
            && bent_m <= MOST_BENT_M
            && age_s <= FIXED_WITHIN_S;
        let best_fix = match (is_carrier, is_fixed) {
            (true, true) => BestFix::RtkFixed,
            (true, false) => BestFix::RtkFloat,
            _ => BestFix::Differential,
        };
        Some(Corrected {
            best_fix,
            station: self.station.unwrap_or(0),
            of: newest,
            scale: 1.0 + distance_m / 10e3,
            shift_m,
            baseline_m,
            is_moving,
        })
    }

    /// Position of the rover (ECEF, metres) at the time `at` of the base's observations; `None` if `at` is outside the
    /// stored track.
    fn rover_at(&self, at: SimTime) -> Option<DVec3> {
        let place = self.track.partition_point(|(then, _)| *then < at);
        let (after, behind) = self.track.get(place)?;
        if *after == at {
            return Some(*behind);
        }
        let (before, front) = self.track.get(place.checked_sub(1)?)?;
        let share = (at.0 - before.0) as f64 / (after.0 - before.0) as f64;
        Some(front.lerp(*behind, share))
    }

    /// Computes the base position from observations that have not been processed yet.
    fn find_base(&mut self, newest: SimTime, at: SimTime, gps_s: f64, is_moving: bool) {
        if self.base.at == Some(newest) {
            return;
        }
        let fresh = |set: &&Set| newest.saturating_since(set.at).as_millis() < 5;
        let observations: Vec<Observation> =
            self.sets.values().filter(fresh).flat_map(|set| set.observations.clone()).collect();
        let gps_s = gps_s - at.saturating_since(newest).as_secs_f64();
        let epoch = Epoch { gps_s, observations: &observations };
        let rover = self.rover_at(newest).or_else(|| self.track.back().map(|(_, here)| *here));
        let told_m = self.told_m.filter(|_| !is_moving);
        let base = &mut self.base;
        base.at = Some(newest);
        base.is_nonsense = false;
        let known = if is_moving { None } else { base.ecef_m.filter(|_| base.is_by_phase) };
        for place in [known, told_m].into_iter().flatten() {
            if epoch.is_at(place) {
                base.ecef_m = Some(place);
                base.is_by_phase = true;
                return;
            }
        }
        if is_moving {
            base.ecef_m = None;
        }
        let Some(from) = told_m.or(rover) else { return };
        let Some(by_code) = epoch.by_code(from) else { return };
        if by_code.rms_m > NONSENSE_M || !EARTH_RADIUS_M.contains(&by_code.ecef_m.length()) {
            base.is_nonsense = true;
            return;
        }
        // A moving base is on the same robot, so it hardly moves relative to the rover.
        let origin = if is_moving { rover.unwrap_or_default() } else { DVec3::ZERO };
        base.count = (base.count + 1.0).min(CODE_MEAN);
        base.mean_m += (by_code.ecef_m - origin - base.mean_m) / base.count;
        let near = base.mean_m + origin;
        base.searches += 1;
        // A moving base is near its last position relative to the rover, unless the robot has rotated much.
        let nearby = (is_moving && base.is_by_phase).then(|| epoch.by_phase(near, NEARBY_M));
        let is_time = base.searches <= SEARCHES || base.searches.is_multiple_of(10);
        let by_phase = nearby
            .flatten()
            .or_else(|| is_time.then(|| epoch.by_phase(near, AROUND_CODE_M)).flatten());
        if let Some(place) = by_phase {
            base.searches = 0;
            base.ecef_m = Some(place);
            base.is_by_phase = true;
            // The next search starts at this position.
            (base.mean_m, base.count) = (place - origin, CODE_MEAN);
        } else if !is_moving && !base.is_by_phase {
            let is_wrong = told_m.is_some_and(|told| (told - near).length() > CODE_TELLS_M);
            base.ecef_m = is_wrong.then_some(near);
        }
    }
}

/// Time from the first corrections to a fixed solution.
fn time_to_fix_s(satellites: f64, distance_m: f64) -> f64 {
    8.0 * libm::pow(20.0 / satellites, 1.5) * (1.0 + distance_m / 10e3)
}

/// Age of observations, ms. Their time counts milliseconds of the week or of the day.
fn age_ms(now: Now, observations: &Observations) -> i64 {
    let (count_ms, period_ms) = match observations.system {
        System::Gps | System::Galileo => (now.gps_ms, WEEK_MS),
        // BeiDou time is 14 s behind GPS time.
        System::Beidou => (now.gps_ms - 14_000, WEEK_MS),
        // GLONASS counts the time of day in Moscow (UTC + 3 h).
        System::Glonass => (now.gps_ms - i64::from(now.leap_s) * 1000 + 3 * 3_600_000, DAY_MS),
    };
    let age = count_ms - i64::from(observations.epoch_ms);
    (age + period_ms / 2).rem_euclid(period_ms) - period_ms / 2
}

/// System and observations of a message. Satellites that are not in `satellites` are left out.
fn set_of(observations: &Observations, satellites: &[Satellite]) -> (GnssSystem, Vec<Observation>) {
    let system = match observations.system {
        System::Gps => GnssSystem::Gps,
        System::Glonass => GnssSystem::Glonass,
        System::Galileo => GnssSystem::Galileo,
        System::Beidou => GnssSystem::Beidou,
    };
    let [first, second] = bands(system);
    let of =
        |svid: u8, band: u8| observations.signals.iter().find(|s| (s.svid, s.band) == (svid, band));
    let set =
        satellites.iter().filter(|satellite| satellite.system == system).filter_map(|satellite| {
            let one = of(satellite.svid, first)?;
            let two = of(satellite.svid, second);
            let phase = |signal_m: Option<f64>, is_second| {
                Some((Carrier::new(satellite, is_second).frequency_hz, signal_m?))
            };
            let phases = (system != GnssSystem::Glonass)
                .then(|| Some([phase(one.phase_m, false)?, phase(two?.phase_m, true)?]))
                .flatten();
            Some(Observation { satellite: *satellite, code_m: one.pseudorange_m, phases })
        });
    (system, set.collect())
}

/// RINEX band numbers of a system's first and second signal.
fn bands(system: GnssSystem) -> [u8; 2] {
    match system {
        GnssSystem::Gps | GnssSystem::Glonass => [1, 2],
        GnssSystem::Galileo => [1, 7],
        GnssSystem::Beidou => [2, 7],
    }
}

impl Gnss {
    /// Processes a message of a base from any port; returns whether it is used.
    pub(super) fn hear_correction(&mut self, now: SimTime, message: &Correction) -> bool {
        let told = self.last.as_ref().map(|(_, stamp)| stamp.leap_s);
        let gps_ns = self.epoch.gps_ns(now);
        let now = Now {
            at: SimTime(now.0.saturating_sub((gps_ns % 1_000_000) as u64)),
            gps_ms: (gps_ns / 1_000_000) as i64,
            leap_s: told.unwrap_or(self.settings.firmware_leap_s),
        };
        let timeout_s = self.store.get(key::CONSTR_DGNSSTO);
        let satellites = &self.navigator.constellation().satellites;
        self.rover.hear(now, timeout_s, message, satellites)
    }

    /// Effect of corrections on the solution of an epoch; `None` if no corrections are used or if the rig sets the kind
    /// of fix.
    pub(super) fn corrected_at(&mut self, at: SimTime, view: &SkyView) -> Option<Corrected> {
        if self.settings.receiver.acquisition.best_fix.is_some() {
            return None;
        }
        let timeout_s = self.store.get(key::CONSTR_DGNSSTO);
        let last = self.last.as_ref().map(|(solution, _)| solution);
        let gps_s = self.epoch.gps_seconds(at);
        self.rover.step(at, gps_s, view.position.to_ecef(), timeout_s, last)
    }

    /// Records which corrections a solution uses for each satellite.
    pub(super) fn note_corrections(&self, s: &mut Solution) {
        let Fix::ThreeD(grade) = s.fix else { return };
        let timeout_s = self.store.get(key::CONSTR_DGNSSTO);
        let is_carrier = matches!(grade, BestFix::RtkFloat | BestFix::RtkFixed);
        let (at, has_base) = (s.at, s.baseline.is_some());
        for tracked in s.satellites.iter_mut().filter(|tracked| tracked.is_used) {
            let system = tracked.satellite.system;
            let (source, has_second) = match grade {
                BestFix::Standalone => continue,
                _ if has_base => {
                    let found = self.rover.correction_of(&tracked.satellite, at, timeout_s);
                    let Some(has_second) = found else { continue };
                    (CorrectionSource::Rtcm, has_second)
                }
                // The rig sets the kind of fix. In a differential solution, SBAS corrects GPS; in a carrier solution, a
                // base corrects all systems.
                BestFix::Differential if system == GnssSystem::Gps => {
                    (CorrectionSource::Sbas, false)
                }
                BestFix::Differential => continue,
                _ => (CorrectionSource::Rtcm, true),
            };
            let has_carrier = is_carrier && (!has_base || self.rover.has_carriers(system));
            tracked.correction = SatelliteCorrection { source, has_carrier, has_second };
        }
    }

    /// The first fault of corrections that is active at `at`, and the number of its active time window.
    fn correction_fault_at(&self, at: SimTime) -> Option<(&Timed<GnssFault>, u64)> {
        let is_of_corrections = |fault: &&Timed<GnssFault>| {
            matches!(
                fault.kind,
                GnssFault::CorrectionsLost
                    | GnssFault::CorrectionsDamaged
                    | GnssFault::CorrectionsLate { .. }
                    | GnssFault::WrongBase { .. }
            )
        };
        let mut faults = self.faults.iter().filter(is_of_corrections);
        faults.find_map(|fault| Some((fault, fault.schedule.window_at(at)?)))
    }

    /// Effect of a fault of corrections on a rover's epoch at `at`.
    pub(super) fn correction_faults_at(&self, at: SimTime) -> Option<FaultEffect> {
        if self.settings.receiver.acquisition.best_fix.is_some() {
            return None;
        }
        let (fault, window) = self.correction_fault_at(at)?;
        let kind = match fault.kind {
            GnssFault::CorrectionsLate { by_ns } => EffectKind::LateReply { by_ns },
            GnssFault::WrongBase { offset_enu_m } => {
                let offset_m = DVec3::from(offset_enu_m).length();
                EffectKind::Moved { millimetres: (offset_m * 1e3).round() as u64 }
            }
            _ => EffectKind::NoCorrections,
        };
        Some(FaultEffect { fault: fault.fault, window, kind })
    }

    /// Delays or drops a message that arrives now, if a fault demands it. Returns true if the message was delayed or
    /// dropped; the caller must then not process it.
    pub(super) fn holds_back(&mut self, now: SimTime, message: &[u8]) -> bool {
        match self.correction_fault_at(now).map(|(fault, _)| fault.kind) {
            Some(GnssFault::CorrectionsLost) => true,
            Some(GnssFault::CorrectionsDamaged) => {
                // The length field is intact, so the receiver reports a message with a wrong CRC.
                if let Some(correction) = Correction::parse(message) {
                    self.report_correction(now, &correction, Heard::Damaged);
                }
                true
            }
            Some(GnssFault::CorrectionsLate { by_ns }) => {
                if self.late_corrections.len() < MOST_LATE {
                    self.late_corrections.push_back((SimTime(now.0 + by_ns), message.to_vec()));
                }
                true
            }
            _ => false,
        }
    }

    /// Processes delayed messages that are due.
    pub(super) fn take_late_corrections(&mut self, now: SimTime) {
        while let Some((_, message)) = self.late_corrections.pop_front_if(|(due, _)| *due <= now) {
            self.take_correction(now, &message);
        }
    }

    /// Returns `message`, with a wrong base position if the fault `WrongBase` is active.
    pub(super) fn as_told(&self, now: SimTime, mut message: Correction) -> Correction {
        if let Content::Place { ecef_m, .. } = &mut message.content
            && let Some((fault, _)) = self.correction_fault_at(now)
            && let GnssFault::WrongBase { offset_enu_m } = fault.kind
        {
            let base = GeoOrigin::new(Geodetic::from_ecef(*ecef_m));
            *ecef_m += base.ecef_direction(DVec3::from(offset_enu_m));
        }
        message
    }
}
