//! Reads the faults of links and cables, which devices of all families can have.

use super::DeviceConfig;
use super::faults::{WireFault, WireKind};
use crate::profile::Interface;
use crate::toml::reader::TableReader;

impl WireKind {
    /// Whether the fault acts on single packets: it loses, repeats, reorders, delays, shortens or corrupts them.
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

/// Reads the keys of a fault of this `kind`. Reports an error if the jitter exceeds the delay.
pub(super) fn details(kind: WireKind, table: &mut TableReader<'_>) -> Option<WireFault> {
    let fault = kind.read(table)?;
    if let (WireFault::Delay { delay_ns, jitter_ns, .. }, Some(place)) =
        (&fault, table.place_of("jitter_ms"))
        && jitter_ns > delay_ns
    {
        let label = format!("allowed: at most `delay_ms`, {} ms", *delay_ns as f64 / 1e6);
        let fault = place.fault("`jitter_ms` must not exceed `delay_ms`", label);
        table.fault(
            fault.note("`jitter_ms` is the largest deviation from `delay_ms`, earlier or later"),
        );
    }
    Some(fault)
}
