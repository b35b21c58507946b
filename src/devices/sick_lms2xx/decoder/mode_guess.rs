//! Guesses the measuring mode from the values of scans, if no telegram contains it.
//!
//! Some values mean "no echo" in only one mode, and determine this mode unless bit 14 is a flag. Otherwise the bits
//! above the 13th decide: they belong to the range, or are flags. In millimetres, 13 bits end at 8.19 m.
//!
//! - The bits belong to the range if adjacent values are nearly equal only with them. An example is a wall that recedes
//!   past 8.19 m.
//!
//! - The bits are flags if adjacent values are nearly equal only without them, or if both values mean "no echo". An
//!   example is a field, or a level of reflectivity, that ends on a wall.
//!
//! Without evidence, the bits belong to the range, because few scanners use fields. In centimetres they are flags,
//! because no scanner needs more than 13 bits.

use crate::wire::sick_lms2xx::data::{Unit, Values};

/// Adjacent values are nearly equal if their difference is smaller than this, millimetres.
const ALIKE: u16 = 256;
/// Bits of the range in the modes 0x00, 0x04 and 0x06.
const MODES: [(u8, u32); 3] = [(0x00, 13), (0x04, 14), (0x06, 15)];

/// Evidence from all scans so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ModeGuess {
    /// Whether the "no echo" values of the modes 0x04 and 0x06 were seen.
    has_no_echo: [bool; 2],
    /// Evidence about bits 14 and 15 (counted from 1).
    bits: [Bit; 2],
}

/// Evidence on whether a bit belongs to the range.
#[derive(Clone, Copy, Debug, Default)]
struct Bit {
    is_seen: bool,
    /// Sum over pairs of adjacent values: +1 for a pair that is nearly equal only with this bit in the range, -1 for a
    /// pair that is nearly equal only without the bit or is twice "no echo".
    votes: i64,
}

impl ModeGuess {
    /// Evaluates the values of a telegram.
    pub(super) fn see(&mut self, scan: &Values) {
        let values = &scan.values;
        self.has_no_echo[0] |= values.contains(&0x3ff7);
        self.has_no_echo[1] |= values.contains(&0x7ff7);
        if scan.unit != Unit::Millimetres {
            return;
        }
        for (bit, (_, below)) in self.bits.iter_mut().zip(MODES) {
            let [with, without] = [below + 1, below].map(|bits| (1u16 << bits) - 1);
            let flag = 1u16 << below;
            bit.is_seen |= values.iter().any(|value| value & flag != 0);
            let no_echo = without - 8;
            for pair in values.windows(2) {
                let are_alike = |mask: u16| (pair[0] & mask).abs_diff(pair[1] & mask) < ALIKE;
                let are_none = pair.iter().all(|value| value & without == no_echo);
                if are_none {
                    bit.votes -= 1;
                } else if (pair[0] ^ pair[1]) & flag != 0 {
                    bit.votes += i64::from(are_alike(with)) - i64::from(are_alike(without));
                }
            }
        }
    }

    /// The guessed mode: 0x00, 0x04 or 0x06.
    pub(super) fn mode(&self) -> u8 {
        let [fourteenth, fifteenth] = self.bits;
        match self.has_no_echo {
            _ if fourteenth.votes < 0 => 0x00,
            [_, true] => 0x06,
            // A range of 16.375 m in mode 0x06 is the "no echo" of mode 0x04.
            [true, false] if !fifteenth.is_range() => 0x04,
            _ if fourteenth.is_range() || fifteenth.is_range() => 0x06,
            _ => 0x00,
        }
    }
}

impl Bit {
    fn is_range(self) -> bool {
        self.is_seen && self.votes >= 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode_of(unit: Unit, values: Vec<u16>) -> u8 {
        let mut guess = ModeGuess::default();
        guess.see(&Values { quarters: 0, is_partial: false, unit, values });
        guess.mode()
    }

    /// Ranges, millimetres, to a wall 3 m beside the scanner, in directions half a degree apart: from directly abeam,
    /// where the wall is nearest, up to the range of `to_m` metres.
    fn wall(to_m: f64) -> Vec<u16> {
        let places = (0..).map(|step| 3.0 / libm::cos(f64::from(step) * 0.5f64.to_radians()));
        places.take_while(|range_m| *range_m < to_m).map(|m| (m * 1000.0) as u16).collect()
    }

    #[test]
    fn a_wall_that_goes_on_past_13_or_14_bits_is_one_wall() {
        for to_m in [9.0, 15.0, 20.0, 30.0] {
            assert_eq!(mode_of(Unit::Millimetres, wall(to_m)), 0x06, "{to_m}");
        }
        assert_eq!(mode_of(Unit::Millimetres, wall(8.0)), 0x00);
        // A box in front of the wall; its edges are no evidence.
        let mut walls = wall(20.0);
        walls[20..60].fill(2000);
        walls[100..].fill(9000);
        assert_eq!(mode_of(Unit::Millimetres, walls), 0x06);
    }

    #[test]
    fn fields_and_levels_on_a_wall_are_flags() {
        let flagged = |bit: u16| {
            let of = |(place, value): (usize, u16)| {
                if (20..40).contains(&place) { value | bit } else { value }
            };
            wall(8.0).into_iter().enumerate().map(of).collect::<Vec<_>>()
        };
        for bit in [0x2000, 0x4000, 0x6000] {
            assert_eq!(mode_of(Unit::Millimetres, flagged(bit)), 0x00, "{bit:#x}");
        }
        assert_eq!(mode_of(Unit::Centimetres, vec![0x2000 | 500, 500, 0x2000 | 500]), 0x00);
    }

    #[test]
    fn no_echo_tells_the_mode() {
        assert_eq!(mode_of(Unit::Centimetres, vec![500, 0x3ff7]), 0x04);
        assert_eq!(mode_of(Unit::Centimetres, vec![500, 0x7ff7]), 0x06);
        // Targets beyond 13 bits, in a field.
        assert_eq!(mode_of(Unit::Millimetres, vec![0x2000 | 500, 0x3ff7, 0x1ff7, 0x1ff7]), 0x00);
        let mut far = wall(20.0);
        far.push(0x3ff7);
        assert_eq!(mode_of(Unit::Millimetres, far), 0x06);
    }
}
