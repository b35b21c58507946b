//! CFG-GNSS: satellite systems that are received, and numbers of channels.
//!
//! Rules of the u-blox 8 receiver description: at least one of GPS, GLONASS, Galileo and BeiDou is on, and each of
//! these that is on has at least four channels. Every system that is on has its first signal on. The used channels do
//! not exceed the existing ones, and the reserved channels do not exceed the used ones. Generation 8 receives at most
//! two of three bands: one for GPS and Galileo, one for GLONASS, one for BeiDou (u-blox M8 data sheet). From generation
//! 9 on, channels are fixed and read-only.

use super::Gnss;
use super::Verdict;
use super::items::{key, signal_key, system_key};
use super::messages::gnss_id;
use super::profile::GnssDialect;
use crate::sensors::gnss::settings::GnssSystem;
use crate::time::SimTime;
use crate::wire::record::Record;
use crate::wire::ubx::Payload;
use crate::wire::ubx::cfg::{CfgGnss, GnssBlock, Item, Key};

const SBAS_ENA: Key = Key(0x1031_0020);
const SBAS: u8 = 1;
const IMES: u8 = 4;
const QZSS: u8 = 5;
/// Signals of QZSS: mask bit and key.
const QZSS_SIGNALS: [(u8, Key); 3] =
    [(0x01, Key(0x1031_0012)), (0x04, Key(0x1031_0014)), (0x10, Key(0x1031_0015))];
const SBAS_SIGNALS: [(u8, Key); 1] = [(0x01, Key(0x1031_0005))];

/// Number of channels in use, and for each system: UBX's number of the system, reserved channels, maximum. The factory
/// values apply until a host sets others.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Channels {
    used: u8,
    of: Vec<(u8, u8, u8)>,
}

impl Channels {
    /// Factory channels, from captures of a NEO-M8N (SPG 3.01) and a ZED-F9P (HPG 1.32).
    pub(super) fn of_factory(dialect: GnssDialect) -> Self {
        let (used, of): (u8, &[(u8, u8, u8)]) = match dialect {
            GnssDialect::Ublox8 => (
                32,
                &[(0, 8, 16), (1, 1, 3), (2, 4, 8), (3, 8, 16), (4, 0, 8), (5, 0, 3), (6, 8, 14)],
            ),
            _ => (60, &[(0, 8, 16), (1, 3, 3), (2, 10, 18), (3, 2, 5), (5, 0, 4), (6, 8, 12)]),
        };
        Self { used, of: of.to_vec() }
    }
}

fn second_signal_bit(system: GnssSystem) -> u8 {
    if system == GnssSystem::Galileo { 0x20 } else { 0x10 }
}

impl Gnss {
    pub(super) fn configure_systems(&mut self, now: SimTime, payload: &[u8]) -> Verdict {
        if payload.is_empty() {
            let answer = self.system_settings();
            self.send_frame(now, &answer.to_frame());
            return Ok(());
        }
        let set = CfgGnss::parse(payload).map_err(drop)?;
        if set.version != 0 {
            return Err(());
        }
        let mut items = Vec::new();
        for block in &set.blocks {
            self.block_items(block, &mut items)?;
        }
        let channels = self.channels_after(&set)?;
        if self.profile.receiver.dialect == GnssDialect::Ublox8 {
            self.judge(&items, &channels)?;
        }
        if !items.is_empty() {
            self.store.set_all(1, &items).map_err(drop)?;
        }
        self.blocks.channels = channels;
        Ok(())
    }

    /// UBX's numbers of the receiver's systems, in ascending order.
    fn known_systems(&self) -> Vec<u8> {
        let is_known = |id: &u8| match *id {
            SBAS => self.store.has(SBAS_ENA),
            IMES => self.profile.receiver.dialect == GnssDialect::Ublox8,
            QZSS => self.store.has(key::QZSS_ENA),
            id => self.profile.systems().any(|system| gnss_id(system) == id),
        };
        self.blocks.channels.of.iter().map(|(id, ..)| *id).filter(is_known).collect()
    }

    fn system(&self, id: u8) -> Option<GnssSystem> {
        self.profile.systems().find(|system| gnss_id(*system) == id)
    }

    /// Items of a system: key of the system, and mask bit and key of each signal. `None` for a system without a key, such as
    /// IMES.
    fn system_items(&self, id: u8) -> (Option<Key>, Vec<(u8, Key)>) {
        match (id, self.system(id)) {
            (SBAS, _) => (Some(SBAS_ENA), SBAS_SIGNALS.to_vec()),
            (QZSS, _) => {
                let most =
                    if self.profile.receiver.dialect == GnssDialect::Ublox8 { 0x0f } else { 0xff };
                let has = |(bit, key): &(u8, Key)| bit & most != 0 && self.store.has(*key);
                (Some(key::QZSS_ENA), QZSS_SIGNALS.into_iter().filter(has).collect())
            }
            (_, Some(system)) => {
                let signals = self.profile.nmea.signals.iter().find(|(other, _)| *other == system);
                let mut all = vec![(0x01, signal_key(system, false))];
                if signals.is_some_and(|(_, signals)| signals.len() > 1) {
                    all.push((second_signal_bit(system), signal_key(system, true)));
                }
                (Some(system_key(system)), all)
            }
            _ => (None, Vec::new()),
        }
    }

    fn system_settings(&self) -> CfgGnss {
        let block = |gnss_id: u8| {
            let (is_on, signals) = self.system_items(gnss_id);
            let of = self.blocks.channels.of.iter().find(|(id, ..)| *id == gnss_id);
            let (_, reserved_channels, max_channels) = of.copied().unwrap_or_default();
            let known = signals.iter().fold(0, |mask, (bit, _)| mask | bit);
            let on = signals.iter().filter(|(_, key)| self.store.is_set(*key));
            let on = on.fold(0, |mask, (bit, _)| mask | bit);
            // The top byte has the signals that the hardware supports.
            let (on, known) = match gnss_id {
                IMES => (0, 3),
                QZSS if self.profile.receiver.dialect == GnssDialect::Ublox8 => (on, 5),
                _ => (on, known),
            };
            let is_on = is_on.is_some_and(|key| self.store.is_set(key));
            let mask = if is_on || on != 0 { on } else { u8::from(gnss_id != IMES) };
            GnssBlock {
                gnss_id,
                reserved_channels,
                max_channels,
                reserved1: 0,
                flags: u32::from(known) << 24 | u32::from(mask) << 16 | u32::from(is_on),
            }
        };
        let hardware = Channels::of_factory(self.profile.receiver.dialect).used;
        CfgGnss {
            version: 0,
            hardware_channels: hardware,
            used_channels: self.blocks.channels.used,
            blocks: self.known_systems().into_iter().map(block).collect(),
        }
    }

    /// Appends to `items` the items that a block of CFG-GNSS sets; `Err` if the block is not allowed.
    fn block_items(&self, block: &GnssBlock, items: &mut Vec<Item>) -> Verdict {
        let (is_on, mask) = (block.flags & 1 == 1, (block.flags >> 16 & 0xff) as u8);
        let is_known = self.known_systems().contains(&block.gnss_id);
        let (ena, signals) = self.system_items(block.gnss_id);
        let Some(ena) = ena.filter(|_| is_known) else {
            // IMES is known and permanently off.
            return if is_on && block.gnss_id != IMES { Err(()) } else { Ok(()) };
        };
        items.push(Item { key: ena, value: is_on.into() });
        if !is_on {
            return Ok(());
        }
        // These systems cannot be on without their first signal.
        if mask & 1 == 0 {
            return Err(());
        }
        items.extend(
            signals
                .into_iter()
                .filter(|(_, key)| self.store.has(*key))
                .map(|(bit, key)| Item { key, value: u64::from(mask & bit != 0) }),
        );
        Ok(())
    }

    /// The channels after CFG-GNSS; `Err` if the message breaks a rule.
    fn channels_after(&self, set: &CfgGnss) -> Result<Channels, ()> {
        let mut channels = self.blocks.channels.clone();
        if self.profile.receiver.dialect != GnssDialect::Ublox8 {
            return Ok(channels);
        }
        let hardware = Channels::of_factory(self.profile.receiver.dialect).used;
        channels.used = match set.used_channels {
            0xff => hardware,
            used if (1..=hardware).contains(&used) => used,
            _ => return Err(()),
        };
        for block in &set.blocks {
            if block.flags & 1 == 1 && block.reserved_channels > block.max_channels {
                return Err(());
            }
            let of = channels.of.iter_mut().find(|(id, ..)| *id == block.gnss_id);
            if let Some((_, reserved, most)) = of {
                (*reserved, *most) = (block.reserved_channels, block.max_channels);
            }
        }
        Ok(channels)
    }

    /// Checks the effect of CFG-GNSS against the rules of generation 8: `items` and `channels` are the configuration items
    /// and the channels that the message would set. `Err` if they break a rule.
    fn judge(&self, items: &[Item], channels: &Channels) -> Verdict {
        let is_on = |id: &u8| {
            let Some(ena) = self.system_items(*id).0 else { return false };
            let set = items.iter().rev().find(|item| item.key == ena);
            set.map_or_else(|| self.store.get(ena), |item| item.value) != 0
        };
        let known = self.known_systems();
        let on = |id: u8| known.contains(&id) && is_on(&id);
        let major = channels.of.iter().filter(|(id, ..)| self.system(*id).is_some() && on(*id));
        let has_four = major.clone().all(|(_, _, most)| *most >= 4);
        let reserved: u32 = channels
            .of
            .iter()
            .filter(|(id, ..)| on(*id))
            .map(|(_, reserved, _)| u32::from(*reserved))
            .sum();
        let bands = [on(0) || on(2), on(6), on(3)].into_iter().filter(|is_on| *is_on).count();
        let is_good = major.count() > 0
            && has_four
            && reserved <= channels.used.into()
            && (1..=2).contains(&bands);
        if is_good { Ok(()) } else { Err(()) }
    }

    /// Bits of MON-GNSS (0 GPS, 1 GLONASS, 2 BeiDou, 3 Galileo) for the systems whose key satisfies `is_set`.
    pub(super) fn system_bits(&self, is_set: impl Fn(&Self, Key) -> bool) -> u8 {
        [
            (GnssSystem::Gps, 1),
            (GnssSystem::Glonass, 2),
            (GnssSystem::Beidou, 4),
            (GnssSystem::Galileo, 8),
        ]
        .into_iter()
        .filter(|(system, _)| self.profile.systems().any(|known| known == *system))
        .filter(|(system, _)| is_set(self, system_key(*system)))
        .fold(0, |bits, (_, bit)| bits | bit)
    }
}
