//! Configuration messages of generation 8 that read and write configuration items.
//!
//! Each message is a block of bytes whose bits represent items. A poll is answered with the present items; a
//! received block sets them. Other bits are stored unchanged. In a message with a mask, the mask selects the parts to
//! apply; everything else stays as it was.
//!
//! Source: u-blox 8 / M8 receiver description, chapter UBX-CFG; ZED-F9P interface description.

use std::ops::RangeInclusive;

use super::item_keys;
use super::items::Store;
use super::profile::GnssDialect;
use crate::wire::ubx::MessageId;
use crate::wire::ubx::cfg::{Item, Key};

/// Bits of a message that represent an item or have a mask bit.
struct Part {
    /// Offset of the part's first byte in the payload.
    byte: usize,
    /// First bit of the part, counted from the least significant bit of `byte`.
    bit: usize,
    bits: usize,
    /// Item that the bits represent; `None`: they are only stored.
    key: Option<Key>,
    /// Mask bit that enables the part, in bytes 0 and 1 (CFG-NAVX5: bytes 2 to 7); `None`: always applied.
    mask: Option<usize>,
}

/// A configuration message of generation 8.
pub struct Legacy {
    /// The message's id.
    pub id: MessageId,
    /// Offset of the mask; `None` without a mask.
    mask_at: Option<usize>,
    /// Factory content of the bits that represent no item.
    blank: &'static [u8],
    parts: &'static [Part],
    /// Lengths of older versions; their missing bytes stay unchanged.
    shorter: &'static [usize],
    /// Offset of the version byte. [`Self::whole`] sets this byte to the present version when it completes the payload
    /// of an older version.
    version_at: usize,
    /// Generations that have the message.
    generations: RangeInclusive<u8>,
}

const fn whole(byte: usize, bytes: usize, key: u32) -> Part {
    Part { byte, bit: 0, bits: bytes * 8, key: Some(Key(key)), mask: None }
}

const fn bits(byte: usize, bit: usize, bits: usize, key: u32) -> Part {
    Part { byte, bit, bits, key: Some(Key(key)), mask: None }
}

const fn masked(mask: usize, byte: usize, bytes: usize, key: u32) -> Part {
    Part { byte, bit: 0, bits: bytes * 8, key: Some(Key(key)), mask: Some(mask) }
}

const fn stored(mask: usize, byte: usize, bytes: usize) -> Part {
    Part { byte, bit: 0, bits: bytes * 8, key: None, mask: Some(mask) }
}

/// All configuration messages that this module handles.
pub static LEGACY: [Legacy; 14] = [
    // CFG-ANT: supply, short circuit, open circuit, power-down and recovery flags; pins.
    Legacy {
        id: MessageId::new(0x06, 0x13),
        mask_at: None,
        blank: &[0; 4],
        parts: &[
            bits(0, 0, 1, 0x10a3_002e),
            bits(0, 1, 1, 0x10a3_002f),
            bits(0, 2, 1, 0x10a3_0031),
            bits(0, 3, 1, 0x10a3_0033),
            bits(0, 4, 1, 0x10a3_0035),
            bits(2, 0, 5, 0x20a3_0036),
            bits(2, 5, 5, 0x20a3_0037),
            bits(2, 10, 5, 0x20a3_0038),
        ],
        shorter: &[],
        version_at: 0,
        generations: 8..=9,
    },
    // CFG-SBAS: enabled, test; ranging, corrections, integrity; channels, PRNs.
    Legacy {
        id: MessageId::new(0x06, 0x16),
        mask_at: None,
        blank: &[0, 0, 3, 0, 0, 0, 0, 0],
        parts: &[
            bits(0, 0, 1, 0x1031_0020),
            bits(0, 1, 1, 0x1036_0002),
            bits(1, 0, 1, 0x1036_0003),
            bits(1, 1, 1, 0x1036_0004),
            bits(1, 2, 1, 0x1036_0005),
            bits(3, 0, 7, 0x5036_0006 | SBAS_HIGH),
            bits(4, 0, 32, 0x5036_0006),
        ],
        shorter: &[],
        version_at: 0,
        generations: 8..=9,
    },
    // CFG-NMEA: filter flags, version, satellites, flags, hidden systems, talkers.
    Legacy {
        id: MessageId::new(0x06, 0x17),
        mask_at: None,
        blank: &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0],
        parts: &[
            bits(0, 0, 1, 0x1093_0021),
            bits(0, 1, 1, 0x1093_0022),
            bits(0, 2, 1, 0x1093_0023),
            bits(0, 3, 1, 0x1093_0024),
            bits(0, 4, 1, 0x1093_0025),
            bits(0, 5, 1, 0x1093_0026),
            whole(1, 1, 0x2093_0001),
            whole(2, 1, 0x2093_0002),
            bits(3, 0, 1, 0x1093_0003),
            bits(3, 1, 1, 0x1093_0004),
            bits(3, 2, 1, 0x1093_0005),
            bits(3, 3, 1, 0x1093_0006),
            bits(4, 0, 1, 0x1093_0011),
            bits(4, 1, 1, 0x1093_0012),
            bits(4, 2, 1, 0x1093_0013),
            bits(4, 4, 1, 0x1093_0015),
            bits(4, 5, 1, 0x1093_0016),
            bits(4, 6, 1, 0x1093_0017),
            whole(8, 1, 0x2093_0007),
            whole(9, 1, 0x2093_0031),
            whole(10, 1, 0x2093_0032),
            whole(12, 2, 0x3093_0033),
        ],
        shorter: &[4, 12],
        version_at: 11,
        generations: 8..=9,
    },
    // CFG-ODO: flags, profile, limits, filters.
    Legacy {
        id: MessageId::new(0x06, 0x1e),
        mask_at: None,
        blank: &[0; 20],
        parts: &[
            bits(4, 0, 1, 0x1022_0001),
            bits(4, 1, 1, 0x1022_0002),
            bits(4, 2, 1, 0x1022_0003),
            bits(4, 3, 1, 0x1022_0004),
            bits(5, 0, 3, 0x2022_0005),
            whole(12, 1, 0x2022_0021),
            whole(13, 1, 0x2022_0022),
            whole(16, 1, 0x2022_0031),
            whole(17, 1, 0x2022_0032),
        ],
        shorter: &[],
        version_at: 0,
        generations: 8..=9,
    },
    // CFG-NAVX5, version 2; stored only: compensation of attenuation, AssistNow Autonomous, dead reckoning.
    Legacy {
        id: MessageId::new(0x06, 0x23),
        mask_at: Some(2),
        blank: &[
            2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        ],
        parts: &[
            masked(2, 10, 1, 0x2011_00a1),
            masked(2, 11, 1, 0x2011_00a2),
            masked(3, 12, 1, 0x2011_00a3),
            masked(6, 14, 1, 0x1011_0013),
            masked(10, 17, 1, 0x1011_0025),
            masked(9, 18, 2, 0x3011_0017),
            masked(13, 26, 1, 0x1011_0019),
            stored(23, 20, 1),
            stored(14, 27, 1),
            stored(14, 30, 2),
            stored(22, 39, 1),
        ],
        shorter: &[],
        version_at: 0,
        generations: 8..=9,
    },
    // CFG-NAV5: dynamic model, fix, masks, limits; stored only: limit of dead reckoning.
    Legacy {
        id: MessageId::new(0x06, 0x24),
        mask_at: Some(0),
        blank: &[0; 36],
        parts: &[
            masked(0, 2, 1, 0x2011_0021),
            masked(2, 3, 1, 0x2011_0011),
            masked(2, 4, 4, 0x4011_00c1),
            masked(2, 8, 4, 0x4011_00c2),
            masked(1, 12, 1, 0x2011_00a4),
            stored(3, 13, 1),
            masked(4, 14, 2, 0x3011_00b1),
            masked(5, 16, 2, 0x3011_00b2),
            masked(4, 18, 2, 0x3011_00b3),
            masked(5, 20, 2, 0x3011_00b4),
            masked(6, 22, 1, 0x2025_0038),
            masked(7, 23, 1, 0x2011_00c4),
            masked(8, 24, 1, 0x2011_00aa),
            masked(8, 25, 1, 0x2011_00ab),
            masked(6, 28, 2, 0x3025_003b),
            masked(10, 30, 1, 0x2011_001c),
        ],
        shorter: &[],
        version_at: 0,
        generations: 8..=9,
    },
    // CFG-ITFM: thresholds, switch, antenna; the other bits must have the values of the manual.
    Legacy {
        id: MessageId::new(0x06, 0x39),
        mask_at: None,
        // Algorithm bits: 0x16b156 from bit 9 on; general bits: 0x31e.
        blank: &[0x00, 0xac, 0x62, 0x2d, 0x1e, 0x03, 0x00, 0x00],
        parts: &[
            bits(0, 0, 4, 0x2041_0001),
            bits(0, 4, 5, 0x2041_0002),
            bits(3, 7, 1, 0x1041_000d),
            bits(5, 4, 2, 0x2041_0010),
            bits(5, 6, 1, 0x1041_0013),
        ],
        shorter: &[],
        version_at: 0,
        generations: 8..=9,
    },
    // CFG-DGNSS.
    Legacy {
        id: MessageId::new(0x06, 0x70),
        mask_at: None,
        blank: &[0; 4],
        parts: &[whole(0, 1, 0x2014_0011)],
        shorter: &[],
        version_at: 0,
        generations: 9..=9,
    },
    // CFG-TMODE3: mode, kind of position, survey; [`FIXED_ECEF`] and [`FIXED_LLH`] have the position.
    Legacy {
        id: TMODE3,
        mask_at: None,
        blank: &[0; 40],
        parts: &[
            whole(2, 1, 0x2003_0001),
            bits(3, 0, 1, 0x2003_0002),
            whole(20, 4, 0x4003_000f),
            whole(24, 4, 0x4003_0010),
            whole(28, 4, 0x4003_0011),
        ],
        shorter: &[],
        version_at: 0,
        generations: 9..=9,
    },
    // CFG-RXM: power mode.
    Legacy {
        id: MessageId::new(0x06, 0x11),
        mask_at: None,
        blank: &[8, 0],
        parts: &[],
        shorter: &[],
        version_at: 0,
        generations: 8..=8,
    },
    // CFG-PM2, version 2; version 1 is four bytes shorter.
    Legacy {
        id: MessageId::new(0x06, 0x3b),
        mask_at: None,
        blank: &[
            2, 6, 0, 0, 0x00, 0x90, 0x02, 0x00, 0xe8, 3, 0, 0, 0x10, 0x27, 0, 0, 0, 0, 0, 0, 0, 0,
            0, 0, 0x2c, 1, 0, 0, 0x4f, 0xc1, 3, 0, 0x86, 2, 0, 0, 0xfe, 0, 0, 0, 0x64, 0x40, 1, 0,
            0, 0, 0, 0,
        ],
        parts: &[],
        shorter: &[44],
        version_at: 0,
        generations: 8..=8,
    },
    // CFG-PMS: full power.
    Legacy {
        id: MessageId::new(0x06, 0x86),
        mask_at: None,
        blank: &[0; 8],
        parts: &[],
        shorter: &[],
        version_at: 0,
        generations: 8..=8,
    },
    // CFG-LOGFILTER.
    Legacy {
        id: MessageId::new(0x06, 0x47),
        mask_at: None,
        blank: &[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        parts: &[
            bits(1, 0, 1, 0x10de_0002),
            bits(1, 1, 1, 0x10de_0003),
            bits(1, 2, 1, 0x10de_0004),
            whole(2, 2, 0x30de_0005),
            whole(4, 2, 0x30de_0006),
            whole(6, 2, 0x30de_0007),
            whole(8, 4, 0x40de_0008),
        ],
        shorter: &[],
        version_at: 0,
        generations: 8..=9,
    },
    // CFG-USB: vendor and product numbers, power consumption, power source, names.
    Legacy {
        id: MessageId::new(0x06, 0x1b),
        mask_at: None,
        blank: &[0; 108],
        parts: &[
            whole(0, 2, 0x3065_000a),
            whole(2, 2, 0x3065_000b),
            whole(8, 2, 0x3065_000c),
            bits(10, 1, 1, 0x1065_0002),
            whole(12, 8, 0x5065_000d),
            whole(20, 8, 0x5065_000e),
            whole(28, 8, 0x5065_000f),
            whole(36, 8, 0x5065_0010),
            whole(44, 8, 0x5065_0011),
            whole(52, 8, 0x5065_0012),
            whole(60, 8, 0x5065_0013),
            whole(68, 8, 0x5065_0014),
            whole(76, 8, 0x5065_0015),
            whole(84, 8, 0x5065_0016),
            whole(92, 8, 0x5065_0017),
            whole(100, 8, 0x5065_0018),
        ],
        shorter: &[],
        version_at: 11,
        generations: 8..=9,
    },
];

const TMODE3: MessageId = MessageId::new(0x06, 0x71);

/// Items of CFG-TMODE3 for a position in ECEF coordinates.
static FIXED_ECEF: [Part; 6] = [
    whole(4, 4, 0x4003_0003),
    whole(8, 4, 0x4003_0004),
    whole(12, 4, 0x4003_0005),
    whole(16, 1, 0x2003_0006),
    whole(17, 1, 0x2003_0007),
    whole(18, 1, 0x2003_0008),
];

/// Items of CFG-TMODE3 for a position as latitude, longitude and height.
static FIXED_LLH: [Part; 6] = [
    whole(4, 4, 0x4003_0009),
    whole(8, 4, 0x4003_000a),
    whole(12, 4, 0x4003_000b),
    whole(16, 1, 0x2003_000c),
    whole(17, 1, 0x2003_000d),
    whole(18, 1, 0x2003_000e),
];

/// Flag in the key of a [`Part`] that has the upper 32 bits (PRN 152 and up) of the SBAS item.
const SBAS_HIGH: u32 = 1 << 27;

impl Legacy {
    /// The message `id`, if receivers of `dialect` have it.
    pub fn find(id: MessageId, dialect: GnssDialect) -> Option<&'static Self> {
        let generation = match dialect {
            GnssDialect::Ublox8 => 8,
            GnssDialect::Ublox9 => 9,
            GnssDialect::Ublox10 | GnssDialect::Garmin | GnssDialect::Plain => return None,
        };
        LEGACY.iter().find(|l| l.id == id && l.generations.contains(&generation))
    }

    fn all_parts(&self, is_llh: bool) -> impl Iterator<Item = &'static Part> {
        let place: &[Part] = match (self.id == TMODE3, is_llh) {
            (false, _) => &[],
            (true, false) => &FIXED_ECEF,
            (true, true) => &FIXED_LLH,
        };
        self.parts.iter().chain(place)
    }

    /// Payload of the answer to a poll; `kept` is the last payload from a host.
    pub fn read(&self, store: &Store, kept: Option<&[u8]>) -> Vec<u8> {
        let mut payload = kept.unwrap_or(self.blank).to_vec();
        let is_llh = store.is_set(item_keys::TMODE_POS_TYPE);
        for part in self.all_parts(is_llh) {
            let Some((key, shift)) = part.item() else { continue };
            put_bits(&mut payload, part, in_message(key, store.get(key)) >> shift);
        }
        if let Some(at) = self.mask_at {
            payload[at..at + 2].fill(0xff);
        }
        payload
    }

    /// Whether the receiver has at least one of the items; `true` for a message without items.
    pub fn is_in(&self, store: &Store) -> bool {
        let mut items = self.parts.iter().filter_map(Part::item);
        self.parts.is_empty() || items.any(|(key, _)| store.has(key))
    }

    /// Completes the payload of an older version with the bytes that a poll would return now; other payloads stay
    /// unchanged.
    pub fn whole(&self, store: &Store, kept: Option<&[u8]>, payload: &[u8]) -> Vec<u8> {
        let mut payload = payload.to_vec();
        if self.shorter.contains(&payload.len()) {
            let now = self.read(store, kept);
            payload.extend_from_slice(&now[payload.len()..]);
            payload[self.version_at] = now[self.version_at];
        }
        payload
    }

    /// Content to store after a host has sent the valid, complete `payload`. A message with a mask changes only the parts
    /// whose mask bits are set; all else stays as it is.
    pub fn merged(&self, store: &Store, kept: Option<&[u8]>, payload: Vec<u8>) -> Vec<u8> {
        if self.mask_at.is_none() {
            return payload;
        }
        let mask = self.mask(&payload);
        let mut merged = self.read(store, kept);
        for part in self.parts.iter().filter(|part| part.key.is_none() && part.is_in(mask)) {
            put_bits(&mut merged, part, take_bits(&payload, part));
        }
        merged
    }

    /// The mask in a complete payload, as long as that of CFG-NAVX5; all bits are set for a message without one.
    fn mask(&self, payload: &[u8]) -> u64 {
        let Some(at) = self.mask_at else { return u64::MAX };
        payload[at..at + 6].iter().rev().fold(0, |mask, byte| mask << 8 | u64::from(*byte))
    }

    /// Items that a payload sets, without those that the receiver lacks; `None` for an invalid payload.
    pub fn items(&self, store: &Store, payload: &[u8]) -> Option<Vec<Item>> {
        if payload.len() != self.blank.len() {
            return None;
        }
        let mask = self.mask(payload);
        let mut items: Vec<Item> = Vec::new();
        let is_llh = payload.get(3).is_some_and(|flags| flags & 1 == 1);
        for part in self.all_parts(is_llh) {
            let Some((key, shift)) = part.item() else { continue };
            if !part.is_in(mask) || !store.has(key) {
                continue;
            }
            let value = in_item(key, take_bits(payload, part)) << shift;
            match items.iter_mut().find(|item| item.key == key) {
                Some(item) => item.value |= value,
                None => items.push(Item { key, value }),
            }
        }
        Some(items)
    }
}

impl Part {
    /// Key of the item without flags, and the first bit in the item's value; `None` if the part represents no item.
    fn item(&self) -> Option<(Key, u32)> {
        let key = self.key?;
        let is_high = key.0 & SBAS_HIGH != 0;
        Some(if is_high { (Key(key.0 & !SBAS_HIGH), 32) } else { (key, 0) })
    }

    /// Whether a message with `mask` applies the part.
    fn is_in(&self, mask: u64) -> bool {
        self.mask.is_none_or(|bit| mask >> bit & 1 == 1)
    }
}

/// Converts an item's value to that in the message. The NMEA version 41 (4.10) is 0x41 in the message; version 42
/// (4.11) is 0x4b.
fn in_message(key: Key, value: u64) -> u64 {
    match (key, value) {
        (item_keys::NMEA_PROTVER, 42) => 0x4b,
        (item_keys::NMEA_PROTVER, version) => ((version / 10) << 4) | (version % 10),
        (_, value) => value,
    }
}

/// Converts a value in the message to that of the item: the inverse of [`in_message`].
fn in_item(key: Key, value: u64) -> u64 {
    match (key, value) {
        (item_keys::NMEA_PROTVER, 0x4b) => 42,
        (item_keys::NMEA_PROTVER, version) => (version >> 4) * 10 + (version & 15),
        (_, value) => value,
    }
}

fn take_bits(payload: &[u8], part: &Part) -> u64 {
    (0..part.bits).fold(0, |value, index| {
        let at = part.byte * 8 + part.bit + index;
        value | u64::from(payload[at / 8] >> (at % 8) & 1) << index
    })
}

fn put_bits(payload: &mut [u8], part: &Part, value: u64) {
    for index in 0..part.bits {
        let at = part.byte * 8 + part.bit + index;
        let bit = (value >> index & 1) as u8;
        payload[at / 8] = payload[at / 8] & !(1 << (at % 8)) | bit << (at % 8);
    }
}
