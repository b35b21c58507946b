//! `[[fault]]`: kind, time and strength of faults.

use std::sync::Arc;

use crate::profile::FamilyData;
use crate::rig::schedule::Schedule;
use crate::time::SimTime;
use crate::toml::diagnostic::Place;

/// Origin of a fault's limits that no device sets.
pub const FORMAT: &str = "the rig format, [[fault]]";

/// One fault of a rig.
#[derive(Clone, Debug)]
pub struct FaultConfig {
    /// Unique among the rig's faults; names its rows in the log.
    pub name: String,
    /// Index of the device in the rig.
    pub device: usize,
    /// Schedule of the fault.
    pub schedule: Schedule,
    /// Seed of the fault's random draws.
    pub seed: u64,
    /// Kind of the fault.
    pub kind: FaultKind,
    /// Index of the only affected port; `None`: all ports.
    pub stream: Option<usize>,
    /// The word for the kind in TOML and in the log.
    pub word: &'static str,
    /// Position in the file at which the device is named.
    pub place: Place,
}

/// Kind of a fault: on the wire, or within a device.
#[derive(Clone, Debug)]
pub enum FaultKind {
    /// A fault of the device's link or of its GPS cable.
    Wire(WireFault),
    /// A fault within the device; only the device or its sensor knows the details.
    Device(Arc<dyn FamilyData>),
}

/// Faults on the wire. Probabilities and rates are 0..=1; each event has its own random sample.
#[derive(Clone, Debug, PartialEq)]
pub enum WireFault {
    /// Datagrams are lost.
    PacketLoss {
        /// Probability for each datagram.
        probability: f64,
    },
    /// Datagrams arrive twice.
    Duplication {
        /// Probability for each datagram.
        probability: f64,
        /// Delay of the copy, nanoseconds.
        after_ns: u64,
    },
    /// Datagrams are held back and overtaken.
    Reordering {
        /// Probability for each datagram.
        probability: f64,
        /// Number of packets.
        by_packets: u32,
    },
    /// Datagrams or telegrams are delayed. With jitter, datagrams may overtake each other.
    Delay {
        /// Probability for each datagram.
        probability: f64,
        /// Delay, nanoseconds.
        delay_ns: u64,
        /// Largest deviation from that time, earlier or later, nanoseconds.
        jitter_ns: u64,
    },
    /// Datagrams are cut short.
    Truncation {
        /// Probability for each datagram.
        probability: f64,
        /// Length after the cut; `None`: any shorter length.
        to_bytes: Option<usize>,
    },
    /// Bits of datagrams are flipped.
    BitErrors {
        /// Error rate for each bit.
        rate: f64,
    },
    /// Bits on a serial line are flipped, start and stop bits too.
    LineNoise {
        /// Error rate for each bit.
        rate: f64,
    },
    /// Bytes on a serial line are lost.
    DroppedBytes {
        /// Probability for each byte.
        probability: f64,
    },
    /// A serial line is held low for a while, in the middle of a byte.
    FramingBreaks {
        /// Probability for each byte.
        probability: f64,
        /// Number of bits for which the line is held low.
        length_bits: u32,
    },
    /// The link carries nothing in either direction.
    LinkDown,
    /// The PPS of a GNSS receiver is missing, on its link and its cables.
    PpsLoss,
    /// Neither PPS nor bytes reach a device by its `gps_cable`.
    GpsCableDown,
    /// The caster of a base closes every connection.
    CasterGone,
    /// The caster of a base sends nothing to connected clients.
    CasterSilent,
    /// The caster of a base has no stream of its name any more.
    CasterUnmounted,
    /// The caster of a base sends messages late.
    CasterLate {
        /// Delay, nanoseconds.
        delay_ns: u64,
    },
}

/// A fault within a device.
#[derive(Clone, Debug, PartialEq)]
pub struct Timed<K> {
    /// Index of the fault in the rig.
    pub fault: usize,
    /// Schedule of the fault.
    pub schedule: Schedule,
    /// Kind of the fault.
    pub kind: K,
}

impl<K> Timed<K> {
    /// Whether the fault is active at `at`.
    pub fn is_on(&self, at: SimTime) -> bool {
        self.schedule.window_at(at).is_some()
    }
}

/// The faults within one device, in the rig's order.
#[derive(Clone, Debug, Default)]
pub struct DeviceFaults {
    all: Vec<Timed<Arc<dyn FamilyData>>>,
}

impl DeviceFaults {
    /// The faults of the device with the place `device`.
    pub fn of(faults: &[FaultConfig], device: usize) -> Self {
        let own = faults.iter().enumerate().filter(|(_, config)| config.device == device);
        let within = own.filter_map(|(fault, config)| match &config.kind {
            FaultKind::Wire(_) => None,
            FaultKind::Device(kind) => {
                Some(Timed { fault, schedule: config.schedule, kind: kind.clone() })
            }
        });
        Self { all: within.collect() }
    }

    /// The faults of one kind.
    pub fn kind<K: Clone + 'static>(&self) -> Vec<Timed<K>> {
        let of_kind = self.all.iter().filter_map(|timed| {
            let kind = timed.kind.get::<K>()?.clone();
            Some(Timed { fault: timed.fault, schedule: timed.schedule, kind })
        });
        of_kind.collect()
    }
}

impl<K: FamilyData> From<Vec<Timed<K>>> for DeviceFaults {
    fn from(faults: Vec<Timed<K>>) -> Self {
        let all = faults.into_iter().map(|timed| Timed {
            fault: timed.fault,
            schedule: timed.schedule,
            kind: Arc::new(timed.kind) as Arc<dyn FamilyData>,
        });
        Self { all: all.collect() }
    }
}
