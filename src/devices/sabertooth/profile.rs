//! Settings of a Sabertooth in profiles and rigs.

use std::sync::Arc;

use super::SabertoothUnit;
use crate::config::toml::key_types::{OneOf, Time};
use crate::config::toml::keys::{Keys, SharedKeys};
use crate::config::toml::reader::Limit;
use crate::drive_base::profile::PROFILES;
use crate::drive_base::{Dialect, Protocol, Unit};
use crate::serial::line_read::delay;

/// Input mode of a Sabertooth, set by its switches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SabertoothMode {
    /// Packets with address and checksum.
    #[default]
    Packet,
    /// One byte per command.
    Simplified,
}

words!(SabertoothMode: "packet" => Packet, "simplified" => Simplified);

keys! {
    in profile and rig;
    /// Settings of a Sabertooth.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct SabertoothSettings {
        /// Address of the controller in packets.
        pub address: u8, Limit::new(128..=135, "", "Sabertooth's packet serial");
        /// Whether the controller reads packets or single bytes.
        pub mode: SabertoothMode, OneOf(&SabertoothMode::WORDS, PROFILES);
        /// Motors stop after this time without a command, until a host sets another time; 0: never.
        pub timeout_ns as "timeout_ms": u64,
            Time(Limit::new(0.0..=12_700.0, "ms", "Sabertooth's packet serial: 127 x 100 ms"), 1e6);
        /// Time for which the controller ignores input after a change of the baud rate.
        pub restart_ns as "restart_ms": u64, delay(PROFILES);
    }
}

impl Dialect for SabertoothSettings {
    fn read(&self, keys: &mut Keys<'_>) -> Arc<dyn Dialect> {
        let mut all = self.clone();
        let field = keys.field("sabertooth").meaning("Settings of a Sabertooth only.");
        keys.table_in(&field, "[sabertooth]", &mut all, SharedKeys::read);
        Arc::new(all)
    }

    fn start(&self, _unit: &Unit) -> Box<dyn Protocol> {
        Box::new(SabertoothUnit::new(self.clone()))
    }
}
