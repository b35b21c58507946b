//! Settings of a serial line, and reception when both ends have different bit rates.

/// Parity bit of a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parity {
    /// No parity bit.
    None,
    /// The number of ones in the data and parity bits is even.
    Even,
    /// The number of ones in the data and parity bits is odd.
    Odd,
}

/// Settings of a UART.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineSettings {
    /// Bit rate, bits per second.
    pub baud: u32,
    /// Number of data bits: 7 or 8.
    pub data_bits: u8,
    /// Kind of parity bit.
    pub parity: Parity,
    /// Number of stop bits: 1 or 2.
    pub stop_bits: u8,
}

impl LineSettings {
    /// Eight data bits, no parity, one stop bit.
    pub const fn eight_n_one(baud: u32) -> Self {
        Self { baud, data_bits: 8, parity: Parity::None, stop_bits: 1 }
    }

    /// Serial port over full-speed USB: 12 Mbit/s, whatever bit rate a host sets.
    pub const USB: Self = Self::eight_n_one(12_000_000);

    /// Number of bits of a character, including start and stop bits.
    pub fn bits_per_byte(&self) -> u32 {
        1 + u32::from(self.data_bits)
            + u32::from(self.parity != Parity::None)
            + u32::from(self.stop_bits)
    }

    /// Duration of `bytes` characters on the line, nanoseconds, rounded up.
    pub fn duration_ns(&self, bytes: usize) -> u64 {
        let bits = bytes as u64 * u64::from(self.bits_per_byte());
        (bits * 1_000_000_000).div_ceil(u64::from(self.baud.max(1)))
    }

    /// Level of the line during each bit if `bytes` are sent without gaps; `true` is high.
    pub fn levels(&self, bytes: &[u8]) -> Vec<bool> {
        let mut levels = Vec::with_capacity(bytes.len() * self.bits_per_byte() as usize);
        for &byte in bytes {
            let data = (0..self.data_bits).map(|bit| byte >> bit & 1 == 1);
            let ones = data.clone().filter(|&one| one).count();
            levels.push(false);
            levels.extend(data);
            match self.parity {
                Parity::None => {}
                Parity::Even => levels.push(ones % 2 == 1),
                Parity::Odd => levels.push(ones % 2 == 0),
            }
            levels.extend((0..self.stop_bits).map(|_| true));
        }
        levels
    }
}

/// Bytes that a UART with the settings `receiver` receives when a UART with the settings `sender` sends `bytes`.
pub fn received(bytes: &[u8], sender: LineSettings, receiver: LineSettings) -> Vec<u8> {
    if sender == receiver {
        return bytes.to_vec();
    }
    sampled(&sender.levels(bytes), sender.baud, receiver)
}

/// Bytes that a UART with the settings `receiver` receives from the line levels `levels`; `true` is the idle level.
/// Each level lasts one bit at the rate `baud`.
///
/// The line idles before the first level and after the last one. The receiver searches for a falling edge and samples
/// the middle of each bit, as a 16550 does. A character without stop bit or with a wrong parity bit arrives as 0. Linux
/// does the same if neither IGNPAR nor PARMRK is set (`termios(3)`).
pub fn sampled(levels: &[bool], baud: u32, receiver: LineSettings) -> Vec<u8> {
    // Instants are integers in units of 1 / (2 * baud * receiver.baud) s.
    let sent_bit = 2 * u64::from(receiver.baud.max(1));
    let heard_bit = 2 * u64::from(baud.max(1));
    let end = levels.len() as u64 * sent_bit;
    let level = |at: u64| levels.get((at / sent_bit) as usize).copied().unwrap_or(true);

    let mut heard = Vec::new();
    let mut now = 0;
    while now < end {
        // The next falling edge, which is at a bit boundary of the sender.
        let was_high = now == 0 || level(now - 1);
        if level(now) || !was_high {
            now = (now / sent_bit + 1) * sent_bit;
            continue;
        }
        let sample = |bit: u64| level(now + bit * heard_bit + heard_bit / 2);
        if sample(0) {
            // The pulse is too short for a start bit; the receiver ignores it as noise.
            now = (now / sent_bit + 1) * sent_bit;
            continue;
        }
        let data_bits = u64::from(receiver.data_bits);
        let byte = (0..data_bits).fold(0u8, |byte, bit| byte | u8::from(sample(1 + bit)) << bit);
        let (parity_bits, parity_is_right) = match receiver.parity {
            Parity::None => (0, true),
            Parity::Even => (1, sample(1 + data_bits) == (byte.count_ones() % 2 == 1)),
            Parity::Odd => (1, sample(1 + data_bits) == (byte.count_ones() % 2 == 0)),
        };
        let stop = 1 + data_bits + parity_bits;
        heard.push(if sample(stop) && parity_is_right { byte } else { 0 });
        // From the middle of the stop bit on, the receiver is ready for the next start bit.
        now += stop * heard_bit + heard_bit / 2;
    }
    heard
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SLOW: LineSettings = LineSettings::eight_n_one(9600);
    const FAST: LineSettings = LineSettings::eight_n_one(38_400);

    #[test]
    fn a_byte_takes_ten_bits() {
        assert_eq!(SLOW.duration_ns(1), 1_041_667);
        assert_eq!(LineSettings { parity: Parity::Even, ..SLOW }.bits_per_byte(), 11);
        assert_eq!(LineSettings::eight_n_one(500_000).duration_ns(50), 1_000_000);
    }

    #[test]
    fn a_fast_receiver_hears_a_slow_byte_several_times() {
        // From 9600 to 38400 baud, the start bit alone lasts four bits of the receiver; 0x00 is low for 36 bits.
        assert_eq!(received(&[0x00], SLOW, FAST), [0]);
        // 0xff is low for 4 bits of the receiver, then high: the receiver reads a start bit, three zeros and five ones,
        // lowest bit first.
        assert_eq!(received(&[0xff], SLOW, FAST), [0xf8]);
    }

    #[test]
    fn a_slow_receiver_loses_bytes() {
        let sent: Vec<u8> = (0..100).collect();
        let heard = received(&sent, FAST, SLOW);
        assert!(heard.len() < 40, "{}", heard.len());
        assert_ne!(heard, sent);
    }

    #[test]
    fn a_rate_off_by_two_percent_does_no_harm() {
        let off = LineSettings::eight_n_one(9792);
        assert_eq!(received(b"Menura\r\n", SLOW, off), b"Menura\r\n");
    }

    #[test]
    fn missing_parity_is_noticed() {
        let even = LineSettings { parity: Parity::Even, ..SLOW };
        assert_eq!(received(b"\x01\x03", even, even), b"\x01\x03");
        let heard = received(b"aaaa", SLOW, even);
        assert_ne!(heard, b"aaaa");
    }

    #[test]
    fn a_break_is_one_zero_and_costs_what_it_covers() {
        let mut levels = SLOW.levels(b"ABC");
        // From the middle of B to the middle of C.
        levels[14..26].fill(false);
        let heard = sampled(&levels, SLOW.baud, SLOW);
        assert_eq!(heard[..2], [b'A', 0]);
        assert!(!heard.contains(&b'C'));
    }

    #[test]
    fn a_flipped_data_bit_changes_one_byte() {
        let mut levels = SLOW.levels(b"AB");
        levels[1] = !levels[1];
        assert_eq!(sampled(&levels, SLOW.baud, SLOW), [b'A' ^ 1, b'B']);
    }

    proptest! {
        #[test]
        fn a_quiet_line_carries_everything(bytes: Vec<u8>) {
            prop_assert_eq!(sampled(&SLOW.levels(&bytes), SLOW.baud, SLOW), bytes);
        }

        #[test]
        fn any_line_is_read(levels: Vec<bool>) {
            let heard = sampled(&levels, SLOW.baud, SLOW);
            // A character takes nine and a half bits; the last may extend beyond the levels.
            prop_assert!(heard.len() <= levels.len() / 9 + 1);
        }

        #[test]
        fn whatever_is_sent_is_heard_as_something_bounded(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            sender in 300..3_000_000u32,
            receiver in 300..3_000_000u32,
        ) {
            let sender = LineSettings::eight_n_one(sender);
            let receiver = LineSettings::eight_n_one(receiver);
            let heard = received(&bytes, sender, receiver);
            // A start bit needs a falling edge; a sender's character has at most five.
            prop_assert!(heard.len() <= bytes.len() * 5);
        }

        #[test]
        fn the_same_rate_in_other_words_is_heard_well(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            // The settings differ, so that the waveform is really sampled.
            let two_stops = LineSettings { stop_bits: 2, ..SLOW };
            prop_assert_eq!(received(&bytes, two_stops, SLOW), bytes);
        }
    }
}
