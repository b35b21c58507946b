//! Effects of the rig's faults on a measurement, or on the packet made from it.

use crate::config::rig::faults::Timed;
use crate::time::SimTime;

/// The effect of one fault on one measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultEffect {
    /// Index of the fault in the rig.
    pub fault: usize,
    /// Number of the fault's active period, counted from 0; a fault that does not repeat has one such period.
    pub window: u64,
    /// Kind and size of the effect.
    pub kind: EffectKind,
}

/// The kinds of fault effects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EffectKind {
    /// A GNSS receiver tracked no satellite.
    NoSatellite,
    /// No correction reached the rover.
    NoCorrections,
    /// A GNSS receiver's position had an offset.
    Moved {
        /// Size of the offset, rounded.
        millimetres: u64,
    },
    /// A GNSS receiver reported an old fix.
    Frozen,
    /// A GNSS receiver's date was too early.
    WeeksBehind {
        /// Number of weeks.
        weeks: u64,
    },
    /// A lidar lost returns that it would have had without the fault.
    LostReturns {
        /// Number of returns.
        count: u64,
    },
    /// Returns are weaker than without the fault, or otherwise different.
    ChangedReturns {
        /// Number of returns.
        count: u64,
    },
    /// The motor did not rotate at its set rate.
    Stalled {
        /// Speed at the first firing, rounded.
        rpm: u64,
    },
    /// A wheel's counter did not change.
    EncoderStuck,
    /// A wheel's counter counted in the wrong direction.
    EncoderReversed,
    /// The counters of two wheels were exchanged.
    EncodersSwapped,
    /// A wheel's counter jumped.
    CounterJumped {
        /// Number of counts, in either direction.
        counts: u64,
    },
    /// The power of the motors was off.
    EmergencyStopped,
    /// The main battery was nearly empty.
    LowBattery {
        /// Voltage of the battery, rounded.
        millivolts: u64,
    },
    /// A reply was late.
    LateReply {
        /// Delay, nanoseconds.
        by_ns: u64,
    },
    /// A device refused a command.
    Refused,
    /// A device reported an active alert.
    AlertActive,
    /// A lidar fired fewer pulses.
    FewerShots {
        /// Reduction in per cent.
        percent: u64,
    },
    /// A camera's frame was changed.
    PictureDisturbed,
    /// The clock of the timestamps follows a PTP master with faulty messages.
    PtpDisturbed,
    /// A camera lost frames between the previous transmitted frame and the measured frame.
    FramesDropped {
        /// Number of frames.
        count: u64,
    },
}

impl EffectKind {
    /// Name of the effect in the fault log, and amount of the effect; `None` for effects without an amount.
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

/// One effect of the kind `kind` for each of `faults` that is active between `from` and `to`.
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
