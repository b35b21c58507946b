//! Faults of a GNSS receiver: outage, jump, frozen fix, week rollover; corrections lost, late, damaged, of a
//! base at a wrong place.

/// A fault within a GNSS receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GnssFault {
    /// No satellite is received.
    Outage,
    /// Every position has a constant offset.
    Jump {
        /// East, north, up, metres.
        offset_enu_m: [f64; 3],
    },
    /// The last fix is repeated.
    Frozen {
        /// Whether it is sent with the present time, rather than the time of the fix.
        time_goes_on: bool,
    },
    /// Weeks, which satellites count modulo 1024, are taken for those 1024 weeks before.
    WeekRollover,
    /// No corrections come in.
    CorrectionsLost,
    /// Corrections come in with a wrong CRC.
    CorrectionsDamaged,
    /// Corrections come in later.
    CorrectionsLate {
        /// Size of the shift.
        by_ns: u64,
    },
    /// The base sends a wrong place.
    WrongBase {
        /// East, north, up, metres.
        offset_enu_m: [f64; 3],
    },
}
