//! Keys of a clock that PPS and NMEA discipline, in profiles and rigs.

use crate::config::profile::read::{CLOCK, PROFILES};
use crate::config::profile::{GpsInputRefusal, drift};
use crate::config::toml::key_types::{OneOf, SomeOf, Time, TrueOrFalse};
use crate::config::toml::keys::Keys;
use crate::config::toml::reader::{Field, Limit};

words!(ClockReference: "free-running" => FreeRunning, "utc" => Utc);
words!(TimeSentence: "GPRMC" => Rmc, "GPGGA" => Gga);

/// Time reference of the clock while no GNSS receiver is connected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClockReference {
    /// Only the clock's own oscillator, from power-on.
    #[default]
    FreeRunning,
    /// Error-free UTC, as if a GNSS receiver outside the rig disciplined the clock.
    Utc,
}

/// NMEA sentence that sets the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeSentence {
    /// Date, time and validity.
    Rmc,
    /// Time and quality of the fix.
    Gga,
}

const CONFIGURATION: &str = "the unit's configuration page, PPS qualifier";

/// Key type of the time after which a signal counts as absent: 1.1 to 60 s.
fn absent() -> Time {
    Time(Limit::new(1.1..=60.0, "s", "the signal's period: 1 s"), 1e9)
}

keys! {
    in profile and rig;
    /// Settings of the clock and its GPS input.
    ///
    /// Sources: VLP-16 manual, sections 7.4 and appendix G (two counters, qualifiers); HDL-64E S3
    /// manual, page 19 (power-up at midnight of 1 January 2000, 5 s a day, GPS status).
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct ClockSettings {
        input {
            /// The rate at which the unit reads its GPS input.
            pub gps_baud: u32, Limit::new(300..=921_600, "baud", PROFILES);
            /// NMEA sentences that the unit understands.
            pub sentences: Vec<TimeSentence>,
                SomeOf(&TimeSentence::WORDS, "the units' manuals, GPS input");
            /// Whether the time is taken only from a receiver that reports valid data.
            pub needs_valid: bool, TrueOrFalse;
            /// Time for which PPS must be steady until it is locked.
            pub pps_lock_s: u32, Limit::new(0..=65_535, "s", CONFIGURATION);
            /// Largest deviation from one second between two PPS pulses.
            pub pps_tolerance_ns as "pps_tolerance_us": u64,
                Time(Limit::new(1.0..=400_000.0, "us", PROFILES), 1e3);
            /// Time after the last pulse until PPS counts as absent.
            pub pps_absent_after_ns as "pps_absent_after_s": u64, absent();
            /// Time after the last NMEA sentence until NMEA counts as absent.
            pub nmea_absent_after_ns as "nmea_absent_after_s": u64, absent();
        }
        start {
            /// Reference of the clock if no receiver is wired to the unit.
            pub reference: ClockReference, OneOf(&ClockReference::WORDS, "Menura's clocks");
            /// Time since power-on at the start of the run, which a free-running clock shows.
            pub power_up_us as "uptime_s": u64,
                Time(Limit::new(0.0..=f64::from(u32::MAX), "s", "the rig format"), 1e6);
        }
        /// Drift of the oscillator, seconds a day; negative when it is slow.
        pub drift_s_per_day: f64,
    }
}

/// Reason why a clock with these settings ignores its GPS input; `None` if the clock uses it.
pub(crate) fn gps_input_refusal(settings: &ClockSettings) -> Option<GpsInputRefusal> {
    (settings.reference == ClockReference::Utc).then_some(GpsInputRefusal {
        title: "`gps_cable` conflicts with `clock.reference = \"utc\"`",
        label: "remove this or `clock.reference = \"utc\"`",
    })
}

/// Field `clock` of a profile's root or of a rig's settings.
pub(crate) fn clock_field<'f>(keys: &mut Keys<'f>) -> Field<'f> {
    let says = match keys.is_profile() {
        true => CLOCK,
        false => "Clock of the unit: reference and errors.",
    };
    keys.field("clock").meaning(says)
}

/// Reads `clock` of a profile's root or of a rig's settings.
pub(crate) fn read(keys: &mut Keys<'_>, clock: &mut ClockSettings) {
    let field = clock_field(keys);
    keys.part(field, ["a clock", "{ drift_ppm = 20.0 }"], clock, |mut keys, clock| {
        drift::read(&mut keys, &mut clock.drift_s_per_day);
        clock.input(&mut keys);
        if !keys.is_profile() {
            let how = "write seconds, such as uptime_s = 3600.0";
            keys.table.was_called_in("power_up_us", "uptime_s", how);
            clock.start(&mut keys);
        }
        keys.finish()
    });
}

/// Allowed offsets of a time scale from UTC, seconds; positive is ahead of UTC.
pub(crate) fn ahead_of_utc() -> Limit<i128> {
    Limit::new(-100..=100, "s", "Menura: TAI is 37 s ahead of UTC")
}

/// Reads the key `ptp`, which must be one of the product's `states`.
pub(crate) fn ptp<T: Clone + PartialEq>(
    keys: &mut Keys<'_>,
    states: &[(&str, T)],
    ptp_state: &mut T,
) {
    let sentence = "Whether a PTP master sets the clock. `wire`: a master on the network, by IEEE \
        1588; needs `from` in `link.udp`. `virtual`: a PTP master that Menura simulates.";
    keys.of_type("ptp", sentence, &OneOf(states, "Menura's clocks"), ptp_state);
}

/// Reads `[ptp]` of a profile: `ahead_s` is the offset of a simulated PTP master's time from UTC, seconds.
pub(crate) fn profile_ptp(root: &mut Keys<'_>, ahead_s: &mut i32) {
    root.section_with::<()>("ptp", "The clock of a PTP master.", |keys| ptp_ahead(keys, ahead_s));
}

pub(crate) fn ptp_ahead(keys: &mut Keys<'_>, ahead_s: &mut i32) {
    let sentence = "Offset of a simulated PTP master's time from UTC; positive is ahead.";
    keys.of_type("ptp_ahead_s", sentence, &ahead_of_utc(), ahead_s);
}
