//! Faults of a GNSS receiver: outage, jump, frozen fix, week rollover; and faults of corrections: lost, late,
//! damaged, or from a base with a wrong position.

/// A fault within a GNSS receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GnssFault {
    /// No satellite is received.
    Outage,
    /// Every position has a constant offset.
    Jump {
        /// Offset: east, north, up, metres.
        offset_enu_m: [f64; 3],
    },
    /// The receiver repeats its last fix.
    Frozen {
        /// Whether the repeated fix is sent with the current time; otherwise with the time of the last fix.
        time_goes_on: bool,
    },
    /// Week rollover: the receiver's date is 1024 weeks too early.
    WeekRollover,
    /// No corrections arrive.
    CorrectionsLost,
    /// Corrections arrive with a wrong CRC.
    CorrectionsDamaged,
    /// Corrections arrive late.
    CorrectionsLate {
        /// Delay, nanoseconds.
        by_ns: u64,
    },
    /// The base reports a wrong position.
    WrongBase {
        /// Offset: east, north, up, metres.
        offset_enu_m: [f64; 3],
    },
}
