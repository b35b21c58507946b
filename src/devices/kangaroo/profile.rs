//! What profiles and rigs set on a Kangaroo alone.

use std::sync::Arc;

use super::KangarooUnit;
use crate::config::toml::keys::Keys;
use crate::describe::{Section, shortest};
use crate::drive_base::describe::ms;
use crate::drive_base::profile_read::{PROFILES, limit, whole};
use crate::drive_base::{Dialect, Protocol, Unit};

/// How the channels of a Kangaroo are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Channels {
    /// `1` and `2`, a motor each.
    #[default]
    Independent,
    /// `D` drives, `T` turns.
    Mixed,
}

words!(Channels: "independent" => Independent, "mixed" => Mixed);

/// Settings of a Kangaroo.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KangarooSettings {
    /// 128 to 255.
    pub address: u8,
    /// Use of the channels.
    pub channels: Channels,
    /// Encoder counts for one unit before a host sets units.
    pub counts_per_unit: f64,
    /// Time without input after which there is an error, nanoseconds; 0: never.
    pub serial_timeout_ns: u64,
    /// Whether the motors stop then.
    pub stops_on_timeout: bool,
    /// Whether positions are refused before homing.
    pub needs_home: bool,
    /// Whether positive `T` turns right.
    pub turns_right: bool,
    /// What one unit of `T` adds to one side and takes from the other, units.
    pub turn_share: f64,
    /// Speed towards a position for each metre that is left, 1/s.
    pub position_gain_hz: f64,
}

impl Dialect for KangarooSettings {
    fn read(&self, keys: &mut Keys<'_>) -> Arc<dyn Dialect> {
        let mut all = self.clone();
        keys.table("kangaroo", "[kangaroo]", &mut all, self::keys);
        Arc::new(all)
    }

    fn describe(&self) -> Section {
        let rows = vec![
            ("address", self.address.to_string()),
            ("channels", self.channels.word().to_owned()),
            ("counts_per_unit", shortest(self.counts_per_unit)),
            ("serial_timeout_ms", ms(self.serial_timeout_ns)),
            ("stops_on_timeout", self.stops_on_timeout.to_string()),
            ("needs_home", self.needs_home.to_string()),
            ("turns_right", self.turns_right.to_string()),
            ("turn_share", shortest(self.turn_share)),
            ("position_gain_hz", shortest(self.position_gain_hz)),
        ];
        ("settings.kangaroo", rows)
    }

    fn start(&self, _unit: &Unit) -> Box<dyn Protocol> {
        Box::new(KangarooUnit::new(self.clone()))
    }
}

fn keys(mut keys: Keys<'_>, all: &mut KangarooSettings) -> Option<()> {
    keys.integer("address", &whole(128, 255, "", "Kangaroo's packet serial"), &mut all.address);
    keys.choice("channels", &Channels::WORDS, PROFILES, &mut all.channels);
    let counts = limit(1e-6, 1e6, "counts");
    keys.number("counts_per_unit", &counts, &mut all.counts_per_unit);
    let timeout = limit(0.0, 3_600_000.0, "ms");
    keys.time_ns("serial_timeout_ms", &timeout, 1e6, &mut all.serial_timeout_ns);
    keys.boolean("stops_on_timeout", &mut all.stops_on_timeout);
    keys.boolean("needs_home", &mut all.needs_home);
    keys.boolean("turns_right", &mut all.turns_right);
    keys.number("turn_share", &limit(0.001, 1000.0, ""), &mut all.turn_share);
    keys.number("position_gain_hz", &limit(0.01, 100.0, "1/s"), &mut all.position_gain_hz);
    keys.finish()
}
