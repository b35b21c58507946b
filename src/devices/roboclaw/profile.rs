//! What profiles and rigs set on a RoboClaw alone.

use std::sync::Arc;

use super::RoboClawUnit;
use crate::config::toml::keys::Keys;
use crate::config::toml::reader::Limit;
use crate::describe::{Section, shortest};
use crate::drive_base::describe::ms;
use crate::drive_base::profile_read::{PROFILES, limit, whole};
use crate::drive_base::{Dialect, Protocol, Unit};

/// How many bits a RoboClaw's status has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StatusWidth {
    /// Old firmware.
    #[default]
    Bits16,
    /// New firmware: errors in the low half, warnings in the high.
    Bits32,
}

words!(StatusWidth: "16-bit" => Bits16, "32-bit" => Bits32);

/// The order in which a RoboClaw tells the gains of its speed controller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PidOrder {
    /// Proportional, integral, differential.
    #[default]
    Pid,
    /// Differential, proportional, integral, as they are set.
    Dpi,
}

words!(PidOrder: "pid" => Pid, "dpi" => Dpi);

/// How long the answers of a RoboClaw are where firmwares differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RoboClawLayout {
    /// Layout in the manual of firmware 4.1.34 and the maker's library `roboclaw_3`.
    #[default]
    Classic,
    /// Layout of the maker's library `basicmicro` 2.
    Extended,
}

words!(RoboClawLayout: "classic" => Classic, "extended" => Extended);

/// Settings of a RoboClaw.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RoboClawSettings {
    /// 128 to 135.
    pub address: u8,
    /// Whether it answers to every address, as it does over USB.
    pub answers_all_addresses: bool,
    /// A longer pause within a packet discards it, nanoseconds.
    pub packet_gap_ns: u64,
    /// Time without a packet after which motors stop, nanoseconds; 0: never.
    pub timeout_ns: u64,
    /// Width of the unit's status.
    pub status: StatusWidth,
    /// Whether the speeds of commands 18, 19, 30 and 31 have a sign of their own beside the direction.
    pub has_signed_speeds: bool,
    /// Order of P, I and D in the answer to commands 55 and 56.
    pub pid_order: PidOrder,
    /// Proportional, integral, differential gain before a host sets them, times 65536.
    pub velocity_gains: [f64; 3],
    /// Proportional gain of the position controller before a host sets it, 1/s.
    pub position_gain: f64,
    /// Layout of the answers to commands 59, 75, 77, 81 and 149.
    pub layout: RoboClawLayout,
}

impl Dialect for RoboClawSettings {
    fn read(&self, keys: &mut Keys<'_>) -> Arc<dyn Dialect> {
        let mut all = self.clone();
        keys.table("roboclaw", "[roboclaw]", &mut all, self::keys);
        Arc::new(all)
    }

    fn describe(&self) -> Section {
        let gains: Vec<String> = self.velocity_gains.iter().map(|x| shortest(*x)).collect();
        let rows = vec![
            ("address", self.address.to_string()),
            ("all_addresses", self.answers_all_addresses.to_string()),
            ("packet_gap_ms", ms(self.packet_gap_ns)),
            ("timeout_ms", ms(self.timeout_ns)),
            ("status", self.status.word().to_owned()),
            ("signed_speeds", self.has_signed_speeds.to_string()),
            ("pid_order", self.pid_order.word().to_owned()),
            ("velocity_gains", gains.join(", ")),
            ("position_gain", shortest(self.position_gain)),
            ("layout", self.layout.word().to_owned()),
        ];
        ("settings.roboclaw", rows)
    }

    fn start(&self, unit: &Unit) -> Box<dyn Protocol> {
        Box::new(RoboClawUnit::new(self.clone(), unit))
    }
}

fn keys(mut keys: Keys<'_>, all: &mut RoboClawSettings) -> Option<()> {
    keys.integer("address", &whole(128, 135, "", "RoboClaw's packet serial"), &mut all.address);
    keys.boolean("all_addresses", &mut all.answers_all_addresses);
    keys.time_ns("packet_gap_ms", &limit(1.0, 10_000.0, "ms"), 1e6, &mut all.packet_gap_ns);
    let timeout = Limit::new(0.0..=25_500.0, "ms", "RoboClaw's packet serial: one byte of 100 ms");
    keys.time_ns("timeout_ms", &timeout, 1e6, &mut all.timeout_ns);
    keys.choice("status", &StatusWidth::WORDS, PROFILES, &mut all.status);
    keys.boolean("signed_speeds", &mut all.has_signed_speeds);
    keys.choice("pid_order", &PidOrder::WORDS, PROFILES, &mut all.pid_order);
    let gain = Limit::new(0.0..=65_535.0, "", "RoboClaw's packet serial: 16 bits before the point");
    let default = all.velocity_gains.to_vec();
    keys.with_default("velocity_gains", default, &mut all.velocity_gains, |f| f.numbers(&gain));
    let gain =
        Limit::new(0.0..=4_000_000.0, "1/s", "RoboClaw's packet serial: 22 bits before the point");
    keys.number("position_gain", &gain, &mut all.position_gain);
    keys.choice("layout", &RoboClawLayout::WORDS, PROFILES, &mut all.layout);
    keys.finish()
}
