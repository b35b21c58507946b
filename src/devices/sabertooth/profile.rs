//! What profiles and rigs set on a Sabertooth alone.

use std::sync::Arc;

use super::SabertoothUnit;
use crate::config::toml::keys::Keys;
use crate::config::toml::reader::Limit;
use crate::describe::Section;
use crate::drive_base::describe::ms;
use crate::drive_base::profile_read::{PROFILES, delay_limit, whole};
use crate::drive_base::{Dialect, Protocol, Unit};

/// How a Sabertooth is talked to: its switches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SabertoothMode {
    /// Packets with address and sum.
    #[default]
    Packet,
    /// A byte for each command.
    Simplified,
}

words!(SabertoothMode: "packet" => Packet, "simplified" => Simplified);

/// Settings of a Sabertooth.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SabertoothSettings {
    /// 128 to 135.
    pub address: u8,
    /// Mode: the input that it understands.
    pub mode: SabertoothMode,
    /// Time without input after which motors stop, nanoseconds; 0: never.
    pub timeout_ns: u64,
    /// Time after a change of its rate in which it ignores input, nanoseconds.
    pub restart_ns: u64,
}

impl Dialect for SabertoothSettings {
    fn read(&self, keys: &mut Keys<'_>) -> Arc<dyn Dialect> {
        let mut all = self.clone();
        keys.table("sabertooth", "[sabertooth]", &mut all, self::keys);
        Arc::new(all)
    }

    fn describe(&self) -> Section {
        let rows = vec![
            ("address", self.address.to_string()),
            ("mode", self.mode.word().to_owned()),
            ("timeout_ms", ms(self.timeout_ns)),
            ("restart_ms", ms(self.restart_ns)),
        ];
        ("settings.sabertooth", rows)
    }

    fn start(&self, _unit: &Unit) -> Box<dyn Protocol> {
        Box::new(SabertoothUnit::new(self.clone()))
    }
}

fn keys(mut keys: Keys<'_>, all: &mut SabertoothSettings) -> Option<()> {
    keys.integer("address", &whole(128, 135, "", "Sabertooth's packet serial"), &mut all.address);
    keys.choice("mode", &SabertoothMode::WORDS, PROFILES, &mut all.mode);
    let timeout = Limit::new(0.0..=12_700.0, "ms", "Sabertooth's packet serial: 127 of 100 ms");
    keys.time_ns("timeout_ms", &timeout, 1e6, &mut all.timeout_ns);
    keys.time_ns("restart_ms", &delay_limit(), 1e6, &mut all.restart_ns);
    keys.finish()
}
