//! GPS's legacy message (LNAV): subframes of ten words of 30 bits, six seconds each.
//!
//! Source: IS-GPS-200, 20.3.

use super::{Bits, Keplerian, half_circles, half_circles_a_second, steps};

/// Duration of a subframe, seconds.
pub const SUBFRAME_S: u32 = 6;
/// Number of subframes in a frame.
const SUBFRAMES: u32 = 5;
/// Number of pages of subframe 4, and of subframe 5. A frame contains one page of each.
const PAGES: u32 = 25;
/// Page of subframe 4 with the ionosphere and UTC.
const IONOSPHERE_PAGE: u32 = 18;
const PREAMBLE: i64 = 0x8b;
/// Number of bits in a word without its parity.
const DATA_BITS: usize = 24;
/// Number of bits in a subframe without the words' parity and without the two header words.
const BODY_BITS: usize = 8 * DATA_BITS;

/// For each parity bit: the bit of the previous word that it includes (29 or 30), and the data bits that it includes (1
/// to 24). IS-GPS-200, table 20-XIV.
const PARITY: [(u8, &[u8]); 6] = [
    (29, &[1, 2, 3, 5, 6, 10, 11, 12, 13, 14, 17, 18, 20, 23]),
    (30, &[2, 3, 4, 6, 7, 11, 12, 13, 14, 15, 18, 19, 21, 24]),
    (29, &[1, 3, 4, 5, 7, 8, 12, 13, 14, 15, 16, 19, 20, 22]),
    (30, &[2, 4, 5, 6, 8, 9, 13, 14, 15, 16, 17, 20, 21, 23]),
    (30, &[1, 3, 5, 6, 7, 9, 10, 14, 15, 16, 17, 18, 21, 22, 24]),
    (29, &[3, 5, 6, 8, 9, 10, 11, 13, 15, 19, 22, 23, 24]),
];

/// Navigation message of a satellite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lnav {
    /// Orbit and clock.
    pub orbit: Keplerian,
    /// Whether the message marks the satellite as healthy.
    pub is_healthy: bool,
    /// Ionospheric coefficients alpha and beta (Klobuchar model), as the integers in the message.
    pub ionosphere: [[i8; 4]; 2],
    /// GPS time minus UTC, seconds.
    pub leap_s: i8,
}

impl Lnav {
    /// The subframe that begins at `tow_s`, seconds of the week, a multiple of [`SUBFRAME_S`]: ten words of 30 bits
    /// with parity. Unlike on air, the data bits are not inverted if the previous word ends in a one.
    pub fn subframe(&self, week: u32, tow_s: u32) -> [u32; 10] {
        let count = tow_s / SUBFRAME_S;
        let number = count % SUBFRAMES + 1;
        let page = count / SUBFRAMES % PAGES + 1;
        let body = match number {
            1 => self.clock(week),
            2 => self.first_half(),
            3 => self.second_half(),
            4 if page == IONOSPHERE_PAGE => self.ionosphere_page(week),
            // An almanac page without a satellite: alternating ones and zeros.
            _ => Bits::default().put(1, 2).put(0, 6).fill(BODY_BITS),
        };
        let next_count = (i64::from(tow_s) + 6) % 604_800 / 6;
        let telemetry = Bits::default().put(PREAMBLE, 8).put(0, 16);
        let handover =
            Bits::default().put(next_count, 17).put(0, 2).put(number.into(), 3).put(0, 2);
        let mut words = [0; 10];
        let mut before = 0;
        for (index, word) in words.iter_mut().enumerate() {
            let data = match index {
                0 => telemetry.get(0, DATA_BITS),
                1 => handover.get(0, DATA_BITS),
                _ => body.get((index - 2) * DATA_BITS, DATA_BITS),
            };
            // The last two data bits of the second and the tenth word are chosen so that the parity ends with zeros.
            let closing = (0..4).map(|bits| data & !3 | bits);
            let data = match index {
                1 | 9 => closing.into_iter().find(|data| parity(*data, before) & 3 == 0),
                _ => None,
            }
            .unwrap_or(data);
            before = parity(data, before);
            *word = data << 6 | before;
        }
        words
    }

    fn clock(&self, week: u32) -> Bits {
        let orbit = &self.orbit;
        let issue = i64::from(orbit.issue);
        let health = if self.is_healthy { 0 } else { 0x3f };
        Bits::default()
            .put(i64::from(week % 1024), 10)
            // C/A code on L2, accuracy 2.4 m.
            .put(2, 2)
            .put(0, 4)
            .put(health, 6)
            .put(issue >> 8, 2)
            .put(0, 24 + 24 + 24 + 16)
            // The delay between the bands is zero.
            .put(0, 8)
            .put(issue, 8)
            .put(i64::from(orbit.toe_s / 16), 16)
            .put(0, 8)
            .put(steps(orbit.drift, -43), 16)
            .put(steps(orbit.clock_s, -31), 22)
            .put(0, 2)
    }

    fn first_half(&self) -> Bits {
        let orbit = &self.orbit;
        Bits::default()
            .put(i64::from(orbit.issue), 8)
            .put(0, 16)
            .put(steps(half_circles_a_second(orbit.mean_motion_rad_s), -43), 16)
            .put(steps(half_circles(orbit.mean_anomaly_rad), -31), 32)
            .put(0, 16)
            .put(steps(orbit.eccentricity, -33), 32)
            .put(0, 16)
            .put(steps(orbit.sqrt_a, -19), 32)
            .put(i64::from(orbit.toe_s / 16), 16)
            .put(0, 8)
    }

    fn second_half(&self) -> Bits {
        let orbit = &self.orbit;
        let angle = |rad| steps(half_circles(rad), -31);
        Bits::default()
            .put(0, 16)
            .put(angle(orbit.node_rad), 32)
            .put(0, 16)
            .put(angle(orbit.inclination_rad), 32)
            .put(0, 16)
            .put(angle(orbit.perigee_rad), 32)
            .put(steps(half_circles_a_second(orbit.node_rate_rad_s), -43), 24)
            .put(i64::from(orbit.issue), 8)
            .put(0, 16)
    }

    /// The page with ionosphere and UTC. It states only whole leap seconds, and announces no change of them.
    fn ionosphere_page(&self, week: u32) -> Bits {
        let page = Bits::default().put(1, 2).put(56, 6);
        let coefficients = self.ionosphere.into_iter().flatten();
        let page = coefficients.fold(page, |page, number| page.put(number.into(), 8));
        let (week, leap_s) = (i64::from(week % 256), i64::from(self.leap_s));
        let page = page.put(0, 24 + 32).put(0, 8).put(week, 8);
        page.put(leap_s, 8).put(week, 8).put(1, 8).put(leap_s, 8).put(0, 16)
    }
}

/// The six parity bits of 24 data bits. They also depend on the last two bits of `before`, the parity bits of the
/// previous word.
fn parity(data: u32, before: u32) -> u32 {
    let bit = |number: u8| data >> (24 - number) & 1;
    PARITY.iter().fold(0, |bits, (last, of)| {
        let start = if *last == 29 { before >> 1 & 1 } else { before & 1 };
        bits << 1 | of.iter().fold(start, |sum, number| sum ^ bit(*number))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lnav() -> Lnav {
        Lnav {
            orbit: Keplerian {
                issue: 77,
                toe_s: 554_400,
                sqrt_a: 5153.6,
                eccentricity: 0.005,
                mean_anomaly_rad: 4.0,
                inclination_rad: 0.96,
                clock_s: -1e-4,
                ..Keplerian::default()
            },
            is_healthy: true,
            ionosphere: [[12, -1, -1, 2], [57, -14, -2, 16]],
            leap_s: 18,
        }
    }

    /// Checks the parity of every word against the table, with data bits inverted as on air.
    #[test]
    fn words_close_with_their_parity() {
        for start in 0..750 {
            let mut before = 0;
            for (index, word) in lnav().subframe(2445, start * 6).into_iter().enumerate() {
                assert!(word < 1 << 30);
                assert_eq!(word & 63, parity(word >> 6, before), "{start} {index}");
                before = word & 63;
                assert!(!matches!(index, 1 | 9) || before & 3 == 0, "{start} {index}");
            }
        }
    }

    #[test]
    fn fields_stand_where_the_specification_has_them() {
        let words = lnav().subframe(2445, 552_450);
        assert_eq!((words[0] >> 22, words[1] >> 13, words[1] >> 8 & 7), (0x8b, 92_076, 1));
        assert_eq!((words[2] >> 20, words[7] >> 22), (2445 - 2048, 77));
        let clock = (words[9] >> 8) as i32;
        assert_eq!(((clock << 10) >> 10), (-1e-4 * 2_147_483_648.0_f64).round() as i32);
        let words = lnav().subframe(2445, 552_456);
        assert_eq!((words[2] >> 22, words[9] >> 14), (77, 554_400 / 16));
        let root = (words[7] >> 6 & 255) << 24 | words[8] >> 6;
        assert!((f64::from(root) / 524_288.0 - 5153.6).abs() < 1e-5);
        let words = lnav().subframe(2445, 552_462);
        assert_eq!((words[9] >> 22, words[1] >> 8 & 7), (77, 3));
    }
}
