//! GLONASS's message on L1: strings of 85 bits, two seconds each.
//!
//! Source: GLONASS ICD L1, L2, edition 5.1, chapter 4. Numbers have a sign and a magnitude; positions are
//! Earth-centred, Earth-fixed (PZ-90).

use super::{Bits, steps};

/// Duration of a string, seconds.
pub const STRING_S: u32 = 2;
/// Number of strings in a frame.
const STRINGS: u32 = 15;
/// Number of frames in a superframe.
const FRAMES: u32 = 5;
const DAY_S: i64 = 86_400;
/// The reference time of orbits is a multiple of this step, seconds.
const TIME_STEP_S: i64 = 900;
/// Number of bits in a string, including the check bits.
const BITS: usize = 85;
/// Number of check bits at the end of a string.
const CHECK_BITS: usize = 8;

/// Navigation data of a satellite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Glonass {
    /// Number of the satellite, 1 to 24.
    pub slot: u8,
    /// Whether the message marks the satellite as healthy.
    pub is_healthy: bool,
    /// Day within the four-year interval (NT), from 1.
    pub day: u16,
    /// Number of the four-year interval (N4); 1 is 1996 to 1999.
    pub four_years: u8,
    /// Reference time of orbit and clock, seconds of GLONASS's day: a multiple of 900 s.
    pub toe_s: u32,
    /// Position at the reference time, metres.
    pub position_m: [f64; 3],
    /// Velocity at the reference time, m/s.
    pub velocity_m_s: [f64; 3],
    /// Offset of the satellite's clock from GLONASS time at the reference time, seconds; positive: the clock is
    /// ahead.
    pub clock_s: f64,
    /// Drift of the clock, s/s.
    pub drift: f64,
}

/// A string as receivers report it. The first three words contain its 85 bits, starting with the highest bit. The last
/// word contains the number of the superframe in its upper half, and the number of the frame in its lower half.
pub type Words = [u32; 4];

impl Glonass {
    /// The string that begins at `tod_s`, seconds of GLONASS's day, a multiple of [`STRING_S`].
    pub fn string(&self, tod_s: u32) -> Words {
        let count = tod_s / STRING_S;
        let (number, frame) = (count % STRINGS + 1, count / STRINGS % FRAMES + 1);
        let superframe = count / (STRINGS * FRAMES) + 1;
        let head = Bits::default().put(0, 1).put(number.into(), 4);
        // Start of the frame, seconds of the day: a multiple of half a minute.
        let frame_s = tod_s / (STRINGS * STRING_S) * (STRINGS * STRING_S);
        let reference = i64::from(self.toe_s) / TIME_STEP_S % (DAY_S / TIME_STEP_S);
        let data = match number {
            1 => {
                // The reference time of orbits is the middle of each half hour.
                let head = head.put(0, 2).put(0b01, 2);
                let (hour, minute) = (frame_s / 3600, frame_s / 60 % 60);
                let head = head.put(hour.into(), 5).put(minute.into(), 6);
                self.axis(head.put(i64::from(frame_s / 30 % 2), 1), 0)
            }
            2 => {
                let head = head.put(if self.is_healthy { 0 } else { 0b100 }, 3);
                self.axis(head.put(reference % 2, 1).put(reference, 7).put(0, 5), 1)
            }
            3 => {
                // First bit: whether this frame's almanac has five satellites instead of four.
                let head = signed(head.put(i64::from(frame < FRAMES), 1), self.drift, -40, 11);
                self.axis(head.put(0, 1).put(0b11, 2).put(i64::from(!self.is_healthy), 1), 2)
            }
            4 => signed(head, -self.clock_s, -30, 22)
                // Zero delay between the bands, data of this day, accuracy 1 m.
                .put(0, 5)
                .put(0, 5)
                .put(0, 14)
                .put(1, 1)
                .put(0, 4)
                .put(0, 3)
                .put(self.day.into(), 11)
                .put(self.slot.into(), 5)
                .put(0b01, 2),
            5 => head
                .put(self.day.into(), 11)
                // GLONASS time is UTC, and differs from GPS time by whole seconds.
                .put(0, 32)
                .put(0, 1)
                .put(self.four_years.into(), 5)
                .put(0, 22)
                .put(i64::from(!self.is_healthy), 1),
            // There is no almanac.
            _ => head.put(0, BITS - CHECK_BITS),
        };
        let data = Bits::default().put_bits(&data, 0, BITS - CHECK_BITS);
        let code = check(&data);
        let checked = data.put(code.into(), CHECK_BITS);
        [checked.get(0, 32), checked.get(32, 32), checked.get(64, 32), superframe << 16 | frame]
    }

    /// Appends to `head`, for one axis: velocity (km/s), acceleration by Sun and Moon (zero) and position (km).
    fn axis(&self, head: Bits, axis: usize) -> Bits {
        let bits = signed(head, self.velocity_m_s[axis] * 1e-3, -20, 24).put(0, 5);
        signed(bits, self.position_m[axis] * 1e-3, -11, 27)
    }
}

/// Appends a number in steps of 2^`exponent`: a sign bit, then the magnitude; `count` bits in total.
fn signed(bits: Bits, value: f64, exponent: i32, count: usize) -> Bits {
    let most = (1i64 << (count - 1)) - 1;
    let number = steps(value, exponent).clamp(-most, most);
    bits.put(i64::from(number < 0), 1).put(number.abs(), count - 1)
}

/// Check bits of a string's 77 data bits: a Hamming code and its parity (ICD, 4.7). The ICD numbers the bits from the
/// end of the string. In this order, the data bits occupy the code's positions that are not powers of two.
fn check(data: &Bits) -> u32 {
    let is_one = |bit: usize| data.get(BITS - bit, 1) == 1;
    let places = (3u32..).filter(|place| !place.is_power_of_two());
    let ones = (CHECK_BITS + 1..=BITS).zip(places).filter(|(bit, _)| is_one(*bit));
    let (code, count) = ones.fold((0, 0), |(code, count), (_, place)| (code ^ place, count + 1));
    (code & 0x7f) | ((count + code.count_ones()) & 1) << 7
}

#[cfg(test)]
mod tests {
    use super::*;

    const SATELLITE: Glonass = Glonass {
        slot: 7,
        is_healthy: true,
        day: 1056,
        four_years: 8,
        toe_s: 45_900,
        position_m: [-14_081_752.9, 4_358_145.5, -20_857_913.6],
        velocity_m_s: [-1025.7, 2530.1, 1220.0],
        clock_s: -1.25e-4,
        drift: 2.0 / 1_099_511_627_776.0,
    };

    fn bits(words: Words) -> Bits {
        words[..3].iter().fold(Bits::default(), |bits, word| bits.put((*word).into(), 32))
    }

    /// The number in bits `high` to `low` of a string, with the bit numbers of the ICD.
    fn field(words: Words, high: usize, low: usize) -> i64 {
        let (value, count) = (bits(words).get(BITS - high, high - low + 1), high - low);
        let magnitude = i64::from(value & ((1 << count) - 1));
        if value >> count == 1 { -magnitude } else { magnitude }
    }

    #[test]
    fn strings_have_their_fields_where_the_interface_document_has_them() {
        let string = |number: u32| SATELLITE.string(45_000 + 30 * 3 + 2 * (number - 1));
        for number in 1..=15 {
            let words = string(number);
            assert_eq!(bits(words).get(1, 4), number);
            assert_eq!(words[3], (45_090 / 150 + 1) << 16 | (45_090 / 30 % 5 + 1));
        }
        assert_eq!(field(string(1), 35, 9), (-14_081_752.9f64 / 1e3 * 2048.0).round() as i64);
        assert_eq!(field(string(1), 64, 41), (-1.0257f64 * 1_048_576.0).round() as i64);
        assert_eq!(bits(string(1)).get(BITS - 76, 12), 12 << 7 | 31 << 1 | 1);
        assert_eq!(bits(string(2)).get(BITS - 76, 7), 51);
        assert_eq!(field(string(3), 79, 69), 2);
        assert_eq!(field(string(4), 80, 59), (1.25e-4f64 * 1_073_741_824.0).round() as i64);
        assert_eq!(bits(string(4)).get(BITS - 26, 11), 1056);
        assert_eq!(bits(string(4)).get(BITS - 15, 5), 7);
        assert_eq!(bits(string(5)).get(BITS - 36, 5), 8);
    }

    #[test]
    fn check_bits_are_those_of_the_interface_document() {
        // Data bits covered by each check bit, ICD table 4.13: the first, the middle and the last ones.
        let covers = |check: u32, bit: usize| {
            let data = Bits::default().put(0, BITS - bit).put(1, 1).put(0, bit - 1 - CHECK_BITS);
            super::check(&data) >> (check - 1) & 1 == 1
        };
        for (check, bits) in [
            (1, [9, 10, 12, 13, 15, 17]),
            (2, [9, 11, 12, 14, 15, 18]),
            (3, [10, 11, 12, 16, 17, 18]),
            (4, [13, 14, 15, 16, 17, 18]),
            (5, [20, 21, 22, 23, 24, 25]),
            (6, [35, 36, 37, 38, 64, 65]),
            (7, [66, 67, 68, 69, 84, 85]),
        ] {
            assert!(bits.into_iter().all(|bit| covers(check, bit)), "C{check}");
        }
        assert!(!covers(1, 11) && !covers(6, 34) && !covers(7, 65) && !covers(5, 19));
        for number in 0..15 {
            let words = SATELLITE.string(45_000 + 2 * number);
            let ones: u32 = words[..3].iter().map(|word| word.count_ones()).sum();
            assert_eq!(ones % 2, 0, "all 85 bits together are even");
        }
    }
}
