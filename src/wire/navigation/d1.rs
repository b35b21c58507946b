//! BeiDou's D1 message on B1I, for satellites in medium and inclined orbits: subframes of ten words of 30 bits, six
//! seconds each.
//!
//! Source: BeiDou OS SIS ICD (B1I), chapter 5.

use super::{Bits, Keplerian, half_circles, half_circles_a_second, steps};

/// Duration of a subframe, seconds.
pub const SUBFRAME_S: u32 = 6;
const PREAMBLE: i64 = 0b111_0001_0010;
const SUBFRAMES: u32 = 5;
const PAGES: u32 = 24;
/// Number of the page of subframe 5 that has the UTC parameters.
const UTC_PAGE: u32 = 10;
/// Number of information bits in the first word of a subframe.
const FIRST_BITS: usize = 26;
/// Number of information bits in each further word of a subframe.
const DATA_BITS: usize = 22;
/// Number of information bits in a subframe.
const INFORMATION_BITS: usize = FIRST_BITS + 9 * DATA_BITS;

/// Navigation message of a satellite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct D1 {
    /// Orbit and clock; the reference time is in seconds of BeiDou's week.
    pub orbit: Keplerian,
    /// Whether the message marks the satellite as healthy.
    pub is_healthy: bool,
    /// Ionospheric coefficients alpha and beta (Klobuchar model), as the integers in the message.
    pub ionosphere: [[i8; 4]; 2],
    /// BeiDou's time minus UTC, seconds.
    pub leap_s: i8,
}

impl D1 {
    /// The subframe that begins at `sow_s`, seconds of BeiDou's week, a multiple of [`SUBFRAME_S`]: ten words of 30
    /// bits, with parity.
    pub fn subframe(&self, week: u32, sow_s: u32) -> [u32; 10] {
        let orbit = &self.orbit;
        let count = sow_s / SUBFRAME_S;
        let number = count % SUBFRAMES + 1;
        let (sow, toe) = (i64::from(sow_s), i64::from(orbit.toe_s / 8));
        let angle = |rad| steps(half_circles(rad), -31);
        let rate = |rad_s| steps(half_circles_a_second(rad_s), -43);
        let head = Bits::default()
            .put(PREAMBLE, 11)
            .put(0, 4)
            .put(number.into(), 3)
            .put(sow >> 12, 8)
            .put(sow, 12);
        let bits = match number {
            1 => {
                let bits = head
                    .put(i64::from(!self.is_healthy), 1)
                    .put(i64::from(orbit.issue % 24), 5)
                    .put(0, 4)
                    .put(i64::from(week % 8192), 13)
                    .put(toe, 17)
                    // The delays between bands are zero.
                    .put(0, 20);
                let coefficients = self.ionosphere.into_iter().flatten();
                coefficients
                    .fold(bits, |bits, number| bits.put(number.into(), 8))
                    .put(0, 11)
                    .put(steps(orbit.clock_s, -33), 24)
                    .put(steps(orbit.drift, -50), 22)
                    .put(i64::from(orbit.issue % 24), 5)
            }
            2 => head
                .put(rate(orbit.mean_motion_rad_s), 16)
                .put(0, 18)
                .put(angle(orbit.mean_anomaly_rad), 32)
                .put(steps(orbit.eccentricity, -33), 32)
                .put(0, 18 * 3)
                .put(steps(orbit.sqrt_a, -19), 32)
                .put(toe >> 15, 2),
            3 => head
                .put(toe, 15)
                .put(angle(orbit.inclination_rad), 32)
                .put(0, 18)
                .put(rate(orbit.node_rate_rad_s), 24)
                .put(0, 18 + 14)
                .put(angle(orbit.node_rad), 32)
                .put(angle(orbit.perigee_rad), 32)
                .put(0, 1),
            _ => {
                let page = count / SUBFRAMES % PAGES + 1;
                let bits = head.put(0, 1).put(page.into(), 7);
                let (leap_s, week) = (i64::from(self.leap_s), i64::from(week % 256));
                match (number, page) {
                    // Whole leap seconds, without a future change.
                    (5, UTC_PAGE) => bits
                        .put(leap_s, 8)
                        .put(leap_s, 8)
                        .put(week, 8)
                        .put(0, 32 + 24)
                        .put(1, 8)
                        .put(0, INFORMATION_BITS),
                    // There is no almanac.
                    _ => bits.put(0, INFORMATION_BITS),
                }
            }
        };
        std::array::from_fn(|index| match index {
            0 => {
                let data = bits.get(0, FIRST_BITS);
                // The first fifteen bits have no parity.
                data << 4 | parity(data & 0x7ff)
            }
            _ => {
                let data = bits.get(FIRST_BITS + (index - 1) * DATA_BITS, DATA_BITS);
                // A word interleaves two code words: their data bits alternate, and so do their parity bits.
                let of = |shift: u32| {
                    (0..11).fold(0, |all, bit| all | (data >> (2 * bit + shift) & 1) << bit)
                };
                let (odd, even) = (parity(of(1)), parity(of(0)));
                let mixed = (0..4).fold(0, |all, bit| {
                    all | (odd >> bit & 1) << (2 * bit + 1) | (even >> bit & 1) << (2 * bit)
                });
                data << 8 | mixed
            }
        })
    }
}

/// The four parity bits of eleven bits: BCH(15, 11) with x^4 + x + 1.
fn parity(data: u32) -> u32 {
    let whole = data << 4;
    (4..15).rev().fold(whole, |rest, bit| {
        if rest >> bit & 1 == 1 { rest ^ 0b1_0011 << (bit - 4) } else { rest }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subframes_have_their_fields_and_parity() {
        let orbit = Keplerian { issue: 77, toe_s: 554_400, sqrt_a: 5282.6, ..Keplerian::default() };
        let d1 = D1 {
            orbit,
            is_healthy: true,
            ionosphere: [[12, -1, -1, 2], [57, -14, -2, 16]],
            leap_s: 4,
        };
        for start in 0..5 {
            let words = d1.subframe(1089, 552_450 + start * 6);
            assert_eq!((words[0] >> 19, words[0] >> 12 & 7), (0b111_0001_0010, start + 1));
            assert!(words.iter().all(|word| *word < 1 << 30));
            // The remainder of a valid code word divided by the polynomial is zero.
            let rest = |word: u32| {
                (4..15).rev().fold(word, |rest, bit| {
                    if rest >> bit & 1 == 1 { rest ^ 0b1_0011 << (bit - 4) } else { rest }
                })
            };
            assert_eq!(rest(words[0] & 0x7fff), 0);
            for word in &words[1..] {
                let every = |shift: u32| {
                    (0..15).fold(0, |all, bit| all | (word >> (2 * bit + shift) & 1) << bit)
                };
                assert_eq!((rest(every(0)), rest(every(1))), (0, 0));
            }
        }
        let words = d1.subframe(1089, 552_450);
        assert_eq!((words[2] >> 17, words[9] >> 8 & 31), (1089, 77 % 24));
        // Example in the ICD, 000000000000001: the code of 1 is the polynomial.
        assert_eq!(parity(1), 0b0011);
    }
}
