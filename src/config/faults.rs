//! `[[fault]]`: what goes wrong, when and how much.

use super::diagnostic::Place;
use super::schedule::Schedule;

/// One fault of a rig.
#[derive(Clone, Debug)]
pub struct FaultConfig {
    /// Unique among the rig's faults; names its rows in the log.
    pub name: String,
    /// The device's place in the rig.
    pub device: usize,
    /// When.
    pub schedule: Schedule,
    /// Of its random draws.
    pub seed: u64,
    /// What.
    pub kind: FaultKind,
    /// Where the device is named.
    pub place: Place,
}

/// What goes wrong. Probabilities and rates are 0..=1; each draw is of its own.
#[derive(Clone, Debug, PartialEq)]
pub enum FaultKind {
    /// Datagrams are lost.
    PacketLoss {
        /// Of each datagram.
        probability: f64,
    },
    /// Datagrams arrive twice.
    Duplication {
        /// Of each datagram.
        probability: f64,
        /// The copy is this much later, nanoseconds.
        after_ns: u64,
    },
    /// Datagrams are held back and overtaken.
    Reordering {
        /// Of each datagram.
        probability: f64,
        /// By how many.
        by_packets: u32,
    },
    /// Datagrams or telegrams are late. With jitter, datagrams may overtake each other.
    Delay {
        /// Of each.
        probability: f64,
        /// How late, nanoseconds.
        delay_ns: u64,
        /// Up to this much earlier or later than that, nanoseconds.
        jitter_ns: u64,
    },
    /// Datagrams are cut short.
    Truncation {
        /// Of each datagram.
        probability: f64,
        /// To this length; to any shorter one when left out.
        to_bytes: Option<usize>,
    },
    /// Bits of datagrams are flipped.
    BitErrors {
        /// Of each bit.
        rate: f64,
    },
    /// Bits on a serial line are flipped, start and stop bits too.
    LineNoise {
        /// Of each bit.
        rate: f64,
    },
    /// Bytes on a serial line are lost.
    DroppedBytes {
        /// Of each byte.
        probability: f64,
    },
    /// A serial line is held low for a while, in the middle of a byte.
    FramingBreaks {
        /// Of each byte.
        probability: f64,
        /// For how many bits.
        length_bits: u32,
    },
    /// Nothing passes, either way.
    LinkDown,
    /// The time pulse does not come.
    PpsLoss,
}

impl FaultKind {
    /// The word for it in TOML and in the log.
    pub fn word(&self) -> &'static str {
        match self {
            Self::PacketLoss { .. } => "packet-loss",
            Self::Duplication { .. } => "duplication",
            Self::Reordering { .. } => "reordering",
            Self::Delay { .. } => "delay",
            Self::Truncation { .. } => "truncation",
            Self::BitErrors { .. } => "bit-errors",
            Self::LineNoise { .. } => "line-noise",
            Self::DroppedBytes { .. } => "dropped-bytes",
            Self::FramingBreaks { .. } => "framing-breaks",
            Self::LinkDown => "link-down",
            Self::PpsLoss => "pps-loss",
        }
    }
}
