//! Reads the faults of links and cables, which a device of any family can have.

use super::DeviceConfig;
use super::faults::FORMAT;
use super::faults::WireFault;
use crate::profile::Interface;
use crate::toml::reader::{Limit, TableReader};

words!(WireKind:
    "packet-loss" => PacketLoss, "duplication" => Duplication, "reordering" => Reordering,
    "delay" => Delay, "truncation" => Truncation, "bit-errors" => BitErrors,
    "line-noise" => LineNoise, "dropped-bytes" => DroppedBytes,
    "framing-breaks" => FramingBreaks, "link-down" => LinkDown, "pps-loss" => PpsLoss,
    "gps-cable-down" => GpsCableDown, "caster-gone" => CasterGone, "caster-silent" => CasterSilent,
    "caster-unmounted" => CasterUnmounted, "caster-late" => CasterLate);

/// The kind of a [`WireFault`], before the keys of the kind are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WireKind {
    PacketLoss,
    Duplication,
    Reordering,
    Delay,
    Truncation,
    BitErrors,
    LineNoise,
    DroppedBytes,
    FramingBreaks,
    LinkDown,
    PpsLoss,
    GpsCableDown,
    CasterGone,
    CasterSilent,
    CasterUnmounted,
    CasterLate,
}

impl WireKind {
    /// Whether the fault affects single packets.
    pub(super) fn is_of_packets(self) -> bool {
        matches!(
            self,
            Self::PacketLoss
                | Self::Duplication
                | Self::Reordering
                | Self::Delay
                | Self::Truncation
                | Self::BitErrors
        )
    }

    /// Whether a device can have the fault.
    pub(super) fn fits(self, device: &DeviceConfig) -> bool {
        let product = &device.profile.product;
        match self {
            Self::PacketLoss
            | Self::Duplication
            | Self::Reordering
            | Self::Truncation
            | Self::BitErrors => product.interface == Interface::Datagrams,
            Self::LineNoise | Self::DroppedBytes | Self::FramingBreaks => {
                product.interface == Interface::Line
            }
            Self::Delay | Self::LinkDown => true,
            Self::PpsLoss => product.has_gps_output && !device.is_line(),
            Self::GpsCableDown => device.cable_from.is_some() && !device.is_line(),
            Self::CasterGone | Self::CasterSilent | Self::CasterUnmounted | Self::CasterLate => {
                device.caster.is_some()
            }
        }
    }
}

/// Reads the keys of this kind.
pub(super) fn details(kind: WireKind, table: &mut TableReader<'_>) -> Option<WireFault> {
    let share = Limit::new(0.0..=1.0, "", "a probability");
    let noise = Limit::new(1e-12..=0.5, "", "a rate of 0.5 is random bits");
    let nanos = |ms: f64| (ms * 1e6).round() as u64;
    Some(match kind {
        WireKind::PacketLoss => {
            WireFault::PacketLoss { probability: table.required("probability").number(&share)? }
        }
        WireKind::Duplication => {
            let probability = table.required("probability").number(&share);
            let after = Limit::new(0.0..=1e6, "us", FORMAT);
            let after_us = table.optional("after_us").number_or(&after, 0.0);
            WireFault::Duplication {
                probability: probability?,
                after_ns: (after_us * 1e3).round() as u64,
            }
        }
        WireKind::Reordering => {
            let probability = table.required("probability").number(&share);
            let by = Limit::new(1..=1000, "packets", FORMAT);
            let by_packets = table.optional("by_packets").integer_or(&by, 1);
            WireFault::Reordering { probability: probability?, by_packets }
        }
        WireKind::Delay => {
            let probability = table.optional("probability").number_or(&share, 1.0);
            let longest = Limit::new(0.001..=60_000.0, "ms", FORMAT);
            let delay_ms = table.required("delay_ms").number(&longest);
            let jitter = table.optional("jitter_ms");
            let jitter_ms = jitter.number_or(&Limit::new(0.0..=60_000.0, "ms", FORMAT), 0.0);
            if let (Some(delay_ms), Some(place)) = (delay_ms, jitter.place())
                && jitter_ms > delay_ms
            {
                let label = format!("allowed: at most `delay_ms`, {delay_ms} ms");
                let fault = place.fault("`jitter_ms` must not exceed `delay_ms`", label);
                jitter
                    .fault(fault.note("`jitter_ms` is how much earlier or later than `delay_ms`"));
            }
            WireFault::Delay {
                probability,
                delay_ns: nanos(delay_ms?),
                jitter_ns: nanos(jitter_ms),
            }
        }
        WireKind::Truncation => {
            let probability = table.required("probability").number(&share);
            let length = Limit::new(0..=65_507, "bytes", "UDP over IPv4");
            let to_bytes = table.optional("to_bytes").integer(&length);
            WireFault::Truncation { probability: probability?, to_bytes }
        }
        WireKind::BitErrors => {
            WireFault::BitErrors { rate: table.required("rate").number(&noise)? }
        }
        WireKind::LineNoise => {
            WireFault::LineNoise { rate: table.required("rate").number(&noise)? }
        }
        WireKind::DroppedBytes => {
            WireFault::DroppedBytes { probability: table.required("probability").number(&share)? }
        }
        WireKind::FramingBreaks => {
            let probability = table.required("probability").number(&share);
            let length = Limit::new(1..=1000, "bits", FORMAT);
            let length_bits = table.optional("length_bits").integer_or(&length, 12);
            WireFault::FramingBreaks { probability: probability?, length_bits }
        }
        WireKind::LinkDown => WireFault::LinkDown,
        WireKind::PpsLoss => WireFault::PpsLoss,
        WireKind::GpsCableDown => WireFault::GpsCableDown,
        WireKind::CasterGone => WireFault::CasterGone,
        WireKind::CasterSilent => WireFault::CasterSilent,
        WireKind::CasterUnmounted => WireFault::CasterUnmounted,
        WireKind::CasterLate => {
            let longest = Limit::new(0.1..=3600.0, "s", FORMAT);
            let delay_s = table.required("delay_s").number(&longest)?;
            WireFault::CasterLate { delay_ns: (delay_s * 1e9).round() as u64 }
        }
    })
}
