//! Configuration items of u-blox receivers: permitted values, and layers.
//!
//! Generation 9 addresses items by key; the older messages (CFG-PRT, CFG-MSG, CFG-RATE ...) read and write the same
//! items.
//!
//! Columns of `items.csv`: name; key; factory value; protocol versions of generations 8, 9 and 10 that have the item;
//! factory value of generation 10 if it differs; whether Menura implements the item. `commands.rs` makes command tables
//! of `items.csv` and `ubx.csv`.
//!
//! Sources: ZED-F9P interface description, as pyubx2 lists its items; u-blox 8 receiver description; dumps of
//! CFG-VALGET of ZED-F9Ps with HPG 1.11 and 1.32; interface description of HPG 1.50, as ubloxcfg lists its new items; a
//! recorded answer of HPG 1.51; M10 SPG 5.10 interface description. HPG 1.50 has no CFG-ITFM: its interference monitor
//! is always on (drivers of PX4 and QGroundControl).

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::LazyLock;

pub(super) use super::item_keys as key;
use super::profile::{
    BaseStation, GnssDialect, GnssProfile, GnssSettings, LinePort, NmeaVersion, PortOutput,
    SentenceKind,
};
use super::ubx_outputs::{RTCM, UBX_OUTPUTS};
use crate::frames::Geodetic;
use crate::sensors::gnss::settings::GnssSystem;
use crate::wire::ubx::MessageId;
use crate::wire::ubx::cfg::{Item, Key};

/// u-blox's port number of the first UART; I2C is 0 and SPI is 4.
pub const UART1: u8 = 1;
/// u-blox's port number of the second UART, which a ZED-F9P has.
pub const UART2: u8 = 2;
/// u-blox's port number of USB, which has no baud rate.
pub const USB: u8 = 3;

/// A protocol of a port. The value of a variant is its number in the keys of items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// UBX, u-blox's binary protocol.
    Ubx = 1,
    /// NMEA 0183 sentences.
    Nmea = 2,
    /// RTCM 2 corrections, which only generation 8 supports.
    Rtcm2 = 3,
    /// RTCM 3 corrections.
    Rtcm3 = 4,
}

/// Key of the item that enables `protocol` for the input of `port`.
pub fn input_key(port: u8, protocol: Protocol) -> Key {
    Key(0x1071_0000 + (u32::from(port) << 17) + protocol as u32)
}

/// Key of the item that enables `protocol` for the output of `port`.
pub fn output_key(port: u8, protocol: Protocol) -> Key {
    Key(0x1072_0000 + (u32::from(port) << 17) + protocol as u32)
}

/// Key of the item that enables a port (UART or USB).
pub fn enabled_key(port: u8) -> Key {
    match port {
        UART2 => key::UART2_ENABLED,
        USB => key::USB_ENABLED,
        _ => key::UART1_ENABLED,
    }
}

/// Key of a port's baud rate; `None` for USB.
pub fn baud_key(port: u8) -> Option<Key> {
    match port {
        UART1 => Some(key::UART1_BAUDRATE),
        UART2 => Some(key::UART2_BAUDRATE),
        _ => None,
    }
}

/// Key of the mask that selects the text messages a port sends as NMEA sentences: bit 0 errors, bit 1 warnings, bit 2
/// notices.
pub fn nmea_text_key(port: u8) -> Key {
    Key(key::INFMSG_NMEA.0 + u32::from(port))
}

/// Key of the mask that selects the text messages a port sends as UBX messages; bits as for [`nmea_text_key`].
pub fn ubx_text_key(port: u8) -> Key {
    Key(key::INFMSG_UBX.0 + u32::from(port))
}

/// Keys of the items that enable a system's first signals; at least one must be enabled for the system to be used.
pub fn first_signals(system: GnssSystem) -> impl Iterator<Item = Key> {
    let other = (system == GnssSystem::Beidou).then_some(key::BDS_B1C_ENA);
    std::iter::once(signal_key(system, false)).chain(other)
}

/// Key of the item that enables a satellite system.
pub fn system_key(system: GnssSystem) -> Key {
    match system {
        GnssSystem::Gps => key::GPS_ENA,
        GnssSystem::Glonass => key::GLO_ENA,
        GnssSystem::Galileo => key::GAL_ENA,
        GnssSystem::Beidou => key::BDS_ENA,
    }
}

/// Key of the item that enables the first or second signal of a satellite system.
pub fn signal_key(system: GnssSystem, is_second: bool) -> Key {
    Key(match (system, is_second) {
        (GnssSystem::Gps, false) => 0x1031_0001,
        (GnssSystem::Gps, true) => 0x1031_0003,
        (GnssSystem::Galileo, false) => 0x1031_0007,
        (GnssSystem::Galileo, true) => 0x1031_000a,
        (GnssSystem::Beidou, false) => 0x1031_000d,
        (GnssSystem::Beidou, true) => 0x1031_000e,
        (GnssSystem::Glonass, false) => 0x1031_0018,
        (GnssSystem::Glonass, true) => 0x1031_001a,
    })
}

impl GnssDialect {
    /// Whether the message `name` exists in protocol `version` (times 100; `None`: the newest version).
    pub fn has_message(self, version: Option<u32>, name: &str) -> bool {
        let row = ROWS.iter().find(|row| row.name == name && row.message.is_some());
        self.is_ublox() && row.is_some_and(|row| row.is_in_version(self, version))
    }
}

/// Whether Menura implements the message with the CFG-MSG number `id` for receivers of `profile`.
pub fn is_made(profile: &GnssProfile, id: MessageId) -> bool {
    UBX_OUTPUTS.iter().any(|(name, other)| *other == id && profile.has_message(name))
        || ON_INPUT.contains(&id)
        || profile.nmea.order.iter().any(|kind| sentence_id(*kind) == id)
}

/// Messages that report every received RTCM message: RXM-RTCM, RXM-COR.
pub const ON_INPUT: [MessageId; 2] = [MessageId::new(0x02, 0x32), MessageId::new(0x02, 0x34)];

/// CFG-MSG's id of a sentence.
///
/// Garmin's own sentences have no id. Menura gives them ids of a class that u-blox does not use.
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

/// Messages, each with the key of its rate on I2C (port 0). The key for port n is the key for I2C plus n.
static RATE_KEYS: LazyLock<BTreeMap<MessageId, u32>> = LazyLock::new(|| {
    let rows = ROWS.iter().filter_map(|row| Some((row.message?, row.key.0)));
    // u-blox defines no keys for Garmin's sentences. u-blox receivers do not use the keys chosen here.
    let garmin = [(0x00, 0x2091_ff20), (0x01, 0x2091_ff30)];
    rows.chain(garmin.map(|(id, key)| (MessageId::new(0xfe, id), key))).collect()
});

/// All messages, each with the key of its rate on I2C.
#[cfg(test)]
pub fn rate_ids() -> impl Iterator<Item = (MessageId, Key)> {
    RATE_KEYS.iter().map(|(id, key)| (*id, Key(*key)))
}

/// The key of a message's rate on a port (0 to 4); `None` for an unknown message.
pub fn rate_key(id: MessageId, port: u8) -> Option<Key> {
    RATE_KEYS.get(&id).map(|key| Key(key + u32::from(port.min(4))))
}

/// One row of `items.csv`.
#[derive(Debug)]
pub struct Row {
    /// Name of the group and the item, or of the class and the message.
    pub name: &'static str,
    /// Key as text in the table.
    pub key_text: &'static str,
    /// Key of the item; for a message, the key of its rate on I2C.
    pub key: Key,
    /// Message whose rate the item sets; `None` for other items.
    pub message: Option<MessageId>,
    factory_text: &'static str,
    /// Factory value of generation 10 as text; empty if it equals that of the other generations.
    factory10_text: &'static str,
    /// Protocol versions, times 100, in which generations 8, 9 and 10 have the item; `None`: the generation lacks it.
    versions: [Option<RangeInclusive<u32>>; 3],
    /// Whether the item changes the output. The rate of a message changes it if Menura implements the message.
    pub acts: bool,
}

impl Row {
    /// Whether a receiver of `profile` has the item. Receivers of other makers have all items except rates of messages.
    pub fn is_in(&self, profile: &GnssProfile) -> bool {
        self.is_in_version(profile.receiver.dialect, profile.protocol_version())
    }

    /// Whether a dialect has the item in a protocol version (times 100; `None`: the newest version).
    pub fn is_in_version(&self, dialect: GnssDialect, version: Option<u32>) -> bool {
        let Some(column) = dialect.column() else { return self.message.is_none() };
        let versions = self.versions[column].as_ref();
        versions.is_some_and(|versions| versions.contains(&version.unwrap_or(u32::MAX)))
    }

    /// Factory value as text in the table.
    pub fn factory_text(&self, dialect: GnssDialect) -> &'static str {
        match (dialect, self.factory10_text) {
            (GnssDialect::Ublox10, text) if !text.is_empty() => text,
            _ => self.factory_text,
        }
    }

    fn factory(&self, dialect: GnssDialect) -> u64 {
        number(self.factory_text(dialect)).unwrap_or(0)
    }
}

/// Numbers of the dialect's ports. The key of a rate on a port is the key for I2C plus the number of the port.
fn ports(dialect: GnssDialect) -> &'static [u32] {
    if dialect == GnssDialect::Ublox10 { &[0, 1, 4] } else { &[0, 1, 2, 3, 4] }
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// All rows of `items.csv`.
pub static ROWS: LazyLock<Vec<Row>> =
    LazyLock::new(|| include_str!("items.csv").lines().skip(1).filter_map(row).collect());

fn row(line: &'static str) -> Option<Row> {
    let columns: Vec<&str> = line.split(',').collect();
    let [name, key, class, id, factory, ublox8, ublox9, ublox10, factory10, does] =
        columns.try_into().ok()?;
    let message = number(class).zip(number(id));
    Some(Row {
        name,
        key_text: key,
        key: Key(number(key)? as u32),
        message: message.map(|(class, id)| MessageId::new(class as u8, id as u8)),
        factory_text: factory,
        factory10_text: factory10,
        versions: [ublox8, ublox9, ublox10].map(versions),
        acts: does == "acts",
    })
}

/// Parses a version range, times 100: `27.10` from this version on, `27.10-27.12` from the first to the last; `-` gives
/// `None`.
pub(super) fn versions(text: &str) -> Option<RangeInclusive<u32>> {
    let version = |text: &str| text.replace('.', "").parse().ok();
    match text.split_once('-') {
        Some((first, last)) => Some(version(first)?..=version(last)?),
        None => Some(version(text)?..=u32::MAX),
    }
}

/// Layer of an item. At power-on, battery-backed RAM overrides flash, and flash overrides the factory values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// Present settings.
    Ram = 0,
    /// Battery-backed RAM.
    Bbr = 1,
    /// Flash, which keeps its content without a battery.
    Flash = 2,
}

/// Error: the receiver refuses the message, because of an item, a value, a layer or the number of items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused;

/// A receiver's settings in all layers.
#[derive(Clone, Debug)]
pub struct Store {
    factory: BTreeMap<Key, u64>,
    layers: [BTreeMap<Key, u64>; 3],
    /// Protocol version, times 100; 0 if the profile states none.
    version: u32,
}

impl Store {
    /// Factory settings of `profile`; the rig's settings count as saved to flash.
    pub fn new(profile: &GnssProfile, settings: &GnssSettings) -> Self {
        let mut factory = BTreeMap::new();
        let dialect = profile.receiver.dialect;
        for row in ROWS.iter().filter(|row| row.is_in(profile)) {
            let ports = if row.message.is_some() { ports(dialect) } else { &[0] };
            let value = row.factory(dialect);
            factory.extend(ports.iter().map(|port| (Key(row.key.0 + port), value)));
        }
        if !profile.receiver.dialect.is_ublox() {
            factory.insert(key::WKNROLLOVER, 0);
            // Receivers of other makers have no rates in `items.csv`. Each of their sentences gets a rate on UART1.
            for id in profile.nmea.order.iter().map(|kind| sentence_id(*kind)) {
                factory.extend(rate_key(id, UART1).map(|key| (key, 0)));
            }
        }
        for kind in &profile.defaults.sentences {
            for port in [0, 3, 4].iter().filter(|port| ports(dialect).contains(port)) {
                factory.extend(rate_key(sentence_id(*kind), *port as u8).map(|key| (key, 1)));
            }
        }
        if profile.receiver.dialect == GnssDialect::Ublox8 {
            // GPS time, as in the flags 0xf7 of CFG-TP5.
            factory.insert(key::TIMEGRID_TP1, 1);
            factory.insert(key::USB_PRODUCT_ID, 0x01a8);
            // Factory value of firmware SPG 3.01, of 2015.
            factory.insert(key::WKNROLLOVER, 1867);
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
        let version = profile.protocol_version().unwrap_or(0);
        Self { factory, layers: [ram, BTreeMap::new(), changed], version }
    }

    /// Present value; 0 for an item that the receiver lacks.
    pub fn get(&self, item: Key) -> u64 {
        self.layers[Layer::Ram as usize].get(&item).copied().unwrap_or(0)
    }

    /// Whether a flag is set at present.
    pub fn is_set(&self, item: Key) -> bool {
        self.get(item) != 0
    }

    /// Whether a flag is set in the factory settings.
    pub fn is_set_by_factory(&self, item: Key) -> bool {
        self.factory.get(&item).is_some_and(|value| *value != 0)
    }

    /// Whether this receiver has the item.
    pub fn has(&self, item: Key) -> bool {
        self.factory.contains_key(&item)
    }

    /// All items with their factory values.
    #[cfg(test)]
    pub fn factory(&self) -> impl Iterator<Item = (Key, u64)> {
        self.factory.iter().map(|(key, value)| (*key, *value))
    }

    /// Sets the present value; ignores an item that the receiver lacks.
    pub fn set(&mut self, item: Key, value: u64) {
        if let Some(old) = self.layers[Layer::Ram as usize].get_mut(&item) {
            *old = value;
        }
    }

    /// Checks that a message can set these items in these layers; values are not checked.
    pub fn knows(&self, layers: u8, items: &[Item]) -> Result<(), Refused> {
        let is_known = |item: &Item| self.factory.contains_key(&item.key);
        let fits = items.len() <= MAX_ITEMS && layers & 7 != 0;
        if fits && items.iter().all(is_known) { Ok(()) } else { Err(Refused) }
    }

    /// Sets all items in the layers (one bit per layer), or none.
    pub fn set_all(&mut self, layers: u8, items: &[Item]) -> Result<(), Refused> {
        self.knows(layers, items)?;
        self.apply(layers, items)
    }

    /// Sets the items of a transaction in the layers (one bit per layer), or none.
    pub fn apply(&mut self, layers: u8, items: &[Item]) -> Result<(), Refused> {
        let is_ram = layers & 1 == 1;
        if !items.iter().all(|item| self.is_allowed(item))
            || (is_ram && !self.leaves_a_system(items))
        {
            return Err(Refused);
        }
        for (bit, layer) in self.layers.iter_mut().enumerate() {
            if layers >> bit & 1 == 1 {
                layer.extend(items.iter().map(|item| (item.key, item.value)));
            }
        }
        Ok(())
    }

    /// Whether, after `items` are set, at least one of the four satellite systems is enabled together with one of its
    /// first signals; `true` if no item concerns systems or signals.
    fn leaves_a_system(&self, items: &[Item]) -> bool {
        if !items.iter().any(|item| item.key.group() == key::GPS_ENA.group()) {
            return true;
        }
        let after = |key: Key| {
            let set = items.iter().rev().find(|item| item.key == key);
            set.map_or_else(|| self.get(key), |item| item.value) != 0
        };
        let mut all = GnssSystem::WORDS.iter().map(|(_, system)| *system);
        all.any(|system| after(system_key(system)) && first_signals(system).any(after))
    }

    /// Keys of the items that a message with `keys` removes from the stored layers: a key of the message can stand for
    /// one item, a group, or all items.
    pub fn named(&self, layers: u8, keys: &[Key]) -> Result<Vec<Key>, Refused> {
        // Items cannot be removed from RAM.
        if keys.len() > MAX_ITEMS || layers & 1 == 1 || layers & 6 == 0 {
            return Err(Refused);
        }
        let matched: Vec<Vec<Key>> = keys.iter().map(|key| self.matching(*key)).collect();
        if matched.iter().any(Vec::is_empty) {
            return Err(Refused);
        }
        Ok(matched.concat())
    }

    /// Removes items from battery-backed RAM and flash, as selected by `layers` (one bit per layer).
    pub fn forget<'a>(&mut self, layers: u8, keys: impl IntoIterator<Item = &'a Key>) {
        for key in keys {
            for layer in [Layer::Bbr, Layer::Flash] {
                if layers >> layer as u8 & 1 == 1 {
                    self.layers[layer as usize].remove(key);
                }
            }
        }
    }

    /// Items for an answer to CFG-VALGET; the first `position` items are skipped. `layer` is 0 to 2, or 7 for factory
    /// values.
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
            // A group without items adds nothing (a recorded ZED-F9P); an unknown item is an error.
            if found.len() == before && key.0 & 0xffff != 0xffff {
                return Err(Refused);
            }
        }
        if found.is_empty() {
            return Err(Refused);
        }
        Ok(found.into_iter().skip(position.into()).take(MAX_ITEMS).collect())
    }

    /// Saves the present values to both stored layers, except those that equal the factory values.
    pub fn save(&mut self) {
        let ram = self.layers[Layer::Ram as usize].clone();
        let changed: BTreeMap<_, _> =
            ram.into_iter().filter(|(item, value)| self.factory.get(item) != Some(value)).collect();
        self.layers[Layer::Bbr as usize].clone_from(&changed);
        self.layers[Layer::Flash as usize] = changed;
    }

    /// Clears both stored layers.
    pub fn clear(&mut self) {
        self.layers[Layer::Bbr as usize].clear();
        self.layers[Layer::Flash as usize].clear();
    }

    /// Loads RAM from the factory values and the stored layers, as at power-on.
    pub fn load(&mut self) {
        let mut ram = self.factory.clone();
        for layer in [Layer::Flash, Layer::Bbr] {
            ram.extend(self.layers[layer as usize].iter().map(|(item, value)| (*item, *value)));
        }
        self.layers[Layer::Ram as usize] = ram;
    }

    /// Whether the receiver accepts the value and Menura supports it.
    fn is_allowed(&self, item: &Item) -> bool {
        let value = item.value;
        match item.key {
            key::RATE_MEAS => (25..=65_535).contains(&value),
            key::RATE_NAV => (1..=127).contains(&value),
            key::RATE_TIMEREF => value <= 4,
            key::UART1_BAUDRATE | key::UART2_BAUDRATE => is_baud_rate(value),
            key::NMEA_PROTVER => matches!(value, 21 | 23 | 40 | 41 | 42),
            key::NMEA_MAINTALKER => value <= 5,
            key::NMEA_GSVTALKER | key::PULSE_DEF | key::PULSE_LENGTH_DEF => value <= 1,
            key::FIXMODE => (1..=3).contains(&value),
            // Protocol version 27.31 added the dynamic models of motorbike, lawn mower and scooter.
            key::DYNMODEL => value != 1 && value <= if self.version >= 2731 { 12 } else { 9 },
            key::UTCSTANDARD => matches!(value, 0 | 3 | 5 | 6 | 7),
            // HPG 1.50 added 5, conservative ambiguity resolution.
            key::DGNSSMODE => matches!(value, 2 | 3) || value == 5 && self.version >= 2750,
            // The emulated lines are 8N1: 1 is one stop bit; 0 is eight data bits, or no parity.
            Key(0x2052_0002 | 0x2053_0002) => value == 1,
            Key(0x2052_0003 | 0x2052_0004 | 0x2053_0003 | 0x2053_0004) => value == 0,
            // Pulses on the time scales of GLONASS, BeiDou and Galileo are not supported.
            key::TIMEGRID_TP1 | key::TMODE_POS_TYPE => value <= 1,
            key::TMODE_MODE | key::RTCM_DF003_IN_FILTER => value <= 2,
            key::GEOFENCE_CONFLVL => value <= 5,
            key if key.is_bit() => value <= 1,
            _ => true,
        }
    }

    /// Expands a requested key: one item, a whole group, or all items.
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

/// Largest number of items per message.
const MAX_ITEMS: usize = 64;

/// Items of a fixed base position with an accuracy of 1 cm.
fn fixed_place(place: Geodetic) -> Vec<(Key, u64)> {
    // The coarse part has 32 bits, the high-precision part 8.
    let parts = |value: f64, coarse: f64| {
        let fine = (value / coarse * 100.0).round() as i64;
        let whole = (fine + 50).div_euclid(100);
        [whole as i32 as u32 as u64, (fine - whole * 100) as i8 as u8 as u64]
    };
    let parts = [
        parts(place.latitude_deg, 1e-7),
        parts(place.longitude_deg, 1e-7),
        parts(place.altitude_m, 1e-2),
    ];
    let mut items =
        vec![(key::TMODE_MODE, 2), (key::TMODE_POS_TYPE, 1), (key::TMODE_FIXED_POS_ACC, 100)];
    for (axis, [whole, rest]) in parts.into_iter().enumerate() {
        items.extend([(key::TMODE_LLH[axis], whole), (key::TMODE_LLH_HP[axis], rest)]);
    }
    items
}

/// Configuration items for the settings of a rig.
fn items_of(settings: &GnssSettings, profile: &GnssProfile) -> Vec<(Key, u64)> {
    let mut items = vec![
        (key::RATE_MEAS, settings.period_ns / 1_000_000),
        (key::NMEA_HIGHPREC, settings.high_precision.into()),
        (key::INFIL_MINELEV, settings.receiver.mask_rad.to_degrees().round() as u64),
        (key::TP1_ENA, settings.pulse.is_enabled.into()),
        (key::LEN_LOCK_TP1, settings.pulse.width_ns / 1000),
    ];
    items.extend(settings.week_base.map(|week| (key::WKNROLLOVER, week.into())));
    match settings.base_station {
        Some(BaseStation::Survey { least_s, accuracy_m }) => items.extend([
            (key::TMODE_MODE, 1),
            (key::SVIN_MIN_DUR, least_s.into()),
            (key::SVIN_ACC_LIMIT, (accuracy_m * 1e4).round() as u64),
        ]),
        Some(BaseStation::Fixed(place)) => items.extend(fixed_place(place)),
        None => {}
    }
    for system in profile.systems() {
        items.push((system_key(system), settings.receiver.systems.contains(&system).into()));
    }
    let output = PortOutput {
        baud: settings.baud,
        sentences: settings.sentences.clone(),
        messages: settings.messages.clone(),
    };
    port_items(settings.port, &output, profile, &mut items);
    if let Some(output) = &settings.uart2 {
        port_items(LinePort::Uart2, output, profile, &mut items);
    }
    items
}

/// Configuration items for the settings of a port.
fn port_items(
    port: LinePort,
    output: &PortOutput,
    profile: &GnssProfile,
    items: &mut Vec<(Key, u64)>,
) {
    let number = port.number();
    items.extend(baud_key(number).map(|key| (key, output.baud.into())));
    for kind in &profile.nmea.order {
        let key = rate_key(sentence_id(*kind), number);
        items.extend(key.map(|key| (key, output.sentences.contains(kind).into())));
    }
    let is_on = |name: &str| output.messages.iter().any(|on| on == name);
    let outputs = || UBX_OUTPUTS.iter().filter(|(name, _)| profile.has_message(name));
    for (name, id) in outputs() {
        items.extend(rate_key(*id, number).map(|key| (key, is_on(name).into())));
    }
    // In the factory settings, UART2 sends only RTCM. If the rig selects other output, its protocol is enabled too.
    if port == LinePort::Uart2 {
        if !output.sentences.is_empty() {
            items.push((output_key(number, Protocol::Nmea), 1));
        }
        if outputs().any(|(name, id)| id.class != RTCM && is_on(name)) {
            let keys = [input_key, output_key].map(|key| key(number, Protocol::Ubx));
            items.extend(keys.map(|key| (key, 1)));
        }
    }
}

/// Whether a receiver's UART supports the baud rate.
pub fn is_baud_rate(rate: u64) -> bool {
    matches!(rate, 4800 | 9600 | 19_200 | 38_400 | 57_600 | 115_200 | 230_400 | 460_800 | 921_600)
}
