//! Fault effects: what a fault of the rig did to a measurement, or to the packet made from it.

use crate::config::rig::faults::Timed;
use crate::time::SimTime;

/// The effect of one fault on one measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultEffect {
    /// Index of the fault in the rig.
    pub fault: usize,
    /// Counts the fault's windows of time from 0.
    pub window: u64,
    /// Kind and size of the effect.
    pub kind: EffectKind,
}

/// The kinds of fault effects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EffectKind {
    /// A receiver tracked no satellite.
    NoSatellite,
    /// No correction reached a receiver.
    NoCorrections,
    /// A receiver's position was off.
    Moved {
        /// Size of the offset, rounded.
        millimetres: u64,
    },
    /// A receiver reported an old fix.
    Frozen,
    /// A receiver's date was behind.
    WeeksBehind {
        /// Number of weeks.
        weeks: u64,
    },
    /// Returns that a lidar would have had are missing.
    LostReturns {
        /// Number of returns.
        count: u64,
    },
    /// Returns are weaker than, or different from, those without the fault.
    ChangedReturns {
        /// Number of returns.
        count: u64,
    },
    /// The motor did not turn at its rate.
    Stalled {
        /// Its speed at the first firing, rounded.
        rpm: u64,
    },
    /// A wheel's counter stood still.
    EncoderStuck,
    /// A wheel's counter counted the other way.
    EncoderReversed,
    /// The counters of two wheels were exchanged.
    EncodersSwapped,
    /// A wheel's counter had jumped.
    CounterJumped {
        /// Number of counts, either way.
        counts: u64,
    },
    /// The motors' power was cut.
    EmergencyStopped,
    /// The main battery was nearly empty.
    LowBattery {
        /// Its voltage, rounded.
        millivolts: u64,
    },
    /// An answer left later.
    LateReply {
        /// Size of the shift.
        by_ns: u64,
    },
    /// A device refused a command.
    Refused,
    /// A device reported an active alert.
    AlertActive,
    /// A lidar fired fewer pulses.
    FewerShots {
        /// Size in per cent.
        percent: u64,
    },
    /// A camera's frame was disturbed.
    PictureDisturbed,
    /// The clock that stamped it follows a PTP master, and what that sends is disturbed.
    PtpDisturbed,
    /// Frames before this one were lost within a camera.
    FramesDropped {
        /// Number of frames.
        count: u64,
    },
}

impl EffectKind {
    /// The effect's name in the fault log, and its amount.
    pub fn words(self) -> (&'static str, Option<u64>) {
        match self {
            Self::NoSatellite => ("no_satellite", None),
            Self::NoCorrections => ("no_corrections", None),
            Self::Moved { millimetres } => ("moved_mm", Some(millimetres)),
            Self::Frozen => ("frozen", None),
            Self::WeeksBehind { weeks } => ("weeks_behind", Some(weeks)),
            Self::LostReturns { count } => ("lost_returns", Some(count)),
            Self::ChangedReturns { count } => ("changed_returns", Some(count)),
            Self::Stalled { rpm } => ("stalled_rpm", Some(rpm)),
            Self::EncoderStuck => ("encoder_stuck", None),
            Self::EncoderReversed => ("encoder_reversed", None),
            Self::EncodersSwapped => ("encoders_swapped", None),
            Self::CounterJumped { counts } => ("counter_jumped", Some(counts)),
            Self::EmergencyStopped => ("emergency_stopped", None),
            Self::LowBattery { millivolts } => ("low_battery_mv", Some(millivolts)),
            Self::LateReply { by_ns } => ("late_by_ns", Some(by_ns)),
            Self::Refused => ("refused", None),
            Self::AlertActive => ("alert_active", None),
            Self::FewerShots { percent } => ("fewer_shots_percent", Some(percent)),
            Self::PictureDisturbed => ("picture_disturbed", None),
            Self::PtpDisturbed => ("ptp_disturbed", None),
            Self::FramesDropped { count } => ("frames_dropped", Some(count)),
        }
    }
}

/// The effect `kind` of those of `faults` that are on between two instants.
pub fn effects<K>(
    faults: &[Timed<K>],
    from: SimTime,
    to: SimTime,
    kind: EffectKind,
) -> impl Iterator<Item = FaultEffect> {
    faults.iter().filter_map(move |fault| {
        let window = fault.schedule.window_between(from, to)?;
        Some(FaultEffect { fault: fault.fault, window, kind })
    })
}
