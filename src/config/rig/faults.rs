//! `[[fault]]`: kind, time and strength of faults. Faults of links, cables and NTRIP casters are [`WireFault`]s (their
//! kind alone is a [`WireKind`]). Faults within devices are defined in the layer `devices`, and each family lists those
//! of its products.

use std::sync::Arc;

use crate::profile::FamilyData;
use crate::rig::schedule::Schedule;
use crate::time::SimTime;
use crate::toml::diagnostic::Place;
use crate::toml::key_types::{Maybe, Time};
use crate::toml::reader::Limit;

/// Text that error messages print as the source of fault limits that are the same for all devices.
pub const FORMAT: &str = "the rig format, [[fault]]";
/// Documentation of the key `probability` of faults within devices.
pub const PROBABILITY: &str = "Share of PTP messages or images that the fault affects.";
/// Documentation of the key `transmission` of dirt.
pub const TRANSMISSION: &str = "Share of the light that passes the window, or the middle of a \
    spot of dirt, in one direction.";
/// Documentation of the key `stops_within_s`.
pub const STOPS_WITHIN_S: &str = "Time from full speed to rest (default: the motor's own time).";
/// Documentation of the key `announced_s`.
pub const ANNOUNCED_S: &str =
    "Time for which the alert is announced before the fault takes effect.";
/// Documentation of the key `id` of alerts.
pub const ALERT_ID: &str = "The number of the alert, or of the HMS message.";
/// Documentation of the key `level` of alerts.
pub const ALERT_LEVEL: &str = "Severity of the alert.";
/// Largest `delay_ms` of a fault, milliseconds. Jitter is not included.
pub const MAX_DELAY_MS: f64 = 60_000.0;

/// One fault of a rig.
#[derive(Clone, Debug)]
pub struct FaultConfig {
    /// Name of the fault, unique in the rig; identifies its rows in the log.
    pub name: String,
    /// Index of the device in the rig.
    pub device: usize,
    /// Schedule of the fault.
    pub schedule: Schedule,
    /// Seed of the fault's random numbers.
    pub seed: u64,
    /// Kind of the fault.
    pub kind: FaultKind,
    /// Index of the only affected datagram port in the product's list; `None`: all ports.
    pub stream: Option<usize>,
    /// Name of the fault kind in TOML and in the log.
    pub word: &'static str,
    /// Position of the device's name in the file.
    pub place: Place,
}

/// Kind of a fault: on the wire, or within a device.
#[derive(Clone, Debug)]
pub enum FaultKind {
    /// A fault of the device's link, PPS, GPS cable or NTRIP caster.
    Wire(WireFault),
    /// A fault within the device. The type of the data depends on the device family; the device or its sensor evaluates
    /// it.
    Device(Arc<dyn FamilyData>),
}

keys! {
    /// Faults on the wire. Probabilities and rates are 0..=1; each event has its own random sample.
    #[derive(Clone, Debug, PartialEq)]
    pub enum WireFault of WireKind {
        /// Datagrams are lost.
        PacketLoss = "packet-loss" {
            /// Share of datagrams that the fault affects.
            probability: f64, share();
        }
        /// Datagrams arrive twice.
        Duplication = "duplication" {
            /// Share of datagrams that the fault affects.
            probability: f64, share();
            /// Delay of the copy after the original.
            after_ns as "after_us": u64 = 0, Time(Limit::new(0.0..=1e6, "us", FORMAT), 1e3);
        }
        /// Datagrams are held back and overtaken.
        Reordering = "reordering" {
            /// Share of datagrams that the fault affects.
            probability: f64, share();
            /// Number of later datagrams that overtake a delayed datagram.
            by_packets: u32 = 1, Limit::new(1..=1000, "packets", FORMAT);
        }
        /// Datagrams or telegrams are delayed. With jitter, datagrams may overtake each other.
        Delay = "delay" {
            /// Share of datagrams, telegrams or bytes that the fault affects.
            probability: f64 = 1.0, share();
            /// Delay of each datagram, telegram or byte.
            delay_ns as "delay_ms": u64, Time(Limit::new(0.001..=MAX_DELAY_MS, "ms", FORMAT), 1e6);
            /// Largest random deviation from the delay, longer or shorter.
            jitter_ns as "jitter_ms": u64 = 0, Time(Limit::new(0.0..=60_000.0, "ms", FORMAT), 1e6);
        }
        /// Datagrams are cut short.
        Truncation = "truncation" {
            /// Share of datagrams that the fault affects.
            probability: f64, share();
            /// Length to which datagrams are cut (default: any shorter length).
            to_bytes: Option<usize> = None, Maybe(Limit::new(0..=65_507, "bytes", "UDP over IPv4"));
        }
        /// Bits of datagrams are flipped.
        BitErrors = "bit-errors" {
            /// Probability with which each bit is flipped.
            rate: f64, noise();
        }
        /// Bits on a serial line are flipped, start and stop bits too.
        LineNoise = "line-noise" {
            /// Probability with which each bit is flipped.
            rate: f64, noise();
        }
        /// Bytes on a serial line are lost.
        DroppedBytes = "dropped-bytes" {
            /// Share of bytes that the fault affects.
            probability: f64, share();
        }
        /// A serial line is held low for a while, in the middle of a byte.
        FramingBreaks = "framing-breaks" {
            /// Share of bytes that the fault affects.
            probability: f64, share();
            /// Number of bits for which the line is held low.
            length_bits: u32 = 12, Limit::new(1..=1000, "bits", FORMAT);
        }
        /// The link carries nothing in either direction.
        LinkDown = "link-down"
        /// The PPS of a GNSS receiver is missing on the receiver's link and cables.
        PpsLoss = "pps-loss"
        /// Neither PPS nor bytes reach a device by its `gps_cable`.
        GpsCableDown = "gps-cable-down"
        /// The caster of a base closes every connection.
        CasterGone = "caster-gone"
        /// The caster of a base sends nothing to connected clients.
        CasterSilent = "caster-silent"
        /// The caster of a base no longer offers its stream, and disconnects the clients of this stream.
        CasterUnmounted = "caster-unmounted"
        /// The caster of a base sends messages late.
        CasterLate = "caster-late" {
            /// Delay of the RTCM messages.
            delay_ns as "delay_s": u64, Time(Limit::new(0.1..=3600.0, "s", FORMAT), 1e9);
        }
    }
}

fn share() -> Limit<f64> {
    Limit::new(0.0..=1.0, "", "")
}

fn noise() -> Limit<f64> {
    Limit::new(1e-12..=0.5, "", "physics: at a rate of 0.5, all bits are random")
}

/// A fault within a device, with details of the type `K`.
#[derive(Clone, Debug, PartialEq)]
pub struct Timed<K> {
    /// Index of the fault in the rig.
    pub fault: usize,
    /// Schedule of the fault.
    pub schedule: Schedule,
    /// Kind and details of the fault.
    pub kind: K,
}

impl<K> Timed<K> {
    /// Whether the fault is active at `at`.
    pub fn is_on(&self, at: SimTime) -> bool {
        self.schedule.window_at(at).is_some()
    }
}

/// The internal faults of one device, in the rig's order.
#[derive(Clone, Debug, Default)]
pub struct DeviceFaults {
    all: Vec<Timed<Arc<dyn FamilyData>>>,
}

impl DeviceFaults {
    /// The internal faults of the device with the index `device`.
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

    /// The faults whose details are of type `K`.
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
