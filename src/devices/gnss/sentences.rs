//! Encodes a solution as NMEA sentences.

use super::clock::Stamp;
use super::profile::{GnssDialect, GnssProfile, NmeaVersion, SentenceKind};
use crate::sensors::gnss::corrected::Baseline;
use crate::sensors::gnss::navigator::{Fix, Solution, TrackedSatellite};
use crate::sensors::gnss::settings::{BestFix, GnssSystem};
use crate::sensors::imu::earth::world_magnetic_field_gauss;
use crate::wire::nmea::{
    Content, Date, Gbs, Gga, Gll, Gns, Gsa, Gst, Gsv, Number, Position, RawSentence, Rmc,
    SatelliteInView, Sentence, Tail, Time, Vtg, Zda,
};

const KNOTS_PER_M_S: f64 = 3600.0 / 1852.0;
/// Largest dilution of precision in sentences with two decimals; an unknown one is reported as this value. With one
/// decimal, the value is 99.9.
const NO_DOP: f64 = 99.99;
/// NMEA's number of QZSS in GSA.
const QZSS: u8 = 5;
/// Number in GSV of NMEA 4.11 for satellites without a tracked signal.
const NO_SIGNAL: &str = "0";

/// Writes NMEA sentences with the present settings.
pub struct Writer<'a> {
    /// Firmware profile.
    pub profile: &'a GnssProfile,
    /// NMEA version.
    pub version: NmeaVersion,
    /// High precision: minutes with seven decimals, metres with three.
    pub high_precision: bool,
    /// Systems received, in the profile's order.
    pub systems: &'a [GnssSystem],
    /// Whether GSA and GSV report QZSS, of which no satellite is received.
    pub has_qzss: bool,
    /// Speed below which the course is empty, m/s.
    pub min_course_speed_m_s: f64,
    /// Filter set by the host.
    pub filter: NmeaFilter,
    /// Garmin: values kept between epochs.
    pub memory: Memory,
}

/// Values that a Garmin keeps from one epoch to the next for its sentences.
#[derive(Clone, Copy, Debug, Default)]
pub struct Memory {
    /// Course of the last motion, degrees.
    pub course_deg: f64,
    /// Magnetic declination at the last position, degrees, east positive.
    pub declination_deg: Option<f64>,
}

/// Speed above which a Garmin updates its course, m/s. Captures show that a Garmin keeps the course at low speed;
/// the value is an engineering choice.
const MOVING_M_S: f64 = 0.5;

impl Memory {
    /// The values after an epoch with the solution `s`; unchanged without a fix.
    pub fn after(self, s: &Solution, date: jiff::civil::Date) -> Self {
        if !s.fix.is_some() {
            return self;
        }
        let field = world_magnetic_field_gauss(&s.position, date);
        let is_moving = s.ground_speed_m_s() >= MOVING_M_S;
        Self {
            course_deg: if is_moving { s.course_deg() } else { self.course_deg },
            declination_deg: Some(libm::atan2(field.y, field.x).to_degrees()),
        }
    }
}

/// Filter settings for sentences.
#[derive(Clone, Debug, Default)]
pub struct NmeaFilter {
    /// Talker that replaces the default one.
    pub main_talker: Option<&'static str>,
    /// Whether GSV sentences have the main talker, too.
    pub is_gsv_main: bool,
    /// Whether sentences report only GPS satellites.
    pub is_gps_only: bool,
    /// Systems whose satellites are left out of sentences.
    pub hides: Vec<GnssSystem>,
    /// Whether sentences report the course at low speed, too.
    pub is_course_kept: bool,
}

impl Writer<'_> {
    /// Sentences of the kind `kind`: several for GSA and GSV, otherwise one. PGRMT is sent only in the first second of
    /// a minute.
    pub fn lines(&self, kind: SentenceKind, s: &Solution, stamp: &Stamp) -> Vec<Vec<u8>> {
        let one = |content: Content| vec![Sentence::new(self.talker(), content).to_bytes()];
        match kind {
            SentenceKind::Rmc => one(self.rmc(s, stamp).into()),
            SentenceKind::Vtg => one(self.vtg(s).into()),
            SentenceKind::Gga => one(self.gga(s, stamp).into()),
            SentenceKind::Gll => one(self.gll(s, stamp).into()),
            SentenceKind::Gns => one(self.gns(s, stamp).into()),
            SentenceKind::Gst => one(self.gst(s, stamp).into()),
            SentenceKind::Gbs => one(self.gbs(s, stamp).into()),
            SentenceKind::Zda => one(self.zda(s, stamp).into()),
            SentenceKind::Gsa => self.gsa(s),
            SentenceKind::Gsv => self.gsv(s),
            SentenceKind::Pgrme => vec![self.pgrme(s)],
            SentenceKind::Pgrmt if stamp.second() == 0 => vec![self.pgrmt()],
            SentenceKind::Pgrmt => Vec::new(),
        }
    }

    /// The talker of sentences that cover all systems.
    pub fn talker(&self) -> &'static str {
        match (self.filter.main_talker, self.systems) {
            (Some(chosen), _) => chosen,
            (None, _) if self.filter.is_gps_only => "GP",
            (None, [one]) => talker(*one),
            (None, _) => "GN",
        }
    }

    /// Systems that sentences report: their satellites have numbers in this NMEA version, and the host's filter does
    /// not hide them.
    fn shown_systems(&self) -> impl Iterator<Item = GnssSystem> {
        let is_new = self.version >= NmeaVersion::V4_10;
        self.systems
            .iter()
            .copied()
            .filter(move |s| is_new || matches!(s, GnssSystem::Gps | GnssSystem::Glonass))
            .filter(move |s| !self.filter.is_gps_only || *s == GnssSystem::Gps)
            .filter(move |s| !self.filter.hides.contains(s))
    }

    fn time(&self, s: &Solution, stamp: &Stamp) -> Option<Time> {
        let t = stamp.utc;
        let decimals = self.profile.nmea.time_decimals;
        let time = Time::new(
            t.hour() as u8,
            t.minute() as u8,
            stamp.second(),
            t.subsec_nanosecond() as u32,
            decimals,
        );
        s.is_time_known.then_some(time)
    }

    fn position(&self, s: &Solution) -> Option<Position> {
        let decimals = if self.high_precision { 7 } else { self.profile.nmea.position_decimals };
        let at = s.position;
        s.fix.is_some().then(|| Position::from_degrees(at.latitude_deg, at.longitude_deg, decimals))
    }

    fn metres(&self, value: f64) -> Number {
        let decimals = if self.high_precision { 3 } else { self.profile.nmea.altitude_decimals };
        Number::from_f64(value, decimals)
    }

    fn dop(&self, value: Option<f64>) -> Option<Number> {
        let decimals = self.profile.nmea.dop_decimals;
        let none = if decimals == 1 { 99.9 } else { NO_DOP };
        Some(Number::from_f64(value.unwrap_or(none).min(none), decimals))
    }

    fn mode(&self, letter: char) -> Tail<char> {
        if self.version < NmeaVersion::V2_3 { Tail::Absent } else { Tail::Value(letter) }
    }

    fn navigation_status(&self) -> Tail<char> {
        if self.version < NmeaVersion::V4_10 { Tail::Absent } else { Tail::Value('V') }
    }

    fn satellites(&self, s: &Solution) -> Option<Number> {
        let used = s.used().count().min(self.profile.nmea.max_satellites.into());
        Some(Number::whole(used as u64).padded(2))
    }

    /// Speed as a number: `m_s` times `factor`; Garmin pads with zeros.
    fn speed(&self, m_s: f64, factor: f64) -> Number {
        match self.profile.receiver.dialect {
            GnssDialect::Garmin => Number::from_f64(m_s * factor, 1).padded(3),
            _ => Number::from_f64(m_s * factor, 3),
        }
    }

    fn course(&self, s: &Solution) -> Option<Number> {
        if self.profile.receiver.dialect == GnssDialect::Garmin {
            return Some(within_turn(self.memory.course_deg, 1).padded(3));
        }
        let is_moving =
            self.filter.is_course_kept || s.ground_speed_m_s() >= self.min_course_speed_m_s;
        is_moving.then(|| within_turn(s.course_deg(), 2))
    }

    pub(super) fn rmc(&self, s: &Solution, stamp: &Stamp) -> Rmc {
        let has_fix = s.fix.is_some();
        let t = stamp.utc;
        let date = Date::new(t.year().unsigned_abs(), t.month() as u8, t.day() as u8);
        let declination = self.declination_deg();
        Rmc {
            time: self.time(s, stamp),
            status: Some(status(s.fix)),
            position: self.position(s),
            speed_kn: has_fix.then(|| self.speed(s.ground_speed_m_s(), KNOTS_PER_M_S)),
            course_deg: if has_fix { self.course(s) } else { None },
            date: s.is_time_known.then_some(date),
            declination_deg: declination.map(|d| Number::from_f64(d.abs(), 1).padded(3)),
            declination_side: declination.map(|d| if d < 0.0 { 'W' } else { 'E' }),
            mode: self.mode(self.long_mode(s.fix)),
            navigation_status: self.navigation_status(),
        }
    }

    /// Magnetic declination, degrees, east positive; `None` if the receiver reports none.
    fn declination_deg(&self) -> Option<f64> {
        self.profile.nmea.declination_deg.or(self.memory.declination_deg)
    }

    /// VTG. A Garmin reports whole degrees, the magnetic course as well, and four digits of km/h.
    fn vtg(&self, s: &Solution) -> Vtg {
        if !s.fix.is_some() {
            return Vtg { mode: self.mode('N'), ..Vtg::default() };
        }
        let speed_km_h = self.speed(s.ground_speed_m_s(), 3.6);
        let (course_true_deg, course_magnetic_deg, speed_km_h) =
            if self.profile.receiver.dialect == GnssDialect::Garmin {
                let course =
                    |from_deg: f64| within_turn(self.memory.course_deg - from_deg, 0).padded(3);
                (Some(course(0.0)), self.declination_deg().map(course), speed_km_h.padded(4))
            } else {
                (self.course(s), None, speed_km_h)
            };
        Vtg {
            course_true_deg,
            true_unit: Some('T'),
            course_magnetic_deg,
            magnetic_unit: Some('M'),
            speed_kn: Some(self.speed(s.ground_speed_m_s(), KNOTS_PER_M_S)),
            knots_unit: Some('N'),
            speed_km_h: Some(speed_km_h),
            km_h_unit: Some('K'),
            mode: self.mode(short_mode(s.fix)),
        }
    }

    pub(super) fn gga(&self, s: &Solution, stamp: &Stamp) -> Gga {
        let quality = match s.fix {
            Fix::None => 0,
            Fix::DeadReckoning => 6,
            Fix::TwoD | Fix::ThreeD(BestFix::Standalone) => 1,
            Fix::ThreeD(BestFix::Differential) => 2,
            Fix::ThreeD(BestFix::RtkFloat) => 5,
            Fix::ThreeD(BestFix::RtkFixed) => 4,
        };
        let has_fix = s.fix.is_some();
        let (age, station) = self.corrections(s);
        Gga {
            time: self.time(s, stamp),
            position: self.position(s),
            quality: Some(Number::whole(quality)),
            satellites: self.satellites(s),
            hdop: self.dop(shown_dop(s, |dop| dop.horizontal())),
            altitude_m: self.altitude(s),
            altitude_unit: has_fix.then_some('M'),
            geoid_separation_m: has_fix.then(|| self.metres(s.geoid_separation_m)),
            separation_unit: has_fix.then_some('M'),
            correction_age_s: age,
            station,
        }
    }

    fn altitude(&self, s: &Solution) -> Option<Number> {
        let altitude = s.position.altitude_m - s.geoid_separation_m;
        s.fix.is_some().then(|| self.metres(altitude))
    }

    fn gll(&self, s: &Solution, stamp: &Stamp) -> Gll {
        Gll {
            position: self.position(s),
            time: self.time(s, stamp),
            status: Some(status(s.fix)),
            mode: self.mode(short_mode(s.fix)),
        }
    }

    fn gns(&self, s: &Solution, stamp: &Stamp) -> Gns {
        let has_fix = s.fix.is_some();
        let (age, station) = self.corrections(s);
        let letter = self.long_mode(s.fix);
        let used = |system: GnssSystem| s.used().any(|t| t.satellite.system == system);
        let of = |system: GnssSystem| match s.fix {
            Fix::DeadReckoning => 'E',
            _ if used(system) => letter,
            _ => 'N',
        };
        let mut modes: String =
            [GnssSystem::Gps, GnssSystem::Glonass].into_iter().map(of).collect();
        if self.version >= NmeaVersion::V4_10 {
            modes.extend([GnssSystem::Galileo, GnssSystem::Beidou].map(of));
        }
        if self.version >= NmeaVersion::V4_11 {
            modes.push('N'); // QZSS is not received
        }
        Gns {
            time: self.time(s, stamp),
            position: self.position(s),
            modes: Some(modes),
            satellites: self.satellites(s),
            hdop: self.dop(shown_dop(s, |dop| dop.horizontal())),
            altitude_m: self.altitude(s),
            geoid_separation_m: has_fix.then(|| self.metres(s.geoid_separation_m)),
            correction_age_s: age,
            station,
            navigation_status: self.navigation_status(),
        }
    }

    fn gst(&self, s: &Solution, stamp: &Stamp) -> Gst {
        let time = self.time(s, stamp);
        if !s.fix.is_some() {
            return Gst { time, ..Gst::default() };
        }
        let std = |variance: f64| Some(self.metres(variance.max(0.0).sqrt()));
        let c = &s.covariance_m2;
        Gst {
            time,
            range_rms_m: Some(self.metres(s.uere_m)),
            latitude_m: std(c.y_axis.y),
            longitude_m: std(c.x_axis.x),
            altitude_m: std(c.z_axis.z),
            ..Gst::default()
        }
    }

    fn gbs(&self, s: &Solution, stamp: &Stamp) -> Gbs {
        let errors = self.gst(s, stamp);
        let has_tail = self.version >= NmeaVersion::V4_10;
        let tail = || if has_tail { Tail::Empty } else { Tail::Absent };
        Gbs {
            time: errors.time,
            latitude_error_m: errors.latitude_m,
            longitude_error_m: errors.longitude_m,
            altitude_error_m: errors.altitude_m,
            system: tail(),
            signal: tail(),
            ..Gbs::default()
        }
    }

    fn zda(&self, s: &Solution, stamp: &Stamp) -> Zda {
        let t = stamp.utc;
        let number =
            |value: u64, digits| s.is_time_known.then(|| Number::whole(value).padded(digits));
        Zda {
            time: self.time(s, stamp),
            day: number(t.day() as u64, 2),
            month: number(t.month() as u64, 2),
            year: number(t.year() as u64, 4),
            zone_hours: Some(Number::whole(0).padded(2)),
            zone_minutes: Some(Number::whole(0).padded(2)),
        }
    }

    fn gsa(&self, s: &Solution) -> Vec<Vec<u8>> {
        let mode = match s.fix {
            Fix::None => 1,
            Fix::DeadReckoning | Fix::TwoD => 2,
            Fix::ThreeD(_) => 3,
        };
        let line = |system: u8, satellites: [Option<Number>; 12]| {
            let content = Gsa {
                operation: Some('A'),
                navigation_mode: Some(Number::whole(mode)),
                satellites,
                pdop: self.dop(shown_dop(s, |dop| dop.position())),
                hdop: self.dop(shown_dop(s, |dop| dop.horizontal())),
                vdop: self.dop(shown_dop(s, |dop| dop.vertical())),
                system: if self.version < NmeaVersion::V4_10 {
                    Tail::Absent
                } else {
                    Tail::Value(system.to_string())
                },
            };
            Sentence::new(self.talker(), content).to_bytes()
        };
        let line_of = |system: GnssSystem| {
            let mut slots = [None; 12];
            let used = s.used().filter(|t| t.satellite.system == system);
            for (slot, tracked) in slots.iter_mut().zip(used) {
                *slot = Some(number_of(tracked));
            }
            line(system as u8 + 1, slots)
        };
        let qzss = self.has_qzss.then(|| line(QZSS, [None; 12]));
        self.shown_systems().map(line_of).chain(qzss).collect()
    }

    /// GSV up to NMEA 4.10: for each signal a group with all satellites in view. From NMEA 4.11 on: as in
    /// [`Self::gsv_by_signal`].
    fn gsv(&self, s: &Solution) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        for system in self.shown_systems() {
            let all = &self.profile.nmea.signals;
            let Some((_, signals)) = all.iter().find(|(other, _)| *other == system) else {
                continue;
            };
            let in_view: Vec<_> =
                s.satellites.iter().filter(|t| t.satellite.system == system).collect();
            if self.version >= NmeaVersion::V4_11 {
                self.gsv_by_signal(talker(system), &in_view, signals, &mut lines);
                continue;
            }
            let shown = if self.version < NmeaVersion::V4_10 || in_view.is_empty() {
                &signals[..1]
            } else {
                &signals[..]
            };
            for (index, signal) in shown.iter().enumerate() {
                self.gsv_group(talker(system), &in_view, index, signal, &mut lines);
            }
        }
        if self.has_qzss {
            self.gsv_group("GQ", &[], 0, NO_SIGNAL, &mut lines);
        }
        lines
    }

    /// GSV of a system: for each signal, in the order of their numbers, the satellites that are tracked on it, then the
    /// satellites that are not tracked. Empty groups are left out; if all are empty, only the last one is sent.
    fn gsv_by_signal(
        &self,
        talker: &str,
        in_view: &[&TrackedSatellite],
        signals: &[String],
        lines: &mut Vec<Vec<u8>>,
    ) {
        let before = lines.len();
        let mut ordered: Vec<(usize, &String)> = signals.iter().enumerate().collect();
        ordered.sort_by_key(|(_, signal)| *signal);
        for (index, signal) in ordered {
            let tracked: Vec<_> =
                in_view.iter().copied().filter(|t| t.cno_dbhz[index].is_some()).collect();
            if !tracked.is_empty() {
                self.gsv_group(talker, &tracked, index, signal, lines);
            }
        }
        let is_untracked =
            |t: &&TrackedSatellite| t.cno_dbhz.iter().take(signals.len()).all(Option::is_none);
        let untracked: Vec<_> = in_view.iter().copied().filter(is_untracked).collect();
        if !untracked.is_empty() || lines.len() == before {
            self.gsv_group(talker, &untracked, 0, NO_SIGNAL, lines);
        }
    }

    fn gsv_group(
        &self,
        talker: &str,
        in_view: &[&TrackedSatellite],
        index: usize,
        signal: &str,
        lines: &mut Vec<Vec<u8>>,
    ) {
        let tail = if self.version < NmeaVersion::V4_10 {
            Tail::Absent
        } else if signal.is_empty() {
            Tail::Empty
        } else {
            Tail::Value(signal.to_string())
        };
        let messages = in_view.len().div_ceil(4).max(1);
        for message in 0..messages {
            let rows = in_view.iter().skip(message * 4).take(4).map(|t| self.row(t, index));
            let content = Gsv {
                messages: Some(Number::whole(messages as u64)),
                message: Some(Number::whole(message as u64 + 1)),
                in_view: Some(Number::whole(in_view.len() as u64).padded(2)),
                satellites: rows.collect(),
                signal: tail.clone(),
            };
            let talker = if self.filter.is_gsv_main { self.talker() } else { talker };
            lines.push(Sentence::new(talker, content).to_bytes());
        }
    }

    /// A satellite in view, with the strength of its first (`index` 0) or second signal.
    pub(super) fn row(&self, t: &TrackedSatellite, index: usize) -> SatelliteInView {
        let whole = |value: f64, digits| Number::from_f64(value, 0).padded(digits);
        SatelliteInView {
            svid: Some(number_of(t)),
            elevation_deg: Some(whole(t.elevation_deg, 2)),
            azimuth_deg: Some(Number::whole(t.azimuth_deg.round() as u64 % 360).padded(3)),
            cno_dbhz: t.cno_dbhz[index]
                .or(self.no_signal())
                .map(|cno| whole(cno.clamp(0.0, 99.0), 2)),
        }
    }

    /// Signal strength in GSV of a satellite that is not received: empty, or 00 on a Garmin.
    fn no_signal(&self) -> Option<f64> {
        (self.profile.receiver.dialect == GnssDialect::Garmin).then_some(0.0)
    }

    fn pgrme(&self, s: &Solution) -> Vec<u8> {
        let (h, v) = (s.horizontal_accuracy_m(), s.vertical_accuracy_m());
        let metres = |value: f64| match s.fix {
            Fix::None => String::new(),
            _ => Number::from_f64(value, 1).to_string(),
        };
        let unit = "M".to_string();
        let fields = [
            metres(h),
            unit.clone(),
            metres(v),
            unit.clone(),
            metres((h * h + v * v).sqrt()),
            unit,
        ];
        RawSentence::new("PGRME", fields).to_bytes()
    }

    fn pgrmt(&self) -> Vec<u8> {
        let mut fields = vec![self.profile.identity.software.clone()];
        fields.resize(9, String::new());
        RawSentence::new("PGRMT", fields).to_bytes()
    }

    /// Age of corrections, seconds, and station number; both `None` without corrections. A Garmin reports neither; a u-blox
    /// reports no age for SBAS.
    fn corrections(&self, s: &Solution) -> (Option<Number>, Option<Number>) {
        if let Some(Baseline { by, .. }) = s.baseline {
            let age_s = s.at.saturating_since(by.of).as_secs_f64();
            let station = Number::whole(by.station.into()).padded(4);
            return (Some(Number::from_f64(age_s, 1)), Some(station));
        }
        let station = Some(Number::whole(0).padded(4));
        match s.fix {
            _ if self.profile.receiver.dialect == GnssDialect::Garmin => (None, None),
            Fix::ThreeD(BestFix::Differential) => (None, station),
            Fix::ThreeD(BestFix::RtkFloat | BestFix::RtkFixed) => {
                (Some(Number::from_f64(1.0, 1)), station)
            }
            _ => (None, None),
        }
    }

    /// Mode character of RMC and GNS, which reports RTK from NMEA 4.10 on.
    fn long_mode(&self, fix: Fix) -> char {
        match fix {
            Fix::ThreeD(BestFix::RtkFloat) if self.version >= NmeaVersion::V4_10 => 'F',
            Fix::ThreeD(BestFix::RtkFixed) if self.version >= NmeaVersion::V4_10 => 'R',
            _ => short_mode(fix),
        }
    }
}

/// Mode character of GLL and VTG.
fn short_mode(fix: Fix) -> char {
    match fix {
        Fix::None => 'N',
        Fix::DeadReckoning => 'E',
        Fix::TwoD | Fix::ThreeD(BestFix::Standalone) => 'A',
        Fix::ThreeD(_) => 'D',
    }
}

fn status(fix: Fix) -> char {
    if fix.is_some() { 'A' } else { 'V' }
}

/// The dilution of precision that `pick` selects, as reported; `None` without a fix from satellites.
pub fn shown_dop(
    s: &Solution,
    pick: impl Fn(&crate::sensors::gnss::dop::Dop) -> f64,
) -> Option<f64> {
    let by_satellites = matches!(s.fix, Fix::TwoD | Fix::ThreeD(_));
    if by_satellites { s.dop.as_ref().map(pick) } else { None }
}

/// An angle rounded to `decimals` and wrapped to the range from 0 to below 360 degrees.
fn within_turn(degrees: f64, decimals: u8) -> Number {
    let unit = 10_f64.powi(decimals.into());
    Number::from_f64((degrees * unit).round().rem_euclid(360.0 * unit) / unit, decimals)
}

/// Talker of sentences for one system.
fn talker(system: GnssSystem) -> &'static str {
    match system {
        GnssSystem::Gps => "GP",
        GnssSystem::Glonass => "GL",
        GnssSystem::Galileo => "GA",
        GnssSystem::Beidou => "GB",
    }
}

/// NMEA's number of a satellite: from 65 for GLONASS, else the system's own.
fn number_of(tracked: &TrackedSatellite) -> Number {
    let svid = u64::from(tracked.satellite.svid);
    let offset = if tracked.satellite.system == GnssSystem::Glonass { 64 } else { 0 };
    Number::whole(svid + offset).padded(2)
}
