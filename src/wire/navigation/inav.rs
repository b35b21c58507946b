//! Galileo's I/NAV message on E1-B: words of 128 bits in pages of two seconds, which begin at odd seconds.
//!
//! Source: Galileo OS SIS ICD, chapter 4.

use super::{Bits, Keplerian, half_circles, half_circles_a_second, steps};
use crate::checksum::crc24q;

/// Duration of a page, seconds.
pub const PAGE_S: u32 = 2;
/// Second of the week at which the first page begins.
pub const FIRST_S: u32 = 1;
/// Types of the words in a subframe, in the order of sending. Dummy words replace almanacs.
const TYPES: [i64; 15] = [2, 4, 6, DUMMY, DUMMY, 0, 0, 0, 0, 0, 1, 3, 5, 0, 0];
/// Type of a dummy word.
const DUMMY: i64 = 63;
const WORD_BITS: usize = 128;
/// Number of a word's bits in the first half of a page.
const FIRST_BITS: usize = 112;

/// Navigation message of a satellite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Inav {
    /// Number of the satellite in Galileo, 1 to 36.
    pub satellite: u8,
    /// Orbit and clock.
    pub orbit: Keplerian,
    /// Whether the message marks the satellite as healthy.
    pub is_healthy: bool,
    /// Galileo's time minus UTC, seconds.
    pub leap_s: i8,
}

impl Inav {
    /// The page that begins at `tow_s`, an odd second of a Galileo week: two halves of 120 bits, each followed by eight
    /// zeros, and a ninth word of zero. u-blox's receivers add a ninth word only for E1-B.
    pub fn page(&self, week: u32, tow_s: u32) -> [u32; 9] {
        let kind = TYPES[(tow_s / PAGE_S) as usize % TYPES.len()];
        let word = self.word(kind, week, tow_s);
        let part = |from, count| Bits::default().put_bits(&word, from, count);
        let even = Bits::default().put(0b00, 2).join(part(0, FIRST_BITS));
        // The number of the half and the data; then zeros for authentication, search and rescue, and spare bits.
        let odd = Bits::default()
            .put(0b10, 2)
            .join(part(FIRST_BITS, WORD_BITS - FIRST_BITS))
            .put(0, 40 + 22 + 2);
        // Four zeros at the front fill up whole bytes. They do not change the CRC.
        let covered = Bits::default().put(0, 4).join(even.clone()).join(odd.clone());
        let crc = crc24q(&covered.bytes());
        let odd = odd.put(crc.into(), 24).put(0, 8 + 6);
        std::array::from_fn(|index| match index {
            0..4 => even.get(index * 32, 32),
            4..8 => odd.get((index - 4) * 32, 32),
            _ => 0,
        })
    }

    fn word(&self, kind: i64, week: u32, tow_s: u32) -> Bits {
        let orbit = &self.orbit;
        let angle = |rad| steps(half_circles(rad), -31);
        let rate = |rad_s| steps(half_circles_a_second(rad_s), -43);
        let (week, tow) = (i64::from(week % 4096), i64::from(tow_s));
        let word = Bits::default().put(kind, 6);
        let with_issue = word.clone().put(i64::from(orbit.issue), 10);
        let minutes = i64::from(orbit.toe_s / 60);
        let word = match kind {
            0 => word.put(0b10, 2).fill(96).put(week, 12).put(tow, 20),
            1 => with_issue
                .put(minutes, 14)
                .put(angle(orbit.mean_anomaly_rad), 32)
                .put(steps(orbit.eccentricity, -33), 32)
                .put(steps(orbit.sqrt_a, -19), 32),
            2 => with_issue
                .put(angle(orbit.node_rad), 32)
                .put(angle(orbit.inclination_rad), 32)
                .put(angle(orbit.perigee_rad), 32)
                .put(0, 14),
            3 => with_issue
                .put(rate(orbit.node_rate_rad_s), 24)
                .put(rate(orbit.mean_motion_rad_s), 16)
                .put(0, 64)
                // The accuracy is 0.75 m.
                .put(75, 8),
            4 => with_issue
                .put(self.satellite.into(), 6)
                .put(0, 32)
                .put(minutes, 14)
                .put(steps(orbit.clock_s, -34), 31)
                .put(steps(orbit.drift, -46), 21)
                .put(0, 6),
            5 => {
                let health = if self.is_healthy { 0 } else { 1 };
                // The ionosphere's coefficients and the delays between bands are zero.
                let word = word.put(0, 11 + 11 + 14 + 5 + 10 + 10).put(health, 2).put(health, 2);
                word.put(0, 2).put(week, 12).put(tow, 20)
            }
            6 => word
                .put(0, 32 + 24)
                .put(self.leap_s.into(), 8)
                .put(0, 8)
                .put(week, 8)
                .put(week, 8)
                .put(1, 3)
                .put(self.leap_s.into(), 8)
                .put(tow, 20),
            _ => word.fill(WORD_BITS),
        };
        let missing = WORD_BITS - word.len();
        word.put(0, missing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_have_their_halves_and_close_with_their_sum() {
        let orbit = Keplerian { issue: 77, toe_s: 554_400, sqrt_a: 5440.6, ..Keplerian::default() };
        let inav = Inav { satellite: 11, orbit, is_healthy: true, leap_s: 18 };
        let mut types = Vec::new();
        for start in 0..15 {
            let page = inav.page(1421, 552_451 + start * 2);
            assert_eq!((page[0] >> 30, page[4] >> 30), (0, 2));
            types.push(page[0] >> 24 & 63);
            let half = |words: &[u32]| {
                words.iter().fold(Bits::default(), |bits, word| bits.put((*word).into(), 32))
            };
            let (even, odd) = (half(&page[..4]), half(&page[4..8]));
            // The CRC of all bits followed by their CRC is zero.
            let all = Bits::default().put(0, 4).put_bits(&even, 0, 114).put_bits(&odd, 0, 82 + 24);
            assert_eq!(crc24q(&all.bytes()), 0);
        }
        types.sort_unstable();
        types.dedup();
        assert_eq!(types, [0, 1, 2, 3, 4, 5, 6, 63]);
        // Word 4 of E1-B starts three seconds after the subframe.
        let page = inav.page(1421, 552_453);
        assert_eq!((page[0] >> 24 & 63, page[0] >> 14 & 1023, page[0] >> 8 & 63), (4, 77, 11));
    }
}
