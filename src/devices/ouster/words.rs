//! Enumerated values of an Ouster's configuration.

use crate::ptp::PtpSettings;
use crate::wire::ptp::Transport;

words!(LidarMode: "512x10" => M512x10, "512x20" => M512x20, "1024x10" => M1024x10,
    "1024x20" => M1024x20, "2048x10" => M2048x10, "4096x5" => M4096x5);
words!(TimestampMode: "TIME_FROM_INTERNAL_OSC" => InternalOsc,
    "TIME_FROM_SYNC_PULSE_IN" => SyncPulseIn, "TIME_FROM_PTP_1588" => Ptp1588);
words!(PtpProfile: "default" => Default, "default-relaxed" => DefaultRelaxed, "default-l2-relaxed" => DefaultL2Relaxed,
    "gptp" => Gptp, "gptp-relaxed" => GptpRelaxed, "automotive-slave" => AutomotiveSlave);
words!(OperatingMode: "NORMAL" => Normal, "STANDBY" => Standby);
words!(ReturnOrder: "STRONGEST_TO_WEAKEST" => StrongestToWeakest,
    "FARTHEST_TO_NEAREST" => FarthestToNearest, "NEAREST_TO_FARTHEST" => NearestToFarthest);
words!(PtpState: "absent" => Absent, "locked" => Locked, "wire" => Wire,
    "virtual" => Virtual);

/// Columns per rotation, and rotations per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LidarMode {
    /// 512 columns, 10 rotations per second.
    M512x10,
    /// 512 columns, 20 rotations per second.
    M512x20,
    /// 1024 columns, 10 rotations per second.
    #[default]
    M1024x10,
    /// 1024 columns, 20 rotations per second.
    M1024x20,
    /// 2048 columns, 10 rotations per second.
    M2048x10,
    /// 4096 columns, 5 rotations per second.
    M4096x5,
}

impl LidarMode {
    /// Columns per rotation.
    pub fn columns(self) -> u16 {
        match self {
            Self::M512x10 | Self::M512x20 => 512,
            Self::M1024x10 | Self::M1024x20 => 1024,
            Self::M2048x10 => 2048,
            Self::M4096x5 => 4096,
        }
    }

    /// Rotations per second.
    pub fn turns_per_s(self) -> u32 {
        match self {
            Self::M4096x5 => 5,
            Self::M512x10 | Self::M1024x10 | Self::M2048x10 => 10,
            Self::M512x20 | Self::M1024x20 => 20,
        }
    }

    /// Speed of the rotor, rpm.
    pub fn rpm(self) -> u32 {
        self.turns_per_s() * 60
    }

    /// Columns per second.
    pub fn columns_per_s(self) -> u32 {
        u32::from(self.columns()) * self.turns_per_s()
    }

    /// Whether the mode has the highest column rate, 20480 columns per second.
    pub fn is_fast(self) -> bool {
        self.columns_per_s() > 10_240
    }

    /// The mode with the name `word`, such as `1024x10`; `None` for other names.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::WORDS.into_iter().find(|(own, _)| *own == word).map(|(_, mode)| mode)
    }
}

/// Clock that determines timestamps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimestampMode {
    /// Time since power-up.
    #[default]
    InternalOsc,
    /// Time of the clock that sync pulses set, for example those of a GNSS receiver.
    SyncPulseIn,
    /// Time of a PTP master.
    Ptp1588,
}

/// Operating mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OperatingMode {
    /// The lidar measures.
    #[default]
    Normal,
    /// The motor stops and no packets are sent.
    Standby,
}

/// Order of the two returns of a pixel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReturnOrder {
    /// Strongest signal first.
    #[default]
    StrongestToWeakest,
    /// Farthest range first.
    FarthestToNearest,
    /// Nearest range first.
    NearestToFarthest,
}

/// PTP master that sets the clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PtpState {
    /// No master; the clock counts from power-on.
    #[default]
    Absent,
    /// A simulated master without errors.
    Locked,
    /// A master on the network; the unit runs a PTP slave.
    Wire,
    /// A master within Menura; the unit runs a PTP slave.
    Virtual,
}

/// PTP profile. Relaxed profiles step the clock at offsets above one second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PtpProfile {
    /// The default profile of IEEE 1588.
    #[default]
    Default,
    /// The default profile, relaxed.
    DefaultRelaxed,
    /// The default profile over Ethernet, relaxed.
    DefaultL2Relaxed,
    /// IEEE 802.1AS.
    Gptp,
    /// The gPTP profile, relaxed.
    GptpRelaxed,
    /// The automotive profile of IEEE 802.1AS (slave).
    AutomotiveSlave,
}

/// Offset above which relaxed profiles step the clock at any time, nanoseconds.
const RELAXED_STEP_NS: u64 = 1_000_000_000;

impl PtpProfile {
    /// Settings of a PTP slave with this profile.
    pub fn settings(self) -> PtpSettings {
        let step_ns = Some(RELAXED_STEP_NS);
        match self {
            Self::Default => PtpSettings::default(),
            Self::DefaultRelaxed => PtpSettings { step_ns, ..PtpSettings::default() },
            Self::DefaultL2Relaxed => {
                PtpSettings { step_ns, transport: Transport::Ethernet, ..PtpSettings::default() }
            }
            Self::Gptp => PtpSettings::gptp(),
            Self::GptpRelaxed => PtpSettings { step_ns, ..PtpSettings::gptp() },
            Self::AutomotiveSlave => PtpSettings::automotive(),
        }
    }
}

impl PtpState {
    /// Whether the unit runs a PTP slave.
    pub fn has_slave(self) -> bool {
        matches!(self, Self::Wire | Self::Virtual)
    }
}
