//! The clock of a Velodyne and its GPS input: what a profile says, and what a rig may set.

use crate::config::profile::GpsInputRefusal;
use crate::config::profile::read::PROFILES;
use crate::config::toml::reader::{Field, Limit, TableReader};

words!(ClockReference: "free-running" => FreeRunning, "utc" => Utc);
words!(TimeSentence: "GPRMC" => Rmc, "GPGGA" => Gga);

/// What a unit's clock goes by as long as no receiver is wired to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockReference {
    /// Its own oscillator, from power-up on.
    FreeRunning,
    /// UTC without any error, as though a receiver that the rig does not have kept it locked.
    Utc,
}

/// A sentence that a unit takes the time from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeSentence {
    /// Date, time and whether they are valid.
    Rmc,
    /// Time and whether there is a fix.
    Gga,
}

/// A unit's clock and its GPS input.
///
/// Sources: VLP-16 manual, sections 7.4 and appendix G (two counters, qualifiers); HDL-64E S3
/// manual, page 19 (power-up at midnight of 1 January 2000, 5 s a day, GPS status).
#[derive(Clone, Debug, PartialEq)]
pub struct ClockSettings {
    /// What it goes by without a receiver.
    pub reference: ClockReference,
    /// What a free-running clock shows at the first instant, microseconds since power-up.
    pub power_up_us: u64,
    /// By how much the oscillator is fast, seconds a day; negative when it is slow.
    pub drift_s_per_day: f64,
    /// Rate of the serial input, eight data bits, no parity, one stop bit.
    pub gps_baud: u32,
    /// Sentences that are understood.
    pub sentences: Vec<TimeSentence>,
    /// Whether minutes and seconds are only taken from a receiver that calls its data valid.
    pub needs_valid: bool,
    /// How many seconds the pulse must have been steady for.
    pub pps_lock_s: u32,
    /// By how much a second between two pulses may be off, nanoseconds.
    pub pps_tolerance_ns: u64,
    /// So long after the last pulse there is none any more, nanoseconds.
    pub pps_absent_after_ns: u64,
    /// So long after the last sentence there is none any more, nanoseconds.
    pub nmea_absent_after_ns: u64,
}

/// Why a clock that goes by `settings` hears no receiver; `None` if it does.
pub(in crate::devices) fn gps_input_refusal(settings: &ClockSettings) -> Option<GpsInputRefusal> {
    (settings.reference == ClockReference::Utc).then_some(GpsInputRefusal {
        title: "a clock that is right by itself hears no receiver",
        label: "remove this or `clock.reference = \"utc\"`",
    })
}

/// Reads `[clock]` of a profile.
pub(crate) fn profile(table: TableReader<'_>) -> Option<ClockSettings> {
    clock(table, None)
}

/// Reads `clock` of a rig's settings; what it leaves out is the profile's.
pub(crate) fn settings(field: &Field<'_>, profile: &ClockSettings) -> ClockSettings {
    let read = field.table("a clock").and_then(|table| clock(table, Some(profile)));
    read.unwrap_or_else(|| profile.clone())
}

/// Without `defaults` every key must be there but those that say how a run begins.
fn clock(mut table: TableReader<'_>, defaults: Option<&ClockSettings>) -> Option<ClockSettings> {
    let mut field = |key| match defaults {
        None => table.required(key),
        Some(_) => table.optional(key),
    };
    let day = Limit::new(-3600.0..=3600.0, "s a day", "Menura: worse clocks are broken");
    let drift = field("drift_s_per_day").number(&day);
    let baud = Limit::new(300..=921_600, "baud", PROFILES);
    let gps_baud = field("gps_baud").integer(&baud);
    let sentences = sentences(&field("sentences"));
    let needs_valid = field("needs_valid").boolean();
    let seconds = Limit::new(0..=65_535, "s", "the unit's configuration page, PPS qualifier");
    let pps_lock_s = field("pps_lock_s").integer(&seconds);
    let us = Limit::new(1.0..=400_000.0, "us", PROFILES);
    let tolerance_us = field("pps_tolerance_us").number(&us);
    let absent = Limit::new(1.1..=60.0, "s", "the signal itself: it comes once a second");
    let pps_absent_after_s = field("pps_absent_after_s").number(&absent);
    let nmea_absent_after_s = field("nmea_absent_after_s").number(&absent);
    let (mut reference, mut power_up_us) = (None, None);
    if defaults.is_some() {
        let origin = "Menura's clocks";
        reference = table.optional("reference").choice(&ClockReference::WORDS, origin);
        let since = Limit::new(0..=i128::from(u32::MAX) * 1_000_000, "us", "the rig format");
        power_up_us = table.optional("power_up_us").integer(&since);
    }
    table.finish();
    let ns = |unit: f64| move |value: f64| (value * unit).round() as u64;
    let base = defaults;
    Some(ClockSettings {
        reference: reference.or(base.map(|d| d.reference)).unwrap_or(ClockReference::FreeRunning),
        power_up_us: power_up_us.or(base.map(|d| d.power_up_us)).unwrap_or(0),
        drift_s_per_day: drift.or(base.map(|d| d.drift_s_per_day))?,
        gps_baud: gps_baud.or(base.map(|d| d.gps_baud))?,
        sentences: sentences.or(base.map(|d| d.sentences.clone()))?,
        needs_valid: needs_valid.or(base.map(|d| d.needs_valid))?,
        pps_lock_s: pps_lock_s.or(base.map(|d| d.pps_lock_s))?,
        pps_tolerance_ns: tolerance_us.map(ns(1e3)).or(base.map(|d| d.pps_tolerance_ns))?,
        pps_absent_after_ns: pps_absent_after_s
            .map(ns(1e9))
            .or(base.map(|d| d.pps_absent_after_ns))?,
        nmea_absent_after_ns: nmea_absent_after_s
            .map(ns(1e9))
            .or(base.map(|d| d.nmea_absent_after_ns))?,
    })
}

fn sentences(field: &Field<'_>) -> Option<Vec<TimeSentence>> {
    let (items, _) = field.array("an array of \"GPRMC\", \"GPGGA\"")?;
    let words: Vec<_> = items
        .iter()
        .map(|item| item.choice(&TimeSentence::WORDS, "the units' manuals, GPS input"))
        .collect();
    words.into_iter().collect()
}
