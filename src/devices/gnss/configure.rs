//! The CFG messages of a u-blox receiver: what each sets, asks for and refuses.

use super::Gnss;
use super::items::{Protocol, UART1, input_key, key, output_key, rate_key, signal_key, system_key};
use super::legacy::Legacy;
use super::messages::gnss_id;
use super::profile::GnssDialect;
use crate::sensors::gnss::settings::GnssSystem;
use crate::time::SimTime;
use crate::wire::record::Record;
use crate::wire::ubx::cfg::{
    CfgCfg, CfgGnss, CfgMsg, CfgPrt, CfgRate, CfgTp5, CfgValdel, CfgValget, CfgValset, GnssBlock,
    Item, Key,
};
use crate::wire::ubx::{Frame, MessageId, Payload};

/// Nothing was wrong, or the message is refused.
pub type Verdict = Result<(), ()>;

/// Messages that are kept as they came, with the lengths they may have: least, step.
const KEPT: [(MessageId, usize, usize); 2] = [
    (MessageId::new(0x06, 0x1b), 108, 0), // CFG-USB
    (MessageId::new(0x09, 0x14), 4, 4),   // UPD-SOS
];

/// CFG-INF: which text goes out in which protocol on which port.
const CFG_INF: MessageId = MessageId::new(0x06, 0x02);

/// UBX's protocols of a port as bits.
const PROTOCOL_BITS: [(Protocol, u16); 4] = [
    (Protocol::Ubx, 1 << 0),
    (Protocol::Nmea, 1 << 1),
    (Protocol::Rtcm2, 1 << 2),
    (Protocol::Rtcm3, 1 << 5),
];

/// Systems that receivers know and of which there are no satellites: UBX's number, item.
const NO_SATELLITES: [(u8, Key); 2] = [(1, Key(0x1031_0020)), (5, Key(0x1031_0024))];

/// The bit of a system's second signal in CFG-GNSS.
fn second_signal_bit(system: GnssSystem) -> u32 {
    if system == GnssSystem::Galileo { 0x20 } else { 0x10 }
}

impl Gnss {
    pub(super) fn configure(&mut self, now: SimTime, frame: &Frame) -> Verdict {
        let payload = &frame.payload;
        let is_generation_9 = self.profile.dialect == GnssDialect::Ublox9;
        match frame.id {
            CfgPrt::ID => self.configure_port(now, payload),
            CfgMsg::ID => self.configure_message(now, payload),
            CfgRate::ID => self.configure_rate(now, payload),
            CfgGnss::ID => self.configure_systems(now, payload),
            CFG_INF => self.configure_text(now, payload),
            CfgTp5::ID => self.configure_pulse(now, payload),
            CfgCfg::ID => self.configure_storage(payload),
            CfgValset::ID if is_generation_9 => {
                let set = CfgValset::parse(payload).map_err(drop)?;
                // Transactions need state between messages; they are refused.
                let is_plain = set.version == 0 || (set.version == 1 && set.transaction == 0);
                let set = is_plain.then_some(set).ok_or(())?;
                self.store.set_all(set.layers, &set.items).map_err(drop)
            }
            CfgValdel::ID if is_generation_9 => {
                let del = CfgValdel::parse(payload).map_err(drop)?;
                let is_plain = del.version == 0 || (del.version == 1 && del.transaction == 0);
                let del = is_plain.then_some(del).ok_or(())?;
                self.store.forget(del.layers, &del.keys).map_err(drop)
            }
            CfgValget::ID if is_generation_9 => {
                let Ok(CfgValget::Request { layer, position, keys }) = CfgValget::parse(payload)
                else {
                    return Err(());
                };
                let items = self.store.read(layer, position, &keys).map_err(drop)?;
                let answer = CfgValget::Answer { layer, position, items };
                self.send_frame(now, &answer.to_frame());
                Ok(())
            }
            id => match Legacy::find(id, self.profile.dialect) {
                Some(legacy) => self.configure_legacy(now, legacy, payload),
                None => self.keep(now, id, payload),
            },
        }
    }

    fn configure_legacy(&mut self, now: SimTime, legacy: &Legacy, payload: &[u8]) -> Verdict {
        if !legacy.is_in(&self.store) {
            return Err(());
        }
        if payload.is_empty() {
            let kept = self.kept.get(&legacy.id).map(Vec::as_slice);
            let answer = legacy.read(&self.store, kept);
            self.send_frame(now, &Frame::new(legacy.id, answer));
            return Ok(());
        }
        let items = legacy.items(&self.store, payload).ok_or(())?;
        if !items.is_empty() {
            self.store.set_all(1, &items).map_err(drop)?;
        }
        self.kept.insert(legacy.id, payload.to_vec());
        Ok(())
    }

    /// CFG-INF: a protocol, and for each port bits 0 errors, 1 warnings, 2 notices.
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

    pub(super) fn configure_port(&mut self, now: SimTime, payload: &[u8]) -> Verdict {
        if payload.len() <= 1 {
            let port = payload.first().copied().unwrap_or(UART1);
            let answer = self.port_settings(port).ok_or(())?;
            self.send_frame(now, &answer.to_frame());
            return Ok(());
        }
        let set = CfgPrt::parse(payload).map_err(drop)?;
        let baud_key = match set.port {
            1 => Some(key::UART1_BAUDRATE),
            2 => Some(key::UART2_BAUDRATE),
            0 | 3 | 4 => None,
            _ => return Err(()),
        };
        if let Some(baud_key) = baud_key {
            // Eight bits, no parity, one stop bit is what the line is.
            let is_8n1 = set.mode & 0x3ec0 == 0x08c0;
            if !is_8n1 || !super::items::is_baud_rate(set.baud.into()) {
                return Err(());
            }
            self.store.set(baud_key, set.baud.into());
        }
        for (protocol, bit) in PROTOCOL_BITS {
            let is_in = set.input_protocols & bit != 0;
            let is_out = set.output_protocols & bit != 0;
            self.store.set(input_key(set.port, protocol), is_in.into());
            self.store.set(output_key(set.port, protocol), is_out.into());
        }
        Ok(())
    }

    fn port_settings(&self, port: u8) -> Option<CfgPrt> {
        let mask = |key_of: fn(u8, Protocol) -> Key| {
            let set = PROTOCOL_BITS.iter().filter(|(p, _)| self.store.is_set(key_of(port, *p)));
            set.fold(0, |mask, (_, bit)| mask | bit)
        };
        let baud = match port {
            1 => self.store.get(key::UART1_BAUDRATE),
            2 => self.store.get(key::UART2_BAUDRATE),
            0 | 3 | 4 => 0,
            _ => return None,
        };
        Some(CfgPrt {
            port,
            mode: if matches!(port, 1 | 2) { 0x08d0 } else { 0 },
            baud: baud as u32,
            input_protocols: mask(input_key),
            output_protocols: mask(output_key),
            ..CfgPrt::default()
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
                let item = Item { key: key_of(UART1)?, value: rate.into() };
                self.set_rates(id, &[item])
            }
            CfgMsg::AllPorts(_, rates) => {
                let mut items = Vec::new();
                for (port, rate) in rates.iter().take(5).enumerate() {
                    items.push(Item { key: key_of(port as u8)?, value: (*rate).into() });
                }
                self.set_rates(id, &items)
            }
        }
    }

    /// Rates of a message, or a refusal if it would have to come and Menura does not make it.
    fn set_rates(&mut self, id: MessageId, items: &[Item]) -> Verdict {
        let verdict = self.store.set_all(1, items).map_err(drop);
        if verdict.is_err() {
            tracing::info!("a host was refused {id}, which is not emulated");
        }
        verdict
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

    fn configure_systems(&mut self, now: SimTime, payload: &[u8]) -> Verdict {
        let hardware: Vec<GnssSystem> = self.profile.systems().collect();
        if payload.is_empty() {
            let block = |gnss_id, signals: u32, is_on: bool| GnssBlock {
                gnss_id,
                reserved_channels: 8,
                max_channels: 16,
                reserved1: 0,
                flags: signals << 16 | u32::from(is_on),
            };
            let mut blocks: Vec<GnssBlock> = hardware
                .iter()
                .map(|system| {
                    let second = match self.signals_of(*system) {
                        2 => second_signal_bit(*system),
                        _ => 0,
                    };
                    let is_on = self.store.is_set(system_key(*system));
                    block(gnss_id(*system), 1 | second, is_on)
                })
                .collect();
            for (gnss_id, key) in NO_SATELLITES.into_iter().filter(|(_, key)| self.store.has(*key))
            {
                blocks.push(block(gnss_id, 1, self.store.is_set(key)));
            }
            let answer = CfgGnss { version: 0, hardware_channels: 60, used_channels: 60, blocks };
            self.send_frame(now, &answer.to_frame());
            return Ok(());
        }
        let set = CfgGnss::parse(payload).map_err(drop)?;
        let mut items = Vec::new();
        for block in &set.blocks {
            let (is_on, signals) = (block.flags & 1, block.flags >> 16 & 0xff);
            let none =
                NO_SATELLITES.iter().find(|(id, key)| *id == block.gnss_id && self.store.has(*key));
            match hardware.iter().find(|system| gnss_id(**system) == block.gnss_id) {
                Some(system) => {
                    // No receiver of these has a system without its first signal.
                    if is_on == 1 && signals != 0 && signals & 1 == 0 {
                        return Err(());
                    }
                    items.push(Item { key: system_key(*system), value: is_on.into() });
                    let second = signal_key(*system, true);
                    if is_on == 1 && signals != 0 && self.store.has(second) {
                        let has_second = signals & second_signal_bit(*system) != 0;
                        items.push(Item { key: second, value: has_second.into() });
                    }
                }
                None => match none {
                    Some((_, key)) => items.push(Item { key: *key, value: is_on.into() }),
                    // IMES is known, and switched off for good.
                    None if is_on == 1 && block.gnss_id != 4 => return Err(()),
                    None => {}
                },
            }
        }
        if items.is_empty() { Ok(()) } else { self.store.set_all(1, &items).map_err(drop) }
    }

    fn configure_pulse(&mut self, now: SimTime, payload: &[u8]) -> Verdict {
        // Nobody has a second pulse.
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

    /// Groups of settings are not told apart: a mask that names any names all.
    fn configure_storage(&mut self, payload: &[u8]) -> Verdict {
        let CfgCfg { clear, save, load, .. } = CfgCfg::parse(payload).map_err(drop)?;
        if clear != 0 {
            self.store.clear();
        }
        if save != 0 {
            self.store.save();
        }
        if load != 0 {
            self.store.load();
        }
        Ok(())
    }

    fn keep(&mut self, now: SimTime, id: MessageId, payload: &[u8]) -> Verdict {
        let (_, least, step) = KEPT.iter().find(|(known, _, _)| *known == id).ok_or(())?;
        if payload.is_empty() {
            let kept = self.kept.get(&id).ok_or(())?.clone();
            self.send_frame(now, &Frame::new(id, kept));
            return Ok(());
        }
        let over = payload.len().checked_sub(*least).ok_or(())?;
        if (*step == 0 && over != 0) || (*step > 0 && over % step != 0) {
            return Err(());
        }
        self.kept.insert(id, payload.to_vec());
        Ok(())
    }
}
