//! CFG messages of a u-blox receiver: their effects, answers and refusals.

use std::collections::BTreeMap;

use super::fences::CFG_GEOFENCE;
use super::items::{
    Protocol, ROWS, Row, UART1, baud_key, input_key, is_baud_rate, is_made, key, output_key,
    rate_key,
};
use super::legacy::Legacy;
use super::power::CFG_PWR;
use super::profile::GnssDialect;
use super::systems::Channels;
use super::{Gnss, Verdict};
use crate::time::SimTime;
use crate::wire::record::Record;
use crate::wire::ubx::cfg::{
    CfgCfg, CfgGnss, CfgMsg, CfgPrt, CfgRate, CfgTp5, CfgValdel, CfgValget, CfgValset, Item, Key,
};
use crate::wire::ubx::{Frame, MessageId, Payload};

/// CFG-DAT: geodetic datum.
const CFG_DAT: MessageId = MessageId::new(0x06, 0x06);
/// CFG-RINV: bytes that the receiver stores for the host.
const CFG_RINV: MessageId = MessageId::new(0x06, 0x34);
/// UPD-SOS: backup of the receiver's state in flash.
const UPD_SOS: MessageId = MessageId::new(0x09, 0x14);
/// Messages handled by `configure` that generation 10 supports.
const IN_GENERATION_10: [MessageId; 5] =
    [CfgCfg::ID, UPD_SOS, CfgValset::ID, CfgValdel::ID, CfgValget::ID];
/// Factory content of CFG-RINV.
const NO_REMOTE_INVENTORY: &[u8] = b"\0Notice: no data saved!";
const MAX_REMOTE_INVENTORY: usize = 31;
/// Key of the item that selects the datum configured by the host instead of WGS84.
const USE_USRDAT: Key = Key(0x1011_0061);
/// Keys of the parameters of a datum (semi-major axis, flattening, shifts, rotations, scale), with their lengths in
/// bytes.
const DATUM: [(Key, usize); 9] = [
    (Key(0x5011_0062), 8),
    (Key(0x5011_0063), 8),
    (Key(0x4011_0064), 4),
    (Key(0x4011_0065), 4),
    (Key(0x4011_0066), 4),
    (Key(0x4011_0067), 4),
    (Key(0x4011_0068), 4),
    (Key(0x4011_0069), 4),
    (Key(0x4011_006a), 4),
];
/// Group of the items with message rates.
const RATES: u8 = 0x91;
/// Length of one port's block in CFG-PRT.
const PORT_BYTES: usize = 20;

/// CFG-INF: text messages, by port and protocol.
const CFG_INF: MessageId = MessageId::new(0x06, 0x02);

/// Protocols and their bits in the masks of CFG-PRT.
const PROTOCOL_BITS: [(Protocol, u16); 4] = [
    (Protocol::Ubx, 1 << 0),
    (Protocol::Nmea, 1 << 1),
    (Protocol::Rtcm2, 1 << 2),
    (Protocol::Rtcm3, 1 << 5),
];

/// Settings of older messages, beside the configuration items.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    /// Payloads of settings that are stored as the host sent them.
    kept: BTreeMap<MessageId, Vec<u8>>,
    /// CFG-PRT messages as received, by port. Their settings are also in the store.
    ports: BTreeMap<u8, CfgPrt>,
    /// Channel allocation.
    pub channels: Channels,
}

impl Blocks {
    /// Factory settings.
    pub fn of_factory(dialect: GnssDialect) -> Self {
        Self {
            kept: BTreeMap::new(),
            ports: BTreeMap::new(),
            channels: Channels::of_factory(dialect),
        }
    }
}

impl Gnss {
    pub(super) fn configure(&mut self, now: SimTime, frame: &Frame) -> Verdict {
        let payload = &frame.payload;
        let has_items = self.profile.receiver.dialect.has_items();
        if !matches!(frame.id, CfgValset::ID | CfgValdel::ID) {
            self.transaction = None;
        }
        match frame.id {
            // Of the older CFG messages, generation 10 has only CFG-CFG.
            id if self.profile.receiver.dialect == GnssDialect::Ublox10
                && !IN_GENERATION_10.contains(&id) =>
            {
                Err(())
            }
            CfgPrt::ID => self.configure_ports(now, payload),
            CfgMsg::ID => self.configure_message(now, payload),
            CfgRate::ID => self.configure_rate(now, payload),
            CfgGnss::ID => self.configure_systems(now, payload),
            CFG_INF => self.configure_text(now, payload),
            CfgTp5::ID => self.configure_pulse(now, payload),
            CfgCfg::ID => self.configure_storage(payload),
            CFG_GEOFENCE => self.configure_fences(now, payload),
            CFG_DAT => self.configure_datum(now, payload),
            CFG_RINV => self.configure_inventory(now, payload),
            CFG_PWR if !has_items => self.configure_power(payload),
            UPD_SOS => self.save_on_shutdown(now, payload),
            CfgValset::ID if has_items => self.set_values(payload),
            CfgValdel::ID if has_items => self.forget_values(payload),
            CfgValget::ID if has_items => {
                let Ok(CfgValget::Request { layer, position, keys }) = CfgValget::parse(payload)
                else {
                    return Err(());
                };
                let items = self.store.read(layer, position, &keys).map_err(drop)?;
                let answer = CfgValget::Answer { layer, position, items };
                self.send_frame(now, &answer.to_frame());
                Ok(())
            }
            id => {
                let legacy = Legacy::find(id, self.profile.receiver.dialect).ok_or(())?;
                self.configure_legacy(now, legacy, payload)
            }
        }
    }

    fn configure_legacy(&mut self, now: SimTime, legacy: &Legacy, payload: &[u8]) -> Verdict {
        if !legacy.is_in(&self.store) {
            return Err(());
        }
        let kept = self.blocks.kept.get(&legacy.id).map(Vec::as_slice);
        if payload.is_empty() {
            let answer = legacy.read(&self.store, kept);
            self.send_frame(now, &Frame::new(legacy.id, answer));
            return Ok(());
        }
        let payload = legacy.whole(&self.store, kept, payload);
        let items = legacy.items(&self.store, &payload).ok_or(())?;
        if !items.is_empty() {
            self.store.set_all(1, &items).map_err(drop)?;
        }
        let payload = legacy.merged(&self.store, kept, payload);
        self.blocks.kept.insert(legacy.id, payload);
        Ok(())
    }

    /// CFG-INF: a poll of one protocol, or blocks to set. A block has a protocol and one byte per port (bit 0 errors, 1
    /// warnings, 2 notices).
    fn configure_text(&mut self, now: SimTime, payload: &[u8]) -> Verdict {
        let first_key = |protocol: u8| match protocol {
            0 => Ok(0x2092_0001),
            1 => Ok(0x2092_0006),
            _ => Err(()),
        };
        if let [protocol] = *payload {
            let first = first_key(protocol)?;
            let mut answer = vec![protocol, 0, 0, 0];
            answer.extend((0..5).map(|port| self.store.get(Key(first + port)) as u8));
            answer.push(0);
            self.send_frame(now, &Frame::new(CFG_INF, answer));
            return Ok(());
        }
        let blocks = payload.chunks_exact(10);
        if payload.is_empty() || !blocks.remainder().is_empty() {
            return Err(());
        }
        let mut items = Vec::new();
        for block in blocks {
            let first = first_key(block[0])?;
            items.extend((0..5).map(|port| Item {
                key: Key(first + port),
                value: block[4 + port as usize].into(),
            }));
        }
        self.store.set_all(1, &items).map_err(drop)
    }

    /// CFG-PRT: a poll with or without a port, or one or more blocks to set.
    fn configure_ports(&mut self, now: SimTime, payload: &[u8]) -> Verdict {
        if payload.len() <= 1 {
            let port = payload.first().copied().unwrap_or(self.served_port());
            let answer = self.port_settings(port).ok_or(())?;
            self.send_frame(now, &answer.to_frame());
            return Ok(());
        }
        let blocks = payload.chunks_exact(PORT_BYTES);
        if !blocks.remainder().is_empty() {
            return Err(());
        }
        let blocks: Vec<CfgPrt> =
            blocks.map(|block| CfgPrt::parse(block).map_err(drop)).collect::<Result<_, _>>()?;
        if !blocks.iter().all(is_port) {
            return Err(());
        }
        blocks.iter().for_each(|block| self.set_port(block));
        Ok(())
    }

    /// Applies port settings that [`is_port`] has accepted.
    pub(super) fn set_port(&mut self, set: &CfgPrt) {
        if let Some(key) = baud_key(set.port) {
            self.store.set(key, set.baud.into());
        }
        for (protocol, bit) in PROTOCOL_BITS {
            let is_in = set.input_protocols & bit != 0;
            let is_out = set.output_protocols & bit != 0;
            self.store.set(input_key(set.port, protocol), is_in.into());
            self.store.set(output_key(set.port, protocol), is_out.into());
        }
        self.blocks.ports.insert(set.port, *set);
    }

    pub(super) fn port_settings(&self, port: u8) -> Option<CfgPrt> {
        let mask = |key_of: fn(u8, Protocol) -> Key| {
            let set = PROTOCOL_BITS.iter().filter(|(p, _)| self.store.is_set(key_of(port, *p)));
            set.fold(0, |mask, (_, bit)| mask | bit)
        };
        if port > 4 {
            return None;
        }
        let baud = baud_key(port).map_or(0, |key| self.store.get(key));
        let blank = CfgPrt {
            port,
            mode: match port {
                0 => 0x84,
                1 | 2 => 0x08d0,
                4 => 0x3200,
                _ => 0,
            },
            ..CfgPrt::default()
        };
        Some(CfgPrt {
            baud: baud as u32,
            input_protocols: mask(input_key),
            output_protocols: mask(output_key),
            ..self.blocks.ports.get(&port).copied().unwrap_or(blank)
        })
    }

    fn configure_message(&mut self, now: SimTime, payload: &[u8]) -> Verdict {
        let set = CfgMsg::parse(payload).map_err(drop)?;
        let (CfgMsg::Poll(id) | CfgMsg::ThisPort(id, _) | CfgMsg::AllPorts(id, _)) = set;
        let known = rate_key(id, UART1).filter(|key| id.class != 0xfe && self.store.has(*key));
        known.ok_or(())?;
        let key_of = |port| rate_key(id, port).ok_or(());
        match set {
            CfgMsg::Poll(_) => {
                let mut rates = [0; 6];
                for (port, rate) in rates.iter_mut().take(5).enumerate() {
                    *rate = self.store.get(key_of(port as u8)?) as u8;
                }
                self.send_frame(now, &CfgMsg::AllPorts(id, rates).to_frame());
                Ok(())
            }
            CfgMsg::ThisPort(_, rate) => {
                let item = Item { key: key_of(self.served_port())?, value: rate.into() };
                self.store.set_all(1, &[item]).map_err(drop)?;
                self.name_unmade(&[item]);
                Ok(())
            }
            CfgMsg::AllPorts(_, rates) => {
                let mut items = Vec::new();
                for (port, rate) in rates.iter().take(5).enumerate() {
                    items.push(Item { key: key_of(port as u8)?, value: (*rate).into() });
                }
                self.store.set_all(1, &items).map_err(drop)?;
                self.name_unmade(&items);
                Ok(())
            }
        }
    }

    /// Logs enabled messages that Menura does not implement.
    pub(super) fn name_unmade(&self, items: &[Item]) {
        let rates = items.iter().filter(|item| item.value > 0 && item.key.group() == RATES);
        for item in rates {
            let is_of = |row: &&Row| {
                let port = item.key.0.wrapping_sub(row.key.0);
                self.ports.iter().any(|known| known.is_wired && u32::from(known.number) == port)
            };
            let row = ROWS.iter().filter(|row| row.message.is_some()).find(is_of);
            let id = row.and_then(|row| row.message).filter(|id| !is_made(&self.profile, *id));
            if let (Some(row), Some(_)) = (row, id) {
                tracing::warn!("a host switched on {}, which Menura does not send", row.name);
            }
        }
    }

    fn configure_rate(&mut self, now: SimTime, payload: &[u8]) -> Verdict {
        if payload.is_empty() {
            let answer = CfgRate {
                measurement_ms: self.store.get(key::RATE_MEAS) as u16,
                measurements_per_solution: self.store.get(key::RATE_NAV) as u16,
                time_reference: self.store.get(key::RATE_TIMEREF) as u16,
            };
            self.send_frame(now, &answer.to_frame());
            return Ok(());
        }
        let set = CfgRate::parse(payload).map_err(drop)?;
        let item = |key, value: u16| Item { key, value: value.into() };
        let items = [
            item(key::RATE_MEAS, set.measurement_ms),
            item(key::RATE_NAV, set.measurements_per_solution),
            item(key::RATE_TIMEREF, set.time_reference),
        ];
        self.store.set_all(1, &items).map_err(drop)
    }

    fn configure_pulse(&mut self, now: SimTime, payload: &[u8]) -> Verdict {
        // The emulated receivers have no second time pulse.
        if payload.first().is_some_and(|index| *index != 0) {
            return Err(());
        }
        if payload.len() <= 1 {
            let answer = self.pulse_settings();
            self.send_frame(now, &answer.to_frame());
            return Ok(());
        }
        let set = CfgTp5::parse(payload).map_err(drop)?;
        let bit = |number: u32| u64::from(set.flags >> number & 1);
        let item = |key, value: u64| Item { key, value };
        let [period, period_locked] = match bit(3) {
            1 => [key::FREQ_TP1, key::FREQ_LOCK_TP1],
            _ => [key::PERIOD_TP1, key::PERIOD_LOCK_TP1],
        };
        let mut items = vec![
            item(key::ANT_CABLEDELAY, u64::from(set.cable_delay_ns as u16)),
            item(key::USER_DELAY_TP1, u64::from(set.user_delay_ns as u32)),
            item(key::TP1_ENA, bit(0)),
            item(key::SYNC_TP1, bit(1)),
            item(key::USE_LOCKED_TP1, bit(2)),
            item(key::PULSE_DEF, bit(3)),
            item(key::PULSE_LENGTH_DEF, bit(4)),
            item(key::ALIGN_TP1, bit(5)),
            item(key::POL_TP1, bit(6)),
            item(key::TIMEGRID_TP1, u64::from(set.flags >> 7 & 15)),
            item(period, set.period.into()),
            item(period_locked, set.period_locked.into()),
        ];
        if bit(4) == 1 {
            items.push(item(key::LEN_TP1, set.length.into()));
            items.push(item(key::LEN_LOCK_TP1, set.length_locked.into()));
        } else {
            let percent = |ratio: u32| (f64::from(ratio) / 2_f64.powi(32) * 100.0).to_bits();
            items.push(item(key::DUTY_TP1, percent(set.length)));
            items.push(item(key::DUTY_LOCK_TP1, percent(set.length_locked)));
        }
        self.store.set_all(1, &items).map_err(drop)
    }

    fn pulse_settings(&self) -> CfgTp5 {
        let get = |item| self.store.get(item);
        let (is_frequency, is_length) = (get(key::PULSE_DEF) == 1, get(key::PULSE_LENGTH_DEF) == 1);
        let [period, period_locked] = match is_frequency {
            true => [key::FREQ_TP1, key::FREQ_LOCK_TP1],
            false => [key::PERIOD_TP1, key::PERIOD_LOCK_TP1],
        };
        let ratio = |item| (f64::from_bits(get(item)) / 100.0 * 2_f64.powi(32)) as u32;
        let [length, length_locked] = match is_length {
            true => [key::LEN_TP1, key::LEN_LOCK_TP1].map(|item| get(item) as u32),
            false => [key::DUTY_TP1, key::DUTY_LOCK_TP1].map(ratio),
        };
        let bits = [
            key::TP1_ENA,
            key::SYNC_TP1,
            key::USE_LOCKED_TP1,
            key::PULSE_DEF,
            key::PULSE_LENGTH_DEF,
            key::ALIGN_TP1,
            key::POL_TP1,
        ];
        let flags = bits
            .iter()
            .enumerate()
            .fold(0, |flags, (bit, item)| flags | (get(*item) as u32 & 1) << bit);
        CfgTp5 {
            index: 0,
            version: 1,
            cable_delay_ns: get(key::ANT_CABLEDELAY) as i16,
            period: get(period) as u32,
            period_locked: get(period_locked) as u32,
            length,
            length_locked,
            user_delay_ns: get(key::USER_DELAY_TP1) as i32,
            flags: flags | (get(key::TIMEGRID_TP1) as u32 & 15) << 7,
            ..CfgTp5::default()
        }
    }

    /// CFG-CFG. Groups of settings are not distinguished: a mask with any bit set selects all groups.
    fn configure_storage(&mut self, payload: &[u8]) -> Verdict {
        let CfgCfg { clear, save, load, .. } = CfgCfg::parse(payload).map_err(drop)?;
        if clear != 0 {
            self.store.clear();
            self.saved_blocks = Blocks::of_factory(self.profile.receiver.dialect);
        }
        if save != 0 {
            self.store.save();
            self.saved_blocks = self.blocks.clone();
        }
        if load != 0 {
            self.store.load();
            self.blocks = self.saved_blocks.clone();
        }
        Ok(())
    }

    /// CFG-DAT: a poll, WGS84 (number 0), or the parameters of the host's own datum. Reported positions stay in WGS84.
    fn configure_datum(&mut self, now: SimTime, payload: &[u8]) -> Verdict {
        match payload.len() {
            0 => {
                let is_user = self.store.is_set(USE_USRDAT);
                let mut answer = if is_user { vec![0xff, 0xff] } else { vec![0, 0] };
                answer.extend(if is_user { b"USER\0\0" } else { b"WGS84\0" });
                let value = |key: Key| self.store.get(key).to_le_bytes();
                for (key, bytes) in DATUM {
                    answer.extend(&value(key)[..bytes]);
                }
                self.send_frame(now, &Frame::new(CFG_DAT, answer));
                Ok(())
            }
            2 if payload == [0, 0] => {
                self.store.set(USE_USRDAT, 0);
                Ok(())
            }
            44 => {
                let mut rest = payload;
                let mut items = vec![Item { key: USE_USRDAT, value: 1 }];
                for (key, bytes) in DATUM {
                    let (head, tail) = rest.split_at(bytes);
                    let value = head.iter().rev().fold(0, |n, byte| n << 8 | u64::from(*byte));
                    items.push(Item { key, value });
                    rest = tail;
                }
                self.store.set_all(1, &items).map_err(drop)
            }
            _ => Err(()),
        }
    }

    /// CFG-RINV: an empty message polls the stored data; others set flags and up to 30 bytes.
    fn configure_inventory(&mut self, now: SimTime, payload: &[u8]) -> Verdict {
        if payload.is_empty() {
            let kept = self.blocks.kept.get(&CFG_RINV).map_or(NO_REMOTE_INVENTORY, Vec::as_slice);
            let answer = Frame::new(CFG_RINV, kept.to_vec());
            self.send_frame(now, &answer);
            return Ok(());
        }
        if payload.len() > MAX_REMOTE_INVENTORY {
            return Err(());
        }
        self.blocks.kept.insert(CFG_RINV, payload.to_vec());
        Ok(())
    }

    /// UPD-SOS: commands are accepted without effect; the answer to a poll states that no backup was restored at
    /// power-on.
    fn save_on_shutdown(&mut self, now: SimTime, payload: &[u8]) -> Verdict {
        match *payload {
            // No state was restored from flash.
            [] => {
                self.send_frame(now, &Frame::new(UPD_SOS, vec![3, 0, 0, 0, 3, 0, 0, 0]));
                Ok(())
            }
            [0 | 1, _, _, _] => Ok(()),
            _ => Err(()),
        }
    }
}

/// Whether the receiver has the port and supports its settings. A UART needs eight data bits, no parity, one stop bit
/// and a usual baud rate.
pub(super) fn is_port(set: &CfgPrt) -> bool {
    match set.port {
        1 | 2 => set.mode & 0x3ec0 == 0x08c0 && is_baud_rate(set.baud.into()),
        port => matches!(port, 0 | 3 | 4),
    }
}
