//! Measured values: the numbers of a scan.

use super::SpecialValue;
use crate::ParseError;
use crate::record::{Reader, put_le};

/// Unit of a scan's ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Centimetres.
    Centimetres,
    /// Millimetres.
    Millimetres,
    /// Decimetres; only the driver Carmen supports this unit.
    Decimetres,
}

words!(Unit: "cm" => Centimetres, "mm" => Millimetres, "dm" => Decimetres);

impl Unit {
    /// Unit with this number in block E and in the info word; `None` for an unknown number.
    pub fn from_code(code: u8) -> Option<Self> {
        [Self::Centimetres, Self::Millimetres, Self::Decimetres].get(usize::from(code)).copied()
    }

    /// Number of the unit in block E and in the info word.
    pub fn code(self) -> u8 {
        match self {
            Self::Centimetres => 0,
            Self::Millimetres => 1,
            Self::Decimetres => 2,
        }
    }

    /// Metres per unit.
    pub fn metres(self) -> f64 {
        match self {
            Self::Centimetres => 0.01,
            Self::Millimetres => 0.001,
            Self::Decimetres => 0.1,
        }
    }
}

/// Content of the info word, which precedes a scan's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanInfo {
    /// Number of values after the info word, below 1024.
    pub count: u16,
    /// Angle by which a partial scan is shifted from whole degrees, in quarters of a degree: 0 to 3.
    pub quarters: u8,
    /// Whether the values are one rotation of the mirror instead of a whole scan.
    pub is_partial: bool,
    /// Unit of the values.
    pub unit: Unit,
}

impl ScanInfo {
    /// Encodes the info word.
    pub fn word(self) -> u16 {
        (self.count & 0x03ff)
            | u16::from(self.quarters & 3) << 11
            | u16::from(self.is_partial) << 13
            | u16::from(self.unit.code()) << 14
    }

    /// Decodes an info word.
    ///
    /// # Errors
    /// Bit 10 is set, or the unit has the reserved value.
    pub fn from_word(word: u16) -> Result<Self, ParseError> {
        let wrong = |allowed| ParseError::Value { field: "info word", value: word.into(), allowed };
        if word & 0x0400 != 0 {
            return Err(wrong("bit 10 is never set"));
        }
        let unit = Unit::from_code((word >> 14) as u8)
            .ok_or_else(|| wrong("bits 14 and 15 are 0 (cm), 1 (mm) or 2 (dm)"))?;
        Ok(Self {
            count: word & 0x03ff,
            quarters: (word >> 11) as u8 & 3,
            is_partial: word & 0x2000 != 0,
            unit,
        })
    }
}

/// Values of one scan with their info word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Values {
    /// Angle by which a partial scan is shifted from whole degrees, in quarters of a degree: 0 to 3.
    pub quarters: u8,
    /// Whether the values are one rotation of the mirror instead of a whole scan.
    pub is_partial: bool,
    /// Unit of the values.
    pub unit: Unit,
    /// Ranges with flags, from right to left; see [`MeasuringMode`].
    pub values: Vec<u16>,
}

impl Values {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, ParseError> {
        let info = ScanInfo::from_word(reader.le()?)?;
        let values = reader.le_vec(info.count)?;
        Ok(Self { quarters: info.quarters, is_partial: info.is_partial, unit: info.unit, values })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.info().word().to_le_bytes());
        put_le(out, &self.values);
    }

    /// Info word of these values.
    pub fn info(&self) -> ScanInfo {
        ScanInfo {
            count: self.values.len() as u16,
            quarters: self.quarters,
            is_partial: self.is_partial,
            unit: self.unit,
        }
    }
}

/// Value of a range field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Range {
    /// Range, in the [`Unit`] of the scan.
    Units(u16),
    /// A special value instead of a range.
    Special(SpecialValue),
}

/// Measuring mode, block D of the configuration: it determines the use of the sixteen bits of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasuringMode {
    code: u8,
    range_bits: u32,
    reflectivity_bits: u32,
}

impl MeasuringMode {
    /// Factory setting: 13 bits of range, flags of fields A and B, flag for dazzling.
    pub const FACTORY: Self = Self { code: 0x00, range_bits: 13, reflectivity_bits: 0 };

    /// Mode with this number in block D; `None` if unknown.
    pub fn from_code(code: u8) -> Option<Self> {
        let (range_bits, reflectivity_bits) = match code {
            0x00 | 0x02 => (13, 0),
            0x01 => (13, 3),
            0x03 => (14, 2),
            0x04 => (14, 0),
            // The last bit is reflectivity according to sicktoolbox, and fields A and B according to Gearbox.
            0x05 => (15, 1),
            0x06 => (15, 0),
            // "Normalised" and "direct" remission; only the driver Carmen supports these modes.
            0x0d | 0x0e => (13, 0),
            0x0f | 0x3f => (16, 0),
            _ => return None,
        };
        Some(Self { code, range_bits, reflectivity_bits })
    }

    /// Number of the mode in block D.
    pub fn code(self) -> u8 {
        self.code
    }

    /// Whether the values are amplitudes of the echoes instead of ranges.
    pub fn is_amplitude(self) -> bool {
        self.code == 0x3f
    }

    /// Largest range that a value can contain, in the [`Unit`] of the scan.
    pub fn max_range(self) -> u16 {
        if self.range_bits == 16 { u16::MAX - 9 } else { (1 << self.range_bits) - 10 }
    }

    /// Number of reflectivity levels of a value; 1 if values have no reflectivity.
    pub fn reflectivity_levels(self) -> u16 {
        1 << self.reflectivity_bits
    }

    /// Encodes a range and a reflectivity level as a value. A range beyond [`MeasuringMode::max_range`] becomes
    /// [`SpecialValue::AboveMaximum`]. A level of [`MeasuringMode::reflectivity_levels`] or more becomes the highest
    /// level.
    pub fn value(self, range: Range, level: u16) -> u16 {
        let field = match range {
            Range::Units(units) if units <= self.max_range() => units,
            Range::Units(_) => self.special(SpecialValue::AboveMaximum),
            Range::Special(special) => self.special(special),
        };
        if self.reflectivity_bits == 0 {
            return field;
        }
        field | level.min(self.reflectivity_levels() - 1) << self.range_bits
    }

    /// Splits a value into its range and the bits above the range.
    pub fn split(self, value: u16) -> (Range, u16) {
        let mask = ((1u32 << self.range_bits) - 1) as u16;
        let field = value & mask;
        let special = SpecialValue::ALL.into_iter().find(|one| self.special(*one) == field);
        let range = special.map_or(Range::Units(field), Range::Special);
        (range, if self.range_bits == 16 { 0 } else { value >> self.range_bits })
    }

    fn special(self, special: SpecialValue) -> u16 {
        let field = ((1u32 << self.range_bits) - 16) as u16;
        field | special as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn info_words_are_those_of_real_telegrams() {
        let info =
            |count, quarters, is_partial, unit| ScanInfo { count, quarters, is_partial, unit };
        for (bytes, info) in [
            ([0xb5, 0x40], info(181, 0, false, Unit::Millimetres)),
            ([0x69, 0x01], info(361, 0, false, Unit::Centimetres)),
            ([0xb4, 0x70], info(180, 2, true, Unit::Millimetres)),
        ] {
            assert_eq!(info.word().to_le_bytes(), bytes);
            assert_eq!(ScanInfo::from_word(u16::from_le_bytes(bytes)), Ok(info));
        }
        assert!(ScanInfo::from_word(0x0400).is_err());
        assert!(ScanInfo::from_word(0xc000).is_err());
    }

    #[test]
    fn the_last_values_are_no_ranges() {
        let mode = |code| MeasuringMode::from_code(code).unwrap();
        for (code, max, none) in
            [(0x00, 0x1ff6, 0x1ff7), (0x04, 0x3ff6, 0x3ff7), (0x06, 0x7ff6, 0x7ff7)]
        {
            assert_eq!(mode(code).max_range(), max);
            assert_eq!(mode(code).value(Range::Units(max), 0), max);
            assert_eq!(mode(code).value(Range::Units(max + 1), 0), none);
            assert_eq!(mode(code).value(Range::Special(SpecialValue::Invalid), 0), max | 0xf);
        }
        assert_eq!(mode(0x01).value(Range::Units(1000), 7), 0xe000 | 1000);
        assert_eq!(mode(0x01).split(0xe000 | 1000), (Range::Units(1000), 7));
        assert_eq!(mode(0x03).value(Range::Units(1000), 9), 0xc000 | 1000);
        assert_eq!(mode(0x00).split(0x3ff7), (Range::Special(SpecialValue::AboveMaximum), 1));
        assert_eq!(MeasuringMode::from_code(0x07), None);
    }

    proptest! {
        #[test]
        fn ranges_come_back(code in 0u8..=0x3f, units: u16, level in 0u16..8) {
            if let Some(mode) = MeasuringMode::from_code(code) {
                let level = level % mode.reflectivity_levels();
                let (range, flags) = mode.split(mode.value(Range::Units(units), level));
                prop_assert_eq!(flags, level);
                if units <= mode.max_range() {
                    prop_assert_eq!(range, Range::Units(units));
                } else {
                    prop_assert_eq!(range, Range::Special(SpecialValue::AboveMaximum));
                }
            }
        }

        #[test]
        fn words_come_back(word: u16) {
            if let Ok(info) = ScanInfo::from_word(word) {
                prop_assert_eq!(info.word(), word);
            }
        }
    }
}
