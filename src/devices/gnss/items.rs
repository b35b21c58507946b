//! Configuration items of u-blox receivers: what may be set, and the layers it is set in.
//!
//! Generation 9 speaks of items by key; the older messages (CFG-PRT, CFG-MSG, CFG-RATE ...) read
//! and write the same items. Names and keys are those of the ZED-F9P interface description, as
//! pyubx2 lists them (`items.csv`); items without an effect here are kept all the same.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::profile::{GnssProfile, GnssSettings, NmeaVersion, SentenceKind};
use crate::sensors::gnss::settings::GnssSystem;
use crate::wire::ubx::MessageId;
use crate::wire::ubx::cfg::{Item, Key};

/// Keys this crate acts on.
pub mod key {
    use super::Key;

    /// Time between measurements, ms.
    pub const RATE_MEAS: Key = Key(0x3021_0001);
    /// Measurements a solution.
    pub const RATE_NAV: Key = Key(0x3021_0002);
    /// 0 UTC, 1 GPS.
    pub const RATE_TIMEREF: Key = Key(0x2021_0003);
    /// Bits a second.
    pub const UART1_BAUDRATE: Key = Key(0x4052_0001);
    /// Of the second port.
    pub const UART2_BAUDRATE: Key = Key(0x4053_0001);
    /// Seven decimals of a minute.
    pub const NMEA_HIGHPREC: Key = Key(0x1093_0006);
    /// 21, 23, 40, 41 (4.10), 42 (4.11).
    pub const NMEA_PROTVER: Key = Key(0x2093_0001);
    /// Lowest elevation of satellites used, degrees.
    pub const INFIL_MINELEV: Key = Key(0x2011_00a4);
    /// Dynamic model.
    pub const DYNMODEL: Key = Key(0x2011_0021);
    /// Two- or three-dimensional.
    pub const FIXMODE: Key = Key(0x2011_0011);
    /// Time pulse on.
    pub const TP1_ENA: Key = Key(0x1005_0007);
    /// Its period once locked, us.
    pub const PERIOD_LOCK_TP1: Key = Key(0x4005_0003);
    /// Its length once locked, us.
    pub const LEN_LOCK_TP1: Key = Key(0x4005_0005);
    /// The time scale whose whole periods pulses stand on: 0 UTC, 1 GPS.
    pub const TIMEGRID_TP1: Key = Key(0x2005_000c);
    /// GPS.
    pub const GPS_ENA: Key = Key(0x1031_001f);
    /// Galileo.
    pub const GAL_ENA: Key = Key(0x1031_0021);
    /// BeiDou.
    pub const BDS_ENA: Key = Key(0x1031_0022);
    /// GLONASS.
    pub const GLO_ENA: Key = Key(0x1031_0025);
}

/// The UART that is emulated; I2C is 0, UART2 2, USB 3, SPI 4.
pub const UART1: u8 = 1;

/// A protocol of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// UBX.
    Ubx = 1,
    /// NMEA.
    Nmea = 2,
    /// RTCM 3.
    Rtcm3 = 4,
}

/// Whether `protocol` is understood on `port`.
pub fn input_key(port: u8, protocol: Protocol) -> Key {
    Key(0x1071_0000 + (u32::from(port) << 17) + protocol as u32)
}

/// Whether `protocol` is sent on `port`.
pub fn output_key(port: u8, protocol: Protocol) -> Key {
    Key(0x1072_0000 + (u32::from(port) << 17) + protocol as u32)
}

/// Whether a system is received.
pub fn system_key(system: GnssSystem) -> Key {
    match system {
        GnssSystem::Gps => key::GPS_ENA,
        GnssSystem::Glonass => key::GLO_ENA,
        GnssSystem::Galileo => key::GAL_ENA,
        GnssSystem::Beidou => key::BDS_ENA,
    }
}

/// The id that CFG-MSG has for a sentence.
///
/// Garmin's own sentences have none; they get one of a class that u-blox does not use.
pub fn sentence_id(kind: SentenceKind) -> MessageId {
    let id = match kind {
        SentenceKind::Gga => 0x00,
        SentenceKind::Gll => 0x01,
        SentenceKind::Gsa => 0x02,
        SentenceKind::Gsv => 0x03,
        SentenceKind::Rmc => 0x04,
        SentenceKind::Vtg => 0x05,
        SentenceKind::Gst => 0x07,
        SentenceKind::Zda => 0x08,
        SentenceKind::Gbs => 0x09,
        SentenceKind::Gns => 0x0d,
        SentenceKind::Pgrme => return MessageId::new(0xfe, 0x00),
        SentenceKind::Pgrmt => return MessageId::new(0xfe, 0x01),
    };
    MessageId::new(0xf0, id)
}

/// Messages with the key of their rate on I2C; the other ports' follow it.
static RATE_KEYS: LazyLock<BTreeMap<MessageId, u32>> = LazyLock::new(|| {
    let rows = rows().filter_map(|row| Some((row.message?, row.key)));
    // Messages of generation 8 and of Garmin have no key; these are not u-blox's.
    let old = [
        (0x01, 0x06, 0x2091_ff00),
        (0x01, 0x30, 0x2091_ff10),
        (0xfe, 0x00, 0x2091_ff20),
        (0xfe, 0x01, 0x2091_ff30),
    ];
    let old = old.into_iter().map(|(class, id, key)| (MessageId::new(class, id), key));
    rows.chain(old).collect()
});

/// The key of a message's rate on a port (0 to 4).
pub fn rate_key(id: MessageId, port: u8) -> Option<Key> {
    RATE_KEYS.get(&id).map(|key| Key(key + u32::from(port.min(4))))
}

struct Row {
    key: u32,
    message: Option<MessageId>,
}

fn rows() -> impl Iterator<Item = Row> {
    let hex = |text: &str| {
        let digits = text.strip_prefix("0x").unwrap_or_default();
        u32::from_str_radix(digits, 16).ok()
    };
    include_str!("items.csv").lines().skip(1).filter_map(move |line| {
        let mut columns = line.split(',').skip(1);
        let mut next = || columns.next().and_then(hex);
        let key = next()?;
        let message = next().zip(next());
        let message = message.map(|(class, id)| MessageId::new(class as u8, id as u8));
        Some(Row { key, message })
    })
}

/// Where an item is kept; a later one goes before an earlier one at start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// In force.
    Ram = 0,
    /// Battery-backed.
    Bbr = 1,
    /// Flash.
    Flash = 2,
}

/// The layer does not hold it, or there is no such thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused;

/// A receiver's settings.
#[derive(Clone, Debug)]
pub struct Store {
    factory: BTreeMap<Key, u64>,
    layers: [BTreeMap<Key, u64>; 3],
}

impl Store {
    /// The factory's settings of `profile`; what a rig asks for is as if it had been saved to
    /// flash.
    pub fn new(profile: &GnssProfile, settings: &GnssSettings) -> Self {
        let mut factory = BTreeMap::new();
        for row in rows() {
            let ports = if row.message.is_some() { 5 } else { 1 };
            factory.extend((0..ports).map(|port| (Key(row.key + port), 0)));
        }
        for base in RATE_KEYS.values() {
            factory.extend((0..5).map(|port| (Key(base + port), 0)));
        }
        for port in 0..5 {
            for protocol in [Protocol::Ubx, Protocol::Nmea, Protocol::Rtcm3] {
                factory.insert(input_key(port, protocol), 1);
                let is_sent = protocol != Protocol::Rtcm3;
                factory.insert(output_key(port, protocol), is_sent.into());
            }
        }
        for (item, value) in [
            (key::RATE_NAV, 1),
            (key::RATE_TIMEREF, 1),
            (key::UART2_BAUDRATE, 38_400),
            (key::FIXMODE, 3),
            (key::PERIOD_LOCK_TP1, 1_000_000),
        ] {
            factory.insert(item, value);
        }
        let protver = match profile.nmea.version {
            NmeaVersion::V2_0 => 21,
            NmeaVersion::V2_3 => 40,
            NmeaVersion::V4_10 => 41,
            NmeaVersion::V4_11 => 42,
        };
        factory.insert(key::NMEA_PROTVER, protver);
        factory.extend(items_of(&profile.defaults, profile));
        let changed: BTreeMap<_, _> = items_of(settings, profile)
            .into_iter()
            .filter(|(item, value)| factory.get(item) != Some(value))
            .collect();
        let mut ram = factory.clone();
        ram.extend(changed.iter().map(|(item, value)| (*item, *value)));
        Self { factory, layers: [ram, BTreeMap::new(), changed] }
    }

    /// The value in force; 0 for what this receiver does not have.
    pub fn get(&self, item: Key) -> u64 {
        self.layers[Layer::Ram as usize].get(&item).copied().unwrap_or(0)
    }

    /// Whether a flag is set.
    pub fn is_set(&self, item: Key) -> bool {
        self.get(item) != 0
    }

    /// Puts a value in force. What this receiver does not have is ignored.
    pub fn set(&mut self, item: Key, value: u64) {
        if let Some(old) = self.layers[Layer::Ram as usize].get_mut(&item) {
            *old = value;
        }
    }

    /// Sets all items in the layers whose bits are set, or none.
    pub fn set_all(&mut self, layers: u8, items: &[Item]) -> Result<(), Refused> {
        let is_known = |item: &Item| self.factory.contains_key(&item.key) && is_allowed(item);
        if items.len() > MAX_ITEMS || layers & 7 == 0 || !items.iter().all(is_known) {
            return Err(Refused);
        }
        for (bit, layer) in self.layers.iter_mut().enumerate() {
            if layers >> bit & 1 == 1 {
                layer.extend(items.iter().map(|item| (item.key, item.value)));
            }
        }
        Ok(())
    }

    /// Forgets items of the stored layers.
    pub fn forget(&mut self, layers: u8, keys: &[Key]) -> Result<(), Refused> {
        // RAM cannot forget.
        if keys.len() > MAX_ITEMS || layers & 1 == 1 || layers & 6 == 0 {
            return Err(Refused);
        }
        let matched: Vec<Vec<Key>> = keys.iter().map(|key| self.matching(*key)).collect();
        if matched.iter().any(Vec::is_empty) {
            return Err(Refused);
        }
        for item in matched.into_iter().flatten() {
            for layer in [Layer::Bbr, Layer::Flash] {
                if layers >> layer as u8 & 1 == 1 {
                    self.layers[layer as usize].remove(&item);
                }
            }
        }
        Ok(())
    }

    /// What CFG-VALGET answers: layer 0 to 2, or 7 for the factory's.
    pub fn read(&self, layer: u8, position: u16, keys: &[Key]) -> Result<Vec<Item>, Refused> {
        let values = match layer {
            0..=2 => &self.layers[usize::from(layer)],
            7 => &self.factory,
            _ => return Err(Refused),
        };
        if keys.len() > MAX_ITEMS {
            return Err(Refused);
        }
        let mut found = Vec::new();
        for key in keys {
            let before = found.len();
            let items = self.matching(*key).into_iter();
            found.extend(items.filter_map(|key| Some(Item { key, value: *values.get(&key)? })));
            if found.len() == before {
                return Err(Refused);
            }
        }
        Ok(found.into_iter().skip(position.into()).take(MAX_ITEMS).collect())
    }

    /// RAM as it is goes to both stored layers.
    pub fn save(&mut self) {
        let ram = self.layers[Layer::Ram as usize].clone();
        let changed: BTreeMap<_, _> =
            ram.into_iter().filter(|(item, value)| self.factory.get(item) != Some(value)).collect();
        self.layers[Layer::Bbr as usize].clone_from(&changed);
        self.layers[Layer::Flash as usize] = changed;
    }

    /// Both stored layers are emptied.
    pub fn clear(&mut self) {
        self.layers[Layer::Bbr as usize].clear();
        self.layers[Layer::Flash as usize].clear();
    }

    /// RAM as after a start.
    pub fn load(&mut self) {
        let mut ram = self.factory.clone();
        for layer in [Layer::Flash, Layer::Bbr] {
            ram.extend(self.layers[layer as usize].iter().map(|(item, value)| (*item, *value)));
        }
        self.layers[Layer::Ram as usize] = ram;
    }

    /// The items a key asks for: one, its whole group, or all.
    fn matching(&self, asked: Key) -> Vec<Key> {
        let all = self.factory.keys().copied().filter(|key| key.0 >> 8 != 0x0020_91ff);
        if asked.0 & 0x0fff_ffff == 0x0fff_ffff || asked.0 & 0x0fff_0000 == 0x0fff_0000 {
            all.collect()
        } else if asked.0 & 0xffff == 0xffff {
            all.filter(|key| key.group() == asked.group()).collect()
        } else {
            all.filter(|key| *key == asked).collect()
        }
    }
}

/// Items of one message.
const MAX_ITEMS: usize = 64;

/// Values that a receiver cannot run with are refused.
fn is_allowed(item: &Item) -> bool {
    match item.key {
        key::RATE_MEAS => (25..=65_535).contains(&item.value),
        key::RATE_NAV => (1..=127).contains(&item.value),
        key::UART1_BAUDRATE => is_baud_rate(item.value),
        key::NMEA_PROTVER => matches!(item.value, 21 | 23 | 40 | 41 | 42),
        key if key.is_bit() => item.value <= 1,
        _ => true,
    }
}

/// What settings mean as items.
fn items_of(settings: &GnssSettings, profile: &GnssProfile) -> Vec<(Key, u64)> {
    let mut items = vec![
        (key::RATE_MEAS, settings.period_ns / 1_000_000),
        (key::UART1_BAUDRATE, settings.baud.into()),
        (key::NMEA_HIGHPREC, settings.high_precision.into()),
        (key::INFIL_MINELEV, settings.receiver.mask_rad.to_degrees().round() as u64),
        (key::TP1_ENA, settings.pulse.is_enabled.into()),
        (key::LEN_LOCK_TP1, settings.pulse.width_ns / 1000),
    ];
    for system in profile.systems() {
        items.push((system_key(system), settings.receiver.systems.contains(&system).into()));
    }
    for kind in &profile.nmea.order {
        let key = rate_key(sentence_id(*kind), UART1);
        items.extend(key.map(|key| (key, settings.sentences.contains(kind).into())));
    }
    for (name, id) in &crate::devices::gnss::profile::UBX_OUTPUTS {
        let key = rate_key(*id, UART1);
        let is_on = settings.messages.iter().any(|on| on == name);
        items.extend(key.map(|key| (key, is_on.into())));
    }
    items
}

/// Rates a receiver's UART runs at.
pub fn is_baud_rate(rate: u64) -> bool {
    matches!(rate, 4800 | 9600 | 19_200 | 38_400 | 57_600 | 115_200 | 230_400 | 460_800 | 921_600)
}
