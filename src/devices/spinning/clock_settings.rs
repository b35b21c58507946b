//! A clock that PPS and NMEA discipline, and its GPS input: keys of profiles and rigs.

use crate::config::profile::read::PROFILES;
use crate::config::profile::{GpsInputRefusal, drift};
use crate::config::toml::keys::Keys;
use crate::config::toml::reader::{Limit, TableReader};

words!(ClockReference: "free-running" => FreeRunning, "utc" => Utc);
words!(TimeSentence: "GPRMC" => Rmc, "GPGGA" => Gga);

/// Reference of the clock while no GNSS receiver is wired to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClockReference {
    /// The clock has only its own oscillator, from power-on.
    #[default]
    FreeRunning,
    /// UTC without any error, as if a GNSS receiver outside the rig kept it locked.
    Utc,
}

/// A sentence from which the clock takes the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeSentence {
    /// Date, time and validity.
    Rmc,
    /// Time and quality of the fix.
    Gga,
}

/// The clock and its GPS input.
///
/// Sources: VLP-16 manual, sections 7.4 and appendix G (two counters, qualifiers); HDL-64E S3
/// manual, page 19 (power-up at midnight of 1 January 2000, 5 s a day, GPS status).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClockSettings {
    /// Reference of the clock without a receiver.
    pub reference: ClockReference,
    /// Time of a free-running clock at the first instant, microseconds since power-on.
    pub power_up_us: u64,
    /// Drift of the oscillator, seconds a day; negative when it is slow.
    pub drift_s_per_day: f64,
    /// Rate of the serial input, eight data bits, no parity, one stop bit.
    pub gps_baud: u32,
    /// Sentences that are understood.
    pub sentences: Vec<TimeSentence>,
    /// Whether minutes and seconds are only taken from a receiver that reports valid data.
    pub needs_valid: bool,
    /// Time for which the PPS must be steady before the clock locks, seconds.
    pub pps_lock_s: u32,
    /// Largest error of a second between two pulses, nanoseconds.
    pub pps_tolerance_ns: u64,
    /// Time after the last pulse at which the PPS counts as absent, nanoseconds.
    pub pps_absent_after_ns: u64,
    /// Time after the last sentence at which NMEA counts as absent, nanoseconds.
    pub nmea_absent_after_ns: u64,
}

/// Reason why a clock with these settings ignores its GPS input; `None` if it uses it.
pub(crate) fn gps_input_refusal(settings: &ClockSettings) -> Option<GpsInputRefusal> {
    (settings.reference == ClockReference::Utc).then_some(GpsInputRefusal {
        title: "`gps_cable` conflicts with `clock.reference = \"utc\"`",
        label: "remove this or `clock.reference = \"utc\"`",
    })
}

/// Reads `[clock]` of a profile.
pub(crate) fn profile(table: TableReader<'_>) -> Option<ClockSettings> {
    let mut clock = ClockSettings::default();
    read(Keys::of_profile(table), &mut clock)?;
    Some(clock)
}

/// Reads `clock` of a rig's settings.
pub(crate) fn settings(keys: &mut Keys<'_>, clock: &mut ClockSettings) {
    let field = keys.field("clock").such_as("{ drift_ppm = 20.0 }");
    keys.table_in(&field, "a clock", clock, read);
}

/// Reads the keys of a profile, without those about the start of a run.
fn read(mut keys: Keys<'_>, clock: &mut ClockSettings) -> Option<()> {
    drift::read(&mut keys, &mut clock.drift_s_per_day);
    let baud = Limit::new(300..=921_600, "baud", PROFILES);
    keys.integer("gps_baud", &baud, &mut clock.gps_baud);
    let origin = "the units' manuals, GPS input";
    let default: Vec<_> = clock.sentences.iter().map(|sentence| sentence.word()).collect();
    keys.with_default("sentences", default, &mut clock.sentences, |field| {
        field.choices(&TimeSentence::WORDS, origin)
    });
    keys.boolean("needs_valid", &mut clock.needs_valid);
    let seconds = Limit::new(0..=65_535, "s", "the unit's configuration page, PPS qualifier");
    keys.integer("pps_lock_s", &seconds, &mut clock.pps_lock_s);
    let us = Limit::new(1.0..=400_000.0, "us", PROFILES);
    keys.time_ns("pps_tolerance_us", &us, 1e3, &mut clock.pps_tolerance_ns);
    let absent = Limit::new(1.1..=60.0, "s", "the signal itself: it comes once a second");
    keys.time_ns("pps_absent_after_s", &absent, 1e9, &mut clock.pps_absent_after_ns);
    keys.time_ns("nmea_absent_after_s", &absent, 1e9, &mut clock.nmea_absent_after_ns);
    if !keys.is_profile() {
        let origin = "Menura's clocks";
        keys.choice("reference", &ClockReference::WORDS, origin, &mut clock.reference);
        let how = "write seconds, such as uptime_s = 3600.0";
        keys.table.was_called_in("power_up_us", "uptime_s", how);
        let since = Limit::new(0.0..=f64::from(u32::MAX), "s", "the rig format");
        keys.time_ns("uptime_s", &since, 1e6, &mut clock.power_up_us);
    }
    keys.finish()
}

/// Reads by how much a PTP master's time is ahead of UTC, seconds.
pub(crate) fn ptp_ahead(keys: &mut Keys<'_>, ahead_s: &mut i32) {
    let ahead = Limit::new(-100..=100, "s", "Menura: TAI is 37 s ahead of UTC");
    keys.integer("ptp_ahead_s", &ahead, ahead_s);
}
