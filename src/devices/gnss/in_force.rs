//! Effect of the present settings on the navigation filter and on NMEA sentences.

use super::Gnss;
use super::items::{first_signals, key, signal_key, system_key};
use super::profile::{GnssDialect, NmeaVersion};
use super::sentences::{NmeaFilter, Writer};
use crate::sensors::gnss::navigator::{FixMode, Motion, NavigationLimits};
use crate::sensors::gnss::settings::{BestFix, GnssSystem};

impl Gnss {
    /// Satellite systems that the receiver uses. A system must be enabled, and so must at least one of its signals in
    /// the first band.
    pub(super) fn systems(&self) -> Vec<GnssSystem> {
        let is_on = |system: &GnssSystem| {
            let mut signals = first_signals(*system);
            self.store.is_set(system_key(*system)) && signals.any(|key| self.store.is_set(key))
        };
        self.profile.systems().filter(is_on).collect()
    }

    pub(super) fn signals_of(&self, system: GnssSystem) -> usize {
        let known = self.profile.nmea.signals.iter().find(|(other, _)| *other == system);
        let known = known.map_or(0, |(_, signals)| signals.len());
        if self.store.is_set(signal_key(system, true)) { known } else { known.min(1) }
    }

    pub(super) fn signals_of_systems(&self) -> [usize; 4] {
        let mut signals = [0; 4];
        for system in self.systems() {
            signals[system as usize] = self.signals_of(system);
        }
        signals
    }

    /// Settings of the navigation filter.
    pub(super) fn limits(&self) -> NavigationLimits {
        let get = |item| self.store.get(item);
        let systems = self.systems();
        let mask_rad = (get(key::INFIL_MINELEV) as i8 as f64).to_radians();
        let open = NavigationLimits {
            fix_mode: match get(key::FIXMODE) {
                1 => FixMode::TwoD,
                2 => FixMode::ThreeD,
                _ => FixMode::Auto,
            },
            altitude_2d_m: f64::from(get(key::CONSTR_ALT) as i32) * 0.01,
            ..NavigationLimits::new(systems.clone(), mask_rad)
        };
        if !self.profile.receiver.dialect.is_ublox() {
            return open;
        }
        let has_one = |system: &GnssSystem| !self.store.is_set(signal_key(*system, true));
        let tenths = |item| get(item) as f64 * 0.1;
        // The limit of the time accuracy is in metres: a time multiplied by the speed of light. The receiver's time is
        // accurate to 25 ns, which is 7.5 m.
        let is_time_good = get(key::OUTFIL_TACC) as f64 >= 7.5;
        NavigationLimits {
            single_signal: systems.into_iter().filter(has_one).collect(),
            min_cno_dbhz: get(key::INFIL_MINCNO) as f64,
            min_satellites: get(key::INFIL_MINSVS) as usize,
            max_satellites: get(key::INFIL_MAXSVS) as usize,
            strong: (get(key::INFIL_NCNOTHRS) as usize, get(key::INFIL_CNOTHRS) as f64),
            is_first_fix_3d: self.store.is_set(key::INIFIX3D),
            best_fix: match get(key::DGNSSMODE) {
                2 => BestFix::RtkFloat,
                _ => BestFix::RtkFixed,
            },
            motion: motion(get(key::DYNMODEL)),
            valid: [
                if is_time_good { tenths(key::OUTFIL_PDOP) } else { 0.0 },
                tenths(key::OUTFIL_TDOP),
                get(key::OUTFIL_PACC) as f64,
            ],
            ..open
        }
    }

    pub(super) fn version(&self) -> NmeaVersion {
        if self.profile.receiver.dialect == GnssDialect::Garmin {
            return if self.has_modes { NmeaVersion::V2_3 } else { NmeaVersion::V2_0 };
        }
        match self.store.get(key::NMEA_PROTVER) {
            21 => NmeaVersion::V2_0,
            23 | 40 => NmeaVersion::V2_3,
            41 => NmeaVersion::V4_10,
            _ => NmeaVersion::V4_11,
        }
    }

    pub(super) fn writer<'a>(&'a self, systems: &'a [GnssSystem]) -> Writer<'a> {
        let version = self.version();
        let hides_qzss =
            self.store.is_set(key::NMEA_FILT_QZSS) || self.store.is_set(key::NMEA_ONLYGPS);
        Writer {
            profile: &self.profile,
            version,
            high_precision: self.store.is_set(key::NMEA_HIGHPREC),
            systems,
            has_qzss: self.profile.receiver.dialect.is_ublox()
                && version >= NmeaVersion::V4_11
                && self.store.is_set(key::QZSS_ENA)
                && !hides_qzss,
            min_course_speed_m_s: self.settings.min_course_speed_m_s,
            memory: self.memory,
            filter: NmeaFilter {
                main_talker: match self.store.get(key::NMEA_MAINTALKER) {
                    1 => Some("GP"),
                    2 => Some("GL"),
                    3 => Some("GN"),
                    4 => Some("GA"),
                    5 => Some("GB"),
                    _ => None,
                },
                is_gsv_main: self.store.get(key::NMEA_GSVTALKER) == 1,
                is_gps_only: self.store.is_set(key::NMEA_ONLYGPS),
                hides: [
                    (key::NMEA_FILT_GPS, GnssSystem::Gps),
                    (key::NMEA_FILT_GLO, GnssSystem::Glonass),
                    (key::NMEA_FILT_GAL, GnssSystem::Galileo),
                    (key::NMEA_FILT_BDS, GnssSystem::Beidou),
                ]
                .into_iter()
                .filter_map(|(item, system)| self.store.is_set(item).then_some(system))
                .collect(),
                is_course_kept: self.store.is_set(key::NMEA_FROZENCOG),
            },
        }
    }
}

/// Limits of height, speed and climb rate for the dynamic model with u-blox's number `model`, from the integration
/// manuals. Heights are above the ellipsoid.
fn motion(model: u64) -> Motion {
    let (max_altitude_m, max_speed_m_s, max_climb_m_s) = match model {
        2 => (9_000.0, 10.0, 6.0),
        3 | 9 => (9_000.0, 30.0, 20.0),
        4 | 10 => (6_000.0, 100.0, 15.0),
        5 => (500.0, 25.0, 5.0),
        6 => (50_000.0, 100.0, 100.0),
        7 => (50_000.0, 250.0, 100.0),
        8 => (50_000.0, 500.0, 100.0),
        11 | 12 => (9_000.0, 30.0, 20.0),
        _ => (12_000.0, 310.0, 50.0),
    };
    Motion { max_altitude_m, max_speed_m_s, max_climb_m_s }
}
