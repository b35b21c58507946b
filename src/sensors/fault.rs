//! What a fault of the rig did to a measurement or to what a device makes of it.

/// One fault's doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touch {
    /// The fault's place in the rig.
    pub fault: usize,
    /// Which of its windows.
    pub window: u64,
    /// What it did.
    pub symptom: Symptom,
}

/// What shows of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Symptom {
    /// A receiver had no satellite.
    NoSatellite,
    /// A receiver's position was off.
    Moved {
        /// So far, rounded.
        millimetres: u64,
    },
    /// A receiver told an old fix.
    Frozen,
    /// Returns that a lidar would have had are not there.
    LostReturns {
        /// So many.
        count: u64,
    },
    /// Returns are weaker, or others than they would have been.
    ChangedReturns {
        /// So many.
        count: u64,
    },
    /// A rotor was held.
    Stalled {
        /// It turned so fast at the first firing, rounded.
        rpm: u64,
    },
}

impl Symptom {
    /// The word for it in the log, and how much.
    pub fn words(self) -> (&'static str, Option<u64>) {
        match self {
            Self::NoSatellite => ("no_satellite", None),
            Self::Moved { millimetres } => ("moved_mm", Some(millimetres)),
            Self::Frozen => ("frozen", None),
            Self::LostReturns { count } => ("lost_returns", Some(count)),
            Self::ChangedReturns { count } => ("changed_returns", Some(count)),
            Self::Stalled { rpm } => ("stalled_rpm", Some(rpm)),
        }
    }
}
