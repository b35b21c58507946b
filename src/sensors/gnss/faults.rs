//! Faults of a GNSS receiver: outage, jump, frozen fix, week rollover; corrections lost, late, damaged, of a
//! base at a wrong place.

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
    /// The last fix is repeated.
    Frozen {
        /// Whether the fix is sent with the present time instead of its own.
        time_goes_on: bool,
    },
    /// Week rollover: the receiver assumes the 1024 weeks before.
    WeekRollover,
    /// No corrections arrive.
    CorrectionsLost,
    /// Corrections arrive with a wrong CRC.
    CorrectionsDamaged,
    /// Corrections arrive late.
    CorrectionsLate {
        /// Size of the shift.
        by_ns: u64,
    },
    /// The base reports a wrong position.
    WrongBase {
        /// Offset: east, north, up, metres.
        offset_enu_m: [f64; 3],
    },
}
