//! Settings of a Kangaroo in profiles and rigs.

use std::sync::Arc;

use super::KangarooUnit;
use crate::config::toml::key_types::{OneOf, Time, TrueOrFalse};
use crate::config::toml::keys::{Keys, SharedKeys};
use crate::config::toml::reader::Limit;
use crate::drive_base::profile::{PROFILES, limit};
use crate::drive_base::{Dialect, Protocol, Unit};

/// Mode of a Kangaroo's channels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Channels {
    /// Channels `1` and `2`, one for each motor.
    #[default]
    Independent,
    /// Channels `D`, which drives, and `T`, which turns.
    Mixed,
}

words!(Channels: "independent" => Independent, "mixed" => Mixed);

keys! {
    in profile and rig;
    /// Settings of a Kangaroo.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct KangarooSettings {
        /// Address of the controller in packets.
        pub address: u8, Limit::new(128..=255, "", "Kangaroo's packet serial");
        /// Use of the channels: two motors, or drive and turn.
        pub channels: Channels, OneOf(&Channels::WORDS, PROFILES);
        /// Encoder counts of one unit before a host sets units.
        pub counts_per_unit: f64, limit(1e-6, 1e6, "counts");
        /// The controller reports an error after this time without a command, until a host sets another time; 0: never.
        pub serial_timeout_ns as "serial_timeout_ms": u64, Time(limit(0.0, 3_600_000.0, "ms"), 1e6);
        /// Whether the motors stop at a serial timeout.
        pub stops_on_timeout: bool, TrueOrFalse;
        /// Whether the unit refuses positions before homing.
        pub needs_home: bool, TrueOrFalse;
        /// Whether a positive turn is to the right.
        pub turns_right: bool, TrueOrFalse;
        /// Drive units by which one turn unit makes one side faster and the other slower.
        pub turn_share: f64, limit(0.001, 1000.0, "");
        /// Gain of the position controller: speed for each metre of the remaining distance.
        pub position_gain_hz: f64, limit(0.01, 100.0, "1/s");
    }
}

impl Dialect for KangarooSettings {
    fn read(&self, keys: &mut Keys<'_>) -> Arc<dyn Dialect> {
        let mut all = self.clone();
        let field = keys.field("kangaroo").meaning("Settings of a Kangaroo only.");
        keys.table_in(&field, "[kangaroo]", &mut all, SharedKeys::read);
        Arc::new(all)
    }

    fn start(&self, _unit: &Unit) -> Box<dyn Protocol> {
        Box::new(KangarooUnit::new(self.clone()))
    }
}
