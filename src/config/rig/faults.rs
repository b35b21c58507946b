//! `[[fault]]`: what goes wrong, when and how much.

use std::sync::Arc;

use crate::profile::FamilyData;
use crate::rig::schedule::Schedule;
use crate::time::SimTime;
use crate::toml::diagnostic::Place;

/// Where limits of a fault come from that nothing else sets.
pub const FORMAT: &str = "the rig format, [[fault]]";

/// One fault of a rig.
#[derive(Clone, Debug)]
pub struct FaultConfig {
    /// Unique among the rig's faults; names its rows in the log.
    pub name: String,
    /// The device's place in the rig.
    pub device: usize,
    /// When.
    pub schedule: Schedule,
    /// Seed of the fault's random draws.
    pub seed: u64,
    /// What.
    pub kind: FaultKind,
    /// The place of the only port whose datagrams it concerns; without it all.
    pub stream: Option<usize>,
    /// The word for the kind in TOML and in the log.
    pub word: &'static str,
    /// Where the device is named.
    pub place: Place,
}

/// What goes wrong: on the way from a device, or within it.
#[derive(Clone, Debug)]
pub enum FaultKind {
    /// On its link or its GPS cable.
    Wire(WireFault),
    /// Within it; what it is only the device or its sensor knows.
    Device(Arc<dyn FamilyData>),
}

/// What goes wrong on the way. Probabilities and rates are 0..=1; each draw is of its own.
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
        /// The copy is this much later, nanoseconds.
        after_ns: u64,
    },
    /// Datagrams are held back and overtaken.
    Reordering {
        /// Probability for each datagram.
        probability: f64,
        /// Number of packets.
        by_packets: u32,
    },
    /// Datagrams or telegrams are late. With jitter, datagrams may overtake each other.
    Delay {
        /// Probability for each datagram.
        probability: f64,
        /// Delay, nanoseconds.
        delay_ns: u64,
        /// Up to this much earlier or later than that, nanoseconds.
        jitter_ns: u64,
    },
    /// Datagrams are cut short.
    Truncation {
        /// Probability for each datagram.
        probability: f64,
        /// To this length; to any shorter one when left out.
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
        /// For how many bits.
        length_bits: u32,
    },
    /// Nothing passes, either way.
    LinkDown,
    /// A receiver's time pulse does not come, neither on its link nor on its cables.
    PpsLoss,
    /// Neither pulse nor bytes come to a device by its `gps_cable`.
    GpsCableDown,
    /// The caster of a base closes every connection.
    CasterGone,
    /// The caster of a base sends nothing to those who are connected.
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
    /// Its place in the rig.
    pub fault: usize,
    /// When.
    pub schedule: Schedule,
    /// What.
    pub kind: K,
}

impl<K> Timed<K> {
    /// Whether it is there at `at`.
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
